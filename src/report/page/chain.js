// The worst step: bars of calls, arrows from who was late to who waited.
import { chart, color, groupColor, hint, key } from "./chart.js";
import { notOneClock } from "./components.js";
import { element, section } from "./dom.js";
import { openMoment } from "./moments.js";
import { axisText, bytes, duration } from "./numbers.js";
import { groupNames, legendOf } from "./groups.js";
import { waitingIsKnown } from "./verdict.js";

const kBar = 0.62;  // of a row's height

function hopText(hop, names) {
  return `rank ${hop.late} arrived last in ${names.nameOf(hop.communicator)}, at ${duration(hop.arrival_ns)}: `
    + `rank ${hop.victim} had waited ${duration(hop.wait_ns)}`;
}

// One call: its wait in outline, its transfer filled.
function drawCall(api, colors) {
  const [row, start, wait, end, group] = [0, 1, 2, 3, 4].map((dimension) => api.value(dimension));
  const [x, y] = api.coord([start, row]), [middle] = api.coord([start + wait, row]), [right] = api.coord([end, row]);
  const height = api.size([0, 1])[1] * kBar, top = y - height / 2;
  const fill = colors[group];
  const children = [];
  if (wait > 0) {
    children.push({ type: "rect", shape: { x, y: top, width: Math.max(1, middle - x), height },
      style: { fill, opacity: 0.28, stroke: fill, lineWidth: 1 } });
  }
  children.push({ type: "rect", shape: { x: middle, y: top, width: Math.max(1.5, right - middle), height }, style: { fill } });
  return { type: "group", children };
}

function drawArrow(api) {
  const [time, from, to] = [0, 1, 2].map((dimension) => api.value(dimension));
  const [x, y0] = api.coord([time, from]), [, y1] = api.coord([time, to]);
  const down = y1 > y0 ? 1 : -1, stroke = color("text");
  return { type: "group", silent: true, children: [
    { type: "line", shape: { x1: x, y1: y0, x2: x, y2: y1 - down * 7 }, style: { stroke, lineWidth: 2 } },
    { type: "circle", shape: { cx: x, cy: y0, r: 3.5 }, style: { fill: stroke } },
    { type: "polygon", shape: { points: [[x, y1], [x - 5, y1 - down * 9], [x + 5, y1 - down * 9]] }, style: { fill: stroke } },
  ] };
}

function option(chain, groups, names, width) {
  const row = new Map(chain.ranks.map((rank, at) => [rank, at]));
  const from = Math.min(...chain.calls.map((call) => Number(call[4])));
  const calls = chain.calls.map(([rank, communicator, , , start, end, wait]) =>
    [row.get(rank), Number(start) - from, Number(wait), Number(end) - from, groups.at.get(names.keyOf(communicator))]);
  const span = Math.max(...calls.map((call) => call[3]));
  const arrows = chain.hops.filter((hop) => row.has(hop.late) && row.has(hop.victim))
    .map((hop) => [Number(hop.arrival_ns) - from, row.get(hop.late), row.get(hop.victim)]);
  return {
    grid: { left: width < 500 ? 70 : 96, right: 16, top: 8, bottom: 76 },
    tooltip: {
      formatter: ({ dataIndex, seriesIndex }) => {
        if (seriesIndex !== 0) return "";
        const [rank, communicator, op, size, start, end, wait] = chain.calls[dataIndex];
        return hint(`rank ${rank}: ${op}${Number(size) > 0 ? " of " + bytes(size) : ""}`, names.nameOf(communicator),
          `waits ${duration(wait)}, then ${duration(Number(end) - Number(start) - Number(wait))} to its end`,
          `from ${duration(start)} to ${duration(end)}`);
      },
    },
    xAxis: { type: "value", min: -span * 0.01, max: span * 1.03, axisLabel: { formatter: axisText((ns) => duration(Math.round(ns))), hideOverlap: true, showMinLabel: false, showMaxLabel: false },
      name: `from ${duration(from)} after the job's first event`, nameLocation: "middle", nameGap: 26 },
    yAxis: { type: "category", inverse: true, data: chain.ranks.map((rank) => `rank ${rank}`), axisLabel: { color: color("text") } },
    dataZoom: [{ type: "slider", xAxisIndex: 0, bottom: 6, height: 18, filterMode: "weakFilter", showDetail: false, brushSelect: false }],
    series: [
      { type: "custom", encode: { x: [1, 3], y: 0 }, data: calls, clip: true,
        renderItem: (_, api) => drawCall(api, groups.legend.map((_, at) => groupColor(at))) },
      { type: "custom", encode: { x: 0, y: 1 }, data: arrows, clip: true, z: 5, renderItem: (_, api) => drawArrow(api) },
    ],
  };
}

export function chainSection(data) {
  const chain = data.chain;
  const title = chain.step === null ? "How lateness travels" : `How lateness travels: step ${chain.step}`;
  if (chain.hops.length === 0) return section("chain", title, element("p", {},
    waitingIsKnown(data) ? "Nobody waited for anybody." : "Not known: only one rank is here."));
  const names = groupNames(data, chain.calls.map((call) => call[1]));
  const groups = legendOf(chain.calls.map((call) => names.keyOf(call[1])));
  const origin = chain.hops[chain.hops.length - 1].late;
  return section("chain", title,
    notOneClock(data, `the lanes are of ranks on one clock, of the component of rank ${origin}.`),
    element("p", { class: "soft" }, `The step in which most was waited for rank ${origin}, and a large wait in it that leads back there. `
      + "Pale: waiting for the last to arrive; full: transfer; between the blocks: the rank's own work. Arrows: a late arrival and who waited for it."),
    element("ol", { class: "hops" }, ...chain.hops.map((hop) => element("li", {}, hopText(hop, names)))),
    element("div", { class: "bar" }, ...groups.legend.map((group, at) => key(`group${at}`, group))),
    chart("Straggler chain of the worst step", 110 + 30 * chain.ranks.length, (width) => option(chain, groups, names, width)),
    openMoment(data, "straggler-chain"),
    chain.left_out > 0 ? element("p", { class: "soft" }, `${chain.left_out.toLocaleString("en")} shorter calls are not shown.`) : undefined);
}
