// One job at several sizes: curves against the number of GPUs, and the efficiencies of each size.
import { chart, color, guide, hint, intervals, key } from "./chart.js";
import { element, section } from "./dom.js";
import { card } from "./verdict.js";
import { asWritten, axisText, duration, percent, plural, significant } from "./numbers.js";
import { dataTable, records } from "./table.js";

const kGood = 0.8;  // POP

export function scaleHeading(data) {
  const runs = records(data.tables.runs);
  document.title = `Scaling of ${plural(runs.length, "run")} – skewscope`;
  return [element("h1", {}, `${data.scaling === "weak" ? "Weak" : "Strong"} scaling of ${plural(runs.length, "run")}`),
    element("p", { class: "soft" }, runs.map((run) => `${run.name} (${plural(run.world_size, "rank")})`).join(" · "))];
}

export function scaleVerdict(data) {
  return card("", data.verdict, [["Why", asWritten(data.why || "no rank, communicator or operator explains the loss")],
    ["Scaling", asWritten(data.scaling_words)], ["Projection", asWritten(data.projection_words)]]);
}

const sizeAxis = (runs, last) => ({
  type: "log", logBase: 2, min: runs[0].world_size / 1.15, max: last * 1.15, name: "GPUs", nameLocation: "middle", nameGap: 26,
  axisLabel: { showMinLabel: false, showMaxLabel: false, formatter: (size) => String(Math.round(size)) },
});

const bars = (value, error) => [value, ...(error === null ? [NaN, NaN] : [value - error, value + error])];
const withError = (text, error) => (error === null ? text : `${text} ± ${error}`);
const measured = (data, colorName, name) => [
  { name, type: "line", data: data.map((point) => point.slice(0, 2)), symbol: "none", silent: true,
    lineStyle: { color: color(colorName), width: 2 }, color: color(colorName) },
  intervals(data, colorName)];

function curve(name, runs, { last, yAxis, series, lines }) {
  return chart(name, 270, () => ({
    grid: { left: 66, right: 16, top: 12, bottom: 44 },
    tooltip: { formatter: ({ data: [size] }) => {
      const run = runs.find((one) => one.world_size === size);
      return run === undefined ? "" : hint(plural(size, "GPU"), ...lines(run));
    } },
    xAxis: sizeAxis(runs, last), yAxis, series: series(),
  }));
}

// What a step takes at each size, where work per second stays ideal.
const idealStep = (data, first, size) => (data.scaling === "weak" ? first.step_ns : first.step_ns * first.world_size / size);

function stepCurve(data, runs) {
  const first = runs[0], beyond = records(data.tables.projection);
  const sizes = [...runs, ...beyond].map((one) => one.world_size);
  return curve("Step time against GPUs", [...runs, ...beyond], {
    last: Math.max(...sizes),
    yAxis: { type: "value", min: 0, axisLabel: { formatter: axisText((ns) => duration(Math.round(ns))), showMaxLabel: false } },
    series: () => [
      guide("ideal", sizes.map((size) => [size, idealStep(data, first, size)]), "soft"),
      ...measured(runs.map((run) => [run.world_size, ...bars(run.step_ns, run.step_error_ns)]), "compute", "measured"),
      intervals(beyond.map((point) => [point.world_size, point.step_ns, point.low_ns, point.high_ns]), "wait")],
    lines: (run) => (run.low_ns === undefined
      ? [withError(`step ${duration(run.step_ns)}`, run.step_error_ns && duration(run.step_error_ns)), `ideal ${duration(idealStep(data, first, run.world_size))}`]
      : [`projected ${duration(run.step_ns)}`, `95 %: ${duration(run.low_ns)} to ${duration(run.high_ns)}`]),
  });
}

function speedupCurve(runs) {
  const first = runs[0], last = runs[runs.length - 1].world_size;
  return curve("Speed-up against GPUs", runs, {
    last,
    yAxis: { type: "log", logBase: 2, axisLabel: { formatter: (value) => String(Number(value.toPrecision(2))) } },
    series: () => [
      guide("ideal", [[first.world_size, 1], [last, last / first.world_size]], "soft"),
      ...measured(runs.map((run) => [run.world_size, ...bars(run.speedup, run.speedup_error)]), "compute", "measured")],
    lines: (run) => [withError(`${significant(run.speedup)} times the work per second`, run.speedup_error && significant(run.speedup_error)),
      `ideal ${significant(run.world_size / first.world_size)}`],
  });
}

const percentAxis = { type: "value", min: 0, max: ({ max }) => Math.max(1.1, 1.05 * max),
  axisLabel: { formatter: (value) => percent(value), showMaxLabel: false } };

// Its error is that of the speed-up: ideal speed-ups have none.
function throughputCurve(runs) {
  const first = runs[0], last = runs[runs.length - 1].world_size;
  const error = (run) => (run.speedup_error === null ? null : run.speedup_error * first.world_size / run.world_size);
  return curve("Throughput per GPU against GPUs", runs, {
    last, yAxis: percentAxis,
    series: () => [
      guide("ideal", [[first.world_size, 1], [last, 1]], "soft"),
      ...measured(runs.map((run) => [run.world_size, ...bars(run.throughput_per_gpu, error(run))]), "compute", "measured")],
    lines: (run) => [withError(`${percent(run.throughput_per_gpu)} of the smallest run's`, error(run) && percent(error(run))),
      `${significant(run.steps_per_s_per_gpu)} steps per second and GPU`],
  });
}

const kEfficiencies = [["global", "Global", "group0"], ["computation_scaling", "Computation scaling", "group2"],
  ["load_balance", "Load balance", "group1"], ["communication", "Communication", "group3"]];

function efficiencyCurve(runs) {
  const first = runs[0], last = runs[runs.length - 1].world_size;
  const known = kEfficiencies.filter(([name]) => runs.some((run) => run[name] !== null));
  const host = curve("Efficiencies against GPUs", runs, {
    last, yAxis: percentAxis,
    series: () => [
      guide("ideal", [[first.world_size, 1], [last, 1]], "soft"),
      ...known.flatMap(([name, label, colorName]) =>
        measured(runs.filter((run) => run[name] !== null).map((run) => [run.world_size, run[name], NaN, NaN]), colorName, label))],
    lines: (run) => known.map(([name, label]) => `${label}: ${percent(run[name])}`),
  });
  return element("div", {}, element("div", { class: "bar" }, ...known.map(([, label, colorName]) => key(colorName, label))), host);
}

export function curvesSection(data) {
  const runs = records(data.tables.runs);
  const projected = data.tables.projection.rows.length > 0;
  const of = (title, ...content) => element("div", {}, element("h3", {}, title), ...content);
  return section("curves", "Against the number of GPUs",
    element("p", { class: "soft" }, "Dashed: ideal scaling from the smallest run. Bars: standard error of the mean over the steps that all "
      + `ranks recorded; none where there is one step.${projected ? " Orange, for larger sizes: projection with its 95 % interval." : ""}`),
    element("div", { class: "pair" }, of("Step time", stepCurve(data, runs)), of("Speed-up", speedupCurve(runs))),
    element("div", { class: "pair" }, of("Throughput per GPU, of the smallest run's", throughputCurve(runs)),
      of("Efficiencies", efficiencyCurve(runs))));
}

const kTree = [["global", "Global efficiency", 0], ["computation_scaling", "Computation scaling", 1], ["parallel", "Parallel efficiency", 1],
  ["load_balance", "Load balance", 2], ["communication", "Communication", 2], ["serialization", "Serialization", 3],
  ["transfer", "Transfer", 3], ["gpu_communication", "GPU: communication", 3], ["orchestration", "GPU: orchestration", 3]];

function efficiencyCell(value) {
  const text = value === null ? "–" : `${value.toFixed(3)} ${value < kGood ? "▲" : "✓"}`;
  const cell = element("td", { class: "number share" }, text);
  cell.style.setProperty("--of", String(Math.min(1, Math.max(0, value ?? 0))));
  return cell;
}

export function treeSection(data) {
  const runs = records(data.tables.runs);
  const rows = kTree.map(([name, label, depth]) => {
    const first = element("td", { class: "whole" }, label);
    first.style.paddingLeft = `${10 + depth * 18}px`;
    return element("tr", {}, first, ...runs.map((run) => efficiencyCell(run[name])));
  });
  const head = element("tr", {}, element("th", {}, "Efficiency"), ...runs.map((run) => element("th", { class: "number" }, plural(run.world_size, "rank"))));
  return section("tree", "Efficiency of each size",
    element("p", { class: "soft" }, "Global = computation scaling × parallel; parallel = load balance × communication; communication = serialization × "
      + `transfer = GPU communication × orchestration. ✓ at least ${kGood}, ▲ below.`),
    element("div", { class: "scroll" }, element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows))),
    element("h3", {}, "Runs"),
    dataTable(data, "runs", [["name", "Run", { cut: true }], ["world_size", "Ranks"], ["steps", "Steps"], ["step_ns", "Step"], ["step_error_ns", "±"],
      ["speedup", "Speed-up", { text: (row) => row.speedup.toFixed(2) }], ["speedup_error", "±"], ["throughput_per_gpu", "Throughput per GPU", { text: (row) => percent(row.throughput_per_gpu) }],
      ["compute_ns", "Computing, rank and step"], ["message_bytes", "Messages, rank and step"]]));
}
