// The whole prompt: its messages as cards, or the request of a provider as it is sent.

import { $, count, make } from "./dom.js";
import { MOST } from "./text.js";

export const SHAPES = {
  openai: "OpenAI chat", "openai-responses": "OpenAI responses", anthropic: "Anthropic", gemini: "Gemini",
  roles: "chat templates of open weights", text: "one text",
};

export function draw(found) {
  if (found.to === "roles" && !$("messages").hidden) {
    $("messages").replaceChildren(account(found), ...found.messages.map(card));
  } else {
    $("sent").textContent = cut(found.sent);
    $("sent-about").textContent = spent(found);
  }
}

const spent = (found) =>
  `${count(found.tokens)} tokens${found.window === null ? "" : ` of ${count(found.window)}`}${found.exact ? "" : ", about"}`;

const cut = (text) => (text.length > MOST ? `${text.slice(0, MOST)}\n… ${count(text.length - MOST)} more characters; Copy takes them all` : text);

function account(found) {
  const parts = found.parts.map((part) => {
    const left = part.dropped ? ` (${count(part.dropped)} left out)` : "";
    return make("li", {}, `${part.name} `, make("b", {}, count(part.tokens)), left);
  });
  const around = found.tokens - found.parts.reduce((sum, part) => sum + part.tokens, 0);
  if (around > 0) parts.push(make("li", {}, "around them ", make("b", {}, count(around))));
  return make("ul", { class: "parts", "aria-label": "Tokens of each part" }, make("li", { class: "sum" }, spent(found)), ...parts);
}

function card(message) {
  const calls = (message.tool_calls ?? []).map(({ function: called }) => make("pre", { class: "call" }, `${called.name}(${called.arguments})`));
  return make("article", { class: `card ${message.role}` }, make("h2", {}, message.role),
    message.content === null ? null : make("pre", {}, cut(message.content)), ...calls);
}
