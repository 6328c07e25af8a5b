"""Keep a run from writing over files of the user's that it leaves out, or never looks at."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ..errors import ItemError
from ..files.access import is_inside, is_read, read_bytes, show_path
from ..files.marks import is_written_by_us
from ..model import Item
from .credentials import may_hold_credentials
from .folders import MAY_BE_PACKED, find_packed
from .workspace import is_stream

if TYPE_CHECKING:
    from .gather import SourceRequest


def refuse_own_files(wanted: SourceRequest, items: Iterable[Item]) -> None:
    """Raise `ItemError` for an output that exists, was not read, and is no earlier output.

    In a folder that is read such a file is ignored, hidden, installed or narrowed out: git has no
    copy of most. Elsewhere it is one for credentials. What an earlier run wrote is known by its
    mark, and by its content where that run had another home, as in a container.
    """
    folders = list(_folders(wanted))
    for name in wanted.outputs:
        real = os.path.realpath(name)
        if not os.path.isfile(real) or is_read(real) or is_written_by_us(real):
            continue
        if may_hold_credentials(real):
            message = "exists, and by its name holds credentials; choose another output"
            raise ItemError(message, where=show_path(name))
        if any(is_inside(real, folder) for folder in folders) and not _is_packed(real, items):
            message = "exists in a folder that is read, and is not the output of an earlier run"
            message += "; remove it, or choose another output"
            raise ItemError(message, where=show_path(name))


def _folders(wanted: SourceRequest) -> Iterator[str]:
    within = () if wanted.search is None else wanted.search.paths
    for name in (*wanted.items, *wanted.files, *within):
        folder = os.path.join(wanted.workspace, name)
        if not is_stream(name) and os.path.isdir(folder):
            yield os.path.realpath(folder)


def _is_packed(real: str, items: Iterable[Item]) -> bool:
    if not MAY_BE_PACKED.fullmatch(real):
        return False
    with contextlib.suppress(OSError):
        text = read_bytes(real, note=False).decode("utf-8", "replace")
        texts = [(item.path, item.content or "") for item in items if item.path]
        return real in find_packed([*texts, (real, text)])
    return False
