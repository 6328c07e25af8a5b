// The items of one rendering as objects, and what is told of them later: an account belongs to its page and to no other.

import { label } from "./dom.js";
import { seenText } from "./marks.js";
import { lacksRoom } from "./why.js";

const FIELDS = ["id", "kind", "name", "path", "start_line", "end_line", "score", "status", "form", "tokens", "reason", "rank", "section", "worth", "place"];
const HUES = 16;
// Kind → the number of its hue, the same for all sets of items: these have their own, any other has one by its letters.
const hues = new Map(["code", "document", "error", "man_page", "mitre_attack", "section", "message", "function"].map((kind, number) => [kind, number]));

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
  page.ghosts = page.ghosts.map(([index, before]) => ({ row: page.rows[index], before }));
  // Filled in while the page stands: what items take whole, the budgets that bring them and remedies.
  page.told = { full: new Map(), fits: new Map(), small: new Map(), decisions: new Map(), known: new Set(), searched: new Set(), next: undefined, lines: {}, remedies: null, failed: {}, begun: false };
  return page;
}

export function tell(page, account) {
  const { told } = page;
  account.rows.forEach((index, place) => told.full.set(index, account.full[place]));
  if (account.lines) return Object.assign(told, { lines: account.lines });
  account.rows.forEach((index, place) => {
    told.small.set(index, account.small[place]);
    told.decisions.set(index, account.decisions[place]);
    if (account.fits[place] !== null || !account.more) told.fits.set(index, account.fits[place]);
    if (!account.more) told.known.add(index);
  });
  if (!account.more && account.picked !== null) told.searched.add(account.picked);
  return Object.assign(told, { begun: true, next: account.more ? undefined : account.next, gain: account.gain });
}

// The overrides of the view with another word on some rows, `null` for none; each by its path where no other row has it.
export function override(page, given, rows, word) {
  const all = { ...page.options.overrides };
  for (const row of rows) {
    for (const key of [row.id, row.raw, row.path]) delete all[key];
    const only = (field) => row.path && page.rows.filter((each) => each.path && each[field] === row[field]).length === 1;
    if (word) all[only("path") ? row.path : only("raw") ? row.raw : row.id] = word;
  }
  return Object.keys(all).length ? all : given ? null : undefined;
}

// Of the items given, and of the first by rank that a larger budget may bring back, those whose budget is not told for good:
// a search for that of the picked one alone goes on where the search for all has ended.
export function unknown(page, given, picked, most = 16) {
  page.next ??= page.rows.filter((row) => row.status !== "included" && lacksRoom(row.reason))
    .sort((a, b) => (a.rank ?? Infinity) - (b.rank ?? Infinity)).slice(0, most).map((row) => row.index);
  const { known, searched, fits } = page.told;
  const open = (index) => !known.has(index) || (index === picked && fits.get(index) === null && !searched.has(index));
  return [...new Set([...given, picked, ...page.next])].filter((index) => index !== null && index < page.rows.length && open(index));
}

export function hue(kind) {
  if (!hues.has(kind)) {
    let number = [...kind].reduce((sum, char) => (31 * sum + char.codePointAt(0)) % 65521, 7) % HUES;
    const taken = new Set(hues.values());
    while (taken.size < HUES && taken.has(number)) number = (number + 1) % HUES;
    hues.set(kind, number);
  }
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
