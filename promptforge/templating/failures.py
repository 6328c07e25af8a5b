"""Failures of templates: the place of each, a message for the author, and the way out.

Three kinds: a template that cannot be read (`locate_mistake`), a node that is refused before it
runs (`locate_node`), and an exception of a template that runs (`explain_failure`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import jinja2
from jinja2 import nodes
from jinja2.debug import get_template_locals

from ..errors import Excerpt, TemplateError, did_you_mean, show_value, suggest_name
from ..files.access import read_utf8
from ..text.words import late_pattern
from ..yaml_reader import load_shipped_yaml
from .limits import FuelSpentError, fuel_spent_error

# A tag on one line, closed or not.
_TAG = late_pattern(r"\{[{%].*?(?:[}%]\}|$)")


def line_excerpt(source: str, line: int, message: str) -> Excerpt | None:
    """Return a line of `source` with the columns to mark, or `None` for a blank line.

    They are those of the word that `message` quotes, else of the only tag, else of the whole line.
    """
    lines = source.split("\n")
    if not 1 <= line <= len(lines) or not lines[line - 1].strip():
        return None
    text = lines[line - 1]
    for word in re.findall(r'"([^"]+)"', message)[:1]:
        found = re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text)
        if found:
            return Excerpt(line, text, found.start() + 1, found.end() + 1)
    tags = list(_TAG.finditer(text))
    if len(tags) == 1:
        return Excerpt(line, text, tags[0].start() + 1, tags[0].end() + 1)
    return Excerpt(line, text, len(text) - len(text.lstrip()) + 1, len(text.rstrip()) + 1)


# --- places of nodes ------------------------------------------------------------------------------


OPERATOR_SIGNS = {"Mul": "*", "Div": "/", "FloorDiv": "//", "Mod": "%", "Pow": "**"}
_OPENINGS = {
    "fence": r"^ {0,3}(`{3,}|~{3,})",
    "quotes": r'(?<!\\)(")',
    "HTML": r"(?:\A|\n\s*\n) {0,3}(<[^\s>]*)",
    "cannot begin or end": r"(<[^\s>]*)",
}
"""Keyword of a message → the opening delimiter it refers to."""


def node_offset(node: nodes.Node) -> int:
    """Return the offset of a node in its text."""
    # Jinja makes some nodes itself, without a token; then the first token inside tells.
    inside = (inner.lineno for inner in node.find_all(nodes.Node))
    offsets = (getattr(line, "offset", None) for line in chain([node.lineno], inside))
    return next((offset for offset in offsets if offset is not None), 0)


def word_after(text: str, start: int, before: str) -> tuple[int, int]:
    """Return offset and length of the word that follows the pattern `before` at `start`."""
    match = re.compile(before).match(text, start)
    if match is not None:
        start = match.end()
    word = re.compile(r"\w+").match(text, start)
    return start, len(word[0]) if word else 1


def word_length(text: str, start: int) -> int:
    """Return the length of the word, quoted text or sign at an offset."""
    match = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|\w+|\S").match(text, start)
    return len(match[0]) if match else 1


def blank_tags(text: str) -> str:
    """Return a template's own text, with every tag, value and comment blanked out by `_`."""
    tags = r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}"
    return re.sub(tags, lambda tag: re.sub(r"[^\n]", "_", tag[0]), text, flags=re.DOTALL)


def locate_node(node: nodes.Node, message: str, text: str) -> tuple[int, int]:
    """Return offset and length of the characters at a node that a `message` refers to."""
    start = node_offset(node)
    if isinstance(node, nodes.Template):  # left open at the end
        return _opening(message, text)
    # Jinja notes where an operation begins; its sign stands before the right side.
    if isinstance(node, nodes.BinExpr):
        sign = OPERATOR_SIGNS.get(type(node).__name__, "+")
        return max(text.rfind(sign, start, node_offset(node.right)), start), len(sign)
    if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr):
        return word_after(text, node_offset(node.node), r"\.\s*")
    if isinstance(node, nodes.Getattr):
        return word_after(text, start, r"\.\s*")
    if isinstance(node, nodes.Test):
        return word_after(text, start, r"is\s+(?:not\s+)?")
    if isinstance(node, nodes.Filter):
        return start, len(node.name)
    if not isinstance(node, nodes.TemplateData):
        return start, word_length(text, start)
    if "in double quotes" in message:
        return max(text.find("'", start), start), 1
    # A message about the template's own text quotes the part it means.
    quoted = re.match(r'"(.+?)" ', message)
    if quoted and quoted[1] in text[start:]:
        return text.find(quoted[1], start), len(quoted[1])
    return start, 1


def _opening(message: str, text: str) -> tuple[int, int]:
    """Return offset and length of the delimiter that is left open in the template's own text."""
    own = blank_tags(text)
    for word, pattern in _OPENINGS.items():
        if word in message and (found := list(re.finditer(pattern, own, re.MULTILINE))):
            return found[-1].start(1), len(found[-1][1])
    last = text.rfind("\n", 0, len(text.rstrip())) + 1
    return last, len(text.rstrip()) - last


# --- mistakes in tags -----------------------------------------------------------------------------

CLOSING_MARKS = {"{{": "}}", "{%": "%}", "{#": "#}"}
PAIRED_TAGS = ("if", "for", "block", "macro", "call", "filter", "with", "autoescape", "raw")
"""Tags that an end tag closes. So is `{% set x %}` without a value."""
KNOWN_TAGS = ("if", "elif", "else", "for", "set", "block", "extends", "include", "from", "macro")
_IN_TAG = late_pattern(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|[%}]\}|\{[{%#]")
_QUOTED_TEXT = late_pattern(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
_ENDRAW = late_pattern(r"\{%[-+]?\s*endraw\s*[-+]?%\}")
_WORD = late_pattern(r"&&|\|\||\"[^\"\n]*\"|'[^'\n]*'|\w+|\S")
_SPELT = {"elseif": "elif", "elsif": "elif", "elsf": "elif", "foreach": "for", "endfi": "endif"}
_ROLE_TAGS = ("chat", "message", "role", "completion")
_OPERATORS = {"&": "and", "&&": "and", "||": "or", "!": "not ", "=": "=="}
_FILE = Path(__file__).with_name("words.yaml")
_TABLE = load_shipped_yaml(read_utf8(_FILE), _FILE.name)[0]


def _by_word(part: str) -> dict[str, str]:
    """Return the words of a part of `words.yaml`, each with what stands for it here."""
    return {word: said for row, said in _TABLE[part].items() for word in row.split()}


_HABITS = _by_word("filters")


def unknown_filter(name: str, known: Iterable[str]) -> str:
    """Return the message about a filter that is not `known`."""
    hint = f"; {_HABITS[name]}" if name in _HABITS else suggest_name(name, known)
    return f'unknown filter "{name}"{hint}'


def not_in_language(kind: str) -> str:
    """Return the message about a kind of Jinja's nodes that templates have not."""
    tags = "it has if, for, set, block, extends, include, from … import, macro and filters"
    lacks = _TABLE["nodes"].get(kind, f'"{kind.lower()}"; {tags}')
    if kind in OPERATOR_SIGNS:
        lacks = f'"{OPERATOR_SIGNS[kind]}"; it has + and - alone, and filters'
    what, _, way_out = lacks.partition("; ")
    return f"{what} is not part of the template language; {way_out}"


class TemplateMistake(NamedTuple):
    """One mistake at a place of a template."""

    start: int
    length: int
    message: str
    new: str | None = None
    code: str = "PF801"


class TagSpan(NamedTuple):
    """One `{{ … }}`, `{% … %}` or `{# … #}`."""

    start: int
    end: int
    """Past its last character."""
    open: str
    word: str
    closed: bool

    def mistake(self, message: str) -> TemplateMistake:
        """Return a mistake that is the whole tag."""
        return TemplateMistake(self.start, self.end - self.start, message)


def locate_mistake(text: str, error: jinja2.TemplateSyntaxError) -> TemplateMistake:
    """Return the mistake that made `Environment.tree` fail with `error` for `text`."""
    message = str(error.message or "cannot be read").rstrip(".")
    at = getattr(error.lineno, "offset", 0)
    found = re.search(r"^(unexpected char .*) at (\d+)$", message, re.DOTALL)
    if found:
        message, at = found[1], int(found[2])
    elif "end of template" in message:
        at = len(text)
    # Tags after the offset have not been read by Jinja: they may well have mistakes of their own.
    tags = [tag for tag in _tags(text) if tag.start <= at]
    unclosed = next((tag for tag in tags if not tag.closed), None)
    if unclosed is not None:
        return _unclosed(text, unclosed)
    tag = next((tag for tag in tags if at < tag.end), None)
    offsets = [token.lineno.offset for token in getattr(error, "opened", ())]
    opened = [tag for tag in tags for offset in offsets if tag.start <= offset < tag.end]
    if tag is None and opened and "end of template" in message:
        word = opened[-1].word
        message = f"{{% {word} %}} is not closed; write {{% end{word} %}} where it ends"
        return opened[-1].mistake(message)
    if tag is not None and message.startswith(("Encountered unknown tag", "tag name expected")):
        around = [other for other in opened if other != tag]
        return _misplaced(text, tag, around) or _inside(text, tag, message, at)
    return _inside(text, tag, message, at)


def _tags(source: str) -> Iterator[TagSpan]:
    """Yield the tags in their order; one that is not closed ends with its line."""
    at = 0
    while (begin := re.compile(r"\{[{%#]").search(source, at)) is not None:
        start, mark = begin.start(), begin[0]
        name = ""
        if mark == "{%" and (word := re.compile(r"[-+]?\s*(\w*)").match(source, begin.end())):
            name = word[1]
        at = _end(source, begin.end(), mark)
        closed = at > 0
        if name == "raw" and closed:  # nothing in it is a tag
            endraw = _ENDRAW.search(source, at)
            if endraw is not None:
                name, at = "", endraw.end()
            else:
                closed, at = False, len(source)
        elif not closed:
            at = source.find("\n", start)
            if at < 0:
                at = len(source)
        yield TagSpan(start, at, mark, name, closed)


def _end(source: str, at: int, mark: str) -> int:
    """Return the offset past the end of the tag opened by `mark`, 0 if another begins first."""
    if mark == "{#":
        end = source.find("#}", at)
        return 0 if end < 0 else end + 2
    # Quoted text is skipped: it may hold what looks like the end.
    for found in _IN_TAG.finditer(source, at):
        if found[0] == CLOSING_MARKS[mark]:
            return found.end()
        if found[0][0] == "{" or found[0] in CLOSING_MARKS.values():
            return 0
    return 0


def _misplaced(source: str, tag: TagSpan, opened: list[TagSpan]) -> TemplateMistake | None:
    """Return the mistake of an unknown tag, or one that belongs to none around it, else `None`."""
    if tag.word.startswith("end") and tag.word[3:] in (*PAIRED_TAGS, "set"):
        return _wrong_end(source, tag, opened)
    if tag.word not in ("else", "elif"):
        return _no_tag(source, tag, opened)
    owners = ("if", "for") if tag.word == "else" else ("if",)
    if opened and opened[-1].word in owners:  # a second `else`, or an `elif` after it
        written = re.compile(r"[-+]?\s*(else\s+if)\b").match(source, tag.start + 2)
        if written:
            return _else_if(written.start(1), len(written[1]))
        return _word(source, tag, f"{{% {tag.word} %}} stands after {{% else %}}, which comes last")
    message = f"{{% {tag.word} %}} stands in no {{% if %}}{_opened(source, opened)}"
    return _word(source, tag, message)


def _unclosed(source: str, tag: TagSpan) -> TemplateMistake:
    close = CLOSING_MARKS[tag.open]
    if tag.word == "raw" and _end(source, tag.start + 2, tag.open):
        return tag.mistake("{% raw %} is not closed; write {% endraw %} where it ends")
    if tag.open == "{#":
        message = f"the comment that begins here is not closed; write {close} where it ends"
        return TemplateMistake(tag.start, 2, message)
    rest = source[tag.start + 2 : tag.end]
    # A quote that is left after all whole texts are blanked out has no end.
    bare = _QUOTED_TEXT.sub(lambda quoted: "_" * len(quoted[0]), rest)
    quote = re.search(r"[\"']", bare)
    if quote:
        return _quote(tag.start + 2 + quote.start(), quote[0])
    wrong = re.search(r"%\s*\}|\}\s*\}|\}|%(?=\s*$)", bare)
    if wrong:
        message = f"{tag.open} ends with {wrong[0]} here; write {close}"
        return TemplateMistake(tag.start, 2 + wrong.end(), message)
    message = f"{tag.open} is not closed; write {close} where it ends"
    return TemplateMistake(tag.start, 2 + len(rest.rstrip()), message)


def _quote(at: int, mark: str) -> TemplateMistake:
    message = f"the text that begins with this {mark} is not closed; write {mark} where it ends"
    return TemplateMistake(at, 1, message)


def _wrong_end(source: str, tag: TagSpan, opened: list[TagSpan]) -> TemplateMistake:
    if any(other.word == tag.word[3:] for other in opened):
        inner = opened[-1]
        line = _line(source, tag)
        return inner.mistake(
            f"{{% {inner.word} %}} is not closed before the {{% {tag.word} %}} of line {line};"
            f" write {{% end{inner.word} %}} before that"
        )
    return _word(source, tag, f"{{% {tag.word} %}} closes nothing{_opened(source, opened)}")


def _opened(source: str, opened: list[TagSpan]) -> str:
    if not opened:
        return "; take it out, or write what it belongs to before it"
    word, line = opened[-1].word, _line(source, opened[-1])
    return f"; open is the {{% {word} %}} of line {line}, which {{% end{word} %}} closes"


def _no_tag(source: str, tag: TagSpan, opened: list[TagSpan]) -> TemplateMistake:
    ends = [f"end{other.word}" for other in opened]
    message = f'there is no tag "{tag.word}"'
    if tag.word in ("end", "") and opened:
        return _word(source, tag, f"{message}; {{% {ends[-1]} %}} closes what is open here")
    if tag.word.removeprefix("end") in _ROLE_TAGS:
        way_out = (
            "`promptforge prompt` makes messages, each text by prompt/SET/system.txt.j2 and so on"
        )
        return _word(source, tag, f"{message}; {way_out}")
    known = _SPELT.get(tag.word)
    if known is None:
        return _word(source, tag, message + suggest_name(tag.word, [*KNOWN_TAGS, *ends]))
    # Of these only `elif` is beyond doubt; `foreach` may need other words than `for`.
    new = {"elif": known}.get(known)
    return _word(source, tag, f'{message}; did you mean "{known}"?', new)


def _word(source: str, tag: TagSpan, message: str, new: str | None = None) -> TemplateMistake:
    start = source.find(tag.word, tag.start + 2) if tag.word else tag.start
    return TemplateMistake(start, len(tag.word) or 2, message, new)


def _line(source: str, tag: TagSpan) -> int:
    return source.count("\n", 0, tag.start) + 1


def _inside(source: str, tag: TagSpan | None, message: str, at: int) -> TemplateMistake:
    """Return the mistake in the words of a tag, or in the text outside of all tags."""
    here = _WORD.match(source, at)
    word = here[0] if here else ""
    length = max(1, len(word))
    found = re.match(r"block '(.*)' defined twice", message)
    if found:
        twice = f'the block "{found[1]}" is there twice; a name stands for one place'
        return TemplateMistake(at, length, twice)
    if tag is None:
        return TemplateMistake(at, length, _plain(message))
    brackets = r"unexpected '[%}]'|expected token '[,)\]]|expected '[)\]]"
    if re.search(brackets, message) and (bracket := _bracket(source, tag)) is not None:
        return bracket
    mistake = _sign(source, tag, at, word)
    if mistake is not None:
        return mistake
    if tag.word == "for" and "expected token 'in'" in message:
        example = "{% for item in items %}"
        return TemplateMistake(at, len(word), f'"{word}" stands where a loop says in: {example}')
    if "unexpected end" in message or word in ("}", "%"):
        return tag.mistake("something is missing at the end of this tag")
    return TemplateMistake(at, length, _plain(message))


def _else_if(start: int, length: int) -> TemplateMistake:
    return TemplateMistake(start, length, "write elif for else if", "elif")


def _sign(source: str, tag: TagSpan, at: int, word: str) -> TemplateMistake | None:
    """Return the mistake if the word or sign at `at` is another language's."""
    if tag.word == "else" and word == "if":
        start = source.rindex("else", tag.start, at)
        return _else_if(start, at + 2 - start)
    if word.startswith("|") and source[at - 1 : at + 1] == "||":  # Jinja stops at the second
        at, word = at - 1, "||"
    if word in _OPERATORS and (word != "=" or tag.word in ("if", "elif", "")):
        new = _OPERATORS[word]
        why = f"write {new.strip()}"
        if word == "=":
            why = "to compare, write =="
        return TemplateMistake(
            at, len(word), f"{word} is no part of the template language; {why}", new
        )
    if word in ('"', "'"):
        return _quote(at, word)
    sigil = re.compile(r"\{\{\s*[$#/>^!@.&{]").match(source, tag.start)
    if sigil is not None and (sigil[0] == "{{{" or at < sigil.end()):
        message = "{{ name }} prints a value here, and {% if … %} and {% for … in … %} choose and"
        message = f"{sigil[0]} is of another template language; {message} repeat"
        return TemplateMistake(tag.start, len(sigil[0]), message)
    before = re.search(r"\bis(\s+not)?\s*\Z", source[tag.start : at])
    if before is not None and word[:1] in ('"', "'"):
        sign = "!=" if before[1] else "=="
        message = f"is asks what sort of value this is; to compare with a text, write {sign}"
        return TemplateMistake(tag.start + before.start(), len(before[0].rstrip()), message, sign)
    if word and word[0] in "“”„«»‘’‚":
        return TemplateMistake(at, 1, f"{word[0]} is no quote to a template; write \" or '")
    return None


def _bracket(source: str, tag: TagSpan) -> TemplateMistake | None:
    opened: list[int] = []
    marks = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|[()\[\]]")
    for found in marks.finditer(source, tag.start, tag.end - 2):
        if found[0] in "([":
            opened.append(found.start())
        elif found[0] in ")]" and opened:
            opened.pop()
    if not opened:
        return None
    mark = source[opened[-1]]
    close = {"(": ")", "[": "]"}[mark]
    return TemplateMistake(opened[-1], 1, f"{mark} is not closed; write {close} where it ends")


def _plain(message: str) -> str:
    """Return Jinja's own message, with tags as they are written."""
    message = message.rstrip(".")
    for name, mark in _TABLE["marks"].items():
        message = message.replace(f"'{name}'", f"'{mark}'").replace(name, mark)
    found = re.match(r"expected token '(.*)', got '(.*)'$", message)
    if found:
        tokens = _TABLE["tokens"]
        what = tokens.get(found[2], f'"{found[2]}"')
        return f"{what} stands where {tokens.get(found[1], found[1])} belongs"
    return re.sub(r"^unexpected (?:char )?'(.*)'$", r'"\1" does not belong here', message)


# --- names that are not there ---------------------------------------------------------------------

_NAMES_HERE = _by_word("names")


def unknown_name(name: str, known: Collection[str], fields: Collection[str] = ()) -> str:
    """Return the end of the message about a name that is none of `known`.

    These are the variables of a template, with the `fields` of its item, or the fields of a value.
    """
    meant = _NAMES_HERE.get(name)
    if name == "loop":
        return "; a loop has it: a page numbers items by {{ loop.index }}. {{ item.text }}"
    if name in known:  # a variable of the template that uses the macro
        return f"; a macro sees its own values alone, so give it {name} as one"
    if name in fields:
        return f'; did you mean "item.{name}"?'
    if meant in known:
        return f'; here it is "{meant}"'
    if "metadata" in known and not did_you_mean(name, known):
        return f"; what an item alone knows is in its metadata: item.metadata.{name}"
    return suggest_name(name, known)


# --- exceptions of a running template -------------------------------------------------------------

_PATH = late_pattern(r"(?<![\w.|])(?<!\| )[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
MAX_VALUES_SHOWN = 6
MAX_VALUE_CHARS_SHOWN = 60
KINDS = _by_word("types")


def missing_parent(message: str, name: str, source: str, parent: str) -> TemplateError:
    """Return the error, at its place in a template, about another that is not there."""
    place = max(source.find(f'"{parent}"'), source.find(f"'{parent}'"), -1) + 1
    line = Excerpt.at(source, place, len(parent))
    return TemplateError(message, where=f"{name}:{line.line}", excerpt=line)


def explain_failure(
    error: Exception, template: jinja2.Template, variables: Mapping[str, Any]
) -> TemplateError:
    """Return the `TemplateError` for any exception that `template` raised, given `variables`."""
    if isinstance(error, TemplateError) and error.where:
        return error
    where = template.name or "<template>"
    # The error may have come up in a template that this one includes or extends.
    trace: TracebackType | None = error.__traceback__
    seen = variables
    while trace is not None:
        # As Jinja's own tracebacks do: the innermost template is the last one of the trace.
        running = trace.tb_frame.f_globals.get("__jinja_template__")
        if running is not None:
            where = f"{running.name}:{running.get_corresponding_lineno(trace.tb_lineno)}"
            seen = {**variables, **get_template_locals(trace.tb_frame.f_locals)}
        trace = trace.tb_next
    found = _explain(error, where, variables)
    name, _, line = where.partition(":")
    loader = template.environment.loader
    if line and loader is not None:
        source = loader.get_source(template.environment, name)[0]
        found.excerpt = line_excerpt(source, int(line), str(found))
        if found.excerpt and (values := _describe_values(found.excerpt.source, seen)):
            found.args = (f"{found} ({values})",)
    return found


def _explain(error: Exception, where: str, variables: Mapping[str, Any]) -> TemplateError:
    message = str(error).rstrip(".")
    if isinstance(error, FuelSpentError):
        return fuel_spent_error(error, where)
    if isinstance(error, jinja2.UndefinedError):
        message = str(error.message)
        match = re.match(r'unknown variable "(.*)"$', message)
        if match:
            message += unknown_name(match[1], variables, variables.get("item") or ())
        for pattern, plain in _TABLE["calls"].items():
            message = re.sub(pattern, plain, message)
    elif isinstance(error, jinja2.TemplateNotFound):
        message = f'there is no template "{error.name}"'
        message += "; a name is LAYOUT/PART.EXT.j2, as `list templates` shows them"
    elif isinstance(error, RecursionError):
        message = "a macro calls itself, or a template extends or includes itself"
        message += "; shipped/NAME is the original"
    elif isinstance(error, MemoryError):
        message = "too much memory for one text"
    elif isinstance(error, TemplateError):
        message = str(error)
    elif not isinstance(error, jinja2.TemplateSyntaxError):
        message = _explain_python_error(error)
    return TemplateError(message, where=where)


def _describe_values(line: str, variables: Mapping[str, Any]) -> str:
    shown: dict[str, str] = {}
    for tag in _TAG.findall(line):
        for path in _PATH.findall(_QUOTED_TEXT.sub('""', tag)):
            for name, value in _reached(path, variables):
                text = show_value(value)
                if len(text) > MAX_VALUE_CHARS_SHOWN:
                    text = f"{text[: MAX_VALUE_CHARS_SHOWN - 1]}…"
                shown.setdefault(name, f"{name} is {text}")
    parts = list(shown.values())
    if len(parts) > MAX_VALUES_SHOWN:
        parts[MAX_VALUES_SHOWN:] = ["…"]
    return ", ".join(parts)


def _reached(path: str, variables: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield path and value of a dotted path that leads to a plain value."""
    value: Any = variables
    for depth, name in enumerate(path.split(".")):
        if not isinstance(value, dict) or (name not in value and depth < 2):
            return
        value = value.get(name)  # metadata may have any key
    if isinstance(value, str):
        yield path, str.__str__(value)  # not of a class that prints itself otherwise
    elif value is None or isinstance(value, int | float | list):
        yield path, value


def _explain_python_error(error: Exception) -> str:
    message = str(error)
    # Python puts the names of types in single quotes.
    names = [KINDS.get(name, name) for name in re.findall(r"'(\w+)'", message)]
    if isinstance(error, TypeError):
        if "not supported between" in message and len(names) > 1:
            both = f"{names[-2]} and {names[-1]}"
            if "a number" in names[-2:] and "a text" in names[-2:]:
                return f"{both} cannot be compared; a number stands without quotes"
            return f"{both} cannot be compared; test `is not none` first"
        if "unsupported operand" in message or "concatenate" in message:
            return "+ and - take two numbers, and + two texts; ~ joins any two values"
        if "not iterable" in message and names:
            return f"{names[0]} is no list, and for needs one"
        for pattern, plain in _TABLE["calls"].items():
            if re.match(pattern, message):
                return re.sub(pattern, plain, message)
    if "unpack" in message:
        return "for takes one name: of fields the key, and fields[key] is the value"
    return f"cannot be worked out: {message} ({type(error).__name__})"
