"""How many tokens of a prompt equal an earlier one, and the part that broke the rest."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import promptforge as pf

PROFILES = sorted(path.stem for path in (Path(__file__).parents[3] / "profiles").glob("*.yaml"))
ANSWER = {"role": "assistant", "content": "an answer"}


def test_the_prefix_is_that_of_the_conversation_it_goes_on_with() -> None:
    renderer = pf.Renderer()
    system = "You answer questions about relays. " * 40
    said: dict[str, list[dict[str, Any]]] = {"a": [], "b": []}
    for turn in range(3):
        for name, history in said.items():
            docs = [{"content": f"Document {turn} of {name}.", "path": "d.md"}]
            user = f"{name} asks {turn}"
            made = renderer.prompt(docs, system=system, user=user, history=history, to="openai")
            history += [{"role": "user", "content": user}, ANSWER]
            if turn == 2:
                assert made.prefix.broken_by == "context"
    assert 0.7 < made.prefix.share < 1
    assert made.prefix.share * made.tokens - 40 < made.prefix.tokens < made.tokens
    changed = renderer.prompt(system="Another one.", user="q", to="openai")
    assert (changed.prefix.tokens, changed.prefix.broken_by) == (0, "system")
    assert pf.Renderer().prompt(user="q").prefix.broken_by is None
    for user in ("one", "two"):  # with a renderer of its own for each call
        other = renderer.prompt(system="Be brief.", user=user, to="openai", profile="gpt")
    assert other.prefix.tokens > 0


def test_a_prompt_as_one_text_is_compared_by_lines() -> None:
    renderer = pf.Renderer()
    history = [{"role": "user", "content": "Where does the relay trip? " * 20}, ANSWER]
    first = renderer.prompt(history=history, system="Be brief.", user="Why?")
    assert (first.prefix.tokens, first.prefix.broken_by) == (0, None)
    longer = [*history, {"role": "user", "content": "Why?"}, ANSWER]
    second = renderer.prompt(history=longer, system="Be brief.", user="So?")
    assert second.prefix.share > 0.7
    assert second.prefix.broken_by == "question"


def shown(prompt: pf.Prompt) -> list[str]:
    """Return the blocks of a request in their order."""
    apart = prompt.request.get("system") or prompt.request.get("config") or []
    blocks = [json.dumps(apart)]
    for message in prompt:
        content = message.get("content", message.get("parts"))
        parts = content if isinstance(content, list) else [content]
        blocks += [json.dumps([message["role"], part]) for part in parts]
    return blocks


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
def test_law_fresh_context_leaves_the_prefix_of_a_chat(profile: str) -> None:
    to: Any = "openai"
    if profile.startswith(("claude", "gemini")):
        to = {"c": "anthropic", "g": "gemini"}[profile[0]]
    pick = random.Random(9)
    words = [
        "order",
        "refund",
        "parcel",
        "invoice",
        "ledger",
        "voucher",
        "depot",
        "carrier",
        "customs",
        "tariff",
    ]

    def text(count: int) -> str:
        return " ".join(pick.choice(words) for _ in range(count))

    renderer = pf.Renderer(profile=profile, context_window=8000, reserve=0, max_tokens=600)
    system, history, before = text(80), list[dict[str, Any]](), list[str]()
    same = total = repeated = 0
    for turn in range(40):
        documents = [{"content": text(30), "metadata": {"source": f"{n}.md"}} for n in range(10)]
        user = f"Question {turn}: {text(8)}"
        made = renderer.prompt(documents, history=history, system=system, user=user, to=to)
        blocks = shown(made)
        alike = next(
            (n for n, pair in enumerate(zip(before, blocks, strict=False)) if pair[0] != pair[1]),
            len(before),
        )
        same += sum(map(len, blocks[:alike]))
        total += sum(map(len, blocks))
        repeated += made.prefix.tokens
        before = blocks
        history += [{"role": "user", "content": user}, {"role": "assistant", "content": text(40)}]
        if turn > 1:
            assert made.prefix.broken_by in ("context", "history")
    assert same / total >= 0.6
    assert repeated >= 0.6 * 40 * made.tokens / 3
