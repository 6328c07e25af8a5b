"""Costs, variants, and the page as packing sees it. No text, no templates, no tokenizer.

A cost is a pair: tokens and characters. A limit is such a pair too.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import filterfalse
from typing import NamedTuple, Protocol, overload

from ..errors import BudgetError

Cost = tuple[float, float]
"""Tokens, characters."""

ZERO_COST: Cost = (0, 0)

UNLIMITED = math.inf

CHARACTERS_PER_TOKEN = 4
"""About so many in English and programs; used where the budget is in characters."""

MIN_FRONT = 1500
"""Indices that are sorted at first, where there are many more."""
SAMPLE_SIZE = 1000


class Variant(NamedTuple):
    """One way to show an item."""

    name: str
    """`expanded content trimmed outline summary stub`."""
    text: str
    """The text that stands for its content."""
    cut: bool = False
    """True when text is missing at the end: the marker then says so."""


STUB_VARIANT = Variant("stub", "", cut=True)
"""The item's attribution and the marker; nothing of its content."""

SHORTENED_VARIANTS = frozenset({"trimmed", "outline", "stub"})
"""Names of variants that promptforge made shorter than the item gave them."""


EMPTY_VARIANT = Variant("trimmed", "", cut=True)
"""A variant of nothing but its marker."""
MAX_UNUSED_TOKENS = 8
"""Unused tokens too few to be worth trimming an item for."""


class VariantColumns(NamedTuple):
    """Variants of some items, item by item."""

    items: Sequence[int]
    names: Sequence[str]
    sizes: Sequence[int]
    """Bytes of the texts in UTF-8: tokens follow them better than characters, in Chinese too."""


class JoinedVariant(NamedTuple):
    """Chosen items that touch, shown as one in the place of the first."""

    members: Sequence[int]
    """The items, in the caller's order: the first stands for all."""
    variant: Variant


class PackablePage(Protocol):
    """A page as packing sees it. Equal questions in equal order get equal answers."""

    shared_end_tokens: int
    """Tokens an item may cost less on the page than alone: its ends may merge with neighbours."""

    def variants(self, index: int) -> Sequence[Variant]:
        """Return the whole variants of an item, the longest first."""
        ...

    def whole_variants(self, indices: Sequence[int]) -> VariantColumns:
        """Return the whole variants of these items without their texts."""
        ...

    def item_cost(self, index: int, variant: Variant) -> Cost:
        """Return the cost of an item alone."""
        ...

    def prepare_costs(self, walk: Sequence[int], room: Cost) -> None:
        """Work out at once the costs of the first items of `walk` that will surely be asked for."""
        ...

    def may_fit(self, index: int, variant: Variant, room: Cost) -> bool:
        """Return False where a cheap bound shows that an item needs more than `room`."""
        ...

    def exceed(self, indices: Collection[int], room: Cost) -> bool:
        """Return True where cheap lower bounds show that these items together need more."""
        ...

    def maybe_fitting(self, indices: Sequence[int], room: Cost, trim: bool) -> Sequence[int]:
        """Drop items that certainly do not fit, judged by cheap lower bounds.

        With `trim` a shortened variant counts too.
        """
        ...

    def is_within(self, index: int, other: int) -> bool:
        """Return True if an item is a range of lines within the range of another."""
        ...

    def duplicates(
        self, index: int, chosen: Mapping[int, Variant]
    ) -> tuple[int | None, Sequence[int]]:
        """Return the chosen item that contains this one's text, and those this one contains."""
        ...

    def join(self, whole: Iterable[int]) -> Sequence[JoinedVariant]:
        """Join those of these items that touch; the first of each is now all of them."""
        ...

    def separate(self, joined: Sequence[JoinedVariant]) -> None:
        """Undo `join`: each first item is again as it was."""
        ...

    def measure(self, chosen: Mapping[int, Variant]) -> Cost:
        """Return the exact cost of the page with just these items."""
        ...

    def shorten(
        self, index: int, chosen: Mapping[int, Variant], limit: Cost, room: Cost | None = None
    ) -> tuple[Variant, Cost] | None:
        """Return the best shorter variant beside `chosen` within `limit`, and the page's cost.

        `room` is the most the item itself may cost, if less than the rest of `limit`.
        """
        ...

    def least_variant(self, index: int) -> Variant:
        """Return the variant of about the fewest tokens that still say something of an item."""
        ...

    def longest_within(self, index: int, tokens: float, chars: float) -> Variant | None:
        """Return the longest shorter variant with a text within both bounds, if there is one."""
        ...

    def outline_within(self, index: int, tokens: float, chars: float) -> Variant | None:
        """Return as many signatures or headings as are within both bounds, without their texts."""
        ...

    def declarations(self, index: int) -> Sequence[tuple[float, int]]:
        """Return the worth of each declaration of an item by the use of its name, and its size."""
        ...

    def outline_of_worth(self, index: int, least: float) -> Variant | None:
        """Return the declarations of an item that are worth no less, if there are any."""
        ...

    def without_shared_comment(self, index: int) -> Variant:
        """Return an item whole, but for a comment that it begins with and another one shows."""
        ...


class BestFirst(Sequence[int]):
    """Indices, the best rank first; of equal ranks in the order given. Sorted as far as needed.

    >>> walk = BestFirst([0, 1, 2], [0.5, 0.1, 0.9])
    >>> walk[0], list(walk)
    (2, [2, 0, 1])
    """

    def __init__(
        self, unordered: Sequence[int], ranks: Sequence[float], first: Iterable[int] = ()
    ) -> None:
        """Take indices with their ranks, and others that come before all of them as they are."""
        self._first, self._unordered, self._ranks = [*first], unordered, ranks
        self._front = self._first[:]

    @property
    def unordered(self) -> Sequence[int]:
        """All indices, in the order given."""
        return [*self._first, *self._unordered] if self._first else self._unordered

    def after(self, first: Iterable[int]) -> BestFirst:
        """Return the same with some others before them."""
        return BestFirst(self._unordered, self._ranks, [*first, *self._first])

    def owners(self, owner_of: Sequence[int]) -> BestFirst:
        """Return the owners of these, each once, where its first one stands."""
        first = dict.fromkeys(map(owner_of.__getitem__, self._first))
        ranks = array("d", [-UNLIMITED]) * (max(owner_of, default=0) + 1)
        owners = list(map(owner_of.__getitem__, self._unordered))
        for owner, rank in zip(owners, map(self._ranks.__getitem__, self._unordered), strict=True):
            if rank > ranks[owner]:
                ranks[owner] = rank
        rest = dict.fromkeys(owners)
        return BestFirst([*filterfalse(first.__contains__, rest)], ranks, first)

    def __len__(self) -> int:
        return len(self._first) + len(self._unordered)

    def __iter__(self) -> Iterator[int]:
        place = 0
        while place < len(self):
            self._sort(place + 1)
            front = self._front
            yield from front[place:]
            place = len(front)

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[int]: ...
    def __getitem__(self, place: int | slice) -> int | Sequence[int]:
        if isinstance(place, int):
            self._sort(place + 1 if place >= 0 else len(self))
        else:
            self._sort(len(self) if place.stop is None or place.stop < 0 else place.stop)
        return self._front[place]

    def of_rank(self, share: float, place: int) -> Sequence[int]:
        """Return the indices with at least a share of the rank that the one at a place has."""
        least = share * self._ranks[self[min(place, len(self) - 1)]]
        return self.in_order(i for i in self.unordered if self._ranks[i] >= least)

    def tail(self, start: int) -> list[int]:
        """Return the indices from a place on, those beyond the front in no order of ranks."""
        if len(self._front) == len(self):
            return self._front[start:]
        return [*self._front[start:], *filterfalse({*self._front}.__contains__, self._unordered)]

    def in_order(self, indices: Iterable[int]) -> list[int]:
        """Return some of `tail` in order."""
        return sorted(indices, key=self._ranks.__getitem__, reverse=True)

    def _sort(self, count: int) -> None:
        """Put at least the best `count` into the front."""
        if min(count, len(self)) <= len(self._front):
            return
        # Twice as many each time: asked for one more again and again, it passes few times over all.
        count, ranks = max(count, 2 * len(self._front), MIN_FRONT), self._ranks
        these = self._unordered
        if len(these) > 4 * count:
            # A sample tells where the best of a hundred thousand end. It takes a quarter more than
            # the share says, and two: too short a front costs a second pass over all.
            step = len(these) // SAMPLE_SIZE
            sample = sorted(map(ranks.__getitem__, these[::step]), reverse=True)
            least = sample[5 * count // (4 * step) + 2]
            best = [i for i in these if ranks[i] >= least]
            if len(best) >= count:
                these = best
        self._front = self._first + self.in_order(these)


class PackingStep(NamedTuple):
    """Items packed together, in the order they are tried: the best first."""

    walk: Sequence[int]
    share: float = 1.0
    """Share of the limit that the page may cost after this step."""
    room: float | None = None
    """Tokens that this step may add to the page; None: up to the limit."""
    most: int | None = None
    """Items that may be chosen at most."""
    required: bool = False
    """All of them, whole, or `BudgetError`."""
    again: bool = False
    """True where items of an earlier step may be shown anew, longer or shorter."""
    named: bool = False
    """All of them at least in short, within the whole limit; then all up to one length."""
    ranks: Sequence[float] = ()
    """By index. Of equal ranks all that fit whole come before any is shortened."""
    section: str | None = None
    """The section that `room` is for."""
    shared: bool = False
    """True where a share of the limit divides it between named and found items."""
    whole: bool = False
    """True where no item is shortened."""

    def level(self, index: int) -> object:
        """Return the rank of an item; without ranks each item is a level of its own."""
        return self.ranks[index] if self.ranks else (index,)


class SectionLimits(NamedTuple):
    """Maximum costs of sections."""

    section: Mapping[int, str]
    """Index of an item → its section, for sections with a maximum."""
    most: Mapping[str, float]
    """Section → tokens, as the sum of its items' own costs."""


def count_bytes(text: str) -> int:
    """Return the bytes of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def budget_unit(limit: Cost) -> int:
    """Return the unit of a limit: 0 tokens, 1 characters. With both, tokens."""
    return int(limit[0] == UNLIMITED and limit[1] < UNLIMITED)


def content_variant(variants: Sequence[Variant]) -> Variant:
    """Return the variant that is the item's content; without one, the longest."""
    return next((variant for variant in variants if variant.name == "content"), variants[0])


def fits_within(cost: Cost, limit: Cost) -> bool:
    """Return True if `cost` is at most `limit` in both units."""
    return cost[0] <= limit[0] and cost[1] <= limit[1]


def add_costs(a: Cost, b: Cost) -> Cost:
    """Return the sum of two costs."""
    return a[0] + b[0], a[1] + b[1]


def subtract_costs(a: Cost, b: Cost) -> Cost:
    """Return the difference of two costs."""
    return a[0] - b[0], a[1] - b[1]


def min_cost(a: Cost, b: Cost) -> Cost:
    """Return the lesser of two costs, unit by unit."""
    return min(a[0], b[0]), min(a[1], b[1])


def over_budget_error(subject: str, cost: Cost, limit: Cost, way_out: str) -> BudgetError:
    """Return the error for a cost over its limit, in the unit that is exceeded."""
    # The tokens come first; only where these fit are the characters at fault.
    unit = int(cost[0] <= limit[0])
    needed, largest = int(cost[unit]), int(limit[unit])
    word = ("tokens", "characters")[unit]
    message = f"{subject} {needed:,} {word} and the budget is {largest:,}; {way_out}"
    return BudgetError(message, needed=needed, largest=largest)


def explicit_share_of(explicit: Cost, similarity: Cost, limit: Cost, share: float) -> float:
    """Return the share of `limit` for explicit items, from the cost of each side shown whole.

    Each side is sure of its part (`share`, and the rest). Room one side leaves goes to the other.
    """
    if fits_within(add_costs(explicit, similarity), limit):
        return 1.0
    unused = [1 - s / m for s, m in zip(similarity, limit, strict=True) if 0 < m < UNLIMITED]
    return max(share, min(unused, default=share))
