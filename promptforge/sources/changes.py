"""Items of changes that git knows: diffs, commits, and changed files as they are now.

No shell is used, and none of the programs that a repository's settings may name for its diffs.
Credentials are masked, and said.

Codes: PF604 a changed file that is no text, PF610 a filter of git that is not run.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from ..errors import Diagnostics, ItemError, quote
from ..files.access import Access, StrPath, forget_read, is_read, note_read_path
from ..model import Item
from ..text.format import plural
from ..text.unwanted import unwanted_name
from ..text.words import late_pattern
from .diff_sides import LINES_AROUND
from .folders import (
    MAY_BE_PACKED,
    PACKED,
    PATH_IN_HEADER,
    FolderFilter,
    LeftOut,
    find_packed,
    is_earlier_output,
    report_left_out,
    without_secrets,
)
from .git import NEW_FILES, run_git, unquote_name
from .ignored import linguist_marks
from .patterns import narrow_down
from .text_files import load_files
from .workspace import read_text

# A submodule's own changes would be asked of git inside it, under settings of its own.
_DIFF = (
    *("diff", "--no-color", "--no-ext-diff", "--no-textconv", "--relative"),
    *("--ignore-submodules=dirty", "--submodule=short"),
)
MAX_FILES_OF_COMMIT = 50
_OUTSIDE = late_pattern(r"(?:^|\0)((?:[^\0]*/)?\.\.?/[^\0]*|/[^\0]*)")
"""A name, in a list of those of an index, that leads out of the folder."""
_COMMIT_HEADS = (
    late_pattern(r"(?m)^commit [0-9a-f]{40,64}\b.*\n(?:[A-Z]\w+: |tree )"),
    late_pattern(r"(?m)^From [0-9a-f]{40,64} Mon Sep 17 "),
)
"""First lines of a commit, by `git log` and by `git format-patch`."""
_FILE_HEAD = late_pattern(r"(?m)^diff --(?:git|cc|combined) ")
_OTHER_DIFF = late_pattern(r"diff -|Index: .+\n=|--- .*\n\+\+\+ .*\n@@ ")
_OLD_NAME = late_pattern(r"(?m)^(?:rename|copy) from (.+)")
_SUBJECT = late_pattern(r"(?m)^(?:Subject: |    )(.+)")
_HASH_CHARACTERS = 7
"""Characters of a hash in the name of a commit."""


def load_diff(
    revisions: str, *, workspace: StrPath, diagnostics: Diagnostics, wanted: FolderFilter
) -> list[Item]:
    """Return the changes below the workspace as one `diff` item for each file that is wanted.

    `revisions` is as for `git diff`, such as `main...`; empty for all that is not committed. Raises
    `ItemError` where git fails, or nothing has changed.
    """
    # Settings may say otherwise of the prefixes.
    asked = ("-M", "--src-prefix=a/", "--dst-prefix=b/", *_revisions(revisions, Path(workspace)))
    settings = _settings_of_diff(Path(workspace), diagnostics)
    printed = run_git(Path(workspace), *_DIFF, *asked, "--", ".", settings=settings)
    if not printed:
        raise ItemError(f"nothing has changed in {_name(revisions)}", where="git diff")
    items = diff_items(printed)
    kept = narrow_down([item.path or item.name or "" for item in items], wanted)
    items = [item for item in items if (item.path or item.name) in kept]
    if not items:
        message = f"no selected file has changed in {_name(revisions)}"
        raise ItemError(message, where="git diff")
    for item in items:
        note_read_path(Path(workspace, item.path or item.name or ""))
    items = _marked(items, Path(workspace))
    whole: dict[str, str] = {}
    if wanted.secret_scan:
        whole = _whole_diffs(Path(workspace), [*_DIFF, *asked], settings, items)
    return _without_secrets(items, diagnostics, wanted, whole)


def _marked(items: Sequence[Item], workspace: Path) -> list[Item]:
    """Return items with what `.gitattributes` says of their files, which comes before a name."""
    folder = Path(os.path.realpath(workspace))
    marks = linguist_marks(folder, folder, [item.path or "" for item in items])
    if marks is None:
        return [*items]
    found = []
    for item in items:
        about = {**item.metadata.get("linguist", {}), **marks(item.path or item.name or "")}
        found.append(replace(item, metadata={"linguist": about} if about else {}))
    return found


def _whole_diffs(
    folder: Path,
    command: Sequence[str],
    settings: Mapping[str, str],
    items: Sequence[Item],
    paths: Sequence[str] = (".",),
) -> dict[str, str]:
    """Return the first line of each diff → the same with many more lines of its file.

    A file that is too large for git's output is not among them.
    """
    try:
        around = f"-U{LINES_AROUND}"
        printed = run_git(folder, *command, around, "--", *paths, settings=settings)
    except ItemError:
        if len(items) == 1 and paths != (".",):
            return {}
    else:
        return {text.partition("\n")[0]: text for text in _split_before(_FILE_HEAD, printed)}
    found: dict[str, str] = {}
    half = (len(items) + 1) // 2
    for part in (items[:half], items[half:]):
        names = [item.path or "" for item in part]
        names += [
            unquote_name(old) for item in part for old in _OLD_NAME.findall(item.content or "")
        ]
        literal = [f":(literal){name}" for name in names if name]
        if literal:
            found |= _whole_diffs(folder, command, settings, part, literal)
    return found


def load_log(
    number: int, *, workspace: StrPath, diagnostics: Diagnostics, wanted: FolderFilter
) -> list[Item]:
    """Return the last commits that changed the workspace as `commit` items, the newest first.

    Each has the hash as its id, and author, date, message and changed files as its text. Raises
    `ItemError` where git fails.
    """
    form = "--format=%x00%H%x00%h %s%x00commit %H%nAuthor: %an%nDate: %ad%n%n%B%x00"
    # Without renames git reads the trees alone, and no contents.
    about = ("--no-color", "--date=iso-strict", "--name-status", "--no-renames", "--relative")
    arguments = ("log", f"--max-count={number}", *about, form, "--", ".")
    fields = run_git(Path(workspace), *arguments).split("\0")[1:]
    commits = zip(fields[0::4], fields[1::4], fields[2::4], fields[3::4], strict=False)
    items = [
        Item(
            kind="commit", id=commit, name=name, content=f"{text.rstrip()}{_list_changed(changed)}"
        )
        for commit, name, text, changed in commits
    ]
    return _without_secrets(items, diagnostics, wanted)


def _list_changed(printed: str) -> str:
    """Return the changed files of a commit below a blank line, such as `M src/app.py`."""
    lines = [line.replace("\t", " ", 1) for line in printed.split("\n") if line]
    if not lines:  # of a merge
        return ""
    if len(lines) > MAX_FILES_OF_COMMIT:
        left_out = len(lines) - MAX_FILES_OF_COMMIT
        lines[MAX_FILES_OF_COMMIT:] = [f"… {plural(left_out, 'more file', 'more files')}"]
    return "\n\n" + "\n".join(lines)


def load_changed(
    revisions: str, *, workspace: StrPath, diagnostics: Diagnostics, wanted: FolderFilter
) -> list[Item]:
    """Return the files below the workspace that have changed, as they are now.

    `revisions` is as for `load_diff`; where it is empty, new files that git does not ignore are
    among them, but for earlier outputs. Lock and minified files are left out, and said. Raises
    `ItemError` where git fails, or no file has changed.
    """
    top = Path(workspace)
    asked = ("--name-only", "-z", "--diff-filter=d", *_revisions(revisions, Path(workspace)))
    settings = _settings_of_diff(top, diagnostics)
    printed = run_git(top, *_DIFF, *asked, "--", ".", settings=settings, names=True)
    names = set(printed.split("\0")) - {""}
    new: set[str] = set()
    if not revisions:
        new = set(run_git(top, *NEW_FILES, names=True).split("\0")) - {""}
        names |= new
    left_out = LeftOut(list)
    names = {name for name in names if not is_earlier_output(os.path.realpath(top / name), wanted)}
    named = {name for name in names if is_read(top / name)}
    near = Access(os.fspath(workspace))  # names of the repository, not of the user
    if not wanted.include and not wanted.ignored:
        packed = _packed_of_tracked(top, new)
        for name in sorted(names):
            reason = PACKED if name in packed else unwanted_name(name)
            if reason:
                left_out[reason].append(name)
                names.remove(name)
                if reason == PACKED and name not in named:
                    forget_read(top / name)
    report_left_out(left_out, ".", diagnostics)
    items: list[Item] = []
    for name in narrow_down(sorted(names), wanted):
        try:
            items += load_files(name, workspace=near, diagnostics=diagnostics)
        except ItemError as error:
            diagnostics.add("PF604", f"skipped: {error.bare}", where=error.where)
    if not items:
        but = ", but for those that are left out by default" if left_out else ""
        message = f"no selected file has changed in {_name(revisions)}{but}"
        raise ItemError(message, where="git diff")
    items = [replace(item, metadata={**item.metadata, "changed": True}) for item in items]
    return _without_secrets(items, diagnostics, wanted)


def _packed_of_tracked(top: Path, new: set[str]) -> set[str]:
    """Return those of the new files that are earlier outputs: packed of files in the folder."""
    said: dict[str, Any] = {"workspace": top, "diagnostics": Diagnostics()}
    texts: dict[str, str] = {}
    named: set[str] = set()
    for name in filter(MAY_BE_PACKED.fullmatch, new):
        with contextlib.suppress(ItemError):
            texts[name] = read_text(name, **said)
            named.update(Path(word).name for word in PATH_IN_HEADER.findall(texts[name]))
    tracked = run_git(top, "ls-files", "-z", names=True).split("\0") if texts else ()
    for name in tracked:
        if Path(name).name in named:
            with contextlib.suppress(ItemError):
                texts[name] = read_text(name, **said)
    return find_packed([*texts.items()]) & new


def _settings_of_diff(folder: Path, diagnostics: Diagnostics) -> dict[str, str]:
    """Return settings without the filters that the repository's own settings name, and say so.

    Git passes each changed file through the program of its filter. Those that the user has set for
    all repositories, such as the one of Git LFS, are run. It runs programs that `lfs.extension` of
    the repository's settings names, so it is not run where there are any.
    """
    # Git follows whatever names its index holds, such as ../../notes.
    outside = _OUTSIDE.search(run_git(folder, "ls-files", "-z", names=True))
    if outside:
        message = f"the index names a file outside of the repository: {quote(outside[1])}"
        raise ItemError(f"{message}; git reset makes another index", where="git diff")
    # As names: of a filter called b"\xff" the setting must be found again.
    listed = run_git(folder, "config", "-z", "--show-scope", "--list", names=True).split("\0")
    users: dict[str, str] = {}
    theirs: list[str] = []
    idle: dict[str, None] = {}
    extends_lfs = False
    for scope, setting in zip(listed[0::2], listed[1::2], strict=False):
        name, _, value = setting.partition("\n")
        if scope in ("system", "global", "command"):
            users[name] = value
        elif name.startswith("filter."):
            theirs.append(name)
            if name.endswith((".clean", ".process")) and value:
                idle[name] = None
        elif name.startswith("lfs.extension."):
            extends_lfs = True
    for name in [name for name in users if extends_lfs and name.startswith("filter.lfs.")]:
        del users[name]
        theirs.append(name)
        if not name.endswith(".required"):
            idle[name] = None
    idle = {name: None for name in idle if not users.get(name)}
    named = ", ".join(dict.fromkeys(quote(name[7:].rpartition(".")[0]) for name in idle))
    if named:
        message = f"not run: filters of the repository's own settings: {named}; changes show as"
        message += (
            " without them. To run one, set it in your own settings alone (git config --global)"
        )
        diagnostics.add("PF610", message, severity="info")
    # No program, but for one of the user's; where none is set, `required` would be an error.
    return {name: users.get(name, "false" if name.endswith(".required") else "") for name in theirs}


def _without_secrets(
    items: list[Item],
    diagnostics: Diagnostics,
    wanted: FolderFilter,
    whole: Mapping[str, str] = MappingProxyType({}),
) -> list[Item]:
    """Return items without credentials; `whole`: the first line of a diff → it with more lines."""
    kept = []
    for item in items:
        # The name of a commit is its subject, which may hold what its message explains.
        text = f"{item.name or ''}\n{item.content or ''}"
        place = item.path or item.name or ""
        shown = item.id and f"commit {item.id[:_HASH_CHARACTERS]}"
        known = whole.get((item.content or "").partition("\n")[0], "")
        clean = without_secrets(text, place, diagnostics, wanted, shown, known)
        expanded = item.expanded
        if expanded:  # the long outputs of a notebook
            expanded = without_secrets(expanded, place, diagnostics, wanted, shown)
        if clean is None or (item.expanded and expanded is None):
            continue
        item = replace(item, expanded=expanded)
        if clean != text:
            lines = clean.split("\n")
            names = (item.name or "").count("\n") + 1
            name = "\n".join(lines[:names]) if item.name else item.name
            item = replace(item, name=name, content="\n".join(lines[names:]))
        kept.append(item)
    return kept


def _revisions(revisions: str, folder: Path) -> list[str]:
    words = revisions.split() or ["HEAD"]
    if not revisions:
        try:
            run_git(folder, "rev-parse", "--quiet", "--verify", "HEAD")
        except ItemError:  # before the first commit all files are new: beside the empty tree
            words = [run_git(folder, "hash-object", "-t", "tree", "--stdin").strip()]
    # `--output=FILE` is a flag of `git diff`; `--end-of-options` does not keep git 2.39 from it.
    if any(word.startswith("-") for word in words):
        message = (
            f"{quote(revisions)} holds a flag; revisions are wanted, such as main... or HEAD~2"
        )
        raise ItemError(message, where="git diff")
    return words


def _name(revisions: str) -> str:
    return quote(revisions) if revisions else "the working tree since the last commit"


def change_items(text: str) -> list[Item]:
    """Return the changes in what git or another program printed; none where it holds no changes.

    Commits, as of `git show`, `git log -p` and `git format-patch --stdout`, are `commit` items with
    their diffs. Of `git diff` each file is a `diff` item; a diff of other programs is one item.
    """
    for head in _COMMIT_HEADS:
        if head.match(text):
            return [_commit_item(part) for part in _split_before(head, text)]
    if _FILE_HEAD.match(text):
        return diff_items(text)
    if _OTHER_DIFF.match(text):
        return [Item(kind="diff", content=text, name="standard input", language="diff")]
    return []


def _commit_item(text: str) -> Item:
    commit = text.split(maxsplit=2)[1]
    subject = _SUBJECT.search(text.partition("\ndiff --")[0])
    words = "" if subject is None else f" {subject[1]}"
    name = f"{commit[:_HASH_CHARACTERS]}{words}"
    return Item(kind="commit", id=commit, name=name, content=_with_whole_end(text.rstrip("\n")))


def diff_items(diff: str) -> list[Item]:
    """Return one `diff` item for each file in the output of `git diff`."""
    parts = _split_before(_FILE_HEAD, diff)
    return [_diff_item(_with_whole_end(text.removesuffix("\n"))) for text in parts]


def _with_whole_end(text: str) -> str:
    """Return a text with the line end that was cut in two, as of a file from Windows."""
    return f"{text}\n" if text.endswith("\r") else text


def _split_before(head: re.Pattern[str], text: str) -> Iterator[str]:
    """Yield the parts of a text that begin with a head. No line of a file in a diff does so."""
    starts = [found.start() for found in head.finditer(text)]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=False):
        yield text[start:end]


def _diff_item(text: str) -> Item:
    head = text.partition("\n@@")[0].split("\n")
    path = _path_of_diff(head)
    name = None if path else head[0].removeprefix("diff --git ")
    about = {"linguist": {"generated": True}} if path and unwanted_name(path) else {}
    return Item(kind="diff", content=text, path=path, name=name, language="diff", metadata=about)


def _path_of_diff(head: Sequence[str]) -> str | None:
    """Return the path of the file that the lines above its first hunk are about."""
    for line in head:
        if line.startswith(("rename to ", "copy to ")):
            return unquote_name(line.partition(" to ")[2])
    form, _, names = head[0].removeprefix("diff --").partition(" ")
    if form != "git":  # of a merge: one name
        return unquote_name(names)
    # The name stands there twice, and may hold blanks.
    middle = len(names) // 2
    old, new = unquote_name(names[:middle]), unquote_name(names[middle + 1 :])
    if old == new:  # `diff.noprefix` is set
        return new
    # Prefixes are `a/` and `b/`, or `i/` and `w/` where `diff.mnemonicPrefix` is set.
    return new[2:] if old[1:2] == "/" and old[1:] == new[1:] else None
