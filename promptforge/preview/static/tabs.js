// The tabs over the prompt: chosen by click, by the arrow keys, Home and End; the panel that belongs to one is shown.

import { $ } from "./dom.js";

const NAMES = ["text", "messages", "request"];

export function whenChosen(handler) {
  NAMES.forEach((name, place) => {
    $(`show-${name}`).addEventListener("click", () => handler(name));
    $(`show-${name}`).addEventListener("keydown", (event) => {
      const last = NAMES.length - 1;
      const to = { ArrowRight: place === last ? 0 : place + 1, ArrowLeft: place === 0 ? last : place - 1, Home: 0, End: last }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      handler(NAMES[to]);
      $(`show-${NAMES[to]}`).focus();
    });
  });
}

// Shows a panel and returns its name: the first where there is no such one.
export function choose(wanted) {
  const chosen = NAMES.includes(wanted) ? wanted : NAMES[0];
  for (const name of NAMES) {
    $(`show-${name}`).setAttribute("aria-selected", String(name === chosen));
    $(`show-${name}`).tabIndex = name === chosen ? 0 : -1;
    $(name).hidden = name !== chosen;
  }
  return chosen;
}
