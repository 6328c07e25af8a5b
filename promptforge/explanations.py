"""The explanation of one rendering: how the budget was spent, and the gain of a larger one."""

from typing import Any

import msgspec


class SectionCost(msgspec.Struct, frozen=True, kw_only=True):
    """The cost of one section."""

    key: str
    title: str
    items: int
    """Number of its included items."""
    tokens: int
    """Tokens of its items' texts."""
    subtotal: int | None
    """Tokens of the context up to its end, less tokens up to its beginning: with its heading and
    separators. `None` when there are too many sections to count."""


class Gain(msgspec.Struct, frozen=True, kw_only=True):
    """The gain of one section from a larger budget."""

    key: str
    title: str
    items: tuple[str, ...]
    """Ids of the items that come in, or come in a longer variant."""
    tokens: int
    """Growth of its items' texts in tokens."""
    worth: float
    """Growth in worth: the score of a new item; of a longer variant, its share of the score."""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """An account of the spent budget, and the gain of a larger one."""

    tokens: int
    max_tokens: int | None
    left: int | None
    """Unused tokens of the budget."""
    frame: int
    """Overhead: tokens of the context without any item."""
    between: int
    """Tokens of headings and separators: `tokens` less `frame` and the items' own."""
    sections: tuple[SectionCost, ...]
    next_at: int | None
    """The least known budget that brings back a dropped or trimmed item."""
    next_item: str | None
    """Id of the item that it brings back."""
    step: int
    """The larger budget of `gains` has so many tokens more."""
    gains: tuple[Gain, ...] | None
    """One gain a section; `None` without a budget in tokens."""


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """Options that bring back items dropped or trimmed for one reason; they were tried."""

    reason: str
    items: int
    """Number of items dropped or trimmed for it."""
    item: str
    """Id of the item that was tried: the best of them."""
    options: dict[str, Any]
    """Options that bring it back whole, over those in force; empty when none were found.

    With `back` 0 they remove every obstacle but the budget: the room was too costly to work out.
    """
    back: int
    """Number of these items that are whole in the text with `options`."""
