"""Escaping by itself: each printed value is wrapped in the escape of the place where it lands.

A `TemplateReader` walks a parsed template before it runs. It refuses nodes that are not part of the
language. It follows the template's own text through its `Syntax`, to find the
place of each value: in an attribute, inside quotes, at the start of a line. And it collects the
template's own lines, which no value of plain text may imitate. An author can neither forget an
escape nor get around it.
"""

import unicodedata
from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from typing import Any, NamedTuple, cast

from jinja2 import nodes

from ..errors import Excerpt, TemplateError
from ..syntax.syntax import (
    PRINTED_TITLE,
    PRINTED_VALUE,
    UNKNOWN_TEXT,
    LineParts,
    PlacementError,
    Syntax,
    with_marks,
)
from ..text.words import late_pattern

# A link of Markdown or HTML in plain text, in JSON or YAML, an address in a style or a redirect.
_RAW_URL = late_pattern(
    r"(?:\]\(\s*<?|\b(?i:href|src|srcset|poster|formaction)\s*=\s*\\?[\"']?|(?i:\burl\(\s*\\?[\"']?)"
    r"|;\s*(?i:url)=)[^\s\"'<>()]*\Z"
)
_RAW_URL_MESSAGE = (
    "a reader takes this value for an address, and it is not encoded as one here; print links in"
    ' Markdown or HTML, as [name]({{ value }}) or href="{{ value }}"'
)
SyntaxOf = Callable[[str], Syntax]
_ALLOWED = (
    *(nodes.Template, nodes.Extends, nodes.Output, nodes.TemplateData, nodes.For, nodes.If),
    *(nodes.CondExpr, nodes.Block, nodes.Include, nodes.FromImport, nodes.Macro, nodes.Assign),
    *(nodes.AssignBlock, nodes.Name, nodes.Const, nodes.Tuple, nodes.List, nodes.Dict, nodes.Pair),
    *(nodes.Keyword, nodes.Filter, nodes.Test, nodes.Getattr, nodes.Getitem, nodes.Call),
    *(nodes.Compare, nodes.Operand, nodes.Not, nodes.And, nodes.Or, nodes.Concat, nodes.Add),
    *(nodes.Sub, nodes.Neg),
)
_SECTION_TITLE = nodes.Getattr(nodes.Name("section", "load"), "title", "load")
MAX_LINE_PARTS = 400
MAX_NODE_DEPTH = 100
MAX_LOOP_DEPTH = 12
"""Nesting of loops; Python compiles no more than 20."""
MAX_STEPS_FOLLOWED = 20_000
"""Nodes followed in one template. The body of a loop counts twice, of a loop in it four times."""


class OutputState(NamedTuple):
    """The state of the output between two nodes of a template."""

    mode: str
    line: LineParts


class TemplateFacts(NamedTuple):
    """The variables, lines and parents of one template."""

    names: frozenset[str]
    """Variables it uses and does not set itself."""
    lines: frozenset[LineParts]
    """Its own lines, as texts and `PRINTED_VALUE`s."""
    parents: tuple[str, ...]
    optional: tuple[tuple[str, str], ...] = ()
    """Templates that it includes only with an option, sources or tree, and the option."""
    switched: tuple[tuple[str, frozenset[LineParts]], ...] = ()
    """Such options, and the lines of the templates that are included only with them."""


class TemplateReader:
    """One walk through a parsed template: `check` its language, then `follow` its output."""

    def __init__(self, name: str, source: str, syntax_of: SyntaxOf) -> None:
        self.name = name
        self.syntax = syntax_of(name)
        self.lines: set[LineParts] = set()
        self.parents: list[str] = []
        self._source = source
        self._syntax_of = syntax_of
        self._steps = 0
        self._places: dict[int, list[str]] = {}
        """The places of the children of each `Output`, by its `id`; empty for template text."""

    def refuse(self, node: nodes.Node, code: str, message: str) -> None:
        """Raise `TemplateError` at a node. Lint overrides it, notes `code` and goes on."""
        from .failures import locate_node

        excerpt = Excerpt.at(self._source, *locate_node(node, message, self._source))
        raise TemplateError(message, where=f"{self.name}:{excerpt.line}", excerpt=excerpt)

    def warn(self, node: nodes.Node, code: str, message: str) -> None:
        """Note what is allowed and may be a mistake; lint overrides it."""

    # --- the language -----------------------------------------------------------------------------

    def check(self, node: nodes.Node, depth: int = 0, loops: int = 0) -> None:
        """Refuse nodes that are not part of the language, in a node and all below it."""
        loops += isinstance(node, nodes.For)
        problem = _not_allowed(node) or _bad_detail(node)
        if loops > MAX_LOOP_DEPTH:
            problem = f"nested too deep, over {MAX_LOOP_DEPTH} loops"
        elif depth > MAX_NODE_DEPTH:
            problem = f"nested too deep, over {MAX_NODE_DEPTH}"
        elif isinstance(node, nodes.Include | nodes.Extends | nodes.FromImport):
            problem = problem or self._reference(node)
        if problem is not None:
            self.refuse(node, "PF808", problem)
            return
        for child in node.iter_child_nodes():
            self.check(child, depth + 1, loops)

    def _reference(self, node: nodes.Include | nodes.Extends | nodes.FromImport) -> str | None:
        if not (isinstance(node.template, nodes.Const) and isinstance(node.template.value, str)):
            return "the name of another template must be written out in quotes"
        other = node.template.value
        if not other.endswith(".j2"):
            whole = f"{other.partition('.')[0]}.{self.name.partition('.')[2]}"
            if isinstance(node, nodes.Extends) and "/" not in other:
                whole = f"{other}/{self.name.rpartition('/')[2]}"
            return f'"{other}" is no template: its name ends in .j2, such as "{whole}"'
        if self._syntax_of(other) is not self.syntax:
            return f'"{other}" is of another syntax than this template, and so escaped otherwise'
        # Compiled later, and only if it is reached: so missing ones are no error here.
        self.parents.append(other)
        if isinstance(node, nodes.FromImport):
            node.with_context = False  # a macro sees its arguments alone
        return None

    # --- the places of values ---------------------------------------------------------------------

    def follow(self, root: nodes.Template) -> None:
        """Find the place of each printed value, or refuse it."""
        extends = any(isinstance(node, nodes.Extends) for node in root.body)
        self._end(self._walk(root.body, self._start(known=not extends)), root)

    def _start(self, known: bool) -> OutputState:
        return OutputState(self.syntax.start(known), ())

    def _ask(self, node: nodes.Node, question: Callable[..., Any], *given: object) -> Any:
        try:
            return question(*given)
        except PlacementError as refusal:
            self.refuse(node, "PF809", str(refusal))
            return None

    def _feed(self, state: OutputState, node: nodes.TemplateData) -> OutputState:
        mode = self._ask(node, self.syntax.feed, state.mode, state.line, node.data)
        if mode is None:
            return self._start(known=True)
        line = state.line
        for number, text in enumerate(node.data.split("\n")):
            if number:
                self.lines.add(line)  # even one with an unknown beginning: it may be whole
                line = ()
            if text:
                line = (*line, text)
        return OutputState(mode, line)

    def _join(self, a: OutputState, b: OutputState, node: nodes.Node) -> OutputState:
        if a == b:
            return a
        self._flush(a)  # what follows may begin with a line end, or with a value
        self._flush(b)
        pairs = zip(a.line, b.line, strict=False)
        common = [x for x, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]
        mode: str | None = a.mode
        if a.mode != b.mode:
            mode = self._ask(node, self.syntax.join, a.mode, b.mode)
        if mode is None:
            return a
        return OutputState(mode, a.line if a.line == b.line else (*common, UNKNOWN_TEXT))

    def _end(self, state: OutputState, node: nodes.Node) -> None:
        """Refuse to end a template or block inside a tag, fence or quotes."""
        mode = self._ask(node, self.syntax.feed, state.mode, state.line, "")
        if mode is not None:  # with what has been printed since the last text
            self._ask(node, self.syntax.end, mode)
        self._flush(state)

    def _flush(self, state: OutputState) -> None:
        """Note the current line as one that may end here, or go on with a value."""
        if state.line:
            self.lines.update((state.line, (*state.line, PRINTED_VALUE)))

    def _unknown(self, state: OutputState) -> OutputState:
        """Return the state after another template's text: same mode, unknown rest of the line."""
        self._flush(state)
        if not state.line:  # then the next text may begin a line, and most do
            return OutputState(state.mode, ())
        return OutputState(state.mode, (*state.line, UNKNOWN_TEXT))

    def _walk(self, body: Iterable[nodes.Node], state: OutputState) -> OutputState:
        for node in body:
            self._steps += 1
            if self._steps > MAX_STEPS_FOLLOWED:
                if self._steps == MAX_STEPS_FOLLOWED + 1:  # lint goes on, and says it once
                    self.refuse(node, "PF809", "too many loops in each other to be followed")
                return state
            state = self._step(node, state)
        return state

    def _step(self, node: nodes.Node, state: OutputState) -> OutputState:
        if isinstance(node, nodes.Output):
            return self._output(node, state)
        if isinstance(node, nodes.If):
            after = self._walk(node.body, state)
            for branch in node.elif_:
                after = self._join(after, self._walk(branch.body, state), node)
            return self._join(after, self._walk(node.else_, state), node)
        if isinstance(node, nodes.For):
            # The second round begins where the first has ended, perhaps amid a line.
            once = self._walk(node.body, state)
            again = self._join(state, once, node)
            if again != state:
                once = self._walk(node.body, again)
            return self._join(once, self._walk(node.else_, state), node)
        if isinstance(node, nodes.Block):  # a child's block of the same name may stand here instead
            self._end(state, node)
            self._end(self._walk(node.body, state), node)
            return self._unknown(state)
        if isinstance(node, nodes.Include):
            self._end(state, node)
            return self._unknown(state)
        if isinstance(node, nodes.Macro | nodes.AssignBlock):  # printed elsewhere, by its name
            self._end(self._walk(node.body, self._start(known=False)), node)
        return state

    def _output(self, node: nodes.Output, state: OutputState) -> OutputState:
        places = self._places[id(node)] = []
        for child in node.nodes:
            if isinstance(child, nodes.TemplateData):
                places.append("")
                state = self._feed(state, child)
                continue
            if isinstance(child, nodes.Name) and child.name in ("self", "loop"):
                self.refuse(child, "PF809", f'"{child.name}" is no value to print')
            parts = _line_parts(child)
            place = self._ask(child, self.syntax.place, state.mode, state.line) or ""
            # In plain text a line that begins with the author's own words is the template's line.
            if place == "line" and self.syntax.marks_lines and any(type(p) is str for p in parts):
                place = "own"
            places.append(place)
            if not place.startswith(("url", "autolink")) and _RAW_URL.search(
                with_marks(state.line)
            ):
                self.warn(child, "PF837", _RAW_URL_MESSAGE)
            # Two values in a row are one wildcard: a loop would make lines without end.
            apart = state.line[-1:] not in ((PRINTED_VALUE,), (UNKNOWN_TEXT,))
            if apart or self.syntax.sees_each_value:
                state = state._replace(line=(*state.line, *parts))
            if len(state.line) > MAX_LINE_PARTS:
                message = f"more than {MAX_LINE_PARTS} texts and values in one line"
                self.refuse(child, "PF809", message)
                return state
        return state

    def wrap(self, root: nodes.Template) -> None:
        """Wrap each printed value in the escape of its place."""
        for output in root.find_all(nodes.Output):
            places = self._places.get(id(output))
            if places is None:  # a node that no step follows would print raw: never let it pass
                message = "this value stands where the page cannot be followed"
                self.refuse(output, "PF809", message)
                continue
            for number, (child, place) in enumerate(zip(output.nodes, places, strict=True)):
                if not isinstance(child, nodes.TemplateData):
                    # The environment of the new node is set by `meter_template`, for all of them.
                    escape, line = f"{self.syntax.name}.{place}", child.lineno
                    filtered = nodes.Filter(child, escape, [], [], None, None, lineno=line)
                    output.nodes[number] = filtered


def _not_allowed(node: nodes.Node) -> str | None:
    if isinstance(node, _ALLOWED):
        return None
    from .failures import not_in_language

    return not_in_language(type(node).__name__)


def _bad_detail(node: nodes.Node) -> str | None:
    if isinstance(node, nodes.Call) and not isinstance(node.node, nodes.Name):
        way_out = "a filter changes a value: {{ value | upper }}"
        return f"only macros and super() can be called; {way_out}"
    if isinstance(node, nodes.Call | nodes.Filter | nodes.Test):
        if node.dyn_args or node.dyn_kwargs:
            return "* and ** are not part of the template language; write the values out"
        return _named_twice(pair.key for pair in cast(list[nodes.Keyword], node.kwargs))
    elif isinstance(node, nodes.Macro):
        return _other_name(node.name) or _named_twice(given.name for given in node.args)
    elif isinstance(node, nodes.Name | nodes.Block):
        return _other_name(node.name)
    elif isinstance(node, nodes.FromImport):
        names = (each if isinstance(each, str) else each[1] for each in node.names)
        return next(filter(None, map(_other_name, names)), None)
    elif isinstance(node, nodes.Getattr) and node.attr.startswith("_"):
        return f'no value has a field "{node.attr}"'
    elif isinstance(node, nodes.Pair) and isinstance(node.key, nodes.List | nodes.Dict):
        return "the key of a mapping must be a text or a number"
    elif isinstance(node, nodes.For) and node.recursive:
        return "a recursive loop is not part of the template language"
    return None


def _other_name(name: str) -> str | None:
    # Python reads the names of a compiled template so: `ﬁ` and `fi` would be one variable.
    same = unicodedata.normalize("NFKC", name)
    return None if same == name else f'the name "{name}" is the same as "{same}"; write it so'


def _named_twice(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return f'"{name}" is given twice'
        seen.add(name)
    return None


def _line_parts(node: nodes.Expr) -> LineParts:
    """Return the known parts of a printed expression: the author's texts and `PRINTED_VALUE`s."""
    if isinstance(node, nodes.Const) and isinstance(node.value, str):
        return (node.value,)
    if isinstance(node, nodes.Concat):
        return tuple(part for child in node.nodes for part in _line_parts(child))
    if node == _SECTION_TITLE:
        return (PRINTED_TITLE,)
    return (PRINTED_VALUE,)


def references(root: nodes.Template) -> Iterator[tuple[nodes.Node, nodes.Node, str]]:
    """Yield what a template extends, includes or imports from: statement, its name's node, name."""
    statements: Iterator[nodes.Extends | nodes.Include | nodes.FromImport]
    statements = root.find_all((nodes.Extends, nodes.Include, nodes.FromImport))
    for node in statements:
        if isinstance(node.template, nodes.Const) and isinstance(node.template.value, str):
            yield node, node.template, node.template.value
