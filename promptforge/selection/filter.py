"""Choose the candidates among the items: filter, drop duplicates, rank."""

from __future__ import annotations

import heapq
import math
from array import array
from calendar import timegm
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableSequence, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, islice
from operator import attrgetter, is_, is_not
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ..config.options import Options
from ..errors import Diagnostics, OptionError, quote
from ..model import (
    Item,
    Language,
    ScoreOrder,
    closeness,
    item_id,
    meaning_of,
    read_date,
    readable_text,
)
from ..packing.packings import PACKINGS
from ..reasons import COMBINE, KINDS, LANGUAGES, MAX_AGE, MIN_WORTH, PATHS, Reason
from ..text.format import plural, to_text
from ..text.words import late_property, read_patterns, take_folders_back, terms_of_text
from ..trimming.kinds import Trimmers, without_empty_lines
from .group import Entry, cut_apart, cut_near_equal, drop_duplicates, tail_of

if TYPE_CHECKING:
    from .query import Question, Relevance
    from .scoring import Embed, Reranker

MAX_CANDIDATES_DIVERSIFIED = 1_000
"""Candidates that `rerank: mmr` compares with each other: the best."""
MAX_CHARS_CUT_APART = 1 << 24
"""Characters of texts that are looked through for what they have in common: the best."""
MIN_CHARS_CUT_APART = 1 << 18
"""The same in a small budget: a larger one that is tried later finds them as a rendering would."""
PROSE = (None, "asciidoc", "markdown", "rst", "text")
"""Languages in which a text without some of its paragraphs is still valid."""
MAX_ITEMS_CHANGED = 64
"""With more changed items, columns are read anew."""
ITEMS_READ_TOGETHER = 1000
"""Items read at once, one column after the other."""
CHARS_READ_PER_SECOND, MIN_SECONDS_FOR_COMMENTS = 50_000, 2
"""Time for finding comments. Pygments reads 400,000 characters of Ruby in a second, and two million
of C; of crafted HCL 8,000 in two."""
_CONTENT, _METADATA, _SCORE_ORDER = map(attrgetter, ("content", "metadata", "score_order"))
SECONDS_PER_DAY = 86_400
FUSION_CONSTANT = 61
"""Constant of reciprocal rank fusion: how little the very first ranks outweigh the next."""


class _Texts(NamedTuple):
    lengths: array[int]
    """The characters of each."""
    tails: dict[str, None]
    """The ends of all. Unlike a set, a dict of texts is not visited when garbage is collected."""


class _Distinct(NamedTuple):
    """The items without duplicates and what texts share: no query changes these."""

    key: tuple[object, ...]
    parts: Sequence[object]
    """The objects that the given items are made of."""
    made: list[Item]
    dropped: dict[int, str]
    merged: dict[int, int]
    said: Diagnostics


def parts_of(items: list[Item]) -> Sequence[object]:
    """Return the objects that items are made of: they are frozen, but a caller's metadata is not.

    Metadata that is not flat was copied when it was loaded.
    """
    if not any(map(_METADATA, items)):
        return items
    parts: list[object] = []
    for item in items:
        parts.append(item)
        for pair in item.metadata.items():
            parts += pair
    return parts


def are_same(parts: Sequence[object], others: Sequence[object]) -> bool:
    """Tell by identity whether objects are the same: 1, 1.0 and True are equal as well."""
    return len(parts) == len(others) and all(map(is_, parts, others))


class Columns:
    """Fields of all items, each read at once, and once: of 100,000 items each pass is felt."""

    def __init__(self, items: list[Item]) -> None:
        self.items = items
        self.overrides: Mapping[int, str] = {}
        """Index of an item → the user's word on it."""
        self.distinct: _Distinct | None = None

    def _read(self, name: str) -> Iterator[Any]:
        return map(attrgetter(name), self.items)

    def updated(self, items: list[Item]) -> Columns | None:
        """Return the columns of a list with a few other items in places of these, else None.

        An item is frozen but for its metadata, and no column looks at that.
        """
        if len(items) != len(self.items):
            return None
        changed = compress(range(len(items)), map(is_not, items, self.items))
        places = list(islice(changed, MAX_ITEMS_CHANGED + 1))
        if len(places) > MAX_ITEMS_CHANGED:
            return None
        columns, known = Columns(items), self.__dict__
        if known.get("_texts"):
            lengths, tails = known.pop("_texts")
            columns._texts = _Texts(lengths[:], tails)
            for place in places:
                tails.pop(tail_of(self.items[place].content or ""), None)
                columns.lengths[place] = len(items[place].content or "")
            tails |= {tail_of(items[place].content or ""): None for place in places}
        columns.distinct = self.distinct
        return columns

    @property
    def all_differ(self) -> bool:
        """True if it is cheap to see that each item has a content, and no two are equal."""
        tails = self._texts.tails
        return len(tails) == len(self.items) and "" not in tails

    @late_property
    def every_kind(self) -> frozenset[str]:
        """The kinds that there are."""
        return frozenset(self._read("kind"))

    @property
    def lengths(self) -> array[int]:
        """The characters of each content; 0 without one."""
        return self._texts.lengths

    @late_property
    def _texts(self) -> _Texts:
        lengths, tails = array("q"), list[str]()
        # Some at a time: so the head of each text is read from memory once. Hashing 48 characters
        # of each costs far less than hashing texts of a megabyte.
        for start in range(0, len(self.items), ITEMS_READ_TOGETHER):
            part = self.items[start : start + ITEMS_READ_TOGETHER]
            contents = [text or "" for text in map(_CONTENT, part)]
            lengths += array("q", list(map(len, contents)))
            tails += map(tail_of, contents)
        return _Texts(lengths, dict.fromkeys(tails))

    @late_property
    def scores(self) -> array[float]:
        """The score of each."""
        # Numbers of a list lie all over the memory, and each collection of garbage visits them all.
        return array("d", list(self._read("score")))

    @late_property
    def origins(self) -> frozenset[str]:
        """The origins that there are."""
        return frozenset(self._read("origin"))

    @late_property
    def requires(self) -> bool:
        """True if any item is required."""
        return True in self._read("required")

    @late_property
    def has_metadata(self) -> bool:
        """True if any item has metadata."""
        return any(map(_METADATA, self.items))

    @late_property
    def names(self) -> bool:
        """True if any item is shown at least in short."""
        return "explicit" in self.origins and {*self._read("named")} != {False}

    @late_property
    def plain(self) -> bool:
        """True if each has a content and no other variant."""
        expanded = list(self._read("expanded"))
        return not self.summarized and expanded.count(None) == len(expanded)

    @late_property
    def summarized(self) -> list[int]:
        """The items with a summary."""
        summaries = list(self._read("summary"))
        if summaries.count(None) == len(summaries):
            return []
        return [index for index, summary in enumerate(summaries) if summary is not None]


@dataclass(frozen=True, eq=False)
class Candidates(Mapping[int, Entry]):
    """The candidates by index, in the caller's order; entries are made on demand."""

    pool: list[Item]
    """All given items, by index."""
    ranks: MutableSequence[float]
    """The rank of each item, by index; the best is the highest."""
    kept: Sequence[int]
    """The indices of the candidates."""
    dropped: dict[int, str]
    """Index of an item → reason why it is no candidate."""
    asked: Relevance | None = None
    """The candidates in the light of the query; `None` without one."""
    merged: Mapping[int, int] = field(default_factory=dict)
    """Index of a range that was given twice → the item that is kept of it."""
    shared_comments: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    """Index of a file → the place of a comment that another file shows; without a query only."""
    holders: Mapping[str, int] = field(default_factory=dict)
    """Word → the number of files that hold it, where files are ranked by importance."""
    given: Columns | None = None
    """The items as they were given."""

    @late_property
    def columns(self) -> Columns:
        """The fields of all that were given."""
        return self.given or Columns(self.pool)

    @property
    def overrides(self) -> Mapping[int, str]:
        """Index of an item → the user's word on it."""
        return self.columns.overrides

    def __getitem__(self, index: int) -> Entry:
        if index in self.dropped or not 0 <= index < len(self.pool):
            raise KeyError(index)
        return Entry(index, self.pool[index], self.ranks[index])

    def some(self, indices: Iterable[int]) -> list[Entry]:
        """Return the entries of some indices, which are known to be candidates."""
        pool, ranks = self.pool, self.ranks
        return [Entry(index, pool[index], ranks[index]) for index in indices]

    def __iter__(self) -> Iterator[int]:
        return iter(self.kept)

    def __len__(self) -> int:
        return len(self.kept)

    def newest_first(self, indices: Sequence[int]) -> Sequence[int]:
        """Return indices with the files that were changed last first: so ties are broken."""
        if not indices or not self.columns.has_metadata:
            return indices
        ages = {index: self.pool[index].metadata.get("commits_ago") for index in indices}
        known = {index: age for index, age in ages.items() if isinstance(age, int)}
        return sorted(indices, key=lambda index: known.get(index, math.inf)) if known else indices

    def without(self, dropped: Mapping[int, str]) -> Candidates:
        """Return the candidates without some, given with their reasons."""
        kept = [index for index in self.kept if index not in dropped]
        return replace(self, kept=kept, dropped={**self.dropped, **dropped})


class _CommentRemover:
    """Removes comments while the processor time for it lasts; one text takes half of it at most."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._left = clock, float(MIN_SECONDS_FOR_COMMENTS)
        self.late = 0
        """Texts that would have taken longer, and were kept."""

    def remove(self, text: str, language: str | None) -> str | None:
        """Return what `without_comments` does, or the text as it is."""
        self._left += len(text) / CHARS_READ_PER_SECOND
        begun, most = self._clock(), self._left / 2
        from ..trimming.comments import without_comments

        try:
            return without_comments(text, language, lambda: self._clock() - begun > most)
        except TimeoutError:
            self.late += 1
            return text
        finally:
            self._left = max(0, self._left + begun - self._clock())


def reduce_items(
    items: list[Item],
    options: Options,
    language: Language,
    trimmers: Trimmers,
    diagnostics: Diagnostics,
    clock: Callable[[], float],
    overrides: Mapping[int, str] = MappingProxyType({}),
) -> list[Item]:
    """Return items without what `outline`, `clean`, `comments` and `empty_lines` leave out.

    `clock` tells the seconds that comments have taken to find. Raises `OptionError` together with
    `lines: each`: the lines would have other numbers.
    """
    outlined = {index for index, word in overrides.items() if word == "outline"}
    every = not (options.comments and options.empty_lines) or options.outline or options.clean
    if not (every or outlined):
        return items
    if options.number_lines:
        message = (
            "lines: each takes whole texts: not with outline, clean, no comments or no empty lines"
        )
        raise OptionError(message, option="lines")
    whole = dict.fromkeys(("outline", "comments"), 0)
    remover = _CommentRemover(clock)

    def reduced(text: str | None, item: Item, outline: bool) -> str | None:
        if not text:
            return text
        found: str | None
        if options.clean and "html" in (item.kind, language(item)):
            main_part = trimmers.compact(item.kind, "html", text)
            text = main_part.text if main_part else text
        if outline:
            from ..trimming.pieces import outline_of

            found = outline_of(text, item.kind, language(item), trimmers)
            whole["outline"] += found is None
            text = text if found is None else found
        if not options.comments:
            # By its name: a guess by the content would take away what is no comment.
            named = language(msgspec.structs.replace(item, content=None, summary=None))
            found = remover.remove(text, named)
            whole["comments"] += found is None
            text = text if found is None else found
        return text if options.empty_lines else without_empty_lines(text)

    made = list(items)
    for index in range(len(items)) if every else outlined:
        item, outline = items[index], options.outline or index in outlined
        content, expanded = (reduced(text, item, outline) for text in (item.content, item.expanded))
        made[index] = msgspec.structs.replace(item, content=content, expanded=expanded)
    _say_kept(whole, diagnostics)
    if remover.late:
        texts = plural(remover.late, "text", "texts")
        diagnostics.add("PF127", f"{texts} with comments that take too long to find: kept")
    return made


def _say_kept(whole: Mapping[str, int], diagnostics: Diagnostics) -> None:
    said = {"outline": "no outline", "comments": "no comments that can be told for sure"}
    for name, count in whole.items():
        if count:
            texts = plural(count, "text", "texts")
            diagnostics.add("PF123", f"{texts} with {said[name]}: shown as before", severity="info")


def select(
    columns: Columns,
    options: Options,
    language: Language,
    trimmers: Trimmers,
    diagnostics: Diagnostics,
    embed: Embed | None = None,
    reranker: Reranker | None = None,
) -> Candidates:
    """Return the candidates among the items of `columns`.

    `language` gives an item's language, and is called only where it matters; `embed` and
    `reranker` are the caller's own.
    """
    left = columns.items
    dropped = _refused(columns, _Asked(left, options, language, diagnostics))
    kept = _still(range(len(left)), dropped)
    ranks = rank_items(columns, options.score_order)
    merged: Mapping[int, int] = {}
    shared_comments: dict[int, tuple[int, int]] = {}
    holders: Mapping[str, int] = {}
    if options.dedupe:
        asking = _Asked(left, options, language, diagnostics)
        distinct = _find_distinct(columns, kept, ranks, asking, trimmers.marks.gap)
        left, merged = distinct.made, distinct.merged
        dropped |= distinct.dropped
        diagnostics.extend(distinct.said)
        kept = _still(kept, distinct.dropped)
    asked: Relevance | None = None
    order = kept
    if kept and options.queries:
        from .query import Question, relate

        order = sorted(kept, key=ranks.__getitem__, reverse=True)
        ranked = {index: ranks[index] for index in order}
        question = Question(options.queries, left, ranked, language, trimmers, embed, reranker)
        asked = relate(_kind_of_relevance(question), question)
        others = [index for index in kept if index not in columns.overrides]
        _drop_low_worth(asked, left, others, options.min_worth, dropped)
        kept = _still(kept, dropped)
    has_evidence = asked is not None and asked.has_evidence
    if asked and has_evidence and options.rerank != "none":
        asked.rank(ranks)
    if options.packing == "repository" and not has_evidence:
        # A query that no file has a word of says nothing: the files rank as without one.
        from .repository import find_shared_comments

        holders = _rank_by_importance(left, kept, ranks, options, language)
        places = find_shared_comments([left[index] for index in kept])
        shared_comments = {i: place for i, place in zip(kept, places, strict=True) if place[1]}
    if kept and options.rerank == "mmr":
        # Stable: items of equal worth keep the order of their old ranks.
        _diversify(left, sorted(order, key=ranks.__getitem__, reverse=True), ranks, embed)
    about = (asked, merged, shared_comments, holders)
    return Candidates(left, ranks, kept, dropped, *about, given=columns)


def _refused(columns: Columns, asking: _Asked) -> dict[int, str]:
    """Return the items that the filters refuse, by their reasons; but for the user's own words."""
    dropped: dict[int, str] = {}
    _filter(asking, dropped)
    if asking.options.min_score:
        from .thresholds import drop_low_scores

        kept = _still(range(len(asking.items)), dropped)
        drop_low_scores(asking.items, kept, asking.options, dropped, asking.diagnostics)
    if columns.overrides:
        from .overrides import let_in

        let_in(columns.overrides, dropped)
    return dropped


def _find_distinct(
    columns: Columns, kept: Sequence[int], ranks: array[float], asked: _Asked, gap: str
) -> _Distinct:
    """Drop duplicates, and show what texts have in common once, in the best; say it of those."""
    options, items = asked.options, columns.items
    most: float = MAX_CHARS_CUT_APART
    way, tokens = PACKINGS[options.packing], options.max_tokens or most
    if options.queries:
        most /= 4
    elif way.best_first and not way.together:  # far behind the last with room, none has any
        room = 4 * min(4 * tokens, options.max_chars or most)
        most = min(most, max(room, MIN_CHARS_CUT_APART))
    merges = options.merge_overlaps
    # Ranks are replaced by those of the query later.
    key = kept, ranks[:], merges, most if merges else 0, asked.language, gap
    parts, found = parts_of(items), columns.distinct
    if found is not None and found.key == key and are_same(found.parts, parts):
        return found
    found = columns.distinct = _Distinct(key, parts, list(items), {}, {}, Diagnostics())
    if not (len(kept) == len(items) and columns.all_differ):
        texts = [item.content or item.summary or "" for item in items]
        joined = found.merged if merges else None
        drop_duplicates(found.made, texts, kept, ranks, found.dropped, joined)
    if merges:
        ranked = sorted(_still(kept, found.dropped), key=ranks.__getitem__, reverse=True)
        ranked.sort(key=lambda index: not found.made[index].required)
        _find_shared(found, ranked, most, asked, gap)
    return found


def _find_shared(found: _Distinct, ranked: list[int], most: float, asked: _Asked, gap: str) -> None:
    items, dropped, diagnostics = found.made, found.dropped, found.said
    count = cut_apart(items, ranked, dropped, most)
    if count:
        texts = plural(count, "text begins or ends", "texts begin or end")
        message = f"{texts} as a better one of its source ends or begins: that part is shown once"
        diagnostics.add("PF131", message, severity="info")
    left = _still(ranked, dropped)
    count = cut_near_equal(
        items, left, dropped, most, lambda item: asked.language(item) in PROSE, gap
    )
    if count:
        texts = plural(count, "text nearly equals a better one", "texts nearly equal better ones")
        message = f"{texts}: only the paragraphs that differ are shown"
        diagnostics.add("PF131", message, severity="info")


def _drop_low_worth(
    asked: Relevance,
    items: Sequence[Item],
    kept: Sequence[int],
    share: float | None,
    dropped: dict[int, str],
) -> None:
    if not share or not asked.has_evidence:
        return
    worths = asked.worths()
    least = share * max(worths.values(), default=0.0)
    for index in kept:
        item = items[index]
        low = index not in worths or worths[index] < least
        if low and item.origin == "similarity" and not item.required:
            dropped[index] = MIN_WORTH.name


def combine(candidates: Candidates, options: Options) -> Candidates:
    """Apply `combine`: found items give way to named ones in all modes but `combined`."""
    items = candidates.pool
    if options.combine == "combined" or "similarity" not in candidates.columns.origins:
        return candidates
    named = any(items[i].origin == "explicit" for i in candidates.kept)
    if not named and options.combine != "explicit_only":
        return candidates
    found = (i for i in candidates.kept if items[i].origin != "explicit" and not items[i].required)
    return candidates.without(dict.fromkeys({*found} - {*candidates.overrides}, COMBINE.name))


def _rank_by_importance(
    items: Sequence[Item],
    kept: Sequence[int],
    ranks: MutableSequence[float],
    options: Options,
    language: Language,
) -> Mapping[str, int]:
    """Rank items of equal score by importance; scores that differ are the caller's word.

    Return the number of files that hold each word.
    """
    characters = sum(len(items[index].content or "") for index in kept)
    # Where each character may be a token, and all fit, there is nothing to choose.
    needless = options.max_chars is None and characters <= (options.max_tokens or math.inf)
    if needless or len({ranks[index] for index in kept}) > 1:
        return {}
    from .repository import file_importance

    found = file_importance([items[index] for index in kept], language)
    for index, number in zip(kept, found.ranks, strict=True):
        ranks[index] = number
    return found.holders


def is_file(item: Item) -> bool:
    """Tell whether an item may be a file of a repository."""
    return bool(item.path) and item.kind in ("code", "file", "diff")


def _kind_of_relevance(asked: Question) -> Callable[[Question], Relevance]:
    """Return the class for the candidates: files, programs among them, that no score tells apart
    are a repository, whatever else was named beside its folder: a log, a document.
    """
    from .query import QueryRelevance

    if asked.embed or asked.reranker or len(asked.ranked) < 2 or len({*asked.ranked.values()}) > 1:
        return QueryRelevance
    with_path = [item for item in map(asked.items.__getitem__, asked.ranked) if item.path]
    files = [item for item in with_path if not item.named] or with_path
    if all(map(is_file, files)) and any(item.kind == "code" for item in files):
        from .repository import RepositoryRelevance

        return RepositoryRelevance
    return QueryRelevance


def _diversify(
    items: Sequence[Item], order: Sequence[int], ranks: MutableSequence[float], embed: Embed | None
) -> None:
    """Rank the best anew by MMR; the others keep their order after them."""
    from .scoring import embed_all

    best = order[:MAX_CANDIDATES_DIVERSIFIED]
    texts = [readable_text(items[index]) for index in best]
    vectors = embed_all(embed, texts) if embed else None
    numbers = diversify([ranks[index] for index in best], texts, vectors=vectors)
    for place, index in enumerate(
        [*(best[number] for number in numbers), *order[MAX_CANDIDATES_DIVERSIFIED:]]
    ):
        ranks[index] = float(len(order) - place)


def _still(kept: Sequence[int], dropped: Mapping[int, str]) -> Sequence[int]:
    if not dropped:  # the usual case: a million indices are not copied
        return kept
    return [index for index in kept if index not in dropped]


_Keeps = Callable[[Item], bool]
"""True for an item that a filter keeps."""


class _Asked(NamedTuple):
    items: Sequence[Item]
    """All items given."""
    options: Options
    language: Language
    diagnostics: Diagnostics


def _keep_kinds(asked: _Asked) -> _Keeps:
    kinds = frozenset(asked.options.kinds or ())
    return lambda item: item.kind in kinds


def _keep_paths(asked: _Asked) -> _Keeps:
    spec = read_patterns(take_folders_back(asked.options.paths or ()))
    return lambda item: bool(item.path) and spec.match_file(item.path or "")


def _keep_languages(asked: _Asked) -> _Keeps:
    wanted, language = frozenset(map(str.lower, asked.options.languages or ())), asked.language
    return lambda item: (language(item) or "").lower() in wanted


def _day_of(value: object) -> int | None:
    """Return the number of the day of an ISO 8601 date, in UTC if it names a zone, else None."""
    # A number may be a year or seconds: only a text is a date for sure.
    date = read_date(value) if isinstance(value, str) else None
    if date is None:
        return None
    try:
        return timegm(date.utctimetuple()) // SECONDS_PER_DAY
    except OverflowError:  # the first hours of the year 1, east of Greenwich
        return None


def _keep_recent(asked: _Asked) -> _Keeps:
    """Judge dates by the newest one: a text depends on no clock."""
    days: dict[Any, int] = {}
    unreadable: list[Item] = []
    for item in asked.items:
        value = item.metadata.get("date")
        day = _day_of(value)
        if day is not None:
            days[value] = day
        elif value not in (None, ""):
            unreadable.append(item)
    if unreadable:
        first = unreadable[0]
        shown = quote(to_text(first.metadata["date"]), 60)
        message = plural(len(unreadable), "item has a date", "items have dates")
        message += f" that max_age cannot read and so keeps: {shown}"
        message += "; write metadata.date as 2026-11-05 or 2026-11-05T09:30:00Z"
        place = first.path or first.name
        asked.diagnostics.add("PF202", message, item=item_id(first), where=place)
    elif not days and asked.items:
        message = "max_age drops no item: none has a date; give one as metadata.date: 2026-11-05"
        asked.diagnostics.add("PF201", message)
    oldest = max(days.values(), default=0) - (asked.options.max_age or 0)

    def keep(item: Item) -> bool:
        value = item.metadata.get("date")
        return not isinstance(value, str) or days.get(value, oldest) >= oldest

    return keep


FILTERS: Mapping[Reason, Callable[[_Asked], _Keeps]] = {
    KINDS: _keep_kinds,
    PATHS: _keep_paths,
    LANGUAGES: _keep_languages,
    MAX_AGE: _keep_recent,
}
"""Reason → its filter. It works where its option has a value; the first that drops an item is the
reason."""


def _filter(asked: _Asked, dropped: dict[int, str]) -> None:
    values = {reason: getattr(asked.options, reason.name) for reason in FILTERS}
    keeps = {r.name: FILTERS[r](asked) for r, value in values.items() if value not in (None, ())}
    if not keeps:
        return
    # A required item passes every filter, as it must appear whole.
    for index, item in enumerate(asked.items):
        reason = next((name for name, keep in keeps.items() if not keep(item)), None)
        if reason and not item.required:
            dropped[index] = reason


def rank_items(columns: Columns, score_order: ScoreOrder) -> array[float]:
    """Return the rank of each item, the best the highest: its number, or its place in a search.

    Numbers of several meanings do not compare: then each found item's rank is its place among
    those of the same meaning, as reciprocal rank fusion has it, from 1 down.
    """
    ranks = columns.scores[:]
    if score_order == "given" and {*map(_SCORE_ORDER, columns.items)} <= {"higher"}:
        return ranks
    sides: dict[ScoreOrder, list[int]] = {}
    for index, item in enumerate(columns.items):
        if item.origin == "similarity":
            sides.setdefault(meaning_of(item, score_order), []).append(index)
    for meaning, found in sides.items():
        if meaning == "lower":
            for index in found:
                ranks[index] = closeness(columns.items[index].score)
        if meaning != "given":
            found.sort(key=ranks.__getitem__, reverse=True)
        if meaning == "given" or len(sides) > 1:
            for place, index in enumerate(found):
                ranks[index] = FUSION_CONSTANT / (FUSION_CONSTANT + place)
    return ranks


# --- maximal marginal relevance (MMR) -------------------------------------------------------------

RELEVANCE_SHARE = 0.7
"""The share of relevance against novelty: λ of Carbonell and Goldstein, "The use of MMR,
diversity-based reranking for reordering documents and producing summaries" (SIGIR 1998). They found
0.3 good for a first sampling, and 0.7 for a reader who wants the relevant ones."""
MAX_CHARACTERS_COMPARED = 4000
"""Characters of a text that are compared; the beginning of a text shows its subject."""
MAX_CHOSEN_COMPARED = 50
"""Candidates that are chosen with regard to each other; the others keep the value they had then."""
_Likeness = Callable[[int, int], float]


def diversify(
    scores: Sequence[float],
    texts: Sequence[str],
    *,
    vectors: Sequence[Sequence[float]] | None = None,
) -> list[int]:
    """Return the indices of the candidates, the best first, each new beside those before it.

    `scores` are brought to 0…1, so their scale does not matter; of equals the earlier comes first.
    Likeness is the cosine of the words, or of the caller's `vectors`: one a text, all of one
    length. A candidate is compared only when it may be the next.
    """
    likeness = _likeness(texts, vectors)
    relevance = _to_unit_range(scores)
    # A lazy heap. Likeness to the chosen only grows as they become more, so the value that a
    # candidate had before is an upper bound: it is computed anew only on top of the heap.
    heap = [(-RELEVANCE_SHARE * share, index, 0, 0.0) for index, share in enumerate(relevance)]
    heapq.heapify(heap)
    chosen: list[int] = []
    while heap:
        bound, index, seen, like = heapq.heappop(heap)
        for other in chosen[seen:MAX_CHOSEN_COMPARED]:
            like = max(like, likeness(index, other))
        value = -bound
        if len(chosen) <= MAX_CHOSEN_COMPARED:
            value = RELEVANCE_SHARE * relevance[index] - (1 - RELEVANCE_SHARE) * like
        if heap and (-value, index) > heap[0][:2]:
            heapq.heappush(heap, (-value, index, len(chosen), like))
        else:
            chosen.append(index)
    return chosen


def _to_unit_range(scores: Sequence[float]) -> list[float]:
    known = [score for score in scores if math.isfinite(score)]
    low, high = min(known, default=0.0), max(known, default=0.0)
    if low == high:  # only infinities and NaN differ from the one finite score
        return [float(score >= low) for score in scores]
    shares = []
    for score in scores:
        if math.isnan(score):
            shares.append(0.0)
        else:
            shares.append(min(1.0, max(0.0, (score - low) / (high - low))))
    return shares


def _likeness(texts: Sequence[str], vectors: Sequence[Sequence[float]] | None) -> _Likeness:
    if vectors is not None:
        from .scoring import cosine

        return lambda a, b: cosine(vectors[a], vectors[b])
    words = [frozenset(terms_of_text(text[:MAX_CHARACTERS_COMPARED])) for text in texts]

    def by_words(a: int, b: int) -> float:
        sizes = len(words[a]) * len(words[b])
        return len(words[a] & words[b]) / math.sqrt(sizes or 1)

    return by_words
