"""Errors and their messages: exit codes, facts, the nearest name, quoted texts."""

from __future__ import annotations

from typing import Any

import pytest

import promptforge as pf
from promptforge import errors
from promptforge.errors import (
    _command_for,
    certain_correction,
    did_you_mean,
    quote,
)


def test_of_very_many_names_the_near_ones_are_compared() -> None:
    names = [f"variable_name_{n}" for n in range(1000)]
    assert did_you_mean("variable_nam_7", [*names, "x"]) == '; did you mean "variable_name_7"?'
    # None of so many names is certainly the one: `check --fix` would write it.
    assert certain_correction("variable_nam_7", names) is None
    assert certain_correction("variable_nam_7", names[:20]) is None
    assert certain_correction("variable_nam_7", names[7:8]) == "variable_name_7"
    assert did_you_mean("a" * 100_000, ["a" * 99_999]) == ""


def test_the_one_name_that_begins_with_the_word_is_meant() -> None:
    assert did_you_mean("rag", ["batch", "rag-service"]) == '; did you mean "rag-service"?'
    assert did_you_mean("rag", ["rag-service", "ragged-tables"]) == ""


@pytest.mark.parametrize("word", ["CLAUDE", "Claud", "cLAUDE"])
def test_capitals_are_no_other_letters(word: str) -> None:
    assert did_you_mean(word, ["chunks", "claude"]) == '; did you mean "claude"?'
    assert certain_correction("a" * 100_000, ["a" * 99_999]) is None


def test_a_quoted_text_keeps_its_letters_and_shows_what_cannot_be_seen() -> None:
    assert quote("Prüfsummen 日本") == '"Prüfsummen 日本"'
    assert quote("a\x1b\n\u202e\ud800") == r'"a\x1b\n\u202e\ud800"'


EXIT_CODES = {
    "PromptForgeError": 1,
    "StrictError": 1,
    "OptionError": 2,
    "ProfileError": 2,
    "TokenizerError": 2,
    "BudgetError": 3,
    "ItemError": 4,
    "TemplateError": 5,
}


def test_every_error_is_public_and_has_its_exit_code() -> None:
    found = {
        n: e
        for n, e in vars(errors).items()
        if isinstance(e, type) and issubclass(e, pf.PromptForgeError)
    }
    assert {name: error.exit_code for name, error in found.items()} == EXIT_CODES
    for name, error in found.items():
        assert getattr(pf, name) is error
        assert error.__module__ == "promptforge"
    assert issubclass(pf.ProfileError, pf.OptionError)


def test_errors_carry_facts() -> None:
    with pytest.raises(pf.BudgetError) as budget:
        pf.render([{"content": "word " * 99, "required": True}], max_tokens=9)
    assert budget.value.largest == 9 < budget.value.needed
    assert pf.render(
        [{"content": "word " * 99, "required": True}], max_tokens=budget.value.needed
    ).text
    with pytest.raises(pf.OptionError, match='did you mean "max_tokens"') as option:
        pf.render([], max_tokns=9)  # type: ignore[call-arg]
    assert option.value.option == "max_tokns"
    with pytest.raises(pf.StrictError) as strict:
        pf.render([{"content": "good"}, {"contnt": "bad"}], strict=True)
    assert isinstance(strict.value.result, pf.Result)
    assert strict.value.result.text == pf.render([{"content": "good"}]).text
    assert {d.code for d in strict.value.diagnostics} >= {"PF204"}


def test_no_error_of_another_library_comes_out() -> None:
    calls: list[dict[str, Any]] = [
        {"layout": "nope"}, {"layout": "../chunks"}, {"format": "nope"}, {"tokenizer": "nope"},
        {"profile": "nope"},
        {"profile": "nope.yaml"}, {"templates": "nowhere"}, {"tokenizer": "file:nowhere.json"},
        {"nope": 1},
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(pf.PromptForgeError) as caught:
            pf.render([], **call)
        message = str(caught.value)
        assert message.isprintable()
        assert any(word in message for word in ("nope", "nowhere", "../chunks"))


def test_a_right_name_needs_no_correction() -> None:
    assert certain_correction("layout", ["layout", "query"]) is None
    assert certain_correction("layuot", ["layout", "query"]) == "layout"


def test_a_quoted_text_that_is_cut_shows_it() -> None:
    assert quote("a" * 80) == f'"{"a" * 80}"'
    assert quote("a" * 81) == f'"{"a" * 80}…"'


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        ({}, "'promptforge-engine[preview]'"),
        (
            {"url": "file:///home/a%20b/clone", "dir_info": {"editable": True}},
            "-e '/home/a b/clone[preview]'",
        ),
        ({"url": "file:///srv/clone", "dir_info": {}}, "'/srv/clone[preview]'"),
        (
            {
                "url": "https://git.example/x.git",
                "vcs_info": {"vcs": "git", "requested_revision": "v1", "commit_id": "abc"},
            },
            "'promptforge-engine[preview] @ git+https://git.example/x.git@v1'",
        ),
        (
            {"url": "https://a.example/x.whl", "archive_info": {}},
            "'promptforge-engine[preview] @ https://a.example/x.whl'",
        ),
    ],
)
def test_an_extra_comes_from_where_the_package_came(origin: dict[str, Any], command: str) -> None:
    assert _command_for("preview", origin) == f"pip install {command}"


def test_a_name_of_100_000_letters_is_cut_in_every_message() -> None:
    long = "n" * 100_000
    with pytest.raises(errors.OptionError) as caught:
        pf.render([{"content": "x"}], profile=long)
    said = str(caught.value)
    assert "there is no profile" in said and len(said) < 5_000
    error = errors.ItemError("cannot read it", where=long)
    assert error.bare == "cannot read it" and error.where == long and len(str(error)) < 2_000
    for letters in (1_000, 1_001, 1_200, 100_000):
        assert len(str(errors.ItemError("n" * letters))) == 1_000
    deep = "/".join(["", *["d" * 120] * 12, "items.json:3"])
    assert "items.json:3: cannot" in str(errors.ItemError("cannot read it", where=deep))
    path = "/".join(["folder"] * 100)
    assert str(errors.ItemError("cannot read it", where=path)) == f"{path}: cannot read it"


def test_a_list_of_names_says_how_many_more_there_are() -> None:
    assert errors.list_names(["a", "b", "c"], 2) == "a, b and 1 more"
    assert errors.list_names(["a", "b"], 2) == "a, b"
