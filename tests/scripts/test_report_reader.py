#!/usr/bin/env python3
"""scripts/skewscope_report.py and its example, on reports of a simulated and of recorded jobs. usage: SKEWSCOPE"""
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from skewscope_report import BOOLEANS, Report, ReportError, Reports, find_reports, rank_list, value_of_field  # noqa: E402

try:
    import pandas
except ImportError:
    pandas = None

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 and os.path.exists(sys.argv[1]) else None
SLOW_RANK, SLOW_NODE = 5, "node1"
JOBS = ["even", "experts", "gloo", "slow"]


def skewscope(*words):
    subprocess.run([PROGRAM, *map(str, words), "--quiet"], check=True)


def make_reports(folder):
    """A job with a slow rank and one without, two recorded ones, in one folder; and one more of the slow job, without SQLite."""
    simulated = {"slow": ["--slow-rank", f"{SLOW_RANK}:1.3"], "even": ["--seed", 7]}
    for job, options in simulated.items():
        skewscope("simulate", "-o", folder / "traces" / job, "--nodes", 2, "--gpus", 4, "--steps", 3, *options)
    for job in JOBS:
        recorded = ROOT / "tests/data/real" / job
        skewscope("report", recorded if recorded.exists() else folder / "traces" / job, "-o", folder / "reports" / job,
                  "--rank-tables", "gpu", "--cache", "off")
    skewscope("report", folder / "traces/slow", "-o", folder / "plain", "-f", "json,csv", "--cache", "off")


@unittest.skipIf(PROGRAM is None, "no skewscope given")
class Reader(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        make_reports(cls.folder)
        cls.reports = cls.folder / "reports"
        cls.slow = Report(cls.reports / "slow")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.scratch = Path(folder.name)

    def copy_with(self, **changes):
        """A copy of the slow job's report with these keys of report.json changed."""
        copy = self.scratch / "copy"
        shutil.copytree(self.reports / "slow", copy)
        document = json.loads((copy / "report.json").read_text())
        (copy / "report.json").write_text(json.dumps({**document, **changes}))
        return copy

    def assert_refused(self, words, call, *args):
        with self.assertRaises(ReportError) as refused:
            call(*args)
        for word in words:
            self.assertIn(word, str(refused.exception))

    # What a report says.

    def test_the_document_is_report_json_and_its_parts_have_names(self):
        document = json.loads((self.reports / "slow/report.json").read_text())
        self.assertEqual(self.slow.json, document)
        for part in ("job", "verdict", "losses", "ranks", "steps", "collectives", "stragglers"):
            self.assertEqual(getattr(self.slow, part), document[part], part)
        self.assertEqual(self.slow.rank(3), document["ranks"][3])
        self.assertEqual((self.slow.name, self.slow.job["world_size"]), ("slow", 8))

    def test_the_slow_rank_of_a_simulated_job_is_found_with_its_node(self):
        first = self.slow.stragglers[0]
        self.assertEqual((first["rank"], first["cause"], first["standing"]), (SLOW_RANK, "slower_kernels", "cause"))
        self.assertEqual(self.slow.rank(SLOW_RANK)["host"], SLOW_NODE)
        self.assertEqual(self.slow.losses[0]["ranks"], [SLOW_RANK])
        self.assertGreater(self.slow.verdict["gain_ns"], 0)

    def test_rows_of_tables_hold_the_figures_of_the_document(self):
        for table, rows in (("ranks", self.slow.ranks), ("stragglers", self.slow.stragglers), ("steps", self.slow.steps)):
            for row, of_document in zip(self.slow.table(table), rows, strict=True):
                self.assertEqual({key: row[key] for key in of_document}, of_document)
        instances = self.slow.table("collective_ranks")
        for rank in self.slow.ranks:
            waits = [call["wait_ns"] for call in instances if call["rank"] == rank["rank"] and call["wait_ns"] is not None]
            self.assertEqual(sum(waits), rank["wait_ns"])

    def test_times_are_ints_shares_floats_flags_bools_and_lists_of_ranks_text(self):
        clock, straggler, job = (self.slow.table(name)[0] for name in ("clocks", "stragglers", "jobs_found"))
        self.assertIs(clock["aligned"], True)
        self.assertIs(straggler["saved_at_least"], False)
        self.assertIs(type(clock["offset_ns"]), int)
        self.assertIs(type(clock["drift_ppb"]), float)
        self.assertIs(type(straggler["late_share"]), float)
        self.assertIs(type(job["start_ns"]), int)  # 19 digits: a float would lose the last three
        self.assertEqual(rank_list(job["ranks"]), list(range(8)))
        self.assertEqual(rank_list(None), [])

    def test_a_group_whose_name_is_a_number_keeps_its_name(self):
        names = [row["name"] for row in Report(self.folder / "plain").table("communicators")]
        self.assertEqual(names, [row["name"] for row in self.slow.json["communicators"]])
        self.assertIn("5", names)

    def test_what_is_not_determined_is_none(self):
        gloo = Report(self.reports / "gloo")
        self.assertTrue(all(rank["host"] is None for rank in gloo.ranks + gloo.table("ranks")))
        self.assertTrue(all(row["hidden_ns"] is None and row["hidden_share"] is None for row in gloo.table("overlap")))
        self.assertIsNone(gloo.json["pipeline"])
        self.assertEqual(gloo.table("pipeline"), [])

    def test_csv_files_and_sqlite_give_the_same_rows_of_the_same_types(self):
        for directory in find_reports(self.reports):
            with_sqlite, copy = Report(directory), self.scratch / directory.name
            shutil.copytree(directory, copy)
            (copy / "report.sqlite").unlink()
            with_csv = Report(copy)
            for name in with_csv.tables():
                rows, expected = with_csv.table(name), with_sqlite.table(name)
                self.assertEqual(rows, expected, f"{directory.name}: {name}")
                types = [[{key: type(value) for key, value in row.items()} for row in each] for each in (rows, expected)]
                self.assertEqual(*types, f"{directory.name}: {name}")

    def test_the_reader_knows_the_type_of_each_column_of_csv_files(self):
        samples = {"INTEGER": ("7", int), "REAL": ("7", float), "TEXT": ("7", str)}
        for table in sorted(path.stem for path in (self.reports / "slow/tables").glob("*.csv")):
            for column in self.slow.sql("SELECT name, type FROM pragma_table_info(?)", table):
                if column["name"] not in BOOLEANS:
                    text, kind = samples[column["type"]]
                    self.assertIs(type(value_of_field(table, column["name"], text)), kind, f"{table}: {column['name']}")

    def test_a_query_takes_arguments_and_writes_nothing(self):
        query = "SELECT rank, sum(wait_ns) AS wait_ns FROM collective_ranks WHERE op = ? GROUP BY rank ORDER BY wait_ns"
        self.assertEqual(self.slow.sql(query, "all_reduce")[0]["rank"], SLOW_RANK)  # who is waited for waits least
        self.assertEqual(self.slow.sql(query, "no such operation"), [])
        self.assert_refused(["readonly"], self.slow.sql, "DELETE FROM ranks")
        self.assert_refused(["no such column: ruin"], self.slow.sql, "SELECT ruin FROM ranks")
        self.assert_refused(["AS"], self.slow.sql, "SELECT a.rank, b.rank FROM ranks a JOIN clocks b ON a.rank = b.rank")

    # Where a report is, and what is none.

    def test_a_part_of_a_report_is_enough(self):
        alone = Report(self.reports / "slow/report.json")
        self.assertEqual(alone.stragglers, self.slow.stragglers)
        self.assert_refused(["report.json alone holds no tables"], alone.table, "ranks")
        self.assert_refused(["has no report.sqlite"], alone.sql, "SELECT 1")
        tables = Report(self.reports / "slow/report.sqlite")
        self.assertEqual((tables.table("ranks"), tables.name), (self.slow.table("ranks"), "slow"))
        self.assert_refused(["has no report.json"], lambda: tables.verdict)

    def test_what_is_no_report_is_refused_with_the_reason(self):
        self.assert_refused(["no such file"], Report, self.scratch / "nowhere")
        self.assert_refused(["no file COMPLETE"], Report, self.scratch)
        self.assert_refused(["'skewscope.scale/1'"], Report, self.copy_with(schema="skewscope.scale/1"))
        (self.scratch / "broken.json").write_text('{"schema": ')
        self.assert_refused(["broken.json", "cannot be read"], Report, self.scratch / "broken.json")
        (self.scratch / "list.json").write_text("[1]")
        self.assert_refused(["schema is None"], Report, self.scratch / "list.json")
        sqlite3.connect(self.scratch / "foreign.sqlite").execute("CREATE TABLE kernels (name TEXT)").connection.close()
        self.assert_refused(["is no report of a job"], Report, self.scratch / "foreign.sqlite")
        (self.scratch / "text.sqlite").write_text("no database, but long enough to be read as the head of one" * 20)
        self.assert_refused(["not a database"], Report, self.scratch / "text.sqlite")

    def test_a_report_of_the_next_version_is_refused_and_fields_that_are_new_are_not(self):
        self.assertEqual(Report(self.copy_with(weather="fine")).json["weather"], "fine")
        shutil.rmtree(self.scratch / "copy")
        later = self.copy_with(schema="skewscope.report/2", tool_version="0.9.0")
        self.assert_refused(["skewscope.report/2 of skewscope 0.9.0", "knows skewscope.report/1"], Report, later)

    def test_a_table_or_rank_that_is_not_there_is_told_with_those_that_are(self):
        self.assert_refused(["'rank'", "ranks", "stragglers"], self.slow.table, "rank")
        self.assert_refused(["no rank 8", "[0, 1, 2, 3, 4, 5, 6, 7]"], self.slow.rank, 8)

    # Several reports.

    def test_reports_are_found_below_a_folder_and_joined_by_the_name_of_the_job(self):
        found = find_reports(self.reports)
        self.assertEqual([path.name for path in found], JOBS)
        reports = Reports(found)
        rows = reports.table("ranks")
        self.assertEqual(list(rows[0])[:2], ["job", "rank"])
        self.assertEqual([row["job"] for row in rows], [job for job, ranks in zip(JOBS, (8, 4, 4, 8)) for _ in range(ranks)])
        worst = max(reports.rows(lambda report: report.stragglers), key=lambda row: row["saved_ns"] or 0)
        self.assertEqual((worst["job"], worst["rank"]), ("slow", SLOW_RANK))
        self.assertEqual([row["job"] for row in reports.sql("SELECT count(*) AS calls FROM collective_ranks")], JOBS)

    def test_one_query_goes_over_all_jobs_which_tables_name_in_front(self):
        reports = Reports(find_reports(self.reports))
        query = """SELECT r.host, count(DISTINCT job) AS jobs FROM stragglers s JOIN ranks r USING (job, rank)
                   WHERE s.standing = ? GROUP BY r.host ORDER BY sum(s.saved_ns) DESC"""
        self.assertEqual(reports.joined(query, "cause")[0]["host"], SLOW_NODE)
        rows = reports.joined("SELECT job, name, schema, severity, gain_share FROM job JOIN verdict USING (job) ORDER BY job")
        self.assertEqual([(row["job"], row["name"], row["schema"]) for row in rows],
                         [(job, job, "skewscope.report/1") for job in JOBS])
        of_document = {report.name: report.verdict for report in reports}
        self.assertEqual([(row["severity"], row["gain_share"]) for row in rows],
                         [(of_document[job]["severity"], of_document[job]["gain_share"]) for job in JOBS])
        self.assert_refused(["no such table: no_table"], reports.joined, "SELECT 1 FROM no_table")

    def test_many_files_can_be_attached_and_joined_by_their_rows_of_jobs(self):
        with sqlite3.connect(":memory:") as database:
            for number, job in enumerate(("slow", "even")):
                database.execute(f"ATTACH ? AS j{number}", [str(self.reports / job / "report.sqlite")])
            both = " UNION ALL ".join(f"SELECT name, severity, parallel, balanced_ns FROM j{n}.job, j{n}.verdict, j{n}.efficiency, j{n}.what_if"
                                      for n in range(2))
            rows = database.execute(f"SELECT name FROM ({both}) WHERE balanced_ns > 0 ORDER BY parallel").fetchall()
        self.assertEqual(rows, [("slow",), ("even",)])

    def test_keys_hold_and_every_share_lies_between_0_and_1(self):
        def shares(value, path=""):
            for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
                if str(key).endswith("_share") and inner is not None:
                    yield f"{path}/{key}", inner
                yield from shares(inner, f"{path}/{key}")
        for report in Reports(find_reports(self.reports)):
            self.assertEqual(report.sql('SELECT "table", rowid FROM pragma_foreign_key_check'), [])
            self.assertEqual([(path, share) for path, share in shares(report.json) if not 0 <= share <= 1], [])

    def test_jobs_of_one_name_are_told_apart_by_their_path(self):
        one, other = self.reports / "slow", self.folder / "plain"
        self.assertEqual(Reports([one, other]).names, [f"slow ({one})", f"slow ({other})"])
        self.assert_refused(["no report was given"], Reports, [])
        self.assert_refused(["is no directory"], find_reports, self.scratch / "nowhere")

    # pandas.

    def test_without_pandas_frame_says_what_to_do_and_all_else_works(self):
        with mock.patch.dict(sys.modules, {"pandas": None}):
            self.assert_refused(["needs pandas", "table()"], self.slow.frame, "ranks")
            self.assertEqual(len(self.slow.table("ranks")), 8)

    @unittest.skipIf(pandas is None, "no pandas here")
    def test_a_frame_keeps_whole_numbers_whole_where_some_are_not_determined(self):
        frame = self.slow.frame("communicators")
        self.assertEqual(list(frame["size"]), [row["size"] for row in self.slow.table("communicators")])
        clocks = Reports(find_reports(self.reports)).frame("clocks")
        self.assertEqual([str(clocks[name].dtype) for name in ("job", "offset_ns", "drift_ppb", "aligned")],
                         ["object", "int64", "float64", "bool"])
        causes = Reports(find_reports(self.reports)).frame("stragglers")  # gloo's ranks are not replayed
        self.assertEqual((str(causes["saved_ns"].dtype), int(causes["saved_ns"].isna().sum())), ("Int64", 4))
        self.assertEqual(len(self.slow.frame("unmatched")), 0)

    # The example.

    def run_example(self, *paths):
        return subprocess.run([sys.executable, ROOT / "scripts/report_example.py", *paths], capture_output=True, text=True)

    def test_the_example_answers_its_five_questions(self):
        example = self.run_example(self.reports / "slow", self.reports)
        self.assertEqual((example.returncode, example.stderr), (0, ""))
        self.assertRegex(example.stdout, rf"rank +waiting caused +why +standing +saved\n +{SLOW_RANK} +\S+ ms +slower_kernels +cause")
        self.assertRegex(example.stdout, r"group +operation +time +hidden +exposed transfer +exposed but not split\n +TENSOR_MODEL_PARALLEL_GROUP +all_reduce")
        self.assertRegex(example.stdout, rf"over 4 jobs\?\n +node +jobs +share of waiting caused\n +{SLOW_NODE} +2 ")
        self.assertIn("the traces name no host: experts, gloo\n", example.stdout)
        self.assertRegex(example.stdout, r"mean step +\S+ ms +\S+ ms")

    def test_the_example_runs_on_each_report_and_says_what_is_absent(self):
        for job in JOBS:
            example = self.run_example(self.reports / job)
            self.assertEqual((example.returncode, example.stderr), (0, ""), job)
            self.assertIn("one report was given; give two", example.stdout)
        self.assertIn("it has none, or none that was matched", self.run_example(self.reports / "gloo").stdout)
        self.assertRegex(self.run_example(self.reports / "experts").stdout, r"group +calls +busiest rank")
        nothing = self.run_example(self.scratch)
        self.assertEqual((nothing.returncode, nothing.stderr), (1, "report_example: no report was given\n"))


if __name__ == "__main__":
    unittest.main()
