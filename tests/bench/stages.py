"""Google Benchmark of the stages, on a simulated job of 64 ranks (stage_bench.cc); of the tables of operators, on one
trace with python stacks (operator_bench.cc)."""
import json
import sys

from harness import BUILD, build, exponent, keep, output_of, say, table

DEEPEST_EXPONENT = 0.5  # a walk up to the root would be 1


def main(options):
    build("bench_stages")
    done = json.loads(output_of(BUILD / "tests" / "bench" / "bench_stages", "--benchmark_format=json",
                                f"--benchmark_repetitions={options.rounds}", "--benchmark_report_aggregates_only=true"))
    medians = [one for one in done["benchmarks"] if one["aggregate_name"] == "median"]
    rows = [[one["run_name"], f"{one['real_time']:.2f}", f"{one['cpu_time']:.2f}", f"{one.get('items_per_second', 0) / 1e6:.2f}"]
            for one in medians]
    nested = [one for one in medians if "within nested ranges" in one["run_name"]]
    depth = exponent([int(one["run_name"].rsplit("/", 1)[1]) for one in nested], [one["real_time"] for one in nested])
    text = ("64 ranks, TP 8 x DP 8, 8 steps x 16 layers; operators: one trace of 2.8 million host rows. Medians of "
            f"{options.rounds} repetitions, milliseconds; millions of rows of its input per second.\n\n"
            + table(["stage", "wall ms", "CPU ms", "Mrows/s"], rows)
            + f"\n\nLaunches within nested ranges: time grows with the depth to the power {depth:.2f}.")
    keep("stages", "Stages", text, {**{f"{one['run_name']}: ms": one["real_time"] for one in medians},
                                    "nested ranges: exponent of depth": depth})
    if depth > DEEPEST_EXPONENT:
        say(f"launches within nested ranges: time grows with the depth to the power {depth:.2f}, allowed {DEEPEST_EXPONENT}")
        sys.exit(1)
