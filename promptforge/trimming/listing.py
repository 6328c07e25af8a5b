"""Entries of what a program prints in lines: each under the line that it belongs to.

That is the nearest line above with less indentation, the branches of a tree included; else the
names of its columns, the head of its block and the nearest banner: the host above its ports.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from ..text.words import late_pattern
from .entry_reader import FAILURE, HEADER, RECORD, DataEntry, EntryReader
from .log import tells_failure

MAX_DEPTH = 3
"""Lines that a line brings with it; a plan of a query has 20 above its innermost step."""
MIN_BLOCKS = 2
"""Paragraphs of several lines, from which the first line of each is the head of the others; and
banners, from which each is the head of all up to the next."""
_MARGIN = " \t\r\n|`+-\\│├└─┬┼╰╭"
_NUMBER = late_pattern(r"[ \t]*+\d++(?=[ \t]+\S|[ \t]*\|)")
"""The number that a line begins with: in a table all end in one column, below its name; numbers
that begin in one column, as in the output of `tree -s` or a list, say nothing by their ends."""
_KEY = late_pattern(r"[ \t]*+[A-Za-z_][\w ]{0,40}: ")
"""A key that a line begins with, aligned by its colon."""
_PARAGRAPH = late_pattern(r"(?:\A|\n[^\S\n]*\n)[^\s][^\n]*\n[^\S\n]*[^\s]")
_BANNER = late_pattern(
    r"(?:([=*#~═━])\1{2,}+|==>|-\[)[^\w\n]{0,99}+\w|\w[^\n]{0,200} ([=*#~═━])\2{2,}+\s*$"
)
"""Such as `*** 2. row ***`, `-[ RECORD 2 ]---`, `==> b.log <==`, `TASK [copy] ***`."""
_COLUMNS = late_pattern(r"[A-Z%#][A-Z%#()/_-]++(?:[ \t]++[A-Z%#()/_+-]++){2,}+\s*$")
"""Names of columns, such as `PORT  STATE  SERVICE`."""
_GAP = late_pattern(r"\S(?: {2,}|\t+)(?=\S)")
_DIGIT, _DIGITS = late_pattern(r"\d"), late_pattern(r"\d+")
_COUNT = late_pattern(r"\b(?<!\.)(?:[0-9a-f]{7,40}|\d+)\b(?!\.\d)")
_OPENING = late_pattern(r"[^\w\n]{0,20}[A-Z][A-Za-z]+\b")
MAX_FAILED = 0.25
"""Share of lines that tell of a failure, above which none of them stands out."""
_BANNER_LEVEL, _HEAD, _COLUMNS_LEVEL, _ROW = -1.0, 0.0, 0.25, 0.5


def read_lines(text: str, lines: Sequence[str]) -> list[DataEntry]:
    """Return the lines as entries; those without a word go with the one before."""
    reader = EntryReader(lines)
    columns = [len(line) - len(line.lstrip(_MARGIN)) for line in lines]
    spoken = [n for n, line in enumerate(lines) if columns[n] < len(line)]
    for pattern in (_NUMBER, _KEY):
        found = {number: each.end() for number, each in _matches(pattern, lines).items()}
        if 2 * len(found) > len(spoken) and len({*found.values()}) == 1:
            columns = [found.get(number, column) for number, column in enumerate(columns)]
    depths = {column: depth for depth, column in enumerate(sorted({columns[n] for n in spoken}))}
    outer = [n for n in spoken if depths[columns[n]] == 0]
    levels = _levels(text, lines, spoken, outer)
    for number, line in enumerate(lines):
        if columns[number] == len(line):
            if reader.entries:
                reader.entries[-1].end = reader.next = number + 1
            continue
        depth = levels.get(number, float(min(depths[columns[number]], MAX_DEPTH)))
        stays = not reader.entries and not _has_alike(lines, number, outer)
        kind = RECORD if levels.get(number, _ROW) < _COLUMNS_LEVEL else ""
        reader.add(number, depth, kind=HEADER if stays else kind)
    _judge(lines, reader.entries)
    return reader.finish()


def _judge(lines: Sequence[str], entries: Sequence[DataEntry]) -> None:
    """Mark what failed among the lines, unless it is their subject; and heads that say something.

    `commit 1a2b3c4` or `*** 2. row ***` says nothing without what is below it.
    """
    failed = [entry for entry in entries if tells_failure(lines[entry.code])]
    if len(failed) <= MAX_FAILED * len(entries):
        for entry in failed:
            entry.kind = entry.kind or FAILURE
    heads = [entry for entry in entries if entry.kind == RECORD]
    says_something = len({_COUNT.sub("0", lines[entry.code]) for entry in heads}) > 1
    for number, entry in enumerate(heads):
        entry.kind = "" if says_something else RECORD
        entry.place = number


def _matches(pattern: re.Pattern[str], lines: Sequence[str]) -> dict[int, re.Match[str]]:
    return {number: found for number, found in enumerate(map(pattern.match, lines)) if found}


def _levels(
    text: str, lines: Sequence[str], spoken: Sequence[int], outer: Sequence[int]
) -> dict[int, float]:
    """Return the level of each line that is not indented, where some are heads of the others."""
    banners = set(_matches(_BANNER, lines)).intersection(outer)
    if len(banners) < MIN_BLOCKS:
        banners = set()
    # An empty line is above these, with rules such as `-----` between.
    first = {n for before, n in pairwise(spoken) if any(map(str.isspace, lines[before + 1 : n]))}
    heads = _heads(text, lines, outer, first.intersection(outer)) - banners
    levels = dict.fromkeys(outer, _ROW)
    levels |= dict.fromkeys(heads, _HEAD) | dict.fromkeys(banners, _BANNER_LEVEL)
    for before, number, after in zip(outer, outer[1:], outer[2:], strict=False):
        line = lines[number]
        is_first = levels[before] < _COLUMNS_LEVEL or before == outer[0]
        may_name = is_first and len(_GAP.findall(line)) > 1 and not _DIGIT.search(line)
        names = _COLUMNS.match(line) or (may_name and _DIGIT.search(lines[after]))
        if names and levels[number] == _ROW:
            levels[number] = _COLUMNS_LEVEL
    return levels if len({*levels.values()}) > 1 else {}


def _heads(text: str, lines: Sequence[str], outer: Sequence[int], first: set[int]) -> set[int]:
    """Return the lines that begin a paragraph, or begin with the word that others of these do.

    The first host of a scan has no empty line above it. Rows begin alike too, but one after
    another.
    """
    has_heads = len(_PARAGRAPH.findall(text)) >= MIN_BLOCKS
    first = first.union(outer[:1])
    openings = {n: found[0] for n, found in _matches(_OPENING, lines).items()}
    alike = Counter(openings[n] for n in outer if n in openings)
    wanted = {openings[n] for n in first if n in openings and alike[openings[n]] > 1}
    for one, other in pairwise(outer):
        if openings.get(one) == openings.get(other):
            wanted.discard(openings.get(one, ""))
    heads = {n for n in outer if openings.get(n) in wanted}
    return heads | first if has_heads else heads


def _has_alike(lines: Sequence[str], first: int, outer: Sequence[int]) -> bool:
    """Tell whether others begin as the first line does: a record, no names of columns."""
    words = (_DIGITS.sub("0", lines[n].strip(_MARGIN).partition(" ")[0]) for n in (first, *outer))
    wanted = next(words)
    return sum(map(wanted.__eq__, words)) > (first in outer)
