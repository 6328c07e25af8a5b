"""The guest room of templates: what they see, what they may call, and how their text is put together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.lexer import Token, TokenStream
from jinja2.runtime import LoopContext

from .. import escaping, plugins
from ..errors import TemplateError, nearest
from . import excerpts, fuel, metering, placing
from .filters import FILTERS, MARKDOWN_ONLY, NO_MARKDOWN, plugged
from .welding import join

LOOP_FIELDS = frozenset(
    {"index", "index0", "revindex", "revindex0", "first", "last", "length", "previtem", "nextitem"}
)
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
        self.write(
            f").__class__ is environment.fields and {name} in _at else environment.getattr(_at, {name}))"
        )

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
        self.filters = {
            name: metering.paid(name, change) for name, change in FILTERS.items()
        } | metering.FUNCTIONS
        for syntax, places in escaping.PLACES.items():
            for place, escape in places.items():
                self.filters[f"{syntax}.{place}"] = metering.paid_escape(
                    f"{syntax}.{place}", escape
                )
        self.filters["txt.line"] = metering.apart_from_frame(self.filters["txt.line"])
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
                fuel.burn(
                    1000, f"the field {attribute!a}, which is not there, asked for again and again"
                )
                return self.undefined(f'there is no field "{attribute}"{nearest(attribute, obj)}')
        if kind is LoopContext and attribute in LOOP_FIELDS:
            return getattr(obj, attribute)
        if isinstance(obj, dict):  # metadata, an open set all the way down
            return obj.get(attribute)
        if isinstance(
            obj, jinja2.Undefined
        ):  # {{ itm.content }}: itm is what there is to be said of
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
        return TokenStream(
            _counted(super()._tokenize(source, name, filename, state)), name, filename
        )

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        try:
            return self._read(source, name, filename)
        except TemplateError as error:
            line = (error.where or "").rpartition(":")[2]
            error.excerpt = (
                excerpts.excerpt(source, int(line), str(error)) if line.isdigit() else None
            )
            raise

    def _read(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        root = super()._parse(source, name, filename)
        known = name or "<template>"
        syntax = escaping.syntax_of(known.removesuffix(".j2").rpartition(".")[2])
        for node in root.find_all((nodes.Filter, nodes.Test)):
            table: Mapping[str, object] = (
                self.filters if isinstance(node, nodes.Filter) else self.tests
            )
            shown = [n for n in table if "." not in n]
            if node.name not in shown and not (
                isinstance(node, nodes.Filter) and self._plug(node, syntax, known)
            ):
                what = "filter" if isinstance(node, nodes.Filter) else "test"
                raise TemplateError(
                    f'unknown {what} "{node.name}"{nearest(node.name, shown)}',
                    where=f"{known}:{node.lineno}",
                )
        if syntax != "md":
            for node in root.find_all(nodes.Filter):
                if node.name in MARKDOWN_ONLY:
                    raise TemplateError(
                        f'"{node.name}" {NO_MARKDOWN}',
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
        plugin = plugins.find(
            "filters", node.name, lambda message: TemplateError(message, where=where)
        )
        if plugin is None:
            return False
        name = f"{syntax}.plugged.{node.name}"
        self.filters.setdefault(name, plugged(node.name, plugin, syntax))
        node.name = name
        return True


def _counted(tokens: Iterable[Token]) -> Iterator[Token]:
    for number, token in enumerate(tokens):
        if number > TOKENS_CAP:
            raise jinja2.TemplateSyntaxError(
                f"more than {TOKENS_CAP:,} words and marks in tags", token.lineno
            )
        yield token


class Missing(jinja2.StrictUndefined):
    """What is not there: to be asked about, not to be printed."""

    __slots__ = ()

    @property
    def _undefined_message(self) -> str:
        return self._undefined_hint or f'unknown variable "{self._undefined_name}"'


_TESTS = (
    "defined",
    "undefined",
    "none",
    "number",
    "string",
    "sequence",
    "odd",
    "even",
    "true",
    "false",
    "in",
    "eq",
)
