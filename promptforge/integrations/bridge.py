"""Common part of the bridges: check options, turn documents into items, fit them to a budget."""

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
"""Key in a document's metadata for the note of a bridge about a shortened text."""
JOINED = "\n\n"
"""Text that frameworks put between the texts of documents."""
_MADE_UP = re.compile(
    r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}|[0-9a-f]{40}|[0-9a-f]{64}", re.IGNORECASE
)
"""Ids made up by programs: as a heading such an id costs tokens and tells nothing."""
_OWN_TEMPLATES = Path(__file__).parent / "templates"
_CHOSEN = {"max_items": None, "min_score": None}
"""A retriever has chosen already, so these limits hold only where the user sets them."""
_ALONE = {"layout": "contents", "format": "plain", "separator": JOINED, "framing": "auto"}
"""Options for documents that the framework itself will join."""


class Kept(NamedTuple):
    """A document that is in the text."""

    place: int
    """Its place among the given documents."""
    text: str
    whole: bool
    """True if `text` is the document's own, so that the same object can be handed back."""
    note: dict[str, Any]
    """For the metadata of a shortened document: its form, and the characters it had."""


class Fitted(NamedTuple):
    """Documents after fitting."""

    result: Result
    kept: list[Kept]
    """Documents in the text, in its order."""
    dropped: list[int]
    """Places of the others."""


class Bridge:
    """A configured renderer for the documents of a framework; threads and copies may share it."""

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
        """Check everything now: a wrong option is an error where it is written, not later.

        - `alone`: the framework joins the documents' texts itself. So, unless a `layout` is given,
          the budget is for these texts alone.
        - `embed`: see `embedding`.
        - `score_order`: `"lower"` for distances; None refuses pairs of a document and a score.
        - `on_result`: called with the `Result` of each rendering.
        - `options`: as in `Renderer`.

        Raises `OptionError`, `ProfileError`, `TemplateError`, `TokenizerError`.
        """
        if score_order not in ("higher", "lower", None):
            raise OptionError('score_order takes "higher" or "lower"', option="score_order")
        for name, value in options.items():
            VOCABULARY.check(name, value)
        if score_order == "lower" and options.get("min_score") is not None:
            message = "min_score is for scores that are better when higher"
            raise OptionError(
                f"{message}; with distances, let the store limit them", option="min_score"
            )
        self._given = {
            "alone": alone, "profile": profile, "templates": templates, "profiles": profiles,
            "embed": embed, "score_order": score_order, "on_result": on_result, **options,
        }  # fmt: skip
        folders = paths(templates)
        set_already = load_profile(profile or "default", paths(profiles)).options
        defaults: dict[str, Any] = {
            name: value for name, value in _CHOSEN.items() if name not in set_already
        }
        if score_order == "lower":
            defaults["min_score"] = None
        self.alone = alone and "layout" not in options
        """True if the text is the documents' own texts, joined."""
        if self.alone:
            defaults |= _ALONE
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
            **defaults | options,
        )
        # Render nothing once, to find errors in templates. In strict mode the budget may be too
        # small even for that; this error belongs to the first request.
        with contextlib.suppress(BudgetError):
            self._renderer.render([])

    def fit(
        self,
        documents: object,
        query: str | None = None,
        *,
        before: Callable[[Any], Sequence[str]] | None = None,
        **changes: Any,
    ) -> Fitted:
        """Render `documents`; return the result, the documents in it and those left out.

        - `documents`: objects of the framework, or texts.
        - `query`: the question, unless the options set one.
        - `before`: returns the lines that the framework prints before a document; they count too.
        - `changes`: options for this call.

        A document that cannot be read is left out with a warning (PF204). Raises `BudgetError`,
        `StrictError`, and `OptionError` for a score without a `score_order`.
        """
        diagnostics = Diagnostics()
        given = [documents] if isinstance(documents, str) else list(_each(documents))
        items: list[Item] = []
        places: list[int] = []
        for place, document in enumerate(given):
            where = f"documents[{place}]"
            try:
                item = to_item(self._record(document), where=where, diagnostics=diagnostics)
            except ItemError as error:
                diagnostics.add("PF204", f"document left out: {error.bare}", where=where)
                continue
            lines = before(document) if before else ()
            items.append(_cleaned(item, lines))
            places.append(place)
        if query and self._asks:
            changes["query"] = query
        result = self._renderer.render(items, before=tuple(diagnostics), **changes)
        if self._on_result is not None:
            self._on_result(result)
        kept = [_kept(shown, items[shown.index], places[shown.index]) for shown in result.shown]
        there = {each.place for each in kept}
        return Fitted(result, kept, [place for place in range(len(given)) if place not in there])

    def _record(self, document: Any) -> Any:
        if isinstance(document, str):
            return {"content": document}
        return oriented(document, self._order)

    def fit_joined(
        self,
        documents: Iterable[Any],
        query: str | None,
        *,
        copy: Callable[[Any, Kept], Any],
        read: Callable[[Any], str],
        before: Callable[[Any], Sequence[str]] | None = None,
    ) -> list[Any]:
        """Return the documents in the text: the same objects, but `copy` of shortened ones.

        The texts that `read` finds in them, joined, keep the budget.
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
            # The rendering was counted as the framework will print it. Only lines `before` a text
            # that had to be escaped can make more tokens of it; then try again with less.
            over = self._counter.count(JOINED.join(map(read, found))) - budget
            if over <= 0:
                return found
            changes["max_tokens"] = max(0, most - over)

    # Frameworks copy their components; a renderer has locks, and needs no copy.

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Bridge, **self._given), ()


def _each(documents: Any) -> Iterable[Any]:
    """Return an iterable of documents; one document alone becomes a list of one."""
    single = (
        isinstance(documents, Mapping)
        or not isinstance(documents, Iterable)
        or hasattr(documents, "page_content")
    )
    return [documents] if single else documents


def _kept(shown: Shown, item: Item, place: int) -> Kept:
    own = item.content or ""
    note = {"form": shown.form, "chars_whole": len(own)}
    return Kept(place, shown.content, shown.content == own, note)


def _cleaned(item: Item, lines: Sequence[str]) -> Item:
    """Drop a made-up id and the note of an earlier bridge; note the lines before the text."""
    if item.id and _MADE_UP.fullmatch(item.id):
        item = msgspec.structs.replace(item, id=None)
    if not lines and NOTE not in item.metadata:
        return item
    metadata = {key: value for key, value in item.metadata.items() if key != NOTE}
    if lines:
        metadata[NOTE] = {"before": list(lines)}
    return msgspec.structs.replace(item, metadata=metadata)


def missing(extra: str, error: ImportError) -> ImportError:
    """Return the error that says how to install the framework of a bridge."""
    return ImportError(f"this bridge needs {error.name or extra}: pip install '.[{extra}]'")
