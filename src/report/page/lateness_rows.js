// Which ranks share a row of the lateness map, in which order, and what a cell shows: nothing below the uncertainty of the
// clocks; of several ranks the one that is furthest from the others.
const kMostRows = 192;   // that a screen has room for
const kMostAlone = 64;   // of the order by blame: ranks with a row of their own in front of the rest

// Rows of `order` as lists of places in map.ranks; neighbours share a row where there are too many.
function joined(order, most) {
  const by = Math.ceil(order.length / most);
  const rows = [];
  for (let at = 0; at < order.length; at += by) rows.push(order.slice(at, at + by));
  return rows;
}

export function rowsByRank(map) {
  return joined(map.ranks.map((_, at) => at), kMostRows);
}

export function rowsByBlame(map, blame) {
  const order = map.ranks.map((_, at) => at).sort((a, b) => (blame.get(map.ranks[b]) ?? 0) - (blame.get(map.ranks[a]) ?? 0));
  if (order.length <= kMostRows) return order.map((at) => [at]);
  return [...order.slice(0, kMostAlone).map((at) => [at]), ...joined(order.slice(kMostAlone), kMostRows - kMostAlone)];
}

// Hosts one after the other; where not every rank has room, a row is a host or several.
export function rowsByNode(map, hosts) {
  const of = new Map();
  map.ranks.forEach((rank, at) => {
    const host = hosts.get(rank) ?? "";
    if (!of.has(host)) of.set(host, []);
    of.get(host).push(at);
  });
  const nodes = [...of].sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true })).map(([, ranks]) => ranks);
  return map.ranks.length <= kMostRows ? nodes.flat().map((at) => [at]) : joined(nodes, kMostRows).map((some) => some.flat());
}

// [[x, y, shown, place of the rank, lateness], …]. shown(place, lateness): what the colour stands for; 0: blank.
export function cellsOf(map, rows, shown) {
  const cells = [];
  rows.forEach((places, y) => map.columns.forEach((_, x) => {
    let best = null;
    for (const place of places) {
      const late = map.mean_ns[place][x];
      if (late === null) continue;
      const value = shown(place, Number(late));
      if (best === null || Math.abs(value) > Math.abs(best[2])) best = [x, y, value, place, Number(late)];
    }
    if (best !== null) cells.push(best);
  }));
  return cells;
}
