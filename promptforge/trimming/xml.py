"""Entries of XML: the elements that begin and end on lines of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from ..text.words import late_pattern
from .entry_reader import HEADER, DataEntry, EntryReader

_TAG = late_pattern(r"""<(/?)[\w:.-]++(?:[^<>"'/]|"[^"<]*+"|'[^'<]*+'|/(?!>))*+(/?)>""")
_NO_TAGS = {
    "<!--": late_pattern(r"(?s:.*?)-->"),
    "<![CDATA[": late_pattern(r"(?s:.*?)\]\]>"),
    "<?": late_pattern(r"(?s:.*?)\?>"),
    "<!": late_pattern(
        r"""[^\[>]*+(?:\[(?:[^\]"'<]|"[^"]*+"|'[^']*+'|<!--(?s:.*?)-->|<\?(?s:.*?)\?>|<(?!!--|\?))*+"""
        r"""\][^\[>]*+)*+>"""
    ),
}
"""The beginnings of comments and the like, and all up to the end of each."""
_ENTITY = late_pattern(r"&(?!(?:amp|apos|gt|lt|quot);)[\w:][\w:.-]*+;")
"""A reference to what only the text's own `<!DOCTYPE` tells."""
_KEY = late_pattern(r"\s*<key>[^<]*+</key>\s*\Z")
"""A key of a property list: its value is the next element."""
_TAG_NAME = late_pattern(r"\s*<([\w:.-]++)")


def read_elements(text: str, lines: Sequence[str]) -> list[DataEntry] | None:
    """Return the elements of XML that begin and end on lines of their own; None if some do not."""
    reader = EntryReader(lines)
    around: list[int] = []  # the entries of the elements that are open, the outermost first
    tags = _read_tags(text)
    ends = list(accumulate(map(len, lines)))
    tag = next(tags, None)
    has_entities = bool(_ENTITY.search(text))
    start = number = 0
    while number < len(lines):
        opened = closed = 0
        declares = False
        # What spans lines keeps them together: a comment, a tag with its attributes.
        while tag is not None and tag.start < ends[number]:
            if tag.end is None:
                return None
            while tag.end > ends[number]:
                number += 1
            # An element that the line opens, and closes again, counts as neither.
            if tag.opens < 0 and not opened:
                closed += 1
            else:
                opened += tag.opens
            declares = declares or (has_entities and text.startswith("<!DOCTYPE", tag.start))
            if not (around or opened or text.startswith(("<!", "<?"), tag.start)):
                return None  # all of it is in this line
            tag = next(tags, None)
        number += 1
        if (opened and closed) or closed > 1 or closed > len(around):
            return None
        if number - start == 1 and (lines[start].isspace() or _KEY.match(lines[start])):
            # Blanks go with the element before, a key with the one after.
            start = number
            continue
        kind = HEADER if declares or (opened and not around) else ""
        column = len(around) - closed + 0.5 * bool(closed)
        name = _TAG_NAME.match(lines[start])
        entry = reader.add(start, column, name[1] if name and not closed else "", kind)
        entry.end = reader.next = number
        if closed:
            entry.closes = around.pop()
        around += [len(reader.entries) - 1] * opened
        start = number
    return None if around else reader.finish()


class _Tag(NamedTuple):
    start: int
    end: int | None
    opens: int
    """1 for a tag that opens an element, -1 for one that closes one, else 0."""


def _read_tags(text: str) -> Iterator[_Tag]:
    place = text.find("<")
    while place >= 0:
        end, opens = None, 0
        for begin, stop in _NO_TAGS.items():
            if text.startswith(begin, place):
                found = stop.match(text, place + len(begin))
                end = found.end() if found else None
                break
        else:
            match = _TAG.match(text, place)
            if match:
                end = match.end()
                opens = -1 if match[1] else int(not match[2])
        yield _Tag(place, end, opens)
        place = text.find("<", end) if end is not None else -1
