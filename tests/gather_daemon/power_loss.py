#!/usr/bin/env python3
"""Power loss under the real daemon: nothing that was acknowledged is lost.

The daemon runs on an ext4 whose disk is logged (write_log.py). Agents write down what was acknowledged, and how long the
log was then. From the log states are built that a power loss may leave; each is mounted, the daemon starts on it as it
does after any crash, and all that had been acknowledged must be there and right, the rest right or absent.
With --lost-flush one kind of flush after the other is left out, which must be noticed: else the test sees nothing.
usage: power_loss.py SKEWSCOPE [--states N] [--seed N] [--on DISK ...] [--lost-flush LIBRARY]"""
import argparse
import base64
import concurrent.futures
import hashlib
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from alone import alone
from daemon import PROGRAM, Daemon, checksum_of, digest_of, dose
from write_log import Mounted, Recorder, States, python_with_fuse, run

MEGABYTES, AGENTS, LEAST_REQUESTS, LONGEST_START = {"ext4": 96, "btrfs": 128}, 4, 50, 30
MOST_REQUESTS = 500  # of one burst: a fast machine does not fill the disk
DISKS = {"ext4": ("ext4", "data=ordered"), "ext4, data=writeback": ("ext4", "data=writeback"), "btrfs": ("btrfs", "rw")}
ONLY_FLUSHES = "commit=300"  # nothing becomes durable because time passes
# A kind of flush: a file system that notices, and parts of the paths it is of. ext4 commits all names with any flush;
# btrfs keeps a renamed file by the flush of either of its folders.
FLUSHES = {"of the bytes": ("ext4", ".part$"), "of the manifest": ("ext4", "gather.sqlite"), "of all": ("ext4", "/"),
           "of the folders": ("btrfs", "/in$:/ranks")}


def repr_digest(digest):
    return "sha-256=:" + base64.b64encode(digest).decode() + ":"


class SpoolDaemon(Daemon):
    def __init__(self, spool, folder, lost_flush=None):
        folder.mkdir(exist_ok=True)
        super().__init__("--reserved-disk", 0, "--hard-disk", 0.99, "--soft-disk", 0.99, folder=folder)
        self.spool, self.lost_flush = spool, lost_flush
        self.spool.mkdir(exist_ok=True)

    def command(self):
        if not self.lost_flush:
            return super().command()
        library, part = self.lost_flush
        return ["env", f"LD_PRELOAD={library}", f"SKEWSCOPE_LOST_FLUSH={part}", *super().command()]


class Version:
    """One content of a rank: sent at some time, acknowledged where the log was `acknowledged` bytes long, or never."""

    def __init__(self, content):
        self.content, self.digest, self.acknowledged = content, digest_of(content), None


class Upload:
    def __init__(self, rank, content):
        self.rank, self.content, self.offsets, self.sent, self.over = rank, content, [], 0, False


class History:
    def __init__(self, recorder):
        self.recorder, self.lock, self.one_sets = recorder, threading.Lock(), threading.Lock()
        self.requests, self.next_rank = 0, 0
        self.ranks, self.uploads, self.world_sizes, self.problems = {}, {}, [], []
        self.report, self.report_digest = None, None
        self.seconds = 0

    def new_rank(self):
        with self.lock:
            self.next_rank += 1
            self.ranks[self.next_rank] = []
            return self.next_rank

    def positions(self):
        """Where something was acknowledged."""
        acknowledged = [version.acknowledged for versions in self.ranks.values() for version in versions]
        acknowledged += [position for upload in self.uploads.values() for position, _ in upload.offsets]
        acknowledged += [position for position, _ in self.world_sizes] + [self.report]
        return sorted(position for position in acknowledged if position)


class Agent(threading.Thread):
    def __init__(self, daemon, history, seed, until):
        super().__init__()
        self.most = history.requests + MOST_REQUESTS
        self.to, self.history, self.choose, self.until = daemon, history, random.Random(seed), until
        self.mine = []

    def run(self):
        try:
            while time.monotonic() < self.until and self.history.requests < self.most:
                self.choose.choices((self.put, self.tus, self.replace, self.set_world_size), (4, 4, 2, 1))[0]()
        except Exception as error:  # noqa: BLE001: a thread that dies unseen would be a passed test
            self.history.problems.append(f"agent: {error!r}")

    def told(self, answer, *allowed):
        """The log's length after the answer."""
        position = self.history.recorder.position()
        with self.history.lock:
            self.history.requests += 1
            if answer.status not in allowed:
                self.history.problems.append(f"the daemon answered {answer.status} {answer.body!r}")
        return position

    def content(self, *sizes):
        return self.choose.randbytes(self.choose.choice(sizes) + self.choose.randrange(500))

    def send(self, rank, query=""):
        version = Version(self.content(100, 5_000, 60_000))
        self.history.ranks[rank].append(version)
        answer = self.to.put(version.content, "load", rank, query=query, Repr_Digest=version.digest)
        position = self.told(answer, 201)
        if answer.status == 201 and answer["Repr-Digest"] == version.digest:
            version.acknowledged = position

    def put(self):
        rank = self.history.new_rank()
        self.send(rank)
        self.mine.append(rank)

    def replace(self):
        if self.mine:
            self.send(self.choose.choice(self.mine), "?replace=1")

    def set_world_size(self):
        with self.history.one_sets:
            size = 10_000 + len(self.history.world_sizes)
            answer = self.to.ask("PUT", "/v1/jobs/load", body=b'{"world_size": %d}' % size)
            self.history.world_sizes.append((self.told(answer, 200, 201, 204), size))

    def tus(self):
        rank = self.history.new_rank()
        version = Version(self.content(3_000, 90_000, 250_000))
        self.history.ranks[rank].append(version)
        answer = self.to.create(len(version.content), "load", rank)
        position, path = self.told(answer, 201), answer["Location"]
        upload = self.history.uploads[path] = Upload(rank, version.content)
        upload.offsets.append((position, 0))
        pieces = self.choose.randint(1, 4)
        given_up = self.choose.random() < 0.3
        for _ in range(pieces - given_up):
            begin = upload.sent
            upload.sent += -(-len(version.content) // pieces)
            piece = version.content[begin:upload.sent]
            upload.over = upload.sent >= len(version.content)
            checksum = {"Upload_Checksum": checksum_of(piece)} if self.choose.random() < 0.5 else {}
            answer = self.to.patch(path, begin, piece, **checksum)
            position = self.told(answer, 204)
            upload.offsets.append((position, int(answer["Upload-Offset"])))
        if upload.over and answer["Repr-Digest"] == version.digest:
            version.acknowledged = position
        elif self.choose.random() < 0.3:
            upload.over = True
            self.told(self.to.ask("DELETE", path), 204)


def have_a_report_made(daemon, history, folder):
    """A job of two ranks, whose report is told of."""
    run(PROGRAM, "simulate", "-q", "-o", folder / "job", "--nodes", 1, "--gpus", 2, "--tp", 2, "--steps", 2, "--compression", "gzip")
    daemon.ask("PUT", "/v1/jobs/traced", body=b'{"world_size": 2}')
    for rank, path in enumerate(sorted((folder / "job").glob("rank*"))):
        daemon.put(path.read_bytes(), "traced", rank)
    state = daemon.wait_for_job(lambda job: job["report_state"] == "complete", "traced", 60)
    if state["report_state"] != "complete":
        history.problems.append(f"no report: {state}")
    history.report_digest = hashlib.sha256(daemon.ask("GET", "/v1/jobs/traced/report.json").body).digest()
    history.report = history.recorder.position()


def record(folder, seed, seconds, file_system, options, lost_flush=None):
    """The history of a load on a logged disk."""
    recorder = Recorder(folder / "disk", MEGABYTES[file_system], file_system)
    history = History(recorder)
    with recorder, Mounted(recorder.fuse / "disk", folder / "mounted", file_system, options) as disk:
        daemon = SpoolDaemon(disk / "spool", folder / "daemon", lost_flush).start()
        try:
            for burst in range(2):
                begin = time.monotonic()
                agents = [Agent(daemon, history, f"{seed}.{burst}.{i}", begin + seconds / 2) for i in range(AGENTS)]
                for agent in agents:
                    agent.start()
                for agent in agents:
                    agent.join()
                history.seconds += time.monotonic() - begin
                if burst == 0:
                    time.sleep(1.2)  # the manifest's log is written back, and begun again
                    have_a_report_made(daemon, history, folder)
        finally:
            daemon.stop(9)
    return history


class State:
    """One state, mounted and served; what is wrong with it."""

    def __init__(self, history, position, daemon):
        self.history, self.position, self.daemon, self.problems = history, position, daemon, []

    def before(self, position):
        return position is not None and position <= self.position

    def check(self):
        daemon = self.daemon
        (daemon.folder / "log").unlink(missing_ok=True)
        try:
            daemon.start()
            if daemon.seconds_to_ready > LONGEST_START:
                self.problems.append(f"ready only after {daemon.seconds_to_ready:.1f} s")
            self.check_jobs()
            self.check_uploads()
            if "skewscope_gather_lost_files_total 0" not in daemon.ask("GET", "/metrics", admin=True).body.decode():
                self.problems.append("the daemon says that files were lost")
        except Exception as error:  # noqa: BLE001: whatever goes wrong here is the state's fault
            self.problems.append(f"{error!r} {daemon.log_text()[-300:]}")
        finally:
            if daemon.process:
                daemon.stop()
        self.check_files()
        return self.problems

    def check_jobs(self):
        sizes = [size for position, size in self.history.world_sizes if self.before(position)]
        if sizes and self.daemon.job("load").get("expected", 0) < max(sizes):
            self.problems.append(f"world_size {max(sizes)} was acknowledged")
        if self.before(self.history.report):
            answer = self.daemon.ask("GET", "/v1/jobs/traced/report.json")
            if answer.status != 200 or hashlib.sha256(answer.body).digest() != self.history.report_digest:
                self.problems.append(f"the report was told of, is {answer.status}")

    def check_files(self):
        """After a clean end: each rank has what was last acknowledged of it, or what was sent after that."""
        stored = {name: digest_of(content) for name, content in self.daemon.stored().items()}
        found = {int(Path(name).name[1:].split(".")[0]): digest for name, digest in stored.items() if name.startswith("load/")}
        for rank, versions in self.history.ranks.items():
            last = max((i for i, version in enumerate(versions) if self.before(version.acknowledged)), default=None)
            allowed = [version.digest for version in versions[last or 0:]] + [None] * (last is None)
            if found.get(rank) not in allowed:
                self.problems.append(f"rank {rank}: " + ("wrong bytes" if rank in found else "acknowledged, is not there"))
        self.problems += [f"rank {rank} was never sent" for rank in found if rank not in self.history.ranks]
        self.check_manifest(stored.values())

    def check_manifest(self, digests):
        code, text = self.daemon.check()
        if code != 0:
            self.problems.append(f"--check: {text}")
        manifest = sqlite3.connect(f"file:{self.daemon.spool}/gather.sqlite?mode=ro", uri=True)
        told = [repr_digest(row[0]) for row in manifest.execute("SELECT sha256 FROM file")]
        manifest.close()
        if sorted(told) != sorted(digests):
            self.problems.append("the manifest's digests are not those of the files")

    def check_uploads(self):
        """An open upload stands where it was told, and goes on from there to the right digest."""
        finished = 0
        for path, upload in self.history.uploads.items():
            told = [offset for position, offset in upload.offsets if self.before(position)]
            if not told or upload.over:
                continue
            answer = self.daemon.ask("HEAD", path)
            offset = int(answer["Upload-Offset"] or -1)
            if answer.status != 200 or not max(told) <= offset <= upload.sent:
                self.problems.append(f"upload of rank {upload.rank}: {max(told)} were told, HEAD says {answer.status} {offset}")
            elif finished < 3:
                finished += 1
                answer = self.daemon.patch(path, offset, upload.content[offset:], Repr_Digest=digest_of(upload.content))
                if answer.status != 204:
                    self.problems.append(f"upload of rank {upload.rank} goes not on at {offset}: {answer.status}")

def check_state(history, position, image, folder):
    try:
        with Mounted(image, folder / "mounted", history.recorder.file_system, "defaults") as disk:
            return State(history, position, SpoolDaemon(disk / "spool", folder / "daemon")).check()
    except OSError as error:
        return [str(error)]
    finally:
        image.unlink()


def cuts(history, states, choose, count):
    """Half of them just after something was acknowledged, where it is easiest lost."""
    ends, told = states.ends(), history.positions()
    return sorted(choose.choice(told) if choose.random() < 0.5 else choose.choice(ends) for _ in range(count))


def lost(history, folder, seed, count, enough=None):
    """What is wrong with `count` states, or with the first `enough` that anything is wrong with."""
    choose, states, problems = random.Random(seed), States(history.recorder), []
    workers = 2
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        running = {}
        free = [folder / f"worker{i}" for i in range(workers)]
        for place in free:
            place.mkdir()

        def collect(return_when):
            for done in concurrent.futures.wait(running, return_when=return_when).done:
                place, which = running.pop(done)
                free.append(place)
                if done.result():
                    problems.append((which, done.result()))

        for position in cuts(history, states, choose, count):
            if not free:
                collect(concurrent.futures.FIRST_COMPLETED)
            if enough and len(problems) >= enough:
                break
            place = free.pop()
            which = states.state_at(position, place / "image", choose)
            running[pool.submit(check_state, history, position, place / "image", place)] = (place, which)
        collect(concurrent.futures.ALL_COMPLETED)
    return problems


def load_problems(history):
    rate = history.requests / history.seconds
    print(f"{history.requests} requests, {rate:.0f} a second; {len(history.ranks)} ranks; "
          f"log of {history.recorder.position() >> 20} MiB", flush=True)
    return history.problems + (["invalid run: too little load"] if rate < LEAST_REQUESTS else [])


def nothing_is_lost(folder, seed, count, disk):
    file_system, options = DISKS[disk]
    history = record(folder, seed, 4, file_system, f"{options},{ONLY_FLUSHES}")
    problems = load_problems(history)
    begin = time.monotonic()
    wrong = lost(history, folder, seed, count)
    print(f"{disk}: {count} states in {time.monotonic() - begin:.0f} s, {len(wrong)} wrong", flush=True)
    for which, what in wrong:
        problems.append(f"{which}: {'; '.join(what[:5])}")
    return problems


def is_noticed(folder, seed, library, kind):
    file_system, part = FLUSHES[kind]
    history = record(folder, seed, 2, file_system, ONLY_FLUSHES, (library, part))
    wrong = lost(history, folder, seed, 100, enough=1)
    print(f"without the flush {kind}: {wrong[0][0] + ': ' + wrong[0][1][0][:200] if wrong else 'nothing is wrong'}", flush=True)
    return [] if wrong else [f"the flush {kind} was left out, and nothing was lost"]


def why_not():
    if os.geteuid() != 0:
        return "only root may mount"
    for path in ("/dev/fuse", "/dev/loop-control"):
        if not os.path.exists(path):
            return f"no {path} here"
    missing = [tool for tool in ("mkfs.ext4", "mkfs.btrfs", "losetup", "mount", "unshare") if shutil.which(tool) is None]
    if missing:
        return f"no {missing[0]} here"
    return None if python_with_fuse() else "no Debian package python3-fusepy here"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lost-flush", help="library of lost_flush.cc: leave flushes out")
    parser.add_argument("--states", type=int, default=dose(200, 2500))
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--on", nargs="*", default=dose(["ext4"], list(DISKS)))
    parser.add_argument("--lose", nargs="*", default=list(FLUSHES))
    options = parser.parse_args()
    if why_not():
        print(f"skipped: {why_not()}")
        return 77
    alone()
    print(f"seed {options.seed}", flush=True)
    problems = []

    def with_folder(call, *arguments):
        with tempfile.TemporaryDirectory(prefix="skewscope_power_") as folder:
            run("mount", "-t", "tmpfs", "memory", folder)
            try:
                problems.extend(call(Path(folder), *arguments))
            finally:
                run("umount", "--lazy", folder)

    for disk in [] if options.lost_flush else options.on:
        with_folder(nothing_is_lost, options.seed, options.states, disk)
    for kind in options.lose if options.lost_flush else []:
        with_folder(is_noticed, options.seed, options.lost_flush, kind)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
