"""Decisions are true: what a limit lacks brings the item in, and a smaller budget does not."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from example_counts import EFFORT

import promptforge as pf
from promptforge.model import Decision

WORDS = (
    "retry",
    "archive",
    "file",
    "error",
    "request",
    "server",
    "limit",
    "token",
    "page",
    "cache",
)


def _text(rng: random.Random, words: int) -> str:
    lines = [" ".join(rng.choices(WORDS, k=12)).capitalize() + "." for _ in range(words // 12 + 1)]
    return "\n".join(lines)


def _mix(seed: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return items of all origins and kinds, and options that limit them."""
    rng = random.Random(seed)
    items = []
    for number in range(rng.randint(5, 30)):
        item: dict[str, Any] = {
            "id": f"i{number}",
            "content": _text(rng, rng.choice([10, 30, 60, 120, 250, 500])),
            "score": round(rng.random(), 2),
            "kind": rng.choice(["document", "code", "man_page", "text"]),
            "path": f"src/f{rng.randint(0, 20)}.md",
        }
        if rng.random() < 0.4:
            item["origin"] = "similarity"
        if rng.random() < 0.2:
            item["summary"] = _text(rng, 10)
        items.append(item)
    options: dict[str, Any] = {
        "max_tokens": rng.choice([300, 800, 1500, 3000]),
        "combine": "combined",
        "min_score": None,
        "packing": rng.choice(["score"] * 5 + ["value", "whole", "longest_first", "repository"]),
        "sources": rng.random() < 0.3,
    }
    if rng.random() < 0.5:
        options["query"] = " ".join(rng.choices(WORDS, k=3))
    if rng.random() < 0.3:
        options |= {"group_by": "kind", "section_budgets": {"document": {"max_tokens": 200}}}
    if rng.random() < 0.3:
        options["max_items"] = rng.choice([3, 8])
    return items, options


def _raised(options: dict[str, Any], decision: Decision) -> dict[str, Any]:
    """Return options with the named limits raised by what each is missing."""
    assert decision.missing is not None
    assert decision.missing == decision.needs - decision.room > 0
    for limit, missing in {decision.limit: decision.missing, **decision.beside}.items():
        options = {**options, **_raise(options, limit, missing)}
    return options


def _raise(options: dict[str, Any], limit: str, missing: int) -> dict[str, Any]:
    if limit == "budget":
        return {"max_tokens": options["max_tokens"] + missing}
    if limit == "characters":
        return {"max_chars": options["max_chars"] + missing}
    if limit == "max_items":
        return {"max_items": options["max_items"] + missing}
    if limit in ("named share", "found share"):
        more = missing / options["max_tokens"]
        return {"explicit_share": 0.6 + (more if limit == "named share" else -more)}
    name = limit.removeprefix("section ")
    most = options["section_budgets"][name]["max_tokens"] + missing
    return {"section_budgets": {name: {"max_tokens": most}}}


def _is_whole(items: list[dict[str, Any]], options: dict[str, Any], name: str) -> bool:
    shown = next(i for i in pf.render(items, **options).items if i.id == name)
    return shown.status == "included" or shown.reason == "merged"


def _check_decisions(seeds: Sequence[int], below: int = 20) -> None:
    """Judge one item of each mix that lacks room: its decision, and the budget that shows it."""
    raised = lacking = budgets = 0
    for seed in seeds:
        items, options = _mix(seed)
        rng, result = random.Random(seed), pf.render(items, **options)
        lost = [item for item in result.items if item.known("decision") is not None]
        for item in lost and [rng.choice(lost)]:
            decision, now = item.decision, options["max_tokens"]
            if decision is not None:
                lacking += 1
                raised += _is_whole(items, _raised(options, decision), item.id)
            if item.fits_at is None:
                continue
            budgets += 1
            assert _is_whole(items, {**options, "max_tokens": item.fits_at}, item.id)
            most = int(item.fits_at / 1.02)
            for budget in [rng.randint(now, most) for _ in range(below) if now <= most]:
                assert not _is_whole(items, {**options, "max_tokens": budget}, item.id)
    assert lacking >= len(seeds) / 2 and raised >= 0.95 * lacking and budgets >= len(seeds) / 3


# All 200 are a minute's work and more: `.ci/nightly` tries them with `--effort 10`, `.ci/run` ten.
STEP = 20 if EFFORT >= 1 else 10
STARTS = range(0, 200 if EFFORT >= 10 else 60 if EFFORT >= 1 else 10, STEP)


@pytest.mark.nightly
@pytest.mark.parametrize("start", STARTS)
def test_what_is_missing_brings_an_item_in_and_less_does_not(start: int) -> None:
    _check_decisions(range(start, start + STEP))


def test_what_is_missing_brings_an_item_in_and_less_does_not_in_a_few_mixes() -> None:
    _check_decisions([57], below=3)


RECORDS = [
    {"id": "long", "content": "A long sentence stands here. " * 20, "score": 0.9},
    {"id": "short", "content": "A short one.", "score": 0.5, "summary": "One."},
]


def test_a_decision_says_what_a_limit_left_and_what_stood_before() -> None:
    result = pf.render(RECORDS, max_tokens=60)
    long, short = result.items
    assert (long.status, short.status) == ("trimmed", "dropped")
    own, other = long.decision, short.decision
    assert own is not None and own.missing is not None and other is not None
    assert (own.limit, own.unit, own.ahead) == ("budget", "tokens", {})
    assert (own.refused, own.needs) == ({"content": long.tokens_full}, own.room + own.missing)
    assert 60 + own.missing == long.fits_at
    assert other.ahead == {"other": long.tokens} and other.room == 60 - result.tokens
    assert [*other.refused] == ["content", "summary"]
    assert 60 + (other.missing or 0) == short.fits_at


def test_what_competes_is_not_called_named() -> None:
    named = {"id": "named", "content": "The user asks for it."}
    result = pf.render([named, *RECORDS], max_tokens=60)
    decision = result.items[-1].decision
    assert decision is not None and {"named", "other"} <= decision.ahead.keys()


def test_each_limit_has_its_name_and_its_unit() -> None:
    def said(**options: Any) -> list[tuple[str, str]]:
        result = pf.render(RECORDS, **options)
        decisions = [item.decision for item in result.items]
        return [(each.limit, each.unit) for each in decisions if each is not None]

    assert said(max_chars=100) == [("characters", "characters")] * 2
    assert said(context_window=70, reserve=10) == [("window", "tokens")] * 2
    limits = {"section_budgets": {"text": {"max_tokens": 30}}, "group_by": "kind"}
    assert said(max_tokens=900, **limits) == [("section text", "tokens")] * 2
    found = [{**record, "origin": "similarity"} for record in RECORDS]
    past = pf.render(found, max_items=1, min_score=None).items[1].decision
    assert past is not None
    facts = (past.limit, past.unit, past.room, past.needs, past.missing)
    assert facts == ("max_items", "items", 0, 1, 1)
    assert said(max_tokens=900) == []


@pytest.mark.slow
def test_the_share_of_a_side_is_named_where_the_other_side_takes_the_room() -> None:
    named = [{"id": f"n{n}", "content": f"Named sentence {n}. " * 20} for n in range(3)]
    found = [
        {"id": f"f{n}", "content": f"Found sentence {n}. " * 20, "score": 0.9 - n / 10}
        for n in range(4)
    ]
    records: list[dict[str, Any]] = [*named]
    records += ({**each, "origin": "similarity"} for each in found)
    options: dict[str, Any] = {
        "max_tokens": 400,
        "explicit_share": 0.6,
        "combine": "combined",
        "min_score": None,
    }
    decided = {item.id: item.decision for item in pf.render(records, **options).items}
    limits = {each.limit for each in decided.values() if each is not None}
    assert limits == {"named share", "found share", "budget"}
    for name, decision in decided.items():
        if decision is not None:
            assert decision.missing and _is_whole(records, _raised(options, decision), name)


def test_where_two_limits_bind_both_are_said_with_what_each_is_missing() -> None:
    options: dict[str, Any] = {"max_tokens": 60, "max_chars": 300}
    item = pf.render(RECORDS, **options).items[0]
    assert item.decision is not None and item.fits_at is None
    assert {item.decision.limit, *item.decision.beside} == {"budget", "characters"}
    assert _is_whole(RECORDS, _raised(options, item.decision), "long")
    for limit, missing in {
        item.decision.limit: item.decision.missing,
        **item.decision.beside,
    }.items():
        assert not _is_whole(RECORDS, {**options, **_raise(options, limit, missing or 0)}, "long")


def test_the_next_item_is_the_one_that_the_smallest_budget_brings() -> None:
    result = pf.render(RECORDS, max_tokens=60)
    first = result.next
    assert first is not None
    budgets = [item.fits_at for item in result.items if item.fits_at is not None]
    assert first.fits_at == min(budgets)
    assert pf.render(RECORDS, max_tokens=900).next is None


@pytest.mark.parametrize(
    ("number", "names"),
    [(1, '"n0"'), (3, '"n0", "n1", "n2"'), (1_200, '"n0", "n1", "n2" and 1,197 more')],
)
def test_required_items_that_do_not_fit_are_named(number: int, names: str) -> None:
    items = [pf.Item(content="word " * 9, name=f"n{i}", required=True) for i in range(number)]
    with pytest.raises(pf.BudgetError) as caught:
        pf.render(items, max_tokens=5, sources=True)
    assert str(caught.value).endswith(f"and the budget is 5; raise it or require less: {names}")
    assert caught.value.largest == 5 < caught.value.needed


def test_required_items_without_names_are_not_named() -> None:
    items = [pf.Item(content="word " * 9, required=True)]
    with pytest.raises(pf.BudgetError, match=r"require less$"):
        pf.render(items, max_tokens=5)
