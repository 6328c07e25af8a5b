// The finished text: a block of lines at a time, a stripe beside each item's lines, ghosts of dropped items, marks of the
// query's words; tokens outlined where the reader looks.

import { $, count, make, past, presses, whenLetGo } from "./dom.js";
import { seen as withMarks } from "./marks.js";

const BLOCK = 6000; // characters of a block; those far from the window are not laid out
export const MOST = 400_000; // characters that are shown unasked

let picked = null; // the number of an item
let lit = null; // the template line under the caret of the editor: { name, line }
let shown = { page: null, blocks: [], all: false, heat: false };
const runs = new WeakMap(); // element → the part of the text that it shows
let onPick = () => {};

const seen = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      entry.target.near = entry.isIntersecting;
      if (entry.isIntersecting) outline(entry.target);
    }
  },
  { root: null, rootMargin: "600px" },
);

export function whenPicked(handler) {
  onPick = handler;
}

export function show(page, { all = false, heat = false } = {}) {
  const pane = $("text");
  const text = page.text;
  const end = all ? text.length : Math.min(text.length, MOST);
  const before = shown.blocks;
  const blocks = [];
  for (let start = 0, number = 0; start < end; number++) {
    const stop = cut(text, start, end);
    const parts = runsOf(page, start, stop);
    const key = parts.map((part) => `${part.ghosts.map(said).join()}|${part.tint}|${part.item}|${part.template}:${part.line}|${text.slice(part.start, part.end)}`).join("\u0001");
    const same = before[number]?.key === key;
    const block = same ? before[number] : { key, element: drawn(text, parts) };
    block.start = start;
    block.element.start = start;
    block.element.stop = stop;
    block.element.runs.forEach((element, index) => runs.set(element, parts[index]));
    blocks.push(block);
    start = stop;
  }
  shown = { page, blocks, all, heat };
  const rest = end < text.length ? [more(page, end, heat)] : [];
  const wanted = text ? [...blocks.map((block) => block.element), ...rest] : [empty(page)];
  const renew = () => {
    patch(pane, wanted);
    light(lit);
    pick(picked);
  };
  if (presses(pane)) whenLetGo(pane, renew);
  else renew();
  for (const block of blocks) {
    seen.observe(block.element);
    outline(block.element);
  }
  tellHits();
}

function cut(text, start, end) {
  if (end - start <= BLOCK) return end;
  const line = text.lastIndexOf("\n", start + BLOCK);
  if (line > start) return Math.min(end, line + 1);
  const next = text.indexOf("\n", start + BLOCK);
  return Math.min(end, next < 0 ? end : next + 1);
}

function runsOf(page, start, stop) {
  const found = [];
  for (let i = past(page.spans, start, (span) => span[1]); i < page.spans.length && page.spans[i][0] < stop; i++) {
    const [from, to, item, template, line] = page.spans[i];
    if (to <= start) continue;
    const begins = item !== null && from >= start && page.spans[i - 1]?.[2] !== item;
    found.push({
      ghosts: begins ? page.ghosts.filter((ghost) => ghost.before === item) : [],
      start: Math.max(from, start), end: Math.min(to, stop), item, line,
      template: page.templates[template], tint: item === null ? "overhead" : page.rows[item].tint,
    });
  }
  return found;
}

function drawn(text, parts) {
  const block = make("div", { class: "block" });
  block.outlined = null;
  block.runs = [];
  let around = null; // the lines of one item
  for (const part of parts) {
    block.append(...part.ghosts.map(ghostLine));
    const element = make("span", { class: `run ${part.tint}` });
    element.append(...withMarks(text.slice(part.start, part.end)));
    if (part.item !== null) element.dataset.item = part.item;
    block.runs.push(element);
    if (part.item === null) block.append(element);
    else if (around?.of === part.item && around === block.lastChild) around.append(element);
    else {
      around = make("span", { class: `part ${part.tint}` }, element);
      around.of = part.item;
      block.append(around);
    }
  }
  return block;
}

// --- ghosts: where dropped items would stand -------------------------------------------------------------------------

const said = ({ row }) => `${row.label} would stand here`;

// Its words are drawn by the style sheet, so that what is copied is the text alone. The list has the same item for the keyboard.
const ghostLine = (ghost) => make("button", { type: "button", class: `ghost-line ${ghost.row.tint}`, tabindex: "-1", "aria-label": said(ghost), "data-says": said(ghost), "data-ghost": ghost.row.index, onclick: () => onPick({ ghost: ghost.row.index }) });

function patch(pane, wanted) {
  while (pane.childNodes.length > wanted.length) {
    seen.unobserve(pane.lastChild instanceof Element ? pane.lastChild : pane);
    pane.lastChild.remove();
  }
  wanted.forEach((element, index) => {
    const old = pane.childNodes[index];
    if (!old) pane.append(element);
    else if (old !== element) old.replaceWith(element);
  });
}

function more(page, end, heat) {
  const said = `${count(end)} of ${count(page.text.length)} characters are shown. `;
  const button = make("button", { type: "button", onclick: () => show(page, { all: true, heat }) }, "Show all");
  return make("p", { class: "wait" }, said, button);
}

function empty(page) {
  const why = page.warnings.find((each) => ["PF110", "PF114", "PF115"].includes(each.code));
  return make("p", { class: "wait" }, why ? `The text is empty: ${why.message}.` : "The text is empty.");
}

// --- tokens ---------------------------------------------------------------------------------------------------------

// Splits the runs of a block where tokens end. Done for what is near the window alone.
function outline(block) {
  const ends = (block.near && shown.page?.ends) || null;
  const wanted = ends && `${shown.heat}`;
  if (block.outlined !== ends || block.heated !== wanted) {
    for (const run of block.runs) {
      const part = runs.get(run);
      run.replaceChildren(...(ends ? pieces(part, ends) : withMarks(shown.page.text.slice(part.start, part.end))));
    }
    block.outlined = ends;
    block.heated = wanted;
  }
  if (block.near) mark(block);
}

// --- words of the query ---------------------------------------------------------------------------------------------

const marks = globalThis.Highlight ? { hit: new Highlight(), now: new Highlight() } : null;
if (marks) for (const [name, each] of Object.entries(marks)) CSS.highlights.set(name, each);
let hit = -1; // the number of the one that was gone to

// Ranges of the hits in a block: no element is made for them.
function mark(block) {
  for (const range of block.hits ?? []) marks?.hit.delete(range);
  block.hits = [];
  const { hits } = shown.page;
  const nodes = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
  let node = nodes.nextNode();
  let at = block.start; // of that node
  const to = (place) => {
    while (node && at + node.length < place) {
      at += node.length;
      node = nodes.nextNode();
    }
    return node ? [node, place - at] : null;
  };
  for (let n = past(hits, block.start, (each) => each[1]); n < hits.length && hits[n][0] < block.stop; n++) {
    const [from, end] = [to(Math.max(block.start, hits[n][0])), to(Math.min(block.stop, hits[n][1]))];
    if (!from || !end) break;
    const range = document.createRange();
    range.setStart(...from);
    range.setEnd(...end);
    range.number = n;
    block.hits.push(range);
    marks?.hit.add(range);
  }
}

function tellHits() {
  const { hits } = shown.page;
  hit = Math.min(hit, hits.length - 1);
  marks?.now.clear();
  $("hits").hidden = hits.length === 0;
  $("hits-said").textContent = `${hit < 0 ? "" : `${count(hit + 1)} of `}${count(hits.length)} ${hits.length === 1 ? "hit" : "hits"}`;
}

export function goToHit(step) {
  const hits = shown.page?.hits ?? [];
  if (!hits.length) return;
  hit = hit < 0 ? (step > 0 ? 0 : hits.length - 1) : (hit + step + hits.length) % hits.length;
  const [start] = hits[hit];
  if (start >= MOST && !shown.all) show(shown.page, { all: true, heat: shown.heat });
  const block = shown.blocks.find((each) => each.element.stop > start)?.element;
  tellHits();
  if (!block) return;
  mark(block);
  const range = block.hits.find((each) => each.number === hit);
  marks?.now.add(range);
  block.scrollIntoView({ block: "nearest" });
  const box = $("text");
  const high = Math.min(box.clientHeight, innerHeight);
  const { top } = range.getBoundingClientRect();
  if (box.scrollHeight > box.clientHeight + 1) box.scrollTop += top - box.getBoundingClientRect().top - high / 3;
  else scrollBy(0, top - innerHeight / 2);
}

function pieces(part, ends) {
  const found = [];
  for (let at = part.start, index = past(ends, at); at < part.end; index++) {
    const stop = Math.min(ends[index] ?? part.end, part.end);
    const text = shown.page.text.slice(at, stop);
    const numbers = shown.page.numbers[index] ?? [];
    // Many tokens for few characters are hot: such text costs more than it looks.
    const heat = shown.heat ? ` heat${Math.min(4, Math.floor((4 * numbers.length) / Math.max(1, [...text].length)))}` : "";
    found.push(make("span", { class: `tok${index % 2 ? " odd" : ""}${heat}`, "data-token": index }, ...spaced(text)));
    at = stop;
  }
  return found;
}

// Blanks, tabs and line ends get a mark; the character itself stays.
function spaced(text) {
  return text.split(/([ \t\n]+)/).flatMap((piece, place) => {
    if (place % 2 === 0) return piece ? withMarks(piece) : [];
    const marks = piece.replace(/ /g, "·").replace(/\t/g, "→").replace(/\n/g, "↵");
    return [make("span", { class: "blank", "data-marks": marks }, piece)];
  });
}

$("text").addEventListener("mouseover", (event) => {
  const token = event.target.closest?.(".tok");
  if (!token || token.title || !shown.page?.numbers) return;
  const numbers = shown.page.numbers[Number(token.dataset.token)] ?? [];
  const bytes = [...new TextEncoder().encode(token.textContent)].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
  token.title = `${numbers.length === 1 ? "token" : `${numbers.length} tokens`} ${numbers.join(", ")} · ${shown.page.base}\nbytes ${bytes}`;
});

// --- picking --------------------------------------------------------------------------------------------------------

$("text").addEventListener("click", (event) => {
  const run = event.target.closest?.(".run");
  const part = run && runs.get(run);
  if (part) onPick(part);
});

// Calls `handler` with the characters that are selected, and with their tokens where they are known; with null for none.
export function whenSelected(handler) {
  let before = false;
  const place = (node, at) => {
    const block = (node instanceof Element ? node : node.parentElement)?.closest(".block");
    if (!block) return null;
    const range = document.createRange();
    range.setStart(block, 0);
    range.setEnd(node, at);
    return block.start + range.toString().length;
  };
  document.addEventListener("selectionchange", () => {
    const selection = getSelection();
    const inside = shown.page && !selection.isCollapsed && $("text").contains(selection.anchorNode) && $("text").contains(selection.focusNode);
    const ends = inside ? [place(selection.anchorNode, selection.anchorOffset), place(selection.focusNode, selection.focusOffset)] : [null];
    const [from, to] = [Math.min(...ends), Math.max(...ends)];
    const known = !ends.includes(null) && to > from;
    if (!known && !before) return;
    before = known;
    const { ends: tokens, numbers } = shown.page ?? {};
    const within = known && tokens ? numbers.slice(past(tokens, from), past(tokens, to - 1) + 1).flat().length : null;
    handler(known ? { characters: to - from, tokens: within } : null);
  });
}

export function scrollTo(item) {
  const pane = $("text");
  const start = shown.page?.spans.find((span) => span[2] === item)?.[0];
  if (start === undefined) return;
  if (start >= MOST && !shown.all) show(shown.page, { all: true, heat: shown.heat });
  const block = shown.blocks.find((each) => each.element.stop > start)?.element;
  block?.scrollIntoView({ block: "nearest" });
  const run = (block?.runs ?? []).find((element) => Number(element.dataset.item) === item);
  if (run) pane.scrollTop += run.getBoundingClientRect().top - pane.getBoundingClientRect().top - 24;
  pick(item);
}

export function pick(item) {
  picked = item;
  for (const run of $("text").querySelectorAll(".run.picked")) run.classList.remove("picked");
  if (item === null) return;
  for (const run of $("text").querySelectorAll(`.run[data-item="${item}"]`)) run.classList.add("picked");
}

// Marks what one template line has printed, and brings its first part into sight; null marks nothing.
export function light(place, { scroll = false } = {}) {
  lit = place;
  let first = null;
  for (const run of $("text").querySelectorAll(".run")) {
    const part = runs.get(run);
    const is = Boolean(lit && part && part.line === lit.line && part.template === lit.name);
    run.classList.toggle("lit", is);
    if (is) first ??= run;
  }
  if (first && scroll) first.scrollIntoView({ block: "nearest" });
}

// The template lines that printed an item: [template, line] each.
export function linesOf(item) {
  const found = new Map();
  for (const [, , owner, template, line] of shown.page?.spans ?? []) {
    if (owner === item) found.set(`${template}:${line}`, [shown.page.templates[template], line]);
  }
  return [...found.values()];
}
