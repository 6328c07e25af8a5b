"""The settings of a layout, as its `layout.yaml` says them."""

from __future__ import annotations

import pytest

from promptforge import files as _shipped
from promptforge.config.layouts import (
    LAYOUT_OPTIONS,
    LAYOUT_VOCABULARY,
    LayoutSettings,
    load_layout_settings,
)
from promptforge.errors import ProfileError

FULL = """\
# how it looks
base: chunks
description: Mine
sections: [man_page, document]
titles:
  man_page: Man Pages
  document: Documents
languages: {.py: python, cs: csharp, txt: ""}
trim_end: true
group_by: kind
separator: "\\n---\\n"
headers: false
order: file
"""


def test_all_that_can_be_said() -> None:
    settings = load_layout_settings(FULL, "layout.yaml")
    assert (settings.base, settings.description, settings.trim_end) == ("chunks", "Mine", True)
    assert settings.sections == ("man_page", "document")
    assert settings.titles == {"man_page": "Man Pages", "document": "Documents"}
    assert settings.languages == {"py": "python", "cs": "csharp", "txt": ""}
    assert (settings.group_by, settings.separator) == ("kind", "\n---\n")
    assert settings.options == {
        "group_by": "kind",
        "separator": "\n---\n",
        "headers": False,
        "order": "file",
    }


def test_nothing_said() -> None:
    assert load_layout_settings("# nothing\n", "layout.yaml") == LayoutSettings()
    assert (LayoutSettings().group_by, LayoutSettings().separator, LayoutSettings().languages) == (
        "none",
        None,
        None,
    )


def test_every_display_option_may_be_set_and_no_other() -> None:
    assert set(LAYOUT_OPTIONS) == {
        *("group_by", "separator", "order", "marker", "headers", "line_numbers"),
        *("scores", "sources", "code", "header", "footer", "fence_language"),
        *("combine", "score_order", "min_score", "max_items"),
    }
    assert set(LAYOUT_VOCABULARY) == {
        *LAYOUT_OPTIONS,
        "base",
        "description",
        "sections",
        "titles",
        "languages",
        "trim_end",
        "words",
        "kinds",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("titels: {}", 'layout.yaml:1: unknown key "titels"; did you mean "titles"?'),
        (
            "\nmax_tokens: 5",
            'layout.yaml:2: unknown key "max_tokens": it belongs in a profile, not in a layout',
        ),
        (
            "extends: chunks",
            'layout.yaml:1: unknown key "extends": a layout that builds on another says base',
        ),
        (
            "base: ..",
            "layout.yaml:1: base takes a name of letters, digits, '_', '.' and '-', or none; "
            'got ".."',
        ),
        ("trim_end: 1", "layout.yaml:1: trim_end takes true or false; got 1"),
        ("sections: {a: b}", 'layout.yaml:1: sections takes a list of texts; got {"a": "b"}'),
        (
            "titles: {a: 1}",
            'layout.yaml:1: titles takes a mapping of texts, each to text; got {"a": 1}',
        ),
        (
            "languages: {py: 'a b'}",
            "layout.yaml:1: languages takes a mapping of texts, each to a language tag",
        ),
        ("headers: yes", 'layout.yaml:1: headers takes true or false; got "yes"'),
        (
            "\n\ngroup_by: auto",
            "layout.yaml:3: group_by: auto has no meaning here; say none, file, kind",
        ),
        ("[]", "layout.yaml:1: a file of keys has lines of the form `key: value`"),
        ("titles: {a: b}\ntitles: {}", "layout.yaml:2: "),
        (
            "words: {lines_left: x}",
            'layout.yaml:1: words: unknown key "lines_left"; did you mean "lines_left_out"?',
        ),
        (
            "words: {gap: '{count}'}",
            "layout.yaml:1: words: gap fills in no words in braces; got {count}",
        ),
        ('words: {gap: "a\\nb"}', "layout.yaml:1: words: gap takes a text on one line"),
        (
            "words: {content_tag: a b}",
            "layout.yaml:1: words: content_tag takes letters, digits, '_' and '-'; got \"a b\"",
        ),
        (
            "kinds: {runbook: {trim: man_page}}",
            'layout.yaml:1: kinds: runbook: unknown key "trim"; did you mean "trim_as"?',
        ),
    ],
)
def test_a_bad_line_is_named(text: str, message: str) -> None:
    with pytest.raises(ProfileError) as caught:
        load_layout_settings(text + "\n", "layout.yaml")
    assert str(caught.value).startswith(message)


def test_over_a_base_what_is_said_wins_and_mappings_are_joined() -> None:
    base = load_layout_settings(FULL, "base.yaml")
    own = load_layout_settings(
        "titles: {document: Papers}\nlanguages: {rs: rust}\ntrim_end: false\norder: given\n",
        "own.yaml",
    )
    both = own.over(base)
    assert both.titles == {"man_page": "Man Pages", "document": "Papers"}
    assert both.languages == {"py": "python", "cs": "csharp", "txt": "", "rs": "rust"}
    assert (both.trim_end, both.sections, both.group_by) == (
        False,
        ("man_page", "document"),
        "kind",
    )
    assert both.options == {
        "group_by": "kind",
        "separator": "\n---\n",
        "headers": False,
        "order": "given",
    }
    assert base == load_layout_settings(FULL, "base.yaml")


def test_over_a_base_none_takes_languages_away() -> None:
    base = load_layout_settings("languages: {py: python}\n", "base.yaml")
    assert load_layout_settings("languages: none\n", "own.yaml").over(base).languages is None
    assert load_layout_settings("", "own.yaml").over(base) == base


def test_every_shipped_layout_has_good_settings() -> None:
    for path in sorted(_shipped.shipped_folder("templates").glob("*/layout.yaml")):
        assert load_layout_settings(path.read_text(encoding="utf-8"), str(path)).description, path
