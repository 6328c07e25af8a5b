"""Diagnostics: warnings as values, about everything defaulted, replaced, cut or skipped.

Codes: PF1xx profile and budget, PF2xx metadata, PF3xx content, PF4xx template, PF5xx tokenizer,
PF6xx sources, PF7xx security. Messages never quote raw bytes of an item (see `errors.quote`).
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

Severity = Literal["info", "warning", "error"]

LONGEST = 300
"""Characters of a place that are printed."""

CAP = 100
"""Diagnostics of one code that are kept one by one; of the rest, only the number."""


class Diagnostic(msgspec.Struct, frozen=True):
    """One thing that a reader of the result should know."""

    code: str
    """`PF` and three digits; stable."""
    severity: Severity
    """`info` never fails a strict run; `warning` and `error` do."""
    message: str
    item: str | None = None
    """The id of the item concerned."""
    where: str | None = None
    """File, line and field, or template and line."""

    def __str__(self) -> str:
        """Return place, message and code on one line."""
        line = f"{self.message} [{self.code}]"
        place = self.where or self.item
        # An id may hold anything: line ends, escape sequences, a megabyte.
        if place and not (place.isprintable() and len(place) <= LONGEST):
            place = f'"{ascii(place[:80])[1:-1]}"'
        return f"{place}: {line}" if place and place not in self.message else line


class Diagnostics:
    """An ordered, capped collection of diagnostics: one a run, never shared between threads."""

    def __init__(self) -> None:
        self._kept: list[Diagnostic] = []
        self._count: Counter[str] = Counter()

    def add(
        self,
        code: str,
        message: str,
        *,
        item: str | None = None,
        where: str | None = None,
        severity: Severity = "warning",
    ) -> None:
        """Record one diagnostic; beyond `CAP` of a code, count it only."""
        self._count[code] += 1
        if self._count[code] <= CAP:
            self._kept.append(Diagnostic(code, severity, message, item, where))

    def extend(self, others: Iterable[Diagnostic]) -> None:
        """Record diagnostics made elsewhere."""
        for d in others:
            self.add(d.code, d.message, item=d.item, where=d.where, severity=d.severity)

    def copy(self) -> "Diagnostics":
        """Return an independent collection with the same diagnostics."""
        other = Diagnostics()
        other._kept, other._count = [*self._kept], self._count.copy()
        return other

    def __iter__(self) -> Iterator[Diagnostic]:
        yield from self._kept
        for code, count in self._count.items():
            if count > CAP:
                severity = next(d.severity for d in self._kept if d.code == code)
                yield Diagnostic(code, severity, f"{count - CAP} more like this")

    def __len__(self) -> int:
        return sum(min(n, CAP) + (n > CAP) for n in self._count.values())
