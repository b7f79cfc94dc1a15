"""Traces of a job whose ranks pass messages around rings, as context parallelism does: the simulator makes no batches.

Rings of eight ranks; in each round a rank computes, then exchanges a message with both of its neighbours in one kernel,
which ends when both have come. Nothing joins all ranks of a ring but their messages."""
import json
import random

RING, ROUNDS_PER_STEP = 8, 20
START_US = 1.7e12
HOST, COMPUTE, MESSAGES = 4000, 7, 20  # thread, streams
KERNEL = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"


class Rank:
    def __init__(self, rank, ranks):
        self.rank, self.ranks, self.now, self.launches, self.events = rank, ranks, 1000.0, 0, []
        first = rank - rank % RING
        self.ring = list(range(first, first + RING))
        self.neighbours = [first + (rank + step) % RING for step in (1, -1)]

    def add(self, category, name, at, duration, thread, **args):
        self.events.append(json.dumps({"ph": "X", "cat": category, "name": name, "pid": HOST, "tid": thread,
                                       "ts": round(START_US + at, 3), "dur": round(duration, 3), "args": args}))

    def launch(self, at, kernel, start, duration, stream):
        self.launches += 1
        self.add("cuda_runtime", "cudaLaunchKernel", at, 8, HOST, correlation=self.launches)
        self.add("kernel", kernel, start, duration, stream, device=0, stream=stream, correlation=self.launches)

    def compute(self, duration):
        self.launch(self.now - 30, "gemm", self.now, duration, COMPUTE)
        self.now += duration

    def exchange(self, came):
        at = self.now - 50
        for k, (operation, peer) in enumerate((o, p) for o in ("send", "recv") for p in self.neighbours):
            self.add("cpu_op", "record_param_comms", at + k, 0.5, HOST, **{
                "Collective name": operation, "Dst Rank" if operation == "send" else "Src Rank": peer, "In msg nelems": 4096,
                "Out msg nelems": 4096, "Group size": RING, "dtype": "BFloat16",
                "Process Group Name": str(1 + self.rank // RING), "Process Group Ranks": str(self.ring)})
        self.add("user_annotation", "nccl:coalesced", self.now - 45, 3, HOST)
        end = max(came[rank] for rank in (self.rank, *self.neighbours)) + 25
        self.launch(self.now - 44, KERNEL, self.now, end - self.now, MESSAGES)
        self.now = end + 5

    def write(self, folder):
        world = json.dumps({"backend": "nccl", "rank": self.rank, "world_size": self.ranks})
        (folder / f"rank{self.rank}_trace.json").write_text(
            '{"distributedInfo": ' + world + ', "traceEvents": [\n' + ",\n".join(self.events) + "\n]}\n")


def write_rings(folder, ranks, rounds):
    for first in range(0, ranks, RING):
        random.seed(first)
        ring = [Rank(rank, ranks) for rank in range(first, first + RING)]
        for step in range(rounds // ROUNDS_PER_STEP):
            begin = [rank.now - 60 for rank in ring]
            for _ in range(ROUNDS_PER_STEP):
                for rank in ring:
                    rank.compute(random.uniform(300, 500))
                came = {rank.rank: rank.now for rank in ring}
                for rank in ring:
                    rank.exchange(came)
            for rank, at in zip(ring, begin):
                rank.add("user_annotation", f"ProfilerStep#{step}", at, rank.now - 60 - at, HOST)
        for rank in ring:
            rank.write(folder)
