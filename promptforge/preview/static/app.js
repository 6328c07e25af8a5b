// The page: what is chosen goes to the server, what comes back is shown; the last good text stays until a better one is there.

import * as assist from "./assist.js";
import * as bar from "./bar.js";
import * as choices from "./choices.js";
import * as compare from "./compare.js";
import { $, count, make, notice, plural, redraw } from "./dom.js";
import * as editor from "./editor.js";
import "./focus.js";
import * as items from "./items.js";
import * as keys from "./keys.js";
import { seenText } from "./marks.js";
import { get, listen, newest } from "./net.js";
import * as options from "./options.js";
import * as record from "./record.js";
import * as rows from "./rows.js";
import * as share from "./share.js";
import * as state from "./state.js";
import * as tabs from "./tabs.js";
import * as text from "./text.js";
import * as tree from "./tree.js";
import "./theme.js";
import * as welcome from "./welcome.js";
import * as whole from "./whole.js";
import * as why from "./why.js";

const REST = 150; // milliseconds of rest after which what takes longer is asked for: budgets that bring items back, remedies
let now = state.read();
const draw = Object.fromEntries(["page", "needs", "account", "remedies", "comparison", "prompt", "values"].map((what) => [what, newest(`/api/${what}`)]));
let start = null;
let page = null; // the rendering that is shown; what is told of it later hangs on it, so nothing is drawn for another one
let sent = null; // the whole prompt of the page, where it is known
let promptFiles = []; // of the last whole prompt
let asked = {}; // the request that the page answers
let heardOf = 0; // the number of the last change of files that was heard of
let timer = 0;
let rest = 0;
let busy = 0;

// --- choices --------------------------------------------------------------------------------------------------------

// What is done here: to read, to edit templates, to compare. Without a choice it is as the preview was started.
const mode = () => (now.compare ? "compare" : now.mode ?? (start.edit ? "template" : isRepository() ? "repository" : "read"));
const isRepository = () => page?.options.packing === "repository" && tree.has(page);

function pane(name) {
  const panes = mode() === "template" ? ["prompt", "items", "edit"] : ["prompt", "items"];
  now.pane = panes.includes(name) ? name : "prompt";
  $("main").dataset.pane = now.pane;
  for (const tab of document.querySelectorAll(".tabs button")) tab.setAttribute("aria-pressed", String(tab.dataset.pane === now.pane));
}

function choose() {
  choices.draw(start, now, page, mode());
  now.show = tabs.choose(now.show);
  $("to").value = now.to;
  pane(now.pane);
}

const wide = () => matchMedia("(min-width: 960px)").matches;

// A choice is a step that the browser's way back undoes; typing and sliding go on in the same step.
function changed({ push = true } = {}) {
  state.write(now, { push });
  choose();
  clearTimeout(timer);
  timer = setTimeout(render);
}

window.addEventListener("popstate", () => {
  now = state.read();
  changed({ push: false });
});

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

// The page, and beside it what takes longer; typing delays that until it rests.
async function render() {
  const ask = { view: state.asked(now.view), drafts: editor.drafts() };
  const begun = performance.now();
  const drawn = working(draw.page({ ...ask, tokens: now.tokens }));
  clearTimeout(rest);
  const later = page ? REST : 0;
  rest = setTimeout(() => explain(ask, drawn), later);
  if (now.compare) beside(ask);
  const found = await drawn;
  if (!found) return;
  if (found.error) return fail(found.error);
  asked = ask;
  succeed(found);
  $("made").title = `Asked and shown in ${Math.round(performance.now() - begun)} ms`;
  if (now.show !== "text") await around(ask, found);
}

// The whole prompt, in the shape that is looked at; of the others only its parts are drawn.
async function around(ask, of) {
  const to = now.show === "request" ? now.to : "roles";
  whole.wait();
  const found = await working(draw.prompt({ ...ask, to }));
  if (!found || of !== page) return;
  if (found.error) return now.show === "text" ? undefined : fail(found.error);
  sent = found;
  promptFiles = found.files;
  bar.drawWindow(page, sent);
  if (now.show === "text") return;
  whole.draw(found, page, pickItem);
  notes(found.warnings);
  listFiles();
}

// The files of what is seen: of the layout, and of the parts of a whole prompt. They are read once they are to be seen.
function listFiles() {
  if (mode() !== "template" || !page) return;
  const used = now.show === "text" ? page.templates[page.spans.find((span) => span[2] !== null)?.[3]] : undefined;
  editor.list(files(), now.file, used);
}

// What is told of a rendering after its text: each part is drawn only while that rendering is shown.
async function explain(ask, drawn) {
  const first = working(draw.needs({ ...ask, rows: items.inSight() }));
  const of = await drawn;
  if (!of || of.error) return;
  if (!take(of, "needs", await first)) return;
  if (!(await budgets(of, ask))) return;
  if (start.around.length && now.show === "text") await around(ask, of);
  await slices(of, "remedies", () => ask);
}

// What takes long comes in slices: each is shown, and no newer request waits behind the rest. True when all was told.
async function slices(of, what, next) {
  for (;;) {
    const found = await working(draw[what](next()));
    if (!take(of, what, found)) return false;
    if (!found.more) return true;
  }
}

// The budgets of the items in sight, and then of those that have come into sight meanwhile.
async function budgets(of, ask) {
  if (of.told.asking || of.told.failed.account) return false;
  of.told.asking = true;
  const wanted = () => rows.unknown(of, items.inSight(), items.pickedIndex());
  let whole = true;
  do whole = await slices(of, "account", () => ({ ...ask, rows: wanted(), picked: items.pickedIndex() }));
  while (whole && wanted().length);
  of.told.asking = false;
  return whole;
}

function take(of, what, found) {
  if (!found || of !== page) return false;
  if (found.error) page.told.failed[what] = found.error;
  else if (what === "account" || what === "needs") rows.tell(page, found);
  else page.told[what] = found.told;
  items.refresh();
  placeBar();
  if (what === "needs") editor.showCosts(page.told.lines);
  return !found.error;
}

async function beside({ view, drafts }) {
  compare.wait();
  const found = await working(draw.comparison({ view, other: state.askedOther(now), drafts }));
  if (!found) return;
  const retry = make("button", { type: "button", onclick: () => beside({ view, drafts }) }, "Retry");
  notice("both-error", found.error, { more: [retry] });
  if (found.error) $("verdict").textContent = "";
  else compare.draw(found);
}

// The files of what is shown: the layout, and the parts of a whole prompt.
const files = () => [...page.files, ...(now.show === "text" ? [] : promptFiles)];

function placeBar(handle = budget()) {
  bar.place(handle, page, now.compare ? otherBudget() : null);
  if (!page) return;
  bar.draw(page);
  bar.ghosts(page);
  bar.drawWindow(page, sent);
}

const budget = () => (page ? page.max_tokens : typeof now.view.max_tokens === "number" ? now.view.max_tokens : start.given.max_tokens ?? null);
const otherBudget = () => (typeof now.other.max_tokens === "number" ? now.other.max_tokens : page?.max_tokens ?? null);

function succeed(found) {
  page = rows.take(found);
  sent = null;
  notice("error", null);
  $("prompt").classList.remove("stale");
  editor.fault(null);
  text.show(page, { heat: now.heat });
  placeBar();
  items.show(page);
  drawTree();
  $("made").textContent = `${page.layout} · ${page.format} · ${count(page.chars)} characters`;
  notes(page.warnings);
  choose();
  welcome.show(page.rows.length);
  document.title = `${count(page.tokens)} tokens – promptforge preview`;
  if (now.show === "text" || promptFiles.length) listFiles();
  if (!now.tokens) return;
  if (!page.ends) said(`${page.tokenizer} is an estimate without tokens: there is nothing to outline.`);
  else if (page.base !== page.tokenizer) said(`Outlined by the tokens of ${page.base}: those of ${page.tokenizer} are not public.`);
}

function fail(error) {
  const more = page ? [make("span", { class: "quiet" }, "The last good text stays below.")] : [];
  if (error.needed) more.push(make("button", { type: "button", onclick: () => setBudget(error.needed, { push: true }) }, `Set the budget to ${count(error.needed)}`));
  if (error.kind === "server") said("");
  if (["server", "save"].includes(error.kind)) more.push(make("button", { type: "button", onclick: () => render() }, "Retry"));
  notice("error", error, { open: () => open(error.name, error.line, error.file), more });
  placeBar(typeof now.view.max_tokens === "number" ? now.view.max_tokens : budget());
  editor.fault(error);
  if (page) return $("prompt").classList.add("stale");
  for (const panel of ["text", "messages"]) $(panel).replaceChildren(make("p", { class: "wait" }, "There is no text yet: it shows as soon as what is wrong is mended."));
  notes([]);
  items.wait("What each item costs is told with the first text.");
  if (mode() === "template") editor.list(start.mine, error.file);
}

// Of the rendering, after those of the settings and items as they were read.
function notes(rendered) {
  const warnings = [...start.notes, ...rendered];
  const grave = warnings.filter((each) => each.severity !== "info").length;
  $("notes").hidden = warnings.length === 0;
  $("notes").querySelector("summary").textContent = `${plural(warnings.length, "note", "notes")}${grave ? `, ${count(grave)} to look at` : ""}`;
  redraw($("notes").querySelector("ul"), ...warnings.slice(0, 200).map((each) => {
    const row = each.item ? page?.rows.find((known) => known.id === each.item) : null;
    const leads = row ? [make("button", { type: "button", class: "line", "data-index": row.index, onclick: () => pickItem(row.index) }, row.label), " "] : [];
    const place = each.where && !row?.label.includes(seenText(each.where)) ? [make("span", { class: "where" }, seenText(each.where)), ": "] : [];
    return make("li", { class: each.severity }, ...leads, ...place, `${seenText(each.message)} `, make("span", { class: "quiet" }, each.code));
  }));
}

function drawTree() {
  const isTree = Boolean(page) && mode() === "repository" && tree.has(page);
  $("mode-repository").hidden = !(page && tree.has(page)) && now.mode !== "repository";
  for (const id of ["tree", "tree-command"]) $(id).hidden = !isTree;
  for (const id of ["tools", "list"]) $(id).hidden = isTree || (id === "tools" && !page?.rows.length);
  if (isTree) tree.show(page, now.view);
}

function said(message) {
  $("place").textContent = message;
}

// --- what the reader does -------------------------------------------------------------------------------------------

function setBudget(value, { push = false } = {}) {
  now.view.max_tokens = value;
  delete now.view.options.max_tokens;
  const number = typeof value === "number" ? value : null;
  $("slider").value = number ?? $("slider").max;
  if (document.activeElement !== $("budget")) {
    $("budget").value = number ?? "";
    $("budget").setAttribute("aria-invalid", "false");
  }
  said(""); // an odd number was asked for before
  changed({ push });
}

function setOther(value) {
  now.other.max_tokens = value;
  changed({ push: false });
}

// Options of a remedy, or one of the drawer: `undefined` leaves an option to the profile again.
function setOptions(given) {
  for (const [name, value] of Object.entries(given)) {
    if (name === "max_tokens" && typeof value === "number") now.view.max_tokens = value;
    else if (["layout", "format", "query"].includes(name)) now.view[name] = value;
    else if (value === undefined) delete now.view.options[name];
    else now.view.options[name] = value;
  }
  changed();
}

const overridden = (given, word) => (given.length ? { overrides: rows.override(page, start.given.overrides, given, word) } : {});

function setMode(name) {
  Object.assign(now, { mode: name, compare: false });
  if (name === "template" && !wide()) now.pane = "edit";
  changed();
}

function open(name, line, id) {
  if (mode() !== "template") {
    setMode("template");
    listFiles();
  }
  if (!wide()) pane("edit");
  if (id) editor.show(id, line);
  else editor.showName(name, line);
}

function pickItem(index) {
  items.pick(index);
  if (index === null) return text.pick(null);
  if (page.rows[index].here && now.show === "text") {
    if (!wide() && now.pane === "items") text.pick(index);
    else text.scrollTo(index);
  } else text.pick(null);
  if (rows.unknown(page, [], index).length && page.told.begun) budgets(page, asked);
}

text.whenPicked((part) => {
  if (part.ghost !== undefined) return pickItem(part.ghost);
  const row = part.item === null ? null : page.rows[part.item];
  const where = make("button", { type: "button", class: "line", onclick: () => open(part.template, part.line) }, `${part.template}:${part.line}`);
  $("place").replaceChildren(row ? `${row.label} · printed by ` : "printed by ", where);
  if (row) {
    text.pick(row.index);
    items.pick(row.index);
  }
});
text.whenSelected((found) => {
  const tokens = found && (found.tokens === null ? "; press Tokens to see how many tokens" : `, ${plural(found.tokens, "token", "tokens")}`);
  said(found ? `Selected: ${plural(found.characters, "character", "characters")}${tokens}` : "");
});
items.whenPicked({ pick: pickItem, budget: (value) => setBudget(value, { push: true }), line: open, lines: text.linesOf, values, options: setOptions, override: (row, word) => setOptions(overridden([row], word)), asked: () => page.told.begun && budgets(page, asked), retry: () => render() });
bar.whenChanged({ budget: (value) => setBudget(value, { push: document.activeElement !== $("slider") && document.activeElement !== $("budget") }), pick: pickItem, other: setOther, odd: () => said(`Enter a whole number.${page?.max_tokens ? ` Still using ${count(page.max_tokens)}.` : ""}`) });
compare.setUp({
  swap: () => {
    const { other, view } = now;
    now.other = concrete();
    const both = Object.fromEntries(["profile", "layout", "format", "max_tokens"].map((name) => [name, other[name] ?? view[name]]));
    now.view = { ...view, ...both, options: { ...view.options, ...other.options } };
    changed();
  },
  // What is seen now stays as B, and further choices change A alone.
  pin: () => {
    now.other = concrete();
    changed();
  },
});

// The first view with all that it leaves to the profile, so that it stays itself as B.
const concrete = () => ({
  profile: now.view.profile ?? start.given.profile, layout: page?.layout ?? now.view.layout, format: page?.format ?? now.view.format,
  max_tokens: now.view.max_tokens ?? page?.max_tokens ?? "none", options: { ...now.view.options },
});

for (const name of ["profile", "layout", "format"]) {
  $(name).addEventListener("change", () => {
    now.view[name] = $(name).value || null;
    changed();
  });
  $(`b-${name}`).addEventListener("change", () => {
    now.other[name] = $(`b-${name}`).value || null;
    changed();
  });
}
$("b-budget").addEventListener("input", () => {
  const typed = $("b-budget").value.trim();
  now.other.max_tokens = /^\d+$/.test(typed) ? Number(typed) : typed === "none" ? typed : null;
  changed({ push: false });
});
$("query").addEventListener("input", () => {
  now.view.query = $("query").value;
  changed({ push: false });
});
$("query-reset").addEventListener("click", () => {
  now.view.query = null;
  $("query").focus();
  changed();
});
$("budget-reset").addEventListener("click", () => {
  now.view.max_tokens = null;
  delete now.view.options.max_tokens;
  $("budget").focus();
  changed();
});
$("look").addEventListener("click", () => $("look").setAttribute("aria-expanded", String($("look").getAttribute("aria-expanded") !== "true")));
for (const name of ["read", "repository", "template"]) $(`mode-${name}`).addEventListener("click", () => setMode(name));
for (const [id, step] of [["hit-before", -1], ["hit-next", 1]]) $(id).addEventListener("click", () => text.goToHit(step));
for (const form of document.querySelectorAll("form")) form.addEventListener("submit", (event) => event.preventDefault());

function flip(name) {
  now[name] = !now[name];
  if (name === "tokens") said("");
  if (name === "tokens" && !now.tokens && page) text.show({ ...page, ends: null });
  if (name === "heat" && page) text.show(page, { heat: now.heat });
  changed();
}
for (const name of ["tokens", "heat", "compare"]) $(name).addEventListener("click", () => flip(name));
for (const tab of document.querySelectorAll(".tabs button")) {
  tab.addEventListener("click", () => {
    pane(tab.dataset.pane);
    state.write(now);
    items.refresh();
  });
}
$("copy").addEventListener("click", async () => {
  const seen = now.show === "text" ? page?.text : sent?.sent;
  if (seen === undefined) return;
  await navigator.clipboard.writeText(seen).then(() => said("Copied."), () => said("The browser did not let it be copied."));
});
function showAs(chosen) {
  Object.assign(now, chosen);
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
}, said, editor.drafts);
share.setUp(() => ({ view: state.asked(now.view) }), said);
welcome.setUp(said);
tree.setUp({ pick: pickItem, asked: state.asked, change: (paths, rows, word) => setOptions({ ...paths, ...overridden(rows, word) }) });
const drawer = () => options.open(now.view, page);
$("options-open").addEventListener("click", drawer);
const toPane = (name, id) => () => {
  if (!wide()) pane(name);
  $(id).focus();
};
keys.setUp({
  j: () => items.move(1), k: () => items.move(-1), "]": () => items.moveDropped(1), "[": () => items.moveDropped(-1),
  "/": toPane("items", "filter"), b: () => $("budget").focus(), e: () => {
    if (mode() !== "template") setMode("template");
    if (!wide()) pane("edit");
    listFiles();
    editor.focus();
  },
  1: () => showAs({ show: "text" }), 2: () => showAs({ show: "messages" }), 3: () => showAs({ show: "request" }),
  n: () => text.goToHit(1), p: () => text.goToHit(-1), t: () => flip("tokens"), c: () => flip("compare"), o: drawer, y: () => $("share-open").click(),
});

// --- begin ----------------------------------------------------------------------------------------------------------

// What templates see of the item that is picked, else of the first of the text; and what an expression prints of it.
function values(expression = "") {
  return draw.values({ ...asked, picked: items.pickedIndex() ?? page?.shown[0]?.index ?? 0, expression });
}

try {
  start = await get("/api/start");
  heardOf = start.changes;
  $("record").disabled = !start.edit;
  $("record").title = start.edit ? "" : "Start the preview with --edit to save";
  why.setUp(start.reasons);
  options.setUp(start.vocabulary, start.groups, (name, value) => {
    setOptions({ [name]: value });
    drawer();
  });
  assist.setUp(start, values);
  editor.setUp(start, {
    draft: () => {
      clearTimeout(timer);
      timer = setTimeout(render);
    },
    caret: (place, scroll) => text.light(place, { scroll: scroll && now.show === "text" && wide() }),
    open: (id) => {
      now.file = id;
      state.write(now);
    },
  });
  welcome.show(start.items);
  changed({ push: false });
  listen(
    async (heard) => {
      if (heard === heardOf) return;
      heardOf = heard;
      const told = await get("/api/start").catch(() => null);
      if (heard !== heardOf) return; // a newer change is told anew
      if (!told) return void (heardOf = null); // told with the next sign of life
      start = { ...start, ...told };
      await editor.refresh();
      render();
    },
    (lost) => lost !== ($("place").dataset.lost === "yes") && (said(lost ? "Lost the connection: is promptforge still running?" : ""), ($("place").dataset.lost = lost ? "yes" : "no")),
  );
} catch (error) {
  notice("error", error);
}
