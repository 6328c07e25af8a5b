"""Places in a template: lines and columns for messages, the values on a line, offsets of nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from jinja2 import nodes

from ..errors import Excerpt, show

_TAG = re.compile(r"\{[{%].*?(?:[}%]\}|$)")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_PATH = re.compile(r"(?<![\w.|])(?<!\| )[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
MOST = 6
"""Values shown in one message."""
_LONGEST = 60
"""Characters shown of one value."""
_KINDS = {
    "NoneType": "nothing",
    "bool": "yes or no",
    **dict.fromkeys(("int", "float"), "a number"),
    **dict.fromkeys(("str", "Content", "Safe", "Block", "Verbatim"), "a text"),
    **dict.fromkeys(("Tags", "Opens", "Closes"), "a text"),
    **dict.fromkeys(("list", "tuple"), "a list"),
    **dict.fromkeys(("Open", "Fields", "dict"), "fields"),
}
"""Names of types, as an author of templates calls their values."""


def excerpt(source: str, line: int, message: str) -> Excerpt | None:
    """Return a line of `source` with the columns to mark, or `None` for a blank line.

    They are those of the word that `message` quotes, else of the only tag, else of the whole line.
    """
    lines = source.split("\n")
    if not 1 <= line <= len(lines) or not lines[line - 1].strip():
        return None
    text = lines[line - 1]
    for word in re.findall(r'"([^"]+)"', message)[:1]:
        found = re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text)
        if found:
            return Excerpt(line, text, found.start() + 1, found.end() + 1)
    tags = list(_TAG.finditer(text))
    if len(tags) == 1:
        return Excerpt(line, text, tags[0].start() + 1, tags[0].end() + 1)
    return Excerpt(line, text, len(text) - len(text.lstrip()) + 1, len(text.rstrip()) + 1)


def at(source: str, start: int, length: int) -> Excerpt:
    """Return the line at an offset of `source`, with the columns of `length` characters."""
    begin = source.rfind("\n", 0, start) + 1
    line = source[begin:].partition("\n")[0]
    column = start - begin + 1
    return Excerpt(
        source.count("\n", 0, start) + 1, line, column, min(column + max(length, 1), len(line) + 2)
    )


def values(line: str, variables: Mapping[str, Any]) -> str:
    """Return the values that a line uses, as in `item.start_line is none`, at most `MOST`."""
    said: dict[str, str] = {}
    for tag in _TAG.findall(line):
        for path in _PATH.findall(_QUOTED.sub('""', tag)):
            for name, value in _reached(path, variables):
                said.setdefault(name, _cut(show(value)))
    parts = [f"{name} is {value}" for name, value in said.items()]
    if len(parts) > MOST:
        parts[MOST:] = ["…"]
    return ", ".join(parts)


def _reached(path: str, variables: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield path and value of a dotted path that leads to a plain value."""
    first, *rest = path.split(".")
    if first not in variables:
        return
    value = variables[first]
    for name in rest:
        if not isinstance(value, dict) or name not in value:
            return
        value = value[name]
    if value is None or isinstance(value, str | int | float | list):
        yield path, str.__str__(value) if isinstance(value, str) else value


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def local(frame: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the variables at a point of a compiled template, by the locals of its `frame`.

    Jinja calls them `l_NUMBER_NAME`; a higher number hides a lower one.
    """
    found = dict(variables)
    for name in sorted(frame, key=lambda n: int(n.split("_")[1]) if re.match(r"l_\d+_", n) else -1):
        match = re.match(r"l_\d+_(.+)", name)
        if match and not _is_missing(frame[name]):
            found[match[1]] = frame[name]
    return found


def _is_missing(value: object) -> bool:
    return type(value).__name__ in ("MissingType", "Missing")


def plainly(error: Exception) -> str:
    """Return an error of Python in the words of the template's author."""
    message = str(error)
    names = [_KINDS.get(name, name) for name in re.findall(r"'(\w+)'", message)]
    if isinstance(error, TypeError):
        if "not supported between" in message and len(names) > 1:
            both = f"{names[-2]} and {names[-1]}"
            return f"{both} cannot be compared; ask first whether the value is there"
        if "unsupported operand" in message or "concatenate" in message:
            return "+ and - take two numbers, and + two texts; ~ joins any two values"
        if "not iterable" in message and names:
            return f"{names[0]} is no list, and for needs one"
    return f"cannot be worked out: {message} ({type(error).__name__})"


# --- the place of a node -----------------------------------------------------------------------------


class At(int):
    """A line number that also knows its offset in the text.

    Jinja keeps nothing but the line of a token in the nodes and errors it makes, and passes it on
    untouched. So the offset travels inside the line.
    """

    offset: int = 0

    def __new__(cls, line: int, offset: int) -> At:
        """Return the line with its offset."""
        new = super().__new__(cls, line)
        new.offset = offset
        return new


SIGNS = {"Mul": "*", "Div": "/", "FloorDiv": "//", "Mod": "%", "Pow": "**"}
"""Arithmetic that templates have not, as it is written."""
_OPENINGS = {
    "fence": r"^ {0,3}(`{3,}|~{3,})",
    "quotes": r'(?<!\\)(")',
    "HTML": r"(?:\A|\n\s*\n) {0,3}(<[^\s>]*)",
    "cannot begin or end": r"(<[^\s>]*)",
}
"""Keyword of a message → the opening delimiter it refers to."""


def offset(node: nodes.Node) -> int:
    """Return the offset of a node in its text."""
    line = node.lineno
    if isinstance(line, At):
        return line.offset
    return next((n.lineno.offset for n in node.find_all(nodes.Node) if isinstance(n.lineno, At)), 0)


def word_after(text: str, start: int, before: str) -> tuple[int, int]:
    """Return offset and length of the word that follows the pattern `before` at `start`."""
    match = re.compile(before).match(text, start)
    found = match.end() if match else start
    word = re.compile(r"\w+").match(text, found)
    return found, len(word[0]) if word else 1


def word_at(text: str, start: int) -> int:
    """Return the length of the word, quoted text or sign at an offset."""
    match = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|\w+|\S").match(text, start)
    return len(match[0]) if match else 1


def without_tags(text: str) -> str:
    """Return a template's own text, with every tag, value and comment blanked out by `_`."""
    tags = r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}"
    return re.sub(tags, lambda tag: re.sub(r"[^\n]", "_", tag[0]), text, flags=re.DOTALL)


def locate(node: nodes.Node, message: str, text: str) -> tuple[int, int]:
    """Return offset and length of the characters at a node that a `message` refers to."""
    start = offset(node)
    if isinstance(node, nodes.Template):  # left open at the end
        return _opening(message, text)
    if isinstance(node, nodes.BinExpr):
        sign = SIGNS.get(type(node).__name__, "+")
        return max(text.rfind(sign, start, offset(node.right)), start), len(sign)
    if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr):
        return word_after(text, offset(node.node), r"\.\s*")
    if isinstance(node, nodes.Getattr):
        return word_after(text, start, r"\.\s*")
    if isinstance(node, nodes.Test):
        return word_after(text, start, r"is\s+(?:not\s+)?")
    if isinstance(node, nodes.Filter):
        return start, len(node.name)
    if not isinstance(node, nodes.TemplateData):
        return start, word_at(text, start)
    if "in double quotes" in message:
        return max(text.find("'", start), start), 1
    quoted = re.match(r'"(.+?)" ', message)
    found = text.find(quoted[1], start) if quoted else -1
    return (found, len(quoted[1])) if quoted and found >= 0 else (start, 1)


def _opening(message: str, text: str) -> tuple[int, int]:
    """Return offset and length of the delimiter that the template's own text opens and not closes."""
    own = without_tags(text)
    for word, pattern in _OPENINGS.items():
        if word in message and (found := list(re.finditer(pattern, own, re.MULTILINE))):
            return found[-1].start(1), len(found[-1][1])
    last = text.rfind("\n", 0, len(text.rstrip())) + 1
    return last, len(text.rstrip()) - last
