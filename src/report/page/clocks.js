// How the ranks' clocks were tied, and what is left.
import { chart, color, hint, intervals } from "./chart.js";
import { notOneClock } from "./components.js";
import { element, folded, section } from "./dom.js";
import { axisText, duration, plural } from "./numbers.js";
import { rowsOf } from "./packed.js";
import { dataTable, records } from "./table.js";

const kMostWhiskers = 128;  // shown at first

function pointsChart(name, points, colorName, lines) {
  const many = points.length > 64;
  const extent = Math.max(100, ...points.map((point) => Math.max(Math.abs(point.high ?? point.value), Math.abs(point.low ?? point.value))));
  return chart(name, 300, () => ({
    grid: { left: 76, right: 12, top: 14, bottom: many ? 76 : 44 },
    tooltip: { formatter: ({ dataIndex }) => hint(...lines(points[dataIndex])) },
    xAxis: { type: "category", data: points.map((point) => point.label), name: "rank", nameLocation: "middle", nameGap: 26,
      splitLine: { show: false } },
    yAxis: { type: "value", min: -extent * 1.1, max: extent * 1.1, splitNumber: 4,
      axisLabel: { formatter: axisText((ns) => duration(Math.round(ns))), showMinLabel: false, showMaxLabel: false } },
    dataZoom: many ? [{ type: "slider", endValue: Math.min(points.length, kMostWhiskers) - 1, bottom: 6, height: 18, showDetail: false, brushSelect: false }] : [],
    series: [intervals(points.map((point, at) => [at, point.value, point.low ?? NaN, point.high ?? NaN]), colorName)],
  }));
}

function offsets(clocks) {
  const points = clocks.map((clock) => {
    const value = Number(clock.offset_ns), bar = clock.uncertainty_ns === null ? null : Number(clock.uncertainty_ns);
    return { clock, label: String(clock.rank), value, low: bar === null ? null : value - bar, high: bar === null ? null : value + bar };
  });
  return pointsChart("Clock offset of each rank", points, "compute", ({ clock, value }) => [`rank ${clock.rank} on ${clock.domain}`,
    `offset ${duration(value)} ± ${duration(clock.uncertainty_ns)}, drift ${clock.drift_ppb} ppb`, `method ${clock.method}`]);
}

function residualsOfRanks(residuals, clocks) {
  const bar = new Map(clocks.map((clock) => [clock.rank, clock.uncertainty_ns]));
  const points = rowsOf(residuals.ranks, 5).map(([rank, count, mean, size, largest]) => {
    const half = bar.get(rank) ?? null;
    return { rank, count, size, largest, label: String(rank), value: Number(mean),
      low: half === null ? null : Number(mean) - Number(half), high: half === null ? null : Number(mean) + Number(half) };
  });
  return pointsChart("Mean residual of each rank", points, "wait", (point) => [`rank ${point.rank}, ${plural(point.count, "end")}`,
    `mean ${duration(point.value)}, uncertainty ± ${duration(bar.get(point.rank))}`,
    `mean size ${duration(point.size)}, largest ${duration(point.largest)}`]);
}

function histogram(residuals) {
  const edges = residuals.edges_ns.map(axisText(duration));
  const labels = [...edges.map((edge) => `< ${edge}`), `≥ ${edges[edges.length - 1]}`];
  const names = [...labels.map((label) => `${label} before`).reverse(), ...labels.map((label) => `${label} after`)];
  const counts = [...residuals.before].reverse().concat(residuals.after);
  const used = counts.map((count, at) => (count > 0 ? at : -1)).filter((at) => at >= 0);
  const from = Math.max(0, Math.min(...used) - 1), to = Math.min(counts.length, Math.max(...used) + 2);
  const before = names.length / 2 - from;
  return chart("Residuals of ends", 300, () => ({
    grid: { left: 70, right: 12, top: 14, bottom: 66 },
    tooltip: { formatter: ({ name, value }) => hint(name, plural(value, "end")) },
    xAxis: { type: "category", data: names.slice(from, to), splitLine: { show: false },
      axisLabel: { rotate: 40, formatter: (name) => name.replace(/ (before|after)$/, ""), hideOverlap: true },
      name: "before | after", nameLocation: "middle", nameGap: 50 },
    yAxis: { type: "value", name: "ends", nameLocation: "middle", nameGap: 48 },
    series: [{ type: "bar", barCategoryGap: "8%", data: counts.slice(from, to).map((value, at) =>
      ({ value, itemStyle: { color: color(at < before ? "compute" : "wait") } })) }],
  }));
}

export function clocksSection(data) {
  const clocks = records(data.tables.clocks), residuals = data.residuals;
  const columns = [["rank", "Rank"], ["session", "Session"], ["component", "Component"], ["domain", "Domain"], ["method", "Method"], ["aligned", "Aligned"],
    ["offset_ns", "Offset"], ["uncertainty_ns", "±"], ["drift_ppb", "Drift, ppb"], ["bend_ns", "Bend"], ["proven_ns", "Largest possible offset"]];
  if (clocks.length < 2) return section("clocks", "Clocks", element("p", {}, "One clock: no correction needed."));
  const known = residuals.ranks.length > 0;
  return section("clocks", "Clocks",
    folded("How far the clocks of the ranks agree",
    notOneClock(data, "each offset is against the reference of its own component; where two components lie against each other is not known."),
    element("p", { class: "soft" }, "All ranks leave a collective such as all_reduce at the same moment: that is how clocks are compared. Half of the collectives end within "
      + `${duration(Math.round(residuals.end_spread_before_ns))} as recorded and within ${duration(Math.round(residuals.end_spread_after_ns))} on the common clock. `
      + "Whiskers: uncertainty (95 %)."),
    element("h3", {}, "Offset against the reference"), offsets(clocks),
    known ? element("div", { class: "pair" },
      element("div", {}, element("h3", {}, "Remaining difference of each rank, with its uncertainty"), residualsOfRanks(residuals, clocks)),
      element("div", {}, element("h3", {}, "Ends against the median rank"), histogram(residuals))) : undefined,
    dataTable(data, "clocks", columns, { caption: "Clocks" })));
}
