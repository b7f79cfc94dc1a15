// What the efficiency lost from one size to the next, and to whom.
import { chart, color, key } from "./chart.js";
import { element, section } from "./dom.js";
import { duration } from "./numbers.js";
import { dataTable, records } from "./table.js";

const kNoise = 0.05;  // points that are not worth a sign

const factorWords = (factor) => factor.replaceAll("_", " ").replace(/^./, (letter) => letter.toUpperCase()).replace(/^Gpu/, "GPU");
const pointsText = (points) => (Math.abs(points) < kNoise ? "0.0" : `${points > 0 ? "−" : "+"}${Math.abs(points).toFixed(1)}`);

// Next to the bar, or within where it leaves no room.
function placed(bar, most) {
  if (bar.to <= 0.75 * most) return { position: "right", color: color("text") };
  return bar.to - bar.from > 0.2 * most ? { position: "insideRight", color: color("card") } : { position: "left", color: color("text") };
}

// From the efficiency before to that after; a loss hangs from the left end of what is left so far.
function waterfall(title, before, after, losses) {
  let left = 100 * before;
  const bars = [{ label: "before", from: 0, to: left, colorName: "compute", text: `${left.toFixed(1)} %` },
    ...losses.map((loss) => {
      const bar = { label: factorWords(loss.factor), from: left - Math.max(0, loss.points), to: left - Math.min(0, loss.points),
        colorName: loss.points >= 0 ? "wait" : "group2", text: pointsText(loss.points) };
      left -= loss.points;
      return bar;
    }),
    { label: "after", from: 0, to: 100 * after, colorName: "compute", text: `${(100 * after).toFixed(1)} %` }];
  const most = Math.max(100, ...bars.map((bar) => bar.to));
  return chart(`Losses ${title}`, 50 + 30 * bars.length, () => ({
    grid: { left: 150, right: 24, top: 6, bottom: 40 },
    tooltip: { show: false },
    xAxis: { type: "value", min: 0, max: most, name: "global efficiency, %", nameLocation: "middle", nameGap: 24 },
    yAxis: { type: "category", inverse: true, data: bars.map((bar) => bar.label), axisLabel: { color: color("text") } },
    series: [
      { type: "bar", stack: "all", silent: true, itemStyle: { color: "transparent" }, data: bars.map((bar) => bar.from) },
      { type: "bar", stack: "all", barWidth: 18, data: bars.map((bar) => ({
        value: bar.to - bar.from, itemStyle: { color: color(bar.colorName) },
        label: { show: true, formatter: bar.text, ...placed(bar, most) },
      })) },
    ],
  }));
}

// "ranks 0-31": of a list that was cut, as far as it goes.
function rankWords(ranks) {
  const whole = !String(ranks).endsWith("…");
  const numbers = String(ranks).split(" ").map((text) => (/^\d+$/.test(text) ? Number(text) : NaN)).filter((number) => !Number.isNaN(number));
  const spans = [];
  for (const number of numbers) {
    const last = spans[spans.length - 1];
    if (last && number === last[1] + 1) last[1] = number;
    else spans.push([number, number]);
  }
  const words = spans.map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`)).join(", ");
  return `rank${numbers.length === 1 && whole ? "" : "s"} ${words}${whole ? "" : " …"}`;
}

function subject(cause) {
  if (cause.kind === "operator") return cause.name ?? "–";
  if (cause.kind === "rank") return rankWords(cause.ranks);
  if (cause.kind === "host") return `late to launch: ${String(cause.ranks).includes(" ") ? "hosts" : "host"} of ${rankWords(cause.ranks)}`;
  if (cause.kind === "idle") return "GPUs that idle, but not for a launch";
  if (cause.kind === "other") return "other";
  const ids = (cause.communicators ?? "").split(" ").filter(Boolean);
  return `${cause.op} in ${cause.communicator ?? "no name"}${ids.length > 0 && ids.length <= 4 ? " #" + ids.join(" #") : ""}`
    + (cause.ranks ? `, waiting for ${rankWords(cause.ranks)}` : "");
}

const kCauses = [["factor", "Lost to", { text: (row) => factorWords(row.factor) }], ["kind", "Kind"],
  ["communicator", "Who or what", { text: subject, cut: true }], ["points", "Points", { text: (row) => row.points.toFixed(1) }],
  ["before_ns", "Before"], ["after_ns", "After"]];

function between(data, from, to) {
  const here = (row) => row.from === from.world_size && row.to === to.world_size;
  const drawn = records(data.tables.losses).filter((loss) => here(loss) && loss.tree === "pop");
  const causes = records(data.tables.loss_causes).filter((cause) => here(cause) && drawn.some((loss) => loss.factor === cause.factor));
  const title = `from ${from.world_size} to ${to.world_size} ranks`;
  const known = from.global !== null && to.global !== null && drawn.length > 0;
  return element("div", {}, element("h3", {}, `From ${from.world_size} to ${to.world_size} ranks`),
    known ? waterfall(title, from.global, to.global, drawn) : element("p", {}, "The efficiencies of these sizes are not determined."),
    causes.length === 0 ? element("p", {}, "No rank, communicator or operator explains a loss.")
      : dataTable(data, "loss_causes", kCauses, { rows: causes, sortBy: "points" }));
}

export function lossesSection(data) {
  const runs = records(data.tables.runs);
  const others = new Set(records(data.tables.losses).filter((loss) => loss.tree === "gpu").map((loss) => loss.factor));
  const gpuCauses = records(data.tables.loss_causes).filter((cause) => others.has(cause.factor));
  const pairs = runs.slice(1).map((to, at) => between(data, runs[at], to));
  return section("losses", "Losses between sizes",
    element("p", { class: "soft" }, "Points of global efficiency, which sum up; who or what took longer than ideal scaling leaves it, per rank and step."),
    element("div", { class: "bar" }, key("wait", "lost"), key("group2", "gained")),
    ...pairs,
    element("h3", {}, "All factors: tree pop, and tree gpu for its serialization and transfer"),
    dataTable(data, "losses", [["from", "From"], ["to", "To"], ["tree", "Tree"], ["factor", "Factor", { text: (row) => factorWords(row.factor) }],
      ["before", "Before", { text: (row) => row.before.toFixed(3) }], ["after", "After", { text: (row) => row.after.toFixed(3) }],
      ["points", "Points lost", { text: (row) => row.points.toFixed(1) }]]),
    gpuCauses.length === 0 ? undefined : element("h3", {}, "By what the GPUs do"),
    gpuCauses.length === 0 ? undefined
      : dataTable(data, "loss_causes", [["from", "From"], ["to", "To"], ...kCauses], { rows: gpuCauses, sortBy: "points" }));
}
