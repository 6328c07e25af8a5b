"""The words of fitting: costs, forms, and what must be known of the page. No text, no templates, no tokenizer.

A cost is a pair (tokens, characters); a limit is such a pair too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from ..errors import BudgetError

Cost = tuple[float, float]
"""Tokens, characters."""

ZERO_COST: Cost = (0, 0)

UNLIMITED = math.inf


class Variant(NamedTuple):
    """One way to show an item."""

    name: str
    """`expanded content trimmed outline summary stub`."""
    text: str
    """The text that stands for its content."""
    cut: bool = False
    """Whether text is missing at its end, which the marker must say."""


STUB_VARIANT = Variant("stub", "", cut=True)
"""Nothing of an item but what its template says of it (its attribution), and the marker."""

SHORTENED_VARIANTS = frozenset({"trimmed", "outline", "stub"})
"""Names of the forms that are shorter than the item gave them."""


class PackablePage(Protocol):
    """What fitting must know of the page. Equal questions in equal order have equal answers."""

    joint: int
    """Tokens by which an item may cost less on the page than alone: what its ends share with their neighbours."""

    def forms(self, index: int) -> Sequence[Variant]:
        """Return the whole forms of an item, the longest first."""
        ...

    def price(self, index: int, form: Variant) -> Cost:
        """Return what an item costs alone."""
        ...

    def prepare(self, walk: Sequence[int], room: Cost) -> None:
        """Work out the prices of the first of `walk` that are sure to be asked for, which is quicker in one go."""
        ...

    def may_fit(self, index: int, form: Variant, room: Cost) -> bool:
        """Return False where it is cheap to see that an item is more than `room`; True decides nothing."""
        ...

    def able(self, indices: Sequence[int], room: Cost, trim: bool) -> Sequence[int]:
        """Return those of which it is not cheap to see that no form, nor with `trim` a shorter one, has room."""
        ...

    def twins(self, index: int, chosen: Mapping[int, Variant]) -> tuple[int | None, Sequence[int]]:
        """Return which of `chosen` holds an item's whole text, and which of them its text holds."""
        ...

    def measure(self, chosen: Mapping[int, Variant]) -> Cost:
        """Return what the page costs with just these items on it."""
        ...

    def shorten(
        self, index: int, chosen: Mapping[int, Variant], limit: Cost, room: Cost | None = None
    ) -> tuple[Variant, Cost] | None:
        """Return the best shorter form of an item beside `chosen` within `limit`, and what the page then costs.

        `room`: what the item itself may cost at the most, if that is less than what is left of `limit`.
        """
        ...

    def sized(self, index: int, tokens: float, chars: float) -> Variant | None:
        """Return the longest shorter form whose text alone is within these bounds; `None` if there is none."""
        ...


class PackingStep(NamedTuple):
    """Items to be packed together, in the order in which they are to be tried: the best first."""

    walk: Sequence[int]
    share: float = 1.0
    """How much of the limit the page may cost when this part is done; 1: all of it."""
    room: float | None = None
    """Tokens by which this part may make the page longer; `None`: up to the limit."""
    most: int | None = None
    """How many of the items may be chosen."""
    required: bool = False
    """All of them, whole, or `BudgetError`."""
    again: bool = False
    """Whether what an earlier part showed of these may be shown anew, in longer or shorter forms."""
    ranks: Sequence[float] = ()
    """By index, equal for items that are equally good: of these, all that fit whole come before any is shortened."""

    def level(self, index: int) -> object:
        """Return what is equal for items that are equally good; an item without a rank is like no other."""
        return self.ranks[index] if self.ranks else (index,)


class SectionLimits(NamedTuple):
    """How much the items of a section may cost together."""

    section: Mapping[int, str]
    """Index of an item → its section, for those of sections that have a maximum."""
    most: Mapping[str, float]
    """Section → tokens, as the sum of what its items cost alone."""


def budget_unit(limit: Cost) -> int:
    """Return the unit that a limit is in: 0 tokens, which go first, 1 characters."""
    return 0 if limit[0] < UNLIMITED or limit[1] == UNLIMITED else 1


def content_variant(forms: Sequence[Variant]) -> Variant:
    """Return the form of an item that is its content, neither the longer one nor the summary; else its longest."""
    return next((form for form in forms if form.name == "content"), forms[0])


def fits_within(cost: Cost, limit: Cost) -> bool:
    """Return whether `cost` is at most `limit` in both units."""
    return cost[0] <= limit[0] and cost[1] <= limit[1]


def add_costs(a: Cost, b: Cost) -> Cost:
    """Return the sum of two costs."""
    return a[0] + b[0], a[1] + b[1]


def subtract_costs(a: Cost, b: Cost) -> Cost:
    """Return the difference of two costs."""
    return a[0] - b[0], a[1] - b[1]


def least(a: Cost, b: Cost) -> Cost:
    """Return the lesser of two costs, unit by unit."""
    return min(a[0], b[0]), min(a[1], b[1])


def over_budget_error(what: str, cost: Cost, limit: Cost, way_out: str) -> BudgetError:
    """Return the error for a cost over its limit, in the unit in which it is over."""
    unit = 0 if cost[0] > limit[0] else 1
    needed, most = int(cost[unit]), int(limit[unit])
    word = ("tokens", "characters")[unit]
    message = f"{what} {needed:,} {word} and the budget is {most:,}; {way_out}"
    return BudgetError(message, needed=needed, largest=most)


def explicit_share_of(explicit: Cost, similarity: Cost, limit: Cost, share: float) -> float:
    """Return the share of `limit` that explicit items may take, from what each side would cost whole.

    Each side is sure of its part (`share` and the rest); what one does not need, the other may use.
    """
    if fits_within(add_costs(explicit, similarity), limit):
        return 1.0
    left = [1 - s / m for s, m in zip(similarity, limit, strict=True) if 0 < m < UNLIMITED]
    return max([share, *([min(left)] if left else [])])
