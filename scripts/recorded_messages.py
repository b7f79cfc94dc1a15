"""Cases whose ranks talk by sends and receives: pipelines, rings."""
import torch
import torch.distributed as dist
from torch import nn

from recorded_models import Missing, Stack, average_gradients


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


def small_stages(run, count):
    stages = (nn.Sequential(nn.Linear(run.width, run.width, bias=False), nn.Tanh()) for _ in range(count))
    return nn.ModuleList(stages).to(run.device)


def pipeline_interleaved(run, chunks=2):
    """Megatron's interleaved 1F1B: several stages per rank, so that the pipeline goes round the ranks more than once. Each
    iteration hands all it has to both neighbours in one batch: two operations at first and at last, four between."""
    if run.world < 3:
        raise Missing("an interleaved pipeline needs three ranks")  # with two the neighbours are one, and NCCL has no tags
    models = small_stages(run, chunks)
    optimizer = torch.optim.SGD(models.parameters(), lr=1e-3)
    first, last = run.rank == 0, run.rank == run.world - 1
    after, before = (run.rank + 1) % run.world, (run.rank - 1) % run.world
    micro_batches = 2 * run.world
    passes = chunks * micro_batches
    warm_up = 2 * (run.world - 1 - run.rank) + (chunks - 1) * run.world

    def chunk_forward(number):
        return number // run.world % chunks

    def chunk_backward(number):
        return chunks - 1 - chunk_forward(number)

    def step(x):
        optimizer.zero_grad(set_to_none=True)
        parts = x.chunk(micro_batches)
        fresh = iter(parts)
        inputs, kept, gradients = ([[] for _ in range(chunks)] for _ in range(3))  # each by chunk: first in, first out

        def forward(number):
            chunk = chunk_forward(number)
            comes = not (first and chunk == 0)
            into = (inputs[chunk].pop(0) if comes else next(fresh)).detach().requires_grad_(comes)
            kept[chunk].append((into, models[chunk](into)))
            return None if last and chunk == chunks - 1 else kept[chunk][-1][1].detach()

        def backward(number):
            chunk = chunk_backward(number)
            into, out = kept[chunk].pop(0)
            if last and chunk == chunks - 1:
                out.square().mean().backward()
            else:
                out.backward(gradients[chunk].pop(0))
            return into.grad

        def exchange(out, gradient, forward_next, backward_next):
            """Sends what there is; receives what those two passes need, if they are any and it comes from another stage."""
            into = of_out = None
            if forward_next in range(passes) and not (first and chunk_forward(forward_next) == 0):
                into = torch.empty_like(parts[0])
                inputs[chunk_forward(forward_next)].append(into)
            if backward_next in range(passes) and not (last and chunk_backward(backward_next) == chunks - 1):
                of_out = torch.empty_like(parts[0])
                gradients[chunk_backward(backward_next)].append(of_out)
            calls = [dist.P2POp(call, tensor, peer) for call, tensor, peer in (
                (dist.isend, gradient, before), (dist.irecv, into, before),
                (dist.isend, out, after), (dist.irecv, of_out, after)) if tensor is not None]
            for work in dist.batch_isend_irecv(calls) if calls else []:
                work.wait()
            if calls and run.device.type == "cuda":
                torch.cuda.synchronize()  # Megatron's batch_p2p_sync

        exchange(None, None, 0, None)
        for number in range(warm_up):
            exchange(forward(number), None, number + 1, 0 if number == warm_up - 1 else None)
        for number in range(passes - warm_up):
            out = forward(number + warm_up)
            exchange(out, backward(number), number + warm_up + 1, number + 1)
        for number in range(passes - warm_up, passes):
            exchange(None, backward(number), None, number + 1)
        optimizer.step()

    return step


def pipeline_interleaved_torch(run, stages_per_rank=2, in_ticks=False):
    """PyTorch's own interleaved schedule, which makes a batch of each send and each receive. In ticks: as its older versions
    run it, with one batch for all that a rank sends and receives at a time."""
    try:
        from torch.distributed.pipelining import PipelineStage, ScheduleInterleaved1F1B
        from torch.distributed.pipelining.schedules import PipelineScheduleMulti
    except (ImportError, ValueError):
        raise Missing("this torch has no interleaved schedule") from None
    if run.world < 3:
        raise Missing("an interleaved pipeline needs three ranks")
    numbers = range(run.rank, stages_per_rank * run.world, run.world)
    models = small_stages(run, stages_per_rank)
    stages = [PipelineStage(model, number, stages_per_rank * run.world, run.device) for model, number in zip(models, numbers)]
    schedule = ScheduleInterleaved1F1B(stages, 2 * run.world, loss_fn=lambda out, target: (out - target).square().mean())
    if in_ticks:
        schedule._step_microbatches = PipelineScheduleMulti._step_microbatches.__get__(schedule)
    optimizer = torch.optim.SGD(models.parameters(), lr=1e-3)

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


def pipeline_interleaved_ticks(run):
    return pipeline_interleaved_torch(run, in_ticks=True)


def ring_attention(run):
    """Context parallelism: a share of the sequence per rank. Keys and values go round the ranks, a batch of two operations
    with each neighbour per turn, while attention to those at hand runs; their gradients follow them in the backward pass."""
    if run.world < 2:
        raise Missing("a ring needs two ranks")
    after, before = (run.rank + 1) % run.world, (run.rank - 1) % run.world
    scale = run.width ** -0.5

    def pass_on(*tensors):
        """Starts it; what it gives waits, and gives what came."""
        came = [torch.empty_like(tensor) for tensor in tensors]
        works = dist.batch_isend_irecv([dist.P2POp(*call) for tensor, into in zip(tensors, came)
                                        for call in ((dist.isend, tensor, after), (dist.irecv, into, before))])

        def arrived():
            for work in works:
                work.wait()
            return came

        return arrived

    class Ring(torch.autograd.Function):
        @staticmethod
        def forward(ctx, query, key, value):
            block = key, value
            for turn in range(run.world):
                arrived = pass_on(*block) if turn + 1 < run.world else None
                scores = query @ block[0].T * scale
                sums = scores.logsumexp(1, keepdim=True)
                part = (scores - sums).exp() @ block[1]
                if turn == 0:
                    out, all_sums = part, sums
                else:
                    out = out + torch.sigmoid(sums - all_sums) * (part - out)
                    all_sums = torch.logaddexp(all_sums, sums)
                if arrived:
                    block = arrived()
            ctx.save_for_backward(query, key, value, out, all_sums)
            return out

        @staticmethod
        def backward(ctx, gradient):
            query, key, value, out, all_sums = ctx.saved_tensors
            gradient = gradient.contiguous()
            means = (gradient * out).sum(1, keepdim=True)
            of_query, block, followed = torch.zeros_like(query), (key, value), None
            for turn in range(run.world):
                arrived = pass_on(*block) if turn + 1 < run.world else None
                weights = (query @ block[0].T * scale - all_sums).exp()
                of_scores = weights * (gradient @ block[1].T - means) * scale
                of_query += of_scores @ block[0]
                of_block = of_scores.T @ query, weights.T @ gradient
                if followed:
                    for own, others in zip(of_block, followed()):
                        own += others
                if arrived:
                    block = arrived()
                followed = pass_on(*of_block)
            return (of_query, *followed())

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.into, self.out = nn.Linear(run.width, 3 * run.width, bias=False), nn.Linear(run.width, run.width, bias=False)

        def forward(self, x):
            return x + self.out(Ring.apply(*(part.contiguous() for part in self.into(x).chunk(3, 1))))

    model = nn.Sequential(*(Attention() for _ in range(run.layers))).to(run.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step(x):
        optimizer.zero_grad(set_to_none=True)
        model(x).square().mean().backward()
        average_gradients(model)
        optimizer.step()

    return step
