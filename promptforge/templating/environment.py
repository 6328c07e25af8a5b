"""The guest room of templates: what they see, what they may call, and how their text is put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.lexer import Token, TokenStream
from jinja2.runtime import LoopContext

from .. import escaping, fencing, plugins, wording
from ..cleaning import VERBATIM, clean
from ..errors import TemplateError, nearest
from ..escaping import Block, Closes, Opens, Safe, Tags, Verbatim
from ..sources import plaindata
from . import excerpts, fuel, metering, placing

LOOP_FIELDS = frozenset({"index", "index0", "revindex", "revindex0", "first", "last", "length", "previtem", "nextitem"})
TOKENS_CAP = 10_000
"""Words and marks in the tags of one template."""
KEY_CAP = 200
"""Characters of a field's name."""


class Fields(dict[str, Any]):
    """What a template sees of one thing: a missing field is an error that names those there are."""

    __slots__ = ()


class Open(dict[str, Any]):
    """Metadata: an open set, so a missing field is `None`."""

    __slots__ = ()


def join(parts: Iterable[str], mend: Callable[[list[str]], list[str]] | None = None) -> Safe:
    """Join what a template prints, keeping fences whole: see `weld`; `mend` sees the pieces before they are one."""
    pieces = weld(parts) if mend is None else mend(weld(parts))
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
    fuel.burn_text(sum(map(len, pieces)))
    kinds = list(map(type, pieces))
    if _FENCED.isdisjoint(kinds):
        return pieces
    welded: list[str] = []
    shut = False
    for piece, kind in zip(pieces, kinds, strict=True):
        if shut and piece[0] != "\n":
            welded.append("\n")
        shut = False
        if kind in _FENCED:
            shut = kind is not Opens
            if welded and kind is not Closes:
                tail = _tail(welded)
                if tail[-1] != "\n":  # be it blanks: content at the margin would end the list a fence is indented in
                    welded.append("\n")
                    tail += "\n"
                if kind is not Tags and tail[tail.rfind("\n", 0, -1) + 1 :].lstrip().startswith("<"):
                    welded.append("\n")
        welded.append(piece)
    return welded


_FENCED = frozenset({Opens, Closes, Block, Tags})


def _tail(pieces: list[str]) -> str:
    tail = ""
    for piece in reversed(pieces):
        tail = piece + tail
        if tail.count("\n") > 1:
            break
    return tail


class _Lined(CodeGenerator):
    """Compiled templates whose table of lines has each text's line too, and that look up what is there in place."""

    def visit_Output(self, node: nodes.Output, frame: Frame) -> None:  # noqa: N802  Jinja's name for it
        for child in node.nodes:
            self.newline(child)
            super().visit_Output(nodes.Output([child], lineno=child.lineno), frame)

    def visit_Getattr(self, node: nodes.Getattr, frame: Frame) -> None:  # noqa: N802
        if not isinstance(node.node, nodes.Name):  # one in another nests as deep as Python reads
            super().visit_Getattr(node, frame)
            return
        name = repr(node.attr)
        self.write(f"(_at[{name}] if (_at := ")
        self.visit(node.node, frame)
        self.write(f").__class__ is environment.fields and {name} in _at else environment.getattr(_at, {name}))")

    def _output_child_pre(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        self.write("(")


class Environment(jinja2.Environment):
    """Plain data in, safe text out: fields are looked up in mappings only, never as attributes of objects."""

    code_generator_class = _Lined
    fields = Fields
    concat = staticmethod(join)

    def __init__(self, loader: jinja2.BaseLoader) -> None:
        # Working out constants beforehand takes time by the cube of an expression's depth, and saves next to nothing.
        super().__init__(
            loader=loader,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
            cache_size=-1,
            optimized=False,
        )
        self.globals.clear()
        self.filters = {name: metering.paid(name, change) for name, change in FILTERS.items()} | metering.FUNCTIONS
        for syntax, places in escaping.PLACES.items():
            for place, escape in places.items():
                self.filters[f"{syntax}.{place}"] = metering.paid_escape(f"{syntax}.{place}", escape)
        self.tests = {name: self.tests[name] for name in _TESTS}
        self.undefined = Missing
        self.readings: dict[str, placing.Reading] = {}

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return a field of a mapping, or one of a loop's; no attribute of any other object is ever touched."""
        kind = type(obj)
        if kind is Fields:
            try:
                return obj[attribute]
            except KeyError:
                fuel.burn(1000, f"the field {attribute!a}, which is not there, asked for again and again")
                return self.undefined(f'there is no field "{attribute}"{nearest(attribute, obj)}')
        if kind is LoopContext and attribute in LOOP_FIELDS:
            return getattr(obj, attribute)
        if isinstance(obj, dict):  # metadata, an open set all the way down
            return obj.get(attribute)
        if isinstance(obj, jinja2.Undefined):  # {{ itm.content }}: itm is what there is to be said of
            return obj
        what = "nothing (null)" if obj is None else f"a {kind.__name__}"
        return self.undefined(f'"{attribute}" was asked of {what}, which has no fields')

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Return a field by its name, or a member of a list by its number."""
        if isinstance(argument, str):
            if len(argument) > KEY_CAP:
                return self.undefined(f"no field has a name of {len(argument):,} characters")
            return self.getattr(obj, argument)
        try:
            return obj[argument]
        except (LookupError, TypeError):
            return self.undefined(f"there is no [{argument!r}] here")

    def _tokenize(
        self, source: str, name: str | None, filename: str | None = None, state: str | None = None
    ) -> TokenStream:
        return TokenStream(_counted(super()._tokenize(source, name, filename, state)), name, filename)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        try:
            return self._read(source, name, filename)
        except TemplateError as error:
            line = (error.where or "").rpartition(":")[2]
            error.excerpt = excerpts.excerpt(source, int(line), str(error)) if line.isdigit() else None
            raise

    def _read(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        root = super()._parse(source, name, filename)
        known = name or "<template>"
        syntax = escaping.syntax_of(known.removesuffix(".j2").rpartition(".")[2])
        for node in root.find_all((nodes.Filter, nodes.Test)):
            table: Mapping[str, object] = self.filters if isinstance(node, nodes.Filter) else self.tests
            shown = [n for n in table if "." not in n]
            if node.name not in shown and not (isinstance(node, nodes.Filter) and self._plug(node, syntax, known)):
                what = "filter" if isinstance(node, nodes.Filter) else "test"
                raise TemplateError(
                    f'unknown {what} "{node.name}"{nearest(node.name, shown)}', where=f"{known}:{node.lineno}"
                )
        if syntax != "md":
            for node in root.find_all(nodes.Filter):
                if node.name in _MARKDOWN_ONLY:
                    raise TemplateError(
                        f'"{node.name}" makes Markdown, and this template is not: print the value as it is',
                        where=f"{known}:{node.lineno}",
                    )
        for node in root.find_all(nodes.Filter):
            if node.name == "framed" and syntax == "md":
                node.name = "fence"
        self.readings[known] = placing.read(root, known, syntax)
        metering.meter(root, self)
        return root

    def _plug(self, node: nodes.Filter, syntax: str, template: str) -> bool:
        """Return whether a plug-in brings this filter, which then stands for it."""
        where = f"{template}:{node.lineno}"
        if "." in node.name:
            return False
        plugin = plugins.find("filters", node.name, lambda message: TemplateError(message, where=where))
        if plugin is None:
            return False
        name = f"{syntax}.plugged.{node.name}"
        self.filters.setdefault(name, _plugged(node.name, plugin, syntax))
        node.name = name
        return True


def _counted(tokens: Iterable[Token]) -> Iterator[Token]:
    for number, token in enumerate(tokens):
        if number > TOKENS_CAP:
            raise jinja2.TemplateSyntaxError(f"more than {TOKENS_CAP:,} words and marks in tags", token.lineno)
        yield token


class Missing(jinja2.StrictUndefined):
    """What is not there: to be asked about, not to be printed."""

    __slots__ = ()

    @property
    def _undefined_message(self) -> str:
        return self._undefined_hint or f'unknown variable "{self._undefined_name}"'


def _join(values: Any, separator: str = ", ") -> str:
    if values is None:
        return ""
    if not isinstance(values, list | tuple):
        return escaping.to_text(values)
    texts = list(map(escaping.to_text, values))
    fuel.burn_text(sum(map(len, texts)) + len(separator) * len(texts))
    return separator.join(texts)


def _default(value: Any, other: Any = "") -> Any:
    return other if isinstance(value, jinja2.Undefined) or value is None or value == "" else value


def _text_filter(change: Callable[[str], str]) -> Callable[[Any], str]:
    def filtered(value: Any) -> str:
        text = escaping.to_text(value)
        changed = change(text)
        if isinstance(value, Verbatim):
            return value.like(changed)
        return escaping.Content(changed) if isinstance(value, escaping.Content) else changed

    return filtered


def _plugged(name: str, plugin: plugins.Plugin, syntax: str) -> Callable[..., Any]:
    """Return a filter of a plug-in: what it makes is plain data, cleaned and escaped like what came in."""

    def filtered(value: Any, *arguments: Any, **named: Any) -> Any:
        if isinstance(value, jinja2.Undefined):
            str(value)  # says what is missing
        given = str.__str__(value) if isinstance(value, str) else value
        made = plugins.guarded(plugin, f'filter "{name}"', TemplateError, given, *arguments, **named)
        found = plaindata.copy(made, lambda change: None)
        if isinstance(found, str):
            fuel.burn_text(len(found), metering.PRICES["other"])
        else:
            fuel.weigh(found, deep=True)
        if isinstance(value, Verbatim) and isinstance(found, str):
            return value.like(clean(found, VERBATIM).text)
        if isinstance(value, escaping.Content) and isinstance(found, str) and syntax != "txt":
            return clean(found, syntax).text
        return found

    return filtered


def _length(value: Any) -> int:
    return len(value) if isinstance(value, str | list | tuple | dict) else 0


FILTERS: dict[str, Callable[..., Any]] = {
    "capitalize": wording.capitalize,
    "code": escaping.md_code,
    "decimals": wording.decimals,
    "default": _default,
    "fence": fencing.fence,
    "first": lambda values: values[0] if values else None,
    "framed": lambda value, language=None: value,  # the escape of its place frames it; in Markdown it is `fence`
    "join": _join,
    "last": lambda values: values[-1] if values else None,
    "length": _length,
    "lower": _text_filter(str.lower),
    "percent": wording.percent,
    "prose": escaping.md_prose,
    "trim": _text_filter(str.strip),
    "upper": _text_filter(str.upper),
}
"""What a template may do with a value; `templates/README.md` explains each."""

_MARKDOWN_ONLY = frozenset({"code", "fence", "prose"})
_TESTS = ("defined", "undefined", "none", "number", "string", "sequence", "odd", "even", "true", "false", "in", "eq")
