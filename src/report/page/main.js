// The page: its data, its sections in order, its table of contents.
import { breakdownSection } from "./breakdown.js";
import { chainSection } from "./chain.js";
import { clocksSection } from "./clocks.js";
import { collectivesSection } from "./collectives.js";
import { element } from "./dom.js";
import { efficiencySection } from "./efficiency.js";
import { latenessSection } from "./lateness.js";
import { methodSection } from "./method.js";
import { comparedSection, findingsSection, ranksSection } from "./ranks.js";
import { stragglersSection } from "./stragglers.js";
import { heading, verdictSection } from "./verdict.js";

const kSections = [verdictSection, efficiencySection, stragglersSection, latenessSection, chainSection, breakdownSection,
  collectivesSection, clocksSection, ranksSection, comparedSection, findingsSection, methodSection];

const data = JSON.parse(document.getElementById("data").textContent);
document.getElementById("top").append(...heading(data));
const main = document.getElementById("sections");
for (const make of kSections) main.append(...[make(data)].filter(Boolean));
document.getElementById("contents").append(element("ul", {}, ...[...main.children].map((section) =>
  element("li", {}, element("a", { href: `#${section.id}` }, section.dataset.title.split(":")[0])))));
