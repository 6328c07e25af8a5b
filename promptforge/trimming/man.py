"""Shorter forms of a man page: name and synopsis stay, boilerplate goes first, then details, then what is documented.

A page is read as it is set in columns: sections have headings that are not indented, subsections headings indented by
less than the text, and a paragraph stands under the nearest one before it that is indented less (its option, say).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from .left_out import lines_of, say, top
from .pieces import ALWAYS, Piece, Pieces

LONG_LINES = 40
"""Lines of the name or the synopsis that always stay; of a longer one the rest may go."""
CHUNK = 10
"""Lines of a piece: a longer paragraph (a table, a listing) may lose lines from its end."""
SUBSECTION = 4
"""A heading of a subsection is indented by at most so many columns; text is indented by more."""

_FIRST_TO_GO = re.compile(
    r"SEE ALSO|AUTHORS?|MAINTAINERS?|(?:MAIN )?CONTRIBUTORS|CREDITS|THANKS|ACKNOWLEDGE?MENTS|COPYRIGHT.*|COPYING"
    r"|LICEN[SC](?:E|ING)|HISTORY|COLOPHON|AVAILABILITY|DISTRIBUTION|STANDARDS|CONFORMING TO|VERSIONS?|REPORTING BUGS"
    r"|BUG REPORTS|CONTACT|RESOURCES|REFERENCES|DOCUMENTATION|WWW|PROJECT|(?:FULL )?HOMEPAGE|GIT"
)
_NEXT_TO_GO = re.compile(
    r"NOTES?|CAVEATS|BUGS|FILES|ENVIRONMENT.*|DIAGNOSTICS|COMPATIBILITY|SECURITY.*|ATTRIBUTES|WARNINGS?|LIMITATIONS|KNOWN.*"
)
_EXAMPLES = re.compile(r"(?:.* )?EXAMPLES?(?: .*)?|QUICK ?START|TUTORIAL|USAGE")
_STATUS = re.compile(r"EXIT (?:STATUS|CODES?|VALUES?)|RETURN (?:VALUES?|CODES?)|ERRORS")
_OPTIONS = re.compile(
    r"(?:.* )?(?:OPTIONS|SWITCHES|FLAGS|COMMANDS|PARAMETERS|ARGUMENTS|DIRECTIVES|KEYWORDS)(?: .*)?"
)
# `TAR(1)      GNU TAR Manual      TAR(1)`: the line at the head or the foot of a page.
_RUNNING = re.compile(r"\S.*\S\s{3,}\S")
_TAG = re.compile(r"\s*(?:[-+]|\[[-+])\S")
_TAG_AND_TEXT = re.compile(r"\s*[-+\[]\S*(?: \S+)*\s{2,}\S")

_KEEPS = {
    "first": 10,
    "next": 30,
    "other": 50,
    "description": 55,
    "status": 60,
    "options": 70,
    "examples": 80,
}
_DETAIL = 15
"""By how much a paragraph under another stays less long than one under a heading."""


def divide(text: str, *, marker: str, language: str | None = None) -> Pieces | None:
    """Return a man page, as `man` sets it, in pieces: paragraphs, each option one; `None` if it does not look like one.

    A gap is a line `[… 12 lines left out]`, indented as what was there; at the head stands `marker` and how much is
    gone. The name and the synopsis (their first `LONG_LINES` lines) always stay.
    """
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    indents = [_indent(line) for line in lines]
    full = [indent for indent in indents if indent is not None]
    headings = sum(not indent for indent in full)
    if headings < 2 or headings * 2 > len(full):
        return None
    base = min((indent for indent in full if indent > SUBSECTION), default=SUBSECTION + 1)
    parts = _Page(lines, indents, base).read()

    def gap(run: Sequence[Piece]) -> str:
        indent = max(base, _indent(run[0].text.split("\n", 1)[0]) or 0)
        end = re.search(r"\n*\Z", run[-1].text)
        mark = " " * indent + f"[… {say(lines_of(run))}]"
        return mark + (end[0][:2] if end and run[-1] is not parts[-1] else "")

    def head(gone: int, total: int) -> str:
        return f"{top(marker, gone, total)}\n\n" if marker else ""

    return Pieces(parts, gap, head)


def _indent(line: str) -> int | None:
    """Return by how many columns a line is indented, `None` if it is blank."""
    bare = line.lstrip()
    return len(line[: len(line) - len(bare)].expandtabs()) if bare else None


class _Page:
    """The pieces of one page, as they are found from top to bottom."""

    def __init__(self, lines: Sequence[str], indents: Sequence[int | None], base: int) -> None:
        self._lines = lines
        self._indents = indents
        self._base = base
        self._parts: list[Piece] = []
        self._over: list[tuple[int, int]] = []
        """Indent and piece of what this place stands under."""
        self._kind = "first"
        self._left = 0
        """Lines of this section that always stay."""
        self._opening = False
        """Whether the first paragraph of the description is still to come."""

    def read(self) -> list[Piece]:
        """Return the pieces."""
        sections = 0
        for start, end in self._stretches():
            text = "".join(self._lines[start:end])
            indent = self._indents[start] or 0
            if indent > SUBSECTION or self._lines[start].isspace():
                self._paragraph(self._lines[start:end], indent)
            elif indent:
                self._heading(text, indent)
            elif _RUNNING.match(text):
                self._parts.append(Piece(text, 5))
                self._over, self._kind = [], "first"
            else:
                sections += 1
                self._section(text.strip(), sections)
                self._heading(text, 0)
        return self._parts

    def _stretches(self) -> Iterator[tuple[int, int]]:
        """Yield first line and end of each heading and paragraph, blank lines after it included."""
        start, deeper = 0, False
        for number in range(1, len(self._lines)):
            indent, before = self._indents[number], self._indents[number - 1]
            if indent is None:
                continue
            first = self._indents[start]
            parted = before is None or first is None or min(indent, first) <= SUBSECTION
            if not parted and indent == first:  # the tag of the next entry, no blank line before it
                tagged = _TAG.match(self._lines[number]) and _TAG_AND_TEXT.match(
                    self._lines[number - 1]
                )
                parted = deeper or bool(tagged)
            if parted:
                yield start, number
                start, deeper = number, False
            elif first is not None and indent > first:
                deeper = True
        yield start, len(self._lines)

    def _section(self, name: str, number: int) -> None:
        """Note what a section is, by its name: where pages are not English, by its place."""
        upper = name.upper()
        self._opening = upper == "DESCRIPTION"
        self._left = 0
        second = (
            number == 2
            and not self._opening
            and not any(part.kind == "name" for part in self._parts)
        )
        if number == 1 or second or upper in ("NAME", "SYNOPSIS"):
            self._kind, self._left = "always", LONG_LINES
            return
        kinds = {
            "first": _FIRST_TO_GO,
            "next": _NEXT_TO_GO,
            "examples": _EXAMPLES,
            "status": _STATUS,
            "options": _OPTIONS,
        }
        found = (kind for kind, pattern in kinds.items() if pattern.fullmatch(upper))
        self._kind = "description" if self._opening else next(found, "other")

    def _heading(self, text: str, indent: int) -> None:
        under = self._above(indent)
        kind = "name" if text.strip().upper() == "NAME" else ""
        keep = ALWAYS if self._kind == "always" and self._left > 0 and not indent else 0
        self._parts.append(Piece(text, keep, under, joint=True, kind=kind))
        self._over.append((indent, len(self._parts) - 1))

    def _above(self, indent: int) -> int:
        while self._over and self._over[-1][0] >= indent:
            self._over.pop()
        return self._over[-1][1] if self._over else -1

    def _paragraph(self, lines: Sequence[str], indent: int) -> None:
        under = self._above(indent)
        detail = under >= 0 and not self._parts[under].joint
        if self._kind == "always":
            keep = 95.0
        elif self._opening:
            keep, self._opening = 90.0, False
        else:
            low = self._kind in ("first", "next")
            option = not low and not detail and self._kind != "examples" and _TAG.match(lines[0])
            keep = _KEEPS["options" if option else self._kind]
            if detail and not low and self._kind != "examples":
                keep = min(keep - _DETAIL, 45)
        index = len(self._parts)
        cuts = [*range(0, max(1, len(lines) - CHUNK), CHUNK), len(lines)]
        for start, end in pairwise(cuts):
            always = self._kind == "always" and end - start <= self._left
            self._left -= end - start
            self._parts.append(
                Piece(
                    "".join(lines[start:end]), ALWAYS if always else keep, index if start else under
                )
            )
        self._over.append((indent, index))
