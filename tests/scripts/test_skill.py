#!/usr/bin/env python3
"""configs/SKILL.md against the program: each query, expression, flag, field, file and cited figure. usage: SKEWSCOPE"""
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "configs/SKILL.md").read_text()
PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 and os.path.exists(sys.argv[1]) else None

QUESTION = re.compile(r"^\*\*(\d+)\. (.*?)(?=^\*\*\d+\. |^## )", re.MULTILINE | re.DOTALL)
SQL = re.compile(r"```sql\n(.*?)```", re.DOTALL)
PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
QUOTED = re.compile(r"`([^`\n]+)`")
FAIL_ON = re.compile(r"--fail-on '([^']+)'")
CITED = re.compile(r"`([\w.\[\]=]+)` = (\d+)")
SCHEMAS = [json.loads((ROOT / f"configs/{name}.schema.json").read_text()) for name in ("report", "rank", "scale", "compare", "hang")]


def run(*words, codes=(0,)):
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True)
    assert done.returncode in codes, f"{words}: {done.returncode} {done.stderr}"
    return done


def property_at(schema, steps):
    """Whether a schema describes the field at the end of these steps of a path."""
    for step in steps:
        while "$ref" in schema or "items" in schema or "allOf" in schema:
            schema = schema["items"] if "items" in schema else schema["allOf"][0] if "allOf" in schema else resolved(schema["$ref"])
        schema = schema.get("properties", {}).get(step)
        if schema is None:
            return False
    return True


def resolved(reference):
    for schema in SCHEMAS:
        found = schema
        for step in reference.removeprefix("#/").split("/"):
            found = found.get(step) if found else None
        if found:
            return found
    raise KeyError(reference)


@unittest.skipIf(PROGRAM is None, "no skewscope given")
class Skill(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.traces, cls.report = cls.folder / "traces", cls.folder / "OUT"
        words = re.search(r"`skewscope (simulate -o traces [^`]+)`", TEXT)[1].split()
        subprocess.run([PROGRAM, *words, "-q"], check=True, cwd=cls.folder)
        cls.make_report(cls.traces, cls.report)
        # Experts in a pipeline: the job that has rows for each question.
        run("simulate", "-o", cls.folder / "all", "--nodes", 2, "--gpus", 4, "--tp", 1, "--pp", 2, "--experts", 2,
            "--micro-batches", 2, "--steps", 3, "--busy-expert", "0:2", "-q")
        cls.make_report(cls.folder / "all", cls.folder / "all_report")
        cls.make_report(ROOT / "tests/data/real/gloo", cls.folder / "gloo_report")
        run("simulate", "--hang", "stuck-host", "--nodes", 2, "--gpus", 4, "-o", cls.folder / "dumps", "-q")
        run("hang", cls.folder / "dumps", "-o", cls.folder / "HANG", "-q", codes=(1,))
        run("rank", cls.traces / "rank5_trace.json", "-o", cls.folder / "rank", "--cache", "off", "-q")

    @staticmethod
    def make_report(traces, directory):
        run("report", traces, "-o", directory, "--rank-tables", "gpu", "--cache", "off", "-q")

    def columns_and_rows(self, report, query):
        database = sqlite3.connect(f"{(report / 'report.sqlite').as_uri()}?mode=ro", uri=True)
        self.addCleanup(database.close)
        cursor = database.execute(query)
        return [column[0] for column in cursor.description], cursor.fetchall()

    def names_of_tables_and_columns(self):
        names = set()
        for file in [*(self.report / "tables").glob("*.csv"), *(self.folder / "rank/tables").glob("*.csv")]:
            columns = file.read_text().splitlines()[0].split(",")
            names |= {file.stem, *columns, *(f"{file.stem}.{column}" for column in columns)}
        return names

    def test_it_is_a_page_with_the_head_that_assistants_read(self):
        head = re.match(r"---\nname: ([a-z0-9-]{1,64})\ndescription: (.{1,1024})\n---\n", TEXT)
        self.assertIsNotNone(head)
        self.assertEqual(head[1], "skewscope")
        self.assertLessEqual(len(TEXT.splitlines()), 190)

    def test_there_are_twelve_questions_and_more_and_all_but_one_have_an_expression(self):
        questions = QUESTION.findall(TEXT)
        self.assertEqual([int(number) for number, _ in questions], list(range(1, len(questions) + 1)))
        self.assertGreaterEqual(len(SQL.findall(TEXT)), 12)
        without = [number for number, text in questions if not FAIL_ON.search(text)]
        self.assertEqual(without, ["12"])  # rank_statistics is not in report.json

    def test_each_query_gives_columns_and_the_rows_that_the_page_promises(self):
        for number, text in QUESTION.findall(TEXT):
            for query in SQL.findall(text):
                with self.subTest(number):
                    columns, rows = self.columns_and_rows(self.report, query)
                    key = re.search(r"Row key: ([\w, ]+)\.", text)
                    self.assertLessEqual(set(key[1].split(", ") if key else ()), set(columns))
                    others = [self.columns_and_rows(self.folder / name, query)[1] for name in ("all_report", "gloo_report")]
                    if "No row:" not in text:
                        self.assertTrue(rows and all(others))
                    self.assertTrue(rows or others[0])

    def test_each_expression_is_accepted(self):
        for expression in FAIL_ON.findall(TEXT.replace("--fail-on 'EXPR'", "")):
            with self.subTest(expression):
                if expression.startswith("significant_regression"):
                    run("compare", self.report, self.report, "--fail-on", expression, codes=(0, 1))
                else:
                    run("report", self.traces, "--json", "--cache", "off", "-q", "--fail-on", expression, codes=(0, 1))

    def test_each_command_and_flag_exists(self):
        commands = set(re.findall(r"skewscope ([a-z]+)", " ".join(QUOTED.findall(TEXT))))
        self.assertGreaterEqual(commands, {"inspect", "report", "rank", "scale", "compare", "merge", "simulate"})
        helps = {command: run(command, "--help").stdout for command in commands}
        for quoted in QUOTED.findall(TEXT):
            command = re.match(r"skewscope ([a-z]+)", quoted)
            for flag in re.findall(r"(?<!\S)(--?[a-z][a-z-]*)", quoted):
                known = [helps[command[1]]] if command else [helps["report"], helps["merge"]]
                self.assertTrue(any(re.search(rf"(?<![\w-]){flag}(?![\w-])", text) for text in known), f"{quoted}: {flag}")

    def test_each_field_is_one_of_a_schema_or_a_column_of_a_table(self):
        columns = self.names_of_tables_and_columns()
        prose = SQL.sub("", PYTHON.sub("", TEXT))
        checked = 0
        for quoted in QUOTED.findall(prose):
            if not re.fullmatch(r"[a-z_]+(\[[^\]]*\])?(\.[a-z_0-9]+(\[[^\]]*\])?)*", quoted) or quoted in ("scale", "compare"):
                continue
            path = re.sub(r"\[[^\]]*\]", "", quoted)
            described = any(property_at(schema, path.split(".")) for schema in SCHEMAS)
            self.assertTrue(described or path in columns, quoted)
            checked += 1
        self.assertGreater(checked, 50)

    def test_each_file_that_is_named_exists(self):
        for name in re.findall(r"OUT/([\w.]+[\w])(?![\w/])", TEXT):
            self.assertTrue((self.report / name).exists() or (self.folder / "rank" / name).exists(), name)
        for name in re.findall(r"(?<![\w/])((?:configs|scripts|include|tests)/[\w./]+\w)", TEXT):
            self.assertTrue((ROOT / name).exists(), name)

    def test_the_python_of_the_page_runs(self):
        said = ""
        for code in PYTHON.findall(TEXT):
            done = subprocess.run([sys.executable, "-c", code], cwd=self.folder, capture_output=True, text=True,
                                  env={**os.environ, "PYTHONPATH": str(ROOT / "scripts")})
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            said += done.stdout
        self.assertIn("'rank': 5, 'cause': 'slower_kernels', 'standing': 'cause'", said)
        self.assertIn("{'host': 'node1', 'jobs': 2, ", said)
        culprit = json.loads((self.folder / "dumps/truth.json").read_text())["culprit"]
        self.assertRegex(said, rf"(?m)^{culprit} (certain|likely) ")

    def test_each_cited_figure_is_that_of_the_program(self):
        cited = CITED.findall(TEXT[TEXT.index("## 6."):])
        self.assertGreaterEqual(len(cited), 1)
        for path, value in cited:
            done = run("report", self.traces, "--json", "--cache", "off", "--fail-on", f"{path}=={value}", codes=(0, 1))
            self.assertEqual(done.returncode, 1, f"SKILL.md cites {path} = {value}, the program says otherwise")
        table, rank, column, value = re.search(r"report\.sqlite, (\w+), rank (\d+), (\w+) = (\d+)", TEXT).groups()
        rows = self.columns_and_rows(self.report, f"SELECT {column} FROM {table} WHERE rank = {rank}")[1]
        self.assertEqual(rows, [(int(value),)])


if __name__ == "__main__":
    unittest.main()
