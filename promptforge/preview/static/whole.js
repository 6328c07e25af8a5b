// The whole prompt: its messages as cards with their tokens, or the request of a provider as it is sent.

import { $, count, make, whenLetGo } from "./dom.js";
import { seen, seenText } from "./marks.js";
import { MOST } from "./text.js";

export const SHAPES = {
  openai: "OpenAI chat", "openai-responses": "OpenAI responses", anthropic: "Anthropic", gemini: "Gemini",
  roles: "chat templates of open weights", text: "one text",
};

// What is seen belongs to an earlier text until the new prompt is there.
export function wait() {
  for (const id of ["messages", "request"]) $(id).classList.add("pending");
  $("sent-about").textContent = "Rendering the whole prompt…";
}

// `open` leads to an item of the context, by its number.
export function draw(found, page, open) {
  for (const id of ["messages", "request"]) $(id).classList.remove("pending");
  if (found.to === "roles" && !$("messages").hidden) {
    const cards = found.messages.map((message) => card(message, found, page, open));
    whenLetGo($("messages"), () => $("messages").replaceChildren(account(found), ...cards));
  } else {
    $("sent").replaceChildren(...seen(cut(found.sent)));
    $("sent-about").replaceChildren(...spent(found));
  }
}

// The price of a text or prompt as input, after what it counts; nothing where its profile has none.
export const cost = (found) => (found?.price ? [" · ", make("span", { title: seenText(found.price.about) }, found.price.says)] : []);

const spent = (found) =>
  [`${found.exact ? "" : "about "}${count(found.tokens)}${found.window === null ? "" : ` of ${count(found.window)}`} tokens`, ...cost(found)];

const cut = (text) => (text.length > MOST ? `${text.slice(0, MOST)}\n… ${count(text.length - MOST)} more characters; Copy takes them all` : text);

const share = (tokens, all) => `${((100 * tokens) / Math.max(all, 1)).toFixed(tokens * 20 < all ? 1 : 0)} %`;

function account(found) {
  const parts = found.parts.map((part) => {
    const left = part.dropped ? ` (${count(part.dropped)} left out)` : "";
    const breaks = found.cache_after?.includes(part.name) ? make("span", { class: "breakpoint", title: "the provider may cache the prompt up to here" }, "cache breakpoint") : null;
    return make("li", {}, `${part.name} `, make("b", {}, count(part.tokens)), ` ${share(part.tokens, found.tokens)}${left} `, breaks);
  });
  const around = found.tokens - found.parts.reduce((sum, part) => sum + part.tokens, 0);
  if (around > 0) parts.push(make("li", {}, "around them ", make("b", {}, count(around)), ` ${share(around, found.tokens)}`));
  return make("ul", { class: "parts", "aria-label": "Tokens of each part" }, make("li", { class: "sum" }, ...spent(found)), ...parts);
}

function card(message, found, page, open) {
  const calls = (message.tool_calls ?? []).map(({ function: called }) => make("pre", { class: "call" }, `${called.name}(${called.arguments})`));
  const text = message.content ?? "";
  const place = page?.text ? text.indexOf(page.text.trim()) : -1;
  const tokens = found.message_tokens?.[found.messages.indexOf(message)];
  const head = make("h2", {}, message.role, tokens === undefined ? null : make("span", { class: "quiet" }, ` ${count(tokens)} tokens · ${share(tokens, found.tokens)}`));
  const body = place < 0 ? [make("pre", {}, ...seen(cut(text)))] : [make("pre", {}, ...context(text, place, page, open))];
  return make("article", { class: `card ${message.role}` }, head, ...(message.content === null ? [] : body), ...calls);
}

// The context inside a message: each item's part leads to the item.
function context(text, place, page, open) {
  const skipped = page.text.length - page.text.trimStart().length;
  const shift = place - skipped;
  const end = place + page.text.trim().length;
  const nodes = seen(text.slice(0, place));
  for (const [from, to, item] of page.spans) {
    const piece = text.slice(Math.max(place, from + shift), Math.min(end, to + shift));
    if (!piece) continue;
    if (item === null) nodes.push(...seen(piece));
    else nodes.push(make("span", { class: `run ${page.rows[item].tint}`, "data-item": item, title: page.rows[item].label, onclick: () => open(item) }, ...seen(piece)));
  }
  return [...nodes, ...seen(text.slice(end))];
}
