"""How much work the property tests do: `pytest --effort 10` makes ten times as many examples, `--effort 0.2` a fifth.

`PROMPTFORGE_CASES=10` does the same, for processes that a test starts too. From 10 on, the laws of the
budget see more than 20,000 rendered cases a run.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

EFFORT = float(os.environ.get("PROMPTFORGE_CASES", "1"))

MULTIPLIER = max(1, int(EFFORT))
"""The same as a whole number: the seed of campaigns."""


def rounds(number: int) -> int:
    """Return how many cases a campaign or a thread tries: `number` times the effort, at least one."""
    return max(1, int(number * EFFORT))


MIN_EXAMPLES = 5
"""Where a law asks for so many, fewer are never tried: the first one is mostly empty."""


def cases(number: int, *, shrink: bool = True) -> settings:
    """Return settings for half of `number` examples, times the multiplier. No deadline: slow
    is no bug.

    Without `shrink` a failing example is shown as it was found, for tests where each example is
    much work.
    """
    return settings(
        max_examples=max(min(number, MIN_EXAMPLES), int(number * EFFORT / 2)),
        deadline=None,
        phases=[Phase.explicit, Phase.generate, *([Phase.shrink] if shrink else [])],
        derandomize=EFFORT <= 1,
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
            HealthCheck.filter_too_much,
        ],
    )
