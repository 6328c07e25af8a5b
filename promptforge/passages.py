"""The pieces of candidates as forms of items, with their prices."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from .answers import picking
from .answers.asking import Asked
from .counting import Counter
from .fitting.extracting import Pick
from .fitting.scale import Cost, Form, content_of
from .tokens import get_tokenizer

SPARED = 5
"""Tokens (or characters) by which pieces may come out cheaper than their sum: the page decides, so a few too many are
chosen rather than a worse one."""


class Extractor:
    """Pieces of the candidates of one page."""

    def __init__(
        self,
        asked: Asked,
        counter: Counter,
        forms: Callable[[int], Sequence[Form]],
        price: Callable[[int, Form], Cost],
    ) -> None:
        self._asked = asked
        self._counter = counter
        self._forms = forms
        self._price = price

    def among(self, walk: Sequence[int]) -> list[int]:
        """Return those of `walk` that were read closely."""
        return [index for index in walk if index in self._asked.number]

    def choose(
        self, walk: Sequence[int], room: float, unit: int, most: int | None
    ) -> tuple[list[Pick], list[Pick]]:
        """Return the pieces to show within `room`, the likeliest to answer first, and those that were put aside."""
        order = self._asked.order
        numbers = self._asked.number

        def header(number: int) -> float:
            return self._price(order[number], self.form(order[number], ()))[unit]

        limit = max(picking.FEWEST, int(room / (picking.SHARE if unit == 0 else 4 * picking.SHARE)))
        choice = picking.choose(
            self._asked.evidence,
            room=room + SPARED,
            header=header,
            price=lambda number, piece: self.cost(Pick(order[number], piece), unit),
            allowed=limit if most is None else min(limit, most),
            among=[numbers[index] for index in walk],
        )
        return [Pick(order[n], p) for n, p in choice.picks], [
            Pick(order[n], p) for n, p in choice.aside
        ]

    def form(self, index: int, pieces: Collection[int]) -> Form:
        """Return an item with only these pieces of its text."""
        whole = self._whole(index)
        divided = self._asked.pieces(index)
        if divided is None:
            return whole if pieces else Form("trimmed", "")
        text = divided.text(pieces)
        return whole if text == whole.text else Form("trimmed", text)

    def _whole(self, index: int) -> Form:
        return content_of(self._forms(index))

    def cost(self, pick: Pick, unit: int) -> float:
        """Return the tokens (`unit` 0) or characters (1) of a piece."""
        divided = self._asked.pieces(pick.item)
        text = self._whole(pick.item).text if divided is None else divided.parts[pick.piece].text
        return len(text) if unit else self._counter.count(text)

    def part(self, pick: Pick, pieces: Collection[int], room: float, unit: int) -> Form | None:
        """Return an item with these pieces and as much of one more as has room; `None`: nothing of it has."""
        divided = self._asked.pieces(pick.item)
        if divided is None or not divided.loose:
            return None
        counter = get_tokenizer("characters") if unit else self._counter
        text = counter.cut(divided.parts[pick.piece].text, int(room) - 1, "word").rstrip()
        return (
            Form("trimmed", divided.text(pieces, beginning=(pick.piece, text + " ")))
            if text
            else None
        )
