// Making elements. Texts go in as text, never as markup.

export const $ = (id) => document.getElementById(id);

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// Puts other children into an element. What is there already stays, and with it the focus: so what a press does must show in
// its attributes. While something is pressed, all stays: a button that is replaced, or moves away, before it is let go is never
// clicked.
export function redraw(box, ...wanted) {
  held.delete(box);
  if (pressed) return void held.set(box, wanted);
  const old = [...box.childNodes];
  const open = box.querySelector(":scope > details")?.open; // nodes held back were made before the press that opened it
  const nodes = wanted.map((node) => (typeof node === "string" ? document.createTextNode(node) : node));
  nodes.forEach((node, at) => {
    if (node.localName === "details") node.open = open ?? node.open;
    if (old[at]?.isEqualNode(node)) return;
    if (at < old.length) old[at].replaceWith(node);
    else box.append(node);
    if (node.open) node.dispatchEvent(new Event("toggle")); // now it is in the page, where it asks for what it shows
  });
  for (const node of old.slice(wanted.length)) node.remove();
}

const held = new Map(); // element → the children that it gets once nothing is pressed
let pressed = false;
const release = () => {
  pressed = false;
  for (const [box, wanted] of held) redraw(box, ...wanted);
};
addEventListener("pointerdown", (event) => (pressed = Boolean(event.target.closest?.("button, summary, .bar i, .ghosts i"))), true);
addEventListener("click", () => (pressed = false), true); // what the click itself draws is not held back
for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => setTimeout(release), true);

export const count = new Intl.NumberFormat("en-US").format;
export const plural = (number, one, many) => `${count(number)} ${number === 1 ? one : many}`;
export const shorten = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

// What an item is called: its path and lines, its name, or its id.
export function label(item) {
  if (item.path) return [item.path, ...(item.start_line ? [[item.start_line, item.end_line].filter(Boolean).join("-")] : [])].join(":");
  return item.name || item.id;
}

// The first place in a list, ascending by `end`, whose end is past `at`.
export function past(list, at, end = (each) => each) {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (end(list[middle]) <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

export const signed = (number) => (number > 0 ? `+${count(number)}` : number < 0 ? `−${count(-number)}` : "±0");

// What is wrong, and a way to its place; null takes it away.
export function notice(id, error, { open = null, more = [] } = {}) {
  const box = $(id);
  box.hidden = !error;
  if (!error) return box.replaceChildren();
  const at = error.line ? `${error.name}:${error.line}` : error.name;
  const place = at && open ? [make("button", { type: "button", class: "line", onclick: open }, at), " "] : [];
  const end = /[.?!]$/.test(error.message) ? "" : ".";
  box.replaceChildren(...place, make("span", {}, error.message + end), ...more.flatMap((each) => [" ", each]));
}
