"""What is known of one code."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Code(NamedTuple):
    """One code, as `promptforge rule` explains it."""

    severity: Literal["error", "warning", "note"]
    """Of a finding of `check`: a note fails nothing. A rendering may say the same thing more or less gravely."""
    title: str
    why: str
    example: str
    way_out: str
