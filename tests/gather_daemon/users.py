#!/usr/bin/env python3
"""Users: one token for all jobs of a user, and sign-on by a reverse proxy, with nginx as OPERATING.md sets it up.
usage: users.py SKEWSCOPE"""
import base64
import http.client
import os
import pwd
import re
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from daemon import PROGRAM, Answer, Daemon, digest_of, key_file, metadata, minted, received, self_made_ca

HELD = tempfile.TemporaryDirectory(prefix="skewscope_users_")
KEYS = key_file(HELD.name)
ALICE, BOB, CAROL = "bin", "games", "mail"  # users of every Debian, in the parts of a user, another and an operator
UID = {name: pwd.getpwnam(name).pw_uid for name in (ALICE, BOB, CAROL)}
TRACE = b'{"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1}, "traceEvents": [' \
        b'{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1.0, "dur": 5.0, "args": {"device": 0, "stream": 7}}]}'


class LocalConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=20)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(20)
        self.sock.connect(self.path)


def ask_locally(path, method, target, body=None, fields=()):
    """`fields` as pairs, so that one can be there twice."""
    connection = LocalConnection(path)
    try:
        connection.putrequest(method, target, skip_host=any(name == "Host" for name, _ in fields), skip_accept_encoding=True)
        for name, value in fields:
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        got = connection.getresponse()
        return Answer(got.status, got.getheaders(), got.read())
    finally:
        connection.close()


class UsersTest(unittest.TestCase):
    """A daemon with jobs of alice and of bob; `self.token` by name."""
    flags = ()

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon("--token-key-file", KEYS, "--debounce", 1, *cls.flags, insecure=False)
        cls.daemon.name = "head.example" if "--server-name" in cls.flags else None
        cls.daemon.folder.chmod(0o755)
        cls.registry, cls.proxy = cls.daemon.folder / "registry", cls.daemon.folder / "proxy"
        cls.daemon.flags += ["--registry-socket", str(cls.registry), "--proxy-socket", str(cls.proxy), "--operators", CAROL,
                             "--user-domain", "site.example"]
        cls.daemon.start()
        cls.addClassCleanup(lambda: cls.daemon.ended() or cls.daemon.stop())
        cls.token = {name: minted(KEYS, "@" + name) for name in (ALICE, BOB)}
        cls.token["*"] = minted(KEYS, "*", "--scopes", "read,admin")
        cls.register("train-1", ALICE)
        cls.register("train-2", BOB)
        for job, name in (("train-1", ALICE), ("train-2", BOB), ("train-3", ALICE)):
            assert cls.daemon.put(TRACE, job, 0, cls.token[name], query="?world_size=1").status == 201
        for job in ("train-1", "train-2", "train-3"):
            assert cls.daemon.wait_for_job(lambda state: state["report_state"] == "complete", job, token=cls.token["*"])

    @classmethod
    def register(cls, job, owner):
        answer = ask_locally(cls.registry, "PUT", f"/v1/jobs/{job}", f'{{"owner_uid": {UID[owner]}}}'.encode())
        assert answer.status in (200, 201), answer.body

    def ask(self, who, method, path, **more):
        return self.daemon.ask(method, path, token=self.token.get(who), **more)

    def jobs(self, who, query=""):
        return sorted(job["job"] for job in self.ask(who, "GET", "/v1/jobs" + query).json()["jobs"])


class Tokens(UsersTest):
    def test_who_took_a_name_and_used_it_twice_has_nothing_of_it_once_it_is_registered_for_another(self):
        sent = [TRACE, TRACE.replace(b"5.0", b"6.0")]
        for trace in sent:
            self.assertEqual(self.daemon.put(trace, "taken-1", 0, self.token[BOB], query="?world_size=1&age=1",
                                             Repr_Digest=digest_of(trace)).status, 201)
        self.assertEqual(self.jobs(BOB, "?q=taken"), ["taken-1", "taken-1~2"])
        of_job = minted(KEYS, "taken-1")
        self.assertEqual(self.daemon.ask("POST", "/v1/jobs/taken-1/revoke", token=self.token["*"]).status, 200)
        given = self.daemon.ask("POST", "/v1/tokens", body=b'{"job": "taken-1"}', token=self.token["*"]).json()["token"]
        self.assertEqual(self.daemon.ask("GET", "/v1/jobs/taken-1~2", token=of_job).status, 401)
        self.assertEqual(self.daemon.ask("GET", "/v1/jobs/taken-1~2", token=given).status, 200)
        self.register("taken-1", ALICE)
        for job in ("taken-1", "taken-1~2"):
            self.assertEqual((self.ask(ALICE, "GET", f"/v1/jobs/{job}").status, self.ask(BOB, "GET", f"/v1/jobs/{job}").status), (200, 404))
            self.assertEqual(self.ask(ALICE, "GET", f"/v1/jobs/{job}/ranks/0").status, 200)
            self.assertEqual(self.daemon.ask("GET", f"/v1/jobs/{job}", token=given).status, 401)
        self.assertEqual((self.jobs(ALICE, "?q=taken"), self.jobs(BOB, "?q=taken")), (["taken-1", "taken-1~2"], []))
        own = TRACE.replace(b"5.0", b"7.0")
        self.assertEqual(self.daemon.put(own, "taken-1", 0, self.token[ALICE], query="?world_size=1&age=1",
                                         Repr_Digest=digest_of(own)).status, 201)
        self.assertEqual(self.daemon.put(own, "taken-1", 1, self.token[BOB]).status, 404)

    def test_one_token_reads_all_jobs_of_a_user_and_no_other(self):
        self.assertEqual(self.jobs(ALICE), ["train-1", "train-3"])
        self.assertEqual(self.jobs(BOB), ["train-2"])
        self.assertEqual(self.jobs("*"), ["train-1", "train-2", "train-3"])
        for path in ("", "/ranks/0", "/report.json", "/report.html", "/report.log", "/report/files/summary.txt"):
            self.assertEqual(self.ask(ALICE, "GET", "/v1/jobs/train-1" + path).status, 200, path)
            self.assertEqual(self.ask(ALICE, "GET", "/v1/jobs/train-3" + path).status, 200, path)
            self.assertEqual(self.ask(ALICE, "GET", "/v1/jobs/train-2" + path).status, 404, path)
        self.assertEqual(self.ask(ALICE, "GET", "/v1/jobs/train-2").body, self.ask(ALICE, "GET", "/v1/jobs/none").body)

    def test_a_user_changes_what_is_his_and_is_no_administrator_of_it(self):
        self.assertEqual(self.ask(ALICE, "POST", "/v1/jobs/train-1/report").status, 202)
        self.assertEqual(self.ask(ALICE, "POST", "/v1/jobs/train-2/report").status, 404)
        self.assertEqual(self.daemon.put(b"x", "train-2", 1, self.token[ALICE]).status, 404)
        for method, path in (("DELETE", "/v1/jobs/train-1"), ("POST", "/v1/jobs/train-1/revoke")):
            self.assertEqual(self.ask(ALICE, method, path).status, 403)
            self.assertEqual(self.ask(BOB, method, path).status, 404)
        self.assertEqual(self.ask(ALICE, "PUT", "/v1/jobs/train-1", body='{"retention_s": 60}').status, 403)
        for path in ("/v1/nodes", "/nodes"):
            self.assertEqual(self.ask(ALICE, "GET", path).status, 403)
        self.assertEqual(self.ask(ALICE, "POST", "/v1/tokens", body='{"user": true}').status, 403)

    def test_the_runs_of_a_series_are_a_users_own(self):
        def runs(who):
            return [run["job"] for run in self.ask(who, "GET", "/v1/history?job=train-1").json()["runs"]]
        self.assertEqual(sorted(runs(ALICE)), ["train-1", "train-3"])
        self.assertEqual(runs(BOB), ["train-2"])
        self.assertEqual(len(runs("*")), 3)
        page = self.ask(ALICE, "GET", "/jobs/train-1").body
        self.assertIn(b"Runs of train", page)
        self.assertNotIn(b"train-2", page)

    def test_the_page_says_whose_jobs_it_lists_and_who_sees_all_finds_them_by_the_owners_name(self):
        page = self.ask(ALICE, "GET", "/").body.decode()
        self.assertIn(f"<h1>Jobs of {ALICE}</h1>", page)
        self.assertNotIn("train-2", page)
        self.assertNotIn('name="owner"', page)
        page = self.ask("*", "GET", f"/?owner={BOB}").body.decode()
        self.assertIn("<h1>Jobs</h1>", page)
        self.assertIn("train-2", page)
        self.assertNotIn("train-1", page)
        self.assertEqual(self.jobs("*", f"?q={BOB}"), ["train-2"])
        self.assertEqual(self.jobs("*", f"?owner={UID[BOB]}"), ["train-2"])
        self.assertEqual(self.jobs("*", "?owner=nosuchuser"), [])
        self.assertEqual(self.jobs(ALICE, f"?owner={BOB}"), [])

    def test_a_browser_signs_in_with_it_to_read(self):
        answer = self.daemon.ask("POST", "/login", body="token=" + self.token[ALICE], Content_Type="application/x-www-form-urlencoded")
        self.assertEqual(answer.status, 303)
        cookie = answer["Set-Cookie"].split(";")[0]
        self.assertIn(f"Jobs of {ALICE}".encode(), self.daemon.ask("GET", "/", Cookie=cookie).body)
        self.assertEqual(self.daemon.ask("GET", "/jobs/train-1", Cookie=cookie).status, 200)
        self.assertEqual(self.daemon.ask("GET", "/jobs/train-2", Cookie=cookie).status, 404)
        self.assertEqual(self.daemon.ask("POST", "/v1/jobs/train-1/report", Cookie=cookie).status, 401)

    def test_a_user_without_jobs_sees_none(self):
        self.token[CAROL] = minted(KEYS, "@" + CAROL)
        self.assertEqual(self.jobs(CAROL), [])
        self.assertIn(f"<h1>Jobs of {CAROL}</h1>", self.ask(CAROL, "GET", "/").body.decode())

    def test_a_users_mark_is_the_name_of_no_job(self):
        name = f"@{UID[ALICE]}"
        self.assertEqual(self.daemon.put(b"x", name, 0, self.token[ALICE]).status, 400)
        self.assertEqual(self.daemon.create(1, name, token=self.token[ALICE]).status, 400)
        self.assertEqual(self.daemon.create(1, name, token=self.token["*"]).status, 400)
        self.assertEqual(self.ask(ALICE, "GET", f"/jobs/{name}").status, 400)

    def test_a_job_that_is_registered_for_another_is_no_longer_his_who_had_it_nor_are_bytes_under_way(self):
        self.register("moved", ALICE)
        of_job = minted(KEYS, "moved", "--owner", ALICE)
        self.assertEqual(self.daemon.ask("GET", "/v1/jobs/moved", token=of_job).status, 200)
        path = self.daemon.create(1 << 20, "moved", 0, token=self.token[ALICE])["Location"]
        with self.daemon.connect() as running:
            running.sendall(f"PATCH {path} HTTP/1.1\r\nHost: x\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\n"
                            f"Authorization: Bearer {self.token[ALICE]}\r\nContent-Type: application/offset+octet-stream\r\n"
                            f"Content-Length: {1 << 20}\r\n\r\n".encode() + b"a" * 1000)
            time.sleep(0.2)
            self.register("moved", BOB)
            running.sendall(b"a" * ((1 << 20) - 1000))
            self.assertNotIn(b" 204 ", received(running, 10)[:20])
        self.assertEqual(self.ask(ALICE, "GET", "/v1/jobs/moved").status, 404)
        self.assertEqual(self.ask(ALICE, "HEAD", path).status, 404)
        self.assertEqual(self.daemon.ask("GET", "/v1/jobs/moved", token=of_job).status, 401)
        self.assertIn((UID[ALICE], UID[BOB]), [(line["from"], line["to"]) for line in self.daemon.log_lines() if line["event"] == "job_changes_owner"])
        self.assertEqual(self.ask(BOB, "GET", "/v1/jobs/moved").status, 200)
        self.assertEqual(self.ask("*", "DELETE", "/v1/jobs/moved").status, 204)

    def test_no_token_is_minted_for_root_for_nobody_or_for_an_administrator(self):
        for arguments in (("@root",), ("@0",), ("@nosuchuser",), ("@4294967295",), ("@4294967296",), ("@",), ("@-1",),
                          ("@" + ALICE, "--scopes", "admin"), ("@" + ALICE, "--uid", "1234")):
            done = subprocess.run([PROGRAM, "gather", "--token-key-file", KEYS, "--mint-token", *arguments], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
        self.token["by uid"] = minted(KEYS, f"@{UID[ALICE]}", "--scopes", "read")
        self.assertEqual(self.ask("by uid", "GET", "/v1/jobs/train-1").status, 200)
        self.assertEqual(self.daemon.put(TRACE, "train-1", 1, self.token["by uid"]).status, 403)

    def test_skewscope_jobs_takes_it_as_it_takes_a_jobs(self):
        file = Path(HELD.name) / "token"
        file.touch(0o600)
        file.write_text(self.token[ALICE])

        def jobs(*arguments):
            done = subprocess.run([PROGRAM, "jobs", *map(str, arguments), "--to", self.daemon.url, "--token-file", file],
                                  capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
            return done.returncode, done.stdout
        self.assertIn("train-3", jobs("list")[1])
        self.assertNotIn("train-2", jobs("list")[1])
        self.assertEqual(jobs("show", "train-3")[0], 0)
        self.assertEqual(jobs("retry", "train-3")[0], 0)
        self.assertEqual(jobs("watch", "train-3")[0], 0)
        self.assertEqual(jobs("export", "train-3", "-o", Path(HELD.name) / "exported")[0], 0)
        self.assertIn("train-1", jobs("history", "train-3")[1])
        self.assertNotIn("train-2", jobs("history", "train-3")[1])
        for action in ("show", "watch", "retry", "export"):
            more = ("-o", Path(HELD.name) / "none") if action == "export" else ()
            self.assertNotEqual(jobs(action, "train-2", *more)[0], 0, action)


@unittest.skipUnless(os.environ.get("FAKE_MUNGE_LIBRARY"), "the library of fake_munge/munge.cc is not named")
class ByMunge(unittest.TestCase):
    def test_a_munge_credential_gives_its_user_the_token_of_all_his_jobs_and_root_none(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.symlink(os.environ["FAKE_MUNGE_LIBRARY"], folder.name + "/libmunge.so.2")
        daemon = Daemon("--token-key-file", KEYS, "--munge", "--server-name", "localhost", insecure=False)
        daemon.start(env={**os.environ, "LD_LIBRARY_PATH": folder.name})
        self.addCleanup(daemon.stop)

        def ask(uid, job, body=None):
            credential = f"0,{uid},{os.geteuid()},60,ss1|localhost|{job}|0123456789abcdef"
            return daemon.ask("POST", "/v1/tokens", body=body, Host="localhost", Authorization="Munge " + credential)
        daemon.ask("PUT", "/v1/jobs/mine", body="{}", token=minted(KEYS, "mine", "--uid", 1234), Host="localhost")
        for body in (None, '{"user": true}', '{"user": true, "life_s": 60}'):
            answer = ask(1234, "@", body)
            self.assertEqual((answer.status, answer.json()["uid"], answer.json()["scopes"]), (201, 1234, ["upload", "read"]))
            self.assertEqual(daemon.ask("GET", "/v1/jobs/mine", token=answer.json()["token"], Host="localhost").status, 200)
        self.assertEqual(ask(1234, "mine").json()["job"], "mine")
        self.assertEqual(ask(1234, "mine", '{"user": true}').status, 400)
        self.assertEqual(ask(1234, "@", '{"job": "mine"}').status, 400)
        for body in ('{"user": false}', '{"user": 1234}', '{"user": true, "job": "mine"}', '{"user": "root"}'):
            self.assertEqual(ask(1234, "@", body).status, 400, body)
        self.assertEqual(ask(0, "@").status, 403)


class Proxy(UsersTest):
    """What the proxy's socket gives for a header, asked there directly."""

    def by_proxy(self, user, path, method="GET", *fields, **more):
        named = [("X-Forwarded-User", user)] if user is not None else []
        return ask_locally(self.proxy, method, path, fields=[*named, *fields], **more)

    def test_a_user_reads_his_own_an_operator_everything_and_nobody_changes_anything(self):
        for user in (ALICE, ALICE + "@site.example"):
            self.assertIn(f"<h1>Jobs of {ALICE}</h1>", self.by_proxy(user, "/").body.decode())
            self.assertEqual([job["job"] for job in self.by_proxy(user, "/v1/jobs").json()["jobs"]], ["train-1", "train-3"])
        for path in ("/jobs/{}", "/v1/jobs/{}", "/v1/jobs/{}/report.html", "/v1/jobs/{}/report/files/summary.txt", "/v1/jobs/{}/ranks/0"):
            answers = [self.by_proxy(user, path.format("train-2")).status for user in (ALICE, BOB, CAROL)]
            self.assertEqual(answers, [404, 200, 200], path)
        self.assertEqual([self.by_proxy(user, "/nodes").status for user in (ALICE, CAROL)], [403, 200])
        for method, path, body in (("POST", "/v1/jobs/train-1/report", None), ("POST", "/v1/jobs/train-1/end", None), ("POST", "/v1/tokens", None),
                                   ("DELETE", "/v1/jobs/train-1", None), ("PUT", "/v1/jobs/train-1", b"{}"), ("PUT", "/v1/jobs/train-1/ranks/1", b"x"),
                                   ("PUT", "/v1/jobs/new/ranks/0", b"x")):
            for user in (ALICE, CAROL):
                self.assertIn(self.by_proxy(user, path, method, body=body).status, (403, 404), f"{method} {path}")
        self.assertEqual(self.by_proxy(ALICE, "/login")["Location"], "/")
        self.assertNotIn(b"Sign out", self.by_proxy(ALICE, "/").body)

    def test_who_is_no_user_gets_a_page_that_says_so(self):
        for user in ("nosuchuser", "root", "root@site.example", ALICE + "@evil.example", f"@{UID[ALICE]}", str(UID[ALICE]), "*", "4294967297", "", None):
            page = self.by_proxy(user, "/")
            self.assertEqual(page.status, 403, user)
            self.assertIn(b"<h1>No access</h1>", page.body)
            self.assertEqual(self.by_proxy(user, "/v1/jobs").status, 403)

    def test_the_header_counts_once_and_on_this_socket_alone(self):
        self.assertEqual(self.by_proxy(ALICE, "/v1/jobs", "GET", ("X-Forwarded-User", CAROL)).status, 400)
        self.assertEqual(self.by_proxy(ALICE, "/v1/jobs", "GET", ("x-forwarded-user", ALICE)).status, 400)
        for name in (ALICE, CAROL):
            self.assertEqual(self.daemon.ask("GET", "/v1/jobs", X_Forwarded_User=name).status, 401)
            self.assertEqual(self.daemon.ask("GET", "/", X_Forwarded_User=name).status, 303)
        self.assertEqual(len(self.ask(ALICE, "GET", "/v1/jobs", X_Forwarded_User=CAROL).json()["jobs"]), 2)
        self.assertEqual(ask_locally(self.registry, "GET", "/v1/jobs", fields=[("X-Forwarded-User", CAROL)]).status, 403)

    def test_credentials_of_the_browser_add_nothing_to_the_user(self):
        for field in (("Authorization", "Bearer " + self.token["*"]), ("Authorization", "Basic eDp5"), ("Authorization", "Munge x"),
                      ("Cookie", "__Host-skewscope=" + self.token["*"])):
            self.assertEqual(self.by_proxy(ALICE, "/v1/jobs/train-2", "GET", field).status, 404)
            self.assertEqual(self.by_proxy(ALICE, "/v1/jobs/train-1", "GET", field).status, 200)
            self.assertEqual(self.by_proxy(None, "/v1/jobs/train-1", "GET", field).status, 403)
            self.assertEqual(self.by_proxy(ALICE, "/v1/tokens", "POST", field).status, 404)

    def test_two_hundred_connections_of_the_proxy_are_served_and_its_words_of_addresses_are_for_the_log(self):
        connections = [LocalConnection(self.proxy) for _ in range(200)]
        for connection in connections:
            connection.connect()
        with ThreadPoolExecutor(8) as pool:
            def status(connection):
                connection.request("GET", "/v1/jobs/train-1", headers={"X-Forwarded-User": ALICE, "X-Forwarded-For": "10.9.8.7"})
                return connection.getresponse().status
            self.assertEqual(set(pool.map(status, connections)), {200})
        for connection in connections:
            connection.close()
        asked = [line for line in self.daemon.log_lines() if line.get("client") == "10.9.8.7"]
        self.assertEqual({(line["peer"], line["uid"]) for line in asked}, {(f"uid {os.geteuid()}", UID[ALICE])})


class OutOfTheTrash(UsersTest):
    def test_a_job_that_comes_out_of_the_trash_is_its_owner_s_again(self):
        self.assertEqual(self.daemon.put(TRACE, "thrown", 0, self.token[BOB]).status, 201)
        self.assertEqual(self.daemon.ask("DELETE", "/v1/jobs/thrown", token=self.token["*"]).status, 204)
        self.daemon.stop()
        subprocess.run([PROGRAM, "gather", "--spool", self.daemon.spool, "--restore", "thrown"], check=True, capture_output=True)
        self.daemon.start()
        self.assertEqual((self.jobs(BOB, "?q=thrown"), self.jobs(ALICE, "?q=thrown")), (["thrown"], []))


class Start(unittest.TestCase):
    def test_a_sign_on_that_is_set_up_by_half_does_not_start(self):
        def why(*flags, credential=("--token-key-file", KEYS)):
            with tempfile.TemporaryDirectory() as spool:
                done = subprocess.run([PROGRAM, "gather", "--spool", spool, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", *credential, *flags],
                                      capture_output=True, text=True, timeout=20)
            self.assertEqual(done.returncode, 2, done.stderr)
            return done.stderr
        for flags in (("--proxy-user", "root"), ("--user-domain", "x"), ("--operators", "root")):
            self.assertIn("--proxy-socket", why(*flags))
        self.assertIn("no user of this name: nosuchuser", why("--proxy-socket", "/nowhere/proxy", "--proxy-user", "nosuchuser"))
        self.assertIn("--user-header", why("--proxy-socket", "/nowhere/proxy", "--user-header", ""))
        self.assertIn("a path each", why("--proxy-socket", "/nowhere/s", "--registry-socket", "/nowhere/s"))
        self.assertIn("--insecure-local", why("--proxy-socket", "/nowhere/proxy", credential=("--insecure-local",)))


class ServerName(UsersTest):
    flags = ("--server-name", "head.example")

    def test_a_host_that_is_not_the_servers_is_refused_on_the_proxys_socket_too(self):
        def status(host):
            return ask_locally(self.proxy, "GET", "/", fields=[("X-Forwarded-User", ALICE), ("Host", host)]).status
        self.assertEqual([status(host) for host in ("head.example", "head.example:443", "evil.example")], [200, 200, 421])


@unittest.skipUnless(os.geteuid() == 0, "only root can be somebody else")
class ProxyUser(UsersTest):
    flags = ("--proxy-user", "www-data")

    def test_the_proxys_user_is_let_in_and_no_other(self):
        def served(name):
            user = pwd.getpwnam(name)
            done = subprocess.run(["curl", "-sS", "--unix-socket", self.proxy, "-H", "X-Forwarded-User: " + CAROL, "-o", "/dev/null", "-w",
                                   "%{http_code}", "http://localhost/v1/jobs"], capture_output=True, text=True, timeout=20,
                                  user=user.pw_uid, group=user.pw_gid, extra_groups=[], cwd="/")
            return done.stdout == "200"
        self.assertEqual([served(name) for name in ("root", "www-data", "nobody", ALICE)], [True, True, False, False])


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as held:
        return held.getsockname()[1]


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("nginx"), "needs root and Debian's package nginx")
class Nginx(UsersTest):
    """The server of OPERATING.md. Its sign-on is nginx's auth_basic here, which answers as oauth2-proxy does."""
    flags = ("--proxy-user", "www-data", "--server-name", "head.example")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = cls.daemon.folder
        self_made_ca(folder)
        cls.port, sign_on = free_port(), free_port()
        (folder / "oauth2").mkdir()
        (folder / "oauth2" / "auth").write_text("")
        (folder / "oauth2" / "sign_in").write_text("the page to sign in")
        (folder / "passwords").write_text("".join(f"{name}:{{PLAIN}}{name}-secret\n" for name in (ALICE, BOB, CAROL, "stranger")))
        document = (Path(__file__).parents[2] / "configs" / "OPERATING.md").read_text()
        server = re.search(r"```nginx\n(.*?)```", document, re.DOTALL)[1]
        for written, here in (("listen 443", f"listen 127.0.0.1:{cls.port}"), ("/etc/nginx/head.", f"{folder}/head."),
                              ("127.0.0.1:4180", f"127.0.0.1:{sign_on}"), ("/run/skewscope/proxy.sock", str(cls.proxy))):
            assert written in server, written
            server = server.replace(written, here)
        (folder / "nginx.conf").write_text(f"""
user www-data;
daemon off;
pid {folder}/nginx.pid;
error_log stderr;
events {{ }}
http {{
  access_log off;
  {server}
  server {{
    listen 127.0.0.1:{sign_on};
    root {folder};
    location /oauth2/ {{ }}
    location = /oauth2/auth {{
      auth_basic "sign-on";
      auth_basic_user_file {folder}/passwords;
      add_header X-Auth-Request-Email $remote_user@site.example;
    }}
  }}
}}""")
        with open(folder / "nginx.log", "a") as log:
            cls.nginx = subprocess.Popen(["nginx", "-c", folder / "nginx.conf", "-e", folder / "nginx.log"], stderr=log)
        cls.addClassCleanup(lambda: (cls.nginx.terminate(), cls.nginx.wait(10)))
        cls.context = ssl.create_default_context(cafile=folder / "ca.pem")
        cls.context.check_hostname = False
        for _ in range(200):
            if cls.nginx.poll() is not None:
                raise AssertionError((folder / "nginx.log").read_text())
            try:
                socket.create_connection(("127.0.0.1", cls.port)).close()
                return
            except ConnectionError:
                time.sleep(0.05)

    def browse(self, user, path, method="GET", body=None, password=None, **fields):
        headers = {"Host": "head.example", **{name.replace("_", "-"): value for name, value in fields.items()}}
        if user:
            secret = base64.b64encode(f"{user}:{password or user + '-secret'}".encode()).decode()
            headers["Authorization"] = "Basic " + secret
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=20, context=self.context)
        try:
            connection.request(method, path, body=body, headers=headers)
            got = connection.getresponse()
            return Answer(got.status, got.getheaders(), got.read())
        finally:
            connection.close()

    def test_a_user_whom_nginx_signs_on_reads_his_jobs_and_nobody_elses(self):
        self.assertIn(f"<h1>Jobs of {ALICE}</h1>", self.browse(ALICE, "/").body.decode())
        for path in ("/jobs/{}", "/v1/jobs/{}", "/v1/jobs/{}/report.html", "/v1/jobs/{}/report/files/report.sqlite", "/v1/jobs/{}/ranks/0"):
            answers = [self.browse(user, path.format("train-2")).status for user in (ALICE, BOB, CAROL)]
            self.assertEqual(answers, [404, 200, 200], path)
        self.assertEqual(self.browse(CAROL, "/nodes").status, 200)
        self.assertIn("sandbox", self.browse(ALICE, "/v1/jobs/train-1/report.html")["Content-Security-Policy"])

    def test_who_is_not_signed_on_or_is_no_user_here_reads_nothing(self):
        for user, password in ((None, None), (ALICE, "wrong")):
            answer = self.browse(user, "/", password=password)
            self.assertEqual((answer.status, answer.body), (403, b"the page to sign in"))
        self.assertEqual(self.browse(None, "/oauth2/auth").status, 404)
        answer = self.browse("stranger", "/")
        self.assertEqual(answer.status, 403)
        self.assertIn(b"Signed in as stranger@site.example", answer.body)

    def test_what_a_browser_says_of_its_user_counts_for_nothing(self):
        for field in ("X-Forwarded-User", "x-forwarded-user", "X-Auth-Request-Email", "X_Forwarded_User"):
            answer = self.browse(ALICE, "/v1/jobs", **{field: CAROL + "@site.example"})
            self.assertEqual([job["job"] for job in answer.json()["jobs"]], ["train-1", "train-3"], field)
        cookie = "__Host-skewscope=" + self.token["*"]
        self.assertEqual(self.browse(ALICE, "/v1/jobs/train-2", Cookie=cookie + "; " + "a=" + 3000 * "b").status, 404)

    def test_nothing_is_changed_through_it(self):
        self.assertEqual(self.browse(ALICE, "/v1/jobs/train-1/ranks/1", "PUT", b"x" * 300_000).status, 403)
        self.assertEqual(self.browse(ALICE, "/v1/jobs/train-1", "DELETE").status, 403)
        self.assertEqual(self.browse(ALICE, "/v1/jobs/train-1/report", "POST", b"").status, 403)

    def test_a_hundred_browsers_at_once_are_served(self):
        with ThreadPoolExecutor(50) as pool:
            statuses = list(pool.map(lambda number: self.browse((ALICE, BOB, CAROL)[number % 3], "/v1/jobs").status, range(100)))
        self.assertEqual(set(statuses), {200})


if __name__ == "__main__":
    unittest.main()
