"""Retrievers and embeddings that are known by what they can do; those of the frameworks are in `integrations`."""

from __future__ import annotations

from typing import Any

import pytest

import promptforge as pf
from promptforge.integrations.retrieval import embedding, oriented, retrieve


def test_a_function_is_a_retriever_and_takes_arguments() -> None:
    def search(query: str, k: int = 1) -> list[dict[str, str]]:
        return [{"page_content": f"{query} {n}"} for n in range(k)]

    found = retrieve(search, "tar", k=3)
    result = pf.render([{"content": "named"}, *found], combine="combined")
    assert [item.origin for item in result.items] == ["explicit", *["similarity"] * 3]


@pytest.mark.parametrize("thing", [None, 7, "text", object(), str, []])
def test_what_is_neither_is_refused(thing: Any) -> None:
    with pytest.raises(pf.OptionError, match="a retriever has similarity_search_with_score"):
        retrieve(thing, "tar")
    with pytest.raises(pf.OptionError, match="embed takes a function"):
        embedding(thing)


def test_distances_become_scores_of_which_more_is_better() -> None:
    document = {"page_content": "near"}
    assert oriented((document, 0.25), "lower") == (document, -0.25)
    assert str(oriented((document, 0.0), "lower")[1]) == "0.0"
    assert oriented((document, 0.25), "higher") == (document, 0.25)
    assert oriented(document, None) is document is oriented(document, "lower")
    with pytest.raises(pf.OptionError, match="score_order"):
        oriented((document, 0.25), None)


def test_what_a_retriever_raises_comes_out_as_it_is() -> None:
    def broken(query: str) -> list[Any]:
        raise KeyError(query)

    with pytest.raises(KeyError, match="tar"):
        retrieve(broken, "tar")
