#!/usr/bin/env python3
"""index.html of whole reports in a real Chromium.

usage: check_page.py PROGRAM CASE      one of the functions below that begin with "case_"; exit code 77: skipped
       check_page.py PROGRAM --measure INDEX.HTML     first paint and time until all charts are drawn
"""
import csv
import io
import json
import os
import subprocess
import sys
import tempfile
import urllib.parse
from pathlib import Path

import chromium

SKIPPED = 77
TRACES = Path(os.environ.get("SKEWSCOPE_TRACES", Path(__file__).resolve().parents[3] / "shared" / "traces"))
PAINT_MS = 2000
PAGE_BYTES = 20e6
HOSTILE = "<img src=x onerror=alert(1)>"
HOSTILE_END = "</script><script>alert(2)</script>"


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


def expect_all_drawn(browser, page):
    """Every chart, in light and dark, wide and narrow, without a complaint or a request."""
    for width, dark in ((1280, False), (1280, True), (420, False)):
        browser.look(width, 900, dark)
        browser.requests.clear()
        browser.open(page)
        charts = browser.draw_all()
        expect(charts >= 8, f"{charts} charts")
        waiting = browser.value("[...document.querySelectorAll('.chart')].filter((c) => c.dataset.state !== 'drawn').map((c) => c.ariaLabel)")
        expect(not waiting, f"not drawn: {waiting}")
        # A picture of one colour is no chart.
        blank = browser.value("""[...document.querySelectorAll('.chart')].filter((chart) => {
            const canvas = chart.querySelector('canvas');
            const pixels = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer);
            return new Set(pixels).size < 8;
          }).map((chart) => chart.ariaLabel)""")
        expect(not blank, f"empty: {blank}")
        expect(browser.value("document.documentElement.scrollWidth") <= width, f"wider than {width} pixels")
        expect_quiet(browser, page)


def case_simulated(program, scratch):
    with chromium.Chromium() as browser:
        expect_all_drawn(browser, simulated(program, scratch))


def case_dlrm(program, scratch):
    traces = TRACES / "dlrm_8rank"
    if not traces.exists():
        print(f"skipped: no traces at {traces} (set SKEWSCOPE_TRACES)")
        return SKIPPED
    page = report(program, traces, scratch / "report")
    with chromium.Chromium() as browser:
        expect_all_drawn(browser, page)
        summary = (scratch / "report" / "summary.txt").read_text()
        says = browser.value("document.querySelector('.says').textContent")
        expect(says.split(".")[0] in " ".join(summary.split()), says)


def case_odd(program, scratch):
    jobs = {"one rank": ["--nodes", 1, "--gpus", 1, "--tp", 1, "--steps", 3],
            "no GPU rows": ["--vendor", "cpu", "--nodes", 1, "--gpus", 4, "--tp", 2, "--steps", 3],
            "a rank missing": ["--nodes", 2, "--gpus", 4, "--tp", 4, "--steps", 6, "--missing-rank", 3, "--lost-kernels", 0.02]}
    for name, options in jobs.items():
        simulate(program, scratch / name, *options)
        page = report(program, scratch / name, scratch / f"{name} report")
        with chromium.Chromium() as browser:
            browser.open(page)
            browser.draw_all()
            browser.hints()
            expect_quiet(browser, page)
            waiting = browser.value("document.querySelectorAll('.chart:not([data-state=drawn])').length")
            expect(waiting == 0, f"{name}: {waiting} charts are not drawn")
            slips = browser.value("document.body.innerText.match(/NaN|undefined|null|Infinity/g)")
            expect(not slips, f"{name}: {slips}")


def rename(folder, names):
    for path in folder.glob("rank*.json"):
        text = path.read_text()
        for old, new in names.items():
            text = text.replace(f'\\"{old}\\"', json.dumps(json.dumps(new))[1:-1]).replace(f'"{old}"', json.dumps(new))
        path.write_text(text)


def case_hostile(program, scratch):
    job = scratch / HOSTILE
    simulate(program, job, "--nodes", 2, "--gpus", 2, "--tp", 2, "--steps", 4, "--slow-rank", "1:1.5", "--compression", "none")
    events = json.loads(next(job.glob("rank*.json")).read_text())["traceEvents"]
    kernel = next(event["name"] for event in events if event.get("cat") == "kernel" and "nccl" not in event["name"])
    names = {"TENSOR_MODEL_PARALLEL_GROUP": HOSTILE_END, "DATA_PARALLEL_GROUP": HOSTILE_END + "\"quoted\" 'too' \u2028 &amp; {a|b}", kernel: HOSTILE + "k" * 60_000, "node0": HOSTILE + " host"}
    rename(job, names)
    page = report(program, job, scratch / "report")
    expect(page.stat().st_size < 5e6, f"{page.stat().st_size} bytes")
    with chromium.Chromium() as browser:
        browser.open(page)
        browser.draw_all()
        browser.value("[...document.querySelectorAll('[role=tab]')].forEach((tab) => tab.click())")
        browser.value("[...document.querySelectorAll('button')].filter((b) => b.textContent.startsWith('Show all')).forEach((b) => b.click())")
        hints = browser.hints()
        expect(any(HOSTILE_END in hint for hint in hints), f"no hint names the group: {hints}")
        expect(browser.value("document.querySelector('h1').textContent") == HOSTILE, "the job's name is not shown as it is")
        shown = browser.value("document.getElementById('sections').textContent")
        expect(HOSTILE_END in shown, "the group's name is not shown as it is")
        expect(HOSTILE + " host" in shown, "the host's name is not shown as it is")
        expect(HOSTILE + "kkk" in shown, "the kernel's name is not shown as it is")
        expect(browser.value("document.querySelectorAll('img, iframe, object, main script').length") == 0, "a name became an element")
        expect_quiet(browser, page)


def case_policy(program, scratch):
    simulate(program, scratch / "job", "--nodes", 1, "--gpus", 2, "--tp", 2, "--steps", 2)
    page = report(program, scratch / "job", scratch / "report")
    with chromium.Chromium() as browser:
        browser.open(page)
        browser.value("""(async () => {
          document.body.insertAdjacentHTML("beforeend", `<img src="https://example.org/x.png" onerror="window.ran = 1">`);
          const script = document.createElement("script");
          script.textContent = "window.ran = 2";
          document.body.append(script);
          await fetch("https://example.org/").catch(() => {});
          await new Promise((done) => setTimeout(done, 300));
        })()""")
        expect(browser.value("window.ran") is None, "a script of foreign text ran")
        refused = [problem for problem in browser.problems if "Content Security Policy" in problem]
        expect(len(refused) >= 3, f"refused only: {browser.problems}")


def numbers(row):
    """1e-05 and 0.00001 are one number."""
    def value(field):
        try:
            return float(field)
        except ValueError:
            return field
    return [value(field) for field in row]


def case_tables(program, scratch):
    page = simulated(program, scratch)
    with chromium.Chromium() as browser:
        browser.open(page)
        ranks = "[...document.querySelectorAll('#stragglers tbody tr td:first-child')].map((cell) => Number(cell.textContent))"
        click = "[...document.querySelectorAll('#stragglers th button')].find((b) => b.textContent.startsWith('Rank')).click()"
        browser.value(click)
        down = browser.value(ranks)
        expect(down == sorted(down, reverse=True) and len(down) == 25, f"not sorted down: {down}")
        browser.value(click)
        up = browser.value(ranks)
        expect(up == sorted(up) and up != down, f"not sorted up: {up}")
        browser.value("""[...document.querySelectorAll('#stragglers button')].find((b) => b.textContent.startsWith('Show all')).click()""")
        copied = browser.value("""(() => {
          let text = "";
          navigator.clipboard.writeText = (given) => { text = given; return Promise.resolve(); };
          [...document.querySelectorAll('#stragglers button')].find((b) => b.textContent === 'Copy as CSV').click();
          return text;
        })()""")
        with open(scratch / "report" / "tables" / "stragglers.csv", newline="") as file:
            expected = sorted(csv.reader(file), key=lambda row: (row[0].isdigit(), int(row[0]) if row[0].isdigit() else 0))
        expect([numbers(row) for row in csv.reader(io.StringIO(copied))] == [numbers(row) for row in expected],
               "what is copied is not tables/stragglers.csv by rank")
        expect(len(browser.value(ranks)) == len(expected) - 1, "not all rows are shown")
        expect_quiet(browser, page)


def enlarged(page, ranks, steps):
    """The page of a job of as many ranks and steps: rows and columns of this one's, again and again."""
    text = page.read_text()
    begin = text.index('id="data">') + len('id="data">')
    end = text.index("</script>", begin)
    data = json.loads(text[begin:end])
    grid = data["map"]
    grid["ranks"] = list(range(ranks))
    rows = grid["mean_ns"]
    grid["mean_ns"] = [[rows[r % len(rows)][s % len(rows[0])] for s in range(steps)] for r in range(ranks)]
    grid["columns"] = [[s, s, s * 1000] for s in range(steps)]
    for name in ("ranks", "stragglers", "clocks"):
        rows = data["tables"][name]["rows"]
        data["tables"][name]["rows"] = [[r, *rows[r % len(rows)][1:]] for r in range(ranks)]
    for name in ("collectives", "blame_flows", "rank_statistics", "causes"):
        rows = data["tables"][name]["rows"]
        data["tables"][name]["rows"] = [rows[r % len(rows)] for r in range(2000)]
    page.write_text(text[:begin] + json.dumps(data).replace("<", "\\u003c") + text[end:])


def measured(page):
    with chromium.Chromium() as browser:
        browser.open(page)
        paint = browser.value("""new Promise((done) => {
          const seen = () => performance.getEntriesByName("first-contentful-paint")[0];
          const look = () => (seen() ? done(seen().startTime) : setTimeout(look, 10));
          look();
        })""")
        begin = browser.value("performance.now()")
        browser.draw_all()
        drawn = browser.value("performance.now()") - begin
        expect_quiet(browser, page)
    return paint, drawn


def case_large(program, scratch):
    page = simulated(program, scratch)
    enlarged(page, 1024, 100)
    size = page.stat().st_size
    paint, drawn = measured(page)
    print(f"{size / 1e6:.2f} MB, first paint {paint:.0f} ms, all charts {drawn:.0f} ms")
    expect(size < PAGE_BYTES, "the page is too large")
    expect(paint < PAINT_MS, "the first paint is late")


def main():
    program, case = sys.argv[1:3]
    if chromium.PROGRAM is None:
        print("skipped: no chromium (apt-get install chromium)")
        return SKIPPED
    if case == "--measure":
        page = Path(sys.argv[3]).resolve()
        paint, drawn = measured(page)
        print(f"{page.stat().st_size / 1e6:.2f} MB, first paint {paint:.0f} ms, all charts {drawn:.0f} ms")
        return 0
    with tempfile.TemporaryDirectory(prefix="skewscope-page-") as scratch:
        return globals()["case_" + case](program, Path(scratch)) or 0


if __name__ == "__main__":
    sys.exit(main())
