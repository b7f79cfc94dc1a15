"""What `skewscope ship` takes of a processor for each GB that it sends, over HTTP and over TLS, to a daemon on loopback.

Of the agent's own process: what it reads, checks, hashes, compresses, encrypts and hands to the kernel. Each run sends one
real trace (enlarged; without real ones a simulated one) to a job of its own, so that nothing is there before."""
import shutil
import signal
import subprocess
from pathlib import Path

from harness import MB, SKEWSCOPE, WORK, keep, measure, median, run, table
from inputs import mixes

SPOOL, KEYS = WORK / "agent_spool", WORK / "agent_keys"


class Gatherer:
    """On a fresh spool; `flags` say whom it lets in."""

    def __init__(self, *flags):
        shutil.rmtree(SPOOL, ignore_errors=True)
        SPOOL.mkdir(parents=True)
        self.process = subprocess.Popen([SKEWSCOPE, "gather", "--spool", SPOOL, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0",
                                         *flags], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = self.process.stdout.readline().split("ready on ")[1].split()[0]

    def received(self, job):
        """Bytes of the one file of the job."""
        return sum(path.stat().st_size for path in (SPOOL / "jobs" / job / "ranks").rglob("r0*"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        shutil.rmtree(SPOOL)


def with_tls():
    """Flags of the daemon; flags of the agent for a job."""
    shutil.rmtree(KEYS, ignore_errors=True)
    KEYS.mkdir()
    certificate, key, secret = KEYS / "head.pem", KEYS / "head.key", KEYS / "keys"
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
        "/CN=head", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate, stderr=subprocess.DEVNULL)
    secret.write_text("5e" * 32 + "\n")
    secret.chmod(0o600)

    def agent(job):
        token = KEYS / "token"
        with open(token, "w") as out:
            subprocess.run([SKEWSCOPE, "gather", "--token-key-file", secret, "--mint-token", job], check=True, stdout=out)
        token.chmod(0o600)
        return ["--ca", certificate, "--token-file", token]
    return ["--certificate", certificate, "--private-key", key, "--token-key-file", secret], agent


def cost(folder, rounds):
    """CPU seconds for each GB sent, over HTTP and over TLS; GB sent; peak MB; median of the rounds."""
    tls, for_job = with_tls()
    found = {}
    for way, flags in (("http", ["--insecure-local"]), ("https", tls)):
        runs = []
        with Gatherer(*flags) as gatherer:
            for number in range(rounds):
                job = f"round{number}"
                state = WORK / "agent_state"
                shutil.rmtree(state, ignore_errors=True)
                run("cat", *filter(Path.is_file, folder.iterdir()))  # as a job leaves it: in memory
                one = measure(SKEWSCOPE, "ship", folder, "--to", gatherer.url, "--job", job, "--world-size", 8, "--once", "--quiet",
                              "--rate", "100G", "--cpu", 0, "--state", state, *(for_job(job) if way == "https" else []))
                sent = gatherer.received(job)
                runs.append({"per_gb": one["cpu_s"] / sent * 1e9, "sent_gb": sent * 1e-9, "peak_mb": one["peak_bytes"] / MB})
        found[way] = {key: median(runs, key) for key in runs[0]}
    return found


def main(options):
    rows, figures = [], {}
    for label, folder in mixes().items():
        if "1 file" not in label:
            continue
        found = cost(folder, options.rounds)
        rows.append([label, f"{sum(file.stat().st_size for file in folder.iterdir()) / 1e9:.2f}", f"{found['http']['sent_gb']:.2f}",
                     f"{found['http']['per_gb']:.1f}", f"{found['https']['per_gb']:.1f}",
                     f"{max(one['peak_mb'] for one in found.values()):.0f}"])
        for way, one in found.items():
            figures[f"{label}: CPU s per GB sent, {way}"] = one["per_gb"]
    keep("agent", "Agent", "Seconds of a processor that `skewscope ship` takes for each GB it sends to a daemon on loopback; medians of "
         f"{options.rounds} rounds. Plain JSON goes as gzip: a GB of it is 12 to 20 GB of text.\n\n" +
         table(["trace", "file GB", "sent GB", "CPU s/GB, HTTP", "CPU s/GB, TLS", "peak MB"], rows), figures)
