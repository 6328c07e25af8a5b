"""Where the budget went, and what more of it would bring: sums over a page that is done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from .explanations import Gain, SectionCost
from .fitting.scale import Form
from .page import Page

STEP = 1000
"""How much larger the budget is that an explanation looks at, in tokens."""

SECTIONS = 64
"""With more sections than these, the page is not measured once for each."""


class Taken(NamedTuple):
    """An item on a page."""

    section: str
    title: str
    tokens: int
    worth: float
    whole: bool


def tokens_of(page: Page, index: int, form: Form) -> int:
    """Return the tokens of an item alone, whatever unit the limits are in."""
    in_tokens = page.options.max_tokens is not None
    return int(page.price(index, form)[0]) if in_tokens else page.count([page.text(index, form)])


def taken(page: Page, chosen: Mapping[int, Form], trimmed: Iterable[int]) -> dict[int, Taken]:
    """Return the items of the page by index: what each costs and is worth there.

    An item is worth its score (what a query made of it), never less than nothing; shortened, the share of its tokens.
    """
    short = frozenset(trimmed)
    found = {}
    for section in page.sections(chosen):
        for entry in section.entries:
            tokens = tokens_of(page, entry.index, chosen[entry.index])
            share = 1.0
            if entry.index in short:
                share = min(
                    1.0, tokens / max(1, tokens_of(page, entry.index, page.forms(entry.index)[0]))
                )
            worth = max(entry.rank, 0.0) * share
            found[entry.index] = Taken(
                section.key, section.title, tokens, worth, entry.index not in short
            )
    return found


def frame(page: Page) -> int:
    """Return the tokens of the page without any item."""
    return page.count(page.render({}))


def section_costs(
    page: Page, chosen: Mapping[int, Form], items: Mapping[int, Taken], empty: int
) -> list[SectionCost]:
    """Return what each section costs; `empty` is what the page costs without items."""
    sections = page.sections(chosen)
    shown: dict[int, Form] = {}
    before, found = empty, []
    for section in sections:
        subtotal = None
        if len(sections) <= SECTIONS:
            shown |= {entry.index: chosen[entry.index] for entry in section.entries}
            cost = page.count(page.render(shown))
            subtotal, before = cost - before, cost
        found.append(
            SectionCost(
                key=section.key,
                title=section.title,
                items=len(section.entries),
                tokens=sum(items[entry.index].tokens for entry in section.entries),
                subtotal=subtotal,
            )
        )
    return found


def gains(
    before: Mapping[int, Taken], after: Mapping[int, Taken], name: Callable[[int], str]
) -> list[Gain]:
    """Return, by section, what `after` has more than `before`; `name` gives the id of an item."""
    titles = {item.section: item.title for item in (*after.values(), *before.values())}
    found = []
    for key, title in titles.items():
        old = {i: item for i, item in before.items() if item.section == key}
        new = {i: item for i, item in after.items() if item.section == key}
        if old == new:
            continue
        grown = [i for i, item in new.items() if i not in old or item.worth > old[i].worth]
        found.append(
            Gain(
                key=key,
                title=title,
                items=tuple(map(name, grown)),
                tokens=sum(item.tokens for item in new.values())
                - sum(item.tokens for item in old.values()),
                worth=round(
                    sum(item.worth for item in new.values())
                    - sum(item.worth for item in old.values()),
                    6,
                ),
            )
        )
    return found
