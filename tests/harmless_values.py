"""Strategies for harmless values: labels that print as they are, text that imitates no template."""

from __future__ import annotations

from hypothesis import strategies as st

LABEL = st.from_regex(r"[a-zA-Z][a-zA-Z0-9]{0,5}([._/-][a-zA-Z0-9]{1,5}){0,3}", fullmatch=True)
"""A name, a file or a title of one word."""

NAME = st.lists(LABEL, min_size=1, max_size=3).map(" ".join)
"""A name of a few words."""

SENTENCE = st.lists(st.text("abcdeXYZ019", min_size=1, max_size=8), min_size=1, max_size=12).map(
    lambda w: f"It {' '.join(w)}."
)
"""A summary: one line of words."""

TOKENS = [
    "def", "f(x):", "return", "x", "+", "=", "==", "!=", "<", ">", "&", "&&", "a<b", "x->y", "]]>", "&lt;", "'s'",
    '"t"', "{", "}", "();", "//", "%d", "$", "\\n", "\t", "é", "日本", "😀", "_", "0.5", "if", "List<int>", "?", "!",
    ",", ";",
]  # fmt: skip
"""No run of marks, no square bracket, no label with a colon: nothing that a fence or a plain frame
is made of.
"""

INDENT = st.sampled_from(["", "", "", "  ", "    ", "\t"])
LINE = st.builds(
    lambda pad, words: pad + " ".join(words),
    INDENT,
    st.lists(st.sampled_from(TOKENS), min_size=1, max_size=8),
)
TAIL = st.sampled_from(["", "", "", "\n", "\n\n", "  ", " \n", "\u00a0"])
CONTENT = st.builds(
    lambda lines, tail: "\n".join(lines) + tail,
    st.lists(LINE | st.just(""), min_size=1, max_size=6),
    TAIL,
).filter(lambda s: any(c.isalnum() for c in s))
"""Code-like text of a few lines, at times with blank lines in it and white space at its end."""

LANGUAGE = st.sampled_from(["python", "csharp", "c++", "c#", "objective-c", "f90", "Lisp"])
SCORE = st.integers(0, 1000).map(lambda n: n / 1000)
RANGE = st.tuples(st.integers(0, 99_999), st.integers(0, 9_999)).map(lambda r: (r[0], r[0] + r[1]))
"""First and last line; an origin system prints 0 where it knows no line."""
