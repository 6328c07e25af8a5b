"""The template language: Jinja's, with few filters, values as plain data, and output as pieces.

An `Environment` reads a template in four steps: parse it, check its language, find the place of
each printed value and wrap the value in the escape of that place (`autoescape`), and insert the
payments for its work (`limits`). What a template prints comes as pieces, and `join_output` makes
them one text in which every fence has lines of its own.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.lexer import Token, TokenStream
from jinja2.parser import Parser
from jinja2.runtime import LoopContext

from ..errors import TemplateError, suggest_name
from ..model import read_date
from ..plugins import Plugin, call_plugin, failure_message, find_plugin
from ..syntax.contents import clean_content
from ..syntax.json_syntax import json_value
from ..syntax.markdown_syntax import fence, md_code, md_prose
from ..syntax.syntax import VERBATIM, Syntax
from ..text.escape import (
    Content,
    DelimitedBlock,
    Escape,
    FencedBlock,
    FenceEnd,
    FenceStart,
    Safe,
    VerbatimContent,
)
from ..text.format import capitalize, decimals, percent, round_number, title, to_text, truncate
from ..text.words import late_property
from .autoescape import SyntaxOf, TemplateFacts, TemplateReader
from .limits import (
    FILTER_FUEL_PER_CHAR,
    METER_FUNCTIONS,
    burn_for_text,
    burn_for_value,
    burn_fuel,
    count_inert_urls,
    mark_imitations,
    mark_template_lines,
    meter_template,
    metered_escape,
    metered_filter,
)

LOOP_FIELDS = frozenset(
    {"index", "index0", "revindex", "revindex0", "first", "last", "length", "previtem", "nextitem"}
)
NAMELESS = "<template>"
MAX_TAG_TOKENS = 10_000
MAX_FIELD_NAME_CHARS = 200
MAX_INDENT_CHARS = 100
_UNKNOWN_FIELD_FUEL = 1000


class Fields(dict[str, Any]):
    """A value with fixed fields, such as an item; asking for any other field is an error."""

    __slots__ = ()


class OpenFields(dict[str, Any]):
    """Metadata: an open set, so a missing field is `None`."""

    __slots__ = ()


class Missing(jinja2.StrictUndefined):
    """A value that is not there: a template may ask for it, but not print it."""

    __slots__ = ()

    @property
    def _undefined_message(self) -> str:
        return self._undefined_hint or f'unknown variable "{self._undefined_name}"'


# --- output ---------------------------------------------------------------------------------------


_FENCED = frozenset({FenceStart, FenceEnd, FencedBlock, DelimitedBlock})
_JOINED = {
    (False, False): Safe,
    (True, False): FenceStart,
    (False, True): FenceEnd,
    (True, True): FencedBlock,
}
"""Type of a joined text: does its first piece open a fence, does its last one close one."""


def join_output(parts: Iterable[str], mend: Callable[[list[str]], list[str]] | None = None) -> Safe:
    """Return the pieces as one text, fences whole; `mend` may change the pieces first."""
    pieces = isolate_fences(parts)
    if mend is not None:
        pieces = mend(pieces)
    if not pieces:
        return Safe("")
    kind = _JOINED[isinstance(pieces[0], FenceStart), isinstance(pieces[-1], FenceEnd)]
    return kind("".join(pieces))


def isolate_fences(parts: Iterable[str]) -> list[str]:
    """Return the non-empty parts, with line ends added so that each fence has its own lines.

    A fence opens only at the start of a line and outside a block of HTML, and closes only on a line
    that holds nothing else.
    """
    # The text is only joined at the very end, so that a class can mark what each piece is.
    pieces = list(filter(None, parts))
    burn_for_text(sum(map(len, pieces)))
    if _FENCED.isdisjoint(map(type, pieces)):
        return pieces
    isolated: list[str] = []
    closed = False
    for piece in pieces:
        if closed and piece[0] != "\n":
            isolated.append("\n")
        kind = type(piece)
        closed = kind in _FENCED and kind is not FenceStart
        if kind in _FENCED and kind is not FenceEnd and isolated and not _ends_blank(isolated):
            tail = _tail(isolated)
            # Even after blanks alone: content at the margin would end the list around the fence.
            if tail[-1] != "\n":
                isolated.append("\n")
                tail += "\n"
            last = tail[tail.rfind("\n", 0, -1) + 1 :]
            # A block of HTML goes on to the next blank line, and in it a fence is not one.
            if kind is not DelimitedBlock and last.lstrip().startswith("<"):
                isolated.append("\n")
        isolated.append(piece)
    return isolated


def _ends_blank(pieces: list[str]) -> bool:
    """Tell whether the last two characters are line ends, as far as two pieces show."""
    last = pieces[-1]
    before = last[-2:-1]
    if not before and len(pieces) > 1:
        before = pieces[-2][-1]
    return before == last[-1] == "\n"


def _tail(pieces: list[str]) -> str:
    """Return the end of the text, with at least its last line whole."""
    # Pieces may be as short as a character: a page is not joined only to see its last line.
    tail = ""
    for piece in reversed(pieces):
        tail = piece + tail
        if tail.count("\n") > 1:
            break
    return tail


# --- filters and tests ----------------------------------------------------------------------------


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


def _length(value: Any) -> int:
    return len(value) if isinstance(value, str | list | tuple | dict) else 0


def _first(values: Any) -> Any:
    return values[0] if values else None


def _last(values: Any) -> Any:
    return values[-1] if values else None


def _framed(value: Any, language: Any = None) -> Any:
    return value  # in Markdown the engine calls `fence` instead; elsewhere the escape frames it


def _text_filter(change: Callable[..., str]) -> Callable[..., str]:
    @functools.wraps(change)
    def filtered(value: Any, *arguments: Any, **named: Any) -> str:
        changed = change(to_text(value), *arguments, **named)
        if isinstance(value, VerbatimContent):
            return value.with_text(changed)
        if isinstance(value, Safe) and change in (_indent, str.strip):  # blanks break no escape
            return type(value)(changed)
        if isinstance(value, Content):  # still the long text of an item, not a label
            # In plain text, `source: x` in capitals may be a line of the template.
            return Content(mark_template_lines(changed))
        return changed

    return filtered


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    if not old:
        raise TemplateError("replace takes a text to look for, and it is empty")
    found = text.count(old) if count < 0 else min(count, text.count(old))
    burn_for_text(found * len(new))
    return text.replace(old, new, count)


def _indent(text: str, width: int = 4, first: bool = False) -> str:
    if not 0 <= width <= MAX_INDENT_CHARS:
        raise TemplateError(f"indent takes a width from 0 to {MAX_INDENT_CHARS}; got {width}")
    margin = " " * width
    burn_for_text(text.count("\n") * width)
    return margin * first + re.sub(r"\n(?=.)", "\n" + margin, text)


def _indent_markdown(value: Any, width: int = 4, first: bool = False) -> Any:
    if isinstance(value, Safe) and width > 3 and _FENCE_LINE.search(to_text(value)):
        message = (
            f"indent({width}) leaves a fence open, as its end may stand behind 3 blanks at most"
        )
        raise TemplateError(f"{message}; write indent(3) or less")
    return FILTERS["indent"](value, width, first)


def _sort(values: Any, attribute: str | None = None, reverse: bool = False) -> list[Any]:
    """Sort by numbers, then by texts without their case; what is missing stands last."""
    if not isinstance(values, list | tuple):
        raise TemplateError("sort takes a list")
    names = attribute.split(".") if attribute else []
    burn_fuel(len(names) * len(values), f"sorting by a field of {len(names):,} parts")

    def key(value: Any) -> tuple[int, float, str]:
        for name in names:
            value = value.get(name) if isinstance(value, dict) else None
        if isinstance(value, int | float):
            return 0, value, ""
        return (1, 0, to_text(value).casefold()) if value is not None else (2, 0, "")

    return sorted(values, key=key, reverse=reverse)


def _tojson(value: Any) -> str:
    return str.__str__(json_value(value))


_MONTHS = "January February March April May June July August September October November December"
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
_FENCE_LINE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)
_DIRECTIVE = re.compile(r"%(-?.|$)", re.DOTALL)


def _format_date(value: object, pattern: str, months: str, days: str) -> str:
    """Return a date in ISO 8601, or seconds since 1970, by a pattern; any other text as it is.

    `months` and `days` are the names in order, with blanks between. Not `strftime`: its names and
    some of its numbers depend on the machine. Raises `ValueError` for an unknown directive.
    """
    date = read_date(value if isinstance(value, int | float) else to_text(value))
    if date is None:
        return to_text(value)
    month, day = (names.split()[number] for names, number in (
        (months, date.month - 1), (days, date.weekday())
    ))  # fmt: skip
    known = {
        **{"Y": f"{date.year:04}", "y": f"{date.year % 100:02}", "m": f"{date.month:02}"},
        **{"d": f"{date.day:02}", "H": f"{date.hour:02}", "M": f"{date.minute:02}"},
        **{"S": f"{date.second:02}", "j": f"{date.timetuple().tm_yday:03}", "%": "%"},
        **{"B": month, "b": month[:3], "A": day, "a": day[:3]},
    }

    def fill(match: re.Match[str]) -> str:
        name = match[1].removeprefix("-")
        if name not in known:
            has = " ".join(f"%{each}" for each in known)
            raise ValueError(f'dateformat has no "{match[0]}"; it has {has}, and - for no zeros')
        if match[1].startswith("-"):
            return known[name].lstrip("0") or "0"
        return known[name]

    return _DIRECTIVE.sub(fill, pattern)


def _dateformat(
    value: Any, pattern: str = "%Y-%m-%d", months: str = _MONTHS, days: str = _DAYS
) -> str:
    try:
        return _format_date(value, pattern, months, days)
    except (ValueError, IndexError, TypeError) as error:
        raise TemplateError(str(error)) from None


FILTERS: dict[str, Callable[..., Any]] = {
    "capitalize": capitalize,
    "code": md_code,
    "dateformat": _dateformat,
    "decimals": decimals,
    "default": _default,
    "fence": fence,
    "first": _first,
    "framed": _framed,
    "indent": _text_filter(_indent),
    "join": _join,
    "last": _last,
    "length": _length,
    "lower": _text_filter(str.lower),
    "percent": percent,
    "prose": md_prose,
    "replace": _text_filter(_replace),
    "round": round_number,
    "sort": _sort,
    "title": _text_filter(title),
    "tojson": _tojson,
    "trim": _text_filter(str.strip),
    "truncate": _text_filter(truncate),
    "upper": _text_filter(str.upper),
}
MARKDOWN_FILTERS = frozenset({"code", "fence", "prose"})
_CHANGES = frozenset({"upper", "lower", "replace", "title", "truncate"})
TEMPLATE_TESTS = frozenset(
    {"defined", "undefined", "none", "number", "string", "sequence"}
    | {"odd", "even", "true", "false", "in", "eq"}
)


def check_filters(
    root: nodes.Template, reader: TemplateReader, is_plugin: Callable[[nodes.Filter], bool]
) -> None:
    """Refuse unknown filters and tests, and Markdown's filters in other formats."""
    used: Iterator[nodes.Filter | nodes.Test] = root.find_all((nodes.Filter, nodes.Test))
    for node in used:
        name = node.name
        if isinstance(node, nodes.Test):
            if name not in TEMPLATE_TESTS:
                message = f'unknown test "{name}"{suggest_name(name, TEMPLATE_TESTS)}'
                reader.refuse(node, "PF804", message)
        elif name not in FILTERS:
            # A dot is in the names of the engine's own escapes, which no author may use.
            if "." in name or not is_plugin(node):
                from .failures import unknown_filter

                reader.refuse(node, "PF803", unknown_filter(name, FILTERS))
        elif name in MARKDOWN_FILTERS and not reader.syntax.has_fences:
            message = f'"{name}" makes Markdown, and this template is not: print the value as it is'
            reader.refuse(node, "PF809", message)
        elif name in _CHANGES and reader.syntax.has_fences:
            before = node.node
            if isinstance(before, nodes.Filter) and before.name in ("code", "fence", "framed"):
                message = f'"{name}" cannot change what "{before.name}" has made; write it before:'
                reader.refuse(node, "PF803", f"{message} | {name} | {before.name}")


def _own_copy(value: Any) -> Any:
    # No marker class of the engine may leak or come back, and a list that the plug-in changes
    # must not change what is printed next.
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, dict):
        return {key: _own_copy(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_own_copy(each) for each in value]
    return value


def _plugin_filter(name: str, plugin: Plugin, syntax: Syntax) -> Callable[..., Any]:
    """Return a plug-in's filter; its result is plain data, cleaned and escaped like its input."""
    label = f'filter "{name}"'

    def refuse(change: str) -> None:
        failed = failure_message(plugin, label, ValueError("it returned no plain data"))
        raise TemplateError(f"{failed}: {change}")

    def filtered(value: Any, *arguments: Any, **named: Any) -> Any:
        if isinstance(value, jinja2.Undefined):
            str(value)  # raises, with the name of what is missing
        given = map(_own_copy, (value, *arguments))
        made = call_plugin(plugin, label, TemplateError, *given, **named)
        from ..plain_data import copy_plain

        found = copy_plain(made, refuse)
        if not isinstance(found, str):
            burn_for_value(found, deep=True)
            return found
        burn_for_text(len(found), FILTER_FUEL_PER_CHAR["other"])
        if isinstance(value, VerbatimContent):
            return value.with_text(clean_content(found, VERBATIM).text)
        if isinstance(value, Content) and not syntax.marks_lines:
            return clean_content(found, syntax).text
        return found

    return filtered


# --- the environment ------------------------------------------------------------------------------


class _CodeGenerator(CodeGenerator):
    environment: Environment

    def visit_Output(self, node: nodes.Output, frame: Frame) -> None:  # noqa: N802  Jinja's name
        # Jinja gives all that stands between two tags the line of the first character.
        for child in node.nodes:
            self.newline(child)
            super().visit_Output(nodes.Output([child], lineno=child.lineno), frame)

    def _output_child_pre(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        self.write("(")  # no str(): every printed value comes out of its escape as `Safe`


@dataclass
class CompiledTemplate:
    """The code of a template, and the tree that it was made of: escaped and metered."""

    tree: nodes.Template
    reader: TemplateReader
    plugged: bool
    """True with a plug-in's filter, which only its own environment has."""
    code: Any = None

    @late_property
    def facts(self) -> TemplateFacts:
        """Facts about the template, without those of others that it draws on."""
        # A name that is set anywhere in it is its own, as a loop's or macro's is.
        used = {"load": set[str](), "store": {"loop", "super"}, "param": set[str]()}
        for node in self.tree.find_all(nodes.Name):
            used[node.ctx].add(node.name)
        names = frozenset(used["load"] - used["store"] - used["param"])
        reader = self.reader
        optional = tuple(_optional_includes(self.tree, names, reader.parents))
        return TemplateFacts(names, frozenset(reader.lines), tuple(reader.parents), optional)


def _optional_includes(
    tree: nodes.Template, names: Collection[str], parents: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield the templates that are included only where an option gives something to print."""
    found = dict[tuple[str, str], int]()
    for node in tree.find_all(nodes.If):
        asked = node.test
        if isinstance(asked, nodes.Not) and isinstance(asked.node, nodes.Test):
            asked = asked.node.node if asked.node.name == "none" else asked
        if isinstance(asked, nodes.Name) and asked.name in {"sources", "tree"} & {*names}:
            for part in node.body:
                for include in [part, *part.find_all(nodes.Include)]:
                    if isinstance(include, nodes.Include):
                        pair = include.template.value, asked.name  # type: ignore[attr-defined]
                        found[pair] = found.get(pair, 0) + 1
    yield from (pair for pair, count in found.items() if parents.count(pair[0]) == count)


MAX_COMPILED_REMEMBERED = 64
MAX_CHARS_REMEMBERED = 20_000
"""Characters of a template's text that is remembered: its tree takes a hundred times as many."""
_Key = tuple[str, str, str | None, Syntax]
_lately_compiled: dict[_Key, CompiledTemplate] = {}
"""The templates read last, the newest at the end: a key in the editor changes one of many."""


class LineNumber(int):
    """A line number that also knows its offset in the text.

    Jinja keeps nothing but the line of a token in the nodes and errors it makes, and passes it on
    untouched. So the offset travels inside the line.
    """

    offset: int = 0

    def __new__(cls, line: int, offset: int) -> LineNumber:
        """Return the line with its offset."""
        new = super().__new__(cls, line)
        new.offset = offset
        return new


class _Parser(Parser):
    opened: tuple[Token, ...] = ()

    def parse_statement(self) -> nodes.Node | list[nodes.Node]:
        around = self.opened
        self.opened = (*around, self.stream.current)
        found = super().parse_statement()
        self.opened = around
        return found


class Environment(jinja2.Environment):
    """Plain data in, safe text out: fields are read from mappings, never as attributes."""

    code_generator_class = _CodeGenerator
    concat = staticmethod(join_output)

    def __init__(self, loader: jinja2.BaseLoader, syntax_of: SyntaxOf) -> None:
        super().__init__(
            loader=loader,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
            cache_size=-1,
            # Folding constants takes time by the cube of an expression's depth.
            optimized=False,
        )
        # Nothing of Jinja's own is kept: no `range`, no `cycler`, no filter that is not named here.
        self.globals.clear()
        self.filters = {name: metered_filter(name, change) for name, change in FILTERS.items()}
        self.filters["markdown.indent"] = metered_filter("indent", _indent_markdown)
        self.filters |= METER_FUNCTIONS
        self.tests = {name: self.tests[name] for name in TEMPLATE_TESTS}
        self.undefined = Missing
        self._compiled: dict[str, CompiledTemplate] = {}
        self._syntax_of = syntax_of

    def _add_escapes(self, syntax: Syntax) -> None:
        """Know the escapes of a syntax: the first template of it asks for them."""
        if any(f"{syntax.name}.{place}" in self.filters for place in syntax.places):
            return
        escapes: dict[str, Escape] = {}
        for place in syntax.places:
            escape = metered_escape(syntax, place)
            if place == "url":
                escape = count_inert_urls(escape)
            elif place == "line" and syntax.marks_lines:
                escape = mark_imitations(escape)
            escapes[f"{syntax.name}.{place}"] = escape
        # All at once: another thread that finds the first compiles with the last.
        self.filters.update(escapes)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return a field of a mapping or of a loop; never an attribute of another object."""
        kind = type(obj)
        if kind is Fields:
            if attribute in obj:
                return obj[attribute]
            # The nearest name is found by comparing with all of them: too dear for a loop.
            again = f"the field {attribute!a}, which is not there, asked for again and again"
            burn_fuel(_UNKNOWN_FIELD_FUEL, again)
            from .failures import unknown_name

            return self.undefined(f'there is no field "{attribute}"{unknown_name(attribute, obj)}')
        if kind is LoopContext and attribute in LOOP_FIELDS:
            return getattr(obj, attribute)
        if isinstance(obj, dict):  # metadata, an open set all the way down
            return obj.get(attribute)
        if isinstance(obj, jinja2.Undefined):  # {{ itm.content }}: the message is about itm
            return obj
        from .failures import KINDS

        owner, hint = KINDS.get(kind.__name__, kind.__name__), ""
        if attribute in FILTERS:
            hint = f"; a filter stands after |: {{{{ value | {attribute} }}}}"
        return self.undefined(f'"{attribute}" was asked of {owner}, which has no fields{hint}')

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Return a field by its name, or a member of a list by its number."""
        if isinstance(argument, str):
            if len(argument) > MAX_FIELD_NAME_CHARS:
                return self.undefined(f"no field has a name of {len(argument):,} characters")
            return self.getattr(obj, argument)
        try:
            return obj[argument]
        except (LookupError, TypeError):
            way_out = "| first gives the first of a list, or nothing"
            return self.undefined(f"there is no [{argument!r}] here; {way_out}")

    def tree(self, source: str, name: str | None, filename: str | None = None) -> nodes.Template:
        """Return the syntax tree of a text, in which every node knows its offset; runs nothing.

        Raises `jinja2.TemplateSyntaxError`; its `lineno` is a `LineNumber`, and its `opened` has
        the first words of the tags that are open there.
        """
        parser = _Parser(self, source, name, filename)
        try:
            return parser.parse()
        except jinja2.TemplateSyntaxError as error:
            vars(error)["opened"] = parser.opened
            raise

    def facts(self, name: str) -> TemplateFacts:
        """Return the facts about a template that has been compiled."""
        return self._compiled[name].facts

    def facts_of(self, source: str, name: str, filename: str) -> TemplateFacts:
        """Return the facts about a template, which is read and not yet compiled."""
        if name not in self._compiled:
            key = self._key(source, name, filename)
            found = _lately_compiled.get(key)
            if found is None:
                self._parse(source, name, filename)
                found = self._compiled[name]
            self._remember(key, found)
        return self.facts(name)

    def _key(self, source: str, name: str, filename: str | None) -> _Key:
        return source, name, filename, self._syntax_of(name)

    def compile(self, source: Any, name: Any = None, filename: Any = None, *_: Any) -> Any:
        """Return the code of a text; one that was compiled lately is not compiled again."""
        key = self._key(source, name or NAMELESS, filename)
        self._add_escapes(key[-1])
        # Else read by `facts_of`, of the same text: its file is shipped.
        found = _lately_compiled.get(key) or self._compiled.get(name)
        if found is None or found.code is None:
            code = super().compile(source if found is None else found.tree, name, filename)
            found = found or self._compiled[name or NAMELESS]
            found.code = code
        self._remember(key, found)
        return found.code

    def _remember(self, key: _Key, found: CompiledTemplate) -> None:
        self._compiled[key[1]] = found
        if len(key[0]) <= MAX_CHARS_REMEMBERED and not found.plugged:
            _lately_compiled.pop(key, None)
            _lately_compiled[key] = found
            for old in [*_lately_compiled][:-MAX_COMPILED_REMEMBERED]:
                _lately_compiled.pop(old, None)

    def _tokenize(
        self, source: str, name: str | None, filename: str | None = None, state: str | None = None
    ) -> TokenStream:
        tokens = _located(self.lexer.tokeniter(source, name, filename, state), source)
        return TokenStream(_counted(self.lexer.wrap(tokens, name, filename)), name, filename)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        root = self.tree(source, name, filename)
        known = name or NAMELESS
        reader = TemplateReader(known, source, self._syntax_of)
        self._add_escapes(reader.syntax)
        check_filters(root, reader, lambda node: self._plug(node, reader))
        # The older name of the same: in Markdown `framed` is a fence.
        for node in root.find_all(nodes.Filter):
            if node.name == "framed" and reader.syntax.has_fences:
                node.name = "fence"
            elif node.name == "tojson" and reader.syntax.quotes_values:
                node.name = "framed"  # every value is printed as JSON here: not twice
            elif node.name == "indent" and reader.syntax.has_fences:
                node.name = "markdown.indent"
        reader.check(root)
        reader.follow(root)
        reader.wrap(root)
        meter_template(root, self)
        plugged = any(".plugged." in node.name for node in root.find_all(nodes.Filter))
        self._compiled[known] = CompiledTemplate(root, reader, plugged)
        return root

    def _plug(self, node: nodes.Filter, reader: TemplateReader) -> bool:
        """Let a plug-in's filter stand for an unknown one; tell whether there is one."""
        where = f"{reader.name}:{node.lineno}"
        plugin = find_plugin("filters", node.name, lambda text: TemplateError(text, where=where))
        if plugin is None:
            return False
        # A name of its own for each syntax: the same filter is cleaned otherwise in each.
        name = f"{reader.syntax.name}.plugged.{node.name}"
        self.filters.setdefault(name, _plugin_filter(node.name, plugin, reader.syntax))
        node.name = name
        return True


def _located(tokens: Iterator[tuple[int, str, str]], source: str) -> Iterator[tuple[int, str, str]]:
    """Yield tokens with line numbers that also know their offset."""
    at = 0
    try:
        for line, kind, value in tokens:
            # Blanks that a tag takes away are in no token.
            start = max(source.find(value, at), at)
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
        if token.type == "name" and len(token.value) > MAX_FIELD_NAME_CHARS:
            message = f"a name of more than {MAX_FIELD_NAME_CHARS} characters"
            raise jinja2.TemplateSyntaxError(message, token.lineno)
        yield token
