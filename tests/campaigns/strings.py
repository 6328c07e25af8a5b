"""Every string of files in every field: content, labels, metadata, a query; the next in the next layout and format.

`python -m tests.campaigns strings --corpus FOLDER`: each `*.json` in it is a list of texts, or `{"strings": [...]}`;
without a folder, the strings of the tests. Another `--seed` puts each string into another layout and format, so that
as many seeds as there are pairs (32) see all. Each text is judged whole, and under three budgets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hostile_strings as hostile
import parsers
from harmless_records import STAND_INS, HarmlessCopier, harmless
from structures import COUNT, check_contents, check_known, check_structure, tame_text_of
from unfiltered import render

from .corpus import CorpusError, listed
from .items import framings
from .report import Report

FIELDS = (*STAND_INS, "id", "query", "header")
BUDGETS = (15, 60, 250)
TOGETHER = 12
"""Strings of one text: what breaks a text is then looked for in each of them alone."""
KEYS = ("technique_id", "tactics", "tools", "url", "title", "source", "author", "description")


def run(cases: int = 1000, seed: int = 1, corpus: Path | None = None) -> Report:
    """Put at most `cases` strings into every field. Raises `CorpusError`."""
    strings = (read(corpus) if corpus else hostile.STRINGS)[:cases]
    report, pairs, seen = Report("strings", len(strings), seed), framings(), Counter[str]()
    for turn, start in enumerate(range(0, len(strings), TOGETHER)):
        values = strings[start : start + TOGETHER]
        for number, field in enumerate(FIELDS):
            layout, format = pairs[(turn + seed * 5 + number * 7) % len(pairs)]  # noqa: A001
            seen[f"texts with hostile {field}"] += len(BUDGETS) + 1
            try:
                seen["contents read back"] += check(field, values, layout, format)
            except Exception as whole:
                report.broken += _culprits(field, values, layout, format, whole)
    report.figures = {
        "parsers": ", ".join(parsers.names()),
        **{key: seen[key] for key in sorted(seen)},
    }
    return report


def read(corpus: Path) -> list[str]:
    """Return the strings of a file, or of the files of a folder."""
    found: dict[str, None] = {}
    for path in sorted(corpus.glob("*.json")) if corpus.is_dir() else [corpus]:
        strings = listed(path, "strings", 'a list of texts, or {"strings": [...]}')
        found |= dict.fromkeys(each for each in strings if isinstance(each, str))
    if not found:
        raise CorpusError(f"{corpus}: there are no strings in it")
    return list(found)


def check(field: str, values: Sequence[str], layout: str, format: str) -> int:
    """Raise where a parser sees what came from a string. Return how many contents were read back."""
    options: dict[str, Any] = {}
    if field in ("query", "header"):
        options, records = {field: values[0]}, [harmless(0), harmless(1)]
        for value in values[1:] if field == "query" else ():
            check_structure(records, layout, format, query=value)
    elif field == "metadata":
        records = [
            harmless(n, kind="mitre_attack", metadata=dict.fromkeys(KEYS, v))
            for n, v in enumerate(values)
        ]
    else:
        records = [harmless(n, **{field: value}) for n, value in enumerate(values)]
    text, tame_text, tamer = check_structure(
        [harmless(98), *records, harmless(99)], layout, format, **options
    )
    if field != "header":
        parsers.check_alike(text, tame_text, format, prose=field == "summary")
    tame = HarmlessCopier().records(records)
    whole = tame_text_of(tame, layout, format, sources=True, scores=True, **options)
    for budget in BUDGETS:
        result = render(records, layout, format, max_tokens=budget, **options)
        assert result.tokens == COUNT(result.text) <= budget, f"{result.tokens} of {budget}"
        if field != "header":
            check_known(result.text, whole, format)
    return (
        0
        if format == "plain" or field == "header"
        else check_contents(text, tame_text, tamer, format)
    )


def _culprits(
    field: str,
    values: Sequence[str],
    layout: str,
    format: str,
    whole: Exception,
) -> list[dict[str, Any]]:
    found = []
    for value in values:
        try:
            check(field, [value], layout, format)
        except Exception as error:
            said = f"{type(error).__name__}: {ascii(str(error))[:200]}"
            where = {"field": field, "layout": layout, "format": format}
            found.append(
                {
                    "promise": "structure, budget, fidelity",
                    **where,
                    "value": ascii(value)[:300],
                    "said": said,
                }
            )
    alone = {"promise": "structure", "field": field, "layout": layout, "format": format}
    return found or [{**alone, "value": f"{len(values)} together", "said": ascii(str(whole))[:200]}]
