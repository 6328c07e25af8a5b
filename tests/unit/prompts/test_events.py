"""The event of a prompt: what it cost, what it lost and why, what it repeats; no text of it."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

import promptforge as pf
from promptforge.prompts.events import PromptEvent

SECRET = "kestrel"
ITEMS = [{"content": f"{SECRET} {n} " + "word " * 200} for n in range(20)] + [
    {"content": f"{SECRET} 3 " + "word " * 200}
]


def conversation(turns: int) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = []
    for n in range(turns):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        said += [
            {"role": "user", "content": f"Question {n}?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{n}", "content": f"{SECRET} line\n" * 400},
            {"role": "assistant", "content": "Done."},
        ]
    return said


def test_an_event_has_the_numbers_of_the_prompt(caplog: pytest.LogCaptureFixture) -> None:
    events: list[PromptEvent] = []
    renderer = pf.Renderer(context_window=6000, reserve=0, profile="gpt", max_tokens=1500)
    with caplog.at_level(logging.INFO, "promptforge"):
        made = renderer.prompt(
            ITEMS,
            system=SECRET,
            user="q",
            history=conversation(12),
            tools=[{"name": "f", "parameters": {}}],
            to="openai",
            on_prompt=events.append,
        )
    (event,) = events
    assert made.context is not None
    assert (event.to, event.profile) == ("openai", "gpt")
    assert (event.tokens, event.window) == (made.tokens, 6000)
    assert set(event.parts) == {part.name for part in made.parts} >= {"tools", "system", "history"}
    assert event.kept == {"turns": made.history.kept, "items": made.context.items_included}
    assert event.dropped["duplicate"] == 1
    reasons = [reason for reason in event.dropped if reason not in ("turns", "steps", "thoughts")]
    assert sum(event.dropped[reason] for reason in reasons) == made.context.items_dropped >= 1
    assert event.shortened.get("texts", 0) + event.shortened.get("one_line", 0) > 0
    assert event.compacted
    assert SECRET not in json.dumps(event.fields())
    (logged,) = [each for each in caplog.records if hasattr(each, "promptforge")]
    assert logged.promptforge == event.fields()
    assert event.fields()["parts.system"] == event.parts["system"]
    assert event.fields()["prefix.tokens"] == 0


def test_an_event_says_what_a_cache_may_hold() -> None:
    events: list[PromptEvent] = []
    renderer = pf.Renderer()
    for user in ("one", "two"):
        renderer.prompt(system="word " * 99, user=user, to="openai", on_prompt=events.append)
    assert events[1].prefix.broken_by == "question"
    assert events[1].prefix.share > 0.8
    assert not events[1].compacted
    assert events[1].dropped == events[1].shortened == {}
    renderer.prompt(user="q", on_prompt=events.append, profile="gpt")
    assert events[2].profile == "gpt"
