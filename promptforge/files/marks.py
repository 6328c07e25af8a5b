"""Marks of the files that earlier runs wrote: a later run may write over these, and no others."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
from collections.abc import Collection, Mapping
from pathlib import Path

from ..errors import ItemError
from .access import StrPath, is_read, read_bytes, settings_folder, show_path, write_settings

MAX_MARKS = 20_000
"""Files that are remembered, the newest; all files of the last run, be they more."""


def refuse_input(path: StrPath, name: str) -> None:
    """Raise `ItemError` where a file that is to be written, as `name`, has been read by this run.

    What lies in the folder of git is never written over either: a repository without its `config`
    or `HEAD` is none.
    """
    message = ""
    if ".git" in os.path.realpath(path).lower().split(os.sep):
        message = "lies in the folder of git, where nothing is written; choose another output"
    elif is_read(path):
        message = "is both the input and the output; choose another output"
    if message:
        raise ItemError(message, where=show_path(name))


def mark_written(contents: Collection[tuple[StrPath, bytes]]) -> None:
    """Remember the contents that files are about to get; a later run may write over them.

    Call it before the first file is written: a killed run leaves some files as they were. So a file
    that holds what an earlier run wrote keeps that mark beside the new one.
    """
    marks = dict(_marks())
    for path, data in contents:
        name = os.path.realpath(path)
        kept = _digest_of_file(path) if name in marks else None
        ours = kept is not None and kept in marks.pop(name).split()
        digest = hashlib.sha256(data).hexdigest()
        marks[name] = f"{digest} {kept}" if ours else digest
    newest = list(marks.items())[-max(MAX_MARKS, len(contents)) :]
    with contextlib.suppress(OSError):  # without a home nothing is remembered
        write_settings("written.json", dict(newest))


def is_written_by_us(path: StrPath) -> bool:
    """Tell whether a file holds the bytes that an earlier run wrote there."""
    marks = _marks().get(os.path.realpath(path))
    return marks is not None and _digest_of_file(path) in marks.split()


def _marks() -> Mapping[str, str]:
    with contextlib.suppress(OSError, ValueError, RecursionError):
        path = settings_folder() / "written.json"
        state = os.stat(path)
        return _read_marks(path, state.st_ino, state.st_mtime_ns)
    return {}  # then nothing counts as written by us


@functools.lru_cache(maxsize=1)
def _read_marks(path: Path, *_state: int) -> dict[str, str]:
    found = json.loads(read_bytes(path, note=False))
    if not isinstance(found, dict):
        return {}
    return {name: mark for name, mark in found.items() if isinstance(mark, str)}


def _digest_of_file(path: StrPath) -> str | None:
    try:
        return hashlib.sha256(read_bytes(path, note=False)).hexdigest()
    except OSError:
        return None
