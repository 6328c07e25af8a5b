"""Where results go: the product to standard output or, at one stroke, to a file; what is to be said to stderr."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from ..diagnostics import Diagnostic
from ..errors import ItemError, quote
from ..writing import clean, whole

_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)")
"""What moves the cursor of a terminal, changes its colours, or sends it commands."""
VERSION = 1
"""Of the shape of `--json`."""


def write(text: str, path: str | None) -> None:
    """Write the product: to a file that is there whole or not at all, or to standard output.

    What goes there goes as it is; on a terminal, controls are shown as escapes. A link is followed; a device or a named
    pipe is written to as it is. Raises `ItemError` for a folder, and where there is none.
    """
    if path == "":
        raise click.UsageError("--output: the name of the file is empty")
    if path is None or path == "-":
        if sys.stdout is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), "standard output")
        stream = sys.stdout.buffer
        if (
            stream.isatty()
        ):  # its reader's screen obeys no item, and its reader's prompt begins a line
            text = _CONTROLS.sub(lambda m: ascii(m[0])[1:-1], text)
            text = text if text.endswith("\n") else f"{text}\n"
        stream.write(text.encode("utf-8", "replace"))
        stream.flush()
        return
    target = Path(path)
    if target.is_dir():
        raise ItemError("is a folder; name a file in it", where=path)
    if (
        target.exists() and not target.is_file()
    ):  # /dev/stdout, a named pipe: no file can take its place
        with target.open("wb") as device:
            device.write(text.encode("utf-8", "replace"))
        return
    target = target.resolve() if target.is_symlink() else target
    if not target.parent.is_dir():
        raise ItemError(
            f"there is no folder {quote(str(target.parent))}; make it first", where=path
        )
    with contextlib.suppress(OSError):  # a folder may be written to and not listed
        clean(target.parent, target.name)
    with whole(target) as file:
        file.write(text.encode("utf-8", "replace"))


def write_json(facts: dict[str, Any], path: str | None = None) -> None:
    """Write the one versioned shape."""
    write(json.dumps({"promptforge": VERSION, **facts}, ensure_ascii=False, indent=2) + "\n", path)


def say(diagnostics: Iterable[Diagnostic], *, quiet: bool = False) -> None:
    """Print diagnostics to standard error, a line each; `quiet` keeps only warnings and errors."""
    for d in diagnostics:
        if quiet and d.severity == "info":
            continue
        click.echo(f"promptforge: {'note' if d.severity == 'info' else d.severity}: {d}", err=True)
