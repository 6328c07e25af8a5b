"""The recipes of the guide for other agents, run with the real packages."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from bridge_examples import EXAMPLES, is_there
from documents import FACTS, tokens

from promptforge.integrations.conversation import ConversationWindow

QUESTION = "what is archive number 7?"
pytestmark = pytest.mark.filterwarnings("ignore")  # of other people's packages


def recipe(library: str) -> dict[str, Any]:
    if not is_there(library):
        pytest.skip(f"needs {library}: pip install it beside '.[test]'")
    names: dict[str, Any] = {}
    exec(compile(dict(EXAMPLES)[library], f"<{library}>", "exec"), names)
    return names


def search(query: str) -> list[str]:
    return FACTS


def test_dspy() -> None:
    names = recipe("dspy")
    import dspy
    from dspy.utils import DummyLM

    lm = DummyLM([{"answer": "seven"}])
    with dspy.context(lm=lm):
        answer = names["Answer"](search)(question=QUESTION)
    assert answer.answer == "seven"
    sent = lm.history[-1]["messages"][-1]["content"]
    assert FACTS[7][:40] in sent and tokens(sent) < 2300


def test_a_history_of_dspy_is_an_error_that_says_what_to_do() -> None:
    dspy = pytest.importorskip("dspy", reason="needs dspy")
    import promptforge as pf

    history = dspy.History(messages=[{"question": "a", "answer": "b"}])
    with pytest.raises(pf.ItemError, match="DSPy sends its own: give the context as one more"):
        pf.Renderer().prompt(history=history, to="openai")


def test_a_history_of_pydantic_ai() -> None:
    types = pytest.importorskip("pydantic_ai.messages", reason="needs pydantic-ai-slim")
    import promptforge as pf

    thought = types.ThinkingPart("hm", signature="c2ln", provider_name="anthropic")
    image = types.BinaryContent(b"abc", media_type="image/png")
    call = types.ToolCallPart("f", {"a": 1}, "c1")
    history = [
        types.ModelRequest(
            parts=[types.SystemPromptPart("s"), types.UserPromptPart(["look", image])],
            instructions="be brief",
        ),
        types.ModelResponse(parts=[thought, types.TextPart("t"), call]),
        types.ModelRequest(parts=[types.ToolReturnPart("f", {"r": 1}, "c1")]),
        types.ModelResponse(parts=[types.TextPart("done"), types.CompactionPart("x")]),
    ]
    made = pf.Renderer(max_tokens=None).prompt(history=history, to="anthropic")
    source = {"type": "base64", "media_type": "image/png", "data": "YWJj"}
    assert made.request == {
        "system": [{"type": "text", "text": "s"}],
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "look"}, {"type": "image", "source": source}],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                    {"type": "text", "text": "t"},
                    {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}},
                ],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "c1", "content": '{"r": 1}'}],
            },
            {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
        ],
    }
    assert [d.message for d in made.warnings if d.code == "PF208"] == [
        "the instructions were left out; give them as the system text",
        'content: a block of type "compaction of Pydantic AI" is not text and was left out',
        "a message without text was left out",
    ]


def test_pydantic_ai() -> None:
    names = recipe("pydantic_ai")
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel

    seen: list[Any] = []

    def model(messages: Any, info: Any) -> Any:
        seen.append(messages)
        if len(seen) == 1:
            return ModelResponse(parts=[ToolCallPart("find", {"query": QUESTION})])
        return ModelResponse(parts=[TextPart("seven")])

    agent = names["make_agent"](FunctionModel(model), search)
    # Its run_sync takes the loop of the thread, or leaves one of its own open.
    asyncio.set_event_loop(loop := asyncio.new_event_loop())
    try:
        assert names["ask"](agent, search, QUESTION) == "seven"
    finally:
        asyncio.set_event_loop(None)
        loop.close()
    context, question = seen[0][0].parts[0].content
    assert question == QUESTION and FACTS[7][:40] in context and tokens(context) <= 2000
    (result,) = [part for part in seen[1][-1].parts if isinstance(part, ToolReturnPart)]
    assert FACTS[7][:40] in str(result.content) and tokens(str(result.content)) <= 500


def test_openai_agents() -> None:
    names = recipe("agents")
    from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool
    from openai.types.responses import (
        ResponseFunctionToolCall,
        ResponseOutputMessage,
        ResponseReasoningItem,
    )

    seen: list[list[Any]] = []

    class Fake(Model):
        async def get_response(self, system_instructions: Any, input: Any, **more: Any) -> Any:
            seen.append(input)
            n = len(seen)
            output: list[Any] = [
                ResponseReasoningItem(id=f"rs_{n}", type="reasoning", summary=[]),
                ResponseFunctionToolCall(
                    id=f"fc_{n}", call_id=f"c{n}", name="find", arguments="{}", type="function_call"
                ),
            ]
            if n > 5:
                said = [{"type": "output_text", "text": "seven", "annotations": []}]
                output = [
                    ResponseOutputMessage(
                        id="msg_1", role="assistant", status="completed", type="message",
                        content=said,
                    )
                ]  # fmt: skip
            return ModelResponse(output=output, usage=Usage(), response_id=None)

        def stream_response(self, *args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

    @function_tool
    def find() -> str:
        """Search."""
        return "word " * 300

    agent = Agent(name="a", instructions="be brief", model=Fake(), tools=[find])
    names["window"] = ConversationWindow(profile="gpt", context_window=1500, reserve=100)
    config = names["run_config"]
    config.tracing_disabled = True
    result = asyncio.run(Runner.run(agent, QUESTION, run_config=config))
    assert result.final_output == "seven"
    outputs = [item["output"] for item in result.to_input_list() if "output" in item]
    assert outputs == ["word " * 300] * 5, "the run keeps whole results"
    last = seen[-1]
    assert last[0]["content"] == QUESTION
    kinds = [item["type"] for item in last[1:]]
    assert kinds == ["reasoning", "function_call", "function_call_output"] * 5
    texts = [item["output"] for item in last if "output" in item]
    assert tokens(*texts) < 1400 and all(text.startswith("word") for text in texts)


def test_crewai(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CREWAI_DISABLE_TELEMETRY", "CREWAI_TESTING", "OTEL_SDK_DISABLED"):
        monkeypatch.setenv(name, "true")
    names = recipe("crewai")
    from crewai import Agent, BaseLLM, Crew, Task

    seen: list[Any] = []

    class Fake(BaseLLM):
        def call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
            seen.append(str(messages))
            if len(seen) == 1:
                return f'Thought: search\nAction: search\nAction Input: {{"query": "{QUESTION}"}}'
            return "Thought: I know\nFinal Answer: seven"

        def supports_function_calling(self) -> bool:
            return False

    find = names["make_tool"](search)
    agent = Agent(
        role="r", goal="g", backstory="b", llm=Fake(model="fake"), tools=[find], verbose=False
    )
    task = Task(description=QUESTION, expected_output="a number", agent=agent)
    assert str(Crew(agents=[agent], tasks=[task], verbose=False).kickoff()) == "seven"
    assert FACTS[7][:40] in seen[1] and tokens(seen[1]) - tokens(seen[0]) < 700
    assert tokens(find.run(query=QUESTION)) <= 500


def test_google_adk() -> None:
    names = recipe("google.adk")
    from google.adk.agents import LlmAgent
    from google.adk.models import BaseLlm, LlmResponse
    from google.adk.runners import InMemoryRunner
    from google.genai import types

    seen: list[Any] = []

    class Fake(BaseLlm):
        async def generate_content_async(self, request: Any, stream: bool = False) -> Any:
            seen.append(list(request.contents))
            part = types.Part(text="seven")
            if len(seen) <= 5:
                call = types.FunctionCall(name="find", args={})
                part = types.Part(function_call=call, thought_signature=b"sig%d" % len(seen))
            yield LlmResponse(content=types.Content(role="model", parts=[part]))

    def find() -> str:
        """Search."""
        return "word " * 300

    names["window"] = ConversationWindow(profile="gemini", context_window=2500, reserve=100)
    agent = LlmAgent(
        name="a", model=Fake(model="fake"), tools=[find], before_model_callback=names["fit"]
    )

    stored: list[Any] = []

    async def run() -> list[str]:
        runner = InMemoryRunner(agent=agent, app_name="app")
        session = await runner.session_service.create_session(app_name="app", user_id="u")
        question = types.Content(role="user", parts=[types.Part(text=QUESTION)])
        events = runner.run_async(user_id="u", session_id=session.id, new_message=question)
        parts = [part async for event in events for part in event.content.parts]
        stored.extend(p.function_response.response for p in parts if p.function_response)
        return [part.text for part in parts if part.text]

    assert asyncio.run(run()) == ["seven"]
    assert stored == [{"result": "word " * 300}] * 5, "the session keeps whole results"
    assert seen[-1][0].parts[0].text == QUESTION
    calls = [p for c in seen[-1] for p in c.parts if p.function_call]
    results = [p.function_response for c in seen[-1] for p in c.parts if p.function_response]
    assert len(calls) == len(results) == 5 and all(part.thought_signature for part in calls)
    assert tokens(*(str(result.response) for result in results)) < 2400
