"""Folders that a client of the MCP server has packed and searched, by the SDK's own client."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import promptforge as pf

pytest.importorskip("mcp", reason="needs mcp: pip install '.[test-all]'")

from mcp import Client, StdioServerParameters
from mcp.types import ListRootsResult, Root

from promptforge.integrations import mcp_folders
from promptforge.integrations.mcp import make_mcp_server

KEY = "AKIA" + "ZQ3DTGV5LDKZ7QPX"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a file of each sort, and one beside it that is nobody's business."""
    top = tmp_path / "project"
    files = {
        "src/auth.py": "def login(user):\n    return check(user)\n",
        "src/long.py": "".join(f"def unit{n}():\n    return {n}\n\n" for n in range(400)),
        "README.md": "# Project\n\nHow the archive is made.\n",
        ".gitignore": "ignored/\n*.out\n",
        ".env": "hush\n",
        "ignored/notes.txt": "hush\n",
        "run.out": "hush\n",
        "uv.lock": "version = 1\n",
        "settings.py": f"KEY = '{KEY}'\n",
    }
    for name, text in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text, encoding="utf-8")
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside/canary.txt").write_text("hush\n", encoding="utf-8")
    (top / "out").symlink_to(tmp_path / "beside")
    (top / "canary.txt").symlink_to(tmp_path / "beside/canary.txt")
    (top / "inner").symlink_to(top / "src")
    return top


def call(
    tool: str, *, named: Sequence[Path] = (), roots: Sequence[str] | None = None, **arguments: Any
) -> tuple[bool, str, dict[str, Any]]:
    """Return whether a tool failed, its text and its account; once for each era of the protocol."""

    async def tell(context: Any) -> ListRootsResult:
        given: Any = [Root(uri=uri) for uri in roots or ()]
        return ListRootsResult(roots=given)

    async def run(mode: Any) -> Any:
        server = make_mcp_server(roots=list(map(str, named)))
        callback = None if roots is None else tell
        async with Client(server, mode=mode, list_roots_callback=callback) as client:
            answer = await client.call_tool(tool, arguments)
            (block,) = answer.content
            return answer.is_error, block.text, answer.structured_content or {}

    old: tuple[bool, str, dict[str, Any]] = asyncio.run(run("legacy"))
    new = asyncio.run(run("auto"))
    assert old == new
    return old


@pytest.mark.parametrize("where", ["named", "roots"])
def test_a_folder_is_packed_as_the_command_packs_it(project: Path, where: str) -> None:
    given: Any = {"named": [project]} if where == "named" else {"roots": [project.as_uri()]}
    failed, text, account = call("pack_folder", max_tokens=300, **given)
    items = pf.load(files=".", workspace=project)
    told = pf.render(items, packing="repository", lines="each", max_tokens=300)
    assert not failed and text == told.text and account["tokens"] == told.tokens <= 300
    assert "src/auth.py" in text and "1: def login(user):" in text
    assert not any(word in text for word in ("hush", KEY, "uv.lock"))


def test_passages_are_cited_by_path_and_lines(project: Path) -> None:
    failed, text, account = call(
        "search_files", roots=[project.as_uri()], query="unit377", path="src", max_tokens=900
    )
    assert not failed and account["tokens"] <= 900
    assert "src/long.py" in text and "1132: def unit377():" in text and "auth.py" not in text
    failed, text, _ = call("search_files", roots=[project.as_uri()], query="hush")
    assert failed and "no file holds a word" in text
    assert "no words to look for" in call("search_files", named=[project])[1]


def test_options_and_patterns_are_taken(project: Path) -> None:
    failed, text, _ = call(
        "pack_folder",
        named=[project],
        include=["*.py"],
        exclude=["long.py", "settings.py"],
        options={"format": "xml", "lines": "range"},
    )
    assert not failed and "<" in text and "def login(user):" in text
    assert "1:" not in text and "README" not in text
    failed, text, _ = call("pack_folder", named=[project], path="uv.lock")
    assert not failed and "version = 1" in text  # left out of the folder, but named here


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        *("..", "../beside", "../beside/canary.txt", "src/../../beside", "out", "out/canary.txt"),
        *("canary.txt", "/etc/passwd", "/", "/dev/stdin", "/dev/fd/0", "-", "~", "//etc"),
        *("ignored", "ignored/notes.txt", "run.out", ".env", ".git", "src/auth.py\0", "\0", "x\n"),
        *("file:///etc/passwd", "s3://bucket/x", "https://github.com/a/b", "README.md:1-2"),
        *("**/*", "a" * 300, "a/" * 9000, "SRC", "C:\\", "..\\beside", "\x1b[31m", "%2e%2e/beside"),
    ],
)
@pytest.mark.parametrize("tool", ["pack_folder", "search_files"])
def test_no_path_leads_out_or_to_what_git_ignores(project: Path, tool: str, path: str) -> None:
    failed, text, _ = call(tool, named=[project], path=path, query="hush login")
    assert failed and "hush" not in text.replace('"hush login"', "") and "\x1b" not in text
    assert len(text) < 1000 and "Traceback" not in text


@pytest.mark.slow
def test_whole_paths_and_links_within_the_folder_lead_there(project: Path) -> None:
    for path in (str(project / "src/auth.py"), "inner/auth.py", "./src//auth.py", "src/../src"):
        failed, text, _ = call("pack_folder", named=[project], path=path)
        assert not failed and "### src/auth.py" in text and "README" not in text
    # Only a folder above could be shown where the root itself is reached by another name.
    linked = project.parent / "linked"
    linked.symlink_to(project)
    assert not call("pack_folder", named=[linked], path=str(linked / "src"))[0]


def test_a_path_in_several_folders_leads_to_all_by_whole_paths(project: Path) -> None:
    other = project.parent / "other"
    (other / "src").mkdir(parents=True)
    (other / "src/user.py").write_text("def user():\n    pass\n", encoding="utf-8")
    (other / "key.py").write_text(f"KEY = '{KEY}'\n", encoding="utf-8")
    roots = [project.as_uri(), other.as_uri()]
    failed, text, account = call("pack_folder", roots=roots)
    assert (
        not failed
        and f"### {project.as_posix()}/src/auth.py" in text
        and f"{other.as_posix()}/src/user.py" in text
    )
    assert KEY not in text and "hush" not in text
    assert all(f"{top}: masked" in str(account["warnings"]) for top in (project, other))
    failed, text, _ = call("pack_folder", roots=roots, path="src", exclude=["long.py"])
    assert not failed and "def user():" in text and "def login" in text and "README" not in text
    failed, text, _ = call("pack_folder", roots=roots, path=f"{project.as_posix()}/src/auth.py")
    assert not failed and "### src/auth.py" in text


def test_several_folders_are_searched_as_one(project: Path) -> None:
    other = project.parent / "beside"
    (other / "a.md").write_text("The login.\n" + "Other words. " * 90, encoding="utf-8")
    both = [other, project]
    items, _ = mcp_folders.gather_within(list(map(str, both)), ".", (), (), "who checks a login")
    assert items[0].path == f"{project.as_posix()}/src/auth.py"
    assert items[0].score == 1.0 > (items[-1].score or 0)
    failed, text, account = call("search_files", named=both, query="unit377", max_tokens=900)
    assert not failed and "1132: def unit377():" in text
    assert f"{other}: left out: no file holds a word" in str(account["warnings"])
    failed, text, _ = call("search_files", named=both, query="zzz")
    assert failed and text.count("no file holds a word of") == len(both)


def test_of_several_folders_each_file_is_taken_once(project: Path) -> None:
    both = [project, project.parent / "beside"]
    assert "hush" in call("pack_folder", named=both, path="canary.txt")[1]
    nested = [project, project / "src"]
    assert not call("pack_folder", named=nested, path=str(project / "src"))[0]
    items, _ = mcp_folders.gather_within(list(map(str, nested)), ".", (), ())
    assert [item.path for item in items].count(f"{project.as_posix()}/src/auth.py") == 1


@pytest.mark.slow
def test_client_and_operator_open_what_both_name(project: Path) -> None:
    uri, src = project.as_uri(), (project / "src").as_uri()
    for named, roots in (([project], [src]), ([project / "src"], [uri]), ([], [src])):
        failed, text, _ = call("pack_folder", named=named, roots=roots)
        assert not failed and "login" in text and "README" not in text
    for roots in ([], [(project.parent / "beside").as_uri()], ["file://host/"]):
        assert "no folder is open" in call("pack_folder", named=[project], roots=roots)[1]
    for uri in ("https:///", "file:///%00", "file://[x", "file:///etc/passwd", "file:", ""):
        with pytest.raises(pf.ItemError, match="no folder is open"):
            mcp_folders.open_folders((), [uri])
    assert "--root FOLDER" in call("pack_folder")[1]


def test_what_a_call_reads_is_bounded(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "16,384 characters" in call("pack_folder", named=[project], include=["x" * 16385])[1]
    monkeypatch.setattr(mcp_folders, "MAX_FOLDER_CHARS", 500)
    for tool in ("pack_folder", "search_files"):
        assert "more than 500 characters" in call(tool, named=[project], query="login")[1]
    assert not call("pack_folder", named=[project], path="src/auth.py")[0]
    both = [project, project.parent / "beside"]
    failed, text, account = call("pack_folder", named=both)
    assert not failed and "hush" in text and "more than 250 characters" in str(account["warnings"])


@pytest.mark.parametrize(
    "wrong",
    [{"path": 7}, {"path": None}, {"include": "*.py"}, {"include": [1]}, {"query": []}, {"x": 1}],
)
def test_arguments_of_wrong_types_are_refused(project: Path, wrong: dict[str, Any]) -> None:
    failed, text, _ = call("pack_folder", named=[project], **wrong)
    assert failed and "Traceback" not in text


def test_over_http_no_client_opens_a_folder(project: Path) -> None:
    server: Any = make_mcp_server()
    server.streamable_http_app()
    listed = [tool.name for tool in asyncio.run(server.list_tools())]
    assert listed == ["render_context", "explain", "list_layouts"]
    server = make_mcp_server(roots=[str(project)])
    server.streamable_http_app()
    assert "pack_folder" in [tool.name for tool in asyncio.run(server.list_tools())]


@pytest.mark.slow
def test_the_command_opens_its_roots(project: Path) -> None:
    arguments = ["-m", "promptforge", "mcp", "--root", str(project)]
    server = StdioServerParameters(command=sys.executable, args=arguments, env={**os.environ})

    async def run() -> Any:
        async with Client(server) as client:
            calls = [("pack_folder", {"path": name}) for name in ("src", "-", "README.md")]
            return await asyncio.gather(*(client.call_tool(*each) for each in calls))

    src, stdin, readme = asyncio.run(run())
    assert "login" in src.content[0].text and "archive" in readme.content[0].text
    assert stdin.is_error
