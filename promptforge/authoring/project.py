"""Projects: a folder's own settings, templates and profiles, and the user's list of trusted ones.

A project is a folder with `promptforge.toml`, with `[tool.promptforge]` in `pyproject.toml`, or
with a folder `.promptforge` of `templates` and `profiles`. It may be somebody else's: it is used
only while its files are those that the user has seen and trusted, or if it is the user's own. The
list is a file of the user's: folders, and hashes of their files.
"""

import contextlib
import difflib
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from ..config.options import FILES_HINT, FORMER_OPTIONS, OPTION_VOCABULARY
from ..config.profiles import PROFILE_VOCABULARY, near_tokenizer, read_values
from ..config.schema import Vocabulary, rules_of
from ..engine import FORMAT_EXTENSIONS
from ..errors import ItemError, OptionError, ProfileError, TemplateError, quote
from ..files import (
    NOT_THERE_ERRNOS,
    YAML_SUFFIXES,
    TemplateFile,
    is_template_name,
    read_template_file,
    read_template_folder,
    shipped_folder,
    tokenizer_file,
)
from ..files.access import (
    ALLOW_OUTSIDE,
    Access,
    leads_outside,
    make_folder,
    read_bytes,
    settings_folder,
    write_settings,
    write_whole,
)
from ..text.escape import SURROGATE, to_label
from ..yaml_reader import MAX_YAML_BYTES, find_invisible, load_yaml

PROJECT_FILE = "promptforge.toml"
SHARED_FILE = "pyproject.toml"
"""The file that may hold them in its table `[tool.promptforge]` instead."""
PROJECT_FOLDER = ".promptforge"
"""The folder of templates and profiles that a project may bring."""
PROJECT_KINDS = ("templates", "profiles")
MAX_PROJECT_PROFILES = 200
MAX_PROJECT_FILE_BYTES = 1 << 20
_TABLE = "[tool.promptforge]"
# Short ones would be parts of texts, and shorter than any credential.
_Secret = Annotated[str, msgspec.Meta(min_length=6, extra={"takes": "6-letter or longer value"})]
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
    FORMER_OPTIONS,
)


class ProjectFile(NamedTuple):
    """One file of a project."""

    name: str
    """Within the project, such as `templates/chunks/item.md.j2`."""
    size: int
    sha256: str
    invisible: int
    """Characters that its reader cannot see."""


class ProjectPlace(NamedTuple):
    """A project that has been found and not been read."""

    folder: Path
    file: Path | None = None

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
    texts: dict[str, str]
    """Name of a file → its text; a vocabulary has none."""
    secret_allowlist: tuple[str, ...] = ()
    for_cases: frozenset[str] | None = None
    """Names of the files that only its cases name; None where these were not looked for."""

    @property
    def sha256(self) -> str:
        """The hash of all its files with their names."""
        return self._hash(frozenset())

    @property
    def sha256_of_render(self) -> str:
        """The hash of its files but those that only its cases name."""
        return self._hash(self.for_cases or frozenset())

    def _hash(self, without: frozenset[str]) -> str:
        pairs = [(each.name, each.sha256) for each in self.files if each.name not in without]
        return hashlib.sha256(json.dumps(pairs).encode()).hexdigest()


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


def read_project(
    place: ProjectPlace, *, allow_outside: bool = False, cases: bool = True, named: bool = True
) -> Project:
    """Read the settings of a project, and all files that would be used; `cases` are among them.

    What these name is found where `named`: to parse 3,000 files of cases takes 20 s.

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

    folders = {
        kind: [inside(kind, name) for name in settings.pop(kind, ())] for kind in PROJECT_KINDS
    }
    _complete_folders(folders, root, where)
    files |= _files(place, folders)
    profile = settings.get("profile") or ""
    if profile.endswith(YAML_SUFFIXES):
        path = inside("profile", profile)
        settings["profile"] = str(path)
        files |= _layers(place, path)
    files |= _vocabularies(place, files, settings.get("tokenizer"))
    of_cases = _case_files(place) if cases else {}
    for_cases = None
    if cases and named:
        more = _named_by_cases(place, of_cases)
        more |= _vocabularies(place, more, None)
        for_cases = frozenset(more.keys() - files.keys() - of_cases.keys())
        files = more | files
    files |= of_cases
    if "tokenizer" in settings:
        settings["tokenizer"], problem = near_tokenizer(settings["tokenizer"], root)
        if problem and not allow_outside:
            raise ProfileError(problem, where=where("tokenizer"), option="tokenizer")
    listed = tuple(_entry(name, files[name]) for name in sorted(files))
    texts = {name: file.text for name, file in files.items() if isinstance(file, TemplateFile)}
    allowed = settings.pop("secret_allowlist", ())
    templates, profiles = (folders[kind] for kind in PROJECT_KINDS)
    return Project(place, settings, where, templates, profiles, listed, texts, allowed, for_cases)


def _complete_folders(
    folders: dict[str, list[Path]], root: Path, where: Callable[[str], str]
) -> None:
    """Add the folders of `.promptforge`; raises `ProfileError` for one that is not there."""
    for kind, named in folders.items():
        for folder in named:
            if not folder.is_dir():
                message = f"{kind}: there is no folder {quote(str(folder))}"
                raise ProfileError(message, where=where(kind), option=kind)
        hidden = root / PROJECT_FOLDER / kind
        if _has_files(hidden):
            named.append(hidden)


_Files = dict[str, TemplateFile | bytes]
"""Name of a file within the project → its text, or what a vocabulary holds."""
_Settings = tuple[dict[str, Any], Callable[[str], str], _Files]
"""Checked settings, the place of each key, and the file that holds them."""


def _settings(place: ProjectPlace) -> _Settings:
    if place.file is None:
        return {}, str, {}
    if place.file.name == PROJECT_FILE and _has_table(place.folder / SHARED_FILE):
        message = f"{_TABLE} stands in {SHARED_FILE} beside it; keep one of the two"
        raise ProfileError(message, where=str(place))
    table, text = _read_settings(place.file, str(place)) or ({}, "")
    where = _key_places(place, text)
    settings = {name: PROJECT_VOCABULARY.check(name, table[name], where) for name in table}
    name = place.file.name
    if name == SHARED_FILE:  # its other tables may change as they like
        text = json.dumps(table, sort_keys=True, default=str)
    return settings, where, {name: TemplateFile(place.file, text)}


def _name(place: ProjectPlace, path: Path) -> str:
    return Path(os.path.relpath(path, place.folder)).as_posix()


def _files(place: ProjectPlace, folders: dict[str, list[Path]]) -> _Files:
    found: _Files = {}
    for kind, read_folder in zip(PROJECT_KINDS, (read_template_folder, _profiles), strict=True):
        for folder in folders[kind]:
            for name, file in read_folder(folder).items():
                found[_name(place, folder / name)] = file
    return found


def _vocabularies(place: ProjectPlace, files: _Files, tokenizer: object) -> _Files:
    named = [(place.folder, tokenizer)]
    for name, file in files.items():
        if name.endswith(YAML_SUFFIXES) and isinstance(file, TemplateFile):
            with contextlib.suppress(ProfileError):  # it is no profile, or one that nobody can use
                values = read_values(PROFILE_VOCABULARY, file.text, name)[0]
                named.append((file.path.parent, values.get("tokenizer")))
    found: _Files = {}
    for folder, given in named:
        path = tokenizer_file(given)
        if path is not None:
            with contextlib.suppress(OSError):  # using it will say so
                found[_name(place, folder / path)] = read_bytes(folder / path, note=False)
    return found


def _layers(place: ProjectPlace, path: Path) -> _Files:
    """Return the file of a profile, and those beside it that it extends."""
    found: _Files = {}
    waiting = [path]
    while waiting:
        path = waiting.pop()
        name = _name(place, path)
        if name in found or not (path.is_file() or not found):
            continue
        file = found[name] = read_template_file(path, MAX_YAML_BYTES)
        base: Any = None
        with contextlib.suppress(ProfileError):  # using it will say so
            base = read_values(PROFILE_VOCABULARY, file.text, name)[0].get("extends")
        stems = filter(None, ("default", base))
        waiting += [path.with_name(stem + suffix) for stem in stems for suffix in YAML_SUFFIXES]
    return found


def holds_cases(text: str) -> bool:
    """Tell the text of a file of cases by a line that begins with `cases:`."""
    return any(line.startswith("cases:") for line in text.splitlines())


def _case_files(place: ProjectPlace) -> _Files:
    folder = place.folder / "tests"
    found: _Files = {}
    paths: list[Path] = []
    with contextlib.suppress(OSError):
        paths = [folder / name for name in os.listdir(folder) if name.endswith(YAML_SUFFIXES)]
    for path in paths:
        file = read_template_file(path, MAX_YAML_BYTES)
        if holds_cases(file.text):
            found[_name(place, path)] = file
    return found


def _named_by_cases(place: ProjectPlace, files: _Files) -> _Files:
    found: _Files = {}
    for file in files.values():
        assert isinstance(file, TemplateFile)
        values: Any = None
        with contextlib.suppress(ProfileError):  # `test` says so
            values = load_yaml(file.text, str(file.path))
        cases = values.get("cases") if isinstance(values, dict) else None
        parts = [values, *cases] if isinstance(cases, list) else [values]
        named = (each for part in parts if isinstance(part, dict) for each in names_in_case(part))
        for key, name in named:
            folder = place.folder if key in NAMED_FROM_HERE else file.path.parent
            try:
                real = Access(str(folder), root=str(place.folder)).locate(name)
            except ItemError:  # refused by `test`, too
                continue
            if real.is_dir():
                inner = {**_profiles(real), **read_template_folder(real)}
                found |= {_name(place, real / each): file for each, file in inner.items()}
            elif real.suffix in YAML_SUFFIXES and real.is_file():
                found |= _layers(place, real)
            elif real.is_file():
                found[_name(place, real)] = read_bytes(real, note=False)
    return found


NAMED_FROM_HERE = ("profile", "tokenizer")
"""Names in cases that count from the working directory, as on the command line."""


def names_in_case(case: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the names of files and folders in a case, each with the key that it stands under."""
    for key in ("items", "file", "templates", "profiles"):
        given = case.get(key)
        listed = given if isinstance(given, list | tuple) and key != "items" else [given]
        yield from ((key, name) for name in listed if isinstance(name, str))
    options = case.get("options")
    if isinstance(options, dict):
        profile, tokenizer = options.get("profile"), tokenizer_file(options.get("tokenizer"))
        if isinstance(profile, str) and profile.endswith(YAML_SUFFIXES):
            yield "profile", profile
        if tokenizer is not None:
            yield "tokenizer", tokenizer


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


def _read_settings(path: Path, where: str = "") -> tuple[dict[str, Any], str] | None:
    """Return the settings in a file, and its text; `None` where it has none or is not there."""
    is_shared = path.name == SHARED_FILE
    try:
        data = read_bytes(path, MAX_PROJECT_FILE_BYTES)
    except OSError as error:
        if is_shared or error.errno in NOT_THERE_ERRNOS:
            return None
        raise ProfileError(f"cannot be read: {error.strerror}", where=where or str(path)) from None
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
        raise ProfileError(f"is not valid TOML: {error}", where=where or str(path)) from None
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
        if len(names) > MAX_PROJECT_PROFILES:
            raise OptionError(f"{folder}: more than {MAX_PROJECT_PROFILES} profiles")
        paths = {name: folder / name for name in names if (folder / name).is_file()}
    except OSError as error:
        raise OptionError(f"{error.filename}: cannot be read: {error.strerror}") from None
    for path in paths.values():
        # The target of a link could change without a change of the project.
        if path.is_symlink():
            raise OptionError(f"{path}: a link; a project's profiles must be files of its own")
    return {name: read_template_file(path, MAX_YAML_BYTES) for name, path in paths.items()}


def _entry(name: str, file: TemplateFile | bytes) -> ProjectFile:
    if isinstance(file, bytes):
        return ProjectFile(name, len(file), hashlib.sha256(file).hexdigest(), 0)
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
    """Real path of a project → its two hashes, or `own` and the mark of its folder."""
    version: int = 1


def trust_state(project: Project) -> str:
    """Return `own`, `trusted`, `changed` (since it was trusted) or `unknown`."""
    if is_own(project.place):
        return "own"
    known = _load().folders.get(str(project.place.folder))
    if known is None or known.startswith(_OWN):
        return "unknown"
    of_render, _, whole = known.partition(" ")
    is_same = of_render == project.sha256_of_render
    if project.for_cases is not None:
        is_same = whole == project.sha256
    return "trusted" if is_same else "changed"


def is_listed(place: ProjectPlace) -> bool:
    """Tell whether the user has ever trusted a project."""
    return str(place.folder) in _load().folders


def is_own(place: ProjectPlace) -> bool:
    """Tell whether a project is the user's own, so that any change of it is trusted."""
    known = _load().folders.get(str(place.folder), "")
    if not known.startswith(_OWN):
        return False
    try:
        path = Access(str(place.folder), root=str(place.folder)).locate(_MARK_NAME)
        return read_bytes(path, 100, note=False).decode() == known.removeprefix(_OWN)
    except (OSError, ItemError, UnicodeDecodeError):
        return False


def is_own_folder(folder: Path) -> bool:
    """Tell whether a folder lies in a project of the user's own, or one that is trusted.

    A repository within it, such as a submodule, is somebody else's.
    """
    place = locate_project(folder)
    if place is None:
        return False
    real = Path(os.path.realpath(folder))
    inner = [each for each in (real, *real.parents) if each.is_relative_to(place.folder)]
    if any(os.path.lexists(each / ".git") for each in inner if each != place.folder):
        return False
    return is_own(place) or trust_state(read_project(place, allow_outside=True)) == "trusted"


def trust_project(project: Project) -> None:
    """Trust a project as it is now, and keep its texts: a later change can be shown."""
    _remember(project.place.folder, f"{project.sha256_of_render} {project.sha256}")
    kept = {name: text for name, text in project.texts.items() if not SURROGATE.search(name)}
    write_settings(_texts_name(project.place.folder), kept)


def changes_since(project: Project) -> list[str]:
    """Return what has changed in a project since it was trusted, as lines of a unified diff."""
    try:
        data = read_bytes(settings_folder() / _texts_name(project.place.folder), note=False)
        old = msgspec.json.decode(data, type=dict[str, str])
    except (OSError, msgspec.DecodeError):
        return []
    lines: list[str] = []
    for name in sorted(old.keys() | project.texts.keys()):
        before, now = (each.get(name, "").splitlines() for each in (old, project.texts))
        names = f"trusted/{name}", f"now/{name}"
        lines += difflib.unified_diff(before, now, *names, lineterm="")
    return lines


def _texts_name(folder: Path) -> str:
    key = hashlib.sha256(os.fsencode(folder)).hexdigest()
    return f"trusted/{key[:32]}.json"


def own_project(folder: Path) -> None:
    """Trust the project of this folder as it is and as it will be: it is the user's own.

    A file in it that git ignores gets a random mark. Another folder that takes its place later does
    not hold the mark, be its name or its number the same.
    """
    folder = Path(os.path.realpath(folder))
    mark = os.urandom(16).hex()
    path = Access(str(folder), follow=None).locate_output(_MARK_NAME)
    make_folder(path.parent)
    for name, text in ((".gitignore", "*\n"), (path.name, mark)):
        with write_whole(path.with_name(name)) as file:
            file.write(text.encode())
    _remember(folder, _OWN + mark)


_OWN = "own "
_MARK_NAME = f"{PROJECT_FOLDER}/local/own"
"""The file with the mark of one's own project; git ignores its folder."""


def plain_settings(project: Project) -> dict[str, Any]:
    """Return the settings that need no trust: numbers, switches, names of what is shipped."""
    return {name: v for name, v in project.settings.items() if _is_plain(name, v)}


def _is_plain(name: str, value: object) -> bool:
    if value is None or isinstance(value, bool | int | float):
        return True
    if not isinstance(value, str) or not is_template_name(value) or "/" in value:
        return False
    if name == "format":
        return value in FORMAT_EXTENSIONS
    if name == "layout":
        folder = shipped_folder("templates") / value
        return (folder / "layout.yaml").is_file() or (folder / "layout.md.j2").is_file()
    return name == "profile" and (shipped_folder("profiles") / f"{value}.yaml").is_file()


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
    return settings_folder() / "trusted.json"


def _load() -> _List:
    path = trust_list_path()
    try:
        return msgspec.json.decode(read_bytes(path, note=False), type=_List)
    except FileNotFoundError:
        return _List()
    except (OSError, msgspec.DecodeError) as error:
        raise OptionError(
            f"{path}: the list of trusted folders cannot be read ({type(error).__name__})"
        ) from None


def _save(listed: _List) -> None:
    write_settings("trusted.json", msgspec.to_builtins(listed))
