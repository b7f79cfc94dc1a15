#!/usr/bin/env python3
"""The Debian package that cpack makes, on a machine of its own (root.py): policy, install, upgrade while an agent uploads,
remove, purge. usage: deb_package.py SKEWSCOPE BUILD"""
import gzip
import hashlib
import os
import shutil
import signal
import stat
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from root import PROGRAM, SHIP, UNIT, Root, Services, child_of, main, make_package, settle

FILES = 32
SPOOL, SETTINGS = "var/lib/skewscope/gather", "etc/skewscope/gather.toml"
LINK = "etc/systemd/system/multi-user.target.wants/skewscope-gather.service"
# Of the system, which keeps accounts, logs and caches; and of the test.
NOT_THE_PACKAGES = ("etc/passwd", "etc/group", "etc/shadow", "etc/gshadow", "etc/subuid", "etc/subgid", "etc/.pwd.lock", "var/lib/dpkg/",
                    "var/log/", "var/cache/", "var/lib/apt/", "usr/local/sbin/systemctl", "usr/sbin/policy-rc.d",
                    "etc/dpkg/dpkg.cfg.d/docker", "traces/")


def next_version(package, folder):
    """The same package as version 9.9.9, with other settings by default."""
    subprocess.run(["dpkg-deb", "--raw-extract", package, folder], check=True)
    control, settings = folder / "DEBIAN/control", folder / SETTINGS
    control.write_text(control.read_text().replace("Version: ", "Version: 9.9.9+"))
    settings.write_text(settings.read_text() + "# New in 9.9.9.\n")
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", folder, f"{folder}.deb"], check=True,
                   stdout=subprocess.DEVNULL)
    return Path(f"{folder}.deb")


def digests(files):
    """Of the traces in these files, which the agent compresses."""
    contents = (file.read_bytes() for file in files)
    return {hashlib.sha256(gzip.decompress(text) if text[:2] == b"\x1f\x8b" else text).hexdigest() for text in contents}


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.package = make_package(cls.folder)

    @unittest.skipIf(shutil.which("lintian") is None, "no lintian on this machine")
    def test_lintian_finds_no_error_and_no_warning(self):
        said = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", self.package], capture_output=True, text=True)
        self.assertEqual(said.returncode, 0, said.stdout + said.stderr)

    def test_what_the_program_loads_when_asked_to_is_named(self):
        depends, recommends = (subprocess.run(["dpkg-deb", "--field", self.package, field], check=True, capture_output=True,
                                              text=True).stdout for field in ("Depends", "Recommends"))
        self.assertIn("libcurl4", depends)
        self.assertIn("libssl3", depends)  # dpkg-shlibdeps found it
        self.assertIn("libmunge2", recommends)

    def test_install_upgrade_while_uploads_run_remove_and_purge(self):
        with tempfile.TemporaryDirectory() as folder:
            newer = next_version(self.package, Path(folder, "newer"))
            root = Root()
            self.addCleanup(root.end)
            for name, package in (("older", self.package), ("newer", newer)):
                shutil.copy(package, root.path / f"tmp/{name}.deb")
            services = Services(root)
            self.addCleanup(services.log.close)
            self.installs(root, services)
            self.administrator_starts(root, services)
            self.upgrades_while_uploads_run(root, services)
            self.removes_and_purges(root, services)

    def installs(self, root, services):
        root.run("dpkg", "--install", "/tmp/older.deb")
        self.assertEqual(root.run("stat", "-c", "%a %U", "/usr/bin/skewscope"), "755 root\n")
        user = root.run("getent", "passwd", "skewscope").strip().split(":")
        self.assertLess(int(user[2]), 1000)
        self.assertEqual(user[6], "/usr/sbin/nologin")
        self.assertEqual(services.asked, ["--system daemon-reload"])  # nothing started
        self.assertEqual([path for path in root.changed() if path.startswith("etc/systemd/")], [])  # nothing enabled
        units = [f"/usr/lib/systemd/system/skewscope-{unit}" for unit in ("gather.service", "gather.socket", "ship@.service")]
        if shutil.which("systemd-analyze"):
            self.assertEqual(root.run("systemd-analyze", "verify", "--man=no", *units), "")

    def administrator_starts(self, root, services):
        """Settings of the site; enabled."""
        settle(root)
        link = root.path / LINK  # systemctl enable
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(f"/{UNIT}")
        services.start()
        self.assertEqual(services.user(), "skewscope")
        self.assertEqual(stat.S_IMODE((root.path / SPOOL).stat().st_mode), 0o750)

    def upgrades_while_uploads_run(self, root, services):
        traces = root.path / "traces"
        subprocess.run([PROGRAM, "simulate", "-o", traces, "--nodes", "4", "--gpus", "8", "--steps", "3"], check=True,
                       stdout=subprocess.DEVNULL)
        sent = digests(traces.glob("rank*"))
        self.assertEqual(len(sent), FILES)
        slow = sum(file.stat().st_size for file in traces.glob("rank*")) // 400  # half a minute: it compresses them
        agent = root.start(*SHIP, "--rate", slow, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.waits_for_more(root, agent, 0)
        root.run("dpkg", "--force-confdef", "--force-confold", "--install", "/tmp/newer.deb")
        self.assertEqual(services.starts, 2)
        self.assertIn("try-restart skewscope-gather.service skewscope-ship@*.service", services.asked)
        self.waits_for_more(root, agent, len(self.stored(root)))
        self.assertLess(len(self.stored(root)), FILES)
        os.kill(int(child_of(agent)), signal.SIGTERM)
        agent.wait(20)
        root.run(*SHIP)  # the rest, quickly
        self.assertEqual(digests(self.stored(root)), sent)
        self.assertIn("localhost", (root.path / SETTINGS).read_text())
        self.assertIn("New in 9.9.9", (root.path / f"{SETTINGS}.dpkg-dist").read_text())
        self.assertIn(LINK, root.changed())

    def waits_for_more(self, root, agent, files):
        while len(self.stored(root)) <= files:
            self.assertIsNone(agent.poll())
            time.sleep(0.05)

    def stored(self, root):
        return [file for file in (root.path / SPOOL / "jobs").rglob("ranks/*/*") if file.is_file()]

    def removes_and_purges(self, root, services):
        root.run("dpkg", "--remove", "skewscope")
        self.assertIsNone(services.daemon)  # stopped
        self.assertFalse((root.path / "usr/bin/skewscope").exists())
        self.assertTrue((root.path / SETTINGS).exists())
        self.assertEqual(len(self.stored(root)), FILES)
        root.run("dpkg", "--purge", "skewscope")
        left = {path for path in root.changed() if not path.startswith(NOT_THE_PACKAGES)}
        self.assertEqual(left, set())
        self.assertIn(":/usr/sbin/nologin", root.run("getent", "passwd", "skewscope"))  # the user stays, locked


if __name__ == "__main__":
    main(unittest.main)
