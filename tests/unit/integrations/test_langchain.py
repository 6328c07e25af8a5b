"""LangChain's own classes around promptforge."""

from __future__ import annotations

import asyncio
import copy
import pickle
from typing import Any

import pytest
from documents import FACTS, TEXTS, tokens
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st
from loop_check import LoopCheck

import promptforge as pf

pytest.importorskip("langchain_core", reason="needs langchain-core: pip install '.[test-all]'")

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import (
    ChatPromptTemplate,
    HumanMessagePromptTemplate,
    MessagesPlaceholder,
    PromptTemplate,
)
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore

from promptforge.integrations.bridge import Bridge, aretrieve, embedding, retrieve
from promptforge.integrations.conversation import count_messages, count_tools
from promptforge.integrations.langchain import ContextCompressor, ContextPrompt

PROMPT_PARTS = [HumanMessagePromptTemplate, PromptTemplate]
DOCUMENTS = [
    Document(page_content=text, metadata={"source": f"f{n}.md", "n": n})
    for n, text in enumerate(FACTS)
]
LONG = [
    Document(page_content=" ".join(f"The archive number {n} is read by tar." for n in range(30)))
]


@cases(60)
@given(TEXTS, st.integers(0, 120), st.sampled_from(["score", "whole", "even", "drop_last"]))
def test_joined_contents_keep_the_budget_and_are_the_counted_text(
    texts: list[str], budget: int, packing: str
) -> None:
    seen: list[pf.Result] = []
    compressor = ContextCompressor(max_tokens=budget, packing=packing, on_result=seen.append)
    given = [Document(page_content=text) for text in texts]
    found = compressor.compress_documents(given, "archive of tar")
    joined = [document.page_content for document in found]
    assert tokens(*joined) <= budget
    assert "\n\n".join(joined) == seen[-1].text
    for document in found:
        same = any(document is one for one in given)
        assert same or "promptforge" in document.metadata
        assert not same or "promptforge" not in document.metadata


def test_whole_documents_are_the_same_objects_and_shortened_ones_say_so() -> None:
    found = ContextCompressor(max_tokens=200 + tokens(FACTS[0])).compress_documents(DOCUMENTS, "")
    whole = [document for document in found if "promptforge" not in document.metadata]
    cut = next(document for document in found if "promptforge" in document.metadata)
    assert whole and all(any(document is one for one in DOCUMENTS) for document in whole)
    origin = DOCUMENTS[cut.metadata["n"]]
    assert cut.metadata == {
        **origin.metadata,
        "promptforge": {"form": "trimmed", "chars_whole": len(origin.page_content)},
    }
    assert "promptforge" not in origin.metadata and origin.page_content == FACTS[cut.metadata["n"]]
    assert "[Content truncated...]" in cut.page_content
    again = ContextCompressor(max_tokens=200).compress_documents(found, "")
    assert again[0] is found[0]


def test_a_query_chooses_and_a_run_without_limits_keeps_everything() -> None:
    compressor = ContextCompressor(max_tokens=150)
    assert compressor.compress_documents(DOCUMENTS, "archive number 7")[0].metadata["n"] == 7
    everything = ContextCompressor(max_tokens=None, dedupe=False).compress_documents(DOCUMENTS, "")
    assert all(one is other for one, other in zip(everything, DOCUMENTS, strict=True))
    assert (
        len(ContextCompressor(max_tokens=None, max_items=3).compress_documents(DOCUMENTS, "")) == 3
    )
    low = [Document(page_content=text, metadata={"score": 0.01}) for text in FACTS[:3]]
    assert len(ContextCompressor().compress_documents(low, "")) == 3, (
        "a fused score of 0.01 is no bad one"
    )
    assert ContextCompressor(min_score=0.5).compress_documents(low, "") == []
    assert ContextCompressor().compress_documents([], "") == []


def test_a_page_in_a_layout_is_what_the_budget_is_for_where_one_is_named() -> None:
    seen: list[pf.Result] = []
    compressor = ContextCompressor(
        layout="documents", format="xml", max_tokens=300, on_result=seen.append
    )
    found = compressor.compress_documents(DOCUMENTS, "archive number 7")
    assert seen[0].text.startswith("<documents>") and seen[0].tokens <= 300
    assert len(found) == seen[0].items_included


def test_it_works_without_waiting_and_is_copied_and_pickled() -> None:
    compressor = ContextCompressor(max_tokens=200, profile="claude", tokenizer="o200k_base")
    expected = compressor.compress_documents(DOCUMENTS, "archive number 7")
    assert asyncio.run(compressor.acompress_documents(DOCUMENTS, "archive number 7")) == expected
    for other in (
        copy.deepcopy(compressor),
        pickle.loads(pickle.dumps(compressor)),
        compressor.model_copy(),
    ):
        assert other.compress_documents(DOCUMENTS, "archive number 7") == expected


@pytest.mark.parametrize("make", [ContextCompressor, ContextPrompt])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_tokns": 9}, 'unknown option "max_tokns"; did you mean "max_tokens"'),
        ({"max_tokens": "many"}, "max_tokens takes a whole number from 0 up, or none"),
        ({"tokenizer": "nope"}, 'unknown tokenizer "nope"'),
        ({"layout": "nope"}, 'there is no layout "nope"'),
        ({"profile": "clawd"}, 'there is no profile "clawd"; did you mean "claude"'),
        ({"templates": "nowhere"}, 'there is no template folder "nowhere"'),
        ({"score_order": "better"}, 'score_order takes "higher" or "lower"'),
        ({"score_order": "lower", "min_score": 0.2}, "min_score is for scores"),
        ({"embed": 7}, "embed takes a function"),
    ],
)
def test_a_wrong_word_is_an_error_where_it_is_written(
    make: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(pf.PromptForgeError, match=message):
        make(**options)


def test_the_order_of_scores_is_said_and_never_guessed() -> None:
    pairs = [(DOCUMENTS[3], 0.9), (DOCUMENTS[5], 0.1), (DOCUMENTS[8], 0.0)]
    with pytest.raises(pf.OptionError, match='score_order: set "higher" or "lower"'):
        ContextCompressor(max_tokens=130).compress_documents(pairs, "")
    best = ContextCompressor(max_tokens=160, score_order="higher").compress_documents(pairs, "")
    nearest = ContextCompressor(max_tokens=160, score_order="lower").compress_documents(pairs, "")
    assert (best[0], nearest[0]) == (DOCUMENTS[3], DOCUMENTS[8])
    everything = ContextCompressor(max_tokens=None, score_order="lower").compress_documents(
        pairs, ""
    )
    assert everything == [DOCUMENTS[8], DOCUMENTS[5], DOCUMENTS[3]]


def test_what_is_no_document_is_left_out_and_said() -> None:
    seen: list[pf.Result] = []
    compressor = ContextCompressor(on_result=seen.append)
    found = compressor.compress_documents([object(), DOCUMENTS[0], None, DOCUMENTS[1]], "")
    assert found == DOCUMENTS[:2]
    assert [d.where for d in seen[0].warnings if d.code == "PF204"] == [
        "documents[0]",
        "documents[2]",
    ]
    with pytest.raises(pf.StrictError, match=r"documents\[0\]: .*PF204"):
        ContextCompressor(strict=True).compress_documents([object(), DOCUMENTS[0]], "")


# --- the prompt -----------------------------------------------------------------------------------


def test_a_prompt_puts_the_context_into_its_messages() -> None:
    prompt = ContextPrompt(
        [
            ("system", "Answer by this.\n{context}"),
            MessagesPlaceholder("history", optional=True),
            ("human", "{input}"),
        ],
        query_key="input",
        max_tokens=150,
        profile="claude",
        tokenizer="o200k_base",
    )
    asked = {
        "context": DOCUMENTS,
        "input": "archive number 7",
        "history": [HumanMessage("earlier")],
    }
    system, earlier, human = prompt.invoke(asked).to_messages()
    assert isinstance(system, SystemMessage) and "<source>f7.md</source>" in str(system.content)
    assert tokens(str(system.content).removeprefix("Answer by this.\n")) <= 150
    assert (earlier.content, human.content) == ("earlier", "archive number 7")
    assert asyncio.run(prompt.ainvoke(asked)).to_messages() == [system, earlier, human]
    assert prompt.batch([asked, asked])[1].to_messages() == [system, earlier, human]
    assert prompt.partial(input="archive number 7").invoke(
        {"context": DOCUMENTS}
    ).to_messages() == [system, human]
    assert "{context}" in prompt.pretty_repr()


def test_it_stands_in_a_chain_between_a_retriever_and_a_model() -> None:
    model = FakeListChatModel(responses=["seven"])
    chain = (
        {"context": RunnableLambda(lambda query: DOCUMENTS), "question": RunnablePassthrough()}
        | ContextPrompt(
            ChatPromptTemplate.from_template("{context}\n\nQ: {question}"), max_tokens=99
        )
        | model
        | StrOutputParser()
    )
    assert chain.invoke("archive number 7") == "seven"
    assert [*chain.stream("archive number 7")] == [*"seven"]


def test_braces_in_a_document_are_no_variables() -> None:
    hostile = Document(page_content="{question} {context.__class__} {{x}}\n```\n# out")
    (message,) = (
        ContextPrompt(max_tokens=200)
        .invoke({"context": [hostile], "question": "{q}"})
        .to_messages()
    )
    context, question = message.content
    assert "{question} {context.__class__} {{x}}" in context["text"] and "````" in context["text"]
    assert question == {"type": "text", "text": "{q}"}  # nothing of a document can stand in it


def test_a_prompt_without_the_variable_is_refused_and_a_text_is_a_document() -> None:
    with pytest.raises(pf.OptionError, match='context_key: the prompt has no variable "context"'):
        ContextPrompt([("human", "{documents}")])
    (message,) = ContextPrompt([("human", "{context}")]).invoke("joined by hand").to_messages()
    assert "joined by hand" in str(message.content)


# --- retrieving -----------------------------------------------------------------------------------


def test_a_vector_store_and_a_retriever_are_the_similarity_side() -> None:
    store = InMemoryVectorStore.from_documents(DOCUMENTS, DeterministicFakeEmbedding(size=16))
    with pytest.raises(pf.OptionError, match="score_order"):
        retrieve(store, FACTS[7])
    pairs = retrieve(store, FACTS[7], score_order="higher", k=3)
    assert pairs[0][0].page_content == FACTS[7] and pairs[0][1] == pytest.approx(1)
    own = {"content": "what the user named", "path": "named.md"}
    result = pf.render([own, *pairs], combine="combined", min_score=0.99)
    assert [(item.origin, item.status) for item in result.items[:2]] == [
        ("explicit", "included"),
        ("similarity", "included"),
    ]
    found = retrieve(store.as_retriever(search_kwargs={"k": 2}), FACTS[7])
    assert [type(one) for one in found] == [Document, Document]


def test_an_embedding_serves_with_its_own_way_for_queries() -> None:
    class Told(Embeddings):
        def __init__(self) -> None:
            self.asked: list[str] = []

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[float(text.count("number 11 ")), 0.1] for text in texts]

        def embed_query(self, text: str) -> list[float]:
            self.asked.append(text)
            return [1.0, 0.0]

    embedder = Told()
    by_words = ContextCompressor(max_tokens=60).compress_documents(LONG, "xyzzy")
    by_vectors = ContextCompressor(max_tokens=60, embed=embedder).compress_documents(LONG, "xyzzy")
    assert (
        "number 11 " in by_vectors[0].page_content and "number 11 " not in by_words[0].page_content
    )
    assert set(embedder.asked) == {"xyzzy"}
    assert (
        "number 11 "
        in pf.Renderer(embed=embedding(embedder)).render(LONG, query="xyzzy", max_tokens=60).text
    )


# --- on a loop ------------------------------------------------------------------------------------


async def embed_by_number(texts: list[str]) -> list[list[float]]:
    """Return a vector for each text; it tells the eleventh fact from the others."""
    await asyncio.sleep(0)
    return [[float(text.count("number 11 ") or text == "xyzzy"), 0.1] for text in texts]


def test_a_chain_on_a_loop_leaves_it_free() -> None:
    check = LoopCheck()

    class Slow(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            check.wait()
            return LONG

    prompt = ContextPrompt(max_tokens=80, embed=embed_by_number, on_result=check.wait)
    chain: Any = {"context": Slow(), "question": RunnablePassthrough()} | prompt

    async def ask() -> Any:
        return await check.run_beside(chain.ainvoke("xyzzy"))

    (message,) = asyncio.run(ask()).to_messages()
    assert "The archive number 11 " in message.text
    asked = {"context": LONG, "question": "xyzzy"}
    assert ContextPrompt(max_tokens=80, embed=embed_by_number).invoke(asked).to_messages() == [
        message
    ]
    check = LoopCheck()
    compressor = ContextCompressor(max_tokens=60, embed=embed_by_number, on_result=check.wait)

    async def compress() -> Any:
        return await check.run_beside(compressor.acompress_documents(LONG, "xyzzy"))

    assert "number 11 " in asyncio.run(compress())[0].page_content


def test_stores_and_retrievers_are_awaited() -> None:
    store = InMemoryVectorStore.from_documents(DOCUMENTS, DeterministicFakeEmbedding(size=16))

    async def ask() -> Any:
        pairs = await aretrieve(store, FACTS[7], score_order="higher", k=3)
        return pairs, await aretrieve(store.as_retriever(search_kwargs={"k": 2}), FACTS[7])

    pairs, found = asyncio.run(ask())
    assert pairs == retrieve(store, FACTS[7], score_order="higher", k=3)
    assert found[0].page_content == FACTS[7]


def test_a_window_is_for_the_whole_prompt() -> None:
    chat = [("system", "be brief " * 20), ("human", "{context}\n\n{question}")]
    prompt = ContextPrompt(chat, context_window=200, reserve=20, tokenizer="o200k_base")
    given = {"context": DOCUMENTS, "question": "archive number 7"}
    messages = prompt.invoke(given).to_messages()
    assert 120 < tokens(*(message.text for message in messages)) <= 180
    assert "archive number 7" in messages[1].text
    with pytest.raises(pf.BudgetError, match="the prompt without a context needs"):
        ContextPrompt(chat, context_window=40, reserve=0).invoke(given)


def test_a_message_or_a_prompt_can_be_added() -> None:
    prompt = ContextPrompt([("system", "{context}")], max_tokens=60) + HumanMessage("and now?")
    prompt = prompt + ChatPromptTemplate.from_messages([("human", "{question}")])
    assert isinstance(prompt, ContextPrompt)
    given = {"context": DOCUMENTS, "question": "archive number 7"}
    system, *rest = prompt.invoke(given).to_messages()
    assert [message.text for message in rest] == ["and now?", "archive number 7"]
    assert "archive number 7" in system.text and tokens(system.text) <= 60


@pytest.mark.filterwarnings("ignore:The function `loads` is in beta")
def test_a_prompt_is_written_and_read_again() -> None:
    from langchain_core.load import dumps, loads

    prompt = ContextPrompt([("human", "{context}\n\n{question}")], max_tokens=60, layout="context")
    text = dumps(prompt)
    assert "not_implemented" not in text
    again = loads(
        text,
        valid_namespaces=["promptforge"],
        allowed_objects=[ContextPrompt, ChatPromptTemplate, *PROMPT_PARTS],
    )
    given = {"context": DOCUMENTS, "question": "archive number 7"}
    assert again.invoke(given) == prompt.invoke(given)


def test_calls_and_tools_count_with_all_that_belongs_to_them() -> None:
    bridge = Bridge(call_tokens=100)

    def cost(**given: int) -> int:
        return count_messages(
            bridge, [AIMessage("", tool_calls=[{"name": "look", "args": given, "id": "c"}])]
        )

    assert 200 <= cost(a=1, b=2) - cost() < 220
    tool = {"name": "look", "description": "word " * 50}
    assert 50 <= count_tools(bridge, [tool]) < 90
