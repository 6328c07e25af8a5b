"""Words and costs in any packing: never over, nobody lost, and the same again."""

from __future__ import annotations

from unfiltered import PACKINGS
from word_page import Words

from promptforge.errors import BudgetError
from promptforge.packing.pack import pack
from promptforge.packing.types import UNLIMITED, PackingStep, fits_within

from .drawing import Draw


def one(data: bytes) -> None:
    """Fit as the bytes say."""
    draw = Draw(data)
    words = ["w" * draw.number(40) for _ in range(draw.number(12))]
    page = Words(
        words, overhead=draw.number(9), between=draw.number(3), short=draw.true(), rough=draw.true()
    )
    limit = (draw.number(200), draw.number(200) if draw.true() else UNLIMITED)
    required = draw.number(2) if draw.true() else 0
    walk = list(range(len(words)))
    most = draw.number(6) if draw.true() else None
    parts = [PackingStep(walk[:required], required=True)] if required else []
    parts.append(PackingStep(walk[required:], most=most))
    packing, trim, stubs = draw.of(PACKINGS), draw.true(), draw.true()
    try:
        found = pack(parts, page, limit, packing=packing, trim=trim, stubs=stubs)
    except BudgetError as error:
        assert required and error.needed > error.largest
        return
    assert found.cost == page.measure(found.chosen)
    assert found.overhead_fits == fits_within(found.cost, limit)
    assert fits_within(found.cost, limit) or not found.chosen
    assert {*found.chosen, *found.reasons} == set(walk) and not {*found.chosen} & {*found.reasons}
    again = pack(parts, page, limit, packing=packing, trim=trim, stubs=stubs)
    assert again._replace(turns=found.turns) == found
