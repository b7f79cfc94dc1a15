#!/usr/bin/env python3
"""`skewscope jobs` against a daemon with tokens and TLS, one sub-command after the other.
usage: jobs_command.py SKEWSCOPE"""
import json
import subprocess
import tempfile
import unittest
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

    def jobs(self, *arguments, token="admin", code=0, columns=80):
        done = subprocess.run([PROGRAM, "jobs", *map(str, arguments), "--to", self.daemon.url.replace("127.0.0.1", "localhost"),
                               "--ca", self.folder / "ca.pem", "--token-file", self.folder / token],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=30,
                              env={"PATH": "/usr/bin:/bin", "COLUMNS": str(columns)})
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
        self.assertEqual(head.split()[-1], "JOB")
        self.assertTrue(run.endswith("whole"), run)

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
