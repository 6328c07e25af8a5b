"""Read the rows of CSV one by one, for items and for a batch."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from itertools import chain

_SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".csv.zst", ".tsv.zst")
MAX_CELL_CHARACTERS = 64 << 20
"""Characters of one cell, which may hold a list of long texts."""


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
            if (wrong or len(cells) != len(self.columns)) and self._are_rows(cells):
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
