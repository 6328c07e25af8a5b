"""Load documents: markdown and other prose, with front matter read into metadata.

Codes: PF205 front matter that cannot be read, PF601 a match of a pattern that cannot be read.
"""

from __future__ import annotations

import os
import re
from typing import Any

from ..diagnostics import Diagnostics
from ..errors import ItemError, ProfileError
from ..items import Item
from . import patterns, plaindata
from . import workspace as places

_FRONT = re.compile(
    r"---[ \t]*\r?\n(.*?)(?<=\n)(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)(?:[ \t]*\r?\n)*", re.DOTALL
)


def load(path: str, *, workspace: str | os.PathLike[str], diagnostics: Diagnostics) -> list[Item]:
    """Return the document at `path`, or all that match a pattern, as items of kind `document`.

    The name is the file's. Front matter, YAML between `---` lines at the very top, is taken off the
    content and becomes metadata; if it is no YAML it stays in the content, and that is said. Raises
    `ItemError` when the file cannot be read, or a pattern matches nothing.
    """
    if not patterns.is_pattern(path) or os.path.lexists(os.path.join(workspace, path)):
        return [_document(path, workspace, diagnostics)]
    found = []
    for name in patterns.expand(path, workspace=workspace, diagnostics=diagnostics):
        try:
            found.append(_document(name, workspace, diagnostics))
        except ItemError as exc:
            diagnostics.add("PF601", f"skipped: {exc.bare}", where=exc.where)
    return found


def _document(path: str, workspace: str | os.PathLike[str], diagnostics: Diagnostics) -> Item:
    text = places.read_text(path, workspace=workspace, diagnostics=diagnostics)
    metadata, body = _front_matter(text, places.shown(path), diagnostics)
    name = path.replace(os.sep, "/").rpartition("/")[2]
    content = body.removesuffix("\n").removesuffix("\r")
    return Item(kind="document", content=content, path=path, name=name, metadata=metadata)


def _front_matter(text: str, where: str, diagnostics: Diagnostics) -> tuple[dict[str, Any], str]:
    found = _FRONT.match(text)
    if found is None:
        return {}, text
    from .. import yamltext

    try:
        value = yamltext.load(found[1].replace("\r\n", "\n"), where)
    except ProfileError as exc:
        line = int((exc.where or ":1").rpartition(":")[2]) + 1  # below the first `---`
        diagnostics.add("PF205", f"front matter kept as text: {exc.bare}", where=f"{where}:{line}")
        return {}, text
    if not isinstance(value, dict):  # a rule, some prose, another rule
        return {}, text
    metadata = plaindata.copy(
        value, lambda change: diagnostics.add("PF203", f"front matter: {change}", where=where)
    )
    return metadata, text[found.end() :]
