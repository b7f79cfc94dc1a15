"""Instructions per trace event, counted by callgrind on one thread: what noise of the machine cannot hide."""
import json
import re
import subprocess

import inputs
from harness import MB, SKEWSCOPE, WORK, keep, output_of, table

COUNTED_MB = 20


def counted(folder):
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", SKEWSCOPE, "report", folder, "-o",
                           WORK / "report", "--force", "-q", "-j", "1", "--cache", "off"], check=True, capture_output=True, text=True)
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


def small_inputs():
    """The mixes at a size that callgrind can bear."""
    folders = {"simulated, plain": inputs.one_file(COUNTED_MB)}
    if traces := inputs.real_traces():
        for label, name in (("real A100, plain", "single/hta/a100_rank0of2_nccl_args.json.gz"),
                            ("real V100, plain", "dlrm_8rank/worker0_step_12.1694128201545.pt.trace.json.gz")):
            make = inputs.enlarge([traces / name], COUNTED_MB * MB)
            folders[label] = inputs.made_once(WORK / f"count_{name.split('/')[-1].split('.')[0]}", make)
    return folders


def main(_):
    rows, figures = [], {}
    for label, folder in small_inputs().items():
        files = json.loads(output_of(SKEWSCOPE, "inspect", folder, "--json", "--cache", "off"))["files"]
        events, size = sum(file["events"] for file in files), sum(file["bytes"] for file in files)
        instructions = counted(folder)
        rows.append([label, f"{size / MB:.0f}", events, f"{instructions / events:.0f}", f"{instructions / size:.2f}"])
        figures[f"{label}: instructions per event"] = instructions / events
    text = ("Whole `skewscope report` on one thread, start, blame and writing included; callgrind knows no AVX-512, so the paths "
            "for AVX2 are counted.\n\n" + table(["input", "JSON MB", "events", "instructions per event", "per byte"], rows))
    keep("instructions", "Instructions", text, figures)
