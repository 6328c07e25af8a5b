"""Escaping by itself: each printed value is wrapped in the escape of the place where it lands.

A `TemplateReader` walks a parsed template before it runs. It refuses nodes that are not part of the
language. It follows the template's own text through its syntax, one class a syntax, to find the
place of each value: in an attribute, inside quotes, at the start of a line. And it collects the
template's own lines, which no value of plain text may imitate. An author can neither forget an
escape nor get around it.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from typing import Any, ClassVar, NamedTuple, cast

from jinja2 import nodes

from ..errors import TemplateError
from ..text.escape import YAML_LITERAL_INDENTS
from ..text.places import syntax_of
from ..text.urls import SETTLES_SCHEME
from ..text.words import late_pattern

# A line of a template is compared with lines of content, so values in it are wildcards.
PRINTED_VALUE = object()
"""A printed value, in a line of a template."""
UNKNOWN_TEXT = object()
"""Text of one of several branches, or of another template."""
PRINTED_TITLE = object()
"""A printed `section.title`. A line of it alone is known as soon as the sections are."""
LineParts = tuple[object, ...]
"""A line of a template so far: its own texts, `PRINTED_VALUE`s and `PRINTED_TITLE`s."""


_URLS_OF_TAGS = {
    "action": "form",
    "background": "body|table|t[dhr]|tbody|thead|tfoot",
    "cite": "blockquote|del|ins|q",
    "data": "object",
    "longdesc": "i?frame|img",
    "manifest": "html",
    "ping": "a|area",
}
"""Attribute that takes an address in these tags of HTML, and in others is any text."""
URL_ATTRIBUTE = r"(?:[\w.-]+:)?(?:href|src|formaction|poster|srcset|imagesrcset|" + (
    f"{'|'.join(_URLS_OF_TAGS)})"
)
"""Matches the name of an attribute that may take an address, in small letters."""
# A link of Markdown or HTML in plain text, in JSON or YAML, an address in a style or a redirect.
_RAW_URL = late_pattern(
    r"(?:\]\(\s*<?|\b(?i:href|src|srcset|poster|formaction)\s*=\s*\\?[\"']?|(?i:\burl\(\s*\\?[\"']?)"
    r"|;\s*(?i:url)=)[^\s\"'<>()]*\Z"
)
_RAW_URL_MESSAGE = (
    "a reader takes this value for an address, and it is not encoded as one here; print links in"
    ' Markdown or HTML, as [name]({{ value }}) or href="{{ value }}"'
)
_OPENED_ATTRIBUTE = late_pattern(r'([\w:.-]+)\s*=\s*"\Z')
_OPENED_TAG = late_pattern(r"(?s:.*)<([\w:.-]+)")
_URL_SEPARATOR = late_pattern(r"[\s,]+")


def _attribute_mode(before: str) -> str:
    """Return the mode of XML after `before`, which ends with the quote that opens an attribute."""
    name, tag = _OPENED_ATTRIBUTE.search(before), _OPENED_TAG.match(before)
    attribute = name[1].lower().rpartition(":")[2] if name else ""
    if not name or not re.fullmatch(URL_ATTRIBUTE, attribute):
        return "attribute"
    tags = _URLS_OF_TAGS.get(attribute)
    if tags and tag and not re.fullmatch(tags, tag[1], re.IGNORECASE):
        return "attribute"
    return "urls" if attribute.endswith("srcset") or attribute == "ping" else "url"


_BRANCHES = "the branches of an if or a loop must both end inside {}, or both outside"


class PlacementError(ValueError):
    """A value that no escape could keep in its place, or text that would swallow a value."""


class SyntaxPlaces:
    """Plain text, and the base of the other syntaxes.

    `feed` follows the template's own text from mode to mode. A mode is a word for what is open
    there, such as `tag` or `string`; `""` is the ordinary one.
    """

    def start(self, known: bool) -> str:
        """Return the mode at the beginning; not `known` in a block, which stands elsewhere."""
        return ""

    def feed(self, mode: str, line: LineParts, text: str) -> str:
        """Return the mode after `text`, which continues `line`; raises `PlacementError`."""
        return mode

    def place(self, mode: str, line: LineParts) -> str:
        """Return the place of a value after `line`; raises `PlacementError`."""
        return "inline" if static_text(line).strip() or _has_values(line) else "line"

    def join(self, a: str, b: str) -> str:
        """Return the mode where two branches of different modes meet; raises `PlacementError`."""
        return a

    def end(self, mode: str) -> None:
        """Raise `PlacementError` if a template, block or macro must not end in this mode."""


def static_text(line: LineParts) -> str:
    """Return the template's own text in a line."""
    return "".join(part for part in line if isinstance(part, str))


def _ends_with_backslash(text: str) -> bool:
    """Tell whether a text ends with an odd number of backslashes, so the last one escapes."""
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


def _after_value(line: LineParts) -> bool:
    return bool(line) and not isinstance(line[-1], str)


def _with_marks(line: LineParts) -> str:
    """Return a line with NUL in place of each value, which no template holds."""
    return "".join(part if isinstance(part, str) else "\0" for part in line)


def _url_place(before: str) -> str:
    """Return the place in an address after `before`."""
    if not before:
        return "url"
    return "url_rest" if SETTLES_SCHEME.search(before) else "url_part"


def _has_values(line: LineParts) -> bool:
    return any(not isinstance(part, str) for part in line)


class _Markdown(SyntaxPlaces):
    """CommonMark and GFM. Modes: `html` in a block of HTML, `fence` in a fence."""

    # Marks of lists, tasks, quotes, definitions and footnotes, after which a line begins anew.
    _marks = re.compile(r"(?:[ \t]*(?:[-+*>:]|[0-9]{1,9}[.)]|\[[ xX]\]|\[\^[^\]\s]+\]:))*[ \t]*")
    _heading = re.compile(r"[ \t>]*#{1,6}[ \t]")
    _rule = re.compile(r"[-=_~:+ \t]+")
    # Blocks of HTML that a blank line does not end (CommonMark 0.31, §4.6, kinds 1 to 5), and
    # comments anywhere.
    _raw = re.compile(
        r"(?im)^ {0,3}<(?:(?:pre|script|style|textarea)\b|\?|!\[CDATA\[|![a-z])|<!--(?!.*-->)"
    )
    _html = re.compile(r" {0,3}</?[A-Za-z]")
    _fence = re.compile(r" {0,3}(?:```|~~~)")
    # A destination, in brackets, of a definition, or in an attribute of HTML amid the line.
    _address = re.compile(
        r"(?:\]\([ \t]*(?:<|(?=[^\s<]|\Z))|^[ \t>]*\[(?!\^)[^\]]*\]:[ \t]*(?:<|(?=[^\s<]|\Z))"
        rf"|<[A-Za-z][^<>]*\s(?i:{URL_ATTRIBUTE})\s*=\s*\")"
        r"((?:[^\s()<>\"]|\([^\s()<>\"]*\))*)\Z"
    )
    _autolink = re.compile(r"<((?:[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*|\0)*)\Z")
    _title = re.compile(
        r"(?:\]\(|^[ \t>]*\[(?!\^)[^\]]*\]:)[ \t]*(?:<[^<>]*>|[^\s<>]+)[ \t]+"
        r"(?:\"[^\"]*|'[^']*|\([^)]*)\Z"
    )
    _attribute = re.compile(r"<[A-Za-z][^<>]*\s[\w:.-]+\s*=\s*\"[^\"<>]*\Z")

    def feed(self, mode: str, line: LineParts, text: str) -> str:
        if hidden := self._raw.search(text):
            opens = f'"{hidden[0].strip()}" opens a block of HTML'
            raise PlacementError(f"{opens}, and a fence in it is not one")
        first, *rest = text.split("\n")
        # After a value, nothing at the beginning of its line can be a mark any more.
        if not _has_values(line):
            before = static_text(line)
            mode = self._after(mode, before + first, before, ended=bool(rest))
        for number, whole in enumerate(rest, 1):
            mode = self._after(mode, whole, ended=number < len(rest))
        return mode

    def _after(self, mode: str, line: str, before: str = "", *, ended: bool) -> str:
        """Return the mode after a line; `before` is the part of it that has been read already."""
        if mode != "fence" and self._html.match(line):
            return "html"
        # Text may come in parts: marks that an earlier part has counted are not counted again.
        if self._fence.match(line) and not self._fence.match(before):
            return "" if mode == "fence" else "fence"
        # A blank line ends HTML, but only once its own end is written: `  {{ x }}` is not blank.
        if mode == "html" and ended and not line.strip():
            return ""
        return mode

    def place(self, mode: str, line: LineParts) -> str:
        before = static_text(line)
        if refusal := self._refusal(mode, before):
            raise PlacementError(refusal)
        if linked := self._link_place(_with_marks(line)):
            return linked
        if _after_value(line):  # two values could make a link or an entity together
            return "joined"
        if self._marks.fullmatch(before):
            return "line"
        # `--- ` and the value `-` would be a rule, `~~` and `~` a fence.
        if self._rule.fullmatch(before):
            return "joined"
        if before.count("[") > before.count("]"):
            return "link"
        if "|" in before:
            return "cell"
        return "heading" if self._heading.match(before) else "inline"

    def _link_place(self, before: str) -> str | None:
        """Return the place in a link, an autolink or a tag of HTML; None outside of these."""
        if address := self._address.search(before):
            return _url_place(address[1])
        if self._title.search(before) or self._attribute.search(before):
            return "title"
        if autolink := self._autolink.search(before):
            return _url_place(autolink[1]) if autolink[1] else "autolink"
        return None

    def _refusal(self, mode: str, before: str) -> str | None:
        # An open backtick: inside of code nothing can be escaped.
        if before.lstrip().startswith(("```", "~~~")) or before.count("`") % 2:
            return "a value cannot stand between backticks; write {{ value | code }} without them"
        if mode == "fence":
            where = "a value cannot stand in a fence of the template's own"
            return f"{where}; write {{{{ value | framed }}}} instead"
        if mode == "html":
            return "a value cannot stand in a block of HTML; end the block with a blank line"
        if _ends_with_backslash(before):
            return "a backslash before a value would undo its escape; write two"
        # `#` and the value `a` would be a word, no heading; `1` and the value `.` a list.
        if re.fullmatch(r"[ \t]*(?:#{1,6}|[0-9]{1,9})", before):
            return f'"{before.strip()}" and a value would make one word; put a blank between them'
        return None

    def join(self, a: str, b: str) -> str:
        # The mode that refuses more: either branch may have been taken.
        return "fence" if "fence" in (a, b) else "html"

    def end(self, mode: str) -> None:
        if mode == "html":
            message = "a block of HTML must be followed by a blank line; leave one after it"
            raise PlacementError(message)
        if mode == "fence":
            message = "the fence is not closed; write its marks again on a line of their own"
            raise PlacementError(message)


class _Xml(SyntaxPlaces):
    """XML 1.0, and HTML by the same rules. Modes: `tag`, `attribute`, `comment`, `unknown`.

    In an attribute that takes an address the mode is `url`, and `url_part` or `url_rest` after text
    of the template's own; `urls` and so on in one that takes several.
    """

    _text = re.compile(r"<!(?=--)|<!\[CDATA\[|[<>]")
    _marks: ClassVar = {
        "": _text,
        "unknown": _text,  # the first angle bracket tells
        "tag": re.compile(r"[\"'>]"),
        "attribute": re.compile(r'"'),
        "comment": re.compile(r"-->"),
        **dict.fromkeys(
            ("url", "url_part", "url_rest", "urls", "urls_part", "urls_rest"), re.compile(r'"')
        ),
    }
    """By mode: the marks that may end it."""

    def start(self, known: bool) -> str:
        return "" if known else "unknown"

    def feed(self, mode: str, line: LineParts, text: str) -> str:
        at = 0
        while found := self._marks[mode].search(text, at):
            mark, at = found[0], found.end()
            if mark == "'":  # the escape of attributes leaves this quote alone
                at = text.find("'", at) + 1
                if at == 0:
                    raise PlacementError("write attributes in double quotes")
            elif mark == "<![CDATA[":
                at = text.find("]]>", at) + 3
                if at == 2:
                    raise PlacementError(
                        "a value cannot stand in a CDATA section; print it as text"
                    )
            elif mark == '"':
                opens = mode == "tag"
                mode = _attribute_mode(_with_marks(line) + text[:at]) if opens else "tag"
            else:
                mode = {"<!": "comment", "<": "tag", ">": "", "-->": ""}[mark]
        if mode.startswith("url"):
            return self._after_url(mode, text[at:])
        return mode

    def _after_url(self, mode: str, text: str) -> str:
        """Return the mode after text of the template's own in an address."""
        kind, _, _ = mode.partition("_")
        if kind == "urls" and (last := _URL_SEPARATOR.split(text))[1:]:
            mode, text = kind, last[-1]  # the next address begins
        if not text or mode.endswith("_rest"):
            return mode
        return f"{kind}_{'rest' if SETTLES_SCHEME.search(text) else 'part'}"

    def place(self, mode: str, line: LineParts) -> str:
        if mode.startswith("url"):
            place = mode.replace("urls", "url")
            return "url_part" if place == "url" and _after_value(line) else place
        if mode in ("tag", "comment"):
            where = f"a value cannot stand in a {mode}"
            raise PlacementError(f"{where}; put it in an attribute in double quotes")
        if mode:  # also `unknown`: in a macro or block, the escape that is right everywhere
            return mode
        # XML text must not hold `]]>`: after `]`, or a value that ends so, `]>` would make one.
        if _after_value(line) or static_text(line).endswith("]"):
            return "joined"
        return "text"

    def join(self, a: str, b: str) -> str:
        if {a, b} & {"tag", "comment"}:
            raise PlacementError(_BRANCHES.format("the tag"))
        if a.startswith("url") and b.startswith("url"):
            return a if a.endswith("_part") else b  # what is right in either
        return "unknown"

    def end(self, mode: str) -> None:
        if mode in ("tag", "attribute", "comment") or mode.startswith("url"):
            where = f"a {mode}" if mode in ("tag", "comment") else "an attribute"
            message = f"a template or block cannot begin or end in {where}; close it first"
            raise PlacementError(message)


class _Json(SyntaxPlaces):
    """JSON. Mode: `string` inside quotes that the template has opened."""

    def feed(self, mode: str, line: LineParts, text: str) -> str:
        # `\\"` and `\\\\` are one mark each, so that an escaped quote is none.
        quotes = re.findall(r'\\.|"', text, re.DOTALL).count('"')
        if quotes % 2:
            mode = {"": "string", "string": ""}[mode]
        return mode

    def place(self, mode: str, line: LineParts) -> str:
        before = static_text(line)
        if mode and _ends_with_backslash(before):
            raise PlacementError("a backslash before a value would make an escape of it; write two")
        return mode or "value"

    def join(self, a: str, b: str) -> str:
        raise PlacementError(_BRANCHES.format("quotes"))

    def end(self, mode: str) -> None:
        if mode:
            raise PlacementError('the quotes are not closed; write " where the text ends')


class _Yaml(SyntaxPlaces):
    """YAML. A mode has `?` where the beginning of the line is not known, then what is open.

    That is a `[` for each list or mapping in brackets, `"`, `'`, or `#` up to the line's end.
    """

    def start(self, known: bool) -> str:
        return "?"  # even of a template: it may be printed amid a line

    def feed(self, mode: str, line: LineParts, text: str) -> str:
        before = "".join(part if isinstance(part, str) else _SCALAR for part in line)
        if (
            line[-1:] == (PRINTED_VALUE,)
            and mode[-1:] not in ('"', "'", "#")
            and not _AFTER.match(text)
        ):
            raise PlacementError(_IN_QUOTES)
        for found in _YAML_MARK.finditer(text):
            mark, so_far = found[0], before + text[: found.start()]
            closes = mode[-1:] == mark
            if mark == "\n":
                mode = mode.removeprefix("?").removesuffix("#")
            elif mode[-1:] in ('"', "'", "#"):
                mode = mode[:-1] if closes and mark != "#" else mode
            elif mark in "]}":
                mode = mode.removesuffix("[")
            elif _SCALAR_BEGINS.search(so_far.rpartition("\n")[2]) or mark == "#":
                mode += "[" if mark in "[{" else mark
        return mode

    def place(self, mode: str, line: LineParts) -> str:
        if mode.endswith("#"):
            raise PlacementError("a value cannot stand in a comment of YAML")
        if mode.endswith("'"):
            raise PlacementError('a value in quotes needs double ones: "… {{ value }} …"')
        before = "".join(part if isinstance(part, str) else _SCALAR for part in line)
        if mode.endswith('"'):
            if _ends_with_backslash(before):
                raise PlacementError("a backslash before a value would make an escape; write two")
            return "string"
        if not _SCALAR_BEGINS.search(before):
            raise PlacementError(_IN_QUOTES)
        key = _BLOCK_KEY.fullmatch(before)
        if mode or key is None:
            return "value"
        # A content has its lines two columns inside of the key, or of the dash, before it.
        column = len(key[1]) + 2 if key[2] else len(key[1].rstrip()) + 1
        return f"block{column}" if column in YAML_LITERAL_INDENTS else "value"

    def join(self, a: str, b: str) -> str:
        if a.lstrip("?") != b.lstrip("?"):
            raise PlacementError(_BRANCHES.format("quotes and brackets"))
        return max(a, b, key=len)

    def end(self, mode: str) -> None:
        if mode[-1:] in ('"', "'"):
            raise PlacementError("the quotes are not closed; close them where the text ends")


_SCALAR = "\0"  # stands for a printed value in a line
_IN_QUOTES = 'a value amid other text goes into double quotes with it: "… {{ value }} …"'
_YAML_MARK = late_pattern(r"""\\.|["'\n\[\]{}]|(?:(?<=\s)|^)#""", re.DOTALL)
_SCALAR_BEGINS = late_pattern(r"(?:^[ ]*(?:- +)*|: +|[\[{] *|, +|\? +)\Z")
_AFTER = late_pattern(r"[ \t]*(?:\n|\Z|[,\]}]|:(?:\s|\Z)| #)")
_BLOCK_KEY = late_pattern(r"( *(?:- +)*)([A-Za-z_][\w.-]*: +)?")

SYNTAXES = {
    **{"md": _Markdown(), "xml": _Xml(), "json": _Json()},
    **{"yaml": _Yaml(), "txt": SyntaxPlaces()},
}
"""By the syntax of a template, as `template_syntax` gives it."""
_ALLOWED = (
    *(nodes.Template, nodes.Extends, nodes.Output, nodes.TemplateData, nodes.For, nodes.If),
    *(nodes.CondExpr, nodes.Block, nodes.Include, nodes.FromImport, nodes.Macro, nodes.Assign),
    *(nodes.AssignBlock, nodes.Name, nodes.Const, nodes.Tuple, nodes.List, nodes.Dict, nodes.Pair),
    *(nodes.Keyword, nodes.Filter, nodes.Test, nodes.Getattr, nodes.Getitem, nodes.Call),
    *(nodes.Compare, nodes.Operand, nodes.Not, nodes.And, nodes.Or, nodes.Concat, nodes.Add),
    *(nodes.Sub, nodes.Neg),
)
_SECTION_TITLE = nodes.Getattr(nodes.Name("section", "load"), "title", "load")
_TAGS = "if, for, set, block, extends, include, from … import, macro"
MAX_LINE_PARTS = 400
"""Texts and values in one line of a template."""
MAX_NODE_DEPTH = 100
"""Nesting of tags and values."""
MAX_LOOP_DEPTH = 12
"""Nesting of loops; Python compiles no more than 20."""
MAX_STEPS_FOLLOWED = 20_000
"""Nodes followed in one template. The body of a loop counts twice, of a loop in it four times."""


class OutputState(NamedTuple):
    """The state of the output between two nodes of a template."""

    mode: str
    """The mode of its syntax; see `SyntaxPlaces`."""
    line: LineParts
    """The current line so far."""


class TemplateFacts(NamedTuple):
    """The variables, lines and parents of one template."""

    names: frozenset[str]
    """Variables it uses and does not set itself."""
    lines: frozenset[LineParts]
    """Its own lines, as texts and `PRINTED_VALUE`s."""
    parents: tuple[str, ...]
    """Templates it extends, includes or imports from."""


class TemplateReader:
    """One walk through a parsed template: `check` its language, then `follow` its output."""

    def __init__(self, name: str, syntax: str, source: str) -> None:
        self.name = name
        self.syntax = syntax
        self.lines: set[LineParts] = set()
        self.parents: list[str] = []
        self._source = source
        self._steps = 0
        self._syntax = SYNTAXES[syntax]
        self._places: dict[int, list[str]] = {}
        """The places of the children of each `Output`, by its `id`; empty for template text."""

    def refuse(self, node: nodes.Node, code: str, message: str) -> None:
        """Raise `TemplateError` at a node. Lint overrides it, notes `code` and goes on."""
        from .failures import excerpt_at, locate_node

        excerpt = excerpt_at(self._source, *locate_node(node, message, self._source))
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
        if template_syntax(other) != self.syntax:
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
        return OutputState(self._syntax.start(known), ())

    def _ask(self, node: nodes.Node, question: Callable[..., Any], *given: object) -> Any:
        """Ask the syntax; `None` where it refuses and lint goes on."""
        try:
            return question(*given)
        except PlacementError as refusal:
            self.refuse(node, "PF809", str(refusal))
            return None

    def _feed(self, state: OutputState, node: nodes.TemplateData) -> OutputState:
        """Return the state after the template's own text."""
        mode = self._ask(node, self._syntax.feed, state.mode, state.line, node.data)
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
        """Return the state where two branches meet."""
        if a == b:
            return a
        self._flush(a)  # what follows may begin with a line end, or with a value
        self._flush(b)
        pairs = zip(a.line, b.line, strict=False)
        common = [x for x, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]
        mode: str | None = a.mode
        if a.mode != b.mode:
            mode = self._ask(node, self._syntax.join, a.mode, b.mode)
        if mode is None:
            return a
        return OutputState(mode, a.line if a.line == b.line else (*common, UNKNOWN_TEXT))

    def _end(self, state: OutputState, node: nodes.Node) -> None:
        """Refuse to end a template or block inside a tag, fence or quotes."""
        self._ask(node, self._syntax.end, state.mode)
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
        """Return the state after one statement."""
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
            place = self._ask(child, self._syntax.place, state.mode, state.line) or ""
            # In plain text a line that begins with the author's own words is the template's line.
            if self.syntax == "txt" and place == "line" and any(type(p) is str for p in parts):
                place = "own"
            places.append(place)
            if not place.startswith(("url", "autolink")) and _RAW_URL.search(
                _with_marks(state.line)
            ):
                self.warn(child, "PF837", _RAW_URL_MESSAGE)
            # Two values in a row are one wildcard: a loop would make lines without end.
            if state.line[-1:] not in ((PRINTED_VALUE,), (UNKNOWN_TEXT,)) or self.syntax == "yaml":
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
                    escape, line = f"{self.syntax}.{place}", child.lineno
                    filtered = nodes.Filter(child, escape, [], [], None, None, lineno=line)
                    output.nodes[number] = filtered


def template_syntax(name: str) -> str:
    """Return the syntax of the template `name`, by its last ending before `.j2`."""
    return syntax_of(name.removesuffix(".j2").rpartition(".")[2])


def _not_allowed(node: nodes.Node) -> str | None:
    if isinstance(node, _ALLOWED):
        return None
    from .failures import OPERATOR_SIGNS

    kind = type(node).__name__
    if (sign := OPERATOR_SIGNS.get(kind)) is not None:
        has = "+ and - alone, and filters"
        return f'"{sign}" is not part of the template language; it has {has}'
    return f'"{kind.lower()}" is not part of the template language; it has {_TAGS} and filters'


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
