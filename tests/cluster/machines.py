"""Two machines on one kernel: a network, a name and a view of the disk for each. Needs root.

Both see a folder of the same path, `traces`; the first one's holds ranks 0 to 3 of a simulated job, the second one's ranks
4 to 7."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SKIPPED = 77
NAMES = ("first", "second")


class Machine:
    """A name, an address, and `traces` with files of its own. Lives as long as its first process."""

    def __init__(self, folder, name, mounts):
        self.folder, self.name = folder, name
        self.traces = folder / f"{name}.traces"
        self.traces.mkdir()
        first = f"hostname {name} && {mounts} && mount --bind {self.traces} {folder}/traces && echo up && exec sleep infinity"
        self.process = subprocess.Popen(["unshare", "--net", "--uts", "--mount", "sh", "-c", first],
                                        stdout=subprocess.PIPE)
        if self.process.stdout.readline() != b"up\n":
            raise OSError("no namespaces")
        (folder / f"{name}.pid").write_text(str(self.process.pid))

    def start(self, *command, **how):
        inside = ["nsenter", "-t", str(self.process.pid), "--net", "--uts", "--mount", f"--wd={self.folder}"]
        return subprocess.Popen([*inside, *map(str, command)], **how)

    def run(self, *command):
        if self.start(*command).wait() != 0:
            raise OSError(f"{self.name}: {command}")

    def plug_in(self, interface, address):
        subprocess.run(["ip", "link", "set", interface, "netns", str(self.process.pid)], check=True)
        self.run("ip", "address", "add", f"{address}/24", "dev", interface)
        for device in (interface, "lo"):
            self.run("ip", "link", "set", device, "up")

    def unplug(self):
        self.process.kill()
        self.process.wait()


class TwoMachines(unittest.TestCase):
    """`alone` is the report of one process that has all eight files."""
    where = None  # its folder lies; default: with all temporary files

    @classmethod
    def furnish(cls):
        """Before there are machines; the shell commands by which each makes its own view of the disk."""
        return "true"

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="skewscope_machines_", dir=cls.where))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        (cls.folder / "traces").mkdir()
        cls.machines, mounts = [], cls.furnish()
        for name in NAMES:
            cls.machines.append(Machine(cls.folder, name, mounts))
            cls.addClassCleanup(cls.machines[-1].unplug)
        subprocess.run(["ip", "link", "add", "skew0", "type", "veth", "peer", "name", "skew1"], check=True)
        for i, machine in enumerate(cls.machines):
            machine.plug_in(f"skew{i}", f"10.78.0.{i + 1}")
        subprocess.run([program(), "simulate", "-o", cls.folder / "all", "--nodes", "2", "--gpus", "4", "--tp", "4",
                        "--slow-rank", "5:1.1", "--clock-offset-ms", "5"], check=True, stdout=subprocess.DEVNULL)
        for rank in range(8):
            shutil.copy2(cls.folder / f"all/rank{rank}_trace.json", cls.machines[rank // 4].traces)
        subprocess.run([program(), "report", "all", "-o", "alone", "--job", "traces"], cwd=cls.folder, check=True,
                       stdout=subprocess.DEVNULL)

    def bytes_of(self, report):
        """Of report.json, but for what differs between equal runs, and of the tables."""
        folder = self.folder / report
        files = {file.name: file.read_bytes() for file in (folder / "tables").iterdir()}
        files["json"] = re.sub(r'"(created_utc|command)": ".*"', "", (folder / "report.json").read_text())
        return files

    def left(self, name):
        return [path.name for path in self.folder.iterdir() if path.name.startswith(name)]


def program():
    return os.path.abspath(sys.argv[1])


def main(*needed):
    """Runs the tests of the script that was started with `SKEWSCOPE [TEST...]`, or says what is missing."""
    missing = [name for name in ("unshare", "nsenter", "ip", *needed) if not shutil.which(name)]
    if os.geteuid() != 0 or missing:
        print("skipped: needs root" + "".join(f", {name}" for name in missing))
        sys.exit(SKIPPED)
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
