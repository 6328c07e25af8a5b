"""Keep the window by a provider's own count, known only for the finished prompt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import BudgetError, TokenizerError, quote
from .composing import Composed
from .window import Fitted, Window

Verify = Callable[[dict[str, Any]], int]
"""Takes a finished request and returns its true tokens, such as a provider's counting endpoint."""
Count = Callable[[Composed], int]
"""Takes a finished prompt and returns its true tokens."""

MAX_COUNTS = 3
"""Counts asked for one prompt: each may be a call over the network."""
AIM = 0.98
"""Share of the window to aim at if the provider counts less than the tokenizer here."""


def by_verify(verify: Verify, make: Callable[[Composed], dict[str, Any]]) -> Count:
    """Return a count that gives `verify` the request of `make`; it raises `TokenizerError`."""

    def count(composed: Composed) -> int:
        try:
            counted = verify(make(composed))
        except Exception as error:
            message = f"verify failed: {type(error).__name__}: {quote(str(error))}"
            raise TokenizerError(message) from error
        if isinstance(counted, bool) or not isinstance(counted, int) or counted < 0:
            shown = quote(str(counted))
            raise TokenizerError(f"verify returned {shown}; it must be a whole number, 0 or more")
        return counted

    return count


def fit(fitting: Window, window: int | None, count: Count, by: str) -> tuple[Fitted, int]:
    """Return the prompt that keeps the window by both counts, and its tokens by `count`.

    A prompt that is too long is made again with the ratio of the two counts; so is one that lost
    something while `count` finds much less than the tokenizer here.

    Raises `BudgetError`; its `needed` is the expected count by `by`.
    """
    if window is None:
        fitted = fitting.fit(None)
        return fitted, count(fitted.composed)
    room, own, counted = window, 0, 0
    best: tuple[Fitted, int] | None = None
    for _ in range(MAX_COUNTS):
        try:
            fitted = fitting.fit(room)
        except BudgetError as error:
            if best is not None:
                break
            if not own or error.largest != room:  # not the window, but the context's own cap
                raise
            by_ratio = -(-error.needed * counted // own)
            needed = max(window + 1, error.needed + counted - own, by_ratio)
            raise _too_small(needed, window, by) from None
        own, counted = fitted.composed.tokens, count(fitted.composed)
        fair = window * own // max(1, counted)  # fills the window by the ratio seen
        if counted > window:
            room = max(0, min(fair, own - (counted - window)))
            continue
        if best is None or counted > best[1]:
            best = fitted, counted
        if not fitted.short or fair * AIM <= room:
            break
        room = int(fair * AIM)
    if best is None:
        raise _too_small(counted, window, by)
    return best


def _too_small(needed: int, window: int, by: str) -> BudgetError:
    return BudgetError(
        f"the prompt needs about {needed:,} tokens as {by} counts and the window has room for"
        f" {window:,}; shorten the fixed or required parts, or raise context_window or lower"
        " reserve",
        needed=needed,
        largest=window,
    )
