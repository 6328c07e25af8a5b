"""Hostile items in every shipped layout and format, each between two harmless ones, before every
parser at hand.

The promise: what a parser sees outside an item's own block is what it sees with a harmless item in
its place, and a content that stands in a block of its own is read back as it was. Every other round
is made with tags around contents as they are, wherever these can stand. The control: the same
contents in framings that are written without care, of which many must break, or the judges are
asleep.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import judges
import parsers
import unsafe_framings
from harmless_records import harmless
from structures import check_contents, check_structure, check_tagged

from promptforge.syntax.syntax import TAGGED
from promptforge.syntax.syntaxes import FORMAT_EXTENSIONS, syntax_of
from promptforge.templating.loader import Templates

from .hostility import Hostility
from .report import Report

TOGETHER = 24
"""Hostile items of one text: what breaks a text is then looked for in each of them alone."""
ENOUGH = 20
"""So often each of the careless framings is broken, and no more contents are put into it."""


def framings() -> list[tuple[str, str]]:
    """Return every shipped layout with every format it has."""
    shipped = Templates()
    return [(layout, format) for layout in shipped.layouts() for format in shipped.formats(layout)]  # noqa: A001


def run(cases: int, seed: int = 1) -> Report:
    """Render so many hostile items, the next few in the next layout and format."""
    report = Report("items", cases, seed)
    made, pairs, seen, compared, controls = (
        Hostility(seed),
        framings(),
        Counter[str](),
        0,
        Counter[str](),
    )
    tried = Counter[str]()
    number = turn = given_up = 0
    while number < cases:
        layout, format = pairs[turn % len(pairs)]  # noqa: A001
        is_taggable = syntax_of(FORMAT_EXTENSIONS[format]).is_taggable
        # In each round the other half of the pairs is tagged, in each layout other formats.
        is_odd = (turn + turn // len(pairs) + turn // len(FORMAT_EXTENSIONS)) % 2
        framing = TAGGED if is_odd and is_taggable else "auto"
        records = [made.record(n) for n in range(min(TOGETHER, cases - number))]
        try:
            compared += check(records, layout, format, framing)
        except Exception as whole:
            broken, unread = _culprits(records, layout, format, framing, whole)
            report.broken += broken
            given_up += unread
        for record in records:
            _control(record["content"], controls, tried)
        seen[f"{format}, {framing}"] += len(records)
        number += len(records)
        turn += 1
    report.figures["layouts × formats"] = len(pairs)
    report.figures["parsers"] = ", ".join(parsers.names())
    report.figures |= {f"items in {name}": count for name, count in sorted(seen.items())}
    report.figures["contents read back and compared"] = compared
    report.figures["items that a reader gave up on"] = given_up
    for name in _controls():
        report.figures[f"control: % broken in {name}"] = 100 * controls[name] / max(tried[name], 1)
        if not controls[name]:
            report.broken.append({"promise": "the control finds breaks", "control": name})
    return report


def check(records: list[dict[str, Any]], layout: str, format: str, framing: str) -> int:
    """Raise where a parser sees another structure, or another content. Return how many contents
    were compared.
    """
    ends = harmless(len(records)), harmless(len(records) + 1)
    if framing == TAGGED:
        return check_tagged([ends[0], *records, ends[1]], layout, format)
    text, tame_text, tamer = check_structure(
        [ends[0], *records, ends[1]], layout, format, framing=framing
    )
    prose = any("summary" in record for record in records)
    parsers.check_alike(text, tame_text, format, prose=prose)
    return 0 if format == "plain" else check_contents(text, tame_text, tamer, format)


def _culprits(
    records: list[dict[str, Any]],
    layout: str,
    format: str,
    framing: str,
    whole: Exception,
) -> tuple[list[dict[str, Any]], int]:
    """Return the records that break a text, and how many others a reader gave up on."""

    def broken(of: list[dict[str, Any]], error: Exception) -> dict[str, Any]:
        said = f"{type(error).__name__}: {str(error)[:300]}"
        where = {"layout": layout, "format": format, "framing": framing}
        return {"promise": "structure", **where, "records": ascii(of), "said": said}

    found, given_up = [], 0
    for record in records:
        try:
            check([record], layout, format, framing)
        except parsers.ReaderGaveUpError:
            given_up += 1
        except Exception as alone:
            found.append(broken([record], alone))
    if not (found or given_up or isinstance(whole, parsers.ReaderGaveUpError)):
        found.append(_together(records, layout, format, framing, whole, broken))
    return found, given_up


def _together(
    records: list[dict[str, Any]],
    layout: str,
    format: str,
    framing: str,
    error: Exception,
    broken: Callable[[list[dict[str, Any]], Exception], dict[str, Any]],
) -> dict[str, Any]:
    """Return the fewest of `records` found that break a text only together."""
    at = 0
    while at < len(records):
        fewer = records[:at] + records[at + 1 :]
        try:
            check(fewer, layout, format, framing)
            at += 1
        except Exception as still:
            records, error = fewer, still
    return broken(records, error)


def _control(content: str, found: Counter[str], tried: Counter[str]) -> None:
    for name, (judge, frame) in _controls().items():
        # Pandoc goes back and forth without end in some contents of 55 bytes.
        with suppress(parsers.ReaderGaveUpError):
            if found[name] < ENOUGH:
                found[name] += unsafe_framings.breaks(judge, frame, content)
                tried[name] += 1


def _controls() -> dict[str, tuple[Callable[[str], Any], Callable[[str], str]]]:
    """Return the careless framings by name, each with a judge."""
    fence = unsafe_framings.FRAMINGS["fixed_fence"][1]
    return {
        **{
            name: (judges.STRUCTURES[syntax], frame)
            for name, (syntax, frame) in unsafe_framings.FRAMINGS.items()
        },
        "plain_lines": (unsafe_framings.plain_judge, unsafe_framings.plain),
        "fixed_tags": (judges.tagged_structure, unsafe_framings.fixed_tags),
        **{
            f"fixed_fence to {name}": (parser, fence)
            for name, parser in parsers.judges_of_html().items()
        },
    }
