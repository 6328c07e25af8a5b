"""One syntax: where a value stands, its escape there, and how contents stay whole.

A syntax is one module with one subclass of `Syntax` and one instance, listed in `syntaxes.py`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from ..text.escape import Escape

# A line of a template is compared with lines of content, so values in it are wildcards.
PRINTED_VALUE = object()
"""A printed value, in a line of a template."""
UNKNOWN_TEXT = object()
"""Text of one of several branches, or of another template."""
PRINTED_TITLE = object()
"""A printed `section.title`. A line of it alone is known as soon as the sections are."""
LineParts = tuple[object, ...]
"""A line of a template so far: its own texts, `PRINTED_VALUE`s and `PRINTED_TITLE`s."""
IN_CODE = "a value cannot stand between backticks; write {{ value | code }} without them"
IN_QUOTES = 'a value amid other text goes into double quotes with it: "… {{ value }} …"'
BRANCHES = "the branches of an if or a loop must both end inside {}, or both outside"
TAGGED = "tagged"
"""The framing that prints contents as they are, between delimiters."""


Inside = Callable[[int], bool]
"""Position → True where a backslash may be inserted without touching the syntax."""


def around(spans: Sequence[re.Match[str]], place: int) -> re.Match[str] | None:
    """Return the span around a place; `spans` are in order."""
    index = bisect_right(spans, place - 1, key=re.Match.start) - 1
    return spans[index] if index >= 0 and place < spans[index].end() else None


class PlacementError(ValueError):
    """A value that no escape could keep in its place, or text that would swallow a value."""


class Syntax:
    """Text without any syntax, and the base of the others.

    `feed` follows the template's own text from mode to mode. A mode is a word for what is open
    there, such as `tag` or `string`; `""` is the ordinary one.
    """

    name: ClassVar[str] = ""
    """The word for it, also that of the shipped format."""
    is_taggable: ClassVar[bool] = False
    """True where contents may stand between tags with a nonce in place of its own framing."""
    places: ClassVar[Mapping[str, Escape]] = {}
    """Place of a value → its escape."""
    fuel_per_char: ClassVar[int] = 5
    """Fuel for one character of an escape; a copy is 1. Measured on the worst texts known."""
    is_parsed: ClassVar[bool] = True
    """True where a parser reads the whole page, so the caller's own words are escaped, too."""
    has_fences: ClassVar[bool] = False
    """True where a content stands in a fence, and no other place takes more than a label."""
    marks_lines: ClassVar[bool] = False
    """True where lines of contents that look like the template's own are marked."""
    quotes_values: ClassVar[bool] = False
    """True where every value is printed as JSON has it."""
    sees_each_value: ClassVar[bool] = False
    """True where two values in a row are two, not one wildcard."""
    is_trimmable: ClassVar[bool] = True
    """True where white space at the end of the page belongs to no content."""
    keeps_returns: ClassVar[bool] = True
    """True where a lone carriage return reads back as one, not as a line end."""
    uncarried: ClassVar[tuple[re.Pattern[str], str] | None] = None
    """Characters that it cannot carry, and the words about them."""
    backslashes: ClassVar[int] = 1
    """Backslashes that read back as one where `inside` allows one."""

    # --- places of values -------------------------------------------------------------------------

    def start(self, known: bool) -> str:
        """Return the mode at the beginning; not `known` in a block, which stands elsewhere."""
        return ""

    def feed(self, mode: str, line: LineParts, text: str) -> str:
        """Return the mode after `text`, which continues `line`; raises `PlacementError`."""
        return mode

    def place(self, mode: str, line: LineParts) -> str:
        """Return the place of a value after `line`; raises `PlacementError`."""
        return "inline" if static_text(line).strip() or has_values(line) else "line"

    def join(self, a: str, b: str) -> str:
        """Return the mode where two branches of different modes meet; raises `PlacementError`."""
        return a

    def end(self, mode: str) -> None:
        """Raise `PlacementError` if a template, block or macro must not end in this mode."""

    # --- contents and pages -----------------------------------------------------------------------

    def can_frame(self, content: str) -> bool:
        """Return False for a content that only a prefix of each line would hold."""
        return True

    def takes_tag(self, language: str) -> bool:
        """Return False for a language that is left out where the content stands."""
        return True

    def without_blanks(self, parts: Sequence[str]) -> list[str]:
        """Return the parts, as many, without blanks of the templates that mean nothing."""
        return [*parts]

    def inside(self, text: str) -> Inside:
        """Return the test of a position in a finished text: may a backslash be inserted there?"""
        return lambda place: True

    def printed_at_least(self, text: str, length: int) -> str | None:
        """Return text that costs no more tokens than the first `length` characters of a content.

        `None`: only the words of the content stay, and count.
        """
        return text

    def problem(self, text: str, ending: str) -> str | None:
        """Return why a parser refuses a page of templates of this `ending`, if it does."""
        return None


VERBATIM = Syntax()
"""Content between delimiters: it is printed as it is, so no template is of this syntax."""


def static_text(line: LineParts) -> str:
    """Return the template's own text in a line."""
    return "".join(part for part in line if isinstance(part, str))


def has_values(line: LineParts) -> bool:
    """Tell whether a line holds a value."""
    return any(not isinstance(part, str) for part in line)


def ends_with_value(line: LineParts) -> bool:
    """Tell whether a line ends with a value."""
    return bool(line) and not isinstance(line[-1], str)


def ends_with_backslash(text: str) -> bool:
    """Tell whether a text ends with an odd number of backslashes, so the last one escapes."""
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


def with_marks(line: LineParts) -> str:
    """Return a line with NUL in place of each value, which no template holds."""
    return "".join(part if isinstance(part, str) else "\0" for part in line)
