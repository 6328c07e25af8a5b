"""Why items are out, in words, and the flags that bring them back."""

from __future__ import annotations

import json
import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..explanations import Way
from .tables import screen, shorten

WHY = {
    "budget": "too little room",
    "section_budget": "its section took all it may by section_budgets",
    "max_items": "past the {max_items} that --max-items lets in of what a search found",
    "min_score": "found by a search with a score below {min_score}",
    "kinds": "its kind is not one of --kinds",
    "paths": "its path matches none of --paths",
    "languages": "its language is not one of --languages",
    "duplicate": "another item holds its text",
    "merged": "joined with an overlapping range of its file, which stands for both",
    "combine": "found by a search, and what was named comes first",
}
"""Reasons for which an item is not in the text, or shortened."""

_NUMBER = "--max-tokens with the number under 'fits at' brings the item back whole"
_NAME = 40
"""Columns of a name among words."""


def reasons(
    counts: Mapping[str, int],
    ways: Sequence[Way],
    names: Mapping[str, str],
    options: Mapping[str, Any],
    beyond: int | None,
) -> Iterator[str]:
    """Yield lines on each reason that occurs: what it means, and what brings such items back.

    `counts`: how many items have it; `names`: what the items of `ways` are called; `options`: those in force; `beyond`:
    a number of tokens that was tried and is too little for what has no number.
    """
    known = {way.reason: way for way in ways}
    options = {name: "none" if value is None else value for name, value in options.items()}
    wide = max((len(reason) for reason in WHY if reason in counts), default=0)
    for reason, text in WHY.items():
        if reason not in counts:
            continue
        way = known.get(reason)
        said = [text.format_map(options)]
        if reason in ("budget", "section_budget") and (way is None or way.items < counts[reason]):
            said.append(_NUMBER)
            if beyond is not None:
                said.append(
                    f">{beyond:,}: so much is still too little, and --json says what is enough"
                )
        yield from _wrapped(f"{reason:<{wide}}  ", "; ".join(said))
        if way is not None:
            some = "where there is none: " if len(said) > 1 else ""
            yield from _wrapped(" " * (wide + 2), some + _way(way, names[way.item]))
    if counts:
        yield ""


def _way(way: Way, name: str) -> str:
    name = shorten(name, _NAME)
    if not way.options:
        return f"no change of one option after the other that was tried brings {name} back"
    if not way.back:
        return f"with {flags(way.options)} nothing but too little room keeps {name} out"
    return f"{flags(way.options)} brings {name} back{_others(way.back - 1, way.items - 1)}"


def _others(back: int, there: int) -> str:
    """Say how many of the other items for the same reason come back too."""
    if not there:
        return ""
    if back == there:
        return f", and {'the other one' if there == 1 else f'the {there:,} others'}"
    if not back:
        return f", not {'the other one' if there == 1 else f'the {there:,} others'}"
    return f", and {back:,} of the {there:,} others"


def flags(options: Mapping[str, Any]) -> str:
    """Return options as one types them on the command line, and in words which flags are to be left out."""
    typed = [_flag(name, value) for name, value in options.items() if not _lifted(name, value)]
    gone = [f"leaving out --{name}" for name, value in options.items() if _lifted(name, value)]
    return " and ".join([" ".join(typed), *gone] if typed else gone)


def _lifted(name: str, value: object) -> bool:
    """Return whether an option is lifted that has no word for that as a flag."""
    return value is None and name in ("kinds", "paths", "languages")


def _flag(name: str, value: Any) -> str:
    word = name.replace("_", "-")
    if isinstance(value, bool):
        return f"--{word}" if value else f"--no-{word}"
    if isinstance(value, dict):
        value = json.dumps(value, ensure_ascii=False)
    elif isinstance(value, list):
        value = ",".join(value)
    return f"--{word} {'none' if value is None else shlex.quote(str(value))}"


def _wrapped(head: str, text: str) -> list[str]:
    indent = " " * len(head)
    return textwrap.wrap(
        text,
        screen(),
        initial_indent=head,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    )
