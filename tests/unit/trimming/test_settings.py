"""Shorter settings: a key stands under its section, a key of TOML in its table."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from shipped_words import marks

import promptforge as pf
from promptforge.trimming import settings
from promptforge.trimming.entries import divide
from promptforge.trimming.pieces import Pieces

MARKER = "[cut]"


def pieces_of(text: str, language: str = "yaml") -> Pieces:
    found = divide(text, marks=marks(MARKER), language=language)
    assert found is not None
    return found


def test_a_setting_stands_under_its_section() -> None:
    text = "".join(
        f"[part{n}]\nhost = h{n}\nport = {8000 + n}\nlog = no\nx = 1\n" for n in range(30)
    )
    for language in ("ini", "toml", "properties"):
        item = pf.Item(content=text, path="a", kind="file", language=language)
        shown = pf.render([item], max_tokens=90, query="which port has part13").text
        assert "[part13]\n" in shown and "port = 8013\n" in shown


CARGO = """\
[package]
name = "rip"
description = '''
[search] tool
  of "lines"
'''
keywords = [
  "regex",  # [one]
]

# What it needs.
[dependencies]
log = { version = "1", features = ["std"] }

[[bin]]
path = "src/main.rs"

[[bin]]
path = "src/other.rs"
"""


def _is_part(part: object, whole: object) -> bool:
    """Tell whether all tables and keys of a part stand at their places in the whole."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and _is_part(held, whole[key]) for key, held in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return all(any(_is_part(held, other) for other in whole) for held in part)
    return part == whole


@pytest.mark.parametrize("text", [CARGO, Path("pyproject.toml").read_text("utf-8")])
def test_a_part_of_toml_has_its_keys_in_their_tables(text: str) -> None:
    pieces = pieces_of(text, "toml")
    outlines, variants = pieces.outlines(), pieces.variants()
    assert len(outlines) > 4 and len(variants) > 4
    for variant in (*outlines, *variants):
        assert _is_part(tomllib.loads(variant.text), tomllib.loads(text)), variant.text


def test_an_outline_of_toml_begins_with_what_the_project_is() -> None:
    outlines = pieces_of(CARGO, "toml").outlines()
    for number in range(len(outlines) - 2):
        assert '[package]\nname = "rip"\n' in outlines[number].text


def test_a_text_that_nothing_closes_is_one_token() -> None:
    """A line of 20,000 took 8 s: the rest was read again from each quote on."""
    assert len(settings._TOML_TOKEN.findall('\\"' * 1_000)) == 1
    assert len(settings._TOML_TOKEN.findall('"""' + "\n['" * 1_000)) == 1
