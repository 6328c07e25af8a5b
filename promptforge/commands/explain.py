"""`promptforge explain`: where the budget went, item by item, and what more of it would bring."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click
import msgspec

from ..explanations import Explanation
from ..items import span
from ..results import Result, ResultItem
from .inputs import exit_code, input_flags, read
from .output import write, write_json
from .picture import draw
from .tables import Column, screen, shorten, shown, table

ROWS = 60
"""With more items than these, some that are not in the text are only counted."""

WHY = {
    "budget": "too little room; --max-tokens with the number under 'fits at' brings the item back whole",
    "section_budget": "its section took all it may; more for it in section_budgets brings the item back",
    "max_items": "past the first {max_items} items found by a search; a larger --max-items lets more in",
    "min_score": "found by a search with a score below {min_score}; a lower --min-score lets more in",
    "kinds": "its kind is not one of --kinds",
    "paths": "its path matches none of --paths",
    "languages": "its language is not one of --languages",
    "duplicate": "another item holds its text; --no-dedupe shows it all the same",
    "merged": "joined with an overlapping range of its file; --no-merge-overlaps keeps them apart",
    "combine": "a search found it, and named items come first; --combine combined shows both",
}
"""A reason, and the way to bring the item back."""

_MORE_ROOM = "too little room; a larger --max-tokens, --max-chars or --context-window, whichever is full, makes more"
_STATUS = {"included": "in", "trimmed": "cut", "dropped": "out"}


@click.command("explain")
@click.argument("items", nargs=-1, metavar="[ITEMS]...")
@input_flags
@click.option("--all", "every", is_flag=True, help=f"A row for each item, even if there are more than {ROWS}.")
@click.option("--map", "with_map", is_flag=True, help="Also: which template line printed which characters.")
@click.option("--html", metavar="FILE", help="Also write a page with a picture of the budget; it needs no script.")
@click.option("--svg", metavar="FILE", help="Also write that picture alone.")
@click.option("--json", "as_json", is_flag=True, help="Print the result and its explanation as JSON.")
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
    what an item takes and `whole` what it would take so; with `fits at` as --max-tokens it comes back whole.
    """
    request = read(items, given)
    renderer = request.renderer()
    loaded = request.gather()
    result = request.render(renderer, loaded)
    explanation = result.explain()
    if html or svg:
        draw(result, lambda most: renderer.render(loaded, **{**request.options, "max_tokens": most}), html, svg)
    if as_json:
        facts = {**result.to_dict(), "explanation": msgspec.to_builtins(explanation)}
        write_json(facts | ({"map": msgspec.to_builtins(result.map)} if with_map else {}), output)
    else:
        options = result.manifest["options"]
        lines = [*_items(result.items, every), "", *_why(result.items, options), *_costs(result, explanation)]
        lines += [*_more(result, explanation), *(_spans(result) if with_map else ())]
        write("\n".join(lines) + "\n", output)
    return exit_code(result)


def name_of(item: Mapping[str, Any]) -> str:
    """Return what a table calls an item: its path and lines, its name, or its id."""
    if item.get("path"):
        return span(shown(item["path"]), item.get("start_line"), item.get("end_line"))
    return shown(item.get("name") or item["id"])


def _label(item: ResultItem) -> str:
    return name_of({name: getattr(item, name) for name in ("path", "start_line", "end_line", "name", "id")})


def _score(score: float) -> str:
    return f"{score:.2f}" if abs(score) < 1000 else f"{score:.3g}"


def _items(items: Sequence[ResultItem], every: bool) -> Iterator[str]:
    ranked = sorted(items, key=lambda item: (item.rank is None, item.rank or 0))
    out = [item for item in ranked if item.status == "dropped"]
    room = max(ROWS // 3, ROWS - (len(ranked) - len(out)))
    hidden = out[room:] if not every and len(ranked) > ROWS else []
    gone = set(map(id, hidden))
    columns = [
        Column(""), Column("#", right=True), Column("item", cut=True, paths=True), Column("kind", cut=True),
        Column("score", right=True), Column("form"), Column("tokens", right=True), Column("whole", right=True),
        Column("why"), Column("fits at", right=True),
    ]  # fmt: skip
    rows = [
        [
            _STATUS[item.status],
            "" if item.rank is None else str(item.rank),
            _label(item),
            shown(item.kind),
            _score(item.score),
            item.form or "-",
            f"{item.tokens:,}" if item.form else "-",
            f"{item.tokens_full:,}",
            item.reason,
            "" if item.fits_at is None else f"{item.fits_at:,}",
        ]
        for item in ranked
        if id(item) not in gone
    ]
    if rows:
        yield from table(columns, rows, total=screen())
    if hidden:
        yield f"out  and {len(hidden):,} more ({_counted(hidden)}); --all shows them"
    counts = Counter(_STATUS[item.status] for item in items)
    total = f"{len(items):,} item{'' if len(items) == 1 else 's'}"
    yield f"{total}: {', '.join(f'{counts[word]:,} {word}' for word in _STATUS.values())}"


def _counted(items: Sequence[ResultItem]) -> str:
    return ", ".join(f"{reason} {count:,}" for reason, count in Counter(item.reason for item in items).most_common())


def _why(items: Sequence[ResultItem], options: Mapping[str, Any]) -> Iterator[str]:
    reasons = [reason for reason in WHY if any(item.reason == reason for item in items)]
    wide = max(map(len, reasons), default=0)
    for reason in reasons:
        text = WHY[reason].format_map(options)
        if reason == "budget" and not any(item.fits_at for item in items if item.reason == "budget"):
            text = _MORE_ROOM
        yield from _wrapped(f"{reason:<{wide}} ", text)
    if reasons:
        yield ""


def _wrapped(head: str, text: str) -> list[str]:
    return textwrap.wrap(text, screen(), initial_indent=head, subsequent_indent=" " * len(head))


def _costs(result: Result, explanation: Explanation) -> Iterator[str]:
    kind = "exact" if result.exact else "approximate"
    rows = [
        [
            shown(section.title or section.key) or "-",
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
        ["headings, separators" if explanation.between >= 0 else "less where texts meet", f"{explanation.between:,}"],
        ["frame of the templates", f"{explanation.frame if result.text else 0:,}"],
        ["tokens", f"{explanation.tokens:,} {most} ({kind}, {result.tokenizer})"],
    ]
    wide = max(len(figure.split()[0]) for _, figure in figures)
    for name, figure in figures:
        number, _, rest = figure.partition(" ")
        yield f"{name:<22}  {number:>{wide}} {rest}".rstrip()
    if explanation.left:
        yield f"{'left':<22}  {explanation.left:>{wide},}"
    if not result.text and explanation.frame > (explanation.max_tokens or 0):
        yield f"The frame of the templates alone takes {explanation.frame:,} tokens, so the text is empty."


def _more(result: Result, explanation: Explanation) -> Iterator[str]:
    names = {item.id: _label(item) for item in result.items}
    if explanation.next_at is not None and explanation.next_item is not None:
        yield ""
        said = f"The least budget that brings something back: {explanation.next_at:,} "
        yield f"{said}({shorten(names[explanation.next_item], screen() - len(said) - 2)})"
    if explanation.gains is None or not (explanation.gains or result.truncated):
        return
    yield ""
    if not explanation.gains:
        yield f"{explanation.step:,} tokens more would bring nothing."
        return
    columns = [
        Column(f"{explanation.step:,} tokens more bring", cut=True), Column("items", right=True),
        Column("tokens", right=True), Column("worth", right=True), Column("these", cut=True),
    ]  # fmt: skip
    rows = [
        [
            shown(gain.title or gain.key) or "-",
            f"{len(gain.items):,}",
            f"{gain.tokens:+,}",
            f"{gain.worth:+.2f}",
            ", ".join(names[each] for each in gain.items[:3]) + ("…" if len(gain.items) > 3 else ""),
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
