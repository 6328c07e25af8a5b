"""Native records become items at once; all others are left to `records`."""

from __future__ import annotations

from typing import Any

import pytest

from promptforge.model import Item
from promptforge.sources.native import guarded, read_flawless, read_native

MADE = [Item(content="a"), Item(summary="b", path="b.md", metadata={"page": 3})]


def test_items_and_their_fields_are_read_at_once() -> None:
    fields = [{"content": "a"}, {"summary": "b", "path": "b.md", "metadata": {"page": 3}}]
    assert read_flawless(MADE) == read_flawless(fields) == MADE
    assert [read_native(each) for each in fields] == MADE


def test_nested_metadata_is_copied() -> None:
    tags = ["x"]
    found = read_flawless([{"content": "a", "name": "a", "metadata": {"tags": tags}}])
    assert found is not None and len(found) == 1
    tags.append("y")
    assert found[0].metadata == {"tags": ["x"]}


@pytest.mark.parametrize(
    "record",
    [
        "a", {"text": "a"}, {"content": 3}, {"content": "a", "score": float("nan")},
        {"content": "a", "metadata": {"at": object()}},
        {"content": "a", "metadata": {"source_type": "wiki"}},
        {"content": "a", "metadata": {"source": "a.md"}},
    ],
)  # fmt: skip
def test_what_needs_a_conversion_is_none_and_so_is_its_list(record: Any) -> None:
    assert read_native(record) is None
    assert read_flawless([{"content": "a"}, record]) is None


def test_an_object_that_raises_is_none_and_an_interrupt_passes() -> None:
    assert guarded(lambda given: given.missing)(3) is None

    def interrupt(given: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        guarded(interrupt)(3)
