"""Search files for the passages that answer a query, for users without a vector store.

BM25 over the same words by which items are ranked.

Codes: PF608 files of a pattern that were passed over.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import msgspec

from ..errors import Diagnostics, ItemError, quote
from ..model import Item
from ..text.words import (
    inverse_document_frequency,
    split_words,
    term_shares,
    terms_of_text,
    terms_of_word,
)
from .folders import ALL_FILES, FolderFilter, read_folder, report_left_out, unwanted_content
from .text_files import file_item, split_lines
from .workspace import StrPath, expand_pattern, is_pattern, locate_file, read_text, show_path

SEARCH_K1, SEARCH_B = 1.5, 0.75
"""BM25's saturation of a word that comes again, and its norm by length: the usual ones."""
MIN_PASSAGE_CHARACTERS, MAX_PASSAGE_CHARACTERS = 800, 3200
"""Characters of a passage: a new one begins at a seam after the least, and anywhere at the most."""


@dataclass(frozen=True, slots=True)
class Search:
    """A query, and the places to search."""

    query: str
    paths: Sequence[str] = (".",)
    """Files, folders and patterns."""
    wanted: FolderFilter = ALL_FILES
    """The files of folders that are searched."""


def search_files(search: Search, *, workspace: StrPath, diagnostics: Diagnostics) -> list[Item]:
    """Return the passages that hold a word of the query as `similarity` items, the best first.

    `score` is BM25's as a share of the best, so in 0…1. Raises `ItemError` when a path names no
    file, the query is empty, or nothing is found.
    """
    if not search.query.strip():
        raise ItemError("no words to look for", where="search")
    passages: list[Item] = []
    said: dict[str | None, Diagnostics] = {}
    for name, text, told in _read_files(search.paths, search.wanted, workspace, diagnostics):
        said[name] = told
        passages += _split_passages(name, text)
    # The path counts as words of a passage: `auth/login.py` answers "login" in each.
    worths = rank_texts(search.query, [f"{item.path}\n{item.content}" for item in passages])
    found = [index for index, worth in enumerate(worths) if worth > 0]
    found.sort(key=lambda index: -worths[index])  # stable: of equals the earlier comes first
    if not found:
        hint = "search for others, or in other places"
        message = f"no file holds a word of {quote(search.query)}; {hint}"
        raise ItemError(message, where=", ".join(map(show_path, search.paths)))
    # Bad bytes in a file that was searched in vain are nothing to report.
    for path in dict.fromkeys(passages[index].path for index in found):
        diagnostics.extend(tuple(said[path]))
    best = worths[found[0]]
    replace = msgspec.structs.replace
    return [
        replace(passages[index], score=worths[index] / best, origin="similarity") for index in found
    ]


def rank_texts(query: str, texts: Sequence[str]) -> list[float]:
    """Return the BM25 score of each text; 0 where it has no word of the query."""
    wanted = frozenset(terms_of_text(query))
    terms_of = cache(terms_of_word)  # as large as the vocabulary, and gone with this call
    counts, sizes = [], []
    for text in texts:
        count, size = Counter[str](), 0
        for word, times in Counter(split_words(text)).items():
            found = terms_of(word)
            size += times * len(found)
            for term in found:
                if term in wanted:
                    count[term] += times
        counts.append(count)
        sizes.append(size)
    holders = Counter(term for count in counts for term in count)
    weights = {term: inverse_document_frequency(len(texts), n) for term, n in holders.items()}
    mean = max(1.0, sum(sizes) / max(1, len(sizes)))
    scores = []
    for count, size in zip(counts, sizes, strict=True):
        shares = term_shares(count, size / mean, SEARCH_K1, SEARCH_B)
        # `fsum`: exact, so that the order of the words in a text changes no score.
        scores.append(math.fsum(weights[term] * share for term, share in shares))
    return scores


def _read_files(
    paths: Sequence[str], wanted: FolderFilter, workspace: StrPath, diagnostics: Diagnostics
) -> Iterator[tuple[str, str, Diagnostics]]:
    """Yield name, text and diagnostics of each file to search, once.

    Files from folders and patterns are passed over if they are no text or huge.
    """
    seen: set[str] = set()
    failed: list[ItemError] = []
    for path in paths:
        try:
            # A file that is named, in a named folder and in a pattern is searched once.
            for found in _read_place(path, wanted, workspace, diagnostics):
                if found[0] not in seen:
                    seen.add(found[0])
                    yield found
        except ItemError as error:
            failed.append(error)
    if failed and not seen:
        raise failed[0]
    for each in failed:
        diagnostics.add("PF606", f"left out: {each.bare}", where=each.where)


def _read_place(
    path: str, wanted: FolderFilter, workspace: StrPath, diagnostics: Diagnostics
) -> Iterator[tuple[str, str, Diagnostics]]:
    """Yield name, text and diagnostics of each file that a path of the user's stands for."""
    place = locate_file(path, workspace)
    # Those of `os.path` say no where the disk fails; reading then names the file and the failure.
    if os.path.isdir(place):
        yield from read_folder(path, workspace=workspace, diagnostics=diagnostics, wanted=wanted)
        return
    if os.path.exists(place) or not is_pattern(path):
        said = Diagnostics()
        text = read_text(path, workspace=workspace, diagnostics=said)
        yield os.path.normpath(path), text, said
        return
    left_out: Counter[str] = Counter()
    for name in expand_pattern(path, workspace=workspace, diagnostics=diagnostics):
        reason = unwanted_content(name, workspace=workspace)
        if reason is not None:
            left_out[reason] += 1
            continue
        said = Diagnostics()
        yield os.path.normpath(name), read_text(name, workspace=workspace, diagnostics=said), said
    report_left_out(left_out, path, diagnostics)


def _split_passages(path: str, text: str) -> Iterator[Item]:
    """Yield the passages of a file; a seam is a blank line, before one not indented if possible."""
    # Blank lines mark paragraphs and functions; a line that is not indented begins a new one.
    lines = split_lines(text)
    starts, size = [0], 0
    for index, line in enumerate(lines):
        seam = index > 0 and not lines[index - 1].strip() and size >= MIN_PASSAGE_CHARACTERS
        if seam and line[:1].isspace():
            seam = size >= 2 * MIN_PASSAGE_CHARACTERS
        if size and (seam or size + len(line) > MAX_PASSAGE_CHARACTERS):
            starts.append(index)
            size = 0
        size += len(line)
    for start, end in pairwise([*starts, len(lines)]):
        filled = [index for index in range(start, end) if lines[index].strip()]
        if filled:  # without the blank lines at both ends
            first, last = filled[0], filled[-1] + 1
            yield file_item(path, "".join(lines[first:last]), first + 1, last)
