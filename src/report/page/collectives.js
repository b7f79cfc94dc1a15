// Bandwidth against size, and the table of collectives.
import { chart, color, groupColor, guide, hint } from "./chart.js";
import { element, folded, section } from "./dom.js";
import { axisText, bytes, duration, percent, significant } from "./numbers.js";
import { groupNames, groupText, kindWord, legendOf, ranksText } from "./groups.js";
import { dataTable, records, table } from "./table.js";

const kNear = 4;  // lines that are no further apart have their names above and below

// [[name, points], …]
function seriesOf(rows, names) {
  const { legend, at } = legendOf(rows.map((row) => names.keyOf(row.communicator)));
  const series = legend.map((name) => [name, []]);
  for (const row of rows) {
    const group = names.rows.get(row.communicator), nodes = Number(group?.nodes ?? 0);
    series[at.get(names.keyOf(row.communicator))][1].push({ row, within: nodes === 1, known: nodes > 0, peak: group?.link_peak_gb_per_s ?? null });
  }
  return series;
}

// [[name, GB/s], …], the fastest first: each link that some of the groups talk over.
function peaksOf(groups) {
  const known = groups.filter((group) => (group.link_peak_gb_per_s ?? null) !== null);
  return [...new Map(known.map((group) => [`${group.link}: ${significant(group.link_peak_gb_per_s)} GB/s`, group.link_peak_gb_per_s]))]
    .sort((a, b) => b[1] - a[1]);
}

// [[name, [[bytes, GB/s], …]], …]: what nccl-tests measured, by file and operation.
function baselinesOf(data) {
  const lines = new Map();
  for (const row of records(data.tables.baseline)) {
    const name = `${row.source}${row.op ? " " + row.op : ""}`;
    if (!lines.has(name)) lines.set(name, []);
    lines.get(name).push([Number(row.bytes), row.bus_bandwidth_gb_per_s]);
  }
  return [...lines].map(([name, line]) => [name, line.sort((a, b) => a[0] - b[0])]);
}

function linkNote(groups, baselines) {
  const without = groups.filter((group) => (group.link_peak_gb_per_s ?? null) === null);
  const notes = [];
  if (without.length < groups.length) notes.push("Dashed: what the link can do, all ports in one direction; no ring exceeds it, reductions in the network may.");
  if (without.some((group) => group.nodes > 1)) notes.push("Between nodes no peak is drawn: set it with --network-peak.");
  if (without.some((group) => group.nodes === 1)) notes.push("Within nodes no peak is drawn where the link of a device is not known.");
  if (without.some((group) => !(group.nodes > 0))) notes.push("No peak is drawn where hosts are not known.");
  if (baselines.length > 0) notes.push("Dotted: nccl-tests, out of place.");
  return notes.join(" ");
}

function option(series, peaks, baselines) {
  const sizes = series.flatMap(([, points]) => points.map((point) => Number(point.row.bytes)));
  const least = Math.min(...sizes) / 2, most = Math.max(...sizes) * 2;
  const short = (name) => (name.length > 40 ? name.slice(0, 39) + "…" : name);
  const guides = [  // to the left, where small messages leave room for the name
    ...peaks.map(([name, peak], at) => guide(name, [[most, peak], [least, peak]], "soft", { endLabel: { show: true, formatter: short(name),
      color: color("soft"), align: "left", distance: 0, padding: 4, verticalAlign: at > 0 && peaks[at - 1][1] < kNear * peak ? "top" : "bottom" } })),
    ...baselines.map(([name, line], at) => guide(name, line, `group${(series.length + at) % 8}`, { lineStyle: { type: "dotted", width: 2 } }))];
  return {
    grid: { left: 70, right: 24, top: 44, bottom: 46 },
    legend: { data: [...series, ...baselines].map(([name]) => name), formatter: short },
    tooltip: {
      formatter: ({ data: { row, within, known, peak } }) => hint(`${row.op} ${row.dtype ?? ""} of ${bytes(row.bytes)}`,
        `${row.group_text}, ${known ? (within ? "within one node" : "between nodes") : "nodes unknown"}`,
        `bus bandwidth ${significant(row.bus_bandwidth_median_gb_per_s)} GB/s, median of ${row.count}`
          + (peak === null ? "" : `, ${percent(row.bus_bandwidth_median_gb_per_s / peak)} of its link's peak`),
        `transfer ${duration(row.transfer_median_ns)}, wait ${duration(row.wait_median_ns)}`),
    },
    xAxis: { type: "log", min: least, max: most, name: "message size", nameLocation: "middle", nameGap: 28, axisLabel: { formatter: axisText(bytes), hideOverlap: true, showMinLabel: false, showMaxLabel: false } },
    yAxis: { type: "log", name: "bus GB/s", nameLocation: "middle", nameGap: 46, axisLabel: { formatter: (value) => String(Number(value.toPrecision(3))) } },
    series: [...guides, ...series.map(([name, points], at) => ({
      name, type: "scatter", itemStyle: { color: groupColor(at), opacity: 0.85 },
      data: points.map((point) => ({ ...point, value: [Number(point.row.bytes), point.row.bus_bandwidth_median_gb_per_s],
        symbol: !point.known ? "diamond" : point.within ? "circle" : "triangle",
        symbolSize: 8 + Math.min(12, Math.log10(Math.max(1, point.row.count)) * 4) })),
    }))],
  };
}

const kColumns = [
  ["group_text", "Group", { meaning: "Kind of group and its ranks." }], ["op", "Operation"], ["dtype", "Type"], ["bytes", "Size"], ["count", "Count"],
  ["bus_bandwidth_median_gb_per_s", "Bus GB/s"], ["algo_bandwidth_median_gb_per_s", "Algo GB/s"],
  ["wait_sum_ns", "Wait, sum"], ["wait_median_ns", "Wait, median"], ["wait_p99_ns", "Wait, p99"],
  ["transfer_sum_ns", "Transfer, sum"], ["transfer_median_ns", "Transfer, median"], ["transfer_p99_ns", "Transfer, p99"],
  ["start_skew_median_ns", "Start skew"], ["end_skew_median_ns", "End skew"],
];

const hiddenShare = (time, exposed) => (time > 0 ? Math.min(1, Math.max(0, 1 - exposed / time)) : null);

// Sums of all groups of one kind, by operation and size; inside each its single groups. The sums are of all groups, also of
// those that the page's data leave out.
function rolledUp(data, rows, groups) {
  const parents = new Map();
  for (const row of records(data.tables.overlap)) {
    const key = [row.group_kind, row.size, row.nodes, row.op, row.bytes_up_to].join("\n");
    const sum = parents.get(key) ?? { ...row, of: row.group_kind, group: `${kindWord(row.group_kind)}${row.groups > 1 ? `, ${row.groups} groups` : ""}`,
      calls: 0, time_ns: 0, wait_ns: 0, transfer_ns: 0, hidden_ns: 0, exposed_wait_ns: 0, exposed_transfer_ns: 0, inner: [] };
    for (const name of ["calls", "time_ns", "wait_ns", "transfer_ns", "hidden_ns", "exposed_wait_ns", "exposed_transfer_ns"]) sum[name] += Number(row[name]);
    parents.set(key, sum);
  }
  const list = [...parents.values()].map((row) => ({ ...row, hidden_share: row.time_ns > 0 ? row.hidden_ns / row.time_ns : null }));
  const smaller = (row) => Math.max(-1, ...list.filter((one) => one.op === row.op && Number(one.bytes_up_to ?? 0) < Number(row.bytes_up_to)).map((one) => Number(one.bytes_up_to)));
  for (const parent of list) {
    const least = smaller(parent);
    parent.inner = rows.filter((row) => row.op === parent.op && groups.get(row.communicator)?.size === parent.size
      && kindWord(groups.get(row.communicator)?.desc || groups.get(row.communicator)?.name) === kindWord(parent.of)
      && (parent.bytes_up_to === null ? !(Number(row.bytes) > 0) : Number(row.bytes) <= Number(parent.bytes_up_to) && Number(row.bytes) > least))
      .map((row) => {
        const time = Number(row.wait_sum_ns) + Number(row.transfer_sum_ns), exposed = Number(row.exposed_wait_ns) + Number(row.exposed_transfer_ns);
        return { ...row, group: row.group_text, size: parent.size, nodes: groups.get(row.communicator)?.nodes, bytes_up_to: row.bytes,
          calls: Number(row.count) * parent.size, time_ns: time, wait_ns: row.wait_sum_ns, transfer_ns: row.transfer_sum_ns, hidden_share: hiddenShare(time, exposed) };
      });
  }
  return list;
}

function rollUp(data, rows, groups) {
  const list = rolledUp(data, rows, groups);
  if (list.length === 0) return [];
  const share = (name) => ({ text: (row) => `${duration(Math.round(row[name]))} · ${row.time_ns > 0 ? percent(row[name] / row.time_ns) : "–"}`,
    share: (row) => (row.time_ns > 0 ? row[name] / row.time_ns : 0) });
  const columns = [["group", "Group", { meaning: "Kind of group, and how many there are; inside, each group by its ranks." }], ["op", "Operation"],
    ["bytes_up_to", "Size up to"], ["calls", "Calls"], ["time_ns", "Time"],
    ["exposed_wait_ns", "Exposed wait", share("exposed_wait_ns")], ["exposed_transfer_ns", "Exposed transfer", share("exposed_transfer_ns")],
    ["hidden_share", "Hidden", { share: (row) => row.hidden_share ?? 0, meaning: "Share of the time during which the GPU computed, in per cent." }]]
    .map(([name, label, more]) => ({ name, label, ...more, ...(name === "bytes_up_to" ? { text: (row) => (Number(row.bytes_up_to) > 0 ? bytes(row.bytes_up_to) : "–") } : {}) }));
  return [element("h3", {}, "By kind of group, operation and size"),
    element("p", { class: "soft" }, "Summed over ranks and groups of one kind; ▸ shows the single groups. Hidden: the GPU computed meanwhile; exposed: it did not."
      + (data.tables.collectives.left_out > 0 ? " The sums are of all groups; single groups of little waiting are only in tables/collectives.csv." : "")),
    table({ columns, rows: list, sortBy: "time_ns", caption: "Collectives by kind of group", inner: (row) => row.inner })];
}

export function collectivesSection(data) {
  const known = new Map(records(data.tables.communicators).map((row) => [row.id, row]));
  const rows = records(data.tables.collectives).map((row) => ({ ...row, group_text: known.has(row.communicator) ? groupText(known.get(row.communicator)) : `number ${row.communicator}` }));
  if (rows.length === 0) return section("collectives", "Collectives", element("p", {}, "No collectives were recorded."));
  const measured = rows.filter((row) => Number(row.bytes) > 0 && row.bus_bandwidth_median_gb_per_s > 0);
  const names = groupNames(data, measured.map((row) => row.communicator));
  const groupsShown = [...new Set(measured.map((row) => row.communicator))].map((id) => names.rows.get(id)).filter(Boolean);
  const baselines = baselinesOf(data);
  const bandwidth = measured.length === 0 ? [element("p", {}, "No bandwidth: sizes or transfers are not known.")] : [
    element("p", { class: "soft" }, "Bus bandwidth as nccl-tests counts it (total buffer, transfer without waiting; 1 GB = 1e9 bytes). "
      + "● within one node, ▲ between nodes, ◆ nodes not known; larger marks: more calls. " + linkNote(groupsShown, baselines)),
    chart("Bus bandwidth against message size", 380, () => option(seriesOf(measured, names), peaksOf(groupsShown), baselines))];
  const groups = [["id", "Number"], ["desc", "Description", { meaning: "What the program calls this kind of group." }], ["name", "Name", { meaning: "What the traces call the group." }], ["size", "Ranks"], ["nodes", "Nodes", { text: (row) => (row.nodes > 0 ? String(row.nodes) : "–") }],
    ["link", "Link"], ["link_peak_gb_per_s", "Peak GB/s"],
    ["collectives", "Collectives"], ["ranks", "Members", { meaning: "Ranks of the group.", text: (row) => ranksText(row.ranks) }]];
  return section("collectives", "Collectives", ...rollUp(data, rows, known),
    element("h3", {}, "Bandwidth"), ...bandwidth,
    folded("Every group, operation and size", dataTable(data, "collectives", kColumns, { rows, sortBy: "wait_sum_ns", caption: "Collectives of each group" })),
    folded("Groups", dataTable(data, "communicators", groups, { caption: "Groups of ranks" })));
}
