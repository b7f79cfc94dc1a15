"""Peak memory over the size of one trace, of a directory of 1,000 files, and under --memory-limit."""
import shutil
import sys

import inputs
from harness import MB, WORK, keep, report, say, table

SIZES_MB = (300, 1000, 3000, 10_000)
# Above the columns that are kept: 300 MB, whatever the size of the text.
ALLOWED_MB = 300
COLUMN_BYTES = 33 + 24 + 200  # of a GPU row, its launch, a call: an upper bound per GPU row


def main(options):
    rows, figures, failed = [], {}, []
    for size in SIZES_MB:
        folder = inputs.one_file(size)
        one = report(folder, "-j", options.threads)
        rows.append(["one trace", f"{inputs.size_of(folder) / MB:.0f}", "1", f"{one['wall_s']:.1f}",
                     f"{inputs.size_of(folder) / MB / one['wall_s']:.0f}", f"{one['peak_bytes'] / MB:.0f}"])
        figures[f"one trace of {size} MB: peak_mb"] = one["peak_bytes"] / MB
        if one["peak_bytes"] / MB > ALLOWED_MB + size * 0.02:
            failed.append(f"one trace of {size} MB: peak {one['peak_bytes'] / MB:.0f} MB")
        if size == SIZES_MB[-1]:
            shutil.rmtree(folder)  # 10 GB of disk
    folder = inputs.thousand_files()
    one = report(folder, "-j", options.threads)
    rows.append(["a directory", f"{inputs.size_of(folder) / MB:.0f}", str(len(list(folder.iterdir()))), f"{one['wall_s']:.1f}",
                 f"{inputs.size_of(folder) / MB / one['wall_s']:.0f}", f"{one['peak_bytes'] / MB:.0f}"])
    figures["1,000 files: peak_mb"] = one["peak_bytes"] / MB
    text = table(["input", "JSON MB", "files", "seconds", "MB/s", "peak MB"], rows)
    refused = report(folder, "--memory-limit", "20M", expect=6)
    text += (f"\n\nThe 1,000 files under `--memory-limit 20M`: refused with exit code 6 after {refused['wall_s']:.1f} s, peak "
             f"{refused['peak_bytes'] / MB:.0f} MB.")
    keep("memory", "Memory", text, figures)
    for line in failed:
        say(f"{line} is above {ALLOWED_MB} MB and the columns")
    if failed:
        sys.exit(1)
