"""Odd counters, options and queries together: a result comes out, or a `PromptForgeError`.

The counters are of the kind that a user may write: they count nothing, fall as a text grows, jump,
lie or fail. Options with a fixed choice are drawn from their own types, so a new one takes part.
"""

from __future__ import annotations

import math
import random
import traceback
import typing
import zlib
from collections import Counter
from collections.abc import Callable
from typing import Any

import promptforge as pf
from promptforge.config.options import Options
from promptforge.syntax.syntaxes import FORMAT_EXTENSIONS

from .report import Report


def _fail(text: str) -> int:
    raise ZeroDivisionError("a counter of the user's own")


COUNTERS: dict[str, Callable[[str], Any]] = {
    "nothing": lambda text: 0,
    "one": lambda text: 1,
    "one, or none": bool,
    "characters": len,
    "words": lambda text: len(text.split()),
    "lines": lambda text: text.count("\n"),
    "falling": lambda text: max(0, 500 - len(text)),
    "by chance": lambda text: zlib.crc32(text.encode("utf-8", "replace")) % 50,
    "jumping": lambda text: 10**6 * (len(text) % 7 == 3),
    "huge": lambda text: len(text) << 80,
    "odd lengths alone": lambda text: len(text) * (len(text) % 2),
    "a float": lambda text: len(text) / 4,
    "below nothing": lambda text: -len(text),
    "not a number": lambda text: math.nan,
    "failing": _fail,
}
"""What is counted → the counter."""
_WORDS = [
    "needle",
    "hay",
    "straw",
    "tar",
    "--verbose",
    "def",
    "main",
    "Σ",
    "漢字",
    "é",
    "👨\u200d👩",
    "T1003",
    "''",
]
_LINES = (
    *("", " ", "\t", "# Heading", "- needle", "1. hay", "def needle(x):", "    return x", "NAME"),
    *("```", "Traceback (most recent call last):", '  File "a.py", line 1, in f', "ValueError: x"),
    *('{"a": [1, 2]}', "<p>needle</p>", "a: b", "| a | b |", ">>> needle()", "tar(1) [man_page]"),
    *("\u2028", "\x00", "\ud800", "Human: needle?", "2026-01-01 ERROR needle"),
)
KINDS = (
    *("text", "document", "code", "function", "error", "man_page", "mitre_attack", "repl-history"),
    *("log", "diff", "message", "custom", "\u3000", ""),
)
LANGUAGES = ("python", "json", "yaml", "markdown", "html", "csv", "C#", "none", "")
QUERIES: tuple[object, ...] = (
    *("", " ", "needle", "needle hay", "?", "漢字", "def main", "e\u0301", "needle " * 400),
    *(("needle", "hay"), (), ("", "needle")),
)
NUMBERS: dict[str, tuple[object, ...]] = {
    "max_tokens": (0, 1, 5, 30, 200, 5_000, 10**24, None),
    "max_chars": (0, 1, 60, 900, None),
    "max_items": (0, 1, 3, None),
    "item_max_chars": (0, 1, 40, None),
    "min_score": (0.0, 0.5, 1.0, None),
    "min_worth": (0.0, 0.5, 1.0, None),
    "max_age": (0, 1, 30, 10**24, None),
    "explicit_share": (0.0, 0.3, 1.0),
    "context_window": (0, 100, 10_000, None),
    "reserve": (0, 50, None),
    "group_by": ("file", "kind", "category", "none", "origin", "team"),
    "separator": ("", "\n", "---", "{needle}", None),
    "header": ("", "# needle", "\n", None),
    "footer": ("", "needle", None),
    "marker": ("", "…", "needle", "[cut]"),
    "fence_language": ("python", None),
    "paths": ("*.py", "!*", None),
    "kinds": ("code", ("text", "man_page"), None),
    "languages": ("python", None),
}
"""Options of open types → values for them."""
FORMATS = tuple(FORMAT_EXTENSIONS)
LAYOUTS = ("chunks", "chunks-compact", "context", "knowledge", "entities", "documents")


def run(cases: int, seed: int = 1) -> Report:
    """Render so many cases; everything but `PromptForgeError` that comes out breaks the promise."""
    report = Report("options", cases, seed)
    seen: Counter[str] = Counter()
    for number in range(cases):
        case = make(seed, number)
        try:
            text = pf.render(case["items"], tokenizer=_Counter(case["counter"]), **case["options"])
            seen["rendered"] += 1
            seen["not empty"] += not text.is_empty
        except pf.PromptForgeError as error:
            seen[f"refused: {type(error).__name__}"] += 1
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            said = f"{type(error).__name__} at {place.filename}:{place.lineno}: {error}"
            report.broken.append({"promise": said, "case": number, **case})
    report.figures |= dict(sorted(seen.items()))
    return report


class _Counter:
    """A tokenizer that counts as one of `COUNTERS` does."""

    def __init__(self, name: str) -> None:
        self.name, self.count = name, COUNTERS[name]


def make(seed: int, number: int) -> dict[str, Any]:
    """Return a case: items, options, and the name of a counter."""
    r = random.Random(f"{seed}.{number}")
    options: dict[str, Any] = {"format": r.choice(FORMATS), "layout": r.choice(LAYOUTS)}
    if r.random() < 0.7:
        options["query"] = r.choice(QUERIES)
    choices = {**_choices(), **NUMBERS}
    for name in r.sample(sorted(choices), r.randint(0, 9)):
        options[name] = r.choice(choices[name])
    items = [_item(r) for _ in range(r.choice((0, 1, 1, 2, 5, 12)))]
    # The last ones make errors of most cases: they come seldom.
    few = [*COUNTERS][:11] if r.random() < 0.9 else [*COUNTERS]
    return {"counter": r.choice(few), "options": options, "items": items}


def _choices() -> dict[str, tuple[object, ...]]:
    """Return the options of yes and no, and those with a fixed choice, with their values."""
    found: dict[str, tuple[object, ...]] = {}
    for name, hint in typing.get_type_hints(Options).items():
        kinds = typing.get_args(hint) if type(None) in typing.get_args(hint) else (hint,)
        for kind in (hint, *kinds):
            if kind is bool:
                found[name] = (False, True)
            elif typing.get_origin(kind) is typing.Literal and name != "format":
                found[name] = typing.get_args(kind)
    return found


def _item(r: random.Random) -> dict[str, Any]:
    # Only of a text of many parts, in little room, are passages weighed by their costs.
    texts = r.choice((1, 1, 1, 4, 15))
    item: dict[str, Any] = {"content": "\n\n".join(_text(r) for _ in range(texts))}
    for name in ("expanded", "summary"):
        if r.random() < 0.25:
            item[name] = r.choice((_text(r), "", f"before\n{item['content']}\nafter"))
    if r.random() < 0.1:
        del item["content"]
        item.setdefault("summary", "")
    fields: dict[str, Callable[[], object]] = {
        "name": lambda: r.choice((*_WORDS, "", " ", "a\nb")),
        "kind": lambda: r.choice(KINDS),
        "path": lambda: r.choice(("a.py", "b/c.md", "", " ", "x\x00y", "d.json")),
        "language": lambda: r.choice(LANGUAGES),
        "url": lambda: r.choice(("https://a.b/c", "javascript:x", "", "\u3000")),
        "score": lambda: r.choice((0.0, 1.0, -3.5, 1e308, 0.5, 5e-324)),
        "id": lambda: r.choice(("1", "", "x" * 300)),
        "origin": lambda: r.choice(("explicit", "similarity")),
        "required": lambda: True,
        "metadata": lambda: {
            "team": r.choice(("a", None, 3, ["x"])),
            "commits_ago": r.choice((0, -1, 7)),
        },
    }
    for name in r.sample(sorted(fields), r.randint(0, 5)):
        item[name] = fields[name]()
    if r.random() < 0.3:
        item["start_line"] = r.choice((0, 1, 7))
        item["end_line"] = item["start_line"] + r.choice((0, 3))
    return item


def _text(r: random.Random) -> str:
    if r.random() < 0.12:
        return r.choice(("", " ", "\n", "\n\n\n", "needle", "\u200b"))
    lines = (
        r.choice(_LINES) if r.random() < 0.4 else " ".join(r.choices(_WORDS, k=r.randint(1, 12)))
        for _ in range(r.choice((1, 3, 8, 40)))
    )
    return r.choice(("\n", "\n", "\r\n", ". ")).join(lines)
