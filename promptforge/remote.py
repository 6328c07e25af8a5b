"""A provider's own count, asked for finished texts only; everything on the way there is priced by an estimate."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import cast

from .counting import Counter, ForeignCounter, Tokenizer
from .diagnostics import Diagnostic
from .errors import BudgetError
from .recent import Recent
from .results import Result
from .tokenizers.estimates import ScaledCounter
from .tokens import get_tokenizer

CALLS = 4
"""How often the provider is asked for one rendering, at most."""
FULL = Fraction(98, 100)
"""Share of the budget from which on a text is not made again to fill it better."""
MARGIN = Fraction(1, 100)
"""What is added to a ratio that was seen, once more with each try: the next text is not quite the same."""
CACHED = 1 << 22
"""Characters of text whose counts are remembered."""


class RemoteTokenizer(Counter):
    """A tokenizer that only its provider has: give it as `tokenizer` to a `Renderer` or to `render`.

    `count` takes a text and returns its tokens, by asking the provider: it is called for the finished text of a
    rendering, at most `calls` times, and never for a text that it was called for lately, nor for an empty one. Items
    are priced by `estimate`, a name or object as `tokenizer` takes them. Where the provider finds the text too long, or
    much shorter than the budget, it is made again with the ratio seen. So `Result.tokens` is the provider's figure,
    and never above `max_tokens`; tokens of items and `fits_at` are estimates, and a diagnostic says so. What is learnt
    is forgotten with the rendering: the same items give the same text, whatever was rendered before. Of a whole prompt
    `count` is asked about all its texts together, at most three times.

    `exact`: whether the provider vouches for its count. Errors of `count` come out as `TokenizerError`.
    """

    def __init__(
        self,
        name: str,
        count: Callable[[str], int],
        *,
        estimate: str | Tokenizer = "o200k_base",
        calls: int = CALLS,
        exact: bool = True,
    ) -> None:
        super().__init__(name, exact=exact, fingerprint="custom")
        self._ask = ForeignCounter(cast(Tokenizer, SimpleNamespace(name=name, count=count)))
        self.estimate = get_tokenizer(estimate)
        """What prices all that is not finished."""
        self._calls = max(1, calls)
        self._counts: Recent[int] = Recent(CACHED)

    def count(self, text: str) -> int:
        """Return the provider's count; 0 for "", which providers refuse to count."""
        if not text:
            return 0
        tokens = self._counts.get(text)
        if tokens is None:
            tokens = self._ask.count(text)
            self._counts.put(text, tokens)
        return tokens

    def settle(self, make: Callable[[Counter], Result]) -> Result:
        """Return the fullest result of `make` (tokenizer → result) whose text the provider finds within its budget.

        Raises `BudgetError` where what is required fits by no ratio that was tried.
        """
        factor, low, high = (
            Fraction(1),
            Fraction(0),
            Fraction(0),
        )  # above `low`: too long at it; `high`: fits at it
        best: tuple[Result, int] | None = None
        lacking: BudgetError | None = None
        asked: set[str] = (
            set()
        )  # what is remembered from before counts too: it must not change what comes out
        for tries in range(1, self._calls + 3):
            try:
                made = make(_Priced(self, self.estimate, factor))
            except BudgetError as error:  # perhaps only the estimate is too high
                lacking, high = error, factor
                factor = _between(low, high, factor / 2)
                continue
            if made.text and made.text not in asked and len(asked) == self._calls:
                break
            asked |= {made.text} - {""}
            true, own, budget = (
                self.count(made.text),
                self.estimate.count(made.text),
                made.max_tokens,
            )
            fits = budget is None or true <= budget
            if fits and (best is None or true > best[1]):
                best = (made, true)
            if budget is None or (fits and (not made.truncated or true >= budget * FULL)):
                break
            low, high = (low, factor) if fits else (factor, high)
            ratio = Fraction(true, own) * (1 + MARGIN * tries) if own else factor * 2
            wanted = _between(low, high, ratio)
            if wanted == factor:
                break
            factor = wanted
        if best is not None:
            return self._noted(*best, len(asked))
        if lacking is not None:
            raise lacking
        # Too long each time: what is sure to fit is nothing.
        made = make(_Priced(self, self.estimate, Fraction(10**9)))
        true = self.count(made.text)
        if true > (budget := made.max_tokens or 0):
            raise BudgetError(
                f"{self.name} counts {true:,} tokens in the shortest text",
                needed=true,
                largest=budget,
            )
        return self._noted(made, true, len(asked))

    def _noted(self, made: Result, tokens: int, texts: int) -> Result:
        tried = "" if texts < 2 else f", the best of {texts} tried"
        message = (
            f"the text was counted by {self.name}{tried}; tokens of items and fits_at are estimates"
        )
        return made.recounted(tokens, Diagnostic("PF503", "info", message))


def _between(low: Fraction, high: Fraction, wanted: Fraction) -> Fraction:
    """Return `wanted`, or what is in the middle where it lies outside; a `high` of 0 is none."""
    wanted = wanted.limit_denominator(10_000)
    if wanted > low and (not high or wanted < high):
        return wanted
    return (low + high) / 2 if high else low * 2


class _Priced(ScaledCounter):
    """The estimate, under the name of what it stands for."""

    def __init__(self, remote: RemoteTokenizer, estimate: Counter, factor: Fraction) -> None:
        super().__init__(remote.name, estimate, factor)
        self.exact = remote.exact
