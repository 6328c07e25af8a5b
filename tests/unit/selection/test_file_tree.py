"""The tree of files: each folder has the tokens of all that it holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptforge.selection.file_tree import TreeEntry, file_tree

NAMES = st.text("abc", min_size=1, max_size=2)
TREES = st.dictionaries(
    st.lists(NAMES, min_size=1, max_size=5).map("/".join), st.integers(0, 99), max_size=12
)


@given(TREES)
def test_a_folder_holds_the_sum_of_what_is_below_it(tokens: dict[str, int]) -> None:
    entries = file_tree(tokens)
    files = {entry.path: entry.tokens for entry in entries if not entry.folder}
    assert files == tokens
    for entry in entries:
        if entry.folder:
            inside = (n for path, n in tokens.items() if path.startswith(entry.path))
            assert entry.tokens == sum(inside)
        above = [e for e in entries if e.folder and e is not entry and _holds(e, entry)]
        assert entry.depth == len(above)


def _holds(folder: TreeEntry, entry: TreeEntry) -> bool:
    return entry.path.startswith(folder.path) and entry.path != folder.path


@pytest.mark.slow
def test_a_path_of_very_many_folders_makes_one_row() -> None:
    path = "a/" * 100_000 + "b.py"
    rows = file_tree({path: 1})
    assert [row.path for row in rows] == [path[: -len("b.py")], path]
