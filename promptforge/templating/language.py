"""The environment of templates: what they see, what they may call, how their output is joined.

The filters and tests of templates; `templates/README.md` explains each.

Jinja's error about a template's text → the mistake behind it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.idtracking import VAR_LOAD_RESOLVE
from jinja2.lexer import Token, TokenStream
from jinja2.parser import Parser
from jinja2.runtime import LoopContext

from ..errors import TemplateError, suggest_name
from ..plaindata import copy_plain
from ..plugins import Plugin, call_plugin, find_plugin
from ..text.escape import (
    PLACES,
    VERBATIM,
    Content,
    VerbatimContent,
    clean_content,
    md_code,
    md_prose,
)
from ..text.fences import fence
from ..text.format import capitalize, decimals, percent, to_text
from .autoescape import TemplateFacts, TemplateReader, template_syntax
from .failures import LineNumber, TemplateMistake, find_mistake
from .limits import (
    FILTER_FUEL_PER_CHAR,
    METER_FUNCTIONS,
    burn_for_text,
    burn_for_value,
    burn_fuel,
    mark_imitations,
    meter_template,
    metered_escape,
    metered_filter,
)
from .template_output import join_output


def _join(values: Any, separator: str = ", ") -> str:
    if values is None:
        return ""
    if not isinstance(values, list | tuple):
        return to_text(values)
    texts = list(map(to_text, values))
    burn_for_text(sum(map(len, texts)) + len(separator) * len(texts))
    return separator.join(texts)


def _default(value: Any, other: Any = "") -> Any:
    if isinstance(value, jinja2.Undefined) or value is None or value == "":
        return other
    return value


def _text_filter(change: Callable[[str], str]) -> Callable[[Any], str]:
    def filtered(value: Any) -> str:
        changed = change(to_text(value))
        if isinstance(value, VerbatimContent):
            return value.with_text(changed)
        if isinstance(value, Content):  # still the long text of an item, not a label
            return Content(changed)
        return changed

    return filtered


def plugin_filter(name: str, plugin: Plugin, syntax: str) -> Callable[..., Any]:
    """Return a plug-in's filter; its result is plain data, cleaned and escaped like its input."""

    def filtered(value: Any, *arguments: Any, **named: Any) -> Any:
        if isinstance(value, jinja2.Undefined):
            str(value)  # raises, with the name of what is missing
        # A plug-in gets an ordinary string: no marker class of the engine may leak or come back.
        given = str.__str__(value) if isinstance(value, str) else value
        what = f'filter "{name}"'
        made = call_plugin(plugin, what, TemplateError, given, *arguments, **named)
        found = copy_plain(made, lambda change: None)
        if not isinstance(found, str):
            burn_for_value(found, deep=True)
            return found
        burn_for_text(len(found), FILTER_FUEL_PER_CHAR["other"])
        if isinstance(value, VerbatimContent):
            return value.with_text(clean_content(found, VERBATIM).text)
        if isinstance(value, Content) and syntax != "txt":
            return clean_content(found, syntax).text
        return found

    return filtered


def _length(value: Any) -> int:
    return len(value) if isinstance(value, str | list | tuple | dict) else 0


def _first(values: Any) -> Any:
    return values[0] if values else None


def _last(values: Any) -> Any:
    return values[-1] if values else None


def _framed(value: Any, language: Any = None) -> Any:
    return value  # in Markdown the engine calls `fence` instead; elsewhere the escape frames it


FILTERS: dict[str, Callable[..., Any]] = {
    "capitalize": capitalize,
    "code": md_code,
    "decimals": decimals,
    "default": _default,
    "fence": fence,
    "first": _first,
    "framed": _framed,
    "join": _join,
    "last": _last,
    "length": _length,
    "lower": _text_filter(str.lower),
    "percent": percent,
    "prose": md_prose,
    "trim": _text_filter(str.strip),
    "upper": _text_filter(str.upper),
}

MARKDOWN_FILTERS = frozenset({"code", "fence", "prose"})

NOT_MARKDOWN_MESSAGE = "makes Markdown, and this template is not: print the value as it is"

TEMPLATE_TESTS = frozenset(
    {"defined", "undefined", "none", "number", "string", "sequence"}
    | {"odd", "even", "true", "false", "in", "eq"}
)
"""Words that may stand after `is`; Jinja brings them."""

LOOP_FIELDS = frozenset(
    {"index", "index0", "revindex", "revindex0", "first", "last", "length", "previtem", "nextitem"}
)

MAX_TAG_TOKENS = 10_000
"""Words and marks in the tags of one template."""

MAX_FIELD_NAME_CHARS = 200
"""Characters in the name of a field."""


class Fields(dict[str, Any]):
    """A value with fixed fields, such as an item; asking for any other field is an error."""

    __slots__ = ()


class OpenFields(dict[str, Any]):
    """Metadata: an open set, so a missing field is `None`."""

    __slots__ = ()


class _CodeGenerator(CodeGenerator):
    """Compiles fields to lookups in place, and notes the line of each text and each free name."""

    environment: Environment

    def enter_frame(self, frame: Frame) -> None:
        # A name that is set nowhere above is resolved from the context: it is a variable.
        # `jinja2.meta` finds them so too, but would generate all the code a second time.
        super().enter_frame(frame)
        symbols = frame.symbols
        used, own = self.environment.names[self.name or "<template>"]
        used.update(name for action, name in symbols.loads.values() if action == VAR_LOAD_RESOLVE)
        own.update(symbols.stores)  # a scoped block resolves what the loop around it has set

    def visit_Output(self, node: nodes.Output, frame: Frame) -> None:  # noqa: N802  Jinja's name
        # Jinja gives all that stands between two tags the line of the first character.
        for child in node.nodes:
            self.newline(child)
            super().visit_Output(nodes.Output([child], lineno=child.lineno), frame)

    def visit_Getattr(self, node: nodes.Getattr, frame: Frame) -> None:  # noqa: N802
        # `item.name` is most of what templates do: one lookup here, no call. Only of a plain name:
        # in a chain of fields these expressions would nest as deep as Python can compile.
        if not isinstance(node.node, nodes.Name):
            super().visit_Getattr(node, frame)
            return
        name = repr(node.attr)
        self.write(f"(_at[{name}] if (_at := ")
        self.visit(node.node, frame)
        self.write(f").__class__ is environment.fields and {name} in _at")
        self.write(f" else environment.getattr(_at, {name}))")

    def _output_child_pre(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        self.write("(")  # no str(): every printed value comes out of its escape as `Safe`


class Environment(jinja2.Environment):
    """Plain data in, safe text out: fields are read from mappings, never as attributes."""

    code_generator_class = _CodeGenerator
    fields = Fields
    concat = staticmethod(join_output)

    def __init__(self, loader: jinja2.BaseLoader) -> None:
        super().__init__(
            loader=loader,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
            cache_size=-1,
            # Folding constants takes time by the cube of an expression's depth.
            optimized=False,
        )
        self.globals.clear()
        self.filters = {name: metered_filter(name, change) for name, change in FILTERS.items()}
        self.filters |= METER_FUNCTIONS
        for syntax, places in PLACES.items():
            for place, escape in places.items():
                name = f"{syntax}.{place}"
                self.filters[name] = metered_escape(name, escape)
        self.filters["txt.line"] = mark_imitations(self.filters["txt.line"])
        self.tests = {name: self.tests[name] for name in TEMPLATE_TESTS}
        self.undefined = Missing
        self._readers: dict[str, TemplateReader] = {}
        self.names: defaultdict[str, tuple[set[str], set[str]]] = defaultdict(
            lambda: (set(), set())
        )
        """By template, once it is compiled: names it looks up from outside, and names it sets."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return a field of a mapping or of a loop; never an attribute of another object."""
        kind = type(obj)
        if kind is Fields:
            try:
                return obj[attribute]
            except KeyError:
                # The nearest name is found by comparing with all of them: too dear for a loop.
                again = f"the field {attribute!a}, which is not there, asked for again and again"
                burn_fuel(1000, again)
                return self.undefined(
                    f'there is no field "{attribute}"{suggest_name(attribute, obj)}'
                )
        if kind is LoopContext and attribute in LOOP_FIELDS:
            return getattr(obj, attribute)
        if isinstance(obj, dict):  # metadata, an open set all the way down
            return obj.get(attribute)
        if isinstance(obj, jinja2.Undefined):  # {{ itm.content }}: the message is about itm
            return obj
        owner = "nothing (null)" if obj is None else f"a {kind.__name__}"
        return self.undefined(f'"{attribute}" was asked of {owner}, which has no fields')

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Return a field by its name, or a member of a list by its number."""
        if isinstance(argument, str):
            if len(argument) > MAX_FIELD_NAME_CHARS:
                return self.undefined(f"no field has a name of {len(argument):,} characters")
            return self.getattr(obj, argument)
        try:
            return obj[argument]
        except (LookupError, TypeError):
            return self.undefined(f"there is no [{argument!r}] here")

    # --- reading ----------------------------------------------------------------------------------

    def _tokenize(
        self, source: str, name: str | None, filename: str | None = None, state: str | None = None
    ) -> TokenStream:
        tokens = _located(self.lexer.tokeniter(source, name, filename, state), source)
        return TokenStream(_counted(self.lexer.wrap(tokens, name, filename)), name, filename)

    def tree(self, source: str, name: str | None, filename: str | None = None) -> nodes.Template:
        """Return the syntax tree of a text, in which every node knows its offset; runs nothing.

        Raises `jinja2.TemplateSyntaxError`; its `lineno` is an `At`.
        """
        return Parser(self, source, name, filename).parse()

    def reading(self, name: str) -> TemplateFacts:
        """Return the facts about a template that has been compiled."""
        reader = self._readers[name]
        used, own = self.names[name]
        names = frozenset(used - own - {"loop", "super"})
        return TemplateFacts(names, frozenset(reader.frame), tuple(reader.parents))

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        root = self.tree(source, name, filename)
        known = name or "<template>"
        reader = TemplateReader(known, template_syntax(known), source)
        check_filters(root, reader, lambda node: self._plug(node, reader.prefix, known))
        for node in root.find_all(nodes.Filter):
            if node.name == "framed" and reader.prefix == "md":
                node.name = "fence"
        reader.check(root)
        reader.follow(root)
        reader.wrap(root)
        self._readers[known] = reader
        meter_template(root, self)
        return root

    def _plug(self, node: nodes.Filter, syntax: str, template: str) -> bool:
        """Let a plug-in's filter stand for an unknown one; tell whether there is one."""
        where = f"{template}:{node.lineno}"
        if "." in node.name:  # an escape of the engine's own, which no author may name
            return False
        plugin = find_plugin(
            "filters", node.name, lambda message: TemplateError(message, where=where)
        )
        if plugin is None:
            return False
        name = f"{syntax}.plugged.{node.name}"
        self.filters.setdefault(name, plugin_filter(node.name, plugin, syntax))
        node.name = name
        return True


def check_filters(root: nodes.Template, reader: TemplateReader, plug: Any) -> None:
    """Refuse unknown filters and tests; `plug` tells of a filter's node if a plug-in brings it."""
    used: Iterator[nodes.Filter | nodes.Test] = root.find_all((nodes.Filter, nodes.Test))
    for node in used:
        if isinstance(node, nodes.Test):
            if node.name not in TEMPLATE_TESTS:
                message = f'unknown test "{node.name}"{suggest_name(node.name, TEMPLATE_TESTS)}'
                reader.refuse(node, "PF804", message)
        elif node.name not in FILTERS:
            if not plug(node):
                message = f'unknown filter "{node.name}"{suggest_name(node.name, FILTERS)}'
                reader.refuse(node, "PF803", message)
        elif node.name in MARKDOWN_FILTERS and reader.prefix != "md":
            reader.refuse(node, "PF809", f'"{node.name}" {NOT_MARKDOWN_MESSAGE}')


def _located(tokens: Iterator[tuple[int, str, str]], source: str) -> Iterator[tuple[int, str, str]]:
    """Yield tokens with line numbers that also know their offset."""
    at = 0
    try:
        for line, kind, value in tokens:
            start = source.find(value, at)  # blanks that a tag takes away are in no token
            start = at if start < 0 else start
            yield LineNumber(line, start), kind, value
            at = start + len(value)
    except jinja2.TemplateSyntaxError as error:
        error.lineno = LineNumber(error.lineno, at + len(source[at:]) - len(source[at:].lstrip()))
        raise


def _counted(tokens: Iterable[Token]) -> Iterator[Token]:
    for number, token in enumerate(tokens):
        if number > MAX_TAG_TOKENS:
            message = f"more than {MAX_TAG_TOKENS:,} words and marks in tags"
            raise jinja2.TemplateSyntaxError(message, token.lineno)
        yield token


class Missing(jinja2.StrictUndefined):
    """A value that is not there: a template may ask for it, but not print it."""

    __slots__ = ()

    @property
    def _undefined_message(self) -> str:
        return self._undefined_hint or f'unknown variable "{self._undefined_name}"'


ENVIRONMENT = Environment(jinja2.DictLoader({}))


def locate_mistake(text: str, error: jinja2.TemplateSyntaxError) -> TemplateMistake:
    """Return the mistake that made reading `text` fail with `error`."""
    message = str(error.message or "cannot be read").rstrip(".")
    if found := re.search(r"^(unexpected char .*) at (\d+)$", message, re.DOTALL):
        return find_mistake(text, found[1], int(found[2]))
    if isinstance(error.lineno, LineNumber):
        return find_mistake(text, message, error.lineno.offset)
    before = text.split("\n")[: max(error.lineno - 1, 0)]
    return find_mistake(text, message, sum(len(line) + 1 for line in before))
