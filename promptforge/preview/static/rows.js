// The items of one rendering as objects, and what is told of them later: an account belongs to its page and to no other.

import { label } from "./dom.js";
import { seenText } from "./marks.js";

const FIELDS = ["id", "kind", "name", "path", "start_line", "end_line", "score", "status", "form", "tokens", "reason", "rank", "section", "worth"];
const hues = new Map(); // kind → the number of its hue, the same for as long as the page is open

export function take(page) {
  page.rows = page.items.map((values, index) => {
    const row = Object.fromEntries(FIELDS.map((name, place) => [name, values[place]]));
    row.index = index;
    row.raw = label(row);
    row.label = seenText(row.raw);
    row.tint = hue(row.kind);
    row.here = null;
    return row;
  });
  page.shown.forEach((here, place) => {
    const row = page.rows[here.index];
    row.here = here;
    row.tint = `${hue(row.kind)}${place % 2 ? " odd" : ""}`;
  });
  // Filled in while the page stands: what items take whole, the budgets that bring them, remedies, the curve of worth.
  page.told = { full: new Map(), fits: new Map(), beyond: null, next: null, lines: {}, remedies: null, curve: null, failed: {}, begun: false };
  return page;
}

export function tell(page, account) {
  const { told } = page;
  account.rows.forEach((index, place) => told.full.set(index, account.full[place]));
  if (account.lines) return Object.assign(told, { lines: account.lines });
  account.rows.forEach((index, place) => told.fits.set(index, account.fits[place]));
  return Object.assign(told, { begun: true, beyond: account.beyond, next: account.next });
}

// The first items, by rank, that a larger budget may bring back, as far as nothing is told of them.
export function next(page, most = 16) {
  const lost = page.rows.filter((row) => row.status !== "included" && ["budget", "section_budget"].includes(row.reason));
  lost.sort((a, b) => (a.rank ?? Infinity) - (b.rank ?? Infinity));
  return lost.slice(0, most).map((row) => row.index).filter((index) => !page.told.full.has(index));
}

export function hue(kind) {
  if (!hues.has(kind)) hues.set(kind, hues.size % 8);
  return `t${hues.get(kind)}`;
}

// Kinds that the text shows, each with its items and tokens; the largest first.
export function kinds(page) {
  const found = new Map();
  for (const { index, tokens } of page.shown) {
    const { kind } = page.rows[index];
    const known = found.get(kind) ?? { kind, items: 0, tokens: 0 };
    found.set(kind, { kind, items: known.items + 1, tokens: known.tokens + tokens });
  }
  return [...found.values()].sort((a, b) => b.tokens - a.tokens);
}
