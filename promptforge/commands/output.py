"""Where results go: the product to standard output or, at one stroke, to a file; what is to be said to stderr."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from ..diagnostics import Diagnostic
from ..writing import clean, whole

VERSION = 1
"""Of the shape of `--json`."""


def write(text: str, path: str | None) -> None:
    """Write the product: to standard output as it is, or to a file that is there whole or not at all."""
    data = text.encode("utf-8", "replace")
    if path == "":
        raise click.UsageError("--output: the name of the file is empty")
    if path is None or path == "-":
        if sys.stdout is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), "standard output")
        stream = sys.stdout.buffer
        stream.write(data)
        if stream.isatty() and not data.endswith(b"\n"):
            stream.write(b"\n")  # for the reader's prompt; a pipe gets the text and nothing more
        stream.flush()
        return
    clean(Path(path).parent, Path(path).name)
    with whole(Path(path)) as file:
        file.write(data)


def write_json(facts: dict[str, Any], path: str | None = None) -> None:
    """Write the one versioned shape."""
    write(json.dumps({"promptforge": VERSION, **facts}, ensure_ascii=False, indent=2) + "\n", path)


def say(diagnostics: Iterable[Diagnostic], *, quiet: bool = False) -> None:
    """Print diagnostics to standard error, a line each; `quiet` keeps only warnings and errors."""
    for d in diagnostics:
        if quiet and d.severity == "info":
            continue
        place = d.where or d.item
        at = f"{place}: " if place and place not in d.message else ""
        click.echo(f"promptforge: {d.severity}: {at}{d.message} [{d.code}]", err=True)
