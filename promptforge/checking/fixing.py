"""Putting right what can be put right without asking."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from .findings import Edit, Finding


class Fixed(NamedTuple):
    """A file as it is and as it would be."""

    path: Path
    before: str
    after: str
    edits: int
    """How many findings it puts right."""


def fixed(findings: Iterable[Finding]) -> Iterator[Fixed]:
    """Yield each file that has something to put right, with its new text; nothing is written."""
    edits: dict[str, list[Edit]] = {}
    for finding in findings:
        if finding.edit is not None:
            edits.setdefault(finding.path, []).append(finding.edit)
    for path, listed in edits.items():
        before = Path(path).read_bytes().decode("utf-8")
        text = before.removeprefix("\ufeff").replace("\r\n", "\n")
        start = len(text)
        for edit in sorted(set(listed), reverse=True):
            if edit.end <= start:  # of two that overlap the later one alone
                text = text[: edit.start] + edit.text + text[edit.end :]
                start = edit.start
        if text != before:
            yield Fixed(Path(path), before, text, len(set(listed)))


def difference(one: Fixed) -> Iterator[str]:
    """Yield the lines of a unified diff; a carriage return is shown as one."""
    old, new = (
        text.replace("\r", "^M").splitlines(keepends=True) for text in (one.before, one.after)
    )
    for line in difflib.unified_diff(
        old, new, f"a/{one.path.as_posix()}", f"b/{one.path.as_posix()}"
    ):
        yield line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
