// One GPU: the operations of the programs that XLA compiled.
import { element, section, tabs } from "./dom.js";
import { bytes, percent, significant } from "./numbers.js";
import { dataTable, records } from "./table.js";

const perSecond = (value, unit) => (value > 0 ? `${significant(value / 1e12)} ${unit}` : "–");
const kRates = [
  ["flops_per_s", "FLOP rate", { text: (row) => perSecond(row.flops_per_s, "TFLOP/s"), meaning: "Floating-point operations of all executions over the time of their rows, in TFLOP/s." }],
  ["bytes_per_s", "Memory rate", { text: (row) => perSecond(row.bytes_per_s, "TB/s"), meaning: "Bytes read and written by all executions over the time of their rows, in TB/s." }]];
const kShares = [["share", "Share", { share: (row) => row.share, text: (row) => percent(row.share), meaning: "Part of the time of all GPU rows." }],
  ["cumulative_share", "Cumulative", { meaning: "This row and all above it, in the order of their time." }]];
const size = (column) => ({ text: (row) => bytes(row[column]) });

function categoriesTable(data) {
  const none = (row) => (row.operations > 0 ? "(not known)" : "(of no HLO operation)");
  return dataTable(data, "hlo_categories", [["category", "Category", { text: (row) => row.category ?? none(row), meaning: "As XLA calls it; what is of no operation are copies and what the runtime launches itself." }],
    ["operations", "Operations"], ["executions", "Executions"], ["gpu_rows", "GPU rows"], ["total_ns", "Time"], ...kShares, ["bytes", "Bytes", size("bytes")], ...kRates], { sortBy: "total_ns" });
}

function operationsTable(data) {
  return dataTable(data, "hlo_operations", [["name", "Operation", { cut: true }], ["category", "Category", { meaning: "As XLA calls it." }], ["module", "Program", { cut: true, meaning: "The compiled program that the operation is of." }],
    ["executions", "Executions"], ["gpu_rows", "GPU rows", { meaning: "An execution may launch several kernels." }], ["total_ns", "Time"], ...kShares, ["flops", "FLOP each"],
    ["bytes", "Bytes each", size("bytes")], ["input_bytes", "Operands", { ...size("input_bytes"), meaning: "Bytes of an execution's operands, by their shapes in the program." }], ...kRates], { sortBy: "total_ns" });
}

export function hloSection(data) {
  if (data.tables.hlo_operations === undefined || records(data.tables.hlo_operations).length === 0) return undefined;
  return section("hlo", "HLO operations",
    element("p", { class: "soft" }, "GPU time by operation of the programs that XLA compiled. Work and bytes are XLA's own figures, where the profile holds them."),
    tabs([["Categories", () => categoriesTable(data)], ["Operations", () => operationsTable(data)]]));
}
