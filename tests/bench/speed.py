"""Whole `skewscope report` beside the raw limit of its input (limit.cc), in the same rounds, and one thread beside two.

A report is measured as users run it, whatever that costs beside the limit, whose bytes are in memory that was touched before
its clock runs:
- files are read from the disk before all: read() of one that was just written in small pieces takes twice as long.
- PAUSE_S lie before it: a virtual machine's host takes back memory that was free for two seconds, and each first touch asks
  for it again.

One thread and several are compared behind another report each, so that neither pays for that pause. What the machine gives
for a second core is told by the limit, with reading, on one thread and on several: two cores that both wait for memory gain
less than two that compute, by the hour."""
import json
import os
import statistics
import time

import inputs
from harness import BUILD, MB, build, keep, median, output_of, report, say, table

PAUSE_S = 3
LIMIT = BUILD / "tests" / "bench" / "bench_limit"


def read_from_disk(folder):
    for path in folder.iterdir():
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            while file.read(16 * MB):
                pass


def measure_all(folders, rounds, threads):
    runs = {label: {"limit": [], "report": [], "single": [], "several": [], "limit of one": []} for label in folders}
    for folder in folders.values():
        read_from_disk(folder)
    for number in range(rounds + 1):
        for label, folder in folders.items():
            files = sorted(folder.iterdir())
            limit_of_one, limit = (json.loads(output_of(LIMIT, count, *files)) for count in (1, threads))
            time.sleep(PAUSE_S)
            results = {"limit": limit, "limit of one": limit_of_one, "report": report(folder, "-j", threads),
                       "single": report(folder, "-j", 1), "several": report(folder, "-j", threads)}
            if number > 0:  # the first round is to get warm
                for side, result in results.items():
                    runs[label][side].append(result)
        say(f"speed: round {number} of {rounds} done")
    return runs


def figures_of(runs):
    json_bytes = runs["limit"][0]["json_bytes"]

    def limit_rate(key):
        seconds = median(runs["limit"], key)
        return json_bytes / MB / seconds if seconds > 0 else None

    wall = median(runs["report"], "wall_s")
    walls = [one["wall_s"] for one in runs["report"]]
    with_reading, of_one = (statistics.median(one["read_s"] + one["limit_s"] for one in runs[which]) for which in ("limit", "limit of one"))
    return {"json_mb": json_bytes / MB, "mb_per_s": json_bytes / MB / wall, "slowest": json_bytes / MB / max(walls),
            "fastest": json_bytes / MB / min(walls), "inflate": limit_rate("inflate_s"), "walk": limit_rate("walk_s"),
            "limit": limit_rate("limit_s"), "share_of_limit": median(runs["limit"], "limit_s") / wall,
            "share_with_reading": with_reading / wall, "speed_up": median(runs["single"], "wall_s") / median(runs["several"], "wall_s"),
            "limit_speed_up": of_one / with_reading,
            "peak_mb": max(one["peak_bytes"] for one in runs["report"]) / MB}


def main(options):
    build("bench_limit")
    folders = inputs.mixes()
    runs = measure_all(folders, options.rounds, options.threads)
    rows, figures = [], {}
    for label, folder in folders.items():
        f = figures_of(runs[label])
        rows.append([label, f"{f['json_mb']:.0f}", f"{inputs.size_of(folder) / MB:.0f}",
                     f"{f['mb_per_s']:.0f} ({f['slowest']:.0f}-{f['fastest']:.0f})",
                     f"{f['inflate']:.0f}" if f["inflate"] else "-", f"{f['walk']:.0f}", f"{f['limit']:.0f}",
                     f"{f['share_of_limit']:.0%}", f"{f['share_with_reading']:.0%}",
                     f"{f['speed_up']:.2f}", f"{f['limit_speed_up']:.2f}", f"{f['peak_mb']:.0f}"])
        kept = ("share_of_limit", "share_with_reading", "speed_up", "limit_speed_up", "peak_mb")
        figures.update({f"{label}: {key}": f[key] for key in kept})
    text = (f"Medians of {options.rounds} interleaved rounds with {options.threads} threads, report with its range; MB of JSON "
            "text (1e6 bytes) per second of wall\ntime. The limit works on bytes in memory that was touched before; a report "
            f"reads files that were read from the disk once, after {PAUSE_S} seconds\nin which this machine's host could take free "
            "memory back. `with reading`: the share when read() of the files is added to the limit; `1 -> N`:\nthe speed-up over "
            "one thread, both without the pause; `limit's`: that of the limit with reading.\n\n")
    text += table(["input", "JSON MB", "file MB", "report MB/s", "ISA-L inflate", "simdjson walk", "limit (both)",
                   "report / limit", "with reading", f"1 -> {options.threads}", "limit's", "peak MB"], rows)
    keep("speed", "Speed", text, figures)
