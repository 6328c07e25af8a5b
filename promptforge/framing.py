"""Framings of contents by syntax, and the pattern of lines that plain text must mark."""

from __future__ import annotations

import re
from collections.abc import Iterable

TAGGED = "tagged"
"""The framing that prints contents as they are, between delimiters."""

ABOUT = {
    "fenced": "a fence longer than any run of its mark inside",
    "xml": "escapes, so that a parser reads the content back",
    "json": "quotes",
    "plain": "lines that could be taken for the template's own are marked",
    TAGGED: "the content as it is, between tags with a word that nothing else on the page holds",
}
FRAMINGS: dict[str, tuple[str, ...]] = {
    "md": ("fenced", TAGGED),
    "xml": ("xml", TAGGED),
    "json": ("json",),
    "txt": ("plain", TAGGED),
}
"""Syntax → framings, its own first. Plain text has no fences: a label could open another one."""


def framing_of(asked: str, syntax: str, format: str) -> tuple[str, str | None]:  # noqa: A002
    """Return the framing to use; if it is not the one asked for, also the message."""
    own, *others = FRAMINGS[syntax]
    if asked in others:
        return asked, None
    if asked in ("auto", own):
        return own, None
    takes = " or ".join(FRAMINGS[syntax])
    return own, f"framing: {asked} does not go with the format {format}, which takes {takes}"


LINE_ENDS = "\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
"""Anything that a reader may take for a line end, as the inside of a character class."""


def frame_pattern(lines: Iterable[tuple[object, ...]]) -> re.Pattern[str] | None:
    """Return a pattern for whole lines that could be taken for one of `lines`, or `None`.

    A line of a template is a tuple of texts and values. One that begins with words is recognized by
    these; any other by all its texts, if they have two visible characters. A line of values alone
    looks like any content, and is left out.
    """
    anywhere: set[str] = set()
    at_margin: set[str] = set()
    for parts in lines:
        merged = [p for p in parts if p != ""]
        visible = "".join("".join(p.split()) for p in merged if isinstance(p, str))
        head = merged[0].lstrip() if merged and isinstance(merged[0], str) else ""
        if len(merged) > 1 and sum(map(str.isalnum, head)) >= 2:
            anywhere.add(re.escape(head.rstrip()))
        elif len(visible) >= 2:
            value = f"[^{LINE_ENDS}]*"
            line = "".join(re.escape(p) if isinstance(p, str) else value for p in merged)
            whole = re.sub(r"^(?:\\[ \t])+", "", line) + rf"[ \t]*(?=[{LINE_ENDS}]|\Z)"
            (anywhere if head else at_margin).add(whole)
    choices = []
    if anywhere:
        choices.append(rf"[ \t]*(?:{'|'.join(sorted(anywhere))})")
    if at_margin:  # values are printed without leading blanks, so an indented line is none of these
        choices.append(rf"(?=\S)(?:{'|'.join(sorted(at_margin))})")
    if not choices:
        return None
    return re.compile(rf"(?:\A|(?<=[{LINE_ENDS}]))(?={'|'.join(choices)})[^{LINE_ENDS}]+")
