#!/usr/bin/env python3
"""A second run under a used name: it is kept as a job of its own, whatever comes in which order, and no report mixes two.
usage: runs.py SKEWSCOPE"""
import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from daemon import PROGRAM, Daemon, digest_of, key_file, minted

RANKS = 4
HOUR = 3600


class Runs(unittest.TestCase):
    flags = ("--debounce", 1)

    @classmethod
    def setUpClass(cls):
        held = tempfile.TemporaryDirectory(prefix="skewscope_runs_")
        cls.addClassCleanup(held.cleanup)
        cls.simulated = Path(held.name)
        for run, slow in (("first", 1), ("second", 2), ("third", 3)):
            subprocess.run([PROGRAM, "simulate", "-o", cls.simulated / run, "--nodes", "2", "--gpus", "2", "--tp", "1", "--steps",
                            "3", "--layers", "2", "--slow-rank", f"{slow}:1.5"], check=True, capture_output=True)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def start(self, *flags, **more):
        self.daemon = Daemon(*self.flags, *flags, **more).start()
        self.addCleanup(lambda: self.daemon.ended() or self.daemon.stop())

    def node(self, run, ranks, age=0):
        """A folder with these ranks of a run, as an agent of one node finds them `age` seconds after they were written."""
        folder = self.folder / f"{run}-{'-'.join(map(str, ranks))}"
        folder.mkdir(exist_ok=True)
        for rank in ranks:
            source = next((self.simulated / run).glob(f"rank{rank}_*"))
            shutil.copy(source, folder)
            os.utime(folder / source.name, (time.time() - age,) * 2)
        return folder

    def command(self, folder, *flags, job="train"):
        return [PROGRAM, "ship", folder, "--to", self.daemon.url, "--job", job, "--settle", "0", "--spread", "0",
                "--no-compress", *map(str, flags)]

    def ship(self, folder, *flags, code=0, **more):
        """What an agent that sends all of a folder says."""
        done = subprocess.run(self.command(folder, "--once", "--json", *flags, **more), capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def kept(self, job):
        """Ranks of a job by whose traces they are."""
        ranks = {}
        for path in sorted((self.daemon.spool / "jobs" / job).rglob("ranks/*/r*")):
            for run in ("first", "second", "third"):
                source = next((self.simulated / run).glob(f"rank{int(path.name[1:6])}_*"))
                if path.read_bytes() == source.read_bytes():
                    ranks.setdefault(run, []).append(int(path.name[1:6]))
        return ranks

    def report(self, job):
        self.daemon.wait_for_job(lambda state: state["report_state"] == "complete", job)
        return self.daemon.ask("GET", f"/v1/jobs/{job}/report.json").json()

    def test_two_whole_runs_of_two_agents_are_two_jobs_and_each_report_is_that_of_its_folder(self):
        self.start()
        for run, job in (("first", "train"), ("second", "train~2")):
            for ranks in ((0, 1), (2, 3)):
                shipped = self.ship(self.node(run, ranks))
                self.assertEqual((shipped["job"], shipped["files"]), (job, 2))
            self.assertEqual(self.kept(job), {run: [0, 1, 2, 3]})
            out = self.folder / f"report-{run}"
            subprocess.run([PROGRAM, "report", self.simulated / run, "-o", out], check=True, capture_output=True)
            own, made = json.loads((out / "report.json").read_text()), self.report(job)
            for part in ("findings", "losses", "ranks", "totals"):
                self.assertEqual(made.get(part), own.get(part), part)


if __name__ == "__main__":
    unittest.main()
