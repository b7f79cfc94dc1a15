// Numbers as people read them: three significant digits and a unit, as the terminal summary writes them.

const kNone = "–";

export function significant(value) {
  const size = Math.abs(value);
  if (size === 0) return "0";
  return size >= 999.5 ? Math.round(value).toLocaleString("en") : value.toPrecision(3);
}

function scaled(value, units) {
  const size = Math.abs(value);
  const [factor, unit] = units.find(([from]) => size >= from * 0.9995) ?? units[units.length - 1];
  return `${factor === 1 ? Math.round(value) : significant(value / factor)} ${unit}`;
}

const kTimes = [[3.6e12, "h"], [6e10, "min"], [1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
const kBytes = [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]];

export const duration = (ns) => (ns === null || ns === undefined ? kNone : scaled(Number(ns), kTimes));
export const bytes = (count) => (count === null || count === undefined ? kNone : scaled(Number(count), kBytes));
export const gpuTime = (ns) => duration(ns).replace(" ", " GPU-");

export function percent(ratio) {
  if (ratio === null || ratio === undefined) return kNone;
  const value = ratio * 100;
  if (value > 0 && value < 1) return "<1 %";
  if (value > 99 && value < 100) return ">99 %";
  return `${Math.round(value)} %`;
}

export const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

// Along an axis, round numbers: "10 kB" rather than "10.0 kB".
export const axisText = (text) => (value) => text(value).replace(/(\.\d*?)0+ /, (_, digits) => `${digits === "." ? "" : digits} `);

// What the terminal summary writes in ASCII.
export const asWritten = (text) => text.replace(/(\d) us\b/g, "$1 µs").replaceAll("+-", "±");

// By what the column's name says: …_ns, bytes, …_share, …_gb_per_s.
export function cellText(value, column) {
  if (value === null || value === undefined) return kNone;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (column.endsWith("_ns")) return duration(value);
  if (column === "bytes" || column.endsWith("_bytes")) return Number(value) > 0 ? bytes(value) : kNone;
  if (column.endsWith("_share")) return percent(value);
  if (typeof value === "number" && !Number.isInteger(value)) return significant(value);
  if (typeof value === "number" && !/rank|step|device|session|^id$|communicator/.test(column)) {
    return value.toLocaleString("en");
  }
  return String(value);
}
