#!/usr/bin/env python3
"""configs/container/Containerfile, each step of it, on a machine of its own (root.py) in place of its base image and with no
container engine: then the gatherer as the first process of a container of Kubernetes with a read-only root and no
capability; it is healthy, takes a job and reports on it. What apt-get would download must be on this machine.
usage: container.py SKEWSCOPE BUILD"""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from root import PROGRAM, SHIP, Root, child_of, main, make_package, settle

FILE = Path(__file__).resolve().parents[2] / "configs/container/Containerfile"


def steps():
    """(instruction, rest of its line) of each."""
    text = re.sub(r"^#.*\n", "", FILE.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [tuple(line.split(maxsplit=1)) for line in text.splitlines() if line.strip()]


class Image:
    """What building leaves in a root, whose folder of build is `context`."""

    def __init__(self, root, context):
        self.root, self.context = root, context
        self.told = {}  # what is for whoever runs it
        for instruction, rest in steps():
            if instruction == "COPY":
                self.copy(*rest.split())
            elif instruction == "RUN":
                root.run("sh", "-c", rest)
            else:
                self.told[instruction] = rest

    def copy(self, pattern, target):
        (source,) = self.context.glob(pattern)
        shutil.copy(source, self.root.path / target.lstrip("/"))

    def health(self):
        """What its check says; an error is raised where it fails."""
        return self.root.run("sh", "-c", self.told["HEALTHCHECK"].split(" CMD ")[1])

    def mount(self):
        """The volume, empty and its owner's; everything else but /run can only be read from here on."""
        folder = self.told["VOLUME"]
        options = self.root.run("stat", "-c", "uid=%u,gid=%g,mode=%a", folder).strip()
        self.root.run("mount", "-t", "tmpfs", "-o", options, "volume", folder)
        for folder in ("/tmp", "/"):
            self.root.run("mount", "-o", "remount,ro", folder)

    def start(self, **how):
        """As the first process of its own, of the user, who can come to no more rights."""
        user, group = self.told["USER"].split(":")
        return self.root.start("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "setpriv", "--reuid", user, "--regid", group,
                               "--clear-groups", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", *json.loads(self.told["ENTRYPOINT"]),
                               **how)


class Container(unittest.TestCase):
    def test_each_step_is_done_and_the_gatherer_reports_on_a_job(self):
        with tempfile.TemporaryDirectory() as folder:
            make_package(folder)
            root = Root()
            self.addCleanup(root.end)
            # No source to ask: what is installed on this machine is all that there is.
            root.run("rm", "-rf", "/etc/apt/sources.list", "/etc/apt/sources.list.d", "/var/lib/apt/lists")
            image = Image(root, Path(folder))
        settle(root)
        subprocess.run([PROGRAM, "simulate", "-o", root.path / "traces", "--nodes", "1", "--gpus", "2", "--tp", "1", "--steps", "3"],
                       check=True, stdout=subprocess.DEVNULL)
        (root.path / "agent").mkdir()
        root.run("mount", "-t", "tmpfs", "state", "/agent")
        image.mount()
        with self.assertRaises(AssertionError):
            root.run("touch", "/file")
        with self.assertRaises(AssertionError):
            image.health()  # before it runs
        gatherer = image.start(stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertIn('"event":"ready"', gatherer.stdout.readline())
        self.assertEqual(image.health(), "healthy\n")
        root.run(*SHIP, "--state", "/agent")
        self.assertEqual(self.report_of(root), "complete")
        unshare = child_of(gatherer)
        first = Path(f"/proc/{unshare}/task/{unshare}/children").read_text().split()[0]
        os.kill(int(first), signal.SIGTERM)
        gatherer.communicate(timeout=12)
        self.assertEqual(gatherer.returncode, 0)

    def report_of(self, root):
        token = (root.path / "tmp/token").read_text().strip()
        for _ in range(200):
            job = json.loads(root.run("curl", "--silent", "--cacert", "/etc/skewscope/ca.pem", "--header", f"Authorization: Bearer {token}",
                                      "https://localhost:7475/v1/jobs/run"))
            if job["report_state"] in ("complete", "partial", "failed"):
                break
            time.sleep(0.1)
        return job["report_state"]


if __name__ == "__main__":
    main(unittest.main)
