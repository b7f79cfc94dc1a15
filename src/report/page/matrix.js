// Who waited for whom, and what went from whom to whom.
import { chart, color, hint, redraw } from "./chart.js";
import { notOneClock } from "./components.js";
import { chooser, element, folded, section } from "./dom.js";
import { bytes, duration, plural, significant } from "./numbers.js";
import { rowsOf } from "./packed.js";
import { table } from "./table.js";

const kFigures = {
  wait: { name: "waiting", of: (cell) => cell.wait, text: duration, from: "arrived last", to: "waited" },
  bytes: { name: "bytes", of: (cell) => cell.bytes, text: bytes, from: "sent", to: "received" },
  bandwidth: { name: "bandwidth", of: (cell) => cell.bandwidth, text: (value) => `${significant(value)} GB/s`, from: "sent", to: "received" },
};

function option(matrix, cells, figure, width) {
  const { of, text, name, from, to } = kFigures[figure], { names, unit } = matrix;
  const shown = cells.filter((cell) => of(cell) > 0).map((cell) => [cell.to, cell.from, of(cell), cell]);
  const most = Math.max(...shown.map((cell) => cell[2])), least = figure === "bandwidth" ? Math.min(...shown.map((cell) => cell[2])) : 0;
  const round = (value) => text(figure === "bandwidth" ? value : Math.round(value));
  const roomy = names.length <= 16 && width / names.length > 58;
  const short = (label) => (label.length > 14 ? `…${label.slice(-13)}` : label);
  return {
    grid: { left: 104, right: 16, top: 44, bottom: 54 },
    tooltip: { formatter: ({ data: { cell } }) => hint(`${unit} ${names[cell.from]} → ${unit} ${names[cell.to]}`,
      ...(cell.wait > 0 ? [`waited for it: ${duration(cell.wait)}`] : []), ...(cell.bytes > 0 ? [`sent: ${bytes(cell.bytes)}`] : []),
      ...(cell.bandwidth > 0 ? [`${significant(cell.bandwidth)} GB/s while data moved`] : [])) },
    xAxis: { type: "category", data: names.map(short), name: `${unit} that ${to}`, nameLocation: "middle", nameGap: 32, splitLine: { show: false }, axisLabel: { hideOverlap: true } },
    yAxis: { type: "category", data: names.map(short), inverse: true, name: `${unit} that ${from}`, nameLocation: "middle", nameGap: 84, splitLine: { show: false },
      axisLabel: names.length > 32 ? { interval: Math.ceil(names.length / 24) - 1 } : {} },
    visualMap: { dimension: 2, min: least === most ? 0 : least, max: most, orient: "horizontal", top: 0, left: 0, itemWidth: 12, itemHeight: 160,
      text: [`${name} ${round(most)}`, round(least)], textStyle: { color: color("text") }, formatter: round,
      inRange: { color: figure === "bandwidth" ? [color("late"), color("even"), color("early")] : [color("even"), color("late")] } },
    series: [{ type: "heatmap", progressive: 0, itemStyle: { borderWidth: names.length <= 32 ? 1 : 0, borderColor: color("card") },
      data: shown.map(([x, y, value, cell]) => ({ value: [x, y, value], cell, label: { color: value > least + 0.7 * (most - least) ? color("card") : color("text") } })),
      label: { show: roomy, fontSize: 11, formatter: ({ value }) => round(value[2]) } }],
  };
}

export function matrixSection(data) {
  const { matrix } = data, { names, unit, joined } = matrix;
  const cells = rowsOf(matrix.cells, 6).map(([from, to, wait, sent, timed, time]) =>
    ({ from, to, wait: Number(wait), bytes: Number(sent), bandwidth: Number(time) > 0 ? Number(timed) / Number(time) : 0 }));
  const offered = Object.entries(kFigures).filter(([, figure]) => cells.some((cell) => figure.of(cell) > 0)).map(([key, figure]) => [key, figure.name]);
  if (names.length < 2 || offered.length === 0) return undefined;
  let figure = offered[0][0];
  const host = chart(`${unit} by ${unit}`, Math.min(680, 130 + Math.max(5, names.length) * (names.length > 32 ? 10 : 24)), (width) => option(matrix, cells, figure, width));
  const rows = cells.map((cell) => ({ ...cell, from: names[cell.from], to: names[cell.to], wait_ns: cell.wait }));
  const columns = [["from", "From", { meaning: "Who arrived last, or sent." }], ["to", "To", { meaning: "Who waited, or received." }],
    ["wait_ns", "Waiting", { meaning: "Time that the second waited in collectives in which the first arrived last." }],
    ["bytes", "Sent", { meaning: "Bytes of messages, of collectives between two ranks, and of all-to-alls that record their parts." }],
    ["bandwidth", "GB/s", { meaning: "Bytes of calls between two ranks over the time in which they moved.", text: (row) => (row.bandwidth > 0 ? significant(row.bandwidth) : "–") }]]
    .filter(([name]) => name === "from" || name === "to" || rows.some((row) => row[name] > 0))
    .map(([name, label, more]) => ({ name, label, ...more }));
  const isKnown = (name) => offered.some(([key]) => key === name);
  return section("matrix", `${unit === "node" ? "Node × node" : "Rank × rank"}`,
    notOneClock(data, "nothing is known between two components."),
    element("p", { class: "soft" }, `Waiting: in collectives in which the ${unit} of the row arrived last. `
      + (isKnown("bytes") ? `Bytes${isKnown("bandwidth") ? " and bandwidth" : ""}: of messages, of collectives between two ranks, and of all-to-alls that record their parts; what larger groups move from whom to whom is not recorded. `
        : "Bytes between two ranks are not known: there are no messages and no groups of two. ")
      + (joined > 1 ? `${joined} neighbours share a row.` : `${plural(names.length, unit)}.`)),
    element("div", { class: "bar" }, offered.length > 1 ? chooser("Colour", offered, (chosen) => { figure = chosen; redraw(host); }) : undefined),
    host, folded("As a table", table({ columns, rows, sortBy: rows.some((row) => row.wait_ns > 0) ? "wait_ns" : "bytes", caption: `${unit} by ${unit}`, copied: columns.map((column) => column.name) })));
}
