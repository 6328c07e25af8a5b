"""The shipped look of an ATT&CK technique: a list without words prints no line."""

import pytest

import promptforge as pf

WORDS = {
    "markdown": "- Related Tools: ",
    "plain": "Related Tools: ",
    "xml": "<related_tools>",
    "json": '"tools": ',
    "yaml": "tools: ",
}


@pytest.mark.parametrize(("format_name", "word"), WORDS.items())
@pytest.mark.parametrize(("tools", "shown"), [("", 0), ([""], 0), ([], 0), (["tar"], 1), (7, 1)])
def test_tools_are_printed_where_they_hold_a_word(
    format_name: str, word: str, tools: object, shown: int
) -> None:
    item = pf.Item(
        kind="mitre_attack",
        content="Adversaries may stage data.",
        metadata={"technique_id": "T1074", "tools": tools},
    )
    text = pf.Renderer().render([item], layout="knowledge", format=format_name).text
    assert text.count(word) == shown
