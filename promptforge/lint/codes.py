"""Explanations of every code that promptforge prints; their texts stand in `codes.yaml`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ..yaml_reader import load_yaml

_FILE = Path(__file__).with_name("codes.yaml")


class Code(NamedTuple):
    """The explanation of one code."""

    severity: str
    """`error`, `warning` or `note`, of a finding of `check`. A rendering may say more or less."""
    title: str
    why: str
    example: str
    way_out: str


@cache
def _load() -> dict[str, Code]:
    # 680 lines of YAML take 40 ms, so no rendering and no import may come here.
    values = load_yaml(_FILE.read_text(encoding="utf-8"), str(_FILE))
    return {code: Code(**fields) for code, fields in values.items()}


class _Codes(Mapping[str, Code]):
    """The codes in order, read from their file at the first question."""

    def __getitem__(self, code: str) -> Code:
        return _load()[code]

    def __iter__(self) -> Iterator[str]:
        return iter(_load())

    def __len__(self) -> int:
        return len(_load())


CODES = _Codes()


def explain_code(code: str) -> str:
    """Return the explanation of a code with an example and the way out, in some lines."""
    rule = CODES[code]
    example = "\n".join(f"    {line}" for line in rule.example.split("\n"))
    return (
        f"{code} ({rule.severity}): {rule.title}\n\n{rule.why}\n\n"
        f"Example:\n{example}\n\nWay out: {rule.way_out}\n"
    )
