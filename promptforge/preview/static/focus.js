// Focus never falls to the page: when what has it goes away, the nearest that is left takes it.

import { $ } from "./dom.js";

const STOPS = "button, input, select, textarea, summary, [tabindex]";
let last = null; // the element that had the focus, and its place in each box around it

const isThere = (element) => element.isConnected && !element.disabled && element.checkVisibility();
const stops = (box) => [...box.querySelectorAll(STOPS)].filter((each) => each.tabIndex >= 0 && isThere(each));

addEventListener("focusin", ({ target }) => {
  const places = [];
  for (let box = target.parentElement; box && box !== document.body; box = box.parentElement) if (box.id) places.push([box, stops(box).indexOf(target)]);
  last = { element: target, places };
});
// Who presses what takes no focus gives it up.
addEventListener("pointerdown", ({ target }) => {
  if (!target.closest?.(STOPS)) last = null;
}, true);

function keep() {
  if (!last || document.activeElement !== document.body || isThere(last.element)) return;
  for (const [box, place] of last.places) {
    const left = box.isConnected ? stops(box) : [];
    if (left.length) return left[Math.min(Math.max(place, 0), left.length - 1)].focus({ preventScroll: true });
  }
  (stops($("list"))[0] ?? $("text")).focus({ preventScroll: true });
}
new MutationObserver(keep).observe(document.body, { subtree: true, childList: true, attributeFilter: ["hidden", "disabled", "data-pane", "data-mode"] });

// --- one tab stop for a group of buttons ----------------------------------------------------------------------------

const STEPS = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, Home: -1e9, End: 1e9 };
for (const box of document.querySelectorAll("[data-rove]")) {
  box.addEventListener("keydown", (event) => {
    const all = [...box.querySelectorAll("button")];
    const step = STEPS[event.key];
    if (!step) return;
    event.preventDefault();
    box.dataset.rove = Math.min(all.length - 1, Math.max(0, all.indexOf(event.target) + step));
    all.forEach((each, place) => (each.tabIndex = place === Number(box.dataset.rove) ? 0 : -1));
    all[Number(box.dataset.rove)].focus();
  });
  box.addEventListener("focusin", ({ target }) => (box.dataset.rove = Math.max(0, [...box.querySelectorAll("button")].indexOf(target))));
}
