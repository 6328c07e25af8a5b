"""`promptforge diff`: two builds side by side."""

from __future__ import annotations

import difflib
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ..comparing import (
    Beginning,
    Build,
    Change,
    Difference,
    Entry,
    Manifest,
    Pair,
    build_of,
    compare,
)
from .explain import ROWS, name_of
from .flags import options_of
from .inputs import Request, exit_code, input_flags, read
from .output import write, write_json
from .sides import Spec, side
from .tables import Column, screen, shown, table

if TYPE_CHECKING:
    from ..ledger import Ledger
    from ..prompting.renderer import Renderer
    from ..results import Result

_SOURCES = (
    "files",
    "documents",
    "man_pages",
    "techniques",
    "attack",
    "job",
    "profile",
    "templates",
    "profiles",
)


@click.command("diff")
@click.argument("a")
@click.argument("b")
@click.argument("items", nargs=-1, metavar="[ITEMS]...")
@input_flags
@click.option("--all", "every", is_flag=True, help="A row for each item, unchanged ones too.")
@click.option(
    "--text", "with_text", is_flag=True, help="Also the difference of the texts, line by line."
)
@click.option(
    "--exit-code", "by_code", is_flag=True, help="Exit with 1 if the texts or the items differ."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("-o", "--output", metavar="FILE", help="Write there instead of to standard output.")
def command(
    a: str,
    b: str,
    items: tuple[str, ...],
    every: bool,
    with_text: bool,
    by_code: bool,
    as_json: bool,
    output: str | None,
    **given: Any,
) -> int:
    """Compare two builds, item by item.

    A and B are each options, with commas between several, or a file that `render --json` or `prompt --json` saved:

    \b
      promptforge diff profile=claude profile=gpt items.jsonl
      promptforge diff max_tokens=500,format=xml max_tokens=900 items.jsonl
      promptforge diff before.json templates=my_templates items.jsonl

    With options, the same ITEMS and sources are rendered for each side, under the flags that are given and, over these,
    the side's own options. `''` stands for the flags alone; `profile`, `templates` and `profiles` are options here too.
    """  # noqa: D301  click's mark for lines that stay as they are is a backspace
    sides = [side(a), side(b)]
    results: list[Result] = []
    told: dict[int, Callable[[], int | None]] = {}
    if any(isinstance(each, Spec) for each in sides):
        request = read(items, given)
        renderers = [_renderer(request, each) if isinstance(each, Spec) else None for each in sides]
        loaded = request.gather()
        for n, (each, renderer) in enumerate(zip(sides, renderers, strict=True)):
            if isinstance(each, Spec) and renderer is not None:
                own = request._replace(options={**request.options, **each.options})
                results.append(
                    own.render(renderer, loaded, said=results[0].warnings if results else ())
                )
                sides[n] = build = build_of(results[-1], brief=not as_json)
                told |= {} if as_json else _told(build, results[-1]._get("ledger"))
    elif items or options_of(given) or any(given[name] for name in _SOURCES):
        raise click.UsageError(
            "A and B are both saved results, so nothing is rendered: leave out ITEMS and options"
        )
    builds = [each for each in sides if not isinstance(each, Spec)]
    found = compare(builds[0], builds[1])
    changed = _text(builds, a, b) if with_text else []
    if as_json:
        facts = {"a": a, "b": b, **msgspec.to_builtins(found)}
        write_json(facts | ({"text": changed} if with_text else {}), output)
    else:
        lines = [
            *_heading(builds, a, b, found),
            *_made_of(found),
            *_beginning(found.prefix),
            *_items(found.items, every, told),
            *_verdict(builds, found),
        ]
        write("".join(f"{line}\n" for line in (*lines, *map(shown_line, changed))), output)
    return exit_code(*results) or int(by_code and found.differs)


def _renderer(request: Request, spec: Spec) -> Renderer:
    from ..prompting.renderer import Renderer

    every = request.folders.items()
    folders: dict[str, Any] = {
        name: [*spec.folders.get(name, ()), *listed] for name, listed in every
    }
    return Renderer(profile=spec.profile or request.profile, **folders)


def shown_line(line: str) -> str:
    """Return a line of a text with escapes for what moves a terminal or cannot be seen; tabs stay."""
    return "\t".join(shown(part, max(200, len(part))) for part in line.split("\t"))


def _text(builds: Sequence[Build | Manifest], a: str, b: str) -> list[str]:
    ours, theirs = (build.text.split("\n") if isinstance(build, Build) else [] for build in builds)
    return list(difflib.unified_diff(ours, theirs, f"A {a}", f"B {b}", lineterm=""))


def _heading(
    builds: Sequence[Build | Manifest], a: str, b: str, found: Difference
) -> Iterator[str]:
    for letter, text, build in zip("AB", (a, b), builds, strict=True):
        alone = "" if isinstance(build, Build) else " (a manifest alone: no items, no text)"
        yield f"{letter}: {shown(text) or 'the flags alone'}{alone}"
    yield ""
    if found.figures:
        rows = [
            [p.name, f"{p.a:,}", f"{p.b:,}", f"{p.b - p.a:+,}" if p.a != p.b else ""]
            for p in found.figures
        ]
        columns = [
            Column(""),
            Column("A", right=True),
            Column("B", right=True),
            Column("", right=True),
        ]
        yield from table(columns, rows, total=screen())
        yield ""


def _made_of(found: Difference) -> Iterator[str]:
    rows = [[p.name, _value(p.a), _value(p.b)] for p in found.options]
    for what, pairs in (("profile", found.profile), ("tokenizer", found.tokenizer)):
        rows += [[f"{what}: {shown(p.name)}", _value(p.a), _value(p.b)] for p in pairs]
    rows += [
        [f"template: {shown(p.name)}", _value(p.a), _value(p.b)]
        for p in found.templates
        if _both(p)
    ]
    only = [
        [p for p in found.templates if not _both(p) and getattr(p, where) is not None]
        for where in "ab"
    ]
    if any(only):
        rows.append(
            ["templates", *(f"{len(these)} of its own" if these else "-" for these in only)]
        )
    gone = [(p.a or 0) - (p.b or 0) for p in found.given]
    if gone:
        alone = [sum(max(n, 0) for n in side) for side in (gone, [-n for n in gone])]
        cells = (
            f"{n:,} not in {other}" if n else "-" for n, other in zip(alone, "BA", strict=True)
        )
        rows.append(["items given", *cells])
    if rows:
        columns = [Column("made of", cut=True), Column("A", cut=True), Column("B", cut=True)]
        yield from table(columns, rows, total=screen())
        yield ""


def _beginning(found: Beginning | None) -> Iterator[str]:
    """Say how far two prompts begin alike: so far a provider's cache of the one serves the other."""
    if found is None:
        return
    same = ", ".join(map(shown, found.same)) or "nothing"
    ends = f"; the first part that differs: {shown(found.first)}" if found.first else ""
    yield f"The same from the beginning: {same}{ends}"
    if found.cached is not None:
        yield f"The prefix that is marked for caching {'is the same' if found.cached else 'differs'}."
    yield ""


def _both(pair: Pair) -> bool:
    return pair.a is not None and pair.b is not None


def _value(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(shown, value))
    text = str(value)
    return text[:12] if len(text) == 64 and text.isalnum() else shown(value)


def _told(build: Build, ledger: Ledger) -> dict[int, Callable[[], int | None]]:
    """Return what tells of each entry of a build the budget at which it comes back."""
    return {id(entry): partial(ledger.back.near, index) for index, entry in enumerate(build.items)}


def _items(
    items: Sequence[Change], every: bool, told: Mapping[int, Callable[[], int | None]]
) -> Iterator[str]:
    rows = [change for change in items if every or change.how not in ("same", "neither")]
    hidden = rows[ROWS:] if not every else []
    columns = [
        Column(""), Column("item", cut=True, paths=True, least=14), Column("kind", cut=True, spare=6),
        Column("A", spare=2), Column("B", spare=1), Column("A tok", right=True, spare=5),
        Column("B tok", right=True, spare=4), Column("change", right=True), Column("why"),
        Column("fits at", right=True, spare=3),
    ]  # fmt: skip
    if rows:
        cells = [_row(change, told) for change in rows[: None if every else ROWS]]
        yield from table(columns, cells, total=screen())
    if hidden:
        yield f"and {len(hidden):,} more that differ; --all shows them"
    counts = Counter(change.how for change in items)
    same = [
        f"{counts[how]:,} {word}"
        for how, word in (("same", "the same"), ("neither", "in neither"))
        if counts[how]
    ]
    if same and not every:
        yield f"{'and ' if rows else ''}{', '.join(same)}"
    if any(change.how.startswith("only") for change in rows):
        yield from textwrap.wrap(
            "promptforge explain with the options of a side says what brings back what is out.",
            screen(),
        )
    if rows or same:
        yield ""


def _row(change: Change, told: Mapping[int, Callable[[], int | None]]) -> list[str]:
    entry = change.a or change.b
    assert entry is not None
    return [
        change.how,
        name_of(msgspec.structs.asdict(entry)),
        shown(entry.kind),
        *(_form(each) for each in (change.a, change.b)),
        *(
            f"{each.tokens:,}" if each and each.status != "dropped" else "-"
            for each in (change.a, change.b)
        ),
        f"{change.delta:+,}" if change.delta else "",
        *_why(change, told),
    ]


def _form(entry: Entry | None) -> str:
    return "not given" if entry is None else entry.form or "out"


def _why(change: Change, told: Mapping[int, Callable[[], int | None]]) -> list[str]:
    out = next(
        (each for each in (change.b, change.a) if each is not None and each.status == "dropped"),
        None,
    )
    if out is None:
        return ["", ""]
    tokens = told[id(out)]() if id(out) in told else out.fits_at
    return [shown(out.reason), f"{tokens:,}" if tokens is not None else ""]


def _verdict(builds: Sequence[Build | Manifest], found: Difference) -> Iterator[str]:
    a, b = builds
    if not isinstance(a, Build) or not isinstance(b, Build):
        yield (
            "They are made of different things." if found.differs else "They are made of the same."
        )
    elif not found.differs:
        yield "The texts are the same."
    elif a.text == b.text:
        yield "The texts are the same, the items are not."
    else:
        yield f"The texts differ{', and items stand in another order' if found.moved else ''}."
