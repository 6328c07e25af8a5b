"""Each folder of `prompts/` is one prompt: `prompt.json` in; the text, or the request of the
provider's call, out.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from places import GOLDEN

import promptforge as pf
from promptforge.config.profiles import find_profiles

CASES = sorted(path.parent for path in (GOLDEN / "prompts").glob("*/prompt.json"))


def made(case: Path) -> pf.Prompt:
    options: dict[str, Any] = json.loads((case / "prompt.json").read_text("utf-8"))
    return pf.Renderer().prompt(options.pop("items", ()), **options)


@pytest.mark.parametrize("case", CASES, ids=lambda path: str(path.name))
def test_prompt(case: Path, update_golden: bool) -> None:
    prompt = made(case)
    whole = prompt.to == "text"
    text = prompt.text if whole else json.dumps(prompt.request, indent=2, ensure_ascii=False) + "\n"
    expected = case / ("expected.txt" if whole else "expected.json")
    if update_golden:
        expected.write_bytes(text.encode())
    assert text == expected.read_bytes().decode()
    assert {d.severity for d in prompt.warnings} <= {"info"} or case.name == "forged-frame"


def test_every_profile_has_its_prompt() -> None:
    used = {json.loads((case / "prompt.json").read_text("utf-8"))["profile"] for case in CASES}
    assert used == {name for name, _, _ in find_profiles()}


# --- what the vendors' guides say of the layout ---


def texts(name: str) -> list[tuple[str, str]]:
    """Return role and text of each block of a golden prompt, in order."""
    prompt = made(GOLDEN / "prompts" / name)
    found = [("system", block["text"]) for block in prompt.request.get("system", ())]
    found += [
        ("system", p["text"])
        for p in prompt.request.get("config", {}).get("system_instruction", {}).get("parts", ())
    ]
    for message in prompt:
        content: Any = message.get("content", message.get("parts"))
        blocks = [{"text": content}] if isinstance(content, str) else content
        found += [(message["role"], block["text"]) for block in blocks]
    return found


def place(found: list[tuple[str, str]], text: str) -> list[int]:
    whole = "\n".join(text for _, text in found)
    return [n for n in range(len(whole)) if whole.startswith(text, n)]


def test_claude_has_its_documents_above_the_question_in_its_own_tags() -> None:
    found = texts("claude")
    assert [role for role, _ in found] == ["system", "user", "assistant", "user", "user", "user"]
    assert found[3][1].startswith(
        '<documents>\n<document index="1">\n<source>docs/guide.md</source>\n<document_content>\n'
    )
    assert found[4][1] == "Answer in one sentence. Use <b> for names.", (
        "what the caller wrote is left as it is"
    )
    assert found[-1] == ("user", "Is greet() polite?")
    quotes = "\n".join(text for _, text in texts("claude-quotes"))
    assert (
        quotes.index("</documents>")
        < quotes.index("<quotes> tags")
        < quotes.index("Answer in one sentence")
    )


def test_gpt_has_a_developer_and_the_context_near_the_end() -> None:
    found = texts("gpt")
    assert found[0] == ("developer", "You answer about this project.")
    assert (
        place(found, "Answer in one")[0]
        < place(found, "Hello, what")[0]
        < place(found, "## Document 1")[0]
    )
    old = texts("gpt-4.1")
    assert old[0][0] == "system"
    before, after = place(old, "Answer in one")
    assert before < place(old, "## Document 1")[0] < after < place(old, "Is greet() polite?")[0]


def test_gemini_has_the_context_above_the_question_and_that_last() -> None:
    found = texts("gemini")
    assert (
        place(found, "<documents>")[0]
        < place(found, "Answer in one")[0]
        < place(found, "Is greet() polite?")[0]
    )
    assert found[-1][1] == "Is greet() polite?"


@pytest.mark.parametrize("name", ["gemma-3", "deepseek-r1"])
def test_llms_without_a_system_turn_have_it_open_the_users_first(name: str) -> None:
    found = texts(name)
    assert {role for role, _ in found} == {"user", "assistant"}
    assert found[0][1].startswith("You answer about this project.\n\n")


def test_deepseek_has_its_files_right_above_the_question_and_its_own_citations() -> None:
    role, text = texts("deepseek")[-1]
    assert role == "user" and text.startswith("[file name]: docs/guide.md\n[file content begin]\n")
    assert (
        text.index("[file content end]")
        < text.index("[citation:X]")
        < text.index("Is greet() polite?")
    )
    assert text.endswith("\n\nIs greet() polite?")
