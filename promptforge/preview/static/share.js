// The way home: what is seen as a command, a profile, Python or a case of a test, to be copied.

import { $, make } from "./dom.js";
import { ask } from "./net.js";

const SHAPES = { command: "Command", yaml: "Profile", python: "Python", source: "Test case" };
let seen = null; // what was opened
let found = {};
let shape = "command";

export function setUp(look, done) {
  $("share-open").addEventListener("click", () => open(look()));
  $("share-close").addEventListener("click", () => $("share").close());
  $("share-file").addEventListener("click", () => save(done));
  $("share-copy").addEventListener("click", async () => {
    await navigator.clipboard.writeText(found[shape] ?? "").then(() => done("Copied."), () => done("The browser did not let it be copied."));
    $("share").close();
  });
}

// The page as a file that needs no server.
async function save(done) {
  const made = await ask("/api/snapshot", seen).catch((error) => ({ error }));
  if (made.error) return done(made.error.message);
  const address = URL.createObjectURL(new Blob([made.html], { type: "text/html" }));
  make("a", { href: address, download: "promptforge.html" }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
  done("Saved promptforge.html.");
}

async function open(body) {
  seen = body;
  found = await ask("/api/recipes", body).catch((error) => ({ error }));
  show();
  $("share").showModal();
  // Of a case the items are written out, which takes a rendering.
  const more = await ask("/api/as_case", body).catch((error) => ({ error }));
  found = { ...found, source: more.source ?? more.error?.message };
  show();
}

function show() {
  $("share-shapes").replaceChildren(...Object.entries(SHAPES).map(([name, title]) =>
    make("button", { type: "button", "aria-pressed": String(name === shape), onclick: () => ((shape = name), show()) }, title)));
  $("share-text").textContent = found.error?.message ?? found[shape] ?? "Writing the case…";
}
