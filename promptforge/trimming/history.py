"""Trimming of sessions at a prompt: inputs stay long, old outputs go first, from their middle."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from ..text.format import Marks
from .pieces import Piece, Pieces, UnderQuery, line_gap, split_lines

# The prompt, and the beginning of a line that goes on with its input.
_PROMPTS = {
    "python": (r">>> ?", r"\.\.\. ?"),
    "ipython": (r"In \[\d+\]: ", r"\s*\.\.\.+: ?"),
    "shell": (
        r"(?:\([\w.-]+\) )?(?:\[?[\w.-]+@[\w.-]+[ :][^$#\n]{0,200}?\]?[$#] |\$ |PS [A-Z]:[^>\n]*> ?"
        r"|[A-Z]:\\[^>\n]*>)",
        r"> ",
    ),
    "lisp": (r"[A-Z][A-Z0-9./-]*> |\[\d+\]> ", r""),
    "named": (
        r"(?:[a-z][\w-]{0,19}(?:\([\w:.-]*\))?(?::\d+)*(?::\d+)?> |\w+=[#>] )",
        r"[\w-]*[-.]+> ?",
    ),
}

# Prompts of some languages that are something else elsewhere: a quotation, a list, a heading.
_VAGUE_PROMPTS = {
    "lisp commonlisp scheme": (r"(?:\* |> )", r""),
    "javascript typescript repl r console": (r"> ", r"(?:\.\.\.|\+) ?"),
    "bash sh shell console shell-session terminal zsh": (r"(?:# |% )", r"> "),
}
_FAILED = re.compile(
    r"(?:│ )?(?:Traceback \(most|\w*(?:Error|Exception)\b|error(?::|\[)|fatal:|panic|"
    r"debugger invoked|(?:ERROR|FATAL|PANIC)\b|npm ERR!|"
    r".*(?:command not found|No such file|Permission denied|[Uu]nhandled|: error:|: \*\*\* "
    r"|[Ee]xit (?:code|status) [1-9]))",
)
_LINES_NEAR_END = 5
"""Lines at each end of an output that stay longer than its middle."""
_LAST_ENTRIES = 2
"""Outputs at the end that stay longer than the inputs before them."""

# The order of leaving: middles of old outputs, their ends, old inputs, outputs with an error in
# them, the last outputs and inputs. A fraction below 1 puts a piece in its place among its equals.
_OLD, _ENDING, _ASKED, _WRONG, _NEW = range(5)


class _Entry(NamedTuple):
    start: int
    output: int
    end: int


def divide(text: str, *, marks: Marks, language: str | None = None) -> Pieces | None:
    """Return a session of Python, a shell, Lisp or the like as pieces; None without prompts.

    An input stays as long as any of its output does.
    """
    lines = split_lines(text)
    vague = [pair for names, pair in _VAGUE_PROMPTS.items() if language in names.split()]
    prompts = [*_PROMPTS.values(), *vague]
    # The prompt that is seen most often.
    entries = max((_read(lines, prompt, more) for prompt, more in prompts), key=len)
    if not entries:
        return None
    return Pieces(_parts(lines, entries), line_gap, marks, under_query=UnderQuery(_ASKED))


def _read(lines: Sequence[str], prompt: str, more: str) -> list[_Entry]:
    begins, goes_on = re.compile(prompt), re.compile(more)
    starts = [n for n, line in enumerate(lines) if begins.match(line)]
    entries: list[_Entry] = []
    for start, end in pairwise([*starts, len(lines)]):
        output, depth = start + 1, _open_brackets(lines[start])
        while output < end:
            if more:
                escaped = lines[output - 1].rstrip("\r\n").endswith("\\")
                if not escaped and not goes_on.match(lines[output]):
                    break
            elif depth <= 0:  # a form of Lisp goes on until it is closed
                break
            depth += _open_brackets(lines[output])
            output += 1
        if not more and depth > 0:  # never closed: the rest is output
            output = start + 1
        entries.append(_Entry(start, output, end))
    return entries


def _open_brackets(line: str) -> int:
    return line.count("(") - line.count(")")


def _parts(lines: Sequence[str], entries: Sequence[_Entry]) -> list[Piece]:
    parts = [Piece(line) for line in lines[: entries[0].start]]
    for age, entry in enumerate(entries, 1):
        last = len(entries) - age < _LAST_ENTRIES
        number = len(parts)
        asked = "".join(lines[entry.start : entry.output])
        output = lines[entry.output : entry.end]
        phase = _OLD
        if last:
            phase = _NEW
        elif any(_FAILED.match(line) for line in output):
            phase = _WRONG
        keep = (_NEW if last else _ASKED) + age / (len(entries) + 1)
        parts.append(Piece(asked, keep, skeleton=True))
        for start, end in _chunks(len(output)):
            near = min(start, len(output) - end)
            closeness, this = 0.1 / (near + 1), phase
            if near < _LINES_NEAR_END:
                closeness = 0.9 / (near + 1)
                this = max(phase, _ENDING)
            keep = this + (age + closeness) / (len(entries) + 1)
            parts.append(Piece("".join(output[start:end]), keep, number))
    return parts


def _chunks(count: int) -> list[tuple[int, int]]:
    """Return the pieces of an output of `count` lines: single lines at both ends, then larger."""
    ends, start = list[tuple[int, int]](), 0
    while start < count / 2:
        end = min(start + max(start // 8, 1), (count + 1) // 2)
        ends.append((start, end))
        start = end
    middle = [(count - end, count - start) for start, end in reversed(ends)]
    if count % 2 and ends:  # the line in the middle is in both halves
        ends[-1] = ends[-1][0], ends[-1][1] - 1
    return [(start, end) for start, end in [*ends, *middle] if start < end]
