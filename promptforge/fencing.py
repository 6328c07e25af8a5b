"""Content → a fenced code block that nothing in it can close."""

from __future__ import annotations

import re

from .cleaning import FENCE_CAP, clean, longest_run
from .escaping import to_text
from .safe import Block, Content, Verbatim

TAG = re.compile(r"[A-Za-z0-9_+#.\-]{1,40}")
"""What may stand after the mark of a fence."""


def fence(text: object, language: object = None) -> Block:
    """Return `text` in a fenced code block that nothing in it can close.

    The fence is one longer than any run of its mark inside, at least three. Where that would take more than 24
    backticks, tildes are used; where both are out, each line gets the prefix `| ` (see `clean`, which says so).
    Verbatim content stands between its tags instead.
    """
    if type(text) is Verbatim:
        return text.tags()
    body = text if isinstance(text, Content) else clean(to_text(text), "md").text
    run = longest_run(body, "`")
    mark = "`"
    if run >= FENCE_CAP:
        mark, run = "~", longest_run(body, "~")
    tag = to_text(language)
    if not TAG.fullmatch(tag):
        tag = ""
    line = mark * max(3, run + 1)
    return Block(f"{line}{tag}\n{body}\n{line}")
