"""Figures that a user acts on, against their truth: the job without its fault, the simulator's own record, what was put
into a recorded job, or a formula of the schedule. `--before PROGRAM` adds what an earlier program says of the same
jobs."""
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from harness import SKEWSCOPE, TOP, keep, output_of, run, table

DLRM = Path(os.environ.get("SKEWSCOPE_TRACES", TOP.parent / "shared" / "traces")) / "dlrm_8rank"  # on V100s
REAL = TOP / "tests" / "data" / "real"
FAULTLESS = ("ddp", "ddp_8", "mesh", "cuda_graphs", "checkpointing", "compile", "every_collective", "sync_events")
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

    def text(self, program, command, paths, *options, **environment):
        """What a program prints, and its exit code."""
        out = self.folder / "text"
        shutil.rmtree(out, ignore_errors=True)
        options = [*options, "-o", out, "--cache", "off"] if command == "report" else options
        done = subprocess.run([program, command, *map(str, paths), *options], capture_output=True, text=True,
                              env={**os.environ, **environment})
        return done.stdout + done.stderr, done.returncode

    def written(self, name, events):
        """A trace of these events, times in us."""
        path = self.folder / name
        path.write_text(json.dumps({"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": events}))
        return path


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


def saved_words(report):
    """The largest gain that is named, as a share of the job's length."""
    length = report["what_if"]["replayed_ns"]
    gains = [s["saved_ns"] or 0 for s in report["stragglers"]] + [p["saved_ns"] for p in report["what_if"]["programs"]]
    at_least = "at least " if report["what_if"].get("saved_at_least") else ""
    return at_least + percent(max(gains, default=0) / length) if length else "-"


def first_words(text):
    """The verdict and its reason: what a summary begins with."""
    return " ".join(text.split("\nNext")[0].split())


def launched_step_ms(folder):
    """Mean length of a step by its launches alone: from the first row that was launched in the first step to the end of the
    last one that was launched in the last, over the number of steps; the mean of the ranks."""
    lengths = []
    for path in sorted(folder.glob("*.json.gz")):
        rows = [row for row in json.loads(output_of("gzip", "-dc", path))["traceEvents"] if row.get("ph") == "X"]
        steps = [row for row in rows if row["name"].startswith("ProfilerStep#") and row.get("cat") == "user_annotation"]
        first, last = min(s["ts"] for s in steps), max(s["ts"] + s["dur"] for s in steps)
        launched = {row["args"]["correlation"] for row in rows
                    if row.get("cat") in ("cuda_runtime", "cuda_driver") and first <= row["ts"] < last}
        ran = [row for row in rows if row.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")
               and row["args"]["correlation"] in launched]
        lengths.append((max(r["ts"] + r["dur"] for r in ran) - min(r["ts"] for r in ran)) / len(steps))
    return sum(lengths) / len(lengths) / 1000


def gain_of(report, rank):
    """What the report says that mending a rank saves, as a share of the job's length."""
    found = [s["saved_ns"] or 0 for s in report["stragglers"] if s["rank"] == rank]
    return percent(max(found, default=0) / report["what_if"]["replayed_ns"])


def shorter(jobs, faulty, healthy):
    """By how much the job without its fault is shorter: of two simulations, by their recorded lengths."""
    length = [jobs.report(SKEWSCOPE, [job])["what_if"]["recorded_ns"] for job in (faulty, healthy)]
    return percent(1 - length[1] / length[0])


def cause_of(report, rank):
    return next((str(s["cause"]).replace("_", " ") for s in report["stragglers"] if s["rank"] == rank), "-")


# Faults of rank 5, by the name that its cause should have.
FAULTS = {"slower kernels": ["--slow-rank", "5:1.5"], "other kernels": ["--more-kernels", "5:6"],
          "other shapes": ["--other-shapes", "5:2.5"], "host": ["--host-gap", "5:3"]}
KINDS = {"DDP": ["--tp", "1"], "FSDP": ["--tp", "1", "--fsdp"], "pipeline": ["--tp", "2", "--pp", "2", "--micro-batches", "4"]}


def gains(jobs, said):
    """Of each kind of job and fault: the cause that is named, and what mending it saves."""
    for kind, options in KINDS.items():
        options = [*options, "--steps", "4", "--cpu-rows", "1"]
        healthy = jobs.simulated(*options)
        for cause, fault in FAULTS.items():
            faulty = jobs.simulated(*options, *fault)
            yield (f"{kind}, rank 5 with a fault: its cause and gain",
                   said([faulty], lambda r: f"{cause_of(r, 5)}, {gain_of(r, 5)}"), f"{cause}, {shorter(jobs, faulty, healthy)}")


def names_a_rank(text):
    return re.search(r"[Rr]anks? [0-9, -]+ (is|are) the (cause|suspect)", text) is not None


def compilation(text):
    found = re.search(r"compilation takes ([0-9.]+ m?s) of CPU time in the window", text)
    return found[1] if found else "-"


# Parts of one compilation of 8 s, each within the one before, then the compiled region.
COMPILING = [("_compile.compile_inner (dynamo_timed)", 0, 8), ("OutputGraph.call_user_compiler (dynamo_timed)", 0.5, 7.5),
             ("compile_fx_inner (dynamo_timed)", 1, 7)]


def nested_compilation(jobs):
    rows = [{"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1, "ts": begin * 1e6, "dur": (end - begin) * 1e6}
            for name, begin, end in COMPILING]
    rows.append({"ph": "X", "cat": "cpu_op", "name": "Torch-Compiled Region: 0/0", "pid": 1, "tid": 1, "ts": 8e6, "dur": 1e6})
    rows.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 8.1e6, "dur": 10,
                 "args": {"correlation": 1}})
    rows.append({"ph": "X", "cat": "kernel", "name": "triton_poi_fused_add_0", "pid": 0, "tid": 7, "ts": 8.2e6, "dur": 7e5,
                 "args": {"correlation": 1, "device": 0, "stream": 7}})
    return jobs.written("compiling.json", rows)


def situations(jobs):
    """(figure, how to read it off a program, truth)."""
    one_step = jobs.simulated(*PIPELINE, "--steps", "1")
    four_steps = jobs.simulated(*PIPELINE, "--steps", "4")
    even_stages = jobs.simulated(*PIPELINE, "--steps", "4", "--micro-batches", "8")
    interleaved = jobs.simulated(*PIPELINE, "--steps", "4", "--micro-batches", "8", "--virtual-stages", "2")
    long_stage = jobs.simulated(*PIPELINE, "--steps", "4", "--micro-batches", "8",
                                *(word for rank in range(12, 16) for word in ("--slow-rank", f"{rank}:2")))
    truth_of = lambda job: json.loads((job / "truth.json").read_text())  # noqa: E731
    first = jobs.report(SKEWSCOPE, [four_steps])["steps"][0]["duration_ns"] / 1e6

    def said(paths, read, *options):
        return lambda program: read(jobs.report(program, paths, *options))

    def printed(command, paths, read, *options, **environment):
        return lambda program: read(*jobs.text(program, command, paths, *options, **environment))

    yield ("clocks of a pipeline of one step, 4 nodes: bars that miss",
           said([one_step], lambda r: clocks_that_miss(r, truth_of(one_step))), "0")
    yield ("`--steps 100:101` of four steps: length of step 100",
           said([four_steps], step_ms, "--steps", "100:101"), f"{first:.1f} ms")
    for name in ("ddp", "fsdp2", "ring_attention"):
        yield f"{name}: length of a step", said([REAL / name], step_ms), f"{launched_step_ms(REAL / name):.1f} ms"
    for name, gain in (("ddp_slow_rank", 0.94), ("fsdp2", 0.86), ("ring_attention", 0.91), ("ddp_imbalance", 0.40)):
        yield (f"{name}: largest gain of a rank", said([REAL / name], lambda r: saved_words(r)), percent(gain))
    yield from gains(jobs, said)
    for what, job in (("even stages", even_stages), ("interleaved stages", interleaved), ("a stage twice as long", long_stage)):
        bubble = truth_of(job)["pipeline"]
        yield (f"pipeline of 4, {what}, 8 micro-batches: bubble",
               said([job], lambda r: percent((r.get("pipeline") or {}).get("bubble_share"))),
               percent(bubble["bubble_ns"] / bubble["total_ns"]))
    yield ("ddp and fsdp2 in one folder: exit code", printed("report", [REAL / "ddp", REAL / "fsdp2"], lambda _, code: code), 3)
    alone = next((REAL / "ddp").glob("*rank0*"))
    yield ("one rank of four: what the verdict says of waiting",
           printed("report", [alone], lambda text, _: "not known" if "is not known" in " ".join(text.split()) else first_words(text)),
           "not known")
    yield ("compilation of 8 s with its parts within it", printed("rank", [nested_compilation(jobs)],
                                                                  lambda text, _: compilation(text)), "8.00 s")
    yield ("compile: `rank` advises to compile the compiled model",
           printed("rank", [next((REAL / "compile").glob("*rank0*"))],
                   lambda text, _: "yes" if re.search(r"[Cc]ompile the model", text) else "no"), "no")
    yield (f"{len(FAULTLESS)} recorded jobs without a fault: verdicts that lead with a rank",
           lambda program: sum(names_a_rank(first_words(jobs.text(program, "report", [REAL / name])[0])) for name in FAULTLESS), 0)
    if DLRM.exists():
        yield ("V100: `rank` advises a number format that the GPU lacks",
               printed("rank", [next(DLRM.glob("*.gz"))], lambda text, _: "yes" if "bfloat16" in text else "no"), "no")
    yield ("two processes of mpirun, built without MPI: exit code",
           printed("report", [REAL / "ddp"], lambda _, code: code, OMPI_COMM_WORLD_SIZE="2", OMPI_COMM_WORLD_RANK="0"), 2)


def main(options):
    with tempfile.TemporaryDirectory() as folder:
        jobs = Jobs(folder)
        programs = ([options.before] if options.before else []) + [SKEWSCOPE]
        rows = [[what, *(read(program) for program in programs), truth] for what, read, truth in situations(jobs)]
    columns = ["figure", *(["before"] if options.before else []), "now", "truth"]
    keep("figures", "Figures that a user acts on", table(columns, rows), {})
