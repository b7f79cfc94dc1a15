"""A job of three ranks, sent request by request, that goes on where it was when the daemon failed, and remembers what it
was promised: tus in pieces, PUT, replacement, a wrong checksum, a wrong digest, termination, a report."""
import gzip
import http.client
import json
import random
import time

from daemon import checksum_of, digest_of, metadata


class Refused(Exception):
    """The daemon answered that it cannot now; or, without an answer, is gone."""

    def __init__(self, status=None):
        super().__init__(f"status {status}" if status else "no answer")
        self.status = status


def trace(rank, seed):
    """A small trace that a report can be made of."""
    noise = random.Random(seed).randbytes(30_000).hex()
    rows = [{"ph": "X", "cat": "kernel", "name": noise, "pid": 0, "tid": 7, "ts": 1.0 + i, "dur": 0.5,
             "args": {"device": 0, "stream": 7, "correlation": i}} for i in range(1)]
    text = json.dumps({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 3},
                       "traceEvents": rows, "traceName": "trace.json"})
    return gzip.compress(text.encode(), 1, mtime=0)


FIRST, ONE, ANOTHER, THIRD, WRONG, DROPPED = (trace(rank, seed) for rank, seed in
                                              ((0, 1), (1, 2), (1, 3), (2, 4), (2, 5), (2, 6)))
SENT = {digest_of(content) for content in (FIRST, ONE, ANOTHER, THIRD, WRONG, DROPPED)}


class ScriptedJob:
    def __init__(self):
        self.problems, self.statuses = [], []
        self.at, self.created, self.until = 0, False, 0
        self.paths, self.acked = {}, {}  # by name of the upload: where it is; the highest offset told
        self.complete = {}               # rank: digests one of which must be there
        self.steps = [self.make_job, self.first, self.one, self.another, self.wrong, self.dropped, self.third, self.hurry,
                      self.report]
        self.report_may_fail = lambda: False

    def copy(self):
        """Another that was promised the same and stands where this one does."""
        other = ScriptedJob()
        other.at, other.created = self.at, self.created
        other.paths, other.acked, other.complete = dict(self.paths), dict(self.acked), {rank: set(of) for rank, of in self.complete.items()}
        return other

    def go_on(self, daemon):
        """To the end, or Refused."""
        while self.at < len(self.steps):
            self.steps[self.at](daemon)
            self.at += 1

    def persist(self, daemon, seconds=30):
        """Tries again as an agent does, until all is done, the daemon has ended or the time is over: whether all is done."""
        self.until = end = time.monotonic() + seconds
        while True:
            try:
                self.go_on(daemon)
                return True
            except Refused as refused:
                if daemon.ended() or time.monotonic() > end:
                    return False
                time.sleep(0.02 if refused.status is None else 0.05)

    def ask(self, call, *arguments, wanted, **fields):
        try:
            answer = call(*arguments, **fields)
        except (OSError, http.client.HTTPException):
            raise Refused() from None
        self.statuses.append(answer.status)
        if answer.status not in wanted:
            if answer.status in (429, 500, 503, 507):
                raise Refused(answer.status)
            self.problems.append(f"{getattr(call, '__name__', call)} {arguments[:1]}: {answer.status} {answer.body[:200]}")
            raise Refused(answer.status)
        return answer

    def promised(self, rank, answer, content):
        if answer["Repr-Digest"] != digest_of(content):
            self.problems.append(f"rank {rank} was acknowledged as {answer['Repr-Digest']}")
        self.complete[rank] = {digest_of(content)}

    def make_job(self, daemon):
        self.ask(daemon.ask, "PUT", "/v1/jobs/run", b'{"world_size": 3}', wanted=(200, 201))
        self.created = True

    def upload(self, daemon, name, rank, length, **fields):
        """The offset to go on from, of an upload that is made if need be."""
        if name not in self.paths:
            answer = self.ask(daemon.create, length, wanted=(201,), rank=rank, **fields)
            self.paths[name], self.acked[name] = answer["Location"], 0
        return self.offset(daemon, name)

    def offset(self, daemon, name):
        answer = self.ask(daemon.ask, "HEAD", self.paths[name], wanted=(200,))
        offset = int(answer["Upload-Offset"])
        if offset < self.acked[name]:
            self.problems.append(f"{name}: {self.acked[name]} were promised, HEAD says {offset}")
        return offset, answer

    def tus(self, daemon, name, rank, content, declared, **fields):
        """In three pieces, the second with its checksum."""
        offset, answer = self.upload(daemon, name, rank, declared, **fields)
        while offset < len(content):
            end = min(len(content), (offset // 10_000 + 1) * 10_000)
            piece = content[offset:end]
            more = {"Upload_Checksum": checksum_of(piece)} if 10_000 <= offset < 20_000 else {}
            if end == len(content):
                more.update(Upload_Length=end, Repr_Digest=digest_of(content))
            answer = self.ask(daemon.patch, self.paths[name], offset, piece, wanted=(204,), **more)
            offset = self.acked[name] = int(answer["Upload-Offset"])
        self.promised(rank, answer, content)

    def first(self, daemon):
        self.tus(daemon, "first", 0, FIRST, len(FIRST))

    def one(self, daemon):
        self.promised(1, self.ask(daemon.put, ONE, wanted=(201, 204), rank=1, Repr_Digest=digest_of(ONE)), ONE)

    def another(self, daemon):
        self.complete[1].add(digest_of(ANOTHER))  # from now on it may be
        self.promised(1, self.ask(daemon.put, ANOTHER, wanted=(201, 204), rank=1, query="?replace=1"), ANOTHER)

    def wrong(self, daemon):
        """Bytes that are not those that were promised: to quarantine, and rank 2 is still missing."""
        if "wrong" in self.paths:  # its answer was lost, perhaps
            answer = self.ask(daemon.ask, "HEAD", self.paths["wrong"], wanted=(200, 404))
            if answer.status == 404:
                return
        else:
            answer = self.ask(daemon.create, len(WRONG), wanted=(201,), rank=2, sha256="0" * 64)
            self.paths["wrong"] = answer["Location"]
        offset = int(answer["Upload-Offset"])
        self.ask(daemon.patch, self.paths["wrong"], offset, WRONG[offset:], wanted=(460,))

    def dropped(self, daemon):
        if "dropped" not in self.paths:
            answer = self.ask(daemon.create, len(DROPPED), wanted=(201,), rank=2, body=DROPPED[:5000])
            self.paths["dropped"] = answer["Location"]
        self.ask(daemon.ask, "DELETE", self.paths["dropped"], wanted=(204, 404))

    def third(self, daemon):
        """Its length comes with its last bytes."""
        self.tus(daemon, "third", 2, THIRD, None)

    def hurry(self, daemon):
        """One of three ranks was replaced: the report would wait for the others of a second run."""
        self.ask(daemon.ask, "PUT", "/v1/jobs/run", b'{"deadline_s": 1}', wanted=(200,))

    def report(self, daemon):
        """Partial where the job says that it may be of two runs; a fault may have cost it the file that was replaced."""
        while True:
            job = self.ask(daemon.ask, "GET", "/v1/jobs/run", wanted=(200,)).json()
            state, mixed = job["report_state"], any("two runs" in note for note in job["report_notes"])
            if state == ("partial" if mixed else "complete"):
                break
            if state == "failed" and self.report_may_fail():
                return
            if time.monotonic() > self.until or daemon.ended():
                raise Refused()
            time.sleep(0.01)
        self.ask(daemon.ask, "GET", "/v1/jobs/run/report.json", wanted=(200,))

    def check_promises(self, daemon):
        """Of a daemon that has been started again."""
        if self.created:
            self.ask(daemon.ask, "GET", "/v1/jobs/run", wanted=(200,))
        for name in self.acked:
            self.offset(daemon, name)
        for rank, digests in self.complete.items():
            answer = self.ask(daemon.ask, "GET", f"/v1/jobs/run/ranks/{rank}", wanted=(200,))
            if digest_of(answer.body) not in digests:
                self.problems.append(f"rank {rank} has other bytes than were acknowledged")

    def check_spool(self, daemon):
        """Of a daemon that has ended."""
        code, text = daemon.check()
        if code != 0:
            self.problems.append(f"--check: {text}")
        stored = daemon.stored()
        names = [name.split("/")[-1].split(".")[0] for name in stored]
        if len(names) != len(set(names)):
            self.problems.append(f"a rank is stored twice: {sorted(stored)}")
        self.problems += [f"{name} was never sent" for name, content in stored.items() if digest_of(content) not in SENT]
        for rank, digests in self.complete.items():
            held = [content for name, content in stored.items() if name.split("/")[-1].startswith(f"r{rank:05}.")]
            if len(held) != 1 or digest_of(held[0]) not in digests:
                self.problems.append(f"rank {rank} is not in the spool as acknowledged")
