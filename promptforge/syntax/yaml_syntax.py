"""YAML 1.1, as `yaml.safe_load` reads it, and 1.2."""

from __future__ import annotations

import json
import math
import re
from json.encoder import encode_basestring
from typing import ClassVar

from ..errors import ProfileError
from ..text.escape import (
    INVISIBLE_CHARACTER,
    MAX_LABEL_CHARACTERS,
    SURROGATE,
    Content,
    Escape,
    Safe,
)
from ..text.format import to_text
from ..text.words import late_pattern
from .json_syntax import finite
from .syntax import (
    BRANCHES,
    IN_QUOTES,
    PRINTED_VALUE,
    Inside,
    LineParts,
    PlacementError,
    Syntax,
    ends_with_backslash,
    with_marks,
)

# A letter first, so no number, date or mark; no `: ` and no ` #`; no word with a meaning.
_YAML_PLAIN = late_pattern(
    r"(?!(?:y|n|yes|no|on|off|true|false|null|none)\Z)[A-Za-z_/][A-Za-z0-9_./()+-]*"
    r"(?: [A-Za-z0-9_./()+-]+)*",
    re.IGNORECASE,
)
# Characters that no reader takes as they are, and those that it takes for line ends.
_YAML_UNPRINTABLE = late_pattern("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_YAML_NO_LITERAL = late_pattern(f"[\x00-\x08\x0b-\x1f\ud800-\udfff]|{_YAML_UNPRINTABLE.pattern}")
_MAX_KEY_CHARACTERS = 256
"""A key of 1,024 characters or bytes is refused, unless a question mark stands before it."""
YAML_LITERAL_INDENTS = range(2, 25)
"""Columns at which a content may stand as a literal block."""


def _yaml_escape(match: re.Match[str]) -> str:
    char = match[0]
    if SURROGATE.match(char):
        return "\ufffd"
    code = ord(char)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _yaml_quoted(text: str) -> str:
    """Return a text in double quotes; in labels, invisible characters are escaped too."""
    quoted = encode_basestring(text)
    if text.isascii() and text.isprintable():
        return quoted
    if type(text) is Content:
        return _YAML_UNPRINTABLE.sub(_yaml_escape, SURROGATE.sub("\ufffd", quoted))
    return INVISIBLE_CHARACTER.sub(_yaml_escape, quoted)


def _yaml_key(text: str) -> str:
    quoted = _yaml_quoted(text)
    return quoted if len(quoted) <= _MAX_KEY_CHARACTERS else f"? {quoted} "


def _yaml_flow(value: object) -> str:
    if isinstance(value, str):
        return _yaml_quoted(value)
    if isinstance(value, dict):
        members = (f"{_yaml_key(to_text(k))}: {_yaml_flow(v)}" for k, v in value.items())
        return f"{{{', '.join(members)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_yaml_flow, value))}]"
    if isinstance(value, float) and math.isfinite(value):
        # YAML 1.1 has no float without a point: `1e+16` would be a text.
        number = repr(value)
        return number if "." in number else number.replace("e", ".0e")
    return json.dumps(finite(value))


def yaml_value(value: object) -> Safe:
    """Return a value as a scalar, or as a list or mapping on one line."""
    if isinstance(value, Safe):
        return value
    if (
        isinstance(value, str)
        and len(value) <= MAX_LABEL_CHARACTERS
        and _YAML_PLAIN.fullmatch(value)
    ):
        return Safe(value)
    return Safe(_yaml_flow(value))


def yaml_string(value: object) -> Safe:
    """Return a value for the inside of double quotes."""
    return Safe(_yaml_quoted(str.__str__(to_text(value)))[1:-1])


def yaml_block(indent: int) -> Escape:
    """Return the escape of a value after a key, with the lines of a content at column `indent`."""
    margin = " " * indent

    def block(value: object) -> Safe:
        """Return a content of several lines as a literal block, any other value as a scalar."""
        if type(value) is not Content or "\n" not in value or not value.strip():
            return yaml_value(value)
        # Blank lines of the page after it would count as the content's own line ends, and some
        # readers lose a last line of blanks.
        last = value.removesuffix("\n").rpartition("\n")[2]
        if not last.strip(" \t") or _YAML_NO_LITERAL.search(value):
            return yaml_value(value)
        strip = "" if value.endswith("\n") else "-"
        lines = value.removesuffix("\n").split("\n")
        return Safe(f"|2{strip}\n" + "\n".join(line and margin + line for line in lines))

    return block


_GOES_ON = (
    "this value would go on with the text of the line above; put both into double quotes, or the"
    " value in a line that begins as far left as its list or mapping"
)
_YAML_MARK = late_pattern(r"""\\.|["'\n\[\]{}]|(?:(?<=\s)|^)#""", re.DOTALL)
_SCALAR_BEGINS = late_pattern(r"(?:^[ ]*(?:- +)*|: +|[\[{] *|, +|\? +)\Z")
_AFTER = late_pattern(r"[ \t]*(?:\n|\Z|[,\]}]|:(?:\s|\Z)| #)")
_LEAD = late_pattern(r" *(?:- +)*")
_KEY_ENDS = late_pattern(r":(?:\s+|(?=\0))")
_QUOTES_AND_BLOCKS = tuple("\"'[{|>")
_LINES = late_pattern(r"([|-]?)(\d+)|")
_BLOCK_KEY = late_pattern(r"( *(?:- +)*)([A-Za-z_][\w.-]*: +)?")


def _after_line(lines: str, mode: str, line: str) -> str:
    """Return what the next line may go on with; see `Yaml`."""
    lead = _LEAD.match(line)[0]  # type: ignore[index]
    text = line[len(lead) :].strip()
    if not text or text[0] == "#":
        return lines
    if line.startswith(("---", "...")):
        return ""
    found = _LINES.match(lines)
    goes_on = bool(lines) and _indent(line) >= int(found[2])  # type: ignore[index]
    if mode.strip("?#"):
        least = found[2] if found and found[2] else len(lead) + 1
        plain = mode.rstrip("#").endswith("[") and text[-1] not in "[{,:?"
        return f"{'-' if plain else '|'}{least}"
    if goes_on:
        return lines.replace("-", "|")
    if text[-1] == ":" or text in ("-", "?") or not text.strip("]},"):
        return ""
    key = _KEY_ENDS.search(text)
    if key:
        least, text = len(lead) + 1, text[key.end() :]
    elif "-" in lead:
        least = lead.rindex("-") + 1
    else:  # a value may be all of a page: lines beside it begin anew
        least = 0 if text.strip("\0") else len(lead) + 1
    return f"{'|' if text[:1] in _QUOTES_AND_BLOCKS else ''}{least}"


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


class Yaml(Syntax):
    """YAML. A mode says what the line may continue, then `?` if its beginning is unknown.

    A number: a line indented by as many blanks continues a plain scalar; after `|` it continues a
    quoted or block scalar. `-`: it continues a plain scalar in brackets. The rest of the mode is
    what is open: a `[` for each list or mapping in brackets, `"`, `'`, or `#` up to the line end.
    """

    name = "yaml"
    quotes_values = True
    sees_each_value = True
    is_trimmable = False  # the last line end may be one of a content: it ends a literal block
    places: ClassVar = {
        "value": yaml_value,
        "string": yaml_string,
        **{f"block{indent}": yaml_block(indent) for indent in YAML_LITERAL_INDENTS},
    }

    def start(self, known: bool) -> str:
        return "?"  # even of a template: it may be printed amid a line

    def feed(self, mode: str, line: LineParts, text: str) -> str:
        before = with_marks(line)
        lines, mode = self._parts(mode)
        if (
            line[-1:] == (PRINTED_VALUE,)
            and mode[-1:] not in ('"', "'", "#")
            and not _AFTER.match(text)
        ):
            raise PlacementError(IN_QUOTES)
        for found in _YAML_MARK.finditer(text):
            mark, so_far = found[0], before + text[: found.start()]
            closes = mode[-1:] == mark
            if mark == "\n":
                lines = _after_line(lines, mode, so_far.rpartition("\n")[2])
                mode = mode.removeprefix("?").removesuffix("#")
            elif mode[-1:] in ('"', "'", "#"):
                mode = mode[:-1] if closes and mark != "#" else mode
            elif mark in "]}":
                mode = mode.removesuffix("[")
            elif _SCALAR_BEGINS.search(so_far.rpartition("\n")[2]) or mark == "#":
                mode += "[" if mark in "[{" else mark
        return lines + mode

    @staticmethod
    def _parts(mode: str) -> tuple[str, str]:
        """Return what the line may go on with, and what is open."""
        found = _LINES.match(mode)
        lines = found[0] if found else ""
        return lines, mode[len(lines) :]

    def place(self, mode: str, line: LineParts) -> str:
        lines, mode = self._parts(mode)
        if mode.endswith("#"):
            raise PlacementError("a value cannot stand in a comment of YAML")
        if mode.endswith("'"):
            raise PlacementError('a value in quotes needs double ones: "… {{ value }} …"')
        before = with_marks(line)
        if mode.endswith('"'):
            if ends_with_backslash(before):
                raise PlacementError("a backslash before a value would make an escape; write two")
            return "string"
        if not _SCALAR_BEGINS.search(before):
            raise PlacementError(IN_QUOTES)
        begins = lines[:1] not in ("", "|") and _LEAD.fullmatch(before)
        if begins and (lines[0] == "-" or _indent(before) >= int(lines)):
            raise PlacementError(_GOES_ON)
        key = _BLOCK_KEY.fullmatch(before)
        if mode or key is None:
            return "value"
        # A content has its lines two columns inside of the key, or of the dash, before it.
        column = len(key[1]) + 2 if key[2] else len(key[1].rstrip()) + 1
        return f"block{column}" if column in YAML_LITERAL_INDENTS else "value"

    def join(self, a: str, b: str) -> str:
        (lines, a), (others, b) = self._parts(a), self._parts(b)
        if a.lstrip("?") != b.lstrip("?"):
            raise PlacementError(BRANCHES.format("quotes and brackets"))
        return self._stricter(lines, others) + max(a, b, key=len)

    @staticmethod
    def _stricter(a: str, b: str) -> str:
        """Return which of two refuses more values at the beginning of a line."""
        for first in ("-", "0123456789"):
            found = [lines for lines in (a, b) if lines[:1] in first and lines]
            if found:
                return min(found, key=lambda lines: int(lines.lstrip("-")))
        return max(a, b)

    def end(self, mode: str) -> None:
        if mode[-1:] in ('"', "'"):
            raise PlacementError("the quotes are not closed; close them where the text ends")

    def inside(self, text: str) -> Inside:
        # In quotes a backslash is written as two, in a block as one: here it is left as it is.
        return lambda place: False

    def printed_at_least(self, text: str, length: int) -> str | None:
        return None  # the margin of a block joins blanks of its lines

    def problem(self, text: str, ending: str) -> str | None:
        from ..yaml_reader import load_yaml

        try:
            load_yaml(text, "it")
        except ProfileError as error:
            return f"no YAML: {error}"
        return None


YAML = Yaml()
