"""Trimming of ATT&CK techniques: citations and addresses go first, then sentences from the end."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..text.format import Marks
from .blocks import sentence_mark
from .pieces import ALWAYS, Piece, Pieces, UnderQuery, paragraph, split_sentences

# `(Citation: Name (2020))` with the blank before it, and the `(https://…)` of a link; the text of
# the link, in brackets, stays.
_EXTRA = re.compile(
    r"[ \t]?\(Citation:(?:[^()]++|\([^()]*+\)){0,99}+\)"
    r"|(?<=\])\((?:https?://|/)(?:[^()\s]++|\([^()\s]*+\)){0,99}+\)"
)

# `Detection`, `## Mitigations`, `**Related Tools:** Mimikatz`: a heading, or a label before text.
_LABEL = re.compile(
    r"[ \t]*(?:#{1,6}[ \t]+|[-*][ \t]+)?(?:\*\*)?(?P<name>[A-Za-z]+(?:[ -][A-Za-z]+){0,2}?)"
    r"(?P<colon>:\*\*|\*\*:|\*\*|:)?(?P<rest>[ \t\r\n]*\Z|[ \t]+\S)"
)

# `- M1027 Password Policies: …`, `* Mimikatz (S0002) - …`: a name, before the text about it.
_NAMED = re.compile(
    r"[ \t]*(?:[-*+•][ \t]+|\d{1,3}[.)][ \t]+)?"
    r"[^\n]{1,80}?(?=:[ \t]|[ \t][-–—][ \t]|[ \t]*\n|[ \t]*\Z)"
)
_LINE = re.compile(r"[^\n]*\n\s*|[^\n]+")
MAX_FIRST_SENTENCE_CHARS = 1000
"""A first sentence of more characters may go."""

# The order of leaving.
_EXTRAS, _DETAIL, _SENTENCE, _DETECT, _NAME = range(5)
_KEEP_BY_LABEL = {
    "description": _SENTENCE,
    **dict.fromkeys(("detection", "detections", "detection strategies"), _DETECT),
    **dict.fromkeys(("mitigation", "mitigations", "tool", "tools", "related tools"), _NAME),
    **dict.fromkeys(("software", "malware", "groups", "platforms", "tactic", "tactics"), _NAME),
    **dict.fromkeys(("technique", "technique id", "id", "name"), _NAME),
    **dict.fromkeys(("sub-techniques", "subtechniques"), _NAME),
}


def divide(text: str, *, marks: Marks, language: str | None = None) -> Pieces | None:
    """Return the text of a technique in pieces; None if it is one sentence without citations.

    A citation, an address, or the text about a tool or mitigation goes without a mark; `[…]`
    stands for sentences. The first sentence always stays; ids and names of tools and mitigations go
    last.
    """
    parts = _Technique().read(text)
    if len(parts) < 2:
        return None
    return Pieces(parts, _gap, marks, paragraph, under_query=UnderQuery(_DETECT))


def _gap(run: Sequence[Piece], marks: Marks) -> str:
    if all(part.kind == "extra" for part in run):
        return ""
    return sentence_mark(run, marks)


class _Technique:
    def __init__(self) -> None:
        self._parts: list[Piece] = []
        self._keep: int = _SENTENCE
        self._heading = -1
        self._first = True
        """True until the first sentence of the description."""

    def read(self, text: str) -> list[Piece]:
        """Return the pieces."""
        for found in _LINE.finditer(text):
            self._line(found[0])
        return self._parts

    def _line(self, line: str) -> None:
        label = _LABEL.match(line)
        keep = _KEEP_BY_LABEL.get(label["name"].lower()) if label else None
        if label and keep is not None:
            alone = not label["rest"].strip()
            if alone or label["colon"]:
                self._keep, self._heading = keep, -1
                if alone:
                    self._heading = len(self._parts)
                    self._parts.append(Piece(line, keep, skeleton=True))
                else:
                    # `Tools: a. b` is one piece: its names belong together.
                    self._prose(line, whole=keep == _NAME)
                return
        elif line.startswith("#"):
            self._keep, self._heading = _SENTENCE, -1
        named = None
        if self._keep == _NAME and self._heading >= 0:
            named = _NAMED.match(line)
        if named:
            self._entry(line, named.end())
        else:
            self._prose(line)

    def _entry(self, line: str, end: int) -> None:
        index, stop = len(self._parts), len(line.rstrip())
        if end >= stop:
            self._parts.append(Piece(line, self._keep, self._heading))
            return
        self._parts.append(Piece(line[:end], self._keep, self._heading))
        self._parts.append(Piece(line[end:stop], _DETAIL, index, kind="extra"))
        if stop < len(line):
            self._parts.append(Piece(line[stop:], closes=index))

    def _prose(self, line: str, *, whole: bool = False) -> None:
        # A citation is one more sign behind the full stop before it: `end.(Citation: X) Next`.
        masked = _EXTRA.sub(lambda found: "»" * len(found[0]), line)
        end, first = 0, -1
        for sentence in [masked] if whole else split_sentences(masked):
            start, end = end, end + len(sentence)
            index, under = len(self._parts), self._heading
            if under < 0 and self._keep != _SENTENCE:
                under = first
            if first < 0:
                first = index
            keep: float = self._keep
            if self._first and keep == _SENTENCE and sentence.strip():
                keep = ALWAYS if len(sentence) <= MAX_FIRST_SENTENCE_CHARS else 100
                self._first = False
            place, head = start, -1
            for found in _EXTRA.finditer(line, start, end):
                head = self._fragment(line[place : found.start()], keep, under, head)
                self._parts.append(Piece(found[0], _EXTRAS, head, kind="extra"))
                place = found.end()
            self._fragment(line[place:end], keep, under, head)

    def _fragment(self, text: str, keep: float, under: int, head: int) -> int:
        """Add a part of a sentence, which stays as long as its first; return the first."""
        if text and head < 0:
            self._parts.append(Piece(text, keep, under))
            return len(self._parts) - 1
        if text:
            self._parts.append(Piece(text, closes=head))
        return head
