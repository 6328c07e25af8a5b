"""What templates see of items, and how items look: made once for an item in a form, and remembered.

The language tag of an item: forced, its own, told from its path, or told from its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from typing import Any

import msgspec

from ..config.layouts import LayoutSettings
from ..config.options import Options
from ..model import Item
from ..packing.types import Variant
from ..selection.query import Language
from ..sources.text_files import language_of
from ..templating.language import Fields, OpenFields
from ..templating.limits import FuelTank
from ..templating.loader import Layout
from ..text.control_tokens import BrokenUp, ControlTokens, TokenBreaker
from ..text.delimiters import check_delimiters
from ..text.escape import (
    VERBATIM,
    CleanedContent,
    Content,
    VerbatimContent,
    clean_content,
    plain_line,
)
from ..tokenizers.base import Counter
from ..trimming.pieces import append_marker


class LanguageTags:
    """Tells languages by the tags of a profile; remembers what paths and kinds gave."""

    def __init__(self, tags: Mapping[str, str]) -> None:
        """`tags`: a kind (`man_page`), an extension (`.el`) or a language (`common-lisp`) → the tag to print."""
        self._by = tags
        self._find = lru_cache(maxsize=10_000)(self._find_tag)

    def tags(self, options: Options, settings: LayoutSettings) -> Callable[[Item], str | None]:
        """Return the function that gives an item's tag, or `None` for none, under these options and in this layout."""
        only = tuple(sorted(settings.languages.items())) if settings.languages is not None else None
        forced = options.fence_language

        def tag(item: Item) -> str | None:
            if forced:
                return forced
            own = item.language
            if own is not None:
                return None if own == "none" else self._by.get(own, own)
            return self._find(item.kind, item.path or "", only)

        return tag

    def _find_tag(
        self, kind: str, path: str, only: tuple[tuple[str, str], ...] | None
    ) -> str | None:
        extension = path.rpartition(".")[2].lower()
        if only is not None:
            return dict(only).get(extension)
        found = (self._by.get(f".{extension}") or language_of(path)) if path else None
        return self._by.get(found or "", found) or self._by.get(kind)


CleaningNotes = tuple[tuple[str, str], ...]
"""What cleaning a content had to change: (code, message) pairs."""

ViewMemory = dict[tuple[object, ...], dict[object, tuple[Fields, CleaningNotes]]]
"""What items looked like, from one rendering to the next: by what its items have in common, then by item."""

MAX_VIEWS_REMEMBERED = 4096
"""How many items' looks a renderer remembers, of one rendering's setting and of those before it."""

_LOOKS = attrgetter(
    "kind", "id", "name", "path", "start_line", "end_line", "score", "origin", "summary"
)


@dataclass(frozen=True)
class Setting:
    """What the pages of one rendering share."""

    layout: Layout
    options: Options
    counter: Counter
    tag: Language
    """Returns the language tag to print for an item."""
    language: Language
    """Returns the language that an item's text is in."""
    memory: ViewMemory = field(default_factory=dict)
    controls: ControlTokens | None = None
    """With these no control token comes out of an item, nor out of two texts that meet."""
    nonce: str | None = None
    """With a nonce, contents stand verbatim between tags that carry it."""


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
        """Make the views of `items`; `titles` are those that sections may have on this page."""
        look, options, word = setting.layout, setting.options, setting.nonce
        controls, language, memory = setting.controls, setting.tag, setting.memory
        self.notes: dict[tuple[int, Variant], CleaningNotes] = {}
        """What cleaning the content of a form had to change."""
        self._items = items
        self._look = look
        self._options = options
        self._language = language
        self._tank = tank
        self._forms: dict[int, list[Variant]] = {}
        self._printers: dict[str, Callable[[Fields], tuple[str, int]]] = {}
        self._views: dict[int, dict[Variant, Fields]] = {}
        self._last: dict[int, tuple[Variant, Fields]] = {}
        self._flags = {
            "headers": options.headers,
            "line_numbers": options.line_numbers,
            "scores": options.scores,
            "code": options.code,
            "query": options.query,
        }
        lines = [separator, options.header or "", options.footer or "", options.marker]
        self._word = word
        tank.own_lines = own = look.line_pattern([line for line in lines if line.strip()])
        printed: list[str] = [plain_line(title) for title in titles] if look.prints_titles else []
        printed = ["\\" + title if own and own.match(title) else title for title in printed]
        self._frame = (
            None
            if word
            else look.line_pattern([line for line in [*lines, *printed] if line.strip()])
        )
        shown = {**self._flags, "query": options.query if look.uses("query") else None}
        shared: tuple[object, ...] = (
            look,
            self._frame,
            tank.own_lines,
            tuple(shown.values()),
            options.marker,
            word,
        )
        self._controls = controls
        self.joints: TokenBreaker | None = None
        """What keeps texts that meet from making a control token; `None` where tokens are kept."""
        if controls is not None:
            theirs = [*lines, options.query or "", *look.settings.titles.values(), look.sources()]
            spare = {text[start:end] for text in theirs for start, end in controls.find(text)}
            self.joints = TokenBreaker(controls, look.syntax, spare)
            shared = (*shared, controls, self.joints.spare)
        self._met = BrokenUp([])
        if shared not in memory and sum(map(len, list(memory.values()))) >= MAX_VIEWS_REMEMBERED:
            memory.clear()
        self._memory = memory.setdefault(shared, {})

    def variants(self, index: int) -> Sequence[Variant]:
        """Return the whole forms of an item, the longest first."""
        forms = self._forms.get(index)
        if forms is None:
            self._forms[index] = forms = _forms(self._items[index], self._options.item_max_chars)
        return forms

    def view(self, index: int, form: Variant) -> Fields:
        """Return what templates see of an item in a form, its `text` included."""
        last = self._last.get(index)
        if last is not None and last[0] is form:
            return last[1]
        views = self._views.get(index)
        if views is None:
            views = self._views[index] = {}
        view = views.get(form)
        if view is None:
            item = self._items[index]
            language = self._language(item)
            if item.metadata:
                view, notes = self._view(item, form, language)
            else:
                view, notes = self._remembered((form, language, _LOOKS(item)), item, form, language)
            if notes:
                self.notes[index, form] = notes
            views[form] = view
        self._last[index] = form, view
        return view

    def _view(
        self, item: Item, form: Variant, language: str | None
    ) -> tuple[Fields, CleaningNotes]:
        content, notes, apart = self._clean(form.text)
        if form.cut:
            marked = append_marker(content, self._options.marker)
            content = (
                content.with_text(marked)
                if isinstance(content, VerbatimContent)
                else Content(marked)
            )
        summary: Content | None = content if form.name == "summary" else None
        if summary is None and item.summary is not None:
            summary, more, count = self._clean(item.summary)
            notes += more
            apart += count
        kind = item.kind
        if self._controls is not None:
            item, language, count = self.written_apart(item, language)
            apart += count
        lines = item.start_line is not None and item.end_line is not None
        view = Fields(
            id=item.id,
            kind=item.kind,
            name=item.name,
            path=item.path,
            title=item.path if item.path is not None else item.name or item.id or item.kind,
            start_line=item.start_line,
            end_line=item.end_line,
            lines=f"{item.start_line}-{item.end_line}" if lines else None,
            line_range=line_range(item),
            language=language,
            score=item.score,
            origin=item.origin,
            metadata=OpenFields(item.metadata),
            content=content,
            summary=summary,
            form=form.name,
        )
        show = self._printers.get(kind)
        if show is None:
            mend = None if self.joints is None else self._mend
            show = self._printers[kind] = self._look.printer(kind, self._flags, self._tank, mend)
        self._met = BrokenUp([])
        view["text"], imitations = show(view)
        notes += template_line_notes(imitations)
        if self._controls is None:
            return view, notes
        return view, (*notes, *control_token_notes(apart + self._met.broken, self._met.left))

    def _clean(self, text: str) -> CleanedContent:
        if self._word is None:
            return clean_content(text, self._look.syntax, self._frame, self._controls)
        cleaned = clean_content(text, VERBATIM, None, self._controls)
        return cleaned._replace(text=VerbatimContent(cleaned.text, self._word))

    def check(self, parts: Sequence[str], chosen: Mapping[int, Variant]) -> None:
        """Raise `UnkeptError` where a finished text of the `chosen` holds the tags of contents, or their word, beside
        these.
        """
        if self._word is not None:
            shown = (
                self.view(index, form)[name]
                for index, form in chosen.items()
                for name in ("content", "summary")
            )
            check_delimiters(
                "".join(parts),
                self._word,
                [text.printed for text in shown if isinstance(text, VerbatimContent)],
            )

    def written_apart(
        self, item: Item, language: str | None = None
    ) -> tuple[Item, str | None, int]:
        """Return an item whose labels and metadata hold no control token, its language, and how many there were."""
        if self._controls is None:
            return item, language, 0
        given = [item.id, item.kind, item.name, item.path, language, item.metadata]
        made, count = self._controls.break_up_data(given)
        if count:
            names = ("id", "kind", "name", "path", "metadata")
            *labels, language, metadata = made
            item = msgspec.structs.replace(
                item, **dict(zip(names, (*labels, metadata), strict=True))
            )
        return item, language, count

    def mend(self, parts: list[str]) -> BrokenUp:
        """Return the parts of an item's text with no control token where they meet."""
        return BrokenUp(parts) if self.joints is None else self.joints.break_up(parts)

    def _mend(self, parts: list[str]) -> list[str]:
        self._met = self.mend(parts)
        return self._met.parts

    def bare(self, item: Item, form: Variant) -> str:
        """Return what an item looks like that stands for all of its kind."""
        return str(self._remembered((form, _LOOKS(item)), item, form, item.language)[0]["text"])

    def _remembered(
        self, key: object, item: Item, form: Variant, language: str | None
    ) -> tuple[Fields, CleaningNotes]:
        known = self._memory.get(key)
        if known is None:
            if len(self._memory) >= MAX_VIEWS_REMEMBERED:
                self._memory.clear()
            known = self._memory[key] = self._view(item, form, language)
        return known

    def forget(self, index: int) -> None:
        """Forget how an item looked: it has changed."""
        self._last.pop(index, None)
        self._views.pop(index, None)


def _forms(item: Item, most: int | None) -> list[Variant]:
    content, expanded, summary = item.content, item.expanded, item.summary
    if content is not None and expanded is None and summary is None and most is None:  # as most are
        return [Variant("content", content)]
    forms = []
    for name, text in (("expanded", expanded), ("content", content)):
        if text is not None:
            forms.append(
                Variant(name, text)
                if most is None
                else Variant(name, text[:most], len(text) > most)
            )
    if summary is not None:
        forms.append(Variant("summary", summary))
    return forms or [Variant("content", "")]


def control_token_notes(apart: int, left: int) -> CleaningNotes:
    """Return the notes on control tokens broken up, and on those that could not be."""
    notes = [("PF704", f"control tokens broken up: {apart}")] if apart else []
    if left:
        notes.append(
            ("PF705", f"control tokens that the syntax leaves no room to write apart: {left}")
        )
    return tuple(notes)


def template_line_notes(taken: int) -> CleaningNotes:
    """Return the note on values that would have passed for lines of the frame."""
    message = f"values that could be taken for lines of the frame, with a backslash before them: {taken:,}"
    return (("PF304", message),) if taken else ()


def line_range(item: Item) -> str | None:
    """Return `line 5` or `lines 5-8`, or `None` where the lines are not known."""
    if item.start_line is None or item.end_line is None:
        return None
    return (
        f"line {item.start_line}"
        if item.start_line == item.end_line
        else f"lines {item.start_line}-{item.end_line}"
    )


def citation(item: Item) -> dict[str, Any]:
    """Return an item as a source to be cited: id, name, kind, path, line, score."""
    return {
        "id": item.id,
        "name": item.name or item.path or item.id or item.kind,
        "kind": item.kind,
        "path": item.path,
        "line": item.start_line,
        "score": item.score,
    }
