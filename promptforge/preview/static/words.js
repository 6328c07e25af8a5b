// What differs between two texts, word by word: the longest common run of words stays, as far as that is quick.

import { make } from "./dom.js";
import { seen } from "./marks.js";

const MOST = 1500; // words of a text; longer ones are compared by their common ends alone

const split = (text) => text.match(/\w+|\s+|[^\w\s]/gu) ?? [];

// [kind, text] pairs: "same", "minus" (A alone), "plus" (B alone).
export function difference(a, b) {
  const [x, y] = [split(a), split(b)];
  let head = 0;
  while (head < x.length && head < y.length && x[head] === y[head]) head++;
  let tail = 0;
  while (tail < x.length - head && tail < y.length - head && x.at(-1 - tail) === y.at(-1 - tail)) tail++;
  const middle = inner(x.slice(head, x.length - tail), y.slice(head, y.length - tail));
  const parts = [["same", x.slice(0, head).join("")], ...middle, ["same", x.slice(x.length - tail).join("")]];
  return parts.filter(([, text]) => text);
}

function inner(x, y) {
  if (!x.length || !y.length || x.length > MOST || y.length > MOST) return [["minus", x.join("")], ["plus", y.join("")]];
  const width = y.length + 1;
  const best = new Uint16Array((x.length + 1) * width);
  for (let i = x.length - 1; i >= 0; i--) {
    for (let j = y.length - 1; j >= 0; j--) {
      best[i * width + j] = x[i] === y[j] ? best[(i + 1) * width + j + 1] + 1 : Math.max(best[(i + 1) * width + j], best[i * width + j + 1]);
    }
  }
  const parts = [];
  const push = (kind, word) => (parts.at(-1)?.[0] === kind ? (parts.at(-1)[1] += word) : parts.push([kind, word]));
  let [i, j] = [0, 0];
  while (i < x.length || j < y.length) {
    if (i < x.length && j < y.length && x[i] === y[j]) push("same", x[(j++, i++)]);
    else if (j >= y.length || (i < x.length && best[(i + 1) * width + j] >= best[i * width + j + 1])) push("minus", x[i++]);
    else push("plus", y[j++]);
  }
  return parts;
}

// One text with both sides in it, or one side alone: the other's words are left out.
export function marked(parts, side = null) {
  return parts.flatMap(([kind, text]) => {
    if (kind === "same") return seen(text);
    if (side && kind !== side) return [];
    return [make(kind === "minus" ? "del" : "ins", {}, ...seen(text))];
  });
}
