// How far the figures can be trusted, and what was wrong with the input: apart from what is wrong with the job.
import { element, folded, section } from "./dom.js";
import { openMoment } from "./moments.js";
import { asWritten } from "./numbers.js";
import { dataTable, records } from "./table.js";

export const kTrust = { good: "✓", doubtful: "▲", bad: "✕" };

// What the data calls its points, in the words of the field.
const kLabels = { Split: "Split into waiting and transfer", Findings: "Notes on the input" };

function strip(quality) {
  return element("ul", { class: "strip", "aria-label": "Data quality" }, ...quality.map((point) => element("li", {},
    element("span", { class: "label" }, kLabels[point.label] ?? point.label),
    element("span", { class: `trust ${point.trust}`, title: point.trust }, kTrust[point.trust] + " "), asWritten(point.value))));
}

export const kNoteColumns = [["severity", "Severity"], ["code", "Code"], ["rank", "Rank"], ["count", "Count"], ["message", "Message"],
  ["file", "File"]];

export function notes(data, rows) {
  return dataTable(data, "diagnostics", kNoteColumns, { ...(rows ? { rows } : {}), caption: "Notes on the input" });
}

export function qualitySection(data) {
  const rows = records(data.tables.diagnostics);
  const codes = [...new Set(rows.map((row) => row.code))];
  const places = codes.map((code) => openMoment(data, code)).filter(Boolean);
  return section("quality", "Data quality",
    element("p", { class: "soft" }, "How complete the traces are and how far the figures can be trusted. Nothing here is a fault of the job."),
    data.quality ? strip(data.quality) : undefined,
    element("h3", {}, "Notes on the input"),
    rows.length === 0 ? element("p", {}, "Nothing to report of the input.") : notes(data),
    places.length === 0 ? undefined : folded("Open the moment that shows such a note", ...places));
}
