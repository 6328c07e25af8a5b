"""Compare two builds: finished results, saved ones, or their manifests alone."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from ..errors import Diagnostic
from ..model import Result


class BuildItem(msgspec.Struct, frozen=True, kw_only=True):
    """One item of a build; see `ResultItem`."""

    id: str
    status: str
    tokens: int
    kind: str = "text"
    name: str | None = None
    path: str | None = None
    start_line: int | None = None
    end_line: int | None = None
    form: str | None = None
    text: str = ""
    reason: str = ""


class PartDigest(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a prompt, by its hash."""

    name: str
    sha256: str


class PromptPrefix(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a prompt in order, and the end of its cached prefix; see `Prompt.manifest`."""

    parts: list[PartDigest] = []
    after: str | None = None
    sha256: str | None = None


class BuildManifest(msgspec.Struct, frozen=True, kw_only=True):
    """The inputs of a build; see `Result.manifest`."""

    promptforge: str = ""
    options: dict[str, Any] = {}
    profile: dict[str, Any] = {}
    templates: dict[str, str] = {}
    tokenizer: dict[str, Any] = {}
    items: list[str] = []
    prefix: PromptPrefix | None = None
    """`None` but for a whole prompt."""


class SavedPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a whole prompt that are compared."""

    text: str
    tokens: int
    manifest: BuildManifest
    context: Build | None = None
    warnings: list[Diagnostic] = []

    @property
    def build(self) -> Build:
        """The prompt as a build, with the items of its context."""
        names = ("text", "tokens", "manifest", "warnings")
        own: dict[str, Any] = {name: getattr(self, name) for name in names}
        if self.context is None:
            return Build(items=[], **own)
        return replace(self.context, **own)


class Build(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a result that are compared."""

    text: str
    tokens: int
    items: list[BuildItem]
    sources: list[dict[str, Any]] = []
    manifest: BuildManifest = msgspec.field(default_factory=BuildManifest)
    warnings: list[Diagnostic] = []


class FieldDifference(msgspec.Struct, frozen=True, kw_only=True):
    """One difference: the values in A and in B, `None` if absent."""

    name: str
    a: Any
    b: Any


class ItemChange(msgspec.Struct, frozen=True, kw_only=True):
    """One item in both builds."""

    how: str
    """`same`, `changed` (another variant or text), `only A`, `only B` or `neither`."""
    a: BuildItem | None
    """`None` if it was not given."""
    b: BuildItem | None
    delta: int


class BuildDiagnostic(msgspec.Struct, frozen=True, kw_only=True):
    """One diagnostic of A, of B, or of both."""

    sides: list[str]
    said: Diagnostic


class CommonPrefix(msgspec.Struct, frozen=True, kw_only=True):
    """The common beginning of two prompts."""

    same: list[str]
    first: str | None
    """The first other part, named as in A, or as in B if A has no more; `None` if all are equal."""
    cached: bool | None
    """True if the cached prefixes are equal; `None` if a prompt marks none."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """The differences of two builds A and B."""

    differs: bool
    """True if the text or an item differs; of manifests alone, if anything does."""
    figures: list[FieldDifference]
    """`tokens`, `characters`, and items `in`, `cut` and `out`, equal ones too."""
    items: list[ItemChange]
    moved: bool
    options: list[FieldDifference]
    profile: list[FieldDifference]
    templates: list[FieldDifference]
    tokenizer: list[FieldDifference]
    given: list[FieldDifference]
    prefix: CommonPrefix | None
    """`None` but for two whole prompts."""
    warnings: list[BuildDiagnostic]


def build_from_result(result: Result) -> Build:
    """Return a result as a build."""
    kept = ("text", "tokens", "sources", "manifest", "warnings")
    facts = {name: getattr(result, name) for name in kept}
    names = BuildItem.__struct_fields__
    facts["items"] = [{name: getattr(item, name) for name in names} for item in result.items]
    # Through JSON, as a saved build comes: it has lists for tuples.
    return msgspec.convert(json.loads(json.dumps(msgspec.to_builtins(facts))), Build)


def compare_builds(a: Build | BuildManifest, b: Build | BuildManifest) -> Difference:
    """Compare two builds; a manifest alone tells only the inputs."""
    ours, theirs = (side.manifest if isinstance(side, Build) else side for side in (a, b))
    made_of: dict[str, Any] = {
        "options": _pairs(ours.options, theirs.options),
        "profile": _pairs(_flat(ours.profile), _flat(theirs.profile)),
        "templates": _pairs(ours.templates, theirs.templates),
        "tokenizer": _pairs(ours.tokenizer, theirs.tokenizer),
        "given": _pairs(Counter(ours.items), Counter(theirs.items)),
    }
    differs = any(made_of.values())
    made_of["prefix"] = _common_prefix(ours.prefix, theirs.prefix)
    made_of["warnings"] = compare_diagnostics(*(getattr(side, "warnings", ()) for side in (a, b)))
    if not isinstance(a, Build) or not isinstance(b, Build):
        return Difference(differs=differs, figures=[], items=[], moved=False, **made_of)
    keyed_a, keyed_b = _keyed(a.items), _keyed(b.items)
    items = [_change(keyed_a.get(key), keyed_b.get(key)) for key in keyed_a | keyed_b]
    figures_b = _figures(b)
    # What stands in one text alone has not moved.
    places_a, places_b = ([source.get("id") for source in side.sources] for side in (a, b))
    both = {*places_a} & {*places_b}
    return Difference(
        differs=a.text != b.text or any(item.how not in ("same", "neither") for item in items),
        figures=[
            FieldDifference(name=name, a=value, b=figures_b[name])
            for name, value in _figures(a).items()
        ],
        items=items,
        moved=[id_ for id_ in places_a if id_ in both] != [id_ for id_ in places_b if id_ in both],
        **made_of,
    )


def compare_diagnostics(a: Iterable[Diagnostic], b: Iterable[Diagnostic]) -> list[BuildDiagnostic]:
    """Return the diagnostics of both builds, each once with its sides."""
    sides: dict[Diagnostic, list[str]] = {}
    for side, all_said in (("A", a), ("B", b)):
        for said in dict.fromkeys(all_said):
            sides.setdefault(said, []).append(side)
    return [BuildDiagnostic(sides=of, said=said) for said, of in sides.items()]


def _common_prefix(a: PromptPrefix | None, b: PromptPrefix | None) -> CommonPrefix | None:
    if a is None or b is None:
        return None
    # A cache serves the common beginning, up to the first part that differs.
    length = 0
    while length < min(len(a.parts), len(b.parts)) and a.parts[length] == b.parts[length]:
        length += 1
    others = [part.name for part in (*a.parts[length:], *b.parts[length:])]
    cached = a.sha256 == b.sha256 if a.sha256 and b.sha256 else None
    same = [part.name for part in a.parts[:length]]
    return CommonPrefix(same=same, first=next(iter(others), None), cached=cached)


def _figures(build: Build) -> dict[str, int]:
    statuses = Counter(item.status for item in build.items)
    return {
        "tokens": build.tokens,
        "characters": len(build.text),
        "in": statuses["included"],
        "cut": statuses["trimmed"],
        "out": statuses["dropped"],
    }


def _flat(profile: Mapping[str, Any]) -> dict[str, Any]:
    """Return the name of a profile, and beside it the hash of each of its files."""
    flat = {name: value for name, value in profile.items() if name != "files"}
    files = profile.get("files")
    if isinstance(files, dict):
        flat |= {f"{name}.yaml": value for name, value in files.items()}
    return flat


def _pairs(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[FieldDifference]:
    pairs = [FieldDifference(name=name, a=a.get(name), b=b.get(name)) for name in {**a, **b}]
    return [pair for pair in pairs if pair.a != pair.b]


def _keyed(items: Sequence[BuildItem]) -> dict[tuple[str, int], BuildItem]:
    """Key items by id and number, because several may share an id."""
    seen: Counter[str] = Counter()
    keyed = {}
    for item in items:
        seen[item.id] += 1
        keyed[item.id, seen[item.id]] = item
    return keyed


def _change(a: BuildItem | None, b: BuildItem | None) -> ItemChange:
    shown_a, shown_b = _shown(a), _shown(b)
    how = "changed"
    if not shown_a and not shown_b:
        how = "neither"
    elif not shown_b:
        how = "only A"
    elif not shown_a:
        how = "only B"
    elif shown_a == shown_b:
        how = "same"
    tokens_a, tokens_b = (item.tokens if item else 0 for item in (a, b))
    return ItemChange(how=how, a=a, b=b, delta=tokens_b - tokens_a)


def _shown(item: BuildItem | None) -> tuple[Any, ...]:
    if item is None or item.status == "dropped":
        return ()
    return item.form, item.text, item.tokens
