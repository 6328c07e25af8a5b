"""Trimming of logs: what is said again and again goes first, errors and what is new stay longest.

A record is a line with its time or level, and the lines up to the next one: a stack trace, say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from ..text.format import Marks
from ..text.words import late_pattern
from . import traceback
from .pieces import CompactText, Piece, Pieces, UnderQuery, line_end, line_gap, split_lines

_STAMP = late_pattern(
    r"[\[(<]?(?:\d{4}[-/]\d\d[-/]\d\d|\d\d/\w{3}/\d{4}|\w{3} +\d{1,2} \d\d:\d\d|\d\d:\d\d:\d\d"
    r"|\d{10}[.\d]*\s|[IWEFD]\d{4} \d\d:|\d{1,3}(?:\.\d{1,3}){3} |(?:level|time|ts)="
    r"|(?i:trace|debug|info|notice|warn(?:ing)?|err(?:or)?|fatal|critical|severe)\b)|[●○×] \S"
)
"""The beginning of a record: a time, an address, a level, or the sign of a unit of systemd."""
_TIME = late_pattern(
    r"[\[(<]?(?:\d{4}[-/]\d\d[-/]\d\d[T ]|\w{3} [ \d]\d )?\d\d:\d\d:\d\d(?:[.,]\d+)?"
    r"(?:Z|[+-]\d\d:?\d\d)?[\])>]?"
)
_ERROR = late_pattern(
    r"\b(?:FATAL|CRITICAL|CRIT|EMERG|ALERT|SEVERE|ERR|FAIL)\b|^[EF]\d{4} \d\d:|\" 5\d\d "
    r"|^\s*(?:[✕✖✗●] |\d+\) |not ok \d|(?i:expected|received|actual): |Caused by: )"
    r"|\w(?:Error|Exception|BackOff)\b|^E +(?:assert |\+  )"
    r"|\b(?:OOMKilled\b|[Uu]nhealthy\b|Failed[A-Z]|Exited \([1-9])"
    r"|(?i:(?<!no )(?<!\b0 )(?<!#)\b(?:errors?|exception|panic(?:ked)?|traceback|fail(?:ed|ure)"
    r"|refused|denied|segfault|killed|aborted|timed out|not found)\b"
    r"(?![=:]? ?(?:0|false|null|nil)\b|\.\w))"
)
_TRACEBACK = "Traceback (most recent call last)"
_WARNING = late_pattern(r"(?i:\bwarn(?:ing)?\b)|^W\d{4} \d\d:")
_CHANGING = late_pattern(r"0x[0-9a-fA-F]++|\d[0-9a-fA-F-]*+")
"""Numbers, times and ids: two records that differ in them alone say the same."""
MAX_CHARS_COMPARED = 200
"""Characters of a record's first lines that are compared with others."""
LINES_OF_A_HEAD, LINES_OF_AN_END = 4, 3
"""Lines of a long record that stay first with it, and last: a traceback ends with its message."""
MIDDLE_SHARE = 0.1
"""Share of a record's `keep` that the lines between have."""
_KEEP_OF_AN_ERROR = 2.5
"""The least `keep` of an error that is not said again: no query moves it."""
MIN_EQUAL_LINES = 4
"""Equal lines after each other that are counted."""


class _Record(NamedTuple):
    start: int
    end: int
    severity: int
    """0, 1 for a warning, 2 for an error."""
    shape: str
    """Its first lines without what changes."""


def divide(text: str, *, marks: Marks, language: str | None = None, last: int = 0) -> Pieces | None:
    """Return a log as pieces; of a single record a trace, or None.

    Of records that say the same the last stays longest. With k after it a record's `keep` is
    (1 + severity) / (1 + k): an error said for the third time is worth as much as one new line.
    The `last` records are worth an error that is not said again.
    """
    lines = split_lines(text)
    records = list(_read(lines))
    if len(records) < 2:
        return traceback.divide(text, marks=marks, language=language)
    seen: Counter[str] = Counter()
    keeps: list[float] = []
    for record in reversed(records):
        seen[record.shape] += 1
        keep = (1 + record.severity) / seen[record.shape]
        keeps.append(max(keep, _KEEP_OF_AN_ERROR) if len(keeps) < last else keep)
    parts: list[Piece] = []
    # Of equals the latest stays; by so little that it decides only among equals.
    rows = [(r, keeps[-1 - n] + n / len(records) / 1e6) for n, r in enumerate(records)]
    for _, run in groupby(rows, lambda row: _line_without_time(lines, row[0])):
        first, *equal = run
        parts += _make_pieces(lines, *first, len(parts))
        is_timed = _TIME.match(lines[first[0].start])
        latest = [equal.pop()] if is_timed and equal else []
        if len(equal) + len(latest) + 1 < MIN_EQUAL_LINES:
            latest, equal = [*equal, *latest], []
        if equal:
            said = "".join(lines[record.start] for record, _ in equal)
            parts.append(Piece(said, -1.0, len(parts) - 1, kind="equal"))
        for record, keep in latest:
            parts += _make_pieces(lines, record, keep, len(parts))
    return Pieces(parts, _gap, marks, under_query=UnderQuery(_KEEP_OF_AN_ERROR))


def tells_failure(line: str) -> bool:
    """Tell whether a line that a program printed says that something failed."""
    return _ERROR.search(line[:MAX_CHARS_COMPARED]) is not None


def _gap(run: Sequence[Piece], marks: Marks) -> str:
    if len(run) > 1 or run[0].kind != "equal":
        return line_gap(run, marks)
    said = marks.counted(len(split_lines(run[0].text)), marks.equal_line, marks.equal_lines)
    return f"{marks.gap} {said}{line_end(run)}"


def compact(text: str, *, marks: Marks, language: str | None = None) -> CompactText | None:
    """Return a text with the number of equal lines in place of all after the first; None without.

    Lines that differ in their time alone are equal: of these the last stays too.
    """
    pieces = divide(text, marks=marks._replace(marker=""))
    equal = {i for i, part in enumerate(pieces.parts) if part.kind == "equal"} if pieces else ()
    if pieces is None or not equal:
        return None
    kept = [i for i in range(len(pieces.parts)) if i not in equal]
    found = pieces.text(pieces.without_dear_gaps(kept))
    lost = any(_TIME.match(pieces.parts[i].text) for i in equal)
    return CompactText(found, lost) if len(found) < len(text) else None


def _line_without_time(lines: Sequence[str], record: _Record) -> object:
    """Return what equal records have in common; of one of several lines nothing."""
    if record.end - record.start > 1:
        return record
    line = lines[record.start]
    time = _TIME.match(line)
    return line[time.end() if time else 0 :].rstrip()


def _read(lines: Sequence[str]) -> Iterator[_Record]:
    stamped = [bool(_STAMP.match(line)) for line in lines]
    filled = sum(not line.isspace() for line in lines)
    # Without times each line is a record, and what is indented goes on with it. So does the message
    # that ends a traceback.
    has_stamps = 3 * sum(stamped) >= filled
    margins = Counter(len(line) - len(line.lstrip()) for line in lines if not line.isspace())
    # A few lines stand out where a program prints its tests below their file.
    margin = max(margins, key=margins.__getitem__) if 10 * margins[0] < filled else 0
    start = 0
    for number in range(1, len(lines) + 1):
        if number < len(lines):
            line = lines[number]
            begins = stamped[number] if has_stamps else not line[: margin + 1].isspace()
            if not begins:
                continue
            ends = lines[number - 1][0] == " " and lines[start].startswith(_TRACEBACK)
            if ends and not has_stamps:
                continue
        head = lines[start : min(number, start + LINES_OF_A_HEAD)]
        severity = 0
        # A stack trace says `error` in a line of its own.
        if any(map(_ERROR.search, head)):
            severity = 2
        elif _WARNING.search(lines[start]):
            severity = 1
        shape = _CHANGING.sub("0", "".join(head)[:MAX_CHARS_COMPARED])
        yield _Record(start, number, severity, shape)
        start = number


def _make_pieces(
    lines: Sequence[str], record: _Record, keep: float, number: int
) -> Iterator[Piece]:
    middle, last = record.start + LINES_OF_A_HEAD, record.end - LINES_OF_AN_END
    if last - middle < LINES_OF_AN_END:
        yield Piece("".join(lines[record.start : record.end]), keep)
        return
    yield Piece("".join(lines[record.start : middle]), keep)
    for start in range(middle, last, LINES_OF_A_HEAD):
        part = lines[start : min(start + LINES_OF_A_HEAD, last)]
        share = MIDDLE_SHARE * (1 - (start - middle) / len(lines))
        if any(_ERROR.search(line) for line in part if not line.lstrip().startswith("at ")):
            share = 1.0  # `Caused by: …`
        yield Piece("".join(part), share * keep, number)
    yield Piece("".join(lines[last : record.end]), keep, number)
