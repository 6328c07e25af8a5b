// The budget on one scale: the bar is the slider. Segments of the text, a handle at the budget, ghosts of what comes back;
// the window of the LLM on a thin line below, with a break where it is far larger.

import { $, count, make, plural, redraw } from "./dom.js";
import { seen } from "./marks.js";
import { hue, kinds } from "./rows.js";
import { cost } from "./whole.js";

const MOST_SEGMENTS = 80; // more items than this are merged into groups with a name
const MOST_GHOSTS = 24;
const FAR = 20; // times the text from which on a budget is out of scale
let act = { budget() {}, pick() {}, other() {}, odd() {} };
let top = 0;
let far = null; // the budget, where it is out of scale

export function whenChanged(given) {
  act = given;
  new ResizeObserver(axis).observe($("bar"));
  $("slider").addEventListener("input", () => act.budget(Number($("slider").value)));
  $("slider-b").addEventListener("input", () => act.other(Number($("slider-b").value)));
  $("budget").addEventListener("input", () => {
    const { value, validity } = $("budget");
    const isEmpty = value === "" && !validity.badInput; // what is no number at all has no value either
    const isOdd = !isEmpty && !/^\d+$/.test(value);
    $("budget").setAttribute("aria-invalid", String(isOdd));
    if (isOdd) act.odd();
    else act.budget(isEmpty ? "none" : Number(value));
  });
  for (const id of ["next", "gain"]) $(id).addEventListener("click", () => act.budget(Number($(id).querySelector("[data-at]").dataset.at)));
  $("bar").addEventListener("click", (event) => {
    if (event.target === $("bar") || event.target.classList.contains("free")) act.budget(Math.round(valueAt(event.clientX)));
  });
}

const valueAt = (x) => {
  const box = $("bar").getBoundingClientRect();
  return Math.min(top, Math.max(0, ((x - box.left) / box.width) * top));
};

// Sets handle and number; the reader's own typing is left alone.
export function place(budget, page, other = null) {
  const all = page ? farthest(page) : 0;
  const used = Math.max(100, page?.tokens ?? 0, other ?? 0);
  // A budget as large as the window of an LLM would make the text a hair: then the handle stands at the end of a shorter scale.
  const isFar = Boolean(page?.tokens) && (budget ?? 0) > FAR * Math.max(used, all);
  const most = isFar ? 2 * used : Math.max(used, budget ?? 0);
  const wanted = Math.max(1.25 * most, Math.min(all, 3 * most));
  if (most > top || isFar || ((wanted > top || wanted < top / 3) && !document.activeElement?.classList.contains("slider"))) top = nice(wanted);
  for (const [id, value] of [["slider", budget], ["slider-b", other]]) {
    const slider = $(id);
    slider.max = top;
    slider.step = 1;
    slider.disabled = value === null;
    if (document.activeElement !== slider) slider.value = Math.min(value ?? top, top);
  }
  $("slider-b").hidden = other === null;
  $("slider").setAttribute("aria-valuetext", budget === null ? "no limit" : `${count(budget)} tokens`);
  if (document.activeElement !== $("budget")) $("budget").value = budget ?? "";
  far = isFar ? budget : null;
  axis();
}

// The budget that brings the sixth next item back: as far as the scale has to reach. It stays while budgets are being tried.
function farthest(page) {
  if (page.told.next === undefined) return Math.min(top, 4 * (page.max_tokens ?? 0));
  const next = [...page.told.fits.values()].filter((at) => at !== null).sort((a, b) => a - b);
  return [...new Set(next)][5] ?? next.at(-1) ?? 0;
}

function nice(number) {
  const step = 10 ** Math.max(2, Math.floor(Math.log10(number)) - 1);
  return Math.ceil(number / step) * step;
}

function axis() {
  if (!top) return;
  const rough = top / Math.min(8, Math.max(3, innerWidth / 75));
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * unit).find((each) => each >= rough);
  const marks = [];
  for (let at = 0; at <= top; at += step) {
    const mark = make("span", {}, count(at));
    mark.style.left = `${(at / top) * 100}%`;
    if (at > 0.95 * top) mark.classList.add("last");
    marks.push(mark);
  }
  if (far !== null) {
    while (marks.length > 1 && parseFloat(marks.at(-1).style.left) > 100 - 8000 / $("bar").clientWidth) marks.pop();
    marks.push(make("span", { class: "far" }, `… ${count(far)}`));
  }
  $("axis").replaceChildren(...marks);
}

// The parts of the text in its order: the templates' own, headings, items or groups of them.
function parts(page) {
  const items = page.shown.reduce((sum, item) => sum + item.tokens, 0);
  const around = Math.max(0, page.tokens - items);
  const fixed = Math.min(page.overhead, around);
  const found = [];
  if (fixed) found.push({ what: "overhead", name: "the templates' own text", tokens: fixed });
  if (around > fixed) found.push({ what: "between", name: "headings and separators", tokens: around - fixed });
  const scale = page.tokens < items ? page.tokens / items : 1; // texts side by side may take less than both alone
  if (page.shown.length <= MOST_SEGMENTS) {
    for (const here of page.shown) {
      const row = page.rows[here.index];
      found.push({ what: `item ${row.tint}${here.whole ? "" : " cut"}`, name: row.label, tokens: here.tokens, wide: here.tokens * scale, index: here.index });
    }
    return found;
  }
  const groups = new Map();
  for (const here of page.shown) {
    const row = page.rows[here.index];
    const name = here.title || row.kind;
    const group = groups.get(name) ?? { what: `item ${hue(row.kind)}${groups.size % 2 ? " odd" : ""}`, name, tokens: 0, items: 0 };
    group.tokens += here.tokens;
    group.items += 1;
    groups.set(name, group);
  }
  const sorted = [...groups.values()].sort((a, b) => b.tokens - a.tokens);
  const rest = sorted.splice(MOST_SEGMENTS);
  if (rest.length) sorted.push({ what: "item t7", name: `${count(rest.length)} more groups`, items: rest.reduce((n, group) => n + group.items, 0), tokens: rest.reduce((n, group) => n + group.tokens, 0) });
  for (const group of sorted) found.push({ ...group, name: `${group.name}: ${plural(group.items, "item", "items")}`, wide: group.tokens * scale, group: true });
  return found;
}

export function draw(page) {
  const segments = parts(page);
  let at = 0;
  const drawn = segments.map((part) => {
    const element = segment(part, at);
    at += part.wide ?? part.tokens;
    return element;
  });
  const free = page.max_tokens === null ? 0 : Math.max(0, page.max_tokens - page.tokens);
  if (free) drawn.push(segment({ what: "free", name: "free", tokens: free }, page.tokens));
  redraw($("bar"), ...drawn);
  const said = [...segments, ...(free ? [{ name: "free", tokens: free }] : [])].map((part) => `${part.name} ${count(part.tokens)}`);
  $("bar").setAttribute("aria-label", `Tokens: ${said.slice(0, 12).join(", ")}${said.length > 12 ? ", and more" : ""}`);
  figures(page, free);
  legend(page, segments, free);
}

function segment(part, at) {
  const element = make("i", { class: part.what, "data-index": part.index, title: `${part.name}: ${plural(part.tokens, "token", "tokens")}` }, part.group ? make("b", {}, part.name) : null);
  span(element, at, at + (part.wide ?? part.tokens));
  if (part.index !== undefined) element.addEventListener("click", () => act.pick(part.index));
  return element;
}

function span(element, from, to) {
  element.style.left = `${(from / top) * 100}%`;
  element.style.width = `${(Math.max(0, Math.min(to, top) - from) / top) * 100}%`;
}

function figures(page, free) {
  const kind = page.exact ? "exact, " : page.tokenizer.startsWith("approximate") ? "" : "approximate, ";
  $("spent").replaceChildren(
    make("b", {}, count(page.tokens)),
    page.max_tokens === null ? " tokens, no limit" : ` of ${count(page.max_tokens)} tokens`,
    ...cost(page),
    make("span", { class: "quiet" }, `${page.max_tokens === null ? "" : ` · ${count(free)} free`} · `, make("span", {}, `${kind}${page.tokenizer}`)),
  );
}

function legend(page, segments, free) {
  const entries = segments.filter((part) => !part.what.startsWith("item")).map((part) => [part.what, part.name, part.tokens]);
  const found = kinds(page);
  for (const each of found.slice(0, 7)) entries.push([`item ${hue(each.kind)}`, `${each.kind} ×${count(each.items)}:`, each.tokens]);
  if (found.length > 7) entries.push(["none", `${found.length - 7} more kinds`, found.slice(7).reduce((sum, each) => sum + each.tokens, 0)]);
  if (free) entries.push(["free", "free", free]);
  $("legend").replaceChildren(...entries.map(([what, name, tokens]) => make("li", { class: what }, make("i", {}), `${name} ${count(tokens)}`)));
}

// --- what comes back ------------------------------------------------------------------------------------------------

export function ghosts(page) {
  const near = new Map();
  for (const [index, at] of page.told.fits) {
    if (at > (page.max_tokens ?? 0)) near.set(at, [...(near.get(at) ?? []), page.rows[index]]);
  }
  const budgets = [...near.keys()].sort((a, b) => a - b);
  const drawn = budgets.filter((at) => at <= top).slice(0, MOST_GHOSTS).map((at) => {
    const rows = near.get(at);
    const names = rows.slice(0, 3).map((row) => row.label).join(", ");
    const says = `${count(at)} tokens bring back ${names}${rows.length > 3 ? `, and ${count(rows.length - 3)} more` : ""}`;
    const ghost = make("i", { class: `ghost ${hue(rows[0].kind)}`, title: says, onclick: () => act.budget(at) });
    span(ghost, Math.max(page.max_tokens ?? 0, at - (page.told.full.get(rows[0].index) ?? 0)), at);
    return ghost;
  });
  redraw($("ghosts"), ...drawn);
  const { gain, next } = page.told;
  $("gain").hidden = !gain?.items.length;
  if (gain?.items.length) redraw($("gain"), make("span", { "data-at": page.max_tokens + gain.tokens }, ...seen(gain.says)));
  $("next").hidden = !next;
  if (!next) return;
  redraw($("next"), "Next: ", make("bdi", { "data-at": next.at }, page.rows[next.index].label.split("/").at(-1)), ` at ${count(next.at)}`);
}

// --- the window -----------------------------------------------------------------------------------------------------

// `prompt` is the whole prompt where it is known: then its other parts have their share too.
export function drawWindow(page, prompt) {
  const total = page.options.context_window;
  const reserve = page.options.reserve ?? 0;
  const own = prompt?.parts ?? [{ name: "context", tokens: page.tokens, dropped: 0 }];
  const around = prompt ? Math.max(0, prompt.tokens - own.reduce((sum, part) => sum + part.tokens, 0)) : 0;
  const used = own.reduce((sum, part) => sum + part.tokens, around);
  $("window").hidden = total === null && own.length < 2;
  if ($("window").hidden) return;
  const room = total === null ? 0 : Math.max(0, total - reserve - used);
  const shown = [...own.map((part) => [`part ${part.name}`, part.name, part.tokens]), ["part around", "around messages", around]].filter(([, , tokens]) => tokens);
  // What is used keeps its scale; what is far larger is drawn broken, and says its number.
  const largest = Math.max(used, 1);
  const line = shown.map(([what, name, tokens]) => piece(what, name, tokens, tokens));
  if (room) line.push(piece(`room${room > largest ? " broken" : ""}`, "unused", room, Math.min(room, largest * 0.5)));
  if (reserve) line.push(piece(`reserve${reserve > largest ? " broken" : ""}`, "kept for the answer", reserve, Math.min(reserve, largest * 0.25)));
  $("window-line").replaceChildren(...line);
  const says = [...shown.map(([, name, tokens]) => `${name} ${count(tokens)}`), room ? `unused ${count(room)}` : null, reserve ? `kept for the answer ${count(reserve)}` : null].filter(Boolean);
  const of = total === null ? "Whole prompt" : `Window of ${count(total)}`;
  $("window-said").replaceChildren(of, ...cost(prompt), `: ${says.join(" · ")}`);
}

function piece(what, name, tokens, wide) {
  const element = make("i", { class: what, title: `${name}: ${plural(tokens, "token", "tokens")}` });
  element.style.flexGrow = String(wide);
  return element;
}
