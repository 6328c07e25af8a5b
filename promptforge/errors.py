"""What promptforge raises, and how messages quote values and guess names. Every error is one line that names what,
which, where and the way out.

PromptForgeError            exit code of the command line
├── OptionError             2   an option, its name or its value
│   └── ProfileError        2   the same, in a profile file (has a line)
├── BudgetError             3   what is required does not fit
├── ItemError               4   an item or a source: a record, a file, a man page, a technique
├── TokenizerError          2   an unknown or unusable tokenizer
├── TemplateError           5   a template that cannot be found, compiled or rendered
└── StrictError             1   `on_error: raise`, and something had to be said
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .diagnostics import Diagnostic


_TYPE_NAME = type.__dict__["__name__"].__get__  # a metaclass may lie
LISTED = 60
"""How many names a message lists."""
_LONG = 8
"""Letters of a word in which two may be wrong."""
_ALIKE = 0.75
"""The share of letters in their order that two words have in common where more letters than a few are wrong."""


def nearest(word: str, known: Iterable[str]) -> str:
    """Return ``; did you mean "x"?`` for the known word nearest to `word`, or a list of what there is."""
    names = sorted(set(known))
    return did_you_mean(word, names) or (f"; there are: {listed(names)}" if names else "")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``; did you mean "x"?`` for the known word nearest to `word`; empty where none is near."""
    names = sorted(set(known))
    close = [
        name
        for name in difflib.get_close_matches(word, names, n=3, cutoff=0.6)
        if _like(word, name)
    ]
    return f'; did you mean "{min(close, key=lambda name: distance(word, name))}"?' if close else ""


def listed(names: Sequence[str]) -> str:
    """Return names with commas between them, of very many the first."""
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more


def distance(one: str, other: str) -> int:
    """Return how many letters are put in, left out, changed or swapped with the next to make one word of another."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        last, before, row = before, row, [i]
        for j, b in enumerate(other, 1):
            least = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 < j and a == other[j - 2] and one[i - 2] == b:
                least = min(least, last[j - 2] + 1)
            row.append(least)
    return row[-1]


def sure(word: str, known: Iterable[str]) -> str | None:
    """Return the one word that `word` can only be a misspelling of: one letter off, of a long word two."""
    most = 1 if len(word) < _LONG else 2
    near = [
        name
        for name in set(known)
        if abs(len(name) - len(word)) <= most and distance(word, name) <= most
    ]
    return near[0] if len(near) == 1 and near[0] != word else None


def _like(word: str, name: str) -> bool:
    """Whether so much of two words is alike that one may be meant by the other; of files the ending does not count."""
    stem, end = word.split(".")[0], name.split(".")[0]
    if word.endswith(".j2") and name.endswith(".j2") and word != stem and name != end:
        stem, end = (one.rpartition("/")[2] for one in (stem, end))
    else:
        stem, end = word, name
    apart = distance(stem, end)
    return (
        apart <= max(1, len(stem) // 3, len(end) // 3)
        or stem in end
        or difflib.SequenceMatcher(None, end, stem).ratio() >= _ALIKE
    )


def quote(value: object, limit: int = 80) -> str:
    """Return `value` as a short quoted ASCII-safe text that can neither forge a log line nor move a terminal."""
    text = value if type(value) is str else _TYPE_NAME(type(value))
    shown = ascii(text[:limit])[1:-1].replace("\\'", "'")
    return f'"{shown}{"…" if len(text) > limit else ""}"'


class PromptForgeError(Exception):
    """The root of all errors of this library."""

    exit_code = 1
    where: str | None = None
    """The place that the message begins with, where it has one."""

    @property
    def bare(self) -> str:
        """The message without that place."""
        return str(self).removeprefix(f"{self.where}: ")


class OptionError(PromptForgeError):
    """An option that does not exist, or a value it does not take."""

    exit_code = 2

    def __init__(
        self, message: str, *, option: str | None = None, absent: str | None = None
    ) -> None:
        super().__init__(message)
        self.option = option
        self.absent = absent
        """The name of a layout, prompt, template or profile that was asked for and is not there."""


class ProfileError(OptionError):
    """A profile, job or layout file that cannot be read. `where` is `file:line`."""

    def __init__(
        self, message: str, *, where: str | None = None, option: str | None = None, column: int | None = None,
        inside: tuple[str, ...] = (), absent: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(f"{where}: {message}" if where else message, option=option, absent=absent)
        self.where = where
        self.column = column
        """The character of the line, from 1, where it is known."""
        self.inside = inside
        """The keys within the value of `option` that lead to what is wrong."""


class BudgetError(PromptForgeError):
    """The budget cannot hold what must be in the text."""

    exit_code = 3

    def __init__(self, message: str, *, needed: int, largest: int) -> None:
        super().__init__(message)
        self.needed = needed
        """The smallest budget, in the unit of the ceiling, that would do."""
        self.largest = largest
        """The ceiling that was given."""


class ItemError(PromptForgeError):
    """A record or a source that cannot become an item. `where` names file, line and field."""

    exit_code = 4

    def __init__(self, message: str, *, where: str | None = None, field: str | None = None) -> None:
        super().__init__(f"{where}: {message}" if where else message)
        self.where = where
        self.field = field


class TokenizerError(PromptForgeError):
    """A tokenizer that is unknown or cannot be loaded."""

    exit_code = 2


class Excerpt(NamedTuple):
    """A line of a template, and the columns in it that are meant, counted from 1, the end not included."""

    line: int
    source: str
    column: int
    end: int


class TemplateError(PromptForgeError):
    """A template that is missing, does not compile or fails. `where` is `name:line`."""

    exit_code = 5

    def __init__(
        self, message: str, *, where: str | None = None, excerpt: Excerpt | None = None
    ) -> None:
        super().__init__(f"{where}: {message}" if where else message)
        self.where = where
        self.excerpt = excerpt
        """The line, where it is known."""


class StrictError(PromptForgeError):
    """`on_error: raise` and a diagnostic of severity warning or above. The lenient result is not lost with it."""

    def __init__(
        self, message: str, *, diagnostics: tuple[Diagnostic, ...] = (), result: object = None
    ) -> None:
        super().__init__(message)
        self.diagnostics = diagnostics
        self.result = result


def show(value: object) -> str:
    """Return a value as a message shows it: numbers and words plain, texts quoted, anything else by its type."""
    if value is None or value is True or value is False:
        return {None: "none", True: "true", False: "false"}[value]
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, int):  # 10**5000 cannot even be printed
        return repr(value) if value.bit_length() <= 64 else "a number past 64 bits"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_show_part, value[:5]))}{', …' if len(value) > 5 else ''}]"
    if isinstance(value, dict):
        pairs = [
            f"{_show_part(key)}: {_show_part(value[key])}" for key in itertools.islice(value, 3)
        ]
        return f"{{{', '.join(pairs)}{', …' if len(value) > 3 else ''}}}"
    return quote(value) if type(value) is str else f"a value of type {type(value).__name__}"


def _show_part(value: object) -> str:
    return "…" if isinstance(value, list | tuple | dict) else show(value)
