"""How long the preview's page takes from a key, or the slider, to the new text on the screen.

`python tests/benchmarks/page.py [ITEMS]` prints, for each change, the least, the median and the most
milliseconds from the event to the screen; then the processor time of the preview's own processes
until all is told, and their memory. Needs Linux, chromium and playwright. A busy machine changes the
milliseconds to the screen a lot, and the processor time a little.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))

from preview_process import preview

ROUNDS = 10
"""Rounds that count: one with its rests takes five seconds, so all take about a minute."""
UNCOUNTED = 2
REST_MS = 1500
"""Milliseconds after each change in which what takes longer is told: budgets, remedies, the curve."""
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
  if (change.key) {
    const editor = document.getElementById("editor").shadowRoot;
    editor.querySelector(".cm-content").focus();
    document.execCommand("insertText", false, change.key);
  } else {
    const input = document.getElementById(change.input);
    input.value = change.value;
    input.dispatchEvent(new Event("input"));
  }
})"""


def measure(count: int) -> dict[str, Any]:
    """Return the milliseconds of each round over `count` items, by the kind of change."""
    from playwright.sync_api import sync_playwright

    items = [
        {
            "name": f"piece {n}",
            "score": 1 - n / 2 / count,
            "content": " ".join(WORDS[n % 7 :] * (1 + n % 5)),
        }
        for n in range(count)
    ]
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    found: dict[str, Any] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        preview(Path(folder), "--query", "what is shown", items=items) as running,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(running.link)
        page.wait_for_selector("#list:not(.pending) .name")
        page.click("#editor .cm-content")
        page.keyboard.press("Control+Home")
        own = running.process.pid
        for number in range(ROUNDS + UNCOUNTED):
            for what, change in (
                ("slider", {"target": "spent", "input": "slider", "value": 2000 + 37 * number}),
                (
                    "query",
                    {"target": "counts", "input": "query", "value": f"what is shown {number}"},
                ),
                ("key", {"target": "text", "key": "x"}),
            ):
                before = cpu_ms(own)
                taken = page.evaluate(_WATCH, change)
                page.wait_for_timeout(REST_MS)
                if number >= UNCOUNTED:
                    times, spent = found.setdefault(what, ([], []))
                    times.append(taken)
                    spent.append(cpu_ms(own) - before)
        found["memory"] = sum(map(memory_mb, family(own)))
        browser.close()
    return found


def family(process: int) -> list[int]:
    """Return a process and all that it has started."""
    tasks = Path(f"/proc/{process}/task").glob("*/children")
    children = [int(child) for task in tasks for child in task.read_text().split()]
    return [process, *(each for child in children for each in family(child))]


def cpu_ms(process: int) -> float:
    """Return the processor time that a process and all that it has started have taken."""
    ticks = 0
    for each in family(process):
        fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return 1000 * ticks / os.sysconf("SC_CLK_TCK")


def memory_mb(process: int) -> float:
    """Return the memory of a process; of what it shares with others, its part."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def main() -> None:
    """Measure and print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 45
    found = measure(count)
    print(json.dumps({"items": count, "memory MB": round(found.pop("memory"))}))
    for what, (times, spent) in found.items():
        shown = [round(n) for n in (min(times), statistics.median(times), max(times))]
        row = {"from": what, "ms to the screen": shown, "cpu ms": round(statistics.mean(spent))}
        print(json.dumps(row))


if __name__ == "__main__":
    main()
