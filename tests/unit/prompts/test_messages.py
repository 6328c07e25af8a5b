"""Blocks of messages: what each weighs, and what is broken up in those that pass through."""

from __future__ import annotations

import json
from typing import Any

import pytest
from provider_answers import CITED, THOUGHT, prompt

import promptforge as pf
from promptforge.errors import Diagnostics
from promptforge.prompts.histories import read_history
from promptforge.prompts.messages import weigh


def test_control_tokens_in_what_passes_are_broken_up_too() -> None:
    token = "<|im_end|>"
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    history: list[Any] = [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "q"},
                {"type": "file", "file": {"file_id": token}},
            ],
        },
        {
            "role": "assistant",
            "content": "a",
            "reasoning_content": f"hm {token}",
            "tool_calls": [{**call, "extra_content": {"x": token}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": token},
        {"role": "assistant", "content": None, "refusal": f"no {token}"},
    ]
    made = pf.Renderer(profile="qwen").prompt(history=history, to="openai", user="q")
    assert token not in json.dumps(made.request)
    assert (
        made[1]["reasoning_content"].startswith("hm <")
        and "extra_content" in made[1]["tool_calls"][0]
    )
    assert "PF704" in {d.code for d in made.warnings}
    kept = prompt(history, "openai")
    assert kept[1]["reasoning_content"] == f"hm {token}"


def test_lone_surrogates_in_what_passes_are_replaced() -> None:
    thought = {**THOUGHT, "thinking": "a\ud800"}
    history = [{"role": "user", "content": "q"}, {"role": "assistant", "content": [thought, CITED]}]
    made = prompt(history, "anthropic")
    assert json.dumps(made.request, ensure_ascii=False).encode()
    assert made[1]["content"][0]["thinking"] == "a\ufffd"
    assert "PF208" in {d.code for d in made.warnings}


ENTRIES = [
    {"name": "a.py", "type": "file"},
    {"mime_type": "image/png", "type": ["object", "null"]},
    {"block_type": "image", "text": "b.py"},
    {"kind": "video-url", "url": "http://a", "text": "c.py"},
    {"kind": "binary", "media_type": "image/png", "text": "d.py"},
    {"part_kind": "tool-return", "content": {"kind": "image-url", "url": "e.py"}},
]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "tool_use", "id": "t", "name": "ls", "input": {"found": ENTRIES}},
        {"function_call": {"name": "ls", "args": {"found": ENTRIES}}},
        {"function_response": {"name": "ls", "response": {"output": ENTRIES}}},
        {"toolResult": {"toolUseId": "t", "content": [{"json": {"found": ENTRIES}}]}},
        {"type": "tool-result", "output": {"type": "json", "value": ENTRIES}},
        {"part_kind": "tool-return", "tool_name": "ls", "content": {"found": ENTRIES}},
    ],
)
def test_data_has_no_files_whatever_it_calls_them(block: dict[str, Any]) -> None:
    weight = weigh(block)
    assert (weight.images, weight.files) == ((), ())
    assert {f"{letter}.py" for letter in "abcde"} <= {*weight.texts}


def test_a_result_of_pydantic_ai_holds_media_in_its_content_alone() -> None:
    image = {"kind": "image-url", "url": "http://a", "media_type": "image/png"}
    film = {"kind": "video-url", "url": "http://a"}
    own = {"kind": "video-url", "text": "no address"}
    part: dict[str, Any] = {
        "part_kind": "tool-return",
        "content": [image, film, own, {"deeper": image}],
    }
    weight = weigh(part)
    assert (weight.images, weight.files) == ((image,), (film,)) and "no address" in weight.texts
    part = {"part_kind": "tool-return", "content": {"block_type": "image", "text": "a word"}}
    assert weigh(part).images == () and "a word" in weigh(part).texts


def test_a_call_may_have_a_schema_among_its_arguments() -> None:
    call = {"type": "tool_use", "id": "t", "name": "make", "input": {"type": ["string", "null"]}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "made"}
    history = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    made = prompt(history, "anthropic")
    assert made[1]["content"] == [call] and made.tokens < 500


@pytest.mark.parametrize("fetched", [False, True])
def test_the_text_of_a_document_is_counted_and_read(fetched: bool) -> None:
    text = "\N{TAMIL LETTER AU}" * 2000 + "<|im_end|>"
    source = {"type": "text", "media_type": "text/plain", "data": text}
    block: dict[str, Any] = {"type": "document", "source": source}
    role = "user"
    if fetched:
        found = {"type": "web_fetch_result", "url": "http://a", "content": block}
        block = {"type": "web_fetch_tool_result", "tool_use_id": "s1", "content": found}
        role = "assistant"

    weight = weigh(block)
    assert text in weight.texts and weight.hidden_bytes == 0
    call = {
        "type": "server_tool_use",
        "id": "s1",
        "name": "web_fetch",
        "input": {"url": "http://a"},
    }
    history: list[Any] = [{"role": "user", "content": "hi"}] if fetched else []
    history.append({"role": role, "content": [*([call] if fetched else []), block]})
    prompt = pf.Renderer(profile="gpt").prompt([], history=history, user="q", to="anthropic")
    assert prompt.tokens >= pf.get_tokenizer("o200k_base").count(text)
    assert "PF504" not in {d.code for d in prompt.warnings}


TWO_RESULTS: dict[str, list[dict[str, Any]]] = {
    "openai": [
        {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "f"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "pending"},
        {"role": "tool", "tool_call_id": "c1", "content": "final 42"},
    ],
    "anthropic": [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f"}]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "pending"},
                {"type": "tool_result", "tool_use_id": "c1", "content": "final 42"},
            ],
        },
    ],
}


@pytest.mark.parametrize("to", ["openai", "anthropic"])
def test_a_second_result_of_a_call_replaces_the_first(to: Any) -> None:
    history = [{"role": "user", "content": "q"}, *TWO_RESULTS[to]]
    prompt = pf.Renderer().prompt(history=history, to=to)
    assert "final 42" in prompt.text and "pending" not in prompt.text
    said = [each.message for each in prompt.warnings if each.code == "PF209"]
    assert said == ['a second result of "c1" has replaced the first']


def test_two_calls_with_one_id_do_not_replace_a_result() -> None:
    calls = [{"id": "c", "function": {"name": name}} for name in "fg"]
    history = [{"role": "user", "content": "q"}, {"role": "assistant", "tool_calls": calls}]
    history += [{"role": "tool", "tool_call_id": "c", "content": f"of {name}"} for name in "fg"]
    prompt = pf.Renderer().prompt(history=history, to="openai")
    assert [call["function"]["name"] for call in prompt[1]["tool_calls"]] == ["f"]
    assert prompt[2]["content"] == "of f"


def test_a_result_without_an_id_leaves_the_call_of_one_that_has_one() -> None:
    calls = [
        {"type": "tool_use", "id": "a", "name": "g", "input": {"n": 1}},
        {"type": "tool_use", "name": "g", "input": {"n": 2}},
    ]
    history = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": calls},
        {"role": "tool", "name": "g", "content": "of the one without"},
        {"role": "tool", "name": "g", "tool_call_id": "a", "content": "of a"},
        {"role": "assistant", "content": "done"},
    ]
    prompt = pf.Renderer().prompt([], history=history, user="next", to="openai")
    results = {
        message["tool_call_id"]: message["content"]
        for message in prompt.request["messages"]
        if message["role"] == "tool"
    }
    assert results["a"] == "of a" and "of the one without" in results.values()
    assert not prompt.warnings


def test_a_pinned_result_stays_pinned_behind_its_call() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    history = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "x", "pinned": True},
    ]
    read = read_history(history, "history", Diagnostics())
    assert [message.pinned for message in read if message.role == "tool"] == [True]
