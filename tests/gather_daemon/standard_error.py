#!/usr/bin/env python3
"""A daemon whose standard error nobody reads, or which is closed.
usage: standard_error.py SKEWSCOPE"""
import os
import re
import socket
import subprocess
import unittest

from daemon import Daemon

TRACE = b'{"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": []}'


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class StandardError(unittest.TestCase):
    def start(self, *prefix, **more):
        """A daemon whose log cannot be read: its addresses are known otherwise."""
        daemon = Daemon()
        daemon.admin_port = free_port()
        daemon.admin = f"127.0.0.1:{daemon.admin_port}"
        daemon.log = open(daemon.folder / "log", "a")
        daemon.process = subprocess.Popen([*prefix, *daemon.command()], stdout=subprocess.PIPE, text=True, **more)
        self.addCleanup(lambda: daemon.ended() or daemon.stop())
        daemon.url = re.search(r"http://\S+", daemon.process.stdout.readline())[0]
        daemon.host, port = daemon.url.split("//")[1].rsplit(":", 1)
        daemon.port = int(port)
        return daemon

    def test_a_log_that_nobody_reads_stops_no_request_and_not_the_end_and_what_is_left_out_is_counted(self):
        unread, log = os.pipe()
        self.addCleanup(os.close, unread)
        daemon = self.start(stderr=log)
        os.close(log)
        for _ in range(1500):
            self.assertEqual(daemon.ask("GET", "/v1/jobs").status, 200)
        text = daemon.ask("GET", "/metrics", admin=True).body.decode()
        self.assertGreater(float(re.search(r"(?m)^skewscope_gather_log_lines_left_out_total (\S+)", text)[1]), 0)
        self.assertEqual(daemon.stop(), 0)

    def test_where_it_is_closed_reports_are_made_and_nothing_else_takes_its_place(self):
        daemon = self.start("sh", "-c", 'exec "$@" 2>&-', "sh")
        daemon.put(TRACE, "one", 0, query="?world_size=1")
        self.assertIn(daemon.wait_for_job(lambda job: job["report_state"] in ("complete", "failed"), "one")["report_state"],
                      ("complete", "failed"))
        self.assertFalse(daemon.ended())
        self.assertEqual((daemon.spool / "LOCK").read_bytes(), b"")
        self.assertEqual(daemon.stop(), 0)


if __name__ == "__main__":
    unittest.main()
