"""What the preview's page gives to copy, run in a shell: the very text that the page shows."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commandline import python, run
from preview_process import ITEMS, preview

pytestmark = pytest.mark.slow

QUOTES = """how "do" 'they' end, in $HOME `ls` \\n?"""
FOLDER = 'a b\'c "d" ünï $HOME'
FLAGS: dict[str, list[str]] = {
    "none": [],
    "short numbers": ["--max-tokens", "1k", "--context-window", "20k", "--reserve", "1k"],
    "quotes": ["--query", QUOTES],
    "several queries": ["--query", QUOTES, "--query", "-x is no flag"],
    "lists": ["--kinds", "code", "--kinds", "document", "--max-items", "none"],
    "objects": ["--section-budgets", '{"src/greet.py": {"share": 0.5}}'],
    "texts": ["--header", "a: b # c\n'é' \u2028", "--separator", "\n", "--marker", ""],
    "profile": ["--profile", "claude", "--max-tokens", "150"],
    "behind": ["--max-tokens=1000", "--", "more.json"],
    "question": ["--user", QUOTES, "--system", "Answer: 'yes' or \"no\"."],
}
VIEWS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "choices": {"format": "xml", "layout": "context", "max_tokens": 120, "query": QUOTES},
    "dashes": {"query": "-q --query", "options": {"header": "--header"}},
    "options": {
        "profile": "claude",
        "options": {
            "kinds": ["code", "error"],
            "max_tokens": None,
            "marker": "…\n",
            "headers": False,
            "section_budgets": {"src/greet.py": {"share": 0.25}},
        },
    },
    "no query": {"query": ""},
}


@pytest.fixture
def shell(tmp_path: Path) -> Callable[[str, Path], str]:
    """Let a POSIX shell read a command, then run `promptforge` with what the shell gives to it.

    The program of that name only tells its arguments: each start of the real one takes a second.
    """
    program = tmp_path / "bin" / "promptforge"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nprintf '%s\\0' \"$@\"\n[ -t 0 ] || cat > stdin.bytes\n")
    program.chmod(0o755)
    path = f"{program.parent}:{os.environ['PATH']}"

    def go(text: str, folder: Path) -> str:
        env = {**os.environ, "PATH": path}
        read = subprocess.run(
            ["sh", "-c", text], cwd=folder, env=env, capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert read.returncode == 0, (text, read.stderr)
        stdin = (folder / "stdin.bytes").read_bytes()
        done = run(*read.stdout.split("\0")[:-1], stdin=stdin, cwd=folder)
        assert done.code == 0, (text, done.err)
        return done.out

    return go


@pytest.mark.slow
@pytest.mark.parametrize("given", FLAGS)
def test_what_is_copied_prints_what_is_seen(
    tmp_path: Path, shell: Callable[[str, Path], str], given: str
) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir()
    (folder / "more.json").write_text('[{"content": "more of it"}]', encoding="utf-8")
    with preview(folder, *FLAGS[given], items=ITEMS) as running:
        running.enter()
        for number, (name, view) in enumerate(VIEWS.items(), list(FLAGS).index(given)):
            seen = running.draw(view=view)["text"]
            found = running.request("/api/recipes", "POST", body={"view": view}).json()
            if given == "question":
                to = {"to": "text", "view": view}
                whole = running.request("/api/prompt", "POST", body=to).json()["sent"]
                command = f"{found['command']} --to text"
                assert shell(command, folder).rstrip("\n") == whole.rstrip("\n"), (name, command)
            else:
                assert shell(found["command"], folder) == f"{seen}\n", (name, found["command"])
            # Items of two files are named by neither. Other pairs are left to the command.
            if given == "behind" or number % 3:
                continue
            (folder / "copied.py").write_text(found["python"], encoding="utf-8")
            assert python("copied.py", cwd=folder).out == f"{seen}\n", found["python"]
            (folder / "copied.yaml").write_text(found["yaml"], encoding="utf-8")
            printed = shell("promptforge render items.json --profile ./copied.yaml", folder)
            assert printed == f"{seen}\n", (name, found["yaml"])
            case = running.draw("as_case", view=view)["source"]
            (folder / "case.yaml").write_text(case, encoding="utf-8")
            shell("promptforge test case.yaml", folder)


@pytest.mark.slow
def test_a_case_of_pasted_items_holds_them(
    tmp_path: Path, shell: Callable[[str, Path], str]
) -> None:
    with preview(tmp_path, items=[]) as running:
        running.enter()
        items = [{"name": "é 'x'", "content": "pasted: # \u202e \n  text"}]
        body = {"text": json.dumps(items), "name": "pasted"}
        assert running.request("/api/items", "POST", body=body).json() == {"items": 1}
        case = running.draw("as_case")["source"]
    (tmp_path / "case.yaml").write_text(case, encoding="utf-8")
    shell("promptforge test case.yaml", tmp_path)


PASTED = {
    "records": json.dumps(
        [
            {"name": "é 'x' $HOME", "content": "END\nEND\n\\ `ls` \u202e", "score": 0.3},
            {"kind": "code", "path": "a.py", "content": "x = 1\n" * 40, "origin": "similarity"},
        ]
    ),
    "text": "words 'and' \"more\"\nEND\n$HOME",
}


@pytest.mark.slow
@pytest.mark.parametrize("pasted", PASTED)
def test_what_is_pasted_goes_home(
    tmp_path: Path, shell: Callable[[str, Path], str], pasted: str
) -> None:
    with preview(tmp_path, "--max-tokens", "120", "--query", "x", items=ITEMS) as running:
        running.enter()
        for text in (PASTED[pasted], f"{PASTED[pasted]}\n"):  # and once more
            body = {"text": text, "name": "pasted"}
            running.request("/api/items", "POST", body=body)
            view = {"format": "xml", "options": {"lines": "none"}}
            seen = running.draw(view=view)["text"]
            found = running.request("/api/recipes", "POST", body={"view": view}).json()
            assert shell(found["command"], tmp_path) == f"{seen}\n", found["command"]
            (tmp_path / "copied.py").write_text(found["python"], encoding="utf-8")
            assert python("copied.py", cwd=tmp_path).out == f"{seen}\n", found["python"]


@pytest.mark.slow
def test_python_of_a_folder_runs(tmp_path: Path) -> None:
    source = tmp_path / "src"
    (source / "deep").mkdir(parents=True)
    for name in ("a.py", "deep/b.py", "c.md"):
        (source / name).write_text(f"of_{Path(name).stem} = '{name}'\n" * 9, encoding="utf-8")
    flags = ("--exclude", "*.md", "--max-tokens", "300", "--workspace", str(tmp_path))
    with preview(tmp_path, str(source), *flags, items=[{"content": "first"}]) as running:
        running.enter()
        seen = running.draw()["text"]
        assert "of_b" in seen and "of_c" not in seen
        found = running.request("/api/recipes", "POST", body={"view": {}}).json()
    (tmp_path / "copied.py").write_text(found["python"], encoding="utf-8")
    assert python("copied.py", cwd=tmp_path).out == f"{seen}\n", found["python"]
