"""Split points: ends of lines, sentences and words, and places where counts of tokens add up.

An encoding first splits a text into words, by a regular expression without look-behind, and then
finds tokens inside a word. So count(a + b) = count(a) + count(b) wherever no word and no look-ahead
reaches over the split point. By the patterns of o200k_base, cl100k_base, Llama 3 and Qwen that is

- before a blank or a tab that follows anything but white space,
- before a line end after a letter or a digit (after punctuation it would belong to that word),
- after a line end, if the next line has a visible character after blanks and tabs alone, and does
  not begin with "/" (o200k_base joins that to punctuation and line ends before it).

Python counts U+001C to U+001F as white space, the encodings do not: a few split points are lost.
Letters are listed one by one, because the encodings know another version of Unicode than Python.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from collections.abc import Iterator
from typing import Literal, get_args

Unit = Literal["line", "sentence", "word", "character"]
UNITS: tuple[Unit, ...] = get_args(Unit)
BLANK_CHARACTERS = "\t\x0b\x0c \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""Unicode's white space without line feed and carriage return, for use inside a character class."""
WHITE_SPACE_CHARACTERS = "\r\n" + BLANK_CHARACTERS
_LETTER = "0-9A-Za-zÀ-ÖØ-öø-ÿΑ-ΡΣ-Ωα-ωА-яא-תぁ-ゖァ-ヺ一-龥가-힣"
_JOIN = rf"(?:\S(?=[ \t])|[{_LETTER}](?=[\r\n])|[\r\n](?!/)(?=[ \t]*+\S))"
_BLANK_OR_END = re.compile("[ \t\r\n]")
_EAST = "\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_ENDS: dict[Unit, str] = {
    "line": r"\n(?=(?s:.))",
    # Before a blank line too: a heading or an item of a list ends there without a full stop.
    "sentence": r"""(?:[.!?…][)\]"'’”»]*(?=\s)"""
    r"|[。！？｡][」』”’）]*(?=[^」』”’）])|\n(?=[ \t\r]*\n))",
    "word": rf"(?:\S(?=\s)|[{_EAST}](?=(?s:.)))",
    # Not inside CR LF, a surrogate pair or a row of flags, not before a combining character, not
    # after a joiner.
    "character": r"(?:\r(?!\n)|[^\r\u200d\ud800-\udbff\U0001f1e6-\U0001f1ff]"
    r"|[\ud800-\udbff](?![\udc00-\udfff])|[\U0001f1e6-\U0001f1ff](?![\U0001f1e6-\U0001f1ff]))"
    r"(?=[^MARKS\u200d\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f])",
}


@functools.cache
def _joins() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compile the searches for the next and the last split point, when first needed."""
    return re.compile(_JOIN), re.compile("(?s:.*)" + _JOIN)


@functools.cache
def _unit_ends(unit: Unit, is_ascii: bool) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compile the searches for the next and the last end of a unit."""
    pattern = _ENDS[unit]
    if unit == "character":  # in ASCII, as most texts are, nothing combines
        pattern = pattern.replace("MARKS", "" if is_ascii else _marks())
    return re.compile(pattern), re.compile("(?s:.*)" + pattern)


def _marks() -> str:
    """Return the ranges of combining characters, as the inside of a character class."""
    # `re` has no \p{M}; the standard library knows the marks one by one.
    ranges = []
    for is_mark, run in itertools.groupby(
        (*range(0x300, 0x20000), *range(0xE0100, 0xE01F0)), _is_mark
    ):
        if is_mark:
            marks = list(run)
            ranges.append(f"{chr(marks[0])}-{chr(marks[-1])}")
    return "".join(ranges)


def _is_mark(code: int) -> bool:
    return unicodedata.category(chr(code))[0] == "M"


def first_split_point(text: str, start: int, stop: int) -> int | None:
    """Return the first split point after `start` and before `stop`."""
    # Each has a blank or line end beside it; most texts without are one word, and cost no more.
    blank = _BLANK_OR_END.search(text, start, stop)
    if blank is None:
        return None
    found = _joins()[0].search(text, max(start, blank.start() - 1), stop)
    return found.end() if found else None


def last_split_point(text: str, start: int, stop: int) -> int | None:
    """Return the last split point after `start` and before `stop`."""
    # The greedy `(?s:.*)` runs to the end, and backtracks from there.
    found = _joins()[1].match(text, start, stop)
    return found.end() if found else None


def is_split_point(text: str, place: int) -> bool:
    """Return True if counts add up at `place`."""
    return place > 0 and _joins()[0].match(text, place - 1) is not None


def split_at_points(text: str, size: int) -> Iterator[str]:
    """Yield stretches of `text`, of about `size` characters, in order; their counts add up.

    A stretch is longer where `text` has no split point for longer than `size`.
    """
    start = 0
    while len(text) - start > size:
        # A megabyte of base64 has no blank in reach: then the next one counts, however far it is.
        stop = last_split_point(text, start, start + size) or first_split_point(
            text, start + size - 1, len(text)
        )
        if stop is None:
            break
        yield text[start:stop]
        start = stop
    yield text[start:]


def last_unit_end(text: str, unit: Unit, upto: int) -> int:
    """Return the last end of a `unit` at or before `upto`, less than `len(text)`; 0 without one."""
    # One character more than the end may take: the look-ahead wants to see what follows.
    found = _unit_ends(unit, text.isascii())[1].match(text, 0, upto + 1)
    return found.end() if found else 0


def unit_ends(text: str, unit: Unit, start: int, stop: int) -> list[int]:
    """Return the ends of a `unit` after `start` and before `stop`, ascending."""
    # A look-ahead sees nothing past `stop`, so an end right there is not found.
    pattern = _unit_ends(unit, text.isascii())[0]
    return [found.end() for found in pattern.finditer(text, start, stop)]
