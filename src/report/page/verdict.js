// What the job suffers from, how sure that is, and what to do next.
import { element, points } from "./dom.js";
import { asWritten, duration, plural } from "./numbers.js";

function jobLine(job) {
  const parts = [plural(job.ranks, "rank"), job.hosts > 0 ? plural(job.hosts, "node") : "hosts unknown"];
  if (job.steps > 0) parts.push(job.steps === 1 ? `step ${job.first_step}` : `steps ${job.first_step}–${job.last_step}`);
  parts.push(duration(job.window_ns), ...(job.vendor ? [job.vendor] : []));
  if (job.sessions > 1) parts.push(plural(job.sessions, "session"));
  return parts.join(" · ");
}

export function heading(data) {
  const name = data.job.name || "Job without a name";
  document.title = `${name} – skewscope`;
  return [element("h1", {}, name), element("p", { class: "soft" }, jobLine(data.job))];
}

const kTrust = { good: "✓", doubtful: "▲", bad: "✕" };

function strip(quality) {
  return element("ul", { class: "strip", "aria-label": "Data quality" }, ...quality.map((point) => element("li", {},
    element("span", { class: "label" }, point.label),
    element("span", { class: `trust ${point.trust}`, title: point.trust }, kTrust[point.trust] + " "), asWritten(point.value))));
}

// The first thing to read: a sentence, and what it rests on.
export function card(severeness, says, pairs, ...more) {
  return element("section", { id: "verdict", class: `verdict ${severeness}`, "data-title": "Verdict" },
    element("p", { class: "says" }, asWritten(says)), points(pairs), ...more);
}

export function verdictSection(data) {
  const { verdict, why, next, severeness, confidence } = data.verdict;
  const trust = { high: "good", medium: "doubtful", low: "bad" }[confidence];
  return card(severeness, verdict, [
    ["Why", asWritten(why)],
    ["Next", asWritten(next)],
    ["Loss by waiting", severeness],
    ["Confidence", element("span", { class: `trust ${trust}` }, `${kTrust[trust]} ${confidence}`)],
  ], strip(data.quality));
}
