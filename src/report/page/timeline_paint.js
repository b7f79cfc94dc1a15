// How the timeline is painted: a lane for each rank, its work above its calls, on an axis of time.
import { color } from "./chart.js";
import { within } from "./lanes.js";
import { axisText, duration } from "./numbers.js";

export const kTop = 34, kBottom = 8, kLane = 26;
const kWork = 11, kCalls = 9, kGap = 2;  // heights within a lane
const kIdle = 0.45;                      // how pale idling is
const kLeastShare = 0.3;                 // how pale the work of a block gets that hardly ever runs
const kTick = 110;                       // pixels between two labels of the axis, about

export const leftOf = (width) => (width < 500 ? 66 : 118);

// A round step of about a `share` of the stretch.
function roundStep(span, count) {
  const raw = span / Math.max(1, count), power = 10 ** Math.floor(Math.log10(raw));
  return Math.max(1, [1, 2, 5, 10].find((factor) => factor * power >= raw) * power);
}

function paintAxis(context, { from, to }, width, height) {
  const left = leftOf(width), scale = (width - left) / (to - from);
  const by = roundStep(to - from, (width - left) / kTick);
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "alphabetic";
  context.textAlign = "center";
  context.fillStyle = color("soft");
  context.strokeStyle = color("line");
  context.lineWidth = 1;
  for (let at = Math.ceil(from / by) * by; at <= to; at += by) {
    const x = Math.round(left + (at - from) * scale) + 0.5;
    context.beginPath();
    context.moveTo(x, 18);
    context.lineTo(x, height - kBottom);
    context.stroke();
    const text = momentText(at, by), half = context.measureText(text).width / 2;
    if (x - half > left && x + half < width) context.fillText(text, x, 13);
  }
}

function paintSteps(context, { from, to, steps }, width, height) {
  const left = leftOf(width), scale = (width - left) / (to - from);
  context.fillStyle = color("soft");
  context.strokeStyle = color("text");
  context.lineWidth = 1;
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "alphabetic";
  context.textAlign = "left";
  for (const step of steps) {
    if (step.start < from || step.start > to) continue;
    const x = Math.round(left + (step.start - from) * scale) + 0.5;
    context.setLineDash([3, 3]);
    context.beginPath();
    context.moveTo(x, 18);
    context.lineTo(x, height - kBottom);
    context.stroke();
    context.setLineDash([]);
    const text = `step ${step.number}`;
    if (x + context.measureText(text).width + 4 < width && (step.end - step.start) * scale > 50) context.fillText(text, x + 4, 28);
  }
}

// A moment, with enough digits to tell it from one that is `by` later.
export function momentText(at, by) {
  const [factor, unit] = at >= 1e9 ? [1e9, "s"] : at >= 1e6 ? [1e6, "ms"] : at >= 1e3 ? [1e3, "µs"] : [1, "ns"];
  const digits = Math.min(6, Math.max(0, Math.ceil(-Math.log10(by / factor))));
  return at === 0 ? axisText(duration)(0) : `${(at / factor).toFixed(digits)} ${unit}`;
}

function paintTrack(context, blocks, { from, to }, left, width, paintBlock) {
  const scale = (width - left) / (to - from);
  const [first, last] = within(blocks, from, to);
  for (let at = first; at < last; ++at) {
    const block = blocks[at];
    if (block.end < from) continue;
    const x = left + (Math.max(block.start, from) - from) * scale, right = left + (Math.min(block.end, to) - from) * scale;
    paintBlock(block, x, Math.max(right, x + 0.6), scale);
  }
}

// Idle time by cause: a colour, and a height and place of its own, so that colour is not all that says it.
export const kIdleLooks = {
  host: { label: "Idle: waits for the host", colorName: "idle-host", from: 0, to: 1 },
  synchronization: { label: "Idle: after the host waited for the GPU", colorName: "idle-sync", from: 0, to: 0.5 },
  peer_call: { label: "Idle: waits for a peer's call", colorName: "idle-peer", from: 0.5, to: 1 },
  launch_latency: { label: "Idle: short gap after a launch in time", colorName: "idle-kernel", from: 0.35, to: 0.65 },
  dependency: { label: "Idle: waits for another stream, an event or another process", colorName: "idle-kernel", from: 0, to: 1 },
  not_recorded: { label: "Idle: launch not recorded", colorName: "none", from: 0, to: 1 },
};

function paintIdle(context, look, x, top, right, colors) {
  const height = kWork + kGap + kCalls;
  context.fillStyle = colors[look.colorName];
  context.fillRect(x, top + look.from * height, right - x, (look.to - look.from) * height);
}

function paintLane(context, lane, view, top, width, colors) {
  const left = leftOf(width);
  context.globalAlpha = kIdle;
  context.fillStyle = colors.idle;
  context.fillRect(left, top, width - left, kWork + kGap + kCalls);
  context.globalAlpha = 1;
  paintTrack(context, lane.idle, view, left, width, (block, x, right) => paintIdle(context, kIdleLooks[block.cause], x, top, right, colors));
  paintTrack(context, lane.work, view, left, width, (block, x, right) => {
    const share = block.end > block.start ? block.busy / (block.end - block.start) : 1;
    context.globalAlpha = kLeastShare + (1 - kLeastShare) * Math.min(1, share);
    context.fillStyle = block.copies ? colors.copy : colors.compute;
    context.fillRect(x, block.copies ? top + kWork - 4 : top, right - x, block.copies ? 4 : kWork);
  });
  context.globalAlpha = 1;
  const below = top + kWork + kGap;
  paintTrack(context, lane.calls, view, left, width, (block, x, right, scale) => {
    const middle = block.wait === null ? x : Math.min(right, Math.max(x, left + (block.start + block.wait - view.from) * scale));
    context.fillStyle = colors.wait;
    context.fillRect(x, below, middle - x, kCalls);
    context.fillStyle = block.wait === null ? colors.unsplit : colors.transfer;
    context.fillRect(middle, below, Math.max(right - middle, block.wait === null ? 0.6 : 0), kCalls);
  });
}

const kReasons = { culprit: "culprit", victim: "victim", sample: "", "": "" };

// view: {from, to, steps, cursor?: {lane, block}, drag?: [x, x], moment?: {start, end}}
export function paintTimeline(context, lanes, view, width, height) {
  const left = leftOf(width);
  const colors = Object.fromEntries(["compute", "copy", "wait", "transfer", "unsplit", "idle", "idle-host", "idle-sync", "idle-peer", "idle-kernel", "none", "text", "soft", "accent"].map((name) => [name, color(name)]));
  paintAxis(context, view, width, height);
  lanes.forEach((lane, at) => paintLane(context, lane, view, kTop + at * kLane, width, colors));
  paintSteps(context, view, width, height);
  context.textBaseline = "middle";
  context.textAlign = "left";
  lanes.forEach((lane, at) => {
    const y = kTop + at * kLane + (kWork + kGap + kCalls) / 2;
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = colors.text;
    const name = width < 500 ? String(lane.rank) : `rank ${lane.rank}`;
    context.fillText(name, 0, y);
    const reason = kReasons[lane.reason];
    if (reason === "") return;
    const x = context.measureText(name).width + 6;
    context.fillStyle = colors.soft;
    context.font = "11px system-ui, sans-serif";
    if (x + context.measureText(reason).width < left - 2) context.fillText(reason, x, y);
  });
  const xOf = (ns) => left + (ns - view.from) * (width - left) / (view.to - view.from);
  if (view.moment) outline(context, Math.max(left, xOf(view.moment.start)), kTop - 3, Math.min(width, xOf(view.moment.end)), height - kBottom, colors.accent);
  if (view.cursor) {
    const { lane, block } = view.cursor, top = kTop + lane * kLane;
    outline(context, Math.max(left, xOf(block.start)), top - 1, Math.min(width, Math.max(xOf(block.end), xOf(block.start) + 2)), top + kWork + kGap + kCalls + 1, colors.text);
  }
  if (view.drag) {
    context.globalAlpha = 0.2;
    context.fillStyle = colors.accent;
    context.fillRect(Math.min(...view.drag), kTop, Math.abs(view.drag[1] - view.drag[0]), height - kTop - kBottom);
    context.globalAlpha = 1;
  }
}

function outline(context, x, top, right, bottom, stroke) {
  if (right < x) return;
  context.strokeStyle = stroke;
  context.lineWidth = 2;
  context.strokeRect(x, top, right - x, bottom - top);
}

// Which lane and which track of it a height belongs to.
export function trackAt(y, lanes) {
  const lane = Math.floor((y - kTop) / kLane);
  if (lane < 0 || lane >= lanes) return undefined;
  return { lane, isWork: y - kTop - lane * kLane < kWork + kGap / 2 };
}
