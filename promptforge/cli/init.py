"""`promptforge init`: a project to start from.

`promptforge new`: a copy to edit, in a folder of the user's own.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..authoring.scaffold import NewFile

STEPS = (
    "promptforge render items.json --templates templates --profiles profiles --profile mine",
    "promptforge check",
    "promptforge test",
)

_EDITED = {"layout": "item.md", "format": "item.", "prompt": "prompt."}
"""How the name of the file begins that is looked at first."""

_KEYS = ("layout", "format", "prompt")
"""What a profile chooses by the key of that name."""

COPIED_KINDS = ("layout", "format", "kind", "prompt", "profile")


def _steps(
    what: str, name: str, target: Path, made: Sequence[NewFile], layouts: Sequence[str]
) -> list[str]:
    """Return what to do next: what to edit, the command that shows it, how it is chosen, the command that checks it."""
    from ..yaml_reader import load_yaml as load

    folder = shlex.quote(str(target))
    record = json.dumps(
        {"kind": name if what == "kind" else "text", "name": "A name", "content": "A text."}
    )
    there = [name for name in ("items.json", "items.jsonl", "items.yaml") if Path(name).is_file()]
    sample = f"echo {shlex.quote(record)} | "
    if what != "kind" and (there or Path("README.md").is_file()):
        sample, shown = "", there[0] if there else "--doc README.md"
    else:
        shown = "-"
    render = f"{sample}promptforge render {shown}"
    show = {
        "profile": f"{render} --profiles {folder} --profile {name}",
        "layout": f"{render} --templates {folder} --layout {name}",
        "format": f"{render} --templates {folder} --layout {layouts[0] if layouts else 'chunks'} --format {name}",
        "kind": f"{render} --templates {folder} --layout {''.join(layouts[:1])}",
        "prompt": f"{sample}promptforge prompt {shown} --user 'A question?' --templates {folder} --prompt {name}",
    }[what]
    edit = next(
        (d.path for d in made if d.path.name.startswith(_EDITED.get(what, f"{name}.md"))),
        made[0].path,
    )
    steps = [f"edit  {edit}", f"show  {show}", f"check promptforge check {folder}"]
    if what in _KEYS:
        value = name if load(name, "") == name else json.dumps(name)  # such as 0 or none
        steps.insert(2, f"use   {what}: {value}  # a line of your profile")
    if what == "format" and len(layouts) != 1 and len(made) > 1:
        steps.append(
            f"less  {len(made)} files, for every layout; --layout NAME writes those of one"
        )
    return steps
