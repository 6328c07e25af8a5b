"""Where a text may be cut: the ends of lines, sentences and words, and the places where counts of tokens add up.

The encodings split a text into pieces first, by a regular expression without look-behind, and look for tokens inside
a piece. So count(a + b) = count(a) + count(b) wherever no piece and no look-ahead reaches over the join. From the
patterns of o200k_base and cl100k_base (and those of Llama 3 and Qwen, which cut alike) that holds

- before a blank or a tab that follows anything but white space,
- before a line end that follows a letter or a digit (after punctuation it would belong to the punctuation's piece),
- after a line end, if the next line has something visible after blanks and tabs alone, and does not begin with "/"
  (which o200k_base takes together with punctuation and line ends before it).

Python counts U+001C to U+001F as white space and the encodings do not: the rules below only lose chances by it.
Letters are named one by one, for what Python calls a letter may be unassigned to the encodings' older or newer Unicode.
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

BLANK = "\t\x0b\x0c \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""Unicode's white space without line feed and carriage return, for use inside a character class."""
WHITE = "\r\n" + BLANK

_LETTER = "0-9A-Za-zÀ-ÖØ-öø-ÿΑ-ΡΣ-Ωα-ωА-яא-תぁ-ゖァ-ヺ一-龥가-힣"
_JOIN = rf"(?:\S(?=[ \t])|[{_LETTER}](?=[\r\n])|[\r\n](?!/)(?=[ \t]*+\S))"

_BLANK_OR_END = re.compile("[ \t\r\n]")

_EAST = "\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_ENDS: dict[Unit, str] = {
    "line": r"\n(?=(?s:.))",
    # Before a blank line too: a heading or an item of a list ends there without a full stop.
    "sentence": r"""(?:[.!?…][)\]"'’”»]*(?=\s)|[。！？｡][」』”’）]*(?=[^」』”’）])|\n(?=[ \t\r]*\n))""",
    "word": rf"(?:\S(?=\s)|[{_EAST}](?=(?s:.)))",
    # Not inside CR LF, a surrogate pair or flags in a row, nor before what belongs to the character before it, nor
    # after a joiner.
    "character": r"(?:\r(?!\n)|[^\r\u200d\ud800-\udbff\U0001f1e6-\U0001f1ff]|[\ud800-\udbff](?![\udc00-\udfff])"
    r"|[\U0001f1e6-\U0001f1ff](?![\U0001f1e6-\U0001f1ff]))(?=[^MARKS\u200d\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f])",
}


@functools.cache
def _joins() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compile what finds the next place where counts add up, and the last one; when first needed."""
    return re.compile(_JOIN), re.compile("(?s:.*)" + _JOIN)


@functools.cache
def _unit_ends(unit: Unit) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compile what finds the next end of a unit, and the last one."""
    pattern = _ENDS[unit].replace("MARKS", _marks()) if unit == "character" else _ENDS[unit]
    return re.compile(pattern), re.compile("(?s:.*)" + pattern)


def _marks() -> str:
    """Return the ranges of characters that combine with the one before them."""
    ranges = []
    for is_mark, run in itertools.groupby(
        (*range(0x300, 0x20000), *range(0xE0100, 0xE01F0)), _is_mark
    ):
        if is_mark:
            first, *rest = run
            ranges.append(f"{chr(first)}-{chr(rest[-1] if rest else first)}")
    return "".join(ranges)


def _is_mark(code: int) -> bool:
    return unicodedata.category(chr(code))[0] == "M"


def first_join(text: str, start: int, stop: int) -> int | None:
    """Return the first place after `start` and before `stop` where counts add up."""
    blank = _BLANK_OR_END.search(
        text, start, stop
    )  # each join has one beside it, and most texts without are one word
    if blank is None:
        return None
    found = _joins()[0].search(text, max(start, blank.start() - 1), stop)
    return found.end() if found else None


def last_join(text: str, start: int, stop: int) -> int | None:
    """Return the last place after `start` and before `stop` where counts add up; found from the end backwards."""
    found = _joins()[1].match(text, start, stop)
    return found.end() if found else None


def is_join(text: str, place: int) -> bool:
    """Return whether counts add up at `place`."""
    return place > 0 and _joins()[0].match(text, place - 1) is not None


def split_at_joins(text: str, size: int) -> Iterator[str]:
    """Yield stretches of `text`, in order, of about `size` characters, the sum of whose counts is the count of `text`.

    A stretch is longer where `text` has no such place for longer than `size`.
    """
    start = 0
    while len(text) - start > size:
        stop = last_join(text, start, start + size) or first_join(text, start + size - 1, len(text))
        if stop is None:
            break
        yield text[start:stop]
        start = stop
    yield text[start:]


def last_end(text: str, unit: Unit, upto: int) -> int:
    """Return the last end of a `unit` in `text` at or before `upto` (< len(text)); 0 if there is none."""
    found = _unit_ends(unit)[1].match(text, 0, upto + 1)
    return found.end() if found else 0


def ends(text: str, unit: Unit, start: int, stop: int) -> list[int]:
    """Return all ends of a `unit` after `start` and before `stop`, ascending."""
    return [found.end() for found in _unit_ends(unit)[0].finditer(text, start, stop)]
