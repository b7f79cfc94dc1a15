"""Digests: their size beside the gzip files, the second report beside the first, and large jobs end to end."""
import gzip
import re
import shutil
import statistics
import subprocess
import time

import inputs
from harness import MB, SKEWSCOPE, WORK, keep, measure, median, report, run, table

LARGEST_MB = 10_000


def sizes():
    """Real traces, whole ones: sampled traces and fragments are not what digests are for, but are shown."""
    traces = inputs.real_traces()
    if traces is None:
        return [], {}
    folder = WORK / "real_digests"
    shutil.rmtree(folder, ignore_errors=True)
    sets = {"dlrm_8rank": "8 x V100, 8 traces", "single/hta": "HTA's single traces", "single/tracelens": "TraceLens's single traces",
            "sampled_2of128": "two traces with sampled events"}
    rows, figures = [], {}
    for name, label in sets.items():
        files = sorted(file for file in (traces / name).rglob("*.json*") if file.is_file())
        run(SKEWSCOPE, "digest", *files, "-o", folder / name)
        digest_bytes = inputs.size_of(folder / name)
        gzip_bytes = sum(file.stat().st_size if file.suffix == ".gz" else len(gzip.compress(file.read_bytes(), 6)) for file in files)
        rows.append([label, f"{gzip_bytes / 1e3:.0f}", f"{digest_bytes / 1e3:.1f}", f"{digest_bytes / gzip_bytes:.1%}"])
        figures[f"{label}: share of gzip"] = digest_bytes / gzip_bytes
    return rows, figures


def from_digests(folder, cache):
    """Wall seconds of a report made from the cache's digests, and of reading these: one that tells timings is never a copy."""
    begin = time.perf_counter()
    told = subprocess.run([SKEWSCOPE, "report", folder, "-o", WORK / "report", "--force", "-q", "--cache", cache, "--timings"],
                          check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True).stderr
    return time.perf_counter() - begin, float(re.search(r"^ingest +([0-9.]+) s$", told, re.MULTILINE)[1])


def second_reports(rounds):
    cache, largest = WORK / "cache", inputs.one_file(LARGEST_MB)
    rows, figures = [], {}
    for label, folder in {**inputs.mixes(), f"simulated, 1 file of {LARGEST_MB // 1000} GB, plain": largest}.items():
        shutil.rmtree(cache, ignore_errors=True)
        report(folder, cache=cache)
        first, second, again, elsewhere = [], [], [], []
        for _ in range(rounds):
            first.append(report(folder))
            second.append(from_digests(folder, cache))
            again.append(report(folder, cache=cache))
            elsewhere.append(report(folder, cache=cache, output=WORK / "elsewhere"))
            shutil.rmtree(WORK / "elsewhere")
        before, copied, copied_elsewhere = (median(runs, "wall_s") for runs in (first, again, elsewhere))
        after, reading = (statistics.median(part) for part in zip(*second))
        rows.append([label, f"{before:.3f}", f"{after:.3f}", f"{reading:.3f}", f"{before / after:.1f}",
                     f"{before / (after - reading):.1f}", f"{copied:.3f}", f"{before / copied:.1f}", f"{copied_elsewhere:.3f}",
                     f"{before / copied_elsewhere:.1f}"])
        figures[f"{label}: second report faster"] = before / after
        figures[f"{label}: same report again faster"] = before / copied
        figures[f"{label}: same report elsewhere faster"] = before / copied_elsewhere
    shutil.rmtree(largest)  # 10 GB of disk
    return rows, figures


def table_rows(path):
    with open(path, "rb") as file:
        return sum(1 for _ in file) - 1


def large_jobs():
    rows, figures = [], {}
    for ranks, tp, steps in ((1024, 8, 24), (8192, 8, 4), (1024, 1, 24), (8192, 1, 4)):
        made = measure(SKEWSCOPE, "simulate", "-o", WORK / "made", "--force", "--digests", "--nodes", ranks // 8, "--gpus", 8, "--tp", tp,
                       "--layers", 16, "--steps", steps, "--slow-rank", "77:1.05", "--clock-offset-ms", 50, "--clock-drift-ppm", 20)
        cache = WORK / "cache"
        shutil.rmtree(cache, ignore_errors=True)
        one, layout = report(WORK / "made", cache=cache), "data parallel" if tp == 1 else f"TP {tp}"
        again = report(WORK / "made", cache=cache)
        calls = table_rows(WORK / "report" / "tables" / "collective_ranks.csv") // ranks
        rows.append([ranks, layout, calls, f"{made['wall_s']:.1f}", f"{one['wall_s']:.1f}", f"{one['peak_bytes'] / MB:.0f}",
                     f"{again['wall_s']:.2f}"])
        figures[f"{ranks} ranks, {layout}: seconds"] = one["wall_s"]
        shutil.rmtree(WORK / "made")
    return rows, figures


def main(options):
    size_rows, figures = sizes()
    second_rows, more = second_reports(options.rounds)
    large_rows, most = large_jobs()
    text = table(["real traces", "gzip kB", "digests kB", "digests / gzip"], size_rows) + "\n\n" if size_rows else ""
    text += ("First report: traces parsed; second: made anew (as with other flags) from their digests in the cache, which takes\n"
             "`reading` of it; the rest is the program's start, the analysis and the writing. `at most`: were the digests there at\n"
             "once. The same: asked again, it is copied from the cache; into the same directory but for files that lie there already,\n"
             f"elsewhere into a new one. Whole command, medians of {options.rounds} rounds.\n\n"
             + table(["input", "first s", "second s", "reading s", "times faster", "at most", "the same s", "times faster",
                      "elsewhere s", "times faster"], second_rows))
    text += ("\n\nSimulated as digests, then reported: one rank 5 % slow, clocks 50 ms and 20 ppm apart. Data parallel: all calls "
             "are of one communicator.\n\n"
             + table(["ranks", "layout", "collectives per rank", "simulate s", "report s", "report peak MB", "the same again s"], large_rows))
    keep("digests", "Digests", text, {**figures, **more, **most})
