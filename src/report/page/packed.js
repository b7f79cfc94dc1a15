// Whole numbers as short text, as src/report/page_data/packed_numbers.h writes them, and the tables made of them.

const kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const kPlace = new Map([...kLetters].map((letter, at) => [letter.charCodeAt(0), at]));
const kNone = ".".charCodeAt(0), kAgain = "*".charCodeAt(0);
const kMostExact = 2 ** 45;  // up to here a factor and what is added to it stay exact

// [number]; null: none. What JavaScript would round is a string of its digits.
export function unpack(text) {
  const out = [];
  let value = 0, factor = 1, isCount = false;
  for (let at = 0; at < text.length; ++at) {
    const letter = text.charCodeAt(at);
    if (letter === kNone) { out.push(null); continue; }
    if (letter === kAgain) { isCount = true; continue; }
    const bits = kPlace.get(letter);
    if (factor > kMostExact && typeof value === "number") [value, factor] = [BigInt(value), BigInt(factor)];
    value += typeof value === "bigint" ? BigInt(bits & 31) * factor : (bits & 31) * factor;
    if (bits & 32) { factor *= typeof factor === "bigint" ? 32n : 32; continue; }
    const number = typeof value === "bigint" ? signed(value) : value % 2 === 1 ? -(value + 1) / 2 : value / 2;
    if (!isCount) out.push(number);
    else for (let last = out[out.length - 1], left = number; left > 0; --left) out.push(last);
    [value, factor, isCount] = [0, 1, false];
  }
  return out;
}

function signed(value) {
  const exact = value % 2n === 1n ? -(value + 1n) / 2n : value / 2n;
  const number = Number(exact);
  return Number.isSafeInteger(number) ? number : String(exact);
}

// Packed numbers, so many to a row.
export function rowsOf(text, width) {
  const numbers = unpack(text);
  return Array.from({ length: numbers.length / width }, (_, row) => numbers.slice(row * width, (row + 1) * width));
}

// A column: packed whole numbers, values as they are, or numbers of distinct values.
function columnOf(column) {
  if (typeof column === "string") return unpack(column);
  return Array.isArray(column) ? column : unpack(column.at).map((at) => (at === null ? null : column.of[at]));
}

// Gives each table its rows.
export function unpackTables(tables) {
  for (const table of Object.values(tables)) {
    const columns = table.values.map(columnOf);
    table.rows = Array.from({ length: table.count }, (_, row) => columns.map((column) => column[row]));
    delete table.values;
  }
}
