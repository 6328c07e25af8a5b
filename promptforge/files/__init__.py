"""Files: the door to them (`access`), shipped folders, folders of the caller and templates.

A template folder is read whole, as of one moment.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import OptionError, TemplateError, show_value
from .access import is_inside, read_utf8

_HERE = Path(__file__).resolve().parents[1]
VOCABULARIES_FOLDER = _HERE / "_vocab"
YAML_SUFFIXES = (".yaml", ".yml")
TOKENIZER_FILE = "file:"
SCALED_TOKENIZER = re.compile(r"(.+)\*((?:0|[1-9]\d{0,3})(?:\.\d{1,6})?)", re.DOTALL)
"""A tokenizer `NAME*FACTOR`."""

Folders = str | Path | Sequence[str | Path] | None
"""One folder of the user's, or several; the first wins."""
TemplateSources = str | Path | Mapping[str, str] | Sequence[str | Path | Mapping[str, str]] | None
"""The same for templates. They may also be texts by name, such as `chunks/item.md.j2`."""
TemplateSource = Path | Mapping[str, str]
"""One of these: a folder, or texts by name."""


def fork_safe_lock() -> threading.RLock:
    """Return a lock that is free in a process forked while another thread holds it."""
    lock = threading.RLock()
    if hasattr(os, "register_at_fork"):
        release = lock.release
        os.register_at_fork(before=lock.acquire, after_in_parent=release, after_in_child=release)
    return lock


def shipped_folder(name: str) -> Path:
    """Return the folder of shipped files called `name` (`templates` or `profiles`)."""
    # A wheel carries them inside the package; a checkout (and an editable install) beside it.
    inside = _HERE / "_files" / name
    return inside if inside.is_dir() else _HERE.parent / name


# With what fsspec puts before, as in `simplecache::s3://bucket/rows.jsonl`.
_URL = re.compile(r"(?:[a-z]+::)*[A-Za-z][A-Za-z0-9+.-]+://")
_GLOB = re.compile(r"[*?[]")


def is_pattern(path: str) -> bool:
    """Tell whether a path or URL holds `*`, `?` or `[`."""
    return _GLOB.search(path) is not None


def is_url(path: object) -> bool:
    """Tell whether a path names a file elsewhere, as `s3://bucket/rows.jsonl` does."""
    return isinstance(path, str) and _URL.match(path) is not None


def path_text(value: Any, option: str) -> str:
    """Return a caller's name of a file or folder; raises `OptionError` for what is none."""
    with contextlib.suppress(Exception):
        # The text itself: the methods of a subclass may raise anything.
        text = str.__str__(value if issubclass(type(value), str) else os.fspath(value))
        if b"\0" not in os.fsencode(text):
            return text
    message = f"{option} takes a name or a path; got {show_value(value)}"
    raise OptionError(message, option=option)


def folder_paths(folders: Folders, option: str = "profiles") -> tuple[Path, ...]:
    """Return the folders as paths; raises `OptionError` for what is none."""
    return tuple(Path(path_text(one, option)) for one in _each(folders))


def template_sources(given: TemplateSources) -> tuple[TemplateSource, ...]:
    """Return the places of templates one by one: paths, and mappings as they are."""
    every: list[Any] = [given] if issubclass(type(given), Mapping) else _each(given)
    return tuple(
        one if issubclass(type(one), Mapping) else Path(path_text(one, "templates"))
        for one in every
    )


def _each(given: Any) -> list[Any]:
    if given is None:
        return []
    kinds = (kind for kind in (list, tuple) if issubclass(type(given), kind))
    return next(([*kind.__iter__(given)] for kind in kinds), [given])


def tokenizer_file(name: object) -> str | None:
    """Return the path in `file:PATH` or `file:PATH*FACTOR`; None for any other tokenizer."""
    if not isinstance(name, str) or not name.startswith(TOKENIZER_FILE):
        return None
    scaled = SCALED_TOKENIZER.fullmatch(name)
    return (scaled[1] if scaled else name).removeprefix(TOKENIZER_FILE)


# --- template files ------------------------------------------------------------------------------
# A folder may have come with a stranger's project. So only regular files are opened, none behind a
# link that leaves the folder, none over the size of a template: a FIFO or a device can neither
# block nor flood the reader.

TEMPLATE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.-]*)*")
MAX_TEMPLATE_BYTES = 256 * 1024
"""Bytes of one template file."""
MAX_TEMPLATE_FILES = 2000
"""Template files of one folder."""
MAX_FOLDER_ENTRIES = 50_000
"""Names of any kind in one folder that are read in search of template files."""
MAX_NAME_PARTS = 3
"""Parts of a template's name."""
SETTLE_SECONDS = 0.05
"""Seconds without a change after which a folder is complete: editors write one file by one."""
MAX_SETTLE_SECONDS = 0.5
"""Seconds to wait for that."""
NOT_THERE_ERRNOS = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
"""Errors that mean: there is no such file."""

FileStamps = Mapping[str, tuple[int, ...]]
"""File name → size, times of change and inode: they change when the file does."""


class TemplateFile(NamedTuple):
    """One template file as it was when its folder was read."""

    path: Path
    text: str
    problem: str | None = None
    """Why it has no text: too large, not UTF-8, or unreadable."""
    unread: bool = False
    """True when the system could not read it: it may become readable without a change."""


def is_template_name(name: str) -> bool:
    """Return True for a possible name of a template file; no such name leads out of its folder."""
    return TEMPLATE_NAME.fullmatch(name) is not None and ".." not in name


def read_template_folder(folder: Path) -> dict[str, TemplateFile]:
    """Return the template files of a folder by name (`chunks/item.md.j2`, `chunks/layout.yaml`).

    All are of one moment: if one changes meanwhile, all are read again, for half a second.
    Raises `TemplateError` if the folder is missing, has too many files or keeps changing.
    """
    until = time.monotonic() + MAX_SETTLE_SECONDS
    before = folder_stamps(folder)
    while True:
        files = {name: read_template_file(folder / name) for name in before}
        after = folder_stamps(folder)
        if after == before:
            return files
        if time.monotonic() > until:
            raise TemplateError(
                "the template files keep changing while they are read", where=str(folder)
            )
        time.sleep(SETTLE_SECONDS)
        before = folder_stamps(folder)


def template_files_of(texts: Mapping[str, str]) -> dict[str, TemplateFile]:
    """Return texts by name as template files: those of an editor that has not saved them.

    Raises `TemplateError` for an impossible name, or a text that is too large or not UTF-8.
    """
    pairs = dict.items(texts) if isinstance(texts, dict) else ((n, texts[n]) for n in texts)
    texts = dict(islice(pairs, MAX_TEMPLATE_FILES + 1))  # a mapping may have no end
    if len(texts) > MAX_TEMPLATE_FILES:
        raise TemplateError(f"more than {MAX_TEMPLATE_FILES} template files")
    for name, text in texts.items():
        if not type(name) is type(text) is str:
            said = f"{show_value(name)}: {show_value(text)}"
            raise TemplateError(f"templates are texts by name; got {said}")
        if not is_template_name(name):
            raise TemplateError(
                f"{name[:80]!a} is no name of a template; one is LAYOUT/PART.EXT.j2"
            )
        try:
            size = len(text.encode())
        except UnicodeEncodeError:
            raise TemplateError("half of a surrogate pair is not a character", where=name) from None
        if size > MAX_TEMPLATE_BYTES:
            raise TemplateError(f"is larger than {MAX_TEMPLATE_BYTES // 1024} kB", where=name)
    return {
        name: TemplateFile(Path(name), text.replace("\r\n", "\n")) for name, text in texts.items()
    }


def folder_stamps(folder: Path) -> FileStamps:
    """Return the stamps of all template files of a folder, by name.

    Raises `TemplateError` if the folder is missing or has too many names or files.
    """
    root = os.path.realpath(folder)
    found: dict[str, tuple[int, ...]] = {}
    for number, (name, entry) in enumerate(_entries(root, folder)):
        if number >= MAX_FOLDER_ENTRIES:
            raise TemplateError(
                f"has more than {MAX_FOLDER_ENTRIES} names; templates want a folder",
                where=str(folder),
            )
        if not f"/{name}".endswith((".j2", "/layout.yaml")) or not is_template_name(name):
            continue
        try:
            if entry.is_symlink() and not is_inside(os.path.realpath(entry.path), root):
                continue
            state = entry.stat()
        except OSError as error:
            if error.errno not in NOT_THERE_ERRNOS:
                found[name] = ()  # it exists: reading it says what is wrong
            continue
        if stat.S_ISREG(state.st_mode):
            found[name] = (state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino)
    if len(found) > MAX_TEMPLATE_FILES:
        raise TemplateError(f"has more than {MAX_TEMPLATE_FILES} template files", where=str(folder))
    return found


def _entries(root: str, shown_as: Path) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield names and entries below a folder, three deep; follow a circle of links once."""
    waiting: list[tuple[str, str, int, tuple[str, ...]]] = [(root, "", 1, (root,))]
    while waiting:
        folder, lead, depth, above = waiting.pop()
        try:
            with os.scandir(folder) as listed:
                entries = list(listed)
        except OSError as error:
            if folder == root and error.errno in NOT_THERE_ERRNOS:
                raise TemplateError(f'there is no template folder "{shown_as}"') from None
            # Skipping an unreadable folder would silently use another template.
            if error.errno not in NOT_THERE_ERRNOS:
                raise TemplateError(f"cannot be read: {error.strerror}", where=folder) from None
            continue
        for entry in entries:
            yield lead + entry.name, entry
            if depth < MAX_NAME_PARTS and not entry.name.startswith(".") and _is_folder(entry):
                real = os.path.realpath(entry.path) if entry.is_symlink() else entry.path
                if is_inside(real, root) and real not in above:
                    waiting.append((entry.path, f"{lead}{entry.name}/", depth + 1, (*above, real)))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def read_template_file(path: Path, most: int = MAX_TEMPLATE_BYTES) -> TemplateFile:
    """Return one regular file of at most `most` bytes; its `problem` says what is wrong with it."""
    try:
        return TemplateFile(path, read_utf8(path, most))
    except OSError as error:
        if error.errno == errno.EFBIG:
            return TemplateFile(path, "", f"is larger than {most // 1024} kB")
        unread = error.errno not in (errno.EILSEQ, errno.EINVAL)
        return TemplateFile(path, "", f"cannot be read: {error.strerror}", unread)
