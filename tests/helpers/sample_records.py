"""Four records of different kinds, lengths and scores, the best first."""

from __future__ import annotations

from typing import Any

RECORDS: list[dict[str, Any]] = [
    {
        "id": "a",
        "kind": "code",
        "path": "src/a.py",
        "start_line": 3,
        "end_line": 9,
        "content": "x = 1\n" * 9,
    },
    {"id": "b", "kind": "document", "name": "guide", "content": "A sentence. " * 40, "score": 0.8},
    {
        "id": "c",
        "kind": "document",
        "name": "notes",
        "content": "Words in a row. " * 30,
        "score": 0.7,
    },
    {
        "id": "d",
        "kind": "man_page",
        "name": "tar",
        "content": "tar - an archiving utility",
        "score": 0.6,
    },
]
