"""The ways in which one user of a gatherer is hostile, each in a process of its own of the lowest priority. What of it should
have been refused and was not is harm."""
import gzip
import http.client
import multiprocessing
import os
import random
import selectors
import socket
import ssl
import threading
import time
from pathlib import Path

UID = 2100
FORTY_DAYS_S = 40 * 24 * 3600


def bomb(calls):
    """Collectives of a microsecond, each in a group of its own: the report is eighty times as large as the trace."""
    call = ('{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_f32_RING_LL","pid":0,"tid":7,"ts":%d,"dur":1,"args":{"stream":7,'
            '"device":0,"Collective name":"allreduce","In msg nelems":%d,"Out msg nelems":%d,"Group size":9,"dtype":"Float",'
            '"Process Group Name":"%d","Process Group Description":"%d"}}')
    head = '{"schemaVersion":1,"distributedInfo":{"backend":"nccl","rank":0,"world_size":1},"traceEvents":['
    return gzip.compress((head + ",".join(call % (2 * i, i, i, i, i) for i in range(calls)) + "]}").encode())


def over_tls(head, source="127.0.0.1"):
    sock = socket.create_connection((head.daemon.host, head.daemon.port), 10, (source, 0))
    return head.daemon.context.wrap_socket(sock, server_hostname="localhost")


def at_once(count, work):
    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def shorten_retention(it):
    """H1: by a stolen upload token of a job that is over."""
    while True:
        for job, token in it.victims:
            it.must_be(403, it.ask("PUT", f"/v1/jobs/{job}", body='{"retention_s":1}', token=token))
            it.must_be(403, it.ask("DELETE", f"/v1/jobs/{job}", token=token))
        time.sleep(0.5)


def ask_for_reports(it):
    """H3: another world size twice a second, of a job whose report takes long."""
    it.put(it.bomb, "hostile-aaa", 0, it.token("hostile-aaa"), "?world_size=1")
    while True:
        for ranks in (2, 1):
            it.ask("PUT", "/v1/jobs/hostile-aaa", body=f'{{"world_size":{ranks}}}', token=it.token("hostile-aaa"))
            time.sleep(0.5)


def show_a_nodes_certificate(it):
    """H4: which every user whose job ran there may have read."""
    it.daemon.context.load_cert_chain(it.place / "node.pem", it.place / "node.key")
    while True:
        for job, _ in it.victims:
            it.must_be(401, it.ask("POST", "/v1/tokens", body=f'{{"job":"{job}"}}'))
        time.sleep(0.2)


def list_jobs(it):
    """H5: eight loops of lists, scrapes and pages, by the owner of all jobs that the cluster had before."""
    def loop(_):
        while True:
            it.ask("GET", "/v1/jobs", token=it.token("hostile-list"))
            it.ask("GET", "/", token=it.token("hostile-list"))
            it.ask("GET", "/metrics", admin=True)
    at_once(8, loop)


def make_large_reports(it):
    """M1: five jobs whose reports are eighty times as large as what was sent, again and again."""
    for round_ in range(1000):
        for number in range(5):
            job = f"hostile-large{number}"
            it.put(it.bomb + os.urandom(1), job, 0, it.token(job), "?world_size=1&replace=1")
        time.sleep(5)


def store_all_that_is_allowed(it):
    """M4: until the quota is used up, and on."""
    content = os.urandom(16 << 20)
    for rank in range(1 << 20):
        it.put(content, "hostile-store", rank, it.token("hostile-store"))
        time.sleep(0.2)


def send_slowly(it):
    """M5: 256 bodies a little faster than is too slow, of as many jobs."""
    senders = []
    for number in range(256):
        sock = over_tls(it.head, f"127.0.2.{number % 50 + 1}")
        job = f"hostile-slow{number}"
        sock.sendall(f"PUT /v1/jobs/{job}/ranks/0 HTTP/1.1\r\nHost: localhost\r\nContent-Length: {1 << 33}\r\n"
                     f"Authorization: Bearer {it.token(job)}\r\n\r\n".encode())
        senders.append(sock)
    piece = b"x" * 70_000
    while True:
        begin = time.monotonic()
        for sock in senders:
            try:
                sock.settimeout(0.05)
                sock.sendall(piece)
            except OSError:
                continue  # refused, or not its turn
        time.sleep(max(0.0, 1 - (time.monotonic() - begin)))


def say_nothing(it):
    """M12: 3000 silent connections from 50 addresses; what is closed comes again."""
    waiting = selectors.DefaultSelector()
    def connect(number):
        sock = socket.socket()
        sock.setblocking(False)
        sock.bind((f"127.0.1.{number % 50 + 1}", 0))
        sock.connect_ex((it.daemon.host, it.daemon.port))
        waiting.register(sock, selectors.EVENT_READ, number)
    for number in range(3000):
        connect(number)
    while True:
        closed = [key for key, _ in waiting.select(1)]
        for key in closed:
            waiting.unregister(key.fileobj)
            key.fileobj.close()
            connect(key.data)
        time.sleep(1)


def fill_the_quarantine(it):
    """M13: bodies of another digest than was promised, and replaced files."""
    for number in range(1 << 20):
        it.put(os.urandom(2 << 20), "hostile-aside", 0, it.token("hostile-aside"), Repr_Digest="sha-256=:" + "A" * 43 + "=:")
        it.put(os.urandom(2 << 20), "hostile-aside", 1, it.token("hostile-aside"), "?replace=1")
        time.sleep(0.2)


def set_the_clock_ahead(it):
    """H2: by forty days. Last of all: for an hour afterwards nothing is deleted by age."""
    it.head.ahead.write_text(str(FORTY_DAYS_S))
    try:
        while True:
            time.sleep(1)
    finally:
        it.head.ahead.write_text("0")


WAYS = {"H1 retention": shorten_retention, "H3 reports again": ask_for_reports, "H4 node's certificate": show_a_nodes_certificate,
        "H5 lists": list_jobs, "M1 large reports": make_large_reports, "M4 quota": store_all_that_is_allowed,
        "M5 slow bodies": send_slowly, "M12 silence": say_nothing, "M13 quarantine": fill_the_quarantine,
        "H2 clock": set_the_clock_ahead}


class It:
    """What a way has at hand, in its own process."""

    def __init__(self, head, place, bomb_, victims, harm):
        self.head, self.place, self.bomb, self.victims, self.harm = head, place, bomb_, victims, harm
        self.daemon, self.tokens = head.daemon, {}

    def token(self, job):
        if job not in self.tokens:
            self.tokens[job] = self.head.token(job, UID)
        return self.tokens[job]

    def ask(self, *what, **fields):
        """None where the connection was closed: the way goes on, as a hostile user does."""
        try:
            return self.daemon.ask(*what, **fields)
        except (OSError, http.client.HTTPException):
            return None

    def put(self, content, job, rank, token, query="", **fields):
        return self.ask("PUT", f"/v1/jobs/{job}/ranks/{rank}{query}", body=content, token=token, **fields)

    def must_be(self, status, answer):
        if answer and answer.status < 300:
            self.harm.put(f"{answer.status} in place of {status}")


class Hostile:
    def __init__(self, head, place, honest):
        self.head, self.place, self.honest, self.harm = head, place, honest, []
        self.bomb, self.told = bomb(300_000), multiprocessing.Queue()

    def begin(self, name):
        victims = [(job, token) for user in self.honest for job, token, *_ in user.jobs[:2]]
        self.name = name
        self.process = multiprocessing.get_context("fork").Process(target=self.run, args=(WAYS[name], victims), daemon=True)
        self.process.start()

    def run(self, way, victims):
        os.nice(19)
        way(It(self.head, self.place, self.bomb, victims, self.told))

    def end(self):
        if not self.process.is_alive():
            self.harm.append(f"{self.name}: ended by itself, so that it measured nothing")
        self.process.terminate()
        self.process.join()
        self.head.ahead.write_text("0")
        while not self.told.empty():
            self.harm.append(self.told.get())
