// The words that the page uses, explained once at its end; the first use of each leads there.
import { element, section } from "./dom.js";

const kWords = [
  ["waiting", /\bwait(?:ing|s|ed)?\b/i, "Time in a collective from a rank's own arrival to that of the last rank. Others cause it."],
  ["transfer", /\btransfer(?:s)?\b/i, "Time in a collective from the last arrival to the end: what the links and the operation itself take."],
  ["straggler", /\bstraggler(?:s)?\b/i, "A rank that others wait for, because it arrives late at collectives."],
  ["exposed", /\bexposed\b/i, "Communication during which the GPU computed nothing. It makes the step longer."],
  ["overlapped", /\b(?:overlapped|hidden)\b/i, "Communication during which the GPU computed: it is hidden behind computing and costs little."],
  ["critical path", /\bcritical path\b/i, "The chain of work and waits that sets the length of a step. Only what lies on it is worth making faster."],
  ["idle", /\bidle\b/i, "The GPU ran nothing: no kernel, no copy."],
  ["launch-bound", /\blaunch-bound\b/i, "The GPU idles because the CPU does not launch kernels fast enough."],
  ["uncertainty", /\buncertaint(?:y|ies)\b/i, "How far a clock or a figure may be off; here with 95 % probability. Smaller differences mean nothing."],
  ["what-if", /\bwhat[- ]if\b|\bsimulat(?:ion|ed|ing)\b/i, "A simulation of the recorded job with one thing changed, such as one rank as fast as its peers."],
  ["roofline", /\broofline\b/i, "The most that a device can do at a ratio of computing to memory traffic: the lower of memory bandwidth times that ratio and peak computing rate."],
  ["occupancy", /\boccupancy\b/i, "How many warps an SM holds, as a share of the most it can hold. Few are no fault where a kernel is fast."],
  ["module", /\bmodules?\b/i, "A part of the model, an nn.Module of PyTorch; known where Python functions were recorded."],
  ["component", /\bcomponents?\b/i, "Ranks whose clocks could be compared with each other. Times of two components cannot be."],
];

// Of these the page of one GPU makes use.
const kOnlyGpu = ["roofline", "occupancy", "module"];
const kGpuWords = ["exposed", "overlapped", "critical path", "idle", "launch-bound", ...kOnlyGpu];

const idOf = (word) => `term-${word.replace(/\W+/g, "-")}`;

export function glossarySection(data) {
  const isGpu = data.schema === "skewscope.rank-page/1";
  const words = kWords.filter(([word]) => (isGpu ? kGpuWords.includes(word) : !kOnlyGpu.includes(word)));
  return section("glossary", "Glossary", element("dl", { class: "points" }, ...words.flatMap(([word, , meaning]) =>
    [element("dt", { id: idOf(word) }, word), element("dd", {}, meaning)])));
}

// Makes the first use of each word, in a heading or in a note, a link to its explanation.
export function linkWords(main) {
  const open = new Map(kWords.filter(([word]) => document.getElementById(idOf(word)) !== null).map(([word, pattern]) => [word, pattern]));
  for (const block of main.querySelectorAll("section:not(#glossary):not(#method) :is(h2, h3, p.soft, p.note)")) {
    for (const [word, pattern] of open) {
      const texts = [...block.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE);
      const text = texts.find((node) => pattern.test(node.data));
      if (text === undefined) continue;
      const { 0: found, index } = pattern.exec(text.data);
      const rest = text.splitText(index);
      rest.data = rest.data.slice(found.length);
      rest.before(element("a", { class: "term", href: `#${idOf(word)}` }, found));
      open.delete(word);
    }
  }
}
