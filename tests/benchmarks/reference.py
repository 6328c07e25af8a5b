"""What everything is measured by: tiktoken itself, a template equal to promptforge's, the best
worth there can be.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import jinja2
import tiktoken

from promptforge.tokenizers.vocabulary import SHIPPED_VOCABULARIES, load_table

from .corpus import Piece

TOKENIZER = "o200k_base"
ITEM = """### {{ piece.title }}
{% if piece.start %}
Lines {{ piece.start }}-{{ piece.end }}
{% endif %}

```{{ piece.language }}
{{ piece.content }}
```
"""
"""What the layout `chunks` makes of an item in Markdown."""
SEPARATOR = "\n\n"

_environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
item = _environment.from_string(ITEM)
page = _environment.from_string("{% for piece in pieces %}\n" + ITEM + SEPARATOR + "{% endfor %}")


@cache
def encoding() -> tiktoken.Encoding:
    """Return tiktoken's own encoding, made of the table that ships with promptforge."""
    pattern = SHIPPED_VOCABULARIES[TOKENIZER].pattern
    return tiktoken.Encoding(
        TOKENIZER,
        pat_str=pattern,
        mergeable_ranks=load_table(TOKENIZER).all_ranks(),
        special_tokens={},
    )


def count(text: str) -> int:
    """Return the tokens of `text`."""
    return len(encoding().encode_ordinary(text))


def render_item(piece: Piece) -> str:
    """Return one item's text."""
    return item.render(piece=piece)


def render_page(pieces: Iterable[Piece]) -> str:
    """Return the items' texts in one."""
    return page.render(pieces=pieces).rstrip()


def best_first(pieces: Iterable[Piece]) -> list[Piece]:
    """Return the pieces, the best first."""
    return sorted(pieces, key=_score, reverse=True)


def _score(piece: Piece) -> float:
    return piece.score


def costs(pieces: Sequence[Piece]) -> list[int]:
    """Return what each item costs on the page, its separator included; with all CPUs, so outside
    all timing.
    """
    found: list[int] = []
    for start in range(0, len(pieces), 2000):
        texts = [render_item(piece) + SEPARATOR for piece in pieces[start : start + 2000]]
        tokens: Any = encoding().encode_ordinary_batch(texts, num_threads=os.cpu_count() or 1)
        found += map(len, tokens)
    return found


def upper_bound(scores: Sequence[float], costs: Sequence[int], budget: int) -> float:
    """Return the most that any choice of items can be worth: the best worth per token first, the
    last one in part.

    That is Dantzig's bound of the knapsack problem (1957).
    """
    worth = 0.0
    for _, score, cost in sorted(
        ((s / c, s, c) for s, c in zip(scores, costs, strict=True) if s > 0), reverse=True
    ):
        if cost >= budget:
            return worth + score * budget / cost
        worth += score
        budget -= cost
    return worth


def spared() -> int:
    """Return the tokens that the last item does not cost: the page ends without a separator."""
    return count("```\n" + SEPARATOR) - count("```")
