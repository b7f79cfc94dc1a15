// How the figures were made.
import { element, points, section } from "./dom.js";

const kNotes = [
  ["Match", "Calls of all ranks become collectives by their recorded ids, by sequence numbers, or by order and ends that agree. What fits nothing is counted, not guessed."],
  ["Clocks", "Each rank's clock gets an offset, and where needed a drift, from the ends of shared collectives. Error bars are 95 % intervals."],
  ["Wait and transfer", "wait = last arrival − own arrival; transfer = end − last arrival. In rooted and point-to-point calls the arrival that counts is the root's or the sender's. A missing rank makes waits lower bounds."],
  ["Exposed", "The part during which the rank computed nothing. Where calls overlap each other, wait and transfer share the exposed time."],
  ["Charged", "Each gap between arrivals is shared equally by the members still awaited (Shapley value). Where a late rank had itself waited elsewhere, blame moves back: that is where the wait began."],
  ["Pace of peers", "The job is replayed with one rank's local work at the pace of ranks that run the same program."],
  ["Efficiency", "POP and TALP. Elapsed is the longest rank's timeline; computing is the union of its kernels; an ideal network moves data in no time."],
  ["Bandwidth", "nccl-tests conventions: algorithm bandwidth S/t, bus bandwidth × 2(n−1)/n for all_reduce, (n−1)/n for all_gather, reduce_scatter, all_to_all, 1 otherwise."],
  ["This page", "A bounded extract. tables/*.csv and report.sqlite hold every row; report.json is the contract for scripts."],
];

export function methodSection(data) {
  return section("method", "Method", points(kNotes), element("h3", {}, "Made by"),
    points([["skewscope", data.tool_version], ["Command", element("code", {}, data.command)], ["Created", data.created_utc],
      ["Window", `from ${data.job.window_start_ns} ns (Unix time) on the common clock`]]));
}
