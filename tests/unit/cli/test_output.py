"""Everything in several texts (`Renderer.split`, `--split`), and the clipboard (`--copy`)."""

from __future__ import annotations

import base64
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from commandline import run
from hypothesis import given
from hypothesis import strategies as st
from places import ROOT, TESTS

import promptforge as pf

HERE = TESTS / "unit" / "sources"
FILES = sorted(HERE.glob("test_*.py"))


def _contents(parts: list[pf.Result]) -> str:
    """Return what stands in the fences of all parts, together."""
    found = []
    for part in parts:
        found += re.findall(r"(?ms)^(`{3,})\w*\n(.*?)^\1$", part.text + "\n")
    return "".join(content for _, content in found)


def _lines(text: str) -> list[str]:
    # A fence ends on a line of its own, so a content's last line end shows as an empty line.
    return [line for line in text.split("\n") if line.strip()]


@pytest.mark.slow
@pytest.mark.parametrize("budget", [700, 3000, 20_000])
def test_all_lines_of_all_files_are_in_the_parts_in_order(budget: int) -> None:
    items = [{"content": p.read_text(encoding="utf-8"), "path": p.name} for p in FILES]
    parts = pf.Renderer().split(items, max_tokens=budget)
    assert all(0 < part.tokens <= budget for part in parts)
    assert len(parts) > 1
    given = "".join(item["content"] for item in items)
    assert _lines(_contents(parts)) == _lines(given)


def test_the_rest_of_a_file_knows_its_lines() -> None:
    text = "".join(f"line {number}\n" for number in range(1, 301))
    parts = pf.Renderer().split([{"content": text, "path": "a.txt"}], max_tokens=400)
    for part in parts:
        numbers = re.findall(r"(?m)^line (\d+)", part.text)
        assert f"Lines {numbers[0]}-{numbers[-1]}" in part.text


def test_one_line_of_a_megabyte_goes_on_too() -> None:
    text = "word " * 20_000
    parts = pf.Renderer().split([{"content": text, "path": "a.txt"}], max_tokens=3000)
    assert "".join(re.findall("word ?", _contents(parts))).count("word") == 20_000


def test_what_is_filtered_or_double_is_so_in_all_parts() -> None:
    items: list[dict[str, Any]] = [
        {"content": f"text {number} " * 30, "kind": ("code", "error")[number % 2]}
        for number in range(20)
    ]
    parts = pf.Renderer().split([*items, *items], kinds=["code"], max_tokens=300)
    text = "".join(part.text for part in parts)
    assert [f"text {number} " in text for number in range(20)] == [True, False] * 10
    assert text.count("text 4 ") == 30


@pytest.mark.slow
@given(st.lists(st.text("ab\n ", max_size=60), max_size=6), st.integers(60, 120))
def test_any_texts_are_all_there(texts: list[str], budget: int) -> None:
    items = [{"content": text, "path": f"{n}.txt"} for n, text in enumerate(texts)]
    parts = pf.Renderer().split(items, max_tokens=budget, dedupe=False)
    assert all(part.tokens <= budget for part in parts)
    shown = "".join(_contents(parts).split())
    assert shown == "".join("".join(texts).split())


def test_no_room_at_all_is_an_error() -> None:
    with pytest.raises(pf.BudgetError, match="no room for any of"):
        pf.Renderer().split([{"content": "x" * 90, "path": "a.txt"}], max_tokens=3)
    assert len(pf.Renderer().split([], max_tokens=3)) == 1


def test_the_command_writes_numbered_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one two three\n" * 400, encoding="utf-8")
    (tmp_path / "out.9.md").write_text("old", encoding="utf-8")
    ran = run("render", "--file", "a.txt", "--split", "0.5k", "-o", "out.md", cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert ran.out == ""
    written = sorted(path.name for path in tmp_path.glob("out.[1-8].md"))
    assert written == [f"out.{n}.md" for n in range(1, len(written) + 1)]
    assert f"{len(written)} parts" in ran.err and "out.1.md" in ran.err
    for path in written:
        text = (tmp_path / path).read_text(encoding="utf-8").removesuffix("\n")
        assert pf.get_tokenizer("o200k_base").count(text) <= 500


@pytest.mark.slow
def test_of_many_parts_some_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one two three\n" * 400, encoding="utf-8")
    ran = run("render", "--file", "a.txt", "--split", "60", "-o", "out.md", cwd=tmp_path)
    number = len(list(tmp_path.glob("out.*.md")))
    assert number > 20
    assert ran.err.endswith(f" tokens: out.1.md out.2.md … out.{number}.md\n")


@pytest.mark.parametrize("flags", [[], ["-o", "-"], ["-o", "x.md", "--json"], ["--copy"]])
def test_parts_go_into_files(flags: list[str], tmp_path: Path) -> None:
    ran = run("render", "--split", "500", "nothing.txt", *flags, cwd=tmp_path)
    assert ran.code == 2 and "--split writes files" in ran.err


def test_where_one_part_cannot_be_written_none_is(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one two three\n" * 400, encoding="utf-8")
    (tmp_path / "out.3.md").mkdir()
    ran = run("render", "--file", "a.txt", "--split", "400", "-o", "out.md", cwd=tmp_path)
    assert ran.code == 4 and "out.3.md: is a folder" in ran.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "out.3.md"]
    (tmp_path / "out.3.md").rmdir()
    (tmp_path / "out.2.md").write_text("of somebody", encoding="utf-8")
    ran = run("render", "--file", "a.txt", "--split", "400", "-o", "out.md", cwd=tmp_path)
    assert ran.code == 4 and "out.2.md: exists, and is not" in ran.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "out.2.md"]


@pytest.mark.parametrize("name", ["folder", "new/", ".", "..", "/dev/null"])
def test_parts_are_numbered_files(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.txt").write_text("one two three", encoding="utf-8")
    ran = run("render", "--file", "a.txt", "--split", "400", "-o", name, cwd=tmp_path)
    assert ran.code == 4 and f"{name}: is not a file; --split numbers" in ran.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "folder"]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["-o", "nowhere/out.md"], 'nowhere/out.md: there is no folder "nowhere"'),
        (["-o", "nowhere/out.md", "--split", "9"], 'nowhere/out.md: there is no folder "nowhere"'),
        (["-o", "."], ".: is a folder; name a file in it"),
        (["-o", "https://a.b/c"], "https://a.b/c: is a URL"),
    ],
)
def test_a_place_that_cannot_be_written_is_said_before_the_items_are_read(
    flags: list[str], said: str, tmp_path: Path
) -> None:
    ran = run("render", "missing.json", *flags, cwd=tmp_path)
    assert ran.code == 4 and said in ran.err and "missing" not in ran.err


# --- the clipboard --------------------------------------------------------------------------------


COPY = [sys.executable, "-m", "promptforge", "render", "--file", "a.txt", "--copy"]


NO_DESKTOP = {
    **dict.fromkeys(("DISPLAY", "WAYLAND_DISPLAY", "TERM_PROGRAM", "TMUX"), ""),
    "PYTHONPATH": str(ROOT),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variable", "program", "arguments", "words"),
    [
        ("WAYLAND_DISPLAY", "wl-copy", "", "to the clipboard"),
        ("DISPLAY", "xclip", "-selection clipboard", "to the clipboard"),
        ("DISPLAY", "xsel", "--clipboard --input", "to the clipboard"),
        ("TMUX", "tmux", "load-buffer -w -", "to tmux, and by it to the terminal"),
        ("TMUX", "tmux", "load-buffer -", "to tmux"),
    ],
)
def test_a_copy_goes_through_a_program_and_waits_for_no_end_of_it(
    tmp_path: Path, variable: str, program: str, arguments: str, words: str
) -> None:
    (tmp_path / "a.txt").write_text("copied wörds\n", encoding="utf-8")
    script = f"""#!/bin/sh
[ "$*" = "{arguments}" ] || exit 1
/bin/cat > copied
/bin/sleep 600 &
echo $! > child
"""
    (tmp_path / program).write_text(script)
    (tmp_path / program).chmod(0o755)
    env = {**os.environ, **NO_DESKTOP, "PATH": str(tmp_path), variable: "x"}
    # A program that stays, as xclip does, must not hold the pipes of this one.
    ran = subprocess.run(
        COPY, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=300
    )
    os.kill(int((tmp_path / "child").read_text()), signal.SIGKILL)
    assert (ran.returncode, ran.stdout) == (0, ""), ran
    assert ran.stderr.startswith("promptforge: copied 1") and ran.stderr.endswith(f" {words}\n")
    assert "copied wörds" in (tmp_path / "copied").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_copy_goes_through_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("copied words\n", encoding="utf-8")
    child, terminal = pty.fork()
    if not child:
        os.chdir(tmp_path)
        os.execve(COPY[0], COPY, {**os.environ, **NO_DESKTOP, "PATH": ""})
    seen = b""
    try:
        while read := os.read(terminal, 4096):
            seen += read
    except OSError:  # Linux: the other end was closed
        pass
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, seen
    (encoded,) = re.findall(rb"\x1b\]52;c;([A-Za-z0-9+/=]+)\x07", seen)
    assert "copied words" in base64.b64decode(encoded).decode()
    assert b"copied 1" in seen and b"if it takes OSC 52" in seen and b"```" not in seen


@pytest.mark.slow
def test_without_terminal_and_clipboard_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("words\n", encoding="utf-8")
    ran = subprocess.run(
        COPY,
        cwd=tmp_path,
        env={**os.environ, **NO_DESKTOP, "PATH": ""},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        start_new_session=True,  # no terminal
        check=False,
    )
    assert ran.returncode == 2 and "--copy finds neither" in ran.stderr
