#!/usr/bin/env python3
"""The relocatable tarball (scripts/make_tarball), made twice and unpacked into an empty root: no library, no shell, no /etc, no
/dev; read-only, as an unprivileged user, and where said with the system calls of Linux 4.18 alone. Needs root.
usage: tarball.py SKEWSCOPE BUILD [TEST...]"""
import ctypes
import ctypes.util
import errno
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/gather_daemon"))
from daemon import PROGRAM, Daemon, key_file, self_made_ca, trusting  # noqa: E402

BUILD = Path(sys.argv.pop(1)).resolve()
SKIPPED = 77
NOBODY = 65534
JOB = "Läufe 運行"
MOST_BYTES = 40_000_000
# From here on numbers of system calls are younger than Linux 4.18.
FIRST_LATER_CALL = 335
LANDLOCK_CREATE_RULESET = 444
MOUNTS = """root=$1 writable=$2
shift 2
mount --bind "$root" "$root" && mount --bind "$writable" "$root$writable" && mount -o remount,bind,ro "$root" &&
mount -t proc proc "$root/proc" && exec chroot --userspec=65534:65534 "$root" "$@" """


def only_calls_of_4_18():
    """For Popen: later system calls are not implemented (a filter of seccomp in classic BPF)."""
    libc = ctypes.CDLL(None, use_errno=True)
    steps = [(0x20, 0, 0, 0), (0x35, 0, 1, FIRST_LATER_CALL),  # its number; at least that?
             (0x06, 0, 0, 0x50000 | errno.ENOSYS), (0x06, 0, 0, 0x7FFF0000)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, ctypes.byref(program), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no filter")


def made(folder):
    done = subprocess.run([ROOT / "scripts/make_tarball", "-o", folder, BUILD], check=True, stdout=subprocess.PIPE, text=True,
                          env=os.environ | {"SOURCE_DATE_EPOCH": "1700000000"})
    return Path(done.stdout.strip())


class InTheRoot(Daemon):
    """A gatherer whose program runs in the root, with the paths that it has outside."""

    def __init__(self, command, *flags, folder):
        super().__init__(*flags, folder=folder, insecure=False)
        shutil.chown(self.spool, NOBODY, NOBODY)
        self.in_root = command

    def command(self):
        return [*self.in_root, *super().command()[1:]]


class Tarball(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="skewscope_tarball_")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.folder.chmod(0o755)
        for name in ("one", "other", "root"):
            (cls.folder / name).mkdir()
        cls.tarballs = [made(cls.folder / name) for name in ("one", "other")]
        cls.root = cls.folder / "root"
        cls.fill_root()

    @classmethod
    def fill_root(cls):
        place = cls.root / "any folder"
        place.mkdir()
        subprocess.run(["tar", "-C", place, "-xf", cls.tarballs[0]], check=True)
        cls.top = next(place.iterdir())
        shutil.copytree(ROOT / "tests/data/real/fsdp2", cls.root / "traces" / JOB)
        cls.writable = cls.folder / "writable"
        cls.writable.mkdir()
        for path in (cls.writable, *(cls.root / "traces" / JOB).iterdir()):
            shutil.chown(path, NOBODY, NOBODY)
        for path in ("proc", str(cls.writable)[1:]):
            (cls.root / path).mkdir(parents=True)

    def command(self, root, *arguments, program="skewscope"):
        """That runs the unpacked program in a root."""
        inside = "/" + str((self.top / "bin" / program).relative_to(self.root))
        return ["unshare", "--mount", "sh", "-c", MOUNTS, "sh", str(root), str(self.writable), inside, *map(str, arguments)]

    def run_in(self, root, *arguments, expect=0, program="skewscope", **how):
        """Its output and errors."""
        done = subprocess.run(self.command(root, *arguments, program=program), capture_output=True, text=True,
                              env={"HOME": str(self.writable)}, timeout=120, **how)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def furnished(self):
        """The root with what hosts have: names, modules that nobody can load, authorities where Fedora keeps them."""
        root = self.folder / "furnished"
        subprocess.run(["cp", "-al", self.root, root], check=True)
        self_made_ca(self.writable)
        for path, content in {"etc/nsswitch.conf": "passwd: files sss\nhosts: mymachines files sss dns\n",
                              "etc/hosts": "127.0.0.1 localhost\n", "usr/lib64/libnss_sss.so.2": "no library",
                              "etc/pki/tls/certs/ca-bundle.crt": (self.writable / "ca.pem").read_text()}.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(content)
        return root

    def assert_equal_reports(self, one, other):
        """But for where they lie, and their traces."""
        def text(report, file):
            return (report / file).read_text().replace(str(report), "").replace(str(self.root), "")

        for file in ["summary.txt", *(f"tables/{table.name}" for table in (one / "tables").iterdir())]:
            self.assertEqual(text(one, file), text(other, file), file)

    def report_of_built(self):
        report = self.folder / "built"
        subprocess.run([PROGRAM, "report", self.root / "traces" / JOB, "-o", report, "--force", "-q", "--cache", "off"], check=True)
        return report

    def test_two_tarballs_of_a_build_have_equal_bytes_small_ones_and_no_owner_and_path_of_where_they_were_made(self):
        one, other = (tarball.read_bytes() for tarball in self.tarballs)
        self.assertTrue(one == other, "they differ")
        self.assertLess(len(one), MOST_BYTES)
        self.assertRegex(self.tarballs[0].name, r"^skewscope-[\d.]+-linux-x86_64\.tar\.zst$")
        plain = self.folder / "plain.tar"
        subprocess.run(["zstd", "-qd", self.tarballs[0], "-o", plain], check=True)
        with tarfile.open(plain) as opened:
            members = opened.getmembers()
        self.assertEqual({(entry.uid, entry.gid, entry.mtime) for entry in members}, {(0, 0, 1700000000)})
        self.assertEqual([entry.name for entry in members if entry.mode not in (0o644, 0o755)], [])
        texts = [file for file in self.top.rglob("*") if file.is_file() and file.read_bytes()[:4] != b"\x7fELF"]
        made_at = re.compile(re.escape(str(ROOT).encode()) + b"|/tmp/tmp")
        self.assertEqual([file.name for file in texts if made_at.search(file.read_bytes())], [])

    def test_whatever_is_carried_is_listed_with_its_licence(self):
        documents = self.top / "share/doc/skewscope"
        packages = json.loads((documents / "sbom.spdx.json").read_text())["packages"]
        names = {package["name"] for package in packages}
        self.assertEqual(len({package["SPDXID"] for package in packages}), len(packages))
        self.assertLessEqual({"skewscope", "echarts", "libc6", "libtbb12", "libcurl4", "libssl3", "libcli11-dev"}, names)
        for package in packages:
            if "licenseComments" in package:
                self.assertGreater((self.top / package["licenseComments"]).stat().st_size, 100, package["name"])
        self.assertFalse([file.name for file in self.top.rglob("lib*") if re.match("lib(munge|mpi)", file.name)])

    def test_a_report_in_the_empty_root_is_that_of_the_built_program(self):
        text = self.run_in(self.root, "report", f"/traces/{JOB}", "-o", self.writable / "report", preexec_fn=only_calls_of_4_18)
        self.assertIn(JOB, text)
        self.assert_equal_reports(self.writable / "report", self.report_of_built())
        reader = self.top / "share/skewscope/report_example.py"
        subprocess.run([sys.executable, reader, self.writable / "report"], check=True, capture_output=True)

    def test_a_link_starts_it_with_any_environment_and_it_is_called_by_its_name(self):
        (self.folder / "link").symlink_to(self.top / "bin/skewscope")
        for variables in ({}, {"LD_LIBRARY_PATH": "/nowhere:/usr/lib"}, {"LD_LIBRARY_PATH": str(self.root)}):
            text = subprocess.run([self.folder / "link", "--version"], env=variables, capture_output=True, text=True).stdout
            self.assertRegex(text, r"^skewscope \d")

    def gather_and_ship(self, root, **how):
        """The gatherer and its agent, which makes digests, over TLS with what the root knows of names and authorities. The
        report's own log."""
        keys = key_file(self.writable)
        for name in ("head.key", "head.pem", "keys"):
            shutil.chown(self.writable / name, NOBODY, NOBODY)
        token = self.run_in(root, "gather", "--token-key-file", keys, "--mint-token", "run", **how).strip()
        (self.writable / "token").write_text(token)
        (self.writable / "token").chmod(0o600)
        shutil.chown(self.writable / "token", NOBODY, NOBODY)
        shutil.rmtree(self.writable / "spool", ignore_errors=True)
        daemon = InTheRoot(self.command(root), "--token-key-file", keys, "--certificate", self.writable / "head.pem",
                           "--private-key", self.writable / "head.key", folder=self.writable).start(**how)
        try:
            daemon.context, daemon.token = trusting(self.writable), token
            name = Path(f"/proc/{daemon.process.pid}/comm").read_text()
            self.run_in(root, "ship", f"/traces/{JOB}", "--to", f"https://localhost:{daemon.port}", "--job", "run", "--digest",
                        "--once", "--settle", 0, "--give-up", 5, "--token-file", self.writable / "token", "--state",
                        self.writable / "state", **how)
            state = daemon.wait_for_job(lambda job: job["report_state"] in ("complete", "failed"))
            self.assertEqual(state["report_state"], "complete", daemon.log_text())
            self.assertEqual(name, "skewscope\n")
            return daemon.ask("GET", "/v1/jobs/run/report.log").body.decode()
        finally:
            daemon.stop()
            shutil.rmtree(self.writable / "state", ignore_errors=True)

    def test_gatherer_and_agent_work_in_it_with_the_hosts_authorities_and_names_on_old_and_new_kernels(self):
        root = self.furnished()
        self.assertIn("no Landlock", self.gather_and_ship(root, preexec_fn=only_calls_of_4_18))
        landlock = ctypes.CDLL(None).syscall(LANDLOCK_CREATE_RULESET, None, 0, 1) > 0  # the kernel's version of it
        self.assertEqual("no Landlock" in self.gather_and_ship(root), not landlock)

    def test_mpi_and_munge_are_the_hosts_and_said_to_be_missing_where_it_has_none(self):
        said = self.run_in(self.root, "report", "/traces", program="skewscope-mpi", expect=127)
        self.assertIn("libmpi.so.40", said)
        self.assertIn("-DSKEWSCOPE_MPI=ON", said)
        self_made_ca(self.writable)
        keys = key_file(self.writable)
        for file in self.writable.glob("*"):
            shutil.chown(file, NOBODY, NOBODY)
        flags = ["--token-key-file", keys, "--munge", "--server-name", "localhost", "--certificate", self.writable / "head.pem",
                 "--private-key", self.writable / "head.key", "--registry-socket", self.writable / "registry"]
        said = self.run_in(self.root, "gather", "--spool", self.writable, *flags, expect=2)
        self.assertIn("libmunge.so.2", said)

    @unittest.skipUnless(shutil.which("mpirun"), "no mpirun")
    def test_processes_of_the_hosts_mpi_write_the_report_of_one(self):
        report = self.folder / "joined"
        done = subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "orte_tmpdir_base", self.folder, "-np", "2",
                               self.top / "bin/skewscope-mpi", "report", self.root / "traces" / JOB, "-o", report], text=True,
                              capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_equal_reports(report, self.report_of_built())

    @unittest.skipUnless(ctypes.util.find_library("munge"), "no libmunge")
    def test_munge_of_the_host_is_loaded(self):
        with tempfile.TemporaryDirectory() as folder:
            self_made_ca(folder)
            daemon = Daemon("--token-key-file", key_file(folder), "--munge", "--server-name", "localhost", "--certificate",
                            f"{folder}/head.pem", "--private-key", f"{folder}/head.key", "--registry-socket",
                            f"{folder}/registry", insecure=False)
            daemon.command = lambda: [self.top / "bin/skewscope", *Daemon.command(daemon)[1:]]
            daemon.start()
            try:
                self.assertIn("/libmunge.so.2", Path(f"/proc/{daemon.process.pid}/maps").read_text())
            finally:
                daemon.stop()


if __name__ == "__main__":
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL).returncode != 0:
        print("skipped: needs root and mount namespaces")
        sys.exit(SKIPPED)
    if shutil.which("zstd") is None or not (BUILD / "src/cli/skewscope-mpi").exists():
        print("skipped: needs zstd, and a build with SKEWSCOPE_MPI=ON")
        sys.exit(SKIPPED)
    unittest.main()
