#!/usr/bin/env python3
"""Lays the recipe nvtx_gpu_proj_trace of Nsight Systems (proc<R>/*.csv.gz) out again as SQLite exports, a session each.

The recipe says when the GPU work of each range ran, counted from the start of its session, and not when it was launched:
launches are put 20 us ahead, one after the other. All sessions get one zero, for the files do not tell theirs."""

import csv
import gzip
import re
import sqlite3
import sys
from pathlib import Path

ZERO_NS = 1_700_000_000_000_000_000
AHEAD_NS, APART_NS, RANGE_NS = 20_000, 600, 400
KERNELS = {
    "all-reduce": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "all-gather": "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "reduce-scatter": "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
}
TABLES = """
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, name TEXT, value TEXT);
CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
    correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER,
    nameId INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, textId INTEGER,
    domainId INTEGER);
"""


class Export:
    def __init__(self, path):
        self.database = sqlite3.connect(path)
        self.database.executescript(TABLES)
        self.texts = {}

    def add(self, table, *values):
        self.database.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)

    def text(self, value):
        if value not in self.texts:
            self.texts[value] = len(self.texts)
            self.add("StringIds", self.texts[value], value)
        return self.texts[value]


def lay_out(rows, rank, path):
    export = Export(path)
    pid, tid = int(rows[-1]["PID"]), int(rows[-1]["TID"])
    process, thread = 1 << 48 | pid << 24, 1 << 48 | pid << 24 | tid
    export.add("TARGET_INFO_SESSION_START_TIME", ZERO_NS)
    export.add("TARGET_INFO_SYSTEM_ENV", 1 << 48, "Hostname", "pax-node")
    name = f"XlaLauncher:#global={rank},local=0,process={rank},partition={rank}#"
    export.add("ThreadNames", export.text(name), 20, thread)
    thunks = [row for row in rows if row["Name"].startswith("TSL:Thunk:")]
    thunks.sort(key=lambda row: int(row["start_ns"]))
    launched, modules = 0, {}
    for number, row in enumerate(thunks):
        start, end = int(row["start_ns"]), int(row["start_ns"]) + int(row["dur_ns"])
        launched = max(start - AHEAD_NS, launched + APART_NS)
        operation = re.search(r"hlo_op=([^#]*)#", row["Name"]).group(1)
        kind = next((kind for kind in KERNELS if operation.startswith(kind)), None)
        kernel = export.text(KERNELS[kind] if kind else operation)
        export.add("CUPTI_ACTIVITY_KIND_KERNEL", start, end, rank, 46 if kind else 20, number, process, kernel, kernel)
        export.add("CUPTI_ACTIVITY_KIND_RUNTIME", launched + 50, launched + RANGE_NS - 50, thread, number,
                   export.text("cudaLaunchKernel_v7000"))
        export.add("NVTX_EVENTS", launched, launched + RANGE_NS, 59, row["Name"], thread, None, 1)
        first, _ = modules.get(row["parent_id"], (launched, 0))
        modules[row["parent_id"]] = first, launched + RANGE_NS
    for row in rows:
        if row["Name"].startswith("TSL:XlaModule:") and row["range_id"] in modules:
            first, last = modules[row["range_id"]]
            export.add("NVTX_EVENTS", first - 50, last + 50, 59, row["Name"], thread, None, 1)
    export.database.commit()
    export.database.close()


def main():
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    for rank in range(4):
        with gzip.open(source / f"proc{rank}" / "nvtx_gpu_proj_trace.csv.gz", "rt", newline="") as text:
            lay_out([row for row in csv.DictReader(text) if row["Name"]], rank, target / f"pax_{rank}.sqlite")


main()
