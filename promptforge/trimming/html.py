"""Trimming of HTML: whole blocks go, scripts and navigation first; headings stay longest.

A block is a paragraph, an item of a list, a row of a table or a text that stands directly in a
`<div>`. The tags around blocks are pieces of their own, so a shortened page may lack some of them.
No tag, comment or entity is cut. A mark in place of blocks is a comment.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..text.format import Marks
from ..text.words import late_pattern
from .blocks import (
    MAX_CHARS_KEPT,
    MAX_LINES_WHOLE,
    MAX_PARAGRAPH_CHARS,
    BlockReader,
    make_document,
    sentence_mark,
)
from .html_blocks import (
    HEADING,
    STRUCTURE,
    VOID,
    HtmlBlock,
    clean_page,
    lines_outside_tags,
    read_text,
    split_page,
)
from .pieces import (
    MIN_LINE_PIECE_CHARS,
    CompactText,
    Piece,
    Pieces,
    introduces,
    line_end,
    split_lines,
    split_sentences,
)
from .program import comment_line

MAX_LINKS_CHARS = 500
"""Characters of links after each other, without other text, that are one piece."""
_ITEMS = frozenset(["dd", "dt", "li", "tr"])
_NEVER_OPEN = STRUCTURE | VOID | {""}
"""Elements that a sentence may end in; comments, too."""
_EDGE = late_pattern(r"(?i)<(/?)(?:dl|menu|ol|table|ul)\b")


def divide(text: str, *, marks: Marks, language: str | None = None) -> Pieces | None:
    """Return an HTML page in pieces; None if it is one block."""

    def above(said: str) -> str:
        return comment_line("html", said) + "\n"

    def gap(run: Sequence[Piece], marks: Marks) -> str:
        if run[0].kind == "sentence":
            return sentence_mark(run, marks)
        tag = "css" if run[0].kind == "code" else "html"  # a comment of a script, too
        return comment_line(tag, marks.gap) + line_end(run)

    def read(piece: Piece) -> str:
        return piece.text if piece.kind == "code" else read_text(piece.text)

    return make_document(_Page(text).read(), marks, above, gap, read)


def compact(text: str, *, marks: Marks, language: str | None = None) -> CompactText | None:
    """Return the main part of a page; None where that is no shorter."""
    found = clean_page(text)
    return CompactText(found, lost=True) if len(found) < len(text) else None


class _Page(BlockReader):
    risky = late_pattern(r"(?!)")

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text
        self._blocks, self._is_beside = split_page(text)
        self._holders: list[tuple[int, int]] = []
        """For each list and table that is open, the item it is in, and the piece that its blocks
        need: an item, the table's header; -1 for none."""
        self._block = HtmlBlock(0, 0, "")
        self._item = -1
        """The last item of a list."""
        self._has_first = False
        """True after the first paragraph under a heading."""

    def read(self) -> list[Piece]:
        """Return the pieces."""
        headings = [block for block in self._blocks if HEADING.fullmatch(block.name)]
        levels = [block.name for block in headings if not self._is_aside(block)]
        names = [name for name in levels if name != "title"]
        self._has_title = bool(names) and names[0] == min(names) and names.count(names[0]) == 1
        self._counts_title = not self._has_title and "title" in levels
        self._has_title = self._has_title or self._counts_title
        self._first = False
        for block in self._blocks:
            self._read_block(block)
        return self._join_tags()

    def _read_block(self, block: HtmlBlock) -> None:
        text = self._text[block.start : block.end]
        if block.name == "raw":
            self._add_or_join(text, 0, "raw")
        elif block.name == "code":
            self._read_code(text)
        elif block.name == "tags":
            self._add(text, 0, self._under(), kind="tags")
            self._read_edges(text)
        elif self._is_aside(block):
            self._add_or_join(text, 1, "aside")
        elif HEADING.fullmatch(block.name):
            self._read_heading(block, text)
        else:
            self._read_text(block, text)

    def _read_code(self, text: str) -> None:
        """Add a script or styles: the lines between its tags may go, a few together."""
        chunks = [""]
        for line in split_lines(text):
            chunks[-1] += line
            if len(chunks[-1]) >= MIN_LINE_PIECE_CHARS:
                chunks.append("")
        first, *chunks = filter(None, chunks)
        index = self._add(first, 0, self._under())
        for chunk in chunks[:-1]:
            self._add(chunk, 0, index, "code")
        if chunks:
            self._add(chunks[-1], 0, index, closes=index)

    def _is_aside(self, block: HtmlBlock) -> bool:
        """Tell whether a block is part of the navigation, not of the page's text."""
        return block.name != "title" and self._is_beside(block.start)

    def _add_or_join(self, text: str, keep: float, kind: str) -> None:
        last = self._parts[-1] if self._parts else None
        if last and last.kind == kind and len(last.text) + len(text) <= MAX_LINKS_CHARS:
            self._parts[-1] = last._replace(text=last.text + text)
        else:
            self._add(text, keep, self._under(), kind)

    def _read_edges(self, text: str) -> None:
        for edge in _EDGE.finditer(text):
            if not edge[1]:
                self._holders.append((self._item, self._item))
                self._item = -1
            elif self._holders:
                self._item, _ = self._holders.pop()
                if not self._holders:  # an introduction is to one list
                    self._intro = -1

    def _read_heading(self, block: HtmlBlock, text: str) -> None:
        is_title = block.name == "title"
        if is_title and not self._counts_title:
            self._add(text, 1, kind="raw")
            return
        self._heading(0 if is_title else int(block.name[1]), text, "")
        self._first = not is_title and not self._has_first
        self._holders, self._item = [], -1

    def _read_text(self, block: HtmlBlock, text: str) -> None:
        self._block = block
        keep, under = self._keep(), self._find_parent(block)
        if block.name not in (*_ITEMS, "pre"):
            self._intro = -1
        index = len(self._parts)
        if block.is_links:
            self._add_or_join(text, 1, "aside")
            return
        if block.name == "pre":
            self._pre(block, keep, under)
        else:
            first, self._first = self._first, self._first and block.name == "p"
            self._paragraph(text, keep, under, "")
            self._has_first = self._has_first or (first and block.name == "p")
            self._first = first and not self._has_first
        self._fresh = False
        if block.name == "tr":
            self._read_row(index, text)
        elif block.name in _ITEMS:
            # A long one, such as a signature with many links, would leave no room for what it has.
            self._item = index if len(self._parts[index].text) <= MAX_CHARS_KEPT else -1
        elif introduces(self._body(text)):
            self._intro = index

    def _find_parent(self, block: HtmlBlock) -> int:
        """Return the piece that a block needs: an item, a table's header, an introduction."""
        if self._holders:
            if self._item >= 0 and block.name not in _ITEMS:
                return self._item
            if self._holders[-1][1] >= 0:
                return self._holders[-1][1]
        return self._under()

    def _read_row(self, index: int, text: str) -> None:
        """Read a row of a table: the others need the first, if that holds names of columns."""
        if self._holders and self._holders[-1][0] == self._holders[-1][1] and "<th" in text:
            self._holders[-1] = self._holders[-1][0], index

    def _body(self, text: str) -> str:
        end = self._block.end
        for tag in reversed(self._block.tags):
            if tag.name[1:] not in STRUCTURE or self._text[tag.end : end].strip():
                break
            end = tag.start
        return text[: end - self._block.start].rstrip()

    def _sentences(self, text: str) -> list[str]:
        if len(read_text(text)) <= MAX_PARAGRAPH_CHARS:
            return [text]
        found: list[str] = []
        held, depth, begin, end = "", 0, self._block.start, 0
        tags = list(reversed(self._block.tags))
        inside = 0
        for sentence in split_sentences(text):
            held += sentence
            end += len(sentence)
            while tags and tags[-1].start < begin + end:
                tag = tags.pop()
                inside = tag.end
                if tag.name.strip("/!") not in _NEVER_OPEN:
                    depth = max(0, depth + (-1 if tag.name[0] == "/" else 1))
            if not depth and inside <= begin + end:
                found.append(held)
                held = ""
        return [*found, held] if held else found

    def _pre(self, block: HtmlBlock, keep: float, under: int) -> None:
        lines = lines_outside_tags(self._text[block.start : block.end])
        while len(lines) > 1 and not lines[-1].strip():
            lines[-2:] = ["".join(lines[-2:])]
        if len(lines) <= MAX_LINES_WHOLE:
            self._add("".join(lines), keep, under)
            return
        self._add_lines(lines, (keep, under, ""))

    def _join_tags(self) -> list[Piece]:
        """Return the pieces; tags alone go with the block before or after them."""
        parts = self._parts
        keep = 0.0
        for index in range(len(parts) - 1, -1, -1):
            if parts[index].kind == "tags":
                before = parts[index - 1].keep if index else keep
                parts[index] = parts[index]._replace(keep=min(before, keep))
            keep = parts[index].keep
        return parts
