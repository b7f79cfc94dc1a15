"""Clock errors against simulated truth, and what aligning costs (clock_bench.cc)."""
from harness import BUILD, build, keep, output_of


def main(_):
    build("bench_clock")
    keep("clocks", "Clocks", output_of(BUILD / "tests" / "bench" / "bench_clock").strip(), {})
