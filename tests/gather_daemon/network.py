#!/usr/bin/env python3
"""Cut, lossy, slow and half-open networks between the real daemon, real agents and clients, each in a network namespace.

A history of promises is kept as in kill.py. After each cut every client is served again within 15 s; at the end every
acknowledged file is there once with its digest, every trace was shipped, and --check finds nothing. A connection that
went dead silently gives way within 5 s to one that asks for the offset, which then holds. No offset is refused again and
again, and a cut makes an agent send at most 64 MiB again. A cut under less than 50 requests/s and 20 MiB/s proves
nothing: it does not count, and too few that count fail the run.
usage: network.py SKEWSCOPE [CUTS [SEED]]     20 cuts; 300 with SKEWSCOPE_DOSE=nightly"""
import http.client
import json
import os
import random
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import links
from alone import alone
from daemon import PROGRAM, Daemon, digest_of, dose, key_file, metadata, minted, received
from kill import LEAST_BYTES, LEAST_REQUESTS, Agent, History

CLIENTS, PATIENCE, LONGEST_EVICTION, MOST_AGAIN, MOST_CONFLICTS = 4, 15, 5, 64 << 20, 3
MOST_ON_A_SITE = 50  # cuts: some 12 GB are stored meanwhile
PORT, JOB = 7475, "load"


def trace(rank, size, seed):
    """Kineto's text, of letters that do not compress well."""
    event = {"ph": "X", "cat": "kernel", "name": random.Random(seed).randbytes(size // 2).hex(), "pid": 0, "tid": 7, "ts": 1.0,
             "dur": 2.0, "args": {"device": 0, "stream": 7, "correlation": 1}}
    return json.dumps({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 100000},
                       "traceEvents": [event], "traceName": "trace.json"}).encode()


class Client(Agent):
    """On a node, over TLS, and impatient."""

    def __init__(self, site, link, timeout=1.5):
        super().__init__(site.daemon, site.history, site.token)
        self.site, self.link, self.timeout, self.answers, self.conflicts = site, link, timeout, 0, 0

    def run(self):
        self.link.node.enter()
        super().run()

    def connect(self):
        sock = socket.create_connection((links.HEAD, PORT), self.timeout)
        connection = http.client.HTTPConnection(links.HEAD, PORT, timeout=self.timeout)
        connection.sock = self.site.context.wrap_socket(sock, server_hostname="localhost")
        return connection

    def ask(self, method, path, body=None, **fields):
        headers = {"Tus-Resumable": "1.0.0", "Authorization": f"Bearer {self.token}",
                   **{name.replace("_", "-"): str(value) for name, value in fields.items()}}
        try:
            self.connection = self.connection or self.connect()
            self.connection.request(method, path, body=body, headers=headers)
            answer = self.connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            if self.connection:
                self.connection.close()
            self.connection = None
            time.sleep(0.02)
            return None
        self.history.counted(len(body or b""))
        if answer.status in (408, 429) or answer.status >= 500:
            self.connection.close()
            self.connection = None
            time.sleep(0.05)
            return None
        self.answers += 1
        if method == "PATCH":
            self.conflicts = self.conflicts + 1 if answer.status == 409 else 0
            if self.conflicts > MOST_CONFLICTS:
                self.history.say(f"{self.conflicts} offsets in a row were told and then refused")
        return answer


class Site:
    """The daemon at the head, links to nodes, tokens and certificates."""

    def __init__(self, folder, seed):
        self.folder, self.links, self.history = folder, links.Links(2), History(seed)
        self.make_certificate()
        self.context = ssl.create_default_context(cafile=str(folder / "head.pem"))
        self.keys = key_file(folder)
        self.token = minted(self.keys, JOB)
        self.token_file = folder / "token"
        self.token_file.write_text(self.token)
        self.token_file.chmod(0o600)
        self.daemon = Daemon("--token-key-file", self.keys, "--certificate", folder / "head.pem", "--private-key", folder / "head.key",
                             folder=folder, insecure=False)
        self.daemon.listen, self.daemon.context = f"{links.HEAD}:{PORT}", self.context
        self.at_head(self.daemon.start)
        # A job may have twice as many open uploads as ranks, and a cut leaves those behind whose answer was lost.
        self.at_head(self.daemon.ask, "PUT", "/v1/jobs/load", body=b'{"world_size": 100000}', token=self.token)

    def make_certificate(self):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                        "-subj", "/CN=head", "-addext", f"subjectAltName=DNS:localhost,IP:{links.HEAD}", "-keyout",
                        self.folder / "head.key", "-out", self.folder / "head.pem"], check=True, capture_output=True)

    def at_head(self, call, *arguments, **more):
        return self.links.head.call(call, *arguments, **more)

    def metric(self, name, label=""):
        text = self.at_head(self.daemon.ask, "GET", "/metrics", admin=True).body.decode()
        return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name) and label in line)

    def new_rank(self, content_of):
        """Its rank, in the history."""
        with self.history.lock:
            rank, self.history.next_rank = self.history.next_rank, self.history.next_rank + 1
        content = content_of(rank)
        self.history.sent[rank] = digest_of(content)
        return rank, content

    def ship(self, folder, *flags):
        command = [PROGRAM, "ship", folder, "--to", f"https://{links.HEAD}:{PORT}", "--job", JOB, "--ca", self.folder / "head.pem",
                   "--token-file", self.token_file, "--no-compress", "--settle", "0", "--timeout", "4", *flags]
        log = open(self.folder / "ship.log", "a")
        return self.links.all[-1].node.call(subprocess.Popen, [*map(str, command)], stdout=log, stderr=log)


class Shipping(threading.Thread):
    """An agent that watches a folder, in which there is always a new trace. What it deletes was acknowledged."""

    def __init__(self, site):
        super().__init__()
        self.site, self.folder, self.waiting = site, site.folder / "traces", {}
        self.folder.mkdir()
        self.agent = site.ship(self.folder, "--rescan", 1, "--delete-source", "--rate", 20 << 20)

    def run(self):
        while not self.site.history.over.wait(0.1):
            self.note_what_is_gone()
            while len(self.waiting) < 2:
                rank, content = self.site.new_rank(lambda rank: trace(rank, 4 << 20, rank))
                path = self.folder / f"rank{rank}.json"
                path.with_suffix(".tmp").write_bytes(content)
                os.rename(path.with_suffix(".tmp"), path)
                self.waiting[path] = rank

    def note_what_is_gone(self):
        for path, rank in list(self.waiting.items()):
            if not path.exists():
                self.site.history.acknowledged(rank, self.site.history.sent[rank])
                del self.waiting[path]

    def end(self, seconds=90):
        """All is shipped."""
        end = time.monotonic() + seconds
        while self.waiting and time.monotonic() < end:
            time.sleep(0.1)
            self.note_what_is_gone()
        for path in self.waiting:
            self.site.history.say(f"{path.name} was not shipped {seconds} s after the last cut")
        self.stop()

    def stop(self):
        self.agent.terminate()
        self.agent.wait()


CUTS = {"down": ("down", {}), "one way to the head": ("lose", {"to_node": False}), "one way to the nodes": ("lose", {"to_head": False}),
        "reset": ("reset", {}), "loss of 1 %": ("lose", {"percent": 1}), "loss of 5 %": ("lose", {"percent": 5}),
        "loss of 20 %": ("lose", {"percent": 20}), "1 Mbit/s": ("narrow", {}), "200 ± 50 ms": ("delay", {})}


def cut_once(site, clients, name, seconds):
    """Whether the load before it was enough for it to count, and how long until all clients were served again."""
    history = site.history
    with history.lock:
        history.requests = history.bytes = 0
    time.sleep(0.8)
    enough = history.requests / 0.8 >= LEAST_REQUESTS or history.bytes / 0.8 >= LEAST_BYTES
    if name == "half-open":
        site.links.all[0].node.call(half_open, site)
    else:
        cut, how = CUTS[name]
        heal = site.links.on_all(cut, **how)
        time.sleep(seconds)
        heal()
    say(f"{name} for {seconds:.2f} s, {history.requests} requests and {history.bytes >> 20} MiB before")
    before, begin = [client.answers for client in clients], time.monotonic()
    while time.monotonic() - begin < PATIENCE and any(c.answers == b for c, b in zip(clients, before)):
        time.sleep(0.02)
    again = time.monotonic() - begin
    if again >= PATIENCE:
        history.say(f"{name} for {seconds:.1f} s: not every client was served again within {PATIENCE} s")
    return enough, again


def half_open(site):
    """In the middle of a PATCH its connection goes dead; neither end is told."""
    rank, content = site.new_rank(lambda rank: rank.to_bytes(8, "big") * 500_000)
    old, fresh = Client(site, site.links.all[0], 10), Client(site, site.links.all[0], 10)
    path = fresh.ask("POST", "/v1/uploads", b"", Upload_Length=len(content), Upload_Metadata=metadata(JOB, rank)).getheader("Location")
    sock = old.connect().sock
    sock.sendall(head_of("PATCH", path, site.token, len(content), Upload_Offset=0, Content_Type="application/offset+octet-stream"))
    sock.sendall(content[:1_500_000])
    heal = site.links.all[0].lose_port(sock.getsockname()[1])
    begin = time.monotonic()
    try:
        answer = fresh.ask("HEAD", path)
        offset = int(answer.getheader("Upload-Offset"))
        answer = fresh.ask("PATCH", path, content[offset:], Upload_Offset=offset, Content_Type="application/offset+octet-stream")
        seconds = time.monotonic() - begin
        if answer.status != 204 or seconds > LONGEST_EVICTION:
            site.history.say(f"a PATCH in place of a dead one at {offset}: {answer.status} after {seconds:.1f} s")
        else:
            site.history.acknowledged(rank, answer.getheader("Repr-Digest"))
        site.evictions.append(seconds)
    finally:
        heal()
        sock.close()


def head_of(method, path, token, length, **fields):
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {token}", "Tus-Resumable: 1.0.0",
             f"Content-Length: {length}"] + [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def break_at_every_boundary(site, step):
    """A request that ends, by reset, after each of its bytes; then one that comes byte by byte."""
    client = Client(site, site.links.all[0], 10)
    rank, content = site.new_rank(lambda rank: b"%06d" % rank * 40)
    path = client.ask("POST", "/v1/uploads", b"", Upload_Length=len(content), Upload_Metadata=metadata(JOB, rank)).getheader("Location")
    offset = 0

    def request():
        return head_of("PATCH", path, site.token, len(content) - offset, Upload_Offset=offset,
                       Content_Type="application/offset+octet-stream") + content[offset:]

    at = 0
    while at < len(request()) - 1:
        sock = client.connect().sock
        sock.sendall(request()[:at])
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.close()
        told = int(client.ask("HEAD", path).getheader("Upload-Offset"))
        if not offset <= told <= offset + max(0, at - (len(request()) - len(content) + offset)):
            site.history.say(f"broken off after byte {at}: {offset} became {told}")
        at, offset = at + step - (told - offset), told
    sock = client.connect().sock
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in request():
        sock.sendall(bytes([byte]))
    answer = received(sock, 5)
    if b"204 No Content" not in answer or site.history.sent[rank].encode() not in answer:
        site.history.say(f"a request byte by byte was answered {answer!r}")
    else:
        site.history.acknowledged(rank, site.history.sent[rank])
    sock.close()


def ship_through_a_cut(site, name, share):
    """Two large traces at once, one cut when this share is there: how many bytes the head received more than they have."""
    folder = Path(tempfile.mkdtemp(dir=site.folder))
    size = 0
    ranks = []
    for _ in range(2):
        rank, content = site.new_rank(lambda rank: trace(rank, 80 << 20, rank))
        (folder / f"rank{rank}.json").write_bytes(content)
        ranks.append(rank)
        size += len(content)
    before = site.metric("skewscope_gather_received_bytes_total")
    agent = site.ship(folder, "--once", "--rate", 30 << 20)
    cut_at = before + share * size
    end = time.monotonic() + 120
    while site.metric("skewscope_gather_received_bytes_total") < cut_at and time.monotonic() < end:
        time.sleep(0.01)
    cut, how = CUTS[name]
    heal = site.links.on_all(cut, **how)
    time.sleep(0 if name == "reset" else 8)
    heal()
    try:
        code = agent.wait(max(1, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        agent.kill()
        code = "none after 120 s"
        agent.wait()
    if code != 0:
        return site.history.say(f"ship through '{name}': exit code {code}")
    for rank in ranks:
        site.history.acknowledged(rank, site.history.sent[rank])
    again = site.metric("skewscope_gather_received_bytes_total") - before - size
    say(f"ship through '{name}': {again / (1 << 20):.1f} MiB were sent again")
    if again > MOST_AGAIN:
        site.history.say(f"ship through '{name}': {again / (1 << 20):.1f} MiB were sent again")


def verify(site):
    """All that was acknowledged is there once, nothing else is, and --check agrees."""
    history, daemon = site.history, site.daemon
    if site.metric("skewscope_gather_lost_files_total") != 0:
        history.say("files were lost")
    reader = minted(site.keys, JOB, "--scopes", "read")
    for rank in random.Random(0).sample(sorted(history.complete), min(20, len(history.complete))):
        answer = site.at_head(daemon.ask, "GET", f"/v1/jobs/{JOB}/ranks/{rank}", token=reader)
        if answer.status != 200 or digest_of(answer.body) != history.complete[rank]:
            history.say(f"rank {rank} was acknowledged, GET says {answer.status}")
    daemon.stop()
    code, text = daemon.check()
    if code != 0:
        history.say(f"--check: {text}")
    stored = {}
    for path in (daemon.spool / "jobs" / JOB / "ranks").glob("*/*"):
        rank = int(path.name[1:].split(".")[0])
        if rank in stored:
            history.say(f"rank {rank} is stored twice")
        stored[rank] = digest_of(path.read_bytes())
    for rank, digest in history.complete.items():
        if stored.get(rank) != digest:
            history.say(f"rank {rank} was acknowledged, is " + ("wrong" if rank in stored else "not there"))
    history.problems += [f"rank {rank} was never sent" for rank in stored if stored[rank] != history.sent.get(rank)]


def cut_again_and_again(site, cuts, choose):
    history = site.history
    clients = [Client(site, site.links.all[i % len(site.links.all)]) for i in range(CLIENTS)]
    shipping = Shipping(site)
    threads = [*clients, shipping]
    for thread in threads:
        thread.start()
    try:
        names = [*CUTS, "half-open"]
        counted = tried = 0
        longest = 0
        while counted < cuts and tried < 2 * cuts and not history.problems:
            seconds = choose.uniform(0.2, dose(1.5, 10 if tried % 50 else 120))
            enough, again = cut_once(site, clients, names[tried % len(names)], seconds)
            counted, tried, longest = counted + enough, tried + 1, max(longest, again)
        history.over.set()
        for thread in threads:
            thread.join(60)
        shipping.end()
    finally:
        history.over.set()
        shipping.stop()
    say(f"{counted} of {tried} cuts under enough load; every client served again within {longest:.1f} s; dead connections gave "
          f"way within {max(site.evictions, default=0):.2f} s; {len(history.complete)} of {len(history.sent)} files acknowledged")
    if counted < cuts:
        history.problems.append("invalid run: too little load")


BEGAN = time.monotonic()


def say(text):
    print(f"{time.monotonic() - BEGAN:.0f} s: {text}", flush=True)


def on_a_site(cuts, seed, uploads_too):
    """What was wrong with so many cuts; with `uploads_too` also with cuts inside of long uploads."""
    folder, choose = Path(tempfile.mkdtemp(prefix="skewscope_network_")), random.Random(seed)
    site = Site(folder, seed)
    site.evictions = []
    try:
        cut_again_and_again(site, cuts, choose)
        if uploads_too:
            site.links.all[0].node.call(break_at_every_boundary, site, dose(16, 1))
            for i in range(dose(2, 20)):  # at 0.6 two pieces of 64 MiB would be under way, at 0.3 two of 32 MiB are
                ship_through_a_cut(site, ("reset", "reset", "down")[i % 3], (0.6, 0.3, choose.random())[i % 3])
        conflicts = site.metric("skewscope_gather_http_requests_total", 'code="409"')
        say(f"{conflicts:.0f} offsets were refused")
        if conflicts > cuts * (CLIENTS + 3):
            site.history.say(f"{conflicts:.0f} offsets were refused: more than each client once after each cut")
        verify(site)
    finally:
        if site.daemon.process.poll() is None:
            site.daemon.stop()
        shutil.rmtree(folder, ignore_errors=True)
    say("verified")
    return site.history.problems


def main(cuts, seed):
    why_not = links.why_not()
    if why_not:
        print(f"skipped: {why_not}")
        return 77
    print(f"seed {seed}, {cuts} cuts", flush=True)
    problems = []
    for done in range(0, cuts, MOST_ON_A_SITE):
        left = cuts - done
        problems += on_a_site(min(left, MOST_ON_A_SITE), seed + done, uploads_too=left <= MOST_ON_A_SITE)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    if os.geteuid() == 0:
        alone()
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else dose(20, 300),
                  int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(10**6)))
