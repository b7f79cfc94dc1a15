// Rank x time: who came late, when, and how much waiting that caused.
import { chart, color, hint, isPrinting, redraw } from "./chart.js";
import { notOneClock } from "./components.js";
import { chooser, element, section } from "./dom.js";
import { cellsOf, rowsByBlame, rowsByNode, rowsByRank } from "./lateness_rows.js";
import { pickRank } from "./picked.js";
import { duration, plural } from "./numbers.js";
import { records } from "./table.js";

const kMostNumbers = 320;  // cells that still have room for their number
const kMostLabels = 32;

// Of lateness, what nearly all cells stay below: a few extremes must not bleach the rest. Of waiting caused the most: there
// the extremes are what is looked for.
function scaleOf(cells, isWaiting) {
  if (isWaiting) return cells.reduce((most, cell) => Math.max(most, cell[2]), 1);
  const sizes = cells.map((cell) => Math.abs(cell[2])).filter((size) => size > 0).sort((a, b) => a - b);
  return Math.max(1, sizes[Math.floor((sizes.length - 1) * 0.98)] ?? 1);
}

function columnName(map, [first, last]) {
  const noun = map.by_step ? "step" : "collective";
  const shift = map.by_step ? 0 : 1;
  return first === last ? `${noun} ${first + shift}` : `${noun}s ${first + shift}–${last + shift}`;
}

const early = (late) => `${duration(Math.abs(late))} ${late < 0 ? "early" : "late"}`;

// What the map's cells are about: figures of ranks that the tables hold.
function figures(data) {
  const map = data.map;
  const uncertainty = new Map(records(data.tables.clocks).map((row) => [row.rank, Number(row.uncertainty_ns ?? 0)]));
  const least = Math.max(0, ...uncertainty.values());  // of ranks whose row the data leave out
  const blame = new Map(records(data.tables.stragglers).map((row) => [row.rank, Number(row.wait_originated_ns)]));
  const limits = map.ranks.map((rank) => uncertainty.get(rank) ?? least);
  const isClear = (place, late) => Math.abs(late) > limits[place];
  // A rank's waiting caused, spread over its late cells by how late it was in them, blank ones included.
  const lateSums = map.ranks.map((_, place) => map.mean_ns[place].reduce((sum, late) => sum + Math.max(0, Number(late ?? 0)), 0));
  return { map, blame, hosts: new Map(records(data.tables.ranks).map((row) => [row.rank, row.host])), limit: Math.max(0, ...limits),
    isBlameKnown: [...blame.values()].some((ns) => ns > 0) && lateSums.some((sum) => sum > 0),
    lateness: (place, late) => (isClear(place, late) ? late : 0),
    waiting: (place, late) => (late > 0 && isClear(place, late) ? (blame.get(map.ranks[place]) ?? 0) * late / lateSums[place] : 0) };
}

function rowName(map, places) {
  const ranks = places.map((place) => map.ranks[place]);
  if (ranks.length === 1) return String(ranks[0]);
  const least = Math.min(...ranks), most = Math.max(...ranks);
  return most - least + 1 === ranks.length ? `${least}–${most}` : `${ranks.length} ranks`;
}

function option(of, rows, by, width) {
  const { map } = of, isWaiting = by === "waiting";
  const cells = cellsOf(map, rows, of[by]), scale = scaleOf(cells, isWaiting);
  const roomy = cells.length <= kMostNumbers && width / map.columns.length > 58;
  const inked = (value) => color(Math.abs(value) > 0.7 * scale ? "card" : "text");
  const many = rows.length > 96;
  return {
    grid: { left: 84, right: many ? 46 : 12, top: 44, bottom: 44 },
    tooltip: {
      formatter: ({ value: [x, y, shown, place, late] }) => hint(`rank ${map.ranks[place]}, ${columnName(map, map.columns[x])}`,
        `${early(late)} against the median rank${of.lateness(place, late) === 0 ? ", below the uncertainty of its clock" : ""}`,
        ...(isWaiting ? [`waiting caused: about ${duration(Math.round(shown))}`] : []),
        ...(rows[y].length > 1 ? [`the worst of ${rows[y].length} ranks in this row`] : []),
        ...(of.hosts.get(map.ranks[place]) ? [`on ${of.hosts.get(map.ranks[place])}`] : []),
        ...(map.columns[x][2] === null ? [] : [`first arrival at ${duration(map.columns[x][2])}`])),
    },
    xAxis: {
      type: "category", data: map.columns.map(([first]) => String(first + (map.by_step ? 0 : 1))), splitLine: { show: false },
      name: map.by_step ? "step" : "collective, in order of time", nameLocation: "middle", nameGap: 26,
    },
    yAxis: { type: "category", data: rows.map((places) => rowName(map, places)), inverse: true, name: "rank",
      nameLocation: "middle", nameGap: 62, splitLine: { show: false },
      axisLabel: rows.length > 48 ? { interval: Math.ceil(rows.length / kMostLabels) - 1 } : {} },
    dataZoom: many ? [{ type: "slider", yAxisIndex: 0, right: 6, width: 16, showDetail: false, brushSelect: false }] : [],
    visualMap: {
      dimension: 2, min: isWaiting ? 0 : -scale, max: scale, orient: "horizontal", top: 0, left: 0, itemWidth: 12, itemHeight: 160, precision: 0,
      text: isWaiting ? [`waiting caused ${duration(Math.round(scale))}`, "none"] : [`late ${duration(Math.round(scale))}`, `early ${duration(Math.round(scale))}`],
      textStyle: { color: color("text") }, formatter: (value) => duration(Math.round(value)),
      inRange: { color: isWaiting ? [color("even"), color("late")] : [color("early"), color("even"), color("late")] },
    },
    series: [{
      data: roomy ? cells.map((value) => ({ value, label: { color: inked(value[2]) } })) : cells,
      type: "heatmap", progressive: isPrinting() ? 0 : 20000, progressiveThreshold: 30000,
      itemStyle: { borderWidth: roomy ? 1 : 0, borderColor: color("card") },
      label: { show: roomy, fontSize: 11, formatter: ({ value }) => (value[2] === 0 ? "" : duration(Math.round(value[2]))) },
    }],
  };
}

export function latenessSection(data) {
  const map = data.map;
  if (map.columns.length === 0) {
    return section("lateness", "Lateness", element("p", {}, "No collective could be split, or the ranks only send and receive: who came late is not shown."));
  }
  const of = figures(data);
  const orders = { rank: rowsByRank(map), blame: rowsByBlame(map, of.blame), node: rowsByNode(map, of.hosts) };
  let rows = of.isBlameKnown ? orders.blame : orders.rank, by = of.isBlameKnown ? "waiting" : "lateness";
  const most = Math.max(...Object.values(orders).map((list) => list.length));
  const host = chart("Lateness by rank and time", Math.min(660, 100 + Math.max(6, most) * 24),
    (width) => option(of, rows, by, width), ({ value: [x, , , place, late] }) => {
      const rank = map.ranks[place];
      pickRank(rank);
      picked.replaceChildren(`Picked: rank ${rank}, ${early(late)} in ${columnName(map, map.columns[x])}. `,
        element("a", { href: "#ranks" }, `All that is known of rank ${rank}`));
    });
  const picked = element("p", { class: "soft", "aria-live": "polite" }, "Click a cell to pick its rank here and below.");
  const grouped = map.columns.some(([first, last]) => first !== last);
  const kOrders = [["blame", "by waiting caused"], ["rank", "by rank"], ["node", "by node"]].filter(([name]) => name !== "blame" || of.isBlameKnown);
  const kColours = [["waiting", "by waiting caused"], ["lateness", "by lateness"]].filter(([name]) => name !== "waiting" || of.isBlameKnown);
  return section("lateness", `Lateness: rank × ${map.by_step ? "step" : "collective"}`,
    notOneClock(data, "a cell is of its rank's own component, and one column is not one moment in two of them."),
    element("p", { class: "soft" }, `How much later than the median rank each rank arrived${data.pipeline ? " in its own pipeline stage; what the schedule makes late is left out" : ""}. `
      + `Blank: within the uncertainty of the clocks (±${duration(of.limit)} at most)${of.isBlameKnown ? ", or nobody waited for it. Waiting caused is a rank's total, spread over its late cells." : "."}`),
    element("p", { class: "soft" }, `${plural(map.ranks.length, "rank")}, ${plural(map.columns.length, "column")}${grouped ? " of several " + (map.by_step ? "steps" : "collectives") : ""}.`
      + (most < map.ranks.length ? ` There are more ranks than rows: neighbours share a row, which shows the worst of them; ordered by waiting caused, the first 64 have their own.` : "")),
    element("div", { class: "bar" },
      chooser("Order", kOrders, (order) => { rows = orders[order]; redraw(host); }),
      chooser("Colour", kColours, (chosen) => { by = chosen; redraw(host); })), host, picked);
}
