"""`promptforge explain`: where the budget went, item by item, and what more of it would bring.

Say in words why items are out, and name the flags that bring them back.

Write pictures of a budget to files.
"""

from __future__ import annotations

import json
import shlex
import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ..authoring.charts import BudgetChart
from ..model import Explanation, Remedy, Result, ResultItem, path_with_lines
from .inputs import exit_code, input_flags, read_request
from .output import (
    Column,
    plural,
    printable,
    screen_columns,
    shorten,
    table_lines,
    write_json,
    write_output,
)

if TYPE_CHECKING:
    from ..rendering.report import Report

REASON_TEXTS = {
    "budget": "too little room",
    "section_budget": "its section took all it may by section_budgets",
    "max_items": "past the {max_items} that --max-items lets in of what a search found",
    "min_score": "found by a search with a score below {min_score}",
    "kinds": "its kind is not one of --kinds",
    "paths": "its path matches none of --paths",
    "languages": "its language is not one of --languages",
    "duplicate": "another item holds its text",
    "merged": "joined with an overlapping range of its file, which stands for both",
    "combine": "found by a search, and what was named comes first",
}
"""Reason of an item that is dropped or shortened → the same in words."""

_NUMBER = "--max-tokens with the number under 'fits at' brings the item back whole"

_NAME = 40
"""Columns of a name among words."""


def reason_lines(
    counts: Mapping[str, int],
    ways: Sequence[Remedy],
    names: Mapping[str, str],
    options: Mapping[str, Any],
    beyond: int | None,
) -> Iterator[str]:
    """Yield lines on each reason that occurs: its meaning, and flags that bring such items back.

    `counts` has the number of items by reason, `names` the labels of the items of `ways`, `options`
    all options in force. `beyond` is the largest budget that was tried, in tokens.
    """
    known = {way.reason: way for way in ways}
    options = {name: ("none", value)[value is not None] for name, value in options.items()}
    wide = max((len(reason) for reason in REASON_TEXTS if reason in counts), default=0)
    for reason, text in REASON_TEXTS.items():
        if reason not in counts:
            continue
        way = known.get(reason)
        said = [text.format_map(options)]
        if reason in ("budget", "section_budget") and (way is None or way.items < counts[reason]):
            said.append(_NUMBER)
            if beyond is not None:
                said.append(
                    f">{beyond:,}: even that is too little, and --json says how much is enough"
                )
        yield from _wrapped(f"{reason:<{wide}}  ", "; ".join(said))
        if way is not None:
            some = "where there is none: " * (len(said) > 1)
            yield from _wrapped(" " * (wide + 2), some + _way(way, names[way.item]))
    if counts:
        yield ""


def _way(way: Remedy, name: str) -> str:
    name = shorten(name, _NAME)
    if not way.options:
        return f"no change of one option after the other that was tried brings {name} back"
    if not way.back:
        return f"with {as_flags(way.options)} nothing but too little room keeps {name} out"
    return f"{as_flags(way.options)} brings {name} back{_others(way.back - 1, way.items - 1)}"


def _others(back: int, there: int) -> str:
    """Say how many of the other items for the same reason come back too."""
    if not there:
        return ""
    others = plural(there, "the other one", f"the {there:,} others")
    if back == there:
        return f", and {others}"
    if not back:
        return f", not {others}"
    return f", and {back:,} of {others}"


def as_flags(options: Mapping[str, Any]) -> str:
    """Return options as one types them; in words the flags to leave out."""
    typed = [_flag(name, value) for name, value in options.items() if not _lifted(name, value)]
    gone = [f"leaving out --{name}" for name, value in options.items() if _lifted(name, value)]
    return " and ".join(filter(None, [" ".join(typed), *gone]))


def _lifted(name: str, value: object) -> bool:
    """Return true for a filter that is switched off: as a flag it has no word for that."""
    return value is None and name in ("kinds", "paths", "languages")


def _flag(name: str, value: Any) -> str:
    word = name.replace("_", "-")
    if isinstance(value, bool):
        return ("--no-", "--")[value] + word
    if value is None:
        value = "none"
    elif isinstance(value, dict):
        value = json.dumps(value, ensure_ascii=False)
    elif isinstance(value, list):
        value = ",".join(value)
    return f"--{word} {shlex.quote(str(value))}"


def _wrapped(head: str, text: str) -> list[str]:
    indent = " " * len(head)
    return textwrap.wrap(
        text,
        screen_columns(),
        initial_indent=head,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    )


def write_charts(
    result: Result, at: Callable[[int], Result], html: str | None, svg: str | None
) -> None:
    """Write the chart of a result to the files that are named; `at` renders another budget."""
    chart = BudgetChart(result, at)
    if html:
        write_output(chart.html(), html)
    if svg:
        write_output(chart.svg(), svg)


NO_PATH = "(no path)"
"""Name of the section of items without a path."""

MAX_TABLE_ROWS = 60
"""Rows of a table; further dropped items are only counted."""

_STATUS = {"included": "in", "trimmed": "cut", "dropped": "out"}


@click.command("explain")
@click.argument("items", nargs=-1, metavar="[ITEMS]...")
@input_flags
@click.option(
    "--all",
    "every",
    is_flag=True,
    help=f"A row for each item, even if there are more than {MAX_TABLE_ROWS}.",
)
@click.option(
    "--map", "with_map", is_flag=True, help="Also: which template line printed which characters."
)
@click.option(
    "--html",
    metavar="FILE",
    help="Also write a page with a picture of the budget; it needs no script.",
)
@click.option("--svg", metavar="FILE", help="Also write that picture alone.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the result and its explanation as JSON."
)
@click.option("-o", "--output", metavar="FILE", help="Write there instead of to standard output.")
def explain_command(
    items: tuple[str, ...],
    every: bool,
    with_map: bool,
    html: str | None,
    svg: str | None,
    as_json: bool,
    output: str | None,
    **given: Any,
) -> int:
    """Explain a rendering: why each item is in or out, and its cost.

    It takes the arguments of `render`. Items come in the order of packing: `in` is whole, `cut`
    shortened, `out` dropped. `tokens` is the cost of an item, `whole` its cost in full. With
    `fits at` as --max-tokens it comes back whole. Flags that are said to bring an item back have
    been tried. `worth` is the score of an item that comes in; a shortened one has its share.
    """
    request = read_request(items, given)
    renderer = request.renderer()
    loaded = request.gather()
    result = request.render(renderer, loaded)
    explanation = result.explain()
    if html or svg:
        write_charts(
            result,
            lambda most: renderer.render(loaded, **{**request.options, "max_tokens": most}),
            html,
            svg,
        )
    if as_json:
        facts = {
            **result.to_dict(),
            "explanation": msgspec.to_builtins(explanation),
            "ways": msgspec.to_builtins(result.remedies()),
        }
        write_json(facts | ({"map": msgspec.to_builtins(result.map)} if with_map else {}), output)
    else:
        ledger: Report = result.report
        lines = [
            *_items(ledger, every),
            "",
            *_why(ledger, result.remedies()),
            *_costs(result, explanation),
        ]
        lines += [
            *_more(ledger, explanation, result.truncated),
            *(_spans(result) if with_map else ()),
        ]
        write_output("\n".join(lines) + "\n", output)
    return exit_code(result)


def item_label(item: Mapping[str, Any]) -> str:
    """Return the label of an item: its path and lines, its name, or its id."""
    if item.get("path"):
        return path_with_lines(
            printable(item["path"]), item.get("start_line"), item.get("end_line")
        )
    return printable(item.get("name") or item["id"])


def _label(item: ResultItem) -> str:
    return item_label(
        {name: getattr(item, name) for name in ("path", "start_line", "end_line", "name", "id")}
    )


def _names(ledger: Report, ids: Collection[str]) -> dict[str, str]:
    """Return the labels of the items with these ids."""
    found: dict[str, str] = {}
    for index in ledger.ranked if ids else ():
        if (name := ledger.name(index)) in ids and name not in found:
            found[name] = _label(ledger.item(index, ledger.hints.near))
            if len(found) == len(ids):
                break
    return found


def _score(score: float) -> str:
    if abs(score) < 1000:
        return f"{score:.2f}"
    return f"{score:.3g}"


def _items(ledger: Report, every: bool) -> Iterator[str]:
    ranked = ledger.ranked
    out = [index for index in ranked if ledger.status(index) == "dropped"]
    room = max(MAX_TABLE_ROWS // 3, MAX_TABLE_ROWS - (len(ranked) - len(out)))
    hidden: list[int] = []
    if not every and len(ranked) > MAX_TABLE_ROWS:
        hidden = out[room:]
    gone = set(hidden)
    columns = [
        Column(""), Column("#", right=True, spare=3), Column("item", cut=True, paths=True, least=14),
        Column("kind", cut=True, spare=4), Column("score", right=True, spare=5), Column("form", spare=6),
        Column("tokens", right=True, spare=1), Column("whole", right=True, spare=2),
        Column("why"), Column("fits at", right=True),
    ]  # fmt: skip
    rows = [
        _row(ledger, ledger.item(index, ledger.hints.near)) for index in ranked if index not in gone
    ]
    if rows:
        yield from table_lines(columns, rows, total=screen_columns())
    if hidden:
        yield f"out  and {len(hidden):,} more ({_counted(map(ledger.reason, hidden))}); --all shows them"
    counts = Counter(_STATUS[ledger.status(index)] for index in ranked)
    each = ", ".join(f"{counts[word]:,} {word}" for word in _STATUS.values())
    yield f"{len(ranked):,} {plural(len(ranked), 'item', 'items')}: {each}"


def _row(ledger: Report, item: ResultItem) -> list[str]:
    beyond = ledger.hints.beyond
    fits_at = ""
    if item.fits_at is not None:
        fits_at = f"{item.fits_at:,}"
    elif beyond is not None and item.reason in ("budget", "section_budget"):
        fits_at = f">{beyond:,}"  # the largest budget that was tried is still too small
    return [
        _STATUS[item.status],
        str(item.rank or ""),
        _label(item),
        printable(item.kind),
        _score(item.score),
        item.form or "-",
        (f"{item.tokens:,}", "-")[item.form is None],
        f"{item.tokens_full:,}",
        item.reason,
        fits_at,
    ]


def _counted(reasons: Iterable[str]) -> str:
    return ", ".join(f"{reason} {count:,}" for reason, count in Counter(reasons).most_common())


def _why(ledger: Report, ways: Sequence[Remedy]) -> Iterator[str]:
    counts = Counter(
        ledger.reason(index) for index in ledger.ranked if ledger.status(index) != "included"
    )
    names = _names(ledger, {way.item for way in ways})
    yield from reason_lines(
        counts, ways, names, msgspec.structs.asdict(ledger.page.options), ledger.hints.beyond
    )


def _costs(result: Result, explanation: Explanation) -> Iterator[str]:
    yield from _section_costs(explanation)
    kind = ("approximate", "exact")[result.exact]
    items = sum(section.tokens for section in explanation.sections)
    limit = "no limit"
    if explanation.max_tokens is not None:
        limit = f"of {explanation.max_tokens:,}"
    # Two texts side by side may take fewer tokens than both alone, so this figure may be negative.
    between = "headings, separators"
    if explanation.between < 0:
        between = "less where texts meet"
    figures = [
        ("items", f"{items:,}", ""),
        (between, f"{explanation.between:,}", ""),
        ("frame of the templates", f"{explanation.frame * bool(result.text):,}", ""),
        ("tokens", f"{explanation.tokens:,}", f"{limit} ({kind}, {result.tokenizer})"),
    ]
    wide = max(len(figure) for _, figure, _ in figures)
    for name, figure, rest in figures:
        yield f"{name:<22}  {figure:>{wide}} {rest}".rstrip()
    if explanation.left:
        yield f"{'left':<22}  {explanation.left:>{wide},}"
    if (chars := result.manifest["options"]["max_chars"]) is not None:
        yield f"{'characters':<22}  {result.chars:>{wide},} of {chars:,}"
    if not result.text and explanation.frame > (explanation.max_tokens or 0):
        cost = f"{explanation.frame:,} tokens"
        yield f"The frame of the templates alone takes {cost}, so the text is empty."


def _section_costs(explanation: Explanation) -> Iterator[str]:
    rows = []
    for section in explanation.sections:
        subtotal = ""
        if section.subtotal is not None:
            subtotal = f"{section.subtotal:,}"
        name = printable(section.title or section.key) or NO_PATH
        rows.append([name, f"{section.items:,}", f"{section.tokens:,}", subtotal])
    columns = [
        Column("section", cut=True), Column("items", right=True), Column("tokens", right=True),
        Column("with headings", right=True),
    ]  # fmt: skip
    if len(rows) > 1 or any(section.title for section in explanation.sections):
        yield from table_lines(columns, rows, total=screen_columns())
        yield ""


def _more(ledger: Report, explanation: Explanation, truncated: bool) -> Iterator[str]:
    wanted = {name for gain in explanation.gains or () for name in gain.items[:3]}
    if explanation.next_item is not None:
        wanted.add(explanation.next_item)
    names = _names(ledger, wanted)
    if explanation.next_at is not None and explanation.next_item is not None:
        yield ""
        line = f"The least budget that brings something back: {explanation.next_at:,}"
        room = screen_columns() - len(line) - 3
        if room > 8:
            line += f" ({shorten(names[explanation.next_item], room)})"
        yield line
    if explanation.gains is None or not (explanation.gains or truncated):
        return
    yield ""
    if not explanation.gains:
        yield f"{explanation.step:,} tokens more would bring nothing{_no_window(ledger, explanation)}."
        return
    columns = [
        Column(f"{explanation.step:,} tokens more bring", cut=True, least=23), Column("items", right=True, spare=2),
        Column("tokens", right=True), Column("worth", right=True, spare=3), Column("these", cut=True, spare=1),
    ]  # fmt: skip
    rows = []
    for gain in explanation.gains:
        these = ", ".join(names[each] for each in gain.items[:3]) + "…" * (len(gain.items) > 3)
        section = printable(gain.title or gain.key) or NO_PATH
        rows.append(
            [section, f"{len(gain.items):,}", f"{gain.tokens:+,}", f"{gain.worth:+.2f}", these]
        )
    yield from table_lines(columns, rows, total=screen_columns())


def _no_window(ledger: Report, explanation: Explanation) -> str:
    options = ledger.page.options
    budget = (explanation.max_tokens or 0) + explanation.step
    window = options.context_window
    if window is None or budget <= window - (options.reserve or 0):
        return ""
    return ": --context-window leaves no room for them"


def _spans(result: Result) -> Iterator[str]:
    columns = [
        Column("characters", right=True), Column("item", cut=True), Column("form"), Column("template", cut=True),
        Column("text", cut=True),
    ]  # fmt: skip
    rows = [
        [
            f"{span.start}-{span.end}",
            printable(span.item or ""),
            span.form or "",
            f"{span.template}:{span.line}",
            printable(result.text[span.start : span.end], 60),
        ]
        for span in result.map
    ]
    yield ""
    yield from table_lines(columns, rows, total=screen_columns())
