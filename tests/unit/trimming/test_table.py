"""Shorter tables keep their first row."""

from __future__ import annotations

import promptforge as pf


def test_the_first_row_of_a_table_always_stays() -> None:
    text = "id,name\n" + "".join(f"{number},user{number}\n" for number in range(200))
    item = pf.Item(content=text, path="users.csv", kind="file", language="csv")
    for query, wanted in ((None, "0,user0\n"), ("which number has user77", "77,user77\n")):
        shown = pf.render([item], max_tokens=80, query=query).text
        assert "id,name\n" in shown and wanted in shown
