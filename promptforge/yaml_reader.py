"""YAML text → plain data, safely: the only door to PyYAML.

It reads one document of the YAML 1.2 core schema: maps with text keys, lists, text, int, float,
bool, null. `no`, `off`, `2024-01-01`, `12:30` are text. Refused, with file and line: anchors and
aliases, merge keys, tags, a key given twice, keys that are no scalars, a second document, lone
surrogates, more than a megabyte, nesting past 50.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from .errors import ProfileError, quote
from .text.words import late_pattern

SCHEMA_MODELINE = "# yaml-language-server: $schema="
"""Beginning of a file's first line that tells editors the place of its schema."""
MAX_YAML_BYTES = 1 << 20
"""Longest text, in bytes of UTF-8."""
MAX_YAML_DEPTH = 50
"""Deepest nesting of lists and maps."""
MAX_YAML_VALUES = 50_000
"""Most values in one text: a megabyte of `- a` would take the scanner many seconds."""
_TOO_DEEP = f"nested deeper than {MAX_YAML_DEPTH}"

YamlPath = tuple[str | int, ...]
"""Keys and indexes from the root to a value."""
YamlLines = dict[YamlPath, int]
_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
# Zero width, direction and tag characters: no reader of the file sees them.
_INVISIBLE = late_pattern(
    "[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)


def load_yaml(text: str, where: str) -> Any:
    """Return the value of one YAML document; an empty one is `None`.

    Keys are always text, as written: `1: x` has the key `"1"`. `where` is the file's name for
    messages. Raises `ProfileError`, with `where` as `file:line`, for anything refused or not valid.
    """
    return load_yaml_with_lines(text, where)[0]


def load_shipped_yaml(text: str, where: str) -> tuple[Any, YamlLines]:
    """Do as `load_yaml_with_lines`, for a text of ours, at a tenth of the cost."""
    # The scanner in C dies on deep nesting, which is not in ours, and has other words for mistakes.
    try:
        builder = _Builder(where)
        return builder.value(yaml.compose(text, yaml.CSafeLoader), ()), builder.lines
    except (AttributeError, yaml.YAMLError):  # PyYAML may come without the scanner in C
        return load_yaml_with_lines(text, where)


def load_yaml_with_lines(text: str, where: str) -> tuple[Any, YamlLines]:
    """Return the value as `load_yaml` does, and path → line (from 1) of each key and member."""
    text = text.removeprefix("\ufeff")
    # The characters first: encoding a gigabyte only to refuse it would take a second one.
    if len(text) > MAX_YAML_BYTES or len(text.encode("utf-8", "surrogatepass")) > MAX_YAML_BYTES:
        raise ProfileError(
            f"longer than {MAX_YAML_BYTES} bytes; YAML of this size is not read", where=f"{where}:1"
        )
    loader: Any = None
    try:
        loader = _Loader(text)
        loader.name = where
        builder = _Builder(where)
        return builder.value(loader.get_single_node(), ()), builder.lines
    except ProfileError:
        raise
    except yaml.MarkedYAMLError as exc:
        line, column, said = _explained(exc, text)
        said = f"not valid YAML: {said}"
        raise ProfileError(said, where=f"{where}:{line}", column=column) from None
    except yaml.reader.ReaderError as exc:
        line = len(_LINE_END.split(text[: exc.position]))
        said = "a character"
        if isinstance(exc.character, int):
            said = f"the character U+{exc.character:04X}"
        said = f"not valid YAML: {said} is not allowed"
        raise ProfileError(said, where=f"{where}:{line}") from None
    except Exception as exc:  # hostile text may reach any error of the parser
        raise ProfileError(f"not valid YAML ({type(exc).__name__})", where=f"{where}:1") from None
    finally:
        if loader is not None:
            loader.dispose()


def find_places(text: str) -> dict[YamlPath, tuple[slice, slice]]:
    """Return path → the places of each key and its value in a text that `load_yaml` takes."""
    places: dict[YamlPath, tuple[slice, slice]] = {}
    waiting: list[tuple[YamlPath, Any]] = [((), yaml.compose(text, _Loader))]
    while waiting:
        path, node = waiting.pop()
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                places[*path, key.value] = _place_of(key), _place_of(value)
                waiting.append(((*path, key.value), value))
        elif isinstance(node, yaml.SequenceNode):
            waiting += [((*path, number), each) for number, each in enumerate(node.value)]
    return places


def _place_of(node: yaml.Node) -> slice:
    return slice(node.start_mark.index, node.end_mark.index)


def _explained(error: yaml.MarkedYAMLError, text: str) -> tuple[int, int, str]:
    """Return line and column of the begin of a mistake, and a plain message.

    The library tells where it noticed the mistake, in the words of its scanner.
    """
    problem, context = error.problem or error.context or "", error.context or ""
    mark = error.problem_mark or error.context_mark
    begin = error.context_mark or mark
    said = ascii(problem)[1:-1][:200]
    if mark is None or begin is None:
        return 1, 1, said
    lines = _LINE_END.split(text)
    before = "".join(lines[mark.line : mark.line + 1])[: mark.column]
    if "quoted scalar" in context and "end of stream" in problem:
        mark, said = begin, "the quote that begins here is not closed"
    elif "flow" in context and problem.startswith("expected ','"):
        opened = lines[begin.line][begin.column : begin.column + 1]
        said = f"a comma is missing here, or what closes the {opened} before it"
        if mark.line > begin.line or mark.column >= len(lines[mark.line]):
            mark, said = begin, f"the {opened} that begins here is not closed"
    elif problem.startswith("mapping values") and not re.search(r":\s", before):
        mark.column = len(before) - len(before.lstrip())
        said = _INDENTED_OTHERWISE
    elif "expected ':'" in problem:
        mark, said = begin, "a line that is no `key: value`"
    else:
        said = _reworded(problem) or said
    return mark.line + 1, mark.column + 1, said


_LINE_END = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
"""Line ends of YAML 1.1, by which the library counts."""
_INDENTED_OTHERWISE = "this line is indented otherwise than those that it belongs to"


def _reworded(problem: str) -> str | None:
    if "'\\t'" in problem:
        return "a tab; indent with blanks"
    if problem.startswith("mapping values"):
        return "a text with a colon and a blank in it goes into double quotes"
    found = re.match(r"found unknown escape character '(.*)'", problem)
    if found:
        escape = ascii(f"\\{found[1]}")[1:-1].replace("\\\\", "\\")
        return f"{escape} means nothing in double quotes; write two backslashes"
    if "another document" in problem:
        return "a second document; one file holds one"
    if problem.startswith("expected <block end>"):
        return _INDENTED_OTHERWISE
    return None


def find_invisible(text: str) -> list[tuple[int, str]]:
    """Return (line, `U+200B`) for each invisible character, in comments as well."""
    return [
        (number, f"U+{ord(found):04X}")
        for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1)
        for found in _INVISIBLE.findall(line)
    ]


def _refusal(message: str, where: str, mark: yaml.Mark) -> ProfileError:
    return ProfileError(message, where=f"{where}:{mark.line + 1}", column=mark.column + 1)


class _Loader(yaml.SafeLoader):
    """The scanner in Python: the one in C dies on deep nesting.

    It refuses deep brackets early, because looking ahead for their ends takes quadratic time.
    """

    values = depth = 0
    """`values` read so far; `depth` of open lists and maps."""

    def fetch_flow_collection_start(self, kind: Any) -> None:
        if self.flow_level > MAX_YAML_DEPTH:
            raise _refusal(_TOO_DEEP, self.name, self.get_mark())
        super().fetch_flow_collection_start(kind)

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        self.values += 1
        if self.values > MAX_YAML_VALUES:
            raise _refusal(f"more than {MAX_YAML_VALUES} values", self.name, event.start_mark)
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            said = "anchors and aliases (& and *) are not read; write the value out"
            raise _refusal(said, self.name, event.start_mark)
        if event.tag is not None:
            said = "tags (!) are not read; write plain text, numbers, lists and maps"
            raise _refusal(said, self.name, event.start_mark)
        if self.depth >= MAX_YAML_DEPTH and not isinstance(event, yaml.ScalarEvent):
            raise _refusal(_TOO_DEEP, self.name, event.start_mark)
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


class _Builder:
    """Builds the value and its lines from the nodes of a document."""

    def __init__(self, where: str) -> None:
        self.lines: YamlLines = {(): 1}
        self._where = where

    def value(self, node: Any, path: YamlPath) -> Any:
        if node is None:  # an empty text
            return None
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        if isinstance(node, yaml.SequenceNode):
            members = []
            for number, each in enumerate(node.value):
                self.lines[*path, number] = each.start_mark.line + 1
                members.append(self.value(each, (*path, number)))
            return members
        made: dict[str, Any] = {}
        for key_node, value in node.value:
            key = self._key(key_node, made, path)
            self.lines[*path, key] = key_node.start_mark.line + 1
            made[key] = self.value(value, (*path, key))
        return made

    def _key(self, node: Any, made: dict[str, Any], path: YamlPath) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise _refusal(
                "a key must be one word or text, not a list or a map", self._where, node.start_mark
            )
        key = self._text(node)
        if key == "<<" and not node.style:
            raise _refusal(
                "merge keys (<<) are not read; write the values out", self._where, node.start_mark
            )
        if key in made:
            first = self.lines[*path, key]
            said = f"the key {quote(key)} is there twice, first in line {first}; take one out"
            raise _refusal(said, self._where, node.start_mark)
        return key

    def _text(self, node: Any) -> str:
        value: str = node.value
        if value.isascii():
            return value
        try:  # "\ud83d\ude00", as JSON writes an emoji, is one character
            return value.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            said = "half of a surrogate pair is not a character"
            raise _refusal(said, self._where, node.start_mark) from None

    def _scalar(self, node: Any) -> Any:
        text: str = node.value
        if node.style:
            return self._text(node)
        # Without quotes alone: `"true"` and `"12"` are texts, whatever they spell.
        if text in _WORDS:
            return _WORDS[text]
        if len(text) <= 100:  # longer ones are text: no option has such a number
            if _INT.fullmatch(text):
                return int(text)
            if text.startswith(("0o", "0x")) and re.fullmatch(r"0o[0-7]+|0x[0-9a-fA-F]+", text):
                return int(text, 0)
            if _FLOAT.fullmatch(text):
                return float(text)
        return self._text(node)
