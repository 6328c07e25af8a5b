"""Turn the view of the page into a golden case; runs in the sandbox, where templates render."""

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
from ..results import Result
from . import drawing

FILE = "preview.yaml"
"""Name of the file of cases, in the folder of tests."""


def record(request: Mapping[str, Any], begin: Callable[[], None]) -> dict[str, Any]:
    """Return `{"source"}`: the file of cases `request["source"]` with one more case.

    Further keys of `request`: those of `drawing.draw`; `name` and `expect` of the case; `path` of
    its file; `items_file`, the file of all items, or None to write the items into the case. The
    case is tried as `promptforge test` will try it. Raises `ItemError` if it would fail.
    """
    result = drawing.rendered(request, begin)
    if isinstance(result, dict):
        return result
    path = Path(request["path"])
    source = added(request["source"], path, _keys(request, result, path.parent))
    outcome = judge(parse(source, path)[-1])
    if outcome.problems:
        raise ItemError(f"the case would not hold when it is tested: {outcome.problems[0]}")
    return {"source": source}


def _keys(request: Mapping[str, Any], result: Result, folder: Path) -> dict[str, Any]:
    """Return the keys of the new case; its paths are relative to `folder`."""

    def relative(other: str) -> str:
        return Path(os.path.relpath(other, folder)).as_posix()

    keys: dict[str, Any] = {"name": request["name"]}
    if request["items_file"]:
        keys["items"] = relative(request["items_file"])
    else:
        keys["items"] = [_record(item) for item in drawing.kept(request["items_key"])]
    look = request["look"]
    for what in ("templates", "profiles"):
        if look[what]:
            keys[what] = [relative(folder) for folder in look[what]]
    keys["options"] = dict(look["options"])
    if look["profile"]:
        keys["options"] = {"profile": look["profile"], **look["options"]}
    if request["expect"] == "text":
        return keys | {"text": result.text}
    most = result.tokens if result.max_tokens is None else result.max_tokens
    names = Counter(map(name_of, result.items))
    statuses = {}
    for item in result.items:
        name = name_of(item)
        if names[name] > 1:  # two items of one name: only the id tells them apart
            name = item.id
        statuses[name] = item.status
    return keys | {"tokens_at_most": most, "statuses": statuses}


def _record(item: Item) -> dict[str, Any]:
    """Return an item as a user writes it: without the fields that have their defaults."""
    plain: dict[str, Any] = msgspec.to_builtins(item)
    default = msgspec.to_builtins(Item())
    return {name: value for name, value in plain.items() if value != default[name]}
