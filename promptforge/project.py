"""The files of a project to start from: one layout, one profile, items to try them on, and golden
cases.
"""

from __future__ import annotations

import json
from pathlib import Path

from . import layouts, profiles
from .drafts import Draft

_START = Path(__file__).parent / "_start"
"""The folder of the files."""
NAMES = (
    "items.json",
    "templates/mine/layout.yaml",
    "templates/mine/item.md.j2",
    "profiles/mine.yaml",
    "tests/mine.yaml",
)
SCHEMAS = {"templates/layout.schema.json": layouts.schema, "profiles/schema.json": profiles.schema}
"""The schemas for editors, made when the project is."""


def project(folder: Path) -> list[Draft]:
    """Return the files of a project in `folder`."""
    texts = {name: (_START / name).read_text(encoding="utf-8") for name in NAMES}
    schemas = {
        name: json.dumps(make(), indent=2, ensure_ascii=False) + "\n"
        for name, make in SCHEMAS.items()
    }
    return [Draft(folder / name, text) for name, text in {**texts, **schemas}.items()]
