#!/usr/bin/env python3
"""`skewscope report` under mpirun on two machines (machines.py): each process reads the files beside it, the report is the
one of a process that has them all, and who dies takes the others along.
usage: mpirun.py SKEWSCOPE"""
import os
import signal
import subprocess
import time
from pathlib import Path

import machines

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
        return self.start(processes, machines.program(), "report", folder, "-o", name)

    def test_each_machine_reads_its_own_files_and_the_report_is_that_of_one_process(self):
        names = self.start(2, "hostname").communicate()[0]
        self.assertEqual(sorted(names.split()), ["first", "second"])
        for processes in (2, 7):
            run = self.report(processes, f"by{processes}")
            out, error = run.communicate()
            self.assertEqual(run.returncode, 0, error)
            # Open MPI's launcher may find that a process it has just started is further than itself, and says so.
            said = [line for line in error.splitlines() if line and "plm:rsh: Warning: setpgid" not in line]
            self.assertEqual(said, [])
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
        """Starts a report, kills `program` on the second machine as soon as it reads, and returns the run that it ended."""
        run = self.report(4, "killed")
        while len(self.processes_of(self.machines[1], "skewscope")) < 2:
            self.assertIsNone(run.poll(), "ended before it was killed")
            time.sleep(0.001)
        for process in self.processes_of(self.machines[1], "skewscope"):
            os.kill(process, signal.SIGSTOP)  # so that the first machine waits for it
        os.kill(self.processes_of(self.machines[1], program)[0], signal.SIGKILL)
        try:
            self.wait_for(run, may_hang=program == "orted")
        finally:
            for process in self.processes_of(self.machines[1], "skewscope"):
                os.kill(process, signal.SIGKILL)  # stopped, and without its launcher
        self.assertEqual(self.left("killed"), [])
        return run

    def wait_for(self, run, may_hang):
        """mpirun 4.1.4 `may_hang`: of 100 runs that lost a machine, one waits for ever for a lock in PMIx_server_finalize,
        when the processes of both machines are gone."""
        try:
            run.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            alive = self.processes_of(self.machines[0], "skewscope")
            run.kill()
            run.communicate()
            if alive or not may_hang:
                raise

    # What mpirun says of a lost process or machine is not asked for: of 100 runs on a busy machine, 15 do not say where.
    def test_a_process_killed_on_the_other_machine_ends_the_run_and_leaves_no_report(self):
        self.assertEqual(self.killed("skewscope").returncode, 128 + signal.SIGKILL)

    def test_a_machine_that_is_lost_ends_the_run_and_leaves_no_report(self):
        self.assertNotEqual(self.killed("orted").returncode, 0)


if __name__ == "__main__":
    machines.main("mpirun")
