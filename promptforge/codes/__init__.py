"""Every code that promptforge prints: what it means, an example, and the way out."""

from __future__ import annotations

from . import budgets, checks, records, security, surroundings
from .code import Code

CODES: dict[str, Code] = {
    code: known
    for part in (budgets, records, surroundings, security, checks)
    for code, known in part.CODES.items()
}
"""By code, in order."""


def explain(code: str) -> str:
    """Return a code with its explanation, an example and the way out, as a text of some lines."""
    rule = CODES[code]
    example = "\n".join(f"    {line}" for line in rule.example.split("\n"))
    return f"{code} ({rule.severity}): {rule.title}\n\n{rule.why}\n\nExample:\n{example}\n\nWay out: {rule.way_out}\n"
