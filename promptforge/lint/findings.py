"""Findings of `check`, the explanations of their codes, and the edits that `--fix` makes.

The explanations are in `codes.yaml`, for every code that promptforge prints.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from ..errors import Excerpt
from ..files.access import read_bytes, read_utf8
from ..templating.failures import TemplateMistake
from ..yaml_reader import load_shipped_yaml

_CODES_FILE = Path(__file__).with_name("codes.yaml")


class Code(NamedTuple):
    """The explanation of one code."""

    severity: str
    """`error`, `warning` or `note`, of a finding of `check`. A rendering may say more or less."""
    title: str
    why: str
    example: str
    way_out: str


@cache
def load_codes() -> dict[str, Code]:
    """Return all codes in order, with their explanations."""
    # Several hundred lines of YAML: no rendering and no import may come here.
    values = load_shipped_yaml(read_utf8(_CODES_FILE), str(_CODES_FILE))[0]
    return {code: Code(**fields) for code, fields in values.items()}


def explain_code(code: str) -> str:
    """Return the explanation of a code with an example and the way out, in some lines."""
    rule = load_codes()[code]
    example = rule.example.replace("\n", "\n    ")
    return (
        f"{code} ({rule.severity}): {rule.title}\n\n{rule.why}\n\n"
        f"Example:\n    {example}\n\nWay out: {rule.way_out}\n"
    )


# --- findings -------------------------------------------------------------------------------------


class Edit(NamedTuple):
    """A replacement that puts one finding right, by offsets in the text as it was read."""

    start: int
    end: int
    text: str


class Finding(msgspec.Struct, frozen=True, order=True):
    """One finding about a file. Findings sort by file, place and code."""

    path: str
    line: int
    """From 1; 0 for the file as a whole."""
    column: int
    """In characters, from 1; 0 for the line as a whole."""
    code: str
    message: str
    end_column: int = 0
    """The column after the last marked character; 0 if it is not known."""
    source: str = ""
    edit: Edit | None = None

    @property
    def severity(self) -> str:
        """`error`, `warning` or `note`; notes fail no check."""
        return load_codes()[self.code].severity


def about_file(path: str | Path, code: str, message: str) -> Finding:
    """Return a finding about a file as a whole."""
    return Finding(str(path), 0, 0, code, message)


class LintedText:
    """The text of a file, with findings about places in it."""

    def __init__(self, path: str | Path, text: str) -> None:
        self.path = str(path)
        self.text = text

    def at(
        self, start: int, length: int, code: str, message: str, edit: Edit | None = None
    ) -> Finding:
        """Return a finding about `length` characters from the offset `start` on."""
        line, source, column, end = Excerpt.at(self.text, max(start, 0), length)
        return Finding(self.path, line, column, code, message, end, source, edit)

    def mistake(self, mistake: TemplateMistake) -> Finding:
        """Return a mistake of this text as a finding."""
        start, length, message, new, code = mistake
        edit = Edit(start, start + length, new) if new is not None else None
        return self.at(start, length, code, message, edit)

    def on(self, number: int, code: str, message: str, column: int | None = None) -> Finding:
        """Return a finding about a line: about the word at `column`, else all of it."""
        lines = self.text.split("\n")
        number = min(max(number, 1), len(lines))
        line = lines[number - 1]
        if column is None:
            at, length = len(line) - len(line.lstrip()), len(line.strip())
        else:
            at, length = column - 1, len(re.findall(r"\A\w*", line[column - 1 :])[0])
        return self.at(sum(len(one) + 1 for one in lines[: number - 1]) + at, length, code, message)


def sort_findings(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings in the order of files and places, each once."""
    found = {(f.path, f.line, f.column, f.code, f.message): f for f in findings}
    # A value that cannot stand there at all needs no filter.
    refused = {(f.path, f.line, f.end_column) for f in found.values() if f.code == "PF809"}
    return [
        found[key]
        for key in sorted(found)
        if found[key].code != "PF810" or (key[0], key[1], found[key].end_column) not in refused
    ]


_GUESSED = frozenset({"PF802", "PF803", "PF804", "PF806", "PF831"})
_NOT_UNDERSTOOD = frozenset({"PF801", "PF805", "PF807", "PF830"})
"""Codes of files that are not understood as a whole, so other findings may follow from that."""


def drop_doubtful_edits(found: Sequence[Finding]) -> list[Finding]:
    """Return the findings; those in files that are not understood guess no words."""
    # With a tag that is not closed, the variables after it may well be known.
    unknown = {f.path for f in found if f.code in _NOT_UNDERSTOOD}
    return [
        msgspec.structs.replace(f, edit=None) if f.path in unknown and f.code in _GUESSED else f
        for f in found
    ]


# --- edits ----------------------------------------------------------------------------------------


class FixedFile(NamedTuple):
    """The text of a file before and after its edits."""

    path: Path
    before: str
    after: str
    edits: int


def fix_files(findings: Iterable[Finding]) -> Iterator[FixedFile]:
    """Yield each file that has edits, with its new text; nothing is written."""
    edits: dict[str, set[Edit]] = {}
    for finding in findings:
        if finding.edit is not None:
            edits.setdefault(finding.path, set()).add(finding.edit)
    for path, found in edits.items():
        before = read_bytes(path).decode("utf-8")
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
