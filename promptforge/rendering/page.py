"""One page in the making: what items look like, what they cost, and the text once it is known which are on it.

What an item costs at the least, told without rendering or counting it.

How one item is shortened: the longest of its shorter forms that has room beside what is chosen.

The pieces of candidates as forms of items, with their prices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from json.encoder import encode_basestring
from operator import attrgetter
from typing import Any, NamedTuple, Protocol

from ..config.options import Options
from ..errors import TemplateError
from ..model import Item
from ..packing.pack import Packed
from ..packing.passages import ChosenPassage
from ..packing.types import (
    UNLIMITED,
    Cost,
    Variant,
    add_costs,
    content_variant,
    fits_within,
    subtract_costs,
)
from ..selection.contained import ContainedTexts
from ..selection.evidence import MIN_DOCUMENTS_OPENED, TOKENS_PER_DOCUMENT, choose_passages
from ..selection.filter import Candidates
from ..selection.group import Section, flatten_sections, group_entries
from ..selection.merge import with_also_in
from ..selection.query import Language, QueryRelevance
from ..templating.language import Fields
from ..templating.limits import FuelTank
from ..text.escape import Content, Safe
from ..text.split_points import UNITS
from ..tokenizers.base import Counter
from ..tokenizers.registry import get_tokenizer
from ..trimming.kinds import find_structure
from ..trimming.pieces import Pieces, TrimmedVariants
from .context import (
    CleaningNotes,
    ItemViews,
    Setting,
    citation,
    control_token_notes,
    template_line_notes,
)

_KIND = attrgetter("kind")

_CONTENT = attrgetter("content")

_SUMMARY = attrgetter("summary")

MAX_UNUSED_TOKENS = 8
"""Tokens of which it does not matter that they are left over, where what is shortened could not fill them."""

_NEVER = 2.0**63

MAX_KINDS = 100
"""Kinds whose items are looked at; what is known of one more takes longer to find out than it saves."""

HUGE_TEXT_CHARACTERS = 4096
"""Characters of a text that is counted only as far as there is room for."""


class EmptyItemCost(NamedTuple):
    """An item of a kind with as good as nothing in it."""

    tokens: int
    """What it costs: items of the kind cost no less, but for what their ends share with neighbours. A template that
    prints less for an item with some rare field is not seen through."""
    cut: int
    """What it costs with the marker."""
    shows: bool
    """Whether its content is shown when it has no summary."""


NOTHING_KNOWN = EmptyItemCost(0, 0, False)
"""What is known of an item when nothing is."""


class LowerBounds:
    """Lower bounds of prices in tokens. What they refuse cannot fit; what they let pass may not fit either."""

    def __init__(
        self,
        items: Sequence[Item],
        counter: Counter,
        joint: int,
        bare: Callable[[str], EmptyItemCost],
        *,
        json: bool,
        most_chars: int | None,
    ) -> None:
        self._items = items
        self._counter = counter
        self._joint = joint
        self._make = bare
        self._bare: dict[str, EmptyItemCost] = {}
        self._json = json
        self._most_chars = most_chars

    @cached_property
    def _kinds(self) -> list[str]:
        return list(map(_KIND, self._items))

    @cached_property
    def _contents(self) -> list[str | None]:
        return list(map(_CONTENT, self._items))

    @cached_property
    def _lengths(self) -> list[int]:
        """The characters of each item's content; 0 where its summary may stand in for it."""
        lengths = [len(content) if content else 0 for content in self._contents]
        if {*map(_SUMMARY, self._items)} != {None}:
            return [
                0 if item.summary is not None else n
                for item, n in zip(self._items, lengths, strict=True)
            ]
        return lengths

    def bare(self, kind: str) -> EmptyItemCost:
        """Return what an item of `kind` costs at the least."""
        found = self._bare.get(kind)
        if found is None:
            found = self._bare[kind] = (
                self._make(kind) if len(self._bare) < MAX_KINDS else NOTHING_KNOWN
            )
        return found

    def may_fit(self, index: int, form: Variant, tokens: float, text: Callable[[], str]) -> bool:
        """Return False where it is cheap to see that the form is more than `tokens`; `text` is what it looks like."""
        item = self._items[index]
        known = item.summary is None or form.name == "summary"
        bare = self.bare(item.kind) if known and len(form.text) > 3 * tokens else None
        if (
            bare is not None
            and bare.shows
            and self._exceeds(form.text, int(tokens) + self._joint - bare.tokens)
        ):
            return False
        if (
            len(form.text) > 16 * tokens + HUGE_TEXT_CHARACTERS
        ):  # no need to count all of a huge text
            return self._counter.count_upto(text(), int(tokens)) <= tokens
        return True

    def maybe_fitting(self, indices: Sequence[int], tokens: float, trim: bool) -> Sequence[int]:
        """Return those of which it is not cheap to see that no form, nor with `trim` a shorter one, has room."""
        kinds = {kind: self.bare(kind) for kind in set(self._kinds)}
        reach = tokens if trim and tokens <= MAX_UNUSED_TOKENS else tokens + self._joint
        left = {
            kind: int(reach) - bare.tokens for kind, bare in kinds.items() if bare.tokens <= reach
        }
        if not left:
            return ()
        cuttable = {kind for kind in left if trim and kinds[kind].cut <= tokens}
        if len(cuttable) == len(kinds):
            return indices
        # Characters of a content that cannot fit, by kind; none for a kind whose contents need not be shown.
        far = {
            kind: self._far(most) if kind not in cuttable and kinds[kind].shows else math.inf
            for kind, most in left.items()
        }
        widest, lengths, contents, kind_of = (
            max(far.values()),
            self._lengths,
            self._contents,
            self._kinds,
        )
        exceeds = (
            self._counter.exceeds if not self._json and self._most_chars is None else self._exceeds
        )
        return [
            i
            for i in indices
            if (length := lengths[i]) <= widest
            and length <= (most := far.get(kind := kind_of[i], -1))
            and (not length or most == math.inf or not exceeds(contents[i] or "", left[kind]))
        ]

    def _far(self, tokens: int) -> float:
        """Return the characters above which a content is more than so many tokens without a look at it."""
        chars = self._counter.most_chars(tokens)
        if self._most_chars is not None and self._most_chars < chars:
            return _NEVER
        return min(chars, _NEVER)

    def _exceeds(self, text: str, most: int) -> bool:
        if most < 0:
            return True
        text = text[: self._most_chars]
        if self._json:
            text = encode_basestring(text[: 48 * (most + 1)])  # which writes line ends as letters
        return self._counter.exceeds(text, most)


SPARED_TOKENS = 5
"""Tokens (or characters) by which pieces may come out cheaper than their sum: the page decides, so a few too many are
chosen rather than a worse one."""


class QueryPassages:
    """Pieces of the candidates of one page."""

    def __init__(
        self,
        asked: QueryRelevance,
        counter: Counter,
        forms: Callable[[int], Sequence[Variant]],
        price: Callable[[int, Variant], Cost],
    ) -> None:
        self._asked = asked
        self._counter = counter
        self._forms = forms
        self._price = price

    def divided(self, walk: Sequence[int]) -> list[int]:
        """Return those of `walk` that were read closely."""
        return [index for index in walk if index in self._asked.number]

    def choose(
        self, walk: Sequence[int], room: float, unit: int, most: int | None
    ) -> tuple[list[ChosenPassage], list[ChosenPassage]]:
        """Return the pieces to show within `room`, the likeliest to answer first, and those that were put aside."""
        order = self._asked.order
        numbers = self._asked.number

        def header(number: int) -> float:
            return self._price(order[number], self.variant(order[number], ()))[unit]

        limit = max(
            MIN_DOCUMENTS_OPENED,
            int(room / (TOKENS_PER_DOCUMENT if unit == 0 else 4 * TOKENS_PER_DOCUMENT)),
        )
        choice = choose_passages(
            self._asked.evidence,
            room=room + SPARED_TOKENS,
            header=header,
            cost=lambda number, piece: self.cost(ChosenPassage(order[number], piece), unit),
            max_documents=limit if most is None else min(limit, most),
            among=[numbers[index] for index in walk],
        )
        return [ChosenPassage(order[n], p) for n, p in choice.picks], [
            ChosenPassage(order[n], p) for n, p in choice.aside
        ]

    def variant(self, index: int, pieces: Collection[int]) -> Variant:
        """Return an item with only these pieces of its text."""
        whole = self._whole(index)
        divided = self._asked.pieces(index)
        if divided is None:
            return whole if pieces else Variant("trimmed", "")
        text = divided.text(pieces)
        return whole if text == whole.text else Variant("trimmed", text)

    def _whole(self, index: int) -> Variant:
        return content_variant(self._forms(index))

    def cost(self, pick: ChosenPassage, unit: int) -> float:
        """Return the tokens (`unit` 0) or characters (1) of a piece."""
        divided = self._asked.pieces(pick.item)
        text = self._whole(pick.item).text if divided is None else divided.parts[pick.number].text
        return len(text) if unit else self._counter.count(text)

    def variant_with_beginning(
        self, pick: ChosenPassage, pieces: Collection[int], room: float, unit: int
    ) -> Variant | None:
        """Return an item with these pieces and as much of one more as has room; `None`: nothing of it has."""
        divided = self._asked.pieces(pick.item)
        if divided is None or not divided.cuttable:
            return None
        counter = get_tokenizer("characters") if unit else self._counter
        text = counter.cut(divided.parts[pick.number].text, int(room) - 1, "word").rstrip()
        return (
            Variant("trimmed", divided.text(pieces, beginning=(pick.number, text + " ")))
            if text
            else None
        )


MAX_PAGES_PER_ITEM = 12
"""Pages measured for one item."""


class MeasuredPage(Protocol):
    """What is asked of the page."""

    def variants(self, index: int) -> Sequence[Variant]:
        """Return the whole forms of an item, the longest first."""
        ...

    def item_cost(self, index: int, form: Variant) -> Cost:
        """Return what an item costs alone."""
        ...

    def measure(self, chosen: Mapping[int, Variant]) -> Cost:
        """Return what the page costs with just these items on it."""
        ...


class Shortener:
    """Shorter forms of the items of one page."""

    def __init__(
        self,
        items: Sequence[Item],
        options: Options,
        counter: Counter,
        language: Language,
        asked: QueryRelevance | None,
    ) -> None:
        """`language` tells what a text is in; `asked` is the query's reading of the candidates."""
        self._items = items
        self._options = options
        self._counter = counter
        self._language = language
        self._asked = asked
        self._ladders: dict[int, TrimmedVariants | None] = {}

    def shorten(
        self,
        index: int,
        chosen: Mapping[int, Variant],
        limit: Cost,
        host: MeasuredPage,
        room: Cost | None = None,
    ) -> tuple[Variant, Cost] | None:
        """Return the longest shorter form of an item found that fits beside `chosen`, and what the page costs then.

        `room`: what the item itself may cost, when that is less than what is left of `limit`.
        """
        before = host.measure(chosen)
        left = subtract_costs(limit, before)
        if room is not None:
            left = (min(left[0], room[0]), min(left[1], room[1]))
        frame = host.item_cost(index, Variant("trimmed", "", cut=True))
        if not fits_within(frame, left):
            return None
        tokens, chars = start = subtract_costs(left, frame)
        best: tuple[Variant, Cost] | None = None
        tried: set[str] = set()
        for _ in range(
            MAX_PAGES_PER_ITEM
        ):  # the first guess is that content costs on the page what it costs alone
            form = self.longest_within(index, host.variants(index), tokens, chars)
            if form is None or form.text in tried:
                break
            tried.add(form.text)
            cost = host.measure({**chosen, index: form})
            if fits_within(cost, limit) and (
                room is None or fits_within(host.item_cost(index, form), room)
            ):
                if best is not None and cost <= best[1]:
                    break
                best = (form, cost)
                added = (
                    subtract_costs(cost, before) if room is None else host.item_cost(index, form)
                )
                spare = subtract_costs(left, added)
                if spare[0] <= _slack(limit[0]) or spare[1] <= _slack(limit[1]):
                    break
                # What is around the text is known now: so much more the text may be than it was thought to.
                size = (self._counter.count(form.text) if tokens < UNLIMITED else 0, len(form.text))
                more = add_costs(spare, size)
                if more[0] <= tokens and more[1] <= chars:
                    break
                tokens, chars = max(more[0], tokens), max(more[1], chars)
            elif best is not None:
                break
            else:  # headings, or escapes, made it longer than it is alone
                over = (
                    subtract_costs(cost, limit)
                    if room is None
                    else subtract_costs(host.item_cost(index, form), room)
                )
                if over[0] > 0:
                    tokens = _less(self._counter.count(form.text), start[0], over[0])
                if over[1] > 0:
                    chars = _less(len(form.text), start[1], over[1])
        return best

    def longest_within(
        self, index: int, forms: Sequence[Variant], tokens: float, chars: float
    ) -> Variant | None:
        """Return the longest shorter form found whose text has at most so many tokens and characters, `None`: none."""
        whole = content_variant(forms)
        item = self._items[index]
        if whole.name == "summary" or item.required or tokens <= 0 or chars <= 0:
            return None
        ladder = self.ladder(index, whole)
        if ladder is not None and len(ladder):
            form = self._climb(ladder, tokens, chars)
            if form is not None:
                return form
        # All of it may be within bounds that only headings make too wide: a shorter form is shorter all the same.
        chars = min(chars, len(whole.text) - 1) if chars < UNLIMITED else chars
        if tokens < UNLIMITED:
            tokens = min(tokens, self._counter.count_upto(whole.text, int(tokens)) - 1)
        text = self._cut(whole.text, tokens, chars)
        return Variant("trimmed", text, cut=True) if text else None

    def ladder(self, index: int, whole: Variant) -> TrimmedVariants | None:
        """Return the shorter forms that the structure of an item's text gives; `None`: it has no structure."""
        if self._options.trim != "structure" or whole.cut:
            return None
        if index not in self._ladders:
            self._ladders[index] = self._ladder(index, whole)
        return self._ladders[index]

    def _ladder(self, index: int, whole: Variant) -> TrimmedVariants | None:
        match = self._asked.match(index) if self._asked else None
        if match is not None and self._asked and (pieces := self._asked.pieces(index)):
            return pieces.variants(match)
        item = self._items[index]
        found = find_structure(item.kind, self._language(item), whole.text, self._options.marker)
        return found.variants() if isinstance(found, Pieces) else found

    def _climb(self, ladder: TrimmedVariants, tokens: float, chars: float) -> Variant | None:
        """Return the longest rung within these bounds; from rung to rung texts grow shorter, give or take a mark."""
        low, high, best = 0, len(ladder), None
        while low < high:
            middle = (low + high) // 2
            rung = ladder[middle]
            long = len(rung.text) > chars
            if tokens < UNLIMITED and not long:
                long = self._counter.count_upto(rung.text, int(tokens)) > tokens
            if long:
                low = middle + 1
            else:
                high, best = middle, rung
        return Variant(best.name, best.text) if best is not None and best.text else None

    def _cut(self, text: str, tokens: float, chars: float) -> str:
        """Return the beginning of `text` within these bounds, at the neatest end that wastes little."""
        best = ""
        for unit in UNITS:
            if unit == "character" and best:
                break
            prefix = text
            if tokens < UNLIMITED:
                prefix = self._counter.cut(prefix, int(tokens), unit)
            if chars < UNLIMITED:
                prefix = get_tokenizer("characters").cut(prefix, int(chars), unit)
            prefix = prefix.rstrip()
            if len(prefix) > len(best) and len(prefix) < len(text.rstrip()):
                best = prefix
            if not best:
                continue
            if tokens < UNLIMITED and tokens - self._counter.count(best) <= MAX_UNUSED_TOKENS:
                break
            if chars < UNLIMITED and chars - len(best) <= MAX_UNUSED_TOKENS:
                break
        return best


def _slack(limit: float) -> float:
    return MAX_UNUSED_TOKENS if limit < UNLIMITED else -1


def _less(size: int, room: float, over: float) -> int:
    """Return the size to try after one that came out `over` above the `room` there was thought to be."""
    return min(size - 1, int(size * room / (room + over)))


# Char.IsWhiteSpace of .NET, whose TrimEnd the chunks layout follows; Python's strip would also take U+001C to U+001F.
_WHITE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)

MIN_CHARACTERS_PER_TOKEN = 3
"""Characters of a token: most texts have more, so that what is prepared by it is less than there is room for."""

_SENTINEL = "Quzx"
"""What no template prints of its own accord."""


class Page:
    """What fitting needs to know (it is a `fitting.scale.Scale`), and the finished text. For one rendering only."""

    def __init__(self, candidates: Candidates, setting: Setting) -> None:
        self.setting = setting
        self.look, self.options = look, options = setting.layout, setting.options
        self.settings = settings = look.settings
        self.counter = counter = setting.counter
        self.entries = candidates
        self.shared_end_tokens = 4 if counter.exact else 16
        self._items = candidates.pool
        self.tank = FuelTank()
        """What its templates may do, all in all."""
        self._prices: dict[tuple[int, Variant], Cost] = {}
        self._last: tuple[dict[int, Variant], list[str], Cost] | None = None
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
        titles = [s.title for s in self.sections(candidates)] if look.prints_titles else []
        self.views = ItemViews(self._items, setting, self.separator, titles, self.tank)
        self.notes: CleaningNotes = ()
        """What is to be said of the page around its items."""
        self._twins = ContainedTexts(self._items)
        self._bounds = LowerBounds(
            self._items,
            counter,
            self.shared_end_tokens,
            self._bare,
            json=look.syntax == "json",
            most_chars=options.item_max_chars,
        )
        self._shortener = Shortener(
            self._items, options, counter, setting.language, candidates.asked
        )

    # --- one item ---------------------------------------------------------------------------------------------------

    def variants(self, index: int) -> Sequence[Variant]:
        """Return the whole forms of an item, the longest first."""
        return self.views.variants(index)

    def note_twins(self, fit: Packed, limit: Cost) -> Packed:
        """Note in the metadata of items whose text stands for others' too where these are from, if that fits."""
        also: dict[int, list[Item]] = {}
        for twin, holder in sorted(fit.duplicates.items()):
            also.setdefault(holder, []).append(self._items[twin])
        before = {holder: self._items[holder] for holder in also}
        noted = {holder: with_also_in(item, also[holder]) for holder, item in before.items()}
        cost = fit.cost
        for items in (noted, before):
            for index, item in items.items():
                self._items[index] = item
                self.views.forget(index)
            self._prices = {key: price for key, price in self._prices.items() if key[0] not in also}
            self._last = None
            cost = self.measure(fit.chosen) if fit.chosen else fit.cost
            if fits_within(cost, limit):
                break
        return fit._replace(cost=cost)

    def text(self, index: int, form: Variant) -> str:
        """Return the text of an item in a form, alone."""
        return str(self.views.view(index, form)["text"])

    # --- prices -----------------------------------------------------------------------------------------------------

    def count(self, parts: Sequence[str]) -> int:
        """Return the tokens of the joined parts."""
        return self.counter.count_parts(parts)

    def item_cost(self, index: int, form: Variant) -> Cost:
        """Return what an item costs alone."""
        price = self._prices.get((index, form))
        if price is None:
            text = self.text(index, form)
            price = self._prices[index, form] = (
                self.count([text]) if self._in_tokens else 0,
                len(text),
            )
        return price

    def prepare_costs(self, walk: Sequence[int], room: Cost) -> None:
        """Render the first of `walk`, and then count them: each in a row, while what it works with is at hand."""
        if not self._in_tokens:
            return
        left = MIN_CHARACTERS_PER_TOKEN * room[0]
        batch = []
        for index in walk:
            form = self.variants(index)[0]
            left -= (
                len(form.text)
                + self._bounds.bare(self._items[index].kind).tokens * MIN_CHARACTERS_PER_TOKEN
            )
            if left < 0:
                break
            batch.append((index, form))
        for index, form in batch:
            self.views.view(index, form)
        for index, form in batch:
            self.item_cost(index, form)

    def _bare(self, kind: str) -> EmptyItemCost:
        """Return what an item costs at the least: one with no labels, or one with the shortest, whichever is less."""
        nothing = Item(kind=kind, content="")
        labelled = Item(
            kind=kind, content="", name="a", path="a", language="c", start_line=1, end_line=1
        )

        def tokens(form: Variant) -> int:
            return min(self.count([self.views.bare(item, form)]) for item in (nothing, labelled))

        try:
            shows = all(
                _SENTINEL in self.views.bare(i, Variant("content", _SENTINEL))
                for i in (nothing, labelled)
            )
            return EmptyItemCost(
                tokens(Variant("content", "")), tokens(Variant("trimmed", "", cut=True)), shows
            )
        except (
            TemplateError
        ):  # a template that only items with more than that can have: nothing is known of it
            return NOTHING_KNOWN

    def may_fit(self, index: int, form: Variant, room: Cost) -> bool:
        """Return False where it is cheap to see that the item is more than `room`."""
        if room[0] < 0 or room[1] < 0:
            return False
        return not self._in_tokens or self._bounds.may_fit(
            index, form, room[0], lambda: self.text(index, form)
        )

    def maybe_fitting(self, indices: Sequence[int], room: Cost, trim: bool) -> Sequence[int]:
        """Return those of which it is not cheap to see that no form, nor with `trim` a shorter one, has room."""
        if room[0] < 0 or room[1] < 0:
            return ()
        return self._bounds.maybe_fitting(indices, room[0], trim) if self._in_tokens else indices

    def duplicates(
        self, index: int, chosen: Mapping[int, Variant]
    ) -> tuple[int | None, Sequence[int]]:
        """Return which of `chosen` holds the lines of this item whole, and which of them this item's lines hold."""
        return self._twins.find(index, chosen) if self.options.dedupe else (None, ())

    def measure(self, chosen: Mapping[int, Variant]) -> Cost:
        """Return what the page costs with just these items on it."""
        return self._build(chosen)[2]

    def parts(self, chosen: Mapping[int, Variant]) -> list[str]:
        """Return the finished page with just these items on it, in parts; raises as `Views.check` does."""
        parts = self._build(chosen)[1]
        self.views.check(parts, chosen)
        return parts

    def alone(self, index: int) -> str:
        """Return the text of an item in its longest form, without a page; raises as `parts` does."""
        form = self.variants(index)[0]
        self.views.check([text := str.__str__(self.text(index, form))], {index: form})
        return text

    def _build(self, chosen: Mapping[int, Variant]) -> tuple[dict[int, Variant], list[str], Cost]:
        if self._last is None or self._last[0] != chosen:
            parts = self.render(chosen)
            cost = (self.count(parts) if self._in_tokens else 0, sum(map(len, parts)))
            self._last = (dict(chosen), parts, cost)
        return self._last

    def shorten(
        self, index: int, chosen: Mapping[int, Variant], limit: Cost, room: Cost | None = None
    ) -> tuple[Variant, Cost] | None:
        """Return the longest shorter form of an item that fits beside `chosen`, and what the page costs then."""
        return self._shortener.shorten(index, chosen, limit, self, room)

    def longest_within(self, index: int, tokens: float, chars: float) -> Variant | None:
        """Return the longest shorter form whose text alone is within these bounds; `None` if there is none."""
        return self._shortener.longest_within(index, self.variants(index), tokens, chars)

    def extractor(self) -> QueryPassages | None:
        """Return what the query makes of the pieces of the candidates; `None` where whole items are packed."""
        asked, options = self.entries.asked, self.options
        wanted = (options.packing, options.rerank, options.trim) == (
            "score",
            "keyword_boost",
            "structure",
        )
        if asked is None or not asked.tells or not wanted:
            return None
        return QueryPassages(asked, self.counter, self.variants, self.item_cost)

    # --- the page ---------------------------------------------------------------------------------------------------

    def sections(self, indices: Iterable[int], by: str | None = None) -> list[Section]:
        """Return these items in sections, in the order of the page."""
        return group_entries(
            self.entries.some(indices),
            self.by if by is None else by,
            order=self.options.order,
            first=self.settings.sections,
            titles=self.settings.titles,
        )

    def walk(self, indices: Iterable[int]) -> list[int]:
        """Return these items as the layout groups them, the best first in each group: `order` has no say in it."""
        sections = group_entries(self.entries.some(indices), self.by, first=self.settings.sections)
        return [entry.index for entry in flatten_sections(sections)]

    def render(self, chosen: Mapping[int, Variant], *, only: str | None = None) -> list[str]:
        """Return the parts of the page; `only` leaves just the items of one origin on it."""
        indices = chosen if only is None else [i for i in chosen if self._items[i].origin == only]
        sections = self.sections(indices)
        variables: dict[str, Any] = dict(self._around)
        variables["items"] = [
            self.views.view(e.index, chosen[e.index]) for e in flatten_sections(sections)
        ]
        variables["total"] = len(self.entries)
        variables["sources"] = self._sources(sections) if self.options.sources else None
        uses = self.look.page_uses
        if "sections" in uses:
            variables["sections"] = self._shown_sections(sections, chosen)
        for origin in ("explicit", "similarity"):
            if origin in uses:
                these = self.sections([i for i in indices if self._items[i].origin == origin])
                variables[origin] = self._shown_sections(these, chosen)
        self.notes = ()
        printed = self.look.render_page(variables, self.tank)
        parts = self.mend(printed.pieces, chosen)
        self.notes += template_line_notes(printed.imitations)
        if self.settings.trim_end:
            while parts:
                parts[-1] = parts[-1].rstrip(_WHITE)
                if parts[-1]:
                    break
                parts.pop()
        return parts

    def mend(self, parts: list[str], chosen: Mapping[int, Variant]) -> list[str]:
        """Return the parts of the page of `chosen` with no control token where they meet."""
        if self.views.joints is None:
            return parts
        settled = {id(self.views.view(index, form)["text"]) for index, form in chosen.items()}
        parts, apart, left = self.views.joints.break_up(parts, settled)
        self.notes = tuple(
            (code, f"where texts meet on the page, {message}")
            for code, message in control_token_notes(apart, left)
        )
        return parts

    def _shown_sections(
        self, sections: list[Section], chosen: Mapping[int, Variant]
    ) -> list[Fields]:
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
            Fields(citation(self.views.written_apart(entry.item)[0]))
            for entry in flatten_sections(sections)
        ]

    def _apart(self, text: str, key: str) -> str:
        """Return the key or title of a section; what a layout calls it is the layout's."""
        if key in self.settings.titles:
            return Safe(text) if self.look.syntax == "txt" else text
        joints = self.views.joints
        return text if joints is None else joints.controls.break_up(text)[0]
