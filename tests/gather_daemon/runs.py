#!/usr/bin/env python3
"""A second run under a used name: it is kept as a job of its own, whatever comes in which order, and no report mixes two.
usage: runs.py SKEWSCOPE"""
import base64
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from daemon import PROGRAM, Daemon, digest_of, key_file, minted

RANKS = 4
HOUR = 3600


class Runs(unittest.TestCase):
    flags = ("--debounce", 1)

    @classmethod
    def setUpClass(cls):
        held = tempfile.TemporaryDirectory(prefix="skewscope_runs_")
        cls.addClassCleanup(held.cleanup)
        cls.simulated = Path(held.name)
        for run, slow in (("first", 1), ("second", 2), ("third", 3)):
            subprocess.run([PROGRAM, "simulate", "-o", cls.simulated / run, "--nodes", "2", "--gpus", "2", "--tp", "1", "--steps",
                            "3", "--layers", "2", "--slow-rank", f"{slow}:1.5"], check=True, capture_output=True)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def start(self, *flags, **more):
        self.daemon = Daemon(*self.flags, *flags, **more).start()
        self.addCleanup(lambda: self.daemon.ended() or self.daemon.stop())

    def node(self, run, ranks, age=0):
        """A folder with these ranks of a run, as an agent of one node finds them `age` seconds after they were written."""
        folder = self.folder / f"{run}-{'-'.join(map(str, ranks))}"
        folder.mkdir(exist_ok=True)
        for rank in ranks:
            source = next((self.simulated / run).glob(f"rank{rank}_*"))
            shutil.copy(source, folder)
            os.utime(folder / source.name, (time.time() - age,) * 2)
        return folder

    def command(self, folder, *flags, job="train"):
        return [PROGRAM, "ship", folder, "--to", self.daemon.url, "--job", job, "--settle", "0", "--spread", "0",
                "--no-compress", *map(str, flags)]

    def ship(self, folder, *flags, code=0, **more):
        """What an agent that sends all of a folder says."""
        done = subprocess.run(self.command(folder, "--once", "--json", *flags, **more), capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def kept(self, job):
        """Ranks of a job by whose traces they are."""
        ranks = {}
        for path in sorted((self.daemon.spool / "jobs" / job).rglob("ranks/*/r*")):
            for run in ("first", "second", "third"):
                source = next((self.simulated / run).glob(f"rank{int(path.name[1:6])}_*"))
                if path.read_bytes() == source.read_bytes():
                    ranks.setdefault(run, []).append(int(path.name[1:6]))
        return ranks

    def jobs(self):
        return [job["job"] for job in self.daemon.ask("GET", "/v1/jobs").json()["jobs"]]

    def report(self, job):
        self.daemon.wait_for_job(lambda state: state["report_state"] == "complete", job)
        return self.daemon.ask("GET", f"/v1/jobs/{job}/report.json").json()

    def put(self, content, rank=0, age=None, job="train", token=None, world_size=RANKS):
        said = f"?world_size={world_size}" + (f"&age={age}" if age is not None else "")
        return self.daemon.put(content, job, rank, token=token, query=said, Repr_Digest=digest_of(content))

    def test_two_whole_runs_of_two_agents_are_two_jobs_and_each_report_is_that_of_its_folder(self):
        self.start()
        for run, job in (("first", "train"), ("second", "train~2")):
            nodes = [self.node(run, ranks) for ranks in ((0, 1), (2, 3))]
            with ThreadPoolExecutor() as at_once:
                for shipped in at_once.map(self.ship, nodes):
                    self.assertEqual((shipped["job"], shipped["files"]), (job, 2))
            self.assertEqual(self.kept(job), {run: [0, 1, 2, 3]})
            subprocess.run([PROGRAM, "report", self.simulated / run, "-o", self.folder / job], check=True, capture_output=True)
            own, made = json.loads((self.folder / job / "report.json").read_text()), self.report(job)
            self.assertEqual(made["job"].pop("name"), job)
            own["job"].pop("name")
            differ = {"command", "created_utc", "jobs_found"}  # where the files lie, and when
            self.assertEqual({key: value for key, value in made.items() if key not in differ},
                             {key: value for key, value in own.items() if key not in differ})

    def test_whatever_comes_in_which_order_no_job_has_files_of_two_runs(self):
        for seed in range(4):
            self.start()
            ages = {"first": 5 * HOUR, "second": 3 * HOUR, "third": 0}
            files = [(run, rank) for run in ages for rank in range(RANKS) if (run, rank) != ("second", seed)]
            random.Random(seed).shuffle(files)
            for number, (run, rank) in enumerate(files):
                self.ship(self.node(run, (rank,), ages[run]))
                if number == 5:
                    self.daemon.stop(signal.SIGKILL)
                    self.daemon.start()
            kept = [self.kept(job) for job in self.jobs()]
            self.assertEqual(sorted(kept, key=str), sorted([{"first": [0, 1, 2, 3]}, {"third": [0, 1, 2, 3]},
                                                            {"second": [rank for rank in range(RANKS) if rank != seed]}], key=str))
            self.daemon.stop()

    def test_a_run_that_begins_again_before_the_first_one_was_whole_is_a_second_one_at_once(self):
        self.start()
        self.ship(self.node("first", (0, 1, 2), age=60))
        time.sleep(1.1)  # moments are whole seconds
        self.assertEqual(self.ship(self.node("second", (0,)))["job"], "train~2")
        self.ship(self.node("second", (1, 2, 3)))
        self.assertEqual((self.kept("train"), self.kept("train~2")), ({"first": [0, 1, 2]}, {"second": [0, 1, 2, 3]}))
        self.assertEqual(self.ship(self.node("first", (3,), age=60))["job"], "train")
        self.assertEqual(self.kept("train"), {"first": [0, 1, 2, 3]})

    def test_a_conflict_says_when_a_second_run_may_begin_and_an_agent_that_watches_tries_then(self):
        self.start("--deadline", 4)
        self.ship(self.node("first", (0,), age=100))
        folder = self.node("second", (0,), age=100)
        left = self.ship(folder, code=4)
        self.assertIn("a second run begins once the first is whole, has ended, or has sent nothing", left["bad"][0])
        answer = self.put((self.simulated / "second" / next(folder.glob("rank*")).name).read_bytes())
        self.assertEqual(answer.status, 409)
        self.assertIn(int(answer["Retry-After"]), range(1, 5))
        agent = subprocess.Popen(self.command(folder, "--rescan", 1), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.daemon.wait_for_job(lambda state: state["arrived"] == 1, "train~2")
        finally:
            agent.kill()
            agent.wait()
        self.assertEqual((self.kept("train"), self.kept("train~2")), ({"first": [0]}, {"second": [0]}))

    def test_an_agent_that_finds_files_of_three_runs_in_one_folder_sends_them_as_three_runs(self):
        self.start()
        folder = self.folder / "all"
        folder.mkdir()
        for number, run in enumerate(("first", "second", "third")):
            for rank in range(RANKS):
                path = folder / f"rank{rank}_{run}.json"
                shutil.copy(next((self.simulated / run).glob(f"rank{rank}_*")), path)
                os.utime(path, (time.time() - 300 + 100 * number,) * 2)
        shipped = self.ship(folder)
        self.assertEqual((shipped["files"], shipped["jobs"], shipped["job"]), (12, ["train", "train~2", "train~3"], "train~3"))
        for run, job in (("first", "train"), ("second", "train~2"), ("third", "train~3")):
            self.assertEqual(self.kept(job), {run: [0, 1, 2, 3]})

    def test_uploads_whose_answer_was_lost_and_that_outlive_a_kill_stay_in_their_run(self):
        self.start()
        for rank in range(RANKS):
            self.assertEqual(self.put(b"{}", rank, age=7000)["Skewscope-Job"], "train")
        content = b'{"traceEvents": [ ]}'
        said = {"age": 0, "sha256": hashlib.sha256(content).hexdigest(), "world_size": RANKS}
        created = [self.daemon.create(len(content), "train", 0, **said) for _ in range(2)]
        self.assertEqual([(answer.status, answer["Skewscope-Job"]) for answer in created], [(201, "train~2")] * 2)
        path = created[0]["Location"]
        self.assertEqual(self.daemon.patch(path, 0, content[:5])["Upload-Offset"], "5")
        self.daemon.stop(signal.SIGKILL)
        self.daemon.start()
        again = self.daemon.ask("HEAD", path)
        self.assertEqual((again["Upload-Offset"], again["Skewscope-Job"]), ("5", "train~2"))
        self.assertIn("job " + base64.b64encode(b"train").decode(), again["Upload-Metadata"])
        self.assertEqual(self.daemon.patch(path, 5, content[5:])["Repr-Digest"], digest_of(content))
        for _ in range(2):  # the same again changes nothing
            answer = self.daemon.create(len(content), "train", 0, **said)
            self.assertEqual((answer["Repr-Digest"], answer["Skewscope-Job"]), (digest_of(content), "train~2"))
            self.assertEqual(self.put(b"{}", 1, age=0)["Skewscope-Job"], "train")
        self.assertEqual(self.jobs(), ["train", "train~2"])

    def test_verify_finds_each_file_in_the_run_that_has_it(self):
        self.start()
        folders = [self.node("first", (0, 1, 2, 3), age=HOUR), self.node("second", (0, 1, 2, 3))]
        for folder in folders * 2:
            job = ("train", "train~2")[folders.index(folder)]
            self.assertEqual(self.ship(folder)["job"], job)
            self.assertEqual(self.ship(folder, "--verify")["job"], job)
        self.assertEqual(self.jobs(), ["train", "train~2"])

    def test_logs_of_a_second_run_are_its_own_whether_one_agent_sends_both_or_not(self):
        subprocess.run([PROGRAM, "simulate", "-o", self.folder / "job", "--nodes", "1", "--gpus", "2", "--steps", "9", "--tp", "1",
                        "--layers", "2", "--format", "nccl-inspector"], check=True, capture_output=True)
        lines = next((self.folder / "job").glob("*.log")).read_bytes().splitlines(keepends=True)
        self.start("--deadline", 1)
        (self.folder / "logs").mkdir()
        sent = lambda job: self.daemon.ask("GET", f"/v1/jobs/{job}/ranks/0").body
        agent = subprocess.Popen(self.command(self.folder / "logs", "--rescan", 1), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: (agent.kill(), agent.wait()))
        for number, job in enumerate(("train", "train~2")):
            (self.folder / f"logs/node0-pid{number}.log").write_bytes(b"".join(lines[:10 + number]))
            self.daemon.wait_for_job(lambda state: state["arrived"] == 1, job)
            time.sleep(2.2)  # the run is over
        agent.kill()
        agent.wait()
        for number, job in enumerate(("train", "train~2")):
            with open(self.folder / f"logs/node0-pid{number}.log", "ab") as file:
                file.write(lines[10 + number])
        self.ship(self.folder / "logs")
        self.assertEqual((sent("train"), sent("train~2")), (b"".join(lines[:11]), b"".join(lines[:12])))

    def test_jobs_follows_the_newest_run_and_the_name_alone_stays_the_first(self):
        self.start()
        for run in ("first", "second"):
            self.ship(self.node(run, range(RANKS)))
        ask = lambda *words: subprocess.run([PROGRAM, "jobs", *words, "--to", self.daemon.url], capture_output=True, text=True, timeout=60)
        self.assertEqual(ask("watch", "train").returncode, 0)
        self.assertEqual(self.daemon.job("train~2")["report_state"], "complete")
        self.assertIn("Runs     2; the newest is train~2\n", ask("show", "train").stdout)
        self.assertIn("Job      train~2,", ask("show", "train~2").stdout)
        self.assertEqual(self.daemon.job("train")["runs"], ["train", "train~2"])
        page = self.daemon.ask("GET", "/jobs/train").body.decode()
        self.assertIn('Runs of this name</dt><dd><a href="/jobs/train~2">train~2</a>, train</dd>', page)
        self.assertIn('href="/jobs/train~2"', self.daemon.ask("GET", "/").body.decode())
        self.report("train")
        runs = self.daemon.ask("GET", "/v1/history?job=train").json()["runs"]
        self.assertEqual({run["job"] for run in runs}, {"train", "train~2"})
        out = self.folder / "exported"
        self.assertEqual(ask("export", "train~2", "-o", str(out), "--traces").returncode, 0)
        self.assertEqual(len(list((out / "traces/c0000").iterdir())), RANKS)
        self.assertEqual(ask("delete", "train~2", "--yes").returncode, 0)
        self.assertEqual(self.jobs(), ["train"])

    def test_watch_follows_the_runs_that_are_there_when_the_first_one_is_gone(self):
        self.start()
        for run in ("first", "second"):
            self.ship(self.node(run, range(RANKS)))
        self.assertEqual(self.daemon.ask("DELETE", "/v1/jobs/train").status, 204)
        watched = subprocess.run([PROGRAM, "jobs", "watch", "train", "--one-line", "--to", self.daemon.url], capture_output=True, text=True,
                                 timeout=60)
        self.assertEqual(watched.returncode, 0, watched.stderr)
        self.assertTrue(watched.stdout.startswith("train~2: complete"), watched.stdout)
        self.assertEqual(self.daemon.ask("POST", "/v1/jobs/train/revoke").status, 200)

    def test_export_has_the_traces_of_all_captures_whatever_their_numbers(self):
        self.start()
        for capture, run in ((1, "first"), (7, "second")):
            self.ship(self.node(run, range(RANKS)), "--capture", capture)
        out = self.folder / "exported"
        subprocess.run([PROGRAM, "jobs", "export", "train", "-o", out, "--traces", "--to", self.daemon.url], check=True, capture_output=True)
        self.assertEqual({folder.name: len(list(folder.iterdir())) for folder in (out / "traces").iterdir()}, {"c0001": RANKS, "c0007": RANKS})

    def test_settings_and_the_end_of_a_name_are_those_of_its_newest_run(self):
        self.start()
        for run in ("first", "second"):
            self.ship(self.node(run, range(RANKS)))
        self.assertEqual(self.daemon.ask("PUT", "/v1/jobs/train", body=b'{"captures": 2}').json()["job"], "train~2")
        self.assertEqual(self.daemon.ask("POST", "/v1/jobs/train/end").json()["job"], "train~2")
        self.assertEqual([self.daemon.job(job)["ended"] for job in ("train", "train~2")], [False, True])
        self.assertEqual([self.daemon.job(job)["captures"] for job in ("train", "train~2")], [1, 2])

    def test_a_run_that_is_deleted_takes_no_other_with_it_and_comes_back_beside_them(self):
        self.start()
        for run in ("first", "second"):
            self.ship(self.node(run, range(RANKS), age={"first": 7 * HOUR, "second": HOUR}[run]))
        self.assertEqual(self.daemon.ask("DELETE", "/v1/jobs/train").status, 204)
        self.assertEqual(self.jobs(), ["train~2"])
        self.assertEqual(self.ship(self.node("third", range(RANKS)))["job"], "train~3")
        self.daemon.stop()
        subprocess.run([PROGRAM, "gather", "--spool", self.daemon.spool, "--restore", "train"], check=True, capture_output=True)
        self.daemon.start()
        kept = {job: list(self.kept(job)) for job in self.jobs()}
        self.assertEqual(kept, {"train": ["first"], "train~2": ["second"], "train~3": ["third"]})
        self.assertEqual(self.daemon.job("train")["epoch"], self.daemon.job("train~3")["epoch"])
        self.assertLess(self.daemon.job("train")["epoch"], 1000)


class Rights(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        keys = key_file(folder.name)
        self.daemon = Daemon("--token-key-file", keys, insecure=False).start()
        self.addCleanup(self.daemon.stop)
        self.token = {name: minted(keys, name) for name in ("train", "other")}
        self.admin = minted(keys, "*", "--scopes", "upload,read,admin")

    def put(self, number, job="train", token="train"):
        """A rank's file that is older than the one before by more than the deadline: of another run."""
        content = b'{"traceEvents": [%d]}' % number
        return self.daemon.put(content, job, 0, token=self.token[token], query=f"?world_size=2&age={2000 * number}",
                               Repr_Digest=digest_of(content))

    def ask(self, method, path, token):
        return self.daemon.ask(method, path, token=self.token.get(token, token)).status

    def test_a_token_counts_in_all_runs_of_its_name_and_in_no_other_job(self):
        self.assertEqual([self.put(number)["Skewscope-Job"] for number in (0, 1)], ["train", "train~2"])
        self.assertEqual([self.ask("GET", "/v1/jobs/train~2/ranks/0", name) for name in ("train", "other")], [200, 404])
        listed = self.daemon.ask("GET", "/v1/jobs", token=self.token["train"]).json()["jobs"]
        self.assertEqual([job["job"] for job in listed], ["train", "train~2"])
        self.assertEqual(self.ask("DELETE", "/v1/jobs/train~2", "train"), 403)
        self.assertEqual(self.ask("DELETE", "/v1/jobs/train", self.admin), 204)
        self.assertEqual(self.ask("GET", "/v1/jobs/train~2", "train"), 200)
        self.assertEqual(self.ask("POST", "/v1/jobs/train~2/revoke", self.admin), 200)
        self.assertEqual(self.ask("GET", "/v1/jobs/train~2", "train"), 401)

    def test_nobody_makes_a_run_by_its_name(self):
        body = b'{"traceEvents": []}'
        self.assertEqual(self.daemon.create(5, "a~2", token=self.admin).status, 400)
        self.assertEqual(self.daemon.put(body, "a~2", token=self.admin).status, 400)
        self.assertEqual(self.daemon.ask("PUT", "/v1/jobs/a~2", body=b"{}", token=self.admin).status, 404)
        self.assertEqual(self.daemon.ask("POST", "/v1/tokens", body=b'{"job": "a~2"}', token=self.admin).status, 400)
        done = subprocess.run([PROGRAM, "ship", ".", "--to", self.daemon.url, "--job", "a~2", "--once"], capture_output=True, text=True)
        self.assertEqual((done.returncode, "is not a job name" in done.stderr), (2, True), done.stderr)
        self.assertEqual(self.daemon.ask("GET", "/v1/jobs", token=self.admin).json()["jobs"], [])

    def test_a_token_makes_a_thousand_runs_at_most_and_is_in_nobody_elses_way(self):
        answers = [self.put(number) for number in range(1003)]
        self.assertEqual({answer.status for answer in answers[:1000]}, {201})
        self.assertEqual(answers[999]["Skewscope-Job"], "train~1000")
        self.assertEqual([answer.status for answer in answers[1000:]], [507] * 3)
        self.assertIn("as many runs as a name may have", answers[-1].json()["detail"])
        self.assertEqual(self.put(5)["Skewscope-Job"], "train~6")  # which is there
        self.assertEqual(self.put(0, "other", "other").status, 201)


if __name__ == "__main__":
    unittest.main()
