"""What record_traces.py runs: small models of every kind of parallelism, and each call of torch.distributed.

A case is a function of a run that gives one of a batch: a step. Missing (recorded_models.py): this torch, backend or
machine cannot run it. What sends and receives is in recorded_messages.py.
"""
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.checkpoint import checkpoint

import recorded_messages as messages
from recorded_models import Missing, Stack, average_gradients, train


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


def dependent_launch(run, tokens=4):
    """Tensor-parallel inference whose kernels start while the one ahead still runs, and wait on the GPU for what it writes."""
    try:
        if run.device.type != "cuda" or torch.cuda.get_device_capability() < (9, 0):
            raise Missing("programmatic dependent launch needs a GPU of Hopper's generation or later")
        from recorded_kernels import scale
    except ImportError as error:
        raise Missing(f"no Triton with programmatic dependent launch: {error}") from None
    weight = torch.randn(run.width, run.width, device=run.device) / run.width

    def step(x):
        for _ in range(tokens):
            for _ in range(run.layers):
                x = scale(scale(scale(x, 1.01, 500), 0.99, 2000), 1.0, 1000) @ weight
                dist.all_reduce(x)
        return x.sum().item()

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
    "pipeline": messages.pipeline,
    "pipeline_batched": messages.pipeline_batched,
    "pipeline_1f1b": messages.pipeline_1f1b,
    "pipeline_interleaved": messages.pipeline_interleaved,
    "pipeline_interleaved_torch": messages.pipeline_interleaved_torch,
    "pipeline_interleaved_ticks": messages.pipeline_interleaved_ticks,
    "ring_attention": messages.ring_attention,
    "experts": experts,
    "compile": compiled,
    "checkpointing": checkpointed,
    "cuda_graphs": cuda_graphs,
    "decode": decode,
    "dependent_launch": dependent_launch,
    "every_collective": every_collective,
}
