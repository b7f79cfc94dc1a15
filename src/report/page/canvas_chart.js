// A chart that paints its own canvas, as sharp as the screen: drawn when it comes into view, again when its size, the colours
// or the medium change.
import { element } from "./dom.js";

const painted = new Set();  // repaint functions of those that were in view

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { for (const repaint of painted) repaint(); });
for (const event of ["beforeprint", "afterprint"]) addEventListener(event, () => { for (const repaint of painted) repaint(); });

// paint(context, width, height). {host, canvas, repaint}; repaint() paints with the next frame.
export function canvasChart(name, height, paint) {
  const canvas = element("canvas");
  const host = element("div", { class: "chart canvas", role: "application", "aria-roledescription": "chart", "aria-label": name, tabindex: "0",
    "data-state": "waiting" }, canvas);
  let isAsked = false;
  function now() {
    isAsked = false;
    const width = host.clientWidth, tall = height();
    if (width === 0) return;
    const ratio = devicePixelRatio || 1;
    host.style.height = `${tall}px`;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(tall * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${tall}px`;
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    paint(context, width, tall);
    host.dataset.state = "drawn";
  }
  const repaint = () => {
    if (isAsked || host.dataset.state === "waiting") return;
    isAsked = true;
    requestAnimationFrame(now);
  };
  new IntersectionObserver((seen, observer) => {
    if (!seen.some((one) => one.isIntersecting) || host.clientWidth === 0) return;
    observer.disconnect();
    now();
    new ResizeObserver(repaint).observe(host);
  }, { rootMargin: "300px" }).observe(host);
  painted.add(() => { if (host.clientWidth > 0) now(); });
  host.style.height = `${height()}px`;
  return { host, canvas, repaint };
}
