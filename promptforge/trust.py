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

from . import template_files, yamltext
from .errors import OptionError, TemplateError
from .folders import YAML
from .writing import clean, whole

FOLDER = ".promptforge"
"""The folder that a project may bring."""
KINDS = ("templates", "profiles")
"""The folders in it."""
PROFILES_CAP = 200
"""The most profiles of one project."""


class Entry(NamedTuple):
    """One file of a project's folder."""

    name: str
    """Within the folder, such as `templates/chunks/item.md.j2`."""
    size: int
    """Characters."""
    sha256: str
    invisible: int
    """Characters that its reader cannot see."""


class Project(NamedTuple):
    """The folder of a project, as it is now."""

    folder: Path
    """Its path, with links resolved."""
    files: tuple[Entry, ...]
    """The files that would be used, sorted by name."""

    @property
    def sha256(self) -> str:
        """The hash of all its files with their names."""
        told = json.dumps([(entry.name, entry.sha256) for entry in self.files])
        return hashlib.sha256(told.encode()).hexdigest()

    def folders(self, kind: str) -> list[Path]:
        """Return its folder of `templates` or `profiles`, if it has one."""
        if any(entry.name.startswith(f"{kind}/") for entry in self.files):
            return [self.folder / kind]
        return []


def find(workspace: str | os.PathLike[str]) -> Project | None:
    """Read a project's folder, given its workspace or the folder itself; `None` if it is empty.

    Raises `TemplateError` if it cannot be read whole: too many files, or files that keep changing.
    """
    folder = Path(os.path.realpath(workspace))
    if folder.name != FOLDER:
        folder = Path(os.path.realpath(folder / FOLDER))
    if not folder.is_dir():
        return None
    entries = []
    if (folder / "templates").is_dir():
        templates = template_files.read_folder(folder / "templates")
        entries += [_entry("templates", name, file) for name, file in templates.items()]
    profiles = _profiles(folder / "profiles")
    entries += [_entry("profiles", name, file) for name, file in profiles.items()]
    return Project(folder, tuple(sorted(entries))) if entries else None


def _profiles(folder: Path) -> dict[str, template_files.File]:
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(YAML))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise OptionError(f"{folder}: cannot be read: {error.strerror}") from None
    if len(names) > PROFILES_CAP:
        raise OptionError(f"{folder}: more than {PROFILES_CAP} profiles")
    try:
        paths = {name: folder / name for name in names if (folder / name).is_file()}
    except OSError as error:
        raise OptionError(f"{error.filename}: cannot be read: {error.strerror}") from None
    for path in paths.values():
        # The target of a link could change without a change of the project.
        if path.is_symlink():
            raise OptionError(f"{path}: a link; a project's profiles must be files of its own")
    return {
        name: template_files.read_file(path, yamltext.MAX_BYTES) for name, path in paths.items()
    }


def _entry(kind: str, name: str, file: template_files.File) -> Entry:
    if file.unread:
        raise TemplateError(str(file.problem), where=str(file.path))
    text = f"{file.problem or ''}\0{file.text}"
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    return Entry(f"{kind}/{name}", len(file.text), sha256, len(yamltext.invisible(file.text)))


# --- the user's list ---


class _List(msgspec.Struct):
    """The list as its file holds it."""

    folders: dict[str, str] = {}
    """Hashes by path, links resolved."""
    version: int = 1


def state(project: Project) -> str:
    """Return `trusted`, `changed` (since it was trusted) or `unknown`."""
    known = _load().folders.get(str(project.folder))
    if known is None:
        return "unknown"
    return "trusted" if known == project.sha256 else "changed"


def add(project: Project) -> None:
    """Trust a project's folder as it is now."""
    listed = _load()
    listed.folders[str(project.folder)] = project.sha256
    _save(listed)


def remove(folder: Path) -> bool:
    """Trust a folder no longer; return true if it was on the list."""
    listed = _load()
    found = listed.folders.pop(str(folder), None)
    if found is not None:
        _save(listed)
    return found is not None


def list_path() -> Path:
    """Return the path of the list, in the user's folder of settings on this system."""
    home = Path(os.path.expanduser("~"))
    if sys.platform == "win32":
        base = Path(os.environ.get("APPDATA") or home / "AppData" / "Roaming")
    elif sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        named = os.environ.get("XDG_CONFIG_HOME", "")
        base = Path(named) if os.path.isabs(named) else home / ".config"
    return base / "promptforge" / "trusted.json"


def _load() -> _List:
    path = list_path()
    try:
        return msgspec.json.decode(path.read_bytes(), type=_List)
    except FileNotFoundError:
        return _List()
    except (OSError, msgspec.DecodeError) as error:
        raise OptionError(
            f"{path}: the list of trusted folders cannot be read ({type(error).__name__})"
        ) from None


def _save(listed: _List) -> None:
    path = list_path()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    clean(path.parent, path.name)
    with whole(path, 0o600) as file:  # for its owner alone
        file.write(msgspec.json.format(msgspec.json.encode(listed), indent=2) + b"\n")
