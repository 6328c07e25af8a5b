// The repository: a tree of the items' paths with their shares of the text. What is unticked goes into the option `paths`, a file
// that is to be whole or an outline into `overrides`, so address, command and tests have it too.

import { $, count, make, plural, whenLetGo } from "./dom.js";
import { seen } from "./marks.js";
import { ask } from "./net.js";
import { short } from "./why.js";

const MOST = 2000; // rows that are drawn
const ALL = "*";
const WORDS = { w: "whole", o: "outline" }; // key → the word of an override
let act = { pick() {}, change() {} };
let page = null;
let root = null;
let rows = []; // nodes in sight, in order
let at = ""; // the path of the node that is the tab stop
let patterns = [];
let asked = 0; // the number of the newest command that was asked for
const open = new Map(); // path of a folder → whether it was opened or closed by hand

export function setUp(given) {
  act = given;
  $("tree").addEventListener("keydown", (event) => {
    const place = rows.findIndex((node) => node.path === at);
    const node = rows[place];
    if (!node) return;
    const step = { ArrowDown: 1, ArrowUp: -1, Home: -1e9, End: 1e9, PageDown: 12, PageUp: -12 }[event.key];
    if (step) go(rows[Math.min(rows.length - 1, Math.max(0, place + step))]);
    else if (event.key === "ArrowRight" && node.inner) isOpen(node) ? go(rows[place + 1]) : fold(node, true);
    else if (event.key === "ArrowLeft") node.inner && isOpen(node) ? fold(node, false) : node.above.path && go(node.above);
    else if (event.key === " ") toggle(node);
    else if (WORDS[event.key] && node.row) say(node, WORDS[event.key]);
    else if (event.key === "Enter") node.inner ? fold(node, !isOpen(node)) : act.pick(node.row.index);
    else return;
    event.preventDefault();
  });
  $("tree").addEventListener("click", ({ target }) => {
    const node = rows.find((each) => each.path === target.closest("[role=treeitem]")?.dataset.path);
    if (!node) return;
    at = node.path;
    if (target.closest(".tick")) toggle(node);
    else if (target.dataset.word) say(node, target.dataset.word);
    else if (node.inner) fold(node, !isOpen(node));
    else act.pick(node.row.index);
    draw();
    $("tree").querySelector("[tabindex='0']")?.focus({ preventScroll: true });
  });
}

export const has = (page) => page.rows.filter((row) => row.path).length > Math.max(1, page.rows.length / 2);

export function show(given, view) {
  page = given;
  patterns = view.options.paths ?? page.options.paths ?? [ALL];
  root = grow();
  draw();
  tell(view);
}

function grow() {
  const top = { path: "", inner: new Map(), tokens: 0, files: 0, off: 0 };
  for (const row of page.rows) {
    if (!row.path) continue;
    const parts = row.path.split("/");
    let above = top;
    parts.forEach((name, depth) => {
      const isFile = depth === parts.length - 1;
      // Items of one file, such as ranges of lines, are leaves of their own.
      const key = isFile ? row.raw.split("/").at(-1) : name;
      const path = isFile ? row.raw : parts.slice(0, depth + 1).join("/");
      if (!above.inner.has(key)) above.inner.set(key, { name: key, path, file: row.path, above, tokens: 0, files: 0, off: 0, ...(isFile ? { row } : { inner: new Map() }) });
      above = above.inner.get(key);
    });
    for (let node = above; node; node = node.above) {
      node.tokens += row.here?.tokens ?? 0;
      node.files += 1;
      node.off += row.reason === "paths" ? 1 : 0;
    }
  }
  let first = top; // without the folders that hold everything
  while (first.inner.size === 1 && [...first.inner.values()][0].inner) [first] = first.inner.values();
  return { ...first, all: Math.max(1, page.tokens) };
}

const isOpen = (node) => open.get(node.path) ?? (node.above.path === root.path || node.tokens > root.all / 8);

function fold(node, wanted) {
  open.set(node.path, wanted);
  draw();
}

function go(node) {
  at = node.path;
  draw();
  const element = $("tree").querySelector("[tabindex='0']");
  element?.focus({ preventScroll: true });
  element?.scrollIntoView({ block: "nearest" });
}

function draw() {
  rows = [];
  const drawn = [];
  const walk = (node, depth) => {
    for (const each of [...node.inner.values()].sort((a, b) => b.tokens - a.tokens || a.path.localeCompare(b.path))) {
      if (rows.length >= MOST) return;
      rows.push(each);
      drawn.push([each, depth]);
      if (each.inner && isOpen(each)) walk(each, depth + 1);
    }
  };
  walk(root, 1);
  if (!rows.some((node) => node.path === at)) at = rows[0]?.path ?? "";
  const lines = drawn.map(([node, depth]) => line(node, depth));
  const hadFocus = $("tree").contains(document.activeElement);
  whenLetGo($("tree"), () => {
    $("tree").replaceChildren(...lines);
    if (hadFocus) $("tree").querySelector("[tabindex='0']")?.focus({ preventScroll: true });
  });
}

function line(node, depth) {
  const ticked = node.off === node.files ? "false" : node.off ? "mixed" : "true";
  const share = node.tokens / root.all;
  const status = node.inner ? plural(node.files, "file", "files") : node.row.reason === "fits" ? "" : node.row.status === "trimmed" ? `cut: ${short(node.row.reason)}` : short(node.row.reason);
  const bar = make("i", { class: node.inner ? "t13" : node.row.tint });
  bar.style.width = `${Math.max(node.tokens ? 2 : 0, share * 100)}%`;
  const element = make("div", {
    role: "treeitem", class: "leaf", "data-path": node.path, "aria-level": depth, "aria-checked": ticked, tabindex: node.path === at ? "0" : "-1",
    "aria-expanded": node.inner ? String(isOpen(node)) : null,
  }, make("span", { class: "tick", title: "In or out (space)" }), make("span", { class: "twist" }, node.inner ? (isOpen(node) ? "▾" : "▸") : ""),
  make("bdi", {}, ...seen(node.inner ? `${node.name}/` : node.name)), make("span", { class: "facts" }, status), ...(node.row ? words(node) : []),
  make("span", { class: "share" }, bar), make("span", { class: "cost" }, node.tokens ? `${count(node.tokens)} · ${Math.round(share * 100)} %` : ""));
  element.style.paddingInlineStart = `${depth * 14 - 6}px`;
  return element;
}

// --- in and out -----------------------------------------------------------------------------------------------------

// A path as one pattern of .gitignore: nothing in it is a sign.
const pattern = (node) => `/${node.inner ? `${node.path}/` : node.file}`.replace(/^\/+/, "/").replace(/[\\*?[\]! #]/g, "\\$&");

function toggle(node) {
  const own = pattern(node);
  const within = (each) => each.replace(/^!/, "").startsWith(own);
  const rest = patterns.filter((each) => each === ALL || !within(each));
  const isOff = node.off === node.files;
  // Within a folder that is out, a file that is to be in is named.
  const above = rest.some((each) => each.startsWith("!") && own.startsWith(each.slice(1)));
  const wanted = isOff ? (above ? [...rest, own] : rest) : [...rest, `!${own}`];
  act.change({ paths: wanted.length === 1 && wanted[0] === ALL ? undefined : wanted }, page.rows.filter((row) => page.overrides[row.index] && inside(row, node)), null);
}

const inside = (row, node) => (node.row ? row === node.row : row.path.startsWith(`${node.path}/`));

// A file whole, or as its outline; pressed again, as the budget has room.
function say(node, word) {
  act.change({}, [node.row], page.overrides[node.row.index] === word ? null : word);
}

const words = (node) => Object.entries(WORDS).map(([key, word]) => make("button", {
  type: "button", class: "word", tabindex: "-1", "data-word": word, title: `${word} (${key})`, "aria-pressed": String(page.overrides[node.row.index] === word),
}, word));

async function tell(view) {
  const mine = ++asked;
  const found = await ask("/api/recipes", { view: act.asked(view) }).catch(() => null);
  if (mine === asked && found) $("tree-command").textContent = found.command;
}
