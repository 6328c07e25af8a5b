// Why an item is in or out, in a sentence; and what brings it back, as something to press.

import { count, plural, shorten } from "./dom.js";

export const STATUS = { included: "in", trimmed: "cut", dropped: "out" };
let known = {}; // reason → its few words, and whether a larger budget brings an item back

export function setUp(reasons) {
  known = reasons;
}

export const short = (reason) => known[reason]?.short ?? reason;
export const lacksRoom = (reason) => known[reason]?.lacks_room ?? false;

// The item that took most of the room before this one had its turn.
function taker(row, page) {
  let best = null;
  for (const { index, tokens } of page.shown) {
    const other = page.rows[index];
    if (index === row.index || (row.rank !== null && other.rank !== null && other.rank > row.rank)) continue;
    if (best === null || tokens > best.here.tokens) best = other;
  }
  return best;
}

function because(other, row, page) {
  if (other.reason === "required") return "because it is required";
  if (page.options.query && other.status === "trimmed") return "because its passages answer the query";
  if (other.worth > row.worth) return `because it ranks higher (${score(other.worth)} against ${score(row.worth)})`;
  return other.rank !== null && row.rank !== null && other.rank < row.rank ? "because it came first" : "";
}

export function sentence(row, page) {
  const full = page.told.full.get(row.index);
  const needs = full === undefined ? "how much it needs is being worked out" : `needs ${count(full)}`;
  const left = page.max_tokens === null ? null : Math.max(0, page.max_tokens - page.tokens);
  if (row.status === "included") return row.reason === "required" ? "In, because it is required." : `In: it ${row.rank === null ? "fits" : `fits, as number ${count(row.rank)} in the order of packing`}.`;
  if (row.status === "trimmed") return full === undefined ? "Shortened: the whole did not fit." : `Shortened to ${count(row.tokens)}: the whole ${needs}${left === null ? "" : `, and ${count(left)} ${left === 1 ? "is" : "are"} left`}.`;
  if (row.reason === "budget") {
    const other = taker(row, page);
    const took = other ? `; ${shorten(other.label, 48)} took ${count(other.here.tokens)} ${because(other, row, page)}`.trimEnd() : "";
    return `Out: ${needs}${left === null ? "" : `, ${count(left)} ${left === 1 ? "was" : "were"} left`}${took}.`;
  }
  return `${row.reason === "merged" ? "Joined" : "Out"}: ${page.reasons[row.reason] ?? short(row.reason)}.`;
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

export const broughtBack = (remedy) => (remedy.back ? `brings ${plural(remedy.back, "item", "items")} back` : "takes the first reason away");

export function score(value) {
  return Math.abs(value) < 1000 ? value.toFixed(2) : value.toPrecision(3);
}
