"""Texts that a format could take for another type or for structure, and records of them."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from promptforge.syntax.json_syntax import json_value

LAYOUTS = ("context", "knowledge", "chunks", "chunks-compact", "documents", "entities")
WORDS = (
    *("yes", "no", "on", "off", "y", "N", "true", "False", "null", "~", "", " ", "None", ".inf"),
    *("1", "1_000", "0x1f", "1e5", "12:30", "2026-01-01", "-", "- a", "---", "...", "? a", ": b"),
    *("a: b", "a:", "a #b", "#", "&a", "*a", "!a", "|", ">", "%", "@", "`", "'", '"', "{a}", "[a"),
    *("a, b", "a]", "\\", "\\x41", "=", "<<", "a\tb", "\t", "k: |\n  x", "a\n- b", "b: 1\nc: 2"),
    *(
        "\ufeff",
        "\x85",
        "\u2028",
        "\x00",
        "\x1b[31m",
        "\x7f",
        "\ud800",
        "\U0001f469\u200d\U0001f4bb",
    ),
)
HOSTILE = st.one_of(
    st.sampled_from(WORDS),
    st.text(st.characters(), max_size=12),
    st.lists(st.sampled_from([*WORDS, "\n", " ", "\n\n", "  ", "\r", "word"]), max_size=8).map(
        "".join
    ),
)


def plain(value: Any) -> Any:
    """Return a value as JSON carries it, with lone surrogates as U+FFFD."""
    return json.loads(json_value(value))


RECORDS = st.fixed_dictionaries(
    {"content": HOSTILE.filter(str.strip)},
    optional={
        "name": HOSTILE,
        "path": HOSTILE,
        "url": HOSTILE,
        "summary": HOSTILE,
        "kind": st.sampled_from(["code", "document", "mitre_attack", "yes", "a: b"]),
        "language": st.sampled_from(["python", "c#", "no", "yaml"]),
        "start_line": st.just(3),
        "end_line": st.just(12),
        "score": st.floats(0, 1),
        "origin": st.sampled_from(["explicit", "similarity"]),
        "metadata": st.dictionaries(
            st.sampled_from(["tactics", "tools", "mitigations", "technique_id"]),
            st.one_of(HOSTILE, st.lists(HOSTILE, max_size=3)),
        ),
    },
)
