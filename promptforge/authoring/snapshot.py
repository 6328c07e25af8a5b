"""Draw a result as the preview's page reads it, without a server, a script or anything to load.

`explain --html` and the page write it as a file, and notebooks show it. The colors are the page's.
"""

from __future__ import annotations

import bisect
import functools
import heapq
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..config.models import price_of
from ..engine import REASONS
from ..files.access import read_utf8
from ..model import Result, ResultItem, budget_words, path_with_lines
from ..text.escape import to_label
from ..text.words import terms_of_text, terms_of_word

if TYPE_CHECKING:
    import jinja2

MAX_GHOSTS, MAX_HITS = 60, 2000
"""Dropped items, and words of the query, that the text marks."""
MAX_ROWS, MAX_ROWS_OF_NOTEBOOK = 2000, 200
MAX_CHARS_OF_NOTEBOOK = 100_000
"""Characters of the text in a notebook, which keeps each output in its file."""
MAX_ITEMS_IN_BAR = 200
"""Items up to this number have a part of the bar each; more are shown by kind."""
_KINDS = ["code", "document", "error", "man_page", "mitre_attack", "section", "message", "function"]
"""Kinds with a hue of their own, as in the page's `rows.js`."""
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_UNSEEN = re.compile("[\xad\u061c\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
_PALETTE_FILE = Path(__file__).parent.parent / "preview" / "static" / "palette.css"


class BarPart(NamedTuple):
    """One use of the budget: `overhead`, `item`, `cut` (a trimmed item) or `free`."""

    what: str
    name: str
    tokens: int
    hue: str = ""


class TextPart(NamedTuple):
    """A part of the text, of one item or of none."""

    item: int | None
    hue: str
    ghosts: list[str]
    pieces: list[tuple[str, bool]]


def draw_page(result: Result) -> str:
    """Return a page of HTML, which is XML too; works out the budgets that bring items back."""
    result.explain()
    return _draw(result, MAX_ROWS, len(result.text), alone=True)


def draw_result(result: Result) -> str:
    """Return HTML for a notebook, with what is known already."""
    return _draw(result, MAX_ROWS_OF_NOTEBOOK, MAX_CHARS_OF_NOTEBOOK, alone=False)


def _draw(result: Result, rows: int, chars: int, *, alone: bool) -> str:
    report = result.report
    hues = _hues(item.kind for item in report.items)
    light, dark, tints = re.findall(
        r":root.*?{(.*?)}\s*:root.*?{(.*?)}(.*)", read_utf8(_PALETTE_FILE), re.S
    )[0]
    return _template().render(
        result=result,
        price=price_of(report.profile, result.tokens, exact=result.exact),
        alone=alone,
        light=light,
        dark=dark,
        tints=tints,
        parts=_bar_parts(result, hues),
        rows=[(index, report.items[index]) for index in report.ranked[:rows]],
        more=max(0, len(report.ranked) - rows),
        hues=hues,
        text=_text_parts(result, hues, chars) if result.text else (),
        cut=max(0, len(result.text) - chars),
    )


def _hues(kinds: Iterable[str]) -> dict[str, str]:
    """Return the class of each kind: the known ones have their own, the others come after."""
    every = dict.fromkeys([*_KINDS, *kinds])
    return {kind: f"t{number % 16}" for number, kind in enumerate(every)}


def _bar_parts(result: Result, hues: Mapping[str, str]) -> list[BarPart]:
    """Return the parts of the bar from left to right; very many items are shown by kind."""
    placed, items = result.report.placed, result.report.items
    if not result.text:
        placed = {}
    around = result.tokens - sum(item.tokens for item in placed.values())
    parts = [BarPart("overhead", "template text, headings, separators", around)]
    if len(placed) <= MAX_ITEMS_IN_BAR:
        for number, index in enumerate(placed):
            item = items[index]
            what = "cut" if item.status == "trimmed" else "item"
            hue = f"{hues[item.kind]}{' odd' * (number % 2)}"
            parts.append(BarPart(what, _name(item), placed[index].tokens, hue))
    else:
        groups: dict[str, list[int]] = {}
        for index, one in placed.items():
            groups.setdefault(items[index].kind, []).append(one.tokens)
        for kind, tokens in groups.items():
            name = f"{kind}: {len(tokens):,} items"
            parts.append(BarPart("item", name, sum(tokens), hues[kind]))
    if result.max_tokens is not None:
        parts.append(BarPart("free", "free", result.max_tokens - result.tokens))
    return [part for part in parts if part.tokens > 0]


def ghosts_of(result: Result) -> list[tuple[int, int]]:
    """Return dropped items that more room may bring back, each with the item that it would precede.

    Only the best by rank; none stands behind the last item of the text.
    """
    page, packed = result.report.page, result.report.packed
    chosen = packed.chosen
    lacking = (
        index
        for index, name in packed.reasons.items()
        if REASONS[name].lacks_room and index not in chosen
    )
    ghosts = heapq.nlargest(MAX_GHOSTS, lacking, key=page.candidates.ranks.__getitem__)
    every = page.order({**chosen, **{index: page.variants(index)[0] for index in ghosts}})
    found, before = [], None
    for index in reversed(every):
        if index in chosen:
            before = index
        elif before is not None:
            found.append((index, before))
    return found[::-1]


def query_hits(result: Result) -> list[tuple[int, int]]:
    """Return the places of the query's words in the text, whatever their endings."""
    wanted = {*terms_of_text(result.report.page.options.query_text or "")}

    @functools.cache
    def is_hit(word: str) -> bool:
        return not wanted.isdisjoint(terms_of_word(word))

    places = re.finditer(r"\w+", result.text if wanted else "")
    return [*itertools.islice((each.span() for each in places if is_hit(each[0])), MAX_HITS)]


def _text_parts(result: Result, hues: Mapping[str, str], chars: int) -> Iterator[TextPart]:
    items = result.report.items
    index_of = {item.id: index for index, item in enumerate(items) if item.form}
    before: dict[int, list[str]] = {}
    for ghost, next_one in ghosts_of(result):
        before.setdefault(next_one, []).append(_name(items[ghost]))
    hits = query_hits(result)
    starts, cuts = {start for start, _ in hits}, sorted({place for hit in hits for place in hit})
    for id_, spans in itertools.groupby(result.map, lambda span: span.item):
        index = None if id_ is None else index_of[id_]
        part = [*spans]
        start, end = part[0].start, min(part[-1].end, chars)
        if start >= chars:
            return
        inner = cuts[bisect.bisect_right(cuts, start) : bisect.bisect_left(cuts, end)]
        places = itertools.pairwise([start, *inner, end])
        pieces = [(result.text[a:b], a in starts) for a, b in places]
        hue = "" if index is None else hues[items[index].kind]
        ghosts = [] if index is None else before.pop(index, [])
        yield TextPart(index, hue, ghosts, pieces)


@functools.cache
def _template() -> jinja2.Template:
    import jinja2  # late: notebooks and `explain --html` alone draw

    # Every value is escaped, so no name of an item can end its element.
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "snapshot_templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        comma=lambda number: f"{number:,}",
        name=_name,
        as_xml=lambda text: _NOT_XML.sub("\ufffd", text),
        boxed=_boxed,
        fits_at=lambda item: budget_words(item.known("fits_at"), item.known("too_small")),
        words=show_words,
    )
    return environment.get_template("read.html.j2")


def _boxed(escaped: str) -> str:
    """Put a box with a name around each character that cannot be seen, in a text of HTML."""
    box = '<span class="unseen" data-name="U+%04X"><span>%s</span></span>'
    return _UNSEEN.sub(lambda found: box % (ord(found[0]), found[0]), escaped)


def _name(item: ResultItem) -> str:
    if item.path:
        return path_with_lines(item.path, item.start_line, item.end_line)
    return item.name or item.id


def show_words(text: str, limit: int = 160) -> str:
    """Show a text on one line, invisible characters as escapes; a long one loses its middle."""
    shown = _NOT_XML.sub("\ufffd", to_label(text))
    if len(shown) > limit:
        shown = f"{shown[: limit // 2]}…{shown[-(limit - limit // 2 - 1) :]}"
    return shown
