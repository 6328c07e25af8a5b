"""The diagnostics of one record, with its place."""

from __future__ import annotations

from ..diagnostics import Diagnostics, Severity
from ..errors import ItemError


class Notes:
    """The place of one record (`file:line` or `items[3]`), joined to the diagnostics of the run."""

    __slots__ = ("_diagnostics", "where")

    def __init__(self, where: str | None, diagnostics: Diagnostics | None) -> None:
        self.where = where
        self._diagnostics = diagnostics

    def say(self, code: str, message: str, severity: Severity = "warning") -> None:
        """Add a diagnostic about this record; without a collection nothing happens."""
        if self._diagnostics is not None:
            self._diagnostics.add(code, message, where=self.where, severity=severity)

    def refusal(self, field: str | None, message: str) -> ItemError:
        """Return (not raise) the error that says why this record is no item."""
        if field:
            message = f"{field}: {message}"
        return ItemError(message, where=self.where, field=field)
