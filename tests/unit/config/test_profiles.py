"""Profiles: found, read, layered, checked, and described by a JSON Schema."""

from __future__ import annotations

import fnmatch
import hashlib
import importlib
import importlib.metadata
import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import promptforge as pf
from promptforge import Renderer
from promptforge import files as _shipped
from promptforge.config.options import OPTION_VOCABULARY as OPTIONS
from promptforge.config.options import Options, apply_options
from promptforge.config.profiles import (
    PROFILE_VOCABULARY,
    Profile,
    find_profiles,
    load_profile,
    profile_schema,
    read_values,
)
from promptforge.errors import ProfileError
from promptforge.yaml_reader import load_yaml, load_yaml_with_lines

SHIPPED = _shipped.shipped_folder("profiles")
NAMES = sorted(path.stem for path in SHIPPED.glob("*.yaml"))
OF_FAMILY = '; "{}" is the nearest of its family: take it and set context_window'
ANY_LLM = "; default fits any LLM, `promptforge new profile {}` makes your own"
OF_ALL = f"; there are: {', '.join(NAMES)}"
FAMILIES = [
    name for name in NAMES if name not in ("default", "lisp", "knowledge-long", "assembler")
]
VARIANTS = {
    **{"claude-4.5": "claude", "gpt-4.1": "gpt", "gpt-4o": "gpt", "gpt-5": "gpt", "gpt-oss": "gpt"},
    **{"deepseek-r1": "deepseek", "deepseek-v3": "deepseek", "llama-3": "llama", "qwen-3": "qwen"},
    **{"mistral-3.1": "mistral", "qwen-2.5": "qwen", "codestral": "mistral", "nova-1": "nova"},
    **{"glm-5": "glm", "kimi-k2": "kimi", "command-r": "command", "gemma-3-1b": "gemma-3"},
    **{"gemini-2.5": "gemini", "gpt-5.2": "gpt"},
    **{"gpt-4.1-mini": "gpt", "gpt-4o-mini": "gpt", "o3": "gpt", "o4-mini": "gpt"},
}
"""Profiles for some LLMs of a family, and which."""
GROUND = {"document": "markdown"}
"""The language tags of the shipped default."""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def refused(name: str | Path, *folders: Path) -> str:
    with pytest.raises(ProfileError) as caught:
        load_profile(name, folders)
    return str(caught.value)


def options_of(profile: Profile) -> Options:
    return apply_options(Options(), profile.options)


# --- The shipped ones -----------------------------------------------------------------------------


def test_default_holds_every_key_with_its_default() -> None:
    text = (SHIPPED / "default.yaml").read_text(encoding="utf-8")
    values, _ = read_values(PROFILE_VOCABULARY, text, "default.yaml")
    described = values.pop("description")
    assert described
    assert values.pop("language_tags") == GROUND
    assert values == {
        name: PROFILE_VOCABULARY.rules[name].default
        for name in PROFILE_VOCABULARY
        if name not in ("description", "language_tags")
    }


def test_default_says_something_of_every_key() -> None:
    text = (SHIPPED / "default.yaml").read_text(encoding="utf-8")
    _, lines = load_yaml_with_lines(text, "default.yaml")
    above = text.splitlines()
    for (key,) in (path for path in lines if len(path) == 1):
        assert above[lines[(key,)] - 2].startswith("# "), key


def test_default_names_every_choice() -> None:
    text = (SHIPPED / "default.yaml").read_text(encoding="utf-8")
    for rule in OPTIONS.rules.values():
        comment = text[: text.index(f"\n{rule.name}: ")].rsplit("\n\n", 1)[-1]
        assert all(choice in comment for choice in rule.choices), rule.name


def test_default_changes_nothing() -> None:
    profile = load_profile("default")
    assert profile.options == {}
    assert options_of(profile) == Options()
    assert [file.name for file in profile.chain] == ["shipped/default"]


@pytest.mark.parametrize("name", NAMES)
def test_each_shipped_profile_loads(name: str) -> None:
    profile = load_profile(name)
    assert profile.name == name and profile.description
    assert options_of(profile).max_tokens == 4000
    file = profile.chain[-1]
    assert file.name == f"shipped/{name}"
    assert file.sha256 == hashlib.sha256(file.path.read_bytes()).hexdigest()


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_says_where_its_figures_come_from(name: str) -> None:
    profile = load_profile(name)
    settled = options_of(profile)
    assert profile.family == VARIANTS.get(name, name)
    assert profile.as_of in ("2026-11-22", "2026-11-29")
    assert profile.match and profile.references and profile.unknown
    assert settled.context_window is not None and settled.reserve is not None
    assert 0 < settled.reserve < settled.context_window
    assert len(set(profile.control_tokens)) == len(profile.control_tokens)
    assert (
        settled.tokenizer == "o200k_base"
        if profile.family == "gpt"
        else settled.tokenizer.startswith("approximate-")
    )


@pytest.mark.parametrize(
    ("name", "layout", "form"),
    [
        ("claude", "documents", "xml"),
        ("gpt", "documents", "markdown"),
        ("gemini", "documents", "xml"),
        ("deepseek", "documents", "plain"),
        ("gemma", "chunks", "markdown"),
        ("llama", "chunks", "markdown"),
        ("mistral", "chunks", "markdown"),
        ("qwen", "chunks", "markdown"),
        ("command", "chunks", "markdown"),
        ("claude-4.5", "documents", "xml"),
        ("gpt-4.1", "documents", "markdown"),
        ("gpt-4o", "documents", "markdown"),
        ("gpt-4o-mini", "documents", "markdown"),
        ("gemini-2.5", "documents", "xml"),
        ("gpt-5", "documents", "markdown"),
        ("gpt-oss", "documents", "markdown"),
        ("gemma-3", "chunks", "markdown"),
        ("deepseek-r1", "documents", "plain"),
        ("lisp", "context", "markdown"),
        ("knowledge-long", "knowledge-long", "plain"),
    ],
)
def test_what_each_prints(name: str, layout: str, form: str) -> None:
    settled = options_of(load_profile(name))
    assert (settled.layout, settled.format) == (layout, form)


def test_lisp_prints_all_items_in_their_order_between_lisp_fences() -> None:
    settled = options_of(load_profile("lisp"))
    assert (settled.fence_language, settled.order, settled.max_items, settled.min_score) == (
        "lisp",
        "given",
        None,
        None,
    )
    assert (settled.rerank, settled.dedupe, settled.merge_overlaps) == ("none", False, False)


def test_deepseek_names_the_wide_bar_and_the_low_block() -> None:
    tokens = load_profile("deepseek").control_tokens
    assert "<\uff5cbegin\u2581of\u2581sentence\uff5c>" in tokens
    assert sum("\uff5c" in token for token in tokens) > 10


def test_claude_names_the_old_turns_with_their_line_breaks() -> None:
    assert load_profile("claude").control_tokens[:2] == ("\n\nHuman:", "\n\nAssistant:")


# --- Layers ---------------------------------------------------------------------------------------


def test_a_profile_lies_on_what_it_extends_and_that_on_default(tmp_path: Path) -> None:
    write(tmp_path, "mine", "extends: claude\nmax_tokens: 12000\nlanguage_tags: {man_page: text}\n")
    profile = load_profile("mine", [tmp_path])
    assert [file.name for file in profile.chain] == ["shipped/default", "shipped/claude", "mine"]
    claude = load_profile("claude")
    assert profile.options == {**claude.options, "max_tokens": 12000}
    assert (profile.family, profile.as_of, profile.references) == (
        "claude",
        claude.as_of,
        claude.references,
    )
    assert (profile.name, profile.description, profile.match) == ("mine", "", ())
    assert profile.language_tags == {**GROUND, "man_page": "text"}


def test_language_tags_are_joined_and_other_lists_replaced(tmp_path: Path) -> None:
    write(
        tmp_path,
        "low",
        "language_tags: {.el: lisp, man_page: text}\ncontrol_tokens: [a]\nkinds: [x]\n",
    )
    write(
        tmp_path,
        "high",
        "extends: low\nlanguage_tags: {.el: elisp}\ncontrol_tokens: [b]\nkinds: none\n",
    )
    profile = load_profile("high", [tmp_path])
    assert profile.language_tags == {**GROUND, ".el": "elisp", "man_page": "text"}
    assert profile.control_tokens == ("b",)
    assert profile.options == {"kinds": None}
    assert load_profile("low", [tmp_path]).language_tags == {
        **GROUND,
        ".el": "lisp",
        "man_page": "text",
    }


def test_the_users_file_wins_and_the_original_stays_in_reach(tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    first.mkdir()
    second.mkdir()
    write(first, "claude", "extends: shipped/claude\nmax_tokens: 1\n")
    write(second, "claude", "max_tokens: 2\n")
    assert load_profile("claude", [first, second]).options["max_tokens"] == 1
    assert load_profile("claude", [first, second]).options["format"] == "xml"
    assert load_profile("claude", [second, first]).options == {"max_tokens": 2}
    assert load_profile("shipped/claude", [first]).options == load_profile("claude").options
    assert load_profile("shipped/claude", [first]).name == "shipped/claude"


def test_a_users_default_lies_under_every_profile(tmp_path: Path) -> None:
    write(tmp_path, "default", "max_tokens: 900\norder: edges\nheaders: true\n")
    assert load_profile("default", [tmp_path]).options == {"max_tokens": 900, "order": "edges"}
    claude = load_profile("claude", [tmp_path])
    assert (claude.options["max_tokens"], claude.options["format"]) == (900, "xml")
    assert [file.name for file in claude.chain] == ["shipped/default", "default", "shipped/claude"]


def test_a_profile_may_say_a_default_to_overrule_a_layout(tmp_path: Path) -> None:
    write(tmp_path, "mine", "headers: true\n")
    assert load_profile("mine", [tmp_path]).options == {"headers": True}


def test_a_path_is_as_good_as_a_name_and_finds_its_neighbours(tmp_path: Path) -> None:
    write(tmp_path, "low", "max_tokens: 3\n")
    path = write(tmp_path, "high", "extends: low\n")
    for name in (path, str(path)):
        profile = load_profile(name)
        assert (profile.name, profile.options) == ("high", {"max_tokens": 3})


def test_a_shipped_file_by_its_path_is_the_shipped_profile() -> None:
    for name in ("default", "claude"):
        assert load_profile(SHIPPED / f"{name}.yaml").options == load_profile(name).options


def test_an_edit_shows_at_once(tmp_path: Path) -> None:
    write(tmp_path, "mine", "max_tokens: 1\n")
    assert load_profile("mine", [tmp_path]).options == {"max_tokens": 1}
    write(tmp_path, "mine", "max_tokens: 2\n")
    assert load_profile("mine", [tmp_path]).options == {"max_tokens": 2}


def test_only_comments_is_a_profile(tmp_path: Path) -> None:
    write(tmp_path, "mine", "# nothing yet\n")
    assert load_profile("mine", [tmp_path]).options == {}


# --- Errors ---------------------------------------------------------------------------------------


def test_an_unknown_key_is_named_with_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, "mine", "description: x\nmax_tokens: 5\ncontxt_window: 9\n")
    assert (
        refused("mine", tmp_path)
        == f'{path}:3: unknown key "contxt_window"; did you mean "context_window"?'
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_tokens: -1", ":1: max_tokens takes a whole number from 0 up, or none; got -1"),
        ("max_tokens: 4kk", ':1: max_tokens takes a whole number from 0 up, or none; got "4kk"'),
        (
            "\norder: scores",
            ':2: order takes score | given | file | edges; got "scores"; did you mean "score"?',
        ),
        ("headers: no", ':1: headers takes true or false; got "no"'),
        (
            "as_of: 2026-02-30",
            ':1: as_of takes a date such as 2026-11-21, or none; got "2026-02-30"',
        ),
        ("as_of: 2026", ":1: as_of takes a date such as 2026-11-21, or none; got 2026"),
        ("references: {a: b}", ':1: references takes a list of texts; got {"a": "b"}'),
        (
            "language_tags: {a: 'b c'}",
            ":1: language_tags takes a mapping of texts, each to a language tag such as python or "
            "c++; "
            'got {"a": "b c"}',
        ),
        ("- a", ":1: a file of keys has lines of the form `key: value`"),
        ("name: x", ':1: unknown key "name": a profile is called as its file is'),
        ("\ntitles: {}", ':2: unknown key "titles": it belongs in a layout\'s layout.yaml'),
        ("1: x", ':1: unknown key "1"; there are: as_of,'),
        (
            "extends: ../x",
            ":1: extends takes a name of letters, digits, '_', '.' and '-', or none; got \"../x\"",
        ),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, "mine", text + "\n")
    assert refused("mine", tmp_path).startswith(f"{path}{message}")


def test_a_bad_file_below_is_named_as_itself(tmp_path: Path) -> None:
    low = write(tmp_path, "low", "# x\nmax_tokens: x\n")
    write(tmp_path, "high", "extends: low\n")
    assert refused("high", tmp_path).startswith(f"{low}:2: max_tokens takes")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("cluade", '; did you mean "claude"?'),
        ("Claude", '; did you mean "claude"?'),
        ("claud-opus-5-5", '; did you mean "claude-opus-5"?'),
        ("claude-3-haiku-20240307", OF_FAMILY.format("claude")),
        ("azure/gpt-4", OF_FAMILY.format("gpt")),
        ("Qwen/Qwen1.5-7B-Chat", OF_FAMILY.format("qwen")),
        ("mistral-large-2407", OF_FAMILY.format("mistral")),
        ("magistral-small", '; did you mean "magistral-small-2509"?'),
        ("i4-mini", f"{ANY_LLM.format('i4-mini')}{OF_ALL}"),
        ("github_copilot/claude-opus-5", OF_FAMILY.format("claude")),
        ("snowflake/claude-sonnet-4-6", OF_FAMILY.format("claude")),
        ("github_copilot/gpt-4o", OF_FAMILY.format("gpt-4o")),
        ("ollama/mistral", OF_FAMILY.format("mistral")),
        ("mistral:7b", OF_FAMILY.format("mistral")),
        ("grok-4", OF_FAMILY.format("grok")),
        ("devstrl", '; did you mean "devstral"?'),
        ("shipped/gemmini", '; did you mean "gemini"?'),
        ("zzz", f"{ANY_LLM.format('zzz')}{OF_ALL}"),
        ("x/y-2:1t", f"{ANY_LLM.format('x-y-2-1t')}{OF_ALL}"),
    ],
)
def test_an_unknown_profile_is_an_error_with_a_way_out(name: str, hint: str) -> None:
    assert refused(name) == f'there is no profile "{name}"{hint}'


def test_an_unknown_profile_below_is_named_with_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, "mine", "max_tokens: 1\nextends: cluade\n")
    assert (
        refused("mine", tmp_path)
        == f'{path}:2: there is no profile "cluade"; did you mean "claude"?'
    )


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../claude", "/etc/passwd", "a b", "shipped/", "shipped/../x", "a\x1b"]
)
def test_a_name_that_is_none_is_refused(name: str) -> None:
    said = refused(name)
    assert "is neither a profile's name nor a .yaml file" in said and said.isprintable()


@pytest.mark.parametrize(
    ("model", "profile"),
    [
        ("claude-opus-5-5", "claude"),
        ("GPT-6.1-sol", "gpt"),
        ("claude-haiku-4-5-20251001", "claude-4.5"),
        ("anthropic/claude-opus-5-5", "claude"),
        ("models/vendor/claude-opus-5-5", "claude"),
        ("azure/gpt-4.1", "gpt-4.1"),
        ("openai:gpt-5-mini", "gpt-5.2"),
        ("o4-mini-2025-04-16", "o4-mini"),
        ("openai/o3", "o3"),
        ("anthropic/claude-sonnet-4.5", "claude-4.5"),
        ("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-4.5"),
        ("vertex_ai/claude-sonnet-4-5@20250929", "claude-4.5"),
        ("models/gemini-2.5-flash", "gemini-2.5"),
        ("gemma3:27b", "gemma-3"),
        ("ollama/gemma3:1b", "gemma-3-1b"),
        ("bedrock/us-gov.amazon.nova-lite-v1:0", "nova-1"),
        ("us.moonshotai.kimi-k3", "kimi"),
        ("fireworks_ai/accounts/fireworks/models/glm-5p3", "glm"),
        ("openrouter/openai/gpt-oss-120b:free", "gpt-oss"),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "llama"),
    ],
)
def test_the_id_of_a_model_leads_to_its_profile(model: str, profile: str) -> None:
    found = load_profile(model)
    assert (found.name, found.model) == (profile, model)
    assert msgspec.structs.replace(found, model=None) == load_profile(profile)


def test_a_model_is_said_with_its_profile_and_comes_without_one() -> None:
    item = pf.Item(content="x")
    expected = pf.render([item], profile="gpt-5.2")
    for result in (
        pf.render([item], model="azure/gpt-5-mini"),
        pf.Renderer(model="gpt-5-mini").render([item]),
        pf.Renderer().render([item], model="gpt-5-mini"),
    ):
        assert (result.text, result.profile) == (expected.text, "gpt-5.2")
        assert [note.code for note in result.warnings] == ["PF129"]
    prompt = pf.Renderer().prompt([item], user="?", model="gpt-5-mini")
    assert any(note.code == "PF129" for note in prompt.warnings)
    pf.render([item], model="gpt-5-mini", strict=True)
    with pytest.raises(pf.OptionError, match="give one of them"):
        pf.render([item], profile="gpt", model="gpt-5-mini")
    with pytest.raises(pf.ProfileError, match="there is no profile"):
        pf.render([item], model="gtp-5")


def test_a_profile_of_ones_own_comes_before_the_model_of_its_name(tmp_path: Path) -> None:
    write(tmp_path, "gpt-5-mini", "max_tokens: 7\n")
    own = load_profile("gpt-5-mini", [tmp_path])
    assert (own.name, own.model, own.options["max_tokens"]) == ("gpt-5-mini", None, 7)
    write(tmp_path, "house", "match: [house-llm*, gpt-5*]\nmax_tokens: 8\n")
    for model in ("house-llm-2", "vendor/house-llm", "gpt-5-nano"):
        assert load_profile(model, [tmp_path]).name == "house"


def test_a_file_that_is_not_there() -> None:
    assert refused("nowhere/mine.yaml") == 'there is no profile file "nowhere/mine.yaml"'


def test_a_profile_that_extends_itself(tmp_path: Path) -> None:
    path = write(tmp_path, "claude", "max_tokens: 1\nextends: claude\n")
    message = (
        f"{path}:2: the profile extends itself: claude > claude; the original is shipped/claude"
    )
    assert refused("claude", tmp_path) == message
    assert refused(path) == message


def test_a_circle_of_profiles(tmp_path: Path) -> None:
    write(tmp_path, "a", "extends: b\n")
    path = write(tmp_path, "b", "extends: a\n")
    assert refused("a", tmp_path) == f"{path}:1: the profile extends itself: a > b > a"


def test_a_default_that_extends_a_shipped_profile_goes_round_and_says_so(tmp_path: Path) -> None:
    write(tmp_path, "default", "extends: claude\n")
    assert "claude > default; the original is shipped/default" in refused("default", tmp_path)


def test_a_broken_neighbour_does_not_hide_the_profile(tmp_path: Path) -> None:
    write(tmp_path, "aaa", "match: [claude-*]\nmax_tokens: x\n")
    assert load_profile("claude-opus-5-5", [tmp_path, tmp_path / "nowhere"]).name == "claude"


def test_a_profile_extends_a_profile_not_a_model(tmp_path: Path) -> None:
    path = write(tmp_path, "mine", "extends: claude-opus-5-5\n")
    said = 'there is no profile "claude-opus-5-5"; "claude" is the profile for it'
    assert refused("mine", tmp_path) == f"{path}:1: {said}"


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_bytes(b"max_tokens: 1\ndescription: \xff\n")
    assert (
        refused("mine", tmp_path)
        == f"{path}: cannot be read: line 2 is not UTF-8 text; save it as UTF-8"
    )


def test_a_file_too_long_to_be_a_profile(tmp_path: Path) -> None:
    path = write(tmp_path, "mine", "#" * (1 << 20) + "\n")
    assert refused("mine", tmp_path) == f"{path}: is not a profile: it has more than 1048576 bytes"


# --- Lists and the schema -------------------------------------------------------------------------


def test_the_list_has_each_name_once_and_the_users_first(tmp_path: Path) -> None:
    mine = write(tmp_path, "claude", "description: my own\n")
    broken = write(tmp_path, "broken", "max_tokens: x\n")
    (tmp_path / "notes.txt").write_text("no profile")
    found = {
        name: (said, path) for name, said, path in find_profiles([tmp_path, tmp_path / "nowhere"])
    }
    assert sorted(found) == sorted([*NAMES, "broken"])
    assert found["claude"] == ("my own", mine)
    assert found["gpt"][1] == SHIPPED / "gpt.yaml"
    assert found["broken"] == (
        f'not usable: {broken}:1: max_tokens takes a whole number from 0 up, or none; got "x"',
        broken,
    )


def test_the_schema_is_one_and_lies_beside_the_profiles() -> None:
    jsonschema.Draft202012Validator.check_schema(profile_schema())
    assert json.loads((SHIPPED / "schema.json").read_text(encoding="utf-8")) == profile_schema(), (
        "profiles/schema.json is old; write "
        "json.dumps(promptforge.config.profiles.profile_schema(), indent=2) into it"
    )
    assert all(value["description"] for value in profile_schema()["properties"].values())


@pytest.mark.unwatched
@pytest.mark.parametrize("name", NAMES)
def test_each_shipped_profile_obeys_the_schema_and_names_it(name: str) -> None:
    text = (SHIPPED / f"{name}.yaml").read_text(encoding="utf-8")
    assert text.startswith("# yaml-language-server: $schema=schema.json\n")
    JUDGE.validate(load_yaml(text, name))


JUDGE = jsonschema.Draft202012Validator(profile_schema())
COUNTS = ["4k", "20_000", "1.5M", "1.2345k", "4kk", "4k\n", "9" * 19, "٣"]
TEXTS = st.sampled_from(
    ["", "none", "score", "stop", "mmr", "a b", "../x", "c++", "2026-11-21", "text\n", "a\n"]
) | st.sampled_from(COUNTS)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 9)
    | st.just(2**63)
    | st.sampled_from([0.5, -0.5, 1.5])
    | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=3,
)


@given(st.sampled_from([*PROFILE_VOCABULARY, "contxt_window", "name"]), VALUES)
def test_law_the_schema_and_promptforge_judge_alike(key: str, value: Any) -> None:
    try:
        PROFILE_VOCABULARY.check(key, value, lambda name: "file.yaml:1")
        good = True
    except ProfileError:
        good = False
    assert JUDGE.is_valid({key: value}) == good


def test_the_readme_names_every_profile_and_no_other() -> None:
    readme = (SHIPPED / "README.md").read_text(encoding="utf-8")
    of_llms = re.findall(r"^\| `([\w.-]+)` \|", readme, re.MULTILINE)
    of_jobs = re.search(r"^Three are for one job.*?\n\n", readme, re.MULTILINE | re.DOTALL)
    assert of_jobs
    special = re.findall(r"`([\w.-]+)` \(", of_jobs[0]) + re.findall(r"`([\w-]+)` as", of_jobs[0])
    assert sorted([*of_llms, *special]) == NAMES
    assert "python" not in readme.lower().replace("in python.", "")


# --- names of LLMs --------------------------------------------------------------------------------

MATCH: dict[str, list[str]] = {
    path.stem: load_yaml(path.read_text(encoding="utf-8"), path.name).get("match", [])
    for path in _shipped.shipped_folder("profiles").glob("*.yaml")
}

FOR_NONE = {
    r"gpt-3\.5-.*|gpt-4|gpt-4-.*|chatgpt-4o-latest|codex-mini-latest|computer-use-.*": "far "
    "smaller, or retired",
    r"gpt-4o-.*(audio|search)-.*|gpt-audio-.*": "speech, or a search of its own",
    r"gpt-5.*-chat-latest|gpt-5.*-codex.*": "retired",
    r"gpt-5-pro.*": "an answer of 272,000 tokens: no figure of the others holds",
    r"gpt-rosalind-research|gpt-daybreak-.*": "their windows are not published",
    r"gemma-3n-.*": "a window far smaller than that of the others",
    r"o1-(mini|preview).*|o[34].*-deep-research.*": "retired, or a search of its own",
    r"claude-mythos-preview": "retired",
    r"gemini-1\.5.*|gemini-2\.0-(?!.*(image|live)).*|gemini-pro|gemini-embedding-.*": "retired, "
    "or no LLM",
    r"gemini-.*(image|live|tts|transcribe|audio|computer-use|robotics|omni|banana).*": "speech, "
    "images, a machine",
    r"gemini-4-(carbon|hydrogen|neon)": "their windows are not published",
    r"gemini-2\.5-(flash-001|pro-exp-.*)|gemini-2\.5-flash-[0-9a-f]{8}-.*": "names in tests of "
    "the package, or retired",
}
"""Names that no profile is for, and why."""


def profiles_for(llm: str) -> list[str]:
    return [
        name
        for name, globs in MATCH.items()
        if any(fnmatch.fnmatchcase(llm, glob.lower()) for glob in globs)
    ]


def listed(module: str, pattern: str) -> set[str]:
    path = Path(str(importlib.import_module(module).__file__))
    files = path.parent.rglob("*.py") if path.name == "__init__.py" else [path]
    return {
        name for file in files for name in re.findall(pattern, file.read_text(encoding="utf-8"))
    }


LISTS = {
    "openai.types.shared.chat_model": r'"((?:gpt|chatgpt|o\d|codex|computer)[\w.-]*)"',
    "openai.types.shared.all_models": r'"((?:gpt|chatgpt|o\d|codex|computer)[\w.-]*)"',
    "anthropic.types.model": r'"(claude-[\w.-]+)"',
    "google.genai": r"['\"]((?:gemini|gemma)-[a-z\d][\w.-]*)['\"]",
}


KNOWN = {
    "openai 3.54.0", "openai 3.57.0", "anthropic 2.12.0", "anthropic 2.13.0",
    "google-genai 3.4.0", "google-genai 3.6.1",
}  # fmt: skip
"""Releases of the packages whose names were all looked up."""


def installed_version(module: str) -> str:
    package = "google-genai" if module == "google.genai" else module.split(".")[0]
    return f"{package} {importlib.metadata.version(package)}"


@pytest.mark.slow
@pytest.mark.unwatched
@pytest.mark.parametrize("module", LISTS)
def test_every_name_of_the_providers_own_lists_is_for_one_profile_or_for_none_and_why(
    module: str,
) -> None:
    pytest.importorskip(module.split(".types")[0])
    names = listed(module, LISTS[module])
    assert len(names) > 10
    unheard_of = []
    for name in sorted(names):
        why_not = [reason for pattern, reason in FOR_NONE.items() if re.fullmatch(pattern, name)]
        found = profiles_for(name)
        assert len(found) + len(why_not) < 2, f"{name}: for {found}; for none, since {why_not}"
        if not found and not why_not:
            unheard_of.append(name)
    if unheard_of:
        assert installed_version(module) not in KNOWN, f"{unheard_of}: no profile, and no reason"
        pytest.xfail(f"a newer {module} also names {', '.join(unheard_of)}: look for its figures")


@pytest.mark.slow
def test_no_name_is_for_two_profiles() -> None:
    """A name that fits a glob: the glob with something plain where it is open."""
    for one, other in combinations(MATCH, 2):
        for glob in MATCH[one] + MATCH[other]:
            for filling in ("", "-", "-mini", "1", "5", "x", "20260101"):
                name = re.sub(r"\[!?([^\]])[^\]]*\]", "5", glob).replace("*", filling)
                assert not {one, other} <= set(profiles_for(name)), f"{name}: {one} and {other}"


@pytest.mark.parametrize(
    ("llm", "profile"),
    [
        ("claude-opus-5-5", "claude"), ("claude-fable-5", "claude"), ("claude-opus-4-8", "claude"),
        ("claude-haiku-4-5", "claude-4.5"), ("claude-sonnet-4-5-20250929", "claude-4.5"),
        ("gpt-6.2-astra-law", "gpt"), ("gpt-6-sol", "gpt"), ("gpt-6-cyber", "gpt"), ("gpt-5.6-luna", "gpt"),
        ("gpt-5.5-pro-2026-04-23", "gpt"),
        ("gpt-5", "gpt-5"), ("gpt-5.4-nano", "gpt-5.2"), ("gpt-5.6-cyber", "gpt-5.2"), ("gpt-4.1-mini", "gpt-4.1-mini"),
        ("gpt-4o-mini", "gpt-4o-mini"), ("gpt-oss-120b", "gpt-oss"), ("gemini-4-argon", "gemini"),
        ("gemini-3.8-flash", "gemini"), ("gemini-2.5-pro", "gemini-2.5"), ("gemma-4-31b-it", "gemma"),
        ("gemma-3-27b-it", "gemma-3"), ("llama-4-scout", "llama"), ("mistral-large-2512",
        "mistral"),
        ("deepseek-v4-pro", "deepseek"), ("deepseek-r1", "deepseek-r1"), ("qwen3.8-max", "qwen"),
        ("command-a-plus-05-2026", "command"), ("llama-3.3-70b-versatile", "llama-3"),
        ("deepseek-chat", "deepseek-v3"), ("qwen3-32b", "qwen-3"), ("qwen3-coder-plus", "qwen"),
        ("mistral-small-latest", "mistral"), ("ministral-8b-2512", "mistral"), ("devstral-2-123b", "mistral"),
        ("devstral-small-2507", "mistral-3.1"), ("devstral", "mistral-3.1"), ("open-mistral-nemo", "mistral-3.1"),
        ("grok-4.7", "grok"), ("nova-2-lite", "nova"), ("nova-micro", "nova-1"), ("glm-5.3-flash", "glm"),
        ("glm-4.7-flash", "glm-5"), ("kimi-k3", "kimi"), ("kimi-k2.7-code", "kimi-k2"), ("phi4-mini", "phi-4"),
        ("codestral-2508", "codestral"), ("command-r7b-12-2024", "command-r"), ("gemma-3-1b-it", "gemma-3-1b"),
        ("qwen2.5-coder", "qwen-2.5"), ("qwen3-coder", "qwen-3"), ("gemma3", "gemma-3"),
    ],
)  # fmt: skip
def test_the_profile_for_an_llm(llm: str, profile: str) -> None:
    assert profiles_for(llm) == [profile]


def test_a_text_in_brackets_is_no_list(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("marker: [cut here]\n")
    with pytest.raises(ProfileError, match=r"takes text; got .* a text in brackets needs quotes"):
        Renderer(profile=tmp_path / "mine.yaml")


def test_a_tokenizer_beside_a_profile_keeps_its_factor(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("tokenizer: file:own.tiktoken*1.25\n")
    assert load_profile("mine", [tmp_path]).options["tokenizer"] == (
        f"file:{tmp_path / 'own.tiktoken'}*1.25"
    )


def test_a_profile_is_not_read_behind_a_link_that_leads_out(tmp_path: Path) -> None:
    folder = tmp_path / "profiles"
    (folder / "inner").mkdir(parents=True)
    for path in (tmp_path / "secret.yaml", folder / "inner/kept.yaml"):
        path.write_text("header: SECRET\n")
    (folder / "out.yaml").symlink_to("../secret.yaml")
    (folder / "in.yaml").symlink_to("inner/kept.yaml")
    assert load_profile("in", [folder]).options["header"] == "SECRET"
    for name in ("out", folder / "out.yaml"):
        with pytest.raises(ProfileError, match="a link leads out of the folder"):
            load_profile(name, [folder])
    (folder / "more.yaml").write_text("extends: out\n")
    with pytest.raises(ProfileError, match="a link leads out of the folder"):
        load_profile("more", [folder])
