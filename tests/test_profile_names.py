"""The profile of each LLM: every name in the providers' packages has one, or a reason for none.

Providers release names at any time. A name newer than the profiles' `as_of` makes no test fail:
it is reported as an expected failure, until a profile or `FOR_NONE` is told of it.
"""

from __future__ import annotations

import fnmatch
import importlib
import importlib.metadata
import re
from itertools import combinations
from pathlib import Path

import pytest

from promptforge import files as _shipped
from promptforge.yaml_reader import load_yaml

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
    r"gpt-6-cyber|gpt-rosalind-research|gpt-daybreak-.*": "their windows are not published",
    r"o[134](-.*)?": "retired by December 2026",
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
        ("gpt-6.2-astra-law", "gpt"), ("gpt-6-sol", "gpt"), ("gpt-5.6-luna", "gpt"),
        ("gpt-5.5-pro-2026-04-23", "gpt"),
        ("gpt-5", "gpt-5"), ("gpt-5.4-nano", "gpt-5.2"), ("gpt-5.6-cyber", "gpt-5.2"), ("gpt-4.1-mini", "gpt-4.1-mini"),
        ("gpt-4o-mini", "gpt-4o-mini"), ("gpt-oss-120b", "gpt-oss"), ("gemini-4-argon", "gemini"),
        ("gemini-3.8-flash", "gemini"), ("gemini-2.5-pro", "gemini-2.5"), ("gemma-4-31b-it", "gemma"),
        ("gemma-3-27b-it", "gemma-3"), ("llama-4-scout", "llama"), ("mistral-large-2512",
        "mistral"),
        ("deepseek-v4-pro", "deepseek"), ("deepseek-r1", "deepseek-r1"), ("qwen3.8-max", "qwen"),
        ("command-a-plus-05-2026", "command"),
    ],
)  # fmt: skip
def test_the_profile_for_an_llm(llm: str, profile: str) -> None:
    assert profiles_for(llm) == [profile]
