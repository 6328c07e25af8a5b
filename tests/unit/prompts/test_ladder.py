"""Histories under a window: results step down in batches, and what is sent stays whole."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

import pytest
from conversations import Messages, orders
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st
from provider_rules import serving

import promptforge as pf
from promptforge.errors import Diagnostics
from promptforge.integrations.bridge import Bridge
from promptforge.prompts.histories import read_history, read_message
from promptforge.prompts.ladder import HistoryFitter
from promptforge.prompts.providers import ShapeName

SHAPES = ["openai", "openai-responses", "anthropic", "gemini", "bedrock", "roles", "text"]
CALL_AGAIN = "left out to keep the window; call it again to see them]"


def step(id_: str, result: str, name: str = "fetch", **arguments: Any) -> Messages:
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": id_, "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": id_, "content": result},
    ]


def asked(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def fitted(history: Messages, window: int, to: ShapeName = "openai", **options: Any) -> pf.Prompt:
    renderer = pf.Renderer(profile="gpt", context_window=window, reserve=0)
    return renderer.prompt(history=history, to=to, **options)


def results(prompt: pf.Prompt) -> list[str]:
    return [message["content"] for message in prompt if message["role"] == "tool"]


# --- results step down ---


@pytest.mark.parametrize("to", SHAPES)
@pytest.mark.slow
def test_a_result_of_100_000_tokens_is_shortened_by_its_question(to: ShapeName) -> None:
    big = orders(2500, at_1700={"item": "K7", "note": "released as S42"})
    history = [asked("When was item K7 released?"), *step("c1", big, q="K7")]
    prompt = fitted(history, 32_000, to)
    assert prompt.tokens <= 32_000 and "released as S42" in prompt.text
    if to == "openai":
        json.loads(results(prompt)[0])
    (said,) = [d.message for d in prompt.warnings if d.code == "PF116"]
    assert said == '1 text of the history was shortened to keep the window: "fetch" ("c1")'


@pytest.mark.slow
def test_of_twelve_turns_only_the_large_result_is_shortened() -> None:
    history: Messages = []
    for n in range(12):
        size = 300 if n == 5 else 3
        history += [asked(f"question {n}"), *step(f"c{n}", orders(size, n), q=n)]
        history.append({"role": "assistant", "content": f"answer {n}"})
    prompt = fitted([*history, asked("and now?")], 4_000)
    assert prompt.history.dropped == 0
    short = [a != b["content"] for a, b in zip(results(prompt), history[2::4], strict=True)]
    assert short == [n == 5 for n in range(12)]


@pytest.mark.parametrize("count", [2, 8])
def test_parallel_results_are_levelled_and_none_is_empty(count: int) -> None:
    calls = [step(f"c{n}", orders(60, n), q=n) for n in range(count)]
    together = {**calls[0][0], "tool_calls": [call[0]["tool_calls"][0] for call in calls]}
    history = [asked("compare them"), together, *(call[1] for call in calls)]
    prompt = fitted(history, 3_000)
    sizes = [len(text) for text in results(prompt)]
    assert len(sizes) == count and min(sizes) > 0.7 * max(sizes) > 100
    assert all(" more" in text and json.loads(text) for text in results(prompt))


def parallel(count: int, result: str = "lid", **arguments: Any) -> Messages:
    """Return one answer with so many calls, and their results."""
    steps = [step(f"c{n}", result, q=n, **arguments) for n in range(count)]
    calls = [call["tool_calls"][0] for call, _ in steps]
    return [{**steps[0][0], "tool_calls": calls}, *(result for _, result in steps)]


@pytest.mark.parametrize("to", SHAPES)
@pytest.mark.parametrize(("count", "window"), [(30, 900), (50, 1_500)])
def test_of_calls_that_have_no_room_as_a_line_each_the_oldest_go(
    to: ShapeName, count: int, window: int
) -> None:
    history = [asked("Which lid is open?"), *parallel(count, orders(9))]
    prompt = fitted(history, window, to)
    assert prompt.tokens <= window
    assert "Which lid is open?" in prompt.text
    (said, *_) = [d.message for d in prompt.warnings if d.code == "PF116"]
    assert re.match(r"\d+ calls and their results were left out of the newest step", said)
    if to == "openai":
        (answer,) = [m for m in prompt if m["role"] == "assistant"]
        made = [call["id"] for call in answer["tool_calls"]]
        assert made == [f"c{n}" for n in range(count)][-len(made) :]
        assert made == [m["tool_call_id"] for m in prompt if m["role"] == "tool"]


@pytest.mark.parametrize("window", [800, 1_000, 1_200])
def test_calls_that_went_take_no_room(window: int) -> None:
    history = [asked("Which lid is open?"), *parallel(160)]
    assert window - 60 < fitted(history, window).tokens <= window


@pytest.mark.parametrize("to", SHAPES)
def test_a_call_that_has_no_room_goes_with_its_step(to: ShapeName) -> None:
    history = [asked("Which lid is open?"), *parallel(1, text="lid " * 3_000)]
    prompt = fitted(history, 500, to)
    assert prompt.tokens <= 500
    assert "Which lid is open?" in prompt.text
    (said,) = [d.message for d in prompt.warnings if d.code == "PF116"]
    assert said.startswith("1 step was left out")


def test_a_thought_of_openai_goes_with_all_of_its_calls() -> None:
    """Its API refuses a thought without the call behind it, and the call without the thought."""
    calls = [
        {
            "type": "function_call",
            "id": f"fc_{n}",
            "call_id": f"c{n}",
            "name": "f",
            "arguments": "{}",
        }
        for n in range(40)
    ]
    made = [
        {"type": "function_call_output", "call_id": f"c{n}", "output": "lid"} for n in range(40)
    ]
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "abc"}
    history = [asked("Which lid is open?"), thought, *calls, *made]
    prompt = fitted(history, 400, "openai-responses")
    assert [each.get("type", "message") for each in prompt.request["input"]] == ["message"]


def signed_calls(to: str, count: int) -> Messages:
    """Return a step of Gemini, which signs the first call of an answer for all of them."""
    if to == "openai":
        made = parallel(count)
        sign = {"google": {"thought_signature": "c2ln"}}
        made[0]["tool_calls"][0]["extra_content"] = sign
        return made
    calls: Messages = [{"function_call": {"name": "fetch", "args": {"q": n}}} for n in range(count)]
    calls[0]["thought_signature"] = "c2ln"
    outputs = [
        {"function_response": {"name": "fetch", "response": {"output": f"lid {n}"}}}
        for n in range(count)
    ]
    return [{"role": "model", "parts": calls}, {"role": "user", "parts": outputs}]


@pytest.mark.parametrize("to", ["gemini", "openai"])
def test_the_call_that_gemini_signed_stays_with_its_step(to: ShapeName) -> None:
    history = [asked("Which lid is open?"), *signed_calls(to, 60)]
    prompt = fitted(history, 700, to)
    assert prompt.tokens <= 700 and not [d for d in prompt.warnings if d.code == "PF208"]
    said = [d.message for d in prompt.warnings if d.code == "PF116"]
    assert "calls and their results were left out of the newest step" in said[0]
    if to == "openai":
        (answer,) = [m for m in prompt if m["role"] == "assistant"]
        first, *_, last = answer["tool_calls"]
        assert first["extra_content"]["google"]["thought_signature"] == "c2ln"
        assert (first["id"], last["id"]) == ("c0", "c59")
        return
    _, answer, result = prompt.request["contents"]
    first, *_, last = answer["parts"]
    assert first["thought_signature"] == "c2ln" and last["function_call"]["args"] == {"q": 59}
    assert len(answer["parts"]) == len(result["parts"]) > 2
    assert result["parts"][-1]["function_response"]["response"] == {"output": "lid 59"}


def test_calls_of_openai_without_a_thought_go_one_by_one() -> None:
    call = {"type": "function_call", "name": "f", "arguments": "{}"}
    calls = [{**call, "id": f"fc_{n}", "call_id": f"c{n}"} for n in range(40)]
    output = {"type": "function_call_output", "output": "lid"}
    outputs = [{**output, "call_id": f"c{n}"} for n in range(40)]
    prompt = fitted([asked("Which lid is open?"), *calls, *outputs], 400, "openai-responses")
    kept = [each["call_id"] for each in prompt.request["input"][1:]]
    assert kept[: len(kept) // 2] == kept[len(kept) // 2 :] and kept[-1] == "c39"


def test_tokens_of_many_cuts_are_those_of_the_messages_that_are_left() -> None:
    given = [asked("Which lid?"), *parallel(40, orders(9))]
    history = read_history(given, "history", Diagnostics())
    composer = Bridge(profile="gpt").composer()
    for room in (300, 900, 2_000):
        made = HistoryFitter(history, composer, drops_calls=True).fit(room)
        counted = HistoryFitter(made.kept, composer)
        assert made.calls_gone + made.one_line and made.tokens == sum(counted.costs)


def test_calls_of_the_newest_step_stay_while_a_context_can_give_way() -> None:
    history = [asked("Which lid is open?"), *parallel(8)]
    renderer = pf.Renderer(profile="gpt", context_window=1_000, reserve=0)
    prompt = renderer.prompt(["The lid of the kettle. " * 400], history=history, to="openai")
    assert len(results(prompt)) == 8


def test_a_result_that_no_answer_has_read_keeps_its_share_when_the_user_goes_on() -> None:
    history = [asked("list the orders"), *step("c1", orders(400, 7), q=1)]
    unanswered = fitted(history, 2_000, user="and now?")
    assert 800 < unanswered.tokens <= 2_000
    later = [*history, asked("and now?"), {"role": "assistant", "content": "done"}]
    assert results(fitted(later, 2_000, user="next?")) == results(unanswered)


def test_a_result_without_room_is_one_line_that_names_its_call() -> None:
    history = [asked("read it"), *step("c1", "word " * 900, "read", path="a.py")]
    history += [{"role": "assistant", "content": "done"}, asked("go on " * 120)]
    prompt = fitted(history, 400)
    assert results(prompt) == [f'[read({{"path": "a.py"}}): 901 tokens {CALL_AGAIN}']
    assert '1 result of a tool is one line, to keep the window: "read" ("c1")' in [
        d.message for d in prompt.warnings
    ]


def test_tools_to_keep_step_down_last() -> None:
    history = [asked("plan"), *step("c1", orders(30, 1), "plan"), *step("c2", orders(30, 2))]
    for n in range(3, 7):
        history += step(f"c{n}", orders(30, n))
    free, kept = fitted(history, 5_000), fitted(history, 5_000, keep_tools=["plan"])
    assert results(free)[0] != orders(30, 1) == results(kept)[0]
    assert results(kept)[1] != orders(30, 2)


@pytest.mark.parametrize("to", SHAPES)
def test_a_pinned_turn_is_shortened_and_goes_last(to: ShapeName) -> None:
    plan = orders(30, 1)
    history: Messages = []
    for n in range(12):
        history += [asked(f"question {n}?"), *step(f"c{n}", plan if n == 1 else orders(30, n + 2))]
        history += [{"role": "assistant", "content": f"answer {n}"}]
    pinned = [dict(message) for message in history]
    pinned[4]["pinned"] = True
    assert pinned[4]["content"] == "question 1?"
    free, kept = fitted(history, 400, to), fitted(pinned, 400, to)
    assert "question 1?" not in free.text and "question 1?" in kept.text
    assert kept.tokens <= 400 and "pinned" not in kept.text + json.dumps(kept.request, default=str)
    if to == "openai":
        assert results(fitted(pinned, 2_500))[1] == plan != results(fitted(history, 2_500))[1]
        assert "question 0?" not in kept.text and "question 11?" in kept.text
        tiny = fitted(pinned, 200, to)  # it goes before nothing is left
        assert tiny.tokens <= 200 and "question 11?" in tiny.text


def test_turns_with_results_go_so_many_at_once_that_a_providers_cache_lasts() -> None:
    renderer = pf.Renderer(profile="gpt", context_window=400, reserve=0)
    history: Messages = []
    first = []
    for n in range(40):
        history += [asked(f"question {n}"), *step(f"c{n}", 100 * f"line {n}\n")]
        prompt = renderer.prompt(history=history, to="openai")
        first.append(prompt[0]["content"])
        history.append({"role": "assistant", "content": f"answer {n}"})
    assert list(dict.fromkeys(first)) == [f"question {n}" for n in (0, 6, 12, 18, 24, 30)]


def test_old_turns_lose_their_steps_before_what_was_asked_and_answered() -> None:
    history: Messages = []
    for n in range(12):
        history += [asked(f"question {n}?"), *step(f"c{n}", orders(30, n))]
        history += [{"role": "assistant", "content": f"answer {n}"}]
    made = fitted([*history, asked("and now?")], 600)
    shown = [message["content"] for message in made if message["role"] == "user"]
    assert shown == [*(f"question {n}?" for n in range(12)), "and now?"]
    assert made.history.dropped == 0 and len(results(made)) < 12
    (said,) = [d.message for d in made.warnings if " left out, the oldest" in d.message]
    assert said.startswith(f"{12 - len(results(made))} steps were left out, the oldest")


def test_what_the_running_turn_found_stays_longer_than_what_older_turns_found() -> None:
    history: Messages = []
    for n in range(30):
        history += [asked(f"question {n}?"), *step(f"c{n}", orders(30, n))]
        history += [{"role": "assistant", "content": f"answer {n}"}]
    history.append(asked("what are the notes of the items k0, k1, k2, k3, k4, k5, k6 and k7?"))
    for n in range(8):
        rows = "".join(f"{row},{n},paid,nothing to say of it\n" for row in range(90))
        found = f"row,item,state,note\n{rows}90,k{n},open,the seal {n}-{n} is broken\n{rows}"
        history += step(f"k{n}", found)
        made = fitted(history, 4_000)
        assert [k for k in range(n + 1) if f"the seal {k}-{k} is broken" in made.text] == [
            *range(n + 1)
        ]
    assert made.history.dropped == 0


def test_pinned_takes_true_or_false() -> None:
    (said,) = fitted([{**asked("a"), "pinned": "yes"}, asked("b")], 3_000).warnings
    assert said.message == 'pinned takes true or false; got "yes"'


def test_the_pin_of_a_langchain_message_is_among_its_additional_fields() -> None:
    message = {"type": "human", "data": {"content": "q", "additional_kwargs": {"pinned": True}}}
    (read,) = read_message(message, "here", Diagnostics())
    assert read.pinned and "pinned" not in str(read.blocks)


@pytest.mark.parametrize(
    ("to", "find"),
    [
        ("anthropic", lambda m: m["content"][0]["content"]),
        ("openai-responses", lambda m: m["output"]),
        ("gemini", lambda m: m["parts"][0]["function_response"]["response"]["output"]),
        ("bedrock", lambda m: m["content"][0]["toolResult"]["content"][0]["text"]),
    ],
)
def test_a_providers_own_result_keeps_its_shape(to: ShapeName, find: Any) -> None:
    whole = fitted([asked("q"), *step("c1", "word " * 900)], 9_000, to)
    again = fitted([*whole, *fitted([*whole, *whole][:1], 9_000, to)][:-1], 400, to)
    assert 0 < len(find(list(again)[-1])) < 1_500
    assert len(again) == len(whole)


def test_a_long_text_of_the_user_is_shortened_last() -> None:
    pasted = "why does it fail?\n" + "2026-11-01T00:00:00Z INFO fine\n" * 900
    prompt = fitted([asked(pasted)], 1_000)
    assert "why does it fail?" in prompt[0]["content"] and prompt.tokens <= 1_000


# --- recall ---


@pytest.mark.slow
def test_passages_of_earlier_results_come_back_with_a_question_about_them() -> None:
    history: Messages = []
    for n in range(30):
        rows = orders(30, n, at_20={"depot": f"DEPOT-{n}", "opens": f"at {n} o'clock sharp"})
        history += [asked(f"task {n}: go on"), *step(f"c{n}", rows, page=n)]
        history.append({"role": "assistant", "content": f"answer {n}"})
    renderer = pf.Renderer(profile="gpt", context_window=6_000, reserve=0)
    prompt = renderer.prompt(history=history, user="When opens DEPOT-3?", to="openai")
    part = next(part for part in prompt.parts if part.name == "recall")
    assert prompt.tokens <= 6_000 and 0 < part.tokens <= 600
    recalled, question = prompt[-1]["content"]
    assert "at 3 o'clock sharp" in recalled["text"] and question["text"] == "When opens DEPOT-3?"
    assert 'fetch({"page": 3}), turn 4' in recalled["text"].replace("\\", "")
    without = renderer.prompt(history=history, user="When opens DEPOT-3?", recall_share=0.0)
    assert "at 3 o'clock sharp" not in without.text
    # The message stands as it was sent while its turn runs.
    running = [*history, asked("When opens DEPOT-3?"), *step("c99", "{}")]
    assert renderer.prompt(history=running, to="openai")[-3] == prompt[-1]
    other = renderer.prompt(history=history, user="Thank you, well done!", to="openai")
    assert all(part.name != "recall" for part in other.parts)


# --- laws ---

WORDS = st.integers(0, 220).map(lambda n: "alpha beta " * n + f"end{n}")


@st.composite
def conversations(draw: st.DrawFn) -> Messages:
    history: Messages = []
    for turn in range(draw(st.integers(1, 6))):
        history.append(asked(f"question {turn} " + draw(WORDS)[:300]))
        for n in range(draw(st.integers(0, 3))):
            made = [step(f"c{turn}_{n}_{k}", draw(WORDS)) for k in range(draw(st.integers(1, 3)))]
            calls = [one[0]["tool_calls"][0] for one in made]
            history += [{**made[0][0], "tool_calls": calls}, *(one[1] for one in made)]
        history.append({"role": "assistant", "content": f"answer {turn}"})
    return history[: draw(st.integers(1, len(history)))]


def cut(history: Messages, window: int, **options: Any) -> Messages | None:
    """Return the messages of the prompt, None where even the least does not fit."""
    try:
        return list(fitted(history, window, **options))
    except pf.BudgetError:
        return None


@given(conversations(), st.integers(150, 2_500), st.sampled_from([1.0, 0.6]))
@cases(40)
def test_law_nothing_is_over_orphaned_empty_or_changed_twice(
    history: Messages, window: int, compact_at: float
) -> None:
    try:
        prompt = fitted(history, window, compact_at=compact_at)
    except pf.BudgetError as error:
        assert error.needed > window
        return
    assert prompt.tokens <= window
    calls = [call["id"] for message in prompt for call in message.get("tool_calls", ())]
    assert calls == [message["tool_call_id"] for message in prompt if message["role"] == "tool"]
    assert all(results(prompt))
    assert list(fitted(list(prompt), window, compact_at=compact_at)) == list(prompt)
    if fitted(history, 10**6).tokens <= window * compact_at - 60:
        assert len(prompt) == len(fitted(history, 10**6))


@given(conversations(), st.integers(400, 2_500))
@cases(30)
def test_law_a_longer_history_begins_alike_until_the_next_batch(
    history: Messages, window: int
) -> None:
    ends = [n for n, m in enumerate(history) if m["role"] != "assistant"]
    ends = [n for n in ends if n + 1 == len(history) or history[n + 1]["role"] == "assistant"]
    made = [cut(history[: end + 1], window, recall_share=0.0) for end in ends]
    changed = 0
    for before, after in pairwise(made):
        if before is None or after is None:
            return
        changed += after[: len(before)] != before
    whole = fitted(history, 10**6).tokens
    # A batch takes a fourth of the window at least, or there is nothing more to take.
    assert changed <= 2 + 8 * whole // window


# --- thoughts that are signed with what stands before them ---


def answers_of_claude(turns: int, steps: int) -> list[dict[str, Any]]:
    """Return answers with a thought each; a turn has so many calls and then a text."""
    made = []
    for n in range(turns * (steps + 1)):
        last = n % (steps + 1) == steps
        block: dict[str, Any] = {"type": "tool_use", "id": f"toolu_{n}", "name": "f", "input": {}}
        if last:
            block = {"type": "text", "text": f"answer {n}"}
        thought = {"type": "thinking", "thinking": f"hm {n}", "signature": f"c2ln{n:04}"}
        made.append(
            {
                "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
                "content": [thought, block], "stop_reason": "end_turn" if last else "tool_use",
                "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
            }
        )  # fmt: skip
    return made


def converse(server: Any, thinking: str, profile: str, **options: Any) -> list[pf.Prompt]:
    """Hold the conversation through the library of Anthropic; return all prompts sent."""
    anthropic = pytest.importorskip("anthropic", reason="the library of Anthropic is not installed")
    renderer = pf.Renderer(profile=profile, context_window=2_500, reserve=0, **options)
    history: list[Any] = [asked("question 0")]
    sent = []
    given: dict[str, Any] = {"type": thinking}
    if thinking == "enabled":
        given["budget_tokens"] = 1024
    with anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0) as client:
        while server.answers:
            made = renderer.prompt(history=history, to="anthropic")
            sent.append(made)
            answer = client.messages.create(
                model="m", max_tokens=2048, thinking=given, **made.request
            )
            history.append(answer)
            if answer.stop_reason == "end_turn":
                history.append(asked(f"question {len(history)}"))
                continue
            n = len(history)
            result = {"type": "tool_result", "tool_use_id": answer.content[-1].id}
            history.append({"role": "user", "content": [{**result, "content": orders(20, n)}]})
    return sent


def thoughts_of(prompt: pf.Prompt) -> list[str]:
    blocks = (block for message in prompt for block in message["content"] if message["content"])
    return [each["thinking"] for each in blocks if each["type"] == "thinking"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("profile", "thinking", "wrong"),
    [("claude", "adaptive", "keep"), ("claude-4.5", "enabled", "drop")],
)
def test_claude_takes_the_thoughts_that_are_left_after_a_cut(
    profile: str, thinking: str, wrong: str
) -> None:
    anthropic = pytest.importorskip("anthropic", reason="the library of Anthropic is not installed")
    with serving(answers_of_claude(3, 6)) as server:
        sent = converse(server, thinking, profile)
    assert len(server.got) == 21
    assert any("left out: what stands before them has changed" in str(m.warnings) for m in sent)
    # The turn that runs thinks on, in what was sent since the cut.
    assert 0 < len(thoughts_of(sent[-1])) < 21 and thoughts_of(sent[-1])[-1] == "hm 19"
    with serving(answers_of_claude(3, 6)) as server, pytest.raises(anthropic.BadRequestError):
        converse(server, thinking, profile, thoughts=wrong)


def test_thoughts_of_earlier_turns_go_with_a_cut_and_this_is_said() -> None:
    history: Messages = []
    for n, answer in enumerate(answers_of_claude(12, 0)):
        text = {"type": "text", "text": "word " * 300}
        history += [
            asked(f"question {n}"),
            {"role": "assistant", "content": [answer["content"][0], text]},
        ]
    for profile in ("claude", "claude-4.5", "default"):
        renderer = pf.Renderer(profile=profile, context_window=4_000, reserve=0)
        whole = pf.Renderer(profile=profile, context_window=90_000, reserve=0)
        assert len(thoughts_of(whole.prompt(history=history, user="q", to="anthropic"))) == 12
        made = renderer.prompt(history=history, user="q", to="anthropic")
        assert made.history.dropped and made.history.kept and not thoughts_of(made)
        assert f"{made.history.kept} thoughts were left out" in str(made.warnings)
        kept = renderer.prompt(history=history, user="q", to="anthropic", thoughts="keep")
        assert len(thoughts_of(kept)) == kept.history.kept
        lite = [
            {
                **m,
                "content": "word " * 300,
                "thinking_blocks": m["content"][:1],
                "reasoning_content": "hm",
            }
            if m["role"] == "assistant"
            else m
            for m in history
        ]
        assert "thinking_blocks" not in str(
            renderer.prompt(history=lite, user="q", to="openai").request
        )
        assert "thinking_blocks" in str(whole.prompt(history=lite, user="q", to="openai").request)


def test_what_lies_between_a_call_and_its_late_result_goes_with_them() -> None:
    from promptforge.prompts.ladder import split_steps, split_turns
    from promptforge.prompts.messages import Message, TextBlock, ToolCall, ToolOutput

    said = (TextBlock("x"),)
    messages = [
        Message("user", said),
        Message("assistant", (ToolCall("a", "f", "{}"), ToolCall("b", "f", "{}"))),
        Message("tool", (ToolOutput("a", "f", "1"),)),
        Message("user", said),
        Message("assistant", said),
        Message("tool", (ToolOutput("b", "f", "2"),)),
        Message("assistant", said),
        Message("user", said),
        Message("assistant", said),
    ]
    first, second = split_turns(messages)
    assert (len(first), len(second)) == (7, 2)
    assert list(map(len, split_steps(messages, first))) == [1, 5, 1]


def test_the_least_of_a_history_takes_one_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    from promptforge.prompts.ladder import _Replay

    batches = []
    plain = _Replay._step_down

    def step_down(replay: _Replay, *given: Any) -> None:
        batches.append(given)
        plain(replay, *given)

    monkeypatch.setattr(_Replay, "_step_down", step_down)
    turn = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    prompt = pf.Renderer(context_window=9000).prompt(history=turn * 40, user="q", to="openai")
    assert len(prompt) == 81 and not batches
    with pytest.raises(pf.BudgetError):
        pf.Renderer(context_window=9).prompt(history=turn * 40, user="q" * 99, to="openai")
    assert len(batches) == 1


OUTPUT = "".join(f"wrote chunk {n}\n" for n in range(1500)) + "could not write 1500: disk quota"
CALLING = {"type": "tool_use", "id": "t1", "name": "bash", "input": {}}
FAILED: dict[str, Messages] = {
    "anthropic": [
        {"role": "assistant", "content": [CALLING]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": OUTPUT}
            ],
        },
    ],
    "bedrock": [
        {
            "role": "assistant",
            "content": [{"toolUse": {"toolUseId": "t1", "name": "bash", "input": {}}}],
        },
        {
            "role": "user",
            "content": [
                {
                    "toolResult": {
                        "toolUseId": "t1", "status": "error", "content": [{"text": OUTPUT}],
                    }
                }
            ],
        },
    ],
    "gemini": [
        {"role": "model", "parts": [{"function_call": {"id": "t1", "name": "bash", "args": {}}}]},
        {
            "role": "user",
            "parts": [
                {
                    "function_response": {
                        "id": "t1", "name": "bash", "response": {"error": OUTPUT},
                    }
                }
            ],
        },
    ],
    "openai": [
        step("t1", "")[0],
        {"role": "tool", "tool_call_id": "t1", "status": "error", "content": OUTPUT},
    ],
    "roles": [
        step("t1", "")[0],
        {"role": "tool", "tool_call_id": "t1", "isError": True, "content": OUTPUT},
    ],
}  # fmt: skip


@pytest.mark.parametrize("to", FAILED)
def test_a_result_flagged_as_an_error_keeps_its_end_and_its_flag(to: ShapeName) -> None:
    prompt = fitted([asked("store it"), *FAILED[to]], 500, to)
    assert prompt.tokens <= 500 and "disk quota" in prompt.text
    sent = json.dumps(prompt.request)
    assert to not in ("anthropic", "bedrock", "gemini") or '"error"' in sent or "is_error" in sent


def test_an_error_beside_other_members_stays_one() -> None:
    call, answer = json.loads(json.dumps(FAILED["gemini"]))
    response = answer["parts"][0]["function_response"]
    response["response"] = {"error": OUTPUT, "exit_code": 1}
    prompt = fitted([asked("store it"), call, answer], 500, "gemini")
    shown = prompt[-1]["parts"][0]["function_response"]["response"]
    assert list(shown) == ["error"] and '"exit_code"' in shown["error"]
    other = fitted([asked("store it"), call, answer], 500, "anthropic")
    assert other[-1]["content"][0]["is_error"] is True
    response["response"] = {"output": OUTPUT, "error": "one warning"}
    prompt = fitted([asked("store it"), call, answer], 500, "gemini")
    assert list(prompt[-1]["parts"][0]["function_response"]["response"]) == ["output"]


def test_a_text_that_the_user_pasted_steps_down_before_turns_go() -> None:
    rows = "\n".join(f"2026-10-11 INFO worker {n} took {n * 37 % 900} ms" for n in range(900))
    pasted = asked(f"Which worker is slow?\n{rows}\nPlease tell me its number.")
    history = [pasted, {"role": "assistant", "content": "Worker 24."}, asked("Why is it slow?")]
    prompt = fitted(history, 2000)
    first = prompt[0]["content"]
    assert [message["content"] for message in prompt][1:] == ["Worker 24.", "Why is it slow?"]
    assert "INFO worker" in first and "…" in first
    assert first.startswith("Which worker is slow?") and first.endswith("tell me its number.")
    (said,) = (each for each in prompt.warnings if each.code == "PF116")
    assert "a text of the user in turn 1" in said.message
    assert prompt.history.dropped == 0 and fitted([*prompt], 2000).request == prompt.request


def test_a_pasted_question_leaves_room_for_what_was_said_before() -> None:
    rows = [f"worker {n} took {n * 37 % 900} ms" for n in range(2000)]
    pasted = asked("And here?\n" + "\n".join(rows))
    said = [asked("My name is Ada."), {"role": "assistant", "content": "Hello."}]
    for talk in (said, said * 60):
        prompt = fitted([*talk, pasted], 1000)
        assert prompt.tokens <= 1000 and prompt[0] == said[0]
        assert prompt.history.dropped == 0 or len(talk) > 2
        assert prompt[-1]["content"].startswith("And here?")


def test_a_text_in_the_question_that_runs_steps_down_after_all_else() -> None:
    lines = [f"worker {n} took {n * 37 % 900} ms" for n in range(400)]
    pasted = asked("Which worker is slow?\n" + "\n".join(lines))
    prompt = fitted([pasted, *step("t1", OUTPUT), *step("t2", OUTPUT)], 6500)
    assert prompt[0]["content"] == pasted["content"]


def test_a_page_flagged_as_an_error_stays_a_page() -> None:
    page = "<html><body><nav>Home</nav><h1>Gone</h1>" + "<p>It was moved.</p>" * 900 + "</body>"
    plain = [asked("get it"), *step("t1", page)]
    failed = [*plain[:2], {**plain[2], "is_error": True}]
    assert fitted(failed, 500)[-1] == fitted(plain, 500)[-1]


def test_what_is_shortened_or_left_out_is_named() -> None:
    steps = [each for n in range(6) for each in step(f"c{n}", f"word{n} " * 400, "read")]
    cut = fitted([asked("read all"), *steps], 700)
    said = " ".join(d.message for d in cut.warnings if d.code == "PF116")
    assert re.search(r'window: ("read" \("c\d"\), ){3}\d more', said), said
    (one,) = [d.message for d in fitted([asked("why? " * 2000)], 300).warnings]
    assert one.endswith("keep the window: a text of the user in turn 1")
