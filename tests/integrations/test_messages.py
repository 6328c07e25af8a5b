"""Messages of LangChain, LlamaIndex and Haystack are histories too."""

from __future__ import annotations

from typing import Any

import pytest

import promptforge as pf

RENDERER = pf.Renderer(max_tokens=None)
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SAID = {"user": "what is in a?", "image": f"data:image/png;base64,{PNG}", "result": "x = 1"}


def langchain() -> list[Any]:
    messages = pytest.importorskip("langchain_core.messages", reason="needs LangChain")
    content: list[Any] = [
        {"type": "text", "text": SAID["user"]},
        {"type": "image", "base64": PNG, "mime_type": "image/png"},
    ]
    answer = [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln", "index": 0},
        {"type": "text", "text": "I look.", "index": 1},
        {"type": "tool_use", "id": "c1", "name": "look", "input": {"path": "a"}, "index": 2},
    ]
    calls = [{"name": "look", "args": {"path": "a"}, "id": "c1"}]
    return [
        messages.SystemMessage("be brief"),
        messages.HumanMessage(content),
        messages.AIMessage(answer, tool_calls=calls),
        messages.ToolMessage(SAID["result"], tool_call_id="c1"),
        messages.AIMessageChunk("x is 1"),
    ]


def llama_index() -> list[Any]:
    types = pytest.importorskip("llama_index.core.base.llms.types", reason="needs LlamaIndex")
    return [
        types.ChatMessage(role="system", content="be brief"),
        types.ChatMessage(
            role="user",
            blocks=[
                types.TextBlock(text=SAID["user"]),
                types.ImageBlock(image=PNG.encode(), image_mimetype="image/png"),
            ],
        ),
        types.ChatMessage(
            role="assistant",
            blocks=[
                types.ThinkingBlock(content="hm", additional_information={"signature": "c2ln"}),
                types.TextBlock(text="I look."),
                types.ToolCallBlock(tool_call_id="c1", tool_name="look", tool_kwargs={"path": "a"}),
            ],
        ),
        types.ChatMessage(
            role="tool", content=SAID["result"], additional_kwargs={"tool_call_id": "c1"}
        ),
        types.ChatMessage(role="assistant", content="x is 1"),
    ]


def haystack() -> list[Any]:
    dataclasses = pytest.importorskip("haystack.dataclasses", reason="needs Haystack")
    message, image = dataclasses.ChatMessage, dataclasses.ImageContent
    call = dataclasses.ToolCall(tool_name="look", arguments={"path": "a"}, id="c1")
    return [
        message.from_system("be brief"),
        message.from_user(
            content_parts=[SAID["user"], image(PNG, mime_type="image/png", validation=False)]
        ),
        message.from_assistant("I look.", tool_calls=[call]),
        message.from_tool(SAID["result"], origin=call),
        message.from_assistant("x is 1"),
    ]


@pytest.mark.parametrize("make", [langchain, llama_index, haystack])
def test_a_conversation_of_a_framework(make: Any) -> None:
    history = make()
    prompt = RENDERER.prompt(history=history, to="openai")
    call = {"name": "look", "arguments": '{"path": "a"}'}
    assert list(prompt) == [
        {"role": "system", "content": "be brief"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": SAID["user"]},
                {"type": "image_url", "image_url": {"url": SAID["image"]}},
            ],
        },
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [{"id": "c1", "type": "function", "function": call}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": SAID["result"]},
        {"role": "assistant", "content": "x is 1"},
    ]
    lost = [d.message for d in prompt.warnings if d.code == "PF208"]
    assert lost == ['content: a block of type "thinking" was left out'] * (make is not haystack)
    claude = RENDERER.prompt(history=history, to="anthropic")
    user, answer, result, _ = claude
    source = {"type": "base64", "media_type": "image/png", "data": PNG}
    assert user["content"][1] == {"type": "image", "source": source}
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    said = answer["content"]
    assert said[:-2] == [thought] * (make is not haystack)
    assert said[-2:] == [
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "c1", "name": "look", "input": {"path": "a"}},
    ]
    assert result["content"][0]["tool_use_id"] == "c1"
    assert not [d for d in claude.warnings if d.code == "PF208"]


def test_what_no_provider_gets_is_said() -> None:
    history = haystack()
    dataclasses = pytest.importorskip("haystack.dataclasses")
    thought = dataclasses.chat_message.ReasoningContent("hm")
    history.append(dataclasses.ChatMessage.from_assistant("done", reasoning=thought))
    prompt = RENDERER.prompt(history=history, to="anthropic")
    (said,) = [d for d in prompt.warnings if d.code == "PF208"]
    assert '"reasoning"' in said.message and said.where == "history[5]"
