"""Gather the items of all sources that a user names.

Small sources stand here: plug-ins (`NAME:ARGUMENT`) and stores.

Codes: PF606 a source that failed, PF613 a pattern that matches no file.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from ..errors import Diagnostics, ItemError, OptionError, Severity, list_names, quote, suggest_name
from ..files import is_pattern, is_url
from ..files.access import StrPath, show_path
from ..files.csv_table import is_table
from ..files.stores import list_url, local_copy
from ..model import MAX_CHANGES_NAMED, Item, LoadedItems
from ..plugins import call_plugin, find_plugin, plugin_names
from ..text.languages import language_of
from .attack import TechniqueIndex, find_technique, read_attack
from .changes import load_changed, load_diff, load_log
from .folders import ALL_FILES, MAX_NAMES_SHOWN, FolderFilter, Progress, items_without_secrets
from .intended import has_keys_of_a_job
from .item_files import NoItemsError, load_items, parse_items
from .man import load_man_page
from .patterns import name_unmatched, narrow_down
from .records import interleave, load_records
from .secret_scan import SecretScan
from .tables import load_table
from .text_files import Search, is_text_source, load_documents, load_files, search_files
from .workspace import BinaryFileError, is_stream, read_named, refuse_repository


def load_plugged(spec: str, *, diagnostics: Diagnostics) -> list[Item]:
    """Return the items of `spec`: the name of a plug-in's source, a colon, and its argument.

    Raises `ItemError`, with the distribution, when there is no such source or it fails.
    """
    name, _, argument = spec.partition(":")
    plugin = find_plugin("sources", name, _refusal(spec))
    if plugin is None:
        known = [name for name, _ in plugin_names("sources")]
        off = "; no plug-in brings one, or PROMPTFORGE_PLUGINS does not allow it"
        hint = suggest_name(name, known) or off
        raise ItemError(f"there is no source {quote(name)}{hint}", where=spec)
    records = call_plugin(plugin, f"source {quote(name)}", _refusal(spec), argument)
    return load_records(records, where=spec, diagnostics=diagnostics)


def _refusal(spec: str) -> Callable[[str], ItemError]:
    return lambda message: ItemError(message, where=spec)


PathNames = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
"""Names or paths; one alone stands for a list of one."""


MIN_MANY_FILES = 5
"""So many names of texts may be what a shell made of a pattern."""


class SourceRequest(msgspec.Struct, frozen=True):
    """The sources that were named, each kind in its order."""

    items: Sequence[str] = ()
    """Item files, folders and text files; `-` is standard input."""
    urls: Sequence[str] = ()
    """The same in stores. Only a user names them: a job or a row would reach into a network."""
    records: Sequence[object] = ()
    """Items written out in a job."""
    files: Sequence[str] = ()
    listed: int = 0
    """So many of the files, the last ones, are names of lists: these compete."""
    documents: Sequence[str] = ()
    man_pages: Sequence[str] = ()
    techniques: Sequence[str] = ()
    plugged: Sequence[str] = ()
    """`NAME:ARGUMENT` of plug-ins' sources."""
    search: Search | None = None
    """A search of files; its passages come last, as `similarity` items."""
    attack: str | TechniqueIndex | None = None
    """The file or folder of the techniques, or what was read there before."""
    workspace: StrPath = msgspec.field(default_factory=os.getcwd)
    context_lines: int = 0
    wanted: FolderFilter = ALL_FILES
    """The files of folders that are read and searched."""
    stream_name: str | None = None
    """The path of a text from standard input."""
    git_diff: str | None = None
    """Revisions with changes to show; empty for all that is not committed."""
    git_log: int = 0
    """The number of commits to show."""
    git_changed: str | None = None
    """Revisions with changed files to show; empty for all that is not committed."""
    outputs: Sequence[str] = ()
    """Names of the files that the run writes: none is an existing file that nobody gave up."""

    @property
    def names_any(self) -> bool:
        """True where any source is named."""
        if self.items or self.urls or self.records or self.files or self.documents:
            return True
        if self.man_pages or self.techniques or self.plugged or self.git_log:
            return True
        return (self.search, self.git_diff, self.git_changed) != (None, None, None)  # "" asks, too


def load(  # noqa: PLR0913  these are public options
    *paths: str | os.PathLike[str],
    files: PathNames = (),
    documents: PathNames = (),
    man_pages: PathNames = (),
    techniques: PathNames = (),
    attack: str | os.PathLike[str] | None = None,
    search: str | None = None,
    within: PathNames = (".",),
    plugged: PathNames = (),
    workspace: str | os.PathLike[str] = ".",
    context_lines: int = 0,
    include: PathNames = (),
    exclude: PathNames = (),
    ignored: bool = False,
    hidden: bool = False,
    secret_scan: bool = True,
    git_diff: str | None = None,
    git_log: int = 0,
    git_changed: str | None = None,
) -> LoadedItems:
    """Return the items of everything that is named, as `promptforge render` takes it.

    - `paths`: files of items, folders, and files of text that cannot be items, such as `app.py`;
      also by URL, such as `s3://bucket/items.jsonl` (extra `remote`).
    - `files`: `PATH[:START[-END]]`, patterns or folders, with `context_lines` more lines on either
      side of a range. Folders are read as git sees them, narrowed down by `include` and `exclude`,
      gitignore patterns; `ignored` and `hidden` take the other files too.
      Credentials in files and changes are masked, unless `secret_scan` is false.
    - `git_diff`: the changes between revisions such as `main...`, one item a file; `git_changed`:
      the changed files as they are now; `""` stands for all that is not committed. `git_log`: the
      number of last commits.
    - `documents`, `man_pages`; `techniques`, looked up in `attack` (STIX bundle, folder, JSON).
    - `plugged`: `NAME:ARGUMENT` of plug-ins' sources.
    - `search`: a query; the passages that answer it `within` files or folders come last, as
      `similarity` items with scores in 0…1.

    Relative paths stay inside `workspace`. Sources that fail are left out and said in `warnings`,
    which a rendering says again. Raises `ItemError` when that leaves nothing at all, and
    `OptionError` for what is no name, or no number.

    Example: `promptforge.load(files="src/**/*.py", man_pages=["tar", "tar.5"])`.
    """
    _check_number("git_log", git_log)
    _check_number("context_lines", context_lines)
    texts = {"attack": attack, "search": search, "git_diff": git_diff, "git_changed": git_changed}
    given = {option: text for option, text in texts.items() if text is not None}
    for option, text in {**given, "workspace": workspace}.items():
        if not isinstance(text, str | os.PathLike):
            raise OptionError(f"{option} must be a text, not {quote(str(text))}", option=option)
    diagnostics = Diagnostics()
    of_folders = FolderFilter(_names(include), _names(exclude), ignored, hidden, secret_scan)
    wanted = SourceRequest(
        items=[name for name in _names(paths) if not is_url(name)],
        urls=[name for name in _names(paths) if is_url(name)],
        files=_names(files),
        documents=_names(documents),
        man_pages=_names(man_pages),
        techniques=_names(techniques),
        plugged=_names(plugged),
        search=None if search is None else Search(search, _names(within), of_folders),
        attack=None if attack is None else os.fspath(attack),
        workspace=os.fspath(workspace),
        context_lines=context_lines,
        wanted=of_folders,
        git_diff=git_diff,
        git_log=git_log,
        git_changed=git_changed,
    )
    found = gather(wanted, diagnostics)
    found.warnings = tuple(diagnostics)
    return found


def _names(given: PathNames) -> tuple[str, ...]:
    # A text is a sequence of its letters, which nobody means.
    if isinstance(given, str | os.PathLike):
        given = [given]
    try:
        return tuple(os.fspath(name) for name in given)
    except TypeError:
        message = "load takes names and paths; of a list of them, load(*names)"
        raise OptionError(message) from None


def _check_number(option: str, number: object) -> None:
    if not isinstance(number, int) or number < 0:
        message = f"{option} must be a whole number from 0 on, not {quote(str(number))}"
        raise OptionError(message, option=option)


def gather(
    wanted: SourceRequest, diagnostics: Diagnostics, progress: Progress | None = None
) -> LoadedItems:
    """Return the items of everything in `wanted`; sources that fail are left out, and said (PF606).

    `progress` is called before each file of a folder. A file that is named beside a folder is
    `named` in its metadata, and comes from there alone.

    Raises `ItemError` when that leaves nothing at all, each failure a line of the message, and for
    an output that is a file of the user's.
    """
    loaded: list[tuple[str | None, list[Item]]] = []
    failures: list[ItemError] = []
    scan = SecretScan(wanted.wanted.secret_allowlist)
    listed: list[str] = []
    matched: dict[tuple[str, str], bool] = {}
    of_folders = replace(wanted.wanted, scan=scan, listed=listed, matched=matched)
    wanted = replace(wanted, wanted=of_folders)
    if wanted.search is not None:
        wanted = replace(wanted, search=replace(wanted.search, wanted=of_folders))
    for name, load in _loaders(wanted, diagnostics, progress):
        try:
            found = load()
            loaded.append((name, [found] if isinstance(found, Item) else found))
        except ItemError as error:
            failures.append(error)
    scan.report(diagnostics)
    failed = list(_joined(failures))
    for failure in failed:
        diagnostics.add("PF606", f"left out: {failure.bare}", where=failure.where)
    unmatched = name_unmatched(matched)
    if (of_folders.include or of_folders.exclude) and not matched and not failures:
        given = [f"--include {quote(pattern)}" for pattern in of_folders.include]
        given += [f"--exclude {quote(pattern)}" for pattern in of_folders.exclude]
        unmatched = f"no folder is read, and {', '.join(given)} narrows down the files of folders"
        unmatched += "; --paths keeps items by their path"
    if unmatched:
        diagnostics.add("PF613", unmatched, severity="info")
    # A prompt without its knowledge is worse than none; one with most of it is not.
    items = LoadedItems(interleave(_mark_named(loaded, wanted.workspace)))
    items.listed = tuple(listed)
    if failed and not items:
        if len(failed) == 1:
            raise failed[0]
        raise ItemError("\n".join(["nothing to render:", *map(str, failed)]))
    if wanted.outputs:
        from .outputs import refuse_own_files

        refuse_own_files(wanted, items)
    return items


def _mark_named(
    loaded: Sequence[tuple[str | None, list[Item]]], workspace: StrPath
) -> list[list[Item]]:
    """Return the items of each source, those of files that are named beside a folder marked so."""
    all_items = [items for _, items in loaded]
    folders = [
        name is not None and not is_stream(name) and os.path.isdir(os.path.join(workspace, name))
        for name, _ in loaded
    ]
    if True not in folders:
        return all_items
    named: set[tuple[int, int]] = set()
    last_names: set[str] = set()
    base = os.path.realpath(workspace)
    for place, (name, items) in enumerate(loaded):
        if name is None or folders[place]:
            continue
        all_items[place] = [
            replace(item, metadata={**item.metadata, "named": True}) for item in items
        ]
        for item in items:
            if item.path and item.start_line is None:
                real = os.path.realpath(os.path.join(base, item.path))
                last_names.add(os.path.basename(real).casefold())
                named.update(_identity(real))
    for place in range(len(loaded)):
        if folders[place]:
            all_items[place] = [
                item
                for item in all_items[place]
                if os.path.basename(item.path or "").casefold() not in last_names
                or named.isdisjoint(_identity(os.path.join(base, item.path or "")))
            ]
    return all_items


def _identity(path: str) -> Iterator[tuple[int, int]]:
    """Yield device and inode of a file: `App.py` and `app.py` are one where case is no matter."""
    with contextlib.suppress(OSError):
        state = os.stat(path)
        yield state.st_dev, state.st_ino


def _joined(failed: Sequence[ItemError]) -> Iterator[ItemError]:
    """Yield the errors, one for many of the same reason: a list of files may be of another day."""
    by_reason: dict[str, list[ItemError]] = {}
    for error in failed:
        by_reason.setdefault(error.bare.partition("; did you mean ")[0], []).append(error)
    for reason, errors in by_reason.items():
        if len(errors) <= MAX_NAMES_SHOWN:
            yield from errors
            continue
        names = ", ".join(error.where or "?" for error in errors[:MAX_NAMES_SHOWN])
        yield ItemError(reason, where=f"{names} and {len(errors) - MAX_NAMES_SHOWN} more")


def _named(load: Callable[[], list[Item] | Item], most: int = 1, *, sure: int = 0) -> list[Item]:
    """Return items as named ones; of more than `most`, only the first `sure` are named.

    The others compete, as the files of a folder do.
    """
    found = load()
    items = [found] if isinstance(found, Item) else found
    if len(items) <= most:
        sure = most
    return [replace(item, named=place < sure) for place, item in enumerate(items)]


def _load_items_or_text(
    path: str, read: Callable[[], list[Item]], near: Mapping[str, Any]
) -> list[Item]:
    """Return the items of a file, or a file of text without a name that tells, such as LICENSE.

    So is a table of data, and a single object that is no item, such as `package.json`.
    """
    from .piped import begins_as_json

    if is_table(path):
        items = load_table(path, **near)
        return read() if items is None else items
    said = Diagnostics()
    try:
        items = load_items(path, **{**near, "diagnostics": said})
    except ItemError as error:
        way_out = f"`--file {shlex.quote(path)}` takes it as a text"
        is_object = isinstance(error, NoItemsError)
        if not is_object and language_of(path) not in (None, "text"):
            raise _with_hint(error, way_out, path, near["workspace"]) from None
        try:
            texts = read()
        except ItemError as no_text:
            raise (no_text if is_pattern(path) else error) from None
        if not is_object and any(begins_as_json(item.content or "") for item in texts):
            raise _with_hint(error, way_out, path, near["workspace"]) from None
        message = "read as text: it holds no items"
        severity: Severity = "info"
        if isinstance(error, NoItemsError):
            if has_keys_of_a_job(error.keys):
                message += f"; `--job {shlex.quote(path)}` reads it as a job"
            message, severity = f"{message}; {way_out} without a warning", "warning"
        near["diagnostics"].add("PF201", message, where=show_path(path), severity=severity)
        return texts
    near["diagnostics"].extend(said)
    return items


def _with_hint(error: ItemError, hint: str, path: str, workspace: StrPath) -> ItemError:
    """Return an error with a hint, where there is a file to which it applies, or a pattern."""
    if {*"*?"} & {*path} and not os.path.lexists(os.path.join(workspace, path)):
        message = f"{error.bare}; `--file {shlex.quote(path)}` takes a pattern"
        return ItemError(message, where=error.where)
    if not os.path.isfile(os.path.join(workspace, path)) or isinstance(error, BinaryFileError):
        return error
    return ItemError(f"{error.bare}; {hint}", where=error.where, field=error.field)


def _loaders(
    wanted: SourceRequest, diagnostics: Diagnostics, progress: Progress | None
) -> Iterator[tuple[str | None, Callable[[], list[Item] | Item]]]:
    near: dict[str, Any] = {"workspace": wanted.workspace, "diagnostics": diagnostics}
    yield from _item_loaders(wanted, near, progress)
    for url in wanted.urls:
        yield None, partial(_load_url, url, diagnostics, wanted.wanted)
    yield None, partial(load_records, wanted.records, where="items", diagnostics=diagnostics)
    for name in wanted.man_pages:
        yield None, partial(_named, partial(load_man_page, name))
    for path in wanted.documents:
        yield path, partial(_named, partial(load_documents, path, **near))
    if wanted.techniques:
        index: TechniqueIndex = {}
        # One failure if the collection cannot be read, else one for each technique not in it.
        yield None, partial(_read_techniques, index, wanted, diagnostics)
        for name in wanted.techniques if index else ():
            find = partial(find_technique, index, name, diagnostics=diagnostics)
            yield None, partial(_named, find)
    yield from _text_loaders(wanted, near, progress)
    for spec in wanted.plugged:
        yield None, partial(load_plugged, spec, diagnostics=diagnostics)
    if wanted.search is not None:
        yield None, partial(search_files, wanted.search, **near)


def _item_loaders(
    wanted: SourceRequest, near: dict[str, Any], progress: Progress | None
) -> Iterator[tuple[str, Callable[[], list[Item]]]]:
    from .piped import load_stream

    are_many = len(wanted.items) >= MIN_MANY_FILES
    files = [path for path in wanted.items if not is_stream(path)]
    data = [path for path in files if is_table(path) or not is_text_source(path, wanted.workspace)]
    # In `git ls-files | xargs promptforge render` a file of data is a file as in a folder.
    is_list = are_many and len(data) < len(files)
    named = [path for path in data if is_table(path) or language_of(path) in ("json", "yaml")]
    if is_list and named:
        message = f"read as text among {len(wanted.items)} files: "
        message += list_names(named, MAX_NAMES_SHOWN)
        message += "; with --file before each text they are read as items"
        near["diagnostics"].add("PF201", message, severity="info")
    for path in wanted.items:
        read = partial(load_files, path, wanted=wanted.wanted, progress=progress, **near)
        texts = partial(_named, read, int(not are_many))
        if is_stream(path):
            yield path, partial(load_stream, path, stream_name=wanted.stream_name, **near)
        elif is_list or path not in data:
            yield path, texts
        else:
            yield path, partial(_load_items_or_text, path, texts, near)


def _load_url(url: str, diagnostics: Diagnostics, wanted: FolderFilter) -> list[Item]:
    refuse_repository(url)  # its page would be read, and no program
    found: list[Item] = []
    failed: list[ItemError] = []
    names = list(list_url(url))
    is_folder = names != [url] and not is_pattern(url)
    if is_folder:
        lead = f"{url.partition('://')[2].strip('/')}/"  # a store may write its own name otherwise
        inner = {name.partition(lead)[2] or name: name for name in names}
        shown = [each for each in inner if wanted.hidden or "/." not in f"/{each}"]
        names = [inner[each] for each in narrow_down(shown, wanted)]
        if not names:
            raise ItemError("a folder without files to read", where=url)
    for name in names:
        said = Diagnostics()
        try:
            with local_copy(name) as path:
                folder = os.path.dirname(path)
                near: dict[str, Any] = {"workspace": folder, "diagnostics": said}
                is_rows = is_table(path) and not is_folder
                table = load_table(path, **near) if is_rows else None
                if table is not None:
                    found += table
                elif is_text_source(path, folder):
                    items = _named(partial(load_files, path, **near), int(len(names) == 1))
                    place = name.partition("://")[2].lstrip("/")
                    if is_folder:  # else somebody named the file
                        items = items_without_secrets(items, name, diagnostics, wanted)
                    found += [replace(item, path=place, url=name) for item in items]
                else:
                    text, _ = read_named(path, whole=True, **near)
                    found += parse_items(text, where=name, diagnostics=said)
        except ItemError as error:
            failed.append(ItemError(error.bare, where=name))
        diagnostics.extend(  # the copy is gone
            dataclasses.replace(one, where=one.where and one.where.replace(path, name))
            for one in said
        )
    if failed and not found:
        raise failed[0]
    for failure in failed:
        diagnostics.add("PF606", f"left out: {failure.bare}", where=failure.where)
    return found


def _text_loaders(
    wanted: SourceRequest, near: dict[str, Any], progress: Progress | None
) -> Iterator[tuple[str | None, Callable[[], list[Item]]]]:
    about: dict[str, Any] = {"wanted": wanted.wanted, **near}
    of_files = {"context_lines": wanted.context_lines, "stream_name": wanted.stream_name, **about}
    for number, spec in enumerate(wanted.files):
        most = int(number < len(wanted.files) - wanted.listed)
        yield spec, partial(_named, partial(load_files, spec, progress=progress, **of_files), most)
    if wanted.git_diff is not None:
        yield None, partial(_named, partial(load_diff, wanted.git_diff, **about), sure=sys.maxsize)
    if wanted.git_changed is not None:
        load = partial(load_changed, wanted.git_changed, **about)
        yield None, partial(_named, load, sure=MAX_CHANGES_NAMED)
    if wanted.git_log:
        yield None, partial(_named, partial(load_log, wanted.git_log, **about), sure=sys.maxsize)


def _read_techniques(
    index: TechniqueIndex, wanted: SourceRequest, diagnostics: Diagnostics
) -> list[Item]:
    if wanted.attack is None:
        expected = "a STIX 2.1 bundle, a folder of STIX objects, or JSON of techniques"
        named = ", ".join(wanted.techniques[:MAX_NAMES_SHOWN])
        raise ItemError(f"techniques need --attack PATH: {expected}", where=named)
    known = wanted.attack
    if isinstance(known, str):
        known = read_attack(known, workspace=wanted.workspace, diagnostics=diagnostics)
    index.update(known)
    return []
