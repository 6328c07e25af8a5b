"""Harmless stand-ins for hostile records: the same shape, the same grouping, no hostile value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

KINDS = (
    "text",
    "code",
    "error",
    "man_page",
    "document",
    "mitre_attack",
    "function",
    "section",
    "repl-history",
)
"""Kinds with a meaning of their own; a stand-in keeps these."""

STAND_INS = {
    "content": "stand-in content {}",
    "expanded": "stand-in expanded {}",
    "summary": "Stand in summary {}.",
    "name": "Standname{}",
    "path": "standplace{}",
    "language": "standlang{}",
    "kind": "standkind{}",
    "metadata": "standvalue{}",
}


class HarmlessCopier:
    """Gives each value of each field one stand-in, the same wherever the value comes again."""

    def __init__(self) -> None:
        self._given: dict[tuple[str, str], str] = {}
        self.original: dict[str, str] = {}
        """The hostile value behind each stand-in."""

    def _value(self, field: str, value: str) -> str:
        # A blank value may be shown as none at all, and "none" is a word of the language field:
        # these stay.
        if (
            not value.strip()
            or (field == "language" and value == "none")
            or (field == "kind" and value.lower() in KINDS)  # headings are shown alike in case
        ):
            return value
        stand_in = self._given.setdefault(
            (field, value), STAND_INS[field].format(f"{len(self._given):05}q")
        )
        self.original[stand_in] = value
        return stand_in

    def copy_value(self, value: Any, field: str) -> Any:
        """Return `value` with each string in it replaced."""
        if isinstance(value, str):
            return self._value(field, value)
        if isinstance(value, list):
            return [self.copy_value(v, field) for v in value]
        return (
            {k: self.copy_value(v, field) for k, v in value.items()}
            if isinstance(value, dict)
            else value
        )

    def records(self, records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the records with stand-ins in every field of text but `id` and `origin`."""
        return [
            {k: self.copy_value(v, k) if k in STAND_INS else v for k, v in record.items()}
            for record in records
        ]


def harmless(number: int, **hostile: Any) -> dict[str, Any]:
    """Return a record with every field set, harmless but for what is given."""
    return {
        "kind": "code",
        "content": f"content number {number}",
        "name": f"name{number}",
        "path": f"src/file{number}",
        "language": "python",
        "start_line": 1,
        "end_line": 2,
        "score": 0.5,
        **hostile,
    }


def records_of(
    label: st.SearchStrategy[str], text: st.SearchStrategy[str]
) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Records whose every field is hostile."""
    one = st.fixed_dictionaries(
        {
            "kind": st.sampled_from(KINDS) | label,
            "content": text,
            "name": label,
            "path": label,
            "language": st.just("python") | label,
            "score": st.sampled_from([0.0, 0.25, 0.5, 1.0]),
        },
        optional={
            "summary": text,
            "expanded": text,
            "start_line": st.just(1),
            "end_line": st.just(2),
            "origin": st.sampled_from(["explicit", "similarity"]),
            "metadata": st.fixed_dictionaries(
                {},
                optional=dict.fromkeys(
                    ("title", "url", "author", "technique_id", "source", "description"), label
                ),
            )
            | st.fixed_dictionaries(
                {k: st.lists(label, max_size=2) for k in ("tactics", "tools", "mitigations")}
            ),
        },
    )
    return st.lists(one, min_size=1, max_size=3)


# --- values ---------------------------------------------------------------------------------------

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
