"""Read records of any known shape as items. One bad record costs only itself.

A record goes through three steps: a caller's object becomes a dict, a dict of another system
becomes the fields of a native record (`shapes`), and these become an `Item`.

Codes: PF201 an unknown or missing field, PF202 a value of another type or range, PF203 metadata
that had to be made plain, PF204 records left out, PF214 numbers that contradict their order.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import is_dataclass, replace
from functools import partial
from math import isfinite
from numbers import Real
from typing import Any

import msgspec

from ..errors import Diagnostics, ItemError, Severity, did_you_mean, quote, type_name_of
from ..model import (
    BROKEN_SCORE,
    FAR,
    MAX_LINE_NUMBER,
    NO_SCORE,
    Item,
    LoadedItems,
    ScoreOrder,
    UnsoundMetadata,
    item_id,
)
from ..plain_data import MAX_MESSAGE_VALUES, WRITTEN_AS_TEXT, copy_plain, exact_str
from .native import MAX_RECORDS, guarded, read_flawless, read_native
from .objects import Row, fields_of, is_record, read_document, text_keys
from .readers import CONTENT_FIELDS, read_shape
from .shapes import (
    ITEM_FIELDS,
    Inside,
    describe,
    find_shape,
    is_failure,
    is_pair,
    open_answer,
    open_json,
    parse_number,
    read_page,
    read_titled,
    search_inside,
    text_of,
)

MAX_UNSIZED_RECORDS = 100_000
"""The same for an iterable without a length, which may have no end."""
_Fields = dict[str, Any]
_TEXT_FIELDS = ("content", "expanded", "summary", "id", "name", "path", "url", "language")
MAX_RECORDS_SAID = 10
"""Records left out that have a message each; the others are counted in one."""
MAX_NOTES_ALIKE = 3
"""Equal notes on records that are said one by one; of more, the first with their number."""
MAX_FILE_NAME_CHARACTERS = 200
_FILE_NAME = re.compile(r"\S+\.(?:jsonl?|ndjson|ya?ml|[ct]sv|parquet|md|txt|pdf|docx|html?|xml|py)")
_FUSION_CONSTANT = 60
"""Constant of reciprocal rank fusion: how little the very first ranks outweigh the next."""


def load_records(
    records: object,
    *,
    where: str,
    diagnostics: Diagnostics,
    locate: Callable[[int], str] | None = None,
) -> list[Item]:
    """Return the items of many records; a bad one is left out and noted (PF204).

    `records` is an iterable of what `to_item` takes, one such record, a table, or the response of
    a store. Several searches in it are interleaved by their ranks. `where` is a file or the name of
    an argument, so that the fourth record is `items[3]`. `locate` gives a better place
    (`file:line`) by index, and is called only for records with a message.

    Raises `ItemError` when `records` is no iterable of records at all, and when none is usable.
    """
    if type(records) is LoadedItems:
        diagnostics.extend(records.warnings)
        loaded = LoadedItems(load_records(list(records), where=where, diagnostics=diagnostics))
        loaded.listed = records.listed
        return loaded
    if type(records) is list and (items := read_flawless(records)) is not None:
        return items
    loading = _Loading(diagnostics)
    alone: list[Item] = []
    for index, record in enumerate(_each(records, where, diagnostics)):
        item = read_native(record)
        if item is not None:
            alone.append(item)
            continue
        place = partial(locate or f"{where}[{{}}]".format, index)
        searches = record.searches if type(record) is Inside else open_answer(record)
        if searches is None:
            loading.convert(record, place(), alone)
            continue
        for search in searches:
            found: list[Item] = []
            for number, hit in enumerate(search):
                item = read_native(hit)
                if item is not None:
                    found.append(item)
                else:
                    loading.convert(hit, f"{place()}[{number}]", found)
            loading.searches.append(found)
    return loading.finish(alone)


class _Loading:
    def __init__(self, diagnostics: Diagnostics) -> None:
        self._diagnostics = diagnostics
        self._said = Diagnostics()
        """Of the records, in their order; one message is enough where none is usable."""
        self.searches: list[list[Item]] = []
        self._failures: list[tuple[ItemError, object]] = []

    def convert(self, record: object, place: str, into: list[Item]) -> None:
        """Add the item of a record to a search, or keep the reason why it is none."""
        notes = Diagnostics()
        try:
            item = _convert(record, place, notes)
        except ItemError as error:
            self._read_inside(record, error, into)
            return
        self._said.extend(replace(note, item=item_id(item)) for note in notes)
        into.append(item)

    def _read_inside(self, record: object, error: ItemError, into: list[Item]) -> None:
        shape = find_shape(fields_of(record) or {})
        if shape is not None and shape.read == "frame":  # it has no text, and means none
            return
        inside = search_inside(record)
        found: list[list[Item]] = []
        notes = Diagnostics()
        for search in inside.searches if inside is not None else ():
            found.append([])
            for hit in search:
                try:
                    found[-1].append(to_item(hit, where=error.where, diagnostics=notes))
                except ItemError as inner:
                    notes.add("PF204", f"record skipped: {inner.bare}", where=inner.where)
        if inside is not None and any(found):
            message = f"records are read from {quote(inside.where)}, which no known shape has"
            if inside.others:
                message += f"; not from {', '.join(map(quote, inside.others))}"
            severity: Severity = "warning" if inside.others else "info"
            self._said.add("PF201", message, where=error.where, severity=severity)
            self._said.extend(notes)
            into.extend(found[0] if len(found) == 1 else interleave(found))
            return
        self._failures.append((error, record))
        if len(self._failures) <= MAX_RECORDS_SAID:
            self._said.add("PF204", f"record skipped: {error.bare}", where=error.where)

    def finish(self, alone: list[Item]) -> list[Item]:
        """Return all items, those of several searches interleaved; say which records are none.

        Raises `ItemError` when there were records and none is an item.
        """
        searches = [search for search in self.searches if search]
        if self._failures and not alone and not searches:
            error, record = self._failures[0]
            message = f"none of {len(self._failures)} records is usable"
            if len(self._failures) == 1:
                message = "the record is not usable"
            message = f"{message}: {error.bare}; found: {describe(record)}"
            message += _way_out(fields_of(record) or {})
            raise ItemError(message, where=error.where, field=error.field)
        _add_once(self._said, self._diagnostics)
        more = self._failures[MAX_RECORDS_SAID:]
        if more:
            places = ", ".join(str(error.where) for error, _ in more[:MAX_RECORDS_SAID])
            message = f"{len(self._failures)} records were skipped in all, also {places}"
            if len(more) > MAX_RECORDS_SAID:
                message += " and others"
            self._diagnostics.add("PF204", message)
        for search in (*searches, alone):
            _say_contradiction(search, self._diagnostics)
        if not searches:
            return alone
        return interleave([alone, *searches])


def _way_out(fields: _Fields) -> str:
    if "index" in fields:
        return "; an index alone: give pairs (your text, number)"
    if fields.keys().isdisjoint(("id", "_id")):
        return ""
    return (
        '; if the search left the texts out, ask for them: include=["documents"] in Chroma,'
        " include_metadata=True in Pinecone, with_payload=True in Qdrant, output_fields in Milvus"
    )


def _add_once(said: Diagnostics, diagnostics: Diagnostics) -> None:
    """Add what was said of records; of many alike notes the first, with their number."""
    count = Counter((one.code, one.message) for one in said if one.severity == "info")
    for one in said:
        alike = count.get((one.code, one.message), 1)
        if alike > MAX_NOTES_ALIKE:
            count[one.code, one.message] = 0
            one = replace(one, message=f"{one.message}; so of {alike - 1} more records")
        if alike:
            diagnostics.extend([one])


def interleave(searches: Sequence[list[Item]]) -> list[Item]:
    """Return the items of several searches or sources, found ones by reciprocal rank fusion.

    Numbers of different searches do not compare; ranks do. Named items come first, as they came.
    """
    found = [[item for item in search if item.origin == "similarity"] for search in searches]
    found = [search for search in found if search]
    if len(found) < 2:
        return [item for search in searches for item in search]
    named = [item for search in searches for item in search if item.origin != "similarity"]
    points: dict[str | None, float] = {}
    ranked: list[tuple[int, Item]] = []
    for search in found:
        search = sorted(search, key=lambda item: -item.relevance)
        for place, item in enumerate(search, 1):
            text = item.content or item.summary
            points[text] = points.get(text, 0) + 1 / (_FUSION_CONSTANT + place)
            ranked.append((place, item))
    # Of equals the better place, then the earlier search: sorting keeps that order.
    ranked.sort(key=lambda one: (-points[one[1].content or one[1].summary], one[0]))
    fused = [msgspec.structs.replace(item, score_order="given") for _, item in ranked]
    return [*named, *fused]


def _say_contradiction(search: list[Item], diagnostics: Diagnostics) -> None:
    """Say it where a store's numbers, by their documented meaning, put its best hit last."""
    ranks = [i.relevance for i in search if i.score_order != "given" and "score" in i.metadata]
    if len(ranks) > 1 and ranks[0] < ranks[-1] and ranks == sorted(ranks):
        word, other = "higher", "lower"
        if any(item.score_order == "lower" for item in search):
            word, other = other, word
        message = f"the first result has the worst score, if {word} is better"
        message = f"{message}; if it is the best, set score_order: {other}"
        diagnostics.add("PF214", message, severity="info")


def to_item(
    record: object, *, where: str | None = None, diagnostics: Diagnostics | None = None
) -> Item:
    """Return the item of one record.

    `record` is an `Item`, a mapping of any shape above, a document of LangChain, LlamaIndex or
    Haystack, or a pair of such a document and its score. `where` names its place in messages.
    Defaults and conversions are said in `diagnostics`.

    Raises `ItemError`, with `where` and `field`, when the record is no item. No other exception
    escapes, however the record behaves.
    """
    return read_native(record) or _convert(record, where, diagnostics)


def _convert(record: object, where: str | None, diagnostics: Diagnostics | None) -> Item:
    try:
        return _read(record, _Notes(where, diagnostics))
    except (ItemError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as exc:  # as in `guarded`
        message = f"a record that cannot be read: {type_name_of(exc)} while looking at it"
        raise ItemError(message, where=where) from None


class _Notes:
    """The place of one record (`file:line` or `items[3]`), joined to the diagnostics of the run."""

    def __init__(self, where: str | None, diagnostics: Diagnostics | None) -> None:
        self._where = where
        self._diagnostics = diagnostics

    def say(self, code: str, message: str, severity: Severity = "warning") -> None:
        if self._diagnostics is not None:
            self._diagnostics.add(code, message, where=self._where, severity=severity)

    def say_metadata(self, change: str) -> None:
        self.say("PF203", f"metadata: {change}")

    def refusal(self, field: str | None, message: str) -> ItemError:
        """Return (not raise) the error that says why this record is no item."""
        if field:
            message = f"{field}: {message}"
        return ItemError(message, where=self._where, field=field)


# ---- many records


def _each(records: Any, where: str, diagnostics: Diagnostics) -> Iterable[Any]:
    """Yield the records; an iterable that fails half way ends there, and that is said."""
    if issubclass(type(records), Mapping) and is_failure(records):
        shown = quote(json.dumps(copy_plain(records), ensure_ascii=False), 120)
        raise ItemError(f"the error of a store or server, and no items: {shown}", where=where)
    page = read_page(records)
    if page is not None:
        records = page
    elif not _is_plain(records) and (searches := open_answer(records)) is not None:
        records = [Inside("", searches)]  # a reader of a table gives its rows once only
    listed = _listed(records)
    if listed is None:
        raise _no_list(records, where)
    records = listed
    count = 0
    try:
        most, hint = MAX_RECORDS, ""
        if not isinstance(records, Sized):
            most, hint = MAX_UNSIZED_RECORDS, "; a list may hold more"
        for record in records:
            if count >= most:
                message = f"more than {most} records; the rest is left out{hint}"
                diagnostics.add("PF204", message, where=where)
                return
            count += 1
            yield record
    # GeneratorExit: the caller has stopped. It comes at `yield`, and is no failure of the records.
    except (KeyboardInterrupt, SystemExit, GeneratorExit, ItemError):
        raise
    except BaseException as exc:
        end = f"the records ended with {type_name_of(exc)} after {count}"
        message = f"{end}; what came before is kept"
        diagnostics.add("PF204", message, where=where, severity="error")


def _is_plain(records: Any) -> bool:
    """Tell whether these are a plain list of records, or one mapping, and no client's response."""
    # Of its type, never `isinstance`: an object may raise where its `__class__` is asked for.
    if issubclass(type(records), tuple) and fields_of(records):
        return False  # a row with names, such as the answer of a driver
    if type(records) is list and records and type(records[0]) is int:
        return False  # a plain answer of Redis begins with its number of hits
    return issubclass(type(records), list | tuple | Mapping)


def _no_list(given: object, where: str) -> ItemError:
    expected = "expected a list of items: objects with content or summary, or documents"
    if issubclass(type(given), set | frozenset):
        expected += "; a set has no order"
    elif issubclass(type(given), str) and exact_str(given)[:1] in ("[", "{"):  # type: ignore[arg-type]
        expected += "; a text of JSON is read by json.loads first"
    elif issubclass(type(given), str | bytes | os.PathLike):
        expected += "; promptforge.load reads a file, and [text] is a list of one item"
    else:
        expected += f"; found {type_name_of(given)}{_hint_of(type(given))}"
    return ItemError(expected, where=where)


@guarded
def _listed(records: Any) -> Iterable[Any] | None:
    kind = type(records)
    if issubclass(kind, tuple) and fields_of(records):
        return [records]
    if issubclass(kind, list | tuple):
        return records  # type: ignore[no-any-return]
    if issubclass(kind, dict) or isinstance(records, Mapping):
        inside = None if "content" in records else records.get("items")
        return inside if isinstance(inside, list | tuple) else [records]
    if kind is Item or hasattr(records, "page_content") or is_record(records):
        return [records]
    if isinstance(records, Iterable) and not issubclass(kind, str | bytes | set | frozenset):
        return records
    return None


# ---- one record as a dict


def _read(record: object, notes: _Notes) -> Item:
    if type(record) is Item:
        own = msgspec.structs.asdict(record)
        if type(record.metadata) is UnsoundMetadata:
            own["metadata"] = record.metadata.given
        return _build(own, notes)
    if issubclass(type(record), dict) or isinstance(record, Mapping):
        own = text_keys(record, notes.say)
        if type(record) is Row:
            own = Row(own)
    else:
        own = _read_document(record, notes)
    native = read_shape(own, notes)
    return read_native(native) or _build(native, notes)


def _read_document(given: object, notes: _Notes) -> _Fields:
    """Return the record of a text, an object, or a pair of a record and its number."""
    kind = type(given)
    if issubclass(kind, str):
        text = exact_str(given)  # type: ignore[arg-type]
        if len(text) < MAX_FILE_NAME_CHARACTERS and _FILE_NAME.fullmatch(text):
            message = f"the text is the name of a file, {quote(text)}; promptforge.load reads files"
            notes.say("PF202", message)
        return {"text": text}
    if issubclass(kind, bytes | bytearray):
        return {"text": given}
    if is_pair(given):
        return _read_pair(given, notes)
    titled = read_titled(given)
    if titled:
        return titled
    expected = "expected an object with the fields of an item"
    if not issubclass(kind, int | float | list | set | type | type(None)):
        if issubclass(kind, tuple):
            expected += ", such as a dict, or a pair (text, number)"
        elif found := read_document(given):
            return found
        fields = fields_of(given)
        if fields:
            return fields if _is_native(fields, kind) else Row(fields)
    raise notes.refusal(None, f"{expected}, found {type_name_of(given)}{_hint_of(kind)}")


def _hint_of(kind: type) -> str:
    """Return the end of a message about an object that holds no items, but leads to some."""
    if issubclass(kind, tuple):
        return "; a row without names is read as dict(zip(names_of_columns, row))"
    if issubclass(kind, os.PathLike):
        return "; promptforge.load reads files"
    if any(hasattr(kind, name) for name in ("invoke", "retrieve", "similarity_search")):
        return "; promptforge.integrations.bridge.retrieve(retriever, query) asks a retriever"
    return ": await it first" if hasattr(kind, "__await__") else ""


def _is_native(fields: _Fields, kind: type) -> bool:
    """Tell whether an object is an item of the user's own, and no result of a search.

    A dataclass is read as its dict is, and so is a content that is no text.
    """
    if not CONTENT_FIELDS & fields.keys():
        return False
    if {"meta", "metadata"} & fields.keys() or not fields.keys() - ITEM_FIELDS:
        return fields.keys() <= ITEM_FIELDS
    content = fields.get("content")
    return is_dataclass(kind) or (content is not None and text_of(content) is None)


def _read_pair(pair: Any, notes: _Notes) -> _Fields:
    # `tuple`'s own methods: a subclass may have others, which raise or lie.
    own: Any = list if issubclass(type(pair), list) else tuple
    inner, score = own.__getitem__(pair, slice(None))
    if isinstance(inner, Real):
        inner, score = score, inner  # some write the number first
    if issubclass(type(inner), dict) or isinstance(inner, Mapping):
        return {**text_keys(inner, notes.say), "score": score}
    if isinstance(inner, str) and inner.isascii() and len(inner.split()) < 2:
        message = f"the text of a pair is a single word, {quote(inner)}; an id alone is not content"
        notes.say("PF202", message)
    return {**_read_document(inner, notes), "score": score}


# ---- fields as an item

# Usual names of fields, for hints.
_NAMES_OF_OTHERS = {
    **dict.fromkeys(("text", "body", "document"), "content"),
    **dict.fromkeys(("source", "file", "filename"), "path"),
    **dict.fromkeys(("similarity", "relevance"), "score"),
    **{"title": "name", "lang": "language", "lineno": "start_line"},
}


def _build(fields: Mapping[str, Any], notes: _Notes) -> Item:
    """Return the item of native `fields`; a key that is no field is kept as metadata, and said.

    A value that cannot be read as its field's type is left out, and said. Raises `ItemError` when
    neither `content` nor `summary` is left.
    """
    texts = {name: _text(fields.get(name), name, notes) for name in _TEXT_FIELDS}
    metadata = _metadata(fields.get("metadata"), notes)
    for key in sorted(fields.keys() - ITEM_FIELDS):
        notes.say("PF201", f"unknown key {quote(key)}{_hint(key)}; kept as metadata")
        metadata.setdefault(key, copy_plain(fields[key], notes.say_metadata))
    # Trimming goes from `expanded` to `content`; without the shorter one there is no way down.
    if texts["content"] is None and texts["expanded"] is not None:
        notes.say("PF201", "content is missing; expanded is taken for it")
        texts["content"], texts["expanded"] = texts["expanded"], None
    if texts["content"] is None and texts["summary"] is None:
        message = "missing; an item needs content or summary, as text"
        message += next(filter(None, map(_hint, sorted(fields.keys() - ITEM_FIELDS))), "")
        given = fields.get("content")
        if given is not None:
            message = f"expected text, found {type_name_of(given)}"
        raise notes.refusal("content", message)
    start = _line(fields.get("start_line"), "start_line", notes)
    end = _line(fields.get("end_line"), "end_line", notes)
    if start is not None and end is not None and start > end:
        notes.say("PF202", f"end_line: {end} lies before start_line {start}; left out")
        end = None
    kind = _text(fields.get("kind"), "kind", notes) or "text"
    order = _word(fields, "score_order", ("higher", "lower", "given"), notes)
    return Item(
        kind={"markdown": "document"}.get(kind, kind),
        start_line=start,
        end_line=end,
        score=_score(fields.get("score"), order, notes),
        score_order=order,
        origin=_word(fields, "origin", ("explicit", "similarity"), notes),
        named=None if fields.get("named") is None else _flag(fields["named"], "named", notes),
        required=_flag(fields.get("required"), "required", notes),
        metadata=metadata,
        **texts,
    )


def _hint(key: str) -> str:
    if key in _NAMES_OF_OTHERS:
        return f'; did you mean "{_NAMES_OF_OTHERS[key]}"?'
    return did_you_mean(key[:80], ITEM_FIELDS)


def _text(value: object, name: str, notes: _Notes) -> str | None:
    kind = type(value)
    if value is None or kind is str:
        return value  # type: ignore[return-value]
    if kind is float and value != value:  # a missing value, as Python and pandas write it
        return None
    if issubclass(kind, str):
        return exact_str(value)  # type: ignore[arg-type]
    if issubclass(kind, bytes | bytearray):
        notes.say("PF202", f"{name}: expected text, found bytes; read as UTF-8")
    elif kind is int or kind is float or issubclass(kind, WRITTEN_AS_TEXT):
        message = f"{name}: expected text, found {type_name_of(value)}; written as text"
        # Databases hand out numbers for ids, and programs hold a path as one: no strict run fails.
        notes.say("PF202", message, "info" if name in ("id", "path") else "warning")
    elif name == "content" and (text := text_of(value)) is not None:
        found = type_name_of(value)
        notes.say("PF202", f"{name}: expected text, found {found}; its texts are read")
        return str(text)
    elif name == "content" and (text := _as_json(value)) is not None:
        message = f"{name}: expected text, found {type_name_of(value)}; written as JSON"
        notes.say("PF202", message, "info")
        return text
    else:
        notes.say("PF202", f"{name}: expected text, found {type_name_of(value)}; left out")
        return None
    return str(copy_plain(value))


def _as_json(value: object) -> str | None:
    """Return an object, or a list of objects such as a tool answers, as JSON; `None` for others."""
    members = [value] if type(value) is dict else value
    if type(members) is not list or not any(members) or {*map(type, members)} != {dict}:
        return None
    changes: list[str] = []
    plain = copy_plain(value, changes.append, MAX_MESSAGE_VALUES)
    # What holds itself has no end, so its copy is cut off somewhere.
    if any(change.startswith(("nested", "more than")) for change in changes):
        return None
    return json.dumps(plain, ensure_ascii=False)


def _score(value: object, order: ScoreOrder, notes: _Notes) -> float:
    if value is None:
        return NO_SCORE
    number = parse_number(value)
    if number is None or not isfinite(number):
        # The option score_order may make a distance of it later: then 0 would be the best.
        worst = FAR if order == "lower" else BROKEN_SCORE
        note = "" if order == "lower" else ", as the worst"
        expected = "a finite number" if number is not None else "a number"
        found = "" if number is not None else f", found {type_name_of(value)}"
        notes.say("PF202", f"score: expected {expected}{found}; {worst:.0f} is taken{note}")
        return worst
    if issubclass(type(value), str):
        notes.say("PF202", "score: expected a number, found text; read as a number", "info")
    return number


def _line(value: object, name: str, notes: _Notes) -> int | None:
    if value is None:
        return None
    number = parse_number(value)
    if number is None:
        expected = f"expected a line number, found {type_name_of(value)}"
        notes.say("PF202", f"{name}: {expected}; left out")
        return None
    if not isfinite(number) or number != int(number) or not 0 <= number <= MAX_LINE_NUMBER:
        notes.say("PF202", f"{name}: expected a line number from 1; left out")
        return None
    if type(value) is not int:
        found = type_name_of(value)
        notes.say("PF202", f"{name}: expected an int, found {found}; read as a number", "info")
    return int(number)


def _word(fields: Mapping[str, Any], name: str, words: tuple[str, ...], notes: _Notes) -> Any:
    word = _text(fields.get(name), name, notes)
    if word is None:
        return words[0]
    if word not in words:
        listed = ", ".join(f'"{one}"' for one in words[:-1])
        expected = f'expected {listed} or "{words[-1]}", found {quote(word)}'
        notes.say("PF202", f"{name}: {expected}; left out")
        return words[0]
    return word


def _flag(value: object, name: str, notes: _Notes) -> bool:
    if value is None or type(value) is bool:
        return bool(value)
    expected = f"expected true or false, found {type_name_of(value)}"
    known = {"true": True, "false": False, "1": True, "0": False}
    word = str(copy_plain(value)).lower()
    if word not in known:
        notes.say("PF202", f"{name}: {expected}; left out")
        return False
    notes.say("PF202", f"{name}: {expected}; read as {known[word]}")
    return known[word]


def _metadata(value: object, notes: _Notes) -> dict[str, Any]:
    if value is None:
        return {}
    copied = copy_plain(open_json(value), notes.say_metadata)
    if isinstance(copied, dict):
        return copied
    notes.say("PF203", f"metadata: expected an object, found {type_name_of(value)}; left out")
    return {}
