"""Turn STIX 2 objects into plain records of techniques, with names for tactics, tools and so on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

Stix = dict[str, Any]

# ATT&CK's tactics in order, for a collection without a matrix (attack.mitre.org/tactics).
_ORDER = (
    *("reconnaissance", "resource-development", "initial-access", "execution", "persistence"),
    *("privilege-escalation", "defense-evasion", "evasion", "credential-access", "discovery"),
    *("lateral-movement", "collection", "command-and-control", "exfiltration"),
    *("inhibit-response-function", "impair-process-control", "impact"),
)
_SMALL_WORDS = {"And": "and", "Or": "or", "Of": "of"}


def techniques(objects: Iterable[Stix]) -> dict[str, Stix]:
    """Return technique records by their id (`T1003.001`).

    Each has `technique_id name full_name description tactics tools mitigations platforms url
    parent_id revoked deprecated revoked_by`; lists hold names. Objects of other types, and
    malformed ones, are passed over.
    """
    collection = _Collection(objects)
    found: dict[str, Stix] = {}
    for pattern in collection.patterns:
        record = collection.record(pattern)
        known = found.get(record["technique_id"])
        # A collection may hold an id twice, revoked and in force: the one in force wins.
        if known is None or (known["revoked"] or known["deprecated"]):
            found[record["technique_id"]] = record
    return found


def reference(thing: Stix, field: str = "external_id") -> str:
    """Return the id (or `url`) in an object's reference to ATT&CK, or an empty text."""
    for ref in _list(thing.get("external_references")):
        if isinstance(ref, dict) and str(ref.get("source_name", "")).startswith("mitre"):
            return _text(ref.get(field))
    return ""


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_gone(thing: Stix) -> bool:
    return thing.get("revoked") is True or thing.get("x_mitre_deprecated") is True


class _Collection:
    """The objects by id, with the relationships between them."""

    def __init__(self, objects: Iterable[Stix]) -> None:
        self._by_id: dict[str, Stix] = {}
        self._pointing: dict[tuple[str, str], list[str]] = defaultdict(list)
        self._pointed: dict[tuple[str, str], list[str]] = defaultdict(list)
        self.patterns: list[Stix] = []
        order = {name: rank for rank, name in enumerate(_ORDER)}
        tactics: dict[str, Stix] = {}
        matrices: list[Stix] = []
        for thing in objects:
            kind = thing.get("type")
            if kind == "relationship":
                self._relate(thing)
                continue
            self._by_id[_text(thing.get("id"))] = thing
            if kind == "attack-pattern" and reference(thing) and isinstance(thing.get("name"), str):
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

    def _relate(self, thing: Stix) -> None:
        keys = ("relationship_type", "source_ref", "target_ref")
        kind, source, target = (_text(thing.get(key)) for key in keys)
        if kind and not _is_gone(thing):
            self._pointing[kind, target].append(source)
            self._pointed[kind, source].append(target)

    def _names(self, kind: str, target: str, wanted: str) -> list[str]:
        things = (self._by_id.get(ref, {}) for ref in self._pointing.get((kind, target), ()))
        live = (t for t in things if t.get("type") == wanted and not _is_gone(t))
        return sorted({_text(t.get("name")) for t in live} - {""})

    def _first(self, kind: str, source: str) -> Stix:
        refs = self._pointed.get((kind, source), ())
        return next((self._by_id[ref] for ref in refs if ref in self._by_id), {})

    def _tactic_names(self, pattern: Stix) -> list[str]:
        names = {
            _text(phase.get("phase_name"))
            for phase in _list(pattern.get("kill_chain_phases"))
            if isinstance(phase, dict) and str(phase.get("kill_chain_name", "")).startswith("mitre")
        }
        ordered = sorted(names - {""}, key=lambda n: (self._order.get(n, len(self._order)), n))
        return [self._tactics.get(name) or title(name) for name in ordered]

    def record(self, pattern: Stix) -> Stix:
        own, name, known = (
            _text(pattern.get("id")),
            str(pattern["name"]),
            reference(pattern).upper(),
        )
        parent = self._first("subtechnique-of", own)
        parent_name = _text(parent.get("name"))
        return {
            "technique_id": known,
            "name": name,
            "full_name": f"{parent_name}: {name}" if parent_name else name,
            "parent_id": reference(parent) or known.rpartition(".")[0] or None,
            "description": _text(pattern.get("description")),
            "tactics": self._tactic_names(pattern),
            "tools": self._names("uses", own, "tool"),
            "mitigations": self._names("mitigates", own, "course-of-action"),
            "platforms": [p for p in _list(pattern.get("x_mitre_platforms")) if isinstance(p, str)],
            "url": reference(pattern, "url") or None,
            "revoked": pattern.get("revoked") is True,
            "deprecated": pattern.get("x_mitre_deprecated") is True,
            "revoked_by": reference(self._first("revoked-by", own)).upper() or None,
        }


def title(shortname: str) -> str:
    """Return a tactic's name: `command-and-control` → `Command and Control`."""
    words = [word.capitalize() for word in shortname.split("-")]
    return " ".join(_SMALL_WORDS.get(word, word) for word in words)
