"""What is gathered from files by a search: the passages that BM25 ranks first, and their limits."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from commandline import run
from example_counts import cases
from git_space import make
from hypothesis import given
from hypothesis import strategies as st

import promptforge as pf
from promptforge.errors import Diagnostics, ItemError
from promptforge.model import Item
from promptforge.sources import folders, text_files
from promptforge.sources.text_files import Search, split_lines
from promptforge.text.words import split_words, terms_of_text

WORDS = st.sampled_from(
    (
        "tar",
        "archive",
        "files",
        "gzip",
        "tape",
        "the",
        "of",
        "readLine",
        "read_line",
        "Größe",
        "圧縮",
    )
)
TEXT = st.lists(WORDS, min_size=1, max_size=30).map(" ".join)


@pytest.fixture
def space(tmp_path: Path) -> Path:
    for folder in ("src", "docs", "build", ".hidden", "src/gen", ".git"):
        (tmp_path / folder).mkdir()
    (tmp_path / ".gitignore").write_text("build/\n*.log\n!kept.log\n")
    (tmp_path / "src/gen/.gitignore").write_text("*.py\n!seen.py\n")
    for name in (
        "src/a.py",
        "build/b.py",
        ".hidden/c.py",
        "src/gen/d.py",
        "src/gen/seen.py",
        "old.log",
        "kept.log",
    ):
        (tmp_path / name).write_text(f"# archive, in {name}\n")
    (tmp_path / "docs/tar.md").write_text("# tar\n\nAn archive on tape. The exit status is 2.\n")
    (tmp_path / "docs/picture.png").write_bytes(b"\x89PNG archive\x00")
    return tmp_path


def load(space: Path, query: str, *paths: str) -> tuple[list[Item], list[str]]:
    diagnostics = Diagnostics()
    items = text_files.search_files(
        Search(query, paths or (".",)), workspace=space, diagnostics=diagnostics
    )
    return items, [f"{d.code} {d.where}: {d.message}" for d in diagnostics]


@given(query=TEXT, texts=st.lists(TEXT, min_size=1, max_size=12))
@cases(60)
def test_the_rank_is_that_of_bm25s(query: str, texts: list[str]) -> None:
    wanted = sorted(
        {
            term
            for term in terms_of_text(query)
            if any(term in terms_of_text(text) for text in texts)
        }
    )
    documents = [
        [t for t in terms_of_text(text) if t in terms_of_text(text + " tar")] for text in texts
    ]
    bm25s = pytest.importorskip("bm25s", reason="needs bm25s: pip install '.[test-all]'")
    judge = bm25s.BM25(method="lucene", k1=text_files.SEARCH_K1, b=text_files.SEARCH_B)
    judge.index(documents, show_progress=False)
    theirs = judge.get_scores(wanted) if wanted else [0.0] * len(texts)
    found = [
        worth / (text_files.SEARCH_K1 + 1) for worth in text_files.rank_texts(query, texts)
    ]  # a factor that Lucene leaves out
    assert found == pytest.approx(list(theirs), abs=1e-5)


def test_what_git_ignores_and_what_is_hidden_is_not_searched(space: Path) -> None:
    items, said = load(space, "archive")
    assert {item.path for item in items} == {
        "src/a.py",
        "src/gen/seen.py",
        "kept.log",
        "docs/tar.md",
    }
    assert said == ["PF608 .: skipped 1 file: 1 without text (docs/picture.png)"]


def test_a_file_that_is_named_is_searched_whatever_git_ignores(space: Path) -> None:
    items, said = load(space, "archive", "build/b.py", ".hidden/*.py", "build/b.py")
    assert [item.path for item in items] == ["build/b.py", ".hidden/c.py"]
    assert said == []


def test_a_folder_that_is_named_is_searched_too_and_what_its_repository_ignores_in_it_is_not(
    space: Path,
) -> None:
    assert [item.path for item in load(space, "archive", "build")[0]] == ["build/b.py"]
    (space / "src/x.log").write_text("archive")
    assert {item.path for item in load(space, "archive", "src")[0]} == {
        "src/a.py",
        "src/gen/seen.py",
    }
    assert {item.path for item in load(space, "archive", str(space / "src"))[0]} == {
        str(space / "src/a.py"),
        str(space / "src/gen/seen.py"),
    }


def test_files_above_the_repository_say_nothing(space: Path) -> None:
    (space / ".git").rmdir()
    (space / ".gitignore").write_text("*\n")
    assert len(load(space, "archive", "docs")[0]) == 1


def test_names_that_look_like_patterns_are_names_where_there_is_such_a_file(space: Path) -> None:
    (space / "src/[id]").mkdir()
    (space / "src/[id]/[a].tsx").write_text("archive")
    for path in ("src/[id]", "src/[id]/[a].tsx"):
        assert [item.path for item in load(space, "archive", path)[0]] == ["src/[id]/[a].tsx"]


def test_one_place_that_is_not_there_costs_only_itself(space: Path) -> None:
    items, said = load(space, "archive", "nowhere", "src")
    assert len(items) == 2
    assert [line.split(":")[0] for line in said] == ["PF606 nowhere"]


def test_texts_of_two_bytes_a_character_are_texts(space: Path) -> None:
    (space / "docs/wide.txt").write_text("archive", encoding="utf-16")
    assert "docs/wide.txt" in {item.path for item in load(space, "archive", "docs")[0]}


def test_bad_bytes_are_said_of_what_is_found_alone(space: Path) -> None:
    (space / "docs/bad.txt").write_bytes(b"\xff zebra")
    assert load(space, "archive", "docs")[1] == [
        "PF608 docs: skipped 1 file: 1 without text (picture.png)"
    ]
    assert load(space, "zebra", "docs")[1][-1].startswith("PF301 docs/bad.txt:1")


def test_what_is_found(space: Path) -> None:
    items, _ = load(space, "exit status of an archive", "docs", "src")
    best = items[0]
    assert (best.path, best.kind, best.language) == ("docs/tar.md", "file", "markdown")
    assert (best.start_line, best.end_line, best.score, best.origin) == (1, 3, 1.0, "similarity")
    assert all(0 < item.score <= 1 for item in items)
    assert [item.score for item in items] == sorted((item.score for item in items), reverse=True)


def test_a_long_file_is_found_in_passages_that_lie_between_blank_lines(tmp_path: Path) -> None:
    parts = [
        f"def part_{i}():\n" + "    work()\n" * 80 + f"\n    return {i}\n\n\n" for i in range(12)
    ]
    text = "".join(parts)
    (tmp_path / "long.py").write_text(text)
    lines = text.splitlines()
    items, _ = load(tmp_path, "work")
    assert len(items) == 12
    for item in items:
        assert item.start_line is not None and item.end_line is not None
        assert item.content == "\n".join(lines[item.start_line - 1 : item.end_line])
        assert item.content and item.content.startswith("def part_") and "return" in item.content
    assert load(tmp_path, "part_7")[0][0].start_line == 1 + 7 * 85


@given(
    text=st.text(alphabet=st.sampled_from("ab \n\r\té圧"), max_size=300), scale=st.integers(1, 40)
)
@cases(60)
def test_every_line_that_is_not_blank_is_in_one_passage(text: str, scale: int) -> None:
    whole = text * scale
    lines = split_lines(whole)
    taken: list[int] = []
    for passage in text_files._split_passages("a", whole):
        assert passage.start_line is not None and passage.end_line is not None
        text = "".join(lines[passage.start_line - 1 : passage.end_line])
        assert text in [f"{passage.content}{end}" for end in ("", "\n", "\r", "\r\n")]
        taken += range(passage.start_line, passage.end_line + 1)
    assert taken == sorted(set(taken))
    assert {number for number, line in enumerate(lines, 1) if line.strip()} <= set(taken)


@pytest.mark.parametrize(
    ("query", "path", "message"),
    [
        ("zebra", ".", 'no file holds a word of "zebra"'),
        ("the of", ".", 'no file holds a word of "the of"'),
        (" ", ".", "no words to look for"),
        ("tar", "nowhere", "cannot read it: no such file"),
        ("tar", "*.none", "no file matches"),
        ("tar", "../", "outside the workspace"),
        ("tar", "pipe", "not a file but a pipe"),
    ],
)
def test_a_search_that_cannot_be_done(query: str, path: str, message: str, space: Path) -> None:
    os.mkfifo(space / "pipe")
    with pytest.raises(ItemError) as caught:
        load(space, query, path)
    assert message in str(caught.value)


def test_a_file_too_large_to_be_searched_is_said(
    space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "MAX_LISTED_BYTES", 40)
    assert load(space, "archive", "docs", "src")[1] == [
        "PF608 docs: skipped 2 files: 1 larger than 0 MiB (tar.md), 1 without text (picture.png);"
        " name a file to include it",
        "PF606 docs: left out: a folder without files to read, but for those that are left out by"
        " default; --ignored reads them",
    ]


def test_the_command_takes_what_a_search_finds(
    space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(space)
    ran = run("render", "--search", "exit status", "--in", "docs", "--layout", "chunks")
    assert ran.code == 0 and "The exit status is 2." in ran.out
    (space / "job.yaml").write_text("search: {query: exit status, in: docs}\nmax_items: 1\n")
    assert run("render", "--job", "job.yaml", "--layout", "chunks").out == ran.out
    assert '"query": "exit status"' in run("render", "--job", "job.yaml", "--json").out
    other = run(
        "render",
        "--job",
        "job.yaml",
        "--search",
        "archive",
        "--in",
        "src",
        "--query",
        "gen",
        "--json",
    )
    assert '"query": "gen"' in other.out and "src/gen/seen.py" in other.out


def test_all_of_it_in_python(space: Path) -> None:
    items = pf.load(
        files=["src/*.py", "none.py"],
        documents=["docs/tar.md"],
        search="exit status",
        within=["docs"],
        workspace=space,
    )
    assert [(item.path, item.origin) for item in items] == [
        ("docs/tar.md", "explicit"), ("src/a.py", "explicit"), ("docs/tar.md", "similarity"),
    ]  # fmt: skip
    assert [d.code for d in items.warnings] == ["PF608", "PF606"]
    assert items.warnings == pf.render(items, combine="combined").warnings[:2]
    assert "PF606" in [d.code for d in pf.Renderer().prompt(items, user="?").warnings]
    assert (
        pf.load(documents=space / "docs/tar.md", search="exit", within="docs", workspace=space)[
            0
        ].kind
        == "document"
    )
    with pytest.raises(pf.ItemError, match="nothing to render"):
        pf.load("none.json", documents=["none.md"], workspace=space)


@pytest.mark.parametrize(
    ("job", "message"),
    [
        ("search: [a]", "job.yaml:1: search: expected words"),
        ("search: {in: docs}", "job.yaml:1: search: expected words"),
        ("search:\n  query: a\n  inn: docs", 'job.yaml:3: unknown key "inn"; did you mean "in"?'),
        ("search:\n  query: a\n  in: [1]", "job.yaml:3: search.in: expected names"),
    ],
)
def test_a_search_in_a_job_that_is_wrong(
    job: str, message: str, space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(space)
    (space / "job.yaml").write_text(job)
    ran = run("render", "--job", "job.yaml")
    assert (ran.code, message in ran.err) == (4, True), ran.err


def test_where_to_search_without_what_for(space: Path) -> None:
    ran = run("render", "--in", "docs", "--workspace", str(space))
    assert ran.code == 2 and "--in names the place to search; --search gives the words" in ran.err


@given(st.text("aZ_9-é中\u0301 \n\t.’\u2028").map(lambda text: f"{text}\nmax_tokens"))
def test_words_of_lines_are_those_of_the_text(text: str) -> None:
    expected = re.findall(r"[\w\u0301]+", text.replace("’", " "))
    assert split_words(text) == expected


@pytest.mark.parametrize("value", [3, ["login"], b"x", True])
@pytest.mark.parametrize("option", ["attack", "search", "workspace", "git_diff", "git_changed"])
def test_what_is_no_text_is_an_option_error(option: str, value: Any) -> None:
    with pytest.raises(pf.OptionError, match=f"^{option} must be a text, not "):
        pf.load("x.json", **{option: value})


@pytest.mark.parametrize("query", ["h5", "what is h5"])
@pytest.mark.parametrize("name", ["notes/zz.txt", "LICENSE", "package.json", "-"])
def test_a_text_that_is_named_beside_a_folder_is_shown_whatever_a_query_finds(
    folder: Path, name: str, query: str
) -> None:
    text = '{"precious": "note"}'
    make(folder, {f"src/h{n}.c": f"int h{n}(int a) {{ return a + {n}; }}\n" for n in range(30)})
    make(folder, {"notes/zz.txt": text, "LICENSE": text, "package.json": text})
    line = ["render", "src", name, "--query", query, "--max-tokens", "300", "-q"]
    out = run(*line, stdin="a precious note").out
    assert "precious" in out and "int h5(" in out


def test_a_pattern_among_the_items_is_told_its_flag(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1")
    with pytest.raises(pf.ItemError, match=r"no such file .*; `--file '\*.py'` takes a pattern"):
        pf.load("*.py", workspace=tmp_path)


def test_a_file_that_is_named_beside_its_folder_is_shown_once_by_whatever_name(
    folder: Path,
) -> None:
    (folder / "lib").mkdir()
    (folder / "lib/App.py").write_text("x = 1\n")
    (folder / "lib/other.py").write_text("y = 2\n")
    (folder / "lib/OTHER.py").write_text("y = 3\n")
    os.link(folder / "lib/App.py", folder / "app.py")  # as where the case of letters does not count
    os.rename(folder / "app.py", folder / "lib/app.py")
    for name in ("lib/app.py", str(folder / "lib/App.py"), "lib/../lib/App.py"):
        found = [item.path for item in pf.load("lib", name, "lib/OTHER.py")]
        kept = {os.path.basename(name), "other.py", "OTHER.py"}
        assert sorted(map(os.path.basename, filter(None, found))) == sorted(kept)
