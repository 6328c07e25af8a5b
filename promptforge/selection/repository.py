"""Find the passages of a repository that answer a question, where nothing ranks its files yet.

Files are cut into chunks of about 30 lines. A chunk is worth the query's words in it (BM25), in the
names it stands in, and in its file; words of a related meaning count too. A chunk lends worth to
its neighbours. What the best chunks name is the next hop: the chunk that defines it gains a share
of their worth.
"""

from __future__ import annotations

import heapq
import math
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, MutableSequence, Sequence
from functools import cache
from itertools import accumulate, pairwise
from typing import NamedTuple

from ..text.words import (
    inverse_document_frequency,
    related_terms,
    split_words,
    terms_of_text,
    terms_of_word,
)
from .query import (
    MAX_CANDIDATES_READ,
    MAX_WHOLE_PROGRAM_CHARACTERS,
    Question,
    Relevance,
    readable_text,
)

MIN_CHUNK_LINES, MAX_CHUNK_LINES = 8, 30
"""Lines of a chunk: a seam ends it after the least; at the most it ends at the last seam or there.

Of 6 to 20, 8 to 30, 8 to 40 and 15 to 40 lines all answered about as many questions.
"""
CHUNK_K1, CHUNK_B = 1.5, 0.9
"""BM25's saturation of a word that comes again, the usual one, and its norm by length."""
FILE_WEIGHT = 0.4
"""Weight of the whole file in the worth of a chunk; 0.3 to 0.6 answered as many questions."""
RELATED_WEIGHT = 0.3
"""Count of a word of related meaning, such as `timeout` for "slow"; the word itself counts 1."""
NEIGHBOUR_SHARE = 0.3
"""Share of its worth that a chunk lends to the one before and the one after it in its file."""
CHUNKS_FOLLOWED, FOLLOWED_SHARE, MAX_DEFINING_CHUNKS = 6, 0.5, 3
"""Best chunks that are followed by the names in them; the share of worth that they lend to a
definition; definitions above this number tell nothing of a name."""
MIN_FOLLOWED_CHARACTERS = 4
"""Shorter names are mostly counters."""

_NAME = re.compile(rf"[^\W\d]\w{{{MIN_FOLLOWED_CHARACTERS - 1},}}")
_DEFINITION = re.compile(
    r"[ \t]*(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|pub"
    r"|unsafe|override|virtual|inline)[ \t]+){0,4}"
    r"(?:def|class|func|fn|function|interface|struct|trait|enum|impl|module|namespace|object"
    r"|record|type|sub|macro)[ \t]+(\w+)|([A-Z][A-Z0-9_]+)\b[^=\n]{0,80}="
)


class Chunk(NamedTuple):
    """Some lines of a file."""

    start: int
    """Its first character in the text."""
    end: int
    names: tuple[str, ...]
    """Definitions that it stands in, the outermost first."""
    defines: tuple[str, ...]


class RankedChunk(NamedTuple):
    """A chunk by its worth."""

    file: int
    start: int
    end: int
    worth: float


def cut_into_chunks(text: str) -> Iterator[Chunk]:
    """Yield the chunks of a text, which joined are the text.

    A seam is a blank line: before a definition or a line that is not indented it ends a chunk at
    once, before others where the chunk would become too long.
    """
    names = _Names()
    position = start = first = 0
    seam: tuple[int, int] | None = None
    after_blank = False
    for number, line in enumerate(text.splitlines(keepends=True)):
        bare = line.strip()
        definition = _DEFINITION.match(line) if bare else None
        size = number - first
        cut: tuple[int, int] | None = None
        if bare and after_blank and size >= MIN_CHUNK_LINES:
            seam = number, position
            if definition or not line[0].isspace() or bare[0] == "@":
                cut = seam
        if size >= MAX_CHUNK_LINES:
            cut = cut or seam or (number, position)
        if cut is not None:
            yield names.chunk(start, cut[1])
            (first, start), seam = cut, None
        if bare:
            names.read(line, bare, definition)
        after_blank = not bare
        position += len(line)
    if start < len(text):
        yield names.chunk(start, len(text))


class _Names:
    """The definitions around the present line, and those since the last chunk."""

    def __init__(self) -> None:
        self._around: list[tuple[int, str]] = []
        """Indents and names, the outermost first."""
        self._at_start: tuple[str, ...] = ()
        self._defined: list[str] = []

    def read(self, line: str, bare: str, definition: re.Match[str] | None) -> None:
        """Take the next line that is not blank."""
        indent = len(line) - len(line.lstrip())
        if definition and definition[1]:
            while self._around and self._around[-1][0] >= indent:
                self._around.pop()
            self._around.append((indent, definition[1]))
        elif not indent and bare[0] not in ")}]#/@":
            self._around.clear()
        if definition:
            self._defined.append(definition[1] or definition[2])

    def chunk(self, start: int, end: int) -> Chunk:
        """Return the chunk that ends before the next line."""
        made = Chunk(start, end, self._at_start, tuple(self._defined))
        self._at_start = tuple(name for _, name in self._around)
        self._defined = []
        return made


class _QueryWords(dict[str, tuple[tuple[int, float], ...]]):
    """Word as written → the query's terms in it by number, each with what it counts."""

    def __init__(self, wanted: Sequence[str]) -> None:
        self._counts: dict[str, dict[int, float]] = defaultdict(dict)
        for number, term in enumerate(wanted):
            for related in related_terms(term):
                self._counts[related][number] = RELATED_WEIGHT
        for number, term in enumerate(wanted):
            self._counts[term][number] = 1.0

    def __missing__(self, word: str) -> tuple[tuple[int, float], ...]:
        counts: dict[int, float] = {}
        for term in terms_of_word(word):
            for number, count in self._counts.get(term, {}).items():
                counts[number] = max(count, counts.get(number, 0.0))
        self[word] = found = tuple(counts.items())
        return found

    def count(self, words: Sequence[str]) -> dict[int, float]:
        """Return how often each term is among words."""
        counts: dict[int, float] = {}
        for held in map(self.__getitem__, words):
            for number, count in held:
                counts[number] = counts.get(number, 0.0) + count
        return counts


class _CountedChunk(NamedTuple):
    """A chunk with its counts of the query's terms."""

    file: int
    chunk: Chunk
    counts: dict[int, float]
    own: set[int]
    """Terms that it holds themselves, not by a word of related meaning."""
    words: int


def rank_chunks(query: str, files: Sequence[tuple[str, str]]) -> list[RankedChunk]:
    """Return the chunks of files (path and text) that have to do with a query, the best first."""
    wanted = list(dict.fromkeys(terms_of_text(query)))
    words = _QueryWords(wanted)
    chunks: list[_CountedChunk] = []
    of_files: list[tuple[Counter[int], set[int], int]] = []
    for number, (path, text) in enumerate(files):
        found = list(_count_chunks(number, path, text, words))
        total: Counter[int] = Counter()
        for each in found:
            total.update(each.counts)
        own = {term for each in found for term in each.own}
        of_files.append((total, own, sum(each.words for each in found)))
        chunks += found
    # Many a `timeout` makes "slow" no commoner, and a rare "slow" makes `timeout` no rarer.
    weights, related = (
        [inverse_document_frequency(len(chunks), holders[t]) for t in range(len(wanted))]
        for holders in (
            Counter(term for each in chunks for term in each.own),
            Counter(term for each in chunks for term in each.counts),
        )
    )
    size = sum(words for _, _, words in of_files)
    mean_chunk, mean_file = (max(1.0, size / max(1, len(all_))) for all_ in (chunks, files))

    def worth(counts: Mapping[int, float], own: Collection[int], length: float) -> float:
        norm = CHUNK_K1 * (1 - CHUNK_B + CHUNK_B * length)
        parts = [
            (weights if term in own else related)[term] * (CHUNK_K1 + 1) * count / (count + norm)
            for term, count in sorted(counts.items())
        ]
        return sum(parts)

    shared = [FILE_WEIGHT * worth(total, own, n / mean_file) for total, own, n in of_files]
    alone = [worth(each.counts, each.own, each.words / mean_chunk) for each in chunks]
    worths = [own + shared[each.file] for each, own in zip(chunks, alone, strict=True)]
    for number, (each, after) in enumerate(pairwise(chunks)):
        if each.file == after.file:
            worths[number] += NEIGHBOUR_SHARE * alone[number + 1]
            worths[number + 1] += NEIGHBOUR_SHARE * alone[number]
    _follow_names(files, chunks, worths)
    order = sorted(range(len(chunks)), key=lambda i: (-worths[i], i))
    return [
        RankedChunk(chunks[i].file, chunks[i].chunk.start, chunks[i].chunk.end, worths[i])
        for i in order
        if worths[i] > 0
    ]


def _count_chunks(file: int, path: str, text: str, words: _QueryWords) -> Iterator[_CountedChunk]:
    of_path = split_words(path)
    for chunk in cut_into_chunks(text):
        held = split_words(text[chunk.start : chunk.end])
        counts = words.count(held)
        about = [*of_path, *chunk.names]
        own = {term for word in (*held, *about) for term, count in words[word] if count == 1}
        for term in words.count(about):
            counts[term] = counts.get(term, 0.0) + 1
        yield _CountedChunk(file, chunk, counts, own, len(held))


def _follow_names(
    files: Sequence[tuple[str, str]], chunks: Sequence[_CountedChunk], worths: list[float]
) -> None:
    """Add to the worth of the chunks that define what the best chunks name."""
    defined_in: dict[str, list[int]] = defaultdict(list)
    for number, each in enumerate(chunks):
        for name in each.chunk.defines:
            defined_in[name].append(number)
    gains: dict[int, float] = {}
    best = heapq.nsmallest(CHUNKS_FOLLOWED, range(len(chunks)), key=lambda i: (-worths[i], i))
    for number in best:
        file, chunk = chunks[number].file, chunks[number].chunk
        names = {*_NAME.findall(files[file][1], chunk.start, chunk.end)}
        places = [defined_in[name] for name in names & defined_in.keys() - {*chunk.defines}]
        places = [found for found in places if len(found) <= MAX_DEFINING_CHUNKS]
        share = FOLLOWED_SHARE * worths[number] / math.sqrt(max(1, len(places)))
        for other in {other for found in places for other in found} - {number}:
            gains[other] = max(gains.get(other, 0.0), share)
    for number, gain in gains.items():
        worths[number] += gain


class RepositoryRelevance(Relevance):
    """The files of a repository by their chunks, where their own order says nothing."""

    max_whole_characters = 0
    """None is: one without room for all of it still shows its best chunk, see `extents_of`."""

    def __init__(self, asked: Question) -> None:
        """Rank the chunks of the candidates; the best 200 files are read closely."""
        kept = list(asked.ranked)
        files = [
            (item.path or "", readable_text(item)) for item in map(asked.items.__getitem__, kept)
        ]
        found = [
            chunk._replace(file=kept[chunk.file])
            for chunk in rank_chunks("\n".join(asked.queries), files)
        ]
        self._worth: dict[int, float] = {}
        """Index of an item → the worth of its best chunk; only those with one."""
        for chunk in found:
            self._worth.setdefault(chunk.file, chunk.worth)
        super().__init__(asked, list(self._worth)[:MAX_CANDIDATES_READ])
        self._starts = cache(self._find_starts)
        self.chunks = [chunk for chunk in found if chunk.file in self.number_of]
        """The chunks of the files read closely, the best first; `file` is the index of an item."""

    @property
    def has_evidence(self) -> bool:
        """True if a file has to do with the query."""
        return bool(self._worth)

    def worths(self) -> Mapping[int, float]:
        """Return the worth of each file's best chunk, by the index of its item."""
        return self._worth

    def rank(self, ranks: MutableSequence[float]) -> None:
        """Replace the ranks by the worth of each file's best chunk."""
        for index in range(len(ranks)):
            ranks[index] = self._worth.get(index, 0.0)

    def match(self, index: int) -> Mapping[int, float] | None:
        """Return the worth of the chunk that each passage of an item begins in."""
        if index not in self.number_of:
            return None
        found: dict[int, float] = {}
        for chunk in self.chunks:
            if chunk.file == index:
                for number in self.passages_in(chunk):
                    found.setdefault(number, chunk.worth)
        return found

    def extents_of(self, chunk: RankedChunk) -> list[range]:
        """Return the passages that a chunk may show: those of all a short file, then its own."""
        whole = range(len(self._starts(chunk.file)))
        short = len(readable_text(self._asked.items[chunk.file])) <= MAX_WHOLE_PROGRAM_CHARACTERS
        return [whole, self.passages_in(chunk)] if short else [self.passages_in(chunk)]

    def passages_in(self, chunk: RankedChunk) -> range:
        """Return the numbers of the item's passages that lie in a chunk, in whole or in part."""
        starts = self._starts(chunk.file)
        first = bisect_right(starts, chunk.start) - 1
        return range(first, bisect_right(starts, chunk.end - 1))

    def _find_starts(self, index: int) -> list[int]:
        """Return the first character of each passage of an item."""
        pieces = self.divide(index)
        if pieces is None:
            return [0]
        return list(accumulate((len(part.text) for part in pieces.parts[:-1]), initial=0))
