#!/usr/bin/env python3
"""kill -9, and an error, at the N-th call by which the daemon writes, flushes, moves or answers: a scripted job, each call of it.

After each fault the daemon is started again: what was promised is there, the job goes on to its end, --check finds
nothing. An error may end the daemon, which says why, or a request, which gets 5xx; never is anything promised falsely,
and after a failed flush it always ends. A fault that was never met fails the run. The daemon that starts after a kill meets
a fault of its own in AfterAKill, and the one after it none.
usage: faults.py SKEWSCOPE            a share of the calls; each call with SKEWSCOPE_DOSE=nightly
       faults.py SKEWSCOPE Kill ...   as unittest has it"""
import errno
import functools
import os
import random
import shutil
import signal
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from daemon import Daemon, dose
from scripted_job import ScriptedJob
from write_calls import ANSWERS, KILL, SECCOMP, SHORT, WriteCalls

LANES, LONGEST_START = 2, 5
OPENS = ("open", "openat", "openat2", "creat")
WRITES = ("write", "pwrite64")
FLUSHES = ("fsync", "fdatasync")
TAKE_SPACE = WRITES + FLUSHES + OPENS + ("fallocate", "mkdir", "mkdirat", "rename", "renameat", "renameat2", "symlinkat", "linkat")
WAIT = WRITES + FLUSHES + OPENS + ("fallocate", "ftruncate")
# Which calls an error is for; None: all but answers.
POSSIBLE = {errno.EIO: None, errno.ENOMEM: None, errno.ENOSPC: TAKE_SPACE, errno.EDQUOT: TAKE_SPACE, errno.EINTR: WAIT,
            errno.EMFILE: OPENS, SHORT: WRITES}
# What the daemon does now and then, whoever asks: it would make the numbers of the calls uncertain.
ASIDE = ("ballast", "backup", "trash")


def named(fault):
    return fault if isinstance(fault, str) else errno.errorcode.get(fault, "nothing")


def may_meet(fault, call):
    if fault == KILL:
        return True
    possible = POSSIBLE[fault]
    if possible is TAKE_SPACE and not call.creates():
        return False
    return call.name in possible if possible else call.name not in ANSWERS


class Run:
    """One daemon that meets one fault, and the next one, which meets none."""

    def __init__(self, number, fault, sticky=False, of=None, job=None):
        """`of`: the number counts calls of this text alone. `job`: goes on where it is."""
        self.of, self.seen = of, 0
        self.number, self.fault, self.sticky, self.met, self.closing = number, fault, sticky, None, False
        # A report that failed for want of disk is made again after that pause.
        self.daemon, self.job = Daemon("--debounce", 1), job or ScriptedJob()
        # A report that finds no room has failed; one that was being made at the daemon's end is made again.
        self.job.report_may_fail = lambda: self.met and fault != KILL and "/report" in self.met.target
        self.watch = WriteCalls(self.decide, self.daemon.spool, opens=fault != KILL, skip=ASIDE)

    def decide(self, number, call):
        if self.fault is None or not may_meet(self.fault, call):
            return None
        if self.of and self.met is None:
            self.seen += self.of in str(call)
            number = self.seen
        if number < self.number:
            return None
        if self.met is None:
            self.met, self.closing = call, '"event":"stopped"' in self.daemon.log_text()
        return self.fault if call is self.met or self.sticky and call.name == self.met.name else None

    def start(self):
        try:
            self.daemon.start(**self.watch.spawn())
            return True
        except AssertionError:  # ended before it was ready, which is fine
            return False

    def problem(self, text):
        self.job.problems.append(text)

    def go(self):
        """The problems that were found."""
        self.meet()
        if self.met:
            self.go_on()
        return self.findings()

    def meet(self):
        """To the fault, or to the end of the job."""
        begin = time.monotonic()
        ready = self.start()
        finished = ready and self.job.persist(self.daemon, 2 if self.sticky else 30)
        if self.sticky and ready and not self.daemon.ended():
            self.look_at_cpu()
        elif ready and not finished and not self.daemon.ended():
            self.problem(f"stuck for {time.monotonic() - begin:.0f} s in {self.job.steps[self.job.at].__name__}, "
                         f"last answers {self.job.statuses[-5:]}")
        self.check_end(self.daemon.stop(), ready)
        self.job.problems += self.watch.end()

    def findings(self):
        shutil.rmtree(self.daemon.folder)
        return [f"{named(self.fault)} at call {self.number} ({self.met}): {problem}" for problem in self.job.problems]

    def look_at_cpu(self):
        def ticks():
            return sum(map(int, Path(f"/proc/{self.daemon.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))

        begin = ticks()
        time.sleep(1)
        if ticks() - begin > 0.1 * os.sysconf("SC_CLK_TCK"):
            self.problem(f"spins: {ticks() - begin} ticks of the processor in a second")

    def check_end(self, code, ready):
        told = "store_failed" in self.daemon.log_text() if ready else self.daemon.log_text() != ""
        if self.fault == KILL:
            if self.met and code != -signal.SIGKILL:
                self.problem(f"was not killed: {code}")
            return
        if code < 0:
            self.problem(f"ended by signal {-code}: {self.daemon.log_text()[-2000:]}")
        if code > 0 and not told:
            self.problem(f"ended with {code} and did not say why")
        flush = self.met and self.met.flushes()
        # SQLite flushes the folder of its own accord and does not look; our own flush of it follows. Nor does anybody depend
        # on the checkpoint at the end: the log stays.
        looked_at = flush and str(self.met) != "fdatasync ." and not self.closing
        if looked_at and self.fault in (errno.EIO, errno.ENOMEM) and code == 0:
            self.problem("went on after a flush had failed")
        # A descriptor is waited for, not for ever; a file that was to be replaced must get back to its place.
        lasting = self.sticky and (self.fault == errno.EMFILE or " back: " in self.daemon.log_text())
        if code > 0 and ready and not flush and not lasting and self.fault not in (errno.EIO, errno.ENOMEM):
            self.problem(f"ended where it should have refused or tried again: {self.daemon.log_text().splitlines()[-3:]}")

    def go_on(self):
        """The daemon again, without a fault."""
        daemon, job = self.daemon, self.job
        daemon.start()
        if daemon.seconds_to_ready > LONGEST_START:
            self.problem(f"ready only after {daemon.seconds_to_ready:.1f} s")
        try:
            job.check_promises(daemon)
            job.at = min(job.at, len(job.steps) - 1)  # a report that is being made again is waited for
            if not job.persist(daemon):
                self.problem(f"cannot finish after a restart: {job.steps[job.at].__name__}, answers {job.statuses[-5:]}")
        except Exception as error:  # noqa: BLE001: one run's end is not all runs'
            self.problem(f"after the restart: {error!r}")
        lost = [line for line in daemon.ask("GET", "/metrics", admin=True).body.decode().splitlines() if "lost_files_total " in line]
        if not lost or not lost[-1].endswith(" 0"):
            self.problem(f"files were lost: {lost}")
        if daemon.stop() != 0:
            self.problem(f"ended badly after the restart: {daemon.log_text()[-500:]}")
        job.check_spool(daemon)


class Restart(Run):
    """A daemon on what a killed one has left, which meets one fault before it is ready, and the next one, which meets none."""

    def __init__(self, killed, number, fault, of=None):
        super().__init__(number, fault, of=of, job=killed.job.copy())
        self.killed, self.ready, self.calls_to_ready, self.watch.opens = killed, False, [], True
        shutil.copytree(killed.daemon.spool, self.daemon.spool, symlinks=True, dirs_exist_ok=True)

    def decide(self, number, call):
        return None if self.ready else super().decide(number, call)

    def meet(self):
        ready = self.start()
        if not ready and self.fault is None:
            self.problem(f"does not start: {self.daemon.log_text()}")
        self.ready, self.calls_to_ready = True, list(self.watch.calls)
        self.check_end(self.daemon.stop(), ready)
        self.job.problems += self.watch.end()

    def findings(self):
        return [f"after a kill at call {self.killed.number} ({self.killed.met}): {problem}" for problem in super().findings()]


def restarts_after(number, kills, errors):
    """How many met their fault, of how many, and what they found: `kills` calls of the start, None: each, and one of each error."""
    killed = Run(number, KILL)
    killed.meet()
    if not killed.met:  # a busy machine made fewer calls
        killed.findings()
        killed = Run(number * 3 // 4, KILL)
        killed.meet()
    if not killed.met:
        killed.findings()
        return 0, 0, [f"no call {killed.number}"]
    whole = Restart(killed, 1, None)
    whole.meet()
    calls = whole.calls_to_ready
    chosen = random.Random(killed.number)
    numbers = range(1, len(calls) + 1)
    runs = [Restart(killed, number, KILL) for number in (numbers if kills is None else chosen.sample(numbers, min(kills, len(calls))))]
    for fault in errors:
        possible = [number for number in numbers if may_meet(fault, calls[number - 1])]
        runs += [Restart(killed, chosen.choice(possible), fault)] if possible else []
    found = [problem for run in runs for problem in run.go()] + whole.findings() + killed.findings()
    return sum(run.met is not None for run in runs), len(runs), found


@functools.cache
def calls_of(opens):
    """The calls of a whole job that meets no fault."""
    run = Run(1, None)
    run.watch.opens = opens
    problems = run.go()
    assert not problems and run.job.at == len(run.job.steps), problems
    return run.watch.calls


@unittest.skipUnless(SECCOMP, "no user notification of seccomp here")
class Faults(unittest.TestCase):
    def meet_all(self, runs, least):
        begin = time.monotonic()
        with ThreadPoolExecutor(LANES) as lanes:
            found = [problem for problems in lanes.map(Run.go, runs) for problem in problems]
        met = sum(run.met is not None for run in runs)
        print(f"{self.id().split('.')[-1]}: {met} of {len(runs)} faults met in {time.monotonic() - begin:.0f} s", flush=True)
        for problem in found:
            print(problem)
        self.assertEqual(len(found), 0)
        self.assertGreaterEqual(met, least)

    def numbers(self, fault, text=""):
        return [number for number, call in enumerate(calls_of(fault != KILL), 1) if may_meet(fault, call) and text in str(call)]

    def meet(self, fault, step, begin=0):
        self.meet_or_earlier(fault, self.numbers(fault)[begin % step::step])

    def meet_or_earlier(self, fault, numbers, **options):
        """On a busy machine requests share their flushes and a job makes fewer calls: the last faults are met earlier then."""
        runs = [Run(number, fault, **options) for number in numbers]
        self.meet_all(runs, 0.5 * len(runs) - 1)
        missed = [Run(run.number * 3 // 4, fault, **options) for run in runs if run.met is None]
        if missed:
            self.meet_all(missed, 0.9 * len(missed) - 1)


class Kill(Faults):
    def test_kill_at_a_call_that_writes_loses_nothing(self):
        self.meet(KILL, dose(4, 1))


class Errors(Faults):
    """Each error once."""
    step = dose(16, 1)

    def test_an_input_output_error_ends_it_or_a_request(self):
        self.meet(errno.EIO, self.step, 1)

    def test_without_kernel_memory_it_ends_or_refuses(self):
        self.meet(errno.ENOMEM, self.step, 3)

    def test_a_full_disk_refuses(self):
        self.meet(errno.ENOSPC, self.step, 5)

    def test_a_quota_that_is_used_up_refuses(self):
        self.meet(errno.EDQUOT, self.step, 7)

    def test_an_interrupted_call_is_made_again(self):
        self.meet(errno.EINTR, self.step, 9)

    def test_without_a_descriptor_it_refuses(self):
        self.meet(errno.EMFILE, self.step, 11)

    def test_a_short_write_is_continued(self):
        self.meet(SHORT, self.step, 13)


class ErrorsThatStay(Faults):
    """From some call on, all calls of its name."""

    def test_nothing_spins_and_nothing_is_promised(self):
        chosen = random.Random(1)
        for fault in (errno.EIO, errno.ENOSPC, errno.EMFILE):
            numbers = self.numbers(fault)
            picked = chosen.sample(numbers, min(len(numbers), dose(3, 40)))
            self.meet_or_earlier(fault, picked, sticky=True)


class AfterAKill(Faults):
    def test_a_fault_while_it_recovers_from_a_kill_is_recovered_from(self):
        begin, numbers = time.monotonic(), self.numbers(KILL)
        step = dose(len(numbers) // 4, 8)
        errors = dose((errno.EIO,), (errno.EIO, errno.ENOMEM, errno.ENOSPC, errno.EMFILE, errno.EINTR, SHORT))
        with ThreadPoolExecutor(LANES) as lanes:
            done = list(lanes.map(lambda number: restarts_after(number, dose(2, None), errors),
                                  numbers[step // 2::step]))
        met, pairs = (sum(one[i] for one in done) for i in (0, 1))
        print(f"{met} of {pairs} second faults met after {len(done)} kills in {time.monotonic() - begin:.0f} s", flush=True)
        found = [problem for one in done for problem in one[2]]
        for problem in found:
            print(problem)
        self.assertEqual(len(found), 0)
        self.assertGreaterEqual(met, 0.9 * pairs - 1)
        self.assertGreaterEqual(pairs, dose(8, 200))


class Found(Faults):
    """What these tests have found, by its name."""

    def meet_one(self, fault, text, last=False, **options):
        numbers = self.numbers(fault, text)
        self.meet_all([Run(len(numbers) if last else len(numbers) // 2 + 1, fault, of=text, **options)], 1)

    def meet_one_at_restart(self, kill, fault, text, number=1):
        """`kill`: before the first call of this text; None: the job is done and the daemon ended well."""
        killed = Run(1, KILL if kill else None, of=kill)
        killed.meet()
        self.assertEqual(killed.met is None, kill is None)
        self.meet_all([Restart(killed, number, fault, of=text)], 1)
        self.assertEqual(killed.findings(), [])

    def test_a_manifest_that_cannot_be_looked_at_now_is_not_taken_for_a_missing_one(self):
        self.meet_one_at_restart("fsync quarantine/run", errno.ENOMEM, "openat2 gather.sqlite")

    def test_a_file_that_cannot_be_looked_at_now_is_not_set_aside(self):
        self.meet_one_at_restart(None, errno.ENOMEM, "openat2 jobs/run/ranks/c0000/r00001")

    def test_a_file_without_a_row_that_cannot_be_read_now_is_not_set_aside(self):
        for number in (1, 2):  # looked at, opened
            self.meet_one_at_restart("fsync jobs/run/ranks/c0000", errno.EIO, "openat2 jobs/run/ranks/c0000/r00000", number)

    def test_a_part_that_cannot_be_cut_off_where_it_was_promised_is_not_set_aside(self):
        self.meet_one_at_restart("mkdirat jobs/run/ranks/c0000", errno.EIO, "ftruncate in/")

    def test_a_disk_without_room_for_the_folder_of_a_job_does_not_end_it(self):
        self.meet_one(errno.ENOSPC, "mkdirat jobs/run/ranks")

    def test_a_quota_that_the_manifest_uses_up_does_not_end_it(self):
        self.meet_one(errno.EDQUOT, "pwrite64 gather.sqlite-wal")

    def test_a_part_for_which_there_is_no_descriptor_does_not_end_it(self):
        self.meet_one(errno.EMFILE, "openat2 in/")

    def test_a_report_that_finds_the_disk_full_does_not_seem_to_run_for_ever(self):
        self.meet_one(errno.ENOSPC, "fdatasync jobs/run/report/g0001/report.json")

    def test_a_report_that_cannot_be_read_now_is_not_said_not_to_exist(self):
        self.meet_one(errno.ENOMEM, "jobs/run/report/g0001/report.json", last=True)

    def test_a_report_that_cannot_begin_is_not_begun_again_at_once(self):
        self.meet_one(errno.ENOSPC, "mkdirat jobs/run/report", sticky=True)


if __name__ == "__main__":
    unittest.main()
