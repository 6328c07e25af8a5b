"""Everything that is wrong with templates, layouts and profiles, in one report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import did_you_mean, nearest
from ..options import Options
from ..profiles import load_profile
from ..template_files import EXTENSIONS, format_of
from ..templates import Templates
from . import configured, frames, trial
from .findings import Finding, Text, held_back, ordered
from .library import Library
from .looks import KINDS, Layouts, Pair, Part, near_kind, part_of, prompt_part, sees
from .shapes import PROMPT
from .targets import Targets, files_in, unreadable_folders
from .weight import MOST

TRIED = 200
"""Pairs of layout and format of which samples are rendered."""


class Report(NamedTuple):
    """What a check has found."""

    findings: list[Finding]
    prices: list[trial.Price]
    tokenizer: str | None
    """What counted the prices."""
    files: int
    """How many files were looked at."""


def check(
    targets: Targets, folders: Sequence[Path] = (), profile_folders: Sequence[Path] = (), profile: str | None = None,
    *, prices: bool | None = False,
) -> Report:  # fmt: skip
    """Check what `targets` names. `folders` and `profile_folders` are searched for what it builds on.

    `profile` is the one by whose tokenizer and options `prices` are measured, for `None` once nothing is wrong.
    Raises `PromptForgeError` for a folder or profile that cannot be used at all.
    """
    templates = Templates([*targets.templates, *(f for f in folders if f not in targets.templates)])
    library = Library(templates)
    known = Layouts(templates, library.names)
    found: list[Finding] = []
    meant = {
        name: path
        for name in library.names
        if (path := _path(templates, name)) and targets.meant(path)
    }
    found += _templates(library, known, meant)
    for name, path in meant.items():
        if name.endswith("/layout.yaml"):
            found += configured.layout(templates, known, name, path)
    for folder in targets.all:
        found += _strays(folder, library, known.layouts)
    files = [*meant.values()]
    everywhere = [*dict.fromkeys([*(path.parent for path in targets.profiles), *profile_folders])]
    for path in targets.others:
        found.append(
            Finding(str(path), 0, 0, "PF827", "a file of cases; `promptforge test` reads it")
        )
    for path in targets.profiles:
        found += configured.profile(path, everywhere, known, templates)
        files.append(path)
    touched = [pair for pair in known.pairs() if _touched(pair, known, meant)]
    wrong = {f.path for f in found if f.severity == "error"}
    light = [pair for pair in touched if not _closure(library, pair) & wrong]
    found += _heavy(library, light, meant)
    good = [pair for pair in light if not any(True for _ in _heavy(library, [pair], None))][:TRIED]
    for pair in good:
        if not {pair.page, *pair.items.values()}.isdisjoint(meant):
            found += _tried(library, pair, meant)
    found += configured.looks(library, known, meant)
    found += frames.tried(library, meant, wrong)
    measured: list[trial.Price] = []
    tokenizer = None
    if prices is None:
        prices = all(finding.severity == "note" for finding in found)
    if prices and good:
        measured, tokenizer, more = _priced(templates, good, profile, everywhere, found)
        found += more
    reported = [f for f in held_back(ordered(found)) if _asked(f, targets)]
    return Report(reported, measured, tokenizer, len(set(files)))


def _path(templates: Templates, name: str) -> Path | None:
    found = templates.find(name)
    return None if found is None else found.path


def _asked(finding: Finding, targets: Targets) -> bool:
    path = Path(finding.path)
    return path in targets.profiles or path in targets.others or targets.meant(path)


# --- templates --------------------------------------------------------------------------------------------------------


def _templates(library: Library, known: Layouts, meant: dict[str, Path]) -> Iterator[Finding]:
    for name in meant:
        if name.endswith(".j2"):
            library.read(name)
            yield from configured.marks(meant[name])
    pages = list(known.pairs())
    used: set[str] = set()
    for pair in pages:
        if meant.keys().isdisjoint(
            name for page in (pair.page, *pair.items.values()) for name in library.drawn(page)
        ):
            continue
        for stem, name in (("layout", pair.page), *pair.items.items()):
            if name not in used:
                library.walk(name, sees(stem))
                used |= _reached(library, name)
        if "item" not in pair.items and pair.page in meant:
            look = f"item.{pair.ending}.j2"
            message = f'the layout "{pair.layout}" has no "{look}" for items of any kind; add it, or a base in layout.yaml'
            yield Text(meant[pair.page], "").whole("PF822", message)
    for name in meant:
        if (part_of_prompt := prompt_part(name)) is not None:
            library.walk(name, PROMPT[part_of_prompt])
            used |= _reached(library, name)
    for name in meant:  # what no page reaches has its faults all the same
        part = part_of(name)
        if name not in used and part is not None:
            library.walk(name, sees(part.stem))
            used |= _reached(library, name) - {name}
    yield from library.findings
    yield from (Finding(path, 0, 0, "PF825", message) for path, message in library.unreadable)
    unread: dict[str, list[str]] = {}
    for name in meant:
        if not name.endswith(".j2"):
            continue
        text = Text(meant[name], "")
        if name not in used and known.settings(name.split("/")[0]) is not None:
            why = _why_unused(name, known, pages)
            unread.setdefault(why if why.startswith("the layout") else f"{name}: {why}", []).append(
                name
            )
        elif (part := part_of(name)) and (near := near_kind(part.stem, _kinds(part, known))):
            yield text.whole(
                "PF821", f'shows items of the kind "{part.stem}"; did you mean "{near}"?'
            )
        original = library.templates.find(f"shipped/{name}")
        if original is not None and original.path.resolve() != meant[name].resolve():
            yield text.whole(
                "PF823", f'stands in for the shipped "{name}"; the original is "shipped/{name}"'
            )
    for why, names in unread.items():  # a page that is not there is said once
        others = f"; so nobody reads {len(names) - 1} more here" if len(names) > 1 else ""
        yield Text(meant[names[0]], "").whole("PF820", why.removeprefix(f"{names[0]}: ") + others)


def _kinds(part: Part, known: Layouts) -> set[str]:
    """Return the kinds that a layout names: in its settings, which say what is right, else in more than one ending."""
    settings = known.settings(part.layout)
    named = {*settings.sections, *settings.titles} if settings else set()
    stems = [other.stem for name in known.names.get(part.layout, ()) if (other := part_of(name))]
    return named | {stem for stem in stems if stems.count(stem) > 1}


def _reached(library: Library, name: str) -> set[str]:
    """Return the names of a template and of all that it draws on."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        volume = library.volume(one)
        waiting += [target for _, _, target in volume.links] if volume else []
    return seen


def _why_unused(name: str, known: Layouts, pages: Sequence[Pair]) -> str:
    part = part_of(name)
    if part is None and name.startswith("prompt/") and name.count("/") == 2:
        stem = name.rpartition("/")[2].partition(".")[0]
        return f'"{stem}" is no part of a prompt{nearest(stem, PROMPT)}'
    if part is None and name.count("/") == 0 and not name.startswith("_"):
        return "lies beside the layouts; templates are called LAYOUT/PART.EXT.j2"
    if part is None and name.count("/") == 1 and "." not in name.removesuffix(".j2"):
        return f'has no format; call it "{Path(name).stem}.md.j2", or with xml, json or txt for md'
    if part is None:
        return "no template extends, includes or imports from this one; do so, or delete it"
    if part.layout not in known.layouts:
        hint = (
            did_you_mean(part.layout, known.layouts)
            or "; a layout.yaml with `base:` makes one of it"
        )
        return f'"{part.layout}" is no layout: it has neither a page nor a layout.yaml{hint}'
    if (ending := EXTENSIONS.get(part.ending)) is not None and ending != part.ending:
        return f'the format {part.ending} ends in "{ending}": call it "{part.stem}.{ending}.j2"'
    have = sorted({pair.ending for pair in pages if pair.layout == part.layout})
    if whole := [ending for ending in have if ending.startswith(f"{part.ending}.")]:
        return f'the format {part.ending} ends in "{whole[0]}" here: call it "{part.stem}.{whole[0]}.j2"'
    return f'the layout "{part.layout}" has no page "layout.{part.ending}.j2"{nearest(part.ending, have) if have else ""}'


def _is_look(path: Path, name: str, layouts: set[str]) -> bool:
    """Whether a file without `.j2` is called as a template of a layout is."""
    stem = path.name.partition(".")[0]
    in_layout = (
        name.split("/")[0] in layouts and stem == stem.lower() and stem.replace("_", "").isalnum()
    )
    return in_layout or stem in (*KINDS, "layout", "item")


def _strays(folder: Path, library: Library, layouts: set[str]) -> Iterator[Finding]:
    """Yield files that look like templates or settings and are not read, because of their names."""
    names = set(library.names)
    for unreadable in unreadable_folders(folder):
        yield Finding(unreadable, 0, 0, "PF825", "the folder cannot be read")
    for path in files_in(folder):
        name = path.relative_to(folder).as_posix()
        if name in names and library.templates.find(name) is not None:
            continue
        end = path.suffix
        if name.endswith("layout.yml"):
            yield Text(path, "").whole("PF824", 'is not read; settings are called "layout.yaml"')
        elif (
            end[1:] in EXTENSIONS.values()
            and name.count("/") == 1
            and _is_look(path, name, layouts)
        ):
            yield Text(path, "").whole(
                "PF824", f'is not read; a template is called "{path.name}.j2"'
            )
        elif end in (".jinja", ".jinja2", ".j2.txt", ".tmpl") or name.endswith(".j2.txt"):
            yield Text(path, "").whole(
                "PF824", 'is not read; templates are called "LAYOUT/PART.EXT.j2"'
            )
        elif end == ".j2":
            if path.is_symlink():
                why = "is a link that leads out of the folder, or nowhere"
            elif name.count("/") > 1:
                why = "lies too deep; templates are called LAYOUT/PART.EXT.j2"
            else:
                why = "a name keeps to letters, digits, '_', '.' and '-', and does not begin with '.' or '-'"
            yield Text(path, "").whole("PF824", f"is not read: {why}")


# --- samples ----------------------------------------------------------------------------------------------------------


def _touched(pair: Pair, known: Layouts, meant: dict[str, Path]) -> bool:
    names = {
        pair.page,
        *pair.items.values(),
        *(f"{layout}/layout.yaml" for layout in known.chain(pair.layout)),
    }
    return not names.isdisjoint(meant)


def _closure(library: Library, pair: Pair) -> set[str]:
    """Return the files that a layout is made of in one format."""
    names = set[str]().union(
        *(_reached(library, name) for name in (pair.page, *pair.items.values()))
    )
    paths = [_path(library.templates, name) for name in (*names, f"{pair.layout}/layout.yaml")]
    return {str(path) for path in paths if path is not None}


def _heavy(
    library: Library, pairs: Sequence[Pair], meant: dict[str, Path] | None
) -> Iterator[Finding]:
    """Yield templates that do so much that no sample of them is rendered; `meant` None: all of them."""
    for name in dict.fromkeys(name for pair in pairs for name in (pair.page, *pair.items.values())):
        volume = library.volume(name)
        if volume is not None and library.weight(name) >= MOST and (meant is None or name in meant):
            yield volume.text.whole("PF817", "does so much that no sample of it was rendered")


def _tried(library: Library, pair: Pair, meant: dict[str, Path]) -> Iterator[Finding]:
    kinds = sorted(set(pair.items) - {"item"})
    for failure in trial.failures(library.templates, pair.layout, format_of(pair.ending), kinds):
        name, _, line = (failure.where or pair.page).partition(":")
        volume = library.volume(name) or library.volume(pair.page)
        number = int(line) if line.isdigit() else 0
        if volume is not None and str(volume.text.path) not in map(str, meant.values()):
            volume, number = _own(library, pair, meant), 0
        if volume is None:
            continue
        if number:
            yield volume.text.on(number, failure.code, failure.message)
        else:
            yield volume.text.whole(failure.code, failure.message)


def _own(library: Library, pair: Pair, meant: dict[str, Path]) -> Any:
    names = (name for name in (pair.page, *pair.items.values()) if name in meant)
    return next((library.volume(name) for name in names), None)


def _priced(
    templates: Templates,
    pairs: Sequence[Pair],
    profile: str | None,
    folders: Sequence[Path],
    found: list[Finding],
) -> tuple[list[trial.Price], str, list[Finding]]:
    loaded = load_profile(profile or "default", folders)
    tokenizer = str(loaded.options.get("tokenizer", Options().tokenizer))
    failed = {f.path for f in found if f.code == "PF814"}
    most = loaded.options.get("max_tokens", Options().max_tokens)
    prices, more = [], []
    for pair in pairs:
        page = templates.find(pair.page)
        paths = {str(p.path) for p in map(templates.find, (pair.page, *pair.items.values())) if p}
        if page is None or paths & failed:
            continue
        kinds = ["item", *sorted(set(pair.items) - {"item"})]
        one = trial.price(templates, pair.layout, format_of(pair.ending), kinds, tokenizer)
        prices.append(one)
        if most is not None and one.page > most:
            message = (
                f"the page costs {one.page:,} tokens without any item, and max_tokens is {most:,}"
            )
            more.append(Finding(str(page.path), 0, 0, "PF843", message))
    return prices, tokenizer, more
