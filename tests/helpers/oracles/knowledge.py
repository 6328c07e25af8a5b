"""Explicit knowledge by kind, then similarity: the block a Ruby bot assembles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

EXPLICIT = "Explicit Knowledge Sources:"
SIMILARITY = "Similarity Search Results:"


def joined(value: Any) -> str:
    """A list as one line; nothing as the empty text."""
    return ", ".join(value) if isinstance(value, list) else value or ""


def man_page(record: Mapping[str, Any]) -> str:
    return f"Source: man page '{record['name']}'\n{record['content']}"


def document(record: Mapping[str, Any]) -> str:
    return f"Source: document '{record['name']}'\n{record['content']}"


def technique(record: Mapping[str, Any]) -> str:
    fields = {
        "Technique": record.get("name"),
        "Tactic": record.get("tactics"),
        "Description": record.get("content"),
        "Related Tools": record.get("tools"),
        "Mitigation": record.get("mitigations"),
    }
    rows = [f"{label}: {joined(value)}" for label, value in fields.items() if joined(value)]
    return "\n".join([f"Source: MITRE ATT&CK {record['technique_id']}", *rows])


def assemble(
    *,
    man_pages: Sequence[Mapping[str, Any]] = (),
    documents: Sequence[Mapping[str, Any]] = (),
    techniques: Sequence[Mapping[str, Any]] = (),
    similarity: Sequence[str] = (),
) -> str:
    """Print both halves: one blank line between items and between sections, nothing at all for what is empty.

    `man_pages` and `documents` hold `name` and `content`; `techniques` also `technique_id`, `tactics`, `tools` and
    `mitigations`; `similarity` holds bare texts.
    """
    sections = [
        ("Man Pages", [man_page(r) for r in man_pages]),
        ("Documents", [document(r) for r in documents]),
        ("MITRE ATT&CK Techniques", [technique(r) for r in techniques]),
    ]
    printed = [f"--- {title} ---\n" + "\n\n".join(items) for title, items in sections if items]
    halves = []
    if printed:
        halves.append("\n\n".join([EXPLICIT, *printed]))
    if similarity:
        halves.append(f"{SIMILARITY}\n" + "\n\n".join(similarity))
    return "\n\n---\n".join(halves)
