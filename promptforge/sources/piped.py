"""Read standard input: items, or the text that another program printed.

Codes: PF201 a text that is read as such.
"""

from __future__ import annotations

import os
import re

from msgspec.structs import replace

from ..errors import Diagnostics, ItemError
from ..files.access import StrPath
from ..files.csv_table import is_table
from ..model import Item
from ..text.detection import detect_language
from ..text.format import plural
from ..text.languages import DATA_LANGUAGES, language_of
from .changes import change_items
from .intended import KEY_OF_TEXT, holds_fields
from .item_files import NoItemsError, decode_json, parse_items
from .notebook import COLOR
from .tables import parse_table
from .text_files import file_item, notebook_item
from .workspace import read_named

_BEGINS_JSON = re.compile(
    r"\s*+[\[{](?:[\[{\s]|//.*|/\*(?s:.*?)\*/)*+"
    rf"(?:\"(?:[^\"\\\n]|\\.)*+(?:\"\s*+(?:[:,\]}}\"]|\Z)|\Z)|{KEY_OF_TEXT}\s*+:|\Z)"
)
_BARE_VALUE = re.compile(r'\s*+(?:null|~|true|false|-?\d+(?:\.\d+)?|"[^"\n]*+")\s*+\Z')
"""A text that is one value of JSON: a search that failed may print `null`."""
_COLORED_WORDS = re.compile(r"(?m)^[^\x1b\n]+\x1b\[3[12]m|^\x1b\[3[12]m(?![-+])")
"""A diff by words (`--color-words`): nothing but colors tells what was removed and added."""
_COLORS_BEFORE = re.compile(rf"^(?:{COLOR.pattern})+([-+ ]?)(?:{COLOR.pattern})*")


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
    if stream_name is not None and is_table(stream_name):
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
    if language not in (None, "listing"):  # lines are a guess, also of a price list
        message = f"read as {language} by its content, for it holds no items; --name FILE decides"
    changes, colors = change_items(text), ""
    if not changes and "\x1b[" in text and not _COLORED_WORDS.search(text):
        plain = "\n".join(map(_without_colors, text.split("\n")))
        changes, colors = change_items(plain), ", without its colors"
    items = [replace(item, named=True) for item in changes]
    if not items:
        items = [replace(file_item(name, text), named=True)]
    elif items[0].kind == "commit":
        message = f"read as {plural(len(items), 'commit', 'commits')}{colors}"
    else:
        message = f"read as a diff of {plural(len(items), 'file', 'files')}{colors}"
    diagnostics.add("PF201", message, where=where, severity="info")
    return items


def _without_colors(line: str) -> str:
    """Return a line of a diff without the colors of git; those that a file itself has stay."""
    begun = _COLORS_BEFORE.sub(r"\1", line)
    if begun[:1] not in ("+", "-", " "):
        return COLOR.sub("", begun)
    # Cut apart at its colors: a pattern for those at the end tries each of 100,000 as a beginning.
    parts, blank = COLOR.split(begun), ""
    codes = COLOR.findall(begun)
    while codes and not parts[-1].strip():
        blank = parts.pop() + blank
        codes.pop()
    pairs = zip(parts, [*codes, ""], strict=True)
    return "".join(f"{text}{code}" for text, code in pairs) + blank


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
