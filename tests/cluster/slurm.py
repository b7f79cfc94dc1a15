#!/usr/bin/env python3
"""configs/slurm/report.sbatch under a Slurm of two nodes (machines.py) with daemons of its own: one process on each reads
the files beside it, and the report is the one of a process that has them all.
usage: slurm.py SKEWSCOPE"""
import os
import subprocess
import time
from pathlib import Path

import machines

SCRIPT = Path(__file__).resolve().parents[2] / "configs/slurm/report.sbatch"
CONFIGURATION = """
ClusterName=two
SlurmctldHost=first(10.78.0.1)
SlurmUser=root
SlurmdUser=root
AuthInfo=socket={folder}/munge/socket
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.slurmd.pid
SlurmdSpoolDir={folder}/%n.spool
TmpFS={folder}/%n.tmp
ProctrackType=proctrack/linuxproc
SchedulerParameters=batch_sched_delay=0,sched_interval=1
ReturnToService=2
NodeName=first NodeAddr=10.78.0.1 CPUs=1
NodeName=second NodeAddr=10.78.0.2 CPUs=1
PartitionName=all Nodes=ALL Default=YES
"""


class UnderSlurm(machines.TwoMachines):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.folder / "slurm.conf").write_text(CONFIGURATION.format(folder=cls.folder))
        for name in ("state", "munge", "bin", *(f"{node}.{kind}" for node in machines.NAMES for kind in ("spool", "tmp"))):
            (cls.folder / name).mkdir(mode=0o755)
        (cls.folder / "bin/skewscope").symlink_to(machines.program())
        os.environ["SLURM_CONF"] = str(cls.folder / "slurm.conf")
        os.environ["PATH"] = f"{cls.folder}/bin:{os.environ['PATH']}"
        os.environ["OMPI_MCA_btl_tcp_if_include"] = "10.78.0.0/24"
        cls.start_munge(cls.folder / "munge")
        first, second = cls.machines
        cls.start(first, "slurmctld", "-D")
        cls.start(first, "slurmd", "-D", "-N", "first")
        cls.start(second, "slurmd", "-D", "-N", "second")

    @classmethod
    def start(cls, machine, *command):
        with open(cls.folder / f"{machine.name}.{command[0]}.log", "wb") as log:
            process = machine.start(*command, stdout=log, stderr=log)
        cls.addClassCleanup(process.wait)
        cls.addClassCleanup(process.terminate)

    @classmethod
    def start_munge(cls, folder):
        key = folder / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        process = subprocess.Popen(["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={folder}/socket",
                                    f"--pid-file={folder}/pid", f"--seed-file={folder}/seed"], stderr=subprocess.DEVNULL)
        cls.addClassCleanup(process.wait)
        cls.addClassCleanup(process.terminate)

    def run_in_first(self, *command):
        done = self.machines[0].start(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        out, error = done.communicate(timeout=120)
        return done.returncode, out + error

    def logs(self):
        return "".join(f"{path.name}:\n{path.read_text()}" for path in sorted(self.folder.glob("*.log")))

    def await_nodes(self):
        deadline = time.monotonic() + 60
        while self.run_in_first("sinfo", "-h", "-t", "idle", "-o", "%D") != (0, "2\n"):
            self.assertLess(time.monotonic(), deadline, "no idle nodes\n" + self.logs())
            time.sleep(0.2)

    def test_the_batch_script_reports_on_what_lies_on_two_nodes(self):
        self.await_nodes()
        self.assertEqual(sorted(self.run_in_first("srun", "-N2", "hostname")[1].split()), sorted(machines.NAMES))
        code, text = self.run_in_first("sbatch", "--wait", "--nodes=2", "--output=job.log", SCRIPT,
                                       "traces", "slurm")
        self.assertEqual(code, 0, text + self.logs())
        self.assertIn("Rank 5 is the cause", (self.folder / "job.log").read_text())
        self.assertEqual(self.bytes_of("slurm"), self.bytes_of("alone"))


if __name__ == "__main__":
    machines.main("munged", "slurmctld", "slurmd", "srun", "sbatch")
