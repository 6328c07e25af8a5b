"""A page of words for the packers: its cost is its length; no template, no tokenizer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from promptforge.packing.types import (
    UNLIMITED,
    Cost,
    JoinedVariant,
    Variant,
    fits_within,
)

MARK = "…"


class Words:
    """A page of words: an overhead, the words, and so much between two of them; a word may be cut and
    marked.

    `rough` makes words cost one less on the page than alone, as tokens do where texts join.
    """

    shared_end_tokens = 4

    def __init__(
        self,
        words: Sequence[str],
        *,
        overhead: int = 0,
        between: int = 1,
        short: bool = False,
        rough: bool = False,
    ) -> None:
        self.words = words
        self.overhead = overhead
        self.between = between
        self.short = short
        self.rough = rough

    @property
    def shortener(self) -> Words:
        return self

    def variants(self, index: int) -> Sequence[Variant]:
        word = self.words[index]
        whole = [Variant("content", word)]
        return [*whole, Variant("summary", word[:1])] if self.short and len(word) > 1 else whole

    def whole_variants(
        self, indices: Sequence[int]
    ) -> tuple[Sequence[int], Sequence[str], Sequence[int]]:
        rows = [(i, each.name, len(each.text)) for i in indices for each in self.variants(i)]
        items, names, sizes = zip(*rows, strict=True)
        return items, names, sizes

    def item_cost(self, index: int, form: Variant) -> Cost:
        return len(form.text), len(form.text)

    def cost_within(self, index: int, form: Variant, room: Cost) -> Cost | None:
        cost = self.item_cost(index, form)
        return cost if fits_within(cost, room) else None

    def may_fit(self, index: int, form: Variant, room: Cost) -> bool:
        return len(form.text) <= room[1]

    def exceed(self, indices: Iterable[int], room: Cost) -> bool:
        return False

    def maybe_fitting(self, indices: Sequence[int], room: Cost, trim: bool) -> Sequence[int]:
        return list(indices)

    def is_within(self, index: int, other: int) -> bool:
        return False

    def join(self, whole: Iterable[int]) -> tuple[Words, Sequence[JoinedVariant]]:
        return self, ()

    def duplicates(
        self, index: int, chosen: Mapping[int, Variant]
    ) -> tuple[int | None, Sequence[int]]:
        return None, ()

    def may_be_held(self, index: int) -> bool:
        return True

    def note_shown(self, index: int, variant: Variant) -> None:
        pass

    def measure(self, chosen: Mapping[int, Variant]) -> Cost:
        gaps = max(0, len(chosen) - 1)
        chars = (
            self.overhead + sum(len(form.text) for form in chosen.values()) + self.between * gaps
        )
        return chars - (gaps if self.rough else 0), chars

    def shorten(
        self, index: int, chosen: Mapping[int, Variant], limit: Cost, room: Cost | None = None
    ) -> tuple[Variant, Cost] | None:
        for length in range(len(self.words[index]) - 1, 0, -1):
            form = Variant("trimmed", self.words[index][:length] + MARK)
            cost = self.measure({**chosen, index: form})
            if fits_within(cost, limit) and (
                room is None or fits_within(self.item_cost(index, form), room)
            ):
                return form, cost
        return None

    def longest_within(self, index: int, tokens: float, chars: float) -> Variant | None:
        length = int(min(tokens, chars, len(self.words[index]) - 1))
        return Variant("trimmed", self.words[index][:length] + MARK) if length > 0 else None

    outline_within = longest_within

    def compact(self, index: int, chars: float) -> None:
        """No text of words is ever compact."""

    def least(self, index: int) -> Variant:
        return self.longest_within(index, 4, UNLIMITED) or self.variants(index)[0]

    def declarations(self, index: int, rank: float = 1.0) -> Sequence[tuple[float, int, int]]:
        return ()

    def outline_of_worth(self, index: int, least: float) -> Variant | None:
        return None

    def without_shared_comment(self, index: int) -> Variant:
        return self.variants(index)[0]
