// The first minute: no items yet, so paste some, drop a file, take the sample, or start with a command. Files may be dropped at any time.

import { $, make, notice, plural } from "./dom.js";
import { ask } from "./net.js";

const MOST = 900_000; // characters of a request
const COMMANDS = [
  ["promptforge preview items.json", "a file of items"],
  ["promptforge preview . --query 'where are orders refunded'", "a folder, and a question"],
  ["promptforge preview --man tar --edit --templates templates", "a manual, with templates of your own"],
];

let there = 0; // items
let asked = false; // others are wanted

function draw() {
  $("welcome").hidden = there > 0 && !asked;
  $("welcome-close").hidden = there === 0;
  $("welcome-title").textContent = there ? "New items, in place of these" : "No items yet";
}

export function setUp(done) {
  const want = (wanted) => () => {
    asked = wanted;
    draw();
    if (wanted) $("welcome-text").focus();
  };
  $("welcome-open").addEventListener("click", want(true));
  $("welcome-close").addEventListener("click", want(false));
  $("welcome").addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || there === 0) return;
    want(false)();
    $("welcome-open").focus();
  });
  $("welcome-commands").replaceChildren(...COMMANDS.map(([command, what]) => make("li", {}, make("code", {}, command), make("span", { class: "quiet" }, ` ${what}`))));
  const take = async (body) => {
    if (body.text.length > MOST) return notice("welcome-error", { message: "That is more than the page takes: name the file on the command line" });
    const found = await ask("/api/items", body).catch((error) => ({ error }));
    notice("welcome-error", found.error ?? null);
    if (found.error) return $("welcome").hidden ? done(found.error.message) : undefined;
    $("welcome-text").value = "";
    want(false)();
    done(`Loaded ${plural(found.items, "item", "items")}.`);
  };
  $("welcome-take").addEventListener("click", () => take({ text: $("welcome-text").value, name: "pasted" }));
  $("welcome-sample").addEventListener("click", () => take({ text: "", name: "sample", sample: true }));
  $("welcome-file").addEventListener("change", async () => {
    const [file] = $("welcome-file").files;
    if (file) take({ text: await file.text(), name: file.name.slice(0, 200) });
  });
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", async (event) => {
    if (event.target.closest?.(".editor, textarea, input")) return;
    event.preventDefault();
    const [file] = event.dataTransfer.files;
    if (file) take({ text: await file.text(), name: file.name.slice(0, 200) });
  });
}

export function show(items) {
  there = items;
  draw();
}
