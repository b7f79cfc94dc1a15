// What groups of ranks are called, and how charts tell them apart.
import { records } from "./table.js";

const kMostApart = 8;  // as many as there are colours

const kindOf = (row) => row?.desc || row?.name || "no name";

const kKinds = [[/tensor|(^|_)tp\b/i, "tensor"], [/pipe|(^|_)pp\b/i, "pipeline"], [/expert|(^|_)ep\b/i, "expert"], [/context|(^|_)cp\b/i, "context"],
  [/sequence|(^|_)sp\b/i, "sequence"], [/data|fsdp|(^|_)dp\b/i, "data"], [/^(default_pg|world)$/i, "all ranks"], [/^inferred/, "unnamed"]];

// "tensor" for TENSOR_MODEL_PARALLEL_GROUP; a name of no known kind as it is.
export const kindWord = (name) => kKinds.find(([pattern]) => pattern.test(name ?? ""))?.[1] ?? name ?? "not known";

// "0–7", "0–56 in steps of 8", "0, 3, 4 …": the members of a group.
export function ranksText(text) {
  const cut = String(text ?? "").endsWith("…");
  const ranks = String(text ?? "").replace("…", "").trim().split(/\s+/).filter((word) => /^\d+$/.test(word)).map(Number);
  if (cut) ranks.pop();  // its last number may be cut, too
  if (ranks.length === 0) return "–";
  const by = ranks.length > 2 ? ranks[1] - ranks[0] : 0;
  const even = by > 0 && ranks.every((rank, at) => at === 0 || rank - ranks[at - 1] === by);
  if (even) return `${ranks[0]}–${cut ? "…" : ranks[ranks.length - 1]}${by === 1 ? "" : ` in steps of ${by}`}`;
  return ranks.slice(0, 6).join(", ") + (ranks.length > 6 || cut ? " …" : "");
}

// A group by its kind and its ranks; one of no known kind by its name.
export const groupText = (row) => (row === undefined ? "not known" : `${kindWord(kindOf(row))}, rank${row.size === 1 ? "" : "s"} ${ranksText(row.ranks)}`);

// nameOf(id): "tensor, ranks 0–7"; keyOf(id): the same where few groups are shown, else what groups of one kind share.
export function groupNames(data, shown) {
  const rows = new Map(records(data.tables.communicators).map((row) => [row.id, row]));
  const apart = new Set(shown).size <= kMostApart;
  const nameOf = (id) => groupText(rows.get(id));
  return { rows, nameOf, keyOf: (id) => (apart ? nameOf(id) : kindWord(kindOf(rows.get(id))).replace(/\d+/g, "*")) };
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
