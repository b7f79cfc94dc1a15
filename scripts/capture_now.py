#!/usr/bin/env python3
"""Has each rank of a running job on this node record some seconds or steps now, and sends the traces to a gatherer, if any.

    srun --overlap --jobid 4711 --ntasks-per-node 1 capture_now.py traces --capture 1 \\
      --to https://head.example:7475 --job cluster-4711.0 --token-file token

Needs on each node dynolog (`dynolog --enable_ipc_monitor`) with its command `dyno`, and a job of this user that was started with
KINETO_USE_DAEMON=1. PyTorch's profiler does the recording: no line of the training script is about it.

1. The processes of the job are those of this user whose environment says KINETO_USE_DAEMON=1 and a rank (RANK, or what else
   torch_handler.py knows), under Slurm of this job alone. Of a rank's processes, such as its data loaders, the topmost counts.
2. `dyno gputrace` asks each for a file of its own, whose name says rank and host: within such traces the rank cannot be relied
   on. All ranks begin at one moment, the next round ten seconds, so that nodes whose clocks are right agree without a word.
3. `skewscope ship --once` sends them under the number of the capture, which has a report of its own besides the job's. Without
   --to they stay where they are, for `skewscope report`.

Exit code: 0, 1 a process or a trace is missing, else that of ship.
"""
import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import torch_handler


def environment_of(pid):
    """{} for a process that has ended or is another user's."""
    try:
        words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return {}
    return dict(word.decode(errors="replace").split("=", 1) for word in words if b"=" in word)


def parent_of(pid):
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except (OSError, IndexError):
        return 0


def owner_of(entry):
    """-1: of a process that has ended."""
    try:
        return entry.stat().st_uid
    except OSError:
        return -1


def processes_of_job():
    """{rank: (pid, world size, Slurm's job id or 0)} of this node."""
    own_job = os.environ.get("SLURM_JOB_ID")
    found = {}  # pid: rank, world size, job
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or owner_of(entry) != os.geteuid():
            continue
        environment = environment_of(entry.name)
        if environment.get("KINETO_USE_DAEMON", "0") == "0" or (own_job and environment.get("SLURM_JOB_ID") != own_job):
            continue
        for rank, world in torch_handler.LAUNCHERS:
            if environment.get(rank, "").isdigit():
                size = environment.get(world, "")
                job = environment.get("SLURM_JOB_ID", "")
                found[int(entry.name)] = (int(environment[rank]), int(size) if size.isdigit() else 0,
                                          int(job) if job.isdigit() else 0)
                break
    top = {}
    for pid, (rank, world, job) in sorted(found.items()):
        if found.get(parent_of(pid), (None,))[0] != rank:
            top.setdefault(rank, (pid, world, job))
    return top


def begin_of_all(now):
    """The next round ten seconds that leave dynolog, which asks about once a second, time to tell every process."""
    return (int(now) // 10 + 1 + (now % 10 > 5)) * 10


def ask_for(pid, slurm_job, file, begin, options):
    if options.steps:
        when = ["--iterations", str(options.steps), "--profile-start-iteration-roundup", str(options.step_multiple)]
    else:
        when = ["--duration-ms", str(round(1000 * options.seconds)), "--profile-start-time", str(1000 * begin)]
    done = subprocess.run(["dyno", "gputrace", "--job-id", str(slurm_job), "--pids", str(pid), *when, "--log-file", str(file)],
                          capture_output=True, text=True, check=False)
    asked = done.returncode == 0 and "No processes were matched" not in done.stdout
    if not asked:
        said = (done.stderr or done.stdout).strip()
        print(f"process {pid} is not asked: {said.splitlines()[-1] if said else 'dyno failed'}", file=sys.stderr)
    return asked


def trace_of(file, pid):
    """Where dynolog has the process write it."""
    return file.with_name(f"{file.stem}_{pid}.json")


def missing_of(traces):
    return [trace for trace in traces if not trace.exists() or trace.stat().st_size == 0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog="Other options are those of skewscope ship.")
    parser.add_argument("directory", type=Path, help="where the traces go, on a disk of this node")
    parser.add_argument("--capture", type=int, required=True, help="number of the capture, another for each of a job")
    parser.add_argument("--job", help="the job's name; default: the scheduler's job id")
    parser.add_argument("--seconds", type=float, default=2, help="how long each rank records [2]")
    parser.add_argument("--steps", type=int, help="in place of --seconds: steps of the optimizer")
    parser.add_argument("--step-multiple", type=int, default=10, help="with --steps: begin at a multiple of so many [10]")
    parser.add_argument("--begin", type=int, metavar="UNIX_SECONDS", help="when all begin [the next round ten seconds]")
    parser.add_argument("--wait", type=float, default=120, help="seconds that the traces may take after the recording [120]")
    options, ship = parser.parse_known_args()

    job, host = torch_handler.name_of_job(options.job), torch_handler.host_name()
    options.directory.mkdir(parents=True, exist_ok=True)
    folder = options.directory.absolute() / job
    torch_handler.make_own_folder(folder)
    processes = processes_of_job()
    if not processes:
        print("no process of this user has KINETO_USE_DAEMON=1 and a rank in its environment", file=sys.stderr)
        return 1

    begin, traces = options.begin or begin_of_all(time.time()), []
    for rank, (pid, world, slurm_job) in sorted(processes.items()):
        of = f"-of-{world}" if world else ""
        file = folder / f"{job}_rank{rank}{of}{'@' + host if host else ''}_capture{options.capture}.json"
        if ask_for(pid, slurm_job, file, begin, options):
            traces.append(trace_of(file, pid))
    print(f"{len(traces)} of {len(processes)} ranks asked", flush=True)

    end = begin + options.seconds + options.wait
    while missing_of(traces) and time.time() < end:
        time.sleep(0.2)
    for trace in missing_of(traces):
        print(f"{trace} has not come", file=sys.stderr)
    complete = not missing_of(traces) and len(traces) == len(processes)
    written = [trace for trace in traces if trace not in missing_of(traces)]
    if not written:
        return 1
    if "--to" not in ship:
        print(f"traces are in {folder}")
        return int(not complete)
    # A trace that is still being written is left at first.
    command = ["skewscope", "ship", *written, "--job", job, "--capture", str(options.capture), "--once", *ship]
    while (code := subprocess.run(command, check=False).returncode) == 4 and time.time() < end:
        time.sleep(1)
    return code or int(not complete)


if __name__ == "__main__":
    sys.exit(main())
