"""Content → a fenced code block that nothing in it can close."""

from __future__ import annotations

import re

from .escape import (
    MAX_FENCE_MARKS,
    Content,
    FencedBlock,
    VerbatimContent,
    clean_content,
    longest_run,
)
from .format import to_text

FENCE_TAG = re.compile(r"[A-Za-z0-9_+#.\-]{1,40}")
"""A language tag that may follow the marks of a fence."""


def fence(text: object, language: object = None) -> FencedBlock:
    """Return `text` in a fenced code block that nothing in it can close.

    The fence is one longer than any run of its mark inside, at least three. Runs of 24 backticks
    make it one of tildes; with both, each line gets the prefix `| ` (see `clean`). Verbatim content
    stands between its delimiters instead.
    """
    if type(text) is VerbatimContent:
        return text.delimited()
    body = text if isinstance(text, Content) else clean_content(to_text(text), "md").text
    mark, run = "`", longest_run(body, "`")
    if run >= MAX_FENCE_MARKS:
        mark, run = "~", longest_run(body, "~")
    tag = to_text(language)
    if not FENCE_TAG.fullmatch(tag):
        tag = ""
    line = mark * max(3, run + 1)
    return FencedBlock(f"{line}{tag}\n{body}\n{line}")
