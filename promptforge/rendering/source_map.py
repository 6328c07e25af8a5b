"""The source map: the template line and the item behind each part of a text.

The page is printed once more, and each piece is taken with the template and line that print it. So
a map needs no marks in the text.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

from msgspec.structs import replace

from ..model import Span
from ..packing.types import Variant
from ..selection.group import flatten_sections
from ..templating.language import Fields, Missing, isolate_fences
from ..templating.limits import FuelTank, use_tank
from ..templating.loader import Templates
from ..text.control_tokens import spread_insertions
from .page import Page

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_FLAGS = ("headers", "line_numbers", "scores", "code", "query")
_SHOWING = ("text", "content", "summary", "title", "name", "path", "url", "id", "metadata")
"""Fields that tell a reader which item it is; others, such as `kind`, choose what is printed."""
_origin_of = attrgetter("item", "form", "template", "line")


class _WatchedItem(Fields):
    """An item on the page that tells when a template asks for one of its fields."""

    __slots__ = ("asked", "index", "shown")

    asked: list[_WatchedItem]
    index: int
    shown: set[int]
    """The indices of items: a template has asked for something of each to show."""

    def get(self, key: str, default: Any = None) -> Any:
        """Return a field. The templates' `getattr` asks by `get`, but for plain `Fields`."""
        self.asked.append(self)
        if key not in self:
            return Missing()
        value = self[key]
        if key in _SHOWING and str(value or "").strip():
            self.shown.add(self.index)
        return value

    def __iter__(self) -> Iterator[str]:
        self.shown.add(self.index)
        return super().__iter__()

    def items(self) -> Any:
        """Return all fields, as what prints a whole item asks for them."""
        self.shown.add(self.index)
        return super().items()


class _Piece(NamedTuple):
    text: str
    template: str
    line: int
    item: _WatchedItem | None = None


def map_text(
    page: Page,
    chosen: Mapping[int, Variant],
    ids: Mapping[int, str],
    templates: Templates,
    text: str,
) -> list[Span]:
    """Return spans that cover `text`, the page of `chosen`, in order and side by side.

    `ids` names the items by their indices.
    """
    asked: list[_WatchedItem] = []
    variables = _watch(page, chosen, asked, set())
    use_tank(page.tank, len(chosen), len(text))
    pieces = _tightened(page, _pieces(templates.trace(page.layout.page_name, variables), asked))
    spans: list[Span] = []
    # Control tokens across pieces were broken up on the page, so pieces are paired with what shows.
    start = 0
    for piece, shown in zip(pieces, page.break_up(_texts(pieces), chosen), strict=True):
        inner, index, item_id, form = [piece], None, None, None
        if piece.item is not None:
            index = piece.item.index
            item_id, form = ids[index], chosen[index].name
            # The item's whole text is one piece of the page: print the item once more.
            if piece.text is piece.item["text"]:
                inner = _print_item(page, piece, templates, page.views.view(index, chosen[index]))
        if shown is not piece.text:
            inner = _with_texts(inner, spread_insertions(shown, _texts(inner)))
        for part in inner:
            for line, printed in _lines(part):
                end = min(start + len(printed), len(text))  # the end of the page may be trimmed
                span = Span(
                    start=start, end=end, item=item_id, form=form, template=part.template, line=line
                )
                if end == start:
                    continue
                if spans and _origin_of(spans[-1]) == _origin_of(span):
                    spans[-1] = replace(spans[-1], end=end)
                else:
                    spans.append(span)
                start = end
    return spans


def find_unprinted(page: Page, chosen: Mapping[int, Variant], templates: Templates) -> list[int]:
    """Return the items of `chosen` that the page leaves out, as one within a condition does.

    The page is printed once more, since it may print an item by fields other than its `text`.
    """
    shown: set[int] = set()
    variables = _watch(page, chosen, [], shown)
    # Fuel of its own: a page that took most of its rendering's has been printed all the same.
    use_tank(FuelTank(), len(chosen), sum(len(item["text"]) for item in variables["items"]))
    deque(templates.trace(page.layout.page_name, variables), maxlen=0)
    blank = {index for index, variant in chosen.items() if not variant.text.strip()}
    return [index for index in chosen if index not in shown | blank]


def _print_item(page: Page, piece: _Piece, templates: Templates, view: Fields) -> list[_Piece]:
    use_tank(page.tank, 1, len(piece.text))
    template = page.layout.item_template(view["kind"]).name or ""
    flags = {name: getattr(page.options, name) for name in _FLAGS}
    inner = _tightened(page, _pieces(templates.trace(template, {"item": view, **flags}), []))
    texts = _texts(inner)
    if page.views.breaker is not None:
        texts = page.views.breaker.break_up(texts).parts
    return _with_texts(inner, texts)


def _watch(
    page: Page, chosen: Mapping[int, Variant], asked: list[_WatchedItem], shown: set[int]
) -> dict[str, Any]:
    variables = page.page_variables(chosen)
    in_order = [e.index for e in flatten_sections(page.sections(chosen))]

    def waiting() -> dict[int, deque[int]]:
        # Equal items share one view, and stand on the page in the order of their indices here.
        found: dict[int, deque[int]] = {}
        for index in in_order:
            found.setdefault(id(page.views.view(index, chosen[index])), deque()).append(index)
        return found

    def watched(views: Iterable[Fields], indices: Mapping[int, deque[int]]) -> list[_WatchedItem]:
        found = []
        for view in views:
            item = _WatchedItem(view)
            item.asked, item.shown, item.index = asked, shown, indices[id(view)].popleft()
            found.append(item)
        return found

    variables["items"] = watched(variables["items"], waiting())
    for names in (("sections",), ("explicit", "similarity")):
        indices = waiting()
        for name in variables.keys() & names:
            variables[name] = [
                Fields({**section, "items": watched(section["items"], indices)})
                for section in variables[name]
            ]
    return variables


def _pieces(traced: Iterable[tuple[str, str, int]], asked: list[_WatchedItem]) -> list[_Piece]:
    """Return the pieces, each with the item asked for a field last, and line ends of fences."""
    given = []
    for text, template, line in traced:
        item = asked[-1] if asked else None
        asked.clear()
        if text:
            given.append(_Piece(text, template, line, item))
    return list(_with_line_ends(given))


def _with_line_ends(given: list[_Piece]) -> Iterator[_Piece]:
    # A line end that keeps a fence at the beginning of a line belongs to the piece after it.
    place = 0
    for text in isolate_fences(_texts(given)):
        if text is given[place].text:
            yield given[place]
            place += 1
        else:
            yield given[place]._replace(text=text, item=None)


def _tightened(page: Page, pieces: list[_Piece]) -> list[_Piece]:
    """Return the pieces as a page without blanks prints them: each line of a template is one."""
    if not page.setting.tight:
        return pieces
    lines = [piece._replace(text=text, line=n) for piece in pieces for n, text in _lines(piece)]
    texts = page.layout.syntax.without_blanks(_texts(lines))
    return [piece for piece in _with_texts(lines, texts) if piece.text]


def _texts(pieces: Iterable[_Piece]) -> list[str]:
    return [piece.text for piece in pieces]


def _with_texts(pieces: Iterable[_Piece], texts: Iterable[str]) -> list[_Piece]:
    """Return the pieces with these texts, each of the type of the one it replaces."""
    found = []
    for piece, text in zip(pieces, texts, strict=True):
        if text is not piece.text:
            piece = piece._replace(text=type(piece.text)(text))
        found.append(piece)
    return found


def _lines(piece: _Piece) -> Iterable[tuple[int, str]]:
    """Return numbers and texts of lines; the printed value of a variable is one text."""
    if type(piece.text) is not str:  # a value has been made safe: that is a type of its own
        return [(piece.line, piece.text)]
    return enumerate(_LINE.findall(piece.text), piece.line)
