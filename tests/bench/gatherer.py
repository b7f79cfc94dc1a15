"""The gatherer under 10,000 ranks from 1,250 agents at once: throughput beside the disk's own, memory, lag of the report.

Each agent is one connection that sends its node's eight digests, one after the other (gatherer_load.cc). The disk's
own rate is that of threads that write files of the same sizes and fsync each, before and after, in the same run: the
best of 1, 4 and 16 threads. The generator takes its share of the same cores. Nothing is deleted between the measurements:
ext4 without a journal is slow to make files for five minutes after many were."""
import concurrent.futures
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import inputs
from harness import BUILD, MB, SKEWSCOPE, WORK, build, keep, median, output_of, say, table

AGENTS, RANKS_EACH, ROUNDS = 1250, 8, 5
RANKS = AGENTS * RANKS_EACH
ALLOWED_MB, LEAST_SHARE, LONGEST_LAG_S = 400, 0.6, 2.0
DISK, SPOOLS = WORK / "disk", WORK / "spools"
JOB, ADDRESS, ADMIN = "load", ("127.0.0.1", 17475), "127.0.0.1:17476"


def digests():
    return inputs.made_once(inputs.DIGESTS / "to_be_sent", lambda folder: inputs.simulate(
        folder, "--nodes", AGENTS, "--gpus", RANKS_EACH, "--tp", 8, "--steps", 40, "--layers", 4, "--digests", "-q"))


def disk_rate(files, when):
    """MB/s of write + fsync, one file each, by the number of threads that does best."""
    best = 0.0

    def write(numbered):
        number, content = numbered
        fd = os.open(folder / str(number), os.O_WRONLY | os.O_CREAT, 0o600)
        os.write(fd, content)
        os.fsync(fd)
        os.close(fd)

    for threads in (1, 4, 16):
        folder = DISK / f"{when}_{threads}"
        folder.mkdir(parents=True)
        begin = time.perf_counter()
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            list(pool.map(write, enumerate(files)))
        best = max(best, sum(map(len, files)) / MB / (time.perf_counter() - begin))
    return best


def load(folder):
    """Seconds until the last acknowledgement."""
    return float(output_of(BUILD / "tests" / "bench" / "bench_gatherer_load", folder, JOB, ADDRESS[1], AGENTS, RANKS_EACH))


def ask(method, path, body=None):
    request = urllib.request.Request(f"http://{ADDRESS[0]}:{ADDRESS[1]}{path}", method=method, data=body,
                                     headers={"Content-Type": "application/json"} if body else {})
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read() or b"null")


def peak_mb(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) * 1024 / MB


def lag_of_report():
    """Seconds until the report has been started, as the daemon says; polled every 20 ms."""
    begin = time.perf_counter()
    while time.perf_counter() - begin < 30:
        if ask("GET", f"/v1/jobs/{JOB}")["report_state"] in ("running", "complete", "partial", "failed"):
            return time.perf_counter() - begin
        time.sleep(0.02)
    return float("inf")


def measure(number, folder, total, sample):
    """One daemon on a fresh spool, the disk's own rate before and after."""
    spool = SPOOLS / str(number)
    spool.mkdir(parents=True)
    before = disk_rate(sample, f"{number}_before")
    daemon = subprocess.Popen([SKEWSCOPE, "gather", "--spool", spool, "--listen", ":".join(map(str, ADDRESS)), "--admin", ADMIN,
                               "--insecure-local"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        daemon.stdout.readline()
        ask("PUT", f"/v1/jobs/{JOB}", json.dumps({"world_size": RANKS}).encode())
        seconds = load(folder)
        lag = lag_of_report()
        peak = peak_mb(daemon.pid)
        arrived = ask("GET", f"/v1/jobs/{JOB}")["arrived"]
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.wait()
    disk = (before + disk_rate(sample, f"{number}_after")) / 2
    return {"arrived": arrived, "seconds": seconds, "disk": disk, "share": total / seconds / disk, "peak": peak, "lag": lag}


def main(options):
    build("skewscope", "bench_gatherer_load")
    folder = digests()
    total = sum(path.stat().st_size for path in folder.glob("rank*")) / MB
    sample = [path.read_bytes() for path in sorted(folder.glob("rank*"))[:2000]]
    for left in (SPOOLS, DISK):
        shutil.rmtree(left, ignore_errors=True)
    rounds = [measure(number, folder, total, sample) for number in range(ROUNDS)]
    for made in (SPOOLS, DISK):
        shutil.rmtree(made)
    text = table(["ranks", "agents", "MB", "seconds", "files/s", "MB/s", "disk MB/s", "share", "peak MB", "report after s"],
                 [[one["arrived"], AGENTS, f"{total:.0f}", f"{one['seconds']:.1f}", f"{RANKS / one['seconds']:.0f}",
                   f"{total / one['seconds']:.1f}", f"{one['disk']:.1f}", f"{one['share']:.0%}", f"{one['peak']:.0f}",
                   f"{one['lag']:.2f}"] for one in rounds])
    share, arrived = median(rounds, "share"), min(one["arrived"] for one in rounds)
    peak, lag = (max(one[key] for one in rounds) for key in ("peak", "lag"))
    keep("gatherer", "Gatherer", "10,000 ranks from 1,250 connections, each file durable before it is acknowledged; beside write + "
         "fsync of files of the same size, best of 1, 4 and 16 threads, mean of before and after. Load and daemon share the "
         f"cores. Median share: {share:.0%}.\n\n" + text,
         {"share of the disk's rate": share, "peak_mb": peak, "report lag: s": lag})
    failed = [problem for problem, holds in ((f"{arrived} of {RANKS} ranks arrived", arrived != RANKS),
                                             (f"peak {peak:.0f} MB, allowed {ALLOWED_MB}", peak > ALLOWED_MB),
                                             (f"{share:.0%} of the disk's rate, wanted {LEAST_SHARE:.0%}", share < LEAST_SHARE),
                                             (f"report after {lag:.1f} s", lag > LONGEST_LAG_S)) if holds]
    for line in failed:
        say(line)
    if failed:
        sys.exit(1)
