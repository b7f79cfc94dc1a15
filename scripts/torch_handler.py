"""Leaves the traces of a job where skewscope finds them: a drop-in on_trace_ready handler for torch.profiler.

    from torch_handler import trace_handler

    with torch.profiler.profile(schedule=..., on_trace_ready=trace_handler("traces", job="pretrain-7b")) as prof:
        for batch in loader:
            train(batch)
            prof.step()

Each capture of each rank becomes traces/pretrain-7b/pretrain-7b_rank3-of-8@node17_step120.pt.trace.json.gz; skewscope reads
rank, world size and host from this name. record_hangs("traces", job="pretrain-7b") has each rank leave a dump there, should
the job hang, for `skewscope hang`. A file has its name only when it is whole: it is written under a hidden name in
the same folder and renamed. Rank and world size are those of
torch.distributed where it runs, else of torchrun, Slurm or MPI. Copy this file beside the training script; it needs
nothing but PyTorch, and for ship_to skewscope and flock (util-linux).
"""
import contextlib
import itertools
import os
import re
import stat
import subprocess
import warnings

# Environment variables of a process that tell rank and world size, by who started it; the closest to the process first:
# what mpirun starts within a batch job inherits the SLURM_PROCID of the script, which is 0 for all.
LAUNCHERS = (
    ("RANK", "WORLD_SIZE"),  # torchrun
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
    ("PMIX_RANK", "PMIX_SIZE"),
)
JOB_NAMES = ("SLURM_JOB_ID", "TORCHELASTIC_RUN_ID", "LSB_JOBID", "PBS_JOBID")


def make_own_folder(folder):
    """Below a place that others may use, too: what is deleted there later must be nobody else's."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        raise PermissionError(f"{folder} is a link or belongs to another user")


def rank_and_world():
    """(rank, world size) of this process; (0, 1) where nothing tells them."""
    try:
        import torch.distributed as dist

        if dist.is_available() and dist.is_initialized():
            return dist.get_rank(), dist.get_world_size()
    except ImportError:
        pass
    for rank, world in LAUNCHERS:
        if os.environ.get(rank, "").isdigit():
            size = os.environ.get(world, "")
            return int(os.environ[rank]), int(size) if size.isdigit() else int(os.environ[rank]) + 1
    return 0, 1


def job_name():
    """Of the scheduler; "job" where none tells one."""
    for variable in JOB_NAMES:
        if os.environ.get(variable, "none") != "none":
            return os.environ[variable]
    return "job"


def name_of_job(job=None):
    """As a folder may be called; without a name, the scheduler's."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", job or job_name()).strip(".-") or "job"


def host_name(host=None):
    """Of this node, as a part of a file's name; "" where it has none of its own. Slurm's name for the node holds within its
    containers, too, where the system's name may be the container's."""
    if host is None:
        host = os.environ.get("SLURMD_NODENAME") or os.uname().nodename
    host = re.sub(r"[^A-Za-z0-9.-]+", "-", host).strip("-.")
    return "" if host.startswith("localhost") else host


def ship(path, target, world, capture):
    """Hands a file to `skewscope ship` in the background, one agent at a time on a node. Training goes on without it, too."""
    lock = os.path.join(os.path.dirname(path), f".{os.uname().nodename}.ship.lock")
    try:
        subprocess.Popen(["flock", lock, "skewscope", "ship", path, *target, "--world-size", str(world),
                          "--capture", str(capture), "--once", "--quiet"])
    except OSError as error:
        warnings.warn(f"{path} is not sent: {error}")


def record_hangs(directory, job=None, calls=2000, timing=False):
    """Has PyTorch leave what `skewscope hang` reads, should a collective time out: directory/JOB/dump_RANK, a dump of the
    flight recorder for each rank. Call it before torch.distributed starts. What the environment says already it leaves.

    directory  of the dumps, as of trace_handler
    calls      that each rank keeps, the last ones
    timing     when each call began on the GPU, too; costs an event per call
    """
    folder = os.path.join(directory, name_of_job(job))
    os.makedirs(directory, exist_ok=True)
    make_own_folder(folder)
    prefix = os.path.join(os.path.abspath(folder), "dump_")
    # Newer names, and those of PyTorch before 2.9.
    settings = {"TORCH_FR_DUMP_TEMP_FILE": prefix, "TORCH_NCCL_DEBUG_INFO_TEMP_FILE": prefix,
                "TORCH_FR_BUFFER_SIZE": calls, "TORCH_NCCL_TRACE_BUFFER_SIZE": calls, "TORCH_NCCL_DUMP_ON_TIMEOUT": 1}
    if timing:
        settings["TORCH_NCCL_ENABLE_TIMING"] = 1
    for variable, value in settings.items():
        os.environ.setdefault(variable, str(value))
    return folder


def trace_handler(directory, job=None, ranks=None, ship_to=None, token_file=None, ca=None, cert=None, key=None, host=None):
    """A function to pass as on_trace_ready.

    directory  of the traces; made where it is missing, a folder per job below it
    job        name of the job; default: the scheduler's job id
    ranks      only these write, for instance range(0, 1024, 8); default: all
    ship_to    URL of a `skewscope gather`: each whole file is handed to `skewscope ship`, which sends it in the background.
               The ranks of a node take turns, so that all of them cost what one agent may. What it cannot send it says on
               standard error. It ends with the job: what has not gone by then stays, for another `skewscope ship`
    token_file the job's token, readable by its owner alone; a gatherer on another machine wants one, for this very job name
    ca         certificates to trust, PEM; default: the system's
    cert, key  the node's certificate and its private key, PEM, for a gatherer that asks for one (--client-ca)
    host       of this node, in the names of files; default: Slurm's name for it (SLURMD_NODENAME), else the system's. In a
               container the system's may be the container's: give the node's, by the environment. "": none
    """
    job = name_of_job(job)
    captures = itertools.count()  # the schedule is the same on all ranks
    target = ["--to", ship_to, "--job", job]
    for flag, file in (("--token-file", token_file), ("--ca", ca), ("--cert", cert), ("--key", key)):
        target += [flag, os.fspath(file)] if file is not None else []

    def handle(profile):
        rank, world = rank_and_world()
        if ranks is not None and rank not in ranks:
            return
        folder = os.path.join(directory, job)
        os.makedirs(directory, exist_ok=True)
        make_own_folder(folder)
        node = host_name(host)
        at = f"@{node}" if node else ""
        name = f"{job}_rank{rank}-of-{world}{at}_step{profile.step_num}.pt.trace.json.gz"
        path, partial = os.path.join(folder, name), os.path.join(folder, f".{os.getpid()}.partial.{name}")
        try:
            profile.export_chrome_trace(partial)
            os.replace(partial, path)
        finally:
            if os.path.exists(partial):
                os.remove(partial)
        if ship_to is not None:
            ship(path, target, world, next(captures))

    return handle
