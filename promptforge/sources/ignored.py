"""Find the files of a folder to leave out: ignored ones, and those that tools installed or built.

Ignore files are `.gitignore`, `.ignore`, and those by which other tools keep files from an LLM.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import Diagnostics, ItemError
from ..files.access import is_inside, show_path
from ..text.words import late_pattern, read_patterns
from .workspace import read_text

TOOL_IGNORE_FILES = (
    ".aiexclude", ".aiderignore", ".aiignore", ".clineignore", ".codeiumignore", ".cursorignore",
    ".geminiignore", ".gitingestignore", ".repomixignore", ".rooignore",
)  # fmt: skip
"""Files of other tools that keep files of a folder from LLMs; said, as nobody wrote them for us."""
_INSTALLED_NAMES = frozenset({
    "node_modules", "bower_components", "jspm_packages", "__pycache__", "__pypackages__", "Pods",
    "Carthage", "DerivedData", "elm-stuff", "site-packages",
})  # fmt: skip
"""Folders that a package manager or a compiler fills, whatever ignores them."""
_INSTALLED_MARKS = frozenset({"pyvenv.cfg", "conda-meta", "CACHEDIR.TAG", "project.assets.json"})
"""Names inside of such a folder: of a virtual environment, of Rust's `target`, of .NET's `obj`."""
_INSTALLED_BESIDE = {
    "target": ("Cargo.toml", "pom.xml", "build.sbt"),
    "_build": ("mix.exs", "rebar.config", "dune-project"),
    "dist-newstyle": ("cabal.project",),
}
"""Folder → files; a compiler fills it where one of them stands beside it."""
MAX_IGNORE_PATTERNS, MAX_IGNORE_CHARS = 10_000, 1 << 18
"""Patterns of the ignore files in one folder, and their characters."""
MAX_ATTRIBUTES = 100
"""Words of a line of `.gitattributes` that are read."""
MAX_IGNORE_SECONDS = 10
"""Processor time of all ignore files below a folder: 10,000 patterns take 1 ms and more a name."""
PATTERNS_AT_ONCE = 500
"""Patterns in one expression; Python reads one of all slowly."""
_GROUP_NAME = late_pattern(r"\(\?P<ps_d>")
_ATTRIBUTES = ".gitattributes"
_MARKS = ("generated", "vendored", "documentation")
_MARK = late_pattern(r"([-!]?)linguist-(\w+)(?:=(true|false))?")


class IgnoreRules:
    """Tells whether a path in a folder is ignored; the nearest file that mentions it decides.

    Files above the folder count up to the top of its repository, and without one up to `base`.
    Where the folder itself is ignored none of them counts: a user who names it wants its files.
    """

    def __init__(
        self,
        folder: Path,
        names: Sequence[str] = (".gitignore", ".ignore"),
        base: Path | None = None,
        lines_of: Callable[[str], list[str]] = str.splitlines,
    ) -> None:
        """Read the files of these `names`, their texts by `lines_of`; a later one overrules others.

        Asking raises `ItemError` for more patterns than `MAX_IGNORE_PATTERNS` in one folder, and
        where all have taken `MAX_IGNORE_SECONDS`.
        """
        self._root = _find_root(folder, base)
        self._names = names
        self._lines_of = lines_of
        self._rules: dict[str, _Rules | None] = {}
        """Folder → the rules of its files, if it has one."""
        self._folders: dict[str, bool] = {}
        """Folders that were asked for: each name in them asks again."""
        self._seconds = 0.0
        self._lead = "".join(f"{part}/" for part in folder.relative_to(self._root).parts)
        # `build/` is in most files of this sort, and yet `--in build` asks for its files.
        if self._lead and self._ignores(self._lead):
            self._root, self._rules, self._lead = folder, {}, ""

    def __call__(self, path: str) -> bool:
        """Tell of a path below the folder, with `/` between its parts and after a folder's."""
        verdict = self._folders.get(path)
        if verdict is not None:
            return verdict
        begun = time.thread_time()
        verdict = self._ignores(self._lead + path)
        self._seconds += time.thread_time() - begun
        if self._seconds > MAX_IGNORE_SECONDS:
            raise _too_many_patterns(f"take more than {MAX_IGNORE_SECONDS} s", self._root)
        if path.endswith("/"):
            self._folders[path] = verdict
        return verdict

    def is_below(self, name: str) -> bool:
        """Tell of a file, and of all folders above it first."""
        parts = name.split("/")
        folders = ("/".join(parts[:end]) + "/" for end in range(1, len(parts)))
        return any(map(self, folders)) or self(name)

    def _ignores(self, path: str) -> bool:
        above = path.rstrip("/")
        while above:
            above = above.rpartition("/")[0]
            folder = f"{above}/" if above else ""
            if folder not in self._rules:
                self._rules[folder] = self._read(self._root / folder)
            rules = self._rules[folder]
            verdict = None if rules is None else rules.verdict(path[len(folder) :])
            if verdict is not None:  # `!pattern` says False
                return verdict
        return False

    def _read(self, folder: Path) -> _Rules | None:
        lines: list[str] = []
        for name in self._names:
            if not os.path.lexists(folder / name):  # the message about that has a near name
                continue
            try:
                text = read_text(folder / name, workspace=self._root, diagnostics=Diagnostics())
            except ItemError:  # there is none, or it is not ours to read
                continue
            lines += self._lines_of(text)
        lines = [line for line in lines if line.strip() and not line.startswith("#")]
        if len(lines) > MAX_IGNORE_PATTERNS or sum(map(len, lines)) > MAX_IGNORE_CHARS:
            raise _too_many_patterns(
                f"are more than {MAX_IGNORE_PATTERNS:,} or {MAX_IGNORE_CHARS >> 10} kB", folder
            )
        return _Rules(read_patterns(lines)) if lines else None


def _too_many_patterns(message: str, folder: Path) -> ItemError:
    way_out = "--ignored reads the folder without them"
    return ItemError(
        f"the patterns of .gitignore and .ignore {message}; {way_out}", where=show_path(folder)
    )


class _Rules:
    """The patterns of one folder. Most paths match none, which a few expressions tell at once."""

    def __init__(self, patterns: Any) -> None:
        self._patterns = [pattern for pattern in patterns.patterns if pattern.include is not None]
        # A group of one name may stand in an expression once.
        texts = [
            _GROUP_NAME.sub("(?:", pattern.regex.pattern)
            for pattern in self._patterns
            if pattern.regex
        ]
        starts = range(0, len(texts), PATTERNS_AT_ONCE)
        self._any = [re.compile("|".join(texts[at : at + PATTERNS_AT_ONCE])) for at in starts]

    def verdict(self, path: str) -> bool | None:
        """Return what the last pattern that matches a path says: ignored, not so, or nothing."""
        if not any(pattern.match(path) for pattern in self._any):
            return None
        for pattern in reversed(self._patterns):
            found = pattern.match_file(path)
            if found is None:
                continue
            # The one group is the `/` behind a folder. Of `b` and `!a/`, git asks the first of
            # `a/b`: the second names the folder alone, and `check_file` would take it for all that
            # is inside.
            match = found.match
            if not match.re.groups or match.end(1) in (-1, len(path)):
                return bool(pattern.include)
        return None


def linguist_marks(
    folder: Path, base: Path, names: Sequence[str]
) -> Callable[[str], dict[str, bool]] | None:
    """Return a function that gives the marks which a file has, or is expressly not to have.

    They are those of `.gitattributes` by which GitHub knows generated files, and others' work: in a
    folder with these names of files, and above it up to the top of its repository. None where none
    has any.
    """
    root = _find_root(folder, base)
    above = [each / _ATTRIBUTES for each in (folder, *folder.parents) if is_inside(each, root)]
    below = [folder / name for name in names if name.endswith(_ATTRIBUTES)]
    for place in (*above, *below):
        if os.path.lexists(place):
            with contextlib.suppress(ItemError):
                if "linguist-" in read_text(place, workspace=root, diagnostics=Diagnostics()):
                    break
    else:
        return None
    rules = {
        (mark, is_set): IgnoreRules(folder, [_ATTRIBUTES], base, partial(_marked, mark, is_set))
        for mark in _MARKS
        for is_set in (True, False)
    }
    return lambda name: {mark: is_set for (mark, is_set), each in rules.items() if each(name)}


def _marked(mark: str, is_set: bool, text: str) -> list[str]:
    """Return lines of `.gitattributes` as of `.gitignore`, for files with a mark, or without it."""
    lines: list[str] = []
    macros: dict[str, str] = {}
    for line in text.splitlines():
        pattern, *words = line.split()[:MAX_ATTRIBUTES] or [""]
        words = [macros.get(word, word) for word in words]
        for found in filter(None, map(_MARK.fullmatch, words)):
            sign, name, value = found.groups()
            if pattern.startswith("[attr]"):
                macros[pattern.removeprefix("[attr]")] = found[0]
            elif name == mark and pattern[0] not in '!"':
                has = sign == "" and value != "false"
                # `!` takes back what lines before it say, of either kind.
                lines.append(pattern if sign != "!" and has == is_set else f"!{pattern}")
    return lines


def _find_root(folder: Path, base: Path | None) -> Path:
    """Return the top of the folder's repository; without one `base`, if the folder lies in it."""
    for above in (folder, *folder.parents):
        if os.path.exists(above / ".git"):
            return above
    return base if base is not None and is_inside(folder, base) else folder


def tool_rules(top: Path, base: Path, names: Sequence[str]) -> Iterator[tuple[str, IgnoreRules]]:
    """Yield the ignore files of other tools that count in a folder with these names, by name."""
    root = _find_root(top, base)
    above = [each for each in (top, *top.parents) if is_inside(each, root)]
    listed = {name.rpartition("/")[2] for name in names}
    for tool in TOOL_IGNORE_FILES:
        if tool in listed or any(os.path.exists(each / tool) for each in above):
            yield tool, IgnoreRules(top, [tool], base)


def is_installed(folder: str) -> bool:
    """Tell whether a package manager or a compiler fills a folder: `node_modules`, `.venv`."""
    above, name = os.path.split(folder)
    marks = [os.path.join(folder, mark) for mark in _INSTALLED_MARKS]
    marks += [os.path.join(above, mark) for mark in _INSTALLED_BESIDE.get(name, ())]
    return name in _INSTALLED_NAMES or any(map(os.path.exists, marks))


class InstalledFolders:
    """Finds the folder above a file that `is_installed`, each folder looked at once."""

    def __init__(self, top: Path) -> None:
        self._top = top
        self._known: dict[str, str | None] = {"": None}

    def __call__(self, name: str) -> str | None:
        """Return the outermost such folder above a file, with a `/` behind it; None for none."""
        folder = name.rpartition("/")[0]
        if folder not in self._known:
            found = self(folder)
            if found is None and is_installed(os.path.join(self._top, folder)):
                found = f"{folder}/"
            self._known[folder] = found
        return self._known[folder]
