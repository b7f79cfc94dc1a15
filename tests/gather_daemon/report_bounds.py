#!/usr/bin/env python3
"""What a report may take, whom it is charged to, what it is of, and how it is made again.
usage: report_bounds.py SKEWSCOPE"""
import gzip
import json
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from daemon import PROGRAM, Daemon

ENDED = ("complete", "partial", "failed")


def bomb(calls):
    """Collectives of a microsecond, each in a group of its own: the report is a hundred times as large as the trace."""
    call = ('{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_f32_RING_LL","pid":0,"tid":7,"ts":%d,"dur":1,"args":{"stream":7,'
            '"device":0,"Collective name":"allreduce","In msg nelems":%d,"Out msg nelems":%d,"Group size":9,"dtype":"Float",'
            '"Process Group Name":"%d","Process Group Description":"%d"}}')
    head = '{"schemaVersion":1,"distributedInfo":{"backend":"nccl","rank":0,"world_size":1},"traceEvents":['
    return gzip.compress((head + ",".join(call % (2 * i, i, i, i, i) for i in range(calls)) + "]}").encode(), 1)


def simulated(folder, *flags):
    subprocess.run([PROGRAM, "simulate", "-q", "-o", folder, "--nodes", "2", "--gpus", "2", "--tp", "2", "--steps", "3", *flags], check=True)
    return [next(Path(folder).glob(f"rank{rank}_*")).read_bytes() for rank in range(4)]


class Reports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.bomb = bomb(60_000)
        cls.first = simulated(Path(cls.folder.name) / "first", "--slow-rank", "1:1.5")
        cls.second = simulated(Path(cls.folder.name) / "second", "--slow-rank", "2:1.5")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def daemon(self, *flags):
        daemon = Daemon("--debounce", 1, *flags).start()
        self.addCleanup(lambda: daemon.ended() or daemon.stop())
        return daemon

    def send(self, daemon, job, files, query="?world_size=4", ranks=range(4)):
        for rank in ranks:
            self.assertIn(daemon.put(files[rank], job, rank, query=query).status, (201, 204))

    def reported(self, daemon, job, seconds=60, holds=lambda state: state["report_state"] in ENDED):
        return daemon.wait_for_job(holds, job, seconds)

    def in_reports(self, daemon, job):
        return sum(path.stat().st_size for path in (daemon.spool / "jobs" / job / "report").rglob("*") if path.is_file())

    def test_a_report_larger_than_it_may_be_fails_with_its_reason_leaves_nothing_behind_and_harms_nobody(self):
        daemon = self.daemon("--largest-report", "8M")
        self.assertEqual(daemon.put(self.bomb, "bomb", 0, query="?world_size=1").status, 201)
        state = self.reported(daemon, "bomb", 120)
        self.assertEqual((state["report_state"], state["report_bytes"]), ("failed", 0))
        self.assertEqual(state["report_notes"],
                         ["The report was too large: see --largest-report and the job's quota."])
        self.assertIn(b"The report was too large.", daemon.ask("GET", "/jobs/bomb").body)
        self.assertLess(self.in_reports(daemon, "bomb"), 1e5)  # its log alone
        self.assertEqual(daemon.ask("GET", "/v1/jobs/bomb/ranks/0").body, self.bomb)
        time.sleep(2.5)  # it is not tried again
        self.assertEqual(len([line for line in daemon.log_lines() if line.get("event") == "report"]), 1)
        self.send(daemon, "sim", self.first)
        self.assertEqual(self.reported(daemon, "sim")["report_state"], "complete")

    def test_what_a_report_has_on_the_disk_counts_as_its_jobs_and_owners(self):
        daemon = self.daemon("--largest-job", "9M")
        self.send(daemon, "sim", self.first)
        state = self.reported(daemon, "sim")
        self.assertEqual(state["report_state"], "complete")
        kept = self.in_reports(daemon, "sim") - (daemon.spool / "jobs/sim/report/g0001.log").stat().st_size
        self.assertEqual(state["report_bytes"], kept)
        left = (9 << 20) - state["bytes"] - kept
        self.assertEqual(daemon.put(b"x" * (left + 100_000), "sim", 4).status, 507)
        daemon.stop()
        daemon.start()  # and after a start
        self.assertEqual(daemon.job("sim")["report_bytes"], kept)
        self.assertEqual(daemon.put(b"x" * (left + 100_000), "sim", 4).status, 507)
        self.assertEqual(daemon.put(b"x" * (left - 600_000), "sim", 4).status, 201)

    def test_a_failed_report_is_made_again_by_command(self):
        daemon = self.daemon("--largest-report", "8M")
        self.send(daemon, "sim", self.first)
        self.reported(daemon, "sim")
        again = subprocess.run([PROGRAM, "ship", "--report-again", "--job", "sim", "--to", daemon.url], capture_output=True, text=True)
        self.assertEqual((again.returncode, again.stdout), (0, f"{daemon.url} makes the report of sim again\n"), again.stderr)
        self.assertEqual(self.reported(daemon, "sim", holds=lambda state: state["generation"] == 2)["report_state"], "complete")
        none = subprocess.run([PROGRAM, "ship", "--report-again", "--job", "none", "--to", daemon.url], capture_output=True, text=True)
        self.assertEqual(none.returncode, 3, none.stdout)
        self.assertIn("no such job", none.stderr)

    def test_a_second_capture_of_the_same_time_that_is_left_out_makes_the_report_partial_and_says_so(self):
        daemon = self.daemon()
        daemon.ask("PUT", "/v1/jobs/two", body=b'{"world_size": 4, "captures": 2}')
        self.send(daemon, "two", self.first)
        self.send(daemon, "two", self.second, query="?world_size=4&capture=1")
        state = self.reported(daemon, "two")
        self.assertEqual(state["report_state"], "partial")
        self.assertEqual(state["report_notes"], ["The report leaves out files, or parts of files: its log says which and why."])
        self.assertIn(b"r00000", daemon.ask("GET", "/v1/jobs/two/report.log").body)

    def test_a_trace_cut_in_its_middle_makes_the_report_partial_on_the_page_too(self):
        daemon = self.daemon()
        self.send(daemon, "cut", [self.first[0], self.first[1][:500], *self.first[2:]])
        self.assertEqual(self.reported(daemon, "cut")["report_state"], "partial")
        page = daemon.ask("GET", "/jobs/cut").body.decode()
        self.assertIn("The report leaves out files", page)
        self.assertIn("r00001", page)

    def test_no_report_is_made_of_ranks_of_two_runs_while_the_second_comes_in(self):
        daemon = self.daemon("--deadline", 6)
        self.send(daemon, "run", self.first)
        self.assertEqual(self.reported(daemon, "run")["generation"], 1)
        self.send(daemon, "run", self.second, query="?replace=1", ranks=(0, 1))
        time.sleep(3)  # three times what repeated reports wait for
        state = daemon.job("run")
        self.assertEqual((state["generation"], state["report_state"]), (1, "partial"))
        self.assertIn("the next report waits", state["report_notes"][0])
        self.send(daemon, "run", self.second, query="?replace=1", ranks=(2, 3))
        state = self.reported(daemon, "run", holds=lambda job: job["generation"] == 2)
        self.assertEqual((state["report_state"], state["report_notes"]), ("complete", []))

    def test_a_second_run_that_lacks_ranks_is_reported_at_the_deadline_and_said_to_be_of_two_runs(self):
        daemon = self.daemon("--deadline", 2)
        self.send(daemon, "run", self.first)
        self.reported(daemon, "run")
        self.send(daemon, "run", self.second, query="?replace=1", ranks=(0, 1))
        state = self.reported(daemon, "run", holds=lambda job: job["generation"] == 2)
        self.assertEqual(state["report_state"], "partial")
        self.assertIn("Some ranks were sent again and others were not: the report may mix two runs.", state["report_notes"])


if __name__ == "__main__":
    unittest.main()
