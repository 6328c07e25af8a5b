"""The preview's page in a real browser: its content, and that nothing leaves the machine."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from commandline import run
from preview_browser import (
    Opener,
    becomes,
    entered,
    give,
    needs_browser,
    open_file,
    settled,
    shows,
    text,
    type_at_start,
)
from preview_process import ITEMS, Preview, preview, write_items

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [needs_browser, pytest.mark.slow]


def test_the_text_is_what_render_prints(edited: Preview, open_page: Opener, shots: Path) -> None:
    page = open_page(edited)
    assert text(page) == run("render", edited.folder / "items.json", "--max-tokens", "160").out[:-1]
    assert page.locator("#text script, #text b, #list script").count() == 0
    assert "<script>alert(1)</script>" in text(page)
    names = page.locator("#list .label").all_inner_texts()
    assert len(names) == len(ITEMS) and "guide.md" in names
    assert re.search(r"^\d+ of 160 tokens", page.inner_text("#spent"))
    page.screenshot(path=shots / "light-1280.png")


def test_the_page_says_the_price_of_the_text_and_of_the_whole_prompt(
    browser: Browser, tmp_path: Path, open_page: Opener
) -> None:
    flags = ("--max-tokens", "160", "--system", "You answer from the context.")
    with preview(tmp_path, *flags, "--profile", "claude-sonnet-5-5") as running:
        page = open_page(entered(browser, running))
        items = tmp_path / "items.json"
        for profile in ("claude-sonnet-5-5", "claude"):
            asked = ("--max-tokens", "160", "--profile", profile, "--json")
            price = json.loads(run("explain", items, *asked).out)["price"]
            assert (" to $" in price["says"]) == (profile == "claude")
            shows(page, f"tokens · {price['says']} · ", place="spent")
            assert page.get_attribute("#spent [title]", "title") == price["about"]
            page.click("#show-messages")
            shows(page, " · about $", place="window-said")
            whole = page.inner_text("#window-said [title]")
            assert whole != price["says"]
            shows(page, f" tokens · {whole}", place="messages")
            page.click("#show-text")
            page.select_option("#profile", "claude")
        page.select_option("#profile", "default")
        shows(page, "exact, o200k_base", place="spent")
        assert "$" not in page.inner_text("#spent")
        shows(page, "$", gone=True, place="window-said")
        page.close()


def test_the_budget_moves_the_text(edited: Preview, open_page: Opener) -> None:
    page = open_page(edited)
    for budget in (40, 160, 90):
        page.eval_on_selector(
            "#slider", "(s, v) => { s.value = v; s.dispatchEvent(new Event('input')) }", str(budget)
        )
        shows(page, f"of {budget} tokens", place="spent")
        assert 0 < int(page.inner_text("#spent b")) <= budget
        assert page.input_value("#budget") == str(budget)
    assert "budget=90" in page.url
    page.fill("#budget", "5")
    shows(page, "empty")
    page.fill("#budget", "60")
    shows(page, "of 60 tokens", place="spent")
    page.wait_for_selector("#next")  # it is hidden until it belongs to this text
    said = re.fullmatch(r"Next: (.+) at (\d+)", page.text_content("#next") or "")
    assert said is not None
    name, at = said.groups()
    assert page.locator("#ghosts i").count() >= 1
    page.click("#next")
    page.wait_for_selector(f".entry.included .label[title='{name}']")
    assert page.input_value("#budget") == at
    page.fill("#budget", "")
    settled(page)


def test_profiles_layouts_and_formats_are_switched_and_kept(
    edited: Preview, open_page: Opener
) -> None:
    page = open_page(edited)
    page.select_option("#profile", "claude")
    shows(page, "<document_content>")
    page.select_option("#profile", "")
    page.select_option("#layout", "context")
    shows(page, "## Context")
    page.select_option("#format", "json")
    shows(page, "## Context", gone=True)
    page.fill("#query", "how do greetings end")
    page.fill("#budget", "111")
    shows(page, "of 111 tokens", place="spent")
    before, address = text(page), page.url
    assert {"layout=context", "format=json"} <= set(address.partition("?")[2].split("&"))
    page.goto(address)
    becomes(page, "before => document.getElementById('text').textContent === before", before)
    assert page.input_value("#query") == "how do greetings end"


@pytest.mark.slow
def test_tokens_are_outlined_whole(edited: Preview, open_page: Opener, shots: Path) -> None:
    page = open_page(edited)
    before = text(page)
    page.click("#tokens")
    page.wait_for_selector(".tok")
    pieces = page.locator(".tok").all_text_contents()
    assert text(page) == before == "".join(pieces)
    assert "\ufffd" not in before and "👍🏽" in before
    assert len(pieces) > 40
    page.screenshot(path=shots / "tokens.png")
    select = "getSelection().setBaseAndExtent(...{0}, 0, ...{0}, {0}.at(-1).childNodes.length)"
    first = "[document.querySelectorAll('.tok')[3]]"
    page.evaluate(select.replace("{0}", first))
    shows(page, ", 1 token", place="place")
    page.evaluate("getSelection().selectAllChildren(document.querySelector('.block'))")
    shows(page, f"Selected: {len(before.encode('utf-16-le')) // 2} char", place="place")
    page.evaluate("getSelection().removeAllRanges()")
    shows(page, "Selected", place="place", gone=True)
    page.click("#tokens")
    becomes(page, "!document.querySelector('.tok')")
    assert text(page) == before


def test_an_item_leads_to_its_text_and_template_line(edited: Preview, open_page: Opener) -> None:
    page = open_page(edited)
    page.click(".name:has-text('guide.md')")
    assert "Greetings are polite" in page.inner_text("#text .run.picked >> nth=-1")
    page.click("#detail .line >> nth=0")
    becomes(page, "document.activeElement.id === 'editor'")
    page.click("#text .run[data-item] >> nth=-1")
    page.click("#place .line")
    assert "item.md.j2" in page.inner_text("#place .line")


def test_two_views_stand_side_by_side(edited: Preview, open_page: Opener, shots: Path) -> None:
    page = open_page(edited)
    page.click("#compare")
    page.select_option("#b-format", "xml")
    page.wait_for_selector(".pair ins:has-text('<')")
    figures = page.inner_text("#deltas")
    assert "tokens" in figures and "A" in figures
    assert "markdown" in page.inner_text(".pair.heads") and "xml" in page.inner_text(".pair.heads")
    page.fill("#b-budget", "60")
    becomes(page, "document.querySelector('.pair.heads').textContent.includes('of 60')")
    assert {"compare=1", "b.format=xml", "b.budget=60"} <= set(
        page.url.partition("?")[2].split("&")
    )
    page.screenshot(path=shots / "compare.png")


# --- the whole prompt -----------------------------------------------------------------------------


def test_the_whole_prompt_is_behind_tabs(edited: Preview, open_page: Opener, shots: Path) -> None:
    page = open_page(edited)
    page.fill("#query", "how do <b>greetings</b> end?")
    page.focus("#show-text")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector(".card.system")
    assert page.evaluate("document.activeElement.id") == "show-messages"
    assert page.inner_text(".card.system pre") == "You answer from the context."
    asked = page.locator(".card.user pre").first
    assert "Greetings are polite" in asked.inner_text() and asked.inner_text().endswith(
        "how do <b>greetings</b> end?"
    )
    assert page.locator("#messages b:has-text('greetings')").count() == 0
    page.screenshot(path=shots / "messages.png")
    page.keyboard.press("End")
    page.select_option("#to", "anthropic")
    shows(page, '"system": [', place="sent")
    arguments = ("--max-tokens", "160", "--system", "You answer from the context.")
    said = run(
        *("prompt", edited.folder / "items.json", *arguments, "--to", "anthropic"),
        *("--user", "how do <b>greetings</b> end?"),
    )
    assert page.evaluate("document.getElementById('sent').textContent") == said.out
    page.reload()
    shows(page, '"type": "text"', place="sent")
    assert (
        page.is_hidden("#text") and page.get_attribute("#show-request", "aria-selected") == "true"
    )
    page.focus("#show-request")
    page.keyboard.press("ArrowRight")  # around to the first
    assert page.is_visible("#text") and page.is_hidden("#request")
    assert [page.locator("[role=tab]").nth(n).get_attribute("tabindex") for n in (1, 2)] == [
        "-1",
        "-1",
    ]


def test_a_part_of_the_prompt_is_edited(edited: Preview, open_page: Opener) -> None:
    page = open_page(edited, "?show=messages")
    page.wait_for_selector(".card.system")
    open_file(page, "prompt/default/")
    type_at_start(page, "{{ nothing.there }}")
    page.wait_for_selector("#error:not([hidden])")
    assert page.locator("#prompt.stale .card.system").count() == 1
    page.click("#revert")
    page.wait_for_selector("#error", state="hidden")


# --- for everybody --------------------------------------------------------------------------------


def test_the_keyboard_alone_is_enough(edited: Preview, open_page: Opener) -> None:
    page = open_page(edited)
    reached: list[str] = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("document.activeElement.id || document.activeElement.className")
        )
        if reached[-1] == "slider":
            page.keyboard.press("End")
            becomes(
                page,
                "document.getElementById('spent').textContent"
                ".includes(`of ${document.getElementById('slider').max}`)",
            )
            settled(page)
        if reached[-1] == "name":
            break
    top = {
        "skip",
        "profile",
        "layout",
        "format",
        "query",
        "tokens",
        "compare",
        "budget",
        "slider",
        "filter",
        "order",
    }
    assert top <= set(reached)
    assert len(reached) - reached.index("filter") <= 5  # one stop each: order, chips, reasons, list
    page.keyboard.press("Enter")
    page.wait_for_selector("#detail:not([hidden])")
    page.keyboard.press("Tab")
    while page.evaluate("document.activeElement.className") != "line":
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    becomes(page, "document.activeElement.id === 'editor'")
    page.keyboard.insert_text("BY KEY ")
    shows(page, "BY KEY")
    page.keyboard.press("Escape")  # after which Tab leaves the editor
    page.keyboard.press("Tab")
    after = []
    while "text" not in after:
        after.append(page.evaluate("document.activeElement.id"))
        page.keyboard.press("Tab")
    assert {"show-text", "record", "copy"} <= set(after) and "editor" not in after


def test_dark_follows_the_system_and_the_switch(edited: Preview, open_page: Opener) -> None:
    page = open_page(edited, color_scheme="dark", wait=False)
    lightness = "+getComputedStyle(document.body).backgroundColor.match(/\\d+/g)[0]"
    becomes(page, f"{lightness} < 60")
    page.click("#theme")
    assert page.evaluate(lightness) > 200
    page.click("#theme")
    assert page.evaluate(lightness) < 60
    page.reload()
    becomes(page, f"{lightness} < 60")


def test_a_narrow_page_shows_one_pane_at_a_time(edited: Preview, open_page: Opener) -> None:
    page = open_page(edited, wide=390, high=844)
    panes = ("prompt", "items", "edit")
    for pane in reversed(panes):
        page.click(f".tabs [data-pane={pane}]")
        assert [each for each in panes if page.is_visible(f"#{each}")] == [pane]
    page.click(".tabs [data-pane=prompt]")
    page.click("#compare")
    page.wait_for_selector(".pair.heads")
    assert page.is_visible("#b-format")


# --- without a place of one's own, and much of it -------------------------------------------------


def test_without_edit_everything_is_tried_and_nothing_saved(
    reading: Preview, open_page: Opener
) -> None:
    give(reading, ITEMS)
    page = open_page(reading, "?mode=template")
    open_file(page)
    type_at_start(page, "TRIED ")
    shows(page, "TRIED ")
    assert page.is_disabled("#save") and page.is_disabled("#record")
    page.keyboard.press("Control+s")
    shows(page, "--edit", place="about")
    assert list((reading.folder / "templates").iterdir()) == []
    give(reading, [{"content": "quite another thing"}])
    shows(page, "quite another thing")
    write_items(reading.folder, "[not json")
    page.fill("#budget", "150")
    shows(page, "of 150", place="spent")
    shows(page, "quite another thing")


def test_problems_with_items_lead_to_them(reading: Preview, open_page: Opener) -> None:
    give(reading, [{"content": "sound"}, {"name": "odd", "content": "text", "score": "high"}])
    page = open_page(reading)
    page.click("#notes summary")
    assert "items.json:1[1]: score: expected a number" in page.inner_text("#notes li")
    page.click("#notes .line:has-text('odd')")
    assert page.inner_text("#detail h3") == "odd"
    write_items(reading.folder, '[{"content":')
    shows(page, "not read, so the items of before stay", place="notes")
    assert "sound" in text(page)


def test_no_items_and_no_room_are_said(reading: Preview, open_page: Opener) -> None:
    give(reading, [])
    page = open_page(reading, wait=False)
    shows(page, "empty")
    shows(page, "There are no items", place="list")
    give(reading, [{"content": "word " * 90, "required": True}])
    page = open_page(reading, "?budget=20", wait=False)
    page.click("#error button:has-text('Set the budget')")
    settled(page)


@pytest.mark.nightly
def test_ten_thousand_items_are_shown(reading: Preview, open_page: Opener, shots: Path) -> None:
    give(
        reading,
        [
            {"name": f"piece {n}", "content": f"This is piece {n}.", "score": 1 - n / 20_000}
            for n in range(10_000)
        ],
    )
    page = open_page(reading, "?budget=300")
    assert "out" in page.inner_text("#counts")
    assert page.locator("#list .name").count() < 1000
    page.screenshot(path=shots / "many.png")


@pytest.mark.nightly
def test_a_megabyte_of_text_is_shown(reading: Preview, open_page: Opener) -> None:
    give(
        reading,
        [
            {
                "name": "long",
                "content": "".join(f"line {n} of a long text 日本\n" for n in range(40_000)),
            }
        ],
    )
    page = open_page(reading)
    assert len(text(page)) < 500_000
    page.click("#text button:has-text('Show all')")
    becomes(page, "document.getElementById('text').textContent.length > 1_000_000")
    page.click("#tokens")
    page.wait_for_selector(".tok")
    assert page.locator(".tok").count() < 20_000


# --- three arrangements of one page ---------------------------------------------------------------


MANY = [
    {
        "name": f"record {n}",
        "kind": ("code", "document")[n % 2],
        "score": 1 - n / 100,
        "content": f"Refunded orders of day {n} time out. " * (3 + n % 7),
    }
    for n in range(45)
]


def test_reading_needs_no_editor(reading: Preview, open_page: Opener) -> None:
    give(reading, MANY)
    page = open_page(reading, "?budget=900&query=refunds", wide=1440, high=900)
    assert page.is_hidden("#edit") and page.is_visible("#items") and page.is_visible("#text")
    page.click(".entry.dropped .name >> nth=0")
    page.wait_for_selector("#detail:not([hidden])")
    assert page.locator("#list").bounding_box()["height"] >= 8 * 30  # type: ignore[index]
    page.click("#mode-template")
    page.wait_for_selector("#editor .cm-content[aria-label^='Text of']")
    assert "mode=template" in page.url
    page.go_back()
    page.wait_for_selector("#edit", state="hidden")
    for wide, high in ((390, 844), (720, 450)):  # the latter is 1440×900 at 200 %
        page.set_viewport_size({"width": wide, "height": high})
        box = page.locator("#text").bounding_box()
        assert box is not None and box["y"] < 0.45 * high


def test_the_text_shows_what_is_absent_and_what_was_asked(
    reading: Preview, open_page: Opener
) -> None:
    # One has no room whole, and nothing is shortened.
    long = {**MANY[5], "content": MANY[5]["content"] * 60}
    give(reading, [*MANY[:5], long, *MANY[6:]])
    page = open_page(reading, '?budget=900&query=refunding&o.trim="none"')
    # Words in other forms are found; neither marks nor ghosts are part of the text.
    said = page.inner_text("#hits-said")
    assert said == f"{text(page).count('Refunded')} hits"
    assert "would stand here" not in text(page)
    page.keyboard.press("n")
    page.click("#hit-next")
    assert page.inner_text("#hits-said").startswith("2 of ")
    ghost = page.locator(".ghost-line").first
    name = ghost.evaluate("each => each.dataset.says.replace(' would stand here', '')")
    ghost.click()
    assert page.inner_text("#detail h3") == name
    before = int(name.split()[1])
    behind = page.evaluate(
        "+document.querySelector('.ghost-line ~ .part').textContent.match(/record (\\d+)/)[1]"
    )
    assert before < behind  # in the order of scores


def test_an_empty_query_and_budget_are_none(
    browser: Browser, open_page: Opener, tmp_path: Path
) -> None:
    flags = ("--max-tokens", "200", "--query", "Refunded orders of day 20")
    with preview(tmp_path, *flags, items=MANY) as running:
        page = open_page(entered(browser, running))
        asked = text(page)
        page.fill("#query", "")
        becomes(page, "asked => document.getElementById('text').textContent !== asked", asked)
        file = tmp_path / "items.json"
        assert text(page) == run("render", str(file), "--max-tokens", "200").out.rstrip("\n")
        page.reload()
        settled(page)
        assert page.input_value("#query") == ""
        page.fill("#budget", "")
        shows(page, "no limit", place="spent")
        assert text(page) == run("render", str(file), "--max-tokens", "none").out.rstrip("\n")
        page.click("#budget-reset")
        page.click("#query-reset")
        becomes(page, "asked => document.getElementById('text').textContent === asked", asked)
        assert page.evaluate("document.activeElement.id") == "query"
        page.close()


def test_focus_never_falls_to_the_page(reading: Preview, open_page: Opener) -> None:
    give(reading, [{**item, "name": f"{item['name']} {n}"} for n in range(20) for item in MANY])
    page = open_page(reading, "?budget=900&query=refunds&o.kinds=[%22code%22]")
    fallen = "document.activeElement === document.body"
    page.focus("#filter")
    stops: list[str] = []
    while not stops or stops[-1] != "name":
        page.keyboard.press("Tab")
        stops.append(page.evaluate("document.activeElement.className"))
    assert len(stops) <= 5
    for key in ("End", "PageUp", "Enter", "Home", "ArrowDown"):
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.className") == "name", key
    page.locator("#list").evaluate("list => list.scrollTo(0, 9000)")
    page.wait_for_timeout(50)
    assert page.evaluate("document.activeElement.className") == "name"
    page.focus("#detail .close")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.className") == "name"
    page.wait_for_selector("#dropped .remedy")
    for place in (".chip >> nth=1", "#dropped .reason", "#dropped .remedy"):
        page.focus(place)
        page.keyboard.press("Enter")
        page.wait_for_selector("#busy", state="hidden")
        assert not page.evaluate(fallen), place
    page.fill("#budget", "700")
    page.wait_for_selector("#next:not([hidden])")
    page.focus("#next")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    settled(page)
    assert not page.evaluate(fallen)


def test_forced_colors_keep_the_bar(reading: Preview, open_page: Opener) -> None:
    give(reading, MANY)
    page = open_page(reading, "?budget=900", forced_colors="active")
    colors = page.eval_on_selector_all(
        "#bar .item", "all => [...new Set(all.map(e => getComputedStyle(e).backgroundColor))]"
    )
    assert len(colors) >= 2


def test_a_folder_is_a_tree(browser: Browser, open_page: Opener, tmp_path: Path) -> None:
    source = tmp_path / "src"
    for name in ("app/main.py", "app/[odd] !#.py", "docs/guide.md", "docs/api/index.md"):
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {name}\n\nThe words of {name}.\n", encoding="utf-8")
    (source / "app/tool.py").write_text("def tool(a):\n    left = a + 1\n    return left\n")
    with preview(tmp_path, str(source), items=[]) as running:
        page = open_page(entered(browser, running), wide=1440, high=900)
        page.wait_for_selector("#tree [role=treeitem]")
        focused = "document.activeElement.getAttribute('role')"
        page.locator("#tree [tabindex='0']").focus()
        for key in ("Home", "ArrowRight", "ArrowDown", "ArrowLeft", "ArrowLeft", "End"):
            page.keyboard.press(key)
            assert page.evaluate(focused) == "treeitem", key

        for folder in ("app/", "docs/"):
            if (
                page.get_attribute(f".leaf:has(bdi:text-is('{folder}'))", "aria-expanded")
                == "false"
            ):
                page.click(f".leaf:has(bdi:text-is('{folder}')) .twist")
        page.click(".leaf:has(bdi:text-is('[odd] !#.py')) .tick")
        shows(page, "words of app/[odd]", gone=True)
        assert "words of app/main.py" in text(page)
        page.click(".leaf:has(bdi:text-is('docs/')) .tick")
        shows(page, "words of docs/guide.md", gone=True)
        page.click(".leaf:has(bdi:text-is('guide.md')) .tick")
        shows(page, "words of docs/guide.md")
        assert "docs/api" not in text(page)
        assert page.get_attribute(".leaf:has(bdi:text-is('docs/'))", "aria-checked") == "mixed"
        shows(page, "guide.md", place="tree-command")
        _, *words = shlex.split(page.inner_text("#tree-command"))
        assert run(*words).out.rstrip("\n") == text(page)
        for name, word in (("tool.py", "outline"), ("main.py", "whole")):
            page.click(f".leaf:has(bdi:text-is('{name}')) bdi")
            page.click(f".leaf:has(bdi:text-is('{name}')) [data-word={word}]")
            page.wait_for_selector(
                f".leaf:has(bdi:text-is('{name}')) [data-word={word}][aria-pressed=true]"
            )
        shows(page, "return left", gone=True)
        shows(page, 'app/main.py": "whole"', place="tree-command")
        _, *words = shlex.split(page.inner_text("#tree-command"))
        assert run(*words).out.rstrip("\n") == text(page) and "def tool" in text(page)
        page.click(".leaf:has(bdi:text-is('tool.py')) .tick")
        shows(page, "def tool", gone=True)
        shows(page, "outline", place="tree-command", gone=True)
        page.click(".leaf:has(bdi:text-is('docs/')) .tick")
        page.wait_for_selector("#busy", state="hidden")
        assert page.evaluate(focused) == "treeitem"
        page.close()
