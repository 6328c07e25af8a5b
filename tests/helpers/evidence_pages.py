"""Pages with a question of two hops, and a choice of their passages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from promptforge.selection.evidence import DividedText, Evidence, RankedText
from promptforge.selection.passage_choice import (
    PassageChoice,
    PassageCosts,
    choose_passages,
)
from promptforge.trimming.pieces import split_prose

QUERY = "In which year was the founder of Omni Air born?"
PAGES = [
    RankedText(
        "Omni Air",
        "Omni Air is an airline of Tulsa, Oklahoma. It was founded in 1983 by Bo Dunn. It flies.",
        9.0,
    ),
    RankedText(
        "Tulsa (city)",
        "Tulsa is a city in Oklahoma. Many people were born there in the year of the oil.",
        8.0,
    ),
    RankedText(
        "Air",
        "Air is what people breathe. It is made of nitrogen and oxygen, and of water"
        " in small part.",
        7.0,
    ),
    RankedText(
        "Oil",
        "Oil is found in the ground. It was first found long ago by people who were after salt.",
        6.0,
    ),
    RankedText(
        "Bo Dunn",
        "He is an aviator. He came into the world in 1941 in Ohio, a state of the north.",
        1.0,
    ),
]


def reading(query: str, documents: Sequence[RankedText]) -> Evidence:
    return Evidence([query], documents, lambda i: DividedText(list(split_prose(documents[i].text))))


class WorthParts(NamedTuple):
    prior: float
    cover: float
    echo: float
    bridge: float
    source: float


def parts_of(evidence: Evidence) -> list[WorthParts]:
    found = evidence.worth_parts(evidence.weights)
    return [WorthParts(*each) for each in zip(*found, strict=True)]


def take(evidence: Evidence, room: float, *, among: Sequence[int] | None = None) -> PassageChoice:
    def cost(document: int, passage: int) -> float:
        return len(evidence.passage_scores(document).passages.texts[passage].split())

    choice = choose_passages(
        evidence,
        PassageCosts(lambda _: 3, cost),
        room=room,
        among=range(len(evidence)) if among is None else among,
        max_documents=max(3, int(room / 50)),
    )
    return choice._replace(aside=list(choice.aside))
