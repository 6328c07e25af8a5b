"""Folders in the working directory that would be searched if somebody named them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ..errors import quote
from ..template_files import is_name


def beside(name: str, given: Sequence[str]) -> str:
    """Return where a name that was not found is all the same, and the flag that finds it; empty: nowhere.

    `given` is the command line.
    """
    if not is_name(name):
        return ""
    said = []
    for folder, places in (
        ("templates", (name, f"prompt/{name}")),
        ("profiles", (f"{name}.yaml", f"{name}.yml")),
    ):
        if named(folder, given):
            continue
        found = next(
            (Path(folder, place) for place in places if Path(folder, place).exists()), None
        )
        if found is not None:
            said.append((quote(found.as_posix())[1:-1], f"--{folder} {folder}"))
    if not said:
        return ""
    there, flags = (" and ".join(each) for each in (zip(*said, strict=True)))
    return f"; {there} {'are' if len(said) > 1 else 'is'} here: add {flags}"


def named(folder: str, given: Sequence[str]) -> bool:
    """Whether a command line, or the environment, says where templates or profiles are."""
    flags = any(word == f"--{folder}" or word.startswith(f"--{folder}=") for word in given)
    return flags or bool(os.environ.get(f"PROMPTFORGE_{folder.upper()}"))
