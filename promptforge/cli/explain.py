"""`explain`: tables that say where the budget went, and why each item is in or out.

They come in this order: the verdict, items, reasons with the flags that bring items back, costs,
and the gain of a larger budget. `reason_lines` puts reasons into words.
"""

from __future__ import annotations

import os
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ..config.models import price_of
from ..config.options import OPTION_VOCABULARY, as_flags, flag_name, flag_value
from ..engine import REASONS
from ..model import Explanation, Remedy, Result, ResultItem, budget_words, path_with_lines
from .flags import GroupedCommand, complete_path, input_flags, memory_flag, output_flags
from .inputs import CommandRequest, exit_code, read_request
from .output import (
    Column,
    check_output,
    painter,
    printable,
    progress_line,
    screen_columns,
    shorten,
    table_lines,
    write_json,
    write_lines,
    write_output,
)

if TYPE_CHECKING:
    from ..authoring.results import BuildItem
    from ..rendering.report import Report

MAX_TABLE_ROWS = 60
MAX_NAME_COLUMNS = 40
MAX_DECISIONS = 5
NO_PATH = "(no path)"
STATUS_WORDS = {"included": "in", "trimmed": "cut", "dropped": "out"}


@click.command("explain", cls=GroupedCommand)
@click.argument("items", nargs=-1, metavar="[ITEMS]...", shell_complete=complete_path)
@memory_flag
@input_flags
@click.option("--all", "every", is_flag=True, help=f"All rows, also beyond {MAX_TABLE_ROWS}.")
@click.option("--map", "with_map", is_flag=True, help="Also the template line of each part.")
@click.option("--html", metavar="FILE", help="Also write a page of it; it needs no script.")
@output_flags
def explain_command(
    items: tuple[str, ...], every: bool, with_map: bool, as_json: bool, output: str | None,
    **given: Any,
) -> int:  # fmt: skip
    """Say why each item of a rendering is in or out, and its cost.

    It takes the arguments of `render`. Items come in the order of packing: `in` is whole, `cut`
    shortened, `out` dropped. `tokens` is the cost of an item, `whole` its cost in full. With
    `fits at` as --max-tokens it comes back whole; all budgets tried below ≥N are too small. Flags
    that the account names have been tried.
    """
    request = read_request(items, {**given, "output": output})
    for path in request.outputs:
        check_output(path)
    if len({os.path.realpath(path) for path in request.outputs}) < len(request.outputs):
        raise click.UsageError("two outputs have the same name; choose different names")
    from ..engine import ContextRenderer

    renderer = request.renderer(ContextRenderer)
    request.remember()
    loaded = request.gather()
    with progress_line(after=1) as say:
        say(f"rendering {len(loaded):,} items")
        result = request.render(renderer, loaded)
        if given["html"]:
            from ..authoring.snapshot import draw_page

            say("drawing: other budgets are tried")
            write_output(draw_page(result), given["html"])
        if as_json:
            say("working out budgets and options that bring items back")
            facts = _facts(request, result)
            if with_map:
                facts["map"] = msgspec.to_builtins(result.map)
        else:
            say("working out the budgets that bring items back")
            lines = [*_verdict_lines(result), *item_lines(result.report, every), ""]
            say("trying options that bring items back")
            lines += _reason_lines(result)
            say("working out costs")
            lines += [*_cost_lines(result), *_gain_lines(result), *_place_lines(request, result)]
            if with_map:
                lines += _map_lines(result)
    if as_json:
        write_json(facts, output)
    else:
        write_lines(lines, output, _PAINT)
    return exit_code(result)


def _facts(request: CommandRequest, result: Result) -> dict[str, Any]:
    at = result.report.next  # first, as the table does: what it tries is known of the items
    facts = result.to_dict()
    facts["explanation"] = msgspec.to_builtins(result.explain())
    facts["next"] = None if at is None else {"at": at[0], "id": result.report.name(at[1])}
    facts["price"] = price_of(result.report.profile, result.tokens, exact=result.exact)
    facts["set_by"] = option_places(request, result)
    facts["remedies"] = msgspec.to_builtins(result.remedies())
    return facts


_PAINT = painter(
    (r"(in) .", "green"), (r"(cut) .", "yellow"), ("out .*", "bright_black"),
    (r" *#.*|section .*|[\d,]+ (?:of [\d,]+ )?tokens .*", "bold"),
)  # fmt: skip


# --- items ----------------------------------------------------------------------------------------


def _verdict_lines(result: Result) -> Iterator[str]:
    """Yield the size of the text, how many items are in, cut and out, and what comes in next."""
    report, budget = result.report, ""
    if result.max_tokens is not None:
        budget = f" of {result.max_tokens:,}"
    counts = Counter(STATUS_WORDS[report.status(index)] for index in report.ranked)
    each = ", ".join(f"{counts[word]:,} {word}" for word in STATUS_WORDS.values())
    price = price_of(result.report.profile, result.tokens, exact=result.exact)
    if price is not None:
        each = f"{price['says']} · {each}"
    line = f"{result.tokens:,}{budget} tokens · {each}"
    if report.next is not None:
        end = f" at {report.next[0]:,}"
        room = screen_columns() - len(f"{line} · next: {end}")
        if room > 8:  # a shorter one is no name
            line += f" · next: {shorten(item_label(report.item(report.next[1])), room)}{end}"
    yield from _wrapped("", line)


def item_lines(report: Report, every: bool) -> Iterator[str]:
    """Yield the table of items in the order of packing."""
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
    items = [report.item(index) for index in ranked if index not in skipped]
    reranked = any(item.ranking_score not in (None, item.score) for item in items)
    if reranked:
        columns[4] = Column("ranking", right=True, spare=5)
    rows = [_row(item, item.ranking_score if reranked else item.score) for item in items]
    if rows:
        yield ""
        yield from table_lines(columns, rows)
    if hidden:
        numbers = Counter(map(report.reason, hidden)).most_common()
        reasons = ", ".join(f"{reason} {number:,}" for reason, number in numbers)
        yield f"out  and {len(hidden):,} more ({reasons}); --all shows them"
    if report.order != [index for index in ranked if index in report.packed.chosen]:
        group, order = report.page.group_by, report.page.options.order
        groups = "" if group == "none" else f"by {group}, "
        yield f"listed in the order of packing; the text has them {groups}in the order {order}"


def _row(item: ResultItem, score: float | None) -> list[str]:
    number = "-"
    if score is not None:
        # A distance or a count of another system may be large; two decimals are for scores up to 1.
        number = f"{score:.3g}" if abs(score) >= 1000 else f"{score:.2f}"
    budget = budget_words(item.known("fits_at"), item.known("too_small"))
    tokens = f"{item.tokens:,}" if item.form else "-"
    named = [STATUS_WORDS[item.status], str(item.rank or ""), item_label(item)]
    named += [printable(item.kind), number, item.form or "-"]
    return [*named, tokens, f"{item.tokens_full:,}", item.reason, budget]


def item_label(item: ResultItem | BuildItem) -> str:
    """Return the label of an item: its path and lines, its name, or its id."""
    if item.path:
        return path_with_lines(printable(item.path), item.start_line, item.end_line)
    return printable(item.name or item.id)


# --- reasons --------------------------------------------------------------------------------------


def _reason_lines(result: Result) -> Iterator[str]:
    report, remedies = result.report, result.remedies()
    reasons = [report.reason(i) for i in report.ranked if report.status(i) != "included"]
    tried = {remedy.item for remedy in remedies}
    named = {remedy.reason for remedy in remedies}  # an id may be a hash of the whole content
    names = ((i, report.name(i)) for i in reversed(report.ranked) if report.reason(i) in named)
    labels = {name: item_label(report.item(i)) for i, name in names if name in tried}
    options = report.page.options.plain()
    yield from reason_lines(Counter(reasons), remedies, labels, options)
    yield from _decision_lines(report)


def _decision_lines(report: Report) -> Iterator[str]:
    """Yield what the first items needed that lack room, and what stood before them."""
    lost = (report.item(i) for i in report.ranked if report.status(i) != "included")
    decided = [*islice((item for item in lost if item.known("decision")), MAX_DECISIONS)]
    for item in decided:
        decision = item.known("decision")
        unit = "" if decision.unit == "tokens" else f" {decision.unit}"
        ahead = ", ".join(f"{group} {number:,}" for group, number in decision.ahead.items())
        line = f"{decision.limit} left {decision.room:,}{unit} at its turn, of {decision.needs:,}"
        own = next(iter(decision.refused.values()), decision.needs)
        its_own = f" ({own:,} its own)" if own != decision.needs else ""
        line += f" needed{its_own}; before it came {ahead or 'nothing'}"
        line += "".join(f"; {limit} lacks {each:,}" for limit, each in decision.beside.items())
        yield shorten(item_label(item), screen_columns())
        yield from _wrapped("    ", line)
    if decided:
        yield ""


def reason_lines(
    counts: Mapping[str, int],
    remedies: Sequence[Remedy],
    labels: Mapping[str, str],
    options: Mapping[str, Any],
) -> Iterator[str]:
    """Yield lines on each reason that occurs: its meaning, and flags that bring such items back.

    `counts` has the number of items by reason, `labels` the labels of the items of `remedies`,
    `options` all options in force.
    """
    remedy_of = {remedy.reason: remedy for remedy in remedies}
    wide = max(map(len, counts), default=0)
    # In the order of the table, not of the items: two accounts can be compared line by line.
    for reason, about in REASONS.items():
        if reason not in counts:
            continue
        remedy = remedy_of.get(reason)
        texts = [about.fill(about.sentence, options, flag_name(about.option or ""))]
        if about.lacks_room and (remedy is None or remedy.items < counts[reason]):
            texts.append("--max-tokens with the number under 'fits at' brings it back whole")
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
    words = "the other one" if others == 1 else f"the {others:,} others"
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
    limit = f"of {explanation.max_tokens:,}" if explanation.max_tokens is not None else "no limit"
    overhead = explanation.overhead if result.text else 0
    items = sum(section.tokens for section in explanation.sections)
    exact = ("approximate", "exact")[result.exact]
    figures = [
        ("items", f"{items:,}", ""),
        # Negative where two texts side by side take fewer tokens than both alone.
        ("joins", f"{explanation.between:,}", ""),
        ("template text", f"{overhead:,}", ""),
        ("tokens", f"{explanation.tokens:,}", f"{limit} ({exact}, {result.tokenizer})"),
    ]
    if explanation.left:
        figures.append(("left", f"{explanation.left:,}", ""))
    max_chars = result.report.page.options.max_chars  # a manifest has hashes of all items
    if max_chars is not None:
        figures.append(("characters", f"{result.chars:,}", f"of {max_chars:,}"))
    wide = max(len(figure) for _, figure, _ in figures)
    for name, figure, rest in figures:
        yield f"{name:<13}  {figure:>{wide}} {rest}".rstrip()
    price = price_of(result.report.profile, result.tokens, exact=result.exact)
    if price is not None:
        yield from _wrapped(f"{'price':<13}  ", printable(f"{price['says']}: {price['about']}"))
    if not result.text and explanation.overhead > (explanation.max_tokens or 0):
        cost = f"{explanation.overhead:,} tokens"
        yield f"The text of the templates alone takes {cost}, so the output is empty."


def _section_lines(explanation: Explanation) -> Iterator[str]:
    sections = explanation.sections
    # One row says what the figures below say, and sections of one item what the rows above say.
    if len(sections) > 1 and any(each.items > 1 for each in sections):
        columns = [
            Column("section", cut=True),
            *(Column(n, right=True) for n in ("items", "tokens")),
        ]
        rows = [
            [printable(s.title or s.key) or NO_PATH, f"{s.items:,}", f"{s.tokens:,}"]
            for s in sections
        ]
        yield from table_lines(columns, rows)
        yield ""


def _gain_lines(result: Result) -> Iterator[str]:
    gain = result.explain().gain
    if gain is not None and (gain.items or result.truncated):
        yield ""
        lines = _wrapped("", f"{printable(gain.says)}.")
        yield from (shorten(line, screen_columns()) for line in lines)


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
