"""Shorter forms of the text of an ATT&CK technique: citations and addresses go first, then sentences from the end."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence

from .left_out import top
from .pieces import ALWAYS, Piece, Pieces
from .sentences import sentences

# `(Citation: Name (2020))` with the blank before it, and the `(https://…)` of a link, whose text in brackets stays.
_EXTRA = re.compile(
    r"[ \t]?\(Citation:(?:[^()]++|\([^()]*+\))*+\)|(?<=\])\((?:https?://|/)(?:[^()\s]++|\([^()\s]*+\))*+\)"
)
# `Detection`, `## Mitigations`, `**Related Tools:** Mimikatz`: a heading, or a label with text after it.
_LABEL = re.compile(
    r"[ \t]*(?:#{1,6}[ \t]+|[-*][ \t]+)?(?:\*\*)?(?P<name>[A-Za-z]+(?:[ -][A-Za-z]+){0,2}?)"
    r"(?P<colon>:\*\*|\*\*:|\*\*|:)?(?P<rest>[ \t\r\n]*\Z|[ \t]+\S)"
)
_DETECTION = {"detection", "detections", "detection strategies"}
_NAMES = {
    *(
        "mitigation",
        "mitigations",
        "tool",
        "tools",
        "related tools",
        "software",
        "malware",
        "groups",
        "platforms",
    ),
    *(
        "tactic",
        "tactics",
        "technique",
        "technique id",
        "id",
        "name",
        "sub-techniques",
        "subtechniques",
    ),
}
# `- M1027 Password Policies: …`, `* Mimikatz (S0002) - …`: what a thing is called, before what is said of it.
_NAMED = re.compile(
    r"[ \t]*(?:[-*+•][ \t]+|\d{1,3}[.)][ \t]+)?[^\n]{1,80}?(?=:[ \t]|[ \t][-–—][ \t]|[ \t]*\n|[ \t]*\Z)"
)
_LINE = re.compile(r"[^\n]*\n\s*|[^\n]+")

LONG = 1000
"""Characters of a first sentence above which it may go."""
_EXTRAS, _DETAIL, _SENTENCE, _DETECT, _NAME = range(5)
"""What goes first, and what after it."""


def divide(text: str, *, marker: str, language: str | None = None) -> Pieces | None:
    """Return the text of a technique in pieces; `None` if it is one sentence without citations.

    A citation, an address, or what is said of a tool or mitigation goes without a mark; where a sentence is gone
    stands `[…]`. At the head stands `marker` and how many characters are gone. The first sentence always stays; ids
    and names of tools and mitigations go last.
    """
    parts = _Technique().read(text)
    if len(parts) < 2:
        return None

    def head(gone: int, total: int) -> str:
        return f"{top(marker, gone, total, 'character')}\n\n" if marker else ""

    return Pieces(parts, _gap, head, size=len)


def _gap(run: Sequence[Piece]) -> str:
    if all(part.kind == "extra" for part in run):
        return ""
    last = run[-1].text
    return "[…]" + last[len(last.rstrip()) :]


class _Technique:
    """The pieces of one text, as they are found from top to bottom."""

    def __init__(self) -> None:
        self._parts: list[Piece] = []
        self._keep: int = _SENTENCE
        self._heading = -1
        self._first = True
        """Whether the first sentence of the description is still to come."""

    def read(self, text: str) -> list[Piece]:
        """Return the pieces."""
        for found in _LINE.finditer(text):
            line = found[0]
            label = _LABEL.match(line)
            name = label["name"].lower() if label else ""
            alone = label is not None and not label["rest"].strip()
            if name in _DETECTION or name in _NAMES or name == "description":
                if label and (alone or label["colon"]):
                    self._keep = (
                        _DETECT if name in _DETECTION else _NAME if name in _NAMES else _SENTENCE
                    )
                    self._heading = len(self._parts) if alone else -1
                    if alone:
                        self._parts.append(Piece(line, self._keep, joint=True))
                    else:
                        self._prose(line, one=self._keep == _NAME)
                    continue
            elif line.startswith("#"):
                self._keep, self._heading = _SENTENCE, -1
            named = _NAMED.match(line) if self._keep == _NAME else None
            if named and self._heading >= 0:
                self._entry(line, named.end())
            else:
                self._prose(line)
        return self._parts

    def _entry(self, line: str, end: int) -> None:
        """Add an entry of a list of tools or mitigations: its name, what is said of it, the line end."""
        index, stop = len(self._parts), len(line.rstrip())
        self._parts.append(Piece(line[:end] if end < stop else line, self._keep, self._heading))
        if end < stop:
            self._parts.append(Piece(line[end:stop], _DETAIL, index, kind="extra"))
            if stop < len(line):
                self._parts.append(Piece(line[stop:], shuts=index))

    def _prose(self, line: str, *, one: bool = False) -> None:
        """Add a paragraph by sentences, found as if the citations were not there: `end.(Citation: X) Next`."""
        extras: deque[tuple[int, str]] = deque()
        plain, done = "", 0
        for found in _EXTRA.finditer(line):
            plain += line[done : found.start()]
            extras.append((len(plain), found[0]))
            done = found.end()
        plain += line[done:]
        start, first = 0, -1
        for sentence in [plain] if one or not plain else sentences(plain):
            end, index = start + len(sentence), len(self._parts)
            under = (
                self._heading if self._heading >= 0 else first if self._keep != _SENTENCE else -1
            )
            keep: float = self._keep
            if self._first and self._keep == _SENTENCE and sentence.strip():
                keep, self._first = ALWAYS if len(sentence) <= LONG else 100, False
            while extras and (extras[0][0] < end or end == len(plain)):
                place, extra = extras.popleft()
                self._fragment(plain[start:place], keep, under, index)
                if len(self._parts) > index:
                    self._parts.append(Piece(extra, _EXTRAS, index, kind="extra"))
                else:  # before anything it could stand under
                    self._parts.append(Piece(extra, _EXTRAS, kind="extra"))
                    index += 1
                start = place
            self._fragment(plain[start:end], keep, under, index)
            start = end
            first = index if first < 0 else first

    def _fragment(self, text: str, keep: float, under: int, index: int) -> None:
        """Add a part of the sentence that begins with piece `index`: all its parts stay exactly as long."""
        if text:
            own = len(self._parts) == index
            self._parts.append(Piece(text, keep, under) if own else Piece(text, shuts=index))
