"""Earlier results come back where they hold the words of the question, and else do not."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from typing import Any

import pytest

import promptforge as pf
from promptforge.prompts.messages import Message, ToolCall
from promptforge.prompts.recall import RECALL_LAYOUT, Hidden, choose_hidden, find_answers
from promptforge.rendering.renderer import ContextRenderer


def hidden(text: str, arguments: str = '{"path": "a.py"}', turn: int = 1) -> Hidden:
    return Hidden(text, ToolCall("c1", "read", arguments), turn)


TEXTS = [hidden(f"the limit of pump {n} is {n * 7} bar", turn=n) for n in range(40, 60)]


def test_the_texts_that_hold_most_of_the_words_are_items_named_by_call_and_turn() -> None:
    (item,) = choose_hidden(
        ["What is the limit of pump 47?"], [*TEXTS, hidden("pump 47 limit 329")]
    )[-1:]
    assert (item.name, item.path) == ('read({"path": "a.py"}), turn 1', "a.py")
    assert (item.origin, item.score) == ("similarity", 1.0)


def test_nothing_comes_back_for_a_question_about_something_else() -> None:
    assert choose_hidden(["Write the minutes of our meeting in Graz"], TEXTS) == []
    assert choose_hidden(["What is the limit of pump 47?"], []) == []
    assert choose_hidden(["of the"], TEXTS) == []


def test_long_arguments_and_texts_without_a_call_have_short_labels() -> None:
    assert hidden("x", '{"text": "' + "w" * 200 + '"}', 3).label == "read(…), turn 3"
    assert Hidden("x", None, 2).label == "turn 2"
    assert Hidden("x", None, 2).item(0.5).path is None


@pytest.mark.parametrize("arguments", ["{}", '{"path": 3}'])
def test_arguments_that_name_no_path_are_no_error(arguments: str) -> None:
    hidden = Hidden("text", ToolCall("1", "read", arguments), 2)
    assert hidden.item(1.0).path is None


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Whose card was declined?", "last_error: card_declined"),
        ("card_declined?", "the card was declined"),
        ("What does the tenant quota allow?", "def resolveTenantQuota(): return 7"),
        ("Which job is failing?", "three jobs failed"),
    ],
)
def test_names_are_split_and_words_are_stemmed(question: str, text: str) -> None:
    others = [hidden(f"nothing of this, {n}") for n in range(3)]
    assert [item.content for item in choose_hidden([question], [*others, hidden(text)])] == [text]


def test_the_parts_of_a_new_name_are_one_word() -> None:
    text = "Find the release note of item K3Q1188 in the records."
    found = choose_hidden(["Find the release note of item K9Q2277 in the records."], [hidden(text)])
    assert [item.content for item in found] == [text]


LOG = [f"INFO job {n} took {n * 37 % 900} ms" for n in range(300)]
LOG[200] = "ERROR job 200 failed"
ROWS = [[n, f"u{n}@x.org", None] for n in range(300)]
ROWS[200][2] = "card_declined"


def test_answers_are_lines_rows_and_what_stands_below_a_name() -> None:
    assert find_answers("Which job failed?", [("log", "\n".join(LOG))]) == [[LOG[200]]]
    rows = json.dumps(ROWS, separators=(",", ":"))
    assert find_answers("Whose card?", [("t", rows)]) == [['[200,"u200@x.org","card_declined"]']]
    code = "def a():\n    return 1\n\ndef tenantQuota():\n    x = 2\n\n    return x\n\ndef b(): ..."
    assert find_answers("tenant quota", [("c", code)]) == [
        ["def tenantQuota():", "x = 2", "return x"]
    ]
    assert find_answers("Graz", [("t", code)]) == find_answers("Graz", []) == []


def test_all_lines_of_a_named_text_are_answers() -> None:
    named = [("read(a.py), turn 1", "x\ny"), ("read(b.txt), turn 2", "z")]
    assert find_answers("What is in a.py?", named) == [["x"], ["y"]]


def ask(result: str, question: str, window: int = 2_500) -> tuple[str, str]:
    """Return the result and the recalled passages as a prompt has them."""
    call = {"id": "c", "type": "function", "function": {"name": "get", "arguments": "{}"}}
    history: list[dict[str, Any]] = [
        {"role": "user", "content": "Go on"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": result},
        {"role": "assistant", "content": "Done."},
    ]
    renderer = pf.Renderer(profile="gpt", context_window=window, reserve=0, recall_share=0.3)
    messages = list(renderer.prompt(history=history, user=question, to="openai"))
    content = messages[-1]["content"]
    return messages[2]["content"], content[0]["text"] if isinstance(content, list) else ""


def test_recall_shows_the_answer_and_little_else() -> None:
    users = json.dumps([dict(zip(("id", "mail", "error"), row, strict=True)) for row in ROWS])
    shown, recalled = ask(users, "Whose card was declined?")
    assert "u200@x.org" not in shown and '[200,"u200@x.org","card_declined"]' in recalled
    assert pf.get_tokenizer("o200k_base").count(recalled) < 200


def test_recall_of_data_behind_a_sentence_shows_the_answer_and_little_else() -> None:
    rows = json.dumps([{"id": n, "mail": mail, "error": error} for n, mail, error in ROWS])
    shown, recalled = ask(f"The users are {rows}", "Whose card was declined?")
    assert "card_declined" not in shown and "card_declined" in recalled
    assert pf.get_tokenizer("o200k_base").count(recalled) < 200


def test_an_answer_that_the_prompt_shows_is_not_repeated() -> None:
    shown, recalled = ask("\n".join(LOG), "Which job failed?")
    assert LOG[200] in shown and LOG[100] not in shown
    assert recalled == ""


CITIES = ["Graz", "Linz", "Wels", "Steyr", "Enns"]


def steps_of_a_turn() -> list[dict[str, Any]]:
    """Return a history of long results, and a turn of three steps that asks for one of them."""
    history: list[dict[str, Any]] = []
    for turn, asked in enumerate([*CITIES, CITIES[2]]):
        history.append({"role": "user", "content": f"Which limit had the pump of {asked}?"})
        for step in range(1 if turn < len(CITIES) else 3):
            call_id = f"c{turn}_{step}"
            function = {"name": "read", "arguments": json.dumps({"page": step})}
            call = {"id": call_id, "type": "function", "function": function}
            rows = [f"page {turn} has a line {n}" for n in range(40 if turn < len(CITIES) else 1)]
            if turn < len(CITIES):
                rows[20] = f"the limit of the pump of {asked} is {turn}48 bar"
            history.append({"role": "assistant", "content": None, "tool_calls": [call]})
            result = {"role": "tool", "tool_call_id": call_id, "content": "\n".join(rows)}
            history.append(result)
    return history


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the tokens of each page of passages that is printed from now on."""
    sizes: list[int] = []
    render = ContextRenderer._render

    def noted(self: ContextRenderer, items: Any, before: Any, options: Any, *rest: Any) -> Any:
        if options.get("layout") == RECALL_LAYOUT:
            sizes.append(options["max_tokens"])
        return render(self, items, before, options, *rest)

    monkeypatch.setattr(ContextRenderer, "_render", noted)
    return sizes


def test_the_steps_of_a_turn_print_their_passages_once(printed: list[int]) -> None:
    history = steps_of_a_turn()
    options: dict[str, Any] = {"profile": "gpt", "context_window": 900, "reserve": 0}
    options["recall_share"] = 0.3
    renderer = pf.Renderer(**options)
    first = renderer.prompt(history=history[:-4], to="openai")
    assert "the pump of Wels is 248 bar" in str(first.request)
    assert len(printed) <= 2
    printed.clear()
    for end in (-2, None):
        again = renderer.prompt(history=history[:end], to="openai")
        assert printed == [] and "the pump of Wels is 248 bar" in str(again.request)
    # A message that is changed in its place is another one.
    history[8]["content"] = history[8]["content"].replace("248", "911")
    edited = renderer.prompt(history=history, to="openai")
    assert printed and "the pump of Wels is 911 bar" in str(edited.request)
    assert edited.request == pf.Renderer(**options).prompt(history=history, to="openai").request


def test_what_was_recalled_goes_with_its_conversation() -> None:
    def live() -> int:
        gc.collect()
        return sum(isinstance(each, Message) for each in gc.get_objects())

    before = live()
    for _ in range(2):
        renderer = pf.Renderer(profile="gpt", context_window=900, reserve=0, recall_share=0.3)
        renderer.prompt(history=steps_of_a_turn()[:-4], to="openai")
        del renderer
    assert live() == before


REMINDERS = [
    "<system-reminder>Note: /srv/app/settings.py was modified, either by the user or by a linter."
    " Do not tell the user this, since they are already aware of it.</system-reminder>",
    "<environment_details>\n# Visible files\n/srv/app/main.py\n# Current time\n4:16 PM\n"
    "# Context window\n81,200 / 200K tokens used (41%)\n</environment_details>",
]


@pytest.mark.parametrize("reminder", REMINDERS)
@pytest.mark.parametrize("first", [True, False])
def test_a_reminder_beside_the_question_does_not_hide_its_answer(
    reminder: str, first: bool
) -> None:
    users = json.dumps([dict(zip(("id", "mail", "error"), row, strict=True)) for row in ROWS])
    texts = [reminder, "Whose card was declined?"]
    asked = [{"type": "text", "text": text} for text in (texts if first else texts[::-1])]
    call = {"type": "tool_use", "id": "c", "name": "get", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": users}
    history: list[dict[str, Any]] = [
        {"role": "user", "content": "Go on"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": asked},
    ]
    renderer = pf.Renderer(profile="claude", context_window=2_500, reserve=0, recall_share=0.3)
    prompt = renderer.prompt(history=history, to="anthropic")
    assert "u200@x.org" in json.dumps(prompt[-1])


def test_a_score_of_a_hidden_text_is_the_same_in_each_run() -> None:
    """A plain sum of floats depends on the order of a set, and that on the seed of hashes."""
    code = (
        "from promptforge.prompts.recall import Hidden, choose_hidden\n"
        "texts = [' '.join(f'word{n} lid{n % 7}' for n in range(k, k + 40)) for k in range(9)]\n"
        "hidden = [Hidden(text, None, n) for n, text in enumerate(texts)]\n"
        "print([item.score for item in choose_hidden([' '.join(texts[::2])], hidden)])"
    )
    made = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in "0123"
    }  # fmt: skip
    assert len(made) == 1
