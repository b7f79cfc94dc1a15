// Rank x time: what the GPUs of chosen ranks did in any step. Drag or + zooms in, − zooms out, arrows move from block to block.
import { canvasChart } from "./canvas_chart.js";
import { hint, key } from "./chart.js";
import { say } from "./chart_keys.js";
import { notOneClock } from "./components.js";
import { chooser, element, folded, section } from "./dom.js";
import { groupNames } from "./groups.js";
import { blockAt, lanesOf, neighbour } from "./lanes.js";
import { duration, percent, plural } from "./numbers.js";
import { onShownMoment } from "./moments.js";
import { pickRank } from "./picked.js";
import { records } from "./table.js";
import { kBottom, kIdleLooks, kLane, kTop, leftOf, momentText, paintTimeline, trackAt } from "./timeline_paint.js";

const kClick = 4;         // pixels that a click may slip
const kLeastSpan = 200;   // ns that the whole width covers at least
const kAround = 0.15;     // of a moment, before it and behind it
const kReach = 3;         // pixels from the mouse to a block

const kDigits = 1000;      // a moment is shown to so many parts of what is in view
const kMostName = 90;      // letters of a kernel

const shortName = (name) => (name.length > kMostName ? `${name.slice(0, kMostName)}…` : name);
const isCall = (block) => block.instance !== undefined;

const kIdleWords = {
  host: "waits for the host: the next kernel was launched after the gap began", synchronization: "the host had waited for the GPU, and launched only then",
  peer_call: "waits for a collective on the host, and that for its peers", launch_latency: "the next kernel was launched in time and started within 30 µs",
  dependency: "the next kernel was launched in time: it waited for another stream, an event or another process",
  not_recorded: "the launch of the next kernel is not in the trace",
};
const idleWords = (block) => [`idle, ${duration(Math.round(block.end - block.start))}`, kIdleWords[block.cause]];

function blockWords(block, timeline, groups, rank) {
  if (block.cause !== undefined) return idleWords(block);
  return isCall(block) ? callWords(block, timeline.ops, groups, rank) : workWords(block, timeline.names);
}

function workWords(block, names) {
  const share = block.end > block.start ? block.busy / (block.end - block.start) : 1;
  const noun = block.copies ? "copies and fills" : "kernels";
  if (block.rows === 1) return [shortName(names[block.name]), `${block.copies ? "copy" : "computing"}, ${duration(Math.round(block.end - block.start))}`];
  return [`${block.rows.toLocaleString("en")} ${noun}, longest: ${shortName(names[block.name])}`,
    `${duration(Math.round(block.end - block.start))}, busy ${percent(Math.min(1, share))} of it`];
}

function callWords(block, ops, groups, rank) {
  const length = block.end - block.start, of = `instance ${block.instance}, ${groups.nameOf(block.communicator)}`;
  const parts = block.wait === null ? `${duration(Math.round(length))}, could not be split`
    : `${block.wait > 0 ? `waits ${duration(Math.round(block.wait))}` : "waits for nobody"}, transfers ${duration(Math.round(Math.max(0, length - block.wait)))}`;
  const last = block.last === null ? [] : [block.last === rank ? "this rank arrived last" : `rank ${block.last} arrived last`];
  if (block.calls === 1) return [ops[block.op], of, parts, ...last];
  return [`${block.calls.toLocaleString("en")} calls, longest: ${ops[block.op]}`, of, parts];
}

// What the section says of ranks and blocks that it does not show one by one.
function sampling(timeline, lanes) {
  const count = (reason) => lanes.filter((lane) => lane.reason === reason).length;
  const all = timeline.ranks <= lanes.length;
  const some = [[count("culprit"), "who made others wait most"], [count("victim"), "who waited most"], [count("sample"), "an even sample"]]
    .filter(([ranks]) => ranks > 0).map(([ranks, words]) => `${words} (${ranks})`);
  const merged = [[timeline.merged_below_ns, "kernels and copies"], [timeline.calls_merged_below_ns, "calls"]].filter(([below]) => Number(below) > 0)
    .map(([below, noun]) => `${noun} shorter than ${duration(Math.round(below))} share a block with their neighbours`);
  return (all ? `All ${plural(lanes.length, "rank")}. ` : `${lanes.length} of ${timeline.ranks.toLocaleString("en")} ranks: ${some.join(", ")}. `)
    + (merged.length > 0 ? `${merged.join("; ")}.`.replace(/^./, (letter) => letter.toUpperCase()) : "Every kernel and every call is shown.");
}

class Timeline {
  constructor(data) {
    this.timeline = data.timeline;
    this.all = lanesOf(data.timeline);
    this.lanes = this.all;
    this.groups = groupNames(data, []);
    this.steps = records(data.tables.steps).map((row) => ({ number: row.step, start: Number(row.start_ns), end: Number(row.start_ns) + Number(row.duration_ns) }))
      .sort((a, b) => a.start - b.start);
    const blocks = this.all.flatMap((lane) => [...lane.work, ...lane.calls]);
    this.whole = [blocks.reduce((least, block) => Math.min(least, block.start), Infinity), blocks.reduce((most, block) => Math.max(most, block.end), -Infinity)];
    this.isEmpty = blocks.length === 0;
    if (this.isEmpty) return;
    this.chart = canvasChart("Timeline of chosen ranks", () => kTop + Math.max(1, this.lanes.length) * kLane + kBottom, (context, width, height) =>
      paintTimeline(context, this.lanes, { from: this.from, to: this.to, steps: this.steps, cursor: this.cursor, drag: this.drag, moment: this.moment }, width, height));
    this.tip = element("div", { class: "tip", hidden: "" });
    this.chart.host.append(this.tip);
    this.says = element("p", { class: "soft", "aria-live": "polite" }, "Point at a block for its name; click it to pick its rank here and below.");
    const worst = this.steps.find((step) => step.number === data.chain?.step) ?? this.steps[this.steps.length >> 1];
    this.stepChoice = chooser("Step", [...this.steps.map((step, at) => [String(at), `step ${step.number}, ${duration(step.end - step.start)}`]), ["all", "whole recording"]],
      (value) => this.showStep(value));
    this.showStep(worst === undefined ? "all" : String(this.steps.indexOf(worst)));
    this.follow();
  }

  show(from, to) {
    const [least, most] = this.whole, span = Math.min(Math.max(to - from, kLeastSpan), (most - least) * 1.02);
    this.from = Math.max(least - 0.01 * (most - least), Math.min(from, most + 0.01 * (most - least) - span));
    this.to = this.from + span;
    const middle = this.from + span / 2, at = this.steps.findIndex((step) => step.start <= middle && step.end >= middle);
    const isOne = at >= 0 && span < 2 * (this.steps[at].end - this.steps[at].start);
    this.stepChoice.querySelector("select").value = isOne ? String(at) : "all";
    this.chart.repaint();
  }
  showStep(value) {
    this.moment = undefined;
    const step = this.steps[Number(value)];
    const [from, to] = value === "all" ? this.whole : [step.start, step.end], margin = 0.01 * (to - from);
    this.show(from - margin, to + margin);
  }
  stepBy(by) {
    const middle = (this.from + this.to) / 2;
    const at = this.steps.findIndex((step) => step.end > middle);
    const next = Math.min(this.steps.length - 1, Math.max(0, (at < 0 ? this.steps.length - 1 : at) + by));
    if (this.steps.length > 0) this.showStep(String(next));
  }
  zoom(factor, around = (this.from + this.to) / 2) {
    this.show(around - (around - this.from) * factor, around + (this.to - around) * factor);
  }
  // A moment of the job: its stretch in view, its outline drawn.
  showMoment({ words, start_ns, length_ns }) {
    const start = Number(start_ns), length = Math.max(1, Number(length_ns));
    this.moment = { start, end: start + length };
    this.lanes = this.all;
    this.show(start - kAround * length, start + (1 + kAround) * length);
    this.says.replaceChildren(`Outlined: ${words}; ${duration(length)} from ${this.momentOf(start)} on.`);
  }

  momentOf(ns) {
    return momentText(ns, (this.to - this.from) / kDigits);
  }
  timeAt(x) {
    const width = this.chart.host.clientWidth, left = leftOf(width);
    return this.from + (Math.min(Math.max(x, left), width) - left) * (this.to - this.from) / (width - left);
  }
  found(x, y) {
    const track = trackAt(y, this.lanes.length), width = this.chart.host.clientWidth;
    if (track === undefined || x < leftOf(width)) return undefined;
    const lane = this.lanes[track.lane], moment = this.timeAt(x), near = kReach * (this.to - this.from) / width;
    const [own, other] = track.isWork ? [lane.work, lane.calls] : [lane.calls, lane.work];
    const block = blockAt(own, moment, 0) ?? blockAt(other, moment, 0) ?? blockAt(own, moment, near / 3) ?? blockAt(lane.idle, moment, 0) ?? blockAt(own, moment, near);
    return block && { lane: track.lane, block };
  }
  words({ lane, block }) {
    const rank = this.lanes[lane].rank;
    return [`rank ${rank}: ${blockWords(block, this.timeline, this.groups, rank).join("; ")}`,
      `from ${this.momentOf(block.start)} on`];
  }
  lines({ lane, block }) {
    const rank = this.lanes[lane].rank;
    return [`rank ${rank}`, ...blockWords(block, this.timeline, this.groups, rank),
      `from ${this.momentOf(block.start)} to ${this.momentOf(block.end)}`];
  }
  pick(at) {
    this.cursor = at;
    this.chart.repaint();
    const rank = this.lanes[at.lane].rank;
    pickRank(rank);
    this.says.replaceChildren(`${this.words(at).join(", ")}. `, element("a", { href: "#ranks" }, `All that is known of rank ${rank}`));
  }

  // Mouse and keyboard.
  follow() {
    const { host } = this.chart;
    let pressed;
    const place = (event) => {
      const box = host.getBoundingClientRect();
      return [event.clientX - box.x, event.clientY - box.y];
    };
    host.addEventListener("pointermove", (event) => {
      const [x, y] = place(event);
      if (pressed !== undefined && Math.abs(x - pressed) > kClick) {
        this.drag = [pressed, x];
        this.tip.hidden = true;
        this.chart.repaint();
        return;
      }
      this.point(this.found(x, y), x, y);
    });
    host.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    host.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "mouse" && event.button === 0) [pressed] = place(event);
    });
    addEventListener("pointerup", (event) => {
      if (pressed === undefined) return;
      const from = pressed, drag = this.drag;
      pressed = this.drag = undefined;
      if (drag !== undefined) this.show(...[this.timeAt(from), this.timeAt(place(event)[0])].sort((a, b) => a - b));
    });
    host.addEventListener("click", (event) => {
      const at = this.found(...place(event));
      if (at !== undefined) this.pick(at);
    });
    host.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;  // the page scrolls
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.timeAt(place(event)[0]));
    }, { passive: false });
    host.addEventListener("keydown", (event) => this.press(event));
  }
  point(at, x, y) {
    this.tip.hidden = at === undefined;
    if (at === undefined) return;
    this.tip.replaceChildren(hint(...this.lines(at)));
    const width = this.chart.host.clientWidth;
    this.tip.style.left = `${Math.max(0, Math.min(x + 12, width - this.tip.offsetWidth))}px`;
    this.tip.style.top = `${y + 14}px`;
  }
  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = {
      "+": () => this.zoom(0.5, this.cursorTime()), "=": () => this.zoom(0.5, this.cursorTime()), "-": () => this.zoom(2, this.cursorTime()),
      PageDown: () => this.stepBy(1), PageUp: () => this.stepBy(-1), Home: () => this.showStep("all"),
      ArrowRight: () => this.move(1), ArrowLeft: () => this.move(-1), ArrowDown: () => this.changeLane(1), ArrowUp: () => this.changeLane(-1),
      Enter: () => this.cursor && this.pick(this.cursor),
    };
    if (actions[event.key] === undefined) return;
    event.preventDefault();
    actions[event.key]();
    if (event.key.startsWith("Page") || event.key === "Home" || /^[-+=]$/.test(event.key)) say(`${duration(Math.round(this.to - this.from))} from ${this.momentOf(Math.max(0, this.from))} on`);
  }
  cursorTime() {
    const at = this.cursor === undefined ? undefined : (this.cursor.block.start + this.cursor.block.end) / 2;
    return at !== undefined && at >= this.from && at <= this.to ? at : (this.from + this.to) / 2;
  }
  move(by) {
    const lane = Math.min(this.cursor?.lane ?? 0, this.lanes.length - 1);
    const block = neighbour(this.lanes[lane], this.cursor?.block.start ?? this.from, by);
    if (block !== undefined) this.goTo({ lane, block });
  }
  changeLane(by) {
    const lane = Math.min(this.lanes.length - 1, Math.max(0, (this.cursor?.lane ?? 0) + (this.cursor === undefined ? 0 : by)));
    const moment = this.cursor?.block.start ?? this.from;
    const block = blockAt(this.lanes[lane].work, moment, 0) ?? blockAt(this.lanes[lane].calls, moment, 0) ?? blockAt(this.lanes[lane].idle, moment, 0) ?? neighbour(this.lanes[lane], moment, 1) ?? neighbour(this.lanes[lane], moment, -1);
    if (block !== undefined) this.goTo({ lane, block });
  }
  goTo(at) {
    this.cursor = at;
    const { start, end } = at.block, span = this.to - this.from;
    if (start < this.from || end > this.to) this.show(start - span / 4, start + 3 * span / 4);
    this.chart.repaint();
    say(this.words(at).join(", "));
  }
}

function laneChoice(view) {
  const boxes = view.all.map((lane) => {
    const box = element("input", { type: "checkbox", onchange: () => {
      const chosen = view.all.filter((_, at) => boxes[at].querySelector("input").checked);
      view.lanes = chosen.length > 0 ? chosen : view.all;
      view.cursor = undefined;
      view.chart.host.style.height = "";
      view.chart.repaint();
    } });
    box.checked = true;
    return element("label", {}, box, ` ${lane.rank}${lane.reason && lane.reason !== "sample" ? ` (${lane.reason})` : ""}`);
  });
  return folded("Choose ranks", element("div", { class: "bar" }, ...boxes));
}

// Causes of idle time that are there.
function idleKeys(view) {
  const there = new Set(view.all.flatMap((lane) => lane.idle.map((block) => block.cause)));
  const below = Number(view.timeline.idle_below_ns);
  return [...Object.entries(kIdleLooks).filter(([cause]) => there.has(cause)).map(([, look]) => key(look.colorName, look.label)),
    key("idle", there.size === 0 ? "Idle" : below > 0 ? `Idle up to ${duration(Math.round(below))}` : "Before, after")];
}

export function timelineSection(data) {
  if (!data.timeline) return undefined;
  const view = new Timeline(data);
  if (view.isEmpty) return section("timeline", "Timeline", element("p", {}, "The traces hold neither kernels nor collectives."));
  const button = (text, title, act) => element("button", { title, "aria-label": title, onclick: act }, text);
  onShownMoment((moment) => view.showMoment(moment));
  return section("timeline", "Timeline",
    notOneClock(data, "lanes of two components do not share one clock."),
    element("p", { class: "soft" }, sampling(view.timeline, view.all)),
    element("p", { class: "soft" }, "Upper half of a lane: what the GPU computed and copied, paler where it ran only part of the time. Lower half: collectives, first waiting, then transfer. "
      + "Over both: idle, by what ended the gap. Drag to zoom in, or Ctrl and the wheel; by keyboard: arrows, + and −, Page up and down for steps, Enter picks."),
    element("div", { class: "bar" }, view.stepChoice, button("◀", "Step before", () => view.stepBy(-1)), button("▶", "Next step", () => view.stepBy(1)),
      button("+", "Zoom in", () => view.zoom(0.5)), button("−", "Zoom out", () => view.zoom(2)), button("Whole recording", "Show the whole recording", () => view.showStep("all"))),
    element("div", { class: "bar" }, key("compute", "Computing"), key("copy", "Copies"), key("wait", "Waiting"), key("transfer", "Transfer"), key("unsplit", "Not split"), ...idleKeys(view)),
    view.chart.host, view.says, view.all.length > 1 ? laneChoice(view) : undefined);
}
