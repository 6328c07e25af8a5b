"""Find again what the history no longer shows: earlier results that may answer the question."""

from __future__ import annotations

import functools
import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from functools import lru_cache
from itertools import chain, islice
from typing import Any, NamedTuple

from ..errors import Diagnostics
from ..model import Item, Result
from ..rendering.renderer import ContextRenderer, TemplateSet
from ..text.words import late_pattern, split_words, terms_of_word
from .compose import Composer
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
MIN_TOKENS_RECALLED = 160
"""Passages are first tried in so many tokens, then in twice as many, until all answers fit."""
_BETWEEN_ROWS = late_pattern(r"(?<=[\]}]),|,(?=[\[{])| … ")
"""Parts the rows of a table in JSON, and what stands on both sides of a cut within a line."""
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
                    yield Hidden(block.text, history.call_of((n, at)), number)


@functools.cache
def plain_renderer() -> ContextRenderer:
    """Return a renderer with the defaults of all options but those of a search."""
    return ContextRenderer(max_items=None, min_score=None)


def recall_passages(
    history: HistoryFitter,
    fitted: FittedHistory,
    questions: Sequence[str],
    tokens: int,
    current: TemplateSet | None,
    *,
    asked: bool,
    beside: Sequence[str] = (),
) -> str:
    """Return passages of what the history no longer shows that answer the question; or nothing.

    `questions` are the texts of the question. `current` prints them; `None`: the shipped templates.
    `asked`: the question stands after the history. `beside` are texts that stand beside them.
    """
    if not (fitted.changed and any(questions) and tokens > 0):
        return ""
    composer, end = history.composer, history.turns[-1].start
    if asked:
        end = history.turns[-1].stop
    given, shown = history.messages[:end], fitted.messages[:end]
    options = composer.options
    about = composer.cost_key, options.format, options.marker, current and current.templates
    key = *map(id, (*given, *shown)), about, *questions, tokens, *beside

    def recall(_: Message) -> tuple[str, object, object]:
        items = choose_hidden(questions, list(find_hidden(history, fitted, asked)))
        text = _print_answers(composer, items, questions, tokens, current, beside, shown)
        return text, given, shown  # so long as the messages are kept, no others have their ids

    # The next step of the turn asks again. Kept with the last message, it goes when that goes.
    return history.messages[end - 1].fact(composer.cost_key and key, recall)[0]


def _print_answers(
    composer: Composer,
    items: Sequence[Item],
    questions: Sequence[str],
    tokens: int,
    current: TemplateSet | None,
    beside: Sequence[str],
    shown: Iterable[Message | None],
) -> str:
    """Print the passages of the items that hold answers, if not all of these are `shown`."""
    if not items:
        return ""
    current = current or plain_renderer()._current(Diagnostics())
    form = composer.options.format
    if form not in current.templates.formats(RECALL_LAYOUT):
        form = "markdown"
    # Filters of the context are not for them.
    given: dict[str, Any] = {"layout": RECALL_LAYOUT, "format": form}
    given |= {"marker": composer.options.marker, "tokenizer": composer.counter}
    given |= {"query": "\n\n".join(questions), "merge_overlaps": False}

    def render(size: int) -> Result:
        sized = {**given, "max_tokens": size}
        return plain_renderer()._render(items, (), sized, current, beside)[0]

    longest = render(tokens)
    named = [(items[each.index].name or "", each.content) for each in longest.shown]
    found = chain.from_iterable(find_answers(each, named) for each in dict.fromkeys(questions))
    seen = _parts(text for m in shown if m is not None for text in _texts(m))
    missing = set(chain.from_iterable(answer for answer in found if not seen.issuperset(answer)))
    if not missing:
        return ""
    size = MIN_TOKENS_RECALLED
    while size < min(tokens, longest.tokens):
        made = render(size)
        if missing <= _parts(each.content for each in made.shown):
            return made.text.strip("\n")
        size *= 2
    return longest.text.strip("\n")


def find_answers(question: str, named: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Return the lines, and rows of JSON, that hold the most of the question's words.

    Each text comes after its name, which counts with each of its lines. Each answer has the lines
    that stand deeper below it: the body of a function that is named.
    """
    places: list[tuple[str, list[str], int]] = []
    held: list[frozenset[str]] = []
    for name, text in named:
        lines, named_by = text.split("\n"), _terms(name)
        for n, line in enumerate(lines):
            for part in _split_line(line):
                places.append((part, lines, n))
                held.append(named_by | _terms(part))
    scores = _weigh(question, held, all_words=False)
    least = min(MIN_SHARE_OF_WORDS, max(scores, default=0.0))
    return [
        [part, *_lines_below(lines, n)]
        for (part, lines, n), score in zip(places, scores, strict=True)
        if score >= least > 0
    ]


def _split_line(line: str) -> list[str]:
    return list(filter(None, map(str.strip, _BETWEEN_ROWS.split(line))))


def _parts(texts: Iterable[str]) -> set[str]:
    return {part for text in texts for line in text.split("\n") for part in _split_line(line)}


def _lines_below(lines: Sequence[str], place: int) -> Iterator[str]:
    depth = _depth(lines[place])
    for line in islice(lines, place + 1, None):
        if _depth(line) <= depth:
            return
        yield from _split_line(line)


def _depth(line: str) -> float:
    """Return the width of the blanks before a line; that of an empty one has no end."""
    bare = line.lstrip()
    return len(line) - len(bare) if bare else math.inf


def choose_hidden(questions: Sequence[str], hidden: Collection[Hidden]) -> list[Item]:
    """Return those that hold the most of the words of one of the texts; none if none does.

    Beside the user's question may stand what a program says with it, such as a reminder.
    """
    best = [0.0] * len(hidden)
    for question in dict.fromkeys(questions):
        words = _terms(question)
        held = [
            words & _terms_of_result(each.text) | words & _terms_of_result(each.label)
            for each in hidden
        ]
        scores = _weigh(question, held)
        least = max(MIN_SHARE_OF_WORDS, MIN_SHARE_OF_BEST * max(scores, default=0.0))
        for n, score in enumerate(scores):
            if score >= least:
                best[n] = max(best[n], score)
    return [each.item(score) for each, score in zip(hidden, best, strict=True) if score]


def _weigh(question: str, held: Sequence[Set[str]], *, all_words: bool = True) -> list[float]:
    """Return the share of the weight of the question's words in each set of terms.

    Without `all_words` those that stand in none of the sets do not count.
    """
    words = {word: terms_of_word(word) for word in split_words(question)}
    asked = frozenset(chain.from_iterable(words.values()))
    holders = Counter(chain.from_iterable(asked & each for each in held))
    weights: dict[str, float] = {}
    for terms in words.values():
        for term in terms:
            if holders[term] or all_words:
                weight = math.log(1 + (len(held) + 1) / (0.5 + holders[term]))
                # The parts of `K12Q34` are one word together: nothing holds those of a new name.
                weights[term] = max(weights.get(term, 0.0), weight / len(terms))
    # The order of a set depends on the run, and a plain sum on the order.
    total = math.fsum(weights.values()) or 1.0
    return [math.fsum(weights.get(term, 0.0) for term in asked & each) / total for each in held]


def _texts(message: Message) -> list[str]:
    return [getattr(block, "text", "") for block in message.blocks]


def _terms(text: str) -> frozenset[str]:
    return frozenset(term for word in set(split_words(text)) for term in terms_of_word(word))


_terms_of_result = lru_cache(maxsize=MAX_TEXTS_REMEMBERED)(_terms)
