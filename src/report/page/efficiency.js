// The efficiencies of POP and TALP, and what they cost in GPU time.
import { chart, color } from "./chart.js";
import { notOneClock, ofLongest } from "./components.js";
import { element, section } from "./dom.js";
import { duration, gpuTime, percent } from "./numbers.js";

const kGood = 0.8;  // POP

const kRows = [
  ["parallel", "Parallel efficiency", "computing of all GPU time = load balance × communication", 0],
  ["load_balance", "Load balance", "mean computing / longest computing", 1],
  ["communication", "Busiest rank", "longest computing / elapsed (POP: communication efficiency; idling counts, too)", 1],
  ["serialization", "Serialization", "longest computing / elapsed on an ideal network", 2],
  ["bubble", "Bubble", "what a pipeline's schedule leaves: 1 − its share of GPU time", 3],
  ["transfer", "Transfer", "elapsed on an ideal network / elapsed (replayed)", 2],
  ["gpu_communication", "GPU: communication", "longest computing / longest active", 2],
  ["orchestration", "GPU: orchestration", "longest active / elapsed: host late, launch-bound, waiting for data", 2],
];

function efficiencyTable(efficiency) {
  const body = kRows.filter(([name]) => name !== "bubble" || efficiency.bubble !== null).map(([name, label, meaning, depth]) => {
    const value = efficiency[name];
    const low = value !== null && value < kGood;
    const number = element("td", { class: "number share" },
      value === null ? "–" : `${value.toFixed(2)} ${low ? "▲" : "✓"}`);
    number.style.setProperty("--of", String(value ?? 0));
    const first = element("td", { class: "whole" }, label);
    first.style.paddingLeft = `${10 + depth * 18}px`;
    return element("tr", {}, first, number, element("td", { class: "soft" }, meaning));
  });
  const head = element("tr", {}, element("th", {}, "Efficiency"), element("th", { class: "number" }, "0..1"),
    element("th", {}, "is"));
  return element("div", { class: "scroll" }, element("table", {}, element("thead", {}, head), element("tbody", {}, ...body)));
}

// Additive losses: shares of all GPU time that sum to 1.
export function losses(e) {
  if (e.parallel === null || e.communication === null) return [];
  const ideal = e.transfer === null ? null : Math.max(e.transfer, e.communication);
  const imbalance = ["Imbalance", e.communication - e.parallel, "wait"];
  const pop = ideal === null ? [["Not computing", 1 - e.communication, "idle"]]
    : [["Serialization", ideal - e.communication, "unsplit"], ["Transfer", 1 - ideal, "transfer"]];
  const gpu = [["Exposed communication", e.orchestration - e.communication, "copy"], ["Orchestration", 1 - e.orchestration, "idle"]];
  const computing = ["Computing", e.parallel, "compute"];
  return [["POP: by cause", [computing, imbalance, ...pop]], ["GPU: by what the GPU does", [computing, imbalance, ...gpu]]];
}

function waterfall(title, steps, totalNs) {
  let before = 0;
  const bars = steps.map(([label, share, colorName]) => {
    const bar = { label, share, colorName, before };
    before += share;
    return bar;
  });
  return chart(`Loss waterfall, ${title}`, 50 + 34 * bars.length, (width) => ({
    grid: { left: 150, right: width < 420 ? 12 : 24, top: 6, bottom: 40 },
    tooltip: { show: false },
    xAxis: { type: "value", min: 0, max: 1, name: `of ${gpuTime(totalNs)}`, nameLocation: "middle",
      nameGap: 24, axisLabel: { formatter: (value) => percent(value) } },
    yAxis: { type: "category", inverse: true, data: bars.map((bar) => bar.label), axisLabel: { color: color("text") } },
    series: [
      { type: "bar", stack: "all", silent: true, itemStyle: { color: "transparent" }, data: bars.map((bar) => bar.before) },
      {
        type: "bar", stack: "all", barWidth: 20,
        data: bars.map((bar) => ({
          value: bar.share, itemStyle: { color: color(bar.colorName) },
          label: {
            show: true, color: color("text"), position: bar.before + bar.share > 0.6 ? (bar.share > 0.5 ? "insideLeft" : "left") : "right",
            textBorderColor: color("card"), textBorderWidth: 3,
            formatter: `${gpuTime(bar.share * totalNs)} · ${percent(bar.share)}`,
          },
        })),
      },
    ],
  }));
}

export function efficiencySection(data) {
  const e = data.efficiency;
  if (e.gpus === 0) return section("efficiency", "Efficiency and losses", element("p", {}, "The traces hold no GPU rows."));
  const totalNs = e.gpus * Number(e.elapsed_ns);
  const charts = losses(e).flatMap(([title, steps]) => [element("h3", {}, title), waterfall(title, steps, totalNs)]);
  const step = data.what_if.replayed_ns === null ? undefined : element("p", {},
    `Simulated (what-if), the job takes ${duration(data.what_if.replayed_ns)}`
    + (data.what_if.balanced_ns === null ? ""
      : `; if no rank were slow ${duration(data.what_if.balanced_ns)}${data.what_if.saved_at_least ? " or less" : ""}`)
    + (data.what_if.no_transfer_ns === null ? "." : `; with an infinitely fast network ${duration(data.what_if.no_transfer_ns)}.`));
  return section("efficiency", "Efficiency and losses",
    notOneClock(data, `these are the figures${ofLongest(data)}, the longest.`),
    element("p", { class: "soft" }, `${percent(e.parallel)} of ${gpuTime(totalNs)} was computing. ✓ at least ${kGood}, ▲ below.`),
    element("div", { class: "beside" }, element("div", {}, efficiencyTable(e), step), element("div", {}, ...charts)));
}
