"""Reasons: each has its option and all its words; each filter has its reason."""

from __future__ import annotations

import msgspec

from promptforge.config.options import Options
from promptforge.reasons import REASONS
from promptforge.selection.filter import FILTERS


def test_each_filter_has_an_option_and_all_that_a_reason_says() -> None:
    for reason in FILTERS:
        assert REASONS[reason.name] is reason and reason.option in Options.__struct_fields__
        assert reason.note and reason.sentence and reason.short


def test_each_reason_names_its_option_and_no_other_value_than_options() -> None:
    options = msgspec.structs.asdict(Options(min_score=0.5, max_items=3))
    for name, reason in REASONS.items():
        assert reason.name == name
        assert reason.option is None or reason.option in options
        texts = [reason.sentence, *(reason.note or ())[1:]]
        assert not any("{" in reason.fill(text, options, "--flag") for text in texts)
