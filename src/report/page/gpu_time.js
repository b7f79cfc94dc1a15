// One GPU over time: the strip of its timeline, its steps, its streams, and the depth of its launch queues.
import { chart, color, hint, key } from "./chart.js";
import { element, folded, section } from "./dom.js";
import { kGpuParts, withOtherIdle } from "./gpu_summary.js";
import { axisText, duration, percent, significant } from "./numbers.js";
import { dataTable, records, table } from "./table.js";

const timeAxis = (from, to) => ({ type: "value", min: from, max: to, axisLabel: { formatter: axisText((ns) => duration(Math.round(ns))), hideOverlap: true, showMaxLabel: false },
  name: "since the first event of the trace", nameLocation: "middle", nameGap: 26 });
const zoom = [{ type: "slider", bottom: 4, height: 16, filterMode: "weakFilter", showDetail: false, brushSelect: false }];

// A bar of the strip: what part of its time went to what, one on the other.
function drawBar(api, fill) {
  const [from, to, below, above] = [0, 1, 2, 3].map((dimension) => api.value(dimension));
  const [left, bottom] = api.coord([from, below]), [right, top] = api.coord([to, above]);
  const x = Math.floor(left);
  return { type: "rect", shape: { x, y: top, width: Math.max(1, Math.ceil(right) - x), height: bottom - top }, style: { fill } };
}

function stripOption(rows, parts) {
  const below = rows.map(() => 0);
  const stacks = parts.map(([name]) => rows.map((row, at) =>
    [row.start_ns, row.start_ns + row.length_ns, below[at], below[at] += row[name] / Math.max(1, row.length_ns)]));
  return {
    grid: { left: 56, right: 16, top: 10, bottom: 72 },
    tooltip: { trigger: "item", formatter: ({ dataIndex }) => {
      const row = rows[dataIndex];
      return hint(`${duration(row.start_ns)} to ${duration(row.start_ns + row.length_ns)}`,
        ...parts.filter(([name]) => row[name] > 0).map(([name, label]) => `${label}: ${duration(row[name])}, ${percent(row[name] / row.length_ns)}`));
    } },
    xAxis: timeAxis(rows[0].start_ns, rows[rows.length - 1].start_ns + rows[rows.length - 1].length_ns),
    yAxis: { type: "value", min: 0, max: 1, axisLabel: { formatter: (share) => percent(share) } },
    dataZoom: zoom,
    series: parts.map(([, label, colorName], at) => ({ name: label, type: "custom", encode: { x: [0, 1], y: [2, 3] }, clip: true, data: stacks[at],
      renderItem: (_, api) => drawBar(api, color(colorName)) })),
  };
}

function stepsTable(rows) {
  const steps = rows.filter((row) => row.step !== null || row.place !== null);
  if (steps.length === 0) return [];
  const columns = [{ name: "step", label: "Step", text: (row) => (row.step === null ? `${row.place} the steps` : String(row.step)) },
    { name: "total_ns", label: "On the GPU" }, { name: "host_ns", label: "On the CPU", meaning: "Length of the step on the host." }, { name: "gpu_rows", label: "GPU rows" },
    ...kGpuParts.filter(([name]) => steps.some((row) => row[name] > 0)).map(([name, label]) => ({ name, label,
      share: (row) => (row.total_ns > 0 ? row[name] / row.total_ns : 0) }))];
  return [element("h3", {}, "Steps"), element("p", { class: "soft" }, "A step is what was launched in it, as it ran on the GPU."),
    table({ columns, rows: steps, copied: ["step", "place", "total_ns", "host_ns", "gpu_rows", ...kGpuParts.map(([name]) => name)], caption: "Steps" })];
}

export function gpuTimelineSection(data) {
  const rows = records(data.tables.timeline).map(withOtherIdle);
  const bins = records(data.tables.timeline_over_time).map(withOtherIdle);
  if (bins.length === 0) return section("timeline", "Timeline", element("p", {}, "The trace holds no GPU rows."));
  const parts = kGpuParts.filter(([name]) => bins.some((row) => row[name] > 0));
  return section("timeline", "Timeline",
    element("p", { class: "soft" }, `The trace in ${bins.length} equal parts: what the GPU did in each. Every moment belongs to one part. Short gaps: under 30 µs before a kernel that was launched in time.`),
    element("div", { class: "bar" }, ...parts.map(([, label, colorName]) => key(colorName, label))),
    chart("Timeline of the GPU", 240, () => stripOption(bins, parts)),
    folded("The same as a table", table({ columns: [{ name: "start_ns", label: "From" }, { name: "length_ns", label: "Length" }, ...parts.map(([name, label]) => ({ name, label, share: (row) => row[name] / Math.max(1, row.length_ns) }))],
      rows: bins, copied: data.tables.timeline_over_time.columns, caption: "Timeline of the GPU", sortBy: "idle_ns" })),
    ...stepsTable(rows));
}

export function idleSection(data) {
  const streams = records(data.tables.streams);
  if (streams.length === 0) return undefined;
  return section("idle", "Idle time by cause",
    element("p", { class: "soft" }, "A gap of a stream waits for the CPU where the next kernel was launched after the gap began (launch-bound); "
      + "for its kernel where it was launched in time and started within 30 µs; else for another stream, an event or another process."),
    dataTable(data, "streams", [["device", "Device"], ["stream", "Stream"], ["gpu_rows", "GPU rows"], ["busy_ns", "Busy"], ["host_wait_ns", "Waits for the CPU"],
      ["kernel_wait_ns", "Waits for its kernel"], ["other_ns", "Another cause"]], { sortBy: "busy_ns" }),
    element("h3", {}, "Gaps"),
    dataTable(data, "gaps", [["device", "Device"], ["stream", "Stream"], ["cause", "Cause", { text: (row) => ({ host_wait: "waits for the CPU", kernel_wait: "waits for its kernel" })[row.cause] ?? "another" }],
      ["count", "Gaps"], ["total_ns", "In all"], ["median_ns", "Median"], ["most_ns", "Longest"]], { rows: records(data.tables.gaps).filter((row) => row.count > 0), sortBy: "total_ns" }));
}

const kPathWords = { host_operator: "operators on the CPU", runtime_call: "calls of the runtime", between_operators: "CPU between operators", launch_delay: "launch delay", computation: "computing",
  communication: "communication", copy: "copies", kernel_delay: "delay between kernels", synchronization: "synchronization", unexplained: "unexplained" };
const kindColumn = ["kind", "What", { text: (row) => kPathWords[row.kind] ?? row.kind }];

// All steps together.
function pathByKind(rows) {
  const sums = new Map();
  for (const row of rows) sums.set(row.kind, (sums.get(row.kind) ?? 0) + row.time_ns);
  const all_ns = rows.reduce((sum, row) => sum + row.time_ns, 0);
  return [...sums].map(([kind, time_ns]) => ({ kind, time_ns, share: time_ns / Math.max(1, all_ns) })).sort((a, b) => b.time_ns - a.time_ns);
}

// As TensorBoard's plugin has it: what runs first in this order takes the moment.
const kExecution = [["kernel_ns", "Kernels"], ["memcpy_ns", "Copies"], ["memset_ns", "Fills"], ["communication_ns", "Communication"], ["runtime_ns", "Runtime calls"],
  ["data_loader_ns", "Data loader"], ["cpu_ns", "CPU operators"], ["other_ns", "Other"]];

export function executionSection(data) {
  const rows = data.tables.execution_summary === undefined ? [] : records(data.tables.execution_summary);
  if (rows.length === 0) return undefined;
  const parts = kExecution.filter(([name]) => name === "data_loader_ns" || rows.some((row) => row[name] > 0));
  const step = ["step", "Step", { text: (row) => (row.step === null ? "trace" : String(row.step)) }];
  const share = (name) => ({ share: (row) => row[name] / Math.max(1, row.length_ns), text: (row) => `${duration(row[name])} · ${percent(row[name] / Math.max(1, row.length_ns))}` });
  return section("execution", "Execution summary",
    element("p", { class: "soft" }, "GPU and CPU in one row, as TensorBoard has it: each moment of a step counts once, for the first of these columns that applies. Data loader: the step waited for its next batch and nothing of the columns before ran."),
    dataTable(data, "execution_summary", [step, ["length_ns", "Length"], ...parts.map(([name, label]) => [name, label, share(name)]),
      ["in_data_loader_ns", "In the data loader", { meaning: "Whatever else ran meanwhile." }]], {}));
}

export function pathSection(data) {
  const rows = data.tables.critical_path === undefined ? [] : pathByKind(records(data.tables.critical_path));
  if (rows.length === 0) return undefined;
  const share = ["share", "Share", { share: (row) => row.share, text: (row) => percent(row.share), meaning: "Part of the length of all steps." }];
  const profiler_ns = records(data.tables.critical_path).reduce((sum, row) => sum + row.profiler_ns, 0);
  return section("path", "Critical path",
    element("p", { class: "soft" }, "At every moment of a step, the one thing that the program was waiting for. Only what lies on it makes the step longer."),
    dataTable(data, "critical_path", [kindColumn, ["time_ns", "Time"], share], { rows, copied: undefined }),
    profiler_ns > 0 ? element("p", {}, `${duration(profiler_ns)} of these delays are the profiler's, which refilled its own buffers.`) : undefined,
    element("h3", {}, "What took most of it"),
    dataTable(data, "critical_path_names", [["name", "Name", { cut: true, text: (row) => row.name ?? "–" }], kindColumn, ["count", "Times"], ["time_ns", "Time"], share], { sortBy: "time_ns" }));
}

function queueOption(rows, streams) {
  return {
    grid: { left: 56, right: 16, top: 34, bottom: 72 },
    legend: {},
    tooltip: { trigger: "item", formatter: ({ data: [at, depth], seriesName }) => hint(seriesName, `at ${duration(at)}: ${significant(depth)} launched and not yet started`) },
    xAxis: timeAxis(rows[0].start_ns, rows[rows.length - 1].start_ns + rows[rows.length - 1].length_ns),
    yAxis: { type: "value", min: 0, name: "launched, not started", nameTextStyle: { align: "left" } },
    dataZoom: zoom,
    series: streams.map((stream, at) => ({ name: `stream ${stream}`, type: "line", step: "end", symbol: "circle", symbolSize: 3, color: color(`group${at % 8}`),
      data: rows.filter((row) => `${row.device}.${row.stream}` === stream).map((row) => [row.start_ns, row.mean_depth]) })),
  };
}

export function launchesSection(data) {
  const launches = records(data.tables.launches)[0], rows = records(data.tables.queues_over_time);
  if (launches.rows === 0) return undefined;
  const busiest = records(data.tables.queues).sort((a, b) => b.changes - a.changes).slice(0, 8).map((row) => `${row.device}.${row.stream}`);
  return section("launches", "Launch queue",
    element("p", { class: "soft" }, "How far the CPU runs ahead: kernels that it launched and that the GPU has not started. Near 0 the GPU waits for the CPU (launch-bound); a full queue is good."),
    element("p", {}, `${launches.rows.toLocaleString("en")} launches. A launch call takes ${duration(Math.round(launches.host_ns / launches.rows))}; from its end to the start on the GPU it is `
      + `${duration(Math.round(launches.delay_ns / launches.rows))} on average, ${duration(launches.longest_delay_ns)} at most. `
      + `${launches.short_rows.toLocaleString("en")} kernels are shorter than the call that launched them; ${launches.late_starts.toLocaleString("en")} queued for more than 100 µs (the CPU is ahead: good).`),
    launches.profiler_rows > 0 ? element("p", {}, `${launches.profiler_rows.toLocaleString("en")} kernels started later while the profiler refilled its own buffers, which took ${duration(launches.profiler_delay_ns)} of these delays: ignore it.`) : undefined,
    rows.length === 0 ? undefined : chart("Depth of the launch queues", 260, () => queueOption(rows, busiest)),
    dataTable(data, "queues", [["device", "Device"], ["stream", "Stream"], ["mean_depth", "Mean depth"], ["median_depth", "Median depth"], ["most_depth", "Deepest"],
      ["full_ns", "Full", { meaning: "Time with 1024 or more launches in the queue: the CPU blocks." }]], { sortBy: "most_depth" }));
}
