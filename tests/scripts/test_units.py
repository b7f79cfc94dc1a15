#!/usr/bin/env python3
"""The systemd units of configs/ are ones that systemd takes, leave little to break into, and agree with the program and with
configs/slurm. usage: [SKEWSCOPE]"""
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
GATHER, SHIP = "skewscope-gather.service", "skewscope-ship@.service"
MOST_EXPOSED = 2.0  # of 10, by systemd-analyze
PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 and Path(sys.argv[1]).exists() else None


def text_of(unit):
    return (CONFIGS / "systemd" / unit).read_text()


def values(unit, key):
    """Of all its lines `key=`."""
    return re.findall(rf"^{key}=(.*)$", text_of(unit), re.MULTILINE)


def example():
    """The drop-in that the head of the agent's unit shows."""
    return "\n".join(re.findall(r"^#   (.*)$", text_of(SHIP), re.MULTILINE)).replace("JOB", "two-7.0")


@unittest.skipIf(shutil.which("systemd-analyze") is None, "no systemd-analyze on this machine")
class Units(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for unit in (CONFIGS / "systemd").iterdir():  # with a program that is there: it is the unit that is looked at
            (self.folder / unit.name).write_text(unit.read_text().replace("/usr/bin/skewscope", "/bin/true"))

    def systemd_takes(self, *units):
        verified = subprocess.run(["systemd-analyze", "verify", "--man=no", *(self.folder / unit for unit in units)],
                                  capture_output=True, text=True)
        self.assertEqual((verified.returncode, verified.stderr), (0, ""))

    def test_systemd_takes_all(self):
        self.systemd_takes(*sorted(unit.name for unit in self.folder.iterdir()))

    def test_systemd_takes_the_drop_in_of_a_job(self):
        unit = "skewscope-ship@two-7.0.service"
        (self.folder / f"{unit}.d").mkdir()
        (self.folder / f"{unit}.d/job.conf").write_text(example())
        (self.folder / unit).write_text((self.folder / SHIP).read_text())
        self.systemd_takes(unit)
        (self.folder / f"{unit}.d/job.conf").write_text(example().replace("ReadWritePaths=", "ReadWritePaths=relative"))
        with self.assertRaisesRegex(AssertionError, "relative"):
            self.systemd_takes(unit)

    def test_little_is_exposed(self):
        for unit in (GATHER, SHIP):
            with self.subTest(unit):
                told = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", self.folder / unit],
                                      capture_output=True, text=True)
                exposure = float(re.search(r"exposure level for \S+: ([\d.]+)", told.stdout).group(1))
                self.assertLessEqual(exposure, MOST_EXPOSED, told.stdout)


class Agreement(unittest.TestCase):
    def test_the_gatherer_may_bind_the_socket_of_the_hooks(self):
        for hook in ("prolog_slurmctld", "epilog_slurmctld"):
            socket = re.search(r"--unix-socket (\S+)", (CONFIGS / "slurm" / hook).read_text()).group(1)
            self.assertEqual(str(Path(socket).parent), f"/run/{values(GATHER, 'RuntimeDirectory')[0]}")
        self.assertEqual(values(GATHER, "PrivateUsers"), [])  # it would see --registry-user as nobody

    def test_the_agent_sees_and_may_change_the_traces_of_the_batch_script_and_little_else(self):
        traces = re.search(r"SKEWSCOPE_TRACES=(\S+)", (CONFIGS / "slurm/train.sbatch").read_text()).group(1)
        self.assertEqual(values(SHIP, "ReadWritePaths"), [traces.replace("$job", "%i")])
        self.assertEqual(values(SHIP, "Environment"), [f"SKEWSCOPE_TRACES={traces.replace('$job', '%i')}"])
        self.assertEqual((values(SHIP, "ProtectSystem"), values(SHIP, "PrivateTmp")), (["strict"], []))

    def test_the_agent_is_not_root_and_its_example_says_who_it_is(self):
        self.assertNotIn(values(SHIP, "User"), ([], ["root"]))
        self.assertIn("User=", example())
        for name in re.findall(r"\$\{(\w+)\}", values(SHIP, "ExecStart")[0]):
            self.assertIn(f"{name}=", example())

    @unittest.skipIf(PROGRAM is None, "no skewscope given")
    def test_the_program_takes_the_flags_of_the_units(self):
        for unit, command in ((GATHER, "gather"), (SHIP, "ship")):
            said = subprocess.run([PROGRAM, command, "--help"], capture_output=True, text=True).stdout
            for flag in re.findall(r" (--[a-z-]+)", values(unit, "ExecStart")[0]):
                self.assertTrue(f"  {flag} " in said or flag == "--config", f"{command} {flag}")

    @unittest.skipIf(PROGRAM is None, "no skewscope given")
    def test_systemd_takes_the_exit_codes_of_the_agent_as_they_are_meant(self):
        with tempfile.TemporaryDirectory() as folder:
            ended = subprocess.run([PROGRAM, "ship", folder, "--to", "", "--job", "none"], capture_output=True)
            self.assertEqual(values(SHIP, "RestartPreventExitStatus"), [str(ended.returncode)])  # no gatherer: no drop-in
            agent = subprocess.Popen([PROGRAM, "ship", folder, "--to", "http://127.0.0.1:1", "--job", "none", "--quiet"],
                                     stderr=subprocess.DEVNULL)
            while not list(Path(folder).iterdir()):  # its state: it is at work
                self.assertIsNone(agent.poll())
            agent.terminate()
            self.assertEqual(values(SHIP, "SuccessExitStatus"), [str(agent.wait(timeout=20))])


if __name__ == "__main__":
    unittest.main()
