"""How long the preview's page takes from a key, or the slider, to the new text on the screen.

`python tests/benchmarks/page.py [ITEMS]` prints medians and ranges in milliseconds; needs chromium and playwright.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from preview_process import preview

ROUNDS = 30
WORDS = (
    "a preview",
    "shows",
    "what becomes",
    "of the text",
    "when its template",
    "or its budget",
    "is changed",
)

_WATCH = """(change) => new Promise((done) => {
  const target = document.getElementById(change.target);
  const begun = performance.now();
  new MutationObserver((_, observer) => {
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - begun)));
  }).observe(target, { childList: true, subtree: true, characterData: true });
  if (change.budget) {
    const slider = document.getElementById("slider");
    slider.value = change.budget;
    slider.dispatchEvent(new Event("input"));
  } else {
    const editor = document.getElementById("editor").shadowRoot;
    editor.querySelector(".cm-content").focus();
    document.execCommand("insertText", false, change.key);
  }
})"""


def measure(count: int) -> dict[str, list[float]]:
    """Return the milliseconds of each round, over `count` items."""
    from playwright.sync_api import sync_playwright

    items = [
        {
            "name": f"piece {n}",
            "score": 1 - n / 2 / count,
            "content": " ".join(WORDS[n % 7 :] * (1 + n % 5)),
        }
        for n in range(count)
    ]
    times: dict[str, list[float]] = {"key": [], "slider": []}
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with (
        tempfile.TemporaryDirectory() as folder,
        preview(Path(folder), items=items) as running,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(running.link)
        page.wait_for_selector("#list:not(.pending) .name")
        page.click("#editor .cm-content")
        page.keyboard.press("Control+Home")
        for number in range(ROUNDS + 5):
            for what, change in (
                ("slider", {"target": "spent", "budget": str(2000 + 37 * number)}),
                ("key", {"target": "text", "key": "x"}),
            ):
                found = page.evaluate(_WATCH, change)
                if number >= 5:
                    times[what].append(found)
                page.wait_for_timeout(400)
        browser.close()
    return times


def main() -> None:
    """Measure and print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    for what, found in measure(count).items():
        low, middle, high = min(found), statistics.median(found), max(found)
        print(
            json.dumps(
                {"items": count, "from": what, "ms": [round(n) for n in (low, middle, high)]}
            )
        )


if __name__ == "__main__":
    main()
