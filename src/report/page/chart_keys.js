// Charts by the keyboard: arrow keys move from value to value, and a live region says it. Left and right go along the
// axis; up and down go to the next row of a heat map, or to the next series of another chart. Enter does what a click does.
import { element } from "./dom.js";

const says = element("div", { class: "unseen", id: "chart-says", "aria-live": "polite" });
const how = element("p", { class: "unseen", id: "chart-keys" }, "Arrow keys move from value to value; Enter picks.");
export const keyHelp = [says, how];
export const say = (text) => { says.textContent = text; };

const valueOf = (item) => (item !== null && typeof item === "object" && !Array.isArray(item) ? item.value : item);

// What the cursor can stand on: [[series, its data], …].
const readable = (option) => option.series.map((series, at) => [at, series]).filter(([, series]) => !series.silent && (series.data ?? []).length > 0);

function words(host, option, series, at) {
  const hint = host.querySelector(".hint");
  if (hint !== null) return [...hint.children].map((line) => line.textContent).join("; ");
  const axis = [option.yAxis, option.xAxis].flat().find((one) => one?.type === "category");
  const item = series.data[at], text = item?.label?.formatter ?? series.label?.formatter;
  return `${axis?.data?.[at] ?? series.name ?? ""}: ${typeof text === "string" ? text : valueOf(item)}`;
}

function cellAt(series, x, y) {
  return series.data.findIndex((item) => {
    const [column, row] = valueOf(item);
    return column === x && row === y;
  });
}

function moved(list, cursor, [across, down]) {
  const [place, at] = cursor, series = list[place][1];
  if (series.type === "heatmap") {
    const [x, y] = valueOf(series.data[at]);
    const next = cellAt(series, x + across, y + down);
    return next < 0 ? cursor : [place, next];
  }
  const next = Math.min(list.length - 1, Math.max(0, place + down));
  return [next, Math.min(list[next][1].data.length - 1, Math.max(0, at + across))];
}

const kMoves = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };

// entryOf(): {chart, onclick}, chart once it is drawn.
export function followKeys(host, entryOf) {
  let cursor = null;
  host.addEventListener("keydown", (event) => {
    const { chart, onclick, option } = entryOf();
    if (!chart || (kMoves[event.key] === undefined && event.key !== "Enter")) return;
    const list = readable(option);
    if (list.length === 0) return;
    event.preventDefault();
    const stands = cursor !== null && cursor[0] < list.length && cursor[1] < list[cursor[0]][1].data.length;
    if (event.key === "Enter") {
      if (stands && onclick) onclick({ value: valueOf(list[cursor[0]][1].data[cursor[1]]), dataIndex: cursor[1] });
      return;
    }
    cursor = stands ? moved(list, cursor, kMoves[event.key]) : [0, 0];
    const [seriesIndex, series] = list[cursor[0]];
    chart.dispatchAction({ type: "showTip", seriesIndex, dataIndex: cursor[1] });
    says.textContent = words(host, option, series, cursor[1]);
  });
}
