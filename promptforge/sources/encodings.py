"""Find the encoding that a repository says of a text, or guess it by the letters of languages."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from pathlib import Path

import msgspec

from ..errors import ItemError
from ..files.access import StrPath, is_inside, read_bytes, read_utf8
from ..text.words import late_pattern
from ..yaml_reader import load_shipped_yaml
from .git import run_git, work_tree

MAX_BYTES_GUESSED, MIN_SHARE = 1 << 16, 0.3
"""Bytes that an encoding is guessed by; least share of the letters that are of its language."""
_SIGNS = frozenset("«»„“”‘’–—…•°§©®№€£¥±²µ·×÷¼½¾")
_NAME = late_pattern(
    r"(?i)(latin|iso[-_]?8859|utf-16[bl]e|cp|windows|koi8|euc|shift|sjis|gb|big5|mac)[-\w]*"
)
_ODD_SIGNS = late_pattern(
    r"[^\W\d_](?:[©®£¥±×÷¿¡µ¼½¾]|°(?=[^\W\d_]))|[©®£¥±×÷](?=[^\W\d_])|[°±²·×÷¼½¾£¥§©®«»]{2}"
)
"""Signs within words, and beside each other: letters of another encoding."""
_AFTER_SMALL = late_pattern(r"[a-zß-ÿа-яα-ω][A-Z]?(?=([^\x00-\x7f]))")


class _Group(msgspec.Struct, frozen=True):
    encodings: dict[str, float]
    letters: list[str]
    script: str = r"(?!)"
    odd: str = r"(?!)"


@cache
def _groups() -> list[_Group]:
    path = Path(__file__).with_name("encodings.yaml")
    found = load_shipped_yaml(read_utf8(path), path.name)[0]
    return msgspec.convert(found["groups"], list[_Group])


def encoding_of_git(path: StrPath) -> str | None:
    """Return the encoding that `.gitattributes` name for a real file; None for others."""
    file = Path(path)
    with suppress(ItemError):  # none without git
        top = work_tree(file.parent) if file.name else None
        above = [folder for folder in file.parents if top is not None and is_inside(folder, top)]
        for folder in above:
            with suppress(OSError, ItemError):  # git is asked only where one of them speaks of it
                if b"encoding=" in read_bytes(folder / ".gitattributes", note=False):
                    asked = "check-attr", "-z", "working-tree-encoding", "encoding", "--", file.name
                    values = run_git(file.parent, *asked).split("\0")[2::3]
                    return next(filter(_NAME.fullmatch, values), None)
    return None


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
    odd += len(re.findall(group.odd, text)) + len(_ODD_SIGNS.findall(text))
    others = "".join(group.letters)
    counts = (
        sum(_count(each, letters, others, group.script) for each in beyond)
        for letters in group.letters
    )
    share: float = (max(counts) - odd) / max(1, len(beyond))
    return share


@cache
def _count(letter: str, letters: str, others: str, script: str) -> float:
    """Return what a letter counts in a language: 1 for its most frequent, -1 for none of its.

    A letter of another language of the group, as in a name, counts 0.
    """
    small = letter.lower()[0]
    if small in letters:
        return (1 - 0.5 * letters.find(small) / len(letters)) * (1 if letter == small else 0.7)
    if re.match(script, letter):
        return 0.6
    if letter in _SIGNS:
        return 0.8
    if letter == "\xa0":  # the last byte of cp866: a lone one is damage
        return 0.5
    return 0.0 if small in others else -1.0
