"""One page in the making: what items look like, what they cost, and the text once it is known which are on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from json.encoder import encode_basestring
from typing import Any

import msgspec

from .counting import Counter
from .environment import Fields
from .escaping import Content, Safe
from .fitting import UNLIMITED, Cost, Fit, Form, minus, within
from .grouping import Entry, Section, flatten, group
from .items import Item
from .layouts import LayoutSettings
from .options import Options
from .selection import noting
from .templates import Look
from .tokens import get_tokenizer
from .trimming.text import UNITS
from .views import Memory, Views, source_of

# Char.IsWhiteSpace of .NET, whose TrimEnd the chunks layout follows; Python's strip would also take U+001C to U+001F.
_WHITE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_SLACK = 8
"""Tokens that a cut at a line may leave unused before a closer cut is tried."""


class Page:
    """What fitting needs to know (it is a `fitting.Scale`), and the finished text. For one rendering only."""

    def __init__(
        self,
        look: Look,
        options: Options,
        settings: LayoutSettings,
        counter: Counter,
        entries: Iterable[Entry],
        language: Callable[[Item], str | None],
        memory: Memory,
    ) -> None:
        """Make a page of `entries`; `language` tells an item's, and `memory` how items looked before."""
        self.look = look
        self.options = options
        self.settings = settings
        self.counter = counter
        self.joint = 4 if counter.exact else 16
        self._prices: dict[tuple[int, Form], Cost] = {}
        # By kind, and whether a summary is there too: the words a template adds, at the least; -1: it shows no content.
        self._words: dict[tuple[str, bool], int] = {}
        self._frames: dict[str, int] = {}
        # Of the items asked about: their lines with a line end before and after, the first, and all as a set.
        self._texts: dict[int, tuple[str, str, frozenset[str]]] = {}
        self._last: tuple[dict[int, Form], list[str], Cost] | None = None
        self._in_tokens = options.max_tokens is not None
        self._by = settings.group_by if options.group_by == "auto" else options.group_by
        own = settings.separator if options.separator is None else options.separator
        self.separator = "" if own is None else own
        # What the caller put around the items is the caller's; only the syntax itself is kept from breaking.
        made: Callable[[str], str] = Safe if look.syntax in ("md", "txt") else Content
        self._around = {
            "separator": made(self.separator),
            "header": made(options.header) if options.header else None,
            "footer": made(options.footer) if options.footer else None,
            "query": options.query,
        }
        mapped = {entry.index: entry for entry in entries}
        self.views = Views(look, options, self.separator, mapped, language, memory)

    # --- one item ---------------------------------------------------------------------------------------------------

    @property
    def entries(self) -> dict[int, Entry]:
        """The candidates by their index."""
        return self.views.entries

    def forms(self, index: int) -> Sequence[Form]:
        """Return the whole forms of an item, the longest first."""
        return self.views.forms(index)

    def note_twins(self, fit: Fit, limit: Cost) -> Fit:
        """Note in the metadata of items whose text stands for others' too where these are from, if that fits."""
        also: dict[int, list[Item]] = {}
        for twin, holder in sorted(fit.twins.items()):
            also.setdefault(holder, []).append(self.entries[twin].item)
        before = [self.entries[holder] for holder in also]
        noted = [msgspec.structs.replace(e, item=noting(e.item, also[e.index])) for e in before]
        for replaced in (noted, before):
            for entry in replaced:
                self.views.replace(entry)
            self._prices = {key: price for key, price in self._prices.items() if key[0] not in also}
            self._last = None
            cost = self.measure(fit.chosen) if fit.chosen else fit.cost
            if within(cost, limit):
                break
        return fit._replace(cost=cost)

    def text(self, index: int, form: Form) -> str:
        """Return the text of an item in a form, alone."""
        return str(self.views.view(index, form)["text"])

    # --- prices -----------------------------------------------------------------------------------------------------

    def count(self, parts: Sequence[str]) -> int:
        """Return the tokens of the joined parts."""
        return self.counter.count_parts(parts)

    def price(self, index: int, form: Form) -> Cost:
        """Return what an item costs alone."""
        price = self._prices.get((index, form))
        if price is None:
            text = self.text(index, form)
            price = (self.count([text]) if self._in_tokens else 0, len(text))
            self._prices[index, form] = price
            key = self._key(self.entries[index].item, form.name)
            if form.text and self._in_tokens and self._words.get(key, 0) >= 0:
                shown = self._as_shown(form.text)
                at = text.find(shown)
                around = f"{text[:at]} {text[at + len(shown) :]}" if at >= 0 else text
                added = len(around.split()) - (0 if at >= 0 else len(shown.split()))
                self._words[key] = min(self._words.get(key, added), added) if len(text) >= len(form.text) else -1
        return price

    def _as_shown(self, text: str) -> str:
        return encode_basestring(text) if self.look.syntax == "json" else text  # which writes line ends as letters

    def _exceeds(self, text: str, most: int) -> bool:
        """Tell whether it is cheap to see that a content costs more than `most` tokens on the page."""
        if most < 0:
            return True
        if self.look.syntax == "json":
            text = self._as_shown(text[: 48 * (most + 1)])
        return self.counter.exceeds(text, most)

    @staticmethod
    def _key(item: Item, form: str) -> tuple[str, bool]:
        return item.kind, form != "summary" and item.summary is not None

    def may_fit(self, index: int, form: Form, room: Cost) -> bool:
        """Return False where it is cheap to see that the item is more than `room`."""
        if room[0] < 0 or room[1] < 0:
            return False
        if self._in_tokens and len(form.text) > 16 * room[0] + 4096:  # no need to count all of a huge text
            return self.counter.count_upto(self.text(index, form), int(room[0])) <= room[0]
        return self._fits(form.text, self._key(self.entries[index].item, form.name), room)

    def _fits(self, text: str, key: tuple[str, bool], room: Cost) -> bool:
        added = self._words.get(key, -1)
        if added < 0:
            return True
        left = room[0] - max(added - 1, 0)
        if len(text) <= 3 * left:  # no bound would say no
            return True
        return not self._exceeds(text, int(left))

    def able(self, indices: Sequence[int], room: Cost, trim: bool) -> Sequence[int]:
        """Return those of which it is not cheap to see that no form, nor with `trim` a shorter one, has room."""
        if room[0] < 0 or room[1] < 0:
            return ()
        left: dict[str, int] = {}  # by kind, how many words of content there is room for
        for kind, _ in self._words:
            added = self._words.get((kind, False), -1)
            if added >= 0 and not (trim and room[0] >= self._frames.get(kind, 0)):
                left[kind] = int(room[0]) + self.joint - max(added - 1, 0)
        if not left:
            return indices
        exceeds = self._exceeds if self.look.syntax == "json" else self.counter.exceeds
        found = []
        for index in indices:
            item = self.entries[index].item
            most = left.get(item.kind)
            unknown = most is None or item.summary is not None or item.content is None
            if unknown or (most >= 0 and not exceeds(item.content, most)):  # type: ignore[operator, arg-type]
                found.append(index)
        return found

    def twins(self, index: int, chosen: Mapping[int, Form]) -> tuple[int | None, Sequence[int]]:
        """Return which of `chosen` holds the lines of this item whole, and which of them this item's lines hold."""
        item = self.entries[index].item
        if not self.options.dedupe or not item.content or item.required or "\n" not in item.content:
            return None, ()
        mine = self._texts.get(index)
        if mine is None:
            lines = item.content.strip("\n").split("\n")
            mine = self._texts[index] = ("\n".join(("", *lines, "")), lines[0], frozenset(lines))
        text, opening, every = mine
        held = []
        for other, form in chosen.items():
            theirs = self._texts.get(other)
            if theirs is None or other == index:
                continue
            # Texts can hold one another only if the first line of the one is a line of the other.
            if opening in theirs[2] and form.name != "trimmed" and text in theirs[0]:
                return other, ()
            if theirs[1] in every and theirs[0] in text:
                held.append(other)
        return None, held

    def measure(self, chosen: Mapping[int, Form]) -> Cost:
        """Return what the page costs with just these items on it."""
        return self._build(chosen)[2]

    def parts(self, chosen: Mapping[int, Form]) -> list[str]:
        """Return the page with just these items on it, in parts."""
        return self._build(chosen)[1]

    def _build(self, chosen: Mapping[int, Form]) -> tuple[dict[int, Form], list[str], Cost]:
        if self._last is None or self._last[0] != chosen:
            parts = self.render(chosen)
            cost = (self.count(parts) if self._in_tokens else 0, sum(map(len, parts)))
            self._last = (dict(chosen), parts, cost)
        return self._last

    # --- shorter forms ----------------------------------------------------------------------------------------------

    def shorten(self, index: int, chosen: Mapping[int, Form], limit: Cost) -> tuple[Form, Cost] | None:
        """Return the longest beginning of an item that fits beside `chosen`, and what the page costs then."""
        item = self.entries[index].item
        whole = next((f for f in self.forms(index) if f.name != "summary"), None)
        if whole is None or item.required:
            return None
        room = minus(limit, self.measure(chosen))
        marker = self.options.marker
        if room[0] < self._frames.get(item.kind, 0) or room[1] <= len(marker):
            return None
        frame = self.price(index, Form("trimmed", "", cut=True))
        self._frames[item.kind] = int(min(frame[0], self._frames.get(item.kind, frame[0])))
        if not within(frame, room):
            return None
        tokens, chars = left = minus(room, frame)
        best: tuple[Form, Cost] | None = None
        tried: set[str] = set()
        for _ in range(12):  # the first guess is that content costs on the page what it costs alone
            prefix = self._cut(whole.text, tokens, chars, limit)
            if not prefix or (best is not None and prefix in tried):
                break
            tried.add(prefix)
            form = Form("trimmed", prefix, cut=True)
            cost = self.measure({**chosen, index: form})
            if within(cost, limit):
                if best is not None and cost <= best[1]:
                    break
                best = (form, cost)
                spare = minus(limit, cost)
                if spare[0] <= self._slack(limit[0]) or spare[1] <= self._slack(limit[1]):
                    break
                tokens, chars = tokens + min(spare[0], tokens), chars + min(spare[1], chars)
            else:  # headings, or escapes, made it longer than it is alone
                over = minus(cost, limit)
                if over[0] > 0:
                    tokens = _less(self.counter.count(prefix), left[0], over[0])
                if over[1] > 0:
                    chars = _less(len(prefix), left[1], over[1])
        return best

    @staticmethod
    def _slack(limit: float) -> float:
        return _SLACK if limit < UNLIMITED else -1

    def _cut(self, text: str, tokens: float, chars: float, limit: Cost) -> str:
        """Return the beginning of `text` within these bounds, at the neatest end that wastes little."""
        best = ""
        for unit in UNITS:
            prefix = text
            if tokens < UNLIMITED:
                prefix = self.counter.cut(prefix, int(tokens), unit)
            if chars < UNLIMITED:
                prefix = get_tokenizer("characters").cut(prefix, int(chars), unit)
            prefix = prefix.rstrip()
            if len(prefix) > len(best) and len(prefix) < len(text.rstrip()):
                best = prefix
            if not best:
                continue
            if tokens < UNLIMITED and tokens - self.counter.count(best) <= self._slack(limit[0]):
                break
            if chars - len(best) <= self._slack(limit[1]):
                break
        return best

    # --- the page ---------------------------------------------------------------------------------------------------

    def sections(self, indices: Iterable[int], by: str | None = None) -> list[Section]:
        """Return these items in sections, in the order of the page."""
        return group(
            [self.entries[i] for i in indices],
            self._by if by is None else by,
            order=self.options.order,
            first=self.settings.sections,
            titles=self.settings.titles,
        )

    def walk(self, indices: Iterable[int]) -> list[int]:
        """Return these items as the layout groups them, the best first in each group: `order` has no say in it."""
        sections = group([self.entries[i] for i in indices], self._by, first=self.settings.sections)
        return [entry.index for entry in flatten(sections)]

    def render(self, chosen: Mapping[int, Form], *, only: str | None = None) -> list[str]:
        """Return the parts of the page; `only` leaves just the items of one origin on it."""
        indices = [i for i in chosen if only is None or self.entries[i].item.origin == only]
        sections = self.sections(indices)
        variables: dict[str, Any] = dict(self._around)
        variables["items"] = [self.views.view(e.index, chosen[e.index]) for e in flatten(sections)]
        variables["total"] = len(self.entries)
        variables["sources"] = self._sources(sections) if self.options.sources else None
        uses = self.look.page_uses
        if "sections" in uses:
            variables["sections"] = self._shown_sections(sections, chosen)
        for origin in ("explicit", "similarity"):
            if origin in uses:
                these = self.sections([i for i in indices if self.entries[i].item.origin == origin])
                variables[origin] = self._shown_sections(these, chosen)
        parts = self.look.render_page(variables)
        if self.settings.trim_end:
            while parts:
                parts[-1] = parts[-1].rstrip(_WHITE)
                if parts[-1]:
                    break
                parts.pop()
        return parts

    def _shown_sections(self, sections: list[Section], chosen: Mapping[int, Form]) -> list[Fields]:
        return [
            Fields(key=s.key, title=s.title, items=[self.views.view(e.index, chosen[e.index]) for e in s.entries])
            for s in sections
        ]

    def _sources(self, sections: list[Section]) -> list[Fields]:
        return [Fields(source_of(entry.item)) for entry in flatten(sections)]


def _less(size: int, room: float, over: float) -> int:
    """Return the size to try after one that came out `over` above the `room` there was thought to be."""
    return min(size - 1, int(size * room / (room + over)))
