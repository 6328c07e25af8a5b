"""How one item is shortened: the longest of its shorter forms that has room beside what is chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from .answers.asking import Asked, Language
from .bounds import SLACK
from .counting import Counter
from .fitting.scale import UNLIMITED, Cost, Form, content_of, minus, plus, within
from .items import Item
from .options import Options
from .tokens import get_tokenizer
from .trimming.kinds import read
from .trimming.pieces import Ladder, Pieces
from .trimming.text import UNITS

GUESSES = 12
"""Pages measured for one item."""


class Host(Protocol):
    """What is asked of the page."""

    def forms(self, index: int) -> Sequence[Form]:
        """Return the whole forms of an item, the longest first."""
        ...

    def price(self, index: int, form: Form) -> Cost:
        """Return what an item costs alone."""
        ...

    def measure(self, chosen: Mapping[int, Form]) -> Cost:
        """Return what the page costs with just these items on it."""
        ...


class Shortener:
    """Shorter forms of the items of one page."""

    def __init__(
        self,
        items: Sequence[Item],
        options: Options,
        counter: Counter,
        language: Language,
        asked: Asked | None,
    ) -> None:
        """`language` tells what a text is in; `asked` is the query's reading of the candidates."""
        self._items = items
        self._options = options
        self._counter = counter
        self._language = language
        self._asked = asked
        self._ladders: dict[int, Ladder | None] = {}

    def shorten(
        self,
        index: int,
        chosen: Mapping[int, Form],
        limit: Cost,
        host: Host,
        room: Cost | None = None,
    ) -> tuple[Form, Cost] | None:
        """Return the longest shorter form of an item found that fits beside `chosen`, and what the page costs then.

        `room`: what the item itself may cost, when that is less than what is left of `limit`.
        """
        before = host.measure(chosen)
        left = minus(limit, before)
        if room is not None:
            left = (min(left[0], room[0]), min(left[1], room[1]))
        frame = host.price(index, Form("trimmed", "", cut=True))
        if not within(frame, left):
            return None
        tokens, chars = start = minus(left, frame)
        best: tuple[Form, Cost] | None = None
        tried: set[str] = set()
        for _ in range(
            GUESSES
        ):  # the first guess is that content costs on the page what it costs alone
            form = self.sized(index, host.forms(index), tokens, chars)
            if form is None or form.text in tried:
                break
            tried.add(form.text)
            cost = host.measure({**chosen, index: form})
            if within(cost, limit) and (room is None or within(host.price(index, form), room)):
                if best is not None and cost <= best[1]:
                    break
                best = (form, cost)
                added = minus(cost, before) if room is None else host.price(index, form)
                spare = minus(left, added)
                if spare[0] <= _slack(limit[0]) or spare[1] <= _slack(limit[1]):
                    break
                # What is around the text is known now: so much more the text may be than it was thought to.
                size = (self._counter.count(form.text) if tokens < UNLIMITED else 0, len(form.text))
                more = plus(spare, size)
                if more[0] <= tokens and more[1] <= chars:
                    break
                tokens, chars = max(more[0], tokens), max(more[1], chars)
            elif best is not None:
                break
            else:  # headings, or escapes, made it longer than it is alone
                over = minus(cost, limit) if room is None else minus(host.price(index, form), room)
                if over[0] > 0:
                    tokens = _less(self._counter.count(form.text), start[0], over[0])
                if over[1] > 0:
                    chars = _less(len(form.text), start[1], over[1])
        return best

    def sized(self, index: int, forms: Sequence[Form], tokens: float, chars: float) -> Form | None:
        """Return the longest shorter form found whose text has at most so many tokens and characters, `None`: none."""
        whole = content_of(forms)
        item = self._items[index]
        if whole.name == "summary" or item.required or tokens <= 0 or chars <= 0:
            return None
        ladder = self.ladder(index, whole)
        if ladder is not None and len(ladder):
            form = self._climb(ladder, tokens, chars)
            if form is not None:
                return form
        # All of it may be within bounds that only headings make too wide: a shorter form is shorter all the same.
        chars = min(chars, len(whole.text) - 1) if chars < UNLIMITED else chars
        if tokens < UNLIMITED:
            tokens = min(tokens, self._counter.count_upto(whole.text, int(tokens)) - 1)
        text = self._cut(whole.text, tokens, chars)
        return Form("trimmed", text, cut=True) if text else None

    def ladder(self, index: int, whole: Form) -> Ladder | None:
        """Return the shorter forms that the structure of an item's text gives; `None`: it has no structure."""
        if self._options.trim != "structure" or whole.cut:
            return None
        if index not in self._ladders:
            self._ladders[index] = self._ladder(index, whole)
        return self._ladders[index]

    def _ladder(self, index: int, whole: Form) -> Ladder | None:
        match = self._asked.match(index) if self._asked else None
        if match is not None and self._asked and (pieces := self._asked.pieces(index)):
            return pieces.ladder(match)
        item = self._items[index]
        found = read(item.kind, self._language(item), whole.text, self._options.marker)
        return found.ladder() if isinstance(found, Pieces) else found

    def _climb(self, ladder: Ladder, tokens: float, chars: float) -> Form | None:
        """Return the longest rung within these bounds; from rung to rung texts grow shorter, give or take a mark."""
        low, high, best = 0, len(ladder), None
        while low < high:
            middle = (low + high) // 2
            rung = ladder.rung(middle)
            long = len(rung.text) > chars
            if tokens < UNLIMITED and not long:
                long = self._counter.count_upto(rung.text, int(tokens)) > tokens
            if long:
                low = middle + 1
            else:
                high, best = middle, rung
        return Form(best.name, best.text) if best is not None and best.text else None

    def _cut(self, text: str, tokens: float, chars: float) -> str:
        """Return the beginning of `text` within these bounds, at the neatest end that wastes little."""
        best = ""
        for unit in UNITS:
            if unit == "character" and best:
                break
            prefix = text
            if tokens < UNLIMITED:
                prefix = self._counter.cut(prefix, int(tokens), unit)
            if chars < UNLIMITED:
                prefix = get_tokenizer("characters").cut(prefix, int(chars), unit)
            prefix = prefix.rstrip()
            if len(prefix) > len(best) and len(prefix) < len(text.rstrip()):
                best = prefix
            if not best:
                continue
            if tokens < UNLIMITED and tokens - self._counter.count(best) <= SLACK:
                break
            if chars < UNLIMITED and chars - len(best) <= SLACK:
                break
        return best


def _slack(limit: float) -> float:
    return SLACK if limit < UNLIMITED else -1


def _less(size: int, room: float, over: float) -> int:
    """Return the size to try after one that came out `over` above the `room` there was thought to be."""
    return min(size - 1, int(size * room / (room + over)))
