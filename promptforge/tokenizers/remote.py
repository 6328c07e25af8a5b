"""Tokenizers that are not at hand: a provider counts (`RemoteTokenizer`), or counts teach a factor.

A provider is asked for finished texts alone; all before is counted by an estimate. `calibrate`
learns the factor between an unknown tokenizer and a known one from texts with true counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from types import SimpleNamespace
from typing import cast

import msgspec

from ..errors import BudgetError, Diagnostic, TokenizerError, quote
from ..model import Result
from .counters import (
    Counter,
    CustomCounter,
    RecentCache,
    ScaledCounter,
    Tokenizer,
    require_text,
)
from .registry import get_tokenizer, is_scaled

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
    Of a whole prompt all texts are counted together, at most three times.

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


# --- calibration ----------------------------------------------------------------------------------

ENOUGH_PAIRS = 59
"""Pairs that make it 95 % sure that 95 % of such texts take no more than the largest ratio."""
# 1 - 0.95**59 > 0.95: S. S. Wilks, Determination of sample sizes for setting tolerance limits,
# 1941.
MIN_STANDARD_ERRORS = 2
"""Standard errors above 0 from which a constant is trusted."""
MIN_PAIRS_FOR_CONSTANT = 10
"""Pairs needed to trust a constant."""


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """A factor learnt from texts and their true counts."""

    base: str
    """The known tokenizer."""
    pairs: int
    """Texts used: those with a token by `base`."""
    mean: float
    """Mean of the ratios true / base."""
    spread: float
    """Their standard deviation; 0 for one pair."""
    least: float
    """The smallest ratio."""
    largest: float
    """The largest ratio."""
    slope: float
    """a of the line true = a · base + b. A pair weighs as its ratio does, long or short."""
    intercept: float
    """b of that line: the overhead of each text, such as that of a message."""
    constant: int
    """Tokens subtracted from each true count: the intercept rounded if it is sure, else 0."""
    factor: float
    """The declared upper factor: the largest (true - constant) / base, rounded up to hundredths."""
    worst: int
    """The index of the pair that gave it."""
    enough: bool
    """True if there were `ENOUGH_PAIRS`."""

    @property
    def tokenizer(self) -> str:
        """The name to give as `tokenizer`: `BASE*FACTOR`."""
        return f"{self.base}*{self.factor:g}"


def calibrate(pairs: Iterable[tuple[str, int]], *, base: str = "o200k_base") -> Calibration:
    """Learn the factor between the true counts of `pairs` (text, tokens) and those by `base`.

    No pair takes more than `factor` times its tokens by `base`, plus `constant`. With n pairs, one
    more such text exceeds that at most once in n + 1 times. The line is fitted by least squares to
    the ratios: true / base = a + b · (1 / base). `constant` is used from ten pairs on, if b is more
    than two standard errors above 0.

    Raises `TokenizerError` for an unknown `base` or one with a factor, a count that is no whole
    number from 0 up, pairs without any token, or a factor past 9999.
    """
    import statistics  # late: renderings import this module, and need none of it

    counter = get_tokenizer(base)
    if is_scaled(base):
        raise TokenizerError(
            f"the base {quote(base)} has a factor already: give the tokenizer without it"
        )
    rows = _count_pairs(pairs, counter)
    if not any(true for _, true, _ in rows):
        raise TokenizerError(
            f"nothing to calibrate by: no text has tokens by {base} and a true count above 0"
        )
    ratios = [true / own for own, true, _ in rows]
    slope, intercept, error = _line([1 / own for own, _, _ in rows], ratios)
    constant = 0
    is_sure = intercept >= 1 and intercept > MIN_STANDARD_ERRORS * error
    if is_sure and len(rows) >= MIN_PAIRS_FOR_CONSTANT:
        constant = max(0, min(round(intercept), min(true for _, true, _ in rows) - 1))
    # In whole numbers, because a float rounded up could fall short of the largest ratio.
    hundredths, _, worst = max(
        (-(-100 * (true - constant) // own), own, -place) for own, true, place in rows
    )
    if hundredths > 999_900:
        raise TokenizerError(f"pair {-worst}: its count is more than 9,999 times that by {base}")
    return Calibration(
        base=base,
        pairs=len(rows),
        mean=statistics.fmean(ratios),
        spread=statistics.stdev(ratios) if len(ratios) > 1 else 0.0,
        least=min(ratios),
        largest=max(ratios),
        slope=slope,
        intercept=intercept,
        constant=constant,
        factor=max(hundredths, 1) / 100,
        worst=-worst,
        enough=len(rows) >= ENOUGH_PAIRS,
    )


def _count_pairs(pairs: Iterable[tuple[str, int]], counter: Counter) -> list[tuple[int, int, int]]:
    """Return tokens by the counter, the true ones and the place of each pair that has any."""
    rows = []
    for place, (text, true) in enumerate(pairs):
        if not isinstance(true, int) or isinstance(true, bool) or true < 0:
            problem = "it must be a whole number from 0 up"
            raise TokenizerError(f"pair {place}: its count is {quote(str(true))}; {problem}")
        if own := counter.count(text):
            rows.append((own, true, place))
    return rows


def _line(xs: list[float], ys: list[float]) -> tuple[float, float, float]:
    """Return a and b of y = a + b · x by least squares, and the standard error of b."""
    mean_x, mean_y = math.fsum(xs) / len(xs), math.fsum(ys) / len(ys)
    across = math.fsum((x - mean_x) ** 2 for x in xs)
    # Texts of one length have no slope, and two points always have one without an error.
    if len(xs) < 3 or across <= 1e-18:
        return mean_y, 0.0, 0.0
    b = math.fsum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / across
    a = mean_y - b * mean_x
    left = math.fsum((y - a - b * x) ** 2 for x, y in zip(xs, ys, strict=True))
    return a, b, math.sqrt(left / (len(xs) - 2) / across)
