// Two views by item: A, B, tokens and why, the largest change first; both texts beside each other, item by item or line by line.

import { $, count, label, make, redraw, signed } from "./dom.js";
import { seen } from "./marks.js";
import { short } from "./why.js";
import { difference, marked } from "./words.js";

const AROUND = 4; // equal lines that are kept around a change
const MOST = 4000; // rows that are drawn
const MOST_CHANGES = 300;
let byLine = false;
let open = new Set(); // ids of the changes that show both forms
let last = null;

export function setUp({ swap, pin }) {
  $("swap").addEventListener("click", swap);
  $("pin").addEventListener("click", pin);
  $("by-line").addEventListener("click", () => {
    byLine = !byLine;
    if (last) draw(last);
  });
}

export function wait() {
  $("both").classList.add("stale");
  $("verdict").textContent = last ? "Comparing…" : "Rendering and comparing both…";
}

export function draw(found) {
  last = found;
  $("both").classList.remove("stale");
  $("by-line").setAttribute("aria-pressed", String(byLine));
  $("verdict").textContent = found.a.text === found.b.text ? "the texts are the same" : found.moved ? "items stand in another order" : "";
  redraw($("deltas"), summary(found), changes(found));
  $("sides").replaceChildren(heads(found), ...(byLine ? lines(found) : items(found)));
}

const word = (value) => (value === null || value === undefined ? "none" : typeof value === "object" || value !== String(value).trim() || value === "" ? JSON.stringify(value) : value);

const arrow = (name, a, b) => make("span", {}, `${name} `, make("b", {}, a), " → ", make("b", {}, b));

// What differs as a whole: figures, then options.
function summary(found) {
  const figures = found.figures.filter((each) => each.a !== each.b).map((each) => arrow(each.name, count(each.a), count(each.b)));
  const settings = found.options.slice(0, 20).map((each) => arrow(each.name, word(each.a), word(each.b)));
  return make("p", { class: "summary" }, ...[...figures, ...settings].flatMap((each, n) => (n ? [" · ", each] : [each])));
}

// --- by item --------------------------------------------------------------------------------------------------------

const FORMS = { content: "whole", trimmed: "shortened" };
const named = (side) => FORMS[side.form] ?? side.form;
const form = (side) => (side === null ? "not given" : side.status === "dropped" ? "out" : named(side));
const shown = (side) => side !== null && side.status !== "dropped";

function why({ a, b, how }) {
  if (how === "only A") return b === null ? "B was not given it" : `out of B: ${short(b.reason)}`;
  if (how === "only B") return a === null ? "A was not given it" : `out of A: ${short(a.reason)}`;
  return a.form === b.form ? "format only" : `${named(a)} in A, ${named(b)} in B`;
}

function changes(found) {
  if (!found.changes.length) return make("p", { class: "quiet" }, "The same items in the same forms.");
  const sorted = [...found.changes].sort((x, y) => Math.abs(y.delta) - Math.abs(x.delta));
  const rows = sorted.slice(0, MOST_CHANGES).flatMap((change, place) => {
    const item = change.a ?? change.b;
    const key = `${item.id} ${place}`;
    const press = make("button", { type: "button", class: "name", "aria-expanded": String(open.has(key)), "data-key": key, onclick: () => {
      if (!open.delete(key)) open.add(key);
      draw(last);
    } }, make("bdi", {}, ...seen(label(item))));
    const row = make("tr", {}, make("th", { scope: "row" }, press), make("td", { class: "left" }, form(change.a)), make("td", { class: "left" }, form(change.b)), make("td", {}, signed(change.delta)), make("td", { class: "left" }, why(change)));
    if (!open.has(key)) return [row];
    const both = shown(change.a) && shown(change.b);
    const inside = both ? marked(difference(change.a.text, change.b.text)) : seen((shown(change.a) ? change.a : change.b).text);
    return [row, make("tr", { class: "forms" }, make("td", { colspan: 5 }, make("pre", {}, ...inside)))];
  });
  const heads = ["item", "A", "B", "tokens", "why"].map((head) => make("th", { scope: "col", class: head === "tokens" ? null : "left" }, head));
  const drawn = make("table", { class: "changes" }, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows));
  if (sorted.length > MOST_CHANGES) drawn.append(make("caption", {}, `${count(sorted.length - MOST_CHANGES)} smaller changes are not listed`));
  return drawn;
}

// The text of each item as A and B print it; items of B alone stand behind the item before them.
function items(found) {
  const parts = (page) => {
    const byId = new Map();
    for (const [from, to, item] of page.spans) {
      if (item !== null) byId.set(page.items[item][0], (byId.get(page.items[item][0]) ?? "") + page.text.slice(from, to));
    }
    return byId;
  };
  const [a, b] = [parts(found.a), parts(found.b)];
  const order = [...a.keys()];
  let before = -1;
  for (const id of b.keys()) {
    const at = order.indexOf(id);
    if (at >= 0) before = at;
    else order.splice(++before, 0, id);
  }
  const drawn = order.slice(0, MOST).map((id) => {
    const [x, y] = [a.get(id), b.get(id)];
    if (x === y) return make("div", { class: "pair same" }, cell(seen(x)), cell(seen(y)));
    const parted = x !== undefined && y !== undefined ? difference(x, y) : null;
    const side = (text, kind) => (text === undefined ? make("pre", { class: "nothing" }) : cell(parted ? marked(parted, kind) : seen(text), parted ? "" : kind));
    return make("div", { class: "pair" }, side(x, "minus"), side(y, "plus"));
  });
  return drawn.length ? drawn : [make("p", { class: "gap" }, "Neither text shows an item.")];
}

const cell = (nodes, kind = "") => make("pre", { class: kind }, ...nodes);

// --- by line --------------------------------------------------------------------------------------------------------

function lines(found) {
  if (found.rows === null) return [make("p", { class: "gap" }, "These texts are too long to be compared line by line.")];
  const a = found.a.text.split("\n");
  const b = found.b.text.split("\n");
  const rows = [];
  const push = (kind, i, j) => rows.push([kind, i, j]);
  for (const [how, a1, a2, b1, b2] of found.rows) {
    if (how === "equal") {
      const length = a2 - a1;
      const first = a1 === 0 ? 0 : AROUND;
      const end = a2 === a.length ? 0 : AROUND;
      for (let k = 0; k < length; k++) {
        if (length > first + end + 3 && k === first) {
          push("gap", length - first - end, null);
          k = length - end - 1;
          continue;
        }
        push("equal", a1 + k, b1 + k);
      }
    } else {
      for (let k = 0; k < Math.max(a2 - a1, b2 - b1); k++) push(how, a1 + k < a2 ? a1 + k : null, b1 + k < b2 ? b1 + k : null);
    }
  }
  const drawn = rows.slice(0, MOST).map(([kind, i, j]) => {
    if (kind === "gap") return make("p", { class: "gap" }, `${count(i)} equal lines`);
    const side = (texts, at, name) => make("pre", { class: at === null ? "nothing" : kind === "equal" ? "" : name }, ...(at === null ? [] : seen(texts[at] || " ")));
    return make("div", { class: "pair" }, side(a, i, "minus"), side(b, j, "plus"));
  });
  if (rows.length > MOST) drawn.push(make("p", { class: "gap" }, `${count(rows.length - MOST)} more rows`));
  return drawn;
}

const heads = (found) => make("div", { class: "pair heads" }, make("b", {}, side("A", found.a)), make("b", {}, side("B", found.b)));

function side(letter, page) {
  const most = page.max_tokens === null ? "no limit" : `of ${count(page.max_tokens)}`;
  return `${letter} · ${page.profile} · ${page.layout} ${page.format} · ${count(page.tokens)} ${most}`;
}
