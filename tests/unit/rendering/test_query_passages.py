"""Passages that answer a query: sentences of found texts, chunks of a repository's files."""

from __future__ import annotations

from collections.abc import Collection

import pytest

import promptforge as pf
from promptforge.packing.types import Variant
from promptforge.rendering.planning import at
from promptforge.rendering.query_passages import Passages

SENTENCE = "The weather on day {} was mild, and nobody wrote down more than that."
FACT = "The rotation of keys takes place each Tuesday at noon."
PROSE = " ".join([*map(SENTENCE.format, range(40)), FACT, *map(SENTENCE.format, range(40, 60))])
STEPS = "\n\n".join(f"def step_{n}(value):\n    return value + {n}\n" for n in range(60))
LOADS = "\n\n".join(f"def load_{n}(path):\n    return open(path)\n" for n in range(60))


def test_the_sentence_that_answers_is_shown_and_the_rest_is_not() -> None:
    found = pf.render([{"content": PROSE}], query="when are keys rotated?", max_tokens=60)
    assert FACT in found.text and found.tokens <= 60
    assert found.items[0].form == "trimmed"
    assert FACT not in pf.render([{"content": PROSE}], max_tokens=60).text


def test_the_chunk_of_a_file_that_answers_is_shown() -> None:
    files = {"calc/steps.py": STEPS, "calc/loads.py": LOADS}
    items = [{"kind": "code", "path": path, "content": text} for path, text in files.items()]
    found = pf.render(items, query="step_47", max_tokens=200)
    assert "return value + 47" in found.text and found.tokens <= 200
    assert "return value + 47" not in pf.render(items, max_tokens=200).text


def test_a_manual_shows_its_synopsis_before_lesser_answers_and_after_the_best() -> None:
    usage = "".join(
        f"       kettle [-{c}] [--use-of-{c} CUP] [--more-of-{c} CUP]\n" for c in "abcdef"
    )
    options = "".join(
        f"       --boil-{n}\n              Boil {n} cups, quiet or with a song of {n} verses.\n\n"
        for n in range(30)
    )
    best = "       --quiet\n              Do not whistle a tune.\n\n"
    page = f"NAME\n       kettle - boil water\n\nSYNOPSIS\n{usage}\nOPTIONS\n{options}{best}"
    item = pf.Item(kind="man_page", name="kettle", content=page)
    for most, lines in ((50, 0), (60, 1), (110, 3)):
        shown = pf.render([item], layout="chunks", max_tokens=most, query="a quiet tune").text
        assert "--quiet\n              Do not whistle" in shown
        assert ("SYNOPSIS" in shown, shown.count("       kettle [")) == (lines > 0, lines), shown


@pytest.mark.parametrize("colon", [":", "："])
def test_what_stands_under_a_colon_answers_as_well_as_the_line_above_it(colon: str) -> None:
    command = "```sh\nvault load --day -1 shop.rows\n```"
    restore = f"To restore a table from a backup, run this{colon}\n\n{command}"
    kept = "Backups are kept for thirty days."
    log = "Every night the journal is written anew, and no one reads it."
    journal = (
        "A table that was restored from a backup is named in the journal.",
        "Nobody may restore a table while the journal is closed.",
        "A backup may be restored twice, and a table thrice.",
    )
    found = [
        pf.Item(kind="document", language="markdown", content=text, score=0.5, origin="similarity")
        for text in map("\n\n".join, (("# Backups", kept, restore, log), ("# Journal", *journal)))
    ]
    shown = pf.render(found, query="how to restore a table from a backup", max_tokens=80)
    assert restore in shown.text


@pytest.mark.parametrize("language", ["markdown", "html"])
def test_a_long_list_under_a_colon_leaves_room_for_a_paragraph_that_answers(language: str) -> None:
    points = [f"Plums and lamps number {n} stand on the table by the door." for n in range(25)]
    if language == "html":
        listed = "".join(f"<li>{each}</li>" for each in points)
        text = f"<h1>Proxy</h1><p>Proxy timeout, see:</p><ul>{listed}</ul>"
        text += "<h2>Values</h2><p>A proxy timeout is 90 seconds.</p>"
    else:
        text = "# Proxy\n\nProxy timeout, see:\n\n" + "".join(f"- {each}\n" for each in points)
        text += "\n## Proxy timeout\n\nMuch is said.\n\nIts value is 90 seconds.\n"
    item = pf.Item(kind="document", language=language, content=text)
    for room in (100, 200, 300):
        assert "90 seconds" in pf.render([item], query="proxy timeout", max_tokens=room).text


def test_another_budget_makes_anew_only_items_whose_passages_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[int] = []
    make = Passages._make_variant

    def count(self: Passages, index: int, passages: Collection[int], bare: bool) -> Variant:
        made.append(index)
        return make(self, index, passages, bare)

    monkeypatch.setattr(Passages, "_make_variant", count)
    prose = [" ".join(f"Key {k} of {n} turns on day {k + n}." for k in range(30)) for n in range(8)]
    items = [pf.Item(content=text, origin="similarity") for text in prose]
    report = pf.render(items, query="keys of day 7", max_tokens=400).report
    at(report, {"max_tokens": 401})
    made.clear()
    page, packed = at(report, {"max_tokens": 402})
    assert len(made) < len(items)
    rendered = pf.render(items, query="keys of day 7", max_tokens=402)
    assert "".join(page.parts(packed.chosen)) == rendered.text
