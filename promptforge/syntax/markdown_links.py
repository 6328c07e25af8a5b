"""Code, links and tags that the own text of a Markdown template leaves open in a paragraph.

A mode of Markdown is a label's brackets (`[`, or `{` where one begins its line), then one of these:

- `]`: a label has just ended; `](` or `]:` makes a link or a definition of it
- `` ` ``, one or more, and a blank: code
- `<`, `<a:`: an autolink; `<a name="`: an attribute; `<a `, `<a x` amid a word, `<a name=`: a tag
- `](` or `]:`: a link or a definition, before its address or in it
- `](/ `: after the address, `](/ "`: in the title, `](/ "" `: after the title

NUL stands for values. An address is shortened to `/` once it has its scheme or can have none, to
NUL if a value may have begun its scheme, else to `a`.
"""

from __future__ import annotations

import re

from ..text.urls import MADE_SCHEME, MADE_SCHEME_MESSAGE, SETTLES_SCHEME, url_place
from .syntax import BRANCHES, IN_CODE, PlacementError
from .xml_syntax import URL_ATTRIBUTE, URL_SEPARATOR

_MARK = re.compile(r"\\[^\n]|`+|\[|\][(:]?|<")
_WHOLE_HTML = re.compile(r"<!--.*?-->|<\?.*?\?>|<!\[CDATA\[.*?\]\]>", re.DOTALL)
_AUTOLINK = re.compile(r"<(?:\0|[A-Za-z][A-Za-z0-9+.-]*:|[^\s<>\"'=/:@\0]+@)[^\s<>]*+")
_NAME = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]{0,31}\Z")
# Quotes count after `=` alone: `<b don't>` has none.
_TAG = re.compile(r"<[A-Za-z/!?](?:[^<>=]|=\s*+(?:\"[^\"]*+\"|'[^']*+'|(?![\"'])))*+")
_BETWEEN = re.compile(r"<[A-Za-z/!?][^=\"':@\0]*")
_ATTRIBUTE_NAME = re.compile(r"([^\s\"'=<>/]*)\s*\Z")
_ATTRIBUTE = re.compile(r"<a ([^=]+)=([\"'])(.*)", re.DOTALL)
_POINTED = re.compile(r"<((?:\\[^\n]|[^<>\\\n])*+)(>?)")
_PAREN_OR_BLANK = re.compile(r"\\[()\\]|[()\s]")
_TITLES = {
    mark: re.compile(rf"{re.escape(mark)}(?:\\.|[^\\{re.escape(end)}])*+({re.escape(end)}?)", re.S)
    for mark, end in ('""', "''", "()")
}
_IN_ADDRESS = re.compile(r"(.*(?:\][(:]<?|[\"']))([a\0/]?)", re.DOTALL)
_IN_TAG = (
    "a value cannot stand in a tag of HTML; put it in an attribute in quotes, as"
    ' title="{{ value }}", or write \\< for the sign itself'
)
_BESIDE = (
    "a value cannot stand beside the address of a link; put it in quotes as its title, or write \\]"
    " for a bracket that ends no label"
)
_UNNAMED = 'write the name and the quote of an attribute together, as in title="{{ value }}"'


def _tail(mode: str) -> str:
    return mode.lstrip("[{")


def is_in_label(mode: str) -> bool:
    """Tell whether the brackets of a label are open."""
    return len(mode.removesuffix("]")) - len(_tail(mode).removesuffix("]")) > mode.endswith("]")


def after(mode: str, text: str, *, begins: bool) -> str:
    """Return the mode after a text of one paragraph; `begins`: it begins its line."""
    tail = _tail(mode)
    labels = mode[: len(mode) - len(tail)]
    if tail == "<a ":
        text = text.removeprefix("\0")  # text of a branch, which ends in a blank as well
    text, at = tail + text, 0
    while found := _MARK.search(text, at):
        mark, at = found[0], found.end()
        left = ""
        if mark == "[":
            first = (
                begins and found.start() == len(tail) and not labels and text[at : at + 1] != "^"
            )
            labels += "{" if first else "["
        elif mark[0] == "]":
            if at == len(text) and mark == "]":
                return labels + mark
            is_definition = labels == "{" or (tail[:2] == mark and found.start() == 0)
            if mark == "](" or (mark == "]:" and is_definition):
                left, at = _link(mark, text, at)
            labels = labels[:-1]
        elif mark[0] == "`":
            closed = re.compile(rf"(?<!`){mark}(?!`)").search(text, at)
            left, at = ("", closed.end()) if closed else (f"{mark} ", at)
        elif mark == "<":
            left, at = _angle(text, found.start())
        if left:
            return labels + left
    return labels


def _angle(text: str, at: int) -> tuple[str, int]:
    """Return what `<` at a place of a text leaves open, if it does, and where to read on."""
    whole = _WHOLE_HTML.match(text, at)
    if whole:
        return "", whole.end()
    if at + 1 == len(text) or _NAME.match(text, at):
        return text[at:], at
    autolink = _AUTOLINK.match(text, at)
    if autolink:
        kept = ""
        if autolink.end() == len(text):
            kept = {"<\0": "<\0"}.get(text[at:], "<a:")
        return kept, autolink.end()
    tag = _TAG.match(text, at)
    if tag is None:
        return "", at + 1
    end = tag.end()
    if text[end : end + 1] in ("<", ">"):
        return "", end
    head = tag[0].rstrip().removesuffix("=") if end == len(text) else tag[0]
    if head == tag[0].rstrip() and end == len(text):
        return "<a x" if text[-1].isalnum() else "<a ", at
    name = _ATTRIBUTE_NAME.search(head)
    if name is None or not name[1] or "\0" in name[1]:
        raise PlacementError(_UNNAMED)
    quoted = text[end + 1 :].lstrip()
    if not quoted:
        return f"<a {name[1]}=", at
    return f"<a {name[1]}={quoted[0]}{_in_attribute(name[1].lower(), quoted[1:])}", at


def _in_attribute(name: str, value: str) -> str:
    """Return what to keep of the value of an attribute so far."""
    if not re.fullmatch(URL_ATTRIBUTE, name):
        return ""
    if name.endswith(("srcset", "ping")):
        value = URL_SEPARATOR.split(value)[-1]
    return _shortened(value)


def _shortened(address: str) -> str:
    """Return what to keep of an address so far."""
    if MADE_SCHEME.match(address):
        raise PlacementError(MADE_SCHEME_MESSAGE)
    if SETTLES_SCHEME.search(address):
        return "/"
    return "\0" if "\0" in address else "a" * bool(address)


def _link(opener: str, text: str, at: int) -> tuple[str, int]:
    """Return what a link or definition leaves open, if it does, and where to read on."""
    begin = end = _after_blanks(text, at)
    if end == len(text):
        return opener, end
    if text[end] == "<":
        pointed = _POINTED.match(text, end)
        assert pointed is not None
        end = pointed.end()
        if end == len(text) and not pointed[2]:
            return f"{opener}<{_shortened(pointed[1])}", end
        if not pointed[2]:
            return "", at
    else:
        end, depth = _bare_end(text, end, is_link=opener == "](")
        if end == len(text):
            return opener + _shortened(text[begin:end]) + "(" * depth, end
        if depth:
            return "", at
    return _after_address(opener, text, end) or ("", at)


def _bare_end(text: str, at: int, *, is_link: bool) -> tuple[int, int]:
    """Return where an address without angle brackets ends, and how many brackets it has open."""
    depth = 0
    for found in _PAREN_OR_BLANK.finditer(text, at):
        mark = found[0]
        if mark.isspace() or (mark == ")" and is_link and not depth):
            return found.start(), depth
        if is_link:
            depth += (mark == "(") - (mark == ")")
    return len(text), depth


def _after_address(opener: str, text: str, at: int) -> tuple[str, int] | None:
    """Return what is open after the address, and where to read on; None if this is no link."""
    end = _after_blanks(text, at)
    is_link = opener == "]("
    # The title of a definition may stand on the next line, and need not be there.
    ends_line = not is_link and "\n" in text[at:end]
    if end == len(text):
        return opener + ("/\n" if ends_line else "/ "), end
    if end > at and text[end] in _TITLES:
        title = _TITLES[text[end]].match(text, end)
        assert title is not None
        if not title[1]:
            return f"{opener}/ {text[end]}", title.end()
        at, end = title.end(), _after_blanks(text, title.end())
        if end == len(text) and (is_link or "\n" not in text[at:end]):
            return f'{opener}/ "" ', end
        ends_line = not is_link and "\n" in text[at:end]
    if is_link and text[end : end + 1] == ")":
        return "", end + 1
    return ("", end) if ends_line else None


def _after_blanks(text: str, at: int) -> int:
    found = re.compile(r"\s*+").match(text, at)
    return found.end() if found else at


def place_in(mode: str, *, joined: bool) -> str | None:
    """Return the place of a value in what is open; None in text and in labels.

    `joined`: it follows another value.
    """
    tail = _tail(mode)
    if tail in ("", "]"):
        return None
    if tail[0] == "`":
        raise PlacementError(IN_CODE)
    if tail in ("<", "<\0", "<a:"):
        return {"<": "url_part" if joined else "autolink", "<\0": "url_part"}.get(tail, "url_rest")
    attribute = _ATTRIBUTE.fullmatch(tail)
    if tail[0] == "<" and attribute is None:
        raise PlacementError(_IN_TAG)
    if tail == "]:/\n":
        return "below"
    if tail.endswith(("/ ", '/ "" ')):
        raise PlacementError(_BESIDE)
    if attribute and not re.fullmatch(URL_ATTRIBUTE, attribute[1].lower()):
        return "title"
    if attribute is None and tail.endswith(tuple(_TITLES)) and "/ " in tail:
        return "title"
    address = attribute[3] if attribute else tail[2:].removeprefix("<")
    if joined and not address:
        return "url_part"
    return url_place(address)


def joined_modes(a: str, b: str) -> str:
    """Return the mode where two branches meet; raises `PlacementError`."""
    one, other = _tail(a), _tail(b)
    labels = max(a[: len(a) - len(one)], b[: len(b) - len(other)], key=len)
    if one == other:
        return labels + one
    # Code may be open: no value stands there until backticks close it.
    if {one, other} <= {"", "]"} or (not one and other[0] == "`") or (not other and one[0] == "`"):
        return labels + (one or other)
    if _BETWEEN.fullmatch(one) and _BETWEEN.fullmatch(other):
        return f"{labels}<a x"
    address, another = _IN_ADDRESS.fullmatch(one), _IN_ADDRESS.fullmatch(other)
    if address and another and address[1] == another[1]:
        return f"{labels}{address[1]}\0"
    raise PlacementError(BRANCHES.format("the link or tag"))


def end_of(mode: str) -> None:
    """Raise `PlacementError` if a template or block must not end in this mode."""
    tail = _tail(mode)
    if tail[:1] == "`":
        raise PlacementError("the code is not closed; write its backticks again, or \\` for one")
    if tail == "]:" or is_broken_by_blank_line(mode):
        message = "a template or block cannot begin or end in a link or tag; close it first"
        raise PlacementError(f"{message}, or write \\] and \\< for the signs themselves")


def is_broken_by_blank_line(mode: str) -> bool:
    """Tell whether a blank line would end a link or tag that is open here."""
    tail = _tail(mode)
    return tail[:1] == "<" or tail[:2] == "](" or tail.endswith(('/ "', "/ '", "/ ("))
