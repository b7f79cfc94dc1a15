"""Records profiles of a JAX job of several processes: one step function under a mesh, every kind of collective in it.

    python3 scripts/record_jax.py -o profiles --processes 4

Starts the processes itself, on one host; where they share a GPU, each is told that it is a host of its own (NCCL refuses two
ranks on one device of one host). profiles/process_N/ holds what jax.profiler leaves: plugins/profile/TIME/*.xplane.pb, *.trace.json.gz.
truth.json says what was run; --slow N: that process computes more in each step, on its own.
"""
import argparse
import json
import os
import subprocess
import sys
import time


def run_process(options):
    number = options.process
    os.environ.update(NCCL_HOSTID=f"process{number}", NCCL_P2P_DISABLE="1", NCCL_SHM_DISABLE="1", NCCL_SOCKET_IFNAME="lo",
                      NCCL_IB_DISABLE="1", XLA_PYTHON_CLIENT_PREALLOCATE="false")
    import jax
    import jax.numpy as jnp
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    jax.distributed.initialize("127.0.0.1:" + str(options.port), options.processes, number, local_device_ids=[0])
    devices = jax.devices()
    mesh = Mesh(devices, ("data",))
    print(number, devices, flush=True)

    def local(weights, batch):
        """Per device: a layer gathered, used, its gradient scattered; tokens exchanged; a ring; a sum."""
        gathered = jax.lax.all_gather(weights, "data", tiled=True)
        hidden = jnp.tanh(batch @ gathered)
        exchanged = jax.lax.all_to_all(hidden, "data", 0, 0, tiled=True)
        ahead = [(rank, (rank + 1) % options.processes) for rank in range(options.processes)]
        passed = jax.lax.ppermute(exchanged @ gathered, "data", ahead)
        gradient = jax.lax.psum_scatter(passed.T @ passed, "data", tiled=True)
        return weights + 1e-6 * gradient, jax.lax.psum(jnp.mean(passed), "data")

    split, whole = PartitionSpec("data"), PartitionSpec()
    step = jax.jit(jax.shard_map(local, mesh=mesh, in_specs=(split, split), out_specs=(split, whole)))
    own = jax.jit(lambda x: jax.lax.fori_loop(0, 200, lambda _, y: jnp.tanh(y @ y), x))
    width = options.width

    def array(shape, seed):
        sharding = NamedSharding(mesh, split)
        part = jax.random.normal(jax.random.key(seed), (shape[0] // options.processes, shape[1]))
        return jax.make_array_from_single_device_arrays(shape, sharding, [part])

    weights, batch = array((width, width), 1), array((4 * width, width), 2)
    extra = jax.random.normal(jax.random.key(3), (2048, 2048)) / 2048

    def one():
        nonlocal weights
        if number == options.slow:
            own(extra).block_until_ready()
        weights, loss = step(weights, batch)
        loss.block_until_ready()

    for _ in range(3):
        one()
    with jax.profiler.trace(os.path.join(options.output, f"process_{number}"), create_perfetto_trace=False):
        for count in range(options.steps):
            with jax.profiler.StepTraceAnnotation("train", step_num=count):
                one()
    if number == 0:
        with open(os.path.join(options.output, "truth.json"), "w") as file:
            json.dump({"schema": "skewscope.recorded-jax/1", "processes": options.processes, "steps": options.steps, "slow": options.slow,
                       "jax": jax.__version__, "device": devices[0].device_kind,
                       "collectives_per_step": ["all_gather", "all_to_all", "collective_permute", "reduce_scatter", "all_reduce"]},
                      file, indent=1)
            file.write("\n")
    jax.distributed.shutdown()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--slow", type=int, default=-1, metavar="N", help="the process that computes more; -1: none")
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--port", type=int, default=12355)
    parser.add_argument("--process", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.makedirs(options.output, exist_ok=True)
    if options.process is not None:
        return run_process(options)
    begin = time.monotonic()
    ran = [subprocess.Popen([sys.executable, *sys.argv, "--process", str(number)]) for number in range(options.processes)]
    codes = [process.wait() for process in ran]
    print(f"exit codes {codes}, {time.monotonic() - begin:.0f} s")
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
