"""A machine to install on: all files of this one, in an overlay whose changes are in memory, with processes, mounts and a
network (loopback alone) of its own. It takes no download and no time to make, and it is gone with its first process. Needs root.
Arguments of each test that imports this: SKEWSCOPE BUILD."""
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gather_daemon"))
from daemon import PROGRAM, self_made_ca  # noqa: E402

BUILD = Path(sys.argv.pop(1))
SKIPPED = 77
UNIT = "usr/lib/systemd/system/skewscope-gather.service"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MOUNTS = """mount -t tmpfs -o mode=755 changes {folder} && cd {folder} && mkdir upper work root &&
mount -t overlay -o lowerdir=/,upperdir=upper,workdir=work overlay root && mount -t proc proc root/proc &&
mount --rbind /dev root/dev && mount -t tmpfs -o mode=755 run root/run && mount -t tmpfs -o mode=1777 tmp root/tmp &&
ip link set lo up && echo up && exec sleep infinity"""
# What images for containers leave out is here as on a head node: pages of the manual, starting of services.
OF_IMAGES = ("etc/dpkg/dpkg.cfg.d/docker", "usr/sbin/policy-rc.d")
# Stands in for systemd's: notes what it is asked, and has Services do it.
SYSTEMCTL = """#!/bin/sh
echo "$*" >/run/systemd/asked.$$ && mv /run/systemd/asked.$$ /run/systemd/asked
while [ -e /run/systemd/asked ]; do sleep 0.02; done
"""


def child_of(process):
    """The process that unshare or nsenter started, as this machine numbers it."""
    return Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0]


class Root:
    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="skewscope_root_"))
        self.first = subprocess.Popen(["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "sh", "-c",
                                       MOUNTS.format(folder=self.folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if self.first.stdout.readline() != b"up\n":
            self.folder.rmdir()
            raise OSError(self.first.stderr.read().decode())
        self.pid = child_of(self.first)
        self.path = Path(f"/proc/{self.pid}/root{self.folder}/root")
        self.changes = Path(f"/proc/{self.pid}/root{self.folder}/upper")
        for file in OF_IMAGES:
            (self.path / file).unlink(missing_ok=True)

    def start(self, *command, **how):
        inside = ["nsenter", "-t", self.pid, "--mount", "--net", "--pid", "chroot", f"{self.folder}/root"]
        environment = {"PATH": PATH, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
        return subprocess.Popen([*inside, *map(str, command)], env=environment, **how)

    def run(self, *command, **how):
        """What it says; an error is raised with it."""
        process = self.start(*command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, **how)
        said = process.communicate()[0]
        if process.returncode != 0:
            raise AssertionError(f"{' '.join(map(str, command))}: exit code {process.returncode}\n{said}")
        return said

    def changed(self):
        """Files that are not as on this machine, gone ones, too; paths without the first slash."""
        return {str(path.relative_to(self.changes)) for path in self.changes.rglob("*") if not path.is_dir()}

    def end(self):
        self.first.kill()
        self.first.communicate()
        self.folder.rmdir()


def make_package(folder):
    """The .deb that cpack makes of BUILD."""
    subprocess.run(["cpack", "--config", BUILD / "CPackConfig.cmake", "-B", folder], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return next(Path(folder).glob("*.deb"))


def settle(root):
    """Settings of a site in place of those of the package: its name, its certificate and keys. The token of the job `run`."""
    etc = root.path / "etc/skewscope"
    self_made_ca(etc)
    (etc / "token-keys").write_text(os.urandom(32).hex() + "\n")
    for file in ("head.key", "token-keys"):
        root.run("chown", "skewscope:", f"/etc/skewscope/{file}")
        (etc / file).chmod(0o600)
    settings = etc / "gather.toml"
    settings.write_text(settings.read_text().replace("head.example", "localhost").replace('"slurm" ', '"root"  '))
    token = root.run("setpriv", "--reuid", "skewscope", "--regid", "skewscope", "--clear-groups", "skewscope", "gather",
                     "--token-key-file", "/etc/skewscope/token-keys", "--mint-token", "run")
    (root.path / "tmp/token").write_text(token)
    (root.path / "tmp/token").chmod(0o600)


SHIP = ("skewscope", "ship", "/traces", "--to", "https://localhost:7475", "--ca", "/etc/skewscope/ca.pem", "--job", "run",
        "--token-file", "/tmp/token", "--once")


class Services:
    """In place of systemd, which needs a machine: starts the gatherer as its unit says, and stops and restarts it when
    systemctl is asked to."""

    def __init__(self, root):
        self.root, self.daemon, self.asked, self.starts = root, None, [], 0
        self.log = tempfile.NamedTemporaryFile("w", prefix="skewscope_log_")
        for folder in ("run/systemd/system", "usr/local/sbin"):
            (root.path / folder).mkdir(parents=True, exist_ok=True)
        systemctl = root.path / "usr/local/sbin/systemctl"
        systemctl.write_text(SYSTEMCTL)
        systemctl.chmod(0o755)
        threading.Thread(target=self.answer, daemon=True).start()

    def answer(self):
        asked = self.root.path / "run/systemd/asked"
        while self.root.first.poll() is None:
            if asked.exists():
                try:
                    self.do(asked.read_text().strip())
                finally:
                    asked.unlink()  # whoever asked waits for it
            time.sleep(0.01)

    def do(self, words):
        self.asked.append(words)
        if self.daemon is not None and "skewscope-gather.service" in words:
            self.stop()
            if "try-restart" in words:
                self.start()

    def value(self, key):
        return re.search(rf"^{key}=(.*)$", (self.root.path / UNIT).read_text(), re.MULTILINE)[1]

    def start(self):
        user, group = self.value("User"), self.value("Group")
        for key, base in (("StateDirectory", "/var/lib"), ("RuntimeDirectory", "/run")):
            folder = f"{base}/{self.value(key)}"
            self.root.run("install", "-d", "-m", self.value(f"{key}Mode"), "-o", user, "-g", group, folder)
        self.daemon = self.root.start("setpriv", "--reuid", user, "--regid", group, "--clear-groups", "sh", "-c",
                                      f"umask {self.value('UMask')}; exec {self.value('ExecStart')}",
                                      stdout=subprocess.PIPE, stderr=self.log, text=True)
        said = self.daemon.stdout.readline()
        if "ready on" not in said:
            raise AssertionError(f"not ready: {said}{Path(self.log.name).read_text()}")
        self.starts += 1

    def user(self):
        """Whose process the gatherer is, by name."""
        uid = Path(f"/proc/{child_of(self.daemon)}/status").read_text().split("Uid:")[1].split()[0]
        return self.root.run("getent", "passwd", uid).split(":")[0]

    def stop(self):
        os.kill(int(child_of(self.daemon)), signal.SIGTERM)
        self.daemon.wait(12)
        self.daemon.stdout.close()
        self.daemon = None


def main(run):
    """Runs the tests, or says why not: in a container that may make none, and without root."""
    try:
        Root().end()
    except OSError as error:
        print(f"skipped: no root of its own can be made here: {error}")
        sys.exit(SKIPPED)
    run()
