"""Two builds side by side: which items each holds, in which form, for how many tokens, and what they were made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from .results import Result


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """What a build says of one item; see `ResultItem`."""

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
    fits_at: int | None = None


class PartHash(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a prompt, by its hash."""

    name: str
    sha256: str


class Prefix(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a prompt in their order, and how much of its beginning is to be cached; see `Prompt.manifest`."""

    parts: list[PartHash] = []
    after: str | None = None
    sha256: str | None = None


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a build was made of; see `Result.manifest`."""

    promptforge: str = ""
    options: dict[str, Any] = {}
    profile: dict[str, Any] = {}
    templates: dict[str, str] = {}
    tokenizer: dict[str, Any] = {}
    items: list[str] = []
    """A hash of each item that was given."""
    prefix: Prefix | None = None
    """Of a whole prompt alone."""


class SavedPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A whole prompt, as far as it can be compared."""

    text: str
    tokens: int
    manifest: Manifest
    context: Build | None = None

    @property
    def build(self) -> Build:
        """It as a build: the items are those of its context."""
        items = self.context.items if self.context is not None else []
        sources = self.context.sources if self.context is not None else []
        return Build(
            text=self.text, tokens=self.tokens, items=items, sources=sources, manifest=self.manifest
        )


class Build(msgspec.Struct, frozen=True, kw_only=True):
    """A result, as far as it can be compared."""

    text: str
    tokens: int
    items: list[Entry]
    sources: list[dict[str, Any]] = []
    manifest: Manifest = msgspec.field(default_factory=Manifest)


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that differs: as it is in A and in B, `None` where it is not there."""

    name: str
    a: Any
    b: Any


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One item in both builds."""

    how: str
    """`same`, `changed` (another form or text), `only A`, `only B`: on that page alone, `neither`."""
    a: Entry | None
    """`None` where it was not given."""
    b: Entry | None
    delta: int
    """Tokens that the item takes in B more than in A."""


class Beginning(msgspec.Struct, frozen=True, kw_only=True):
    """How far two prompts begin alike."""

    same: list[str]
    """The parts, from the first on, that are the same in both."""
    first: str | None
    """The first part that is not, as it is called in A, or in B where A has no more; `None` where all are the same."""
    cached: bool | None
    """Whether what both mark as their stable prefix is the same; `None` where one of them marks none."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """What differs between two builds A and B."""

    differs: bool
    """Whether the texts differ, or an item; of manifests alone: whether anything does."""
    figures: list[Pair]
    """`tokens`, `characters`, and items `in`, `cut` and `out`: all of them, whether they differ or not."""
    items: list[Change]
    """All items: those of A in its order, then those that only B was given."""
    moved: bool
    """Whether items that are on both pages stand in another order."""
    options: list[Pair]
    profile: list[Pair]
    templates: list[Pair]
    tokenizer: list[Pair]
    given: list[Pair]
    """Items that only one build was given, by their hashes."""
    prefix: Beginning | None
    """Of two whole prompts alone."""


def build_of(result: Result, *, brief: bool = False) -> Build:
    """Return a result as a build; if `brief`, without the budgets at which items come back."""
    names = ("text", "tokens", "sources", "manifest")
    facts = {name: getattr(result, name) for name in names}
    facts["items"] = result._get("brief") if brief else result.items
    return msgspec.convert(
        {name: _listed(msgspec.to_builtins(value)) for name, value in facts.items()}, Build
    )


def _listed(value: Any) -> Any:
    """Return `value` with lists for tuples, as it would come back from JSON."""
    if isinstance(value, dict):
        return {name: _listed(part) for name, part in value.items()}
    return [_listed(part) for part in value] if isinstance(value, list | tuple) else value


def compare(a: Build | Manifest, b: Build | Manifest) -> Difference:
    """Return what differs. Of a manifest alone nothing is known but what it was made of."""
    parts = [side.manifest if isinstance(side, Build) else side for side in (a, b)]
    made_of: dict[str, Any] = {
        "options": _pairs(parts[0].options, parts[1].options),
        "profile": _pairs(_flat(parts[0].profile), _flat(parts[1].profile)),
        "templates": _pairs(parts[0].templates, parts[1].templates),
        "tokenizer": _pairs(parts[0].tokenizer, parts[1].tokenizer),
        "given": _pairs(_numbered(parts[0].items), _numbered(parts[1].items)),
    }
    differs = any(made_of.values())
    made_of["prefix"] = _beginning(parts[0].prefix, parts[1].prefix)
    if not isinstance(a, Build) or not isinstance(b, Build):
        return Difference(differs=differs, figures=[], items=[], moved=False, **made_of)
    items = _changes(a.items, b.items)
    return Difference(
        differs=a.text != b.text or any(change.how not in ("same", "neither") for change in items),
        figures=[Pair(name=name, a=_figures(a)[name], b=_figures(b)[name]) for name in _figures(a)],
        items=items,
        moved=_moved(a, b),
        **made_of,
    )


def _beginning(a: Prefix | None, b: Prefix | None) -> Beginning | None:
    if a is None or b is None:
        return None
    same = []
    for ours, theirs in zip(a.parts, b.parts, strict=False):
        if ours != theirs:
            break
        same.append(ours.name)
    rest = [*a.parts[len(same) :], *b.parts[len(same) :]]
    cached = a.sha256 == b.sha256 if a.sha256 and b.sha256 else None
    return Beginning(same=same, first=rest[0].name if rest else None, cached=cached)


def _figures(build: Build) -> dict[str, int]:
    counts = {
        word: sum(entry.status == status for entry in build.items)
        for word, status in _STATUS.items()
    }
    return {"tokens": build.tokens, "characters": len(build.text), **counts}


_STATUS = {"in": "included", "cut": "trimmed", "out": "dropped"}


def _flat(profile: Mapping[str, Any]) -> dict[str, Any]:
    """Return the name of a profile, and the hashes of the files that it is made of under their names."""
    files = profile.get("files")
    own = {name: value for name, value in profile.items() if name != "files"}
    return (
        {**own, **{f"{name}.yaml": value for name, value in files.items()}}
        if isinstance(files, dict)
        else own
    )


def _numbered(hashes: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in hashes:
        found[each] = found.get(each, 0) + 1
    return found


def _pairs(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[Pair]:
    return [
        Pair(name=n, a=a.get(n), b=b.get(n))
        for n in dict.fromkeys((*a, *b))
        if a.get(n) != b.get(n)
    ]


def _keyed(entries: Sequence[Entry]) -> dict[tuple[str, int], Entry]:
    """Return entries by their id and, as several may have one, its how-many-eth each is."""
    seen: dict[str, int] = {}
    found = {}
    for entry in entries:
        seen[entry.id] = seen.get(entry.id, 0) + 1
        found[entry.id, seen[entry.id]] = entry
    return found


def _changes(a: Sequence[Entry], b: Sequence[Entry]) -> list[Change]:
    ours, theirs = _keyed(a), _keyed(b)
    return [_change(ours.get(key), theirs.get(key)) for key in dict.fromkeys((*ours, *theirs))]


def _change(a: Entry | None, b: Entry | None) -> Change:
    tokens = [entry.tokens if entry is not None else 0 for entry in (a, b)]
    return Change(how=_how(a, b), a=a, b=b, delta=tokens[1] - tokens[0])


def _how(a: Entry | None, b: Entry | None) -> str:
    in_a, in_b = (entry is not None and entry.status != "dropped" for entry in (a, b))
    if in_a and in_b and a is not None and b is not None:
        return "same" if (a.form, a.text, a.tokens) == (b.form, b.text, b.tokens) else "changed"
    return "only A" if in_a else "only B" if in_b else "neither"


def _moved(a: Build, b: Build) -> bool:
    ours, theirs = ([source.get("id") for source in build.sources] for build in (a, b))
    both = set(ours) & set(theirs)
    return [each for each in ours if each in both] != [each for each in theirs if each in both]
