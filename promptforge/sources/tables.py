"""Read the rows of CSV as items, from a file or from standard input.

Codes: PF201 a table that is read as records, or a text that looks like one.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from ..errors import Diagnostics, Severity, list_names, quote
from ..files.access import StrPath
from ..model import Item
from ..text.format import plural
from .objects import Row, distinct
from .records import load_records
from .shapes import KEYS, find_text, unknown_columns
from .workspace import read_named

TABLE_SUFFIXES = (".csv", ".tsv")
MAX_COLUMNS_SHOWN = 3


def load_table(path: str, *, diagnostics: Diagnostics, workspace: StrPath) -> list[Item] | None:
    """Return the rows of a CSV file as items, or `None` for a table of data, which is a text."""
    read = Diagnostics()  # said by the other reader, if this is a text
    text, where = read_named(path, workspace=workspace, diagnostics=read, whole=True)
    items = parse_table(text, where=where, diagnostics=diagnostics)
    if items is not None:
        diagnostics.extend(read)
    return items


def parse_table(
    text: str, *, where: str, diagnostics: Diagnostics, is_named: bool = True
) -> list[Item] | None:
    """Return the rows of a table as items, or `None` for another text, and for a table of data.

    One column is that of a text. Columns that no record has become metadata, as keys of JSON do,
    but only beside sentences under a key of texts alone: all of `sample,content,unit` is data.
    Without `is_named`, as on standard input, each row needs all its cells.
    """
    table = _read_cells(text, where, is_named, diagnostics)
    if table is None:
        return None
    rows, lines, others = table
    if others and 2 * sum(map(_has_sentence, rows)) <= len(rows):
        message = f"read as text, for records have no {_list_columns(others)}; sentences in a"
        message += ' column "content" make its rows records'
        diagnostics.add("PF201", message, where=where, severity="info")
        return None
    kept = f"; {_list_columns(others)} kept as metadata" if others else ""
    said = f"read as a table of {plural(len(rows), 'record', 'records')}{kept}"
    said += "; --file shows it as text"
    diagnostics.add("PF201", said, where=where, severity="info")
    return load_records(
        rows, where=where, diagnostics=diagnostics, locate=lambda at: f"{where}:{lines[at]}"
    )


def _read_cells(
    text: str, where: str, is_named: bool, diagnostics: Diagnostics
) -> tuple[list[Any], list[int], list[str]] | None:
    """Return the rows of a table that has a column of a text, else `None`.

    With them come the lines where they begin, and the columns that no record has.
    The delimiter is the header's: comma, semicolon, tab or `|`, or the one that Excel's line
    `sep=;` names.
    """
    # Not `splitlines`: a form feed or U+2028 in a cell ends no row.
    lines = list(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    first = 1 if lines and lines[0].lower().startswith("sep=") else 0
    header = lines[first] if len(lines) > first else ""
    # Markdown has tables with `|`, too; only the name of a file tells the two apart.
    marks = ",;\t|" if is_named else ",;\t"
    delimiter = lines[0][4:5] if first else max(marks, key=header.count)
    if not delimiter.strip(" \r\n") or delimiter not in header:
        return None
    rows: list[Any] = []
    places: list[int] = []
    line = first + 1
    others: list[str] | None = []
    try:
        reader = csv.reader(lines[first:], delimiter=delimiter, strict=True)
        columns = distinct(next(reader))
        others = unknown_columns(columns)
        if others is None:
            return None
        # Prose may begin `Text, images and sound` or `Title, text`.
        fewest = 1 if is_named and not others else len(columns)
        line = first + reader.line_num + 1
        for cells in reader:
            if cells:
                if not fewest <= len(cells) <= len(columns):
                    word = "more" if len(cells) > len(columns) else "fewer"
                    raise csv.Error(f"{word} cells than columns")
                named = zip(columns, cells, strict=False)
                rows.append(Row({key: cell for key, cell in named if cell}))
                places.append(line)
            line = first + reader.line_num + 1
    except csv.Error as error:
        message = f"read as text: it is not a table: {error}"
        severity: Severity = "info" if others else "warning"
        diagnostics.add("PF201", message, where=f"{where}:{line}", severity=severity)
        return None
    return (rows, places, others) if rows or is_named else None


def _has_sentence(row: Row) -> bool:
    """Tell whether the text of a row is one, and no number or code of a table of data."""
    key, text = find_text(row)
    return key in KEYS["body"] and (len(str(text).split()) > 1 or not str(text).isascii())


def _list_columns(names: Sequence[str]) -> str:
    listed = list_names(list(map(quote, names)), MAX_COLUMNS_SHOWN)
    return f"{'column' if len(names) == 1 else 'columns'} {listed}"
