#!/usr/bin/env python3
"""configs/slurm's hooks and train.sbatch, as they are, under Slurm (slurm_cluster.py), with a gatherer on the first machine:
a user's job is known to it before there is a trace, its traces arrive, and the report is there when the job is over.
usage: training.py SKEWSCOPE"""
import json
import os
import shutil
import sqlite3
import subprocess
import time
from pathlib import Path

import machines
import slurm_cluster

CONFIGS = Path(__file__).resolve().parents[2] / "configs/slurm"
USER, DAEMON = 4711, 4712  # uids
SETTINGS = """
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=10.78.0.1
AccountingStoreFlags=job_comment
PrologSlurmctld={folder}/libexec/skewscope/prolog_slurmctld
EpilogSlurmctld={folder}/libexec/skewscope/epilog_slurmctld
"""
ACCOUNTING = """DbdHost=first
DbdAddr=10.78.0.1
SlurmUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/munge.socket.2
PidFile={folder}/state/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=10.78.0.1
StorageUser=slurm
"""
# Each machine has folders of its own where jobs and daemons use fixed paths, and names of a site.
MOUNTS = """mount -t tmpfs -o mode=755 run /run && mkdir -p /run/munge /run/skewscope && chown {daemon} /run/skewscope &&
mount --bind {folder}/munge /run/munge && mount -t tmpfs -o mode=1777 tmp /tmp &&
mount -t tmpfs slurm /etc/slurm && ln -s {folder}/slurm.conf {folder}/slurmdbd.conf /etc/slurm &&
mount --bind {folder}/etc/hosts /etc/hosts && mount --bind {folder}/etc/passwd /etc/passwd &&
mount --bind {folder}/etc/head.pem /etc/ssl/certs/ca-certificates.crt"""
# One rank of "training": WITHOUT is the rank that leaves no trace, END how it ends: an exit code, or never.
TRAIN = """import os, shutil, sys, time
without, end = sys.argv[1:]
print("started", flush=True)
while not os.path.exists("{folder}/go"):
    time.sleep(0.1)
rank, traces = os.environ["SLURM_PROCID"], os.environ["SKEWSCOPE_TRACES"]
os.makedirs(traces, exist_ok=True)
if rank != without:
    name = f"rank{{rank}}_trace.json"
    shutil.copy("{folder}/all/" + name, traces + "/." + name)
    os.rename(traces + "/." + name, traces + "/" + name)
print("written", flush=True)
while end == "never":
    time.sleep(1)
sys.exit(int(end))
"""
AS_USER, AS_DAEMON = (("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups") for uid in (USER, DAEMON))


class Training(slurm_cluster.SlurmCluster):
    where, settings, user = "/var/tmp", SETTINGS, "slurm"

    @classmethod
    def furnish(cls):
        mounts = super().furnish()
        cls.folder.chmod(0o755)
        for name, owner in (("etc", 0), ("home", USER), ("spool", DAEMON)):
            (cls.folder / name).mkdir()
            os.chown(cls.folder / name, owner, owner)
        hooks = cls.folder / "libexec/skewscope"  # of the prefix whose bin has the program
        hooks.mkdir(parents=True)
        for folder, name in ((hooks, "prolog_slurmctld"), (hooks, "epilog_slurmctld"), (hooks, "comment_slurmctld"),
                             (cls.folder, "train.sbatch")):
            shutil.copy(CONFIGS / name, folder / name)
            (folder / name).chmod(0o755)
        accounts = cls.folder / "slurmdbd.conf"
        accounts.touch(0o600)
        accounts.write_text(ACCOUNTING.format(folder=cls.folder, user=cls.user))
        shutil.chown(accounts, cls.user)
        (cls.folder / "train.py").write_text(TRAIN.format(folder=cls.folder))
        etc = cls.folder / "etc"
        (etc / "hosts").write_text("127.0.0.1 localhost\n10.78.0.1 first head.example\n10.78.0.2 second\n")
        users = f"trainer:x:{USER}:{USER}::{cls.folder}/home:/bin/sh\nskewscope:x:{DAEMON}:{DAEMON}::/:/bin/false\n"
        (etc / "passwd").write_text(Path("/etc/passwd").read_text() + users)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                        "2", "-subj", "/CN=head", "-addext", "subjectAltName=DNS:head.example", "-keyout", etc / "head.key",
                        "-out", etc / "head.pem"], check=True, capture_output=True)
        (etc / "keys").write_text(os.urandom(32).hex() + "\n")
        for name in ("head.key", "keys"):
            (etc / name).chmod(0o600)
            os.chown(etc / name, DAEMON, DAEMON)
        return f"{mounts} && {MOUNTS.format(folder=cls.folder, daemon=DAEMON)}"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        etc = cls.folder / "etc"
        cls.start(cls.machines[0], *AS_DAEMON, cls.folder / "bin/skewscope", "gather", "--spool", cls.folder / "spool",
                  "--listen", "10.78.0.1:7475", "--certificate", etc / "head.pem", "--private-key", etc / "head.key",
                  "--token-key-file", etc / "keys", "--munge", "--server-name", "head.example",
                  "--registry-socket", "/run/skewscope/gather.sock", "--registry-user", cls.user, "--deadline-after-end", 1,
                  "--debounce", 1)

    @classmethod
    def start_accounting(cls):
        """slurmdbd on a MariaDB of its own, both on the first machine."""
        first, data = cls.machines[0], cls.folder / "accounts"
        data.mkdir()  # without tables of users: whoever connects is let in
        cls.start(first, "mariadbd", "--no-defaults", f"--datadir={data}", "--user=root", "--bind-address=10.78.0.1",
                  f"--socket={data}/socket", "--skip-grant-tables", "--skip-name-resolve")
        cls.until((data / "socket").exists)
        cls.start(first, "slurmdbd", "-D")
        cls.until(lambda: first.start("sacctmgr", "--immediate", "add", "cluster", "two", stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL).wait() == 0)

    @staticmethod
    def until(holds):
        end = time.monotonic() + 60
        while not holds() and time.monotonic() < end:
            time.sleep(0.2)

    def setUp(self):
        self.await_that(lambda: self.registry("GET", "none") is None, "the gatherer is up")
        self.await_nodes()

    def registry(self, method, job):
        """The answer as JSON; None: no such job."""
        code, text = self.run_in_first("curl", "-sS", "--unix-socket", "/run/skewscope/gather.sock", "-X", method,
                                       f"http://localhost/v1/jobs/{job}")
        answer = json.loads(text) if code == 0 else {"status": code}
        return None if answer.get("status") == 404 else answer

    def state(self, job):
        return self.registry("GET", job) or {}

    def registered(self, job):
        """(uid of the owner, nodes) that the gatherer keeps: of a copy of its manifest, which it alone may open."""
        for path in (self.folder / "spool").glob("gather.sqlite*"):
            shutil.copy(path, self.folder)
        manifest = sqlite3.connect(self.folder / "gather.sqlite")
        row = manifest.execute("SELECT owner_uid, nodes FROM job WHERE name = ?", (job,)).fetchone()
        manifest.close()
        return row

    def submit(self, *options, without="", end=0):
        """Its id."""
        code, text = self.run_in_first(
            *AS_USER, "env", "-i", f"HOME={self.folder}/home", f"PATH={self.folder}/bin:/usr/bin:/bin", "sbatch", "--parsable",
            "--nodes=2", f"--output={self.folder}/home/%j.log", *options, self.folder / "train.sbatch",
            self.folder / "train.py", without, end)
        self.assertEqual(code, 0, text)
        job = text.split(";")[0].strip()
        self.addCleanup(self.run_in_first, "scancel", "--full", "--signal=KILL", job)
        return job

    def slurm_says(self, job, *wanted):
        code, text = self.run_in_first("scontrol", "--oneliner", "show", "job", job)
        return code == 0 and all(f" {word} " in text for word in wanted)

    def await_state(self, job, *wanted):
        self.await_that(lambda: self.slurm_says(job, *wanted), f"job {job}: {wanted}")

    def comment(self, job):
        """The AdminComment of a job in the accounts; "": none."""
        return self.run_in_first("sacct", "--noheader", "--parsable2", "--allocations", "--jobs", job, "--format",
                                 "AdminComment")[1].strip()

    def logs(self):
        return super().logs() + "".join(path.read_text() for path in sorted(self.folder.glob("home/*.log")))

    def await_ranks(self, job, what):
        log = self.folder / f"home/{job}.log"
        self.await_that(lambda: log.exists() and log.read_text().count(what) == 8, f"8 ranks have {what}")

    def let_go(self):
        (self.folder / "go").touch()
        self.addCleanup((self.folder / "go").unlink)

    def break_munge(self):
        """For jobs."""
        (self.folder / "bin/munge").write_text("#!/bin/sh\nexit 1\n")
        (self.folder / "bin/munge").chmod(0o755)
        self.addCleanup((self.folder / "bin/munge").unlink)

    def mint(self, job):
        """Where the batch script looks for it."""
        token = self.folder / f"home/.skewscope-token-{job}"
        code, text = self.run_in_first(*AS_DAEMON, self.folder / "bin/skewscope", "gather", "--token-key-file",
                                       self.folder / "etc/keys", "--mint-token", job)
        self.assertEqual(code, 0, text)
        token.write_text(text)
        token.chmod(0o600)
        os.chown(token, USER, USER)
        return token

    def await_report(self, job, state):
        self.await_that(lambda: self.state(job).get("report_state") == state, f"report of {job}: {state}")
        return (self.folder / "spool/jobs" / job / "report/current/summary.txt").read_text()

    def left_on_nodes(self, job):
        """Traces, and links to them."""
        return [self.run_in(machine, "find", f"/tmp/skewscope-{job}", "-type", "f", "-size", "+64k")[1]
                for machine in self.machines]

    def test_a_job_is_known_before_its_first_trace_and_its_report_names_the_slow_rank(self):
        job = self.submit("--ntasks-per-node=4", end=3)
        name = f"two-{job}.0"
        self.await_that(lambda: self.state(name), "the job is registered")
        self.assertEqual((self.state(name)["expected"], self.state(name)["arrived"]), (0, 0))  # its traces say
        self.assertEqual(self.registered(name), (USER, "first\nsecond\n"))
        self.let_go()
        summary = self.await_report(name, "complete")
        self.assertIn("Rank 5 causes", summary)
        self.await_state(job, "JobState=FAILED", "ExitCode=3:0")
        self.await_that(lambda: self.comment(job), "the verdict is the job's comment")
        self.assertRegex(self.comment(job), f"^{name}: complete: 8 of 8 ranks. report complete. .*[Rr]ank 5")
        state = self.state(name)
        self.assertEqual((state["arrived"], state["missing_ranks"], state["conflict"]), (8, [], False))
        self.assertEqual(self.left_on_nodes(name), ["", ""])
        self.assertEqual(list((self.folder / "home").glob(".skewscope-token*")), [])

    def test_a_rank_without_a_trace_is_named_soon_after_the_end_of_the_job(self):
        self.let_go()
        job = self.submit("--ntasks=8", without=5)
        self.await_state(job, "JobState=COMPLETED", "ExitCode=0:0")
        ended = time.monotonic()
        summary = self.await_report(f"two-{job}.0", "partial")
        self.assertLess(time.monotonic() - ended, 15)
        state = self.state(f"two-{job}.0")
        self.assertEqual((state["missing_ranks"], state["ended"], state["expected"]), ([5], True, 8))
        self.assertIn("7 of 8, no trace of 5", summary)
        self.assertEqual((self.folder / f"home/{job}.log").read_text().count("accepted by https://"), 2)  # one agent a node

    def test_a_requeued_job_is_another_one(self):
        job = self.submit("--ntasks-per-node=4", "--requeue")
        self.await_that(lambda: self.state(f"two-{job}.0"), "the job is registered")
        self.await_ranks(job, "started")
        self.assertEqual(self.run_in_first("scontrol", "requeue", job), (0, ""))
        self.await_that(lambda: self.state(f"two-{job}.1"), "the requeued job is registered")
        self.let_go()
        self.assertIn("Rank 5 causes", self.await_report(f"two-{job}.1", "complete"))
        self.await_state(job, "JobState=COMPLETED", "Restarts=1")
        self.assertEqual((self.state(f"two-{job}.0")["arrived"], self.state(f"two-{job}.0")["ended"]), (0, True))

    def test_a_signal_to_the_batch_script_ends_training_and_its_traces_arrive(self):
        self.let_go()
        job = self.submit("--ntasks-per-node=4", end="never")
        self.await_ranks(job, "written")
        self.assertEqual(self.run_in_first("scancel", "--batch", "--signal=TERM", job), (0, ""))
        self.assertIn("Rank 5 causes", self.await_report(f"two-{job}.0", "complete"))
        self.await_state(job, "JobState=FAILED")
        self.assertEqual(self.left_on_nodes(f"two-{job}.0"), ["", ""])

    def test_a_token_that_an_operator_minted_for_a_held_job_does_without_munge(self):
        self.let_go()
        self.break_munge()
        job = self.submit("--ntasks-per-node=4", "--hold")
        self.mint(f"two-{job}.0")
        self.assertEqual(self.run_in_first("scontrol", "release", job), (0, ""))
        self.assertIn("Rank 5 causes", self.await_report(f"two-{job}.0", "complete"))
        self.await_state(job, "JobState=COMPLETED")

    def test_a_job_without_a_token_ends_as_its_training_and_what_stays_can_be_sent_later(self):
        self.let_go()
        self.break_munge()
        job = self.submit("--ntasks-per-node=4")
        self.await_state(job, "JobState=COMPLETED", "ExitCode=0:0")
        name = f"two-{job}.0"
        self.assertEqual([text.count("_trace.json") for text in self.left_on_nodes(name)], [4, 4])
        self.assertEqual((self.state(name)["arrived"], self.state(name)["ended"]), (0, True))
        token = self.mint(name)
        for machine in self.machines:
            code, text = self.run_in(machine, *AS_USER, "skewscope", "ship", f"/tmp/skewscope-{name}", "--job", name, "--to",
                                     "https://head.example:7475", "--token-file", token, "--once", "--delete-source")
            self.assertEqual(code, 0, text)
        self.assertIn("Rank 5 causes", self.await_report(name, "complete"))
        self.assertEqual(self.left_on_nodes(name), ["", ""])


if __name__ == "__main__":
    machines.main(*slurm_cluster.PROGRAMS, "slurmdbd", "mariadbd", "sacctmgr", "munge", "curl", "openssl",
                  "setpriv", "update-ca-certificates")
