"""State of one preview: its items, its options, and the files that can be edited."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ..errors import OptionError, TemplateError, nearest, quote
from ..folders import YAML
from ..items import Item
from ..options import VOCABULARY
from ..profiles import find_profiles
from ..templates import Templates
from .views import View


class File(msgspec.Struct, frozen=True):
    """A file that the page can show. The page knows its id; its path never leaves this process."""

    id: str
    what: str
    """`templates` or `profiles`."""
    name: str
    """`chunks/item.md.j2`, `chunks/layout.yaml`; of a profile `claude`."""
    path: Path
    folder: Path
    """The user's folder around it."""
    shipped: bool

    @property
    def shown(self) -> str:
        """Its name on the page."""
        if self.what == "profiles":
            return f"{self.name}.yaml"
        return self.name

    def about(self) -> dict[str, Any]:
        """Return its description for the page."""
        return {"id": self.id, "what": self.what, "name": self.shown, "shipped": self.shipped}


class Around(NamedTuple):
    """Texts of a whole prompt around its context."""

    system: str | None = None
    instructions: str | None = None
    user: str | None = None
    """The question; also the query, unless an option sets one."""
    history: list[Any] | None = None
    """Messages as plain data, in the shape of any provider."""


@dataclass
class Desk:
    """State of one preview. `stamp` grows with each change of a file."""

    items: Sequence[Item]
    profile: str | None
    options: Mapping[str, Any]
    templates: list[Path]
    profiles: list[Path]
    edit: bool = False
    around: Around = field(default_factory=Around)
    tests: Path | None = None
    """Folder for golden cases; `None`: `tests` beside the first of the user's own folders."""
    items_file: Path | None = None
    """The file of all items, if they come from one."""
    stamp: int = 0
    files: dict[str, File] = field(default_factory=dict)
    items_key: str = ""
    size: int = 0
    """Bytes of the items, roughly."""

    def __post_init__(self) -> None:
        profiles = list(self.profiles)
        if self.profile is not None and self.profile.endswith(YAML):
            # A profile given by its path: look in its folder first.
            path = Path(self.profile)
            profiles, self.profile = [path.parent, *profiles], path.stem
        self.profiles = [folder.resolve() for folder in profiles]
        self.templates = [folder.resolve() for folder in self.templates]
        self.tests = self.tests and self.tests.resolve()
        own = self.own_folder("templates") or self.own_folder("profiles")
        if self.tests is None and own is not None:
            self.tests = own.parent / "tests"
        self.take(self.items)
        self.survey()

    def take(self, items: Sequence[Item]) -> None:
        """Replace the items."""
        self.items = list(items)
        self.records = [msgspec.to_builtins(item) for item in items]
        data = repr(self.records).encode("utf-8", "backslashreplace")
        self.size, self.items_key = len(data), hashlib.sha256(data).hexdigest()

    def survey(self) -> None:
        """List the files anew and count a change."""
        self.stamp += 1
        self._known = Templates(self.templates)
        found: list[tuple[str, str, Path]] = []
        for name in self._known.names():
            at = self._known.find(name)
            if at is not None:
                found.append(("templates", name, at.path))
        found += [("profiles", name, path) for name, _, path in find_profiles(self.profiles)]
        files = (self._file(*each) for each in found)
        self.files = {file.id: file for file in files}

    def _file(self, what: str, name: str, path: Path) -> File:
        folders = self.templates if what == "templates" else self.profiles
        own = next((folder for folder in folders if path.is_relative_to(folder)), None)
        return File(id_of(what, name), what, name, path, own or path.parent, own is None)

    def own_folder(self, what: str) -> Path | None:
        """Return the user's first folder, for copies of shipped files; `None` without any."""
        folders = self.templates if what == "templates" else self.profiles
        return folders[0] if folders else None

    def look(self, view: View, drafts: Mapping[str, str], drafted: Path) -> dict[str, Any]:
        """Return the settings of a rendering as plain data, for another process.

        `drafts` maps ids of files to unsaved texts; those of profiles go into `drafted`.
        Raises `OptionError` for a value that an option does not take, and for an unknown file.
        """
        names = [name for name, _, _ in find_profiles(self.profiles)]
        # Only a name: a path here would read any file of this machine.
        if view.profile is not None and view.profile not in names:
            hint = nearest(view.profile, names)
            raise OptionError(f"there is no profile {quote(view.profile)}{hint}")
        options = dict(self.options)
        if self.around.user:
            options.setdefault("query", self.around.user)
        for name, value in view.options().items():
            options[name] = VOCABULARY.check(name, value)
        templates: list[Any] = [str(folder) for folder in self.templates]
        profiles = [str(folder) for folder in self.profiles]
        texts = {}
        for each, text in drafts.items():
            file = self.file(each)
            if file.what == "templates":
                texts[file.name] = text
            else:
                profiles = _with_draft(drafted, file.name, text, profiles)
        return {
            "stamp": self.stamp,
            "profile": view.profile or self.profile,
            "templates": [texts, *templates] if texts else templates,
            "profiles": profiles,
            "options": msgspec.to_builtins(options),
        }

    def asking(self, view: View) -> dict[str, Any]:
        """Return the texts around the context; a query typed on the page is the question too."""
        typed = view.query if "query" not in self.options else None
        return {**self.around._asdict(), "user": self.around.user if typed is None else typed}

    def file(self, id: str) -> File:  # noqa: A002
        """Return the file with an id; raises `OptionError`."""
        found = self.files.get(id)
        if found is None:
            raise OptionError("there is no such file; it may have been renamed or removed")
        return found

    def listed(
        self, *, own: bool = False, named: Sequence[Sequence[str]] = ()
    ) -> list[dict[str, Any]]:
        """Describe files for the page: all of the user's own, or those `named`, as pairs."""
        known = {(file.what, file.name): file for file in self.files.values()}
        if own:
            return [file.about() for file in known.values() if not file.shipped]
        found = (known.get((what, name)) for what, name in named)
        return [file.about() for file in found if file]

    def choices(self) -> dict[str, Any]:
        """Return the layouts with their formats, and the profiles."""
        layouts = {}
        for name in self._known.layouts():
            try:
                layouts[name] = self._known.formats(name)
            except (TemplateError, OptionError):  # the error is shown when the layout is chosen
                layouts[name] = []
        profiles = [
            {"name": n, "description": about} for n, about, _ in find_profiles(self.profiles)
        ]
        return {"layouts": layouts, "profiles": profiles}


def id_of(what: str, name: str) -> str:
    """Return the id of a file, the same in each run: the page keeps its open tabs."""
    return hashlib.sha256(f"{what}/{name}".encode()).hexdigest()[:16]


def _with_draft(drafted: Path, name: str, text: str, folders: list[str]) -> list[str]:
    """Write the draft of a profile into a folder; return this folder before the others."""
    folder = drafted / hashlib.sha256(f"{name}\0{text}".encode("utf-8", "replace")).hexdigest()[:16]
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.yaml").write_text(text, encoding="utf-8", errors="replace")
    return [str(folder), *folders]
