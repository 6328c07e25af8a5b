// Where the budget goes: the bar, the slider with its ticks, and the figures.

import { $, count, label, make, tint } from "./dom.js";

const EACH = 250; // more items than this are drawn by section
let onBudget = () => {};
let onPick = () => {};
let top = 0;

export function whenChanged(budget, pick) {
  onBudget = budget;
  onPick = pick;
  $("slider").addEventListener("input", () => onBudget(Number($("slider").value)));
  $("budget").addEventListener("input", () => {
    const value = $("budget").value;
    if (value === "") onBudget(null);
    else if (/^\d+$/.test(value)) onBudget(Number(value));
  });
}

// Sets slider and number; the reader's own typing is left alone.
export function place(budget, page, all) {
  const most = Math.max(100, budget ?? 0, page?.tokens ?? 0);
  const wanted = Math.max(2 * most, Math.min(all ?? 0, 25 * most));
  if (most > top || (wanted > top && document.activeElement !== $("slider"))) top = nice(wanted);
  const slider = $("slider");
  slider.max = top;
  slider.step = top > 20_000 ? 10 : 1;
  slider.disabled = budget === null;
  if (budget === null) ticks(null, null);
  if (document.activeElement !== slider) slider.value = budget ?? top;
  if (document.activeElement !== $("budget")) $("budget").value = budget ?? "";
  $("budget").placeholder = page ? "no limit" : "not set here";
}

function nice(number) {
  const step = 10 ** Math.max(2, Math.floor(Math.log10(number)) - 1);
  return Math.ceil(number / step) * step;
}

// The parts of the page, in tokens: frame, headings by section, items, what is free, the reserve.
function parts(page, account) {
  const items = page.shown.reduce((sum, item) => sum + item.tokens, 0);
  const around = Math.max(0, page.tokens - items);
  const found = [];
  const frame = account?.explanation.frame;
  if (frame === undefined) {
    if (around) found.push({ what: "frame", name: "frame and headings", tokens: around });
  } else {
    const fixed = Math.min(frame, around);
    if (fixed) found.push({ what: "frame", name: "frame of the templates", tokens: fixed });
    if (around > fixed) found.push({ what: "between", name: "headings and separators", tokens: around - fixed });
  }
  return found;
}

export function draw(page, account, tints, byId) {
  const bar = $("bar");
  const segments = parts(page, account);
  const sections = new Map();
  page.shown.forEach((item) => {
    if (!sections.has(item.section)) sections.set(item.section, { title: item.title, tokens: 0, items: 0 });
    const section = sections.get(item.section);
    section.tokens += item.tokens;
    section.items += 1;
  });
  let number = 0;
  if (page.shown.length <= EACH) {
    for (const item of page.shown) {
      const known = byId.get(item.id);
      const name = known ? label(known) : item.id;
      segments.push({ what: `item ${tints.get(item.id)}${item.whole ? "" : " cut"}`, name, tokens: item.tokens, id: item.id });
    }
  } else {
    for (const section of sections.values()) {
      const name = `${section.title || "items"}: ${count(section.items)} items`;
      segments.push({ what: `item ${tint(number++)}`, name, tokens: section.tokens });
    }
  }
  const most = page.max_tokens;
  const reserve = page.options.reserve ?? 0;
  const free = most === null ? 0 : Math.max(0, most - page.tokens);
  if (free) segments.push({ what: "free", name: "free", tokens: free });
  if (reserve) segments.push({ what: "reserve", name: "kept for the answer", tokens: reserve });
  bar.replaceChildren(...segments.map((part) => segment(part)));
  const said = segments.map((part) => `${part.name} ${count(part.tokens)}`);
  bar.setAttribute("aria-label", `Tokens: ${said.slice(0, 12).join(", ")}${said.length > 12 ? ", and more" : ""}`);
  figures(page, free);
  legend(page, segments, sections);
}

function segment(part) {
  const element = make("i", { class: part.what, title: `${part.name}: ${count(part.tokens)} tokens` });
  element.style.flexGrow = String(part.tokens);
  if (part.id !== undefined) element.addEventListener("click", () => onPick(part.id));
  return element;
}

function figures(page, free) {
  const kind = page.exact ? "exact" : "approximate";
  const most = page.max_tokens === null ? "tokens, no limit" : `of ${count(page.max_tokens)} tokens`;
  $("spent").replaceChildren(
    make("b", {}, count(page.tokens)), ` ${most}`,
    make("span", { class: "quiet" }, `${page.max_tokens === null ? "" : ` · ${count(free)} free`} · ${kind}, ${page.tokenizer}`),
  );
}

function legend(page, segments, sections) {
  const entries = [];
  for (const part of segments) {
    if (!part.what.startsWith("item")) entries.push([part.what, part.name, part.tokens]);
  }
  const titled = [...sections.values()].filter((section) => section.title);
  for (const section of titled.slice(0, 6)) entries.push(["section", section.title, section.tokens]);
  if (titled.length > 6) entries.push(["section", `${titled.length - 6} more sections`, null]);
  $("legend").replaceChildren(
    ...entries.map(([what, name, tokens]) =>
      make("li", { class: what }, make("i", {}), `${name}${tokens === null ? "" : ` ${count(tokens)}`}`),
    ),
  );
}

// Ticks where something comes back, the nearest first; the first of them is a button too.
export function ticks(account, budget) {
  const near = new Map();
  for (const item of account?.items ?? []) {
    if (item.fits_at !== null && item.fits_at > (budget ?? 0) && item.fits_at <= top) {
      near.set(item.fits_at, [...(near.get(item.fits_at) ?? []), item]);
    }
  }
  const next = [...near.keys()].sort((a, b) => a - b).slice(0, 6);
  $("ticks").replaceChildren(
    ...next.map((at) => {
      const names = near.get(at).slice(0, 3).map(label).join(", ");
      const said = `${count(at)} tokens bring back ${names}${near.get(at).length > 3 ? ", …" : ""}`;
      const tick = make("i", { title: said, onclick: () => onBudget(at) });
      tick.style.left = `${(at / top) * 100}%`;
      return tick;
    }),
  );
  $("next").hidden = next.length === 0;
  if (next.length) $("next").replaceChildren("Next: ", make("bdi", {}, label(near.get(next[0])[0])), ` at ${count(next[0])}`);
  $("next").onclick = () => onBudget(next[0]);
}
