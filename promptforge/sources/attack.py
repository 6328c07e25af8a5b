"""Load ATT&CK techniques by id, from a STIX bundle, a folder of these, or plain JSON or JSONL.

Codes: PF601 a file that cannot be read, PF607 a technique that was revoked or deprecated.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Iterator
from typing import Any

from ..diagnostics import Diagnostics
from ..errors import ItemError, quote
from ..items import Item
from . import plaindata, shapes, stix
from . import workspace as places
from .workspace import reason

MAX_FILES = 200_000
"""Files of a folder that are read."""

# `(Citation: Name (2020))` and the blank before it; possessive, so that no text makes it slow.
_CITATION = re.compile(r"[ \t]?\(Citation:(?:[^()]++|\([^()]*+\))*+\)")
_LINK = re.compile(r"\[([^\[\]\n]++)\]\((?:https?://|/)(?:[^()\s]++|\([^()\s]*+\))*+\)")
_CODE = re.compile(r"<code>([^<`]*+)</code>")
_ID = re.compile(r"[A-Za-z]{1,4}[0-9]{1,6}(\.[0-9]{1,4})?")
_METADATA = (
    *("technique_id", "full_name", "parent_id", "tactics", "tools", "mitigations", "platforms"),
    "url",
)

Index = dict[str, dict[str, Any]]
"""Technique records by their id, as `stix.techniques` makes them."""


def read(
    path: str | os.PathLike[str], *, workspace: str | os.PathLike[str], diagnostics: Diagnostics
) -> Index:
    """Return the techniques in a file or folder the user named, for any number of `find`.

    Raises `ItemError` when it cannot be read, is no JSON, or holds no technique.
    """
    where = places.shown(path)
    if os.path.isdir(places.locate(path, workspace)):
        objects = list(_folder(path, workspace, diagnostics))
    else:
        text = places.read_text(path, workspace=workspace, diagnostics=diagnostics)
        objects = _objects(text, where)
    index = stix.techniques(thing for thing in objects if "type" in thing)
    for thing in objects:
        record = _simple(thing)
        if record is not None:
            index.setdefault(record["technique_id"], record)
    if not index:
        expected = "expected a STIX 2 bundle, a folder of them, or a list of techniques"
        raise ItemError(f"holds no technique; {expected}", where=where)
    return index


def find(index: Index, technique_id: str, *, diagnostics: Diagnostics) -> Item:
    """Return the technique with this id (`T1003`, `T1003.001`, any case) as an item.

    In the place of a revoked technique comes its successor; that, and a deprecated one, is said.
    The kind is `mitre_attack`, the content the description without citations. Metadata:
    `technique_id full_name parent_id tactics tools mitigations platforms url`.

    Raises `ItemError` for an unknown id, with the nearest.
    """
    wanted = technique_id.strip().upper()
    record = index.get(wanted)
    if record is None:
        message = f"no technique {quote(technique_id)}{_hint(index, wanted)}"
        raise ItemError(message, field="technique")
    seen = {wanted}  # a damaged file may let two techniques revoke each other
    while record["revoked"] and record["revoked_by"] in index and record["revoked_by"] not in seen:
        successor = record["revoked_by"]
        message = f"{record['technique_id']} was revoked; {successor} took its place"
        diagnostics.add("PF607", message, item=successor)
        seen.add(successor)
        record = index[successor]
    known = record["technique_id"]
    for state in ("revoked", "deprecated"):
        if record[state]:
            diagnostics.add("PF607", f"{known} is {state}", item=known)
    return Item(
        kind="mitre_attack",
        name=record["name"],
        content=prose(record["description"]),
        metadata={key: record[key] for key in _METADATA if record[key] is not None},
    )


def _hint(index: Index, wanted: str) -> str:
    named = [key for key, each in index.items() if str(each["name"]).upper() == wanted]
    near = named or difflib.get_close_matches(wanted[:40], sorted(index), n=1, cutoff=0.8)
    if near:
        return f"; did you mean {quote(near[0])}?"
    return f"; there are {len(index):,}, such as {min(index)}"


def load(
    technique_id: str,
    *,
    attack: str | os.PathLike[str],
    workspace: str | os.PathLike[str],
    diagnostics: Diagnostics,
) -> Item:
    """Return one technique from a file or folder; for several, `read` once and `find` each."""
    index = read(attack, workspace=workspace, diagnostics=diagnostics)
    return find(index, technique_id, diagnostics=diagnostics)


def prose(description: str) -> str:
    """Return a description as markdown: no citation marks, links as mere text, `code`."""
    text = _LINK.sub(r"\1", _CITATION.sub("", description))
    return _CODE.sub(r"`\1`", text).strip()


def _folder(
    path: str | os.PathLike[str], workspace: str | os.PathLike[str], diagnostics: Diagnostics
) -> Iterator[dict[str, Any]]:
    """Yield the objects of all JSON files below a folder; links to folders are not followed."""
    top = places.locate(path, workspace)
    count = 0

    def unread(error: OSError) -> None:
        where = places.shown(error.filename or top)
        diagnostics.add("PF601", f"skipped: {reason(error)}", where=where)

    for folder, names, files in os.walk(top, onerror=unread):
        names.sort()
        for name in sorted(files):
            if not name.lower().endswith((".json", ".jsonl")):
                continue
            count += 1
            if count > MAX_FILES:
                message = f"more than {MAX_FILES} files; the rest is left out"
                diagnostics.add("PF602", message, where=places.shown(path))
                return
            relative = os.path.relpath(os.path.join(folder, name), top)
            try:
                # The folder is the workspace here: a link in it may not lead out.
                text = places.read_text(relative, workspace=top, diagnostics=diagnostics)
                yield from _objects(text, places.shown(relative))
            except ItemError as exc:
                diagnostics.add("PF601", f"skipped: {exc.bare}", where=exc.where)


def _objects(text: str, where: str) -> list[dict[str, Any]]:
    """Return the objects of a bundle, `{"techniques": […]}`, a list, one object, or one a line."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as exc:
        if exc.msg == "Extra data" and text.lstrip()[:1] == "{":
            return [thing for line in _lines(text, where) for thing in _flat(line)]
        message = f"not valid JSON: {exc.msg} (column {exc.colno})"
        raise ItemError(message, where=f"{where}:{exc.lineno}") from None
    except (ValueError, RecursionError):
        message = "not valid JSON: nested too deeply, or a number of too many digits"
        raise ItemError(message, where=where) from None
    return _flat(value)


def _lines(text: str, where: str) -> Iterator[Any]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError) as exc:
                reason = getattr(exc, "msg", "too deep or too long")
                raise ItemError(f"not valid JSON: {reason}", where=f"{where}:{number}") from None


def _flat(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        lists = [value[key] for key in ("objects", "techniques") if key in value]
        value = next((inner for inner in lists if isinstance(inner, list)), [value])
    if not isinstance(value, list):
        return []
    return [thing for thing in value if isinstance(thing, dict)]


def _simple(thing: dict[str, Any]) -> dict[str, Any] | None:
    """Return the record of a technique in plain JSON, not STIX; `None` for anything else."""
    ids = (thing.get(key) for key in ("technique_id", "external_id", "id"))
    given = next((one for one in ids if isinstance(one, str)), "")
    if not _ID.fullmatch(given) or not isinstance(thing.get("name"), str):
        return None
    plain = plaindata.copy(thing, lambda change: None)

    def names(*keys: str) -> list[str]:
        return next((found for key in keys if (found := shapes.texts(plain.get(key)))), [])

    def text(key: str) -> str | None:
        value = plain.get(key)
        return value if isinstance(value, str) else None

    return {
        "technique_id": given.upper(),
        "name": plain["name"],
        "full_name": text("full_name") or plain["name"],
        "parent_id": text("parent_id"),
        "description": text("description") or "",
        "tactics": names("tactics", "tactic"),
        "tools": names("tools", "related_tools"),
        "mitigations": names("mitigations", "mitigation"),
        "platforms": names("platforms"),
        "url": text("url"),
        "revoked": plain.get("revoked") is True,
        "deprecated": plain.get("deprecated") is True or plain.get("x_mitre_deprecated") is True,
        "revoked_by": text("revoked_by"),
    }
