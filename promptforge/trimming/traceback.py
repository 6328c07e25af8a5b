"""Trimming of stack traces: the error stays whole; frames of libraries and outer frames go."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ..text import table_text
from ..text.format import Marks
from ..text.words import late_pattern
from .pieces import ALWAYS, Piece, Pieces, UnderQuery, line_end, split_lines

FRAME, REPEAT = "frame", "repeated frame"
_INNERMOST_FRAMES = 2
"""Innermost frames of libraries in each trace that stay longer than the others."""
_INNERMOST_OWN_FRAMES = 5
"""The same of the program's own."""
_REPEATED, _AROUND, _ASIDE, _LIBRARY_FRAME, _OWN_FRAME, _LIBRARY_NEAR, _OWN_NEAR, _SAID = range(8)
"""The order of leaving. A frame has up to 1 less, by its distance from the innermost."""
_FACTS = _LIBRARY_FRAME
"""Least `keep` of the frames that no query moves: the program's own, and the innermost."""
_MAX_TRACES_SAID = 8
"""Up to so many traces all messages stay; those of 300 took the room of the one asked for."""
_MAX_MESSAGE_LINES = 200
"""Lines above a trace that are searched for its exception."""


class _Trace(NamedTuple):
    """One trace; its parts are given by their first line and the line after the last."""

    frames: Sequence[tuple[int, int]]
    """From the innermost."""
    said: Sequence[tuple[int, int]]
    """The error and its message."""
    aside: bool = False
    """True for another thread than the one that failed."""


def divide(text: str, *, marks: Marks, language: str | None = None) -> Pieces | None:
    """Return a text with a trace of Python, JavaScript, Java, .NET, Ruby, Go or Rust as pieces.

    The exceptions and their messages, chained ones too, always stay. Repeated frames go first, then
    the text around, libraries' frames, the program's own; the outermost of each first. None
    without a trace.
    """
    lines = split_lines(text)
    for read in _READERS:
        traces = list(read(lines))
        if any(trace.frames for trace in traces):
            failed = sum(bool(trace.said and trace.frames) and not trace.aside for trace in traces)
            said, facts = (ALWAYS, _FACTS) if failed <= _MAX_TRACES_SAID else (_SAID, ALWAYS)
            under_query = UnderQuery(facts)
            return Pieces(_parts(lines, traces, said), _gap, marks, under_query=under_query)
    return None


def _parts(lines: Sequence[str], traces: Sequence[_Trace], said: float) -> list[Piece]:
    # First line of a part → the line after, its `keep`, its kind.
    known: dict[int, tuple[int, float, str]] = {}
    for trace in traces:
        for start, end in trace.said:
            known[start] = end, said, ""
        for start, end, keep, kind in _frames(lines, trace):
            known[start] = end, keep, kind
    parts: list[Piece] = []
    line = 0
    while line < len(lines):
        # The text around the traces is worth between 0.5 and 1.5, later lines more.
        around = (line + 1, 1 + line / (len(lines) + 1) - 0.5, "")
        end, keep, kind = known.get(line, around)
        while end < len(lines) and end not in known and not lines[end].strip():
            end += 1
        parts.append(Piece("".join(lines[line:end]), keep, kind=kind))
        line = end
    return parts


def _frames(lines: Sequence[str], trace: _Trace) -> Iterator[tuple[int, int, float, str]]:
    seen: set[str] = set()
    own = 0
    for distance, (start, end) in enumerate(trace.frames):
        # Of equal frames of Python the last alone says how often they come again.
        frame = _MORE.sub("", "".join(lines[start:end])).rstrip()
        near = -distance / (len(trace.frames) + 1)
        if frame in seen:
            yield start, end, near, REPEAT
            continue
        seen.add(frame)
        if trace.aside:
            level = _ASIDE
        elif package_of(frame) is None:
            own += 1
            level = _OWN_NEAR if own <= _INNERMOST_OWN_FRAMES else _OWN_FRAME
        else:
            level = _LIBRARY_NEAR if distance < _INNERMOST_FRAMES else _LIBRARY_FRAME
        yield start, end, near + level, FRAME


def _gap(run: Sequence[Piece], marks: Marks) -> str:
    margin = re.match(r"[ \t|]*", run[0].text)
    said = f"{marks.gap} {_say(run, marks)}".rstrip()
    return f"{margin[0] if margin else ''}{said}{line_end(run)}"


def _say(run: Sequence[Piece], marks: Marks) -> str:
    kinds = {part.kind for part in run}
    if "" in kinds:
        return ""
    count = sum(_count_frames(part.text) for part in run)
    if kinds == {REPEAT}:
        return marks.counted(count, marks.repeated_frame, marks.repeated_frames)
    frames = marks.counted(count, marks.frame, marks.frames)
    packages = {package_of(part.text) for part in run}
    name = packages.pop()
    if not name or packages:
        return frames
    return marks.frames_in.replace("{frames}", frames).replace("{package}", name)


_MORE = late_pattern(
    r"^[ \t|]*\[Previous line repeated (\d{1,9}) more times?\]"
    r"|^[ \t]*\.\.\. (\d{1,9}) (?:more|common|levels)\b",
    re.MULTILINE,
)
"""A line for frames that the trace itself leaves out: below one of Python, elsewhere alone."""


def _count_frames(text: str) -> int:
    below = _MORE.search(text)
    if below is None:
        return 1
    return 1 + int(below[1]) if below[1] else int(below[2])


_LIBRARY = late_pattern(table_text("libraries"), re.VERBOSE | re.MULTILINE)
"""The package of a library's frame is the one group that matched; an empty one is the language."""


def package_of(frame: str) -> str | None:
    """Return the library that a frame belongs to; None for the program's own."""
    found = _LIBRARY.search(frame[:2000])
    if found is None:
        return None
    name = next((name for name in found.groups() if name), "")
    return name.removesuffix(".py") or None


# --- readers of traces ----------------------------------------------------------------------------


def _skip(lines: Sequence[str], line: int, goes_on: Callable[[str], object]) -> int:
    while line < len(lines) and goes_on(lines[line]):
        line += 1
    return line


_PY_TRACE = re.compile(r"([ |+-]*)(?:Exception Group )?Traceback \(most recent call last\):")
_PY_FRAME = re.compile(r'[ |]*  File "')
_PY_CHAIN = re.compile(r"[ |]*(?:During handling of the above|The above exception was the direct)")
_PY_REPEATED = re.compile(r"[ |]*\[Previous line repeated")
_LOGGED = re.compile(
    r"(?:\[?\d{4}-\d\d-\d\d|\[[A-Z]+\]|\d\d:\d\d|(?:INFO|DEBUG|WARN|WARNING|ERROR)\b"
    r"|[\w.-]+@|\$ |>>> )"
)


def _read_python(lines: Sequence[str]) -> Iterator[_Trace]:
    line = 0
    while line < len(lines):
        opening = _PY_TRACE.match(lines[line])
        if not opening and not _PY_CHAIN.match(lines[line]):
            line += 1
            continue
        said, frames = [(line, line + 1)], list[tuple[int, int]]()
        line += 1
        while opening and line < len(lines) and _PY_FRAME.match(lines[line]):
            end = _end_of_frame(lines, line)
            frames.append((line, end))
            line = end
        if frames:
            start, line = line, _end_of_message(lines, line)
            if line > start:
                said.append((start, line))
        yield _Trace(frames[::-1], said)


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" |"))


def _end_of_frame(lines: Sequence[str], start: int) -> int:
    """Return the line after a Python frame: its source, and the ^^^^ below it, are deeper."""
    depth = _depth(lines[start])
    end = _skip(lines, start + 1, lambda text: text.strip() and _depth(text) > depth)
    return _skip(lines, end, _PY_REPEATED.match)


def _end_of_message(lines: Sequence[str], start: int) -> int:
    for line in range(start, len(lines)):
        if not lines[line].strip(" |\r\n") or _PY_TRACE.match(lines[line]):
            return line
        # A message may have many lines, but after one of them a log may go on.
        again = line > start and _depth(lines[line - 1]) == _depth(lines[start])
        if again and _LOGGED.match(lines[line]):
            return line
    return len(lines)


_AT = re.compile(
    r"[ \t]*(?:at\s+\S|\.\.\. \d+ (?:more|common|levels)|from \S+:\d+:in )|^[^\s@]*@\S+:\d+:\d+\s*$"
)
_INNER = re.compile(r"\s*---> ")
"""Exceptions of .NET stand above all frames."""
_ERROR = re.compile(
    r"\s*(?:Exception in thread|Caused by:|Suppressed:|Uncaught|Unhandled|---> |\[cause\]:|"
    r"(?:[\w$.]+[.$])?[A-Z]\w*(?:Exception|Error|Throwable)\b|\S+:\d+:in [`'].*': )"
)


def _read_at(lines: Sequence[str]) -> Iterator[_Trace]:
    """Read traces of `at` lines: JavaScript, Java, Kotlin, .NET; Ruby's `from` lines too."""
    line = last = 0
    while line < len(lines):
        if not _AT.match(lines[line]):
            line += 1
            continue
        start, line = line, _skip(lines, line, _AT.match)
        above = range(start - 1, max(last, start - _MAX_MESSAGE_LINES) - 1, -1)
        errors = [up for up in above if _ERROR.match(lines[up])] or [start - 1]
        error = next((up for up in errors if not _INNER.match(lines[up])), errors[-1])
        said = [(error, start)] * (error >= last)
        yield _Trace([(frame, frame + 1) for frame in range(start, line)], said)
        last = line


_GO_PANIC = re.compile(
    r"(?:\t*panic:|fatal error:|\[signal |runtime error:|goroutine \d+ \[|created by )"
)
_GO_CALL = re.compile(r"[\w./*(]")
_GO_PLACE = re.compile(r"\t\S+\.\w+:\d+")


def _read_go(lines: Sequence[str]) -> Iterator[_Trace]:
    said: list[tuple[int, int]] = []
    frames: list[tuple[int, int]] = []
    line = routines = 0
    while line < len(lines):
        below = "".join(lines[line + 1 : line + 2])
        if _GO_CALL.match(lines[line]) and _GO_PLACE.match(below):
            if routines:
                frames.append((line, line + 2))
                line += 1
        elif _GO_PANIC.match(lines[line]):
            routine = lines[line].startswith("goroutine ")
            if routine and routines:
                yield _Trace(frames, said, routines > 1)
                said, frames = [], []
            routines += routine
            if not routine or routines == 1:
                said.append((line, line + 1))
        line += 1
    yield _Trace(frames, said, routines > 1)


_RUST_PANIC = re.compile(r"thread '.*' (?:\(\d+\) )?panicked at ")
_RUST_END = re.compile(r"(?:stack backtrace:|note: )")
_RUST_FRAME = re.compile(r"\s*\d+: ")
_RUST_PLACE = re.compile(r"\s+at ")


def _read_rust(lines: Sequence[str]) -> Iterator[_Trace]:
    line = 0
    while line < len(lines):
        if not _RUST_PANIC.match(lines[line]):
            line += 1
            continue
        start, line = line, _skip(lines, line, lambda text: not _RUST_END.match(text))
        said, frames = [(start, line)], list[tuple[int, int]]()
        line = _skip(
            lines, line, lambda text: not _RUST_FRAME.match(text) and not _RUST_PANIC.match(text)
        )
        if start < line < len(lines) and lines[line - 1].startswith("stack backtrace:"):
            said.append((line - 1, line))
        while line < len(lines) and _RUST_FRAME.match(lines[line]):
            end = _skip(lines, line + 1, _RUST_PLACE.match)
            frames.append((line, end))
            line = end
        yield _Trace(frames, said)


_READERS = (_read_python, _read_rust, _read_go, _read_at)
