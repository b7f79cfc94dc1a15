#!/usr/bin/env python3
"""When the daemon has a job's report made, and what of. usage: reports.py SKEWSCOPE"""
import html
import os
import re
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from daemon import PROGRAM, Daemon, digest_of


class Reports(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.traces = Path(folder.name) / "job"
        subprocess.run([PROGRAM, "simulate", "-q", "-o", self.traces, "--nodes", "1", "--gpus", "4", "--steps", "4"], check=True)
        self.files = {int(re.match(r"rank(\d+)_", path.name).group(1)): path.read_bytes() for path in self.traces.glob("rank*")}

    def daemon(self, *flags):
        daemon = Daemon(*flags).start()
        self.addCleanup(lambda: daemon.process.poll() is None and daemon.stop())
        return daemon

    def test_a_job_whose_ranks_are_all_there_has_its_report_within_seconds(self):
        daemon = self.daemon()
        daemon.ask("PUT", "/v1/jobs/sim", body=b'{"world_size": 4}')
        for rank, content in self.files.items():
            self.assertEqual(daemon.put(content, "sim", rank, Repr_Digest=digest_of(content)).status, 201)
        state = daemon.wait_for_job(lambda job: job["report_state"] in ("complete", "failed"), "sim")
        self.assertEqual((state["report_state"], state["generation"]), ("complete", 1), daemon.log_text())
        report = daemon.ask("GET", "/v1/jobs/sim/report.json").json()
        self.assertEqual(report["job"]["ranks_present"], [0, 1, 2, 3])
        page = daemon.ask("GET", "/v1/jobs/sim/report.html")
        self.assertEqual(page.status, 200)
        policy = page["Content-Security-Policy"]
        for hash_ in re.findall(r"'sha256-[^']+'", page.body[:3000].decode()):
            self.assertIn(hash_, policy)
        self.assertIn("sandbox allow-scripts", policy)
        self.assertIn("default-src 'none'", policy)
        self.assertEqual(daemon.ask("GET", "/v1/jobs/sim/report/1.json").json(), report)
        self.assertEqual(daemon.ask("GET", "/v1/jobs/sim/report/2.json").status, 404)
        self.assertIn(b'href="/v1/jobs/sim/report.html"', daemon.ask("GET", "/jobs/sim").body)
        metrics = daemon.ask("GET", "/metrics", admin=True).body.decode()
        self.assertIn('skewscope_gather_reports_total{result="made"} 1', metrics)
        line = [line for line in daemon.log_lines() if line["event"] == "report"][0]
        self.assertEqual((line["job"], line["exit_code"]), ("sim", 0))

    def test_files_of_other_tracers_that_hold_the_ranks_of_a_node_count_for_all_of_them_and_are_reported(self):
        daemon = self.daemon()
        for tracer in ("nsys", "xplane"):
            with self.subTest(tracer):
                traces = self.traces / tracer
                subprocess.run([PROGRAM, "simulate", "-q", "-o", traces, "--nodes", "2", "--gpus", "4", "--steps", "3", "--format",
                                tracer], check=True)
                for node in (0, 1):  # nothing in the files says at little cost which ranks they hold: their names do
                    file, = traces.glob(f"node{node}.*")
                    file.rename(traces / f"rank{4 * node}_{file.name}")
                sent = subprocess.run([PROGRAM, "ship", traces, "--to", daemon.url, "--job", tracer, "--once", "--settle", "0",
                                       "--world-size", "8", "--rank-regex", "rank(?<rank>[0-9]+)_"], capture_output=True, text=True)
                self.assertEqual(sent.returncode, 0, sent.stderr)
                state = daemon.wait_for_job(lambda job: job["report_state"] in ("complete", "failed"), tracer)
                self.assertEqual((state["report_state"], state["arrived"]), ("complete", 8), daemon.log_text())
                job = daemon.ask("GET", f"/v1/jobs/{tracer}/report.json").json()["job"]
                self.assertEqual(job["ranks_present"], list(range(8)))
                self.assertEqual(job["hosts"], ["node0", "node1"])

    def test_an_ended_job_has_a_report_without_its_missing_rank_and_another_when_that_arrives(self):
        daemon = self.daemon("--deadline-after-end", 1, "--debounce", 1)
        daemon.ask("PUT", "/v1/jobs/part", body=b'{"world_size": 4}')
        for rank in (0, 1, 3):
            daemon.put(self.files[rank], "part", rank)
        daemon.ask("POST", "/v1/jobs/part/end")
        state = daemon.wait_for_job(lambda job: job["report_state"] in ("partial", "failed"), "part")
        self.assertEqual((state["report_state"], state["missing_ranks"]), ("partial", [2]))
        daemon.put(self.files[2], "part", 2)
        state = daemon.wait_for_job(lambda job: job["report_state"] == "complete", "part")
        self.assertEqual((state["report_state"], state["generation"]), ("complete", 2))

    def test_the_report_names_the_ranks_that_the_job_was_told_to_have_and_no_trace_knows_of(self):
        daemon = self.daemon("--deadline-after-end", 1)
        daemon.ask("PUT", "/v1/jobs/told", body=b'{"world_size": 8}')
        for rank, content in self.files.items():
            daemon.put(content, "told", rank)
        daemon.ask("POST", "/v1/jobs/told/end")
        state = daemon.wait_for_job(lambda job: job["report_state"] in ("partial", "failed"), "told")
        self.assertEqual((state["report_state"], state["missing_ranks"]), ("partial", [4, 5, 6, 7]))
        job = daemon.ask("GET", "/v1/jobs/told/report.json").json()["job"]
        self.assertEqual((job["world_size"], job["ranks_present"], job["ranks_missing"]), (8, [0, 1, 2, 3], [4, 5, 6, 7]))

    def test_one_rank_of_a_job_of_which_nothing_was_told_makes_a_partial_report_and_another_once_it_is(self):
        daemon = self.daemon("--deadline", 1, "--debounce", 1)
        daemon.put(self.files[0], "sent", 0)
        state = daemon.wait_for_job(lambda job: job["report_state"] in ("partial", "complete", "failed"), "sent")
        self.assertEqual((state["report_state"], state["expected"]), ("partial", 0))
        daemon.ask("PUT", "/v1/jobs/sent", body=b'{"world_size": 8}')
        state = daemon.wait_for_job(lambda job: job["generation"] == 2, "sent")
        self.assertEqual((state["report_state"], state["generation"], state["missing_ranks"]), ("partial", 2, [1, 2, 3, 4, 5, 6, 7]))
        self.assertEqual(daemon.ask("GET", "/v1/jobs/sent/report.json").json()["job"]["ranks_missing"], [1, 2, 3, 4, 5, 6, 7])

    def test_the_deadline_waits_for_a_file_that_is_being_sent(self):
        daemon = self.daemon()
        daemon.ask("PUT", "/v1/jobs/slow", body=b'{"world_size": 4, "deadline_s": 2}')
        for rank in (0, 1, 2):
            daemon.put(self.files[rank], "slow", rank)
        last = self.files[3]
        with daemon.connect() as sender:
            sender.sendall(f"PUT /v1/jobs/slow/ranks/3 HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(last)}\r\n\r\n".encode())
            for tenth in range(9):  # 4.5 s
                sender.sendall(last[len(last) * tenth // 10:len(last) * (tenth + 1) // 10])
                self.assertEqual(daemon.job("slow")["report_state"], "waiting")
                time.sleep(0.5)
            sender.sendall(last[len(last) * 9 // 10:])
            self.assertEqual(sender.recv(12), b"HTTP/1.1 201")
        state = daemon.wait_for_job(lambda job: job["report_state"] not in ("waiting", "running"), "slow")
        self.assertEqual((state["report_state"], state["generation"]), ("complete", 1))

    def test_rubbish_fails_its_report_and_nothing_else(self):
        daemon = self.daemon()
        daemon.ask("PUT", "/v1/jobs/rubbish", body=b'{"world_size": 1}')
        daemon.put(os.urandom(5000), "rubbish", 0)
        state = daemon.wait_for_job(lambda job: job["report_state"] == "failed", "rubbish")
        self.assertEqual(state["report_state"], "failed")
        self.assertEqual(daemon.ask("GET", "/v1/jobs/rubbish/report.json").status, 404)
        log = daemon.ask("GET", "/v1/jobs/rubbish/report.log")
        self.assertEqual((log.status, log["Content-Type"]), (200, "text/plain; charset=utf-8"))
        self.assertIn(b"r00000", log.body)
        self.assertEqual(daemon.ask("GET", "/v1/jobs/rubbish/report/1.log").body, log.body)
        page = daemon.ask("GET", "/jobs/rubbish").body.decode()
        self.assertIn(log.body.decode().splitlines()[-1], html.unescape(page))
        line = [line for line in daemon.log_lines() if line["event"] == "report_failed"][0]
        self.assertEqual((line["level"], line["job"], line["generation"], line["exit_code"]), ("warning", "rubbish", 1, state["report_exit_code"]))
        self.assertEqual(daemon.ask("GET", "/-/ready", admin=True).status, 200)

    def forker_of(self, daemon):
        children = Path(f"/proc/{daemon.process.pid}/task/{daemon.process.pid}/children").read_text().split()
        self.assertEqual(len(children), 1)
        return int(children[0])

    def test_the_death_of_the_process_that_makes_reports_ends_the_daemon_and_the_next_start_makes_the_report(self):
        daemon = self.daemon("--debounce", 1)
        os.kill(self.forker_of(daemon), signal.SIGKILL)
        self.assertEqual(daemon.process.wait(10), 70)
        line = [line for line in daemon.log_lines() if line["event"] == "forker_gone"][0]
        self.assertEqual(line["err"], "the process that makes reports has ended: restart the daemon to get another")
        daemon.stop()
        daemon.start()
        daemon.ask("PUT", "/v1/jobs/sim", body=b'{"world_size": 4}')
        os.kill(self.forker_of(daemon), signal.SIGSTOP)  # the report is under way when it dies
        for rank, content in self.files.items():
            self.assertEqual(daemon.put(content, "sim", rank).status, 201)
        daemon.wait_for_job(lambda job: job["report_state"] == "running", "sim")
        os.kill(self.forker_of(daemon), signal.SIGKILL)
        self.assertEqual(daemon.process.wait(10), 70)
        daemon.stop()
        daemon.start()
        state = daemon.wait_for_job(lambda job: job["report_state"] == "complete", "sim", seconds=60)
        self.assertEqual((state["report_state"], state["report_exit_code"]), ("complete", 0))


if __name__ == "__main__":
    unittest.main()
