"""What is made of diagnostics in the end: all go to the log, and in a strict run the grave ones are an error."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from .diagnostics import Diagnostic
from .errors import StrictError, TemplateError

_LOG = logging.getLogger("promptforge")
_LOG.addHandler(logging.NullHandler())
_LEVELS = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
STOOD_IN = "; the shipped templates were used instead"
"""How the message ends that says that a template of the user's failed."""


def stood_in(error: TemplateError) -> Diagnostic:
    """Return what there is to say where the shipped templates stand in for the user's."""
    return Diagnostic("PF401", "error", f"{error}{STOOD_IN}", None, error.where)


def judge(result: object, warnings: Sequence[Diagnostic], strict: bool) -> None:
    """Hand `warnings` to the logger `promptforge`, which writes nothing until the application says where.

    In a strict run raises `StrictError`, which carries `result`, where one is more than an info.
    """
    for d in warnings:
        _LOG.log(_LEVELS[d.severity], "%s", d)
    grave = [d for d in warnings if d.severity != "info"]
    if strict and grave:
        more = f" (and {len(grave) - 1} more)" if len(grave) > 1 else ""
        raise StrictError(f"{grave[0]}{more}", diagnostics=tuple(grave), result=result)
