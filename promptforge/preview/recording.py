"""What is seen on the page as a golden case: made and tried behind the wall, where guests' templates render."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ..errors import ItemError
from ..golden.adding import added
from ..golden.cases import parse
from ..golden.judging import judge, name_of
from ..items import Item
from . import drawing

FILE = "preview.yaml"
"""The file of cases that the page writes, in the folder of tests."""


def record(request: Mapping[str, Any], begin: Callable[[], None]) -> dict[str, Any]:
    """Return `{"source"}`, the file of cases `request["source"]` with what is seen added as one more case.

    `request` holds what a rendering takes (see `drawing`), `name` and `expect` of the case, `path` of its file, and the
    file `items_file` that the items are from, or none: then they are written out. The case is judged as
    `promptforge test` will judge it. Raises `ItemError` where it would not hold.
    """
    result = drawing.rendered(request, begin)
    if isinstance(result, dict):
        return result
    path, look = Path(request["path"]), request["look"]
    near = path.parent

    def seen(other: str) -> str:
        return Path(os.path.relpath(other, near)).as_posix()

    keys: dict[str, Any] = {"name": request["name"]}
    if request["items_file"]:
        keys["items"] = seen(request["items_file"])
    else:
        keys["items"] = [_record(item) for item in drawing.kept(request["items_key"])]
    for what in ("templates", "profiles"):
        if look[what]:
            keys[what] = [seen(folder) for folder in look[what]]
    profile = {"profile": look["profile"]} if look["profile"] else {}
    keys["options"] = {**profile, **look["options"]}
    if request["expect"] == "text":
        keys["text"] = result.text
    else:
        keys["tokens_at_most"] = result.tokens if result.max_tokens is None else result.max_tokens
        known = Counter(map(name_of, result.items))
        keys["statuses"] = {
            item.id if known[name_of(item)] > 1 else name_of(item): item.status
            for item in result.items
        }
    source = added(request["source"], path, keys)
    outcome = judge(parse(source, path)[-1])
    if outcome.problems:
        raise ItemError(f"the case would not hold when it is tested: {outcome.problems[0]}")
    return {"source": source}


def _record(item: Item) -> dict[str, Any]:
    """Return an item as it is written in a file: what it says, not what it leaves to defaults."""
    plain: dict[str, Any] = msgspec.to_builtins(item)
    default = msgspec.to_builtins(Item())
    return {name: value for name, value in plain.items() if value != default[name]}
