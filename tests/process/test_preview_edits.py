"""Editing on the preview's page in a real browser: try, break, repair, save; other writers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from commandline import run
from preview_browser import (
    Opener,
    becomes,
    in_editor,
    needs_browser,
    open_file,
    settled,
    shows,
    start,
    text,
    type_at_start,
    until,
)
from preview_process import Preview

if TYPE_CHECKING:
    from playwright.sync_api import Dialog, Page, Route

pytestmark = [needs_browser, pytest.mark.slow]
OWN = "{# One. Uses: item. #}\nFIRST {{ item.content | fence }}\n"


def write_at_once(path: Path, text: str) -> None:
    """Write a file that nobody sees half written."""
    made = path.parent.parent / "made"
    made.write_text(text, encoding="utf-8")
    made.replace(path)


def item_of(running: Preview) -> Path:
    return running.folder / "templates" / "chunks" / "item.md.j2"


@pytest.mark.slow
def test_from_the_first_edit_to_the_last_save(edited: Preview, open_page: Opener) -> None:
    """One who edits on the page, and one who edits the same file on the disk."""
    own = item_of(edited)
    page = open_page(edited)
    open_file(page)
    type_at_start(page, "SEEN ")
    shows(page, "SEEN ")
    assert not own.exists()
    page.keyboard.press("Control+s")
    shows(page, "copy of your own in templates/", place="about")
    assert own.read_text(encoding="utf-8").startswith("SEEN ") and page.is_disabled("#save")
    assert (
        "SEEN"
        in run(
            "render", edited.folder / "items.json", "--templates", edited.folder / "templates"
        ).out
    )

    write_at_once(own, OWN.replace("FIRST", "ELSEWHERE"))
    shows(page, "ELSEWHERE")
    in_editor(page, "ELSEWHERE")
    assert "(yours)" in page.inner_text("#file option:checked")

    type_at_start(page, "MINE ")
    shows(page, "MINE ELSEWHERE")
    theirs = OWN.replace("FIRST", "THEIRS")
    write_at_once(own, theirs)
    page.keyboard.press("Control+s")  # before or after the page has heard of it
    page.wait_for_selector("#conflict:not([hidden])")
    shows(page, "MINE ")
    assert own.read_text(encoding="utf-8") == theirs
    page.click("#conflict button:has-text('Keep mine')")
    page.wait_for_selector("#conflict", state="hidden")
    page.click("#save")
    shows(page, "Saved", place="about")
    assert own.read_text(encoding="utf-8").startswith("MINE ")

    type_at_start(page, "AGAIN ")
    write_at_once(own, theirs)
    page.click("#conflict button:has-text('Load theirs')")
    shows(page, "THEIRS")
    assert page.is_disabled("#save")
    own.unlink()
    shows(page, "THEIRS", gone=True)


class Held:
    """The next request of a method for a file: it goes to the server, and back, when a test says so."""

    def __init__(self, page: Page, method: str) -> None:
        self._page, self._method = page, method
        self._route: Route | None = None
        page.route("**/api/files/*", self._hold)

    def _hold(self, route: Route) -> None:
        if self._route is None and route.request.method == self._method:
            self._route = route
        else:
            route.fallback()

    def ask(self) -> None:
        """Wait for the request, and let the server answer it."""
        until(lambda: self._page.evaluate("true") and self._route)
        assert self._route
        self._answer = self._route.fetch()

    def tell(self) -> None:
        """Let the page have the answer."""
        assert self._route
        with self._page.expect_event("requestfinished"):
            self._route.fulfill(response=self._answer)


@pytest.mark.slow
def test_unsaved_changes_go_with_no_page_unasked(edited: Preview, open_page: Opener) -> None:
    page = open_page(edited)
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    open_file(page)
    type_at_start(page, "TYPED ")
    shows(page, "TYPED ")
    page.close(run_before_unload=True)
    until(lambda: page.evaluate("1") and asked == ["beforeunload"])
    in_editor(page, "TYPED ")
    page.context.set_offline(True)
    page.keyboard.press("Control+s")
    shows(page, "Lost the connection: is promptforge still running?", place="about")
    shows(page, "it stays on this page", place="about")
    page.context.set_offline(False)
    page.click("#save")
    shows(page, "copy of your own in templates/", place="about")
    page.reload()
    settled(page)
    assert asked == ["beforeunload"]


@pytest.mark.slow
def test_answers_that_come_late_change_nothing(edited: Preview, open_page: Opener) -> None:
    own, other = item_of(edited), edited.folder / "profiles" / "other.yaml"
    own.parent.mkdir()
    write_at_once(own, OWN)
    until(lambda: start(edited)["mine"])
    page = open_page(edited)
    open_file(page)

    old = Held(page, "GET")
    write_at_once(own, OWN.replace("FIRST", "SECOND"))
    old.ask()
    write_at_once(own, OWN.replace("FIRST", "THIRD"))
    in_editor(page, "THIRD")
    old.tell()
    type_at_start(page, "MINE ")
    shows(page, "MINE THIRD")

    old = Held(page, "GET")
    write_at_once(other, "headers: false\n")
    old.ask()
    page.keyboard.press("Control+s")
    shows(page, "Saved.", place="about")
    old.tell()
    type_at_start(page, "AGAIN ")
    shows(page, "AGAIN MINE THIRD")

    saved = Held(page, "PUT")
    page.keyboard.press("Control+s")
    type_at_start(page, "LAST ")
    page.keyboard.press("Control+s")
    shows(page, "LAST AGAIN MINE THIRD")
    saved.ask()
    with page.expect_request("**/api/page"):  # once it has looked at its files
        write_at_once(other, "headers: true\n")
    assert page.is_hidden("#conflict")
    saved.tell()
    becomes(page, "document.getElementById('save').disabled")
    assert own.read_text(encoding="utf-8").startswith("LAST AGAIN MINE ")
    assert page.is_hidden("#conflict")

    type_at_start(page, "NEVER ")
    old = Held(page, "GET")
    write_at_once(own, OWN.replace("FIRST", "FOURTH"))
    old.ask()
    write_at_once(own, OWN.replace("FIRST", "FIFTH"))
    page.wait_for_selector("#conflict:not([hidden])")
    old.tell()
    page.click("#conflict button:has-text('Load theirs')")
    in_editor(page, "FIFTH")
    becomes(page, "document.getElementById('save').disabled")


def test_a_profile_is_edited_too(edited: Preview, open_page: Opener) -> None:
    page = open_page(edited, "?profile=lisp")
    open_file(page, "lisp.yaml")
    page.click("#editor .cm-content")
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("\nheader: FROM THE PROFILE\n")
    shows(page, "FROM THE PROFILE")
    page.click("#save")
    shows(page, "copy of your own in profiles/", place="about")
    assert "FROM THE PROFILE" in (edited.folder / "profiles" / "lisp.yaml").read_text(
        encoding="utf-8"
    )


def test_what_breaks_is_said_in_its_place_and_the_last_text_stays(
    edited: Preview, open_page: Opener
) -> None:
    page = open_page(edited)
    open_file(page)
    before = text(page)
    type_at_start(page, "{{ item.pth }}\n")
    page.wait_for_selector("#error:not([hidden])")
    assert 'there is no field "pth"; did you mean "path"?' in page.inner_text("#error")
    page.wait_for_selector(".cm-lint-marker-error")
    assert text(page) == before and page.locator("#prompt.stale").count() == 1
    page.click("#error .line")
    assert "item.md.j2:1" in page.inner_text("#error .line")
    page.click("#record")
    shows(page, "no good text", place="case-error")
    assert page.is_disabled("#case-save")
    page.keyboard.press("Escape")
    page.click("#revert")
    page.wait_for_selector("#error", state="hidden")
    assert (
        text(page) == before and page.locator("#prompt.stale, .cm-lint-marker-error").count() == 0
    )


def test_what_is_broken_from_the_start_is_mended_here(
    edited: Preview, open_page: Opener, shots: Path
) -> None:
    own, heard = item_of(edited), start(edited)["changes"]
    own.parent.mkdir()
    own.write_text("{# One. Uses: item. #}\n{{ item.content | fench }}\n", encoding="utf-8")
    until(lambda: start(edited)["changes"] > heard)
    page = open_page(edited, wait=False)
    page.wait_for_selector("#error:not([hidden])")
    assert "item.md.j2:2" in page.inner_text(
        "#error"
    ) and 'did you mean "fence"' in page.inner_text("#error")
    page.wait_for_selector(".cm-lint-marker-error")
    assert page.inner_text("#file option:checked").startswith("chunks/item.md.j2")
    assert "no text yet" in page.inner_text("#text")
    page.screenshot(path=shots / "broken-from-the-start.png")
    page.click("#editor .cm-content")
    page.keyboard.press("Control+a")
    page.keyboard.press("Backspace")
    page.keyboard.insert_text(OWN)
    settled(page)
    shows(page, "FIRST")
    assert page.is_hidden("#error") and page.locator(".cm-lint-marker-error").count() == 0
    page.click("#save")
    shows(page, "Saved", place="about")
    assert own.read_text(encoding="utf-8") == OWN


LOOP = "{% for a in item.content %}"
ENDLESS = LOOP * 4 + "x" + "{% endfor %}" * 4


def test_a_template_that_never_ends_is_stopped(edited: Preview, open_page: Opener) -> None:
    page = open_page(edited)
    open_file(page)
    before = text(page)
    type_at_start(page, ENDLESS)
    page.wait_for_selector("#error:not([hidden])")
    assert text(page) == before
    assert edited.process.poll() is None
    page.click("#revert")
    page.wait_for_selector("#error", state="hidden")
    type_at_start(page, "AGAIN ")
    shows(page, "AGAIN ")


@pytest.mark.slow
def test_what_is_seen_becomes_a_golden_test(
    edited: Preview, open_page: Opener, shots: Path
) -> None:
    tests, templates = edited.folder / "tests", edited.folder / "templates"
    page = open_page(edited)
    page.click("#record")
    page.fill("#case-name", "as it is")
    page.click("#case-save")
    shows(page, "Saved in tests/preview.yaml", place="place")
    page.fill("#budget", "60")
    shows(page, "of 60 tokens", place="spent")
    page.click("#record")
    page.wait_for_selector("#case-save:enabled")
    assert "1 case " in page.inner_text("#case-about")
    page.fill("#case-name", "as it is")
    page.check("[name=expect][value=bounds]")
    page.click("#case-save")
    shows(page, "choose another name", place="case-error")
    page.fill("#case-name", "little room: <b> ' \" # 日本")
    page.click("#case-save")
    page.wait_for_selector("#case", state="hidden")
    ran = run("test", tests, "--templates", templates)
    assert ran.code == 0 and ran.err.endswith("2 cases passed\n")
    open_file(page)
    type_at_start(page, "CHANGED ")
    page.click("#record")
    shows(page, "Save or revert first", place="case-error")
    assert page.is_disabled("#case-save")
    page.click("#case-run")  # with what is not saved, and no file is touched
    shows(page, "2 tests: 1 failed", place="case-outcomes")
    assert "+CHANGED" in page.inner_text("#case-outcomes pre")
    page.screenshot(path=shots / "tests-with-drafts.png")
    page.click("#case-cancel")
    page.click("#save")
    shows(page, "Saved", place="about")
    ran = run("test", tests, "--templates", templates)
    assert ran.code == 1 and "+CHANGED" in ran.out
