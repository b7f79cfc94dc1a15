// The page: its data, whose schema tells the document, its sections in order, its table of contents.
import { breakdownSection } from "./breakdown.js";
import { keyHelp } from "./chart_keys.js";
import { chainSection } from "./chain.js";
import { clocksSection } from "./clocks.js";
import { collectivesSection } from "./collectives.js";
import {
  collectiveChangesSection, compareHeading, compareVerdict, hostChangesSection, rankChangesSection, stepSection, workChangesSection,
} from "./compare.js";
import { componentsSection } from "./components.js";
import { element } from "./dom.js";
import { efficiencySection } from "./efficiency.js";
import { gridSection } from "./grid.js";
import { glossarySection, linkWords } from "./glossary.js";
import { compiledSection, copiesSection, hostSection, memorySection } from "./gpu_host.js";
import { hloSection } from "./gpu_hlo.js";
import { modulesSection } from "./gpu_modules.js";
import { gpuFindings, gpuHeading, gpuVerdict } from "./gpu_summary.js";
import { executionSection, gpuTimelineSection, idleSection, launchesSection, pathSection } from "./gpu_time.js";
import { categoriesSection, operatorsSection, rooflineSection } from "./gpu_work.js";
import { latenessSection } from "./lateness.js";
import { lossesSection } from "./losses.js";
import { matrixSection } from "./matrix.js";
import { compareMethod, methodSection, scaleMethod } from "./method.js";
import { overlapSection } from "./overlap.js";
import { unpack, unpackTables } from "./packed.js";
import { qualitySection } from "./quality.js";
import { comparedSection, ranksSection } from "./ranks.js";
import { curvesSection, scaleHeading, scaleVerdict, treeSection } from "./scale.js";
import { pipelineSection } from "./pipeline.js";
import { stragglersSection } from "./stragglers.js";
import { timelineSection } from "./timeline.js";
import { trendSection } from "./trend.js";
import { gainsSection, heading, verdictSection } from "./verdict.js";

const kDocuments = {
  "skewscope.page/1": [heading, verdictSection, componentsSection, gainsSection, stragglersSection, latenessSection, trendSection, timelineSection, chainSection,
    efficiencySection, pipelineSection, breakdownSection, gridSection, overlapSection, collectivesSection, matrixSection, ranksSection, comparedSection,
    qualitySection, clocksSection, methodSection, glossarySection],
  "skewscope.scale-page/1": [scaleHeading, scaleVerdict, curvesSection, treeSection, lossesSection, qualitySection, scaleMethod, glossarySection],
  "skewscope.compare-page/1": [compareHeading, compareVerdict, stepSection, rankChangesSection, hostChangesSection, collectiveChangesSection,
    workChangesSection, qualitySection, compareMethod, glossarySection],
  "skewscope.rank-page/1": [gpuHeading, gpuVerdict, gpuFindings, gpuTimelineSection, idleSection, categoriesSection, hloSection, operatorsSection, rooflineSection,
    modulesSection, executionSection, pathSection, memorySection, copiesSection, launchesSection, hostSection, compiledSection, qualitySection, glossarySection],
};

const kManyRanks = 2000, kFirstSections = 4;
const painted = () => new Promise((done) => { requestAnimationFrame(() => setTimeout(done)); });

// What a chart shows is in a table, for who cannot see it: of its section, else of the ranks.
function describeCharts() {
  for (const chart of document.querySelectorAll(".chart")) {
    const of = chart.closest("section").querySelector("caption") ?? document.querySelector("#stragglers caption");
    chart.setAttribute("aria-describedby", [of?.id, "chart-keys"].filter(Boolean).join(" "));
  }
}

// A link into what is folded opens it.
function unfold() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (const one of target?.tagName === "SECTION" ? target.querySelectorAll(":scope > details") : []) one.open = true;
}
addEventListener("hashchange", unfold);

const data = JSON.parse(document.getElementById("data").textContent);
unpackTables(data.tables);
if (data.map) data.map.mean_ns = data.map.mean_ns.map(unpack);
const [makeHeading, ...makeSections] = kDocuments[data.schema];
document.getElementById("top").append(...makeHeading(data));
const main = document.getElementById("sections");

// Of a job of very many ranks the answer is on the screen before the sections that show all of them are made.
async function makePage() {
  for (const [at, make] of makeSections.entries()) {
    if (at === kFirstSections && data.job?.ranks > kManyRanks) await painted();
    main.append(...[make(data)].filter(Boolean));
  }
  document.getElementById("top").append(...keyHelp);
  describeCharts();
  linkWords(main);
  document.getElementById("contents").append(element("ul", {}, ...[...main.children].map((section) =>
    element("li", {}, element("a", { href: `#${section.id}` }, section.dataset.title.split(":")[0])))));
  unfold();
  main.dataset.state = "made";
}
makePage();
