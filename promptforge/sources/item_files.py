"""Load files of items or messages: a JSON list, `{"items": […]}`, one object, JSON Lines, or YAML.

The content tells the syntax; the name's ending decides only in doubt. JSON is decoded strictly. One
bad line or record costs only itself (PF204).

Codes: PF201 keys beside the list, PF204 a line left out, PF211 a key that an object has twice.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection
from functools import cache
from typing import Any, NamedTuple

from .. import yaml_reader
from ..errors import Diagnostics, ItemError, ProfileError, list_names, quote
from ..files import YAML_SUFFIXES
from ..files.access import StrPath
from ..model import Item
from .intended import TEXT_FIELDS, has_keys_of_a_job, is_page
from .records import load_records
from .shapes import (
    ITEM_FIELDS,
    find_shape,
    has_keys_of_errors,
    open_answer,
    search_inside,
    unknown_columns,
)
from .workspace import BinaryFileError, read_named

MAX_KEYS_SHOWN = 3
"""Repeated keys that a message names."""
_SPACE = re.compile(r"[ \t\r\n]*")
_NOT_A_NUMBER = "is not a JSON number"
LocatedRecords = tuple[list[Any], Callable[[int], str]]
"""Records, and a function that names the place of one by its index."""


class NoItemsError(ItemError):
    """A file that is read, and is one object that is no item, such as `package.json`."""

    keys: Collection[object] = ()
    """Those of the object."""


class _RecordKind(NamedTuple):
    list_keys: tuple[str, ...]
    """An object with one of these is no record: its list is under this key."""
    fields: frozenset[str]
    """An object with one of these is a record."""
    expected: str


_ITEMS = _RecordKind(
    ("items",),
    frozenset({"content", "summary"}),
    "expected a list of items as JSON, JSON Lines or YAML",
)
_MESSAGES = _RecordKind(
    ("messages", "history", "input", "contents"),
    frozenset({"role", "type"}),
    "expected a list of messages with role and content, as JSON, JSON Lines or YAML",
)


def load_items(path: str, *, diagnostics: Diagnostics, workspace: StrPath) -> list[Item]:
    """Return the items in a file the user named, or on standard input (`-`).

    Raises `ItemError`, with file and line, when it cannot be read or is in no known syntax.
    """
    try:
        text, where = read_named(path, workspace=workspace, diagnostics=diagnostics, whole=True)
    except BinaryFileError as error:
        hint = "" if ";" in error.bare else "; export it as JSON Lines or CSV"
        raise ItemError(f"{error.bare}{hint}", where=error.where) from None
    return parse_items(text, where=where, diagnostics=diagnostics)


def parse_items(text: str, *, where: str, diagnostics: Diagnostics) -> list[Item]:
    """Return the items in a text; the ending of its name, `where`, is a hint.

    Raises `ItemError` as `load_items` does, and `NoItemsError` for one object that is no item.
    """
    may_be_page = text.startswith(("#", "\ufeff#")) and not where.lower().endswith(YAML_SUFFIXES)
    if may_be_page and is_page(text):
        raise ItemError(f"a page of Markdown; {_ITEMS.expected}", where=f"{where}:1")
    records, locate = _RecordFile(text, where, diagnostics, _ITEMS).read()
    if not records:
        diagnostics.add("PF115", "holds no items", where=where, severity="info")
    return load_records(records, where=where, diagnostics=diagnostics, locate=locate)


_MANIFEST = frozenset({"apiVersion", "kind"})
"""Keys of what `kubectl get -o yaml` prints; the `items` of its lists have no texts."""


def _is_no_record(record: dict[str, Any]) -> bool:
    """Tell whether an object alone is no item and no response of a store.

    `package.json` has a `description`, which is the text of many stores' records.
    """
    if not record.keys().isdisjoint(TEXT_FIELDS):
        return False
    if record.keys() >= _MANIFEST:
        return True
    if ITEM_FIELDS.issuperset(record) or unknown_columns(list(map(str, record))) == []:
        return False
    if find_shape(record) is not None or open_answer(record) is not None:
        return False
    inside = search_inside(record)
    return inside is None or sum(map(len, inside.searches)) < 2


def load_messages(path: str, *, diagnostics: Diagnostics, workspace: StrPath) -> LocatedRecords:
    """Return the messages in a file, unread; raises `ItemError` as `load_items` does."""
    text, where = read_named(path, workspace=workspace, diagnostics=diagnostics, whole=True)
    return _RecordFile(text, where, diagnostics, _MESSAGES).read()


class _RecordFile(NamedTuple):
    text: str
    where: str
    diagnostics: Diagnostics
    kind: _RecordKind

    def read(self) -> LocatedRecords:
        first = self.text.lstrip(" \t\r\n\ufeff")[:1]
        ending = os.path.splitext(self.where)[1].lower()
        if not first:
            return [], lambda index: self.where
        if ending in (".jsonl", ".ndjson"):
            return self._read_json_lines()
        # A YAML list in flow style may begin as JSON does: there the ending decides.
        if first not in "[{" or ending in YAML_SUFFIXES:
            return self._read_yaml()
        repeated: dict[str, None] = {}
        try:
            value = parse_json(self.text, repeated, self.where, lenient=self.kind is _ITEMS)
        except ItemError as error:
            # "Extra data": a whole object, and more behind it. If it fills a line: JSON Lines.
            whole = first == "{" and getattr(error.__cause__, "msg", "") == "Extra data"
            if whole and _is_object(self.text.split("\n", 1)[0]):
                return self._read_json_lines()
            if whole and (found := self._read_joined()) is not None:
                return found
            raise
        report_repeated_keys(repeated, self.diagnostics, self.where)
        records, key = self._find_list(value)

        @cache  # worked out only when a member has to be named
        def lines() -> tuple[list[int], Counter[int]]:
            found = _member_lines(self.text, key)
            return found, Counter(found)

        def locate(index: int) -> str:
            found, members = lines()
            if index >= len(found):
                return f"{self.where}[{index}]"
            place = f"{self.where}:{found[index]}"
            # Programs write all members on one line.
            return f"{place}[{index}]" if members[found[index]] > 1 else place

        return records, locate

    def _find_list(self, value: Any) -> tuple[list[Any], str | None]:
        if isinstance(value, list):
            return value, None
        if not isinstance(value, dict):
            raise ItemError(self.kind.expected, where=f"{self.where}:1")
        key = next((key for key in self.kind.list_keys if key in value), None)
        if value.keys() & self.kind.fields or value.keys() >= _MANIFEST:
            key = None
        if key is None:  # one record alone
            if self.kind is _ITEMS and _is_no_record(value):
                message = f"holds no items; {self.kind.expected}"
                if has_keys_of_errors(value):
                    shown = quote(json.dumps(value), 120)
                    message = f"the error of a store or server, and no items: {shown}"
                    raise ItemError(message, where=f"{self.where}:1")
                error = NoItemsError(message, where=self.where)
                error.keys = [*value]
                raise error
            return [value], None
        others = len(value) - 1
        if others:
            keys = "other key" if others == 1 else "other keys"
            message = f"{others} {keys} beside {key}; ignored"
            if self.kind is _ITEMS and has_keys_of_a_job(value.keys() - {key}):
                message += f"; `--job {shlex.quote(self.where)}` reads a job"
            self.diagnostics.add("PF201", message, where=self.where, severity="info")
        if not isinstance(value[key], list):
            raise ItemError(f"{key}: expected a list", where=f"{self.where}:1", field=key)
        return value[key], key

    def _read_json_lines(self) -> LocatedRecords:
        records: list[Any] = []
        places: list[str] = []
        failed = False
        for number, line in enumerate(self.text.removeprefix("\ufeff").split("\n"), 1):
            if not line.strip():
                continue
            where = f"{self.where}:{number}"
            repeated: dict[str, None] = {}
            try:
                records.append(decode_json(line, repeated, lenient=self.kind is _ITEMS))
            except (ValueError, RecursionError) as exc:
                failed = True
                message = f"line skipped: not valid JSON: {explain_json_error(exc)}"
                self.diagnostics.add("PF204", message, where=where)
                continue
            places.append(where)
            report_repeated_keys(repeated, self.diagnostics, where)
        # Of a broken file the good lines count; of a file of another syntax there are none.
        if failed and not records:
            message = f"not one line is valid JSON; {self.kind.expected}"
            raise ItemError(message, where=f"{self.where}:1")
        return records, places.__getitem__

    def _read_joined(self) -> LocatedRecords | None:
        """Return objects that follow one another over many lines, as `jq` prints them."""
        records, lines, repeated = [], [], dict[str, None]()
        decoder, at = json.JSONDecoder(object_pairs_hook=_members_into(repeated)), 0
        line, counted = 1, 0
        while (at := _after_space(self.text, at)) < len(self.text):
            line, counted = line + self.text.count("\n", counted, at), at
            lines.append(line)
            try:
                value, at = decoder.raw_decode(self.text, at)
            except (ValueError, RecursionError):
                return None
            records.append(value)
        report_repeated_keys(repeated, self.diagnostics, self.where)
        return records, lambda index: f"{self.where}:{lines[index]}"

    def _read_yaml(self) -> LocatedRecords:
        try:
            value, lines = yaml_reader.load_yaml_with_lines(self.text, self.where)
        except ProfileError as exc:
            raise ItemError(f"{exc.bare}; {self.kind.expected}", where=exc.where) from None
        # A search that failed leaves a null; a file of comments alone was meant to be empty.
        if value is None and not _is_null(self.text):
            return [], lambda index: self.where
        records, key = self._find_list(value)
        above = (key,) if key else ()
        return records, lambda index: f"{self.where}:{lines.get((*above, index), 1)}"


def _is_null(text: str) -> bool:
    lines = map(str.strip, text.removeprefix("\ufeff").splitlines())
    return any(line and line[0] not in "#%" and line not in ("---", "...") for line in lines)


def _member_lines(text: str, key: str | None) -> list[int]:
    """Return the lines where the members of a list in JSON begin, the list of `key` if it has one.

    The decoder tells no places, so the members are decoded again, one by one.
    """
    decoder, lines, line = json.JSONDecoder(), [], 1
    at = 0
    if key:
        found = re.search(rf'"{key}"\s*:\s*(?=\[)', text)
        at = found.end() if found else len(text)
    at = _after_space(text, at)
    if text[at : at + 1] != "[":
        return [text.count("\n", 0, at) + 1]  # one object alone
    # Line ends are counted from the last member on: linear, however long the list is.
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


def parse_json(text: str, repeated: dict[str, None], where: str, *, lenient: bool = False) -> Any:
    """Return the value of a JSON file as `decode_json` does; raises `ItemError` with its line."""
    try:
        return decode_json(text, repeated, lenient=lenient)
    except (ValueError, RecursionError) as exc:
        message, line = f"not valid JSON: {explain_json_error(exc)}", 1
        if isinstance(exc, json.JSONDecodeError):
            message, line = f"{message} (column {exc.colno})", exc.lineno
        raise ItemError(message, where=f"{where}:{line}") from exc


def explain_json_error(exc: Exception) -> str:
    """Return the reason in an exception of a JSON decoder."""
    if isinstance(exc, RecursionError):
        return "nested too deeply"
    if isinstance(exc, json.JSONDecodeError):
        return exc.msg
    if str(exc).endswith(_NOT_A_NUMBER):
        return str(exc)
    return "a number of too many digits"  # Python's own words are about its settings


def decode_json(text: str | bytes, repeated: dict[str, None], *, lenient: bool = False) -> Any:
    """Return the value of a JSON text; lone surrogates are let through.

    Of two equal keys in one object the last counts, and the key is put into `repeated`: readers
    differ on them. Raises `ValueError`, unless `lenient` also for NaN and the infinities, and
    `RecursionError`.
    """
    refuse = None if lenient else refuse_constant  # Python writes NaN for a missing number
    return json.loads(text, parse_constant=refuse, object_pairs_hook=_members_into(repeated))


def _members_into(repeated: dict[str, None]) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            repeated.update((key, None) for key, count in counts.items() if count > 1)
        return found

    return members  # it sees all pairs; a decoded dict has lost the repeated ones


def refuse_constant(name: str) -> Any:
    """Refuse NaN and the infinities, which JSON does not have (`parse_constant`)."""
    raise ValueError(f"{name} {_NOT_A_NUMBER}")


def report_repeated_keys(repeated: dict[str, None], diagnostics: Diagnostics, where: str) -> None:
    """Report the keys that were there twice, if any (PF211)."""
    if repeated:
        named = list_names([*map(quote, repeated)], MAX_KEYS_SHOWN)
        message = f"twice in one object: {named}; the last of the values is taken"
        diagnostics.add("PF211", message, where=where)
