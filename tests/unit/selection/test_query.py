"""The query and the candidates: what finds nothing is said, several queries share a budget."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commandline import run
from kettle_pages import PAGES, _text

from promptforge import Item, Renderer
from promptforge.trimming import kinds


def test_found_items_of_little_worth_are_left_out_and_said() -> None:
    texts = ["The pump is oiled daily.", "Tulips grow in May.", "Roses grow in June."]
    items = [Item(content=text, name=text[:5], origin="similarity") for text in texts]
    named = Item(content="Lilies grow in July.", name="mine")
    result = Renderer(min_worth=0.6).render([*items, named], query="when is the pump oiled")
    reasons = {item.name: item.reason for item in result.items}
    assert reasons["The p"] == reasons["mine"] == "fits"
    assert reasons["Tulip"] == reasons["Roses"] == "min_worth"
    assert "min_worth" in "".join(warning.message for warning in result.warnings)
    whole = Renderer().render([*items, named], query="when is the pump oiled")
    assert {item.status for item in whole.items} == {"included"}


def test_min_worth_counts_the_best_chunks_of_a_repository() -> None:
    files = [
        Item(kind="code", path="retry.py", content="def retry(call):\n    return call()\n", origin="similarity"),
        Item(kind="code", path="tulip.py", content="TULIP = 1\n", origin="similarity"),
    ]  # fmt: skip
    result = Renderer(min_worth=0.5).render(files, query="how does retry work")
    assert [item.reason for item in result.items] == ["fits", "min_worth"]


def test_a_query_that_finds_nothing_is_said() -> None:
    items = [
        Item(content=f"def f{n}():\n    return {n}\n" * 20, path=f"{n}.py", kind="code")
        for n in range(9)
    ]

    def codes(query: str, **options: Any) -> set[str]:
        return {each.code for each in Renderer().render(items, query=query, **options).warnings}

    assert "PF128" in codes("xylophone", max_tokens=200)
    assert "PF128" not in codes("f3", max_tokens=200)
    assert "PF128" not in codes("xylophone", max_tokens=20_000), "all of them are shown"


def test_no_language_is_told_of_prose_that_fits_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    def tell(text: str) -> None:
        told.append(text)

    monkeypatch.setattr(kinds, "_detect_once", tell)
    code = "def boil(kettle):\n    return kettle\n"
    items = [Item(content=text) for text in ("The kettle boils.", "Fish swim.", code)]
    Renderer().render(items, query="when does the kettle boil")
    assert {*told} == {code}


def test_several_queries_share_one_budget() -> None:
    both = ["when was the kettle bought", "where do fish live"]
    text = _text("keyword_boost", both)
    assert "bought in May" in text and "Fish live there" in text
    assert _text("keyword_boost", both[::-1]) == text
    assert "Fish live there" not in _text("keyword_boost", both[0], 40)
    assert _text("keyword_boost", both[:1]) == _text("keyword_boost", both[0])
    assert _text("keyword_boost", []) == _text("keyword_boost", None)


def test_several_queries_from_the_command_line_and_a_job(tmp_path: Path) -> None:
    items = tmp_path / "items.json"
    items.write_text(json.dumps([{"name": page.name, "content": page.content} for page in PAGES]))
    flags = ["render", str(items), "--max-tokens", "60", "--json"]
    both = ["when was it bought, and where", "where do fish live"]
    ran = run(*flags, "--query", both[0], "--query", both[1])
    assert ran.code == 0 and json.loads(ran.out)["query"] == both
    assert "bought in May" in ran.out and "Fish live there" in ran.out
    job = tmp_path / "job.yaml"
    job.write_text(f"query:\n- {both[0]}\n- {both[1]}\n")
    assert json.loads(run(*flags, "--job", str(job)).out)["text"] == json.loads(ran.out)["text"]


def test_a_short_program_that_is_cut_keeps_the_line_that_answers() -> None:
    steps = "".join(f"    value = stir(value, {n})\n    value = heat(value)\n" for n in range(20))
    text = f"def cook(value):\n{steps}    lid = close_kettle(value)\n{steps}    return lid\n"
    for given in ({"path": "cook.py"}, {}):
        found = Renderer().render(
            [{"content": text, **given}], query="who closes the kettle lid", max_tokens=130
        )
        assert "lid = close_kettle(value)" in found.text
        assert "def cook(value):" in found.text
