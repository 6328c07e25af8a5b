"""Shorten one text of a history by its kind, in the light of the question of its own turn."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..model import Item
from ..rendering.renderer import ContextRenderer
from ..text.detection import detect_language
from ..tokenizers.counters import Counter

CONTENTS_LAYOUTS = Path(__file__).parent / "layouts"
"""The folder of the layout `contents`: texts alone, for what stands in a block of its own."""
MAX_TEXTS_REMEMBERED = 4096
"""Shortened texts remembered by each shortener: an agent sends its whole history each time."""
MAX_SHORTENERS_REMEMBERED = 16
MAX_QUESTION_CHARS = 400
"""Characters at each end of a long text of the user that are taken for its question."""
TOKENS_BETWEEN = 2
"""Tokens of the line ends around a pasted text."""
_DATA = ("html", "json", "repr", "xml")
_PLAIN: dict[str, Any] = {
    "layout": "contents",
    "format": "plain",
    "framing": "auto",
    "control_text": "keep",
    "max_items": None,
    "min_score": None,
}


class TextShortener:
    """Shortens texts, counted by one tokenizer and with one marker of a cut."""

    def __init__(self, counter: Counter, marker: str) -> None:
        given = {**_PLAIN, "tokenizer": counter, "marker": marker}
        self._count = counter.count
        self._renderer = ContextRenderer(templates=CONTENTS_LAYOUTS, **given)
        self._remembered: dict[tuple[bytes, str, int, bool], str] = {}

    def shorten(self, text: str, query: str, tokens: int, failed: bool = False) -> str:
        """Return what answers the query in at most so many tokens; empty where nothing has room.

        `failed`: a tool's result is flagged as an error.
        """
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        key = digest, query, tokens, failed
        found = self._remembered.get(key)
        if found is None:
            if len(self._remembered) >= MAX_TEXTS_REMEMBERED:
                self._remembered.clear()
            item = Item(content=text)
            if failed and is_output(text):
                item = Item(content=text, kind="error")
            options: dict[str, Any] = {"max_tokens": tokens, "query": query or None}
            found = self._renderer.render([item], **options).text.strip("\n")
            self._remembered[key] = found
        return found

    def shorten_pasted(self, text: str, tokens: int) -> str:
        """Return a long text of the user in so many tokens, or empty.

        Their own words, before and behind what was pasted, stay where they take half at most.
        """
        first, last = text[:MAX_QUESTION_CHARS], text[-MAX_QUESTION_CHARS:]
        head = tail = ""
        if "\n" in first:
            head = first.rpartition("\n\n")[0] or first.partition("\n")[0]
        if "\n" in last:
            tail = last.partition("\n\n")[2] or last.rpartition("\n")[2]
        words = "\n".join(filter(None, (head, tail)))
        left = tokens - self._count(words) - TOKENS_BETWEEN
        pasted = text[len(head) : len(text) - len(tail)]
        if words and left >= tokens // 2:
            shown = self.shorten(pasted, words, left)
            if shown:
                return "\n".join(filter(None, (head, shown, tail)))
        return self.shorten(text, f"{first}\n{last}", tokens)


def is_output(text: str) -> bool:
    """Return False for data and pages, which a tool gives besides the output of programs."""
    return detect_language(text) not in _DATA


@lru_cache(maxsize=MAX_SHORTENERS_REMEMBERED)
def shortener_of(counter: Counter, marker: str) -> TextShortener:
    """Return the shortener for a tokenizer and a marker; all prompts of a process share it."""
    return TextShortener(counter, marker)
