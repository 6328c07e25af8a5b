"""Which layouts there are, which files they are made of, and which files nobody reads."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ..errors import PromptForgeError
from ..grouping import CATEGORIES
from ..layouts import LayoutSettings, load_layout_settings
from ..templates import Templates
from ..trimming.kinds import BY_KIND, PROGRAMS
from .shapes import ONE, PAGE, PROMPT, Shape

KINDS = frozenset({*CATEGORIES, *BY_KIND, *PROGRAMS, "custom", "entity", "file", "text"})
"""Kinds that are known by name; there may be any others."""


class Part(NamedTuple):
    """What the name of a template says: `LAYOUT/STEM.ENDING.j2`."""

    layout: str
    stem: str
    ending: str


def part_of(name: str) -> Part | None:
    """Return the parts of a template's name; `None` for a piece (`_…`), and for what is no layout's."""
    layout, _, file = name.partition("/")
    stem, _, ending = file.removesuffix(".j2").partition(".")
    if (
        not file.endswith(".j2")
        or "/" in file
        or stem.startswith("_")
        or layout.startswith("_")
        or not ending
    ):
        return None
    return Part(layout, stem, ending)


class Pair(NamedTuple):
    """A layout in one ending: its page, and the looks of kinds by their names (`item` for all others)."""

    layout: str
    ending: str
    page: str
    items: Mapping[str, str]


class Layouts:
    """The layouts of some folders, read without stopping at what is wrong with one of them."""

    def __init__(self, templates: Templates, names: list[str]) -> None:
        self._templates = templates
        self._settings: dict[str, LayoutSettings | None] = {}
        self.names: dict[str, list[str]] = {}
        """The names of the templates in each layout's folder."""
        for name in names:
            if name.endswith("/layout.yaml") or part_of(name):
                self.names.setdefault(name.split("/")[0], []).append(name)
        self.layouts = {
            layout
            for layout, files in self.names.items()
            if any("/layout." in name for name in files)
        }

    def settings(self, layout: str) -> LayoutSettings | None:
        """Return the settings of a layout, its own alone; `None` where its `layout.yaml` cannot be read."""
        if layout not in self._settings:
            name = f"{layout}/layout.yaml"
            self._settings[layout] = LayoutSettings()
            if self._templates.find(name) is not None:
                try:
                    text, found = self._templates.source(name)
                    self._settings[layout] = load_layout_settings(text, str(found.path))
                except PromptForgeError:  # said where layout.yaml is looked at
                    self._settings[layout] = None
        return self._settings[layout]

    def _base(self, layout: str) -> str | None:
        name = f"{layout}/layout.yaml"
        found = self._templates.find(name)
        if found is None or (
            found.shipped and "base:" not in self._templates.source(name)[0]
        ):  # no YAML to be read
            return None
        settings = self.settings(layout)
        return settings.base if settings else None

    def kinds(self, layout: str) -> set[str]:
        """Return the kinds that a layout, or one that it is based on, has looks for, and the sections of its bases."""
        chain = self.chain(layout)
        found = {
            part.stem
            for folder in chain
            for name in self.names[folder]
            if (part := part_of(name)) is not None
        }
        settings = [self.settings(folder) for folder in chain]
        above = {key for each in settings[1:] if each for key in (*each.sections, *each.titles)}
        return found | above

    def chain(self, layout: str) -> list[str]:
        """Return a layout and those it is based on, nearest first; it ends where a base is not there."""
        chain: list[str] = []
        name: str | None = layout
        while name and name in self.layouts and name not in chain:
            chain.append(name)
            name = self._base(name)
        return chain

    def pairs(self) -> Iterator[Pair]:
        """Yield every layout in every ending it has."""
        for layout in sorted(self.layouts):
            found: dict[str, dict[str, str]] = {}
            for folder in self.chain(layout):
                for name in self.names[folder]:
                    part = part_of(name)
                    if part is not None:
                        found.setdefault(part.ending, {}).setdefault(part.stem, name)
            for ending, files in sorted(found.items()):
                page = files.pop("layout", None)
                if page is not None:
                    yield Pair(layout, ending, page, files)


def sees(stem: str) -> Mapping[str, Shape]:
    """Return the variables of the page, or of the template of an item."""
    return PAGE if stem == "layout" else ONE


def near_kind(stem: str, named: Iterable[str] = ()) -> str | None:
    """Return the kind, known or `named` by the layout, that `stem` may be a misspelling of."""
    if stem in KINDS or stem in ("layout", "item") or stem in named:
        return None
    close = difflib.get_close_matches(stem, [*KINDS, *named, "layout", "item"], n=1, cutoff=0.8)
    return close[0] if close else None


def prompt_part(name: str) -> str | None:
    """Return the part of a whole prompt that the template `prompt/SET/PART.EXT.j2` prints; `None` for any other."""
    folder, _, file = name.rpartition("/")
    part, _, ending = file.removesuffix(".j2").partition(".")
    known = (
        folder.startswith("prompt/") and folder.count("/") == 1 and file.endswith(".j2") and ending
    )
    return part if known and part in PROMPT else None
