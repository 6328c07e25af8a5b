"""Earlier results come back where they hold the words of the question, and else do not."""

from __future__ import annotations

import pytest

from promptforge.prompts.messages import ToolCall
from promptforge.prompts.recall import Hidden, choose_hidden


def hidden(text: str, arguments: str = '{"path": "a.py"}', turn: int = 1) -> Hidden:
    return Hidden(text, ToolCall("c1", "read", arguments), turn)


TEXTS = [hidden(f"the limit of pump {n} is {n * 7} bar", turn=n) for n in range(40, 60)]


def test_the_texts_that_hold_most_of_the_words_are_items_named_by_call_and_turn() -> None:
    (item,) = choose_hidden("What is the limit of pump 47?", [*TEXTS, hidden("pump 47 limit 329")])[
        -1:
    ]
    assert (item.name, item.path) == ('read({"path": "a.py"}), turn 1', "a.py")
    assert (item.origin, item.score) == ("similarity", 1.0)


def test_nothing_comes_back_for_a_question_about_something_else() -> None:
    assert choose_hidden("Write the minutes of our meeting in Graz", TEXTS) == []
    assert choose_hidden("What is the limit of pump 47?", []) == []
    assert choose_hidden("of the", TEXTS) == []


def test_long_arguments_and_texts_without_a_call_have_short_labels() -> None:
    assert hidden("x", '{"text": "' + "w" * 200 + '"}', 3).label == "read(…), turn 3"
    assert Hidden("x", None, 2).label == "turn 2"
    assert Hidden("x", None, 2).item(0.5).path is None


@pytest.mark.parametrize("arguments", ["{}", '{"path": 3}'])
def test_arguments_that_name_no_path_are_no_error(arguments: str) -> None:
    hidden = Hidden("text", ToolCall("1", "read", arguments), 2)
    assert hidden.item(1.0).path is None
