"""Views of items: all that templates see of an item, its printed text included.

A view is made once for an item in a variant and remembered, also from one rendering to the next.
`LanguageTags` tells the tag to print as an item's language. `Setting` is what the pages of one
rendering share.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import lru_cache, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ..config.layouts import LayoutSettings
from ..config.options import Options
from ..model import NO_SCORE, Item, Language, closeness, meaning_of
from ..packing.types import Variant
from ..selection.group import without
from ..syntax.contents import CleanedContent, clean_content
from ..syntax.plain_syntax import plain_line
from ..syntax.syntax import VERBATIM
from ..templating.language import Fields, OpenFields
from ..templating.limits import NO_CHANGES, Changes, FuelTank, count_chars
from ..templating.loader import Layout
from ..text.delimiters import check_delimiters
from ..text.escape import Content, LoneMarker, VerbatimContent
from ..text.format import Marks, append_marker, number_lines
from ..text.languages import language_of
from ..text.words import late_property
from ..tokenizers.counters import Counter
from ..trimming.kinds import Trimmers, language_by_content

if TYPE_CHECKING:
    from ..text.control_tokens import ControlTokens, TokenBreaker


class LanguageTags:
    """Tell languages by the tags of a profile; remember results by path and kind."""

    _PRINTED = ("console", "csv", "diff", "json", "listing", "log", "man", "traceback", "tsv")

    def __init__(self, tags: Mapping[str, str]) -> None:
        """Take kinds (`man_page`), extensions (`.el`) and languages with the tags to print."""
        self._tags = tags
        self._find = lru_cache(maxsize=10_000)(self._find_tag)

    def tags(self, options: Options, settings: LayoutSettings) -> Language:
        """Return the function that gives an item's tag, or None for no tag."""
        only = tuple(sorted(settings.languages.items())) if settings.languages is not None else None
        forced = options.fence_language

        def tag(item: Item) -> str | None:
            if forced:
                return forced
            own = item.language
            if own is None:
                return self._find(item.kind, item.path or "", only)
            return None if own == "none" else self._tags.get(own, own)

        return tag

    def languages(self, item: Item) -> str | None:
        """Return the language of an item's text: its own, its file's, or what its content shows."""
        by_path = self._find("", item.path, None) if item.path else None
        own = by_path if item.language is None else self._tags.get(item.language, item.language)
        is_text = own == by_path == "text"
        if own and not is_text:
            return None if item.language == "none" else own
        # Documents are Markdown where nothing shows it; such a text is read as any other.
        by_kind = self._tags.get(item.kind)
        if by_kind not in (None, "markdown"):
            return by_path or by_kind
        text = item.content or item.summary
        found = language_by_content(item.kind, text) if text else None
        if is_text:  # a name such as `out.txt` tells less than what a program wrote into it
            return found if found in self._PRINTED else by_path
        return found or (by_kind and "text") if text else by_kind

    def _find_tag(
        self, kind: str, path: str, only: tuple[tuple[str, str], ...] | None
    ) -> str | None:
        extension = path.rpartition(".")[2].lower()
        if only is not None:
            return dict(only).get(extension)
        found = None
        if path:
            found = self._tags.get(f".{extension}") or language_of(path)
        return self._tags.get(found or "", found) or self._tags.get(kind)


CleaningNotes = tuple[tuple[str, str], ...]


RememberedViews = dict[object, tuple[Fields, CleaningNotes]]
"""Views by item, of pages that share all else."""


class ViewMemory(dict[tuple[object, ...], RememberedViews]):
    """Views from one rendering to the next: by what the items share, then by item."""

    def __init__(self) -> None:
        super().__init__()
        self._room = MAX_VIEW_CHARS

    def views(self, shared: tuple[object, ...]) -> RememberedViews:
        """Return the views of pages that share this."""
        found = self.get(shared)
        if found is None:
            self._make_room(CHARS_OF_FIELDS)
            found = self.setdefault(shared, {})
        return found

    def put(
        self, views: RememberedViews, key: object, made: tuple[Fields, CleaningNotes], chars: int
    ) -> None:
        """Remember a view of a content of so many characters, if that leaves room for others."""
        # The content is there three times: as it was given, cleaned, and printed.
        size = CHARS_OF_FIELDS + 2 * chars + len(made[0]["text"])
        if size <= MAX_VIEW_CHARS // 4:
            self._make_room(size)
            views[key] = made

    def _make_room(self, size: int) -> None:
        self._room -= size
        if self._room < 0:  # list(): another thread may add to the memory meanwhile
            for views in list(self.values()):
                views.clear()
            self.clear()
            self._room = MAX_VIEW_CHARS - size


MAX_VIEW_CHARS = 1 << 24
CHARS_OF_FIELDS = 2048
"""A view takes about as much memory as so many characters, beside its content."""
MAX_PAGE_CHARS = 20
"""Characters of a page's label, such as `xii`; what is longer is no page."""
_VISIBLE_FIELDS = attrgetter(
    "kind",
    "id",
    "name",
    "path",
    "url",
    "start_line",
    "end_line",
    "score",
    "score_order",
    "origin",
    "summary",
)


@dataclass(frozen=True)
class Setting:
    """The common ground of the pages of one rendering."""

    layout: Layout
    options: Options
    counter: Counter
    tag: Language
    language: Language
    memory: ViewMemory = field(default_factory=ViewMemory)
    controls: ControlTokens | None = None
    """With these no control token comes out of an item, nor out of two texts that meet."""
    nonce: str | None = None
    """With a nonce, contents stand verbatim between tags that carry it."""
    listed: Sequence[str] = ()
    """Paths of files that lie beside the items and were not read, for the tree."""
    apart: bool = False
    """True where each item is sent apart: contents are not marked."""
    tight: bool = False
    """True where blanks of the templates that mean nothing are left out: they leave items room."""

    @late_property
    def trimmers(self) -> Trimmers:
        """The ways to shorten items, in the words of the layout."""
        return self.layout.trimmers(self.options.marker, self.options.compact)


class ItemViews:
    """The items of one rendering as templates see them."""

    def __init__(
        self,
        items: Sequence[Item],
        setting: Setting,
        separator: str,
        titles: Iterable[str],
        tank: FuelTank,
    ) -> None:
        """Make the views of `items`; `titles` are those of sections that this page may have."""
        layout, options, nonce = setting.layout, setting.options, setting.nonce
        self.notes: dict[tuple[int, Variant], CleaningNotes] = {}
        """Changes made to the content of a variant, where there were any."""
        self._items, self._layout, self._options, self._tank = items, layout, options, tank
        self._tag, self._nonce, self._controls = setting.tag, nonce, setting.controls
        self._marks = setting.trimmers.marks
        self._delimiter = f"{self._marks.content_tag}-{nonce or ''}"
        self._kind_titles = layout.settings.of_kinds("title")
        self._variants: dict[int, list[Variant]] = {}
        self._printers: dict[str, Callable[[Fields, int], tuple[str, Changes]]] = {}
        self._views: dict[int, dict[Variant, Fields]] = {}
        self._flags = {
            name: getattr(options, name) for name in ("headers", "line_numbers", "scores", "code")
        }
        self._flags["query"] = options.query_text
        # In plain text no line of a content may pass for a line of the templates, of the options
        # or for a title. Titles come from items: they may not pass for lines of the templates
        # either, so there a title is escaped, and the escaped one is what contents must not equal.
        lines = [separator, options.header or "", options.footer or "", options.marker]
        on = [name for name in ("sources", "tree") if getattr(options, name)]
        tank.own_lines = own = layout.template_lines(list(filter(str.strip, lines)), on)
        self._own_lines = None
        if nonce is None and not setting.apart:
            printed = list(lines)
            for title in map(plain_line, titles if layout.prints_titles else ()):
                printed.append("\\" + title if own and own.match(title) else title)
            self._own_lines = layout.template_lines(list(filter(str.strip, printed)), on)
        flags = dict(self._flags)
        if not layout.uses("query"):
            flags["query"] = None  # so that another query finds the same views
        shared: tuple[object, ...] = (layout, self._own_lines, own, tuple(flags.values()))
        shared += (options.marker, nonce, options.score_order, setting.tight)
        self.breaker = _make_breaker(setting, lines)
        """Breaks up control tokens that texts make where they meet; None where they are kept."""
        if self.breaker is not None:
            shared += (setting.controls, self.breaker.spare)
        self._tight = setting.tight
        self._broken_up = 0, 0
        """Control tokens broken up in the last text, and those without a place for it."""
        self._memory, self._remembered_views = setting.memory, setting.memory.views(shared)

    def variants(self, index: int) -> Sequence[Variant]:
        """Return the whole variants of an item, the longest first."""
        variants = self._variants.get(index)
        if variants is None:
            variants = _variants_of(self._items[index], self._options.item_max_chars)
            if self._options.number_lines:
                variants = [self._number(self._items[index], each) for each in variants]
            self._variants[index] = variants
        return variants

    def _number(self, item: Item, variant: Variant) -> Variant:
        first = first_line(item, variant.name)
        if first is None:
            return variant
        return variant._replace(text=number_lines(variant.text, first, self._marks.line_number))

    def view(self, index: int, variant: Variant) -> Fields:
        """Return what templates see of an item in a variant, its `text` included."""
        views = self._views.setdefault(index, {})
        view = views.get(variant)
        if view is None:
            item = self._items[index]
            language = self._tag(item)
            if item.metadata:  # it cannot be a key of the memory
                view, notes = self._make(item, variant, language)
            else:
                view, notes = self._remembered(item, variant, language)
            if notes:
                self.notes[index, variant] = notes
            views[variant] = view
        return view

    def _remembered(
        self, item: Item, variant: Variant, language: str | None
    ) -> tuple[Fields, CleaningNotes]:
        key = variant, language, _VISIBLE_FIELDS(item)
        known = self._remembered_views.get(key)
        if known is None:
            known = self._make(item, variant, language)
            self._memory.put(self._remembered_views, key, known, len(variant.text))
        return known

    def _make(
        self, item: Item, variant: Variant, language: str | None
    ) -> tuple[Fields, CleaningNotes]:
        # A trimmer begins with the marker; what the item's own text begins with is an imitation.
        marker, head = self._options.marker, ""
        if marker and variant.name in ("trimmed", "outline") and not variant.cut:
            own = (item.content or "", item.expanded or "")
            if not any(text.startswith(marker) for text in own):
                head = f"{marker}\n"
        content, notes, broken = self._clean(variant.text, head)
        if variant.cut:
            marked = append_marker(content, self._options.marker)
            if isinstance(content, VerbatimContent):
                content = content.with_text(marked)
            else:
                alone = variant.name == "stub" and self._layout.syntax.has_fences
                content = (LoneMarker if alone else Content)(marked)
        summary: Content | None = content if variant.name == "summary" else None
        if summary is None and item.summary is not None:
            summary, more, count = self._clean(item.summary)
            notes, broken = notes + more, broken + count
        kind = item.kind  # names the template, so the one given, even if it holds a control token
        if self._controls is not None:
            item, language, count = self.break_up_labels(item, language)
            broken += count
        view, chars = self._fields(item, variant, language, content, summary)
        view["kind_title"] = self._kind_titles.get(kind)
        show = self._printers.get(kind)
        if show is None:
            change = None
            if self._tight:
                change = self._layout.syntax.without_blanks
            if self.breaker is not None:
                change = partial(self._break_up, self.breaker)
            show = self._layout.printer(kind, self._flags, self._tank, change)
            self._printers[kind] = show
        self._broken_up = 0, 0
        view["text"], changes = show(view, chars)
        notes += change_notes(changes)
        notes += control_token_notes(broken + self._broken_up[0], self._broken_up[1])
        return view, notes

    def _fields(
        self,
        item: Item,
        variant: Variant,
        language: str | None,
        content: Content,
        summary: Content | None,
    ) -> tuple[Fields, int]:
        """Return the fields that templates see of an item, and the characters in them."""
        lines = None
        if item.start_line is not None and item.end_line is not None:
            lines = f"{item.start_line}-{item.end_line}"
        view = Fields(
            id=item.id,
            kind=item.kind,
            name=item.name,
            path=item.path,
            url=item.url,
            title=_title(item),
            lines=lines,
            line_range=line_range(item, self._marks),
            language=language,
            origin=item.origin,
            content=content,
            summary=summary,
            form=variant.name,
        )
        # Counted here, where all of the values are known to be texts or nothing.
        chars = sum(map(len, filter(None, view.values())))
        if item.metadata:
            chars += count_chars(item.metadata.values())
        view["start_line"], view["end_line"] = item.start_line, item.end_line
        view["score"] = shown_score(item, self._options)
        view["metadata"] = OpenFields(item.metadata)
        return view, chars

    def _clean(self, text: str, head: str = "") -> CleanedContent:
        if self._nonce is None:
            return clean_content(text, self._layout.syntax, self._own_lines, self._controls, head)
        cleaned = clean_content(text, VERBATIM, None, self._controls)
        return cleaned._replace(text=VerbatimContent(cleaned.text, self._delimiter))

    def check(self, parts: Sequence[str], chosen: Mapping[int, Variant]) -> None:
        """Raise `BrokenDelimiterError` where a page holds tags or the nonce beside its contents."""
        if self._nonce is None:
            return
        views = [self.view(index, variant) for index, variant in chosen.items()]
        texts = (view[name] for view in views for name in ("content", "summary"))
        printed = [text.printed for text in texts if isinstance(text, VerbatimContent)]
        check_delimiters("".join(parts), self._marks.content_tag, self._nonce, printed)

    def break_up_labels(
        self, item: Item, language: str | None = None
    ) -> tuple[Item, str | None, int]:
        """Break up control tokens in labels and metadata; return item, language and number."""
        if self._controls is None:
            return item, language, 0
        given = [item.id, item.kind, item.name, item.path, item.url, language, item.metadata]
        made, count = self._controls.break_up_data(given)
        if count:
            item_id, kind, name, path, url, language, metadata = made
            item = replace(
                item, id=item_id, kind=kind, name=name, path=path, url=url, metadata=metadata
            )
        return item, language, count

    def _break_up(self, breaker: TokenBreaker, parts: list[str]) -> list[str]:
        # A printer serves all items of its kind, so what it broke up is kept for the one at hand.
        if self._tight:
            parts = self._layout.syntax.without_blanks(parts)
        made = breaker.break_up(parts)
        self._broken_up = made.broken, made.left
        return made.parts

    def bare(self, item: Item, variant: Variant) -> str:
        """Return the text of an item that stands for all of its kind."""
        return str(self._remembered(item, variant, item.language)[0]["text"])

    def with_items(self, items: Sequence[Item], changed: Collection[int]) -> ItemViews:
        """Return the views of `items`, where those in `changed` are others than here."""
        views = copy(self)
        views._items, views._printers = items, {}
        views._variants = without(self._variants, changed)
        views._views = without(self._views, changed)
        views.notes = without(self.notes, changed)
        return views


def _make_breaker(setting: Setting, lines: Sequence[str]) -> TokenBreaker | None:
    """Spare the tokens of the options and the layout: their author means them."""
    layout, controls = setting.layout, setting.controls
    if controls is None:
        return None
    from ..text.control_tokens import TokenBreaker

    titles = layout.settings.headings.values()
    given = [*lines, setting.options.query_text or "", *titles, layout.sources()]
    spare = {text[start:end] for text in given for start, end in controls.find(text)}
    return TokenBreaker(controls, layout.syntax, spare)


def _variants_of(item: Item, max_chars: int | None) -> list[Variant]:
    # Most items have a content alone; of 100,000 candidates each comes through here.
    no_other = item.expanded is None and item.summary is None and max_chars is None
    if no_other and item.content is not None:
        return [Variant("content", item.content)]
    variants = []
    for name, text in (("expanded", item.expanded), ("content", item.content)):
        if text is not None:
            cut = max_chars is not None and len(text) > max_chars
            variants.append(Variant(name, text[:max_chars], cut))
    if item.summary is not None:
        variants.append(Variant("summary", item.summary))
    return variants or [Variant("content", "")]


def first_line(item: Item, variant: str) -> int | None:
    """Return the number of the first line of a variant; None where it is not known."""
    start = item.start_line or 1
    if variant != "expanded" or not item.content:
        return None if variant == "summary" else start
    before, found, _ = (item.expanded or "").partition(item.content)
    return max(1, start - before.count("\n")) if found else None


def control_token_notes(broken: int, left: int) -> CleaningNotes:
    """Return the notes on control tokens broken up, and on those that could not be."""
    notes = []
    if broken:
        notes.append(("PF704", f"control tokens broken up: {broken}"))
    if left:
        message = f"control tokens that the syntax leaves no room to break up: {left}"
        notes.append(("PF705", message))
    return tuple(notes)


def change_notes(changes: Changes) -> CleaningNotes:
    """Return the notes on what was done to printed values."""
    if changes is NO_CHANGES:
        return ()
    notes = []
    if changes.imitations:
        message = "values that could be taken for lines of the templates, with a backslash before"
        notes.append(("PF304", f"{message} them: {changes.imitations:,}"))
    if changes.inert_urls:
        what = "addresses of a scheme other than http, https and mailto, which now lead nowhere"
        notes.append(("PF711", f"{what}: {changes.inert_urls:,}; look at where the item is from"))
    return tuple(notes)


def _title(item: Item) -> str:
    if item.path is None:
        return item.name or item.url or item.id or item.kind
    # Pages of one PDF have one path; the page that a record has stands in the name alone.
    _, said, page = (item.name or "").rpartition(", page ")
    if said and len(page) <= MAX_PAGE_CHARS and " " not in page:
        return f"{item.path}, page {page}"
    return item.path


def line_range(item: Item, marks: Marks) -> str | None:
    """Return `line 5` or `lines 5-8`; None where the lines are not known."""
    if item.start_line is None or item.end_line is None:
        return None
    return marks.line_range(item.start_line, item.end_line)


def shown_score(item: Item, options: Options) -> float | None:
    """Return the score that templates print, where more is better: of a distance its closeness.

    It is None where an item among others with distances has none.
    """
    if meaning_of(item, options.score_order) == "lower":
        if item.score is NO_SCORE:
            return None
        return closeness(item.score)
    return item.score


def citation(item: Item) -> dict[str, Any]:
    """Return an item as a source to be cited: id, name, kind, path, url, line, score."""
    return {
        "id": item.id,
        "name": item.name or item.path or item.url or item.id or item.kind,
        "kind": item.kind,
        "path": item.path,
        "url": item.url,
        "line": item.start_line,
        "score": item.score,
    }
