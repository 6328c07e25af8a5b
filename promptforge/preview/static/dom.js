// Making elements. Texts go in as text, never as markup.

export const $ = (id) => document.getElementById(id);

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

export const count = (number) => number.toLocaleString("en-US");

// What an item is called: its path and lines, its name, or its id.
export function label(item) {
  if (item.path) return item.start_line ? `${item.path}:${item.start_line}-${item.end_line ?? item.start_line}` : item.path;
  return item.name || item.id;
}

// One of eight tints, the same for an item wherever it stands.
export function tint(number) {
  return `t${number % 8}`;
}
