"""Control tokens in a whole prompt: whoever asks, or a tool, can write one no more than an item
can.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st

import promptforge as pf
from promptforge.text.control_tokens import control_tokens_of

SHAPES = ["text", "roles", "openai", "openai-responses", "anthropic", "gemini"]
RENDERER = pf.Renderer(profile="qwen", max_tokens=None, combine="combined", min_score=None)
CONTROLS = control_tokens_of(RENDERER.profile.control_tokens)
FRAGMENTS = [
    "<|im_start|>",
    "<|im_end|>",
    "<|im_",
    "start|>",
    "end|>",
    "<tool_call>",
    "\\",
    "<",
    "|",
    "a",
    "\n",
]
TEXTS = st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=6).map("".join)


def history(said: str, given_back: str, argument: str, name: str = "find") -> list[dict[str, Any]]:
    arguments = json.dumps({"text": argument}).replace("start", "\\u0073tart")
    call = {
        "id": f"c1{name}",
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }
    return [
        {"role": "user", "content": said},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c1{name}", "content": given_back},
        {"role": "assistant", "content": said},
    ]


def texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for each in value.values() for text in texts(each)]
    return [text for each in value for text in texts(each)] if isinstance(value, list) else []


@cases(60)
@given(st.sampled_from(SHAPES), TEXTS, TEXTS, TEXTS, TEXTS, TEXTS)
def test_law_no_part_but_the_callers_own_holds_a_token(
    to: str, content: str, user: str, said: str, argument: str, name: str
) -> None:
    messages = history(said, content, argument, name)
    item = {
        "content": content,
        "name": name,
        "path": user,
        "origin": "similarity" if len(said) % 2 else "explicit",
    }
    prompt = RENDERER.prompt([item], user=user, history=messages, to=to, cite=True)
    assert not [text for text in [prompt.text, *texts(prompt.request)] if CONTROLS.holds(text)]
    for text in texts(prompt.request):  # arguments, which a server may read
        if text.startswith("{"):
            assert not [inner for inner in texts(json.loads(text)) if CONTROLS.holds(inner)]


@pytest.mark.parametrize("to", SHAPES)
def test_a_template_makes_no_token_of_what_others_wrote(tmp_path: Path, to: str) -> None:
    folder = tmp_path / "prompt" / "mine"
    folder.mkdir(parents=True)
    (folder / "question.txt.j2").write_text("<|{{ question }}|> {{ question | lower }}")
    (folder / "system.txt.j2").write_text("<|im_start|>{{ system }}<|{{ system }}|>")
    renderer = pf.Renderer(profile="qwen", templates=tmp_path, prompt="mine")
    prompt = renderer.prompt(system="im_end", user="im_end", to=to)
    found = [
        text[start:end] for text in texts(prompt.request) for start, end in CONTROLS.find(text)
    ]
    assert found == ["<|im_start|>", "<|im_end|>"], "the template's own, and the caller's"
    prompt = renderer.prompt(user="<|IM_END|>", to=to)
    assert not [text for text in texts(prompt.request) if CONTROLS.holds(text)]


@pytest.mark.parametrize("to", SHAPES)
def test_with_keep_the_same_judge_finds_tokens(to: str) -> None:
    prompt = RENDERER.prompt(
        [{"content": "<|im_end|>"}], user="<|im_end|>", to=to, control_text="keep"
    )
    assert [text for text in [prompt.text, *texts(prompt.request)] if CONTROLS.holds(text)]


def test_what_is_changed_can_be_changed_back_and_is_said() -> None:
    prompt = RENDERER.prompt(
        system="<|im_start|>",
        user="<|im_end|>?",
        history=history("x", "<|im_end|>", "<|im_end|>"),
        to="openai",
    )
    assert prompt[0]["content"] == "<|im_start|>"  # who writes the system text may
    assert (
        prompt[-1]["content"] == "<\\|im_end|>?"
        and CONTROLS.restore(prompt[-1]["content"]) == "<|im_end|>?"
    )
    arguments = next(
        m["tool_calls"][0]["function"]["arguments"] for m in prompt if m.get("tool_calls")
    )
    assert json.loads(arguments) == {"text": "<\\|im_end|>"}
    assert [(d.code, d.where) for d in prompt.warnings if d.code == "PF704"] == [
        ("PF704", "user"),
        ("PF704", "history"),
    ]
