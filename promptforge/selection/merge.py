"""Merge overlapping ranges of one file into one item, and keep equal texts once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from ..model import Item, path_with_lines

TAIL_CHARACTERS = 48
"""Characters at the end of a text that tell most texts apart.

The end, not the beginning: files begin with the same licence, chunks with the same heading.
"""


def merge_overlaps(
    items: list[Item], kept: Sequence[int], ranks: list[float], dropped: dict[int, str]
) -> None:
    """Join overlapping or touching ranges of one file, in place.

    The joined item stands at the index of its first range; the others are put into `dropped`.
    """
    # Most lists hold no such ranges, so numbers alone are looked at first, and no item.
    files: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for item in _among(items, kept):
        start, end, path = item.start_line, item.end_line, item.path
        if start is not None and end is not None and path:
            files[path].append((start, end))
    meeting = {path for path, ranges in files.items() if len(ranges) > 1 and _meet(ranges)}
    if not meeting:
        return
    places: dict[str, list[int]] = defaultdict(list)
    for index in kept:
        item = items[index]
        if item.path in meeting and item.start_line is not None and item.end_line is not None:
            places[item.path].append(index)
    for members in places.values():
        members.sort(
            key=lambda index: items[index].start_line or 0
        )  # stable: the first given first
        _merge_file(items, members, ranks, dropped)


def _among(items: Sequence[Item], kept: Sequence[int]) -> Iterable[Item]:
    if len(kept) == len(items):
        return items
    return map(items.__getitem__, kept)


def _meet(ranges: list[tuple[int, int]]) -> bool:
    """Tell whether any two ranges overlap or touch; sorts them."""
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
            if stop < run.end:  # it disagrees, and ends first: the run may still take the next
                continue
        if run is not None:
            run.settle(items)
        run = _Run(index, item)
    if run is not None:
        run.settle(items)


class _Run:
    """Ranges of one file that touch or overlap, and agree there: one item in the end."""

    def __init__(self, index: int, item: Item) -> None:
        self.index = index
        self.end = item.end_line or 0
        self._first = item
        self._lines: list[str] = []
        self._score, self._name, self._metadata = item.score, item.name, item.metadata

    def take(self, item: Item) -> bool:
        """Join a range that begins at most one line after the end; False if it disagrees."""
        first = self._first
        if (first.kind, first.origin) != (item.kind, item.origin):
            return False
        if not (_is_range(first) and _is_range(item)):
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
        if self._name != item.name:  # two functions: neither name is right for both
            self._name = None
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
    """Tell whether an item's content is exactly its range of lines, and may be joined."""
    content = item.content
    if item.start_line is None or item.end_line is None or not content:
        return False
    if item.expanded or item.required:
        return False
    return content.count("\n") - content.endswith("\n") == item.end_line - item.start_line


def describe_place(item: Item) -> str:
    """Return the place of an item for people: path and lines, else name, id or kind."""
    if item.path:
        return path_with_lines(item.path, item.start_line, item.end_line)
    return item.name or item.id or item.kind


def drop_duplicates(
    items: list[Item], kept: Sequence[int], ranks: Sequence[float], dropped: dict[int, str]
) -> None:
    """Keep the best of equal texts, with a note of the others' places; put these into `dropped`."""
    texts = [item.content or item.summary or "" for item in _among(items, kept)]
    # Hashing 48 characters of each text costs far less than hashing texts of a megabyte.
    tails = [text[-TAIL_CHARACTERS:] for text in texts]
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
        items[index] = with_also_in(items[index], [items[other] for other in sorted(others)])


def with_also_in(item: Item, others: Iterable[Item]) -> Item:
    """Return `item` with the places of others with the same text as metadata `also_in`."""
    places = [*item.metadata.get("also_in", ()), *map(describe_place, others)]
    return msgspec.structs.replace(item, metadata={**item.metadata, "also_in": places})
