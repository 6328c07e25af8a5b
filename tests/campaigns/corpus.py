"""A file of attacks: `{"attacks": [{id, surface, kind, payload, must_hold}]}`, and what a payload stands for.

`kind` says how to read `payload`: `text` as it is, `base64` as bytes, `python` as an expression. Such a file is code:
run only one that you have read. `setup` and `http` describe in words what a program has to arrange.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

MEMORY = 1 << 29
"""Bytes that the making of a payload may take."""


class NotRunError(Exception):
    """Why a case cannot be run here."""


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

    def value(self) -> Any:
        """Return a fresh value of the payload. Raises `NotRunError`."""
        if self.kind == "text":
            return self.payload
        if self.kind == "base64":
            return base64.b64decode(self.payload)
        if self.kind != "python":
            raise NotRunError(f"a {self.kind} in words")
        try:
            with _little_memory():
                return eval(self.payload, {})
        except MemoryError:
            raise NotRunError(f"the payload alone takes more than {MEMORY >> 20} MiB") from None


def read(path: Path) -> list[Attack]:
    """Return the cases of a file."""
    attacks = json.loads(path.read_text(encoding="utf-8"))["attacks"]
    return [Attack(**{field: str(attack[field]) for field in Attack._fields}) for attack in attacks]


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
