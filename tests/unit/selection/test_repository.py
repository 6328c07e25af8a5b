"""The packing for repositories: importance, outlines, then whole files."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shipped_words import marks as shipped_marks

import promptforge as pf
from promptforge.selection.repository import (
    FileNames,
    cut_into_chunks,
    file_importance,
    find_shared_comments,
    rank_chunks,
)
from promptforge.trimming.code import divide
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
    importance = file_importance(items).ranks
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
    importance = file_importance(items).ranks
    assert importance[2] > importance[1]


def test_what_a_repository_is_built_of_comes_after_its_readme() -> None:
    paths = ["sub/package.json", "package.json", "README.md", "data.json"]
    items = [*(pf.Item(content="{}", path=path, kind="file") for path in paths), *_repository()]
    importance = file_importance(items).ranks
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
    readme, manifest, data, data_of_tests, test, program = file_importance(items).ranks
    assert readme > manifest == program > data > data_of_tests
    assert program > test


def test_a_module_that_was_built_twice_is_shown_once() -> None:
    names = ["a.js", "a.cjs", "a.mjs", "a.d.ts", "a.d.cts", "b.mjs", "c.ts"]
    items = [pf.Item(content="x = 1\n", path=f"dist/{name}", kind="code") for name in names]
    found = file_importance(items).ranks
    assert found[0] == found[3] == found[5] == found[6] > found[1] == found[2] == found[4]


def test_a_picture_is_less_than_a_text() -> None:
    paths = ["a/flow.svg", "b/a.json", "c.py"]
    found = file_importance([pf.Item(content="{}", path=path, kind="file") for path in paths]).ranks
    assert found[0] < found[1]


def _book(chapters: int) -> list[pf.Item]:
    prose = "The owner frees a value, and a borrower gives it back unharmed.\n" * 40
    listing = "fn take_back(value: Value) -> Value { value }\n" * 20
    return [
        pf.Item(content=prose, path="src/ch02.md", language="markdown", kind="file"),
        pf.Item(content=f"[Two](ch02.md)\n{prose}", path="src/SUMMARY.md", language="markdown"),
        *(
            pf.Item(content=prose, path=f"src/ch1{n}.md", language="markdown", kind="file")
            for n in range(chapters)
        ),
        pf.Item(content=listing, path="listings/ch02/main.rs", language="rust", kind="code"),
    ]


def test_chapters_of_a_book_come_before_its_listings() -> None:
    second, summary, *others, listing = file_importance(_book(4)).ranks
    assert summary > second > max(others)  # the list of chapters, and one that it names
    assert min(others) > listing


def test_settings_of_mdbook_at_the_top_tell_a_book_of_many_listings() -> None:
    chapter = pf.Item(
        content="# Two\n\nSays.\n", path="src/ch02.md", language="markdown", kind="file"
    )
    listing = pf.Item(content="fn f() {}\n" * 99, path="src/two.rs", language="rust", kind="code")
    settings = pf.Item(content="[book]\n", path="book.toml", language="toml", kind="file")
    ranks = file_importance([chapter, listing, settings]).ranks
    assert ranks[0] > ranks[1]
    ranks = file_importance([chapter, listing]).ranks
    assert ranks[0] < ranks[1]


def test_documents_of_a_program_come_after_it() -> None:
    programs = [
        pf.Item(content="x = 1\n" * 2000, path=f"src/a{n}.py", language="python", kind="code")
        for n in range(2)
    ]
    *documents, _, first, second = file_importance([*_book(1), *programs]).ranks
    assert max(documents) < first == second


def test_how_a_page_looks_comes_after_programs() -> None:
    items = [
        pf.Item(content="a {}\n" * 9, path="web/main.css", language="css", kind="code"),
        pf.Item(content="x = 1\n", path="web/other.py", language="python", kind="code"),
    ]
    style, program = file_importance(items).ranks
    assert style < program


def test_a_name_that_many_files_define_points_at_none() -> None:
    items = [pf.Item(content="def main(): return main()", path=f"{n}/cli.py") for n in range(20)]
    assert len(set(file_importance(items).ranks)) == 1
    assert file_importance([]).ranks == []


@pytest.mark.slow
def test_outlines_of_many_files_and_the_most_important_whole() -> None:
    items = _repository(40)
    result = _render(items, max_tokens=8000)
    assert result.tokens <= 8000
    statuses = {item.status for item in result.items}
    files = [msgspec.structs.replace(item, named=False) for item in items]  # as of a folder
    by_score = pf.render(files, max_tokens=8000)
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
    importance = file_importance([*items, pf.Item(kind="code", content=text, path=path)]).ranks
    assert max(importance) == importance[4]


def test_a_module_of_the_standard_library_is_no_file_of_its_name() -> None:
    items = [
        pf.Item(kind="code", content="import json", path="app/main.py"),
        pf.Item(kind="code", content="", path="app/trimming/json.py"),
        pf.Item(kind="code", content="", path="app/trimming/text.py"),
    ]
    importance = file_importance(items).ranks
    assert importance[1] == importance[2]


def test_tests_and_data_come_after_programs_and_what_changed_lately_before_equals() -> None:
    items = [
        pf.Item(kind="code", content="def one_thing(): pass", path="tests/test_one.py"),
        pf.Item(kind="file", content="{}", path="data.json"),
        pf.Item(kind="code", content="", path="old.py", metadata={"commits_ago": 90}),
        pf.Item(kind="code", content="", path="new.py", metadata={"commits_ago": 1}),
        pf.Item(kind="file", content="# All of it", path="README.md"),
    ]
    importance = file_importance(items).ranks
    order = sorted(range(5), key=lambda number: -importance[number])
    assert [items[number].path for number in order[:3]] == ["README.md", "new.py", "old.py"]


@pytest.mark.slow
def test_the_budget_that_is_named_shows_the_file_whole() -> None:
    items = _repository(40)
    result = _render(items)
    lost = [item for item in result.items if item.status != "included"]
    assert "lib/used.py" in {item.path for item in lost} or USED.rstrip() in result.text
    for item in lost[:3]:
        again = _render(items, max_tokens=item.fits_at)
        assert next(i.status for i in again.items if i.path == item.path) == "included"


@pytest.mark.parametrize("query", [None, "alpha beta"])
def test_one_long_file_is_shown_in_part_not_by_its_name(query: str | None) -> None:
    item = pf.Item(content="alpha beta gamma.\n" * 40, kind="text", path="a.txt")
    for share in (0.3, 0.6, 0.9):
        budget = int(pf.render([item]).tokens * share)
        result = pf.render([item], packing="repository", query=query, max_tokens=budget)
        assert result.items[0].form == "trimmed"
        assert result.tokens > budget / 2


@pytest.mark.parametrize("value", [-20, 10**400, None, "x", 5, [["x"]], [{}]])
def test_metadata_of_the_caller_by_these_names_breaks_nothing(value: object) -> None:
    about = dict.fromkeys(("commits_ago", "also_in", "also_text_of", "linguist"), value)
    items = [
        pf.Item(content=f"the text of {name} " * 99, path=path, metadata=about)
        for path, name in (("a", "a"), ("b", "a"), ("c", "c"))
    ]
    found = pf.render(items, packing="repository", tree=True, max_tokens=90)
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
    importance = file_importance(items).ranks
    assert max(importance) == importance[1]


def test_empty_files_are_no_duplicates() -> None:
    items = [pf.Item(kind="code", content="", path=f"{n}/__init__.py") for n in range(3)]
    result = pf.render([*items, pf.Item(content="x = 1", path="x.py")], max_tokens=None)
    assert [item.status for item in result.items] == ["included"] * 4
    assert not result.warnings


# --- chunks of files, and the query ---------------------------------------------------------------


POOL = """\
class Pool:
    def take_connection(self, wanted):
        while self.closed:
            self.wait_for_free(wanted)
        return self.free.pop()
"""
FILLER = "\n\n".join(
    f"def job_{number}(entry):\n"
    + "\n".join(f"    entry.step_{number}_{line}()" for line in range(12))
    for number in range(40)
)


def _large_repository(files: int = 20) -> list[pf.Item]:
    items = [
        _program(f"jobs/f{number}.py", FILLER.replace("job_", f"job_{number}_"))
        for number in range(files)
    ]
    return [*items, _program("net/pool.py", f"{FILLER}\n\n\n{POOL}\n\n{FILLER}")]


def _program(path: str, text: str) -> pf.Item:
    return pf.Item(kind="code", content=text, path=path, language="python")


def _ask(items: list[pf.Item], query: str, **options: Any) -> pf.Result:
    return pf.render(items, **{"query": query, "max_tokens": 800, **options})


@given(
    st.text(alphabet="ab \n\t#@)(:=XY_", max_size=400), st.sampled_from(["", "def f():\n", "\n"])
)
def test_chunks_joined_are_the_text(text: str, before: str) -> None:
    text = before * 30 + text
    chunks = list(cut_into_chunks(text))
    assert "".join(text[chunk.start : chunk.end] for chunk in chunks) == text
    assert all(text[chunk.start : chunk.end].count("\n") <= 60 for chunk in chunks)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_chunk_begins_before_a_definition(end: str) -> None:
    body = "".join(f"        self.step_{number}()\n" for number in range(12))
    text = f"class Store:\n    def read(self):\n{body}\n    def write(self):\n{body}"
    text = text.replace("\n", end)
    _, second = cut_into_chunks(text)
    assert text[second.start :].startswith("    def write")


def test_the_lines_that_answer_are_shown_and_the_rest_of_the_file_is_not() -> None:
    for packing in ("score", "repository"):
        result = _ask(
            _large_repository(), "when is a connection taken from the pool?", packing=packing
        )
        assert result.tokens <= 800
        assert "return self.free.pop()" in result.text and "class Pool:" in result.text
        assert "net/pool.py" in result.text.split("jobs/")[0]


def test_a_short_file_without_room_for_all_of_it_shows_what_answers() -> None:
    jobs = "\n\n".join(FILLER.split("\n\n")[:3])
    text = f"{jobs}\n\n\n{POOL}\n\n{jobs}"
    other = f"{FILLER}\n\n\ndef connection(entry):\n    entry.take()\n"
    items = [_program("net/pool.py", text), _program("jobs.py", other)]
    assert len(text) < 2_400
    found = _ask(items, "how does a pool take a connection", max_tokens=200)
    assert "return self.free.pop()" in found.text


def test_a_test_comes_after_the_program_unless_the_query_is_about_tests() -> None:
    said = "def test_seal():\n    seal = Seal()\n    seal.close()\n    assert seal.closed\n"
    program = "def close(entry):\n    entry.seal()\n"
    files = [("tests/test_seal.py", said), ("seal.py", program), ("jobs.py", FILLER)]
    assert [chunk.file for chunk in rank_chunks("when does a seal close", files)][:2] == [1, 0]
    assert rank_chunks("which test closes a seal", files)[0].file == 0


def test_a_translation_answers_a_query_in_its_language() -> None:
    english = "# Sidebar\n\nThe sidebar lists the pages of a folder.\n"
    german = "# Sidebar\n\nDie Seitenleiste zeigt die Seiten eines Ordners.\n"
    files = [("docs/de/sidebar.md", german), ("docs/sidebar.md", english)]
    assert rank_chunks("which pages does the sidebar list", files)[0].file == 1
    assert rank_chunks("Welche Seiten zeigt die Seitenleiste?", files)[0].file == 0


def test_only_a_word_itself_counts_for_its_rarity() -> None:
    often = FILLER.replace("(entry):", "(entry):\n    entry.timeout()")
    asked, other = (FILLER + f"\n\ndef {word}(entry):\n    return\n" for word in ("slow", "seal"))
    files = [("a.py", often), ("b.py", asked), *((f"c{n}.py", other) for n in range(3))]
    # That `timeout` stands everywhere makes "slow" no commoner.
    assert rank_chunks("slow seal", files)[0].file == 1
    # Nor is `timeout` as rare as "slow" for that.
    short = "\n\n".join(f"def job_{n}(entry):\n    return entry.timeout\n" for n in range(90))
    assert rank_chunks("slow seal", [("a.py", short), *files[1:]])[0].file == 1


@pytest.mark.parametrize(
    "name",
    [
        "net/slow.py",
        "`net/slow.py`",
        "slow.py:3-9,",
        "./net/slow.py",
        "net\\slow.py",
        "(see slow.py).",
        '"slow.py".',
        "slow.py's",
        "“slow.py”",
        "[slow.py](x)",
        "slow.py#L3",
        "Slow.PY",
        "/home/me/shop/net/slow.py",
    ],
)
def test_a_file_is_named_in_any_usual_way(name: str) -> None:
    assert FileNames(["net/fast.py", "net/slow.py"]).find(f"what of {name} is used").keys() == {1}


@pytest.mark.parametrize(
    "place",
    [
        'File "/srv/app/net/slow.py", line 7, in run',
        r'File "C:\srv\net\slow.py", line 7',
        "at run (file:///srv/net/slow.py:7:5)",
        "net/slow.py#L7-L9",
        "slow.py(7,5): error",
        "in /srv/net/slow.py:line 7",
        "slow.py on line 7",
        "see line 3 of fast.c, then slow.py line 7",
    ],
)
def test_a_line_of_a_file_is_named_in_any_usual_way(place: str) -> None:
    assert FileNames(["net/fast.py", "net/slow.py"]).find(place) == {1: {7}}


def _many_jobs(name: str) -> str:
    return "\n\n".join(
        f"def {name}_{n}(entry):\n    entry.open()\n    entry.{name}({n})\n    return entry"
        for n in range(60)
    )


@pytest.mark.parametrize("packing", ["score", "repository"])
def test_a_line_that_the_query_names_is_shown(packing: str) -> None:
    items = [_program(f"{name}.py", _many_jobs(name)) for name in ("read", "sort", "send")]
    lines = _many_jobs("sort").split("\n")
    number = lines.index("    entry.sort(40)") + 1
    found = _ask(items, f"why does sort.py:{number} fail?", packing=packing)
    assert "entry.sort(40)" in found.text and found.tokens <= 800


@pytest.mark.parametrize("name", ["error.txt", "pytest.log", "notes.md"])
def test_the_files_of_a_named_trace_come_before_others(tmp_path: Path, name: str) -> None:
    (tmp_path / "shop").mkdir()
    for job in ("read", "sort", "send", "fail"):
        (tmp_path / "shop" / f"{job}.py").write_text(_many_jobs(job))
    number = _many_jobs("sort").split("\n").index("    entry.sort(40)") + 1
    trace = (
        f'  File "/srv/shop/sort.py", line {number}, in sort_40\n    entry.sort(40)\nValueError: x'
    )
    (tmp_path / name).write_text(f"Traceback (most recent call last):\n{trace}\n")
    items = pf.load("shop", name, workspace=tmp_path)
    text = pf.render(items, query="Why does this happen?", max_tokens=900).text
    assert text.count("entry.sort(40)") == 2 and "ValueError: x" in text
    both = pf.render(items, query="Where is entry.send 12 done?", max_tokens=1_200).text
    assert both.count("entry.sort(40)") == 2 and "entry.send(12)" in both


def test_what_a_named_diff_changes_is_shown_beside_it(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    for job in ("read", "sort", "send", "fail"):
        (tmp_path / "shop" / f"{job}.py").write_text(_many_jobs(job))
    changed = "-    entry.sort(40)\n+    entry.sort(41, stable=True)\n"
    head = "diff --git a/shop/sort.py b/shop/sort.py\n--- a/shop/sort.py\n+++ b/shop/sort.py\n"
    hunk = (
        f"@@ -202,3 +202,3 @@ def sort_40(entry):\n     entry.open()\n{changed}     return entry\n"
    )
    (tmp_path / "change.diff").write_text(head + hunk)
    items = pf.load("shop", "change.diff", workspace=tmp_path)
    text = pf.render(items, query="Review this change", max_tokens=900).text
    assert "+    entry.sort(41, stable=True)" in text and "def sort_40(entry):\n" in text


@pytest.mark.parametrize("packing", ["score", "repository"])
def test_a_file_that_the_query_names_answers_before_others(packing: str) -> None:
    slow = FILLER.replace("job_", "wait_") + "\n\ndef take(entry):\n    entry.sleep(4)\n"
    items = [*_large_repository(), _program("net/slow.py", slow)]
    found = _ask(items, "how does net/slow.py take a connection from the pool?", packing=packing)
    assert "entry.sleep(4)" in found.text and found.tokens <= 800


def test_a_named_file_has_all_of_the_room_that_it_needs() -> None:
    def text(name: str) -> str:
        return "\n\n".join(f"def {name}_{n}(entry):\n    return entry[{n}]" for n in range(90))

    items = [_program(f"m{n}.py", text("abc"[n])) for n in range(3)]
    shown = _ask(items, "explain m2.py").text
    assert shown.count("def c_") > 30 and "def a_" not in shown


def test_a_name_in_passing_takes_little_room_from_the_answer() -> None:
    calls = "\n\n".join(f"def job_{n}(entry):\n    return entry[{n}]" for n in range(90))
    answer = "\n\n".join(
        f"def retry_login_{n}(user):\n    return user.login(retry={n})" for n in range(30)
    )
    items = [_program("auth.py", answer), _program("app.py", calls)]
    found = _ask(items, "where is the retry of login, called from app.py?").text
    assert found.count("user.login(") == 30


def test_a_name_of_several_files_or_of_none_names_none() -> None:
    paths = [*(f"{n}/index.ts" for n in range(2)), "app/[id]/page.tsx", "v1.2", "x/0/index.ts"]
    assert FileNames(paths).find("index.ts, v1.2, then vue.js") == {}
    named = FileNames(paths).find("0/index.ts; 1/index.ts page.tsx app/[id]/page.tsx.")
    assert named.keys() == {0, 1, 2}
    assert FileNames(paths).find("index " * 9_999 + " ".join(paths) * 999)


def test_names_of_the_next_best_files_follow_the_passages() -> None:
    result = _ask(
        _large_repository(),
        "which step takes the entry of a job, and the pool?",
        packing="repository",
    )
    stubs = [item for item in result.items if item.status == "trimmed" and item.tokens < 40]
    assert len(stubs) >= 2 and result.tokens <= 800


def test_without_a_word_of_the_query_all_is_as_without_a_query() -> None:
    items = _large_repository(3)
    assert _ask(items, "zzzz qqqq").text == _ask(items, "").text


def test_equal_items_in_any_order_give_the_same_chunks() -> None:
    files = [(item.path or "", item.content or "") for item in _large_repository(6)]
    shuffled = random.Random(3).sample(files, len(files))
    query = "when is a connection taken from the pool?"

    def shown(given: list[tuple[str, str]]) -> set[tuple[str, int, float]]:
        return {
            (given[chunk.file][0], chunk.start, round(chunk.worth, 9))
            for chunk in rank_chunks(query, given)
        }

    assert shown(files) == shown(shuffled)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["a" * 3_000_000, "\n" * 300_000, "def f\n" * 100_000, " " * 10**6]
)
def test_chunks_of_hostile_texts_take_linear_time(text: str) -> None:
    started = time.process_time()
    rank_chunks("def f", [("x.py", text)])
    assert time.process_time() - started < 5


def test_scores_of_the_caller_and_other_kinds_keep_the_old_way() -> None:
    items = [
        pf.Item(content=f"Paris is city {n}. " * 30, path=f"{n}.md", kind="document")
        for n in range(3)
    ]
    assert _ask(items, "which city is Paris", max_tokens=200).tokens <= 200


def test_a_chunk_without_room_shows_its_beginning_before_a_lesser_one_is_shown() -> None:
    def method(name: str, lines: int) -> str:
        body = "".join(
            f"        int {name}{i} = store.read({i}) + total({i});\n" for i in range(lines)
        )
        return f"    public Order {name}(Order order) {{\n{body}        return order;\n    }}\n"

    text = f"public class Orders {{\n{method('place', 3)}\n{method('refund', 40)}}}\n"
    items = [
        pf.Item(kind="code", path="src/Orders.java", content=text),
        _program("ledger.py", "def pay(customer):\n    lines.append(customer)\n"),
    ]
    for budget in (150, 250, 500):
        shown = _ask(items, "refund an order", max_tokens=budget).text
        assert "Order refund(Order order)" in shown
        assert "refund0" in shown, budget
        assert "place2" not in shown or "refund20" in shown


def test_of_a_chunk_without_room_the_entries_with_the_words_are_shown() -> None:
    names = ["home", "search", "back", "privacy", "licences", "loading", "feedback", "theme"]
    entries = "".join(
        f'  <string name="settings_{name}">The words on a button</string>\n' for name in names
    )
    settings = pf.Item(
        kind="file", path="res/strings.xml", language="xml", content=f"<r>\n{entries}</r>\n"
    )
    shown = pf.Renderer().render(
        [*_large_repository(3), settings], query="where is the theme", max_tokens=90
    )
    assert "settings_theme" in shown.text and "settings_search" not in shown.text


def test_a_diff_among_the_files_leaves_them_a_repository() -> None:
    change = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
    diff = pf.Item(kind="diff", path="x.py", content=change, language="diff")
    query = "where is the code slow?"  # only a repository is asked for words of related meaning
    late = _program("net/late.py", f"{FILLER}\n\n\ndef late():\n    raise Timeout()\n")
    for items in ([*_large_repository(), late], [*_large_repository(), late, diff]):
        assert "raise Timeout()" in _ask(items, query).text


def test_a_diff_is_found_by_its_words_among_the_files() -> None:
    around = "".join(f" def job_{line}(): pass\n" for line in range(40))
    change = f"--- a/net/x.py\n+++ b/net/x.py\n@@ -1,81 +1,81 @@\n{around}-    raise Overdrawn\n+    warn_overdrawn()\n{around}"
    diff = pf.Item(kind="diff", path="net/x.py", content=change, language="diff")
    shown = _ask([*_large_repository(), diff], "account overdrawn", max_tokens=300).text
    assert "+++ b/net/x.py" in shown
    assert "+    warn_overdrawn()" in shown


def test_at_most_asks_for_a_limit_and_again_for_a_retry() -> None:
    files = [("a.py", FILLER), ("b.py", "limit = 40\n"), ("c.py", "retry = 3\n")]
    assert rank_chunks("how much at most", files)[0].file == 1
    assert rank_chunks("what is done again", files)[0].file == 2


LICENCE = """\
#  {name}
#  Copyright (c) {year} The Authors of the Sluice
#
#  Permission is granted to open, close and refill each sluice, if the water is left as it was.
#  The sluice is given as it is, without any promise that its gate closes at flood.
"""


def _licensed(number: int, text: str) -> pf.Item:
    path = f"gates/gate_{number}.py"
    notice = LICENCE.format(name=f"gate_{number}.py", year=2010 + number)
    return _program(path, f"{notice}\n{text}")


def test_a_comment_that_many_files_begin_with_is_known_with_other_years_and_names() -> None:
    items = [
        _licensed(number, f"# Gate {'abcd'[number]}.\nopen = {number}\n") for number in range(4)
    ]
    items += [_program("plain.py", FILLER), _program("other.py", f"# Own.\n{FILLER}")]
    places = find_shared_comments(items)
    assert [bool(end) for _, end in places] == [False, True, True, True, False, False]
    for item, (start, end) in zip(items[1:4], places[1:4], strict=True):
        assert start == 0
        assert (item.content or "")[end:].startswith("# Gate ")
    assert not any(end for _, end in find_shared_comments(items[:2]))  # too few


@pytest.mark.parametrize(
    ("before", "opener", "closer", "kind"),
    [
        ("", "/*\n", "*/\n", "code"),
        ("<?php\n", "/**\n", "*/\n", "code"),
        ("", "<!--\n", "-->\n", "document"),
        ("", "", "", "document"),  # a heading, and no comment
    ],
)
def test_a_comment_of_several_lines_is_shared_as_a_whole(
    before: str, opener: str, closer: str, kind: str
) -> None:
    texts = [f"{before}{opener}{LICENCE}{closer}/* {n} */ f({n});\n" for n in range(3)]
    items = [
        pf.Item(kind=kind, content=text, path=f"{number}.x") for number, text in enumerate(texts)
    ]
    start, end = find_shared_comments(items)[2]
    expected = before + opener + LICENCE + closer if opener else ""
    assert texts[2][:end] == expected
    assert texts[2][:start] == (before if opener else "")


def test_a_licence_is_shown_once_and_its_words_are_no_answer() -> None:
    text = "import water\n\n\ndef refill(gate):\n    return water.rise(gate)\n"
    items = [_licensed(number, text.replace("gate", f"gate_{number}")) for number in range(9)]
    items += [_program("flood.py", f"{FILLER}\n\n\ndef refill_at_flood():\n    pass\n")]
    result = _ask(items, "where is a sluice refilled at flood", max_tokens=700)
    assert result.text.count("Permission is granted") <= 1
    assert "def refill_at_flood" in result.text
    shown = [item for item in result.items if item.status == "trimmed"]
    assert "…" in result.text
    assert len(shown) > 4


def test_the_text_of_a_licence_answers_only_who_asks_for_it() -> None:
    terms = "The Work is what the licensor puts to work.\n\nA Pool of works is a Work.\n\n" * 20
    items = [*_large_repository(), pf.Item(kind="file", content=terms, path="LICENSE.txt")]
    assert "LICENSE" not in _ask(items, "how does the pool work").text
    assert "LICENSE" in _ask(items, "what does the license say of a pool").text


MENU = "".join(f'<li><a href="/{n}.html">Pool {n}</a></li>\n' for n in range(30))
PAGE = f"<html><body><nav><ul>{MENU}</ul></nav><main><p>A pool holds free connections.</p></main>"


@pytest.mark.parametrize(
    ("query", "menu"), [("which connections does a pool hold", False), ("pool 17", True)]
)
def test_the_menu_of_a_page_is_shown_where_it_alone_has_a_word(query: str, menu: bool) -> None:
    items = [*_large_repository(4), pf.Item(kind="file", content=PAGE, path="pool.html")]
    result = _ask(items, query, max_tokens=1200)
    assert ("Pool 17<" in result.text) == menu
    assert menu or "<p>A pool holds free connections.</p>" in result.text


def test_the_pieces_in_a_part_of_a_text_go_first() -> None:
    comment = "# Permission is granted to all who ask for it.\n" * 6
    text = f"{comment}\nimport os\n\n\ndef f():\n    a = 1\n    return a\n"
    pieces = divide(text, marks=shipped_marks("[cut]"), language="none")
    assert pieces is not None
    apart = pieces.with_first_to_go(0, len(comment))
    first = [part.text for part in apart.parts if part.keep < 0]
    assert "".join(first).rstrip() == comment.rstrip()
    assert pieces.with_first_to_go(1, len(comment)).parts[0].keep >= 0


@pytest.mark.parametrize("numbered", [False, True])
def test_without_a_query_a_shared_licence_is_left_out_with_a_mark(numbered: bool) -> None:
    body = "".join(f"    gate.step_{line}()\n" for line in range(6))
    items = [
        _licensed(number, "\n\n".join(f"def turn_{number}_{n}(gate):\n{body}" for n in range(3)))
        for number in range(40)
    ]
    options: dict[str, Any] = {"packing": "repository", "lines": "each" if numbered else "range"}
    tight = pf.render(items, max_tokens=6_500, **options)
    assert tight.text.count("Permission is granted") <= 4  # the last ones have room over
    whole = re.findall(r"# …\n(?:\s*7\S* )?def turn_\d+_0", tight.text)
    assert len(whole) > 20
    assert sum(item.status == "included" for item in tight.items) <= 4
    # Where all have room nothing is left out.
    wide = pf.render(items, max_tokens=100_000, **options)
    assert wide.text.count("Permission is granted") == 40
    assert {item.status for item in wide.items} == {"included"}


@pytest.mark.parametrize(
    ("query", "shown", "changed"),
    [
        ("how long does a job wait before it is retried", True, False),
        ("in which version was the wait of a job changed", False, True),
    ],
)
def test_a_list_of_changes_answers_where_the_query_asks_for_changes(
    query: str, shown: bool, changed: bool
) -> None:
    lines = "".join(
        f"## {n}.0\n\n- The wait before a job is retried was changed for case {n}.\n\n"
        for n in range(120)
    )
    program = "module Retry\n  def self.wait_for(count)\n    (count**4) + 15\n  end\nend\n"
    others = [
        pf.Item(content=f"def part_{n}; end\n" * 400, path=f"lib/part_{n}.rb", kind="code")
        for n in range(3)
    ]
    items = [
        pf.Item(content=f"# Changes\n\n{lines}", path="CHANGELOG.md", kind="file"),
        pf.Item(content=program, path="lib/retry.rb", kind="code"),
        *others,
    ]
    text = pf.render(items, packing="repository", query=query, max_tokens=700).text
    assert ("count**4" in text) >= shown
    assert ("was changed for case" in text) == changed
    assert "part_0; end" not in text  # a part of what says nothing of the query
