"""Templates given as texts, and what they print of harmless items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import promptforge as pf

PAGE = "{% for item in items %}\n{{ item.text }}\n{% endfor %}\n"
ITEMS = [{"content": "x" * 2000, "name": "n", "metadata": {"tags": ["a"] * 50}} for _ in range(5)]


def render(
    source: str,
    *,
    more: Mapping[str, str] | None = None,
    page: str = PAGE,
    items: object = ITEMS,
    **options: Any,
) -> str:
    texts = {"t/layout.txt.j2": page, "t/item.txt.j2": source, **(more or {})}
    return pf.render(items, templates=texts, layout="t", format="plain", **options).text
