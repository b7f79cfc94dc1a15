#!/usr/bin/env python3
"""A gatherer that was away comes back, and everybody has waited for it: real agents, and a crowd that keeps their rules.

A machine of two processors cannot hold 1,250 agents. A few are real `skewscope ship`; the crowd is played here, each with
an address of its own, and waits as the agent does: random(0, min(60 s, 0.5 s * 2^n)). In CI the crowd's clock runs 20
times as fast, which is the harder load: more connections a second than 1,250 agents make at most.
From the moment the gatherer is back no second may see more than twice the connections that came while it was away, all
must be done within twice the longest wait, every file is there once, and nobody is told anything that makes it give up.
usage: storm.py SKEWSCOPE     250 for 8 s; 1,250 for 5 minutes, at the true pace, with SKEWSCOPE_DOSE=nightly"""
import asyncio
import bisect
import gzip
import hashlib
import json
import random
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

from daemon import PROGRAM, Daemon, checksum_of, digest_of, dose, metadata

FIRST_WAIT, LONGEST_WAIT, KILOBYTES = 0.5, 60, 64
CROWD = metadata("crowd").split(",")[0]


class Member:
    """One of the crowd."""

    def __init__(self, rank, port, pace, attempts):
        self.rank, self.port, self.pace, self.attempts = rank, port, pace, attempts
        self.content = random.Random(rank).randbytes(KILOBYTES << 10)
        self.path, self.offset, self.failures, self.done, self.problem = None, 0, 0, None, None

    async def work(self):
        while self.done is None and self.problem is None:
            try:
                self.attempts.append(time.monotonic())
                there = ("127.0.0.1", self.port)
                here = (f"127.0.{self.rank // 250 + 1}.{self.rank % 250 + 1}", 0)
                reader, writer = await asyncio.open_connection(*there, local_addr=here)
                try:
                    await self.send(reader, writer)
                finally:
                    writer.close()
            except (OSError, EOFError, ValueError):
                wait = random.uniform(0, min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(self.failures, 10))) / self.pace
                self.failures += 1
                await asyncio.sleep(wait)

    async def send(self, reader, writer):
        async def ask(method, path, body=b"", **fields):
            lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Tus-Resumable: 1.0.0", f"Content-Length: {len(body)}"]
            lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
            writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            status = int(head.split()[1])
            if status >= 500 or status in (408, 425, 429):
                raise OSError(status)
            got = dict(re.findall(r"(?m)^([\w-]+): (.*?)\r?$", head))
            if status >= 300 and status != 409:
                self.problem = f"{method}: {status}"
                raise OSError(status)
            return {name.lower(): value for name, value in got.items()}

        if self.path is None:
            got = await ask("POST", "/v1/uploads", Upload_Length=len(self.content),
                            Upload_Metadata=metadata("crowd", self.rank, sha256=hashlib.sha256(self.content).hexdigest()))
            self.path = got["location"]
        else:
            got = await ask("HEAD", self.path)
        if "repr-digest" not in got:
            offset = int(got["upload-offset"])
            rest = self.content[offset:]
            got = await ask("PATCH", self.path, rest, Upload_Offset=offset, Upload_Checksum=checksum_of(rest),
                            Content_Type="application/offset+octet-stream")
        if got.get("repr-digest") != digest_of(self.content):
            self.problem = f"was told {got.get('repr-digest')}"
        else:
            self.done = time.monotonic()


class Away:
    """Stands where the gatherer will be, counts who comes, and hangs up."""

    def __init__(self):
        self.failures = {}  # of each upload of the real agents: how often it was tried

    async def open(self):
        self.server = await asyncio.start_server(self.meet, "127.0.0.1", 0, backlog=4096, reuse_address=True)
        return self.server.sockets[0].getsockname()[1]

    async def meet(self, reader, writer):
        try:
            head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)).decode()
            upload = re.sub(",age [^,]*", "", re.search(r"(?i)upload-metadata: (.*)", head).group(1))  # but for its age
            if CROWD not in upload:
                self.failures[upload] = self.failures.get(upload, 0) + 1
            writer.transport.abort()
        except (OSError, asyncio.TimeoutError, asyncio.IncompleteReadError):
            pass

    def close(self):
        self.server.close()


def traces(folder, agent):
    """Two finished traces of an agent's job; the third rank never comes, and with it no report."""
    folder.mkdir()
    out = {}
    for rank in range(2):
        text = json.dumps({"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": 3}, "traceName": "t",
                           "traceEvents": [{"ph": "X", "cat": "kernel", "name": f"k{agent}", "pid": 0, "tid": 7, "ts": 1.0,
                                            "dur": 2.0, "args": {"device": 0, "stream": 7, "correlation": 1}}]})
        out[f"agent{agent}", rank] = gzip.compress(text.encode(), 1)
        (folder / f"rank{rank}.json.gz").write_bytes(out[f"agent{agent}", rank])
    return out


def most_in_a_second(times):
    times = sorted(times)
    return max((bisect.bisect_left(times, begin + 1) - i for i, begin in enumerate(times)), default=0)


async def storm(crowd, agents, pace, away_s):
    daemon, problems = Daemon("--connections-per-address", 64), []
    away = Away()
    port = await away.open()
    attempts, sent, ships = [], {}, []
    for agent in range(agents):
        folder = Path(daemon.folder) / f"agent{agent}"
        sent.update(traces(folder, agent))
        ships.append(await asyncio.create_subprocess_exec(
            PROGRAM, "ship", folder, "--to", f"http://127.0.0.1:{port}", "--job", f"agent{agent}", "--once", "--quiet",
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
    members = [Member(rank, port, pace, attempts) for rank in range(crowd)]
    tasks = [asyncio.ensure_future(member.work()) for member in members]
    await asyncio.sleep(away_s)
    away.close()
    daemon.listen = f"127.0.0.1:{port}"
    end = time.monotonic()
    begin = end - away_s / 3
    steady = sum(begin <= at < end for at in attempts) / (end - begin)
    await asyncio.get_running_loop().run_in_executor(None, daemon.start)
    back = time.monotonic()
    await asyncio.wait(tasks, timeout=4 * LONGEST_WAIT / pace)
    crowd_s = max((member.done or back + 1e6) for member in members) - back
    waits = [min(LONGEST_WAIT, FIRST_WAIT * 2 ** (failures - 1)) for failures in away.failures.values()]
    outs = await asyncio.wait_for(asyncio.gather(*(ship.communicate() for ship in ships)), 4 * LONGEST_WAIT)
    ships_s = time.monotonic() - back
    most = most_in_a_second([at for at in attempts if at >= back])
    print(f"away for {away_s} s; steady {steady:.0f} connections a second, then {most} at most in any; crowd of {crowd} done in "
          f"{crowd_s:.1f} s of {2 * LONGEST_WAIT / pace:.0f}; {agents} agents done in {ships_s:.1f} s, longest wait {max(waits):.0f} s")
    if most > 2 * steady:
        problems.append("more than twice the steady rate in a second")
    if crowd_s > 2 * LONGEST_WAIT / pace:
        problems.append("the crowd took more than twice its longest wait")
    if ships_s > 2 * max(waits) + 2:
        problems.append("the agents took more than twice their longest wait")
    problems += [f"member {member.rank}: {member.problem}" for member in members if member.problem]
    problems += [f"agent {i} ended with {ship.returncode}: {out}" for i, (ship, out) in enumerate(zip(ships, outs)) if ship.returncode]
    sent.update({("crowd", member.rank): member.content for member in members})
    daemon.stop()
    code, text = daemon.check()
    if code != 0:
        problems.append(f"--check: {text}")
    stored = {}
    for name, content in daemon.stored().items():
        job, _, _, file = name.split("/")
        key = job, int(file.split(".")[0][1:])
        if key in stored or sent.get(key) != content:
            problems.append(f"{name} is there twice or was never sent")
        stored[key] = content
    if len(stored) != len(sent):
        problems.append(f"{len(stored)} of {len(sent)} files are there")
    return problems


def main():
    seed = random.SystemRandom().randrange(10**6)
    random.seed(seed)
    print(f"seed {seed}")
    problems = asyncio.run(storm(dose(250, 1250), dose(8, 32), dose(20, 1), dose(8, 300)))
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
