"""Records real multi-rank profiler traces with known truth: small models, real steps, faults put in on purpose.

    torchrun --standalone --nproc-per-node 4 scripts/record_traces.py -o traces
    torchrun --standalone --nproc-per-node 4 scripts/record_traces.py -o traces --case ddp --as late_host --host-gap 2:30

Each case becomes traces/CASE/ (or traces/NAME/ with --as NAME): one file per rank, as scripts/torch_handler.py names them, and truth.json, which says what
was run, with which versions, and what was injected into which rank and which of the recorded steps (from 1). A case that this torch, backend or machine
cannot run is left out, with the reason.

Without a GPU the ranks talk by gloo. With one they use NCCL; where there are more ranks than GPUs, ranks share a GPU,
each told that it is a host of its own and talking over loopback (NCCL refuses two ranks on one device of one host).
"""
import argparse
import json
import os
import shlex
import sys
import time

import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile, schedule

from recorded_cases import CASES
from recorded_models import Missing
from torch_handler import trace_handler

WARM_UP_STEPS = 3


class Run:
    def __init__(self, options):
        self.rank, self.world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self.width, self.layers, self.rows = options.width, options.layers, options.rows
        gpus = torch.cuda.device_count()
        local_rank, local_world = int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"])
        self.device = torch.device("cuda", local_rank % gpus) if gpus else torch.device("cpu")
        self.shares_gpus = 0 < gpus < local_world
        if self.shares_gpus:
            os.environ.update(NCCL_HOSTID=f"rank{self.rank}", NCCL_P2P_DISABLE="1", NCCL_SHM_DISABLE="1",
                              NCCL_SOCKET_IFNAME="lo", NCCL_IB_DISABLE="1")
        if gpus:
            torch.cuda.set_device(self.device)
        if options.flight_recorder:
            os.environ.update(TORCH_FR_BUFFER_SIZE="20000", TORCH_NCCL_TRACE_BUFFER_SIZE="20000", TORCH_NCCL_ENABLE_TIMING="1")
        self.backend = options.backend or ("nccl" if gpus else "gloo")
        torch.set_num_threads(1)  # ranks share the host's cores
        torch.manual_seed(1)
        dist.init_process_group(self.backend)

    def batch(self, factor=1.0):
        return torch.randn(int(self.rows * factor), self.width, device=self.device)


def injection(text):
    rank, _, amount = text.partition(":")
    return int(rank), float(amount)


def injected_step(run, options, step):
    """`step` with what was asked for put into this rank; each is a fault that skewscope should name."""
    gap_ms = next((amount for rank, amount in options.host_gap if rank == run.rank), 0)
    passes = next((amount for rank, amount in options.slow_rank if rank == run.rank), 0)
    factor = next((amount for rank, amount in options.imbalance if rank == run.rank), 1)
    matrix = torch.randn(4 * run.width, 4 * run.width, device=run.device)

    def faulty(number):
        bad = not options.at_step or number in options.at_step
        x = run.batch(factor if bad else 1)
        if bad and gap_ms:
            time.sleep(gap_ms / 1000)
        for _ in range(int(passes) if bad else 0):
            torch.mm(matrix, matrix)
        step(x)

    return faulty


def sync_events(options):
    if not options.sync_events:
        return {}
    return {"experimental_config": torch._C._profiler._ExperimentalConfig(enable_cuda_sync_events=True)}


def leave_flight_recorder(run, folder):
    """What PyTorch's flight recorder held of the same run, under the name that its own dump has."""
    with open(os.path.join(folder, f"nccl_trace_rank_{run.rank}"), "wb") as file:
        file.write(torch._C._distributed_c10d._dump_nccl_trace(includeStackTraces=False))


def record(run, options, case):
    name = options.name or case
    step = injected_step(run, options, CASES[case](run))
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if run.device.type == "cuda" else [])
    for _ in range(WARM_UP_STEPS):
        step(-1)
    dist.barrier()
    with profile(activities=activities, schedule=schedule(wait=0, warmup=1, active=options.steps),
                 on_trace_ready=trace_handler(options.output, job=name, host=""), record_shapes=True,
                 with_stack=options.with_stack, **sync_events(options)) as profiler:
        for number in range(options.steps + 1):
            step(number)
            profiler.step()
    if options.flight_recorder:
        leave_flight_recorder(run, os.path.join(options.output, name))
    if run.rank == 0:
        with open(os.path.join(options.output, name, "truth.json"), "w") as file:
            json.dump(truth(run, options, case), file, indent=1)
            file.write("\n")


def without_output(arguments):
    """Where the traces went says nothing of them."""
    at = next(i for i, word in enumerate(arguments) if word.startswith(("-o", "--output")))
    return arguments[:at] + arguments[at + (2 if arguments[at] in ("-o", "--output") else 1):]


def truth(run, options, case):
    injected = [{"fault": fault, "rank": rank, "amount": amount, "unit": unit, "steps": options.at_step or "all"}
                for fault, unit, entries in (("host_gap", "ms", options.host_gap),
                                             ("slow_rank", "extra matrix products", options.slow_rank),
                                             ("imbalance", "times the batch", options.imbalance))
                for rank, amount in entries]
    gpu = run.device.type == "cuda"
    return {"schema": "skewscope.recorded-truth/1", "case": case, "world_size": run.world, "steps": options.steps, "injected": injected,
            "backend": run.backend, "device": torch.cuda.get_device_name() if gpu else "CPU",
            "ranks_share_gpus": run.shares_gpus, "mps": gpu and "CUDA_MPS_PIPE_DIRECTORY" in os.environ, "torch": torch.__version__, "cuda": torch.version.cuda,
            "nccl": ".".join(map(str, torch.cuda.nccl.version())) if gpu else None,
            "options": shlex.join(without_output(sys.argv[1:])), "width": run.width, "layers": run.layers, "rows": run.rows}


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("-o", "--output", required=True, help="a folder per case is made in it")
    parser.add_argument("--case", action="append", choices=CASES, help="repeatable; default: all")
    parser.add_argument("--as", dest="name", help="the folder's and the job's name, of one case; default: the case's")
    parser.add_argument("--steps", type=int, default=3, help="recorded steps (3)")
    parser.add_argument("--slow-rank", action="append", type=injection, default=[], metavar="RANK:N",
                        help="N more matrix products before each step")
    parser.add_argument("--host-gap", action="append", type=injection, default=[], metavar="RANK:MS",
                        help="its host sleeps before each step")
    parser.add_argument("--imbalance", action="append", type=injection, default=[], metavar="RANK:FACTOR",
                        help="its batch is larger")
    parser.add_argument("--at-step", action="append", type=int, default=[], metavar="N", help="inject into the N-th recorded step only; repeatable, from 1")
    parser.add_argument("--with-stack", action="store_true", help="record Python stacks")
    parser.add_argument("--sync-events", action="store_true", help="record synchronizations of streams and events (CUDA)")
    parser.add_argument("--flight-recorder", action="store_true", help="leave the flight recorder's dump of each rank beside its trace (NCCL)")
    parser.add_argument("--backend", help="nccl, gloo; default: nccl where there is a GPU")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--rows", type=int, default=128)
    options = parser.parse_args(arguments)
    if options.name and len(options.case or CASES) != 1:
        parser.error("--as names one --case")
    return options


def main():
    options = options_of(sys.argv[1:])
    if "RANK" not in os.environ:
        sys.exit("start it with torchrun: it makes the ranks")
    run = Run(options)
    for name in options.case or CASES:
        try:
            record(run, options, name)
            reason = ""
        except Missing as missing:
            reason = f"left out: {missing}"
        if run.rank == 0:
            print(f"{name}: {reason or os.path.join(options.output, options.name or name)}", flush=True)
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
