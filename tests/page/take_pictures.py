#!/usr/bin/env python3
"""Pictures of the seven kinds of page, each in light, dark, 420 pixels wide and on paper, for people to look at.

usage: take_pictures.py PROGRAM [FOLDER]     FOLDER: default page_pictures in the build folder; exit code 77: skipped

Fails where a page is wider than its window, a chart is not drawn, a figure slips, or dark is not dark.
"""
import re
import sys
import tempfile
from pathlib import Path

import chromium
from check_gpu_page import one_gpu
from check_page import SKIPPED
from simulated_pages import compared, expect, report, scaled, simulate

LOOKS = {"light": (1280, False), "dark": (1280, True), "narrow": (420, False), "paper": (1000, False)}


def pages(program, scratch):
    simulate(program, scratch / "job", "--nodes", 2, "--gpus", 8, "--tp", 4, "--steps", 3, "--slow-rank", "5:1.3", "--host-gap", "9:2")
    simulate(program, scratch / "pipeline", "--nodes", 2, "--gpus", 4, "--tp", 1, "--pp", 4, "--steps", 3)
    simulate(program, scratch / "no_gpu", "--nodes", 2, "--gpus", 2, "--tp", 1, "--steps", 3, "--vendor", "cpu")
    simulate(program, scratch / "one_of_many", "--nodes", 1, "--gpus", 1, "--tp", 1, "--steps", 3)
    found = {name: report(program, scratch / name, scratch / f"{name} report") for name in ("job", "pipeline", "no_gpu", "one_of_many")}
    return {**found, "scaling": scaled(program, scratch) / "index.html", "comparison": compared(program, scratch) / "index.html",
            "one_gpu": one_gpu(program, scratch)}


def main():
    program = sys.argv[1]
    if chromium.PROGRAM is None:
        print("skipped: no chromium (apt-get install chromium)")
        return SKIPPED
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else Path(program).resolve().parents[2] / "page_pictures")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="skewscope-pictures-") as scratch, chromium.Chromium() as browser:
        for kind, page in pages(program, Path(scratch)).items():
            bright = {}
            for look, (width, dark) in LOOKS.items():
                browser.look(width, 900, dark)
                browser.open(page)
                browser.draw_all()
                waiting = browser.value("document.querySelectorAll('.chart:not([data-state=drawn])').length")
                expect(waiting == 0, f"{kind}, {look}: {waiting} charts are not drawn")
                if look == "paper":
                    browser.print_view()
                wide = browser.value("document.documentElement.scrollWidth")
                expect(wide <= width, f"{kind}, {look}: {wide} pixels in a window of {width}")
                slips = browser.value("document.body.innerText.match(/NaN|undefined|null|Infinity/g)")
                expect(not slips, f"{kind}, {look}: {slips}")
                browser.screenshot(folder / f"{kind}_{look}.png")
                ground = browser.value("getComputedStyle(document.body).backgroundColor")
                bright[look] = sum(int(number) for number in re.findall(r"\d+", ground)[:3])
            expect(bright["dark"] < 200 < 600 < bright["light"], f"{kind}: the sum of the background's red, green and blue is {bright}")
    print(f"{len(list(folder.glob('*.png')))} pictures in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
