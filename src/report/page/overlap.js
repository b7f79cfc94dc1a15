// How much of communication is hidden behind computation, by kind of group, operation, size and phase, and by module, and
// what hiding more would gain.
import { element, section } from "./dom.js";
import { groupNames, kindWord } from "./groups.js";
import { bytes, duration, percent } from "./numbers.js";
import { dataTable, records } from "./table.js";

const known = (value, text) => (value === null || value === undefined ? "–" : text(value));
const kind = ["group_kind", "Group", { text: (row) => `${kindWord(row.group_kind)}${row.groups > 1 ? ` (${row.groups})` : ""}` }];
const nodes = ["nodes", "Nodes", { text: (row) => known(row.nodes, String) }];

export function overlapSection(data) {
  const rows = data.tables.overlap ? records(data.tables.overlap) : [];
  if (rows.length === 0) return undefined;
  const changes = records(data.tables.what_if_operations), parts = records(data.tables.what_if_operation_parts);
  const names = groupNames(data, []);
  const modules = records(data.tables.overlap_modules);
  const exchanged = records(data.tables.all_to_all_groups);
  const times = (value) => known(value, (number) => `${number.toFixed(2)} ×`);
  const most = Math.max(...rows.map((row) => Number(row.exposed_wait_ns) + Number(row.exposed_transfer_ns)), 1);
  const gain = (share, bound = "") => known(share, (value) => (value > 0 ? `${bound}−${percent(value)}` : "0"));
  const faster = data.what_if.saved_at_least ? "at least " : "";
  return section("overlap", "Communication hidden and exposed",
    element("p", { class: "soft" }, "Summed over all ranks; groups of one kind together, their number in brackets. Hidden: the GPU computed meanwhile. "
      + "Exposed: it did not; where calls of several streams overlap, each moment counts for one of them."),
    dataTable(data, "overlap", [
      kind, ["size", "Ranks"], nodes, ["op", "Operation"],
      ["bytes_up_to", "Size up to", { text: (row) => known(row.bytes_up_to, bytes) }], ["phase", "Phase", { text: (row) => known(row.phase, String) }],
      ["calls", "Calls"], ["time_ns", "Time"], ["hidden_share", "Hidden"], ["exposed_transfer_ns", "Exposed transfer", { share: (row) => Number(row.exposed_transfer_ns) / most }],
      ["exposed_wait_ns", "Exposed wait", { share: (row) => Number(row.exposed_wait_ns) / most }]], { sortBy: "exposed_transfer_ns" }),
    ...(changes.length === 0 ? [] : [
      element("h3", {}, "What hiding it would gain"),
      element("p", { class: "soft" }, "The job simulated (what-if) with the transfers of one operation changed. Hidden: nobody waits for them (prefetched, or during "
        + "computation), at most; waiting for late ranks stays. Faster: they take half as long. – : the transfer time is not known."),
      dataTable(data, "what_if_operations", [
        kind, ["size", "Ranks"], nodes, ["op", "Operation"], ["calls", "Calls"],
        ["exposed_transfer_ns", "Exposed transfer", { text: (row) => duration(row.exposed_transfer_ns) }],
        ["hidden_saved_share", "Hidden: job", { text: (row) => gain(row.hidden_saved_share, "at most ") }], ["hidden_saved_ns", "Hidden: saves"],
        ["faster_saved_share", "Twice as fast: job", { text: (row) => gain(row.faster_saved_share, faster) }], ["faster_saved_ns", "saves"]],
      { sortBy: "hidden_saved_ns" })]),
    ...(parts.length === 0 ? [] : [
      element("p", { class: "soft" }, "One phase of an operation hidden alone, or the module that exposes most of it; such gains need not sum to the whole's."),
      dataTable(data, "what_if_operation_parts", [
        ["group_kind", "Group", { text: (row) => kindWord(row.group_kind) }], ["op", "Operation"],
        ["phase", "Phase", { text: (row) => known(row.phase, String) }], ["module", "Module", { text: (row) => known(row.module, String) }],
        ["calls", "Calls"], ["exposed_transfer_ns", "Exposed transfer"],
        ["hidden_saved_share", "Hidden: job", { text: (row) => gain(row.hidden_saved_share, "at most ") }], ["hidden_saved_ns", "Hidden: saves"]], { sortBy: "hidden_saved_ns" })]),
    ...(modules.length === 0 ? [] : [
      element("h3", {}, "By module"),
      element("p", { class: "soft" }, "The module of the model that launched the calls, as ranges of the hosts name it: modules that the profiler records, FSDP's units, "
        + "a program's own ranges around its layers. – : none is around the launch."),
      dataTable(data, "overlap_modules", [
        ["module", "Module", { text: (row) => known(row.module, String) }], ["op", "Operation"], ["phase", "Phase", { text: (row) => known(row.phase, String) }],
        kind, ["calls", "Calls"], ["time_ns", "Time"], ["hidden_share", "Hidden"],
        ["exposed_transfer_ns", "Exposed transfer", { share: (row) => Number(row.exposed_transfer_ns) / most }],
        ["exposed_wait_ns", "Exposed wait", { share: (row) => Number(row.exposed_wait_ns) / most }]], { sortBy: "exposed_transfer_ns" })]),
    ...(exchanged.length === 0 ? [] : [
      element("h3", {}, "All-to-alls: who receives most"),
      element("p", { class: "soft" }, "What the rank that receives most receives, in means of its group: over all dispatches, and in each whoever it is. "
        + "Waiting after: in the group's next collective, and how much of that the busiest rank causes. From whom to whom: tables/all_to_all.csv."),
      dataTable(data, "all_to_all_groups", [
        ["communicator", "Group", { text: (row) => names.nameOf(row.communicator) }], ["calls", "Calls"], ["bytes", "Sent", { text: (row) => bytes(row.bytes) }],
        ["busiest_rank", "Busiest rank", { text: (row) => known(row.busiest_rank, String) }],
        ["imbalance", "receives", { text: (row) => times(row.imbalance) }], ["imbalance_per_call", "In each call", { text: (row) => times(row.imbalance_per_call) }],
        ["waited_ns", "Waiting after"], ["waited_for_busiest_ns", "for the busiest"]], { sortBy: "waited_ns" })]));
}
