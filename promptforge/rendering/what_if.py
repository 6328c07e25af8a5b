"""Larger limits, and the items that come back with them: candidates are packed again.

More room may crowd an item out again: a long one before it then fits. So a value is first found by
halves, then smaller ones are tried in steps of `GRID_STEP`, and one that does it takes its place.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator
from copy import copy
from typing import NamedTuple

GRID_STEP = 1.02
"""Factor between two smaller values that are tried once one is found, at the most."""
GRID_SHARE = 0.03
"""Share of a raise between it and the next one: close to the limit in force they stand close."""
MIN_FIRST_RAISE = 64
"""Tokens, or characters, that the first raise adds at least; each next one adds twice as many."""
MAX_EXACT_TRIES = 400
"""Tries after which values are no longer found to the last token: a loop asks for each item."""
MIN_TRIES, MAX_CHARACTERS = 16, 1 << 24
"""Tries for an item in any case, and characters of the candidates in all of them together."""
MAX_VALUE = 1 << 40
"""No limit is raised beyond."""
MIN_TRIES_UNASKED, MAX_TRIES_UNASKED, TRIES_OF_CANDIDATES = 12, 100, 800
"""Tries for a table of all items: the more candidates, the fewer."""
MAX_CHARACTERS_UNASKED = 1 << 24
"""Characters of the candidates in all these tries together."""


class Outcome(NamedTuple):
    """The page under a raised limit."""

    whole: Collection[int]
    has_spare: bool
    """True where the limit leaves so much room that more of it changes nothing."""


Search = Generator[None, None, int | None]
"""Yields after each try; returns the value of the limit that was looked for."""


class Raises:
    """Larger values of one limit, and the items that each of them shows whole.

    >>> raises = Raises(lambda most: Outcome(range(most // 100), most > 900), 100)
    >>> raises.find(4), raises.find(12), raises.too_small(4)
    (500, None, 499)
    """

    def __init__(
        self,
        show: Callable[[int], Outcome],
        now: int,
        end: int | None = None,
        most: int = MAX_VALUE,
    ) -> None:
        """Take a function that tries a value, the value in force, and the largest one allowed.

        After `most` tries for one item what was found stands.
        """
        self._most, self._last = most, most
        self._show, self.now, self._end = show, now, MAX_VALUE if end is None else end
        self._first = max(MIN_FIRST_RAISE, now // 4)
        self._tried: dict[int, Collection[int]] = {}
        self._outcomes: dict[int, Outcome] = {}
        self._has_spare = False
        self._found: dict[int | None, int | None] = {}

    @property
    def tries(self) -> int:
        """The number of values tried so far."""
        return len(self._tried)

    def find(self, index: int) -> int | None:
        """Return a value that shows the item whole, where none tried below it does; else `None`."""
        for _ in self.search(index):
            pass
        return self._found[index]

    def find_next(self, lost: Collection[int]) -> tuple[int, int] | None:
        """Return the value that brings the first of some items back, and that item.

        It is the same whatever was looked for before.
        """
        for _ in self.search_next(lost):
            pass
        return self.known_next(lost)

    def search_next(self, lost: Collection[int]) -> Iterator[None]:
        """Do what `find_next` does; yield after each try."""
        fresh = copy(self)
        fresh._tried, fresh._found, fresh._has_spare = {}, {}, False
        yield from fresh._search(None, lost, self._most)
        self._tried |= fresh._tried
        self._has_spare |= fresh._has_spare
        self._found |= fresh._found

    def known_next(self, lost: Collection[int]) -> tuple[int, int] | None:
        """Return what `find_next` has found, if it was looked for."""
        value = self._found.get(None)
        if value is None:
            return None
        return value, next(index for index in lost if index in self._tried[value])

    def ever(self, index: int) -> bool:
        """Return True if some value shows the item whole."""
        self._last = self.tries + self._most
        for _ in self._climb(lambda whole: index in whole):
            pass
        return any(index in whole for whole in self._tried.values())

    def known(self, index: int) -> int | None:
        """Return what `find` has found for an item, if it was looked for."""
        return self._found.get(index)

    def too_small(self, index: int) -> int | None:
        """Return the largest value tried below the first that shows the item whole, if any was."""
        if index in self._found and self._found[index] is None:
            return None
        return self._largest_miss(lambda whole: index in whole, MAX_VALUE + 1)

    def search(self, index: int) -> Iterator[None]:
        """Do what `find` does; yield after each try."""
        return self._search(index, (), self._most)

    def foresee(self, lost: Collection[int], tries: int) -> Iterator[None]:
        """Look for the next value, then for each item's, within so many tries; yield after each."""
        last = self.tries + tries  # those of `find_next` leave items no fewer
        # Each takes half of what is left at most: the values below the first would take it all.
        for index in (None, *lost):
            for _ in self._search(index, lost, (last - self.tries) // 2):
                yield
                if self.tries >= last:
                    return

    def _search(self, key: int | None, lost: Collection[int], most: int) -> Search:
        """Look for the value of one item, or of any of `lost`, within so many tries, or so."""
        if key in self._found:
            return self._found[key]
        self._last = self.tries + most

        def is_shown(whole: Collection[int]) -> bool:
            return key in whole if key is not None else any(index in whole for index in lost)

        found = yield from self._climb(is_shown)
        while found is not None:
            found = yield from self._halve(found, is_shown)
            smaller = yield from self._check_below(found, is_shown)
            if smaller is None:
                break
            found = smaller
        # Too few tries for a table say nothing of an item; one that was asked for has what it got.
        if key is None or most == self._most or self._is_settled(found, is_shown):
            self._found[key] = found
        return found

    def _is_settled(self, found: int | None, is_shown: Callable[[Collection[int]], bool]) -> bool:
        if found is None:
            return self._has_spare or max(self._tried, default=self.now) >= self._end
        low = self._largest_miss(is_shown, found) or self.now
        return found - low == 1

    def _try(self, value: int) -> Collection[int]:
        outcome = self._outcomes.get(value)
        if outcome is None:
            outcome = self._outcomes[value] = self._show(value)
        self._tried[value] = outcome.whole
        self._has_spare = self._has_spare or outcome.has_spare
        return outcome.whole

    def _climb(self, is_shown: Callable[[Collection[int]], bool]) -> Search:
        """Return the smallest value tried that does it; try larger ones until one does."""
        shown = [value for value, whole in self._tried.items() if is_shown(whole)]
        if shown:
            return min(shown)
        value = max(self._tried, default=self.now)
        while not self._has_spare and value < self._end and self.tries < self._last:
            value = min(value + max(value - self.now, self._first), self._end)
            whole = self._try(value)
            yield
            if is_shown(whole):
                return value
        return None

    def _largest_miss(self, is_shown: Callable[[Collection[int]], bool], below: int) -> int | None:
        shown = min((v for v, whole in self._tried.items() if is_shown(whole)), default=below)
        below = min(below, shown)
        return max((value for value in self._tried if value < below), default=None)

    def _halve(
        self, found: int, is_shown: Callable[[Collection[int]], bool]
    ) -> Generator[None, None, int]:
        low = self._largest_miss(is_shown, found)
        if low is None:
            low = self.now
        while found - low > 1 and self.tries < self._last:
            if self.tries >= MAX_EXACT_TRIES and found * 2 < low * (1 + GRID_STEP):
                break
            middle = (found + low) // 2
            if is_shown(self._try(middle)):
                found = middle
            else:
                low = middle
            yield
        return found

    def _check_below(self, found: int, is_shown: Callable[[Collection[int]], bool]) -> Search:
        """Try smaller values; return the first that does it after all."""
        grid, value = list[int](), self.now
        while True:
            step = min(GRID_SHARE * (value - self.now), (GRID_STEP - 1) * value)
            value += max(int(step), 1)
            if value * GRID_STEP >= found:
                break
            grid.append(value)
        # Every second one, fourth one …: so the values of one item serve the next.
        left, step = max(self._last - self.tries, 1), 1
        while len(grid[step - 1 :: step]) > left:
            step *= 2
        for each in grid[step - 1 :: step]:
            if each not in self._tried:
                whole = self._try(each)
                yield
                if is_shown(whole):
                    return each
        return None


def tries_asked(characters: int) -> int:
    """Return how many values are tried for items that are asked for."""
    return max(MIN_TRIES, MAX_CHARACTERS // (characters + 1))


def tries_unasked(candidates: int, characters: int) -> int:
    """Return how many values are tried for a table of all items."""
    tries = max(MIN_TRIES_UNASKED, min(MAX_TRIES_UNASKED, TRIES_OF_CANDIDATES // (candidates + 1)))
    return min(tries, MAX_CHARACTERS_UNASKED // (characters + 1))
