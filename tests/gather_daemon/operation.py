#!/usr/bin/env python3
"""The daemon as its operator sees it: metrics, health, signals, service manager, pages.
usage: operation.py SKEWSCOPE"""
import base64
import hashlib
import os
import re
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "page"))
import chromium  # noqa: E402
from daemon import PROGRAM, Daemon, DaemonTest, key_file, received, self_made_ca


class Outside(DaemonTest):
    def test_metrics_have_the_promised_names_and_no_label_names_a_job(self):
        self.daemon.put(b"x" * 1000, "counted", 0)
        text = self.daemon.ask("GET", "/metrics", admin=True).body.decode()
        for name in ("build_info", "connections", "http_requests_total", "http_request_duration_seconds_count",
                     "received_bytes_total", "durable_bytes_total", "uploads", "commits_total", "checksum_failures_total",
                     "quarantined_total", "quarantine_files", "quarantine_bytes", "quarantine_deleted_total", "lost_files_total", "fsync_duration_seconds_count", "recovery_duration_seconds", "jobs",
                     "ranks_expected", "ranks_arrived", "report_duration_seconds_count", "report_lag_seconds_count",
                     "disk_free_bytes"):
            self.assertRegex(text, f"(?m)^skewscope_gather_{name}[ {{]")
        for family in ("refused_total", "reports_total", "auth_failures_total"):
            self.daemon.ask("GET", "/v1/jobs", Host="x")
            self.assertNotIn("counted", text)
        self.assertIn("skewscope_gather_lost_files_total 0", text)

    @unittest.skipUnless(shutil.which("promtool"), "no promtool: scripts/install_packages --with-checks")
    def test_promtool_finds_nothing_wrong_with_the_metrics(self):
        self.daemon.put(b"x", "metered", 0)
        self.daemon.ask("GET", "/v1/jobs/none")
        text = self.daemon.ask("GET", "/metrics", admin=True).body
        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, b""))

    def test_requests_that_were_refused_before_they_were_understood_are_counted(self):
        def counted(code):
            text = self.daemon.ask("GET", "/metrics", admin=True).body.decode()
            found = re.search(rf'(?m)^skewscope_gather_http_requests_total{{code="{code}",route="none"}} (\d+)|'
                              rf'^skewscope_gather_http_requests_total{{route="none",code="{code}"}} (\d+)', text)
            return int(found[1] or found[2]) if found else 0

        before = counted(400), counted(411)
        self.raw("GET /v1/jobs HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", wait=1)
        self.raw("PUT /v1/jobs/run/ranks/0 HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", wait=1)
        self.assertEqual((counted(400), counted(411)), (before[0] + 1, before[1] + 1))

    def test_a_list_of_one_state_is_filled_with_jobs_of_that_state(self):
        for job, ranks in (("list_a", 2), ("list_b", 1), ("list_c", 2), ("list_d", 1)):
            self.daemon.ask("PUT", f"/v1/jobs/{job}", body=f'{{"world_size": {ranks}}}'.encode())
            self.daemon.put(b"{}", job, 0)
        page = self.daemon.ask("GET", "/v1/jobs?state=complete&limit=1&after=list").json()
        self.assertEqual(([job["job"] for job in page["jobs"]], page["next"]), (["list_b"], "list_b"))
        page = self.daemon.ask("GET", f"/v1/jobs?state=complete&limit=1&after={page['next']}").json()
        self.assertEqual([job["job"] for job in page["jobs"]], ["list_d"])
        for state, status in (("receiving", 200), ("ended", 200), ("bogus", 400), ("conflict", 400)):
            self.assertEqual(self.daemon.ask("GET", f"/v1/jobs?state={state}").status, status)

    def test_health_and_readiness_are_told_on_the_admin_listener_alone(self):
        for path in ("/-/healthy", "/-/ready", "/metrics"):
            self.assertEqual(self.daemon.ask("GET", path, admin=True).status, 200)
            self.assertEqual(self.daemon.ask("GET", path).status, 404)
        self.assertEqual(self.daemon.ask("GET", "/v1/jobs", admin=True).status, 404)

    def test_pages_show_jobs_escaped_and_run_no_script_but_the_daemon_s(self):
        self.daemon.ask("PUT", "/v1/jobs/shown", body=b'{"world_size": 5}')
        self.daemon.put(b"x", "shown", 1)
        for path, text in (("/", b'href="/jobs/shown"'), ("/jobs/shown", b"<dd>0, 2-4</dd>")):
            page = self.daemon.ask("GET", path)
            self.assertEqual(page.status, 200)
            self.assertIn(text, page.body)
            script, = re.findall(rb"<script>(.*?)</script>", page.body, re.DOTALL)
            digest = base64.b64encode(hashlib.sha256(script).digest()).decode()
            self.assertIn(f"script-src 'sha256-{digest}'; connect-src 'self';", page["Content-Security-Policy"])
            self.assertIn("default-src 'none'", page["Content-Security-Policy"])
            self.assertEqual(page["X-Content-Type-Options"], "nosniff")
            self.assertEqual(page["Referrer-Policy"], "no-referrer")
        self.assertEqual(self.daemon.ask("GET", "/jobs/none").status, 404)

    @unittest.skipUnless(chromium.PROGRAM, "no chromium: scripts/install_packages --with-checks")
    def test_on_a_narrow_window_sizes_and_times_stay_on_a_line_long_names_break_and_the_table_scrolls(self):
        name = "narrow-" + "x" * 57
        self.daemon.ask("PUT", f"/v1/jobs/{name}", body=b'{"world_size": 1024}')
        self.daemon.put(b"x" * 3000, name, 0)
        row = f"""[...document.querySelectorAll("tr")].find(row => row.textContent.includes("{name}")).cells"""
        with tempfile.TemporaryDirectory() as folder, chromium.Chromium(390, 800) as browser:
            path = Path(folder) / "page.html"
            for address in ("/", f"/jobs/{name}"):
                path.write_bytes(self.daemon.ask("GET", address).body)
                browser.open(path)
                self.assertLessEqual(browser.value("document.documentElement.scrollWidth"), 390, address)
                if address != "/":
                    continue
                lines = browser.value(f"""[...{row}].map(cell => {{
                    const range = document.createRange();
                    range.selectNodeContents(cell);
                    return new Set([...range.getClientRects()].filter(box => box.width > 0 && box.height > 10)
                                                              .map(box => Math.round(box.bottom / 4))).size}})""")
                self.assertGreater(lines[0], 1)
                self.assertEqual([lines[3], lines[4]], [1, 1])
                self.assertTrue(browser.value("""(() => { const box = document.querySelector("table").parentElement;
                    box.scrollLeft = 10000;
                    const end = document.querySelector("th:last-child").getBoundingClientRect().right;
                    return end <= box.getBoundingClientRect().right + 1 })()"""))

    def test_the_log_is_json_lines(self):
        self.daemon.put(b"x", "logged", 2)
        text = self.daemon.log_text()
        self.assertEqual(len(text.splitlines()), len(self.daemon.log_lines()))
        line = [line for line in self.daemon.log_lines() if line.get("job") == "logged"][0]
        self.assertEqual((line["route"], line["rank"], line["status"], line["bytes"], line["peer"]), ("rank_put", 2, 201, 1, "127.0.0.1"))
        upload = self.daemon.create(3, rank=5, job="uploaded")["Location"]
        self.daemon.patch(upload, 0, b"abc")
        lines = [line for line in self.daemon.log_lines() if line.get("job") == "uploaded"]
        self.assertEqual([(line["route"], line["rank"], line.get("upload")) for line in lines],
                         [("upload_create", 5, None), ("upload_patch", 5, upload.rsplit("/")[-1])])

    def test_no_answer_to_head_has_a_body_whatever_is_wrong(self):
        for path in ("/v1/uploads/" + "0" * 32, "/v1/nothing", "/v1/jobs/none/ranks/0", "/v1/jobs/j/end"):
            with self.daemon.connect() as sock:
                sock.sendall(f"HEAD {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
                answer = received(sock)
            self.assertGreaterEqual(int(answer.split()[1]), 400)
            self.assertTrue(answer.endswith(b"\r\n\r\n"), answer)


class Signals(unittest.TestCase):
    def test_sigterm_ends_it_within_seconds_and_what_was_sent_is_kept(self):
        daemon = Daemon().start()
        path = daemon.create(1_000_000)["Location"]
        with daemon.connect() as running:
            running.sendall(f"PATCH {path} HTTP/1.1\r\nHost: localhost\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\n"
                            "Content-Type: application/offset+octet-stream\r\nContent-Length: 1000000\r\n\r\n".encode() + b"a" * 700_000)
            time.sleep(0.5)
            begin = time.monotonic()
            self.assertEqual(daemon.stop(within=10), 0)
            self.assertLess(time.monotonic() - begin, 10)
        self.assertEqual(daemon.check()[0], 0)
        daemon.start()
        self.assertEqual(daemon.ask("HEAD", path)["Upload-Offset"], "700000")
        self.assertEqual(daemon.stop(), 0)

    def test_a_stop_in_the_middle_of_a_report_leaves_something_to_be_done_and_no_damage(self):
        daemon = Daemon().start()
        daemon.ask("PUT", "/v1/jobs/run", body=b'{"world_size": 4}')
        with tempfile.TemporaryDirectory() as folder:
            traces = Path(folder) / "job"
            subprocess.run([PROGRAM, "simulate", "-q", "-o", traces, "--nodes", "1", "--gpus", "4", "--steps", "100"], check=True)
            for rank, path in enumerate(sorted(traces.glob("rank*"))):
                self.assertEqual(daemon.put(path.read_bytes(), rank=rank).status, 201)
        state = daemon.wait_for_job(lambda job: job["report_state"] == "running")
        self.assertEqual(state["report_state"], "running", "the report was too quick to be caught")
        self.assertEqual(daemon.stop(), 0)
        code, text = daemon.check()
        self.assertEqual(code, 0, text)
        self.assertIn("to be done: jobs/run/report/g0001 was being made", text)
        (next((daemon.spool / "jobs/run/ranks/c0000").iterdir())).unlink()
        code, text = daemon.check()
        self.assertEqual(code, 1, text)
        self.assertIn(" is lost", text)

    def test_sighup_does_not_open_what_was_closed(self):
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder) / "config.toml"
            config.write_text('largest-file = "1M"\n')
            daemon = Daemon("--config", config).start()
            self.assertEqual(daemon.create(2 << 20).status, 413)
            config.write_text('registry-socket = "/nowhere"\n')
            daemon.process.send_signal(signal.SIGHUP)
            for _ in range(100):
                if "reload_refused" in daemon.log_text():
                    break
                time.sleep(0.05)
            self.assertIn("restart", daemon.log_text())
            self.assertEqual(daemon.stop(), 0)

    def reloaded(self, daemon, config, text):
        """The log line of a reload with this configuration."""
        before = len([line for line in daemon.log_lines() if line["event"].startswith("reload")])
        config.write_text(text)
        daemon.process.send_signal(signal.SIGHUP)
        for _ in range(100):
            lines = [line for line in daemon.log_lines() if line["event"].startswith("reload")]
            if len(lines) > before:
                return lines[-1]
            time.sleep(0.05)
        self.fail(daemon.log_text())

    def test_sighup_takes_other_limits_and_says_which(self):
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder) / "config.toml"
            config.write_text('largest-file = "1M"\n')
            daemon = Daemon("--config", config).start()
            self.addCleanup(lambda: daemon.process.poll() is None and daemon.stop())
            self.assertEqual(daemon.create(2 << 20).status, 413)
            held = daemon.connect()
            line = self.reloaded(daemon, config, '[gather]\nlargest-file = "3M"\nconnections-per-address = 4\nreport-time = 60\n')
            self.assertEqual(line["changed"], "largest-file 1048576 -> 3145728, connections-per-address 64 -> 4")
            self.assertEqual(line["needs_restart"], "report-time 1800 -> 60")
            self.assertEqual(daemon.create(2 << 20).status, 201)
            self.assertEqual(daemon.ask("OPTIONS", "/v1/uploads")["Tus-Max-Size"], str(3 << 20))
            more = [daemon.connect() for _ in range(3)]
            time.sleep(0.2)
            with daemon.connect() as fifth:
                self.assertEqual(received(fifth, 3), b"")
            for sock in more + [held]:
                sock.close()
            time.sleep(0.2)
            line = self.reloaded(daemon, config, "open-uploads = 1\nsilence-time = 1\n")
            self.assertIn("open-uploads 65536 -> 1", line["changed"])
            self.assertEqual(daemon.create(10, "other").status, 429)
            self.assertEqual(self.reloaded(daemon, config, "open-uploads = 1\nsilence-time = 1\n").get("changed"), None)
            for text in ('open-uploads = 9\ndeadline = 9\nopen-uploads = 8\n', 'open-uploads = 9\nmunge = "\n', "open-upload = 9\n"):
                refused = self.reloaded(daemon, config, text)
                self.assertEqual(refused["event"], "reload_refused")
                self.assertIn(f"{config}:{len(text.splitlines())}: ", refused["err"])
                self.assertEqual(daemon.create(10, "other").status, 429)
            refused = self.reloaded(daemon, config, 'registry-socket = "/nowhere"\nopen-uploads = 9\n')
            self.assertEqual(refused["event"], "reload_refused")
            self.assertIn("changes only with a restart: registry-socket ", refused["err"])
            self.assertEqual(daemon.create(10, "other").status, 429)

    def test_sighup_says_which_keys_and_certificates_were_exchanged(self):
        with tempfile.TemporaryDirectory() as folder:
            self_made_ca(folder)
            keys, certificate, key = key_file(folder), Path(folder) / "head.pem", Path(folder) / "head.key"
            config = Path(folder) / "config.toml"
            config.write_text("")
            daemon = Daemon("--config", config, "--token-key-file", keys, "--certificate", certificate, "--private-key", key,
                            insecure=False)
            key.chmod(0o600)
            daemon.start()
            self.addCleanup(lambda: daemon.process.poll() is None and daemon.stop())
            self.assertNotIn("private_key_open", daemon.log_text())
            self.assertEqual(self.reloaded(daemon, config, "").get("changed"), None)
            key_file(folder)
            self.assertEqual(self.reloaded(daemon, config, "").get("changed"), f"token-key-file {keys}: other content")
            self_made_ca(folder)
            key.chmod(0o644)
            self.assertEqual(self.reloaded(daemon, config, "open-uploads = 9\n")["changed"],
                             f"open-uploads 65536 -> 9, certificate {certificate}: other content, private-key {key}: other content")
            time.sleep(0.2)
            line = [line for line in daemon.log_lines() if line["event"] == "private_key_open"][0]
            self.assertEqual((line["level"], line["err"]), ("warning", f"others can read or write it; chmod 600 {key}"))

    def test_what_retention_deletes_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder) / "config.toml"
            config.write_text("retention = 1\n")
            daemon = Daemon("--config", config).start()
            self.addCleanup(lambda: daemon.process.poll() is None and daemon.stop())
            daemon.ask("PUT", "/v1/jobs/forgotten", body=b'{"world_size": 2}')
            time.sleep(2.5)
            self.reloaded(daemon, config, "retention = 1\n")  # it looks at once
            for _ in range(100):
                lines = [line for line in daemon.log_lines() if line["event"] == "job_deleted"]
                if lines:
                    break
                time.sleep(0.05)
            self.assertEqual([(line["job"], line["by"], line["files"]) for line in lines], [("forgotten", "retention", 0)])
            self.assertIn("skewscope_gather_jobs_deleted_total 1", daemon.ask("GET", "/metrics", admin=True).body.decode())
            daemon.stop()
            with sqlite3.connect(daemon.spool / "gather.sqlite") as manifest:
                self.assertEqual(manifest.execute("SELECT who, what FROM audit").fetchall(),
                                 [("retention", "deleted job forgotten: files: 0, bytes: 0")])

    def test_check_needs_a_spool(self):
        done = subprocess.run([PROGRAM, "gather", "--check"], capture_output=True, text=True, timeout=20)
        self.assertEqual(done.returncode, 2)
        self.assertIn("a spool directory is needed: --spool DIR", done.stderr)

    def test_above_its_memory_it_takes_no_body_until_there_is_room_again_and_answers_all_else(self):
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder) / "config.toml"
            config.write_text("")
            daemon = Daemon("--config", config).start()
            self.addCleanup(lambda: daemon.process.poll() is None and daemon.stop())
            path = daemon.create(10)["Location"]
            self.assertIn("soft-memory 3221225472 -> 1048576", self.reloaded(daemon, config, 'soft-memory = "1M"\n')["changed"])
            time.sleep(2.5)
            for answer in (daemon.put(b"x", "run", 1), daemon.create(10)):
                self.assertEqual(answer.status, 503)
                self.assertTrue(1 <= int(answer["Retry-After"]) <= 30)
            self.assertEqual(daemon.patch(path, 0, b"0123456789").status, 204)  # what has begun may end
            self.assertEqual(daemon.ask("GET", "/v1/jobs").status, 200)
            self.reloaded(daemon, config, "")
            time.sleep(2.5)
            self.assertEqual(daemon.put(b"x", "run", 1).status, 201)
            events = [line["event"] for line in daemon.log_lines() if line["event"].startswith("memory")]
            self.assertEqual(events, ["memory_short", "memory_regained"])

    def test_sighup_takes_other_deadlines_for_jobs_that_are_there(self):
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder) / "config.toml"
            config.write_text("")
            daemon = Daemon("--config", config).start()
            self.addCleanup(lambda: daemon.process.poll() is None and daemon.stop())
            daemon.ask("PUT", "/v1/jobs/waiting", body=b'{"world_size": 2}')
            daemon.put(b"{}", "waiting", 0)
            time.sleep(1.5)
            self.assertEqual(daemon.job("waiting")["report_state"], "waiting")
            self.assertIn("deadline 900 -> 1", self.reloaded(daemon, config, "deadline = 1\n")["changed"])
            state = daemon.wait_for_job(lambda job: job["report_state"] != "waiting", "waiting", seconds=10)
            self.assertNotEqual(state["report_state"], "waiting")

    def test_a_missing_spool_is_made_for_its_user_and_group_alone(self):
        daemon = Daemon()
        daemon.spool.rmdir()
        self.assertEqual((daemon.start(), daemon.stop())[1], 0)
        self.assertEqual(daemon.spool.stat().st_mode & 0o7777, 0o750 & ~umask())
        daemon.spool = daemon.folder / "not" / "there"
        done = subprocess.run(daemon.command(), capture_output=True, text=True, timeout=20)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("cannot make the spool", done.stderr)

    @unittest.skipUnless(os.environ.get("HANGING_DISK_LIBRARY"), "the library of hanging_disk.cc is not named")
    def test_the_service_manager_hears_nothing_while_one_thread_hangs(self):
        put = b"PUT /v1/jobs/run/ranks/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx"
        get = b"GET /v1/jobs/run/ranks/0 HTTP/1.1\r\nHost: localhost\r\n\r\n"
        # The disk hangs with an upload's bytes, a folder, a file that goes out: a file thread, the commit thread, a reader.
        for call, request, status in (("fdatasync", put, b" 201 "), ("fsync", put, b" 201 "), ("pread", get, b" 200 ")):
            with self.subTest(call), tempfile.TemporaryDirectory() as folder, \
                    socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
                manager.bind(folder + "/notify")
                manager.settimeout(10)
                daemon = Daemon()
                os.environ.update(NOTIFY_SOCKET=folder + "/notify", LD_PRELOAD=os.environ["HANGING_DISK_LIBRARY"], HANGING_DISK=folder)
                try:
                    daemon.start()
                finally:
                    for name in ("NOTIFY_SOCKET", "LD_PRELOAD", "HANGING_DISK"):
                        del os.environ[name]
                self.assertEqual({manager.recv(100), manager.recv(100)}, {b"READY=1", b"WATCHDOG=1"})
                self.assertEqual(daemon.put(b"x").status, 201)
                holds = Path(folder) / call
                holds.touch()
                with daemon.connect() as sender:
                    sender.sendall(request)
                    time.sleep(2.5)
                    manager.setblocking(False)
                    while select.select([manager], [], [], 0)[0]:
                        manager.recv(100)
                    time.sleep(4)
                    self.assertEqual(select.select([manager], [], [], 0)[0], [], "it says that it lives")
                    self.assertEqual(daemon.ask("GET", "/-/healthy", admin=True).status, 200)  # the rest does
                    holds.unlink()
                    manager.settimeout(10)
                    self.assertEqual(manager.recv(100), b"WATCHDOG=1")
                    self.assertIn(status, received(sender, 2))
                self.assertEqual(daemon.stop(), 0)

    def test_two_daemons_do_not_share_a_spool(self):
        daemon = Daemon().start()
        second = subprocess.run(daemon.command(), capture_output=True, text=True, timeout=20)
        self.assertNotEqual(second.returncode, 0)
        self.assertEqual(daemon.stop(), 0)

    def test_a_second_daemon_does_not_take_the_socket_of_one_that_runs_but_that_of_one_that_was_killed(self):
        first = Daemon()
        path = first.folder / "registry"
        first.flags += ["--registry-socket", str(path)]
        first.start()
        self.addCleanup(lambda: first.process.poll() is None and first.stop())
        second = Daemon("--registry-socket", path)
        done = subprocess.run(second.command(), capture_output=True, text=True, timeout=20)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(f"cannot listen on {path}: another process does", done.stderr)
        code, text = first.curl("--unix-socket", path, "-X", "PUT", "--data", '{"world_size": 8}', "http://localhost/v1/jobs/run")
        self.assertEqual((code, text.splitlines()[-1]), (0, "201"))
        self.assertEqual(first.job("run")["expected"], 8)
        first.stop(signal.SIGKILL)
        second.start()
        self.assertEqual(second.stop(), 0)

    def test_the_service_manager_hears_ready_alive_reloading_and_stopping(self):
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(folder + "/notify")
            manager.settimeout(5)
            os.environ["NOTIFY_SOCKET"] = folder + "/notify"
            try:
                daemon = Daemon().start()
                heard = {manager.recv(100), manager.recv(100)}
                self.assertEqual(heard, {b"READY=1", b"WATCHDOG=1"})
                daemon.process.send_signal(signal.SIGHUP)
                rest = [manager.recv(100) for _ in range(3)]
                self.assertIn(b"RELOADING=1", [line.split(b"\n")[0] for line in rest])
                daemon.stop()
                heard = [manager.recv(100)]
                while heard[-1] != b"STOPPING=1":
                    heard.append(manager.recv(100))
            finally:
                del os.environ["NOTIFY_SOCKET"]

    def test_it_takes_over_a_listening_socket(self):
        with socket.create_server(("127.0.0.1", 0)) as listening:
            port = listening.getsockname()[1]
            daemon = Daemon()
            hand_over = "import os, sys; os.dup2(int(sys.argv[1]), 3, inheritable=True); os.environ.update(LISTEN_FDS='1', " \
                        "LISTEN_PID=str(os.getpid())); os.execv(sys.argv[2], sys.argv[2:])"
            command = ["/usr/bin/env", "python3", "-c", hand_over, str(listening.fileno()), *daemon.command()]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, pass_fds=[listening.fileno()])
            self.assertIn(f"ready on http://127.0.0.1:{port}", process.stdout.readline())
            process.terminate()
            self.assertEqual(process.wait(10), 0)
            process.stdout.close()


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


if __name__ == "__main__":
    unittest.main()
