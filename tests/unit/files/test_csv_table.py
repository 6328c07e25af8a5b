"""Rows of CSV, read one by one."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptforge.files.csv_table import TableReader


@pytest.mark.parametrize("row, cells", [
    ('1\t"Is it', ["1", '"Is it']),
    ('1\t"a" b', ["1", '"a" b']),
    ('1\t"a ""b"" c"', ["1", 'a "b" c']),
    ('1\t"two\nlines"', ["1", "two\nlines"]),
    ('"1"\t"two\n\nparts\t3"', ["1", "two\n\nparts\t3"]),
    ('1\t"tar" and "cpio"', ["1", '"tar" and "cpio"']),
])  # fmt: skip
def test_a_quotation_in_a_table_with_tabs_joins_no_rows(row: str, cells: list[str]) -> None:
    lines = f"id\ttext\n{row}\n2\tplain\n{row}\n".splitlines(keepends=True)
    table = TableReader(lines)
    assert list(table) == [cells, ["2", "plain"], cells]


@given(
    st.lists(st.lists(st.text("a\"\n,;\t|'é"), min_size=2, max_size=2), min_size=1),
    st.sampled_from(",;|\t"),
)
def test_rows_that_a_program_wrote_are_read_as_they_were(
    rows: list[list[str]], delimiter: str
) -> None:
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerows([["id", "text"], *rows])
    file.seek(0)
    table = TableReader(file)
    assert (table.columns, list(table)) == (["id", "text"], rows)
