"""A program whose every call that writes is shown to us before the kernel makes it, whichever thread makes it.

    watch = WriteCalls(decide, root=spool)     decide(number, call) from 1 on: None lets the call happen,
    subprocess.Popen(..., **watch.spawn())     KILL ends the program before it, SHORT writes half, an errno is its answer
    watch.end()                                once the program has ended; watch.calls is what it did

By seccomp's user notification: all threads share one count, which strace's `when=` cannot do. Counted are calls that
change files below `root`, and answers sent to sockets; not counted what the program's children do.
"""
import ctypes
import errno
import fcntl
import os
import select
import signal
import socket
import struct
import threading

KILL, SHORT = "kill", "short"

BY_DESCRIPTOR = ("write", "pwrite64", "writev", "pwritev", "pwritev2", "fdatasync", "fsync", "sync_file_range", "ftruncate",
                 "fallocate", "fchmod", "copy_file_range")
BY_PATH = ("rename", "link", "unlink", "mkdir", "rmdir", "symlink", "creat", "truncate", "chmod", "open")
BY_FOLDER = ("renameat", "renameat2", "linkat", "unlinkat", "mkdirat", "symlinkat", "openat", "openat2", "fchmodat")
ANSWERS = ("sendto", "sendmsg")

ALLOW, NOTIFY, CONTINUE = 0x7FFF0000, 0x7FC00000, 1
RECEIVE, SEND = 0xC0502100, 0xC0182101
PIDFD_GETFD = 438
LIBC = ctypes.CDLL(None, use_errno=True)
ARGUMENT_AT_LEAST, ARGUMENT_HAS_BITS = 5, 7


class Comparison(ctypes.Structure):
    _fields_ = [("argument", ctypes.c_uint), ("kind", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


def library():
    """libseccomp, or None where it or the kernel's part is missing."""
    try:
        found = ctypes.CDLL("libseccomp.so.2")
    except OSError:
        return None
    found.seccomp_init.restype = ctypes.c_void_p
    for name in ("seccomp_load", "seccomp_notify_fd", "seccomp_release"):
        getattr(found, name).argtypes = [ctypes.c_void_p]
    found.seccomp_rule_add_array.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint,
                                             ctypes.POINTER(Comparison)]
    return found if found.seccomp_api_get() >= 5 else None


SECCOMP = library()


class Call:
    def __init__(self, name, thread, arguments):
        self.name, self.thread, self.arguments, self.target, self.flags = name, thread, arguments, "", 0

    def __repr__(self):
        return f"{self.name} {self.target}"

    def flushes(self):
        return self.name in ("fsync", "fdatasync")

    def creates(self):
        return "open" not in self.name or bool(self.flags & os.O_CREAT)

    def text(self, address):
        with open(f"/proc/{self.thread}/mem", "rb", buffering=0) as memory:
            memory.seek(address)
            left = 4096 - address % 4096  # no further than the page: the next one may not be there
            got = memory.read(min(left, 4096))
            if b"\0" not in got:
                got += memory.read(4096)
        return got.split(b"\0")[0].decode(errors="replace")

    def bytes_at(self, address, size):
        with open(f"/proc/{self.thread}/mem", "rb", buffering=0) as memory:
            memory.seek(address)
            return memory.read(size)

    def path_of(self, descriptor):
        descriptor = struct.unpack("i", struct.pack("I", descriptor & 0xFFFFFFFF))[0]
        return os.readlink(f"/proc/{self.thread}/" + ("cwd" if descriptor == -100 else f"fd/{descriptor}"))

    def open_flags(self):
        if self.name == "openat2":
            return struct.unpack("Q", self.bytes_at(self.arguments[2], 8))[0]
        return self.arguments[2] if self.name == "openat" else self.arguments[1]


class WriteCalls:
    def __init__(self, decide, root, opens=False, skip=()):
        """`opens`: opening without creating counts, too. `skip`: names below root that do not count."""
        self.decide, self.root, self.opens, self.skip = decide, os.path.realpath(root), opens, skip
        self.calls, self.errors, self.process = [], [], 0
        self.ours, self.theirs = socket.socketpair()
        self.ours.settimeout(20)
        self.names = {}
        self.thread = threading.Thread(target=self.serve, daemon=True)

    def spawn(self):
        """Arguments of Popen."""
        filter_ = SECCOMP.seccomp_init(ALLOW)
        for name in BY_DESCRIPTOR + BY_PATH + BY_FOLDER + ANSWERS:
            number = SECCOMP.seccomp_syscall_resolve_name(name.encode())
            if number < 0:
                continue
            self.names[number] = name
            rules = []
            if name in ("write", "writev"):  # not the log
                rules = [Comparison(0, ARGUMENT_AT_LEAST, 3)]
            elif name == "sendmsg":  # asio's, not that of our own descriptor
                rules = [Comparison(2, ARGUMENT_HAS_BITS, 0x4000, 0x4000)]
            elif name in ("open", "openat") and not self.opens:
                rules = [Comparison(2 if name == "openat" else 1, ARGUMENT_HAS_BITS, os.O_CREAT, os.O_CREAT)]
            SECCOMP.seccomp_rule_add_array(filter_, NOTIFY, number, len(rules), (Comparison * 1)(*rules))
        self.filter = filter_
        self.thread.start()
        return {"preexec_fn": self.load}

    def load(self):
        if SECCOMP.seccomp_load(self.filter) == 0:
            socket.send_fds(self.theirs, [b"x"], [SECCOMP.seccomp_notify_fd(self.filter)])

    def serve(self):
        _, (notifications,), _, _ = socket.recv_fds(self.ours, 1, 1)
        poll = select.poll()
        poll.register(notifications, select.POLLIN)
        while True:
            if any(event & ~select.POLLIN for _, event in poll.poll()):
                break
            got = bytearray(80)
            try:
                fcntl.ioctl(notifications, RECEIVE, got)
                self.answer(notifications, got)
            except OSError as error:  # the caller is gone meanwhile
                if error.errno not in (errno.ENOENT, errno.EINTR):
                    self.errors.append(repr(error))
        os.close(notifications)

    def answer(self, notifications, got):
        identity, thread, _, number, _, _, *arguments = struct.unpack("QIIiIQ6Q", got)
        call = Call(self.names[number], thread, arguments)
        value, error, flags = 0, 0, CONTINUE
        if self.counts(call):
            self.calls.append(call)
            verdict = self.decide(len(self.calls), call)
            if verdict == KILL:
                os.kill(self.process, signal.SIGKILL)
                return
            if verdict == SHORT:
                value, flags = self.write_half(call), 0
            elif verdict is not None:
                error, flags = -verdict, 0
        fcntl.ioctl(notifications, SEND, struct.pack("QqiI", identity, value, error, flags))

    def counts(self, call):
        """Fills in the target, too."""
        try:
            with open(f"/proc/{call.thread}/status") as status:
                if f"\nTgid:\t{self.process or call.thread}\n" not in status.read():
                    return False
            self.process = self.process or call.thread
            if call.name in ANSWERS:
                return True
            if call.name in BY_DESCRIPTOR:
                path = call.path_of(call.arguments[0])
            elif call.name in BY_PATH:
                path = os.path.join(call.path_of(0xFFFFFF9C), call.text(call.arguments[0]))
            else:
                path = os.path.join(call.path_of(call.arguments[0]), call.text(call.arguments[1]))
            if "open" in call.name:
                call.flags = call.open_flags()
            if not self.opens and not call.creates():
                return False
        except (FileNotFoundError, ProcessLookupError):
            return False
        path = os.path.normpath(path)
        if not (path + "/").startswith(self.root + "/"):
            return False
        call.target = os.path.relpath(path, self.root)
        return call.target.split("/")[0] not in self.skip

    def write_half(self, call):
        descriptor, address, size = call.arguments[:3]
        half = call.bytes_at(address, max(size // 2, 1))
        process = os.pidfd_open(self.process)
        own = LIBC.syscall(PIDFD_GETFD, process, ctypes.c_int(descriptor), 0)  # with the position, which a write moves
        try:
            return os.write(own, half) if call.name == "write" else os.pwrite(own, half, call.arguments[3])
        finally:
            os.close(own)
            os.close(process)

    def end(self):
        self.theirs.close()
        self.thread.join(20)
        self.ours.close()
        SECCOMP.seccomp_release(self.filter)
        return self.errors
