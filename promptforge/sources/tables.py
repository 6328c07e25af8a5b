"""Read the rows of CSV: one by one, or as items, from a file or from standard input.

Codes: PF201 a table that is read as records, or a text that looks like one.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from ..errors import Diagnostics, Severity, list_names, quote
from ..files.access import StrPath
from ..model import Item
from ..text.format import plural
from .objects import Row, distinct
from .records import load_records
from .shapes import KEYS, find_text, unknown_columns
from .workspace import read_named

_SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".csv.zst", ".tsv.zst")
MAX_CELL_CHARACTERS = 64 << 20
"""Characters of one cell, which may hold a list of long texts."""
MAX_COLUMNS_SHOWN = 3


class TableError(ValueError):
    """Lines that are no table, from `line` on."""

    def __init__(self, reason: object, line: int) -> None:
        super().__init__(str(reason))
        self.line = line


class TableReader:
    """The rows of CSV, read as they are asked for; blank lines are passed over.

    The delimiter is that of `marks` which the header has most often, or the one that Excel's line
    `sep=;` names. A row may have fewer cells than `columns`, or more; `line` is where the row began
    that was read last. Raises `TableError` where quotes do not fit.
    """

    def __init__(self, lines: Iterable[str], marks: str = ",;\t|") -> None:
        self.line = self._seen = 0
        self._taken: list[str] = []
        """Lines of the row that is read."""
        rest, header = iter(lines), ""
        while not header.strip("\ufeff \t\r\n") and (header := next(rest, "")):
            self._seen += 1
        header = header.removeprefix("\ufeff")
        if header.lower().startswith("sep=") and header[4:5].strip(" \r\n"):
            marks, header = header[4], next(rest, "")
            self._seen += 1
        self._seen -= 1
        self._delimiter = max(marks, key=header.count)
        taken = map(self._take, chain([header], rest))
        self._reader = csv.reader(taken, delimiter=self._delimiter, strict=True)
        self.columns: list[str] = []
        self.columns = next(iter(self), [])

    def __iter__(self) -> Iterator[list[str]]:
        while True:
            self.line, self._taken, wrong = self._seen + 1, [], None
            limit = csv.field_size_limit(MAX_CELL_CHARACTERS)
            try:
                cells = next(self._reader, [])
            except csv.Error as error:
                cells, wrong = [], error
            finally:
                csv.field_size_limit(limit)
            if self._are_rows(cells):
                for line in self._taken:
                    yield line.rstrip("\r\n").split("\t")
                    self.line += 1
            elif wrong is not None:
                raise TableError(wrong, self.line)
            elif cells:
                yield cells
            elif not self._taken:
                return

    def _take(self, line: str) -> str:
        self._seen += 1
        self._taken.append(line)
        return line

    def _are_rows(self, cells: list[str]) -> bool:
        """Tell whether each line of a row is a whole row: there a quote is a character.

        Few programs quote what they write with tabs, and a cell may begin with a quotation.
        """
        if self._delimiter != "\t" or (cells and len(self._taken) < 2):
            return False
        tabs = {line.count("\t") for line in self._taken}
        return tabs == {len(self.columns) - 1}


def is_table(path: str) -> bool:
    """Tell whether a file has the name of a table."""
    return path.lower().endswith(_SUFFIXES)


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
