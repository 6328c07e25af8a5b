"""Run the command line: inside this process, or as a real one where pipes or start-up matter."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from places import ROOT

from promptforge.cli.main import main

ITEM = {"content": "x = 1", "path": "a.py", "start_line": 3, "end_line": 3, "kind": "code"}


class Ran(NamedTuple):
    """What a run left behind."""

    code: int
    out: str
    err: str


def run(
    *arguments: str | Path,
    stdin: str | bytes | None = None,
    cwd: Path | None = None,
    terminal: bool = False,
) -> Ran:
    """Run the command line in this process; `stdin` None is a terminal at which nobody types.

    With `terminal` standard output is one too.
    """
    data = stdin.encode() if isinstance(stdin, str) else stdin
    source = io.TextIOWrapper(_Terminal() if data is None else io.BytesIO(data))
    out = io.TextIOWrapper(_Terminal() if terminal else io.BytesIO(), "utf-8")
    err = io.TextIOWrapper(io.BytesIO(), "utf-8")
    before = Path.cwd()
    os.chdir(cwd or before)
    try:
        with mock.patch.multiple(sys, stdin=source, stdout=out, stderr=err):
            try:
                main([str(argument) for argument in arguments])
            except SystemExit as done:
                code = done.code
    finally:
        os.chdir(before)
    out.flush()
    err.flush()
    assert isinstance(code, int)
    written = [
        stream.buffer.getvalue().decode()
        for stream in (out, err)
        if isinstance(stream.buffer, io.BytesIO)
    ]
    return Ran(code, *written)


class _Terminal(io.BytesIO):
    def isatty(self) -> bool:
        return True


def python(
    *arguments: str | Path,
    stdin: bytes | None = b"",
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Ran:
    """Run this interpreter as a process of its own, with `env` over the environment."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        input=stdin,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
        cwd=cwd,
        check=False,
        timeout=600,  # a busy machine may take minutes to start Ray, or to refuse a token
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def command(
    *arguments: str | Path, stdin: bytes | None = b"", env: Mapping[str, str] | None = None
) -> Ran:
    """Run the command line as a process of its own."""
    return python("-m", "promptforge", *arguments, stdin=stdin, env=env)


def write(path: str, content: object) -> Path:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return file


def said(ran: Ran, code: int, *words: str) -> None:
    """Assert one line with `words` on standard error, no output, and the exit code.

    Below it the line of a template may stand.
    """
    assert ran.code == code, ran
    assert ran.out == ""
    lines = ran.err.splitlines()
    assert ran.err.startswith("promptforge: ") and ran.err.endswith("\n"), ran.err
    assert all(line.startswith("  ") and " | " in line for line in lines[1:]), ran.err
    assert all(word in ran.err for word in words), ran.err
