"""Load files of items or messages: a JSON list, `{"items": […]}`, one object, JSON Lines, or YAML.

The content tells the syntax; the name's ending decides only in doubt. One bad line or record costs
only itself (PF204).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from ..errors import Diagnostics, ItemError, ProfileError
from ..model import Item
from .records import load_records
from .strict_json import decode_json, report_repeated_keys
from .workspace import read_named

_SPACE = re.compile(r"[ \t\r\n]*")

_LINES = (".jsonl", ".ndjson")


class RecordKind(NamedTuple):
    """A kind of records that a file may list."""

    keys: tuple[str, ...]
    """An object with one of these is no record: its list is under this key."""
    fields: frozenset[str]
    """An object with one of these is a record."""
    way_out: str


ITEM_RECORDS = RecordKind(
    ("items",),
    frozenset({"content", "summary"}),
    "expected a list of items as JSON, JSON Lines or YAML; a text file is given by --file or --doc",
)

MESSAGE_RECORDS = RecordKind(
    ("messages", "history", "input", "contents"),
    frozenset({"role", "type"}),
    "expected a list of messages with role and content, as JSON, JSON Lines or YAML",
)

LocatedRecords = tuple[list[Any], Callable[[int], str]]
"""Records, and a function that names the place of one by its index."""


def load_messages(
    path: str, *, diagnostics: Diagnostics, workspace: str | os.PathLike[str]
) -> LocatedRecords:
    """Return the messages in a file, undecoded; raises `ItemError` as `load` does."""
    text, where = read_named(path, workspace=workspace, diagnostics=diagnostics)
    return parse_records(text, where=where, diagnostics=diagnostics, kind=MESSAGE_RECORDS)


def load_items(
    path: str, *, diagnostics: Diagnostics, workspace: str | os.PathLike[str]
) -> list[Item]:
    """Return the items in a file the user named, or on standard input (`-`).

    Raises `ItemError`, with file and line, when it cannot be read or is in no known syntax.
    """
    text, where = read_named(path, workspace=workspace, diagnostics=diagnostics)
    return parse_items(text, where=where, diagnostics=diagnostics)


def parse_items(text: str, *, where: str, diagnostics: Diagnostics) -> list[Item]:
    """Return the items in a text; the ending of its name, `where`, is a hint.

    Raises `ItemError` as `load` does.
    """
    records, locate = parse_records(text, where=where, diagnostics=diagnostics, kind=ITEM_RECORDS)
    return load_records(records, where=where, diagnostics=diagnostics, locate=locate)


def parse_records(
    text: str, *, where: str, diagnostics: Diagnostics, kind: RecordKind
) -> LocatedRecords:
    """Return the undecoded records in a text, and the function that names their places."""
    first = text.lstrip(" \t\r\n\ufeff")[:1]
    ending = os.path.splitext(where)[1].lower()
    if not first:
        return [], lambda index: where
    if ending in _LINES:
        return _json_lines(text, where, diagnostics, kind)
    if first not in "[{" or ending in (".yaml", ".yml"):
        return _yaml(text, where, diagnostics, kind)
    twice: dict[str, None] = {}
    try:
        value = decode_json(text, twice)
    except json.JSONDecodeError as exc:
        # "Extra data": a whole object, and more behind it. If it fills the first line: JSON Lines.
        if exc.msg == "Extra data" and first == "{" and _is_object(text.split("\n", 1)[0]):
            return _json_lines(text, where, diagnostics, kind)
        message = f"not valid JSON: {exc.msg} (column {exc.colno})"
        raise ItemError(message, where=f"{where}:{exc.lineno}") from None
    except (ValueError, RecursionError) as exc:
        raise ItemError(f"not valid JSON: {_reason(exc)}", where=f"{where}:1") from None
    report_repeated_keys(twice, diagnostics, where)
    offset = 0
    records, key = _list_of(value, where, diagnostics, kind)
    if key:
        found = re.search(rf'"{key}"\s*:\s*(?=\[)', text)
        offset = found.end() if found else len(text)
    return records, _Starts(text, offset, where).line


def _list_of(
    value: Any, where: str, diagnostics: Diagnostics, kind: RecordKind
) -> tuple[list[Any], str | None]:
    """Return the records in a decoded file, and the key that held them, if any."""
    if isinstance(value, list):
        return value, None
    if not isinstance(value, dict):
        raise ItemError(kind.way_out, where=f"{where}:1")
    if value.keys() & kind.fields:  # one record alone
        return [value], None
    key = next((key for key in kind.keys if key in value), None)
    if key is None:
        return [value], None
    if others := len(value) - 1:
        message = f"{others} other key{'s'[: others > 1]} beside {key}; ignored"
        diagnostics.add("PF201", message, where=where, severity="info")
    if not isinstance(value[key], list):
        raise ItemError(f"{key}: expected a list", where=f"{where}:1", field=key)
    return value[key], key


class _Starts:
    """Lines where the members of a JSON list begin, worked out when the first has to be named."""

    def __init__(self, text: str, offset: int, where: str) -> None:
        self._text, self._offset, self._where = text, offset, where
        self._lines: list[int] | None = None

    def line(self, index: int) -> str:
        if self._lines is None:
            self._lines = self._scan()
        if index < len(self._lines):
            return f"{self._where}:{self._lines[index]}"
        return f"{self._where}[{index}]"

    def _scan(self) -> list[int]:
        text, decoder, lines, line = self._text, json.JSONDecoder(), [], 1
        at = _after_space(text, self._offset)
        if text[at : at + 1] != "[":
            return [text.count("\n", 0, at) + 1]  # one object alone
        counted = 0
        while text[at : at + 1] in ("[", ","):
            at = _after_space(text, at + 1)
            line, counted = line + text.count("\n", counted, at), at
            try:
                at = _after_space(text, decoder.raw_decode(text, at)[1])
            except (ValueError, RecursionError):
                break
            lines.append(line)
        return lines


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _is_object(line: str) -> bool:
    try:
        return isinstance(decode_json(line, {}), dict)
    except (ValueError, RecursionError):
        return False


def _reason(exc: Exception) -> str:
    if isinstance(exc, RecursionError):
        return "nested too deeply"
    if isinstance(exc, json.JSONDecodeError):
        return exc.msg
    text = str(exc)
    if text.endswith(
        "is no number of JSON"
    ):  # ours; Python's own is about `sys.set_int_max_str_digits`
        return text
    return "a number of too many digits"


def _json_lines(
    text: str, where: str, diagnostics: Diagnostics, kind: RecordKind
) -> LocatedRecords:
    records: list[Any] = []
    numbers: list[int] = []
    bad = 0
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if not line.strip():
            continue
        twice: dict[str, None] = {}
        try:
            records.append(decode_json(line, twice))
            numbers.append(number)
            report_repeated_keys(twice, diagnostics, f"{where}:{number}")
        except (ValueError, RecursionError) as exc:
            bad += 1
            message = f"line skipped: not valid JSON: {_reason(exc)}"
            diagnostics.add("PF204", message, where=f"{where}:{number}")
    if bad and not records:
        raise ItemError(f"not one line is valid JSON; {kind.way_out}", where=f"{where}:1")
    return records, lambda index: f"{where}:{numbers[index]}"


def _yaml(text: str, where: str, diagnostics: Diagnostics, kind: RecordKind) -> LocatedRecords:
    from .. import yaml_reader as yamltext

    try:
        value, lines = yamltext.load_yaml_with_lines(text, where)
    except ProfileError as exc:
        raise ItemError(f"{exc.bare}; {kind.way_out}", where=exc.where) from None
    if value is None:
        return [], lambda index: where
    records, key = _list_of(value, where, diagnostics, kind)
    at = (key,) if key else ()
    return records, lambda index: f"{where}:{lines.get((*at, index), 1)}"
