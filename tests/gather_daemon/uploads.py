#!/usr/bin/env python3
"""tus 1.0 and the PUT of one file, as its users see them. usage: uploads.py SKEWSCOPE"""
import importlib.util
import os
import re
import time
import unittest

from daemon import DaemonTest, checksum_of, digest_of, metadata, received

CONTENT = os.urandom(300_000)


class Tus(DaemonTest):
    def test_options_tells_version_extensions_and_largest_file(self):
        answer = self.daemon.ask("OPTIONS", "/v1/uploads")
        self.assertIn(answer.status, (200, 204))
        self.assertEqual(answer["Tus-Version"], "1.0.0")
        self.assertEqual(answer["Tus-Resumable"], "1.0.0")
        self.assertEqual(answer["Tus-Max-Size"], str(16 << 30))
        self.assertEqual(set(answer["Tus-Extension"].split(",")),
                         {"creation", "creation-with-upload", "creation-defer-length", "expiration", "checksum", "termination"})
        self.assertEqual(answer["Tus-Checksum-Algorithm"].split(",")[0], "sha1")
        self.assertIn("sha256", answer["Tus-Checksum-Algorithm"])

    def test_an_upload_in_two_pieces_is_stored_once_and_whole(self):
        created = self.daemon.create(len(CONTENT), job="pieces", rank=3)
        self.assertEqual(created.status, 201)
        self.assertEqual(created["Upload-Offset"], "0")
        path = created["Location"]
        self.assertRegex(path, "^/v1/uploads/[0-9a-f]{32}$")
        first = self.daemon.patch(path, 0, CONTENT[:100_000])
        self.assertEqual((first.status, first["Upload-Offset"], first["Tus-Resumable"]), (204, "100000", "1.0.0"))
        head = self.daemon.ask("HEAD", path)
        self.assertEqual((head.status, head["Upload-Offset"], head["Upload-Length"]), (200, "100000", str(len(CONTENT))))
        self.assertEqual(head["Cache-Control"], "no-store")
        self.assertRegex(head["Upload-Expires"], r"^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$")
        last = self.daemon.patch(path, 100_000, CONTENT[100_000:], Repr_Digest=digest_of(CONTENT))
        self.assertEqual((last.status, last["Upload-Offset"]), (204, str(len(CONTENT))))
        self.assertEqual(last["Repr-Digest"], digest_of(CONTENT))
        back = self.daemon.ask("GET", "/v1/jobs/pieces/ranks/3")
        self.assertEqual((back.status, back.body), (200, CONTENT))

    def test_a_wrong_offset_changes_nothing_and_is_told_the_right_one(self):
        path = self.daemon.create(100, rank=1)["Location"]
        self.daemon.patch(path, 0, b"x" * 40)
        wrong = self.daemon.patch(path, 30, b"y" * 10)
        self.assertEqual((wrong.status, wrong["Upload-Offset"]), (409, "40"))
        self.assertEqual(self.daemon.ask("HEAD", path)["Upload-Offset"], "40")

    def test_a_patch_of_another_type_is_refused(self):
        path = self.daemon.create(10, rank=2)["Location"]
        answer = self.daemon.ask("PATCH", path, body=b"x", Upload_Offset=0, Content_Type="text/plain")
        self.assertEqual(answer.status, 415)

    def test_another_version_of_tus_is_refused_with_ours(self):
        answer = self.daemon.ask("POST", "/v1/uploads", Upload_Length=3, Upload_Metadata=metadata(), Tus_Resumable="0.2.2")
        self.assertEqual((answer.status, answer["Tus-Version"]), (412, "1.0.0"))

    def test_creation_with_upload_takes_the_first_bytes(self):
        created = self.daemon.create(len(CONTENT), rank=4, body=CONTENT[:5000])
        self.assertEqual((created.status, created["Upload-Offset"]), (201, "5000"))
        self.assertEqual(self.daemon.patch(created["Location"], 5000, CONTENT[5000:]).status, 204)
        self.assertEqual(self.daemon.ask("GET", "/v1/jobs/run/ranks/4").body, CONTENT)

    def test_a_deferred_length_may_come_with_the_last_bytes(self):
        path = self.daemon.create(None, rank=5)["Location"]
        self.assertEqual(self.daemon.ask("HEAD", path)["Upload-Defer-Length"], "1")
        self.assertEqual(self.daemon.patch(path, 0, b"abc").status, 204)
        last = self.daemon.patch(path, 3, b"de", Upload_Length=5)
        self.assertEqual((last.status, last["Repr-Digest"]), (204, digest_of(b"abcde")))

    def test_a_checksum_that_is_wrong_takes_nothing_of_the_piece(self):
        for algorithm in ("sha256", "sha1"):
            path = self.daemon.create(11, rank=6)["Location"]
            self.assertEqual(self.daemon.patch(path, 0, b"hello ", Upload_Checksum=checksum_of(b"hello ", algorithm)).status, 204)
            wrong = self.daemon.patch(path, 6, b"wORLD", Upload_Checksum=checksum_of(b"world", algorithm))
            self.assertEqual(wrong.status, 460)
            self.assertEqual(self.daemon.ask("HEAD", path)["Upload-Offset"], "6")
            self.assertEqual(self.daemon.patch(path, 6, b"world", Upload_Checksum=checksum_of(b"world", algorithm)).status, 204)

    def test_an_unknown_checksum_algorithm_is_a_bad_request(self):
        path = self.daemon.create(5, rank=7)["Location"]
        self.assertEqual(self.daemon.patch(path, 0, b"hello", Upload_Checksum="crc32 AAAA").status, 400)

    def test_a_terminated_upload_is_gone(self):
        path = self.daemon.create(5, rank=8)["Location"]
        self.assertEqual(self.daemon.ask("DELETE", path).status, 204)
        self.assertIn(self.daemon.ask("HEAD", path).status, (404, 410))

    def test_a_file_of_nothing_is_complete_when_it_is_created(self):
        created = self.daemon.create(0, rank=9)
        self.assertEqual(created.status, 201)
        self.assertEqual((created["Upload-Offset"], created["Repr-Digest"]), ("0", digest_of(b"")))
        self.assertEqual(self.daemon.ask("HEAD", created["Location"])["Repr-Digest"], digest_of(b""))
        self.assertEqual(self.daemon.ask("GET", "/v1/jobs/run/ranks/9").body, b"")
        refused = self.daemon.create(0, rank=16, fields={"Repr_Digest": digest_of(b"x")})
        self.assertEqual(refused.status, 460)

    def test_a_head_while_a_patch_runs_ends_it_and_tells_the_offset_that_counts(self):
        path = self.daemon.create(1_000_000, rank=10)["Location"]
        with self.daemon.connect() as running:
            running.sendall(f"PATCH {path} HTTP/1.1\r\nHost: localhost\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\n"
                            "Content-Type: application/offset+octet-stream\r\nContent-Length: 1000000\r\n\r\n".encode() + b"a" * 600_000)
            time.sleep(0.3)
            head = self.daemon.ask("HEAD", path)
            offset = int(head["Upload-Offset"])
            self.assertLessEqual(offset, 600_000)
            self.assertEqual(received(running), b"")
        rest = b"a" * (1_000_000 - offset)
        self.assertEqual(self.daemon.patch(path, offset, rest).status, 204)
        self.assertEqual(self.daemon.ask("GET", "/v1/jobs/run/ranks/10").body, b"a" * 1_000_000)

    def test_bytes_of_a_broken_connection_count(self):
        path = self.daemon.create(1_000_000, rank=11)["Location"]
        with self.daemon.connect() as broken:
            broken.sendall(f"PATCH {path} HTTP/1.1\r\nHost: localhost\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\n"
                           "Content-Type: application/offset+octet-stream\r\nContent-Length: 1000000\r\n\r\n".encode() + b"a" * 500_000)
        for _ in range(100):
            time.sleep(0.1)  # a HEAD that comes before the end does would end the PATCH
            offset = int(self.daemon.ask("HEAD", path)["Upload-Offset"])
            if offset == 500_000:
                break
        self.assertEqual(offset, 500_000)

    def test_a_method_override_stands_for_patch(self):
        path = self.daemon.create(3, rank=12)["Location"]
        answer = self.daemon.ask("POST", path, body=b"abc", Upload_Offset=0, X_HTTP_Method_Override="PATCH",
                                 Content_Type="application/offset+octet-stream")
        self.assertEqual(answer.status, 204)

    def test_metadata_come_back_with_head(self):
        path = self.daemon.create(3, job="told", rank=13, filename="räte.json")["Location"]
        told = self.daemon.ask("HEAD", path)["Upload-Metadata"]
        self.assertEqual(set(told.split(",")) & set(metadata("told", 13, filename="räte.json").split(",")),
                         set(metadata("told", 13, filename="räte.json").split(",")))

    def test_an_upload_that_nobody_made_is_not_found(self):
        self.assertEqual(self.daemon.ask("HEAD", "/v1/uploads/" + "0" * 32).status, 404)
        self.assertEqual(self.daemon.patch("/v1/uploads/" + "0" * 32, 0, b"x").status, 404)

    def test_more_than_the_length_is_refused(self):
        path = self.daemon.create(3, rank=14)["Location"]
        self.assertIn(self.daemon.patch(path, 0, b"abcdef").status, (400, 413))
        self.assertEqual(self.daemon.ask("HEAD", path)["Upload-Offset"], "0")

    def test_a_file_larger_than_the_largest_is_refused_before_it_is_sent(self):
        self.assertEqual(self.daemon.create((16 << 30) + 1, rank=15).status, 413)


class Put(DaemonTest):
    def test_a_file_is_acknowledged_with_its_digest(self):
        answer = self.daemon.put(CONTENT, rank=0, Repr_Digest=digest_of(CONTENT))
        self.assertEqual((answer.status, answer["Repr-Digest"]), (201, digest_of(CONTENT)))
        self.assertIn(CONTENT, self.daemon.stored().values())

    def test_the_same_file_again_is_fine_and_another_is_not(self):
        self.assertEqual(self.daemon.put(b"one", rank=1).status, 201)
        self.assertIn(self.daemon.put(b"one", rank=1).status, (201, 204))
        self.assertEqual(self.daemon.put(b"one", rank=1, Repr_Digest=digest_of(b"one")).status, 204)
        self.assertEqual(self.daemon.put(b"two", rank=1).status, 409)
        self.assertEqual(self.daemon.ask("GET", "/v1/jobs/run/ranks/1").body, b"one")
        self.assertEqual(self.daemon.put(b"two", rank=1, query="?replace=1").status, 201)
        self.assertEqual(self.daemon.ask("GET", "/v1/jobs/run/ranks/1").body, b"two")

    def test_a_wrong_digest_stores_nothing(self):
        self.assertEqual(self.daemon.put(b"bytes", rank=2, Repr_Digest=digest_of(b"other")).status, 460)
        for digest in ("sha-256=:garbage:", "sha-256=:AAAA:", "sha-256", "md5=:AAAA:, sha-256=AAAA"):
            self.assertEqual(self.daemon.put(b"bytes", rank=2, Repr_Digest=digest).status, 400)
            self.assertEqual(self.daemon.create(5, rank=2, fields={"Repr_Digest": digest}).status, 400)
        path = self.daemon.create(5, rank=2)["Location"]
        self.assertEqual(self.daemon.patch(path, 0, b"bytes", Repr_Digest="sha-256=:garbage:").status, 400)
        self.assertEqual(self.daemon.ask("DELETE", path).status, 204)
        self.assertEqual(self.daemon.put(b"bytes", "unknown_algorithm", Repr_Digest="md5=:AAAA:, sha-512=:AAAA:").status, 201)
        self.assertEqual(self.daemon.ask("GET", "/v1/jobs/run/ranks/2").status, 404)

    def test_a_file_that_did_not_come_whole_is_forgotten(self):
        with self.daemon.connect() as broken:
            broken.sendall(b"PUT /v1/jobs/broken/ranks/3 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n" + b"a" * 500)
        state = self.daemon.wait_for_job(lambda job: job["open_uploads"] == 0, "broken", 5)
        self.assertEqual((state["open_uploads"], state["arrived"]), (0, 0))

    def test_a_range_of_a_file_can_be_fetched(self):
        self.daemon.put(CONTENT, rank=4)
        part = self.daemon.ask("GET", "/v1/jobs/run/ranks/4", Range="bytes=1000-1999")
        self.assertEqual((part.status, part.body), (206, CONTENT[1000:2000]))
        self.assertEqual(part["Content-Range"], f"bytes 1000-1999/{len(CONTENT)}")
        self.assertEqual(self.daemon.ask("GET", "/v1/jobs/run/ranks/4", Range="bytes=-5").body, CONTENT[-5:])
        self.assertEqual(self.daemon.ask("GET", "/v1/jobs/run/ranks/4", Range="bytes=999999-").status, 416)

    def test_a_put_without_a_length_is_refused(self):
        self.assertIn(b" 411 ", self.raw("PUT /v1/jobs/run/ranks/5 HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"))
        self.assertIn(b" 411 ", self.raw("PUT /v1/jobs/run/ranks/5 HTTP/1.1\r\nHost: localhost\r\n\r\n"))

    def test_the_job_tells_what_has_arrived_and_what_is_missing(self):
        self.assertEqual(self.daemon.ask("PUT", "/v1/jobs/count", body=b'{"world_size": 4}').status, 201)
        self.assertEqual(self.daemon.ask("PUT", "/v1/jobs/count", body=b'{"world_size": 4}').status, 200)
        for rank in (0, 2):
            self.daemon.put(b"rank %d" % rank, job="count", rank=rank)
        state = self.daemon.job("count")
        self.assertEqual((state["arrived"], state["expected"], state["missing_ranks"], state["bytes"]), (2, 4, [1, 3], 12))
        self.assertIn(state["report_state"], ("none", "waiting"))
        listed = self.daemon.ask("GET", "/v1/jobs").json()["jobs"]
        self.assertIn("count", [job["job"] for job in listed])

    def test_the_job_tells_what_is_missing_in_which_capture(self):
        self.daemon.ask("PUT", "/v1/jobs/captures", body=b'{"world_size": 4}')
        self.daemon.put(b"0", "captures", 0)
        for rank in range(4):
            self.daemon.put(b"%d" % rank, "captures", rank, query="?capture=1")
        state = self.daemon.job("captures")
        self.assertEqual((state["state"], state["arrived"], state["expected"], state["missing_ranks"], state["missing"]),
                         ("receiving", 5, 8, [1, 2, 3], [{"capture": 0, "ranks": [1, 2, 3]}]))
        self.assertIn(b"<dt>Missing ranks of capture 0</dt><dd>1-3</dd>", self.daemon.ask("GET", "/jobs/captures").body)

    def test_of_the_largest_job_one_file_is_not_the_whole_set(self):
        self.daemon.ask("PUT", "/v1/jobs/largest", body=b'{"world_size": 1048576, "captures": 4096}')
        self.daemon.put(b"x", "largest", 0)
        state = self.daemon.job("largest")
        self.assertEqual((state["state"], state["arrived"], state["expected"]), ("receiving", 1, 1 << 32))

    def test_a_job_that_says_nonsense_of_itself_is_refused(self):
        for body in (b"[]", b'{"world_size": 0}', b'{"world_size": "4"}', b'{"colour": 1}', b"{"):
            self.assertEqual(self.daemon.ask("PUT", "/v1/jobs/nonsense", body=body).status, 400, body)

    def test_an_answer_never_repeats_what_was_asked(self):
        for path in ("/v1/jobs/%3Cscript%3E", "/<script>", "/v1/uploads/<script>"):
            self.assertNotIn(b"script", self.raw(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"))

    def test_several_requests_share_a_connection(self):
        got = self.raw("GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3 + "GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        self.assertEqual(got.count(b"HTTP/1.1 200"), 4)

    def test_every_answer_has_an_id(self):
        ids = {self.daemon.ask("GET", "/v1/jobs")["X-Request-Id"] for _ in range(5)}
        self.assertEqual(len(ids), 5)


class Curl(DaemonTest):
    """What a user types."""

    def setUp(self):
        self.file = self.daemon.folder / "trace"
        self.file.write_bytes(CONTENT)

    def test_put_of_a_file(self):
        code, text = self.daemon.curl("-T", self.file, "-H", f"Repr-Digest: {digest_of(CONTENT)}",
                                      self.daemon.url + "/v1/jobs/curl/ranks/0")
        self.assertEqual((code, text.splitlines()[-1]), (0, "201"))

    def test_an_upload_is_resumed_with_dash_c(self):
        _, text = self.daemon.curl("-i", "-X", "POST", "-H", "Tus-Resumable: 1.0.0", "-H", f"Upload-Length: {len(CONTENT)}",
                                   "-H", f"Upload-Metadata: {metadata('curl', 1)}", self.daemon.url + "/v1/uploads")
        url = self.daemon.url + re.search("(?i)location: (\\S+)", text).group(1)
        tus = ["-H", "Tus-Resumable: 1.0.0", "-H", "Content-Type: application/offset+octet-stream"]
        head = self.daemon.folder / "head"
        head.write_bytes(CONTENT[:123_456])
        self.daemon.curl("-T", head, "-X", "PATCH", *tus, "-H", "Upload-Offset: 0", url)
        code, text = self.daemon.curl("-C", "123456", "-T", self.file, "-X", "PATCH", *tus, "-H", "Upload-Offset: 123456", url)
        self.assertEqual((code, text.splitlines()[-1]), (0, "204"))
        self.assertEqual(self.daemon.ask("GET", "/v1/jobs/curl/ranks/1").body, CONTENT)

    def test_a_refused_file_is_not_sent(self):
        """curl -T waits for 100 Continue; a refusal costs nothing but the head."""
        code, text = self.daemon.curl("-T", self.file, "-w", "\n%{size_upload} %{http_code}", "-H", "Expect: 100-continue",
                                      self.daemon.url + "/v1/jobs/bad..name/ranks/0")
        self.assertEqual((code, text.splitlines()[-1]), (0, "0 400"))


@unittest.skipUnless(importlib.util.find_spec("tusclient"), "python3-tuspy is not installed")
class ForeignClient(DaemonTest):
    def test_tuspy_uploads_in_chunks_with_checksums_and_resumes(self):
        from tusclient import client
        path = self.daemon.folder / "trace"
        path.write_bytes(CONTENT)
        to = client.TusClient(self.daemon.url + "/v1/uploads")
        meta = {"job": "tuspy", "rank": "0"}
        half = to.uploader(str(path), chunk_size=50_000, metadata=meta, upload_checksum=True)
        for _ in range(3):
            half.upload_chunk()
        again = to.uploader(str(path), chunk_size=100_000, url=half.url, metadata=meta, upload_checksum=True)
        self.assertEqual(again.offset, 150_000)
        again.upload()
        self.assertEqual(self.daemon.ask("GET", "/v1/jobs/tuspy/ranks/0").body, CONTENT)


if __name__ == "__main__":
    unittest.main()
