#!/usr/bin/env python3
"""scripts/record_traces.py with the PyTorch that is here (2 ranks, gloo where there is no GPU). usage: SKEWSCOPE"""
import json
import os
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "record_traces.py"
PROGRAM = sys.argv.pop(1)
SKIPPED = 77


def python_with_torch():
    for python in (sys.executable, "/usr/bin/python3"):
        tried = subprocess.run([python, "-c", "import torch.distributed, torch.profiler"], stderr=subprocess.DEVNULL)
        if tried.returncode == 0:
            return python
    return None


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def record(folder, world, *options):
    """Starts the ranks as a launcher would; what rank 0 printed."""
    port = str(free_port())
    ranks = []
    for rank in range(world):
        environment = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world),
                           LOCAL_WORLD_SIZE=str(world), MASTER_ADDR="127.0.0.1", MASTER_PORT=port,
                           PYTHONDONTWRITEBYTECODE="1")
        ranks.append(subprocess.Popen([PYTHON, SCRIPT, "-o", folder, *options], env=environment, text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    told = [rank.communicate(timeout=240) for rank in ranks]
    for rank, (_, errors) in zip(ranks, told):
        if rank.returncode != 0:
            raise AssertionError(errors[-2000:])
    return told[0][0]


class Recorder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = Path(temporary.name)
        cls.told = record(cls.folder, 2, "--case", "ddp", "--case", "pipeline", "--case", "cuda_graphs", "--steps", "2",
                          "--width", "32", "--host-gap", "1:20", "--at-step", "2")

    def test_each_rank_leaves_a_file_that_skewscope_reads(self):
        for case in ("ddp", "pipeline"):
            files = sorted(path.name for path in (self.folder / case).iterdir())
            self.assertEqual(files, [f"{case}_rank0-of-2_step3.pt.trace.json.gz", f"{case}_rank1-of-2_step3.pt.trace.json.gz",
                                     "truth.json"])
            out = self.folder / f"{case}.report"
            subprocess.run([PROGRAM, "report", self.folder / case, "-o", out, "-q", "--cache", "off"], check=False)
            report = json.loads((out / "report.json").read_text())
            self.assertEqual(report["job"]["world_size"], 2)
            codes = {entry["code"] for entry in json.loads((out / "diagnostics.json").read_text())["diagnostics"]}
            self.assertNotIn("not-a-trace", codes)
            self.assertEqual(len(report["job"]["steps"]), 2)

    def test_truth_names_what_was_injected(self):
        truth = json.loads((self.folder / "ddp" / "truth.json").read_text())
        self.assertEqual(truth["injected"], [{"fault": "host_gap", "rank": 1, "amount": 20.0, "unit": "ms", "steps": [2]}])
        self.assertEqual((truth["world_size"], truth["steps"]), (2, 2))

    def test_a_case_that_cannot_run_here_says_why(self):
        if "cuda_graphs: left out" not in self.told:
            self.skipTest("this machine has a GPU")
        self.assertIn("cuda_graphs: left out: CUDA graphs need a GPU", self.told)
        self.assertFalse((self.folder / "cuda_graphs").exists())


if __name__ == "__main__":
    PYTHON = python_with_torch()
    if PYTHON is None:
        print("skipped: no PyTorch here (Debian: python3-torch)")
        sys.exit(SKIPPED)
    unittest.main()
