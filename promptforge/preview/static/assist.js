// Help while one types: words to complete, findings of the check with their fixes, values over names, tokens of each line.

import * as cm from "./vendor/codemirror.js";
import { count, make, shorten } from "./dom.js";
import { get, newest } from "./net.js";
import { seenText } from "./marks.js";

const REST = 250; // milliseconds of rest after which a draft is checked
const ask = newest("/api/findings");
let words = null;
let vocabulary = {};
let names = { profiles: [], layouts: [], formats: [] };
let valuesOf = null; // asks for the values of the item that is picked
let timer = 0;

export async function setUp(start, values) {
  vocabulary = start.vocabulary;
  names = { profiles: start.profiles.map((each) => each.name), layouts: Object.keys(start.layouts), formats: [...new Set(Object.values(start.layouts).flat())] };
  valuesOf = values;
  words ??= await get("/api/words").catch(() => null);
}

// --- completion -----------------------------------------------------------------------------------------------------

function option(label, meaning, type, apply) {
  const info = meaning.replaceAll("`", "");
  return { label, detail: shorten(info, 70), info: info.length > 70 ? info : undefined, type, apply };
}
const list = (found, type) => Object.entries(found ?? {}).map(([name, info]) => option(name, info, type));

function completeTemplate(context) {
  if (!words) return null;
  const line = context.state.doc.lineAt(context.pos);
  const before = line.text.slice(0, context.pos - line.from);
  const opened = Math.max(before.lastIndexOf("{{"), before.lastIndexOf("{%"));
  if (opened < 0 || before.indexOf(before[opened + 1] === "{" ? "}}" : "%}", opened) >= 0) return null;
  const inside = before.slice(opened + 2);
  const from = context.pos - /\w*$/.exec(inside)[0].length;
  const ahead = inside.slice(0, inside.length - (context.pos - from));
  if (/\|\s*$/.test(ahead)) return { from, options: list(words.filters, "function"), validFor: /^\w*$/ };
  if (/\bitem\.$/.test(ahead)) return { from, options: list(words.fields, "property"), validFor: /^\w*$/ };
  if (/\bloop\.$/.test(ahead)) return { from, options: ["index", "first", "last", "length"].map((name) => option(name, "of the loop", "property")), validFor: /^\w*$/ };
  if (/\.$/.test(ahead)) return null;
  if (before[opened + 1] === "%" && /^[-+]?\s*$/.test(ahead)) return { from, options: list(words.tags, "keyword"), validFor: /^\w*$/ };
  if (from === context.pos && !context.explicit) return null;
  return { from, options: list(words.variables, "variable"), validFor: /^\w*$/ };
}

function completeYaml(isLayout) {
  return (context) => {
    const line = context.state.doc.lineAt(context.pos);
    const before = line.text.slice(0, context.pos - line.from);
    const key = /^([a-z_]+):\s*(.*)$/.exec(before);
    if (key) return completeValue(key[1], context, key[2]);
    const word = /^[a-z_]*$/.exec(before);
    if (!word || (before === "" && !context.explicit)) return null;
    const own = isLayout ? words?.layout_keys : { extends: "the profile that this one builds on", description: "one sentence for promptforge list", ...Object.fromEntries(Object.keys(vocabulary).map((name) => [name, ""])) };
    const options = Object.entries(own ?? {}).map(([name, info]) => option(name, vocabulary[name]?.description ?? info, "property", `${name}: `));
    return { from: line.from, options, validFor: /^[a-z_]*$/ };
  };
}

function completeValue(key, context, typed) {
  const schema = vocabulary[key];
  const kinds = schema ? schema.anyOf ?? [schema] : [];
  const found = { extends: names.profiles, layout: names.layouts, base: names.layouts, format: names.formats }[key]
    ?? kinds.flatMap((each) => each.enum ?? (each.type === "boolean" ? ["true", "false"] : each.type === "null" ? ["none"] : []));
  if (!found.length) return null;
  return { from: context.pos - typed.length, options: [...new Set(found)].map((name) => option(String(name), name === String(schema?.default) ? "default" : "", "constant")), validFor: /^[\w.-]*$/ };
}

// What a file of this name gets: its words, values over them, tokens beside its lines.
export function extensions(file) {
  const isYaml = file.what === "profiles" || file.name.endsWith(".yaml");
  const source = isYaml ? completeYaml(file.name.endsWith("layout.yaml")) : completeTemplate;
  return [
    cm.EditorState.languageData.of(() => [{ autocomplete: source }]),
    ...(isYaml ? [hoverYaml] : [hover, costs]),
  ];
}

// --- values over names ----------------------------------------------------------------------------------------------

// `rows` are [name, value, about] each. A long value scrolls, so that keys can reach it.
function tip({ from, to }, rows) {
  const parts = rows.flatMap(([name, value, about]) => [make("b", {}, name), make("div", { tabindex: "0" }, seenText(value)), about ? make("i", {}, about) : null]);
  return { pos: from, end: to, above: true, create: () => ({ dom: make("div", { class: "cm-value" }, ...parts) }) };
}

function wordAt(view, at) {
  const line = view.state.doc.lineAt(at);
  for (const found of line.text.matchAll(/[A-Za-z_][\w.]*/g)) {
    const from = line.from + found.index;
    if (from <= at && at <= from + found[0].length) return { name: found[0], from, to: from + found[0].length, line };
  }
  return null;
}

const hover = cm.hoverTooltip(async (view, at) => {
  const found = wordAt(view, at);
  if (!found) return null;
  const { name, from, line } = found;
  const around = [...line.text.matchAll(/{{[-+]?\s*(.*?)\s*[-+]?}}/g)].find((each) => each.index < at - line.from && at - line.from < each.index + each[0].length);
  const { values = {}, printed = null } = (await valuesOf(around?.[1])) ?? {};
  const rows = [];
  if (/\|\s*$/.test(line.text.slice(0, from - line.from)) && words?.filters[name]) rows.push([`| ${name}`, words.filters[name]]);
  else if (Object.hasOwn(values, name)) rows.push([name, values[name], words?.fields[name.replace(/^item\./, "")] ?? words?.variables[name]]);
  if (printed !== null && around[1] !== name) rows.push([`{{ ${around[1]} }}`, printed || "nothing", "as it is printed"]);
  return rows.length ? tip(found, rows) : null;
});

const hoverYaml = cm.hoverTooltip((view, at) => {
  const found = wordAt(view, at);
  const schema = found && vocabulary[found.name];
  return schema ? tip(found, [[found.name, schema.description, `default: ${JSON.stringify(schema.default)}`]]) : null;
});

// --- tokens of each line --------------------------------------------------------------------------------------------

class Cost extends cm.GutterMarker {
  constructor(tokens) {
    super();
    this.tokens = tokens;
  }
  eq(other) {
    return other.tokens === this.tokens;
  }
  toDOM() {
    return Object.assign(document.createElement("span"), { textContent: count(this.tokens), title: `This line printed ${count(this.tokens)} tokens of the text` });
  }
}
const setCosts = cm.StateEffect.define();
const shownCosts = cm.StateField.define({
  create: () => cm.RangeSet.empty,
  update(value, transaction) {
    for (const effect of transaction.effects) if (effect.is(setCosts)) return effect.value;
    return value.map(transaction.changes);
  },
});
const costs = [shownCosts, cm.gutter({ class: "cm-costs", markers: (view) => view.state.field(shownCosts), initialSpacer: () => new Cost(88) })];

export function showCosts(view, lines) {
  if (!view.state.field(shownCosts, false)) return;
  const { doc } = view.state;
  const marks = Object.entries(lines ?? {}).map(([number, tokens]) => [Number(number), tokens])
    .filter(([number, tokens]) => tokens > 0 && number <= doc.lines).sort((a, b) => a[0] - b[0])
    .map(([number, tokens]) => new Cost(tokens).range(doc.line(number).from));
  view.dispatch({ effects: setCosts.of(cm.RangeSet.of(marks)) });
}

// --- findings -------------------------------------------------------------------------------------------------------

// Calls `tell` with the findings of a file as it is in the editor, once it has rested.
export function check(id, drafts, tell) {
  clearTimeout(timer);
  timer = setTimeout(async () => {
    const found = await ask({ view: {}, drafts, file: id });
    if (found?.error) tell([{ from: 0, to: 0, code: "", severity: "warning", message: `Not checked: ${found.error.message}`, edit: null }]);
    else if (found) tell(found.findings);
  }, REST);
}

export function diagnostics(findings, length) {
  return findings.filter((each) => each.from <= length).map((each) => ({
    from: each.from, to: Math.min(each.to, length), source: each.code, message: each.message,
    severity: { error: "error", warning: "warning", note: "info" }[each.severity],
    actions: each.edit ? [{ name: "Fix", apply: (view) => view.dispatch({ changes: { from: each.edit[0], to: Math.min(each.edit[1], view.state.doc.length), insert: each.edit[2] } }) }] : [],
  }));
}
