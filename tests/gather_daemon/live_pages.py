#!/usr/bin/env python3
"""The daemon's pages in a browser stay current without being loaded again. usage: live_pages.py SKEWSCOPE"""
import sys
import time
import unittest
from pathlib import Path

from daemon import Daemon

sys.path.insert(0, str(Path(__file__).parents[1] / "page"))
import chromium  # noqa: E402

LOOK_AGAIN = "document.dispatchEvent(new Event('visibilitychange'))"  # as when the page comes into sight


@unittest.skipUnless(chromium.PROGRAM, "no chromium: scripts/install_packages --with-checks")
class LivePages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.browser = chromium.Chromium(1280, 300)

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.daemon.stop()

    def until(self, expression, seconds=20):
        end = time.monotonic() + seconds
        while not self.browser.value(expression):
            self.assertLess(time.monotonic(), end, f"{expression}: {self.browser.value('document.body.innerText')}")
            time.sleep(0.05)

    def test_a_new_job_appears_while_scroll_focus_and_what_was_typed_stay(self):
        for number in range(30):
            self.daemon.put(b"x", f"run-{number:02}", 0)
        self.browser.open(self.daemon.url + "/")
        self.browser.value("""document.querySelector("input[name=q]").value = "half a wo";
            window.kept = document.querySelector("#job-run-10 a"); kept.focus(); scrollTo(0, 500)""")
        self.daemon.put(b"x", "run-30", 0)
        self.daemon.put(b"xyz" * 1000, "run-10", 1)
        self.browser.value(LOOK_AGAIN)
        self.until("document.querySelector('#job-run-30') !== null")
        self.assertIn("2.9 KiB", self.browser.value("document.querySelector('#job-run-10').innerText"))
        self.assertEqual(self.browser.value("document.querySelector('tbody tr').id"), "job-run-30")
        self.assertEqual(self.browser.value("document.querySelectorAll('tr[id^=job-run-]').length"), 31)
        self.assertTrue(self.browser.value("kept.isConnected && document.activeElement === kept"))
        self.assertEqual(self.browser.value("document.querySelector('input[name=q]').value"), "half a wo")
        self.assertGreater(self.browser.value("scrollY"), 400)

        self.daemon.ask("DELETE", "/v1/jobs/run-20")
        self.browser.value(LOOK_AGAIN)
        self.until("document.querySelector('#job-run-20') === null")
        self.assertEqual(self.browser.value("document.querySelectorAll('tr[id^=job-run-]').length"), 30)
        self.assertTrue(self.browser.value("document.activeElement === kept"))

    def test_a_job_s_page_follows_it_by_itself(self):
        self.daemon.ask("PUT", "/v1/jobs/watched", body=b'{"world_size": 3}')
        self.daemon.put(b"x", "watched", 0)
        self.browser.open(self.daemon.url + "/jobs/watched")
        self.browser.value("window.same_page = true")
        self.assertIn("1 of 3", self.browser.value("document.body.innerText"))
        self.daemon.put(b"x", "watched", 1)
        self.until("document.body.innerText.includes('2 of 3')")  # after ten seconds
        self.assertTrue(self.browser.value("window.same_page"))

    def test_a_page_says_so_when_the_gatherer_does_not_answer(self):
        self.browser.open(self.daemon.url + "/")
        self.assertTrue(self.browser.value("document.getElementById('unanswered').hidden"))
        self.browser.value("window.fetch = () => Promise.reject(new Error('away'))")
        self.browser.value(LOOK_AGAIN)
        self.until("document.getElementById('unanswered').innerText.startsWith('The gatherer does not answer; this is what it said at ')")

    def test_no_page_breaks_its_policy(self):
        for address in ("/", "/nodes", "/login"):
            self.browser.open(self.daemon.url + address)
            self.browser.value(LOOK_AGAIN)
            time.sleep(0.2)
        self.assertEqual([problem for problem in self.browser.problems if "favicon" not in problem], [])


if __name__ == "__main__":
    unittest.main()
