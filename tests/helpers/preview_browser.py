"""Pages in a real browser.

The tests of a module share one browser, one preview that may save and one that only shows. One
browser for the whole run would leave its loop running beside tests that want one of their own.

Screenshots go to the folder that PROMPTFORGE_SCREENSHOTS names, else to pytest's own.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from preview_process import Preview, preview, write_items

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

MISSING = [n for n in ("playwright", "starlette", "uvicorn") if importlib.util.find_spec(n) is None]
# The first has no window to draw, and takes less than half of the processor's time.
_BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, _BROWSERS)), None)
needs_browser = pytest.mark.skipif(
    bool(MISSING) or CHROMIUM is None, reason=f"needs {' and '.join(MISSING or ['chromium'])}"
)
PATIENCE = 300
"""Seconds after which a state that is waited for will never come, however busy the machine is."""
FOLDERS = ("templates", "profiles", "tests")
OVERLAPS = """() => {
  const found = [];
  const seen = e => e.checkVisibility() && e.getBoundingClientRect().width > 0;
  const top = document.querySelector('dialog[open]') ?? document;
  const all = [...top.querySelectorAll('button, select, input:not([type=range]), textarea, h1, h2')]
    .filter(e => seen(e) && !e.closest('.list, .text, .bar, .editor, #detail, .dropped-by, .options-list, .deltas, .sides'));
  for (const [n, a] of all.entries()) {
    const x = a.getBoundingClientRect();
    if (x.right > innerWidth + 1) found.push(`past the edge: ${a.outerHTML.slice(0, 80)}`);
    for (const b of all.slice(n + 1)) {
      if (a.contains(b) || b.contains(a)) continue;
      const y = b.getBoundingClientRect();
      const wide = Math.min(x.right, y.right) - Math.max(x.left, y.left);
      const high = Math.min(x.bottom, y.bottom) - Math.max(x.top, y.top);
      if (wide > 2 && high > 2) found.push(`${a.outerHTML.slice(0, 80)} over ${b.outerHTML.slice(0, 80)}`);
    }
  }
  if (document.documentElement.scrollWidth > innerWidth) found.push('wider than the window');
  return found;
}"""
"""What overlaps or leaves the window, of the page or of the dialog before it."""
Opener = Callable[..., "Page"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture(scope="module")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(
        os.environ.get("PROMPTFORGE_SCREENSHOTS") or tmp_path_factory.mktemp("screenshots")
    )
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def editable(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Preview]:
    folder = tmp_path_factory.mktemp("editable")
    for name in FOLDERS[:2]:
        (folder / name).mkdir()
    flags = (
        "--templates",
        folder / "templates",
        "--profiles",
        folder / "profiles",
        "--edit",
        "--max-tokens",
        "160",
    )
    with preview(folder, *flags, "--system", "You answer from the context.") as running:
        yield entered(browser, running)


@pytest.fixture(scope="module")
def reading(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Preview]:
    """A preview without `--edit` and without a budget."""
    folder = tmp_path_factory.mktemp("reading")
    (folder / "templates").mkdir()
    with preview(folder, "--templates", folder / "templates", "--max-tokens", "none") as running:
        yield entered(browser, running)


@pytest.fixture
def edited(editable: Preview) -> Iterator[Preview]:
    """The preview that may save; what a test leaves in its folders is gone after it."""
    yield editable
    for name in FOLDERS:
        for path in (editable.folder / name).glob("*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    until(lambda: start(editable)["mine"] == [])


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Opener]:
    """Open a preview in a page; check at the end that it asked no other host, without errors."""
    opened: list[tuple[Any, list[str], list[str], Preview]] = []

    def go(
        running: Preview,
        address: str = "",
        *,
        wide: int = 1280,
        high: int = 800,
        wait: bool = True,
        **settings: Any,
    ) -> Page:
        context = browser.new_context(viewport={"width": wide, "height": high}, **settings)
        name, _, value = running.cookie.partition("=")
        context.add_cookies([{"name": name, "value": value, "url": f"http://{running.host}/"}])
        context.add_init_script(f"localStorage.setItem('key', {json.dumps(running.key)})")
        page = context.new_page()
        page.set_default_timeout(PATIENCE * 1000)
        requests: list[str] = []
        errors: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.on(
            "console",
            lambda message: errors.extend([message.text] * (message.type in ("error", "warning"))),
        )
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on(
            "dialog",
            lambda dialog: errors.extend([dialog.message] * (dialog.type != "beforeunload")),
        )
        opened.append((context, requests, errors, running))
        page.goto(f"http://{running.host}/{address}")
        if wait:
            settled(page)
        return page

    yield go
    for context, requests, errors, running in opened:
        context.close()
        meant = ("the server responded with a status of 4", "ERR_INTERNET_DISCONNECTED")
        refused = [error for error in errors if not any(part in error for part in meant)]
        assert refused == []
        assert requests and all(url.startswith(f"http://{running.host}/") for url in requests)


def entered(browser: Browser, running: Preview) -> Preview:
    """Open the link as a reader does; cookie and key of the browser then are every page's."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(running.link)
    assert page.url == f"http://{running.host}/"
    (cookie,) = context.cookies()
    running.cookie = f"{cookie['name']}={cookie['value']}"
    running.key = page.evaluate("localStorage.getItem('key')")
    assert cookie["httpOnly"] and cookie["sameSite"] == "Strict"
    context.close()
    return running


def start(running: Preview) -> Any:
    return running.request("/api/start").json()


def give(running: Preview, items: list[dict[str, Any]]) -> None:
    """Let the preview be of other items; pages that are opened now hear of no change."""
    heard = start(running)["changes"]
    write_items(running.folder, json.dumps(items))
    until(lambda: start(running)["changes"] > heard and start(running)["items"] == len(items))


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, holds
        time.sleep(0.02)


def becomes(page: Page, what: str, arg: object = None) -> None:
    """Wait until an expression, or a function of `arg`, is true.

    Playwright's own wait needs eval, which the preview's policy refuses.
    """
    until(lambda: page.evaluate(what, arg))


def settled(page: Page) -> None:
    """Wait until text and account are there."""
    page.wait_for_selector("#text .run", state="attached")
    page.wait_for_selector("#list:not(.pending) .name", state="attached")


def text(page: Page) -> str:
    return str(page.evaluate("document.getElementById('text').textContent"))


def shows(page: Page, part: str, *, gone: bool = False, place: str = "text") -> None:
    """Wait until the text, or another element, holds a part."""
    has = (
        "([place, part, gone]) => "
        "document.getElementById(place).textContent.includes(part) !== gone"
    )
    becomes(page, has, [place, part, gone])


def in_editor(page: Page, part: str) -> None:
    """Wait until the file in the editor holds a part."""
    inside = "part => document.getElementById('editor').shadowRoot.textContent.includes(part)"
    becomes(page, inside, part)


def type_at_start(page: Page, keys: str) -> None:
    page.click("#editor .cm-content[aria-label^='Text of']")
    page.keyboard.press("Control+Home")
    page.keyboard.insert_text(keys)


def open_file(page: Page, name: str = "chunks/item.md.j2") -> None:
    shows(page, name, place="file")
    find = "(box, name) => [...box.options].find(o => o.text.startsWith(name)).value"
    page.select_option("#file", page.eval_on_selector("#file", find, name))
    page.wait_for_selector(f"#editor .cm-content[aria-label^='Text of {name}']")
