#!/usr/bin/env python3
"""scripts/capture_now.py: a running job is asked for its traces, through a stand-in for dynolog's command and for the job.
usage: on_demand.py SKEWSCOPE"""
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from daemon import PROGRAM, Daemon

RANKS = 4
CAPTURE_NOW = Path(__file__).parents[2] / "scripts" / "capture_now.py"

# As dyno does, it answers at once; as PyTorch does, each process writes its trace later, here in two parts a second apart. The
# flags are those of dynolog's cli/src/main.rs.
DYNO = r'''#!PYTHON
import argparse, os, re, sys, time
parser = argparse.ArgumentParser()
commands = parser.add_subparsers(required=True)
trace = commands.add_parser("gputrace")
for flag, default in (("--job-id", 0), ("--duration-ms", 500), ("--iterations", -1), ("--profile-start-time", 0),
                      ("--profile-start-iteration-roundup", 1), ("--process-limit", 3)):
    trace.add_argument(flag, type=int, default=default)
trace.add_argument("--pids", default="0")
trace.add_argument("--log-file", required=True)
asked = parser.parse_args()
with open("FOLDER/asked", "a") as log:
    print(asked.pids, asked.job_id, asked.profile_start_time, asked.duration_ms, asked.iterations, file=log)
if asked.pids == "MUTE":
    print("response = {}\nNo processes were matched, please check --job-id or --pids flags")
    sys.exit(0)
rank = re.search(r"_rank([0-9]+)-", asked.log_file)[1]
path = asked.log_file.replace(".json", f"_{asked.pids}.json")
print(f"response = {{}}\nMatched 1 processes\nTrace output files will be written to:\n    {path}", flush=True)
if os.fork() == 0:
    for stream in (0, 1, 2):
        os.close(stream)
    time.sleep(max(0, asked.profile_start_time / 1000 - time.time()))
    text = open(f"FOLDER/recorded/{rank}.json").read()
    with open(path, "w") as out:
        out.write(text[:len(text) // 2])
        out.flush()
        time.sleep(1)
        out.write(text[len(text) // 2:])
'''


def as_on_demand(trace):
    """libkineto writes distributedInfo behind the events, of what it saw: here every rank says 0."""
    document = json.loads(trace)
    events = document.pop("traceEvents")
    for known_otherwise in ("distributedInfo", "host_name"):
        document.pop(known_otherwise)
    return json.dumps({**document, "traceEvents": events, "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": RANKS}})


class OnDemand(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        subprocess.run([PROGRAM, "simulate", "-o", self.folder / "job", "--nodes", "1", "--gpus", str(RANKS), "--tp", "1", "--steps", "3",
                        "--layers", "2", "--slow-rank", "2:1.5"], check=True, capture_output=True)
        (self.folder / "recorded").mkdir()
        for rank in range(RANKS):
            trace, = (self.folder / "job").glob(f"rank{rank}_*")
            text = gzip.decompress(trace.read_bytes()) if trace.suffix == ".gz" else trace.read_bytes()
            (self.folder / "recorded" / f"{rank}.json").write_text(as_on_demand(text))
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "skewscope").symlink_to(PROGRAM)
        self.processes = [self.process_of(rank) for rank in range(RANKS)]
        self.write_dyno(mute="none")
        self.daemon = Daemon("--debounce", "1").start()
        self.addCleanup(self.daemon.stop)

    def process_of(self, rank):
        """Of training; it has a child with the same environment, as a data loader is."""
        process = subprocess.Popen(["sh", "-c", "sleep 100 & wait"], start_new_session=True,
                                   env={"PATH": os.environ["PATH"], "KINETO_USE_DAEMON": "1", "RANK": str(rank), "WORLD_SIZE": str(RANKS),
                                        "SLURM_JOB_ID": "4711"})
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            os.killpg(process.pid, 9)
            process.wait()

    def write_dyno(self, mute):
        stub = DYNO.replace("PYTHON", sys.executable).replace("FOLDER", str(self.folder)).replace("MUTE", mute)
        (self.folder / "bin" / "dyno").write_text(stub)
        (self.folder / "bin" / "dyno").chmod(0o755)

    def capture(self, *more):
        return subprocess.run([sys.executable, CAPTURE_NOW, self.folder / "traces", "--capture", "1", "--job", "live", "--to", self.daemon.url,
                               "--settle", "1", "--seconds", "0.5", "--begin", str(int(time.time()) + 2), *more], capture_output=True, text=True, check=False,
                              env={**os.environ, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "SLURM_JOB_ID": "4711",
                                   "SLURMD_NODENAME": "node17"})

    def test_each_rank_of_a_running_job_is_recorded_from_one_moment_on_and_reported_on(self):
        done = self.capture()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        asked = [line.split() for line in (self.folder / "asked").read_text().splitlines()]
        self.assertEqual([int(line[0]) for line in asked], [process.pid for process in self.processes])
        self.assertEqual({tuple(line[1:]) for line in asked}, {("4711", asked[0][2], "500", "-1")})
        end = time.monotonic() + 60
        while (answer := self.daemon.ask("GET", "/v1/jobs/live/report.json")).status != 200 and time.monotonic() < end:
            time.sleep(0.1)
        report = answer.json()
        self.assertEqual([rank["rank"] for rank in report["ranks"]], list(range(RANKS)))
        self.assertEqual(report["stragglers"][0]["rank"], 2)
        self.assertEqual({rank["host"] for rank in report["ranks"]}, {"node17"})

    def test_a_rank_that_dynolog_does_not_know_is_named_and_the_others_go(self):
        self.write_dyno(mute=str(self.processes[3].pid))
        done = self.capture("--world-size", str(RANKS))
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"process {self.processes[3].pid} is not asked: No processes were matched", done.stderr)
        self.assertIn("3 of 4 ranks asked", done.stdout)
        self.assertEqual(self.daemon.ask("GET", "/v1/jobs/live").json()["arrived"], 3)

    def test_processes_of_another_job_of_slurm_are_not_asked(self):
        self.end(self.processes[0])
        other = subprocess.Popen(["sleep", "100"], env={"KINETO_USE_DAEMON": "1", "RANK": "0", "SLURM_JOB_ID": "4712"})
        self.addCleanup(lambda: (other.kill(), other.wait()))
        self.write_dyno(mute=str(self.processes[1].pid))
        self.capture()
        self.assertNotIn(str(other.pid), (self.folder / "asked").read_text())


if __name__ == "__main__":
    unittest.main()
