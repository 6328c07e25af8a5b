"""What there is to check: paths → template folders, profiles, and the files among them that are meant."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from .. import yamltext
from ..errors import OptionError, PromptForgeError, quote
from ..folders import YAML, contents
from ..templates import PROMPTS

MOST = 50_000
"""Files of one folder that are looked at."""
DEEPEST = 4
"""Folders within folders in which they are looked for."""
_SKIPPED = frozenset({"__pycache__", "node_modules"})


class Targets:
    """Folders and files to check."""

    def __init__(self) -> None:
        self.templates: list[Path] = []
        """Template folders."""
        self.profiles: list[Path] = []
        """Profile files."""
        self.others: list[Path] = []
        """Files of cases that lie among the profiles."""
        self.only: set[Path] = set()
        """The template files that are meant; empty: all in the folders."""
        self.all: set[Path] = set()
        """The template folders of which every file is meant."""

    def add(self, path: Path) -> None:
        """Add a file or folder. Raises `OptionError` for what is not there or nothing to check."""
        if path.is_dir():
            self._add_folder(path)
        elif not path.exists():
            raise OptionError(f"there is no file or folder {quote(str(path))}")
        elif path.suffix == ".j2" and _is_set(path.parent):
            self._some(path, 3)
        elif path.suffix == ".j2" or path.name == "layout.yaml":
            nested = _is_root(path.parent) and not any(
                _is_page(each.name) for each in path.parent.iterdir()
            )
            self._some(path, 1 if nested and path.suffix == ".j2" else 2)
        else:
            other = _other(path)
            if path.suffix not in YAML or other:
                message = f"{quote(str(path))} is neither a template (.j2), a layout.yaml nor a profile (.yaml)"
                raise OptionError(f"{message}{other}")
            self.profiles.append(path)

    def _add_folder(self, path: Path) -> None:
        try:
            entries = sorted(os.scandir(path), key=lambda entry: entry.name)
        except OSError as error:
            raise OptionError(
                f"the folder {quote(str(path))} cannot be read: {error.strerror}"
            ) from None
        names = {entry.name for entry in entries}
        if any(map(_is_page, names)) and not _is_root(path):
            self._some(path, 1)
            return
        if _is_set(path) or (os.path.basename(os.path.abspath(path)) == PROMPTS and _is_root(path)):
            self._some(path, 2 if _is_set(path) else 1)
            return
        known = False
        if _is_root(path) or any(name.endswith(".j2") for name in names):
            self._root(path)
            self.all.add(path)
            known = True
        else:
            for name in ("templates", "profiles"):
                if name in names and (path / name).is_dir():
                    self._part(path / name, name)
                    known = True
        if not known or path.name == "profiles":
            known = self._profiles(path) or known
        if not known and (names or path.name not in ("templates", "profiles")):
            why = f"; {self.others[-1].name}{_other(self.others[-1])[1:]}" if self.others else ""
            raise OptionError(
                f"the folder {quote(str(path))} holds no templates, layouts or profiles{why}"
            )

    def _profiles(self, path: Path) -> bool:
        """Add the profiles of a folder, and tell whether there are any."""
        listed = [each for each in sorted(path.iterdir()) if each.suffix in YAML]
        others = [each for each in listed if holds_cases(each)]
        self.others += others
        self.profiles += (found := [each for each in listed if each not in others])
        return bool(found)

    def _part(self, path: Path, name: str) -> None:
        if name == "templates":
            self._root(path)
            self.all.add(path)
        else:
            self._profiles(path)

    def _some(self, path: Path, depth: int) -> None:
        """Add a file, or all of a folder, that lies so deep in a template folder."""
        if len(path.parts) < depth:  # `item.md.j2`, seen from its own folder
            path = Path(os.path.abspath(path))
        self._root(path.parents[depth - 1])
        self.only.update([path] if path.is_file() else files_in(path))

    def _root(self, path: Path) -> None:
        if path not in self.templates:
            self.templates.append(path)

    def meant(self, path: Path) -> bool:
        """Whether findings about a template file are asked for."""
        return path in self.only or any(path.is_relative_to(folder) for folder in self.all)


def _is_page(name: str) -> bool:
    return name == "layout.yaml" or (name.startswith("layout.") and name.endswith(".j2"))


def _is_root(path: Path) -> bool:
    return any(
        any(path.glob(pattern)) for pattern in ("*/layout.yaml", "*/*.j2", f"{PROMPTS}/*/*.j2")
    )


def _is_set(folder: Path) -> bool:
    """Whether a folder is a set of templates for whole prompts: `prompt/SET`."""
    above = Path(os.path.abspath(folder)).parent
    return above.name == PROMPTS and not any(_is_page(each.name) for each in above.iterdir())


def _other(path: Path) -> str:
    """Return what a YAML or JSON file is that is no profile, and which command takes it; empty where it may be one."""
    if path.suffix in (".json", ".jsonl"):
        return "; files of items are for `promptforge render`"
    if path.suffix not in YAML:
        return ""
    if holds_cases(path):
        return "; it holds cases, which `promptforge test` takes"
    try:
        values = yamltext.load(contents(path).decode("utf-8-sig"), str(path))
    except (OSError, ValueError, PromptForgeError):  # said where it is read
        return ""
    if isinstance(values, list) or (isinstance(values, dict) and "items" in values):
        return "; it holds items, which `promptforge render` takes"
    return (
        "; it is a job: `promptforge render --job`"
        if isinstance(values, dict) and "knowledge" in values
        else ""
    )


def holds_cases(path: Path) -> bool:
    """Whether a YAML file, which may be broken, says `cases:` at the margin."""
    try:
        return any(
            line.startswith(b"cases:")
            for line in contents(path).removeprefix(b"\xef\xbb\xbf").splitlines()
        )
    except OSError:  # said where it is read
        return False


def files_in(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder and of those in it, sorted, none that is hidden, links to folders not followed."""
    left = MOST
    waiting: list[tuple[Path, int]] = [(folder, 1)]
    while waiting:
        path, depth = waiting.pop()
        try:
            entries = sorted(os.scandir(path), key=lambda entry: entry.name, reverse=True)
        except OSError:
            continue
        for entry in entries:
            if entry.name.startswith(".") or entry.name in _SKIPPED:
                continue
            left -= 1
            if left < 0:
                return
            if entry.is_dir(follow_symlinks=False):
                if depth < DEEPEST:
                    waiting.append((Path(entry.path), depth + 1))
            else:
                yield Path(entry.path)


def unreadable_folders(folder: Path) -> Sequence[str]:
    """Return the folders directly in `folder` that cannot be listed."""
    found = []
    try:
        for entry in os.scandir(folder):
            if entry.is_dir() and not os.access(entry.path, os.R_OK | os.X_OK):
                found.append(entry.path)
    except OSError:
        found.append(str(folder))
    return sorted(found)
