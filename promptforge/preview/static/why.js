// Why an item is in or out, in a sentence; and what brings it back, as something to press.

import { count, plural, shorten } from "./dom.js";

export const STATUS = { included: "in", trimmed: "cut", dropped: "out" };
let known = {}; // reason → its few words, and whether a larger budget brings an item back

export function setUp(reasons) {
  known = reasons;
}

export const short = (reason) => known[reason]?.short ?? reason;
export const lacksRoom = (reason) => known[reason]?.lacks_room ?? false;

// The record of packing: what the limit left at the item's turn, and what stood before it.
function turn({ limit, unit, needs, room, ahead, refused, beside }) {
  const before = Object.entries(ahead).map(([group, number]) => `${group} ${count(number)}`).join(", ");
  const also = Object.entries(beside).map(([name, missing]) => `; ${name} lacks ${count(missing)}`).join("");
  const [own = needs] = Object.values(refused); // the longest variant; what items before it take first is no part of it
  const its = own === needs ? "" : ` (${count(own)} its own)`;
  return `${limit} left ${count(room)} of ${count(needs)} ${unit} needed${its}${before ? `, after ${before}` : ""}${also}`;
}

export function sentence(row, page) {
  const decision = page.told.decisions.get(row.index);
  if (row.status === "included") return row.reason === "fits" ? `Included whole${row.rank === null ? "" : ` (ranked ${count(row.rank)} of ${count(page.rows.length)})`}.` : `In: ${page.reasons[row.reason]}.`;
  const verb = row.status === "trimmed" ? `Shortened to ${count(row.tokens)}` : row.reason === "merged" ? "Joined" : "Out";
  if (decision) return `${verb}: ${turn(decision)}.`;
  return `${verb}: ${page.reasons[row.reason] ?? short(row.reason)}.`;
}

// Reasons of what is not whole in the text, the most frequent first.
export function reasons(page) {
  const found = new Map();
  for (const row of page.rows) {
    if (row.status !== "included") found.set(row.reason, (found.get(row.reason) ?? 0) + 1);
  }
  return [...found].map(([reason, items]) => ({ reason, items })).sort((a, b) => b.items - a.items);
}

// Options as words on a button: `min_score 0.2`.
export function optionWords(options) {
  return Object.entries(options).map(([name, value]) => `${name} ${value === null ? "none" : typeof value === "object" ? shorten(JSON.stringify(value), 40) : value}`).join(", ");
}

export const broughtBack = (remedy) => (remedy.back ? `brings ${plural(remedy.back, "item", "items")} back` : "removes this reason (still out)");

export function score(value) {
  return Math.abs(value) < 1000 ? value.toFixed(2) : value.toPrecision(3);
}
