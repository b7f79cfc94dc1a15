#!/usr/bin/env python3
"""Who gets in: tokens, TLS, client certificates, logins, and a daemon that refuses to start open.
usage: access.py SKEWSCOPE"""
import concurrent.futures
import os
import pwd
import select
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from daemon import PROGRAM, Daemon, DaemonTest, key_file, metadata, minted, received, self_made_ca, trusting

FOLDER = tempfile.TemporaryDirectory(prefix="skewscope_keys_")
KEYS = key_file(FOLDER.name)


class Tokens(DaemonTest):
    flags, insecure = ("--token-key-file", KEYS), False

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.a, cls.b = minted(KEYS, "a"), minted(KEYS, "b")
        cls.reader, cls.admin = minted(KEYS, "a", "--scopes", "read"), minted(KEYS, "*", "--scopes", "admin")
        assert cls.daemon.put(b"of a", "a", 0, cls.a).status == 201
        cls.upload = cls.daemon.create(100, "a", 1, token=cls.a)["Location"]

    def every_request(self):
        tus = {"Upload_Offset": 0, "Content_Type": "application/offset+octet-stream"}
        return [("GET", "/v1/jobs", None, {}), ("GET", "/v1/jobs/a", None, {}), ("PUT", "/v1/jobs/a", b"{}", {}),
                ("DELETE", "/v1/jobs/a", None, {}), ("POST", "/v1/jobs/a/end", None, {}), ("POST", "/v1/jobs/a/revoke", None, {}),
                ("PUT", "/v1/jobs/a/ranks/5", b"stranger", {}), ("GET", "/v1/jobs/a/ranks/0", None, {}),
                ("GET", "/v1/jobs/a/report", None, {}), ("GET", "/v1/jobs/a/report.json", None, {}),
                ("POST", "/v1/uploads", b"", {"Upload_Length": 3, "Upload_Metadata": metadata("a", 7)}),
                ("HEAD", self.upload, None, {}), ("PATCH", self.upload, b"stranger", tus), ("DELETE", self.upload, None, {})]

    def test_without_a_valid_token_no_endpoint_does_anything_and_no_byte_is_kept(self):
        flipped = self.a[:-1] + ("A" if self.a[-1] != "A" else "B")
        foreign = minted(key_file(tempfile.mkdtemp()), "a")
        expired = minted(KEYS, "a", "--life", 1)
        time.sleep(2.1)
        before = self.daemon.stored()
        for token in (None, "", "x", "ss1..", flipped, foreign, expired, self.a + "A", self.a[:40]):
            for method, path, body, fields in self.every_request():
                answer = self.daemon.ask(method, path, body=body, token=token, **fields)
                self.assertIn(answer.status, (401, 429), f"{method} {path} with {token}")
            self.daemon.stop()  # the address has failed often enough to be held back
            self.daemon.start()
        self.assertEqual(self.daemon.stored(), before)
        parts = [part.stat().st_size for part in (self.daemon.spool / "in").iterdir()]
        self.assertEqual(sum(parts), 0)

    def test_the_answer_to_a_wrong_credential_is_the_same_for_every_job(self):
        bodies = {self.daemon.ask("GET", f"/v1/jobs/{job}", token="x").body for job in ("a", "none", "b")}
        self.assertEqual(len(bodies), 1)

    def test_a_token_of_one_job_finds_nothing_of_another(self):
        for method, path, body, fields in self.every_request()[1:]:
            there = self.daemon.ask(method, path, body=body, token=self.b, **fields)
            self.assertEqual(there.status, 404, f"{method} {path}")
        self.assertEqual(self.daemon.ask("GET", "/v1/jobs/a", token=self.b).body,
                         self.daemon.ask("GET", "/v1/jobs/none", token=self.b).body)
        self.assertNotIn("a", [job["job"] for job in self.daemon.ask("GET", "/v1/jobs", token=self.b).json()["jobs"]])

    def test_a_token_that_may_read_may_not_write(self):
        self.assertEqual(self.daemon.put(b"x", "a", 6, self.reader).status, 403)
        self.assertEqual(self.daemon.ask("GET", "/v1/jobs/a/ranks/0", token=self.reader).body, b"of a")

    def test_a_token_for_every_job_sees_all(self):
        self.daemon.put(b"of b", "b", 0, self.b)
        jobs = [job["job"] for job in self.daemon.ask("GET", "/v1/jobs", token=self.admin).json()["jobs"]]
        self.assertEqual(jobs, ["a", "b"])

    def test_logs_name_a_token_by_its_trace_alone(self):
        self.daemon.put(b"of a", "a", 0, self.a)
        log = self.daemon.log_text()
        self.assertNotIn(self.a, log)
        self.assertNotIn(self.a.split(".")[1], log)
        self.assertTrue(any(len(line.get("token", "")) == 8 for line in self.daemon.log_lines()))

    def test_revoking_ends_every_token_of_the_job_at_once_and_says_the_epoch_of_those_that_count(self):
        token, admin = minted(KEYS, "leaked"), minted(KEYS, "leaked", "--scopes", "admin")
        self.assertEqual(self.daemon.put(b"x", "leaked", 0, token).status, 201)
        self.assertEqual(self.daemon.ask("POST", "/v1/jobs/leaked/revoke", token=token).status, 403)
        path = self.daemon.create(1 << 20, "leaked", 1, token=token)["Location"]
        with self.daemon.connect() as running:
            running.sendall(f"PATCH {path} HTTP/1.1\r\nHost: x\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\n"
                            f"Authorization: Bearer {token}\r\nContent-Type: application/offset+octet-stream\r\n"
                            f"Content-Length: {1 << 20}\r\n\r\n".encode() + b"a" * 1000)
            time.sleep(0.2)
            answer = self.daemon.ask("POST", "/v1/jobs/leaked/revoke", token=self.admin)
            self.assertEqual((answer.status, answer.json()["epoch"]), (200, 1))
            running.sendall(b"a" * ((1 << 20) - 1000))
            self.assertTrue(received(running, 3).startswith(b"HTTP/1.1 401 "))
        for gone in (token, admin):
            self.assertEqual(self.daemon.ask("GET", "/v1/jobs/leaked", token=gone).status, 401)
        later = minted(KEYS, "leaked", "--epoch", 1)
        self.assertEqual(self.daemon.ask("HEAD", path, token=later)["Upload-Offset"], "0")
        self.assertEqual(self.daemon.put(b"y", "leaked", 2, later).status, 201)

    def test_revoking_ends_a_download_that_is_on_its_way(self):
        admin, size = minted(KEYS, "taken", "--scopes", "upload,read,admin"), 16 << 20
        self.assertEqual(self.daemon.put(bytes(size), "taken", 0, admin).status, 201)
        for epoch in (0, 1):
            token = minted(KEYS, "taken", "--scopes", "read", "--epoch", epoch)
            with self.daemon.connect() as reader:
                reader.sendall(f"GET /v1/jobs/taken/ranks/0 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
                               "Connection: close\r\n\r\n".encode())
                self.assertTrue(reader.recv(4096).startswith(b"HTTP/1.1 200 "))
                if epoch == 0:
                    self.assertEqual(self.daemon.ask("POST", "/v1/jobs/taken/revoke", token=self.admin).status, 200)
                rest = len(received(reader, 3))
            # What lay in the sockets' buffers has gone out before.
            self.assertTrue(rest >= size - 4096 if epoch else rest < size / 2, f"{rest} of {size}")

    def test_a_token_of_a_deleted_job_does_not_count_in_another_of_its_name(self):
        token = minted(KEYS, "again")
        self.assertEqual(self.daemon.put(b"x", "again", 0, token).status, 201)
        self.assertEqual(self.daemon.ask("DELETE", "/v1/jobs/again", token=token).status, 403)  # a node may send, no more
        self.assertEqual(self.daemon.ask("DELETE", "/v1/jobs/again", token=self.admin).status, 204)
        self.assertEqual(self.daemon.put(b"x", "again", 0, token).status, 401)
        self.assertEqual(self.daemon.ask("POST", "/login", body=f"token={token}",
                                         Content_Type="application/x-www-form-urlencoded").status, 401)
        given = self.daemon.ask("POST", "/v1/tokens", body='{"job": "again"}', token=self.admin)
        self.assertEqual(given.status, 201)
        self.assertEqual(self.daemon.put(b"x", "again", 0, given.json()["token"]).status, 201)
        self.assertEqual(self.daemon.ask("GET", "/v1/jobs/again", token=token).status, 401)
        self.assertEqual(self.daemon.job("again", self.admin)["epoch"], 1)

    def test_a_refused_sender_is_answered_before_it_sends(self):
        with self.daemon.connect() as sock:
            sock.sendall(b"PUT /v1/jobs/a/ranks/9 HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n\r\n")
            got = received(sock, 3)
        self.assertTrue(got.startswith(b"HTTP/1.1 401 "), got)
        self.assertNotIn(b"100 Continue", got)

    def test_many_wrong_credentials_are_slowed_and_then_refused(self):
        daemon = Daemon("--token-key-file", KEYS, insecure=False).start()
        try:
            def wrong(_):
                begin = time.monotonic()
                return daemon.ask("GET", "/v1/jobs", token="x").status, time.monotonic() - begin

            first = [wrong(0) for _ in range(20)]
            self.assertEqual([status for status, _ in first], [401] * 20)
            self.assertLess(max(seconds for _, seconds in first), 0.9)
            with concurrent.futures.ThreadPoolExecutor(25) as pool:
                rest = list(pool.map(wrong, range(25)))
            self.assertEqual({status for status, _ in rest}, {401, 429})
            self.assertGreater(sorted(seconds for _, seconds in rest)[1], 0.9)
            self.assertEqual(daemon.ask("GET", "/v1/jobs", token=self.a).status, 200)
        finally:
            daemon.stop()

    def test_a_browser_signs_in_with_a_token_and_sees_its_job(self):
        self.assertEqual(self.daemon.ask("GET", "/")["Location"], "/login")
        self.assertIn(b"<form", self.daemon.ask("GET", "/login").body)
        form = {"Content_Type": "application/x-www-form-urlencoded"}
        self.assertEqual(self.daemon.ask("POST", "/login", body="token=x", **form).status, 401)
        answer = self.daemon.ask("POST", "/login", body=f"token={self.reader}", **form)
        cookie = answer["Set-Cookie"]
        self.assertEqual(answer.status, 303)
        for part in ("__Host-skewscope=", "Secure", "HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=28800"):
            self.assertIn(part, cookie)
        cookie = cookie.split(";")[0]
        page = self.daemon.ask("GET", "/", Cookie=cookie)
        self.assertIn(b'href="/jobs/a"', page.body)
        self.assertNotIn(b'href="/jobs/b"', page.body)
        self.assertEqual(self.daemon.ask("GET", "/jobs/a", Cookie=cookie).status, 200)
        self.assertEqual(self.daemon.ask("GET", "/v1/jobs/a", Cookie=cookie).status, 401)
        self.assertEqual(self.daemon.ask("PUT", "/v1/jobs/a/ranks/1", body=b"x", Cookie=cookie).status, 401)


class Strangers(unittest.TestCase):
    """Who has shown no credential has little time and few places, whatever was answered."""

    def daemon(self, *flags):
        daemon = Daemon("--token-key-file", KEYS, *flags, insecure=False).start()
        self.addCleanup(lambda: daemon.process.poll() is None and daemon.stop())
        return daemon

    def lives(self, daemon, line, seconds, fields=""):
        """Seconds until the daemon closes a connection that asks this time and again; `seconds` if it does not."""
        with daemon.connect() as sock:
            begin = time.monotonic()
            while time.monotonic() - begin < seconds:
                try:
                    sock.sendall(f"{line} HTTP/1.1\r\nHost: x\r\n{fields}\r\n".encode())
                    if not sock.recv(4096):
                        return time.monotonic() - begin
                except ConnectionError:
                    return time.monotonic() - begin
                time.sleep(0.2)
        return seconds

    def test_a_stranger_who_asks_for_what_needs_no_credential_has_no_more_time_than_a_silent_one(self):
        daemon = self.daemon("--head-time", 2)
        token = minted(KEYS, "a")
        for line in ("OPTIONS /v1/uploads", "GET /login", "GET /"):
            self.assertTrue(1 < self.lives(daemon, line, 6) < 4, line)
        for fields in (f"Authorization: Bearer {token}\r\n", f"Cookie: __Host-skewscope={token}\r\n"):
            self.assertEqual(self.lives(daemon, "OPTIONS /v1/uploads", 4, fields), 4)
        gone = minted(KEYS, "a", "--life", 1)
        time.sleep(2.1)
        self.assertTrue(1 < self.lives(daemon, "OPTIONS /v1/uploads", 6, f"Cookie: __Host-skewscope={gone}\r\n") < 4)

    def test_a_form_of_a_stranger_that_trickles_in_ends_with_the_strangers_time(self):
        daemon = self.daemon("--head-time", 2)
        with daemon.connect() as sock:
            sock.sendall(b"POST /login HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
                         b"Content-Length: 1000\r\n\r\n")
            begin = time.monotonic()
            while time.monotonic() - begin < 6 and not select.select([sock], [], [], 0.2)[0]:
                sock.sendall(b"x")
            self.assertLess(time.monotonic() - begin, 4)

    def test_a_stranger_who_was_answered_still_makes_room_for_others(self):
        daemon = self.daemon("--unauthenticated-connections", 3)
        strangers = [daemon.connect() for _ in range(3)]
        for sock, path in zip(strangers, (b"OPTIONS /v1/uploads", b"GET /login", b"GET /login")):
            sock.sendall(path + b" HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertRegex(sock.recv(4096), rb"^HTTP/1.1 20[04] ")
        time.sleep(1.2)
        self.assertEqual(daemon.ask("GET", "/v1/jobs", token=minted(KEYS, "a")).status, 200)
        self.assertEqual(received(strangers[0], 3), b"")
        for sock in strangers:
            sock.close()


class Tls(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self_made_ca(self.folder)
        self.flags = ["--token-key-file", KEYS, "--certificate", self.folder / "head.pem", "--private-key", self.folder / "head.key"]
        self.token = minted(KEYS, "a")

    def start(self, *flags, node=False):
        daemon = Daemon(*self.flags, *flags, insecure=False).start()
        self.addCleanup(lambda: daemon.process.poll() is None and daemon.stop())
        daemon.context, daemon.token = trusting(self.folder, node), self.token
        return daemon

    def test_files_arrive_over_tls_1_3_and_over_nothing_older(self):
        daemon = self.start()
        self.assertTrue(daemon.url.startswith("https://"))
        content = os.urandom(3_000_000)
        self.assertEqual(daemon.put(content, "a").status, 201)
        self.assertEqual(daemon.ask("GET", "/v1/jobs/a/ranks/0").body, content)
        with daemon.connect() as sock:
            self.assertEqual(sock.version(), "TLSv1.3")
        old = trusting(self.folder)
        old.maximum_version = ssl.TLSVersion.TLSv1_2
        daemon.context = old
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            daemon.connect()

    def test_curl_uploads_over_tls(self):
        daemon = self.start()
        file = self.folder / "trace"
        file.write_bytes(b"bytes")
        code, text = daemon.curl("--cacert", self.folder / "ca.pem", "-H", f"Authorization: Bearer {self.token}", "-T", file,
                                 daemon.url + "/v1/jobs/a/ranks/0")
        self.assertEqual((code, text.splitlines()[-1]), (0, "201"))

    def test_a_certificate_is_asked_for_and_may_be_lacking_but_one_of_another_authority_gets_nobody_in(self):
        daemon = self.start("--client-ca", self.folder / "ca.pem")
        self.assertEqual(daemon.ask("GET", "/v1/jobs").status, 200)  # a browser, a user
        daemon.context = trusting(self.folder, node=True)
        self.assertEqual(daemon.ask("GET", "/v1/jobs").status, 200)
        self.assertEqual(daemon.ask("GET", "/v1/jobs", token="x").status, 401)  # the certificate carries, the token allows
        with tempfile.TemporaryDirectory() as others:
            self_made_ca(others)
            daemon.context = trusting(self.folder)
            daemon.context.load_cert_chain(others + "/node.pem", others + "/node.key")
            with self.assertRaises((ssl.SSLError, ConnectionError, OSError)):
                daemon.ask("GET", "/v1/jobs")

    def test_sighup_takes_another_certificate_and_other_keys_and_open_connections_stay(self):
        daemon = self.start()
        with daemon.connect() as before:
            serial = before.getpeercert()["serialNumber"]
            self_made_ca(self.folder)
            KEYS.write_text(os.urandom(32).hex() + "\n" + KEYS.read_text().splitlines()[0] + "\n")
            daemon.process.send_signal(signal.SIGHUP)
            self.wait_for_event(daemon, "reloaded")
            before.sendall(f"GET /v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.token}\r\n\r\n".encode())
            self.assertIn(b" 200 ", before.recv(4096))
        daemon.context = trusting(self.folder)
        with daemon.connect() as after:
            self.assertNotEqual(after.getpeercert()["serialNumber"], serial)
        self.assertEqual(daemon.ask("GET", "/v1/jobs").status, 200)
        self.assertEqual(daemon.ask("GET", "/v1/jobs", token=minted(KEYS, "a")).status, 200)

    def test_a_reload_that_makes_no_sense_keeps_what_was(self):
        daemon = self.start()
        (self.folder / "head.pem").write_text("nonsense")
        daemon.process.send_signal(signal.SIGHUP)
        self.wait_for_event(daemon, "reload_refused")
        self.assertEqual(daemon.ask("GET", "/v1/jobs").status, 200)

    def wait_for_event(self, daemon, event):
        for _ in range(100):
            if any(line.get("event") == event for line in daemon.log_lines()):
                return
            time.sleep(0.05)
        self.fail(f"no {event}: {daemon.log_text()}")


@unittest.skipUnless(os.environ.get("FAKE_MUNGE_LIBRARY"), "the library of fake_munge/munge.cc is not named")
class MungeCredentials(unittest.TestCase):
    """With a libmunge for which "STATUS,UID,RESTRICTED_TO,TTL,PAYLOAD" is a credential; 15: it has expired."""

    def start(self, milliseconds=0):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.symlink(os.environ["FAKE_MUNGE_LIBRARY"], folder.name + "/libmunge.so.2")
        daemon = Daemon("--token-key-file", KEYS, "--munge", "--server-name", "localhost", insecure=False)
        daemon.flags += ["--registry-socket", str(daemon.folder / "registry")]
        daemon.start(env={**os.environ, "LD_LIBRARY_PATH": folder.name, "FAKE_MUNGE_MS": str(milliseconds)})
        self.addCleanup(lambda: daemon.process.poll() is None and daemon.stop())
        return daemon

    def credential(self, status):
        return f"{status},1000,{os.geteuid()},60,ss1|localhost|mine|0123456789abcdef"

    def ask(self, daemon, status, source="127.0.0.1"):
        """Status and seconds of a request for a token from this address."""
        begin = time.monotonic()
        with socket.create_connection((daemon.host, daemon.port), 20, (source, 0)) as sock:
            sock.sendall(f"POST /v1/tokens HTTP/1.1\r\nHost: localhost\r\nAuthorization: Munge {self.credential(status)}\r\n"
                         "Content-Length: 0\r\nConnection: close\r\n\r\n".encode())
            answer = received(sock, 20)
        if b" 429 " in answer:
            self.assertRegex(answer, rb"\r\nRetry-After: \d+\r\n")
        return int(answer.split()[1]), time.monotonic() - begin

    def test_many_failed_munge_credentials_are_slowed_and_then_refused_and_a_good_one_still_counts(self):
        daemon = self.start()
        daemon.curl("--unix-socket", daemon.folder / "registry", "-X", "PUT", "--data", '{"owner_uid": 1000}',
                    "http://localhost/v1/jobs/mine")
        self.assertEqual(self.ask(daemon, 0)[0], 201)
        first = [self.ask(daemon, 15) for _ in range(20)]
        self.assertEqual([status for status, _ in first], [401] * 20)
        self.assertLess(max(seconds for _, seconds in first), 0.9)
        with concurrent.futures.ThreadPoolExecutor(5) as pool:
            rest = list(pool.map(lambda _: self.ask(daemon, 15), range(25)))
        self.assertEqual({status for status, _ in rest}, {401, 429})
        self.assertGreater(sorted(seconds for _, seconds in rest)[1], 0.9)
        self.assertEqual(self.ask(daemon, 0)[0], 201)

    def test_one_address_cannot_fill_the_desk_that_has_munge_credentials_decoded(self):
        daemon = self.start(milliseconds=200)
        with concurrent.futures.ThreadPoolExecutor(41) as pool:
            strangers = [pool.submit(self.ask, daemon, 15) for _ in range(40)]
            time.sleep(0.5)
            _, seconds = pool.submit(self.ask, daemon, 15, "127.0.0.2").result()
        refused = [stranger.result()[0] for stranger in strangers].count(429)
        self.assertGreater(refused, 25)
        self.assertLess(seconds, 4)


class Registry(unittest.TestCase):
    """Tokens for those who can prove something, and the socket on which root says whose job it is."""

    def test_root_registers_a_job_and_the_certificate_of_its_node_alone_gives_no_token(self):
        with tempfile.TemporaryDirectory() as folder:
            self_made_ca(folder)
            path = folder + "/registry"
            daemon = Daemon("--token-key-file", KEYS, "--certificate", folder + "/head.pem", "--private-key", folder + "/head.key",
                            "--client-ca", folder + "/ca.pem", "--registry-socket", path, insecure=False).start()
            try:
                daemon.context = trusting(folder, node=True)

                def registry(*arguments):
                    return daemon.curl("--unix-socket", path, *arguments)[1].splitlines()[-1]

                self.assertEqual(registry("-X", "PUT", "--data", '{"owner_uid": 1000, "world_size": null, "nodes": ["node17"]}',
                                          "http://localhost/v1/jobs/mine"), "201")
                self.assertEqual(registry("-X", "PUT", "--data", '{"nodes": ["node18"]}', "http://localhost/v1/jobs/theirs"), "201")
                self.assertEqual(registry("http://localhost/v1/jobs"), "403")
                for job in ("mine", "theirs", "none"):
                    self.assertEqual(daemon.ask("POST", "/v1/tokens", body=f'{{"job": "{job}"}}').status, 401)
                given = daemon.ask("POST", "/v1/tokens", body='{"job": "mine", "life_s": 60}', token=minted(KEYS, "*", "--scopes", "admin"))
                self.assertEqual(given.status, 201)
                token = given.json()["token"]
                self.assertEqual(daemon.put(b"x", "mine", 0, token).status, 201)
                self.assertEqual(daemon.put(b"x", "theirs", 0, token).status, 404)
                self.assertEqual(daemon.ask("PUT", "/v1/jobs/mine", body='{"owner_uid": 0}', token=token).status, 400)
                self.assertEqual(daemon.ask("POST", "/v1/tokens", body='{"job": "mine"}', Authorization="Munge x").status, 401)
                self.assertEqual(registry("-X", "POST", "http://localhost/v1/jobs/mine/end"), "200")
            finally:
                self.assertEqual(daemon.stop(), 0)


@unittest.skipUnless(os.geteuid() == 0, "only root can be somebody else")
class RegistryUser(unittest.TestCase):
    """Who is let in on the registry's socket: root, the daemon's own user, and the one that is named."""

    def start(self, *flags, **more):
        daemon = Daemon("--token-key-file", KEYS, *flags, insecure=False)
        daemon.folder.chmod(0o755)
        if "user" in more:
            for path in (daemon.folder, daemon.spool):
                os.chown(path, more["user"], more["group"])
            daemon.flags = ["--insecure-local", *map(str, flags)]
        daemon.socket = daemon.folder / "registry"
        daemon.flags += ["--registry-socket", str(daemon.socket)]
        self.addCleanup(lambda: daemon.process.poll() is None and daemon.stop())
        return daemon.start(**more)

    def put_job_as(self, daemon, name):
        """Whether this user of the machine may register a job."""
        user = pwd.getpwnam(name)
        done = subprocess.run(["curl", "-sS", "--unix-socket", daemon.socket, "-X", "PUT", "--data", '{"owner_uid": 1000}', "-o", "/dev/null",
                               "-w", "%{http_code}", f"http://localhost/v1/jobs/of_{name}"], capture_output=True, text=True, timeout=20,
                              user=user.pw_uid, group=user.pw_gid, extra_groups=[], cwd="/")
        return done.stdout in ("200", "201")

    def mode(self, daemon):
        return oct(daemon.socket.stat().st_mode & 0o777)

    def test_without_a_named_user_root_alone_registers_jobs(self):
        daemon = self.start()
        self.assertEqual([self.put_job_as(daemon, name) for name in ("root", "nobody", "daemon")], [True, False, False])
        self.assertEqual(self.mode(daemon), "0o600")

    def test_the_named_user_registers_jobs_and_nobody_else(self):
        daemon = self.start("--registry-user", "nobody")
        self.assertEqual([self.put_job_as(daemon, name) for name in ("root", "nobody", "daemon")], [True, True, False])
        self.assertEqual((self.mode(daemon), daemon.socket.stat().st_gid), ("0o660", pwd.getpwnam("nobody").pw_gid))

    def test_where_the_socket_cannot_be_given_to_the_users_group_the_peer_decides_alone(self):
        other = pwd.getpwnam("bin")
        daemon = self.start("--registry-user", "nobody", user=other.pw_uid, group=other.pw_gid, extra_groups=[])
        self.assertEqual([self.put_job_as(daemon, name) for name in ("root", "bin", "nobody", "daemon")], [True, True, True, False])
        self.assertEqual(self.mode(daemon), "0o666")


class Rebinding(DaemonTest):
    """A page of evil.example whose name has come to mean 127.0.0.1, in a browser on the daemon's machine."""

    def test_a_page_that_rebinds_its_name_to_a_daemon_without_credentials_gets_nothing_and_changes_nothing(self):
        self.assertEqual(self.daemon.put(b"x", "kept", 0).status, 201)
        for host in ("evil.example", "evil.example:80", f"evil.example:{self.daemon.port}", "127.0.0.1.evil.example"):
            for method, path in (("GET", "/v1/jobs"), ("GET", "/"), ("DELETE", "/v1/jobs/kept"), ("GET", "/v1/jobs/kept/ranks/0")):
                answer = self.daemon.ask(method, path, Host=host)
                self.assertEqual(answer.status, 421, f"{method} {path} of {host}")
                self.assertNotIn(b"kept", answer.body)
            for path in ("/metrics", "/-/healthy", "/-/ready"):
                self.assertEqual(self.daemon.ask("GET", path, admin=True, Host=host).status, 421)
        for host in ("localhost", f"localhost:{self.daemon.port}", "127.0.0.1", "127.9.9.9:1", f"[::1]:{self.daemon.port}"):
            self.assertEqual(self.daemon.ask("GET", "/v1/jobs/kept", Host=host).status, 200)
            self.assertEqual(self.daemon.ask("GET", "/metrics", admin=True, Host=host).status, 200)

    def test_a_page_of_elsewhere_changes_nothing_at_a_daemon_without_credentials(self):
        self.assertEqual(self.daemon.put(b"x", "told", 0).status, 201)
        host = f"localhost:{self.daemon.port}"
        for origin in ("https://evil.example", "null", "http://localhost:1"):
            for path in ("/v1/jobs/told/end", "/v1/jobs/told/revoke"):
                self.assertEqual(self.daemon.ask("POST", path, Host=host, Origin=origin).status, 403)
        self.assertEqual(self.daemon.ask("POST", "/v1/jobs/told/end", Host=host, Origin=f"http://{host}").status, 200)


class Open(unittest.TestCase):
    def refused(self, *flags):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        admin = [] if "--admin" in flags else ["--admin", "127.0.0.1:0"]
        done = subprocess.run([PROGRAM, "gather", "--spool", folder.name, *admin, *map(str, flags)],
                              capture_output=True, text=True, timeout=20)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(os.listdir(folder.name), [])
        return done.stderr

    def test_a_daemon_that_would_be_open_does_not_start(self):
        self.assertIn("no credential", self.refused("--listen", "127.0.0.1:0"))
        self.assertIn("loopback", self.refused("--listen", "0.0.0.0:0", "--insecure-local"))
        self.assertIn("loopback", self.refused("--listen", "[::]:0", "--insecure-local"))
        self.assertIn("loopback", self.refused("--listen", "0.0.0.0:0", "--token-key-file", KEYS))
        self.assertIn("loopback", self.refused("--listen", "127.0.0.1:0", "--insecure-local", "--admin", "0.0.0.0:0"))
        self.assertIn("--insecure-local", self.refused("--listen", "127.0.0.1:0", "--insecure-local", "--token-key-file", KEYS))
        for address in ("127.0.0.1:99999", "127.0.0.1", "127.0.0.1:http"):
            self.assertIn(f"'{address}' is no ADDR:PORT", self.refused("--listen", address, "--insecure-local"))
            self.assertIn(f"'{address}' is no ADDR:PORT", self.refused("--listen", "127.0.0.1:0", "--insecure-local", "--admin", address))
        self.assertIn("no user of this name: nosuch", self.refused("--listen", "127.0.0.1:0", "--insecure-local", "--registry-user", "nosuch",
                                                                   "--registry-socket", "/nowhere/registry"))
        self.assertIn("--registry-socket", self.refused("--listen", "127.0.0.1:0", "--insecure-local", "--registry-user", "root"))
        self.assertIn("--private-key", self.refused("--listen", "127.0.0.1:0", "--token-key-file", KEYS, "--certificate", KEYS))


if __name__ == "__main__":
    unittest.main()
