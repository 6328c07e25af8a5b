"""Write the rendered text into a file of cases; nothing else in it changes."""

from __future__ import annotations

import json
import re

from ..errors import ItemError
from ..yamltext import load_with_lines
from .cases import Case

# Strings that YAML reads as themselves without quotes, but for its words.
_BARE = re.compile(r"(?:\.\./)*[A-Za-z][A-Za-z0-9_./-]*")
_WORDS = {"true", "false", "null", "none", "yes", "no", "on", "off", "y", "n"}


def updated(source: str, case: Case, text: str) -> str:
    """Return the file `source` with `text` as the expected text of `case`.

    Raises `ItemError` if the text does not stand on lines of its own.
    """
    _, lines = load_with_lines(source, str(case.path))
    number = lines[("cases", case.number, "text")]
    rows = source.split("\n")
    key = re.match(r"((?:[ ]*-[ ]+)?[ ]*)(text|\"text\"|'text')[ ]*:", rows[number - 1])
    where = f"{case.path}:{number}"
    if key is None:
        message = "text is not on lines of its own; put it there, or use file"
        raise ItemError(message, where=where)
    margin = len(key[1])
    end = number
    while end < len(rows) and (not rows[end].strip() or _indent(rows[end]) > margin):
        end += 1
    # Blank lines after the text part it from the next case.
    while end > number and not rows[end - 1].strip():
        end -= 1
    first, *more = written(text.rstrip("\n"), margin)
    result = "\n".join([*rows[: number - 1], f"{key[0]} {first}", *more, *rows[end:]])
    values, _ = load_with_lines(result, str(case.path))
    if (values["cases"][case.number].get("text") or "").rstrip("\n") != text.rstrip("\n"):
        raise ItemError("the text cannot be written in its place; use file", where=where)
    return result


def _indent(row: str) -> int:
    return len(row) - len(row.lstrip(" "))


def written(text: str, margin: int) -> list[str]:
    """Return the lines of a text as the value of a YAML key indented by `margin` blanks."""
    if not text or any(not char.isprintable() and char not in "\n\t" for char in text):
        return [plain(text)]
    indent = " " * (margin + 2)
    head = "|"
    if text[0] in " \n\t":
        head = "|2"  # YAML would take blanks of the first line for indentation
    return [head, *(indent + line if line else "" for line in text.split("\n"))]


def plain(value: object) -> str:
    """Return plain data on one line of YAML, with unprintable characters escaped."""
    if isinstance(value, str) and _BARE.fullmatch(value) and value.lower() not in _WORDS:
        return value
    shown = json.dumps(value, ensure_ascii=False)
    if not shown.isprintable():
        shown = json.dumps(value).replace("\x7f", "\\u007f")
    return shown
