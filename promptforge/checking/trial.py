"""Rendering samples: what fails only when it runs, and what a layout costs before any text of an item is in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from xml.parsers import expat

import msgspec

from ..counting import Counter
from ..errors import PromptForgeError, TemplateError
from ..items import Item
from ..looks import Look
from ..options import Options, apply
from ..page import Page
from ..selection import Candidates
from ..tagging import Tagger
from ..templates import Templates
from ..tokens import get_tokenizer

SAMPLE = "A sentence that is found in the text."
_METADATA = {
    "technique_id": "T1003.001", "tactics": ["credential-access"], "tools": ["mimikatz"],
    "mitigations": ["Privileged Account Management"], "url": "https://example.org", "author": "somebody",
}  # fmt: skip
_SWITCHES = ("headers", "line_numbers", "scores", "sources", "code")


class Price(NamedTuple):
    """What a layout costs in one format."""

    layout: str
    format: str
    page: int
    """Tokens of what stands around the items of one section."""
    items: dict[str, int]
    """By kind (`item`: all without a look of their own): the tokens that one item adds beside those of its text."""


class Failure(NamedTuple):
    """A sample that a template could not print, or printed wrongly."""

    code: str
    where: str | None
    """`name:line`, where it is known."""
    message: str


def samples(kind: str) -> list[Item]:
    """Return an item of a kind with every field, and one with none but its text."""
    full = Item(
        kind=kind, content=SAMPLE, summary="A summary.", name="name", path="src/file.py", start_line=3, end_line=9,
        language="python", score=0.85, id="sample-1", metadata=_METADATA,
    )  # fmt: skip
    found = msgspec.structs.replace(
        full, id="sample-2", origin="similarity", content=f"{SAMPLE} Again."
    )
    return [full, Item(kind=kind, content=SAMPLE, id="sample-3"), found]


def failures(templates: Templates, layout: str, form: str, kinds: Sequence[str]) -> list[Failure]:
    """Return what goes wrong when samples of `kinds` are rendered, each failure once."""
    found: dict[tuple[str, str | None], Failure] = {}
    counter = get_tokenizer("characters")
    items = [item for kind in (*kinds, "text") for item in samples(kind)]
    on: dict[str, Any] = {
        **dict.fromkeys(_SWITCHES, True),
        "header": "Before",
        "footer": "After",
        "query": "what?",
    }
    try:
        look = templates.look(layout, form)
    except PromptForgeError as error:
        return [Failure("PF814", None, str(error))]
    for changes in (on, dict.fromkeys(_SWITCHES, False), {}):
        for some in (items, items[:1], items[1:2], []):
            try:
                page = _page(look, counter, some, changes)
                text = "".join(page.render({i: page.forms(i)[0] for i in range(len(some))}))
            except TemplateError as error:
                message = error.bare
                found.setdefault(("PF814", error.where), Failure("PF814", error.where, message))
                continue
            except PromptForgeError as error:
                found.setdefault(("PF814", None), Failure("PF814", None, str(error)))
                continue
            wrong = _misshapen(text, page.look.syntax, page.look.page_name)
            if wrong:
                found.setdefault(("PF815", None), Failure("PF815", page.look.page_name, wrong))
    return list(found.values())


def price(
    templates: Templates,
    layout: str,
    form: str,
    kinds: Sequence[str],
    tokenizer: str,
) -> Price:
    """Return what a layout costs in a format, by rendering samples of `kinds` (`item` for any other kind).

    What an item adds is half of what a page of four such items has more than one of two, less its own text; what is
    left of the page of two is the page's own.
    """
    counter, look = get_tokenizer(tokenizer), templates.look(layout, form)
    costs, fixed = {}, 0
    for kind in kinds:
        one = samples("text" if kind == "item" else kind)[0]
        row = [
            msgspec.structs.replace(one, start_line=10 * n, end_line=10 * n + 6)
            for n in range(1, 5)
        ]
        page = _page(look, counter, row, {})
        two, four = (
            page.count(page.render({i: page.forms(i)[0] for i in range(number)}))
            for number in (2, 4)
        )
        costs[kind] = max(0, round((four - two) / 2) - counter.count(SAMPLE))
        fixed = max(fixed, 2 * two - four)
    return Price(layout, form, fixed, costs)


def _page(look: Look, counter: Counter, items: list[Item], changes: dict[str, Any]) -> Page:
    options = apply(apply(Options(), look.settings.options), changes)
    tag = Tagger({}).tags(options, look.settings)
    entries = Candidates(list(items), [item.score for item in items], list(range(len(items))), {})
    return Page(look, options, look.settings, counter, entries, tag, tag, {})


def _misshapen(text: str, syntax: str, page: str) -> str | None:
    """Return why a text is not what its syntax says; `None` where it is, or where there is nothing to say."""
    if not text.strip():
        return None
    if syntax == "json":
        lines = text.splitlines() if page.endswith(".jsonl.j2") else [text]
        try:
            for line in filter(str.strip, lines):
                json.loads(line)
        except ValueError as error:
            return f"a sample of this page is no JSON: {error}"
    if syntax == "xml" and page.endswith((".xml.j2", ".svg.j2")):
        body = re.sub(r"\A\s*<\?xml[^>]*\?>|<!DOCTYPE[^>]*>", "", text)
        try:
            expat.ParserCreate().Parse(f"<all>{body}</all>", True)
        except expat.ExpatError as error:
            reason = (
                expat.errors.messages.get(error.code, str(error))
                if hasattr(expat, "errors")
                else str(error)
            )
            line = text.splitlines()[min(error.lineno, len(text.splitlines())) - 1].strip()[:60]
            return f"a sample of this page is no well-formed XML: {reason}, near {line!a}"
    return None


def spread(prices: Sequence[Price]) -> Iterator[tuple[str, str, int, str, int]]:
    """Yield a row for each kind: layout, form, tokens of the page, kind, tokens an item."""
    for one in prices:
        for kind, tokens in one.items.items():
            yield one.layout, one.format, one.page, kind, tokens
