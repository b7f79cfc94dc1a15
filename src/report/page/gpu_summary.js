// One GPU: who it is, the verdict, and the findings with what they gain.
import { element, folded, points, section } from "./dom.js";
import { asWritten, duration, percent } from "./numbers.js";
import { records, table } from "./table.js";

export const whole = (data) => records(data.tables.timeline)[0];

export function gpuHeading(data) {
  const { file, rank, world_size, host, device_name } = data.trace;
  const who = [`rank ${rank}${world_size === null ? "" : ` of ${world_size}`}`, device_name, host].filter(Boolean).join(", ");
  document.title = `rank ${rank}: skewscope`;
  return [element("h1", {}, `One GPU: ${who}`), element("p", { class: "soft" }, file)];
}

// Parts of the GPU's time that sum to it: [[column, label, colour], …].
export const kGpuParts = [["compute_ns", "Computing", "compute"], ["exposed_communication_ns", "Exposed communication", "wait"],
  ["exposed_memcpy_ns", "Exposed copies", "copy"], ["idle_host_wait_ns", "Idle: waits for the CPU", "idle-host"],
  ["idle_kernel_wait_ns", "Idle: short gaps", "idle-kernel"], ["idle_other_ns", "Idle: another cause", "idle"]];

export const withOtherIdle = (row) => ({ ...row, idle_other_ns: row.idle_ns - row.idle_host_wait_ns - row.idle_kernel_wait_ns });

function severity(data) {
  const worst = Math.max(0, ...records(data.tables.findings).filter((row) => !row.information).map((row) => row.saves_at_most_ns ?? 0));
  const share = worst / Math.max(1, whole(data).total_ns);
  return share > 0.2 ? "high" : share > 0.02 ? "noticeable" : "";
}

export function gpuVerdict(data) {
  const row = withOtherIdle(whole(data));
  const use = data.tables.utilization === undefined ? undefined : records(data.tables.utilization)[0];
  const facts = row.total_ns === 0 ? [] : kGpuParts.filter(([name]) => row[name] > 0).map(([name, label]) => [label, `${duration(row[name])} (${percent(row[name] / row.total_ns)})`]);
  const made = section("verdict", "Verdict",
    element("p", { class: "says" }, asWritten(data.verdict)),
    data.next === "" ? undefined : points([["Next", data.next]]),
    row.total_ns === 0 ? undefined : element("h3", {}, `Where ${duration(row.total_ns)} of this GPU went`),
    points(facts),
    use === undefined || use.gpu_utilization === null ? undefined : element("p", { class: "soft" },
      `Kernels run ${percent(use.gpu_utilization)} of ${duration(use.window_ns)}`
      + (use.estimated_sm_efficiency === null ? "." : `; estimated: ${percent(use.estimated_sm_efficiency)} of the SMs are used`
        + (use.estimated_achieved_occupancy === null ? "." : `, occupancy ${percent(use.estimated_achieved_occupancy)}.`))));
  made.classList.add("verdict", ...[severity(data)].filter(Boolean));
  return made;
}

function evidence(data, code) {
  const rows = records(data.tables.finding_evidence).filter((row) => row.code === code);
  if (rows.length === 0) return undefined;
  return folded("Evidence", table({ columns: [{ name: "what", label: "What", cut: true }, { name: "count", label: "Count" }, { name: "time_ns", label: "Time" }],
    rows, copied: ["what", "count", "time_ns"], caption: `Evidence of ${code}` }));
}

function finding(data, row, window_ns) {
  const gain = row.information ? "for information" : row.saves_at_most_ns === null ? "" : `saves at most ${duration(row.saves_at_most_ns)} (${percent(row.saves_at_most_ns / window_ns)})`;
  return element("li", {}, element("b", {}, row.code), gain === "" ? "" : ` – ${gain}`,
    element("p", {}, asWritten(`${row.sign}: ${row.meaning}.`)), element("p", {}, element("b", {}, "What to do: "), row.action),
    evidence(data, row.code), element("p", { class: "soft" }, `Rule: ${row.threshold}`));
}

export function gpuFindings(data) {
  const rows = records(data.tables.findings);
  const window_ns = Math.max(1, whole(data).total_ns);
  return section("findings", "Findings",
    element("p", { class: "soft" }, "What gains most comes first. A gain is an upper bound: what the trace would be shorter if the cause were gone."),
    rows.length === 0 ? element("p", {}, "No rule shows in this trace.")
      : element("ol", { class: "hops" }, ...rows.map((row) => finding(data, row, window_ns))));
}
