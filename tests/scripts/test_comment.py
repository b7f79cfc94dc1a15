#!/usr/bin/env python3
"""configs/slurm/comment_slurmctld in a prefix of its own, whose programs are played: what they are asked is what counts. Under
Slurm it is tested by tests/cluster/training.py.
usage: test_comment.py"""
import os
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "configs/slurm/comment_slurmctld"


class Comment(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.prefix = Path(held.name)
        (self.prefix / "libexec/skewscope").mkdir(parents=True)
        (self.prefix / "bin").mkdir()
        self.script = self.prefix / "libexec/skewscope/comment_slurmctld"
        shutil.copy(SCRIPT, self.script)
        self.play("sacctmgr", f'printf "%s\\n" "$@" > {self.prefix}/asked')

    def play(self, program, text):
        path = self.prefix / "bin" / program
        path.write_text("#!/bin/sh\n" + text + "\n")
        path.chmod(0o755)

    def asked(self, line):
        """The words that sacctmgr gets where the gatherer says this of a job, one a line."""
        (self.prefix / "line").write_text(line)
        self.play("skewscope", f"cat {self.prefix}/line")
        begin = time.monotonic()
        self.assertEqual(subprocess.run([self.script, "4711", "two-4711.0"], env={"PATH": os.environ["PATH"]}).returncode, 0)
        self.assertLess(time.monotonic() - begin, 5)
        asked = self.prefix / "asked"
        return asked.read_text().splitlines() if asked.exists() else None

    def test_a_verdict_becomes_the_comment_of_that_job(self):
        words = self.asked("two-4711.0: complete: 8 of 8 ranks; report complete. GPUs wait 7 % (noticeable).\n")
        self.assertEqual(words, ["--immediate", "modify", "job", "where", "jobid=4711", "set", "AdminComment="
                                 "two-4711.0: complete: 8 of 8 ranks; report complete. GPUs wait 7 % (noticeable)."])

    def test_what_a_user_has_named_sets_nothing_else_and_runs_nothing(self):
        line = f"two: report complete. '\"; $(touch {self.prefix}/ran) `touch {self.prefix}/ran` | a=b,\\n State=x\n\x1b[2J ä\n"
        words = self.asked(line)
        self.assertEqual(len(words), 7)
        comment = words[-1].removeprefix("AdminComment=")
        self.assertEqual(set(comment) & set("'\"$`|=\\\x1b"), set())
        self.assertFalse((self.prefix / "ran").exists())

    def test_a_long_verdict_is_cut(self):
        self.assertEqual(len(self.asked("two: report complete. " + "x" * 5000)[-1]), len("AdminComment=") + 500)

    def test_where_nothing_was_sent_slurm_is_not_asked(self):
        self.assertIsNone(self.asked("two-4711.0: ended: 0 ranks, of an unknown number; report none\n"))
        self.play("skewscope", "exit 3")
        self.assertEqual(subprocess.run([self.script, "4711", "two-4711.0"], env={"PATH": os.environ["PATH"]}).returncode, 0)
        self.assertFalse((self.prefix / "asked").exists())


if __name__ == "__main__":
    unittest.main()
