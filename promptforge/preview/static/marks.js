// Characters that cannot be seen, as small boxes with a name. The character itself stays in the text, so that a copy is true.

import { make } from "./dom.js";

const NAMES = {
  "\u00ad": "SHY", "\u034f": "CGJ", "\u061c": "ALM", "\u115f": "HCF", "\u1160": "HJF", "\u17b4": "KIV", "\u17b5": "KIV",
  "\u180e": "MVS", "\u200b": "ZWSP", "\u200c": "ZWNJ", "\u200d": "ZWJ", "\u200e": "LRM", "\u200f": "RLM",
  "\u202a": "LRE", "\u202b": "RLE", "\u202c": "PDF", "\u202d": "LRO", "\u202e": "RLO", "\u2060": "WJ",
  "\u2066": "LRI", "\u2067": "RLI", "\u2068": "FSI", "\u2069": "PDI", "\u3164": "HF", "\ufeff": "BOM", "\uffa0": "HHF",
  "\u2028": "LS", "\u2029": "PS", "\u00a0": "NBSP", "\u202f": "NNBSP",
};
const CONTROLS = ["NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL", "BS", "", "", "VT", "FF", "CR", "SO", "SI", "DLE", "DC1", "DC2",
  "DC3", "DC4", "NAK", "SYN", "ETB", "CAN", "EM", "SUB", "ESC", "FS", "GS", "RS", "US"];
// Joiners inside an emoji and the marks that choose its look belong to it: they hide nothing.
const UNSEEN = /(?<!\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]?)\u200d|[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u00a0\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200e\u200f\u2028-\u202f\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|(?:[\ufe00-\ufe0d]|[\u{e0100}-\u{e01ef}])/gu;
const ANY = new RegExp(UNSEEN.source, "u");

function nameOf(char) {
  const code = char.codePointAt(0);
  if (NAMES[char]) return NAMES[char];
  if (code < 32) return CONTROLS[code];
  if (code === 127) return "DEL";
  if (code >= 0xe0020 && code < 0xe007f) return `TAG ${String.fromCodePoint(code - 0xe0000)}`;
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

// The text as nodes: what can be seen as it is, and a box around each character that cannot.
export function seen(text) {
  if (!ANY.test(text)) return [text];
  const nodes = [];
  let at = 0;
  for (const found of text.matchAll(UNSEEN)) {
    if (found.index > at) nodes.push(text.slice(at, found.index));
    const name = nameOf(found[0]);
    const code = `U+${found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
    nodes.push(make("span", { class: "unseen", "data-name": name, title: `${name}, ${code}: cannot be seen` }, make("span", {}, found[0])));
    at = found.index + found[0].length;
  }
  if (at < text.length) nodes.push(text.slice(at));
  return nodes;
}

// The same for where no element can stand, such as a title.
export const seenText = (text) => (ANY.test(text) ? text.replace(UNSEEN, (char) => `⟨${nameOf(char)}⟩`) : text);
