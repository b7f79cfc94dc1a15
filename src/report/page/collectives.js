// Bandwidth against size, and the table of collectives.
import { chart, groupColor, hint } from "./chart.js";
import { element, section } from "./dom.js";
import { bytes, duration, significant } from "./numbers.js";
import { dataTable, records } from "./table.js";

const kMostCommunicators = 8;

// One series per communicator; where there are many, one per description.
function seriesOf(rows, communicators) {
  const single = new Set(rows.map((row) => row.communicator)).size <= kMostCommunicators;
  const series = new Map();
  for (const row of rows) {
    const of = communicators.get(row.communicator) ?? {};
    const kind = of.desc || of.name || "no name";
    const name = single ? `#${row.communicator} ${kind}` : kind.replace(/[\d]+/g, "*");
    if (!series.has(name)) series.set(name, []);
    series.get(name).push({ row, within: of.nodes === 1, known: Number(of.nodes) > 0 });
  }
  const sorted = [...series].sort((a, b) => b[1].length - a[1].length);
  if (sorted.length <= kMostCommunicators) return sorted;
  return [...sorted.slice(0, kMostCommunicators - 1),
    ["all others", sorted.slice(kMostCommunicators - 1).flatMap(([, points]) => points)]];
}

function option(series) {
  return {
    grid: { left: 64, right: 20, top: 40, bottom: 46 },
    legend: { data: series.map(([name]) => name), formatter: (name) => (name.length > 40 ? name.slice(0, 39) + "…" : name) },
    tooltip: {
      formatter: ({ data: { row, within, known } }) => hint(`${row.op} ${row.dtype ?? ""} of ${bytes(row.bytes)}`,
        `communicator #${row.communicator}, ${known ? (within ? "within one node" : "between nodes") : "nodes unknown"}`,
        `bus bandwidth ${significant(row.bus_bandwidth_median_gb_per_s)} GB/s, median of ${row.count}`,
        `transfer ${duration(row.transfer_median_ns)}, wait ${duration(row.wait_median_ns)}`),
    },
    xAxis: { type: "log", name: "message size", nameLocation: "middle", nameGap: 28, axisLabel: { formatter: bytes, hideOverlap: true } },
    yAxis: { type: "log", name: "bus GB/s", axisLabel: { formatter: (value) => String(Number(value.toPrecision(3))) } },
    series: series.map(([name, points], at) => ({
      name, type: "scatter", itemStyle: { color: groupColor(at), opacity: 0.85 },
      data: points.map((point) => ({ ...point, value: [Number(point.row.bytes), point.row.bus_bandwidth_median_gb_per_s],
        symbol: !point.known ? "diamond" : point.within ? "circle" : "triangle",
        symbolSize: 8 + Math.min(12, Math.log10(Math.max(1, point.row.count)) * 4) })),
    })),
  };
}

const kColumns = [
  ["communicator", "Group"], ["op", "Operation"], ["dtype", "Type"], ["bytes", "Size"], ["count", "Count"],
  ["wait_sum_ns", "Wait, sum"], ["wait_median_ns", "median"], ["wait_p99_ns", "p99"],
  ["transfer_sum_ns", "Transfer, sum"], ["transfer_median_ns", "median"], ["transfer_p99_ns", "p99"],
  ["start_skew_median_ns", "Start skew"], ["end_skew_median_ns", "End skew"],
  ["algo_bandwidth_median_gb_per_s", "Algo GB/s"], ["bus_bandwidth_median_gb_per_s", "Bus GB/s"],
];

export function collectivesSection(data) {
  const communicators = new Map(records(data.tables.communicators).map((row) => [row.id, row]));
  const rows = records(data.tables.collectives);
  if (rows.length === 0) return section("collectives", "Collectives", element("p", {}, "No collectives were recorded."));
  const measured = rows.filter((row) => Number(row.bytes) > 0 && row.bus_bandwidth_median_gb_per_s > 0);
  const bandwidth = measured.length === 0 ? [element("p", {}, "No bandwidth: sizes or transfers are not known.")] : [
    element("p", { class: "soft" }, "Bus bandwidth as nccl-tests counts it (total buffer, transfer without waiting; 1 GB = 1e9 bytes). "
      + "● within one node, ▲ between nodes, ◆ nodes not known; larger marks: more calls."),
    chart("Bus bandwidth against message size", 380, () => option(seriesOf(measured, communicators)))];
  const groups = [["id", "Id"], ["desc", "Description"], ["name", "Name"], ["size", "Ranks"], ["nodes", "Nodes"],
    ["collectives", "Collectives"], ["ranks", "Members"]];
  return section("collectives", "Collectives", ...bandwidth,
    element("h3", {}, "By group, operation and size"), dataTable(data, "collectives", kColumns, { sortBy: "wait_sum_ns" }),
    element("h3", {}, "Groups"), dataTable(data, "communicators", groups));
}
