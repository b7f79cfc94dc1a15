// Where each rank's GPU time went: parts that sum to its timeline.
import { chart, color, hint } from "./chart.js";
import { element, section } from "./dom.js";
import { duration, percent } from "./numbers.js";
import { records, table } from "./table.js";

export const kParts = [
  ["computing_ns", "Computing alone", "compute"],
  ["overlapped_ns", "Computing, overlapped", "overlapped"],
  ["exposed_wait_ns", "Exposed wait", "wait"],
  ["exposed_transfer_ns", "Exposed transfer", "transfer"],
  ["exposed_unsplit_ns", "Exposed, not told apart", "unsplit"],
  ["exposed_memcpy_ns", "Exposed copies", "copy"],
  ["idle_ns", "Idle", "idle"],
];

// Calls that overlap on two streams would count twice in the exposed time: then wait and transfer share it.
export function partsOf(row) {
  const of = Object.fromEntries(Object.entries(row).map(([name, value]) => [name, Number(value)]));
  const split = of.exposed_wait_ns + of.exposed_transfer_ns, exposed = of.exposed_communication_ns;
  const scale = split > exposed ? exposed / split : 1;
  const overlapped = of.communication_ns - exposed;
  const wait = Math.round(of.exposed_wait_ns * scale), transfer = Math.round(of.exposed_transfer_ns * scale);
  return {
    rank: row.rank, total_ns: of.total_ns,
    computing_ns: of.compute_ns - overlapped, overlapped_ns: overlapped,
    exposed_wait_ns: wait, exposed_transfer_ns: transfer, exposed_unsplit_ns: Math.max(0, exposed - wait - transfer),
    exposed_memcpy_ns: of.exposed_memcpy_ns, idle_ns: of.idle_ns,
  };
}

function option(rows, parts, width) {
  const many = rows.length > 64;
  return {
    grid: { left: 64, right: 12, top: width < 620 ? 40 : 34, bottom: many ? 76 : 44 },
    legend: { data: parts.map(([, label]) => label) },
    tooltip: {
      trigger: "axis", axisPointer: { type: "shadow" },
      formatter: (items) => {
        const row = rows[items[0].dataIndex];
        return hint(`rank ${row.rank}: ${duration(row.total_ns)}`,
          ...parts.map(([name, label]) => `${label}: ${duration(row[name])}, ${percent(row[name] / row.total_ns)}`));
      },
    },
    xAxis: { type: "category", data: rows.map((row) => String(row.rank)), name: "rank", nameLocation: "middle", nameGap: 26,
      splitLine: { show: false } },
    yAxis: { type: "value", axisLabel: { formatter: duration } },
    dataZoom: many ? [{ type: "slider", bottom: 6, height: 18, showDetail: false, brushSelect: false }] : [],
    series: parts.map(([name, label, colorName]) => ({
      name: label, type: "bar", stack: "time", barCategoryGap: many ? "0%" : "25%", itemStyle: { color: color(colorName) }, large: false,
      data: rows.map((row) => row[name]),
    })),
  };
}

export function breakdownSection(data) {
  const rows = records(data.tables.ranks).map(partsOf).filter((row) => row.total_ns > 0);
  if (rows.length === 0) {
    return section("breakdown", "Time per rank", element("p", {}, "The traces hold no GPU rows."));
  }
  const parts = kParts.filter(([name]) => rows.some((row) => row[name] > 0));
  const columns = [{ name: "rank", label: "Rank" }, { name: "total_ns", label: "Total" },
    ...parts.map(([name, label]) => ({
      name, label, text: (row) => `${duration(row[name])} · ${percent(row[name] / row.total_ns)}`,
      share: (row) => row[name] / row.total_ns,
    }))];
  return section("breakdown", "Time per rank",
    element("p", { class: "soft" }, "Every nanosecond of a rank's GPU timeline stands in one part."),
    chart("Time per rank", 360, (width) => option(rows, parts, width)),
    table({ columns, rows, copied: ["rank", "total_ns", ...parts.map(([name]) => name)] }));
}
