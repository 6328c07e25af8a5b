"""The first credential in a text."""

from __future__ import annotations

from promptforge.sources.credentials import find_credentials


def find_credential(text: str, place: str = "") -> str | None:
    """Return the kind of the first credential in a text; `None` if it has none."""
    return next((kind for kind, _ in find_credentials(text, place)), None)
