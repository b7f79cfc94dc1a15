"""Peak memory over the size of one trace, of a directory of 1,000 files, under --memory-limit, and of `rank`."""
import json
import shutil
import sys

import inputs
from harness import MB, SKEWSCOPE, WORK, keep, measure, output_of, report, say, table

SIZES_MB = (300, 1000, 3000, 10_000)
# Above the reduced columns, whatever the size of the text. A GPU row has 33 bytes, its launch 24, a call 104.
ALLOWED_MB = 300
GPU_ROW_BYTES, CALL_BYTES = 33 + 24, 104
# Call trees of a trace with python stacks take less than the trace.
STACKS_MB, STACKS_ALLOWED_MB = 2000, 2000


def column_mb(folder):
    files = json.loads(output_of(SKEWSCOPE, "inspect", folder, "--json", "--cache", "off"))["files"]
    return sum(file["gpu_rows"] * GPU_ROW_BYTES + file["collective_calls"] * CALL_BYTES for file in files) / MB


def python_stacks(threads, figures):
    """`skewscope rank`: a line of text, and what failed."""
    if not inputs.real_traces():
        return "", []
    folder = inputs.python_stacks(STACKS_MB)
    one = measure(SKEWSCOPE, "rank", folder, "-o", WORK / "rank", "--force", "-q", "--cache", "off", "-j", threads)
    peak = figures[f"rank with python stacks of {STACKS_MB} MB: peak_mb"] = one["peak_bytes"] / MB
    text = (f"\n\n`skewscope rank`, call trees and all tables, of a real trace with python stacks, enlarged to "
            f"{inputs.size_of(folder) / MB:.0f} MB, each address in a name another one: {one['wall_s']:.1f} s, peak {peak:.0f} MB.")
    return text, [f"rank with python stacks: peak {peak:.0f} MB, allowed {STACKS_ALLOWED_MB} MB"] if peak > STACKS_ALLOWED_MB else []


def main(options):
    rows, figures, failed = [], {}, []
    for size in SIZES_MB:
        folder = inputs.one_file(size)
        one, columns = report(folder, "-j", options.threads), column_mb(folder)
        rows.append(["one trace", f"{inputs.size_of(folder) / MB:.0f}", "1", f"{one['wall_s']:.1f}",
                     f"{inputs.size_of(folder) / MB / one['wall_s']:.0f}", f"{columns:.0f}", f"{one['peak_bytes'] / MB:.0f}"])
        figures[f"one trace of {size} MB: peak_mb"] = one["peak_bytes"] / MB
        if one["peak_bytes"] / MB > ALLOWED_MB + columns:
            failed.append(f"one trace of {size} MB: peak {one['peak_bytes'] / MB:.0f} MB, columns {columns:.0f} MB, allowed "
                          f"{ALLOWED_MB} MB above them")
        if size == SIZES_MB[-1]:
            shutil.rmtree(folder)  # 10 GB of disk
    folder = inputs.thousand_files()
    one = report(folder, "-j", options.threads)
    rows.append(["a directory", f"{inputs.size_of(folder) / MB:.0f}", str(len(list(folder.iterdir()))), f"{one['wall_s']:.1f}",
                 f"{inputs.size_of(folder) / MB / one['wall_s']:.0f}", f"{column_mb(folder):.0f}", f"{one['peak_bytes'] / MB:.0f}"])
    figures["1,000 files: peak_mb"] = one["peak_bytes"] / MB
    text = table(["input", "JSON MB", "files", "seconds", "MB/s", "reduced columns MB", "peak MB"], rows)
    refused = report(folder, "--memory-limit", "20M", expect=6)
    text += (f"\n\nThe 1,000 files under `--memory-limit 20M`: refused with exit code 6 after {refused['wall_s']:.1f} s, peak "
             f"{refused['peak_bytes'] / MB:.0f} MB.")
    stacks, too_much = python_stacks(options.threads, figures)
    keep("memory", "Memory", text + stacks, figures)
    failed += too_much
    for line in failed:
        say(line)
    if failed:
        sys.exit(1)
