"""Where a record came from, and a place to say what was done to it."""

from __future__ import annotations

from ..diagnostics import Diagnostics, Severity
from ..errors import ItemError


class Notes:
    """The voice of one record: its place (`file:line` or `items[3]`) joined to the diagnostics of the run."""

    __slots__ = ("_diagnostics", "where")

    def __init__(self, where: str | None, diagnostics: Diagnostics | None) -> None:
        self.where = where
        self._diagnostics = diagnostics

    def say(self, code: str, message: str, severity: Severity = "warning") -> None:
        """Record one diagnostic about this record; without a collection to write to, nothing happens."""
        if self._diagnostics is not None:
            self._diagnostics.add(code, message, where=self.where, severity=severity)

    def refusal(self, field: str | None, message: str) -> ItemError:
        """Return (not raise) the error that says why this record is no item."""
        return ItemError(f"{field}: {message}" if field else message, where=self.where, field=field)
