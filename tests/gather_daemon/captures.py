#!/usr/bin/env python3
"""A job of several captures: each has a report of its own, on its page, in its JSON and for export.
usage: captures.py SKEWSCOPE"""
import json
import subprocess
import tempfile
import unittest
from pathlib import Path

from daemon import PROGRAM, Daemon

RANKS = 4
def simulated(folder, first_step, factor):
    subprocess.run([PROGRAM, "simulate", "-q", "-o", folder, "--nodes", "2", "--gpus", "2", "--tp", "2", "--steps", "3",
                    "--first-step", str(first_step), "--slow-rank", f"1:{factor}"], check=True)
    return folder


def without_names(report):
    """A report.json less the command that made it and when, the name of the job and of its first file."""
    for found in report["jobs_found"]:
        del found["name"], found["first_file"]
    del report["job"]["name"], report["command"], report["created_utc"]
    return report


class Captures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        held = tempfile.TemporaryDirectory()
        cls.addClassCleanup(held.cleanup)
        cls.folder = Path(held.name)
        cls.traces = [simulated(cls.folder / f"capture{n}", 10 * n, factor) for n, factor in ((0, 1.1), (1, 2.0))]
        cls.daemon = Daemon("--debounce", 1).start()
        cls.addClassCleanup(lambda: cls.daemon.ended() or cls.daemon.stop())
        for capture, traces in enumerate(cls.traces):
            cls.ship(traces, capture)
        cls.state = cls.reported(2)

    @classmethod
    def ship(cls, traces, capture):
        subprocess.run([PROGRAM, "ship", traces, "--to", cls.daemon.url, "--job", "run", "--capture", str(capture), "--once",
                        "--state", cls.folder / "state", "--world-size", str(RANKS)], check=True, capture_output=True, timeout=60)

    @classmethod
    def reported(cls, captures):
        """The job's state once its newest report has so many captures."""
        return cls.daemon.wait_for_job(lambda job: job["report_state"] in ("complete", "partial")
                                       and len(job.get("capture_reports", [])) == captures, "run", 60)

    def get(self, path):
        answer = self.daemon.ask("GET", path)
        self.assertEqual(answer.status, 200, path)
        return answer.body

    def test_each_report_is_that_of_the_capture_alone_but_for_names(self):
        for capture, traces in enumerate(self.traces):
            out = self.folder / f"report{capture}"
            subprocess.run([PROGRAM, "report", traces, "-o", out, "-q", "--cache", "off"], check=True)
            gathered = json.loads(self.get(f"/v1/jobs/run/captures/{capture}/report.json"))
            self.assertEqual(gathered["job"]["name"], f"run capture {capture}")
            self.assertEqual(without_names(gathered), without_names(json.loads((out / "report.json").read_text())))

    def test_a_slower_capture_is_seen_in_the_jobs_json_and_on_its_page(self):
        first, second = self.daemon.job()["capture_reports"][:2]
        self.assertEqual([(one["capture"], one["ranks"], one["steps"]) for one in (first, second)], [(0, RANKS, 3), (1, RANKS, 3)])
        self.assertGreater(second["step_ns"], 1.3 * first["step_ns"])
        self.assertGreater(second["waiting"], first["waiting"])
        page = self.get("/jobs/run").decode()
        for one in (first, second):
            self.assertRegex(page, f'<a href="/v1/jobs/run/captures/{one["capture"]}/report.html">{one["capture"]}</a>')
            self.assertIn(one["verdict"][:40], page)

    def test_files_and_pages_of_a_capture_are_handed_out_and_others_are_not_there(self):
        of_job, of_capture = "/v1/jobs/run/", "/v1/jobs/run/captures/1/"
        self.assertIn(b"<html", self.get(of_capture + "report.html"))
        self.assertNotEqual(self.get(of_capture + "report/files/summary.txt"), self.get(of_job + "report/files/summary.txt"))
        self.assertTrue(self.get(of_capture + "report/files/tables/ranks.csv").startswith(b"rank,"))
        for nothing in ("captures/7/report.json", "captures/1/hang.json", "captures/1/report.log", "captures/10000/report.json",
                        "captures/1/report/files/made_of.txt"):
            self.assertEqual(self.daemon.ask("GET", of_job + nothing).status, 404, nothing)

    def test_the_log_names_the_capture_that_the_jobs_report_leaves_out(self):
        self.assertEqual(self.state["report_state"], "partial")
        log = self.get("/v1/jobs/run/report.log").decode()
        self.assertEqual([line.split(":")[0] for line in log.splitlines()], [f"c0001/r0000{rank}.json.gz" for rank in range(RANKS)])

    def test_jobs_shows_and_exports_them(self):
        run = lambda *words: subprocess.run([PROGRAM, "jobs", *words, "--to", self.daemon.url], check=True, capture_output=True, text=True)
        rows = [line.split() for line in run("show", "run").stdout.splitlines()]
        self.assertEqual([row[0] for row in rows if row[1:2] == ["2025-07-08"]][:2], ["0", "1"])
        out = self.folder / "exported"
        run("export", "run", "-o", out)
        self.assertEqual((out / "captures/c0001/report.json").read_bytes(), self.get("/v1/jobs/run/captures/1/report.json"))

    def test_what_captures_take_of_the_disk_counts_and_the_spool_is_clean_after_an_end(self):
        reports = self.daemon.spool / "jobs/run/report"
        held = sum(path.stat().st_size for path in reports.glob("g*/**/*") if path.is_file())
        self.assertEqual(self.daemon.job()["report_bytes"], held)
        self.daemon.stop()
        self.assertEqual(self.daemon.check()[0], 0)
        self.daemon.start()
        self.assertEqual(len(self.daemon.job()["capture_reports"]), len(self.state["capture_reports"]))

    def test_when_a_third_comes_the_reports_of_the_others_are_not_made_again(self):
        reports = self.daemon.spool / "jobs/run/report"
        marks = lambda: [json.loads((reports / f"current/captures/c000{n}/report.json").read_text())["command"] for n in (0, 1)]
        before = marks()
        self.ship(simulated(self.folder / "third", 20, 1.2), 2)
        state = self.reported(3)
        self.assertEqual(([one["capture"] for one in state["capture_reports"]], marks()), ([0, 1, 2], before))
        self.assertEqual(self.daemon.job()["report_notes"], self.state["report_notes"])


class Bounds(unittest.TestCase):
    """Jobs of one rank each, whose captures are one trace again and again."""
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([PROGRAM, "simulate", "-q", "-o", f"{folder}/one", "--nodes", "1", "--gpus", "1", "--tp", "1", "--steps", "2",
                            "--layers", "2"], check=True)
            cls.trace = next(Path(folder, "one").glob("rank0_*")).read_bytes()

    def reported(self, traces, *flags):
        daemon = Daemon("--debounce", 1, *flags).start()
        self.addCleanup(lambda: daemon.ended() or daemon.stop())
        daemon.ask("PUT", "/v1/jobs/run", body=json.dumps({"world_size": 1, "captures": len(traces)}).encode())
        for capture, trace in enumerate(traces):
            self.assertEqual(daemon.put(trace, query=f"?capture={capture}").status, 201)
        state = daemon.wait_for_job(lambda job: job["report_state"] in ("complete", "partial", "failed"), seconds=60)
        self.assertEqual((state["report_state"], state["generation"]), ("partial", 1))
        return daemon, [one["capture"] for one in state.get("capture_reports", [])]

    def test_the_sixteen_newest_have_a_report_and_the_page_counts_the_others(self):
        daemon, captures = self.reported([self.trace] * 18)
        self.assertEqual(captures, list(range(2, 18)))
        self.assertIn("Of 18 captures, 2 have no report here", daemon.ask("GET", "/jobs/run").body.decode())

    def test_one_that_cannot_be_read_has_none_and_the_others_have_theirs(self):
        daemon, captures = self.reported([self.trace, b"no trace", self.trace])
        self.assertEqual(captures, [0, 2])
        self.assertIn("capture 1 has no report of its own: it ended with code 3", daemon.ask("GET", "/v1/jobs/run/report.log").body.decode())

    def test_those_that_might_not_fit_have_none_and_the_jobs_report_is_there(self):
        daemon, captures = self.reported([self.trace] * 6, "--largest-report", "10M", "--aligned-trace", "off")
        self.assertEqual(captures, list(range(6 - len(captures), 6)))
        self.assertIn(len(captures), (1, 2, 3, 4, 5))
        self.assertIn(f"capture {5 - len(captures)} has no report of its own: too little room", daemon.ask("GET", "/v1/jobs/run/report.log").body.decode())
        self.assertLess(daemon.job()["report_bytes"], 10 << 20)


if __name__ == "__main__":
    unittest.main()
