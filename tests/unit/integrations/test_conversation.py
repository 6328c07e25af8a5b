"""Agents of real frameworks go 25 steps with results of 100,000 tokens, each request in the window.

Their models are a server on this machine that enforces the provider's rules.
"""

from __future__ import annotations

import asyncio
import copy
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from bridge_examples import EXAMPLES
from conversations import orders
from example_counts import EFFORT
from provider_rules import Data, RuleServer, serving

import promptforge as pf
from promptforge.errors import Diagnostics
from promptforge.integrations.conversation import ConversationWindow
from promptforge.prompts.histories import read_history
from promptforge.prompts.messages import ToolCall

STEPS = 25 if EFFORT >= 1 else 10
WINDOW = 32_000
FACT = "K7 was released as S42"
QUESTION = "When was item K7 released?"
pytestmark = pytest.mark.filterwarnings("ignore")  # of other people's packages


def fetch(page: int) -> str:
    """Return a page of all orders."""
    return orders(2_500, page, at_1700={"item": "K7", "note": FACT})


def recipe(library: str) -> dict[str, Any]:
    """Run the recipe of the guide with a window that is small."""
    pytest.importorskip(library, reason=f"needs {library}")
    names: dict[str, Any] = {}
    exec(compile(dict(EXAMPLES)[library], f"<{library}>", "exec"), names)
    return names


def small(profile: str, **options: Any) -> ConversationWindow:
    return ConversationWindow(profile=profile, context_window=WINDOW, reserve=0, **options)


def check(server: RuleServer, texts: Callable[[Data], list[str]]) -> None:
    """Check that every request was taken and kept the window, and that the newest result answers."""
    assert not server.answers and len(server.got) == STEPS + 1
    counter = pf.get_tokenizer("o200k_base")
    for n, body in enumerate(server.got):
        found = texts(body)
        assert len(found) == n or n > 8, "no result is gone without need"
        assert all(found) and sum(map(counter.count, found)) <= WINDOW
        if n:
            assert FACT in found[-1] and QUESTION in json.dumps(body)


# --- OpenAI's chat: LangChain, LlamaIndex ---


def said_in_chat(**message: Any) -> Data:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}
    base = {"id": "c", "object": "chat.completion", "created": 0, "model": "m"}
    return {**base, "choices": [choice]}


def chat_answers() -> list[Data]:
    made = []
    for n in range(STEPS):
        function = {"name": "fetch", "arguments": json.dumps({"page": n})}
        call = {"id": f"c{n}", "type": "function", "function": function}
        made.append(said_in_chat(content=None, tool_calls=[call]))
    return [*made, said_in_chat(content="done")]


def chat_results(body: Data) -> list[str]:
    return [m["content"] for m in body["messages"] if m["role"] == "tool"]


def ask(server: RuleServer, messages: Any) -> Any:
    openai = pytest.importorskip("openai", reason="the library of OpenAI is not installed")
    with openai.OpenAI(base_url=server.url, api_key="none", max_retries=0) as client:
        return client.chat.completions.create(model="m", messages=messages).choices[0].message


@pytest.mark.slow
def test_langchain() -> None:
    agents = pytest.importorskip("langchain.agents", reason="needs langchain 1")
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, convert_to_openai_messages
    from langchain_core.outputs import ChatGeneration, ChatResult

    from promptforge.integrations.langchain_agents import WindowMiddleware

    class Model(BaseChatModel):  # type: ignore[misc, unused-ignore]
        url: Any

        @property
        def _llm_type(self) -> str:
            return "wire"

        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self

        def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> ChatResult:
            said = ask(self.url, convert_to_openai_messages(messages))
            calls = [
                {"name": c.function.name, "args": json.loads(c.function.arguments), "id": c.id}
                for c in said.tool_calls or ()
            ]
            answer = AIMessage(said.content or "", tool_calls=calls)
            return ChatResult(generations=[ChatGeneration(message=answer)])

    with serving(chat_answers()) as server:
        window = WindowMiddleware(profile="gpt", context_window=WINDOW, reserve=0)
        agent = agents.create_agent(Model(url=server), [fetch], middleware=[window])
        state = agent.invoke(
            {"messages": [("human", QUESTION)]}, config={"recursion_limit": 4 * STEPS}
        )
    assert state["messages"][-1].text == "done" and len(state["messages"]) == 2 * STEPS + 2
    assert [m.text for m in state["messages"][2::2]] == [fetch(n) for n in range(STEPS)]
    check(server, chat_results)


@pytest.mark.slow
def test_llama_index() -> None:
    types = pytest.importorskip("llama_index.core.base.llms.types", reason="needs LlamaIndex")
    window = small("gpt")
    memory = [types.ChatMessage(role="user", content=QUESTION)]
    with serving(chat_answers()) as server:
        while server.answers:
            sent = []
            for message in window(memory):
                one = {"role": message.role.value, "content": message.content}
                calls = message.additional_kwargs.get("tool_calls")
                one |= {"content": None, "tool_calls": calls} if calls else {}
                if message.role.value == "tool":
                    one["tool_call_id"] = message.additional_kwargs["tool_call_id"]
                sent.append(one)
            said = ask(server, sent)
            if said.tool_calls:
                (call,) = (one.model_dump() for one in said.tool_calls)
                memory.append(
                    types.ChatMessage(role="assistant", additional_kwargs={"tool_calls": [call]})
                )
                text = fetch(**json.loads(call["function"]["arguments"]))
                more = {"tool_call_id": call["id"]}
                memory.append(types.ChatMessage(role="tool", content=text, additional_kwargs=more))
    check(server, chat_results)
    given = memory[:4]
    kept = ConversationWindow(context_window=900_000, reserve=0)(given)
    assert all(one is other for one, other in zip(kept, given, strict=True))


# --- OpenAI Agents, Google ADK, Pydantic AI ---


@pytest.mark.slow
def test_openai_agents() -> None:
    names = recipe("agents")
    from agents import Agent, OpenAIResponsesModel, Runner, function_tool
    from openai import AsyncOpenAI

    answers = []
    for n in range(STEPS + 1):
        thought = {
            "id": f"rs_{n}",
            "type": "reasoning",
            "summary": [],
            "encrypted_content": f"QU{n}",
        }
        item: Data = {
            "id": f"fc_{n}", "type": "function_call", "call_id": f"c{n}", "name": "fetch",
            "arguments": json.dumps({"page": n}), "status": "completed",
        }  # fmt: skip
        if n == STEPS:
            text = {"type": "output_text", "text": "done", "annotations": []}
            item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed"}
            item["content"] = [text]
        answers.append(
            {
                "id": "resp_1", "object": "response", "created_at": 0, "model": "m",
                "status": "completed", "output": [thought, item], "tools": [],
                "parallel_tool_calls": True, "tool_choice": "auto",
            }
        )  # fmt: skip
    names["window"] = small("gpt")
    names["run_config"].tracing_disabled = True
    with serving(answers) as server:
        client = AsyncOpenAI(base_url=server.url, api_key="none", max_retries=0)
        model = OpenAIResponsesModel("m", client)
        agent = Agent(name="a", instructions="be brief", model=model, tools=[function_tool(fetch)])
        run = Runner.run(agent, QUESTION, run_config=names["run_config"], max_turns=99)
        assert asyncio.run(run).final_output == "done"
    check(
        server, lambda body: [i["output"] for i in body["input"] if "output" in i.get("type", "")]
    )


@pytest.mark.slow
def test_google_adk() -> None:
    names = recipe("google.adk")
    from google.adk.agents import LlmAgent
    from google.adk.models import Gemini
    from google.adk.runners import InMemoryRunner
    from google.genai import types

    answers = []
    for n in range(STEPS + 1):
        part: Data = {"functionCall": {"name": "fetch", "args": {"page": n}}}
        part["thoughtSignature"] = f"QU{n:02}"
        if n == STEPS:
            part = {"text": "done"}
        answers.append({"candidates": [{"content": {"role": "model", "parts": [part]}}]})
    names["window"] = small("gemini")

    async def run(server: RuleServer) -> list[str]:
        model = Gemini(
            model="gemini-flash-latest", base_url=server.url, client_kwargs={"api_key": "none"}
        )
        agent = LlmAgent(name="a", model=model, tools=[fetch], before_model_callback=names["fit"])
        runner = InMemoryRunner(agent=agent, app_name="app")
        session = await runner.session_service.create_session(app_name="app", user_id="u")
        question = types.Content(role="user", parts=[types.Part(text=QUESTION)])
        events = runner.run_async(user_id="u", session_id=session.id, new_message=question)
        return [part.text async for event in events for part in event.content.parts if part.text]

    with serving(answers) as server:
        assert asyncio.run(run(server)) == ["done"]

    def results(body: Data) -> list[str]:
        parts = [part for content in body["contents"] for part in content["parts"]]
        found = [
            part["functionResponse"]["response"] for part in parts if "functionResponse" in part
        ]
        return [str(one.get("output", one.get("result"))) for one in found]

    check(server, results)


@pytest.mark.slow
def test_an_error_in_an_object_of_gemini_stays_one() -> None:
    types = pytest.importorskip("google.genai.types")
    failed = {"error": "could not write\n" * 4000, "exit_code": 1}
    messages = [
        types.Content(role="user", parts=[types.Part(text="Store it.")]),
        types.Content(role="model", parts=[types.Part.from_function_call(name="f", args={})]),
        types.Content(
            role="user", parts=[types.Part.from_function_response(name="f", response=failed)]
        ),
    ]
    window = ConversationWindow(profile="gemini", context_window=600, reserve=0)
    response = window(messages)[-1].parts[0].function_response.response
    assert list(response) == ["error"] and len(response["error"]) < 4000


@pytest.mark.slow
def test_pydantic_ai() -> None:
    names = recipe("pydantic_ai.capabilities")
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    names["window"] = small("gpt")
    with serving(chat_answers()) as server:
        client = AsyncOpenAI(base_url=server.url, api_key="none", max_retries=0)
        model = OpenAIChatModel("m", provider=OpenAIProvider(openai_client=client))
        agent = names["make_agent"](model)
        agent.tool_plain(fetch)
        run = asyncio.run(agent.run(QUESTION))
    assert run.output == "done"
    check(server, chat_results)
    parts = [part for message in run.all_messages() for part in message.parts]
    kept = [part.content for part in parts if part.part_kind == "tool-return"]
    assert kept == [fetch(n) for n in range(STEPS)]


@pytest.mark.slow
def test_definitions_of_tools_of_pydantic_ai_count() -> None:
    names = recipe("pydantic_ai.capabilities")
    from pydantic_ai.models.test import TestModel

    names["window"] = tight(900)
    agent = names["make_agent"](TestModel())
    fetch_all = agent.tool_plain(fetch, name="fetch_all", description="all pages " * 900)
    assert fetch_all is fetch
    with pytest.raises(pf.BudgetError, match="what cannot be left out"):
        asyncio.run(agent.run(QUESTION))


# --- what goes back ---


def tight(window: int = 2_000, **options: Any) -> ConversationWindow:
    return ConversationWindow(context_window=window, reserve=0, tokenizer="o200k_base", **options)


COUNT = 40
LONG = "the lid is closed, and nobody knows why it is so " * 3


def parallel_of_langchain() -> list[Any]:
    types = pytest.importorskip("langchain_core.messages", reason="needs LangChain")
    calls = [{"name": "f", "args": {"n": n}, "id": f"c{n}"} for n in range(COUNT)]
    raw = [{"id": f"c{n}", "function": {"name": "f", "arguments": "{}"}} for n in range(COUNT)]
    answer = types.AIMessage("", tool_calls=calls, additional_kwargs={"tool_calls": raw})
    return [answer, *(types.ToolMessage(LONG, tool_call_id=f"c{n}") for n in range(COUNT))]


def parallel_of_gemini() -> list[Any]:
    types = pytest.importorskip("google.genai.types", reason="needs google-genai")
    call, output = types.Part.from_function_call, types.Part.from_function_response
    calls = [call(name="f", args={"q": f"c{n}"}) for n in range(COUNT)]
    calls[0].thought_signature = b"signed"
    outputs = [output(name="f", response={"result": LONG}) for _ in range(COUNT)]
    return [types.Content(role="model", parts=calls), types.Content(role="user", parts=outputs)]


def parallel_of_pydantic_ai() -> list[Any]:
    types = pytest.importorskip("pydantic_ai.messages", reason="needs pydantic-ai-slim")
    calls = [types.ToolCallPart("f", {"n": n}, f"c{n}") for n in range(COUNT)]
    outputs = [types.ToolReturnPart("f", LONG, f"c{n}") for n in range(COUNT)]
    return [types.ModelResponse(parts=calls), types.ModelRequest(parts=outputs)]


def parallel_of_anthropic() -> list[Any]:
    call, output = {"type": "tool_use", "name": "f"}, {"type": "tool_result", "content": LONG}
    calls = [{**call, "id": f"c{n}", "input": {"n": n}} for n in range(COUNT)]
    outputs = [{**output, "tool_use_id": f"c{n}"} for n in range(COUNT)]
    return [{"role": "assistant", "content": calls}, {"role": "user", "content": outputs}]


def parallel_of_gemini_as_data() -> list[Any]:
    calls = [{"functionCall": {"name": "f", "args": {"q": f"c{n}"}}} for n in range(COUNT)]
    calls[0]["thoughtSignature"] = "c2ln"  # type: ignore[assignment]
    given = {"name": "f", "response": {"result": LONG}}
    outputs = [{"functionResponse": given} for _ in range(COUNT)]
    return [{"role": "model", "parts": calls}, {"role": "user", "parts": outputs}]


def parallel_of_responses() -> list[Any]:
    call = {"type": "function_call", "name": "f", "arguments": "{}"}
    calls = [{**call, "call_id": f"c{n}"} for n in range(COUNT)]
    outputs = [{"type": "function_call_output", "output": LONG} for _ in range(COUNT)]
    return [*calls, *({**each, "call_id": f"c{n}"} for n, each in enumerate(outputs))]


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        parallel_of_langchain, parallel_of_gemini, parallel_of_pydantic_ai, parallel_of_anthropic,
        parallel_of_gemini_as_data, parallel_of_responses,
    ],
)  # fmt: skip
def test_of_many_calls_in_parallel_the_oldest_go_with_their_results(make: Any) -> None:
    given = [{"role": "user", "content": "Which lid is open?"}, *make()]
    before = copy.deepcopy(given)
    made = tight(900).fit(given)
    assert made.tokens <= 900 and made.messages[0] is given[0] and given == before
    read = read_history(made.messages, "history", said := Diagnostics())
    blocks = [block for message in read for block in message.blocks]
    calls = [block for block in blocks if isinstance(block, ToolCall)]
    words = " ".join(f"{call.id} {call.arguments}" for call in calls)
    left = [int(n) for n in re.findall(r"\bc(\d+)", words)]
    signed = [0] * ("gemini" in make.__name__)
    assert 2 < len(left) < COUNT and len(blocks) == 1 + 2 * len(left)
    assert left == [*signed, *range(COUNT - len(left) + len(signed), COUNT)]
    assert not [d for d in said if d.code == "PF209"]
    assert tight(900).fit(made.messages).messages == made.messages


@pytest.mark.slow
def test_lists_of_blocks_are_results_too_and_media_cost_what_they_do() -> None:
    types = pytest.importorskip("langchain_core.messages", reason="needs LangChain")
    big = orders(200, at_150={"item": "K7", "note": FACT})
    call = types.AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "a"}])
    image = {"type": "image", "base64": "AAAA", "mime_type": "image/png"}
    for content in ([{"type": "text", "text": big}], [{"type": "text", "text": big}, image]):
        given = [types.HumanMessage(QUESTION), call, types.ToolMessage(content, tool_call_id="a")]
        made = tight().fit(given)
        assert made.messages[:2] == given[:2] and made.messages[0] is given[0]
        assert FACT in made.messages[2].content and made.tokens <= 2_000
    given[2] = types.ToolMessage([image], tool_call_id="a")
    made = tight(9_000).fit(given)
    assert made.messages[2] is given[2] and made.tokens > 5_000
    file = {"type": "file", "base64": "AAAA", "mime_type": "application/pdf"}
    with pytest.raises(pf.BudgetError, match="what cannot be left out"):
        tight().fit([types.HumanMessage([file])])


FILES = {
    "Pydantic AI, a file": {"kind": "document-url", "url": "https://a/b.pdf"},
    "Pydantic AI, bytes": {"kind": "binary", "media_type": "audio/wav", "data": "AAAA"},
    "LlamaIndex": {"block_type": "document", "url": "https://a/b.pdf"},
    "LangChain": {"type": "video", "url": "https://a/b.mp4"},
}


@pytest.mark.parametrize("library", FILES)
def test_a_file_of_any_framework_costs_what_a_file_costs(library: str) -> None:
    file, given = FILES[library], {"role": "user", "content": ["look", FILES[library]]}
    if "kind" in file:
        given = {
            "kind": "request",
            "parts": [{"part_kind": "user-prompt", "content": given["content"]}],
        }
    elif "block_type" in file:
        given = {"role": "user", "blocks": [{"block_type": "text", "text": "look"}, file]}
    made = tight(100_000).fit([given])
    assert made.messages == [given] and made.tokens > 50_000


def test_messages_of_pydantic_ai_may_be_plain_data() -> None:
    part = {"part_kind": "tool-return", "tool_name": "f", "tool_call_id": "a", "content": "x"}
    call = {"part_kind": "tool-call", "tool_name": "f", "tool_call_id": "a", "args": {}}
    given: list[Any] = [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": QUESTION}]},
        {"kind": "response", "parts": [call]},
        {"kind": "request", "parts": [{**part, "content": orders(200, at_150={"note": FACT})}]},
    ]
    assert tight(90_000).fit(given).messages == given
    made = tight().fit(given)
    assert made.messages[:2] == given[:2] and made.tokens <= 2_000
    [short] = made.messages[2]["parts"]
    assert short == {**part, "content": short["content"]} and FACT in short["content"]


@pytest.mark.slow
def test_thoughts_of_claude_go_with_what_stood_before_them() -> None:
    types = pytest.importorskip("langchain_core.messages", reason="needs LangChain")
    given: list[Any] = []
    for n in range(12):
        thought = {"type": "thinking", "thinking": f"hm {n}", "signature": "c2ln"}
        said = [thought, {"type": "text", "text": "word " * 300}]
        given += [types.HumanMessage(f"q{n}"), types.AIMessage(said)]
    made = tight(3_000, profile="claude").fit([*given, types.HumanMessage("q")])
    assert 2 < len(made.messages) < 20 and made.dropped == 25 - len(made.messages)
    assert "thinking" in str(given) and "thinking" not in str(made.messages)


@pytest.mark.slow
def test_parts_of_pydantic_ai_go_one_by_one() -> None:
    types = pytest.importorskip("pydantic_ai.messages", reason="needs pydantic-ai-slim")
    signed = {"signature": "c2ln", "provider_name": "anthropic"}
    first = types.ModelRequest(
        parts=[types.SystemPromptPart("be brief"), types.UserPromptPart("old " * 900)]
    )
    old = types.ModelResponse(
        parts=[types.ThinkingPart("hm", **signed), types.TextPart("o " * 2900)]
    )
    now = types.ModelRequest(parts=[types.UserPromptPart("now")])
    call = types.ModelResponse(
        parts=[types.ThinkingPart("hm", **signed), types.ToolCallPart("f", {"a": 1}, "c1")]
    )
    result = types.ModelRequest(
        parts=[types.ToolReturnPart("f", {"rows": ["word " * 9_000]}, "c1")]
    )
    given = [first, old, now, call, result]
    made = tight()(given)
    assert made[0].parts == first.parts[:1] and made[1:3] == [now, call] and made[1] is now
    assert isinstance(made[3].parts[0].content, str) and made[3].parts[0].tool_call_id == "c1"
    assert all(one is other for one, other in zip(tight(90_000)(given), given, strict=True))


def test_what_cannot_be_read_stays() -> None:
    types = pytest.importorskip("langchain_core.messages", reason="needs LangChain")
    given = [types.HumanMessage("q"), types.AIMessage(""), object(), {"role": "nobody"}]
    assert tight().fit(given).messages == given and tight().fit([]).messages == []


def test_passages_of_earlier_results_come_back_before_the_question() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    lines = [f"{n} parcels of the {n}th depot are on their way" for n in range(900)]
    lines[700] = "the flux torque of the gasket is 41 newton metres"
    history: list[Any] = [
        {"role": "user", "content": "Count the parcels of each depot."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "\n".join(lines)},
        {"role": "assistant", "content": "Counted."},
        {"role": "user", "content": "What is the flux torque of the gasket?"},
    ]
    given: Any = {"profile": "gpt", "context_window": 3000, "reserve": 0}
    fitted = ConversationWindow(**given).fit(history)
    assert fitted.tokens <= 3000
    assert fitted.messages[:2] == history[:2] and fitted.messages[3] == history[3]
    said = fitted.messages[-1]["content"]
    assert said.startswith("<recalled>\n") and said.endswith(history[-1]["content"])
    assert "41 newton metres" in said
    again = ConversationWindow(**given).fit(history)
    assert again.messages == fitted.messages
    without = ConversationWindow(**given, recall_share=0).fit(history)
    assert without.messages[-1] is history[-1]
