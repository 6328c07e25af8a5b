"""Hostile records from a seed: the strings of `tests/helpers/hostile_strings.py`, mixed, in every field of a
record.
"""

from __future__ import annotations

import random
from typing import Any

import hostile_strings as hostile
from harmless_records import KINDS, harmless

_FILLERS = ("a", " ", "    ", "\t", "word", "x = 1", "> ", "- ", "| ")
_REPEATED = "`~<&#-=*_ \"'\\[]>|"
_KEYS = (
    "title",
    "url",
    "author",
    "technique_id",
    "source",
    "description",
    "tactics",
    "tools",
    "mitigations",
)


class Hostility:
    """Makes hostile records; equal seeds make equal ones."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def text(self) -> str:
        """Return hostile content: a known string, or up to fourteen parts, line ends, runs and code
        points.
        """
        r = self.random
        if r.random() < 0.2:
            return r.choice(hostile.STRINGS)
        if r.random() < 0.3:  # what closes a block does so on a line of its own
            end = r.choice(hostile.LINE_ENDS[:3])
            line = r.choice(
                (
                    *hostile.FENCES,
                    *hostile.CLOSERS,
                    *hostile.TAGS,
                    *hostile.PLAIN,
                    *hostile.MARKDOWN,
                )
            )
            return f"{self._part()}{end}{line}{end}{self._part()}{end}{r.choice(('', line))}"
        return "".join(self._part() for _ in range(r.randint(0, 14)))

    def _part(self) -> str:
        r = self.random
        chance = r.random()
        if chance < 0.3:
            return r.choice(hostile.PARTS)
        if chance < 0.6:
            return r.choice(hostile.LINE_ENDS[:4] if chance < 0.5 else hostile.LINE_ENDS)
        if chance < 0.75:
            return r.choice(_FILLERS)
        if chance < 0.85:
            return chr(r.randrange(0x110000) if r.random() < 0.3 else r.randrange(0x3000))
        return r.choice(_REPEATED) * r.randint(1, 30)

    def label(self) -> str:
        """Return a hostile name, path, kind or language."""
        r = self.random
        if r.random() < 0.5:
            pool = ("a", "/", ".", *hostile.NAMES, *hostile.ATTRIBUTES, *hostile.CHARACTERS)
            return "".join(r.choice(pool) for _ in range(r.randint(0, 5)))
        return self.text()

    def record(self, number: int) -> dict[str, Any]:
        """Return a record of which some fields, often all, are hostile."""
        r = self.random
        one = harmless(number, score=r.choice((0.0, 0.25, 0.5, 1.0)), kind=r.choice(KINDS))
        for field in ("content", "name", "path", "language"):
            if r.random() < 0.7:
                one[field] = self.text() if field == "content" else self.label()
        if r.random() < 0.15:
            one["kind"] = self.label()
        if r.random() < 0.15:
            one[r.choice(("summary", "expanded"))] = self.text()
        if r.random() < 0.3:
            one["origin"] = "similarity"
        if r.random() < 0.4:
            keys = r.sample(_KEYS, r.randint(1, 4))
            one["metadata"] = {
                k: [self.label() for _ in range(r.randint(0, 2))]
                if k.endswith("s")
                else self.label()
                for k in keys
            }
        return one
