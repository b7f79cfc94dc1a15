// The kernels of a rank that has a lane in the timeline, against the other lanes.
import { element } from "./dom.js";
import { lanesOf } from "./lanes.js";
import { duration, significant } from "./numbers.js";
import { table } from "./table.js";

// [{name, time, count}] by name; where blocks hold several rows, all of them count for the longest.
function totals(lane) {
  const of = new Map();
  for (const { name, copies, busy, rows } of lane.work) {
    const sum = of.get(name) ?? { name, copies, time: 0, count: 0 };
    sum.time += busy;
    sum.count += rows;
    of.set(name, sum);
  }
  return of;
}

function median(values) {
  const order = [...values].sort((a, b) => a - b), middle = order.length >> 1;
  return order.length % 2 === 1 ? order[middle] : (order[middle - 1] + order[middle]) / 2;
}

let made;  // [lane, its totals] of all lanes

export function kernelsOf(data, rank) {
  const timeline = data.timeline;
  made ??= timeline ? lanesOf(timeline).map((lane) => [lane, totals(lane)]) : [];
  const own = made.find(([lane]) => lane.rank === rank);
  if (own === undefined) {
    return element("p", {}, `Rank ${rank} is not among the ${made.length} ranks of the timeline: `, element("code", {}, "skewscope rank FILE"), " shows the kernels of one trace.");
  }
  const others = made.filter((one) => one !== own).map(([, of]) => of);
  const rows = [...own[1].values()].map(({ name, copies, time, count }) => {
    const peers = others.map((of) => of.get(name)?.time ?? 0);
    const middle = peers.length > 0 ? median(peers) : null;
    return { kernel: timeline.names[name], kind: copies ? "copy or fill" : "kernel", count, time_ns: Math.round(time), median_ns: middle === null ? null : Math.round(middle),
      more_ns: middle === null ? null : Math.round(time - middle), ratio: middle > 0 ? time / middle : null };
  });
  if (rows.length === 0) return element("p", {}, "No kernels were recorded.");
  const merged = Number(timeline.merged_below_ns) > 0;
  const columns = [["kernel", "Kernel", { meaning: "Name of the kernel or copy, shortened.", cut: true }], ["kind", "Kind", { meaning: "Kernel, or copy or fill of memory." }], ["count", "Count"],
    ["time_ns", "Time", { meaning: "Time of this rank's kernels of this name, over the whole recording." }],
    ["median_ns", "Others, median", { meaning: "The same of the middle one of the other ranks in the timeline." }],
    ["more_ns", "More than they", { meaning: "By how much this rank took longer.", text: (row) => (row.more_ns === null ? "–" : `${row.more_ns > 0 ? "+" : ""}${duration(row.more_ns)}`) }],
    ["ratio", "Ratio", { meaning: "Time of this rank over that of the others.", text: (row) => (row.ratio === null ? "–" : significant(row.ratio)) }]]
    .map(([name, label, more]) => ({ name, label, ...more }));
  return element("div", {},
    element("p", { class: "soft" }, `Against the other ${others.length === 1 ? "rank" : `${others.length} ranks`} of the timeline; largest difference first.`
      + (merged ? ` Kernels shorter than ${duration(Math.round(timeline.merged_below_ns))} count for the longest next to them.` : "")),
    table({ columns, rows, sortBy: others.length > 0 ? "more_ns" : "time_ns", caption: `Kernels of rank ${rank}`, copied: columns.map((column) => column.name) }));
}
