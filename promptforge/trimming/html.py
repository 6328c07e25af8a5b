"""Trimming of HTML: whole blocks go, scripts and navigation first; headings stay longest.

A block is a paragraph, an item of a list, a row of a table or a text that stands directly in a
`<div>`. The tags around blocks are pieces of their own, so a shortened page may lack some of them.
No tag, comment or entity is cut. A mark in place of blocks is a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import unescape
from typing import Literal, NamedTuple

from ..text.format import Marks
from ..text.words import late_pattern
from .blocks import (
    LINES_OF_HEADER,
    MAX_CHARS_KEPT,
    MAX_LINES_WHOLE,
    MAX_PARAGRAPH_CHARS,
    BlockReader,
    make_document,
    sentence_mark,
)
from .pieces import (
    MIN_LINE_PIECE_CHARS,
    Piece,
    Pieces,
    count_lines,
    line_end,
    split_lines,
    split_sentences,
)
from .program import comment_line

MAX_HEADING_CHARS = 2_000
"""Characters up to which the end of a heading or a title is looked for."""
MAX_BROKEN_TAGS = 20
"""Tags without an end, after which quotes in tags are not looked at: each costs a search to the end
of the text."""
MAX_IMAGE_CHARS = 300
"""A longer tag of an image holds the image; it is a piece of its own."""
MAX_COMMENT_CHARS = 200
"""A longer comment in a paragraph is a piece of its own."""
MAX_LINKS_CHARS = 500
"""Characters of links after each other, without other text, that are one piece."""
MAX_CHARS_OF_A_LINE = 500
"""If lines are longer on average, what is left out is counted in characters."""
_TAG = late_pattern(r"""<(/?)([A-Za-z][^\s/<>]*+)(?:[^<>=]|=\s*+"[^"]*+"|=\s*+'[^']*+'|=)*+>""")
_TAG_START = late_pattern("</?[A-Za-z]")
_BROKEN_TAG = late_pattern(r"<(/?)([A-Za-z][^\s/<>]*+)[^<>]*+>")
_CODE = frozenset(["script", "style"])
_RAW = frozenset(["canvas", "iframe", "select", "svg", *_CODE])
"""Elements that are passed over as a whole; the first to go."""
_SETTINGS = frozenset(["base", "link", "meta"])
_IMAGES = frozenset(["embed", "image", "img", "source"])
_VOID = frozenset(["area", "br", "col", "input", "param", "track", "wbr", *_IMAGES, *_SETTINGS])
_ASIDE = frozenset(["aside", "footer", "nav"])
_LISTS = frozenset(["dl", "menu", "ol", "ul"])
_GROUPS = frozenset(["hr", "table", *_ASIDE, *_LISTS])
"""Elements that are no part of the block right after their start tag."""
_HOLDERS = frozenset(
    [
        *("article", "body", "button", "center", "details", "dialog", "div", "fieldset", "figure"),
        *("form", "frameset", "head", "header", "hgroup", "html", "main", "noscript", "search"),
        *("section", "tbody", "template", "tfoot", "thead", *_GROUPS),
    ]
)
"""Elements that hold blocks; a text directly in one is a block, too."""
_BLOCKS = frozenset(
    [
        *("address", "blockquote", "caption", "dd", "dt", "figcaption", "h1", "h2", "h3", "h4"),
        *("h5", "h6", "legend", "li", "p", "pre", "summary", "title", "tr"),
    ]
)
_ITEMS = frozenset(["dd", "dt", "li", "tr"])
_CELLS = frozenset(["td", "th"])
_PARTS = _BLOCKS | _CELLS
_STRUCTURE = _PARTS | _HOLDERS
_TEXTS = _BLOCKS | {"text"}
"""Names of blocks with a text."""
_NEVER_OPEN = _STRUCTURE | _VOID | {""}
"""Elements that a sentence may end in; comments, too."""
_INLINE = frozenset(
    [
        *("a", "abbr", "b", "bdi", "bdo", "big", "code", "del", "dfn", "em", "font", "i", "ins"),
        *("kbd", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup"),
        *("tt", "u", "var", "!"),
    ]
)
"""Elements that part no words, and comments."""
_WHOLES = {
    "!code": "code",
    **{name: name for name in ("h1", "h2", "h3", "h4", "h5", "h6", "pre", "title")},
}
"""Name of a tag → name of the block that it begins, whatever the element holds."""
_HEADING = late_pattern(r"(?i)h[1-6]|title")
_HEADING_EDGE = late_pattern(r"(?i)<(/?)(?:h[1-6]|title)\b[^<>]*+>")
_MAIN = late_pattern(r"""(?i)<(?:main\b|[a-z]++\s[^<>]*\brole=["']?main\b)""")
_ASIDE_EDGE = late_pattern(r"(?i)<(/?)(?:aside|footer|nav)\b")
_EDGE = late_pattern(r"(?i)<(/?)(aside|dl|footer|menu|nav|ol|table|ul)\b")
_LINK_WITHIN = late_pattern(r"""(?i)<a\s[^<>]*?\bhref\s*=\s*["']?#""")
_SPEAKS = late_pattern(r"(?:&#?\w+;|[\W_])*+\w")
_SPACE = late_pattern(r"(?:\s*\n)?")
"""The blanks after a block up to its last line end: the indentation is the next one's."""


def divide(text: str, *, marks: Marks, language: str | None = None) -> Pieces | None:
    """Return an HTML page in pieces; None if it is one block."""
    few_lines = text.count("\n") * MAX_CHARS_OF_A_LINE < len(text)

    def above(said: str) -> str:
        return comment_line("html", said) + "\n"

    def gap(run: Sequence[Piece], marks: Marks) -> str:
        if run[0].kind == "sentence":
            return sentence_mark(run, marks)
        tag = "css" if run[0].kind == "code" else "html"  # a comment of a script, too
        if few_lines or not any("\n" in part.text for part in run):
            return comment_line(tag, marks.gap) + line_end(run)
        return comment_line(tag, marks.left_out(count_lines(run))) + line_end(run)

    def read(piece: Piece) -> str:
        if piece.kind == "code":
            return piece.text
        return "" if piece.kind == "contents" else read_text(piece.text)

    unit: Literal["line", "character"] = "character" if few_lines else "line"
    return make_document(_Page(text).read(), marks, above, gap, unit, read)


def read_text(html: str) -> str:
    """Return the text of a part of a page, without tags and comments; of a script all between them.

    >>> read_text("<p>a &lt; <b>b</b>")
    ' a < b '
    """
    shown, place = [], 0
    for tag in _read_tags(html):
        shown.append(html[place : tag.start])
        place = tag.end
        if tag.name == "!code" and (opening := _TAG.match(html, tag.start)):
            shown.append(html[opening.end() : html.rfind("</", tag.start, tag.end)])
        if tag.name.strip("/") not in _INLINE:
            shown.append(" ")
    return unescape("".join([*shown, html[place:]]))


class _Tag(NamedTuple):
    """A tag, or what is passed over as a whole."""

    start: int
    end: int
    name: str
    """In small letters; `/p` for an end, `!` for a comment or a declaration, `!code` for a script
    or styles, `!raw` for other elements as a whole."""


class _Block(NamedTuple):
    """A stretch of a page."""

    start: int
    end: int
    name: str
    """The element that the text stands in; `code`, `raw`, `tags` for tags alone."""
    is_links: bool = False
    """True if all text is in links."""
    tags: Sequence[_Tag] = ()
    """The tags in it."""


def _read_tags(text: str) -> Iterator[_Tag]:
    """Yield the tags, comments and raw elements; what only begins like one is text."""
    pattern, broken = _TAG, 0
    endless: set[str] = set()
    place = text.find("<")
    while place >= 0:
        end, name = _read_declaration(text, place, endless), "!"
        if end < 0 and _TAG_START.match(text, place):
            found = pattern.match(text, place)
            if found is None:
                broken += 1
                pattern = _BROKEN_TAG if broken > MAX_BROKEN_TAGS else pattern
                found = _BROKEN_TAG.match(text, place)
            if found:
                end, name = _read_element(text, found, endless)
        if end >= 0:
            yield _Tag(place, end, name)
        place = text.find("<", max(end, place + 1))


def _read_declaration(text: str, place: int, endless: set[str]) -> int:
    """Return the place after a comment, a declaration or a program of PHP; -1 if it is none."""
    for begin, end in ("<!--", "-->"), ("<!", ">"), ("<?", "?>"):
        if text.startswith(begin, place):
            return _end_of(text, end, place + 2, endless)
    return -1


def _read_element(text: str, found: re.Match[str], endless: set[str]) -> tuple[int, str]:
    """Return the end of a tag, or of the raw element that it begins, and its name."""
    end, name = found.end(), found[1] + found[2].lower()
    if name in _RAW and not text.endswith("/>", 0, end):
        stop = _end_of_element(text, name, end, endless)
        if stop >= 0:
            return stop, "!code" if name in _CODE else "!raw"
    return end, name


def _end_of(text: str, sign: str, place: int, endless: set[str]) -> int:
    """Return the place after the next `sign`, or -1; it is looked for in vain only once."""
    if sign in endless:
        return -1
    found = text.find(sign, place)
    if found < 0:
        endless.add(sign)
        return -1
    return found + len(sign)


def _end_of_element(text: str, name: str, place: int, endless: set[str]) -> int:
    """Return the place after the end tag of an element, or -1."""
    for closing in (f"</{name}", f"</{name.upper()}"):
        found = _end_of(text, closing, place, endless)
        if found >= 0:
            return _end_of(text, ">", found, endless)
    return -1


def _lines_outside_tags(text: str) -> list[str]:
    """Return the lines of a text; a tag is in one of them."""
    found: list[str] = []
    held, place = "", 0
    for tag in [*_read_tags(text), _Tag(len(text), len(text), "")]:
        first, *others = split_lines(text[place : tag.start]) or [""]
        held += first
        for line in others:
            found.append(held)
            held = line
        if held.endswith("\n"):
            found.append(held)
            held = ""
        held += text[tag.start : tag.end]
        place = tag.end
    return [*found, held] if held else found


def _join_lines(text: str) -> Iterator[str]:
    """Yield the lines of a script, a few together."""
    held = ""
    for line in split_lines(text):
        held += line
        if len(held) >= MIN_LINE_PIECE_CHARS:
            yield held
            held = ""
    if held:
        yield held


class _Splitter:
    """The blocks of a page, from top to bottom; together they are the page."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._blocks: list[_Block] = []
        self._start = 0
        """Where the block that is read now begins."""
        self._name = "tags"
        self._before: list[_Tag] = []
        """Start tags since the last end tag, without text after them."""
        self._open: list[str] = []
        """The names of the block's own elements that are open."""
        self._tags: list[_Tag] = []
        self._links = 0
        """Links that are open."""
        self._speaks = self._speaks_beside_links = False
        self._was_break = False
        """True right after `<br>`."""
        self._endless: set[str] = set()
        self.main = range(len(text))
        """Where the main part of the page is: in `<main>` or the like, or all of it."""

    def split(self) -> list[_Block]:
        """Return the blocks."""
        place = 0
        for tag in _read_tags(self._text):
            if tag.start < place:  # in a heading
                continue
            self._read_text(place, tag.start)
            if tag.name in _HOLDERS and _MAIN.match(self._text, tag.start, tag.end):
                self.main = range(self.main.start or tag.start, self.main.stop)
            elif tag.name == "/main":
                self.main = range(self.main.start, tag.end)
            place = self._read_tag(tag)
        self._read_text(place, len(self._text))
        self._end(len(self._text))
        if self._blocks:  # blanks at the end
            self._blocks[-1] = self._blocks[-1]._replace(end=len(self._text))
        return self._blocks

    def _end(self, place: int, name: str = "tags") -> None:
        """End the block that is read, with the blanks after it; begin another."""
        stop = place
        if self._name != "tags" or name == "tags":
            found = _SPACE.match(self._text, place)
            stop = found.end() if found else place
        if not self._text[self._start : stop].strip():
            stop = self._start  # the indentation of the next
        else:
            is_links = self._speaks and not self._speaks_beside_links
            self._blocks.append(_Block(self._start, stop, self._name, is_links, self._tags))
        self._start, self._name, self._before = max(stop, self._start), name, []
        self._open, self._tags = [], []
        self._speaks = self._speaks_beside_links = self._was_break = False

    def _add(self, tag: _Tag, end: int, name: str) -> int:
        """Add a block of its own, which begins with a tag."""
        self._end(self._begin_of_line(tag.start))
        self._name = name
        self._end(end)
        return end

    def _begin_of_line(self, place: int) -> int:
        """Return where the line of a place begins, if there are only blanks before it."""
        begin = place
        while begin > self._start and self._text[begin - 1] in " \t":
            begin -= 1
        return begin if begin and self._text[begin - 1] == "\n" else place

    def _read_text(self, start: int, end: int) -> None:
        if start == end or not self._text[start:end].strip():
            return
        self._was_break = False
        if self._name == "tags":
            self._begin_block(start)
        if _SPEAKS.match(self._text, start, end):
            self._speaks = True
            self._speaks_beside_links = self._speaks_beside_links or not self._links

    def _begin_block(self, start: int) -> None:
        """Begin a block of text; the start tags right before it belong to it."""
        count = len(self._before)
        while count and self._before[count - 1].name not in _GROUPS:
            # Of the elements around a block, the innermost is enough.
            has_one = count < len(self._before) and self._before[count].name in _STRUCTURE
            if has_one and self._before[count - 1].name not in _PARTS:
                break
            count -= 1
        own, links = self._before[count:], self._links
        self._end(self._begin_of_line(own[0].start if own else start), "text")
        names = [tag.name for tag in own if tag.name in _STRUCTURE]
        self._name = next((name for name in names if name in _BLOCKS), "text")
        self._open = list(dict.fromkeys(names))
        self._tags, self._links = own, links

    def _read_tag(self, tag: _Tag) -> int:
        """Read a tag; return the place to go on from."""
        name = tag.name
        end = self._end_of_whole(tag)
        if end:
            return self._add(tag, end, _WHOLES.get(name, "raw"))
        if name == "a":
            self._links += 1
        elif name == "/a":
            self._links = max(0, self._links - 1)
        if name[0] == "/" and name[1:] in _STRUCTURE:
            self._read_end_tag(tag)
        elif name in _BLOCKS or name in _HOLDERS:
            self._links = 0
            self._read_start_tag(tag)
        elif self._name == "tags":
            self._before.append(tag)
        else:
            self._read_inline(tag)
        return tag.end

    def _end_of_whole(self, tag: _Tag) -> int:
        """Return the end of the block that a tag begins, if it is one whatever it holds; else 0."""
        name, size = tag.name, tag.end - tag.start
        if _HEADING.fullmatch(name):
            return self._end_of_heading(tag)
        if name == "pre":
            return max(0, _end_of_element(self._text, name, tag.end, self._endless))
        is_long = size > (MAX_IMAGE_CHARS if name in _IMAGES else MAX_COMMENT_CHARS)
        is_apart = is_long or self._name == "tags"
        may_be_apart = name == "!" or name in (_IMAGES if is_long else _SETTINGS)
        return tag.end if name in ("!code", "!raw") or (is_apart and may_be_apart) else 0

    def _read_inline(self, tag: _Tag) -> None:
        """Read a tag within a block of text; two line breaks end it."""
        if tag.name in _CELLS:
            self._open_own(tag)
        else:
            self._tags.append(tag)
        if tag.name == "br" and self._was_break:
            self._end(tag.end)
        self._was_break = tag.name == "br"

    def _end_of_heading(self, tag: _Tag) -> int:
        """Return the place after the end tag of a heading; 0 if it is far or another begins."""
        found = _HEADING_EDGE.search(self._text, tag.end, tag.end + MAX_HEADING_CHARS)
        return found.end() if found and found[1] else 0

    def _read_start_tag(self, tag: _Tag) -> None:
        """Read the start tag of a block, or of what holds blocks."""
        if self._name == "dt" and self._goes_on(tag):
            self._open_own(tag)
            return
        if self._name != "tags":
            self._end(self._begin_of_line(tag.start))
        self._before.append(tag)

    def _open_own(self, tag: _Tag) -> None:
        """Add a start tag to the block that is read; the names of those open are few."""
        self._tags.append(tag)
        if tag.name not in self._open:
            self._open.append(tag.name)

    def _goes_on(self, tag: _Tag) -> bool:
        """Tell whether a start tag is within a term and the beginning of its definition."""
        if "dd" not in self._open:
            return tag.name in ("dt", "dd")
        last = self._tags[-1]
        return last.name == "dd" and not self._text[last.end : tag.start].strip()

    def _read_end_tag(self, tag: _Tag) -> None:
        """Read the end tag of a block, of what holds blocks or of a cell."""
        name = tag.name[1:]
        self._before = []
        if self._name == "tags":
            return
        if name in self._open:
            del self._open[self._open.index(name) :]
        elif self._open or name in _HOLDERS:
            self._end(tag.start)
            return
        self._tags.append(tag)
        if not self._open and name != "dt":
            self._end(tag.end)


class _Page(BlockReader):
    """The pieces of one page."""

    risky = late_pattern(r"(?!)")

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text
        self._main = range(len(text))
        """Where the main part of the page is; what is beside it is navigation."""
        edges = [edge[1] for edge in _ASIDE_EDGE.finditer(text)]
        self._knows_aside = 2 * edges.count("/") == len(edges)
        """False if an element of navigation has no end: it would be all of the rest."""
        self._aside = 0
        """Open elements of navigation and the like."""
        self._holders: list[tuple[int, int]] = []
        """For each list and table that is open, the item it is in, and the piece that its blocks
        need: an item, the table's header; -1 for none."""
        self._block = _Block(0, 0, "")
        self._item = -1
        """The last item of a list."""
        self._has_first = False
        """True after the first paragraph under a heading."""

    def read(self) -> list[Piece]:
        """Return the pieces."""
        splitter = _Splitter(self._text)
        blocks = splitter.split()
        if any(block.start in splitter.main and block.name in _TEXTS for block in blocks):
            self._main = splitter.main
        levels = [b.name for b in blocks if _HEADING.fullmatch(b.name) and not self._is_aside(b)]
        names = [name for name in levels if name != "title"]
        self._has_title = bool(names) and names[0] == min(names) and names.count(names[0]) == 1
        self._counts_title = not self._has_title and "title" in levels
        self._has_title = self._has_title or self._counts_title
        self._first = False
        for block in blocks:
            self._read_block(block)
        return self._join_tags()

    def _read_block(self, block: _Block) -> None:
        text = self._text[block.start : block.end]
        if block.name == "raw":
            self._add_or_join(text, 0, "raw")
        elif block.name == "code":
            self._read_code(text)
        elif block.name == "tags":
            self._add(text, 0, self._under(), kind="tags")
            self._read_edges(text)
        elif block.is_links and self._stays_within(block):
            self._add_or_join(text, 0.5, "contents")
        elif self._is_aside(block):
            self._add_or_join(text, 1, "aside")
        elif _HEADING.fullmatch(block.name):
            self._read_heading(block, text)
        else:
            self._read_text(block, text)

    def _stays_within(self, block: _Block) -> bool:
        """Tell whether all links of a block are to places in the page: a table of contents."""
        links = [self._text[tag.start : tag.end] for tag in block.tags if tag.name == "a"]
        return bool(links) and all(map(_LINK_WITHIN.match, links))

    def _read_code(self, text: str) -> None:
        """Add a script or styles: the lines between its tags may go, a few together."""
        first, *chunks = _join_lines(text)
        index = self._add(first, 0, self._under())
        for chunk in chunks[:-1]:
            self._add(chunk, 0, index, "code")
        if chunks:
            self._add(chunks[-1], 0, index, closes=index)

    def _is_aside(self, block: _Block) -> bool:
        """Tell whether a block is part of the navigation, not of the page's text."""
        if block.name == "title":
            return False
        return bool(self._aside and self._knows_aside) or block.start not in self._main

    def _add_or_join(self, text: str, keep: float, kind: str) -> None:
        """Add a piece of a kind, or join it to the one before."""
        last = self._parts[-1] if self._parts else None
        if last and last.kind == kind and len(last.text) + len(text) <= MAX_LINKS_CHARS:
            self._parts[-1] = last._replace(text=last.text + text)
        else:
            self._add(text, keep, self._under(), kind)

    def _read_edges(self, text: str) -> None:
        """Read which lists and tables begin and end."""
        for edge in _EDGE.finditer(text):
            name = edge[2].lower()
            if name in _ASIDE:
                self._aside = max(0, self._aside + (-1 if edge[1] else 1))
            elif not edge[1]:
                self._holders.append((self._item, self._item))
                self._item = -1
            elif self._holders:
                self._item, _ = self._holders.pop()
                if not self._holders:  # an introduction is to one list
                    self._intro = -1

    def _read_heading(self, block: _Block, text: str) -> None:
        is_title = block.name == "title"
        if is_title and not self._counts_title:
            self._add(text, 1, kind="raw")
            return
        self._heading(0 if is_title else int(block.name[1]), text, "")
        self._first = not is_title and not self._has_first
        self._holders, self._item = [], -1

    def _read_text(self, block: _Block, text: str) -> None:
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
        elif self._body(text).endswith(":"):
            self._intro = index

    def _find_parent(self, block: _Block) -> int:
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
        """Return the text of a block without its end tags and the blanks around them."""
        end = self._block.end
        for tag in reversed(self._block.tags):
            if tag.name[1:] not in _STRUCTURE or self._text[tag.end : end].strip():
                break
            end = tag.start
        return text[: end - self._block.start].rstrip()

    def _sentences(self, text: str) -> list[str]:
        """Return the sentences, each with all of its inline elements."""
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

    def _pre(self, block: _Block, keep: float, under: int) -> None:
        """Add a preformatted text: its lines are pieces, if there are many."""
        lines = _lines_outside_tags(self._text[block.start : block.end])
        while len(lines) > 1 and not lines[-1].strip():
            lines[-2:] = ["".join(lines[-2:])]
        if len(lines) <= MAX_LINES_WHOLE:
            self._add("".join(lines), keep, under)
            return
        index = self._add("".join(lines[:LINES_OF_HEADER]), keep, under)
        for line in lines[LINES_OF_HEADER:-1]:
            self._add(line, keep, index, "line")
        self._add(lines[-1], keep, index, closes=index)

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
