"""Applying the edits of findings, as far as they need no decision."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from .findings import Edit, Finding


class Fixed(NamedTuple):
    """The text of a file before and after its edits."""

    path: Path
    before: str
    after: str
    edits: int
    """Number of findings that are put right."""


def fixed(findings: Iterable[Finding]) -> Iterator[Fixed]:
    """Yield each file that has edits, with its new text; nothing is written."""
    edits: dict[str, set[Edit]] = {}
    for finding in findings:
        if finding.edit is not None:
            edits.setdefault(finding.path, set()).add(finding.edit)
    for path, found in edits.items():
        before = Path(path).read_bytes().decode("utf-8")
        text = before.removeprefix("\ufeff").replace("\r\n", "\n")
        start = len(text)
        # From the end, so that the offsets of earlier edits stay true.
        for edit in sorted(found, reverse=True):
            if edit.end <= start:  # of two that overlap the later one alone
                text = text[: edit.start] + edit.text + text[edit.end :]
                start = edit.start
        if text != before:
            yield Fixed(Path(path), before, text, len(found))


def difference(one: Fixed) -> Iterator[str]:
    """Yield the lines of a unified diff; a carriage return is shown as `^M`."""
    old = one.before.replace("\r", "^M").splitlines(keepends=True)
    new = one.after.replace("\r", "^M").splitlines(keepends=True)
    path = one.path.as_posix()
    for line in difflib.unified_diff(old, new, f"a/{path}", f"b/{path}"):
        yield line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
