"""Render with nothing filtered, merged or limited: a test sees all it has given."""

from __future__ import annotations

from typing import Any

import promptforge as pf
from promptforge.packing.packings import PACKINGS as WAYS
from promptforge.syntax.syntaxes import FORMAT_EXTENSIONS

LAYOUTS = ["context", "knowledge", "chunks", "chunks-compact", "entities", "documents"]
FORMATS = [*FORMAT_EXTENSIONS]
PACKINGS: tuple[Any, ...] = (*WAYS,)

Records = list[dict[str, Any]]


def render(records: Any, layout: str, format: str, **options: Any) -> pf.Result:
    return pf.render(
        records,
        layout=layout,
        format=format,
        **{
            "max_tokens": 10**6,
            "max_items": None,
            "min_score": None,
            "dedupe": False,
            "merge_overlaps": False,
            "rerank": None,
            "combine": "combined",
            "order": "given",
            **options,
        },
    )
