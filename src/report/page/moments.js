// From a finding to its place in the timeline, and to the command that cuts it out of the traces, to copy.
import { element } from "./dom.js";
import { duration } from "./numbers.js";
import { pickRank } from "./picked.js";
import { copy } from "./table.js";

// The traces as the report's own command names them; where options come first they are not distinguished from their
// values.
function tracesOf(data) {
  const [, paths] = /\breport\s+((?:'[^']*'|"[^"]*"|\\.|[^-\s]\S*|\s+)+?)(?=\s+-|\s*$)/.exec(data.command ?? "") ?? [];
  return paths?.trim() || "DIR";
}

const followers = [];
export const onShownMoment = (follow) => { followers.push(follow); };

// Where a finding shows most: [{finding, words, ranks, instance, start_ns, length_ns}].
export function placesOf(data, finding, rank) {
  return (data.excerpts ?? []).filter((one) => one.finding === finding
    && (rank === undefined || one.words.startsWith(`rank ${rank},`) || one.words.startsWith(`rank ${rank}:`)));
}

// A link to a place in the timeline of the page.
export const momentLink = (place, text = "show") => element("a", { href: "#timeline", onclick: (event) => {
  event.stopPropagation();  // of a row that picks its rank
  for (const follow of followers) follow(place);
} }, text);

function placeText(data, place) {
  const what = `${place.instance === null ? "" : `instance ${place.instance}, `}${duration(place.length_ns)} from ${duration(place.start_ns)} on, ranks ${place.ranks}`;
  const [, rank] = /^rank (\d+)\b/.exec(place.words) ?? [];
  const kernels = !data.timeline?.lanes.some((lane) => lane.rank === Number(rank)) ? []
    : [", ", element("a", { href: "#ranks", onclick: () => pickRank(Number(rank), "Kernels") }, `kernels of rank ${rank}`)];
  return element("li", {}, `${place.words}: `, data.timeline ? momentLink(place, what) : what, ...kernels);
}

const commandFor = (data, finding) => `skewscope merge ${tracesOf(data)} -o ${finding}.pftrace --excerpt ${finding}`;

// A row's places: each leads to its instance in the timeline and to the kernels of its rank, and the command that opens it in
// Perfetto can be copied.
export function momentCell(data, finding, ranks) {
  const of = placesOf(data, finding);
  const places = finding === "straggler" && ranks.length > 0 ? of.filter((place) => ranks.some((rank) => new RegExp(`^rank ${rank}[,:]`).test(place.words))) : of;
  if (places.length === 0) return element("span", {}, "–");
  const [place] = places;
  const what = place.instance === null ? place.words.replace(/^.* in (step \d+)$/, "$1") : `instance ${place.instance}`;
  const rank = Number(/^rank (\d+)\b/.exec(place.words)?.[1] ?? String(place.ranks).match(/\d+/)?.[0]);
  const kernels = !data.timeline?.lanes.some((lane) => lane.rank === rank) ? []
    : [" · ", element("a", { href: "#ranks", title: `Kernels of rank ${rank}`, onclick: () => pickRank(rank, "Kernels") }, "kernels")];
  const command = commandFor(data, finding);
  const button = element("button", { onclick: () => copy(command, button), title: `Copy: ${command}`, "aria-label": `Copy the command that opens ${what} in Perfetto` }, "Copy");
  return element("span", { class: "moment" }, data.timeline ? momentLink(place, what) : what, ...kernels, " · ", button);
}

export function openMoment(data, finding, most = 3) {
  const places = placesOf(data, finding);
  if (places.length === 0) return undefined;
  const command = commandFor(data, finding);
  const button = element("button", { onclick: () => copy(command, button), title: "Copy the command" }, "Copy");
  return element("div", { class: "moment" },
    element("p", {}, `Open this moment (${finding.replaceAll("-", " ")}) in Perfetto: `, element("code", {}, command), " ", button),
    element("ul", {}, ...places.slice(0, most).map((place) => placeText(data, place))));
}
