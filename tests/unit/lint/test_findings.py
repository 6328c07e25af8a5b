"""Findings of `check`: their codes are explained, and `--fix` puts right what is sure."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from commandline import run
from linted_folders import write
from places import ROOT

from promptforge.lint.findings import load_codes

pytestmark = pytest.mark.usefixtures("folder")
FAR = {
    "profiles/mine.yaml": "model: x\noptions: [a]\nmax_tokens: 5\nmax_tokns: 6\n",
    "tests/mine.yaml": "items: a.json\noptions: {layout: x}\ncases:\n- text: x\n",
    "profiles/cases.yaml": "items: a.json\ncases: [\n",
    "templates/mine/layout.md.j2": '{% extends "mine/layout.md.j2" %}\n{% block a %}'
    "{{ sectoins }}{% endblock %}\n",
    "templates/mine/item.md.j2": '{% include "nowhere/at/all.j2" %}{{ itm.name | uper }}',
}
"""Files with words that are not near to one other word, or that are not understood as a whole."""


def test_only_a_near_word_is_put_right_and_nothing_of_what_is_not_understood() -> None:
    write({**FAR, "templates/mine/layout.yaml": "base: chunks"})
    assert run("check", "tests", "--fix", "-q").code == 2
    ran = run("check", "--fix", "-q")
    assert {name: Path(name).read_text() for name in FAR} == FAR
    assert "layout.md.j2:2" not in ran.out, "what a template sees that draws on itself is not known"
    assert "promptforge test" in run("check", "tests").err


def test_what_can_be_put_right_is_and_a_difference_changes_nothing() -> None:
    files: dict[str, str | bytes] = {
        "templates/context/layout.md.j2": b"\xef\xbb\xbf{# x #}\r\n\r\n"
        b'{% extends "context/layout.md.j2" %}\r\n',
        "templates/mine/item.md.j2": "{{ item.pth | uper }} {{ itm.name is defind }}\n"
        "{{ item.content }}",
        "templates/mine/layout.yaml": "bse: chunks",
        "profiles/mine.yaml": "max_tokns: 500\n",
    }
    write(files)
    before = {name: Path(name).read_bytes() for name in files}
    ran = run("check", "--diff")
    assert (
        ran.code == 1
        and "+max_tokens: 500" in ran.out
        and '+{% extends "shipped/context/layout.md.j2" %}' in ran.out
    )
    assert {name: Path(name).read_bytes() for name in files} == before
    ran = run("check", "--fix")
    assert (
        Path("templates/context/layout.md.j2").read_text()
        == '{# x #}\n{% extends "shipped/context/layout.md.j2" %}\n'
    )
    assert Path("templates/mine/item.md.j2").read_text() == (
        "{{ item.path | upper }} {{ item.name is defined }}\n{{ item.content }}"
    )
    assert Path("profiles/mine.yaml").read_text() == "max_tokens: 500\n"
    assert [line for line in ran.out.splitlines() if ": PF" in line and " note: " not in line] == [
        "templates/mine/item.md.j2:2:4: PF810 a long text without a filter is printed on one "
        "line; add | framed,"
        " or | prose"
    ]
    assert run("check", "--diff").out == ""


def test_a_word_with_two_near_ones_is_left_alone() -> None:
    write(
        {
            "templates/mine/item.md.j2": "{{ item.name is ndefined }}",
            "templates/mine/layout.yaml": "base: chunks",
        }
    )
    assert not json.loads(run("check", "--json").out)["findings"][0]["fixable"]


CODES = load_codes()


def test_every_code_that_the_source_says_is_explained_and_no_other() -> None:
    said = {
        code
        for path in (ROOT / "promptforge").rglob("*.py")
        for code in re.findall(r'"(PF\d{3})"', path.read_text(encoding="utf-8"))
    }
    assert said == set(CODES)
    assert list(CODES) == sorted(CODES)


@pytest.mark.parametrize("code", CODES)
def test_an_explanation_is_whole(code: str) -> None:
    ran = run("rule", code.lower())
    assert ran.code == 0 and ran.out.startswith(f"{code} (")
    assert "Example:" in ran.out and "Way out: " in ran.out
    assert all(CODES[code])
    assert max(map(len, ran.out.splitlines())) <= 160


def test_a_code_that_is_not_there() -> None:
    ran = run("rule", "PF999")
    assert ran.code == 2 and ran.err.count("\n") == 1
    assert run("rule").out.count("\n") == len(CODES)
