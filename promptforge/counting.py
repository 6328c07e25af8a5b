"""What the engine asks of any tokenizer: count, count parts, a lower bound, a cut."""

from __future__ import annotations

import bisect
import math
import operator
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from .boundaries import Unit, ends
from .errors import TokenizerError, quote


@runtime_checkable
class Tokenizer(Protocol):
    """What a counter of your own must have; an attribute `exact` (bool, else taken as true) may say it is a guess."""

    name: str

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`."""
        ...


class Counter:
    """A tokenizer as the engine uses it; shared by all threads. Subclasses say how to count, and may be quicker."""

    def __init__(self, name: str, *, exact: bool, fingerprint: str) -> None:
        self.name = name
        self.exact = exact
        """False for an estimate."""
        self.fingerprint = fingerprint
        """Equal for two counters only if they count alike: sha256 (hex), or `custom` for an object of the user's."""

    def __repr__(self) -> str:
        return f"<Counter {self.name}>"

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`, any text: control tokens' spelling is ordinary text."""
        raise NotImplementedError

    def count_parts(self, parts: Sequence[str]) -> int:
        """Return exactly `count("".join(parts))`, at less cost where the counter knows how."""
        return self.count("".join(parts))

    def at_least(self, text: str, limit: int) -> int:
        """Return a number that `count(text)` is never below, at most `limit + 1`; the work depends on `limit` alone."""
        return 0

    def most_chars(self, tokens: int) -> float:
        """Return a number of characters that no text of so many tokens is longer than."""
        return math.inf

    def exceeds(self, text: str, limit: int) -> bool:
        """Tell whether it is cheap to see that `count(text)` is more than `limit`; False decides nothing."""
        return self.at_least(text, limit) > limit

    def count_upto(self, text: str, limit: int) -> int:
        """Return `count(text)`, or `limit + 1` if it is more than `limit`, looking no further than needed."""
        limit = max(limit, 0)
        least = self.at_least(text, limit)
        return least if least > limit else min(self.count(text), limit + 1)

    def cut(self, text: str, n: int, unit: Unit) -> str:
        """Return the longest beginning of `text` found that has at most `n` tokens and ends where a `unit` ends.

        It is the whole text if that fits, and "" if not even one unit does. A line keeps its line feed; a sentence
        and a word end before the white space. No more of a huge text is looked at than about what `n` tokens take.
        """
        if n <= 0:
            return ""
        size = 8 * n + 64
        while size < len(text) and self.count(text[:size]) <= n:
            size *= 2
        if size >= len(text) and self.count(text) <= n:
            return text
        places = ends(text, unit, 0, min(size, len(text)))
        index = bisect.bisect_right(places, n, key=lambda place: self.count(text[:place]))
        # Counts can fall as a text grows ("\n" * 15 and "\n" * 16), so the next few may fit again.
        for ahead in range(min(index + 8, len(places)) - 1, index - 1, -1):
            if self.count(text[: places[ahead]]) <= n:
                return text[: places[ahead]]
        return text[: places[index - 1]] if index else ""


class ForeignCounter(Counter):
    """A counter of the user's own. Its counts are believed as they are."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__(
            tokenizer.name, exact=bool(getattr(tokenizer, "exact", True)), fingerprint="custom"
        )
        self._count: Callable[[str], object] = tokenizer.count

    def count(self, text: str) -> int:
        """Return what the user's `count` returns; `TokenizerError` if it fails or it is no number of tokens."""
        try:
            found = self._count(text)
        except Exception as error:
            raise TokenizerError(
                f"tokenizer {quote(self.name)}: count() failed on a text of {len(text)} characters:"
                f" {type(error).__name__}: {quote(str(error))}"
            ) from error
        try:
            tokens = -1 if isinstance(found, bool) else operator.index(found)  # type: ignore[arg-type]
        except TypeError:
            tokens = -1
        if tokens < 0:
            shown = str(found) if isinstance(found, int) else type(found).__name__
            raise TokenizerError(
                f"tokenizer {quote(self.name)}: count() returned {quote(shown)}; it must be a whole number, 0 or more"
            )
        return tokens
