"""Read the rows of CSV as items, from a file or from standard input.

Codes: PF201 a table that is read as records, or a text that looks like one.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from ..errors import Diagnostics, Severity, list_names, quote
from ..files.access import StrPath
from ..files.csv_table import TableError, TableReader
from ..model import Item
from ..text.format import plural
from .objects import Row, distinct
from .records import load_records
from .shapes import KEYS, find_text, unknown_columns
from .workspace import read_named

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
    rows: list[Any] = []
    lines: list[int] = []
    others: list[str] | None = []
    short = 0
    try:
        # Not `splitlines`: a form feed or U+2028 in a cell ends no row. Markdown has tables with
        # `|`, too; only the name of a file tells the two apart.
        table = TableReader(io.StringIO(text, newline=""), ",;\t|" if is_named else ",;\t")
        columns = distinct(table.columns)
        others = unknown_columns(columns)
        if others is None or len(columns) < 2:
            return None
        # Prose may begin `Text, images and sound` or `Title, text`.
        fewest = 1 if is_named and not others else len(columns)
        for cells in table:
            if not fewest <= len(cells) <= len(columns):
                word = "more" if len(cells) > len(columns) else "fewer"
                raise TableError(f"{word} cells than columns", table.line)
            named = zip(columns, cells, strict=False)
            rows.append(Row({key: cell for key, cell in named if cell}))
            lines.append(table.line)
            short += len(cells) < len(columns)
    except TableError as error:
        message = f"read as text: it is not a table: {error}"
        severity: Severity = "info" if others else "warning"
        diagnostics.add("PF201", message, where=f"{where}:{error.line}", severity=severity)
        return None
    if not rows and not is_named:
        return None
    if others and 2 * sum(map(_has_sentence, rows)) <= len(rows):
        message = f"read as text, for records have no {_list_columns(others)}; sentences in a"
        message += ' column "content" make its rows records'
        diagnostics.add("PF201", message, where=where, severity="info")
        return None
    said = f"read as a table of {plural(len(rows), 'record', 'records')}"
    if others:
        said += f"; {_list_columns(others)} kept as metadata"
    if short:
        said += f"; {plural(short, 'row lacks', 'rows lack')} cells"
    said += "; --file shows it as text"
    diagnostics.add("PF201", said, where=where, severity="info")
    return load_records(
        rows, where=where, diagnostics=diagnostics, locate=lambda at: f"{where}:{lines[at]}"
    )


def _has_sentence(row: Row) -> bool:
    """Tell whether the text of a row is one, and no number or code of a table of data."""
    key, text = find_text(row)
    return key in KEYS["body"] and (len(str(text).split()) > 1 or not str(text).isascii())


def _list_columns(names: Sequence[str]) -> str:
    listed = list_names(list(map(quote, names)), MAX_COLUMNS_SHOWN)
    return f"{'column' if len(names) == 1 else 'columns'} {listed}"
