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
  ["component", /\bcomponents?\b/i, "Ranks whose clocks could be compared with each other. Times of two components cannot be."],
];

const idOf = (word) => `term-${word.replace(/\W+/g, "-")}`;

export function glossarySection() {
  return section("glossary", "Glossary", element("dl", { class: "points" }, ...kWords.flatMap(([word, , meaning]) =>
    [element("dt", { id: idOf(word) }, word), element("dd", {}, meaning)])));
}

// Makes the first use of each word, in a heading or in a note, a link to its explanation.
export function linkWords(main) {
  const open = new Map(kWords.map(([word, pattern]) => [word, pattern]));
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
