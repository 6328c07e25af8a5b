"""Who packs: the floor, a bare loop, promptforge in several ways. Peers are in `peers`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import promptforge as pf
from promptforge.errors import OptionError

from . import peers, reference
from .corpus import Piece

T = TypeVar("T")


class Subject(NamedTuple, Generic[T]):
    """One way to make a text of items under a budget."""

    name: str
    prepare: Callable[[list[Piece], int], T]
    """What the caller has at hand anyway: the items as objects of the library; not timed."""
    pack: Callable[[T, int], str]
    """Return the finished text; timed."""
    check: Callable[[], object] = lambda: None
    """Raise ImportError or LookupError where it cannot be run here."""


def _choose(pieces: list[Piece], budget: int) -> list[Piece]:
    """Return the best pieces that fit, up to the first that does not."""
    chosen = []
    for piece in reference.best_first(pieces):
        budget -= reference.count(reference.render_item(piece) + reference.SEPARATOR)
        if budget < 0:
            break
        chosen.append(piece)
    return chosen


def _floor(chosen: list[Piece], budget: int) -> str:
    text = reference.render_page(chosen)
    reference.count(text)
    return text


def _loop(pieces: list[Piece], budget: int) -> str:
    texts = []
    for piece in reference.best_first(pieces):
        text = reference.render_item(piece) + reference.SEPARATOR
        budget -= reference.count(text)
        if budget < 0:
            break
        texts.append(text)
    return "".join(texts).rstrip()


def _items(pieces: list[Piece], budget: int) -> list[pf.Item]:
    return [pf.Item(**piece.fields()) for piece in pieces]


def _records(pieces: list[Piece], budget: int) -> list[dict[str, Any]]:
    return [piece.fields() for piece in pieces]


def _score(items: object, budget: int) -> str:
    return pf.render(items, max_tokens=budget).text


def _with(**options: Any) -> Callable[[object, int], str]:
    return lambda items, budget: pf.render(items, max_tokens=budget, **options).text


def _rendered(pieces: list[Piece], budget: int) -> tuple[pf.Renderer, list[pf.Item]]:
    """Render once, then change an item of the text: the second best."""
    renderer = pf.Renderer()
    items = _items(pieces, budget)
    renderer.render(items, max_tokens=budget)
    index = pieces.index(reference.best_first(pieces)[1])
    fields = pieces[index].fields()
    items[index] = pf.Item(**{**fields, "content": "changed = True\n" + fields["content"]})
    return renderer, items


def _again(prepared: tuple[pf.Renderer, list[pf.Item]], budget: int) -> str:
    renderer, items = prepared
    return renderer.render(items, max_tokens=budget).text


def _knows_value() -> None:
    try:
        pf.render([], packing="value", strict=True)
    except OptionError:
        raise LookupError("this promptforge has no packing `value`") from None


FLOOR: Subject[Any] = Subject("floor: one count, one rendering", _choose, _floor)
SCORE: Subject[Any] = Subject("promptforge, score", _items, _score)
OURS: list[Subject[Any]] = [
    FLOOR,
    Subject("bare exact loop", lambda pieces, budget: pieces, _loop),
    SCORE,
    Subject("promptforge, score, from dicts", _records, _score),
    Subject("promptforge, score, one changed", _rendered, _again),
    Subject("promptforge, value", _items, _with(packing="value"), _knows_value),
    Subject("promptforge, even", _items, _with(packing="even")),
    Subject("promptforge, longest_first", _items, _with(packing="longest_first")),
    Subject("promptforge, drop_last", _items, _with(packing="drop_last")),
    Subject("promptforge, layout documents", _items, _with(layout="documents")),
]
PEERS: list[Subject[Any]] = [Subject(*peer) for peer in peers.ALL]
BY_NAME: dict[str, Subject[Any]] = {subject.name: subject for subject in [*OURS, *PEERS]}
