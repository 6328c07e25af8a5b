"""Run the installed git in a repository that nobody has read.

No program of the repository's is run, none of its settings names a file that is waited for, and
time, memory and output have limits. Codes: PF601 a warning of git's.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Diagnostics, ItemError
from ..files.access import show_path, temporary_file

if TYPE_CHECKING:
    from subprocess import CompletedProcess

MAX_GIT_SECONDS = 60
SLOW_GIT_SECONDS = 1
"""Seconds after which git may be waiting for a pipe: it is looked for."""
MAX_GIT_BYTES = 4 << 30
"""Memory of git: it reads a device that stands for its attributes without end."""
MAX_BYTES_FROM_GIT = 64 << 20
"""Bytes that git may print: a repository of 600 kB may hold files of gigabytes."""
MAX_COMMITS_READ = 200
"""Commits that tell which files were changed lately."""
# Inside a hook these name the repository of the hook, not the one of the folder.
_GIT_PLACES = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX"),
    *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"),
)
# Settings of a repository that name a program, or change the form of what is read here.
_GIT_SETTINGS = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.quotePath": "false",
    "log.showSignature": "false",  # it would run `gpg.program`
    "log.follow": "false",
    # Two that name a file: a pipe there is waited for. (`_FILE_SETTINGS` are two more.)
    "log.mailmap": "false",
    "diff.orderFile": os.devnull,
    "i18n.logOutputEncoding": "UTF-8",
    "safe.bareRepository": "explicit",
}
# The user may have set these for all repositories, so they count where they name a file.
_FILE_SETTINGS = ("config", "-z", "--path", "--get-regexp", r"^core\.(attributes|excludes)file$")
_unanswered: dict[Path | None, str] = {}
"""Repositories in which git did not answer, with the reason: it is not asked there again."""
NEW_FILES = ("ls-files", "-z", "--others", "--exclude-standard")
"""Asks for files that git neither tracks nor ignores."""
_FILES_OF_FOLDERS = {".gitattributes", ".gitignore"}
_NO_ANSWER = "it did not answer in {} s and is not asked again: is one of its files a pipe?"
_PARTS_OF_GIT = ("HEAD", "commondir", "objects", "refs")
# Objects that a partial clone lacks would be fetched by programs that its settings name.
_GIT_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C.UTF-8",
}


def commits_since_change(folder: Path) -> dict[str, int]:
    """Return how many commits ago each file below a folder was changed, for the last ones.

    Commits that changed something in the folder count, the newest is 1. A file that none of the
    last `MAX_COMMITS_READ` has changed is not in it. Empty where git cannot tell.
    """
    if not any(os.path.exists(above / ".git") for above in (folder, *folder.parents)):
        return {}
    form = ("--name-only", "--format=%x00", "--no-renames", "--no-ext-diff", "--relative")
    try:
        printed = run_git(
            folder, "log", f"--max-count={MAX_COMMITS_READ}", *form, "--", ".", names=True
        )
    except ItemError:
        return {}
    found: dict[str, int] = {}
    for number, names in enumerate(printed.split("\0")):
        for name in filter(None, names.split("\n")):
            found.setdefault(name, number)
    return found


_IS_SHALLOW = ("rev-parse", "--is-shallow-repository")


def run_git(
    folder: Path,
    *arguments: str,
    settings: Mapping[str, str] | None = None,
    names: bool = False,
    diagnostics: Diagnostics | None = None,
) -> str:
    """Return what a command of git prints in a folder. No program of the repository's is run.

    With `names` it is names of files, as Python writes them, else text. `settings` come before
    those of the repository. Raises `ItemError`, with git's own first line, where it fails, takes
    more than `MAX_GIT_SECONDS`, or is not installed. Where it took more, it is not asked again. Its
    warnings are added to `diagnostics`.
    """
    ran = _ask(folder, arguments, _GIT_SETTINGS | _without_devices(folder) | dict(settings or {}))
    if ran.returncode:
        said = ran.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        if work_tree(folder) is None:  # git speaks of HEAD, or of usage
            said = f"{show_path(folder.absolute())} is not a git repository"
        elif said.startswith("fatal: bad revision '") and _is_name(folder, said.split("'")[1]):
            said += "; the name of a file stands before --git-diff or --git-changed"
        elif "revision" in said and b"true" in _ask(folder, _IS_SHALLOW, _GIT_SETTINGS).stdout:
            said += "; this clone is shallow, git fetch --unshallow brings the earlier commits"
        elif "dubious ownership" in said:  # as of a folder that is mounted into a container
            said += f"; git config --global --add safe.directory {work_tree(folder)} trusts it"
        raise ItemError(said.removeprefix("fatal: ") or "git failed", where=f"git {arguments[0]}")
    if diagnostics is not None:
        for warning in re.findall("^warning: (.+)", ran.stderr.decode("utf-8", "replace"), re.M):
            diagnostics.add("PF601", f"skipped: git: {warning}")
    return os.fsdecode(ran.stdout) if names else ran.stdout.decode("utf-8", "replace")


def _is_name(folder: Path, name: str) -> bool:
    return bool(name) and os.path.exists(folder / name)


def _ask(
    folder: Path, arguments: tuple[str, ...], settings: Mapping[str, str]
) -> CompletedProcess[bytes]:
    import subprocess
    from threading import Timer

    top, command = work_tree(folder), ["git", *arguments]
    _refuse(top)
    environment = _git_environment(top, settings)
    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}

    def end(reason: str) -> None:
        _unanswered[top] = reason
        process.kill()

    def end_at_pipe() -> None:
        pipe = _find_pipe(top, lambda: process.poll() is None) if top else None
        if pipe:
            end(f"it is not asked: {show_path(pipe)} is a pipe, not a file")

    try:
        with (
            temporary_file() as said,
            subprocess.Popen(
                command, cwd=folder, env=environment, stderr=said, **streams
            ) as process,
        ):
            _limit_memory(process.pid)
            late = Timer(MAX_GIT_SECONDS, end, [_NO_ANSWER.format(MAX_GIT_SECONDS)])
            slow = Timer(SLOW_GIT_SECONDS, end_at_pipe)
            late.start()
            slow.start()
            try:
                assert process.stdout
                out = process.stdout.read(MAX_BYTES_FROM_GIT + 1)
                if len(out) <= MAX_BYTES_FROM_GIT:
                    process.wait()
            finally:
                late.cancel()
                slow.cancel()
                process.kill()
            said.seek(0)
            errors = said.read(MAX_BYTES_FROM_GIT)
    except FileNotFoundError:
        raise ItemError("git is not installed", where="git") from None
    except ValueError:  # of a NUL, which no argument of a program holds
        raise ItemError("a NUL in what git is asked for", where=f"git {arguments[0]}") from None
    except OSError as error:
        raise ItemError(f"git cannot be run: {type(error).__name__}", where="git") from None
    _refuse(top)
    if len(out) > MAX_BYTES_FROM_GIT:
        message = f"git prints more than {MAX_BYTES_FROM_GIT >> 20} MiB; ask for fewer files"
        raise ItemError(message, where=f"git {arguments[0]}")
    return subprocess.CompletedProcess(command, process.returncode, out, errors)


def _refuse(top: Path | None) -> None:
    if top in _unanswered:
        raise ItemError(_unanswered[top], where="git")


def _find_pipe(top: Path, is_waiting: Callable[[], bool]) -> Path | None:
    """Return a pipe that git would wait for, anywhere in a repository, while `is_waiting`."""
    for folder, _, names in os.walk(top):
        if not is_waiting():
            return None
        read = names if ".git" in Path(folder).parts else _FILES_OF_FOLDERS.intersection(names)
        for path in map(Path(folder).joinpath, read):
            if path.is_fifo():
                return path
    return None


def _limit_memory(process: int) -> None:
    if sys.platform == "linux":
        import resource

        with contextlib.suppress(OSError):  # it has ended, or may use even less
            resource.prlimit(process, resource.RLIMIT_DATA, (MAX_GIT_BYTES, MAX_GIT_BYTES))


def _without_devices(folder: Path) -> dict[str, str]:
    """Return the settings that name a pipe or a device in the place of a file, each with none."""
    top = work_tree(folder) or folder.absolute()
    with contextlib.suppress(OSError):
        return _devices_set_to_none(top, os.stat(top / ".git/config").st_mtime_ns)
    return _devices_set_to_none(top, 0)


@lru_cache(maxsize=64)
def _devices_set_to_none(top: Path, _changed: int) -> dict[str, str]:
    said = os.fsdecode(_ask(top, _FILE_SETTINGS, _GIT_SETTINGS).stdout)
    named = dict(setting.partition("\n")[::2] for setting in filter(None, said.split("\0")))
    there = {name: top / path for name, path in named.items() if (top / path).exists()}
    return {name: os.devnull for name, path in there.items() if not path.is_file()}


def _git_environment(top: Path | None, settings: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _GIT_PLACES}
    kept |= _GIT_ENVIRONMENT
    # `core.worktree` could name any folder, whose files would be shown as changes.
    if top:
        kept["GIT_WORK_TREE"] = str(top)
        # Of a `.git` with a broken HEAD git would go on to the repository around it, and show all
        # files of that one as deleted from here.
        ceilings = [str(top.parent), *filter(None, [kept.get("GIT_CEILING_DIRECTORIES")])]
        kept["GIT_CEILING_DIRECTORIES"] = os.pathsep.join(ceilings)
    # Not `-c`: a name that holds `=` would be read as another one.
    count = kept.get("GIT_CONFIG_COUNT", "")
    first = int(count) if count.isdecimal() else 0
    for number, (name, value) in enumerate(settings.items(), first):
        kept |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return kept | {"GIT_CONFIG_COUNT": str(first + len(settings))}


def work_tree(folder: Path) -> Path | None:
    """Return the folder above with a `.git` that git takes for a repository.

    Raises `ItemError` where git would take a folder before that for a bare repository: its files
    may have come as files of the repository around it, with settings that name programs.
    """
    for above in (folder.absolute(), *folder.absolute().parents):
        place = above / ".git"
        if place.is_file() or looks_like_git(place):
            return above
        if looks_like_git(above):
            message = "a folder that git takes for a repository without files; it is not asked"
            raise ItemError(message, where=show_path(folder))
    return None


def looks_like_git(folder: Path) -> bool:
    """Tell whether git may take a folder for a repository without files."""
    there = {name for name in _PARTS_OF_GIT if os.path.lexists(folder / name)}
    return "HEAD" in there and ("commondir" in there or {"objects", "refs"} <= there)


def unquote_name(name: str) -> str:
    """Return a name as it is: git quotes one with other than ASCII letters, `"` or a backslash."""
    name = name.removesuffix("\t")  # git's mark after a name with blanks
    if not name.startswith('"'):
        return name

    def characters(found: re.Match[str]) -> str:
        letter = found[1]
        if letter is None:  # the bytes of `ü` are written as `\303\274`
            octals = found[0].split("\\")[1:]
            return bytes(int(octal, 8) for octal in octals).decode("utf-8", "surrogateescape")
        return dict(zip("abtnvfr", "\a\b\t\n\v\f\r", strict=True)).get(letter, letter)

    return re.sub(r"(?:\\[0-3][0-7]{2})+|\\(.)", characters, name[1:-1])
