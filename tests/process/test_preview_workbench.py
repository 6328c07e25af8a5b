"""The preview as a workbench in a real browser: true at every moment, in many tabs, at any width.

One server and one browser for all: its items are given anew by the tests that need others.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from places import ROOT
from preview_browser import (
    OVERLAPS,
    PATIENCE,
    Opener,
    becomes,
    entered,
    give,
    in_editor,
    needs_browser,
    open_file,
    settled,
    shows,
    text,
    type_at_start,
    until,
)
from preview_process import Preview, preview

from promptforge.model import path_with_lines
from promptforge.preview.session import words_of_templates
from promptforge.templating.language import FILTERS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [needs_browser, pytest.mark.slow]
KINDS = ("code", "document", "error", "man_page")
ITEMS = [
    {
        "kind": KINDS[n % 4],
        "name": f"item {n}",
        "score": 1 - n / 100,
        "content": f"Word {n} of a budget. " * (4 + n % 7),
    }
    for n in range(45)
]
ITEMS[2] |= {"name": "odd\u202ename", "content": "a\u200bb \u202ec\u0007 d 👨\u200d👩 e"}

# A rendering that was still under way may have hidden the button.
RETRY = "[...document.querySelectorAll('#dropped button')].find(e => e.textContent === 'Retry')?.click()"


@pytest.fixture(scope="module")
def bench(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Preview]:
    folder = tmp_path_factory.mktemp("bench")
    (folder / "templates").mkdir()
    flags = ("--templates", folder / "templates", "--edit", "--max-tokens", "600")
    with preview(folder, *flags, "--profile", "claude", items=ITEMS) as running:
        yield entered(browser, running)


def rows(page: Page) -> dict[str, int]:
    """Return how many items the head of the list says are in, cut and out."""
    said = page.inner_text("#counts").replace(",", "")
    return {word: int(number) for number, word in re.findall(r"(\d+) (in|cut|out)", said)}


# --- true at every moment -------------------------------------------------------------------------


def test_no_account_of_another_rendering_is_ever_seen(bench: Preview, open_page: Opener) -> None:
    many = [
        {"name": f"n{n}", "content": f"budget {n} " * 9, "origin": "similarity"} for n in range(600)
    ]
    give(bench, many)
    page = open_page(bench, "?budget=900&query=budget", wait=False)
    page.wait_for_selector("#list .name", state="attached")
    for budget in ("400", "2000", "150"):
        page.fill("#budget", budget)
        shows(page, f"of {int(budget):,} tokens", place="spent")
        # At once, before any account: as many items are in as the text has headings.
        tally = rows(page)
        shown = page.evaluate(
            "new Set([...document.querySelectorAll('#text [data-item]')]"
            ".map(e => e.dataset.item)).size"
        )
        assert tally["in"] + tally["cut"] == shown and sum(tally.values()) == 600
    page.wait_for_selector("#list:not(.pending) .name", state="attached")
    assert "too little room" in page.inner_text("#dropped")
    give(bench, ITEMS)


def test_a_failure_says_so_and_can_be_tried_again(bench: Preview, open_page: Opener) -> None:
    page = open_page(bench)
    failing = True

    def route(route: Any) -> None:
        if failing:
            route.fulfill(status=200, content_type="application/json", body=json.dumps(
                {"error": {"kind": "template", "message": "that took too long"}}
            ))  # fmt: skip
        else:
            route.continue_()

    page.route("**/api/account", route)
    page.fill("#budget", "500")
    shows(page, "that took too long", place="dropped")
    page.locator("#dropped button:has-text('Retry')").wait_for()
    failing = False
    page.evaluate(RETRY)
    page.wait_for_selector("#ghosts i", state="attached")
    shows(page, "too long", gone=True, place="dropped")


def test_a_retry_outlives_a_page_under_way(bench: Preview, open_page: Opener) -> None:
    import playwright.sync_api as playwright

    page = open_page(bench)
    message = "that took too long"
    error = {"error": {"kind": "template", "message": message}}
    page.route("**/api/account", lambda route: route.fulfill(json=error))
    page.fill("#budget", "500")
    shows(page, message, place="dropped")
    held: list[Any] = []
    page.route(re.compile("/api/(page|needs)"), lambda route: held.append(route))
    page.fill("#budget", "450")
    while len(held) < 2:
        page.wait_for_timeout(20)  # routes are heard meanwhile
    page.unroute_all()
    page.evaluate(RETRY)
    for route in held:
        with contextlib.suppress(playwright.Error):  # the page has given it up
            route.continue_()
    shows(page, "of 450 tokens", place="spent")
    page.wait_for_selector("#ghosts i", state="attached")


@pytest.mark.parametrize("what", ["page", "needs", "account", "remedies"])
def test_the_newest_request_asks_again_if_it_was_overtaken(
    bench: Preview, open_page: Opener, what: str
) -> None:
    page = open_page(bench)
    overtaken = {"overtaken": True}
    page.route(f"**/api/{what}", lambda route: route.fulfill(json=overtaken), times=1)
    page.fill("#budget", "470")
    shows(page, "of 470 tokens", place="spent")
    page.wait_for_selector("#ghosts i", state="attached")
    page.wait_for_selector("#dropped .waits", state="detached")


def test_pages_do_not_overtake_each_other(bench: Preview) -> None:
    for tab in ("a", "b"):  # a request of one page does not overtake one of another
        assert "text" in bench.draw(tab=tab)
    wanted = {"rows": [0, 44, 10**9], "picked": 3}
    until(lambda: not bench.draw("account", **wanted)["more"])  # the search comes in slices
    account = bench.draw("account", **wanted)
    assert account["rows"] == [0, 44, 3] and len(account["fits"]) == 3
    assert bench.request("/api/account", "POST", body={"view": {}, "rows": [-1]}).json()["error"]


# --- many tabs ------------------------------------------------------------------------------------


@pytest.mark.nightly
def test_eight_tabs_of_one_browser_live(
    bench: Preview, browser: Browser, open_page: Opener
) -> None:
    first = open_page(bench)
    tabs = [first, *(first.context.new_page() for _ in range(7))]
    for tab in tabs[1:]:
        tab.set_default_timeout(PATIENCE * 1000)
        tab.goto(f"http://{bench.host}/")
    for tab in tabs:
        tab.wait_for_selector("#text .run", state="attached")
    give(bench, [{"content": "a change that all of them see"}])
    for tab in tabs:
        shows(tab, "a change that all of them see")
    first.close()  # it held the stream: another takes it
    give(bench, ITEMS)
    for tab in tabs[1:]:
        shows(tab, "a change that all of them see", gone=True)
    tabs[7].fill("#budget", "300")
    shows(tabs[7], "of 300 tokens", place="spent")


# --- the editor -----------------------------------------------------------------------------------


def value_over(page: Page, x: int, *parts: str) -> None:
    """Wait until the value over a word of the first line holds `parts`.

    The mouse comes anew: a value that is asked for in the midst of a rendering may be the old one.
    """

    import playwright.sync_api as playwright

    waits = itertools.chain([3000, 6000, 12_000], itertools.repeat(24_000))

    def shown() -> bool:
        page.mouse.move(0, 0)
        page.hover("#editor .cm-line >> nth=0", position={"x": x, "y": 8})
        try:
            page.wait_for_selector(
                "".join([".cm-value", *(f":has-text('{part}')" for part in parts)]),
                timeout=next(waits),
            )
        except playwright.TimeoutError:
            return False
        return True

    until(shown)


def test_the_editor_follows_the_look(bench: Preview, open_page: Opener) -> None:
    page = open_page(bench)
    open_file(page, "documents/item.xml.j2")
    page.select_option("#format", "markdown")
    becomes(page, "document.querySelector('#file option:checked')?.text.includes('item.md.j2')")
    shows(page, "documents/item.xml.j2 is not used now", place="about")
    page.select_option("#layout", "chunks")
    becomes(page, "document.querySelector('#file option:checked')?.text.startsWith('chunks/item')")
    page.go_back()  # a choice is a step
    becomes(page, "document.getElementById('layout').value === ''")
    becomes(page, "document.querySelector('#file option:checked')?.text.startsWith('documents/')")


def test_words_findings_fixes_and_values(bench: Preview, open_page: Opener) -> None:
    page = open_page(bench, "?layout=chunks&format=markdown")
    open_file(page, "chunks/item.md.j2")
    page.click("#editor .cm-content")
    page.keyboard.press("Control+End")
    page.keyboard.type("{{ item.na")
    page.wait_for_selector(".cm-tooltip-autocomplete li:has-text('name or title')")
    page.keyboard.press("Escape")
    page.locator("#revert").dispatch_event("click")
    type_at_start(page, "{{ item.pth }}\n")
    marked = (
        "document.getElementById('editor').shadowRoot"
        ".querySelector('.cm-lintRange-error')?.textContent === 'pth'"
    )
    becomes(page, marked)  # the word, not the line
    shows(page, 'Line 1: an item has no field "pth"', place="about")
    page.hover(".cm-lintRange-error")
    page.click(".cm-diagnosticAction:has-text('Fix')")
    in_editor(page, "{{ item.path }}")
    page.wait_for_selector("#error", state="hidden")
    becomes(
        page, "!document.getElementById('editor').shadowRoot.querySelector('.cm-lintRange-error')"
    )
    page.click("#editor .cm-line:has-text('item.content')")
    in_text = "[...document.querySelectorAll('#text .run.lit')].map(e => e.textContent)"
    becomes(page, f"{in_text}.length > 3")  # what the line under the caret has printed
    assert any("Word" in each for each in page.evaluate(in_text))
    page.click("#list .name >> nth=0")
    value_over(page, 60, "item.path")
    assert page.locator("#editor .cm-costs .cm-gutterElement span").count() > 1
    page.mouse.move(0, 0)
    page.wait_for_selector(".cm-value", state="detached")
    type_at_start(page, "{{ item.title | upper }}\n")
    value_over(page, 130, "in capitals", "ITEM 0")
    page.click(".fields summary")
    page.wait_for_selector(".fields dt:has-text('item.content') + dd:has-text('Word 0')")
    page.locator("#revert").dispatch_event("click")


def test_what_is_opened_while_the_page_draws_stays_open(bench: Preview, open_page: Opener) -> None:
    page = open_page(bench)
    page.click("#list .name >> nth=0")
    page.dispatch_event(".fields summary", "pointerdown")
    page.eval_on_selector("#slider", "s => { s.value = '90'; s.dispatchEvent(new Event('input')) }")
    shows(page, "of 90 tokens", place="spent")
    settled(page)
    let_go = "s => { s.dispatchEvent(new Event('pointerup', {bubbles: true})); s.click(); }"
    page.eval_on_selector(".fields summary", let_go)
    page.wait_for_selector(".fields dd")


def test_keys_and_values_of_a_profile_are_completed(bench: Preview, open_page: Opener) -> None:
    page = open_page(bench)
    open_file(page, "claude.yaml")
    page.click("#editor .cm-content")
    page.keyboard.press("Control+End")
    page.keyboard.type("\npacki")
    page.wait_for_selector(".cm-tooltip-autocomplete li:has-text('packing')")
    page.wait_for_timeout(100)  # the list takes no key in its first 75 ms
    page.keyboard.press("Enter")
    in_editor(page, "packing: ")
    page.keyboard.type("drop")
    page.wait_for_selector(".cm-tooltip-autocomplete li:has-text('drop_last')")
    page.keyboard.press("Escape")
    page.locator("#revert").dispatch_event("click")


def test_every_filter_and_field_has_its_words() -> None:
    words = words_of_templates()
    assert FILTERS.keys() - {"escape", "e", "safe", "string"} <= words["filters"].keys() | {
        name for name in FILTERS if name not in words["filters"] and name.startswith("_")
    }
    assert {"content", "name", "path", "metadata"} <= words["fields"].keys()
    assert {"items", "item", "query", "headers"} <= words["variables"].keys()
    assert {"if", "for", "extends", "block"} <= words["tags"].keys()
    assert {"group_by", "base"} <= words["layout_keys"].keys()
    assert "statuses" not in words["layout_keys"]


# --- the bar, why, and the way home ---------------------------------------------------------------


def test_the_bar_is_the_slider(bench: Preview, open_page: Opener) -> None:
    page = open_page(bench)
    page.wait_for_selector("#ghosts i", state="attached")
    measure = (
        "() => { const bar = document.getElementById('bar').getBoundingClientRect();"
        " const spans = [...document.querySelectorAll('#bar i')].map(e => e.getBoundingClientRect());"
        " const top = +document.getElementById('slider').max;"
        " return { bar: bar.width, top, end: spans.at(-1).right - bar.left, sum: spans.length } }"
    )
    found = page.evaluate(measure)
    assert abs(found["end"] - found["bar"] * 600 / found["top"]) < 4  # free ends at the budget
    assert len(page.locator("#axis span").all_inner_texts()) >= 4
    assert "Window of" in page.inner_text("#window-said")
    assert page.locator("#window-line .broken").count() >= 1
    kinds = page.locator("#legend li").all_inner_texts()
    assert any(kind.startswith("code ×") for kind in kinds)
    title = page.locator("#ghosts i").first.get_attribute("title") or ""
    page.locator("#ghosts i").first.dispatch_event("click")
    assert title.split(" ")[0] == f"{int(page.input_value('#budget')):,}"
    page.fill("#budget", "")  # an empty budget is none
    becomes(page, "document.getElementById('counts').textContent.endsWith(' 0 out')")
    assert "budget=none" in page.url and int(page.get_attribute("#slider", "max") or 0) < 20_000


def test_hundreds_of_items_are_groups_in_the_bar(bench: Preview, open_page: Opener) -> None:
    give(bench, [{"kind": f"kind_{n % 90}", "content": f"text {n} " * 9} for n in range(270)])
    page = open_page(bench, "?budget=none")
    becomes(page, "document.querySelectorAll('#bar b').length > 20")
    assert page.locator("#bar i").count() <= 84
    title = page.locator("#bar i:has(b)").first.get_attribute("title") or ""
    assert re.fullmatch(r"kind_\d+: 3 items: \d+ tokens", title)
    assert "more groups: " in (page.locator("#bar i:has(b)").last.get_attribute("title") or "")
    give(bench, ITEMS)


def test_notes_and_cache_breakpoints_are_shown(bench: Preview, open_page: Opener) -> None:
    page = open_page(bench, '?show=messages&query=why&o.cache_after=["context"]')
    page.wait_for_selector(".breakpoint")
    assert "cache breakpoint" in page.inner_text(".parts")
    said = page.inner_text("#window-said")
    assert "context" in said and "question" in said
    page.click("#notes summary")
    page.click("#show-text")
    give(bench, [*ITEMS, {"name": "late", "content": "x\u202e y", "score": "high"}])
    page.click("#notes li .line >> nth=0")
    page.wait_for_selector("#detail:not([hidden])")
    give(bench, ITEMS)


def test_a_filter_says_why_with_its_values(bench: Preview, open_page: Opener) -> None:
    dated: list[dict[str, Any]] = [
        {"name": "old", "kind": "code", "content": "old", "metadata": {"date": "2026-01-01"}},
        {"name": "new", "kind": "code", "content": "new", "metadata": {"date": "2026-03-31"}},
        {"name": "prose", "kind": "document", "content": "words"},
    ]
    give(bench, dated)
    page = open_page(bench, '?o.max_age=30&o.kinds=["code"]')
    why = "document.querySelector('#detail .why')?.textContent ?? ''"
    becomes(page, "document.querySelectorAll('#dropped .remedy').length === 2")
    words = page.inner_text("#dropped")
    assert "1 older than max_age" in words and "1 not one of the kinds" in words
    for name, said in (
        ("old", "Out: older than the newest item by more days than 30."),
        ("prose", "Out: its kind is not one of kinds (code)."),
    ):
        page.click(f".entry.dropped .name:has-text('{name}')")
        becomes(page, f"{why} === {json.dumps(said)}")
    page.click("#dropped .remedy:has-text('max_age none')")
    becomes(page, "!document.querySelector('#dropped').textContent.includes('max_age')")
    give(bench, ITEMS)


def test_why_and_the_way_home(bench: Preview, open_page: Opener) -> None:
    page = open_page(bench)
    why = "document.querySelector('#detail .why')?.textContent ?? ''"
    page.keyboard.press("]")
    becomes(page, f"/^(Included whole|Shortened to|Out: budget left)/.test({why})")
    page.click(".entry.dropped .name >> nth=1")
    becomes(page, f"/^Out: budget left/.test({why})")
    why = page.inner_text("#detail .why")
    numbers = (
        r"left [\d,]+ of [\d,]+ tokens needed( \([\d,]+ its own\))?,"
        r" after templates [\d,]+, other [\d,]+\."
    )
    assert re.search(numbers, why), why
    assert "ranking score" in page.inner_text("#detail")
    page.click("#detail button:has-text('Set the budget to')")
    becomes(page, "document.querySelector('#detail .why').textContent.startsWith('Included whole')")
    page.go_back()
    shows(page, "of 600 tokens", place="spent")
    page.keyboard.press("o")
    page.fill("#options-find", "packing")
    page.select_option("#o-packing", "drop_last")
    page.wait_for_selector(".option.set label[for=o-packing]")
    page.click("#options-close")
    assert "o.packing=" in page.url and page.inner_text("#options-open") == "Options (1)"
    page.keyboard.press("y")
    shows(page, "--packing drop_last", place="share-text")
    assert page.inner_text("#share-text").startswith("promptforge render")
    for shape, part in (
        ("Profile", "packing: drop_last"),
        ("Python", "packing='drop_last'"),
        ("Test case", "statuses:"),
    ):
        page.click(f"#share-shapes button:has-text('{shape}')")
        shows(page, part, place="share-text")
    with page.expect_download() as saved:
        page.click("#share-file")
    assert "In the text" in Path(saved.value.path()).read_text(encoding="utf-8")
    page.click("#share-close")


def set_budget(page: Page, budget: int) -> None:
    """Type a budget while the mouse is elsewhere, and wait for its text."""
    typed = "(box, budget) => { box.value = budget; box.dispatchEvent(new Event('input')) }"
    page.eval_on_selector("#budget", typed, budget)
    shows(page, f"of {budget} tokens", place="spent")


def opened(page: Page) -> str:
    page.wait_for_selector("#detail:not([hidden]) h3")
    return page.inner_text("#detail h3")


def test_a_press_outlives_what_is_drawn_meanwhile(bench: Preview, open_page: Opener) -> None:
    page = open_page(bench)
    row = page.locator(".entry.dropped .name").nth(1)
    row.hover()
    page.mouse.down()  # nothing is drawn from now on, so the row is the one that is pressed
    name = row.locator(".label").inner_text()
    set_budget(page, 590)
    page.mouse.up()
    assert opened(page) == name
    shows(page, "free", place="legend")


@pytest.mark.parametrize("pixels", [16, -52])
def test_a_row_that_moves_under_the_pointer_is_opened(
    bench: Preview, open_page: Opener, pixels: int
) -> None:
    """The fonts of the machine decide how far what is drawn above the list moves it."""
    page = open_page(bench)
    row = page.locator(".entry.dropped .name").nth(1)
    row.hover()
    page.mouse.down()  # nothing is drawn from now on, so the row is the one that is pressed
    name = row.locator(".label").inner_text()
    page.eval_on_selector("#tools", f"e => {{ e.style.marginTop = '{pixels}px' }}")
    set_budget(page, 590)
    page.mouse.up()
    assert opened(page) == name
    assert "of 590 tokens" in page.inner_text("#spent")  # no other button was clicked


def test_a_press_that_is_let_go_elsewhere_is_none(bench: Preview, open_page: Opener) -> None:
    page = open_page(bench)
    row = page.locator(".entry.dropped .name").nth(1)
    row.hover()
    page.mouse.down()
    box = row.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 9, box["y"] + box["height"] + 60)
    set_budget(page, 590)
    page.mouse.up()
    page.wait_for_selector("#list:not(.pending) .name")  # what was held back is drawn
    assert page.locator("#detail").is_hidden()


def test_a_press_on_the_text_outlives_a_new_text(bench: Preview, open_page: Opener) -> None:
    page = open_page(bench)
    page.hover("#text .run[data-item='0'] >> nth=0")
    page.mouse.down()
    set_budget(page, 90)
    page.mouse.up()
    assert opened(page) == "item 0"
    page.wait_for_selector("#text .run.picked")  # of the new text, too
    shows(page, "Word 3 of a budget", gone=True)


def test_a_tap_opens_a_row_that_is_redrawn(bench: Preview, open_page: Opener) -> None:
    """The click of a finger is an event of its own, some time after it was lifted."""
    page = open_page(bench)
    press = (
        "async ([held, budget]) => {"
        " const row = document.querySelectorAll('.entry.dropped .name')[1];"
        " const fire = kind => row.dispatchEvent(new PointerEvent(kind, {bubbles: true}));"
        " fire('pointerdown');"
        " const box = document.getElementById('budget');"
        " box.value = budget; box.dispatchEvent(new Event('input'));"
        " while (!document.getElementById('spent').textContent.includes(`of ${budget}`))"
        "  await new Promise(done => setTimeout(done, 10));"
        " fire('pointerup');"
        " await new Promise(done => setTimeout(done, held));"
        " if (row.isConnected) row.click();"
        " return row.textContent; }"
    )
    pressed = page.evaluate(press, [50, 590])
    assert opened(page) in pressed


def test_what_is_wrong_leaves_the_last_account_alone(bench: Preview, open_page: Opener) -> None:
    page = open_page(bench, "?budget=700")
    for odd in ("-5", "1e"):
        page.fill("#budget", "")
        page.type("#budget", odd)
        shows(page, "Enter a whole number", place="place")
        assert page.get_attribute("#budget", "aria-invalid") == "true"
    page.fill("#budget", "600")
    shows(page, "of 600 tokens", place="spent")
    assert page.get_attribute("#budget", "aria-invalid") == "false"
    assert page.inner_text("#place") == ""
    page.wait_for_selector("#next")
    page.click("#options-open")
    page.fill("#o-max_items", "many")
    page.keyboard.press("Tab")
    page.click("#options-close")
    page.wait_for_selector("#error:not([hidden])")
    page.locator("#list").evaluate("list => list.scrollTo(0, 1200)")
    page.wait_for_selector(".entry.dropped .facts:text-matches('fits at|needs ≥')")
    assert "whole number" not in page.inner_text("#dropped")


def test_a_remedy_is_pressed(bench: Preview, open_page: Opener) -> None:
    page = open_page(bench, '?o.kinds=["code"]&budget=4000')
    page.click("#dropped .remedy")
    becomes(page, "document.getElementById('counts').textContent.startsWith('2')")
    assert page.locator("#dropped .reason:has-text('kinds')").count() >= 1


def test_the_bar_is_of_one_scale_when_a_text_fails(bench: Preview, open_page: Opener) -> None:
    give(bench, [{"content": "word " * 90, "required": True}])
    page = open_page(bench, "?budget=4000")
    page.fill("#budget", "20")
    page.wait_for_selector("#error:not([hidden])")
    end = (
        "(() => { const bar = document.getElementById('bar').getBoundingClientRect();"
        " return (document.querySelector('#bar .item').getBoundingClientRect().right - bar.left)"
        " / bar.width * document.getElementById('slider').max })()"
    )
    used = int(page.inner_text("#spent b"))  # of the last good text
    assert abs(page.evaluate(end) - used) < used / 20
    give(bench, ITEMS)


def test_a_kind_keeps_its_colour(bench: Preview, open_page: Opener) -> None:
    page = open_page(bench)
    hues = (
        "async kinds => { const { hue } = await import(`/rows.js?${kinds[0]}`);"
        " return Object.fromEntries(kinds.map(kind => [kind, hue(kind)])) }"
    )
    kinds = ["ticket", "error", "code", "wiki", "man_page", "document"]
    first, again = page.evaluate(hues, kinds), page.evaluate(hues, kinds[::-1])
    assert first == again and len(set(first.values())) == len(kinds)


# --- comparison -----------------------------------------------------------------------------------


def test_two_views_are_compared_by_item(bench: Preview, open_page: Opener) -> None:
    page = open_page(bench, "?compare=1&b.budget=250")
    page.wait_for_selector(".changes .name")
    heads = page.locator(".changes thead th").all_inner_texts()
    assert heads == ["item", "A", "B", "tokens", "why"]
    deltas = [
        abs(int(cell.replace("−", "-").replace("±", "").replace(",", "")))
        for cell in page.locator(".changes tbody td:nth-child(4)").all_inner_texts()
    ]
    assert deltas == sorted(deltas, reverse=True)
    page.click(".changes .name >> nth=0")
    page.wait_for_selector(".changes .forms pre")
    assert page.is_visible("#slider-b") and page.input_value("#slider-b") == "250"
    page.click("#swap")
    shows(page, "of 250 tokens", place="spent")
    becomes(page, "document.getElementById('b-budget').value === '600'")
    page.click("#pin")
    becomes(page, "document.getElementById('b-budget').value === '250'")
    shows(page, "the texts are the same", place="verdict")


# --- lists, keys, unseen characters ---------------------------------------------------------------


def test_a_long_list_is_found_through_and_walked(bench: Preview, open_page: Opener) -> None:
    page = open_page(bench)
    page.keyboard.press("/")
    page.keyboard.type("item 44")
    becomes(page, "document.querySelectorAll('#list .name').length === 1")
    page.keyboard.press("Escape")
    page.fill("#filter", "")
    page.click(".chip:has-text('code')")
    becomes(
        page,
        "![...document.querySelectorAll('#list .facts')].some(e => e.textContent.startsWith('code'))",
    )
    page.click(".chip:has-text('code')")
    page.select_option("#order", "name")
    page.locator("#text").focus()
    page.keyboard.press("j")
    assert "item 0" in page.inner_text("#detail h3")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert "item 0" in page.inner_text("#detail h3")
    page.keyboard.press("?")
    assert page.is_visible("#keys") and page.locator("#keys kbd").count() > 12
    page.keyboard.press("Escape")
    page.keyboard.press("b")
    assert page.evaluate("document.activeElement.id") == "budget"


@pytest.mark.slow
def test_each_key_does_what_the_list_of_keys_says(bench: Preview, open_page: Opener) -> None:
    page = open_page(bench)
    page.locator("#text").focus()
    press = page.keyboard.press

    def chosen() -> str:
        return page.inner_text("#detail h3")

    def selected(name: str) -> bool:
        return page.get_attribute(f"#show-{name}", "aria-selected") == "true"

    press("[")  # from none to the last
    last = chosen()
    press("Escape")
    press("[")
    before = chosen()
    press("]")
    assert chosen() == last != before
    press("]")  # there is none behind it
    assert chosen() == last
    press("2")
    page.wait_for_selector(".card")
    assert selected("messages") and page.is_hidden("#text")
    press("3")
    shows(page, '"messages"', place="sent")
    assert selected("request")
    press("1")
    assert selected("text") and page.is_visible("#text")
    press("c")
    page.wait_for_selector(".changes, #deltas p")
    assert page.is_visible("#both")
    press("c")
    page.wait_for_selector("#both", state="hidden")
    press("t")
    page.wait_for_selector(".tok")
    press("t")
    press("e")
    becomes(page, "document.activeElement.id === 'editor'")
    press("c")  # a letter of the text, where one types
    in_editor(page, "c")
    assert page.is_hidden("#both")
    page.click("#revert")
    told = page.locator("#keys-list kbd").all_text_contents()
    assert set(told) == {*"jk[]/be123nptcoy?", "Esc"}
    page.set_viewport_size({"width": 390, "height": 844})
    page.locator("#text").focus()
    press("e")
    assert page.is_visible("#edit") and page.is_hidden("#prompt")
    press("Escape")
    page.locator("#edit .head").click()
    page.evaluate("document.activeElement.blur()")
    press("/")
    assert page.is_visible("#items") and page.evaluate("document.activeElement.id") == "filter"


def test_what_cannot_be_seen_has_a_box(bench: Preview, open_page: Opener) -> None:
    page = open_page(bench)
    names = page.eval_on_selector_all("#text .unseen", "all => all.map(e => e.dataset.name)")
    assert {"ZWSP", "RLO"} <= set(names) and "ZWJ" not in names
    assert "\u200b" in text(page) and "\u202e" in text(page)  # a copy is true
    assert page.locator("#list .unseen[data-name=RLO]").count() == 1
    titles = page.eval_on_selector_all("[title]", "all => all.map(e => e.title).join(' ')")
    assert "\u202e" not in titles and "⟨RLO⟩" in titles
    page.keyboard.press("t")
    page.wait_for_selector(".tok")
    shows(page, "are not public", place="place")  # of an estimate the base is outlined
    page.hover(".tok >> nth=3")
    becomes(
        page, "[...document.querySelectorAll('.tok')].some(e => /bytes [0-9a-f]{2}/.test(e.title))"
    )
    page.keyboard.press("2")
    page.wait_for_selector(".card .run[data-item]")
    assert re.search(r"[\d,]+ tokens · \d+", page.inner_text(".card h2 >> nth=-1"))
    page.click(".card .run[data-item] >> nth=0")
    page.wait_for_selector("#detail:not([hidden])")


# --- the first minute, and widths -----------------------------------------------------------------


def test_an_empty_page_offers_a_beginning(bench: Preview, open_page: Opener) -> None:
    give(bench, [])
    page = open_page(bench, wait=False)
    page.wait_for_selector("#welcome:not([hidden])")
    assert page.locator("#welcome-commands code").count() == 3
    page.fill("#welcome-text", '[{"name": 1, "content": ["x"')
    page.click("#welcome-take")
    page.wait_for_selector("#welcome-error:not([hidden])")
    page.fill("#welcome-text", '[{"name": "pasted", "content": "out of a clipboard"}]')
    page.click("#welcome-take")
    shows(page, "out of a clipboard")
    assert page.is_hidden("#welcome")
    page.click("#welcome-open")
    page.type("#welcome-text", "half a thought")
    page.keyboard.press("Escape")
    assert page.is_hidden("#welcome") and page.evaluate("document.activeElement.id") == (
        "welcome-open"
    )
    give(bench, [])
    page.wait_for_selector("#welcome:not([hidden])")
    page.click("#welcome-sample")
    settled(page)
    assert page.is_hidden("#welcome")
    give(bench, ITEMS)


@pytest.mark.parametrize("mode", ["read", "template"])
def test_nothing_overlaps_at_any_width(bench: Preview, open_page: Opener, mode: str) -> None:
    page = open_page(bench, f"?tokens=1&query=word+budget&mode={mode}")
    panes = ("prompt", "items", "edit") if mode == "template" else ("prompt", "items")
    for wide in (390, 480, 640, 768, 959, 960, 1024, 1100, 1180, 1280, 1440, 1920):
        page.set_viewport_size({"width": wide, "height": 800})
        for pane in panes if wide < 960 else ("prompt",):
            if wide < 960:
                page.click(f".tabs [data-pane={pane}]")
            assert page.evaluate(OVERLAPS) == [], (wide, pane)
            heads = "[...document.querySelectorAll('.pane > .head')].map(e => e.offsetHeight)"
            assert max(page.evaluate(heads)) <= 48, wide  # no button in a second row
    until(lambda: bench.process.poll() is None)


@pytest.mark.parametrize(("wide", "high"), [(390, 844), (1024, 768), (1440, 900)])
def test_the_chosen_item_is_not_covered(
    bench: Preview, open_page: Opener, wide: int, high: int
) -> None:
    page = open_page(bench, wide=wide, high=high)
    if wide < 960:
        page.click(".tabs [data-pane=items]")
    seen = """index => {
      const [row, list, detail] = [`#list .name[data-index='${index}']`, "#list", "#detail"]
        .map(each => document.querySelector(each)?.getBoundingClientRect());
      return row && row.top >= list.top && row.bottom <= Math.min(list.bottom, detail.top);
    }"""
    for place in (0, 3, 5):
        row = page.locator("#list .name").nth(place)
        index = row.get_attribute("data-index")
        row.click()
        becomes(page, seen, index)
        page.click("#detail button[aria-label]")


@pytest.mark.slow
def test_a_label_says_no_line_that_is_not_known(bench: Preview, open_page: Opener) -> None:
    page = open_page(bench)
    label = "async item => (await import('/dom.js')).label(item)"
    for start, end, shown in (
        (None, None, "a.py"),
        (3, None, "a.py:3"),
        (3, 3, "a.py:3-3"),
        (3, 9, "a.py:3-9"),
    ):
        item = {"path": "a.py", "start_line": start, "end_line": end}
        assert page.evaluate(label, item) == shown == path_with_lines("a.py", start, end)


# --- the user's word on single items --------------------------------------------------------------


def shared(page: Page, shape: str) -> str:
    page.click("#share-open")
    page.click(f"#share-shapes button:text-is('{shape}')")
    becomes(page, "!document.getElementById('share-text').textContent.startsWith('Writing')")
    said = page.inner_text("#share-text")
    page.click("#share-close")
    return said


def test_a_pin_goes_home_by_share(bench: Preview, open_page: Opener) -> None:
    give(bench, ITEMS)
    page = open_page(bench, "?budget=200")
    last, first = "item 44", "item 0"
    assert last not in text(page) and first in text(page)
    for name, press in ((last, "Pin"), (first, "Never")):
        page.fill("#filter", name)
        page.click(f"#list .name:has-text('{name}') >> nth=0")
        page.click(f"#detail button:text-is('{press}')")
        becomes(
            page,
            f"document.querySelector('#detail [aria-pressed=true]')?.textContent === '{press}'",
        )
        page.click("#detail .close")
    shows(page, last)
    shows(page, f"### {first}\n", gone=True)
    seen = page.evaluate("document.getElementById('text').textContent")
    command, python = shared(page, "Command"), shared(page, "Python")
    assert "--overrides" in command and "overrides=" in python
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    assert command.startswith("promptforge ")
    # A shell runs it: items that were pasted stand behind `<<END`.
    program = f"{shlex.quote(sys.executable)} -m {command}"
    for call in ["bash", "-c", program], [sys.executable, "-c", python]:
        ran = subprocess.run(
            call, cwd=bench.folder, env=environment, capture_output=True, text=True, check=True
        )
        assert ran.stdout.rstrip("\n") == seen.rstrip("\n")
