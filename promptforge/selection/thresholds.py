"""Drop what a search found below `min_score`, and say where such a limit could act on nothing.

Codes: PF103 a limit for found items that was not applied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..config.options import Options
from ..errors import Diagnostics, Severity
from ..model import NO_SCORE, Item
from ..reasons import MIN_SCORE

LIMITS_OF_FOUND = ("min_score", "max_items", "min_worth")
"""Options that act on found items alone."""


def drop_low_scores(
    items: Sequence[Item],
    kept: Sequence[int],
    options: Options,
    dropped: dict[int, str],
    diagnostics: Diagnostics,
) -> None:
    """Drop found items that score less than `min_score`, provided that all scores lie in 0…1."""
    least = options.min_score or 0.0
    found = [index for index in kept if items[index].origin == "similarity"]
    if options.score_order == "given":
        judged = [index for index in found if items[index].score_order == "higher"]
    else:
        judged = found if options.score_order == "higher" else []
    if len(judged) < len(found):
        number = len(found) - len(judged)
        message = f"min_score {least:g} was not applied to {number} of {len(found)} found items"
        why = "their numbers are no scores, or it is not known that they are"
        why += "; score_order: higher says so"
        if options.score_order == "lower":
            why = "score_order: lower says that their numbers are distances; limit those in"
            why += " the store, or by max_items"
        diagnostics.add("PF103", f"{message}: {why}")
    scores = [items[index].score for index in judged]
    if not scores:
        return
    if min(scores) < 0 or max(scores) > 1:
        # Distances and BM25's sums have scales of their own; a limit meant for 0…1 would lie.
        span = f"scores run from {min(scores):g} to {max(scores):g}, not 0 to 1"
        diagnostics.add("PF103", f"min_score {least:g} was not applied: {span}")
        return
    for index in judged:
        if items[index].score < least and not items[index].required:
            dropped[index] = MIN_SCORE.name


def say_of_limits(
    items: Sequence[Item],
    options: Options,
    of_profile: Mapping[str, Any],
    diagnostics: Diagnostics,
) -> None:
    """Say which limits for found items act on none, where all items are named and some scored.

    Without a score among them, nothing was searched for: then a program's standing limit is no
    mistake. Nor is that of a profile: a note tells of it.
    """
    limits = {name: getattr(options, name) for name in LIMITS_OF_FOUND}
    # At 0 the other two leave out nothing.
    names = [name for name, least in limits.items() if least or (name, least) == ("max_items", 0)]
    scored = any(item.score is not NO_SCORE for item in items)
    if not (names and scored) or any(item.origin == "similarity" for item in items):
        return
    severity: Severity = "info"
    if any(limits[name] != of_profile.get(name) for name in names):
        severity = "warning"
    verb = "acts" if len(names) == 1 else "act"
    subject = "the only one is" if len(items) == 1 else f"these {len(items):,} are"
    message = f"{' and '.join(names)} {verb} on found items only; {subject} explicit"
    message += ": give what a search found origin: similarity"
    diagnostics.add("PF103", message, severity=severity)
