// The words that the page uses, explained once at its end; the first use of each leads there.
import { element, section } from "./dom.js";
import terms from "./glossary.json";  // skewscope help terms says the same

const kWords = terms.map(({ word, pattern, meaning }) => [word, new RegExp(pattern, "i"), meaning]);

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
