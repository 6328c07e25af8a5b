"""`python -m tests.benchmarks.frameworks DIR`: a framework's usual way to fill a context, and promptforge in its place.

DIR is what `tests.benchmarks.evidence` reads. Each framework gets the same documents with their titles, best first,
and the same budget for the text of the context:

- LangChain: the 4 best joined, its vector stores' default; its `trim_messages` with an exact counter; then
  `ContextCompressor`, its documents joined.
- LlamaIndex: the first text of `PromptHelper.repack`, with an exact counter and the budget as room; then
  `ContextPostprocessor` and what a synthesizer joins of its nodes.
- Haystack: its `PromptBuilder` with the usual template over the 10 best, which knows no budget; then `ContextBuilder`,
  whose text has headings and fences within the budget.

A line says which share of the evidence is in the text, for how many queries all of it, the tokens used as a share of
the budget, how many texts were over it and by how much at worst, and CPU milliseconds a query.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from promptforge import Item, get_tokenizer

from .evidence import Query, queries_of, share

Way = Callable[[str, Sequence[Item], int], str]
TOP = 4
"""Documents that LangChain's vector stores hand on when nobody says how many."""
MANY = 10
"""Documents that Haystack's retrievers hand on when nobody says how many."""
_COUNT = get_tokenizer("o200k_base").count


class Row(NamedTuple):
    """What one way made of one set in one budget."""

    kept: float
    whole: float
    used: float
    over: int
    worst: int
    milliseconds: float


def langchain() -> dict[str, Way]:
    """Return LangChain's ways."""
    from langchain_core.documents import Document
    from langchain_core.messages import HumanMessage, trim_messages

    from promptforge.integrations.langchain import ContextCompressor

    compose = cache(lambda budget: ContextCompressor(max_tokens=budget))

    def documents(items: Sequence[Item]) -> list[Any]:
        return [
            Document(page_content=i.content or "", metadata={"title": i.name, "score": i.score})
            for i in items
        ]

    def joined(found: Sequence[Any]) -> str:
        return "\n\n".join(document.page_content for document in found)

    def trimmed(query: str, items: Sequence[Item], budget: int) -> str:
        messages = [HumanMessage(f"{document.page_content}\n\n") for document in documents(items)]
        kept = trim_messages(
            messages,
            max_tokens=budget,
            token_counter=lambda given: _COUNT("".join(str(message.content) for message in given)),
            strategy="first",
            allow_partial=True,
        )
        return "".join(str(message.content) for message in kept)

    def ours(query: str, items: Sequence[Item], budget: int) -> str:
        return joined(compose(budget).compress_documents(documents(items), query))

    return {
        f"LangChain, {TOP} joined": lambda query, items, budget: joined(documents(items[:TOP])),
        "LangChain, trim_messages": trimmed,
        "LangChain + promptforge": ours,
    }


def llama_index() -> dict[str, Way]:
    """Return LlamaIndex's ways."""
    from llama_index.core.indices.prompt_helper import PromptHelper
    from llama_index.core.prompts import PromptTemplate
    from llama_index.core.schema import MetadataMode, NodeWithScore, TextNode

    from promptforge.integrations.llama_index import ContextPostprocessor

    def _titled(node: Any, item: Item) -> Any:
        node.metadata, node.excluded_llm_metadata_keys = {"title": item.name}, ["title"]
        return node

    encode = _encoder()
    compose = cache(lambda budget: ContextPostprocessor(max_tokens=budget))
    empty = PromptTemplate("{context_str}")

    def nodes(items: Sequence[Item]) -> list[Any]:
        return [
            NodeWithScore(node=_titled(TextNode(text=i.content or ""), i), score=i.score)
            for i in items
        ]

    def texts(found: Sequence[Any]) -> list[str]:
        return [node.node.get_content(metadata_mode=MetadataMode.LLM) for node in found]

    def repacked(query: str, items: Sequence[Item], budget: int) -> str:
        helper = PromptHelper(
            context_window=budget, num_output=0, chunk_overlap_ratio=0, tokenizer=encode
        )
        found: list[str] = helper.repack(empty, texts(nodes(items)), padding=0)
        return found[0] if found else ""

    def ours(query: str, items: Sequence[Item], budget: int) -> str:
        found = compose(budget).postprocess_nodes(nodes(items), query_str=query)
        return "\n\n".join(texts(found))

    return {"LlamaIndex, repack": repacked, "LlamaIndex + promptforge": ours}


def haystack() -> dict[str, Way]:
    """Return Haystack's ways."""
    from haystack import Document
    from haystack.components.builders import PromptBuilder

    from promptforge.integrations.haystack import ContextBuilder

    template = "{% for document in documents %}{{ document.content }}\n\n{% endfor %}"
    builder = PromptBuilder(template=template, required_variables="*")

    compose = cache(lambda budget: ContextBuilder(max_tokens=budget))

    def documents(items: Sequence[Item]) -> list[Any]:
        return [Document(content=i.content, meta={"title": i.name}, score=i.score) for i in items]

    def built(query: str, items: Sequence[Item], budget: int) -> str:
        return str(builder.run(documents=documents(items[:MANY]))["prompt"])

    def ours(query: str, items: Sequence[Item], budget: int) -> str:
        return str(compose(budget).run(documents=documents(items), query=query)["context"])

    return {f"Haystack, PromptBuilder of {MANY}": built, "Haystack + promptforge": ours}


WAYS: dict[str, Callable[[], dict[str, Way]]] = {
    "langchain_core": langchain,
    "llama_index": llama_index,
    "haystack": haystack,
}


def _encoder() -> Callable[[str], list[int]]:
    """Return an encoder of the vocabulary that ships with promptforge, for who wants the tokens
    themselves.
    """
    from promptforge.tokenizers.bpe import make_encoding
    from promptforge.tokenizers.vocabulary import SHIPPED_VOCABULARIES as PUBLISHED
    from promptforge.tokenizers.vocabulary import load_table

    encoding: Any = make_encoding(
        "o200k_base", PUBLISHED["o200k_base"].pattern, load_table("o200k_base").all_ranks()
    )
    return partial(encoding.encode, disallowed_special=())


def measure(way: Way, queries: Sequence[Query], budget: int) -> Row:
    """Return what a way makes of these queries."""
    shares, used, over, seconds = [], 0.0, [], 0.0
    for query, items, gold, _ in queries:
        started = time.process_time()
        text = way(query, items, budget)
        seconds += time.process_time() - started
        tokens = _COUNT(text)
        used += tokens / budget
        over += [tokens - budget] if tokens > budget else []
        shares.append(share(text, gold))
    number = max(1, len(shares))
    whole = sum(one > 0.999 for one in shares) / number
    return Row(
        sum(shares) / number,
        whole,
        used / number,
        len(over),
        max(over, default=0),
        1000 * seconds / number,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the flags say and print a table."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.frameworks", description=__doc__
    )
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--sets", nargs="*", help="names of sets; all in DIR")
    parser.add_argument("--budgets", nargs="*", type=int, default=[250, 500, 1000])
    parser.add_argument("--top", type=int, default=40, help="candidates a query")
    parser.add_argument("--limit", type=int, help="queries a set")
    flags = parser.parse_args(arguments)
    names = flags.sets or sorted(
        path.name.split(".")[0] for path in flags.folder.glob("*.queries.jsonl.gz")
    )
    ways: dict[str, Way] = {}
    for module, make in WAYS.items():
        if find_spec(module) is None:
            print(f"{module} is left out: not installed")
        else:
            ways |= make()
    for name in names:
        queries = list(queries_of(flags.folder, name, flags.top, flags.limit))
        for budget in flags.budgets:
            print(f"\n{name}, {len(queries)} queries, {budget} tokens")
            print(f"{'':30}{'kept':>7}{'all':>7}{'used':>7}{'over':>6}{'worst':>7}{'ms':>6}")
            for way, pack in ways.items():
                row = measure(pack, queries, budget)
                print(
                    f"{way:30}{row.kept:>7.3f}{row.whole:>7.2f}{row.used:>7.0%}{row.over:>6}{row.worst:>7}"
                    f"{row.milliseconds:>6.0f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
