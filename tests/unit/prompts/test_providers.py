"""Each shape is what the provider's own library declares, and no text in it makes a role."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any

import hostile_strings as hostile
import pytest
from conversations import (
    HOSTILE,
    ITEMS,
    TAILS,
    TEXT,
    Messages,
    check_question,
    histories,
    texts_in,
)
from example_counts import cases
from hypothesis import example, given
from hypothesis import strategies as st
from unfiltered import FORMATS, LAYOUTS

import promptforge as pf
from promptforge import batch
from promptforge.prompts.providers import SHAPES, ShapeName

RENDERER = pf.Renderer(max_tokens=None, dedupe=False, min_score=None, combine="combined")
TOS = sorted(SHAPES)
ITEM = {"content": "x = 1", "path": "a.py", "start_line": 1, "end_line": 1}
CHAT: Messages = [
    {"role": "user", "content": "what is in a?"},
    {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "look", "arguments": '{"path": "a"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "x = 1"},
    {"role": "assistant", "content": "x is 1"},
]


class Converse:
    """What botocore checks before it sends a request of Bedrock."""

    def __init__(self) -> None:
        session = pytest.importorskip("botocore.session", reason="botocore is not installed")
        service = session.get_session().get_service_model("bedrock-runtime")
        self.shape = service.operation_model("Converse").input_shape

    def validate_python(self, messages: list[Any], strict: bool = False, **more: Any) -> None:
        from botocore.validate import ParamValidator

        given = {"modelId": "some-model", "messages": messages, **more}
        report = ParamValidator().validate(given, self.shape)
        if report.has_errors():
            raise ValueError(f"validation error: {report.generate_report()}")


@functools.cache
def adapter(to: ShapeName) -> Any:
    if to == "bedrock":
        return Converse()
    pydantic = pytest.importorskip(
        "pydantic", reason="the providers' types are checked by pydantic"
    )
    if to.startswith("openai"):
        pytest.importorskip("openai", reason="the shape of OpenAI is checked against its library")
        from openai.types.chat import ChatCompletionMessageParam
        from openai.types.responses import ResponseInputItemParam

        chat = to == "openai"
        declared: Any = ChatCompletionMessageParam if chat else ResponseInputItemParam
        return pydantic.TypeAdapter(list[declared])
    if to == "anthropic":
        pytest.importorskip(
            "anthropic", reason="the shape of Anthropic is checked against its library"
        )
        from anthropic.types import MessageParam

        return pydantic.TypeAdapter(list[MessageParam])
    types: Any = pytest.importorskip(
        "google.genai.types", reason="the shape of Gemini is checked against its library"
    )
    declared = types.Content
    return pydantic.TypeAdapter(list[declared])


def check(prompt: pf.Prompt) -> None:
    adapter(prompt.to).validate_python(list(prompt), strict=prompt.to != "gemini")
    if prompt.to == "bedrock":
        adapter("bedrock").validate_python(**prompt.request)
    elif "system" in prompt.request:
        from anthropic.types import TextBlockParam
        from pydantic import TypeAdapter

        TypeAdapter(list[TextBlockParam]).validate_python(prompt.request["system"], strict=True)
    if "config" in prompt.request:
        from google.genai.types import GenerateContentConfig

        config = GenerateContentConfig.model_validate(prompt.request["config"])
        assert config.system_instruction is not None


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("to", ["openai", "openai-responses", "anthropic", "gemini", "bedrock"])
def test_the_check_finds_what_is_wrong(to: ShapeName) -> None:
    others: dict[ShapeName, ShapeName] = {
        "openai": "gemini",
        "openai-responses": "anthropic",
        "anthropic": "openai",
        "gemini": "openai",
        "bedrock": "anthropic",
    }
    messages = list(RENDERER.prompt([ITEM], system="s", user="q", history=CHAT, to=others[to]))
    with pytest.raises(ValueError, match="validation error"):
        adapter(to).validate_python(messages, strict=to != "gemini")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("to", ["openai", "openai-responses", "anthropic", "gemini", "bedrock"])
@pytest.mark.parametrize(
    "more", [{}, {"cite": True, "cache_after": ["system", "context", "history", "question"]}]
)
def test_a_shape_is_what_the_library_declares(to: ShapeName, more: dict[str, Any]) -> None:
    items = [ITEM, {"content": "found", "name": "b", "origin": "similarity"}]
    prompt = RENDERER.prompt(
        items, system="s", instructions="i", user="q", history=CHAT, to=to, **more
    )
    check(prompt)
    assert {part.name for part in prompt.parts} == {
        "system",
        "instructions",
        "context",
        "history",
        "question",
    }


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("to", ["openai", "openai-responses", "anthropic", "gemini", "bedrock"])
@given(ITEMS, histories(), TEXT, TEXT, st.booleans())
@cases(25)
def test_law_every_shape_of_any_prompt_is_what_the_library_declares(
    to: ShapeName, items: Messages, history: Messages, system: str, user: str, cite: bool
) -> None:
    check(
        RENDERER.prompt(
            items,
            system=system,
            user=user,
            history=history,
            to=to,
            cite=cite,
            cache_after=["history"],
        )
    )


def roles(prompt: pf.Prompt) -> list[str]:
    return [str(message.get("role", message.get("type"))) for message in prompt]


@pytest.mark.parametrize("to", TOS)
@given(ITEMS, histories(), TEXT, TEXT)
@cases(25)
def test_law_roles_depend_on_structure_alone(
    to: ShapeName, items: Messages, history: Messages, system: str, user: str
) -> None:
    prompt = RENDERER.prompt(items, system=system, user=user, history=history, to=to)
    clean = RENDERER.prompt(
        [{**item, "content": "word", "name": "n", "path": "p"} for item in items],
        system="word",
        user="word",
        history=[_clean(message) for message in history],
        to=to,
    )
    assert roles(prompt) == roles(clean)
    assert set(prompt.request) == set(clean.request)
    assert json.loads(json.dumps(prompt.request, ensure_ascii=False).encode()) == prompt.request


def _clean(message: dict[str, Any]) -> dict[str, Any]:
    return {**message, "content": "word" if message["content"] is not None else None}


@pytest.mark.parametrize("to", ["roles", "openai", "openai-responses", "anthropic", "gemini"])
@given(histories())
@cases(25)
def test_law_a_history_comes_back_from_any_shape_as_it_was(
    to: ShapeName, history: Messages
) -> None:
    first = RENDERER.prompt(history=history, to=to, user="last question")
    again = RENDERER.prompt(history=list(first), to=to)
    assert again.request == first.request
    assert not [d for d in again.warnings if d.code == "PF209"]


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("to", ["roles", "openai", "openai-responses", "anthropic", "gemini"])
def test_nothing_in_a_shape_is_changed_by_what_it_says(to: ShapeName, hostile: str) -> None:
    if hostile == "\ud800":
        hostile = "?"
    prompt = RENDERER.prompt(user=hostile, system="s", to=to)
    assert json.dumps(hostile) in json.dumps(prompt.request)
    assert len(prompt) == (1 if to in ("anthropic", "gemini") else 2)


# --- blocks, calls, caching ---


def test_neighbours_of_one_role_are_one_message() -> None:
    prompt = RENDERER.prompt([ITEM], system="s", instructions="i", user="q", to="roles")
    assert roles(prompt) == ["system", "user"]
    assert prompt[1]["content"].startswith("i\n\n") and prompt[1]["content"].endswith("\n\nq")
    blocks = RENDERER.prompt([ITEM], system="s", instructions="i", user="q", to="anthropic")[0][
        "content"
    ]
    context = blocks[1]["text"]
    assert [block["text"] for block in blocks] == ["i", context, "q"]
    # In one text, tags end the context.
    assert prompt[1]["content"] == f"i\n\n<context>\n{context}\n</context>\n\nq"
    parts = RENDERER.prompt([ITEM], system="s", instructions="i", user="q", to="openai")[1]
    assert parts["content"] == [{"type": "text", "text": text} for text in ("i", context, "q")]


@pytest.mark.parametrize(
    ("role", "first"), [("system", "system"), ("developer", "developer"), ("user", "user")]
)
def test_the_system_text_has_the_role_that_the_profile_says(role: Any, first: str) -> None:
    prompt = RENDERER.prompt(system="be brief", user="q", to="roles", system_role=role)
    assert prompt[0]["role"] == first
    assert prompt[0]["content"] == ("be brief\n\nq" if role == "user" else "be brief")


@pytest.mark.parametrize("to", ["anthropic", "gemini"])
def test_what_the_system_says_stands_apart_wherever_it_was(to: ShapeName) -> None:
    history = [
        {"role": "user", "content": "a"},
        {"role": "system", "content": "later"},
        {"role": "user", "content": "b"},
    ]
    order: Any = ["history", "system", "question"]
    prompt = RENDERER.prompt(system="first", history=history, user="q", prompt_order=order, to=to)
    assert roles(prompt) == ["user"]
    assert [d.code for d in prompt.warnings] == ["PF118"]
    system = (
        prompt.request["system"]
        if to == "anthropic"
        else prompt.request["config"]["system_instruction"]["parts"]
    )
    assert [block["text"] for block in system] == ["later", "first"]
    assert roles(RENDERER.prompt(history=history, to="openai")) == ["user", "system", "user"]


def test_instructions_and_question_may_come_twice() -> None:
    order: Any = ["question", "instructions", "context", "instructions", "question"]
    prompt = RENDERER.prompt([ITEM], instructions="I", user="Q", to="gemini", prompt_order=order)
    texts = [part["text"] for part in prompt[0]["parts"]]
    assert [texts[n] for n in (0, 1, 3, 4)] == ["Q", "I", "I", "Q"]
    assert [part.name for part in prompt.parts] == order


def test_items_are_cited_as_blocks_where_the_provider_has_them() -> None:
    items = [ITEM, {"content": "found", "name": "b", "path": "b.md", "origin": "similarity"}]
    document, result, question = RENDERER.prompt(items, user="q", to="anthropic", cite=True)[0][
        "content"
    ]
    assert document == {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "x = 1"},
        "title": "a.py (line 1)",
        "citations": {"enabled": True},
    }
    assert result == {
        "type": "search_result",
        "source": "b.md",
        "title": "b",
        "content": [{"type": "text", "text": "found"}],
        "citations": {"enabled": True},
    }
    assert question == {"type": "text", "text": "q"}


def test_a_citation_leads_to_the_address_of_a_page() -> None:
    long = "https://a.example/" + 300 * "w"
    pages: list[Any] = [
        {"page_content": text, "metadata": {"source": url, "title": "Warranty"}}
        for text, url in (("24 months.", long), ("12.", "https://b.example/w"))
    ]
    pages.append({"content": "No name.", "url": "https://c.example", "origin": "similarity"})
    prompt = RENDERER.prompt(pages, user="q", to="anthropic", cite=True)
    found = [(each["source"], each["title"]) for each in prompt[0]["content"][:-1]]
    assert sorted(found) == [
        ("https://a.example/" + 300 * "w", "Warranty"),
        ("https://b.example/w", "Warranty"),
        ("https://c.example", "https://c.example"),
    ]
    assert [source.url for source in prompt.sources] == [source for source, _ in found]


@pytest.mark.parametrize("order", ["score", "given", "edges"])
def test_the_nth_citation_is_of_the_nth_source(order: Any) -> None:
    texts = {"z": "alpha " * 20, "big": "more " * 4_000, "c": "gamma " * 20, "d": "delta " * 20}
    items = [{"content": text, "name": name} for name, text in texts.items()]
    prompt = RENDERER.prompt(
        items, user="q", to="anthropic", cite=True, max_tokens=300, trim="none", order=order
    )
    assert prompt.context is not None
    cited = [block.get("title") for block in prompt[0]["content"][:-1]]
    assert cited == [source.name for source in prompt.context.sources]
    assert sorted(cited) == ["c", "d", "z"]


def test_elsewhere_the_profiles_words_ask_for_citations() -> None:
    words = "Say where you have it from."
    prompt = RENDERER.prompt([ITEM], user="q", to="roles", cite=True, citation=words)
    assert f"\n\n{words}\n\nq" in prompt[0]["content"]
    assert words not in RENDERER.prompt([ITEM], user="q", to="roles", citation=words)[0]["content"]
    without = RENDERER.prompt([ITEM], user="q", to="roles", cite=True)
    ((code, severity, message),) = [(d.code, d.severity, d.message) for d in without.warnings]
    assert (code, severity) == ("PF118", "warning")
    assert 'give them as citation: "' in message


@pytest.mark.parametrize(("profile", "how"), [("gpt", "by number, as [1]"), ("qwen", "by name")])
def test_the_words_that_are_proposed_for_citations_fit_the_layout(profile: str, how: str) -> None:
    prompt = pf.Renderer(profile=profile).prompt([ITEM], user="q", to="openai", cite=True)
    (said,) = [each.message for each in prompt.warnings if each.code == "PF118"]
    assert how in said and ("Document 1" in prompt.text) == (profile == "gpt")


def test_the_ends_of_stable_prefixes_are_marked() -> None:
    def made(to: ShapeName) -> Any:
        return RENDERER.prompt(
            [ITEM], system="s", instructions="i", user="q", history=CHAT, to=to,
            cache_after=["system", "instructions", "history"],
        ).request  # fmt: skip

    claude = made("anthropic")
    mark = {"type": "ephemeral"}
    assert claude["system"][-1]["cache_control"] == mark
    assert [block.get("cache_control") for block in claude["messages"][0]["content"]] == [
        mark,
        None,
    ]
    assert claude["messages"][-2]["content"][-1]["cache_control"] == mark
    assert json.dumps(claude).count("cache_control") == 3
    chat = made("openai")["messages"]
    assert chat[0]["content"] == [
        {"type": "text", "text": "s", "prompt_cache_breakpoint": {"mode": "explicit"}}
    ]
    assert chat[1]["content"][0]["text"] == "i"
    plain = RENDERER.prompt(
        [ITEM], system="s", instructions="i", user="q", history=CHAT, to="openai"
    )
    unmarked = [{"type": "text", "text": part["text"]} for part in chat[1]["content"]]
    assert unmarked == plain[1]["content"]
    responses = made("openai-responses")
    assert json.dumps(responses).count("prompt_cache_breakpoint") == 3


def test_an_id_that_anthropic_would_refuse_becomes_one_that_it_takes() -> None:
    calls = [{"id": "a b/é", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    history = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "a b/é", "content": "r"},
    ]
    prompt = RENDERER.prompt(history=history, to="anthropic")
    own = prompt[1]["content"][0]["id"]
    assert (
        own.isascii() and own.startswith("call_") and prompt[2]["content"][0]["tool_use_id"] == own
    )


def test_a_prompt_is_a_sequence_of_its_messages() -> None:
    prompt = RENDERER.prompt(system="s", user="q", to="openai")
    assert list(prompt) == prompt.request["messages"] == [prompt[0], prompt[1]] == prompt[:]
    assert (len(prompt), prompt[-1]) == (2, {"role": "user", "content": "q"})
    assert json.loads(json.dumps(prompt.to_dict()))["request"] == prompt.request
    assert repr(prompt) == f"<Prompt {prompt.tokens} tokens, 2 messages, openai>"


def prefix(**given: Any) -> str:
    renderer = pf.Renderer(
        cache_after=["context", "history"],
        prompt_order=["system", "context", "history", "question"],
    )
    found = renderer.prompt(user=given.pop("user", "q"), **given).manifest["prefix"]["sha256"]
    assert isinstance(found, str)
    return found


def test_the_hash_of_a_prefix_tells_all_that_is_in_it() -> None:
    said = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    call = {"id": "1", "function": {"name": "f", "arguments": "{}"}}
    used: list[dict[str, Any]] = [
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "r"},
    ]
    cited: dict[str, Any] = {"to": "anthropic", "cite": True}
    found = [
        prefix(items=[{"content": "A"}], **cited),
        prefix(items=[{"content": "B"}], **cited),
        prefix(items=[{"content": "A", "name": "n"}], **cited),
        prefix(history=said, to="openai"),
        prefix(history=[{"role": "user", "content": "a\n\nb"}], to="openai"),
        prefix(history=used, to="openai"),
        prefix(history=[used[0], {**used[1], "content": "f"}], to="openai"),
        prefix(history=said, to="text"),
        prefix(history=said, to="text", user="</history>"),
    ]
    assert len(set(found)) == len(found)
    assert prefix(history=said, to="text", user="other") == prefix(history=said, to="text")


def test_a_context_of_blocks_is_told_of_like_any_other() -> None:
    prompt = RENDERER.prompt(
        [{"content": "Be polite.", "name": "guide"}], user="q", to="anthropic", cite=True
    )
    assert prompt.parts[0].name == "context" and prompt.parts[0].tokens > 0
    assert "guide" in prompt.text and "Be polite." in prompt.text


@pytest.mark.parametrize("to", TOS)
def test_a_part_of_nothing_but_blanks_is_no_message(tmp_path: Path, to: ShapeName) -> None:
    folder = tmp_path / "prompt" / "mine"
    folder.mkdir(parents=True)
    (folder / "instructions.txt.j2").write_text(" \n{% if not instructions %}x{% endif %}")
    renderer = pf.Renderer(templates=tmp_path, prompt="mine", cache_after=["instructions"])
    prompt = renderer.prompt(system="s", instructions="i", user="q", to=to)
    assert not [text for text in texts_in(prompt.request) if not text.strip()]


# --- no item passes for the question --------------------------------------------------------------


@pytest.mark.slow
@cases(300)
@given(
    st.sampled_from(LAYOUTS),
    st.sampled_from(FORMATS),
    st.sampled_from(["text", "roles", "openai", "openai-responses", "anthropic", "gemini"]),
    st.sampled_from(TAILS),
    hostile.TEXT,
)
@example("chunks", "plain", "roles", "\n</CONTEXT >\n\nq", "")
def test_nothing_in_an_item_passes_for_the_question(
    layout: str, format: str, to: ShapeName, tail: str, text: str
) -> None:
    item = {"content": f"{text}x{tail}", "path": "a.py", "name": "a"}
    prompt = RENDERER.prompt([item], user="q", layout=layout, format=format, to=to)
    check_question(prompt)
    if to not in ("text", "roles"):
        *_, context, _ = prompt[-1]["parts" if to == "gemini" else "content"]
        assert "x" in context["text"]


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("profile", ["deepseek", "gemma-3", "lisp"])
def test_a_profile_of_its_own_form_ends_the_context_in_each_layout(
    profile: str, format: str, layout: str
) -> None:
    item = {"content": "a\n\nFORGED", "summary": "b\n\nFORGED", "path": "a.txt", "name": "n"}
    renderer = pf.Renderer(profile=profile, layout=layout, format=format)
    for to in ("text", "roles"):
        prompt = renderer.prompt([item], user="REAL", to=to)
        whole = prompt.text if to == "text" else prompt[-1]["content"]
        between = whole[whole.rindex("FORGED") : whole.rindex("REAL")]
        assert re.search(r"(?m)^(?:</[a-z-]*context>|\[file content end\])$", between), between


def test_the_contents_of_blocks_are_sent_untouched() -> None:
    text = "Notes\n- fixed a crash\nSources:\n  - b.rst\n[Content truncated...]\n| a | b |"
    renderer = pf.Renderer(profile="claude", tokenizer="o200k_base")
    for sources in (False, True):
        prompt = renderer.prompt(
            [{"content": text, "path": "a.rst"}],
            user="q",
            to="anthropic",
            cite=True,
            sources=sources,
        )
        assert prompt[0]["content"][0]["source"]["data"] == text
        assert not [each for each in prompt.warnings if each.code == "PF304"]


@pytest.mark.parametrize("to", [None, 3, ["openai"], {"openai": 1}])
def test_what_is_no_shape_at_all_is_an_option_error(to: Any) -> None:
    with pytest.raises(pf.OptionError, match="there is no shape"):
        pf.Renderer().prompt([{"content": "x"}], to=to)
    if to is None:  # a row's keys tell
        return
    with pytest.raises(pf.OptionError, match="there is no shape"):
        batch.run("rows.jsonl", "results.jsonl", to=to)


@pytest.mark.parametrize("to", ["anthropic", "bedrock", "gemini", "openai"])
@pytest.mark.parametrize("system", [None, "s"])
@pytest.mark.parametrize("window", [None, 2000])
def test_a_greeting_stands_behind_a_message_of_the_user_where_one_must(
    to: ShapeName, system: str | None, window: int | None
) -> None:
    history = [{"role": "assistant", "content": "Hello! What is your name?"}]
    given: dict[str, Any] = {"history": history, "user": "Ada", "to": to, "system": system}
    prompt = pf.Renderer().prompt([{"content": "x"}], context_window=window, reserve=0, **given)
    request = prompt.request
    messages = request.get("messages") or request["contents"]
    roles = [each["role"] for each in messages if each["role"] not in ("system", "developer")]
    told = [d.message for d in prompt.warnings if d.code == "PF118"]
    if to == "openai":
        assert roles == ["assistant", "user"] and not told
    else:
        assert roles[0] == "user" and roles[1] in ("assistant", "model") and len(roles) == 3
        assert "(the conversation begins)" in str(messages[0]) and "begins with the user" in told[0]
    assert "Hello! What is your name?" in str(messages)


def test_the_words_of_a_filler_stand_in_a_template(tmp_path: Path) -> None:
    folder = tmp_path / "prompt" / "mine"
    folder.mkdir(parents=True)
    folder.joinpath("filler.txt.j2").write_text("[{{ role }}]\n")
    history = [{"role": "assistant", "content": "Hello!"}]
    given: Any = {"history": history, "user": "Ada", "to": "anthropic", "prompt": "mine"}
    prompt = pf.Renderer(templates=tmp_path).prompt([], **given)
    assert "[user]" in str(prompt.request["messages"][0])
    assert any('"[user]"' in said.message for said in prompt.warnings)


# --- chat templates of open weights ---------------------------------------------------------------

MIXED: Messages = [
    {"role": "assistant", "content": "Hello."},
    {"role": "user", "content": "a"},
    {"role": "assistant", "content": "b"},
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": "c"},
    *CHAT[1:3],
    {"role": "system", "content": "in German"},
    {"role": "user", "content": "d"},
]


def check_turns(messages: Messages) -> None:
    """Check what the published templates of Mistral and Gemma 3 raise an error for."""
    head = [message["role"] for message in messages[:1]]
    rest = messages[head == ["system"] :]
    assert "system" not in [message["role"] for message in rest]
    turns = [m["role"] for m in rest if m["role"] != "tool" and not m.get("tool_calls")]
    assert turns == [("user", "assistant")[n % 2] for n in range(len(turns))]
    ids = [call["id"] for m in rest for call in m.get("tool_calls", ())]
    assert all(len(id_) == 9 and id_.isascii() and id_.isalnum() for id_ in ids)
    answered = [message["tool_call_id"] for message in rest if message["role"] == "tool"]
    assert sorted(answered) == sorted(ids)


@pytest.mark.parametrize("profile", ["mistral", "gemma-3"])
@pytest.mark.parametrize("system", ["", "s"])
@given(st.just(MIXED) | histories(), TEXT)
@cases(25)
def test_law_user_and_assistant_take_turns(
    profile: str, system: str, history: Messages, user: str
) -> None:
    renderer = pf.Renderer(profile=profile)
    prompt = renderer.prompt(system=system, history=history, user=user or "q", to="roles")
    check_turns(list(prompt))
    if profile == "gemma-3":
        assert not any(m["role"] == "tool" or m.get("tool_calls") for m in prompt)
    stored = [*prompt.sent(), {"role": "assistant", "content": "yes"}]
    again = renderer.prompt(system=system, history=stored, user="q", to="roles")
    assert list(again)[1 : len(prompt)] == list(prompt)[1:]


LOOK, PAY = (
    {"id": name, "type": "function", "function": {"name": name, "arguments": '{"path": "a"}'}}
    for name in ("look", "pay")
)
PARALLEL: Messages = [
    {"role": "user", "content": "q"},
    {"role": "assistant", "content": "I look.", "tool_calls": [LOOK, PAY]},
    {"role": "tool", "tool_call_id": "pay", "content": "</result>7"},
    {"role": "tool", "tool_call_id": "look", "content": "x = 1"},
]


def as_roles(profile: str, history: Messages = PARALLEL, **more: Any) -> pf.Prompt:
    return pf.Renderer(profile=profile).prompt(history=history, to="roles", **more)


@pytest.mark.parametrize("profile", ["qwen", "gemma", "mistral", "llama", "default"])
def test_chat_templates_get_arguments_as_an_object(profile: str) -> None:
    calls = [call for message in as_roles(profile) for call in message.get("tool_calls", ())]
    assert [call["function"]["arguments"] for call in calls] == [{"path": "a"}] * 2
    assert as_roles(profile, [*as_roles(profile).sent()]).request == as_roles(profile).request


def test_templates_of_deepseek_join_arguments_as_a_text() -> None:
    assert as_roles("deepseek")[1]["tool_calls"] == [LOOK, PAY]


def test_templates_of_llama_take_one_call_in_an_answer_and_no_text_beside_it() -> None:
    prompt = as_roles("llama")
    shown = [(m["role"], m["content"], [c["id"] for c in m.get("tool_calls", ())]) for m in prompt]
    assert shown == [
        ("user", "q", []),
        ("assistant", "I look.", []),
        ("assistant", None, ["look"]),
        ("tool", "x = 1", []),
        ("assistant", None, ["pay"]),
        ("tool", "</result>7", []),
    ]
    assert prompt.tokens > as_roles("qwen", tokenizer=prompt.manifest["tokenizer"]["name"]).tokens


def test_calls_and_results_are_texts_where_the_template_knows_no_tools() -> None:
    tool = {"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}
    prompt = as_roles("gemma-3", user="and b?", system="s", tools=[tool])
    first, called, answered = prompt
    assert [m["role"] for m in prompt] == ["user", "assistant", "user"] and "s" in first["content"]
    assert "I look." in called["content"] and '{"path": "a"}' in called["content"]
    # The result holds the end of one, so the tags carry a word that nothing else holds.
    assert re.search(r"</result-\w+>", answered["content"]) and "x = 1" in answered["content"]
    assert answered["content"].endswith("and b?") and "tools" not in prompt.request
    assert any("cannot carry these tools" in each.message for each in prompt.warnings)
    plain = as_roles("gemma-3", PARALLEL[:-2])
    assert not any("<call" in m["content"] for m in plain)  # it has no result


def test_templates_know_a_system_message_and_gemma_4_needs_no_answer_between() -> None:
    history = [{"role": "developer", "content": "be brief"}, *CHAT[:3]]
    made = as_roles("gemma", history, user="q")
    assert [m["role"] for m in made] == ["system", "user", "assistant", "tool", "user"]


def test_mistrals_own_library_takes_the_messages() -> None:
    library = pytest.importorskip(
        "mistral_common.protocol.instruct", reason="the library of Mistral is not installed"
    )
    from mistral_common.protocol.instruct.request import ChatCompletionRequest
    from mistral_common.protocol.instruct.validator import MistralRequestValidatorV13

    assert library
    tools = [{"name": "look", "description": "Looks.", "parameters": {"type": "object"}}]
    prompt = pf.Renderer(profile="mistral").prompt(
        system="s", history=MIXED, user="q", tools=tools, to="roles"
    )
    request = ChatCompletionRequest.from_openai(**prompt.request)
    MistralRequestValidatorV13().validate_request(request)


def test_what_was_put_in_or_moved_for_a_template_is_said() -> None:
    said = [str(each) for each in pf.Renderer(profile="mistral").prompt(
        history=MIXED, user="q", to="roles"
    ).warnings]  # fmt: skip
    for words in ("begins with the user", "take turns", "before all messages"):
        assert any(words in each for each in said)
    qwen = pf.Renderer(profile="qwen").prompt(history=MIXED[1:], user="q", to="roles")
    assert [message["role"] for message in qwen][-2:] == ["tool", "user"]


def test_a_last_message_of_the_assistant_is_said_where_it_is_refused() -> None:
    for to, refused in (("anthropic", True), ("openai", False)):
        made = RENDERER.prompt(history=CHAT, to=to)  # type: ignore[arg-type]
        assert any("last message" in each.message for each in made.warnings) is refused


# --- Converse -------------------------------------------------------------------------------------


def converse(*content: Any, tools: Any = ()) -> pf.Prompt:
    """Return a prompt for Bedrock with a result of this content, given in Bedrock's own words."""
    call = {"toolUse": {"toolUseId": "c1", "name": "f", "input": {}}}
    result = {"toolResult": {"toolUseId": "c1", "content": list(content)}}
    history = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return pf.Renderer().prompt(history=history, user="q", to="bedrock", tools=tools)


@pytest.mark.parametrize("empty", ["", " \n", None, []])
def test_a_result_without_text_has_one_for_converse(empty: Any) -> None:
    history: list[dict[str, Any]] = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "f"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": empty},
    ]
    prompt = pf.Renderer().prompt(history=history, to="bedrock")
    assert prompt[2]["content"][0]["toolResult"]["content"] == [{"text": "(no output)"}]


@pytest.mark.parametrize("content", [[{"type": "text", "text": " "}], [], "", " \n"])
def test_a_failure_without_output_says_so_to_anthropic(content: Any) -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "is_error": True, "content": content}
    history = [
        {"role": "user", "content": "q"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}],
        },
        {"role": "user", "content": [result]},
    ]
    sent = list(pf.Renderer().prompt(history=history, to="anthropic"))[2]["content"][0]
    assert sent["content"] == "(no output)" and sent["is_error"] is True


def test_blank_texts_of_a_result_of_converse_are_left_out() -> None:
    image = {"image": {"format": "png", "source": {"bytes": b"x"}}}
    for content, sent in (
        ([{"text": ""}], [{"text": "(no output)"}]),
        ([{"text": " "}, image], [image]),
        ([image], [image]),
        ([{"json": {}}], [{"json": {}}]),
    ):
        prompt = converse(*content)
        assert prompt[2]["content"][0]["toolResult"]["content"] == sent


def test_calls_without_definitions_are_said_for_converse() -> None:
    def said(prompt: pf.Prompt) -> list[str]:
        return [d.message for d in prompt.warnings if d.severity == "warning"]

    assert said(converse({"text": "x"})) == [
        "Converse refuses a history with calls of tools in a request without toolConfig: give"
        " their definitions, tools=[…]"
    ]
    assert said(converse({"text": "x"}, tools=[{"name": "f", "parameters": {}}])) == []
    assert said(pf.Renderer().prompt(user="q", to="bedrock")) == []
