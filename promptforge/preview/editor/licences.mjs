// Writes the licence of every package that the bundle is made of into static/vendor/LICENSES.txt.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";

const lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
const parts = ["codemirror.js is made of these packages, each under the MIT licence that follows its name.\n"];
for (const [place, entry] of Object.entries(lock.packages).sort()) {
  if (!place || entry.dev) continue;
  const file = readdirSync(place).find((name) => /^licen[cs]e/i.test(name));
  if (entry.license !== "MIT" || !file) throw new Error(`${place}: ${entry.license}, licence file: ${file}`);
  const name = place.replace(/^node_modules\//, "");
  parts.push(`${"-".repeat(78)}\n${name} ${entry.version}\n\n${readFileSync(`${place}/${file}`, "utf8").trim()}\n`);
}
writeFileSync("../static/vendor/LICENSES.txt", parts.join("\n"));
