"""What an item costs at the least, told without rendering or counting it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from json.encoder import encode_basestring
from operator import attrgetter
from typing import NamedTuple

from .counting import Counter
from .fitting.scale import Form
from .items import Item

_KIND = attrgetter("kind")
_CONTENT = attrgetter("content")
_SUMMARY = attrgetter("summary")
SLACK = 8
"""Tokens of which it does not matter that they are left over, where what is shortened could not fill them."""
_NEVER = 2.0**63
KINDS = 100
"""Kinds whose items are looked at; what is known of one more takes longer to find out than it saves."""
HUGE = 4096
"""Characters of a text that is counted only as far as there is room for."""


class Bare(NamedTuple):
    """An item of a kind with as good as nothing in it."""

    tokens: int
    """What it costs: items of the kind cost no less, but for what their ends share with neighbours. A template that
    prints less for an item with some rare field is not seen through."""
    cut: int
    """What it costs with the marker."""
    shows: bool
    """Whether its content is shown when it has no summary."""


NOTHING = Bare(0, 0, False)
"""What is known of an item when nothing is."""


class Bounds:
    """Lower bounds of prices in tokens. What they refuse cannot fit; what they let pass may not fit either."""

    def __init__(
        self,
        items: Sequence[Item],
        counter: Counter,
        joint: int,
        bare: Callable[[str], Bare],
        *,
        json: bool,
        most_chars: int | None,
    ) -> None:
        self._items = items
        self._counter = counter
        self._joint = joint
        self._make = bare
        self._bare: dict[str, Bare] = {}
        self._json = json
        self._most_chars = most_chars

    @cached_property
    def _kinds(self) -> list[str]:
        return list(map(_KIND, self._items))

    @cached_property
    def _contents(self) -> list[str | None]:
        return list(map(_CONTENT, self._items))

    @cached_property
    def _lengths(self) -> list[int]:
        """The characters of each item's content; 0 where its summary may stand in for it."""
        lengths = [len(content) if content else 0 for content in self._contents]
        if {*map(_SUMMARY, self._items)} != {None}:
            return [
                0 if item.summary is not None else n
                for item, n in zip(self._items, lengths, strict=True)
            ]
        return lengths

    def bare(self, kind: str) -> Bare:
        """Return what an item of `kind` costs at the least."""
        found = self._bare.get(kind)
        if found is None:
            found = self._bare[kind] = self._make(kind) if len(self._bare) < KINDS else NOTHING
        return found

    def may_fit(self, index: int, form: Form, tokens: float, text: Callable[[], str]) -> bool:
        """Return False where it is cheap to see that the form is more than `tokens`; `text` is what it looks like."""
        item = self._items[index]
        known = item.summary is None or form.name == "summary"
        bare = self.bare(item.kind) if known and len(form.text) > 3 * tokens else None
        if (
            bare is not None
            and bare.shows
            and self._exceeds(form.text, int(tokens) + self._joint - bare.tokens)
        ):
            return False
        if len(form.text) > 16 * tokens + HUGE:  # no need to count all of a huge text
            return self._counter.count_upto(text(), int(tokens)) <= tokens
        return True

    def able(self, indices: Sequence[int], tokens: float, trim: bool) -> Sequence[int]:
        """Return those of which it is not cheap to see that no form, nor with `trim` a shorter one, has room."""
        kinds = {kind: self.bare(kind) for kind in set(self._kinds)}
        reach = tokens if trim and tokens <= SLACK else tokens + self._joint
        left = {
            kind: int(reach) - bare.tokens for kind, bare in kinds.items() if bare.tokens <= reach
        }
        if not left:
            return ()
        cuttable = {kind for kind in left if trim and kinds[kind].cut <= tokens}
        if len(cuttable) == len(kinds):
            return indices
        # Characters of a content that cannot fit, by kind; none for a kind whose contents need not be shown.
        far = {
            kind: self._far(most) if kind not in cuttable and kinds[kind].shows else math.inf
            for kind, most in left.items()
        }
        widest, lengths, contents, kind_of = (
            max(far.values()),
            self._lengths,
            self._contents,
            self._kinds,
        )
        exceeds = (
            self._counter.exceeds if not self._json and self._most_chars is None else self._exceeds
        )
        return [
            i
            for i in indices
            if (length := lengths[i]) <= widest
            and length <= (most := far.get(kind := kind_of[i], -1))
            and (not length or most == math.inf or not exceeds(contents[i] or "", left[kind]))
        ]

    def _far(self, tokens: int) -> float:
        """Return the characters above which a content is more than so many tokens without a look at it."""
        chars = self._counter.most_chars(tokens)
        if self._most_chars is not None and self._most_chars < chars:
            return _NEVER
        return min(chars, _NEVER)

    def _exceeds(self, text: str, most: int) -> bool:
        if most < 0:
            return True
        text = text[: self._most_chars]
        if self._json:
            text = encode_basestring(text[: 48 * (most + 1)])  # which writes line ends as letters
        return self._counter.exceeds(text, most)
