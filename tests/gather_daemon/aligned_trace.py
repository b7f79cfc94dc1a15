#!/usr/bin/env python3
"""With each report comes one trace of all ranks for the Perfetto UI: of small jobs whole, of others excerpts, within its bounds.
usage: aligned_trace.py SKEWSCOPE"""
import subprocess
import tempfile
import unittest
from pathlib import Path

from daemon import PROGRAM, Daemon

RANKS = 4
TRACE = "/v1/jobs/run/report/files/aligned.pftrace"
TEXT = "/v1/jobs/run/report/files/aligned.txt"


class AlignedTrace(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        held = tempfile.TemporaryDirectory()
        cls.addClassCleanup(held.cleanup)
        cls.folder = Path(held.name)
        for name, steps in (("small", 3), ("large", 60)):
            subprocess.run([PROGRAM, "simulate", "-q", "-o", cls.folder / name, "--nodes", "2", "--gpus", "2", "--tp", "2", "--steps",
                            str(steps), "--slow-rank", "1:1.5"], check=True)

    def reported(self, name, *flags):
        daemon = Daemon("--debounce", 1, *flags).start()
        self.addCleanup(lambda: daemon.ended() or daemon.stop())
        for rank in range(RANKS):
            trace = next((self.folder / name).glob(f"rank{rank}_*"))
            self.assertEqual(daemon.put(trace.read_bytes(), rank=rank, query=f"?world_size={RANKS}&filename={trace.name}").status, 201)
        state = daemon.wait_for_job(lambda job: job["report_state"] in ("complete", "partial", "failed"), seconds=60)
        self.assertEqual(state["report_state"], "complete")
        return daemon

    def merged(self, name, *flags):
        """What `skewscope merge` says that it wrote: rows and arrows."""
        done = subprocess.run([PROGRAM, "merge", self.folder / name, "-o", self.folder / "merged.pftrace", "--force", "--categories",
                               "gpu,launches,steps", "--cache", "off", *flags], check=True, capture_output=True, text=True)
        return [line for line in done.stdout.splitlines() if line.startswith(("Rows", "Excerpts"))]

    def said(self, daemon):
        return daemon.ask("GET", TEXT).body.decode()

    def test_a_small_job_is_in_it_as_a_whole_and_the_page_says_so(self):
        daemon = self.reported("small")
        text = self.said(daemon)
        self.assertRegex(text, r"^The whole job: 4 of 4 traces, ")
        self.assertEqual([line for line in text.splitlines() if line.startswith("Rows")], self.merged("small"))
        answer = daemon.ask("GET", TRACE)
        self.assertEqual((answer.status, answer["Content-Disposition"]), (200, 'attachment; filename="run-aligned.pftrace"'))
        # The same events; processes are named by other files.
        self.assertAlmostEqual(len(answer.body), (self.folder / "merged.pftrace").stat().st_size, delta=1000)
        page = daemon.ask("GET", "/jobs/run").body.decode()
        self.assertIn(f'<a href="{TRACE}">', page)
        self.assertIn("The whole job: 4 of 4 traces", page)
        out = self.folder / "exported"
        subprocess.run([PROGRAM, "jobs", "export", "run", "-o", out, "--to", daemon.url], check=True, capture_output=True)
        self.assertEqual(((out / "aligned.pftrace").read_bytes(), (out / "aligned.txt").read_text()), (answer.body, text))

    def test_of_a_larger_job_it_has_excerpts_around_findings_and_with_whole_all_of_it(self):
        excerpts, whole = self.reported("large"), self.reported("large", "--aligned-trace", "whole")
        text = self.said(excerpts)
        self.assertRegex(text, r"^Excerpts around the report's findings and the worst waits: 4 of 4 traces, ")
        self.assertEqual([line for line in text.splitlines() if line.startswith(("Rows", "Excerpts:"))],
                         self.merged("large", "--excerpt", "all"))
        self.assertRegex(self.said(whole), "^The whole job")
        self.assertLess(10 * len(excerpts.ask("GET", TRACE).body), len(whole.ask("GET", TRACE).body))

    def test_without_room_or_wish_for_it_the_report_is_whole_and_the_trace_is_not_there(self):
        cramped = self.reported("large", "--aligned-trace", "whole", "--largest-report", "6M")
        self.assertIn("there is no aligned trace: ", cramped.ask("GET", "/v1/jobs/run/report.log").body.decode())
        for daemon in (cramped, self.reported("small", "--aligned-trace", "off")):
            self.assertEqual(daemon.ask("GET", TRACE).status, 404)
            self.assertNotIn("Aligned trace", daemon.ask("GET", "/jobs/run").body.decode())
            self.assertEqual([path.name for path in (daemon.spool / "jobs/run/report").rglob("*aligned*")], [])


if __name__ == "__main__":
    unittest.main()
