"""Entries of XML: the elements that begin and end on lines of their own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate

from ..text.words import late_pattern
from .entry_reader import HEADER, DataEntry, EntryReader

_TAG = late_pattern(
    r"""<(?:(?P<closes>/?)[\w:.-]++(?:[^<>"'/]|"[^"<]*+"|'[^'<]*+'|/(?!>))*+(?P<alone>/?)>"""
    r"""|(?P<aside>!--(?s:.*?)-->|!\[CDATA\[(?s:.*?)\]\]>|\?(?s:.*?)\?>|!(?!--|\[CDATA\[)[^\[>]*+"""
    r"""(?:\[(?:[^\]"'<]|"[^"]*+"|'[^']*+'|<!--(?s:.*?)-->|<\?(?s:.*?)\?>|<(?!!--|\?))*+\]"""
    r"""[^\[>]*+)*+>)|(?P<broken>))"""
)
"""A tag, a comment or the like; or the sign alone, where it begins none."""
_ENTITY = late_pattern(r"&(?!(?:amp|apos|gt|lt|quot);)[\w:][\w:.-]*+;")
"""A reference to what only the text's own `<!DOCTYPE` tells."""
_TAG_NAME = late_pattern(r"\s*<([\w:.-]++)")


def read_elements(text: str, lines: Sequence[str]) -> list[DataEntry] | None:
    """Return the elements of XML that begin and end on lines of their own; None if some do not."""
    reader = EntryReader(lines)
    around: list[int] = []  # the entries of the elements that are open, the outermost first
    tags = _TAG.finditer(text)
    ends = list(accumulate(map(len, lines)))
    tag = next(tags, None)
    has_entities = bool(_ENTITY.search(text))
    start = number = 0
    while number < len(lines):
        opened = closed = 0
        declares = False
        # What spans lines keeps them together: a comment, a tag with its attributes.
        while tag is not None and tag.start() < ends[number]:
            if tag["broken"] is not None:
                return None
            while tag.end() > ends[number]:
                number += 1
            closed, opened = _count_tag(tag, closed, opened)
            declares = declares or (has_entities and tag[0].startswith("<!DOCTYPE"))
            if not (around or opened or tag["aside"]):
                return None  # all of it is in this line
            tag = next(tags, None)
        number += 1
        if (opened and closed) or closed > 1 or closed > len(around):
            return None
        if lines[start].isspace() and number - start == 1:
            start = number  # it goes with the element before
            continue
        kind = HEADER if declares or (opened and not around) else ""
        column = len(around) - closed + 0.5 * bool(closed)
        entry = reader.add(start, column, _name_of(lines[start]), kind)
        entry.end = reader.next = number
        if closed:
            entry.closes, entry.key = around.pop(), ""
        around += [len(reader.entries) - 1] * opened
        start = number
    return None if around else reader.finish()


def _count_tag(tag: re.Match[str], closed: int, opened: int) -> tuple[int, int]:
    """Return the elements that a line has closed and opened so far, but those within the line."""
    if tag["aside"] or tag["alone"]:
        return closed, opened
    if not tag["closes"]:
        return closed, opened + 1
    return (closed, opened - 1) if opened else (closed + 1, opened)


def _name_of(line: str) -> str:
    found = _TAG_NAME.match(line)
    return found[1] if found else ""
