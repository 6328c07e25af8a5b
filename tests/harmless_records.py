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
            or (field == "kind" and value in KINDS)
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
