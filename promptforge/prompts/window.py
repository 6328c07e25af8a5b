"""Fit one prompt into the window: fixed parts first, then history and context by their shares.

The oldest turns of a history go first. A provider's own count is known only for a finished prompt,
so the prompt is fitted by the tokenizer here and made again with the ratio of the two counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ..errors import BudgetError, TokenizerError, quote
from ..model import Result
from .compose import ComposedPrompt, Composer, PromptContext
from .messages import Message, MessageBlock, OpaqueBlock

CUT_STEPS = 4
"""The number of steps in the room: the cut of a history moves by a fourth of it."""
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
    turns: int
    """The number of turns in it, the newest."""
    short: bool
    """True if anything of the context or the history was left out or cut."""
    steps_dropped: int = 0
    """Steps of the running turn that were left out, the oldest."""


@dataclass(frozen=True)
class WindowFitter:
    """The parts of one prompt, and the means to fit them."""

    composer: Composer
    turns: Sequence[Sequence[Message]]
    render: Callable[[int | None], Result] | None
    """Renders the context in some tokens (`None`: no limit); `None` without items."""
    show: Callable[[Result], PromptContext | None]
    """Returns the text or items of the context to print; `None` for nothing."""
    cap: int | None
    """Tokens of the context at most."""
    share: float
    """The part of the room that is promised to the history."""
    running: Sequence[Sequence[Message]] = ()
    """The turn to be answered, if the history ends with it: its question, then its steps."""
    steps_dropped: int = 0

    def fit(self, window: int | None) -> FittedPrompt:
        """Return the prompt in at most `window` tokens (`None`: no limit).

        Raises `BudgetError` with the need of each part, if the required parts do not fit.
        """
        if window is None or len(self.running) < 3:
            return self._fit(window)
        # The question stays, and so does the newest step: without them nothing is asked.
        question, *steps, newest = self.running
        least = replace(self, running=(question, newest))
        room = window - least.composer.compose(None, least._tail).tokens
        if self.render is not None:
            room = int(room * self.share)
        kept = count_turns_to_keep(self.composer.turn_costs(steps), room)
        dropped = len(steps) - kept
        running = (question, *steps[dropped:], newest)
        # Older turns go before the steps of this one.
        turns = () if dropped else self.turns
        return replace(self, turns=turns, running=running, steps_dropped=dropped)._fit(window)

    @property
    def _tail(self) -> list[Message]:
        return [message for step in self.running for message in step]

    def _fit(self, window: int | None) -> FittedPrompt:
        if window is None:
            result = self.render(self.cap) if self.render else None
            return self._compose(result, len(self.turns))
        fixed = self.composer.compose(None, self._tail).tokens
        room = window - fixed
        if room < 0:
            raise self._too_small(self._least(), window)
        costs = self.composer.turn_costs(self.turns)
        if self.render is None:
            return self._shrink(None, 0, count_turns_to_keep(costs, room), window)
        # A context of one character shows the overhead of the templates around any context.
        overhead = self.composer.compose(PromptContext("x"), self._tail).tokens - fixed
        promised = int(room * self.share)
        kept = count_turns_to_keep(costs, promised)
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
        if result.truncated and (self.cap is None or limit < self.cap):
            spare = room // SPARE_SHARE_DIVISOR
        if left > promised + spare:
            kept = count_turns_to_keep(costs, left)
        return self._shrink(result, limit, kept, window)

    def _fit_required(self, costs: Sequence[int], window: int) -> FittedPrompt:
        """Fit required items that need the room promised to the history."""
        least = self._least()
        if least.result is None or least.composed.tokens > window:
            raise self._too_small(least, window) from None
        kept = count_turns_to_keep(costs, window - least.composed.tokens)
        return self._shrink(least.result, least.result.tokens, kept, window)

    def _context(self, limit: int) -> Result:
        assert self.render is not None
        return self.render(limit if self.cap is None else min(limit, self.cap))

    def _compose(self, result: Result | None, kept: int) -> FittedPrompt:
        history = [message for turn in self.turns[len(self.turns) - kept :] for message in turn]
        history += self._tail
        context, short = None, kept < len(self.turns) or self.steps_dropped > 0
        if result is not None:
            context, short = self.show(result), short or result.truncated
        composed = self.composer.compose(context, history)
        return FittedPrompt(composed, result, kept, short, self.steps_dropped)

    def _shrink(self, result: Result | None, limit: int, kept: int, window: int) -> FittedPrompt:
        """Shorten the context and then the history until the prompt keeps the window."""
        # Tokens of joined texts are no sums, so only the finished prompt can tell.
        while True:
            fitted = self._compose(result, kept)
            over = fitted.composed.tokens - window
            if over <= 0:
                return fitted
            # The context gives first, because history was promised its share.
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

    def _least(self) -> FittedPrompt:
        """Compose the parts that cannot be left out."""
        if self.render is not None:
            try:
                self._context(0)
            except BudgetError as error:
                if error.largest:  # the context's own cap
                    raise
                return self._compose(self._context(error.needed), 0)
        return self._compose(None, 0)

    def _too_small(self, least: FittedPrompt, window: int) -> BudgetError:
        composed = least.composed
        costs = dict.fromkeys((part.name for part in composed.parts), 0)
        for part in composed.parts:
            costs[part.name] += self.composer.count(part.text)
        # Tokens of the parts alone need not add up to the whole; the rest is called overhead.
        costs["overhead"] = composed.tokens - sum(costs.values())
        listed = ", ".join(f"{name} {tokens:,}" for name, tokens in costs.items())
        return BudgetError(
            f"the prompt needs {composed.tokens:,} tokens and the window has room for {window:,}:"
            f" {listed}; shorten these, or raise context_window or lower reserve",
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
            raise _too_small_by(needed, window, by) from None
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
        raise _too_small_by(counted, window, by)
    return best


def _too_small_by(needed: int, window: int, by: str) -> BudgetError:
    return BudgetError(
        f"the prompt needs about {needed:,} tokens as {by} counts and the window has room for"
        f" {window:,}; shorten the fixed or required parts, or raise context_window or lower"
        " reserve",
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


def split_turns(messages: Sequence[Message]) -> list[list[Message]]:
    """Split messages into turns, each beginning with a message of the user."""
    turns: list[list[Message]] = []
    for message in messages:
        # A tool result is no user message here, so a call and its result share a turn.
        if not turns or (message.role == "user" and turns[-1][-1].role != "user"):
            turns.append([])
        turns[-1].append(message)
    return turns


def split_steps(turn: Sequence[Message]) -> list[list[Message]]:
    """Split a turn into its question and its steps: an answer with the results of its calls."""
    steps: list[list[Message]] = []
    waiting: set[str] = set()
    thought = False
    for message in turn:
        # The result of a provider's own tool may come in a later answer, and then belongs here. So
        # does a call of an answer whose thought stands before an earlier call and its result.
        tied = thought and _has_id_of_responses(message.blocks[0])
        if not steps or (message.role == "assistant" and not waiting and not tied):
            steps.append([])
        steps[-1].append(message)
        for block in message.blocks:
            if isinstance(block, OpaqueBlock):
                waiting |= {block.call_id} - {""}
                waiting.discard(block.answers)
                thought |= block.reasoning
    return steps


def _has_id_of_responses(block: MessageBlock) -> bool:
    """Return whether OpenAI knows the item by its id, and so the thought that it demands."""
    thought = isinstance(block, OpaqueBlock) and block.reasoning
    return block.family == "openai-responses" and not thought and "id" in (block.original or {})


def count_turns_to_keep(costs: Sequence[int], room: int) -> int:
    """Return how many of the newest turns to keep so that they fit into `room` tokens.

    `costs` are the turns' tokens, oldest first. The newest turn stays if it fits at all.
    """
    over = sum(costs) - room
    if over <= 0:
        return len(costs)
    # Cutting a whole step keeps the cut in place while the conversation grows by less than a step.
    # So the prompt begins with the same bytes, and the provider's cache of them stays useful.
    step = _round(room // CUT_STEPS)
    goal = -(-over // step) * step  # rounded up to a whole step
    cut = 0
    for n, cost in enumerate(costs[:-1]):
        if cut >= goal:
            return len(costs) - n
        cut += cost
    # Only the newest turn is left, and it stays whole or goes.
    return int(costs[-1] <= room)


def _round(step: int) -> int:
    """Keep the first two binary digits, so that rooms of nearly the same size have one step."""
    if step < 1:
        return 1
    low = max(0, step.bit_length() - 2)
    return step >> low << low
