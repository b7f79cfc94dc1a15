// What the job suffers from, how sure that is, and what to do next.
import { hasComponents } from "./components.js";
import { element, points, section } from "./dom.js";
import { asWritten, duration, percent, plural } from "./numbers.js";
import { dataTable, records } from "./table.js";

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

const kBounds = { exact: "", at_least: "at least ", at_most: "at most " };
const gainWords = (loss) => kBounds[loss.bound] + percent(loss.gain_share);

// One rank of several cannot know whether it waited.
export const waitingIsKnown = (data) => data.job.ranks > 1;

export function gainsSection(data) {
  const losses = records(data.tables.losses);
  const table = () => dataTable(data, "losses", [
    ["kind", "Loss", { text: (row) => row.kind.replaceAll("_", " ") }],
    ...(hasComponents(data) ? [["component", "Component"]] : []),
    ["ranks", "Ranks", { cut: true }],
    ["weight", "Weighs", { text: (row) => percent(row.weight) }],
    ["gain_share", "Without it the job is shorter by", { text: gainWords, share: (row) => row.gain_share }],
    ["gain_ns", "Time"], ["why", "What was seen"], ["next", "What to do"],
  ], { rows: losses });
  return section("gains", "What can be won",
    losses.length === 0 ? element("p", {}, "No loss of 2 % or more was found.")
      : element("p", { class: "soft" }, "Losses overlap: their gains do not add up. Each weighs what it gains; where only the most is known, half of that."),
    losses.length === 0 ? undefined : table());
}

export function verdictSection(data) {
  const { verdict, why, next, severeness, confidence } = data.verdict;
  const losses = records(data.tables.losses);
  const trust = { high: "good", medium: "doubtful", low: "bad" }[confidence];
  return card(severeness, verdict, [
    ["Why", asWritten(why)],
    ["Next", asWritten(next)],
    ["Can be won", losses.length === 0 ? "less than 2 %" : `${gainWords(losses[0])}: ${severeness}`],
    ["Confidence", element("span", { class: `trust ${trust}` }, `${kTrust[trust]} ${confidence}`)],
  ], strip(data.quality));
}
