"""Entries of what a program prints in lines: each under the line that it belongs to.

That is the nearest line above with less indentation, the branches of a tree included, and the first
line of its paragraph: the file above its matches, the host above its ports.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..text.words import late_pattern
from .entry_reader import HEADER, DataEntry, EntryReader

MAX_DEPTH = 3
"""Lines that a line brings with it; a plan of a query has 20 above its innermost step."""
MIN_PARAGRAPHS = 3
"""Paragraphs of several lines, from which the first line of each is the head of the others."""
_MARGIN = " \t\r\n|`+-\\│├└─┬┼╰╭"
_NUMBER = late_pattern(r"[ \t]*+\d++(?=[ \t]+\S|[ \t]*\|)")
"""The number that a line begins with: in a table all end in one column, below its name; numbers
that begin in one column, as in the output of `tree -s` or a list, say nothing by their ends."""
_PARAGRAPH = late_pattern(r"\n[^\S\n]*\n[^\s][^\n]*\n[^\S\n]*[^\s]")


def read_lines(text: str, lines: Sequence[str]) -> list[DataEntry]:
    """Return the lines as entries; those without a word go with the one before."""
    reader = EntryReader(lines)
    columns = [len(line) - len(line.lstrip(_MARGIN)) for line in lines]
    spoken = [n for n, line in enumerate(lines) if columns[n] < len(line)]
    numbers = [_NUMBER.match(line) for line in lines]
    ends = {found.end() for found in numbers if found}
    if 2 * sum(map(bool, numbers)) > len(spoken) and len(ends) == 1:
        columns = [found.end() if found else columns[n] for n, found in enumerate(numbers)]
    depths = {column: depth for depth, column in enumerate(sorted({columns[n] for n in spoken}))}
    has_heads = len(_PARAGRAPH.findall(text)) >= MIN_PARAGRAPHS
    head = True
    for number, line in enumerate(lines):
        if columns[number] == len(line):
            head = head or (has_heads and line.isspace())
            if reader.entries:
                reader.entries[-1].end = reader.next = number + 1
            continue
        depth = float(min(depths[columns[number]], MAX_DEPTH))
        kind = "" if reader.entries else HEADER
        reader.add(number, depth if head or depth or not has_heads else 0.5, kind=kind)
        head = not has_heads
    return reader.finish()
