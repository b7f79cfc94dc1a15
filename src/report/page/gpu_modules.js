// One GPU: the tree of nn.Modules with their times, opened on demand.
import { element, section } from "./dom.js";
import { duration, percent } from "./numbers.js";
import { records } from "./table.js";

const kOpenLevels = 2;      // that are open from the start
const kMostChildren = 200;  // of one module

const timeOf = (row) => row.gpu_ns + row.backward_gpu_ns;

// Modules by the module that they ran within; a parent that is not on the page makes its children roots.
function treeOf(rows) {
  const known = new Set(rows.map((row) => row.name)), children = new Map();
  for (const row of rows) {
    const parent = row.parent !== null && known.has(row.parent) ? row.parent : "";
    children.set(parent, [...(children.get(parent) ?? []), row]);
  }
  for (const list of children.values()) list.sort((a, b) => timeOf(b) - timeOf(a));
  return children;
}

function words(row, all_ns) {
  const parts = [`${duration(timeOf(row))} (${percent(timeOf(row) / Math.max(1, all_ns))})`];
  if (row.backward_gpu_ns > 0) parts.push(`forward ${duration(row.gpu_ns)}, backward ${duration(row.backward_gpu_ns)}`);
  parts.push(`CPU ${duration(row.host_total_ns)}`);
  if (row.calls > 1) parts.push(`${row.calls} calls`);
  return parts.join(" · ");
}

function node(row, children, level, all_ns) {
  const inner = children.get(row.name) ?? [];
  const line = [element("b", {}, row.name), " ", element("span", { class: "soft" }, words(row, all_ns))];
  if (inner.length === 0) return element("li", {}, ...line);
  const list = element("ul", { class: "tree" });
  const fill = () => {
    if (list.childElementCount > 0) return;
    list.append(...inner.slice(0, kMostChildren).map((one) => node(one, children, level + 1, all_ns)));
    if (inner.length > kMostChildren) list.append(element("li", { class: "soft" }, `${inner.length - kMostChildren} more in tables/modules.csv`));
  };
  const open = level < kOpenLevels && inner.length <= 40;
  if (open) fill();
  return element("li", {}, element("details", { ontoggle: fill, ...(open ? { open: "" } : {}) }, element("summary", {}, ...line), list));
}

export function modulesSection(data) {
  const rows = data.tables.modules === undefined ? [] : records(data.tables.modules);
  if (rows.length === 0) return undefined;
  const children = treeOf(rows), roots = children.get("") ?? [];
  const sum = (name) => roots.reduce((all, row) => all + row[name], 0);
  const all_ns = sum("gpu_ns") + sum("backward_gpu_ns");
  return section("modules", "Modules",
    element("p", { class: "soft" }, "The model as Python called it. A time is that of the GPU work launched within the module; a module counts what its parts do, too."),
    sum("backward_gpu_ns") > 0 ? element("p", {}, `All modules: forward ${duration(sum("gpu_ns"))}, backward ${duration(sum("backward_gpu_ns"))}.`) : undefined,
    element("ul", { class: "tree" }, ...roots.map((row) => node(row, children, 0, all_ns))));
}
