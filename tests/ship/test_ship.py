#!/usr/bin/env python3
"""What skewscope ship sends, and when it deletes, against a gatherer that misbehaves.

usage: test_ship.py SKEWSCOPE             all
       test_ship.py SKEWSCOPE Cuts ...    as unittest has it
"""
import gzip
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from fake_gatherer import Answer, Cut, Forget, Lie  # noqa: E402
from shipping import EVENT, HOST, PATIENCE_S, PROGRAM, Shipping, run_classes, trace  # noqa: E402


class WhatIsSent(Shipping):
    def test_every_finished_file_arrives_as_it_is_with_rank_world_and_digest(self):
        contents = {rank: self.write_gzip(rank, 4, seed=rank).read_bytes() for rank in range(4)}
        result = self.ship()
        self.assertEqual((result["files"], result["bad"], result["left"]), (4, [], []))
        self.assertEqual(self.gatherer.stored(), {("j", 0, rank): content for rank, content in contents.items()})
        metadata = self.gatherer.metadata["j", 0, 2]
        self.assertEqual(metadata["world_size"], "4")
        self.assertEqual(metadata["filename"], f"rank2@{HOST}.json.gz")
        self.assertEqual(metadata["sha256"], hashlib.sha256(contents[2]).hexdigest())

    def test_the_name_that_is_sent_tells_the_host_unless_the_trace_does(self):
        self.write("rank0@node5.json.gz", gzip.compress(trace(0, 2)))
        told = trace(1, 2).replace(b'{"schemaVersion"', b'{"host_name": "node6", "schemaVersion"')
        self.write("rank1.json.gz", gzip.compress(told))
        self.ship()
        self.assertEqual(self.gatherer.metadata["j", 0, 0]["filename"], "rank0@node5.json.gz")
        self.assertEqual(self.gatherer.metadata["j", 0, 1]["filename"], "rank1.json.gz")

    def test_a_host_that_is_given_is_that_of_traces_that_name_none(self):
        self.write("rank0@node5.json.gz", gzip.compress(trace(0, 2)))
        self.write("rank1.json.gz", gzip.compress(trace(1, 2)))
        self.ship("--host", "node7")
        self.assertEqual(self.gatherer.metadata["j", 0, 0]["filename"], "rank0@node5.json.gz")
        self.assertEqual(self.gatherer.metadata["j", 0, 1]["filename"], "rank1@node7.json.gz")

    def test_plain_json_goes_as_gzip_members_that_are_the_same_every_time(self):
        text = trace(padding=35_000_000)  # three members
        self.assertGreater(len(text), 2 * (16 << 20))
        self.write("rank0.json", text)
        self.ship(job="a")
        self.ship("--piece", "3M", job="b")
        stored = self.gatherer.stored()
        self.assertEqual(gzip.decompress(stored["a", 0, 0]), text)
        self.assertEqual(stored["a", 0, 0], stored["b", 0, 0])
        self.assertEqual(self.gatherer.metadata["a", 0, 0]["filename"], f"rank0@{HOST}.json.gz")
        self.ship("--no-compress", job="c")
        self.assertEqual(self.gatherer.stored()["c", 0, 0], text)

    def test_digests_are_sent_in_place_of_traces(self):
        text = self.write_gzip(3, 8)
        self.ship("--digest")
        content = self.gatherer.stored()["j", 0, 3]
        self.assertEqual(content[:4], b"\x89ske")
        self.assertEqual(self.gatherer.metadata["j", 0, 3]["filename"], f"rank3@{HOST}.json.gz.digest")
        self.assertEqual(os.listdir(self.folder / ".skewscope-ship" / "digests"), [])
        self.assertTrue(text.exists())

    def test_a_digest_that_would_need_more_memory_than_it_may_is_not_made_and_the_trace_is_named_and_kept(self):
        large, small = self.write("rank0.json", trace(0, 2, events=200_000)), self.write_gzip(1, 2)
        result = self.ship("--digest", "--digest-memory", "180M", code=4)
        self.assertEqual((result["files"], len(result["bad"])), (1, 1))
        self.assertRegex(result["bad"][0], "rank0.json: cannot make a digest: .* 189 MB of memory")
        self.assertEqual(list(self.gatherer.stored()), [("j", 0, 1)])
        self.assertTrue(large.exists() and small.exists())
        self.assertEqual(os.listdir(self.folder / ".skewscope-ship" / "digests"), [])

    def test_a_digest_that_would_take_more_memory_to_be_checked_than_it_may_is_named_and_kept(self):
        self.write("rank0.json", trace(0, 2, events=20_000))
        subprocess.run([PROGRAM, "digest", self.folder / "rank0.json", "-o", self.folder], check=True, capture_output=True)
        (self.folder / "rank0.json").unlink()
        result = self.ship("--digest-memory", "100K", code=4)
        self.assertIn("takes more than --digest-memory to be checked", result["bad"][0])
        self.assertEqual(self.ship()["files"], 1)

    def test_a_digest_is_made_outside_of_the_agents_memory(self):
        self.write("rank0.json", trace(padding=100_000_000))
        agent = self.watch("--digest", "--rate", "1G")
        self.until(lambda: self.gatherer.files)
        peak_kib = int(Path(f"/proc/{agent.pid}/status").read_text().split("VmHWM:")[1].split()[0])
        self.assertLess(peak_kib, 64 << 10)

    def test_the_rank_is_told_or_the_file_is_refused_never_guessed(self):
        plain = json.dumps({"traceEvents": [EVENT], "traceName": "t"}).encode()
        self.write("node-a.17.json", plain)
        self.assertIn("rank", self.ship(code=4)["bad"][0])
        self.assertEqual(self.gatherer.files, {})
        self.ship("--rank-regex", r"\.(?P<rank>\d+)\.json", "--world-size", 32)
        self.assertEqual(list(self.gatherer.stored()), [("j", 0, 17)])
        self.assertEqual(self.gatherer.metadata["j", 0, 17]["world_size"], "32")

    def test_a_pattern_that_is_none_or_names_no_rank_is_refused_at_the_start(self):
        self.write_gzip(0)
        for pattern in ("(", r"rank(\d+)"):
            self.assertIn("--rank-regex", self.ship("--rank-regex", pattern, code=2))
        self.assertEqual(self.gatherer.log, [])

    def test_where_there_is_nothing_to_send_the_folder_is_named_and_links_are_counted(self):
        def said():
            run = subprocess.run(self.command("--once"), capture_output=True, text=True, timeout=PATIENCE_S)
            self.assertEqual(run.returncode, 0, run.stderr)
            return run.stderr
        self.assertIn(f"{self.folder}: no file in it whose name ends in .json", said())
        for name in ("rank0.json.gz", "rank1.json.gz", "rank2.json.gz"):
            (self.folder.parent / name).write_bytes(gzip.compress(trace(0)))
            os.symlink(self.folder.parent / name, self.folder / name)
        self.assertRegex(said(), f"{self.folder}/rank0.json.gz is a symbolic link, as 3 in all")
        self.assertEqual(self.gatherer.log, [])

    def test_hidden_temporary_linked_and_foreign_files_are_not_touched(self):
        self.write_gzip(0)
        outside = self.folder.parent / "rank1.json.gz"
        outside.write_bytes(gzip.compress(trace(1)))
        os.symlink(outside, self.folder / "rank1.json.gz")
        (self.folder / ".rank2.json.gz").write_bytes(gzip.compress(trace(2)))
        (self.folder / "rank3.json.gz.tmp").write_bytes(gzip.compress(trace(3)))
        os.mkfifo(self.folder / "rank4.json.gz")
        self.write_gzip(5)
        if os.getuid() == 0:
            os.chown(self.folder / "rank5.json.gz", 1234, 1234)
        self.assertEqual(self.ship()["files"], 1 if os.getuid() == 0 else 2)
        self.assertIn(("j", 0, 0), self.gatherer.stored())


    def test_of_several_captures_in_one_folder_the_oldest_of_each_rank_is_sent_and_the_others_are_named(self):
        oldest = {}
        for step in (360, 240, 120):  # as they lie on the disk
            for rank in (3, 1, 0, 2):
                path = self.write_gzip(rank, 4, seed=100 * step + rank, name=f"run_rank{rank}-of-4_step{step}.json.gz")
                os.utime(path, (1_700_000_000 + step, 1_700_000_000 + step))
                oldest["j", 0, rank] = path.read_bytes()
        result = self.ship("--uploads", 4, code=4)
        self.assertEqual(self.gatherer.stored(), oldest)
        self.assertEqual((result["files"], len(result["bad"])), (4, 8))
        self.assertIn("each of several recordings needs its own --capture", result["bad"][0])
        self.assertTrue(all("step240" in line or "step360" in line for line in result["bad"]), result["bad"])
        self.gatherer.files.clear()
        newest = {("k", 0, rank): next(self.folder.glob(f"*rank{rank}-*step360*")).read_bytes() for rank in range(4)}
        self.assertEqual(self.ship("--uploads", 4, "--replace", job="k")["files"], 12)
        self.assertEqual(self.gatherer.stored(), newest)

    def test_where_the_oldest_of_a_rank_is_refused_the_next_one_is_sent_and_a_copy_is_no_other_content(self):
        for step in (120, 240):
            path = self.write_gzip(0, seed=step, name=f"rank0_step{step}.json.gz")
            os.utime(path, (1_700_000_000 + step,) * 2)
        shutil.copy(path, self.folder / "copy_rank0.json.gz")
        self.gatherer.faults = {0: Answer(413)}
        result = self.ship(code=4)
        self.assertEqual((result["files"], len(result["bad"])), (2, 1))
        self.assertIn("step120", result["bad"][0])
        self.assertEqual(self.gatherer.stored()["j", 0, 0], path.read_bytes())

    def test_a_file_that_is_refused_for_a_while_holds_up_its_own_rank_alone(self):
        for step in (120, 240, 360):
            path = self.write_gzip(0, 2, seed=step, name=f"rank0_step{step}.json.gz")
            os.utime(path, (1_700_000_000 + step,) * 2)
        self.write_gzip(1, 2)
        self.gatherer.faults = {0: Answer(507)}  # which is waited out
        self.watch("--replace")
        self.until(lambda: ("j", 0, 1) in self.gatherer.files, 20)
        self.assertNotIn(("j", 0, 0), self.gatherer.files)

    def test_a_folder_with_nothing_but_another_users_files_is_not_all_done(self):
        if os.getuid() != 0:
            self.skipTest("needs root to give a file away")
        os.chown(self.write_gzip(0), 1234, 1234)
        self.assertIn("rank0.json.gz: belongs to another user", self.ship(code=4)["left"][0])

    def test_within_a_job_of_slurm_the_job_has_the_name_that_the_prolog_registers(self):
        self.write_gzip(0)
        command = [PROGRAM, "ship", str(self.folder), "--to", self.gatherer.url, "--once", "--settle", "0"]
        plain = {key: value for key, value in os.environ.items() if not key.startswith("SLURM_")}
        for more, job in (({"SLURM_JOB_ID": "17"}, "cluster-17.0"),
                          ({"SLURM_JOB_ID": "17", "SLURM_CLUSTER_NAME": "c", "SLURM_RESTART_COUNT": "2"}, "c-17.2")):
            run = subprocess.run(command, env={**plain, **more}, capture_output=True, text=True, timeout=PATIENCE_S)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn((job, 0, 0), self.gatherer.files)
        self.assertEqual(subprocess.run(command, env=plain, capture_output=True).returncode, 2)

    def test_a_pattern_leaves_no_folder_of_its_name(self):
        (self.folder / "a").mkdir()
        self.write_gzip(0, name="a/rank0.json.gz")
        pattern = str(self.folder / "*/*.gz")
        run = subprocess.run([PROGRAM, "ship", pattern, "--to", self.gatherer.url, "--job", "j", "--once", "--settle", "0"],
                             capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), [".skewscope-ship", "a"])


class Many(Shipping):
    def test_two_thousand_small_files_arrive_once_each(self):
        for rank in range(2000):
            (self.folder / f"rank{rank}.json.gz").write_bytes(gzip.compress(trace(rank, 2000), 1))
        result = self.ship("--rate", "1G")
        self.assertEqual((result["files"], result["left"]), (2000, []))
        self.assertEqual(len(self.gatherer.stored()), 2000)
        requests = len(self.gatherer.log)
        self.assertEqual(self.ship()["before"], 2000)
        self.assertEqual(len(self.gatherer.log), requests)


class Finished(Shipping):
    def test_empty_cut_and_open_files_are_left_and_said_so(self):
        whole = gzip.compress(trace(0))
        (self.folder / "rank0.json.gz").write_bytes(b"")
        (self.folder / "rank1.json.gz").write_bytes(whole[:-9])
        (self.folder / "rank2.json").write_bytes(trace(2)[:-1])
        with open(self.folder / "rank3.json.gz", "wb") as writer:
            writer.write(whole)
            writer.flush()
            result = self.ship(code=4)
        self.assertEqual(len(result["left"]), 4, result)
        self.assertEqual(self.gatherer.files, {})
        self.assertEqual(os.listdir(self.folder / ".skewscope-ship" / "held"), [])  # no link keeps the disk full

    def test_a_gzip_file_that_grows_in_place_is_sent_when_it_is_whole(self):
        self.watch("--rescan", 1)
        time.sleep(0.3)
        content = gzip.compress(trace(events=2000), 1)
        path = self.folder / "rank0.json.gz"
        for size in (0, len(content) // 2, len(content)):  # closed each time: only the content tells
            path.write_bytes(content[:size])
            time.sleep(0.7)
        self.until(lambda: self.gatherer.files)
        self.assertEqual(self.gatherer.stored(), {("j", 0, 0): content})

    def test_a_renamed_file_is_sent_at_once_even_in_a_new_folder(self):
        self.watch("--rescan", 1000)
        time.sleep(0.5)
        (self.folder / "later").mkdir()
        self.write("later/rank7.json.gz", gzip.compress(trace(7, 8)))
        began = time.monotonic()
        self.until(lambda: self.gatherer.files)
        self.assertLess(time.monotonic() - began, 3)
        self.assertIn(("j", 0, 7), self.gatherer.stored())

    def test_a_file_that_stays_cut_is_bad_and_kept(self):
        agent = self.watch("--patience", 1, "--delete-source")
        path = self.folder / "rank0.json.gz"
        path.write_bytes(gzip.compress(trace(0))[:-9])
        self.assertIn("bad: cut", agent.stderr.readline())
        self.assertTrue(path.exists())

    def test_an_accepted_file_is_not_sent_again_and_a_changed_one_is(self):
        path = self.write_gzip(0, seed=1)
        self.ship()
        requests = len(self.gatherer.log)
        path.rename(self.folder / "rank0-renamed.json.gz")
        result = self.ship()
        self.assertEqual((result["files"], result["before"], len(self.gatherer.log)), (0, 1, requests))
        (self.folder / "rank0-renamed.json.gz").unlink()
        self.write_gzip(0, seed=2)
        self.assertIn("--replace", self.ship(code=4)["bad"][0])
        self.assertEqual(self.ship("--replace")["files"], 1)

    def test_a_file_removed_by_the_job_meanwhile_is_sent_from_the_link(self):
        path = self.write_gzip(0, events=20_000)
        content = path.read_bytes()
        agent = self.watch("--rate", "400K", "--piece", "100K")
        self.until(lambda: len(self.gatherer.log) > 2)
        path.unlink()
        agent.kill()
        agent.wait()
        self.assertEqual(self.ship()["files"], 1)
        self.assertEqual(self.gatherer.stored(), {("j", 0, 0): content})


class Cuts(Shipping):
    def test_a_connection_cut_at_any_boundary_costs_nothing_but_time(self):
        content = self.write_gzip(0, events=2000).read_bytes()
        piece = len(content) // 3 + 1
        for where in ("at once", "body", "answer", "in the answer"):
            for request in range(4):  # creation and three pieces
                with self.subTest(where=where, request=request):
                    job = f"{where.replace(' ', '-')}.{request}"
                    self.gatherer.faults = {len(self.gatherer.log) + request: Cut(where)}
                    self.assertEqual(self.ship("--piece", piece, job=job)["files"], 1)
                    self.assertEqual(self.gatherer.stored()[job, 0, 0], content)

    def test_statuses_that_pass_are_tried_again(self):
        self.write_gzip(0, events=2000)
        again = {"Retry-After": "1"}
        cases = [(status, {}, request) for status in (408, 425, 500, 502) for request in (0, 1)]
        for status, fields, request in cases + [(429, again, 0), (503, again, 1), (507, again, 0)]:
            with self.subTest(status=status, request=request):
                at = len(self.gatherer.log) + request
                self.gatherer.faults = {at: Answer(status, fields)}
                self.ship(job=f"s{status}.{request}")
                waited = self.gatherer.log[at + 1][3] - self.gatherer.log[at][3]
                self.assertGreaterEqual(waited, 1 if fields else 0)
        self.assertEqual(len(self.gatherer.stored()), 11)

    def test_wrong_offsets_and_checksums_make_it_ask_and_go_on(self):
        self.write_gzip(0, events=2000)
        for status in (409, 460):
            at = len(self.gatherer.log) + 1
            self.gatherer.faults = {at: Answer(status)}
            self.ship(job=f"s{status}")
            self.assertEqual(self.gatherer.log[at + 1][0], "HEAD")
        self.assertEqual(len(self.gatherer.stored()), 2)

    def test_a_gatherer_that_goes_back_and_forth_is_not_asked_without_end(self):
        content = self.write_gzip(0, events=2000).read_bytes()
        self.gatherer.faults = {request: Forget(409) for request in range(2, 3000, 3)}  # PATCH, PATCH: lost, HEAD
        result = self.ship("--piece", len(content) // 3 + 1, "--give-up", 20, code=4)
        self.assertEqual(result["files"], 0)
        self.assertLess(len(self.gatherer.log), 20)

    def test_an_upload_that_the_gatherer_lost_begins_anew(self):
        self.write_gzip(0, events=2000)
        for status in (404, 410):
            self.gatherer.faults = {len(self.gatherer.log) + 1: Answer(status)}
            self.ship(job=f"s{status}")
        self.assertEqual(len(self.gatherer.stored()), 2)

    def test_other_refusals_are_final_and_the_file_stays(self):
        path = self.write_gzip(0)
        for status in (400, 410, 413, 501, 505):
            with self.subTest(status):
                before = len(self.gatherer.log)
                self.gatherer.always = Answer(status)
                result = self.ship("--delete-source", code=4)
                self.assertIn(str(status), result["bad"][0])
                self.assertEqual(len(self.gatherer.log), before + 1)
        self.assertTrue(path.exists())

    def test_a_gatherer_that_is_away_leaves_the_file_in_bounded_time(self):
        path = self.write_gzip(0)
        began = time.monotonic()
        result = self.ship("--delete-source", "--give-up", 2, url="http://127.0.0.1:1", code=4)
        self.assertLess(time.monotonic() - began, 5)
        self.assertIn("given up", result["left"][0])
        self.assertTrue(path.exists())

    def test_with_once_a_gatherer_that_is_away_is_waited_for_once_for_all_files(self):
        for rank in range(12):
            self.write_gzip(rank, 12, seed=rank)
        self.gatherer.stop()
        began = time.monotonic()
        self.assertEqual(len(self.ship("--give-up", 3, code=4)["left"]), 12)
        self.assertLess(time.monotonic() - began, 9)  # one by one, two at a time: 18

    def test_a_killed_agent_goes_on_where_the_gatherer_is(self):
        content = self.write_gzip(0, events=20_000).read_bytes()
        for kill in range(4):
            agent = self.watch("--rate", "2M", "--piece", "100K")
            time.sleep(0.15 + 0.1 * random.Random(kill).random())
            agent.send_signal(signal.SIGKILL)
            agent.wait()
        self.ship()
        self.assertEqual(self.gatherer.stored(), {("j", 0, 0): content})
        creations = sum(method == "POST" for method, *_ in self.gatherer.log)
        self.assertEqual(creations, 1)


    def test_what_a_killed_agent_had_not_hashed_yet_is_sent_whatever_became_of_its_name(self):
        path = self.write("rank0.json", trace(padding=60_000_000))
        content = path.read_bytes()
        agent = self.watch("--cpu", 5)
        items = self.folder / ".skewscope-ship/items"
        self.until(lambda: items.exists() and any(items.glob("*.json")))
        self.assertEqual(json.loads(next(items.glob("*.json")).read_text())["sha256"], "")
        agent.send_signal(signal.SIGKILL)
        agent.wait()
        path.unlink()
        self.assertEqual(self.ship()["files"], 1)
        self.assertEqual(gzip.decompress(self.gatherer.stored()["j", 0, 0]), content)


class Proof(Shipping):
    """A source is never deleted before an equal digest came back."""

    def test_the_source_goes_only_after_the_digest(self):
        path = self.write_gzip(0)
        there = []
        self.gatherer.on_complete = lambda key: there.append(path.exists())
        self.ship("--delete-source")
        self.assertEqual(there, [True])
        self.assertFalse(path.exists())

    def test_a_source_that_somebody_has_open_for_writing_stays(self):
        path, writers = self.write_gzip(0), []
        self.gatherer.on_complete = lambda key: writers.append(open(path, "ab"))
        self.ship("--delete-source")
        self.assertTrue(path.exists())
        writers[0].close()
        self.ship("--delete-source")
        self.assertFalse(path.exists())

    def test_a_source_that_was_renamed_while_it_was_sent_goes_too(self):
        path = self.write_gzip(0)
        self.gatherer.on_complete = lambda key: path.rename(self.folder / "rank0_final.json.gz")
        self.ship("--delete-source")
        self.assertEqual(os.listdir(self.folder), [".skewscope-ship"])

    def test_what_took_the_sources_name_meanwhile_stays(self):
        path, other = self.write_gzip(0), gzip.compress(trace(0, seed=5))
        self.gatherer.on_complete = lambda key: self.write(path.name, other)
        self.ship("--delete-source")
        self.assertEqual(path.read_bytes(), other)

    def test_an_agent_that_ends_keeps_no_disk_and_neither_does_one_that_deletes(self):
        held = self.folder / ".skewscope-ship/held"
        path = self.write_gzip(0)
        self.ship()
        self.assertEqual((os.listdir(held), path.stat().st_nlink), ([], 1))
        agent = self.watch("--delete-source", "--capture", 1)
        self.until(lambda: not path.exists())
        agent.terminate()
        agent.wait()
        self.assertEqual(os.listdir(held), [])

    def test_a_wrong_or_missing_digest_deletes_nothing_and_is_no_success(self):
        other = "sha-256=:" + "A" * 43 + "=:"
        for digest in (other, None, "sha-256=:x:", "sha-512=:AAAA:"):
            with self.subTest(digest):
                path = self.write_gzip(0)
                self.gatherer.always = Lie({"Repr-Digest": digest})
                result = self.ship("--delete-source", "--give-up", 2, code=4)
                self.assertTrue(result["left"] or result["bad"])
                self.assertEqual(result["files"], 0)
                self.assertTrue(path.exists())

    def test_digest_alone_before_all_bytes_is_not_believed(self):
        content = self.write_gzip(0).read_bytes()
        import base64
        digest = "sha-256=:" + base64.b64encode(hashlib.sha256(content).digest()).decode() + ":"
        self.gatherer.always = Lie({"Repr-Digest": digest, "Upload-Offset": "0"})
        self.assertEqual(self.ship("--give-up", 1, code=4)["files"], 0)


if __name__ == "__main__":
    run_classes(globals())
