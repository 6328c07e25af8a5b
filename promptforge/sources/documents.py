"""Load documents: markdown and other prose, with front matter read into metadata.

Codes: PF205 front matter that cannot be read, PF601 a match of a pattern that cannot be read.
"""

from __future__ import annotations

import os
import re
from typing import Any

from ..errors import Diagnostics, ItemError, ProfileError
from ..model import Item
from ..plaindata import copy_plain
from .workspace import expand_pattern, is_pattern, read_text, show_path

_FRONT = re.compile(
    r"---[ \t]*\r?\n(.*?)(?<=\n)(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)(?:[ \t]*\r?\n)*", re.DOTALL
)


def load_documents(
    path: str, *, workspace: str | os.PathLike[str], diagnostics: Diagnostics
) -> list[Item]:
    """Return the document at `path`, or all that match a pattern, as items of kind `document`.

    The name is the file's. Front matter, YAML between `---` lines at the very top, is taken off the
    content and becomes metadata; if it is no YAML it stays in the content, and that is said. Raises
    `ItemError` when the file cannot be read, or a pattern matches nothing.
    """
    if not is_pattern(path) or os.path.lexists(os.path.join(workspace, path)):
        return [_document(path, workspace, diagnostics)]
    found = []
    for name in expand_pattern(path, workspace=workspace, diagnostics=diagnostics):
        try:
            found.append(_document(name, workspace, diagnostics))
        except ItemError as exc:
            diagnostics.add("PF601", f"skipped: {exc.bare}", where=exc.where)
    return found


def _document(path: str, workspace: str | os.PathLike[str], diagnostics: Diagnostics) -> Item:
    text = read_text(path, workspace=workspace, diagnostics=diagnostics)
    metadata, body = _front_matter(text, show_path(path), diagnostics)
    name = path.replace(os.sep, "/").rpartition("/")[2]
    content = body.removesuffix("\n").removesuffix("\r")
    return Item(kind="document", content=content, path=path, name=name, metadata=metadata)


def _front_matter(text: str, where: str, diagnostics: Diagnostics) -> tuple[dict[str, Any], str]:
    found = _FRONT.match(text)
    if found is None:
        return {}, text
    from .. import yaml_reader as yamltext

    try:
        value = yamltext.load_yaml(found[1].replace("\r\n", "\n"), where)
    except ProfileError as exc:
        line = int((exc.where or ":1").rpartition(":")[2]) + 1  # below the first `---`
        diagnostics.add("PF205", f"front matter kept as text: {exc.bare}", where=f"{where}:{line}")
        return {}, text
    if not isinstance(value, dict):  # a rule, some prose, another rule
        return {}, text
    metadata = copy_plain(
        value, lambda change: diagnostics.add("PF203", f"front matter: {change}", where=where)
    )
    return metadata, text[found.end() :]
