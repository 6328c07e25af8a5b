"""Words and numbers as templates and messages print them."""

import re
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import NamedTuple

from .characters import change_known
from .words import last_unit_end


class Marks(NamedTuple):
    """The words for what is left out of a text, and for places in it.

    `templates/layout.yaml` holds the shipped ones. `{count}` and other words in braces are filled
    in by plain replacement: the phrases are an author's, so `str.format` would let them reach into
    the values.
    """

    marker: str
    """The text in place of a cut, an option."""
    thousands: str
    gap: str
    equal_line: str
    equal_lines: str
    frame: str
    frames: str
    repeated_frame: str
    repeated_frames: str
    frames_in: str
    more_items: str
    more_keys: str
    more_characters: str
    all_items: str
    all_keys: str
    line: str
    lines: str
    line_number: str
    content_tag: str

    def number(self, value: int) -> str:
        """Return a number with its thousands apart: `1,204`."""
        return f"{value:,}".replace(",", self.thousands)

    def counted(self, number: int, one: str, many: str) -> str:
        """Return the phrase for one or for many, filled in: `12 equal lines`."""
        return (one if number == 1 else many).replace("{count}", self.number(number))

    def line_range(self, start: int, end: int) -> str:
        """Return `line 5` or `lines 5-8`."""
        phrase = self.line if start == end else self.lines
        return phrase.replace("{start}", str(start)).replace("{end}", str(end))


def number_lines(text: str, first: int, phrase: str, *, begun: bool = False) -> str:
    r"""Return `text` with `phrase` before each line, `{start}` filled in from `first` up.

    `begun`: the first line began before `text`, so nothing stands before it.

    >>> number_lines("a\nb\n", 9, "{start}: ")
    '9: a\n10: b\n'
    """
    lines = text.split("\n")
    last = len(lines) - (not lines[-1])  # behind the last line end there is no line
    for place in range(int(begun), last):
        lines[place] = phrase.replace("{start}", str(first + place)) + lines[place]
    return "\n".join(lines)


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
    text = str(value)  # raises for an unknown name; an `if` without `else` is empty
    if text and not isinstance(value, int | float):  # `super` would print its address in memory
        raise TypeError("a macro, super or loop is not a value; a macro is called: {{ name() }}")
    return text


_WORD = re.compile(r"[^\W_]+")
MAX_DECIMALS = 300
_EXACT = Context(prec=1000, rounding=ROUND_HALF_EVEN)  # 1e300 with two decimals has 303 digits


def plural(number: int, one: str, many: str) -> str:
    """Return a number with its noun: `plural(2, "item", "items")` is `2 items`."""
    return f"{number:,} {one}" if number == 1 else f"{number:,} {many}"


def capitalize(value: object) -> str:
    """Return each run of letters and digits with its first character in upper case, others lower.

    Common Lisp's `string-capitalize`: unlike `str.title`, a digit starts a word, so `2nd` stays.
    """
    return change_known(to_text(value), lambda text: _WORD.sub(_capitalize_word, text))


def _capitalize_word(match: re.Match[str]) -> str:
    # Lisp maps one character to one character; the sharp s has no capital of that kind.
    first, rest = match[0][0], match[0][1:]
    if len(first.upper()) == 1:
        first = first.upper()
    return first + "".join(char.lower() if len(char.lower()) == 1 else char for char in rest)


_TITLE_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")  # unlike for `str.title`, `don't` is one word


def title(text: str) -> str:
    """Return each word with its first letter in upper case, the others lower."""

    def change(known: str) -> str:
        return _TITLE_WORD.sub(lambda word: word[0][0].upper() + word[0][1:].lower(), known)

    return change_known(text, change)


def truncate(text: str, length: int = 255, end: str = "…") -> str:
    """Return at most `length` characters of `text`, cut after a word and closed by `end`."""
    if len(text) <= length:
        return text
    room = length - len(end)
    if room <= 0:
        return end[: max(0, length)]
    cut = last_unit_end(text, "word", room) or last_unit_end(text, "character", room)
    return text[:cut].rstrip() + end


def percent(value: object) -> str:
    """Return a share such as 0.855 as `86%`; halves of the decimal value go to the even number.

    A text that is no number stays as it is; NaN and infinity count as 0.
    """
    number = _decimal(value)
    if number is None:
        return to_text(value)
    return f"{number.scaleb(2, _EXACT).quantize(Decimal(1), context=_EXACT)}%"


def decimals(value: object, places: int = 2) -> str:
    """Return a number with `places` decimals; halves of the decimal value go to the even digit."""
    if not (isinstance(places, int) and 0 <= places <= MAX_DECIMALS):
        raise ValueError(f"the places of a number are 0 to {MAX_DECIMALS}")
    number = _decimal(value)
    if number is None:
        return to_text(value)
    return str(number.quantize(Decimal(1).scaleb(-places), context=_EXACT))


def round_number(value: object, places: int = 0) -> object:
    """Return a number rounded as `decimals` does; a whole one where no places are asked for."""
    if _decimal(value) is None:
        return value if to_text(value) else 0
    text = decimals(value, max(0, places))
    return float(text) if places > 0 else int(text)


def _decimal(value: object) -> Decimal | None:
    # By its shortest text: 0.855 is meant, not the binary 0.85499999999999998.
    text = float.__repr__(value) if isinstance(value, float) else to_text(value)
    try:
        number = Decimal(text)
    except ArithmeticError:
        return None
    if not number.is_finite() or number.adjusted() >= 400:  # "1e999999" would print a megabyte
        return Decimal(0)
    return number


def append_marker(text: str, marker: str) -> str:
    """Return `text`, then `marker` on a line of its own."""
    return "\n".join(filter(None, (text, marker)))


MAX_PLACES_SHOWN = 5


def few(places: Sequence[str]) -> str:
    """Return the first five places in brackets."""
    more = " …" * (len(places) > MAX_PLACES_SHOWN)
    return f" ({', '.join(places[:MAX_PLACES_SHOWN])}{more})"
