"""Tell as what a text was meant: items, a job, or a page of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import dropwhile, takewhile

from .shapes import ITEM_FIELDS

TEXT_FIELDS = ("content", "summary", "expanded", "text", "page_content")
"""Keys of an object alone that make it a record, whatever else it has."""
PROMPT_TEXT_KEYS = ("system", "instructions", "question")
"""Texts of a whole prompt."""
JOB_KEYS = (
    *("knowledge", "context_config", "files", "from", "search", "items", "history", "profile"),
    *("attack", *PROMPT_TEXT_KEYS),
)
"""Keys of a job that are no options."""
MAX_LINES_READ = 200
"""Lines at the beginning that are searched for the keys of an item."""
KEY_OF_TEXT = rf"[\"']?(?:{'|'.join(TEXT_FIELDS)})[\"']?"
_TEXT_LINE = re.compile(rf" {{0,6}}(?:- +)?{KEY_OF_TEXT}:(?:\s|\Z)")
_FIELD_LINE = re.compile(
    rf" {{0,6}}(?:- +)?[\"']?(?:{'|'.join(sorted({*ITEM_FIELDS, *TEXT_FIELDS}))})[\"']?:(?:\s|\Z)"
)
_HEADING = re.compile(r"\ufeff?#{1,6} \S.*\n[ \t\r]*\n")


def has_keys_of_a_job(keys: Iterable[object]) -> bool:
    """Tell whether the keys of a mapping look like those of a job, which may have options too."""
    found = set(keys)
    if found <= {*JOB_KEYS} or {"system", "question"} <= found:
        return True
    return not found.isdisjoint(("knowledge", "context_config", "instructions"))


def holds_fields(text: str) -> bool:
    """Tell whether a text that YAML cannot read as items was meant to be such: it has their keys.

    Any key of an item counts in a list, else only that of a text, such as `content`, in the first
    lines up to a blank one. The settings above a page are passed over. Headers of a mail,
    manifests and points of Markdown (`- Torque: 12 Nm`) have none of these keys.
    """
    lines = _first_lines(text)
    key = _FIELD_LINE if lines and lines[0].startswith("- ") else _TEXT_LINE
    return any(map(key.match, lines))


def is_page(text: str) -> bool:
    """Tell whether a text is Markdown, its heading a comment to YAML and its points a list."""
    return _HEADING.match(text) is not None and bool(_first_lines(text)) and not holds_fields(text)


def _first_lines(text: str) -> list[str]:
    """Return the first lines that are no comments nor settings of a page, up to a blank one."""
    lines = text.removeprefix("\ufeff").split("\n", MAX_LINES_READ)[:MAX_LINES_READ]
    lines = [line.rstrip() for line in lines]
    if lines[0] == "---":
        end = lines.index("---", 1) + 1 if "---" in lines[1:] else 1
        lines = lines[end:] if any(lines[end:]) else lines[1:]
    lines = list(dropwhile(lambda line: not line or line[0] == "#", lines))
    return list(takewhile(bool, lines))
