"""Reads the reports of skewscope: report.json, its tables, and several reports side by side.

    from skewscope_report import Report, Reports, find_reports

    report = Report("skewscope-report")              # a report directory, a report.json or a report.sqlite
    report.verdict["sentence"]                       # the contract: configs/report.schema.json
    report.rank(5)["exposed_wait_ns"]                # nanoseconds, an int
    report.table("collective_ranks")                 # a list of dicts
    report.frame("overlap")                          # a pandas DataFrame, where pandas is there
    report.sql("SELECT rank, sum(wait_ns) AS wait_ns FROM collective_ranks WHERE op = ? GROUP BY rank", "all_reduce")
    jobs = Reports(find_reports("reports"))
    jobs.table("ranks")                              # rows of all jobs, the job's name first
    jobs.joined("SELECT job, severity, gain_share FROM verdict ORDER BY gain_share DESC")

Units are in the names: `_ns` nanoseconds (always int), `_gb_per_s` 1e9 bytes per second, `_ppb` parts per billion, `_share`
0..1. None means "not determined", and it is never 0. What each figure means: include/skewscope/DEFINITIONS.md.

Needs Python 3.9 and its standard library; this file may be copied to wherever it is needed.
"""
from __future__ import annotations

import csv
import json
import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, Optional, Union

__all__ = ["Report", "ReportError", "Reports", "find_reports", "rank_list"]

SCHEMA, VERSION = "skewscope.report", 1
PathLike = Union[str, "os.PathLike[str]"]
Row = dict[str, Any]

# SQLite has no booleans and stores these as 0 and 1.
BOOLEANS = {"aligned", "complete", "reported", "saved_at_least"}
# A CSV file has no types, and text may look like a number: a group's name, the only rank of a list.
TEXTS = {"algorithm", "basis", "blocked_by", "bound", "cause", "code", "desc", "device_name", "domain", "dtype", "file", "first_file",
         "confidence", "gain_bound", "group_kind", "host", "kernel", "key", "kind", "link", "message", "method", "metric",
         "module", "name", "next", "note", "op", "pattern", "phase", "place", "protocol", "reason", "schedule", "schema", "sentence", "severity",
         "source", "standing", "step_basis", "table", "vendor", "why"}
# Lists are text, "0 1 2"; one without members is "", which is known.
LISTS = {"hosts", "outliers", "ranks_missing", "ranks_present", "software", "together_ranks"}
COUNTS_OF_RANKS = {"steps", "component_steps", "rank_statistics"}  # tables whose column `ranks` is a number, not a list
REALS = ("_share", "_gb_per_s", "_ppb")
REAL_NAMES = {"imbalance", "imbalance_per_call", "median", "parallel", "weight"}


class ReportError(Exception):
    """What was asked for cannot be read; the message says what and why."""


class Report:
    """One report. `name` is the job's name.

    The properties that are named like keys of report.json (verdict, ranks, steps, ...) give these parts of the document as they
    are. The tables hold the same rows and more of them, flat, with the columns of tables/*.csv.
    """

    def __init__(self, path: PathLike):
        self.path = Path(path)
        self._document: Optional[Row] = None
        self._database: Optional[Path] = None
        self._csv: Optional[Path] = None
        if self.path.is_dir():
            self._open_directory()
        elif not self.path.exists():
            raise ReportError(f"{self.path}: there is no such file or directory")
        elif self.path.suffix == ".sqlite":
            self._database = self.path
        else:
            self._document = _read_document(self.path)
        if self._database and not {"ranks", "collective_ranks"} <= set(self.tables()):
            raise ReportError(f"{self._database}: is no report of a job: it has no tables ranks and collective_ranks")
        self.name: str = self._document["job"]["name"] if self._document else self._name_in_tables()

    def _open_directory(self) -> None:
        if not (self.path / "COMPLETE").exists():
            raise ReportError(f"{self.path}: is no report directory, or not a whole one: it has no file COMPLETE")
        if (self.path / "report.json").exists():
            self._document = _read_document(self.path / "report.json")
        if (self.path / "report.sqlite").exists():
            self._database = self.path / "report.sqlite"
        if (self.path / "tables").is_dir():
            self._csv = self.path / "tables"
        if not (self._document or self._database):
            raise ReportError(f"{self.path}: holds neither report.json nor report.sqlite; is it another command's directory?")

    def _name_in_tables(self) -> str:
        known = {"job": "SELECT name FROM job", "jobs_found": "SELECT name FROM jobs_found WHERE reported"}  # the latter: 0.1.0
        jobs = next((self.sql(query) for table, query in known.items() if table in self.tables()), [])
        return jobs[0]["name"] if jobs else self._database.resolve().parent.name

    def __repr__(self) -> str:
        return f"Report({str(self.path)!r})"

    @property
    def json(self) -> Row:
        """The whole document of report.json."""
        if self._document is None:
            raise ReportError(f"{self.path}: has no report.json; only tables can be read")
        return self._document

    @property
    def job(self) -> Row:
        """Name, world size, ranks present and missing, hosts, steps, sessions, and the window in ns."""
        return self.json["job"]

    @property
    def verdict(self) -> Row:
        """What the job loses and what to do first: sentence, why, next, severity, confidence, and of the largest
        loss kind, ranks, gain_ns, gain_share, gain_bound."""
        return self.json["verdict"]

    @property
    def losses(self) -> list[Row]:
        """What the job loses time to, what weighs most first; gain_ns is exact, at least or at most, as `bound` says."""
        return self.json["losses"]

    @property
    def ranks(self) -> list[Row]:
        """Where each rank's time went, in ns."""
        return self.json["ranks"]

    @property
    def steps(self) -> list[Row]:
        """Steps of the job: start_ns since the job's first event, duration_ns, and what blocked them."""
        return self.json["steps"]

    @property
    def collectives(self) -> list[Row]:
        """One row per communicator, operation, type and size; times are statistics {sum, mean, median, p99, min, max} in ns."""
        return self.json["collectives"]

    @property
    def stragglers(self) -> list[Row]:
        """Ranks that others waited for, most waiting first: wait_originated_ns, cause, standing, saved_ns."""
        return self.json["stragglers"]

    def rank(self, number: int) -> Row:
        """The row of one rank."""
        for row in self.ranks:
            if row["rank"] == number:
                return row
        raise ReportError(f"{self.path}: has no rank {number}; ranks present: {self.job['ranks_present']}")

    def tables(self) -> list[str]:
        """Names of the tables, and of the views of report.sqlite."""
        if self._database:
            query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"
            return [row["name"] for row in self.sql(query)]
        return sorted(path.stem for path in self._csv.glob("*.csv")) if self._csv else []

    def table(self, name: str) -> list[Row]:
        """The rows of a table or view, from report.sqlite or, where that is absent, tables/NAME.csv.

        Lists of ranks and hosts are text in tables ("0 1 2 3"): see rank_list(). A CSV file puts ' before text that a
        spreadsheet would take for a formula, and shows control characters as escapes; report.sqlite does neither.
        """
        if name not in self.tables():
            known = ", ".join(self.tables()) or "none; report.json alone holds no tables, see .json"
            raise ReportError(f"{self.path}: has no table {name!r}; tables: {known}")
        if self._database:
            return [{key: _bool_of(key, value) for key, value in row.items()} for row in self.sql(f'SELECT * FROM "{name}"')]
        with open(self._csv / f"{name}.csv", encoding="utf-8", newline="") as file:
            return [{key: value_of_field(name, key, text) for key, text in row.items()} for row in csv.DictReader(file)]

    def frame(self, name: str) -> Any:
        """The table as a pandas DataFrame. Whole numbers stay so where some are not determined: such columns are Int64."""
        return _frame(self.table(name))

    def sql(self, query: str, *args: Any) -> list[Row]:
        """The rows of a query on report.sqlite, which is opened for reading only; `?` takes `args`. Booleans are 0 and 1."""
        if self._database is None:
            raise ReportError(f"{self.path}: has no report.sqlite; make the report with sqlite among its --format")
        try:
            with closing(sqlite3.connect(f"{self._database.resolve().as_uri()}?mode=ro", uri=True)) as database:
                cursor = database.execute(query, args)
                names = [column[0] for column in cursor.description or ()]
                if len(set(names)) < len(names):
                    raise ReportError(f"two columns of the query have one name: {', '.join(names)}; name them with AS")
                return [dict(zip(names, row)) for row in cursor]
        except sqlite3.Error as error:
            raise ReportError(f"{self._database}: {error}") from error


class Reports:
    """Several reports, of one job each. Rows are those of all of them, with the column `job` in front.

    `job` is the job's name; where several jobs have one name, "NAME (PATH)" for each of these.
    """

    def __init__(self, paths: Iterable[PathLike]):
        self.reports = [Report(path) for path in paths]
        if not self.reports:
            raise ReportError("no report was given")
        names = [report.name for report in self.reports]
        self.names = [f"{r.name} ({r.path})" if names.count(r.name) > 1 else r.name for r in self.reports]

    def __iter__(self) -> Iterator[Report]:
        return iter(self.reports)

    def __len__(self) -> int:
        return len(self.reports)

    def rows(self, rows_of: Callable[[Report], list[Row]]) -> list[Row]:
        """What `rows_of` gives for each report: reports.rows(lambda report: report.stragglers)."""
        return [{"job": name, **row} for name, report in zip(self.names, self.reports) for row in rows_of(report)]

    def table(self, name: str) -> list[Row]:
        """The rows of one table of every report."""
        return self.rows(lambda report: report.table(name))

    def frame(self, name: str) -> Any:
        """The same as a pandas DataFrame."""
        return _frame(self.table(name))

    def sql(self, query: str, *args: Any) -> list[Row]:
        """The rows of a query that is put to each report by itself: sums are those of one job."""
        return self.rows(lambda report: report.sql(query, *args))

    def joined(self, query: str, *args: Any) -> list[Row]:
        """The rows of a query over all jobs at once. Each table has the column `job` in front, by which tables are joined:
        SELECT host, count(DISTINCT job) AS jobs FROM stragglers JOIN ranks USING (job, rank) GROUP BY host.
        """
        words = set(re.findall(r"\w+", query))
        with closing(sqlite3.connect(":memory:")) as database:
            for name in sorted({name for report in self for name in report.tables()} & words):
                _copy_table(database, name, self.rows(lambda report: report.table(name) if name in report.tables() else []))
            try:
                cursor = database.execute(query, args)
                return [dict(zip((column[0] for column in cursor.description or ()), row)) for row in cursor]
            except sqlite3.Error as error:
                raise ReportError(f"{error}; a table without rows in all of the reports is no table here") from error


def find_reports(folder: PathLike) -> list[Path]:
    """The whole report directories at and below `folder`, by path; those of other commands are left out."""
    if not Path(folder).is_dir():
        raise ReportError(f"{folder}: is no directory")
    return sorted(mark.parent for mark in Path(folder).rglob("COMPLETE")
                  if mark.read_text(encoding="utf-8", errors="replace").startswith(f"{SCHEMA}/"))


def rank_list(text: Optional[str]) -> list[int]:
    """The numbers of a list as tables write it: "0 1 2 3"."""
    return [int(number) for number in (text or "").split()]


def _read_document(path: Path) -> Row:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ReportError(f"{path}: cannot be read: {error}") from error
    schema = document.get("schema") if isinstance(document, dict) else None
    name, _, version = str(schema).partition("/")
    if name != SCHEMA:
        raise ReportError(f"{path}: is no {SCHEMA}/{VERSION}: its schema is {schema!r}")
    if version != str(VERSION):
        raise ReportError(f"{path}: is {schema} of skewscope {document.get('tool_version')}; this reader knows {SCHEMA}/{VERSION}. "
                          "Take the reader of that skewscope")
    return document


def _bool_of(column: str, value: Any) -> Any:
    return bool(value) if column in BOOLEANS and value is not None else value


def value_of_field(table: str, column: str, text: str) -> Any:
    """The value that a field of a CSV file stands for."""
    is_list = (column in LISTS or (column == "ranks" and table not in COUNTS_OF_RANKS)
               or (table, column) == ("job", "steps"))
    if text == "":
        return "" if is_list else None  # a list without ranks is known
    if column in BOOLEANS:
        return text in ("true", "1")
    if is_list or column in TEXTS:
        return text
    try:
        is_real = column.endswith(REALS) or column in REAL_NAMES or table == "efficiency"
        return float(text) if is_real else int(text)
    except ValueError:
        return text  # a column that this reader does not know yet


def _copy_table(database: sqlite3.Connection, name: str, rows: list[Row]) -> None:
    if not rows:
        return
    columns = list(dict.fromkeys(column for row in rows for column in row))  # reports of other versions may have others
    database.execute(f'CREATE TABLE "{name}" ({", ".join(f"{chr(34)}{column}{chr(34)}" for column in columns)})')
    database.executemany(f'INSERT INTO "{name}" VALUES ({", ".join("?" * len(columns))})',
                         [[row.get(column) for column in columns] for row in rows])


def _frame(rows: list[Row]) -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ReportError("frame() needs pandas, which is not installed here; table() gives the same rows as dicts") from error
    columns = {}
    for name in rows[0] if rows else ():
        values = [row.get(name) for row in rows]
        kinds = {type(value) for value in values if value is not None}
        missing = None in values
        dtype = {frozenset({int}): "Int64" if missing else "int64", frozenset({bool}): "boolean" if missing else "bool",
                 frozenset({float}): "float64", frozenset({int, float}): "float64"}.get(frozenset(kinds), "object")
        columns[name] = pandas.Series(values, dtype=dtype)
    return pandas.DataFrame(columns)
