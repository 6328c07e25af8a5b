"""The fuzz targets on bytes that broke something once, and on a few others."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from example_counts import MULTIPLIER
from fuzz import __main__ as fuzzing

TARGETS = {"command": 4, "fitting": 10, "framing": 4, "http": 10, "profile": 10, "template": 2}
"""Each with how often it is tried here."""
FOUND = Path(__file__).parent / "data" / "fuzz"
"""What was found, `TARGET-what-it-is`."""


def test_all_targets_are_here() -> None:
    folder = Path(fuzzing.__file__).parent
    assert {path.stem for path in folder.glob("*.py")} - {"__init__", *fuzzing.ASIDE} == set(
        TARGETS
    )


def target(name: str) -> Callable[[bytes], None]:
    one: Callable[[bytes], None] = importlib.import_module(f"fuzz.{name}").one
    return one


@pytest.mark.parametrize("name", TARGETS)
def test_some_bytes(name: str) -> None:
    r = random.Random(MULTIPLIER)
    for _ in range(TARGETS[name] * MULTIPLIER):
        target(name)(r.randbytes(r.randint(0, 300)))


@pytest.mark.parametrize("path", sorted(FOUND.glob("*")), ids=lambda path: path.name)
def test_what_was_found(path: Path) -> None:
    target(path.name.partition("-")[0])(path.read_bytes())
