"""Read a Jupyter notebook as Markdown: its cells in their order, each output as text.

The format is nbformat 4 (https://nbformat.readthedocs.io/en/latest/format_description.html), or 3
with the cells in worksheets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

from ..text.escape import put_in_fence

FIRST_LINES, LAST_LINES = 3, 10
"""Lines kept of a long output where the whole notebook has no room."""
COLOR = re.compile(r"\x1b\[[0-9;]*m")


class Notebook(NamedTuple):
    """A notebook as text."""

    text: str
    short: str
    """The same with the middle of long outputs left out: sources matter more."""
    cells: int
    left_out: int
    """Outputs without a text: pictures, widgets."""
    unread: int
    """Cells with sources that are not text, or only in part."""


def read_notebook(text: str) -> Notebook | None:
    """Return the notebook that a file's text is; None for JSON of any other form."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or "nbformat" not in data:
        return None
    sheets = data.get("worksheets")
    found = [data, *(sheets if isinstance(sheets, list) else ())]
    lists = [part["cells"] for part in found if isinstance(part, dict) and "cells" in part]
    if not lists or not all(isinstance(cells, list) for cells in lists):
        return None
    cells = [_as_of_today(cell) for cell in chain(*lists) if isinstance(cell, dict)]
    if len(cells) < sum(map(len, lists)):
        return None
    tag = next(filter(None, (_language(data.get("metadata")), *map(_language_of, cells))), "")
    blocks: list[str] = []
    short: list[str] = []
    left_out = 0
    unread = sum(not _is_text(cell.get("source")) for cell in cells)
    for cell in cells:
        source = _joined(cell.get("source")).strip("\n")
        if source and cell.get("cell_type") != "markdown":
            source = put_in_fence(source, tag if cell.get("cell_type") == "code" else "")
        blocks.append(source)
        short.append(source)
        if cell.get("cell_type") == "markdown":
            continue
        outputs = cell.get("outputs")
        if not isinstance(outputs, list):
            continue
        for output in (each for each in outputs if isinstance(each, dict)):
            said = list(filter(None, _texts(output)))
            blocks += [put_in_fence(each, "text") for each in said]
            short += [put_in_fence(_ends(each), "text") for each in said]
            is_empty = output.get("output_type") == "stream" and not output.get("text")
            left_out += not said and not is_empty
    whole, shorter = ("\n\n".join(filter(None, each)) for each in (blocks, short))
    return Notebook(whole, shorter, len(cells), left_out, unread)


def _ends(output: str) -> str:
    """Return the first and the last lines of an output, where its result stands."""
    lines = output.split("\n")
    left_out = len(lines) - FIRST_LINES - LAST_LINES
    if left_out <= 1:
        return output
    gap = f"[… {left_out:,} lines left out]"
    return "\n".join([*lines[:FIRST_LINES], gap, *lines[-LAST_LINES:]])


def _as_of_today(cell: dict[str, Any]) -> dict[str, Any]:
    """Return a cell of nbformat 3 as one of 4."""
    if cell.get("cell_type") == "heading":
        level = cell.get("level")
        signs = "#" * level if type(level) is int and 0 < level < 7 else "#"
        return {**cell, "cell_type": "markdown", "source": f"{signs} {_joined(cell.get('source'))}"}
    return {"source": cell["input"], **cell} if "input" in cell else cell


def _language_of(cell: dict[str, Any]) -> str:
    tag = cell.get("language")
    return tag.lower() if isinstance(tag, str) else ""


def _language(metadata: object) -> str:
    for name, key in (("language_info", "name"), ("kernelspec", "language")):
        part = metadata.get(name) if isinstance(metadata, dict) else None
        tag = part.get(key) if isinstance(part, dict) else None
        if isinstance(tag, str):
            return tag.lower()
    return ""


def _is_text(value: object) -> bool:
    """Tell whether a value is a text of the format; of any other, something would be missing."""
    if isinstance(value, list):
        return all(isinstance(line, str) for line in value)
    return isinstance(value, str)


def _joined(lines: object) -> str:
    """Return a text of the format: one text, or a list of lines with their line ends."""
    if isinstance(lines, list):
        return "".join(line for line in lines if isinstance(line, str))
    return lines if isinstance(lines, str) else ""


def _texts(output: dict[str, Any]) -> Iterator[str]:
    """Yield the texts of an output, without colours; none for a picture and its name."""
    traceback = output.get("traceback")
    if traceback:
        lines = traceback if isinstance(traceback, list) else [traceback]
        yield COLOR.sub("", "\n".join(map(_joined, lines))).strip("\n")
    if output.keys().isdisjoint(("png", "jpeg", "svg")):  # as nbformat 3 has pictures
        yield COLOR.sub("", _joined(output.get("text"))).strip("\n")
    data = output.get("data")
    if isinstance(data, dict) and not any(key.startswith("image/") for key in data):
        for kind in ("text/markdown", "text/plain"):
            said = _joined(data.get(kind)).strip("\n")
            if said:
                yield said
                return
