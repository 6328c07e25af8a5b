"""Tools that a provider runs itself go back as they came; nothing of a history is lost in silence."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import provider_rules
import pytest
from provider_answers import FIRST, LAST, OUTPUT, PARTS, PNG, RENDERER, THOUGHT, prompt
from provider_rules import Data

import promptforge as pf
from promptforge.errors import Diagnostics
from promptforge.prompts.histories import read_history
from promptforge.prompts.providers import ShapeName

# --- tools of the providers themselves ------------------------------------------------------------


def user(*content: Data) -> Data:
    return {"role": "user", "content": list(content)}


def words(text: str) -> Data:
    return {"type": "text", "text": text}


def server_call(id_: str, name: str = "web_search") -> Data:
    return {"type": "server_tool_use", "id": id_, "name": name, "input": {"q": "x"}}


PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
USE: Data = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
MCP_USE: Data = {
    "type": "mcp_tool_use", "id": "m1", "name": "echo", "server_name": "s", "input": {}
}  # fmt: skip
MCP_RESULT: Data = {
    "type": "mcp_tool_result", "tool_use_id": "m1", "is_error": False, "content": [words("hi")]
}  # fmt: skip
RAN = {
    "type": "code_execution_result",
    "stdout": "1",
    "stderr": "",
    "return_code": 0,
    "content": [],
}
COMPUTER: Data = {
    "id": "cu_1", "type": "computer_call", "status": "completed", "call_id": "k1",
    "action": {"type": "screenshot"}, "pending_safety_checks": [],
}  # fmt: skip
SCREEN: Data = {
    "type": "computer_call_output", "call_id": "k1",
    "output": {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{PNG}"},
}  # fmt: skip
REASONED: Data = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "Z0FB" * 9}
ASKED: Data = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "q"}]}


def said_by_assistant(*content: Data) -> Data:
    return {"role": "assistant", "content": list(content)}


@pytest.mark.parametrize(
    ("to", "history"),
    [
        # Anthropic stopped a long turn: what it began goes back, and it goes on.
        ("anthropic", [user(words("q")), said_by_assistant(THOUGHT, server_call("s1"))]),
        ("anthropic", [
            user(words("q")), said_by_assistant(MCP_USE, MCP_RESULT, words("hi")), user(words("r")),
        ]),
        # A program of the LLM calls a tool, so the program's result comes in a later answer.
        ("anthropic", [
            user(words("q")),
            said_by_assistant(server_call("s1", "code_execution"), {**USE, "caller": {
                "type": "code_execution_20250825", "tool_id": "s1"}}),
            user({"type": "tool_result", "tool_use_id": "t1", "content": "1"}),
            said_by_assistant(
                {"type": "code_execution_tool_result", "tool_use_id": "s1", "content": RAN},
                words("one"),
            ),
            user(words("r")),
        ]),
        ("anthropic", [
            user(words("q")), said_by_assistant(USE),
            user({"type": "tool_result", "tool_use_id": "t1", "content": [
                PICTURE, {"type": "tool_reference", "tool_name": "g"}]}),
        ]),
        ("openai-responses", [ASKED, REASONED, COMPUTER, SCREEN]),
        ("openai-responses", [
            ASKED,
            {"id": "tsc_1", "type": "tool_search_call", "call_id": None, "execution": "server"},
            {"id": "tso_1", "type": "tool_search_output", "call_id": None, "tools": []},
            {"type": "local_shell_call", "id": "l1", "call_id": "k2", "action": {}},
            {"type": "local_shell_call_output", "id": "k2", "output": "x"},
        ]),
    ],
)  # fmt: skip
def test_tools_of_a_provider_go_back_as_they_came(to: ShapeName, history: list[Data]) -> None:
    made = prompt(history, to)
    assert list(made) == history
    assert not [d for d in made.warnings if d.code in ("PF208", "PF209")]
    rule = {"anthropic": provider_rules.anthropic, "openai-responses": provider_rules.responses}[to]
    assert len(history) > 4 or rule(made.request, provider_rules.signed_blocks(history)) is None


STOP = user(words("stop"))


@pytest.mark.parametrize(
    ("to", "history", "left", "lost"),
    [
        ("anthropic", [user(words("q")), said_by_assistant(THOUGHT, server_call("s1")), STOP], 1,
         ['the call of "server_tool_use" has no result', "a thought has nothing after it"]),
        ("anthropic", [user(words("q")), said_by_assistant(MCP_RESULT, words("hi")), STOP], 3,
         ['the result of "mcp_tool_result" has no call']),
        ("openai-responses", [ASKED, REASONED, COMPUTER], 1,
         ['the call of "computer_call" has no result', "a thought has nothing after it"]),
        ("openai-responses", [ASKED, SCREEN, STOP], 1,
         ['the result of "computer_call_output" has no call']),
        ("bedrock", [
            {"role": "user", "content": [{"text": "q"}]},
            {"role": "assistant", "content": [{"text": "I look."}, {"toolUse": {
                "toolUseId": "s1", "name": "nova_grounding", "input": {},
                "type": "server_tool_use"}}]},
            {"role": "user", "content": [{"text": "stop"}]},
        ], 3, ['the call of "toolUse" has no result']),
    ],
)  # fmt: skip
def test_a_tool_of_a_provider_that_was_interrupted_goes_and_is_said(
    to: ShapeName, history: list[Data], left: int, lost: list[str]
) -> None:
    made = prompt(history, to)
    said = [d.message for d in made.warnings if d.code == "PF209"]
    assert said == [f"{message}; it was left out" for message in lost]
    assert len(made) == left


PAUSED = [user(words("q")), said_by_assistant(words("I search."), server_call("s1"))]
OPEN = [
    user(words("q")),
    said_by_assistant(server_call("s1"), USE),
    user({"type": "tool_result", "tool_use_id": "t1", "content": "1"}),
]


@pytest.mark.parametrize("history", [PAUSED, OPEN])
@pytest.mark.parametrize("order", [None, ["system", "history", "context", "question"]])
def test_a_turn_that_waits_for_anthropic_goes_on_only_if_nothing_follows(
    history: list[Data], order: list[str] | None
) -> None:
    made = prompt(history, "anthropic")
    assert list(made) == history and provider_rules.anthropic(made.request, []) is None
    options: dict[str, Any] = {"prompt_order": order} if order else {}
    items = ["an item"] if order else []
    closed = RENDERER.prompt(
        items, history=history, to="anthropic", user=None if order else "go on", **options
    )
    assert provider_rules.anthropic(closed.request, []) is None
    (said,) = [d.message for d in closed.warnings if d.code == "PF209"]
    assert said == 'the call of "server_tool_use" has no result; it was left out'
    assert len(closed) == 3
    # Read twice, as the command and the batch do.
    read = read_history(history, "history", Diagnostics())
    again = prompt(read, "anthropic", user="go on")
    assert provider_rules.anthropic(again.request, []) is None


def test_a_cut_keeps_a_program_with_its_result() -> None:
    def step(n: int) -> list[Data]:
        use = {**USE, "id": f"t{n}"}
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": "word " * 300}
        return [said_by_assistant(use), user(result)]

    call, end = server_call("s1", "code_execution"), {"type": "code_execution_tool_result"}
    program = step(50)
    program[0]["content"].insert(0, call)
    later = step(51)
    later[0]["content"].insert(0, {**end, "tool_use_id": "s1", "content": RAN})
    history = [user(words("q")), *step(1), *step(2), *program, *later]
    for window in range(800, 1900, 60):
        made = prompt(history, "anthropic", context_window=window)
        assert made.tokens <= window
        assert provider_rules.anthropic(made.request, []) is None


def test_everything_lost_of_a_result_is_said_and_no_mark_is_kept() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    paper = {"type": "document", "source": {"type": "file", "file_id": "f"}}
    result = {"type": "tool_result", "tool_use_id": "t1", **mark, "content": [
        {**words("x"), **mark}, PICTURE, paper]}  # fmt: skip
    history = [user(words("q")), said_by_assistant(USE), user(result)]
    assert "cache_control" not in json.dumps(list(prompt(history, "anthropic")))
    (said,) = [d.message for d in prompt(history, "openai").warnings if d.code == "PF208"]
    assert '"image"' in said and '"document"' in said
    parts: list[Data] = [{"inline_data": {"mime_type": "image/png", "data": PNG}}]
    answered = {"name": "f", "response": {"output": "x"}, "parts": parts}
    turns: list[Data] = [
        {"role": "user", "parts": [{"text": "q"}]},
        {"role": "model", "parts": [{"function_call": {"name": "f", "args": {}}}]},
        {"role": "user", "parts": [{"function_response": answered}]},
    ]
    assert list(prompt(turns, "gemini"))[2] == turns[2]
    (said,) = [d.message for d in prompt(turns, "openai").warnings if d.code == "PF208"]
    assert said == "the images and files of a result were left out"
    # Marks of sources: no chat request carries them, and another family reads the text alone.
    cited = {"role": "assistant", "content": "x", "annotations": [{"type": "url_citation"}]}
    (said,) = [d.message for d in prompt([cited], "openai").warnings if d.code == "PF208"]
    assert said == "citations of a text were left out"


# --- servers with the shape of OpenAI's chat ------------------------------------------------------

LITELLM: list[Data] = [
    {"role": "user", "content": "q"},
    {
        "role": "assistant",
        "content": "I look.",
        "reasoning_content": THOUGHT["thinking"],
        "thinking_blocks": [THOUGHT, {"type": "redacted_thinking", "data": "eA=="}],
        "tool_calls": [
            {"id": "t1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        ],
    },
    {"role": "tool", "tool_call_id": "t1", "content": "1"},
]
MARK = {"start": 0, "end": 3, "text": "tar", "sources": [{"type": "document", "id": "d0"}]}
COHERE: list[Data] = [
    {"role": "user", "content": "q"},
    {"role": "assistant", "content": "tar does", "tool_plan": "none", "citations": [MARK]},
]


def said_of(made: pf.Prompt) -> list[str]:
    return [d.message for d in made.warnings if d.code == "PF208"]


def test_thoughts_of_litellm_go_to_their_own_family_too() -> None:
    back = prompt(LITELLM, "openai")
    assert list(back) == LITELLM and not said_of(back)
    claude = prompt(LITELLM, "anthropic")
    thoughts = LITELLM[1]["thinking_blocks"]
    assert claude[1]["content"] == [*thoughts, words("I look."), USE]
    assert not said_of(claude)
    lost = 'fields of the message were left out: "reasoning_content", "thinking_blocks"'
    closed = [*LITELLM, {"role": "assistant", "content": "done"}, LITELLM[0]]
    assert said_of(prompt(closed, "gemini")) == [lost]
    # No family takes a thought as the last block, so one that stays alone goes.
    alone = [LITELLM[0], {**LITELLM[1], "content": None, "tool_calls": []}]
    made = prompt(alone, "anthropic", user="go on")
    assert provider_rules.anthropic(made.request, thoughts) is None


def test_citations_of_cohere_go_back_and_are_said_for_others() -> None:
    assert list(prompt(COHERE, "openai")) == COHERE
    lost = 'fields of the message were left out: "tool_plan", "citations"'
    assert said_of(prompt(COHERE, "anthropic")) == [lost]
    whole = {"id": "x", "finish_reason": "COMPLETE", "message": COHERE[1]}
    assert list(prompt([COHERE[0], whole], "openai")) == COHERE
    # Those of another program are no field that a server takes.
    own = {**COHERE[1], "citations": ["doc 1"], "grade": 3}
    made = prompt([COHERE[0], own], "openai")
    assert "citations" not in made[1]
    assert said_of(made) == ['fields of the message were left out: "citations", "grade"']


def test_marks_of_sources_are_never_lost_in_silence() -> None:
    marked = {"type": "output_text", "text": "tar", "annotations": [{"type": "url_citation"}]}
    answer = {
        "candidates": [
            {
                "content": {"role": "model", "parts": [{"text": "tar"}]},
                "groundingMetadata": {"groundingChunks": []} | {"x": 1},
            }
        ]
    }
    for message in ({"role": "assistant", "content": [marked]}, answer):
        made = prompt([{"role": "user", "content": "q"}, message], "openai")
        assert said_of(made) == ["citations of a text were left out"]
        assert made[1]["content"] == "tar"


def test_a_history_of_which_nothing_can_be_read_is_said_in_the_error() -> None:
    with pytest.raises(pf.OptionError, match=r"history\[0\]: message skipped: role: missing"):
        prompt([{"question": "a", "answer": "b"}], "openai")


# --- nothing is lost in silence -------------------------------------------------------------------

CONVERSATIONS: dict[str, list[Data]] = {
    "anthropic": [
        user(words("q"), PICTURE, {"type": "document", "title": "t", "source": {
            "type": "text", "media_type": "text/plain", "data": "d"}}),
        said_by_assistant(*FIRST),
        user({"type": "tool_result", "tool_use_id": "toolu_1", "content": [words("r"), PICTURE]}),
    ],
    "responses": [
        ASKED, *OUTPUT,
        {"type": "function_call_output", "call_id": "c1", "output": [
            {"type": "input_text", "text": "r"}, {"type": "input_file", "filename": "f"}]},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": "total"}, *LAST,
    ],
    "gemini": [
        {"role": "user", "parts": [{"text": "q"}, {"file_data": {"file_uri": "gs://a"}}]},
        {"role": "model", "parts": [*PARTS, {"executable_code": {"code": "print(1)"}}]},
        {"role": "user", "parts": [
            {"function_response": {"name": "look", "response": {"output": "r", "more": "m"}}},
            {"function_response": {"name": "look", "response": {"result": "s"}}},
        ]},
    ],
    "chat": [
        {"role": "user", "name": "n", "content": [
            words("q"), {"type": "file", "file": {"filename": "f", "file_data": "AA=="}}]},
        {**LITELLM[1], "refusal": "no", "annotations": [{"url": "u"}], "mood": "m"},
        {**LITELLM[2], "mood": "m"}, COHERE[1],
    ],
}  # fmt: skip
NO_CONTENT = {
    "type",
    "role",
    "id",
    "call_id",
    "tool_call_id",
    "tool_use_id",
    "status",
    "media_type",
}


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places of all texts that say something."""
    if isinstance(value, str) and value and not NO_CONTENT & {*path[-1:]}:
        yield path
    members: Any = enumerate(value) if isinstance(value, list) else ()
    for key, member in value.items() if isinstance(value, dict) else members:
        yield from leaves(member, (*path, key))


@pytest.mark.parametrize("to", ["anthropic", "openai", "openai-responses", "gemini", "bedrock"])
@pytest.mark.parametrize("shape", CONVERSATIONS)
def test_law_nothing_of_a_history_is_lost_in_silence(shape: str, to: ShapeName) -> None:
    for *path, last in leaves(CONVERSATIONS[shape]):
        history = copy.deepcopy(CONVERSATIONS[shape])
        place: Any = history
        for key in path:
            place = place[key]
        place[last] = place[last].replace('"}', 'QZQ7"}') if "{" in place[last] else "QZQ7"
        made = prompt(history, to)
        # Each loss is said with the place of its message.
        said = {d.where for d in made.warnings if d.code in ("PF208", "PF209")}
        found = "QZQ7" in json.dumps(made.request, default=str)
        assert found or said & {"history", f"history[{path[0]}]"}, (path, last)


# --- the AI SDK of Vercel -------------------------------------------------------------------------

ASKS: Data = {"role": "user", "parts": [{"type": "text", "text": "Weather?"}]}


def notes_of(prompt: pf.Prompt) -> list[str]:
    return [each.message for each in prompt.warnings if each.code in ("PF208", "PF209")]


def sdk_tool(id_: str, state: str, name: str = "tool-look", **more: Any) -> Data:
    return {"type": name, "toolCallId": id_, "state": state, "input": {"city": id_}, **more}


def test_a_message_of_a_user_interface_has_thoughts_calls_and_results() -> None:
    parts = [
        {"type": "step-start"},
        {"type": "reasoning", "text": "hm"},
        sdk_tool("c1", "output-available", output={"t": 1}),
        sdk_tool("c2", "output-error", "dynamic-tool", toolName="find", errorText="no such city"),
        {"type": "step-start"},
        sdk_tool("c3", "output-denied", approval={"id": "a", "approved": False}),
        sdk_tool("c4", "output-available"),
        {"type": "text", "text": "sunny"},
        {"type": "data-map", "data": {}},
    ]
    answer = {"id": "2", "role": "assistant", "metadata": {"m": 1}, "parts": parts}
    prompt = pf.Renderer().prompt(history=[ASKS, answer], user="q", to="anthropic")
    calls, results, others, denied, text = [m["content"] for m in list(prompt)[1:6]]
    assert [(call["name"], call["input"]) for call in calls] == [
        ("look", {"city": "c1"}), ("find", {"city": "c2"})
    ]  # fmt: skip
    assert [result["content"] for result in results] == ['{"t": 1}', "no such city"]
    assert [result.get("is_error", False) for result in results] == [False, True]
    assert [call["id"] for call in others] == ["c3", "c4"]
    assert denied[0] | {"content": ""} == {
        "type": "tool_result", "tool_use_id": "c3", "content": "", "is_error": True
    }  # fmt: skip
    assert text == [words("sunny")]
    assert notes_of(prompt) == [
        'content: a block of type "reasoning" was left out',
        'content: a block of type "data-map" is not text and was left out',
    ]


def test_a_call_of_a_user_interface_without_a_result_is_named() -> None:
    older = {"state": "result", "toolCallId": "c1", "toolName": "look", "args": {}, "result": "9"}
    parts = [
        {"type": "tool-invocation", "toolInvocation": older},
        sdk_tool("c2", "approval-requested", "tool-pay"),
        {"type": "text", "text": "done"},
    ]
    history = [ASKS, {"role": "assistant", "parts": parts}]
    prompt = pf.Renderer().prompt(history=history, user="q", to="openai")
    assert prompt[2]["content"] == "9" and prompt[1]["tool_calls"][0]["id"] == "c1"
    assert notes_of(prompt) == ['the call of "pay" has no result; it was left out']


def test_messages_for_an_llm_of_the_ai_sdk() -> None:
    def result(id_: str, **output: Any) -> Data:
        return {"type": "tool-result", "toolCallId": id_, "toolName": "f", **output}

    call = {"type": "tool-call", "toolCallId": "c1", "toolName": "f"}
    signed = {"anthropic": {"signature": "c2ln"}}
    shown = [{"type": "text", "text": "see"}, {"type": "media", "data": PNG, "mediaType": PNG_TYPE}]
    history: list[Data] = [
        user(words("q")),
        {
            "role": "assistant",
            "content": [
                {"type": "reasoning", "text": "hm", "providerOptions": signed},
                {**call, "input": {"n": 1}},
                {**call, "toolCallId": "c2", "args": {"n": 2}},
                {**call, "toolCallId": "c3", "input": {}},
            ],
        },
        {
            "role": "tool",
            "content": [
                result("c1", output={"type": "error-text", "value": "bad"}),
                result("c2", result=[1, 2]),
                result("c3", output={"type": "content", "value": shown}),
            ],
        },
    ]
    prompt = pf.Renderer().prompt(history=history, user="q", to="anthropic")
    thought, *calls = prompt[1]["content"]
    assert thought == {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    assert [call["input"] for call in calls] == [{"n": 1}, {"n": 2}, {}]
    results = prompt[2]["content"][:3]
    assert [each["content"] for each in results] == ["bad", "[1, 2]", "see"]
    assert results[0]["is_error"] and "is_error" not in results[1]
    assert notes_of(prompt) == ['content: a block of type "media" is not text and was left out']


PNG_TYPE = "image/png"
DATA_URL = f"data:{PNG_TYPE};base64,{PNG}"


@pytest.mark.parametrize(
    ("part", "url"),
    [
        ({"type": "file", "url": DATA_URL}, ""),
        ({"type": "file", "url": "https://x.org/y"}, "https://x.org/y"),
        ({"type": "file", "data": PNG}, ""),
        ({"type": "image", "image": "https://x.org/y"}, "https://x.org/y"),
        ({"type": "image", "image": DATA_URL}, ""),
    ],
)
@pytest.mark.parametrize("key", ["parts", "content"])
def test_images_of_the_ai_sdk(part: Data, url: str, key: str) -> None:
    history = [{"role": "user", key: [words("see"), {**part, "mediaType": PNG_TYPE}]}]
    prompt = pf.Renderer().prompt(history=history, to="openai")
    assert prompt[0]["content"][1]["image_url"]["url"] == (url or DATA_URL)
    assert notes_of(prompt) == []
