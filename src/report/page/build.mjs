// Bundles the page into one file, page_shell.html: script and style inside, allowed by their hashes and nothing else.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const [target] = process.argv.slice(2);
const licenses = `/*! Contains Apache ECharts (Apache License 2.0, https://echarts.apache.org), tslib (0BSD) and zrender:
${readFileSync("node_modules/zrender/LICENSE", "utf8")}*/`;
const shared = { bundle: true, minify: true, write: false, charset: "ascii", target: "es2022", legalComments: "none" };
const [script, style] = await Promise.all([
  build({ ...shared, entryPoints: ["main.js"], format: "iife", define: { "process.env.NODE_ENV": '"production"' } }),
  build({ ...shared, entryPoints: ["style.css"] }),
]).then((built) => built.map((one) => one.outputFiles[0].text.trim()));

const scriptText = `${licenses}\n${script.replaceAll("</script", "<\\/script")}`;
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const policy = `default-src 'none'; script-src ${hash(scriptText)}; style-src ${hash(style)}; base-uri 'none'; form-action 'none'`;
const page = readFileSync("page.html", "utf8")
  .replace("@POLICY@", () => policy).replace("@STYLE@", () => style).replace("@SCRIPT@", () => scriptText);
writeFileSync(target, page);
