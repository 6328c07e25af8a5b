"""A file of attacks: `{"attacks": [{id, surface, kind, payload, must_hold}]}`, and what a payload stands for.

`kind` says how to read `payload`: `text` as it is, `base64` as bytes, `python` as an expression. Such a file is code:
run only one that you have read. `setup` and `http` describe in words what a program has to arrange.
"""

from __future__ import annotations

import ast
import base64
import binascii
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

MEMORY = 1 << 29
"""Bytes that the making of a payload may take."""
KINDS = ("text", "base64", "python", "setup", "http")


class NotRunError(Exception):
    """Why a case cannot be run here."""


class CorpusError(Exception):
    """Why a file is no corpus; the message names file, case and field."""


class Attack(NamedTuple):
    """One case."""

    id: str
    surface: str
    kind: str
    payload: str
    must_hold: str

    @property
    def properties(self) -> list[str]:
        """Return which of H1 to H9 must hold."""
        return sorted(set(re.findall(r"\bH[1-9]\b", self.must_hold)))

    @property
    def is_words(self) -> bool:
        """Return whether the payload describes what a program has to arrange."""
        return self.kind in ("setup", "http")

    def value(self) -> Any:
        """Return a fresh value of the payload. Raises `NotRunError`."""
        if self.is_words or self.kind == "text":
            return self.payload
        try:
            if self.kind == "base64":
                return base64.b64decode(self.payload, validate=True)
            with _little_memory():
                return eval(self.payload, {})
        except MemoryError:
            raise NotRunError(f"the payload alone takes more than {MEMORY >> 20} MiB") from None
        except Exception as error:
            raise NotRunError(f"the payload is no {self.kind}: {type(error).__name__}") from None

    def repeated(self) -> tuple[str, int] | None:
        """Return the text and the number of a payload `'text' * number` that is larger than a value
        may be.
        """
        if self.kind != "python":
            return None
        try:
            made = ast.parse(self.payload, mode="eval").body
        except SyntaxError:
            return None
        if not (isinstance(made, ast.BinOp) and isinstance(made.op, ast.Mult)):
            return None
        sides = [side.value for side in (made.left, made.right) if isinstance(side, ast.Constant)]
        text = next((side for side in sides if isinstance(side, str)), "")
        number = next((side for side in sides if isinstance(side, int)), 0)
        return (text, number) if len(text) * number > MEMORY // 4 else None


def listed(path: Path, key: str, expected: str) -> list[Any]:
    """Return the list in a file of JSON, bare or under `key`. Raises `CorpusError`."""
    try:
        given = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise CorpusError(f"{path}: cannot be read as JSON: {error}") from None
    found = given.get(key) if isinstance(given, dict) else given
    if not isinstance(found, list):
        raise CorpusError(f"{path}: expected {expected}")
    return found


def read(path: Path) -> list[Attack]:
    """Return the cases of a file. Raises `CorpusError`."""
    cases = listed(
        path, "attacks", '{"attacks": [{"id", "surface", "kind", "payload", "must_hold"}]}'
    )
    attacks = [_attack(case, f"{path}: case {number}") for number, case in enumerate(cases, 1)]
    ids = [attack.id for attack in attacks]
    if twice := next((name for name in ids if ids.count(name) > 1), None):
        raise CorpusError(f"{path}: two cases have the id {twice!r}")
    return attacks


def _attack(case: Any, where: str) -> Attack:
    if not isinstance(case, dict):
        raise CorpusError(f"{where} is no object")
    for field in Attack._fields:
        if not isinstance(case.get(field), str):
            raise CorpusError(f"{where} ({case.get('id', 'without id')}): {field} must be a text")
    attack = Attack(**{field: case[field] for field in Attack._fields})
    if attack.kind not in KINDS:
        raise CorpusError(
            f"{where} ({attack.id}): the kind {attack.kind!r} is none of {', '.join(KINDS)}"
        )
    if attack.kind == "base64":
        try:
            base64.b64decode(attack.payload, validate=True)
        except binascii.Error:
            raise CorpusError(f"{where} ({attack.id}): the payload is no base64") from None
    if not attack.properties:
        raise CorpusError(f"{where} ({attack.id}): must_hold names none of H1 to H9")
    return attack


@contextmanager
def _little_memory() -> Iterator[None]:
    try:
        import resource
    except ImportError:
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = Path("/proc/self/statm")
    taken = int(pages.read_text().split()[0]) * resource.getpagesize() if pages.exists() else 0
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
