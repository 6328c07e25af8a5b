"""Ranges that touch: chosen one by one, then shown as one. A range never drags its neighbour in."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st
from unfiltered import PACKINGS

import promptforge as pf
from promptforge import Item, render
from promptforge.packing.types import Variant
from promptforge.selection.group import MAX_TEXTS_PER_LINE, ContainedTexts

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"]
FILES = {
    path: [f"{path[0]}{n} {' '.join(WORDS[n % 7 : n % 7 + 1 + n % 4])}" for n in range(1, 61)]
    for path in ("a.py", "b.py", "c.md")
}


def line_range(path: str, start: int, end: int, score: float, **fields: Any) -> pf.Item:
    content = "\n".join(FILES[path][start - 1 : end])
    place: dict[str, Any] = {"path": path, "start_line": start, "end_line": end}
    return pf.Item(kind="code", content=content, score=score, **place, **fields)


SCORES = st.sampled_from([0.1, 0.3, 0.5, 0.5, 0.8, 0.9])
PATHS = st.sampled_from(list(FILES))


@st.composite
def corpora(draw: st.DrawFn) -> list[pf.Item]:
    """Draw ranges that touch, overlap, lie in each other, or stand alone."""
    items = []
    for _ in range(draw(st.integers(1, 3))):
        path, at = draw(PATHS), draw(st.integers(1, 12))
        for _ in range(draw(st.integers(1, 6))):
            at = max(1, at + draw(st.sampled_from([0, 0, 0, -3, -8, 5])))
            end = min(60, at + draw(st.integers(0, 9)))
            if at > end:
                break
            items.append(line_range(path, at, end, draw(SCORES)))
            at = end + 1
    return draw(st.permutations(items))


def worth(items: list[pf.Item], result: pf.Result) -> float:
    """Return the scores of the contents that stand whole in the text, each once."""
    shown = [f"\n{each.content}\n" for each in result.shown if each.form == "content"]
    contents = {item.content: item.score for item in sorted(items, key=lambda item: item.score)}
    return sum(s for c, s in contents.items() if any(f"\n{c}\n" in text for text in shown))


@pytest.mark.parametrize("packing", PACKINGS)
@cases(20)
@given(
    corpora(),
    st.integers(30, 700),
    st.sampled_from(["chunks", "context", "knowledge"]),
    st.booleans(),
)
def test_joining_never_lowers_the_worth_that_is_shown(
    packing: Any, items: list[pf.Item], budget: int, layout: str, dedupe: bool
) -> None:
    options: dict[str, Any] = {"packing": packing, "layout": layout, "dedupe": dedupe}
    apart = pf.render(items, max_tokens=budget, merge_overlaps=False, **options)
    joined = pf.render(items, max_tokens=budget, **options)
    assert worth(items, joined) >= worth(items, apart) - 1e-9
    assert joined.tokens == pf.get_tokenizer("o200k_base").count(joined.text) <= budget
    # What is joined is shown once, under one heading.
    places = [(e.path, e.start_line, e.end_line) for e in joined.items if e.form == "content"]
    for path, _, end in places:
        assert end is not None
        assert (path, end + 1) not in [(p, start) for p, start, _ in places]


@cases(30)
@given(corpora(), st.integers(30, 400), st.integers(0, 4), st.sampled_from(PACKINGS))
def test_joining_makes_no_room_past_max_items(
    items: list[pf.Item], budget: int, most: int, packing: Any
) -> None:
    found = [msgspec.structs.replace(item, origin="similarity") for item in items]
    result = pf.render(found, max_tokens=budget, max_items=most, packing=packing)
    assert result.items_included <= most


@pytest.mark.slow
@cases(30)
@given(corpora(), st.integers(30, 400))
def test_a_budget_that_is_named_holds_the_item_though_ranges_are_joined(
    items: list[pf.Item], budget: int
) -> None:
    for index, item in enumerate(pf.render(items, max_tokens=budget).items):
        if item.fits_at:
            again = pf.render(items, max_tokens=item.fits_at).items[index]
            assert again.status == "included" or again.reason in ("merged", "duplicate")


def test_a_good_range_drags_no_neighbour_in() -> None:
    chunks = [line_range("a.py", at, at + 9, 0.9 if at == 21 else 0.1) for at in range(1, 60, 10)]
    other = line_range("b.py", 1, 10, 0.5)
    best = pf.render([chunks[2]], max_tokens=None).tokens
    second = pf.render([other], max_tokens=None).tokens
    result = pf.render([*chunks, other], max_tokens=best + second + 6, trim="none")
    assert [(item.path, item.line_range) for item in result.items if item.text] == [
        ("a.py", "lines 21-30"), ("b.py", "lines 1-10"),
    ]  # fmt: skip


def test_a_joined_range_leaves_room_for_one_more() -> None:
    items = [line_range("a.py", 1, 10, 0.9), line_range("a.py", 11, 20, 0.8)]
    items.append(line_range("b.py", 1, 2, 0.5))
    together = pf.render(items, max_tokens=None).tokens
    for merge, reasons in ((True, ["fits", "merged", "fits"]), (False, ["fits", "fits", "budget"])):
        result = pf.render(items, max_tokens=together, merge_overlaps=merge, trim="none")
        assert [item.reason for item in result.items] == reasons


def test_a_range_without_room_for_its_heading_joins_its_neighbour() -> None:
    items = [line_range("a.py", 1, 10, 0.9), line_range("a.py", 11, 20, 0.8)]
    together = pf.render(items, max_tokens=None).tokens
    result = pf.render(items, max_tokens=together)
    assert [item.line_range for item in result.items if item.text] == ["lines 1-20"]


def test_a_range_that_comes_back_joined_to_another_has_its_budget() -> None:
    items = [line_range("a.py", 1, 10, 0.9), line_range("a.py", 11, 20, 0.8)]
    second = pf.render(items, max_tokens=20, trim="none").items[1]
    assert (second.reason, second.fits_at is not None) == ("budget", True)
    back = pf.render(items, max_tokens=second.fits_at, trim="none").items
    assert [item.reason for item in back] == ["fits", "merged"]


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("turned", [False, True])
def test_a_shortened_range_does_not_join_past_its_sections_maximum(
    packing: Any, turned: bool
) -> None:
    items = [line_range("a.py", 1, 20, 0.5), line_range("a.py", 21, 21, 0.9)]
    options: dict[str, Any] = {"packing": packing, "max_tokens": 1000, "group_by": "kind"}
    options["section_budgets"] = {"code": {"max_tokens": 60}}
    given_items = items[::-1] if turned else items
    joined = pf.render(given_items, **options)
    apart = pf.render(given_items, merge_overlaps=False, **options)
    # Of a fixed set the page keeps the maximum: items alone may be a shared end longer.
    assert sum(item.tokens for item in joined.items) <= 62
    assert joined.text == apart.text


def test_a_joined_range_that_its_section_holds_is_shown() -> None:
    items = [line_range("a.py", 1, 10, 0.5), line_range("a.py", 11, 20, 0.9)]
    together = pf.render(items, max_tokens=None).items[0].tokens
    for most, reasons in ((together, ["fits", "merged"]), (together - 1, ["budget", "fits"])):
        budgets = {"code": {"max_tokens": most}}
        result = pf.render(items, max_tokens=1000, group_by="kind", section_budgets=budgets)
        assert [item.reason for item in result.items] == reasons


@pytest.mark.parametrize("packing", ["score", "whole"])
def test_a_range_given_twice_shares_the_fate_of_the_one_that_is_kept(packing: Any) -> None:
    again = [line_range("a.py", 1, 10, score) for score in (0.4, 0.5, 0.3, 0.6)]
    items = [*again, line_range("b.py", 1, 2, 0.3)]
    result = pf.render(items, max_tokens=40, packing=packing)
    assert not any(map(result.report.is_whole, range(4)))
    assert [item.reason for item in result.items[:4]] == ["budget"] * 4
    (budget,) = {item.fits_at for item in result.items[:4]}
    assert budget is not None
    assert result.remedies() == ()
    whole = pf.render(items, max_tokens=budget, packing=packing)
    assert [item.reason for item in whole.items[:4]] == ["merged", "merged", "merged", "fits"]
    assert all(map(whole.report.is_whole, range(4)))


def test_a_range_given_twice_has_the_remedy_of_the_one_that_is_kept() -> None:
    items = [line_range("a.py", 1, 10, score) for score in (0.4, 0.5)]
    budgets = {"code": {"max_tokens": 30}}
    options: dict[str, Any] = {"packing": "whole", "group_by": "kind", "max_tokens": 1000}
    result = pf.render(items, kinds=["doc"], section_budgets=budgets, **options)
    for remedy in result.remedies():
        changed = {"kinds": ["doc"], "section_budgets": budgets, **options, **remedy.options}
        assert all(map(pf.render(items, **changed).report.is_whole, range(2)))
    result = pf.render(items, section_budgets=budgets, **options)
    assert [item.reason for item in result.items] == ["section_budget"] * 2
    assert [(remedy.items, remedy.back) for remedy in result.remedies()] == [(1, 1)]


# --- texts that others contain --------------------------------------------------------------------

LINES = st.lists(st.sampled_from(["a", "b", "cc", "", "dddd"]), min_size=1, max_size=6)
FORMS = [
    Variant("content", ""),
    Variant("expanded", ""),
    Variant("trimmed", ""),
    Variant("content", "", cut=True),
]


def _holds(one: Item, other: Item) -> bool:
    texts = ["\n{}\n".format((item.content or "").strip("\n")) for item in (one, other)]
    return texts[1] in texts[0]


@pytest.mark.slow
@cases(300)
@given(
    texts=st.lists(LINES.map("\n".join), min_size=1, max_size=8),
    required=st.sets(st.integers(0, 7), max_size=2),
    forms=st.lists(st.sampled_from(FORMS), min_size=8, max_size=8),
)
def test_as_comparing_everything_with_everything(
    texts: list[str], required: set[int], forms: list[Variant]
) -> None:
    items = [Item(content=text, required=n in required) for n, text in enumerate(texts)]
    contained = ContainedTexts(items)
    chosen: dict[int, Variant] = {}
    asked: list[int] = []
    for index, item in enumerate(items):
        may_be_held = contained.may_be_held(index)
        holder, held = contained.find(index, chosen)
        assert may_be_held or holder is None
        several = "\n" in (item.content or "") and not item.required
        lines = [i for i in asked if "\n" in (items[i].content or "")] if several else []
        whole = [
            i
            for i in lines
            if i in chosen and chosen[i].name in ("content", "expanded") and not chosen[i].cut
        ]
        holders = [i for i in whole if _holds(items[i], item)]
        assert (holder in holders) if holders else holder is None
        if holder is None:
            assert list(held) == [i for i in lines if i in chosen and _holds(item, items[i])]
            chosen[index] = forms[index]
            contained.show(index, chosen[index])
        asked.append(index)
    for index, item in enumerate(items):  # once more, when all are known
        others = {i: form for i, form in chosen.items() if i != index}
        holder, _ = contained.find(index, others)
        several = "\n" in (item.content or "") and not item.required
        holders = [
            i
            for i, form in others.items()
            if several and form.name in ("content", "expanded") and not form.cut
            if "\n" in (items[i].content or "") and _holds(items[i], item)
        ]
        assert (holder in holders) if holders else holder is None


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The items with texts that were compared, once for each time."""
    found: list[int] = []
    text = ContainedTexts._text

    def noted(contained: ContainedTexts, index: int) -> str:
        found.append(index)
        return text(contained, index)

    monkeypatch.setattr(ContainedTexts, "_text", noted)
    return found


def _apart(items: list[Item]) -> None:
    contained = ContainedTexts(items)
    chosen: dict[int, Variant] = {}
    for index in range(len(items)):
        assert contained.find(index, chosen) == (None, [])
        chosen[index] = Variant("content", "")
        contained.show(index, chosen[index])


@pytest.mark.parametrize("step", [1, 7])
def test_many_windows_of_one_file_are_not_compared_with_each_other(
    step: int, read: list[int]
) -> None:
    file = [f"line {n}" + "!" * (n % 13 == 0) * 9 for n in range(4000)]
    items = [
        Item(content="\n".join(file[start : start + 30]))
        for start in range(0, 2000 * step, step)
        if start < 3970
    ]
    _apart(items)
    assert len(read) < 10 * len(items)


def test_of_very_many_with_the_same_lines_only_so_many_are_compared(read: list[int]) -> None:
    items = [Item(content=f"{'x' * 40}\n{n}") for n in range(3 * MAX_TEXTS_PER_LINE)]
    _apart(items)
    assert len(read) <= len(items) * (MAX_TEXTS_PER_LINE + 2)


@pytest.mark.parametrize("packing", ["score", "even", "longest_first", "repository"])
def test_what_fits_without_contained_texts_is_shown_whole(packing: Any) -> None:
    lines = [f"line {number} says something about {number * 7}" for number in range(60)]
    items = [Item(content="\n".join(lines[cut : 60 - cut])) for cut in (0, 5, 10)]
    most = render(items[:1], max_tokens=5000).tokens + 60
    found = render(items, max_tokens=most, packing=packing).items
    assert [item.reason for item in found] == ["fits", "duplicate", "duplicate"]


def test_what_was_compared_once_is_not_compared_again(read: list[int]) -> None:
    items = [Item(content=f"{'x' * 40}\n{n}") for n in range(20)]
    contained, chosen = ContainedTexts(items), dict.fromkeys(range(20), Variant("content", ""))
    first = [contained.find(index, chosen) for index in range(20)]
    again = [contained.find(index, chosen) for index in range(20)]
    compared = len(read)
    assert [contained.find(index, chosen) for index in range(20)] == again
    assert len(read) == compared and len(first) == len(again)
    changed = contained.with_items([Item(content="a\nb"), *items[1:]], [0])
    assert changed.find(0, chosen) == (None, [])
