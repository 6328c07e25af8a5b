// The drawer of all options: each with its meaning and the value in force; what is set here goes into the view.

import { $, make } from "./dom.js";

const ELSEWHERE = ["layout", "format", "max_tokens", "query"];
let vocabulary = {};
let groups = []; // each a heading and the names of its options
let onSet = () => {};

export function setUp(given, sorted, set) {
  vocabulary = given;
  groups = sorted.map(([title, names]) => [title, names.filter((name) => !ELSEWHERE.includes(name))]);
  onSet = set;
  $("options-close").addEventListener("click", () => $("options").close());
  $("options-find").addEventListener("input", find);
}

export function open(view, page) {
  const known = new Set([...ELSEWHERE, ...groups.flatMap(([, names]) => names)]);
  const rest = Object.keys(vocabulary).filter((name) => !known.has(name));
  $("options-list").replaceChildren(...[...groups, ["More", rest]].filter(([, names]) => names.length).map(([title, names]) =>
    make("fieldset", {}, make("legend", {}, title), ...names.map((name) => field(name, view.options, page?.options[name])))));
  if (!$("options").open) $("options").showModal();
  find();
  $("options-find").focus();
}

function find() {
  const words = $("options-find").value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const row of $("options-list").querySelectorAll(".option")) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
  for (const group of $("options-list").querySelectorAll("fieldset")) group.hidden = !group.querySelector(".option:not([hidden])");
}

const kindsOf = (schema) => (schema.anyOf ?? [schema]);
const takesNone = (schema) => kindsOf(schema).some((each) => each.type === "null");

function field(name, set, inForce) {
  const schema = vocabulary[name];
  const isSet = Object.hasOwn(set, name);
  const value = isSet ? set[name] : inForce;
  const input = control(name, schema, value, (next) => onSet(name, next));
  const undo = make("button", { type: "button", class: "undo", title: "Leave it to the profile", hidden: !isSet, onclick: () => onSet(name, undefined) }, "as before");
  return make("div", { class: `option${isSet ? " set" : ""}` }, make("label", { for: `o-${name}` }, name), input, undo, make("p", {}, schema.description));
}

function control(name, schema, value, set) {
  const kinds = kindsOf(schema);
  const choices = kinds.flatMap((each) => each.enum ?? []);
  const id = `o-${name}`;
  if (kinds[0].type === "boolean") {
    const box = make("input", { type: "checkbox", id, checked: Boolean(value) });
    box.addEventListener("change", () => set(box.checked));
    return box;
  }
  if (choices.length && kinds[0].type !== "array") {
    const names = takesNone(schema) && !choices.includes("none") ? [...choices, "none"] : choices;
    const select = make("select", { id }, ...names.map((each) => make("option", { value: each, selected: each === (value ?? "none") }, each)));
    select.addEventListener("change", () => set(select.value));
    return select;
  }
  const text = make("input", { id, spellcheck: "false", placeholder: takesNone(schema) ? "none" : "", value: shown(value) });
  text.addEventListener("change", () => set(read(kinds[0], text.value, takesNone(schema))));
  return text;
}

const shown = (value) => (value === null || value === undefined ? "" : Array.isArray(value) ? value.join(", ") : typeof value === "object" ? JSON.stringify(value) : String(value));

function read(kind, text, none) {
  const bare = text.trim();
  if (none && (bare === "" || bare === "none")) return null;
  if (["integer", "number"].includes(kind.type) && bare !== "" && !Number.isNaN(Number(bare))) return Number(bare);
  if (kind.type === "array") return bare.split(",").map((word) => word.trim()).filter(Boolean);
  if (kind.type === "object") {
    try {
      return JSON.parse(bare);
    } catch {
      return bare;
    }
  }
  return text;
}
