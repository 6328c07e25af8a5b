"""The window kept by a count that only the finished prompt has: a provider's, which is asked a few times at most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import BudgetError, TokenizerError, quote
from .composing import Composed
from .window import Fitted, Window

Verify = Callable[[dict[str, Any]], int]
"""Takes a finished request and returns its true number of tokens, such as a provider's endpoint that counts."""
Count = Callable[[Composed], int]
"""Takes a finished prompt and returns its true number of tokens."""

TRIES = 3
"""How often a count is asked for about one prompt."""
FULL = 0.98
"""Share of the window that is aimed at where the provider counts less than we do."""


def by_verify(verify: Verify, make: Callable[[Composed], dict[str, Any]]) -> Count:
    """Return a count that asks `verify` about the request that `make` gives; it raises `TokenizerError`."""

    def count(composed: Composed) -> int:
        try:
            counted = verify(make(composed))
        except Exception as error:
            raise TokenizerError(
                f"verify failed: {type(error).__name__}: {quote(str(error))}"
            ) from error
        if isinstance(counted, bool) or not isinstance(counted, int) or counted < 0:
            raise TokenizerError(
                f"verify returned {quote(str(counted))}; it must be a whole number, 0 or more"
            )
        return counted

    return count


def fit(fitting: Window, window: int | None, count: Count, by: str) -> tuple[Fitted, int]:
    """Return the prompt that keeps the window by our own count and by `count`, and what the latter is.

    Where the prompt is too long it is made again with the ratio seen; so it is where `count` finds much less than we
    do and something was left out. Raises `BudgetError`, whose `needed` is what `by` is expected to count.
    """
    if window is None:
        fitted = fitting.fit(None)
        return fitted, count(fitted.composed)
    room, own, counted = window, 0, 0
    best: tuple[Fitted, int] | None = None
    for _ in range(TRIES):
        try:
            fitted = fitting.fit(room)
        except BudgetError as error:
            if best is not None:
                break
            if not own or error.largest != room:  # a ceiling of the context's own
                raise
            needed = max(
                window + 1, error.needed + counted - own, -(-error.needed * counted // own)
            )
            raise _too_small(needed, window, by) from None
        own, counted = fitted.composed.tokens, count(fitted.composed)
        fair = window * own // max(1, counted)  # what fills the window by the ratio that was seen
        if counted > window:
            room = max(0, min(fair, own - (counted - window)))
            continue
        if best is None or counted > best[1]:
            best = fitted, counted
        if not fitted.short or fair * FULL <= room:
            break
        room = int(fair * FULL)
    if best is None:
        raise _too_small(counted, window, by)
    return best


def _too_small(needed: int, window: int, by: str) -> BudgetError:
    return BudgetError(
        f"the prompt needs about {needed:,} tokens as {by} counts and the window has room for {window:,}; shorten what"
        " is fixed or required, or raise context_window or lower reserve",
        needed=needed,
        largest=window,
    )
