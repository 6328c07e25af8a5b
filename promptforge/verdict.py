"""What is made of diagnostics in the end: all go to the log, and in a strict run the grave ones are an error."""

from __future__ import annotations

from collections.abc import Sequence

from .diagnostics import Diagnostic, log
from .errors import StrictError, TemplateError

STOOD_IN = "; the shipped templates were used instead"
"""How the message ends that says that a template of the user's failed."""


def stood_in(error: TemplateError) -> Diagnostic:
    """Return what there is to say where the shipped templates stand in for the user's."""
    return Diagnostic("PF401", "error", f"{error}{STOOD_IN}", None, error.where)


def judge(result: object, warnings: Sequence[Diagnostic], strict: bool) -> None:
    """Log `warnings`; in a strict run raise `StrictError`, which carries `result`, where one is more than an info."""
    log(warnings)
    grave = [d for d in warnings if d.severity != "info"]
    if strict and grave:
        more = f" (and {len(grave) - 1} more)" if len(grave) > 1 else ""
        known = grave[0].where
        place = f"{known}: " if known and known not in grave[0].message else ""
        raise StrictError(f"{place}{grave[0].code} {grave[0].message}{more}", diagnostics=tuple(grave), result=result)
