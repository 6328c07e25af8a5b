"""`diff`: two builds side by side, item by item.

A side is a file that `--json` saved, or options to render with (`read_side`). The tables show the
figures, the inputs, the items and the first part of a prompt that differs.
"""

from __future__ import annotations

import difflib
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec

from ..authoring.results import (
    Build,
    BuildManifest,
    CommonPrefix,
    Difference,
    ItemChange,
    SavedPrompt,
    build_from_result,
    compare_builds,
)
from ..config.options import OPTION_VOCABULARY
from ..errors import ItemError, OptionError, PromptForgeError, StrictError, quote, suggest_name
from ..files.access import open_stream, read_bytes
from ..model import Result
from ..sources.workspace import is_stream
from .explain import MAX_TABLE_ROWS, item_label
from .flags import (
    GroupedCommand,
    complete_path,
    given_options,
    input_flags,
    output_flags,
    read_option,
)
from .inputs import CommandRequest, exit_code, read_request
from .output import (
    JSON_VERSION,
    Column,
    painter,
    print_diagnostics,
    printable,
    screen_columns,
    table_lines,
    typed_access,
    write_json,
    write_lines,
)

_FOLDER_WORDS = ("profile", "templates", "profiles")
_ASSIGNMENT = re.compile(r"[A-Za-z][A-Za-z_-]*=")
_NEXT_ASSIGNMENT = re.compile(r",(?=[A-Za-z][A-Za-z_-]*=)")
"""A comma before a name and `=`: any other comma belongs to a value."""
_SAVE_HINT = "save one with: promptforge render --json -o FILE"
_SOURCE_FLAGS = (
    *("files", "documents", "man_pages", "techniques", "attack", "job"),
    *_FOLDER_WORDS,
)
_HASH = re.compile(r"[0-9a-f]{64}")


@click.command("diff", cls=GroupedCommand)
@click.argument("a", type=click.UNPROCESSED)  # a side without options is empty
@click.argument("b", type=click.UNPROCESSED)
@click.argument("items", nargs=-1, metavar="[ITEMS]...", shell_complete=complete_path)
@input_flags
@click.option("--all", "every", is_flag=True, help="A row for each item, unchanged ones too.")
@click.option("--text", "with_text", is_flag=True, help="Also the difference of the texts.")
@click.option("--exit-code", "by_code", is_flag=True, help="Exit 1 if texts or items differ.")
@output_flags
def diff_command(
    a: str, b: str, items: tuple[str, ...], as_json: bool, output: str | None, **given: Any
) -> int:
    """Compare two builds, item by item.

    A and B are options, with commas between several, or a file that `render --json` or
    `prompt --json` saved:

    \b
      promptforge diff profile=claude profile=gpt items.jsonl
      promptforge diff max_tokens=500,format=xml max_tokens=900 items.jsonl
      promptforge diff before.json templates=my_templates items.jsonl

    With options, the same ITEMS and sources are rendered for each side. The side's own options win
    over the flags. `''` stands for the flags alone; `profile`, `templates` and `profiles` are
    options here too.
    """  # noqa: D301  click's mark for lines that stay as they are is a backspace
    sides = [read_side(a), read_side(b)]
    results: dict[int, Result] = {}
    if any(isinstance(side, BuildOptions) for side in sides):
        results = _render_sides(sides, read_request(items, {**given, "output": output}))
    elif items or given_options({**given, "strict": None}) or any(map(given.get, _SOURCE_FLAGS)):
        raise click.UsageError(
            "A and B are both saved results, so nothing is rendered: leave out ITEMS and options"
        )
    builds = [
        build_from_result(results[number]) if isinstance(side, BuildOptions) else side
        for number, side in enumerate(sides)
    ]
    found = compare_builds(*builds)
    for on in (["A", "B"], ["A"], ["B"]):
        warnings = [each.said for each in found.warnings if each.sides == on]
        print_diagnostics(warnings, quiet=given["quiet"], lead=f"{' and '.join(on)}: ")
    changed: list[str] = []
    if given["with_text"]:
        # A manifest alone has no text.
        old, new = (getattr(build, "text", "").split("\n") for build in builds)
        changed = list(difflib.unified_diff(old, new, f"A {a}", f"B {b}", lineterm=""))
    if as_json:
        facts = {"a": a, "b": b, **msgspec.to_builtins(found)}
        facts["warnings"] = [{"sides": s["sides"], **s["said"]} for s in facts["warnings"]]
        if given["with_text"]:
            facts["text"] = changed
        write_json(facts, output)
    else:
        lines = [*_heading(builds, (a, b)), *_figure_lines(found), *_input_lines(found)]
        lines += _prefix_lines(found.prefix)
        lines += _change_lines(found.items, given["every"])
        lines += [*_verdict(builds, found), *map(_printable_line, changed)]
        write_lines(lines, output, _PAINT)
    return exit_code(*results.values()) or int(given["by_code"] and found.differs)


def _render_sides(
    sides: Sequence[BuildOptions | Build | BuildManifest], request: CommandRequest
) -> dict[int, Result]:
    """Render the sides that are options; return the results by the number of the side."""
    from ..engine import ContextRenderer

    made = {}
    for number, side in enumerate(sides):
        if isinstance(side, BuildOptions):
            folders = dict(request.folders)
            for name, listed in side.folders.items():
                folders[name] = [*listed, *folders[name]]
            own = request._replace(
                profile=side.profile or request.profile,
                folders=folders,
                options={**request.options, **side.options},
                places=dict(request.places),
            )
            with _naming_side(number):
                made[number] = own, own.renderer(ContextRenderer)
    loaded = request.gather()
    results: dict[int, Result] = {}
    for number, (own, renderer) in made.items():
        with _naming_side(number):
            results[number] = renderer.render(loaded, before=tuple(own.diagnostics), **own.options)
    return results


@contextmanager
def _naming_side(number: int) -> Iterator[None]:
    """Name the side in its errors, and before the diagnostics of a strict one."""
    lead = f"{'AB'[number]}: "
    try:
        yield
    except PromptForgeError as error:
        if isinstance(error, StrictError):
            print_diagnostics(error.diagnostics, lead=lead)
            error.diagnostics = ()  # they would be printed once more, without the side
        error.args = (f"{lead}{error}", *error.args[1:])
        raise


_PAINT = painter(
    ("(changed) ", "yellow"), ("(only A) ", "red"), ("(only B) ", "green"),
    (r"(\+\+\+|---|[AB]: ).*", "bold"), ("@@.*", "cyan"), (r"\+.*", "green"), ("-.*", "red"),
)  # fmt: skip


# --- sides ----------------------------------------------------------------------------------------


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
    # A file comes first: `a=b.json` may be the name of one.
    if Path(text).is_file():
        return _read_saved(text)
    if text == "" or _ASSIGNMENT.match(text):
        return _parse_side(text)
    options = "options such as profile=claude,max_tokens=2000"
    raise click.UsageError(f"{quote(text)} is neither a file nor {options}; {_SAVE_HINT}")


def _parse_side(text: str) -> BuildOptions:
    profile, options = None, {}
    folders: dict[str, list[Path]] = {}
    for assignment in filter(None, _NEXT_ASSIGNMENT.split(text)):
        word, _, value = assignment.partition("=")
        name = word.replace("-", "_")
        if name == "profile":
            profile = value
        elif name in _FOLDER_WORDS:
            folders[name] = [Path(value)]
            if not Path(value).is_dir():
                raise click.UsageError(f"{quote(text)}: {name}: there is no folder {quote(value)}")
        elif name not in OPTION_VOCABULARY:
            known = [*OPTION_VOCABULARY, *_FOLDER_WORDS]
            hint = suggest_name(name, known)
            message = f"{quote(text)}: unknown option {quote(word)}{hint}"
            raise OptionError(message, option=word)
        else:
            options[name] = OPTION_VOCABULARY.check(name, read_option(name, value, quote(text)))
    return BuildOptions(profile, folders, options)


class _SavedShape(msgspec.Struct):
    promptforge: int | str = 0
    """Version of the JSON; in a manifest alone, that of the library."""
    error: msgspec.Raw = msgspec.Raw()
    text: msgspec.Raw = msgspec.Raw()
    request: msgspec.Raw = msgspec.Raw()


def _read_saved(path: str) -> Build | BuildManifest:
    if is_stream(path):
        with open_stream(path) as stream:
            data = stream.read()
    else:
        data = read_bytes(typed_access().locate(path))
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        # One pass over the raw text tells which kind of file it is, before all of it is read.
        shape = msgspec.json.decode(data, type=_SavedShape)
        if bytes(shape.error):
            raise ItemError(f"holds the report of an error and no result; {_SAVE_HINT}", where=path)
        if isinstance(shape.promptforge, str):
            return msgspec.json.decode(data, type=BuildManifest)
        if shape.promptforge != JSON_VERSION:
            known = (
                f"it has version {shape.promptforge} of --json, and this is version {JSON_VERSION}"
            )
            raise ItemError(f"is not a saved result: {known}; {_SAVE_HINT}", where=path)
        if bytes(shape.request):
            return msgspec.json.decode(data, type=SavedPrompt).build
        return msgspec.json.decode(data, type=Build)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ItemError(f"is not a saved result: {error}; {_SAVE_HINT}", where=path) from None


# --- tables ---------------------------------------------------------------------------------------


def _printable_line(line: str) -> str:
    """Return a line of a text with escapes for controls and invisible characters; tabs stay."""
    return "\t".join(printable(part, max(200, len(part))) for part in line.split("\t"))


def _heading(builds: Sequence[Build | BuildManifest], texts: Sequence[str]) -> Iterator[str]:
    for letter, text, build in zip("AB", texts, builds, strict=True):
        line = f"{letter}: {printable(text) or 'the flags alone'}"
        if not isinstance(build, Build):
            line += " (a manifest alone: no items, no text)"
        yield line
    yield ""


def _figure_lines(found: Difference) -> Iterator[str]:
    rows = []
    for figure in found.figures:
        change = f"{figure.b - figure.a:+,}" if figure.a != figure.b else ""
        rows.append([figure.name, f"{figure.a:,}", f"{figure.b:,}", change])
    if rows:
        numbers = [Column(heading, right=True) for heading in ("A", "B", "")]
        yield from table_lines([Column(""), *numbers], rows)
        yield ""


def _input_lines(found: Difference) -> Iterator[str]:
    """Yield a table of the inputs that differ: options, profile, tokenizer, templates, items."""
    rows = [[pair.name, _value(pair.a), _value(pair.b)] for pair in found.options]
    own = {"a": 0, "b": 0}
    for kind, pairs in (
        ("profile", found.profile),
        ("tokenizer", found.tokenizer),
        ("template", found.templates),
    ):
        for pair in pairs:
            # Another layout has other files: their names alone would fill the table.
            if kind == "template" and None in (pair.a, pair.b):
                own["a"] += pair.b is None
                own["b"] += pair.a is None
            else:
                rows.append([f"{kind}: {printable(pair.name)}", _value(pair.a), _value(pair.b)])
    if any(own.values()):
        rows.append(["templates", *(_number(count, "of its own") for count in own.values())])
    # The same item may be given several times to either side: numbers are compared, not names.
    surplus = [(pair.a or 0) - (pair.b or 0) for pair in found.given]
    if surplus:
        only_a = sum(number for number in surplus if number > 0)
        only_b = only_a - sum(surplus)
        rows.append(["items given", _number(only_a, "not in B"), _number(only_b, "not in A")])
    if rows:
        columns = [Column(heading, cut=True) for heading in ("made of", "A", "B")]
        yield from table_lines(columns, rows)
        yield ""


def _number(count: int, words: str) -> str:
    return f"{count:,} {words}" if count else "-"


def _value(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return ("no", "yes")[value]
    if isinstance(value, list):
        return ", ".join(map(printable, value))
    text = str(value)
    return text[:12] if _HASH.fullmatch(text) else printable(text)


def _prefix_lines(found: CommonPrefix | None) -> Iterator[str]:
    """Say how far two prompts begin alike: so far a provider's cache of one serves the other."""
    if found is None:
        return
    line = f"The same from the beginning: {', '.join(map(printable, found.same)) or 'nothing'}"
    if found.first:
        line += f"; the first part that differs: {printable(found.first)}"
    yield line
    if found.cached is not None:
        outcome = ("differs", "is the same")[found.cached]
        yield f"The prefix that is marked for caching {outcome}."
    yield ""


def _change_lines(items: Sequence[ItemChange], every: bool) -> Iterator[str]:
    # Equal items and items in neither text are most of a large build; a count will do.
    rows = [change for change in items if every or change.how not in ("same", "neither")]
    shown = rows if every else rows[:MAX_TABLE_ROWS]
    columns = [
        Column(""), Column("item", cut=True, paths=True, least=14),
        Column("kind", cut=True, spare=6), Column("A", spare=2), Column("B", spare=1),
        Column("A tok", right=True, spare=5), Column("B tok", right=True, spare=4),
        Column("change", right=True), Column("why"),
    ]  # fmt: skip
    if shown:
        yield from table_lines(columns, [_change_row(change) for change in shown])
    if len(rows) > len(shown):
        yield f"and {len(rows) - len(shown):,} more that differ; --all shows them"
    counts = Counter(change.how for change in items)
    words = (("same", "the same"), ("neither", "in neither"))
    same = ", ".join(f"{counts[how]:,} {word}" for how, word in words if counts[how])
    if same and not every:
        yield " ".join(["and"] * bool(rows) + [same])
    if any(change.how.startswith("only") for change in rows):
        hint = "promptforge explain with a side's options names the flags that bring items back."
        yield from textwrap.wrap(hint, screen_columns())
    if rows or same:
        yield ""


def _change_row(change: ItemChange) -> list[str]:
    item = change.a or change.b
    assert item is not None
    forms, tokens = ["not given"] * 2, ["-"] * 2
    for side, each in enumerate((change.a, change.b)):
        if each is not None:
            forms[side] = each.form or "out"
            if each.status != "dropped":
                tokens[side] = f"{each.tokens:,}"
    delta = f"{change.delta:+,}" if change.delta else ""
    row = [change.how, item_label(item), printable(item.kind), *forms, *tokens, delta]
    dropped = [each for each in (change.b, change.a) if each and each.status == "dropped"]
    return [*row, printable(dropped[0].reason) if dropped else ""]


def _verdict(builds: Sequence[Build | BuildManifest], found: Difference) -> Iterator[str]:
    a, b = builds
    if not isinstance(a, Build) or not isinstance(b, Build):
        yield ("They are made of the same.", "They are made of different things.")[found.differs]
    elif not found.differs:
        yield "The texts are the same."
    elif a.text == b.text:
        yield "The texts are the same, the items are not."
    elif found.moved:
        yield "The texts differ, and items stand in another order."
    else:
        yield "The texts differ."
