"""How time grows: 1x, 2x, 4x, 8x ranks and batches (from digests, so that reading is not what is measured) and file sizes."""
import inputs
from harness import MB, exponent, keep, median, report, table

RANKS = (128, 256, 512, 1024)
DATA_PARALLEL = (1024, 2048, 4096, 8192)
BATCHES = (500, 1000, 2000, 4000)
SIZES_MB = (150, 300, 600, 1200)


def main(options):
    rows, figures = [], {}
    series = {"ranks": (RANKS, [inputs.many_ranks(n, 8) for n in RANKS]),
              "ranks of one communicator": (DATA_PARALLEL, [inputs.many_ranks(n, 2, tp=1) for n in DATA_PARALLEL]),
              "batches per rank, of messages around rings": (BATCHES, [inputs.rings(n) for n in BATCHES]),
              "MB in one file": (SIZES_MB, [inputs.one_file(n) for n in SIZES_MB])}
    for name, (sizes, folders) in series.items():
        runs = {size: [] for size in sizes}
        for _ in range(options.rounds):
            for size, folder in zip(sizes, folders):
                runs[size].append(report(folder, "-j", options.threads))
        walls = [median(runs[size], "wall_s") for size in sizes]
        peaks = [max(one["peak_bytes"] for one in runs[size]) / MB for size in sizes]
        for size, wall, peak in zip(sizes, walls, peaks):
            rows.append([name, size, f"{wall:.2f}", f"{peak:.0f}"])
        slope = exponent(sizes, walls)
        rows.append([name, "exponent", f"{slope:.2f}", f"{exponent(sizes, peaks):.2f}"])
        figures[f"{name}: exponent of seconds"] = slope
    text = (f"Medians of {options.rounds} rounds. Ranks: digests of a TP 8 job, 8 steps x 16 layers; of one communicator: data "
            "parallel, 2 steps.\nBatches: 64 ranks in rings of 8, 4 messages each.\nExponents by least squares over the logarithms.\n\n" + table(["growing", "size", "seconds", "peak MB"], rows))
    keep("growth", "Growth", text, figures)
