#!/usr/bin/env python3
"""What became of jobs: 30 simulated jobs on 12 nodes, one of which is slow in the last eight of its jobs.
usage: history.py SKEWSCOPE"""
import re
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from daemon import PROGRAM, Daemon

NODES, GPUS, JOBS = 2, 2, 30
SLOW_NODE, SLOW_RANK = "node07", 2  # its first rank where it is a job's second node
# Jobs that the slow node takes part in, by number; in the first two it is as fast as the others.
WITH_SLOW_NODE = [1, 4, 6, 9, 12, 15, 18, 21, 24, 28]


def simulated(*more):
    """Traces by rank, of node0 and node1."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([PROGRAM, "simulate", "-o", f"{folder}/job", "--nodes", str(NODES), "--gpus", str(GPUS), "--tp", "1",
                        "--steps", "3", "--layers", "2", *more], check=True, capture_output=True)
        return [next(Path(folder, "job").glob(f"rank{rank}_*")).read_bytes() for rank in range(NODES * GPUS)]


FAST, SLOW = simulated(), simulated("--slow-rank", f"{SLOW_RANK}:1.5")


def nodes_of(number):
    if number in WITH_SLOW_NODE:
        return [f"node{number % 6:02}", SLOW_NODE]
    return [f"node{number % 6:02}", f"node{8 + number % 4:02}"]


def name_of(number):
    return f"pretrain-{number:04}"


class History(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon("--debounce", "1").start()
        for number in range(JOBS):
            cls.send(number)
        cls.until_remembered(JOBS)

    @classmethod
    def tearDownClass(cls):
        cls.daemon.stop()

    @classmethod
    def send(cls, number):
        for rank, trace in enumerate(SLOW if number in WITH_SLOW_NODE[2:] else FAST):
            node = rank // GPUS
            trace = trace.replace(f'"node{node}"'.encode(), f'"{nodes_of(number)[node]}"'.encode())
            answer = cls.daemon.put(trace, name_of(number), rank, query=f"?world_size={NODES * GPUS}")
            assert answer.status in (200, 201, 204), answer.body
        cls.until_remembered(number + 1)

    @classmethod
    def runs(cls):
        return cls.daemon.ask("GET", "/v1/history?job=pretrain-0000&limit=100").json()["runs"]

    @classmethod
    def until_remembered(cls, jobs):
        end = time.monotonic() + 60
        while len(cls.runs()) < jobs and time.monotonic() < end:
            time.sleep(0.02)
        assert len(cls.runs()) == jobs, (len(cls.runs()), jobs, cls.daemon.log_text()[-3000:])

    def test_the_slow_node_is_the_first_line_of_the_first_page_since_its_first_slow_job(self):
        nodes = self.daemon.ask("GET", "/v1/nodes").json()["nodes"]
        self.assertEqual([node["node"] for node in nodes], [SLOW_NODE])
        slow = nodes[0]
        self.assertEqual((slow["caused_jobs"], slow["recent_jobs"]), (8, 8))
        self.assertEqual(slow["since_job"], name_of(WITH_SLOW_NODE[2]))
        self.assertEqual(slow["jobs"], [name_of(number) for number in reversed(WITH_SLOW_NODE[2:])])
        self.assertEqual(slow["devices"], [0])
        page = self.daemon.ask("GET", "/").body.decode()
        first = re.search(r'<body><div id="nodes" data-live><p>(.*?)</p>', page)
        self.assertIn(f"{SLOW_NODE} was the cause in 8 of its last 8 jobs, since {name_of(WITH_SLOW_NODE[2])}", first[1])
        self.assertIn(SLOW_NODE, self.daemon.ask("GET", "/nodes").body.decode())
        metrics = self.daemon.ask("GET", "/metrics", admin=True).body.decode()
        self.assertIn(f'skewscope_node_caused_jobs{{node="{SLOW_NODE}",part="gpu"}} 8\n', metrics)

    def test_runs_of_a_name_have_the_figures_of_their_reports(self):
        runs = self.runs()
        self.assertEqual([run["job"] for run in runs], [name_of(number) for number in reversed(range(JOBS))])
        for number, run in zip(reversed(range(JOBS)), runs):
            report = self.daemon.ask("GET", f"/v1/jobs/{run['job']}/report.json").json()
            self.assertEqual(run["efficiency"], report["efficiency"]["parallel"])
            self.assertEqual(run["gain"], report["losses"][0]["gain_share"])
            self.assertEqual(run["verdict"], report["verdict"]["sentence"])
            causes = [cause["node"] for cause in run["causes"]]
            self.assertEqual(causes, [SLOW_NODE] if number in WITH_SLOW_NODE[2:] else [])

    def test_a_jobs_page_shows_the_runs_of_its_series_and_lists_the_files_of_its_report_which_can_be_got(self):
        job = name_of(JOBS - 1)
        page = self.daemon.ask("GET", f"/jobs/{job}").body.decode()
        self.assertIn("<h2>Runs of pretrain</h2>", page)
        self.assertEqual(len(re.findall('<circle class="point"', page)), JOBS)
        for run in self.runs():
            self.assertIn(f'<a href="/jobs/{run["job"]}">', page)
        files = re.findall(rf'href="(/v1/jobs/{job}/report/files/[^"]+)"', page)
        names = [address.rsplit("/report/files/")[1] for address in files]
        self.assertLessEqual({"summary.txt", "report.json", "report.sqlite", "tables/ranks.csv", "tables/steps.csv"}, set(names))
        contents = {name: self.daemon.ask("GET", address) for name, address in zip(names, files)}
        self.assertEqual({answer.status for answer in contents.values()}, {200})
        self.assertTrue(contents["report.sqlite"].body.startswith(b"SQLite format 3"))
        self.assertEqual(contents["tables/ranks.csv"].body.count(b"\n"), 1 + NODES * GPUS)
        self.assertIn(self.runs()[0]["verdict"].split()[0].encode(), contents["summary.txt"].body)
        self.assertEqual(contents["report.sqlite"]["Content-Disposition"], f'attachment; filename="{job}-report.sqlite"')
        self.assertEqual(self.daemon.ask("GET", f"/v1/jobs/{job}/report/files/index.html").status, 404)

    def test_what_a_job_was_is_known_after_its_deletion_and_a_start_and_for_as_long_as_it_is_kept(self):
        daemon = Daemon("--debounce", "1").start()
        self.addCleanup(lambda: daemon.ended() or daemon.stop())
        for rank, trace in enumerate(FAST):
            daemon.put(trace, "eval-1", rank, query=f"?world_size={NODES * GPUS}")
        runs = lambda: [run["job"] for run in daemon.ask("GET", "/v1/history?job=eval-1").json()["runs"]]
        end = time.monotonic() + 60
        while not runs() and time.monotonic() < end:
            time.sleep(0.1)
        self.assertEqual(daemon.ask("DELETE", "/v1/jobs/eval-1").status, 204)
        self.assertEqual(runs(), ["eval-1"])
        daemon.stop()
        time.sleep(2)
        daemon.start()
        self.assertEqual(runs(), ["eval-1"])
        daemon.stop()
        daemon.flags += ["--history-retention", "1"]
        daemon.start()
        end = time.monotonic() + 10
        while runs() and time.monotonic() < end:
            time.sleep(0.1)
        self.assertEqual(runs(), [])


if __name__ == "__main__":
    unittest.main()
