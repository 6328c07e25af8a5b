"""Writing what is printed now into a file of cases, so that nothing else in it changes."""

from __future__ import annotations

import json
import re

from ..errors import ItemError
from ..yamltext import load_with_lines
from .cases import Case

_BARE = re.compile(r"(?:\.\./)*[A-Za-z][A-Za-z0-9_./-]*")
_WORDS = {"true", "false", "null", "none", "yes", "no", "on", "off", "y", "n"}


def updated(source: str, case: Case, text: str) -> str:
    """Return the file `source` with `text` as the expected text of `case`; comments and all other lines stay.

    Raises `ItemError` where the text does not stand on lines of its own.
    """
    _, lines = load_with_lines(source, str(case.path))
    number = lines[("cases", case.number, "text")]
    rows = source.split("\n")
    key = re.match(r"((?:[ ]*-[ ]+)?[ ]*)(text|\"text\"|'text')[ ]*:", rows[number - 1])
    where = f"{case.path}:{number}"
    if key is None:
        raise ItemError(
            "text is not on lines of its own, so it cannot be updated; put it there, or use file",
            where=where,
        )
    margin = len(key[1])
    end = number
    while end < len(rows) and (
        not rows[end].strip() or len(rows[end]) - len(rows[end].lstrip(" ")) > margin
    ):
        end += 1
    while end > number and not rows[end - 1].strip():  # what keeps it from the next case
        end -= 1
    new = [
        f"{key[0]} {first}" if not n else first
        for n, first in enumerate(written(text.rstrip("\n"), margin))
    ]
    result = "\n".join([*rows[: number - 1], *new, *rows[end:]])
    values, _ = load_with_lines(result, str(case.path))
    if (values["cases"][case.number].get("text") or "").rstrip("\n") != text.rstrip("\n"):
        raise ItemError("the text cannot be written in its place; use file", where=where)
    return result


def written(text: str, margin: int) -> list[str]:
    """Return a text as the value of a key that stands `margin` blanks from the left: its first line, then others."""
    if not text or any(not char.isprintable() and char not in "\n\t" for char in text):
        return [plain(text)]
    indent = " " * (margin + 2)
    head = "|2" if text[0] in " \n\t" else "|"
    return [head, *(indent + line if line else "" for line in text.split("\n"))]


def plain(value: object) -> str:
    """Return plain data on one line that YAML reads as it is; characters that it takes in no text are escaped."""
    if isinstance(value, str) and _BARE.fullmatch(value) and value.lower() not in _WORDS:
        return value
    shown = json.dumps(value, ensure_ascii=False)
    return (shown if shown.isprintable() else json.dumps(value)).replace("\x7f", "\\u007f")
