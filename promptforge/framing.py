"""What stands around contents: which framings go with which syntax, and the lines that templates print.

The lines become a pattern for what could pass for one of them in plain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

TAGGED = "tagged"
"""The framing that leaves contents as they are: see `enclosing`."""

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
"""By syntax, its own framing first. A fence in plain text is none: a label may open another there."""


def framing_of(asked: str, syntax: str, format: str) -> tuple[str, str | None]:  # noqa: A002
    """Return the framing to print by, and what is wrong where it is not the one asked for: `auto` asks for its own."""
    own, *others = FRAMINGS[syntax]
    if asked in ("auto", own, *others):
        return (asked if asked in others else own), None
    takes = " or ".join(FRAMINGS[syntax])
    return own, f"framing: {asked} does not go with the format {format}, which takes {takes}"


LINE_ENDS = "\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
"""What anybody may take for the end of a line, as the inside of a character class."""


def frame_pattern(lines: Iterable[tuple[object, ...]]) -> re.Pattern[str] | None:
    """Return a pattern for a whole line that could be taken for one of `lines`, or `None` if none is distinct.

    A line that begins with words is known by them; any other must match as a whole and show at least two visible
    characters of its own. Lines that are nothing but a value cannot be told from content and are left out.
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
            line = "".join(
                re.escape(p) if isinstance(p, str) else f"[^{LINE_ENDS}]*" for p in merged
            )
            whole = re.sub(r"^(?:\\[ \t])+", "", line) + rf"[ \t]*(?=[{LINE_ENDS}]|\Z)"
            (anywhere if head else at_margin).add(whole)
    choices = []
    if anywhere:
        choices.append(rf"[ \t]*(?:{'|'.join(sorted(anywhere))})")
    if (
        at_margin
    ):  # a line that begins with a value begins at the margin, and indented text is not one
        choices.append(rf"(?=\S)(?:{'|'.join(sorted(at_margin))})")
    if not choices:
        return None
    return re.compile(rf"(?:\A|(?<=[{LINE_ENDS}]))(?={'|'.join(choices)})[^{LINE_ENDS}]+")
