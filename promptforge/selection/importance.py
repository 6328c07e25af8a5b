"""Rank the files of a repository without a query: by imports and names that files use.

PageRank (Brin and Page 1998): a file passes its rank on to the files that it imports, and to those
that define the names it uses. So what many files use, and what those use, comes first. Tests and
data come after programs, what changed lately before what is as old as the repository.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from ..model import Item
from ..trimming.code import defined_names
from ..trimming.kinds import is_program

DAMPING = 0.85
"""Share of its rank that a file passes on; the usual figure."""
ROUNDS = 30
"""Rounds of passing on; after 30 of them 0.85**30 < 1 % of the first guess is left."""
MAX_DEFINING_FILES = 8
"""A name that more files define, such as `main`, points at none of them."""
MIN_NAME_CHARACTERS = 4
"""Shorter names are mostly words of the language, or counters."""
IMPORT_WEIGHT = 3.0
"""Weight of an import beside that of one name."""
MIN_LINKS_WEIGHT = 2 * IMPORT_WEIGHT
"""Of links of less weight together, a file passes on a part of its rank only."""
DATA_WEIGHT = 0.1
"""Rank of a file that is no program beside that of a program."""
TEST_WEIGHT = 0.1
"""The same of a test, an example, a program of the manual or a file that was copied in."""
LATELY_WEIGHT, COMMITS_HALVED = 0.5, 20
"""Rank that the newest change adds, as a share; after so many commits half of it is left."""
MAX_CHARACTERS_TAGGED = 4 << 20
"""Characters of a repository that are parsed for names; in the rest, patterns find them."""

_NAME = re.compile(rf"[^\W\d]\w{{{MIN_NAME_CHARACTERS - 1},}}")
_DEFINITION = re.compile(
    r"\b(?:def|class|func|fn|function|interface|struct|trait|enum|type|record|module|macro)\s+"
    rf"([^\W\d]\w{{{MIN_NAME_CHARACTERS - 1},}})"
)
# A plain word, such as `items`, is found in any prose; a name with a seam is not.
_SEAM = re.compile(r"[^_]_[^_]|[a-z0-9][A-Z]")
_QUOTED_IMPORT = re.compile(
    r"^[^\n\"'<]{0,200}\b(?:from|import|require\w*|include)\b[\s(]{0,3}[\"'<]([\w@./~+-]{1,200})"
    r"|^[ \t]*(?:[\w.]+[ \t]+)?\"([\w.-]+(?:/[\w.-]+)+)\"[ \t]*$",
    re.MULTILINE,
)
_IMPORT = re.compile(
    r"^[ \t]*(?:pub(?:\([^)\n]*\))?[ \t]+)?(?:from|import|use|mod|using|open)[ \t]+"
    r"(?:static[ \t]+)?([\w.:\\]{1,200})(?:[ \t]+import[ \t]+(\([^)]{1,2000}\)|[^\n(]{1,300}))?",
    re.MULTILINE,
)
_TEST_PATH = re.compile(
    r"(?i)(?:^|/)(?:tests?|__tests__|specs?|testing|testdata|fixtures|examples?|samples?"
    r"|bench(?:mark)?s?|vendor|third_party|node_modules)/"
    r"|(?:^|/)test_[^/]*$|[._-](?:test|tests|spec)\.[^/.]+$"
)
_MANUAL_PATH = re.compile(r"(?i)docs?/")
"""The place of programs that make a manual."""
_ENTRY_PATH = re.compile(r"(?i)readme(\.\w+)?")
_NO_PROGRAM_KINDS = frozenset({"commit", "diff", "document", "file"})
"""Among them `file`: YAML, for one, is shortened like a program, and is none."""
_OF_FOLDER = frozenset({"__init__", "index", "mod", "lib"})
"""Stems of files that stand for their folder."""
_SOURCE_ROOTS = frozenset({"src", "lib", "python"})


def file_importance(
    items: Sequence[Item], language: Callable[[Item], str | None] = lambda item: item.language
) -> list[float]:
    """Return the importance of each item, the greatest for what the others use most.

    A README at the top comes before all. Equal items in equal order get equal numbers. With the
    extra `tree-sitter` a syntax tree tells the names that a program defines, else words such as
    `def` and `struct`.
    """
    if not items:
        return []
    links = _link(items, language)
    weights = [_weight(item, language(item)) for item in items]
    ranks = _page_rank(links, weights)
    for number, (item, weight) in enumerate(zip(items, weights, strict=True)):
        ranks[number] *= min(1.0, weight) * (1 + _lately(item))
    most = max(ranks)
    for number, item in enumerate(items):
        if _ENTRY_PATH.fullmatch(item.path or ""):
            ranks[number] += most
    return ranks


def _is_program(item: Item, language: str | None) -> bool:
    if item.kind in _NO_PROGRAM_KINDS:
        return False
    return item.kind == "code" or language is None or is_program(item.kind, language)


def _weight(item: Item, language: str | None) -> float:
    program, path = _is_program(item, language), item.path or ""
    weight = 1.0 if program else DATA_WEIGHT
    beside = _TEST_PATH.search(path) or (program and _MANUAL_PATH.match(path))
    return weight * TEST_WEIGHT if beside else weight


def _lately(item: Item) -> float:
    age = item.metadata.get("commits_ago")
    if not isinstance(age, int) or not 0 <= age < 1 << 31:  # a caller's own key, perhaps
        return 0.0
    return LATELY_WEIGHT * COMMITS_HALVED / (COMMITS_HALVED + age)


def _link(items: Sequence[Item], language: Callable[[Item], str | None]) -> list[dict[int, float]]:
    """Return for each file the files that it uses, with the share of its rank for each."""
    files = _Files([item.path or "" for item in items])
    telling = {
        name: held
        for name, held in _definitions(items, language).items()
        if len(held) <= MAX_DEFINING_FILES
    }
    links = []
    for number, item in enumerate(items):
        text = item.content or ""
        imported: set[int] = set()
        if _is_program(item, language(item)):
            imported = files.imported(text, item.path or "") - {number}
        weights = dict.fromkeys(sorted(imported), IMPORT_WEIGHT)
        # Sorted: sums of fractions depend on their order.
        for name in sorted({*_NAME.findall(text)} & telling.keys()):
            held = telling[name]
            if number in held:
                continue
            share = (0.1 if name[0] == "_" else 1.0) / len(held)
            for other in held:
                if other in imported or _SEAM.search(name):
                    weights[other] = weights.get(other, 0.0) + share
        total = max(MIN_LINKS_WEIGHT, sum(weights.values()))
        links.append({other: weight / total for other, weight in weights.items()})
    return links


def _definitions(
    items: Sequence[Item], language: Callable[[Item], str | None]
) -> dict[str, list[int]]:
    """Return the programs that define each name."""
    found: dict[str, list[int]] = defaultdict(list)
    left = MAX_CHARACTERS_TAGGED
    for number, item in enumerate(items):
        if not _is_program(item, language(item)):
            continue
        text = item.content or ""
        left -= len(text)
        names = defined_names(text, language(item)) if left >= 0 else None
        if names is None:
            names = {*_DEFINITION.findall(text)}
        for name in names:
            if len(name) >= MIN_NAME_CHARACTERS:
                found[name].append(number)
    return found


class _Files:
    """The files of a repository, found by what an import names."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._by_path: dict[str, list[int]] = defaultdict(list)
        """Path without suffix → files; a folder's is that of its `__init__` or `index`."""
        # A monorepo has thousands of `utils`: a path is found by two names, or stands at the top.
        self._by_two: dict[tuple[str, ...], list[str]] = defaultdict(list)
        self._at_top: dict[str, list[str]] = defaultdict(list)
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

    def imported(self, text: str, path: str) -> set[int]:
        """Return the files that the imports of a program name, as far as they are there."""
        found: set[int] = set()
        for quoted, listed in _QUOTED_IMPORT.findall(text):
            found.update(self._find(_quoted_parts(quoted or listed), path))
        for module, names in _IMPORT.findall(text):
            held: set[int] = set()
            for name in re.findall(r"(?:^|[(,])\s*(\w+)", names):
                dotted = f"{module}{'' if module.endswith('.') else '.'}{name}"
                held.update(self._find(_dotted_parts(dotted), path))
            found.update(held or self._find(_dotted_parts(module), path))
            if names and held:
                found.update(self._find(_dotted_parts(module), path))
        return found

    def _find(self, parts: list[str], path: str) -> Sequence[int]:
        folder = posixpath.dirname(path)
        if parts and parts[0] in (".", ".."):
            place = posixpath.normpath(posixpath.join(folder, *parts))
            return self._by_path.get("" if place == "." else place, ())
        # The last parts may be names within a file: `use crate::store::Shard`.
        for end in range(len(parts), max(0, len(parts) - 2), -1):
            if held := self._find_path(parts[:end], folder):
                return held
        return ()

    def _find_path(self, parts: list[str], folder: str) -> Sequence[int]:
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


def _quoted_parts(name: str) -> list[str]:
    """Return the parts of `./items.js` or `acme/net/pool.h`, without a suffix."""
    *folders, last = name.split("/")
    return [part for part in [*folders, last.partition(".")[0] or last] if part]


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
    for _ in range(ROUNDS):
        # What a file does not pass on to others goes to all.
        spread = sum(rank * left for rank, left in zip(ranks, rest, strict=True))
        passed = [(1 - DAMPING + DAMPING * spread) * share for share in start]
        for rank, targets in zip(ranks, links, strict=True):
            for other, weight in targets.items():
                passed[other] += DAMPING * rank * weight
        ranks = passed
    return ranks
