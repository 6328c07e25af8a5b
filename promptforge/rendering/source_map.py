"""Which template line printed which characters of the text, and for which item.

The page is printed once more by templates that are compiled otherwise: each piece they print comes
with its template and line. So a map needs no marks in the text.
"""

from __future__ import annotations

import copy
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from ..model import Span
from ..packing.types import Variant
from ..selection.group import flatten_sections
from ..templating.language import Fields, Missing, TracedPiece, isolate_fences
from ..templating.limits import FuelTank, use_tank
from ..templating.loader import Templates
from ..text.control_tokens import spread_insertions
from .page import Page

_LINE = re.compile(r"[^\n]*\n|[^\n]+")

_SWITCHES = ("headers", "line_numbers", "scores", "code", "query")

_origin = attrgetter("item", "form", "template", "line")


class _Watched(Fields):
    """An item on the page that tells when a template asks for one of its fields."""

    __slots__ = ("asked", "index")

    asked: list[_Watched]
    index: int

    def get(self, key: str, default: Any = None) -> Any:
        """Return a field, for `Environment.getattr`, which treats all mappings but plain `Fields` so."""
        self.asked.append(self)
        return self[key] if key in self else Missing()


class _Piece(NamedTuple):
    text: str
    template: str
    line: int
    item: _Watched | None = None


class _Listener:
    """Stands for the look of a page, to hear what the page's template would be given."""

    def __init__(self, look: Any) -> None:
        self._look = look
        self.heard: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._look, name)

    def render_page(self, variables: Mapping[str, Any], tank: FuelTank) -> tuple[list[str], int]:
        self.heard = dict(variables)
        return [], 0


def map_text(
    page: Page,
    chosen: Mapping[int, Variant],
    ids: Mapping[int, str],
    templates: Templates,
    text: str,
) -> list[Span]:
    """Return what printed each part of `text`, the page of `chosen`: spans that cover it in order, side by side.

    `ids` names the items by their indices.
    """
    copied, listener = copy.copy(page), _Listener(page.look)
    copied.look = listener  # type: ignore[assignment]
    copied.render(chosen)
    asked: list[_Watched] = []
    variables = {**listener.heard, **_watch(page, chosen, listener.heard, asked)}
    switches = {name: getattr(page.options, name) for name in _SWITCHES}
    spans: list[Span] = []
    use_tank(page.tank, len(chosen), len(text))
    at = 0
    pieces = list(_whole(_trace(templates.trace(page.look.page_name, variables), asked)))
    for piece, shown in zip(pieces, page.break_up(_texts(pieces), chosen), strict=True):
        inner = [piece]
        index = piece.item.index if piece.item is not None else None
        if index is not None and piece.text is piece.item["text"]:  # type: ignore[index]
            view = page.views.view(index, chosen[index])
            use_tank(page.tank, 1, len(piece.text))
            item_template = page.look.item_template(view["kind"]).name or ""
            traced = templates.trace(item_template, {"item": view, **switches})
            inner = list(_whole(_trace(traced, [])))
            inner = _with(inner, page.views.break_up(_texts(inner)).parts)
        if shown is not piece.text:
            inner = _with(inner, spread_insertions(shown, _texts(inner)))
        for part in inner:
            for line, printed in _lines(part):
                end = min(at + len(printed), len(text))  # the end of a page may have been trimmed
                if end > at:
                    spans.append(
                        Span(
                            start=at,
                            end=end,
                            item=None if index is None else ids[index],
                            form=None if index is None else chosen[index].name,
                            template=part.template,
                            line=line,
                        )
                    )
                at = end
    return _joined(spans)


def _watch(
    page: Page, chosen: Mapping[int, Variant], variables: Mapping[str, Any], asked: list[_Watched]
) -> dict[str, Any]:
    """Return the variables that hold items, with these watched."""

    def watched(views: Iterable[Fields], waiting: Mapping[int, deque[int]]) -> list[_Watched]:
        found = []
        for view in views:
            one = _Watched(view)
            one.asked, one.index = asked, waiting[id(view)].popleft()
            found.append(one)
        return found

    def in_order() -> dict[
        int, deque[int]
    ]:  # items that look the same share one view, and stand in the same order
        waiting: dict[int, deque[int]] = {}
        for entry in flatten_sections(page.sections(chosen)):
            waiting.setdefault(
                id(page.views.view(entry.index, chosen[entry.index])), deque()
            ).append(entry.index)
        return waiting

    found: dict[str, Any] = {"items": watched(variables["items"], in_order())}
    for names in (("sections",), ("explicit", "similarity")):
        waiting = in_order()
        for name in names:
            if name in variables:
                sections = variables[name]
                found[name] = [
                    Fields({**section, "items": watched(section["items"], waiting)})
                    for section in sections
                ]
    return found


def _trace(pieces: Iterable[TracedPiece], asked: list[_Watched]) -> Iterator[_Piece]:
    """Yield the pieces, each with the item that was asked for one of its fields last."""
    for text, template, line in pieces:
        item = asked[-1] if asked else None
        asked.clear()
        if text:
            yield _Piece(text, template, line, item)


def _whole(pieces: Iterable[_Piece]) -> Iterator[_Piece]:
    """Yield the pieces with the line ends that `weld` puts between them; such a one counts as the next one's."""
    given = list(pieces)
    at = 0
    for text in isolate_fences([piece.text for piece in given]):
        if text is given[at].text:
            yield given[at]
            at += 1
        else:
            yield given[at]._replace(text=text, item=None)


def _texts(pieces: Iterable[_Piece]) -> list[str]:
    return [piece.text for piece in pieces]


def _with(pieces: Iterable[_Piece], texts: Iterable[str]) -> list[_Piece]:
    """Return the pieces with these texts, each of the type of the one it replaces."""
    pairs = zip(pieces, texts, strict=True)
    return [
        piece if text is piece.text else piece._replace(text=type(piece.text)(text))
        for piece, text in pairs
    ]


def _lines(piece: _Piece) -> Iterable[tuple[int, str]]:
    """Return lines and texts: what stands in the template itself line by line, and as one what a value printed."""
    if type(piece.text) is not str:  # a value has been made safe, which is a type of its own
        return [(piece.line, piece.text)]
    return enumerate(_LINE.findall(piece.text), piece.line)


def _joined(spans: Sequence[Span]) -> list[Span]:
    """Return the spans with neighbours of one origin made one."""
    found: list[Span] = []
    for span in spans:
        last = found[-1] if found else None
        if last is not None and _origin(last) == _origin(span):
            found[-1] = msgspec.structs.replace(last, end=span.end)
        else:
            found.append(span)
    return found
