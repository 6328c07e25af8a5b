"""What the bridges share: options checked at once, documents into items, and what is shown back to its document."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import msgspec

from ..diagnostics import Diagnostics
from ..errors import BudgetError, ItemError, OptionError
from ..folders import Folders, paths
from ..items import Item
from ..options import VOCABULARY, Options
from ..profiles import load_profile
from ..rendering import ContextRenderer
from ..results import Result, Shown
from ..sources.records import to_item
from ..tokens import get_tokenizer
from .retrieval import oriented
from .vectors import embedding

NOTE = "promptforge"
"""The key of a document's metadata under which a bridge notes what was done to its text."""
JOINED = "\n\n"
"""What frameworks put between the texts of documents."""
_MADE_UP = re.compile(
    r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}|[0-9a-f]{40}|[0-9a-f]{64}", re.IGNORECASE
)
"""An id that a program made up: as a heading it costs tokens and tells nothing."""
_OWN_TEMPLATES = Path(__file__).parent / "templates"
_CHOSEN = {"max_items": None, "min_score": None}
"""A retriever has chosen already: how many, and how good, is limited only where somebody asks for it."""
_ALONE = {"layout": "contents", "format": "plain", "separator": JOINED, "framing": "auto"}


class Kept(NamedTuple):
    """A document of the text."""

    place: int
    """Its place among the documents that were given."""
    text: str
    whole: bool
    """Whether `text` is the document's own, so that the document itself can be handed back."""
    note: dict[str, Any]
    """For a shortened document's metadata: the form it is in, and the characters it had."""


class Fitted(NamedTuple):
    """What became of documents."""

    result: Result
    kept: list[Kept]
    """Those of the text, in the order of the page."""
    dropped: list[int]
    """The places of the others, in their order."""


class Bridge:
    """One configuration of a renderer for documents of a framework; safe to share between threads and copies."""

    def __init__(
        self,
        *,
        alone: bool = False,
        profile: str | Path | None = None,
        templates: Folders = None,
        profiles: Folders = None,
        embed: Any = None,
        score_order: Literal["higher", "lower"] | None = "higher",
        on_result: Callable[[Result], None] | None = None,
        **options: Any,
    ) -> None:
        """Check everything now, so that a wrong word is an error where it is written and not in the first request.

        `alone`: the framework joins the texts of the documents itself, so without a `layout` the budget is for these
        alone. `embed` is what `retrieval.embedding` takes. `score_order="lower"`: scores are distances; `None`: a
        pair of a document and a score is refused, since nobody said which it is. `on_result` is called with the
        account of each rendering. Everything else is as in `Renderer`.

        Raises `OptionError`, `ProfileError`, `TemplateError`, `TokenizerError`.
        """
        if score_order not in ("higher", "lower", None):
            raise OptionError('score_order takes "higher" or "lower"', option="score_order")
        for name, value in options.items():
            VOCABULARY.check(name, value)
        if score_order == "lower" and options.get("min_score") is not None:
            message = "min_score is for scores of which a higher one is better; with distances, let the store limit them"
            raise OptionError(message, option="min_score")
        self._given = {
            **{
                "alone": alone,
                "profile": profile,
                "templates": templates,
                "profiles": profiles,
                "embed": embed,
            },
            **{"score_order": score_order, "on_result": on_result, **options},
        }
        folders = paths(templates)
        set_already = load_profile(profile or "default", paths(profiles)).options
        ground: dict[str, Any] = {
            name: value for name, value in _CHOSEN.items() if name not in set_already
        }
        if score_order == "lower":
            ground["min_score"] = None
        self.alone = alone and "layout" not in options
        """Whether the text is the documents' own texts, joined."""
        if self.alone:
            ground |= _ALONE
            folders = (*folders, _OWN_TEMPLATES)
        self._order = score_order
        self._on_result = on_result
        self._asks = "query" not in options
        tokenizer: Any = options.get("tokenizer", set_already.get("tokenizer", Options().tokenizer))
        self._counter = get_tokenizer(tokenizer)
        self._renderer = ContextRenderer(
            profile=profile,
            templates=folders,
            profiles=profiles,
            embed=None if embed is None else embedding(embed),
            **ground | options,
        )
        with contextlib.suppress(
            BudgetError
        ):  # strict, and no room for the frame: that is for the first request
            self._renderer.render([])

    def fit(
        self,
        documents: object,
        query: str | None = None,
        *,
        before: Callable[[Any], Sequence[str]] | None = None,
        **changes: Any,
    ) -> Fitted:
        """Render `documents` and tell what became of each.

        `documents` are what a framework hands on, a text standing for a document; `query` is what is asked, unless the
        options say it; `before` gives the lines that the framework prints before a document's text, which count too;
        `changes` are options for this call. A document that cannot be read is left out and said (PF204).

        Raises `BudgetError`, `StrictError`, and `OptionError` for a score of which nobody said what it means.
        """
        diagnostics = Diagnostics()
        given = [documents] if isinstance(documents, str) else list(_each(documents))
        items: list[Item] = []
        places: list[int] = []
        for place, document in enumerate(given):
            record = (
                {"content": document}
                if isinstance(document, str)
                else oriented(document, self._order)
            )
            where = f"documents[{place}]"
            try:
                item = to_item(record, where=where, diagnostics=diagnostics)
            except ItemError as error:
                diagnostics.add("PF204", f"document left out: {error.bare}", where=where)
                continue
            if item.id and _MADE_UP.fullmatch(item.id):
                item = msgspec.structs.replace(item, id=None)
            lines = before(document) if before else ()
            if lines or NOTE in item.metadata:  # a note of an earlier bridge is no knowledge
                own = {key: value for key, value in item.metadata.items() if key != NOTE}
                metadata = own | ({NOTE: {"before": list(lines)}} if lines else {})
                item = msgspec.structs.replace(item, metadata=metadata)
            items.append(item)
            places.append(place)
        if query and self._asks:
            changes["query"] = query
        result = self._renderer.render(items, before=tuple(diagnostics), **changes)
        if self._on_result is not None:
            self._on_result(result)
        kept = [_kept(shown, items[shown.index], places[shown.index]) for shown in result.shown]
        there = {each.place for each in kept}
        return Fitted(result, kept, [place for place in range(len(given)) if place not in there])

    def fit_joined(
        self,
        documents: Iterable[Any],
        query: str | None,
        *,
        copy: Callable[[Any, Kept], Any],
        read: Callable[[Any], str],
        before: Callable[[Any], Sequence[str]] | None = None,
    ) -> list[Any]:
        """Return the documents of the text, in its order: the same objects, and of shortened ones what `copy` makes.

        What `read` reads in them, joined, keeps the budget. It is what was counted; only where the framework's own
        lines before a text hold what had to be escaped can it be more, and then less is taken.
        """
        given = list(_each(documents))
        changes: dict[str, Any] = {}
        budget: int | None = None
        while True:
            fitted = self.fit(given, query, before=before, **changes)
            found = [
                given[one.place] if one.whole else copy(given[one.place], one)
                for one in fitted.kept
            ]
            most = fitted.result.max_tokens
            budget = most if budget is None else budget
            if not self.alone or most is None or not budget or not found:
                return found
            over = self._counter.count(JOINED.join(map(read, found))) - budget
            if over <= 0:
                return found
            changes["max_tokens"] = max(0, most - over)

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Bridge, **self._given), ()


def _each(documents: Any) -> Iterable[Any]:
    """Return documents one by one; one alone is a list of one."""
    single = (
        isinstance(documents, Mapping)
        or not isinstance(documents, Iterable)
        or hasattr(documents, "page_content")
    )
    return [documents] if single else documents


def _kept(shown: Shown, item: Item, place: int) -> Kept:
    own = item.content or ""
    return Kept(
        place, shown.content, shown.content == own, {"form": shown.form, "chars_whole": len(own)}
    )


def missing(extra: str, error: ImportError) -> ImportError:
    """Return (not raise) the error that says how to get what a bridge needs."""
    return ImportError(f"this bridge needs {error.name or extra}: pip install '.[{extra}]'")
