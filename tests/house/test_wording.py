"""What users read keeps to the trade's words: help, codes, messages, READMEs and guide.

The table has the patterns that made sentences hard to read, and what to write. Texts in code blocks
and between backticks are programs, not sentences.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

import click
import pytest
from module_trees import nodes_of
from places import ROOT

from promptforge.cli.main import COMMANDS, command_group
from promptforge.yaml_reader import load_yaml

WORDS = {
    # The actor and the action come first.
    r"(?:^|[.:;] )(?:Of|In place of|For several|For want of) [^.;:]{1,60},": "begin with the actor and the action",
    r"\b(?:is|are|was) said\b(?! in)": "name who says it: a note says",
    r"\b(?:in vain|more or less|as far as|for want of|at hand|of its own accord)\b": "the plain statement",
    r"\bmore of these\b|\bof these\b$": "the number, and -v",
    # The trade's words.
    r"\bholds? the text of another\b|\bheld by another\b": "duplicate",
    r"\bleads? out of the (?:workspace|folder)\b": "is outside the workspace",
    r"\bcannot be seen\b": "invisible",
    r"\bno text but\b": "a binary file",
    r"\blink that leads nowhere\b": "broken link",
    r"\b(?:the )?templates' own text\b|\btemplate's own text\b": "the text of the templates",
    r"\bless where texts meet\b": "joins",
    r"\bpattern as in \.gitignore\b": "gitignore pattern",
    r"\bturns? the meaning round\b": "reverse",
    r"\bdraws? on\b": "includes",
    r"\bare the most\b|\bat the most\b|\bthe most tokens\b": "at most",
    r"\bnothing called\b": 'no ... named "x"',
    r"\bthese are now there\b": "created N files",
    r"\bis to be done\b": "nothing to do",
    r"\bbeside each other\b": "next to each other",
    r"\bpacked of\b": "packed from",
    r"\bgive (?=`?--)": "use --flag",
    r"(?<![Tt]here )\bis no (?!longer\b|such\b|more\b|name\b|reason\b|place\b)[a-z`]": "is not a …",
    r"\bno (?:valid|UTF-8)\b": "not valid, not UTF-8",
    r"\ball the same\b": "anyway",
    r"\bmends? (?:it|its|the)\b": "fix",
    r"(?:^|[;:.,] )say (?:`|\"|none|the (?:same|id)|[a-z]+_[a-z]+:)": "set, use",
    r"\bin turn, in a circle\b|\bin a circle\b": "circular",
    r"\bhad to be made\b": "was converted to",
    # American spelling.
    r"\b(?:(?:col|fav|behavi|neighb)ours?|licence|grey|centre|misspelt|spelt)\b": "American spelling",
}
Texts = Iterator[tuple[str, str]]
MESSAGE_NAMES = {"message", "hint", "said", "about", "way_out", "problem", "reason"}


def told(node: ast.expr) -> str:
    """Return the words of an expression; a value in braces is `…`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values
        )
    if isinstance(node, ast.BinOp):
        return told(node.left) + told(node.right)
    return ""


def messages() -> Iterator[tuple[str, str]]:
    """Yield the messages that are raised, noted or printed in Python, with their places."""
    for path in sorted((ROOT / "promptforge").rglob("*.py")):
        for node in nodes_of(path):
            found: list[ast.expr] = []
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                if name.endswith("Error") or name in ("add", "print_message", "fail", "Note"):
                    found = [*node.args, *(word.value for word in node.keywords)]
            elif isinstance(node, ast.Assign | ast.AugAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if any(isinstance(each, ast.Name) and each.id in MESSAGE_NAMES for each in targets):
                    found = [node.value]
            for each in found:
                yield f"{path.relative_to(ROOT)}:{each.lineno}", told(each)


def helps() -> Iterator[tuple[str, str]]:
    context = click.Context(command_group)
    for name in COMMANDS:
        command = command_group.get_command(context, name)
        assert command is not None
        yield name, command.help or ""
        for parameter in command.params:
            yield f"{name} {parameter.name}", getattr(parameter, "help", None) or ""


def codes() -> Iterator[tuple[str, str]]:
    path = ROOT / "promptforge" / "lint" / "codes.yaml"
    for code, rule in load_yaml(path.read_text(encoding="utf-8"), "codes").items():
        for key, text in rule.items():
            yield f"{code} {key}", text


def pages() -> Iterator[tuple[str, str]]:
    found = [
        ROOT / "README.md",
        *ROOT.glob("p*/**/README.md"),
        ROOT / "templates" / "README.md",
    ]
    for path in [*found, *ROOT.glob("promptforge/guide/*.md")]:
        text = re.sub(r"(?ms)^ *(`{3,}).*?^ *\1$", "", path.read_text(encoding="utf-8"))
        for number, line in enumerate(text.splitlines(), 1):
            yield f"{path.relative_to(ROOT)}:{number}", line


@pytest.mark.slow
@pytest.mark.parametrize("texts", [messages, helps, codes, pages], ids=lambda each: each.__name__)
def test_users_read_the_words_of_the_trade(texts: Callable[[], Texts]) -> None:
    wrong = []
    for place, text in texts():
        bare = re.sub(r"`[^`]*`", "`", text)
        for pattern, better in WORDS.items():
            if match := re.search(pattern, bare):
                wrong.append(f"{place}: {match[0]!r}; write: {better}")
    assert not wrong, "\n".join(wrong)
