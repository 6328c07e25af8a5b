"""What a provider's own library returns goes back to it as it came.

Each library talks to a server on this machine that enforces its provider's rules (400 for a missing
signature, a thought out of place, a result without its call).
"""

from __future__ import annotations

import base64
import copy
import json
import struct
from typing import Any

import provider_rules
import pytest
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st
from provider_answers import CITED, FIRST, LAST, OUTPUT, PARTS, PNG, THOUGHT, prompt
from provider_rules import STAND_IN, Data, RuleServer, serving

import promptforge as pf
from promptforge.prompts.finished import format_prompt
from promptforge.prompts.providers import ShapeName

# --- Anthropic ------------------------------------------------------------------------------------


def said_by_claude(content: list[Data], reason: str = "end_turn") -> Data:
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content,
        "stop_reason": reason, "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip


@pytest.fixture
def claude() -> Any:
    anthropic = pytest.importorskip("anthropic", reason="the library of Anthropic is not installed")
    answers = [said_by_claude(FIRST, "tool_use"), said_by_claude([{"type": "text", "text": "x"}])]
    with (
        serving(answers * 2) as server,
        anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0) as client,
    ):
        server.client = client  # type: ignore[attr-defined]
        yield server


def ask_claude(server: Any, made: pf.Prompt) -> Any:
    thinking = {"type": "enabled", "budget_tokens": 1024}
    return server.client.messages.create(
        model="m", max_tokens=2048, thinking=thinking, **made.request
    )


@pytest.mark.slow
@pytest.mark.parametrize("whole", [True, False])
def test_thoughts_citations_and_tools_of_anthropic(claude: Any, whole: bool) -> None:
    asked: list[Any] = [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "what is in a?"},
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": PNG},
                },
                {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
            ],
        }
    ]
    answer = ask_claude(claude, prompt(asked, "anthropic"))
    assert claude.got[-1]["messages"] == asked
    # The message itself, or a message made of its content: both hold objects of the library.
    history = [*asked, answer if whole else {"role": "assistant", "content": answer.content}]
    result = {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "content": [
            {"type": "text", "text": "x = 1"},
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": PNG},
            },
        ],
    }
    history.append({"role": "user", "content": [result]})
    made = prompt(history, "anthropic")
    ask_claude(claude, made)
    sent = claude.got[-1]["messages"]
    assert sent[1]["content"] == FIRST
    assert sent[2]["content"] == [result]
    assert {d.code for d in made.warnings} == {"PF504"} | {"PF501"} & {
        d.code for d in made.warnings
    }
    assert not made.exact


@pytest.mark.slow
def test_fields_named_like_keywords_of_python_go_back_by_their_own_names() -> None:
    beta = pytest.importorskip("anthropic.types.beta", reason="needs the library of Anthropic")
    models = {"from": {"model": "a"}, "to": {"model": "b"}, "trigger": {"type": "refusal"}}
    content: list[Data] = [{"type": "fallback", **models}, {"type": "text", "text": "x"}]
    edits: list[Data] = [{"type": "clear_thinking_20251015", "cleared_input_tokens": 5}]
    accounts = {"context_management": {"applied_edits": edits}, "input_transformations": edits}
    given = {**said_by_claude(content), **accounts}
    for answer in (beta.BetaMessage.construct(**given), given):
        history = [{"role": "user", "content": "q"}, answer]
        made = prompt(history, "anthropic", user="go on")
        # An account of the answer is no part of it, so nothing is lost.
        assert made[1]["content"] == content and not made.warnings
    responses = pytest.importorskip("openai.types.responses", reason="needs the library of OpenAI")
    call = {**OUTPUT[3], "async": True}
    history = [*OUTPUT[2:3], responses.ResponseCustomToolCall.construct(**call)]
    history.append({"type": "custom_tool_call_output", "call_id": "c2", "output": "total 0"})
    assert prompt(history, "openai-responses")[1] == call


@pytest.mark.slow
def test_the_server_refuses_what_anthropic_refuses(claude: Any) -> None:
    anthropic = pytest.importorskip("anthropic")
    asked: list[Any] = [{"role": "user", "content": "q"}]
    answer = ask_claude(claude, prompt(asked, "anthropic"))
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "x"}
    content = [block.model_dump() for block in answer.content]
    for broken in (
        [block for block in content if "thinking" not in block["type"]],
        [{**content[0], "thinking": "other"}, *content[1:]],
        [content[0], *content[3:]],
        content[:-1],
    ):
        messages = [
            *asked,
            {"role": "assistant", "content": broken},
            {"role": "user", "content": [result]},
        ]
        with pytest.raises(anthropic.BadRequestError):
            claude.client.messages.create(
                model="m", max_tokens=2048, messages=messages,
                thinking={"type": "enabled", "budget_tokens": 1024},
            )  # fmt: skip


def test_a_call_that_is_lost_takes_its_thought_along(claude: Any) -> None:
    asked: list[Any] = [{"role": "user", "content": "q"}]
    answer = {"role": "assistant", "content": [THOUGHT, FIRST[-1]]}
    made = prompt([*asked, answer, {"role": "user", "content": "never mind"}], "anthropic")
    ask_claude(claude, made)
    assert [message["role"] for message in claude.got[-1]["messages"]] == ["user"]
    assert [d.code for d in made.warnings] == ["PF209", "PF209"]


def test_other_families_get_what_they_can_read_and_the_rest_is_said() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    history: list[Any] = [
        {"role": "user", "content": [{"type": "text", "text": "q"}, image]},
        {"role": "assistant", "content": FIRST},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "x = 1"}],
        },
    ]
    made = prompt(history, "openai")
    url = f"data:image/png;base64,{PNG}"
    call = {"name": "look", "arguments": '{"path": "a", "n": null}'}
    assert list(made) == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "q"},
                {"type": "image_url", "image_url": {"url": url}},
            ],
        },
        {
            "role": "assistant",
            "content": "tar saves files.",
            "tool_calls": [{"id": "toolu_1", "type": "function", "function": call}],
        },
        {"role": "tool", "tool_call_id": "toolu_1", "content": "x = 1"},
    ]
    said = [d.message for d in made.warnings if d.code == "PF208"]
    assert [message.partition(" was")[0].partition(" were")[0] for message in said] == [
        'content: a block of type "thinking"',
        'content: a block of type "redacted_thinking"',
        'content: a block of type "server_tool_use" is not text and'.partition(" is")[0]
        + " is not text and",
        'content: a block of type "web_search_tool_result" is not text and',
        "citations of a text",
    ]
    parts = prompt(history, "gemini").request["contents"][0]["parts"]
    assert parts[1] == {"inline_data": {"mime_type": "image/png", "data": PNG}}
    assert prompt(history, "openai-responses")[0]["content"][1] == {
        "type": "input_image",
        "image_url": url,
        "detail": "auto",  # the types of OpenAI's library demand it
    }
    text = prompt(history, "roles")
    assert text[0]["content"] == "q" and any("image" in d.message for d in text.warnings)


# --- OpenAI ---------------------------------------------------------------------------------------


def response(output: list[Data]) -> Data:
    return {
        "id": "resp_1", "object": "response", "created_at": 0, "model": "m", "output": output,
        "status": "completed", "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
    }  # fmt: skip


def openai_client(server: RuleServer) -> Any:
    openai = pytest.importorskip("openai", reason="the library of OpenAI is not installed")
    return openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)


@pytest.mark.slow
def test_reasoning_and_custom_tools_of_responses() -> None:
    with (
        serving([response(OUTPUT), response(LAST), response(LAST)]) as server,
        openai_client(server) as client,
    ):
        part = {"type": "input_image", "image_url": "https://a.example/x.png", "detail": "low"}
        file = {"type": "input_file", "file_id": "file_1"}
        asked = [{"type": "input_text", "text": "what is in a?"}, part, file]
        history: list[Any] = [{"role": "user", "content": asked}]
        answer = client.responses.create(model="m", **prompt(history, "openai-responses").request)
        assert server.got[-1]["input"][0]["content"] == asked
        history += answer.output
        history += [
            {"type": "function_call_output", "call_id": "c1", "output": "x = 1"},
            {"type": "custom_tool_call_output", "call_id": "c2", "output": "total 0"},
        ]
        answer = client.responses.create(model="m", **prompt(history, "openai-responses").request)
        sent = server.got[-1]["input"]
        assert sent[1:5] == OUTPUT
        assert sent[5:] == history[5:]
        history += answer.output
        made = prompt(history, "openai-responses", user="and b?")
        client.responses.create(model="m", **made.request)
        assert server.got[-1]["input"][7:9] == LAST
        assert [d.code for d in made.warnings if d.severity != "info"] == []


@pytest.mark.slow
def test_parallel_calls_and_images_of_responses() -> None:
    types = pytest.importorskip("openai.types.responses", reason="needs the library of OpenAI")
    calls = [OUTPUT[0], OUTPUT[1], {**OUTPUT[3], "call_id": "c2"}]
    image: Data = {
        "id": "ig_1", "type": "image_generation_call", "status": "completed", "result": PNG,
        "revised_prompt": "a dot", "size": "1024x1024",
    }  # fmt: skip
    outputs: list[Data] = [
        {"type": "function_call_output", "call_id": "c1", "output": "word " * 90},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": "word " * 90},
    ]
    first, second = (
        types.Response.model_validate(response(output)) for output in (calls, [LAST[0], image])
    )
    history: list[Any] = [{"role": "user", "content": "q"}, *first.output, *outputs]
    history += [*second.output, {"role": "user", "content": "and b?"}, *first.output, *outputs]
    whole = prompt(history, "openai-responses")
    assert list(whole)[1:8] == [*calls, *outputs, LAST[0], image]
    for window in range(5, whole.tokens + 20, 20):
        try:
            made = prompt(history, "openai-responses", context_window=window, reserve=0)
        except pf.BudgetError:
            continue
        signed = [*calls, LAST[0], provider_rules.ties([calls, [LAST[0], image]])]
        assert provider_rules.responses(made.request, signed) is None
        if len(made) == 1:  # the calls go with the reasoning that they are tied to
            assert made[0]["content"] == [{"type": "input_text", "text": "and b?"}]
            continue
        assert list(made)[-5:-2] == calls
        assert [each["call_id"] for each in list(made)[-2:]] == ["c1", "c2"]


def test_calls_without_results_take_their_reasoning_along() -> None:
    with serving([response(LAST)]) as server, openai_client(server) as client:
        server.signed += OUTPUT
        history = [
            {"role": "user", "content": "q"},
            *OUTPUT,
            {"type": "function_call_output", "call_id": "c1", "output": "x = 1"},
        ]
        made = prompt(history, "openai-responses", user="go on")
        client.responses.create(model="m", **made.request)
        assert [item.get("id") for item in made][1:3] == ["rs_1", "fc_1"] and len(made) == 5
        said = [d.message for d in made.warnings if d.code == "PF209"]
        assert said == [
            'the call of "run" has no result; it was left out',
            "a thought has nothing after it; it was left out",
        ]


def test_a_call_goes_with_the_thought_before_an_earlier_call_of_its_answer() -> None:
    calls: list[Data] = [
        {"id": f"fc_{n}", "type": "function_call", "call_id": f"c{n}", "name": "look",
         "arguments": "{}"} for n in range(2)
    ]  # fmt: skip
    outputs: list[Data] = [
        {"type": "function_call_output", "call_id": f"c{n}", "output": "word " * 90}
        for n in range(2)
    ]
    answer = [OUTPUT[0], calls[0], outputs[0], calls[1], outputs[1]]
    question = {"role": "user", "content": "q"}
    later = [OUTPUT[2], {**calls[0], "id": "fc_9", "call_id": "c9"}]
    later.append({**outputs[0], "call_id": "c9"})
    history = [question, *answer, *later]
    whole = prompt(history, "openai-responses")
    made = prompt(history, "openai-responses", context_window=int(whole.tokens * 0.45), reserve=0)
    assert list(made)[1:-1] == later[:-1] and made[-1]["call_id"] == "c9"
    said = [d.message for d in made.warnings if d.code == "PF116"]
    assert said[0].startswith("1 step was left out, the oldest, to keep the window: ")
    made = prompt([question, *answer], "openai-responses", context_window=90, reserve=0)
    assert len(list(made)) == 1  # a part of the answer would be refused
    # The first call is lost, and so is what its result was taken for; the thought stays.
    stray = {"type": "function_call_output", "call_id": "other", "output": "x"}
    made = prompt([question, *answer[:2], stray, *answer[3:]], "openai-responses")
    assert list(made)[1:] == [OUTPUT[0], calls[1], outputs[1]]
    assert (
        provider_rules.responses(made.request, [OUTPUT[0], provider_rules.ties([answer])]) is None
    )


def test_messages_of_chat_completions() -> None:
    calls = [
        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"path":"a"}'}},
        {"id": "c2", "type": "custom", "custom": {"name": "run", "input": "ls"}},
    ]
    message = {
        "role": "assistant", "content": None, "refusal": None, "tool_calls": calls,
        "reasoning_content": "I look.",
    }  # fmt: skip
    answers = [
        {
            "id": "c", "object": "chat.completion", "created": 0, "model": "m",
            "choices": [{"index": 0, "finish_reason": "stop", "message": each}],
        }
        for each in (message, {"role": "assistant", "content": None, "refusal": "No."}, message)
    ]  # fmt: skip
    with serving(answers) as server, openai_client(server) as client:
        image = {
            "type": "image_url",
            "image_url": {"url": "https://a.example/x.png", "detail": "low"},
        }
        audio = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
        file = {"type": "file", "file": {"file_id": "file_1"}}
        asked = [{"type": "text", "text": "what is in a?"}, image, audio, file]
        history: list[Any] = [{"role": "user", "content": asked, "name": "bob"}]
        answer = client.chat.completions.create(model="m", **prompt(history, "openai").request)
        assert server.got[-1]["messages"] == history
        history.append(answer.choices[0].message)
        history += [{"role": "tool", "tool_call_id": i, "content": "x"} for i in ("c1", "c2")]
        answer = client.chat.completions.create(model="m", **prompt(history, "openai").request)
        sent = server.got[-1]["messages"]
        assert sent[1] == {key: value for key, value in message.items() if key != "refusal"}
        history.append(answer.choices[0].message)
        made = prompt(history, "openai", user="please")
        client.chat.completions.create(model="m", **made.request)
        assert server.got[-1]["messages"][-2] == {
            "role": "assistant", "content": None, "refusal": "No.",
        }  # fmt: skip
        audio_answer = {"role": "assistant", "content": None, "audio": {"id": "a1", "data": "AA=="}}
        made = prompt([*history, audio_answer], "openai", user="please")
        assert made[-2] == {"role": "assistant", "content": None, "audio": {"id": "a1"}}


# --- Gemini ---------------------------------------------------------------------------------------


def said_by_gemini(parts: list[Data]) -> Data:
    content = {"role": "model", "parts": parts}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}


def plain(value: Any) -> Any:
    """Write signatures alike: the library writes base64 for URLs."""
    text = json.dumps(value)
    return json.loads(text.replace("AbC_-w==", "AbC/+w==").replace("QQ_-", "QQ/+"))


@pytest.mark.slow
@pytest.mark.parametrize("form", ["object", "rest"])
def test_signatures_of_gemini(form: str) -> None:
    genai = pytest.importorskip("google.genai", reason="the library of Google is not installed")
    types = genai.types
    final = [{"text": "x is 1"}, {"text": "", "thoughtSignature": "QQ/+"}]
    answers = [said_by_gemini(PARTS), said_by_gemini(final), said_by_gemini(final)]
    with serving(answers) as server:
        server.signed += [
            {
                **part,
                "thoughtSignature": part["thoughtSignature"].replace("/", "_").replace("+", "-"),
            }
            for part in (*PARTS, *final)
            if "thoughtSignature" in part
        ]
        client = genai.Client(
            api_key="none", http_options=types.HttpOptions(base_url=server.url, timeout=300_000)
        )

        def ask(made: pf.Prompt) -> Any:
            return client.models.generate_content(model="gemini-3-pro", **made.request)

        image = {"inline_data": {"mime_type": "image/png", "data": PNG}}
        audio = {"file_data": {"mime_type": "audio/mpeg", "file_uri": "https://a.example/f"}}
        history: list[Any] = [{"role": "user", "parts": [{"text": "q"}, image, audio]}]
        answer = ask(prompt(history, "gemini")).candidates[0].content
        assert len(server.got[-1]["contents"][0]["parts"]) == 3
        history.append(answer if form == "object" else {"role": "model", "parts": PARTS})
        result = {"functionResponse": {"name": "look", "response": {"output": "x = 1", "n": 1}}}
        history.append({"role": "user", "parts": [result, result]})
        answer = ask(prompt(history, "gemini")).candidates[0].content
        sent = server.got[-1]["contents"]
        assert plain(sent[1]["parts"]) == PARTS
        assert sent[2]["parts"] == [result, result]
        history.append(answer if form == "object" else {"role": "model", "parts": final})
        made = prompt(history, "gemini", user="and b?")
        ask(made)
        assert plain(server.got[-1]["contents"][3]["parts"]) == final
        assert [d.code for d in made.warnings if d.severity != "info"] == []


@pytest.mark.parametrize(
    "beside",
    [
        {"extra_content": {"google": {"thought_signature": "QUJD"}}},
        {"provider_specific_fields": {"thought_signature": "QUJD"}},
    ],
)
def test_a_signature_in_the_shape_of_openai_goes_back_to_both(beside: Data) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    history: list[Data] = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": None, "tool_calls": [{**call, **beside}]},
        {"role": "tool", "tool_call_id": "c1", "content": "x"},
    ]
    assert list(prompt(history, "openai")) == history
    made = prompt(history, "gemini")
    assert made[1]["parts"][0]["thought_signature"] == "QUJD"
    assert not [d for d in made.warnings if d.code == "PF208"]


@pytest.mark.parametrize("empty", ["", None])
def test_an_empty_signature_of_gemini_is_none(empty: Any) -> None:
    part = {"functionCall": {"name": "look", "args": {}}, "thoughtSignature": empty}
    result = {"functionResponse": {"name": "look", "response": {"output": "x"}}}
    history = [
        {"role": "user", "parts": [{"text": "q"}]},
        {"role": "model", "parts": [part]},
        {"role": "user", "parts": [result]},
    ]
    made = prompt(history, "gemini")
    assert made[1]["parts"] == [{**part, "thoughtSignature": STAND_IN}]
    assert [d.code for d in made.warnings if d.severity == "info" and "Gemini" in d.message]


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["openai", "gemini"])
def test_calls_without_a_signature_of_gemini_carry_the_stand_in(shape: ShapeName) -> None:
    genai = pytest.importorskip("google.genai", reason="the library of Google is not installed")
    options = genai.types.HttpOptions
    if shape == "openai":
        call: Data = {"type": "function", "function": {"name": "look", "arguments": "{}"}}
        calls = [{**call, "id": "c1"}, {**call, "id": "c2"}]
        said: list[Data] = [{"role": "assistant", "content": None, "tool_calls": calls}]
        said += [{"role": "tool", "tool_call_id": c["id"], "content": "x"} for c in calls]
        question: Data = {"role": "user", "content": "q"}
    else:  # of Gemini 2.5, or by a client that lost the signature
        parts = [{"functionCall": {"name": "look", "args": {}}}] * 2
        result = {"functionResponse": {"name": "look", "response": {"output": "x"}}}
        said = [{"role": "model", "parts": parts}, {"role": "user", "parts": [result, result]}]
        question = {"role": "user", "parts": [{"text": "q"}]}
    answered: Data = {"role": "assistant", "content": "done"}
    if shape == "gemini":
        answered = {"role": "model", "parts": [{"text": "done"}]}
    with serving([said_by_gemini([{"text": "x"}])] * 3) as server:
        http = options(base_url=server.url, timeout=300_000)
        client = genai.Client(api_key="none", http_options=http)

        def ask(made: pf.Prompt) -> list[Data]:
            client.models.generate_content(model="gemini-3-pro", **made.request)
            return [
                p for c in server.got[-1]["contents"] for p in c["parts"] if "functionCall" in p
            ]

        made = prompt([question, *said, *said], "gemini")
        signatures = [part.get("thoughtSignature") for part in ask(made)]
        assert signatures == [STAND_IN, None] * 2
        (note,) = [d for d in made.warnings if d.code == "PF208"]
        assert "in 2 answers of the newest turn" in note.message and note.severity == "info"
        # Merged with the results, the question begins no turn, and the call is still checked.
        merged = prompt([question, *said], "gemini", user="and b?")
        assert [part.get("thoughtSignature") for part in ask(merged)] == [STAND_IN, None]
        closed = prompt([question, *said, answered], "gemini", user="and b?")
        assert not [part for part in ask(closed) if "thoughtSignature" in part]
        assert not [d for d in closed.warnings if d.code == "PF208"]


# --- Bedrock --------------------------------------------------------------------------------------

CONVERSE: list[Data] = [
    {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2lnbmVk"}}},
    {"reasoningContent": {"redactedContent": "AAEC/w=="}},
    {"text": "I look."},
    {"toolUse": {"toolUseId": "tooluse_1.x:y", "name": "look", "input": {"path": "a", "n": 1.5}}},
]


def test_what_bedrock_returns_goes_back_as_it_came() -> None:
    session = pytest.importorskip("botocore.session", reason="botocore is not installed")
    keys = {"aws_access_key_id": "none", "aws_secret_access_key": "none"}

    def said(content: list[Data]) -> Data:
        message = {"role": "assistant", "content": content}
        return {"output": {"message": message}, "stopReason": "end_turn"}

    with serving([said(CONVERSE), said([{"text": "x is 1"}]), said([{"text": "b"}])]) as server:
        client = session.get_session().create_client(
            "bedrock-runtime", region_name="us-east-1", endpoint_url=server.url, **keys
        )

        def ask(made: pf.Prompt) -> Any:
            return client.converse(modelId="some-model", **made.request)

        image = {"image": {"format": "png", "source": {"bytes": base64.b64decode(PNG)}}}
        file = {"document": {"format": "pdf", "name": "d", "source": {"bytes": b"%PDF\xff"}}}
        cache = {"cachePoint": {"type": "default"}}
        history: list[Any] = [{"role": "user", "content": [{"text": "q"}, image, file, cache]}]
        answer = ask(prompt(history, "bedrock", system="Be brief."))
        (sent,) = server.got[-1]["messages"]
        assert sent["content"][1]["image"]["source"]["bytes"] == PNG
        assert sent["content"][2]["document"]["source"]["bytes"] == "JVBERv8="
        assert len(sent["content"]) == 3 and server.got[-1]["system"] == [{"text": "Be brief."}]
        history.append(answer["output"]["message"])
        result = {"toolUseId": "tooluse_1.x:y", "content": [{"json": {"x": 1}}, {"text": "ok"}]}
        history.append({"role": "user", "content": [{"toolResult": result}]})
        answer = ask(prompt(history, "bedrock"))
        assert server.got[-1]["messages"][1]["content"] == CONVERSE
        assert server.got[-1]["messages"][2]["content"] == [{"toolResult": result}]
        tools = [{"name": "look", "input_schema": {"type": "object"}}]
        more: Data = {"cache_after": ["history"], "tools": tools}
        made = prompt([*history, answer], "bedrock", user="and b?", **more)
        ask(made)
        assert server.got[-1]["messages"][3]["content"] == [{"text": "x is 1"}, cache]
        assert [d.code for d in made.warnings if d.severity != "info"] == []
        client.close()
    other = prompt(history, "anthropic")
    assert other[2]["content"][0]["content"] == '{"x": 1}\n\nok'
    assert other[0]["content"][1]["source"]["data"] == PNG
    assert '"bytes": "' + PNG in format_prompt(prompt(history, "bedrock"))


# --- whatever it is -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("to", "history"),
    [
        (
            "anthropic",
            [{"role": "user", "content": "q"}, {"role": "assistant", "content": FIRST[:5]}],
        ),
        ("openai-responses", [{"role": "user", "content": "q"}, *LAST]),
        (
            "gemini",
            [{"role": "user", "parts": [{"text": "q"}]}, {"role": "model", "parts": PARTS[:1]}],
        ),
    ],
)
def test_a_history_is_cut_by_turns_and_not_changed(to: ShapeName, history: list[Any]) -> None:
    before = copy.deepcopy(history)
    whole = prompt(history * 6, to, user="last")
    assert list(whole)[: len(history)] != [] and history == before
    cut = prompt(history * 6, to, user="last", context_window=whole.tokens // 2, reserve=0)
    assert cut.tokens <= whole.tokens // 2 and 0 < cut.history.kept < 6
    assert json.dumps(list(cut)[-1]) in json.dumps(list(whole))
    assert history == before


@pytest.mark.parametrize(
    ("to", "answer", "sent"),
    [
        ("openai-responses", response(OUTPUT[2:3] + LAST), OUTPUT[2:3] + LAST),
        (
            "openai",
            {
                "object": "chat.completion",
                "choices": [{"message": {"role": "assistant", "content": "x"}}],
            },
            [{"role": "assistant", "content": "x"}],
        ),
        (
            "gemini",
            said_by_gemini([*PARTS[:1], {"text": "x"}]),
            [{"role": "model", "parts": [PARTS[0], {"text": "x"}]}],
        ),
    ],
)
def test_a_whole_response_is_the_messages_in_it(
    to: ShapeName, answer: Data, sent: list[Data]
) -> None:
    made = prompt([{"role": "user", "content": "q"}, answer], to)
    assert list(made)[1:] == sent


def test_servers_of_openais_shape_get_their_own_back() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    said = [thought, {"type": "text", "text": "I look."}]
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    history: list[Any] = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": said},  # Mistral
        {"role": "user", "content": "and?"},
        {"role": "assistant", "tool_plan": "I plan.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "x = 1"},  # Cohere
    ]
    own = prompt(history, "openai")
    assert own[1]["content"] == said and own[3]["tool_plan"] == "I plan."
    other = prompt(history, "anthropic")
    assert [d.severity for d in other.warnings] == ["info", "info"]
    assert "hm" not in json.dumps(list(other)) and "I plan" not in json.dumps(list(other))


def test_images_and_thoughts_are_priced() -> None:
    said = [{"role": "user", "content": "q"}]
    image = {"type": "image", "source": {"type": "url", "url": "https://a.example/x.png"}}
    thought = {"role": "assistant", "content": [{**THOUGHT, "signature": "A" * 4000}, CITED]}
    base = prompt(said, "anthropic").tokens
    pictured = prompt([{"role": "user", "content": ["q", image]}], "anthropic", image_tokens=700)
    assert 700 <= pictured.tokens - base <= 730
    # With its size known, an image costs a token for each patch of the profile.
    claude = pf.Renderer(profile="claude")

    def cost(size: tuple[int, int], shape: str) -> int:
        head = base64.b64decode(PNG)
        rest = bytes(size[0] * size[1] // 8000)  # as many as so many pixels take at least
        data = base64.b64encode(head[:16] + struct.pack(">II", *size) + rest).decode()
        source = {"type": "base64", "media_type": "image/png", "data": data}
        block: Data = {"type": "image", "source": source}
        history: list[Any] = [{"role": "user", "content": ["q", block]}]
        if shape == "result":
            call = {"type": "tool_use", "id": "c", "name": "look", "input": {}}
            result = {"type": "tool_result", "tool_use_id": "c", "content": [block]}
            history = [*said, {"role": "assistant", "content": [call]}]
            history += [{"role": "user", "content": [result]}]
        return claude.prompt(history=history, to="anthropic").tokens

    for shape in ("block", "result"):
        small = cost((28, 28), shape)
        assert cost((1920, 1080), shape) - small == 69 * 39 - 1
        assert cost((1921, 1093), shape) - small == 69 * 40 - 1
        assert cost((8000, 8000), shape) - small == 4800 - 1
    thinking = prompt([*said, thought], "anthropic")
    assert thinking.tokens - base >= 1500
    (found,) = [d.message for d in thinking.warnings if d.code == "PF504"]
    assert found.startswith("images, files and encrypted thoughts of the history are taken as 1,5")


# --- laws: whatever is lost or cut, the provider takes the rest -----------------------------------


def claude_step(n: int, calls: int, answered: list[bool]) -> list[Data]:
    ids = [f"t{n}_{i}" for i in range(calls)]
    uses = [{"type": "tool_use", "id": i, "name": "f", "input": {}} for i in ids]
    results = [
        {"type": "tool_result", "tool_use_id": i, "content": "word " * 9}
        for i, is_there in zip(ids, answered, strict=False)
        if is_there
    ]
    thought = {**THOUGHT, "thinking": f"thought {n}"}
    said = {"role": "assistant", "content": [thought, *uses]}
    return [said, {"role": "user", "content": results}] if results else [said]


def response_step(n: int, calls: int, answered: list[bool]) -> list[Data]:
    made: list[Data] = []
    outputs: list[Data] = []
    for i in range(calls):
        if i != 1:  # the second of parallel calls shares the thought of the first
            made.append({**OUTPUT[0], "id": f"rs_{n}_{i}"})
        call = {"id": f"fc_{n}_{i}", "call_id": f"c{n}_{i}", "name": "f", "arguments": "{}"}
        made.append({"type": "function_call", **call})
        # Agents put each output after its call, or all after the last call.
        where = outputs if n % 2 else made
        if answered[i]:
            where.append(
                {"type": "function_call_output", "call_id": call["call_id"], "output": "word " * 9}
            )
    return made + outputs


def gemini_step(n: int, calls: int, answered: list[bool]) -> list[Data]:
    uses: list[Data] = [{"functionCall": {"name": f"f{n}_{i}", "args": {}}} for i in range(calls)]
    uses[0]["thoughtSignature"] = "QUJD"
    results = [
        {"functionResponse": {"name": f"f{n}_{i}", "response": {"output": "word " * 9}}}
        for i, is_there in enumerate(answered[:calls])
        if is_there
    ]
    said = {"role": "model", "parts": uses}
    return [said, {"role": "user", "parts": results}] if results else [said]


def bedrock_step(n: int, calls: int, answered: list[bool]) -> list[Data]:
    ids = [f"t{n}_{i}" for i in range(calls)]
    uses = [{"toolUse": {"toolUseId": i, "name": "f", "input": {}}} for i in ids]
    results = [
        {"toolResult": {"toolUseId": i, "content": [{"text": "word " * 9}]}}
        for i, is_there in zip(ids, answered, strict=False)
        if is_there
    ]
    said = {"role": "assistant", "content": [CONVERSE[0], *uses]}
    return [said, {"role": "user", "content": results}] if results else [said]


FAMILIES: dict[str, Any] = {
    "bedrock": (bedrock_step, provider_rules.bedrock, "messages"),
    "anthropic": (claude_step, provider_rules.anthropic, "messages"),
    "openai-responses": (response_step, provider_rules.responses, "input"),
    "gemini": (gemini_step, provider_rules.gemini, "contents"),
}
STEPS = st.lists(
    st.tuples(st.integers(1, 3), st.lists(st.booleans(), min_size=3, max_size=3)), max_size=4
)


@pytest.mark.parametrize("to", FAMILIES)
@cases(120)
@given(st.lists(STEPS, min_size=1, max_size=3), st.integers(40, 900), st.booleans())
def test_law_whatever_is_lost_or_cut_the_provider_takes_the_rest(
    to: ShapeName, turns: list[Any], window: int, asks: bool
) -> None:
    make, rule, key = FAMILIES[to]
    history: list[Data] = []
    for number, steps in enumerate(turns):
        text = f"question {number}"
        user: Data = {"role": "user", "content": text}
        if to == "gemini":
            user = {"role": "user", "parts": [{"text": text}]}
        history.append(user)
        for n, (calls, answered) in enumerate(steps):
            history += make(number * 10 + n, calls, answered)
    question = "and now?" if asks else None
    try:
        made = prompt(history, to, user=question, context_window=window, reserve=0)
    except pf.BudgetError:
        return
    assert made.tokens <= window
    request = json.loads(json.dumps(made.request))  # plain data
    body = {**request, "thinking": {"type": "enabled"}, "messages": request.get("messages", [])}
    known = [*provider_rules.signed_blocks(history), provider_rules.ties(history)]
    assert request[key] and rule(body, known) is None
