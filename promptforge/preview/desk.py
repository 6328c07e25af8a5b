"""What one preview works on: the items, the options it was started with, and the files that may be edited."""

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
    """One file that the page can show, by an id; its path never leaves this process."""

    id: str
    what: str
    """`templates` or `profiles`."""
    name: str
    """`chunks/item.md.j2`, `chunks/layout.yaml`; of a profile `claude`."""
    path: Path
    folder: Path
    """The folder that it lies in, for messages."""
    shipped: bool

    @property
    def shown(self) -> str:
        """Return what the page calls it."""
        return self.name if self.what == "templates" else f"{self.name}.yaml"

    def about(self) -> dict[str, Any]:
        """Return what the page is told of it."""
        return {"id": self.id, "what": self.what, "name": self.shown, "shipped": self.shipped}


class Around(NamedTuple):
    """What a whole prompt has around its context."""

    system: str | None = None
    instructions: str | None = None
    user: str | None = None
    """The question; the query too, where there is no other."""
    history: list[Any] | None = None
    """Messages as plain data, in the shape of whatever provider."""


@dataclass
class Desk:
    """Everything that a request may draw on. `stamp` grows with each change of a file."""

    items: Sequence[Item]
    profile: str | None
    options: Mapping[str, Any]
    templates: list[Path]
    profiles: list[Path]
    edit: bool = False
    around: Around = field(default_factory=Around)
    tests: Path | None = None
    """The folder that golden cases are saved in; `None`: beside the first of the user's own folders."""
    items_file: Path | None = None
    """The file that all items are from, where there is one."""
    stamp: int = 0
    files: dict[str, File] = field(default_factory=dict)
    items_key: str = ""
    size: int = 0
    """About how many bytes the items have."""

    def __post_init__(self) -> None:
        profiles = list(self.profiles)
        if self.profile is not None and self.profile.endswith(
            YAML
        ):  # a file by its path: its folder comes first
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
        """Work on these items from now on."""
        self.items = list(items)
        self.records = [msgspec.to_builtins(item) for item in items]
        data = repr(self.records).encode("utf-8", "backslashreplace")
        self.size, self.items_key = len(data), hashlib.sha256(data).hexdigest()

    def survey(self) -> None:
        """Look again at which files there are, and count that as a change."""
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
        """Return the folder of the user's that a shipped file is copied into; `None` where there is none."""
        folders = self.templates if what == "templates" else self.profiles
        return folders[0] if folders else None

    def look(self, view: View, drafts: Mapping[str, str], drafted: Path) -> dict[str, Any]:
        """Return what a rendering of `view` takes, as plain data; `drafted` is a folder for profiles that are drafts.

        Raises `OptionError` for a value that an option does not take, or a draft of a file that is not there.
        """
        names = [name for name, _, _ in find_profiles(self.profiles)]
        if view.profile is not None and view.profile not in names:  # a path would be taken too
            raise OptionError(
                f"there is no profile {quote(view.profile)}{nearest(view.profile, names)}"
            )
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
        """Return what is around the context: what the reader writes as the query is the question, if none is apart."""
        typed = view.query if "query" not in self.options else None
        return {**self.around._asdict(), "user": self.around.user if typed is None else typed}

    def file(self, id: str) -> File:  # noqa: A002  what it is
        """Return the file with an id; raises `OptionError`."""
        found = self.files.get(id)
        if found is None:
            raise OptionError("there is no such file; it may have been renamed or removed")
        return found

    def listed(
        self, *, own: bool = False, named: Sequence[Sequence[str]] = ()
    ) -> list[dict[str, Any]]:
        """Return what the page is told of files: all of the user's own, or those of `(what, name)` each."""
        known = {(file.what, file.name): file for file in self.files.values()}
        wanted = [(what, name) for what, name in named]
        found = (
            [file for file in known.values() if not file.shipped] if own else map(known.get, wanted)
        )
        return [file.about() for file in found if file]

    def choices(self) -> dict[str, Any]:
        """Return what there is to choose from."""
        layouts = {}
        for name in self._known.layouts():
            try:
                layouts[name] = self._known.formats(name)
            except (TemplateError, OptionError):  # what is wrong with it is said when it is chosen
                layouts[name] = []
        profiles = [
            {"name": n, "description": about} for n, about, _ in find_profiles(self.profiles)
        ]
        return {"layouts": layouts, "profiles": profiles}


def id_of(what: str, name: str) -> str:
    """Return the id of a file: the same each time the preview is started."""
    return hashlib.sha256(f"{what}/{name}".encode()).hexdigest()[:16]


def _with_draft(drafted: Path, name: str, text: str, folders: list[str]) -> list[str]:
    """Put a profile's draft into a folder named by its content, and that before the others."""
    folder = drafted / hashlib.sha256(f"{name}\0{text}".encode("utf-8", "replace")).hexdigest()[:16]
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.yaml").write_text(text, encoding="utf-8", errors="replace")
    return [str(folder), *folders]
