"""Bring items together: equal texts, ranges of a file that touch, sections in their order, a tree.

A text that another contains has all its lines there. So only texts that share a line are compared:
the rarest line of the smaller, or the longest, by which every text is indexed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from functools import partial
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

import msgspec

from ..model import Item, ScoreOrder, closeness, meaning_of, path_with_lines
from ..packing.types import Variant
from ..reasons import DUPLICATE, MERGED
from ..text.format import capitalize, to_text
from ..text.words import late_pattern

OTHER = "other"
"""The category of a kind without one, and the section of items without the metadata key."""


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One candidate with its place and rank."""

    index: int
    """Index in the caller's list."""
    item: Item
    rank: float
    """Its score, or its worth by the query."""


class Section(NamedTuple):
    """Items that stand together under one heading."""

    key: str
    title: str
    """The heading; empty where there is none."""
    entries: list[Entry]


def section_key_of(by: str, categories: Mapping[str, str]) -> Callable[[Item], str]:
    """Return the function from an item to its section's key; `categories` are those of kinds."""
    if by == "file":
        return lambda item: item.path or item.url or ""
    if by == "kind":
        return lambda item: item.kind
    if by == "category":
        return lambda item: categories.get(item.kind, OTHER)
    if by == "origin":
        return lambda item: item.origin
    return lambda item: to_text(item.metadata.get(by)) or OTHER


def _by_line(entry: Entry) -> tuple[int, int]:
    return entry.item.start_line or 0, entry.index


_ORDERS: dict[str, Callable[[Entry], Any]] = {
    "given": lambda entry: entry.index,
    "file": lambda entry: (entry.item.path or "", *_by_line(entry)),
}
"""Order → sort key; any other order is the best first."""


def best_at_edges(entries: Sequence[Entry]) -> list[Entry]:
    """Put the best of ranked `entries` at both edges: first, second last, third second, and so on.

    Models read the middle of a long context worst ("lost in the middle").
    """
    return [*entries[::2], *reversed(entries[1::2])]


def group_entries(
    entries: Iterable[Entry],
    by: str = "none",
    *,
    order: str = "score",
    first: Sequence[str] = (),
    titles: Mapping[str, str] | None = None,
    categories: Mapping[str, str] | None = None,
) -> list[Section]:
    """Return the sections of the context.

    `by` is `none file kind category origin` or a metadata key; `order` is `score given file edges`.
    `first` names the sections that come first; `titles` gives headings by section, `categories`
    the category of each kind.

    By file, the file with the best item comes first, and its items stand by line; items without a
    path stand the best first. By anything else,
    the sections of `first` come before the others, the best item first in each. `given` keeps the
    caller's order everywhere.
    """
    # Sorted once: sections come in the order of their first entry, and entries within them.
    ranked = sorted(entries, key=_ORDERS.get(order, lambda entry: (-entry.rank, entry.index)))
    if by == "none":
        if order == "edges":
            ranked = best_at_edges(ranked)
        return [Section("all", "", ranked)] if ranked else []
    key = section_key_of(by, categories or {})
    groups: dict[str, list[Entry]] = {}
    for entry in ranked:
        groups.setdefault(key(entry.item), []).append(entry)
    # Those of `first` that have members, then all others in the order of their best item.
    by_line = by == "file" and order == "score"
    if by_line:
        # Two files may tie though the best item of the later one stands before that of the other.
        firsts = {name: min(entry.index for entry in held) for name, held in groups.items()}
        names = sorted(groups, key=lambda name: (-groups[name][0].rank, firsts[name]))
        groups = {name: groups[name] for name in names}
    names = list(dict.fromkeys([*(name for name in first if name in groups), *groups]))
    sections = []
    for name in names:
        members = groups[name]
        if by_line and members[0].item.path and len(members) > 1:
            members.sort(key=_by_line)
        elif order == "edges":
            members = best_at_edges(members)
        title = (titles or {}).get(name)
        if not title:
            # A path, or a value of metadata such as `macOS`, is printed as it is.
            is_word = by in ("kind", "category", "origin") or name == OTHER
            title = capitalize(name.replace("_", " ")) if is_word else name
        sections.append(Section(name, title, members))
    return sections


def flatten_sections(sections: Iterable[Section]) -> list[Any]:
    """Return the entries of all sections, in order."""
    return [entry for section in sections for entry in section.entries]


# --- equal texts, and ranges that touch -----------------------------------------------------------

TAIL_CHARACTERS = 48
"""Characters at the end of a text that tell most texts apart.

The end, not the beginning: files begin with the same licence, chunks with the same heading.
"""
_NO_PROSE = late_pattern(r"[{}=;<>\[\]_\\|]|(?:^|\n)[ \t]")
_NO_BLANKS = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff"
_NO_BLANK = late_pattern(f"[{_NO_BLANKS}]")
_WORD = late_pattern(rf"(?:\n[ \t]+)?(?:[{_NO_BLANKS}]|[^\s{_NO_BLANKS}]+)")
_SENTENCE_END = late_pattern(
    r"(?<=[.?!])\s|(?<!\s)(?=[^\S\n]*\n\s*+(?![a-z]))\s|(?<=[。？！])"  # blanks are read once
)
_BLOCK = late_pattern(r"(?:.{1,79}\n\n)*.+(?:\n.+)*")
"""A paragraph, with what is short before it: it may be a heading."""
MIN_SHARED_CHARACTERS = 30
"""Characters of an overlap; fewer may be the same by chance."""
NEAR_EQUAL = 0.8
"""Share of the characters of a text in paragraphs of a better one: it is a version of that one."""
WORDS_COMPARED = 6
"""Words at the beginning of a text by which others are found that have them."""
MAX_WORDS_ENDING = 12
"""Words at the end of a text that are looked up as the whole beginning of another."""
MIN_CHARACTERS_CUT = 45
"""Characters that are the same where a text was cut within a word, not by chance: `unhappy`."""
MIN_WORDS_HELD = 20
"""Words of such a text that is left out, as another one holds it."""
MAX_HOLDERS = 8
"""Texts with the same beginning that are compared."""
MAX_COMPARED = 64
"""Pairs of a place in a text and the beginning of another that are compared: the last."""


def tail_of(text: str) -> str:
    """Return the end of a text, the same whatever its case and the blanks after it."""
    return text[-TAIL_CHARACTERS:].strip()[-24:].lower()


def _fold(text: str) -> str:
    """Return prose without differences of case and blanks; in a program these tell something."""
    return text if _NO_PROSE.search(text) else " ".join(text.lower().split())


def _units_of(text: str) -> list[str]:
    """Return the sentences and lines of a text, each without the one character after it."""
    return text.replace(". ", ".\n").replace("? ", "?\n").replace("! ", "!\n").split("\n")


def _words_of(text: str) -> list[str]:
    """Return the words of a text, each with its margin where it is the first of a line.

    Scripts that put no blanks between words are read by characters.
    """
    plain = "\n " not in text and "\n\t" not in text
    plain = plain and (text.isascii() or _NO_BLANK.search(text) is None)
    return text.split() if plain else _WORD.findall(text)


def _shared_edges(texts: Sequence[list[str]]) -> list[list[int]]:
    """Return how many words at both ends of each text, the best first, better ones have."""
    edges = [[0, 0] for _ in texts]
    short: dict[tuple[str, ...], int] = {}
    # The first word may be the end of one: the same words follow it.
    beginnings: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, words in enumerate(texts):
        for count in range(1, min(len(words), MAX_WORDS_ENDING) + 1):
            short.setdefault((words[0].lstrip(), *words[1:count]), number)
            if 1 < count <= WORDS_COMPARED:
                short.setdefault(("", *words[1:count]), number)
        holders = beginnings[tuple(words[1 : 1 + WORDS_COMPARED])]
        if len(holders) < MAX_HOLDERS and len(words) > WORDS_COMPARED:
            holders.append(number)
    firsts = {run[:2] for run in beginnings}
    starts = {word.lstrip() for words in texts for word in words[:2]}
    for number, words in enumerate(texts):
        # Pairs of words tell most places apart, and are quicker to look up.
        two = enumerate(pairwise(words[1:]))
        places = [place for place, pair in two if pair in firsts]
        runs = ((place, tuple(words[1 + place : 1 + place + WORDS_COMPARED])) for place in places)
        found = [(place, run) for place, run in runs if run in beginnings]
        pairs = [
            (place, other) for place, run in found[-MAX_COMPARED:] for other in beginnings[run]
        ]
        for place in range(max(0, len(words) - MAX_WORDS_ENDING), len(words)):
            if starts.isdisjoint(map(str.lstrip, words[place : place + 2])):
                continue  # most words begin no text: what follows them is not looked up
            ending = words[place].lstrip(), *words[place + 1 :]
            # Without its first and last word, which may be cut.
            keys = ending, ("", *ending[1:-1])
            pairs += [(place, short[key]) for key in keys if key in short]
        for place, other in pairs[-MAX_COMPARED:]:
            if other != number:
                _compare(texts, number, place, other, edges)
    return edges


def _compare(
    texts: Sequence[list[str]], number: int, place: int, other: int, edges: Sequence[list[int]]
) -> None:
    """Compare a text from a word on with the beginning of another, up to the end of one."""
    mine, theirs = texts[number][place:], texts[other]
    last = min(len(mine), len(theirs)) - 1
    has_theirs = len(mine) > len(theirs)
    has_theirs |= len(mine) == len(theirs) and mine[last].startswith(theirs[last])
    longer, shorter = (mine, theirs) if has_theirs else (theirs, mine)
    same_first = mine[0].lstrip() == theirs[0].lstrip()
    same_last = mine[last] == theirs[last]
    if mine[1:last] != theirs[1:last]:
        return
    # Where texts were cut within a word, the first is the end of one, the last a beginning.
    if not same_first and not (place and mine[0].endswith(theirs[0].lstrip())):
        return
    if not same_last and not longer[last].startswith(shorter[last]):
        return
    has_mine = not place and len(mine) <= len(theirs) and theirs[last].startswith(mine[last])
    held = has_theirs if other > number else has_mine
    if not held and (has_theirs or has_mine):
        return  # a worse text that has all of a better one says more
    if not (same_first and same_last):
        letters = not held or (theirs[0][0] + shorter[last][-1]).isalpha()
        few = last < MIN_WORDS_HELD if held else len(" ".join(theirs[:last])) < MIN_CHARACTERS_CUT
        if few or not letters:
            return
    if other > number:
        front = len(theirs) if held else last + same_last
        edges[other][0] = max(edges[other][0], front)
    else:
        edges[number][1] = max(edges[number][1], len(mine) - (not same_first))


def cut_apart(
    items: list[Item], ranked: Iterable[int], dropped: dict[int, str], max_chars: float
) -> int:
    """Let what several texts of a source end and begin with stand in the best of them alone.

    `ranked` are indices of `items`, the best first; so many characters of them are looked at. A
    text that better ones have all of is `dropped`. Returns how many others were cut; the number of
    steps grows with the characters.
    """
    sources: dict[Any, list[int]] = defaultdict(list)
    for index in ranked:
        item = items[index]
        max_chars -= len(item.content or "")
        if max_chars < 0:
            break
        if item.content and item.start_line is None and item.expanded is None:
            sources[item.kind, item.path, item.url].append(index)
    count = 0
    for indices in sources.values():
        if len(indices) < 2:
            continue
        texts = [_words_of(items[index].content or "") for index in indices]
        for index, words, shared in zip(indices, texts, _shared_edges(texts), strict=True):
            item = items[index]
            if item.required or not _are_long(words, shared):
                continue
            text = _without_edges(item.content or "", words, shared)
            if not text:
                dropped[index] = DUPLICATE.name
            elif text != item.content:
                items[index] = msgspec.structs.replace(item, content=text)
                count += 1
    return count


def cut_near_equal(
    items: list[Item],
    ranked: Iterable[int],
    dropped: dict[int, str],
    max_chars: float,
    is_prose: Callable[[Item], bool],
    gap: str,
) -> int:
    """Cut out of a text what a better one has, if that is nearly all; other paragraphs stay.

    So a page that was fetched twice shows its other date and figures. `ranked` are indices of
    `items`, the best first; so many characters of them are looked at. A text is `dropped` if a
    better one has all its paragraphs. Returns how many others were cut; linear in the characters.
    """
    holders: dict[str, int] = {}
    count = 0
    for index in ranked:
        item, text = items[index], items[index].content or ""
        max_chars -= len(text)
        if max_chars < 0:
            break
        blocks = _BLOCK.findall(text)
        if len(blocks) < 2 or item.start_line is not None or item.expanded is not None:
            continue
        shared: Counter[int] = Counter()
        for block in blocks:
            shared[holders.setdefault(block, index)] += len(block)
        del shared[index]
        other, length = max(shared.items(), key=itemgetter(1), default=(index, 0))
        fenced = "```" in text or "~~~" in text
        if length < NEAR_EQUAL * len(text) or item.required or fenced or not is_prose(item):
            continue
        theirs = {block for block in blocks if holders[block] == other}
        if theirs.issuperset(blocks):
            dropped[index] = DUPLICATE.name
            continue
        runs = groupby(blocks, theirs.__contains__)
        parts = (gap if is_shared else "\n\n".join(run) for is_shared, run in runs)
        items[index] = msgspec.structs.replace(item, content="\n\n".join(parts))
        count += 1
    return count


def _are_long(words: Sequence[str], shared: Sequence[int]) -> bool:
    """Tell whether shared words are too many to be the same by chance."""
    ends = words[: shared[0]], words[len(words) - shared[1] :]
    return any(len(" ".join(end)) >= MIN_SHARED_CHARACTERS for end in ends)


def _without_edges(text: str, words: Sequence[str], shared: Sequence[int]) -> str:
    """Return a text without words at its ends, up to a sentence's end where they have one."""
    if sum(shared) >= len(words):
        return ""
    places = [0]
    for word in words:
        places.append(text.index(word, places[-1]) + len(word))
    front, end = places[shared[0]], places[-1 - shared[1]]
    if len(text[:front].strip()) < MIN_SHARED_CHARACTERS:
        front = 0
    if len(text[end:].strip()) < MIN_SHARED_CHARACTERS:
        end = len(text)
    # A part of a sentence is shown again, so that the sentence is whole.
    ends = [found.end() for found in _SENTENCE_END.finditer(text)]
    before = [place for place in ends if MIN_SHARED_CHARACTERS <= place <= front + 1]
    front = max(before, default=front)
    after = [place for place in ends if end <= place <= len(text) - MIN_SHARED_CHARACTERS]
    end = min(after, default=end)
    rest = text[front:end].rstrip() if shared[1] else text[front:]
    blanks = len(rest) - len(rest.lstrip())
    # What begins on a line of its own keeps its margin.
    return rest[rest.rfind("\n", 0, blanks) + 1 or blanks :] if front else rest


MAX_CONTAINED_CHARACTERS = 1 << 20
"""Characters above which a text is not split into lines."""
MAX_TEXTS_PER_LINE = 100
"""Texts compared that share one line: the first."""


class JoinedRange(NamedTuple):
    """Ranges of one file that touch or overlap, as one item."""

    members: list[int]
    """Their indices in the caller's order; the joined item stands in the place of the first."""
    item: Item


def join_ranges(
    items: Sequence[Item], indices: Iterable[int], score_order: ScoreOrder = "given"
) -> list[JoinedRange]:
    """Join ranges of one file that overlap or touch and agree; others are left out.

    A joined item has the best score of them, as `score_order` or their store has it.

    >>> lines = [Item(path="a", content="x", start_line=n, end_line=n) for n in (1, 2, 9)]
    >>> [(joined.members, joined.item.end_line) for joined in join_ranges(lines, [0, 1, 2])]
    [([0, 1], 2)]
    """
    files: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for index in indices:
        item = items[index]
        start, end, path = item.start_line, item.end_line, item.path
        if start is not None and end is not None and path:
            files[path].append((start, index, end))
    found = []
    for ranges in files.values():
        if len(ranges) > 1:
            ranges.sort()
            found += _join_in_file(items, [index for _, index, _ in ranges], score_order)
    return found


def _join_in_file(
    items: Sequence[Item], indices: Sequence[int], score_order: ScoreOrder
) -> list[JoinedRange]:
    runs = [_Run(indices[0], items[indices[0]], score_order)]
    for index in indices[1:]:
        item, run = items[index], runs[-1]
        touching = (item.start_line or 0) <= run.end + 1
        if touching and run.join(index, item):
            continue
        if not touching or (item.end_line or 0) >= run.end:
            runs.append(_Run(index, item, score_order))
        # Else it disagrees, and ends first: the run may still be joined by the next.
    return [run.joined(items) for run in runs if len(run.members) > 1]


class _Run:
    """Ranges of one file that touch or overlap, and agree there: one item in the end."""

    def __init__(self, index: int, item: Item, score_order: ScoreOrder) -> None:
        self.members = [index]
        self._best: Callable[..., float] = max
        if meaning_of(item, score_order) == "lower":  # a range without a distance tells of none
            self._best = partial(max, key=closeness)
        self.end = item.end_line or 0
        self._first = item
        self._lines: list[str] = []
        self._score, self._name, self._metadata = item.score, item.name, item.metadata

    def join(self, index: int, item: Item) -> bool:
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
        self._score = self._best(self._score, item.score)
        if self._name != item.name:  # two functions: neither name is right for both
            self._name = None
        self._metadata = item.metadata | self._metadata
        self.members.append(index)
        return True

    def joined(self, items: Sequence[Item]) -> JoinedRange:
        """Return the ranges as one, with the id of the first in the caller's order."""
        members = sorted(self.members)
        item = msgspec.structs.replace(
            self._first,
            id=items[members[0]].id,
            content="\n".join(self._lines),
            end_line=self.end,
            score=self._score,
            name=self._name,
            metadata=self._metadata,
        )
        return JoinedRange(members, item)


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


def is_within(item: Item, other: Item) -> bool:
    """Return True if an item is a range of lines within another's range of the same file."""
    if not (item.path and item.path == other.path):
        return False
    start, end, first, last = item.start_line, item.end_line, other.start_line, other.end_line
    if start is None or end is None or first is None or last is None:
        return False
    return first <= start and end <= last


def describe_place(item: Item) -> str:
    """Return the place of an item for people: path and lines, else name, id or kind."""
    if item.path:
        return path_with_lines(item.path, item.start_line, item.end_line)
    return item.name or item.id or item.kind


def drop_duplicates(
    items: list[Item],
    texts: Sequence[str],
    kept: Sequence[int],
    ranks: Sequence[float],
    dropped: dict[int, str],
    merged: dict[int, int] | None,
) -> None:
    """Keep the best of equal texts, with a note of the others' places; put these into `dropped`.

    `texts` has the text of each item.

    With `merged`, a range given twice is one: of it there is no other place to note. The item that
    is kept of it is put into `merged`.
    """
    if len(kept) < len(texts):
        texts = [texts[index] for index in kept]
    tails = list(map(tail_of, texts))
    if len(set(tails)) == len(tails):
        return
    # Whole texts are hashed only where the tails agree.
    twice = {tail for tail, count in Counter(tails).items() if count > 1}
    first: dict[str, int] = {}
    also: dict[int, list[int]] = defaultdict(list)
    for index, text, tail in zip(kept, texts, tails, strict=True):
        if tail not in twice or not text:  # an empty file is there, or it is not
            continue
        text = _fold(text.strip())
        other = first.setdefault(text, index)
        if other == index:
            continue
        keep, lost = other, index
        if _claim(items[index], ranks[index]) > _claim(items[other], ranks[other]):
            keep, lost = index, other
            first[text] = index
        if items[lost].required:
            continue
        if merged is not None and is_within(items[lost], items[keep]):
            dropped[lost], merged[lost] = MERGED.name, keep
        else:
            also[keep].append(lost)
            dropped[lost] = DUPLICATE.name
        also[keep] += also.pop(lost, [])
    for index, others in also.items():
        same = [items[other] for other in sorted(others)]
        items[index] = with_paths_of(with_also_in(items[index], same), same)


def paths_of_same_text(item: Item) -> list[str]:
    """Return the paths in its metadata `also_text_of`, which a caller may fill with anything."""
    given = item.metadata.get("also_text_of")
    return [path for path in given if isinstance(path, str)] if isinstance(given, list) else []


def with_paths_of(item: Item, others: Iterable[Item]) -> Item:
    """Return a whole file with the paths of others with its text as metadata `also_text_of`."""
    paths = dict.fromkeys(paths_of_same_text(item))
    if item.path and item.start_line is None:
        places = (other.path for other in others if other.start_line is None)
        paths |= dict.fromkeys(path for path in places if path not in (None, "", item.path))
    if not paths:
        return item
    return msgspec.structs.replace(item, metadata={**item.metadata, "also_text_of": list(paths)})


MAX_DEPTH = 1 << 16
"""Folders of a text without a path: one that is known to lie somewhere says more."""


def _claim(item: Item, rank: float) -> tuple[bool, bool, float, int]:
    # A copy lies deeper: `build/lib/pool/a.py` is one of `pool/a.py`, and comes before it.
    depth = item.path.count("/") if item.path else MAX_DEPTH
    return item.required, item.is_reserved, rank, -depth


def with_also_in(item: Item, others: Iterable[Item]) -> Item:
    """Return `item` with the places of others with the same text as metadata `also_in`."""
    given = item.metadata.get("also_in", [])
    places = [*(given if isinstance(given, list) else [given]), *map(describe_place, others)]
    return msgspec.structs.replace(item, metadata={**item.metadata, "also_in": places})


K = TypeVar("K", bound=int | tuple[Any, ...])
V = TypeVar("V")


def without(known: Mapping[K, V], changed: Collection[int]) -> dict[K, V]:
    """Return what is known of all items but some; its keys are indices, or begin with one."""
    return {
        key: value
        for key, value in known.items()
        if (key[0] if isinstance(key, tuple) else key) not in changed
    }


class ContainedTexts:
    """The texts of the items asked about so far, and the lines of those that were shown whole."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = items
        self._known: dict[int, tuple[list[str], str]] = {}
        """The lines of each, and the longest."""
        self._by_longest: dict[str, list[int]] = defaultdict(list)
        """Longest line of a text → items."""
        # Indexing is the dear part, so only what can hold another text is indexed: one that is
        # shown whole. And these wait for the second index, each with the lines that it shares
        # with those before it, until a text has no line of its own; in most lists none ever does.
        self._indexed = set[int]()
        """Those with lines in the next three."""
        self._longest = 0
        """Characters of the longest of them."""
        self._first: dict[str, int] = {}
        """Line → the first of them that has it."""
        self._shared = set[str]()
        """Lines that several of them have."""
        self._by_line: dict[str, list[int]] = {}
        """Shared line → items that have it."""
        self._waiting: list[tuple[int, set[str]]] = []
        # Each packing asks again, and `fits_at` packs a hundred times.
        self._within: dict[tuple[int, int], bool] = {}
        """An item and another → whether that one has all of its text."""
        self._changes: list[int] = []
        """The items that became known or were indexed. A copy with other items shares the list and
        the indices, so each sees what the other added."""
        self._relations: dict[int, tuple[int, Sequence[int], Sequence[int]]] = {}
        """Item → those that may hold it, those that it may hold, after so many changes."""

    def find(self, index: int, chosen: Mapping[int, Variant]) -> tuple[int | None, list[int]]:
        """Return the one of `chosen` that contains this item, and those that this item contains.

        Only items of several lines are compared: a single line stands in many texts by chance.
        """
        related = self._relations.get(index)
        if related is None or related[0] != len(self._changes):
            related = self._relations[index] = self._look_up(index)
        if index in chosen:
            self.show(index, chosen[index])
        _, holders, held = related
        texts: dict[int, str] = {}
        for other in holders:
            if other == index or other not in chosen or not _is_whole(chosen[other]):
                continue
            if self._is_within(index, other, texts):
                return other, []
        return None, [i for i in held if i in chosen and self._is_within(i, index, texts)]

    def may_be_held(self, index: int) -> bool:
        """Return False for an item that is longer than all that are shown whole."""
        text = self._items[index].content or ""
        if text.startswith("\n") or text.endswith("\n\n"):
            text = text.strip("\n")
        return len(text) <= self._longest + 1  # the line end after the last line

    def show(self, index: int, variant: Variant) -> None:
        """Index the lines of a known item if it is shown whole: it may hold others."""
        if index not in self._known or index in self._indexed or not _is_whole(variant):
            return
        self._indexed.add(index)
        self._longest = max(self._longest, len(self._items[index].content or ""))
        self._changes.append(index)
        different = set(self._known[index][0])
        common = different & self._first.keys()
        self._shared |= common
        self._first.update(dict.fromkeys(different - common, index))
        self._waiting.append((index, common))

    def _look_up(self, index: int) -> tuple[int, Sequence[int], Sequence[int]]:
        read = self._known.get(index) or self._read(index)
        if read is None:
            return len(self._changes), (), ()
        lines, longest = read
        holders: Sequence[int] = ()
        held = set[str]()
        if not self._items[index].required:
            holders, held = self._related(index, lines, longest)
        if index not in self._known:
            self._known[index] = read
            self._changes.append(index)
            self._by_longest[longest].append(index)
        others = {other for line in held for other in self._by_longest[line][:MAX_TEXTS_PER_LINE]}
        return len(self._changes), holders, sorted(others - {index})

    def _is_within(self, inner: int, outer: int, texts: dict[int, str]) -> bool:
        pair = inner, outer
        if pair not in self._within:
            for each in pair:
                texts[each] = texts.get(each) or self._text(each)
            self._within[pair] = texts[inner] in texts[outer]
        return self._within[pair]

    def _related(
        self, index: int, lines: list[str], longest: str
    ) -> tuple[Sequence[int], set[str]]:
        """Return items that may hold this one, and longest lines of others that it may hold."""
        held = set[str]()
        if not self._by_longest.keys().isdisjoint(lines):
            held = self._by_longest.keys() & lines
            if self._by_longest.get(longest) == [index]:
                held.discard(longest)
        # In most lists no text has all lines of another.
        others = self._shared if index in self._indexed else self._first.keys()
        if longest in others and all(map(others.__contains__, lines)):
            return self._sharing_rarest(lines), held
        return (), held

    def _read(self, index: int) -> tuple[list[str], str] | None:
        """Return the lines of an item and the longest; None where it is not compared."""
        content = self._items[index].content or ""
        if len(content) > MAX_CONTAINED_CHARACTERS:
            return None
        lines = _units_of(content.strip("\n"))
        return (lines, max(lines, key=len)) if "\n" in content or len(lines) > 1 else None

    def with_items(self, items: Sequence[Item], changed: Collection[int]) -> ContainedTexts:
        """Return the texts of `items`, where those in `changed` are others than here."""
        texts = copy(self)
        texts._items, texts._known = items, without(self._known, changed)
        texts._indexed = self._indexed - {*changed}
        texts._relations = without(self._relations, changed)
        other = {*changed}
        texts._within = {
            pair: known for pair, known in self._within.items() if other.isdisjoint(pair)
        }
        return texts

    def _sharing_rarest(self, lines: list[str]) -> Sequence[int]:
        for index, theirs in self._waiting:
            for line in theirs:
                self._by_line.setdefault(line, [self._first[line]]).append(index)
        self._waiting.clear()
        holders = (self._by_line.get(line) or [self._first[line]] for line in lines)
        return min(holders, key=len)[:MAX_TEXTS_PER_LINE]

    def _text(self, index: int) -> str:
        units = _units_of((self._items[index].content or "").strip("\n"))
        return "\n{}\n".format("\n".join(units))


def _is_whole(variant: Variant) -> bool:
    return variant.name in ("content", "expanded") and not variant.cut
