"""Simulated jobs with their pages, and what is expected of any."""
import json
import subprocess
import urllib.parse


def run(*command):
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)


def simulate(program, folder, *options):
    run(program, "simulate", "-o", folder, "-q", *options)


def report(program, traces, folder):
    run(program, "report", traces, "-o", folder, "-q", "--rank-tables", "gpu", "--cache", "off")
    return folder / "index.html"


def simulated(program, scratch):
    simulate(program, scratch / "job", "--digests", "--nodes", 16, "--gpus", 8, "--tp", 8, "--pp", 2, "--steps", 10,
             "--slow-rank", "37:1.3", "--host-gap", "90:4", "--clock-offset-ms", 20)
    return report(program, scratch / "job", scratch / "report")


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def expect_quiet(browser, page):
    expect(not browser.problems, f"the page complained: {browser.problems}")
    expect([urllib.parse.unquote(url) for url in browser.requests] == [f"file://{page}"], f"the page asked for {browser.requests}")


def scaled(program, scratch):
    """One job on 8, 16, 32 and 64 GPUs, whose link gets slower with the size."""
    runs = [scratch / f"run{8 * nodes}" for nodes in (1, 2, 4, 8)]
    for nodes, run_ in zip((1, 2, 4, 8), runs):
        simulate(program, run_, "--digests", "--nodes", nodes, "--gpus", 8, "--tp", 4, "--steps", 6, "--slow-link", f"3:{nodes}")
    run(program, "scale", *runs, "-o", scratch / "scaling", "-q", "--cache", "off")
    return scratch / "scaling"


def compared(program, scratch):
    """Two runs on 32 GPUs; in the second rank 13 computes longer and the link of rank 17 is slow."""
    common = ("--digests", "--nodes", 4, "--gpus", 8, "--tp", 8, "--steps", 8)
    simulate(program, scratch / "yesterday", *common)
    simulate(program, scratch / "today", *common, "--slow-rank", "13:1.3", "--slow-link", "17:2", "--seed", 2)
    run(program, "compare", scratch / "yesterday", scratch / "today", "-o", scratch / "changes", "-q", "--cache", "off", "--rank-tables", "gpu")
    return scratch / "changes"


def text_of(browser, selector):
    return browser.value(f"document.querySelector({json.dumps(selector)}).textContent")
