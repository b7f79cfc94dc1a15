#!/usr/bin/env python3
"""`skewscope report` under mpirun on two machines: a network, a name and a view of the disk for each, on one kernel.

Both see a folder of the same path; the first one's holds ranks 0 to 3 of a simulated job, the second one's ranks 4 to 7.
The report is the one of a process that has all eight files; who dies takes the others along. Needs root and mpirun.
usage: two_machines.py SKEWSCOPE"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

SKIPPED = 77
# In a machine, started by mpirun on the other one: HOST COMMAND...
AGENT = """#!/bin/sh
machine=$1
shift
exec nsenter -t "$(cat {folder}/$machine.pid)" --net --uts --mount sh -c "cd {folder}; $*"
"""


class Machine:
    """A name, an address, and `traces` with files of its own. Lives as long as its first process."""

    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        self.traces = folder / f"{name}.traces"
        self.traces.mkdir()
        first = f"hostname {name} && mount --bind {self.traces} {folder}/traces && echo up && exec sleep infinity"
        self.process = subprocess.Popen(["unshare", "--net", "--uts", "--mount", "sh", "-c", first], stdout=subprocess.PIPE)
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
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="skewscope_machines_"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        (cls.folder / "traces").mkdir()
        agent = cls.folder / "agent"
        agent.write_text(AGENT.format(folder=cls.folder))
        agent.chmod(0o755)
        cls.machines = []
        for name in ("first", "second"):
            cls.machines.append(Machine(cls.folder, name))
            cls.addClassCleanup(cls.machines[-1].unplug)
        subprocess.run(["ip", "link", "add", "skew0", "type", "veth", "peer", "name", "skew1"], check=True)
        for i, machine in enumerate(cls.machines):
            machine.plug_in(f"skew{i}", f"10.78.0.{i + 1}")
        subprocess.run([SKEWSCOPE, "simulate", "-o", cls.folder / "all", "--nodes", "2", "--gpus", "4", "--tp", "4",
                        "--slow-rank", "5:1.1", "--clock-offset-ms", "5"], check=True, stdout=subprocess.DEVNULL)
        for rank in range(8):
            shutil.copy2(cls.folder / f"all/rank{rank}_trace.json", cls.machines[rank // 4].traces)
        subprocess.run([SKEWSCOPE, "report", "all", "-o", "alone", "--job", "two"], cwd=cls.folder, check=True,
                       stdout=subprocess.DEVNULL)

    def start(self, processes, *command):
        """On the first machine, which starts what runs on the second."""
        # A session folder of its own: two at once make and remove the one that all of a user share.
        return self.machines[0].start(
            "mpirun", "--allow-run-as-root", "--host", "first:4,second:4", "--map-by", "node", "-np", processes,
            "--mca", "plm_rsh_agent", self.folder / "agent", "--mca", "orte_tmpdir_base", self.folder, *command,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def report(self, processes, name, folder="traces"):
        return self.start(processes, SKEWSCOPE, "report", folder, "-o", name, "--job", "two")

    def bytes_of(self, report):
        """Of report.json, but for what differs between equal runs, and of the tables."""
        folder = self.folder / report
        files = {file.name: file.read_bytes() for file in (folder / "tables").iterdir()}
        files["json"] = re.sub(r'"(created_utc|command)": ".*"', "", (folder / "report.json").read_text())
        return files

    def sent(self):
        return int(Path("/sys/class/net/skew0/statistics/tx_bytes").read_text())

    def left(self, name):
        return [path.name for path in self.folder.iterdir() if path.name.startswith(name)]

    def test_each_machine_reads_its_own_files_and_the_report_is_that_of_one_process(self):
        names = self.start(2, "hostname").communicate()[0]
        self.assertEqual(sorted(names.split()), ["first", "second"])
        for processes in (2, 7):
            run = self.report(processes, f"by{processes}")
            out, error = run.communicate()
            self.assertEqual(run.returncode, 0, error)
            self.assertEqual(error, "")
            self.assertIn("Rank 5 is the cause", out)
            self.assertEqual(self.bytes_of(f"by{processes}"), self.bytes_of("alone"))

    def test_a_file_of_one_machine_alone_is_found(self):
        run = self.report(2, "one", "traces/rank6_trace.json")
        error = run.communicate()[1]
        self.assertEqual(run.returncode, 0, error)
        self.assertIn('"rank": 6', (self.folder / "one/report.json").read_text())

    def test_what_no_machine_has_is_said_once(self):
        run = self.report(2, "none", "traces/rank9_trace.json")
        error = run.communicate()[1]
        self.assertEqual(run.returncode, 3)
        self.assertEqual(error.count("rank9_trace.json: no such file"), 1)

    def processes_of(self, machine, program):
        """Ids of `program`'s processes that see the machine's network."""
        own, found = os.stat(f"/proc/{machine.process.pid}/ns/net").st_ino, []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if (folder / "comm").read_text().strip() == program and os.stat(folder / "ns/net").st_ino == own:
                    found.append(int(folder.name))
            except OSError:
                pass
        return found

    def killed(self, program):
        """Starts a report, kills `program` on the second machine as soon as it reads, and returns the run's end."""
        run = self.report(4, "killed")
        while len(self.processes_of(self.machines[1], "skewscope")) < 2:
            self.assertIsNone(run.poll(), "ended before it was killed")
            time.sleep(0.001)
        for process in self.processes_of(self.machines[1], "skewscope"):
            os.kill(process, signal.SIGSTOP)  # so that the first machine waits for it
        os.kill(self.processes_of(self.machines[1], program)[0], signal.SIGKILL)
        error = run.communicate(timeout=60)[1]
        for process in self.processes_of(self.machines[1], "skewscope"):
            os.kill(process, signal.SIGKILL)  # stopped, and without its launcher
        self.assertNotEqual(run.returncode, 0)
        self.assertEqual(self.left("killed"), [])
        return error

    def test_a_process_killed_on_the_other_machine_ends_the_run_and_leaves_no_report(self):
        self.assertRegex(self.killed("skewscope"), r"node second exited on signal 9")

    def test_a_machine_that_is_lost_ends_the_run_and_leaves_no_report(self):
        self.assertIn("second", self.killed("orted"))


if __name__ == "__main__":
    SKEWSCOPE = os.path.abspath(sys.argv.pop(1))
    if os.geteuid() != 0 or not all(map(shutil.which, ("mpirun", "unshare", "nsenter", "ip"))):
        print("skipped: needs root, mpirun (Debian: openmpi-bin), util-linux and iproute2")
        sys.exit(SKIPPED)
    unittest.main()
