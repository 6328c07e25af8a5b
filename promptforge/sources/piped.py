"""Read standard input: items, or the text that another program printed.

Codes: PF201 a text that is read as such.
"""

from __future__ import annotations

import os
import re
from itertools import dropwhile, takewhile

from msgspec.structs import replace

from ..errors import Diagnostics, ItemError
from ..files.access import StrPath
from ..model import Item
from ..text.detection import detect_language
from ..text.format import plural
from ..text.languages import DATA_LANGUAGES, language_of
from .changes import change_items
from .item_files import TEXT_FIELDS, NoItemsError, decode_json, parse_items
from .shapes import ITEM_FIELDS
from .tables import TABLE_SUFFIXES, parse_table
from .text_files import file_item, notebook_item
from .workspace import read_named

MAX_LINES_READ = 200
"""Lines at the beginning that are searched for the keys of an item."""
_KEY_OF_TEXT = rf"[\"']?(?:{'|'.join(TEXT_FIELDS)})[\"']?"
_BEGINS_JSON = re.compile(
    r"\s*+[\[{](?:[\[{\s]|//.*|/\*(?s:.*?)\*/)*+"
    rf"(?:\"(?:[^\"\\\n]|\\.)*+(?:\"\s*+(?:[:,\]}}\"]|\Z)|\Z)|{_KEY_OF_TEXT}\s*+:|\Z)"
)
_TEXT_LINE = re.compile(rf" {{0,6}}(?:- +)?{_KEY_OF_TEXT}:(?:\s|\Z)")
_FIELD_LINE = re.compile(
    rf" {{0,6}}(?:- +)?[\"']?(?:{'|'.join(sorted({*ITEM_FIELDS, *TEXT_FIELDS}))})[\"']?:(?:\s|\Z)"
)
_HEADING = re.compile(r"\ufeff?#{1,6} \S.*\n[ \t\r]*\n")
_BARE_VALUE = re.compile(r'\s*+(?:null|~|true|false|-?\d+(?:\.\d+)?|"[^"\n]*+")\s*+\Z')
"""A text that is one value of JSON: a search that failed may print `null`."""


def load_stream(
    path: str, *, stream_name: str | None, workspace: StrPath, diagnostics: Diagnostics
) -> list[Item]:
    """Return the items of standard input, or of a shell's `<(command)`; else its text, and say so.

    A notebook is read as one of that name. A diff of git becomes one item a file, and its commits
    one item each. Items with a mistake, as `holds_fields` tells them, and a list of files are no
    text: the message says the flags by which each is read. Under a name of a text, such as
    `app.py`, all is text; under one of a table, and where the rows look like one, a table of
    records is read as from a file.
    """
    text, where = read_named(path, workspace=workspace, diagnostics=diagnostics, whole=True)
    if stream_name is not None and stream_name.lower().endswith(TABLE_SUFFIXES):
        table = parse_table(text, where=where, diagnostics=diagnostics)
        if table is not None:
            return table
    if stream_name is not None and language_of(stream_name) not in DATA_LANGUAGES:
        return [replace(file_item(stream_name, text, said=diagnostics), named=True)]
    name = stream_name or "standard input"
    notebook = notebook_item(name, text, diagnostics) if '"nbformat"' in text else None
    if notebook is not None:
        return [replace(notebook, named=True)]
    said = Diagnostics()
    try:
        items = parse_items(text, where=where, diagnostics=said)
    except ItemError as error:
        items = _rows(text, where, diagnostics) if stream_name is None else []
        if items:
            return items
        lines = text.splitlines()
        # As of `git ls-files`: a name that is a sentence by chance is not followed by others.
        if all(os.path.lexists(os.path.join(workspace, line)) for line in lines):
            message = "a list of files; `--files-from -` reads them, `--file -` takes the list"
            raise ItemError(message, where=where) from None
        language = detect_language(text)
        is_printed = language in ("log", "traceback")
        if not is_printed and _is_meant_as_items(text, error):
            hint = "; `--file -` takes it as a text, `--files-from -` as a list of files"
            raise ItemError(error.bare + hint, where=error.where, field=error.field) from None
        return _texts(text, name, where, language, diagnostics)
    diagnostics.extend(said)
    return items


def _rows(text: str, where: str, diagnostics: Diagnostics) -> list[Item]:
    """Return the rows of a table of records; of prose nobody asks why it is none."""
    said = Diagnostics()
    items = parse_table(text, where=where, diagnostics=said, is_named=False)
    if items or detect_language(text) in ("csv", "tsv"):
        diagnostics.extend(said)
    return items or []


def _texts(
    text: str, name: str, where: str, language: str | None, diagnostics: Diagnostics
) -> list[Item]:
    """Return the item of a text, or those of a diff and of commits, and say as what it is read."""
    message = "read as text: it holds no items; --name app.py sets its language"
    if language:
        message = f"read as {language} by its content, for it holds no items; --name FILE decides"
    items = [replace(item, named=True) for item in change_items(text)]
    if not items:
        items = [replace(file_item(name, text), named=True)]
    elif items[0].kind == "commit":
        message = f"read as {plural(len(items), 'commit', 'commits')}"
    else:
        message = f"read as a diff of {plural(len(items), 'file', 'files')}"
    diagnostics.add("PF201", message, where=where, severity="info")
    return items


def _is_meant_as_items(text: str, error: ItemError) -> bool:
    if text.lstrip("\ufeff \t\r\n")[:1] in ("[", "{"):
        return begins_as_json(text)
    if _BARE_VALUE.match(text):
        return True
    # One object of YAML with other keys has no mistake: what `kubectl get -o yaml` prints.
    return not isinstance(error, NoItemsError) and holds_fields(text)


def begins_as_json(text: str) -> bool:
    """Tell whether a text is JSON, or was meant to be: brackets, then a text in double quotes.

    So is one with the key of a text in other quotes or in none, `[{content: …`. Without either a
    bracket is a log's `[00001]`, a `[section]`, a `[link](…)`, `{% if %}`, or of a program.
    """
    if _BEGINS_JSON.match(text.removeprefix("\ufeff")):
        return True
    try:
        decode_json(text, {}, lenient=True)
    except (ValueError, RecursionError):
        return False
    return True


def holds_fields(text: str) -> bool:
    """Tell whether a text that YAML cannot read as items was meant to be such: it has their keys.

    Of a list any key of an item counts, of anything else that of a text, such as `content`, in the
    first lines up to a blank one. The settings above a page are passed over. Headers of a mail,
    manifests and points of Markdown (`- Torque: 12 Nm`) have none of these keys.
    """
    lines = _first_lines(text)
    key = _FIELD_LINE if lines and lines[0].startswith("- ") else _TEXT_LINE
    return any(map(key.match, lines))


def is_page(text: str) -> bool:
    """Tell whether a text is Markdown, its heading a comment to YAML and its points a list."""
    return _HEADING.match(text) is not None and bool(_first_lines(text)) and not holds_fields(text)


def _first_lines(text: str) -> list[str]:
    """Return the first lines that are no comments nor settings of a page, up to a blank one."""
    lines = text.removeprefix("\ufeff").split("\n", MAX_LINES_READ)[:MAX_LINES_READ]
    lines = [line.rstrip() for line in lines]
    if lines[0] == "---":
        end = lines.index("---", 1) + 1 if "---" in lines[1:] else 1
        lines = lines[end:] if any(lines[end:]) else lines[1:]
    lines = list(dropwhile(lambda line: not line or line[0] == "#", lines))
    return list(takewhile(bool, lines))
