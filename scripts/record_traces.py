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
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils.checkpoint import checkpoint

from torch_handler import trace_handler

WARM_UP_STEPS = 3


class Missing(Exception):
    """Why a case cannot run here."""


# ---- models: a stack of blocks, so that communication can hide behind the backward pass

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


class Stack(nn.Sequential):
    def __init__(self, run, blocks=None):
        super().__init__(*(Block(run.width) for _ in range(blocks or run.layers)))
        self.to(run.device)


def train(model, optimizer, x):
    optimizer.zero_grad(set_to_none=True)
    model(x).square().mean().backward()
    optimizer.step()


def average_gradients(model, group=None):
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad, group=group)
        parameter.grad /= dist.get_world_size(group)


# ---- cases: run -> a function that makes one step with a batch

def data_parallel(run, model=None):
    model = nn.parallel.DistributedDataParallel(model or Stack(run), bucket_cap_mb=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    return lambda x: train(model, optimizer, x)


def checkpointed(run):
    class Checkpointed(Stack):
        def forward(self, x):
            for block in self:
                x = checkpoint(block, x, use_reentrant=False)
            return x

    return data_parallel(run, Checkpointed(run))


def compiled(run):
    if not hasattr(torch, "compile"):
        raise Missing("this torch has no torch.compile")
    return data_parallel(run, torch.compile(Stack(run)))


def fully_sharded(run):
    try:
        from torch.distributed.fsdp import fully_shard
    except (ImportError, ValueError):
        raise Missing("this torch has no fully_shard (FSDP2)") from None
    model = Stack(run)
    for block in model:
        fully_shard(block)
    fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    return lambda x: train(model, optimizer, x)


def tensor_parallel(run):
    """Megatron's: the first matrix split by columns, the second by rows; tensor groups of two or all, data groups across."""
    size = 2 if run.world % 2 == 0 and run.world > 2 else run.world
    tensor = [dist.new_group(range(first, first + size)) for first in range(0, run.world, size)][run.rank // size]
    data = [dist.new_group(range(first, run.world, size)) for first in range(size)][run.rank % size]

    class Enter(torch.autograd.Function):  # what every rank reads: gradients are summed
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, gradient):
            gradient = gradient.contiguous()
            dist.all_reduce(gradient, group=tensor)
            return gradient

    class Leave(torch.autograd.Function):  # partial sums become one
        @staticmethod
        def forward(ctx, x):
            x = x.contiguous()
            dist.all_reduce(x, group=tensor)
            return x

        @staticmethod
        def backward(ctx, gradient):
            return gradient

    class ParallelBlock(nn.Module):
        def __init__(self):
            super().__init__()
            self.up = nn.Linear(run.width, 2 * run.width // size)
            self.down = nn.Linear(2 * run.width // size, run.width, bias=False)

        def forward(self, x):
            return x + Leave.apply(self.down(torch.nn.functional.gelu(self.up(Enter.apply(x)))))

    model = nn.Sequential(*(ParallelBlock() for _ in range(run.layers))).to(run.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step(x):
        optimizer.zero_grad(set_to_none=True)
        model(x).square().mean().backward()
        average_gradients(model, data)
        optimizer.step()

    return step


def pipeline(run, micro_batches=4):
    """A stage per rank; all micro-batches forward, then all backward."""
    if run.world < 2:
        raise Missing("a pipeline needs two ranks")
    stage = Stack(run, blocks=max(1, run.layers // run.world))
    optimizer = torch.optim.SGD(stage.parameters(), lr=1e-3)
    first, last = run.rank == 0, run.rank == run.world - 1

    def step(x):
        optimizer.zero_grad(set_to_none=True)
        kept = []
        for part in x.chunk(micro_batches):
            into = part.detach()
            if not first:
                into = torch.empty_like(part)
                dist.recv(into, run.rank - 1)
            into.requires_grad_(not first)
            out = stage(into)
            if not last:
                dist.send(out.detach(), run.rank + 1)
            kept.append((into, out))
        for into, out in kept:
            if last:
                out.square().mean().backward()
            else:
                gradient = torch.empty_like(out)
                dist.recv(gradient, run.rank + 1)
                out.backward(gradient)
            if not first:
                dist.send(into.grad, run.rank - 1)
        optimizer.step()

    return step


def pipeline_batched(run, micro_batches=4):
    """A stage per rank; in each tick every stage sends to one neighbour while it receives from the other (batch_isend_irecv)."""
    if run.world < 2:
        raise Missing("a pipeline needs two ranks")
    stage = Stack(run, blocks=max(1, run.layers // run.world))
    optimizer = torch.optim.SGD(stage.parameters(), lr=1e-3)

    def exchange(out, target, into, source):
        calls = [dist.P2POp(dist.isend, out, target)] if out is not None else []
        calls += [dist.P2POp(dist.irecv, into, source)] if into is not None else []
        for work in dist.batch_isend_irecv(calls) if calls else []:
            work.wait()

    def sweep(parts, position, ahead, behind, work):
        """Hands micro-batches from stage `behind` to stage `ahead`; `work` of a part, in turn, gives what is sent on."""
        out = None
        for tick in range(micro_batches + run.world):
            index = tick - position
            has_work = 0 <= index < micro_batches
            into = torch.empty_like(parts[index]) if has_work and behind is not None else None
            exchange(out if ahead is not None else None, ahead, into, behind)
            out = work(index, into) if has_work else None

    def step(x):
        optimizer.zero_grad(set_to_none=True)
        parts, kept = x.chunk(micro_batches), []
        after = run.rank + 1 if run.rank + 1 < run.world else None
        before = run.rank - 1 if run.rank > 0 else None

        def forward(index, into):
            into = (parts[index] if into is None else into).detach().requires_grad_(before is not None)
            kept.append((into, stage(into)))
            return kept[-1][1].detach()

        def backward(index, gradient):
            into, out = kept[index]
            out.square().mean().backward() if gradient is None else out.backward(gradient)
            return into.grad

        sweep(parts, run.rank, after, before, forward)
        sweep(parts, run.world - 1 - run.rank, before, after, backward)
        optimizer.step()

    return step


def pipeline_1f1b(run, micro_batches=8):
    """PyTorch's own schedule: one forward, one backward in turn."""
    try:
        from torch.distributed.pipelining import PipelineStage, Schedule1F1B
    except (ImportError, ValueError):
        raise Missing("this torch has no torch.distributed.pipelining") from None
    if run.world < 2:
        raise Missing("a pipeline needs two ranks")
    module = Stack(run, blocks=max(1, run.layers // run.world))
    stage = PipelineStage(module, run.rank, run.world, run.device)
    schedule = Schedule1F1B(stage, micro_batches, loss_fn=lambda out, target: (out - target).square().mean())
    optimizer = torch.optim.SGD(module.parameters(), lr=1e-3)

    def step(x):
        optimizer.zero_grad(set_to_none=True)
        if run.rank == 0:
            schedule.step(x)
        elif run.rank == run.world - 1:
            schedule.step(target=x)
        else:
            schedule.step()
        optimizer.step()

    return step


def mesh(run):
    """Two dimensions: DTensor's tensor parallelism within, FSDP2 across."""
    try:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard
        from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    except (ImportError, ValueError):
        raise Missing("this torch has no DTensor with FSDP2") from None
    if run.world < 4 or run.world % 2:
        raise Missing("two dimensions need an even number of ranks from four on")
    dimensions = init_device_mesh(run.device.type, (run.world // 2, 2), mesh_dim_names=("dp", "tp"))
    model = Stack(run)
    for block in model:
        parallelize_module(block, dimensions["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
        fully_shard(block, mesh=dimensions["dp"])
    fully_shard(model, mesh=dimensions["dp"])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    return lambda x: train(model, optimizer, x)


def experts(run):
    """One expert per rank; tokens go to experts by a fixed uneven draw, and come back."""
    draw = torch.Generator().manual_seed(7)
    shares = torch.rand(run.world, run.world, generator=draw) + 0.2  # from rank, to rank

    class Exchange(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, sent, received):
            ctx.splits = sent, received
            out = x.new_empty(sum(received), x.shape[1])
            dist.all_to_all_single(out, x.contiguous(), received, sent)
            return out

        @staticmethod
        def backward(ctx, gradient):
            sent, received = ctx.splits
            out = gradient.new_empty(sum(sent), gradient.shape[1])
            dist.all_to_all_single(out, gradient.contiguous(), sent, received)
            return out, None, None

    dense, expert = Stack(run, blocks=1), Stack(run, blocks=1)
    optimizer = torch.optim.SGD([*dense.parameters(), *expert.parameters()], lr=1e-3)

    def tokens(rank, count):
        parts = (shares[rank] / shares[rank].sum() * count).long()
        parts[0] += count - parts.sum()
        return parts.tolist()

    def step(x):
        optimizer.zero_grad(set_to_none=True)
        counts = [torch.zeros(1, dtype=torch.long, device=run.device) for _ in range(run.world)]
        dist.all_gather(counts, torch.tensor([len(x)], device=run.device))
        sent = tokens(run.rank, len(x))
        received = [tokens(rank, int(count))[run.rank] for rank, count in enumerate(counts)]
        there = Exchange.apply(dense(x), sent, received)
        back = Exchange.apply(expert(there), received, sent)
        back.square().mean().backward()
        average_gradients(dense)
        optimizer.step()

    try:
        step(run.batch())
    except RuntimeError as error:
        raise Missing(f"no all_to_all: {str(error).splitlines()[0]}") from None
    return step


def cuda_graphs(run):
    if run.device.type != "cuda":
        raise Missing("CUDA graphs need a GPU")
    model = torch.cuda.make_graphed_callables(Stack(run), (run.batch().requires_grad_(),))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step(x):
        optimizer.zero_grad(set_to_none=False)
        model(x[:run.rows].requires_grad_()).square().mean().backward()
        average_gradients(model)
        optimizer.step()

    return step


def decode(run, tokens=4):
    """Tensor-parallel inference whose collectives stand in a CUDA graph: no call of theirs is recorded when it is replayed."""
    if run.device.type != "cuda":
        raise Missing("CUDA graphs need a GPU")
    parts = [(torch.randn(run.width, run.width // run.world, device=run.device) / run.width,
              torch.randn(run.width // run.world, run.width, device=run.device)) for _ in range(run.layers)]
    state = run.batch()

    def forward(x):
        for into, out in parts:
            x = torch.relu(x @ into) @ out
            dist.all_reduce(x)
        return x

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream), torch.no_grad():
        for _ in range(3):
            forward(state)
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph, capture_error_mode="thread_local"):
        result = forward(state)

    def step(x):
        state.copy_(x[:run.rows])
        for _ in range(tokens):
            graph.replay()
        return result.sum().item()

    return step


def every_collective(run):
    """Each call of torch.distributed once, blocking and not, with compute between them."""
    part = torch.randn(run.rows, run.width, device=run.device)
    whole = torch.randn(run.world * run.rows, run.width, device=run.device)
    weight = torch.randn(run.width, run.width, device=run.device)
    pair = [dist.new_group(range(first, min(first + 2, run.world))) for first in range(0, run.world, 2)][run.rank // 2]
    ahead, behind = (run.rank + 1) % run.world, (run.rank - 1) % run.world

    def ring():
        for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, part, ahead),
                                            dist.P2POp(dist.irecv, torch.empty_like(part), behind)]):
            work.wait()

    def coalesced():
        with dist._coalescing_manager(device=run.device, async_ops=True) as manager:
            for scale in (1, 2, 3):
                dist.all_reduce(part * scale)
        manager.wait()

    def uneven_gather():  # lengths differ by rank: NCCL has no such call, PyTorch makes it of others
        lengths = [run.rows // (rank + 1) for rank in range(run.world)]
        dist.all_gather([part.new_empty(length, run.width) for length in lengths], part[:lengths[run.rank]].contiguous())

    calls = [
        lambda: dist.all_reduce(part),
        lambda: dist.all_reduce(part, op=dist.ReduceOp.MAX, group=pair),
        lambda: dist.all_reduce(part, async_op=True).wait(),
        lambda: dist.broadcast(part, 1),
        lambda: dist.reduce(part, 0),
        lambda: dist.all_gather_into_tensor(whole, part),
        lambda: dist.all_gather([torch.empty_like(part) for _ in range(run.world)], part),
        uneven_gather,
        lambda: dist.reduce_scatter_tensor(part, whole),
        lambda: dist.reduce_scatter(part, list(whole.chunk(run.world))),
        lambda: dist.all_to_all_single(torch.empty_like(whole), whole),
        lambda: dist.all_to_all([torch.empty_like(part) for _ in range(run.world)], list(whole.chunk(run.world))),
        lambda: dist.gather(part, [torch.empty_like(part) for _ in range(run.world)] if run.rank == 0 else None, 0),
        lambda: dist.scatter(part, list(whole.chunk(run.world)) if run.rank == 0 else None, 0),
        lambda: dist.send(part, 1) if run.rank == 0 else dist.recv(part, 0) if run.rank == 1 else None,
        ring,
        coalesced,
        lambda: dist.all_gather_object([None] * run.world, {"rank": run.rank}),
        lambda: dist.barrier(),
    ]

    def possible(call):
        try:
            call()
        except (RuntimeError, NotImplementedError, AttributeError, ValueError) as error:
            if run.rank == 0:
                print(f"every_collective: a call is left out: {str(error).splitlines()[0]}", flush=True)
            return False
        return True

    calls = [call for call in calls if possible(call)]

    def step(x):
        for call in calls:
            x[:run.rows] @ weight
            call()

    return step


CASES = {
    "ddp": data_parallel,
    "fsdp2": fully_sharded,
    "tensor_parallel": tensor_parallel,
    "mesh": mesh,
    "pipeline": pipeline,
    "pipeline_batched": pipeline_batched,
    "pipeline_1f1b": pipeline_1f1b,
    "experts": experts,
    "compile": compiled,
    "checkpointing": checkpointed,
    "cuda_graphs": cuda_graphs,
    "decode": decode,
    "every_collective": every_collective,
}


# ---- a run

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


def record(run, options, case):
    name = options.name or case
    step = injected_step(run, options, CASES[case](run))
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if run.device.type == "cuda" else [])
    for _ in range(WARM_UP_STEPS):
        step(-1)
    dist.barrier()
    with profile(activities=activities, schedule=schedule(wait=0, warmup=1, active=options.steps),
                 on_trace_ready=trace_handler(options.output, job=name), record_shapes=True,
                 with_stack=options.with_stack, **sync_events(options)) as profiler:
        for number in range(options.steps + 1):
            step(number)
            profiler.step()
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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
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
