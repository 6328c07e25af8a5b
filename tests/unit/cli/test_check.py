"""`promptforge check`: how findings are printed, and which files a command line names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commandline import run
from linted_folders import found, marked, write

pytestmark = pytest.mark.usefixtures("folder")


def test_notes_fail_nothing() -> None:
    write({"templates/chunks/item.md.j2": b"\xef\xbb\xbf{# One. #}\r\n{{ item.title }}\r\n"})
    assert found(notes=True) == [
        "templates/chunks/item.md.j2: PF823",
    ]


def test_json_github_and_sarif_say_the_same() -> None:
    write(
        {
            "templates/mine/item.md.j2": "größe, {{ item.pth }}:\n%0A",
            "templates/mine/layout.yaml": "base: chunks",
        }
    )
    (one,) = json.loads(run("check", "--json").out)["findings"]
    assert one["source"].startswith("größe") and (
        one["line"],
        one["column"],
        one["end_column"],
    ) == (1, 16, 19)
    assert one["fixable"] and one["severity"] == "error" and one["code"] == "PF806"
    github = run("check", "--output-format", "github").out
    assert github == (
        "::error file=templates/mine/item.md.j2,line=1,col=16,endColumn=19,title=PF806::"
        'PF806 an item has no field "pth"; did you mean "path"?\n'
    )
    sarif = json.loads(run("check", "--output-format", "sarif").out)
    assert sarif["version"] == "2.1.0" and sarif["$schema"].endswith("sarif-2.1.0.json")
    (ran,) = sarif["runs"]
    (result,) = ran["results"]
    assert ran["tool"]["driver"]["name"] == "promptforge"
    assert ran["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "PF806"
    assert result["level"] in ("none", "note", "warning", "error") and result["message"]["text"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "templates/mine/item.md.j2"
    assert place["region"] == {"startLine": 1, "startColumn": 16, "endColumn": 19}
    assert ran["columnKind"] == "unicodeCodePoints"


def test_the_caret_stands_below_the_word_also_after_wide_characters() -> None:
    write(
        {
            "templates/mine/item.md.j2": "名前\t{{ item.pth }}",
            "templates/mine/layout.yaml": "base: chunks",
        }
    )
    rows = run("check").out.splitlines()
    assert rows[1:] == ["  1 | 名前    {{ item.pth }}", "    | " + " " * 16 + "^^^"]


def test_a_very_long_line_is_cut_around_the_place() -> None:
    write(
        {
            "templates/mine/item.md.j2": "x" * 5000 + "{{ item.pth }}",
            "templates/mine/layout.yaml": "base: chunks",
        }
    )
    out = run("check").out
    assert max(map(len, out.splitlines())) < 130
    assert marked(out) == ["pth"]


def test_what_is_not_there_or_nothing_to_check_is_usage() -> None:
    for arguments in ([], ["nowhere"], ["a.txt"], ["empty.d"]):
        write({"a.txt": "x", "empty.d/x.txt": "y"})
        ran = run("check", *arguments)
        assert (ran.code, ran.out) == (2, "") and ran.err.count("\n") == 1, arguments


def test_one_file_is_checked_with_all_that_it_builds_on() -> None:
    write(
        {
            "t/mine/layout.yaml": "base: chunks",
            "t/mine/item.md.j2": "{{ a }}",
            "t/mine/item.txt.j2": "{{ b }}",
        }
    )
    assert found("t/mine/item.md.j2") == ["t/mine/item.md.j2:1:4: PF802"]
    assert found("t/mine") == ["t/mine/item.md.j2:1:4: PF802", "t/mine/item.txt.j2:1:4: PF802"]
    assert found("t") == found("t/mine")


def test_prompts_are_checked_from_wherever_they_are_named() -> None:
    path = "t/prompt/ours/question.txt.j2"
    write({path: "{{ qestion }}", "t/prompt/ours/system.txt.j2": "{{ sytem }}"})
    for name in ("t", "t/prompt", "t/prompt/ours"):
        assert len(found(name)) == 2
    assert found(path) == [f"{path}:1:4: PF802"]
    for folder, name in (
        ("t/prompt/ours", "question.txt.j2"),
        ("t/prompt", "ours/question.txt.j2"),
    ):
        assert "question.txt.j2:1:4: PF802" in run("check", name, cwd=Path(folder)).out
