#!/usr/bin/env python3
"""kill -9 at random moments under load, and a history of what was promised.

Agents write down every acknowledgement. After each kill the daemon must be ready within 5 s and know at least what it
acknowledged; at the end every acknowledged file is there once with its digest, nothing is there that nobody sent, an
intruder without a valid token left no byte, and --check finds nothing. A kill under less than 50 requests/s and
20 MiB/s proves nothing: it does not count, and too few that count fail the run.
usage: kill.py SKEWSCOPE [KILLS [SEED]]     10 kills; 1,000 with SKEWSCOPE_DOSE=nightly"""
import http.client
import os
import random
import shutil
import socket
import sys
import tempfile
import threading
import time

from daemon import Daemon, checksum_of, digest_of, dose, key_file, metadata, minted

AGENTS, LEAST_REQUESTS, LEAST_BYTES, LONGEST_START = 8, 50, 20 << 20, 5
KILLS_OF_A_SPOOL = 40
MARK = b"INTRUDER-WAS-HERE-" * 8


class History:
    def __init__(self, seed):
        self.lock = threading.Lock()
        self.random = random.Random(seed)
        self.next_rank, self.requests, self.bytes = 0, 0, 0
        self.sent, self.complete = {}, {}  # rank: digest
        self.problems = []
        self.over = threading.Event()

    def say(self, problem):
        with self.lock:
            self.problems.append(problem)

    def new_file(self):
        with self.lock:
            rank, self.next_rank = self.next_rank, self.next_rank + 1
            size = self.random.choice((10_000, 200_000, 1_000_000, 3_000_000))
            content = self.random.randbytes(1000) * (size // 1000) + rank.to_bytes(8, "big")
            self.sent[rank] = digest_of(content)
            return rank, content, self.random.random()

    def acknowledged(self, rank, digest):
        with self.lock:
            if digest != self.sent[rank]:
                self.problems.append(f"rank {rank} was acknowledged with another digest")
            self.complete[rank] = digest

    def counted(self, sent_bytes):
        with self.lock:
            self.requests += 1
            self.bytes += sent_bytes


class Agent(threading.Thread):
    def __init__(self, daemon, history, token):
        super().__init__(daemon=True)
        self.to, self.history, self.token, self.connection = daemon, history, token, None

    def ask(self, method, path, body=None, **fields):
        """None: the connection broke; what was promised before still holds."""
        headers = {"Tus-Resumable": "1.0.0", "Authorization": f"Bearer {self.token}",
                   **{name.replace("_", "-"): str(value) for name, value in fields.items()}}
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection(self.to.host, self.to.port, timeout=20)
            self.connection.request(method, path, body=body, headers=headers)
            answer = self.connection.getresponse()
            answer.read()
            self.history.counted(len(body or b""))
            if answer.status >= 500:
                time.sleep(0.05)
                return None
            return answer
        except (OSError, http.client.HTTPException):
            self.connection.close()
            self.connection = None
            time.sleep(0.02)
            return None

    def run(self):
        while not self.history.over.is_set():
            rank, content, chance = self.history.new_file()
            try:
                self.put(rank, content) if chance < 0.3 else self.tus(rank, content, chance)
            except Exception as error:  # noqa: BLE001: a thread that dies unseen would be a passed test
                self.history.say(f"rank {rank}: {error!r}")

    def put(self, rank, content):
        while not self.history.over.is_set():
            answer = self.ask("PUT", f"/v1/jobs/load/ranks/{rank}", content, Repr_Digest=digest_of(content))
            if answer is not None:
                if answer.status not in (201, 204):
                    return self.history.say(f"PUT of rank {rank}: {answer.status}")
                return self.history.acknowledged(rank, answer.getheader("Repr-Digest"))

    def tus(self, rank, content, chance):
        path, acked, offset = None, 0, 0
        while not self.history.over.is_set():
            if path is None:
                answer = self.ask("POST", "/v1/uploads", b"", Upload_Length=len(content), Upload_Metadata=metadata("load", rank))
                if answer is not None and answer.status == 201:
                    path = answer.getheader("Location")
                elif answer is not None:
                    return self.history.say(f"POST of rank {rank}: {answer.status}")
                continue
            if offset is None:
                answer = self.ask("HEAD", path)
                if answer is None:
                    continue
                if answer.status != 200 or int(answer.getheader("Upload-Offset")) < acked:
                    return self.history.say(f"rank {rank}: {acked} were acknowledged, HEAD says {answer.status} "
                                            f"{answer.getheader('Upload-Offset')}")
                if answer.getheader("Repr-Digest"):
                    return self.history.acknowledged(rank, answer.getheader("Repr-Digest"))
                offset = int(answer.getheader("Upload-Offset"))
            piece = content[offset:offset + 400_000]
            checksum = {"Upload_Checksum": checksum_of(piece)} if chance > 0.7 else {}
            answer = self.ask("PATCH", path, piece, Upload_Offset=offset, Content_Type="application/offset+octet-stream", **checksum)
            if answer is None or answer.status == 409:
                offset = None
            elif answer.status != 204:
                return self.history.say(f"PATCH of rank {rank} at {offset}: {answer.status}")
            else:
                acked = offset = int(answer.getheader("Upload-Offset"))
                if answer.getheader("Repr-Digest"):
                    return self.history.acknowledged(rank, answer.getheader("Repr-Digest"))


def intrude(daemon, history, token):
    """All that a stranger could try, over and over; every answer that is none of a refusal is a problem."""
    while not history.over.wait(0.1):
        for head in (f"PUT /v1/jobs/load/ranks/77777 HTTP/1.1\r\nAuthorization: Bearer {token}x",
                     "PUT /v1/jobs/load/ranks/77777 HTTP/1.1",
                     f"POST /v1/uploads HTTP/1.1\r\nTus-Resumable: 1.0.0\r\nUpload-Length: {len(MARK)}\r\nUpload-Metadata: "
                     f"{metadata('load', 77777)}\r\nContent-Type: application/offset+octet-stream\r\nAuthorization: Bearer ss1.a.b"):
            try:
                with socket.create_connection((daemon.host, daemon.port), 5) as sock:
                    sock.sendall(f"{head}\r\nHost: localhost\r\nContent-Length: {len(MARK)}\r\n\r\n".encode() + MARK)
                    got = sock.recv(100)
                    if got and got.split()[1] not in (b"401", b"429", b"503"):
                        history.say(f"an intruder got {got!r}")
            except OSError:
                pass


def start_again(daemon, history):
    daemon.start()
    if daemon.seconds_to_ready > LONGEST_START:
        history.say(f"ready only after {daemon.seconds_to_ready:.1f} s")


def kill_once(daemon, history, choose):
    """Whether the load before the kill was enough for it to count."""
    with history.lock:
        history.requests = history.bytes = 0
    begin = time.monotonic()
    time.sleep(choose.uniform(0.3, 1.3))
    seconds = time.monotonic() - begin
    enough = history.requests / seconds >= LEAST_REQUESTS or history.bytes / seconds >= LEAST_BYTES
    daemon.process.kill()
    daemon.stop()
    start_again(daemon, history)
    if choose.random() < 0.2:  # and once more while the uploads are being taken up again
        daemon.process.kill()
        daemon.stop()
        start_again(daemon, history)
    return enough


def verify(daemon, history, reader):
    for rank, digest in sorted(history.complete.items()):
        answer = daemon.ask("GET", f"/v1/jobs/load/ranks/{rank}", token=reader)
        if answer.status != 200 or digest_of(answer.body) != digest:
            history.say(f"rank {rank} was acknowledged, GET says {answer.status}")
    metrics = daemon.ask("GET", "/metrics", admin=True).body.decode()
    if "skewscope_gather_lost_files_total 0" not in metrics:
        history.say("files were lost")
    descriptors = len(os.listdir(f"/proc/{daemon.process.pid}/fd"))
    if descriptors > 100:
        history.say(f"{descriptors} descriptors are open")
    daemon.stop()
    code, text = daemon.check()
    if code != 0:
        history.say(f"--check: {text}")
    names = [name for name in daemon.stored() if "/ranks/" in name]
    if len(names) != len({name.split("/")[-1].split(".")[0] for name in names}):
        history.say("a rank is stored twice")
    known = set(history.sent.values())
    history.problems += [f"{name} was never sent" for name, content in daemon.stored().items() if digest_of(content) not in known]
    for path in daemon.spool.rglob("*"):
        if path.is_file() and MARK[:18] in path.read_bytes():
            history.say(f"the intruder's bytes are in {path.name}")


def kill_on_one_spool(kills, seed):
    """Problems, one sentence each."""
    folder = tempfile.mkdtemp(prefix="skewscope_kill_")
    keys = key_file(folder)
    token = minted(keys, "load")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    daemon = Daemon("--token-key-file", keys, folder=folder, insecure=False)
    daemon.listen = f"127.0.0.1:{port}"
    daemon.start()
    # A job may have twice as many open uploads as ranks, and a kill leaves those behind whose answer was lost.
    daemon.ask("PUT", "/v1/jobs/load", body=b'{"world_size": 100000}', token=token)
    history, choose = History(seed), random.Random(seed + 1)
    threads = [Agent(daemon, history, token) for _ in range(AGENTS)]
    threads.append(threading.Thread(target=intrude, args=(daemon, history, token), daemon=True))
    for thread in threads:
        thread.start()
    counted = tried = 0
    while counted < kills and tried < 2 * kills and not history.problems:
        counted += kill_once(daemon, history, choose)
        tried += 1
    history.over.set()
    for thread in threads:
        thread.join(30)
    daemon_token = minted(keys, "load", "--scopes", "read")
    verify(daemon, history, daemon_token)
    print(f"{counted} of {tried} kills under enough load; {len(history.complete)} of {len(history.sent)} files acknowledged", flush=True)
    if counted < kills:
        history.problems.append("invalid run: too little load")
    if not history.problems:
        shutil.rmtree(folder)
    return history.problems


def main(kills, seed):
    """On spools of KILLS_OF_A_SPOOL each: what they store is some gigabytes."""
    print(f"seed {seed}, {kills} kills", flush=True)
    problems = []
    for first in range(0, kills, KILLS_OF_A_SPOOL):
        problems = problems or kill_on_one_spool(min(KILLS_OF_A_SPOOL, kills - first), seed + first)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else dose(10, 1000),
                  int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(10**6)))
