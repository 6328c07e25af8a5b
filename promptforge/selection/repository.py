"""Rank the files of a repository that came without scores.

A query ranks them by passages. Files are cut into chunks of about 30 lines. A chunk is worth the
query's words in it (BM25), in its path, and in its file; words of a related meaning count too.

Without a query PageRank ranks them (Brin and Page 1998): a file passes its rank on to the files
that it imports, and to those that define the names it uses. Tests and data come after programs,
what changed lately before what is as old as the repository.
"""

import posixpath
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, MutableSequence, Sequence, Set
from functools import cache, cached_property, partial
from hashlib import blake2b
from itertools import accumulate
from operator import mul
from typing import NamedTuple

from ..files.memory import is_withheld, recall, recall_last
from ..model import CHANGE_KINDS, MAX_CHANGES_NAMED, Item, readable_text
from ..text.characters import freeze
from ..text.thesaurus import related_terms
from ..text.words import (
    inverse_document_frequency,
    late_pattern,
    late_patterns,
    split_words,
    terms_of_text,
    terms_of_word,
)
from ..trimming.kinds import is_program
from ..trimming.pieces import Pieces
from ..trimming.syntax_tree import defined_names
from .query import (
    DEFINING_WORD,
    MAX_CANDIDATES_READ,
    MAX_WHOLE_PROGRAM_CHARACTERS,
    MIN_NAME_CHARACTERS,
    Question,
    Relevance,
)
from .roles import Role, below_shared_folder, english_of, find_asides, role_of, roles_of

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
ASIDE_WEIGHT = 0.3
"""Worth of a chunk of a test, an example or a file that was copied in, beside that of a program, if
the query says nothing of tests: they repeat the words of what they are about, and seldom answer."""
LOG_FACTOR = 10.0
"""A chunk of a list of changes has to match so much better than all others, unless the query asks
for changes: it repeats the words of what changed, and a hundred of its lines hold no answer. So has
a licence: Apache's holds "work" twenty times."""
DAMPING = 0.85
"""Share of its rank that a file passes on; the usual figure."""
ROUNDS = 30
"""Rounds of passing on; after 30 of them 0.85**30 < 1 % of the first guess is left."""
MAX_DEFINING_FILES = 8
"""A name that more files define, such as `main`, points at none of them."""
IMPORT_WEIGHT = 3.0
"""Weight of an import beside that of one name."""
MIN_LINKS_WEIGHT = 2 * IMPORT_WEIGHT
"""Of links of less weight together, a file passes on a part of its rank only."""
DATA_WEIGHT = 0.1
"""Rank of a file that is no program beside that of a program."""
TEST_WEIGHT = 0.1
"""The same of a test, an example, a program of the manual, a picture, or a file from elsewhere."""
ASIDE_SHARE = 1e-3
"""The share of its rank that a test, an example or others' work keeps: all programs come first.
`PROGRAM_SHARE` of `packing/overview.py` lies between the two."""
MAIN_WEIGHT = 3.0
"""The same of a program that a user starts: nothing imports it, and it says what the others do."""
LATELY_WEIGHT, COMMITS_HALVED = 0.5, 20
"""Rank that the newest change adds, as a share; after so many commits half of it is left."""
MIN_FILES_SHARING, MIN_CHARACTERS_SHARED = 3, 200
"""Files that begin with the same comment, and its characters, from which on all but the first of
them leave it out: the terms of a licence would be paid for with each file. In place of less the
marks cost as much."""
MAX_CHARACTERS_OF_COMMENTS = 8_000
"""Characters of a file that are read for the comments that it begins with."""
MAX_CHARACTERS_OF_HINTS = 20_000
"""Characters of named errors and diffs that are read for the files that they are about."""
HINT_WEIGHT = 1.0
"""Worth of the best chunk by a named error or diff beside the best by the question. 0.7, 1 and 1.2
showed 32, 39 and 47 of 53 lines of made traces; beside a diff, 30, 30 and 26 of 30 answers."""
MAX_CHARACTERS_TAGGED = 4 << 20
"""Characters of a repository that are parsed for names; in the rest, patterns find them."""

NAMED_WEIGHT = 1.5
"""Worth of a chunk of a file that the query names, beside that of others. A room kept for the file
found fewer answers, and a name in passing took it from them; a weight of 3 found no more."""
LINE_WEIGHT = 3.0
"""The same of a chunk with a line that the query names. In 2,000 tokens beside made traces of five
packages 53 of 89 lines were shown without it, 86 with 2, 88 with 3 and with 4."""

# The name in `foo.py:12`, `foo.py#L3` and `foo.py's` is `foo.py`; `[id].tsx` keeps its brackets.
# A line follows as traces, compilers and people write it: `foo.cs:line 12`, `foo.py", line 12`.
_NAME = late_pattern(
    r"([^\s`'\"*,;:?!()<>#{}|“”‘’«»…]{1,400})"
    r"(?:[\"']?(?::(?:line )?|#l|\(|,? (?:on )?lines? )(\d{1,9}))?"
)
_CHANGED = late_pattern(r"[+-](?![+-])")
_ENDING = late_pattern(r"/|\.\w{0,9}[a-z]")
_TERMS_OF_ROLE = {
    "log": frozenset({"chang", "changelog", "releas", "version", "upgrad"}),
    "licence": frozenset({"licens", "licenc", "copyright", "warranty"}),
}
"""Role of files that hold the words of many queries → terms of those that ask for them."""
_LIMITING_WORDS = frozenset({"again", "few", "most"})
"""Stop words that a program says otherwise: "at most" is its `limit`, "again" its `retry`."""
_WORDS = late_patterns("programs")
_DEFINITION = _WORDS["defines"]
# A plain word, such as `items`, is found in any prose; a name with a seam is not.
_SEAM = late_pattern(r"[^_]_[^_]|[a-z0-9][A-Z]")
# Each begins with letters or a line end, which the machine finds fast; no text begins with one.
_QUOTED_IMPORT = _WORDS["quoted import"]
_LISTED_IMPORT = _WORDS["listed import"]
_QUOTE = late_pattern(r"[\"'<]")
_IMPORT = _WORDS["imported"]
_LINK = late_pattern(r"\]\([ \t]*<?([\w./~%+-]{1,200}\.\w{1,8})[)#>]")
# A line with a comment, a comment of several lines, or a blank line.
_MARKED_COMMENT = r"[ \t]*(?>/\*(?s:.*?)\*/|<!--(?s:.*?)-->)[ \t]*\r?\n|[ \t]*\r?\n"
_COMMENT_OF_DOCUMENT = late_pattern(_MARKED_COMMENT)
_COMMENT_OF_PROGRAM = late_pattern(
    rf"{_MARKED_COMMENT}|[ \t]*(?:#(?=[ \t!#*=-]|\r?$)|//|--(?!-[ \t]*\r?$)|;|%).*\n", re.MULTILINE
)
_PHP_TAG = late_pattern(r"<\?php\s*\n")
_NUMBERS = late_pattern(r"\d+(?:[ \t]*[-–,][ \t]*\d+)*")
_NO_PROGRAM_KINDS = CHANGE_KINDS | {"document", "file"}
"""Among them `file`: YAML, for one, is shortened like a program, and is none."""
_LOOKS = frozenset({"css", "html", "less", "sass", "scss", "stylus"})
"""Languages of how a page looks: beside a program they are data."""
_PROSE = frozenset({"asciidoc", "latex", "markdown", "rst"})
BOOK_FACTOR = 4
"""Times the characters of programs from which on documents, notebooks too, are what a repository is
about: its chapters come before its listings. Books have 8 and more, libraries less than 2."""
_BOOK_SETTINGS = frozenset({"book.toml", "_bookdown.yml", "_quarto.yml"})
"""Files at the top of a book, as mdBook and others make them of chapters."""
_OF_FOLDER = frozenset({"__init__", "index", "mod", "lib"})
"""Stems of files that stand for their folder."""
_SOURCE_ROOTS = frozenset({"src", "lib", "python"})
_PACKAGE_LANGUAGES = frozenset({"go", "java", "kotlin", "csharp", "swift", "scala", "php"})
"""Languages where files of one package, or of all, see each other's names without an import."""


class Chunk(NamedTuple):
    """Some lines of a file."""

    start: int
    """Its first character in the text."""
    end: int


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
    # All at once: a match of its own for each line takes twice as long.
    definitions = {found.start() for found in _DEFINITION.finditer(freeze(f"\n{text}"))}
    position = start = first = 0
    seam: tuple[int, int] | None = None
    after_blank = False
    for number, line in enumerate(text.splitlines(keepends=True)):
        bare = line.strip()
        size = number - first
        cut: tuple[int, int] | None = None
        if bare and after_blank and size >= MIN_CHUNK_LINES:
            seam = number, position
            if position in definitions or not line[0].isspace() or bare[0] == "@":
                cut = seam
        if size >= MAX_CHUNK_LINES:
            cut = cut or seam or (number, position)
        if cut is not None:
            yield Chunk(start, cut[1])
            (first, start), seam = cut, None
        after_blank = not bare
        position += len(line)
    if start < len(text):
        yield Chunk(start, len(text))


_Matches = tuple[tuple[int, float], ...]
"""The query's terms in a word by number, each with what it counts."""


class _QueryWords(dict[str, _Matches]):
    """Word as written → the query's terms in it."""

    def __init__(self, wanted: Sequence[str]) -> None:
        self._counts: dict[str, dict[int, float]] = defaultdict(dict)
        for number, term in enumerate(wanted):
            for related in related_terms(term):
                self._counts[related][number] = RELATED_WEIGHT
        for number, term in enumerate(wanted):
            self._counts[term][number] = 1.0
        # A stem is the beginning of its word, but for the `y` of `queries`.
        beginnings = {re.escape(term.removesuffix("y")[:4]) for term in self._counts}
        self._may_match = re.compile("|".join(sorted(beginnings))).search

    def __missing__(self, word: str) -> _Matches:
        # Stems are dear: most words begin no part as any of the terms does.
        if word.isascii() and not self._may_match(word.lower()):
            self[word] = ()
            return ()
        counts: dict[int, float] = {}
        for term in terms_of_word(word):
            for number, count in self._counts.get(term, {}).items():
                counts[number] = max(count, counts.get(number, 0.0))
        self[word] = found = tuple(counts.items())
        return found

    def count(self, words: Sequence[str]) -> dict[int, float]:
        """Return how often each term is among words."""
        counts: dict[int, float] = {}
        for held in self.matching(words):
            for number, count in held:
                counts[number] = counts.get(number, 0.0) + count
        return counts

    def matching(self, words: Sequence[str]) -> Iterator[_Matches]:
        """Yield the terms of those words that have any, which few have."""
        return filter(None, map(self.__getitem__, words))


class _CountedChunk(NamedTuple):
    file: int
    chunk: Chunk
    counts: dict[int, float]
    own: set[int]
    """Terms that it holds themselves, not by a word of related meaning."""
    words: int


def _wanted_terms(query: str) -> list[str]:
    limits = filter(_LIMITING_WORDS.__contains__, split_words(query.lower()))
    return list(dict.fromkeys((*terms_of_text(query), *limits)))


def rank_chunks(
    query: str,
    files: Sequence[tuple[str, str]],
    roles: Sequence[Role] = (),
    first_lines: Sequence[int] = (),
) -> list[RankedChunk]:
    """Return the chunks of files (path and text) that have to do with a query, the best first.

    Without their `roles` their paths tell these. `first_lines` are the numbers of the lines that
    the texts begin with, else 1.
    """
    wanted = _wanted_terms(query)
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
    worths = [
        worth(each.counts, each.own, each.words / mean_chunk) + shared[each.file] for each in chunks
    ]
    paths = [path for path, _ in files]
    held = [own for _, own, _ in of_files]
    named = FileNames(paths).find(query)
    _weigh_by_role(worths, [each.file for each in chunks], named, wanted, paths, held, roles)
    _raise_named_lines(worths, chunks, named, files, first_lines)
    order = sorted(range(len(chunks)), key=lambda i: (-worths[i], i))
    return [
        RankedChunk(chunks[i].file, chunks[i].chunk.start, chunks[i].chunk.end, worths[i])
        for i in order
        if worths[i] > 0
    ]


def _raise_named_lines(
    worths: list[float],
    chunks: Sequence[_CountedChunk],
    named: Mapping[int, Set[int]],
    files: Sequence[tuple[str, str]],
    first_lines: Sequence[int],
) -> None:
    """Raise the worths of chunks that hold a line which the query names."""
    first = 1
    for number, (file, chunk, *_) in enumerate(chunks):
        if named.get(file):
            if not chunk.start:
                first = first_lines[file] if first_lines else 1
            after = first + files[file][1].count("\n", chunk.start, chunk.end - 1) + 1
            if not named[file].isdisjoint(range(first, after)):
                worths[number] = LINE_WEIGHT * max(worths[number], 1.0)
            first = after


def _weigh_by_role(
    worths: list[float],
    file_of: Sequence[int],
    named: Collection[int],
    wanted: Collection[str],
    paths: Sequence[str],
    held: Sequence[Set[int]],
    roles: Sequence[Role],
) -> None:
    """Raise the worths of chunks in files that are named; lower those in logs and asides.

    `held` are the terms of the query that each file holds.
    """
    below = below_shared_folder(paths)
    roles = roles or list(map(role_of, below))
    aside = set[int]()
    if "test" not in wanted:
        aside = find_asides(below, roles) - _find_asked_translations(below, held, roles)
    unasked = [role for role, terms in _TERMS_OF_ROLE.items() if terms.isdisjoint(wanted)]
    logs = {number for number, role in enumerate(roles) if role in unasked}
    others = (worth for file, worth in zip(file_of, worths, strict=True) if file not in logs)
    least = LOG_FACTOR * max(others, default=0.0)
    for number, file in enumerate(file_of):
        if file in named:
            worths[number] *= NAMED_WEIGHT
        elif file in logs and worths[number] < least:
            worths[number] = 0.0
        elif file in aside:
            worths[number] *= ASIDE_WEIGHT


def _find_asked_translations(
    paths: Sequence[str], held: Sequence[Set[int]], roles: Sequence[Role]
) -> set[int]:
    """Return translations with terms that their English lacks: it is asked in, or of, theirs."""
    terms = dict(zip(paths, held, strict=True))
    found = set[int]()
    for number, path in enumerate(paths):
        english = english_of(path, terms)
        is_asked = english is not None and not terms[path] <= terms[english]
        if is_asked and roles[number] not in ("aside", "log", "patch"):
            found.add(number)
    return found


def _count_chunks(file: int, path: str, text: str, words: _QueryWords) -> Iterator[_CountedChunk]:
    of_path = split_words(path)
    in_path = words.count(of_path)
    for chunk in cut_into_chunks(text):
        held = split_words(text[chunk.start : chunk.end])
        counts = words.count(held)
        matching = words.matching([*held, *of_path])
        own = {term for matches in matching for term, count in matches if count == 1}
        for term in in_path:
            counts[term] = counts.get(term, 0.0) + 1
        yield _CountedChunk(file, chunk, counts, own, len(held))


def find_shared_comments(items: Sequence[Item]) -> list[tuple[int, int]]:
    """Return where the comment lies in each text that it and others begin with.

    Years and the file's own name may differ. The first path with a comment keeps it: its start and
    end are 0, as those of a file that shares none.

    Example: (0, 560) for the second and the third of three files under one licence.
    """
    numbers: dict[tuple[int, str], int] = {}
    """All comments before one, by their number, and this one → the number of both."""
    found: list[list[tuple[int, int]]] = []
    for item in items:
        number, comments = 0, list[tuple[int, int]]()
        for said, end in _opening_comments(item):
            number = numbers.setdefault((number, said), len(numbers) + 1)
            comments.append((number, end))
        found.append(comments)
    sharing = Counter(number for comments in found for number, _ in comments)
    places = [(0, 0)] * len(items)
    shown: set[int] = set()
    for place in sorted(range(len(items)), key=lambda place: items[place].path or ""):
        shared = [each for each in found[place] if sharing[each[0]] >= MIN_FILES_SHARING]
        if not shared:
            continue
        number, end = shared[-1]
        start = _opening_tag(readable_text(items[place]))
        if end - start >= MIN_CHARACTERS_SHARED and number in shown:
            places[place] = start, end
        shown.add(number)
    return places


def _opening_comments(item: Item) -> Iterator[tuple[str, int]]:
    text = readable_text(item)[:MAX_CHARACTERS_OF_COMMENTS]
    name = posixpath.basename(item.path or "")
    pattern = _COMMENT_OF_DOCUMENT if item.kind == "document" else _COMMENT_OF_PROGRAM
    end = _opening_tag(text)
    while comment := pattern.match(text, end):
        end = comment.end()
        said = comment[0].replace(name, "") if name else comment[0]
        yield " ".join(_NUMBERS.sub("0", freeze(said)).split()), end


def _opening_tag(text: str) -> int:
    """Return the end of `<?php` where a text begins with it, else 0."""
    tag = _PHP_TAG.match(text)
    return tag.end() if tag else 0


class FileNames:
    """Finds the files that a text names, by a path or by a name with an ending.

    A name that several files share names none of them.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        """Take the paths of the files by number."""
        self._paths = paths

    @cached_property
    def _holders(self) -> Mapping[str, Sequence[int]]:
        holders: dict[str, list[int]] = defaultdict(list)
        for number, path in enumerate(self._paths):
            name = path.casefold()
            while name:  # `src/app.py`, then `app.py`
                holders[name].append(number)
                name = name.partition("/")[2]
        # A whole path names its file, though others end like it.
        whole = ((path.casefold(), n) for n, path in enumerate(self._paths) if "/" in path)
        return holders | {path: [number] for path, number in whole}

    def find(self, text: str) -> dict[int, set[int]]:
        """Return the named files by number, each with its lines that are named: `app.py:12`."""
        found: dict[int, set[int]] = {}
        for word, *lines in _NAME.findall(text.casefold().replace("\\", "/")):
            if not _ENDING.search(word):
                continue
            for given in {word, word.strip("[]")}:
                name = given.removeprefix("./").rstrip(".")
                if given[:1] in ("/", "~"):  # the end of `/home/me/shop/src/app.py` is a path here
                    while name and name not in self._holders:
                        name = name.partition("/")[2]
                held = self._holders.get(name, ())
                if len(held) == 1 and _ENDING.search(name):
                    found.setdefault(held[0], set()).update(map(int, filter(None, lines)))
        return found


def find_hints(items: Sequence[Item]) -> Iterator[str]:
    """Yield what named texts say of the files: changed lines, and lines around those of a trace.

    Somebody who names a diff or an error beside a folder asks for the files that it is about.
    """
    files = FileNames([item.path or "" for item in items if not item.named])
    for item in items:
        if item.named and item.kind != "code":
            text = readable_text(item)
            if item.kind in CHANGE_KINDS:
                lines = text[:MAX_CHARACTERS_OF_HINTS].splitlines()
                yield "\n".join(line[1:] for line in lines if _CHANGED.match(line))
                continue
            lines = text[-MAX_CHARACTERS_OF_HINTS:].splitlines()  # a log ends with its error
            points = [n for n, line in enumerate(lines) if any(files.find(line).values())]
            near = {place for number in points for place in range(number - 1, number + 3)}
            if near:
                yield "\n".join(line for number, line in enumerate(lines) if number in near)


def add_worths(chunks: Sequence[RankedChunk], hinted: Sequence[RankedChunk]) -> list[RankedChunk]:
    """Return the chunks of a question with those of hints, the best of both worth as much."""
    if not (chunks and hinted):
        return [*chunks, *hinted]
    share = HINT_WEIGHT * chunks[0].worth / hinted[0].worth
    found = {(chunk.file, chunk.start): chunk for chunk in chunks}
    for file, start, end, worth in hinted:
        own = found.get((file, start), RankedChunk(file, start, end, 0.0))
        found[file, start] = own._replace(worth=own.worth + share * worth)
    return sorted(found.values(), key=lambda chunk: (-chunk.worth, chunk.file, chunk.start))


class RepositoryRelevance(Relevance):
    """The files of a repository by their chunks, where their own order says nothing."""

    max_whole_characters = 0
    """None is: one without room for all of it still shows its best chunk, see `extents_of`."""
    of_files = True

    def __init__(self, asked: Question) -> None:
        """Rank the chunks of the candidates; the best 200 files are read closely."""
        kept = list(asked.ranked)
        items = [asked.items[index] for index in kept]
        comments = find_shared_comments(items)
        self._shared_comments = dict(zip(kept, comments, strict=True))
        """Index of an item → the place of the comment that others begin with, too."""
        files = [
            (item.path or "", readable_text(item)[end:])
            for item, (_, end) in zip(items, comments, strict=True)
        ]
        firsts = [
            (item.start_line or 1) + readable_text(item).count("\n", 0, end)
            for item, (_, end) in zip(items, comments, strict=True)
        ]
        roles = roles_of(items)[1]
        question = "\n".join(asked.queries)
        ranked = rank_chunks(question, files, roles, firsts)
        hints = "\n".join(find_hints(items))[:MAX_CHARACTERS_OF_HINTS]
        if hints:
            hinted = rank_chunks(hints, files, roles, firsts)
            # A trace or diff has all of its own words.
            ranked = add_worths(ranked, [each for each in hinted if not items[each.file].named])
        found = [
            RankedChunk(
                kept[chunk.file],
                chunk.start + comments[chunk.file][1],
                chunk.end + comments[chunk.file][1],
                chunk.worth,
            )
            for chunk in ranked
        ]
        self._worth: dict[int, float] = {}
        """Index of an item → the worth of its best chunk; only those with one."""
        for chunk in found:
            self._worth.setdefault(chunk.file, chunk.worth)
        super().__init__(asked, list(self._worth)[:MAX_CANDIDATES_READ])
        self._words = _QueryWords(_wanted_terms(f"{question}\n{hints}"))
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

    def extents_of(self, chunk: RankedChunk) -> list[Sequence[int]]:
        """Return the passages that a chunk may show: those of all a short file, then its own."""
        text = readable_text(self._asked.items[chunk.file])
        own = self._without_links(chunk.file, self.passages_in(chunk))
        if len(text) > MAX_WHOLE_PROGRAM_CHARACTERS:
            return [own]
        whole = chunk._replace(start=self._shared_comments[chunk.file][1], end=len(text))
        return [self._without_links(chunk.file, self.passages_in(whole)), own]

    def _without_links(self, index: int, numbers: Sequence[int]) -> Sequence[int]:
        divided = self.divide(index)
        if divided is None:
            return numbers
        main = [number for number in numbers if divided.parts[number].kind != "aside"]
        texts = ("".join(divided.parts[n].text for n in each) for each in (numbers, main))
        whole, rest = map(self.count_terms, texts)
        return main if main and rest == whole else numbers

    def count_terms(self, text: str) -> int:
        """Return how many terms of the query a text holds."""
        return len(self._words.count(split_words(text)))

    def passages_in(self, chunk: RankedChunk) -> range:
        """Return the numbers of the item's passages that lie in a chunk, in whole or in part."""
        starts = self._starts(chunk.file)
        first = bisect_right(starts, chunk.start) - 1
        return range(first, bisect_right(starts, chunk.end - 1))

    def _divide(self, index: int) -> Pieces | None:
        pieces, (start, end) = super()._divide(index), self._shared_comments[index]
        return pieces.with_first_to_go(start, end) if pieces and end else pieces

    def _find_starts(self, index: int) -> list[int]:
        pieces = self.divide(index)
        if pieces is None:
            return [0]
        return list(accumulate((len(part.text) for part in pieces.parts[:-1]), initial=0))


class Importance(NamedTuple):
    """The importance of files, and the use of names in them."""

    ranks: list[float]
    holders: Mapping[str, int]
    """Word → the number of files that hold it."""


def file_importance(
    items: Sequence[Item], language: Callable[[Item], str | None] = lambda item: item.language
) -> Importance:
    """Return the importance of each item, the greatest for what the others use most.

    Files that are named beside a folder come before all, then the first changes, for somebody has
    asked for them; then a README at the top, and the file that says what the repository is built
    of. Equal items in equal order get equal numbers. With the extra `tree-sitter` a syntax tree
    tells the names that a program defines, else words such as `def` and `struct`.
    """
    if not items:
        return Importance([], {})
    withheld: Counter[str] = Counter()
    texts = [item.content or "" for item in items]
    languages = list(map(language, items))
    about: list[tuple[object, ...]] = []
    for item, text, own in zip(items, texts, languages, strict=True):
        if is_withheld(text):
            withheld.update(set(split_words(text)))
        told = map(item.metadata.get, ("named", "commits_ago", "linguist"))
        about.append((item.path, item.kind, own, *told))
    make = partial(_rank_files, items, languages, withheld)
    found = recall_last("importance", texts, about, make, tuple[list[float], dict[str, int]])
    ranks, holders = found
    if withheld:
        withheld.update(holders)
        holders = withheld
    return Importance(ranks, holders)


class _File(NamedTuple):
    item: Item
    text: str
    path: str
    """Below the folder that all lie in."""
    role: Role
    language: str | None
    is_program: bool

    def is_matter(self, is_book: bool) -> bool:
        """Tell whether it is of what a repository is about: programs, or a book's documents."""
        return self.language in _PROSE if is_book else self.is_program

    def weight(self, is_book: bool) -> float:
        """Return the weight of a file, before others use it."""
        is_matter = self.is_matter(is_book)
        weight = 1.0 if is_matter else DATA_WEIGHT
        if is_matter and self.role == "main":
            weight = MAIN_WEIGHT
        if self.role == "picture" or (self.item.kind == "code" and self.role == "manual"):
            return weight * TEST_WEIGHT
        return weight


def _rank_files(
    items: Sequence[Item], languages: Sequence[str | None], withheld: Collection[str]
) -> tuple[list[float], dict[str, int]]:
    """Return the ranks of files, and the number of those that hold a word and are not withheld.

    A word of one file is left out; the number of files is 1 for any word.
    """
    paths, roles = roles_of(items)
    files = [
        _File(item, item.content or "", path, role, own, _is_program(item, own))
        for item, path, role, own in zip(items, paths, roles, languages, strict=True)
    ]
    links, holders = _link(files)
    programs, prose = (
        sum(
            len(file.text)
            for file in files
            if file.role in ("", "main", "manual") and file.is_matter(is_book)
        )
        for is_book in (False, True)
    )
    is_book = prose > BOOK_FACTOR * programs or not _BOOK_SETTINGS.isdisjoint(paths)
    weights = [file.weight(is_book) for file in files]
    asides = find_asides(paths, roles)
    for number in asides:
        weights[number] *= TEST_WEIGHT
    ranks, seen = _page_rank(links, weights), Counter[str]()
    for number, (file, weight) in enumerate(zip(files, weights, strict=True)):
        ranks[number] *= min(1.0, weight) * (1 + _lately(file.item))
        if number in asides:
            ranks[number] *= ASIDE_SHARE
        if file.path:  # the pages of a document: one of 500 would take all the room
            ranks[number] /= 1 + seen[file.path]
            seen[file.path] += 1
    most = max(ranks)
    changes = [
        number
        for number, file in enumerate(files)
        if file.item.kind in CHANGE_KINDS and file.role != "patch"
    ]
    first_changes = {*changes[:MAX_CHANGES_NAMED]}
    for number, file in enumerate(files):
        if file.item.metadata.get("named") is True:
            ranks[number] = 3 * most
        elif number in first_changes:
            ranks[number] = 2 * most
        elif file.role == "entry":
            ranks[number] += most
        elif file.role == "manifest":
            ranks[number] = most
    return ranks, {word: n for word, n in holders.items() if n > 1 or word in withheld}


def _is_program(item: Item, language: str | None) -> bool:
    if item.kind in _NO_PROGRAM_KINDS or language in _LOOKS:
        return False
    return item.kind == "code" or language is None or is_program(item.kind, language)


def _lately(item: Item) -> float:
    age = item.metadata.get("commits_ago")
    if not isinstance(age, int) or not 0 <= age < 1 << 31:  # a caller's own key, perhaps
        return 0.0
    return LATELY_WEIGHT * COMMITS_HALVED / (COMMITS_HALVED + age)


def _link(files: Sequence[_File]) -> tuple[list[dict[int, float]], Mapping[str, int]]:
    """Return for each file the files that it uses, with the share of its rank for each.

    Also return the number of files that hold each word, but for those that are withheld.
    """
    index = _Index([file.item.path or "" for file in files])
    telling = {
        name: held for name, held in _definitions(files).items() if len(held) <= MAX_DEFINING_FILES
    }
    found_anywhere = set(filter(_SEAM.search, telling))
    # Files of one package import nothing: there `Engine` is found by its name alone.
    capitalized = {name for name in telling if name[0].isupper()}
    holders: Counter[str] = Counter()
    defined: list[set[str]] = [set() for _ in files]
    for name, held in telling.items():
        for number in held:
            defined[number].add(name)
    links = []
    for number, file in enumerate(files):
        imported = _named_in(file, index) - {number}
        weights = dict.fromkeys(sorted(imported), IMPORT_WEIGHT)
        words = set(split_words(file.text))
        if not is_withheld(file.text):
            holders.update(words)
        used = words & found_anywhere
        in_package = file.language in _PACKAGE_LANGUAGES
        if in_package:
            used |= words & capitalized
        used.update(*(words & defined[other] for other in imported))
        # Sorted: sums of fractions depend on their order.
        for name in sorted(used - defined[number]):
            held = telling[name]
            share = (0.1 if name[0] == "_" else 1.0) / len(held)
            anywhere = in_package or name in found_anywhere
            for other in held if anywhere else imported.intersection(held):
                weights[other] = weights.get(other, 0.0) + share
        total = max(MIN_LINKS_WEIGHT, sum(weights.values()))
        links.append({other: weight / total for other, weight in weights.items()})
    return links, holders


def _named_in(file: _File, index: "_Index") -> set[int]:
    path = file.item.path or ""
    if file.is_program:
        quoted = file.language != "python"
        about = "imports", index.listed, path, quoted
        make = partial(index.imported, file.text, path, quoted=quoted)
        return recall(file.text, about, make, set[int])
    return index.linked(file.text, path) if file.language in _PROSE else set()


def _definitions(files: Sequence[_File]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    left = MAX_CHARACTERS_TAGGED
    for number, file in enumerate(files):
        if not file.is_program:
            continue
        left -= len(file.text)
        about = "names", file.language, left >= 0
        find = partial(_defined_names, file.text, file.language, tagged=left >= 0)
        for name in recall(file.text, about, find, set[str]):
            if len(name) >= MIN_NAME_CHARACTERS:
                found[name].append(number)
    return found


def _defined_names(text: str, language: str | None, *, tagged: bool) -> set[str]:
    names = defined_names(text, language) if tagged else None
    return {*DEFINING_WORD.findall(freeze(f"\n{text}"))} if names is None else {*names}


class _Index:
    def __init__(self, paths: Sequence[str]) -> None:
        self._by_path: dict[str, list[int]] = defaultdict(list)
        """Path without suffix → files; a folder's is that of its `__init__` or `index`."""
        # A monorepo has thousands of `utils`: a path is found by two names, or stands at the top.
        self._by_two: dict[tuple[str, ...], list[str]] = defaultdict(list)
        self._at_top: dict[str, list[str]] = defaultdict(list)
        said = repr(paths).encode("utf-8", "surrogatepass")
        self.listed = blake2b(said, digest_size=16).hexdigest()
        """The hash of all paths: they decide what an import names."""
        self._find = cache(self._find_anew)  # the files of a folder import the same ones
        for number, path in enumerate(paths):
            folder, name = posixpath.split(path)
            stem = name.partition(".")[0]
            self._by_path[posixpath.join(folder, stem)].append(number)
            if stem in _OF_FOLDER:
                self._by_path[folder].append(number)
        for path in self._by_path:
            *above, last = path.split("/")
            if above:
                self._by_two[above[-1], last].append(path)
            if {*above} <= _SOURCE_ROOTS:
                self._at_top[last].append(path)

    def imported(self, text: str, path: str, *, quoted: bool) -> set[int]:
        """Return the files that the imports of a program name, as far as they are there.

        Where imports are not `quoted`, such as in Python, a name in quotes is none.
        """
        found: set[int] = set()
        text, folder = freeze(f"\n{text}"), posixpath.dirname(path)
        for name in _quoted_imports(text) if quoted else ():
            *folders, last = name.split("/")  # `acme/net/pool.h`, without its suffix
            parts = *folders, last.partition(".")[0] or last
            found.update(self._find(tuple(filter(None, parts)), folder))
        for module, names in _IMPORT.findall(text):
            held: set[int] = set()
            for name in re.findall(r"(?:^|[(,])\s*(\w+)", names):
                dotted = f"{module}{'' if module.endswith('.') else '.'}{name}"
                held.update(self._find((*_dotted_parts(dotted),), folder))
            found.update(held or self._find((*_dotted_parts(module),), folder))
            if names and held:
                found.update(self._find((*_dotted_parts(module),), folder))
        return found

    def linked(self, text: str, path: str) -> set[int]:
        """Return the files that a document's links name."""
        folder = posixpath.dirname(path)
        names = (posixpath.normpath(posixpath.join(folder, name)) for name in _LINK.findall(text))
        found = (self._by_path.get(posixpath.splitext(name)[0], ()) for name in names)
        return {number for numbers in found for number in numbers}

    def _find_anew(self, parts: tuple[str, ...], folder: str) -> Sequence[int]:
        if parts and parts[0] in (".", ".."):
            place = posixpath.normpath(posixpath.join(folder, *parts))
            return self._by_path.get("" if place == "." else place, ())
        # The last parts may be names within a file: `use crate::store::Shard`.
        for end in range(len(parts), max(0, len(parts) - 2), -1):
            held = self._find_path(parts[:end], folder)
            if held:
                return held
        return ()

    def _find_path(self, parts: Sequence[str], folder: str) -> Sequence[int]:
        best: list[tuple[int, str]] = []
        beside = posixpath.join(folder, parts[-1])
        near = [beside] if beside in self._by_path else []
        if len(parts) > 1:
            near = self._by_two.get((*parts[-2:],), [])
        for path in (*near, *self._at_top.get(parts[-1], ())):
            names = path.split("/")
            same = 0
            for ours, theirs in zip(reversed(names), reversed(parts), strict=False):
                if ours != theirs:
                    break
                same += 1
            above = names[: len(names) - same]
            # `import json` is not `trimming/json.py`, unless that stands beside or at the top.
            whole = same == len(parts) and (len(parts) > 1 or posixpath.dirname(path) == folder)
            if whole or {*above} <= _SOURCE_ROOTS:
                best.append((same, path))
        if not best:
            return ()
        most = max(same for same, _ in best)
        nearest = max(
            (path for same, path in best if same == most),
            key=lambda path: (len(posixpath.commonprefix([path, folder + "/"])), path),
        )
        return self._by_path[nearest]


def _quoted_imports(text: str) -> list[str]:
    names = [
        named[1]
        for named in _QUOTED_IMPORT.finditer(text)
        if not _QUOTE.search(text, text.rfind("\n", 0, named.start()), named.start())
    ]
    return names + _LISTED_IMPORT.findall(text)


def _dotted_parts(name: str) -> list[str]:
    """Return the parts of `..kinds.find`, `std::io` or `com.acme.Pool`; dots in front go up."""
    bare = name.lstrip(".")
    ups = len(name) - len(bare)
    parts = [part for part in re.split(r"[.:\\]+", bare) if part]
    if parts and parts[0] in ("crate", "self", "super"):
        del parts[0]
    if ups:
        return [".", *[".."] * (ups - 1), *parts]
    return parts


def _page_rank(links: Sequence[Mapping[int, float]], weights: Sequence[float]) -> list[float]:
    """Return the rank of each file; `links` give the share of its rank for each other file.

    `weights` share out the rank that no link passes on.
    """
    total = sum(weights)
    start = [weight / total for weight in weights]
    ranks = start
    rest = [max(0.0, 1 - sum(targets.values())) for targets in links]
    linking = [(number, [*targets.items()]) for number, targets in enumerate(links) if targets]
    for _ in range(ROUNDS):
        # What a file does not pass on to others goes to all.
        given_to_all = 1 - DAMPING + DAMPING * sum(map(mul, ranks, rest))
        passed = [given_to_all * share for share in start]
        for number, targets in linking:
            given = DAMPING * ranks[number]
            for other, weight in targets:
                passed[other] += given * weight
        ranks = passed
    return ranks
