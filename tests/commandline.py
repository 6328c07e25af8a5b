"""Run the command line: inside this process, or as a real one where pipes or start-up matter."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from promptforge.cli.main import main

ROOT = Path(__file__).parent.parent


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
        timeout=120,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def command(
    *arguments: str | Path, stdin: bytes | None = b"", env: Mapping[str, str] | None = None
) -> Ran:
    """Run the command line as a process of its own."""
    return python("-m", "promptforge", *arguments, stdin=stdin, env=env)
