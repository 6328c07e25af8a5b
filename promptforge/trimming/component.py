"""Trimming of components of a page: files of Vue, Svelte and Astro.

A script is shortened in its own language, with its marks, and its tags stay with it. What else
stands there is markup.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..text.format import Marks
from ..text.words import late_pattern
from .indentation import read_indentation
from .pieces import Piece, Pieces, split_lines
from .program import FIELD, NONE, SIGNATURE, Blocks, Place, code_gap, program_pieces
from .syntax_tree import read_syntax

_SCRIPT = late_pattern(r"<script\b([^>]*)>[ \t]*\r?\n")
_END_OF_SCRIPT = late_pattern(r"</script>")
_FENCE = late_pattern(r"---[ \t]*\r?\n")
_TYPESCRIPT = late_pattern(r"\blang[ \t]*=[ \t]*[\"']?tsx?\b")
_PROPS = late_pattern(r"(?m)^[ \t]*define(?:Props|Emits|Model|Slots|Expose|Options)\b")
"""A call that declares props or events, and is no part of a `const`."""
_TEMPLATE = late_pattern(r"(?m)^<template\b")
_MARKUP = "markup"
"""The kind of a piece outside of scripts."""


def divide(text: str, *, marks: Marks, language: str | None = None) -> Pieces | None:
    """Return a component as pieces; None for a text of one."""
    blocks = Blocks(split_lines(text))
    while blocks.next < len(blocks.lines):
        line = blocks.lines[blocks.next]
        tag = _SCRIPT.match(line)
        if tag:
            script_language = "javascript"
            if _TYPESCRIPT.search(tag[1]):
                script_language = "typescript"
            _add_script(blocks, script_language, _END_OF_SCRIPT)
        elif language == "astro" and not blocks.next and _FENCE.match(line):
            _add_script(blocks, "typescript", _FENCE)
        else:
            _add_markup(blocks)
    return program_pieces(text, blocks.cut(), language, marks, _gap)


def _find(lines: Sequence[str], start: int, pattern: re.Pattern[str]) -> int:
    reach = range(start, len(lines))
    return next((line for line in reach if pattern.match(lines[line])), len(lines))


def _add_script(blocks: Blocks, language: str, end: re.Pattern[str]) -> None:
    lines, first = blocks.lines, blocks.next + 1
    last = _find(lines, first, end)
    head = blocks.add(first - 1, first, rank=SIGNATURE, kind=_MARKUP)
    script = "".join(lines[first:last])
    found = read_syntax(script, language) or read_indentation(script, language)
    if found is not None:
        for number, (block, text) in enumerate(zip(found.found, found.texts(), strict=True)):
            if not block.kind and not block.rank and _PROPS.search(text):
                found.found[number] = block._replace(kind=FIELD)
        blocks.extend(found, head)
    if blocks.next < last:
        blocks.add(blocks.next, last, Place(head))
    if last < len(lines):
        blocks.add(last, last + 1, Place(head), closes=head, kind=_MARKUP)


def _add_markup(blocks: Blocks) -> None:
    lines, first = blocks.lines, blocks.next
    last = _find(lines, first + 1, _SCRIPT)
    found = read_indentation("".join(lines[first:last]), "html")
    if found is None:
        blocks.add(first, last, kind=_MARKUP)
        return
    for number, (block, text) in enumerate(zip(found.found, found.texts(), strict=True)):
        rank = NONE
        if block.rank and block.parent < 0 and _TEMPLATE.search(text):
            rank = SIGNATURE
        found.found[number] = block._replace(rank=rank, kind=_MARKUP)
    blocks.extend(found)


def _gap(run: Sequence[Piece], marks: Marks) -> str:
    language = "html" if run[0].kind == _MARKUP else "typescript"
    return code_gap(language)(run, marks)
