// The choices over the page: profile, layout, format, query, and those of the second view.

import { $, count, make } from "./dom.js";

function fill(id, names, chosen, otherwise) {
  const select = $(id);
  const others = names.filter((name) => name !== otherwise || name === chosen); // no name stands there twice
  const rows = [make("option", { value: "" }, otherwise), ...others.map((name) => make("option", { value: name }, name))];
  if (chosen && !names.includes(chosen)) rows.push(make("option", { value: chosen }, `${chosen} (not there)`));
  const same = rows.length === select.options.length && rows.every((row, index) => row.text === select.options[index].text);
  if (!same) select.replaceChildren(...rows);
  select.value = chosen ?? "";
}

export function draw(start, now, page, mode) {
  const { given } = start;
  const names = start.profiles.map((each) => each.name);
  const layouts = Object.keys(start.layouts);
  const formats = (layout) => start.layouts[layout] ?? [...new Set(Object.values(start.layouts).flat())];
  const ofProfile = (name) => given[name] ?? (page && !now.view[name] ? page[name] : "of the profile");
  fill("profile", names, now.view.profile, given.profile);
  fill("layout", layouts, now.view.layout, ofProfile("layout"));
  fill("format", formats(now.view.layout ?? page?.layout), now.view.format, ofProfile("format"));
  fill("b-profile", names, now.other.profile, "as A");
  fill("b-layout", layouts, now.other.layout, "as A");
  fill("b-format", formats(now.other.layout ?? now.view.layout ?? page?.layout), now.other.format, "as A");
  if (document.activeElement !== $("query")) $("query").value = now.view.query ?? given.query ?? "";
  if (document.activeElement !== $("b-budget")) $("b-budget").value = now.other.max_tokens ?? "";
  $("tokens").setAttribute("aria-pressed", String(now.tokens));
  $("heat").setAttribute("aria-pressed", String(now.heat));
  $("heat").hidden = !now.tokens;
  for (const [id, name] of [["mode-read", "read"], ["mode-repository", "repository"], ["mode-template", "template"], ["compare", "compare"]]) $(id).setAttribute("aria-pressed", String(mode === name));
  $("tab-edit").hidden = mode !== "template";
  $("query-reset").hidden = now.view.query === null || now.view.query === (given.query ?? "");
  $("budget-reset").hidden = now.view.max_tokens === null;
  const look = [now.view.profile ?? given.profile, page?.layout ?? "", page?.format ?? ""].filter(Boolean).join(" · ");
  $("look").replaceChildren(make("span", {}, look), " ▾");
  $("look").setAttribute("aria-label", `Look and options: ${look}`);
  $("other").hidden = !now.compare;
  $("both").hidden = !now.compare;
  const set = Object.keys(now.view.options).length;
  $("options-open").textContent = set ? `Options (${count(set)})` : "Options";
  document.body.classList.toggle("comparing", now.compare);
  document.body.dataset.mode = mode;
}
