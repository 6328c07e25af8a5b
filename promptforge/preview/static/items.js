// The list of what is in, shortened and out.

import { $, count, label, make } from "./dom.js";

const STEP = 200; // rows that are drawn at a time
const GROUPS = [
  ["included", "In the text"],
  ["trimmed", "Shortened"],
  ["dropped", "Left out"],
];
const WHY = {
  fits: "fits", required: "required", budget: "too little room", section_budget: "its section is full",
  max_items: "past max_items", min_score: "below min_score", kinds: "not one of the kinds",
  paths: "no path matches", languages: "not one of the languages", duplicate: "held by another item",
  merged: "joined with its neighbour", combine: "named items come first",
};
let picked = null;
let open = { included: STEP, trimmed: STEP, dropped: STEP };
let handlers = { pick() {}, budget() {}, line() {}, lines: () => [] };
let last = null;

export function whenPicked(given) {
  handlers = given;
}

export function pick(id, { scroll = true } = {}) {
  picked = id;
  if (last) draw(...last);
  if (scroll) $("list").querySelector(".picked")?.scrollIntoView({ block: "nearest" });
}

// `pending` is true while only the text is known and reasons are still being worked out.
export function draw(account, page, tints, pending) {
  last = [account, page, tints, pending];
  const list = $("list");
  list.classList.toggle("pending", pending);
  if (!account) return list.replaceChildren(make("p", { class: "wait" }, "Working out what each item costs…"));
  const here = new Map(page?.shown.map((item) => [item.id, item]) ?? []);
  const status = (item) => (!pending ? item.status : !here.has(item.id) ? "dropped" : here.get(item.id).whole ? "included" : "trimmed");
  const focus = list.contains(document.activeElement) ? document.activeElement.dataset.id : undefined;
  const groups = GROUPS.map(([name, title]) => {
    const all = account.items.filter((item) => status(item) === name);
    all.sort((a, b) => (a.rank ?? Infinity) - (b.rank ?? Infinity));
    return { name, title, all };
  });
  $("counts").textContent = groups.map(({ name, all }) => `${count(all.length)} ${{ included: "in", trimmed: "cut", dropped: "out" }[name]}`).join(" · ");
  list.replaceChildren(...groups.filter(({ all }) => all.length).map((group) => section(group, here, tints, pending)));
  if (!account.items.length) list.replaceChildren(make("p", { class: "wait" }, "There are no items."));
  if (focus !== undefined) list.querySelector(`button[data-id="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
}

function section({ name, title, all }, here, tints, pending) {
  const rows = all.slice(0, open[name]).map((item) => row(item, name, here.get(item.id), tints, pending));
  const left = all.length - rows.length;
  const more = left > 0
    ? make("button", { type: "button", class: "more", onclick: () => { open[name] += 5 * STEP; draw(...last); } }, `${count(left)} more`)
    : null;
  return make("section", { class: `group ${name}` }, make("h3", {}, title, make("span", { class: "quiet" }, ` ${count(all.length)}`)), make("ul", {}, ...rows), more);
}

function row(item, status, here, tints, pending) {
  const chosen = item.id === picked;
  const tokens = here ? count(here.tokens) : count(item.tokens_full);
  const full = here && !here.whole ? ` of ${count(item.tokens_full)}` : "";
  const name = make("button", { type: "button", class: "name", "data-id": item.id, "aria-expanded": String(chosen), onclick: () => handlers.pick(chosen ? null : item.id) },
    make("i", { class: here ? tints.get(item.id) : "none" }), named(item), make("span", { class: "cost" }, `${tokens}${full}`));
  const why = status === "included" && item.reason !== "required" ? [] : [WHY[item.reason] ?? item.reason];
  const facts = [item.kind, `score ${score(item.score)}`, ...(pending ? [] : why)].join(" · ");
  const back = !pending && item.fits_at !== null
    ? make("button", { type: "button", class: "back", title: "Set the budget to this", onclick: () => handlers.budget(item.fits_at) }, `${status === "trimmed" ? "whole" : "back"} at ${count(item.fits_at)}`)
    : null;
  return make("li", { class: chosen ? "picked" : null }, name, make("p", { class: "facts" }, facts, back ? make("span", {}, " · ", back) : null), chosen ? detail(item) : null);
}

// A path is shortened in its folder, before its name is; any other name at its end.
function named(item) {
  const full = label(item);
  const cut = item.path ? full.lastIndexOf("/") + 1 : 0;
  const folder = cut ? make("bdi", { class: "folder" }, full.slice(0, cut)) : null;
  return make("span", { class: "label", title: full }, folder, make("bdi", {}, full.slice(cut)));
}

function detail(item) {
  const lines = handlers.lines(item.id);
  const buttons = lines.slice(0, 12).map(([template, line]) =>
    make("button", { type: "button", class: "line", onclick: () => handlers.line(template, line) }, `${template}:${line}`));
  const facts = [item.form ? `form: ${item.form}` : null, item.section ? `section: ${item.section}` : null, `id: ${item.id}`].filter(Boolean).join(" · ");
  return make("div", { class: "detail" }, make("p", { class: "facts" }, facts), ...(buttons.length ? [make("p", { class: "facts" }, "printed by")] : []), ...buttons);
}

function score(value) {
  return Math.abs(value) < 1000 ? value.toFixed(2) : value.toPrecision(3);
}
