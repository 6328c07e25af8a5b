"""Where the budget of one text went, and what more of it would bring."""

from typing import Any

import msgspec


class SectionCost(msgspec.Struct, frozen=True, kw_only=True):
    """What a section takes of the budget."""

    key: str
    title: str
    items: int
    """How many items of it are in the text."""
    tokens: int
    """Tokens of its items' texts."""
    subtotal: int | None
    """What the page costs with it less what it costs without it and all after it: its heading and separators count.
    `None` where the page has very many sections."""


class Gain(msgspec.Struct, frozen=True, kw_only=True):
    """What more budget would add to one section."""

    key: str
    title: str
    items: tuple[str, ...]
    """Ids of the items that come in, or in a longer form."""
    tokens: int
    """Tokens that its items' texts grow by."""
    worth: float
    """Worth that it grows by: the score of an item that comes in, of a longer form its share."""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Where the budget went, and what more of it would bring."""

    tokens: int
    max_tokens: int | None
    left: int | None
    """Tokens of the budget that were not used."""
    frame: int
    """Tokens of the page without any item: the fixed cost of the templates."""
    between: int
    """Tokens of headings, separators and whatever else templates put around items: `tokens` less `frame` and items."""
    sections: tuple[SectionCost, ...]
    next_at: int | None
    """The least budget that brings back something that was dropped or shortened, as far as is known."""
    next_item: str | None
    """Id of the item that it brings back."""
    step: int
    """A budget larger by so many tokens would bring `gains`."""
    gains: tuple[Gain, ...] | None
    """Section by section; `None` where there is no budget in tokens."""


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """What brings back items that are out, or cut, for one reason; it was tried."""

    reason: str
    items: int
    """How many are out or cut for it."""
    item: str
    """Id of the one that was tried: the best of them."""
    options: dict[str, Any]
    """Options that bring it back whole, over those in force; empty where none were found.

    Where the room that it would need is too much to be worked out, options with which nothing else keeps it out: then
    `back` is 0.
    """
    back: int
    """How many of the items are whole in the text with these."""
