"""Load ATT&CK techniques by id, from a STIX bundle, a folder of these, or plain JSON or JSONL.

Codes: PF601 a file that cannot be read, PF607 a technique that was revoked or deprecated.

Turn STIX 2 objects into plain records of techniques, with names for tactics, tools and so on.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from ..errors import Diagnostics, ItemError, quote
from ..model import Item
from ..plaindata import copy_plain
from .records import names_in
from .workspace import locate_file, read_text, show_path, system_reason

StixObject = dict[str, Any]

# ATT&CK's tactics in order, for a collection without a matrix (attack.mitre.org/tactics).
_ORDER = (
    *("reconnaissance", "resource-development", "initial-access", "execution", "persistence"),
    *("privilege-escalation", "defense-evasion", "evasion", "credential-access", "discovery"),
    *("lateral-movement", "collection", "command-and-control", "exfiltration"),
    *("inhibit-response-function", "impair-process-control", "impact"),
)

_SMALL_WORDS = {"And": "and", "Or": "or", "Of": "of"}


def stix_techniques(objects: Iterable[StixObject]) -> dict[str, StixObject]:
    """Return technique records by their id (`T1003.001`).

    Each has `technique_id name full_name description tactics tools mitigations platforms url
    parent_id revoked deprecated revoked_by`; lists hold names. Objects of other types, and
    malformed ones, are passed over.
    """
    collection = _Collection(objects)
    found: dict[str, StixObject] = {}
    for pattern in collection.patterns:
        record = collection.record(pattern)
        known = found.get(record["technique_id"])
        # A collection may hold an id twice, revoked and in force: the one in force wins.
        if known is None or (known["revoked"] or known["deprecated"]):
            found[record["technique_id"]] = record
    return found


def attack_reference(thing: StixObject, field: str = "external_id") -> str:
    """Return the id (or `url`) in an object's reference to ATT&CK, or an empty text."""
    for ref in _list(thing.get("external_references")):
        if isinstance(ref, dict) and str(ref.get("source_name", "")).startswith("mitre"):
            return _text(ref.get(field))
    return ""


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_gone(thing: StixObject) -> bool:
    return thing.get("revoked") is True or thing.get("x_mitre_deprecated") is True


class _Collection:
    """The objects by id, with the relationships between them."""

    def __init__(self, objects: Iterable[StixObject]) -> None:
        self._by_id: dict[str, StixObject] = {}
        self._pointing: dict[tuple[str, str], list[str]] = defaultdict(list)
        self._pointed: dict[tuple[str, str], list[str]] = defaultdict(list)
        self.patterns: list[StixObject] = []
        order = {name: rank for rank, name in enumerate(_ORDER)}
        tactics: dict[str, StixObject] = {}
        matrices: list[StixObject] = []
        for thing in objects:
            kind = thing.get("type")
            if kind == "relationship":
                self._relate(thing)
                continue
            self._by_id[_text(thing.get("id"))] = thing
            if (
                kind == "attack-pattern"
                and attack_reference(thing)
                and isinstance(thing.get("name"), str)
            ):
                self.patterns.append(thing)
            elif kind == "x-mitre-tactic":
                tactics[_text(thing.get("x_mitre_shortname"))] = thing
            elif kind == "x-mitre-matrix":
                matrices.append(thing)
        for matrix in matrices:
            refs = enumerate(_list(matrix.get("tactic_refs")))
            ranks = {ref: rank for rank, ref in refs if isinstance(ref, str)}
            for short, tactic in tactics.items():
                if (known := _text(tactic.get("id"))) in ranks:
                    order[short] = ranks[known]
        self._order = order
        self._tactics = {short: _text(t.get("name")) for short, t in tactics.items()}

    def _relate(self, thing: StixObject) -> None:
        keys = ("relationship_type", "source_ref", "target_ref")
        kind, source, target = (_text(thing.get(key)) for key in keys)
        if kind and not _is_gone(thing):
            self._pointing[kind, target].append(source)
            self._pointed[kind, source].append(target)

    def _names(self, kind: str, target: str, wanted: str) -> list[str]:
        things = (self._by_id.get(ref, {}) for ref in self._pointing.get((kind, target), ()))
        live = (t for t in things if t.get("type") == wanted and not _is_gone(t))
        return sorted({_text(t.get("name")) for t in live} - {""})

    def _first(self, kind: str, source: str) -> StixObject:
        refs = self._pointed.get((kind, source), ())
        return next((self._by_id[ref] for ref in refs if ref in self._by_id), {})

    def _tactic_names(self, pattern: StixObject) -> list[str]:
        names = {
            _text(phase.get("phase_name"))
            for phase in _list(pattern.get("kill_chain_phases"))
            if isinstance(phase, dict) and str(phase.get("kill_chain_name", "")).startswith("mitre")
        }
        ordered = sorted(names - {""}, key=lambda n: (self._order.get(n, len(self._order)), n))
        return [self._tactics.get(name) or tactic_title(name) for name in ordered]

    def record(self, pattern: StixObject) -> StixObject:
        own, name, known = (
            _text(pattern.get("id")),
            str(pattern["name"]),
            attack_reference(pattern).upper(),
        )
        parent = self._first("subtechnique-of", own)
        parent_name = _text(parent.get("name"))
        return {
            "technique_id": known,
            "name": name,
            "full_name": f"{parent_name}: {name}" if parent_name else name,
            "parent_id": attack_reference(parent) or known.rpartition(".")[0] or None,
            "description": _text(pattern.get("description")),
            "tactics": self._tactic_names(pattern),
            "tools": self._names("uses", own, "tool"),
            "mitigations": self._names("mitigates", own, "course-of-action"),
            "platforms": [p for p in _list(pattern.get("x_mitre_platforms")) if isinstance(p, str)],
            "url": attack_reference(pattern, "url") or None,
            "revoked": pattern.get("revoked") is True,
            "deprecated": pattern.get("x_mitre_deprecated") is True,
            "revoked_by": attack_reference(self._first("revoked-by", own)).upper() or None,
        }


def tactic_title(shortname: str) -> str:
    """Return a tactic's name: `command-and-control` → `Command and Control`."""
    words = [word.capitalize() for word in shortname.split("-")]
    return " ".join(_SMALL_WORDS.get(word, word) for word in words)


MAX_ATTACK_FILES = 200_000
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

TechniqueIndex = dict[str, dict[str, Any]]
"""Technique records by their id, as `stix.techniques` makes them."""


def read_attack(
    path: str | os.PathLike[str], *, workspace: str | os.PathLike[str], diagnostics: Diagnostics
) -> TechniqueIndex:
    """Return the techniques in a file or folder the user named, for any number of `find`.

    Raises `ItemError` when it cannot be read, is no JSON, or holds no technique.
    """
    where = show_path(path)
    if os.path.isdir(locate_file(path, workspace)):
        objects = list(_folder(path, workspace, diagnostics))
    else:
        text = read_text(path, workspace=workspace, diagnostics=diagnostics)
        objects = _objects(text, where)
    index = stix_techniques(thing for thing in objects if "type" in thing)
    for thing in objects:
        record = _simple(thing)
        if record is not None:
            index.setdefault(record["technique_id"], record)
    if not index:
        expected = "expected a STIX 2 bundle, a folder of them, or a list of techniques"
        raise ItemError(f"holds no technique; {expected}", where=where)
    return index


def find_technique(index: TechniqueIndex, technique_id: str, *, diagnostics: Diagnostics) -> Item:
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
        content=plain_description(record["description"]),
        metadata={key: record[key] for key in _METADATA if record[key] is not None},
    )


def _hint(index: TechniqueIndex, wanted: str) -> str:
    named = [key for key, each in index.items() if str(each["name"]).upper() == wanted]
    near = named or difflib.get_close_matches(wanted[:40], sorted(index), n=1, cutoff=0.8)
    if near:
        return f"; did you mean {quote(near[0])}?"
    return f"; there are {len(index):,}, such as {min(index)}"


def load_technique(
    technique_id: str,
    *,
    attack: str | os.PathLike[str],
    workspace: str | os.PathLike[str],
    diagnostics: Diagnostics,
) -> Item:
    """Return one technique from a file or folder; for several, `read` once and `find` each."""
    index = read_attack(attack, workspace=workspace, diagnostics=diagnostics)
    return find_technique(index, technique_id, diagnostics=diagnostics)


def plain_description(description: str) -> str:
    """Return a description as markdown: no citation marks, links as mere text, `code`."""
    text = _LINK.sub(r"\1", _CITATION.sub("", description))
    return _CODE.sub(r"`\1`", text).strip()


def _folder(
    path: str | os.PathLike[str], workspace: str | os.PathLike[str], diagnostics: Diagnostics
) -> Iterator[dict[str, Any]]:
    """Yield the objects of all JSON files below a folder; links to folders are not followed."""
    top = locate_file(path, workspace)
    count = 0

    def unread(error: OSError) -> None:
        where = show_path(error.filename or top)
        diagnostics.add("PF601", f"skipped: {system_reason(error)}", where=where)

    for folder, names, files in os.walk(top, onerror=unread):
        names.sort()
        for name in sorted(files):
            if not name.lower().endswith((".json", ".jsonl")):
                continue
            count += 1
            if count > MAX_ATTACK_FILES:
                message = f"more than {MAX_ATTACK_FILES} files; the rest is left out"
                diagnostics.add("PF602", message, where=show_path(path))
                return
            relative = os.path.relpath(os.path.join(folder, name), top)
            try:
                # The folder is the workspace here: a link in it may not lead out.
                text = read_text(relative, workspace=top, diagnostics=diagnostics)
                yield from _objects(text, show_path(relative))
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
    plain = copy_plain(thing, lambda change: None)

    def names(*keys: str) -> list[str]:
        return next((found for key in keys if (found := names_in(plain.get(key)))), [])

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
