// Tables that sort by a click on a heading and copy as CSV with the names and numbers of tables/*.csv.
import { element } from "./dom.js";
import { cellText, plural } from "./numbers.js";

const kFirstRows = 25;
const kShort = 40, kLong = 120;  // letters: that need no second line; of a name that is not a sentence

// The rows of a table of the data as objects, for those who draw them.
export function records(table) {
  return table.rows.map((row) => Object.fromEntries(table.columns.map((column, at) => [column, row[at]])));
}

function compare(a, b) {
  if (a === b) return 0;
  if (a === null || a === undefined) return 1;  // what is not known stands last, whichever way
  if (b === null || b === undefined) return -1;
  const numbers = [Number(a), Number(b)];
  if (!numbers.some(Number.isNaN)) return numbers[0] - numbers[1];
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

function sorted(rows, column, down) {
  const known = (row) => row[column] !== null && row[column] !== undefined;
  const order = rows.filter(known).sort((a, b) => (down ? compare(b[column], a[column]) : compare(a[column], b[column])));
  return order.concat(rows.filter((row) => !known(row)));
}

function csvField(value) {
  const text = value === null || value === undefined ? "" : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csvText(columns, rows) {
  return [columns, ...rows.map((row) => columns.map((column) => row[column]))]
    .map((fields) => fields.map(csvField).join(",")).join("\n") + "\n";
}

// Pages from file:// may not have the clipboard: the old way then.
async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = element("textarea", {});
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  const label = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = label; }, 1500);
}

// columns: [{name, label, text?: row => text, share?: row => 0..1, cut?: long text ends in "…"}]; rows: records; copied: column names for the CSV.
export function table({ columns, rows, copied, leftOut = 0, sortBy, sortDown = true, file }) {
  let order = sortBy ? sorted(rows, sortBy, sortDown) : rows;
  let by = sortBy, down = sortDown, shown = kFirstRows;
  const body = element("tbody");
  const heads = columns.map((column) => element("th", { class: isNumber(column) ? "number" : "", scope: "col" },
    element("button", { onclick: () => sort(column), title: `${column.name}: sort` }, column.label)));
  const more = element("button", { onclick: () => { shown = order.length; fill(); } });
  const copyButton = element("button", {
    onclick: () => copy(csvText(copied, order), copyButton),
    title: "All rows and columns, exact numbers",
  }, "Copy as CSV");

  function isNumber(column) {
    return rows.some((row) => typeof row[column.name] === "number") && !/rank|communicator$|^id$/.test(column.name);
  }
  function cell(column, row) {
    const value = row[column.name];
    const text = column.text ? column.text(row) : cellText(value, column.name);
    const made = element("td", { class: isNumberOf.get(column) ? "number" : text.length > kShort ? "long" : "whole" },
      text.length > kLong && column.cut ? `${text.slice(0, kLong)}…` : text);
    if (value !== null && value !== undefined && String(value) !== made.textContent) made.title = `${column.name} ${value}`;
    if (column.share) {
      made.classList.add("share");
      made.style.setProperty("--of", String(Math.min(1, Math.max(0, column.share(row)))));
    }
    return made;
  }
  function fill() {
    body.replaceChildren(...order.slice(0, shown).map((row) =>
      element("tr", {}, ...columns.map((column) => cell(column, row)))));
    more.hidden = order.length <= shown;
    more.textContent = `Show all ${order.length.toLocaleString("en")} rows`;
    columns.forEach((column, at) => {
      const sort = column.name !== by ? "none" : down ? "descending" : "ascending";
      heads[at].setAttribute("aria-sort", sort);
      heads[at].firstChild.textContent = column.label + (sort === "none" ? "" : down ? " ▾" : " ▴");
    });
  }
  function sort(column) {
    down = by === column.name ? !down : true;
    by = column.name;
    order = sorted(rows, by, down);
    fill();
  }
  const isNumberOf = new Map(columns.map((column) => [column, isNumber(column)]));
  fill();
  const note = leftOut > 0
    ? element("span", { class: "soft" }, `${plural(leftOut, "row")} of less weight only in ${file}`) : undefined;
  return element("div", {},
    element("div", { class: "scroll" }, element("table", {}, element("thead", {}, element("tr", {}, ...heads)), body)),
    element("div", { class: "bar" }, more, copyButton, note));
}

// A table of the data with some of its columns on show: [["rank", "Rank"], …]; `of` narrows the rows.
export function dataTable(data, name, columns, options = {}) {
  const source = data.tables[name];
  const rows = options.rows ?? records(source);
  return table({
    columns: columns.map(([column, label, more]) => ({ name: column, label, ...more })),
    rows, copied: source.columns, leftOut: source.left_out, file: `tables/${name}.csv`, ...options,
  });
}
