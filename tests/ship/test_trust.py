#!/usr/bin/env python3
"""Whom skewscope ship trusts, and what the node that it runs on notices of it.

usage: test_trust.py SKEWSCOPE                    all
       test_trust.py SKEWSCOPE Credentials ...    as unittest has it
"""
import gzip
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from fake_gatherer import Answer, FakeGatherer, Lie, Raw  # noqa: E402
from shipping import PATIENCE_S, Shipping, run_classes, trace  # noqa: E402


class Hostile(Shipping):
    def test_no_answer_crashes_or_hangs_the_agent(self):
        self.write_gzip(0)
        head = b"HTTP/1.1 201 x\r\n"
        answers = {
            "huge head": Raw(head + b"X: " + b"a" * 1_000_000 + b"\r\n\r\n"),
            "endless fields": Raw(head + b"A: b\r\n" * 100_000),
            "huge body": Raw(head + b"Content-Length: 100000000\r\n\r\n" + b"b" * 1_000_000),
            "no http": Raw(b"\x00\xff" * 1000),
            "silence": Raw(b"", pause=20),
            "slow head": Raw(head + b"A: ", pause=20),
            "foreign place": Answer(201, {"Location": "http://192.0.2.1/v1/uploads/0"}),
            "place with line break": Answer(201, {"Location": "/v1/%0d%0aX\x01"}),
            "impossible offset": Lie({"Upload-Offset": "99999999999999999999999"}),
            "redirect": Answer(307, {"Location": "http://192.0.2.1/"}),
            "status 0": Raw(b"HTTP/1.1 000 x\r\n\r\n"),
            "retry in a year": Answer(503, {"Retry-After": "31536000"}),
        }
        for name, answer in answers.items():
            with self.subTest(name):
                self.gatherer.always = answer
                began = time.monotonic()
                result = self.ship("--give-up", 1, "--timeout", 1, code=4)
                self.assertLess(time.monotonic() - began, 6)
                self.assertEqual(result["files"], 0)

    def test_a_gatherer_that_falls_silent_after_a_body_is_left_and_asked_again(self):
        self.write_gzip(0)
        self.gatherer.faults = {1: Raw(b"", pause=60)}
        began = time.monotonic()
        self.assertEqual(self.ship("--timeout", 1)["files"], 1)
        self.assertLess(time.monotonic() - began, 24)
        self.assertEqual([method for method, *_ in self.gatherer.log], ["POST", "PATCH", "HEAD", "PATCH"])


class Credentials(Shipping):
    def setUp(self):
        super().setUp()
        self.token = self.folder.parent / "token"
        self.token.write_text("ss1.abc.def\n")
        self.token.chmod(0o600)

    def test_the_token_comes_from_a_file_only_its_owner_reads(self):
        self.gatherer.token = "ss1.abc.def"
        self.write_gzip(0)
        self.assertIn("401", self.ship("--give-up", 1, code=4)["left"][0])
        self.assertEqual(self.ship("--token-file", self.token)["files"], 1)
        self.token.chmod(0o644)
        self.assertIn("chmod 600", self.ship("--token-file", self.token, code=2))

    def said(self, agent):
        agent.kill()
        return agent.communicate()[1]

    def test_a_trace_that_met_an_expired_token_is_sent_once_the_token_is_renewed(self):
        content = self.write_gzip(0).read_bytes()
        for status in (401, 403, 404):
            with self.subTest(status):
                self.gatherer.files.clear()
                del self.gatherer.log[:]
                self.gatherer.always = Answer(status)
                agent = self.watch("--token-file", self.token, "--capture", status)
                self.until(lambda: len(self.gatherer.log) >= 4)
                self.gatherer.always, self.gatherer.token = None, "ss1.new.one"
                renewed = self.token.with_name("renewed")
                renewed.write_text(self.gatherer.token)
                renewed.chmod(0o600)
                renewed.rename(self.token)
                self.until(lambda: self.gatherer.files)
                self.assertEqual(self.gatherer.stored(), {("j", status, 0): content})
                lines = [line for line in self.said(agent).splitlines() if str(self.token) in line]
                self.assertEqual([str(status) in line for line in lines], [True], lines)

    def test_with_once_a_wrong_token_leaves_the_traces_and_is_named(self):
        self.write_gzip(0)
        self.gatherer.always = Answer(401)
        result = self.ship("--give-up", 1, "--token-file", self.token, code=4)
        self.assertEqual(result["bad"], [])
        self.assertRegex(result["left"][0], f"401.*{self.token}")

    def test_a_token_never_travels_in_the_clear(self):
        self.write_gzip(0)
        for other in ("192.0.2.1", "127.evil.invalid", "127.0.0.1.evil.invalid", "localhost.evil.invalid"):
            self.assertIn("https", self.ship("--token-file", self.token, url=f"http://{other}:7475", code=2))

    def certificate(self):
        if not shutil.which("openssl"):
            self.skipTest("no openssl program")
        pem = self.folder.parent / "server.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                               "-keyout", str(pem) + ".key", "-out", str(pem) + ".crt", "-days", "2", "-subj", "/CN=x",
                               "-addext", "subjectAltName=IP:127.0.0.1"], capture_output=True, check=True)
        pem.write_text(Path(str(pem) + ".key").read_text() + Path(str(pem) + ".crt").read_text())
        return pem

    def test_the_certificate_is_always_verified(self):
        pem = self.certificate()
        self.gatherer.stop()
        self.gatherer = FakeGatherer(certificate=str(pem))
        self.write_gzip(0)
        self.assertIn("certificate", self.ship("--give-up", 1, code=4)["left"][0])
        elsewhere = self.gatherer.url.replace("127.0.0.1", "localhost")
        self.assertEqual(self.ship("--give-up", 1, "--ca", str(pem) + ".crt", url=elsewhere, code=4)["files"], 0)
        self.assertEqual(self.gatherer.log, [])
        self.assertEqual(self.ship("--ca", str(pem) + ".crt")["files"], 1)

    def test_what_is_wrong_between_two_certificates_is_told_from_no_answer(self):
        pem = self.certificate()
        self.gatherer.stop()
        self.gatherer = FakeGatherer(certificate=str(pem))
        self.write_gzip(0)
        ca, other = ["--ca", f"{pem}.crt"], "sha256//" + "A" * 43 + "="
        elsewhere = self.gatherer.url.replace("127.0.0.1", "localhost")
        for arguments, url, hint in ((["--ca", "/etc/hostname"], None, "--ca"), ([], None, "--ca"), (ca, elsewhere, "--to"),
                                     ([*ca, "--pin", other], None, "--pin")):
            with self.subTest(hint):
                left = self.ship("--give-up", 1, *arguments, url=url, code=4)["left"][0]
                self.assertIn(hint, left)
                self.assertNotIn("no answer", left)
        plain = self.gatherer.url.replace("https:", "http:")
        self.assertIn("https?", self.ship("--give-up", 1, url=plain, code=4)["left"][0])
        agent = self.watch()
        self.assertIn("--ca", agent.stderr.readline())
        self.assertIsNone(agent.poll())

    def test_a_certificate_of_ones_own_wants_https_a_readable_file_and_a_key_that_is_kept(self):
        pem = self.certificate()
        key = Path(f"{pem}.key")
        self.write_gzip(0)
        https = "https://127.0.0.1:1"
        self.assertIn("https", self.ship("--cert", f"{pem}.crt", "--key", key, code=2))
        self.assertIn("--cert", self.ship("--key", key, url=https, code=2))
        self.assertIn("none.pem", self.ship("--cert", "none.pem", url=https, code=2))
        key.chmod(0o644)
        run = subprocess.run(self.command("--once", "--give-up", 1, "--cert", f"{pem}.crt", "--key", key, url=https),
                             capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertIn("chmod 600", run.stderr)

    def test_with_a_ca_of_ones_own_the_systems_do_not_count(self):
        if os.getuid() != 0:
            self.skipTest("needs root to mount")
        pem, own = self.certificate(), self.folder.parent / "own.crt"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                        "/dev/null", "-out", own, "-subj", "/CN=own"], capture_output=True, check=True)
        self.gatherer.stop()
        self.gatherer = FakeGatherer(certificate=str(pem))
        self.write_gzip(0)
        trusted = (f"mount -t tmpfs none /etc/ssl/certs && cp {pem}.crt /etc/ssl/certs && openssl rehash /etc/ssl/certs "
                   f"&& cp {own} /etc/ssl/certs/ca-certificates.crt")

        def files(*arguments):
            command = self.command("--once", "--json", "--settle", 0, "--give-up", 1, *arguments)
            run = subprocess.run(["unshare", "--mount", "sh", "-c", trusted + ' && exec "$@"', "sh", *command],
                                 capture_output=True, text=True, timeout=PATIENCE_S)
            return json.loads(run.stdout)["files"]
        self.assertEqual(files("--ca", own), 0)
        self.assertEqual(files(), 1)

    def test_a_pinned_key_must_be_the_gatherers_besides_its_certificate(self):
        pem = self.certificate()
        pin = subprocess.run(f"openssl pkey -in '{pem}.key' -pubout -outform der | openssl dgst -sha256 -binary | openssl base64",
                             shell=True, capture_output=True, text=True, check=True).stdout.strip()
        self.gatherer.stop()
        self.gatherer = FakeGatherer(certificate=str(pem))
        self.write_gzip(0)
        ca, other = ["--ca", str(pem) + ".crt"], "sha256//" + "A" * 43 + "="
        self.assertIn("pinned", self.ship("--give-up", 1, *ca, "--pin", other, code=4)["left"][0])
        self.assertEqual(self.gatherer.log, [])
        self.assertIn("certificate", self.ship("--give-up", 1, "--pin", f"sha256//{pin}", code=4)["left"][0])
        self.assertEqual(self.ship(*ca, "--pin", f"{other};sha256//{pin}")["files"], 1)
        for wrong in (pin, "sha256//x", "sha512//" + pin, f"sha256//{pin};", "/etc/passwd"):
            self.assertIn("--pin", self.ship(*ca, "--pin", wrong, code=2))
        self.assertIn("https", self.ship("--pin", other, url="http://127.0.0.1:1", code=2))


def cpu_seconds(pid):
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")


class Disturbance(Shipping):
    def test_agents_that_have_files_at_one_moment_come_at_several(self):
        content = self.write_gzip(0).read_bytes()
        whole = self.folder
        for i in range(6):
            self.folder = whole.parent / f"node{i}"
            self.folder.mkdir()
            (self.folder / "rank0.json.gz").write_bytes(content)
            self.watch("--spread", 4, "--capture", i)
        self.until(lambda: len(self.gatherer.files) == 6)
        times = sorted(at for method, _, _, at in self.gatherer.log if method == "POST")
        self.assertGreater(times[-1] - times[0], 0.5, times)  # by chance closer: once in some 10,000 runs

    def test_watching_a_thousand_files_takes_little_of_a_processor(self):
        for rank in range(1000):
            (self.folder / f"rank{rank}.json.gz").write_bytes(gzip.compress(trace(rank, 1000), 1))
        agent = self.watch("--rate", "1G")
        self.until(lambda: len(self.gatherer.files) == 1000)
        time.sleep(1)
        before, began = cpu_seconds(agent.pid), time.monotonic()
        time.sleep(10)
        share = (cpu_seconds(agent.pid) - before) / (time.monotonic() - began)
        self.assertLess(share, 0.05)

    def test_a_gigabyte_takes_seconds_of_a_processor(self):
        total = len(self.write_gzip(0, events=400_000).read_bytes())
        agent = self.watch("--rate", "1G")
        self.until(lambda: self.gatherer.files)
        self.assertLess(cpu_seconds(agent.pid), 15e-9 * total + 0.2)

    def test_it_takes_no_more_of_a_processor_than_it_was_asked_to(self):
        self.write("rank0.json", trace(padding=30_000_000))
        share, began = 0.05, time.monotonic()
        agent = self.watch("--rate", "1G", "--cpu", 100 * share)
        self.until(lambda: self.gatherer.files)
        used, wall = cpu_seconds(agent.pid), time.monotonic() - began
        print(f"--cpu {100 * share:.0f}: {used:.2f} s of a processor in {wall:.1f} s: {used / wall:.1%}")
        self.assertGreater(used, 0.1, "too little to tell")
        self.assertLess(used, 1.1 * share * wall + 0.03)  # what starting takes

    def test_a_full_disk_of_the_state_folder_stops_nothing(self):
        content = self.write_gzip(0).read_bytes()
        run = subprocess.run(["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", *self.command("--once", "--quiet")],
                             capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(self.gatherer.stored(), {("j", 0, 0): content})

    def test_a_state_folder_that_cannot_be_made_stops_nothing_but_digests(self):
        content = self.write_gzip(0).read_bytes()
        nowhere = self.folder.parent / "file" / "state"
        nowhere.parent.write_text("in the way")
        run = subprocess.run(self.command("--once", "--state", nowhere), capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn(str(nowhere), run.stderr)
        self.assertEqual(self.gatherer.stored(), {("j", 0, 0): content})
        self.assertIn(str(nowhere), self.ship("--state", nowhere, "--digest", code=5))

    def test_the_rate_holds_over_all_uploads(self):
        for rank in range(2):
            self.write_gzip(rank, 2, events=6000, seed=rank)
        total = sum(path.stat().st_size for path in self.folder.glob("*.gz"))
        began = time.monotonic()
        self.ship("--rate", total // 2)
        self.assertGreater(time.monotonic() - began, 1.5)

    def test_it_runs_at_the_lowest_priority_in_little_memory(self):
        self.write("rank0.json", trace(padding=40_000_000))
        agent = self.watch("--rate", "1G")
        self.until(lambda: self.gatherer.files)
        status = Path(f"/proc/{agent.pid}/status").read_text()
        peak_kib = int(status.split("VmHWM:")[1].split()[0])
        nice = {int(Path(f"/proc/{agent.pid}/task/{task}/stat").read_text().rsplit(")", 1)[1].split()[16])
                for task in os.listdir(f"/proc/{agent.pid}/task")}
        self.assertLess(peak_kib, 64 << 10)
        self.assertIn(19, nice)

    def test_two_agents_on_one_folder_send_each_file_once(self):
        for rank in range(8):
            self.write_gzip(rank, 8, events=2000, seed=rank)
        command = self.command("--once", "--quiet", "--rate", "4M", "--delete-source")
        agents = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
        for agent in agents:
            out = agent.communicate(timeout=PATIENCE_S)
            self.assertEqual(agent.returncode, 0, out)
        self.assertEqual(len(self.gatherer.stored()), 8)
        self.assertEqual(sum(method == "PATCH" for method, *_ in self.gatherer.log), 8)


if __name__ == "__main__":
    run_classes(globals())
