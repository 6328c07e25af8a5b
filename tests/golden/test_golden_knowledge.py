"""`knowledge` in plain against the oracle of its block, byte for byte."""

from __future__ import annotations

from typing import Any

import harmless_records
import pytest
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st
from oracles import knowledge
from unfiltered import render as render_all

TEXT = harmless_records.CONTENT.map(str.strip)
NAMED = st.lists(
    st.fixed_dictionaries(
        {"name": harmless_records.LABEL.map(lambda s: s.replace("/", "-")), "content": TEXT}
    ),
    max_size=3,
)
WORDS = st.lists(harmless_records.NAME, max_size=3)
TECHNIQUES = st.lists(
    st.fixed_dictionaries(
        {
            "technique_id": st.from_regex(r"T[0-9]{4}(\.[0-9]{3})?", fullmatch=True),
            "name": harmless_records.NAME,
            "content": harmless_records.SENTENCE,
            "tactics": WORDS,
            "tools": WORDS,
            "mitigations": WORDS,
        }
    ),
    max_size=3,
)
SIMILAR = st.lists(TEXT, max_size=3)


def rag(kind: str, record: dict[str, Any]) -> dict[str, Any]:
    return {
        "content": record["content"],
        "metadata": {"source": record["name"], "source_type": kind},
    }


def item_of(technique: dict[str, Any]) -> dict[str, Any]:
    metadata = {k: technique[k] for k in ("technique_id", "tactics", "tools", "mitigations")}
    return {
        "kind": "mitre_attack",
        "name": technique["name"],
        "content": technique["content"],
        "metadata": metadata,
    }


def render(
    man_pages: list[dict[str, Any]] | None = None,
    documents: list[dict[str, Any]] | None = None,
    techniques: list[dict[str, Any]] | None = None,
    similarity: list[str] | None = None,
    **options: Any,
) -> str:
    # Given in another order than they are shown in.
    records = [
        {"kind": "text", "content": text, "origin": "similarity"} for text in similarity or []
    ]
    records += [item_of(t) for t in techniques or []]
    records += [rag("markdown", d) for d in documents or []]
    records += [rag("man_page", m) for m in man_pages or []]
    return render_all(records, **{"layout": "knowledge", "format": "plain", **options}).text


@pytest.mark.slow
@cases(60)
@given(NAMED, NAMED, TECHNIQUES, SIMILAR)
def test_knowledge_prints_the_block(
    man_pages: list[dict[str, Any]],
    documents: list[dict[str, Any]],
    techniques: list[dict[str, Any]],
    similarity: list[str],
) -> None:
    expected = knowledge.assemble(
        man_pages=man_pages, documents=documents, techniques=techniques, similarity=similarity
    )
    assert render(man_pages, documents, techniques, similarity) == expected


NMAP = {"name": "nmap", "content": "NAME\n       nmap\n\nSYNOPSIS\n       nmap target"}
GUIDE = {"name": "attack-guide.md", "content": "First steps"}
DUMPING = {
    "technique_id": "T1003.001",
    "name": "LSASS Memory",
    "content": "Adversaries read memory.",
    "tactics": ["Credential Access"],
    "tools": ["Mimikatz", "ProcDump"],
    "mitigations": ["Password Policies", "User Training"],
}


def test_a_technique_shows_its_fields_in_order_and_joins_lists_with_a_comma() -> None:
    assert render(techniques=[DUMPING]) == knowledge.assemble(techniques=[DUMPING])


@pytest.mark.parametrize("field", ["tactics", "tools", "mitigations"])
def test_an_empty_field_of_a_technique_is_not_shown(field: str) -> None:
    technique = DUMPING | {field: []}
    assert render(techniques=[technique]) == knowledge.assemble(techniques=[technique])


@pytest.mark.parametrize(
    "present", [("man_pages",), ("documents",), ("techniques",), ("man_pages", "techniques")]
)
def test_an_empty_section_is_not_shown(present: tuple[str, ...]) -> None:
    given = {"man_pages": [NMAP], "documents": [GUIDE], "techniques": [DUMPING]}
    shown: dict[str, Any] = {k: v for k, v in given.items() if k in present}
    assert render(**shown) == knowledge.assemble(**shown)


def test_nothing_is_no_text() -> None:
    assert render() == ""


def test_similarity_comes_last_after_a_rule_and_alone_without_one() -> None:
    assert render([NMAP], similarity=["found"]).endswith(
        "nmap target\n\n---\nSimilarity Search Results:\nfound"
    )
    assert render(similarity=["found", "too"]) == "Similarity Search Results:\nfound\n\ntoo"


@pytest.mark.parametrize("explicit", [True, False], ids=["explicit", "no_explicit"])
@pytest.mark.parametrize("similar", [True, False], ids=["similar", "no_similar"])
@pytest.mark.parametrize(
    "mode", ["explicit_only", "explicit_first", "combined", "similarity_fallback"]
)
def test_the_mode_says_which_half_is_shown(mode: str, explicit: bool, similar: bool) -> None:
    man_pages, similarity = [NMAP] if explicit else [], ["found"] if similar else []
    shown_similarity = (
        similarity if mode == "combined" or (mode != "explicit_only" and not explicit) else []
    )
    expected = knowledge.assemble(man_pages=man_pages, similarity=shown_similarity)
    assert render(man_pages, similarity=similarity, combine=mode) == expected
