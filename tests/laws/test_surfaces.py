"""One text for the same items and options, whichever way they come in; and each answer about it."""

from __future__ import annotations

import copy
import json
import pickle
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from commandline import run
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st

import promptforge as pf
from promptforge.batch.rows import RenderBatch
from promptforge.preview import render_worker, session

TEXTS = st.sampled_from(
    ["one", "alpha " * 40, "def f(x):\n    return x\n" * 9, "# H\n\na needle\n\n## B\n\nmore\n" * 4]
)
RECORDS = st.lists(
    st.fixed_dictionaries(
        {"content": TEXTS},
        optional={
            "kind": st.sampled_from(["code", "document", "error"]),
            "path": st.sampled_from(["a.py", "b.md"]),
            "score": st.sampled_from([1.0, 0.5, 0.0]),
            "origin": st.sampled_from(["similarity", "explicit"]),
            "named": st.booleans(),
            "summary": st.just("short words"),
            "expanded": st.just("before\nalpha\nafter"),
        },
    ),
    min_size=1,
    max_size=6,
)
OPTIONS = st.fixed_dictionaries(
    {"max_tokens": st.sampled_from([30, 60, 120, 400])},
    optional={
        "format": st.sampled_from(["xml", "json", "plain"]),
        "packing": st.sampled_from(["value", "even", "whole"]),
        "query": st.just("needle"),
        "order": st.sampled_from(["given", "edges"]),
        "min_worth": st.just(0.3),
        "combine": st.sampled_from(["explicit_first", "similarity_fallback"]),
        "tree": st.just(True),
        "scores": st.just(True),
    },
)


def drawn(items: list[pf.Item], options: dict[str, Any]) -> str:
    held = session.Session(items, None, options, [], [])
    asked = {"what": "page", "items_key": held.items_key, "items": held.records, "tokens": False}
    asked["settings"] = held.settings(session.View())
    text: str = render_worker.draw(asked, lambda: None)["text"]
    return text


@pytest.mark.slow
@cases(60)
@given(RECORDS, OPTIONS)
def test_every_surface_prints_one_text(
    records: list[dict[str, Any]], options: dict[str, Any]
) -> None:
    result = pf.render(records, **options)
    items = [pf.Item(**record) for record in records]
    with tempfile.TemporaryDirectory() as folder:
        job = Path(folder, "job.json")
        job.write_text(json.dumps({"items": records, **options}), encoding="utf-8")
        ran = run("render", "--job", job, "-q")
    batch = RenderBatch(**options)({"request": [json.dumps({"items": records})]})
    texts = {
        "job": ran.out.removesuffix("\n"),
        "batch": batch["text"][0].removesuffix("\n"),
        "preview": drawn(items, options).removesuffix("\n"),
    }
    for name, given_items in {
        "items": items,
        "deep copies": copy.deepcopy(items),
        "pickled": pickle.loads(pickle.dumps(items)),
        "encoded": msgspec.json.decode(msgspec.json.encode(items), type=list[pf.Item]),
        "records of items": msgspec.to_builtins(items),
    }.items():
        texts[name] = pf.render(given_items, **options).text.removesuffix("\n")
    assert {name for name, text in texts.items() if text != result.text.removesuffix("\n")} == set()


@pytest.mark.slow
@cases(60)
@given(RECORDS, OPTIONS)
def test_every_answer_about_a_text_comes(
    records: list[dict[str, Any]], options: dict[str, Any]
) -> None:
    result = pf.render(records, **options)
    assert pf.render(records, **result.manifest["options"]).text == result.text
    for item in result.items:
        assert item.tokens_full > 0 and (item.form is None) is (item.status == "dropped")
        assert item.fits_at is None or item.fits_at > options["max_tokens"]
        assert item.decision is None or item.status != "included"
    assert result.next is None or result.next.fits_at is not None
    assert result.explain().tokens == result.tokens
    assert all(remedy.items for remedy in result.remedies())
    stored = pickle.loads(pickle.dumps(result))
    assert json.loads(json.dumps(stored.to_dict())) == json.loads(json.dumps(result.to_dict()))
