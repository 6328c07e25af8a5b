"""Point at ./templates and ./profiles that nobody named."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ..errors import quote
from ..template_files import is_name


def beside(name: str, given: Sequence[str]) -> str:
    """Return a hint where a name that was not found lies in ./templates or ./profiles, else "".

    The hint names the flag that finds it. `given` is the command line.
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
    verb = ("is", "are")[len(said) > 1]
    return f"; {there} {verb} here: add {flags}"


def named(folder: str, given: Sequence[str]) -> bool:
    """Return true where the command line or the environment names such a folder."""
    flags = any(word == f"--{folder}" or word.startswith(f"--{folder}=") for word in given)
    return flags or bool(os.environ.get(f"PROMPTFORGE_{folder.upper()}"))
