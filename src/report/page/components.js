// A job whose ranks are not all compared: nothing of one component may be read against another.
import { element, section } from "./dom.js";
import { percent } from "./numbers.js";
import { dataTable, records } from "./table.js";

export const hasComponents = (data) => data.components !== null;

// What a picture of several components does not show; nothing where all ranks are on one clock.
export const notOneClock = (data, what) => hasComponents(data)
  ? element("p", { class: "warning" }, `${data.components.words}: ${what}`) : undefined;

// "of ranks 0-3", where figures are of the longest component only.
export const ofLongest = (data) => hasComponents(data) && data.components.longest !== "" ? ` of ranks ${data.components.longest}` : "";

const shorter = (row, name) => row[name] === null || row.replayed_ns === null ? "–"
  : percent(Math.max(0, Number(row.replayed_ns) - Number(row[name])) / Number(row.replayed_ns));

export function componentsSection(data) {
  if (!hasComponents(data)) return undefined;
  const gain = (row) => row.replayed_ns === null || row.balanced_ns === null ? -1
    : (Number(row.replayed_ns) - Number(row.balanced_ns)) / Number(row.replayed_ns);
  const rows = records(data.tables.components).sort((a, b) => gain(b) - gain(a));
  return section("components", "Components",
    element("p", { class: "warning" }, `${data.components.words}. They share no call that is matched, so that no clock of one is known against `
      + "another's: their times, steps and gains are each their own."),
    dataTable(data, "components", [
      ["ranks", "Ranks", { cut: true }], ["window_ns", "Window"], ["step_ns", "Step"],
      ["balanced_ns", "No slow rank: shorter by", { text: (row) => shorter(row, "balanced_ns") }],
      ["no_transfer_ns", "Infinitely fast network: by", { text: (row) => shorter(row, "no_transfer_ns") }],
      ["wait_ns", "Wait"], ["transfer_ns", "Transfer"], ["why", "What was seen"], ["next", "What to do"],
    ], { rows }));
}
