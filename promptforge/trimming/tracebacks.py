"""Shorter forms of stack traces: what went wrong stays whole, frames of libraries go first, then the outermost."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from .frames import package_of
from .left_out import end_of, head_in, lines_of, say
from .pieces import ALWAYS, Piece, Pieces

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
FRAME, REPEAT = "frame", "repeated frame"
_NEAR, _OWN = 2, 5
"""So many innermost frames of each trace, and of the program's own in it, stay longer than the others."""


class _Trace(NamedTuple):
    """The frames of one trace, as the first line of each and the line after, from the innermost."""

    frames: Sequence[tuple[int, int]]
    said: Sequence[tuple[int, int]]
    """The lines that say what went wrong."""
    aside: bool = False
    """Whether it is of another thread than the one that failed."""


_Reader = Callable[[Sequence[str]], Iterator[_Trace]]


def divide(text: str, *, marker: str, language: str | None = None) -> Pieces | None:
    """Return a text with a Python, JavaScript, Java, .NET, Go or Rust trace in it as pieces; None without one.

    The exceptions and their messages, chained ones too, always stay. Of the rest repeated frames go first, then the
    text around, libraries' frames, the program's own; the outermost of each first.
    """
    lines = _LINE.findall(text)
    for read in _READERS:
        traces = list(read(lines))
        if any(trace.frames for trace in traces):
            return Pieces(_parts(lines, traces), _gap, head_in(None, marker))
    return None


def _parts(lines: Sequence[str], traces: Sequence[_Trace]) -> list[Piece]:
    keeps: dict[int, tuple[int, float, str]] = {}
    for trace in traces:
        for start, end in trace.said:
            keeps[start] = end, ALWAYS, ""
        seen: set[str] = set()
        own = 0
        for distance, (start, end) in enumerate(trace.frames):
            frame = "".join(lines[start:end])
            near = -distance / (len(trace.frames) + 1)
            if frame in seen:
                keeps[start] = end, near, REPEAT
                continue
            seen.add(frame)
            if trace.aside:
                keeps[start] = end, near + 2, FRAME
                continue
            if package_of(frame) is None:
                own += 1
                keeps[start] = end, near + (6 if own <= _OWN else 4), FRAME
            else:
                keeps[start] = end, near + (5 if distance < _NEAR else 3), FRAME
    parts: list[Piece] = []
    line = 0
    while line < len(lines):
        end, keep, kind = keeps.get(line, (line + 1, 1 + line / (len(lines) + 1) - 0.5, ""))
        while end < len(lines) and end not in keeps and not lines[end].strip():
            end += 1
        parts.append(Piece("".join(lines[line:end]), keep, kind=kind))
        line = end
    return parts


def _gap(run: Sequence[Piece]) -> str:
    margin = re.match(r"[ \t|]*", run[0].text)
    return f"{margin[0] if margin else ''}… {_say(run)}{end_of(run)}"


def _say(run: Sequence[Piece]) -> str:
    kinds = {part.kind for part in run}
    count = f"{len(run)} {'repeated ' if kinds == {REPEAT} else ''}frame{'s' * (len(run) != 1)}"
    if "" in kinds:
        return say(lines_of(run))
    if kinds == {REPEAT}:
        return count
    packages = {package_of(part.text) for part in run}
    name = packages.pop() if len(packages) == 1 else None
    return f"{count} in {name}" if name else count


_PY_TRACE = re.compile(r"([ |+-]*)(?:Exception Group )?Traceback \(most recent call last\):")
_PY_FRAME = re.compile(r'[ |]*  File "')
_PY_CHAIN = re.compile(r"[ |]*(?:During handling of the above|The above exception was the direct)")


def _read_python(lines: Sequence[str]) -> Iterator[_Trace]:
    line = 0
    while line < len(lines):
        opening = _PY_TRACE.match(lines[line])
        if not opening and not _PY_CHAIN.match(lines[line]):
            line += 1
            continue
        said, frames, line = [(line, line + 1)], list[tuple[int, int]](), line + 1
        while opening and line < len(lines) and _PY_FRAME.match(lines[line]):
            start, line = line, line + 1
            margin = _depth(lines[start])
            while line < len(lines) and lines[line].strip() and _depth(lines[line]) > margin:
                line += 1  # the source, the ^^^^ below it
            while line < len(lines) and re.match(r"[ |]*\[Previous line repeated", lines[line]):
                line += 1
            frames.append((start, line))
        start = line
        while (
            frames
            and line < len(lines)
            and lines[line].strip(" |\r\n")
            and not _PY_TRACE.match(lines[line])
        ):
            line += 1
            if _depth(lines[line - 1]) == _depth(lines[start]) and _LOGGED.match(
                lines[line] if line < len(lines) else ""
            ):
                break  # a log goes on
        if line > start:
            said.append((start, line))
        yield _Trace(frames[::-1], said)


_LOGGED = re.compile(
    r"(?:\[?\d{4}-\d\d-\d\d|\[[A-Z]+\]|\d\d:\d\d|(?:INFO|DEBUG|WARN|WARNING|ERROR)\b|[\w.-]+@|\$ |>>> )"
)


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" |"))


_AT = re.compile(r"[ \t]*(?:at\s+\S|\.\.\. \d+ (?:more|common))|^[^\s@]*@\S+:\d+:\d+\s*$")
_ERROR = re.compile(
    r"\s*(?:Exception in thread|Caused by:|Suppressed:|Uncaught|Unhandled|---> |\[cause\]:|"
    r"(?:[\w$.]+[.$])?[A-Z]\w*(?:Exception|Error|Throwable)\b)"
)
_FARTHEST = 200
"""How many lines of message are looked through for the exception they belong to."""


def _read_at(lines: Sequence[str]) -> Iterator[_Trace]:
    """Read traces of `at` lines: JavaScript, Java, Kotlin, .NET."""
    line = last = 0
    while line < len(lines):
        if not _AT.match(lines[line]):
            line += 1
            continue
        start = line
        while line < len(lines) and _AT.match(lines[line]):
            line += 1
        said = start - 1
        for up in range(start - 1, max(last, start - _FARTHEST) - 1, -1):
            if _ERROR.match(lines[up]):
                said = up
                break
        yield _Trace(
            [(n, n + 1) for n in range(start, line)], [(said, start)] if said >= last else []
        )
        last = line


_GO_PANIC = re.compile(
    r"(?:panic:|fatal error:|\[signal |runtime error:|goroutine \d+ \[|created by )"
)


def _read_go(lines: Sequence[str]) -> Iterator[_Trace]:
    said: list[tuple[int, int]] = []
    frames: list[tuple[int, int]] = []
    line = routines = 0
    while line < len(lines):
        if (
            line + 1 < len(lines)
            and re.match(r"\t\S+\.\w+:\d+", lines[line + 1])
            and re.match(r"[\w./*(]", lines[line])
        ):
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
_RUST_FRAME = re.compile(r"\s*\d+: ")


def _read_rust(lines: Sequence[str]) -> Iterator[_Trace]:
    line = 0
    while line < len(lines):
        if not _RUST_PANIC.match(lines[line]):
            line += 1
            continue
        start = line
        while line < len(lines) and not re.match(r"(?:stack backtrace:|note: )", lines[line]):
            line += 1
        said, frames = [(start, line)], list[tuple[int, int]]()
        while (
            line < len(lines)
            and not _RUST_FRAME.match(lines[line])
            and not _RUST_PANIC.match(lines[line])
        ):
            line += 1
        if line > start and line < len(lines) and lines[line - 1].startswith("stack backtrace:"):
            said.append((line - 1, line))
        while line < len(lines) and _RUST_FRAME.match(lines[line]):
            start, line = line, line + 1
            while line < len(lines) and re.match(r"\s+at ", lines[line]):
                line += 1
            frames.append((start, line))
        yield _Trace(frames, said)


_READERS: Sequence[_Reader] = (_read_python, _read_rust, _read_go, _read_at)
