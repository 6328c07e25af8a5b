"""Find again what the history no longer shows: earlier results that may answer the question."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ..errors import Diagnostics
from ..model import Item
from ..rendering.renderer import ContextRenderer, TemplateSet
from ..text.words import STOP_WORDS, late_pattern
from .ladder import FittedHistory, HistoryFitter
from .messages import Message, TextBlock, ToolCall, ToolOutput

MIN_SHARE_OF_WORDS = 0.35
"""A text is recalled if it holds this share of the weight of the question's words."""
MIN_SHARE_OF_BEST = 0.7
"""And this share of what the best text holds."""
MAX_TEXTS_REMEMBERED = 2048
RECALL_LAYOUT = "documents"
"""The layout of passages of earlier turns."""
RECALL_OVERHEAD_TOKENS = 24
"""Tokens around recalled passages: their heading, and a joint with the question."""
_WORD = late_pattern(r"\w{2,}")
_PATHS = ("path", "file_path", "file", "filename")


class Hidden(NamedTuple):
    """A text of an earlier turn that the fitted history does not show whole."""

    text: str
    call: ToolCall | None
    """The call that it answers; None for a text of the user or the assistant."""
    turn: int

    @property
    def label(self) -> str:
        """The words that name it: its call and its turn."""
        if self.call is None:
            return f"turn {self.turn}"
        arguments = self.call.arguments if len(self.call.arguments) <= MAX_LABEL_CHARS else "…"
        return f"{self.call.name}({arguments}), turn {self.turn}"

    def item(self, score: float) -> Item:
        """Return it as an item that a search found."""
        given = json.loads(self.call.arguments) if self.call is not None else {}
        path = next((given[key] for key in _PATHS if isinstance(given.get(key), str)), None)
        return Item(content=self.text, name=self.label, path=path, origin="similarity", score=score)


MAX_LABEL_CHARS = 120
"""Longer arguments of a call do not name it."""


def find_hidden(history: HistoryFitter, fitted: FittedHistory, asked: bool) -> Iterator[Hidden]:
    """Yield what is gone or shorter of turns before the question; `asked`: it stands after all."""
    for number, turn in enumerate(history.turns[: None if asked else -1], 1):
        for n in turn:
            shown = fitted.messages[n]
            for at, block in enumerate(history.messages[n].blocks):
                if not isinstance(block, ToolOutput | TextBlock) or not block.text.strip():
                    continue
                if shown is None or block.text not in _texts(shown):
                    yield Hidden(block.text, history.calls.get((n, at)), number)


@functools.cache
def plain_renderer() -> ContextRenderer:
    """Return a renderer with the defaults of all options but those of a search."""
    return ContextRenderer(max_items=None, min_score=None)


def recall_passages(
    history: HistoryFitter,
    fitted: FittedHistory,
    question: str,
    tokens: int,
    current: TemplateSet | None,
    *,
    asked: bool,
    beside: Sequence[str] = (),
) -> str:
    """Return passages of what the history no longer shows that answer the question; or nothing.

    `current` prints them; `None`: the shipped templates. `asked`: the question stands after the
    history. `beside` are texts that stand beside them.
    """
    if not (fitted.changed and question and tokens > 0):
        return ""
    items = choose_hidden(question, list(find_hidden(history, fitted, asked)))
    if not items:
        return ""
    options = history.composer.options
    current = current or plain_renderer()._current(Diagnostics())
    form = options.format
    if form not in current.templates.formats(RECALL_LAYOUT):
        form = "markdown"
    # Filters of the context are not for them.
    given: dict[str, Any] = {"layout": RECALL_LAYOUT, "format": form, "marker": options.marker}
    given |= {"max_tokens": tokens, "query": question, "merge_overlaps": False}
    given["tokenizer"] = history.composer.counter
    made = plain_renderer()._render(items, (), given, current, beside)[0]
    return made.text.strip("\n") if made.items_included else ""


def choose_hidden(question: str, hidden: Collection[Hidden]) -> list[Item]:
    """Return those that hold the most of the question's words, as items; none if none does."""
    asked = _words(question)
    held = [_words(each.text) | _words(each.label) for each in hidden]
    weights = {
        word: math.log(1 + (len(held) + 1) / (0.5 + sum(word in words for words in held)))
        for word in asked
    }
    scores = [sum(weights[word] for word in asked & words) for words in held]
    total = sum(weights.values()) or 1.0
    least = max(MIN_SHARE_OF_WORDS * total, MIN_SHARE_OF_BEST * max(scores, default=0.0))
    found = zip(hidden, scores, strict=True)
    return [each.item(score / total) for each, score in found if score and score >= least]


def _texts(message: Message) -> list[str]:
    return [getattr(block, "text", "") for block in message.blocks]


@lru_cache(maxsize=MAX_TEXTS_REMEMBERED)
def _words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(text)) - STOP_WORDS
