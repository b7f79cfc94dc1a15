// The timeline's data: the work and the calls of each rank that has a lane.
import { rowsOf } from "./packed.js";

// Rows whose first field is the start less that of the row before, in units.
function timed(text, width, unit, make) {
  let start = 0;
  return rowsOf(text, width).map(([since, length, ...rest]) => {
    start += since;
    return make(start * unit, (start + length) * unit, ...rest);
  });
}

function laneOf({ rank, reason, work, calls, idle }, unit, causes) {
  let instance = 0;
  return {
    rank, reason,
    idle: timed(idle, 3, unit, (start, end, cause) => ({ start, end, cause: causes[cause] })),
    work: timed(work, 5, unit, (start, end, free, more, name) => ({ start, end, busy: end - start - free * unit, rows: more + 1,
      name: name >> 1, copies: (name & 1) === 1 })),
    calls: timed(calls, 8, unit, (start, end, wait, more, further, communicator, op, last) => {
      instance += further;
      return { start, end, wait: wait === null ? null : wait * unit, calls: more + 1, instance, communicator, op, last };
    }),
  };
}

// [{rank, reason, work, calls, idle}], times in ns since the job's first event.
export const lanesOf = (timeline) => timeline.lanes.map((lane) => laneOf(lane, timeline.unit_ns, timeline.idle_causes));

// The blocks that a stretch shows: [first, behind the last]. Blocks of one track may overlap a little: one more is looked at.
export function within(blocks, from, to) {
  const first = placeOf(blocks, from);
  return [Math.max(0, first - 8), placeOf(blocks, to)];
}

// How many blocks begin before a moment.
function placeOf(blocks, moment) {
  let low = 0, high = blocks.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (blocks[middle].start < moment) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The block at a moment, else one closer to it than `near`.
export function blockAt(blocks, moment, near) {
  let best;
  for (let at = placeOf(blocks, moment + near) - 1, left = 8; at >= 0 && left > 0; --at, --left) {
    const block = blocks[at];
    if (block.start <= moment && block.end >= moment) return block;
    const away = Math.max(block.start - moment, moment - block.end);
    if (away <= near && (best === undefined || away < Math.max(best.start - moment, moment - best.end))) best = block;
  }
  return best;
}

// The next block behind or in front of a moment: work, calls or idle time.
export function neighbour(lane, moment, by) {
  const of = (blocks) => {
    if (by < 0) return blocks[placeOf(blocks, moment) - 1];
    const at = placeOf(blocks, moment);
    return blocks[blocks[at]?.start === moment ? at + 1 : at];
  };
  const found = [of(lane.work), of(lane.calls), of(lane.idle)].filter(Boolean);
  return found.sort((a, b) => by * (a.start - b.start))[0];
}
