// The pipeline of the job: its bubble, what of it is the schedule's, and each stage's work and standstill.
import { notOneClock, ofLongest } from "./components.js";
import { element, section } from "./dom.js";
import { percent } from "./numbers.js";
import { dataTable, records } from "./table.js";

const kSchedules = { "1f1b": "1F1B", gpipe: "GPipe", interleaved: "interleaved 1F1B", zero_bubble: "zero-bubble" };

function figure(label, value) {
  return element("tr", {}, element("td", { class: "whole" }, label),
    element("td", { class: "number" }, value === null ? "–" : percent(value)));
}

export function pipelineSection(data) {
  const p = data.pipeline;
  if (!p) return undefined;
  const rest = p.schedule_share === null ? null : Math.max(0, p.bubble_share - p.schedule_share - p.imbalance_share);
  const rows = records(data.tables.pipeline_stages);
  const most = Math.max(1, ...rows.map((row) => Number(row.work_ns ?? 0) + Number(row.bubble_ns ?? 0)));
  const virtual = p.virtual_stages > 1 ? `, ${p.virtual_stages} virtual stages per rank` : "";
  const figures = element("table", {}, element("tbody", {},
    figure("Bubble", p.bubble_share), figure("… of the schedule", p.schedule_share),
    figure("… of uneven stages", p.imbalance_share), figure("… transfer on the way, jitter, late ranks", rest),
    figure("Bubble with twice the micro-batches, half as large", p.with_twice_micro_batches_share)));
  const stages = dataTable(data, "pipeline_stages", [
    ["stage", "Stage"], ["ranks", "Ranks"],
    ["work_ns", "Work of one rank", { share: (row) => Number(row.work_ns ?? 0) / most }],
    ["bubble_ns", "Bubble of one rank", { share: (row) => Number(row.bubble_ns ?? 0) / most }],
  ]);
  return section("pipeline", "Pipeline",
    notOneClock(data, `this is the pipeline${ofLongest(data)}, the longest.`),
    element("p", {}, [p.sentence, p.next].filter(Boolean).join(" ")),
    element("p", { class: "soft" }, `${p.stages} stages, ${p.micro_batches} micro-batch${p.micro_batches === 1 ? "" : "es"} a step${virtual}, `
      + `${kSchedules[p.schedule] ?? p.schedule}, as the messages show. Shares are of the ranks' GPU time; the schedule's is `
      + "(stages − 1) / (virtual stages × micro-batches) of the work."),
    element("div", { class: "beside" }, element("div", { class: "scroll" }, figures), stages));
}
