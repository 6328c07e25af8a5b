"""Files made from the vocabulary of options: `python -m tests.generated` writes them again.

`profiles/schema.json` is for editors of YAML, `promptforge/config/keywords.pyi` for type checkers
and editors of Python, which alone read it, the pages of `tests/reference.py` for the guide. A test
compares all of them with their source.
"""

from __future__ import annotations

import json
import sys
import typing
from pathlib import Path
from typing import Any

import msgspec

from promptforge.config.options import OPTION_VOCABULARY
from promptforge.config.profiles import profile_schema
from promptforge.config.schema import Rule, bare_type

sys.path.insert(0, str(Path(__file__).parent))  # not only under pytest

import reference

ROOT = Path(__file__).parent.parent
KEYWORDS = ROOT / "promptforge/config/keywords.pyi"
HEAD = '''# Generated from `Options` by `python -m tests.generated`.
from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict

from ..tokenizers.counters import Tokenizer
from .options import Rerank

class OptionKeywords(TypedDict, total=False):
    """Every option as a keyword; see `Options` for their meaning."""

'''
SPECIAL = {
    "tokenizer": "str | Tokenizer",
    "query": "str | Sequence[str] | None",
    "rerank": 'Literal["none", "keyword_boost", "mmr"] | Rerank | None',
    "overrides": "Mapping[str, str] | None",
    "images": "Mapping[str, Mapping[str, float | None]] | None",
    "section_budgets": "Mapping[str, Mapping[str, float | None]] | None",
    "part_budgets": "Mapping[str, Mapping[str, float | None]] | None",
}
"""Options with types that their annotations do not tell."""


def annotation(rule: Rule) -> str:
    """Return the source of a keyword's type: `int | None`."""
    if rule.name in SPECIAL:
        return SPECIAL[rule.name]
    shape = rule.shape
    if typing.get_origin(shape) is typing.Annotated:
        shape = typing.get_args(shape)[0]
    if typing.get_origin(shape) is tuple:  # any sequence, and one text for a list of one
        member = typing.get_args(shape)[0]
        source = f"{_simple(member)} | Sequence[{_simple(member)}]"
    else:
        source = _simple(shape)
    return source if rule.none is msgspec.UNSET else f"{source} | None"


def _simple(shape: Any) -> str:
    if typing.get_origin(shape) is typing.Literal:
        return _literal(typing.get_args(shape))
    return str(bare_type(shape).__name__)


def _literal(words: tuple[str, ...]) -> str:
    return f"Literal[{', '.join(map(json.dumps, words))}]"


def _line(rule: Rule) -> str:
    line = f"    {rule.name}: {annotation(rule)}\n"
    if len(line) <= 101:
        return line
    before, words = line.split("Literal[")
    words, after = words.split("]")
    wrapped = f"        {words}\n"
    if len(wrapped) > 101:  # as ruff wraps it
        wrapped = "".join(f"        {word},\n" for word in words.split(", "))
    return f"{before}Literal[\n{wrapped}    ]{after}"


def files() -> dict[Path, str]:
    """Return the generated files with their texts."""
    keywords = "".join(map(_line, OPTION_VOCABULARY.rules.values()))
    return {
        KEYWORDS: HEAD + keywords,
        ROOT / "profiles/schema.json": json.dumps(profile_schema(), indent=2) + "\n",
        **{reference.GUIDE / name: text for name, text in reference.pages().items()},
    }


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
