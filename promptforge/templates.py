"""Find, compile and render templates."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jinja2

from . import _shipped, template_files
from .errors import OptionError, TemplateError, nearest, quote
from .folders import Source
from .layouts import LayoutSettings, load_layout_settings
from .looks import Look
from .safe import Safe
from .template_files import EXTENSIONS, format_of
from .templating import excerpts, fuel, located, placing
from .templating.environment import Environment
from .templating.failures import explain
from .templating.welding import join

PROMPTS = "prompt"
"""The folder of the sets of templates that print whole prompts: no layout."""
DEPTH_CAP = 50
"""Templates that draw on each other in a row."""

_LAYOUT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class Found(NamedTuple):
    """A template file: its name, where it lies, and whether it is a shipped one."""

    name: str
    path: Path
    shipped: bool


class Templates:
    """The template files: the user's first, the shipped ones last. Read once, then unchanging."""

    def __init__(self, sources: Sequence[Source] = ()) -> None:
        """Take the files of `sources` in their order, each before the shipped one of the same name.

        Raises `TemplateError` for a folder that is not there.
        """
        self.folders = tuple(source for source in sources if isinstance(source, Path))
        """The folders of the user's."""
        self.own = tuple(
            template_files.read_folder(source)
            if isinstance(source, Path)
            else template_files.given(source)
            for source in sources
        )
        """The user's files by name, source by source."""
        self._shipped = template_files.read_folder(_shipped.folder("templates"))
        self._names: list[str] = sorted(
            {
                name
                for files in (*self.own, self._shipped)
                for name in files
                if name.count("/") < (3 if name.startswith(f"{PROMPTS}/") else 2)
            }
        )
        self._environment = Environment(jinja2.FunctionLoader(self._load))
        self._readings: dict[str, placing.Reading] = {}
        self._looks: dict[tuple[str, str], Look] = {}

    # --- files ------------------------------------------------------------------------------------------------------

    def _file(self, name: str) -> tuple[template_files.File, bool] | None:
        rest = name.removeprefix("shipped/")
        if rest == name:
            for files in self.own:
                if name in files:
                    return files[name], False
        return (self._shipped[rest], True) if rest in self._shipped else None

    def find(self, name: str) -> Found | None:
        """Return the file that the template `name` stands for; `shipped/NAME` is always the original."""
        found = self._file(name)
        return None if found is None else Found(name, found[0].path, found[1])

    def source(self, name: str) -> tuple[str, Found]:
        """Return the text of the template `name` and where it lies; raises `TemplateError`."""
        found = self._file(name)
        if found is None:
            raise TemplateError(f"there is no template {quote(name)}{nearest(name, self.names())}")
        file, shipped = found
        if file.problem:
            raise TemplateError(file.problem, where=str(file.path))
        return file.text, Found(name, file.path, shipped)

    def names(self) -> list[str]:
        """Return the names of all template and layout files, sorted."""
        return self._names

    def unread(self) -> bool:
        """Tell whether the system could not read one of the user's own files."""
        return any(file.unread for files in self.own for file in files.values())

    def check(self) -> None:
        """Read and compile all of the user's own templates and layouts; raises `TemplateError`, `ProfileError`."""
        for name in sorted({name for files in self.own for name in files}):
            self.check_file(name)

    def check_file(self, name: str) -> None:
        """Read and compile one template with all it draws on, or read a `layout.yaml`."""
        if name.endswith(".j2"):
            self.reading(name)
        else:
            self.settings(name.rpartition("/")[0])

    def _load(self, name: str) -> tuple[str, str, Callable[[], bool]] | None:
        try:
            text, found = self.source(name)
        except TemplateError as error:
            if error.where:
                raise
            return None
        return text, str(found.path), lambda: True

    # --- layouts and formats ----------------------------------------------------------------------------------------

    def layouts(self) -> list[str]:
        """Return the names of the layouts, sorted: the folders that hold a `layout.…j2` or a `layout.yaml`."""
        found = {n.split("/")[0] for n in self.names() if "/layout." in n and not n.startswith("_")}
        return sorted(found - {PROMPTS})

    def prompts(self) -> list[str]:
        """Return the names of the sets that print whole prompts, sorted: the folders in `prompt/`."""
        return sorted(
            {
                n.split("/")[1]
                for n in self.names()
                if n.startswith(f"{PROMPTS}/") and n.count("/") == 2
            }
        )

    def formats(self, layout: str) -> list[str]:
        """Return the formats that `layout` has, its base's included, in the shipped order and then sorted."""
        own = set()
        for folder in self._chain(layout):
            for name in self.names():
                if name.startswith(f"{folder}/layout.") and name.endswith(".j2"):
                    own.add(
                        format_of(name.split("/")[1].removeprefix("layout.").removesuffix(".j2"))
                    )
        shipped = [f for f in EXTENSIONS if f in own]
        return shipped + sorted(own - set(shipped))

    def settings(self, layout: str) -> LayoutSettings:
        """Return the settings of `layout`; what its `layout.yaml` leaves open is its base's."""
        merged = LayoutSettings()
        for folder in reversed(self._chain(layout)):
            merged = self._settings(folder).over(merged)
        return merged

    def _settings(self, folder: str) -> LayoutSettings:
        found = self.find(f"{folder}/layout.yaml")
        if found is None:
            return LayoutSettings()
        return load_layout_settings(self.source(found.name)[0], str(found.path))

    def _chain(self, layout: str) -> list[str]:
        """Return `layout` and the layouts it is based on, nearest first."""
        chain: list[str] = []
        name: str | None = layout
        while name:
            if not _LAYOUT.fullmatch(name) or name not in self.layouts():
                message = f"there is no layout {quote(name)}{nearest(name, self.layouts())}"
                if chain:
                    raise TemplateError(message, where=self._place(chain[-1]))
                raise OptionError(message, option="layout", absent=name)
            if name in chain:
                circle = " → ".join([*chain, name])
                raise TemplateError(
                    f"the layouts {circle} are based on each other in a circle",
                    where=self._place(name),
                )
            chain.append(name)
            name = self._settings(name).base
        return chain

    def _place(self, layout: str) -> str:
        found = self.find(f"{layout}/layout.yaml")
        return str(found.path) if found else layout

    def look(self, layout: str, format: str) -> Look:  # noqa: A002  the public word for it
        """Return how `layout` shows itself in `format`; raises `TemplateError` when there is no such pair."""
        key = (layout, format)
        look = self._looks.get(key)
        if look is None:
            look = self._looks[key] = self._make_look(layout, format)
        return look

    def _make_look(self, layout: str, format: str) -> Look:  # noqa: A002
        chain = self._chain(layout)
        for ending in _endings(format, self.names()):
            for folder in chain:
                if self.find(f"{folder}/layout.{ending}.j2"):
                    return Look(self, layout, format, ending, chain)
        have = self.formats(layout)
        raise OptionError(
            f'the layout "{layout}" has no format {quote(format)}{nearest_format(format, have)}',
            option="format",
        )

    # --- compiling --------------------------------------------------------------------------------------------------

    def compile(self, name: str) -> jinja2.Template:
        """Return the compiled template `name`; raises `TemplateError` with file and line."""
        try:
            return self._environment.get_template(name)
        except jinja2.TemplateNotFound as error:
            raise TemplateError(
                f'there is no template "{error.name}"{nearest(str(error.name), self.names())}'
            ) from None
        except jinja2.TemplateSyntaxError as error:
            start, length, message, _ = located.mistake(error.source or "", error)
            line = excerpts.at(error.source or "", start, length)
            raise TemplateError(
                message, where=f"{error.name or name}:{line.line}", excerpt=line
            ) from None
        except TemplateError:
            raise
        except (
            Exception
        ) as error:  # whatever Jinja and Python's compiler raise, such as TypeError for {[1]: 2}
            if isinstance(error, RecursionError | MemoryError | SyntaxError):
                raise TemplateError(
                    "is nested too deep, or one expression in it is too long", where=name
                ) from None
            raise TemplateError(f"does not compile: {type(error).__name__}", where=name) from None

    def print(
        self,
        name: str,
        variables: dict[str, Any],
        mend: Callable[[list[str]], list[str]] | None = None,
    ) -> Safe:
        """Return what the template `name` prints; raises `TemplateError` with file and line.

        `mend` is given the pieces of the text and returns those to print.
        """
        template = self.compile(name)
        fuel.use(fuel.Tank(), len(variables), _size(variables))
        try:
            return join(
                template.root_render_func(template.new_context(variables, shared=True)), mend
            )
        except Exception as error:
            raise explain(error, template, variables) from error

    def reading(self, name: str, seen: tuple[str, ...] = ()) -> placing.Reading:
        """Return what `name` and all templates it draws on use and print, as one reading."""
        if name in seen:
            raise TemplateError(
                f'extends or includes itself ({" → ".join([*seen, name])}); "shipped/{name}" is the original',
                where=name,
            )
        known = self._readings.get(name)
        if known is None:
            if len(seen) > DEPTH_CAP:
                raise TemplateError(
                    f"more than {DEPTH_CAP} templates that draw on each other in a row", where=name
                )
            self.compile(name)
            own = self._environment.reading(name)
            parents = [self.reading(parent, (*seen, name)) for parent in dict.fromkeys(own.parents)]
            known = self._readings[name] = placing.Reading(
                own.names.union(*(p.names for p in parents)),
                own.frame.union(*(p.frame for p in parents)),
                own.parents,
            )
        return known


def nearest_format(word: str, have: Sequence[str]) -> str:
    """Return `nearest` of the formats there are; an ending, or another usual word, means the format of it."""
    meant = {"text": "plain", **{ending: name for name, ending in EXTENSIONS.items()}}.get(
        word.lower()
    )
    return f'; did you mean "{meant}"?' if meant in have and word != meant else nearest(word, have)


def _size(value: object) -> int:
    """Return the characters of all texts in plain data."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_size, value.values()))
    return sum(map(_size, value)) if isinstance(value, list | tuple) else 0


def _endings(format: str, names: Sequence[str]) -> list[str]:  # noqa: A002
    """Return the endings that stand for a format: `md` for markdown, `slides.md` or `slides` for a user's own."""
    if format in EXTENSIONS:
        return [EXTENSIONS[format]]
    found = {
        n.split("/layout.")[1].removesuffix(".j2")
        for n in names
        if "/layout." in n and n.endswith(".j2")
    }
    return sorted(e for e in found if e.split(".")[0] == format and e not in EXTENSIONS.values())
