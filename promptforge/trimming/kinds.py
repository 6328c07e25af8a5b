"""Which kind of text is shortened how."""

from __future__ import annotations

from collections.abc import Callable

from . import attack, jsontext, man, markdown, python_code
from .pieces import Ladder, Pieces

Reader = Callable[..., Pieces | Ladder | None]



def _json(text: str, *, marker: str, language: str | None) -> Ladder | None:
    return jsontext.ladder(text, marker=marker)


BY_KIND: dict[str, Reader] = {
    "man_page": man.divide,
    "mitre_attack": attack.divide,
}
"""By an item's kind; this goes before its language."""
BY_LANGUAGE: dict[str, Reader] = {
    "json": _json,
    "jsonl": _json,
    "markdown": markdown.divide,
    "python": python_code.divide,
}


def read(kind: str, language: str | None, text: str, marker: str) -> Pieces | Ladder | None:
    """Return the shorter forms of `text`, an item's of this kind and language; `None`: it has no known structure."""
    reader = BY_KIND.get(kind) or BY_LANGUAGE.get(language or "")
    return reader(text, marker=marker, language=language) if reader else None
