"""Every state of the preview's page, one function each: no barrier, no overlap, nothing too wide.

A state is looked at in three widths and two themes; with PROMPTFORGE_SCREENSHOTS its pictures stay,
those in forced colors too.
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest
from preview_browser import (
    OVERLAPS,
    Opener,
    becomes,
    entered,
    give,
    needs_browser,
    open_file,
    settled,
    shows,
    start,
    type_at_start,
    until,
)
from preview_process import Preview, preview

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = [needs_browser, pytest.mark.slow]
AXE = "axe_playwright_python"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
WIDTHS = ((1440, 900), (1024, 768), (390, 844))
JUDGED = ((1440, "light"), (1440, "dark"), (390, "light"))
QUESTION = 'how is an "order" refunded'
ITEMS: list[dict[str, Any]] = [
    {
        "kind": "code",
        "path": "src/shop/refunds/service.py",
        "start_line": 12,
        "end_line": 31,
        "score": 0.94,
        "content": "def refund(order, amount):\n"
        + "".join(
            f'    if order.state == "{state}":\n        raise RefundError("{state}")\n'
            for state in ("new", "refunded", "cancelled", "disputed", "archived")
        )
        + "    return gateway.refund(order.payment, amount)",
    },
    {
        "kind": "document",
        "name": "Refunds, a guide for the support desk",
        "score": 0.9,
        "content": "An order is refunded within 30 days. " * 9
        + "\n\nA refund goes back to the card. "
        + "The desk says so to the customer in a letter. " * 24,
    },
    {
        "kind": "error",
        "name": "RefundError: order 8812 \u202e is disputed",
        "score": 0.7,
        "content": "Traceback (most recent call last):\n  a\u200bb 日本語 👍🏽\nRefundError: disputed",
    },
    *(
        {
            "kind": ("ticket", "man_page", "section")[n % 3],
            "name": f"Ticket {4100 + n}: {'where is my refund ' * (1 + n % 4)}".strip(),
            "score": round(0.68 - n / 50, 2),
            "content": f"Customer {n} asks where the refund of order {n * 37} is. " * (3 + n % 6),
        }
        for n in range(14)
    ),
    {"kind": "document", "name": "copy", "content": "An order is refunded within 30 days. "},
]
AXE_RUN = """rules => axe.run(document, {resultTypes: ['violations'], runOnly: rules}).then(said =>
  said.violations.flatMap(each => each.nodes.map(node => `${each.id} at ${node.target.flat().join(' ')}: ${node.html}`)))"""


@pytest.fixture(scope="module")
def bench(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Preview]:
    folder = tmp_path_factory.mktemp("bench")
    (folder / "templates").mkdir()
    flags = ("--templates", folder / "templates", "--edit", "--max-tokens", "700")
    around = ("--system", "You answer from the context.", "--query", QUESTION)
    with preview(folder, *flags, *around, "--profile", "claude", items=ITEMS) as running:
        yield entered(browser, running)


# --- the states -----------------------------------------------------------------------------------

State = Callable[["Page", Preview], None]


def hold(page: Page, what: str, error: str | None = None) -> None:
    """Answer requests of a kind with an error, or never."""

    def route(route: Any) -> None:
        if error is not None:
            said = {"error": {"kind": "template", "message": error}}
            route.fulfill(status=200, content_type="application/json", body=json.dumps(said))

    page.route(f"**/api/{what}", route)


def go(page: Page, running: Preview, address: str = "") -> None:
    page.goto(f"http://{running.host}/{address}")


def opened(page: Page, running: Preview, address: str = "") -> None:
    go(page, running, address)
    settled(page)


def plain(page: Page, running: Preview) -> None:
    opened(page, running)


def no_limit(page: Page, running: Preview) -> None:
    opened(page, running, "?budget=none&profile=default&format=xml")


def item(page: Page, running: Preview) -> None:
    opened(page, running, "?pane=items")
    page.click(".entry.dropped .name >> nth=0")
    page.click(".fields summary")
    page.wait_for_selector(".fields dd")


def list_searched(page: Page, running: Preview) -> None:
    opened(page, running, "?pane=items")
    page.fill("#filter", "nothing is called so")
    shows(page, "No item matches", place="list")
    page.click(".chip >> nth=0")


def list_of_hundreds(page: Page, running: Preview) -> None:
    many = [
        {"kind": f"kind {n % 17}", "name": f"record {n}", "content": f"order {n}: refund {n % 9}"}
        for n in range(400)
    ]
    give(running, [*many, {"content": "bad", "score": "high"}])
    opened(page, running, "?pane=items&budget=2000")
    page.click(".reason >> nth=0")


def first_wait(page: Page, running: Preview) -> None:
    hold(page, "page")
    go(page, running)
    page.wait_for_selector("#text .wait")
    page.wait_for_selector("#busy:not([hidden])", state="attached")


def account_waits(page: Page, running: Preview) -> None:
    hold(page, "needs")
    hold(page, "account")
    go(page, running, "?pane=items")
    page.wait_for_selector("#list.pending .name", state="attached")
    page.click(".entry .name >> nth=-1")


def account_fails(page: Page, running: Preview) -> None:
    hold(page, "account", "the templates took more than 20 seconds")
    go(page, running, "?pane=items")
    page.wait_for_selector("#dropped .bad")


def no_text_at_all(page: Page, running: Preview) -> None:
    give(running, [{"content": "word " * 90, "required": True}])
    go(page, running, "?budget=20")
    page.wait_for_selector("#error button")


def template_fails(page: Page, running: Preview) -> None:
    opened(page, running, "?pane=edit")
    page.set_viewport_size({"width": 1440, "height": 900})
    open_file(page, "documents/item.xml.j2")
    type_at_start(page, "{{ item.pth }}\n")
    page.wait_for_selector("#error:not([hidden])")


def completion(page: Page, running: Preview) -> None:
    opened(page, running, "?pane=edit")
    page.click("#editor .cm-content")
    page.keyboard.press("Control+Home")
    page.keyboard.type("{{ item.")
    page.wait_for_selector(".cm-tooltip-autocomplete")


def value_over_a_name(page: Page, running: Preview) -> None:
    opened(page, running, "?pane=edit&layout=chunks&format=markdown")
    open_file(page, "chunks/item.md.j2")
    type_at_start(page, "{{ item.content | upper }}\n")
    settled(page)
    page.hover("#editor .cm-line >> nth=0", position={"x": 60, "y": 8})
    page.wait_for_selector(".cm-value")
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    becomes(page, "document.getElementById('editor').shadowRoot.activeElement.scrollTop > 0")


def changed_elsewhere(page: Page, running: Preview) -> None:
    own = running.folder / "templates" / "chunks"
    own.mkdir()
    (own / "item.md.j2").write_text("{{ item.title }}\n", encoding="utf-8")
    until(lambda: start(running)["mine"])  # else the shipped file is opened
    opened(page, running, "?pane=edit&layout=chunks&format=markdown")
    open_file(page, "chunks/item.md.j2")
    type_at_start(page, "MINE ")
    (own / "item.md.j2").write_text("{{ item.name }}\n", encoding="utf-8")
    page.wait_for_selector("#conflict:not([hidden])")


def notes(page: Page, running: Preview) -> None:
    give(running, [*ITEMS, {"name": "late", "content": "x\u202e y", "score": "high"}])
    opened(page, running)
    page.click("#notes summary")


def tokens(page: Page, running: Preview) -> None:
    opened(page, running, "?tokens=1")
    page.wait_for_selector(".tok")


def heat(page: Page, running: Preview) -> None:
    opened(page, running, "?tokens=1&heat=1&profile=default&format=markdown&layout=chunks")
    page.wait_for_selector(".tok.heat2", state="attached")


def messages(page: Page, running: Preview) -> None:
    opened(page, running, '?show=messages&o.cache_after=["context"]')
    page.wait_for_selector(".breakpoint")


def messages_wait(page: Page, running: Preview) -> None:
    hold(page, "prompt")
    go(page, running, "?show=messages")
    page.wait_for_selector("#messages.pending")
    settled(page)


def request(page: Page, running: Preview) -> None:
    opened(page, running, "?show=request&to=anthropic")
    shows(page, '"messages"', place="sent")


def options(page: Page, running: Preview) -> None:
    opened(page, running, '?o.packing="drop_last"')
    page.keyboard.press("o")
    page.wait_for_selector("#options[open]")
    fields = page.locator("#options .option input:not([type=checkbox])")
    assert fields.first.bounding_box()["width"] > 150, "a value can be read"  # type: ignore[index]


def share(page: Page, running: Preview) -> None:
    opened(page, running)
    page.keyboard.press("y")
    shows(page, "promptforge", place="share-text")


def keys(page: Page, running: Preview) -> None:
    opened(page, running)
    page.keyboard.press("?")


def record(page: Page, running: Preview) -> None:
    opened(page, running)
    page.click("#record")
    page.fill("#case-name", "what is seen")
    page.click("#case-save:enabled")
    page.wait_for_selector("#case", state="hidden")
    page.click("#record")
    page.click("#case-run:enabled")
    page.wait_for_selector("#case-outcomes:not([hidden])")


def comparison(page: Page, running: Preview) -> None:
    opened(page, running, "?compare=1&b.budget=250&b.format=markdown")
    page.click(".changes .name >> nth=0")
    page.wait_for_selector(".changes .forms pre")


def comparison_by_line(page: Page, running: Preview) -> None:
    opened(page, running, "?compare=1&b.budget=500")
    page.click("#by-line")
    page.wait_for_selector("#by-line[aria-pressed=true]")
    page.emulate_media(forced_colors="active")  # the paint of other lines goes
    edge = "each => getComputedStyle(each).borderLeftWidth"
    assert page.eval_on_selector(".pair .minus", edge) == "4px"
    page.emulate_media(forced_colors="none")


def comparison_waits(page: Page, running: Preview) -> None:
    hold(page, "comparison")
    go(page, running, "?compare=1&b.budget=250")
    shows(page, "comparing", place="verdict")
    settled(page)


def comparison_fails(page: Page, running: Preview) -> None:
    hold(page, "comparison", "the templates took more than 20 seconds")
    go(page, running, "?compare=1&b.budget=250")
    page.wait_for_selector("#both-error button")


def no_items(page: Page, running: Preview) -> None:
    give(running, [])
    go(page, running)
    page.wait_for_selector("#welcome:not([hidden])")


def no_items_taken(page: Page, running: Preview) -> None:
    no_items(page, running)
    page.fill("#welcome-text", '[{"name": 1, "content": ["x"')
    page.click("#welcome-take")
    page.wait_for_selector("#welcome-error:not([hidden])")


def repository(page: Page, running: Preview) -> None:
    give(
        running,
        [{"path": f"src/{'ab'[n % 2]}/{n}.py", "content": f"x = {n} " * 20} for n in range(30)],
    )
    opened(page, running, '?mode=repository&o.paths=["*","!/src/a/"]')
    page.wait_for_selector("[role=treeitem][aria-checked=false]")


def reading(page: Page, running: Preview) -> None:
    opened(page, running, "?mode=read&query=refund&budget=710")
    page.wait_for_selector(".ghost-line")
    page.keyboard.press("n")


def groups(page: Page, running: Preview) -> None:
    give(running, [{"kind": f"kind_{n % 60}", "content": f"text {n} " * 9} for n in range(120)])
    opened(page, running, "?budget=none")


def gone(page: Page, running: Preview) -> None:
    opened(page, running)
    page.route("**/api/page", lambda route: route.fulfill(status=403, body="refused"))
    page.fill("#budget", "500")
    page.wait_for_selector("#error button:has-text('Retry')")


STATES: list[State] = [
    plain, no_limit, item, list_searched, list_of_hundreds, first_wait, account_waits,
    account_fails, no_text_at_all, template_fails, completion, value_over_a_name,
    changed_elsewhere, notes, tokens, heat, messages, messages_wait, request, options, share, keys,
    record, comparison, comparison_by_line, comparison_waits, comparison_fails, no_items,
    no_items_taken, groups, gone, repository, reading,
]  # fmt: skip
OWN_ITEMS = (list_of_hundreds, no_text_at_all, notes, no_items, no_items_taken, groups, repository)


@pytest.mark.nightly
@pytest.mark.skipif(importlib.util.find_spec(AXE) is None, reason=f"needs {AXE}")
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_no_state_has_a_barrier_or_an_overlap(
    bench: Preview, open_page: Opener, shots: Path, state: State
) -> None:
    page = open_page(bench, "icon.svg", wait=False, wide=1440, high=900)
    page.add_init_script("localStorage.setItem('theme', 'light')")
    state(page, bench)
    page.evaluate(files(AXE).joinpath("axe.min.js").read_text(encoding="utf-8") + ";0")
    found: list[str] = []
    for wide, high in WIDTHS:
        page.set_viewport_size({"width": wide, "height": high})
        found += [f"{wide}: {each}" for each in page.evaluate(OVERLAPS)]
        # axe scrolls: blocks that were never in sight would change their height under it.
        page.eval_on_selector_all(
            ".block", "all => all.forEach(each => (each.style.contentVisibility = 'visible'))"
        )
        for theme in ("light", "dark"):
            page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
            if os.environ.get("PROMPTFORGE_SCREENSHOTS"):
                page.screenshot(path=shots / f"{state.__name__}-{wide}-{theme}.png")
            # In the dark only the colours are others, and those are of no width.
            rules = RULES if theme == "light" else ["color-contrast"]
            if (wide, theme) in JUDGED:
                found += [f"{wide} {theme}: {each}" for each in page.evaluate(AXE_RUN, rules)]
        if os.environ.get("PROMPTFORGE_SCREENSHOTS"):
            page.emulate_media(forced_colors="active")
            page.screenshot(path=shots / f"{state.__name__}-{wide}-forced.png")
            page.emulate_media(forced_colors="none")
    if state in OWN_ITEMS:
        give(bench, ITEMS)
    # The editor, and its list of completions, are scrolled by its own keys: its text has the focus.
    own = [each for each in found if "cm-ac-" not in each and '"cm-scroller"' not in each]
    assert own == [], "\n".join(own)
