"""See why: `explain` accounts for one rendering, `diff` compares two builds.

The tables of `explain` come in this order: items, reasons with the flags that bring items back,
costs, and the gain of a larger budget. `reason_lines` puts reasons into words. A side of `diff` is
a file that `--json` saved, or options to render with (`read_side`). Its tables show the figures,
the inputs, the items and the first part of a prompt that differs.
"""

from __future__ import annotations

import difflib
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from ..authoring.results import (
    Build,
    BuildDiagnostic,
    BuildItem,
    BuildManifest,
    CommonPrefix,
    Difference,
    ItemChange,
    SavedPrompt,
    build_from_result,
    compare_builds,
)
from ..config.options import OPTION_VOCABULARY, as_flags, flag_value
from ..errors import ItemError, OptionError, PromptForgeError, StrictError, quote, suggest_name
from ..model import Explanation, Gain, Remedy, Result, ResultItem, path_with_lines
from ..packing.types import BUDGET_REASONS
from ..text.format import plural
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
    print_diagnostics,
    printable,
    screen_columns,
    shorten,
    stages,
    table_lines,
    write_json,
    write_lines,
    write_output,
)

if TYPE_CHECKING:
    from ..rendering.report import Report

MAX_TABLE_ROWS = 60
"""Rows of a table; further dropped items are only counted."""
MAX_NAME_COLUMNS = 40
"""Columns of a name inside a sentence."""
MAX_GAINED_NAMES = 3
"""Items that a row of gains names."""
NO_PATH = "(no path)"
"""Name of the section of items without a path."""
_NOT_GIVEN = dict.fromkeys(("max_items", "min_score", "min_worth"), "none")
"""Options that a reason may name, where they were not given."""
STATUS_WORDS = {"included": "in", "trimmed": "cut", "dropped": "out"}
REASON_TEXTS = {
    "budget": "too little room",
    "section_budget": "its section has used up its share (section_budgets)",
    "max_items": "past the {max_items} found items that --max-items lets in",
    "min_score": "found by a search with a score below {min_score}",
    "min_worth": "its worth by the query is below {min_worth} of the best",
    "kinds": "its kind is not one of --kinds",
    "paths": "its path matches none of --paths",
    "languages": "its language is not one of --languages",
    "duplicate": "another item holds its text",
    "merged": "shown as a part of a range of its file that it touches",
    "combine": "found by a search, and items you named come first",
}
"""Reason of an item that is dropped or shortened → the same in words."""


@click.command("explain", cls=GroupedCommand)
@click.argument("items", nargs=-1, metavar="[ITEMS]...", shell_complete=complete_path)
@input_flags
@click.option("--all", "every", is_flag=True, help=f"All rows, also beyond {MAX_TABLE_ROWS}.")
@click.option("--map", "with_map", is_flag=True, help="Also the template line of each part.")
@click.option("--html", metavar="FILE", help="Also write a page with charts; it needs no script.")
@click.option("--svg", metavar="FILE", help="Also write the chart alone.")
@output_flags
def explain_command(
    items: tuple[str, ...], every: bool, with_map: bool, as_json: bool, output: str | None,
    **given: Any,
) -> int:  # fmt: skip
    """Say why each item of a rendering is in or out, and its cost.

    It takes the arguments of `render`. Items come in the order of packing: `in` is whole, `cut`
    shortened, `out` dropped. `tokens` is the cost of an item, `whole` its cost in full. With
    `fits at` as --max-tokens it comes back whole. Flags that are said to bring an item back have
    been tried. `worth` is the score of an item that comes in; a shortened one has its share.
    """
    request = read_request(items, given)
    renderer = request.renderer()
    loaded = request.gather()
    with stages(len(loaded)) as say:
        say(f"rendering {len(loaded):,} items")
        result = request.render(renderer, loaded)
        if given["html"] or given["svg"]:
            say("drawing: other budgets are tried")
            _draw(result, given)
        if as_json:
            say("working out budgets and options that bring items back")
            facts = _facts(request, result)
            if with_map:
                facts["map"] = msgspec.to_builtins(result.map)
        else:
            say("working out the budgets that bring items back")
            lines = [*item_lines(result.report, every), ""]
            say("trying options that bring items back")
            lines += _reason_lines(result)
            say("working out costs")
            lines += [*_cost_lines(result), *_gain_lines(result), *_place_lines(request, result)]
            if with_map:
                lines += _map_lines(result)
    if as_json:
        write_json(facts, output)
    else:
        write_lines(lines, output, _paint)
    return exit_code(result)


def _draw(result: Result, given: Mapping[str, Any]) -> None:
    from ..authoring.results import BudgetChart

    chart = BudgetChart(result)
    if given["html"]:
        write_output(chart.html(), given["html"])
    if given["svg"]:
        write_output(chart.svg(), given["svg"])


def _facts(request: CommandRequest, result: Result) -> dict[str, Any]:
    facts = result.to_dict()
    facts["explanation"] = msgspec.to_builtins(result.explain())
    facts["set_by"] = option_places(request, result)
    facts["ways"] = msgspec.to_builtins(result.remedies())
    return facts


_COLOURS = {"in": "green", "cut": "yellow", "out": "bright_black"}


def _paint(line: str) -> str:
    word, _, rest = line.partition(" ")
    if word == "out":
        return click.style(line, fg=_COLOURS[word])
    if word in _COLOURS and rest:
        return f"{click.style(word, fg=_COLOURS[word])} {rest}"
    if line.lstrip().startswith(("#", "section ")):
        return click.style(line, bold=True)
    return line


# --- items ----------------------------------------------------------------------------------------


def item_lines(report: Report, every: bool) -> Iterator[str]:
    """Yield the table of items in the order of packing, and how many are in, cut and out."""
    ranked = report.ranked
    dropped = [index for index in ranked if report.status(index) == "dropped"]
    hidden: list[int] = []
    if not every and len(ranked) > MAX_TABLE_ROWS:
        # Items of the text always have a row, and a third of the rows is for dropped ones.
        shown = len(ranked) - len(dropped)
        hidden = dropped[max(MAX_TABLE_ROWS // 3, MAX_TABLE_ROWS - shown) :]
    columns = [
        Column(""), Column("#", right=True, spare=3),
        Column("item", cut=True, paths=True, least=14), Column("kind", cut=True, spare=4),
        Column("score", right=True, spare=5), Column("form", spare=6),
        Column("tokens", right=True, spare=1), Column("whole", right=True, spare=2),
        Column("why"), Column("fits at", right=True),
    ]  # fmt: skip
    skipped = set(hidden)
    rows = [_row(report, index) for index in ranked if index not in skipped]
    if rows:
        yield from table_lines(columns, rows)
    if hidden:
        numbers = Counter(map(report.reason, hidden)).most_common()
        reasons = ", ".join(f"{reason} {number:,}" for reason, number in numbers)
        yield f"out  and {len(hidden):,} more ({reasons}); --all shows them"
    counts = Counter(STATUS_WORDS[report.status(index)] for index in ranked)
    each = ", ".join(f"{counts[word]:,} {word}" for word in STATUS_WORDS.values())
    yield f"{plural(len(ranked), 'item', 'items')}: {each}"


def _row(report: Report, index: int) -> list[str]:
    item = report.item(index)
    fits_at, near, beyond = "", report.hints.near(index), report.hints.beyond
    if near is not None:
        fits_at = f"{near:,}"
    elif beyond is not None and item.reason in BUDGET_REASONS:
        fits_at = f">{beyond:,}"  # the largest budget that was tried is still too small
    # A distance or a count of another system may be large; two decimals are for scores up to 1.
    score = f"{item.score:.2f}"
    if abs(item.score) >= 1000:
        score = f"{item.score:.3g}"
    tokens = "-"
    if item.form:
        tokens = f"{item.tokens:,}"
    return [
        STATUS_WORDS[item.status],
        str(item.rank or ""),
        _label(item),
        printable(item.kind),
        score,
        item.form or "-",
        tokens,
        f"{item.tokens_full:,}",
        item.reason,
        fits_at,
    ]


def _label(item: ResultItem | BuildItem) -> str:
    """Return the label of an item: its path and lines, its name, or its id."""
    if item.path:
        return path_with_lines(printable(item.path), item.start_line, item.end_line)
    return printable(item.name or item.id)


def _labels(report: Report, ids: Collection[str]) -> dict[str, str]:
    """Return the labels of the items with these ids."""
    found: dict[str, str] = {}
    if ids:
        # An item costs renderings to report, so those that are not asked for are passed over.
        for index in report.ranked:
            if (name := report.name(index)) in ids and name not in found:
                found[name] = _label(report.item(index))
    return found


# --- reasons --------------------------------------------------------------------------------------


def _reason_lines(result: Result) -> Iterator[str]:
    report, remedies = result.report, result.remedies()
    reasons = [report.reason(i) for i in report.ranked if report.status(i) != "included"]
    labels = _labels(report, {remedy.item for remedy in remedies})
    options = report.page.options.plain()
    return reason_lines(Counter(reasons), remedies, labels, options, report.hints.beyond)


def reason_lines(
    counts: Mapping[str, int],
    remedies: Sequence[Remedy],
    labels: Mapping[str, str],
    options: Mapping[str, Any],
    beyond: int | None,
) -> Iterator[str]:
    """Yield lines on each reason that occurs: its meaning, and flags that bring such items back.

    `counts` has the number of items by reason, `labels` the labels of the items of `remedies`,
    `options` all options in force. `beyond` is the largest budget that was tried, in tokens.
    """
    remedy_of = {remedy.reason: remedy for remedy in remedies}
    values = {name: value for name, value in options.items() if value is not None}
    wide = max((len(reason) for reason in REASON_TEXTS if reason in counts), default=0)
    # In this order, not that of the items: then two accounts can be compared line by line.
    for reason, text in REASON_TEXTS.items():
        if reason not in counts:
            continue
        remedy = remedy_of.get(reason)
        texts = [text.format_map({**_NOT_GIVEN, **values})]
        is_budget = reason in BUDGET_REASONS
        if is_budget and (remedy is None or remedy.items < counts[reason]):
            texts.append("--max-tokens with the number under 'fits at' brings it back whole")
            if beyond is not None:
                texts.append(f">{beyond:,}: even that is too little; --json says the number")
        yield from _wrapped(f"{reason:<{wide}}  ", "; ".join(texts))
        if remedy is not None:
            line = _remedy(remedy, shorten(labels[remedy.item], MAX_NAME_COLUMNS))
            if len(texts) > 1:
                line = f"where there is no number: {line}"
            yield from _wrapped(" " * (wide + 2), line)
    if counts:
        yield ""


def _remedy(remedy: Remedy, name: str) -> str:
    if not remedy.options:
        return f"no single change of an option that was tried brings {name} back"
    flags = as_flags(remedy.options)
    if not remedy.back:
        return f"with {flags} nothing but too little room keeps {name} out"
    line = f"{flags} brings {name} back"
    others, back = remedy.items - 1, remedy.back - 1
    if not others:
        return line
    words = f"the {others:,} others"
    if others == 1:
        words = "the other one"
    if not back:
        return f"{line}, not {words}"
    if back < others:
        words = f"{back:,} of {words}"
    return f"{line}, and {words}"


def _wrapped(head: str, text: str) -> list[str]:
    return textwrap.wrap(
        text,
        screen_columns(),
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_on_hyphens=False,
        break_long_words=False,
    )


# --- options --------------------------------------------------------------------------------------


def option_places(request: CommandRequest, result: Result) -> dict[str, str]:
    """Return the place that each option is set by: a layout, a profile, `app.toml:2`, a flag.

    An option with its default has none.
    """
    page, profile = result.report.page, request.profile or "default"
    places = dict.fromkeys(page.layout.settings.options, f"layout {page.options.layout}")
    places |= dict.fromkeys(result.report.profile.options, f"profile {profile}")
    places |= request.places
    return {name: places[name] for name in ("profile", *OPTION_VOCABULARY) if name in places}


def _place_lines(request: CommandRequest, result: Result) -> Iterator[str]:
    """Yield each place that sets options, but flags and layout: those are in sight."""
    values = {"profile": request.profile, **msgspec.structs.asdict(result.report.page.options)}
    set_by: dict[str, list[str]] = {}
    for name, place in option_places(request, result).items():
        if not place.startswith(("--", "layout ")):
            value = shorten(printable(flag_value(values[name])), MAX_NAME_COLUMNS)
            set_by.setdefault(place.rpartition(":")[0] or place, []).append(f"{name} {value}")
    if set_by:
        yield ""
    for place, settings in set_by.items():
        yield from _wrapped("", f"{printable(place)} sets {', '.join(settings)}")


# --- costs ----------------------------------------------------------------------------------------


def _cost_lines(result: Result) -> Iterator[str]:
    explanation = result.explain()
    yield from _section_lines(explanation)
    limit = "no limit"
    if explanation.max_tokens is not None:
        limit = f"of {explanation.max_tokens:,}"
    # Two texts side by side may take fewer tokens than both alone: then this figure is negative.
    between = "headings, separators"
    if explanation.between < 0:
        between = "less where texts meet"
    overhead = explanation.frame
    if not result.text:
        overhead = 0
    items = sum(section.tokens for section in explanation.sections)
    exact = ("approximate", "exact")[result.exact]
    figures = [
        ("items", f"{items:,}", ""),
        (between, f"{explanation.between:,}", ""),
        ("the templates' own text", f"{overhead:,}", ""),
        ("tokens", f"{explanation.tokens:,}", f"{limit} ({exact}, {result.tokenizer})"),
    ]
    if explanation.left:
        figures.append(("left", f"{explanation.left:,}", ""))
    if (max_chars := result.manifest["options"]["max_chars"]) is not None:
        figures.append(("characters", f"{result.chars:,}", f"of {max_chars:,}"))
    wide = max(len(figure) for _, figure, _ in figures)
    for name, figure, rest in figures:
        yield f"{name:<23}  {figure:>{wide}} {rest}".rstrip()
    if not result.text and explanation.frame > (explanation.max_tokens or 0):
        cost = f"{explanation.frame:,} tokens"
        yield f"The templates' own text alone takes {cost}, so the text is empty."


def _section_lines(explanation: Explanation) -> Iterator[str]:
    rows = []
    for section in explanation.sections:
        subtotal = ""
        if section.subtotal is not None:
            subtotal = f"{section.subtotal:,}"
        name = _section_name(section.title, section.key)
        rows.append([name, f"{section.items:,}", f"{section.tokens:,}", subtotal])
    columns = [Column("section", cut=True), Column("items", right=True)]
    columns += [Column("tokens", right=True), Column("with headings", right=True)]
    # A page without sections has one row that says what the figures below say.
    if len(rows) > 1 or any(section.title for section in explanation.sections):
        yield from table_lines(columns, rows)
        yield ""


def _section_name(title: str, key: str) -> str:
    return printable(title or key) or NO_PATH


def _gain_lines(result: Result) -> Iterator[str]:
    """Yield the least budget that brings an item back, and the gain of a step of tokens more."""
    explanation, report = result.explain(), result.report
    gains, step = explanation.gains, f"{explanation.step:,} tokens more"
    ids = {name for gain in gains or () for name in gain.items[:MAX_GAINED_NAMES]}
    if explanation.next_item is not None:
        ids.add(explanation.next_item)
    labels = _labels(report, ids)
    if explanation.next_at is not None and explanation.next_item is not None:
        yield ""
        line = f"The least budget that brings something back: {explanation.next_at:,}"
        room = screen_columns() - len(line) - 3
        if room > 8:  # less is no name any more
            line += f" ({shorten(labels[explanation.next_item], room)})"
        yield line
    if gains is None or not (gains or result.truncated):
        return
    yield ""
    if not gains:
        yield f"{step} would bring nothing{_window_hint(report, explanation)}."
        return
    columns = [
        Column(f"{step} bring", cut=True, least=23), Column("items", right=True, spare=2),
        Column("tokens", right=True), Column("worth", right=True, spare=3),
        Column("these", cut=True, spare=1),
    ]  # fmt: skip
    yield from table_lines(columns, list(_gain_rows(gains, labels)))


def _gain_rows(gains: Sequence[Gain], labels: Mapping[str, str]) -> Iterator[list[str]]:
    # A section that makes room brings nothing: of a hundred of them one row says enough.
    makes_room = [gain for gain in gains if not gain.items and gain.tokens <= 0]
    if len(makes_room) < 2:
        makes_room = []
    for gain in gains:
        if gain in makes_room:
            continue
        these = ", ".join(labels[each] for each in gain.items[:MAX_GAINED_NAMES])
        if len(gain.items) > MAX_GAINED_NAMES:
            these += "…"
        figures = [f"{len(gain.items):,}", f"{gain.tokens:+,}", f"{gain.worth:+.2f}"]
        yield [_section_name(gain.title, gain.key), *figures, these]
    if makes_room:
        tokens = sum(gain.tokens for gain in makes_room)
        worth = sum(gain.worth for gain in makes_room)
        yield [f"{len(makes_room):,} others make room", "0", f"{tokens:+,}", f"{worth:+.2f}", ""]


def _window_hint(report: Report, explanation: Explanation) -> str:
    options = report.page.options
    budget = (explanation.max_tokens or 0) + explanation.step
    # With a larger budget the same window would be too small: that is the flag to raise.
    window = options.context_window
    if window is None or budget <= window - (options.reserve or 0):
        return ""
    return ": --context-window leaves no room for them"


def _map_lines(result: Result) -> Iterator[str]:
    columns = [Column("characters", right=True), Column("item", cut=True), Column("form")]
    columns += [Column("template", cut=True), Column("text", cut=True)]
    rows = []
    for span in result.map:
        item, text = printable(span.item or ""), printable(result.text[span.start : span.end], 60)
        place = f"{span.template}:{span.line}"
        rows.append([f"{span.start}-{span.end}", item, span.form or "", place, text])
    yield ""
    yield from table_lines(columns, rows)


# --- two builds -----------------------------------------------------------------------------------


_FOLDER_WORDS = ("profile", "templates", "profiles")
_ASSIGNMENT = re.compile(r"[A-Za-z][A-Za-z_-]*=")
_NEXT_ASSIGNMENT = re.compile(r",(?=[A-Za-z][A-Za-z_-]*=)")
"""A comma before a name and `=`: any other comma belongs to a value."""
_SAVE_HINT = "save one with: promptforge render --json -o FILE"
_SOURCE_FLAGS = (
    *("files", "documents", "man_pages", "techniques", "attack", "job"),
    *("profile", "templates", "profiles"),
)
FitsAt = dict[int, Callable[[], int | None]]
"""`id` of an item of a build → the budget that brings it back."""
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
        results = _render_sides(sides, read_request(items, given))
    elif items or given_options({**given, "strict": False}) or any(map(given.get, _SOURCE_FLAGS)):
        raise click.UsageError(
            "A and B are both saved results, so nothing is rendered: leave out ITEMS and options"
        )
    builds = [
        build_from_result(results[number], brief=not as_json)
        if isinstance(side, BuildOptions)
        else side
        for number, side in enumerate(sides)
    ]
    found = compare_builds(*builds)
    _print_by_side(found.warnings, quiet=given["quiet"])
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
        lines += _change_lines(found.items, given["every"], _fits_at(builds, results))
        lines += [*_verdict(builds, found), *map(printable_line, changed)]
        write_lines(lines, output, _paint_diff)
    return exit_code(*results.values()) or int(given["by_code"] and found.differs)


def _fits_at(builds: Sequence[Build | BuildManifest], results: Mapping[int, Result]) -> FitsAt:
    """Return, for each item of the builds made here, a function that finds its `fits_at`."""
    # The number of an item costs renderings: each of the few rows asks for its own.
    found: FitsAt = {}
    for number, result in results.items():
        near = result.report.hints.near
        items = getattr(builds[number], "items", ())
        found |= {id(item): partial(near, index) for index, item in enumerate(items)}
    return found


def _render_sides(
    sides: Sequence[BuildOptions | Build | BuildManifest], request: CommandRequest
) -> dict[int, Result]:
    """Render the sides that are options; return the results by the number of the side."""
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
                made[number] = own, own.renderer()
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


def _print_by_side(diagnostics: Sequence[BuildDiagnostic], *, quiet: bool) -> None:
    for sides in (["A", "B"], ["A"], ["B"]):
        said = [each.said for each in diagnostics if each.sides == sides]
        print_diagnostics(said, quiet=quiet, lead=f"{' and '.join(sides)}: ")


_DIFF_COLOURS = {"changed": "yellow", "only A": "red", "only B": "green"}


def _paint_diff(line: str) -> str:
    for word, colour in _DIFF_COLOURS.items():
        if line.startswith(f"{word} "):
            return click.style(word, fg=colour) + line[len(word) :]
    if line.startswith(("+++", "---", "A: ", "B: ")):
        return click.style(line, bold=True)
    if line.startswith("@@"):
        return click.style(line, fg="cyan")
    if line.startswith(("+", "-")):
        return click.style(line, fg="green" if line[0] == "+" else "red")
    return line


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
    """The request of a whole prompt."""


def _read_saved(path: str) -> Build | BuildManifest:
    data = Path(path).read_bytes().removeprefix(b"\xef\xbb\xbf")
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


def printable_line(line: str) -> str:
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
        change = ""
        if figure.a != figure.b:
            change = f"{figure.b - figure.a:+,}"
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
        yield from table_lines(
            [Column(heading, cut=True) for heading in ("made of", "A", "B")], rows
        )
        yield ""


def _number(count: int, words: str) -> str:
    if not count:
        return "-"
    return f"{count:,} {words}"


def _value(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return ("no", "yes")[value]
    if isinstance(value, list):
        return ", ".join(map(printable, value))
    text = str(value)
    if _HASH.fullmatch(text):
        return text[:12]
    return printable(text)


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


def _change_lines(items: Sequence[ItemChange], every: bool, fits_at: FitsAt) -> Iterator[str]:
    # Equal items and items in neither text are most of a large build; a count will do.
    rows = [change for change in items if every or change.how not in ("same", "neither")]
    shown = rows
    if not every:
        shown = rows[:MAX_TABLE_ROWS]
    columns = [
        Column(""), Column("item", cut=True, paths=True, least=14),
        Column("kind", cut=True, spare=6), Column("A", spare=2), Column("B", spare=1),
        Column("A tok", right=True, spare=5), Column("B tok", right=True, spare=4),
        Column("change", right=True), Column("why"), Column("fits at", right=True, spare=3),
    ]  # fmt: skip
    if shown:
        yield from table_lines(columns, [_change_row(change, fits_at) for change in shown])
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


def _change_row(change: ItemChange, fits_at: FitsAt) -> list[str]:
    item = change.a or change.b
    assert item is not None
    forms, tokens = ["not given"] * 2, ["-"] * 2
    for side, each in enumerate((change.a, change.b)):
        if each is not None:
            forms[side] = each.form or "out"
            if each.status != "dropped":
                tokens[side] = f"{each.tokens:,}"
    delta = ""
    if change.delta:
        delta = f"{change.delta:+,}"
    row = [change.how, _label(item), printable(item.kind), *forms, *tokens, delta]
    dropped = [each for each in (change.b, change.a) if each and each.status == "dropped"]
    if not dropped:
        return [*row, "", ""]
    budget = dropped[0].fits_at
    if id(dropped[0]) in fits_at:
        budget = fits_at[id(dropped[0])]()
    number = ""
    if budget is not None:
        number = f"{budget:,}"
    return [*row, printable(dropped[0].reason), number]


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
