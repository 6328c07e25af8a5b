"""The laws of the budget: never over, everything accounted for, nothing left out that would fit."""

from __future__ import annotations

import json
from typing import Any

import harmless_records
import pytest
from commandline import run
from example_counts import cases
from hypothesis import assume, given
from hypothesis import strategies as st
from sample_records import RECORDS
from unfiltered import FORMATS, LAYOUTS, PACKINGS, Records
from unfiltered import render as render_all

import promptforge as pf

QUERY = st.none() | harmless_records.SENTENCE


class Letters:
    """A caller's own counter: one token a character."""

    name = "letters"

    def count(self, text: str) -> int:
        """Return the number of characters."""
        return len(text)


TOKENIZERS: dict[str, Any] = {
    "o200k_base": "o200k_base",
    "cl100k_base": "cl100k_base",
    "approximate-characters": "approximate-characters",
    "approximate-words": "approximate-words",
    "letters": Letters(),
}


def count(tokenizer: Any, text: str) -> int:
    counter = pf.get_tokenizer(tokenizer) if isinstance(tokenizer, str) else tokenizer
    return int(counter.count(text))


def item(number: int, **fields: Any) -> dict[str, Any]:
    """Return a record; scores fall with the number, so that the order of choice is known."""
    return {
        "id": f"i{number}",
        "kind": "text",
        "name": f"name{number}",
        "path": f"src/file{number}.txt",
        "start_line": 1,
        "end_line": 9,
        "score": round(0.99 - number / 100, 2),
        **fields,
    }


CONTENT = harmless_records.CONTENT | st.lists(
    harmless_records.SENTENCE, min_size=1, max_size=6
).map(" ".join)
ITEMS = st.lists(
    st.fixed_dictionaries(
        {"content": CONTENT},
        optional={
            "summary": harmless_records.SENTENCE,
            "expanded": CONTENT,
            "kind": st.sampled_from(["code", "document", "man_page", "function", "error"]),
            "origin": st.sampled_from(["explicit", "similarity"]),
        },
    ),
    min_size=1,
    max_size=5,
).map(lambda fields: [item(n, **f) for n, f in enumerate(fields)])
LAYOUT = st.sampled_from(LAYOUTS)
FORMAT = st.sampled_from(FORMATS)


def render(records: Records, **options: Any) -> pf.Result:
    return pf.render(
        records,
        **{
            "max_items": None,
            "min_score": None,
            "dedupe": False,
            "merge_overlaps": False,
            "combine": "combined",
            **options,
        },
    )


def keep(records: Records, budget: int, tokenizer: Any, **options: Any) -> pf.Result:
    """Render and check the text; what is said of each item is many times the work."""
    result = render(records, max_tokens=budget, tokenizer=tokenizer, **options)
    assert result.tokens == count(tokenizer, result.text) <= budget
    assert result.total_available == len(records)
    assert result.chars == len(result.text)
    assert result.is_empty is (result.items_included == 0)
    return result


def check(records: Records, budget: int, tokenizer: Any, **options: Any) -> pf.Result:
    result = keep(records, budget, tokenizer, **options)
    items = result.items
    assert sorted(entry.id for entry in items) == sorted(r["id"] for r in records)
    for entry in items:
        assert entry.status in ("included", "trimmed", "dropped")
        assert entry.status == "included" or entry.reason
    statuses = [entry.status for entry in items]
    assert result.items_dropped == statuses.count("dropped")
    assert result.items_trimmed == statuses.count("trimmed")
    assert result.truncated is any(status != "included" for status in statuses)
    return result


@pytest.mark.slow
@pytest.mark.unwatched
@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@cases(15, shrink=False)
@given(ITEMS, LAYOUT, FORMAT, st.sampled_from(PACKINGS), st.booleans(), QUERY)
def test_every_budget_from_nothing_to_all_holds(
    tokenizer: str,
    records: Records,
    layout: str,
    format: str,
    packing: str,
    sources: bool,
    query: str | None,
) -> None:
    options: dict[str, Any] = {
        "layout": layout,
        "format": format,
        "packing": packing,
        "sources": sources,
    }
    options["query"] = query
    options["stubs"] = sources
    full = check(records, 10**6, TOKENIZERS[tokenizer], **options)
    assert not full.truncated
    # Up to 40 budgets, every one where there are no more; of each fifth the account of the items
    # too.
    step = 1 if full.tokens < 40 else full.tokens // 40 + 1
    for number, budget in enumerate([*range(0, full.tokens, step), full.tokens - 1]):
        (keep if number % 5 else check)(records, max(budget, 0), TOKENIZERS[tokenizer], **options)
    whole = check(records, full.tokens, TOKENIZERS[tokenizer], **options)
    assert whole.text == full.text


@cases(40)
@given(ITEMS, LAYOUT, FORMAT, st.sampled_from(PACKINGS), st.integers(0, 400), st.integers(0, 2000))
def test_a_ceiling_of_tokens_and_one_of_characters_both_hold(
    records: Records,
    layout: str,
    format: str,
    packing: str,
    tokens: int,
    chars: int,
) -> None:
    result = check(
        records,
        tokens,
        "o200k_base",
        layout=layout,
        format=format,
        packing=packing,
        max_chars=chars,
    )
    assert len(result.text) <= chars
    alone = render(
        records, max_tokens=None, max_chars=chars, layout=layout, format=format, packing=packing
    )
    assert len(alone.text) <= chars


@cases(60)
@given(ITEMS, LAYOUT, FORMAT, st.sampled_from(PACKINGS), st.integers(0, 400), st.data())
def test_what_is_required_is_whole_or_the_budget_is_an_error(
    records: Records,
    layout: str,
    format: str,
    packing: str,
    budget: int,
    data: st.DataObject,
) -> None:
    chosen = data.draw(st.integers(0, len(records) - 1))
    records[chosen]["required"] = True
    options: dict[str, Any] = {"layout": layout, "format": format, "packing": packing}
    alone = render([records[chosen]], max_tokens=10**6, **options).tokens
    try:
        result = check(records, budget, "o200k_base", **options)
    except pf.BudgetError as error:
        assert budget == error.largest < error.needed
        # A few tokens may join differently; far above the cost of the item alone there is no
        # excuse.
        assert budget < alone + 8
        check(records, error.needed, "o200k_base", **options)
    else:
        assert next(e.status for e in result.items if e.id == records[chosen]["id"]) == "included"


@cases(60)
@given(ITEMS, LAYOUT, FORMAT, st.integers(0, 400), st.sampled_from(["o200k_base", "letters"]))
def test_nothing_is_left_out_that_would_still_fit_whole(
    records: Records,
    layout: str,
    format: str,
    budget: int,
    tokenizer: str,
) -> None:
    for record in records:
        record.pop("expanded", None)  # so that an item has one whole form
    options: dict[str, Any] = {
        "layout": layout,
        "format": format,
        "packing": "whole",
        "order": "given",
    }
    budget = budget * 5 if tokenizer == "letters" else budget
    result = check(records, budget, TOKENIZERS[tokenizer], **options)
    kept = {entry.id for entry in result.items if entry.status == "included"}
    for entry in result.items:
        if entry.status == "dropped":
            more = [r for r in records if r["id"] in kept | {entry.id}]
            assert (
                render(more, max_tokens=10**6, tokenizer=TOKENIZERS[tokenizer], **options).tokens
                > budget
            )


@cases(60)
@given(ITEMS, LAYOUT, FORMAT, st.integers(0, 400))
def test_stop_takes_the_best_until_the_first_that_does_not_fit(
    records: Records,
    layout: str,
    format: str,
    budget: int,
) -> None:
    for record in records:
        record.pop("expanded", None)
        record["origin"] = "explicit"
    options: dict[str, Any] = {
        "layout": layout,
        "format": format,
        "packing": "stop",
        "order": "given",
    }
    options["group_by"] = (
        "none"  # in sections it is the page that is read to the first that does not fit
    )
    result = check(records, budget, "o200k_base", **options)
    kept = [
        r for r in records if next(e.status for e in result.items if e.id == r["id"]) == "included"
    ]
    assert kept == records[: len(kept)]
    if len(kept) < len(records):
        assert render(records[: len(kept) + 1], max_tokens=10**6, **options).tokens > budget


@pytest.mark.unwatched
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("trim", ["structure", "prefix"])
@pytest.mark.parametrize("budget", [120, 200, 333, 500, 999])
def test_a_divisible_item_fills_the_budget(
    layout: str, format: str, trim: str, budget: int
) -> None:
    words = " ".join(["alpha", "beta", "gamma", "delta"][n % 4] for n in range(2000))
    result = check(
        [item(0, content=words)], budget, "o200k_base", layout=layout, format=format, trim=trim
    )
    assert result.items_trimmed == 1
    assert budget - result.tokens <= max(8, budget // 100)
    assert "[Content truncated...]" in result.text


@pytest.mark.slow
@cases(40)
@given(ITEMS, LAYOUT, FORMAT, st.sampled_from(PACKINGS), st.integers(0, 300))
def test_equal_input_gives_equal_bytes(
    records: Records,
    layout: str,
    format: str,
    packing: str,
    budget: int,
) -> None:
    options: dict[str, Any] = {"layout": layout, "format": format, "packing": packing}
    first = render(records, max_tokens=budget, **options)
    renderer = pf.Renderer(**options)
    for _ in range(2):
        again = renderer.render(
            records,
            max_tokens=budget,
            max_items=None,
            min_score=None,
            dedupe=False,
            merge_overlaps=False,
            combine="combined",
        )
        assert again.text == first.text
        assert [(e.id, e.status, e.form, e.reason) for e in again.items] == [
            (e.id, e.status, e.form, e.reason) for e in first.items
        ]


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("budget", [0, 1, 2, 3])
def test_below_the_cost_of_anything_the_text_is_empty_and_it_is_said(
    packing: str, budget: int
) -> None:
    result = render([item(0, content="word " * 50)], max_tokens=budget, packing=packing)
    assert result.text == ""
    assert result.tokens == 0
    assert result.is_empty
    assert result.warnings
    assert [e.status for e in result.items] == ["dropped"]


@pytest.mark.slow
@cases(60)
@given(ITEMS, LAYOUT, FORMAT, st.integers(20, 400))
def test_a_dropped_item_comes_back_at_the_budget_it_names(
    records: Records,
    layout: str,
    format: str,
    budget: int,
) -> None:
    for record in records:
        record["origin"] = "explicit"
    options: dict[str, Any] = {"layout": layout, "format": format, "packing": "whole"}
    for entry in check(records, budget, "o200k_base", **options).items:
        if entry.status == "dropped" and entry.fits_at is not None:
            assert entry.fits_at > budget
            back = check(records, entry.fits_at, "o200k_base", **options)
            assert next(e.status for e in back.items if e.id == entry.id) != "dropped"


def test_max_items_limits_what_a_search_found_and_not_what_was_named() -> None:
    records = [item(n, content=f"text {n}", origin="similarity") for n in range(5)]
    records += [item(n, content=f"text {n}") for n in range(5, 9)]
    result = render(records, max_items=2, max_tokens=10**6)
    kept = {e.id for e in result.items if e.status == "included"}
    assert kept == {"i0", "i1", "i5", "i6", "i7", "i8"}
    assert {e.reason for e in result.items if e.status == "dropped"} == {"max_items"}
    none = render(records, max_items=0, max_tokens=10**6)
    assert {e.id for e in none.items if e.status == "included"} == {"i5", "i6", "i7", "i8"}


# --- more budget ----------------------------------------------------------------------------------


def test_more_budget_brings_what_is_said() -> None:
    gain = pf.render(RECORDS, max_tokens=120, group_by="kind").explain().gain
    assert gain is not None and gain.tokens == 500
    more = pf.render(RECORDS, max_tokens=620, group_by="kind")
    assert set(gain.items) == {item.id for item in more.items if item.status == "included"} - {"a"}
    assert gain.says == "+500 tokens would bring guide, notes and tar"


def test_what_is_longer_is_said_where_nothing_more_is_whole() -> None:
    long = {"id": "long", "content": "A sentence of some words. " * 2000}
    gain = pf.render([long], max_tokens=100).explain().gain
    assert gain is not None and gain.items == ("long",)
    assert gain.says == "+500 tokens would show more of long"


def test_there_are_no_gains_without_a_budget_or_where_all_fits() -> None:
    assert pf.render(RECORDS, max_tokens=None).explain().gain is None
    gain = pf.render(RECORDS, max_tokens=10**6).explain().gain
    assert gain is not None
    assert (gain.items, gain.says) == ((), "+500 tokens would bring nothing more")


ITEM = st.fixed_dictionaries(
    {
        "content": st.integers(1, 60).map("word ".__mul__)
        | st.integers(2, 30).map("A line.\n".__mul__),
        "score": st.sampled_from([0.2, 0.5, 0.5, 0.9]),
        "kind": st.sampled_from(["document", "man_page", "code"]),
        "origin": st.sampled_from(["explicit", "explicit", "similarity"]),
        "path": st.sampled_from([None, "a.py", "b.py"]),
    },
    optional={"summary": st.just("in short"), "required": st.booleans()},
)


@pytest.mark.slow
@cases(120)
@given(
    st.lists(ITEM, min_size=1, max_size=6),
    st.sampled_from(PACKINGS),
    st.sampled_from(LAYOUTS),
    st.sampled_from(FORMATS),
    st.integers(10, 300),
    st.sampled_from(
        [
            {},
            {"stubs": True},
            {"max_items": 1},
            {"trim": "none"},
            {"max_chars": 400},
            {"dedupe": True},
        ]
    ),
    st.sampled_from(["combined", "explicit_first"]),
)
def test_at_the_budget_that_is_named_the_item_is_back_whole(
    records: list[dict[str, Any]],
    packing: str,
    layout: str,
    format: str,
    budget: int,
    more: dict[str, Any],
    combine: str,
) -> None:
    options = {"packing": packing, "combine": combine, **more}
    records = [{**record, "id": f"i{n}"} for n, record in enumerate(records)]
    try:
        result = render_all(records, layout, format, max_tokens=budget, **options)
    except pf.BudgetError:
        assume(False)
    for item in result.items:
        if item.fits_at is not None:
            assert item.fits_at > budget
            assert item.status in ("dropped", "trimmed")
            again = render_all(records, layout, format, max_tokens=item.fits_at, **options)
            back = {each.id: each for each in again.items}
            assert back[item.id].status == "included"
        elif (
            item.reason == "budget" and combine == "combined"
        ):  # else what is named makes what was found give way
            assert {"max_items", "max_chars", "dedupe"} & set(more), (
                "only the budget is short, so some brings it back"
            )


def test_what_no_budget_brings_back_has_none() -> None:
    chars = pf.render(RECORDS, max_tokens=200, max_chars=300).items
    assert {item.id for item in chars if item.reason == "budget"} >= {"b", "c"}
    assert {item.fits_at for item in chars} == {None}
    window = pf.render(RECORDS, max_tokens=50, context_window=100).items
    assert [item.id for item in window if item.reason == "budget" and item.fits_at is None][:2] == [
        "b",
        "c",
    ]
    capped = pf.render(
        RECORDS, max_tokens=500, group_by="kind", section_budgets={"document": {"max_tokens": 60}}
    ).items
    assert {item.fits_at for item in capped if item.kind == "document"} == {None}


def test_the_table_ends_with_what_more_budget_brings() -> None:
    ran = run(
        "explain",
        "--layout",
        "context",
        "--max-tokens",
        "230",
        "--packing",
        "whole",
        stdin=json.dumps(RECORDS),
    )
    assert ran.out.splitlines()[-1] == "+500 tokens would bring notes."


def test_a_worse_piece_never_takes_the_room_of_one_that_would_have_fitted() -> None:
    records = [
        {
            "path": "tar.md",
            "content": "The tar program saves many files in one archive.",
            "origin": "similarity",
        },
        {
            "path": "gzip.md",
            "content": "The gzip program compresses one file.",
            "origin": "similarity",
        },
    ]
    options: dict[str, Any] = {
        "format": "plain",
        "headers": False,
        "query": "what does tar do",
        "min_score": None,
    }
    least = pf.render(records[:1], **options).tokens
    for budget in range(least, least + 12):
        assert (
            "tar program saves many files" in pf.render(records, max_tokens=budget, **options).text
        )
