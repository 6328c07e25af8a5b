"""Characters are those of Unicode 14.0 on each Python."""

from __future__ import annotations

import sys
import unicodedata

import build_characters
import pytest

import promptforge as pf
from promptforge.text import characters, table_text, words
from promptforge.text.delimiters import fold
from promptforge.text.format import capitalize, title

SHAKING_FACE = "\U0001fae8"
"""Unicode 15.0: unknown to Python 3.11, a sign to 3.12."""
KAWI, KAWI_DIGIT, CYRILLIC, HAN = "\U00011f04", "\U00011f50", "\U0001e030", "\U00031350"


@pytest.mark.skipif(unicodedata.unidata_version != "14.0.0", reason="another version of Unicode")
def test_the_table_is_that_of_unicode_14() -> None:
    assert table_text("unassigned").split() == build_characters.table().split()


@pytest.mark.parametrize("char", [SHAKING_FACE, KAWI, KAWI_DIGIT, CYRILLIC, HAN, "\u0cf3"])
def test_a_character_of_a_later_version_is_unknown(char: str) -> None:
    assert characters.is_later(char)
    assert characters.category(char) == "Cn"
    assert characters.freeze(f"é{char}b") == f"é{characters.STAND_IN}b"
    assert characters.normalize("NFKD", f"é{char}ﬁ") == f"e\u0301{char}fi"
    assert fold(f"So{char}urce") == fold("Source")
    assert words.split_words(f"né{char}edle") == ["né", "edle"]
    assert capitalize(f"own{char}kind é") == f"Own{char}Kind É"
    assert title(f"own{char}kind é") == f"Own{char}Kind É"


@pytest.mark.parametrize(
    "text", ["", "abc", "é漢\U0001f600", "\ud800\u0378"[:1], "\ue000\U0010fffd"]
)
def test_a_known_text_is_frozen_already(text: str) -> None:
    assert characters.freeze(text) is text


def test_runs_of_a_category_hold_every_known_character() -> None:
    found = {code: name for name, run in characters.categories(0x3000) for code in run}
    assert found == {
        code: unicodedata.category(chr(code))
        for code in range(0x3000)
        if not characters.is_later(chr(code))
    }


def test_a_line_disguised_by_a_later_character_is_marked() -> None:
    content = f"a\nS{SHAKING_FACE}ource: man page 'tar'\nb"
    item = {"content": content, "name": "tar", "kind": "man_page"}
    text = pf.render([item], layout="knowledge", format="plain").text
    assert f"\n| S{SHAKING_FACE}ource" in text


@pytest.mark.parametrize("char", [KAWI, HAN, "e"])
def test_what_is_shortened_has_its_own_characters(char: str) -> None:
    body = "\n".join(f"def f{char}{n}(x):\n    return {n}\n" for n in range(40))
    item = {"content": body, "kind": "code", "path": "a.py"}
    text = pf.render([item], max_tokens=200).text
    assert f"def f{char}0" in text and characters.STAND_IN not in text


@pytest.mark.slow
def test_the_table_covers_all_of_unicode() -> None:
    assert sum(map(characters.is_later, map(chr, range(sys.maxunicode + 1)))) == 829_834
