"""Messages of LangChain, LlamaIndex and Haystack are histories too."""

from __future__ import annotations

import json
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


def lost(prompt: pf.Prompt) -> list[str]:
    return [d.message for d in prompt.warnings if d.code == "PF208"]


def test_calls_that_langchain_could_not_read_keep_their_results() -> None:
    messages = pytest.importorskip("langchain_core.messages", reason="needs LangChain")
    bad = {"name": "f", "args": "{bad", "id": "c9", "error": "no JSON", "type": "invalid_tool_call"}
    beside = messages.AIMessage("hm", invalid_tool_calls=[bad])
    within = messages.AIMessage([{"type": "text", "text": "hm"}, bad], invalid_tool_calls=[bad])
    for answer in (beside, within):
        history = [
            messages.HumanMessage("q"),
            answer,
            messages.ToolMessage("no JSON", tool_call_id="c9"),
        ]
        made = RENDERER.prompt(history=history, to="openai")
        (call,) = made[1]["tool_calls"]
        assert call["function"] == {"name": "f", "arguments": '{"arguments": "{bad"}'}
        assert made[2]["tool_call_id"] == "c9"
        assert [message.partition(" are")[0] for message in lost(made)] == [
            'the arguments of the call of "f"'
        ]
    nameless = messages.AIMessage("hm", invalid_tool_calls=[{**bad, "name": None}])
    made = RENDERER.prompt(history=[messages.HumanMessage("q"), nameless], to="openai")
    assert lost(made) == ["a call without a name was left out"] and made[1]["content"] == "hm"


SERVER_TOOL = [
    {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
    {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [{"type": "web_search_result", "url": "u", "encrypted_content": "ZQ=="}],
    },
    {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "f", "server_name": "s", "input": {}},
    {
        "type": "mcp_tool_result",
        "tool_use_id": "mcptoolu_1",
        "is_error": False,
        "content": [{"type": "text", "text": "r"}],
    },
    {"type": "text", "text": "found"},
]


def test_tools_of_anthropic_in_the_standard_blocks_of_langchain() -> None:
    messages = pytest.importorskip("langchain_core.messages", reason="needs LangChain")
    given = messages.AIMessage(SERVER_TOOL, response_metadata={"model_provider": "anthropic"})
    standard = messages.AIMessage(
        given.content_blocks, response_metadata={"model_provider": "anthropic"}
    )
    assert standard.content[1]["type"] == "server_tool_call"
    written = messages.messages_to_dict([given])  # as LangChain keeps histories
    named = json.loads(json.dumps(standard.content).replace("srvtoolu_1", "call_of_web"))
    for answer in (given, standard, *written):
        history = [messages.HumanMessage("q"), answer, messages.HumanMessage("more")]
        made = RENDERER.prompt(history=history, to="anthropic")
        assert made[1]["content"] == SERVER_TOOL and not lost(made)
    answer = messages.AIMessage(named, response_metadata={"model_provider": "anthropic"})
    made = RENDERER.prompt(history=[messages.HumanMessage("q"), answer], to="anthropic")
    assert made[1]["content"][1]["id"] == "call_of_web" and not lost(made)
    search = {"type": "server_tool_call", "id": "ws_1", "name": "web_search", "args": {}}
    result = {"type": "server_tool_result", "tool_call_id": "ws_1", "status": "success"}
    other = messages.AIMessage([search, result, {"type": "text", "text": "found"}])
    made = RENDERER.prompt(history=[messages.HumanMessage("q"), other], to="anthropic")
    assert [message.split('"')[1] for message in lost(made)] == [search["type"], result["type"]]


@pytest.mark.parametrize("provider", ["anthropic", "google_genai", "openai"])
def test_blocks_of_langchain_that_no_provider_knows_are_sent_to_none(provider: str) -> None:
    messages = pytest.importorskip("langchain_core.messages", reason="needs LangChain")
    blocks = [
        {"type": "reasoning", "reasoning": "hm"},
        {"type": "file", "base64": "AAAA", "mime_type": "application/pdf"},
        {"type": "text", "text": "x"},
    ]
    if provider == "google_genai":  # signed, but not by Anthropic
        blocks.append({"type": "thinking", "thinking": "hm", "signature": "c2ln"})
    answer = messages.AIMessage(blocks, response_metadata={"model_provider": provider})
    for to in ("anthropic", "openai", "openai-responses", "gemini"):
        made = RENDERER.prompt(history=[messages.HumanMessage("q"), answer], to=to)
        assert len(lost(made)) == len(blocks) - 1
        assert "hm" not in str(made.request) and "AAAA" not in str(made.request)


def test_what_langchain_keeps_beside_the_content() -> None:
    messages = pytest.importorskip("langchain_core.messages", reason="needs LangChain")
    call = {"name": "f", "args": {}, "id": "c1"}
    answer = messages.AIMessage(
        [{"type": "text", "text": "hm", "annotations": [{"type": "citation", "url": "u"}]}],
        tool_calls=[call],
        additional_kwargs={
            "reasoning_content": "deep",
            "function_call": {"name": "f", "arguments": "{}"},
            "__gemini_function_call_thought_signatures__": {"c1": "c2ln"},
            "tool_outputs": [{"type": "web_search_call"}],
        },
    )
    history = [messages.HumanMessage("q"), answer, messages.ToolMessage("r", tool_call_id="c1")]
    made = RENDERER.prompt(history=history, to="openai")
    assert made[1]["reasoning_content"] == "deep" and len(made[1]["tool_calls"]) == 1
    assert lost(made) == [
        'fields of the message were left out: "tool_outputs"',
        "citations of a text were left out",
    ]
    (text, signed) = RENDERER.prompt(history=history, to="gemini")[1]["parts"]
    assert text == {"text": "hm"}
    assert signed == {"function_call": {"name": "f", "args": {}}, "thought_signature": "c2ln"}


def test_an_image_of_a_framework_is_said_where_no_image_goes() -> None:
    made = RENDERER.prompt(history=langchain(), to="roles")
    assert 'content: a block of type "image" is not text and was left out' in lost(made)
