#!/usr/bin/env python3
"""kill -9, and an error, at the N-th call by which `skewscope ship` writes, links, moves or sends. usage: test_faults.py SKEWSCOPE

Killed anywhere, the next run finishes; an error costs at most memory over restarts; and no source is deleted before the
gatherer has all of it."""
import errno
import os
import signal
import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gather_daemon"))
from shipping import PATIENCE_S, Shipping  # noqa: E402; takes the program's path
from daemon import dose  # noqa: E402
from write_calls import ANSWERS, KILL, SECCOMP, SHORT, WriteCalls  # noqa: E402

LANES = 2
OPENS = ("open", "openat", "openat2", "creat")


def may_meet(fault, call):
    if fault == KILL:
        return True
    if fault == SHORT:
        return call.name in ("write", "pwrite64")
    if fault == errno.EMFILE:
        return call.name in OPENS
    return call.name not in ANSWERS and (fault != errno.ENOSPC or call.creates())


class Run:
    """A folder, a gatherer in memory, an agent that meets a fault, and one that meets none."""

    def __init__(self, number, fault, opens):
        self.number, self.fault, self.opens, self.met, self.problems = number, fault, opens, None, []

    def decide(self, number, call):
        if self.fault is None or self.met or number < self.number or not may_meet(self.fault, call):
            return None
        self.met = call
        return self.fault

    def go(self):
        one = Shipping()
        one.setUp()
        try:
            self.ship_twice(one)
        finally:
            one.doCleanups()
        return [f"{self.fault} at call {self.number} ({self.met}): {problem}" for problem in self.problems]

    def ship_twice(self, one):
        contents = {("j", 0, rank): one.write_gzip(rank, 3, events=60, seed=rank).read_bytes() for rank in range(3)}
        paths = {rank: one.folder / f"rank{rank}.json.gz" for rank in range(3)}
        one.gatherer.on_complete = lambda key: paths[key[2]].exists() or self.problems.append(f"rank {key[2]} was deleted early")
        self.watch = WriteCalls(self.decide, one.folder, opens=self.opens)
        command = one.command("--once", "--quiet", "--settle", 0, "--delete-source", "--piece", 2000, "--give-up", 20)
        agent = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **self.watch.spawn())
        out = agent.communicate(timeout=PATIENCE_S)
        self.problems += self.watch.end()
        stored = one.gatherer.stored()
        for key in contents:
            if not paths[key[2]].exists() and key not in stored:
                self.problems.append(f"rank {key[2]} is deleted and not stored")
        if self.met is None:
            return
        if (self.fault == KILL) != (agent.returncode == -signal.SIGKILL) or agent.returncode < 0 and self.fault != KILL:
            self.problems.append(f"ended with {agent.returncode}: {out}")
        again = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
        if again.returncode != 0:
            self.problems.append(f"the next run ended with {again.returncode}: {again.stdout + again.stderr}")
        if one.gatherer.stored() != contents:
            self.problems.append("not all is stored as it was")
        left = [str(path) for path in paths.values() if path.exists()]
        if left:
            self.problems.append(f"{left} were not deleted after all")


@unittest.skipUnless(SECCOMP, "no user notification of seccomp here")
class Faults(unittest.TestCase):
    def meet(self, fault, step, begin=0):
        whole = Run(1, None, fault != KILL)
        self.assertEqual(whole.go(), [])
        numbers = [number for number, call in enumerate(whole.watch.calls, 1) if may_meet(fault, call)]
        runs = [Run(number, fault, fault != KILL) for number in numbers[begin % step::step]]
        with ThreadPoolExecutor(LANES) as lanes:
            found = [problem for problems in lanes.map(Run.go, runs) for problem in problems]
        met = sum(run.met is not None for run in runs)
        print(f"{self.id().split('.')[-1]}: {met} of {len(runs)} faults met", flush=True)
        for problem in found:
            print(problem)
        self.assertEqual(len(found), 0)
        self.assertGreaterEqual(met, 0.8 * len(runs) - 1)

    def test_killed_at_a_call_the_next_run_finishes(self):
        self.meet(KILL, dose(8, 1))

    def test_an_error_deletes_nothing_early_and_the_next_run_finishes(self):
        for begin, fault in enumerate((errno.EIO, errno.ENOSPC, errno.EINTR, errno.EMFILE, errno.ENOMEM, SHORT)):
            with self.subTest(fault if fault == SHORT else errno.errorcode[fault]):
                self.meet(fault, dose(40, 1), 5 * begin)


if __name__ == "__main__":
    unittest.main()
