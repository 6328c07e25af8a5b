"""What a finished prompt gives to the next one: the messages to store, and how far both are alike."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import msgspec
import pytest
from conversations import ITEMS, TEXT, Messages, histories
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st

import promptforge as pf
from promptforge.prompts.compose import Composer
from promptforge.prompts.providers import ShapeName

ANSWERS: dict[str, dict[str, Any]] = {
    "roles": {"role": "assistant", "content": "an answer"},
    "openai": {"role": "assistant", "content": "an answer"},
    "openai-responses": {"type": "message", "role": "assistant", "content": "an answer"},
    "anthropic": {"role": "assistant", "content": [{"type": "text", "text": "an answer"}]},
    "gemini": {"role": "model", "parts": [{"text": "an answer"}]},
    "bedrock": {"role": "assistant", "content": [{"text": "an answer"}]},
}
FRESH = [{"content": "The relay trips at 40 A.", "path": "relay.md"}]
ORDERS: list[Any] = [
    ["system", "instructions", "history", "context", "question"],
    ["system", "history", "context", "instructions", "question"],
    ["history", "question", "system", "context"],
]


@pytest.mark.slow
@pytest.mark.parametrize("to", ANSWERS)
@given(ITEMS, histories(), TEXT, TEXT, st.booleans(), st.sampled_from(ORDERS))
@cases(25)
def test_law_the_next_call_repeats_what_was_sent(
    to: ShapeName,
    items: Messages,
    history: Messages,
    system: str,
    user: str,
    cite: bool,
    order: Any,
) -> None:
    given: dict[str, Any] = {"system": system, "instructions": "Be brief.", "to": to}
    given |= {"cite": cite, "prompt_order": order}
    renderer = pf.Renderer()
    first = renderer.prompt(items, history=history, user=user or "q", **given)
    stored = [*first.sent(), ANSWERS[to]]
    second = renderer.prompt(FRESH, history=stored, user="And then?", **given)
    assert list(second)[: len(first)] == list(first)
    for key in ("system", "config"):
        assert second.request.get(key) == first.request.get(key)
    assert second.prefix.broken_by is None


def test_the_system_text_of_a_history_is_stored_with_it() -> None:
    renderer = pf.Renderer()
    history = [{"role": "system", "content": "Be brief."}]
    first = renderer.prompt(history=history, user="Why?", to="anthropic")
    assert first.sent()[0] == {"role": "system", "content": "Be brief."}
    second = renderer.prompt(
        history=[*first.sent(), ANSWERS["anthropic"]], user="So?", to="anthropic"
    )
    assert second.request["system"] == first.request["system"]
    assert not second.warnings
    apart = renderer.prompt(system="Be brief.", user="Why?", to="anthropic")
    assert [message["role"] for message in apart.sent()] == ["user"]


def test_a_shortened_history_is_stored_whole_and_sent_again_as_it_was() -> None:
    renderer = pf.Renderer(context_window=1500, reserve=0, recall_share=0)
    call = {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    result = "\n".join(f"line {n} says nothing at all" for n in range(400))
    history = [
        {"role": "user", "content": "Read it."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": result},
        {"role": "assistant", "content": "I have."},
    ]
    first = renderer.prompt(history=history, user="Why?", to="openai")
    assert result not in str(list(first))
    assert result in str(first.sent()).replace("\\n", "\n")
    second = renderer.prompt(history=[*first.sent(), ANSWERS["openai"]], user="So?", to="openai")
    assert list(second)[: len(first)] == list(first)


def test_marks_of_a_cache_are_not_stored() -> None:
    prompt = pf.Renderer().prompt(FRESH, user="Why?", to="anthropic", cache_after=["context"])
    assert "cache_control" in str(list(prompt))
    assert "cache_control" not in str(prompt.sent())


def test_sources_of_a_prompt_are_those_of_its_context() -> None:
    assert [source.path for source in pf.Renderer().prompt(FRESH, user="q").sources] == ["relay.md"]
    assert pf.Renderer().prompt(user="q").sources == ()


def test_tokens_of_parts_are_counted_where_somebody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    history = [{"role": "user", "content": "Hello?"}, ANSWERS["openai"]]
    with monkeypatch.context() as without:
        without.delattr(Composer, "count_part")
        prompt = pf.Renderer().prompt(FRESH, history=history, user="Why?", to="openai")
    assert [part.name for part in prompt.parts] == ["history", "context", "question"]
    assert all(part.tokens for part in prompt.parts)
    assert prompt.parts is prompt.parts
    assert prompt.manifest is prompt.manifest


def test_a_copy_of_a_prompt_has_its_parts_and_its_manifest() -> None:
    prompt = pf.Renderer().prompt(FRESH, user="Why?", to="openai")
    stored = pickle.loads(pickle.dumps(prompt))
    assert (stored.parts, stored.manifest) == (prompt.parts, prompt.manifest)
    assert (stored.to_dict(), stored.sent()) == (prompt.to_dict(), prompt.sent())


@pytest.mark.parametrize("copied", [copy.copy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_changed_copy_keeps_parts_and_manifest_and_no_field_is_ours_alone(copied: Any) -> None:
    prompt = pf.Renderer().prompt(FRESH, user="Why?", to="openai")
    for each in (prompt, copied(prompt), copied(copied(prompt))):
        changed = dataclasses.replace(each, tokens=1)
        assert (changed.parts, changed.manifest) == (prompt.parts, prompt.manifest)
    plain = dataclasses.asdict(prompt)
    assert (plain["parts"], plain["manifest"]) == (prompt.parts, prompt.manifest)
    assert not any(map(callable, plain.values()))
    assert not plain.keys() - vars(prompt).keys() and "late" not in dir(prompt)


def test_blobs_are_bytes_at_any_depth_and_the_history_stays_as_it_was() -> None:
    odd = {"guardContent": {"x": [[{"bytes": "eHg="}], [[{"bytes": "eHg="}]]]}}
    history: list[Any] = [{"role": "user", "content": [{"text": "a"}, odd]}]
    before = copy.deepcopy(history)
    made = pf.Renderer().prompt(history=history, user="q", to="bedrock")
    sent = {"guardContent": {"x": [[{"bytes": b"xx"}], [[{"bytes": b"xx"}]]]}}
    assert history == before and sent in made[0]["content"]


@pytest.mark.parametrize(("count", "messages"), [(3, 3), (14, 1)])
def test_what_is_said_of_many_messages_is_said_once(count: int, messages: int) -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    answer = {"role": "assistant", "content": [thought, {"type": "text", "text": "a"}]}
    history = [{"role": "user", "content": "q"}, answer] * count
    prompt = pf.Renderer().prompt(history=history, user="q", to="openai")
    said = [str(each) for each in prompt.warnings if each.code == "PF208"]
    assert len(said) == messages
    first = 'history[1]: content: a block of type "thinking" was left out'
    end = "; so in 14 messages, the last history[27]"
    assert said[0] == f"{first}{end * (messages == 1)} [PF208]"


def test_the_parts_of_a_result_are_read_by_their_fields_as_a_web_framework_reads_any_object() -> (
    None
):
    prompt = pf.Renderer(profile="gpt").prompt(FRESH, user="q", to="openai")
    assert prompt.context is not None
    assert dict(prompt.sources[0])["path"] == "relay.md"
    for part in (*prompt.context.sections, *prompt.context.shown, *prompt.context.map):
        assert dict(part) == msgspec.structs.asdict(part)
    assert dict(prompt.prefix)["broken_by"] is None and dict(prompt.history)["dropped"] == 0
