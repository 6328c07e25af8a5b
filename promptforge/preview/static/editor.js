// The editor: one file at a time, drafts of several, saved only when the user says so.

import * as assist from "./assist.js";
import * as cm from "./vendor/codemirror.js";
import { $, make, redraw } from "./dom.js";
import { get, put } from "./net.js";

const files = new Map(); // id → { about, saved, tag, state, theirs, saving }
const outside = cm.Annotation.define(); // marks a change that comes from the disk
let current = null;
let listed = [];
let start = { edit: false, own: {} };
let onDraft = () => {};
let onOpen = () => {};
let onCaret = () => {};
let failed = null; // the last error's { file, line, message }
let findings = { id: null, found: [] }; // of the check, for the text as it is
let wrong = null; // the first error in the open file, said under its name: a phone has nothing to hover with
let told = null; // what was said of a file; it stays until that file changes or another is opened
let costs = {}; // template → line → tokens
let opening = 0; // the number of the newest call that opens a file: of two under way, it wins
let looking = 0; // the number of the newest look at all open files
let marked = null; // the marks that the text has, as JSON

const theme = cm.EditorView.theme({
  "&": { height: "100%", color: "var(--ink)", backgroundColor: "var(--paper)", fontSize: "13px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-content": { caretColor: "var(--ink)" },
  "&.cm-focused": { outline: "none" },
  "&.cm-focused .cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { background: "var(--select)" },
  ".cm-gutters": { backgroundColor: "var(--paper)", color: "var(--quiet)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  ".cm-tooltip, .cm-panels": { backgroundColor: "var(--raised)", color: "var(--ink)", borderColor: "var(--line)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--select) !important", color: "inherit" },
  // Lint's own marks are pictures in data: addresses, which the page's policy does not load.
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad) 1px", textUnderlineOffset: "3px" },
  ".cm-lintRange-warning": { backgroundImage: "none", textDecoration: "underline wavy var(--warn) 1px", textUnderlineOffset: "3px" },
  ".cm-lintRange-info, .cm-lintRange-hint": { backgroundImage: "none", textDecoration: "underline dotted var(--quiet) 1px", textUnderlineOffset: "3px" },
  ".cm-lintRange-active": { backgroundColor: "transparent" },
  ".cm-lint-marker-warning": { content: "normal", backgroundColor: "var(--warn)", borderRadius: "2px", width: "9px", height: "9px", margin: "5px 2px" },
  ".cm-lint-marker-info": { content: "normal", border: "2px solid var(--quiet)", borderRadius: "50%", width: "9px", height: "9px", margin: "5px 2px" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--warn)" },
  ".cm-diagnostic": { fontFamily: "var(--sans)", fontSize: "12.5px" },
  ".cm-diagnosticAction": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-costs .cm-gutterElement": { color: "var(--quiet)", fontSize: "11px", textAlign: "right", paddingRight: "6px", fontVariantNumeric: "tabular-nums" },
  ".cm-value": { padding: "5px 9px", maxWidth: "34em", fontFamily: "var(--sans)", fontSize: "12.5px", whiteSpace: "pre-wrap", overflowWrap: "anywhere" },
  ".cm-value b": { display: "block", fontFamily: "var(--mono)", fontWeight: "600" },
  ".cm-value b:not(:first-child)": { marginTop: "6px" },
  ".cm-value div": { maxHeight: "9em", overflow: "auto" },
  ".cm-value i": { display: "block", color: "var(--quiet)" },
  ".cm-completionIcon": { display: "none" },
  ".cm-tooltip-autocomplete .cm-completionDetail": { color: "var(--quiet)", fontStyle: "normal", fontFamily: "var(--sans)" },
  ".cm-tooltip-autocomplete li[aria-selected] .cm-completionDetail": { color: "inherit" },
  ".cm-lint-marker-error": { content: "normal", backgroundColor: "var(--bad)", borderRadius: "50%", width: "9px", height: "9px", margin: "5px 2px" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
  ".cm-panel input, .cm-panel button": { font: "inherit" },
});
const colours = cm.HighlightStyle.define([
  { tag: [cm.tags.comment, cm.tags.blockComment, cm.tags.lineComment], color: "var(--quiet)", fontStyle: "italic" },
  { tag: [cm.tags.keyword, cm.tags.controlKeyword, cm.tags.operatorKeyword, cm.tags.modifier], color: "var(--code-a)" },
  { tag: [cm.tags.string, cm.tags.special(cm.tags.string)], color: "var(--code-b)" },
  { tag: [cm.tags.propertyName, cm.tags.attributeName, cm.tags.definition(cm.tags.propertyName)], color: "var(--code-c)" },
  { tag: [cm.tags.number, cm.tags.bool, cm.tags.null], color: "var(--code-d)" },
  { tag: [cm.tags.tagName, cm.tags.angleBracket, cm.tags.heading], color: "var(--code-c)" },
  { tag: [cm.tags.brace, cm.tags.punctuation, cm.tags.meta, cm.tags.processingInstruction], color: "var(--soft)" },
]);

// CodeMirror's style sheets are adopted by a shadow root: the page's policy lets nothing else make any.
const root = $("editor").attachShadow({ mode: "open" });
const view = new cm.EditorView({ root, parent: root, state: cm.EditorState.create({ doc: "", extensions: [cm.EditorState.readOnly.of(true), cm.EditorView.contentAttributes.of({ "aria-label": "No file is open" })] }) });

export function setUp(given, { draft, open, caret }) {
  start = given;
  onDraft = draft;
  onOpen = open;
  onCaret = caret;
  $("file").addEventListener("change", () => show($("file").value));
  $("save").addEventListener("click", store);
  $("revert").addEventListener("click", () => replace(files.get(current).saved));
  // The browser asks before a page that is closed or loaded anew takes unsaved changes with it.
  addEventListener("beforeunload", (event) => Object.keys(drafts()).length && event.preventDefault());
}

const caret = () => ({ name: files.get(current).about.name, line: view.state.doc.lineAt(view.state.selection.main.head).number });

function state(id, text) {
  const name = files.get(id).about.name;
  return cm.EditorState.create({
    doc: text,
    extensions: [
      cm.keymap.of([{ key: "Mod-s", run: () => (store(), true), preventDefault: true }]),
      cm.basicSetup, cm.lintGutter(), theme, cm.syntaxHighlighting(colours), cm.EditorView.lineWrapping,
      cm.EditorState.lineSeparator.of("\n"),
      cm.EditorView.contentAttributes.of({ "aria-label": `Text of ${name}` }),
      name.endsWith(".yaml") ? cm.yaml() : cm.jinja().language, ...assist.extensions(files.get(id).about),
      cm.EditorView.updateListener.of((update) => {
        if (update.selectionSet || update.focusChanged) onCaret(view.hasFocus ? caret() : null, !update.docChanged);
        if (!update.docChanged) return;
        marked = null;
        if (!update.transactions.some((each) => each.annotation(outside))) told = null;
        buttons();
        outdate(update.changes);
        checkSoon();
        if (!update.transactions.some((each) => each.annotation(outside))) onDraft();
      }),
    ],
  });
}

// The files of the current layout, the ones with drafts included; opens the first where none is open. A file that the look
// does not use makes way for its counterpart.
export async function list(found, wanted, used) {
  const isListed = (id) => found.some((each) => each.id === id);
  const drafted = [...files.values()].filter((file) => isDraft(file) && !isListed(file.about.id));
  const ids = () => listed.map((file) => `${file.id} ${file.shipped}`).join();
  const same = ids();
  listed = [...found, ...drafted.map((file) => file.about)];
  if (same !== ids()) options();
  let next = [wanted, current].find((id) => id && (files.has(id) || isListed(id)));
  let left = null;
  if (next && !isListed(next) && files.has(next) && !(wanted === current && same === ids())) {
    left = files.get(next);
    next = counterpart(left.about, found)?.id;
  }
  if (current && next === current && same === ids()) return mark();
  next ??= (listed.find((each) => each.name === used) ?? listed[0])?.id;
  if (next !== current || current === null) await show(next);
  if (left && next !== left.about.id) followed(left);
  mark();
}

// The file that does for this layout what another did for its own: the same part of it, else the same kind of file.
function counterpart(file, found) {
  const stem = (name) => name.split("/").at(-1).split(".")[0];
  const alike = found.filter((each) => each.what === file.what && each.name.endsWith(".j2") === file.name.endsWith(".j2"));
  return alike.find((each) => stem(each.name) === stem(file.name)) ?? (file.what === "templates" && stem(file.name) !== "layout" ? alike.find((each) => stem(each.name) === "item") : null);
}

function followed(left) {
  const now = files.get(current).about.name;
  const stays = isDraft(left) ? " It has changes, so it stays in the list." : "";
  tell(`${left.about.name} is not used now; this is ${now}.${stays}`);
}

function options() {
  const group = (label, what) => {
    const rows = listed.filter(what).map((file) => {
      const known = files.get(file.id);
      const star = known && isDraft(known) ? " •" : "";
      return make("option", { value: file.id }, `${file.name}${file.shipped ? "" : " (yours)"}${star}`);
    });
    return rows.length ? [make("optgroup", { label }, ...rows)] : [];
  };
  $("file").replaceChildren(
    ...group("Templates", (file) => file.what === "templates" && file.name.endsWith(".j2")),
    ...group("Settings of layouts", (file) => file.name.endsWith("layout.yaml")),
    ...group("Profile", (file) => file.what === "profiles"),
  );
  if (current) $("file").value = current;
}

export async function show(id, line) {
  if (!id) return;
  const mine = ++opening;
  if (!files.has(id)) {
    const looked = looking;
    const found = await get(`/api/files/${id}`);
    if (mine !== opening) return;
    if (found.error) return tell(found.error.message);
    files.set(id, { about: found, saved: found.text, tag: found.tag, state: null, theirs: null, saving: null });
    if (looked !== looking) refresh(); // it may have changed while it came
  }
  if (current !== id) {
    if (current && files.has(current)) files.get(current).state = view.state;
    current = id;
    told = null;
    const file = files.get(id);
    view.setState(file.state ?? state(id, file.saved));
    marked = null;
    if (!listed.some((each) => each.id === id)) listed.push(file.about);
    options();
    onOpen(id);
    findings = { id, found: [] };
    wrong = null;
    checkSoon();
    showCosts(costs);
  }
  if (line) {
    const at = view.state.doc.line(Math.min(line, view.state.doc.lines)).from;
    view.dispatch({ selection: { anchor: at }, effects: cm.EditorView.scrollIntoView(at, { y: "center" }) });
    view.focus();
  }
  buttons();
  mark();
}

export function showName(name, line) {
  const found = listed.find((each) => each.name === name.replace(/^shipped\//, ""));
  if (found) show(found.id, line);
}

const isDraft = (file) => textOf(file) !== file.saved;

function textOf(file) {
  return file.about.id === current ? view.state.doc.toString() : file.state?.doc.toString() ?? file.saved;
}

export function drafts() {
  return Object.fromEntries([...files.values()].filter(isDraft).map((file) => [file.about.id, textOf(file)]));
}

function buttons() {
  const file = files.get(current);
  if (!file) return;
  const changed = isDraft(file);
  $("save").disabled = !changed || !start.edit;
  $("revert").disabled = !changed;
  const line = wrong && view.state.doc.lineAt(Math.min(wrong.from, view.state.doc.length)).number;
  $("about").textContent = told?.id === current ? told.message : wrong ? `Line ${line}: ${wrong.message}` : about(file, changed);
  $("about").classList.toggle("bad", Boolean(wrong) && told?.id !== current);
  $("conflict").hidden = file.theirs === null;
  if (file.theirs !== null) {
    redraw($("conflict"),
      make("span", {}, file.theirs === undefined ? "This file was removed. " : "Somebody else has changed this file. "),
      file.theirs ? make("button", { type: "button", "data-file": current, onclick: () => take(file) }, "Load theirs") : "",
      file.theirs ? make("button", { type: "button", "data-file": current, onclick: () => keep(file) }, "Keep mine") : "",
    );
  }
  const option = [...$("file").querySelectorAll("option")].find((each) => each.value === current);
  if (option) option.textContent = `${file.about.name}${file.about.shipped ? "" : " (yours)"}${changed ? " •" : ""}`;
}

function about(file, changed) {
  const own = start.own[file.about.what];
  if (!start.edit) return changed ? "Tried, not saved: this preview was started without --edit." : "Changes are tried at once; --edit lets you save them.";
  if (!file.about.shipped) return changed ? "Not saved yet (Ctrl-S)." : "Yours. Changes show at once, and are saved with Ctrl-S.";
  return own ? `Shipped. Saving puts a copy of your own into ${own}/.` : `Shipped, and there is no folder of your own for it: --${file.about.what} DIR.`;
}

function replace(text) {
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
}

async function store() {
  const file = files.get(current);
  while (file?.saving) await file.saving; // pressed again: what was typed since is saved after what is on its way
  if (!file || !isDraft(file)) return;
  if (!start.edit) return tell("Started without --edit, so nothing is saved.");
  const text = textOf(file);
  file.saving = put(`/api/files/${file.about.id}`, { text }, file.tag);
  const done = await file.saving;
  file.saving = null;
  if (done.error) return refresh().then(() => tell(done.error.message));
  file.saved = text;
  file.tag = done.tag;
  file.theirs = null;
  if (done.copied) file.about = { ...file.about, shipped: false };
  listed = listed.map((each) => (each.id === file.about.id ? file.about : each));
  buttons();
  tell(done.copied ? `Saved as a copy of your own in ${start.own[file.about.what]}/.` : "Saved.");
}

function tell(message) {
  told = { id: current, message };
  $("about").textContent = message;
  $("said").textContent = message;
}

// Looks again at all open files after a change on the disk. What was read before a newer look, or before a save, is not told:
// answers may come in another order than they were asked for.
export async function refresh() {
  const mine = ++looking;
  for (const [id, file] of files) {
    const { tag } = file;
    const found = await get(`/api/files/${id}`).catch(() => null);
    if (mine !== looking) return;
    if (!found || file.saving || file.tag !== tag) continue;
    if (found.error) {
      file.theirs = undefined;
      continue;
    }
    file.about = { ...file.about, shipped: found.shipped };
    if (found.tag === file.tag) {
      file.theirs = null; // it is again as it was
      continue;
    }
    if (isDraft(file) && textOf(file) !== found.text) {
      file.theirs = found;
      continue;
    }
    adopt(file, found);
  }
  buttons();
}

function adopt(file, found) {
  file.saved = found.text;
  file.tag = found.tag;
  file.theirs = null;
  if (file.about.id !== current) {
    file.state = null;
    return;
  }
  const old = view.state.doc.toString();
  let from = 0;
  while (from < Math.min(old.length, found.text.length) && old[from] === found.text[from]) from++;
  let back = 0;
  while (back < Math.min(old.length, found.text.length) - from && old.at(-1 - back) === found.text.at(-1 - back)) back++;
  const insert = found.text.slice(from, found.text.length - back);
  view.dispatch({ changes: { from, to: old.length - back, insert }, annotations: outside.of(true) });
}

function take(file) {
  if (!file.theirs) return; // it was taken back during the press
  adopt(file, file.theirs);
  buttons();
  onDraft();
}

function keep(file) {
  if (!file.theirs) return;
  file.saved = file.theirs.text;
  file.tag = file.theirs.tag;
  file.theirs = null;
  buttons();
  view.focus();
}

// --- errors in their place ------------------------------------------------------------------------------------------

export function fault(error) {
  failed = error;
  mark();
}

// The tokens that each line of a template has printed.
export function showCosts(found) {
  costs = found;
  const name = files.get(current)?.about.name;
  if (name) assist.showCosts(view, costs[name] ?? {});
}

export const focus = () => view.focus();

function checkSoon() {
  const id = current;
  if (!files.has(id)) return;
  const text = textOf(files.get(id));
  assist.check(id, { ...drafts(), [id]: text }, (found) => {
    if (id !== current || textOf(files.get(id)) !== text) return; // it has changed since, and is checked again
    findings = { id, found };
    mark();
  });
}

// A finding about a place that was changed since is no longer true; the others move with their words.
function outdate(changes) {
  const known = findings.found.filter((each) => Math.max(each.to, each.edit?.[1] ?? 0) <= changes.length);
  findings.found = known.filter((each) => !changes.touchesRange(each.from, Math.max(each.to, each.from + 1)))
    .map((each) => ({ ...each, from: changes.mapPos(each.from), to: changes.mapPos(each.to), edit: each.edit && [changes.mapPos(each.edit[0]), changes.mapPos(each.edit[1]), each.edit[2]] }));
}

function mark() {
  const here = failed && files.get(current)?.about;
  const found = findings.id === current ? assist.diagnostics(findings.found, view.state.doc.length) : [];
  if (here && !found.some((each) => each.severity === "error") && failed.line && (failed.file === here.id || failed.name === here.name)) {
    const line = view.state.doc.line(Math.min(failed.line, view.state.doc.lines));
    found.push({ from: line.from, to: line.to, severity: "error", message: failed.message });
  }
  const key = JSON.stringify(found);
  if (key !== marked) view.dispatch(cm.setDiagnostics(view.state, found)); // which closes the box that tells of a finding
  marked = key;
  wrong = found.find((each) => each.severity === "error") ?? null;
  if (files.has(current)) buttons();
}
