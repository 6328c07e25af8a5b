"""Other libraries that fit texts to a budget, each in its own idiom, with an exact counter.

Each gets the items best first, as its own objects, with the texts that promptforge's template makes
of them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from . import reference
from .corpus import Piece


def _texts(pieces: list[Piece], budget: int) -> list[str]:
    return [reference.render_item(piece) for piece in reference.best_first(pieces)]


# --- LangChain: messages, trimmed -----------------------------------------------------------------


def _messages(pieces: list[Piece], budget: int) -> Any:
    message = import_module("langchain_core.messages").HumanMessage
    return [message(content=text + reference.SEPARATOR) for text in _texts(pieces, budget)]


def _count_messages(messages: list[Any]) -> int:
    return sum(reference.count(message.content) for message in messages)


def _trim_messages(messages: Any, budget: int) -> str:
    trim = import_module("langchain_core.messages").trim_messages
    left = trim(messages, max_tokens=budget, token_counter=_count_messages, strategy="first")
    return "".join(message.content for message in left).rstrip()


# --- LlamaIndex: chunks, repacked into prompts of which the first is used -------------------------


def _repack(texts: list[str], budget: int) -> str:
    core = import_module("llama_index.core")
    helper = import_module("llama_index.core.indices.prompt_helper").PromptHelper(
        context_window=budget, num_output=0, tokenizer=reference.encoding().encode_ordinary
    )
    return str(helper.repack(core.PromptTemplate("{context_str}"), texts)[0])


# --- prompt-poet: parts, the last to be named the first to go -------------------------------------

_PARTS = """{% for text in texts %}
- name: item_{{ loop.index }}
  role: user
  truncation_priority: {{ loop.index }}
  content: |
    {{ escape_special_characters(text) }}
{% endfor %}
"""


def _poet_tokenizer() -> Any:
    base = import_module("prompt_poet.tokenizer").AbstractTokenizer

    def vocabulary(self: object) -> dict[str, int]:
        return {}

    def tokenize(self: object, text: str) -> list[int]:
        return reference.encoding().encode_ordinary(text)

    methods = {
        "vocab_size": 0,
        "vocab": property(vocabulary),
        "inv_vocab": property(vocabulary),
        "tokenize": tokenize,
    }
    return type("Tokenizer", (base,), methods)("o200k_base")


def _truncate(texts: list[str], budget: int) -> str:
    prompt = import_module("prompt_poet").Prompt(
        template_data={"texts": texts},
        raw_template=_PARTS,
        tokenizer=_poet_tokenizer(),
        token_limit=budget,
        truncation_step=1,
        # the default would also take the backslash and n of a program for a line end
        escaped_newline="\ue000",
        escaped_carriage_return="\ue001",
        escaped_single_quote="\ue002",
    )
    prompt.tokenize()
    prompt.truncate()
    return "\n\n\n".join(part.content for part in prompt.parts)


ALL: list[tuple[str, Callable[..., Any], Callable[..., str], Callable[[], object]]] = [
    (
        "LangChain trim_messages",
        _messages,
        _trim_messages,
        lambda: import_module("langchain_core.messages"),
    ),
    (
        "LlamaIndex PromptHelper.repack",
        _texts,
        _repack,
        lambda: import_module("llama_index.core.indices.prompt_helper"),
    ),
    ("prompt-poet truncate", _texts, _truncate, lambda: import_module("prompt_poet")),
]
