// Light, dark, or as the system says; remembered where the browser remembers anything.

import { $ } from "./dom.js";

const THEMES = ["system", "light", "dark"];
const MARKS = { system: "◐", light: "○", dark: "●" };
const system = matchMedia("(prefers-color-scheme: dark)");
let chosen = "system";
try {
  chosen = localStorage.getItem("theme") ?? chosen;
} catch {
  // a browser that keeps nothing
}
if (!THEMES.includes(chosen)) chosen = "system";

function paint() {
  const dark = chosen === "system" ? system.matches : chosen === "dark";
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  $("theme").textContent = MARKS[chosen];
  $("theme").setAttribute("aria-label", `Theme: ${chosen}`);
}
paint();
system.addEventListener("change", paint);
$("theme").addEventListener("click", () => {
  chosen = THEMES[(THEMES.indexOf(chosen) + 1) % THEMES.length];
  try {
    localStorage.setItem("theme", chosen);
  } catch {
    // a browser that keeps nothing
  }
  paint();
});
