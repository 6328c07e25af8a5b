// Saving what is seen as a golden test: a small dialog, and what the server says to it.

import { $, count, make, notice, plural } from "./dom.js";
import { seenText } from "./marks.js";
import { get, newest, put } from "./net.js";

let seen = null; // the file of cases: { file, tag, names }
let what = null; // { view, page }
const run = newest("/api/tests");

// `look` returns what is seen, or { refused } with the reason why it cannot be saved; `done` is told what was said.
// `drafts` returns what is not saved: the tests are run with it.
export function setUp(look, done, drafts) {
  $("record").addEventListener("click", () => open(look()));
  $("case-run").addEventListener("click", async () => {
    outcomes([make("p", { class: "quiet" }, "The tests run…")]);
    const found = await run({ view: {}, drafts: drafts() });
    if (!found) return;
    if (found.error) return outcomes([make("p", { class: "failed" }, seenText(found.error.message))]);
    const failed = found.cases.filter((each) => each.problems.length);
    const head = found.cases.length ? `${plural(found.cases.length, "test", "tests")}: ${failed.length ? `${count(failed.length)} failed` : "all hold"}` : "There are no tests yet.";
    const rows = failed.map((each) => make("div", {}, make("p", { class: "failed" }, seenText(each.name)), make("pre", {}, seenText(each.problems.join("\n")))));
    outcomes([make("p", {}, make("b", {}, head)), ...rows]);
  });
  $("case-cancel").addEventListener("click", () => $("case").close());
  $("case-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    $("case-save").disabled = true;
    const body = { view: what.view, name: $("case-name").value.trim(), expect: $("case-form").elements.expect.value };
    const answer = await put("/api/cases", body, seen.tag);
    $("case-save").disabled = false;
    if (!answer.error) {
      $("case").close();
      return done(`Saved in ${answer.file}: promptforge test compares it from now on.`);
    }
    if (answer.status === 412) seen = await get("/api/cases").catch(() => seen);
    notice("case-error", answer.error);
  });
}

function outcomes(rows) {
  $("case-outcomes").replaceChildren(...rows);
  $("case-outcomes").hidden = rows.length === 0;
}

async function open(given) {
  what = given;
  outcomes([]);
  const answer = given.refused ? null : await get("/api/cases").catch((error) => ({ error }));
  seen = answer?.error ? null : answer;
  notice("case-error", given.refused ? { message: given.refused } : answer.error);
  $("case-save").disabled = seen === null;
  $("case-about").textContent = seen === null ? "" : `Goes into ${seen.file}, which has ${count(seen.names.length)} case${seen.names.length === 1 ? "" : "s"} so far.`;
  if (given.page) {
    const { page } = given;
    const most = page.max_tokens ?? page.tokens;
    $("case-bounds").textContent = `at most ${count(most)} tokens, and ${plural(page.items_included - page.items_trimmed, "item", "items")} in, ${page.items_trimmed} shortened, ${page.items_dropped} out`;
    $("case-name").value = free(`${page.layout}, ${page.format}, ${page.max_tokens === null ? "no limit" : `${page.max_tokens} tokens`}`);
  }
  $("case").showModal();
  $("case-name").select();
}

// The name, or the first of those with a number behind that no case has.
function free(name) {
  for (let number = 1; ; number++) {
    const tried = number === 1 ? name : `${name} (${number})`;
    if (!seen?.names.includes(tried)) return tried;
  }
}
