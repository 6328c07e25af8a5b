"""The place of each value in a template, found from the template's own text before it."""

from __future__ import annotations

import re
from typing import ClassVar

VALUE = object()
"""A printed value, in a line of a template."""
TITLE = object()
"""A printed `section.title`. A line of it alone is known as soon as the sections are."""

Line = tuple[object, ...]
"""A line of a template so far: its own texts, `VALUE`s and `TITLE`s."""


class RefusedError(ValueError):
    """A value that no escape could keep in its place, or text that would swallow a value."""


class Syntax:
    """Plain text, and the base of the other syntaxes.

    `feed` follows the template's own text from mode to mode. A mode is a word for what is open
    there, such as `tag` or `string`; `""` is the ordinary one.
    """

    def start(self, known: bool) -> str:
        """Return the mode at the beginning; not `known` in a block, which another template embeds."""
        return ""

    def feed(self, mode: str, line: Line, text: str) -> str:
        """Return the mode after `text`, which continues `line`; raises `RefusedError`."""
        return mode

    def place(self, mode: str, line: Line) -> str:
        """Return the place of a value after `line`; raises `RefusedError`."""
        return "inline" if static(line).strip() or _has_values(line) else "line"

    def join(self, a: str, b: str) -> str:
        """Return the mode where two branches of different modes meet; raises `RefusedError`."""
        return a

    def end(self, mode: str) -> None:
        """Raise `RefusedError` if a template, block or macro must not end in this mode."""


def static(line: Line) -> str:
    """Return the template's own text in a line."""
    return "".join(part for part in line if isinstance(part, str))


def _ends_with_backslash(text: str) -> bool:
    """Tell whether a text ends with an odd number of backslashes, so the last one escapes."""
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


def _after_value(line: Line) -> bool:
    return bool(line) and not isinstance(line[-1], str)


def _has_values(line: Line) -> bool:
    return any(not isinstance(part, str) for part in line)


class _Markdown(Syntax):
    """CommonMark with GFM tables. Modes: `html` in a block of HTML, `fence` in the author's fence."""

    # Marks of lists and quotes, after which a line begins anew.
    _marks = re.compile(r"(?:[ \t]*(?:[-+*>]|[0-9]{1,9}[.)]))*[ \t]*")
    # Blocks of HTML that a blank line does not end (CommonMark 0.31, §4.6, kinds 1 to 5), and
    # comments anywhere.
    _raw = re.compile(
        r"(?im)^ {0,3}<(?:(?:pre|script|style|textarea)\b|\?|!\[CDATA\[|![a-z])|<!--(?!.*-->)"
    )
    _html = re.compile(r" {0,3}</?[A-Za-z]")
    _fence = re.compile(r" {0,3}(?:```|~~~)")

    def feed(self, mode: str, line: Line, text: str) -> str:
        if hidden := self._raw.search(text):
            raise RefusedError(
                f'"{hidden[0].strip()}" opens a block of HTML, and a fence in it is not one'
            )
        first, *rest = text.split("\n")
        if not _has_values(line):  # otherwise the line began long before
            before = static(line)
            mode = self._after(mode, before + first, before, ended=bool(rest))
        for number, whole in enumerate(rest, 1):
            mode = self._after(mode, whole, ended=number < len(rest))
        return mode

    def _after(self, mode: str, line: str, before: str = "", *, ended: bool) -> str:
        """Return the mode after a line; `before` is the part of it that has been read already."""
        if mode != "fence" and self._html.match(line):
            return "html"
        if self._fence.match(line) and not self._fence.match(before):
            return "" if mode == "fence" else "fence"
        if mode == "html" and ended and not line.strip():
            return ""
        return mode

    def place(self, mode: str, line: Line) -> str:
        before = static(line)
        if before.lstrip().startswith(("```", "~~~")) or before.count("`") % 2:
            raise RefusedError(
                "a value cannot stand between backticks; write {{ value | code }} without them"
            )
        if mode == "fence":
            raise RefusedError(
                "a value cannot stand in a fence of the template's own;"
                " write {{ value | fence }} instead"
            )
        if mode == "html":
            raise RefusedError(
                "a value cannot stand in a block of HTML; end the block with a blank line"
            )
        if _ends_with_backslash(before):
            raise RefusedError("a backslash before a value would undo its escape; write two")
        # `#` and the value `a` would be a word, no heading; `1` and the value `.` a list.
        if re.fullmatch(r"[ \t]*(?:#{1,6}|[0-9]{1,9})", before):
            raise RefusedError(
                f'"{before.strip()}" and a value would make one word; put a blank between them'
            )
        if _after_value(line):  # two values could make a link or an entity together
            return "joined"
        if self._marks.fullmatch(before):
            return "line"
        if before.count("[") > before.count("]"):
            return "link"
        return "cell" if before.lstrip().startswith("|") else "inline"

    def join(self, a: str, b: str) -> str:
        # The mode that refuses more: either branch may have been taken.
        return "fence" if "fence" in (a, b) else "html"

    def end(self, mode: str) -> None:
        if mode == "html":
            raise RefusedError(
                "a block of HTML must be followed by a blank line; leave one after it"
            )
        if mode == "fence":
            raise RefusedError(
                "the fence is not closed; write its marks again on a line of their own"
            )


class _Xml(Syntax):
    """XML 1.0, and HTML by the same rules. Modes: `tag`, `attribute`, `comment`, `unknown`."""

    _text = re.compile(r"<!(?=--)|<!\[CDATA\[|[<>]")
    _marks: ClassVar = {
        "": _text,
        "unknown": _text,  # the first angle bracket tells
        "tag": re.compile(r"[\"'>]"),
        "attribute": re.compile(r'"'),
        "comment": re.compile(r"-->"),
    }
    """By mode: the marks that may end it."""

    def start(self, known: bool) -> str:
        return "" if known else "unknown"

    def feed(self, mode: str, line: Line, text: str) -> str:
        at = 0
        while found := self._marks[mode].search(text, at):
            mark, at = found[0], found.end()
            if mark == "'":
                at = text.find("'", at) + 1
                if at == 0:
                    raise RefusedError("write attributes in double quotes")
            elif mark == "<![CDATA[":
                at = text.find("]]>", at) + 3
                if at == 2:
                    raise RefusedError("a value cannot stand in a CDATA section; print it as text")
            elif mark == '"':
                mode = "tag" if mode == "attribute" else "attribute"
            else:
                mode = {"<!": "comment", "<": "tag", ">": "", "-->": ""}[mark]
        return mode

    def place(self, mode: str, line: Line) -> str:
        if mode in ("tag", "comment"):
            raise RefusedError(
                f"a value cannot stand in a {mode}; put it in an attribute in double quotes"
            )
        if mode:
            return mode
        # XML text must not hold `]]>`: after `]`, or a value that ends so, `]>` would make one.
        return "joined" if _after_value(line) or static(line).endswith("]") else "text"

    def join(self, a: str, b: str) -> str:
        if {a, b} & {"tag", "comment"}:
            raise RefusedError(
                "the branches of an if or a loop must both end inside the tag, or both outside"
            )
        return "unknown"

    def end(self, mode: str) -> None:
        if mode in ("tag", "attribute", "comment"):
            article = "an" if mode == "attribute" else "a"
            raise RefusedError(
                f"a template or block cannot begin or end in {article} {mode}; close it first"
            )


class _Json(Syntax):
    """JSON. Mode: `string` inside quotes that the template has opened."""

    def feed(self, mode: str, line: Line, text: str) -> str:
        for mark in re.findall(r'\\.|"', text, re.DOTALL):
            if mark == '"':
                mode = "" if mode else "string"
        return mode

    def place(self, mode: str, line: Line) -> str:
        before = static(line)
        if mode and _ends_with_backslash(before):
            raise RefusedError("a backslash before a value would make an escape of it; write two")
        return mode or "value"

    def join(self, a: str, b: str) -> str:
        raise RefusedError(
            "the branches of an if or a loop must both end inside quotes, or both outside"
        )

    def end(self, mode: str) -> None:
        if mode:
            raise RefusedError('the quotes are not closed; write " where the text ends')


SYNTAXES = {"md": _Markdown(), "xml": _Xml(), "json": _Json(), "txt": Syntax()}
"""By the syntax of a template, as `escaping.syntax_of` gives it."""
