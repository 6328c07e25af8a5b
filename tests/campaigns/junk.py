"""Long texts of a few pieces repeated: no kind, language or query makes one take seconds, or end
the process.

Each text is rendered in a child process, which a grammar in C may bring down. The promises: a
result within the budget; nothing but `PromptForgeError` comes out; at most two seconds of processor
time, and one more a megabyte.
"""

from __future__ import annotations

import multiprocessing
import random
import time
from collections import Counter
from multiprocessing.connection import Connection
from typing import Any

import promptforge as pf
from promptforge.trimming.kinds import TRIMMERS_BY_KIND, TRIMMERS_BY_LANGUAGE
from promptforge.trimming.syntax_tree import GRAMMARS

from .report import Report

PIECES = (
    "`", "```", "~~~", "#", "-", "1.", ">", "*", "_", "[", "]", "(", ")", "](", "<", "<a>", "</a>", "<!--", "-->",
    "&", "\\", "{", "}", '"', "'", ":", ",", "a", "word", "def f(x):", "class A:", "/*", "*/", "//", "'''", '"""',
    "Traceback (most recent call last):", "ValueError: x", "Caused by:", ">>>", "...", "$", "In [1]:", "Out[1]:",
    "NAME", "SYNOPSIS", "OPTIONS", "-a, --all", "T1003.001", "(Citation: x)", "[x](https://y)", '{"a":', "[1,",
    "null", "\x00", "\u200b", "\u202e", "\xe9", "\u6f22", "\U0001f600", "\ud800", "=", "==", "+", "-----", "%",
    "$$", "\\(", "0", "9.", "!", "?", ". ", "\u2026", "|", "| a", "Human:", "<|im_start|>",
    'File "a.py", line 1, in f', "at a.b.c(D.java:1)", "<<EOF", "${", "#{", 'R"(', "<<<X",
)  # fmt: skip
ENDS = ("", "", " ", "\t", "    ", "\n", "\n\n", "\r", "\r\n", "\x0c")
SIZES = (2_000, 30_000, 200_000, 1_000_000)
KINDS = ("document", "function", "text", "message", "custom", *TRIMMERS_BY_KIND)
LANGUAGES = ("python", "html", "yaml", *TRIMMERS_BY_LANGUAGE, *GRAMMARS)
QUERIES = ("word a", "what is def f", "T1003.001 null", "(", "漢")
PACKINGS = ("score", "score", "repository", "value", "even", "longest_first", "drop_last")
SECONDS, MORE = 2.0, 1e-6
"""Seconds of processor time for a text, and for each of its characters."""
STUCK = 120
"""Seconds by the clock after which a case is broken off."""


def run(cases: int, seed: int = 1, *, largest: int = SIZES[-1], seconds: float = SECONDS) -> Report:
    """Render so many texts, of up to `largest` characters, `seconds` of processor time for each and
    MORE.
    """
    report = Report("junk", cases, seed)
    seen: Counter[str] = Counter()
    slowest = 0.0
    child = _Child()
    for number in range(cases):
        case = make(seed, number, largest)
        found = child.render(case)
        said = {key: value for key, value in case.items() if key != "text"} | {"case": number}
        if isinstance(found, str):
            report.broken.append({"promise": found, **said, "text": case["text"][:200]})
            child = _Child()
            continue
        taken, tokens = found
        slowest = max(slowest, taken)
        seen["characters"] += len(case["text"])
        if taken > seconds + MORE * len(case["text"]):
            report.broken.append(
                {"promise": f"took {taken:.1f} s", **said, "text": case["text"][:200]}
            )
        if tokens > case["options"]["max_tokens"]:
            report.broken.append({"promise": "never over", **said, "text": case["text"][:200]})
    child.end()
    report.figures |= dict(seen)
    report.figures["slowest, s of processor"] = slowest
    return report


def make(seed: int, number: int, largest: int = SIZES[-1]) -> dict[str, Any]:
    """Return a case: a text, what it is said to be, and how it is to be rendered."""
    r = random.Random(f"{seed}.{number}")

    def piece() -> str:
        return r.choice(PIECES) + r.choice(ENDS)

    unit = "".join(piece() for _ in range(r.randint(1, 4)))
    size = min(r.choice(SIZES), largest)
    if r.random() < 0.3:
        text = "".join(r.choice((unit, piece())) for _ in range(min(size, 100_000) // 4))
    else:
        text = piece() + unit * (size // len(unit)) + piece()
    options: dict[str, Any] = {
        "max_tokens": r.choice((0, 20, 100, 1_000, 20_000)),
        "format": r.choice(("markdown", "xml", "json", "plain")),
        "packing": r.choice(PACKINGS),
        "framing": r.choice(("auto", "auto", "auto", "tagged")),
    }
    if r.random() < 0.5:
        # Half of a surrogate pair in a query is refused; in a text it is not.
        said = unit[:50].encode("utf-8", "replace").decode()
        options["query"] = r.choice((*QUERIES, said))
    return {
        "text": text,
        "kind": r.choice(KINDS),
        "language": r.choice((None, *LANGUAGES)),
        "options": options,
    }


class _Child:
    """A process that renders."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def render(self, case: dict[str, Any]) -> tuple[float, int] | str:
        """Return seconds of processor time and tokens, or what went wrong, after which there is no
        process.
        """
        try:
            self._pipe.send(case)
            if self._pipe.poll(STUCK):
                found: tuple[float, int] | str = self._pipe.recv()
                return found
        except (EOFError, OSError):
            self._process.join()
            return f"ended the process, exit code {self._process.exitcode}"
        self._process.kill()
        return f"over {STUCK} s"

    def end(self) -> None:
        self._pipe.close()
        self._process.join()


def serve(pipe: Connection) -> None:
    """Render each case that comes."""
    pf.render(
        [{"content": "x y"}, {"content": "y"}], query="y", max_tokens=5
    )  # imports and tables: of no case
    while True:
        try:
            case = pipe.recv()
        except EOFError:
            return
        item = {"content": case["text"], "kind": case["kind"]}
        if case["language"]:
            item["language"] = case["language"]
        start = time.process_time()
        try:
            result = pf.render([item, {"content": "good", "kind": "document"}], **case["options"])
            pipe.send((time.process_time() - start, result.tokens))
        except pf.PromptForgeError as error:
            pipe.send(f"refused: {error}")
            return
        except BaseException as error:
            pipe.send(f"{type(error).__name__} came out: {str(error)[:200]}")
            return
