"""Which items are candidates: filter, rank, merge ranges, keep equal texts once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter

from . import merging
from .asking import Asked
from .diagnostics import Diagnostics
from .grouping import Entry
from .items import Item
from .options import Options

_SCORE = attrgetter("score")
_ORIGIN = attrgetter("origin")


class Candidates(Mapping[int, Entry]):
    """The candidates by their index, in the caller's order; entries are made when they are asked for."""

    def __init__(
        self,
        items: list[Item],
        ranks: list[float],
        kept: list[int],
        dropped: dict[int, str],
        asked: Asked | None = None,
    ) -> None:
        self.pool = items
        """By index, all that were given; merged ones and ones with a note are in the place of what they were."""
        self.ranks = ranks
        """By index: what orders items, the best highest."""
        self.kept = kept
        """The indices of the candidates."""
        self.dropped = dropped
        """Index of an item → why it is no candidate."""
        self.asked = asked
        """What the query makes of them; `None` without a query."""

    def __getitem__(self, index: int) -> Entry:
        if index in self.dropped or not 0 <= index < len(self.pool):
            raise KeyError(index)
        return Entry(index, self.pool[index], self.ranks[index])

    def __iter__(self) -> Iterator[int]:
        return iter(self.kept)

    def __len__(self) -> int:
        return len(self.kept)

    def without(self, gone: Mapping[int, str]) -> Candidates:
        """Return the candidates without some, each with its reason."""
        kept = [index for index in self.kept if index not in gone]
        return Candidates(self.pool, self.ranks, kept, {**self.dropped, **gone}, self.asked)


def select(
    items: Sequence[Item], options: Options, language: Callable[[Item], str | None], diagnostics: Diagnostics
) -> Candidates:
    """Return the candidates among `items`. `language` gives an item's language; it is asked only where it matters."""
    dropped: dict[int, str] = {}
    left = list(items)
    kept = list(range(len(left)))
    if options.kinds or options.languages or options.paths:
        kept = _filter(left, options, language, dropped)
    if options.min_score:
        kept = _by_score(left, kept, options.min_score, dropped, diagnostics)
    ranks: list[float] = list(map(_SCORE, left))
    if options.merge_overlaps:
        merging.merge_overlaps(left, kept, ranks, dropped)
        kept = _still(kept, dropped)
    if options.dedupe:
        merging.keep_once(left, kept, ranks, dropped)
        kept = _still(kept, dropped)
    asked = None
    if options.query and kept:
        order = sorted(kept, key=ranks.__getitem__, reverse=True)
        asked = Asked(options.query, left, order, language, options.marker)
        if options.rerank == "keyword_boost":
            asked.rank(ranks)
    return Candidates(left, ranks, kept, dropped, asked)


def _still(kept: list[int], dropped: Mapping[int, str]) -> list[int]:
    return [index for index in kept if index not in dropped] if dropped else kept


def _filter(
    items: Sequence[Item], options: Options, language: Callable[[Item], str | None], dropped: dict[int, str]
) -> list[int]:
    tests: list[tuple[str, Callable[[Item], bool]]] = []
    if options.kinds:
        kinds = frozenset(options.kinds)
        tests.append(("kinds", lambda item: item.kind in kinds))
    if options.paths:
        import pathspec  # 36 ms that only a filter by path is worth

        spec = pathspec.GitIgnoreSpec.from_lines(options.paths)
        tests.append(("paths", lambda item: bool(item.path) and spec.match_file(item.path or "")))
    if options.languages:
        wanted = frozenset(name.lower() for name in options.languages)
        tests.append(("languages", lambda item: (language(item) or "").lower() in wanted))
    left = []
    for index, item in enumerate(items):
        reason = next((name for name, test in tests if not test(item)), None)
        if reason and not item.required:
            dropped[index] = reason
        else:
            left.append(index)
    return left


def _by_score(
    items: Sequence[Item], kept: list[int], least: float, dropped: dict[int, str], diagnostics: Diagnostics
) -> list[int]:
    """Leave out the items that a search found with less than `least`, where scores lie in 0 to 1."""
    if "similarity" not in set(map(_ORIGIN, items)):
        return kept
    found = [items[index].score for index in kept if items[index].origin == "similarity"]
    if not found:
        return kept
    if min(found) < 0 or max(found) > 1:
        diagnostics.add(
            "PF103",
            f"min_score {least:g} was not applied: scores run from {min(found):g} to {max(found):g}, not 0 to 1",
            severity="info",
        )
        return kept
    for index in kept:
        item = items[index]
        if item.origin == "similarity" and item.score < least and not item.required:
            dropped[index] = "min_score"
    return _still(kept, dropped)
