"""Records the flight recorder's dumps of jobs that stand still, with known truth: which rank did what.

    torchrun --standalone --nproc-per-node 4 scripts/record_hangs.py -o hangs --case missing_rank

A job hangs once, so a run is a case. hangs/CASE/ holds a dump per rank, nccl_trace_rank_N (a pickle, as PyTorch leaves it when a
collective times out), and truth.json. Ranks that share a GPU are set up as record_traces.py does.
"""
import argparse
import json
import os
import threading
import time

import torch
import torch.distributed as dist

from record_traces import Run

FAULTY = 2  # the rank that does something else
STEPS_BEFORE = 5


def all_ranks_but(run, call):
    if run.rank != FAULTY:
        call()


def missing_rank(run, x):
    """The rank leaves out one all_reduce, then waits at the end of the job."""
    all_ranks_but(run, lambda: dist.all_reduce(x))


def stuck_host(run, x):
    """The rank's host sleeps before its call."""
    if run.rank == FAULTY:
        time.sleep(3600)
    dist.all_reduce(x)


def other_operation(run, x):
    """The rank calls broadcast where the others call all_reduce."""
    dist.broadcast(x, 0) if run.rank == FAULTY else dist.all_reduce(x)


def other_size(run, x):
    """The rank's tensor is shorter."""
    dist.all_reduce(x[: len(x) // 2].contiguous() if run.rank == FAULTY else x)


def other_order(run, x):
    """Two groups; the rank calls them the other way round."""
    calls = [lambda: dist.all_reduce(x, group=run.groups[0]), lambda: dist.all_gather_into_tensor(x.new_empty(run.world * x.numel()), x.flatten(), group=run.groups[1])]
    for call in reversed(calls) if run.rank == FAULTY else calls:
        call()
        torch.cuda.synchronize()


def no_receive(run, x):
    """A pipeline: the rank does not take what the one ahead of it sends."""
    if run.rank > 0 and run.rank != FAULTY:
        dist.recv(x, run.rank - 1)
    if run.rank + 1 < run.world:
        for _ in range(40):  # more than is buffered
            dist.send(x, run.rank + 1)


CASES = {case.__name__: case for case in (missing_rank, stuck_host, other_operation, other_size, other_order, no_receive)}


def dump_and_leave(run, folder, after_s):
    """The job's other threads stand still by then. A rank that leaves takes the others with it: none does before all have dumped."""
    time.sleep(after_s)
    dump = torch._C._distributed_c10d._dump_nccl_trace()
    with open(os.path.join(folder, f"nccl_trace_rank_{run.rank}"), "wb") as file:
        file.write(dump)
    time.sleep(after_s)
    os._exit(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--case", required=True, choices=CASES)
    parser.add_argument("--after", type=float, default=8, metavar="S", help="when the dump is made (8)")
    parser.set_defaults(width=1024, layers=1, rows=1024, backend="nccl", flight_recorder=True)
    options = parser.parse_args()
    run = Run(options)
    run.groups = [dist.new_group(range(run.world)) for _ in range(2)]
    folder = os.path.join(options.output, options.case)
    os.makedirs(folder, exist_ok=True)
    x = run.batch()
    for _ in range(STEPS_BEFORE):
        dist.all_reduce(x)
        for group in run.groups:
            dist.all_reduce(x, group=group)
    torch.cuda.synchronize()
    if run.rank == 0:
        with open(os.path.join(folder, "truth.json"), "w") as file:
            json.dump({"schema": "skewscope.recorded-hang/1", "case": options.case, "what": CASES[options.case].__doc__,
                       "faulty_rank": FAULTY, "world_size": run.world, "torch": torch.__version__}, file, indent=1)
            file.write("\n")
    threading.Thread(target=dump_and_leave, args=(run, folder, options.after), daemon=True).start()
    CASES[options.case](run, x)
    dist.all_reduce(x)
    torch.cuda.synchronize()
    time.sleep(3600)  # until the dump


if __name__ == "__main__":
    main()
