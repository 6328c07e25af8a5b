"""The user's word on single items: reserved before anything competes, past every filter, and said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commandline import run

import promptforge as pf
from promptforge.config.options import as_command, as_python
from promptforge.packing.packings import PACKINGS

CODE = (
    "def add(a, b):\n    total = a + b\n    return total\n\n\ndef twice(a):\n    return add(a, a)\n"
)
ITEMS = [
    {
        "id": f"n{n}",
        "content": f"Passage {n} on refunds. " * 6,
        "score": 1 - n / 10,
        "origin": "similarity",
    }
    for n in range(6)
] + [{"path": "src/add.py", "kind": "code", "content": CODE, "score": 0.1, "origin": "similarity"}]
BUDGET = 120


def reasons(result: pf.Result) -> dict[str, str]:
    return {each.path or each.id: each.reason for each in result.items}


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_pinned_item_has_its_place_in_every_packing(packing: Any) -> None:
    kept = pf.render(ITEMS, max_tokens=BUDGET, packing=packing, overrides={"n5": "pin"})
    assert "Passage 5" in kept.text and kept.tokens <= BUDGET
    assert reasons(kept)["n5"] == "pin"


def test_what_the_user_asked_for_passes_every_filter() -> None:
    filters: dict[str, Any] = {
        "min_score": 0.8,
        "kinds": ["text"],
        "max_items": 1,
        "combine": "explicit_first",
    }
    named = [*ITEMS, {"id": "named", "content": "Named by the user."}]
    asked = {"n4": "pin", "n5": "whole", "src/add.py": "outline"}
    plain = pf.render(named, max_tokens=4000, **filters)
    assert [each.id for each in plain.items if each.form] == ["named"]
    result = pf.render(named, max_tokens=4000, overrides=asked, **filters)
    found = {
        each.id if each.id != result.items[6].id else "src/add.py": each for each in result.items
    }
    assert {name for name, each in found.items() if each.form} == {"named", *asked}
    assert {name: found[name].reason for name in asked} == asked
    assert "def twice" in result.text and "total = a + b" not in result.text
    assert result.items[6].id == plain.items[6].id  # made of its whole text


def test_never_is_never_and_leaves_its_room_to_others() -> None:
    result = pf.render(ITEMS, max_tokens=BUDGET, overrides={"n0": "never"})
    assert "Passage 0" not in result.text and "Passage 1" in result.text
    assert reasons(result)["n0"] == "never"
    (remedy,) = [each for each in result.remedies() if each.reason == "never"]
    assert remedy.options["overrides"] is None
    required = pf.render([{"id": "r", "content": "x", "required": True}], overrides={"r": "never"})
    assert required.is_empty


def test_whole_is_an_error_where_it_does_not_fit() -> None:
    long = [{"id": "long", "content": "word " * 500}, *ITEMS]
    with pytest.raises(pf.BudgetError, match="required items need"):
        pf.render(long, max_tokens=BUDGET, overrides={"long": "whole"})


def test_a_key_is_an_id_a_path_with_lines_or_a_path() -> None:
    parts = [
        {"path": "a.py", "start_line": n, "end_line": n, "content": f"line_{n} = {n}"}
        for n in (1, 5)
    ]
    both = pf.render(parts, overrides={"a.py": "never"})
    assert both.is_empty
    one = pf.render(parts, overrides={"a.py": "never", "a.py:5-5": "pin"})
    assert "line_5" in one.text and "line_1" not in one.text


def test_a_key_of_no_item_is_said() -> None:
    result = pf.render(ITEMS, overrides={"src/ad.py": "pin", "n1": "pin"})
    (said,) = [each for each in result.warnings if each.code == "PF132"]
    assert said.severity == "warning"
    assert said.message.endswith('the id or path "src/ad.py"; did you mean "src/add.py"?')
    with pytest.raises(pf.StrictError):
        pf.render(ITEMS, overrides={"src/ad.py": "pin"}, strict=True)
    with pytest.raises(pf.OptionError, match="overrides takes"):
        pf.render(ITEMS, overrides={"n1": "always"})


def test_an_outline_has_no_line_numbers() -> None:
    with pytest.raises(pf.OptionError, match="takes whole texts"):
        pf.render(ITEMS, overrides={"src/add.py": "outline"}, lines="each")


def test_job_flag_and_python_print_the_same(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options: dict[str, Any] = {"max_tokens": BUDGET, "overrides": {"n5": "pin", "n0": "never"}}
    (folder / "items.json").write_text(json.dumps(ITEMS))
    (folder / "job.yaml").write_text(json.dumps({"items": "items.json", **options}))
    text = pf.render(pf.load("items.json"), **options).text
    assert run("render", "--job", "job.yaml").out.rstrip("\n") == text
    flags = as_command(["render", "items.json"], options)
    assert (
        flags == """render items.json --max-tokens 120 --overrides '{"n5": "pin", "n0": "never"}'"""
    )
    assert (
        run(
            "render",
            "items.json",
            "--max-tokens",
            "120",
            "--overrides",
            json.dumps(options["overrides"]),
        ).out.rstrip("\n")
        == text
    )
    exec(compile(as_python('pf.load("items.json")', options), "shared", "exec"), {})
    assert capsys.readouterr().out.rstrip("\n") == text
    said = run("explain", "--job", "job.yaml").out
    assert "you ruled it out (--overrides)" in said and " pin\n" in said
