"""List the files of a folder as git sees them, and leave out those that no reader wants.

In a repository git itself is asked, so global excludes count, and tracked dot files are in.
Elsewhere `.gitignore` and `.ignore` are read here. Links are not followed.

Codes: PF601 a folder that cannot be read, PF602 too many names, PF608 files that were left out.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from ..errors import Diagnostics, ItemError, pip_install
from ..files.access import (
    Access,
    HeldFolder,
    StrPath,
    forget_read,
    is_inside,
    is_read,
    note_read_path,
    show_path,
    system_reason,
)
from ..files.marks import is_written_by_us
from ..model import Item
from ..text.format import plural
from ..text.unwanted import GENERATED, LOCKED, MINIFIED, unwanted_name
from ..text.words import late_pattern
from .documents import can_read, is_document
from .git import NEW_FILES, looks_like_git, run_git, work_tree
from .ignored import IgnoreRules, InstalledFolders, is_installed, linguist_marks, tool_rules
from .patterns import name_unmatched, narrow_down
from .secret_scan import SecretScan
from .workspace import (
    MAX_FOLDERS_NESTED,
    MAX_NAMES_VISITED,
    BinaryFileError,
    decode_text,
    read_text,
    too_deep,
)

MAX_LISTED_BYTES = 4 << 20
"""Bytes above which a file that nobody named is left out."""
MAX_NAMES_SHOWN = 3
"""Files that a message names for each reason to leave some out."""
_TRACKED = ("ls-files", "-z", "--cached", "--recurse-submodules")
_UNREADABLE, _NO_TEXT = "unreadable", "without text"
_DOCUMENTS = "documents"
_WRITTEN = "written by this run"
PACKED = "packed from the others"
_LINKS, _DEVICES = "behind a link", "a pipe, socket or device"
_ABSENT = "tracked but missing"
_LFS_POINTERS = "held by Git LFS"
_SUBMODULES, _REPOSITORIES = "in an empty submodule", "in another repository"
_INSTALLED = "installed or built"
_UNWANTED = (LOCKED, MINIFIED, GENERATED, _INSTALLED)
"""Reasons that `--ignored` overrules."""
_REMEDIES = {
    _ABSENT: "git restore, or git sparse-checkout add, brings tracked files back",
    _LFS_POINTERS: "git lfs pull fetches the files of Git LFS",
    _REPOSITORIES: "name another repository to include it",
    _SUBMODULES: "git submodule update --init fetches the files of submodules",
    _UNREADABLE: "name a file to see why it cannot be read",
    # Named they are no text either, and a run does not read what it writes.
    **dict.fromkeys((_NO_TEXT, _DEVICES, _WRITTEN, _DOCUMENTS), ""),
}
"""Reason → what brings the files back; for all others a file is named."""
_PROGRAM_OF_A_PAGE = late_pattern(r"(?i).*\.(js|mjs|cjs|css)")
MIN_MINIFIED_LINE = 4_000
"""Characters of one line near the start of a script or style sheet: a bundler's work."""
MIN_USUAL_LINE = 200
"""The same of half of the lines."""
MIN_SIGNS_OF_CODE = 0.05
"""Share of signs in such a line of code. A picture in base64 in a program has next to none."""
_SIGN_OF_CODE = late_pattern(r"[(){};,:=]")
# The marks that Go's tools and review systems know, C#'s, and the words of other generators, in a
# comment at the top. Rails' schema forbids nothing and is worth reading.
_FORBIDDEN = (  # not `we do not edit`
    r"(?:(?-i:DO NOT (?:EDIT|MODIFY|CHANGE|TOUCH))|should not be edited|[^\w\s\"'`][ \t]*"
    r"(?:please[ \t]+)?do(?:n't| not) (?:edit|modify|change|touch|make (?:direct )?changes))"
)
_MADE = r"\b(?:auto(?:matically)?[- ]?)?generated\b"
_TOOLS = (
    r"(?:auto(?:conf|header|make)|[\w-]*bindgen|coffeescript|pip-compile|swig|happy|alex|antlr|ragel"
    r"|re2c|cython|flex)\b"
)
_GENERATED_HEAD = late_pattern(
    r"(?i)(?:.*\n){0,20}?[ \t]*(?:(?://|#|/?\*|--|;|<!--).*(?:@generated\b|<auto-?generated>)"
    rf"|(?://|#|/?\*|--|;).*(?:{_MADE}(?:.*\n){{0,2}}.*{_FORBIDDEN}"
    rf"|{_FORBIDDEN}(?:.*\n)?.*{_MADE}|generated (?:from .{{1,60}} )?by (?:GNU )?{_TOOLS}"
    r"|\bmade by GNU Bison\b|\bchanges made (?:in|to) this file will be lost))"
)
_WORDS_OF_GENERATED = ("generated", "by gnu b", "be lo")
"""One of them is in each such head: letters that no other letter is like, whatever its case."""

_LFS_BEGINNING = "version https://git-lfs.github.com/spec/"
MAY_BE_PACKED = late_pattern(r"(?i).*\.(md|markdown|txt|xml|json|ya?ml)")
_HEADER = late_pattern(r"(?im)^[ \t]*(?:#|<|(?:- )?(?:file|source|path):).*")
_YAML_KEY = late_pattern(r"(?m)^[ \t]*(?:- )?content: ")
_HEADER_KEYS = ("file", "source", "path")
PATH_IN_HEADER = late_pattern(r"[\w.@+~-]+(?:/[\w.@+~-]+)*")
# The last is of YAML, such as `content: |2-`.
# Marks of earlier versions, too.
_FRAME = late_pattern(
    r"[ \t]*+(?:```|</|.*(?:\[Content truncated\.\.\.\]|\blines? left out\b)"
    r"|(?:- )?\w+:(?: [\w|+\[\]-]+)?$)"
)
_LINE_NUMBER = late_pattern(r"(?m)^[^\S\n]*\d+[:|\t ]")
_NO_LETTERS = late_pattern(r"[^\w\n]+")
MIN_PACKED_SHARE, MIN_PACKED_OF_ONE = 0.75, 0.95
"""Share of a text that is lines of the files its headers name, above which it is packed of them:
of several, or of one, as a part of `--split` may be. Outlines had 0.83 and more, manuals up to 0.4.
"""


class FolderFilter(msgspec.Struct, frozen=True):
    """The files of a folder that are wanted, in patterns as of `.gitignore`."""

    include: Sequence[str] = ()
    """Files that match none of these are left out; what matches is wanted, generated or not."""
    exclude: Sequence[str] = ()
    ignored: bool = False
    """Take what git ignores, and lock files, minified and generated ones."""
    hidden: bool = False
    """Take dot files that git does not track."""
    secret_scan: bool = True
    """Mask credentials in files and changes, or leave these out."""
    secret_allowlist: Sequence[str] = ()
    """Credentials that are none, as they stand in a file."""
    scan: SecretScan | None = None
    """Collects the credentials of all sources of a run."""
    listed: list[str] | None = None
    """Collects the paths of files that a folder has and that are not read, for a tree of all."""
    written: re.Pattern[str] | None = None
    """Real paths that the run writes: a text that reads its last self is filled by it."""
    printed: Container[tuple[int, int]] = ()
    """Device and inode of files that the shell has opened for the run: `render . > all.md`."""
    matched: dict[tuple[str, str], bool] | None = None
    """Collects flag and pattern → whether it matches a file of any folder."""
    marks: dict[str, dict[str, bool]] | None = None
    """Collects path → what `.gitattributes` says of the file, as `{"vendored": True}`."""
    below: str = ""
    """The file, or the folder of those, that are taken; the rules of the whole folder stand."""
    max_chars: int = sys.maxsize
    """Characters of all texts together; more are an error."""

    def list_unread(self, path: str, left_out: Mapping[str, Iterable[str]]) -> None:
        """Put files of a folder that are there and not read into `listed`, whole folders aside."""
        for reason, names in left_out.items():
            if self.listed is not None and reason not in (_WRITTEN, PACKED, _ABSENT):
                files = (name for name in names if not name.endswith("/"))
                self.listed.extend(os.path.normpath(os.path.join(path, name)) for name in files)


ALL_FILES = FolderFilter()
LeftOut = defaultdict[str, list[str]]
"""Reason → the names of the files that were left out for it."""
Progress = Callable[[int, int], None]
"""Called with the number of files that have been read, and the number of all."""


def read_folder(
    path: str,
    *,
    workspace: StrPath,
    diagnostics: Diagnostics,
    wanted: FolderFilter = ALL_FILES,
    progress: Progress | None = None,
) -> Iterator[tuple[str, str, Diagnostics]]:
    """Yield name, text and diagnostics of each wanted file in a folder, sorted by name.

    Files without text and huge ones are left out, and said in one line. So are lock files, minified
    and generated ones, but for those that `include` or `ignored` ask for. Nothing is opened before
    the names are filtered. Raises `ItemError` where the folder lies outside the workspace, or has
    no file that is wanted.
    """
    left_out: LeftOut = defaultdict(list)
    folder = Access.of(workspace).locate(path)
    top = os.fspath(folder)
    names = _list_folder(folder, diagnostics, wanted, left_out, path, workspace)
    may_be_written = names if wanted.written else ()
    named = {*filter(lambda name: is_read(os.path.join(top, name)), may_be_written)}  # by itself
    read: list[tuple[str, str, Diagnostics]] = []
    room = wanted.max_chars
    near: Any = {"workspace": workspace, "wanted": wanted, "progress": progress}
    for found in _read_names(names, folder, path, left_out, **near):
        read.append(found)
        room -= len(found[1])
        if room < 0:
            message = f"more than {wanted.max_chars:,} characters; narrow the pattern"
            raise ItemError(message, where=show_path(path))
    packed = _leave_out_packed(read, path, wanted, left_out, top)
    for name in {*left_out.get(_WRITTEN, ())} - named:
        forget_read(os.path.join(top, name))
    for place, text, said in read:
        if place in packed:
            continue
        clean = without_secrets(text, place, diagnostics, wanted)
        if clean is not None:
            yield place, clean, said
    report_left_out(left_out, path, diagnostics)
    wanted.list_unread(path, left_out)
    if not read:
        raise _nothing_read(path, top, wanted, left_out)


def _read_names(
    names: Sequence[str],
    folder: Path,
    path: str,
    left_out: LeftOut,
    *,
    workspace: StrPath,
    wanted: FolderFilter,
    progress: Progress | None,
) -> Iterator[tuple[str, str, Diagnostics]]:
    top, folders, held = os.fspath(folder), dict[str, str](), HeldFolder()
    base, marks = Path(os.path.realpath(workspace)), None
    if not wanted.ignored:
        marks = linguist_marks(folder, base, names)
    asked_for = bool(wanted.include) or wanted.ignored
    for number, name in enumerate(names):
        if progress is not None:
            progress(number, len(names))
        place = os.path.normpath(os.path.join(path, name))
        if is_earlier_output(os.path.join(top, name), wanted):
            left_out[_WRITTEN].append(name)
            continue
        marked = marks(name) if marks else {}
        if marked and wanted.marks is not None:
            wanted.marks[place] = marked
        is_wanted = asked_for or marked.get("generated") is False
        reason = None
        if not is_wanted:
            reason = GENERATED if marked.get("generated") else unwanted_name(name)
        real = _real_place(top, name, folders)
        near: Any = {"workspace": workspace, "real": real, "held": held}
        found = reason or read_wanted(place, asked_for=is_wanted, **near)
        if isinstance(found, str):
            left_out[found].append(name)
        else:
            yield place, *found
    held.close()


def is_earlier_output(real: str, wanted: FolderFilter) -> bool:
    """Tell whether a file is written by this run, and holds what an earlier run wrote there.

    Any other file of that name is a source like all others: it is read, and not written over. One
    that the shell has opened for the run's output is empty by now, or grows as it is read.
    """
    if wanted.printed:
        with contextlib.suppress(OSError):
            state = os.stat(real)
            if (state.st_dev, state.st_ino) in wanted.printed:
                return True
    if not (wanted.written and wanted.written.fullmatch(real)):
        return False
    if is_written_by_us(real):
        return True
    note_read_path(real)  # a lock file too, which nobody opens
    return False


def _leave_out_packed(
    read: list[tuple[str, str, Diagnostics]],
    path: str,
    wanted: FolderFilter,
    left_out: LeftOut,
    top: str,
) -> set[str]:
    """Return the paths of files that were packed of the others, and put them into `left_out`."""
    asked_for = bool(wanted.include) or wanted.ignored
    packed: set[str] = set()
    if asked_for and wanted.written is None:
        return packed
    for place in sorted(find_packed([each[:2] for each in read])):
        name = os.path.relpath(place, path)
        real = os.path.join(top, name)
        is_written = bool(wanted.written and wanted.written.fullmatch(real))
        if asked_for and not is_written:
            continue
        packed.add(place)
        left_out[_WRITTEN if is_written else PACKED].append(name)
    return packed


def _nothing_read(path: str, top: str, wanted: FolderFilter, left_out: LeftOut) -> ItemError:
    message = "a folder without files to read"
    if left_out:
        message += ", but for those that are left out by default; --ignored reads them"
    elif wanted.include or wanted.exclude:
        message += ", as --include and --exclude narrowed them down"
    elif not wanted.ignored and set(os.listdir(top)) - {".git"}:
        message += "; --ignored reads what git ignores"
    unmatched = name_unmatched(wanted.matched or {})
    if unmatched:
        message += f"; {unmatched}"
    return ItemError(message, where=show_path(path))


def find_packed(files: Sequence[tuple[str, str]]) -> set[str]:
    """Return the paths of those files (path and text) that were packed of the others.

    An earlier `-o context.md` says everything twice, and hides the files that it holds.
    """
    named = _NamedFiles(files)
    packed: set[str] = set()
    for path, whole in files:
        if not MAY_BE_PACKED.fullmatch(path):
            continue
        text = _lines_of_data(path, whole)
        headers = {line: list(named(path, line)) for line in set(_HEADER.findall(text))}
        sources = dict(file for found in headers.values() for file in found)
        least = MIN_PACKED_SHARE if len(sources) > 1 else MIN_PACKED_OF_ONE
        between = (line for line in text.split("\n") if not headers.get(line))
        if sources.keys() - packed and _share_known(between, sources.values()) > least:
            packed.add(path)
    return packed


class _NamedFiles:
    """Finds the files that headers of others name; each word and text is looked at once."""

    def __init__(self, files: Sequence[tuple[str, str]]) -> None:
        self._texts = dict(files)
        self._by_name: dict[str, list[str]] = defaultdict(list)
        for path in self._texts:
            self._by_name[path.rpartition("/")[2]].append(path)
        self._file_of = cache(self._find)
        self._lines_of = cache(lambda path: frozenset(self._texts[path].split("\n")))

    def __call__(self, path: str, header: str) -> Iterator[tuple[str, str]]:
        for word in dict.fromkeys(PATH_IN_HEADER.findall(header)):
            other = self._file_of(word, path)
            # Two copies of a page have their headers in common.
            if other is not None and header not in self._lines_of(other):
                yield other, self._texts[other]

    def _find(self, word: str, path: str) -> str | None:
        """Return the file that a word of the file `path` names.

        Of many `values.yaml` this is the one of exactly this path, else the nearest to the top.
        """
        name = word.rpartition("/")[2]
        if name == path.rpartition("/")[2]:  # each pom.xml of a project is like the others
            return None
        if word in self._texts:
            return word
        found = [
            file
            for file in self._by_name.get(name, ())
            # Either may have been read from a folder above.
            if f"/{word}".endswith(f"/{file}") or f"/{file}".endswith(f"/{word}")
        ]
        return min(found, key=lambda file: file.count("/"), default=None)


def _lines_of_data(path: str, text: str) -> str:
    """Return the texts and `file: PATH` of JSON or YAML as lines; all else as it is."""
    if not path.lower().endswith(".json"):
        return _YAML_KEY.sub("", text) if path.lower().endswith(("yaml", "yml")) else text
    lines: list[str] = []
    with contextlib.suppress(msgspec.DecodeError, RecursionError):
        left: list[tuple[str, Any]] = [("", msgspec.json.decode(text))]
        while left:
            key, value = left.pop()
            if isinstance(value, dict):
                left += reversed(value.items())
            elif isinstance(value, list):
                left += [(key, each) for each in reversed(value)]
            elif isinstance(value, str):
                if "\n" in value:
                    lines += [f"file: {key}", value]
                elif key in _HEADER_KEYS:
                    lines.append(f"{key}: {value}")
                elif key == "content":
                    lines.append(value)
    return "\n".join(lines) or text


def _share_known(lines: Iterable[str], sources: Iterable[str]) -> float:
    bare = _bare_lines("\n".join(line for line in lines if not _FRAME.match(line)))
    wanted = set(bare)
    known: set[str] = set()
    for source in sources:
        known.update(wanted.intersection(_bare_lines(source)))
    sizes = [0, 0]
    for line in bare:
        sizes[line in known] += len(line)
    return sizes[True] / (sum(sizes) or 1)


def _bare_lines(text: str) -> list[str]:
    """Return the letters and digits of each line, which formats neither escape nor frame."""
    from html import unescape  # a table that few folders need

    # All lines at once: one at a time they took nine tenths of the time for a repository of charts.
    return _NO_LETTERS.sub("", unescape(_LINE_NUMBER.sub("", text))).split("\n")


class _UnwantedError(ItemError):
    """A file that is left out; the message is the reason."""


def read_wanted(
    place: str,
    *,
    workspace: StrPath,
    asked_for: bool = True,
    real: str | None = None,
    held: HeldFolder | None = None,
) -> tuple[str, Diagnostics] | str:
    """Return the text of a file and its diagnostics, or the reason to leave it out."""
    said = Diagnostics()

    def judge(size: int, beginning: bytes) -> None:
        reason = _unwanted_content(place, size, beginning, asked_for)
        if reason is not None:
            raise _UnwantedError(reason)

    near: Any = {"workspace": workspace, "diagnostics": said}
    try:
        return read_text(place, real=real, held=held, judge=judge, **near), said
    except _UnwantedError as unwanted:
        return unwanted.bare
    except ItemError:
        return _UNREADABLE


def _real_place(top: str, name: str, folders: dict[str, str]) -> str | None:
    """Return the real place of a file that is no link; None where its folder lies elsewhere by now.

    `folders` remembers the real folders: to resolve each file took a third of gathering 20,000.
    """
    lead, _, last = name.rpartition("/")
    if lead not in folders:
        folders[lead] = os.path.realpath(os.path.join(top, lead))
    return os.path.join(folders[lead], last) if is_inside(folders[lead], top) else None


def report_left_out(left_out: LeftOut, path: str, diagnostics: Diagnostics) -> None:
    """Say what was left out of a folder or a pattern, and how to have it (PF608)."""
    if not left_out:
        return
    counts = ", ".join(
        f"{len(names):,} {reason} ({', '.join(map(show_path, names[:MAX_NAMES_SHOWN]))}"
        f"{' …' * (len(names) > MAX_NAMES_SHOWN)})"
        for reason, names in sorted(left_out.items())
    )
    name_it = "name a file to include it"
    if not left_out.keys().isdisjoint(_UNWANTED):
        name_it += ", or use --ignored"
    hints = {_REMEDIES.get(reason, name_it) for reason in left_out} - {""}
    if _DOCUMENTS in left_out:
        hints.add(f"{pip_install('documents')} reads documents")
    total = plural(sum(map(len, left_out.values())), "file", "files")
    message = "; ".join([f"skipped {total}: {counts}", *sorted(hints)])
    diagnostics.add("PF608", message, where=show_path(path), severity="info")


def without_secrets(
    text: str,
    place: str,
    diagnostics: Diagnostics,
    wanted: FolderFilter,
    shown: str | None = None,
    whole: str = "",
) -> str | None:
    """Return a text with its credentials masked; `None` where it is left out for them (PF609).

    A file with a credential in its path is left out: masked, the path would be another one.
    `shown` stands for the place in the message; `whole` is a diff of one file with more lines.
    """
    if not wanted.secret_scan:
        return text
    scan = wanted.scan or SecretScan(wanted.secret_allowlist)
    clean = None
    if shown is not None or not scan.refuse_name(place):
        clean = scan.clean(text, place, show_path(shown or place), whole)
    if wanted.scan is None:
        scan.report(diagnostics)
    return clean


def items_without_secrets(
    items: Iterable[Item], place: str, diagnostics: Diagnostics, wanted: FolderFilter
) -> list[Item]:
    """Return the items of a file with the credentials in their texts masked (PF609)."""
    found = []
    for item in items:
        content, expanded = (
            text and without_secrets(text, place, diagnostics, wanted)
            for text in (item.content or "", item.expanded)
        )
        if content is not None and (expanded or not item.expanded):
            found.append(replace(item, content=content, expanded=expanded))
    return found


def _unwanted_content(place: str, size: int, beginning: bytes, asked_for: bool) -> str | None:
    """Return the reason to leave out a file by its size and its first 8 KiB, or `None`."""
    if size > MAX_LISTED_BYTES:
        return f"larger than {MAX_LISTED_BYTES >> 20} MiB"
    if is_document(place, beginning):
        return None if can_read(place) else _DOCUMENTS
    try:
        text = decode_text(beginning, where=place, diagnostics=Diagnostics())
    except BinaryFileError:
        return _NO_TEXT
    if text.startswith(_LFS_BEGINNING):
        return _LFS_POINTERS
    if asked_for:
        return None
    if _PROGRAM_OF_A_PAGE.fullmatch(place) and _is_minified(text):
        return MINIFIED
    # `#` begins a title in Markdown, where it begins a comment elsewhere.
    has_titles = place.endswith((".md", ".markdown")) and not text.startswith("<!--")
    may_be = not has_titles and any(map(text.lower().__contains__, _WORDS_OF_GENERATED))
    return GENERATED if may_be and _GENERATED_HEAD.match(text) else None


def _is_minified(text: str) -> bool:
    lines = sorted(filter(None, text.split("\n")), key=len) or [""]
    longest, usual = lines[-1], lines[len(lines) // 2]
    if len(longest) < MIN_MINIFIED_LINE and len(usual) < MIN_USUAL_LINE:
        return False
    return len(_SIGN_OF_CODE.findall(longest)) >= MIN_SIGNS_OF_CODE * len(longest)


def _list_folder(
    top: Path,
    diagnostics: Diagnostics,
    wanted: FolderFilter,
    left_out: LeftOut,
    path: str,
    workspace: StrPath,
) -> list[str]:
    """Return the names of the regular files below a real folder that the filter lets through.

    Links are put into `left_out`: they may lead anywhere.
    """
    base = Path(os.path.realpath(workspace))
    names = None if wanted.ignored else _ask_git(top, diagnostics, wanted.hidden, left_out)
    if names is None:
        names = _walk(top, base, diagnostics, wanted, left_out)
    else:
        is_ignored = IgnoreRules(top, [".ignore"])
        names = [name for name in names if not is_ignored.is_below(name)]
    if not wanted.ignored:
        for tool, rules in tool_rules(top, base, names):
            kept = [name for name in names if not rules.is_below(name)]
            if len(kept) < len(names):
                left_out[f"ignored by {tool}"] += sorted({*names} - {*kept})
            names = kept
    every = _without_own_files_of_git(top, names)
    names = narrow_down(every, wanted, (os.path.abspath(os.path.join(workspace, path)), str(top)))
    if wanted.listed is not None and wanted.include:
        others = narrow_down(every, replace(wanted, include=()))
        wanted.list_unread(path, {"": [*{*others}.difference(names)]})
    inside: dict[str, bool] = {}
    found = [name for name in names if _is_regular(top, name, inside, left_out)]
    return sorted(found)


def _without_own_files_of_git(top: Path, names: list[str]) -> list[str]:
    """Return the names without those in bare repositories. Raises `ItemError` where all are."""
    heads = [name[: -len("HEAD")] for name in names if re.fullmatch(r"(?:.*/)?HEAD", name)]
    bare = tuple(folder for folder in heads if looks_like_git(top / folder))
    if "" in bare:
        message = "a repository without files, such as a bare clone; clone it to have them"
        raise ItemError(message, where=show_path(top))
    return [name for name in names if not name.startswith(bare)] if bare else names


def _is_regular(top: Path, name: str, inside: dict[str, bool], left_out: LeftOut) -> bool:
    """Tell whether it is a file, no link, in a folder that lies in `top` for real."""
    folder = name.rpartition("/")[0]
    if folder not in inside:
        # git lists `a/b` as tracked where a link has taken the place of the folder `a` since.
        inside[folder] = is_inside(os.path.realpath(top / folder), top)
    try:
        mode = os.lstat(f"{top}{os.sep}{name}").st_mode
    except OSError:  # deleted since, or outside of a sparse checkout
        left_out[_ABSENT].append(name)
        return False
    if inside[folder] and stat.S_ISREG(mode):
        return True
    reason = _DEVICES
    if stat.S_ISDIR(mode):
        reason = _REPOSITORIES if os.path.lexists(top / name / ".git") else _SUBMODULES
    if stat.S_ISLNK(mode) or not inside[folder]:
        reason = _LINKS
    left_out[reason].append(name)
    return False


def _ask_git(
    folder: Path, diagnostics: Diagnostics, hidden: bool, left_out: LeftOut
) -> list[str] | None:
    """Return the names of the files that git sees in a folder; `None` where git cannot tell.

    Of folders that a tool fills only the tracked files count, ignored or not.
    """
    if not any(os.path.exists(above / ".git") for above in (folder, *folder.parents)):
        return None
    with contextlib.suppress(ItemError):
        run_git(folder, "check-ignore", "-q", ".")
        return None  # the folder is ignored itself, and was named: all of it is wanted
    try:
        if work_tree(folder) is None:  # a `.git` that is empty, say
            return None
        tracked = run_git(folder, *_TRACKED, names=True)
        others = run_git(folder, *NEW_FILES, names=True, diagnostics=diagnostics)
    except ItemError as error:
        message = f"git cannot list the files, so promptforge lists them itself: {error.bare}"
        diagnostics.add("PF601", message, where=show_path(folder))
        return None
    found = dict.fromkeys(filter(None, tracked.split("\0")))
    find_filled = InstalledFolders(folder)
    for name in filter(None, others.split("\0")):
        if not hidden and any(part.startswith(".") for part in name.split("/")):
            continue
        filled = find_filled(name)
        if filled is None:
            found[name] = None
        elif filled not in left_out.get(_INSTALLED, ()):
            left_out[_INSTALLED].append(filled)
    return list(found)


def _leave_out_installed(folder: str, lead: str, names: list[str], left_out: LeftOut) -> None:
    filled = [name for name in names if is_installed(os.path.join(folder, name))]
    if filled:
        left_out[_INSTALLED] += (f"{lead}{name}/" for name in filled)
        names[:] = [name for name in names if name not in filled]


def _walk(
    top: Path, base: Path, diagnostics: Diagnostics, wanted: FolderFilter, left_out: LeftOut
) -> list[str]:
    """Return the names of the files below a folder, but for ignored and hidden ones."""

    def say(error: OSError) -> None:
        if error.filename == os.fspath(top):
            raise ItemError(f"cannot read it: {system_reason(error)}", where=show_path(top))
        if not isinstance(error, FileNotFoundError):
            where = show_path(error.filename)
            diagnostics.add("PF601", f"skipped: {system_reason(error)}", where=where)

    rules = None if wanted.ignored else IgnoreRules(top, base=base)
    found: list[str] = []
    visited = 0
    for folder, folders, files in os.walk(top, onerror=say):
        lead = os.path.relpath(folder, top).replace(os.sep, "/") + "/"
        lead = lead.removeprefix("./")
        visited += len(folders) + len(files)
        if visited > MAX_NAMES_VISITED:
            message = f"more than {MAX_NAMES_VISITED} names; not all were looked at"
            diagnostics.add("PF602", message, where=show_path(top))
            break

        def is_seen(name: str, lead: str = lead) -> bool:
            if name.startswith(".") and not wanted.hidden:
                return False
            return rules is None or not rules(lead + name)

        folders[:] = sorted(n for n in folders if n != ".git" and is_seen(f"{n}/"))
        if not wanted.ignored:
            _leave_out_installed(folder, lead, folders, left_out)
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        found += (lead + name for name in (*files, *links) if is_seen(name))
        if folders and lead.count("/") >= MAX_FOLDERS_NESTED:
            say(too_deep(os.path.join(folder, folders[0])))
            folders.clear()
    return found
