"""How many tokens of a prompt equal an earlier one, and the part that broke the rest."""

from __future__ import annotations

from typing import Any

import promptforge as pf

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
