// The page: its data, whose schema tells the document, its sections in order, its table of contents.
import { breakdownSection } from "./breakdown.js";
import { chainSection } from "./chain.js";
import { clocksSection } from "./clocks.js";
import { collectivesSection } from "./collectives.js";
import {
  collectiveChangesSection, compareHeading, compareVerdict, rankChangesSection, stepSection, workChangesSection,
} from "./compare.js";
import { componentsSection } from "./components.js";
import { element } from "./dom.js";
import { efficiencySection } from "./efficiency.js";
import { latenessSection } from "./lateness.js";
import { lossesSection } from "./losses.js";
import { compareMethod, methodSection, scaleMethod } from "./method.js";
import { overlapSection } from "./overlap.js";
import { comparedSection, findingsSection, ranksSection } from "./ranks.js";
import { curvesSection, scaleHeading, scaleVerdict, treeSection } from "./scale.js";
import { pipelineSection } from "./pipeline.js";
import { stragglersSection } from "./stragglers.js";
import { gainsSection, heading, verdictSection } from "./verdict.js";

const kDocuments = {
  "skewscope.page/1": [heading, verdictSection, componentsSection, gainsSection, efficiencySection, pipelineSection, stragglersSection, latenessSection, chainSection,
    breakdownSection, overlapSection, collectivesSection, clocksSection, ranksSection, comparedSection, findingsSection, methodSection],
  "skewscope.scale-page/1": [scaleHeading, scaleVerdict, curvesSection, treeSection, lossesSection, findingsSection, scaleMethod],
  "skewscope.compare-page/1": [compareHeading, compareVerdict, stepSection, rankChangesSection, collectiveChangesSection,
    workChangesSection, findingsSection, compareMethod],
};

const data = JSON.parse(document.getElementById("data").textContent);
const [makeHeading, ...makeSections] = kDocuments[data.schema];
document.getElementById("top").append(...makeHeading(data));
const main = document.getElementById("sections");
for (const make of makeSections) main.append(...[make(data)].filter(Boolean));
document.getElementById("contents").append(element("ul", {}, ...[...main.children].map((section) =>
  element("li", {}, element("a", { href: `#${section.id}` }, section.dataset.title.split(":")[0])))));
