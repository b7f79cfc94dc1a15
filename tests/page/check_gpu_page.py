#!/usr/bin/env python3
"""index.html of one GPU in a real Chromium: usage as check_page.py's."""
import json
import sys
import tempfile
from pathlib import Path

import chromium
from check_page import AXE, SKIPPED, TRACES, expect, expect_accessible, expect_all_drawn, expect_quiet, run, text_of


def one_gpu(program, scratch):
    """One GPU with everything that its page can show: a forward and a backward pass, modules, compiled code, memory."""
    trace = scratch / "one_gpu.json"
    trace.write_text(json.dumps({"deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132, "computeMajor": 9, "computeMinor": 0}],
                                 "distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": gpu_events()}))
    run(program, "rank", trace, "-o", scratch / "one_gpu", "-q", "--force")
    return scratch / "one_gpu" / "index.html"


def gpu_events():
    """Ten layers, one every 100 us; each launches a product of 20 us and an addition of 5 us."""
    events = []

    def host(category, name, start, length, thread=1, **more):
        events.append({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": thread, "ts": start, "dur": length, "args": more})

    def launched(name, start, call, length, category="kernel", **more):
        number = len(events)
        host("cuda_runtime", "cudaMemcpyAsync" if category == "gpu_memcpy" else "cudaLaunchKernel", call, 4, correlation=number)
        events.append({"ph": "X", "cat": category, "name": name, "pid": 0, "tid": 7, "ts": start, "dur": length,
                       "args": {"correlation": number, "device": 0, "stream": 7, "grid": [64, 1, 1], "block": [128, 1, 1],
                                "registers per thread": 32, "blocks per SM": 0.48, "est. achieved occupancy %": 30, **more}})

    def memory(at, size, held):
        events.append({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": at,
                       "args": {"Total Reserved": 2 << 20, "Total Allocated": held, "Bytes": size, "Addr": abs(size) + 7, "Device Id": 0, "Device Type": 1}})

    host("user_annotation", "ProfilerStep#1", 0, 1200)
    host("python_function", "train.py(9): main", 1, 1190)
    host("python_function", "nn.Module: Model_0", 2, 1010)
    host("user_annotation", "forward", 5, 1005)
    held = 1 << 20
    for layer in range(10):
        at = 10 + 100 * layer
        host("python_function", f"nn.Module: Linear_{layer}", at, 80)
        host("cpu_op", "aten::mm", at + 2, 30, **{"Input Dims": [[512, 512], [512, 512]], "Input type": ["c10::BFloat16", "c10::BFloat16"],
                                                "Input Strides": [[512, 1], [512, 1]], "Concrete Inputs": ["", ""], "Sequence number": layer})
        held += 4096
        memory(at + 4, 4096, held)
        host("cuda_runtime", "cudaOccupancyMaxActiveBlocksPerMultiprocessor", at + 6, 1)
        launched("ampere_bf16_gemm", at + 40, at + 8, 20)
        host("cpu_op", "aten::add", at + 40, 20, **{"Input Dims": [[512, 512], [512, 512], []], "Input type": ["float", "float", "Scalar"],
                                                  "Input Strides": [[512, 1], [512, 1], []], "Concrete Inputs": ["", "", "1"]})
        launched("vectorized_elementwise_kernel", at + 70, at + 44, 5)
    host("cpu_op", "TorchDynamo Cache Lookup", 1020, 5)
    host("cpu_op", "Torch-Compiled Region: 0/0", 1030, 60)
    host("cpu_op", "AOTDispatcher Runtime Wrapper Prologue", 1032, 8)
    host("cpu_op", "triton_poi_fused_add_0", 1045, 20)
    launched("triton_poi_fused_add_0", 1080, 1050, 9)
    host("cpu_op", "autograd::engine::evaluate_function: MmBackward0", 1100, 60, 2, **{"Sequence number": 0, "Fwd thread id": 1})
    launched("ampere_bf16_gemm", 1130, 1101, 40)
    events[-2]["tid"] = 2
    launched("Memcpy HtoD (Pageable -> Device)", 1175, 1165, 10, "gpu_memcpy", bytes=4 << 20, **{"memory bandwidth (GB/s)": 400})
    memory(1180, -4096, held - 4096)
    return events


def case_figures(program, scratch):
    """Its sections in their order, figures counted by hand, charts in light, dark and narrow; on paper."""
    page = one_gpu(program, scratch)
    document = json.loads((page.parent / "rank.json").read_text())
    with chromium.Chromium() as browser:
        expect_all_drawn(browser, page, 5)
        order = browser.value("[...document.querySelectorAll('main > section')].map((section) => section.id)")
        wanted = ["verdict", "findings", "timeline", "idle", "categories", "operators", "roofline", "modules", "memory", "copies", "launches", "compiled", "quality", "glossary"]
        expect([name for name in order if name in wanted] == wanted, f"order: {order}")
        says = text_of(browser, ".says").replace("µs", "us")
        expect(says in " ".join((page.parent / "summary.txt").read_text().split()), f"the summary does not say: {says}")
        expect(document["findings"][0]["code"] in text_of(browser, "#findings li"), "the first finding does not stand first")
        operators = text_of(browser, "#operators tbody tr")
        expect("aten::mm" in operators and "200 µs" in operators, f"the longest operator: {operators}")
        browser.value("[...document.querySelectorAll('#operators [role=tab]')].find((tab) => tab.textContent === 'Kernels').click()")
        expect("10" == browser.value("document.querySelector('#operators tbody tr td:last-child').textContent"), "launches after an occupancy query")
        browser.value("[...document.querySelectorAll('#operators [role=tab]')].find((tab) => tab.textContent === 'Forward and backward').click()")
        pair = text_of(browser, "#operators tbody tr")
        expect("aten::mm" in pair and "MmBackward0" in pair and "20 µs" in pair.replace("20.0", "20") and "40.0 µs" in pair, pair)
        browser.value("[...document.querySelectorAll('#operators [role=tab]')].find((tab) => tab.textContent === 'Annotations').click()")
        expect("7.00 µs" in text_of(browser, "#operators tbody"), "from the begin of forward to its first operator")
        browser.value("[...document.querySelectorAll('#operators [role=tab]')].find((tab) => tab.textContent === 'Call stacks').click()")
        expect("train.py(9): main" in text_of(browser, "#operators tbody"), "no call stack")
        module = text_of(browser, "#modules li li")
        expect("Linear_" in module, f"no module within the model: {module}")
        memory = text_of(browser, "#memory")
        expect("1.09 MB" in memory and "aten::mm" in memory and "before the recording began" in memory, memory)
        compiled = text_of(browser, "#compiled")
        expect("5.00 µs" in compiled and "8.00 µs" in compiled, f"cost of a compiled call: {compiled}")
        expect("400" in text_of(browser, "#copies") or "419" in text_of(browser, "#copies"), "rate of the copy")
        expect("waits for the CPU" in text_of(browser, "#idle"), "no cause of idling")
        hints = browser.value("[...document.querySelectorAll('th button')].map((head) => head.title)")
        expect(not [hint for hint in hints if "_" in hint.split(" Click")[0]], "a heading explains itself by a field's name")
        browser.value("document.querySelector('#timeline .chart').focus()")
        for _ in range(3):
            browser.press("ArrowRight")
        expect(" to " in text_of(browser, "#chart-says"), "the keys say nothing of the timeline")
        browser.requests.clear()
        browser.look(760, 1000, False)
        browser.open(page)
        browser.print_view()
        expect(browser.value("document.documentElement.scrollWidth") <= 760, "cut at the right of the paper")
        expect_quiet(browser, page)


def case_axe(program, scratch):
    if not AXE.exists():
        print(f"skipped: no axe-core at {AXE} (scripts/build_page fetches it)")
        return SKIPPED
    with chromium.Chromium() as browser:
        expect_accessible(browser, one_gpu(program, scratch))


def case_real(program, scratch):
    """Traces without steps, without GPU rows, of AMD, with memory: every page draws and slips nowhere."""
    traces = [TRACES / "single" / "tracelens" / "h100_qwen.json.gz", TRACES / "single" / "tracelens" / "mi300_rank0of8_resnet_checkpoint.json.gz",
              TRACES / "single" / "hta" / "rank_non_gpu.json.gz", TRACES / "single" / "hta" / "triton_example.json.gz"]
    if not all(trace.exists() for trace in traces):
        print(f"skipped: no traces in {TRACES}")
        return SKIPPED
    with chromium.Chromium() as browser:
        for trace, charts in zip(traces, (5, 4, 0, 2)):
            folder = scratch / trace.name.split(".")[0]
            run(program, "rank", trace, "-o", folder, "-q")
            expect_all_drawn(browser, folder / "index.html", charts)


def main():
    program, case = sys.argv[1:3]
    if chromium.PROGRAM is None:
        print("skipped: no chromium (apt-get install chromium)")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="skewscope-page-") as scratch:
        return globals()["case_" + case](program, Path(scratch)) or 0


if __name__ == "__main__":
    sys.exit(main())
