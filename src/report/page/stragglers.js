// Who is late, how steadily, and why.
import { hasComponents, notOneClock } from "./components.js";
import { element, section } from "./dom.js";
import { momentLink, openMoment, placesOf } from "./moments.js";
import { cellText } from "./numbers.js";
import { pickRank } from "./picked.js";
import { dataTable, records } from "./table.js";
import { waitingIsKnown } from "./verdict.js";

// With a "?": likely, but not proven.
const kCauses = { "host?": "host late (likely)", "idle?": "GPU idle, reason unknown", "program?": "pipeline schedule", "transfer elsewhere?": "transfer of another group (likely)", "wait elsewhere?": "held up in another group" };
export const causeWords = (cause) => kCauses[(cause ?? "–").replaceAll("_", " ")] ?? (cause ?? "–").replaceAll("_", " ").replace(/\?$/, (sign) => (sign ? " (likely)" : ""));

export function stragglersSection(data) {
  const hosts = new Map(records(data.tables.ranks).map((row) => [row.rank, row.host]));
  const rows = records(data.tables.stragglers).map((row) => ({ ...row, host: hosts.get(row.rank) }));
  const why = (row) => causeWords(row.cause === null || row.standing === "cause" ? row.cause : `${row.cause}?`);
  const placeFor = (row) => placesOf(data, "straggler", row.rank)[0];
  const most = Math.max(1, ...rows.map((row) => Number(row.wait_originated_ns)));
  const columns = [
    ["rank", "Rank", { make: (row) => element("a", { href: "#ranks", onclick: () => pickRank(row.rank) }, String(row.rank)) }], ["host", "Host"],
    ...(hasComponents(data) ? [["component", "Component"]] : []),
    ["standing", "How sure"],
    ["pattern", "How often"],
    ["wait_originated_ns", "Waiting caused", { share: (row) => Number(row.wait_originated_ns) / most }],
    ["wait_caused_ns", "… directly"],
    ["late_share", "Last to arrive", { text: (row) => row.late_candidates === 0 ? "–"
      : `${row.late_count} of ${row.late_candidates}, ${cellText(row.late_share, "late_share")}` }],
    ["cause", "Why", { text: why, make: (row) => (data.timeline && placeFor(row) ? momentLink(placeFor(row), why(row)) : why(row)) }],
    ["cause_share", "… explains"],
    ["saved_ns", "Fixing it saves", { text: (row) => (row.saved_at_least ? "at least " : "") + cellText(row.saved_ns, "saved_ns") }],
  ];
  return section("stragglers", "Stragglers",
    notOneClock(data, "each rank is held against those of its own component."),
    element("p", { class: "soft" }, "Who makes others wait. Cause: the simulated job gets faster if this rank is as fast as its peers; suspect: it does not, or not clearly. "
      + "A click on a row picks its rank in every section; a linked reason leads to the moment in the timeline that shows it most."),
    rows.length === 0 ? element("p", {}, waitingIsKnown(data) ? "Nobody was late." : "Not known: only one rank is here.") : dataTable(data, "stragglers", columns, { rows, onPick: (row) => pickRank(row.rank), caption: "Stragglers" }),
    openMoment(data, "straggler"));
}
