// One GPU: copies, what the CPU waits for, compiled code, and memory over time.
import { chart, color, hint } from "./chart.js";
import { element, section } from "./dom.js";
import { axisText, bytes, duration } from "./numbers.js";
import { dataTable, records } from "./table.js";

export function copiesSection(data) {
  if ((data.tables.copies?.rows.length ?? 0) === 0) return undefined;
  return section("copies", "Memory copies",
    dataTable(data, "copies", [["name", "Copy"], ["count", "Count"], ["total_ns", "Time"], ["bytes", "Bytes"], ["gb_per_s", "GB/s", { meaning: "Bytes over time, of the copies that tell their size." }]], { sortBy: "total_ns" }));
}

export function hostSection(data) {
  if ((data.tables.host_calls?.rows.length ?? 0) === 0) return undefined;
  return section("host-calls", "Calls of the CPU",
    element("p", { class: "soft" }, "Calls of the runtime and the driver. A call that waits for the GPU costs the idle time after it, not its own length."),
    dataTable(data, "host_calls", [["name", "Call"], ["count", "Count"], ["total_ns", "Time"], ["longest_ns", "Longest"], ["in_steps", "In steps", { meaning: "Calls within the steps; the profiler itself waits for the GPU after the last one." }], ["waits_for_gpu", "Waits for the GPU"],
      ["idle_after_ns", "GPU idle after it"], ["profiler_ns", "The profiler's own", { meaning: "The profiler waits for the GPU as it ends the recording. That costs the program nothing." }]], { sortBy: "total_ns" }));
}

const kEvents = { cache_lookup: "cache look-up", prologue: "prologue", forward: "forward", backward: "backward", graph_call: "call of the compiled graph", compilation: "compilation" };

export function compiledSection(data) {
  const has = (name) => (data.tables[name]?.rows.length ?? 0) > 0;
  if (!["compiled_regions", "compile_events", "triton_kernels", "graph_launches"].some(has)) return undefined;
  const shown = (name, title, columns, options) => (has(name) ? [element("h3", {}, title), dataTable(data, name, columns, options)] : []);
  return section("compiled", "Compiled code",
    element("p", { class: "soft" }, "What torch.compile made. Before each call of a region its guards are checked (cache look-up) and its inputs prepared (prologue): CPU time that a step pays each time."),
    ...shown("compiled_regions", "Regions", [["name", "Region"], ["calls", "Calls"], ["nested", "After a graph break"], ["host_ns", "CPU"], ["gpu_ns", "GPU"],
      ["cache_lookup_ns", "Cache look-up"], ["prologue_ns", "Prologue"], ["recompiled", "Recompiled"]], { sortBy: "host_ns" }),
    ...shown("compile_events", "Compile events", [["event", "What", { text: (row) => kEvents[row.event] ?? row.event }], ["name", "Name", { cut: true }], ["count", "Count"], ["host_ns", "CPU"], ["gpu_ns", "GPU"]], { sortBy: "host_ns" }),
    ...shown("triton_kernels", "Triton kernels", [["name", "Kernel", { cut: true }], ["by_compiler", "By the compiler"], ["count", "Count"], ["sum_ns", "Time"], ["file", "Source", { cut: true }]], { sortBy: "sum_ns" }),
    ...shown("graph_launches", "CUDA graphs", [["name", "Call"], ["launches", "Launches"], ["gpu_rows", "GPU rows each"], ["busy_ns", "GPU busy"]], { sortBy: "busy_ns" }));
}

function memoryOption(rows) {
  const series = [["allocated_bytes", "Allocated", "compute"], ["reserved_bytes", "Reserved", "transfer"]].filter(([name]) => rows.some((row) => row[name] > 0));
  return {
    grid: { left: 72, right: 16, top: 34, bottom: 72 },
    legend: {},
    tooltip: { trigger: "item", formatter: ({ data: [at, held], seriesName }) => hint(seriesName, `${bytes(held)} at most from ${duration(at)} on`) },
    xAxis: { type: "value", min: rows[0].start_ns, axisLabel: { formatter: axisText((ns) => duration(Math.round(ns))), hideOverlap: true, showMaxLabel: false }, name: "since the first event of the trace", nameLocation: "middle", nameGap: 26 },
    yAxis: { type: "value", min: 0, axisLabel: { formatter: axisText(bytes) } },
    dataZoom: [{ type: "slider", bottom: 4, height: 16, filterMode: "none", showDetail: false, brushSelect: false }],
    series: series.map(([name, label, colorName]) => ({ name: label, type: "line", step: "end", symbol: "circle", symbolSize: 3, color: color(colorName), data: rows.map((row) => [row.start_ns, row[name]]) })),
  };
}

export function memorySection(data) {
  const devices = data.tables.memory === undefined ? [] : records(data.tables.memory);
  if (devices.length === 0) return undefined;
  const over = records(data.tables.memory_over_time);
  const nameOf = (row) => (row.device === null ? "CPU" : `GPU ${row.device}`);
  const charts = devices.flatMap((device) => {
    const rows = over.filter((row) => row.device === device.device);
    return rows.length < 2 ? [] : [element("h3", {}, `${nameOf(device)}: at most ${bytes(device.peak_allocated_bytes)} allocated, at ${duration(device.peak_at_ns)}`),
      chart(`Memory of ${nameOf(device)} over time`, 240, () => memoryOption(rows))];
  });
  return section("memory", "Memory",
    element("p", { class: "soft" }, "What PyTorch's allocators held (profile_memory). Reserved is what they took from the device; allocated is what tensors use of it."),
    ...charts,
    dataTable(data, "memory", [["device", "Device", { text: nameOf }], ["allocations", "Allocations"], ["frees", "Frees"], ["first_allocated_bytes", "At first"], ["peak_allocated_bytes", "Most allocated"],
      ["peak_reserved_bytes", "Most reserved"], ["peak_at_ns", "Peak at"], ["last_allocated_bytes", "At last"]]),
    element("h3", {}, "What was allocated at the peak"),
    dataTable(data, "memory_at_peak", [["device", "Device", { text: nameOf }], ["operator", "Allocated by", { cut: true, text: (row) => (row.recorded ? row.operator ?? "outside every operator" : "before the recording began") }], ["blocks", "Blocks"], ["bytes", "Bytes"]], { sortBy: "bytes" }));
}
