"""Items to pack: real code and prose of the Python that runs this, cut at seeded random places."""

from __future__ import annotations

import ast
import itertools
import os
import random
import re
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

SEED = 7
PROSE = 0.3
"""Share of the items that are prose."""
READ = 20
"""Modules whose docstrings are read as prose."""

# What YAML (prompt-poet's parts) cannot hold, and fences that would have to be longer than three
# backticks.
_ODD = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff]|```+")
_MARK = re.compile(r"[Pp]iece (\d+) of run \d+")
_PARAGRAPHS = re.compile(r"\n\s*\n")
_LIBRARY = sysconfig.get_paths()["stdlib"]
_APART = {"site-packages", "dist-packages", "__pycache__", "test", "tests", "idle_test"}


class Piece(NamedTuple):
    """One item, as plain as can be."""

    kind: str
    path: str | None
    name: str | None
    start: int | None
    end: int | None
    language: str
    score: float
    content: str

    @property
    def title(self) -> str:
        """What its heading says."""
        return self.path or self.name or self.kind

    def fields(self) -> dict[str, Any]:
        """Return it as keywords of `promptforge.Item`, and as a record."""
        found = {
            "kind": self.kind,
            "path": self.path,
            "name": self.name,
            "start_line": self.start,
            "end_line": self.end,
            "language": self.language,
            "score": self.score,
            "content": self.content,
        }
        return {key: value for key, value in found.items() if value is not None}


def make(count: int, seed: int = SEED) -> list[Piece]:
    """Return `count` pieces in random order, equal on every machine with the same Python."""
    rng = random.Random(seed)
    prose = round(count * PROSE)
    code, texts = _code(rng), _prose(rng)
    pieces = [next(texts) if i < prose else next(code) for i in range(count)]
    rng.shuffle(pieces)
    return pieces


def make_touching(count: int, seed: int = SEED) -> list[Piece]:
    """Return `count` chunks of real files that touch, as every chunker cuts them; random scores."""
    rng = random.Random(seed)
    pieces: list[Piece] = []
    for round_ in itertools.count():
        for path in modules():
            lines = _text(path).splitlines()
            name = f"v{round_}/{path.relative_to(_LIBRARY).as_posix()}"
            size = rng.randint(15, 45)
            for start in range(0, len(lines), size):
                part = lines[start : start + size]
                place = (name, None, start + 1, start + len(part))
                text = "\n".join(part)
                pieces.append(Piece("code", *place, "python", rng.random(), text))
            if len(pieces) >= count:
                del pieces[count:]
                rng.shuffle(pieces)
                return pieces
    raise AssertionError


def fresh(pieces: list[Piece], run: int) -> list[Piece]:
    """Return the pieces with another last line, by which no two contents are equal, nor any to one
    of another run.
    """
    found = []
    for number, piece in enumerate(pieces):
        mark = (
            f"# piece {number} of run {run}"
            if piece.kind == "code"
            else f"Piece {number} of run {run}."
        )
        found.append(piece._replace(content=f"{piece.content}\n{mark}"))
    return found


def shown(pieces: list[Piece], text: str) -> list[int]:
    """Return the indices of those `fresh` pieces whose content is whole in `text`."""
    return [
        i
        for i in sorted({int(n) for n in _MARK.findall(text)})
        if pieces[i].content.strip() in text
    ]


def read(size: int) -> str:
    """Return `size` characters of code."""
    parts: list[str] = []
    while size > 0:
        for path in modules():
            parts.append(_text(path)[:size])
            size -= len(parts[-1])
    return "".join(parts)


@cache
def modules() -> tuple[Path, ...]:
    """Return the modules of the standard library in a seeded order."""
    found: list[Path] = []
    for folder, folders, names in os.walk(_LIBRARY):
        folders[:] = sorted(set(folders) - _APART)
        found += [
            Path(folder, name)
            for name in sorted(names)
            if name.endswith(".py") and name != "topics.py"
        ]
    random.Random(SEED).shuffle(found)
    return tuple(found)


@cache
def _text(path: Path) -> str:
    return _ODD.sub("", path.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n"))


def _code(rng: random.Random) -> Iterator[Piece]:
    """Yield stretches of 5 to 60 lines that neither overlap nor touch; when all is used, again with
    other cuts.
    """
    round_ = 0
    while True:
        for path in modules():
            lines = _text(path).splitlines()
            name = path.relative_to(_LIBRARY).as_posix()
            start = rng.randrange(3)
            while start + 6 < len(lines):
                size = rng.randint(5, 60)
                content = "\n".join(lines[start : start + size]).strip("\n")
                if len(content) > 80:
                    end = start + 2 + content.count("\n")  # with the last line that `fresh` adds
                    place = f"v{round_}/{name}" if round_ else name
                    yield Piece(
                        "code", place, None, start + 1, end, "python", rng.random(), content
                    )
                start += size + 3 + rng.randrange(20)
        round_ += 1


def _prose(rng: random.Random) -> Iterator[Piece]:
    """Yield one to five paragraphs; when all is used, again with other cuts."""
    texts = list(_texts())
    rng.shuffle(texts)
    while True:
        for name, paragraphs in texts:
            start = 0
            while start < len(paragraphs):
                size = rng.randint(1, 5)
                content = "\n\n".join(paragraphs[start : start + size])
                if len(content) > 120:
                    yield Piece(
                        "document", None, name, None, None, "markdown", rng.random(), content
                    )
                start += size


def _texts() -> Iterator[tuple[str, list[str]]]:
    """Yield the language reference, the licence and docstrings: a name, and paragraphs."""
    from pydoc_data import topics

    found = {f"topic {key}": text for key, text in topics.topics.items()}
    licence = Path(_LIBRARY, "LICENSE.txt")  # where there is one
    if licence.is_file():
        found["licence"] = licence.read_text(encoding="utf-8")
    for path in modules()[:READ]:
        for node in ast.walk(ast.parse(_text(path))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (
                text := ast.get_docstring(node)
            ):
                name = node.name if not isinstance(node, ast.Module) else "module"
                found[f"{path.stem} {name}".replace("_", " ").strip()] = text
    for name, text in found.items():
        yield (
            name,
            [part.strip("\n") for part in _PARAGRAPHS.split(_ODD.sub("", text)) if part.strip()],
        )
