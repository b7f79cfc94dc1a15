#!/usr/bin/env python3
"""Communication of a recorded job by operation and module, counted from the JSON alone: what modules.cc is held against.

usage: tests/jobs/count_modules.py DIR [PATTERN]     kernels whose name holds PATTERN count as communication, too

A call is of the innermost range around its launch, on the launch's thread, that names a module: nn.Module rows, and FSDP's
ranges with a name in brackets. Where none is and an operator of the backward pass is around the launch, it is of the innermost
such range around the forward operator with the same "Sequence number". Hidden: while another kernel of the same trace computed. Prints, in order of names:
operation, module, calls, microseconds, hidden microseconds.
"""
import collections
import glob
import gzip
import json
import re
import sys


def events_of(path):
    with gzip.open(path, "rt") as file:
        return json.load(file)["traceEvents"]


def module_of(event):
    if event.get("cat") == "python_function":
        found = re.fullmatch(r"nn\.Module: (.*)", event["name"])
    elif event.get("cat") == "user_annotation":
        found = re.fullmatch(r"FSDP::[^(]* \((.*)\)", event["name"])
    else:
        found = None
    return found and found[1]


def union(spans):
    out = []
    for begin, end in sorted(spans):
        if out and begin <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([begin, end])
    return out


def innermost(ranges, moment, thread):
    around = [r for r in ranges if r[2] == thread and r[0] <= moment <= r[1]]
    return max(around)[3] if around else None


def count(path, sums, pattern):
    events = [event for event in events_of(path) if event.get("ph") == "X"]
    ranges = [(e["ts"], e["ts"] + e["dur"], e["tid"], module_of(e)) for e in events if module_of(e)]
    launches = {e["args"]["correlation"]: e for e in events
                if e.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in e.get("args", {})}
    numbered = [e for e in events if e.get("cat") == "cpu_op" and "Sequence number" in e.get("args", {})]
    forward = {e["args"]["Sequence number"]: e for e in numbered if e["args"].get("Fwd thread id") == 0}
    backward = [(e["ts"], e["ts"] + e["dur"], e["tid"], e["args"].get("Sequence number"))
                for e in events if e["name"].startswith("autograd::engine::evaluate_function")]
    kernels = [e for e in events if e.get("cat") == "kernel"]
    busy = union([(e["ts"], e["ts"] + e["dur"]) for e in kernels if not re.search(pattern, e["name"])])
    for kernel in kernels:
        if not re.search(pattern, kernel["name"]):
            continue
        launch = launches.get(kernel["args"]["correlation"])
        module = innermost(ranges, launch["ts"], launch["tid"]) if launch else ""
        if module is None:
            op = forward.get(innermost(backward, launch["ts"], launch["tid"]))
            module = op and innermost(ranges, op["ts"], op["tid"]) or ""
        begin, end = kernel["ts"], kernel["ts"] + kernel["dur"]
        hidden = sum(max(0, min(end, b) - max(begin, a)) for a, b in busy)
        sum_ = sums[kernel["args"].get("Collective name", "?"), module]
        sum_[0] += 1
        sum_[1] += kernel["dur"]
        sum_[2] += hidden


def main():
    sums = collections.defaultdict(lambda: [0, 0.0, 0.0])
    for path in glob.glob(sys.argv[1] + "/*.json.gz"):
        count(path, sums, "nccl|" + sys.argv[2] if len(sys.argv) > 2 else "nccl")
    for (operation, module), (calls, us, hidden) in sorted(sums.items()):
        print(f"{operation:24} {module or '-':12} {calls:4} {us:12.3f} {hidden:12.3f}")


if __name__ == "__main__":
    main()
