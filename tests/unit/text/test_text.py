"""The tables that come with the package, beside its code."""

from __future__ import annotations

import pytest
from places import PACKAGE

from promptforge.text import table_text


def test_a_table_is_the_file_beside_the_code() -> None:
    for path in (PACKAGE / "text").glob("*.txt"):
        assert table_text(path.stem) == path.read_text(encoding="utf-8")


def test_a_table_that_is_not_there_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        table_text("no-such-table")
