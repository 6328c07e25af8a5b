"""The template files: finding, compiling and printing them.

One layout in one format: the compiled templates that print its items and its page.

Templates that follow edits: the newest complete set, or the last good one.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jinja2

from ..config.layouts import LayoutSettings, load_layout_settings
from ..errors import OptionError, PromptForgeError, TemplateError, quote, suggest_name
from ..files import (
    FORMAT_EXTENSIONS,
    MAX_SETTLE_SECONDS,
    SETTLE_SECONDS,
    FileStamps,
    TemplateFile,
    TemplateSource,
    folder_stamps,
    format_of,
    read_template_folder,
    shipped_folder,
    template_files_of,
)
from ..text.delimiters import template_line_pattern
from ..text.escape import Safe, syntax_of
from .autoescape import PRINTED_TITLE, TemplateFacts
from .failures import excerpt_at, explain_failure
from .language import (
    Environment,
    Fields,
    PrintedItem,
    PrintedPage,
    TracedPiece,
    TracingEnvironment,
    isolate_fences,
    join_output,
    locate_mistake,
)
from .limits import FuelTank, count_chars, use_tank

_KIND = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


class Layout:
    """One layout in one format: the template of the page and, by kind, those of the items."""

    def __init__(
        self, templates: Templates, layout: str, format: str, ending: str, chain: list[str]
    ) -> None:
        self.layout = layout
        self.format = format
        self.syntax = syntax_of(ending.rpartition(".")[2])
        self.settings = templates.settings(layout)
        self._templates = templates
        self._ending = ending
        self._chain = chain
        self._items: dict[str, jinja2.Template] = {}
        page = self._find("layout")
        if page is None:
            raise TemplateError(f'the layout "{layout}" has no page "layout.{ending}.j2"')
        self.page_name = page
        """The template of the page, by its name."""
        self.page_uses = templates.reading(page).names
        self._page = templates.compile(page)
        names = self.files() if self.syntax == "txt" else ()
        self._frame: frozenset[tuple[object, ...]] = frozenset().union(
            *(templates.reading(n).lines for n in names)
        )
        self._names: frozenset[str] | None = None
        self._sources: str | None = None
        self.prints_titles = (PRINTED_TITLE,) in self._frame
        """In plain text a section's title is a whole line, so no line of content may equal it."""
        self._patterns: dict[tuple[str, ...], re.Pattern[str] | None] = {}

    def files(self) -> list[str]:
        """Return the names of its templates, sorted: the page and the item templates."""
        found: dict[str, str] = {}
        for folder in self._chain:
            for name in self._templates.names():
                part = name.removeprefix(f"{folder}/")
                if name != part and part.endswith(f".{self._ending}.j2"):
                    stem = part.removesuffix(f".{self._ending}.j2")
                    if "." not in stem and not stem.startswith("_"):
                        found.setdefault(stem, name)
        return sorted(found.values())

    def _find(self, part: str) -> str | None:
        for folder in self._chain:
            name = f"{folder}/{part}.{self._ending}.j2"
            if self._templates.find(name):
                return name
        return None

    def uses(self, name: str) -> bool:
        """Tell whether any of its templates uses the variable `name`."""
        if self._names is None:
            self._names = frozenset().union(
                *(self._templates.reading(file).names for file in self.files())
            )
        return name in self._names

    def sources(self) -> str:
        """Return the text of all its templates and of those they draw on."""
        if self._sources is None:
            names = self.files()
            for name in names:  # grows meanwhile
                names += [
                    other for other in self._templates.reading(name).parents if other not in names
                ]
            self._sources = "\n".join(self._templates.source(name)[0] for name in names)
        return self._sources

    def line_pattern(self, lines: Sequence[str]) -> re.Pattern[str] | None:
        """Return the pattern of lines that belong to the templates of plain text, else `None`.

        `lines` are more of them, from options: header, marker, titles.
        """
        if self.syntax != "txt":
            return None
        key = tuple(lines)
        if key not in self._patterns:
            # Titles come with the items: an endless supply must not fill the memory.
            if len(self._patterns) >= 1000:
                self._patterns.clear()
            own = {(line,) for text in key for line in text.split("\n")}
            self._patterns[key] = template_line_pattern(self._frame | own)
        return self._patterns[key]

    def item_template(self, kind: str) -> jinja2.Template:
        """Return the template for one item of `kind`: the kind's own, else `item`."""
        template = self._items.get(kind)
        if template is None:
            name = None
            if _KIND.fullmatch(kind) and kind not in ("layout", "item"):
                name = self._find(kind)
            name = name or self._find("item")
            if name is None:
                raise TemplateError(
                    f'the layout "{self.layout}" has no "item.{self._ending}.j2" for "{kind}"'
                )
            template = self._templates.compile(name)
            if len(self._items) < 1000:  # kinds, too, come with the items
                self._items[kind] = template
        return template

    def printer(
        self,
        kind: str,
        flags: Mapping[str, Any],
        tank: FuelTank | None = None,
        mend: Callable[[list[str]], list[str]] | None = None,
    ) -> Callable[[Fields], PrintedItem]:
        """Return the function that prints items of `kind`, for use in one thread.

        `flags` are the options that templates see, `tank` holds the fuel, and `mend` may change the
        pieces of an item's text before they are joined.
        """
        tank = tank or FuelTank()
        template = self.item_template(kind)
        variables: dict[str, Any] = {"item": None, **flags}
        context = template.new_context(variables, shared=True)

        def show(item: Fields) -> PrintedItem:
            variables["item"] = item
            # One context serves all items; a variable set for the item before must not be seen.
            context.vars.clear()
            context.exported_vars.clear()
            use_tank(tank, 1, count_chars(item.values()))
            before = tank.imitations
            try:
                text = join_output(template.root_render_func(context), mend)
            except Exception as error:
                raise explain_failure(error, template, variables) from error
            return PrintedItem(text, tank.imitations - before)

        return show

    def render_page(self, variables: dict[str, Any], tank: FuelTank) -> PrintedPage:
        """Return the pieces of the page's text; each item's text is one of them."""
        template = self._page
        items = variables["items"]
        use_tank(tank, len(items), sum([len(item["text"]) for item in items]))
        before = tank.imitations
        context = template.new_context(variables, shared=True)
        try:
            pieces = isolate_fences(template.root_render_func(context))
        except Exception as error:
            raise explain_failure(error, template, variables) from error
        return PrintedPage(pieces, tank.imitations - before)


PROMPTS_FOLDER = "prompt"
"""The folder of the sets that print whole prompts. It is no layout."""

MAX_TEMPLATE_CHAIN = 50
"""Length of a chain of templates that extend, include or import from each other."""

_LAYOUT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class FoundTemplate(NamedTuple):
    """A template file."""

    name: str
    path: Path
    shipped: bool


def _read(source: TemplateSource) -> Mapping[str, TemplateFile]:
    if isinstance(source, Path):
        return read_template_folder(source)
    return template_files_of(source)


def _is_prompt_part(name: str) -> bool:
    """Tell whether a name is `prompt/SET/PART.EXT.j2`."""
    return name.startswith(f"{PROMPTS_FOLDER}/") and name.count("/") == 2


class Templates:
    """The template files: the user's first, the shipped ones last. Read once, then unchanging."""

    def __init__(self, sources: Sequence[TemplateSource] = ()) -> None:
        """Read the files of `sources`; the first of a name wins, the shipped one comes last.

        Raises `TemplateError` for a folder that is not there.
        """
        self.folders = tuple(source for source in sources if isinstance(source, Path))
        """The user's folders."""
        self.own = tuple(map(_read, sources))
        """The user's files by name, source by source."""
        self._shipped = read_template_folder(shipped_folder("templates"))
        every = set(self._shipped).union(*self.own)
        self._names = sorted(name for name in every if name.count("/") < 2 or _is_prompt_part(name))
        self._environment = Environment(jinja2.FunctionLoader(self._load))
        self._tracing: TracingEnvironment | None = None
        self._readings: dict[str, TemplateFacts] = {}
        self._looks: dict[tuple[str, str], Layout] = {}

    # --- files ------------------------------------------------------------------------------------------------------

    def _file(self, name: str) -> tuple[TemplateFile, bool] | None:
        rest = name.removeprefix("shipped/")
        if rest == name:
            for files in self.own:
                if name in files:
                    return files[name], False
        return (self._shipped[rest], True) if rest in self._shipped else None

    def find(self, name: str) -> FoundTemplate | None:
        """Return the file of the template `name`; `shipped/NAME` is always the original."""
        found = self._file(name)
        return None if found is None else FoundTemplate(name, found[0].path, found[1])

    def source(self, name: str) -> tuple[str, FoundTemplate]:
        """Return text and file of the template `name`; raises `TemplateError`."""
        found = self._file(name)
        if found is None:
            raise TemplateError(
                f"there is no template {quote(name)}{suggest_name(name, self.names())}"
            )
        file, shipped = found
        if file.problem:
            raise TemplateError(file.problem, where=str(file.path))
        return file.text, FoundTemplate(name, file.path, shipped)

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
        return sorted(found - {PROMPTS_FOLDER})

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
        shipped = [f for f in FORMAT_EXTENSIONS if f in own]
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
                message = f"there is no layout {quote(name)}{suggest_name(name, self.layouts())}"
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

    def layout(self, layout: str, format: str) -> Layout:
        """Return `layout` in `format`; raises `OptionError` if it has no such format."""
        key = (layout, format)
        look = self._looks.get(key)
        if look is None:
            look = self._looks[key] = self._make_look(layout, format)
        return look

    def _make_look(self, layout: str, format: str) -> Layout:
        chain = self._chain(layout)
        for ending in _endings(format, self.names()):
            for folder in chain:
                if self.find(f"{folder}/layout.{ending}.j2"):
                    return Layout(self, layout, format, ending, chain)
        have = self.formats(layout)
        raise OptionError(
            f'the layout "{layout}" has no format {quote(format)}{did_you_mean_format(format, have)}',
            option="format",
        )

    # --- compiling --------------------------------------------------------------------------------------------------

    def compile(self, name: str) -> jinja2.Template:
        """Return the compiled template `name`; raises `TemplateError` with file and line."""
        try:
            return self._environment.get_template(name)
        except jinja2.TemplateNotFound as error:
            raise TemplateError(
                f'there is no template "{error.name}"{suggest_name(str(error.name), self.names())}'
            ) from None
        except jinja2.TemplateSyntaxError as error:
            start, length, message, _ = locate_mistake(error.source or "", error)
            line = excerpt_at(error.source or "", start, length)
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
        use_tank(FuelTank(), len(variables), _size(variables))
        try:
            return join_output(
                template.root_render_func(template.new_context(variables, shared=True)), mend
            )
        except Exception as error:
            raise explain_failure(error, template, variables) from error

    def trace(self, name: str, variables: dict[str, Any]) -> Iterator[TracedPiece]:
        """Yield what the template `name` prints, each piece with its template and line."""
        if self._tracing is None:
            self._tracing = TracingEnvironment(jinja2.FunctionLoader(self._load))
        template = self._tracing.get_template(name)
        context = template.new_context(variables, shared=True)
        pieces: Any = template.root_render_func(context)
        return iter(pieces)

    def reading(self, name: str, seen: tuple[str, ...] = ()) -> TemplateFacts:
        """Return the facts about `name` and all templates it draws on, as one."""
        if name in seen:
            chain = " → ".join([*seen, name])
            message = f'extends or includes itself ({chain}); "shipped/{name}" is the original'
            raise TemplateError(message, where=name)
        known = self._readings.get(name)
        if known is None:
            if len(seen) > MAX_TEMPLATE_CHAIN:
                message = (
                    f"more than {MAX_TEMPLATE_CHAIN} templates that draw on each other in a row"
                )
                raise TemplateError(message, where=name)
            self.compile(name)
            own = self._environment.facts(name)
            parents = [self.reading(parent, (*seen, name)) for parent in dict.fromkeys(own.parents)]
            known = self._readings[name] = TemplateFacts(
                own.names.union(*(p.names for p in parents)),
                own.lines.union(*(p.lines for p in parents)),
                own.parents,
            )
        return known


def did_you_mean_format(word: str, have: Sequence[str]) -> str:
    """Return `nearest` of the formats; an ending (`md`), or `text`, means its format."""
    endings = {ending: name for name, ending in FORMAT_EXTENSIONS.items()}
    meant = {"text": "plain", **endings}.get(word.lower())
    if meant in have and word != meant:
        return f'; did you mean "{meant}"?'
    return suggest_name(word, have)


def _size(value: object) -> int:
    """Return the characters of all texts in plain data."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_size, value.values()))
    return sum(map(_size, value)) if isinstance(value, list | tuple) else 0


def _endings(format: str, names: Sequence[str]) -> list[str]:
    """Return the endings of a format: `md` for markdown, `slides.md` or `slides` for a user's."""
    if format in FORMAT_EXTENSIONS:
        return [FORMAT_EXTENSIONS[format]]
    pages = (name.partition("/layout.")[2] for name in names if name.endswith(".j2"))
    found = {page.removesuffix(".j2") for page in pages if page}
    return sorted(
        e for e in found if e.split(".")[0] == format and e not in FORMAT_EXTENSIONS.values()
    )


class TemplateName(NamedTuple):
    """What the name of a template says: `LAYOUT/STEM.ENDING.j2`."""

    layout: str
    stem: str
    ending: str


def parse_template_name(name: str) -> TemplateName | None:
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
    return TemplateName(layout, stem, ending)


class FollowedTemplates:
    """Templates that are read again when their files change; safe in any thread.

    A new set is taken once its files rest for `SETTLED` seconds and all of them compile; until then
    the last good set is used. A rendering keeps the set it began with.
    """

    def __init__(self, sources: Sequence[TemplateSource]) -> None:
        """Read `sources` as `Templates` does, whether they compile or not."""
        self._sources = tuple(sources)
        self._folders = [source for source in sources if isinstance(source, Path)]
        self._lock = threading.Lock()
        self._seen = self._stamps()
        self._current: tuple[Templates, str | None] = (Templates(self._sources), None)
        self._again = self._current[0].unread()
        """Look again even if nothing has changed: a disk may fail once and not the next time."""

    def newest(self) -> tuple[Templates, str | None]:
        """Return the set to use now, and the error of newer files that were not taken.

        One thread waits for files that are being written, at most `PATIENCE` seconds; the others go
        on with the last good set.
        """
        if self._lock.acquire(blocking=False):
            try:
                self._look()
            finally:
                self._lock.release()
        return self._current

    def _look(self) -> None:
        good = self._current[0]
        try:
            stamps = self._stamps()
            if stamps == self._seen and not self._again:
                return
            newer, self._seen = self._rested(stamps)
            self._again = newer.unread()
            newer.check()
            self._current = (newer, None)
        except PromptForgeError as error:
            self._current = (good, str(error))

    def _stamps(self) -> list[FileStamps]:
        return [folder_stamps(folder) for folder in self._folders]

    def _rested(self, stamps: list[FileStamps]) -> tuple[Templates, list[FileStamps]]:
        """Return the templates once their files are at rest, with the stamps of these."""
        until = time.monotonic() + MAX_SETTLE_SECONDS
        while time.monotonic() < until:
            time.sleep(SETTLE_SECONDS)
            before, stamps = stamps, self._stamps()
            if before == stamps:
                templates = Templates(self._sources)
                if self._stamps() == stamps:
                    return templates, stamps
        named = ", ".join(str(folder) for folder in self._folders)
        raise PromptForgeError(f"the template files keep changing in {named}")
