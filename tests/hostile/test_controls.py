"""No control token comes out of an item: not whole, not by texts that meet, and every text can be
had back."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st
from judges import STRUCTURES
from unfiltered import FORMATS, LAYOUTS, render

import promptforge as pf
from promptforge.config.profiles import load_profile
from promptforge.prompts.providers import ShapeName
from promptforge.syntax.contents import clean_content
from promptforge.syntax.json_syntax import json_value
from promptforge.syntax.markdown_syntax import md_inline
from promptforge.syntax.plain_syntax import plain_inline
from promptforge.syntax.syntaxes import FORMAT_EXTENSIONS, syntax_of
from promptforge.syntax.xml_syntax import xml_text
from promptforge.text.control_tokens import (
    ControlTokens,
    TokenBreaker,
    control_tokens_of,
    spread_insertions,
)

FAMILIES = ["command", "deepseek", "gemma", "llama", "mistral", "qwen"]
KEPT = ["claude", "default", "gemini", "gpt", "knowledge-long", "lisp"]


@cache
def controls(family: str) -> ControlTokens:
    return ControlTokens(load_profile(family).control_tokens)


# --- Texts ----------------------------------------------------------------------------------------


def token_sets(letters: str) -> st.SearchStrategy[tuple[str, list[str]]]:
    words = st.text(st.sampled_from(letters), min_size=1, max_size=6)
    good = words.filter(lambda word: word.strip("\\") not in ("", *"uU0123456789ABCDEF"))
    return st.tuples(st.just(letters), st.lists(good, min_size=1, max_size=4))


SETS = st.sampled_from(
    ["ab\\", "<|>a\\", "ab", "a\\\ue200u", "\n\nHa\\", "[I]\\/", "aé\U0001f600\\"]
).flatmap(token_sets)


@cases(300)
@given(SETS, st.data())
def test_law_any_text_comes_back_and_holds_no_token_of_any_set(
    sets: tuple[str, list[str]], data: st.DataObject
) -> None:
    letters, tokens = sets
    texts = st.lists(st.one_of(st.sampled_from(tokens), st.sampled_from(letters)), max_size=10).map(
        "".join
    )
    one, other = data.draw(texts), data.draw(texts)
    known = ControlTokens(tokens)
    apart, count = known.break_up(one)
    assert known.restore(apart) == one
    assert not any(token in apart for token in tokens)
    assert (apart != one) == (count > 0)
    assert (apart == known.break_up(other)[0]) == (one == other)
    starts = [at for at in range(len(one)) if any(one.startswith(token, at) for token in tokens)]
    assert sorted({start for start, _ in known.find(one)}) == starts


@pytest.mark.parametrize(
    ("token", "text", "apart"),
    [
        ("<|im_start|>", "a<|im_start|>b", "a<\\|im_start|>b"),
        ("<|im_start|>", "<\\|im_start|>", "<\\\\|im_start|>"),
        ("[INST]", "[INST] [inst]", "[\\INST] [inst]"),
        ("\n\nHuman:", "x\n\nHuman: y", "x\n\\\nHuman: y"),
        ("\ue200", "a\ue200b", "a\\uE200b"),
        ("\ue200", "a\\uE200b", "a\\\\uE200b"),
        ("<unused{0-6241}>", "<unused7><unused99999>", "<\\unused7><unused99999>"),
    ],
)
def test_how_a_token_looks_apart(token: str, text: str, apart: str) -> None:
    assert ControlTokens([token]).break_up(text)[0] == apart


def test_time_grows_with_the_text_alone() -> None:
    known = ControlTokens([*controls("mistral").tokens, "\ue200"])
    for text in ("\\" * 10**6, "<\\" * 10**5, "[" * 10**6, "<|\\" * 10**5):
        assert known.restore(known.break_up(text)[0]) == text


# --- Pages ----------------------------------------------------------------------------------------


def fragments(family: str) -> st.SearchStrategy[str]:
    """Texts made of tokens, of pieces of tokens, and of what stands around them."""
    tokens = [re.sub(r"\{(\d+)-\d+\}", r"\1", token) for token in controls(family).tokens]
    pieces = [
        part
        for token in tokens
        for at in (1, 2, len(token) // 2, -1)
        for part in (token[:at], token[at:])
    ]
    quoted = [token.replace("<", "&lt;") for token in tokens] + [
        token.replace("<", "\\u003c") for token in tokens
    ]
    other = [
        "\\",
        "\\\\",
        "\n",
        "\r",
        " ",
        "a",
        '"',
        "&",
        "<",
        "|",
        ">",
        "[",
        "]",
        "```",
        "~~~",
        "\ud800",
        "\0",
        "|>",
    ]
    return st.lists(
        st.one_of(
            st.sampled_from(tokens),
            st.sampled_from(pieces),
            st.sampled_from(other),
            st.sampled_from(quoted),
        ),
        max_size=8,
    ).map("".join)


def records(family: str) -> st.SearchStrategy[list[dict[str, Any]]]:
    text = fragments(family)
    label = st.one_of(st.none(), text)
    return st.lists(
        st.fixed_dictionaries(
            {
                "kind": st.one_of(
                    st.sampled_from(["code", "document", "man_page", "function"]), text.filter(bool)
                ),
                "content": text.map(lambda t: t * 3),
                "name": label,
                "path": label,
                "id": label,
                "language": label,
                "summary": label,
                "metadata": st.dictionaries(
                    text, st.one_of(text, st.lists(text, max_size=2)), max_size=2
                ),
                "origin": st.sampled_from(["explicit", "similarity"]),
            }
        ),
        min_size=1,
        max_size=3,
    )


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
@cases(40, shrink=False)
@given(st.data())
def test_law_no_page_of_any_layout_holds_a_token(format: str, data: st.DataObject) -> None:
    family = data.draw(st.sampled_from(FAMILIES))
    given_records = data.draw(records(family))
    options: dict[str, Any] = {
        "profile": family,
        "separator": data.draw(st.sampled_from([None, "", " "])),
        "group_by": data.draw(st.sampled_from(["auto", "file", "kind", "category", "topic"])),
        "sources": data.draw(st.booleans()),
        "max_tokens": data.draw(st.sampled_from([10**6, 300, 60])),
        "trim": data.draw(st.sampled_from(["structure", "prefix"])),
    }
    result = render(given_records, data.draw(st.sampled_from(LAYOUTS)), format, **options)
    left = any(warning.code == "PF705" for warning in result.warnings)
    assert left or not controls(family).find(result.text)
    assert not left, "a shipped template leaves room in any syntax"
    assert (
        result.tokens
        == pf.get_tokenizer(result.tokenizer).count(result.text)
        <= options["max_tokens"]
    )
    assert "".join(result.text[span.start : span.end] for span in result.map) == result.text
    if format in STRUCTURES and result.text:
        STRUCTURES[format](result.text)


@pytest.mark.parametrize("format", FORMATS)
def test_the_same_page_with_keep_does_hold_them(format: str) -> None:
    item = {"kind": "text", "path": "[INST]", "content": "a [INST] b"}
    kept = render([item], "chunks", format, profile="mistral", control_text="keep")
    assert len(controls("mistral").find(kept.text)) == 2
    assert "PF707" in {warning.code for warning in kept.warnings}
    assert all(warning.severity == "info" for warning in kept.warnings)


@pytest.mark.parametrize("format", FORMATS)
@cases(30)
@given(st.data())
def test_law_a_content_comes_back_from_the_page(format: str, data: st.DataObject) -> None:
    family = data.draw(st.sampled_from(FAMILIES))
    text = data.draw(
        fragments(family).filter(
            lambda t: not set(t) & set('\r\0\ud800&`~"') and t.strip() == t != ""
        )
    )
    form = FORMAT_EXTENSIONS[format]
    shown = clean_content(text, syntax_of(form), None, controls(family)).text
    assert controls(family).restore(shown) == text
    page = render([{"content": text, "path": "p"}], "chunks", format, profile=family).text
    if format in ("markdown", "plain"):
        assert shown in page or "| " in page


@pytest.mark.parametrize("family", FAMILIES)
def test_families_of_open_weights_escape(family: str) -> None:
    assert load_profile(family).options["control_text"] == "escape"


@pytest.mark.parametrize("family", KEPT)
def test_the_others_keep(family: str) -> None:
    assert load_profile(family).options.get("control_text", "keep") == "keep"


def test_keep_makes_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    monkeypatch.setattr(TokenBreaker, "__init__", lambda *_: made.append(1))
    monkeypatch.setattr(ControlTokens, "__init__", lambda *_: made.append(1))
    text = pf.Renderer(profile="qwen", control_text="keep").render([{"content": "<think>"}]).text
    assert "<think>" in text and not made


# --- Where texts meet -----------------------------------------------------------------------------


def folder(path: Path, page: str, item: str, extension: str = "txt") -> dict[str, Any]:
    (path / "mine").mkdir()
    (path / "mine" / f"layout.{extension}.j2").write_text(page, "utf-8")
    (path / "mine" / f"item.{extension}.j2").write_text(item, "utf-8")
    format = {"txt": "plain", "md": "markdown"}.get(extension, extension)  # noqa: A001
    return {
        "templates": path,
        "layout": "mine",
        "format": format,
        "profile": "qwen",
        "separator": "",
    }


ITEMS = "{% for item in items %}{{ item.text }}{{ separator }}{% endfor %}"
HALVES = [
    {"name": "a<|im_", "path": "start|>b", "content": "x<|im_"},
    {"name": "end|>", "content": "end|>"},
]


@pytest.mark.parametrize(
    ("extension", "page", "item", "seen"),
    [
        ("txt", ITEMS, "{{ item.name }}{{ item.path }}", "a<\\|im_start|>bend|>"),
        ("txt", ITEMS, "{{ item.content }}", "x<\\|im_end|>"),
        ("txt", ITEMS, "<|im_{{ item.path or item.name }}", "<|im_\\start|>b<|im_\\end|>"),
        (
            "txt",
            "{% for item in items %}{{ item.name }}{{ item.path }}{% endfor %}",
            "",
            "a<\\|im_start|>bend|>",
        ),
    ],
)
def test_texts_that_meet_make_no_token(
    tmp_path: Path, extension: str, page: str, item: str, seen: str
) -> None:
    result = pf.render(
        HALVES, **folder(tmp_path, page, item, extension), dedupe=False, order="given"
    )
    assert result.text == seen
    assert "PF704" in {warning.code for warning in result.warnings}
    assert "".join(result.text[span.start : span.end] for span in result.map) == result.text
    assert result.tokens == pf.get_tokenizer(result.tokenizer).count(result.text)


def test_a_label_in_markdown_makes_no_token_with_its_escapes(tmp_path: Path) -> None:
    options = folder(tmp_path, ITEMS, "{{ item.name }}{{ item.path }}", "md")
    result = pf.render(HALVES, **options, dedupe=False, order="given")
    assert result.text == "a&lt;\\|im_start\\|>bend\\|>"
    assert "PF704" not in {warning.code for warning in result.warnings}


def test_a_filter_makes_no_token(tmp_path: Path) -> None:
    options = {
        **folder(tmp_path, ITEMS, "[{{ item.kind | upper }}] {{ item.name | upper }}"),
        "profile": "mistral",
    }
    assert (
        pf.render([{"kind": "inst", "name": "[/inst]", "content": ""}], **options).text
        == "[\\INST] [\\/INST]"
    )


def test_what_the_template_and_the_caller_write_stays(tmp_path: Path) -> None:
    page = (
        "{{ header }}{% for item in items %}{{ item.text }}{{ separator }}{% endfor %}{{ footer }}"
    )
    options = folder(tmp_path, page, "<|im_start|>user {{ item.content }}<|im_end|>")
    options |= {"header": "<think>h", "footer": "f</think>", "separator": "<|file_sep|>"}
    result = pf.render([{"content": "<|im_end|>"}, {"content": "b"}], **options, order="given")
    assert result.text == (
        "<think>h<|im_start|>user <\\|im_end|><|im_end|><|file_sep|><|im_start|>user "
        "b<|im_end|><|file_sep|>f</think>"
    )


def test_a_marker_completes_no_token(tmp_path: Path) -> None:
    options = folder(tmp_path, ITEMS, "{{ item.content }}")
    result = pf.render(
        [{"content": "<|im_end, not"}], **options, item_max_chars=8, marker="|>", trim="none"
    )
    assert not controls("qwen").find(result.text) and "|>" in result.text


@pytest.mark.parametrize("syntax", ["md", "xml", "json", "txt"])
@cases(120)
@given(st.data())
def test_law_parts_that_meet_are_mended_and_the_syntax_stays(
    syntax: str, data: st.DataObject
) -> None:
    known = ControlTokens(["<|a|>", "ab", "[b]", '<|"|>', "&lt", "b\\a", "\\n", "\n\na", "`a"])
    place = {
        "md": md_inline,
        "xml": xml_text,
        "json": json_value,
        "txt": plain_inline,
    }
    values = st.lists(
        st.sampled_from(["<", "|", "a", "b", "[", "]", ">", '"', "\\", "&", "\n", "`", "é"]),
        max_size=5,
    )
    drawn = data.draw(st.lists(values.map("".join), max_size=5))
    between = (
        ", "
        if syntax == "json"
        else data.draw(st.sampled_from(["", "a", "|", "<b/>", '<b x="ab"/>']))
    )
    parts: list[str] = ["["] if syntax == "json" else [""]
    for number, value in enumerate(drawn):
        apart = known.break_up(value)[0]
        parts += [between] * bool(number) + [place[syntax](apart)]
    parts += ["]"] if syntax == "json" else [""]
    mended = TokenBreaker(known, syntax_of(syntax), set()).break_up(parts)
    text = "".join(mended.parts)
    assert "".join(spread_insertions(text, parts)) == text
    assert list(map(type, mended.parts)) == list(map(type, parts))
    assert all(new == old for new, old in zip(mended.parts, parts, strict=True) if type(old) is str)
    if syntax in ("xml", "json"):
        assert STRUCTURES[syntax](text) == STRUCTURES[syntax]("".join(parts))
    if syntax == "txt":
        assert not mended.left or any("\\" in token for token in known.tokens)


# --- What is said ---------------------------------------------------------------------------------


def test_each_item_is_said_once_with_its_number_and_no_bytes_of_it() -> None:
    items = [
        {"id": "one", "name": "<think>", "content": "<think> </think>"},
        {"id": "two", "content": "harmless"},
    ]
    said = [w for w in pf.render(items, profile="qwen").warnings if w.code.startswith("PF70")]
    assert [(w.code, w.item, w.message) for w in said] == [
        ("PF704", "one", "control tokens broken up: 3")
    ]


def test_many_are_capped() -> None:
    items = [{"content": f"<think> {number}"} for number in range(300)]
    said = [
        w for w in pf.render(items, profile="qwen", max_tokens=None).warnings if w.code == "PF704"
    ]
    assert len(said) == 101 and said[-1].message == "200 more like this"


def test_escape_without_a_list_is_said() -> None:
    (said,) = pf.render([{"content": "a"}], control_text="escape").warnings
    assert said.code == "PF106" and "control_tokens" in said.message


def test_a_renderer_remembers_both_ways_apart() -> None:
    renderer = pf.Renderer(profile="qwen")
    item = pf.Item(content="<think>", path="a")
    for _ in range(2):
        assert "<\\think>" in renderer.render([item]).text
        assert "<think>" in renderer.render([item], control_text="keep").text
    assert "<\\think>" in renderer.render_item(item)
    assert "<\\think>" not in pf.Renderer(profile="mistral").render([item]).text


@pytest.mark.parametrize("token", ["\\", "", "u", "\\A", "{0-9}x", "\\\\"])
def test_a_token_that_cannot_be_written_apart_is_refused(tmp_path: Path, token: str) -> None:
    (tmp_path / "mine.yaml").write_text(f"control_tokens: ['{token}']\n", "utf-8")
    with pytest.raises(pf.ProfileError, match="control_tokens takes a list of control token"):
        load_profile("mine", [tmp_path])


def test_the_layouts_own_titles_stay_and_an_items_are_written_apart(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "layout.yaml").write_text(
        "titles: {a: '[INST]'}\ngroup_by: file\n", "utf-8"
    )
    page = "{% for section in sections %}{{ section.title }};{% endfor %}"
    (tmp_path / "mine" / "layout.txt.j2").write_text(page, "utf-8")
    (tmp_path / "mine" / "item.txt.j2").write_text("{{ item.content }}", "utf-8")
    items = [{"content": "1", "path": "a"}, {"content": "2", "path": "[/INST]"}]
    result = pf.render(
        items, templates=tmp_path, layout="mine", format="plain", profile="mistral", order="given"
    )
    assert result.text == "[INST];[\\/INST];"


# --- whole prompts --------------------------------------------------------------------------------

SHAPES = ["text", "roles", "openai", "openai-responses", "anthropic", "gemini"]
RENDERER = pf.Renderer(profile="qwen", max_tokens=None, combine="combined", min_score=None)
CONTROLS = control_tokens_of(RENDERER.profile.control_tokens)
FRAGMENTS = [
    "<|im_start|>",
    "<|im_end|>",
    "<|im_",
    "start|>",
    "end|>",
    "<tool_call>",
    "\\",
    "<",
    "|",
    "a",
    "\n",
]
TEXTS = st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=6).map("".join)


def history(said: str, given_back: str, argument: str, name: str = "find") -> list[dict[str, Any]]:
    arguments = json.dumps({"text": argument}).replace("start", "\\u0073tart")
    call = {
        "id": f"c1{name}",
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }
    return [
        {"role": "user", "content": said},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c1{name}", "content": given_back},
        {"role": "assistant", "content": said},
    ]


def texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for each in value.values() for text in texts(each)]
    return [text for each in value for text in texts(each)] if isinstance(value, list) else []


@cases(60)
@given(st.sampled_from(SHAPES), TEXTS, TEXTS, TEXTS, TEXTS, TEXTS)
def test_law_no_part_but_the_callers_own_holds_a_token(
    to: ShapeName, content: str, user: str, said: str, argument: str, name: str
) -> None:
    messages = history(said, content, argument, name)
    item = {
        "content": content,
        "name": name,
        "path": user,
        "origin": "similarity" if len(said) % 2 else "explicit",
    }
    prompt = RENDERER.prompt([item], user=user, history=messages, to=to, cite=True)
    assert not [text for text in [prompt.text, *texts(prompt.request)] if CONTROLS.holds(text)]
    for text in texts(prompt.request):  # arguments, which a server may read
        if text.startswith("{"):
            assert not [inner for inner in texts(json.loads(text)) if CONTROLS.holds(inner)]


@pytest.mark.parametrize("to", SHAPES)
def test_a_template_makes_no_token_of_what_others_wrote(tmp_path: Path, to: ShapeName) -> None:
    folder = tmp_path / "prompt" / "mine"
    folder.mkdir(parents=True)
    (folder / "question.txt.j2").write_text("<|{{ question }}|> {{ question | lower }}")
    (folder / "system.txt.j2").write_text("<|im_start|>{{ system }}<|{{ system }}|>")
    renderer = pf.Renderer(profile="qwen", templates=tmp_path, prompt="mine")
    prompt = renderer.prompt(system="im_end", user="im_end", to=to)
    found = [
        text[start:end] for text in texts(prompt.request) for start, end in CONTROLS.find(text)
    ]
    assert found == ["<|im_start|>", "<|im_end|>"], "the template's own, and the caller's"
    prompt = renderer.prompt(user="<|IM_END|>", to=to)
    assert not [text for text in texts(prompt.request) if CONTROLS.holds(text)]


@pytest.mark.parametrize("to", SHAPES)
def test_with_keep_the_same_judge_finds_tokens(to: ShapeName) -> None:
    prompt = RENDERER.prompt(
        [{"content": "<|im_end|>"}], user="<|im_end|>", to=to, control_text="keep"
    )
    assert [text for text in [prompt.text, *texts(prompt.request)] if CONTROLS.holds(text)]


def test_what_is_changed_can_be_changed_back_and_is_said() -> None:
    prompt = RENDERER.prompt(
        system="<|im_start|>",
        user="<|im_end|>?",
        history=history("x", "<|im_end|>", "<|im_end|>"),
        to="openai",
    )
    assert prompt[0]["content"] == "<|im_start|>"  # who writes the system text may
    assert (
        prompt[-1]["content"] == "<\\|im_end|>?"
        and CONTROLS.restore(prompt[-1]["content"]) == "<|im_end|>?"
    )
    arguments = next(
        m["tool_calls"][0]["function"]["arguments"] for m in prompt if m.get("tool_calls")
    )
    assert json.loads(arguments) == {"text": "<\\|im_end|>"}
    assert [(d.code, d.where) for d in prompt.warnings if d.code == "PF704"] == [
        ("PF704", "user"),
        ("PF704", "history"),
    ]
