"""The simple ways of choosing what answers a query: windows, sentences, MMR, and the answers alone."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from promptforge import Item

Count = Callable[[str], int]
Frame = Callable[[Item, str], str]
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9])|\n+")
MMR_QUERY_SHARE = 0.5
"""Weight of the likeness to the query against that to what is chosen, as LangChain's retrievers have it."""


def words(text: str) -> list[str]:
    """Return the words of a text, those within identifiers too, in small letters."""
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", text)
    return [part.lower() for part in parts]


def bm25(
    query: str, counts: Sequence[Counter[str]], holders: Mapping[str, int] | None = None
) -> list[float]:
    """Return how well each text, given by its counted words, matches the query (Okapi BM25, k1 1.5,
    b 0.75). `holders` says how many texts hold each word.
    """
    holders = holders or Counter(word for held in counts for word in held)
    mean = sum(held.total() for held in counts) / max(1, len(counts)) or 1
    asked = {
        word: math.log(1 + (len(counts) - holders[word] + 0.5) / (holders[word] + 0.5))
        for word in words(query)
        if word in holders
    }

    def score(held: Counter[str]) -> float:
        norm = 1.5 * (0.25 + 0.75 * held.total() / mean)
        return sum(
            weight * 2.5 * held[word] / (held[word] + norm) for word, weight in asked.items()
        )

    return [score(held) for held in counts]


def best_pieces(
    query: str,
    items: Sequence[Item],
    budget: int,
    count: Count,
    frame: Frame,
    cut: Callable[[str], list[str]],
) -> str:
    """Return the pieces of all items that score best by BM25, in the order of their items."""
    pieces = [
        (place, piece) for place, item in enumerate(items) for piece in cut(item.content or "")
    ]
    scores = bm25(
        query, [Counter(words(f"{items[place].name} {piece}")) for place, piece in pieces]
    )
    chosen: list[int] = []
    text = ""
    for number in sorted(range(len(pieces)), key=lambda n: (-scores[n], n)):
        tried = _print([pieces[n] for n in sorted([*chosen, number])], items, frame)
        if count(tried) <= budget:
            chosen.append(number)
            text = tried
        elif budget - count(text) < 20:
            break
    return text


def _print(pieces: Sequence[tuple[int, str]], items: Sequence[Item], frame: Frame) -> str:
    held: dict[int, list[str]] = {}
    for place, piece in pieces:
        held.setdefault(place, []).append(piece)
    return "\n".join(frame(items[place], " … ".join(each)) for place, each in held.items())


def windows(size: int) -> Callable[[str], list[str]]:
    """Return a function that cuts a text into windows of so many words, side by side."""

    def cut(text: str) -> list[str]:
        starts = [found.start() for found in re.finditer(r"\S+", text)][::size]
        return [
            text[start:end].rstrip()
            for start, end in zip(starts, [*starts[1:], len(text)], strict=True)
        ]

    return cut


def sentences(text: str) -> list[str]:
    """Return the sentences and lines of a text."""
    return [piece for piece in SENTENCE.split(text) if piece.strip()]


def mmr(query: str, items: Sequence[Item]) -> list[Item]:
    """Return the items by maximal marginal relevance (Carbonell and Goldstein 1998).

    The likeness of two texts is the cosine of their words' counts, each by its rarity.
    """
    counts = [Counter(words(f"{item.name} {item.content}")) for item in items]
    holders = Counter(word for held in counts for word in held)
    rarity = {word: math.log(1 + len(items) / number) for word, number in holders.items()}

    def vector(held: Counter[str]) -> dict[str, float]:
        weighed = {word: number * rarity.get(word, 0.0) for word, number in held.items()}
        length = math.sqrt(sum(value * value for value in weighed.values())) or 1
        return {word: value / length for word, value in weighed.items()}

    def likeness(one: dict[str, float], other: dict[str, float]) -> float:
        small, large = sorted((one, other), key=len)
        return sum(value * large.get(word, 0.0) for word, value in small.items())

    vectors = [vector(held) for held in counts]
    asked = vector(Counter(words(query)))
    relevance = [likeness(asked, each) for each in vectors]
    nearest = [0.0] * len(items)
    left, found = list(range(len(items))), list[Item]()
    while left:
        best = max(
            left,
            key=lambda n: (MMR_QUERY_SHARE * relevance[n] - (1 - MMR_QUERY_SHARE) * nearest[n], -n),
        )
        left.remove(best)
        found.append(items[best])
        for other in left:
            nearest[other] = max(nearest[other], likeness(vectors[best], vectors[other]))
    return found
