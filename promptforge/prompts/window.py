"""Fit one prompt into the window: fixed parts first, then history and context by their shares.

`ladder` fits the history. A provider's own count is known only for a finished prompt,
so the prompt is fitted by the tokenizer here and made again with the ratio of the two counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ..errors import BudgetError, TokenizerError, quote
from ..model import Result
from ..rendering.renderer import TemplateSet
from .compose import ComposedPrompt, Composer, PromptContext
from .ladder import FittedHistory, HistoryFitter
from .messages import Message
from .recall import RECALL_OVERHEAD_TOKENS, recall_passages

ROOM_STEPS = 16
"""The history gets the rest of the context by 16ths of the room, so that its cut moves seldom."""
UNLIMITED_TOKENS = 1 << 62
"""The room of a history without a window."""
SPARE_SHARE_DIVISOR = 50
"""A truncated context leaves a rest to the history if it is more than a fiftieth of the room."""
MAX_COUNTS = 3
"""Counts asked for one prompt: each may be a call over the network."""
AIMED_WINDOW_SHARE = 0.98
"""Share of the window to aim at if the provider counts less than the tokenizer here."""
Verify = Callable[[dict[str, Any]], int]
"""Takes a finished request and returns its true tokens, such as a provider's counting endpoint."""
Count = Callable[[ComposedPrompt], int]
"""Takes a finished prompt and returns its true tokens."""


class FittedPrompt(NamedTuple):
    """A prompt that keeps its window."""

    composed: ComposedPrompt
    result: Result | None
    """The result of the context; `None` if there is none."""
    history: FittedHistory

    @property
    def short(self) -> bool:
        """True if anything of the context or the history was left out or cut."""
        return self.history.changed or (self.result is not None and self.result.truncated)


@dataclass(frozen=True)
class WindowFitter:
    """The parts of one prompt, and the means to fit them."""

    composer: Composer
    history: HistoryFitter
    render: Callable[[int | None], Result] | None
    """Renders the context in some tokens (`None`: no limit); `None` without items."""
    show: Callable[[Result], PromptContext | None]
    """Returns the text or items of the context to print; `None` for nothing."""
    cap: int | None
    """Tokens of the context at most."""
    templates: TemplateSet
    """Prints the passages."""

    def fit(self, window: int | None) -> FittedPrompt:
        """Return the prompt in at most `window` tokens (`None`: no limit).

        Raises `BudgetError` with the need of each part, if the required parts do not fit.
        """
        if window is None:
            result = self.render(self.cap) if self.render else None
            return self._compose(result, self._fit_history(UNLIMITED_TOKENS))
        fixed = self.composer.compose(None, ()).tokens
        room = window - fixed
        least = self._least_history(room)
        if room < least.tokens:
            return self._fit_least(least, window)
        if self.render is None:
            return self._shrink(None, 0, room, window)
        # A context of one character shows the overhead of the templates around any context.
        overhead = self.composer.compose(PromptContext("x"), ()).tokens - fixed
        promised = int(room * self.composer.options.history_share)
        promised = max(promised, self._least_history(promised).tokens)
        if self.cap is not None:
            promised = max(promised, room - overhead - self.cap)
        limit = max(0, room - overhead - self._fit_history(promised).tokens)
        try:
            result = self._context(limit)
        except BudgetError as error:
            if error.largest != limit:  # the context's own cap, which no cut of the history helps
                raise
            return self._fit_required(self._fit_history(0), room, window)
        # The context may not use its share, and the history gets the rest. A small rest of a full
        # context is left: it would move the cut of the history with every question.
        left = room - overhead - result.tokens
        spare = 0
        if result.truncated and (self.cap is None or limit < self.cap):
            spare = room // SPARE_SHARE_DIVISOR
        if left > promised + spare:
            step = max(1, room // ROOM_STEPS)
            promised = max(promised, left // step * step)
        return self._shrink(result, limit, promised, window)

    def _fit_least(self, least: FittedHistory, window: int) -> FittedPrompt:
        # Estimates of messages are rather too high; the finished prompt tells.
        fitted = self._least(least)
        if fitted.composed.tokens <= window:
            return fitted
        if self.history.drops_calls or not least.tokens:
            raise self._too_small(fitted, window)
        return replace(self, history=replace(self.history, drops_calls=True)).fit(window)

    def _fit_history(self, room: int) -> FittedHistory:
        if not self.history.messages:
            return FittedHistory((), 0, room)
        asked: int | None = self.composer.question_cost()
        if self._runs:
            asked = None
        # The question counts as it will when it stands in the history of the next prompt.
        room += asked or 0
        return self.history.fit(room, asked, self._reserve(room))

    def _least_history(self, room: int) -> FittedHistory:
        """Return the history fitted into no room; any other one if it surely is in this room."""
        fitter = self.history
        kept = set(fitter.pinned)
        if self._runs:
            kept |= {*fitter.steps[-1][0], *fitter.steps[-1][-1]}
        most = sum(fitter.costs[n] for n in kept)
        return FittedHistory((), 0, 0) if most <= room else self._fit_history(0)

    @property
    def _runs(self) -> bool:
        return self.history.runs and not self.composer.texts.get("question")

    def _reserve(self, room: int) -> int:
        if room >= UNLIMITED_TOKENS or len(self.history.turns) - self._runs < 1:
            return 0
        return int(room * self.composer.options.recall_share)

    def _fit_required(self, least: FittedHistory, room: int, window: int) -> FittedPrompt:
        fitted = self._least(least)
        if fitted.result is None or fitted.composed.tokens > window:
            raise self._too_small(fitted, window) from None
        left = least.tokens + window - fitted.composed.tokens
        return self._shrink(fitted.result, fitted.result.tokens, left, window)

    def _context(self, limit: int) -> Result:
        assert self.render is not None
        return self.render(limit if self.cap is None else min(limit, self.cap))

    def _compose(
        self, result: Result | None, history: FittedHistory, recalled: str = ""
    ) -> FittedPrompt:
        context = None
        if result is not None:
            context = self.show(result)
        at = -1
        if recalled and self._runs:
            # It stands with its question, as it did when that was asked.
            first = self.history.steps[-1][0]
            asked = max(n for n in first if self.history.messages[n].role == "user")
            at = sum(message is not None for message in history.messages[:asked])
        composed = self.composer.compose(context, history.kept, recalled, at)
        return FittedPrompt(composed, result, history)

    def _recall(self, history: FittedHistory) -> str:
        if not history.changed:
            return ""
        texts = self.composer.texts
        questions = [texts["question"]] if texts.get("question") else self.history.questions_of(-1)
        return recall_passages(
            self.history,
            history,
            questions,
            self._reserve(history.room) - RECALL_OVERHEAD_TOKENS,
            self.templates,
            asked=not self._runs,
            beside=list(texts.values()),
        )

    def _shrink(self, result: Result | None, limit: int, room: int, window: int) -> FittedPrompt:
        # Tokens of joined texts are no sums, so only the finished prompt can tell.
        history = self._fit_history(room)
        recalled = self._recall(history)
        while True:
            fitted = self._compose(result, history, recalled)
            over = fitted.composed.tokens - window
            if over <= 0:
                return fitted
            if recalled:
                recalled = ""
                continue
            # The context gives first, because history was promised its share.
            if result is not None and result.tokens and limit > 0:
                limit = max(0, min(limit, result.tokens) - over)
                try:
                    result = self._context(limit)
                    continue
                except BudgetError:
                    pass
            if room <= 0:
                break
            room = max(0, min(room, history.tokens) - over)
            history = self._fit_history(room)
        least = self._least(self._fit_history(0))
        if least.composed.tokens > window:
            raise self._too_small(least, window)
        return least

    def _least(self, history: FittedHistory) -> FittedPrompt:
        if self.render is not None:
            try:
                self._context(0)
            except BudgetError as error:
                if error.largest:  # the context's own cap
                    raise
                return self._compose(self._context(error.needed), history)
        return self._compose(None, history)

    def _too_small(self, least: FittedPrompt, window: int) -> BudgetError:
        composed = least.composed
        costs = dict.fromkeys((part.name for part in composed.parts), 0)
        for part in composed.parts:
            costs[part.name] += self.composer.count(part.text)
        costs.update({"tools": self.composer.tools_cost} if self.composer.tools else {})
        # Tokens of the parts alone need not add up to the whole; the rest is called overhead.
        costs["overhead"] = composed.tokens - sum(costs.values())
        listed = ", ".join(f"{name} {tokens:,}" for name, tokens in costs.items())
        return BudgetError(
            f"the prompt needs {composed.tokens:,} tokens and the window has room for {window:,}:"
            f" {listed}; shorten these, or {self.composer.options.raise_window}",
            needed=composed.tokens,
            largest=window,
        )


def fit_by_count(
    fitter: WindowFitter, window: int | None, count: Count, by: str
) -> tuple[FittedPrompt, int]:
    """Return the prompt that keeps the window by both counts, and its tokens by `count`.

    A prompt that is too long is made again with the ratio of the two counts; so is one that lost
    something while `count` finds much less than the tokenizer here.

    Raises `BudgetError`; its `needed` is the expected count by `by`.
    """
    if window is None:
        fitted = fitter.fit(None)
        return fitted, count(fitted.composed)
    room, own, counted = window, 0, 0
    best: tuple[FittedPrompt, int] | None = None
    for _ in range(MAX_COUNTS):
        try:
            fitted = fitter.fit(room)
        except BudgetError as error:
            # The second room may be too small for the required parts; the first prompt holds.
            if best is not None:
                break
            if not own or error.largest != room:  # not the window, but the context's own cap
                raise
            by_ratio = -(-error.needed * counted // own)
            needed = max(window + 1, error.needed + counted - own, by_ratio)
            raise _too_small_by(needed, window, by, fitter) from None
        own, counted = fitted.composed.tokens, count(fitted.composed)
        fair = window * own // max(1, counted)  # fills the window by the ratio seen
        if counted > window:
            room = max(0, min(fair, own - (counted - window)))
            continue
        if best is None or counted > best[1]:
            best = fitted, counted
        if not fitted.short or fair * AIMED_WINDOW_SHARE <= room:
            break
        room = int(fair * AIMED_WINDOW_SHARE)
    if best is None:
        raise _too_small_by(counted, window, by, fitter)
    return best


def _too_small_by(needed: int, window: int, by: str, fitter: WindowFitter) -> BudgetError:
    return BudgetError(
        f"the prompt needs about {needed:,} tokens as {by} counts and the window has room for"
        f" {window:,}; shorten the fixed or required parts, or"
        f" {fitter.composer.options.raise_window}",
        needed=needed,
        largest=window,
    )


def count_by_verify(
    verify: Verify, make: Callable[[Sequence[Message]], dict[str, Any]], composed: ComposedPrompt
) -> int:
    """Return the caller's count of the finished request; raises `TokenizerError`."""
    try:
        counted = verify(make(composed.messages))
    except Exception as error:
        message = f"verify failed: {type(error).__name__}: {quote(str(error))}"
        raise TokenizerError(message) from error
    if isinstance(counted, bool) or not isinstance(counted, int) or counted < 0:
        shown = quote(str(counted))
        raise TokenizerError(f"verify returned {shown}; it must be a whole number, 0 or more")
    return counted
