// Rank x time: who came late, when.
import { chart, color, hint, redraw } from "./chart.js";
import { notOneClock } from "./components.js";
import { chooser, element, section } from "./dom.js";
import { pickRank } from "./picked.js";
import { duration, plural } from "./numbers.js";

const kMostNumbers = 320;  // cells that still have room for their number
const kMostLabels = 32;

const mean = (row) => {
  const known = row.filter((value) => value !== null).map(Number);
  return known.length === 0 ? -Infinity : known.reduce((sum, value) => sum + value, 0) / known.length;
};

// What nearly all cells stay below: a few extremes must not bleach the rest.
function scaleOf(rows) {
  const sizes = rows.flat().filter((value) => value !== null).map((value) => Math.abs(Number(value))).sort((a, b) => a - b);
  return Math.max(1, sizes[Math.floor((sizes.length - 1) * 0.98)] ?? 1);
}

function columnName(map, [first, last]) {
  const noun = map.by_step ? "step" : "collective";
  const shift = map.by_step ? 0 : 1;
  return first === last ? `${noun} ${first + shift}` : `${noun}s ${first + shift}–${last + shift}`;
}

function option(map, order, scale, width) {
  const cells = [];
  order.forEach((row, y) => map.mean_ns[row].forEach((value, x) => {
    if (value !== null) cells.push([x, y, Number(value)]);
  }));
  const roomy = cells.length <= kMostNumbers && width / map.columns.length > 58;
  const inked = (value) => color(Math.abs(value) > 0.5 * scale ? "card" : "text");
  const many = order.length > 48;
  return {
    grid: { left: 70, right: many ? 46 : 12, top: 44, bottom: 44 },
    tooltip: {
      formatter: ({ value: [x, y, value] }) => hint(`rank ${map.ranks[order[y]]}, ${columnName(map, map.columns[x])}`,
        `${duration(Math.abs(value))} ${value > 0 ? "after" : value < 0 ? "before" : "from"} the member in the middle`,
        ...(map.columns[x][2] === null ? [] : [`first arrival at ${duration(map.columns[x][2])}`])),
    },
    xAxis: {
      type: "category", data: map.columns.map(([first]) => String(first + (map.by_step ? 0 : 1))), splitLine: { show: false },
      name: map.by_step ? "step" : "collective, in order of time", nameLocation: "middle", nameGap: 26,
    },
    yAxis: { type: "category", data: order.map((row) => String(map.ranks[row])), inverse: true, name: "rank",
      nameLocation: "middle", nameGap: 42, splitLine: { show: false },
      axisLabel: many ? { interval: Math.ceil(order.length / kMostLabels) - 1 } : {} },
    dataZoom: many ? [{ type: "slider", yAxisIndex: 0, right: 6, width: 16, showDetail: false, brushSelect: false }] : [],
    visualMap: {
      min: -scale, max: scale, orient: "horizontal", top: 0, left: 0, itemWidth: 12, itemHeight: 160, precision: 0,
      text: [`late ${duration(scale)}`, `early ${duration(scale)}`], textStyle: { color: color("text") },
      inRange: { color: [color("early"), color("even"), color("late")] },
    },
    series: [{
      data: roomy ? cells.map((value) => ({ value, label: { color: inked(value[2]) } })) : cells,
      type: "heatmap", progressive: 20000, progressiveThreshold: 30000,
      itemStyle: { borderWidth: roomy ? 1 : 0, borderColor: color("card") },
      label: { show: roomy, fontSize: 11, formatter: ({ value }) => duration(value[2]) },
    }],
  };
}

export function latenessSection(data) {
  const map = data.map;
  if (map.columns.length === 0) {
    return section("lateness", "Lateness", element("p", {}, "No collective could be split, or the ranks only send and receive: who came late is not shown."));
  }
  const scale = scaleOf(map.mean_ns);
  const byRank = map.ranks.map((_, row) => row);
  const byMean = [...byRank].sort((a, b) => mean(map.mean_ns[b]) - mean(map.mean_ns[a]));
  let order = byRank;
  const host = chart("Lateness by rank and time", Math.min(660, 100 + Math.max(6, byRank.length) * 24),
    (width) => option(map, order, scale, width), ({ value: [x, y, value] }) => {
      const rank = map.ranks[order[y]];
      pickRank(rank);
      picked.replaceChildren(`Picked: rank ${rank}, ${duration(Math.abs(value))} ${value < 0 ? "early" : "late"} in ${columnName(map, map.columns[x])}. `,
        element("a", { href: "#ranks" }, `All that is known of rank ${rank}`));
    });
  const picked = element("p", { class: "soft", "aria-live": "polite" }, "Click a cell to pick its rank here and below.");
  const grouped = map.columns.some(([first, last]) => first !== last);
  return section("lateness", `Lateness: rank × ${map.by_step ? "step" : "collective"}`,
    notOneClock(data, "a cell is of its rank's own component, and one column is not one moment in two of them."),
    element("p", { class: "soft" }, `Mean arrival of a rank against the member in the middle of each collective${data.pipeline ? ", of its own pipeline stage: what the schedule makes late is left out" : ""}. `
      + `${plural(map.ranks.length, "rank")}, ${plural(map.columns.length, "column")}${grouped ? " of several " + (map.by_step ? "steps" : "collectives") : ""}.`),
    element("div", { class: "bar" }, chooser("Sort", [["rank", "by rank"], ["mean", "by mean lateness"]], (by) => {
      order = by === "mean" ? byMean : byRank;
      redraw(host);
    })), host, picked);
}
