"""Objects of callers as dicts: mappings, rows, models and documents of clients, and tables.

No client is imported; what an object has tells how it is read. It may raise anything where it is
looked at: `guarded` turns that into `None`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType, MethodType, ModuleType
from typing import Any, TypeVar

from ..errors import type_name_of
from ..plain_data import MAX_DATA_VALUES, exact_str
from .native import guarded

Fields = dict[str, Any]
_T = TypeVar("_T")
MISSING = object()
# A module leads to `sys.modules`, and so to all texts of the program, and to `os.environ`.
_PROGRAM = (type, ModuleType, FunctionType, MethodType)
_NOT_OBJECTS = (str, bytes, bytearray, int, float, list, tuple, set, type(None), *_PROGRAM)


class Row(dict[str, Any]):
    """A row of a table, which is a search result, whatever its columns are called."""


def text_keys(record: Any, say: Callable[[str, str], object] = lambda code, text: None) -> Fields:
    """Return an ordinary dict of any mapping's text keys; values are not looked at yet.

    `say` is told a code and a message of each key that is left out.
    """
    # The usual case, three times as fast.
    if type(record) is dict and len(record) < MAX_DATA_VALUES and {*map(type, record)} <= {str}:
        return record.copy()
    # Neo4j's records give their values where they are iterated over.
    pairs: Iterable[tuple[Any, Any]] = ((key, record[key]) for key in record.keys())  # noqa: SIM118
    if issubclass(type(record), dict):
        pairs = dict.items(record)  # not the methods of a subclass
    own: Fields = {}
    for number, (key, value) in enumerate(pairs):
        if number == MAX_DATA_VALUES:
            say("PF203", f"more than {MAX_DATA_VALUES} keys; the rest is left out")
            break
        if issubclass(type(key), str):
            own[exact_str(key)] = value
        else:
            message = f"a key of type {type_name_of(key)} is not text; left out with its value"
            say("PF201", message)
    return own


@guarded
def _read_mapping(value: object) -> Fields:
    if issubclass(type(value), dict) or isinstance(value, Mapping):
        return text_keys(value)
    if issubclass(type(value), _NOT_OBJECTS):
        return {}
    if type(getattr(type(value), "body", None)) is property:
        body = getattr(value, "body", None)
        if issubclass(type(body), dict):
            return text_keys(body)  # a response of Elasticsearch's client
    return _attributes(value)


def mapping(value: object) -> Fields:
    """Return the text keys of a mapping or object as a dict; an empty one for others."""
    if value is None or type(value) in (str, list, int, float, bool):
        return {}
    return _read_mapping(value) or {}


# Objects that give the names of their fields where they are iterated over, or pairs of these.
_MARKS_OF_RECORDS = ("model_fields", "__struct_fields__", "__dataclass_fields__", "keys", "body")


def is_record(value: object) -> bool:
    """Tell whether an object has fields, and is no list of others that can be iterated over."""
    iterates = hasattr(type(value), "__iter__") or hasattr(type(value), "__getitem__")
    marked = any(hasattr(type(value), mark) for mark in _MARKS_OF_RECORDS)
    return (marked or not iterates) and bool(fields_of(value))


def fields_of(value: object) -> Fields | None:
    """Return the fields of a mapping, a row with names, or a client's object; `None` for others."""
    if issubclass(type(value), tuple) and hasattr(value, "_fields"):
        return guarded(lambda row: text_keys(row._asdict()))(value)
    if issubclass(type(value), tuple) and hasattr(value, "asDict"):  # Spark
        return guarded(lambda row: text_keys(row.asDict()))(value)
    return mapping(value) or None


def _attributes(value: Any) -> Fields:
    """Return what an object of a client holds: rows of databases, models, dataclasses."""
    row = getattr(value, "_mapping", None)  # SQLAlchemy
    if row is not None:
        return text_keys(row)
    mapper = getattr(value, "__mapper__", None)  # SQLAlchemy's declared classes
    if mapper is not None:
        return {name: getattr(value, name) for name in list(mapper.column_attrs.keys())}
    if type(getattr(value, "__data__", None)) is dict:  # Peewee
        return text_keys(value.__data__)
    if hasattr(type(value), "ListFields"):  # a message of Protocol Buffers
        from google.protobuf.json_format import MessageToDict

        return text_keys(MessageToDict(value))
    if hasattr(type(value), "to_dict") and (written := _as_written(value)) is not None:
        return written
    if hasattr(type(value), "keys") and hasattr(type(value), "__getitem__"):  # sqlite3.Row
        return {exact_str(key): value[key] for key in list(value.keys())}
    if hasattr(type(value), "__struct_fields__"):
        return {name: getattr(value, name) for name in type(value).__struct_fields__}
    if hasattr(type(value), "__slots__") and not hasattr(value, "__dict__"):
        return {name: getattr(value, name) for name in type(value).__slots__}
    return {k: v for k, v in vars(value).items() if not k.startswith("_")}


def _as_written(value: Any) -> Fields | None:
    """Return what an object writes by `to_dict`: Pinecone's models, Google's classes."""
    own = hasattr(value, "to_dict")
    made = value.to_dict() if own else type(value).to_dict(value)
    about: Any = getattr(value, "meta", None)
    if hasattr(type(about), "to_dict") and {"id", "index"} <= about.to_dict().keys():
        found = {f"_{key}": each for key, each in about.to_dict().items()}
        return {**found, "_source": made}  # a hit of Elasticsearch's DSL
    return text_keys(made) if issubclass(type(made), dict) else None


@guarded
def read_document(given: Any) -> Fields | None:
    """Return the fields of a document of LangChain, LlamaIndex or Haystack; `None` for others.

    None of these is imported. They are known by what only they have.
    """
    if hasattr(given, "page_content"):
        return {name: getattr(given, name, None) for name in ("page_content", "metadata", "id")}
    score = getattr(given, "score", None)
    node = getattr(given, "node", None) or given  # LlamaIndex puts a node into one with a score
    if hasattr(node, "get_content") and hasattr(node, "metadata"):
        about = {"metadata": node.metadata, "id": getattr(node, "node_id", None), "score": score}
        return {"page_content": node.get_content(), **about}
    if hasattr(given, "content") and hasattr(given, "blob") and hasattr(given, "meta"):
        about = {"metadata": given.meta, "id": given.id, "score": score}
        return {"page_content": given.content, **about}
    return None


@guarded
def table_rows(value: Any) -> list[Any] | None:
    """Return the rows of a cursor or a table: pandas, polars, all with the Arrow interface."""
    if hasattr(type(value), "collect") and not hasattr(type(value), "to_dicts"):  # polars, lazy
        value = value.collect()
    elif hasattr(type(value), "count_rows"):  # a dataset of Arrow, or a scanner of one
        value = value.to_table()
    kind = type(value)
    if hasattr(kind, "named_results"):  # ClickHouse
        return list(map(Row, value.named_results()))
    marks = ("__arrow_c_stream__", "to_pylist", "iterrows")
    if hasattr(kind, "fetchall") and not hasattr(kind, marks[0]):  # a cursor of a database
        names = distinct(column[0] for column in value.description or ())
        rows = value.fetchall()
        return [Row(zip(names, row, strict=False)) if type(row) is tuple else row for row in rows]
    if not any(hasattr(kind, mark) for mark in marks):
        return None
    if hasattr(kind, "to_dicts"):
        rows = value.to_dicts()
    elif hasattr(kind, "iterrows"):
        rows = value.set_axis(distinct(value.columns), axis=1).to_dict("records")
    else:
        if not hasattr(kind, "to_pylist"):
            import pyarrow

            value = pyarrow.table(value)
        if hasattr(type(value), "rename_columns"):
            value = value.rename_columns(distinct(value.column_names))
        rows = value.to_pylist()
    return [
        Row({str(k): v for k, v in row.items() if is_there(v)}) if type(row) is dict else row
        for row in rows
    ]


def distinct(names: Iterable[object]) -> list[str]:
    """Return names of columns, each of several equal ones with its number behind it."""
    # A join of two tables has two columns of one name; in a mapping only the last would stay.
    found: dict[str, None] = {}
    count: Counter[str] = Counter()
    for given in map(str, names):
        name = given
        while name in found:
            count[given] += 1
            name = f"{given}_{count[given] + 1}"
        found[name] = None
    return list(found)


def is_there(value: object) -> bool:
    """Return whether a cell has a value: NaN is how pandas and NumPy write a gap."""
    return value is not None and (not isinstance(value, float) or value == value)


MAX_WHOLE = 2**53 - 1


def without_point(value: Any) -> Any:
    """Write a whole number that is a float as it was before its column of pandas had a gap.

    A larger one than `MAX_WHOLE` may have been another: 2^53 and 2^53 + 1 are one float.
    """
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) <= MAX_WHOLE
    return int(value) if is_whole else value
