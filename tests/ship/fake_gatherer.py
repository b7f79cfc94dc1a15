"""A gatherer in memory that speaks tus 1.0 as skewscope's does, and misbehaves on request.

    gatherer = FakeGatherer()            listens on 127.0.0.1; gatherer.url
    gatherer.faults[3] = Cut("answer")   the fourth request is answered by a closed connection
    gatherer.files                       {(job, capture, rank): [content of each time it was stored]}

Bytes count as a whole request or not at all, as Upload-Checksum has it.
"""
import base64
import hashlib
import http.server
import socket
import ssl
import threading
import time
from dataclasses import dataclass, field


@dataclass
class Cut:
    """Closes the connection: "at once", in the "body", when all is stored but before the "answer", or "in the answer"."""
    where: str


@dataclass
class Answer:
    """Answers so, whatever was asked; nothing is stored."""
    status: int
    fields: dict = field(default_factory=dict)
    body: bytes = b""


@dataclass
class Raw:
    """These bytes in place of an answer, then `pause` seconds, then the end."""
    data: bytes
    pause: float = 0


@dataclass
class Lie:
    """Stores and answers, but with these fields; None: without."""
    fields: dict


@dataclass
class Forget:
    """Loses every byte of the upload and answers with this status."""
    status: int


class FakeGatherer:
    def __init__(self, token=None, certificate=None):
        self.token, self.faults, self.log = token, {}, []
        self.always = None  # a fault for every request that has none of its own
        self.uploads, self.files, self.metadata, self.complete_at_creation = {}, {}, {}, 0
        self.lock = threading.RLock()
        self.on_complete = lambda key: None
        outer = self

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, request, client_address):
                pass

        class Handler(Conversation):
            gatherer = outer

        self.server = Server(("127.0.0.1", 0), Handler)
        scheme = "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
            scheme = "https"
        self.url = f"{scheme}://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def stored(self):
        """{(job, capture, rank): content}; no file may be there twice."""
        assert all(len(contents) == 1 for contents in self.files.values()), "a file was stored twice"
        return {key: contents[0] for key, contents in self.files.items()}


def digest_field(content):
    return "sha-256=:" + base64.b64encode(hashlib.sha256(content).digest()).decode() + ":"


class Conversation(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 20

    def log_message(self, *arguments):
        pass

    def handle_expect_100(self):
        self.expects = True  # answered once the fault is known
        return True

    def handle_one_request(self):
        self.expects, self.fault = False, None
        super().handle_one_request()

    def begin(self):
        with self.gatherer.lock:
            number = len(self.gatherer.log)
            self.gatherer.log.append((self.command, self.path, dict(self.headers), time.monotonic()))
            self.fault = self.gatherer.faults.get(number, self.gatherer.always)
        if isinstance(self.fault, Cut) and self.fault.where == "at once":
            return self.hang_up()
        if isinstance(self.fault, Raw):
            self.wfile.write(self.fault.data)
            self.wfile.flush()
            time.sleep(self.fault.pause)
            return self.hang_up()
        if isinstance(self.fault, Answer):
            self.answer(self.fault.status, self.fault.fields, self.fault.body)
            return False
        if self.gatherer.token and self.headers.get("Authorization") != f"Bearer {self.gatherer.token}":
            self.answer(401)
            return False
        return True

    def hang_up(self):
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        return False

    def answer(self, status, fields=None, body=b""):
        self.close_connection = self.close_connection or status >= 400  # the body was not read
        fields = dict(fields or {})
        if isinstance(self.fault, Lie):
            fields.update(self.fault.fields)
        if isinstance(self.fault, Cut) and self.fault.where == "answer":
            return self.hang_up()
        lines = [f"HTTP/1.1 {status} x", "Tus-Resumable: 1.0.0"]
        lines += [f"{name}: {value}" for name, value in fields.items() if value is not None]
        if status != 204:
            lines.append(f"Content-Length: {len(body)}")
        if self.close_connection:
            lines.append("Connection: close")
        data = ("\r\n".join(lines) + "\r\n\r\n").encode() + body
        if isinstance(self.fault, Cut) and self.fault.where == "in the answer":
            self.wfile.write(data[: len(data) // 2])
            return self.hang_up()
        self.wfile.write(data)
        self.wfile.flush()

    def do_POST(self):
        if not self.begin():
            return
        metadata = {}
        for pair in self.headers["Upload-Metadata"].split(","):
            key, _, value = pair.strip().partition(" ")
            metadata[key] = base64.b64decode(value).decode()
        key = (metadata["job"], int(metadata["capture"]), int(metadata["rank"]))
        length = int(self.headers["Upload-Length"])
        with self.gatherer.lock:
            there = self.gatherer.files.get(key)
            same = there and hashlib.sha256(there[-1]).hexdigest() == metadata.get("sha256")
            if there and not same and "replace" not in metadata:
                return self.answer(409, {"Content-Type": "application/problem+json"}, b'{"title":"other content"}')
            name = f"{len(self.gatherer.uploads):032x}"
            self.gatherer.uploads[name] = {"key": key, "length": length, "metadata": metadata,
                                           "content": there[-1] if same else b"", "complete": bool(same)}
            fields = {"Location": f"/v1/uploads/{name}", "Upload-Offset": length if same else 0}
            if same:
                self.gatherer.complete_at_creation += 1
                fields["Repr-Digest"] = digest_field(there[-1])
        self.answer(201, fields)

    def upload(self):
        found = self.gatherer.uploads.get(self.path.rsplit("/", 1)[-1])
        if not found:
            self.answer(404)
        return found

    def do_HEAD(self):
        if not self.begin():
            return
        upload = self.upload()
        if not upload:
            return
        fields = {"Upload-Offset": len(upload["content"]), "Upload-Length": upload["length"]}
        if upload["complete"]:
            fields["Repr-Digest"] = digest_field(upload["content"])
        self.answer(200, fields)

    def do_PATCH(self):
        if not self.begin():
            return
        upload = self.upload()
        if not upload:
            return
        with self.gatherer.lock:
            if isinstance(self.fault, Forget):
                upload["content"] = b""
                return self.answer(self.fault.status)
            offset = len(upload["content"])
            if int(self.headers["Upload-Offset"]) != offset:
                return self.answer(409, {"Upload-Offset": offset})
        if self.expects:
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        left, body = int(self.headers["Content-Length"]), b""
        if isinstance(self.fault, Cut) and self.fault.where == "body":
            self.rfile.read(left // 2)
            return self.hang_up()
        body = self.rfile.read(left)
        if len(body) < left:
            return self.hang_up()
        kind, _, sent = self.headers.get("Upload-Checksum", "").partition(" ")
        if kind and base64.b64decode(sent) != hashlib.sha256(body).digest():
            return self.answer(460)
        with self.gatherer.lock:
            if len(upload["content"]) != offset:
                return self.answer(409, {"Upload-Offset": len(upload["content"])})
            upload["content"] += body
            fields = {"Upload-Offset": len(upload["content"])}
            if len(upload["content"]) == upload["length"]:
                if not upload["complete"]:
                    if hashlib.sha256(upload["content"]).hexdigest() != upload["metadata"]["sha256"]:
                        del self.gatherer.uploads[self.path.rsplit("/", 1)[-1]]
                        return self.answer(460)
                    self.complete(upload)
                fields["Repr-Digest"] = digest_field(upload["content"])
        self.answer(204, fields)

    def complete(self, upload):
        upload["complete"] = True
        files = self.gatherer.files.setdefault(upload["key"], [])
        if "replace" in upload["metadata"]:
            files.clear()
        if not files or files[-1] != upload["content"]:
            files.append(upload["content"])
        self.gatherer.metadata[upload["key"]] = upload["metadata"]
        self.gatherer.on_complete(upload["key"])
