"""`RemoteTokenizer`: the provider counts, since its tokenizer is not at hand.

A provider is asked for finished texts alone; all before is counted by an estimate.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import cast

from ..errors import BudgetError, Diagnostic
from ..model import Result
from .counters import Counter, CustomCounter, RecentCache, ScaledCounter, Tokenizer, require_text
from .registry import get_tokenizer

MAX_PROVIDER_CALLS = 4
"""Calls of the provider for one rendering."""
FULL_SHARE = Fraction(98, 100)
"""A text with this share of the budget is not made again to fill it better."""
RATIO_MARGIN = Fraction(1, 100)
"""Added to the ratio seen, once more with each try: the next text is not quite the same."""
MAX_CHARACTERS_REMEMBERED = 1 << 22
"""Characters of texts with a remembered count."""


class RemoteTokenizer(Counter):
    """A tokenizer that only its provider has: give it as `tokenizer` to a `Renderer`.

    `count` takes a text and returns its tokens by asking the provider. It is called for the
    finished text of a rendering, at most `calls` times, never for an empty text nor for one it
    counted lately. Items are counted by `estimate`, a name or object as `tokenizer` takes them.
    Where the provider finds the text too long, or much shorter than the budget, the text is made
    again by the ratio seen. So `Result.tokens` is the provider's figure and never above
    `max_tokens`; tokens of items and `fits_at` are estimates, and a diagnostic says so.
    Nothing is learnt from one rendering to the next: equal items give equal text.
    All texts of a whole prompt are counted together, at most three times.

    `exact`: True if the provider vouches for its count. Raises `TokenizerError` if `count` fails.

        remote = pf.RemoteTokenizer("claude-opus", count, estimate="approximate-claude")
        pf.render(items, tokenizer=remote)
    """

    def __init__(
        self,
        name: str,
        count: Callable[[str], int],
        *,
        estimate: str | Tokenizer = "o200k_base",
        calls: int = MAX_PROVIDER_CALLS,
        exact: bool = True,
    ) -> None:
        super().__init__(name, exact=exact, fingerprint="custom")
        self._ask = CustomCounter(cast(Tokenizer, SimpleNamespace(name=name, count=count)))
        self.estimate = get_tokenizer(estimate)
        """Counts everything that is not finished."""
        self._calls = max(1, calls)
        self._counts: RecentCache[int] = RecentCache(MAX_CHARACTERS_REMEMBERED)

    def count(self, text: str) -> int:
        """Return the provider's count; 0 for "", because providers refuse to count it."""
        require_text(text)
        if not text:
            return 0
        tokens = self._counts.get(text)
        if tokens is None:
            tokens = self._ask.count(text)
            self._counts.put(text, tokens)
        return tokens

    def settle(self, make: Callable[[Counter], Result]) -> Result:
        """Return the fullest result of `make` (tokenizer → result) that the provider finds fitting.

        Raises `BudgetError` where the required items fit by no ratio that was tried.
        """
        # At `too_low` the text was too long, at `fitting` it fitted; 0 is not known.
        factor, too_low, fitting = Fraction(1), Fraction(0), Fraction(0)
        best: tuple[Result, int] | None = None
        lacking: BudgetError | None = None
        # A remembered count is a call too: memory must not change what comes out.
        asked: set[str] = set()
        for tries in range(1, self._calls + 3):
            try:
                made = make(_NamedEstimate(self, factor))
            except BudgetError as error:  # perhaps only the estimate is too high
                lacking, fitting = error, factor
                factor = _between(too_low, fitting, factor / 2)
                continue
            if made.text and made.text not in asked and len(asked) == self._calls:
                break
            asked |= {made.text} - {""}
            true, budget = self.count(made.text), made.max_tokens
            fits = budget is None or true <= budget
            if fits and (best is None or true > best[1]):
                best = made, true
            if budget is None or (fits and (not made.truncated or true >= budget * FULL_SHARE)):
                break
            if fits:
                fitting = factor
            else:
                too_low = factor
            own = self.estimate.count(made.text)
            ratio = Fraction(true, own) * (1 + RATIO_MARGIN * tries) if own else factor * 2
            previous, factor = factor, _between(too_low, fitting, ratio)
            if factor == previous:
                break
        if best is None and lacking is not None:
            raise lacking
        return self._noted(*(best or self._shortest(make)), len(asked))

    def _shortest(self, make: Callable[[Counter], Result]) -> tuple[Result, int]:
        # Too long each time: only a text of nothing is sure to fit.
        made = make(_NamedEstimate(self, Fraction(10**9)))
        tokens, budget = self.count(made.text), made.max_tokens or 0
        if tokens > budget:
            message = f"{self.name} counts {tokens:,} tokens in the shortest text"
            raise BudgetError(message, needed=tokens, largest=budget)
        return made, tokens

    def _noted(self, made: Result, tokens: int, texts: int) -> Result:
        tried = f", the best of {texts} tried" if texts > 1 else ""
        message = f"the text was counted by {self.name}{tried}"
        message += "; tokens of items and fits_at are estimates"
        return made.recounted(tokens, Diagnostic("PF503", "info", message))


def _between(low: Fraction, high: Fraction, wanted: Fraction) -> Fraction:
    """Return `wanted` where it lies between, else the middle; a `high` of 0 is none."""
    wanted = wanted.limit_denominator(10_000)
    if wanted > low and (not high or wanted < high):
        return wanted
    return (low + high) / 2 if high else low * 2


class _NamedEstimate(ScaledCounter):
    """The estimate under the name of the tokenizer it stands for."""

    def __init__(self, remote: RemoteTokenizer, factor: Fraction) -> None:
        super().__init__(remote.name, remote.estimate, factor)
        self.exact = remote.exact
