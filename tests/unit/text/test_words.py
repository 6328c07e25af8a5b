"""Words and their terms: forms that meet, parts of identifiers, scripts without blanks, titles."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptforge.selection.repository import (
    _QueryWords,
)
from promptforge.text import table_rows, words
from promptforge.text.words import (
    STOP_WORDS,
    late_patterns,
    stem,
    terms_of_text,
    terms_of_word,
    title_phrase,
    to_phrase,
)


@given(st.text("abcdeinrsyY_Qz", min_size=1, max_size=12))
def test_a_word_matches_each_of_its_own_terms(word: str) -> None:
    for term in terms_of_word(word):
        assert dict(_QueryWords([term])[word])[0] == 1


@pytest.mark.parametrize("table", ["directives", "nodes", "openings", "programs", "roles"])
def test_each_pattern_of_a_table_can_be_compiled_and_has_a_name_of_its_own(table: str) -> None:
    names = [name for name, _ in table_rows(table)]
    assert len(set(names)) == len(names)
    patterns = late_patterns(table)
    assert [*patterns] == names
    assert all(pattern.search("") or pattern.groups >= 0 for pattern in patterns.values())


def test_forms_of_a_word_meet() -> None:
    for forms in (
        "policy policies",
        "class classes",
        "stop stopped stopping stops",
        "cite cites cited",
        "quick quickly",
    ):
        assert len({stem(form) for form in forms.split()}) == 1, forms
    assert {stem(word) for word in ("this", "bus", "gas", "ring", "1990s")} == {
        "this",
        "bus",
        "gas",
        "ring",
        "1990",
    }


def test_identifiers_yield_their_parts_and_accents_do_not_matter() -> None:
    assert terms_of_text("getUserName") == [stem("getusername"), "get", stem("user"), stem("name")]
    assert terms_of_text("OOMKilled") == ["oomkill", "oom", "kill"]
    assert terms_of_text("HTTPServer") == ["httpserver", "http", "server"]
    assert terms_of_text("URLs") == ["url"]
    assert set(terms_of_text("max_len")) == {"max_len", "max", "len"}
    assert terms_of_text("Málaga") == terms_of_text("malaga")


def test_scripts_without_blanks_are_read_in_pairs() -> None:
    assert terms_of_text("東京の天気") == ["東京", "京の", "の天", "天気"]
    assert set(terms_of_text("กรุงเทพ")) <= {a + b for a, b in zip("กรุงเทพ", "รุงเทพ", strict=False)}
    assert len(terms_of_text("हिन्दी")) == 1


def test_stop_words_alone_are_all_there_is() -> None:
    assert terms_of_text("Who was it?") == ["who", "was", "it"]
    assert "the" in STOP_WORDS and not terms_of_text("") and terms_of_text("the cat") == ["cat"]


def test_a_title_is_a_phrase_without_its_brackets() -> None:
    assert (
        title_phrase("Tulsa (city)") == " tulsa "
        and title_phrase("Air") == ""
        and title_phrase("東京") == " 東 京 "
    )
    assert title_phrase("Omni Air") in to_phrase("the Omni-Air of old") and title_phrase(
        "Omni Air"
    ) not in to_phrase("Omni Airline")


def test_a_late_pattern_is_compiled_once_for_all_its_methods(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    late, compiled, compile_pattern = words.late_pattern("a+"), list[str](), re.compile

    def counting(pattern: str, flags: int = 0) -> re.Pattern[str]:
        compiled.append(pattern)
        return compile_pattern(pattern, flags)

    monkeypatch.setattr(re, "compile", counting)
    for _ in range(2):
        assert late.subn("b", "xaay") == ("xby", 1)
        assert late.sub("b", "aa") == "b" and late.search("ba") and late.groups == 0
    assert len(compiled) == 1


@pytest.mark.parametrize("line", ["!", "\\", "a\\", "[z-a]", "b\\/"])
def test_a_pattern_that_cannot_be_read_matches_nothing(line: str) -> None:
    rules = words.read_patterns(["*.log", line, "!keep.log"])
    assert not words.is_pattern(line) and words.is_pattern("*.log")
    assert [rules.match_file(name) for name in ("a.log", "keep.log", "a", "z")] == [
        True,
        False,
        False,
        False,
    ]


def test_a_pattern_of_many_sets_is_read_once() -> None:
    assert words.read_patterns([f"*{'[!a]' * 60}"]).match_file("x" * 60)
