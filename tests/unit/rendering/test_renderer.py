"""A renderer remembers what it read of a list: a changed list is rendered as by a new one."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

import promptforge as pf
from promptforge.rendering.renderer import MAX_OTHERS

WORDS = ["alpha", "beta", "it's", "naïve", "value", "return", "x1", "==", "none", "the", "and"]


def make_item(chance: random.Random) -> pf.Item:
    """Return one of few kinds, sometimes of another origin, sometimes a copy of a common text."""
    lines = [" ".join(chance.choices(WORDS, k=chance.randint(1, 9))) for _ in range(5)]
    text = "\n".join(lines[: chance.randint(1, 5)])
    if chance.random() < 0.1:
        text = "the same\ntext for several"
    return pf.Item(
        kind=chance.choice(["code", "document", "text"]),
        path=chance.choice([None, "a.py", "b.md"]),
        content=text if chance.random() < 0.95 else None,
        summary="short" if chance.random() < 0.1 else text[:9] or "s",
        score=round(chance.random(), 2),
        origin=chance.choice(["explicit", "similarity"]) if chance.random() < 0.2 else "explicit",
    )


def make_plain(chance: random.Random) -> pf.Item:
    """Return an item whose content no other has."""
    words = chance.choices(WORDS, k=chance.randint(2, 40))
    return pf.Item(content=f"{' '.join(words)} {chance.random()}", score=chance.random())


@pytest.mark.slow
@pytest.mark.parametrize("make", [make_item, make_plain])
def test_a_changed_list_is_rendered_as_by_a_new_renderer(
    make: Callable[[random.Random], pf.Item],
) -> None:
    chance = random.Random(5)
    renderer = pf.Renderer()
    items = [make(chance) for _ in range(1020)]
    for _ in range(3):
        budget = chance.choice([300, 300, 310, 290])
        known = renderer.render(items, max_tokens=budget)
        fresh = pf.Renderer().render(items, max_tokens=budget)
        assert known.text == fresh.text
        assert known.warnings == fresh.warnings
        assert [(i.status, i.reason) for i in known.items] == [
            (i.status, i.reason) for i in fresh.items
        ]
        items = list(items)
        for _ in range(chance.choice([1, 3, 30])):
            place = chance.randrange(len(items))
            items[place] = make(chance)
        best = chance.randrange(len(items))
        items[best] = pf.Item(content=f"new {chance.random()}", score=2.0)


def test_a_text_that_is_now_the_summary_of_another_is_dropped_all_the_same() -> None:
    items = [pf.Item(content=f"text {number}") for number in range(300)]
    renderer = pf.Renderer()
    renderer.render(items)
    items[7] = pf.Item(summary="text 100")
    known, fresh = renderer.render(items), pf.Renderer().render(items)
    assert known.items_included == fresh.items_included == 299


def test_templates_given_by_call_are_compiled_once(tmp_path: Path) -> None:
    def templates(mark: str) -> dict[str, str]:
        return {
            "mine/layout.yaml": "base: chunks\n",
            "mine/item.md.j2": mark + " {{ item.content }}\n",
        }

    renderer, items = pf.Renderer(layout="chunks"), [{"content": "a text"}]
    first, other = templates("*"), templates("+")
    for given in (first, other, first):
        made = renderer.render(items, templates=given, layout="mine")
        assert made.text == pf.render(items, templates=given, layout="mine").text
    assert renderer._other(templates=first) is renderer._other(templates=templates("*"))
    assert renderer._other(templates=first) is not renderer._other(templates=other)
    assert renderer._other(profile="claude") is renderer._other(profile="claude")
    # Files may change from call to call.
    (tmp_path / "mine").mkdir()
    for mark in "*+":
        for name, text in templates(mark).items():
            (tmp_path / name).write_text(text)
        assert mark in renderer.render(items, templates=tmp_path, layout="mine").text
    for number in range(2 * MAX_OTHERS):
        renderer.render(items, templates=templates(str(number)), layout="mine")
    assert len(renderer._others) <= MAX_OTHERS
