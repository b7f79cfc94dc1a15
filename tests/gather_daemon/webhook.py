#!/usr/bin/env python3
"""Messages about reports: the real daemon and receivers, honest, failing, slow and hostile; and the receiver that
configs/OPERATING.md shows, as it stands there.
usage: webhook.py SKEWSCOPE"""
import base64
import hashlib
import hmac
import http.server
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

from daemon import PROGRAM, Daemon, key_file, self_made_ca

OPERATING = Path(__file__).resolve().parents[2] / "configs/OPERATING.md"
RANKS = 2


def made_by(*arguments, pattern):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([PROGRAM, "simulate", "-o", f"{folder}/job", *arguments], check=True, capture_output=True)
        return [path.read_bytes() for path in sorted(Path(folder, "job").glob(pattern))]


TRACES = made_by("--nodes", "2", "--gpus", "1", "--tp", "1", "--steps", "3", "--layers", "2", "--slow-rank", "1:1.5",
                 pattern="rank*_*")
DUMPS = made_by("--nodes", "2", "--gpus", "2", "--hang", "missing-rank", pattern="*[0-9]")


# A network whose name server takes every question and never answers.
SILENT_NAMES = """ip link set lo up && ip link add out type veth peer name away && ip address add 10.9.9.1/24 dev out &&
ip link set out up && ip link set away up && ip neighbour add 10.9.9.9 lladdr 02:00:00:00:00:09 dev out &&
mount --bind "$0" /etc/resolv.conf && exec "$@"
"""
IN_SILENT_NAMES = "SKEWSCOPE_IN_SILENT_NAMES"


class Message:
    def __init__(self, fields, body):
        self.fields, self.body = fields, body
        self.id, self.data = fields["webhook-id"], json.loads(body)["data"]
        self.type = json.loads(body)["type"]

    def is_signed_by(self, secret):
        key = base64.b64decode(secret.removeprefix("whsec_"))
        signed = f"{self.id}.{self.fields['webhook-timestamp']}.".encode() + self.body
        right = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        return right in self.fields["webhook-signature"].split() and abs(time.time() - int(self.fields["webhook-timestamp"])) < 60


class Receiver:
    """Answers with each of `answers` in turn, with the last one from then on: a status, or a function of the handler."""

    def __init__(self, *answers, context=None, port=0):
        self.messages, self.answers = [], list(answers or [204])
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.messages.append(Message({name.lower(): value for name, value in self.headers.items()}, body))
                answer = receiver.answers.pop(0) if len(receiver.answers) > 1 else receiver.answers[0]
                if callable(answer):
                    return answer(self)
                self.send_response(answer)
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_POST

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None
        if context:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def wait_for(self, count, seconds=30):
        end = time.monotonic() + seconds
        while len(self.messages) < count and time.monotonic() < end:
            time.sleep(0.05)
        return self.messages


def silent(_):
    time.sleep(60)


def endless_body(handler):
    handler.send_response(200)
    handler.end_headers()
    while True:
        handler.wfile.write(b"x" * 65536)


def endless_head(handler):
    handler.send_response(200)
    handler.flush_headers()
    while True:
        handler.wfile.write(b"X-More: " + b"y" * 1000 + b"\r\n")


def drop_by_drop(handler):
    for byte in b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000:
        handler.wfile.write(bytes([byte]))
        time.sleep(0.5)


class Webhook(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory(prefix="skewscope_webhook_")
        self.addCleanup(held.cleanup)
        self.folder = Path(held.name)
        self.secret_file = self.folder / "secret"
        self.secret = self.write_secret()

    def write_secret(self, *before):
        secret = "whsec_" + base64.b64encode(os.urandom(32)).decode()
        self.secret_file.touch(0o600)
        self.secret_file.write_text("".join(line + "\n" for line in (*before, secret)))
        return secret

    def receiver(self, *answers, **more):
        receiver = Receiver(*answers, **more)
        self.addCleanup(receiver.close)
        return receiver

    def daemon(self, port, *flags, url=None):
        daemon = Daemon("--debounce", 1, "--webhook", url or f"http://127.0.0.1:{port}/hook", "--webhook-secret-file",
                        self.secret_file, *flags).start()
        self.addCleanup(lambda: daemon.ended() or daemon.stop())
        return daemon

    def send(self, daemon, job="run"):
        for rank, trace in enumerate(TRACES):
            self.assertIn(daemon.put(trace, job, rank, query=f"?world_size={RANKS}").status, (200, 201, 204))

    def send_and_wait(self, daemon, job="run", states=("complete",)):
        self.send(daemon, job)
        state = daemon.wait_for_job(lambda state: state["report_state"] in states, job)
        self.assertIn(state["report_state"], states)

    def figures(self, daemon):
        text = daemon.ask("GET", "/metrics", admin=True).body.decode()
        return {name: int(value) for name, value in re.findall(r"(?m)^skewscope_gather_webhook_(\w+) (\d+)$", text)}

    def wait_for_figure(self, daemon, name, value, seconds=30):
        end = time.monotonic() + seconds
        while self.figures(daemon)[name] != value and time.monotonic() < end:
            time.sleep(0.1)
        self.assertEqual(self.figures(daemon)[name], value, daemon.log_text()[-2000:])

    def test_a_report_is_told_of_once_with_its_verdict_whom_others_waited_for_and_a_signature(self):
        receiver = self.receiver()
        daemon = self.daemon(receiver.port, "--public-url", "https://head.example:7475/")
        self.send_and_wait(daemon)
        message = receiver.wait_for(1)[0]
        self.assertTrue(message.is_signed_by(self.secret), message.fields)
        self.assertFalse(message.is_signed_by(self.write_secret()))
        self.assertEqual(message.type, "job.report")
        report = daemon.ask("GET", "/v1/jobs/run/report.json").json()
        run = daemon.ask("GET", "/v1/history?job=run").json()["runs"][0]
        data = message.data
        self.assertEqual((data["job"], data["ranks"], data["expected_ranks"], data["generation"], data["partial"]),
                         ("run", RANKS, RANKS, 1, False))
        self.assertEqual(data["verdict"], report["verdict"]["sentence"])
        self.assertEqual((data["waiting"], data["gain"], data["loss"]), (run["waiting"], run["gain"], run["loss"]))
        self.assertEqual([(late["rank"], late["node"]) for late in data["late"]], [(1, "node1")])
        self.assertEqual(data["page"], "https://head.example:7475/jobs/run")
        self.assertEqual(data["report"], "https://head.example:7475/v1/jobs/run/report.html")
        self.wait_for_figure(daemon, "delivered_total", 1)
        self.assertEqual(daemon.stop(), 0)
        daemon.start()
        self.send_and_wait(daemon, "second")
        self.assertEqual([message.data["job"] for message in receiver.wait_for(2)], ["run", "second"])
        time.sleep(1.5)
        self.assertEqual(len(receiver.messages), 2)

    def test_a_hang_and_a_report_that_failed_are_told_of_where_they_are_asked_for(self):
        receiver = self.receiver()
        daemon = self.daemon(receiver.port, "--webhook-on", "hang,failed", "--deadline", 1)
        minute = int(time.time()) // 60
        for rank, dump in enumerate(DUMPS):
            self.assertIn(daemon.put(dump, "hangs", rank, query=f"?capture={minute}").status, (200, 201, 204))
        self.assertIn(daemon.put(b"no trace", "broken", 0, query="?world_size=1").status, (200, 201, 204))
        self.send_and_wait(daemon)  # which is not told of
        told = {message.data["job"]: message for message in receiver.wait_for(2)}
        self.assertEqual({job: message.type for job, message in told.items()}, {"hangs": "job.hang", "broken": "job.failed"})
        self.assertIn("ank", told["hangs"].data["verdict"])
        self.assertTrue(told["hangs"].data["report"].endswith("/v1/jobs/hangs/hang.html"))
        self.assertEqual((told["broken"].data["exit_code"], told["broken"].data["verdict"]), (3, None))
        for message in told.values():
            self.assertEqual(daemon.ask("GET", message.data["report"].removeprefix(daemon.url)).status, 200)
        time.sleep(1.5)
        self.assertEqual(len(receiver.messages), 2)

    def test_small_gains_are_left_out_where_that_is_asked_for(self):
        receiver = self.receiver()
        daemon = self.daemon(receiver.port, "--webhook-least-gain", "0.99")
        self.send_and_wait(daemon)
        time.sleep(2.5)
        self.assertEqual((receiver.messages, self.figures(daemon)["waiting"]), ([], 0))

    def test_what_is_refused_is_sent_again_with_the_same_id_until_it_is_taken(self):
        receiver = self.receiver(500, 302, 404, 204)
        daemon = self.daemon(receiver.port)
        self.send_and_wait(daemon)
        messages = receiver.wait_for(4)
        self.wait_for_figure(daemon, "delivered_total", 1)
        self.assertEqual(len({message.id for message in messages}), 1)
        self.assertEqual({message.body for message in messages}, {messages[0].body})
        self.assertTrue(all(message.is_signed_by(self.secret) for message in messages))
        self.assertEqual(self.figures(daemon), {"waiting": 0, "delivered_total": 1, "dropped_total": 0, "failed_tries_total": 3})
        events = [line["event"] for line in daemon.log_lines() if line["event"].startswith("webhook_")]
        self.assertEqual(events, ["webhook_fails", "webhook_works"])

    def test_what_nobody_takes_is_dropped_in_the_end_and_at_once_where_the_receiver_is_gone(self):
        for answers, flags, tries in ((500,), ("--webhook-give-up", 2), None), ((410,), (), 1):
            receiver = self.receiver(*answers)
            daemon = self.daemon(receiver.port, *flags)
            self.send_and_wait(daemon)
            self.wait_for_figure(daemon, "dropped_total", 1)
            self.assertEqual(self.figures(daemon)["waiting"], 0)
            self.assertEqual(tries or len(receiver.messages), len(receiver.messages))
            daemon.stop()

    def test_a_receiver_that_hangs_holds_neither_others_nor_the_end_and_what_it_did_not_take_comes_after_a_restart(self):
        receiver = self.receiver(silent, 204)
        daemon = self.daemon(receiver.port)
        self.send_and_wait(daemon)
        receiver.wait_for(1)
        begin = time.monotonic()
        self.send_and_wait(daemon, "second")
        self.assertEqual(daemon.ask("GET", "/-/healthy", admin=True).status, 200)
        self.assertLess(time.monotonic() - begin, 8)
        begin = time.monotonic()
        self.assertEqual(daemon.stop(), 0)
        self.assertLess(time.monotonic() - begin, 3)
        daemon.start()
        self.assertEqual({message.data["job"] for message in receiver.wait_for(3)}, {"run", "second"})
        self.wait_for_figure(daemon, "delivered_total", 2)

    def test_a_kill_between_a_report_and_its_delivery_loses_no_message(self):
        with socket.socket() as free:  # nobody listens there
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        daemon = self.daemon(port)
        for number in range(4):  # killed at once after the report, and later
            self.send(daemon, f"job-{number}")
            daemon.wait_for_job(lambda state: state["report_state"] == "complete", f"job-{number}")
            time.sleep(0.3 * number)
            daemon.stop(signal.SIGKILL)
            daemon.start()
        receiver = self.receiver(port=port)
        receiver.wait_for(4)
        time.sleep(1.5)
        self.assertEqual(sorted(message.data["job"] for message in receiver.messages), [f"job-{number}" for number in range(4)])

    def test_a_receiver_that_never_ends_costs_ten_seconds_and_little_memory_and_is_asked_again(self):
        cases = []
        for answer, tries in (silent, 2), (drop_by_drop, 2), (endless_head, 2), (endless_body, 1):
            receiver = self.receiver(answer, 204)
            daemon = self.daemon(receiver.port)
            self.send(daemon)
            cases.append((answer.__name__, tries, receiver, daemon))
        begin = time.monotonic()
        for name, tries, receiver, daemon in cases:  # the slowest first
            with self.subTest(answer=name):
                self.wait_for_figure(daemon, "delivered_total", 1)
                self.assertLess(time.monotonic() - begin, 20)
                self.assertEqual((len(receiver.messages), self.figures(daemon)["failed_tries_total"]), (tries, tries - 1))
                status = Path(f"/proc/{daemon.process.pid}/status").read_text()
                self.assertLess(int(re.search(r"VmHWM:\s+(\d+)", status)[1]), 300_000)

    @unittest.skipUnless(IN_SILENT_NAMES in os.environ, "runs in a network of its own")
    def test_of_silent_names(self):
        daemon = self.daemon(0, url="https://hooks.nowhere.example/")
        self.send_and_wait(daemon)
        time.sleep(2)
        self.assertEqual(self.figures(daemon), {"waiting": 1, "delivered_total": 0, "dropped_total": 0, "failed_tries_total": 0})
        begin = time.monotonic()
        self.assertEqual(daemon.stop(), 0)
        self.assertLess(time.monotonic() - begin, 3)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("ip"), "needs root and namespaces")
    def test_a_name_server_that_never_answers_does_not_hold_the_end(self):
        (self.folder / "resolv.conf").write_text("nameserver 10.9.9.9\n")
        done = subprocess.run(["unshare", "--net", "--mount", "sh", "-c", SILENT_NAMES, self.folder / "resolv.conf", sys.executable,
                               __file__, PROGRAM, "Webhook.test_of_silent_names"], capture_output=True, text=True, timeout=60,
                              env={**os.environ, IN_SILENT_NAMES: "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("skipped", done.stderr)

    def test_tls_needs_a_certificate_that_the_authorities_signed_for_that_host(self):
        self_made_ca(self.folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / "head.pem", self.folder / "head.key")
        receiver = self.receiver(context=context)
        daemon = self.daemon(receiver.port, url=f"https://localhost:{receiver.port}/hook?key=very-secret")
        self.send_and_wait(daemon)
        self.wait_for_figure(daemon, "failed_tries_total", 1)
        self.assertEqual(receiver.messages, [])
        daemon.stop()
        daemon.flags += ["--webhook-ca", str(self.folder / "ca.pem")]
        daemon.start()
        self.assertEqual(receiver.wait_for(1)[0].data["job"], "run")
        self.wait_for_figure(daemon, "delivered_total", 1)
        self.assertNotIn("very-secret", daemon.log_text())

    def test_no_proxy_of_the_environment_is_asked(self):
        receiver, proxy = self.receiver(), self.receiver()
        os.environ.update({"http_proxy": f"http://127.0.0.1:{proxy.port}", "all_proxy": f"http://127.0.0.1:{proxy.port}"})
        self.addCleanup(lambda: [os.environ.pop(name) for name in ("http_proxy", "all_proxy")])
        self.send_and_wait(self.daemon(receiver.port))
        self.assertEqual((len(receiver.wait_for(1)), proxy.messages), (1, []))

    def test_a_reload_takes_receiver_and_secret_and_tells_nothing_of_what_was_before_it(self):
        first, second = self.receiver(), self.receiver()
        config = self.folder / "gather.toml"
        url = lambda receiver: f'webhook = "http://127.0.0.1:{receiver.port}/"\nwebhook-secret-file = "{self.secret_file}"\n'
        config.write_text("")
        daemon = Daemon("--debounce", 1, "--config", config).start()
        self.addCleanup(lambda: daemon.ended() or daemon.stop())
        reloads = lambda: [line["event"] for line in daemon.log_lines() if line["event"].startswith("reload")]

        def reload(text):
            before = len(reloads())
            config.write_text(text)
            daemon.process.send_signal(signal.SIGHUP)
            end = time.monotonic() + 10
            while len(reloads()) == before and time.monotonic() < end:
                time.sleep(0.05)
            return reloads()[-1]

        self.send_and_wait(daemon, "before")
        time.sleep(1.1)
        self.assertEqual(reload(url(first)), "reloaded")
        self.send_and_wait(daemon, "first")
        self.assertEqual([message.data["job"] for message in first.wait_for(1)], ["first"])
        new = self.write_secret(self.secret)
        self.assertEqual(reload(url(second)), "reloaded")
        self.send_and_wait(daemon, "second")
        message = second.wait_for(1)[0]
        self.assertEqual(message.data["job"], "second")
        self.assertTrue(message.is_signed_by(self.secret) and message.is_signed_by(new))
        self.secret_file.chmod(0o644)
        self.assertEqual(reload(url(first)), "reload_refused")
        self.secret_file.chmod(0o600)
        self.assertEqual(reload(""), "reloaded")
        self.send_and_wait(daemon, "untold")
        time.sleep(1.5)
        self.assertEqual((len(first.messages), len(second.messages)), (1, 1))

    def test_what_would_leave_messages_open_or_unsigned_is_refused_at_the_start(self):
        self.secret_file.chmod(0o600)
        good = ["--webhook-secret-file", self.secret_file]
        short = self.folder / "short"
        short.touch(0o600)
        short.write_text("whsec_c2hvcnQ=\n")
        for flags, why in ((["--webhook", "http://hooks.example/x", *good], "plain http only on loopback"),
                           (["--webhook", "ftp://hooks.example/x", *good], "needs a URL"),
                           (["--webhook", "https://user:word@hooks.example/x", *good], "no user and password"),
                           (["--webhook", "https://hooks.example/x"], "needs --webhook-secret-file"),
                           (good, "needs --webhook URL"),
                           (["--webhook", "https://hooks.example/x", "--webhook-secret-file", short], "24 to 64 random bytes"),
                           (["--webhook", "https://hooks.example/x", "--webhook-secret-file", self.folder / "none"],
                            "openssl rand")):
            with self.subTest(why=why):
                done = subprocess.run([PROGRAM, "gather", "--spool", self.folder / "spool", "--insecure-local", *map(str, flags)],
                                      capture_output=True, text=True, timeout=10)
                self.assertEqual(done.returncode, 2)
                self.assertIn(why, done.stderr)

    def test_the_receiver_of_the_operators_page_verifies_and_forwards_to_a_chat(self):
        chat = self.receiver()
        chat.server.RequestHandlerClass.do_POST = lambda handler: forwarded(handler, chat)
        program = re.search(r"```python\n(.*?)```", OPERATING.read_text(), re.S)[1]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        process = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL,
                                   env={**os.environ, "WEBHOOK_SECRET": self.secret, "PORT": str(port),
                                        "CHAT_URL": f"http://127.0.0.1:{chat.port}/"})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        daemon = self.daemon(port)
        self.send_and_wait(daemon)
        self.wait_for_figure(daemon, "delivered_total", 1)
        self.assertRegex(json.loads(chat.messages[0])["text"], r"^run of .*: .*waiting.* http://.*/jobs/run$")
        daemon.stop()
        self.write_secret()
        daemon.start()
        self.send_and_wait(daemon, "forged")
        self.wait_for_figure(daemon, "failed_tries_total", 1)
        self.assertEqual(len(chat.messages), 1)


def forwarded(handler, chat):
    chat.messages.append(handler.rfile.read(int(handler.headers["Content-Length"])))
    handler.send_response(200)
    handler.end_headers()


if __name__ == "__main__":
    unittest.main()
