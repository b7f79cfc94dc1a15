#!/usr/bin/env python3
"""The cluster's page with 50,000 jobs: they are copies, in the daemon's databases, of one that it has reported on.
usage: many_jobs.py SKEWSCOPE"""
import re
import sqlite3
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from daemon import PROGRAM, Daemon

JOBS = 50_000
RANKS = 4
SECONDS = 1  # in which the page answers


def simulated():
    """Traces by rank, of node0 and node1; rank 2 is slow."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([PROGRAM, "simulate", "-o", f"{folder}/job", "--nodes", "2", "--gpus", "2", "--tp", "1", "--steps", "3",
                        "--layers", "2", "--slow-rank", "2:1.5"], check=True, capture_output=True)
        return [next(Path(folder, "job").glob(f"rank{rank}_*")).read_bytes() for rank in range(RANKS)]


def name_of(number):
    return f"train-{number // 25:04}-{number:05}"


def copy_rows(database, table, keys, change):
    """`change`: the new value of each key by column name, as SQL of n, the copy's number."""
    columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
    database.execute(f"INSERT INTO {table} ({', '.join(columns)}) SELECT "
                     + ", ".join(change.get(column, f"t.{column}") for column in columns) + f" FROM {table} t, n WHERE {keys}")


def multiply(spool):
    """The job of number 0 becomes JOBS of them, each an hour older than the one before; every tenth node is another."""
    name = "printf('train-%04d-%05d', n / 25, n)"
    with sqlite3.connect(spool / "gather.sqlite") as database:
        database.execute(f"CREATE TEMP TABLE n AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE "
                         f"n < {JOBS - 1}) SELECT n FROM c")
        copy_rows(database, "job", f"t.name = '{name_of(0)}'", {"name": name, "created": "t.created - 3600 * n",
                                                                "owner_uid": "1000 + n % 50"})
    database.close()
    with sqlite3.connect(spool / "history.sqlite") as database:
        database.execute(f"CREATE TEMP TABLE n AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE "
                         f"n < {JOBS - 1}) SELECT n FROM c")
        one, = database.execute("SELECT id FROM run").fetchone()
        copy_rows(database, "run", f"t.id = {one}", {"id": f"{one} + n", "job": name, "created": "t.created - 3600 * n"})
        copy_rows(database, "cause", f"t.run = {one}", {"run": f"{one} + n", "node": "printf('%s-%03d', t.node, n % 100)"})
        copy_rows(database, "node", f"t.run = {one}", {"run": f"{one} + n", "name": "printf('%s-%03d', t.name, n % 100)"})
    database.close()


class ManyJobs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon("--debounce", "1", "--retention", "315360000").start()
        for rank, trace in enumerate(simulated()):
            cls.daemon.put(trace, name_of(0), rank, query=f"?world_size={RANKS}")
        end = time.monotonic() + 60
        while not cls.daemon.ask("GET", f"/v1/history?job={name_of(0)}").json()["runs"] and time.monotonic() < end:
            time.sleep(0.1)
        cls.daemon.stop()
        multiply(cls.daemon.spool)
        cls.daemon.start()

    @classmethod
    def tearDownClass(cls):
        cls.daemon.stop()

    def page(self, query=""):
        """The page, and the names of its jobs."""
        begin = time.monotonic()
        answer = self.daemon.ask("GET", "/" + query)
        seconds = time.monotonic() - begin
        print(f"{seconds:.3f} s, {len(answer.body)} bytes: /{query}")
        self.assertEqual(answer.status, 200, answer.body)
        self.assertLess(seconds, SECONDS, query)
        text = answer.body.decode()
        return text, re.findall(r'<td class="name"><a href="/jobs/([^"]+)"', text)

    def test_the_newest_hundred_come_first_and_every_page_at_once(self):
        text, jobs = self.page()
        self.assertEqual(jobs, [name_of(number) for number in range(100)])
        self.assertIn("50000 of 50000 jobs", text)
        self.assertIn("Page 1 of 500.", text)
        self.assertEqual(self.page("?page=500")[1], [name_of(number) for number in range(JOBS - 100, JOBS)])

    def test_a_search_by_any_field_answers_at_once_and_is_kept_by_the_links_to_other_pages(self):
        self.assertEqual(self.page("?q=train-0010-00251")[1], ["train-0010-00251"])
        text, jobs = self.page("?q=fix+first&state=&owner=1007&since=&until=&page=2")
        self.assertIn("1000 of 50000 jobs", text)
        self.assertEqual(jobs[0], name_of(100 * 50 + 7))
        self.assertIn('href="/?owner=1007&amp;q=fix%20first&amp;page=3"', text)
        self.assertIn('name="q" value="fix first"', text)
        self.assertEqual(self.page("?node=node1-033")[1][0], name_of(33))
        self.assertIn("50000 of 50000 jobs", self.page("?loss=straggler")[0])
        self.assertIn("0 of 50000 jobs", self.page("?q=%3Cno+such%3E")[0])

    def test_a_row_says_what_the_report_found(self):
        row = re.search(r'<tr id="job-train-0000-00000"><td class="name"><a href="/jobs/train-0000-00000">.*?</tr>', self.page()[0])[0]
        report = self.daemon.ask("GET", f"/v1/jobs/{name_of(0)}/report.json").json()
        self.assertIn(report["verdict"]["sentence"], row)
        self.assertIn(f"{100 * report['losses'][0]['gain_share']:.1f} %", row)
        self.assertIn('rank 2 of <a href="/?node=node1">node1</a>', row)
        self.assertIn("4 on 2 nodes", row)

    def test_a_query_that_makes_no_sense_is_refused(self):
        for query in ("?page=0", "?owner=-1", "?since=2026-02-30", "?state=odd", "?other=1", "?q=a&q=b"):
            self.assertEqual(self.daemon.ask("GET", "/" + query).status, 400, query)


if __name__ == "__main__":
    unittest.main()
