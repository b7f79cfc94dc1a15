"""A Slurm of two nodes (machines.py) with daemons of its own; the first one is the head, too."""
import os
import shutil
import subprocess
import time

import machines

CONFIGURATION = """
ClusterName=two
SlurmctldHost=first(10.78.0.1)
SlurmUser={user}
SlurmdUser=root
AuthInfo=socket={folder}/munge/munge.socket.2,cred_expire=10
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/state/slurmctld.pid
SlurmdPidFile={folder}/%n.slurmd.pid
SlurmdSpoolDir={folder}/%n.spool
SlurmdParameters=config_overrides
TmpFS={folder}/%n.tmp
ProctrackType=proctrack/linuxproc
SchedulerParameters=batch_sched_delay=0,sched_interval=1
ReturnToService=2
NodeName=first NodeAddr=10.78.0.1 CPUs=4
NodeName=second NodeAddr=10.78.0.2 CPUs=4
PartitionName=all Nodes=ALL Default=YES
"""
PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch")


class SlurmCluster(machines.TwoMachines):
    settings, user = "", "root"  # more lines of slurm.conf; whose slurmctld and its hooks are

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.folder / "slurm.conf").write_text((CONFIGURATION + cls.settings).format(folder=cls.folder, user=cls.user))
        for name in ("state", *(f"{node}.{kind}" for node in machines.NAMES for kind in ("spool", "tmp"))):
            (cls.folder / name).mkdir(mode=0o755)
        shutil.chown(cls.folder / "state", cls.user)
        os.environ["SLURM_CONF"] = str(cls.folder / "slurm.conf")
        os.environ["PATH"] = f"{cls.folder}/bin:{os.environ['PATH']}"
        first, second = cls.machines
        cls.start_accounting()
        cls.start(first, "slurmctld", "-D")
        cls.start(first, "slurmd", "-D", "-N", "first")
        cls.start(second, "slurmd", "-D", "-N", "second")

    @classmethod
    def furnish(cls):
        for name in ("bin", "munge"):
            (cls.folder / name).mkdir(mode=0o755)
        shutil.copy2(machines.program(), cls.folder / "bin")
        cls.start_munge(cls.folder / "munge")
        return super().furnish()

    @classmethod
    def start(cls, machine, *command):
        with open(cls.folder / f"{machine.name}.{os.path.basename(command[0])}.log", "wb") as log:
            process = machine.start(*command, stdout=log, stderr=log)
        cls.addClassCleanup(process.wait)
        cls.addClassCleanup(process.terminate)

    @classmethod
    def start_accounting(cls):
        """Before slurmctld, which needs what its settings name; none here."""

    @classmethod
    def start_munge(cls, folder):
        key = folder / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        process = subprocess.Popen(["munged", "--foreground", "--force", f"--key-file={key}",
                                    f"--socket={folder}/munge.socket.2", f"--pid-file={folder}/pid",
                                    f"--seed-file={folder}/seed"], stderr=subprocess.DEVNULL)
        cls.addClassCleanup(process.wait)
        cls.addClassCleanup(process.terminate)

    def run_in(self, machine, *command):
        done = machine.start(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        out, error = done.communicate(timeout=120)
        return done.returncode, out + error

    def run_in_first(self, *command):
        return self.run_in(self.machines[0], *command)

    def logs(self):
        return "".join(f"{path.name}:\n{path.read_text()}" for path in sorted(self.folder.glob("*.log")))

    def await_that(self, holds, what):
        deadline = time.monotonic() + 60
        while not holds():
            self.assertLess(time.monotonic(), deadline, f"not within a minute: {what}\n{self.logs()}")
            time.sleep(0.1)

    def await_nodes(self):
        self.await_that(lambda: self.run_in_first("sinfo", "-h", "-t", "idle", "-o", "%D") == (0, "2\n"), "two idle nodes")
