"""Four weeks of a cluster on the head node: 100,000 jobs that the prolog has registered, of which few send anything. What
scrapes, lists, pages and uploads cost beside them, memory, and the next start."""
import http.client
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time

from harness import MB, SKEWSCOPE, WORK, build, keep, output_of, say, table

JOBS, ASKED, MOST_MS = 100_000, 200, 50
PLACE = WORK / "registry"
LISTEN, ADMIN = ("127.0.0.1", 17477), ("127.0.0.1", 17478)
PER_CONNECTION, AT_ONCE = 500, 50


def start():
    """The daemon, and seconds until it is ready."""
    begin = time.perf_counter()
    daemon = subprocess.Popen([SKEWSCOPE, "gather", "--spool", PLACE / "spool", "--listen", ":".join(map(str, LISTEN)), "--admin",
                               ":".join(map(str, ADMIN)), "--token-key-file", PLACE / "keys", "--registry-socket", PLACE / "socket"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    daemon.stdout.readline()
    return daemon, time.perf_counter() - begin


def end(daemon):
    daemon.send_signal(signal.SIGTERM)
    daemon.wait()


def put(number):
    body = json.dumps({"owner_uid": 1000 + number % 300, "nodes": [f"node{number % 500 + k}" for k in range(4)]})
    return (f"PUT /v1/jobs/cluster-{number}.0 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}").encode()


def register():
    """As prolog_slurmctld does, many on one connection."""
    for first in range(0, JOBS, PER_CONNECTION):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(str(PLACE / "socket"))
            for begin in range(first, first + PER_CONNECTION, AT_ONCE):
                sock.sendall(b"".join(put(number) for number in range(begin, begin + AT_ONCE)))
                answers = b""
                while answers.count(b"HTTP/1.1 201") < AT_ONCE:
                    answers += sock.recv(1 << 20)


def times_ms(address, method, path, token=None, body=None):
    """Median and p99 of requests one after the other; {n} in the path is their number."""
    connection, times = http.client.HTTPConnection(*address), []
    for number in range(ASKED):
        begin = time.perf_counter()
        connection.request(method, path.format(n=number), body, {"Authorization": f"Bearer {token}"} if token else {})
        answer = connection.getresponse()
        answer.read()
        times.append(1000 * (time.perf_counter() - begin))
        if answer.status not in (200, 201):
            sys.exit(f"{method} {path}: {answer.status}")
    times.sort()
    return statistics.median(times), times[ASKED * 99 // 100]


def main(_):
    build("skewscope")
    shutil.rmtree(PLACE, ignore_errors=True)
    (PLACE / "spool").mkdir(parents=True)
    (PLACE / "keys").write_text(os.urandom(32).hex() + "\n")
    (PLACE / "keys").chmod(0o600)
    one, all_jobs = (output_of(SKEWSCOPE, "gather", "--token-key-file", PLACE / "keys", "--mint-token", *arguments).strip()
                     for arguments in (("cluster-5.0",), ("*", "--scopes", "admin")))
    daemon, _ = start()
    register()
    asked = {"scrape of /metrics": (ADMIN, "GET", "/metrics"),
             "list, token of one job": (LISTEN, "GET", "/v1/jobs", one),
             "list, admin": (LISTEN, "GET", "/v1/jobs?limit=100", all_jobs),
             "page, token of all jobs": (LISTEN, "GET", "/", all_jobs),
             "PUT of a rank": (LISTEN, "PUT", "/v1/jobs/cluster-5.0/ranks/{n}", one, b'{"traceEvents": []}')}
    rows = [(name, *times_ms(*how)) for name, how in asked.items()]
    memory = int(output_of("ps", "-o", "rss=", "-p", daemon.pid)) * 1024 / MB
    end(daemon)
    daemon, ready = start()
    end(daemon)
    shutil.rmtree(PLACE)
    text = table(["asked", "median ms", "p99 ms"], [(name, f"{middle:.1f}", f"{most:.1f}") for name, middle, most in rows])
    keep("registry", "Registered jobs", f"{JOBS} registered jobs: {memory:.0f} MB, ready after {ready:.1f} s.\n\n{text}",
         {"resident: MB": memory, "start: s": ready, **{f"{name}: p99 ms": most for name, _, most in rows}})
    if slow := [name for name, _, most in rows if most > MOST_MS]:
        say(f"over {MOST_MS} ms: {', '.join(slow)}")
        sys.exit(1)
