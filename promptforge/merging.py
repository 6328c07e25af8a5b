"""The same text twice: overlapping ranges of one file become one item, equal texts are kept once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from .items import Item, span

TAIL = 48
"""Characters at the end of a text that tell most texts apart."""


def merge_overlaps(
    items: list[Item], kept: Sequence[int], ranks: list[float], dropped: dict[int, str]
) -> None:
    """Join overlapping or touching ranges of one file: `items` and `ranks` change in place, `dropped` says the rest."""
    files: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for item in _among(items, kept):
        if (
            (start := item.start_line) is not None
            and (end := item.end_line) is not None
            and (path := item.path)
        ):
            files[path].append((start, end))
    meeting = {path for path, ranges in files.items() if len(ranges) > 1 and _meet(ranges)}
    if not meeting:
        return
    places: dict[str, list[int]] = defaultdict(list)
    for index in kept:
        item = items[index]
        if item.path in meeting and item.start_line is not None and item.end_line is not None:
            places[item.path].append(index)
    for known in places.values():
        known.sort(
            key=lambda index: items[index].start_line or 0
        )  # of equals the first comes first
        _merge_file(items, known, ranks, dropped)


def _among(items: Sequence[Item], kept: Sequence[int]) -> Iterable[Item]:
    return items if len(kept) == len(items) else map(items.__getitem__, kept)


def _meet(ranges: list[tuple[int, int]]) -> bool:
    """Return whether any two ranges overlap or touch; sorts them."""
    ranges.sort()
    free = -1
    for start, end in ranges:
        if start <= free:
            return True
        free = end + 1
    return False


def _merge_file(
    items: list[Item], members: list[int], ranks: list[float], dropped: dict[int, str]
) -> None:
    run: _Run | None = None
    for index in members:
        item = items[index]
        start, stop = item.start_line or 0, item.end_line or 0
        if run is not None and start <= run.end + 1:
            if run.take(item):
                run.index, gone = sorted((run.index, index))
                dropped[gone] = "merged"
                ranks[run.index] = max(ranks[run.index], ranks[gone])
                continue
            if stop < run.end:
                continue
        if run is not None:
            run.settle(items)
        run = _Run(index, item)
    if run is not None:
        run.settle(items)


class _Run:
    """Ranges of one file that overlap or touch, and agree where they overlap: one item, made when all are known."""

    def __init__(self, index: int, item: Item) -> None:
        self.index = index
        self.end = item.end_line or 0
        self._first = item
        self._lines: list[str] = []
        self._score, self._name, self._metadata = item.score, item.name, item.metadata

    def take(self, item: Item) -> bool:
        """Take one more range that begins no later than after the last line, if it agrees."""
        first = self._first
        if (
            (first.kind, first.origin) != (item.kind, item.origin)
            or not _is_range(first)
            or not _is_range(item)
        ):
            return False
        lines = self._lines or _lines_of(first)
        at = (item.start_line or 0) - (first.start_line or 0)
        theirs = _lines_of(item)
        inside = lines[at : at + len(theirs)]
        if inside != theirs[: len(inside)] or len(inside) != min(len(lines) - at, len(theirs)):
            return False
        lines += theirs[len(inside) :]
        self._lines, self.end = lines, max(self.end, item.end_line or 0)
        self._score = max(self._score, item.score)
        self._name = self._name if self._name == item.name else None
        self._metadata = item.metadata | self._metadata
        return True

    def settle(self, items: list[Item]) -> None:
        """Put the item in its place."""
        if self._lines:
            items[self.index] = msgspec.structs.replace(
                self._first,
                id=items[self.index].id,
                content="\n".join(self._lines),
                end_line=self.end,
                score=self._score,
                name=self._name,
                metadata=self._metadata,
            )


def _lines_of(item: Item) -> list[str]:
    return (item.content or "").removesuffix("\n").split("\n")


def _is_range(item: Item) -> bool:
    """Return whether an item's content is exactly its range of lines."""
    content = item.content
    if (
        item.start_line is None
        or item.end_line is None
        or not content
        or item.expanded
        or item.required
    ):
        return False
    return content.count("\n") - content.endswith("\n") == item.end_line - item.start_line


def place(item: Item) -> str:
    """Return where an item is from, for people: path and lines, else name, else kind."""
    if item.path:
        return span(item.path, item.start_line, item.end_line)
    return item.name or item.id or item.kind


def keep_once(
    items: list[Item], kept: Sequence[int], ranks: Sequence[float], dropped: dict[int, str]
) -> None:
    """Of equal texts keep the best, which notes where the others are from; `dropped` says the rest."""
    texts = [item.content or item.summary or "" for item in _among(items, kept)]
    tails = [text[-TAIL:] for text in texts]
    if len(set(tails)) == len(tails):
        return
    twice = {tail for tail, count in Counter(tails).items() if count > 1}
    first: dict[str, int] = {}
    also: dict[int, list[int]] = defaultdict(list)
    for index, text, tail in zip(kept, texts, tails, strict=True):
        if tail not in twice:
            continue
        other = first.setdefault(text, index)
        if other == index:
            continue
        keep, gone = other, index
        if (items[index].required, ranks[index]) > (items[other].required, ranks[other]):
            keep, gone = index, other
            first[text] = index
        if items[gone].required:
            continue
        also[keep] += [gone, *also.pop(gone, [])]
        dropped[gone] = "duplicate"
    for index, others in also.items():
        items[index] = noting(items[index], [items[other] for other in sorted(others)])


def noting(item: Item, others: Iterable[Item]) -> Item:
    """Return `item` with a note in its metadata (`also_in`) of where the others are from, whose text it holds."""
    places = [*item.metadata.get("also_in", ()), *map(place, others)]
    return msgspec.structs.replace(item, metadata={**item.metadata, "also_in": places})
