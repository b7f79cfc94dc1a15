"""Eight users of one gatherer, of whom one is hostile in turn by each way that a tester found. What the uploads and reports
of the other seven take beside that, against the quiet times before and after each way, and whether anything of theirs is gone.

Sent over TLS, each request from a connection of its own. Load and daemon share the machine; what the hostile user does has the
lowest priority, as if it came from elsewhere. The machine's clock is the daemon's, but for the way that sets it ahead."""
import hashlib
import json
import os
import random
import signal
import socket
import ssl
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

from harness import SKEWSCOPE, TOP, WORK, build, keep, say, table

sys.path.insert(0, str(TOP / "tests" / "gather_daemon"))
import daemon as gatherer  # noqa: E402
from soak_ways import Hostile, UID, WAYS  # noqa: E402

USERS, RANKS, PAUSE_S, MOST_CHANGE = 7, 4, (8, 16), 1 / 3
REGISTERED = 50_000  # jobs that the cluster had before: its prolog's work, not the hostile user's
FORTY_DAYS_S, LIFE_S = 40 * 24 * 3600, 100 * 24 * 3600
PLACE = WORK / "soak"
CLOCK = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *at) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(id, at);
  if (id != CLOCK_REALTIME) return result;
  FILE *file = fopen(getenv("SOAK_CLOCK"), "r");
  long ahead = 0;
  if (file && fscanf(file, "%ld", &ahead) == 1) at->tv_sec += ahead;
  if (file) fclose(file);
  return result;
}
"""


class Head:
    """The daemon, its keys and certificates, and tokens for it."""

    def __init__(self):
        subprocess.run(["rm", "-rf", PLACE], check=True)
        PLACE.mkdir(parents=True)
        gatherer.PROGRAM = SKEWSCOPE
        gatherer.self_made_ca(PLACE)
        self.keys, self.ahead, library = gatherer.key_file(PLACE), PLACE / "ahead", PLACE / "clock.so"
        self.ahead.write_text("0")
        (PLACE / "clock.c").write_text(CLOCK)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, PLACE / "clock.c", "-ldl"], check=True)
        self.daemon = gatherer.Daemon(
            "--token-key-file", self.keys, "--certificate", PLACE / "head.pem", "--private-key", PLACE / "head.key", "--client-ca",
            PLACE / "ca.pem", "--registry-socket", PLACE / "socket", "--largest-user", "2G", "--quarantine-size", "50M", folder=PLACE,
            insecure=False).start(env={**os.environ, "LD_PRELOAD": str(library), "SOAK_CLOCK": str(self.ahead)})
        self.daemon.context = gatherer.trusting(PLACE)

    def token(self, job, uid, *flags):
        return gatherer.minted(self.keys, job, "--uid", uid, "--life", LIFE_S, *flags)

    def register(self, job, uid):
        body = json.dumps({"owner_uid": uid, "world_size": RANKS, "nodes": ["node17"]})
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(str(PLACE / "socket"))
            sock.sendall(f"PUT /v1/jobs/{job} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
            return sock.recv(4096)


class Honest(threading.Thread):
    """A user whose jobs of four ranks come one after the other."""

    def __init__(self, head, number, traces, over):
        super().__init__(daemon=True)
        self.head, self.number, self.traces, self.over = head, number, traces, over
        self.jobs, self.failures = [], []  # (job, token, began, upload s, report s)

    def run(self):
        time.sleep(random.uniform(0, PAUSE_S[1]))
        while not self.over.is_set():
            job = f"user{self.number}-{len(self.jobs)}.0"
            try:
                self.jobs.append(self.one(job))
            except Exception as error:  # whatever a user would see
                self.failures.append((job, time.time(), repr(error)[:200]))
            self.over.wait(random.uniform(*PAUSE_S))

    def one(self, job):
        daemon, token = self.head.daemon, self.head.token(job, 2000 + self.number)
        self.head.register(job, 2000 + self.number)
        began, begin = time.time(), time.monotonic()
        for rank, content in enumerate(self.traces):
            answer = daemon.put(content, job, rank, token)
            if answer.status != 201:
                raise AssertionError(f"PUT: {answer.status} {answer.body[:100]}")
        sent = time.monotonic()
        state = daemon.wait_for_job(lambda now: now["report_state"] in ("complete", "partial", "failed"), job, 300, token)
        if state["report_state"] != "complete":
            raise AssertionError(f"report: {state['report_state']} {state['report_notes']}")
        return job, token, began, sent - begin, time.monotonic() - sent


def gone(head, honest, traces):
    """What was acknowledged and is not there as it was sent."""
    lost = []
    for user in honest:
        for job, token, *_ in user.jobs:
            for rank, content in enumerate(traces):
                told = head.daemon.ask("HEAD", f"/v1/jobs/{job}/ranks/{rank}", token=token)
                if told.status != 200 or told["Repr-Digest"] != gatherer.digest_of(content):
                    lost.append(f"{job} rank {rank}: {told.status}")
            if head.daemon.ask("HEAD", f"/v1/jobs/{job}/report.json", token=token).status != 200:
                lost.append(f"{job}: its report")
    return lost


def in_times(honest, spans):
    return [job for user in honest for job in user.jobs if any(begin <= job[2] < end for begin, end in spans)]


def compared(honest, spans):
    """Rows: way, jobs, median s of upload and of report in the quiet beside it and with it, and changes."""
    rows, worst = [], {}
    for at, (name, begin, end) in enumerate(spans):
        if name == "quiet":
            continue
        quiet = in_times(honest, [(b, e) for other, b, e in spans[max(0, at - 1):at + 2] if other == "quiet"])
        with_it = in_times(honest, [(begin, end)])
        if len(quiet) < 3 or len(with_it) < 3:
            rows.append((name, len(with_it), "-", "-", "-", "-", "-", "-"))
            worst[name] = 1.0
            continue
        middle = lambda jobs, place: statistics.median(job[place] for job in jobs)  # noqa: E731
        changes = [middle(with_it, place) / middle(quiet, place) - 1 for place in (3, 4)]
        worst[name] = max(changes)
        rows.append((name, len(with_it), *(f"{middle(jobs, 3):.2f}" for jobs in (quiet, with_it)), f"{100 * changes[0]:+.0f} %",
                     *(f"{middle(jobs, 4):.2f}" for jobs in (quiet, with_it)), f"{100 * changes[1]:+.0f} %"))
    return rows, worst


def main(options):
    minutes = options.minutes
    build("skewscope")
    head, over = Head(), threading.Event()
    subprocess.run([SKEWSCOPE, "simulate", "-q", "-o", PLACE / "sim", "--nodes", "2", "--gpus", "2", "--tp", "2", "--steps", "3"], check=True)
    traces = [next((PLACE / "sim").glob(f"rank{rank}_*")).read_bytes() for rank in range(RANKS)]
    for number in range(REGISTERED):
        head.register(f"cluster-{number}.0", UID)
    honest = [Honest(head, number, traces, over) for number in range(USERS)]
    hostile = Hostile(head, PLACE, honest)
    for user in honest:
        user.start()
    slot, spans = 60 * minutes / (1.5 * len(WAYS) + 0.5), []
    for name in WAYS:
        for what, length in (("quiet", slot / 2), (name, slot)):
            begin = time.time()
            if what != "quiet":
                hostile.begin(name)
                say(f"{name}, {len(hostile.harm)} harms so far")
            time.sleep(length)
            spans.append((what, begin, time.time()))
            if what != "quiet":
                hostile.end()
    spans.append(("quiet", time.time(), time.time() + slot / 2))
    time.sleep(slot / 2)
    over.set()
    for user in honest:
        user.join(310)
    lost = gone(head, honest, traces) + hostile.harm
    failures = [failure for user in honest for failure in user.failures]
    rows, worst = compared(honest, spans)
    jobs = sum(len(user.jobs) for user in honest)
    peak = next(int(line.split()[1]) for line in open(f"/proc/{head.daemon.process.pid}/status") if line.startswith("VmHWM")) / 1024
    head.daemon.stop(signal.SIGTERM)
    code, text = head.daemon.check()
    lost += [] if code == 0 else [f"--check: {text.splitlines()[-1]}"]
    report = table(["hostile by", "jobs", "upload s, quiet", "with it", "change", "report s, quiet", "with it", "change"], rows)
    told = (f"{minutes:g} minutes, {USERS} users with {jobs} jobs of {RANKS} ranks, and one who is hostile in turn by each way; medians. "
            f"Refused or failed of theirs: {len(failures)}; gone: {len(lost)}. Peak {peak:.0f} MB. Load and daemon share two cores with "
            f"whatever else the machine does.\n\n{report}")
    keep("soak", "Eight users, one of them hostile", told, {"gone": len(lost), "failed": len(failures), "peak: MB": peak,
                                                           **{f"{name}: worst change": change for name, change in worst.items()}})
    for line in [*lost, *failures, *(f"{name}: {100 * change:+.0f} %" for name, change in worst.items() if change > MOST_CHANGE)]:
        say(line)
    if lost or failures or max(worst.values()) > MOST_CHANGE:
        sys.exit(1)
