#!/usr/bin/env python3
"""What clients, browsers and operators are told, in the small: HEAD, odd forms of requests, tus, signing in and out, why a
token does not count, TLS 1.2, a snapshot. usage: courtesy.py SKEWSCOPE"""
import base64
import os
import re
import ssl
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from daemon import PROGRAM, Daemon, DaemonTest, key_file, metadata, minted, self_made_ca, trusting

FOLDER = tempfile.TemporaryDirectory(prefix="skewscope_courtesy_")
KEYS = key_file(FOLDER.name)
self_made_ca(FOLDER.name)
TLS = ("--certificate", f"{FOLDER.name}/head.pem", "--private-key", f"{FOLDER.name}/head.key")


class Requests(DaemonTest):
    def test_head_tells_what_get_would_without_its_body(self):
        self.daemon.put(b"0123456789", "h", 0)
        for path in ("/v1/jobs", "/v1/jobs/h", "/v1/jobs/h/ranks/0", "/", "/jobs/h"):
            got, head = self.daemon.ask("GET", path), self.daemon.ask("HEAD", path)
            self.assertEqual((head.status, head["Content-Length"], head["Content-Type"], head.body),
                             (200, str(len(got.body)), got["Content-Type"], b""), path)
        self.assertEqual(self.daemon.ask("HEAD", "/v1/jobs/h/report").status, 404)

    def test_a_target_with_scheme_and_host_and_an_empty_line_before_a_request_are_taken(self):
        self.assertIn(b"200 OK", self.raw("GET http://localhost/v1/jobs HTTP/1.1\r\nHost: ignored.example\r\nConnection: close\r\n\r\n"))
        self.assertIn(b"421 ", self.raw("GET http://elsewhere.example/v1/jobs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
        self.assertIn(b"200 OK", self.raw("\r\nGET /v1/jobs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
        self.assertIn(b"400 ", self.raw("\r\n\r\nGET /v1/jobs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
        self.assertIn(b"414 URI Too Long", self.raw(f"GET /{'x' * 3000} HTTP/1.1\r\nHost: localhost\r\n\r\n"))

    def test_a_refusal_of_an_upload_says_which_tus_it_speaks(self):
        for fields in ({"Tus_Resumable": "0.2.2"}, {"Upload_Length": "x"}, {"Upload_Length": 1, "Upload_Defer_Length": 1}):
            answer = self.daemon.ask("POST", "/v1/uploads", Upload_Metadata=metadata(), **fields)
            self.assertIn(answer.status, (400, 412))
            self.assertEqual(answer["Tus-Resumable"], "1.0.0", fields)

    def test_the_metadata_of_an_upload_comes_back_as_its_client_wrote_it_after_a_start_too(self):
        said = ",".join(f"{key} {base64.b64encode(value).decode()}" for key, value in
                        ((b"relativePath", b"a/b"), (b"rank", b"3"), (b"job", b"meta")) for key in [key.decode()])
        path = self.daemon.ask("POST", "/v1/uploads", Upload_Length=4, Upload_Metadata=said)["Location"]
        self.assertEqual(self.daemon.ask("HEAD", path)["Upload-Metadata"], said)
        self.daemon.stop()
        self.daemon.start()
        self.assertEqual(self.daemon.ask("HEAD", path)["Upload-Metadata"], said)
        self.assertEqual(self.daemon.ask("DELETE", path).status, 204)


class Credentials(DaemonTest):
    flags, insecure = ("--token-key-file", KEYS, *TLS, "--hsts", 3600, "--tls-min", "1.2"), False

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon.context = trusting(FOLDER.name)
        cls.token, cls.admin = minted(KEYS, "j"), minted(KEYS, "*", "--scopes", "admin")

    def sign_in(self, **fields):
        return self.daemon.ask("POST", "/login", body=f"token={self.token}", Content_Type="application/x-www-form-urlencoded", **fields)

    def test_a_form_of_another_site_signs_nobody_in_or_out(self):
        ours = f"https://localhost:{self.daemon.port}"
        self.assertEqual(self.sign_in(Host=ours[8:], Origin=ours).status, 303)
        for origin in ("https://evil.example", "null"):
            self.assertEqual(self.sign_in(Origin=origin).status, 403)
            self.assertEqual(self.daemon.ask("POST", "/logout", body="", Origin=origin,
                                             Content_Type="application/x-www-form-urlencoded").status, 403)
        # Without this browsers would not say whose form it is.
        self.assertEqual(self.daemon.ask("GET", "/login")["Referrer-Policy"], "same-origin")

    def test_a_browser_can_sign_out(self):
        cookie = self.sign_in()["Set-Cookie"].split(";")[0]
        page = self.daemon.ask("GET", "/", Cookie=cookie)
        self.assertIn(b'action="/logout"', page.body)
        self.assertIn("form-action 'self'", page["Content-Security-Policy"])
        out = self.daemon.ask("POST", "/logout", body="", Cookie=cookie, Content_Type="application/x-www-form-urlencoded")
        self.assertEqual((out.status, out["Location"]), (303, "/login"))
        self.assertEqual(out["Set-Cookie"], "__Host-skewscope=; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=0")

    def test_browsers_are_told_to_stay_with_https_where_the_operator_wants_that(self):
        self.assertEqual(self.daemon.ask("GET", "/login")["Strict-Transport-Security"], "max-age=3600")

    def test_a_token_that_was_good_once_is_told_why_it_no_longer_is(self):
        def why(token):
            answer = self.daemon.ask("GET", "/v1/jobs/gone", token=token)
            return answer.status, answer.json()["detail"]
        short = minted(KEYS, "gone", "--life", 1)
        token = minted(KEYS, "gone")
        self.assertEqual(self.daemon.put(b"x", "gone", 0, token).status, 201)
        self.assertEqual(self.daemon.ask("DELETE", "/v1/jobs/gone", token=self.admin).status, 204)
        self.assertEqual(why(token), (401, "the token has epoch 0, but the job accepts none before 1: it was revoked, or the job was deleted"))
        self.assertEqual(self.daemon.put(b"x", "gone", 0, minted(KEYS, "gone", "--epoch", 1)).status, 201)
        time.sleep(1.5)
        self.assertEqual(why(short), (401, "the token has expired"))
        self.assertEqual(why("ss1.e30.AAAA"), (401, "a valid credential is required"))

    def test_tls_1_2_is_spoken_where_the_operator_allows_it_and_refused_otherwise(self):
        def version(daemon):
            old = trusting(FOLDER.name)
            old.maximum_version = ssl.TLSVersion.TLSv1_2
            daemon.context = old
            with daemon.connect() as sock:
                return sock.version(), sock.cipher()[0]
        try:
            spoken, cipher = version(self.daemon)
        finally:
            self.daemon.context = trusting(FOLDER.name)
        self.assertEqual(spoken, "TLSv1.2")
        self.assertTrue(cipher.startswith("ECDHE-") and ("GCM" in cipher or "CHACHA20" in cipher), cipher)
        strict = Daemon("--token-key-file", KEYS, *TLS, insecure=False).start()
        self.addCleanup(strict.stop)
        with self.assertRaises(ssl.SSLError):
            version(strict)
        told = subprocess.run([PROGRAM, "gather", "--help"], capture_output=True, text=True).stdout
        self.assertIn("--tls-min", told)


class Disk(unittest.TestCase):
    def test_a_snapshot_that_cannot_be_written_can_be_checked(self):
        daemon = Daemon().start()
        daemon.put(b"0123456789", "kept", 0)
        daemon.stop()
        at = daemon.folder / "snapshot"
        at.mkdir()
        for command in (["mount", "--bind", daemon.spool, at], ["mount", "-o", "remount,bind,ro", at]):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                subprocess.run(["umount", "-l", at], capture_output=True)
                self.skipTest(f"cannot mount: {done.stderr}")
        self.addCleanup(subprocess.run, ["umount", "-l", at])
        checked = subprocess.run([PROGRAM, "gather", "--spool", at, "--check"], capture_output=True, text=True)
        self.assertEqual((checked.returncode, checked.stdout), (0, f"{at}: jobs: 1, files: 1, open uploads: 0; clean\n"), checked.stderr)
        self.assertEqual(list(Path(tempfile.gettempdir()).glob("skewscope-check-*")), [])

    def test_lengths_that_are_told_and_never_sent_take_no_more_than_half_of_the_free_disk(self):
        at = Path(tempfile.mkdtemp(prefix="skewscope_lengths_"))
        (at / "spool").mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200m", "none", at / "spool"], capture_output=True).returncode != 0:
            self.skipTest("cannot mount")
        self.addCleanup(subprocess.run, ["umount", "-l", at / "spool"])
        daemon = Daemon(folder=at).start()
        self.addCleanup(daemon.stop)
        answers = [daemon.create(33 << 20, "greedy", rank).status for rank in range(5)]
        self.assertEqual(answers[:2], [201, 201])
        self.assertEqual(set(answers[2:]), {507})
        self.assertEqual(daemon.put(os.urandom(1 << 20), "new", 0).status, 201)


class Agent(unittest.TestCase):
    def test_an_agent_shows_how_far_it_has_come_and_how_long_it_will_take(self):
        daemon = Daemon().start()
        self.addCleanup(daemon.stop)
        traces = daemon.folder / "traces"
        traces.mkdir()
        (traces / "rank0.json").write_bytes(b'{"traceEvents": [' + b" " * 3_000_000 + b"]}")
        sent = subprocess.run([PROGRAM, "ship", traces, "--to", daemon.url, "--job", "far", "--once", "--world-size", "1", "--progress",
                               "always", "--no-compress", "--rate", "500k", "--piece", "250k"], capture_output=True, text=True)
        self.assertEqual(sent.returncode, 0, sent.stderr)
        lines = [line for line in sent.stderr.splitlines() if line.startswith("skewscope: sent ")]
        under_way = [re.fullmatch(r"skewscope: sent 0 of 1 file, ([0-9.]+) of 3.00 MB, (\d+) s left", line) for line in lines]
        guesses = [(float(found[1]), int(found[2])) for found in under_way if found]
        self.assertGreaterEqual(len(guesses), 1, lines)
        self.assertEqual(guesses, sorted(guesses), lines)
        self.assertEqual([seconds for _, seconds in guesses], sorted((seconds for _, seconds in guesses), reverse=True), lines)
        self.assertEqual(lines[-1], "skewscope: sent 1 of 1 file, 3.00 of 3.00 MB")


if __name__ == "__main__":
    unittest.main()
