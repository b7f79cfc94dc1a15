#!/usr/bin/env python3
"""Connections that say nothing, and everybody else. usage: strangers.py SKEWSCOPE"""
import resource
import socket
import tempfile
import time
import unittest

from daemon import Daemon, key_file, minted, self_made_ca, trusting

ADDRESSES, PER_ADDRESS = 50, 60


class Strangers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 8192), most))
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        self_made_ca(folder.name)
        keys = key_file(folder.name)
        cls.daemon = Daemon("--token-key-file", keys, "--certificate", f"{folder.name}/head.pem", "--private-key",
                            f"{folder.name}/head.key", insecure=False).start()
        cls.addClassCleanup(cls.daemon.stop)
        cls.daemon.context, cls.daemon.token = trusting(folder.name), minted(keys, "*", "--scopes", "admin")

    def silent(self, address):
        sock = socket.socket()
        self.addCleanup(sock.close)
        sock.setblocking(False)
        sock.bind((address, 0))
        sock.connect_ex((self.daemon.host, self.daemon.port))

    def test_three_thousand_silent_connections_from_fifty_addresses_slow_nobody_elses_new_connections(self):
        for number in range(ADDRESSES * PER_ADDRESS):
            self.silent(f"127.0.1.{number % ADDRESSES + 1}")
        times = []
        for _ in range(20):
            begin = time.monotonic()
            self.assertEqual(self.daemon.ask("GET", "/v1/jobs").status, 200)
            times.append(time.monotonic() - begin)
        self.assertLess(max(times), 1, times)
        self.assertLess(sorted(times)[10], 0.2, times)


if __name__ == "__main__":
    unittest.main()
