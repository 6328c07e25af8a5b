"""Marks of a cache: four at most, none on a thought, and the next request finds the last one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import promptforge as pf

LOOK_BACK = 20
"""Blocks before a mark at which Anthropic looks for a cached prefix."""


def step(number: int, calls: int, *, thinks: bool = False) -> list[dict[str, Any]]:
    """Return an answer with parallel calls, and their results."""
    ids = [f"toolu_{number}_{n}" for n in range(calls)]
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    asked = [{"type": "tool_use", "id": id_, "name": "read", "input": {}} for id_ in ids]
    results = [{"type": "tool_result", "tool_use_id": id_, "content": "x"} for id_ in ids]
    return [
        {"role": "assistant", "content": [thought] * thinks + asked},
        {"role": "user", "content": results},
    ]


def blocks_of(prompt: pf.Prompt) -> list[dict[str, Any]]:
    shown: list[Any] = [
        *prompt.request.get("system", ()),
        *(b for m in prompt for b in m["content"]),
    ]
    if prompt.to == "bedrock":  # a mark is a block of its own there
        marked: list[dict[str, Any]] = []
        for block in shown:
            if "cachePoint" in block:
                marked[-1] = {**marked[-1], "cache_control": {}}
            else:
                marked.append(block)
        return marked
    return shown


def find_cached(before: pf.Prompt, after: pf.Prompt) -> int:
    """Return the blocks that the provider takes from its cache, by its documented rule."""
    bare = [
        [json.dumps({k: v for k, v in b.items() if k != "cache_control"}) for b in blocks_of(each)]
        for each in (before, after)
    ]
    written = {n for n, b in enumerate(blocks_of(before), 1) if "cache_control" in b}
    found = [0]
    for n, block in enumerate(blocks_of(after), 1):
        if "cache_control" in block:
            near = range(n, max(0, n - LOOK_BACK) - 1, -1)
            hits = (at for at in near if at in written and bare[0][:at] == bare[1][:at])
            found.append(next(hits, 0))
    return max(found)


@pytest.mark.parametrize("to", ["anthropic", "bedrock"])
@given(st.lists(st.tuples(st.integers(1, 12), st.booleans()), max_size=6), st.integers(1, 25))
def test_law_the_next_step_finds_the_last_mark(
    to: Any, earlier: list[tuple[int, bool]], calls: int
) -> None:
    renderer = pf.Renderer(cache_after=["system", "history"])
    history = [{"role": "user", "content": "Go on."}]
    for n, (few, thinks) in enumerate(earlier):
        history += step(n, few, thinks=thinks and to == "anthropic")
    first = renderer.prompt(system="s", history=history, to=to)
    history += step(99, calls)
    second = renderer.prompt(system="s", history=history, to=to)
    assert find_cached(first, second) == len(blocks_of(first))
    for made in (first, second):
        marked = [block for block in blocks_of(made) if "cache_control" in block]
        assert 2 <= len(marked) <= 4
        assert not [block for block in marked if block.get("type") == "thinking"]


def test_marks_that_the_parts_need_are_not_taken() -> None:
    history = [{"role": "user", "content": "Go on."}, *step(1, 25)]
    parts = ["system", "instructions", "context", "history"]
    made = pf.Renderer(cache_after=parts).prompt(
        ["found"], system="s", instructions="i", history=history, user="q", to="anthropic"
    )
    marked = [block for block in blocks_of(made) if "cache_control" in block]
    assert [str(block.get("text", block.get("tool_use_id")))[:5] for block in marked] == [
        "s", "i", "toolu", "### t",
    ]  # fmt: skip


def test_a_provider_that_looks_at_marks_alone_gets_one_a_part() -> None:
    calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        for n in range(25)
    ]
    history = [
        {"role": "user", "content": "Go on."},
        {"role": "assistant", "content": None, "tool_calls": calls},
        *({"role": "tool", "tool_call_id": f"c{n}", "content": "x"} for n in range(25)),
    ]
    made = pf.Renderer(cache_after=["history"]).prompt(history=history, to="openai")
    assert str(made.request).count("prompt_cache_breakpoint") == 1
