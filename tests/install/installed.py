#!/usr/bin/env python3
"""What `cmake --install` leaves: the program, a man page of each command, completion of three shells, the Python reader, and
what configs/README.md lists, with paths of the prefix. usage: installed.py SKEWSCOPE BUILD"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD = sys.argv[2]
del sys.argv[1:3]
UNITS = ("skewscope-gather.service", "skewscope-gather.socket", "skewscope-ship@.service")


def install(prefix, **environment):
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, **environment})


class BelowAPrefix(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.top = Path(folder.name).resolve()
        install(cls.top)

    def test_each_command_has_its_man_page_and_completion(self):
        said = subprocess.run([self.top / "bin/skewscope", "help"], check=True, capture_output=True, text=True).stdout
        commands = [line.split()[0] for line in said.split("Commands:\n")[1].split("\n\n")[0].splitlines()
                    if line.startswith("  ") and line[2] != " "]
        self.assertLessEqual({"report", "rank", "help"}, set(commands))
        self.assertEqual({page.name for page in (self.top / "share/man/man1").iterdir()},
                         {"skewscope.1"} | {f"skewscope-{command}.1" for command in commands})
        for script in ("bash-completion/completions/skewscope", "zsh/vendor-completions/_skewscope",
                       "fish/vendor_completions.d/skewscope.fish"):
            self.assertIn("network-peak", (self.top / "share" / script).read_text())

    def test_the_python_reader_can_be_imported(self):
        subprocess.run([sys.executable, "-c", "import skewscope_report, torch_handler, capture_now"], check=True,
                       cwd=self.top / "share/skewscope")

    def test_schemas_rules_hooks_and_licences_are_there(self):
        for file in ("share/skewscope/report.schema.json", "share/skewscope/SKILL.md", "share/skewscope/prometheus/skewscope-job.rules.yml",
                     "share/doc/skewscope/copyright", "share/doc/skewscope/LICENSE", "share/doc/skewscope/examples/train.sbatch"):
            self.assertTrue((self.top / file).is_file(), file)
        for hook in ("prolog_slurmctld", "epilog_slurmctld", "comment_slurmctld"):
            self.assertTrue(os.access(self.top / "libexec/skewscope" / hook, os.X_OK), hook)

    def test_units_and_settings_name_the_prefix_and_no_other(self):
        for file in (*(f"lib/systemd/system/{unit}" for unit in UNITS), "etc/skewscope/gather.toml"):
            text = (self.top / file).read_text()
            self.assertEqual(re.findall(r"(?<![\w/])(?:/usr/bin|/etc)/skewscope", text), [], file)
            for path in re.findall(r"\S*/skewscope/(?:gather.toml|head.pem|token-keys)", text):
                self.assertIn(f"{self.top}/etc/skewscope/", path)

    @unittest.skipIf(shutil.which("systemd-analyze") is None, "no systemd-analyze on this machine")
    def test_systemd_takes_the_units_their_program_and_the_user(self):
        units = [self.top / "lib/systemd/system" / unit for unit in UNITS]
        verified = subprocess.run(["systemd-analyze", "verify", "--man=no", *units], capture_output=True, text=True)
        self.assertEqual((verified.returncode, verified.stderr), (0, ""))
        user = subprocess.run(["systemd-sysusers", "--dry-run", self.top / "lib/sysusers.d/skewscope.conf"], capture_output=True,
                              text=True)
        self.assertEqual(user.returncode, 0, user.stderr)

    def test_settings_of_the_site_stay(self):
        settings = self.top / "etc/skewscope/gather.toml"
        default = settings.read_text()
        settings.write_text("retention = 1\n")
        install(self.top)
        self.assertEqual(settings.read_text(), "retention = 1\n")
        settings.write_text(default)

    def test_for_usr_settings_are_below_etc(self):
        with tempfile.TemporaryDirectory() as folder:
            install("/usr", DESTDIR=folder)
            self.assertTrue(Path(folder, "etc/skewscope/gather.toml").is_file())
            self.assertIn("ExecStart=/usr/bin/skewscope gather --config /etc/skewscope/gather.toml ",
                          Path(folder, "usr/lib/systemd/system", UNITS[0]).read_text())


if __name__ == "__main__":
    unittest.main()
