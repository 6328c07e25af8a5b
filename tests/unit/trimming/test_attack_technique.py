"""Variants of ATT&CK techniques: the text as it stands, with `[…]` where a sentence is gone."""

from __future__ import annotations

import json

import pytest
from example_counts import cases
from hostile_strings import STRINGS, TEXT, outside
from hypothesis import given
from hypothesis import strategies as st
from places import SHARED_DATA
from shipped_words import divided, marks

from promptforge.trimming.attack_technique import divide

MARKER = "[cut]"
TECHNIQUE = """\
Adversaries may boil the kettle dry.(Citation: Tea (2020)) They may then use [Scorching]\
(https://x.example/T1) on it.

Some refill it later, and nobody sees. (Citation: Tea)

Detection: Watch the kettle at all times. Listen for its whistle, too.

Mitigations:
- M1001 Thermal Fuse: It cuts the power.(Citation: Fuse)
- M1002 User Training: Tell them.

Tools: S0001 Spoon, S0002 Cup"""


def assert_laws(text: str) -> None:
    if divide(text, marks=marks(MARKER)) is None:
        return
    variants = divided(divide, text).variants()
    before = len(text)
    for number in range(0, len(variants), max(1, len(variants) // 9)):
        head, body = variants[number].text.split("\n\n", 1)
        assert head == MARKER
        kept = body.replace("[…]", "")
        assert len(kept) <= before
        before = len(kept)
        left = iter(text)
        assert all(character in left for character in kept), "characters of the text, in its order"


def test_citations_go_first_then_details_sentences_detection_and_names() -> None:
    found = divided(divide, TECHNIQUE)
    variants = found.variants()
    texts = [variant.text for variant in variants]
    assert texts[2] == (
        "[cut]\n\n"
        "Adversaries may boil the kettle dry. They may then use [Scorching] on it.\n\n"
        "Some refill it later, and nobody sees.\n\n"
        "Detection: Watch the kettle at all times. Listen for its whistle, too.\n\n"
        "Mitigations:\n- M1001 Thermal Fuse: It cuts the power.(Citation: Fuse)\n"
        "- M1002 User Training: Tell them.\n\n"
        "Tools: S0001 Spoon, S0002 Cup"
    )
    names = (
        "Mitigations:\n- M1001 Thermal Fuse\n- M1002 User Training\n\nTools: S0001 Spoon, S0002 Cup"
    )
    assert [text.split("\n\n", 1)[1] for text in texts[6:]] == [
        "Adversaries may boil the kettle dry. […]\n\n"
        f"Detection: Watch the kettle at all times. Listen for its whistle, too.\n\n{names}",
        "Adversaries may boil the kettle dry. […]\n\nDetection: Watch the kettle at all times. […]"
        f"\n\n{names}",
        f"Adversaries may boil the kettle dry. […]\n\n{names}",
        "Adversaries may boil the kettle dry. […]\n\nMitigations:\n- M1001 Thermal Fuse\n"
        "- M1002 User Training\n\n[…]",
        "Adversaries may boil the kettle dry. […]\n\nMitigations:\n- M1001 Thermal Fuse\n[…]",
        "Adversaries may boil the kettle dry. […]\n\nMitigations:\n[…]",
        "Adversaries may boil the kettle dry. […]",
    ]


@pytest.mark.parametrize("text", ["", "One sentence.", "No full stop", "\n\n"])
def test_one_sentence_has_no_pieces(text: str) -> None:
    assert divide(text, marks=marks(MARKER)) is None


def test_without_a_marker_there_is_no_head() -> None:
    found = divide(TECHNIQUE, marks=marks(""))
    assert found is not None and found.variants()[2].text.startswith(
        "Adversaries may boil the kettle dry. They"
    )


LINES = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "Mitigations:\n",
                "## Detection\n",
                "Tools: a, b\n",
                "- M1 Name: said. (Citation: X)\n",
                "* x - y\n",
                "\n",
            ]
        ),
        st.sampled_from(
            [
                "A sentence of some length is here. ",
                "(Citation: (a) b)",
                "[a](https://b.example)",
                "[c](/d)",
                "(Citation: ",
            ]
        ),
        TEXT,
    ),
    max_size=12,
).map("".join)


@given(LINES)
@cases(300)
def test_every_variant_is_made_of_the_text(text: str) -> None:
    assert_laws(text)


@pytest.mark.slow
def test_hostile_texts() -> None:
    for text in (*STRINGS, *outside()):
        assert_laws(text)
        assert_laws(f"First.\n\n{text}(Citation: {text})\n\nMitigations:\n- {text}: {text}\n")


def test_real_techniques() -> None:
    path = SHARED_DATA / "mitre" / "techniques-sample.json"
    if not path.is_file():
        pytest.skip("no techniques beside the repository")
    for technique in json.loads(path.read_text("utf-8"))["techniques"]:
        text = technique["description"]
        assert_laws(text)
        found = divide(text, marks=marks(""))
        if found is not None and "(Citation:" in text:
            extras = sum(part.kind == "extra" for part in found.parts)
            assert "(Citation:" not in found.variants()[extras - 1].text
