"""The tree: the folders and files of a text before it, with their tokens."""

from __future__ import annotations

import json
import re
from typing import Any

import cmarkgfm  # type: ignore[import-untyped]
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

import promptforge as pf
from promptforge.selection.group import TreeEntry, file_tree

PATHS = ("src/core/page.py", "src/core/text.py", "docs/guide.md", "README.md")
LAYOUTS = ("chunks", "chunks-compact", "context", "documents", "entities", "knowledge", "cited")


def _items() -> list[pf.Item]:
    return [pf.Item(content=f"words of {path}\n" * 3, path=path) for path in PATHS]


def _render(**options: Any) -> pf.Result:
    return pf.render(_items(), **{"tree": True, "max_tokens": 2000, **options})


def test_the_tree_names_folders_and_files_with_their_tokens() -> None:
    text = _render().text
    rows = text[: text.index("###")].split("\n")
    names = [re.sub(r" \(\d+ tokens\)", "", row) for row in rows if row]
    assert names == [
        "- docs/", "  - guide.md", "- src/core/", "  - page.py", "  - text.py", "- README.md",
    ]  # fmt: skip
    tokens = [int(number) for number in re.findall(r"\((\d+) tokens\)", text)]
    assert tokens[0] == tokens[1] > 0
    assert tokens[2] == tokens[3] + tokens[4]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("form", ["markdown", "xml", "json", "yaml", "plain"])
def test_every_layout_and_format_has_a_tree(layout: str, form: str) -> None:
    if layout == "cited" and form != "plain":
        pytest.skip("cited has one format")
    text = _render(layout=layout, format=form).text
    without = _render(layout=layout, format=form, tree=False).text
    assert text.count("guide.md") == without.count("guide.md") + 1
    if form == "json":
        folders = [row["path"] for row in json.loads(text)["tree"] if row["folder"]]
    elif form == "yaml":
        folders = [row["path"] for row in yaml.safe_load(text)["tree"] if row["folder"]]
    elif form == "xml":
        root = etree.fromstring(f"<all>{text}</all>")
        folders = [row.get("path") for row in root.findall(".//tree/folder")]
    else:
        return
    assert folders == ["docs/", "src/core/"]


def test_without_a_path_there_is_no_tree() -> None:
    given = [pf.Item(content="words", name="a")]
    assert pf.render(given, tree=True).text == pf.render(given).text


@pytest.mark.parametrize("budget", [10, 40, 80, 120, 200])
def test_the_tree_is_inside_the_budget_and_names_what_is_shown(budget: int) -> None:
    result = _render(max_tokens=budget)
    assert result.tokens <= budget
    for item in _items():
        shown = any(source.path == item.path for source in result.sources)
        name = (item.path or "").rsplit("/", 1)[-1]
        assert (f"- {name} (" in result.text) == shown


def test_a_budget_in_characters_counts_tokens_for_the_tree_too() -> None:
    text = pf.render(_items(), tree=True, max_tokens=None, max_chars=2000).text
    assert "(0 tokens)" not in text


def test_the_name_of_a_file_stays_a_name() -> None:
    path = "a/<b>\n- x/![y](z)<img src=x>"
    text = pf.render([pf.Item(content="words", path=path)], tree=True).text
    tree = text[: text.index("###")]
    page = cmarkgfm.github_flavored_markdown_to_html(tree)
    assert "<img" not in page.replace("&lt;img", "")
    assert page.count("<li>") == 2


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


def test_a_path_of_very_many_folders_makes_one_row() -> None:
    path = "a/" * 100_000 + "b.py"
    rows = file_tree({path: 1})
    assert [row.path for row in rows] == [path[: -len("b.py")], path]
