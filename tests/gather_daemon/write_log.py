"""A disk whose power can be cut at any moment: a loop device over one file that a FUSE program serves and logs.

The program writes down each write with its bytes, and each flush, in the order they came. The states that a power loss
may leave are then built from the log: all writes up to the last flush before it, and any part of those after it.
usage: write_log.py FILE LOG FOLDER    serves FILE as FOLDER/disk until it is unmounted"""
import os
import struct
import subprocess
import sys
import time
from pathlib import Path

WRITE, FLUSH = 0, 1
HEAD = struct.Struct("<BQI")
SECTOR, BLOCK, CHUNK = 512, 4096, 65536
MAKE = {"ext4": ("mkfs.ext4", "-q", "-b", BLOCK, "-J", "size=4", "-E", "lazy_itable_init=0,nodiscard"),
        "btrfs": ("mkfs.btrfs", "-q", "--nodiscard", "--metadata", "single")}
# File systems take these blocks as written whole or not at all: their superblocks.
WHOLE = {"ext4": {0}, "btrfs": {64 << 10, 64 << 20}}


def serve(image, log, folder):
    import fusepy

    class Disk(fusepy.Operations):
        def __init__(self):
            self.image = os.open(image, os.O_RDWR)
            self.log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            self.size = os.fstat(self.image).st_size

        def getattr(self, path, handle=None):
            if path == "/":
                return {"st_mode": 0o40700, "st_nlink": 2}
            if path != "/disk":
                raise fusepy.FuseOSError(2)
            return {"st_mode": 0o100600, "st_nlink": 1, "st_size": self.size}

        def read(self, path, size, offset, handle):
            return os.pread(self.image, size, offset)

        def write(self, path, data, offset, handle):
            os.write(self.log, HEAD.pack(WRITE, offset, len(data)) + data)
            return os.pwrite(self.image, data, offset)

        def fsync(self, path, data_only, handle):
            os.write(self.log, HEAD.pack(FLUSH, 0, 0))
            return 0

    fusepy.FUSE(Disk(), folder, foreground=True, nothreads=True, big_writes=True, max_write=131072)


def run(*command, check=True):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    if check and done.returncode != 0:
        raise OSError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done


def python_with_fuse():
    """An interpreter that has Debian's python3-fusepy, or None."""
    for python in (sys.executable, "/usr/bin/python3"):
        if os.path.exists(python) and run(python, "-c", "import fusepy", check=False).returncode == 0:
            return python
    return None


class Mounted:
    """A file with a file system in it, as a folder; a context manager."""

    def __init__(self, image, folder, file_system, options):
        self.image, self.folder, self.file_system, self.options = image, Path(folder), file_system, options
        self.folder.mkdir(exist_ok=True)

    def __enter__(self):
        for attempt in range(50):  # another may take the loop device that was free a moment ago
            done = run("losetup", "--find", "--show", self.image, check=attempt == 49)
            if done.returncode == 0:
                break
            time.sleep(0.1)
        loop = done.stdout.strip()
        try:
            run("mount", "-t", self.file_system, "-o", self.options, loop, self.folder)
        finally:
            run("losetup", "--detach", loop)  # goes when it is unmounted
        return self.folder

    def __exit__(self, *_):
        for attempt in range(100):
            if run("umount", self.folder, check=attempt == 99).returncode == 0:
                break
            time.sleep(0.05)


class Recorder:
    """The disk while it is written to; `folder` should lie in memory."""

    def __init__(self, folder, megabytes, file_system):
        self.folder, self.file_system = Path(folder), file_system
        self.image, self.log, self.fuse = self.folder / "image", self.folder / "log", self.folder / "fuse"
        self.fuse.mkdir(parents=True)
        with open(self.image, "wb") as file:
            file.truncate(megabytes << 20)
        run(*MAKE[file_system], self.image)

    def __enter__(self):
        self.log.touch()
        self.before = self.folder / "before"
        run("cp", "--sparse=always", self.image, self.before)
        self.server = subprocess.Popen([python_with_fuse(), __file__, self.image, self.log, self.fuse])
        for _ in range(200):
            if (self.fuse / "disk").exists():
                return self
            time.sleep(0.05)
        raise OSError("the FUSE program does not come up")

    def __exit__(self, *_):
        run("umount", self.fuse, check=False)
        self.server.terminate()
        self.server.wait()

    def position(self):
        """What is in the log before this many bytes of it happened before now."""
        return os.stat(self.log).st_size


class States:
    """The states of `recorder`'s disk after a power loss; positions must not decrease."""

    def __init__(self, recorder):
        self.file_system, self.log = recorder.file_system, recorder.log.read_bytes()
        self.image = bytearray(recorder.before.read_bytes())
        self.used = {at for at in range(0, len(self.image), CHUNK) if self.image.count(0, at, at + CHUNK) < CHUNK}
        self.records, self.flushed_to = [], 0
        at = 0
        while at < len(self.log):
            kind, offset, length = HEAD.unpack_from(self.log, at)
            at += HEAD.size
            self.records.append((at + length, kind, offset, at, length))
            at += length

    def ends(self):
        """The positions after each record."""
        return [record[0] for record in self.records]

    def write(self, offset, begin, length):
        self.image[offset:offset + length] = self.log[begin:begin + length]
        self.used.update(range(offset // CHUNK * CHUNK, offset + length, CHUNK))

    def state_at(self, position, path, choose):
        """Writes to `path` a state that a power loss at `position` may leave; says in words which."""
        first = self.flushed_to
        last = next((i for i in range(first, len(self.records)) if self.records[i][0] > position), len(self.records))
        flush = next((i for i in range(last - 1, first - 1, -1) if self.records[i][1] == FLUSH), None)
        if flush is not None:
            for _, kind, offset, begin, length in self.records[first:flush]:
                if kind == WRITE:
                    self.write(offset, begin, length)
            self.flushed_to = first = flush + 1
        pending = self.records[first:last]
        manner = choose.choice(("none", "all", "blocks", "sectors", "whole writes"))
        share = {"none": 0, "all": 1}.get(manner, choose.random())
        kept = []
        for _, _, offset, begin, length in pending:
            whole = offset in WHOLE[self.file_system] or manner not in ("sectors", "blocks")
            step = length if whole else SECTOR if manner == "sectors" else BLOCK
            kept += [(offset + at, begin + at, min(step, length - at)) for at in range(0, length, step) if choose.random() < share]
        saved = [(offset, self.image[offset:offset + length]) for offset, _, length in kept]
        for piece in kept:
            self.write(*piece)
        with open(path, "wb") as file:
            file.truncate(len(self.image))
            for at in sorted(self.used):
                file.seek(at)
                file.write(memoryview(self.image)[at:at + CHUNK])
        for offset, bytes_before in reversed(saved):
            self.image[offset:offset + len(bytes_before)] = bytes_before
        return f"position {position}, {len(pending)} writes since the flush, {manner}, share {share:.2f}"


if __name__ == "__main__":
    serve(*sys.argv[1:4])
