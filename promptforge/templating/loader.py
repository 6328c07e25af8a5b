"""The template files: finding, compiling and printing them, one layout in one format at a time."""

from __future__ import annotations

import re
from collections import UserDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import jinja2
import msgspec

from ..config.layouts import NO_BASE, LayoutSettings, load_layout_settings
from ..errors import (
    Excerpt,
    OptionError,
    PromptForgeError,
    TemplateError,
    did_you_mean,
    quote,
    suggest_name,
)
from ..files import (
    TemplateFile,
    TemplateSource,
    folder_stamps,
    read_template_file,
    read_template_folder,
    shipped_folder,
    template_files_of,
)
from ..syntax.plain_syntax import PLAIN
from ..syntax.syntax import PRINTED_TITLE, LineParts, Syntax
from ..syntax.syntaxes import FORMAT_EXTENSIONS, format_of, known_syntax, syntax_named
from ..text.delimiters import TemplateLines
from ..text.escape import Safe
from ..text.words import late_property
from ..trimming.kinds import Trimmers, refuse_unknown_trimmer
from .autoescape import TemplateFacts
from .language import Environment, Fields, isolate_fences, join_output
from .limits import Changes, FuelTank, count_chars, use_tank

SHIPPED = "shipped/"
"""Before the name of a layout or template: the original behind a user's file of that name."""
PROMPTS_FOLDER = "prompt"
"""The folder of the sets that print whole prompts. It is no layout."""
MAX_TEMPLATE_CHAIN = 50
"""Length of a chain of templates that extend, include or import from each other."""
MAX_REMEMBERED = 1000
"""Kinds and titles come with the items: an endless supply of them must not fill the memory."""
_LAYOUT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
KIND_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
Printed = TypeVar("Printed")
Mend = Callable[[list[str]], list[str]]


class TemplateName(NamedTuple):
    """The name of a layout's template, `LAYOUT/STEM.ENDING.j2`, in its parts."""

    layout: str
    stem: str
    """`layout` for the page, `item`, or the kind of item that the template shows."""
    ending: str
    """`md`, or `slides.md` for a format of the user's own."""

    @classmethod
    def parse(cls, name: str) -> TemplateName | None:
        """Return the parts of a name; `None` for a piece (`_…`) and for a name of another form."""
        layout, _, file = name.partition("/")
        stem, _, ending = file.removesuffix(".j2").partition(".")
        if not file.endswith(".j2") or "/" in file or not ending:
            return None
        if layout.startswith("_") or stem.startswith("_"):
            return None
        return cls(layout, stem, ending)


class FoundTemplate(NamedTuple):
    """A template file."""

    name: str
    path: Path
    shipped: bool


class Templates:
    """The template files: the user's first, the shipped ones last. Read once, then unchanging."""

    def __init__(self, sources: Sequence[TemplateSource] = ()) -> None:
        """Read the files of `sources`; the first of a name wins, the shipped one comes last.

        Raises `TemplateError` for a folder that is not there.
        """
        self.folders = tuple(source for source in sources if isinstance(source, Path))
        self.own = tuple(map(_read, sources))
        shipped = shipped_folder("templates")
        self._shipped = _files_of(shipped, tuple(folder_stamps(shipped).items()))
        every = set(self._shipped).union(*self.own)
        self._names = sorted(name for name in every if name.count("/") < 2 or _is_prompt_part(name))
        self._by_layout: defaultdict[str, list[tuple[TemplateName, str]]] = defaultdict(list)
        for name, parts in zip(self._names, map(TemplateName.parse, self._names), strict=True):
            if parts is not None:
                self._by_layout[parts.layout].append((parts, name))
        self._environment = Environment(jinja2.FunctionLoader(self._load), self.syntax_of)
        self._facts: dict[str, TemplateFacts] = {}
        self._layouts: dict[tuple[str, str], Layout] = {}

    # --- files ------------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """Return the names of all template and layout files, sorted."""
        return self._names

    def find(self, name: str) -> FoundTemplate | None:
        """Return the file of the template `name`; `shipped/NAME` is always the original."""
        file, shipped = self._file(name)
        return None if file is None else FoundTemplate(name, file.path, shipped)

    def source(self, name: str) -> tuple[str, FoundTemplate]:
        """Return text and file of the template `name`; raises `TemplateError`."""
        file, shipped = self._file(name)
        if file is None:
            raise TemplateError(self.missing(name))
        if file.problem:
            raise TemplateError(file.problem, where=str(file.path))
        return file.text, FoundTemplate(name, file.path, shipped)

    def missing(self, name: str) -> str:
        """Return the message about a template that is not there."""
        alike = [each for each in self._names if each.endswith(name.partition(".")[2])]
        hint = did_you_mean(name, alike) or "; `promptforge list templates` names all"
        return f"there is no template {quote(name)}{hint}"

    def _file(self, name: str) -> tuple[TemplateFile | None, bool]:
        original = name.removeprefix(SHIPPED)
        if original == name:
            for files in self.own:
                if name in files:
                    return files[name], False
        return self._shipped.get(original), True

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
            self.facts(name)
        else:
            self.settings(name.rpartition("/")[0])

    def _load(self, name: str) -> tuple[str, str, Callable[[], bool]] | None:
        try:
            text, found = self.source(name)
        except TemplateError as error:
            if error.where:  # the file is there, and cannot be read
                raise
            return None  # so Jinja says that there is none
        return text, str(found.path), lambda: True

    # --- layouts and formats ----------------------------------------------------------------------

    def layouts(self) -> list[str]:
        """Return the layouts, sorted: the folders with a `layout.…j2` or a `layout.yaml`."""
        found = {n.split("/")[0] for n in self._names if "/layout." in n and not n.startswith("_")}
        return sorted(found - {PROMPTS_FOLDER})

    def prompts(self) -> list[str]:
        """Return the sets that print whole prompts, sorted: the folders in `prompt/`."""
        return sorted({name.split("/")[1] for name in self._names if _is_prompt_part(name)})

    def check_prompt(self, name: str) -> None:
        """Raise `OptionError` for a set of prompt templates that is not there."""
        known = self.prompts()
        if name.removeprefix("shipped/") not in known:
            message = f"there is no set of prompt templates {quote(name)}"
            hint = suggest_name(name, known)
            raise OptionError(message, option="prompt", absent=name, hint=hint)

    def check_format(self, format: str) -> None:
        """Raise `OptionError` for a format that no layout has."""
        if not self._endings(format):
            have = sorted({name for layout in self.layouts() for name in self.formats(layout)})
            message = f"no layout has a format {quote(format)}{suggest_format(format, have)}"
            raise OptionError(message, option="format")

    def formats(self, layout: str) -> list[str]:
        """Return the formats of `layout` and its bases: the shipped ones, then the user's."""
        own = {
            format_of(parts.ending)
            for folder in self._chain(layout)
            for parts, _ in self.templates_of(folder)
            # `layout.markdown.j2` is none: the format markdown ends in `md`.
            if parts.stem == "layout"
            and FORMAT_EXTENSIONS.get(parts.ending) in (None, parts.ending)
        }
        shipped = [name for name in FORMAT_EXTENSIONS if name in own]
        return shipped + sorted(own - set(shipped))

    def settings(self, layout: str) -> LayoutSettings:
        """Return the settings of `layout`, filled up from its bases and from those of all layouts.

        Raises `TemplateError` for a `trim_as` without a trimmer.
        """
        every = self.folder_settings("")
        if every.base:
            raise TemplateError(NO_BASE, where="layout.yaml")
        merged = msgspec.structs.replace(every, description="", stated=())
        for folder in reversed(self._chain(layout)):
            merged = self.folder_settings(folder).over(merged)
        for name in merged.of_kinds("trim_as").values():
            problem = refuse_unknown_trimmer(name)
            if problem is not None:
                raise TemplateError(problem, where=self._settings_place(layout))
        return merged

    def syntax_of(self, name: str) -> Syntax:
        """Return the syntax of a template: its ending's, or else the one its layout declares."""
        return known_syntax(name) or self.declared_syntax(name) or PLAIN

    def declared_syntax(self, name: str) -> Syntax | None:
        """Return the syntax in the settings of the folder of a template, if they say one."""
        folder = name.rpartition("/")[0]
        try:
            settings = self.settings(folder) if self.is_layout(folder) else self.folder_settings("")
        except PromptForgeError:  # said by the layout itself
            return None
        return None if settings.syntax is None else syntax_named(settings.syntax)

    def layout(self, layout: str, format: str) -> Layout:
        """Return `layout` in `format`; raises `OptionError` if it has no such format."""
        key = (layout, format)
        if key not in self._layouts:
            chain = self._chain(layout)
            # The nearest folder comes first: a layout's own template goes before its base's.
            for ending in self._endings(format):
                files: dict[str, str] = {}
                for folder in chain:
                    for parts, name in self.templates_of(folder):
                        if parts.ending == ending:
                            files.setdefault(parts.stem, name)
                if "layout" in files:
                    self._layouts[key] = Layout(self, layout, format, ending, files)
                    break
            else:
                hint = suggest_format(format, self.formats(layout))
                hint = hint or "; it needs a page such as layout.md.j2, or a base in layout.yaml"
                message = f'the layout "{layout}" has no format {quote(format)}{hint}'
                raise OptionError(message, option="format")
        return self._layouts[key]

    def _endings(self, format: str) -> list[str]:
        """Return the endings of a format: `md` for markdown, `slides.md` for `slides`."""
        if format in FORMAT_EXTENSIONS:
            return [FORMAT_EXTENSIONS[format]]
        every = [parts for templates in self._by_layout.values() for parts, _ in templates]
        found = {parts.ending for parts in every if parts.stem == "layout"}
        own = found - set(FORMAT_EXTENSIONS.values())
        return sorted(ending for ending in own if ending.split(".")[0] == format)

    def folder_settings(self, folder: str) -> LayoutSettings:
        """Return the settings in a folder: those of the user's files over the shipped ones."""
        own = [] if folder.startswith(SHIPPED) else self.own
        name = f"{folder.removeprefix(SHIPPED)}/layout.yaml".removeprefix("/")
        merged = LayoutSettings()
        for files in (self._shipped, *reversed(own)):
            file = files.get(name)
            if file is not None:
                if file.problem:
                    raise TemplateError(file.problem, where=str(file.path))
                merged = load_layout_settings(file.text, str(file.path)).over(merged)
        return merged

    def templates_of(self, folder: str) -> list[tuple[TemplateName, str]]:
        """Return the templates in a folder; of `shipped/NAME` the original ones."""
        if not folder.startswith(SHIPPED):
            return self._by_layout[folder]
        found = self._by_layout[folder.removeprefix(SHIPPED)]
        return [(parts, SHIPPED + name) for parts, name in found if name in self._shipped]

    def _chain(self, layout: str) -> list[str]:
        """Return `layout` and its bases, nearest first; raises for one that is not there."""
        chain: list[str] = []
        name: str | None = layout
        while name:
            if not self.is_layout(name):
                message = f"there is no layout {quote(name)}"
                hint = suggest_name(name, self.layouts())
                if self._by_layout.get(name) and name != PROMPTS_FOLDER:
                    message = f"{quote(name)} is not a layout: it has neither a page, such as"
                    hint = " layout.md.j2, nor a layout.yaml with a base"
                if chain:
                    raise TemplateError(message + hint, where=self._settings_place(chain[-1]))
                raise OptionError(message, option="layout", absent=name, hint=hint)
            if name in chain:
                circle = " → ".join([*chain, name])
                message = f"the layouts {circle} are based on each other, which is circular"
                raise TemplateError(message, where=self._settings_place(name))
            chain.append(name)
            name = self.folder_settings(name).base
        return chain

    def is_layout(self, name: str) -> bool:
        """Tell whether there is such a layout; `shipped/NAME` is the original one."""
        if name.startswith(SHIPPED):
            folder = name.removeprefix(SHIPPED)
            return any(file.startswith(f"{folder}/layout.") for file in self._shipped)
        return _LAYOUT.fullmatch(name) is not None and name in self.layouts()

    def _settings_place(self, layout: str) -> str:
        found = self.find(f"{layout}/layout.yaml")
        return layout if found is None else str(found.path)

    # --- compiling and printing -------------------------------------------------------------------

    def compile(self, name: str) -> jinja2.Template:
        """Return the compiled template `name`; raises `TemplateError` with file and line."""
        try:
            return self._environment.get_template(name)
        except jinja2.TemplateNotFound as error:
            raise TemplateError(self.missing(str(error.name))) from None
        except jinja2.TemplateSyntaxError as error:
            from .failures import locate_mistake

            source = error.source or ""
            mistake = locate_mistake(source, error)
            line = Excerpt.at(source, mistake.start, mistake.length)
            where = f"{error.name or name}:{line.line}"
            raise TemplateError(mistake.message, where=where, excerpt=line) from None
        except TemplateError:
            raise
        except (RecursionError, MemoryError, SyntaxError):
            message = "is nested too deep, or one expression in it is too long"
            raise TemplateError(message, where=name) from None
        except Exception as error:  # Jinja and Python's compiler: TypeError for {[1]: 2}, …
            raise TemplateError(f"does not compile: {type(error).__name__}", where=name) from None

    def facts(self, name: str, seen: tuple[str, ...] = ()) -> TemplateFacts:
        """Return the facts about `name` and all templates it draws on, as one."""
        if name in seen:
            chain = " → ".join([*seen, name])
            way_out = "take one of these out"
            if name in self._shipped:
                way_out = f'"shipped/{name}" is the original'
            message = f"extends or includes itself ({chain}); {way_out}"
            raise TemplateError(message, where=name)
        if name not in self._facts:
            if len(seen) > MAX_TEMPLATE_CHAIN:
                limit = f"more than {MAX_TEMPLATE_CHAIN} templates"
                raise TemplateError(f"{limit} that include each other", where=name)
            # Compiling finds the facts, and refuses what must not run before it is followed.
            # What ships compiles; of it a short run prints two templates of the four it asks about.
            file, shipped = self._file(name)
            if file is not None and shipped:
                own = self._environment.facts_of(file.text, name, str(file.path))
            else:
                self.compile(name)
                own = self._environment.facts(name)
            for other in own.parents:
                if self._file(other)[0] is None:
                    from .failures import missing_parent

                    raise missing_parent(self.missing(other), name, self.source(name)[0], other)
            parents = {n: self.facts(n, (*seen, name)) for n in dict.fromkeys(own.parents)}
            names = own.names.union(*(parent.names for parent in parents.values()))
            lines, switched = own.lines, list[tuple[str, frozenset[LineParts]]]()
            option_of = dict(own.optional)
            for each, parent in parents.items():
                switched += parent.switched
                if each in option_of:
                    switched.append((option_of[each], parent.lines))
                else:
                    lines |= parent.lines
            facts = TemplateFacts(names, lines, own.parents, own.optional, tuple(switched))
            self._facts[name] = facts
        return self._facts[name]

    def print(self, name: str, variables: dict[str, Any], mend: Mend | None = None) -> Safe:
        """Return the output of the template `name`; raises `TemplateError` with file and line.

        `mend` may change the pieces of the output before they are joined.
        """
        template = self.compile(name)
        use_tank(FuelTank(), len(variables), count_chars(variables.values()))
        context = template.new_context(variables, shared=True)
        return _run(template, context, variables, lambda pieces: join_output(pieces, mend))

    def trace(self, name: str, variables: dict[str, Any]) -> Iterator[tuple[str, str, int]]:
        """Yield what the template `name` prints, each piece with its template and line."""
        template = self.compile(name)
        pieces: Any = template.root_render_func(template.new_context(variables, shared=True))
        for piece in pieces:
            yield piece, *_place_of(pieces)


def _place_of(printing: Any) -> tuple[str, int]:
    """Return the template and line that a running template has printed last."""
    # It waits for its blocks by `yield from`, and for what it includes in a loop over `gen`.
    frame: Any = printing.gi_frame
    while True:
        inner = printing.gi_yieldfrom or frame.f_locals.get("gen")
        if getattr(inner, "gi_frame", None) is None:
            break
        printing, frame = inner, inner.gi_frame
    template = frame.f_globals["__jinja_template__"]
    return template.name, template.get_corresponding_lineno(frame.f_lineno)


class _ShippedFiles(UserDict[str, Any]):
    """The shipped files by name, each read when it is first used: a rendering uses 6 of 100."""

    def __init__(self, folder: Path, names: Iterable[str]) -> None:
        super().__init__(dict.fromkeys(names))
        self._folder = folder

    def __getitem__(self, name: str) -> TemplateFile:
        if self.data[name] is None:
            self.data[name] = read_template_file(self._folder / name)
        file: TemplateFile = self.data[name]
        return file


# The preview makes a new set of templates at each key press, and reading takes five times as long
# as looking whether anything has changed.
@lru_cache(1)
def _files_of(folder: Path, stamps: tuple[tuple[str, object], ...]) -> Mapping[str, TemplateFile]:
    return _ShippedFiles(folder, dict(stamps))


def _read(source: TemplateSource) -> Mapping[str, TemplateFile]:
    if isinstance(source, Path):
        return read_template_folder(source)
    return template_files_of(source)


def _is_prompt_part(name: str) -> bool:
    return name.startswith(f"{PROMPTS_FOLDER}/") and name.count("/") == 2


def suggest_format(word: str, have: Sequence[str]) -> str:
    """Return the end of a message about an unknown format; `md` or `text` means its format."""
    endings = {ending: name for name, ending in FORMAT_EXTENSIONS.items()}
    meant = {"text": "plain", **endings}.get(word.lower())
    if meant in have and word != meant:
        return f'; did you mean "{meant}"?'
    return suggest_name(word, have)


class Layout:
    """One layout in one format: the template of the page and, by kind, those of the items."""

    def __init__(
        self, templates: Templates, name: str, format: str, ending: str, files: Mapping[str, str]
    ) -> None:
        """Compile the page; `files` are the names of the templates by their stems."""
        self.name = name
        self.format = format
        self.ending = ending
        self.settings = templates.settings(name)
        self.page_name = files["layout"]
        self.page_uses = templates.facts(self.page_name).names
        self._templates = templates
        self._files = files
        self.syntax = templates.syntax_of(self.page_name)
        self.is_syntax_known = known_syntax(ending) or templates.declared_syntax(self.page_name)
        """False where neither the ending nor the settings say it, so it is plain text."""
        for other in self.files():
            if templates.syntax_of(other) is not self.syntax:
                message = f"its syntax is {self.syntax.name}, and that of {quote(other)} another"
                way_out = "; set the same `syntax` in the layout.yaml of both folders"
                raise TemplateError(message + way_out, where=self.page_name)
        self._page = templates.compile(self.page_name)
        self._items: dict[str, jinja2.Template] = {}
        self._trimmers: dict[tuple[str, bool], Trimmers] = {}
        self._lines = frozenset[LineParts]()
        # Only plain text has no syntax that tells the template's own lines from others.
        self._switched: list[tuple[str, frozenset[LineParts]]] = []
        if self.syntax.marks_lines:
            facts = [templates.facts(name) for name in self.files()]
            self._lines = self._lines.union(*(each.lines for each in facts))
            self._switched = [pair for each in facts for pair in each.switched]
        self.prints_titles = (PRINTED_TITLE,) in self._lines
        """In plain text a section's title is a whole line, so no line of content may equal it."""
        self._template_lines: dict[tuple[str, ...], TemplateLines] = {}
        self._names: frozenset[str] | None = None
        self._source_text: str | None = None

    def trimmers(self, marker: str, compacts: bool) -> Trimmers:
        """Return the ways to shorten items, in the words of its settings."""
        known = self._trimmers.get((marker, compacts))
        if known is None:
            kinds = self.settings.of_kinds("trim_as")
            known = Trimmers(self.settings.marks(marker), kinds, compacts)
            self._trimmers = {(marker, compacts): known}  # a marker may come from anywhere
        return known

    @late_property
    def has_bare_items(self) -> bool:
        """True in plain text where an item is its values alone, without words of the templates."""
        names = [name for name in self.files() if name != self.page_name]
        facts = list(map(self._templates.facts, names))
        words = (part for each in facts for line in each.lines for part in line)
        drawn_on = any(each.parents for each in facts)
        return (
            self.syntax.marks_lines
            and not drawn_on
            and not any(isinstance(part, str) and part.strip() for part in words)
        )

    def files(self) -> list[str]:
        """Return the names of its templates, sorted: the page and the item templates."""
        return sorted(name for stem, name in self._files.items() if not stem.startswith("_"))

    def uses(self, name: str) -> bool:
        """Tell whether any of its templates uses the variable `name`."""
        if self._names is None:
            facts = map(self._templates.facts, self.files())
            self._names = frozenset[str]().union(*(each.names for each in facts))
        return name in self._names

    def sources(self) -> str:
        """Return the text of all its templates and of those they draw on."""
        if self._source_text is None:
            names = self.files()
            for name in names:  # grows meanwhile
                parents = self._templates.facts(name).parents
                names += [parent for parent in parents if parent not in names]
            self._source_text = "\n".join(self._templates.source(name)[0] for name in names)
        return self._source_text

    def template_lines(
        self, lines: Sequence[str], options: Collection[str] = ()
    ) -> TemplateLines | None:
        """Return the lines that belong to the templates of plain text; `None` in other syntaxes.

        `lines` are more of them, from options: header, marker, titles. `options` are those that are
        on and have lines of their own: sources, tree.
        """
        if not self.syntax.marks_lines:
            return None
        key = (*lines, *options)
        if key not in self._template_lines:
            if len(self._template_lines) >= MAX_REMEMBERED:
                self._template_lines.clear()
            own = {(line,) for text in lines for line in text.split("\n")}
            on = (these for option, these in self._switched if option in options)
            self._template_lines[key] = TemplateLines(self._lines.union(own, *on))
        return self._template_lines[key]

    def item_template(self, kind: str) -> jinja2.Template:
        """Return the template for one item of `kind`: the kind's own, else `item`."""
        template = self._items.get(kind)
        if template is None:
            name = self._files.get("item")
            if KIND_NAME.fullmatch(kind) and kind != "layout":
                name = self._files.get(kind, name)
            if name is None:
                message = f'the layout "{self.name}" has no "item.{self.ending}.j2" for "{kind}"'
                way_out = f"add it, or write base: chunks into {self.name}/layout.yaml"
                raise TemplateError(f"{message}; {way_out}")
            template = self._templates.compile(name)
            if len(self._items) < MAX_REMEMBERED:
                self._items[kind] = template
        return template

    def printer(
        self,
        kind: str,
        flags: Mapping[str, Any],
        tank: FuelTank | None = None,
        mend: Mend | None = None,
    ) -> Callable[[Fields, int], tuple[Safe, Changes]]:
        """Return the function that prints items of `kind`, for use in one thread.

        It takes an item and the characters of its fields. It returns the text, and what was done to
        values in it. `flags` are the
        options that templates see, `tank` holds the fuel, and `mend` may change the pieces before
        they are joined.
        """
        tank = tank or FuelTank()
        template = self.item_template(kind)
        variables: dict[str, Any] = {"item": None, **flags}
        context: jinja2.runtime.Context | None = None

        def show(item: Fields, chars: int) -> tuple[Safe, Changes]:
            nonlocal context
            use_tank(tank, 1, chars)
            before = tank.changes
            variables["item"] = item
            # One context serves all items; a variable set for the item before must not be seen.
            if context is None:
                context = template.new_context(variables, shared=True)
            context.vars.clear()
            context.exported_vars.clear()
            text = _run(template, context, variables, lambda pieces: join_output(pieces, mend))
            return text, tank.changes_since(before)

        return show

    def render_page(self, variables: dict[str, Any], tank: FuelTank) -> tuple[list[str], Changes]:
        """Return the pieces of the page's text, and what was done to values.

        Each item's text is one of the pieces.
        """
        items = variables["items"]
        # The texts of the items have been paid for; the page copies them.
        use_tank(tank, len(items), sum(len(item["text"]) for item in items))
        before = tank.changes
        context = self._page.new_context(variables, shared=True)
        pieces = _run(self._page, context, variables, isolate_fences)
        return pieces, tank.changes_since(before)


def _run(
    template: jinja2.Template,
    context: jinja2.runtime.Context,
    variables: dict[str, Any],
    finish: Callable[[Iterable[str]], Printed],
) -> Printed:
    """Return what `finish` makes of the pieces that a template prints."""
    try:
        return finish(template.root_render_func(context))
    except Exception as error:
        from .failures import explain_failure

        raise explain_failure(error, template, variables) from error
