"""Load text files: code and others (`--file`), and documents (`--doc`), with their languages.

A search of files by BM25 stands here too, over the same words by which items are ranked, for users
without a vector store.

Codes: PF203, PF205 front matter that had to be changed or cannot be read, PF601 a match of a
pattern that cannot be read, PF604 one that is no text, PF605 a range past the end, PF608
files of a pattern that a search passed over, PF611 a notebook that became Markdown.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import msgspec
from msgspec.structs import replace

from .. import yaml_reader
from ..errors import Diagnostics, ItemError, ProfileError, quote
from ..files import is_pattern
from ..files.access import Access, StrPath, show_path
from ..files.memory import note_beginning
from ..model import Item
from ..plain_data import copy_plain
from ..text.format import plural
from ..text.languages import DATA_LANGUAGES, is_code, language_of, language_of_text
from ..text.words import (
    inverse_document_frequency,
    late_pattern,
    split_words,
    term_shares,
    terms_of_text,
    terms_of_word,
)
from .documents import document_items, part_word
from .folders import (
    ALL_FILES,
    FolderFilter,
    LeftOut,
    Progress,
    is_earlier_output,
    items_without_secrets,
    read_folder,
    read_wanted,
    report_left_out,
)
from .git import commits_since_change
from .notebook import read_notebook
from .workspace import BinaryFileError, expand_pattern, is_stream, read_named, read_text

# `a.py:1-3,9-12`, as some tools write it: the message says to write two.
_SEVERAL = late_pattern(
    r"(?s:(.+?)):([0-9]{1,9}-?[0-9]{0,9}),([0-9]{1,9}-?[0-9]{0,9})(?:,[0-9,-]*)?"
)
# The path is greedy: `C:\\a.py:3` has its range behind the last colon.
_RANGE = late_pattern(r"(?s:(.+)):([0-9]{1,9})(?:-([0-9]{0,9}))?:?")
# `a.py#L3-L9` in an address of a repository; some name columns, too: `#L3C1-L9C4`.
_ANCHOR = late_pattern(r"(?s:(.+))#L([0-9]{1,9})(?:C[0-9]+)?(?:-L?([0-9]{1,9})(?:C[0-9]+)?)?")
# The closing line stands alone; blank lines behind it belong to it.
_FRONT_MATTER = late_pattern(
    r"---[ \t]*\r?\n(.*?)(?<=\n)(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)(?:[ \t]*\r?\n)*", re.DOTALL
)


def load_files(
    spec: str,
    *,
    workspace: StrPath,
    diagnostics: Diagnostics,
    context_lines: int = 0,
    wanted: FolderFilter = ALL_FILES,
    stream_name: str | None = None,
    progress: Progress | None = None,
) -> list[Item]:
    """Return the items of one `--file`: `code` for programs, `diff`, `log`, else `file`.

    `spec` is `PATH`, `PATH:LINE`, `PATH:START-END`, `PATH#L3-L9`, a pattern such as `src/**/*.py`,
    or a folder: of this the `wanted` files are read; their metadata `commits_ago` tells when git
    saw the last change, and `linguist` what `.gitattributes` says of a file. Lines count from 1,
    both ends included; `PATH:12-` is all from there on, a column (`PATH:3:7`) is passed over.
    Documents have pages, slides or sheets in place of lines, and an item for each. `context_lines`
    more are taken on either side, as far as the file goes, and the range says so. A whole file has
    no range. The line end that closes the text is left out. Of `-`, standard input, and
    `/dev/fd/63`, a shell's `<(command)`, the path is `stream_name`.

    Raises `ItemError` when a named file cannot be read, a pattern matches nothing, or a range lies
    outside the file.
    """
    if is_stream(spec):
        text, _ = read_named(spec, workspace=None, diagnostics=diagnostics)
        return [file_item(stream_name or "standard input", text, said=diagnostics)]
    path, start, end = split_range(spec, workspace)
    if start is None and os.path.isdir(Access.of(workspace).locate(path)):
        near: Any = {"workspace": workspace, "diagnostics": diagnostics}
        return list(_load_folder(path, wanted=wanted, progress=progress, **near))

    def load(name: str, said: Diagnostics) -> list[Item]:
        text = read_text(name, workspace=workspace, diagnostics=said)
        place = name.removeprefix("./")  # as `find` writes it; a folder's files have none
        if start is None:
            return file_items(place, text, said)
        part = part_word(name)
        lines = text.split("\f") if part else split_lines(text)
        unit, last = part or "line", len(lines)
        if start > last:
            message = f"{unit} {start} lies past the end; the last {unit} is {last}"
            raise ItemError(message, where=show_path(name))
        if end is not None and end > last:
            message = f"{unit} {end} lies past the end; the last {unit} is {last}"
            said.add("PF605", message, where=show_path(name))
        elif end is not None:
            last = min(last, end + max(0, context_lines))
        first = max(1, start - max(0, context_lines))
        if part:
            return [item for at, item in document_items(place, text) if first <= at <= last]
        return [file_item(place, "".join(lines[first - 1 : last]), first, last)]

    return _load_each(path, workspace, diagnostics, load, wanted)


def _load_folder(
    path: str,
    *,
    workspace: StrPath,
    diagnostics: Diagnostics,
    wanted: FolderFilter,
    progress: Progress | None,
) -> Iterator[Item]:
    ages = commits_since_change(Access.of(workspace).locate(path))
    lead = os.path.join(os.path.normpath(path), "").removeprefix(f".{os.sep}")
    marks: dict[str, dict[str, bool]] = {}
    near: Any = {"workspace": workspace, "diagnostics": diagnostics, "progress": progress}
    for name, text, said in read_folder(path, wanted=replace(wanted, marks=marks), **near):
        about: dict[str, Any] = {"commits_ago": ages.get(name.removeprefix(lead))}
        about["linguist"] = marks.get(name) or None
        about = {key: value for key, value in about.items() if value is not None}
        items = file_items(name, text, said)
        if name.endswith(".ipynb"):  # in its JSON a backslash stood before each quote
            items = items_without_secrets(items, name, diagnostics, wanted)
        for item in items:
            note_beginning(item.content or "", text)
            yield replace(item, metadata={**item.metadata, **about})
        diagnostics.extend(said)


def is_text_source(path: str, workspace: StrPath) -> bool:
    """Tell whether a path is a folder, some lines of a file, or one that by its name is a text."""
    if is_stream(path):
        return False
    if path.endswith(".ipynb"):  # its cells are no records
        return True
    try:
        path, start, _ = split_range(path, workspace)
    except ItemError:  # said where the file is read
        return True
    if start is not None or part_word(path) or language_of(path) not in DATA_LANGUAGES:
        return _exists(path, workspace)
    return os.path.isdir(os.path.join(workspace, path))


def load_documents(path: str, *, workspace: StrPath, diagnostics: Diagnostics) -> list[Item]:
    """Return the document at `path`, or all that match a pattern, as items of kind `document`.

    The name is the file's. Front matter, YAML between `---` lines at the very top, is taken off the
    content and becomes metadata; if it is no YAML it stays in the content, and that is said. Raises
    `ItemError` when the file cannot be read, or a pattern matches nothing.
    """

    def load(name: str, said: Diagnostics) -> list[Item]:
        text = read_text(name, workspace=workspace, diagnostics=said)
        if part_word(name):
            return file_items(name, text, said)
        metadata, body = _split_front_matter(text, show_path(name), said)
        content = body.removesuffix("\n").removesuffix("\r")
        title = name.replace(os.sep, "/").rpartition("/")[2]
        return [Item(kind="document", content=content, path=name, name=title, metadata=metadata)]

    return _load_each(path, workspace, diagnostics, load)


def _load_each(
    path: str,
    workspace: StrPath,
    diagnostics: Diagnostics,
    load: Callable[[str, Diagnostics], list[Item]],
    wanted: FolderFilter = ALL_FILES,
) -> list[Item]:
    """Load a file, or all that match a pattern; matches that fail are skipped, and said."""
    if not is_pattern(path) or _exists(path, workspace):
        return load(path, diagnostics)
    items: list[Item] = []
    for name in expand_pattern(path, workspace=workspace, diagnostics=diagnostics):
        if is_earlier_output(os.path.realpath(os.path.join(workspace, name)), wanted):
            continue
        said = Diagnostics()
        try:
            items += load(name, said)
        except BinaryFileError as exc:  # a picture that the pattern happened to catch
            diagnostics.add("PF604", f"skipped: {exc.bare}", where=exc.where)
            continue
        except ItemError as exc:
            said.add("PF601", f"skipped: {exc.bare}", where=exc.where)
        diagnostics.extend(tuple(said))
    return items


def _exists(path: str, workspace: StrPath) -> bool:
    return os.path.lexists(os.path.join(workspace, path))


def split_range(spec: str, workspace: StrPath) -> tuple[str, int | None, int | None]:
    """Return path, first and last line (`None`: to the end); a file of the whole name wins."""
    if _exists(spec, workspace):
        return spec, None, None
    found = _ANCHOR.fullmatch(spec) or _RANGE.fullmatch(spec)
    if found is None:
        several = _SEVERAL.fullmatch(spec)
        if several:
            message = f"one range each: {several[1]}:{several[2]} and {several[1]}:{several[3]}"
            raise ItemError(message, where=show_path(spec))
        return spec, None, None
    inner = _RANGE.fullmatch(found[1])
    if inner and not _exists(found[1], workspace) and _exists(inner[1], workspace):
        found = inner  # `a.py:3:7` of a compiler or of `grep`: the line and the column
    path, first, last = found[1], int(found[2]), found[3]
    end: int | None = first
    if last is not None:  # `12-` is all from there on
        end = int(last) if last else None
    if first < 1 or (end is not None and end < first):
        message = "lines count from 1, and the range ends where it begins or later: PATH:START-END"
        raise ItemError(message, where=show_path(spec))
    return path, first, end


def file_items(path: str, text: str, said: Diagnostics) -> list[Item]:
    """Return the items of a whole file: one, or of a document one for each part with a text."""
    if part_word(path):
        return [item for _, item in document_items(path, text)]
    return [file_item(path, text, said=said)]


def file_item(
    path: str,
    text: str,
    start: int | None = None,
    end: int | None = None,
    *,
    said: Diagnostics | None = None,
) -> Item:
    """Return the item of a file or of some of its lines, without the line end that closes it.

    A whole notebook is read as Markdown, and that is `said`.
    """
    if path.endswith(".ipynb") and start is None:
        notebook = notebook_item(path, text, said)
        if notebook is not None:
            return notebook
    language = language_of_text(path, text)
    kind = "code" if is_code(language) else "file"
    if language == "diff":
        kind = "diff"
    elif path.lower().endswith(".log"):
        kind = "log"
    # One line end, not all: blank lines at the end of a file are part of it.
    line_end = next((e for e in ("\r\n", "\n", "\r") if text.endswith(e)), "")
    text = text.removesuffix(line_end)
    return Item(
        kind=kind, content=text, path=path, language=language, start_line=start, end_line=end
    )


def notebook_item(path: str, text: str, said: Diagnostics | None) -> Item | None:
    """Return the item of a notebook, read as Markdown, which is `said`; None for another text."""
    found = read_notebook(text)
    if found is None:
        return None
    if said is not None:
        message = f"shown as Markdown: {plural(found.cells, 'cell', 'cells')}"
        if found.left_out:
            message += f"; {plural(found.left_out, 'output', 'outputs')} left out, without text"
        if found.unread:
            message += f"; {plural(found.unread, 'cell', 'cells')} whose source is not text"
        said.add("PF611", message, where=show_path(path), severity="info")
    expanded = found.text if found.short != found.text else None
    return Item(kind="file", content=found.short, expanded=expanded, path=path, language="markdown")


def split_lines(text: str) -> list[str]:
    """Return the lines of a text with their ends: LF, CR LF, or CR alone.

    Not `splitlines`, which also splits at form feeds and U+2028, where no editor counts a line.
    """
    lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", text)
    return lines[:-1] if lines[-1] == "" else lines


def _split_front_matter(
    text: str, where: str, diagnostics: Diagnostics
) -> tuple[dict[str, Any], str]:
    found = _FRONT_MATTER.match(text)
    if found is None:
        return {}, text
    try:
        value = yaml_reader.load_yaml(found[1].replace("\r\n", "\n"), where)
    except ProfileError as exc:
        line = int((exc.where or ":1").rpartition(":")[2]) + 1  # below the first `---`
        diagnostics.add("PF205", f"front matter kept as text: {exc.bare}", where=f"{where}:{line}")
        return {}, text
    if not isinstance(value, dict):  # a rule, some prose, another rule
        return {}, text

    def say(change: str) -> None:
        diagnostics.add("PF203", f"front matter: {change}", where=where)

    return copy_plain(value, say), text[found.end() :]


# --- search ---------------------------------------------------------------------------------------

SEARCH_K1, SEARCH_B = 1.5, 0.75
"""BM25's saturation of a word that comes again, and its norm by length: the usual ones."""
MIN_PASSAGE_CHARACTERS, MAX_PASSAGE_CHARACTERS = 800, 3200
"""Characters of a passage: a new one begins at a seam after the least, and anywhere at the most."""


class Search(msgspec.Struct, frozen=True):
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
    place = Access.of(workspace).locate(path)
    # Those of `os.path` say no where the disk fails; reading then names the file and the failure.
    if os.path.isdir(place):
        yield from read_folder(path, workspace=workspace, diagnostics=diagnostics, wanted=wanted)
        return
    if os.path.exists(place) or not is_pattern(path):
        said = Diagnostics()
        text = read_text(path, workspace=workspace, diagnostics=said)
        yield os.path.normpath(path), text, said
        return
    left_out: LeftOut = defaultdict(list)
    for name in expand_pattern(path, workspace=workspace, diagnostics=diagnostics):
        found = read_wanted(name, workspace=workspace)
        if isinstance(found, str):
            left_out[found].append(name)
        else:
            yield os.path.normpath(name), *found
    report_left_out(left_out, path, diagnostics)


def _split_passages(path: str, text: str) -> Iterator[Item]:
    """Yield the passages of a file; a seam is a blank line, before one not indented if possible."""
    if part_word(path):
        yield from (item for _, item in document_items(path, text))
        return
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
