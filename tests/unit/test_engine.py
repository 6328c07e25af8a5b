"""The door of the engine: each name is that of its module, imported when it is asked for."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from promptforge import engine


def test_a_name_is_that_of_its_module() -> None:
    for name, module in engine.NAMES.items():
        assert getattr(engine, name) is getattr(import_module(f"promptforge.{module}"), name)


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = engine.no_such_name  # type: ignore[attr-defined]


@pytest.mark.slow
def test_the_door_alone_loads_no_room() -> None:
    code = "import sys, promptforge.engine; print([n for n in sys.modules if 'promptforge.' in n])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['promptforge._version', 'promptforge.engine']"
