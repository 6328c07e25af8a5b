"""Trimming of what failed: a stack trace, or else a log that ends with the reason."""

from __future__ import annotations

from ..text.format import Marks
from . import log, traceback
from .pieces import Pieces

LAST_RECORDS = 5
"""Records at the end that stay as long as errors: `could not write chunk 7: disk quota exceeded`
has no word of failure, and a question may ask for what a thousand lines above it say."""


def divide(text: str, *, marks: Marks, language: str | None = None) -> Pieces | None:
    """Return a trace as pieces; without one, a log; None for a text of one line."""
    found = traceback.divide(text, marks=marks, language=language)
    if found is None:
        found = log.divide(text, marks=marks, language=language, last=LAST_RECORDS)
    return found
