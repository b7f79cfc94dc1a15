#!/usr/bin/env python3
"""`skewscope jobs` against a daemon with tokens and TLS, one sub-command after the other.
usage: jobs_command.py SKEWSCOPE"""
import json
import os
import pty
import re
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

from daemon import PROGRAM, Daemon, key_file, minted, self_made_ca, trusting

RANKS = 4


class JobsCommand(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        held = tempfile.TemporaryDirectory(prefix="skewscope_jobs_")
        cls.addClassCleanup(held.cleanup)
        cls.folder = Path(held.name)
        self_made_ca(cls.folder)
        keys = key_file(cls.folder)
        cls.daemon = Daemon("--token-key-file", keys, "--certificate", cls.folder / "head.pem", "--private-key",
                            cls.folder / "head.key", "--debounce", 1, insecure=False).start()
        cls.addClassCleanup(lambda: cls.daemon.ended() or cls.daemon.stop())
        cls.daemon.context = trusting(cls.folder)
        cls.daemon.token = minted(keys, "*", "--scopes", "upload,read,admin")
        for name, token in (("admin", cls.daemon.token), ("of-whole", minted(keys, "whole")), ("wrong", "ss1.none.none")):
            (cls.folder / name).touch(0o600)
            (cls.folder / name).write_text(token + "\n")
        subprocess.run([PROGRAM, "simulate", "-o", cls.folder / "job", "--nodes", "2", "--gpus", "2", "--tp", "1", "--steps", "3",
                        "--layers", "2", "--slow-rank", "2:1.5"], check=True, capture_output=True)
        cls.traces = [next((cls.folder / "job").glob(f"rank{rank}_*")).read_bytes() for rank in range(RANKS)]
        cls.send("whole", range(RANKS))
        cls.send("short", range(2))

    @classmethod
    def send(cls, job, ranks):
        for rank in ranks:
            answer = cls.daemon.put(cls.traces[rank], job, rank, query=f"?world_size={RANKS}")
            assert answer.status in (200, 201, 204), answer.body

    def jobs_process(self, *arguments, token="admin", columns=80, stdin=subprocess.DEVNULL):
        return subprocess.run([PROGRAM, "jobs", *map(str, arguments), "--to", self.daemon.url.replace("127.0.0.1", "localhost"),
                               "--ca", self.folder / "ca.pem", "--token-file", self.folder / token],
                              capture_output=True, text=True, stdin=stdin, timeout=30,
                              env={"PATH": "/usr/bin:/bin", "COLUMNS": str(columns)})

    def jobs(self, *arguments, code=0, **more):
        done = self.jobs_process(*arguments, **more)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout if code in (0, 1, 4) else done.stderr

    def test_watch_ends_with_the_report_and_its_verdict(self):
        lines = self.jobs("watch", "whole").splitlines()
        self.assertEqual(lines[-2], "complete: 4 of 4 ranks; report complete")
        self.assertIn("waiting", lines[-1])

    def test_list_has_the_newest_first_and_fits_the_terminal(self):
        self.jobs("watch", "whole")
        for columns in (80, 160):
            lines = self.jobs("list", columns=columns).splitlines()
            self.assertEqual(lines[0].split()[0], "JOB")
            self.assertEqual({line.split()[0] for line in lines[1:]}, {"whole", "short"})
            self.assertTrue(all(len(line) <= columns for line in lines), lines)
            self.assertEqual("OWNER" in lines[0], columns == 160)
        created = [job["created"] for job in json.loads(self.jobs("list", "--json"))["jobs"]]
        self.assertEqual(created, sorted(created, reverse=True))

    def test_list_filters(self):
        names = lambda *flags: [job["job"] for job in json.loads(self.jobs("list", "--json", *flags))["jobs"]]
        self.assertEqual(names("--state", "receiving"), ["short"])
        self.assertEqual(names("--owner", "4294967290"), [])
        self.assertEqual(set(names("--owner", "root", "--since", "2020-01-01")), {"whole", "short"})
        self.assertEqual(names("--since", "2999-01-01"), [])
        self.jobs("watch", "whole")
        self.assertEqual(names("--node", "node1"), ["whole"])
        self.assertEqual(len(names("-n", "1")), 1)

    def test_a_token_of_one_job_lists_that_job_alone(self):
        self.assertEqual([job["job"] for job in json.loads(self.jobs("list", "--json", token="of-whole"))["jobs"]], ["whole"])

    def test_show_says_what_is_missing_and_what_the_report_says(self):
        self.assertIn("receiving: 2 of 4 ranks, missing 2, 3", self.jobs("show", "short"))
        self.jobs("watch", "whole")
        text = self.jobs("show", "whole")
        for part in ("Verdict  ", "/jobs/whole\n", "/v1/jobs/whole/report.html\n"):
            self.assertIn(part, text)
        line = self.jobs("show", "whole", "--one-line")
        self.assertTrue(line.startswith("whole: complete: 4 of 4 ranks; report complete. "), line)
        self.assertEqual(line.count("\n"), 1)

    def test_export_leaves_a_report_and_traces_that_can_be_reported_on(self):
        self.jobs("watch", "whole")
        out = self.folder / "exported"
        self.jobs("export", "whole", "-o", out, "--traces")
        self.assertEqual(json.loads((out / "report.json").read_text())["job"]["world_size"], RANKS)
        self.assertIn("<html", (out / "report.html").read_text())
        self.assertTrue((out / "summary.txt").read_text().startswith("Verdict"))
        self.assertEqual((out / "report.sqlite").read_bytes()[:6], b"SQLite")
        traces = sorted((out / "traces/c0000").iterdir())
        self.assertEqual([trace.read_bytes() for trace in traces], self.traces)
        self.assertEqual(sorted(out.rglob("*.part")), [])
        self.assertIn("is not empty", self.jobs("export", "whole", "-o", out, code=5))
        done = subprocess.run([PROGRAM, "inspect", out / "traces"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_retry_makes_the_next_report(self):
        self.jobs("watch", "whole")
        self.assertIn("makes the report of whole again", self.jobs("retry", "whole"))

    def test_nodes_and_history_tell_of_runs(self):
        self.jobs("watch", "whole")
        self.assertIn("No node was the cause", self.jobs("nodes"))
        head, run = self.jobs("history", "whole").splitlines()
        self.assertEqual(head.split()[-2:], ["JOB", "CHANGE"])
        self.assertEqual(run.split()[-2:], ["whole", "-"])

    def test_rules_judge_the_gatherers_report_as_they_judge_the_traces(self):
        self.jobs("watch", "whole")
        rules = ["wait_share>99%", "late_share>10%", "exposed_wait_share>0.1%", "unmatched>0", "unmatched_share>=0",
                 "missing_ranks>0",
                 "incomplete_share>=0", "straggler_cost>=0", "parallel_efficiency<2", "gpu_communication>=0", "warnings>=0",
                 "ranks[rank=2].idle_ns>=0", "ranks[rank=99].idle_ns>1", "clocks[0].offset_ns>=0", "what_if.replayed_ns>1e3",
                 "matching.calls>=1", "losses[0].gain_share>=0"]
        flags = [word for rule in rules for word in ("--fail-on", rule)]
        local = subprocess.run([PROGRAM, "report", self.folder / "job", "-o", self.folder / "judged", *flags, "--github", "--junit",
                                self.folder / "report.xml"], capture_output=True, text=True)
        here = self.jobs_process("show", "whole", *flags, "--github", "--junit", self.folder / "jobs.xml")
        self.assertEqual((local.returncode, here.returncode), (1, 1), local.stderr + here.stderr)
        self.assertEqual(here.stderr, local.stderr)
        texts = [re.sub(r"skewscope([ .])jobs", r"skewscope\1report", (self.folder / name).read_text())
                 for name in ("report.xml", "jobs.xml")]
        self.assertEqual(*texts)
        self.assertEqual(xml.etree.ElementTree.fromstring(texts[1]).get("tests"), str(len(rules)))

    def test_watch_ends_with_the_exit_code_of_its_rules(self):
        self.assertIn("passed: wait_share = ", self.jobs_process("watch", "whole", "--fail-on", "wait_share>99%").stderr)
        self.jobs("watch", "whole", "--fail-on", "late_share>10%", code=1)
        self.jobs("watch", "whole", "--strict")
        self.assertIn("only show and watch", self.jobs("list", "--strict", code=2))
        self.assertIn("--fail-on 'nonsense>1'", self.jobs("show", "whole", "--fail-on", "nonsense>1", code=2))
        self.assertIn("--junit needs", self.jobs("show", "whole", "--junit", "x.xml", code=2))
        self.assertIn("no such report", self.jobs("show", "short", "--strict", code=3))

    def test_a_report_without_some_ranks_fails_by_strict_alone(self):
        self.addCleanup(self.daemon.ask, "DELETE", "/v1/jobs/part")
        self.send("part", range(3))
        self.daemon.ask("POST", "/v1/jobs/part/end")
        self.daemon.ask("PUT", "/v1/jobs/part", body=b'{"deadline_s": 1}', Content_Type="application/json")
        self.jobs("watch", "part", code=4)
        self.jobs("watch", "part", "--fail-on", "wait_share>99%")
        self.jobs("watch", "part", "--fail-on", "missing_ranks>0", code=1)
        self.jobs("watch", "part", "--strict", code=4)

    def test_one_line_is_all_that_watch_prints_where_it_is_asked_for(self):
        line = self.jobs("watch", "whole", "--one-line")
        self.assertEqual(line, self.jobs("show", "whole", "--one-line"))

    def test_delete_asks_on_a_terminal_and_takes_yes_alone(self):
        for answer, deleted in (("n", False), ("", False), ("Y", False), ("yes", True)):
            self.send("asked", [0])
            controller, terminal = pty.openpty()
            with os.fdopen(controller, "w") as typed, os.fdopen(terminal) as stdin:
                typed.write(answer + "\n")
                typed.flush()
                done = self.jobs_process("delete", "asked", stdin=stdin)
            with self.subTest(answer=answer):
                self.assertTrue(done.stderr.startswith("Delete asked with its traces and reports? [y/N] "), done.stderr)
                self.assertEqual(done.returncode, 0 if deleted else 2)
                self.assertEqual(self.daemon.ask("GET", "/v1/jobs/asked").status, 404 if deleted else 200)

    def test_export_of_many_ranks_with_gaps_leaves_every_trace(self):
        self.addCleanup(self.daemon.ask, "DELETE", "/v1/jobs/many")
        ranks = range(1, 600, 3)
        for rank in ranks:
            self.assertIn(self.daemon.put(b"trace %d" % rank, "many", rank, query="?world_size=600").status, (200, 201, 204))
        out = self.folder / "many"
        answer = self.jobs("export", "many", "-o", out, "--traces", "--json", code=4)
        left = json.loads(answer)["left"]
        self.assertEqual([line.split(":")[0] for line in left], ["report.json", "report.html", "summary.txt", "report.sqlite"])
        traces = {path.name.split(".")[0]: path.read_bytes() for path in (out / "traces/c0000").iterdir()}
        self.assertEqual(traces, {f"rank{rank}": b"trace %d" % rank for rank in ranks})

    def test_delete_asks_or_is_told_and_needs_the_right(self):
        self.send("gone", [0])
        self.assertIn("give --yes", self.jobs("delete", "gone", code=2))
        self.assertIn("scope", self.jobs("delete", "whole", "--yes", token="of-whole", code=3))
        self.assertEqual(self.jobs("delete", "gone", "--yes"), "gone is deleted\n")
        self.assertIn("no such job", self.jobs("show", "gone", code=3))

    def test_errors_are_said_in_plain_words(self):
        self.assertIn("needs the name of a job", self.jobs("show", code=2))
        self.assertIn("explode not in {list,show,", self.jobs("explode", code=2))
        self.assertIn("https://localhost", self.jobs("list", token="wrong", code=3))


if __name__ == "__main__":
    unittest.main()
