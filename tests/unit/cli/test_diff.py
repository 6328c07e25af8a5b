"""Two builds side by side: what is said to differ does, and nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from commandline import Ran, run
from sample_records import RECORDS

import promptforge as pf
from promptforge.authoring.results import Build, BuildManifest, build_from_result, compare_builds
from promptforge.cli.diff import read_side
from promptforge.cli.output import printable, text_columns


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.json").write_text(json.dumps(RECORDS), encoding="utf-8")


def diff(*arguments: str, code: int = 0) -> Ran:
    ran = run("diff", *arguments)
    assert ran.code == code, ran
    return ran


def saved(name: str, *arguments: str) -> str:
    ran = run("render", "items.json", "--json", "-o", name, *arguments)
    assert ran.code == 0, ran
    return name


def refused(code: int, *arguments: str) -> str:
    ran = diff(*arguments, code=code)
    assert ran.out == "" and ran.err.startswith("promptforge: ") and ran.err.count("\n") == 1, ran
    return ran.err


# --- as a library ---


def builds(*settings: dict[str, Any]) -> list[Build]:
    return [
        build_from_result(pf.render(RECORDS, **{"max_tokens": 150, **options}))
        for options in settings
    ]


def test_a_build_does_not_differ_from_itself() -> None:
    found = compare_builds(*builds({}, {}))
    assert not found.differs and not found.moved
    assert found.options == found.profile == found.templates == found.tokenizer == found.given == []
    assert {change.how for change in found.items} <= {"same", "neither"}
    assert all(pair.a == pair.b for pair in found.figures)


def test_items_are_in_both_in_one_or_in_neither() -> None:
    a, b = builds({"packing": "whole", "max_tokens": 90}, {"max_tokens": 230})
    found = compare_builds(a, b)
    assert {change.a.id: change.how for change in found.items if change.a} == {
        "a": "same",
        "b": "only B",
        "c": "only B",
        "d": "only A",
    } or {change.a.id: change.how for change in found.items if change.a}["d"] in ("same", "only A")
    assert sum(change.delta for change in found.items) == sum(x.tokens for x in b.items) - sum(
        x.tokens for x in a.items
    )
    figures = {pair.name: (pair.a, pair.b) for pair in found.figures}
    assert figures["tokens"] == (a.tokens, b.tokens)
    assert [figures[name][0] for name in ("in", "cut", "out")] == [2, 0, 2]
    assert {pair.name: (pair.a, pair.b) for pair in found.options} == {
        "packing": ("whole", "score"),
        "max_tokens": (90, 230),
    }


def test_what_a_build_was_made_of_is_compared_by_name_and_hash(tmp_path: Path) -> None:
    mine = tmp_path / "mine" / "context"
    mine.mkdir(parents=True)
    (mine / "item.md.j2").write_text("{# Mine. #}\n* {{ item.content }}\n", encoding="utf-8")
    a, b, c = builds(
        {"layout": "context"},
        {"layout": "context", "templates": mine.parent},
        {"profile": "claude"},
    )
    found = compare_builds(a, b)
    assert [pair.name for pair in found.templates] == ["context/item.md.j2"]
    assert found.differs and not found.options and not found.profile
    other = compare_builds(a, c)
    assert {"layout", "format", "tokenizer"} <= {pair.name for pair in other.options}
    assert {pair.name for pair in other.tokenizer} >= {"name", "exact"}
    assert "name" in {pair.name for pair in other.profile}


def test_items_of_one_id_and_items_that_only_one_was_given() -> None:
    equal_items = [{"id": "t", "content": "one"}, {"id": "t", "content": "two"}]
    a, b = (
        build_from_result(pf.render(equal_items)),
        build_from_result(pf.render([*equal_items, {"id": "n", "content": "new"}])),
    )
    found = compare_builds(a, b)
    assert [(change.how, change.a is None, change.delta > 0) for change in found.items] == [
        ("same", False, False),
        ("same", False, False),
        ("only B", True, True),
    ]
    assert [(pair.a, pair.b) for pair in found.given] == [(None, 1)]


def test_another_order_is_said() -> None:
    a, b = builds({"max_tokens": None}, {"max_tokens": None, "order": "given", "group_by": "none"})
    c = build_from_result(
        pf.render(list(reversed(RECORDS)), max_tokens=None, order="given", group_by="none")
    )
    assert compare_builds(b, c).moved and compare_builds(b, c).differs
    assert not compare_builds(a, a).moved


def test_a_result_is_the_build_that_its_saved_json_is() -> None:
    budgets = {"document": {"share": 0.5, "max_tokens": 60}}
    result = pf.render(
        RECORDS, max_tokens=90, paths=["src/*", "*"], group_by="kind", section_budgets=budgets
    )
    Path("a.json").write_text(json.dumps({"promptforge": 1, **result.to_dict()}), encoding="utf-8")
    assert read_side("a.json") == build_from_result(result)


def test_a_saved_result_is_compared_with_what_is_rendered_now() -> None:
    path = saved("a.json", "--max-tokens", "90", "--paths", "src/*")
    ran = diff(path, "max_tokens=90,paths=src/*", "items.json", "--exit-code")
    assert "The texts are the same." in ran.out and "made of" not in ran.out


def test_manifests_alone_are_compared_by_what_they_say() -> None:
    (a, b) = builds({}, {"max_tokens": 99})
    assert not compare_builds(a.manifest, a.manifest).differs
    found = compare_builds(a.manifest, b)
    assert found.differs and found.figures == [] and found.items == []
    assert isinstance(a.manifest, BuildManifest)


# --- on the command line ---


def test_two_budgets_over_the_same_items() -> None:
    ran = diff("max_tokens=90,packing=whole", "max_tokens=10_000", "items.json")
    lines = ran.out.splitlines()
    assert lines[:2] == ["A: max_tokens=90,packing=whole", "B: max_tokens=10_000"]
    assert ["only", "B", "guide", "document", "out", "content"] in [
        line.split()[:6] for line in lines
    ]
    assert any(line.split() == ["max_tokens", "90", "10000"] for line in lines)
    assert any(line.startswith("and ") and "the same" in line for line in lines)
    assert lines[-1] == "The texts differ."
    assert all(text_columns(line) <= 80 for line in lines)
    assert len(
        diff("max_tokens=90,packing=whole", "max_tokens=10_000", "items.json", "--all").out
    ) > len(ran.out)


def test_flags_hold_for_both_sides_and_a_side_wins_over_them() -> None:
    found = json.loads(
        diff(
            "max_tokens=90",
            "",
            "items.json",
            "--max-tokens",
            "100",
            "--layout",
            "context",
            "--json",
        ).out
    )
    assert (found["promptforge"], found["a"], found["b"]) == (1, "max_tokens=90", "")
    assert found["options"] == [{"name": "max_tokens", "a": 90, "b": 100}]
    tokens = [pf.render(RECORDS, max_tokens=most, layout="context").tokens for most in (90, 100)]
    assert found["figures"][0] == {"name": "tokens", "a": tokens[0], "b": tokens[1]}


@pytest.mark.parametrize(
    ("spec", "option", "value"),
    [
        ("headers=no", "headers", False),
        ("headers=True", "headers", True),
        ("max_items=none", "max_items", None),
        ("min_score=0.25", "min_score", 0.25),
        ("paths=a*,b*", "paths", ["a*", "b*"]),
        ("paths=a*,b*,max-chars=9", "max_chars", 9),
        ("query=a, b=c?", "query", "a, b=c?"),
        ("header=1", "header", "1"),
        ("kinds=code", "kinds", ["code"]),
        (
            'section_budgets={"code": {"share": 0.5}},order=given',
            "section_budgets",
            {"code": {"share": 0.5}},
        ),
    ],
)
def test_every_kind_of_value_can_be_said(spec: str, option: str, value: object) -> None:
    found = json.loads(diff(spec, "max_tokens=4001", "items.json", "--json").out)
    plain = pf.render([]).manifest["options"][option]
    assert {pair["name"]: pair["a"] for pair in found["options"]}.get(option, plain) == value


def test_profiles_and_folders_are_options_of_a_side() -> None:
    own = Path("mine/chunks")
    own.mkdir(parents=True)
    (own / "item.md.j2").write_text("{# Mine. #}\n* {{ item.content }}\n", encoding="utf-8")
    ran = diff("", "templates=mine", "items.json")
    assert "template: chunks/item.md.j2" in ran.out
    ran = diff("profile=claude", "profile=gpt", "--", "items.json")
    assert "profile: name" in ran.out and "claude" in ran.out


def test_a_folder_of_a_side_wins_over_one_of_the_flags() -> None:
    for name in ("mine", "all"):
        own = Path(name, "chunks")
        own.mkdir(parents=True)
        (own / "item.md.j2").write_text(f"by {name}\n", encoding="utf-8")
    ran = diff("", "templates=mine", "items.json", "--templates", "all", "--text")
    assert "-by all" in ran.out and "+by mine" in ran.out


def test_saved_results_and_manifests() -> None:
    a, b = saved("a.json"), saved("b.json", "--max-tokens", "100")
    Path("m.json").write_text(
        json.dumps(json.loads(Path(a).read_text(encoding="utf-8"))["manifest"]), encoding="utf-8"
    )
    assert "The texts are the same." in diff(a, a, "--exit-code").out
    assert "The texts differ." in diff(a, b, "--exit-code", code=1).out
    assert "The texts are the same." in diff(a, "max_tokens=4000", "items.json").out
    assert "They are made of the same." in diff("m.json", a, "--exit-code").out
    assert "They are made of different things." in diff("m.json", b, "--exit-code", code=1).out


def test_the_difference_of_the_texts() -> None:
    ran = diff(
        "max_tokens=90,packing=whole,header=one\ttwo",
        "max_tokens=90,packing=whole,header=\x1b[31mred",
        "items.json",
        "--text",
    )
    assert "-one\ttwo\n+\\x1b[31mred\n" in ran.out
    found = json.loads(diff("header=one", "header=two", "items.json", "--text", "--json").out)
    assert found["text"][:2] == ["--- A header=one", "+++ B header=two"] and "-one" in found["text"]


def test_a_hostile_label_breaks_neither_table_nor_terminal() -> None:
    for label in ("a\nb\r\x1b[2J", "\u202eevil", "日本語" * 40, "e\u0301" * 90, "x" * 5000):
        Path("items.json").write_text(
            json.dumps([{"name": label, "kind": label, "content": "x " * 99}]), encoding="utf-8"
        )
        for line in diff("max_tokens=50", "max_tokens=900", "items.json").out.splitlines():
            assert text_columns(line) <= 80 and printable(line, len(line)) == line


def test_what_cannot_be_compared_is_said_with_the_way_out() -> None:
    a = saved("a.json")
    assert "neither a file nor options" in refused(2, "nowhere.json", a)
    assert 'did you mean "format"' in refused(2, "formt=xml", "", "items.json")
    assert "max_tokens takes a whole number" in refused(2, "max_tokens=many", "", "items.json")
    assert "packing takes score | value" in refused(2, "packing=best", "", "items.json")
    assert 'there is no folder "nowhere"' in refused(2, "templates=nowhere", "", "items.json")
    assert 'did you mean "claude"' in refused(2, "profile=claud", "", "items.json")
    assert "leave out ITEMS" in refused(2, a, a, "items.json")
    assert "leave out ITEMS" in refused(2, a, a, "--max-tokens", "9")
    assert "nothing to render" in refused(2, a, "max_tokens=9")
    assert "B is missing" in refused(2, a)
    assert "items.json: is not a saved result" in refused(4, "items.json", a)
    for text, words in {
        "{": "truncated",
        '{"promptforge": 1, "error": {"code": "budget"}}': "the report of an error",
        '{"promptforge": 9, "text": "x", "tokens": 1, "items": []}': "it has version 9 of --json",
        '{"promptforge": 1, "text": "x", "tokens": "many", "items": []}': "`$.tokens`",
        '{"promptforge": 1, "text": "x", "tokens": 1, "items": [{"id": 3}]}': "`$.items[0].id`",
        '{"promptforge": 1, "text": "x", "tokens": 1}': "`items`",
        "[" * 100_000: "saved result",
        "": "saved result",
    }.items():
        Path("bad.json").write_text(text, encoding="utf-8")
        assert words in refused(4, "bad.json", a)
        assert "render --json -o FILE" in refused(4, a, "bad.json")
    Path("bad.json").write_bytes(b"\xff\xfe")
    assert "bad.json: is not a saved result" in refused(4, "bad.json", a)


def test_what_stops_a_side_stops_the_comparison() -> None:
    Path("items.json").write_text(
        json.dumps([{"content": "word " * 99, "required": True}]), encoding="utf-8"
    )
    assert "the required items need" in refused(3, "max_tokens=9", "max_tokens=999", "items.json")


def test_a_note_says_whose_it_is() -> None:
    """Notes of both sides look alike, and those of a saved side are notes too."""
    estimate = "tokenizer=approximate-claude"
    sides = (f"max_tokens=90,{estimate}", f"max_tokens=200,{estimate}")
    ran = diff(*sides, "items.json")
    both, a, b = ran.err.splitlines()
    assert both.startswith("promptforge: note: A and B: ") and "[PF501]" in both
    assert a.startswith("promptforge: note: A: ") and b.startswith("promptforge: note: B: ")
    found = json.loads(diff(*sides, "items.json", "--json").out)["warnings"]
    assert sorted(each["sides"] for each in found) == [["A"], ["A", "B"], ["B"]]
    assert all(each["message"] in ran.err for each in found)
    a = saved("a.json", "--max-tokens", "90", "--tokenizer", "approximate-claude")
    ran = diff(a, sides[1], "items.json")
    assert ran.err.splitlines()[0] == both and len(ran.err.splitlines()) == 3
    assert diff(*sides, "items.json", "--quiet").err == ""


def test_an_error_says_whose_it_is() -> None:
    Path("required.json").write_text(
        json.dumps([{"content": "word " * 99, "required": True}]), encoding="utf-8"
    )
    assert "A: the required items" in refused(3, "max_tokens=9", "max_tokens=999", "required.json")
    assert "B: the required items" in refused(3, "max_tokens=999", "max_tokens=9", "required.json")
    Path("unknown.json").write_text('[{"content": "x", "colour": "red"}]', encoding="utf-8")
    ran = diff("max_tokens=900", "max_tokens=90", "unknown.json", "--strict", code=1)
    assert all(": A: " in line for line in ran.err.splitlines())


def test_a_folder_is_packed_as_render_packs_it() -> None:
    Path("src").mkdir()
    for name in ("one", "two", "three"):
        Path("src", f"{name}.py").write_text(f"def {name}():\n    return 1\n" * 20, "utf-8")
    run("render", "src", "--max-tokens", "200", "--json", "-o", "folder.json")
    ran = diff("folder.json", "max_tokens=200", "src")
    assert "The texts are the same." in ran.out and "packing" not in ran.out


def test_a_difference_is_in_colours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "items.json"
    source.write_text(json.dumps([{"content": "one " * 30}, {"content": "two"}]), encoding="utf-8")
    words = ("diff", "max_tokens=20", "max_tokens=400", source, "--text")
    plain = run(*words).out
    monkeypatch.setenv("FORCE_COLOR", "1")
    painted = run(*words).out
    assert "\x1b[32m+" in painted and "\x1b[32monly B\x1b[0m" in painted
    assert re.sub("\x1b\\[[0-9;]*m", "", painted) == plain
