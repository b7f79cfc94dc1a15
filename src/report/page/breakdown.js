// Where each rank's GPU time went: parts that sum to its timeline.
import { chart, color, hint, key, redraw } from "./chart.js";
import { notOneClock } from "./components.js";
import { element, section } from "./dom.js";
import { axisText, duration, percent } from "./numbers.js";
import { onPickedRank } from "./picked.js";
import { records, table } from "./table.js";

const kRoomForGaps = 8;  // pixels
const kUnpicked = 0.35;  // opacity of ranks next to the picked one

export const kParts = [
  ["computing_ns", "Computing alone", "compute"],
  ["overlapped_ns", "Computing, overlapped", "overlapped"],
  ["exposed_wait_ns", "Exposed wait", "wait"],
  ["exposed_transfer_ns", "Exposed transfer", "transfer"],
  ["exposed_unsplit_ns", "Exposed, not split", "unsplit"],
  ["exposed_memcpy_ns", "Exposed copies", "copy"],
  ["idle_host_wait_ns", "Idle: host wait", "idle-host"],
  ["idle_kernel_wait_ns", "Idle: kernel wait", "idle-kernel"],
  ["idle_other_ns", "Idle: other", "idle"],
];

// What exposed communication held up; these sum to the three exposed parts.
const kHeldUp = [["blocking_ns", "Blocks computing"], ["coincided_ns", "Only coincides"], ["unknown_ns", "Not known"]];

export function partsOf(row) {
  const of = Object.fromEntries(Object.entries(row).map(([name, value]) => [name, Number(value)]));
  const exposed = of.exposed_communication_ns, overlapped = of.communication_ns - exposed;
  return {
    rank: row.rank, total_ns: of.total_ns,
    computing_ns: of.compute_ns - overlapped, overlapped_ns: overlapped,
    exposed_ns: exposed, exposed_wait_ns: of.exposed_wait_ns, exposed_transfer_ns: of.exposed_transfer_ns,
    exposed_unsplit_ns: Math.max(0, exposed - of.exposed_wait_ns - of.exposed_transfer_ns),
    exposed_memcpy_ns: of.exposed_memcpy_ns,
    idle_host_wait_ns: of.idle_host_wait_ns, idle_kernel_wait_ns: of.idle_kernel_wait_ns, idle_other_ns: of.idle_other_ns,
    blocking_ns: of.blocking_communication_ns, coincided_ns: of.coincided_communication_ns, unknown_ns: of.unknown_communication_ns,
  };
}

// Of the exposed communication of all ranks, then of each.
function heldUpParts(rows) {
  const sums = kHeldUp.map(([name]) => rows.reduce((sum, row) => sum + row[name], 0));
  const all = sums.reduce((sum, ns) => sum + ns, 0);
  if (all === 0) return [];
  const [blocks, coincides, unknown] = sums.map((ns) => `${duration(ns)} (${percent(ns / all)})`);
  const says = element("p", { id: "held-up" }, `Exposed communication: ${blocks} blocks computing, ${coincides} only coincides with a GPU that had nothing to do`
    + (sums[2] > 0 ? `, for ${unknown} it is not known.` : "."));
  const columns = [{ name: "rank", label: "Rank" }, { name: "exposed_ns", label: "Exposed communication" },
    ...kHeldUp.filter((_, at) => sums[at] > 0).map(([name, label]) => ({
      name, label, text: (row) => `${duration(row[name])} · ${percent(row.exposed_ns === 0 ? 0 : row[name] / row.exposed_ns)}`,
      share: (row) => (row.exposed_ns === 0 ? 0 : row[name] / row.exposed_ns),
    }))];
  return [says, table({ columns, rows, caption: "Exposed communication of each rank" })];
}

// One rank's part, on whole pixels: bars thinner than a pixel would blend into stripes.
function drawPart(api, fill, opacity) {
  const [at, below, above] = [0, 1, 2].map((dimension) => api.value(dimension));
  const [middle, bottom] = api.coord([at, below]), [, top] = api.coord([at, above]);
  const width = api.size([1, 0])[0], half = width * (width > kRoomForGaps ? 0.4 : 0.5);
  const x = Math.floor(middle - half);
  return { type: "rect", shape: { x, y: top, width: Math.max(1, Math.floor(middle + half) - x), height: bottom - top }, style: { fill, opacity } };
}

function option(rows, parts, picked) {
  const many = rows.length > 64;
  const below = rows.map(() => 0);
  const stacks = parts.map(([name]) => rows.map((row, at) => [at, below[at], below[at] += row[name]]));
  return {
    grid: { left: 64, right: 12, top: 12, bottom: many ? 76 : 44 },
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
    yAxis: { type: "value", min: 0, max: 1.02 * Math.max(...below), axisLabel: { formatter: axisText(duration), showMaxLabel: false } },
    dataZoom: many ? [{ type: "slider", bottom: 6, height: 18, showDetail: false, brushSelect: false, showDataShadow: false }] : [],
    series: parts.map(([, label, colorName], at) => ({
      name: label, type: "custom", encode: { x: 0, y: [1, 2] }, clip: true, data: stacks[at],
      renderItem: ({ dataIndex }, api) => drawPart(api, color(colorName), picked === undefined || rows[dataIndex].rank === picked ? 1 : kUnpicked),
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
  let picked;
  const host = chart("Time per rank", 340, () => option(rows, parts, picked));
  onPickedRank((rank) => {
    picked = rank === picked ? undefined : rank;
    redraw(host);
  });
  return section("breakdown", "Time per rank",
    notOneClock(data, "compare the bars of one component only."),
    element("p", { class: "soft" }, "Every moment of a rank's GPU timeline belongs to one part. "
      + "Idle, host wait: the CPU launched the next kernel too late (launch-bound). Kernel wait: a kernel launched in time started within 30 µs. "
      + "Other: a dependency, or the end of the recording."),
    element("div", { class: "bar" }, ...parts.map(([, label, colorName]) => key(colorName, label))),
    host,
    table({ columns, rows, caption: "GPU time of each rank", copied: ["rank", "total_ns", ...parts.map(([name]) => name)] }),
    ...heldUpParts(rows));
}
