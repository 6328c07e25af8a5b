"""One page in the making: what items look like, what they cost, and the text once it is known which are on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .answers.asking import Language
from .bounds import NOTHING, Bare, Bounds
from .controls import Controls
from .counting import Counter
from .errors import TemplateError
from .fitting.fit import Fit
from .fitting.scale import Cost, Form, within
from .grouping import Section, flatten, group
from .items import Item
from .layouts import LayoutSettings
from .looks import Look
from .merging import noting
from .options import Options
from .passages import Extractor
from .safe import Content, Safe
from .selection import Candidates
from .shortening import Shortener
from .templating import fuel
from .templating.environment import Fields
from .twins import Twins
from .views import Memory, Notes, Views, forged, said, source_of

# Char.IsWhiteSpace of .NET, whose TrimEnd the chunks layout follows; Python's strip would also take U+001C to U+001F.
_WHITE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
LEAST_CHARS = 3
"""Characters of a token: most texts have more, so that what is prepared by it is less than there is room for."""
_SENTINEL = "Quzx"
"""What no template prints of its own accord."""


class Page:
    """What fitting needs to know (it is a `fitting.scale.Scale`), and the finished text. For one rendering only."""

    def __init__(
        self,
        look: Look,
        options: Options,
        settings: LayoutSettings,
        counter: Counter,
        candidates: Candidates,
        tag: Language,
        language: Language,
        memory: Memory,
        controls: Controls | None = None,
        word: str | None = None,
    ) -> None:
        """Make a page of `candidates`.

        `tag` tells what to print as an item's language, `language` what it is, `memory` how items looked before. With
        `controls` no control token comes out of an item, nor out of two texts that meet; with a `word` contents stand
        verbatim between tags that carry it.
        """
        self.look = look
        self.options = options
        self.settings = settings
        self.counter = counter
        self.entries = candidates
        self.joint = 4 if counter.exact else 16
        self._items = candidates.pool
        self.tank = fuel.Tank()
        """What its templates may do, all in all."""
        self._prices: dict[tuple[int, Form], Cost] = {}
        self._last: tuple[dict[int, Form], list[str], Cost] | None = None
        self._in_tokens = options.max_tokens is not None
        self.by = settings.group_by if options.group_by == "auto" else options.group_by
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
        titles = [s.title for s in self.sections(candidates)] if look.headed else []
        self.views = Views(
            look,
            options,
            self.separator,
            self._items,
            tag,
            memory,
            self.tank,
            controls,
            word,
            titles,
        )
        self.notes: Notes = ()
        """What is to be said of the page around its items."""
        self._twins = Twins(self._items)
        self._bounds = Bounds(
            self._items,
            counter,
            self.joint,
            self._bare,
            json=look.syntax == "json",
            most_chars=options.item_max_chars,
        )
        self._shortener = Shortener(self._items, options, counter, language, candidates.asked)

    # --- one item ---------------------------------------------------------------------------------------------------

    def forms(self, index: int) -> Sequence[Form]:
        """Return the whole forms of an item, the longest first."""
        return self.views.forms(index)

    def note_twins(self, fit: Fit, limit: Cost) -> Fit:
        """Note in the metadata of items whose text stands for others' too where these are from, if that fits."""
        also: dict[int, list[Item]] = {}
        for twin, holder in sorted(fit.twins.items()):
            also.setdefault(holder, []).append(self._items[twin])
        before = {holder: self._items[holder] for holder in also}
        noted = {holder: noting(item, also[holder]) for holder, item in before.items()}
        cost = fit.cost
        for items in (noted, before):
            for index, item in items.items():
                self._items[index] = item
                self.views.forget(index)
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
            price = self._prices[index, form] = (
                self.count([text]) if self._in_tokens else 0,
                len(text),
            )
        return price

    def prepare(self, walk: Sequence[int], room: Cost) -> None:
        """Render the first of `walk`, and then count them: each in a row, while what it works with is at hand."""
        if not self._in_tokens:
            return
        left = LEAST_CHARS * room[0]
        batch = []
        for index in walk:
            form = self.forms(index)[0]
            left -= len(form.text) + self._bounds.bare(self._items[index].kind).tokens * LEAST_CHARS
            if left < 0:
                break
            batch.append((index, form))
        for index, form in batch:
            self.views.view(index, form)
        for index, form in batch:
            self.price(index, form)

    def _bare(self, kind: str) -> Bare:
        """Return what an item costs at the least: one with no labels, or one with the shortest, whichever is less."""
        nothing = Item(kind=kind, content="")
        labelled = Item(
            kind=kind, content="", name="a", path="a", language="c", start_line=1, end_line=1
        )

        def tokens(form: Form) -> int:
            return min(self.count([self.views.bare(item, form)]) for item in (nothing, labelled))

        try:
            shows = all(
                _SENTINEL in self.views.bare(i, Form("content", _SENTINEL))
                for i in (nothing, labelled)
            )
            return Bare(tokens(Form("content", "")), tokens(Form("trimmed", "", cut=True)), shows)
        except (
            TemplateError
        ):  # a template that only items with more than that can have: nothing is known of it
            return NOTHING

    def may_fit(self, index: int, form: Form, room: Cost) -> bool:
        """Return False where it is cheap to see that the item is more than `room`."""
        if room[0] < 0 or room[1] < 0:
            return False
        return not self._in_tokens or self._bounds.may_fit(
            index, form, room[0], lambda: self.text(index, form)
        )

    def able(self, indices: Sequence[int], room: Cost, trim: bool) -> Sequence[int]:
        """Return those of which it is not cheap to see that no form, nor with `trim` a shorter one, has room."""
        if room[0] < 0 or room[1] < 0:
            return ()
        return self._bounds.able(indices, room[0], trim) if self._in_tokens else indices

    def twins(self, index: int, chosen: Mapping[int, Form]) -> tuple[int | None, Sequence[int]]:
        """Return which of `chosen` holds the lines of this item whole, and which of them this item's lines hold."""
        return self._twins.find(index, chosen) if self.options.dedupe else (None, ())

    def measure(self, chosen: Mapping[int, Form]) -> Cost:
        """Return what the page costs with just these items on it."""
        return self._build(chosen)[2]

    def parts(self, chosen: Mapping[int, Form]) -> list[str]:
        """Return the finished page with just these items on it, in parts; raises as `Views.check` does."""
        parts = self._build(chosen)[1]
        self.views.check(parts, chosen)
        return parts

    def alone(self, index: int) -> str:
        """Return the text of an item in its longest form, without a page; raises as `parts` does."""
        form = self.forms(index)[0]
        self.views.check([text := str.__str__(self.text(index, form))], {index: form})
        return text

    def _build(self, chosen: Mapping[int, Form]) -> tuple[dict[int, Form], list[str], Cost]:
        if self._last is None or self._last[0] != chosen:
            parts = self.render(chosen)
            cost = (self.count(parts) if self._in_tokens else 0, sum(map(len, parts)))
            self._last = (dict(chosen), parts, cost)
        return self._last

    def shorten(
        self, index: int, chosen: Mapping[int, Form], limit: Cost, room: Cost | None = None
    ) -> tuple[Form, Cost] | None:
        """Return the longest shorter form of an item that fits beside `chosen`, and what the page costs then."""
        return self._shortener.shorten(index, chosen, limit, self, room)

    def sized(self, index: int, tokens: float, chars: float) -> Form | None:
        """Return the longest shorter form whose text alone is within these bounds; `None` if there is none."""
        return self._shortener.sized(index, self.forms(index), tokens, chars)

    def extractor(self) -> Extractor | None:
        """Return what the query makes of the pieces of the candidates; `None` where whole items are packed."""
        asked, options = self.entries.asked, self.options
        wanted = (options.packing, options.rerank, options.trim) == (
            "score",
            "keyword_boost",
            "structure",
        )
        if asked is None or not asked.tells or not wanted:
            return None
        return Extractor(asked, self.counter, self.forms, self.price)

    # --- the page ---------------------------------------------------------------------------------------------------

    def sections(self, indices: Iterable[int], by: str | None = None) -> list[Section]:
        """Return these items in sections, in the order of the page."""
        return group(
            self.entries.some(indices),
            self.by if by is None else by,
            order=self.options.order,
            first=self.settings.sections,
            titles=self.settings.titles,
        )

    def walk(self, indices: Iterable[int]) -> list[int]:
        """Return these items as the layout groups them, the best first in each group: `order` has no say in it."""
        sections = group(self.entries.some(indices), self.by, first=self.settings.sections)
        return [entry.index for entry in flatten(sections)]

    def render(self, chosen: Mapping[int, Form], *, only: str | None = None) -> list[str]:
        """Return the parts of the page; `only` leaves just the items of one origin on it."""
        indices = chosen if only is None else [i for i in chosen if self._items[i].origin == only]
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
                these = self.sections([i for i in indices if self._items[i].origin == origin])
                variables[origin] = self._shown_sections(these, chosen)
        self.tank.taken, self.notes = 0, ()
        parts = self.look.render_page(variables, self.tank)
        taken = self.tank.taken
        parts = self.mend(parts, chosen)
        self.notes += forged(taken)
        if self.settings.trim_end:
            while parts:
                parts[-1] = parts[-1].rstrip(_WHITE)
                if parts[-1]:
                    break
                parts.pop()
        return parts

    def mend(self, parts: list[str], chosen: Mapping[int, Form]) -> list[str]:
        """Return the parts of the page of `chosen` with no control token where they meet."""
        if self.views.joints is None:
            return parts
        settled = {id(self.views.view(index, form)["text"]) for index, form in chosen.items()}
        parts, apart, left = self.views.joints.mend(parts, settled)
        self.notes = tuple(
            (code, f"where texts meet on the page, {message}")
            for code, message in said(apart, left)
        )
        return parts

    def _shown_sections(self, sections: list[Section], chosen: Mapping[int, Form]) -> list[Fields]:
        return [
            Fields(
                key=self._apart(s.key, s.key),
                title=self._apart(s.title, s.key),
                items=[self.views.view(e.index, chosen[e.index]) for e in s.entries],
            )
            for s in sections
        ]

    def _sources(self, sections: list[Section]) -> list[Fields]:
        return [
            Fields(source_of(self.views.written_apart(entry.item)[0]))
            for entry in flatten(sections)
        ]

    def _apart(self, text: str, key: str) -> str:
        """Return the key or title of a section; what a layout calls it is the layout's."""
        if key in self.settings.titles:
            return Safe(text) if self.look.syntax == "txt" else text
        joints = self.views.joints
        return text if joints is None else joints.controls.write_apart(text)[0]
