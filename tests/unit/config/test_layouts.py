"""The settings of a layout, as its `layout.yaml` says them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import HELPERS, ROOT

import promptforge as pf
from promptforge import files as _shipped
from promptforge.config.layouts import (
    LAYOUT_OPTIONS,
    LAYOUT_VOCABULARY,
    LayoutSettings,
    load_layout_settings,
)
from promptforge.errors import ProfileError, TemplateError
from promptforge.templating.loader import Templates

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
        *("group_by", "separator", "order", "marker", "headers", "lines"),
        *("scores", "sources", "tree", "code", "header", "footer", "fence_language"),
        *("combine", "score_order", "min_score", "max_items"),
    }
    assert set(LAYOUT_VOCABULARY) == {
        *LAYOUT_OPTIONS,
        "base",
        "description",
        "sections",
        "syntax",
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
        (
            "kinds: 5",
            "layout.yaml:1: kinds takes a mapping of kinds, each to category, title",
        ),
        ("headers: yes", 'layout.yaml:1: headers takes true or false; got "yes"'),
        (
            "\n\ngroup_by: auto",
            "layout.yaml:3: group_by: auto has no meaning here; use none, file, kind",
        ),
        ("[]", "layout.yaml:1: a file of keys has lines of the form `key: value`"),
        ("titles: {a: b}\ntitles: {}", "layout.yaml:2: "),
        (
            "words: {equal_lins: x}",
            'layout.yaml:1: words: unknown key "equal_lins"; did you mean "equal_lines"?',
        ),
        (
            "words: {gap: '{count}'}",
            "layout.yaml:1: words: gap fills in no words in braces; got {count}",
        ),
        (
            "words: {frames_in: '{anzahl} aus {package}'}",
            "layout.yaml:1: words: frames_in fills in {frames}, {package}; got {anzahl}",
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


def test_a_users_file_is_laid_over_the_shipped_one_key_by_key() -> None:
    shipped = Templates().settings("chunks")
    ours = Templates([{"chunks/layout.yaml": "order: given\n"}]).settings("chunks")
    assert (ours.group_by, ours.separator, ours.trim_end) == ("file", "\n\n", True)
    assert ours.options == {**shipped.options, "order": "given"}
    two = [
        {"entities/layout.yaml": "titles: {code: C}"},
        {"entities/layout.yaml": "titles: {other: O}"},
    ]
    assert Templates(two).settings("entities").titles == {
        "code": "C",
        "documentation": "Related Documentation",
        "conversation": "Previous Conversations",
        "explicit": "Explicit",
        "similarity": "Similarity",
        "other": "O",
    }


def test_one_key_of_a_shipped_layout_leaves_items_apart() -> None:
    files = {"chunks/layout.yaml": "marker: '[cut]'\n"}
    items = [{"content": "a", "path": "a.txt"}, {"content": "b", "path": "b.txt"}]
    for form in ("markdown", "plain", "xml"):
        assert pf.render(items, templates=files, format=form).text == (
            pf.render(items, format=form).text
        )


def test_shipped_names_the_original_behind_a_users_layout() -> None:
    files = {
        "chunks/layout.yaml": "group_by: kind\n",
        "chunks/item.md.j2": "{# I. #}\nOURS\n",
        "mine/layout.yaml": "base: shipped/chunks\nseparator: '\\n'\n",
        "theirs/layout.yaml": "base: chunks\n",
    }
    templates = Templates([files])
    assert templates.settings("mine").group_by == "file"
    assert templates.settings("theirs").group_by == "kind"
    item = {"content": "a", "path": "a.txt"}
    assert "OURS" not in pf.render([item], templates=files, layout="mine").text
    assert "OURS" in pf.render([item], templates=files, layout="theirs").text
    assert pf.render([item], templates=files, layout="shipped/chunks").text == (
        pf.render([item]).text
    )
    with pytest.raises(TemplateError, match='there is no layout "shipped/mine"'):
        Templates([{"mine/layout.yaml": "base: shipped/mine\n"}]).settings("mine")


def test_settings_of_all_layouts_lie_under_those_of_each() -> None:
    files = {"layout.yaml": "separator: '#'\norder: given\n", "chunks/layout.yaml": "order: file\n"}
    settings = Templates([files]).settings("chunks")
    assert settings.options == {"group_by": "file", "separator": "\n\n", "order": "file"}
    with pytest.raises(TemplateError, match="has no base"):
        Templates([{"layout.yaml": "base: chunks\n"}]).settings("chunks")


# --- numbers of lines -----------------------------------------------------------------------------

SOURCES = {
    path.name: path.read_text(encoding="utf-8")
    for path in (HELPERS / "judges.py", HELPERS / "parsers.py", ROOT / "README.md")
}
_NUMBERED = re.compile(r"(?m)^(\d+): (.*)$")


def _render(text: str, **options: Any) -> pf.Result:
    item = {"content": text, "path": options.pop("path", "a.txt"), **options.pop("item", {})}
    return pf.render([item], **{"format": "plain", "lines": "each", **options})


def _check(result: pf.Result, text: str, first: int = 1) -> int:
    """Compare each numbered line with that of the text; return their number."""
    lines = text.split("\n")
    found = _NUMBERED.findall(result.text)
    for number, shown in found:
        begins = re.split(r" ?\[?…|  # \d+ lines? left", shown)[0]  # a gap may follow in the line
        assert begins.strip() in lines[int(number) - first], number
    numbers = [int(number) for number, _ in found]
    assert numbers == sorted(set(numbers))
    return len(found)


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("query", [None, "labels that hold a tag"])
@pytest.mark.parametrize("trim", ["structure", "prefix"])
@pytest.mark.parametrize("budget", [80, 300, 1000, 100_000])
def test_numbers_are_those_of_the_file(name: str, query: str, trim: str, budget: int) -> None:
    text = SOURCES[name]
    result = _render(text, path=name, query=query, trim=trim, max_tokens=budget)
    assert result.tokens <= budget
    assert _check(result, text) > (budget > 80)
    if budget == 100_000:
        assert len(_NUMBERED.findall(result.text)) == len(text.splitlines())


def test_a_chunk_goes_on_where_it_begins() -> None:
    item = {"start_line": 41, "end_line": 42}
    assert "\n41: one\n42: two" in _render("one\ntwo", item=item).text


def test_the_lines_around_a_chunk_come_before_its_own() -> None:
    item = {"start_line": 41, "end_line": 41, "expanded": "before\none\nafter"}
    assert "40: before\n41: one\n42: after" in _render("one", item=item).text
    unrelated = {"start_line": 41, "end_line": 41, "expanded": "another text"}
    assert "41: another" not in _render("one", item=unrelated).text


def test_a_summary_has_no_lines() -> None:
    assert "1: " not in _render("", item={"content": None, "summary": "In short."}).text


def test_json_is_cut_by_its_lines() -> None:
    text = "[\n" + ",\n".join(f'  "number {n} of many"' for n in range(200)) + "\n]\n"
    assert _check(_render(text, path="a.json", max_tokens=120), text) > 2


@given(st.text("ab\n ", max_size=80), st.integers(1, 50), st.integers(1, 60))
def test_any_text_keeps_its_lines(text: str, first: int, budget: int) -> None:
    item = {"start_line": first, "end_line": first + text.count("\n")}
    result = _render(text, item=item, max_tokens=budget, marker="")
    assert result.tokens <= budget
    _check(result, text, first)


def test_an_author_writes_the_number() -> None:
    words = 'words: {line_number: "{start} | "}'
    sources = [{"chunks/layout.yaml": words}]
    assert "\n1 | one" in _render("one\ntwo", templates=sources).text


def test_earlier_words_of_options_are_read_where_those_of_today_are() -> None:
    assert load_layout_settings("number_lines: true\n", "layout.yaml").options == {"lines": "each"}
    with pytest.raises(ProfileError, match='unknown key "on_error"'):
        load_layout_settings("on_error: raise\n", "layout.yaml")
