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

import pytest
from commandline import run
from places import ROOT, TESTS

import promptforge as pf

HERE = TESTS / "unit" / "sources"
FILES = sorted(HERE.glob("test_*.py"))


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
    kind = "not a file; --split numbers" if name == "/dev/null" else "a folder; name a file in it"
    assert ran.code == 4 and f"{name}: is {kind}" in ran.err
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
