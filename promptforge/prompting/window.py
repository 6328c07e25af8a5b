"""One window for all parts: first the fixed ones, then history and context by their shares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..errors import BudgetError
from ..results import Result
from .composing import Composed, Composer, Context
from .messages import Message
from .turns import cut

SPARE = 50
"""A truncated context leaves a rest to the history if it is more than a fiftieth of the room."""

Render = Callable[[int | None], Result]
"""Renders the context in at most so many tokens; `None`: without a limit in tokens."""


class Fitted(NamedTuple):
    """A prompt that keeps its window."""

    composed: Composed
    result: Result | None
    """The result of the context; `None` if there is none."""
    turns: int
    """The number of turns in it, the newest."""
    short: bool
    """True if anything of the context or the history was left out or cut."""


class Window:
    """The parts of one prompt, and the means to fit them."""

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
        """`render` makes the context and `show` its text or blocks, `None` for nothing.

        `cap` is the limit of the context, `share` the part of the window promised to the history.
        """
        self._composer = composer
        self._turns = turns
        self._render = render
        self._show = show
        self._cap = cap
        self._share = share

    def fit(self, window: int | None) -> Fitted:
        """Return the prompt in at most `window` tokens (`None`: no limit).

        Raises `BudgetError` with the need of each part, if the required parts do not fit.
        """
        if window is None:
            result = self._render(self._cap) if self._render else None
            return self._compose(result, len(self._turns))
        fixed = self._composer.compose(None, ()).tokens
        room = window - fixed
        if room < 0:
            raise self._too_small(self._least(), window)
        costs = self._composer.turn_prices(self._turns)
        if self._render is None:
            return self._shrink(None, 0, len(costs) - cut(costs, room), window)
        # A context of one character shows the overhead of the templates around any context.
        overhead = self._composer.compose(Context("x"), ()).tokens - fixed
        promised = int(room * self._share)
        kept = len(costs) - cut(costs, promised)
        limit = max(0, room - overhead - sum(costs[len(costs) - kept :]))
        try:
            result = self._context(limit)
        except BudgetError as error:
            if error.largest != limit:  # the context's own cap, which no cut of the history helps
                raise
            return self._fit_required(costs, window)
        # The context may not use its share, and the history gets the rest. A small rest of a full
        # context is left: it would move the cut of the history with every question.
        left = room - overhead - result.tokens
        spare = 0
        if result.truncated and (self._cap is None or limit < self._cap):
            spare = room // SPARE
        if left > promised + spare:
            kept = len(costs) - cut(costs, left)
        return self._shrink(result, limit, kept, window)

    def _fit_required(self, costs: Sequence[int], window: int) -> Fitted:
        """Fit required items that need the room promised to the history."""
        least = self._least()
        if least.result is None or least.composed.tokens > window:
            raise self._too_small(least, window) from None
        kept = len(costs) - cut(costs, window - least.composed.tokens)
        return self._shrink(least.result, least.result.tokens, kept, window)

    def _context(self, limit: int) -> Result:
        assert self._render is not None
        return self._render(limit if self._cap is None else min(limit, self._cap))

    def _compose(self, result: Result | None, kept: int) -> Fitted:
        history = [message for turn in self._turns[len(self._turns) - kept :] for message in turn]
        context, short = None, kept < len(self._turns)
        if result is not None:
            context, short = self._show(result), short or result.truncated
        return Fitted(self._composer.compose(context, history), result, kept, short)

    def _shrink(self, result: Result | None, limit: int, kept: int, window: int) -> Fitted:
        """Shorten the context and then the history until the prompt keeps the window."""
        # Tokens of joined texts are no sums, so only the finished prompt can tell.
        while True:
            fitted = self._compose(result, kept)
            over = fitted.composed.tokens - window
            if over <= 0:
                return fitted
            if result is not None and result.tokens and limit > 0:
                limit = max(0, min(limit, result.tokens) - over)
                try:
                    result = self._context(limit)
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
        """Compose the parts that cannot be left out."""
        if self._render is not None:
            try:
                self._context(0)
            except BudgetError as error:
                if error.largest:  # the context's own cap
                    raise
                return self._compose(self._context(error.needed), 0)
        return self._compose(None, 0)

    def _too_small(self, least: Fitted, window: int) -> BudgetError:
        composed = least.composed
        costs = dict.fromkeys((part.name for part in composed.parts), 0)
        for part in composed.parts:
            costs[part.name] += self._composer.count(part.text)
        costs["frame"] = composed.tokens - sum(costs.values())
        listed = ", ".join(f"{name} {tokens:,}" for name, tokens in costs.items())
        return BudgetError(
            f"the prompt needs {composed.tokens:,} tokens and the window has room for {window:,}:"
            f" {listed}; shorten these, or raise context_window or lower reserve",
            needed=composed.tokens,
            largest=window,
        )
