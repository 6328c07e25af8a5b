"""One window for all parts: what is fixed first, then history and context by their shares, leftovers to either."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..errors import BudgetError
from ..results import Result
from .composing import Composed, Composer, Context
from .messages import Message
from .turns import cut

SPARE = 50
"""What a context leaves that could not use it goes to the history if it is more than so much of the room: a fiftieth.
Less would move the cut of the history with every question."""

Render = Callable[[int | None], Result]
"""The context in at most so many tokens; `None`: without a limit in tokens."""


class Fitted(NamedTuple):
    """A prompt that keeps its window."""

    composed: Composed
    result: Result | None
    """Of the context; `None` where there is none."""
    turns: int
    """How many turns of the history are in it: the newest."""
    short: bool
    """Whether anything of the context or the history was left out or cut."""


class Window:
    """The parts of one prompt, and what they are fitted with."""

    def __init__(
        self,
        composer: Composer,
        turns: Sequence[Sequence[Message]],
        render: Render | None,
        show: Callable[[Result], Context | None],
        *,
        cap: int | None,
        share: float,
    ) -> None:
        """`render` makes the context, `show` what of it is to be printed, `None` for nothing.

        `cap` is the ceiling of the context, `share` the part of the window that the history is sure of.
        """
        self._composer = composer
        self._turns = turns
        self._render = render
        self._show = show
        self._cap = cap
        self._share = share

    def fit(self, window: int | None) -> Fitted:
        """Return the prompt that takes at most `window` tokens (`None`: no limit).

        Raises `BudgetError` where what cannot be left out does not fit; it says what each part needs.
        """
        if window is None:
            result = self._render(self._cap) if self._render else None
            return self._compose(result, len(self._turns))
        fixed = self._composer.compose(None, ())
        room = window - fixed.tokens
        if room < 0:
            raise self._too_small(self._least(), window)
        costs = self._composer.turn_prices(self._turns)
        if self._render is None:
            return self._shrink(None, 0, len(costs) - cut(costs, room), window)
        wrapped = self._composer.compose(Context("x"), ()).tokens - fixed.tokens
        promised = int(room * self._share)
        kept = len(costs) - cut(costs, promised)
        most = max(0, room - wrapped - sum(costs[len(costs) - kept :]))
        try:
            result = self._context(most)
        except BudgetError as error:  # what is required may need what was promised to the history
            if error.largest != most:  # a ceiling of the context's own
                raise
            least = self._least()
            if least.result is None or least.composed.tokens > window:
                raise self._too_small(least, window) from None
            result, most = least.result, least.result.tokens
            kept = len(costs) - cut(costs, window - least.composed.tokens)
            return self._shrink(result, most, kept, window)
        full = result.truncated and (self._cap is None or most < self._cap)
        left = room - wrapped - result.tokens
        if left > promised + (room // SPARE if full else 0):
            kept = len(costs) - cut(costs, left)
        return self._shrink(result, most, kept, window)

    def _context(self, most: int) -> Result:
        assert self._render is not None
        return self._render(most if self._cap is None else min(most, self._cap))

    def _compose(self, result: Result | None, kept: int) -> Fitted:
        history = [message for turn in self._turns[len(self._turns) - kept :] for message in turn]
        context = self._show(result) if result is not None else None
        short = kept < len(self._turns) or (result is not None and result.truncated)
        return Fitted(self._composer.compose(context, history), result, kept, short)

    def _shrink(self, result: Result | None, most: int, kept: int, window: int) -> Fitted:
        """Return the prompt, with ever less of the context and then of the history until it keeps the window.

        Counts of joined texts are no sums, so only the finished prompt can tell.
        """
        while True:
            fitted = self._compose(result, kept)
            over = fitted.composed.tokens - window
            if over <= 0:
                return fitted
            if result is not None and result.tokens and most > 0:
                most = max(0, min(most, result.tokens) - over)
                try:
                    result = self._context(most)
                    continue
                except BudgetError:
                    pass
            if not kept:
                break
            kept -= 1
        least = self._least()
        if least.composed.tokens > window:
            raise self._too_small(least, window)
        return least

    def _least(self) -> Fitted:
        """Return the prompt of what cannot be left out."""
        if self._render is not None:
            try:
                self._context(0)
            except BudgetError as error:
                if error.largest:  # a ceiling of the context's own
                    raise
                return self._compose(self._context(error.needed), 0)
        return self._compose(None, 0)

    def _too_small(self, least: Fitted, window: int) -> BudgetError:
        composed = least.composed
        costs = {part.name: 0 for part in composed.parts}
        for part in composed.parts:
            costs[part.name] += self._composer.count(part.text)
        costs["frame"] = composed.tokens - sum(costs.values())
        listed = ", ".join(f"{name} {tokens:,}" for name, tokens in costs.items())
        return BudgetError(
            f"the prompt needs {composed.tokens:,} tokens and the window has room for {window:,}: {listed};"
            " shorten these, or raise context_window or lower reserve",
            needed=composed.tokens,
            largest=window,
        )
