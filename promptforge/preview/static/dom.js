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
// its attributes.
export function redraw(box, ...wanted) {
  whenLetGo(box, () => patch(box, wanted));
}

function patch(box, wanted) {
  const old = [...box.childNodes];
  const open = box.querySelector(":scope > details")?.open; // nodes held back were made before the press that opened it
  const nodes = wanted.map((node) => (typeof node === "string" ? document.createTextNode(node) : node));
  if (box.dataset.rove !== undefined) { // one tab stop, where it was
    const all = nodes.flatMap((node) => (node.localName === "button" ? [node] : [...node.querySelectorAll("button")]));
    all.forEach((each, at) => each.setAttribute("tabindex", at === Math.min(Number(box.dataset.rove), all.length - 1) ? "0" : "-1"));
  }
  nodes.forEach((node, at) => {
    if (node.localName === "details") node.open = open ?? node.open;
    if (old[at]?.isEqualNode(node)) return;
    if (at < old.length) old[at].replaceWith(node);
    else box.append(node);
    if (node.open) node.dispatchEvent(new Event("toggle")); // now it is in the page, where it asks for what it shows
  });
  for (const node of old.slice(wanted.length)) node.remove();
}

// --- presses: from the pointer's way down to the click ---------------------------------------------------------------

const PRESSABLE = "button:enabled, summary, .bar i, .ghosts i, .run";
const CLICK_MS = 400; // the click of a finger is an event of its own, later than its pointerup
const held = new Map(); // element → what draws it once nothing is pressed
let press = null; // the element that is pressed, and the box that it had then

// Draws an element at once, or after the press: a button that is replaced before it is let go is never clicked.
export function whenLetGo(box, draw) {
  held.delete(box);
  if (press) held.set(box, draw);
  else draw();
}

export const presses = (box) => press !== null && box.contains(press.element);

function letGo(ended) {
  if (press && press !== ended) return; // another press has begun
  press = null;
  const draws = [...held.values()];
  held.clear();
  for (const draw of draws) draw();
}

// Is this the click of a press? The pointer is where the pressed element was, and has not selected a part of the text.
function isMeant({ element, box }, { clientX: x, clientY: y, detail }) {
  const isInside = x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
  const selects = element.matches(".run") && !getSelection().isCollapsed;
  return detail > 0 && isInside && !selects && element.isConnected && element.matches(PRESSABLE);
}

addEventListener("pointerdown", ({ target }) => {
  const element = target.closest?.(PRESSABLE);
  press = element ? { element, box: element.getBoundingClientRect() } : null;
}, true);
// What is drawn above a button moves it away from a pointer that rests. The browser then clicks the nearest element that holds
// both the button and what is under the pointer by now: the button gets the click instead.
addEventListener("click", (event) => {
  const ended = press;
  press = null; // what the click itself draws is not held back
  setTimeout(letGo);
  if (!ended || ended.element.contains(event.target) || !isMeant(ended, event)) return;
  event.stopImmediatePropagation();
  event.preventDefault();
  const { clientX, clientY, detail } = event;
  ended.element.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, clientX, clientY, detail }));
}, true);
for (const [end, wait] of [["pointerup", CLICK_MS], ["pointercancel", 0]]) addEventListener(end, () => setTimeout(letGo, wait, press), true);

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
  if (!error) return whenLetGo(box, () => box.replaceChildren());
  const at = error.line ? `${error.name}:${error.line}` : error.name;
  const place = at && open ? [make("button", { type: "button", class: "line", onclick: open }, at), " "] : [];
  const end = /[.?!]$/.test(error.message) ? "" : ".";
  const nodes = [...place, make("span", {}, error.message + end), ...more.flatMap((each) => [" ", each])];
  whenLetGo(box, () => box.replaceChildren(...nodes));
}
