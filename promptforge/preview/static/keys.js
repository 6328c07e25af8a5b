// Keys for what is done most, and a list of them behind `?`.

import { $, make } from "./dom.js";

const TOLD = [
  ["j k", "next, previous item"], ["[ ]", "previous, next item that is shortened or out"], ["/", "find items"], ["b", "the budget"], ["e", "edit the templates"],
  ["1 2 3", "context, messages, request"], ["n p", "next, previous word of the query"], ["t", "outline tokens"], ["c", "compare"], ["o", "all options"], ["y", "share as command, profile, Python or test"], ["Esc", "leave; in the editor, before Tab"], ["?", "these keys"],
];

export function setUp(actions) {
  $("keys-list").replaceChildren(...TOLD.flatMap(([key, what]) => [make("dt", {}, ...key.split(" ").flatMap((each, n) => (n ? [" ", make("kbd", {}, each)] : [make("kbd", {}, each)]))), make("dd", {}, what)]));
  $("keys-open").addEventListener("click", () => $("keys").showModal());
  $("keys-close").addEventListener("click", () => $("keys").close());
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input:not([type=range]), select, textarea, .editor");
    if (event.key === "Escape" && typing && event.target.closest("#filter")) return $("list").querySelector(".name[tabindex='0']")?.focus();
    if (typing || document.querySelector("dialog[open]") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "?") return $("keys").showModal();
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}
