"""Documents of blocks under headings: deep and late sections go first, headings stay longest.

The modules of Markdown, reStructuredText, LaTeX, AsciiDoc and HTML find the blocks of their syntax
and add them here. A long paragraph loses sentences, a long fence or literal block lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from ..text.format import Marks
from .pieces import (
    ALWAYS,
    Piece,
    Pieces,
    TrimmedText,
    TrimmedVariants,
    UnderQuery,
    line_end,
    paragraph,
    split_sentences,
)

MAX_CHARS_KEPT = 400
"""The title, the first sentence under its headings, and the link definitions always stay if not
longer than this."""
MAX_LINES_WHOLE = 8
"""A fence or a table of more lines may lose some."""
LINES_OF_HEADER = 3
"""Lines of a fence or a table that stay as long as it does, its first line or header with them."""
MAX_PARAGRAPH_CHARS = 300
"""A longer paragraph may lose sentences."""
WHITE = " \t\r\n"
MAX_NESTING = 20
"""Blocks within blocks; what is deeper is one piece."""
_NESTED = 99
"""The level of what a block holds: no heading ends it."""


def sentence_mark(run: Sequence[Piece], marks: Marks) -> str:
    """Return the mark in place of sentences of a paragraph: `[…]`."""
    last = run[-1].text
    return f"[{marks.gap}]" + last[len(last.rstrip()) :]


def _mark(run: Sequence[Piece], marks: Marks) -> str:
    kind, last = run[0].kind, run[-1].text
    if kind == "sentence":
        return sentence_mark(run, marks)
    mark = f"[{marks.gap}]"
    end = "\n" * last.endswith(("\n", "\r"))
    if kind.endswith("line"):
        return kind.removesuffix("line") + mark + end
    if kind == "row":
        return f"| {mark.replace('|', '/')} |{end}"  # a bar of the author's would add a column
    # A paragraph of its own: `kind` has the line ends that part it from the text before, and its
    # indentation.
    return kind + mark + end * 2


def make_document(
    parts: Sequence[Piece],
    marks: Marks,
    above: Callable[[str], str] = paragraph,
    mark: Callable[[Sequence[Piece], Marks], str] = _mark,
    read: Callable[[Piece], str] = lambda piece: piece.text,
) -> Pieces | None:
    """Return the blocks of a document as its pieces; None if it is one block.

    A gap is a `mark`: by default a paragraph `[…]`, in a fence or a table such a line or row.
    `above` makes the line above all. `read` returns the text of a block that counts under a query.
    """
    if len(parts) < 2:
        return None

    def gap(run: Sequence[Piece], marks: Marks) -> str:
        made = mark(run, marks)
        return made.rstrip("\n") if run[-1] is parts[-1] else made

    under_query = UnderQuery(loose=True, read=read)
    return _DocumentPieces(parts, gap, marks, above, under_query=under_query)


_WITHIN_BLOCKS = ("sentence", "line", "row")
"""Ends of the kinds of pieces that are parts of a block."""


class _DocumentPieces(Pieces):
    """The pieces of a document. In its outlines, what stands under the first headings has room."""

    def outlines(self) -> TrimmedVariants:
        """Return the document as it is shortened, with marks only within paragraphs and tables."""
        order = self.order({})

        def make(number: int) -> TrimmedText:
            return TrimmedText(self.outline_text(order[number + 1 :]))

        return TrimmedVariants(len(order), make)

    def outline_text(self, kept: Collection[int]) -> str:
        """Return the text of these pieces; where a run is gone, a blank line parts the others."""
        staying = sorted(self.closed(kept))
        out = [self._beginning(staying)]
        following = 0
        for index in [*staying, len(self.parts)]:
            run = self.parts[following:index]
            if run:
                if run[0].kind.endswith(_WITHIN_BLOCKS):
                    out.append(self._gap(run, self._marks))
                elif not out[-1].endswith(("\n\n", "\r\r", "\r\n\r\n")):
                    out.append("\n" * (index < len(self.parts)))
            if index < len(self.parts):
                out.append(self._numbered(self.parts[index].text, index, out))
            following = index + 1
        return "".join(out).rstrip("\r\n") + line_end(self.parts[-1:])


Place = tuple[float, int, str]
"""The `keep`, the parent and the kind of the first piece of a block."""


class BlockReader:
    """The pieces of one document, added from top to bottom.

    The kind of a piece is `sentence`, `row`, `line` (after its indentation), or for others what
    stands before a mark in its place.
    """

    risky: re.Pattern[str]
    """Matches in a paragraph that stays whole, for a shorter one could be another block."""

    def __init__(self) -> None:
        self._parts: list[Piece] = []
        self._headings: list[tuple[int, int]] = []
        """Levels and pieces of the headings over this place."""
        self._has_title = False
        self._title = -1
        self._intro = -1
        """The paragraph before, if it ends in a colon: the next block belongs to it."""
        self._first = True
        """True until the document's first paragraph."""
        self._fresh = False
        """True at the first block of a section."""

    def _add(
        self, text: str, keep: float, under: int = -1, kind: str = "", closes: int = -1
    ) -> int:
        if text:
            self._parts.append(Piece(text, keep, under, kind=kind, closes=closes))
        return len(self._parts) - 1

    def _add_lines(self, lines: Sequence[str], place: Place, line_kind: str = "line") -> None:
        """Add a fence, a table or the like: its header, lines that go one by one, and its end."""
        keep, under, kind = place
        count = LINES_OF_HEADER
        while count > 2 and len(lines[count - 1]) > MAX_CHARS_KEPT:  # a table's long first row
            count -= 1
        index = self._add("".join(lines[:count]), keep, under, kind)
        for line in lines[count:-1]:
            self._add(line, keep, index, line_kind)
        self._add(lines[-1], keep, index, closes=index)

    def _under(self) -> int:
        if self._intro >= 0 or not self._headings:
            return self._intro
        return self._headings[-1][1]

    def _keep(self) -> float:
        return 50 - 5 * min(self._depth(), 8) + 2 * self._fresh

    def _depth(self) -> int:
        """Return the number of headings over this place, without the title."""
        return len(self._headings) - (self._title >= 0 and bool(self._headings))

    def _heading(self, level: int, text: str, kind: str) -> None:
        while self._headings and self._headings[-1][0] >= level:
            self._headings.pop()
        under = self._headings[-1][1] if self._headings else -1
        index = len(self._parts)
        depth = self._depth() + 1
        if self._has_title and self._title < 0:
            self._title = index
            keep = ALWAYS if len(text) <= MAX_CHARS_KEPT else 300.0
        elif depth == 1:
            keep = 200.0
        else:
            keep = 50 - 5 * min(depth, 8) + 3
        self._parts.append(Piece(text, keep, under, skeleton=True, kind=kind))
        self._headings.append((level, index))
        self._fresh, self._intro = True, -1

    def _sentences(self, text: str) -> list[str]:
        return list(split_sentences(text))

    def _body(self, text: str) -> str:
        return text.rstrip(WHITE)

    def _paragraph(self, text: str, keep: float, under: int, kind: str) -> None:
        body = self._body(text)
        first, self._first = self._first, False
        parts = [body]
        if (len(body) > MAX_PARAGRAPH_CHARS or first) and not self.risky.search(body):
            parts = self._sentences(body)
        if len(parts) == 1:
            parts = [text]
        if first:
            keep = 100
        always = first and len(parts[0]) <= MAX_CHARS_KEPT
        if always:  # under another heading it would say something else
            for _, heading in self._headings:
                self._parts[heading] = self._parts[heading]._replace(keep=ALWAYS)
        index = self._add(parts[0], ALWAYS if always else keep, under, kind)
        if len(parts) > 1:
            for sentence in parts[1:]:
                self._add(sentence, keep, index, "sentence")
            self._add(text[len(body) :], keep, closes=index)


class LineReader(BlockReader):
    """The pieces of a document that is read by its lines; a block may hold blocks."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__()
        self._lines = lines
        self._nesting = 0

    def _read(self, start: int, stop: int) -> None:
        raise NotImplementedError

    def _read_within(self, head: int, start: int, stop: int) -> None:
        self._headings.append((_NESTED, head))
        self._nesting += 1
        self._read(start, stop)
        self._nesting -= 1
        # A heading within, which ends what is open, has ended this too.
        del self._headings[self._headings.index((_NESTED, head)) :]
        self._fresh, self._intro = False, -1

    def _slice(self, start: int, end: int) -> str:
        return "".join(self._lines[start:end])

    def _is_blank(self, number: int) -> bool:
        return not self._lines[number].strip()

    def _skip_blank(self, number: int, stop: int) -> int:
        while number < stop and self._is_blank(number):
            number += 1
        return number
