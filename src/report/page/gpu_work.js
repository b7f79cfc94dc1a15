// One GPU: what ran on it, by category, operator and kernel, and how near it comes to what the device can do.
import { chart, color, groupColor, hint } from "./chart.js";
import { element, section, tabs } from "./dom.js";
import { axisText, duration, percent, significant } from "./numbers.js";
import { dataTable, records, table } from "./table.js";

const kMostBars = 16;

// Rows in the order of a time, with the share of each and of all up to it.
export function withShares(rows, column) {
  const sorted = [...rows].sort((a, b) => b[column] - a[column]);
  const all = sorted.reduce((sum, row) => sum + row[column], 0);
  let up_to = 0;
  return sorted.map((row) => ({ ...row, own_share: row[column] / Math.max(1, all), cumulative_share: (up_to += row[column]) / Math.max(1, all) }));
}

const shareColumns = [
  ["own_share", "Share", { share: (row) => row.own_share, meaning: "Part of the time of all rows." }],
  ["cumulative_share", "Cumulative", { meaning: "This row and all above it, in the order of their time." }]];

function barsOption(rows) {
  return {
    grid: { left: 8, right: 60, top: 4, bottom: 28, containLabel: true },
    tooltip: { formatter: ({ dataIndex }) => hint(rows[dataIndex].category, `${duration(rows[dataIndex].direct_ns)}, ${percent(rows[dataIndex].own_share)} of the GPU's work`, `${rows[dataIndex].count} operators`) },
    xAxis: { type: "value", axisLabel: { formatter: axisText(duration), hideOverlap: true } },
    yAxis: { type: "category", inverse: true, data: rows.map((row) => row.category + (row.recompute ? " (recomputed)" : "")), axisLabel: { color: color("text") } },
    series: [{ name: "GPU time", type: "bar", barMaxWidth: 22, color: color("compute"), data: rows.map((row) => row.direct_ns),
      label: { show: true, position: "right", color: color("text"), formatter: ({ dataIndex }) => percent(rows[dataIndex].own_share) } }],
  };
}

export function categoriesSection(data) {
  if (data.tables.operator_categories === undefined) return undefined;
  const rows = withShares(records(data.tables.operator_categories).filter((row) => row.direct_ns > 0), "direct_ns");
  if (rows.length === 0) return undefined;
  const bars = rows.slice(0, kMostBars);
  return section("categories", "Categories",
    element("p", { class: "soft" }, "GPU time by kind of operator. Communication is counted apart."),
    chart("GPU time by category", 50 + 26 * bars.length, () => barsOption(bars)),
    dataTable(data, "operator_categories", [["category", "Category"], ["count", "Operators"], ["direct_ns", "GPU time"], ...shareColumns], { rows }));
}

function operatorsTable(data) {
  const rows = withShares(records(data.tables.operators), "direct_ns");
  const memory = rows.some((row) => row.gpu_memory_self_bytes > 0);
  return dataTable(data, "operators", [
    ["name", "Operator", { cut: true, text: (row) => row.name + (row.recompute ? " (recomputed)" : "") }], ["calls", "Calls"],
    ["direct_ns", "GPU time", { meaning: "Time of the GPU work that the operator launched itself." }], ...shareColumns,
    ["device_total_ns", "GPU, with callees", { meaning: "And of what it launched through other operators." }],
    ["host_self_ns", "CPU self", { meaning: "Time on the CPU without the operators and calls within." }], ["host_total_ns", "CPU total", { meaning: "Time on the CPU from begin to end." }],
    ...(memory ? [["gpu_memory_self_bytes", "GPU memory", { meaning: "Bytes that the operator itself allocated on the GPU, less what it freed." }],
      ["host_memory_self_bytes", "CPU memory", { meaning: "Bytes that the operator itself allocated on the CPU, less what it freed." }]] : [])], { rows });
}

function kernelsTable(data) {
  const launched = data.tables.launched_kernels === undefined ? [] : records(data.tables.launched_kernels);
  const queried = new Map();
  for (const row of launched) queried.set(row.name, (queried.get(row.name) ?? 0) + row.after_occupancy_query);
  const rows = withShares(records(data.tables.kernels), "total_ns").map((row) => ({ ...row, after_occupancy_query: queried.get(row.name) ?? null }));
  return dataTable(data, "kernels", [["name", "Kernel", { cut: true }], ["library", "Library"], ["work", "Kind"], ["count", "Count"], ["total_ns", "Time"], ...shareColumns, ["median_ns", "Median"],
    ["shortest_ns", "Shortest"], ["longest_ns", "Longest"], ...([...queried.values()].some((count) => count > 0)
      ? [["after_occupancy_query", "After an occupancy query", { meaning: "Launches that follow a question how many blocks fit on an SM: the grid is adapted to the device." }]] : [])], { rows });
}

function pairsTable(data) {
  return dataTable(data, "operator_passes", [["forward", "Forward operator", { cut: true }], ["backward", "Backward operator", { cut: true }], ["calls", "Calls"],
    ["forward_gpu_ns", "Forward, GPU"], ["backward_gpu_ns", "Backward, GPU"], ["forward_host_ns", "Forward, CPU"], ["backward_host_ns", "Backward, CPU"]], { sortBy: "backward_gpu_ns" });
}

function annotationsTable(data) {
  return dataTable(data, "annotations", [["name", "Annotation", { cut: true }], ["on_gpu", "On the GPU"], ["count", "Count"], ["total_ns", "Length"], ["gpu_ns", "GPU time within", { meaning: "Time of the GPU work that was launched within." }],
    ["mean_before_first_operator_ns", "Before its first operator", { meaning: "Mean time from the begin of the range to the first operator in it: Python and data loading." }]], { sortBy: "gpu_ns" });
}

function stacksTable(data) {
  return dataTable(data, "call_stacks", [["name", "Kernel", { cut: true }], ["launches", "Launches"], ["gpu_ns", "GPU time"],
    ["stack", "Launched from, innermost first", { make: (row) => element("span", { class: "stack" }, row.stack) }]], { sortBy: "gpu_ns" });
}

export function operatorsSection(data) {
  const has = (name) => (data.tables[name]?.rows.length ?? 0) > 0;
  const pages = [["operators", "Operators", operatorsTable], ["kernels", "Kernels", kernelsTable], ["operator_passes", "Forward and backward", pairsTable],
    ["annotations", "Annotations", annotationsTable], ["call_stacks", "Call stacks", stacksTable]].filter(([name]) => has(name));
  if (pages.length === 0) return undefined;
  return section("operators", "Operators and kernels", tabs(pages.map(([, title, make]) => [title, () => make(data)])));
}

// The device's limits follow from the rows: where memory bounds an operator its bytes per least time is the bandwidth.
function limits(rows) {
  const bandwidths = [], peaks = new Map();
  for (const row of rows) {
    const least_ns = row.roofline_share * row.gpu_mean_ns;
    if (row.bound === "memory") bandwidths.push(row.bytes / least_ns * 1e9);
    else peaks.set(`${row.compute} units, ${row.precision}`, row.flops / least_ns * 1e9);
  }
  return { bandwidth: bandwidths[0], peaks: [...peaks] };
}

const kLeastShare = 1e-3;  // of the time of all, of a point in the picture
const kRates = [[1e12, "TFLOP/s"], [1e9, "GFLOP/s"], [1e6, "MFLOP/s"]];
function rate(perSecond) {
  const [factor, unit] = kRates.find(([from]) => perSecond >= from) ?? kRates[kRates.length - 1];
  return `${significant(perSecond / factor)} ${unit}`;
}

function rooflineOption(all, { bandwidth, peaks }) {
  const all_ns = all.reduce((sum, row) => sum + row.gpu_sum_ns, 0);
  const rows = all.filter((row) => row.gpu_sum_ns >= kLeastShare * all_ns);
  const points = rows.map((row) => [row.flops_per_byte, row.flops / row.gpu_mean_ns * 1e9, row.gpu_sum_ns]);
  const most = Math.max(...points.map(([, , ns]) => ns));
  const left = Math.min(10 ** Math.floor(Math.log10(Math.min(...points.map(([x]) => x)))), 1), right = 10 ** Math.ceil(Math.log10(Math.max(100, ...points.map(([x]) => x))));
  const lines = peaks.length > 0 ? peaks : bandwidth === undefined ? [] : [["memory bandwidth", bandwidth * right]];
  return {
    grid: { left: 70, right: 20, top: 40, bottom: 48 },
    legend: { data: lines.map(([name]) => name) },
    tooltip: { trigger: "item", formatter: ({ seriesIndex, dataIndex, seriesName }) => {
      if (seriesIndex !== 0) return seriesName;
      const row = rows[dataIndex];
      return hint(row.name, row.parameters ?? "", `${rate(row.flops / row.gpu_mean_ns * 1e9)}, ${significant(row.flops_per_byte)} FLOP per byte`,
        `${percent(row.roofline_share)} of what the device can do; bound by ${row.bound === "memory" ? "memory" : "computing"}`, `${row.count} calls, ${duration(row.gpu_sum_ns)}`);
    } },
    xAxis: { type: "log", min: left, max: right, name: "FLOP per byte", nameLocation: "middle", nameGap: 28, axisLabel: { formatter: (value) => String(value) } },
    yAxis: { type: "log", axisLabel: { formatter: axisText(rate) } },
    series: [
      { name: "operators", type: "scatter", data: points, symbolSize: ([, , ns]) => 6 + 22 * Math.sqrt(ns / most), itemStyle: { opacity: 0.75 },
        color: color("compute") },
      ...lines.map(([name, peak], at) => {
        const bend = bandwidth === undefined ? left : Math.min(right, Math.max(left, peak / bandwidth));
        const slope = bandwidth === undefined ? [] : [[left, left * bandwidth]];
        return { name, type: "line", symbol: "none", silent: true, color: groupColor(at + 1), lineStyle: { width: 1.5, type: "dashed" }, data: [...slope, [bend, peak], [right, peak]] };
      }),
    ],
  };
}

export function rooflineSection(data) {
  if (data.tables.work === undefined) return undefined;
  const rows = records(data.tables.work).filter((row) => row.flops > 0 && row.bytes > 0 && row.gpu_mean_ns > 0 && row.roofline_share > 0);
  const known = records(data.tables.work).filter((row) => row.flops !== null);
  if (known.length === 0) return undefined;
  const columns = [{ name: "name", label: "Operator" }, { name: "parameters", label: "Shape", cut: true }, { name: "count", label: "Calls" }, { name: "gpu_sum_ns", label: "GPU time" },
    { name: "flops", label: "Rate", text: (row) => (row.gpu_mean_ns > 0 ? rate(row.flops / row.gpu_mean_ns * 1e9) : "–"), meaning: "Floating-point operations per second, over all calls." },
    { name: "bytes_rate", label: "Memory rate", text: (row) => (row.bytes > 0 && row.gpu_mean_ns > 0 ? `${significant(row.bytes / row.gpu_mean_ns)} GB/s` : "–"), meaning: "Bytes read and written per second, at least." },
    { name: "flops_per_byte", label: "FLOP per byte" }, { name: "bound", label: "Bound by", text: (row) => row.bound ?? "–", meaning: "What limits the operator on this device: computing, or memory bandwidth." },
    { name: "roofline_share", label: "Roofline reached", share: (row) => row.roofline_share ?? 0, text: (row) => (row.roofline_share > 1 ? ">100 %" : percent(row.roofline_share)), meaning: "Least possible time over the time taken." }];
  return section("roofline", "Roofline",
    element("p", { class: "soft" }, rows.length === 0 ? "The device's peaks are not known: see --devices."
      : "A point is an operator with one set of shapes; its size is its GPU time; operators with under a thousandth of the time are left out. Under the slope memory bandwidth is the limit, under the flat line computing. What lies far below its line has the most to gain."),
    rows.length === 0 ? undefined : chart("Roofline", 380, () => rooflineOption(rows, limits(rows))),
    table({ columns, rows: known, copied: data.tables.work.columns, leftOut: data.tables.work.left_out, file: "tables/work.csv", sortBy: "gpu_sum_ns", caption: "Work of operators" }));
}
