"""The user's list of trusted projects.

A cloned repository may bring a folder `.promptforge` with `templates` and `profiles`. It is used
only while its files are those that the user has seen and trusted. The list is a file of the user's
own: folders, and hashes of their files.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import NamedTuple

import msgspec

from ..errors import OptionError, TemplateError
from ..files import (
    YAML_SUFFIXES,
    TemplateFile,
    read_template_file,
    read_template_folder,
    remove_unfinished,
    write_whole,
)
from ..yaml_reader import MAX_YAML_BYTES, find_invisible

PROJECT_FOLDER = ".promptforge"
"""The folder that a project may bring."""

PROJECT_KINDS = ("templates", "profiles")
"""The folders in it."""

MAX_PROJECT_PROFILES = 200
"""The most profiles of one project."""


class ProjectFile(NamedTuple):
    """One file of a project's folder."""

    name: str
    """Within the folder, such as `templates/chunks/item.md.j2`."""
    size: int
    """Characters."""
    sha256: str
    invisible: int
    """Characters that its reader cannot see."""


class ProjectFolder(NamedTuple):
    """The folder of a project, as it is now."""

    folder: Path
    """Its path, with links resolved."""
    files: tuple[ProjectFile, ...]
    """The files that would be used, sorted by name."""

    @property
    def sha256(self) -> str:
        """The hash of all its files with their names."""
        named = json.dumps([(entry.name, entry.sha256) for entry in self.files])
        return hashlib.sha256(named.encode()).hexdigest()

    def folders(self, kind: str) -> list[Path]:
        """Return its folder of `templates` or `profiles`, if it has one."""
        if any(entry.name.startswith(f"{kind}/") for entry in self.files):
            return [self.folder / kind]
        return []


def find_project(workspace: str | os.PathLike[str]) -> ProjectFolder | None:
    """Read a project's folder, given its workspace or the folder itself; `None` if it is empty.

    Raises `TemplateError` if it cannot be read whole: too many files, or files that keep changing.
    """
    # Links are resolved, or a link that is turned elsewhere would still be trusted.
    folder = Path(os.path.realpath(workspace))
    if folder.name != PROJECT_FOLDER:
        folder = Path(os.path.realpath(folder / PROJECT_FOLDER))
    if not folder.is_dir():
        return None
    entries = []
    if (folder / "templates").is_dir():
        templates = read_template_folder(folder / "templates")
        entries += [_entry("templates", name, file) for name, file in templates.items()]
    profiles = _profiles(folder / "profiles")
    entries += [_entry("profiles", name, file) for name, file in profiles.items()]
    return ProjectFolder(folder, tuple(sorted(entries))) if entries else None


def _profiles(folder: Path) -> dict[str, TemplateFile]:
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(YAML_SUFFIXES))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise OptionError(f"{folder}: cannot be read: {error.strerror}") from None
    if len(names) > MAX_PROJECT_PROFILES:
        raise OptionError(f"{folder}: more than {MAX_PROJECT_PROFILES} profiles")
    try:
        paths = {name: folder / name for name in names if (folder / name).is_file()}
    except OSError as error:
        raise OptionError(f"{error.filename}: cannot be read: {error.strerror}") from None
    for path in paths.values():
        # The target of a link could change without a change of the project.
        if path.is_symlink():
            raise OptionError(f"{path}: a link; a project's profiles must be files of its own")
    return {name: read_template_file(path, MAX_YAML_BYTES) for name, path in paths.items()}


def _entry(kind: str, name: str, file: TemplateFile) -> ProjectFile:
    if file.unread:
        raise TemplateError(str(file.problem), where=str(file.path))
    # With its problem, so that a file that becomes readable is trusted anew.
    text = f"{file.problem or ''}\0{file.text}"
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    return ProjectFile(f"{kind}/{name}", len(file.text), sha256, len(find_invisible(file.text)))


class _List(msgspec.Struct):
    """The list as its file holds it."""

    folders: dict[str, str] = {}
    """Hashes by path, links resolved."""
    version: int = 1


def trust_state(project: ProjectFolder) -> str:
    """Return `trusted`, `changed` (since it was trusted) or `unknown`."""
    known = _load().folders.get(str(project.folder))
    if known is None:
        return "unknown"
    return "trusted" if known == project.sha256 else "changed"


def trust_project(project: ProjectFolder) -> None:
    """Trust a project's folder as it is now."""
    listed = _load()
    listed.folders[str(project.folder)] = project.sha256
    _save(listed)


def forget_project(folder: Path) -> bool:
    """Trust a folder no longer; return true if it was on the list."""
    listed = _load()
    found = listed.folders.pop(str(folder), None)
    if found is not None:
        _save(listed)
    return found is not None


def trust_list_path() -> Path:
    """Return the path of the list, in the user's folder of settings on this system."""
    home = Path(os.path.expanduser("~"))
    if sys.platform == "win32":
        base = Path(os.environ.get("APPDATA") or home / "AppData" / "Roaming")
    elif sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        # A relative path would let a cloned repository bring a list of its own.
        named = os.environ.get("XDG_CONFIG_HOME", "")
        base = Path(named) if os.path.isabs(named) else home / ".config"
    return base / "promptforge" / "trusted.json"


def _load() -> _List:
    path = trust_list_path()
    try:
        return msgspec.json.decode(path.read_bytes(), type=_List)
    except FileNotFoundError:
        return _List()
    except (OSError, msgspec.DecodeError) as error:
        raise OptionError(
            f"{path}: the list of trusted folders cannot be read ({type(error).__name__})"
        ) from None


def _save(listed: _List) -> None:
    path = trust_list_path()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    remove_unfinished(path.parent, path.name)
    with write_whole(path, 0o600) as file:  # for its owner alone
        file.write(msgspec.json.format(msgspec.json.encode(listed), indent=2) + b"\n")
