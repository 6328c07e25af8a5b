"""One common share or length, beside words that cost what they are long."""

from __future__ import annotations

from word_page import Words

from promptforge.packing.in_order import Packer
from promptforge.packing.shares import Shares
from promptforge.packing.types import STUB_VARIANT, Variant


def sizes(longest_first: bool, least: Variant = STUB_VARIANT) -> list[int]:
    words = ["w" * size for size in (20, 90, 300, 300)]
    page = Words(words, overhead=0, between=0, short=False, rough=False)
    shares = Shares(
        Packer(page, (400, 400)), dict.fromkeys(range(4), least), (400, 400), longest_first
    )
    return [len(variant.text) for variant in shares.find().values()]


def test_the_shortest_are_whole_first_and_the_others_level() -> None:
    short, middle, *long = sizes(longest_first=True)
    assert (short, middle) == (20, 90) and max(long) - min(long) < 20


def test_one_share_of_all_keeps_their_proportion() -> None:
    short, middle, *long = sizes(longest_first=False)
    assert short < middle < min(long) and max(long) - min(long) < 20


def test_none_is_shorter_than_its_least_variant() -> None:
    assert min(sizes(longest_first=False, least=Variant("trimmed", "w" * 15))) == 15
