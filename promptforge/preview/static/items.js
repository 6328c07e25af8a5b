// The items: a filter, chips, an order, what was dropped by reason on top, and rows that are made only where the reader looks.

import { $, count, make, redraw, whenLetGo } from "./dom.js";
import { seen } from "./marks.js";
import { hue, unknown } from "./rows.js";
import { broughtBack, optionWords, reasons, score, sentence, short, STATUS } from "./why.js";

const HIGH = 30; // pixels of a row
const SPARE = 8; // rows that are made beyond both edges
const HEADS = { included: "In the text", trimmed: "Shortened", dropped: "Left out" };
const ORDERS = {
  status: null,
  rank: (a, b) => (a.rank ?? Infinity) - (b.rank ?? Infinity),
  tokens: (a, b) => b.tokens - a.tokens || (a.rank ?? Infinity) - (b.rank ?? Infinity),
  worth: (a, b) => b.worth - a.worth,
  text: (a, b) => (a.place ?? Infinity) - (b.place ?? Infinity) || ORDERS.rank(a, b),
  name: (a, b) => a.label.localeCompare(b.label),
  given: (a, b) => a.index - b.index,
};
let act = { pick() {}, budget() {}, line() {}, options() {}, override() {}, retry() {}, asked() {}, values() {}, lines: () => [] };
let page = null;
let entries = []; // rows and headings, in the order of the list
let picked = null; // the number of an item
let left = null; // the one that was picked before: it stays the tab stop of the list
const off = { kinds: new Set(), statuses: new Set(), reason: null };
let sees = false; // the fields of the chosen item are open
let told = null; // those fields, and the item and the rendering that they are of
let asking = false; // a second question would overtake the first, which would ask again
let timer = 0;

export function whenPicked(given) {
  act = given;
  $("filter").addEventListener("input", () => sort());
  $("order").addEventListener("change", () => sort());
  $("list").addEventListener("scroll", () => look());
  new ResizeObserver(() => look()).observe($("list"));
  $("list").addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8, Home: -1e9, End: 1e9 }[event.key];
    if (!step || !event.target.classList.contains("name")) return;
    event.preventDefault();
    move(step);
  });
}

export const pickedIndex = () => picked;

// Goes some rows on from the one that is picked, past headings, and picks that.
export function move(step) {
  const rows = entries.filter((entry) => entry.row);
  if (!rows.length) return;
  const now = rows.findIndex((entry) => entry.row.index === picked);
  const next = Math.min(rows.length - 1, Math.max(0, now < 0 ? (step > 0 ? 0 : rows.length - 1) : now + step));
  act.pick(rows[next].row.index);
  $("list").querySelector(`.name[data-index="${rows[next].row.index}"]`)?.focus({ preventScroll: true });
}

// Goes to the next item that is not whole in the text; from none to the first, or backwards to the last.
export function moveDropped(step) {
  const now = entries.findIndex((entry) => entry.row?.index === picked);
  const wanted = ({ row }, at) => row && row.status !== "included" && (now < 0 || (step > 0 ? at > now : at < now));
  const next = step > 0 ? entries.find(wanted) : entries.findLast(wanted);
  if (next) act.pick(next.row.index);
}

// The place of the chosen row, and the pixels of the list that the account of it does not cover, as it does on a phone.
function chosenRow() {
  const at = picked === null ? -1 : entries.findIndex((entry) => entry.row?.index === picked);
  const list = $("list");
  const free = $("detail").getBoundingClientRect().top - list.getBoundingClientRect().top;
  return { at, list, high: Math.min(list.clientHeight, Math.max(0, free)) };
}

function hides() {
  if (picked === null) return false; // nothing is measured, which would lay out the page
  const { at, list, high } = chosenRow();
  return at >= 0 && (at * HIGH < list.scrollTop || (at + 1) * HIGH > list.scrollTop + high);
}

function reveal() {
  if (chosenRow().high < 2 * HIGH) $("list").scrollIntoView({ block: "start" });
  const { at, list, high } = chosenRow();
  list.scrollTop = Math.max(0, at * HIGH - high / 3);
}

export function pick(index, { scroll = true } = {}) {
  picked = index;
  detail(); // first, as it takes room from the list
  if (scroll && hides()) reveal();
  look();
}

// A new rendering: statuses and reasons are there at once, budgets follow.
export function show(given) {
  page = given;
  if (picked !== null && picked >= page.rows.length) picked = null;
  $("counts").textContent = page.rows.length ? Object.entries(tally()).map(([status, number]) => `${count(number)} ${STATUS[status]}`).join(" · ") : "";
  $("tools").hidden = page.rows.length === 0;
  chips();
  sort();
  refresh();
}

// More is told of the same rendering.
export function refresh() {
  if (!page) return;
  $("list").classList.toggle("pending", !page.told.begun && !page.told.failed.account);
  summary();
  look();
  const shown = !hides();
  detail();
  if (shown && hides()) reveal(); // it has grown over the row
}

export function wait(message) {
  page = null;
  entries = [];
  redraw($("dropped"));
  $("detail").hidden = true;
  $("list").replaceChildren(make("p", { class: "wait" }, message));
}

// --- chips, filter, order -------------------------------------------------------------------------------------------

function tally() {
  const found = { included: 0, trimmed: 0, dropped: 0 };
  for (const row of page.rows) found[row.status]++;
  return found;
}

function chips() {
  const kinds = new Map();
  for (const row of page.rows) kinds.set(row.kind, (kinds.get(row.kind) ?? 0) + 1);
  const chip = (set, value, name, number, tint) => make("button", {
    type: "button", class: "chip", "aria-pressed": String(!set.has(value)),
    onclick: () => {
      if (set.has(value)) set.delete(value);
      else set.add(value);
      chips();
      sort();
    },
  }, tint ? make("i", { class: tint }) : null, `${name} `, make("span", {}, count(number)));
  const statuses = Object.entries(tally()).filter(([, number]) => number).map(([status, number]) => chip(off.statuses, status, STATUS[status], number));
  const ofKinds = [...kinds].sort((a, b) => b[1] - a[1]).slice(0, 12).map(([kind, number]) => chip(off.kinds, kind, kind, number, hue(kind)));
  redraw($("chips"), ...(statuses.length > 1 ? statuses : []), ...(ofKinds.length > 1 ? ofKinds : []));
}

function matches(row, words) {
  if (off.kinds.has(row.kind) || off.statuses.has(row.status) || (off.reason && row.reason !== off.reason)) return false;
  const text = `${row.label} ${row.kind} ${row.reason} ${row.name ?? ""}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

function sort() {
  if (!page) return;
  const words = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = page.rows.filter((row) => matches(row, words));
  const order = ORDERS[$("order").value];
  entries = [];
  if (order) entries = rows.sort(order).map((row) => ({ row }));
  else {
    for (const status of Object.keys(HEADS)) {
      const group = rows.filter((row) => row.status === status).sort(ORDERS.rank);
      if (group.length) entries.push({ head: HEADS[status], number: group.length }, ...group.map((row) => ({ row })));
    }
  }
  look();
}

// --- rows -----------------------------------------------------------------------------------------------------------

export function inSight(most = 60) {
  const list = $("list");
  if (!page) return Array.from({ length: most }, (_, index) => index); // nothing is known yet: the first will do
  const first = Math.max(0, Math.floor(list.scrollTop / HIGH) - 2);
  return entries.slice(first, first + most).filter((entry) => entry.row).map((entry) => entry.row.index);
}

function look() {
  if (!page) return;
  const list = $("list");
  if (!entries.length) {
    const message = page.rows.length ? "No item matches." : "There are no items.";
    return list.replaceChildren(make("p", { class: "wait" }, message));
  }
  const high = list.clientHeight || 600;
  const first = Math.max(0, Math.floor(list.scrollTop / HIGH) - SPARE);
  const last = Math.min(entries.length, Math.ceil((list.scrollTop + high) / HIGH) + SPARE);
  const focus = list.contains(document.activeElement) ? Number(document.activeElement.dataset.index) : null;
  const place = (index) => entries.findIndex((entry) => entry.row?.index === index);
  const seenNow = new Set(Array.from({ length: Math.max(0, last - first) }, (_, n) => first + n));
  // The row with the focus stays, wherever the list is scrolled to; and one row of the list is its tab stop.
  let stop = focus === null ? -1 : place(focus);
  if (stop < 0) stop = place(picked ?? left);
  if (stop < 0) stop = entries.findIndex((entry, at) => entry.row && at >= list.scrollTop / HIGH);
  if (stop >= 0) seenNow.add(stop);
  const drawn = [...seenNow].sort((a, b) => a - b).map((at) => {
    const { row, head, number } = entries[at];
    const element = row ? line(row, at, at === stop) : make("li", { class: "head-row" }, make("h3", {}, head, make("span", { class: "quiet" }, ` ${count(number)}`)));
    element.style.top = `${at * HIGH}px`;
    return element;
  });
  if (!list.firstChild?.matches?.(".rows")) list.replaceChildren(make("ul", { class: "rows" }));
  const box = list.firstChild;
  box.style.height = `${entries.length * HIGH}px`;
  whenLetGo(box, () => {
    renew(box, drawn);
    if (focus !== null && !box.contains(document.activeElement)) box.querySelector(`.name[data-index="${focus}"]`)?.focus({ preventScroll: true });
  });
  clearTimeout(timer);
  timer = setTimeout(() => page && unknown(page, inSight(), picked).length && act.asked(), 60);
}

// Rows that are as they were stay where they are: moved, one would lose the focus.
function renew(box, drawn) {
  const old = new Map([...box.children].map((each) => [each.style.top, each]));
  const wanted = drawn.map((each) => (old.get(each.style.top)?.isEqualNode(each) ? old.get(each.style.top) : each));
  const kept = new Set(wanted);
  for (const each of old.values()) if (!kept.has(each)) each.remove();
  wanted.forEach((each, at) => box.children[at] === each || box.insertBefore(each, box.children[at] ?? null));
}

function line(row, at, isStop) {
  const chosen = row.index === picked;
  const tokens = row.here ? row.here.tokens : page.told.full.get(row.index);
  const full = row.status === "trimmed" ? page.told.full.get(row.index) : undefined;
  const cost = `${tokens === undefined ? "…" : count(tokens)}${full === undefined ? "" : ` of ${count(full)}`}`;
  const why = row.reason === "fits" ? STATUS[row.status] : short(row.reason);
  const name = make("button", { type: "button", class: "name", "data-index": row.index, tabindex: isStop ? "0" : "-1", "aria-pressed": String(chosen), onclick: () => act.pick(chosen ? null : now(row)) },
    make("i", { class: row.here ? row.tint : "none" }), named(row), make("span", { class: "facts" }, [row.kind, why, back(row)].filter(Boolean).join(" · ")), make("span", { class: "cost" }, cost));
  const place = { "aria-setsize": entries.length, "aria-posinset": at + 1 };
  return make("li", { class: `entry ${row.status}${chosen ? " picked" : ""}`, ...place }, name);
}

// The number of an item now: a row that was pressed while other items came is still the row of its name.
function now({ index, raw }) {
  if (page?.rows[index]?.raw === raw) return index;
  return page?.rows.find((row) => row.raw === raw)?.index ?? null;
}

function back(row) {
  if (row.status === "included" || !page.told.fits.has(row.index)) return null;
  const at = page.told.fits.get(row.index);
  if (at !== null) return `${row.status === "trimmed" ? "whole" : "fits"} at ${count(at)}`;
  const small = page.told.small.get(row.index) ?? null;
  return small === null ? null : `needs ≥ ${count(small + 1)}`;
}

// A path is shortened in its folder, before its name is; any other name at its end.
function named(row) {
  const cut = row.path ? row.raw.lastIndexOf("/") + 1 : 0;
  const folder = cut ? make("bdi", { class: "folder" }, ...seen(row.raw.slice(0, cut))) : null;
  return make("span", { class: "label", title: row.label }, folder, make("bdi", {}, ...seen(row.raw.slice(cut))));
}

// --- dropped by reason, with what brings it back --------------------------------------------------------------------

function summary() {
  const found = reasons(page);
  const { remedies, failed } = page.told;
  const rows = found.map(({ reason, items }) => {
    const only = make("button", { type: "button", class: "reason", "aria-pressed": String(off.reason === reason), title: "Show only these", onclick: () => {
      off.reason = off.reason === reason ? null : reason;
      summary();
      sort();
    } }, make("b", {}, count(items)), ` ${short(reason)}`);
    const remedy = remedies?.find((each) => each.reason === reason && Object.keys(each.options).length);
    const press = remedy && make("button", { type: "button", class: "remedy", "data-options": JSON.stringify(remedy.options), title: broughtBack(remedy), onclick: () => act.options(remedy.options) }, `${optionWords(remedy.options)}: ${broughtBack(remedy)}`);
    return make("li", {}, only, press);
  });
  if (off.reason && !found.some(({ reason }) => reason === off.reason)) {
    off.reason = null;
    sort();
  }
  const asked = failed.needs ?? failed.account ?? failed.remedies;
  if (asked) rows.push(make("li", { class: "bad" }, `${failed.needs ? "What items need" : "What brings items back"} is not known: ${asked.message} `, make("button", { type: "button", onclick: () => act.retry() }, "Retry")));
  else if (found.length && remedies === null) {
    const what = page.told.next !== undefined ? "options that bring items back" : page.told.full.size ? "the budgets that bring items back" : "what items need";
    rows.push(make("li", { class: "quiet waits" }, `Working out ${what}…`));
  }
  redraw($("dropped"), ...rows);
  $("dropped").hidden = rows.length === 0;
}

// --- one item -------------------------------------------------------------------------------------------------------

function detail() {
  const row = picked === null ? null : page?.rows[picked];
  $("detail").hidden = !row;
  if (!row) return;
  const at = page.told.fits.get(row.index);
  const remedy = page.told.remedies?.find((each) => each.reason === row.reason && Object.keys(each.options).length);
  const presses = [];
  if (typeof at === "number") presses.push(make("button", { type: "button", onclick: () => act.budget(at) }, `Set the budget to ${count(at)}`));
  if (remedy && row.status !== "included") presses.push(make("button", { type: "button", "data-options": JSON.stringify(remedy.options), onclick: () => act.options(remedy.options) }, `${optionWords(remedy.options)}: ${broughtBack(remedy)}`));
  for (const [word, name] of [["pin", "Pin"], ["never", "Never"]]) {
    const is = page.overrides[row.index] === word;
    presses.push(make("button", { type: "button", "aria-pressed": String(is), title: is ? "Take it back" : word === "pin" ? "Give it its place before all others" : "Leave it out", onclick: () => act.override(row, is ? null : word) }, name));
  }
  const facts = [
    row.kind, `score ${score(row.score)}`, row.rank === null ? null : `rank ${count(row.rank)} of ${count(page.rows.length)}`, row.place === null ? null : `number ${count(row.place)} in the text`, row.rank === null ? null : `ranking score ${score(row.worth)}`,
    row.form ? `form ${row.form}` : null, row.section ? `section ${row.section}` : null, `id ${row.id}`,
  ].filter(Boolean).join(" · ");
  const lines = act.lines(row.index).slice(0, 8).map(([template, number]) => make("button", { type: "button", class: "line", onclick: () => act.line(template, number) }, `${template}:${number}`));
  redraw($("detail"), ...[
    make("div", { class: "detail-head" }, make("h3", {}, make("bdi", {}, ...seen(row.raw))), make("button", { type: "button", class: "close", "aria-label": "Close", onclick: () => close() }, "×")),
    make("p", { class: "why" }, sentence(row, page)), make("p", { class: "facts" }, facts),
    presses.length ? make("p", { class: "presses" }, ...presses) : null,
    lines.length ? make("p", { class: "facts" }, "printed by ", ...lines.flatMap((each, n) => (n ? [" ", each] : [each]))) : null,
    row.rank === null ? null : fields(),
  ].filter(Boolean));
}

function close() {
  const index = (left = picked);
  act.pick(null);
  $("list").querySelector(`.name[data-index="${index}"]`)?.focus({ preventScroll: true });
}

// What a template sees of the item, by the names to be typed.
function fields() {
  const toggled = () => {
    if (box.isConnected) sees = box.open;
    fill();
  };
  const box = make("details", { class: "fields", open: sees, ontoggle: toggled }, make("summary", {}, "Template variables"), make("dl", {}));
  return box;
}

// Fills the fields that are shown: while they were asked for, others may have come into their place.
async function fill() {
  const box = $("detail").querySelector(".fields");
  if (!box?.open || box.lastChild.childElementCount) return;
  if (told?.page !== page || told.picked !== picked) {
    if (asking) return;
    const of = { page, picked };
    asking = true;
    const found = await act.values();
    asking = false;
    if (found?.error && of.page === page && of.picked === picked) return;
    if (found && !found.error) told = { ...of, rows: Object.entries(found.values).filter(([name]) => name.startsWith("item.")) };
    return void setTimeout(fill, found ? 0 : 100); // a question of the editor has overtaken this one
  }
  box.lastChild.replaceChildren(...told.rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, ...seen(value))]));
}
