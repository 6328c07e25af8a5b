"""Words and numbers as templates print them."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_EVEN, Context, Decimal

from .escaping import to_text

_WORD = re.compile(r"[^\W_]+")
_EXACT = Context(prec=1000, rounding=ROUND_HALF_EVEN)  # 1e300 with two decimals has 303 digits


def capitalize(value: object) -> str:
    """Return each run of letters and digits with its first character in upper case and the rest in lower case.

    Common Lisp's `string-capitalize`: unlike `str.title`, a digit starts a word, so `2nd` stays `2nd`.
    """

    def word(match: re.Match[str]) -> str:
        first, rest = match[0][0], match[0][1:]
        upper = first.upper()
        lower = (
            rest.lower()
            if rest.isascii()
            else "".join(c.lower() if len(c.lower()) == 1 else c for c in rest)
        )
        return (upper if len(upper) == 1 else first) + lower

    return _WORD.sub(word, to_text(value))


def _decimal(value: object) -> Decimal:
    try:
        number = Decimal(repr(value)) if isinstance(value, int | float) else Decimal(to_text(value))
    except ArithmeticError:
        return Decimal(0)
    return (
        number if number.is_finite() and number.adjusted() < 400 else Decimal(0)
    )  # "1e999999" prints a megabyte


def percent(value: object) -> str:
    """Return a share such as 0.855 as `86%`; halves of the decimal value go to the even number."""
    return f"{_decimal(value).scaleb(2, _EXACT).quantize(Decimal(1), context=_EXACT)}%"


def decimals(value: object, places: int = 2) -> str:
    """Return a number with `places` digits after the point; halves of the decimal value go to the even digit."""
    return str(_decimal(value).quantize(Decimal(1).scaleb(-places), context=_EXACT))
