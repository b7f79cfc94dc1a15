#!/usr/bin/env python3
"""The daemon on small file systems of its own: full of bytes, full of names, filled and emptied by somebody else.

What was promised stays; uploads whose space was reserved finish on the full disk; others are refused with 507 and come
through once there is room. Skipped where nothing can be mounted.
usage: disk_full.py SKEWSCOPE     1 fill, 10 with SKEWSCOPE_DOSE=nightly"""
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from daemon import Daemon, digest_of, dose
from report_bounds import bomb

PIECE = 1 << 20


def run(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True)


class SmallDisk(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="skewscope_disk_"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def mounted(self, done, at):
        if done.returncode != 0:
            self.skipTest(f"cannot mount: {done.stderr.strip()}")
        self.addCleanup(run, "umount", "-l", at)

    def tmpfs(self, *options):
        at = self.folder / "spool"
        at.mkdir()
        self.mounted(run("mount", "-t", "tmpfs", "-o", ",".join(("size=128m",) + options), "none", at), at)
        return at

    def ext4(self, *options):
        return self.image("mkfs.ext4", 128 << 20, *options)

    def image(self, make, size, *options):
        at, image = self.folder / "spool", self.folder / "image"
        at.mkdir()
        with open(image, "wb") as file:
            file.truncate(size)
        if not shutil.which(make):
            self.skipTest(f"no {make}")
        made = run(make, "-q", *options, image)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.mounted(run("mount", "-o", "loop", image, at), at)
        return at

    def daemon(self):
        daemon = Daemon("--reserved-disk", 0, "--soft-disk", 1, "--hard-disk", 1, folder=self.folder).start()
        self.addCleanup(lambda: daemon.ended() or daemon.stop())
        return daemon

    def ends_well(self, daemon, promised):
        self.assertFalse(daemon.ended(), daemon.log_text()[-2000:])
        for rank, content in promised.items():
            self.assertEqual(digest_of(daemon.ask("GET", f"/v1/jobs/run/ranks/{rank}").body), digest_of(content))
        self.assertEqual(daemon.stop(), 0)
        code, text = daemon.check()
        self.assertEqual(code, 0, text)
        self.assertEqual(sorted(map(digest_of, daemon.stored().values())), sorted(map(digest_of, promised.values())))

    def fill(self, filler):
        """What is left of the disk, to its last block."""
        with open(filler, "wb", buffering=0) as file:
            for size in (PIECE, 4096):
                try:
                    while file.write(b"x" * size):
                        pass
                except OSError:
                    pass

    def finish_after_a_restart(self, spool):
        """An upload whose space was reserved, by a daemon that starts on the full disk."""
        daemon, content = self.daemon(), os.urandom(32 * PIECE)
        daemon.ask("PUT", "/v1/jobs/run", body=b'{"world_size": 1000}')
        path = daemon.create(len(content))["Location"]
        self.assertEqual(daemon.patch(path, 0, content[:PIECE]).status, 204)
        self.fill(spool / "somebody-else")
        daemon.stop(signal.SIGKILL)
        daemon.start()
        self.assertEqual(daemon.put(os.urandom(PIECE), rank=1).status, 507)
        self.assertEqual(daemon.patch(path, PIECE, content[PIECE:]).status, 204)
        (spool / "somebody-else").unlink()
        self.ends_well(daemon, {0: content})

    def test_a_report_eighty_times_as_large_as_its_trace_leaves_others_their_disk(self):
        self.tmpfs()
        daemon = Daemon("--debounce", 1, folder=self.folder).start()
        self.addCleanup(lambda: daemon.ended() or daemon.stop())
        self.assertEqual(daemon.put(bomb(150_000), "bomb", 0, query="?world_size=1").status, 201)
        made, others = 0, 0
        while made < 2:  # and tried again: there may be more room by then
            self.assertEqual(daemon.put(os.urandom(1000), f"other{others}", 0).status, 201)
            self.assertEqual(daemon.ask("GET", "/-/ready", admin=True).status, 200)
            others += 1
            time.sleep(0.05)
            made = len([line for line in daemon.log_lines() if line.get("event") == "report"])
        print(f"{others} others beside {made} reports")

    def fill_and_empty(self, spool, fills):
        daemon, promised, refused, rank = self.daemon(), {}, 0, 0
        daemon.ask("PUT", "/v1/jobs/run", body=b'{"world_size": 1000}')
        filler = spool / "somebody-else"
        for _ in range(fills):
            reserved = os.urandom(4 * PIECE)
            path = daemon.create(len(reserved), rank=rank)["Location"]
            self.assertEqual(daemon.patch(path, 0, reserved[:PIECE]).status, 204)
            self.fill(filler)
            unknown = daemon.create(None, rank=rank + 1)  # its length is not known: nothing is reserved
            content = os.urandom(PIECE)
            answers = [daemon.put(content, rank=rank + 2), daemon.create(len(content), rank=rank + 2)]
            if unknown.status == 201:
                answers.append(daemon.patch(unknown["Location"], 0, content, Upload_Length=len(content)))
            self.assertEqual({answer.status for answer in answers}, {507})
            refused += len(answers)
            for offset in range(PIECE, len(reserved), PIECE):
                self.assertEqual(daemon.patch(path, offset, reserved[offset:offset + PIECE]).status, 204)
            promised[rank] = reserved
            filler.unlink()
            self.assertEqual(daemon.put(content, rank=rank + 2).status, 201)
            promised[rank + 2] = content
            if unknown.status == 201:
                daemon.ask("DELETE", unknown["Location"])
            rank += 3
        print(f"{fills} fills, {refused} refused, {len(promised)} kept")
        self.ends_well(daemon, promised)

    def test_reserved_uploads_finish_on_a_full_tmpfs_and_others_come_through_later(self):
        self.fill_and_empty(self.tmpfs(), dose(1, 10))

    def test_reserved_uploads_finish_on_a_full_ext4_and_others_come_through_later(self):
        self.fill_and_empty(self.ext4(), dose(1, 8))

    def test_a_daemon_that_starts_on_a_full_ext4_finishes_what_was_reserved(self):
        self.finish_after_a_restart(self.ext4())

    def test_a_daemon_that_starts_on_a_full_xfs_finishes_what_was_reserved(self):
        self.finish_after_a_restart(self.image("mkfs.xfs", 320 << 20))

    def use_up_names(self, spool):
        """Small files until there is no room for another name."""
        daemon, others, promised = self.daemon(), spool / "others", {}
        daemon.ask("PUT", "/v1/jobs/run", body=b'{"world_size": 1000}')
        others.mkdir()
        for number in range(8):
            (others / str(number)).touch()
        for rank in range(500):
            content = b"%d" % rank
            status = daemon.put(content, rank=rank).status
            if status != 201:
                break
            promised[rank] = content
        self.assertEqual(status, 507)
        self.assertGreater(len(promised), 10)
        self.assertEqual(daemon.ask("GET", "/-/healthy", admin=True).status, 200)
        shutil.rmtree(others)
        self.assertEqual(daemon.put(b"now", rank=900).status, 201)
        self.ends_well(daemon, {**promised, 900: b"now"})

    def test_without_inodes_of_a_tmpfs_files_are_refused_and_those_that_are_there_stay(self):
        self.use_up_names(self.tmpfs("nr_inodes=70"))

    def test_without_inodes_of_an_ext4_files_are_refused_and_those_that_are_there_stay(self):
        self.use_up_names(self.ext4("-N", "80"))


if __name__ == "__main__":
    unittest.main()
