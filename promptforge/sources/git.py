"""Take changes, commits and changed files from a repository, through the installed git.

No shell is used, and none of the programs that a repository's settings may name for its diffs. What
holds a credential is left out, and said.

Codes: PF604 a changed file that is no text, PF610 a filter that is not run.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..errors import Diagnostics, ItemError, quote
from ..model import Item
from .folders import FolderFilter, leaves_out_secret, run_git
from .text_files import load_files
from .workspace import StrPath

# A submodule's own changes would be asked of git inside it, under settings of its own.
_DIFF = (
    *("diff", "--no-color", "--no-ext-diff", "--no-textconv", "--relative"),
    *("--ignore-submodules=dirty", "--submodule=short"),
)


def load_diff(
    revisions: str, *, workspace: StrPath, diagnostics: Diagnostics, wanted: FolderFilter
) -> list[Item]:
    """Return the changes below the workspace as one `diff` item for each file.

    `revisions` is as for `git diff`, such as `main...`; empty for all that is not committed. Raises
    `ItemError` where git fails, or nothing has changed.
    """
    asked = ("-M", *_prefixes(), *_revisions(revisions))
    printed = _run_diff(Path(workspace), diagnostics, *asked)
    if not printed:
        raise ItemError(f"nothing has changed in {_name(revisions)}", where="git diff")
    items = [_diff_item(text) for text in _split_files(printed)]
    return _without_secrets(items, diagnostics, wanted)


def load_log(
    number: int, *, workspace: StrPath, diagnostics: Diagnostics, wanted: FolderFilter
) -> list[Item]:
    """Return the last commits that changed the workspace as `commit` items, the newest first.

    Each has the hash as its id, and author, date and message as its text. Raises `ItemError` where
    git fails.
    """
    form = "--format=%H%x00%h %s%x00commit %H%nAuthor: %an%nDate: %ad%n%n%B%x00"
    arguments = ("log", f"--max-count={number}", "--no-color", "--date=iso-strict", form, "--", ".")
    fields = run_git(Path(workspace), *arguments).split("\0")
    commits = zip(fields[0::3], fields[1::3], fields[2::3], strict=False)
    items = [
        Item(kind="commit", id=commit.strip(), name=name, content=text.rstrip("\n"))
        for commit, name, text in commits
    ]
    return _without_secrets(items, diagnostics, wanted)


def load_changed(
    revisions: str, *, workspace: StrPath, diagnostics: Diagnostics, wanted: FolderFilter
) -> list[Item]:
    """Return the files below the workspace that have changed, as they are now.

    `revisions` is as for `load_diff`; where it is empty, new files that git does not ignore are
    among them. Raises `ItemError` where git fails, or no file has changed.
    """
    top = Path(workspace)
    asked = ("--name-only", "-z", "--diff-filter=d", *_revisions(revisions))
    names = _run_diff(top, diagnostics, *asked)
    if not revisions:
        names += run_git(top, "ls-files", "-z", "--others", "--exclude-standard")
    items: list[Item] = []
    for name in sorted({*filter(None, names.split("\0"))}):
        try:
            items += load_files(name, workspace=workspace, diagnostics=diagnostics)
        except ItemError as error:
            diagnostics.add("PF604", f"skipped: {error.bare}", where=error.where)
    if not items:
        raise ItemError(f"no file has changed in {_name(revisions)}", where="git diff")
    return _without_secrets(items, diagnostics, wanted)


def _run_diff(folder: Path, diagnostics: Diagnostics, *arguments: str) -> str:
    """Run `git diff` without the filters that the repository's own settings name, and say so.

    Git passes each changed file through the program of its filter. Those that the user has set for
    all repositories, such as the one of Git LFS, are run.
    """
    listed = run_git(folder, "config", "-z", "--show-scope", "--list").split("\0")
    users: dict[str, str] = {}
    theirs: list[str] = []
    idle: dict[str, None] = {}
    for scope, setting in zip(listed[0::2], listed[1::2], strict=False):
        name, _, value = setting.partition("\n")
        if scope in ("system", "global", "command"):
            users[name] = value
        elif name.startswith("filter."):
            theirs.append(name)
            if name.endswith((".clean", ".process")) and value:
                idle[name] = None
    idle = {name: None for name in idle if not users.get(name)}
    if named := ", ".join(quote(name.split(".", 1)[1].rpartition(".")[0]) for name in idle):
        message = f"not run: filters of the repository's own settings: {named}; changes show as"
        message += " without them. To run one, set it in your own settings (git config --global)"
        diagnostics.add("PF610", message, severity="info")
    # No program, but for one of the user's; where none is set, `required` would be an error.
    settings = {
        name: users.get(name, "false" if name.endswith(".required") else "") for name in theirs
    }
    return run_git(folder, *_DIFF, *arguments, settings=settings)


def _without_secrets(
    items: list[Item], diagnostics: Diagnostics, wanted: FolderFilter
) -> list[Item]:
    return [
        item
        for item in items
        if not leaves_out_secret(
            item.content or "", item.path or item.name or "", diagnostics, wanted
        )
    ]


def _revisions(revisions: str) -> list[str]:
    words = revisions.split() or ["HEAD"]
    # `--output=FILE` is a flag of `git diff`; `--end-of-options` does not keep git 2.39 from it.
    if any(word.startswith("-") for word in words):
        message = (
            f"{quote(revisions)} holds a flag; revisions are wanted, such as main... or HEAD~2"
        )
        raise ItemError(message, where="git diff")
    return [*words, "--", "."]


def _prefixes() -> tuple[str, str]:
    return "--src-prefix=a/", "--dst-prefix=b/"  # settings may say otherwise


def _name(revisions: str) -> str:
    return quote(revisions) if revisions else "the working tree since the last commit"


def _split_files(diff: str) -> Iterator[str]:
    """Yield the part of each file. No line of a file begins so: it would begin with a blank."""
    for part in f"\n{diff}".split("\ndiff --git ")[1:]:
        yield "diff --git " + part.removesuffix("\n")


def _diff_item(text: str) -> Item:
    head = text.partition("\n@@")[0].split("\n")
    found = {line[:6]: line[6:] for line in reversed(head) if line.startswith(("--- a/", "+++ b/"))}
    path = found.get("+++ b/") or found.get("--- a/")
    for line in head:
        if path is None and line.startswith("rename to "):
            path = line.removeprefix("rename to ")
    path = None if path is None else path.removesuffix("\t")  # git's mark after a name with blanks
    name = None if path else head[0].removeprefix("diff --git ")
    return Item(kind="diff", content=text, path=path, name=name, language="diff")
