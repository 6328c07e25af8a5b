"""The places of each syntax: where in its text a value may land, told from the template's own text before it."""

from __future__ import annotations

import re
from typing import Protocol

VALUE = object()
"""A printed value, in a line of a template."""
TITLE = object()
"""The same where it is `section.title`: a line of it alone is known once it is known which sections there are."""

Line = tuple[object, ...]
"""The current line of a template so far: its own texts and `VALUE`s."""


class RefusedError(ValueError):
    """A template that puts a value where no escape could keep it, or text where a value would be lost."""


class Syntax(Protocol):
    """How one syntax is followed through a template's own text. A mode is a word, `""` the ordinary one."""

    def start(self, known: bool) -> str:
        """Return the mode at the beginning; not `known` where another template decides what stands before."""
        ...

    def feed(self, mode: str, line: Line, text: str) -> str:
        """Return the mode after `text`, which goes on from `line`."""
        ...

    def place(self, mode: str, line: Line) -> str:
        """Return the place of a value after `line`; raises `RefusedError`."""
        ...

    def join(self, a: str, b: str) -> str:
        """Return the mode where two branches of different modes meet."""
        ...

    def end(self, mode: str) -> None:
        """Raise `RefusedError` where a template, block or macro must not end, nor another begin, in this mode."""
        ...


def static(line: Line) -> str:
    """Return the template's own text in a line."""
    return "".join(part for part in line if isinstance(part, str))


def _after_value(line: Line) -> bool:
    return bool(line) and not isinstance(line[-1], str)


def _has_values(line: Line) -> bool:
    return any(not isinstance(part, str) for part in line)


class Markdown:
    """CommonMark, with the tables of GFM. Modes: `html` in a block of HTML, `fence` in a fence of the author's own."""

    # What lists and quotes put before a line of their own.
    _marks = re.compile(r"(?:[ \t]*(?:[-+*>]|[0-9]{1,9}[.)]))*[ \t]*")
    # Blocks of HTML that a blank line does not end (CommonMark 0.31, §4.6, kinds 1 to 5), and comments anywhere.
    _raw = re.compile(
        r"(?im)^ {0,3}<(?:(?:pre|script|style|textarea)\b|\?|!\[CDATA\[|![a-z])|<!--(?!.*-->)"
    )
    _html = re.compile(r" {0,3}</?[A-Za-z]")
    _fence = re.compile(r" {0,3}(?:```|~~~)")

    def start(self, known: bool) -> str:
        """Return the ordinary mode, or that of another template's middle."""
        return ""

    def feed(self, mode: str, line: Line, text: str) -> str:
        """Follow the template's own text."""
        if hidden := self._raw.search(text):
            raise RefusedError(
                f'"{hidden[0].strip()}" opens a block of HTML in which a fence is not one'
            )
        lines = text.split("\n")
        begun = _has_values(line)
        for number, rest in enumerate(lines):
            whole = rest if number else static(line) + rest
            if not (begun and number == 0):
                if mode != "fence" and self._html.match(whole):
                    mode = "html"
                elif self._fence.match(whole) and (number or not self._fence.match(static(line))):
                    mode = "" if mode == "fence" else "fence"
                elif mode == "html" and number < len(lines) - 1 and not whole.strip():
                    mode = ""
        return mode

    def place(self, mode: str, line: Line) -> str:
        """Return the place of a value, or refuse it."""
        before = static(line)
        if before.lstrip().startswith(("```", "~~~")) or before.count("`") % 2:
            raise RefusedError(
                "a value cannot stand between backticks; write {{ value | code }} without them"
            )
        if mode == "fence":
            raise RefusedError(
                "a value cannot stand in a fence of the template's own; write {{ value | fence }} instead"
            )
        if mode == "html":
            raise RefusedError(
                "a value cannot stand in a block of HTML; end the block with a blank line"
            )
        if (len(before) - len(before.rstrip("\\"))) % 2:
            raise RefusedError("a backslash before a value would undo its escape; write two")
        if re.fullmatch(r"[ \t]*(?:#{1,6}|[0-9]{1,9})", before):
            raise RefusedError(
                f'"{before.strip()}" and a value would make one word; put a blank between them'
            )
        if _after_value(line):
            return "joined"
        if self._marks.fullmatch(before):
            return "line"
        if before.count("[") > before.count("]"):
            return "link"
        return "cell" if before.lstrip().startswith("|") else "inline"

    def join(self, a: str, b: str) -> str:
        """Return the mode that is right for both."""
        return "fence" if "fence" in (a, b) else "html"

    def end(self, mode: str) -> None:
        """Refuse what would be left open."""
        if mode == "html":
            raise RefusedError(
                "a block of HTML must be followed by a blank line; leave one after it"
            )
        if mode == "fence":
            raise RefusedError(
                "the fence is not closed; write its marks again on a line of their own"
            )


_ARTICLES = {"tag": "a", "attribute": "an", "comment": "a"}


class Xml:
    """XML 1.0, and HTML by the same rules. Modes: `tag`, `attribute`, `comment`, `unknown`."""

    def start(self, known: bool) -> str:
        """Return the ordinary mode, or that of another template's middle."""
        return "" if known else "unknown"

    def feed(self, mode: str, line: Line, text: str) -> str:
        """Follow the template's own text."""
        at = 0
        while at < len(text):
            char = text[at]
            if mode == "comment":
                end = text.find("-->", at)
                if end < 0:
                    return mode
                mode, at = "", end + 2
            elif mode == "attribute":
                mode = "tag" if char == '"' else mode
            elif mode == "tag":
                if char == "'":
                    end = text.find("'", at + 1)
                    if end < 0:
                        raise RefusedError("write attributes in double quotes")
                    at = end
                mode = {">": "", '"': "attribute"}.get(char, mode)
            elif text.startswith("<!--", at):
                mode = "comment"
            elif text.startswith("<![CDATA[", at):
                end = text.find("]]>", at)
                if end < 0:
                    raise RefusedError("a value cannot stand in a CDATA section; print it as text")
                at = end + 2
            elif char in "<>":  # from unknown, the first angle bracket tells
                mode = "tag" if char == "<" else ""
            at += 1
        return mode

    def place(self, mode: str, line: Line) -> str:
        """Return the place of a value, or refuse it."""
        if mode in ("tag", "comment"):
            raise RefusedError(
                f"a value cannot stand in a {mode}; put it in an attribute in double quotes"
            )
        if mode:
            return mode
        return "joined" if _after_value(line) or static(line).endswith("]") else "text"

    def join(self, a: str, b: str) -> str:
        """Return the mode that is right for both."""
        if {a, b} & {"tag", "comment"}:
            raise RefusedError(
                "the branches of an if or a loop must both end inside the tag, or both outside"
            )
        return "unknown"

    def end(self, mode: str) -> None:
        """Refuse what would be left open."""
        if mode in ("tag", "attribute", "comment"):
            raise RefusedError(
                f"a template or block cannot begin or end in {_ARTICLES[mode]} {mode}; close it first"
            )


class Json:
    """JSON. Mode: `string` inside quotes that the template has opened."""

    def start(self, known: bool) -> str:
        """Return the ordinary mode, or that of another template's middle."""
        return ""

    def feed(self, mode: str, line: Line, text: str) -> str:
        """Follow the template's own text."""
        for mark in re.findall(r'\\.|"', text, re.DOTALL):
            if mark == '"':
                mode = "" if mode else "string"
        return mode

    def place(self, mode: str, line: Line) -> str:
        """Return the place of a value, or refuse it."""
        before = static(line)
        if mode and (len(before) - len(before.rstrip("\\"))) % 2:
            raise RefusedError("a backslash before a value would make an escape of it; write two")
        return mode or "value"

    def join(self, a: str, b: str) -> str:
        """Return the mode that is right for both."""
        raise RefusedError(
            "the branches of an if or a loop must both end inside quotes, or both outside"
        )

    def end(self, mode: str) -> None:
        """Refuse what would be left open."""
        if mode:
            raise RefusedError('the quotes are not closed; write " where the text ends')


class Plain:
    """Text without a syntax of its own."""

    def start(self, known: bool) -> str:
        """Return the ordinary mode, or that of another template's middle."""
        return ""

    def feed(self, mode: str, line: Line, text: str) -> str:
        """Follow the template's own text."""
        return mode

    def place(self, mode: str, line: Line) -> str:
        """Return the place of a value, or refuse it."""
        return "inline" if static(line).strip() or _has_values(line) else "line"

    def join(self, a: str, b: str) -> str:
        """Return the mode that is right for both."""
        return a

    def end(self, mode: str) -> None:
        """Refuse what would be left open."""


SYNTAXES: dict[str, Syntax] = {"md": Markdown(), "xml": Xml(), "json": Json(), "txt": Plain()}
"""By the extension of a template, as `escaping.syntax_of` gives it."""
