"""Equal bytes on each Python: its version of Unicode changes no text and no account of it.

Characters of every version are mixed into contents, names, kinds and queries. `PYTHONS` names the
other interpreters, with colons between; each needs the core dependencies alone:

    PYTHONS=/a/bin/python3.12:/b/bin/python3.13 python -m tests.campaigns unicode --cases 5000
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
from pathlib import Path
from typing import Any

import promptforge as pf
from promptforge.syntax.syntaxes import FORMAT_EXTENSIONS
from promptforge.text.characters import is_later

from .report import Report

ROOT = Path(__file__).parent.parent.parent
ADDED = [
    *("\U0001fae8", "\U00011f02", "\U00011f50", "\U0001e4d0", "\U0001e4f1", "\U0001e4ec"),
    *("\U00031350", "\U0002ebf0", "\U0001e030", "\U0001e06d", "\u0cf3", "\u0ece", "\u2ffc"),
    *("\u31ef", "\U00010efd", "\U0001123f", "\U0001d2c0", "\U0001df25", "\U0001b132"),
    *("\ua7cb", "\u1c89", "\u0897", "\U00010d4a", "\U00016d40", "\U0001cc00", "\ua7ce", "\u088f"),
]
"""Letters, digits, marks and signs of Unicode 15.0, 15.1, 16.0 and 17.0."""
_KNOWN = [*"aZ9 .:#-_|\n\t", "é", "漢", "e\u0301", "\u10fc", "\u4e24", "ⓢ", "Ｓ", "ѕ", "\U0001f600"]
_LINES = (
    *("Source: man page 'tar'", "tar(1) [man_page]", "def needle(x):", "# Heading", "1. item"),
    *("import needle", "&copy;", "(a) b", "ERROR needle failed", "Dr. Who went. Then he came."),
    *("Traceback (most recent call last):", "needle = 1", "a: b", "<p>needle</p>", "-v, --verbose"),
)
_KINDS = ("text", "document", "code", "man_page", "error", "log", "message", "custom")
_LAYOUTS = ("chunks", "knowledge", "entities", "context", "documents", "chunks-compact")
_FORMATS = tuple(FORMAT_EXTENSIONS)
_TOKENIZERS = ("o200k_base", "approximate-words", "approximate-characters", "characters")


def run(cases: int, seed: int = 1) -> Report:
    """Render so many cases here and on each other Python; every difference breaks the promise."""
    report = Report("unicode", cases, seed)
    own = digests(cases, seed)
    report.figures["texts with a later character"] = sum(_is_mixed(seed, n) for n in range(cases))
    others = [name for name in os.environ.get("PYTHONS", "").split(os.pathsep) if name]
    report.figures["other Pythons"] = len(others)
    for python in others:
        theirs = _ask(python, cases, seed)
        report.broken += [
            {"promise": "equal bytes", "python": python, "case": number, **make(seed, number)}
            for number in range(cases)
            if own[number] != theirs[number]
        ]
    return report


def _ask(python: str, cases: int, seed: int) -> list[str]:
    script = f"from tests.campaigns.unicode import *; print(json.dumps(digests({cases}, {seed})))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run(
        [python, "-c", script], capture_output=True, check=True, cwd=ROOT, env=environment
    )
    found: list[str] = json.loads(ran.stdout)
    return found


def digests(cases: int, seed: int) -> list[str]:
    """Return the hash of the text and the account of each case."""
    return [_digest(**make(seed, number)) for number in range(cases)]


def _digest(items: list[dict[str, Any]], options: dict[str, Any]) -> str:
    try:
        result = pf.render(items, **options)
    except pf.PromptForgeError as error:
        return f"{type(error).__name__}: {error}"
    shown = [(i.id, i.status, i.reason, i.form, i.text) for i in result.items]
    said = [(d.code, d.severity, d.item) for d in result.warnings]
    account = json.dumps([result.text, result.tokens, shown, said])
    return hashlib.sha256(account.encode()).hexdigest()


def make(seed: int, number: int) -> dict[str, Any]:
    """Return a case: items and options."""
    r = random.Random(f"{seed}.{number}")
    items = [_item(r) for _ in range(r.choice((1, 2, 4)))]
    options: dict[str, Any] = {
        "layout": r.choice(_LAYOUTS),
        "format": r.choice((*_FORMATS, "plain")),
        "tokenizer": r.choice(_TOKENIZERS),
        "max_tokens": r.choice((30, 80, 200, 4_000)),
        "group_by": r.choice(("kind", "file", "team", "none")),
        "packing": r.choice(("score", "repository", "value")),
        "framing": r.choice(("auto", "auto", "tagged")),
    }
    if r.random() < 0.6:
        options["query"] = _mixed(r, "needle")
    return {"items": items, "options": options}


def _is_mixed(seed: int, number: int) -> bool:
    return any(map(is_later, json.dumps(make(seed, number), ensure_ascii=False)))


def _item(r: random.Random) -> dict[str, Any]:
    lines = [_mixed(r, r.choice(_LINES)) for _ in range(r.choice((1, 4, 30)))]
    item: dict[str, Any] = {"content": r.choice(("\n", "\n\n", " ")).join(lines)}
    item["kind"] = r.choice((*_KINDS, _mixed(r, "own kind")))
    item["name"] = r.choice(("tar", _mixed(r, "tar")))
    if r.random() < 0.4:
        item["path"] = r.choice(("a.py", "b.md", "c.log", _mixed(r, "d.txt").replace("\n", "")))
    item["metadata"] = {"team": _mixed(r, "team")}
    return item


def _mixed(r: random.Random, text: str) -> str:
    """Return a text with characters of many versions amid it."""
    chars = [*text]
    for _ in range(r.choice((0, 1, 1, 3))):
        chars.insert(r.randint(0, len(chars)), r.choice(r.choice((ADDED, ADDED, _KNOWN))))
    if r.random() < 0.05:  # any character at all
        chars.append(chr(r.choice((r.randrange(0xD800), r.randrange(0xE000, 0x110000)))))
    return "".join(chars)
