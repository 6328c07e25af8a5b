"""The preview's page in a real browser: what a reader does, and that nothing leaves the machine.

Screenshots go to the folder that PROMPTFORGE_SCREENSHOTS names, else to pytest's own.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from commandline import run
from previewing import ITEMS, Preview, preview

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

MISSING = [n for n in ("playwright", "starlette", "uvicorn", "watchfiles") if importlib.util.find_spec(n) is None]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(
    bool(MISSING) or CHROMIUM is None, reason=f"needs {' and '.join(MISSING or ['chromium'])}"
)
SECOND = 1000
PATIENCE = 20 * SECOND


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture(scope="module")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(os.environ.get("PROMPTFORGE_SCREENSHOTS") or tmp_path_factory.mktemp("screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("templates", "profiles"):
        (tmp_path / name).mkdir()
    return tmp_path


@pytest.fixture
def edited(folder: Path, begin: Callable[..., Preview]) -> Preview:
    """A preview that may save."""
    folders = ("--templates", folder / "templates", "--profiles", folder / "profiles")
    return begin(*folders, "--edit", "--max-tokens", "160")


Opener = Callable[..., "Page"]


@pytest.fixture
def begin(folder: Path) -> Iterator[Callable[..., Preview]]:
    """Start previews that end after the pages that look at them."""
    with contextlib.ExitStack() as stack:
        yield lambda *arguments, items=None: stack.enter_context(preview(folder, *arguments, items=items))


@pytest.fixture
def look(browser: Browser, begin: Callable[..., Preview]) -> Iterator[Opener]:
    """Open a preview in a page of its own; at the end: no request to anywhere else, no error in the console."""
    opened: list[tuple[Any, list[str], list[str], Preview]] = []

    def go(running: Preview, *, wide: int = 1280, high: int = 800, wait: bool = True, **settings: Any) -> Page:
        context = browser.new_context(viewport={"width": wide, "height": high}, **settings)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        requests: list[str] = []
        errors: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: errors.extend([message.text] * (message.type in ("error", "warning"))))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("dialog", lambda dialog: errors.append(dialog.message))
        opened.append((context, requests, errors, running))
        page.goto(running.link)
        if wait:
            settled(page)
        return page

    yield go
    for context, requests, errors, running in opened:
        context.close()
        assert errors == []
        assert requests and all(url.startswith(f"http://{running.host}/") for url in requests)
        assert not [url for url in requests[1:] if running.token in url]


def settled(page: Page) -> None:
    """Wait until text and account are there."""
    page.wait_for_selector("#text .run")
    page.wait_for_selector("#list:not(.pending) .name", state="attached")


def until(page: Page, what: str, arg: object = None) -> None:
    """Wait until an expression, or a function of `arg`, is true. Playwright's own wait needs eval, which is refused."""
    deadline = time.monotonic() + PATIENCE / SECOND
    while not page.evaluate(what, arg):
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def text(page: Page) -> str:
    return str(page.evaluate("document.getElementById('text').textContent"))


def shows(page: Page, part: str, *, gone: bool = False) -> None:
    sign = "!" if gone else ""
    until(page, f"part => {sign}document.getElementById('text').textContent.includes(part)", arg=part)


def type_at_start(page: Page, keys: str) -> None:
    page.click("#editor .cm-content")
    page.keyboard.press("Control+Home")
    page.keyboard.insert_text(keys)


def item_file(page: Page, name: str = "chunks/item.md.j2") -> None:
    value = page.eval_on_selector(
        "#file", "(box, name) => [...box.options].find(o => o.text.startsWith(name)).value", name
    )
    page.select_option("#file", value)


# --- what it shows --------------------------------------------------------------------------------------------------


def test_the_text_is_what_render_prints(edited: Preview, look: Opener, folder: Path, shots: Path) -> None:
    page = look(edited)
    printed = run("render", folder / "items.json", "--max-tokens", "160").out
    assert text(page) == printed
    assert page.locator("#text script, #text b, #list script").count() == 0
    assert "<script>alert(1)</script>" in text(page)
    names = page.locator("#list .label").all_inner_texts()
    assert len(names) == len(ITEMS) and "guide.md" in names
    assert page.url == f"http://{edited.host}/" or "token" not in page.url
    assert re.search(r"^\d+ of 160 tokens", page.inner_text("#spent"))
    page.screenshot(path=shots / "light-1280.png")


def test_the_budget_moves_the_text(edited: Preview, look: Opener) -> None:
    page = look(edited)
    for budget in (40, 60, 160, 90):
        page.eval_on_selector("#slider", "(s, v) => { s.value = v; s.dispatchEvent(new Event('input')) }", str(budget))
        until(page, "b => document.getElementById('spent').textContent.includes(`of ${b} tokens`)", arg=budget)
        spent = int(page.inner_text("#spent b"))
        assert 0 < spent <= budget
        assert page.input_value("#budget") == str(budget)
    assert "budget=90" in page.url
    page.fill("#budget", "5")
    page.wait_for_selector("#text .wait")
    assert "empty" in page.inner_text("#text")
    page.fill("#budget", "")
    settled(page)


def test_a_tick_brings_its_item_back(edited: Preview, look: Opener) -> None:
    page = look(edited)
    page.fill("#budget", "60")
    until(page, "document.getElementById('spent').textContent.includes('of 60 tokens')")
    settled(page)
    tick = page.locator("#ticks button").first
    said = str(tick.get_attribute("aria-label"))
    at, name = re.match(r"(\d+) tokens bring back ([^,]+)", said).groups()  # type: ignore[union-attr]
    tick.click()
    page.wait_for_selector(f".group.included .label[title='{name}']")
    assert page.input_value("#budget") == at


def test_profiles_layouts_and_formats_are_switched_and_kept(edited: Preview, look: Opener) -> None:
    page = look(edited)
    page.select_option("#profile", "claude")
    shows(page, "<document_content>")
    page.select_option("#profile", "")
    page.select_option("#layout", "context")
    shows(page, "## Context")
    page.select_option("#format", "json")
    shows(page, '"format"' if '"format"' in text(page) else "{")
    page.fill("#query", "how do greetings end")
    page.fill("#budget", "111")
    until(page, "document.getElementById('spent').textContent.includes('of 111 tokens')")
    before, address = text(page), page.url
    assert {"layout=context", "format=json"} <= set(address.partition("?")[2].split("&"))
    page.goto(address)
    settled(page)
    until(page, "before => document.getElementById('text').textContent === before", before)
    assert page.input_value("#query") == "how do greetings end"


def test_tokens_are_outlined_whole(edited: Preview, look: Opener, shots: Path) -> None:
    page = look(edited)
    before = text(page)
    page.click("#tokens")
    page.wait_for_selector(".tok")
    pieces = page.locator(".tok").all_text_contents()
    assert text(page) == before == "".join(pieces)
    assert "\ufffd" not in before and "👍🏽" in before
    assert len(pieces) > 40
    page.screenshot(path=shots / "tokens.png")
    page.click("#tokens")
    until(page, "!document.querySelector('.tok')")
    assert text(page) == before


def test_an_item_leads_to_its_text_and_template_line(edited: Preview, look: Opener) -> None:
    page = look(edited)
    page.click(".name:has-text('guide.md')")
    assert "Greetings are polite" in page.inner_text("#text .run.picked >> nth=-1")
    page.click(".detail .line >> nth=0")
    until(page, "document.activeElement.id === 'editor'")
    page.click("#text .run[data-item] >> nth=-1")
    page.click("#place .line")
    assert "item.md.j2" in page.inner_text("#place .line")


def test_two_views_stand_side_by_side(edited: Preview, look: Opener, shots: Path) -> None:
    page = look(edited)
    page.click("#compare")
    page.select_option("#b-format", "xml")
    page.wait_for_selector(".pair .plus:has-text('<')")
    figures = page.inner_text("#deltas")
    assert "tokens" in figures and "A" in figures
    assert "markdown" in page.inner_text(".pair.heads") and "xml" in page.inner_text(".pair.heads")
    page.fill("#b-budget", "60")
    until(page, "document.querySelector('.pair.heads').textContent.includes('of 60')")
    assert {"compare=1", "b.format=xml", "b.budget=60"} <= set(page.url.partition("?")[2].split("&"))
    page.screenshot(path=shots / "compare.png")


# --- editing --------------------------------------------------------------------------------------------------------


def test_an_edit_shows_at_once_and_is_saved_when_asked(edited: Preview, look: Opener, folder: Path) -> None:
    page = look(edited)
    item_file(page)
    type_at_start(page, "SEEN ")
    shows(page, "SEEN ")
    own = folder / "templates" / "chunks" / "item.md.j2"
    assert not own.exists()
    page.keyboard.press("Control+s")
    until(page, "document.getElementById('about').textContent.includes('copy of your own in templates/')")
    assert own.read_text(encoding="utf-8").startswith("SEEN ")
    assert page.is_disabled("#save")
    page.reload()
    settled(page)
    shows(page, "SEEN ")
    assert "(yours)" in page.inner_text("#file option:checked")
    assert "SEEN" in run("render", folder / "items.json", "--templates", folder / "templates").out


def test_a_profile_is_edited_too(edited: Preview, look: Opener, folder: Path) -> None:
    page = look(edited)
    page.select_option("#profile", "lisp")
    until(page, "document.getElementById('file').textContent.includes('lisp.yaml')")
    item_file(page, "lisp.yaml")
    page.click("#editor .cm-content")
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("\nheader: FROM THE PROFILE\n")
    shows(page, "FROM THE PROFILE")
    page.click("#save")
    until(page, "document.getElementById('about').textContent.includes('copy of your own in profiles/')")
    assert "FROM THE PROFILE" in (folder / "profiles" / "lisp.yaml").read_text(encoding="utf-8")


def test_what_breaks_is_said_in_its_place_and_the_last_text_stays(edited: Preview, look: Opener, shots: Path) -> None:
    page = look(edited)
    item_file(page)
    before = text(page)
    type_at_start(page, "{{ item.pth }}\n")
    page.wait_for_selector("#error:not([hidden])")
    assert 'there is no field "pth"; did you mean "path"?' in page.inner_text("#error")
    page.wait_for_selector(".cm-lint-marker-error")
    assert text(page) == before and page.locator("#text.stale").count() == 1
    page.screenshot(path=shots / "broken.png")
    page.click("#error .line")
    assert "item.md.j2:1" in page.inner_text("#error .line")
    page.click("#revert")
    page.wait_for_selector("#error", state="hidden")
    assert text(page) == before and page.locator("#text.stale, .cm-lint-marker-error").count() == 0


LOOP = (
    "{% for a in items %}{% for b in item.content %}{% for c in item.content %}{% for d in item.content %}{% endfor %}"
)
ENDLESS = (
    LOOP.replace("items", "item.content")
    + "{% for e in item.content %}x{% endfor %}{% endfor %}{% endfor %}{% endfor %}"
)


def test_a_template_that_never_ends_is_stopped(edited: Preview, look: Opener) -> None:
    page = look(edited)
    item_file(page)
    before = text(page)
    type_at_start(page, ENDLESS)
    page.wait_for_selector("#error:not([hidden])")
    assert text(page) == before
    assert edited.process.poll() is None
    page.click("#revert")
    page.wait_for_selector("#error", state="hidden")
    type_at_start(page, "AGAIN ")
    shows(page, "AGAIN ")


def test_an_edit_elsewhere_is_followed(edited: Preview, look: Opener, folder: Path) -> None:
    page = look(edited)
    own = folder / "templates" / "chunks" / "item.md.j2"
    own.parent.mkdir()
    own.write_text("{# One. Uses: item. #}\nELSEWHERE {{ item.content | fence }}\n", encoding="utf-8")
    shows(page, "ELSEWHERE")
    item_file(page)
    until(page, "document.getElementById('editor').shadowRoot.textContent.includes('ELSEWHERE')")
    own.write_text(own.read_text(encoding="utf-8").replace("ELSEWHERE", "ONCE MORE"), encoding="utf-8")
    shows(page, "ONCE MORE")
    until(page, "document.getElementById('editor').shadowRoot.textContent.includes('ONCE MORE')")
    own.unlink()
    shows(page, "ONCE MORE", gone=True)


def test_items_that_change_are_followed(edited: Preview, look: Opener, folder: Path) -> None:
    page = look(edited)
    (folder / "items.json").write_text('[{"content": "quite another thing"}]', encoding="utf-8")
    shows(page, "quite another thing")
    (folder / "items.json").write_text("[not json", encoding="utf-8")
    page.fill("#budget", "150")
    until(page, "document.getElementById('spent').textContent.includes('of 150')")
    shows(page, "quite another thing")


@pytest.mark.parametrize("button", ["Load theirs", "Keep mine"])
def test_two_who_edit_the_same_file_are_told(edited: Preview, look: Opener, folder: Path, button: str) -> None:
    own = folder / "templates" / "chunks" / "item.md.j2"
    own.parent.mkdir()
    theirs = "{# One. Uses: item. #}\nTHEIRS {{ item.content | fence }}\n"
    own.write_text(theirs.replace("THEIRS", "FIRST"), encoding="utf-8")
    page = look(edited)
    shows(page, "FIRST")
    item_file(page)
    type_at_start(page, "MINE ")
    shows(page, "MINE")
    own.write_text(theirs, encoding="utf-8")
    page.wait_for_selector("#conflict:not([hidden])")
    shows(page, "MINE")
    assert own.read_text(encoding="utf-8") == theirs
    page.click(f"#conflict button:has-text('{button}')")
    page.wait_for_selector("#conflict", state="hidden")
    if button == "Load theirs":
        shows(page, "THEIRS")
        assert page.is_disabled("#save")
    else:
        page.click("#save")
        until(page, "document.getElementById('about').textContent.startsWith('Saved')")
        assert own.read_text(encoding="utf-8").startswith("MINE ")


def test_without_edit_everything_is_tried_and_nothing_saved(
    folder: Path, begin: Callable[..., Preview], look: Opener
) -> None:
    page = look(begin("--templates", folder / "templates"))
    item_file(page)
    type_at_start(page, "TRIED ")
    shows(page, "TRIED ")
    assert page.is_disabled("#save")
    page.keyboard.press("Control+s")
    until(page, "document.getElementById('about').textContent.includes('--edit')")
    assert list((folder / "templates").iterdir()) == []


# --- for everybody --------------------------------------------------------------------------------------------------


def test_the_keyboard_alone_is_enough(edited: Preview, look: Opener) -> None:
    page = look(edited)
    reached: list[str] = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.className"))
        if reached[-1] == "slider":
            page.keyboard.press("End")
            until(page, "document.getElementById('spent').textContent.includes(document.getElementById('slider').max)")
            settled(page)
        if reached[-1] == "name":
            break
    assert {"skip", "profile", "layout", "format", "query", "tokens", "compare", "budget", "slider", "file"} <= set(
        reached
    )
    assert {"editor", "copy", "text"} <= set(reached)
    page.keyboard.press("Enter")
    page.wait_for_selector("li.picked .detail")
    page.keyboard.press("Tab")
    while page.evaluate("document.activeElement.className") != "line":
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    until(page, "document.activeElement.id === 'editor'")
    page.keyboard.insert_text("BY KEY ")
    shows(page, "BY KEY")
    page.keyboard.press("Escape")  # after which Tab leaves the editor
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") != "editor"


def test_a_narrow_window_shows_one_pane_at_a_time(edited: Preview, look: Opener, shots: Path) -> None:
    page = look(edited, wide=390, high=800)
    for pane in ("prompt", "items", "edit"):
        page.click(f".tabs [data-pane={pane}]")
        assert page.is_visible(f"#{pane}")
        assert [other for other in ("prompt", "items", "edit") if page.is_visible(f"#{other}")] == [pane]
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.screenshot(path=shots / f"narrow-{pane}.png")
    page.click("#compare")
    page.click(".tabs [data-pane=prompt]")
    page.wait_for_selector(".pair.heads")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_dark_follows_the_system_and_the_switch(edited: Preview, look: Opener, shots: Path) -> None:
    page = look(edited, color_scheme="dark")
    lightness = "(() => { const c = getComputedStyle(document.body).backgroundColor.match(/\\d+/g); return +c[0] })()"
    assert page.evaluate(lightness) < 60
    page.screenshot(path=shots / "dark-1280.png")
    page.click("#theme")
    assert page.evaluate(lightness) > 200
    page.click("#theme")
    assert page.evaluate(lightness) < 60
    page.reload()
    assert page.evaluate(lightness) < 60


def test_no_items_and_no_room_are_said(begin: Callable[..., Preview], look: Opener) -> None:
    page = look(begin(items=[]), wait=False)
    page.wait_for_selector("#text .wait:has-text('empty')")
    page.wait_for_selector("#list .wait:has-text('There are no items')")
    one = [{"content": "word " * 90, "required": True}]
    page = look(begin("--max-tokens", "20", items=one), wait=False)
    page.click("#error button:has-text('Set the budget')")
    settled(page)


def test_ten_thousand_items_are_shown(begin: Callable[..., Preview], look: Opener, shots: Path) -> None:
    many = [{"name": f"piece {n}", "content": f"This is piece {n}.", "score": 1 - n / 20_000} for n in range(10_000)]
    page = look(begin(items=many))
    assert "out" in page.inner_text("#counts")
    assert page.locator("#list .name").count() < 1000
    page.fill("#budget", "300")
    until(page, "document.getElementById('spent').textContent.includes('of 300')")
    page.screenshot(path=shots / "many.png")


def test_a_megabyte_of_text_is_shown(begin: Callable[..., Preview], look: Opener, shots: Path) -> None:
    long = [{"name": "long", "content": "".join(f"line {n} of a long text 日本\n" for n in range(40_000))}]
    page = look(begin("--max-tokens", "none", items=long))
    assert len(text(page)) < 500_000
    page.click("#text button:has-text('Show all')")
    until(page, "document.getElementById('text').textContent.length > 1_000_000")
    page.click("#tokens")
    page.wait_for_selector(".tok")
    assert page.locator(".tok").count() < 20_000
    page.screenshot(path=shots / "megabyte.png")
