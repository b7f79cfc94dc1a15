"""What the sections of scripts/bench share: running programs, the machine, the table file and its JSON."""
import json
import math
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
WORK = TOP / "build" / "bench"
BUILD = TOP / "build" / "release"
SKEWSCOPE = BUILD / "src" / "cli" / "skewscope"
SKEWSCOPE_MPI = BUILD / "src" / "cli" / "skewscope-mpi"
RESULTS = TOP / "tests" / "bench" / "RESULTS.md"
RESULTS_JSON = TOP / "tests" / "bench" / "results.json"
MB = 1_000_000


def run(*command, **options):
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL, **options)


def output_of(*command):
    return subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True).stdout


def build(*targets):
    run("cmake", "--build", "--preset", "release", "--target", *targets)


def measure(*command, expect=0):
    """Wall seconds, CPU seconds and peak bytes of one run."""
    begin = time.perf_counter()
    child = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - begin
    if os.waitstatus_to_exitcode(status) != expect:
        sys.exit(f"failed: {' '.join(map(str, command))}")
    return {"wall_s": wall, "cpu_s": usage.ru_utime + usage.ru_stime, "peak_bytes": usage.ru_maxrss * 1024}


def report(path, *options, cache="off", output=WORK / "report", **how):
    return measure(SKEWSCOPE, "report", path, "-o", output, "--force", "-q", "--cache", cache, *options, **how)


def median(rows, key):
    return statistics.median(row[key] for row in rows)


def exponent(sizes, values):
    """Slope of log(value) over log(size): 1 is proportional growth."""
    x, y = [math.log(s) for s in sizes], [math.log(v) for v in values]
    mean_x, mean_y = statistics.mean(x), statistics.mean(y)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y)) / sum((a - mean_x) ** 2 for a in x)


def table(columns, rows):
    """Markdown; columns of numbers to the right."""
    numeric = [all(str(row[i]).lstrip("-")[:1].isdigit() or row[i] == "-" for row in rows) for i in range(len(columns))]
    lines = ["| " + " | ".join(columns) + " |", "|" + "|".join("--:" if n else "---" for n in numeric) + "|"]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def machine():
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    packages = {name: output_of("dpkg-query", "--show", "--showformat=${Version}", package).strip()
                for name, package in (("simdjson", "libsimdjson-dev"), ("ISA-L", "libisal-dev"), ("oneTBB", "libtbb-dev"),
                                      ("jemalloc", "libjemalloc-dev"))}
    flags = next((line.split() for line in open("/proc/cpuinfo") if line.startswith("flags")), [])
    vectors = "AVX-512" if "avx512_vbmi2" in flags else "AVX2" if "avx2" in flags else "neither AVX2 nor AVX-512"
    return {"cpu": f"{model} with {vectors}", "cores": os.cpu_count(), "compiler": output_of("g++", "--version").splitlines()[0], **packages}


def say(text):
    print(text, file=sys.stderr, flush=True)


# ---- results: one section of RESULTS.md and one key of results.json per section of scripts/bench

def keep(section, heading, text, figures):
    """`figures`: name -> number; names are compared with the last release's."""
    print(f"## {heading}\n\n{text}\n")
    kept = json.loads(RESULTS_JSON.read_text()) if RESULTS_JSON.exists() else {"sections": {}}
    kept["sections"][section] = {"heading": heading, "text": text, "figures": figures, "machine": machine()}
    RESULTS_JSON.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
    head = ["# What skewscope costs", "",
            "Written by `scripts/bench`, one section per word of its command line; what is measured, and how, is said there.", ""]
    body = [f"## {one['heading']}\n\nOn {machine_text(one['machine'])}.\n\n{one['text']}\n"
            for one in (kept["sections"][name] for name in SECTIONS if name in kept["sections"])]
    RESULTS.write_text("\n".join(head + body))


def machine_text(where):
    packages = ", ".join(f"{name} {where[name]}" for name in ("simdjson", "ISA-L", "oneTBB", "jemalloc"))
    return f"{where['cpu']}, {where['cores']} cores; {where['compiler']}; {packages}"


SECTIONS = ("speed", "memory", "growth", "digests", "machines", "instructions", "stages", "clocks", "figures", "gatherer", "registry",
            "soak", "agent")
