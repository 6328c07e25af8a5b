"""Shorter forms of sessions at a prompt: inputs stay long, outputs leave oldest first, from their middle."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .left_out import end_of, head_in, lines_of, say
from .pieces import Piece, Pieces

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_PROMPTS = {  # the prompt, and how its input goes on
    "python": (r">>> ?", r"\.\.\. ?"),
    "ipython": (r"In \[\d+\]: ", r"\s*\.\.\.+: ?"),
    "shell": (
        r"(?:\([\w.-]+\) )?(?:\[?[\w.-]+@[\w.-]+[ :][^$#\n]{0,200}?\]?[$#] |\$ |PS [A-Z]:[^>\n]*> ?|[A-Z]:\\[^>\n]*>)",
        r"> ",
    ),
    "lisp": (r"[A-Z][A-Z0-9./-]*> |\[\d+\]> ", r""),
    "named": (
        r"(?:[a-z][\w-]{0,19}(?:\([\w:.-]*\))?(?::\d+)*(?::\d+)?> |\w+=[#>] )",
        r"[\w-]*[-.]+> ?",
    ),
}
_VAGUE = {  # prompts that are something else elsewhere: a quotation, a list, a heading
    "lisp commonlisp scheme": (r"(?:\* |> )", r""),
    "javascript typescript repl r console": (r"> ", r"(?:\.\.\.|\+) ?"),
    "bash sh shell console shell-session terminal zsh": (r"(?:# |% )", r"> "),
}
_FAILED = re.compile(
    r"Traceback \(most|\w*(?:Error|Exception)\b|error(?::|\[)|fatal:|panic|debugger invoked|"
    r".*(?:command not found|No such file|Permission denied|[Uu]nhandled|[Ee]xit (?:code|status) [1-9])",
)
_ENDS = 5
"""So many lines at each end of an output stay longer than its middle."""
_LAST = 2
"""So many of the last outputs stay longer than the inputs before them."""
_OLD, _ENDING, _ASKED, _WRONG, _NEW = range(5)


class _Entry(NamedTuple):
    """An input and its output, as lines."""

    start: int
    output: int
    end: int


def divide(text: str, *, marker: str, language: str | None = None) -> Pieces | None:
    """Return a session of Python, a shell, Lisp or the like as pieces; None for what has no prompts.

    An input stays as long as any of its output does. The middles of old outputs go first, the oldest first, then
    their ends, then old inputs, those that led to an error last with what it said; the last two go after those.
    """
    lines = _LINE.findall(text)
    entries = _entries(lines, language)
    return Pieces(_parts(lines, entries), _gap, head_in(None, marker)) if entries else None


def _entries(lines: Sequence[str], language: str | None) -> list[_Entry]:
    """Return the entries by the prompt that is seen most often."""
    vague = [pair for names, pair in _VAGUE.items() if language in names.split()]
    best: list[_Entry] = []
    for prompt, more in [*_PROMPTS.values(), *vague]:
        found = _read(lines, re.compile(prompt), re.compile(more) if more else None)
        if len(found) > len(best):
            best = found
    return best


def _read(
    lines: Sequence[str], prompt: re.Pattern[str], more: re.Pattern[str] | None
) -> list[_Entry]:
    starts = [n for n, line in enumerate(lines) if prompt.match(line)]
    entries: list[_Entry] = []
    if not starts:
        return entries
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        output, depth = start + 1, _open(lines[start])
        while output < end:
            if (
                more
                and not more.match(lines[output])
                and not lines[output - 1].rstrip("\r\n").endswith("\\")
            ):
                break
            if not more and depth <= 0:  # a form of Lisp goes on until it is closed
                break
            depth += _open(lines[output])
            output += 1
        entries.append(_Entry(start, start + 1 if not more and depth > 0 else output, end))
    return entries


def _open(line: str) -> int:
    return line.count("(") - line.count(")")


def _parts(lines: Sequence[str], entries: Sequence[_Entry]) -> list[Piece]:
    parts = [Piece(line) for line in lines[: entries[0].start]]
    for age, entry in enumerate(entries, 1):
        last = len(entries) - age < _LAST
        keep = (_NEW if last else _ASKED) + age / (len(entries) + 1)
        number = len(parts)
        parts.append(Piece("".join(lines[entry.start : entry.output]), keep, joint=True))
        output = lines[entry.output : entry.end]
        phase = _NEW if last else _WRONG if any(_FAILED.match(line) for line in output) else _OLD
        for start, end in _chunks(len(output)):
            near = min(start, len(output) - end)
            this = _ENDING if phase == _OLD and near < _ENDS else phase
            closeness = 0.9 / (near + 1) if near < _ENDS else 0.1 / (near + 1)
            parts.append(
                Piece(
                    "".join(output[start:end]),
                    this + (age + closeness) / (len(entries) + 1),
                    number,
                )
            )
    return parts


def _chunks(count: int) -> list[tuple[int, int]]:
    """Return the pieces of an output of `count` lines: single lines at both ends, larger ones to the middle."""
    ends, start = list[tuple[int, int]](), 0
    while start < count / 2:
        end = min(start + max(start // 8, 1), (count + 1) // 2)
        ends.append((start, end))
        start = end
    middle = [(count - end, count - start) for start, end in reversed(ends)]
    if count % 2 and ends:  # the line in the middle is in both halves
        ends[-1] = ends[-1][0], ends[-1][1] - 1
    return [(start, end) for start, end in [*ends, *middle] if start < end]


def _gap(run: Sequence[Piece]) -> str:
    return f"… {say(lines_of(run))}{end_of(run)}"
