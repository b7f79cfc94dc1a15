#!/usr/bin/env python3
"""Logs while a job trains: an agent and the daemon with the logs of NCCL's Inspector while they are written.
usage: growing_logs.py SKEWSCOPE"""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from daemon import PROGRAM, Daemon

RANKS, SLOW = 4, 2


def simulated():
    """A log per rank, of a job of some minutes in which one rank is slow: text by name, and which rank it is of."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([PROGRAM, "simulate", "-o", f"{folder}/job", "--nodes", "1", "--gpus", str(RANKS), "--steps", "60", "--tp", "1",
                        "--pp", "1", "--layers", "4", "--layer-compute-ns", "20000000", "--slow-rank", f"{SLOW}:1.4",
                        "--format", "nccl-inspector"], check=True, capture_output=True)
        return {path.name: path.read_bytes() for path in sorted(Path(folder, "job").glob("*.log"))}


LOGS = simulated()


def rank_of(text):
    return json.loads(text.splitlines()[0])["header"]["rank"]


class GrowingLogs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name) / "logs"
        self.state = Path(folder.name) / "state"
        self.folder.mkdir()
        self.daemon = Daemon("--log-period", "1", "--debounce", "1").start()
        self.daemon.listen = f"127.0.0.1:{self.daemon.port}"  # where the agent finds it again
        self.addCleanup(lambda: self.daemon.stop())
        self.agent = None

    def command(self, *more):
        return [PROGRAM, "ship", self.folder, "--to", self.daemon.url, "--job", "run", "--state", self.state, "--spread", "0",
                "--rescan", "1", *more]

    def watch(self):
        self.agent = agent = subprocess.Popen(self.command(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

        def end():
            agent.kill()
            agent.communicate()
        self.addCleanup(end)

    def kill_agent(self):
        self.agent.kill()
        self.agent.wait()

    def once(self, code=0):
        done = subprocess.run(self.command("--once", "--give-up", "5"), capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def append(self, name, content):
        with open(self.folder / name, "ab") as file:
            file.write(content)

    def gathered(self, rank):
        answer = self.daemon.ask("GET", f"/v1/jobs/run/ranks/{rank}")
        return answer.body if answer.status == 200 else b""

    def until(self, holds, seconds=60):
        end = time.monotonic() + seconds
        while not holds() and time.monotonic() < end:
            time.sleep(0.1)
        self.assertTrue(holds())

    def recent(self, family):
        """By rank."""
        text = self.daemon.ask("GET", "/metrics", admin=True).body.decode()
        found = re.findall(rf'^{family}{{job_name="run",rank="(\d+)",[^}}]*}} (\S+)$', text, re.M)
        return {int(rank): float(value) for rank, value in found}

    def test_the_slow_rank_is_named_while_the_logs_grow_and_kills_lose_and_double_nothing(self):
        self.watch()
        pieces = 8
        for turn in range(pieces):
            for name, content in LOGS.items():  # cut wherever it comes
                self.append(name, content[len(content) * turn // pieces:len(content) * (turn + 1) // pieces])
            time.sleep(0.7)
            if turn == 2:
                self.kill_agent()
                self.watch()
            if turn == 4:
                self.daemon.stop(signal.SIGKILL)
                self.daemon.start()
            if turn == 6:
                self.kill_agent()
                self.daemon.stop(signal.SIGKILL)
                self.daemon.start()
                self.watch()
        self.until(lambda: all(self.gathered(rank_of(content)) == content for content in LOGS.values()))
        job = self.daemon.wait_for_job(lambda state: state["report_state"] in ("complete", "partial"))
        self.assertEqual((job["arrived"], job["open_uploads"]), (RANKS, 0))
        self.until(lambda: self.recent("skewscope_recent_wait_caused_ratio"))
        caused = self.recent("skewscope_recent_wait_caused_ratio")
        self.assertEqual(max(caused, key=caused.get), SLOW)
        self.assertGreater(caused[SLOW], 0.02)
        worst = self.recent("skewscope_recent_worst_ratio")
        self.assertEqual(max(worst, key=worst.get), SLOW)
        page = self.daemon.ask("GET", "/jobs/run").body.decode()
        self.assertRegex(page, rf"waited [0-9.]+ % of their time for rank {SLOW} on node0, the worst in \d+ % of these windows")
        self.assertEqual(self.daemon.stop(), 0)
        self.assertEqual(self.daemon.check()[0], 0)
        self.daemon.start()
        self.assertEqual({path for path in self.daemon.stored()}, {f"run/ranks/c0000/r0000{rank}.json" for rank in range(RANKS)})

    def first_log(self):
        name, content = next(iter(LOGS.items()))
        return name, content, rank_of(content)

    def test_only_whole_lines_go_and_each_once(self):
        name, content, rank = self.first_log()
        lines = content.splitlines(keepends=True)
        self.append(name, b"".join(lines[:10]) + lines[10][:5])
        self.once()
        self.assertEqual(self.gathered(rank), b"".join(lines[:10]))
        self.append(name, lines[10][5:])
        self.once()
        self.once()
        self.assertEqual(self.gathered(rank), b"".join(lines[:11]))

    def test_an_agent_that_has_lost_its_state_goes_on_where_the_gatherer_is(self):
        name, content, rank = self.first_log()
        lines = content.splitlines(keepends=True)
        self.append(name, b"".join(lines[:10]))
        self.once()
        shutil.rmtree(self.state)
        self.append(name, b"".join(lines[10:20]))
        self.once()
        self.assertEqual(self.gathered(rank), b"".join(lines[:20]))

    def test_other_content_than_the_gatherer_has_is_refused_where_nobody_knows_what_was_sent(self):
        name, content, rank = self.first_log()
        lines = content.splitlines(keepends=True)
        self.append(name, b"".join(lines[:10]))
        self.once()
        shutil.rmtree(self.state)
        (self.folder / name).write_bytes(lines[0] + b"".join(lines[5:20]))
        text = self.once(code=4)
        self.assertIn("of another log of rank", text)
        self.assertEqual(self.gathered(rank), b"".join(lines[:10]))

    def test_the_log_of_a_process_that_was_started_again_and_a_log_begun_anew_follow_what_was_there(self):
        name, content, rank = self.first_log()
        lines = content.splitlines(keepends=True)
        self.append(name, b"".join(lines[:10]))
        self.once()
        self.append("node0-pid77.log", b"".join(lines[:8]))  # another process of the same rank
        self.once()
        self.append(name, b"".join(lines[10:12]))
        self.once()
        so_far = lines[:10] + lines[:8] + lines[10:12]
        self.assertEqual(self.gathered(rank), b"".join(so_far))
        inode = os.stat(self.folder / name).st_ino
        (self.folder / name).write_bytes(b"".join(lines[:3]))  # cut to nothing and written again
        self.assertEqual(os.stat(self.folder / name).st_ino, inode)
        self.once()
        self.assertEqual(self.gathered(rank), b"".join(so_far + lines[:3]))

    def test_the_page_for_operators_names_flags_that_there_are_and_figures_that_a_report_of_logs_has(self):
        top = Path(__file__).resolve().parents[2]
        text = (top / "configs/OPERATING.md").read_text()
        text = text[text.index("**Logs while a job trains**"):text.index("**Dumps of flight recorders**")]
        helps = {command: subprocess.run([PROGRAM, command, "--help"], capture_output=True, text=True).stdout
                 for command in ("ship", "gather")}
        line = next(line for line in text.splitlines() if line.strip().startswith("skewscope ship "))
        flags = re.findall(r"(--[a-z-]+)", line)
        self.assertGreater(len(flags), 3)
        for flag in flags:
            self.assertIn(flag, helps["ship"])
        for flag in ("--log-period", "--admin", "--largest-file", "--largest-job"):
            self.assertIn(flag, text)
            self.assertIn(flag, helps["gather"])
        for name, content in LOGS.items():
            self.append(name, content)
        subprocess.run([PROGRAM, "report", self.folder, "-o", self.state, "--format", "prometheus"], check=True, capture_output=True)
        figures = (self.state / "report.prom").read_text()
        rules = (top / "configs/prometheus/skewscope-job.rules.yml").read_text()
        for figure in re.findall(r"skewscope_recent_[a-z_]+", text + rules):
            self.assertIn(f"\n{figure}{{", figures)

    def test_a_log_that_grows_has_no_length_and_its_rank_takes_no_other_file(self):
        self.assertEqual(self.daemon.create(10, grows=1).status, 400)
        created = self.daemon.create(None, grows=1)
        self.assertEqual(created.status, 201)
        path = created["Location"]
        self.assertEqual(self.daemon.create(None, grows=1)["Location"], path)
        self.assertEqual(self.daemon.patch(path, 0, b"{}\n").status, 204)
        self.assertEqual(self.daemon.patch(path, 3, b"", Upload_Length=3).status, 409)
        self.assertEqual(self.daemon.put(b"{}").status, 409)
        self.assertEqual(self.daemon.ask("DELETE", path).status, 409)
        self.assertEqual(self.gathered(0), b"{}\n")


if __name__ == "__main__":
    unittest.main()
