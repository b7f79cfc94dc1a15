// Tables that sort by a click on a heading, are filtered where they are long, and copy as CSV with the names and numbers
// of tables/*.csv.
import { element } from "./dom.js";
import { meaningOf } from "./meanings.js";
import { cellText, plural } from "./numbers.js";

const kFirstRows = 25;
const kMostUnfiltered = 20;  // rows that the eye finds its way in
const kMostChoices = 12;     // different texts of a column that a choice is made of
const kMostRoomy = 11;       // columns that stand side by side with their headings in one line
const kShort = 40, kLong = 120;  // letters: that need no second line; of a name that is not a sentence

// The rows of a table of the data as objects, for those who draw them.
export function records(table) {
  return table.rows.map((row) => Object.fromEntries(table.columns.map((column, at) => [column, row[at]])));
}

function compare(a, b) {
  if (a === b) return 0;
  if (a === null || a === undefined) return 1;  // what is not known comes last, whichever way
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
export async function copy(text, button) {
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

// Choices of the columns that hold few different texts: [[column, select], …].
function choices(columns, rows, textOf, onchange) {
  const made = [];
  for (const column of columns) {
    if (made.length === 2) break;
    if (/^(rank|ranks|why|next|message|file)$/.test(column.name) || !rows.some((row) => typeof row[column.name] === "string")) continue;
    const texts = [...new Set(rows.map((row) => textOf(column, row)))];
    if (texts.length < 2 || texts.length > kMostChoices || texts.some((text) => text.length > kShort)) continue;
    const select = element("select", { "aria-label": column.label, onchange },
      element("option", { value: "" }, `${column.label}: all`),
      ...texts.sort().map((text, at) => element("option", { value: String(at + 1) }, text)));
    made.push([column, select, texts]);
  }
  return made;
}

let tables = 0;  // made so far: what charts refer to

// columns: [{name, label, text?: row => text, share?: row => 0..1, cut?: long text ends in "…", make?: row => an element}];
// rows: records; copied: column names for the CSV; caption: what a screen reader calls the table;
// inner?: row => rows shown under it on demand; onPick?: row => what a click on a row does.
export function table({ columns, rows, copied, leftOut = 0, sortBy, sortDown = true, file, caption = "Table", inner, onPick }) {
  let order = sortBy ? sorted(rows, sortBy, sortDown) : rows;
  let by = sortBy, down = sortDown, shown = kFirstRows;
  const body = element("tbody");
  const heads = columns.map((column) => element("th", { class: isNumber(column) ? "number" : "", scope: "col" },
    element("button", { onclick: () => sort(column), title: `${column.meaning ?? meaningOf(column.name, column.label)} Click to sort.` }, column.label)));
  const more = element("button", { onclick: () => { shown = Infinity; fill(); } });
  const copyButton = element("button", {
    onclick: () => copy(csvText(copied, order), copyButton),
    title: "All rows and columns, exact numbers",
  }, "Copy as CSV");
  const search = element("input", { type: "search", placeholder: "Search rows", "aria-label": `Search in ${caption}`, oninput: fill });
  const found = element("span", { class: "soft found", "aria-live": "polite" });
  const isLong = rows.length > kMostUnfiltered;
  const chosen = isLong ? choices(columns, rows, textOf, fill) : [];
  const texts = new Map();  // row -> its words in lower case, made at the first search

  function isNumber(column) {
    return rows.some((row) => typeof row[column.name] === "number") && !/rank|communicator$|^id$/.test(column.name);
  }
  function textOf(column, row) {
    return column.text ? column.text(row) : cellText(row[column.name], column.name);
  }
  function wordsOf(row) {
    if (!texts.has(row)) texts.set(row, columns.map((column) => textOf(column, row)).join("\n").toLowerCase());
    return texts.get(row);
  }
  function isFound(row) {
    if (chosen.some(([column, select, names]) => select.value !== "" && textOf(column, row) !== names[Number(select.value) - 1])) return false;
    const wanted = search.value.trim().toLowerCase();
    return wanted === "" || (/^\d+$/.test(wanted) && row.rank !== undefined ? String(row.rank) === wanted : wordsOf(row).includes(wanted));
  }
  function cell(column, row) {
    const value = row[column.name];
    const text = textOf(column, row);
    const made = element("td", { class: isNumberOf.get(column) ? "number" : text.length > kShort ? "long" : "whole" },
      column.make ? column.make(row) : text.length > kLong && column.cut ? `${text.slice(0, kLong)}…` : text);
    if (value !== null && value !== undefined && String(value) !== made.textContent) made.title = `${column.name} ${value}`;
    if (column.share) {
      made.classList.add("share");
      made.style.setProperty("--of", String(Math.min(1, Math.max(0, column.share(row)))));
    }
    return made;
  }
  function line(row) {
    const made = element("tr", onPick ? { class: "pick", onclick: () => onPick(row) } : {}, ...columns.map((column) => cell(column, row)));
    const under = inner?.(row) ?? [];
    if (under.length === 0) return [made];
    let lines = [];
    const opener = element("button", { class: "opener", "aria-expanded": "false", title: "Show the single groups", onclick: () => {
      const isOpen = opener.getAttribute("aria-expanded") === "true";
      opener.setAttribute("aria-expanded", String(!isOpen));
      opener.textContent = isOpen ? "▸" : "▾";
      lines.forEach((one) => one.remove());
      lines = isOpen ? [] : under.map((one) => element("tr", { class: "inner" }, ...columns.map((column) => cell(column, one))));
      made.after(...lines);
    } }, "▸");
    made.firstChild.prepend(opener);
    return [made];
  }
  function fill() {
    const wanted = isLong ? order.filter(isFound) : order;
    body.replaceChildren(...wanted.slice(0, shown).flatMap(line));
    more.hidden = wanted.length <= shown;
    more.textContent = `Show all ${wanted.length.toLocaleString("en")} rows`;
    found.textContent = wanted.length === order.length ? "" : `${wanted.length.toLocaleString("en")} of ${plural(order.length, "row")}`;
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
  return element("div", { class: "table" },
    isLong ? element("div", { class: "bar filter" }, search, ...chosen.map(([, select]) => select), found) : undefined,
    element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
      element("table", { class: columns.length > kMostRoomy ? "wide" : "" }, element("caption", { class: "unseen", id: `table${++tables}` }, `${caption}: ${plural(rows.length, "row")}`),
        element("thead", {}, element("tr", {}, ...heads)), body)),
    element("div", { class: "bar" }, more, copied ? copyButton : undefined, note));
}

// A table of the data with some of its columns on show: [["rank", "Rank"], …]; `of` narrows the rows.
export function dataTable(data, name, columns, options = {}) {
  const source = data.tables[name];
  const rows = options.rows ?? records(source);
  return table({
    columns: columns.map(([column, label, more]) => ({ name: column, label, ...more })),
    rows, copied: source.columns, leftOut: source.left_out, file: `tables/${name}.csv`, caption: name.replaceAll("_", " "), ...options,
  });
}
