"""Guess the encoding of a text by the letters that its languages have."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from pathlib import Path

import msgspec

from ..files.access import read_utf8
from ..text.words import late_pattern
from ..yaml_reader import load_shipped_yaml

MAX_BYTES_GUESSED, MIN_SHARE = 1 << 16, 0.3
"""Bytes that an encoding is guessed by; least share of the letters that are of its language."""
_SIGNS = frozenset("«»„“”‘’–—…°§©®№€\xa0")
_AFTER_SMALL = late_pattern(r"[a-zß-ÿа-яα-ω][A-Z]?(?=([^\x00-\x7f]))")


class _Group(msgspec.Struct, frozen=True):
    """A row of `encodings.yaml`."""

    encodings: dict[str, float]
    letters: list[str]
    script: str = r"(?!)"
    odd: str = r"(?!)"


@cache
def _groups() -> list[_Group]:
    path = Path(__file__).with_name("encodings.yaml")
    found = load_shipped_yaml(read_utf8(path), path.name)[0]
    return msgspec.convert(found["groups"], list[_Group])


def guess_encoding(data: bytes) -> str | None:
    """Return the encoding that makes the likeliest text of bytes; `None` where none does.

    >>> guess_encoding("Größe ändern".encode("cp1252"))
    'cp1252'
    """
    best, found = MIN_SHARE, None
    for group in _groups():
        for encoding, unlikely in group.encodings.items():
            with suppress(UnicodeDecodeError):
                text = data.decode(encoding)
                worth = _share(text[:MAX_BYTES_GUESSED], group) - unlikely
                if worth > best:
                    best, found = worth, encoding
    return found


def _share(text: str, group: _Group) -> float:
    """Return the share of a text's letters that are of the likeliest language of some."""
    beyond = [letter for letter in text if letter > "\x7f"]
    odd = sum(letter.isupper() for letter in _AFTER_SMALL.findall(text))
    odd += len(re.findall(group.odd, text))
    counts = (
        sum(_count(each, letters, group.script) for each in beyond) for letters in group.letters
    )
    share: float = (max(counts) - odd) / max(1, len(beyond))
    return share


@cache
def _count(letter: str, letters: str, script: str) -> float:
    """Return what a letter counts in a language: 1 for its most frequent, -1 for none of its."""
    small = letter.lower()[0]
    if small in letters:
        return (1 - 0.5 * letters.find(small) / len(letters)) * (1 if letter == small else 0.7)
    if re.match(script, letter):
        return 0.6
    return 0.5 if letter in _SIGNS else -1.0
