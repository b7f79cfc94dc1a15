// One rank at a time: all that is known of it.
import { hasComponents } from "./components.js";
import { chooser, element, points, section, tabs } from "./dom.js";
import { kParts, partsOf } from "./breakdown.js";
import { groupNames } from "./groups.js";
import { kernelsOf } from "./kernels.js";
import { cellText, duration, percent } from "./numbers.js";
import { onPickedRank } from "./picked.js";
import { notes } from "./quality.js";
import { causeWords } from "./stragglers.js";
import { dataTable, records } from "./table.js";

const kStatistics = [["table", "Table"], ["key", "What", { cut: true }], ["metric", "Figure"], ["ranks", "Ranks"], ["min", "Min"],
  ["median", "Median"], ["max", "Max"], ["min_rank", "Min rank"], ["max_rank", "Max rank"], ["outliers", "Outliers"]];

// A figure of rank_statistics says its unit in `metric`.
const byMetric = (column) => ({ text: (row) => cellText(row[column], row.metric) });
const statisticColumns = kStatistics.map(([name, label, more]) =>
  [name, label, ["min", "median", "max"].includes(name) ? byMetric(name) : more]);

function timeOf(row) {
  const parts = partsOf(row);
  const share = (ns) => (parts.total_ns > 0 ? `${duration(ns)}, ${percent(ns / parts.total_ns)}` : duration(ns));
  return points([
    ["Host, device", `${row.host ?? "unknown"}, ${row.device ?? "unknown"}`],
    ["Timeline", duration(row.total_ns)],
    ...kParts.map(([name, label]) => [label, share(parts[name])]),
    ["Collective calls", String(row.collectives)],
    ["In calls", `wait ${duration(row.wait_ns)}, transfer ${duration(row.transfer_ns)}, could not be split ${duration(row.unattributed_ns)}`],
    ["Last to arrive in", `${row.late_count} collectives`],
    ["Waiting caused directly", duration(row.delay_caused_ns)],
  ]);
}

function causesOf(data, rank) {
  const causes = records(data.tables.causes).filter((row) => row.rank === rank);
  const groups = groupNames(data, []);
  const flows = records(data.tables.blame_flows).filter((row) => row.rank === rank);
  return element("div", {},
    element("h3", {}, "What it did longer than its peers"),
    causes.length === 0 ? element("p", {}, "Nothing: it was never last.") : dataTable(data, "causes",
      [["cause", "Cause", { text: (row) => causeWords(row.cause) }], ["lateness_ns", "Lateness"], ["wait_originated_ns", "Waiting caused"]],
      { rows: causes }),
    element("h3", {}, "Late in one group because it waited in another"),
    flows.length === 0 ? element("p", {}, "Nothing was passed on.") : dataTable(data, "blame_flows",
      [["late_in", "Late in group", { text: (row) => groups.nameOf(row.late_in) }], ["waited_in", "Waited in group", { text: (row) => groups.nameOf(row.waited_in) }], ["moved_ns", "Waiting passed on"]], { rows: flows }));
}

function standsOutIn(data, rank) {
  const rows = records(data.tables.rank_statistics).filter((row) => row.min_rank === rank || row.max_rank === rank
    || ` ${row.outliers ?? ""} `.includes(` ${rank} `));
  if (data.tables.rank_statistics.rows.length === 0) {
    return element("p", {}, "The ranks' own tables were not asked for: report --rank-tables gpu compares them.");
  }
  return rows.length === 0 ? element("p", {}, "In no figure is it first, last or an outlier.")
    : dataTable(data, "rank_statistics", statisticColumns, { rows });
}

function findingsOf(data, rank) {
  const rows = records(data.tables.diagnostics).filter((row) => row.rank === rank);
  return rows.length === 0 ? element("p", {}, "No notes about this rank.") : notes(data, rows);
}

export function ranksSection(data) {
  const rows = records(data.tables.ranks);
  const first = rows.find((row) => row.rank === data.tables.stragglers.rows[0]?.[0]) ?? rows[0];
  if (first === undefined) return undefined;
  const panel = element("div");
  const open = (rank, tab) => {
    const pages = [
      ["Time", () => timeOf(rows.find((row) => row.rank === rank))],
      ["Why late", () => causesOf(data, rank)],
      ["Kernels", () => kernelsOf(data, rank)],
      ["Against the others", () => standsOutIn(data, rank)],
      ["Notes on the input", () => findingsOf(data, rank)],
    ];
    panel.replaceChildren(tabs(pages, Math.max(0, pages.findIndex(([name]) => name === tab))));
  };
  const choose = chooser("Rank", rows.map((row) => [String(row.rank), String(row.rank)]), (value) => open(Number(value)));
  const show = (rank, tab) => {
    choose.querySelector("select").value = String(rank);
    open(rank, tab);
  };
  show(first.rank);
  onPickedRank(show);
  return section("ranks", "One rank", element("div", { class: "bar" }, choose), panel);
}

export function comparedSection(data) {
  if (data.tables.rank_statistics.rows.length === 0) return undefined;
  return section("compared", "Ranks compared",
    element("p", { class: "soft" }, "Every figure of the ranks' own tables: smallest, middle and largest, and ranks far from the middle."),
    dataTable(data, "rank_statistics", [...(hasComponents(data) ? [["component", "Component"]] : []), ...statisticColumns]));
}

