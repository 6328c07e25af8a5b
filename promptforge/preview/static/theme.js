// Light, dark, or as the system says; remembered where the browser remembers anything.

import { $ } from "./dom.js";

const THEMES = ["system", "light", "dark"];
const stored = () => {
  try {
    return localStorage.getItem("theme") ?? "system";
  } catch {
    return "system";
  }
};
function paint(name) {
  const theme = THEMES.includes(name) ? name : "system";
  document.documentElement.dataset.theme = theme;
  $("theme").textContent = { system: "◐", light: "○", dark: "●" }[theme];
  $("theme").setAttribute("aria-label", `Theme: ${theme}`);
  try {
    localStorage.setItem("theme", theme);
  } catch {
    // a browser that keeps nothing
  }
}
paint(stored());
$("theme").addEventListener("click", () => paint(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % 3]));
