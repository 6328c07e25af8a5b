"""Load code and text files: `PATH`, `PATH:LINE`, `PATH:START-END`, or a pattern (`src/**/*.py`).

Codes: PF601 a match that cannot be read, PF604 one that is no text, PF605 a range past the end.
"""

from __future__ import annotations

import os
import re

from ..diagnostics import Diagnostics
from ..errors import ItemError
from ..items import Item
from . import languages, patterns
from . import workspace as places

_SEVERAL = re.compile(r"(?s:(.+?)):([0-9]{1,9}-?[0-9]{0,9}),([0-9]{1,9}-?[0-9]{0,9})(?:,[0-9,-]*)?")
_RANGE = re.compile(r"(?s:(.+)):([0-9]{1,9})(?:-([0-9]{0,9}))?")


def load(
    spec: str,
    *,
    workspace: str | os.PathLike[str],
    diagnostics: Diagnostics,
    context_lines: int = 0,
) -> list[Item]:
    """Return the items of one `--file`: `code` for programming languages, `file` for the rest.

    Lines count from 1, both ends included; `PATH:12` is one line, `PATH:12-` all from there on.
    `context_lines` more are taken on either side, as far as the file goes, and the range says so. A
    whole file has no range. The line end that closes the text is left out.

    Raises `ItemError` when a named file cannot be read, a pattern matches nothing, or a range lies
    outside the file.
    """
    path, start, end = _parse(spec, workspace)
    if not patterns.is_pattern(path) or _exists(path, workspace):
        if (several := _SEVERAL.fullmatch(path)) and not _exists(path, workspace):
            message = f"one range each: {several[1]}:{several[2]} and {several[1]}:{several[3]}"
            raise ItemError(message, where=places.shown(spec))
        text = places.read_text(path, workspace=workspace, diagnostics=diagnostics)
        if "\0" in text[:8192]:
            raise ItemError("no text but binary data", where=places.shown(path))
        return [_item(path, text, start, end, context_lines, diagnostics)]
    items = []
    for name in patterns.expand(path, workspace=workspace, diagnostics=diagnostics):
        said = Diagnostics()
        try:
            text = places.read_text(name, workspace=workspace, diagnostics=said)
            if "\0" in text[:8192]:  # a picture that a pattern happened to catch
                message = "no text but binary data; skipped"
                diagnostics.add("PF604", message, where=places.shown(name))
                continue
            items.append(_item(name, text, start, end, context_lines, said))
        except ItemError as exc:
            said.add("PF601", "skipped: " + exc.bare, where=exc.where)
        diagnostics.extend(tuple(said))
    return items


def _exists(path: str, workspace: str | os.PathLike[str]) -> bool:
    try:
        return os.path.lexists(os.path.join(workspace, path))
    except ValueError:
        return False


def _parse(spec: str, workspace: str | os.PathLike[str]) -> tuple[str, int | None, int | None]:
    """Return path, first and last line (`None`: to the end); a file of the whole name wins."""
    found = _RANGE.fullmatch(spec)
    if found is None or _exists(spec, workspace):
        return spec, None, None
    path, first, last = found[1], int(found[2]), found[3]
    end: int | None = first
    if last is not None:  # `12-` is all from there on
        end = int(last) if last else None
    if first < 1 or (end is not None and end < first):
        message = "lines count from 1, and the range ends where it begins or later: PATH:START-END"
        raise ItemError(message, where=places.shown(spec))
    return path, first, end


def _item(
    path: str,
    text: str,
    start: int | None,
    end: int | None,
    context_lines: int,
    diagnostics: Diagnostics,
) -> Item:
    if start is None:
        return piece(path, text)
    lines = lines_of(text)
    if start > len(lines):
        message = f"line {start} lies past the end; there are {len(lines)} lines"
        raise ItemError(message, where=places.shown(path))
    if end is not None and end > len(lines):
        message = f"line {end} lies past the end; the last line is {len(lines)}"
        diagnostics.add("PF605", message, where=places.shown(path))
    context_lines = max(0, context_lines)
    first = max(1, start - context_lines)
    last = len(lines)
    if end is not None:
        last = min(last, end + context_lines)
    return piece(path, "".join(lines[first - 1 : last]), first, last)


def piece(path: str, text: str, start: int | None = None, end: int | None = None) -> Item:
    """Return the item of a file or of some of its lines, without the line end that closes it."""
    language = languages.language_of(path)
    for line_end in ("\r\n", "\n", "\r"):
        if text.endswith(line_end):
            text = text.removesuffix(line_end)
            break
    return Item(
        kind="code" if languages.is_code(language) else "file",
        content=text,
        path=path,
        language=language,
        start_line=start,
        end_line=end,
    )


def lines_of(text: str) -> list[str]:
    """Return the lines of a text with their ends: LF, CR LF, or CR alone.

    Not `splitlines`, which also splits at form feeds and U+2028, where no editor counts a line.
    """
    lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", text)
    return lines[:-1] if lines[-1] == "" else lines
