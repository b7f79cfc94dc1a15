// Who is late, how steadily, and why.
import { hasComponents, notOneClock } from "./components.js";
import { element, section } from "./dom.js";
import { cellText } from "./numbers.js";
import { dataTable, records } from "./table.js";
import { waitingIsKnown } from "./verdict.js";

export const causeWords = (cause) => (cause ?? "–").replaceAll("_", " ");

export function stragglersSection(data) {
  const hosts = new Map(records(data.tables.ranks).map((row) => [row.rank, row.host]));
  const rows = records(data.tables.stragglers).map((row) => ({ ...row, host: hosts.get(row.rank) }));
  const most = Math.max(1, ...rows.map((row) => Number(row.wait_originated_ns)));
  const columns = [
    ["rank", "Rank"], ["host", "Host"],
    ...(hasComponents(data) ? [["component", "Component"]] : []),
    ["standing", "Standing"],
    ["pattern", "Pattern"],
    ["wait_originated_ns", "Wait began with it", { share: (row) => Number(row.wait_originated_ns) / most }],
    ["wait_caused_ns", "Charged directly"],
    ["late_share", "Last in", { text: (row) => row.late_candidates === 0 ? "–"
      : `${row.late_count} of ${row.late_candidates}, ${cellText(row.late_share, "late_share")}` }],
    ["cause", "Cause", { text: (row) => causeWords(row.cause) }],
    ["cause_share", "of its wait"],
    ["saved_ns", "Its peers' pace saves", { text: (row) => (row.saved_at_least ? "at least " : "") + cellText(row.saved_ns, "saved_ns") }],
  ];
  return section("stragglers", "Stragglers",
    notOneClock(data, "each rank is held against those of its own component."),
    element("p", { class: "soft" }, "Standing: its replay at its peers' pace stands out (cause) or not (suspect). Pattern: where it "
      + "was last, as far as others waited: in half of the steps or more (recurring), now and then (rotating), within one step or a "
      + "tenth of the window (one-off)."),
    rows.length === 0 ? element("p", {}, waitingIsKnown(data) ? "Nobody was late." : "Not known: only one rank is here.") : dataTable(data, "stragglers", columns, { rows }));
}
