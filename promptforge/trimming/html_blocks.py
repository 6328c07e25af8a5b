"""The tags and blocks of an HTML page, read in one pass; together the blocks are the page."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from html import unescape
from itertools import accumulate
from typing import NamedTuple

from ..text import table_rows
from ..text.words import late_pattern
from .pieces import split_lines

MAX_HEADING_CHARS = 2_000
"""Characters up to which the end of a heading or a title is looked for."""
MAX_BROKEN_TAGS = 20
"""Tags without an end, after which quotes in tags are not looked at: each costs a search to the end
of the text."""
MAX_IMAGE_CHARS = 300
"""A longer tag of an image holds the image; it is a piece of its own."""
MAX_COMMENT_CHARS = 200
"""A longer comment in a paragraph is a piece of its own."""
_TAG = late_pattern(r"""<(/?)([A-Za-z][^\s/<>]*+)(?:[^<>=]|=\s*+"[^"]*+"|=\s*+'[^']*+'|=)*+>""")
_TAG_START = late_pattern("</?[A-Za-z]")
_BROKEN_TAG = late_pattern(r"<(/?)([A-Za-z][^\s/<>]*+)[^<>]*+>")
_CODE = frozenset(["script", "style"])
_RAW = frozenset(["canvas", "iframe", "select", "svg", *_CODE])
"""Elements that are passed over as a whole; the first to go."""
_SETTINGS = frozenset(["base", "link", "meta"])
_IMAGES = frozenset(["embed", "image", "img", "source"])
VOID = frozenset(["area", "br", "col", "input", "param", "track", "wbr", *_IMAGES, *_SETTINGS])
_ASIDE = frozenset(["aside", "footer", "nav"])
_LISTS = frozenset(["dl", "menu", "ol", "ul"])
_GROUPS = frozenset(["hr", "table", *_ASIDE, *_LISTS])
"""Elements that are no part of the block right after their start tag."""
_WORDS = dict(table_rows("words"))
_HOLDERS = frozenset(
    [
        *("article", "body", "button", "center", "details", "dialog", "div", "fieldset", "figure"),
        *("form", "frameset", "head", "header", "hgroup", "html", "main", "noscript", "search"),
        *("section", "tbody", "template", "tfoot", "thead", *_GROUPS),
    ]
)
"""Elements that hold blocks; a text directly in one is a block, too."""
BLOCKS = frozenset(_WORDS["html blocks"].split())
_CELLS = frozenset(["td", "th"])
_PARTS = BLOCKS | _CELLS
STRUCTURE = _PARTS | _HOLDERS
_INLINE = frozenset(_WORDS["html inline"].split())
"""Elements that part no words, and comments."""
_WHOLES = {
    "!code": "code",
    **{name: name for name in ("h1", "h2", "h3", "h4", "h5", "h6", "pre", "title")},
}
"""Name of a tag → name of the block that it begins, whatever the element holds."""
HEADING = late_pattern(r"(?i)h[1-6]|title")
_HEADING_EDGE = late_pattern(r"(?i)<(/?)(?:h[1-6]|title)\b[^<>]*+>")
_MAIN = late_pattern(r"""(?i)<(?:main\b|[a-z]++\s[^<>]*\brole=["']?main\b)""")
_SPEAKS = late_pattern(r"(?:&#?\w+;|[\W_])*+\w")
_TEXT_BLOCKS = BLOCKS | {"text"}
"""Names of blocks with a text."""
_TELLING = frozenset(
    [
        *BLOCKS - {"address", "legend"},
        *("a", "b", "br", "code", "col", "del", "dl", "em", "hr", "i", "img", "ins", "kbd"),
        *("mark", "menu", "ol", "q", "s", "strong", "sub", "sup", "table", "td", "th", "ul"),
    ]
)
"""Elements with tags that a reader of the source needs."""
_IMPLIED = frozenset(["/dd", "/dt", "/li", "/p", "/td", "/th", "/tr"])
"""End tags that the next start tag tells."""
_ATTRIBUTE = late_pattern(
    r"""(?i)(?<=\s)(?:alt|colspan|href|rowspan|src|start|title)\s*+=\s*+"""
    r"""(?:"(?!data:)[^"]{1,1000}"|'(?!data:)[^']{1,1000}'|[^\s"'<>=]{1,1000}+)"""
)
"""The attributes that say something, but for an image in one."""
_SPACE = late_pattern(r"(?:\s*\n)?")
"""The blanks after a block up to its last line end: the indentation is the next one's."""


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


class HtmlTag(NamedTuple):
    """A tag, or what is passed over as a whole."""

    start: int
    end: int
    name: str
    """In small letters; `/p` for an end, `!` for a comment or a declaration, `!code` for a script
    or styles, `!raw` for other elements as a whole."""


class HtmlBlock(NamedTuple):
    """A stretch of a page."""

    start: int
    end: int
    name: str
    """The element that the text stands in; `code`, `raw`, `tags` for tags alone."""
    is_links: bool = False
    """True if all text is in links."""
    tags: Sequence[HtmlTag] = ()
    """The tags in it."""


def _read_tags(text: str) -> Iterator[HtmlTag]:
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
            yield HtmlTag(place, end, name)
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
    for closing in (f"</{name}", f"</{name.upper()}"):
        found = _end_of(text, closing, place, endless)
        if found >= 0:
            return _end_of(text, ">", found, endless)
    return -1


def lines_outside_tags(text: str) -> list[str]:
    """Return the lines of a text; a tag is in one of them."""
    found: list[str] = []
    held, place = "", 0
    for tag in [*_read_tags(text), HtmlTag(len(text), len(text), "")]:
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


def split_page(text: str) -> tuple[list[HtmlBlock], Callable[[int], bool]]:
    """Return the blocks of a page, from top to bottom, and the test of a place: is it beside?

    Together the blocks are the page. Navigation is beside, and what is not in `<main>` or the like;
    but an element of navigation without an end would be all of the rest.
    """
    splitter = _Splitter(text)
    blocks, main, edges = splitter.split(), splitter.main, splitter.edges
    if not any(block.start in main and block.name in _TEXT_BLOCKS for block in blocks):
        main = range(len(text))
    if sum(step for _, step in edges):
        edges = []
    depths = [0, *accumulate((step for _, step in edges), lambda depth, step: max(0, depth + step))]

    def is_beside(place: int) -> bool:
        return place not in main or depths[bisect_left(edges, (place,))] > 0

    return blocks, is_beside


def clean_page(text: str) -> str:
    """Return the main part of a page: its title and texts, with the tags that say what these are.

    Scripts, styles, comments, navigation and most attributes are left out. A page without any text
    stays as it is.

    >>> clean_page("<nav>Home</nav><main><script>f()</script><p class=a>A <b>word</b>.</main>")
    '<p>A <b>word</b>.'
    """
    blocks, is_beside = split_page(text)
    shown: list[str] = []
    for block in blocks:
        part = text[block.start : block.end]
        if block.name == "tags":
            for tag in _read_tags(part):
                if not is_beside(block.start + tag.start):
                    shown.append(_clean(part[tag.start : tag.end]))
        elif block.name == "title":
            shown.append(_clean(part))
        elif block.name not in ("code", "raw") and not is_beside(block.start):
            shown.append(part.strip("\n") if block.name == "pre" else _clean(part))
    found = "\n".join(filter(None, shown))
    return found if _SPEAKS.match(read_text(found)) else text


def _clean(part: str) -> str:
    """Return a part of a page without the tags and attributes that no reader needs, on one line."""
    shown: list[str] = []
    place = 0
    for tag in _read_tags(part):
        shown.append(part[place : tag.start])
        place, name = tag.end, tag.name.strip("/")
        if name in _TELLING and tag.name not in _IMPLIED:
            kept = _ATTRIBUTE.finditer(part, tag.start, tag.end)
            shown.append("<{}>".format(" ".join([tag.name, *(found[0] for found in kept)])))
        elif name not in _INLINE and tag.name not in _IMPLIED:
            shown.append(" ")
    return " ".join("".join([*shown, part[place:]]).split())


class _Splitter:
    def __init__(self, text: str) -> None:
        self._text = text
        self._blocks: list[HtmlBlock] = []
        self._start = 0
        """Where the block that is read now begins."""
        self._name = "tags"
        self._before: list[HtmlTag] = []
        """Start tags since the last end tag, without text after them."""
        self._open: list[str] = []
        """The names of the block's own elements that are open."""
        self._tags: list[HtmlTag] = []
        self._links = 0
        """Links that are open."""
        self._speaks = self._speaks_beside_links = False
        self._was_break = False
        """True right after `<br>`."""
        self._endless: set[str] = set()
        self.main = range(len(text))
        """Where the main part of the page is: in `<main>` or the like, or all of it."""
        self.edges: list[tuple[int, int]] = []
        """Places of the tags of navigation, with 1 where one begins and -1 where one ends."""

    def split(self) -> list[HtmlBlock]:
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
            if tag.name.strip("/") in _ASIDE:
                self.edges.append((tag.start, -1 if tag.name[0] == "/" else 1))
            place = self._read_tag(tag)
        self._read_text(place, len(self._text))
        self._end(len(self._text))
        if self._blocks:  # blanks at the end
            self._blocks[-1] = self._blocks[-1]._replace(end=len(self._text))
        return self._blocks

    def _end(self, place: int, name: str = "tags") -> None:
        stop = place
        if self._name != "tags" or name == "tags":
            found = _SPACE.match(self._text, place)
            stop = found.end() if found else place
        if not self._text[self._start : stop].strip():
            stop = self._start  # the indentation of the next
        else:
            is_links = self._speaks and not self._speaks_beside_links
            self._blocks.append(HtmlBlock(self._start, stop, self._name, is_links, self._tags))
        self._start, self._name, self._before = max(stop, self._start), name, []
        self._open, self._tags = [], []
        self._speaks = self._speaks_beside_links = self._was_break = False

    def _add(self, tag: HtmlTag, end: int, name: str) -> int:
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
            has_one = count < len(self._before) and self._before[count].name in STRUCTURE
            if has_one and self._before[count - 1].name not in _PARTS:
                break
            count -= 1
        own, links = self._before[count:], self._links
        self._end(self._begin_of_line(own[0].start if own else start), "text")
        names = [tag.name for tag in own if tag.name in STRUCTURE]
        self._name = next((name for name in names if name in BLOCKS), "text")
        self._open = list(dict.fromkeys(names))
        self._tags, self._links = own, links

    def _read_tag(self, tag: HtmlTag) -> int:
        name = tag.name
        end = self._end_of_whole(tag)
        if end:
            return self._add(tag, end, _WHOLES.get(name, "raw"))
        if name == "a":
            self._links += 1
        elif name == "/a":
            self._links = max(0, self._links - 1)
        if name[0] == "/" and name[1:] in STRUCTURE:
            self._read_end_tag(tag)
        elif name in BLOCKS or name in _HOLDERS:
            self._links = 0
            self._read_start_tag(tag)
        elif self._name == "tags":
            self._before.append(tag)
        else:
            self._read_inline(tag)
        return tag.end

    def _end_of_whole(self, tag: HtmlTag) -> int:
        """Return the end of the block that a tag begins, if it is one whatever it holds; else 0."""
        name, size = tag.name, tag.end - tag.start
        if HEADING.fullmatch(name):  # its end must be near, and no other begin before
            edge = _HEADING_EDGE.search(self._text, tag.end, tag.end + MAX_HEADING_CHARS)
            return edge.end() if edge and edge[1] else 0
        if name == "pre":
            return max(0, _end_of_element(self._text, name, tag.end, self._endless))
        is_long = size > (MAX_IMAGE_CHARS if name in _IMAGES else MAX_COMMENT_CHARS)
        is_apart = is_long or self._name == "tags"
        may_be_apart = name == "!" or name in (_IMAGES if is_long else _SETTINGS)
        return tag.end if name in ("!code", "!raw") or (is_apart and may_be_apart) else 0

    def _read_inline(self, tag: HtmlTag) -> None:
        """Read a tag within a block of text; two line breaks end it."""
        if tag.name in _CELLS:
            self._open_own(tag)
        else:
            self._tags.append(tag)
        if tag.name == "br" and self._was_break:
            self._end(tag.end)
        self._was_break = tag.name == "br"

    def _read_start_tag(self, tag: HtmlTag) -> None:
        if self._name == "dt" and self._goes_on(tag):
            self._open_own(tag)
            return
        if self._name != "tags":
            self._end(self._begin_of_line(tag.start))
        self._before.append(tag)

    def _open_own(self, tag: HtmlTag) -> None:
        """Add a start tag to the block that is read; the names of those open are few."""
        self._tags.append(tag)
        if tag.name not in self._open:
            self._open.append(tag.name)

    def _goes_on(self, tag: HtmlTag) -> bool:
        """Tell whether a start tag is within a term and the beginning of its definition."""
        if "dd" not in self._open:
            return tag.name in ("dt", "dd")
        last = self._tags[-1]
        return last.name == "dd" and not self._text[last.end : tag.start].strip()

    def _read_end_tag(self, tag: HtmlTag) -> None:
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
