"""Costs, variants, and the page as packing sees it. No text, no templates, no tokenizer.

A cost is a pair: tokens and characters. A limit is such a pair too.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from ..errors import BudgetError

Cost = tuple[float, float]
"""Tokens, characters."""

ZERO_COST: Cost = (0, 0)

UNLIMITED = math.inf

CHARACTERS_PER_TOKEN = 4
"""About so many in English and programs; used where the budget is in characters."""


class Variant(NamedTuple):
    """One way to show an item."""

    name: str
    """`expanded content compact trimmed outline summary stub`."""
    text: str
    """The text that stands for its content."""
    cut: bool = False
    """True when text is missing at the end: the marker then says so."""
    lost: bool = False
    """True of a compact text that lacks something: it is shortened."""


STUB_VARIANT = Variant("stub", "", cut=True)
"""The item's attribution and the marker; nothing of its content."""

SHORTENED_VARIANTS = frozenset({"trimmed", "outline", "stub"})
"""Names of variants that promptforge made shorter than the item gave them."""


EMPTY_VARIANT = Variant("trimmed", "", cut=True)
"""A variant of nothing but its marker."""
MAX_UNUSED_TOKENS = 8
"""Unused tokens too few to be worth trimming an item for."""


class JoinedVariant(NamedTuple):
    """Chosen items that touch, shown as one in the place of the first."""

    members: Sequence[int]
    """The items, in the caller's order: the first stands for all."""
    variant: Variant


class ShorterVariants(Protocol):
    """The shorter variants of the items of a page, as packing sees them."""

    def shorten(
        self, index: int, /, chosen: Mapping[int, Variant], limit: Cost, room: Cost | None = None
    ) -> tuple[Variant, Cost] | None:
        """Return the best shorter variant beside `chosen` within `limit`, and the page's cost.

        `room` is the most the item itself may cost, if less than the rest of `limit`.
        """

    def least(self, index: int, /) -> Variant:
        """Return the variant of about the fewest tokens that still say something of an item."""

    def compact(self, index: int, /, chars: float) -> Variant | None:
        """Return an item in fewer characters with nothing cut, where it has such a text.

        None where it would surely have more than so many characters.
        """

    def longest_within(self, index: int, /, tokens: float, chars: float) -> Variant | None:
        """Return the longest shorter variant with a text within both bounds, if there is one."""

    def outline_within(self, index: int, /, tokens: float, chars: float) -> Variant | None:
        """Return as many signatures or headings as are within both bounds, without their texts."""

    def declarations(self, index: int, /, rank: float = 1.0) -> Sequence[tuple[float, int, int]]:
        """Return the declarations of an item, the best first: less than 0 by their worth, by the
        use of their names and the rank of the item; the item; their sizes.
        """

    def outline_of_worth(self, index: int, /, least: float) -> Variant | None:
        """Return the declarations of an item that are worth no less, if there are any."""

    def without_shared_comment(self, index: int, /) -> Variant:
        """Return an item whole, but for a comment that it begins with and another one shows."""


class PackablePage(Protocol):
    """A page as packing sees it. Equal questions in equal order get equal answers."""

    shared_end_tokens: int
    """Tokens an item may cost less on the page than alone: its ends may merge with neighbours."""

    @property
    def shortener(self) -> ShorterVariants:
        """The shorter variants of its items."""

    def variants(self, index: int) -> Sequence[Variant]:
        """Return the whole variants of an item, the longest first."""

    def whole_variants(
        self, indices: Sequence[int]
    ) -> tuple[Sequence[int], Sequence[str], Sequence[int]]:
        """Return the items, the names and the bytes of their whole variants."""

    def item_cost(self, index: int, variant: Variant) -> Cost:
        """Return the cost of an item alone."""

    def cost_within(self, index: int, variant: Variant, room: Cost) -> Cost | None:
        """Return the cost of an item alone; None where it is more than `room`."""

    def may_fit(self, index: int, variant: Variant, room: Cost) -> bool:
        """Return False where a cheap bound shows that an item needs more than `room`."""

    def exceed(self, indices: Collection[int], room: Cost) -> bool:
        """Return True where cheap lower bounds show that these items together need more."""

    def maybe_fitting(self, indices: Sequence[int], room: Cost, trim: bool) -> Sequence[int]:
        """Drop items that certainly do not fit, judged by cheap lower bounds.

        With `trim` a shortened variant counts too.
        """

    def is_within(self, index: int, other: int) -> bool:
        """Return True if an item is a range of lines within the range of another."""

    def duplicates(
        self, index: int, chosen: Mapping[int, Variant]
    ) -> tuple[int | None, Sequence[int]]:
        """Return the chosen item that contains this one's text, and those this one contains."""

    def may_be_held(self, index: int) -> bool:
        """Return False for an item that is longer than all that are shown whole."""

    def note_shown(self, index: int, variant: Variant) -> None:
        """Note an item that is shown: `duplicates` looks at no others."""

    def join(self, whole: Iterable[int]) -> tuple[PackablePage, Sequence[JoinedVariant]]:
        """Join those of these items that touch; return a page where each first one is all."""

    def measure(self, chosen: Mapping[int, Variant]) -> Cost:
        """Return the exact cost of the page with just these items."""


def sort_best_first(indices: Iterable[int], ranks: Sequence[float]) -> list[int]:
    """Return indices, the best rank first; of equal ranks in the order given.

    >>> sort_best_first([0, 1, 2], [0.5, 0.1, 0.9])
    [2, 0, 1]
    """
    return sorted(indices, key=ranks.__getitem__, reverse=True)


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
    last: frozenset[int] = frozenset()
    """Those of the named ones that are made longer when all others are as long as can be."""
    ranks: Sequence[float] = ()
    """By index. Of equal ranks all that fit whole come before any is shortened."""
    section: str | None = None
    """The section that `room` is for."""
    shared: bool = False
    """True where a share of the limit divides it between named and found items."""
    whole: bool = False
    """True where no item is shortened."""
    names: int = 0
    """So many of the first items have some room for their names without a passage that answers."""

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
    """Return the bytes in UTF-8: tokens follow them better than characters, in Chinese too."""
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
