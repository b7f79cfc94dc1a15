// How the figures were made.
import { element, points, section } from "./dom.js";

const kNotes = [
  ["Match", "Calls of all ranks become collectives by their recorded ids, by sequence numbers, or by order and common ends. What fits nothing is counted, not guessed."],
  ["Clocks", "Each rank's clock gets an offset, and where needed a drift, from the ends of shared collectives. Uncertainties are 95 %."],
  ["Wait and transfer", "wait = last arrival − own arrival; transfer = end − last arrival. In rooted and point-to-point calls the arrival that counts is the root's or the sender's. A missing rank makes waits lower bounds."],
  ["Exposed", "The part during which the rank computed nothing. Where calls overlap each other, each moment counts once: as transfer, else as wait."],
  ["Waiting caused", "Each gap between arrivals is shared equally by the members still missing (Shapley value). Where a late rank had itself waited elsewhere, the waiting counts for the rank that caused that delay."],
  ["What-if", "The job is simulated with one rank's own work as fast as that of ranks that run the same program."],
  ["Efficiency", "POP and TALP. Elapsed is the longest rank's timeline; computing is the union of its kernels; an ideal network moves data in no time."],
  ["Bandwidth", "nccl-tests conventions: algorithm bandwidth S/t, bus bandwidth × 2(n−1)/n for all_reduce, (n−1)/n for all_gather, reduce_scatter, all_to_all, 1 otherwise."],
  ["This page", "A bounded extract. tables/*.csv and report.sqlite hold every row; report.json is the contract for scripts."],
];

const kScaleNotes = [
  ["Scaling", "Strong: the job's work stays, ideal step time falls with the GPUs. Weak: the work per rank stays, ideal step time stays. Without an option, the work per rank decides."],
  ["Step", "Mean over the steps that all ranks recorded; its standard error is their deviation by the root of their number. Speed-up and throughput carry the errors of both runs."],
  ["Computation scaling", "Computing of the smallest run over that of this one: of the job (strong), of a rank (weak)."],
  ["Losses", "Logarithmic shares of the factors of the POP tree, so that they sum to the change of the global efficiency."],
  ["Projection", "Least squares on at least four sizes: Amdahl's law, or for equal work per rank a logarithmic law; the interval is a 95 % prediction interval."],
];

const kCompareNotes = [
  ["Step", "Mean over the steps that all ranks recorded; a rank's step is cut into parts that sum to it."],
  ["Significance", "Welch's t over steps; of what a table calls significant, 5 % are expected to be chance (Benjamini and Hochberg). One step: not known."],
  ["Transfer and wait", "wait = last arrival − own arrival; transfer = end − last arrival; per member and step."],
];

function made(data, notes, ...more) {
  return section("method", "Method", points(notes), element("h3", {}, "Made by"),
    points([["skewscope", data.tool_version], ["Command", element("code", {}, data.command)], ["Created", data.created_utc], ...more]));
}

export const methodSection = (data) =>
  made(data, kNotes, ["Window", `from ${data.job.window_start_ns} ns (Unix time) on the common clock`]);
export const scaleMethod = (data) => made(data, kScaleNotes);
export const compareMethod = (data) => made(data, kCompareNotes);
