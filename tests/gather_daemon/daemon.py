"""A real `skewscope gather` on free ports with a spool of its own, and requests to it with nothing between."""
import atexit
import base64
import hashlib
import http.client
import json
import os
import select
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 and os.path.exists(sys.argv[1]) else None


def dose(ci, nightly):
    """How much of a test this run is for: SKEWSCOPE_DOSE is ci, the default, or nightly."""
    return {"ci": ci, "nightly": nightly}[os.environ.get("SKEWSCOPE_DOSE", "ci")]


def digest_of(content):
    return "sha-256=:" + base64.b64encode(hashlib.sha256(content).digest()).decode() + ":"


def checksum_of(content, algorithm="sha256"):
    return algorithm + " " + base64.b64encode(hashlib.new(algorithm, content).digest()).decode()


def metadata(job="run", rank=0, **more):
    pairs = {"job": job, "rank": str(rank), **more}
    return ",".join(f"{key} {base64.b64encode(str(value).encode()).decode()}" for key, value in pairs.items())


class Answer:
    def __init__(self, status, fields, body):
        self.status, self.fields, self.body = status, {name.lower(): value for name, value in fields}, body

    def __getitem__(self, name):
        return self.fields.get(name.lower())

    def json(self):
        return json.loads(self.body)


class Daemon:
    """Started by start(); `flags` are added to those that every test needs."""

    def __init__(self, *flags, folder=None, insecure=True):
        self.folder = Path(folder or tempfile.mkdtemp(prefix="skewscope_gather_"))
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        self.spool = self.folder / "spool"
        self.spool.mkdir(exist_ok=True)
        self.flags = [str(flag) for flag in flags] + (["--insecure-local"] if insecure else [])
        self.process, self.context, self.token = None, None, None
        self.name = None  # that requests ask for, where it has a --server-name
        self.listen, self.admin = "127.0.0.1:0", "127.0.0.1:0"

    def command(self):
        return [PROGRAM, "gather", "--spool", self.spool, "--listen", self.listen, "--admin", self.admin, *self.flags]

    def start(self, **more):
        """`more`: for Popen."""
        self.log = open(self.folder / "log", "a")
        begin = time.monotonic()
        self.process = subprocess.Popen(self.command(), stdout=subprocess.PIPE, stderr=self.log, text=True, **more)
        self.line = self.process.stdout.readline()
        self.seconds_to_ready = time.monotonic() - begin
        if "ready on" not in self.line:
            raise AssertionError(f"not ready: {self.line!r}; {self.log_text()}")
        self.url = self.line.split("ready on ")[1].split()[0]
        self.host, port = self.url.split("//")[1].rsplit(":", 1)
        self.port = int(port)
        ready = [line for line in self.log_lines() if line.get("event") == "ready"][-1]
        self.admin_port = int(ready["admin"].rsplit(":", 1)[1])
        return self

    def ended(self):
        return self.process.poll() is not None

    def log_text(self):
        return (self.folder / "log").read_text()

    def log_lines(self):
        return [json.loads(line) for line in self.log_text().splitlines() if line.startswith("{")]

    def stop(self, number=signal.SIGTERM, within=12):
        """The exit code."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(within)
        self.process.stdout.close()
        self.log.close()
        return code

    def check(self):
        """The exit code and text of --check; 1, too, where more is to be done than a report whose making was cut short."""
        done = subprocess.run([PROGRAM, "gather", "--spool", self.spool, "--check"], capture_output=True, text=True)
        more = [line for line in done.stdout.splitlines() if line.startswith("to be done: ") and "was being made" not in line]
        return done.returncode or int(bool(more)), done.stdout + done.stderr

    def connect(self, timeout=20):
        sock = socket.create_connection((self.host, self.port), timeout)
        return self.context.wrap_socket(sock, server_hostname="localhost") if self.context else sock

    def ask(self, method, path, body=None, admin=False, token=None, **fields):
        """Field names with _ for -. A body is sent with its Content-Length and without Expect."""
        at = ("127.0.0.1", self.admin_port) if admin else (self.host, self.port)
        connection = http.client.HTTPConnection(*at, timeout=20)
        if not admin:
            connection.sock = self.connect()
        token = token or self.token
        headers = {name.replace("_", "-"): str(value) for name, value in fields.items()}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if self.name:
            headers.setdefault("Host", self.name)
        if "uploads" in path:
            headers.setdefault("Tus-Resumable", "1.0.0")
        try:
            connection.request(method, path, body=body, headers=headers)
            got = connection.getresponse()
            return Answer(got.status, got.getheaders(), got.read())
        finally:
            connection.close()

    def create(self, length, job="run", rank=0, body=None, token=None, fields=None, **more):
        if body is not None:
            fields = {"Content_Type": "application/offset+octet-stream", **(fields or {})}
        return self.ask("POST", "/v1/uploads", body=body, token=token, Upload_Metadata=metadata(job, rank, **more),
                        **({"Upload_Length": length} if length is not None else {"Upload_Defer_Length": 1}), **(fields or {}))

    def patch(self, path, offset, body, token=None, **fields):
        return self.ask("PATCH", path, body=body, token=token, Upload_Offset=offset,
                        Content_Type="application/offset+octet-stream", **fields)

    def put(self, content, job="run", rank=0, token=None, query="", **fields):
        return self.ask("PUT", f"/v1/jobs/{job}/ranks/{rank}{query}", body=content, token=token, **fields)

    def job(self, job="run", token=None):
        return self.ask("GET", f"/v1/jobs/{job}", token=token).json()

    def wait_for_job(self, holds, job="run", seconds=30, token=None):
        """The state of a job once it is there and as awaited; what the gatherer said last where that takes too long."""
        end = time.monotonic() + seconds
        while True:
            answer = self.ask("GET", f"/v1/jobs/{job}", token=token)
            if (answer.status == 200 and holds(answer.json())) or time.monotonic() > end:
                return answer.json()
            time.sleep(0.05)

    def stored(self):
        """Bytes of whole files in the spool, by path below jobs/."""
        root = self.spool / "jobs"
        return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("ranks/*/*") if path.is_file()}

    def curl(self, *arguments, timeout=30):
        """Exit code and text, the status in the last line."""
        done = subprocess.run(["curl", "-sS", "-o", "-", "-w", "\n%{http_code}", *map(str, arguments)],
                              capture_output=True, text=True, timeout=timeout)
        return done.returncode, done.stdout + done.stderr


class DaemonTest(unittest.TestCase):
    """One daemon for all tests of a class."""
    flags, insecure = (), True

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(*cls.flags, insecure=cls.insecure).start()

    @classmethod
    def tearDownClass(cls):
        cls.daemon.stop()
        code, text = cls.daemon.check()
        if code != 0:
            raise AssertionError(f"--check: {text}")

    def raw(self, text, body=b"", wait=5):
        """What comes back for these bytes until the connection is closed, or nothing more comes for a while."""
        with self.daemon.connect() as sock:
            sock.sendall(text.encode("latin-1") + body)
            return received(sock, wait)


def received(sock, wait=5):
    got = b""
    while select.select([sock], [], [], wait)[0]:
        piece = sock.recv(65536)
        if not piece:
            break
        got += piece
    return got


def self_made_ca(folder):
    """ca.pem, and head.pem, head.key for localhost, node.pem, node.key for a client."""
    def openssl(*arguments):
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)

    folder = Path(folder)
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    openssl("req", "-x509", *key, "-days", 2, "-subj", "/CN=test-ca", "-keyout", folder / "ca.key", "-out", folder / "ca.pem")
    for name, san in (("head", "DNS:localhost,IP:127.0.0.1"), ("node", "DNS:node17")):
        openssl("req", *key, "-subj", f"/CN={name}", "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.csr")
        (folder / "san").write_text(f"subjectAltName={san}")
        openssl("x509", "-req", "-in", folder / f"{name}.csr", "-CA", folder / "ca.pem", "-CAkey", folder / "ca.key",
                "-CAcreateserial", "-days", 2, "-extfile", folder / "san", "-out", folder / f"{name}.pem")


def trusting(folder, node=False):
    context = ssl.create_default_context(cafile=str(Path(folder) / "ca.pem"))
    if node:
        context.load_cert_chain(Path(folder) / "node.pem", Path(folder) / "node.key")
    return context


def key_file(folder):
    path = Path(folder) / "keys"
    path.write_text(os.urandom(32).hex() + "\n")
    path.chmod(0o600)
    return path


def minted(keys, job, *flags):
    return subprocess.run([PROGRAM, "gather", "--token-key-file", keys, "--mint-token", job, *map(str, flags)],
                          capture_output=True, text=True, check=True).stdout.strip()
