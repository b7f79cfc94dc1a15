#!/usr/bin/env python3
"""`skewscope ship` before a gatherer with TLS, tokens and client certificates.
usage: agent.py SKEWSCOPE"""
import os
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from daemon import PROGRAM, Daemon, key_file, minted, self_made_ca, trusting

TRACE = '{"distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": [], "traceName": "x"}'


class Agent(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self_made_ca(self.folder)
        self.keys = key_file(self.folder)
        (self.folder / "traces").mkdir()
        (self.folder / "traces/rank0.json").write_text(TRACE)
        self.put_token(minted(self.keys, "a"))

    def put_token(self, token):
        renewed = self.folder / "renewed"
        renewed.write_text(token)
        renewed.chmod(0o600)
        renewed.rename(self.folder / "token")

    def start(self, *flags):
        self.daemon = Daemon("--token-key-file", self.keys, "--certificate", self.folder / "head.pem", "--private-key",
                             self.folder / "head.key", *flags, insecure=False).start()
        self.addCleanup(self.daemon.stop)

    def command(self, *arguments):
        return [PROGRAM, "ship", self.folder / "traces", "--to", self.daemon.url, "--job", "a", "--settle", "0", "--ca",
                self.folder / "ca.pem", "--token-file", self.folder / "token", *arguments]

    def ship(self, *arguments):
        """The agent's exit code and what it says."""
        done = subprocess.run(self.command("--once", "--give-up", "1", *arguments), capture_output=True, text=True, timeout=120)
        return done.returncode, done.stdout + done.stderr

    def watch(self, *arguments):
        agent = subprocess.Popen(self.command("--spread", "0", *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

        def end():
            agent.kill()
            agent.communicate()
        self.addCleanup(end)
        return agent

    def wait_for_the_trace(self):
        end = time.monotonic() + 120
        while not self.daemon.stored() and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(len(self.daemon.stored()), 1)

    def show(self, folder, name="shown"):
        """What --cert and --key name becomes the certificate of a node of this folder's authority."""
        for kind in ("pem", "key"):
            (self.folder / f"{name}.{kind}").write_bytes((folder / f"node.{kind}").read_bytes())
            (self.folder / f"{name}.{kind}").chmod(0o600)
        return ["--cert", self.folder / f"{name}.pem", "--key", self.folder / f"{name}.key"]

    def test_where_certificates_are_asked_for_the_token_is_enough_and_one_may_be_shown(self):
        self.start("--client-ca", self.folder / "ca.pem")
        self.assertEqual(self.ship()[0], 0)
        (self.folder / "traces/rank0.json").write_text(TRACE + " ")
        code, text = self.ship("--replace", *self.show(self.folder))
        self.assertEqual(code, 0, text)
        self.assertIn("1 files", text)

    def test_without_ca_the_file_that_SSL_CERT_FILE_names_is_trusted_and_no_other_authority(self):
        self.start()
        command = [word for word in self.command("--once", "--give-up", "1") if word not in ("--ca", self.folder / "ca.pem")]
        self.assertNotEqual(subprocess.run(command, capture_output=True).returncode, 0)
        done = subprocess.run(command, capture_output=True, env=os.environ | {"SSL_CERT_FILE": str(self.folder / "ca.pem")})
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_what_the_gatherer_has_lost_is_sent_again_when_it_is_asked(self):
        self.start()
        self.assertEqual(self.ship()[0], 0)
        admin = minted(self.keys, "*", "--scopes", "admin")
        self.daemon.context = trusting(self.folder)
        self.assertEqual(self.daemon.ask("DELETE", "/v1/jobs/a", token=admin).status, 204)
        self.put_token(self.daemon.ask("POST", "/v1/tokens", body='{"job": "a"}', token=admin).json()["token"])
        self.assertIn("1 were before", self.ship()[1])  # as it remembers
        self.assertEqual(self.daemon.stored(), {})
        code, text = self.ship("--verify")
        self.assertEqual((code, len(self.daemon.stored())), (0, 1), text)
        self.assertEqual(self.ship("--verify")[0], 0)

    def test_what_the_gatherer_has_lost_is_not_deleted_here(self):
        self.start()
        self.assertEqual(self.ship()[0], 0)
        self.daemon.stop()
        code, text = self.ship("--delete-source")
        self.assertEqual(code, 4, text)
        self.assertTrue((self.folder / "traces/rank0.json").exists())

    def test_a_dry_run_says_what_would_go_and_asks_nobody(self):
        self.start()
        code, text = self.ship("--dry-run")
        self.assertEqual(code, 0, text)
        self.assertRegex(text, "1 files would go to .*\\nsend  .*rank0.json: rank 0, ")
        self.assertEqual(self.daemon.stored(), {})
        self.assertFalse((self.folder / "traces/.skewscope-ship").exists())

    def test_sources_are_not_deleted_behind_a_link_or_in_a_folder_of_another_user(self):
        self.start()
        (self.folder / "link").symlink_to(self.folder / "traces")
        command = [PROGRAM, "ship", self.folder / "link", "--to", self.daemon.url, "--job", "a", "--once", "--delete-source", "--ca",
                   self.folder / "ca.pem", "--token-file", self.folder / "token"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn("is a symbolic link", done.stderr)
        if os.geteuid() == 0:
            os.chown(self.folder / "traces", 65534, -1)
            code, text = self.ship("--delete-source")
            self.assertEqual(code, 2)
            self.assertIn("belongs to another user", text)
        self.assertTrue((self.folder / "traces/rank0.json").exists())

    def test_a_certificate_that_is_not_accepted_is_named_and_once_it_is_renewed_the_trace_is_sent(self):
        self.start("--client-ca", self.folder / "ca.pem")
        stranger = self.folder / "stranger"
        stranger.mkdir()
        self_made_ca(stranger)
        agent = self.watch(*self.show(stranger))
        self.assertIn("does not accept the certificate of --cert", agent.stderr.readline())
        self.show(self.folder)
        self.wait_for_the_trace()

    def test_a_token_that_has_expired_is_named_and_once_it_is_renewed_the_trace_is_sent(self):
        self.start()
        self.put_token(minted(self.keys, "a", "--life", 1))
        time.sleep(2.1)
        agent = self.watch()
        self.assertRegex(agent.stderr.readline(), f"401.*{self.folder}/token")
        self.put_token(minted(self.keys, "a"))
        self.wait_for_the_trace()

    def test_a_token_of_another_job_or_without_the_right_to_send_costs_no_trace(self):
        self.start()
        for status, token in ((404, minted(self.keys, "b")), (403, minted(self.keys, "a", "--scopes", "read"))):
            self.put_token(token)
            code, text = self.ship()
            self.assertEqual(code, 4, text)
            self.assertRegex(text, f"left .*{status}.*{self.folder}/token")
        self.put_token(minted(self.keys, "a"))
        self.assertEqual(self.ship()[0], 0)


if __name__ == "__main__":
    os.umask(0o077)
    unittest.main()
