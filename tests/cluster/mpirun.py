#!/usr/bin/env python3
"""`skewscope-mpi report` under mpirun on two machines (machines.py): each process reads the files beside it, the report is the
one of a process that has them all, and who dies takes the others along.
usage: mpirun.py SKEWSCOPE-MPI"""
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import machines
from machines import NAMES

# In a machine, started by mpirun on the other one: HOST COMMAND...
AGENT = """#!/bin/sh
machine=$1
shift
exec nsenter -t "$(cat {folder}/$machine.pid)" --net --uts --mount sh -c "cd {folder}; $*"
"""


class UnderMpirun(machines.TwoMachines):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        agent = cls.folder / "agent"
        agent.write_text(AGENT.format(folder=cls.folder))
        agent.chmod(0o755)

    def start(self, processes, *command):
        """On the first machine, which starts what runs on the second."""
        # A session folder of its own: two at once make and remove the one that all of a user share.
        return self.machines[0].start(
            "mpirun", "--allow-run-as-root", "--host", "first:4,second:4", "--map-by", "node", "-np", processes,
            "--mca", "plm_rsh_agent", self.folder / "agent", "--mca", "orte_tmpdir_base", self.folder, *command,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def report(self, processes, name, folder="traces"):
        shutil.rmtree(self.folder / name, ignore_errors=True)
        return self.start(processes, machines.program(), "report", folder, "-o", name)

    def end_of(self, start, watched=NAMES):
        """Output, errors and exit code of the run that `start` starts. mpirun 4.1.4 and its daemon wait, of 100 runs one, for
        ever for a lock in PMIx_server_finalize when all is done: such a run, of which nothing is left on the `watched`
        machines, is done again."""
        for _ in range(3):
            run = start()
            try:
                out, error = run.communicate(timeout=40)
                return out, error, run.returncode
            except subprocess.TimeoutExpired:
                alive = [name for name in watched if self.processes_of(name, "skewscope-mpi")]
                for name in NAMES:
                    self.kill_all(name, "orted")
                run.kill()
                run.communicate()
                self.assertEqual(alive, [], "processes of the report hang")
        return self.fail("mpirun hung three times")

    def test_each_machine_reads_its_own_files_and_the_report_is_that_of_one_process(self):
        names = self.end_of(lambda: self.start(2, "hostname"))[0]
        self.assertEqual(sorted(names.split()), ["first", "second"])
        for processes in (2, 7):
            out, error, code = self.end_of(lambda: self.report(processes, f"by{processes}"))
            self.assertEqual(code, 0, error)
            # Open MPI's launcher may find that a process it has just started is further than itself, and says so.
            said = [line for line in error.splitlines() if line and "plm:rsh: Warning: setpgid" not in line]
            self.assertEqual(said, [])
            self.assertIn("Rank 5 causes", out)
            self.assertEqual(self.bytes_of(f"by{processes}"), self.bytes_of("alone"))

    def test_a_file_of_one_machine_alone_is_found(self):
        _, error, code = self.end_of(lambda: self.report(2, "one", "traces/rank6_trace.json"))
        self.assertEqual(code, 0, error)
        self.assertIn('"rank": 6', (self.folder / "one/report.json").read_text())

    def test_what_no_machine_has_is_said_once(self):
        _, error, code = self.end_of(lambda: self.report(2, "none", "traces/rank9_trace.json"))
        self.assertEqual(code, 3)
        self.assertEqual(error.count("rank9_trace.json: no such file"), 1)

    def processes_of(self, name, program):
        """Ids of `program`'s processes that see the network of the machine of that name."""
        machine = self.machines[NAMES.index(name)]
        own, found = os.stat(f"/proc/{machine.process.pid}/ns/net").st_ino, []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if (folder / "comm").read_text().strip() == program and os.stat(folder / "ns/net").st_ino == own:
                    found.append(int(folder.name))
            except OSError:
                pass
        return found

    def kill_all(self, name, program):
        for process in self.processes_of(name, program):
            os.kill(process, signal.SIGKILL)

    def started_and_killed(self, program):
        """A report of which `program` was killed on the second machine as soon as it read there."""
        run = self.report(4, "killed")
        while len(self.processes_of("second", "skewscope-mpi")) < 2:
            self.assertIsNone(run.poll(), "ended before it was killed")
            time.sleep(0.001)
        for process in self.processes_of("second", "skewscope-mpi"):
            os.kill(process, signal.SIGSTOP)  # so that the first machine waits for it
        os.kill(self.processes_of("second", program)[0], signal.SIGKILL)
        return run

    def exit_code_with_killed(self, program):
        try:
            code = self.end_of(lambda: self.started_and_killed(program), watched=NAMES[:1])[2]
        finally:
            self.kill_all("second", "skewscope-mpi")  # stopped, and without its launcher
        self.assertEqual(self.left("killed"), [])
        return code

    # What mpirun says of a lost process or machine is not asked for: of 100 runs on a busy machine, 15 do not say where.
    def test_a_process_killed_on_the_other_machine_ends_the_run_and_leaves_no_report(self):
        self.assertEqual(self.exit_code_with_killed("skewscope-mpi"), 128 + signal.SIGKILL)

    def test_a_machine_that_is_lost_ends_the_run_and_leaves_no_report(self):
        self.assertNotEqual(self.exit_code_with_killed("orted"), 0)


if __name__ == "__main__":
    machines.main("mpirun")
