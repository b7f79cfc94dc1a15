// From a finding to its place in the timeline: the command that cuts it out of the traces, to copy.
import { element } from "./dom.js";
import { duration } from "./numbers.js";
import { copy } from "./table.js";

// The traces as the report's own command names them; where options come first they are not distinguished from their
// values.
function tracesOf(data) {
  const [, paths] = /\breport\s+((?:'[^']*'|"[^"]*"|\\.|[^-\s]\S*|\s+)+?)(?=\s+-|\s*$)/.exec(data.command ?? "") ?? [];
  return paths?.trim() || "DIR";
}

const placesOf = (data, finding) => (data.excerpts ?? []).filter((one) => one.finding === finding);

export function openMoment(data, finding, rank) {
  const places = placesOf(data, finding).filter((one) => rank === undefined || one.words.startsWith(`rank ${rank},`) || one.words.startsWith(`rank ${rank}:`));
  if (places.length === 0) return undefined;
  const command = `skewscope merge ${tracesOf(data)} -o ${finding}.pftrace --excerpt ${finding}`;
  const button = element("button", { onclick: () => copy(command, button), title: "Copy the command" }, "Copy");
  const where = places.map((one) => `${duration(one.length_ns)} from ${duration(one.start_ns)} on, ranks ${one.ranks}`);
  return element("p", { class: "moment" }, `Open this moment (${finding.replaceAll("-", " ")}) in Perfetto: `, element("code", {}, command), " ", button,
    element("span", { class: "soft" }, ` ${where.slice(0, 3).join("; ")}`));
}
