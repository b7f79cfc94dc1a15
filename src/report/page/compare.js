// Two runs of one size: what got slower.
import { chart, color, hint, key } from "./chart.js";
import { element, section, tabs } from "./dom.js";
import { axisText, bytes, duration } from "./numbers.js";
import { dataTable, records } from "./table.js";
import { card } from "./verdict.js";

const words = (part) => part.replaceAll("_", " ");
const signed = (ns) => (ns < 0 ? "−" : ns > 0 ? "+" : "") + duration(Math.abs(Math.round(ns)));
const kSure = new Map([[true, "significant"], [false, "may be chance"], [null, "not known"]]);
const sureness = (row) => kSure.get(row.significant ?? null);

// What a rank's step consists of, in the colours of the report's page.
const kParts = [["compute", "compute"], ["exposed_transfer", "transfer"], ["exposed_wait", "wait"],
  ["exposed_unattributed", "unsplit"], ["exposed_memcpy", "copy"], ["idle", "idle"]];

export function compareHeading(data) {
  const [base, now] = records(data.tables.runs);
  document.title = `${base.name} against ${now.name} – skewscope`;
  return [element("h1", {}, `${now.name} against ${base.name}`),
    element("p", { class: "soft" }, `base ${base.name}: ${duration(base.step_ns)} a step · new ${now.name}: ${duration(now.step_ns)} a step · ${base.world_size} ranks`)];
}

export function compareVerdict(data) {
  const severeness = data.slower && data.significant ? "high" : data.slower ? "noticeable" : "";
  const line = (run) => `${run.name}: ${run.world_size} ranks, ${duration(run.step_ns)}${run.step_error_ns === null ? "" : ` ± ${duration(run.step_error_ns)}`} a step, steps: ${run.steps}`;
  const [base, now] = records(data.tables.runs);
  const worst = (name, of) => {
    const rows = records(data.tables[name]).filter((row) => row.change_ns > 0 && row.significant === true && of(row));
    return rows.sort((a, b) => b.change_ns - a.change_ns)[0];
  };
  const rank = worst("rank_changes", ownDoing), link = worst("communicator_changes", (row) => row.part === "transfer");
  return card(severeness, data.verdict, [["Base", line(base)], ["New", line(now)],
    ["Most, of ranks", rank ? `rank ${rank.rank}, ${words(rank.part)}: ${signed(rank.change_ns)} a step` : "no rank's own work got significantly slower"],
    ["Most, of links", link ? `${link.role} #${link.communicator}: transfer ${signed(link.change_ns)} a step and member` : "no group's transfer got significantly slower"]]);
}

// Its waiting is another's doing.
const ownDoing = (row) => ["compute", "exposed_memcpy", "idle"].includes(row.part);

function pairs(rows) {
  const shown = rows.filter((row) => row.base_ns > 0 || row.new_ns > 0);
  return chart("What a step consists of, base and new", 90 + 46 * shown.length, (width) => ({
    grid: { left: width < 500 ? 110 : 150, right: width < 500 ? 100 : 150, top: 8, bottom: 40 },
    tooltip: { formatter: ({ dataIndex }) => hint(words(shown[dataIndex].part), `base ${duration(shown[dataIndex].base_ns)}`,
      `new ${duration(shown[dataIndex].new_ns)}`, `${signed(shown[dataIndex].change_ns)}: ${sureness(shown[dataIndex])}`) },
    xAxis: { type: "value", min: 0, axisLabel: { formatter: axisText((ns) => duration(Math.round(ns))), hideOverlap: true } },
    yAxis: { type: "category", inverse: true, data: shown.map((row) => words(row.part)), axisLabel: { color: color("text") } },
    series: [
      { type: "bar", name: "base", itemStyle: { color: color("overlapped") }, data: shown.map((row) => row.base_ns) },
      { type: "bar", name: "new", itemStyle: { color: color("compute") }, data: shown.map((row) => ({ value: row.new_ns,
        label: { show: true, position: "right", color: color("text"), formatter: signed(row.change_ns) + (row.significant === true ? " ▲" : "") } })) },
    ],
  }));
}

// Stacked changes of one rank's parts: longer to the top, shorter to the bottom.
function changesOfRanks(rows) {
  const ranks = [...new Set(rows.map((row) => row.rank))].sort((a, b) => a - b);
  const at = new Map(ranks.map((rank, place) => [rank, place]));
  const of = new Map(kParts.map(([part]) => [part, ranks.map(() => 0)]));
  for (const row of rows) if (of.has(row.part)) of.get(row.part)[at.get(row.rank)] = row.change_ns;
  const shown = kParts.filter(([part]) => of.get(part).some((change) => change !== 0));
  const many = ranks.length > 64;
  return [element("div", { class: "bar" }, ...shown.map(([part, colorName]) => key(colorName, words(part)))),
    chart("Change of each rank's step", 320, () => ({
      grid: { left: 76, right: 12, top: 12, bottom: many ? 76 : 44 },
      tooltip: { trigger: "axis", axisPointer: { type: "shadow" }, formatter: (items) => hint(`rank ${ranks[items[0].dataIndex]}`,
        ...shown.map(([part]) => `${words(part)}: ${signed(of.get(part)[items[0].dataIndex])}`)) },
      xAxis: { type: "category", data: ranks.map(String), name: "rank", nameLocation: "middle", nameGap: 26, splitLine: { show: false },
        axisLine: { onZero: false } },
      yAxis: { type: "value", axisLabel: { formatter: axisText((ns) => signed(ns)) } },
      dataZoom: many ? [{ type: "slider", bottom: 6, height: 18, showDetail: false, brushSelect: false, showDataShadow: false }] : [],
      series: shown.map(([part, colorName]) => ({ name: words(part), type: "bar", stack: "all", itemStyle: { color: color(colorName) },
        data: of.get(part) })),
    }))];
}

const relative = (row) => (row.base_ns > 0 ? row.change_ns / row.base_ns : null);
const kChange = [["base_ns", "Base"], ["new_ns", "New"], ["change_ns", "Change", { text: (row) => signed(row.change_ns) }],
  ["relative", "Relative", { text: ({ relative: share }) => (share === null ? "–" : `${share < 0 ? "−" : "+"}${(100 * Math.abs(share)).toFixed(1)} %`) }],
  ["significant", "Sure", { text: sureness }], ["p_value", "p", { text: (row) => (row.p_value === null ? "–" : row.p_value.toPrecision(2)) }]];
const kGroup = [["communicator", "Group"], ["role", "Called", { cut: true }]];
const part = ["part", "Part", { text: (row) => words(row.part) }];

function changes(data, name, columns, keep, nothing) {
  const rows = records(data.tables[name]).filter(keep).map((row) => ({ ...row, relative: relative(row) }));
  return rows.length === 0 ? element("p", {}, nothing) : dataTable(data, name, [...columns, ...kChange], { rows, sortBy: "change_ns" });
}

export function stepSection(data) {
  const rows = records(data.tables.step_changes);
  if (rows.length === 0) return undefined;
  return section("step", "What a step consists of",
    element("p", { class: "soft" }, "Mean over ranks; parts sum to the step of a rank. ▲: significant."),
    element("div", { class: "bar" }, key("overlapped", "base"), key("compute", "new")), pairs(rows),
    changes(data, "step_changes", [part], () => true, ""));
}

export function rankChangesSection(data) {
  const rows = records(data.tables.rank_changes);
  if (rows.length === 0) return undefined;
  return section("rank-changes", "By rank",
    element("p", { class: "soft" }, "What changed in each rank's step. Computing, copies and idle time are a rank's own; that it waits is another's doing."),
    ...changesOfRanks(rows),
    tabs([["Own work", () => changes(data, "rank_changes", [["rank", "Rank"], part], ownDoing, "Not known.")],
      ["All parts", () => changes(data, "rank_changes", [["rank", "Rank"], part], () => true, "Not known.")]]));
}

const kHostParts = { host_step: "length of the step on the host", host_work: "host's own time", host_launch: "in calls that launch", host_wait: "waits for the GPU", host_bound_idle: "GPU idle until a launch" };

export function hostChangesSection(data) {
  if (records(data.tables.host_changes).length === 0) return undefined;
  const hostPart = ["part", "Part", { text: (row) => kHostParts[row.part] ?? words(row.part) }];
  const ofRank = [["rank", "Rank"], hostPart];
  return section("host-changes", "Hosts (CPU)",
    element("p", { class: "soft" }, "What the host does in its step: the host's own time is its step without what it waits for the GPU. "
      + "Where it grows and the GPU is idle until a launch, the program became slower on the CPU."),
    tabs([["Mean over ranks", () => changes(data, "host_changes", [hostPart], () => true, "Not known.")],
      ["Own time of each rank", () => changes(data, "host_rank_changes", ofRank, (row) => row.part === "host_work", "Not known.")],
      ["All parts", () => changes(data, "host_rank_changes", ofRank, () => true, "Not known.")]]));
}

export function collectiveChangesSection(data) {
  const whole = (row) => row.part === "wait" || row.part === "transfer";
  const nothing = "Not known: the reports hold no figures of steps.";
  return section("collective-changes", "By group and collective",
    element("p", { class: "soft" }, "Per member and step. Transfer is what the links take once all have arrived; wait is what ranks take to arrive."),
    tabs([
      ["Links: transfer of each group", () => changes(data, "communicator_changes", kGroup, (row) => row.part === "transfer", nothing)],
      ["Wait of each group", () => changes(data, "communicator_changes", kGroup, (row) => row.part === "wait", nothing)],
      ["Collectives", () => changes(data, "collective_changes", [...kGroup, ["op", "Operation"], ["dtype", "Type"],
        ["bytes", "Size", { text: (row) => (Number(row.bytes) > 0 ? bytes(row.bytes) : "–") }], part], whole, nothing)],
    ]));
}

export function workChangesSection(data) {
  const nothing = "Not known: make both reports with --rank-tables all, or gpu for kernels.";
  const columns = [["name", "Name", { cut: true }]];
  return section("work-changes", "By operator and kernel",
    element("p", { class: "soft" }, "Per step of the rank in the middle. Without spread over steps, so never called significant."),
    tabs([["Operators", () => changes(data, "operator_changes", columns, () => true, nothing)],
      ["Kernels", () => changes(data, "kernel_changes", columns, () => true, nothing)]],
    data.tables.operator_changes.rows.length === 0 ? 1 : 0));
}
