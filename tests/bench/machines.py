"""Several processes: the report of mpirun -np 1, 2, 4, 7 beside the local one: equal bytes, seconds, memory of each process."""
import filecmp
import json
import shutil
import tempfile
from pathlib import Path

import inputs
from harness import MB, SKEWSCOPE, SKEWSCOPE_MPI, keep, measure, say, table


def equal_reports(one, other):
    """report.json but for its stamp, and every table."""
    def told(folder):
        content = json.loads((folder / "report.json").read_text())
        return {key: value for key, value in content.items() if key not in ("created_utc", "command")}
    tables = sorted(path.name for path in (one / "tables").iterdir())
    _, wrong, missing = filecmp.cmpfiles(one / "tables", other / "tables", tables, shallow=False)
    return told(one) == told(other) and not wrong and not missing


def main(options):
    if shutil.which("mpirun") is None:
        say("machines: no mpirun (scripts/install_packages --with-mpi): left out")
        return
    folder = inputs.many_ranks(64, 64)
    with tempfile.TemporaryDirectory() as place:
        local = Path(place) / "local"
        alone = measure(SKEWSCOPE, "report", folder, "-o", local, "-q", "--cache", "off", "-j", 1)
        rows = [["alone", f"{alone['wall_s']:.1f}", f"{alone['peak_bytes'] / MB:.0f}", "-"]]
        figures = {"alone: seconds": alone["wall_s"]}
        for processes in (1, 2, 4, 7):
            there = Path(place) / f"np{processes}"
            one = measure("mpirun", "--allow-run-as-root", "--oversubscribe", "-np", processes, SKEWSCOPE_MPI, "report",
                          folder, "-o", there, "-q", "--cache", "off", "-j", 1)
            rows.append([f"-np {processes}", f"{one['wall_s']:.1f}", f"{one['peak_bytes'] / MB:.0f}",
                         "equal" if equal_reports(local, there) else "DIFFERENT"])
            figures[f"-np {processes}: seconds"] = one["wall_s"]
            figures[f"-np {processes}: peak_mb"] = one["peak_bytes"] / MB
    text = ("64 ranks as digests, TP 8, 64 steps x 16 layers; one thread per process, all on this machine. Peak: of the largest "
            "process.\n\n" + table(["processes", "seconds", "peak MB", "report"], rows))
    keep("machines", "Several processes", text, figures)
