"""Items shortened under a random budget, in every layout, format, packing and way of trimming.

The promises: a shortened item costs less than the next longer variant, and holds at least one word
of its content. A stub is neither, and stands only where `stubs` or its packing asks for it. The
control is a beginning cut to the budget with the marker after it: short texts become dearer so.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import yaml
from unfiltered import FORMATS, LAYOUTS, PACKINGS, render

import promptforge as pf

from .report import Report

STUB_PACKINGS = ("even", "longest_first", "repository")
MARKER = "[Content truncated...]"
WORDS = ("alder", "birch", "cedar", "dogwood", "elm", "fir", "ginkgo", "hazel", "iris", "larch")
WORD = re.compile(r"\w+")
Making = Callable[[random.Random, int], str]


class Case(NamedTuple):
    """One item, the text of which is made of its kind, size and seed, and how it is shown."""

    kind: str
    size: int
    seed: int
    share: float
    """The budget, as a share of the cost of the whole text."""
    unit: str
    packing: str
    trim: str
    layout: str
    format: str
    query: bool
    longer: bool
    """It has an expanded text too."""


def _words(pick: random.Random, count: int) -> str:
    return " ".join(f"{pick.choice(WORDS)}{pick.choice(WORDS)}" for _ in range(count))


def _lines(line: Callable[[random.Random, int], str]) -> Making:
    return lambda pick, size: "\n".join(line(pick, n) for n in range(size))


def _sentence(pick: random.Random, number: int = 0) -> str:
    return f"{_words(pick, pick.randint(1, 9)).capitalize()}."


def _program(pick: random.Random, size: int) -> str:
    body = [f"def {_words(pick, 1)}(a):\n    return '{_words(pick, 3)}'\n" for _ in range(size)]
    return f'"""{_sentence(pick)}"""\n\n' + "\n\n".join(body)


def _manual(pick: random.Random, size: int) -> str:
    options = "".join(f"       -{'abcdefgh'[n % 8]}     {_sentence(pick)}\n" for n in range(size))
    return (
        f"NAME\n       {_words(pick, 1)} - {_words(pick, 4)}\n\nSYNOPSIS\n       {_words(pick, 2)}"
        f"\n\nDESCRIPTION\n       {_sentence(pick)}\n\nOPTIONS\n{options}"
    )


def _document(pick: random.Random, size: int) -> str:
    return "\n\n".join(
        f"{'#' * (n % 3 + 1)} {_words(pick, 2)}" if n % 3 == 0 else _sentence(pick)
        for n in range(size)
    )


def _failure(pick: random.Random, size: int) -> str:
    frames = (f'  File "{_words(pick, 1)}.py", line {n}, in run\n    {_words(pick, 1)}()\n'
              for n in range(size))  # fmt: skip
    return f"Traceback (most recent call last):\n{''.join(frames)}ValueError: {_words(pick, 3)}"


def _patch(pick: random.Random, size: int) -> str:
    hunks = (f"@@ -{n * 9 + 1},2 +{n * 9 + 1},2 @@\n {_words(pick, 1)}\n-{_words(pick, 2)}\n"
             f"+{_words(pick, 2)}\n" for n in range(size))  # fmt: skip
    return f"--- a/x.py\n+++ b/x.py\n{''.join(hunks)}"


def _data(pick: random.Random, size: int) -> str:
    return json.dumps(
        {_words(pick, 1): [_words(pick, 2) for _ in range(size)]}, indent=pick.choice((None, 2))
    )


def _yaml(pick: random.Random, size: int) -> str:
    entries = [
        {_words(pick, 1): [_words(pick, 2)] * (n % 3), "name": _words(pick, 1)} for n in range(size)
    ]
    return yaml.safe_dump({"items": entries}, sort_keys=False, indent=pick.choice((2, 4)))


def _settings(pick: random.Random, size: int) -> str:
    return "\n".join(
        f"[{_words(pick, 1)}]" if n % 4 == 0 else f'{_words(pick, 1)} = "{_words(pick, 2)}"'
        for n in range(size)
    )


def _markup(pick: random.Random, size: int) -> str:
    elements = "".join(
        f"  <a>\n    <b>{_words(pick, 2)}</b>\n    <c x='{_words(pick, 1)}'/>\n  </a>\n"
        for _ in range(size)
    )
    return f"<root>\n{elements}</root>"


def _manual_of_python(pick: random.Random, size: int) -> str:
    title = _words(pick, 2)
    functions = "".join(
        f".. function:: {_words(pick, 1)}(a)\n\n   {_sentence(pick)}\n\n" for _ in range(size)
    )
    return f"{title}\n{'=' * len(title)}\n\n{_sentence(pick)}\n\n{functions}"


DATA = {
    "json": _data,
    "rst": _manual_of_python,
    "yaml": _yaml,
    "toml": _settings,
    "xml": _markup,
    "csv": _lines(lambda pick, n: f"{n},{_words(pick, 1)},{_words(pick, 2)}"),
}
MAKERS: dict[str, Making] = {
    **DATA,
    "log": _lines(
        lambda pick, n: f"10:00:{n % 60:02} {pick.choice(('INFO', 'ERROR'))} {_sentence(pick)}"
    ),
    "text": _lines(_sentence),
    "document": _document,
    "code": _program,
    "man_page": _manual,
    "error": _failure,
    "diff": _patch,
    "repl-history": _lines(lambda pick, n: f">>> {_words(pick, 1)}()\n{_words(pick, 2)}"),
    "mitre_attack": _lines(_sentence),
    "message": lambda pick, size: "".join(pick.choice("日本語文書章") for _ in range(size * 3)),
    "custom": lambda pick, size: _words(pick, size),
}


def case(pick: random.Random) -> Case:
    """Return a random case."""
    return Case(
        pick.choice(list(MAKERS)), pick.choice((1, 1, 2, 3, 5, 9, 20)), pick.getrandbits(32),
        pick.random(), pick.choice(("max_tokens", "max_chars")), pick.choice(PACKINGS),
        pick.choice(("structure", "structure", "prefix")), pick.choice(LAYOUTS),
        pick.choice(FORMATS), pick.random() < 0.5, pick.random() < 0.2,
    )  # fmt: skip


def record_of(made: Case) -> dict[str, Any]:
    """Return the item of a case."""
    pick = random.Random(made.seed)
    content = MAKERS[made.kind](pick, made.size)
    kind = "file" if made.kind in DATA else made.kind
    record: dict[str, Any] = {"id": "i", "kind": kind, "name": "nnn", "content": content}
    if made.kind == "code" or made.kind in DATA:
        record["path"] = f"p.{'py' if made.kind == 'code' else made.kind}"
    if kind == "mitre_attack":
        record["metadata"] = {"technique_id": "T1003", "tactics": ["ttt"]}
    if made.longer:
        record["expanded"] = f"{content}\n{MAKERS[made.kind](pick, made.size)}"
    return record


def options_of(made: Case) -> dict[str, Any]:
    """Return the options of a case but its budget."""
    options: dict[str, Any] = {"packing": made.packing, "trim": made.trim}
    if made.query:
        options["query"] = " ".join(WORD.findall(record_of(made)["content"])[-2:])
    return options


def shown(made: Case) -> tuple[pf.ResultItem, pf.Result, int]:
    """Return the item as it is shown, the text, and the size of the text without a budget."""
    record, options = record_of(made), options_of(made)
    size = "tokens" if made.unit == "max_tokens" else "chars"
    longest = getattr(render([record], made.layout, made.format, **options), size)
    options[made.unit] = int(longest * made.share)
    result = render([record], made.layout, made.format, **options)
    return result.report.items[0], result, longest


def broken(made: Case) -> str | None:
    """Return the promise that the rendering of a case breaks, `""` where it was not shortened."""
    record, options = record_of(made), options_of(made)
    size = "tokens" if made.unit == "max_tokens" else "chars"
    plain = {key: value for key, value in record.items() if key != "expanded"}
    full = getattr(render([plain], made.layout, made.format, **options), size)
    item, result, longest = shown(made)
    if item.form == "stub" and made.packing not in STUB_PACKINGS:
        return "a stub that nobody asked for"
    if item.status == "dropped" or item.form in ("expanded", "stub"):
        return ""
    if item.form == "content":
        return None if getattr(result, size) <= longest else "the content is dearer than expanded"
    if getattr(result, size) >= full:
        return f"{getattr(result, size)} {size} for the {item.form} of a text of {full}"
    empty = render(
        [{**plain, "content": "…", "summary": None}], made.layout, made.format, **options
    )
    frame = {*WORD.findall(empty.text), *WORD.findall(MARKER)}
    words = {*WORD.findall(result.text.replace("\\n", " "))} - frame  # as JSON writes it
    if {*WORD.findall(record["content"])} <= frame or any(map(_is_in(record), words)):
        return None
    return f"nothing of its content is in the {item.form}"


def _is_in(record: dict[str, Any]) -> Callable[[str], bool]:
    """Return a test of words: a whole word of a content, or a part of two letters and more."""
    content, words = record.get("expanded", record["content"]), {*WORD.findall(record["content"])}
    return lambda word: word in words or ((len(word) > 1 or not word.isascii()) and word in content)


def run(cases: int, seed: int = 1) -> Report:
    """Render so many items, each whole and under a budget."""
    report = Report("variants", cases, seed)
    pick, seen = random.Random(seed), Counter[str]()
    counter = pf.get_tokenizer("o200k_base")
    for _ in range(cases):
        made = case(pick)
        promise = broken(made)
        seen["shortened" if promise is None else "whole or left out"] += 1
        if promise:
            report.broken.append({"promise": promise, **made._asdict()})
        content = record_of(made)["content"]
        most = counter.count(content)
        cut = f"{counter.cut(content, int(most * made.share), 'character')}\n{MARKER}"
        seen["dearer in the control"] += counter.count(cut) >= most
    if not seen["dearer in the control"]:
        report.broken.append({"promise": "the control finds breaks"})
    report.figures |= dict(sorted(seen.items()))
    return report
