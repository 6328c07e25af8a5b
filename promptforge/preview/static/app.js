// The page: what is chosen goes to the server, what comes back is shown; the last good text stays until a better one is there.

import * as bar from "./bar.js";
import * as choices from "./choices.js";
import * as compare from "./compare.js";
import { $, count, label, make, notice, tint } from "./dom.js";
import * as editor from "./editor.js";
import * as items from "./items.js";
import { get, listen, newest } from "./net.js";
import * as record from "./record.js";
import * as state from "./state.js";
import * as tabs from "./tabs.js";
import * as text from "./text.js";
import "./theme.js";
import * as whole from "./whole.js";

const TYPED = 15; // milliseconds of rest after which a key press is rendered
const REST = 150; // and after which what takes longer is asked for: reasons, and the budgets that bring items back
const now = state.read();
const draw = Object.fromEntries(["page", "account", "comparison", "prompt"].map((what) => [what, newest(`/api/${what}`)]));
let start = null;
let page = null;
let account = null;
let sent = null; // the whole prompt, where it is shown
let tints = new Map();
let byId = new Map();
let timer = 0;
let rest = 0;
let busy = 0;

// --- choices --------------------------------------------------------------------------------------------------------

function pane(name) {
  now.pane = ["prompt", "items", "edit"].includes(name) ? name : "prompt";
  $("main").dataset.pane = now.pane;
  for (const tab of document.querySelectorAll(".tabs button")) tab.setAttribute("aria-pressed", String(tab.dataset.pane === now.pane));
}

function choose() {
  choices.draw(start, now, page);
  now.show = tabs.choose(now.show);
  $("to").value = now.to;
  pane(now.pane);
}

const wide = () => matchMedia("(min-width: 900px)").matches;

function changed(wait = 0) {
  state.write(now);
  choose();
  clearTimeout(timer);
  timer = setTimeout(render, wait);
}

// --- rendering ------------------------------------------------------------------------------------------------------

async function working(promise) {
  busy++;
  const late = setTimeout(() => ($("busy").hidden = false), 250);
  try {
    return await promise;
  } finally {
    clearTimeout(late);
    if (--busy === 0) $("busy").hidden = true;
  }
}

async function render() {
  const drafts = editor.drafts();
  const ask = { view: state.asked(now.view), drafts };
  const asked = performance.now();
  const found = await working(draw.page({ ...ask, tokens: now.tokens }));
  if (!found) return;
  if (found.error) {
    fail(found.error);
  } else {
    succeed(found);
    $("made").title = `Asked and shown in ${Math.round(performance.now() - asked)} ms`;
    if (now.show !== "text") await around(ask);
  }
  clearTimeout(rest);
  rest = setTimeout(async () => {
    if (!found.error) {
      const more = await working(draw.account(ask));
      if (more && !more.error) explain(more);
      else if (more) items.draw(account, page, tints, false);
    }
    if (now.compare) await side(drafts);
  }, account ? REST : 0);
}

// The whole prompt, in the shape that is looked at.
async function around(ask) {
  const found = await working(draw.prompt({ ...ask, to: now.show === "request" ? now.to : "roles" }));
  if (!found) return;
  if (found.error) return fail(found.error);
  sent = found;
  whole.draw(found);
  notes(found.warnings);
  editor.list(files(), now.file);
}

// The files of what is shown: the look, and the parts of a whole prompt.
const files = () => [...page.files, ...(now.show === "text" || !sent ? [] : sent.files)];

async function side(drafts) {
  const other = { ...state.asked(now.view), ...state.asked(now.other) };
  const found = await working(draw.comparison({ view: state.asked(now.view), other, drafts }));
  if (!found) return;
  notice("both-error", found.error);
  if (!found.error) compare.draw(found, byId);
}

function succeed(found) {
  page = found;
  for (const span of page.spans) if (span[2] !== null) span[2] = page.shown[span[2]].id;
  for (const item of page.shown) if (!tints.has(item.id)) tints.set(item.id, tint(tints.size));
  notice("error", null);
  $("prompt").classList.remove("stale");
  editor.fault(null);
  text.show(page, tints);
  bar.place(page.max_tokens, page, total());
  bar.draw(page, account, tints, byId);
  bar.ticks(account, page.max_tokens);
  items.draw(account, page, tints, true);
  $("made").textContent = `${page.layout} · ${page.format} · ${count(page.chars)} characters`;
  notes(page.warnings);
  choose();
  document.title = `${count(page.tokens)} tokens – promptforge preview`;
  editor.list(files(), now.file, page.templates[page.spans.find((span) => span[2] !== null)?.[3]]);
  if (now.tokens && !page.ends) said(`${page.tokenizer} has no tokens of its own to outline.`);
}

function explain(found) {
  account = found;
  byId = new Map(account.items.map((item) => [item.id, item]));
  items.draw(account, page, tints, false);
  bar.place(page.max_tokens, page, total());
  bar.draw(page, account, tints, byId);
  bar.ticks(account, page.max_tokens);
}

// The budget that brings the sixth next item back: as far as the slider has to reach.
function total() {
  const next = account?.items.map((item) => item.fits_at).filter((at) => at !== null) ?? [];
  return [...new Set(next)].sort((a, b) => a - b)[5] ?? Math.max(0, ...next.slice(0, 6));
}

function fail(error) {
  const more = page ? [make("span", { class: "quiet" }, "The last good text stays below.")] : [];
  if (error.needed) more.push(make("button", { type: "button", onclick: () => setBudget(error.needed) }, `Set the budget to ${count(error.needed)}`));
  notice("error", error, { open: () => open(error.name, error.line, error.file), more });
  bar.place(now.view.max_tokens ?? start.given.max_tokens ?? page?.max_tokens ?? null, page, total());
  editor.fault(error);
  if (page) return $("prompt").classList.add("stale");
  for (const panel of ["text", "messages"]) $(panel).replaceChildren(make("p", { class: "wait" }, "There is no text yet: it shows as soon as what is wrong is mended."));
  $("list").replaceChildren(make("p", { class: "wait" }, "What each item costs is told with the first text."));
  editor.list(start.mine, error.file);
}

function notes(warnings) {
  const grave = warnings.filter((each) => each.severity !== "info").length;
  $("notes").hidden = warnings.length === 0;
  $("notes").querySelector("summary").textContent = `${count(warnings.length)} note${warnings.length === 1 ? "" : "s"}${grave ? `, ${count(grave)} to look at` : ""}`;
  $("notes").querySelector("ul").replaceChildren(...warnings.map((each) => make("li", { class: each.severity }, `${each.message} `, make("span", { class: "quiet" }, each.code))));
}

function said(message) {
  $("place").textContent = message;
}

// --- what the reader does -------------------------------------------------------------------------------------------

function setBudget(value) {
  now.view.max_tokens = value;
  $("slider").value = value ?? $("slider").max;
  if (document.activeElement !== $("budget")) $("budget").value = value ?? "";
  changed(0);
}

function open(name, line, id) {
  if (!wide()) pane("edit");
  if (id) editor.show(id, line);
  else editor.showName(name, line);
}

function pickItem(id) {
  items.pick(id);
  if (id === null) return text.pick(null);
  if (page?.shown.some((item) => item.id === id)) {
    if (!wide() && now.pane === "items") return text.pick(id);
    text.scrollTo(id);
  }
}

text.whenPicked((part) => {
  const item = part.item === null ? null : byId.get(part.item);
  const where = make("button", { type: "button", class: "line", onclick: () => open(part.template, part.line) }, `${part.template}:${part.line}`);
  $("place").replaceChildren(item ? `${label(item)} · printed by ` : "printed by ", where);
  if (part.item !== null) {
    text.pick(part.item);
    items.pick(part.item);
  }
});
items.whenPicked({ pick: pickItem, budget: setBudget, line: open, lines: text.linesOf });
bar.whenChanged(setBudget, pickItem);

for (const name of ["profile", "layout", "format"]) {
  $(name).addEventListener("change", () => {
    now.view[name] = $(name).value || null;
    if (name !== "format") now.file = null;
    changed();
  });
  $(`b-${name}`).addEventListener("change", () => {
    now.other[name] = $(`b-${name}`).value || null;
    changed();
  });
}
$("b-budget").addEventListener("input", () => {
  now.other.max_tokens = /^\d+$/.test($("b-budget").value) ? Number($("b-budget").value) : null;
  changed(TYPED);
});
$("query").addEventListener("input", () => {
  now.view.query = $("query").value || (start.given.query ? "" : null);
  changed(TYPED);
});
for (const form of document.querySelectorAll("form")) form.addEventListener("submit", (event) => event.preventDefault());

function flip(name) {
  now[name] = !now[name];
  if (name === "tokens") said("");
  if (name === "tokens" && !now.tokens && page) text.show({ ...page, ends: null }, tints);
  changed();
}
$("tokens").addEventListener("click", () => flip("tokens"));
$("compare").addEventListener("click", () => flip("compare"));
for (const tab of document.querySelectorAll(".tabs button")) {
  tab.addEventListener("click", () => {
    pane(tab.dataset.pane);
    state.write(now);
  });
}
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, select, textarea, .editor");
  if (typing || $("case").open || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "t") flip("tokens");
  if (event.key === "c") flip("compare");
});
$("copy").addEventListener("click", async () => {
  const seen = now.show === "text" ? page?.text : sent?.sent;
  if (seen === undefined) return;
  await navigator.clipboard.writeText(seen).then(() => said("Copied."), () => said("The browser did not let it be copied."));
});
function showAs(chosen) {
  Object.assign(now, chosen);
  sent = null;
  changed();
}
tabs.whenChosen((show) => showAs({ show }));
$("to").replaceChildren(...Object.entries(whole.SHAPES).map(([value, name]) => make("option", { value }, name)));
$("to").addEventListener("change", () => showAs({ to: $("to").value }));
record.setUp(() => {
  if (!page || !$("error").hidden) return { refused: "There is no good text to be saved" };
  const drafted = Object.keys(editor.drafts()).length;
  if (drafted) return { page, refused: `Save or revert first: ${count(drafted)} file${drafted === 1 ? " has" : "s have"} changes that are not on the disk` };
  return { page, view: state.asked(now.view) };
}, said);

// --- begin ----------------------------------------------------------------------------------------------------------

try {
  start = await get("/api/start");
  $("record").disabled = !start.edit;
  $("record").title = start.edit ? "" : "Start the preview with --edit to save";
  editor.setUp(start, {
    draft: () => {
      clearTimeout(timer);
      timer = setTimeout(render, TYPED);
    },
    open: (id) => {
      now.file = id;
      state.write(now);
    },
  });
  changed();
  listen(
    async () => {
      start = { ...start, ...(await get("/api/start")) };
      await editor.refresh();
      render();
    },
    (lost) => said(lost ? "The preview does not answer; it may have been stopped." : ""),
  );
} catch (error) {
  notice("error", error);
}
