"""Figures that a user acts on, against their truth: the job without its fault, the simulator's own record, or what was
put into a recorded job. `--before PROGRAM` adds what an earlier program says of the same jobs."""
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from harness import SKEWSCOPE, TOP, keep, run, table

REAL = TOP / "tests" / "data" / "real"
PIPELINE = ["--nodes", "4", "--gpus", "4", "--tp", "2", "--pp", "4", "--dp", "2", "--clock-offset-ms", "50"]


class Jobs:
    """Simulated jobs, made once, and what a program reports of a folder."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def simulated(self, *options):
        path = self.folder / ("sim" + "".join(options).replace("--", "_").replace(":", "x"))
        if not path.exists():
            run(SKEWSCOPE, "simulate", "-o", path, *options)
        return path

    def report(self, program, paths, *options):
        """report.json, or the exit code where there is none."""
        out = self.folder / "report"
        shutil.rmtree(out, ignore_errors=True)
        done = subprocess.run([program, "report", *map(str, paths), "-o", out, "-q", "--cache", "off", *options],
                              capture_output=True, text=True)
        return json.loads((out / "report.json").read_text()) if done.returncode == 0 else done.returncode


def percent(value):
    return "-" if value is None else f"{100 * value:.0f} %"


def step_ms(report):
    """Mean length of the job's steps."""
    steps = report["steps"]
    return f"{sum(s['duration_ns'] for s in steps) / len(steps) / 1e6:.1f} ms" if steps else "-"


def clocks_that_miss(report, truth):
    """Clocks said to be tied whose error bar does not hold the true offset."""
    true = {row["rank"]: row["offset_ns"] for row in truth["ranks"]}
    tied = [c for c in report["clocks"] if c["aligned"] and c["uncertainty_ns"] is not None]
    if not tied:
        return "none tied"
    # Offsets are relative: the first tied rank of a report has the bar of its own clock only.
    base = tied[0]["offset_ns"] - true[tied[0]["rank"]]
    missed = sum(abs(c["offset_ns"] - true[c["rank"]] - base) > c["uncertainty_ns"] + tied[0]["uncertainty_ns"] for c in tied)
    return f"{missed} of {len(tied)} tied"


def saved(report):
    """The largest gain that is named, as a share of the job's length."""
    length = report["what_if"]["replayed_ns"]
    gains = [s["saved_ns"] or 0 for s in report["stragglers"]] + [p["saved_ns"] for p in report["what_if"]["programs"]]
    return max(gains, default=0) / length if length else None


def situations(jobs):
    """(what, how to read it off a program, truth)."""
    one_step = jobs.simulated(*PIPELINE, "--steps", "1")
    four_steps = jobs.simulated(*PIPELINE, "--steps", "4")
    truth_of = lambda job: json.loads((job / "truth.json").read_text())  # noqa: E731
    whole = jobs.report(SKEWSCOPE, [four_steps])
    first = whole["steps"][0]["duration_ns"] / 1e6

    def said(paths, read, *options):
        return lambda program: read(jobs.report(program, paths, *options))

    yield ("clocks of a pipeline of one step, 4 nodes: bars that miss",
           said([one_step], lambda r: clocks_that_miss(r, truth_of(one_step))), "0")
    yield ("`--steps 100:101` of four steps: length of step 100",
           said([four_steps], step_ms, "--steps", "100:101"), f"{first:.1f} ms")
    for name in ("fsdp2", "ring_attention"):
        yield (f"{name}: length of a step", said([REAL / name], step_ms), "GPU window / 3")
    for name, gain in (("ddp_slow_rank", 0.94), ("fsdp2", 0.86), ("ring_attention", 0.91), ("ddp_imbalance", 0.40)):
        yield (f"{name}: largest gain of a rank", said([REAL / name], lambda r: percent(saved(r))), percent(gain))
    yield ("ddp and fsdp2 in one folder: exit code",
           lambda program: str(r) if isinstance(r := jobs.report(program, [REAL / "ddp", REAL / "fsdp2"]), int) else "0", "3")


def main(options):
    with tempfile.TemporaryDirectory() as folder:
        jobs = Jobs(folder)
        programs = ([options.before] if options.before else []) + [SKEWSCOPE]
        rows = [[what, *(read(program) for program in programs), truth] for what, read, truth in situations(jobs)]
    columns = ["figure", *(["before"] if options.before else []), "now", "truth"]
    keep("figures", "Figures that a user acts on", table(columns, rows), {})
