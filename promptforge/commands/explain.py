"""`promptforge explain`: where the budget went, item by item, and what more of it would bring."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ..explanations import Explanation, Way
from ..items import span
from ..results import Result, ResultItem
from .inputs import exit_code, input_flags, read
from .output import write, write_json
from .picture import draw
from .reasons import reasons
from .tables import Column, screen, shorten, shown, table

if TYPE_CHECKING:
    from ..ledger import Ledger

NO_PATH = "(no path)"
"""What a table calls the section of items without a path, which has no name of its own."""
ROWS = 60
"""With more items than these, some that are not in the text are only counted."""

_STATUS = {"included": "in", "trimmed": "cut", "dropped": "out"}


@click.command("explain")
@click.argument("items", nargs=-1, metavar="[ITEMS]...")
@input_flags
@click.option(
    "--all", "every", is_flag=True, help=f"A row for each item, even if there are more than {ROWS}."
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
def command(
    items: tuple[str, ...],
    every: bool,
    with_map: bool,
    html: str | None,
    svg: str | None,
    as_json: bool,
    output: str | None,
    **given: Any,
) -> int:
    """Explain what `render` makes of the same arguments: which item is in or out and why, and what it costs.

    Items come in the order in which they were considered: `in` is whole, `cut` shortened, `out` left out. `tokens` is
    what an item takes and `whole` what it would take so; with `fits at` as --max-tokens it comes back whole. Flags that
    are said to bring an item back have been tried. `worth` is the score of what comes in; shortened, its share.
    """
    request = read(items, given)
    renderer = request.renderer()
    loaded = request.gather()
    result = request.render(renderer, loaded)
    explanation = result.explain()
    if html or svg:
        draw(
            result,
            lambda most: renderer.render(loaded, **{**request.options, "max_tokens": most}),
            html,
            svg,
        )
    if as_json:
        facts = {
            **result.to_dict(),
            "explanation": msgspec.to_builtins(explanation),
            "ways": msgspec.to_builtins(result.ways()),
        }
        write_json(facts | ({"map": msgspec.to_builtins(result.map)} if with_map else {}), output)
    else:
        ledger: Ledger = result._get("ledger")
        lines = [
            *_items(ledger, every),
            "",
            *_why(ledger, result.ways()),
            *_costs(result, explanation),
        ]
        lines += [
            *_more(ledger, explanation, result.truncated),
            *(_spans(result) if with_map else ()),
        ]
        write("\n".join(lines) + "\n", output)
    return exit_code(result)


def name_of(item: Mapping[str, Any]) -> str:
    """Return what a table calls an item: its path and lines, its name, or its id."""
    if item.get("path"):
        return span(shown(item["path"]), item.get("start_line"), item.get("end_line"))
    return shown(item.get("name") or item["id"])


def _label(item: ResultItem) -> str:
    return name_of(
        {name: getattr(item, name) for name in ("path", "start_line", "end_line", "name", "id")}
    )


def _names(ledger: Ledger, ids: Collection[str]) -> dict[str, str]:
    """Return what a table calls the items of these ids."""
    found: dict[str, str] = {}
    for index in ledger.ranked if ids else ():
        if (name := ledger.name(index)) in ids and name not in found:
            found[name] = _label(ledger.item(index, ledger.back.near))
            if len(found) == len(ids):
                break
    return found


def _score(score: float) -> str:
    return f"{score:.2f}" if abs(score) < 1000 else f"{score:.3g}"


def _items(ledger: Ledger, every: bool) -> Iterator[str]:
    ranked = ledger.ranked
    out = [index for index in ranked if ledger.status(index) == "dropped"]
    room = max(ROWS // 3, ROWS - (len(ranked) - len(out)))
    hidden = out[room:] if not every and len(ranked) > ROWS else []
    gone = set(hidden)
    columns = [
        Column(""), Column("#", right=True, spare=3), Column("item", cut=True, paths=True, least=14),
        Column("kind", cut=True, spare=4), Column("score", right=True, spare=5), Column("form", spare=6),
        Column("tokens", right=True, spare=1), Column("whole", right=True, spare=2),
        Column("why"), Column("fits at", right=True),
    ]  # fmt: skip
    rows = [
        _row(ledger, ledger.item(index, ledger.back.near)) for index in ranked if index not in gone
    ]
    if rows:
        yield from table(columns, rows, total=screen())
    if hidden:
        yield f"out  and {len(hidden):,} more ({_counted(map(ledger.reason, hidden))}); --all shows them"
    counts = Counter(_STATUS[ledger.status(index)] for index in ranked)
    total = f"{len(ranked):,} item{'' if len(ranked) == 1 else 's'}"
    yield f"{total}: {', '.join(f'{counts[word]:,} {word}' for word in _STATUS.values())}"


def _row(ledger: Ledger, item: ResultItem) -> list[str]:
    beyond = (
        ledger.back.beyond
        if item.fits_at is None and item.reason in ("budget", "section_budget")
        else None
    )
    return [
        _STATUS[item.status],
        "" if item.rank is None else str(item.rank),
        _label(item),
        shown(item.kind),
        _score(item.score),
        item.form or "-",
        f"{item.tokens:,}" if item.form else "-",
        f"{item.tokens_full:,}",
        item.reason,
        f">{beyond:,}"
        if beyond is not None
        else ""
        if item.fits_at is None
        else f"{item.fits_at:,}",
    ]


def _counted(reasons: Iterable[str]) -> str:
    return ", ".join(f"{reason} {count:,}" for reason, count in Counter(reasons).most_common())


def _why(ledger: Ledger, ways: Sequence[Way]) -> Iterator[str]:
    counts = Counter(
        ledger.reason(index) for index in ledger.ranked if ledger.status(index) != "included"
    )
    names = _names(ledger, {way.item for way in ways})
    yield from reasons(
        counts, ways, names, msgspec.structs.asdict(ledger.page.options), ledger.back.beyond
    )


def _costs(result: Result, explanation: Explanation) -> Iterator[str]:
    kind = "exact" if result.exact else "approximate"
    rows = [
        [
            shown(section.title or section.key) or NO_PATH,
            f"{section.items:,}",
            f"{section.tokens:,}",
            "" if section.subtotal is None else f"{section.subtotal:,}",
        ]
        for section in explanation.sections
    ]
    columns = [
        Column("section", cut=True), Column("items", right=True), Column("tokens", right=True),
        Column("with headings", right=True),
    ]  # fmt: skip
    if len(rows) > 1 or any(section.title for section in explanation.sections):
        yield from table(columns, rows, total=screen())
        yield ""
    items = sum(section.tokens for section in explanation.sections)
    most = "no limit" if explanation.max_tokens is None else f"of {explanation.max_tokens:,}"
    figures = [
        ["items", f"{items:,}"],
        [
            "headings, separators" if explanation.between >= 0 else "less where texts meet",
            f"{explanation.between:,}",
        ],
        ["frame of the templates", f"{explanation.frame if result.text else 0:,}"],
        ["tokens", f"{explanation.tokens:,} {most} ({kind}, {result.tokenizer})"],
    ]
    wide = max(len(figure.split()[0]) for _, figure in figures)
    for name, figure in figures:
        number, _, rest = figure.partition(" ")
        yield f"{name:<22}  {number:>{wide}} {rest}".rstrip()
    if explanation.left:
        yield f"{'left':<22}  {explanation.left:>{wide},}"
    if (chars := result.manifest["options"]["max_chars"]) is not None:
        yield f"{'characters':<22}  {result.chars:>{wide},} of {chars:,}"
    if not result.text and explanation.frame > (explanation.max_tokens or 0):
        yield f"The frame of the templates alone takes {explanation.frame:,} tokens, so the text is empty."


def _more(ledger: Ledger, explanation: Explanation, truncated: bool) -> Iterator[str]:
    wanted = {name for gain in explanation.gains or () for name in gain.items[:3]}
    names = _names(
        ledger, wanted | ({explanation.next_item} if explanation.next_item is not None else set())
    )
    if explanation.next_at is not None and explanation.next_item is not None:
        yield ""
        said = f"The least budget that brings something back: {explanation.next_at:,}"
        room = screen() - len(said) - 3
        yield said + (f" ({shorten(names[explanation.next_item], room)})" if room > 8 else "")
    if explanation.gains is None or not (explanation.gains or truncated):
        return
    yield ""
    if not explanation.gains:
        options, most = ledger.page.options, (explanation.max_tokens or 0) + explanation.step
        full = options.context_window is not None and most > options.context_window - (
            options.reserve or 0
        )
        why = ": --context-window leaves no room for them" if full else ""
        yield f"{explanation.step:,} tokens more would bring nothing{why}."
        return
    columns = [
        Column(f"{explanation.step:,} tokens more bring", cut=True, least=23), Column("items", right=True, spare=2),
        Column("tokens", right=True), Column("worth", right=True, spare=3), Column("these", cut=True, spare=1),
    ]  # fmt: skip
    rows = [
        [
            shown(gain.title or gain.key) or NO_PATH,
            f"{len(gain.items):,}",
            f"{gain.tokens:+,}",
            f"{gain.worth:+.2f}",
            ", ".join(names[each] for each in gain.items[:3])
            + ("…" if len(gain.items) > 3 else ""),
        ]
        for gain in explanation.gains
    ]
    yield from table(columns, rows, total=screen())


def _spans(result: Result) -> Iterator[str]:
    columns = [
        Column("characters", right=True), Column("item", cut=True), Column("form"), Column("template", cut=True),
        Column("text", cut=True),
    ]  # fmt: skip
    rows = [
        [
            f"{span.start}-{span.end}",
            shown(span.item) if span.item else "",
            span.form or "",
            f"{span.template}:{span.line}",
            shown(result.text[span.start : span.end], 60),
        ]
        for span in result.map
    ]
    yield ""
    yield from table(columns, rows, total=screen())
