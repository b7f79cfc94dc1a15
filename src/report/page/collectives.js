// Bandwidth against size, and the table of collectives.
import { chart, groupColor, hint } from "./chart.js";
import { element, section } from "./dom.js";
import { axisText, bytes, duration, significant } from "./numbers.js";
import { groupNames, legendOf } from "./groups.js";
import { dataTable, records } from "./table.js";

// [[name, points], …]
function seriesOf(rows, names) {
  const { legend, at } = legendOf(rows.map((row) => names.keyOf(row.communicator)));
  const series = legend.map((name) => [name, []]);
  for (const row of rows) {
    const nodes = Number(names.rows.get(row.communicator)?.nodes ?? 0);
    series[at.get(names.keyOf(row.communicator))][1].push({ row, within: nodes === 1, known: nodes > 0 });
  }
  return series;
}

function option(series) {
  return {
    grid: { left: 70, right: 24, top: 44, bottom: 46 },
    legend: { data: series.map(([name]) => name), formatter: (name) => (name.length > 40 ? name.slice(0, 39) + "…" : name) },
    tooltip: {
      formatter: ({ data: { row, within, known } }) => hint(`${row.op} ${row.dtype ?? ""} of ${bytes(row.bytes)}`,
        `communicator #${row.communicator}, ${known ? (within ? "within one node" : "between nodes") : "nodes unknown"}`,
        `bus bandwidth ${significant(row.bus_bandwidth_median_gb_per_s)} GB/s, median of ${row.count}`,
        `transfer ${duration(row.transfer_median_ns)}, wait ${duration(row.wait_median_ns)}`),
    },
    xAxis: { type: "log", name: "message size", nameLocation: "middle", nameGap: 28, axisLabel: { formatter: axisText(bytes), hideOverlap: true } },
    yAxis: { type: "log", name: "bus GB/s", nameLocation: "middle", nameGap: 46, axisLabel: { formatter: (value) => String(Number(value.toPrecision(3))) } },
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
  ["bus_bandwidth_median_gb_per_s", "Bus GB/s"], ["algo_bandwidth_median_gb_per_s", "Algo GB/s"],
  ["wait_sum_ns", "Wait, sum"], ["wait_median_ns", "median"], ["wait_p99_ns", "p99"],
  ["transfer_sum_ns", "Transfer, sum"], ["transfer_median_ns", "median"], ["transfer_p99_ns", "p99"],
  ["start_skew_median_ns", "Start skew"], ["end_skew_median_ns", "End skew"],
];

const shortened = (text) => (text.length > 60 ? text.slice(0, 60).replace(/ \d*$/, " …") : text);

export function collectivesSection(data) {
  const rows = records(data.tables.collectives);
  if (rows.length === 0) return section("collectives", "Collectives", element("p", {}, "No collectives were recorded."));
  const measured = rows.filter((row) => Number(row.bytes) > 0 && row.bus_bandwidth_median_gb_per_s > 0);
  const names = groupNames(data, measured.map((row) => row.communicator));
  const bandwidth = measured.length === 0 ? [element("p", {}, "No bandwidth: sizes or transfers are not known.")] : [
    element("p", { class: "soft" }, "Bus bandwidth as nccl-tests counts it (total buffer, transfer without waiting; 1 GB = 1e9 bytes). "
      + "● within one node, ▲ between nodes, ◆ nodes not known; larger marks: more calls."),
    chart("Bus bandwidth against message size", 380, () => option(seriesOf(measured, names)))];
  const groups = [["id", "Id"], ["desc", "Description"], ["name", "Name"], ["size", "Ranks"], ["nodes", "Nodes", { text: (row) => (row.nodes > 0 ? String(row.nodes) : "–") }],
    ["collectives", "Collectives"], ["ranks", "Members", { text: (row) => shortened(row.ranks ?? "–") }]];
  return section("collectives", "Collectives", ...bandwidth,
    element("h3", {}, "By group, operation and size"), dataTable(data, "collectives", kColumns, { sortBy: "wait_sum_ns" }),
    element("h3", {}, "Groups"), dataTable(data, "communicators", groups));
}
