"""Write results to standard output or a file, and messages to standard error."""

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
"""Characters that move a terminal's cursor, change its colours or send it commands."""
VERSION = 1
"""Version of the JSON that `--json` prints."""


def write(text: str, path: str | None) -> None:
    """Write the product to a file, whole or not at all, or to standard output.

    A terminal gets controls as escapes; a pipe or a file gets the text as it is. A link is
    followed. Raises `ItemError` where `path` is a folder or lies in none.
    """
    if path == "":
        raise click.UsageError("--output: the name of the file is empty")
    if path is None or path == "-":
        if sys.stdout is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), "standard output")
        stream = sys.stdout.buffer
        if stream.isatty():
            # No item may steer the reader's screen, and the shell's prompt begins a line.
            text = _CONTROLS.sub(lambda m: ascii(m[0])[1:-1], text)
            text = f"{text.removesuffix(chr(10))}\n"
        stream.write(text.encode("utf-8", "replace"))
        stream.flush()
        return
    target = Path(path)
    if target.is_dir():
        raise ItemError("is a folder; name a file in it", where=path)
    if target.exists() and not target.is_file():
        # No new file can take the place of /dev/stdout or of a named pipe.
        with target.open("wb") as device:
            device.write(text.encode("utf-8", "replace"))
        return
    if target.is_symlink():
        target = target.resolve()
    if not target.parent.is_dir():
        raise ItemError(
            f"there is no folder {quote(str(target.parent))}; make it first", where=path
        )
    with contextlib.suppress(OSError):  # a folder may be written to and not listed
        clean(target.parent, target.name)
    with whole(target) as file:
        file.write(text.encode("utf-8", "replace"))


def write_json(facts: dict[str, Any], path: str | None = None) -> None:
    """Write facts as the JSON of `--json`, with its version."""
    write(json.dumps({"promptforge": VERSION, **facts}, ensure_ascii=False, indent=2) + "\n", path)


def say(diagnostics: Iterable[Diagnostic], *, quiet: bool = False) -> None:
    """Print diagnostics to standard error, a line each; `quiet` leaves out notes."""
    for d in diagnostics:
        severity: str = d.severity
        if severity == "info":
            if quiet:
                continue
            severity = "note"
        click.echo(f"promptforge: {severity}: {d}", err=True)
