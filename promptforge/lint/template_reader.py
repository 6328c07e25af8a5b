"""Reading templates without running them: problems, variables, and the files they draw on.

`parse_template` reads one text, `walk_scopes` follows its variables, and `TemplateLibrary` holds
all templates of some folders.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import jinja2
from jinja2 import nodes
from jinja2.visitor import NodeVisitor

from ..config.options import is_own_part
from ..engine import Syntax, Templates
from ..errors import MAX_GUESSES, PromptForgeError, certain_correction, did_you_mean, suggest_name
from ..files.access import read_utf8
from ..plugins import plugin_names
from ..syntax.syntaxes import syntax_of
from ..templating.autoescape import TemplateReader, references
from ..templating.failures import (
    TemplateMistake,
    blank_tags,
    locate_mistake,
    locate_node,
    node_offset,
    unknown_name,
    word_after,
    word_length,
)
from ..templating.language import FILTERS, LOOP_FIELDS, Environment, check_filters
from ..yaml_reader import load_shipped_yaml
from .findings import Edit, Finding, LintedText
from .yaml_files import misspelt_kind

_ENVIRONMENT = Environment(jinja2.DictLoader({}), syntax_of)


class ParsedTemplate(NamedTuple):
    """A template's tree, `None` if it cannot be read, and the problems of its language."""

    root: nodes.Template | None
    problems: list[TemplateMistake]


def parse_template(
    text: str, name: str, syntax_of: Callable[[str], Syntax] = syntax_of
) -> ParsedTemplate:
    """Return the tree of a template's text; never raises."""
    try:
        root = _ENVIRONMENT.tree(text, name)
        problems = [*_twice(root, text), *_near_tags(text)]
        if syntax_of(name).name not in ("json", "xml"):
            problems += _joined_lines(text, fences=syntax_of(name).has_fences)
        return ParsedTemplate(root, [*problems, *_refusals(root, text, name, syntax_of)])
    except jinja2.TemplateSyntaxError as error:
        return ParsedTemplate(None, [locate_mistake(text, error)])
    except RecursionError:
        message = "nests too deeply"
    except Exception as error:  # a parser of hostile text may fail in any way
        message = f"cannot be read: {type(error).__name__}"
    return ParsedTemplate(None, [TemplateMistake(0, 1, message)])


def _twice(root: nodes.Template, text: str) -> Iterator[TemplateMistake]:
    seen: set[str] = set()
    for block in root.find_all(nodes.Block):
        if block.name in seen:
            at, length = word_after(text, node_offset(block), r"(?:block)?\s*")
            message = f'the block "{block.name}" is there twice; a name stands for one place'
            yield TemplateMistake(at, length, message)
        seen.add(block.name)


def _near_tags(text: str) -> Iterator[TemplateMistake]:
    """Yield text that was meant as a tag or a value and is printed as it stands."""
    for found in _NEAR_TAG.finditer(blank_tags(text)):
        new, code = None, "PF801"
        if found["word"]:
            meant = "{{ item.content }} for an item, {{ item.text }} on a page"
            # Beside a value it may be a text about such words; alone it is meant as one.
            code = "PF851" if "{{" in _IS_NO_LINE.sub("", text) else code
        elif found["value"]:
            new = meant = f"{{{{ {found['value'].strip()} }}}}"
        else:
            new = meant = re.sub(r"\A\{\s+|\s+\}\Z", lambda end: end[0].strip(), found[0])
        message = f"is not a tag and is printed as it is; write {meant}"
        yield TemplateMistake(found.start(), len(found[0]), message, new, code)


_IS_NO_LINE = re.compile(
    r"\{#.*?(?:#\}|\Z)|\{%[-+]?\s*raw\b.*?(?:\bendraw\s*[-+]?%\}|\Z)", re.DOTALL
)
_TAG_AT_END = re.compile(r"\{%[-+]?\s*((?:end)?(?:if|for)|include)\b[^{}]*(?<![-+])%\}\Z")
_BEGINS_WITH_FENCE = re.compile(r"\s*\{\{[^{}]*\|\s*(?:framed|fence)\b")


def _joined_lines(text: str, *, fences: bool) -> Iterator[TemplateMistake]:
    """Yield tags after words that end their line, where the next one begins with words.

    The line end after a tag is not printed, and templates of other systems count on it. Where the
    syntax has `fences`, one begins a line of its own all the same.
    """
    own = _IS_NO_LINE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    start = 0
    for line, after in pairwise(own.split("\n")):
        tag = _TAG_AT_END.search(line)
        goes_on = after.strip() and not after.lstrip().startswith(("{%", "{{-"))
        if fences and _BEGINS_WITH_FENCE.match(after):
            goes_on = False
        if tag is not None and goes_on and re.sub(r"\{%.*?%\}", "", line).strip():
            message = f"the line end after {{% {tag[1]} %}} is not printed, so the next line goes"
            message += " on in this one; +%} keeps it"
            yield TemplateMistake(start + tag.start(), len(tag[0]), message, None, "PF850")
        start += len(line) + 1


# `{ % if x % }`, `{ { item.name } }`, other languages' `{item.name}`, `${item.name}`, `{context}`.
_NEAR_TAG = re.compile(
    r"\{[ \t]+%[^{}\n]{1,200}%[ \t]*\}|\{[ \t]+\{[^{}\n]{1,200}\}[ \t]+\}"
    r"|\$?\{(?P<value>[ \t]*(?:item|loop|section|part)\.\w+[^{}\n]{0,200})\}"
    r"|(?<![\w\]}$])\{(?P<word>content|page_content|context|context_str|documents)\}"
)


class _Collector(TemplateReader):
    """Goes on after a refusal, so that one check says all of them."""

    def __init__(self, name: str, text: str, syntax_of: Callable[[str], Syntax]) -> None:
        super().__init__(name, text, syntax_of)
        self.text = text
        self.problems: list[TemplateMistake] = []

    def refuse(self, node: nodes.Node, code: str, message: str) -> None:
        at, length = locate_node(node, message, self.text)
        new = None
        if code == "PF803" and isinstance(node, nodes.Filter):
            new = certain_correction(node.name, FILTERS)
        elif code == "PF804" and isinstance(node, nodes.Test):
            new = certain_correction(node.name, _ENVIRONMENT.tests)
        self.problems.append(TemplateMistake(at, length, message, new, code))

    warn = refuse


def _refusals(
    root: nodes.Template, text: str, name: str, syntax_of: Callable[[str], Syntax]
) -> list[TemplateMistake]:
    found = _Collector(name, text, syntax_of)
    plugins_there = dict(plugin_names("filters"))  # nothing more is known of them before they run
    check_filters(root, found, lambda node: node.name in plugins_there)
    for node in root.find_all(nodes.Filter):
        if node.name in FILTERS and (wrong := _arguments(node)) is not None:
            at, length = node_offset(node), len(node.name)
            found.problems.append(TemplateMistake(at, length, wrong, None, "PF803"))
    found.check(root)
    found.follow(root)
    return found.problems


def _arguments(node: nodes.Filter) -> str | None:
    takes = inspect.signature(FILTERS[node.name])
    try:
        given = takes.bind(None, *node.args, **{str(p.key): p.value for p in node.kwargs}).arguments
    except TypeError:
        _, *values = takes.parameters.values()
        least, most = sum(each.default is each.empty for each in values), len(values)
        what = {0: "no values", 1: "at most 1 value"}.get(most, f"at most {most} values")
        if least:
            what = f"{least} to {most} values"
        number = len(node.args) + len(node.kwargs)
        return f'"{node.name}" takes {what} in brackets; got {number}'
    for name, value in given.items():
        wants = takes.parameters[name].annotation
        if wants in (int, "int") and isinstance(value, nodes.Const) and type(value.value) is str:
            return f'"{node.name}" takes a number here; write it without quotes'
    return None


# --- variables ------------------------------------------------------------------------------------


class Shape(NamedTuple):
    """The known facts about a value."""

    label: str
    fields: Mapping[str, Shape] | None = None
    member: Shape | None = None


ANY_SHAPE = Shape("anything")
"""An unknown value: metadata, or one that a template has made."""
METADATA_SHAPE = Shape("metadata")
"""Keys that an item alone has."""
VALUE_SHAPE = Shape("a text or number")
LONG_TEXT_SHAPE = Shape("a long text")
"""Text that prints on one line unless a filter says otherwise."""
FINISHED_TEXT_SHAPE = Shape("a finished text")
"""Text from a template or from the caller, printed as it is."""


_FILE = Path(__file__).with_name("variables.yaml")
_TABLE = load_shipped_yaml(read_utf8(_FILE), _FILE.name)[0]
_SHAPES = {
    **{"value": VALUE_SHAPE, "long": LONG_TEXT_SHAPE, "finished": FINISHED_TEXT_SHAPE},
    "metadata": METADATA_SHAPE,
}


def _fields(row: Mapping[str, str]) -> dict[str, Shape]:
    """Return the shapes of names by a row of `variables.yaml`: shape → names."""
    fields: dict[str, Shape] = {}
    for shape, names in row.items():
        found = _SHAPES[shape.removeprefix("list of ")]
        if shape.startswith("list of "):
            found = Shape("a list", None, found)
        fields |= dict.fromkeys(names.split(), found)
    return fields


for _name, _row in _TABLE["shapes"].items():
    _SHAPES[_name] = Shape(_row.pop("label"), _fields(_row))
KNOWN_METADATA_KEYS = frozenset(_TABLE["metadata"].split())
"""Keys with a meaning of their own: they need not occur in cases."""
_OF_KNOWN_WORDS = (_SHAPES["item"], _SHAPES["shown_item"], _SHAPES["message"])
FIELD_VALUES = {field: frozenset(words.split()) for field, words in _TABLE["values"].items()}
"""All that some fields of items and messages may be."""
LOOP_SHAPE = Shape("a loop", dict.fromkeys(LOOP_FIELDS, VALUE_SHAPE))
PAGE_VARIABLES: Mapping[str, Shape] = _fields(_TABLE["page"])
ITEM_VARIABLES: Mapping[str, Shape] = _fields(_TABLE["item"])
PROMPT_VARIABLES = {part: _fields(row) for part, row in _TABLE["prompt"].items()}
"""The variables of `prompt/SET/PART.EXT.j2`, by the part."""


def variables_seen(stem: str) -> Mapping[str, Shape]:
    """Return the variables of the page, or those of an item template."""
    return PAGE_VARIABLES if stem == "layout" else ITEM_VARIABLES


def prompt_part(name: str) -> str | None:
    """Return PART of `prompt/SET/PART.EXT.j2`, `part` for one's own; `None` for any other name."""
    found = re.fullmatch(r"prompt/[^/]+/([^/.]+)\.[^/]+\.j2", name)
    if found is None:
        return None
    part = "part" if is_own_part(found[1]) else found[1]
    return part if part in PROMPT_VARIABLES else None


# --- scopes ---------------------------------------------------------------------------------------
_FILTERS = {
    **{"len": "length", "str": "trim", "round": "round"},
    **{name: name for name in ("upper", "lower", "join")},
}
"""Functions of other languages → the filter to use."""
_TEXT_FILTERS = frozenset({"upper", "lower", "trim", "replace", "indent", "title", "truncate"})
Scope = dict[str, Shape]
Follow = Callable[[str, Mapping[str, Shape]], None]
"""Called with the name of an included template and its variables."""


class _ScopeWalk(NodeVisitor):
    """Visits statements in their order, with the scope of each; an expression gives its `Shape`.

    The shape is `None` for an expression that is wrong: then what is done with it has no findings.
    """

    def __init__(
        self,
        text: str,
        syntax: Syntax,
        scope: Mapping[str, Shape],
        outer: Mapping[str, Scope],
        follow: Follow,
        metadata_keys: Collection[str],
        kinds: Collection[str],
    ) -> None:
        """Take the variables of the template, and those of its parents' blocks by name.

        Other keys of metadata than `metadata_keys` are found, where there are any. `kinds` are
        those that layouts name.
        """
        self.problems: list[TemplateMistake] = []
        self.blocks: dict[str, Scope] = {}
        self._root = dict(scope)
        self._text, self._markdown = text, syntax.has_fences
        self._outer, self._follow = outer, follow
        self._metadata_keys, self._kinds = metadata_keys, kinds

    def visit_Template(self, node: nodes.Template) -> None:
        if any(isinstance(each, nodes.Extends) for each in node.body):
            # The parent runs the blocks after all that stands outside of them.
            for each in node.body:
                if isinstance(each, nodes.Assign | nodes.AssignBlock):
                    for name in (each.target, *each.target.find_all(nodes.Name)):
                        if isinstance(name, nodes.Name):
                            self._root.setdefault(name.name, ANY_SHAPE)
                elif isinstance(each, nodes.Macro):
                    self._root[each.name] = ANY_SHAPE
        self.visit_all(node.body, self._root)

    def generic_visit(self, node: nodes.Node, scope: Scope) -> Shape | None:
        self.visit_all(node.iter_child_nodes(), scope)
        return ANY_SHAPE

    def visit_all(self, children: Iterable[nodes.Node], scope: Scope) -> None:
        for node in children:
            self.visit(node, scope)

    # --- statements -------------------------------------------------------------------------------

    def visit_For(self, node: nodes.For, scope: Scope) -> None:
        given = self.visit(node.iter, scope)
        # Names that a loop sets are gone after it, so its body gets a copy.
        inner = {**scope, "loop": LOOP_SHAPE}
        self._bind(node.target, (given and given.member) or ANY_SHAPE, inner)
        if node.test is not None:
            self.visit(node.test, inner)
        self.visit_all(node.body, inner)
        self.visit_all(node.else_, dict(scope))

    def visit_Assign(self, node: nodes.Assign, scope: Scope) -> None:
        self._bind(node.target, self.visit(node.node, scope) or ANY_SHAPE, scope)

    def visit_AssignBlock(self, node: nodes.AssignBlock, scope: Scope) -> None:
        self.visit_all(node.body, dict(scope))
        self._bind(node.target, FINISHED_TEXT_SHAPE, scope)

    def visit_Macro(self, node: nodes.Macro, scope: Scope) -> None:
        scope[node.name] = ANY_SHAPE
        self.visit_all(node.defaults, scope)
        arguments = {argument.name: ANY_SHAPE for argument in node.args}
        self.visit_all(node.body, {**scope, **arguments, "caller": ANY_SHAPE})

    def visit_Block(self, node: nodes.Block, scope: Scope) -> None:
        # A block sees what its parents' block of that name sees, and the loop around it if scoped.
        seen = scope if node.scoped else self._root
        inner = {**self._outer.get(node.name, {}), **seen, "super": ANY_SHAPE}
        self.blocks[node.name] = inner
        self.visit_all(node.body, dict(inner))

    def visit_Include(self, node: nodes.Include, scope: Scope) -> None:
        if isinstance(node.template, nodes.Const):
            # Jinja hands all variables on, but for the loop.
            seen = {name: shape for name, shape in scope.items() if name != "loop"}
            self._follow(str(node.template.value), seen)

    def visit_FromImport(self, node: nodes.FromImport, scope: Scope) -> None:
        for name in node.names:
            scope[name if isinstance(name, str) else name[1]] = ANY_SHAPE

    def _bind(self, target: nodes.Node, shape: Shape, scope: Scope) -> None:
        if isinstance(target, nodes.Name):
            scope[target.name] = shape
        for name in target.find_all(nodes.Name):
            scope[name.name] = ANY_SHAPE

    # --- values on the page -----------------------------------------------------------------------

    def visit_Output(self, node: nodes.Output, scope: Scope) -> None:
        for child in node.nodes:
            if isinstance(child, nodes.TemplateData):
                continue
            shape = self.visit(child, scope)
            if self._markdown and shape is LONG_TEXT_SHAPE:
                message = "a long text without a filter is printed on one line"
                self._say(child, "PF810", f"{message}; add | framed, or | prose")

    # --- expressions ------------------------------------------------------------------------------

    def visit_Filter(self, node: nodes.Filter, scope: Scope) -> Shape | None:
        shape = None
        if node.node is not None:
            shape = self._look_up(node.node, scope, absent=node.name == "default")
        self.visit_all([*node.args, *(pair.value for pair in node.kwargs)], scope)
        if node.name in ("fence", "framed", "prose", "code"):
            return FINISHED_TEXT_SHAPE
        if node.name in ("first", "last"):
            return _member(shape)
        if shape is FINISHED_TEXT_SHAPE and node.name in _TEXT_FILTERS:
            before = node.node
            refused = isinstance(before, nodes.Filter) and before.name != "prose"
            if node.name not in ("indent", "trim") and not refused:
                message = f'"{node.name}" leaves a finished text to be escaped again, on one line'
                self._say(node, "PF810", f"{message}; only indent and trim keep it as it is")
            return FINISHED_TEXT_SHAPE
        if node.name in _TEXT_FILTERS and shape is LONG_TEXT_SHAPE:
            return LONG_TEXT_SHAPE
        return (shape or ANY_SHAPE) if node.name in ("default", "sort") else VALUE_SHAPE

    def visit_Test(self, node: nodes.Test, scope: Scope) -> Shape | None:
        self._look_up(node.node, scope, absent=node.name in ("defined", "undefined"))
        self.visit_all(node.args, scope)
        return VALUE_SHAPE

    def visit_Call(self, node: nodes.Call, scope: Scope) -> Shape | None:
        # The method of a value: the engine's own check has refused it.
        if isinstance(node.node, nodes.Getattr):
            self.visit(node.node.node, scope)
            return None
        if not isinstance(node.node, nodes.Name) or node.node.name in (*scope, "super"):
            return self.generic_visit(node, scope)
        name = node.node.name
        hint = "a value is changed by a filter"
        if name in _FILTERS:
            hint = f"write | {_FILTERS[name]} after a value"
        message = f'there is no macro "{name}", and templates call nothing else; {hint}'
        self._say(node.node, "PF802", message)
        self.visit_all(node.args, scope)
        return None

    def visit_CondExpr(self, node: nodes.CondExpr, scope: Scope) -> Shape | None:
        self.visit(node.test, scope)
        return self._common(scope, node.expr1, node.expr2)

    def visit_List(self, node: nodes.List | nodes.Tuple, scope: Scope) -> Shape | None:
        return Shape("a list", None, self._common(scope, *node.items))

    def _binary(self, node: nodes.BinExpr, scope: Scope) -> Shape | None:
        return self._common(scope, node.left, node.right)

    def _plain(self, node: nodes.Expr, scope: Scope) -> Shape | None:
        self.generic_visit(node, scope)
        return VALUE_SHAPE

    # Also the operators that the language has not: their operands have mistakes all the same.
    visit_Tuple = visit_List
    visit_And = visit_Or = visit_Add = visit_Sub = visit_Mul = visit_Div = _binary
    visit_FloorDiv = visit_Mod = visit_Pow = _binary
    visit_Const = visit_Not = visit_Concat = _plain

    def visit_Compare(self, node: nodes.Compare, scope: Scope) -> Shape | None:
        asked = node.expr
        owner = None
        if isinstance(asked, nodes.Getattr) and isinstance(asked.node, nodes.Name):
            owner = scope.get(asked.node.name)
        if owner in _OF_KNOWN_WORDS and isinstance(asked, nodes.Getattr):
            for operand in node.ops:
                for one in (operand.expr, *operand.expr.find_all(nodes.Const)):
                    if isinstance(one, nodes.Const) and isinstance(one.value, str):
                        self._compared(asked.attr, one)
        return self._plain(node, scope)

    def _compared(self, field: str, node: nodes.Const) -> None:
        """Find a text that a field never is, or a kind that is misspelt."""
        known = FIELD_VALUES.get(field)
        if known is not None and node.value not in known:
            hint = suggest_name(node.value, known)
            self._say(node, "PF849", f'{field} is never "{node.value}"{hint}')
        elif field == "kind":
            near = misspelt_kind(node.value, self._kinds)
            if near is not None:
                message = f'asks for items of the kind "{node.value}"; did you mean "{near}"?'
                self._say(node, "PF821", message)

    def _common(self, scope: Scope, *parts: nodes.Node | None) -> Shape:
        """Return the shape that is right for every part, `ANY_SHAPE` if they differ."""
        shapes = [self.visit(part, scope) for part in parts if part is not None]
        if shapes and all(shape is not None and shape == shapes[0] for shape in shapes):
            return shapes[0] or ANY_SHAPE
        return ANY_SHAPE

    def _look_up(self, node: nodes.Node, scope: Scope, absent: bool = False) -> Shape | None:
        """Return the shape of a name or field; an `absent` one may be missing."""
        if isinstance(node, nodes.Name):
            if node.name not in scope and not absent:
                self._unknown_name(node, scope)
            return scope.get(node.name)
        if isinstance(node, nodes.Getattr):
            place = word_after(self._text, node_offset(node), r"\.\s*")
            owner = self._look_up(node.node, scope, absent)
            return self._field(owner, node.attr, place, absent)
        if isinstance(node, nodes.Getitem):
            if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
                at = node_offset(node.arg)
                owner = self._look_up(node.node, scope, absent)
                return self._field(owner, node.arg.value, (at, word_length(self._text, at)), absent)
            shape = self.visit(node.node, scope)
            self.visit(node.arg, scope)
            return _member(shape)
        found: Shape | None = self.visit(node, scope)
        return found

    visit_Name = visit_Getattr = visit_Getitem = _look_up

    def _unknown_name(self, node: nodes.Name, scope: Scope) -> None:
        if node.name == "super":
            self._say(node, "PF802", "super() stands in a block")
            return
        known = set(scope) - {"super"} if len(self.problems) < MAX_GUESSES else set()
        fields = scope.get("item", ANY_SHAPE).fields or {}
        seen = {**PAGE_VARIABLES, **ITEM_VARIABLES}
        if "caller" in scope and node.name in seen:
            hint = unknown_name(node.name, seen)
        else:
            hint = unknown_name(node.name, known, fields)
        message = f'unknown variable "{node.name}"{hint}'
        self._say(node, "PF802", message, certain_correction(node.name, known))

    def _field(
        self, owner: Shape | None, name: str, place: tuple[int, int], absent: bool
    ) -> Shape | None:
        if owner is METADATA_SHAPE:
            self._check_key(name, place)
            return ANY_SHAPE
        if owner is None or owner is ANY_SHAPE:
            return owner
        shape = (owner.fields or {}).get(name)
        if shape is not None or absent:
            return shape
        if owner.fields is None:
            hint, new = "", None
            if owner.member:
                hint = "; ask each of its members: {% for one in … %}"
            message = f'"{name}": {owner.label} has no fields{hint}'
        else:
            new = certain_correction(name, owner.fields)
            message = f'{owner.label} has no field "{name}"{unknown_name(name, owner.fields)}'
        self.problems.append(TemplateMistake(*place, message, new, "PF806"))
        return None

    def _check_key(self, name: str, place: tuple[int, int]) -> None:
        keys = self._metadata_keys
        if not keys or name in keys or name in KNOWN_METADATA_KEYS:
            return
        near = did_you_mean(name, keys)
        if near:
            message = f'no item of the cases in tests has metadata "{name}"{near}'
            new = certain_correction(name, keys)
            self.problems.append(TemplateMistake(*place, message, new, "PF839"))

    def _say(self, node: nodes.Node, code: str, message: str, new: str | None = None) -> None:
        at, length = node_offset(node), word_length(self._text, node_offset(node))
        if isinstance(node, nodes.Getattr):  # the whole of item.content
            inner: nodes.Node = node
            while isinstance(inner, nodes.Getattr):
                inner = inner.node
            end, word = word_after(self._text, at, r"\.\s*")
            at = node_offset(inner)
            length = end + word - at
        self.problems.append(TemplateMistake(at, length, message, new, code))


def _member(shape: Shape | None) -> Shape | None:
    return (shape.member or ANY_SHAPE) if shape else None


# --- the files of folders -------------------------------------------------------------------------

MAX_WALKS = 2000
"""Walks from one root. Pieces that include each other twice make endlessly many."""
_TEMPLATE_NAME = re.compile(r"[\"']([\w./-]+\.j2)[\"']")


class LintedTemplate(NamedTuple):
    """One template, parsed."""

    name: str
    text: LintedText
    shipped: bool
    parsed: ParsedTemplate
    links: tuple[tuple[nodes.Node, int, str], ...]
    """The templates it extends, includes or imports from: statement, offset of the name, name."""

    @property
    def body(self) -> list[nodes.Node]:
        """Its statements; none if it cannot be read."""
        return getattr(self.parsed.root, "body", [])

    @property
    def parent(self) -> str | None:
        """The template it extends."""
        return next((name for node, _, name in self.links if isinstance(node, nodes.Extends)), None)


class TemplateLibrary:
    """All templates of some folders, and the findings about them."""

    def __init__(self, templates: Templates) -> None:
        self.templates = templates
        self.names = templates.names()
        self.metadata_keys: Collection[str] = ()
        """The keys that the cases of the project have; none where there are no cases."""
        self.kinds: Collection[str] = ()
        self.unreadable: list[tuple[str, str]] = []
        self.findings: list[Finding] = []
        self._parsed: dict[str, LintedTemplate | None] = {}
        self._walked: dict[tuple[str, tuple[str, ...]], dict[str, Scope]] = {}
        self._walks_left = MAX_WALKS
        self._circular: set[str] = set()

    def template(self, name: str) -> LintedTemplate | None:
        """Return the template `name`, parsed; `None` if it is missing or cannot be read."""
        if name not in self._parsed:
            self._parsed[name] = self._read(name)
        return self._parsed[name]

    def path(self, name: str) -> Path | None:
        """Return the file of the template `name`."""
        found = self.templates.find(name)
        return None if found is None else found.path

    def _read(self, name: str) -> LintedTemplate | None:
        found = self.templates.find(name)
        if found is None:
            return None
        try:
            text, _ = self.templates.source(name)
        except PromptForgeError as error:
            self.unreadable.append((str(found.path), str(error).removeprefix(f"{found.path}: ")))
            return None
        parsed = parse_template(text, name, self.templates.syntax_of)
        links: list[tuple[nodes.Node, int, str]] = []
        if parsed.root is not None:
            links = [(node, node_offset(at), other) for node, at, other in references(parsed.root)]
        return LintedTemplate(
            name, LintedText(found.path, text), found.shipped, parsed, tuple(links)
        )

    def reached(self, name: str) -> set[str]:
        """Return a template and all that it draws on, by their names."""
        found: set[str] = set()
        waiting = [name]
        while waiting:
            one = waiting.pop()
            if one not in found:
                found.add(one)
                template = self.template(one)
                if template is not None:
                    waiting += [other for _, _, other in template.links]
        return found

    def mentioned(self, names: Iterable[str]) -> set[str]:
        """Return templates and all that they may draw on, told without parsing: rather too many.

        A check of one file must not parse all the shipped templates.
        """
        found = set(names)
        waiting = list(found)
        while waiting:
            try:
                text, _ = self.templates.source(waiting.pop())
            except PromptForgeError:
                continue
            more = set(_TEMPLATE_NAME.findall(text)) - found
            found |= more
            waiting += more
        return found

    # --- one file ---------------------------------------------------------------------------------

    def read(self, name: str) -> None:
        """Note the problems of one template, and of its links to others."""
        template = self.template(name)
        if template is None:
            return
        self.findings += map(template.text.mistake, template.parsed.problems)
        for node, at, target in template.links:
            self.findings += self._link(template, node, at, target)
        if template.parent is not None:
            self.findings += _outside_blocks(template)

    def _link(
        self, template: LintedTemplate, node: nodes.Node, at: int, target: str
    ) -> Iterator[Finding]:
        text = template.text
        length = word_length(text.text, at)
        other = self.template(target)
        if other is None:
            if self.path(target) is None and target.endswith(".j2"):
                yield text.at(at, length, "PF805", self.templates.missing(target))
        elif Path(text.path) in map(self.path, self.reached(target)):
            self._circular.add(template.name)
            yield self._circle(template, at, length, target)
        elif isinstance(node, nodes.FromImport) and other.parsed.root is not None:
            macros = {macro.name for macro in other.parsed.root.find_all(nodes.Macro)}
            for word in (name if isinstance(name, str) else name[0] for name in node.names):
                if word not in macros:
                    place = max(text.text.find(word, at + length), at)
                    message = f'"{target}" has no macro "{word}"{suggest_name(word, macros)}'
                    yield text.at(place, len(word), "PF805", message)

    def _circle(self, template: LintedTemplate, at: int, length: int, target: str) -> Finding:
        shipped = self.templates.find(f"shipped/{target}") is not None
        edit = None
        if target != template.name:
            way_out = "one of them must do without"
            if shipped:
                way_out = f'the original is "shipped/{target}"'
            message = f'"{target}" includes this file too: circular; {way_out}'
        elif shipped and not template.shipped:
            edit = Edit(at + 1, at + 1, "shipped/")
            message = f'this is the file itself; the original is "shipped/{target}"'
        else:
            message = "this is the file itself; name the one it builds on, or take it out"
        return template.text.at(at, length, "PF807", message, edit)

    # --- variables and blocks ---------------------------------------------------------------------

    def walk(
        self, name: str, scope: Mapping[str, Shape], within: Sequence[str] = ()
    ) -> dict[str, Scope]:
        """Follow a template and those it draws on, given its variables.

        Returns the variables of its blocks, by their names.
        """
        # The same template with the same variables has the same findings.
        key = (name, tuple(sorted(f"{word} {id(shape)}" for word, shape in scope.items())))
        if not within:
            self._walks_left = MAX_WALKS
        self._walks_left -= 1
        if key in self._walked or name in within or self._walks_left < 0:
            return self._walked.get(key, {})
        self._walked[key] = {}
        template = self.template(name)
        if template is None or template.parsed.root is None:
            return {}
        inside = (*within, name)
        root, parent = template.parsed.root, template.parent
        outer: dict[str, Scope] = {}
        if parent is not None:
            if not self._knows_parents(template):  # then the variables of its blocks are unknown
                return {}
            bound = {n.name: ANY_SHAPE for n in root.find_all(nodes.Name) if n.ctx == "store"}
            outer = self.walk(parent, {**bound, **scope}, inside)
        for node, _, target in template.links:
            if isinstance(node, nodes.FromImport):
                self.walk(target, {}, inside)

        def follow(target: str, seen: Mapping[str, Shape]) -> None:
            self.walk(target, seen, inside)

        text, syntax = template.text.text, self.templates.syntax_of(name)
        known = self.metadata_keys, self.kinds
        walked = _ScopeWalk(text, syntax, scope, outer, follow, *known)
        walked.visit(root)
        self.findings += map(template.text.mistake, walked.problems)
        if parent is not None and name not in self._circular:
            self.findings += _unknown_blocks(template, outer)
        self._walked[key] = {**outer, **walked.blocks}
        return self._walked[key]

    def _knows_parents(self, template: LintedTemplate) -> bool:
        """Tell whether all templates above one are there, can be read, and are no circle."""
        seen = {template.text.path}
        while template.parent is not None:
            above = self.template(template.parent)
            if above is None or above.parsed.root is None or above.text.path in seen:
                return False
            seen.add(above.text.path)
            template = above
        return True


def _unknown_blocks(template: LintedTemplate, outer: Mapping[str, Scope]) -> Iterator[Finding]:
    text = template.text
    for block in template.body:
        if isinstance(block, nodes.Block) and block.name not in outer:
            at = node_offset(block)
            place = max(text.text.find(block.name, at + 5), at)
            hint = suggest_name(block.name, outer)
            message = f'no template above has a block "{block.name}", so it is not shown{hint}'
            yield text.at(place, len(block.name), "PF813", message)


def _outside_blocks(template: LintedTemplate) -> Iterator[Finding]:
    text = template.text
    extended = False
    body = template.body
    if not any(isinstance(node, nodes.Extends) for node in body):  # only in an if or a loop
        return
    for node in body:
        extended = extended or isinstance(node, nodes.Extends)
        for child in getattr(node, "nodes", ()):  # of an `Output`, which prints
            at = node_offset(child)
            data = getattr(child, "data", "x")  # a value prints something or other
            start = at + len(data) - len(data.lstrip())
            if data.strip() and extended:
                message = "this stands outside of the blocks, so it is not printed"
                yield text.at(start, len(data.strip().split("\n")[0]), "PF812", message)
            elif data.strip():
                message = "this stands before the page that is extended, and is printed there"
                yield text.at(start, 1, "PF812", message)
            elif not extended and data:
                message = "the blank line before {% extends %} is printed;"
                message += " {% extends %} follows the comment at once"
                yield text.at(at, 1, "PF812", message, Edit(at, at + len(data), ""))
