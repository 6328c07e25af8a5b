"""The vocabulary of options: every name, value, range and message."""

from __future__ import annotations

import enum
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

import promptforge as pf
from promptforge.config.options import (
    OPTION_VOCABULARY,
    Options,
    apply_options,
)
from promptforge.config.profiles import load_profile
from promptforge.errors import OptionError, ProfileError

DEFAULT = Options()


class Order(enum.StrEnum):
    FILE = "file"


class Words:
    name = "words"

    def count(self, text: str) -> int:
        return len(text.split())


def test_defaults_are_those_of_the_contract() -> None:
    said = {
        "layout": "chunks", "format": "markdown", "tokenizer": "o200k_base", "max_tokens": 4000,
        "max_chars": None,
        "max_items": None, "item_max_chars": None, "paths": None, "languages": None, "kinds": None,
        "min_score": None, "min_worth": None, "max_age": None, "score_order": "given",
        "query": None, "rerank": "keyword_boost", "group_by": "auto", "order": "score",
        "dedupe": True,
        "merge_overlaps": True, "combine": "combined", "explicit_share": 0.6,
        "packing": "score",
        "trim": "structure", "compact": True, "clean": False, "marker": "[Content truncated...]", "headers": True,
        "lines": "range", "outline": False, "comments": True, "empty_lines": True, "scores": False,
        "sources": False, "tree": False, "code": True, "separator": None, "header": None, "footer": None,
        "fence_language": None,
        "context_window": None, "reserve": None, "max_prompt_tokens": None, "strict": False, "stubs": False,
        "section_budgets": None, "overrides": None,
        "control_text": "keep", "framing": "auto",
        "prompt": "default", "prompt_order": ("system", "instructions", "history", "context",
        "question"), "part_budgets": None,
        "system_role": "system", "history_share": 0.3,
        "compact_at": 1.0, "compact_to": 0.5, "keep_tools": None, "recall_share": 0.1, "thoughts": "auto", "message_tokens": 8, "call_tokens": 16,
        "prompt_tokens": 16,
        "image_tokens": 5000, "images": None, "page_tokens": None, "second_tokens": None,
        "cite": False, "citation": None, "cache_after": None,
    }  # fmt: skip
    assert {name: getattr(DEFAULT, name) for name in OPTION_VOCABULARY} == said


@pytest.mark.parametrize("name", list(OPTION_VOCABULARY))
def test_every_default_is_a_value_the_option_takes(name: str) -> None:
    rule = OPTION_VOCABULARY.rules[name]
    assert rule.default == getattr(DEFAULT, name)
    assert apply_options(DEFAULT, {name: rule.default}) == DEFAULT
    assert rule.doc.endswith(".") and rule.doc[0].isalpha() and "\n" not in rule.doc


@pytest.mark.parametrize(
    ("name", "given_value", "kept"),
    [
        ("max_tokens", 0, 0),
        ("max_tokens", None, None),
        ("max_tokens", "none", None),
        ("max_tokens", sys.maxsize, sys.maxsize),
        ("max_items", None, None),
        ("min_score", 1, 1.0),
        ("min_score", None, None),
        ("explicit_share", 0, 0.0),
        ("kinds", ["code", "error"], ("code", "error")),
        ("kinds", ("code",), ("code",)),
        ("kinds", {"b", "a"}, ("a", "b")),
        ("kinds", "code", ("code",)),
        ("kinds", "none", None),
        ("kinds", [], ()),
        ("group_by", None, "none"),
        ("group_by", "team", "team"),
        ("rerank", None, "none"),
        ("trim", None, "none"),
        ("trim", "none", "none"),
        ("query", "none", "none"),
        ("query", None, None),
        ("separator", "\n---\n", "\n---\n"),
        ("separator", None, None),
        ("header", "none", None),
        ("marker", "", ""),
        ("fence_language", "c++", "c++"),
        ("layout", "shipped/chunks", "shipped/chunks"),
        ("packing", "stop", "stop"),
    ],
)
def test_a_good_value_is_kept(name: str, given_value: Any, kept: Any) -> None:
    assert getattr(apply_options(DEFAULT, {name: given_value}), name) == kept
    assert type(getattr(apply_options(DEFAULT, {name: given_value}), name)) is type(kept)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("max_tokens", -5, "max_tokens takes a whole number from 0 up, or none; got -5"),
        ("max_tokens", 4000.0, "max_tokens takes a whole number from 0 up, or none; got 4000.0"),
        ("max_tokens", True, "max_tokens takes a whole number from 0 up, or none; got true"),
        ("max_tokens", "4kk", 'max_tokens takes a whole number from 0 up, or none; got "4kk"'),
        pytest.param(
            "max_items",
            10**5000,
            "max_items takes a whole number from 0 up, or none; got a number past 64 bits",
            id="unprintable",
        ),
        ("min_score", 1.5, "min_score takes a number from 0 to 1, or none; got 1.5"),
        ("min_score", float("nan"), "min_score takes a number from 0 to 1, or none; got nan"),
        ("explicit_share", None, "explicit_share takes a number from 0 to 1; got none"),
        ("explicit_share", False, "explicit_share takes a number from 0 to 1; got false"),
        ("headers", 1, "headers takes true or false; got 1"),
        ("headers", "yes", 'headers takes true or false; got "yes"'),
        (
            "order",
            "scor",
            'order takes score | given | file | edges; got "scor"; did you mean "score"?',
        ),
        ("order", "x", 'order takes score | given | file | edges; got "x"'),
        ("order", None, "order takes score | given | file | edges; got none"),
        ("kinds", [1, "a"], 'kinds takes a list of texts, or none; got [1, "a"]'),
        ("kinds", {"a": 1}, 'kinds takes a list of texts, or none; got {"a": 1}'),
        (
            "kinds",
            [[["a"]], {}, 1, 2, 3, 4],
            "kinds takes a list of texts, or none; got […, …, 1, 2, 3, …]",
        ),
        (
            "kinds",
            dict.fromkeys("abcd"),
            'kinds takes a list of texts, or none; got {"a": none, "b": none, "c": none, …}',
        ),
        ("marker", None, "marker takes text; got none"),
        ("group_by", "", 'group_by takes a word, or none; got ""'),
        (
            "layout",
            "../x",
            "layout takes a name of letters, digits, '_', '.' and '-'; got \"../x\"",
        ),
        (
            "format",
            "xml\n",
            "format takes a name of letters, digits, '_', '.' and '-'; got \"xml\\n\"",
        ),
        (
            "fence_language",
            "a`b",
            'fence_language takes a language tag such as python or c++, or none; got "a`b"',
        ),
        (
            "tokenizer",
            3,
            "tokenizer takes a tokenizer's name, or an object with name and count(text); got 3",
        ),
        (
            "tokenizer",
            "",
            'tokenizer takes a tokenizer\'s name, or an object with name and count(text); got ""',
        ),
        (
            "query",
            "a\ud800",
            'query takes text or a list of texts, or none; got "a\\ud800", with a lone surrogate that UTF-8 cannot '
            "carry",
        ),
    ],
)
def test_a_bad_value_is_named(name: str, value: Any, message: str) -> None:
    with pytest.raises(OptionError) as caught:
        apply_options(DEFAULT, {name: value})
    assert str(caught.value) == message
    assert caught.value.option == name
    assert not isinstance(caught.value, ProfileError)


def test_python_refuses_what_no_rendering_can_use() -> None:
    bad: list[tuple[str, Any]] = [("max_tokens", -1), ("layout", ["x"]), ("strict", "never")]
    for option, value in bad:
        with pytest.raises(OptionError, match=f"{option} takes "):
            pf.render([{"content": "x"}], **{option: value})
        with pytest.raises(OptionError, match=f"{option} takes "):
            pf.Renderer(**{option: value})


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("contxt_window", '; did you mean "context_window"?'),
        ("max-tokens", '; did you mean "max_tokens"?'),
        ("question", ": Renderer.prompt takes the question as `user`"),
    ],
)
def test_an_unknown_name_is_an_error(name: str, hint: str) -> None:
    with pytest.raises(OptionError, match="unknown option") as strict:
        apply_options(DEFAULT, {name: 1})
    assert str(strict.value) == f'unknown option "{name}"{hint}'


def test_in_a_file_none_is_no_query() -> None:
    assert OPTION_VOCABULARY.check("query", "none", lambda name: "job.yaml:1") is None


@pytest.mark.parametrize(
    ("text", "number"), [("20k", 20_000), ("1.5M", 1_500_000), ("4_000", 4000), ("0.5K", 500)]
)
def test_a_count_in_a_text_is_read_as_on_the_command_line(text: str, number: int) -> None:
    budgets = {"code": {"min_tokens": text, "share": 0.5}}
    changed = apply_options(DEFAULT, {"max_tokens": text, "section_budgets": budgets})
    assert changed.max_tokens == number
    assert changed.section_budgets is not None
    assert changed.section_budgets["code"].min_tokens == number
    with pytest.raises(OptionError, match=r"section_budgets: code: share takes .* got 2"):
        apply_options(DEFAULT, {"section_budgets": {"code": {"min_tokens": text, "share": 2}}})


def test_a_reserve_as_large_as_the_window_is_an_error() -> None:
    for changes in ({"context_window": 100, "reserve": 100}, {"reserve": 1, "context_window": 0}):
        with pytest.raises(OptionError, match="leaves nothing of the context_window") as caught:
            apply_options(DEFAULT, changes)
        assert caught.value.option == "reserve"
    with pytest.raises(OptionError, match=r"reserve 128,000 leaves nothing .* 1,000;") as caught:
        pf.render([{"content": "x"}], profile="claude", context_window=1000)
    assert caught.value.option == "context_window"
    assert pf.render([{"content": "x"}], context_window=1000, reserve=0).text


def test_an_unknown_name_like_no_other_lists_them_all() -> None:
    with pytest.raises(OptionError) as caught:
        apply_options(DEFAULT, {"zzz": 1})
    assert all(name in str(caught.value) for name in OPTION_VOCABULARY)


def test_a_place_makes_it_a_profile_error() -> None:
    with pytest.raises(ProfileError) as caught:
        OPTION_VOCABULARY.check("contxt_window", 1, lambda name: f"mine.yaml:3 {name}")
    assert (
        str(caught.value)
        == 'mine.yaml:3 contxt_window: unknown option "contxt_window"; did you mean '
        '"context_window"?'
    )
    assert caught.value.where == "mine.yaml:3 contxt_window"


def test_a_hostile_name_is_shown_short_and_escaped() -> None:
    with pytest.raises(OptionError) as caught:
        apply_options(DEFAULT, {"\x1b[2J\n" + "x" * 10_000: 1})
    assert (
        "\x1b" not in str(caught.value)
        and "\n" not in str(caught.value)
        and len(str(caught.value)) < 1000
    )


def test_a_tokenizer_may_be_an_object() -> None:
    words = Words()
    assert apply_options(DEFAULT, {"tokenizer": words}).tokenizer is words


def test_numbers_of_other_libraries() -> None:
    class Count(int):
        """Stands for numpy.int64, which is registered as Integral too."""

    class Real(float):
        """Stands for numpy.float64, a subclass of float."""

    changed = apply_options(DEFAULT, {"max_tokens": Count(7), "min_score": Real(0.25)})
    assert (type(changed.max_tokens), type(changed.min_score)) == (int, float)
    assert (changed.max_tokens, changed.min_score) == (7, 0.25)
    with pytest.raises(OptionError):
        apply_options(DEFAULT, {"max_tokens": Real(7.0)})


def test_texts_become_plain_text() -> None:
    changed = apply_options(
        DEFAULT, {"header": Markup("<b>"), "order": Order.FILE, "kinds": [Markup("code")]}
    )
    assert (type(changed.header), type(changed.order)) == (str, str)
    assert changed.kinds is not None and type(changed.kinds[0]) is str
    assert (changed.header, changed.order, changed.kinds) == ("<b>", "file", ("code",))


def test_nothing_changed_is_the_same_object() -> None:
    assert apply_options(DEFAULT, {}) is DEFAULT


TEXTS = st.text("none ab.|/`\n\x1b\ud800\u202eü", max_size=9) | st.sampled_from(
    ["none", "score", "raise", "0", "true"]
)
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | TEXTS
    | st.sets(st.sampled_from("abc")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(sorted(OPTION_VOCABULARY)), ANYTHING, max_size=5))
@cases(150)
def test_law_any_value_gives_good_options_or_an_option_error(changes: dict[str, Any]) -> None:
    try:
        settled = apply_options(DEFAULT, changes)
    except OptionError as error:
        assert error.option in changes
        assert str(error).isprintable()
    else:
        values = {name: getattr(settled, name) for name in OPTION_VOCABULARY}
        assert apply_options(settled, values) == settled


@pytest.mark.parametrize(
    ("option", "wrong", "right"),
    [
        ("paths", ["docs/", "src/[z-a]"], ["src/*.py", "!tests/"]),
        ("prompt_order", ["system", "system", "context"], ["instructions", "context", "question"]),
        ("cache_after", ["system", "system"], ["system", "history"]),
    ],
)
def test_a_list_is_checked_as_a_whole(option: str, wrong: list[str], right: list[str]) -> None:
    with pytest.raises(OptionError, match=option):
        apply_options(DEFAULT, {option: wrong})
    assert getattr(apply_options(DEFAULT, {option: right}), option) == tuple(right)


@pytest.mark.parametrize("former, today", [
    ({"line_numbers": False}, {"lines": "none"}),
    ({"line_numbers": True, "number_lines": False}, {"lines": "range"}),
    ({"number_lines": True}, {"lines": "each"}),
    ({"line_numbers": False, "lines": "range"}, {"lines": "range"}),
    ({"on_error": "raise"}, {"strict": True}),
    ({"packing": "proportional"}, {"packing": "even"}),
    ({"framing": "fenced"}, {"framing": "auto"}),
])  # fmt: skip
def test_the_words_of_an_earlier_version_are_read(
    former: dict[str, Any], today: dict[str, Any], tmp_path: Path
) -> None:
    options = apply_options(Options(), former)
    assert options == apply_options(Options(), today)
    profile = tmp_path / "mine.yaml"
    profile.write_text(json.dumps(former))
    assert load_profile(profile).options == today
    item = {"content": "a\nb", "path": "x.py", "start_line": 4, "end_line": 5}
    if "strict" not in today:
        assert pf.render([item], **former).text == pf.render([item], **today).text


@pytest.mark.parametrize(("first", "then", "strict", "lines"), [
    ({"lines": "range", "strict": True}, {"line_numbers": False, "on_error": "warn"}, False, "none"),
    ({"line_numbers": False, "on_error": "warn"}, {"lines": "each", "strict": True}, True, "each"),
    ({"lines": "none"}, {"number_lines": False}, False, "none"),
    ({"lines": "each"}, {"number_lines": False}, False, "range"),
])  # fmt: skip
def test_the_later_of_an_earlier_word_and_one_of_today_wins(
    first: dict[str, Any], then: dict[str, Any], strict: bool, lines: str
) -> None:
    options = apply_options(Options(), {**first, **then})
    assert (options.strict, options.lines) == (strict, lines)
    options = pf.Renderer(**first).check(**then)
    assert (options.strict, options.lines) == (strict, lines)


def test_a_wrong_value_of_an_earlier_word_is_refused_by_that_word() -> None:
    with pytest.raises(pf.OptionError, match="number_lines takes true or false"):
        apply_options(Options(), {"number_lines": "perhaps"})
