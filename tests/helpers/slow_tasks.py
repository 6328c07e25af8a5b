"""Tasks for a sandbox: one that does not end, and one that is done at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def wait(_argument: object, begin: Callable[[], None]) -> dict[str, Any]:
    begin()
    time.sleep(3600)
    return {}


def answer(argument: dict[str, Any], begin: Callable[[], None]) -> dict[str, Any]:
    begin()
    return {"of": argument["items_key"]}
