"""Control tokens that arise where texts meet: found in the finished text and broken up there.

Values hold no tokens when a template gets them. Yet two values side by side may form one, a value
and the template's own words, or a filter. A whole token written by a template or the caller stays.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence, Set
from itertools import accumulate
from typing import NamedTuple

from .controls import Controls

Inside = Callable[[int], bool]
"""Position → True where a backslash may be inserted without touching the syntax."""


class Mended(NamedTuple):
    """The parts of a text without tokens across their ends."""

    parts: list[str]
    apart: int = 0
    """Number of tokens that were broken up."""
    left: int = 0
    """Number of tokens without a place for a backslash."""


class Joints:
    """Breaks up control tokens that the texts of one rendering form together."""

    def __init__(self, controls: Controls, syntax: str, spare: Set[str]) -> None:
        """Keep the tokens in `spare`: templates and the caller wrote them."""
        self.controls = controls
        self.spare = frozenset(spare)
        self._syntax = syntax
        self._bar = controls.bar
        if syntax == "json":  # a backslash in a JSON string is written as two
            self._bar *= 2

    def mend(self, parts: list[str], settled: Set[int] = frozenset()) -> Mended:
        """Return the parts of a finished text with the tokens across their ends broken up.

        Parts of exactly the type `str` are a template's own words. `settled` holds the `id`s of
        parts that were mended before: only their ends matter.
        """
        # Most texts hold no token: this search, over the ends of settled parts, is all they cost.
        if not self.controls.holds(
            "".join([self._ends(part) if id(part) in settled else part for part in parts])
        ):
            return Mended(parts)
        own = [type(part) is str for part in parts]
        whole = [mine or id(part) in settled for mine, part in zip(own, parts, strict=True)]
        mended, apart = list(parts), 0
        while True:  # a backslash may complete another token, so until none is left
            text = "".join(mended)
            ends = list(accumulate(map(len, mended)))
            found = list(self._wrong(text, ends, own, whole))
            places = self._places(text, ends, own, found)
            if not places:
                return Mended(mended, apart, len(found))
            apart += len(places)
            for place, part in reversed(places):
                old = mended[part]
                at = place - (ends[part] - len(old))
                mended[part] = type(old)(old[:at] + self._bar + old[at:])

    def _ends(self, part: str) -> str:
        reach = self.controls.longest
        return part if len(part) <= 2 * reach else part[:reach] + part[-reach:]

    def _wrong(
        self, text: str, ends: Sequence[int], own: Sequence[bool], whole: Sequence[bool]
    ) -> Iterator[tuple[int, int]]:
        """Yield start and end of the tokens that neither a template nor the caller wrote."""
        for start, end in self.controls.find(text):
            first, last = bisect_right(ends, start), bisect_right(ends, end - 1)
            if first == last:
                is_theirs = whole[first] or text[start:end] in self.spare
            else:
                is_theirs = all(own[first : last + 1])
            if not is_theirs:
                yield start, end

    def _places(
        self, text: str, ends: Sequence[int], own: Sequence[bool], found: Sequence[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        """Return positions for backslashes with their parts; never parts of a template."""
        places: list[tuple[int, int]] = []
        if not found:
            return places
        inside = _SYNTAXES[self._syntax](text)
        for start, end in found:
            if places and start < places[-1][0] < end:  # the last backslash breaks this one up too
                continue
            for place in range(start + 1, end):
                before, after = bisect_right(ends, place - 1), bisect_right(ends, place)
                part = after if own[before] else before
                # Beside another backslash the two would be read as one escape.
                if not own[part] and "\\" not in text[place - 1 : place + 1] and inside(place):
                    places.append((place, part))
                    break
        return places


def spread(text: str, parts: Sequence[str]) -> list[str]:
    """Return the `parts` of a text with the characters inserted into them: `text` is the result."""
    found, at = [], 0
    for number, part in enumerate(parts, 1):
        begin = at
        for char in part:
            while text[at] != char:
                at += 1
            at += 1
        found.append(text[begin : at if number < len(parts) else len(text)])
    return found


# --- places where a backslash changes nothing but the words ---------------------------------------

_TAG = re.compile(
    r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<(?:[^<>\"']|\"[^\"]*\"|'[^']*')*>|&[^&;]*;", re.DOTALL
)
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_ENTITY = re.compile(r"&[^&;]*;")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|.)", re.DOTALL)


def _around(spans: Sequence[re.Match[str]], place: int) -> re.Match[str] | None:
    """Return the span around a place; `spans` are in order."""
    index = bisect_right(spans, place - 1, key=re.Match.start) - 1
    return spans[index] if index >= 0 and place < spans[index].end() else None


def _in_xml(text: str) -> Inside:
    tags = list(_TAG.finditer(text))

    def inside(place: int) -> bool:
        tag = _around(tags, place)
        if tag is None:
            return True
        if tag[0][0] == "&" or tag[0][1] in "!?":
            return False
        value = _around(list(_QUOTED.finditer(text, tag.start(), tag.end())), place)
        return (
            value is not None
            and _around(list(_ENTITY.finditer(text, value.start(), value.end())), place) is None
        )

    return inside


def _in_json(text: str) -> Inside:
    strings = list(_STRING.finditer(text))

    def inside(place: int) -> bool:
        string = _around(strings, place)
        return (
            string is not None
            and _around(list(_ESCAPE.finditer(text, *string.span())), place) is None
        )

    return inside


def _in_markdown(text: str) -> Inside:
    return lambda place: not _MARKS.intersection(text[place - 1 : place + 1])


_MARKS = frozenset("`~\n")  # a backslash beside them would change a fence or a line

_SYNTAXES: dict[str, Callable[[str], Inside]] = {
    "md": _in_markdown,
    "xml": _in_xml,
    "json": _in_json,
    "txt": lambda text: lambda place: True,
}
