"""The packing for repositories: importance, outlines, then whole files."""

from __future__ import annotations

from typing import Any

import pytest

import promptforge as pf
from promptforge.selection.repository import file_importance
from promptforge.trimming.syntax_tree import defined_names

USED = "def shared_helper(value):\n" + "    value += 1\n" * 40 + "    return value\n"


def _repository(files: int = 12) -> list[pf.Item]:
    """Return files that all use the last one."""
    items = []
    for number in range(files):
        body = f"def task_{number}_alone(entry):\n" + f"    entry = entry + {number}\n" * 150
        text = f"from used import shared_helper\n\n\n{body}    return shared_helper(entry)\n"
        items.append(pf.Item(content=text, path=f"tasks/task_{number}.py", language="python"))
    return [*items, pf.Item(content=USED, path="lib/used.py", language="python")]


def _render(items: list[pf.Item], **options: Any) -> pf.Result:
    return pf.render(items, **{"packing": "repository", "max_tokens": 1500, **options})


def test_what_all_use_is_the_most_important() -> None:
    items = _repository()
    importance = file_importance(items)
    assert max(importance) == importance[-1]


def test_importance_passes_on() -> None:
    """Of two files that each one other uses, the one that the important file uses comes first."""
    items = [
        pf.Item(content="def lonely_caller(): return hidden_helper()", path="lonely.py"),
        pf.Item(content="def hidden_helper(): return 1", path="hidden.py"),
        pf.Item(content="def needed_deeply(): return 1", path="deep.py"),
        pf.Item(content="def central_place(): return needed_deeply()", path="central.py"),
        *(pf.Item(content=f"x_{n} = central_place()", path=f"user_{n}.py") for n in range(5)),
    ]
    importance = file_importance(items)
    assert importance[2] > importance[1]


def test_what_a_repository_is_built_of_comes_after_its_readme() -> None:
    paths = ["sub/package.json", "package.json", "README.md", "data.json"]
    items = [*(pf.Item(content="{}", path=path, kind="file") for path in paths), *_repository()]
    importance = file_importance(items)
    order = sorted(range(len(items)), key=lambda index: -importance[index])
    assert [items[index].path for index in order[:3]] == [
        "README.md",
        *sorted(("package.json", "lib/used.py"), reverse=True),
    ]
    assert importance[0] == importance[3]


@pytest.mark.parametrize("lead", ["shop/", "/home/ada/examples/shop/", "../tests/shop/"])
def test_a_folder_is_the_same_repository_from_elsewhere(lead: str) -> None:
    paths = ["README.md", "package.json", "a.json", "tests/test_a.py"]
    items = [
        *(pf.Item(content="{}", path=f"{lead}{path}", kind="file") for path in paths),
        pf.Item(content="x = 1\n", path=f"{lead}tests/b.py", kind="code", language="python"),
        pf.Item(content="x = 1\n", path=f"{lead}b.py", kind="code", language="python"),
    ]
    readme, manifest, data, data_of_tests, test, program = file_importance(items)
    assert readme > manifest == program > data > data_of_tests
    assert program > test


def test_a_module_that_was_built_twice_is_shown_once() -> None:
    names = ["a.js", "a.cjs", "a.mjs", "a.d.ts", "a.d.cts", "b.mjs", "c.ts"]
    items = [pf.Item(content="x = 1\n", path=f"dist/{name}", kind="code") for name in names]
    found = file_importance(items)
    assert found[0] == found[3] == found[5] == found[6] > found[1] == found[2] == found[4]


def test_a_picture_is_less_than_a_text() -> None:
    paths = ["a/flow.svg", "b/a.json", "c.py"]
    found = file_importance([pf.Item(content="{}", path=path, kind="file") for path in paths])
    assert found[0] < found[1]


def test_a_name_that_many_files_define_points_at_none() -> None:
    items = [pf.Item(content="def main(): return main()", path=f"{n}/cli.py") for n in range(20)]
    assert len(set(file_importance(items))) == 1
    assert file_importance([]) == []


def test_outlines_of_many_files_and_the_most_important_whole() -> None:
    items = _repository(40)
    result = _render(items, max_tokens=8000)
    assert result.tokens <= 8000
    statuses = {item.status for item in result.items}
    by_score = pf.render(items, max_tokens=8000)
    assert len(result.sources) > 2 * len(by_score.sources)
    assert USED.rstrip() in result.text
    assert "trimmed" in statuses


def test_a_readme_has_a_tenth_and_no_file_is_a_bare_heading() -> None:
    sections = "\n\n".join(f"## Part {n}\n\n" + f"Word {n} of it. " * 30 for n in range(30))
    readme = pf.Item(content=f"# Tool\n\nDoes work.\n\n{sections}\n", path="README.md")
    result = _render([readme, *_repository(60)], max_tokens=4000)
    assert result.items[0].tokens > 300
    assert "## Part 29" in result.text and "Word 0 of it." in result.text
    shown = [item for item in result.items if item.status != "dropped"]
    assert len(shown) > 30 and all("def " in item.text for item in shown[1:])


def test_all_of_it_where_it_fits() -> None:
    items = _repository(3)
    whole = _render(items, max_tokens=20_000)
    assert [item.status for item in whole.items] == ["included"] * 4


def test_given_scores_count_more_than_importance() -> None:
    items = _repository()
    scored = [
        pf.Item(content=i.content, path=i.path, score=1 - n / 100) for n, i in enumerate(items)
    ]
    result = _render(scored, max_tokens=700)
    assert result.sources[0].path == "tasks/task_0.py"


@pytest.mark.parametrize("most", [0, 1, 5])
def test_the_number_of_found_items_is_kept(most: int) -> None:
    items = _repository()
    found = [pf.Item(content=i.content, path=i.path, origin="similarity") for i in items]
    result = _render(found, max_items=most)
    assert len(result.sources) <= most
    dropped = [item for item in result.items if item.status == "dropped"]
    assert {item.reason for item in dropped} == {"max_items"}


@pytest.mark.parametrize("limits", [{"max_chars": 4000, "max_tokens": None}, {"trim": "none"}])
def test_other_limits_hold_too(limits: dict[str, Any]) -> None:
    result = _render(_repository(), **limits)
    assert result.sources
    assert len(result.text) <= 6000


@pytest.mark.parametrize(
    ("path", "text", "target"),
    [
        ("a/b/task.py", "from ..net.pool import take", "a/net/pool.py"),
        ("a/b/task.py", "from ..net import pool", "a/net/pool.py"),
        ("a/b/task.py", "import a.net.pool", "a/net/pool.py"),
        ("b.py", "from src_pkg import thing", "src/src_pkg/__init__.py"),
        ("web/page.js", 'import { draw } from "./lib/dom.js";', "web/lib/dom.js"),
        ("web/page.js", "const dom = require('./lib')", "web/lib/index.js"),
        ("web/page.js", f"import {{ {'a, ' * 99}b }} from './lib'", "web/lib/index.js"),
        ("src/task.c", '#include "net/pool.h"', "src/net/pool.h"),
        ("src/task.rs", "use crate::store::Shard;", "src/store.rs"),
        ("cmd/task.go", 'import (\n\t"acme.org/tool/net/pool"\n)', "net/pool/pool.go"),
        ("x/Task.java", "import com.acme.net.Pool;", "src/main/java/com/acme/net/Pool.java"),
    ],
)
def test_what_a_program_imports_gains_most(path: str, text: str, target: str) -> None:
    others = ["other/json.py", "deep/re.py", "else/util.py", "src/lib.rs"]
    items = [pf.Item(kind="code", content="", path=name) for name in [*others, target]]
    importance = file_importance([*items, pf.Item(kind="code", content=text, path=path)])
    assert max(importance) == importance[4]


def test_a_module_of_the_standard_library_is_no_file_of_its_name() -> None:
    items = [
        pf.Item(kind="code", content="import json", path="app/main.py"),
        pf.Item(kind="code", content="", path="app/trimming/json.py"),
        pf.Item(kind="code", content="", path="app/trimming/text.py"),
    ]
    importance = file_importance(items)
    assert importance[1] == importance[2]


def test_tests_and_data_come_after_programs_and_what_changed_lately_before_equals() -> None:
    items = [
        pf.Item(kind="code", content="def one_thing(): pass", path="tests/test_one.py"),
        pf.Item(kind="file", content="{}", path="data.json"),
        pf.Item(kind="code", content="", path="old.py", metadata={"commits_ago": 90}),
        pf.Item(kind="code", content="", path="new.py", metadata={"commits_ago": 1}),
        pf.Item(kind="file", content="# All of it", path="README.md"),
    ]
    importance = file_importance(items)
    order = sorted(range(5), key=lambda number: -importance[number])
    assert [items[number].path for number in order[:3]] == ["README.md", "new.py", "old.py"]


@pytest.mark.slow
def test_the_budget_that_is_named_shows_the_file_whole() -> None:
    items = _repository(40)
    result = _render(items)
    known = {item.path: item.fits_at for item in result.items if item.fits_at}
    assert "lib/used.py" in known or USED.rstrip() in result.text
    for path, budget in [*known.items()][:3]:
        again = _render(items, max_tokens=budget)
        assert next(i.status for i in again.items if i.path == path) == "included"


@pytest.mark.parametrize("query", [None, "alpha beta"])
def test_one_long_file_is_shown_in_part_not_by_its_name(query: str | None) -> None:
    item = pf.Item(content="alpha beta gamma.\n" * 40, kind="text", path="a.txt")
    for share in (0.3, 0.6, 0.9):
        budget = int(pf.render([item]).tokens * share)
        result = pf.render([item], packing="repository", query=query, max_tokens=budget)
        assert result.items[0].form == "trimmed"
        assert result.tokens > budget / 2


@pytest.mark.parametrize("value", [-20, 10**400, None, "x", 5])
def test_metadata_of_the_caller_by_these_names_breaks_nothing(value: object) -> None:
    about = {"commits_ago": value, "also_in": value}
    items = [
        pf.Item(content=f"the text of {name} " * 99, path=path, metadata=about)
        for path, name in (("a", "a"), ("b", "a"), ("c", "c"))
    ]
    found = pf.render(items, packing="repository", max_tokens=60)
    assert found.items[1].reason == "duplicate"


def test_the_names_of_a_program_of_many_declarations_are_read() -> None:
    """The parser's own reader ends after a share of work; names asked of it went on for ever."""
    wanted = {f"name_{number}" for number in range(3000)}
    text = "".join(f"function {name}() {{}}\n" for name in sorted(wanted))
    assert defined_names(text, "javascript") in (wanted, None)  # None: no grammar installed


@pytest.mark.slow
def test_the_most_important_outline_is_the_longest() -> None:
    """A core of a thousand functions had no more room than the smallest file around it."""
    names = [f"core_function_{n}" for n in range(200)]
    core = "".join(f"def {name}(value):\n    return value\n\n\n" for name in names)
    items = [pf.Item(content=core, path="pkg/core.py")]
    for number in range(12):
        body = "".join(
            f"def task_{number}_{n}(x):\n    return {names[n]}(x)\n\n" for n in range(90)
        )
        text = f"from .core import {', '.join(names[:90])}\n\n\n{body}"
        items.append(pf.Item(content=text, path=f"pkg/part_{number}.py"))
    first, *others = _render(items, max_tokens=4000).items
    assert first.path == "pkg/core.py"
    assert first.tokens > 1.9 * sorted(item.tokens for item in others)[len(others) // 2]


def test_changes_come_first_for_somebody_has_asked_for_them() -> None:
    change = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b"
    items = [*_repository(40), pf.Item(content=change, kind="diff", path="x.py")]
    result = _render(items, max_tokens=800)
    assert change in result.text


def test_a_program_that_a_user_starts_comes_before_its_equals() -> None:
    paths = ["a/other.py", "a/cli.py", "a/more.py"]
    items = [pf.Item(kind="code", content="x = 1", path=path) for path in paths]
    importance = file_importance(items)
    assert max(importance) == importance[1]


def test_empty_files_are_no_duplicates() -> None:
    items = [pf.Item(kind="code", content="", path=f"{n}/__init__.py") for n in range(3)]
    result = pf.render([*items, pf.Item(content="x = 1", path="x.py")], max_tokens=None)
    assert [item.status for item in result.items] == ["included"] * 4
    assert not result.warnings
