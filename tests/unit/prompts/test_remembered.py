"""What a renderer remembers of earlier histories changes no byte, whatever is done to a history."""

from __future__ import annotations

import random
from typing import Any, get_args

import pytest
from conversations import Messages
from example_counts import cases
from hypothesis import example, given
from hypothesis import strategies as st

import promptforge as pf
from promptforge.errors import Diagnostics
from promptforge.integrations.conversation import ConversationWindow
from promptforge.prompts.histories import read_message
from promptforge.prompts.messages import Message
from promptforge.prompts.providers import ShapeName
from promptforge.prompts.remembered import HistoryMemory

WORDS = ("hat", "<|im_end|>", "[INST]", "</history>", "17", "café", "\ud800", "error: refund\n")


def _text(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=rng.choice((0, 1, 4, 60, 200))))


def _id(rng: random.Random) -> str:
    return rng.choice(("", "c1", "c2", "c3", "call_2_0", "toolu_1")) or f"n{rng.randrange(10**6)}"


def _result(rng: random.Random, id_: str) -> dict[str, Any]:
    shape = rng.randrange(5)
    if shape == 0:
        block = {"type": "tool_result", "tool_use_id": id_, "content": _text(rng)}
        return {"role": "user", "content": [block]}
    if shape == 1:
        return {"type": "function_call_output", "call_id": id_, "output": _text(rng)}
    if shape == 2:
        response = {"name": "read", "response": {"output": _text(rng)}}
        return {"role": "user", "parts": [{"function_response": response}]}
    return {"role": "tool", "tool_call_id": id_, "content": _text(rng)}


def _call(rng: random.Random, id_: str) -> dict[str, Any]:
    arguments = {"path": _text(rng)[:20], "n": rng.choice((1, 1.0, True))}
    shape = rng.randrange(5)
    if shape == 0:
        thought = {"type": "thinking", "thinking": "hm", "signature": f"c2ln{rng.randrange(99):04}"}
        use = {"type": "tool_use", "id": id_, "name": "read", "input": arguments}
        return {"role": "assistant", "content": [thought, use][rng.randrange(2) :]}
    if shape == 1:
        return {"type": "function_call", "call_id": id_, "name": "read", "arguments": "{}"}
    if shape == 2:
        part = {"function_call": {"name": "read", "args": arguments}, "thought_signature": "c2ln"}
        return {"role": "model", "parts": [part]}
    function = {"name": "read", "arguments": '{"path": "a"}'}
    call = {"id": id_, "type": "function", "function": function}
    return {"role": "assistant", "content": _text(rng) or None, "tool_calls": [call]}


class _Said:
    """A block of an answer, as an SDK gives it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def model_dump(self, **_: object) -> dict[str, str]:
        return {"type": "text", "text": self.text}


def _picture(data: bytes | bytearray) -> dict[str, Any]:
    return {"image": {"format": "png", "source": {"bytes": data}}}


def _other(rng: random.Random) -> Any:
    image = {"type": "image_url", "image_url": {"url": "https://a.example/hat.png"}}
    search = {"type": "server_tool_use", "id": _id(rng), "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": _id(rng), "content": []}
    return rng.choice(
        [
            {"role": "user", "content": _text(rng)},
            {"role": "user", "content": _text(rng), "pinned": True, "name": "ann"},
            {"role": "user", "content": [{"type": "text", "text": _text(rng)}, image]},
            {"role": "assistant", "content": _text(rng)},
            {"role": "assistant", "content": [search, found, {"type": "text", "text": "found"}]},
            {"role": "assistant", "content": [search]},
            {"role": "system", "content": _text(rng)},
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"role": "user", "content": b"hat"},
            {"role": "user", "content": bytearray(b"hat")},
            {"role": "user", "content": [_picture(rng.choice((b"\x89P", bytearray(b"\x89P"))))]},
            {"role": "assistant", "content": [_Said(_text(rng))]},
            {"role": "nobody"},
        ]
    )


def _change(rng: random.Random, history: Messages) -> None:
    """Do to a history what programs do: mostly append, sometimes anything else."""
    what = rng.randrange(12)
    if what < 6:
        ids = [_id(rng) for _ in range(rng.choice((1, 1, 1, 2)))]
        history += [_call(rng, id_) for id_ in ids]
        if rng.randrange(8):
            history += [_result(rng, id_) for id_ in ids]
    elif what < 10:
        history.append(_other(rng))
    elif what == 10 and history:
        place = rng.randrange(len(history))
        history[place] = rng.choice([history[place - 1], _other(rng)])
    elif history:
        history.pop(rng.choice((0, -1)))


def _all_of(prompt: pf.Prompt) -> Any:
    return prompt.to_dict(), prompt.sent(), prompt.prefix


class _Thirds:
    name = "thirds"

    def count(self, text: str) -> int:
        return len(text) // 3


OPTIONS: list[dict[str, Any]] = [
    {"profile": "gpt"},
    {"profile": "gpt", "context_window": 900, "reserve": 0},
    {"profile": "claude", "context_window": 1500, "reserve": 0},
    {"profile": "claude", "context_window": 1500, "reserve": 0, "thoughts": "drop"},
    {"profile": "mistral", "context_window": 1200, "reserve": 0, "keep_tools": ["read"]},
    {"profile": "llama", "context_window": 1200, "reserve": 0},
    {"tokenizer": _Thirds(), "context_window": 1500, "reserve": 0},
]


@pytest.mark.slow
@given(st.integers(0, 10**9))
@example(0)
@cases(60)
def test_law_a_remembered_history_gives_the_same_bytes(seed: int) -> None:
    rng = random.Random(seed)
    options = rng.choice(OPTIONS)
    renderer, fresh = pf.Renderer(**options), pf.Renderer(**options)
    history: Messages = []
    shapes: list[ShapeName] = rng.choices(get_args(ShapeName), k=2)
    question = rng.choice(("", "where is the hat?"))
    for _ in range(8):
        _change(rng, history)
        fresh.__dict__["_histories"] = HistoryMemory()
        given: dict[str, Any] = {"system": rng.choice(("s", "s", "t")), "user": question}
        given["to"] = shapes[not rng.randrange(6)]
        before = repr(history)
        made: list[Any] = []
        for one in (renderer, fresh):
            try:
                made.append(_all_of(one.prompt(history=history, **given)))
            except (pf.BudgetError, pf.OptionError) as error:
                made.append(str(error))
        assert repr(made[0]) == repr(made[1])
        assert repr(history) == before


def test_a_changed_object_of_a_library_is_read_anew() -> None:
    library = pytest.importorskip("langchain_core.messages", reason="needs LangChain")
    question, answer = library.HumanMessage("where is the hat?"), library.AIMessage("on the peg")
    window = ConversationWindow(profile="gpt", context_window=4_000, reserve=0)
    before = window.fit([question, answer]).tokens
    answer.content = "on the peg in the hall, behind the door, below the coats"
    assert window.fit([question, answer]).tokens > before
    again = ConversationWindow(profile="gpt", context_window=4_000, reserve=0).fit(
        [question, answer]
    )
    assert window.fit([question, answer]).tokens == again.tokens


class _Interrupting:
    def model_dump(self, **_: object) -> dict[str, str]:
        raise KeyboardInterrupt


class _Failing:
    def model_dump(self, **_: object) -> dict[str, str]:
        raise GeneratorExit


def test_an_object_that_raises_is_skipped_and_said_and_an_interrupt_goes_on() -> None:
    renderer = pf.Renderer(profile="gpt")
    prompt = renderer.prompt(history=[_Failing()], user="hat?")
    assert [each.code for each in prompt.warnings] == ["PF208"]
    with pytest.raises(KeyboardInterrupt):
        renderer.prompt(history=[_Interrupting()], user="hat?")


@pytest.mark.parametrize("block", [_picture(b"\x89P"), _Said("on the peg")])
def test_bytes_and_objects_within_a_message_are_read_once(block: object) -> None:
    reads: list[object] = []

    def read(given: object, where: str, diagnostics: Diagnostics) -> list[Message]:
        reads.append(given)
        return read_message(given, where, diagnostics)

    memory = HistoryMemory(read)
    made = [
        memory.read({"role": "user", "content": [block]}, "history[0]", Diagnostics())
        for _ in range(3)
    ]
    assert len(reads) == 1
    assert made[0][0] is made[2][0]


def test_a_bytearray_is_not_taken_for_bytes_nor_another_text_of_an_object_for_the_first() -> None:
    memory, said = HistoryMemory(), _Said("on the peg")

    def read(block: object) -> list[Message]:
        return memory.read({"role": "user", "content": [block]}, "history[0]", Diagnostics())

    assert read(_picture(b"\x89P")) != read(_picture(bytearray(b"\x89P")))
    assert read(_picture(b"\x89P")) != read(_picture(b"\x89Q"))
    before = read(said)
    said.text = "in the hall"
    assert read(said)[0].text == "in the hall" != before[0].text
