"""Pages about a kettle and a pond, and what of them is shown under a query."""

from __future__ import annotations

from typing import Any

from promptforge import Item, Renderer

PAGES = [
    Item(kind="passage", id=str(n), name=f"Page {n}", score=1 - n / 10, content=text)
    for n, text in enumerate(
        [
            "The kettle is made of steel. It was bought in May. Its lid is red.",
            "Dogs need walks. They are fed at noon. A dog sleeps in the hall.",
            "The boiler heats the water to ninety degrees. It stands in the cellar. It hums.",
            "The garden has a pond. Fish live there. Frogs do too.",
        ]
    )
]
ASKED = "what makes it hot"


def _text(rerank: Any, query: Any = ASKED, budget: int = 60) -> str:
    return Renderer(rerank=rerank).render(PAGES, query=query, max_tokens=budget).text
