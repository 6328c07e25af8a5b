"""The packings are those that the option names."""

from __future__ import annotations

from promptforge.config.options import OPTION_VOCABULARY
from promptforge.packing.packings import PACKINGS


def test_each_choice_of_the_option_is_a_packing() -> None:
    assert set(PACKINGS) == set(OPTION_VOCABULARY.rules["packing"].choices)
