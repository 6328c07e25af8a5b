"""LangChain's agents, and LangGraph, with every call of the model within its window."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from documents import FACTS, tokens
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st

import promptforge as pf

pytest.importorskip("langchain_core", reason="needs langchain-core: pip install '.[langchain]'")

from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool

from promptforge.integrations.langchain import MessageWindow

OPTIONS: dict[str, Any] = {"reserve": 0, "tokenizer": "o200k_base"}


def step(n: int, result: str = "x = 1", calls: int = 1) -> list[BaseMessage]:
    ids = [f"c{n}_{i}" for i in range(calls)]
    made = [{"name": "look", "args": {"path": "a"}, "id": i} for i in ids]
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    return [
        AIMessage([thought], tool_calls=made),
        *(ToolMessage(result, tool_call_id=i) for i in ids),
    ]


def paired(messages: list[BaseMessage]) -> bool:
    """Return whether each result follows its call, and each call has all of its results."""
    waiting: set[str] = set()
    for message in messages:
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in waiting:
                return False
            waiting.discard(message.tool_call_id)
        elif waiting:
            return False
        elif isinstance(message, AIMessage):
            waiting = {str(call["id"]) for call in message.tool_calls}
    return not waiting


@st.composite
def conversations(draw: st.DrawFn) -> list[BaseMessage]:
    made: list[BaseMessage] = [SystemMessage("be brief")] * draw(st.integers(0, 1))
    for turn in range(draw(st.integers(1, 5))):
        made.append(HumanMessage(f"question {turn}"))
        for n in range(draw(st.integers(0, 4))):
            result = "word " * draw(st.integers(0, 60))
            made += step(turn * 10 + n, result, draw(st.integers(1, 2)))
        if draw(st.booleans()):
            made.append(AIMessage("an answer " * draw(st.integers(1, 20))))
        made += [SystemMessage("note")] * draw(st.integers(0, 1))
    return made


@cases(150)
@given(conversations(), st.integers(20, 900), st.booleans())
def test_law_what_is_left_keeps_the_window_and_its_pairs(
    messages: list[BaseMessage], size: int, with_documents: bool
) -> None:
    window = MessageWindow(context_window=size, **OPTIONS)
    documents = FACTS[:3] if with_documents else None
    try:
        fitted = window.fit(messages, documents=documents)
    except pf.BudgetError as error:
        assert error.needed > size
        return
    assert fitted.tokens <= size and paired(fitted.messages)
    assert tokens(*(message.text for message in fitted.messages)) <= size
    questions = [message for message in messages if isinstance(message, HumanMessage)]
    assert fitted.messages[-1].id == messages[-1].id
    systems, left = (
        [message for message in every if isinstance(message, SystemMessage)]
        for every in (messages, fitted.messages)
    )
    assert systems == left
    assert fitted.dropped == len(messages) - len(fitted.messages)
    assert questions[-1].text in [m.text for m in fitted.messages if m.type == "human"][-1]
    if fitted.dropped == 0 and not with_documents:
        whole = [message.text for message in messages]
        assert [message.text for message in fitted.messages][: len(whole)] != [] or not whole


def test_the_order_of_what_goes() -> None:
    old = [HumanMessage("old"), AIMessage("an old answer")]
    now = [HumanMessage("now"), *step(1), *step(2), *step(3)]
    big = MessageWindow(context_window=10_000, **OPTIONS).fit([*old, *now])
    assert (big.dropped, big.messages) == (0, [*old, *now])
    assert all(one is other for one, other in zip(big.messages, [*old, *now], strict=True))
    some = MessageWindow(context_window=big.tokens - 1, **OPTIONS).fit([*old, *now])
    assert some.messages == now
    few = MessageWindow(context_window=some.tokens - 1, **OPTIONS).fit([*old, *now])
    assert few.messages == [now[0], *step(2), *step(3)]
    long = [HumanMessage("now"), *step(1, "\n".join(FACTS))]
    cut = MessageWindow(context_window=400, **OPTIONS).fit(long)
    assert cut.tokens <= 400 and FACTS[0][:40] in cut.messages[-1].text != long[-1].text
    assert cut.messages[-1].tool_call_id == "c1_0"
    later = [HumanMessage("a"), AIMessage("b"), SystemMessage("from now on"), HumanMessage("c")]
    assert MessageWindow(context_window=999, **OPTIONS).fit(later).messages == later
    with pytest.raises(pf.BudgetError, match="what cannot be left out needs"):
        MessageWindow(context_window=10, **OPTIONS).fit([HumanMessage("word " * 50)])
    with pytest.raises(pf.OptionError, match="context_window: set it"):
        MessageWindow()


def test_a_cut_keeps_the_call_of_a_provider_s_tool_with_its_later_result() -> None:
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    found: list[Any] = [{"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}]
    both = AIMessage([search], tool_calls=[{"name": "look", "args": {}, "id": "c9"}])
    later = AIMessage(found, tool_calls=[{"name": "look", "args": {}, "id": "c10"}])
    messages = [
        HumanMessage("q"),
        *step(1, "word " * 90),
        both,
        ToolMessage("word " * 90, tool_call_id="c9"),
        later,
        ToolMessage("word " * 30, tool_call_id="c10"),
    ]
    for size in range(230, 460, 10):
        kept = MessageWindow(context_window=size, **OPTIONS).fit(messages).messages
        assert paired(kept) and (both in kept) == (later in kept)


def test_documents_stand_before_the_question_in_a_block_of_their_own() -> None:
    window = MessageWindow(context_window=500, max_tokens=150, **OPTIONS)
    question = HumanMessage("archive number 7")
    documents = [Document(text, metadata={"source": f"{n}.md"}) for n, text in enumerate(FACTS)]
    fitted = window.fit([question, *step(1)], documents=documents)
    context, said = fitted.messages[0].content
    assert isinstance(context, dict) and "7.md" in context["text"]
    assert said == {"type": "text", "text": "archive number 7"}
    assert fitted.tokens <= 500 and question.content == "archive number 7"


@pytest.mark.parametrize("before", [[], [AIMessage("hello"), *step(1)]])
def test_without_a_question_documents_stand_in_a_message_of_their_own(
    before: list[BaseMessage],
) -> None:
    window = MessageWindow(context_window=500, **OPTIONS)
    first, context, *rest = window.fit([SystemMessage("s"), *before], documents=FACTS[:2]).messages
    assert first.text == "s" and isinstance(context, HumanMessage) and rest == before
    assert "archive number 1" in context.text


def test_system_messages_stay_wherever_they_stand() -> None:
    system = [SystemMessage(name) for name in "abcde"]
    calls = [step(n, "word " * 99) for n in range(3)]
    old = [HumanMessage("old"), system[1], AIMessage("word " * 99), system[2]]
    now = [HumanMessage("now"), system[3], *calls[0], *calls[1], system[4], *calls[2]]
    fitted = MessageWindow(context_window=300, **OPTIONS).fit([system[0], *old, *now])
    left = [*system[:3], now[0], system[3], system[4], calls[2][0]]
    assert fitted.messages[:-1] == left and fitted.dropped == 6 and fitted.tokens <= 300
    assert fitted.messages[-1].text.endswith("word\n[Content truncated...]")
    question = [HumanMessage("now"), system[3]]
    context = MessageWindow(context_window=300, **OPTIONS).fit(question, documents=FACTS[:1])
    assert "archive number 0" in context.messages[0].text and context.messages[1] is system[3]


def test_the_same_message_may_stand_twice_and_a_text_may_be_missing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    asked, answer = HumanMessage("m"), AIMessage([{"type": "text", "text": None}])
    given = [asked, answer, asked, answer, asked]
    fitted = MessageWindow(context_window=500, **OPTIONS).fit(given)
    said = [record for record in caplog.records if record.name.startswith("promptforge")]
    assert (fitted.messages, fitted.dropped, said) == (given, 0, [])


class Model(BaseChatModel):
    """A model that calls its tool some times and keeps what it was sent."""

    seen: list[list[BaseMessage]]
    calls: int = 3

    @property
    def _llm_type(self) -> str:
        return "fake"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> ChatResult:
        self.seen.append(messages)
        answer = AIMessage("done")
        if len(self.seen) <= self.calls:
            call = {"name": "look", "args": {"path": "a"}, "id": f"c{len(self.seen)}"}
            answer = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=answer)])


@tool
def look(path: str) -> str:
    """Return the text of a file."""
    return "word " * 300


def test_every_call_of_an_agent_keeps_the_window() -> None:
    agents = pytest.importorskip("langchain.agents", reason="needs langchain 1")
    from promptforge.integrations.langchain_agents import WindowMiddleware

    for run in ("invoke", "ainvoke"):
        middleware = WindowMiddleware(
            context_window=900, retriever=lambda query: FACTS[:2], max_tokens=100, **OPTIONS
        )
        model = Model(seen=[])
        agent = agents.create_agent(
            model, [look], system_prompt="be brief", middleware=[middleware]
        )
        given = {"messages": [HumanMessage("what is in a?")]}
        state = getattr(agent, run)(given)
        if run == "ainvoke":
            state = asyncio.run(state)
        assert state["messages"][-1].text == "done" and len(model.seen) == 4
        for sent in model.seen:
            assert paired(sent) and sent[0].text == "be brief"
            assert tokens(*(message.text for message in sent)) <= 900
            assert "archive number 0" in sent[1].text and "what is in a?" in sent[1].text
        # The state keeps all: only the calls are cut.
        assert len(state["messages"]) == 8
