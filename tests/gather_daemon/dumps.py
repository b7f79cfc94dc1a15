#!/usr/bin/env python3
"""A job that hangs: an agent and the daemon with the flight recorder dumps of its ranks.
usage: dumps.py SKEWSCOPE"""
import json
import os
import re
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from daemon import PROGRAM, Daemon

NODES, GPUS = 2, 4


def simulated():
    """Dumps by rank, and what the fault is."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([PROGRAM, "simulate", "-o", f"{folder}/dumps", "--nodes", str(NODES), "--gpus", str(GPUS), "--hang",
                        "missing-rank"], check=True, capture_output=True)
        dumps = {int(re.search(r"(\d+)$", path.name)[1]): path.read_bytes()
                 for path in Path(folder, "dumps").iterdir() if re.search(r"\d+$", path.name)}
        return dumps, json.loads(Path(folder, "dumps", "truth.json").read_text())


DUMPS, TRUTH = simulated()


class Dumps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name) / "dumps"
        self.folder.mkdir()
        self.state = Path(folder.name) / "state"
        self.daemon = Daemon("--debounce", "1").start()
        self.daemon.listen = f"127.0.0.1:{self.daemon.port}"
        self.addCleanup(lambda: self.daemon.stop())

    def write(self, ranks, age_s=0):
        for rank in ranks:
            path = self.folder / f"_dump_{rank}"
            path.write_bytes(DUMPS[rank])
            os.utime(path, (time.time() - age_s,) * 2)

    def send(self, *more):
        done = subprocess.run([PROGRAM, "ship", "--to", self.daemon.url, "--job", "run", "--state", self.state, "--once",
                               "--give-up", "5", *more], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "TORCH_FR_DUMP_TEMP_FILE": str(self.folder / "_dump_")})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def hang(self):
        answer = self.daemon.ask("GET", "/v1/jobs/run/hang.json")
        return json.loads(answer.body) if answer.status == 200 else {}

    def until_of(self, dumps):
        end = time.monotonic() + 60
        while self.hang().get("dumps") != dumps and time.monotonic() < end:
            time.sleep(0.2)
        self.assertEqual(self.hang().get("dumps"), dumps, self.daemon.log_text())
        return self.hang()

    def culprits_in_metrics(self):
        text = self.daemon.ask("GET", "/metrics", admin=True).body.decode()
        return re.findall(r'^skewscope_job_hang_culprits{job_name="run"} (\d+)$', text, re.M)

    def test_dumps_of_an_incident_name_who_did_not_come_on_pages_in_metrics_and_in_the_log(self):
        self.write(sorted(DUMPS))
        self.send()
        hang = self.until_of(len(DUMPS))
        named = [culprit["rank"] for culprit in hang["culprits"]]
        self.assertEqual(named, [TRUTH["culprit"]])
        verdict = hang["verdict"]["sentence"]
        self.assertEqual(self.culprits_in_metrics(), [str(len(named))])
        for page in ("/", "/jobs/run"):
            text = self.daemon.ask("GET", page).body.decode()
            self.assertRegex(text, r'<a href="/v1/jobs/run/hang.html">Hang: Rank')
        page = self.daemon.ask("GET", "/v1/jobs/run/hang.html")
        self.assertEqual(page.status, 200)
        self.assertRegex(page["Content-Security-Policy"], "script-src 'sha256-[^']+'; style-src 'sha256-")
        self.assertIn("job_hangs", [line.get("event") for line in self.daemon.log_lines()])
        self.assertIn(verdict[:40], self.daemon.log_text())
        job = json.loads(self.daemon.ask("GET", "/v1/jobs/run").body)
        self.assertEqual((job["arrived"], job["dumps"], job["missing"]), (0, len(DUMPS), job["missing"]))

    def test_late_dumps_are_taken_in_and_a_restart_forgets_none(self):
        ranks = sorted(DUMPS)
        self.write(ranks[:-2])
        self.send()
        self.until_of(len(ranks) - 2)
        self.daemon.stop(signal.SIGKILL)
        self.daemon.start()
        self.assertEqual(self.hang()["dumps"], len(ranks) - 2)
        self.write(ranks[-2:])
        self.send()
        self.until_of(len(ranks))
        self.assertEqual(self.daemon.stop(), 0)
        self.assertEqual(self.daemon.check()[0], 0)
        self.daemon.start()

    def test_dumps_of_an_earlier_incident_are_not_those_of_the_last(self):
        ranks = sorted(DUMPS)
        self.write(ranks, age_s=3600)
        self.send()
        self.until_of(len(ranks))
        self.write(ranks[1:])
        self.send()
        self.until_of(len(ranks) - 1)

    def test_a_dump_is_no_rank_of_the_report_on_traces(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([PROGRAM, "simulate", "-o", f"{folder}/job", "--nodes", "1", "--gpus", "2", "--tp", "1", "--pp", "1", "--steps", "3"],
                           check=True, capture_output=True)
            self.write(sorted(DUMPS))
            self.send(f"{folder}/job", "--world-size", "2")
        self.until_of(len(DUMPS))
        job = self.daemon.wait_for_job(lambda state: state["report_state"] in ("complete", "partial"))
        self.assertEqual((job["arrived"], job["expected"], job["dumps"]), (2, 2, len(DUMPS)))
        report = json.loads(self.daemon.ask("GET", "/v1/jobs/run/report.json").body)
        self.assertEqual(len(report["ranks"]), 2)

    def test_a_dump_that_is_cut_is_waited_for(self):
        self.write([0])
        path = self.folder / "_dump_0"
        path.write_bytes(DUMPS[0][:-10])
        done = subprocess.run([PROGRAM, "ship", "--dumps", self.folder / "_dump_", "--to", self.daemon.url, "--job", "run", "--state",
                               self.state, "--once", "--give-up", "5"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
        self.assertIn("_dump_0: is cut", done.stdout)


if __name__ == "__main__":
    unittest.main()
