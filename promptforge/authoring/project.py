"""Projects: a folder's own settings, templates and profiles, and the user's list of trusted ones.

A project is a folder with `promptforge.toml`, with `[tool.promptforge]` in `pyproject.toml`, or
with a folder `.promptforge` of `templates` and `profiles`. It may be somebody else's: it is used
only while its files are those that the user has seen and trusted, or if it is the user's own. The
list is a file of the user's: folders, and hashes of their files.
"""

import hashlib
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from ..config.options import FILES_HINT, OPTION_VOCABULARY
from ..config.profiles import near_tokenizer
from ..config.schema import Vocabulary, rules_of
from ..errors import OptionError, ProfileError, TemplateError, quote
from ..files import (
    ALLOW_OUTSIDE,
    NOT_THERE_ERRNOS,
    YAML_SUFFIXES,
    TemplateFile,
    leads_outside,
    read_bytes,
    read_template_file,
    read_template_folder,
    remove_unfinished,
    write_whole,
)
from ..text.escape import SURROGATE, to_label
from ..yaml_reader import MAX_YAML_BYTES, find_invisible

PROJECT_FILE = "promptforge.toml"
"""The file with a project's settings."""
SHARED_FILE = "pyproject.toml"
"""The file that may hold them in its table `[tool.promptforge]` instead."""
PROJECT_FOLDER = ".promptforge"
"""The folder of templates and profiles that a project may bring."""
PROJECT_KINDS = ("templates", "profiles")
"""The folders in it, and the keys that name more of them."""
MAX_PROJECT_PROFILES = 200
"""The most profiles in one folder of a project."""
MAX_PROJECT_FILE_BYTES = 1 << 20
"""Bytes of a file of settings."""
_TABLE = "[tool.promptforge]"
# Short ones would be parts of texts, and shorter than any credential.
_Secret = Annotated[str, msgspec.Meta(min_length=6, extra={"takes": "value (6 or more letters)"})]
_Name = Annotated[str, msgspec.Meta(min_length=1, extra={"takes": "folder"})]


class _ProjectKeys(msgspec.Struct, frozen=True):
    profile: Annotated[
        Annotated[str, msgspec.Meta(min_length=1)] | None, "A profile's name, or its .yaml file."
    ] = None
    templates: Annotated[tuple[_Name, ...], "Folders of templates; they come first."] = ()
    profiles: Annotated[tuple[_Name, ...], "Folders of profiles; they come first."] = ()
    secret_allowlist: Annotated[
        tuple[_Secret, ...], "Values that are no credentials: whole ones, no patterns."
    ] = ()


PROJECT_VOCABULARY = Vocabulary(
    "key",
    rules_of(_ProjectKeys) | OPTION_VOCABULARY.rules,
    {
        "extends": "a profile extends another; here `profile` names one",
        **dict.fromkeys(("include", "exclude"), FILES_HINT),
        "tool": f"in {PROJECT_FILE} the keys stand at the top, without a table",
    },
)
"""Every key of a project's settings."""


class ProjectFile(NamedTuple):
    """One file of a project."""

    name: str
    """Within the project, such as `templates/chunks/item.md.j2`."""
    size: int
    """Characters."""
    sha256: str
    invisible: int
    """Characters that its reader cannot see."""


class ProjectPlace(NamedTuple):
    """A project that has been found and not been read."""

    folder: Path
    """Its path, with links resolved."""
    file: Path | None = None
    """The file of its settings."""

    def __str__(self) -> str:
        """Return the file or folder that makes it a project, as seen from here."""
        return to_label(str(_seen_from_here(self.file or self.folder / PROJECT_FOLDER)))


class Project(NamedTuple):
    """A project as it is now."""

    place: ProjectPlace
    settings: dict[str, Any]
    """Checked `profile` and options; paths of files count from here."""
    where: Callable[[str], str]
    """Key of the settings → its `file:line`."""
    templates: list[Path]
    profiles: list[Path]
    files: tuple[ProjectFile, ...]
    """The files that would be used, sorted by name."""
    secret_allowlist: tuple[str, ...] = ()
    """Values that the scan for credentials lets through."""

    @property
    def sha256(self) -> str:
        """The hash of all its files with their names."""
        named = json.dumps([(entry.name, entry.sha256) for entry in self.files])
        return hashlib.sha256(named.encode()).hexdigest()


# --- finding and reading --------------------------------------------------------------------------


def locate_project(start: str | os.PathLike[str]) -> ProjectPlace | None:
    """Return the project of a folder: its own, or that of the nearest folder above it."""
    # Links are resolved, or a link that is turned elsewhere would still be trusted.
    first = Path(os.path.realpath(start))
    if first.name == PROJECT_FOLDER:
        first = first.parent
    for folder in (first, *first.parents):
        if (folder / PROJECT_FILE).is_file():
            return ProjectPlace(folder, folder / PROJECT_FILE)
        if _has_table(folder / SHARED_FILE):
            return ProjectPlace(folder, folder / SHARED_FILE)
        if any(_has_files(folder / PROJECT_FOLDER / kind) for kind in PROJECT_KINDS):
            return ProjectPlace(folder)
    return None


def _seen_from_here(path: Path) -> Path:
    try:
        return Path(os.path.relpath(path))
    except ValueError:  # on another drive of Windows
        return path


def read_project(place: ProjectPlace, *, allow_outside: bool = False) -> Project:
    """Read the settings of a project, and all files that would be used.

    Raises `ProfileError` for settings that cannot be used, such as a folder outside of the project
    (unless `allow_outside`), and `TemplateError` or `OptionError` for a folder that cannot be read
    whole: too many files, or files that keep changing.
    """
    settings, where, files = _settings(place)
    root = _seen_from_here(place.folder)

    def inside(key: str, name: str) -> Path:
        problem = leads_outside(name, place.folder)
        if problem and not allow_outside:
            raise ProfileError(f"{key}: {problem}; {ALLOW_OUTSIDE}", where=where(key), option=key)
        return root / name

    folders: dict[str, list[Path]] = {}
    for kind in PROJECT_KINDS:
        folders[kind] = [inside(kind, name) for name in settings.pop(kind, ())]
        for folder in folders[kind]:
            if not folder.is_dir():
                message = f"{kind}: there is no folder {quote(str(folder))}"
                raise ProfileError(message, where=where(kind), option=kind)
        hidden = root / PROJECT_FOLDER / kind
        if _has_files(hidden):
            folders[kind].append(hidden)
    files |= _files(place, folders)
    profile = settings.get("profile") or ""
    if profile.endswith(YAML_SUFFIXES):
        path = inside("profile", profile)
        settings["profile"] = str(path)
        files[profile] = _entry(profile, read_template_file(path, MAX_YAML_BYTES))
    if "tokenizer" in settings:
        settings["tokenizer"], problem = near_tokenizer(settings["tokenizer"], root)
        if problem and not allow_outside:
            raise ProfileError(problem, where=where("tokenizer"), option="tokenizer")
    listed = tuple(sorted(files.values()))
    allowed = settings.pop("secret_allowlist", ())
    return Project(
        place, settings, where, folders["templates"], folders["profiles"], listed, allowed
    )


_Settings = tuple[dict[str, Any], Callable[[str], str], dict[str, ProjectFile]]
"""Checked settings, the place of each key, and the file that holds them."""


def _settings(place: ProjectPlace) -> _Settings:
    if place.file is None:
        return {}, str, {}
    if place.file.name == PROJECT_FILE and _has_table(place.folder / SHARED_FILE):
        message = f"{_TABLE} stands in {SHARED_FILE} beside it; keep one of the two"
        raise ProfileError(message, where=str(place))
    table, text = _read_settings(place.file) or ({}, "")
    where = _key_places(place, text)
    settings = {name: PROJECT_VOCABULARY.check(name, table[name], where) for name in table}
    name = place.file.name
    if name == SHARED_FILE:  # its other tables may change as they like
        text = json.dumps(table, sort_keys=True, default=str)
    return settings, where, {name: _entry(name, TemplateFile(place.file, text))}


def _files(place: ProjectPlace, folders: dict[str, list[Path]]) -> dict[str, ProjectFile]:
    found = {}
    for kind, read_folder in zip(PROJECT_KINDS, (read_template_folder, _profiles), strict=True):
        for folder in folders[kind]:
            for name, file in read_folder(folder).items():
                named = Path(os.path.relpath(folder / name, place.folder)).as_posix()
                found[named] = _entry(named, file)
    return found


def _has_files(folder: Path) -> bool:
    try:
        return any(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:  # reading it will say why
        return True


def _has_table(path: Path) -> bool:
    try:
        return _read_settings(path) is not None
    except ProfileError:  # reading it as the project's will say so
        return True


def _read_settings(path: Path) -> tuple[dict[str, Any], str] | None:
    """Return the settings in a file, and its text; `None` where it has none or is not there."""
    is_shared = path.name == SHARED_FILE
    try:
        data = read_bytes(path, MAX_PROJECT_FILE_BYTES)
    except OSError as error:
        if is_shared or error.errno in NOT_THERE_ERRNOS:
            return None
        raise ProfileError(f"cannot be read: {error.strerror}", where=str(path)) from None
    # Most of these files speak of other programs alone, and are not worth the reading.
    if is_shared and b"promptforge" not in data:
        return None
    try:
        text = data.decode("utf-8-sig")
        import tomllib  # late: most commands run outside of a project

        table: Any = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        if is_shared and b"tool.promptforge" not in data:
            return None  # somebody else's mistake
        raise ProfileError(f"is no valid TOML: {error}", where=str(path)) from None
    for key in ("tool", "promptforge") if is_shared else ():
        table = table.get(key) if isinstance(table, dict) else None
    return None if table is None else (dict(table), text)


def _key_places(place: ProjectPlace, text: str) -> Callable[[str], str]:
    """Return a function that says `file:line` of a key; without a line where it is not found."""
    before, _, table = text.rpartition(_TABLE)
    lines = before.count("\n")

    def where(key: str) -> str:
        found = re.search(rf"(?m)^[ \t]*[\"']?{re.escape(key)}[\"']?[ \t]*[=.]", table)
        if found is None:
            return str(place)
        return f"{place}:{lines + table.count(chr(10), 0, found.start()) + 1}"

    return where


def _profiles(folder: Path) -> dict[str, TemplateFile]:
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(YAML_SUFFIXES))
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


def _entry(name: str, file: TemplateFile) -> ProjectFile:
    if file.unread:
        raise TemplateError(str(file.problem), where=str(file.path))
    # With its problem, so that a file that becomes readable is trusted anew.
    text = f"{file.problem or ''}\0{file.text}"
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    return ProjectFile(name, len(file.text), sha256, len(find_invisible(file.text)))


# --- trust ----------------------------------------------------------------------------------------


class _List(msgspec.Struct):
    """The list as its file holds it."""

    folders: dict[str, str] = {}
    """Hashes, or `own` with the folder's number, by path of the project, links resolved."""
    version: int = 1


def trust_state(project: Project) -> str:
    """Return `own`, `trusted`, `changed` (since it was trusted) or `unknown`."""
    if is_own(project.place):
        return "own"
    known = _load().folders.get(str(project.place.folder))
    if known is None:
        return "unknown"
    return "trusted" if known == project.sha256 else "changed"


def is_own(place: ProjectPlace) -> bool:
    """Tell whether a project is the user's own, so that any change of it is trusted."""
    known = _load().folders.get(str(place.folder))
    return known is not None and known == _own_mark(place.folder)


def trust_project(project: Project) -> None:
    """Trust a project as it is now."""
    _remember(project.place.folder, project.sha256)


def own_project(folder: Path) -> None:
    """Trust the project of this folder as it is and as it will be: it is the user's own."""
    folder = Path(os.path.realpath(folder))
    _remember(folder, _own_mark(folder))


def _own_mark(folder: Path) -> str:
    # With its number: another folder that takes this one's place later is not the user's own.
    return f"own {folder.stat().st_ino}"


def _remember(folder: Path, mark: str) -> None:
    listed = _load()
    listed.folders[str(folder)] = mark
    if SURROGATE.search(str(folder)):  # the list is text, and another name must not pass for it
        raise OptionError(f"{to_label(str(folder))}: the name of a trusted folder must be UTF-8")
    _save(listed)


def forget_project(folder: Path) -> bool:
    """Trust the project of this folder no longer; return true if it was on the list."""
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
