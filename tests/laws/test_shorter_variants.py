"""A law: what is shown shortened costs less than the next longer variant, and says something."""

from __future__ import annotations

import pytest
from campaigns import variants
from campaigns.variants import MAKERS, Case
from example_counts import cases, rounds
from hypothesis import given
from hypothesis import strategies as st
from unfiltered import FORMATS, LAYOUTS, PACKINGS

import promptforge as pf

CASES = st.builds(
    Case,
    kind=st.sampled_from(list(MAKERS)),
    size=st.integers(1, 12),
    seed=st.integers(0, 2**16),
    share=st.floats(0, 1),
    unit=st.sampled_from(["max_tokens", "max_chars"]),
    packing=st.sampled_from(PACKINGS),
    trim=st.sampled_from(["structure", "prefix"]),
    layout=st.sampled_from(LAYOUTS),
    format=st.sampled_from(FORMATS),
    query=st.booleans(),
    longer=st.booleans(),
)


@given(CASES)
@cases(150)
def test_a_variant_is_cheaper_than_the_next_longer_one_and_holds_some_content(case: Case) -> None:
    assert not variants.broken(case)


@pytest.mark.slow
@pytest.mark.unwatched
def test_the_campaign_in_small_finds_dear_variants_in_its_control_alone() -> None:
    report = variants.run(rounds(200))
    assert not report.broken
    assert report.figures["dearer in the control"] and report.figures["shortened"]


@pytest.mark.parametrize("packing", ["drop_last", "even", "longest_first"])
def test_a_content_that_fits_is_whole_where_its_longer_text_does_not(packing: str) -> None:
    made = Case(
        "repl-history",
        9,
        1,
        0.8,
        "max_chars",
        packing,
        "structure",
        "entities",
        "plain",
        False,
        True,
    )
    assert variants.shown(made)[0].form == "content"


@pytest.mark.parametrize(
    "made",
    [
        Case("custom", 3, 1135758879, 0.6412542501862698, "max_chars", "drop_first", "structure",
             "chunks", "markdown", query=True, longer=True),
        Case("code", 1, 390418845, 0.7256100759269433, "max_tokens", "repository", "structure",
             "context", "plain", query=False, longer=True),
    ],
    ids=["the line end of the last item", "tokens that joined parts share"],
)  # fmt: skip
def test_a_content_that_costs_no_more_on_the_page_is_whole(made: Case) -> None:
    assert variants.shown(made)[0].form == "content"


@pytest.mark.parametrize("content", ["", None])
def test_a_longer_form_beside_an_empty_content_has_numbered_lines(content: str | None) -> None:
    item = {"content": content, "expanded": "a\nb", "summary": "s"}
    text = pf.render([item], lines="each", format="plain").text
    assert "1: a\n2: b" in text
