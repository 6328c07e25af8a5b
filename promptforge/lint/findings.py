"""What a check has found: where, which code, what about it, and how it is put right.

Applying the edits of findings, as far as they need no decision.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from .codes import CODES
from .template_reader import Problem


class Edit(NamedTuple):
    """A replacement that puts one finding right, by the places of the text as it was read."""

    start: int
    end: int
    text: str


class Finding(msgspec.Struct, frozen=True, order=True):
    """One thing that the author of a file should know. Findings sort by file, place and code."""

    path: str
    """The file, as its folder was named."""
    line: int
    """From 1; 0 where the file as a whole is meant."""
    column: int
    """In characters, from 1; 0 where the line as a whole is meant."""
    code: str
    message: str
    end_column: int = 0
    """The column after the last character that is meant; 0 where that is not known."""
    source: str = ""
    """The line of the file."""
    edit: Edit | None = None
    """What `--fix` does."""

    @property
    def severity(self) -> str:
        """`error`, `warning` or `note`: a note fails no check."""
        return CODES[self.code].severity


class LintedText:
    """The text of a file, and where in it things are."""

    def __init__(self, path: str | Path, text: str) -> None:
        self.path = str(path)
        self.text = text

    def at(
        self, start: int, length: int, code: str, message: str, edit: Edit | None = None
    ) -> Finding:
        """Return a finding about `length` characters from the place `start` on."""
        start = min(max(start, 0), len(self.text))
        begin = self.text.rfind("\n", 0, start) + 1
        end = self.text.find("\n", start)
        line = self.text[begin : end if end >= 0 else len(self.text)]
        return Finding(
            self.path,
            self.text.count("\n", 0, start) + 1,
            start - begin + 1,
            code,
            message,
            min(start - begin + 1 + max(length, 1), len(line) + 2),
            line,
            edit,
        )

    def problem(self, problem: Problem) -> Finding:
        """Return what a reading of this text has found as a finding."""
        start, length, code, message, new = problem
        return self.at(
            start, length, code, message, None if new is None else Edit(start, start + length, new)
        )

    def on(
        self, number: int, code: str, message: str, word: str = "", column: int | None = None
    ) -> Finding:
        """Return a finding about a line: at `word` if it stands there, or at `column`, else all of it."""
        lines = self.text.split("\n")
        number = min(max(number, 1), len(lines))
        line = lines[number - 1]
        at = line.find(word) if word else -1 if column is None else column - 1
        length = len(word) or len(re.compile(r"\w*").match(line, max(at, 0))[0])  # type: ignore[index]
        if at < 0:
            at, length = len(line) - len(line.lstrip()), len(line.strip())
        return self.at(sum(len(one) + 1 for one in lines[: number - 1]) + at, length, code, message)

    def whole(self, code: str, message: str, edit: Edit | None = None) -> Finding:
        """Return a finding about the file as a whole."""
        return Finding(self.path, 0, 0, code, message, edit=edit)


def sort_findings(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings in the order of files and places, each once."""
    found = {(f.path, f.line, f.column, f.code, f.message): f for f in findings}
    refused = {(f.path, f.line, f.end_column) for f in found.values() if f.code == "PF809"}
    for key, f in list(found.items()):  # what cannot stand there at all needs no filter
        if f.code == "PF810" and (f.path, f.line, f.end_column) in refused:
            del found[key]
    return [found[key] for key in sorted(found)]


_GUESSED = frozenset({"PF802", "PF803", "PF804", "PF806", "PF831", "PF835"})
"""Codes of findings that are put right by another word."""

_UNKNOWN = frozenset({"PF801", "PF805", "PF807", "PF830"})
"""Codes of files that are not understood as a whole, so that what else is said of them may follow from that."""


def drop_doubtful_edits(found: Sequence[Finding]) -> list[Finding]:
    """Return findings of which those in files that are not understood put no word in the place of another."""
    unknown = {f.path for f in found if f.code in _UNKNOWN}
    return [
        msgspec.structs.replace(f, edit=None) if f.path in unknown and f.code in _GUESSED else f
        for f in found
    ]


class FixedFile(NamedTuple):
    """The text of a file before and after its edits."""

    path: Path
    before: str
    after: str
    edits: int
    """Number of findings that are put right."""


def fix_files(findings: Iterable[Finding]) -> Iterator[FixedFile]:
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
            yield FixedFile(Path(path), before, text, len(found))


def unified_diff(one: FixedFile) -> Iterator[str]:
    """Yield the lines of a unified diff; a carriage return is shown as `^M`."""
    old = one.before.replace("\r", "^M").splitlines(keepends=True)
    new = one.after.replace("\r", "^M").splitlines(keepends=True)
    path = one.path.as_posix()
    for line in difflib.unified_diff(old, new, f"a/{path}", f"b/{path}"):
        yield line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
