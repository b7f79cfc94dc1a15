"""Inputs of scripts/bench, made once in build/bench and kept: simulated jobs, and real traces with their events repeated."""
import concurrent.futures
import gzip
import itertools
import os
import re
import shutil
from pathlib import Path

from harness import MB, SKEWSCOPE, TOP, WORK, run, say
from rings import write_rings

MANY_BYTES, BIG_BYTES = 150 * MB, 1200 * MB
LAYOUT = re.search(r"kDigestVersion = (\d+)", (TOP / "include" / "skewscope" / "digest.h").read_text())[1]
DIGESTS = WORK / f"digests_of_layout_{LAYOUT}"  # a program reads one


def made_once(folder, make):
    """A folder of traces that `make` fills; half-made ones never carry its name."""
    if not folder.exists():
        partial = folder.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        say(f"making {folder.relative_to(TOP)}")
        make(partial)
        partial.rename(folder)
    return folder


def size_of(folder):
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def simulate(folder, *options):
    shutil.rmtree(folder, ignore_errors=True)
    run(SKEWSCOPE, "simulate", "-o", folder, *options)
    (folder / "truth.json").unlink()


def training_job(folder, steps, gpus, only_rank=None):
    options = ["--nodes", 1, "--gpus", gpus, "--tp", min(gpus, 4), "--layers", 32, "--steps", steps]
    for rank in range(gpus):
        if only_rank not in (None, rank):
            options += ["--missing-rank", rank]
    simulate(folder, *options)


def of_bytes(gpus, bytes_per_file, only_rank=None):
    """Makes a job whose traces have about that size each: a short job tells how many steps it takes."""
    def make(folder):
        training_job(folder, 4, gpus, only_rank)
        largest = max(file.stat().st_size for file in folder.iterdir())
        training_job(folder, max(4, round(4 * bytes_per_file / largest)), gpus, only_rank)
    return make


def one_file(megabytes):
    return made_once(WORK / f"sim_{megabytes}mb", of_bytes(2, megabytes * MB, only_rank=0))


def thousand_ranks(folder):
    """1,000 ranks with text of their own: 1 MB each."""
    simulate(folder, "--nodes", 125, "--gpus", 8, "--tp", 8, "--layers", 2, "--steps", 6, "--clock-offset-ms", 5)


def thousand_files():
    return made_once(WORK / "sim_1000_files", thousand_ranks)


def many_ranks(ranks, steps, tp=8):
    """Digests of a job with unequal clocks and one slow rank; `tp` 1: data parallel, all calls are of one communicator."""
    return made_once(DIGESTS / f"{ranks}x{steps}_tp{tp}", lambda folder: simulate(
        folder, "--digests", "--nodes", ranks // 8, "--gpus", 8, "--tp", tp, "--layers", 16, "--steps", steps,
        "--slow-rank", "13:1.05", "--clock-offset-ms", 50, "--clock-drift-ppm", 20))


def rings(rounds):
    """Digests of 64 ranks that exchange messages in batches, 4 a round."""
    def make(folder):
        traces = folder.with_suffix(".traces")
        shutil.rmtree(traces, ignore_errors=True)
        traces.mkdir(parents=True)
        write_rings(traces, 64, rounds)
        run(SKEWSCOPE, "digest", traces, "-o", folder, "-q")
        shutil.rmtree(traces)
    return made_once(DIGESTS / f"rings_{rounds}", make)


def enlarge(sources, bytes_per_file):
    def make(folder):
        folder.mkdir(parents=True)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda source: run(TOP / "scripts" / "enlarge_trace.py", source,
                                             folder / source.name.removesuffix(".gz"), bytes_per_file), sources))
    return make


def python_stacks(megabytes):
    """A real trace with python stacks, enlarged; each address in a name is another one, the worst case for a table of names."""
    source = real_traces() / "single/tracelens/mi300_rank0of8_resnet_checkpoint.json.gz"

    def make(folder):
        enlarge([source], megabytes * MB)(folder)
        enlarged, numbers = folder / source.name.removesuffix(".gz"), itertools.count()
        with open(enlarged) as lines, open(folder / "python_stacks.json", "w") as text:
            for line in lines:
                text.write(re.sub(" at 0x[0-9a-f]{12}", lambda _: f" at 0x7f{next(numbers):010x}", line))
        enlarged.unlink()
    return made_once(WORK / f"python_stacks_{megabytes}mb", make)


def compress(plain):
    def one(job):
        source, target = job
        with open(source, "rb") as text, gzip.open(target, "wb", compresslevel=6) as packed:
            shutil.copyfileobj(text, packed, 1 << 20)

    def make(folder):
        folder.mkdir(parents=True)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(one, [(file, folder / (file.name + ".gz")) for file in sorted(plain.iterdir())]))
    return make


def real_traces():
    """The folder of real traces, None where there is none."""
    folder = Path(os.environ.get("SKEWSCOPE_TRACES", TOP / ".." / "shared" / "traces"))
    if folder.exists():
        return folder
    say("no real traces ($SKEWSCOPE_TRACES): simulated ones only")
    return None


def mixes():
    """label -> folder: many files and one, simulated and real, plain and gzip."""
    makers = {"simulated, 8 files": ("sim_many", of_bytes(8, MANY_BYTES)),
              "simulated, 1 file": ("sim_big", of_bytes(2, BIG_BYTES, only_rank=0)),
              "simulated, 1,000 files": ("sim_1000_files", thousand_ranks)}
    if traces := real_traces():
        makers["real V100, 8 files"] = ("real_many", enlarge(sorted((traces / "dlrm_8rank").glob("*.json.gz")), MANY_BYTES))
        makers["real A100, 1 file"] = ("real_big", enlarge(
            sorted((traces / "single").glob("*/a100_rank0of2_nccl_args.json.gz")), BIG_BYTES))
    folders = {}
    for label, (name, make) in makers.items():
        folders[label + ", plain"] = plain = made_once(WORK / name, make)
        folders[label + ", gzip"] = made_once(WORK / (name + "_gz"), compress(plain))
    return folders
