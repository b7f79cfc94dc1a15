// What the job suffers from, how sure that is, and what to do next.
import { hasComponents } from "./components.js";
import { momentCell, openMoment } from "./moments.js";
import { element, points, section } from "./dom.js";
import { asWritten, duration, percent, plural } from "./numbers.js";
import { kTrust } from "./quality.js";
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

// The first thing to read: a sentence, and what it rests on.
export function card(severeness, says, pairs, ...more) {
  return element("section", { id: "verdict", class: `verdict ${severeness}`, "data-title": "Verdict" },
    element("p", { class: "says" }, asWritten(says)), points(pairs), ...more);
}

const kBounds = { exact: "", at_least: "at least ", at_most: "at most " };
const gainWords = (loss) => kBounds[loss.bound] + percent(loss.gain_share);

// One rank of several cannot know whether it waited.
export const waitingIsKnown = (data) => data.job.ranks > 1;

// Where the page shows more of a loss.
const kPlaces = { straggler: "stragglers", exposed_transfer: "collectives", pipeline_bubble: "pipeline", imbalance: "efficiency" };
const lossWords = (row) => row.kind.replaceAll("_", " ");

const ranksOf = (row) => String(row.ranks ?? "").match(/\d+/g)?.map(Number) ?? [];

export function gainsSection(data) {
  const losses = records(data.tables.losses);
  const table = () => dataTable(data, "losses", [
    ["kind", "Loss", { text: lossWords, make: (row) => (kPlaces[row.kind] ? element("a", { href: `#${kPlaces[row.kind]}` }, lossWords(row)) : lossWords(row)) }],
    ...(hasComponents(data) ? [["component", "Component"]] : []),
    ["ranks", "Ranks", { cut: true }],
    ["weight", "Weight", { text: (row) => percent(row.weight) }],
    ["gain_share", "Gain", { text: gainWords, share: (row) => row.gain_share }],
    ["gain_ns", "Gain, time"], ["why", "What was seen"], ["next", "What to do"],
    ["shown", "Where it shows", { text: () => "", make: (row) => momentCell(data, row.kind.replaceAll("_", "-"), ranksOf(row)),
      meaning: "The collective, or the step of a rank, that lost most by it: its place in the timeline, the kernels of its rank, and the command that opens it in Perfetto." }],
  ], { rows: losses });
  return section("gains", "What is worth fixing",
    losses.length === 0 ? element("p", {}, "No loss of 2 % or more was found.")
      : element("p", { class: "soft" }, "Each row: how much shorter the job would be without this loss, by simulation. Losses overlap, so gains do not add up."),
    losses.length === 0 ? undefined : table());
}

export function verdictSection(data) {
  const { verdict, why, next, severeness, confidence } = data.verdict;
  const losses = records(data.tables.losses);
  const trust = { high: "good", medium: "doubtful", low: "bad" }[confidence];
  return card(severeness, verdict, [
    ["Why", asWritten(why)],
    ["Next", asWritten(next)],
    ["Gain", losses.length === 0 ? "less than 2 %" : `${gainWords(losses[0])}: ${severeness}`],
    ["Confidence", element("span", {}, element("span", { class: `trust ${trust}` }, `${kTrust[trust]} ${confidence}`), " · ",
      element("a", { href: "#quality" }, "data quality"))],
  ], openMoment(data, "straggler", 1));
}
