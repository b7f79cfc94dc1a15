"""`skewscope ship` on a folder of its own, beside a gatherer that a test lets misbehave."""
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from fake_gatherer import FakeGatherer  # noqa: E402

PROGRAM = os.path.abspath(sys.argv.pop(1))
EVENT = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1.0, "dur": 2.0,
         "args": {"device": 0, "stream": 7, "correlation": 1}}

HOST = os.uname().nodename  # in the names that are sent: no other machine writes to the folders of these tests

# The agent takes what others leave of the processors, which can be little.
PATIENCE_S = 240


def trace(rank=0, world=1, events=1, seed=0, padding=0):
    """Kineto's text; `seed` makes it another one, of letters that do not compress well; `padding` bytes more."""
    noise = random.Random(seed).randbytes(events * 40).hex()
    rows = [dict(EVENT, name=noise[i * 80:i * 80 + 80]) for i in range(events)]
    rows.append(dict(EVENT, name=random.Random(seed).randbytes(padding // 2).hex()))
    return json.dumps({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": world},
                       "traceEvents": rows, "traceName": "trace.json"}).encode()


class Shipping(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name) / "traces"
        self.folder.mkdir()
        self.gatherer = FakeGatherer()
        self.addCleanup(lambda: self.gatherer.stop())

    def write(self, name, content):
        path = self.folder / name
        partial = path.with_name(path.name + ".tmp")
        partial.write_bytes(content)
        os.rename(partial, path)
        return path

    def write_gzip(self, rank=0, world=1, events=200, seed=0, name=None):
        return self.write(name or f"rank{rank}.json.gz", gzip.compress(trace(rank, world, events, seed), 1))

    def command(self, *arguments, url=None, job="j"):
        return [PROGRAM, "ship", str(self.folder), "--to", url or self.gatherer.url, "--job", job, *map(str, arguments)]

    def ship(self, *arguments, code=0, **options):
        run = subprocess.run(self.command("--once", "--json", "--settle", 0, *arguments, **options), capture_output=True,
                             text=True, timeout=PATIENCE_S)
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        return json.loads(run.stdout) if run.stdout.strip() else run.stderr

    def watch(self, *arguments):
        spread = [] if "--spread" in arguments else ["--spread", 0]
        agent = subprocess.Popen(self.command("--settle", 1, *spread, *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True)

        def end():
            agent.kill()
            agent.communicate()
        self.addCleanup(end)
        return agent

    def until(self, condition, seconds=PATIENCE_S):
        end = time.monotonic() + seconds
        while not condition() and time.monotonic() < end:
            time.sleep(0.02)
        self.assertTrue(condition())


def run_classes(cases):
    """Those that the command line names, or each in a process of its own: most of the time is waiting."""
    if len(sys.argv) > 1:
        unittest.main()
    names = [name for name, kind in cases.items()
             if isinstance(kind, type) and issubclass(kind, Shipping) and kind is not Shipping]
    runs = [subprocess.Popen([sys.executable, sys.argv[0], PROGRAM, name]) for name in names]
    sys.exit(max(run.wait() for run in runs))
