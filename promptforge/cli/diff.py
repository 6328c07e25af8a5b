"""`promptforge diff`: two builds side by side.

Read the two sides of a comparison: saved files, or options to render with.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from ..authoring.compare import (
    Build,
    BuildItem,
    BuildManifest,
    CommonPrefix,
    Difference,
    FieldDifference,
    ItemChange,
    SavedPrompt,
    build_from_result,
    compare_builds,
)
from ..config.options import OPTION_VOCABULARY
from ..errors import ItemError, OptionError, quote, suggest_name
from .explain import MAX_TABLE_ROWS, item_label
from .inputs import Request, exit_code, given_options, input_flags, read_request
from .output import (
    JSON_VERSION,
    Column,
    printable,
    screen_columns,
    table_lines,
    write_json,
    write_output,
)

if TYPE_CHECKING:
    from ..model import Result
    from ..prompts.prompt import Renderer
    from ..rendering.report import Report

_PLACES = ("profile", "templates", "profiles")

_NAMED = re.compile(r"[A-Za-z][A-Za-z_-]*=")

_NEXT = re.compile(r",(?=[A-Za-z][A-Za-z_-]*=)")

_BOOLS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}

_HOW = "save one with: promptforge render --json -o FILE"


class BuildOptions(NamedTuple):
    """Options, profile and folders of one side, over those of the command line."""

    profile: str | None
    folders: Mapping[str, list[Path]]
    options: Mapping[str, Any]


def read_side(text: str) -> BuildOptions | Build | BuildManifest:
    """Read an argument: `name=value,…`, or a file that `--json` saved.

    Raises `OptionError` for a wrong name or value, `ItemError` for a file that is no result, and a
    usage error for any other text.
    """
    if Path(text).is_file():
        return _saved(text)
    if text == "" or _NAMED.match(text):
        return _spec(text)
    raise click.UsageError(
        f"{quote(text)} is neither a file nor options such as profile=claude,max_tokens=2000; {_HOW}"
    )


def _spec(text: str) -> BuildOptions:
    profile, options = None, {}
    folders: dict[str, list[Path]] = {}
    for part in filter(None, _NEXT.split(text)):
        word, _, value = part.partition("=")
        name = word.replace("-", "_")
        if name == "profile":
            profile = value
        elif name in _PLACES:
            folders[name] = [Path(value)]
            if not Path(value).is_dir():
                raise click.UsageError(f"{quote(text)}: {name}: there is no folder {quote(value)}")
        elif name not in OPTION_VOCABULARY:
            known = [*OPTION_VOCABULARY, *_PLACES]
            raise OptionError(
                f"{quote(text)}: unknown option {quote(word)}{suggest_name(name, known)}",
                option=word,
            )
        else:
            options[name] = _parse_value(name, value)
    return BuildOptions(profile, folders, options)


def _parse_value(name: str, text: str) -> Any:
    """Return the value of a text: its first reading that the option takes."""
    readings: list[Any] = [text]
    if "list" in OPTION_VOCABULARY.rules[name].takes:
        readings = [[part for part in text.split(",") if part], text]
    for read in (int, float):
        try:
            readings.append(read(text.replace("_", "")))
        except ValueError:
            continue
    if text.startswith("{"):
        with contextlib.suppress(ValueError, RecursionError):
            readings.append(json.loads(text))
    if text.lower() in _BOOLS:
        readings.append(_BOOLS[text.lower()])
    refusals = []
    for value in readings:
        try:
            OPTION_VOCABULARY.check(name, value)
            return value
        except OptionError as error:
            refusals.append(error)
    # The last reading is the nearest to the type; a list alone is judged as it was written.
    raise refusals[-("list" not in OPTION_VOCABULARY.rules[name].takes)]


class _Saved(msgspec.Struct):
    promptforge: int | str = 0
    """Version of the JSON; in a manifest alone, that of the library."""
    error: msgspec.Raw = msgspec.Raw()
    text: msgspec.Raw = msgspec.Raw()
    request: msgspec.Raw = msgspec.Raw()
    """The request of a whole prompt."""


def _saved(path: str) -> Build | BuildManifest:
    data = Path(path).read_bytes().removeprefix(b"\xef\xbb\xbf")
    try:
        shape = msgspec.json.decode(data, type=_Saved)
        if bytes(shape.error):
            raise ItemError(f"holds the report of an error and no result; {_HOW}", where=path)
        if isinstance(shape.promptforge, str):
            return msgspec.json.decode(data, type=BuildManifest)
        if shape.promptforge != JSON_VERSION:
            known = (
                f"it has version {shape.promptforge} of --json, and this is version {JSON_VERSION}"
            )
            raise ItemError(f"is not a saved result: {known}; {_HOW}", where=path)
        if bytes(shape.request):
            return msgspec.json.decode(data, type=SavedPrompt).build
        return msgspec.json.decode(data, type=Build)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ItemError(f"is not a saved result: {error}; {_HOW}", where=path) from None


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
def diff_command(
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
    sides = [read_side(a), read_side(b)]
    results: list[Result] = []
    told: dict[int, Callable[[], int | None]] = {}
    if any(isinstance(each, BuildOptions) for each in sides):
        request = read_request(items, given)
        renderers = [
            _renderer(request, each) if isinstance(each, BuildOptions) else None for each in sides
        ]
        loaded = request.gather()
        for n, (each, renderer) in enumerate(zip(sides, renderers, strict=True)):
            if isinstance(each, BuildOptions) and renderer is not None:
                own = request._replace(options={**request.options, **each.options})
                results.append(
                    own.render(renderer, loaded, said=results[0].warnings if results else ())
                )
                sides[n] = build = build_from_result(results[-1], brief=not as_json)
                told |= {} if as_json else _told(build, results[-1].report)
    elif items or given_options(given) or any(given[name] for name in _SOURCES):
        raise click.UsageError(
            "A and B are both saved results, so nothing is rendered: leave out ITEMS and options"
        )
    builds = [each for each in sides if not isinstance(each, BuildOptions)]
    found = compare_builds(builds[0], builds[1])
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
        write_output("".join(f"{line}\n" for line in (*lines, *map(shown_line, changed))), output)
    return exit_code(*results) or int(by_code and found.differs)


def _renderer(request: Request, spec: BuildOptions) -> Renderer:
    from ..prompts.prompt import Renderer

    every = request.folders.items()
    folders: dict[str, Any] = {
        name: [*spec.folders.get(name, ()), *listed] for name, listed in every
    }
    return Renderer(profile=spec.profile or request.profile, **folders)


def shown_line(line: str) -> str:
    """Return a line of a text with escapes for what moves a terminal or cannot be seen; tabs stay."""
    return "\t".join(printable(part, max(200, len(part))) for part in line.split("\t"))


def _text(builds: Sequence[Build | BuildManifest], a: str, b: str) -> list[str]:
    ours, theirs = (build.text.split("\n") if isinstance(build, Build) else [] for build in builds)
    return list(difflib.unified_diff(ours, theirs, f"A {a}", f"B {b}", lineterm=""))


def _heading(
    builds: Sequence[Build | BuildManifest], a: str, b: str, found: Difference
) -> Iterator[str]:
    for letter, text, build in zip("AB", (a, b), builds, strict=True):
        alone = "" if isinstance(build, Build) else " (a manifest alone: no items, no text)"
        yield f"{letter}: {printable(text) or 'the flags alone'}{alone}"
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
        yield from table_lines(columns, rows, total=screen_columns())
        yield ""


def _made_of(found: Difference) -> Iterator[str]:
    rows = [[p.name, _value(p.a), _value(p.b)] for p in found.options]
    for what, pairs in (("profile", found.profile), ("tokenizer", found.tokenizer)):
        rows += [[f"{what}: {printable(p.name)}", _value(p.a), _value(p.b)] for p in pairs]
    rows += [
        [f"template: {printable(p.name)}", _value(p.a), _value(p.b)]
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
        yield from table_lines(columns, rows, total=screen_columns())
        yield ""


def _beginning(found: CommonPrefix | None) -> Iterator[str]:
    """Say how far two prompts begin alike: so far a provider's cache of the one serves the other."""
    if found is None:
        return
    same = ", ".join(map(printable, found.same)) or "nothing"
    ends = f"; the first part that differs: {printable(found.first)}" if found.first else ""
    yield f"The same from the beginning: {same}{ends}"
    if found.cached is not None:
        yield f"The prefix that is marked for caching {'is the same' if found.cached else 'differs'}."
    yield ""


def _both(pair: FieldDifference) -> bool:
    return pair.a is not None and pair.b is not None


def _value(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(printable, value))
    text = str(value)
    return text[:12] if len(text) == 64 and text.isalnum() else printable(value)


def _told(build: Build, ledger: Report) -> dict[int, Callable[[], int | None]]:
    """Return what tells of each entry of a build the budget at which it comes back."""
    return {id(entry): partial(ledger.hints.near, index) for index, entry in enumerate(build.items)}


def _items(
    items: Sequence[ItemChange], every: bool, told: Mapping[int, Callable[[], int | None]]
) -> Iterator[str]:
    rows = [change for change in items if every or change.how not in ("same", "neither")]
    hidden = rows[MAX_TABLE_ROWS:] if not every else []
    columns = [
        Column(""), Column("item", cut=True, paths=True, least=14), Column("kind", cut=True, spare=6),
        Column("A", spare=2), Column("B", spare=1), Column("A tok", right=True, spare=5),
        Column("B tok", right=True, spare=4), Column("change", right=True), Column("why"),
        Column("fits at", right=True, spare=3),
    ]  # fmt: skip
    if rows:
        cells = [_row(change, told) for change in rows[: None if every else MAX_TABLE_ROWS]]
        yield from table_lines(columns, cells, total=screen_columns())
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
            screen_columns(),
        )
    if rows or same:
        yield ""


def _row(change: ItemChange, told: Mapping[int, Callable[[], int | None]]) -> list[str]:
    entry = change.a or change.b
    assert entry is not None
    return [
        change.how,
        item_label(msgspec.structs.asdict(entry)),
        printable(entry.kind),
        *(_form(each) for each in (change.a, change.b)),
        *(
            f"{each.tokens:,}" if each and each.status != "dropped" else "-"
            for each in (change.a, change.b)
        ),
        f"{change.delta:+,}" if change.delta else "",
        *_why(change, told),
    ]


def _form(entry: BuildItem | None) -> str:
    return "not given" if entry is None else entry.form or "out"


def _why(change: ItemChange, told: Mapping[int, Callable[[], int | None]]) -> list[str]:
    out = next(
        (each for each in (change.b, change.a) if each is not None and each.status == "dropped"),
        None,
    )
    if out is None:
        return ["", ""]
    tokens = told[id(out)]() if id(out) in told else out.fits_at
    return [printable(out.reason), f"{tokens:,}" if tokens is not None else ""]


def _verdict(builds: Sequence[Build | BuildManifest], found: Difference) -> Iterator[str]:
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
