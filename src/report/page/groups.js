// What groups of ranks are called, and how charts tell them apart.
import { records } from "./table.js";

const kMostApart = 8;  // as many as there are colours

const kindOf = (row) => row?.desc || row?.name || "no name";

// nameOf(id): "#3 TENSOR_PARALLEL"; keyOf(id): the same where few groups are shown, else what groups of one kind share.
export function groupNames(data, shown) {
  const rows = new Map(records(data.tables.communicators).map((row) => [row.id, row]));
  const apart = new Set(shown).size <= kMostApart;
  const nameOf = (id) => `#${id} ${kindOf(rows.get(id))}`;
  return { rows, nameOf, keyOf: (id) => (apart ? nameOf(id) : kindOf(rows.get(id)).replace(/\d+/g, "*")) };
}

// The keys of most calls first; what has no colour of its own shares the last.
export function legendOf(keys) {
  const counts = new Map();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  const order = [...counts].sort((a, b) => b[1] - a[1]).map(([key]) => key);
  const legend = order.length <= kMostApart ? order : [...order.slice(0, kMostApart - 1), "all others"];
  const at = new Map(order.map((key, place) => [key, Math.min(place, legend.length - 1)]));
  return { legend, at };
}
