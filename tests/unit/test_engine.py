"""The door of the engine: each name is that of its module, imported when it is asked for."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import promptforge
from promptforge import engine, names_of_stub


def test_a_name_is_that_of_its_module() -> None:
    for name, module in engine.NAMES.items():
        assert getattr(engine, name) is getattr(import_module(f"promptforge.{module}"), name)


def test_the_stubs_are_read_as_type_checkers_read_them() -> None:
    for name, module in (("engine", engine), ("__init__", promptforge)):
        stub = Path(promptforge.__file__).with_name(f"{name}.pyi")
        rows = [n for n in ast.parse(stub.read_text()).body if isinstance(n, ast.ImportFrom)]
        assert all((row.level, row.names[0].asname) == (1, row.names[0].name) for row in rows)
        listed = {row.names[0].name: row.module for row in rows}
        assert names_of_stub(name) == listed
        assert all(hasattr(module, each) for each in listed)


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = engine.no_such_name  # type: ignore[attr-defined]


@pytest.mark.slow
def test_the_door_alone_loads_no_room() -> None:
    code = "import sys, promptforge.engine; print([n for n in sys.modules if 'promptforge.' in n])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['promptforge._version', 'promptforge.engine']"
