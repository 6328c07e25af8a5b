"""Read the records of stores, searches and frameworks as the fields of native records.

Known: `shapes.yaml` has a row for each shape of record and for each response around them. Guessed,
and said: a text under a key of no known name, and records further inside.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from itertools import chain, islice
from math import isfinite
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import quote, type_name_of
from ..files.access import read_utf8
from ..model import Item
from ..plain_data import copy_plain, exact_str
from ..yaml_reader import load_shipped_yaml
from .native import guarded
from .objects import MISSING, Fields, Row, fields_of, mapping, table_rows, without_point

ITEM_FIELDS = frozenset(Item.__struct_fields__)


# ---- what texts, names and places are called

_FILE = Path(__file__).with_name("shapes.yaml")
_TABLE, _ = load_shipped_yaml(read_utf8(_FILE), _FILE.name)
KEYS = {part: tuple(keys.split()) for part, keys in _TABLE["keys"].items()}
TEXT_KEYS = KEYS["text"]
MIN_GUESSED_CHARACTERS = 20
"""Characters of a text under a key of no known name: a date or a label is shorter."""
MAX_KEY_CHARACTERS = 5_000
"""Characters of all keys of an object that are read in any spelling; more is no record."""
_OWN_FIELDS = ("kind", "required", "origin", "named", "score_order")
"""Fields of an item that a flat record may set; in the body of a store's hit they are its own."""
_LINE_KEYS = {key.partition(".")[0] for key in (*KEYS["start_line"], *KEYS["end_line"])}
_LABEL_KEYS = (*KEYS["id"], *KEYS["name"], *KEYS["place"], *KEYS["number"])
URL_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_PATH = re.compile(r"[./\\]")
_SOLR_TYPE = re.compile(r"_(?:t|s|ss|txt|txt_[a-z]{2})\Z")


def _fold(key: str) -> str:
    """Return a key without case and marks: one for `pageContent`, `PageContent`, `page_content`.

    `n.title` of a query in Cypher or SQL is a title.
    """
    return _fold_start(key[:82])


@lru_cache(4096)
def _fold_start(key: str) -> str:
    key = key.partition(".")[2] if key[1:2] == "." else key
    return "".join(filter(str.isalnum, _SOLR_TYPE.sub("", key[:80]))).lower()


_NAMED = (*TEXT_KEYS, *_LABEL_KEYS, *KEYS["metadata"][1:])
_READ = (*_NAMED, "metadata", *KEYS["page"], "start_line", "end_line")
_USUAL = {_fold(key): key for key in reversed(_READ)}
_TEXT_COLUMNS = frozenset(map(_fold, TEXT_KEYS))
_COLUMN_NAMES = {*map(_fold, (*_NAMED, *ITEM_FIELDS))}


def unknown_columns(names: Sequence[str]) -> list[str] | None:
    """Return the columns that no record has in any spelling, `None` without a column of a text."""
    folded = list(map(_fold, names))
    if _TEXT_COLUMNS.isdisjoint(folded):
        return None
    return [name for name, key in zip(names, folded, strict=True) if key not in _COLUMN_NAMES]


def respell(fields: Fields) -> Fields:
    """Return fields that have the keys above in their usual spelling too."""
    odd = _odd_spellings(tuple(fields)) if _are_short(fields) else ()
    return {**fields, **{usual: fields[key] for key, usual in odd}} if odd else fields


MAX_PARTS = 100_000
"""Texts, lists and objects that one text is joined of; more give none."""
MAX_MEMBERS = 1_000_000
"""Members read of a client's list that is no plain one."""


@lru_cache(4096)  # all records of a store have the same keys
def _odd_spellings(keys: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    usual = {_USUAL[folded]: key for key in reversed(keys) if (folded := _fold(key)) in _USUAL}
    return tuple((key, name) for name, key in usual.items() if name not in keys)


@guarded
def text_of(value: object) -> Any:
    """Return a text, the texts of a list, or the text in an object, as several stores nest it.

    Blanks are none: the text is under another key. Bytes are judged by the builder of items.
    """
    # Lists that share their members are endless to read, as an "XML bomb" is.
    return _text_of(value, iter(range(MAX_PARTS)))


def _text_of(value: object, left: Iterator[int]) -> Any:
    next(left)
    if isinstance(value, str | bytes | bytearray):
        found: str | bytes = exact_str(value) if isinstance(value, str) else bytes(value)
        return found if found.strip() else None
    if isinstance(value, list | tuple):
        value = _members(value)
        if any(map(_is_result, map(mapping, value))):
            return None
        parts = [_text_of(part, left) for part in value]
        return "\n\n".join(part for part in parts if isinstance(part, str)) or None
    inner = respell(mapping(value))
    if inner.get("type") == "base64":  # a picture or a PDF
        return None
    texts = (_text_of(inner[key], left) for key in TEXT_KEYS if key in inner)
    return next(filter(None, texts), None)


@guarded
def _place_of(value: object) -> str | None:
    """Return a path or URL, also one inside an object: `{s3Location: {uri: …}}`."""
    if isinstance(value, str):
        return exact_str(value) or None
    if type(value) is list and len(value) == 1:  # Solr writes every value as a list
        return _place_of(value[0])
    inside = mapping(value)
    every = [*(inner for inner in inside.values() if isinstance(inner, dict)), inside]
    found = (each.get(key) for each in every for key in ("uri", "url"))
    return next((place for place in found if isinstance(place, str) and place), None)


def _is_result(part: Fields) -> bool:
    """Tell whether a part has a place or a number of its own; a block of text may have an id."""
    return bool(_labels(part)) and not {"type", "text"} <= part.keys() <= {"type", "text", "id"}


_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d*,\d+\s*")
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?\s*")


@guarded
def parse_number(value: object) -> float | None:
    """Return a number, also one of NumPy, or in a text: `0.85`, `0,85`, `1,234.5`, `85 %`."""
    plain = copy_plain(value)
    # To read a text of a million digits takes seconds, and no number needs a hundred.
    if isinstance(plain, bool) or not isinstance(plain, int | float | str) or len(str(plain)) > 100:
        return None
    share = 1
    if isinstance(plain, str):
        if _THOUSANDS.fullmatch(plain):
            plain = plain.replace(",", "")
        elif _DECIMAL_COMMA.fullmatch(plain):  # as a German Excel exports it
            plain = plain.replace(",", ".")
        elif plain.rstrip().endswith("%"):
            plain, share = plain.rstrip()[:-1], 100
    return float(plain) / share


def place_of(metadata: Mapping[str, Any]) -> Fields:
    """Return the fields that free metadata tells without doubt: name, path, url, language, lines.

    A value of the wrong type is no error here: it is metadata, and stays there.
    """
    found: Fields = {}
    metadata = respell(dict(metadata))
    names = [metadata[key] for key in KEYS["name"] if key in metadata]
    name = next(filter(None, map(_name_of, names)), None)
    if name:
        found["name"] = name
    for key in KEYS["place"]:
        place = _place_of(metadata[key]) if key in metadata else None
        if place is None or (key == "source" and "url" in found and not _PATH.search(place)):
            continue  # web searches name a site by `source`
        is_url = URL_SCHEME.match(place) or (key in KEYS["link"] and place[:1] == "/")
        found.setdefault("url" if is_url else "path", place)
    if type(metadata.get("language")) is str:
        found["language"] = metadata["language"]
    if _LINE_KEYS.isdisjoint(metadata):
        return found
    for field in ("start_line", "end_line"):
        value = next((v for key in KEYS[field] if (v := _line_at(metadata, key)) is not None), None)
        if type(value) is str and value.isdecimal() and len(value) < 10:  # a cell of CSV
            value = int(value)
        if type(value) is int and value >= 0:
            found[field] = value
    return found


def _line_at(metadata: Fields, key: str) -> Any:
    """Return the line under a key, or None; an inner one beside a column, for these count from 1.

    Editors count from 0, beside a `character`.
    """
    outer, _, inner = key.partition(".")
    if inner and mapping(metadata.get(outer)).keys().isdisjoint(("col", "column")):
        return None
    value = look(metadata, key)
    return None if value is MISSING else value


_PAGE = re.compile(r"[\w.-]{1,20}")


def name_page(fields: Fields) -> Fields:
    """Return native fields with the page of their document in the name: `manual.pdf, page 3`.

    So are parts of a PDF named that promptforge reads itself. The number is the one that the record
    has, from 0 or from 1. A `page` that is no number, such as `/home`, is none.
    """
    name = fields.get("name") or _file_name(fields.get("path") or fields.get("url"))
    page = _page_of(respell(fields["metadata"]))
    return {**fields, "name": f"{name}, page {page}"} if page and type(name) is str else fields


def _page_of(metadata: Fields) -> str | None:
    for key in KEYS["page"]:
        page = without_point(metadata.get(key))
        if type(page) is int and 0 <= page < 10**9:  # to write a longer one takes time
            return str(page)
        is_label = type(page) is str and (key == "page_label" or page.isdecimal())
        if is_label and _PAGE.fullmatch(page):
            return str(page)
    return None


def _file_name(place: object) -> str | None:
    parts = re.split(r"[\\/]", place.rstrip("\\/")) if type(place) is str else [""]
    return parts[-1] or None


def _name_of(value: object) -> Any:
    """Return a name; of the headings above a hit, as Algolia has them by level, the last."""
    levels = [level for key, level in mapping(value).items() if key[:3] == "lvl" and level]
    return text_of(levels[-1] if levels else value)


# ---- the rows


class RecordShape(NamedTuple):
    """One shape of record: its marks, and where its parts are, in the words of `shapes.yaml`."""

    name: str
    body: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    read: str = ""
    """A reader of its own, in `readers.py`."""


_MarkedShape = tuple[RecordShape, Set[str], list[str], Set[str]]


def _are_blocks(value: object) -> bool:
    return type(value) in (list, tuple) and bool(value) and bool(mapping(value[0]))  # type: ignore[index]


def _has(record: Fields, mark: str) -> bool:
    if mark.startswith("!"):
        return mark[1:] not in record
    key, is_list, inner = mark.partition("[]")
    if is_list:
        blocks: Any = record.get(key)
        if key == "content" and _are_blocks(blocks) and not _is_block(blocks[0]):
            return False
        return _are_blocks(blocks) and (not inner or inner[1:] in mapping(blocks[0]))
    return any(look(record, key) is not MISSING for key in mark.split("|"))


def look(record: Fields, key: str) -> Any:
    """Return the value under a dotted key, or `MISSING`."""
    if key in record:  # a key may hold a dot: `@search.score`
        return record[key]
    outer, dot, inner = key.partition(".")
    found = look(mapping(record[outer]), inner) if dot and outer in record else None
    return MISSING if found is None else found


def find_shape(record: Fields) -> RecordShape | None:
    """Return the first shape with all its marks in a record; `None` for a native record."""
    texts = [record.get(key) for key in ("content", "summary", "expanded")]
    native = record.keys() <= ITEM_FIELDS and any(type(text) is str for text in texts)
    if native and "source_type" not in mapping(record.get("metadata")):
        return None
    rows = _rows_for if _are_short(record) else _rows_for.__wrapped__
    for shape, _, marks, _ in rows(tuple(record)):
        if all(_has(record, mark) for mark in marks):
            return shape
    return None


@lru_cache(256)  # all records of a store have the same keys
def _rows_for(keys: tuple[str, ...]) -> list[_MarkedShape]:
    """Return the shapes that records with these keys may have."""
    given = {*keys}
    return [row for row in _MARKS if row[1] <= given and not row[3].isdisjoint(given)]


def _are_short(keys: Iterable[str]) -> bool:
    return sum(map(len, keys)) <= MAX_KEY_CHARACTERS


def read_hit(record: Fields, shape: RecordShape, notes: Any) -> Fields:
    """Return the native fields of a search result, with origin, place, number and metadata."""
    bodies = [inner for key in shape.body if (inner := look(record, key)) is not MISSING]
    within = {key.partition(".")[0] for key in shape.body}
    body = record
    if bodies and bodies != [None]:  # it is in a document of Redis
        body = {k: v for inner in bodies for k, v in (mapping(inner) or {"text": inner}).items()}
    text_key, text = find_text(body)
    if text is None and body is not record:  # Upstash keeps the text beside the metadata
        body = {**{k: v for k, v in record.items() if k not in within}, **body}
        text_key, text = find_text(body)
    if text is None:
        text_key, text = _guess_text(body, notes)
    elif nested := mapping(body.get(text_key or "")):  # a document under `document`
        body = {**{k: v for k, v in body.items() if k != text_key}, **nested}
        text_key, text = find_text(nested)
    else:
        _say_longer_text(body, text_key, text, notes)
    # LangChain and others keep their own metadata inside of a payload.
    inner = find_metadata(body)
    outer = record if shape.body else {}
    known = {**outer, **body, **inner}
    if shape.name == "Vespa hit" and outer.get("source") is known.get("source"):
        known.pop("source", None)  # the name of its cluster
    fields: Fields = {"origin": "similarity", **place_of(known)}
    own = {} if shape.body else {key: record.get(key) for key in _OWN_FIELDS}
    own |= {key: body.get(key) for key in ("summary", "expanded")}  # they stand beside the text
    own = {k: v for k, v in own.items() if v is not None}
    number, order, number_key = find_number(record, shape)
    gone = {text_key, number_key, *within, *KEYS["metadata"], "_node_content", *own}
    gone |= {"id", "_id", "_additional"}
    usual = {text_key, *KEYS["metadata"]} - body.keys()  # these were written otherwise
    gone |= {key for key in {**outer, **body} if _USUAL.get(_fold(key)) in usual}
    metadata = {k: v for k, v in {**outer, **body}.items() if k not in gone}
    for key in metadata.keys() & KEYS["vector"]:
        if not isinstance(metadata[key], str | dict):
            del metadata[key]
    metadata = {k: v for k, v in (metadata | inner).items() if v is not None}
    if number is not None:
        fields["score"] = number
        if isfinite(number):
            metadata["score"] = number
    fields |= {
        "content": text,
        "id": find_id(record) or find_id(mapping(record.get("_additional"))) or find_id(body),
        "score_order": order,
        "metadata": metadata,
        **own,
    }
    return name_page(fields)


def find_metadata(record: Fields) -> Fields:
    """Return the metadata inside of a record: objects, or their JSON in a column of a table."""
    spelt = respell(record)
    found: Fields = {}
    for key in reversed(KEYS["metadata"]):
        value = open_json(spelt.get(key))
        if type(value) in (str, list, int, float):  # no object: kept as it is
            found[key] = value
        found |= mapping(value)
    return found


def open_json(value: Any) -> Any:
    """Return the object that a text of JSON holds; any other value itself."""
    if type(value) is str and value[:1] == "{":
        return guarded(json.loads)(value) or value
    return value


_OPTION_KEYS = ("extract", "search_context", "wiki_context")
"""Keys of passages that are options elsewhere: `extract: "pdfminer"`, `search_context: "low"`."""


def find_text(body: Fields) -> tuple[str | None, Any]:
    """Return the first usual key with a text, and the text: bytes are judged by the builder."""
    body = respell(body)
    for key in TEXT_KEYS:
        if key not in body:
            continue
        text = _join_sentences(body[key]) if key == "sentences" else text_of(body[key])
        if text is not None and (key not in _OPTION_KEYS or _reads_as_text(text)):
            return key, text
    for key in ("_node_content", "json"):  # LlamaIndex and Redis write a whole object as JSON
        if type(body.get(key)) is str:
            inner = mapping(guarded(json.loads)(body[key]))
            text = find_text(inner)[1]
            if text is not None:
                return key, text
    return None, None


@guarded
def _join_sentences(value: Any) -> Any:
    """Return the sentences of one passage as its text; some hold the blanks between them."""
    if type(value) not in (list, tuple) or {*map(type, value)} != {str}:
        return text_of(value)
    parts: list[str] = []
    for text in filter(str.strip, value):
        if parts and not parts[-1][-1:].isspace() and not text[:1].isspace():
            parts.append(" ")
        parts.append(text)
    return "".join(parts) or None


def _say_longer_text(body: Fields, key: str | None, text: str | bytes, notes: Any) -> None:
    """Say it if a text was read under the key of an extract, and an unread one is much longer."""
    if key is None or key in KEYS["body"]:
        return
    longer = [
        quote(name)
        for name, each in body.items()
        if isinstance(each, str) and len(each) > 2 * len(text) and _reads_as_text(each)
        if _fold(name) not in _USUAL
    ]
    if longer:
        what = f"content is read from {quote(key)}, not from {', '.join(longer[:3])}"
        notes.say("PF201", f"{what}, which is longer", "info")


def _guess_text(body: Fields, notes: Any) -> tuple[str | None, str | None]:
    """Return the longest text of a record without a usual key for it, and say so.

    A word, a title or a place is no text, and nothing is guessed beside a longer text further in.
    """
    others = {*KEYS["name"], *KEYS["place"], *KEYS["id"], "summary", "expanded", "type", "kind"}
    texts = {
        key: "\n\n".join(map(exact_str, value)) if type(value) is list else exact_str(value)
        for key, value in body.items()
        if _USUAL.get(_fold(key), key) not in others and _reads_as_texts(value)
    }
    # A list may be keywords or names, so it is the text only where no single one is there.
    texts = {key: text for key, text in texts.items() if type(body[key]) is not list} or texts
    if not texts or "summary" in body:
        return None, None
    key = max(texts, key=lambda key: len(texts[key]))
    inside = search_inside(body)
    if inside is not None and (type(body[key]) is list or _size(inside) > len(texts[key])):
        return None, None
    if len(texts) == 1:
        notes.say("PF201", f"content is read from {quote(key)}", "info")
    else:
        listed = ", ".join(quote(one) for one in texts if one != key)
        notes.say(
            "PF201", f"content is read from {quote(key)}, the longest text, not from {listed}"
        )
    return key, texts[key]


def _reads_as_texts(value: Any) -> bool:
    # Vespa keeps the chunks of a document in a list.
    texts = value if type(value) is list and value else [value]
    return all(isinstance(text, str) and _reads_as_text(text.strip()) for text in texts)


def _reads_as_text(text: str) -> bool:
    # Not every script has blanks between its words; an encoded word of sixty letters has none.
    return (" " in text and len(text) >= MIN_GUESSED_CHARACTERS) or (
        len(text) > 60 and not text.isascii()
    )


def find_number(record: Fields, shape: RecordShape) -> tuple[float | None, str, str]:
    """Return the number of a result, its meaning and the key that held it.

    NaN, the similarity to a vector of zeros, only without another: no number would mean 1.
    """
    broken: tuple[float, str, str] | None = None
    record = respell(record)
    for each in shape.numbers or KEYS["number"]:
        key = each.rstrip("<>")
        value = look(record, key)
        # Most names are not there, and a number is looked for under each.
        number = None if value is MISSING else parse_number(value)
        if number is None:
            continue
        found = number, {"<": "lower", ">": "higher"}.get(each[-1], "given"), key
        if isfinite(number):
            return found
        broken = broken or found
    return broken or (None, "given", "")


def find_id(record: Fields) -> str | None:
    """Return the id of a record as text; `None` without one."""
    record = respell(record)
    found = [record[key] for key in KEYS["id"] if record.get(key) is not None]
    # Databases hand out numbers and UUIDs, vector stores bytes, exports of MongoDB an object.
    first = mapping(found[0]).get("$oid", found[0]) if found else None
    return None if first is None else str(copy_plain(first))


def _read_row(row: Mapping[str, str]) -> _MarkedShape:
    """Return a shape, its plain keys, its other marks, and the keys that the first mark needs."""
    body, numbers = (tuple(row.get(key, "").split()) for key in ("body", "number"))
    marks = row["marks"].replace(" | ", "|").split()
    plain = frozenset(filter(str.isidentifier, marks))
    shape = RecordShape(row["shape"], body, numbers, row.get("read", ""))
    others = sorted((mark for mark in marks if mark not in plain), key=lambda mark: mark[0] == "!")
    first = others[0].partition("[]")[0].split("|") if others else []
    some = plain.union(first, (key.partition(".")[0] for key in first))
    return shape, plain, others, some


_MARKS = list(map(_read_row, _TABLE["records"]))
_TYPES = frozenset(("S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"))
"""Keys of DynamoDB's values, as its API gives them: `{"text": {"S": "…"}}`."""


def plain_values(record: Fields) -> Fields | None:
    """Return a record of DynamoDB with plain values; `None` for any other record."""
    typed = [type(value) is dict and len(value) == 1 and value.keys() <= _TYPES
             for value in record.values()]  # fmt: skip
    return {k: _plain_value(v) for k, v in record.items()} if typed and all(typed) else None


def _plain_value(value: Any) -> Any:
    """Return a value of DynamoDB without its type: `1` for `{"N": "1"}`."""
    ((kind, inner),) = value.items()
    if kind == "M":
        return {key: _plain_value(each) for key, each in inner.items()}
    if kind == "L":
        return [_plain_value(each) for each in inner]
    if kind == "N":
        return int(inner) if inner.isdecimal() and len(inner) < 20 else parse_number(inner)
    return None if kind == "NULL" else inner


def describe(record: object) -> str:
    """Return the shape of a record and its fields, those of its body too, for messages."""
    fields = fields_of(record) or {}
    shape = find_shape(fields)
    names = []
    for key in list(fields)[:12]:
        inner = list(mapping(fields[key]))[:8]
        names.append(f"{key} ({', '.join(inner)})" if inner else key)
    if not names:
        return type_name_of(record)
    return f"{shape.name if shape else 'object'} with {', '.join(names)}"[:300]


# ---- responses around records


_ANSWERS = {key: key.split(".") for key in _TABLE["answers"]}
_ANSWER_KEYS = frozenset(first for first, *_ in _ANSWERS.values())
_COLUMNS = _TABLE["columns"]
_PARTS = frozenset(("issues", "tickets", "articles", "tests"))
"""Keys under which a record with a name or a place of its own has parts."""
MAX_ANSWERS_INSIDE = 3
"""Responses inside of one another; a key may be looked under twice, so time doubles with each."""


@guarded
def open_answer(value: Any) -> list[list[Any]] | None:
    """Return the searches in a response, each with its records; `None` where it is no response."""
    return _open(value, MAX_ANSWERS_INSIDE)


def _open(value: Any, inner: int) -> list[list[Any]] | None:
    if isinstance(value, Item) or issubclass(type(value), str | bytes | int | float | type(None)):
        return None
    if (
        type(value) is dict
        and ("content" in value or "page_content" in value)
        and list not in map(type, value.values())
    ):
        return None  # the usual record: its text is no column
    rows = table_rows(value)
    if rows is not None:
        return [rows]
    if issubclass(type(value), list):
        value = _members(value)
        page = read_page(value)
        return [page] if page else _read_flat(value) or _nested(value)
    found = fields_of(value) or {}
    texts = [found[key] for key in ("content", "page_content", "text") if key in found]
    # An answer of Cohere, with what it was told.
    texts *= not (_has(found, "citations[].start") and _has(found, "documents[]"))
    if texts and (not _are_blocks(texts[0]) or _labels(found)):
        return _read_columns(found)  # a record: of one with labels, a list holds the parts
    if not found or (found.keys() <= ITEM_FIELDS and type(found.get("summary")) is str):
        return None
    files = found.get("files")
    if type(files) is dict and files and {*map(type, files.values())} == {str}:
        return [[{"path": path, "content": text} for path, text in files.items()]]  # repomix's JSON
    columns = _read_columns(found)
    if columns is not None:
        return columns
    rows = _read_matrix(found)
    if rows is not None:
        return [rows]
    return None if _ANSWER_KEYS.isdisjoint(found) else _open_known(found, inner)


def _open_known(found: Fields, inner: int) -> list[list[Any]] | None:
    empty: list[list[Any]] | None = None
    for key, (first, *more) in _ANSWERS.items():
        if key in _PARTS and _labels(found):
            continue
        if first in found and (searches := _lists_at(found[first], more, inner)):
            if not any(searches):  # what was found may be under another key
                empty = empty or searches
                continue
            if find_text(found)[1] and not _have_texts(searches):  # names of its sources
                continue
            if key == "content" and not any(
                isinstance(hit, str) or _is_block(hit) for hit in chain(*searches)
            ):
                continue
            return [_open_blocks(hits) for hits in searches] if key == "content" else searches
    return empty


def _have_texts(searches: list[list[Any]]) -> bool:
    return any(
        _reads_as_text(hit) if isinstance(hit, str) else _text_in(fields_of(hit) or {})
        for hits in searches
        for hit in hits
    )


def _is_block(hit: Any) -> bool:
    """Tell whether a member of `content` is a block of a message or a hit, and no row of data."""
    keys = respell(mapping(hit)).keys()
    return not keys.isdisjoint((*TEXT_KEYS, "type"))


def _open_blocks(blocks: list[Any]) -> list[Any]:
    """Return content blocks; in place of one that is records as JSON, as tools answer, these."""
    found: list[Any] = []
    for block in blocks:
        text = mapping(block).get("text")
        value = guarded(json.loads)(text) if type(text) is str and text[:1] in "[{" else None
        searches = open_answer(value)
        hits = [hit for search in searches or () for hit in search]
        if hits and all(_text_in(mapping(hit)) for hit in hits):
            found += [Row(hit) if type(hit) is dict else hit for hit in hits]
        else:
            found.append(block)
    return found


def _lists_at(value: Any, keys: list[str], inner: int) -> list[list[Any]]:
    if issubclass(type(value), list | tuple):
        value = _members(value)
        if keys:
            return [found for each in value for found in _lists_at(each, keys, inner)]
        if not _are_records(value):
            return []
        searches = _nested(value) or [value]
        return [[Row(hit) if type(hit) is dict else hit for hit in hits] for hits in searches]
    fields = mapping(value)
    if not keys and not (fields and inner):
        return []
    if not keys:
        return guarded(lambda found: _open(found, inner - 1))(fields) or []
    if keys[0] == "*":
        return [found for each in fields.values() for found in _lists_at(each, keys[1:], inner)]
    return _lists_at(fields[keys[0]], keys[1:], inner) if keys[0] in fields else []


def read_page(value: Any) -> list[Any] | None:
    """Return the records of Qdrant's `scroll`: a pair of these and where the next page begins."""
    if type(value) not in (list, tuple) or len(value) != 2:
        return None
    records, following = value
    if not issubclass(type(records), list) or not isinstance(following, str | int | type(None)):
        return None
    return [*records] if records and all(mapping(each) for each in records) else None


def _read_matrix(found: Fields) -> list[Any] | None:
    """Return the rows of `{columns: […], data: [[…]]}`, as databases and pandas write tables."""
    known = {k: v for each in (found, *map(mapping, found.values())) for k, v in each.items()}
    named = known.get("columns") or known.get("fields")  # these are Neo4j's
    if type(named) is not list:
        return None
    columns = [c if type(c) is str else mapping(c).get("name") for c in named or ()]
    for key in ("data_array", "rows", "data", "values", "records"):
        rows = known.get(key)
        if type(rows) is not list or not rows or not all(columns):
            continue
        if all(type(row) in (list, tuple) and len(row) == len(columns) for row in rows):
            return [Row(zip(map(str, columns), row, strict=True)) for row in rows]
    return None


def _read_flat(value: list[Any]) -> list[list[Any]] | None:
    """Return the hits in a plain answer of Redis: number, then a key, perhaps its score, and its
    fields by turns.
    """
    if len(value) == 2 and type(value[0]) is int and type(value[1]) is dict:  # Valkey's GLIDE
        pairs = [(k, [*chain(*v.items())] if type(v) is dict else v) for k, v in value[1].items()]
        value = [value[0], *chain(*pairs)]
    if len(value) < 3 or type(value[0]) is not int:
        return None
    stride = 2 if type(value[2]) is list else 3
    hits = [value[at : at + stride] for at in range(1, len(value), stride)]
    if any(len(hit) < stride or type(hit[-1]) is not list for hit in hits):
        return None
    found = []
    for key, *score, fields in hits:
        words = list(map(_word, fields))
        named = dict(zip(("id", "_score"), map(_word, (key, *score)), strict=False))
        found.append(Row({**named, **dict(zip(words[::2], words[1::2], strict=False))}))
    return [found]


def _word(value: Any) -> Any:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _nested(value: Any) -> list[list[Any]] | None:
    """Return lists of records in a list, as Milvus gives one for each query."""
    lists = [_members(e) for e in value if issubclass(type(e), list) and not is_pair(e)]
    if not lists and value and not is_pair(value):  # one search in a list of them
        lists = [value]
    elif not value or len(lists) < len(value):
        return None
    return lists if all(map(_are_records, lists)) else None


def _members(value: Iterable[Any]) -> list[Any]:
    # A client's list may make its members as they are asked for, without an end.
    return list(value if type(value) in (list, tuple) else islice(value, MAX_MEMBERS))


def _are_records(members: Sequence[Any]) -> bool:
    """Tell whether these may be records: numbers are none, and URLs alone only say where."""
    if members and all(type(each) is str and URL_SCHEME.match(each) for each in members):
        return any(map(_reads_as_text, members))
    return all(not issubclass(type(each), int | float | type(None)) for each in members)


def read_titled(value: Any) -> Fields | None:
    """Return a passage of HotpotQA, `[title, [sentence, …]]`, as a record; None for others."""
    if type(value) not in (list, tuple) or len(value) != 2:
        return None
    title, sentences = value
    if type(title) is not str or type(sentences) not in (list, tuple) or not sentences:
        return None
    if {*map(type, sentences)} != {str} or len(title) > sum(map(len, sentences)):
        return None  # a text with its tags or sources
    return {"title": title, "sentences": sentences}


@guarded
def is_pair(value: Any) -> bool:
    """Tell whether it is a record with its number, as `similarity_search_with_score` gives it."""
    if not issubclass(type(value), tuple | list):
        return False
    if hasattr(type(value), "_fields") or hasattr(type(value), "keys"):  # a row with names
        return False
    length = list.__len__ if issubclass(type(value), list) else tuple.__len__
    if length(value) != 2:
        return False
    first, second = value
    if _is_number(first) and type(first) is not str:
        # A whole number before an object is its place, as `enumerate` and `iterrows` give it.
        is_score = not isinstance(first, Integral)
        is_record = isinstance(second, str | dict) or (is_score and _text_in(mapping(second)))
        return bool(is_record) and not _is_number(second)
    return _is_number(second) and not isinstance(first, list | int | float)


def _is_number(value: object) -> bool:
    number = parse_number(value)
    return number is not None and (isfinite(number) or type(value) is not str)  # Nan is a city


def _read_columns(found: Fields) -> list[list[Any]] | None:
    """Return the records in columns: Chroma's `query` has a list for each query, `get` one."""
    if type(found.get("ids")) is list and ("documents" in found or "metadatas" in found):
        columns = {_COLUMNS[key]: found[key] for key in _COLUMNS if type(found.get(key)) is list}
        if found["ids"] and all(type(one) is list for one in found["ids"]):
            count = len(found["ids"])
            return [
                _zipped({k: v[n] for k, v in columns.items() if len(v) == count and v[n]})
                for n in range(count)
            ]
        return [_zipped(columns)]
    text = next((k for k in (*TEXT_KEYS, "documents") if type(found.get(k)) is list), None)
    columns = {k: v for k, v in found.items() if type(v) is list}
    texts = columns.get(text or "", [])
    same = {len(v) for v in columns.values()} == {len(texts)}
    cells = chain(*(one if type(one) is list else [one] for one in texts))  # a list: sentences
    if not texts or len(columns) < 2 or not same or not all(isinstance(c, str) for c in cells):
        return None
    if _labels(found, (*KEYS["name"], *KEYS["place"])):  # a page with highlights and their scores
        return None
    # A hit that has each of its fields in a list keeps the id and the number beside these.
    beside = _labels(found) if len(texts) == 1 else {}
    if text == "documents":
        columns["document"] = columns.pop("documents")
    return [[Row({**beside, **row}) for row in _zipped(columns)]]


def _zipped(columns: dict[str, list[Any]]) -> list[Any]:
    length = max(map(len, columns.values()), default=0)
    return [Row({k: v[n] for k, v in columns.items() if n < len(v)}) for n in range(length)]


# ---- records inside of objects of no known shape

MAX_DEPTH_SEARCHED = 6
MAX_OBJECTS_SEARCHED = 2_000


class Inside(NamedTuple):
    """Records found inside of an object, and the dotted key that leads to them."""

    where: str
    searches: list[list[Fields]]
    others: tuple[str, ...] = ()
    """Keys beside it that lead to texts too, and are not read."""


_ERROR_KEYS = ("error", "errors", "exception")
"""Keys under which a store says why it found nothing: `{"error": {"message": "rate limit"}}`."""
_ERRORS = frozenset({*_ERROR_KEYS, "error_message", "message", "msg", "detail"})
_STATUS_KEYS = ("status", "statusCode", "status_code", "code", "error_code")
_ABOUT_ERRORS = _ERRORS.union(
    _STATUS_KEYS,
    ("details", "reason", "type", "title", "path", "ok", "timestamp", "time", "took"),
    ("request_id", "requestId", "success", "documentation_url"),
)
"""Keys of an error that a store or server answers; an object with others may be a text."""


def has_keys_of_errors(answer: Fields) -> bool:
    """Tell whether an object has such keys and no others."""
    return not _ERRORS.isdisjoint(answer) and _ABOUT_ERRORS.issuperset(answer)


@guarded
def is_failure(answer: object) -> bool:
    """Tell whether an object is the answer to a request that failed, by more than its words.

    `{"message": "Not found", "status": 404}` is; one of a log, with a time, may be a text.
    """
    fields = mapping(answer)
    if not has_keys_of_errors(fields):
        return False
    if any(map(fields.get, _ERROR_KEYS)) or False in (fields.get("ok"), fields.get("success")):
        return True
    numbers = map(parse_number, map(fields.get, _STATUS_KEYS))
    return any(number is not None and 400 <= number < 600 for number in numbers)


@guarded
def search_inside(record: object) -> Inside | None:
    """Return the records inside of a response or hit of no known shape, level by level.

    A list of results gives one record each; of a list of passages without place or number, such as
    the snippets of a page, the texts are joined. One object with a text is the body of its hit.
    """
    level: list[tuple[str, Fields]] = [("", fields_of(record) or {})]
    seen = {id(record): record}
    about: Fields = {}
    if type(record) is Row and (shape := find_shape(record)) is not None:
        about = _labels(_body_of(record, shape) or record, (*KEYS["name"], *KEYS["place"]))
    shape = find_shape(level[0][1])
    for _ in range(0 if shape and shape.read == "answer" else MAX_DEPTH_SEARCHED):
        found = [
            each
            for where, fields in level
            for key in fields
            if key not in _ERROR_KEYS
            if (each := _records_in(f"{where}.{key}".lstrip("."), about, fields, key))
        ]
        if found:
            return _together(found)
        deeper = list(islice(_deeper(level, seen), MAX_OBJECTS_SEARCHED))
        speaking = [(where, fields) for where, fields in deeper if _text_in(fields)]
        if speaking:
            return Inside(speaking[0][0], [[Row(fields) for _, fields in speaking]])
        level = deeper
    return None


def _deeper(
    level: list[tuple[str, Fields]], seen: dict[int, object]
) -> Iterator[tuple[str, Fields]]:
    for where, fields in level:
        for key, value in fields.items():
            if key in _ERROR_KEYS:
                continue
            for each in value if type(value) in (list, tuple) else [value]:
                # One that holds itself under 30 keys would be 30 others at the next level.
                if id(each) not in seen and (inner := mapping(each)):
                    seen[id(each)] = each  # kept, so that no other gets its id
                    yield f"{where}.{key}".lstrip("."), {**_labels(fields), **inner}


def _records_in(where: str, about: Fields, fields: Fields, key: str) -> Inside | None:
    value = fields[key]
    if type(value) not in (list, tuple) or not value or key in KEYS["vector"]:
        return None
    members = [mapping(each) for each in value]
    if not all(members):
        return None
    if not any(map(_text_in, members)):
        opened = [open_answer(each) for each in members]
        searches = [search for each in opened if each for search in each]
        return Inside(where, searches) if searches and None not in opened else None
    if any(map(_labels, members)) or not _labels(fields):
        return Inside(where, [[Row({**about, **each}) for each in members]])
    texts = [text for text in map(_text_in, members) if isinstance(text, str)]
    whole = {name: inner for name, inner in fields.items() if name != key}
    return Inside(where, [[Row({**whole, "text": "\n\n".join(texts)})]])


def _together(found: list[Inside]) -> Inside:
    """Return the lists of all results under the first key, of those with labels before others."""
    labelled = [one for one in found if any(_labels(hit) for hits in one.searches for hit in hits)]
    where = (labelled or found)[0].where
    searches = [search for one in found if one.where == where for search in one.searches]
    # Each of several hits has a list of its own; several searches are one list each.
    if all(len(one.searches) == 1 for one in found):
        searches = [[hit for search in searches for hit in search]]
    return Inside(where, searches, tuple({one.where: None for one in found if one.where != where}))


def _labels(fields: Fields, keys: tuple[str, ...] = _LABEL_KEYS) -> Fields:
    """Return the id, names, places and numbers of a record: a passage of one has none."""
    return {
        key: value
        for key, value in respell(fields).items()
        if key in keys and type(value) in (str, int, float)
    }


def _text_in(fields: Fields) -> Any:
    fields = plain_values(fields) or fields
    shape = find_shape(fields)
    body = _body_of(fields, shape) if shape is not None else {}
    return find_text({**fields, **body})[1]


def _body_of(record: Fields, shape: RecordShape) -> Fields:
    return mapping(record.get(shape.body[0])) if len(shape.body) == 1 else {}


def _size(inside: Inside) -> int:
    texts = (_text_in(mapping(hit)) for search in inside.searches for hit in search)
    return sum(map(len, filter(None, texts)))
