"""Texts that the tests hand to every framework."""

from __future__ import annotations

from hypothesis import strategies as st

from promptforge import get_tokenizer

FACTS = [
    f"Fact {n}. {f'The archive number {n} is read by tar and by gzip. ' * 10}" for n in range(20)
]
"""Twenty texts that have something in common with a query, each with one word of its own."""

TEXTS = st.lists(
    st.one_of(
        st.text(max_size=80),
        st.text(alphabet="ab \n#`|<&]>\\\r\x00", max_size=200),
        st.sampled_from(
            [
                *FACTS[:4],
                "[Content truncated...]",
                "| quoted",
                "--- a ---",
                "File: a\n----",
                "x" * 3000,
            ]
        ),
    ),
    max_size=6,
)
"""Texts of any kind, hostile ones among them; what no document may hold is not."""


def tokens(*texts: str) -> int:
    """Return what texts cost when they are joined as frameworks join them."""
    return get_tokenizer("o200k_base").count("\n\n".join(texts))
