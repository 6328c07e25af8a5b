"""Learn the factor between an unknown tokenizer and a known one from texts with true counts."""

from __future__ import annotations

import json
import math
import os
import statistics
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from ..errors import Diagnostics, TokenizerError, quote, suggest_name
from ..sources.workspace import read_named
from ..tokenizers.registry import get_tokenizer, is_scaled

ENOUGH_PAIRS = 59
"""Pairs that make it 95 % sure that 95 % of such texts take no more than the largest ratio."""
# 1 - 0.95**59 > 0.95: S. S. Wilks, Determination of sample sizes for setting tolerance limits,
# 1941.
MIN_STANDARD_ERRORS = 2
"""Standard errors above 0 from which a constant is believed."""
MIN_PAIRS_FOR_CONSTANT = 10
"""Pairs needed to believe a constant."""


class CountedText(NamedTuple):
    """A text and its true tokens."""

    text: str
    tokens: int
    where: str
    """File and line."""


def load_counted_texts(
    path: str, *, diagnostics: Diagnostics, workspace: str | os.PathLike[str]
) -> list[CountedText]:
    """Read JSON Lines of `{"text": …, "tokens": N}` from a file or standard input (`-`).

    Other fields are ignored, and a bad line costs only itself (PF204). Raises `ItemError` if the
    file cannot be read.
    """
    content, name = read_named(path, workspace=workspace, diagnostics=diagnostics)
    found = []
    for number, line in enumerate(content.split("\n"), 1):
        if not line.strip():
            continue
        where = f"{name}:{number}"
        try:
            text, tokens = _read_pair(json.loads(line))
            found.append(CountedText(text, tokens, where))
            continue
        except json.JSONDecodeError as error:
            problem = f"not valid JSON: {error.msg} (column {error.colno})"
        # A wrong field, a number of too many digits, or too much nesting.
        except (ValueError, RecursionError) as error:
            problem = str(error) or "it nests too deeply"
        diagnostics.add("PF204", f"{problem}; the line is left out", where=where)
    return found


def _read_pair(record: object) -> tuple[str, int]:
    if not isinstance(record, dict):
        raise ValueError('expected an object such as {"text": "…", "tokens": 7}')
    for field in ("text", "tokens"):
        if field not in record:
            raise ValueError(f"no field {quote(field)}{suggest_name(field, map(str, record))}")
    text, tokens = record["text"], record["tokens"]
    if not isinstance(text, str):
        raise ValueError(f"text: expected a text, not {type(text).__name__}")
    if not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 0:
        shown = type(tokens).__name__
        if isinstance(tokens, int | float):
            shown = json.dumps(tokens)[:40]
        raise ValueError(f"tokens: expected a whole number from 0 up, not {shown}")
    return text, tokens


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
    """True if there were `ENOUGH` pairs."""

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
    counter = get_tokenizer(base)
    if is_scaled(base):
        raise TokenizerError(
            f"the base {quote(base)} has a factor already: give the tokenizer without it"
        )
    rows: list[tuple[int, int, int]] = []
    for place, (text, true) in enumerate(pairs):
        if not isinstance(true, int) or isinstance(true, bool) or true < 0:
            problem = "it must be a whole number from 0 up"
            raise TokenizerError(f"pair {place}: its count is {quote(str(true))}; {problem}")
        if own := counter.count(text):
            rows.append((own, true, place))
    if not any(true for _, true, _ in rows):
        raise TokenizerError(
            f"nothing to calibrate by: no text has tokens by {base} and a true count above 0"
        )
    ratios = [true / own for own, true, _ in rows]
    slope, intercept, error = _line([1 / own for own, _, _ in rows], ratios)
    constant = 0
    if (
        len(rows) >= MIN_PAIRS_FOR_CONSTANT
        and intercept >= 1
        and intercept > MIN_STANDARD_ERRORS * error
    ):
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


def _line(xs: list[float], ys: list[float]) -> tuple[float, float, float]:
    """Return a and b of y = a + b · x by least squares, and the standard error of b."""
    mean_x, mean_y = statistics.fmean(xs), statistics.fmean(ys)
    across = math.fsum((x - mean_x) ** 2 for x in xs)
    # Texts of one length have no slope, and two points always have one without an error.
    if len(xs) < 3 or across <= 1e-18:
        return mean_y, 0.0, 0.0
    b = math.fsum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / across
    a = mean_y - b * mean_x
    left = math.fsum((y - a - b * x) ** 2 for x, y in zip(xs, ys, strict=True))
    return a, b, math.sqrt(left / (len(xs) - 2) / across)
