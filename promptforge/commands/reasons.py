"""Say in words why items are out, and name the flags that bring them back."""

from __future__ import annotations

import json
import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..explanations import Way
from .tables import plural, screen, shorten

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
"""Reason of an item that is dropped or shortened → the same in words."""

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
    """Yield lines on each reason that occurs: its meaning, and flags that bring such items back.

    `counts` has the number of items by reason, `names` the labels of the items of `ways`, `options`
    all options in force. `beyond` is the largest budget that was tried, in tokens.
    """
    known = {way.reason: way for way in ways}
    options = {name: ("none", value)[value is not None] for name, value in options.items()}
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
                    f">{beyond:,}: even that is too little, and --json says how much is enough"
                )
        yield from _wrapped(f"{reason:<{wide}}  ", "; ".join(said))
        if way is not None:
            some = "where there is none: " * (len(said) > 1)
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
    others = plural(there, "the other one", f"the {there:,} others")
    if back == there:
        return f", and {others}"
    if not back:
        return f", not {others}"
    return f", and {back:,} of {others}"


def flags(options: Mapping[str, Any]) -> str:
    """Return options as one types them; in words the flags to leave out."""
    typed = [_flag(name, value) for name, value in options.items() if not _lifted(name, value)]
    gone = [f"leaving out --{name}" for name, value in options.items() if _lifted(name, value)]
    return " and ".join(filter(None, [" ".join(typed), *gone]))


def _lifted(name: str, value: object) -> bool:
    """Return true for a filter that is switched off: as a flag it has no word for that."""
    return value is None and name in ("kinds", "paths", "languages")


def _flag(name: str, value: Any) -> str:
    word = name.replace("_", "-")
    if isinstance(value, bool):
        return ("--no-", "--")[value] + word
    if value is None:
        value = "none"
    elif isinstance(value, dict):
        value = json.dumps(value, ensure_ascii=False)
    elif isinstance(value, list):
        value = ",".join(value)
    return f"--{word} {shlex.quote(str(value))}"


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
