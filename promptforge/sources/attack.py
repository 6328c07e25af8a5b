"""Load ATT&CK techniques by id, from a STIX 2 bundle, a folder of these, or plain JSON or JSONL.

A technique is a plain record: `technique_id name full_name description tactics tools mitigations
platforms url parent_id revoked deprecated revoked_by`; lists hold names.

Codes: PF601 a file that cannot be read, PF602 too many files, PF607 a technique that was revoked or
deprecated.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from ..errors import Diagnostics, ItemError, quote
from ..files.access import Access, StrPath, show_path, system_reason
from ..model import Item
from ..plain_data import copy_plain
from ..text.words import late_pattern
from .item_files import explain_json_error
from .readers import names_in
from .workspace import read_text

MAX_ATTACK_FILES = 200_000
_Object = dict[str, Any]
TechniqueIndex = dict[str, _Object]
"""Technique records by their id (`T1003.001`)."""
_SMALL_WORDS = {"And": "and", "Or": "or", "Of": "of"}
_METADATA = (
    *("technique_id", "full_name", "parent_id", "tactics", "tools", "mitigations", "platforms"),
    "url",
)
_ID = late_pattern(r"[A-Za-z]{1,4}[0-9]{1,6}(\.[0-9]{1,4})?")
# `(Citation: Name (2020))` and the blank before it; possessive, so that no text makes it slow.
_CITATION = late_pattern(r"[ \t]?\(Citation:(?:[^()]++|\([^()]*+\)){0,99}+\)")
_LINK = late_pattern(r"\[([^\[\]\n]++)\]\((?:https?://|/)(?:[^()\s]++|\([^()\s]*+\)){0,99}+\)")
_CODE = late_pattern(r"<code>([^<`]*+)</code>")


def read_attack(path: StrPath, *, workspace: StrPath, diagnostics: Diagnostics) -> TechniqueIndex:
    """Return the techniques in a file or folder the user named, for any number of look-ups.

    Raises `ItemError` when it cannot be read, is no JSON, or holds no technique.
    """
    where = show_path(path)
    if os.path.isdir(Access.of(workspace).locate(path)):
        objects = list(_read_folder(path, workspace, diagnostics))
    else:
        text = read_text(path, workspace=workspace, diagnostics=diagnostics, whole=True)
        objects = _objects(text, where)
    index = _Collection(objects).techniques()
    for thing in objects:
        record = _read_plain(thing)
        if record is not None:
            index.setdefault(record["technique_id"], record)
    if not index:
        expected = "expected a STIX 2 bundle, a folder of them, or a list of techniques"
        raise ItemError(f"holds no technique; {expected}", where=where)
    return index


def find_technique(index: TechniqueIndex, technique_id: str, *, diagnostics: Diagnostics) -> Item:
    """Return the technique with this id (`T1003`, `T1003.001`) or name, in any case, as an item.

    In the place of a revoked technique comes its successor; that, and a deprecated one, is said.
    The kind is `mitre_attack`, the content the description without citations. Metadata:
    `technique_id full_name parent_id tactics tools mitigations platforms url`.

    Raises `ItemError` for an unknown id, with the nearest, and for a name of several techniques.
    """
    wanted = technique_id.strip().upper()
    record = index.get(wanted) or _find_name(index, wanted)
    if record is None:
        message = f"no technique {quote(technique_id)}{_hint(index, wanted)}"
        raise ItemError(message, field="technique")
    seen = {record["technique_id"]}  # a damaged file may let two techniques revoke each other
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


def _find_name(index: TechniqueIndex, wanted: str) -> _Object | None:
    """Return the technique of a name; techniques in force come before others."""
    titles = ("name", "full_name")
    named = [each for each in index.values() if wanted in {str(each[t]).upper() for t in titles}]
    live = [each for each in named if not each["revoked"] and not each["deprecated"]] or named
    if len(live) > 1:
        known = ", ".join(sorted(each["technique_id"] for each in live))
        message = f"{quote(wanted.title())} is the name of several techniques: {known}"
        raise ItemError(f"{message}; use the id", field="technique")
    return live[0] if live else None


def _hint(index: TechniqueIndex, wanted: str) -> str:
    from difflib import get_close_matches  # late: most techniques are found

    titles = {str(each["name"])[:80].upper(): str(each["name"]) for each in index.values()}
    near = get_close_matches(wanted[:40], [*sorted(index), *titles], n=1, cutoff=0.8)
    if not near and len(wanted) > 3:  # "LSASS", of "LSASS Memory"
        near = sorted(title for title in titles if wanted in title)[:1]
    if near:
        return f"; did you mean {quote(titles.get(near[0], near[0]))}?"
    return f"; there are {len(index):,}, such as {min(index)}"


def plain_description(description: str) -> str:
    """Return a description as markdown: no citation marks, links as mere text, `code`."""
    text = _LINK.sub(r"\1", _CITATION.sub("", description))
    return _CODE.sub(r"`\1`", text).strip()


def _read_folder(path: StrPath, workspace: StrPath, diagnostics: Diagnostics) -> Iterator[_Object]:
    """Yield the objects of all JSON files below a folder; links to folders are not followed."""
    top = Access.of(workspace).locate(path)
    count = 0

    def skip(error: OSError) -> None:
        where = show_path(error.filename or top)
        diagnostics.add("PF601", f"skipped: {system_reason(error)}", where=where)

    for folder, names, files in os.walk(top, onerror=skip):
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
                text = read_text(relative, workspace=top, diagnostics=diagnostics, whole=True)
                yield from _objects(text, show_path(relative))
            except ItemError as exc:
                diagnostics.add("PF601", f"skipped: {exc.bare}", where=exc.where)


def _objects(text: str, where: str) -> list[_Object]:
    """Return the objects of a bundle, `{"techniques": […]}`, a list, one object, or one a line."""
    line = 1
    try:
        try:
            values = [json.loads(text)]
        except json.JSONDecodeError as exc:
            line = exc.lineno
            if exc.msg != "Extra data" or text.lstrip()[:1] != "{":
                raise
            values = []
            for line, each in enumerate(text.split("\n"), 1):  # noqa: B007  told when it fails
                if each.strip():
                    values.append(json.loads(each))
    except (ValueError, RecursionError) as exc:
        message = f"not valid JSON: {explain_json_error(exc)}"
        raise ItemError(message, where=f"{where}:{line}") from None
    found: list[_Object] = []
    for value in values:
        if isinstance(value, dict):
            lists = [value.get(key) for key in ("objects", "techniques")]
            value = next((inner for inner in lists if isinstance(inner, list)), [value])
        if isinstance(value, list):
            found += [thing for thing in value if isinstance(thing, dict)]
    return found


def _read_plain(thing: _Object) -> _Object | None:
    """Return the record of a technique in plain JSON, not STIX; `None` for anything else."""
    ids = (thing.get(key) for key in ("technique_id", "external_id", "id"))
    given = next((one for one in ids if isinstance(one, str)), "")
    if not _ID.fullmatch(given) or not isinstance(thing.get("name"), str):
        return None
    plain = copy_plain(thing)

    def names(key: str, other: str = "") -> list[str]:
        return names_in(plain.get(key)) or names_in(plain.get(other))

    return {
        "technique_id": given.upper(),
        "name": plain["name"],
        "full_name": _text(plain.get("full_name")) or plain["name"],
        "parent_id": _text(plain.get("parent_id")) or None,
        "description": _text(plain.get("description")),
        "tactics": names("tactics", "tactic"),
        "tools": names("tools", "related_tools"),
        "mitigations": names("mitigations", "mitigation"),
        "platforms": names("platforms"),
        "url": _text(plain.get("url")) or None,
        "revoked": plain.get("revoked") is True,
        "deprecated": plain.get("deprecated") is True or plain.get("x_mitre_deprecated") is True,
        "revoked_by": _text(plain.get("revoked_by")) or None,
    }


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _attack_reference(thing: _Object, field: str = "external_id") -> str:
    """Return the id (or `url`) in an object's reference to ATT&CK, or an empty text."""
    for ref in _list(thing.get("external_references")):
        if isinstance(ref, dict) and str(ref.get("source_name", "")).startswith("mitre"):
            return _text(ref.get(field))
    return ""


def _is_in_force(thing: _Object) -> bool:
    return thing.get("revoked") is not True and thing.get("x_mitre_deprecated") is not True


class _Collection:
    """STIX objects by id, with the relationships between them; malformed ones are passed over."""

    def __init__(self, objects: list[_Object]) -> None:
        self._by_id: dict[str, _Object] = {}
        self._sources: dict[tuple[str, str], list[str]] = defaultdict(list)
        """(kind of relationship, id of the target) → ids of the sources."""
        self._targets: dict[tuple[str, str], list[str]] = defaultdict(list)
        for thing in objects:
            if thing.get("type") != "relationship":
                self._by_id[_text(thing.get("id"))] = thing
            elif _is_in_force(thing):
                keys = ("relationship_type", "source_ref", "target_ref")
                kind, source, target = (_text(thing.get(key)) for key in keys)
                self._sources[kind, target].append(source)
                self._targets[kind, source].append(target)
        self._objects = objects
        # ATT&CK's order of tactics is the matrix's; a bundle of one domain has one matrix.
        self._tactics = {_text(t.get("x_mitre_shortname")): t for t in self._of("x-mitre-tactic")}
        self._order: dict[str, int] = {}
        for matrix in self._of("x-mitre-matrix"):
            ranks = {_text(ref): n for n, ref in enumerate(_list(matrix.get("tactic_refs"))) if ref}
            for name, tactic in self._tactics.items():
                known = _text(tactic.get("id"))
                if known in ranks:
                    self._order[name] = ranks[known]

    def _of(self, kind: str) -> Iterator[_Object]:
        return (thing for thing in self._objects if thing.get("type") == kind)

    def techniques(self) -> TechniqueIndex:
        found: TechniqueIndex = {}
        for pattern in self._of("attack-pattern"):
            known = _attack_reference(pattern).upper()
            # An id may be there twice, revoked and in force: the one in force wins.
            if not known or not isinstance(pattern.get("name"), str):
                continue
            if known not in found or found[known]["revoked"] or found[known]["deprecated"]:
                found[known] = self._record(known, pattern)
        return found

    def _record(self, known: str, pattern: _Object) -> _Object:
        own, name = _text(pattern.get("id")), pattern["name"]
        parent = self._first_target("subtechnique-of", own)
        parent_name = _text(parent.get("name"))
        return {
            "technique_id": known,
            "name": name,
            "full_name": f"{parent_name}: {name}" if parent_name else name,
            "parent_id": _attack_reference(parent) or known.rpartition(".")[0] or None,
            "description": _text(pattern.get("description")),
            "tactics": self._tactic_names(pattern),
            "tools": self._source_names("uses", own, "tool"),
            "mitigations": self._source_names("mitigates", own, "course-of-action"),
            "platforms": [p for p in _list(pattern.get("x_mitre_platforms")) if isinstance(p, str)],
            "url": _attack_reference(pattern, "url") or None,
            "revoked": pattern.get("revoked") is True,
            "deprecated": pattern.get("x_mitre_deprecated") is True,
            "revoked_by": _attack_reference(self._first_target("revoked-by", own)).upper() or None,
        }

    def _source_names(self, kind: str, target: str, wanted: str) -> list[str]:
        things = (self._by_id.get(ref, {}) for ref in self._sources.get((kind, target), ()))
        live = (t for t in things if t.get("type") == wanted and _is_in_force(t))
        return sorted({_text(t.get("name")) for t in live} - {""})

    def _first_target(self, kind: str, source: str) -> _Object:
        refs = self._targets.get((kind, source), ())
        return next((self._by_id[ref] for ref in refs if ref in self._by_id), {})

    def _tactic_names(self, pattern: _Object) -> list[str]:
        names = {
            _text(phase.get("phase_name"))
            for phase in _list(pattern.get("kill_chain_phases"))
            if isinstance(phase, dict) and str(phase.get("kill_chain_name", "")).startswith("mitre")
        }
        # Tactics that the matrix does not know, or all without one, come last, by name.
        ordered = sorted(names - {""}, key=lambda n: (self._order.get(n, len(self._order)), n))
        return [
            _text(self._tactics.get(name, {}).get("name")) or _tactic_title(name)
            for name in ordered
        ]


def _tactic_title(name: str) -> str:
    """Return a tactic's name: `command-and-control` → `Command and Control`."""
    words = [word.capitalize() for word in name.split("-")]
    return " ".join(_SMALL_WORDS.get(word, word) for word in words)
