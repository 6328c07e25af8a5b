"""Where in a template something went wrong: the line, the columns, and the values that the line used."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import Excerpt, show

_TAG = re.compile(r"\{[{%].*?(?:[}%]\}|$)")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_PATH = re.compile(r"(?<![\w.|])(?<!\| )[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
MOST = 6
"""Values that are named."""
_LONGEST = 60
"""Characters of a value that are shown."""
_KINDS = {
    "NoneType": "nothing", "int": "a number", "float": "a number", "bool": "yes or no", "str": "a text",
    "Content": "a text", "Safe": "a text", "Block": "a text", "Verbatim": "a text", "Tags": "a text",
    "Opens": "a text", "Closes": "a text", "list": "a list", "tuple": "a list", "Open": "fields",
    "Fields": "fields", "dict": "fields",
}  # fmt: skip


def excerpt(source: str, line: int, message: str) -> Excerpt | None:
    """Return the line of `source`, with the columns of what `message` names in quotes, or of its only tag, or all."""
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
    """Return the line of a place of `source`, with the columns of `length` characters, as far as the line goes."""
    begin = source.rfind("\n", 0, start) + 1
    line = source[begin:].partition("\n")[0]
    column = start - begin + 1
    return Excerpt(
        source.count("\n", 0, start) + 1, line, column, min(column + max(length, 1), len(line) + 2)
    )


def values(line: str, variables: Mapping[str, Any]) -> str:
    """Return what the values that a line uses are, as `item.start_line is none`; capped, and escaped as in messages."""
    said: dict[str, str] = {}
    for tag in _TAG.findall(line):
        for path in _PATH.findall(_QUOTED.sub('""', tag)):
            for name, value in _reached(path, variables):
                said.setdefault(name, _cut(show(value)))
    parts = [f"{name} is {value}" for name, value in said.items()]
    return ", ".join(parts[:MOST]) + (", …" if len(parts) > MOST else "")


def _reached(path: str, variables: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the value of a dotted path, if it leads to one that is no mapping."""
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
    """Return the variables at a point of a compiled template: `frame` holds its locals as Jinja names them."""
    found = dict(variables)
    for name in sorted(frame, key=lambda n: int(n.split("_")[1]) if re.match(r"l_\d+_", n) else -1):
        match = re.match(r"l_\d+_(.+)", name)
        if match and not _is_missing(frame[name]):
            found[match[1]] = frame[name]
    return found


def _is_missing(value: object) -> bool:
    return type(value).__name__ in ("MissingType", "Missing")


def plainly(error: Exception) -> str:
    """Return an error of Python's as somebody reads it who knows the template alone."""
    message = str(error)
    names = [_KINDS.get(name, name) for name in re.findall(r"'(\w+)'", message)]
    if isinstance(error, TypeError) and "not supported between" in message and len(names) > 1:
        return (
            f"{names[-2]} and {names[-1]} cannot be compared; ask first whether the value is there"
        )
    if isinstance(error, TypeError) and (
        "unsupported operand" in message or "concatenate" in message
    ):
        return "+ and - take two numbers, and + two texts; ~ joins any two values"
    if isinstance(error, TypeError) and "not iterable" in message and names:
        return f"{names[0]} is no list, and for needs one"
    return f"cannot be worked out: {message} ({type(error).__name__})"
