#!/usr/bin/env python3
"""scripts/torch_handler.py with a profile that only writes: names, environments, whole files. usage: [SKEWSCOPE]"""
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import torch_handler  # noqa: E402

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 and os.path.exists(sys.argv[1]) else None


class Profile:
    step_num = 12

    def export_chrome_trace(self, path):
        event = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1.0, "dur": 2.0,
                 "args": {"device": 0, "stream": 7, "correlation": 1}}
        with gzip.open(path, "wt") as file:
            json.dump({"schemaVersion": 1, "traceEvents": [event]}, file)


class FullDisk(Profile):
    def export_chrome_trace(self, path):
        Path(path).write_text("{\"traceEvents\": [")
        raise OSError("no space left on device")


class Handler(unittest.TestCase):
    node = "node17"

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def written(self, environment, profile=None, **options):
        node = os.uname_result(("Linux", self.node, "6.1", "#1", "x86_64"))
        with mock.patch.dict(os.environ, environment, clear=True), mock.patch.object(os, "uname", lambda: node):
            torch_handler.trace_handler(self.folder, **options)(profile or Profile())
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file())

    def test_torchrun_slurm_and_mpi_tell_the_rank(self):
        for rank, world in torch_handler.LAUNCHERS:
            with self.subTest(rank):
                files = self.written({rank: "3", world: "8"}, job=f"job-{rank}")
                self.assertIn(f"job-{rank}/job-{rank}_rank3-of-8@node17_step12.pt.trace.json.gz", files)

    def test_mpirun_within_a_batch_job_tells_the_rank_and_not_the_batch_script(self):
        batch = {"SLURM_JOB_ID": "77", "SLURM_PROCID": "0", "SLURM_NTASKS": "8"}
        for rank, world in (("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE")):
            with self.subTest(rank):
                files = self.written({**batch, rank: "3", world: "8"}, job=rank)
                self.assertIn(f"{rank}/{rank}_rank3-of-8@node17_step12.pt.trace.json.gz", files)

    def test_the_scheduler_names_the_job_where_nobody_else_does(self):
        self.assertEqual(self.written({"SLURM_JOB_ID": "77", "SLURM_PROCID": "0", "SLURM_NTASKS": "2"}),
                         ["77/77_rank0-of-2@node17_step12.pt.trace.json.gz"])

    def test_the_name_holds_the_host_as_far_as_it_is_one(self):
        for node, written in (("gpu-04.example.com", "@gpu-04.example.com"), ("my_node 5", "@my-node-5"), ("localhost", ""), ("--", "")):
            with self.subTest(node):
                self.node = node
                self.assertEqual(self.written({}, job=f"on-{len(written)}"),
                                 sorted({*self.written({}, job=f"on-{len(written)}"),
                                         f"on-{len(written)}/on-{len(written)}_rank0-of-1{written}_step12.pt.trace.json.gz"}))

    def test_under_slurm_the_node_has_the_name_that_slurm_gives_it(self):
        self.node = "container-4711"
        self.assertEqual(self.written({"SLURMD_NODENAME": "gpu-7"}, job="j"), ["j/j_rank0-of-1@gpu-7_step12.pt.trace.json.gz"])

    def test_a_program_may_name_the_node_or_none(self):
        self.assertEqual(self.written({}, job="pod", host="gpu-9"), ["pod/pod_rank0-of-1@gpu-9_step12.pt.trace.json.gz"])
        self.assertIn("kept/kept_rank0-of-1_step12.pt.trace.json.gz", self.written({}, job="kept", host=""))

    def test_a_process_alone_is_rank_0_of_1(self):
        self.assertEqual(self.written({}), ["job/job_rank0-of-1@node17_step12.pt.trace.json.gz"])

    def test_a_job_name_cannot_leave_its_folder(self):
        self.assertEqual(self.written({}, job="../../etc/pass wd"), ["etc-pass-wd/etc-pass-wd_rank0-of-1@node17_step12.pt.trace.json.gz"])

    def test_the_jobs_folder_is_its_users_alone_and_a_link_or_anothers_folder_is_not_taken(self):
        made, link = self.folder / "made", self.folder / "link"
        torch_handler.make_own_folder(made)
        self.assertEqual(made.stat().st_mode & 0o777, 0o700)
        torch_handler.make_own_folder(made)  # it is there, and ours
        link.symlink_to(made)
        with self.assertRaises(PermissionError):
            torch_handler.make_own_folder(link)
        if os.geteuid() == 0:
            os.chown(made, 65534, -1)
            with self.assertRaises(PermissionError):
                torch_handler.make_own_folder(made)

    def test_only_the_ranks_asked_for_write(self):
        self.assertEqual(self.written({"RANK": "3", "WORLD_SIZE": "8"}, ranks=range(0, 8, 2)), [])

    def test_a_write_that_fails_leaves_nothing_behind(self):
        with self.assertRaises(OSError):
            self.written({}, FullDisk())
        self.assertEqual(list(self.folder.rglob("*.gz")), [])

    def test_a_whole_file_is_handed_to_ship(self):
        with mock.patch.object(torch_handler.subprocess, "Popen") as popen:
            self.written({"RANK": "1", "WORLD_SIZE": "2"}, job="j", ship_to="https://head:7475")
        command = popen.call_args.args[0]
        self.assertEqual(command[:4], ["flock", str(self.folder / f"j/.{self.node}.ship.lock"), "skewscope", "ship"])
        self.assertTrue(Path(command[4]).exists())
        self.assertEqual(command[5:], ["--to", "https://head:7475", "--job", "j", "--world-size", "2", "--capture", "0", "--once",
                                       "--quiet"])

    def test_ship_is_told_where_the_token_and_the_certificates_are(self):
        with mock.patch.object(torch_handler.subprocess, "Popen") as popen:
            self.written({}, job="j", ship_to="https://head:7475", token_file=Path("/home/me/token"), ca="/etc/ca.pem",
                         cert="/etc/node.pem", key="/etc/node.key")
        self.assertEqual(popen.call_args.args[0][5:17], ["--to", "https://head:7475", "--job", "j", "--token-file",
                                                         "/home/me/token", "--ca", "/etc/ca.pem", "--cert",
                                                         "/etc/node.pem", "--key", "/etc/node.key"])

    @unittest.skipIf(shutil.which("flock") is None, "no flock on this machine")
    def test_the_agents_of_a_node_take_turns(self):
        agent, log = self.folder / "skewscope", self.folder / "log"
        agent.write_text(f"#!/bin/sh\necho begin >>{log}\nsleep 0.2\necho end >>{log}\n")
        agent.chmod(0o755)
        popen, agents = subprocess.Popen, []
        with mock.patch.object(torch_handler.subprocess, "Popen", lambda command: agents.append(popen(command))):
            for rank in range(4):
                self.written({"PATH": f"{self.folder}:{os.environ['PATH']}", "RANK": str(rank), "WORLD_SIZE": "4"}, job="j",
                             ship_to="https://head:7475")
        for started in agents:
            started.wait()
        self.assertEqual(log.read_text().split(), ["begin", "end"] * 4)

    @unittest.skipIf(PROGRAM is None, "no skewscope given")
    def test_a_gatherer_gets_the_files_of_all_ranks_and_captures_with_the_token_alone(self):
        keys, token = self.folder / "keys", self.folder / "token"
        keys.write_text(os.urandom(32).hex() + "\n")
        keys.chmod(0o600)
        token.write_text(subprocess.run([PROGRAM, "gather", "--token-key-file", keys, "--mint-token", "j"], check=True,
                                        capture_output=True, text=True).stdout)
        token.chmod(0o600)
        (self.folder / "skewscope").symlink_to(PROGRAM)
        gather = subprocess.Popen([PROGRAM, "gather", "--spool", self.folder / "spool", "--token-key-file", keys, "--listen",
                                   "127.0.0.1:0", "--admin", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True,
                                  stderr=subprocess.DEVNULL)
        self.addCleanup(gather.communicate)
        self.addCleanup(gather.terminate)
        url = re.search(r"http://\S+", gather.stdout.readline()).group()
        agents, popen = [], subprocess.Popen
        with mock.patch.object(torch_handler.subprocess, "Popen", lambda command: agents.append(popen(command))):
            for rank in "01":
                world = {"PATH": f"{self.folder}:{os.environ['PATH']}", "RANK": rank, "WORLD_SIZE": "2"}
                with mock.patch.dict(os.environ, world):
                    handle = torch_handler.trace_handler(self.folder / "traces", "j", ship_to=url, token_file=token)
                    for _ in range(2):
                        handle(Profile())
        self.assertEqual([agent.wait() for agent in agents], [0] * 4)
        stored = sorted(path.parent.name for path in (self.folder / "spool/jobs/j/ranks").rglob("*.gz"))
        self.assertEqual(stored, ["c0000", "c0000", "c0001", "c0001"])

    def test_captures_are_counted_and_training_goes_on_without_ship(self):
        handle = torch_handler.trace_handler(self.folder, job="j", ship_to="https://head:7475")
        with mock.patch.object(torch_handler.subprocess, "Popen") as popen:
            for _ in range(3):
                handle(Profile())
        captures = [call.args[0][call.args[0].index("--capture") + 1] for call in popen.call_args_list]
        self.assertEqual(captures, ["0", "1", "2"])
        with mock.patch.object(torch_handler.subprocess, "Popen", side_effect=FileNotFoundError("skewscope")):
            with self.assertWarns(UserWarning):
                handle(Profile())

    @unittest.skipIf(PROGRAM is None, "no skewscope given")
    def test_skewscope_reads_rank_and_world_from_the_names(self):
        for rank in "0", "1":
            self.written({"RANK": rank, "WORLD_SIZE": "2"}, job="j")
        told = json.loads(subprocess.run([PROGRAM, "inspect", str(self.folder), "--json", "--cache", "off"], check=True,
                                         capture_output=True).stdout)
        self.assertEqual([file["rank"] for file in told["files"]], [0, 1])


class Hangs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name) / "traces"

    def environment_after(self, environment, **options):
        with mock.patch.dict(os.environ, environment, clear=True):
            torch_handler.record_hangs(self.folder, **options)
            return dict(os.environ)

    def test_pytorch_is_told_under_its_old_names_and_its_new_ones(self):
        prefix = str(self.folder / "llama" / "dump_")
        self.assertEqual(self.environment_after({}, job="llama"), {
            "TORCH_FR_DUMP_TEMP_FILE": prefix, "TORCH_NCCL_DEBUG_INFO_TEMP_FILE": prefix, "TORCH_FR_BUFFER_SIZE": "2000",
            "TORCH_NCCL_TRACE_BUFFER_SIZE": "2000", "TORCH_NCCL_DUMP_ON_TIMEOUT": "1"})

    def test_the_folder_is_the_users_own(self):
        self.environment_after({}, job="llama")
        self.assertEqual((self.folder / "llama").stat().st_mode & 0o777, 0o700)
        (self.folder / "theirs").symlink_to("/tmp")
        with self.assertRaises(PermissionError):
            self.environment_after({}, job="theirs")

    def test_what_the_user_has_set_stays(self):
        after = self.environment_after({"TORCH_FR_BUFFER_SIZE": "50000", "TORCH_NCCL_DUMP_ON_TIMEOUT": "0"}, timing=True)
        self.assertEqual(after["TORCH_FR_BUFFER_SIZE"], "50000")
        self.assertEqual(after["TORCH_NCCL_DUMP_ON_TIMEOUT"], "0")
        self.assertEqual(after["TORCH_NCCL_ENABLE_TIMING"], "1")

    @unittest.skipIf(PROGRAM is None, "no skewscope given")
    def test_dumps_of_these_names_are_read_with_their_ranks(self):
        folder = Path(torch_handler.record_hangs(self.folder, job="llama"))
        self.addCleanup(lambda: [os.environ.pop(name, None) for name in list(os.environ) if name.startswith("TORCH_")])
        hung = self.folder / "hung"
        subprocess.run([PROGRAM, "simulate", "--hang", "missing-rank", "--nodes", "1", "--gpus", "4", "-o", hung, "-q"], check=True)
        for rank in range(4):
            shutil.copy(hung / f"nccl_trace_rank_{rank}", folder / f"dump_{rank}")
        culprit = json.loads((hung / "truth.json").read_text())["culprit"]
        done = subprocess.run([PROGRAM, "hang", folder, "--json"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual([row["rank"] for row in json.loads(done.stdout)["culprits"]], [culprit])


if __name__ == "__main__":
    unittest.main()
