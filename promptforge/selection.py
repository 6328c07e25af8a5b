"""Which items are candidates, and which of them is best: filter, rerank, dedupe, merge."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import msgspec

from .diagnostics import Diagnostics
from .grouping import Entry
from .items import Item
from .options import Options

BOOST = 0.5
"""How much an item that holds every term of the query rises above one that holds none, as a share of its score."""

_TERM = re.compile(r"\w+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_+")


class Selection(NamedTuple):
    """The candidates, and what became of the others."""

    entries: list[Entry]
    dropped: dict[int, str]
    """Index of an item → why it is no candidate."""


def select(
    items: Sequence[Item], options: Options, language: Callable[[Item], str | None], diagnostics: Diagnostics
) -> Selection:
    """Return the candidates among `items`. `language` gives an item's language; it is asked only where it matters."""
    dropped: dict[int, str] = {}
    kept = list(enumerate(items))
    if options.kinds or options.languages or options.paths:
        kept = _filter(kept, options, language, dropped)
    kept = _by_score(kept, options, dropped, diagnostics)
    ranks = _rank(kept, options)
    if options.merge_overlaps:
        kept = _merge(kept, ranks, dropped)
    if options.dedupe:
        kept = _dedupe(kept, ranks, dropped)
    return Selection([Entry(i, item, ranks[i]) for i, item in kept], dropped)


Kept = list[tuple[int, Item]]


def _filter(kept: Kept, options: Options, language: Callable[[Item], str | None], dropped: dict[int, str]) -> Kept:
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
    for index, item in kept:
        reason = next((name for name, test in tests if not test(item)), None)
        if reason and not item.required:
            dropped[index] = reason
        else:
            left.append((index, item))
    return left


def _by_score(kept: Kept, options: Options, dropped: dict[int, str], diagnostics: Diagnostics) -> Kept:
    least = options.min_score
    if not least:
        return kept
    found = [item.score for _, item in kept if item.origin == "similarity"]
    if not found:
        return kept
    if min(found) < 0 or max(found) > 1:
        diagnostics.add(
            "PF103",
            f"min_score {least:g} was not applied: scores run from {min(found):g} to {max(found):g}, not 0 to 1",
            severity="info",
        )
        return kept
    left = []
    for index, item in kept:
        if item.origin == "similarity" and item.score < least and not item.required:
            dropped[index] = "min_score"
        else:
            left.append((index, item))
    return left


# --- ranking ---------------------------------------------------------------------------------------------------------


def terms(text: str) -> set[str]:
    """Return the words of `text` in lower case, with the parts of identifiers such as `getUserName` and `max_len`."""
    found = set()
    for word in _TERM.findall(text):
        found.add(word.lower())
        parts = _CAMEL.split(word)
        if len(parts) > 1:
            found.update(part.lower() for part in parts if len(part) > 2)
    return found


def _rank(kept: Kept, options: Options) -> dict[int, float]:
    ranks = {index: item.score for index, item in kept}
    if options.rerank == "none" or not options.query or not kept:
        return ranks
    wanted = terms(options.query)
    holds = {
        index: wanted & terms(f"{item.name or ''} {item.path or ''} {item.content or ''} {item.summary or ''}")
        for index, item in kept
    }
    # Inverse document frequency as BM25 has it (Robertson and Spärck Jones), over these items.
    total = len(kept)
    weight = {}
    for term in wanted:
        having = sum(term in held for held in holds.values())
        if having:
            weight[term] = math.log(1 + (total - having + 0.5) / (having + 0.5))
    whole = sum(weight.values())
    if not whole:
        return ranks
    for index, held in holds.items():
        share = sum(weight[term] for term in held) / whole
        ranks[index] += BOOST * share * max(abs(ranks[index]), 0.1)
    return ranks


# --- overlapping ranges of one file ----------------------------------------------------------------------------------


def _lines(item: Item) -> list[str] | None:
    """Return the lines of an item whose content is exactly its range of lines, else `None`."""
    if item.start_line is None or item.end_line is None or not item.content or item.expanded or item.required:
        return None
    text = item.content[:-1] if item.content.endswith("\n") else item.content
    lines = text.split("\n")
    return lines if len(lines) == item.end_line - item.start_line + 1 else None


def _merge(kept: Kept, ranks: dict[int, float], dropped: dict[int, str]) -> Kept:
    files: dict[str, list[tuple[int, int, Item]]] = defaultdict(list)
    for index, item in kept:
        if item.path and item.start_line is not None:
            files[item.path].append((item.start_line, index, item))
    merged: dict[int, Item] = {}
    for members in files.values():
        if len(members) < 2:
            continue
        members.sort()
        _, current, item = members[0]
        for start, index, other in members[1:]:
            if start > (item.end_line or 0) + 1:
                current, item = index, other
                continue
            joined = _join(item, other)
            if joined is None:
                if (other.end_line or 0) >= (item.end_line or 0):
                    current, item = index, other
                continue
            keep, gone = (current, index) if current < index else (index, current)
            dropped[gone] = "merged"
            ranks[keep] = max(ranks[keep], ranks[gone])
            merged.pop(gone, None)
            merged[keep] = joined
            current, item = keep, joined
    return [(i, merged.get(i, item)) for i, item in kept if i not in dropped] if merged else kept


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


# --- the same text twice ---------------------------------------------------------------------------------------------


def place(item: Item) -> str:
    """Return where an item is from, for people: path and lines, else name, else kind."""
    if item.path:
        return f"{item.path}:{item.start_line}-{item.end_line}" if item.start_line is not None else item.path
    return item.name or item.id or item.kind


def _dedupe(kept: Kept, ranks: dict[int, float], dropped: dict[int, str]) -> Kept:
    if len({item.content or item.summary or "" for _, item in kept}) == len(kept):
        return kept
    first: dict[str, int] = {}
    also: dict[int, list[int]] = defaultdict(list)
    by_index = dict(kept)
    for index, item in kept:
        text = item.content or item.summary or ""
        other = first.setdefault(text, index)
        if other == index:
            continue
        keep, gone = other, index
        if (item.required, ranks[index]) > (by_index[other].required, ranks[other]):
            keep, gone = index, other
            first[text] = index
        if by_index[gone].required:
            continue
        also[keep] += [gone, *also.pop(gone, [])]
        dropped[gone] = "duplicate"
    left = [(i, item) for i, item in kept if i not in dropped]
    return [(i, noting(item, [by_index[o] for o in sorted(also[i])]) if i in also else item) for i, item in left]


def noting(item: Item, others: Iterable[Item]) -> Item:
    """Return `item` with a note in its metadata (`also_in`) of where the others are from, whose text it holds."""
    places = [*item.metadata.get("also_in", ()), *map(place, others)]
    return msgspec.structs.replace(item, metadata={**item.metadata, "also_in": places})
