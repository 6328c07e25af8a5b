"""The same text twice: overlapping ranges of one file become one item, equal texts are kept once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from operator import attrgetter

import msgspec

from .items import Item

_PATH = attrgetter("path")
_START = attrgetter("start_line")
TAIL = 48
"""Characters at the end of a text that tell most texts apart."""


def merge_overlaps(items: list[Item], kept: Sequence[int], ranks: list[float], dropped: dict[int, str]) -> None:
    """Join overlapping or touching ranges of one file: `items` and `ranks` change in place, `dropped` says the rest."""
    starts = list(map(_START, items))
    if starts.count(None) > len(starts) - 2:
        return
    paths = list(map(_PATH, items))
    distinct = set(paths)
    if len(distinct) == len(paths):
        return
    files: dict[str | None, list[int]] = {path: [] for path in distinct}
    for index in kept:
        files[paths[index]].append(index)
    files.pop(None, None)
    files.pop("", None)
    for members in files.values():
        if len(members) > 1:
            _merge_file(items, [(start, i) for i in members if (start := starts[i]) is not None], ranks, dropped)


def _merge_file(items: list[Item], members: list[tuple[int, int]], ranks: list[float], dropped: dict[int, str]) -> None:
    current, end = -1, -1
    for start, index in sorted(members):
        stop = items[index].end_line or 0
        if current < 0 or start > end + 1:
            current, end = index, stop
            continue
        joined = _join(items[current], items[index])
        if joined is None:
            if stop >= end:
                current, end = index, stop
            continue
        keep, gone = (current, index) if current < index else (index, current)
        dropped[gone] = "merged"
        ranks[keep] = max(ranks[keep], ranks[gone])
        items[keep] = joined
        current, end = keep, max(end, stop)


def _lines(item: Item) -> list[str] | None:
    """Return the lines of an item whose content is exactly its range of lines, else `None`."""
    if item.start_line is None or item.end_line is None or not item.content or item.expanded or item.required:
        return None
    lines = item.content.removesuffix("\n").split("\n")
    return lines if len(lines) == item.end_line - item.start_line + 1 else None


def _join(a: Item, b: Item) -> Item | None:
    """Return one item for two ranges of a file that overlap or touch and agree where they overlap, else `None`."""
    if a.start_line is None or a.end_line is None or b.start_line is None or b.end_line is None:
        return None
    if b.start_line > a.end_line + 1 or (a.kind, a.origin) != (b.kind, b.origin):
        return None
    ours, theirs = _lines(a), _lines(b)
    if ours is None or theirs is None:
        return None
    common = a.end_line - b.start_line + 1
    inside = ours[b.start_line - a.start_line :][: len(theirs)]
    if inside != theirs[: len(inside)] or len(inside) != min(common, len(theirs)):
        return None
    return msgspec.structs.replace(
        a,
        content="\n".join(ours + theirs[common:]),
        end_line=max(a.end_line, b.end_line),
        score=max(a.score, b.score),
        name=a.name if a.name == b.name else None,
        metadata=b.metadata | a.metadata,
    )


def place(item: Item) -> str:
    """Return where an item is from, for people: path and lines, else name, else kind."""
    if item.path:
        return f"{item.path}:{item.start_line}-{item.end_line}" if item.start_line is not None else item.path
    return item.name or item.id or item.kind


def keep_once(items: list[Item], kept: Sequence[int], ranks: Sequence[float], dropped: dict[int, str]) -> None:
    """Of equal texts keep the best, which notes where the others are from; `dropped` says the rest."""
    texts = [items[i].content or items[i].summary or "" for i in kept]
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
