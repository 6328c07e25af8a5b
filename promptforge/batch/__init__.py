"""Many requests at once: `run` over a file of them, `RenderBatch` inside of other engines."""

from .columns import RenderBatch
from .places import Report
from .running import Progress, run

__all__ = ["Progress", "RenderBatch", "Report", "run"]
