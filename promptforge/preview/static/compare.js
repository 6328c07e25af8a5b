// Two views side by side: their texts line by line, and what each item and section takes more or less.

import { $, count, label, make, signed } from "./dom.js";

const AROUND = 4; // equal lines that are kept around a change
const MOST = 4000; // rows that are drawn

export function draw(found, byId) {
  $("verdict").textContent = found.rows === null ? "too long to compare line by line" : found.a.text === found.b.text ? "the texts are the same" : "";
  const figures = pairs("figure", found.figures, "name");
  const sections = found.sections.filter((each) => each.title);
  const bySection = sections.length ? [pairs("section", sections, "title")] : [];
  const changes = found.changes.slice(0, 40).map((each) => {
    const item = byId.get(each.id);
    return [item ? label(item) : each.id, each.how, signed(each.delta)];
  });
  const byItem = changes.length ? table(["item", "change", "tokens"], changes) : make("p", { class: "quiet" }, "The same items in the same forms.");
  if (found.changes.length > 40) byItem.append(make("caption", {}, `${count(found.changes.length - 40)} more`));
  $("deltas").replaceChildren(figures, ...bySection, byItem);
  $("sides").replaceChildren(...texts(found));
}

const pairs = (head, rows, name) =>
  table([head, "A", "B", "B − A"], rows.map((each) => [each[name], count(each.a), count(each.b), each.a === each.b ? "" : signed(each.b - each.a)]));

function table(heads, rows) {
  return make("table", {}, make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((cell, index) => make(index ? "td" : "th", index ? {} : { scope: "row" }, cell))))));
}

function texts(found) {
  const a = found.a.text.split("\n");
  const b = found.b.text.split("\n");
  const rows = [];
  const push = (kind, i, j) => rows.push([kind, i, j]);
  for (const [how, a1, a2, b1, b2] of found.rows ?? [["replace", 0, a.length, 0, b.length]]) {
    if (how === "equal") {
      const length = a2 - a1;
      const first = a1 === 0 ? 0 : AROUND;
      const last = a2 === a.length ? 0 : AROUND;
      for (let k = 0; k < length; k++) {
        if (length > first + last + 3 && k === first) {
          push("gap", length - first - last, null);
          k = length - last - 1;
          continue;
        }
        push("equal", a1 + k, b1 + k);
      }
    } else {
      for (let k = 0; k < Math.max(a2 - a1, b2 - b1); k++) push(how, a1 + k < a2 ? a1 + k : null, b1 + k < b2 ? b1 + k : null);
    }
  }
  const drawn = rows.slice(0, MOST).map(([kind, i, j]) => {
    if (kind === "gap") return make("p", { class: "gap" }, `${count(i)} equal lines`);
    const cell = (lines, at, side) => make("pre", { class: at === null ? "nothing" : kind === "equal" ? "" : side }, at === null ? "" : lines[at] || " ");
    return make("div", { class: "pair" }, cell(a, i, "minus"), cell(b, j, "plus"));
  });
  if (rows.length > MOST) drawn.push(make("p", { class: "gap" }, `${count(rows.length - MOST)} more rows`));
  return [make("div", { class: "pair heads" }, make("b", {}, side("A", found.a)), make("b", {}, side("B", found.b))), ...drawn];
}

function side(letter, page) {
  const most = page.max_tokens === null ? "no limit" : `of ${count(page.max_tokens)}`;
  return `${letter} · ${page.profile} · ${page.layout} ${page.format} · ${count(page.tokens)} ${most}`;
}
