"""An item's fields in any layout and format: no parser may see more than a block."""

from __future__ import annotations

from typing import Any

from campaigns.items import check, framings
from harmless_records import KINDS, harmless

from promptforge.syntax.syntaxes import FORMAT_EXTENSIONS, syntax_of

from .drawing import Draw

LOOKS = framings()


def one(data: bytes) -> None:
    """Render an item as the bytes say."""
    draw = Draw(data)
    layout, format = draw.of(LOOKS)  # noqa: A001
    record: dict[str, Any] = harmless(0, kind=draw.of(KINDS))
    for field in ("content", "name", "path", "language", "kind", "summary"):
        if draw.true():
            record[field] = draw.text()
    if draw.true():
        record["metadata"] = {
            draw.of(("title", "url", "author", "technique_id", "description")): draw.text()
        }
    tagged = syntax_of(FORMAT_EXTENSIONS[format]).is_taggable and draw.true()
    check([record], layout, format, "tagged" if tagged else "auto")
