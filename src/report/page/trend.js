// Rank x windows of a long job: who waited, and who made the others wait, from table trend.
import { chart, color, hint, isPrinting, redraw } from "./chart.js";
import { chooser, element, section } from "./dom.js";
import { cellsOf, rowsByBlame, rowsByNode, rowsByRank } from "./lateness_rows.js";
import { duration, percent, plural } from "./numbers.js";
import { unpack } from "./packed.js";
import { pickRank } from "./picked.js";
import { records } from "./table.js";

const kMostLabels = 32;
const kLeastSpan = 0.05;  // of the windows: shorter spans are noise
const kClearShare = 0.25;  // of the waiting caused in a window: less makes nobody its straggler

const total = (numbers) => numbers.reduce((sum, value) => sum + Number(value ?? 0), 0);

// Places of ranks by window: who caused most there, and what share; null: nobody clearly.
function worstOf(trend) {
  return trend.columns.map((_, x) => {
    const caused = trend.ranks.map((_, place) => Number(trend.caused[place][x] ?? 0)), all = total(caused);
    const place = caused.reduce((best, ns, at) => (ns > caused[best] ? at : best), 0);
    return all > 0 && caused[place] >= kClearShare * all ? { place, share: caused[place] / all } : null;
  });
}

// Windows one after the other with the same straggler: [{place, first, last}, …].
function spansOf(worst, columns) {
  const spans = [];
  worst.forEach((one, x) => {
    const last = spans[spans.length - 1];
    if (last && last.place === (one?.place ?? null) && columns[last.last][2] === columns[x][2]) last.last = x;
    else spans.push({ place: one?.place ?? null, first: x, last: x });
  });
  return spans;
}

const from = ([start]) => (Number(start) === 0 ? "0 s" : duration(start)), until = ([start, length]) => duration(Number(start) + Number(length));
const windowName = (column) => `${from(column)} to ${until(column)}`;

function rowName(trend, places) {
  if (places.length === 1) return String(trend.ranks[places[0]]);
  const ranks = places.map((place) => trend.ranks[place]).sort((a, b) => a - b);
  const isRun = ranks[ranks.length - 1] - ranks[0] + 1 === ranks.length;
  return isRun ? `${ranks[0]}–${ranks[ranks.length - 1]}` : `${ranks.length} ranks`;
}

function option(trend, rows, by) {
  const shown = trend[by], map = { ...trend, mean_ns: shown };
  const cells = cellsOf(map, rows, (_, ns) => ns), most = cells.reduce((largest, cell) => Math.max(largest, cell[2]), 1);
  const rowOf = new Map(rows.flatMap((places, y) => places.map((place) => [place, y])));
  const marks = trend.worst.flatMap((one, x) => (one ? [[x, rowOf.get(one.place)]] : []));
  const many = rows.length > 96;
  return {
    grid: { left: 84, right: many ? 46 : 12, top: 44, bottom: 44 },
    tooltip: {
      formatter: ({ value: [x, y, , place] }) => hint(`rank ${trend.ranks[place]}, ${windowName(trend.columns[x])}`,
        `waiting caused: ${duration(trend.caused[place][x])}`, `waited: ${duration(trend.waited[place][x])}`,
        `last to arrive in ${trend.late[place][x]} of ${trend.candidates[place][x]}`,
        ...(trend.worst[x]?.place === place ? [`caused ${percent(trend.worst[x].share)} of the waiting in this window`] : []),
        ...(rows[y].length > 1 ? [`the most of ${rows[y].length} ranks in this row`] : [])),
    },
    xAxis: { type: "category", data: trend.columns.map(from), splitLine: { show: false }, name: "time since the job's first event",
      nameLocation: "middle", nameGap: 26 },
    yAxis: { type: "category", data: rows.map((places) => rowName(trend, places)), inverse: true, name: "rank", nameLocation: "middle",
      nameGap: 62, splitLine: { show: false }, axisLabel: rows.length > 48 ? { interval: Math.ceil(rows.length / kMostLabels) - 1 } : {} },
    dataZoom: many ? [{ type: "slider", yAxisIndex: 0, right: 6, width: 16, showDetail: false, brushSelect: false }] : [],
    visualMap: {
      seriesIndex: 0, dimension: 2, min: 0, max: most, orient: "horizontal", top: 0, left: 0, itemWidth: 12, itemHeight: 160, precision: 0,
      text: [`${by === "caused" ? "waiting caused" : "waited"} ${duration(most)}`, "none"], textStyle: { color: color("text") },
      formatter: (value) => duration(Math.round(value)), inRange: { color: [color("even"), color("late")] },
    },
    series: [
      { type: "heatmap", data: cells, progressive: isPrinting() ? 0 : 20000, progressiveThreshold: 30000, itemStyle: { borderWidth: 0 } },
      { type: "scatter", data: marks, silent: true, symbol: "diamond", symbolSize: many ? 5 : 8, z: 3,
        itemStyle: { color: color("text"), borderColor: color("card"), borderWidth: 1 } },
    ],
  };
}

function spanWords(trend, { place, first, last }) {
  const when = `${from(trend.columns[first])} to ${until(trend.columns[last])}`;
  if (place === null) return `${when}: nobody clearly`;
  const shares = trend.worst.slice(first, last + 1).map((one) => one.share);
  return `${when}: rank ${trend.ranks[place]}, ${percent(total(shares) / shares.length)} of the waiting caused`;
}

// The spans that last, in order of time.
function stragglerList(trend) {
  const spans = spansOf(trend.worst, trend.columns);
  const shown = spans.filter(({ first, last }) => last - first + 1 >= kLeastSpan * trend.columns.length && last > first);
  if (shown.length === 0) return [element("p", {}, "Who was the straggler changed from window to window.")];
  return [
    element("p", {}, `Who was the straggler${spans.length > shown.length ? "; in between it changed from window to window" : ""}:`),
    element("ul", {}, ...shown.map((span) => element("li", {}, spanWords(trend, span)))),
  ];
}

export function trendSection(data) {
  if (data.trend.columns.length === 0) return undefined;
  const [caused, waited, late, candidates] = [0, 1, 2, 3].map((at) => data.trend.rows.map((row) => unpack(row[at])));
  const trend = { columns: data.trend.columns, ranks: data.trend.ranks, caused, waited, late, candidates, mean_ns: caused };
  trend.worst = worstOf(trend);
  const blame = new Map(trend.ranks.map((rank, place) => [rank, total(caused[place])]));
  const hosts = new Map(records(data.tables.ranks).map((row) => [row.rank, row.host]));
  const orders = { rank: rowsByRank(trend), blame: rowsByBlame(trend, blame), node: rowsByNode(trend, hosts) };
  let rows = trend.ranks.length > 64 ? orders.blame : orders.rank, by = "caused";
  const most = Math.max(...Object.values(orders).map((list) => list.length));
  const picked = element("p", { class: "soft", "aria-live": "polite" }, "Click a cell to pick its rank here and below.");
  const host = chart("Waiting by rank and time", Math.min(660, 100 + Math.max(6, most) * 24), () => option(trend, rows, by), ({ value: [x, , , place] }) => {
    const rank = trend.ranks[place];
    pickRank(rank);
    picked.replaceChildren(`Picked: rank ${rank}, which caused ${duration(caused[place][x])} of waiting from ${windowName(trend.columns[x])}. `,
      element("a", { href: "#ranks" }, `All that is known of rank ${rank}`));
  });
  const kOrders = [["rank", "by rank"], ["blame", "by waiting caused"], ["node", "by node"]];
  if (rows === orders.blame) kOrders.unshift(...kOrders.splice(1, 1));
  return section("trend", "Trend: rank × time",
    element("p", { class: "soft" }, `${plural(trend.ranks.length, "rank")}, ${plural(trend.columns.length, "window")} of ${duration(trend.columns[0][1])}. `
      + "A diamond marks the rank that caused most of a window's waiting, where it is a quarter at least."
      + (most < trend.ranks.length ? " There are more ranks than rows: neighbours share a row, which shows the most of them." : "")),
    element("div", { class: "bar" },
      chooser("Order", kOrders, (order) => { rows = orders[order]; redraw(host); }),
      chooser("Colour", [["caused", "by waiting caused"], ["waited", "by waiting"]], (chosen) => { by = chosen; redraw(host); })),
    host, picked, ...stragglerList(trend));
}
