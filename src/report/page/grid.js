// Ranks by their places in the job's parallel layout, coloured by any figure of a rank.
import { chart, color, hint, redraw } from "./chart.js";
import { chooser, element, section } from "./dom.js";
import { kindWord } from "./groups.js";
import { cellText } from "./numbers.js";
import { unpack } from "./packed.js";
import { pickRank } from "./picked.js";
import { records } from "./table.js";

const kMostAcross = 64;    // columns that a screen has room for
const kMostDown = 96;      // rows; where there are more, neighbours share one, which shows the largest figure of them
const kMostNumbers = 160;  // cells that have room for a figure

const kFigures = [["wait_originated_ns", "waiting caused"], ["exposed_wait_ns", "exposed wait"], ["exposed_transfer_ns", "exposed transfer"],
  ["compute_ns", "computing"], ["idle_ns", "idle"], ["idle_host_wait_ns", "idle: host wait"], ["exposed_memcpy_ns", "exposed copies"],
  ["late_count", "times last"], ["wait_ns", "wait"], ["transfer_ns", "transfer"], ["saved_ns", "fixing it saves"], ["busy_ns", "busy"]];

// rank -> {figure: number}, of all tables of ranks.
function figuresOf(data) {
  const of = new Map();
  for (const name of ["ranks", "stragglers"]) {
    for (const row of records(data.tables[name])) of.set(row.rank, { ...of.get(row.rank), ...row });
  }
  return of;
}

// Axes from left to right as long as there is room; the rest from top to bottom.
function layout(axes) {
  let across = 1;
  let count = 0;
  while (count < axes.length - 1 && across * axes[count].size <= kMostAcross) across *= axes[count++].size;
  if (count === 0) { across = axes[0].size; count = 1; }
  return [axes.slice(0, count), axes.slice(count)];
}

const place = (axes, rank) => axes.reduceRight((sum, axis) => sum * axis.size + axis.at[rank], 0);
const nameOf = (axes, at) => axes.map((axis) => { const text = `${axis.word} ${at % axis.size}`; at = Math.floor(at / axis.size); return text; }).reverse().join(", ");
const sizeOf = (axes) => axes.reduce((product, axis) => product * axis.size, 1);

function option(view, figure, width) {
  const { across, down, figures } = view;
  const joined = Math.ceil(sizeOf(down) / kMostDown), largest = new Map();
  for (const [rank, row] of figures) {
    if (row[figure] === null || row[figure] === undefined) continue;
    const cell = [place(across, rank), Math.floor(place(down, rank) / joined), Number(row[figure]), rank], key = `${cell[0]} ${cell[1]}`;
    if (!(largest.get(key)?.[2] >= cell[2])) largest.set(key, cell);
  }
  const cells = [...largest.values()];
  const values = cells.map((cell) => cell[2]);
  const least = Math.min(...values), most = Math.max(...values);
  const show = (value) => cellText(Math.round(value), figure);
  const roomy = cells.length <= kMostNumbers && width / sizeOf(across) > 64;
  const label = (axes) => axes.map((axis) => axis.word).reverse().join(" × ");
  const tick = (axes, at) => (axes.length === 1 ? String(at) : nameOf(axes, at).replace(/[^\d,]/g, "").split(",").join("·"));
  const ticks = (axes, by = 1) => Array.from({ length: Math.ceil(sizeOf(axes) / by) }, (_, at) => tick(axes, at * by));
  return {
    grid: { left: 78, right: 16, top: 44, bottom: 46 },
    tooltip: { formatter: ({ value: [x, , value, rank] }) => hint(`rank ${rank}`, `${nameOf(down, place(down, rank))}, ${nameOf(across, x)}`,
      `${kFigures.find(([name]) => name === figure)[1]}: ${show(value)}`, ...(joined > 1 ? ["the largest of the ranks in this cell"] : []), ...(figures.get(rank).host ? [`on ${figures.get(rank).host}`] : [])) },
    xAxis: { type: "category", data: ticks(across), name: label(across), nameLocation: "middle", nameGap: 28, splitLine: { show: false } },
    yAxis: { type: "category", data: ticks(down, joined), inverse: true, name: label(down), nameLocation: "middle", nameGap: 56, splitLine: { show: false },
      axisLabel: sizeOf(down) / joined > 32 ? { interval: Math.ceil(sizeOf(down) / joined / 24) - 1 } : {} },
    visualMap: { dimension: 2, min: least === most ? Math.min(0, least) : least, max: Math.max(most, least + 1), orient: "horizontal", top: 0, left: 0, itemWidth: 12, itemHeight: 160,
      precision: 0, text: [show(most), show(least)], textStyle: { color: color("text") }, formatter: show, inRange: { color: [color("even"), color("late")] } },
    series: [{ type: "heatmap", progressive: 0, itemStyle: { borderWidth: cells.length <= 1024 ? 1 : 0, borderColor: color("card") }, data: cells.map((value) => ({ value,
      label: { color: value[2] > least + 0.7 * (most - least) ? color("card") : color("text") } })),
      label: { show: roomy, fontSize: 11, formatter: ({ value }) => show(value[2]) } }],
  };
}

const kSource = {
  groups: "Each rank's place in the groups that it communicates in; the groups form a grid.",
  nodes: "The groups of ranks do not form a grid; these are the GPUs of each node.",
};

export function gridSection(data) {
  const { grid } = data;
  if (data.job.ranks < 2) return undefined;
  if (grid.source === "none" && data.tables.communicators.rows.length < 2) return undefined;
  if (grid.source === "none") {
    return section("grid", "Ranks by parallel group", element("p", {}, grid.ambiguous
      ? "The groups of ranks form a grid in several ways, and hosts are not known: no grid is shown."
      : "The groups of ranks do not form a grid (groups of equal size that hold each rank once, and whose sizes multiply to the number of ranks), and hosts are not known: no grid is shown."));
  }
  const axes = grid.axes.map((axis) => ({ ...axis, word: kindWord(axis.name), at: unpack(axis.at) }));
  const figures = figuresOf(data);
  const offered = kFigures.filter(([name]) => new Set([...figures.values()].map((row) => row[name] ?? 0)).size > 1);
  if (offered.length === 0) return undefined;
  let order = axes, figure = offered[0][0];
  const view = () => { const [across, down] = layout(order); return { across, down, figures }; };
  const host = chart("Ranks by parallel group", Math.min(640, 120 + Math.max(4, sizeOf(layout(axes)[1])) * 30), (width) => option(view(), figure, width),
    ({ value: [, , , rank] }) => {
      pickRank(rank);
      picked.replaceChildren(`Picked: rank ${rank}. `, element("a", { href: "#ranks" }, `All that is known of rank ${rank}`));
    });
  const picked = element("p", { class: "soft", "aria-live": "polite" }, "Click a cell to pick its rank here and below.");
  const first = axes.map((axis, at) => [String(at), axis.word]);
  return section("grid", `Ranks by parallel group: ${[...axes].reverse().map((axis) => `${axis.word} ${axis.size}`).join(" × ")}`,
    element("p", { class: "soft" }, kSource[grid.source] + (sizeOf(layout(axes)[1]) > kMostDown ? " Neighbours share a row, which shows the largest figure of them." : "")),
    element("div", { class: "bar" }, chooser("Colour", offered, (chosen) => { figure = chosen; redraw(host); }),
      axes.length > 1 ? chooser("From left to right", first, (at) => { order = [axes[Number(at)], ...axes.filter((_, other) => other !== Number(at))]; redraw(host); }) : undefined),
    host, picked);
}
