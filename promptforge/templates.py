"""Find, compile and render templates: the only door to Jinja."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import jinja2
from jinja2 import nodes
from jinja2.runtime import LoopContext

from . import _shipped, escaping, placing
from .errors import TemplateError, nearest
from .escaping import Block, Closes, Opens, Safe
from .layouts import LayoutSettings, load_layout_settings

EXTENSIONS = {"markdown": "md", "xml": "xml", "json": "json", "plain": "txt"}
"""The shipped formats and the extension of their templates; any other format is named by its own files."""

SIZE_CAP = 256 * 1024
"""Bytes of one template file."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.-]*)*")
_LAYOUT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_KIND = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_LOOP_FIELDS = frozenset(
    {"index", "index0", "revindex", "revindex0", "first", "last", "length", "previtem", "nextitem"}
)


class Fields(dict[str, Any]):
    """What a template sees of one thing: a missing field is an error that names those there are."""

    __slots__ = ()


class Open(dict[str, Any]):
    """Metadata: an open set, so a missing field is `None`."""

    __slots__ = ()


def join(parts: Iterable[str]) -> Safe:
    """Join what a template prints, keeping fences whole: see `weld`."""
    pieces = weld(parts)
    if not pieces:
        return Safe("")
    return _WELDED[isinstance(pieces[0], Opens), isinstance(pieces[-1], Closes)]("".join(pieces))


_WELDED = {(False, False): Safe, (True, False): Opens, (False, True): Closes, (True, True): Block}


def weld(parts: Iterable[str]) -> list[str]:
    """Return the non-empty parts, with a line end put in wherever a fence would not stand on lines of its own.

    A fence opens only at the start of a line (three blanks may precede it) and outside a block of HTML, and closes only
    on a line that holds nothing else.
    """
    pieces = list(filter(None, parts))
    if not _FENCED.isdisjoint(map(type, pieces)):
        parts, pieces = pieces, []
        for part in parts:
            if pieces:
                if isinstance(pieces[-1], Closes) and part[0] != "\n":
                    pieces.append("\n")
                if isinstance(part, Opens):
                    tail = _tail(pieces)
                    line = tail[tail.rfind("\n") + 1 :]
                    if line:  # be it blanks: content at the margin would end the list that an indented fence is in
                        pieces.append("\n")
                        tail += "\n"
                    if tail[: tail.rfind("\n")].rpartition("\n")[2].lstrip().startswith("<"):
                        pieces.append("\n")
            pieces.append(part)
    return pieces


_FENCED = frozenset({Opens, Closes, Block})


def _tail(pieces: list[str]) -> str:
    tail = ""
    for piece in reversed(pieces):
        tail = piece + tail
        if tail.count("\n") > 1:
            break
    return tail


class _Environment(jinja2.Environment):
    """Plain data in, safe text out: fields are looked up in mappings only, never as attributes of objects."""

    concat = staticmethod(join)

    def __init__(self, loader: jinja2.BaseLoader) -> None:
        super().__init__(loader=loader, trim_blocks=True, lstrip_blocks=True, auto_reload=False, cache_size=-1)
        self.globals.clear()
        self.filters = {**FILTERS}
        for syntax, places in escaping.PLACES.items():
            for place, escape in places.items():
                self.filters[f"{syntax}.{place}"] = escape
        self.tests = {name: self.tests[name] for name in _TESTS}
        self.undefined = _Undefined
        self.readings: dict[str, placing.Reading] = {}

    def getattr(self, obj: Any, attribute: str) -> Any:
        kind = type(obj)
        if kind is Fields:
            try:
                return obj[attribute]
            except KeyError:
                return self.undefined(f'there is no field "{attribute}"{nearest(attribute, obj)}')
        if kind is LoopContext and attribute in _LOOP_FIELDS:
            return getattr(obj, attribute)
        if isinstance(obj, dict):  # metadata, an open set all the way down
            return obj.get(attribute)
        if isinstance(obj, jinja2.Undefined):  # {{ itm.content }}: itm is what there is to be said of
            return obj
        what = "nothing (null)" if obj is None else f"a {kind.__name__}"
        return self.undefined(f'"{attribute}" was asked of {what}, which has no fields')

    def getitem(self, obj: Any, argument: Any) -> Any:
        if isinstance(argument, str):
            return self.getattr(obj, argument)
        try:
            return obj[argument]
        except (LookupError, TypeError):
            return self.undefined(f"there is no [{argument!r}] here")

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        root = super()._parse(source, name, filename)
        known = name or "<template>"
        for node in root.find_all((nodes.Filter, nodes.Test)):
            table: Mapping[str, object] = self.filters if isinstance(node, nodes.Filter) else self.tests
            shown = [n for n in table if "." not in n]
            if node.name not in shown:
                what = "filter" if isinstance(node, nodes.Filter) else "test"
                raise TemplateError(
                    f'unknown {what} "{node.name}"{nearest(node.name, shown)}', where=f"{known}:{node.lineno}"
                )
        syntax = escaping.syntax_of(known.removesuffix(".j2").rpartition(".")[2])
        if syntax != "md":
            for node in root.find_all(nodes.Filter):
                if node.name in _MARKDOWN_ONLY:
                    raise TemplateError(
                        f'"{node.name}" makes Markdown, and this template is not: print the value as it is',
                        where=f"{known}:{node.lineno}",
                    )
        self.readings[known] = placing.read(root, known, syntax)
        return root


class _Undefined(jinja2.StrictUndefined):
    __slots__ = ()

    @property
    def _undefined_message(self) -> str:
        return self._undefined_hint or f'unknown variable "{self._undefined_name}"'


def _join(values: Any, separator: str = ", ") -> str:
    if values is None:
        return ""
    return (
        separator.join(map(escaping.to_text, values)) if isinstance(values, list | tuple) else escaping.to_text(values)
    )


def _default(value: Any, other: Any = "") -> Any:
    return other if isinstance(value, jinja2.Undefined) or value is None or value == "" else value


def _text_filter(change: Callable[[str], str]) -> Callable[[Any], str]:
    def filtered(value: Any) -> str:
        text = escaping.to_text(value)
        changed = change(text)
        return escaping.Content(changed) if isinstance(value, escaping.Content) else changed

    return filtered


def _length(value: Any) -> int:
    return len(value) if isinstance(value, str | list | tuple | dict) else 0


FILTERS: dict[str, Callable[..., Any]] = {
    "capitalize": escaping.capitalize,
    "code": escaping.md_code,
    "decimals": escaping.decimals,
    "default": _default,
    "fence": escaping.md_fence,
    "first": lambda values: values[0] if values else None,
    "join": _join,
    "last": lambda values: values[-1] if values else None,
    "length": _length,
    "lower": _text_filter(str.lower),
    "percent": escaping.percent,
    "prose": escaping.md_prose,
    "trim": _text_filter(str.strip),
    "upper": _text_filter(str.upper),
}
"""What a template may do with a value; `templates/README.md` explains each."""

_MARKDOWN_ONLY = frozenset({"code", "fence", "prose"})
_TESTS = ("defined", "undefined", "none", "number", "string", "sequence", "odd", "even", "true", "false", "in", "eq")


class Found(NamedTuple):
    """A template file: its name, where it lies, and whether it is a shipped one."""

    name: str
    path: Path
    shipped: bool


class Templates:
    """The template folders: the user's first, the shipped one last. Read once, then unchanging."""

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        """`folders` are searched in order; a file there replaces the shipped one of the same name.

        Raises `TemplateError` for a folder that is not there.
        """
        self.shipped = _shipped.folder("templates")
        for folder in folders:
            if not folder.is_dir():
                raise TemplateError(f'there is no template folder "{folder}"')
        self.folders = (*folders, self.shipped)
        self.hashes: dict[str, str] = {}
        self._environment = _Environment(jinja2.FunctionLoader(self._load))
        self._looks: dict[tuple[str, str], Look] = {}

    # --- files ------------------------------------------------------------------------------------------------------

    def find(self, name: str) -> Found | None:
        """Return the file that the template `name` stands for; `shipped/NAME` is always the original."""
        folders, rest = self.folders, name
        if name.startswith("shipped/"):
            folders, rest = (self.shipped,), name.removeprefix("shipped/")
        if not _NAME.fullmatch(rest) or ".." in rest:
            return None
        for folder in folders:
            path = folder / rest
            if path.is_file() and path.resolve().is_relative_to(folder.resolve()):
                return Found(name, path, folder is self.shipped)
        return None

    def source(self, name: str) -> tuple[str, Found]:
        """Return the text of the template `name` and where it lies; raises `TemplateError`."""
        found = self.find(name)
        if found is None:
            raise TemplateError(f'there is no template "{name}"{nearest(name, self.names())}')
        try:
            data = found.path.read_bytes()
            if len(data) > SIZE_CAP:
                raise TemplateError(f"is larger than {SIZE_CAP // 1024} kB", where=str(found.path))
            return data.decode("utf-8-sig").replace("\r\n", "\n"), found
        except (OSError, UnicodeDecodeError) as error:
            raise TemplateError(
                f"cannot be read as UTF-8 text: {type(error).__name__}", where=str(found.path)
            ) from None

    def names(self) -> list[str]:
        """Return the names of all template and layout files, sorted."""
        found: set[str] = set()
        for folder in self.folders:
            for pattern in ("*.j2", "*/*.j2", "*/layout.yaml"):
                found.update(path.relative_to(folder).as_posix() for path in folder.glob(pattern))
        return sorted(found)

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
        return sorted({n.split("/")[0] for n in self.names() if "/layout." in n and not n.startswith("_")})

    def formats(self, layout: str) -> list[str]:
        """Return the formats that `layout` has, its base's included, in the shipped order and then sorted."""
        own = set()
        for folder in self._chain(layout):
            for name in self.names():
                if name.startswith(f"{folder}/layout.") and name.endswith(".j2"):
                    own.add(_format_of(name.split("/")[1].removeprefix("layout.").removesuffix(".j2")))
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
                raise TemplateError(f'there is no layout "{name}"{nearest(name, self.layouts())}')
            if name in chain:
                raise TemplateError(f"the layouts {' → '.join([*chain, name])} are based on each other in a circle")
            chain.append(name)
            name = self._settings(name).base
        return chain

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
        raise TemplateError(f'the layout "{layout}" has no format "{format}"{nearest(format, have)}')

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
            raise TemplateError(str(error.message), where=f"{error.name or name}:{error.lineno}") from None
        except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
            raise TemplateError(f"does not compile: {type(error).__name__}", where=name) from None

    def reading(self, name: str, seen: tuple[str, ...] = ()) -> placing.Reading:
        """Return what `name` and all templates it draws on use and print, as one reading."""
        if name in seen:
            raise TemplateError(
                f'extends or includes itself ({" → ".join([*seen, name])}); "shipped/{name}" is the original',
                where=name,
            )
        self.compile(name)
        own = self._environment.readings[name]
        parents = [self.reading(parent, (*seen, name)) for parent in own.parents]
        return placing.Reading(
            own.names.union(*(p.names for p in parents)), own.frame.union(*(p.frame for p in parents)), own.parents
        )


def _format_of(ending: str) -> str:
    return next((f for f, extension in EXTENSIONS.items() if extension == ending), ending.split(".")[0])


def _endings(format: str, names: Sequence[str]) -> list[str]:  # noqa: A002
    """Return the endings that stand for a format: `md` for markdown, `slides.md` or `slides` for a user's own."""
    if format in EXTENSIONS:
        return [EXTENSIONS[format]]
    found = {n.split("/layout.")[1].removesuffix(".j2") for n in names if "/layout." in n and n.endswith(".j2")}
    return sorted(e for e in found if e.split(".")[0] == format and e not in EXTENSIONS.values())


class Look:
    """One layout in one format: the template of the page and, by kind, those of the items."""

    def __init__(self, templates: Templates, layout: str, format: str, ending: str, chain: list[str]) -> None:  # noqa: A002
        self.layout = layout
        self.format = format
        self.syntax = escaping.syntax_of(ending.rpartition(".")[2])
        self.settings = templates.settings(layout)
        self._templates = templates
        self._ending = ending
        self._chain = chain
        self._items: dict[str, jinja2.Template] = {}
        page = self._find("layout")
        if page is None:
            raise TemplateError(f'the layout "{layout}" has no page "layout.{ending}.j2"')
        self.page_name = page
        self.page_uses = templates.reading(page).names
        self._page = templates.compile(page)
        names = self.files() if self.syntax == "txt" else ()
        self._frame: frozenset[tuple[object, ...]] = frozenset().union(*(templates.reading(n).frame for n in names))
        self._patterns: dict[tuple[str, ...], re.Pattern[str] | None] = {}

    def files(self) -> list[str]:
        """Return the names of the templates this look is made of: the page and the looks of all kinds."""
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

    def frame(self, lines: Sequence[str]) -> re.Pattern[str] | None:
        """Return the pattern of lines that make the frame, with the caller's own `lines` (header, marker, …)."""
        if self.syntax != "txt":
            return None
        key = tuple(lines)
        if key not in self._patterns:
            own = {(line,) for text in key for line in text.split("\n")}
            self._patterns[key] = placing.frame_pattern(self._frame | own)
        return self._patterns[key]

    def item_template(self, kind: str) -> jinja2.Template:
        """Return the template for one item of `kind`: the kind's own, else `item`."""
        template = self._items.get(kind)
        if template is None:
            own = self._find(kind) if _KIND.fullmatch(kind) and kind not in ("layout", "item") else None
            name = own or self._find("item")
            if name is None:
                raise TemplateError(f'the layout "{self.layout}" has no "item.{self._ending}.j2" for "{kind}"')
            template = self._templates.compile(name)
            if len(self._items) < 1000:  # kinds come with the items: an endless supply must not fill the memory
                self._items[kind] = template
        return template

    def render_item(self, kind: str, variables: dict[str, Any]) -> Safe:
        """Return the text of one item; `variables` has `item` and the options that templates see."""
        template = self.item_template(kind)
        try:
            return join(template.root_render_func(template.new_context(variables, shared=True)))
        except Exception as error:
            raise _explain(error, template, variables) from error

    def render_page(self, variables: dict[str, Any]) -> list[str]:
        """Return the text of the page in parts, in which each item's text stands whole."""
        template = self._page
        try:
            return weld(template.root_render_func(template.new_context(variables, shared=True)))
        except Exception as error:
            raise _explain(error, template, variables) from error


def _explain(error: Exception, template: jinja2.Template, variables: Mapping[str, Any]) -> TemplateError:
    """Turn whatever a template raised into a `TemplateError` that names the template's own line."""
    if isinstance(error, TemplateError):
        return error
    where = template.name or "<template>"
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        path = trace.tb_frame.f_code.co_filename
        if path.endswith(".j2"):  # compiled templates keep their name and their table of lines as globals
            space = trace.tb_frame.f_globals
            where = f"{space.get('name', where)}:{_line(space.get('debug_info', ''), trace.tb_lineno)}"
        trace = trace.tb_next
    if isinstance(error, jinja2.UndefinedError):
        message = str(error.message)
        match = re.match(r'unknown variable "(.*)"$', message)
        if match:
            message += nearest(match[1], variables)
        return TemplateError(message, where=where)
    if isinstance(error, jinja2.TemplateNotFound | jinja2.TemplateSyntaxError):
        return TemplateError(str(error), where=where)
    if isinstance(error, RecursionError):
        return TemplateError("a template extends or includes itself; shipped/NAME is the original", where=where)
    return TemplateError(f"{type(error).__name__}: {error}", where=where)


def _line(debug: str, line: int) -> int:
    """Return the template's line for a line of its compiled code (`debug` is Jinja's own table)."""
    found = 1
    for pair in filter(None, debug.split("&")):
        source, compiled = map(int, pair.split("="))
        if compiled > line:
            break
        found = source
    return found
