"""Network namespaces joined by veth, and what can go wrong with a link. They live as long as the process.

The head has 10.79.0.1; node i, 10.79.i.2, reaches it over a link of its own. Kernels without netem still delay: packets
then take another way, through two TUN devices and a thread that holds each back."""
import concurrent.futures
import ctypes
import fcntl
import heapq
import itertools
import os
import random
import select
import shutil
import struct
import subprocess
import threading
import time

NEW_NETWORK = 0x40000000
HEAD = "10.79.0.1"
LIBC = ctypes.CDLL(None, use_errno=True)
NFT = """
table inet cut {{
  chain arrivals {{
    type filter hook prerouting priority -300
    {}
  }}
}}
"""


def checked(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def run(*command, text=None):
    done = subprocess.run([*map(str, command)], input=text, capture_output=True, text=True)
    if done.returncode != 0:
        raise OSError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


class Namespace:
    """Where a thread can be; `call` runs in one that is."""

    def __init__(self):
        self.pool = concurrent.futures.ThreadPoolExecutor(1)
        self.thread = self.pool.submit(threading.get_ident).result()
        self.call(lambda: checked(LIBC.unshare(NEW_NETWORK)))
        self.file = self.call(os.open, "/proc/thread-self/ns/net", os.O_RDONLY)
        self.call(run, "ip", "link", "set", "lo", "up")

    def call(self, function, *arguments, **more):
        if threading.get_ident() == self.thread:
            return function(*arguments, **more)
        return self.pool.submit(function, *arguments, **more).result()

    def enter(self):
        """This thread, for good."""
        checked(LIBC.setns(self.file, NEW_NETWORK))

    def ip(self, *command):
        return self.call(run, "ip", *command)

    def drop(self, rule):
        """All that arrives and matches; nothing: no more."""
        table = NFT.format(rule + " drop" if rule else "")
        self.call(run, "nft", "-f", "-", text="table inet cut {}\ndelete table inet cut\n" + table)


def tun(name):
    file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(file, 0x400454ca, struct.pack("16sH22x", name.encode(), 0x0001 | 0x1000))  # TUNSETIFF; a TUN, bare packets
    run("ip", "link", "set", name, "up")
    return file


class Link:
    def __init__(self, head, number):
        self.head, self.node, self.number, self.name = head, Namespace(), number, f"v{number}"
        self.address, self.gateway = f"10.79.{number}.2", f"10.79.{number}.1"
        head.ip("link", "add", self.name, "type", "veth", "peer", "name", "eth0", "netns", f"/proc/{os.getpid()}/fd/{self.node.file}")
        head.ip("address", "add", f"{self.gateway}/24", "dev", self.name)
        self.node.ip("address", "add", f"{self.address}/24", "dev", "eth0")
        head.ip("link", "set", self.name, "up")
        self.node.ip("link", "set", "eth0", "up")
        self.use_wire()

    def use_wire(self):
        self.node.ip("route", "replace", HEAD, "via", self.gateway, "src", self.address)

    def down(self):
        self.head.ip("link", "set", self.name, "down")
        return lambda: (self.head.ip("link", "set", self.name, "up"), self.use_wire())

    def heal(self):
        self.head.drop("")
        self.node.drop("")

    def lose(self, percent=100, to_head=True, to_node=True):
        some = "" if percent == 100 else f"numgen random mod 100 < {percent}"
        if to_head:
            self.head.drop(f"iifname {self.name} {some}")
        if to_node:
            self.node.drop(f"iifname eth0 {some}")
        return self.heal

    def lose_port(self, port):
        """One connection of the node goes dead on both sides; others do not."""
        self.head.drop(f"iifname {self.name} tcp sport {port}")
        self.node.drop(f"iifname eth0 tcp dport {port}")
        return self.heal

    def reset(self):
        self.head.call(run, "ss", "-K", "dst", self.address)
        return lambda: None

    def narrow(self):
        """1 Mbit/s both ways."""
        ends = ((self.head, self.name), (self.node, "eth0"))
        for namespace, device in ends:
            namespace.call(run, "tc", "qdisc", "replace", "dev", device, "root", "tbf", "rate", "1mbit", "burst", "16k", "latency", "400ms")
        return lambda: [namespace.call(run, "tc", "qdisc", "del", "dev", device, "root") for namespace, device in ends]

    def delay(self, least=0.15, most=0.25):
        """200 ± 50 ms each way, and other packets may come first."""
        files = self.head.call(tun, "slow" + self.name), self.node.call(tun, "slow")
        over = threading.Event()
        relay = threading.Thread(target=hold_back, args=(*files, least, most, over))
        relay.start()
        self.head.ip("route", "replace", f"{self.address}/32", "dev", "slow" + self.name, "src", HEAD)
        self.node.ip("route", "replace", HEAD, "dev", "slow", "src", self.address)

        def heal():
            self.use_wire()
            self.head.ip("route", "del", f"{self.address}/32", "dev", "slow" + self.name)
            over.set()
            relay.join()
            for file in files:
                os.close(file)
        return heal


def hold_back(one, other, least, most, over):
    """Each packet of one TUN to the other after its time."""
    held, number = [], itertools.count()
    while not over.is_set():
        wait = held[0][0] - time.monotonic() if held else 0.05
        for file in select.select((one, other), (), (), min(max(wait, 0), 0.05))[0]:
            due = time.monotonic() + random.uniform(least, most)
            heapq.heappush(held, (due, next(number), other if file == one else one, os.read(file, 65536)))
        while held and held[0][0] <= time.monotonic():
            _, _, to, packet = heapq.heappop(held)
            try:
                os.write(to, packet)
            except OSError:
                pass  # a full queue loses it, as others do


class Links:
    def __init__(self, count):
        self.head = Namespace()
        self.head.ip("address", "add", f"{HEAD}/32", "dev", "lo")
        self.all = [Link(self.head, i) for i in range(1, count + 1)]

    def on_all(self, cut, **how):
        heals = [getattr(link, cut)(**how) for link in self.all]
        return lambda: [heal() for heal in heals]


def why_not():
    """Null where links can be made and cut."""
    if os.geteuid() != 0:
        return "only root may make network namespaces"
    for tool in ("ip", "nft", "ss", "tc"):
        if shutil.which(tool) is None:
            return f"no {tool} here (Debian: iproute2, nftables)"
    if not os.path.exists("/dev/net/tun"):
        return "no /dev/net/tun here"
    try:
        for cut in ("down", "lose", "narrow", "reset", "delay"):
            Links(1).on_all(cut)()
    except OSError as error:
        return str(error)
    return None
