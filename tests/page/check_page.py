#!/usr/bin/env python3
"""index.html of whole reports in a real Chromium.

usage: check_page.py PROGRAM CASE      one of the functions below that begin with "case_"; exit code 77: skipped
       check_page.py PROGRAM --measure INDEX.HTML     first paint and time until all charts are drawn
"""
import csv
import io
import json
import os
import re
import sys
import tempfile
from pathlib import Path

import chromium
import page_data
from simulated_pages import compared, expect, expect_quiet, report, run, scaled, simulate, simulated, text_of

SKIPPED = 77
TRACES = Path(os.environ.get("SKEWSCOPE_TRACES", Path(__file__).resolve().parents[3] / "shared" / "traces"))
PAINT_MS = 2000
PAGE_BYTES = 20e6
HOSTILE = "<img src=x onerror=alert(1)>"
HOSTILE_END = "</script><script>alert(2)</script>"


def expect_all_drawn(browser, page, fewest=8):
    """Every chart, in light and dark, wide and narrow, without a complaint or a request."""
    for width, dark in ((1280, False), (1280, True), (420, False)):
        browser.look(width, 900, dark)
        browser.requests.clear()
        browser.open(page)
        charts = browser.draw_all()
        expect(charts >= fewest, f"{charts} charts")
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
        slips = browser.value("document.body.innerText.match(/NaN|undefined|null|Infinity/g)")
        expect(not slips, f"on the page: {slips}")


AXE = Path(os.environ.get("SKEWSCOPE_AXE", Path(__file__).resolve().parents[2] / "build" / "page" / "node_modules" / "axe-core" / "axe.min.js"))


def expect_accessible(browser, page):
    """axe-core finds no serious and no critical fault, light and dark, with everything unfolded."""
    for dark in (False, True):
        browser.look(1280, 900, dark)
        browser.open(page)
        browser.draw_all()
        browser.value(AXE.read_text() + "; 0")
        faults = browser.value("""axe.run().then((found) => found.violations.filter((one) => ["serious", "critical"].includes(one.impact))
          .map((one) => `${one.id}: ${one.nodes.length} x ${one.nodes[0].html.slice(0, 200)}`))""")
        expect(not faults, f"{page}: {faults}")


def case_axe(program, scratch):
    if not AXE.exists():
        print(f"skipped: no axe-core at {AXE} (scripts/build_page fetches it)")
        return SKIPPED
    simulate(program, scratch / "alone", "--nodes", 1, "--gpus", 1, "--tp", 1, "--steps", 3)
    simulate(program, scratch / "missing", "--nodes", 2, "--gpus", 4, "--tp", 4, "--steps", 6, "--missing-rank", 3)
    simulate(program, scratch / "pipeline", "--nodes", 4, "--gpus", 4, "--tp", 2, "--pp", 4, "--steps", 3, "--slow-rank", "5:1.3")
    pages = [report(program, scratch / name, scratch / f"{name} report") for name in ("alone", "missing", "pipeline")]
    with chromium.Chromium() as browser:
        for page in pages + [scaled(program, scratch) / "index.html", compared(program, scratch) / "index.html"]:
            expect_accessible(browser, page)


def case_reading(program, scratch):
    """The order of the page, its words, its search, its keys, and what is printed."""
    page = simulated(program, scratch)
    with chromium.Chromium() as browser:
        browser.open(page)
        order = browser.value("[...document.querySelectorAll('main > section')].map((section) => section.id)")
        wanted = ["verdict", "gains", "stragglers", "lateness", "breakdown", "collectives", "quality", "clocks", "method", "glossary"]
        expect([name for name in order if name in wanted] == wanted, f"order: {order}")
        expect(browser.value("document.querySelector('#clocks > details').open") is False, "clocks are not folded")
        words = browser.value("[...document.querySelectorAll('#glossary dt')].map((word) => word.textContent)")
        linked = browser.value("document.querySelectorAll('a.term').length")
        expect({"waiting", "transfer", "straggler", "exposed", "idle", "uncertainty"} <= set(words) and linked >= 5, f"glossary: {words}")
        headings = browser.value("[...document.querySelectorAll('th, h2, h3, p.soft')].map((one) => one.textContent).join('\\n')")
        for retired in ("Wait began", "peers' pace", "told apart", "Charged directly", "error bar"):
            expect(retired.lower() not in headings.lower(), f"a retired word: {retired}")
        hints = browser.value("[...document.querySelectorAll('th button')].map((head) => head.title)")
        expect(not [hint for hint in hints if "_" in hint.split(" Click")[0].replace("all_reduce", "")], "a heading explains itself by a field's name")

        found = browser.value("""(() => {
          const search = document.querySelector("#stragglers input[type=search]");
          (search.value = "37", search.dispatchEvent(new Event("input")));
          return [...document.querySelectorAll("#stragglers tbody tr td:first-child")].map((cell) => cell.textContent);
        })()""")
        expect(found == ["37"], f"a search for rank 37 finds {found}")

        browser.draw_all()
        said = []
        browser.value("document.querySelector('#lateness .chart').focus()")
        for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
            browser.press(key)
            said.append(text_of(browser, "#chart-says"))
        expect(len(set(said)) == 3 and all("rank" in one for one in said), f"the keys say {said}")
        browser.press("Enter")
        expect(text_of(browser, "#lateness p:last-child").startswith("Picked: rank"), "Enter picks no rank")
        expect(browser.value("""[...document.querySelectorAll('.chart')].every((chart) =>
            chart.getAttribute('aria-describedby').split(' ').every((id) => document.getElementById(id)))"""), "a chart refers to no table")

        inner = browser.value("(document.querySelector('#collectives .opener').click(), document.querySelector('#collectives tr.inner').textContent)")
        expect("rank" in inner and "tensor" in text_of(browser, "#collectives tbody"), "a kind of group shows no single group")
        moment = text_of(browser, "#verdict .moment code")
        expect(moment.startswith("skewscope merge ") and moment.endswith("--excerpt straggler"), moment)

        browser.requests.clear()
        browser.look(760, 1000, False)  # as wide as A4
        browser.open(page)
        browser.print_view()
        expect(browser.value("[...document.querySelectorAll('th')].every((head) => head.innerText.trim() !== '')"), "a heading is not printed")
        expect(browser.value("[...document.querySelectorAll('details')].every((one) => one.open)"), "something stays folded on paper")
        empty = browser.value("""[...document.querySelectorAll(".chart")].filter((chart) => ![...chart.querySelectorAll("canvas")].some((canvas) =>
          new Set(new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size > 8)).map((chart) => chart.ariaLabel)""")
        expect(not empty, f"empty on paper: {empty}")
        expect(browser.value("document.documentElement.scrollWidth") <= 760, "cut at the right of the paper")
        expect_quiet(browser, page)


def case_scale(program, scratch):
    folder = scaled(program, scratch)
    document = json.loads((folder / "scale.json").read_text())
    with chromium.Chromium() as browser:
        expect_all_drawn(browser, folder / "index.html", 7)
        says = text_of(browser, ".says")
        expect(says.replace("±", "+-") in " ".join((folder / "summary.txt").read_text().split()), says)
        expect("weak (detected)" in text_of(browser, "#verdict"), "it does not say what was detected")
        shown = text_of(browser, "#tree")
        for run_ in document["runs"]:
            for value in (run_["global"], run_["efficiency"]["transfer"], run_["efficiency"]["orchestration"]):
                expect(f"{value:.3f}" in shown, f"{value:.3f} is not in the tree of efficiencies")
        named = text_of(browser, "#losses")
        worst = max((cause for loss in document["losses"] for cause in loss["causes"]), key=lambda cause: cause["points"])
        expect(f"{worst['op']} in {worst['communicator']}" in named, "the worst cause is not named")
        expect(len(document["projection"]["points"]) > 0 and "95 %" in text_of(browser, "#verdict"), "no projection with its interval")


def case_compare(program, scratch):
    folder = compared(program, scratch)
    with chromium.Chromium() as browser:
        expect_all_drawn(browser, folder / "index.html", 2)
        expect("rank 13, compute" in text_of(browser, "#verdict"), "the rank that got slower is not named")
        expect(text_of(browser, "#rank-changes tbody td") == "13", "the rank that got slower does not stand first")
        links = text_of(browser, "#collective-changes tbody tr")
        document = json.loads((folder / "compare.json").read_text())
        slowest = max((row for row in document["communicators"] if row["part"] == "transfer"), key=lambda row: row["change_ns"])
        expect(17 in slowest["ranks"] and links.startswith(str(slowest["communicator"])), f"the slow link does not stand first: {links}")
        expect("significant" in links, links)
        browser.value("[...document.querySelectorAll('[role=tab]')].forEach((tab) => tab.click())")
        expect("ncclDevKernel" in text_of(browser, "#work-changes"), "no kernels")
        expect_quiet(browser, folder / "index.html")


def case_few(program, scratch):
    """Two sizes of one step each: no errors, no projection; two runs of one step: no significance."""
    for gpus in (2, 4):
        simulate(program, scratch / f"run{gpus}", "--digests", "--nodes", 1, "--gpus", gpus, "--tp", 2, "--steps", 1)
    run(program, "scale", scratch / "run2", scratch / "run4", "-o", scratch / "scaling", "-q", "--cache", "off")
    run(program, "compare", scratch / "run4", scratch / "run4", "-o", scratch / "changes", "-q", "--cache", "off")
    with chromium.Chromium() as browser:
        expect_all_drawn(browser, scratch / "scaling" / "index.html", 4)
        expect("none:" in text_of(browser, "#verdict"), "why there is no projection is not said")
        expect_all_drawn(browser, scratch / "changes" / "index.html", 0)


def case_hostile_runs(program, scratch):
    job = scratch / "job"
    simulate(program, job, "--nodes", 2, "--gpus", 2, "--tp", 2, "--steps", 4, "--compression", "none")
    rename(job, {"TENSOR_MODEL_PARALLEL_GROUP": HOSTILE_END, "DATA_PARALLEL_GROUP": HOSTILE + "\"quoted\" \u2028 {a|b}"})
    simulate(program, scratch / "small", "--nodes", 1, "--gpus", 2, "--tp", 2, "--steps", 4, "--compression", "none")
    rename(scratch / "small", {"TENSOR_MODEL_PARALLEL_GROUP": HOSTILE_END})
    run(program, "report", job, "-o", scratch / HOSTILE, "-q", "--cache", "off")
    run(program, "scale", scratch / "small", scratch / HOSTILE, "-o", scratch / "scaling", "-q", "--cache", "off")
    run(program, "compare", scratch / HOSTILE, job, "-o", scratch / "changes", "-q", "--cache", "off")
    with chromium.Chromium() as browser:
        for page, says in ((scratch / "scaling" / "index.html", HOSTILE), (scratch / "changes" / "index.html", HOSTILE_END)):
            browser.requests.clear()
            browser.open(page)
            browser.draw_all()
            browser.value("[...document.querySelectorAll('[role=tab]')].forEach((tab) => tab.click())")
            browser.hints()
            browser.value("[...document.querySelectorAll('[role=tab]')].reverse().forEach((tab) => tab.click())")
            expect(says in browser.value("document.body.textContent"), f"{says} is not shown as it is")
            expect(browser.value("document.querySelectorAll('img, iframe, object, main script').length") == 0, "a name became an element")
            expect_quiet(browser, page)


def case_links(program, scratch):
    """Peaks only where they are known; a baseline as its own line."""
    simulate(program, scratch / "job", "--digests", "--nodes", 2, "--gpus", 4, "--tp", 4, "--steps", 4)
    baseline = scratch / f"{HOSTILE.replace('/', '')}.txt"
    baseline.write_text("# Collective test starting: all_reduce_perf\n" + "".join(
        f"{2**n} {2**n // 4} float sum -1 42.10 {n:.2f} {1.5 * n:.2f} 0 41.85 {n:.2f} {1.5 * n:.2f} 0\n" for n in range(10, 30)))
    run(program, "report", scratch / "job", "-o", scratch / "plain", "-q", "--cache", "off")
    run(program, "report", scratch / "job", "-o", scratch / "told", "-q", "--cache", "off", "--network-peak", 50, "--baseline", baseline)
    with chromium.Chromium() as browser:
        browser.open(scratch / "plain" / "index.html")
        expect("set it with --network-peak" in text_of(browser, "#collectives"), "it does not say that the network is not known")
        browser.open(scratch / "told" / "index.html")
        browser.requests.clear()
        browser.open(scratch / "told" / "index.html")
        browser.draw_all()
        shown = text_of(browser, "#collectives")
        expect("--network-peak" not in shown and "nccl-tests, out of place" in shown, shown[:400])
        expect("network, 1 GPU a node" in shown, "the link of the data-parallel groups is not named")
        expect_quiet(browser, scratch / "told" / "index.html")


def case_picked(program, scratch):
    page = simulated(program, scratch)
    with chromium.Chromium() as browser:
        browser.open(page)
        browser.draw_all()
        box = browser.value("""(() => {
          const chart = document.querySelector("#lateness .chart");
          chart.scrollIntoView({block: "center"});
          const box = chart.getBoundingClientRect();
          return [box.x + box.width / 2, box.y + box.height / 2];
        })()""")
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            browser.ask("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)
        picked = text_of(browser, "#lateness p:last-child")
        rank = browser.value("document.querySelector('#ranks select').value")
        expect(picked.startswith(f"Picked: rank {rank},"), f"{picked}; One rank shows {rank}")
        expect_quiet(browser, page)


def case_timeline(program, scratch):
    """Any step of chosen ranks, with names; moments, zoom and keys; the grid of ranks; who waited for whom."""
    page = simulated(program, scratch)
    with chromium.Chromium() as browser:
        browser.open(page)
        browser.draw_all()
        says = text_of(browser, "#timeline")
        expect("of 128 ranks" in says and "an even sample" in says, says[:300])
        expect(re.search(r"\b37 \(culprit\)", says), "the slow rank has no lane")
        words = lambda: text_of(browser, "#chart-says")
        browser.value("document.querySelector('#timeline .chart').focus()")
        said = []
        for key in ("ArrowRight", "ArrowRight", "ArrowDown", "+", "PageDown"):
            browser.press(key)
            said.append(words())
        expect(len(set(said)) == 5 and said[0].startswith("rank "), f"the keys say {said}")
        browser.press("Home")
        whole = words()
        browser.press("+")
        expect(whole != words(), f"+ does not zoom in: {whole}")
        hints = browser.hints_of("#timeline .chart")
        expect(any("instance " in hint and "tensor" in hint for hint in hints), f"no hint names an instance and its group: {hints}")
        expect(any("nvjet" in hint or "kernel" in hint for hint in hints), f"no hint names a kernel: {hints}")

        browser.value("document.querySelector('#stragglers tbody a[href=\"#timeline\"]').click()")
        expect("rank 37" in text_of(browser, "#timeline p[aria-live]"), "a straggler leads to no moment of the timeline")
        browser.value("[...document.querySelectorAll('#ranks [role=tab]')].find((tab) => tab.textContent === 'Kernels').click()")
        ratio = browser.value("document.querySelector('#ranks tbody tr td:last-child').textContent")
        expect(1.28 < float(ratio) < 1.32, f"the kernels of rank 37 take {ratio} times those of others, not 1.3")

        expect(text_of(browser, "#grid h2") == "Ranks by parallel group: pipeline 2 × data 8 × tensor 8", text_of(browser, "#grid h2"))
        expect("Node × node" == text_of(browser, "#matrix h2"), text_of(browser, "#matrix h2"))
        rows = browser.value("[...document.querySelectorAll('#matrix tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent))")
        pairs = [(int(row[0][4:]), int(row[1][4:])) for row in rows if row[3].endswith("MB")]
        expect(pairs and all(abs(a - b) == 8 for a, b in pairs), f"messages go between stages, 8 nodes apart, not {pairs}")
        expect_quiet(browser, page)


def case_simulated(program, scratch):
    with chromium.Chromium() as browser:
        expect_all_drawn(browser, simulated(program, scratch))


def case_modules(program, scratch):
    """Communication by module; exposed communication that blocks beside what coincides; gains that are bounds say so."""
    simulate(program, scratch / "job", "--nodes", 1, "--gpus", 4, "--tp", 1, "--fsdp", "--slow-host", "1:4", "--steps", 3)
    recorded = Path(__file__).resolve().parents[1] / "data" / "real" / "ddp_slow_rank"
    with chromium.Chromium() as browser:
        page = report(program, scratch / "job", scratch / "report")
        browser.open(page)
        browser.draw_all()
        by_module = text_of(browser, "#overlap")
        expect("By module" in by_module and "layers.0" in by_module and "layers.7" in by_module, "no modules")
        ranks = json.loads((scratch / "report" / "report.json").read_text())["ranks"]
        exposed, blocking = (sum(rank[f"{part}_communication_ns"] for rank in ranks) for part in ("exposed", "blocking"))
        expect(f"({100 * blocking / exposed:.0f} %) blocks computing" in text_of(browser, "#held-up").replace("\u202f", " "),
               text_of(browser, "#held-up"))
        expect_quiet(browser, page)
        browser.requests.clear()
        page = report(program, recorded, scratch / "recorded")
        browser.open(page)
        expect("at least 67" in text_of(browser, "#gains"), "a bound of what can be won does not say so")
        expect("at least" in text_of(browser, "#stragglers"), "a bound of what a rank saves does not say so")
        expect("or less" in text_of(browser, "#efficiency"), "a bound of the replayed length does not say so")
        expect_quiet(browser, page)


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
    large = page_data.Page(page)
    grid = large.data["map"]
    grid["ranks"] = list(range(ranks))
    rows = [page_data.unpack(row) for row in grid["mean_ns"]]
    grid["mean_ns"] = [page_data.pack(rows[r % len(rows)][s % len(rows[0])] for s in range(steps)) for r in range(ranks)]
    grid["columns"] = [[s, s, s * 1000] for s in range(steps)]
    for name in ("ranks", "stragglers", "clocks"):
        rows = large.rows(name)
        large.set_rows(name, [[r, *rows[r % len(rows)][1:]] for r in range(ranks)])
    for name in ("collectives", "blame_flows", "rank_statistics", "causes"):
        rows = large.rows(name)
        large.set_rows(name, [rows[r % len(rows)] for r in range(2000)])
    large.write()


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
