"""Many requests at once: `run` over a file of them, `RenderBatch` inside of other engines."""

from .rows import RenderBatch
from .runner import Progress, run
from .store import RunReport

__all__ = ["Progress", "RenderBatch", "RunReport", "run"]
