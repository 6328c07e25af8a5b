"""One window for all parts: never exceeded, shared by rule, and where it is too small each part's
need is said.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
from conversations import CLEAN, ITEMS, TEXT, Messages, histories, recount
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st

import promptforge as pf
from promptforge.prompts.ladder import split_turns
from promptforge.prompts.messages import Message, TextBlock
from promptforge.prompts.providers import SHAPES, ShapeName

RENDERER = pf.Renderer(dedupe=False, min_score=None, combine="combined", query=None)
TOS = sorted(SHAPES)
LINE = "The quick brown fox jumps over the lazy dog near the river bank.\n"


def chat(turns: int, words: int = 40) -> Messages:
    return [
        message
        for n in range(turns)
        for message in (
            {"role": "user", "content": f"question {n} " + "word " * words},
            {"role": "assistant", "content": f"answer {n} " + "word " * words},
        )
    ]


# --- never exceeded ---


@pytest.mark.slow
@pytest.mark.parametrize("to", TOS)
@pytest.mark.parametrize("tokenizer", ["o200k_base", "approximate-claude", "characters"])
@given(
    ITEMS, histories(), TEXT, st.integers(1, 900), st.booleans(), st.sampled_from([0.0, 0.3, 1.0])
)
@cases(12)
def test_law_the_window_is_kept_however_it_is_counted(
    to: ShapeName,
    tokenizer: str,
    items: Messages,
    history: Messages,
    user: str,
    window: int,
    cite: bool,
    share: float,
) -> None:
    try:
        prompt = RENDERER.prompt(
            items,
            system="s",
            user=user,
            history=history,
            to=to,
            cite=cite,
            citation="Cite.",
            tokenizer=tokenizer,
            context_window=window + 50,
            reserve=50,
            history_share=share,
            message_tokens=3,
            prompt_tokens=5,
        )
    except pf.BudgetError as error:
        assert error.needed > error.largest == window
        return
    assert prompt.tokens <= window == prompt.window
    assert recount(prompt, tokenizer, 3, 5) <= window
    if to == "text":
        assert prompt.tokens == pf.get_tokenizer(tokenizer).count(prompt.text) + 8
    elif to == "roles" and all(
        isinstance(m.get("content"), str) and "tool" not in m["role"] for m in prompt
    ):
        count = pf.get_tokenizer(tokenizer).count
        assert prompt.tokens == 5 + sum(3 + count(message["content"]) for message in prompt)


@pytest.mark.parametrize("to", TOS)
def test_answers_between_which_a_question_was_blank_are_counted_as_they_are_sent(
    to: ShapeName,
) -> None:
    # OpenAI's Responses gets two messages, which cost two frames; the others get one.
    history = [
        {"role": role, "content": text}
        for role, text in (("user", "a"), ("assistant", "b"), ("user", " "), ("assistant", "c"))
    ]
    prompt = RENDERER.prompt(
        history=history, user="q", to=to, tokenizer="o200k_base", message_tokens=3, prompt_tokens=5
    )
    assert prompt.tokens >= recount(prompt, "o200k_base", 3, 5)
    known = {"openai-responses": 4, "openai": 3}
    assert len(prompt) == known.get(to, len(prompt))


@given(histories(CLEAN, 6), st.integers(60, 600))
@cases(40)
def test_law_a_call_never_parts_from_its_result_and_the_newest_turns_stay(
    history: Messages, window: int
) -> None:
    prompt = RENDERER.prompt(
        history=history, user="q", to="openai", context_window=window, reserve=0
    )
    calls = [call["id"] for message in prompt for call in message.get("tool_calls", ())]
    assert calls == [message["tool_call_id"] for message in prompt if message["role"] == "tool"]
    kept = list(prompt)
    whole = iter(RENDERER.prompt(history=history, to="openai", user="q"))
    assert all(message in whole for message in kept), "a part of it, in order"
    assert kept[0]["role"] == "user"
    assert prompt.history.kept + prompt.history.dropped == sum(m["role"] == "user" for m in history)


def test_a_context_that_grows_when_it_is_joined_is_rendered_again() -> None:
    class Jumpy:
        """Counts a text with a question in it a third higher: no sum of parts tells what the whole
        costs.
        """

        name, exact = "jumpy", True

        def count(self, text: str) -> int:
            return math.ceil(len(text) * (4 / 3 if "?" in text and "fox" in text else 1))

    prompt = RENDERER.prompt(
        [{"content": LINE * 20}],
        user="what?",
        tokenizer=Jumpy(),
        context_window=900,
        reserve=0,
        to="roles",
    )
    assert 600 < prompt.tokens <= 900
    assert prompt.context is not None and prompt.context.items_trimmed == 1


# --- shared by rule ---


def parts(prompt: pf.Prompt) -> dict[str, int]:
    return {part.name: part.tokens for part in prompt.parts}


@pytest.mark.parametrize("given", [{}, {"query": "fox"}, {"history": []}, {"user": ""}])
def test_a_context_that_does_not_fit_needs_no_history_and_no_question(given: Any) -> None:
    items = [{"name": f"n{n}", "content": LINE * 9, "score": 0.5} for n in range(20)]
    prompt = RENDERER.prompt(items, system="s", context_window=900, reserve=0, **given)
    assert prompt.tokens <= 900 and prompt.context is not None and prompt.context.truncated
    assert "quick brown fox" in prompt.text


def test_history_and_context_share_what_is_left() -> None:
    items = [{"content": f"{n} {LINE * 40}"} for n in range(5)]
    both = RENDERER.prompt(
        items, user="q", history=chat(40), context_window=2000, reserve=0, to="roles"
    )
    used = parts(both)
    assert 300 <= used["history"] <= 600 and used["context"] > 1300
    assert 1950 <= both.tokens <= 2000, "what the step leaves of the history goes to the context"
    more = RENDERER.prompt(
        items,
        user="q",
        history=chat(40),
        context_window=2000,
        reserve=0,
        to="roles",
        history_share=0.7,
    )
    assert parts(more)["history"] > 2 * used["history"]


def test_what_one_does_not_need_the_other_takes() -> None:
    small = RENDERER.prompt(
        [{"content": "x = 1"}],
        user="q",
        history=chat(40),
        context_window=2000,
        reserve=0,
        to="roles",
    )
    assert parts(small)["history"] > 1100
    short = RENDERER.prompt(
        [{"content": LINE * 400}],
        user="q",
        history=chat(1),
        context_window=2000,
        reserve=0,
        to="roles",
    )
    assert parts(short)["context"] > 1800 and short.history.dropped == 0


def test_max_tokens_is_a_ceiling_of_the_context_only_where_somebody_set_it() -> None:
    items = [{"content": LINE * 900}]
    window = {"context_window": 9000, "reserve": 1000}

    def context(renderer: pf.Renderer, **options: Any) -> int:
        made = renderer.prompt(items, user="q", to="roles", **options).context
        return made.tokens if made else 0

    assert context(RENDERER) in range(3900, 4001)
    assert context(RENDERER, **window) in range(7800, 8001)
    assert context(RENDERER, **window, max_tokens=500) in range(400, 501)
    assert context(pf.Renderer(max_tokens=600), **window) in range(500, 601)
    assert context(RENDERER, max_tokens=None) > 9000
    assert len(RENDERER.prompt(items, user="q", max_chars=700).context.text) <= 700  # type: ignore[union-attr]


def test_a_profile_that_sets_max_tokens_has_set_it(tmp_path: Any) -> None:
    (tmp_path / "mine.yaml").write_text("context_window: 9000\nmax_tokens: 4000\n")
    prompt = pf.Renderer(profile="mine", profiles=tmp_path).prompt(
        [{"content": LINE * 900}], user="q", to="roles"
    )
    assert prompt.context and prompt.context.tokens <= 4000


def test_what_is_required_takes_the_room_of_the_history() -> None:
    items = [{"content": LINE * 60, "required": True}]
    need = parts(RENDERER.prompt(items, user="q", to="roles"))["context"]
    prompt = RENDERER.prompt(
        items, user="q", history=chat(20), context_window=need + 150, reserve=0, to="roles"
    )
    assert parts(prompt)["context"] == need and prompt.history.kept <= 1
    with pytest.raises(
        pf.BudgetError, match=r"the prompt needs .* tokens .* context [0-9]+, question 1"
    ) as small:
        RENDERER.prompt(
            items, user="q", history=chat(20), context_window=need, reserve=0, to="roles"
        )
    again = RENDERER.prompt(
        items, user="q", history=chat(20), context_window=small.value.needed, reserve=0, to="roles"
    )
    assert again.tokens <= small.value.needed


def test_too_small_a_window_says_what_each_part_needs() -> None:
    with pytest.raises(pf.BudgetError) as caught:
        RENDERER.prompt(
            system="s " * 30, instructions="i " * 20, user="q " * 10, context_window=60, reserve=20
        )
    assert caught.value.largest == 40
    assert str(caught.value).startswith(
        "the prompt needs 105 tokens and the window has room for 40: system 31,"
    )
    enough = caught.value.needed
    prompt = RENDERER.prompt(
        system="s " * 30, instructions="i " * 20, user="q " * 10, context_window=enough, reserve=0
    )
    assert prompt.tokens == enough
    with pytest.raises(pf.BudgetError):
        RENDERER.prompt(
            system="s " * 30,
            instructions="i " * 20,
            user="q " * 10,
            context_window=enough - 1,
            reserve=0,
        )


def test_parts_that_are_empty_or_have_no_place() -> None:
    assert [
        p.name
        for p in RENDERER.prompt([], system=" \n", instructions="", user="q", history=[]).parts
    ] == ["question"]
    prompt = RENDERER.prompt(
        [{"content": "x"}], system="s", user="q", prompt_order=["system", "question"]
    )
    assert [d.message for d in prompt.warnings] == [
        "prompt_order has no place for the context, so it was left out"
    ]
    assert prompt.context is None
    with pytest.raises(pf.OptionError, match="there is nothing to make a prompt of"):
        RENDERER.prompt()
    with pytest.raises(
        pf.OptionError, match=r'prompt_order takes a list of .*; did you mean "system"\?'
    ):
        RENDERER.prompt(user="q", prompt_order=["sytem"], strict=True)
    with pytest.raises(pf.OptionError, match="prompt_order takes"):
        RENDERER.prompt(user="q", prompt_order=["context", "context"], strict=True)
    with pytest.raises(pf.OptionError, match='there is no shape "opena"; did you mean "openai"'):
        RENDERER.prompt(user="q", to="opena")  # type: ignore[arg-type]
    with pytest.raises(pf.OptionError, match="system takes text; got a value of type int"):
        RENDERER.prompt(system=7)  # type: ignore[arg-type]


def test_the_question_is_the_query_unless_one_is_given() -> None:
    items = [
        {"content": "tar saves files.", "score": 0.5},
        {"content": "gzip compresses.", "score": 0.5},
    ]
    renderer = pf.Renderer()

    def query(**options: Any) -> Any:
        result = renderer.prompt(items, user="what does gzip do?", **options).context
        assert result is not None
        return result.query

    assert query() == "what does gzip do?"
    assert query(query="tar") == "tar"
    assert query(query=None) is None


def test_exact_is_said_of_counts_that_are() -> None:
    plain: dict[str, Any] = {"user": "q", "system": "s"}
    assert RENDERER.prompt(**plain, to="openai").exact
    assert not RENDERER.prompt(**plain, to="openai", tokenizer="approximate-claude").exact
    assert not RENDERER.prompt([{"content": "x"}], user="q", to="anthropic", cite=True).exact
    call = {"id": "1", "function": {"name": "f", "arguments": "{}"}}
    history = [
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "r"},
    ]
    assert not RENDERER.prompt(history=history, to="openai").exact


@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=3),
    st.integers(0, 400),
    st.sampled_from(TOS),
    st.booleans(),
)
@cases(40)
def test_law_what_is_said_to_be_needed_is_enough(
    sizes: list[int], window: int, to: ShapeName, cite: bool
) -> None:
    items = [
        {"content": f"{n} " + "word " * size, "required": n % 2 == 0}
        for n, size in enumerate(sizes)
    ]
    asked: dict[str, Any] = {
        "system": "s " * 20,
        "user": "q?",
        "history": chat(3),
        "to": to,
        "cite": cite,
    }
    try:
        RENDERER.prompt(items, **asked, context_window=window, reserve=0)
    except pf.BudgetError as small:
        enough = RENDERER.prompt(items, **asked, context_window=small.needed, reserve=0)
        assert enough.tokens == small.needed and f" {small.needed:,} tokens" in str(small)
        with pytest.raises(pf.BudgetError):
            RENDERER.prompt(items, **asked, context_window=small.needed - 1, reserve=0)


@pytest.mark.parametrize("option", [{"max_chars": 400}, {"max_tokens": 100}, {"trim": "none"}])
def test_what_a_context_cannot_use_the_history_takes(option: dict[str, Any]) -> None:
    items = [{"content": LINE * 400}]
    prompt = RENDERER.prompt(
        items, user="q", history=chat(60, 10), context_window=4000, reserve=0, **option
    )
    assert prompt.history.dropped == 0


def test_turns_are_priced_as_they_are_printed() -> None:
    short = chat(60, 3)
    whole = RENDERER.prompt(user="q", history=short, context_window=99999, reserve=0).tokens
    kept = RENDERER.prompt(user="q", history=short, context_window=whole + 2 * 60, reserve=0)
    assert kept.history.dropped == 0, "no more than two tokens of a turn are too many"


def test_a_tokenizer_of_the_providers_is_asked_about_the_finished_prompt_alone() -> None:
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return int(pf.get_tokenizer("o200k_base").count(text) * 1.3)

    items = [{"content": f"{n} {LINE * 40}"} for n in range(5)]
    for to in TOS:
        asked.clear()
        prompt = RENDERER.prompt(
            items, user="q", history=chat(40), to=to, tokenizer=pf.RemoteTokenizer("theirs", count),
            context_window=3000, reserve=0,
        )  # fmt: skip
        assert 1 <= len(asked) <= 3 and asked[-1].endswith("q" if to != "text" else "</question>")
        assert 2800 < prompt.tokens <= 3000
        assert [d.code for d in prompt.warnings if d.code.startswith("PF5")] == ["PF503"]


# --- verify ---


def test_a_count_of_the_providers_is_believed() -> None:
    seen: list[dict[str, Any]] = []

    def verify(request: dict[str, Any]) -> int:
        seen.append(request)
        texts = [part["text"] for m in request["messages"] for part in m["content"]]
        return int(sum(map(len, texts)) * 0.4)

    prompt = RENDERER.prompt(
        [{"content": LINE * 100}],
        user="q",
        context_window=500,
        reserve=0,
        to="openai",
        verify=verify,
        tokenizer="approximate-characters",
    )
    assert prompt.tokens == verify(prompt.request) <= 500 and prompt.exact
    assert 2 <= len(seen) - 1 <= 3 and seen[-1] == prompt.request
    assert prompt.tokens > 350, "a factor was learned, the context was not thrown away"
    free = RENDERER.prompt(user="q", to="openai", verify=lambda request: 12345)
    assert (free.tokens, free.window) == (12345, None)


def test_a_provider_that_always_counts_more_is_asked_three_times() -> None:
    calls: list[int] = []

    def verify(request: dict[str, Any]) -> int:
        calls.append(1)
        return 501

    with pytest.raises(pf.BudgetError):
        RENDERER.prompt(
            [{"content": LINE * 100}], user="q", context_window=500, reserve=0, verify=verify
        )
    assert len(calls) == 3
    with pytest.raises(pf.TokenizerError, match=r'verify failed: OSError: "no route"'):
        RENDERER.prompt(user="q", verify=_unreachable)


@pytest.mark.parametrize("counted", [-1, True, 1.0])
def test_a_count_of_a_provider_is_a_whole_number(counted: Any) -> None:
    with pytest.raises(pf.TokenizerError, match=r"verify returned .*; it must be a whole number"):
        RENDERER.prompt(user="q", verify=lambda request: counted)


@pytest.mark.parametrize("count", [lambda n: n * 3 // 2, lambda n: n + 400])
def test_what_is_needed_by_a_providers_count_is_said_by_it(count: Any) -> None:
    def verify(request: dict[str, Any]) -> int:
        return int(count(sum(len(m["content"]) for m in request["messages"])))

    asked: dict[str, Any] = {
        "user": "q" * 1900,
        "to": "roles",
        "verify": verify,
        "tokenizer": "characters",
    }
    with pytest.raises(
        pf.BudgetError, match="as verify counts and the window has room for 2,000"
    ) as small:
        RENDERER.prompt(**asked, context_window=2000, reserve=0)
    assert small.value.largest == 2000
    assert (
        RENDERER.prompt(**asked, context_window=small.value.needed, reserve=0).tokens
        <= small.value.needed
    )


def test_where_a_provider_counts_less_more_comes_in() -> None:
    def verify(request: dict[str, Any]) -> int:
        return sum(len(m["content"]) for m in request["messages"]) // 8

    asked: dict[str, Any] = {"user": "q", "to": "roles", "context_window": 1000, "reserve": 0}
    prompt = RENDERER.prompt([{"content": LINE * 400}], **asked, verify=verify)
    assert 900 < prompt.tokens <= 1000


def _unreachable(request: dict[str, Any]) -> int:
    raise OSError("no route")


# --- turns ---


def test_a_turn_begins_with_what_the_user_says() -> None:
    def message(role: Any) -> Message:
        return Message(role, (TextBlock(role),))

    roles = ["assistant", "user", "assistant", "tool", "assistant", "user", "assistant"]
    assert [roles[turn.start : turn.stop] for turn in split_turns(list(map(message, roles)))] == [
        ["assistant"],
        ["user", "assistant", "tool", "assistant"],
        ["user", "assistant"],
    ]


@pytest.mark.slow
def test_a_conversation_that_grows_begins_alike_from_one_question_to_the_next() -> None:
    items = [{"content": f"{n} {LINE * 30}"} for n in range(12)]
    dropped = []
    for turns in range(0, 60, 2):
        prompt = RENDERER.prompt(
            items,
            user="why " * (1 + turns % 7),
            history=chat(turns, 10),
            context_window=3000,
            reserve=0,
            to="roles",
        )
        dropped.append(prompt.history.dropped)
    assert dropped == sorted(dropped) and dropped[-1] > 20
    assert len(set(dropped)) <= 1 + len(dropped) // 3, (
        "questions of other lengths do not move the cut"
    )


def test_of_a_running_turn_the_oldest_steps_go_and_the_question_stays() -> None:
    history: list[dict[str, Any]] = [
        {"role": "user", "content": "an old question"},
        {"role": "assistant", "content": "an old answer"},
        {"role": "user", "content": "the question"},
    ]
    for n in range(8):
        call = {"id": f"c{n}", "function": {"name": "look", "arguments": "{}"}}
        history.append({"role": "assistant", "tool_calls": [call]})
        history.append({"role": "tool", "tool_call_id": f"c{n}", "content": "word " * 50})
    whole = pf.Renderer(context_window=100_000, reserve=0).prompt(history=history, to="openai")
    assert len(whole) == len(history) and whole.history.kept == 2
    for size in (whole.tokens - 1, 200, 300):
        cut = pf.Renderer(context_window=size, reserve=0).prompt(history=history, to="openai")
        assert cut.tokens <= size and cut.history.dropped == 1
        assert cut[-1]["tool_call_id"] == "c7"
        if size < 500:
            assert cut[0]["content"] == "the question"
            assert [m["role"] for m in cut][1:] == ["assistant", "tool"] * (len(cut) // 2)
    assert 1 < len(cut) // 2 < 8
    (said,) = [d.message for d in cut.warnings if "steps" in d.message]
    assert "steps were left out, the oldest, to keep the window: " in said
    items = [{"content": f"word {n} " * 60, "name": f"n{n}"} for n in range(9)]
    renderer = pf.Renderer(context_window=800, reserve=0)
    both = renderer.prompt(items, history=history, to="openai")
    assert both.tokens <= 800 and both.context is not None and both.context.items_included
    assert both[0]["content"] == "the question" and both[-2]["tool_call_id"] == "c7"
    least = pf.Renderer(context_window=30, reserve=0).prompt(history=history, to="openai")
    assert [message["content"] for message in least] == ["the question"]
    with pytest.raises(pf.BudgetError):
        pf.Renderer(context_window=3, reserve=0).prompt(history=history, to="openai")


@pytest.mark.parametrize(
    ("limits", "way"),
    [
        ({"max_tokens": 20}, "a larger max_tokens has room for more"),
        ({"max_prompt_tokens": 30}, "raise max_prompt_tokens to have room for more"),
        (
            {"context_window": 50, "reserve": 20, "max_tokens": 30},
            "raise context_window or lower reserve to have room for more",
        ),
    ],
)
def test_the_way_out_of_an_empty_context_names_the_limit_that_bound(
    limits: dict[str, Any], way: str
) -> None:
    items = [{"content": "Refunds take a week. " * 30, "path": "r.md", "score": 0.5}]
    prompt = pf.Renderer().prompt(items, user="q", to="openai", trim="none", **limits)
    (said,) = [each.message for each in prompt.warnings if each.code == "PF114"]
    assert said.endswith(f"; {way}")
    assert prompt.context is not None and prompt.context.items[0].fits_at is not None
