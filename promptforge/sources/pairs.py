"""Read texts with their true counts of tokens: JSON Lines of `{"text": …, "tokens": N}`."""

from __future__ import annotations

import json
import os
from typing import NamedTuple

from ..diagnostics import Diagnostics
from ..errors import nearest, quote
from . import workspace as places


class Pair(NamedTuple):
    """A text and its true tokens."""

    text: str
    tokens: int
    where: str
    """File and line."""


def load(path: str, *, diagnostics: Diagnostics, workspace: str | os.PathLike[str]) -> list[Pair]:
    """Read the pairs in a file, or on standard input (`-`); a bad line costs only itself (PF204).

    Raises `ItemError` if the file cannot be read.
    """
    text, where = places.read_named(path, workspace=workspace, diagnostics=diagnostics)
    return parse(text, where=where, diagnostics=diagnostics)


def parse(text: str, *, where: str, diagnostics: Diagnostics) -> list[Pair]:
    """Parse one pair a line; fields other than `text` and `tokens` are ignored."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            content, tokens = _take(record)
        except json.JSONDecodeError as error:
            message = f"not valid JSON: {error.msg} (column {error.colno}); the line is left out"
            diagnostics.add("PF204", message, where=f"{where}:{number}")
        # A wrong field, a number of too many digits, or too much nesting.
        except (ValueError, RecursionError) as error:
            message = f"{str(error) or 'it nests too deeply'}; the line is left out"
            diagnostics.add("PF204", message, where=f"{where}:{number}")
        else:
            found.append(Pair(content, tokens, f"{where}:{number}"))
    return found


def _take(record: object) -> tuple[str, int]:
    if not isinstance(record, dict):
        raise ValueError('expected an object such as {"text": "…", "tokens": 7}')
    for field in ("text", "tokens"):
        if field not in record:
            raise ValueError(f"no field {quote(field)}{nearest(field, map(str, record))}")
    text, tokens = record["text"], record["tokens"]
    if not isinstance(text, str):
        raise ValueError(f"text: expected a text, not {type(text).__name__}")
    if not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 0:
        shown = type(tokens).__name__
        if isinstance(tokens, int | float):
            shown = json.dumps(tokens)[:40]
        raise ValueError(f"tokens: expected a whole number from 0 up, not {shown}")
    return text, tokens
