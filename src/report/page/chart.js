// Charts: drawn when they come into view, again when the colours change.
import { BarChart, CustomChart, HeatmapChart, LineChart, ScatterChart } from "echarts/charts";
import {
  AriaComponent, DataZoomComponent, GridComponent, LegendComponent, TooltipComponent, VisualMapComponent,
} from "echarts/components";
import { init, use } from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";
import { followKeys } from "./chart_keys.js";
import { element } from "./dom.js";

use([AriaComponent, BarChart, CanvasRenderer, CustomChart, DataZoomComponent, GridComponent, HeatmapChart,
  LegendComponent, LineChart, ScatterChart, TooltipComponent, VisualMapComponent]);

export const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
export const groupColor = (at) => color(`group${at % 8}`);

// Lines of text as a hint; the first is the heading.
export function hint(heading, ...lines) {
  return element("div", { class: "hint" }, element("b", {}, heading), ...lines.map((line) => element("span", {}, line)));
}

const isPlain = (value) => value !== null && typeof value === "object" && value.constructor === Object;

// The house style under an axis or a legend.
function styled(option) {
  const soft = color("soft"), line = color("line");
  const axis = (given) => ({
    axisLabel: { color: soft, ...given.axisLabel },
    axisLine: { lineStyle: { color: line } },
    axisTick: { show: false },
    splitLine: { lineStyle: { color: line, opacity: 0.6 }, ...given.splitLine },
    nameTextStyle: { color: soft, ...given.nameTextStyle },
    ...Object.fromEntries(Object.entries(given).filter(([key, value]) =>
      !isPlain(value) || !["axisLabel", "splitLine", "nameTextStyle"].includes(key))),
  });
  const each = (given, make) => (Array.isArray(given) ? given.map(make) : given && make(given));
  return {
    animation: false,
    textStyle: { fontFamily: "system-ui, sans-serif", color: color("text") },
    ...option,
    tooltip: {
      confine: true, backgroundColor: color("card"), borderColor: line, textStyle: { color: color("text") },
      ...option.tooltip,
    },
    legend: option.legend && { textStyle: { color: color("text") }, inactiveColor: soft, top: 0, left: 0, type: "scroll",
      pageTextStyle: { color: soft }, pageIconColor: soft, ...option.legend },
    xAxis: each(option.xAxis, axis),
    yAxis: each(option.yAxis, axis),
  };
}

const drawn = new Map();  // host -> {chart, option, makeOption, onclick}

function draw(host) {
  const entry = drawn.get(host);
  if (!entry.chart) {
    entry.chart = init(host, null, { renderer: "canvas" });
    entry.chart.on("finished", () => { host.dataset.state = "drawn"; });
    if (entry.onclick) entry.chart.on("click", entry.onclick);
    new ResizeObserver(() => { if (host.clientWidth > 0) entry.chart.resize(); }).observe(host);
  }
  entry.option = styled(entry.makeOption(host.clientWidth));
  entry.chart.setOption(entry.option, { notMerge: true });
}

const inView = new IntersectionObserver((seen) => {
  for (const { target, isIntersecting } of seen) {
    if (isIntersecting && target.clientWidth > 0) {
      inView.unobserve(target);
      draw(target);
    }
  }
}, { rootMargin: "300px" });

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const [host, entry] of drawn) if (entry.chart) draw(host);
});
// On paper: light, folded sections open, every chart whole. Whoever prints before all was seen gets all the same.
let openedForPrint = [];
addEventListener("beforeprint", () => {
  document.documentElement.classList.add("printing");
  openedForPrint = [...document.querySelectorAll("details:not([open])")];
  for (const one of openedForPrint) one.open = true;
  for (const host of drawn.keys()) if (host.clientWidth > 0) draw(host);
});
addEventListener("afterprint", () => {
  document.documentElement.classList.remove("printing");
  for (const one of openedForPrint) one.open = false;
  for (const [host, entry] of drawn) if (entry.chart && host.clientWidth > 0) draw(host);
});
export const isPrinting = () => document.documentElement.classList.contains("printing");

const kWhisker = 4;  // half width, pixels

// A point with a bar from low to high, where those are known.
function drawInterval(api, stroke) {
  const [at, middle, low, high] = [0, 1, 2, 3].map((dimension) => api.value(dimension));
  const [x, y] = api.coord([at, middle]);
  const children = [{ type: "circle", shape: { cx: x, cy: y, r: 3.5 }, style: { fill: stroke } }];
  if (Number.isFinite(low) && Number.isFinite(high)) {
    const [, bottom] = api.coord([at, low]), [, top] = api.coord([at, high]);
    for (const [x1, y1, x2, y2] of [[x, bottom, x, top], [x - kWhisker, bottom, x + kWhisker, bottom], [x - kWhisker, top, x + kWhisker, top]]) {
      children.push({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke, lineWidth: 1.5 } });
    }
  }
  return { type: "group", children };
}

// A series of points with their intervals: [[x, middle, low, high], …]; NaN: not known.
export function intervals(data, colorName) {
  return { type: "custom", encode: { x: 0, y: [1, 2, 3] }, clip: true, data, z: 3,
    renderItem: (_, api) => drawInterval(api, color(colorName)) };
}

// A line that is no measurement: what is ideal, what a link can do.
export function guide(name, data, colorName, more = {}) {
  return { name, type: "line", data, symbol: "none", silent: true, z: 1, color: color(colorName),
    lineStyle: { type: "dashed", width: 1.5, color: color(colorName) }, ...more };
}

// makeOption(width): an ECharts option, made again for every drawing. Redraw by redraw(host). onclick: of what is drawn.
export function chart(name, height, makeOption, onclick) {
  const host = element("div", { class: "chart", role: "application", "aria-roledescription": "chart", "aria-label": name, tabindex: "0",
    "data-state": "waiting" });
  host.style.height = `${height}px`;
  drawn.set(host, { makeOption, onclick });
  followKeys(host, () => drawn.get(host));
  inView.observe(host);
  return host;
}

export function redraw(host) {
  if (drawn.get(host).chart) draw(host);  // else its first drawing is to come
}

export const key = (name, text) => {
  const mark = element("i");
  mark.style.background = `var(--${name})`;
  return element("span", { class: "key" }, mark, text);
};
