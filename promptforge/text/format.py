"""Words and numbers as templates and messages print them."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_EVEN, Context, Decimal


def to_text(value: object) -> str:
    """Return plain data as text: `None` is empty, lists get commas, floats are the shortest."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ", ".join(to_text(v) for v in value)
    if isinstance(value, dict):
        return ", ".join(f"{to_text(k)}: {to_text(v)}" for k, v in value.items())
    return str(value)


_WORD = re.compile(r"[^\W_]+")
_EXACT = Context(prec=1000, rounding=ROUND_HALF_EVEN)  # 1e300 with two decimals has 303 digits


def plural(number: int, one: str, many: str) -> str:
    """Return a number with its noun: `plural(2, "item", "items")` is `2 items`."""
    return f"{number:,} {one}" if number == 1 else f"{number:,} {many}"


def capitalize(value: object) -> str:
    """Return each run of letters and digits with its first character in upper case, others lower.

    Common Lisp's `string-capitalize`: unlike `str.title`, a digit starts a word, so `2nd` stays.
    """
    return _WORD.sub(_capitalize_word, to_text(value))


def _capitalize_word(match: re.Match[str]) -> str:
    # Lisp maps one character to one character; the sharp s has no capital of that kind.
    first, rest = match[0][0], match[0][1:]
    if len(first.upper()) == 1:
        first = first.upper()
    return first + "".join(char.lower() if len(char.lower()) == 1 else char for char in rest)


def percent(value: object) -> str:
    """Return a share such as 0.855 as `86%`; halves of the decimal value go to the even number."""
    return f"{_decimal(value).scaleb(2, _EXACT).quantize(Decimal(1), context=_EXACT)}%"


def decimals(value: object, places: int = 2) -> str:
    """Return a number with `places` decimals; halves of the decimal value go to the even digit."""
    return str(_decimal(value).quantize(Decimal(1).scaleb(-places), context=_EXACT))


def _decimal(value: object) -> Decimal:
    # By its shortest text: 0.855 is meant, not the binary 0.85499999999999998.
    text = repr(value) if isinstance(value, int | float) else to_text(value)
    try:
        number = Decimal(text)
    except ArithmeticError:
        return Decimal(0)
    if not number.is_finite() or number.adjusted() >= 400:  # "1e999999" would print a megabyte
        return Decimal(0)
    return number
