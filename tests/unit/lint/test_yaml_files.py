"""Checking `layout.yaml` and profiles: every key, and how the values go together."""

from __future__ import annotations

from typing import Any

import pytest
from linted_folders import found, write

import promptforge as pf

pytestmark = pytest.mark.usefixtures("folder")
SETTINGS: dict[str, tuple[str, str]] = {
    "base: [": ("PF830", "1"),
    "bse: chunks": ("PF831", "1:1"),
    "base: chunks\nmax_tokens: 5": ("PF831", "2:1"),
    "base: chunks\nheaders: yes # no": ("PF832", "2:10"),
    "group_by: auto": ("PF832", "1:11"),
    "base: chnks": ("PF833", "1:7"),
    "base: mine": ("PF833", "1:7"),
    'base: chunks\ndescription: "a\u200bb"': ("PF834", "2"),
}


@pytest.mark.parametrize("text", SETTINGS)
def test_the_settings_of_a_layout(text: str) -> None:
    code, place = SETTINGS[text]
    write({"templates/mine/layout.yaml": text})
    assert any(
        line.startswith(f"templates/mine/layout.yaml:{place}") and line.endswith(code)
        for line in found()
    )


PROFILES: dict[str, tuple[str, str]] = {
    "- a": ("PF830", "1"),
    "max_tokns: 5": ("PF831", "1:1"),
    "sections: [a]": ("PF831", "1:1"),
    "max_tokens: -5": ("PF832", "1:13"),
    "extends: claud": ("PF833", "1:10"),
    "extends: mine": ("PF833", "1:10"),
    "extends: two": ("PF833", "1:10"),
    "layout: chunk": ("PF836", "1:9"),
    "format: htm": ("PF836", "1:9"),
    "tokenizer: o20k_base": ("PF836", "1:12"),
    "tokenizer: file:nowhere.json": ("PF836", "1:12"),
    "tokenizer: file:/dev/null": ("PF847", "1:12"),
    "tokenizer: o20k_base*1.3": ("PF836", "1:12"),
    "tokenizer: o200k_base*x": ("PF836", "1:12"),
    "extends: claude\nreserve: 2000000": ("PF840", "2:10"),
    "section_budgets: {code: {share: 0.7}, man_page: {share: 0.5}}": ("PF842", "1:18"),
    "max_tokens: 100\nsection_budgets: {code: {min_tokens: 700}}": ("PF842", "2:18"),
    "section_budgets: {code: {min_tokens: 700, max_tokens: 5}}": ("PF842", "1:18"),
}


@pytest.mark.parametrize("text", PROFILES)
def test_a_profile(text: str) -> None:
    code, place = PROFILES[text]
    write(
        {
            "profiles/mine.yaml": text,
            "profiles/two.yaml": "extends: three",
            "profiles/three.yaml": "extends: mine",
        }
    )
    assert any(
        line.startswith(f"profiles/mine.yaml:{place}") and line.endswith(code)
        for line in found("profiles")
    )


def test_a_profile_may_name_what_lies_beside_it() -> None:
    write({"templates/mine/layout.yaml": "base: chunks", "profiles/a.yaml": "layout: mine"})
    assert found("profiles") == found("profiles/a.yaml") == []


@pytest.mark.slow
def test_a_key_that_a_layout_based_on_it_prints_has_an_effect() -> None:
    write({"templates/mine/layout.yaml": "base: chunks\ntitles: {code: Programs}\n"})
    assert found("templates/mine") == ["templates/mine/layout.yaml:2:1: PF848"]
    write({"templates/mine/layout.yaml": "base: knowledge\ntitles: {code: Programs}\n"})
    assert found("templates/mine") == []


@pytest.mark.slow
@pytest.mark.parametrize("lines", ["none", "each"])
def test_line_numbers_have_an_effect_where_templates_print_them(lines: Any) -> None:
    write({"templates/mine/layout.yaml": f"base: chunks\nlines: {lines}\n"})
    assert found("templates/mine") == []
    page = "{% for item in items %}\n{{ item.text }}\n{% endfor %}\n"
    item = "{{ item.content | framed }}\n"
    write({"templates/own/layout.md.j2": page, "templates/own/item.md.j2": item})
    write({"templates/own/layout.yaml": f"lines: {lines}\n"})
    # Numbers in contents need no template.
    wrong = ["templates/own/layout.yaml:1:1: PF848"] if lines == "none" else []
    assert found("templates/own") == wrong
    said = pf.render([{"content": "a"}], templates="templates", layout="own", lines=lines).warnings
    assert ("PF105" in [each.code for each in said]) is (lines == "none")


@pytest.mark.slow
def test_the_settings_of_all_layouts_are_checked() -> None:
    write(
        {
            "templates/layout.yaml": "base: chunks\nwords: {gap: '{count}'}\n"
            "kinds: {runbook: {trim_as: manpage}}\n"
        }
    )
    assert found() == [
        "templates/layout.yaml:1:1: PF831",
        "templates/layout.yaml:2:14: PF832",
        "templates/layout.yaml:3:28: PF832",
    ]
    write(
        {
            "templates/layout.yaml": "words: {gap: '...'}\n",
            "templates/chunks/layout.yaml": "base: shipped/knowledge\n",
        }
    )
    assert found() == found("templates") == found("templates/layout.yaml") == []


def test_a_kind_that_the_layout_itself_names_is_known_beside_a_misnamed_template() -> None:
    settings = "base: context\nsections: [runbook]\nkinds: {runbook: {title: Runbook}}\n"
    item = "{{ item.content | prose }}\n"
    write({"templates/mine/layout.yaml": settings, "templates/mine/runbok.md.j2": item})
    assert [line for line in found() if "PF821" in line] == ["templates/mine/runbok.md.j2: PF821"]
