"""The template files: finding, compiling and printing them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
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
"""The folder of the sets that print whole prompts. It is no layout."""
DEPTH_CAP = 50
"""Length of a chain of templates that extend, include or import from each other."""

_LAYOUT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class Found(NamedTuple):
    """A template file."""

    name: str
    path: Path
    shipped: bool


def _read(source: Source) -> Mapping[str, template_files.File]:
    if isinstance(source, Path):
        return template_files.read_folder(source)
    return template_files.given(source)


def _is_prompt_part(name: str) -> bool:
    """Tell whether a name is `prompt/SET/PART.EXT.j2`."""
    return name.startswith(f"{PROMPTS}/") and name.count("/") == 2


class Templates:
    """The template files: the user's first, the shipped ones last. Read once, then unchanging."""

    def __init__(self, sources: Sequence[Source] = ()) -> None:
        """Read the files of `sources`; the first of a name wins, the shipped one comes last.

        Raises `TemplateError` for a folder that is not there.
        """
        self.folders = tuple(source for source in sources if isinstance(source, Path))
        """The user's folders."""
        self.own = tuple(map(_read, sources))
        """The user's files by name, source by source."""
        self._shipped = template_files.read_folder(_shipped.folder("templates"))
        every = set(self._shipped).union(*self.own)
        self._names = sorted(name for name in every if name.count("/") < 2 or _is_prompt_part(name))
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
        """Return the file of the template `name`; `shipped/NAME` is always the original."""
        found = self._file(name)
        return None if found is None else Found(name, found[0].path, found[1])

    def source(self, name: str) -> tuple[str, Found]:
        """Return text and file of the template `name`; raises `TemplateError`."""
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
        """Compile all templates of the user and read all layouts.

        Raises `TemplateError` or `ProfileError` for the first that is wrong.
        """
        for name in sorted({name for files in self.own for name in files}):
            self.check_file(name)

    def check_file(self, name: str) -> None:
        """Compile one template with all it draws on, or read a `layout.yaml`."""
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
        """Return the layouts, sorted: the folders with a `layout.…j2` or a `layout.yaml`."""
        found = {n.split("/")[0] for n in self.names() if "/layout." in n and not n.startswith("_")}
        return sorted(found - {PROMPTS})

    def prompts(self) -> list[str]:
        """Return the sets that print whole prompts, sorted: the folders in `prompt/`."""
        return sorted({name.split("/")[1] for name in self._names if _is_prompt_part(name)})

    def formats(self, layout: str) -> list[str]:
        """Return the formats of `layout` and its bases: the shipped ones, then the user's, sorted."""
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
        """Return the settings of `layout`, filled up from its bases."""
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
        """Return `layout` and its bases, nearest first; raises for one that is not there."""
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
        """Return `layout` in `format`; raises `OptionError` if it has no such format."""
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
        except Exception as error:  # Jinja and Python's compiler: TypeError for {[1]: 2}, …
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
        """Return the output of the template `name`; raises `TemplateError` with file and line.

        `mend` may change the pieces of the output before they are joined.
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
        """Return the facts about `name` and all templates it draws on, as one."""
        if name in seen:
            chain = " → ".join([*seen, name])
            message = f'extends or includes itself ({chain}); "shipped/{name}" is the original'
            raise TemplateError(message, where=name)
        known = self._readings.get(name)
        if known is None:
            if len(seen) > DEPTH_CAP:
                message = f"more than {DEPTH_CAP} templates that draw on each other in a row"
                raise TemplateError(message, where=name)
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
    """Return `nearest` of the formats; an ending (`md`), or `text`, means its format."""
    endings = {ending: name for name, ending in EXTENSIONS.items()}
    meant = {"text": "plain", **endings}.get(word.lower())
    if meant in have and word != meant:
        return f'; did you mean "{meant}"?'
    return nearest(word, have)


def _size(value: object) -> int:
    """Return the characters of all texts in plain data."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_size, value.values()))
    return sum(map(_size, value)) if isinstance(value, list | tuple) else 0


def _endings(format: str, names: Sequence[str]) -> list[str]:  # noqa: A002
    """Return the endings of a format: `md` for markdown, `slides.md` or `slides` for a user's."""
    if format in EXTENSIONS:
        return [EXTENSIONS[format]]
    pages = (name.partition("/layout.")[2] for name in names if name.endswith(".j2"))
    found = {page.removesuffix(".j2") for page in pages if page}
    return sorted(e for e in found if e.split(".")[0] == format and e not in EXTENSIONS.values())
