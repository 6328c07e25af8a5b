"""Control tokens that come about where texts meet on a page: found in the finished text and written apart there.

No value holds a token any more when it comes to a template. Yet two of them side by side may make one, a value and the
template's own words, or a filter. What a template or the caller wrote as a whole is theirs and stays.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence, Set
from itertools import accumulate
from typing import NamedTuple

from .controls import Controls

Inside = Callable[[int], bool]
"""Whether a backslash may be put before a character without touching the syntax."""


class Mended(NamedTuple):
    """The parts of a text in which texts that meet make no token."""

    parts: list[str]
    apart: int = 0
    """How many tokens were written apart."""
    left: int = 0
    """How many had no place where the syntax could bear a backslash."""


class Joints:
    """What keeps the texts of one rendering from making a control token together."""

    def __init__(self, controls: Controls, syntax: str, spare: Set[str]) -> None:
        """`spare` are the tokens that the templates and the caller wrote themselves."""
        self.controls = controls
        self.spare = frozenset(spare)
        self._syntax = syntax
        self._bar = controls.bar * 2 if syntax == "json" else controls.bar

    def mend(self, parts: list[str], settled: Set[int] = frozenset()) -> Mended:
        """Return `parts` of a finished text, mended: those of the very type `str` are a template's own words.

        `settled` are the identities (`id`) of parts that were mended before, so only their ends matter.
        """
        if not self.controls.holds(
            "".join([self._ends(part) if id(part) in settled else part for part in parts])
        ):
            return Mended(parts)
        own = [type(part) is str for part in parts]
        whole = [mine or id(part) in settled for mine, part in zip(own, parts, strict=True)]
        mended, apart = list(parts), 0
        while True:
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
        """Yield where the tokens stand that are neither a template's nor the caller's."""
        for start, end in self.controls.find(text):
            first, last = bisect_right(ends, start), bisect_right(ends, end - 1)
            mine = (
                (whole[first] or text[start:end] in self.spare)
                if first == last
                else all(own[first : last + 1])
            )
            if not mine:
                yield start, end

    def _places(
        self, text: str, ends: Sequence[int], own: Sequence[bool], found: Sequence[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        """Return where to put backslashes, each with the part that it goes into: a part that is not a template's."""
        places: list[tuple[int, int]] = []
        inside = _SYNTAXES[self._syntax](text) if found else None
        for start, end in found:
            if inside is None or (places and start < places[-1][0] < end):
                continue
            for place in range(start + 1, end):
                before, after = bisect_right(ends, place - 1), bisect_right(ends, place)
                part = after if own[before] else before
                if not own[part] and "\\" not in text[place - 1 : place + 1] and inside(place):
                    places.append((place, part))
                    break
        return places


def spread(text: str, parts: Sequence[str]) -> list[str]:
    """Return `parts`, which a mended `text` was made of, with what was put into it."""
    found, at = [], 0
    for number, part in enumerate(parts, 1):
        begin = at
        for char in part:
            while text[at] != char:
                at += 1
            at += 1
        found.append(text[begin : at if number < len(parts) else len(text)])
    return found


# --- where a backslash changes nothing but the words -----------------------------------------------------------------

_TAG = re.compile(
    r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<(?:[^<>\"']|\"[^\"]*\"|'[^']*')*>|&[^&;]*;", re.DOTALL
)
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_ENTITY = re.compile(r"&[^&;]*;")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|.)", re.DOTALL)


def _around(spans: Sequence[re.Match[str]], place: int) -> re.Match[str] | None:
    """Return which of `spans`, in order, a place is within."""
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


_MARKS = frozenset("`~\n")
"""Fences and lines: what a backslash beside it might make another thing of."""

_SYNTAXES: dict[str, Callable[[str], Inside]] = {
    "md": _in_markdown,
    "xml": _in_xml,
    "json": _in_json,
    "txt": lambda text: lambda place: True,
}
