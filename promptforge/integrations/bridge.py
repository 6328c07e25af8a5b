"""Common part of the bridges into frameworks: fit documents, ask retrievers, call embeddings.

A bridge turns the documents of a framework into items, renders them, and hands the documents in the
text back. Retrievers and embeddings of the frameworks are known by their methods, so that none has
to be installed; anything else is a function. All may be called or awaited.
"""

from __future__ import annotations

import contextlib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from decimal import Decimal
from functools import partial
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import msgspec

from ..config.options import OPTION_VOCABULARY, Options
from ..config.profiles import load_profile, profile_or_model
from ..errors import BudgetError, Diagnostics, ItemError, OptionError, pip_install, show_value
from ..files import Folders, folder_paths
from ..model import FAR, Item, Result, ShownItem
from ..prompts.compose import Composer, PromptTemplates
from ..prompts.providers import SHAPES, ShapeName
from ..prompts.shorten import CONTENTS_LAYOUTS
from ..rendering.loops import run_in_thread as run_in_thread
from ..rendering.loops import wait_for
from ..rendering.renderer import ContextRenderer
from ..selection.scoring import Embed
from ..sources.records import to_item
from ..templating.loader import Templates
from ..tokenizers.registry import get_tokenizer

ScoreOrder = Literal["higher", "lower"] | None
"""The better one of two scores; None: nobody said."""
NOTE_KEY = "promptforge"
"""Key in a document's metadata for the note of a bridge about a shortened text."""
TEXT_JOINER = "\n\n"
"""Text that frameworks put between the texts of documents."""
# Ids made up by programs: as a heading such an id costs tokens and tells nothing.
_MADE_UP = re.compile(
    r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}|[0-9a-f]{40}|[0-9a-f]{64}", re.IGNORECASE
)
# A retriever has chosen already, so these limits hold only where the user sets them.
_CHOSEN = {"max_items": None, "min_score": None}
# Options for documents that the framework itself will join.
_ALONE = {"layout": "contents", "format": "plain", "separator": TEXT_JOINER, "framing": "auto"}


def _checked(options: Mapping[str, Any], score_order: ScoreOrder) -> dict[str, Any]:
    """Return the options in their proper types; raises `OptionError` for a wrong one."""
    if score_order not in ("higher", "lower", None):
        raise OptionError('score_order takes "higher" or "lower"', option="score_order")
    checked = {name: OPTION_VOCABULARY.check(name, value) for name, value in options.items()}
    if score_order == "lower" and options.get("min_score") is not None:
        message = "min_score is for scores that are better when higher"
        raise OptionError(
            f"{message}; with distances, let the store limit them", option="min_score"
        )
    return checked


def _defaults(
    set_already: Mapping[str, Any], score_order: ScoreOrder, alone: bool
) -> dict[str, Any]:
    """Return the options of a bridge that neither the user nor the profile has set."""
    defaults: dict[str, Any] = {k: v for k, v in _CHOSEN.items() if k not in set_already}
    if score_order == "lower":
        defaults["min_score"] = None
    return defaults | _ALONE if alone else defaults


class KeptDocument(NamedTuple):
    """A document that is in the text."""

    place: int
    """Its place among the given documents."""
    text: str
    whole: bool
    """True if `text` is the document's own, so that the same object can be handed back."""
    note: dict[str, Any]
    """For the metadata of a shortened document: its form, and the characters it had."""


class FittedDocuments(NamedTuple):
    """Documents after fitting."""

    result: Result
    kept: list[KeptDocument]
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
        score_order: ScoreOrder = "higher",
        on_result: Callable[[Result], None] | None = None,
        **options: Any,
    ) -> None:
        """Check everything now: a wrong option is an error where it is written, not later.

        - `alone`: the framework joins the documents' texts itself. So, unless a `layout` is given,
          the budget is for these texts alone.
        - `embed`: see `embedding`.
        - `score_order`: `"lower"` for distances; None refuses pairs of a document and a score.
        - `on_result`: called with the `Result` of each rendering.
        - `options`: as in `Renderer`, with `model` in the place of a profile.

        Raises `OptionError`, `ProfileError`, `TemplateError`, `TokenizerError`.
        """
        profile = profile_or_model(profile, options.pop("model", None))
        checked = _checked(options, score_order)
        self._given = {
            "alone": alone, "profile": profile, "templates": templates, "profiles": profiles,
            "embed": embed, "score_order": score_order, "on_result": on_result, **options,
        }  # fmt: skip
        set_already = load_profile(profile, folder_paths(profiles)).options
        self.alone = alone and "layout" not in options
        """True if the text is the documents' own texts, joined."""
        own = [CONTENTS_LAYOUTS] if self.alone else ()
        self._folders = (*folder_paths(templates, "templates"), *own)
        self._order = score_order
        # Who names a direction or a threshold says that the numbers are scores.
        self._ranked = score_order is not None or options.get("min_score") is not None
        self._on_result = on_result
        self._asks = "query" not in options
        self._set: Mapping[str, Any] = {**set_already, **checked}
        self._counter = get_tokenizer(self.setting("tokenizer"))
        self._templates: PromptTemplates | None = None
        self._renderer = ContextRenderer(
            profile=profile,
            templates=self._folders,
            profiles=profiles,
            embed=None if embed is None else embedding(embed),
            **_defaults(set_already, score_order, self.alone) | options,
        )
        # Render nothing once, to find errors in templates. In strict mode the budget may be too
        # small even for that; this error belongs to the first request.
        with contextlib.suppress(BudgetError):
            self._renderer.render([])

    def setting(self, option: str) -> Any:
        """Return the value of an option: as given, else the profile's, else the default."""
        return self._set.get(option, getattr(Options(), option))

    def count(self, text: str) -> int:
        """Return the tokens of a text."""
        return self._counter.count(text)

    @property
    def window(self) -> int | None:
        """Tokens of a whole prompt; None if no limit is known."""
        names = ("context_window", "reserve", "max_prompt_tokens")
        room = Options(**{name: self.setting(name) for name in names}).window_room
        return None if room is None else max(0, room)

    def fit(
        self,
        documents: object,
        query: str | None = None,
        *,
        before: Callable[[Any], Sequence[str]] | None = None,
        **changes: Any,
    ) -> FittedDocuments:
        """Render `documents`; return the result, the documents in it and those left out.

        - `documents`: objects of the framework, or texts.
        - `query`: the question, unless the options set one.
        - `before`: returns the lines that the framework prints before a document; they count too.
        - `changes`: options for this call.

        A document that cannot be read is left out with a warning (PF204). Raises `BudgetError`,
        `StrictError`, and `OptionError` for a score without a `score_order`.
        """
        diagnostics = Diagnostics()
        given = _as_list(documents)
        items: list[Item] = []
        places: list[int] = []
        for place, document in enumerate(given):
            where = f"documents[{place}]"
            try:
                item = to_item(self._record(document), where=where, diagnostics=diagnostics)
            except ItemError as error:
                diagnostics.add("PF204", f"document left out: {error.bare}", where=where)
                continue
            if self._ranked:
                item = msgspec.structs.replace(item, score_order="higher")
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
        return FittedDocuments(
            result, kept, [place for place in range(len(given)) if place not in there]
        )

    def _record(self, document: Any) -> Any:
        if isinstance(document, str):
            return {"content": document}
        return orient_score(document, self._order)

    def composer(self, to: ShapeName = "openai") -> Composer:
        """Return the composer of a conversation by these options."""
        options = self._renderer.check()
        # A provider's own count is asked for finished prompts alone.
        counter = getattr(self._counter, "estimate", self._counter)
        if self._templates is None:
            found = Templates(self._folders)
            self._templates = PromptTemplates(found, options.prompt, options.format)
        return Composer(self._templates, options, counter, {}, SHAPES[to])

    def enclose(self, context: str, question: str) -> str:
        """Return the context as it stands before the question in one text: with its end marked."""
        if not context:
            return ""
        return self.composer("roles").print_before("context", context, question)

    def fit_joined(
        self,
        documents: Iterable[Any],
        query: str | None,
        *,
        copy: Callable[[Any, KeptDocument], Any],
        read: Callable[[Any], str],
        before: Callable[[Any], Sequence[str]] | None = None,
    ) -> list[Any]:
        """Return the documents in the text: the same objects, but `copy` of shortened ones.

        The texts that `read` finds in them, joined, keep the budget.
        """
        given = _as_list(documents)
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
            over = self._counter.count(TEXT_JOINER.join(map(read, found))) - budget
            if over <= 0:
                return found
            changes["max_tokens"] = max(0, most - over)

    def fit_window(
        self, documents: object, query: str | None, cost: Callable[[str], int]
    ) -> FittedDocuments:
        """Fit `documents` into a text with which the finished prompt keeps the window.

        `cost` returns the tokens of the prompt around a text. Without a known window, the text
        keeps `max_tokens` alone. Raises `BudgetError` if the prompt without a text does not fit.
        """
        window, most = self.window, self.setting("max_tokens")
        if window is None:
            return self.fit(documents, query)
        room = window - cost("")
        if room < 0:
            raise too_small(window - room, window, "the prompt without a context")
        while True:
            limit = room if most is None else min(most, room)
            fitted = self.fit(documents, query, max_tokens=limit)
            text = fitted.result.text
            # Tokens of joined texts are no sums, so the finished prompt is counted.
            over = cost(text) - window
            if over <= 0 or not text:
                return fitted
            room = max(0, min(room, self.count(text)) - over)

    # Frameworks copy their components; a renderer has locks, and needs no copy.

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Bridge, **self._given), ()


def too_small(needed: int, window: int, what: str) -> BudgetError:
    """Return the error for what does not fit a window, with the way out."""
    return BudgetError(
        f"{what} needs {needed:,} tokens and the window has room for {window:,};"
        " shorten it, or raise context_window or lower reserve",
        needed=needed,
        largest=window,
    )


def _is_single(documents: Any) -> bool:
    # LangChain's documents are pydantic models, and those can be iterated over.
    if isinstance(documents, str | Mapping) or hasattr(documents, "page_content"):
        return True
    return not isinstance(documents, Iterable)


def _as_list(documents: Any) -> list[Any]:
    return [documents] if _is_single(documents) else list(documents)


def _kept(shown: ShownItem, item: Item, place: int) -> KeptDocument:
    own = item.content or ""
    note = {"form": shown.form, "chars_whole": len(own)}
    return KeptDocument(place, shown.content, shown.content == own, note)


def _cleaned(item: Item, lines: Sequence[str]) -> Item:
    """Drop a made-up id and the note of an earlier bridge; note the lines before the text."""
    if item.id and _MADE_UP.fullmatch(item.id):
        item = msgspec.structs.replace(item, id=None)
    if not lines and NOTE_KEY not in item.metadata:
        return item
    metadata = {key: value for key, value in item.metadata.items() if key != NOTE_KEY}
    if lines:
        metadata[NOTE_KEY] = {"before": list(lines)}
    return msgspec.structs.replace(item, metadata=metadata)


# --- retrievers -----------------------------------------------------------------------------------


def retrieve(
    retriever: Any, query: str, *, score_order: ScoreOrder = None, embed: Any = None, **options: Any
) -> list[Any]:
    """Ask a retriever; return its documents as records for `Renderer.render`.

    They are `similarity` items, as if a search of promptforge's own had found them.

    - `retriever`: a retriever or vector store of LangChain, a retriever of LlamaIndex, a retriever
      component of Haystack, or a function of the query.
    - `score_order`: `"higher"` or `"lower"`; needed for a vector store, which may return distances.
    - `embed`: see `embedding`; for a Haystack retriever that takes a vector.
    - `options`: handed to the retriever, such as `k=20`.

    Raises `OptionError` for any other object, for an answer that is no list of documents, and for
    scores without a `score_order`. The retriever's own errors pass through.

        records = retrieve(store, "what does tar do", score_order="higher", k=20)
    """
    found = _calls(retriever, query, embed, options)[0]()
    if inspect.isawaitable(found) or hasattr(found, "__aiter__"):
        if inspect.iscoroutine(found):
            found.close()
        message = "this retriever is async: await aretrieve(...) in the place of retrieve"
        raise OptionError(message, option="retriever")
    return _to_records(found, score_order)


async def aretrieve(
    retriever: Any, query: str, *, score_order: ScoreOrder = None, embed: Any = None, **options: Any
) -> list[Any]:
    """Do `retrieve` without blocking the loop.

    Awaits the retriever's own async method, or runs its method in a thread. A function may also be
    async, or an async generator of documents.
    """
    call, async_call = _calls(retriever, query, embed, options)
    if async_call:
        found = async_call()
    else:
        found = await run_in_thread(lambda: _collected(call()))
    if inspect.isawaitable(found):
        found = await found
    if hasattr(found, "__aiter__"):
        found = [document async for document in found]
    return _to_records(found, score_order)


def _collected(found: Any) -> Any:
    # A generator is run in the thread that made it: the loop would wait for each of its documents.
    return list(found) if inspect.isgenerator(found) else found


def _calls(
    retriever: Any, query: str, embed: Any, options: dict[str, Any]
) -> tuple[Callable[[], Any], Callable[[], Any] | None]:
    """Return the call that asks a retriever, and its async form if it leaves the loop free."""
    # Vector stores of LangChain; LlamaIndex; retrievers of LangChain.
    for name in ("similarity_search_with_score", "retrieve", "invoke"):
        if hasattr(retriever, name):
            call = partial(getattr(retriever, name), query, **options)
            method = getattr(retriever, f"a{name}", None)
            if method is None or (name == "retrieve" and not _awaits(retriever)):
                return call, None
            return call, partial(method, query, **options)
    wanted = _run_parameters(retriever) & {"query", "query_embedding"}
    if wanted:
        return _haystack_calls(retriever, wanted, query, embed, options)
    if callable(retriever) and not isinstance(retriever, type):
        call = partial(retriever, query, **options)
        # An object with an async `__call__` is no coroutine function, but is awaited too.
        asked = retriever, getattr(retriever, "__call__", None)  # noqa: B004
        return call, call if any(map(inspect.iscoroutinefunction, asked)) else None
    message = (
        "a retriever has similarity_search_with_score, retrieve, run (of query or query_embedding)"
        f" or invoke, or is a function of the query; got {show_value(retriever)}"
    )
    raise OptionError(message, option="retriever")


def _awaits(retriever: Any) -> bool:
    # The `_aretrieve` that a retriever of LlamaIndex inherits calls `_retrieve` amid the loop.
    for kind in type(retriever).__mro__:
        if "_aretrieve" in vars(kind) or "_retrieve" in vars(kind):
            return "_aretrieve" in vars(kind)
    return True


def _haystack_calls(
    component: Any, wanted: Set[str], query: str, embed: Any, options: dict[str, Any]
) -> tuple[Callable[[], Any], Callable[[], Any] | None]:
    def arguments() -> dict[str, Any]:
        _warm_up(component)
        if "query_embedding" not in wanted:
            return {"query": query, **options}
        if embed is None:
            message = "this retriever wants a vector; give embed=, a function from texts to vectors"
            raise OptionError(message, option="embed")
        embedder = embedding(embed)
        (vector,) = wait_for(getattr(embedder, "queries", embedder)([query]))
        return {"query_embedding": list(vector), **options}

    async def run_async() -> Any:
        return await component.run_async(**await run_in_thread(arguments))

    return (
        lambda: component.run(**arguments()),
        run_async if hasattr(component, "run_async") else None,
    )


def _to_records(found: Any, order: ScoreOrder) -> list[Any]:
    if isinstance(found, Mapping) and "documents" in found:  # the output of a Haystack component
        found = found["documents"]
    if isinstance(found, bytes | Item) or _is_single(found):
        message = f"the retriever returned no list of documents but {show_value(found)}"
        raise OptionError(message, option="retriever")
    return [_as_found(orient_score(document, order)) for document in found]


def _as_found(record: Any) -> Any:
    # A record that says its `origin` itself keeps it.
    if isinstance(record, str):
        record = {"content": record}
    if isinstance(record, dict):
        return {"origin": "similarity", **record}
    try:
        item = to_item(record)
    except ItemError:  # said when it is rendered
        return record
    if item.origin == "similarity":
        return record
    return msgspec.structs.replace(item, origin="similarity")


def orient_score(document: Any, order: ScoreOrder) -> Any:
    """Make a higher score the better one: negate the distance of a document, or beside it.

    Raises `OptionError` for a pair of a document and a number while `order` is None.
    """
    inner, score = document, None
    if isinstance(document, tuple) and len(document) == 2:
        if order is None:
            message = 'score_order: set "higher" or "lower"'
            message += ": the number beside a document may be a distance"
            raise OptionError(message, option="score_order")
        inner, score = document
    elif order == "lower":
        score = _score_of(document)
    if score is None:
        return inner
    if order == "lower" and _is_number(score):
        score = _negated(score)
    if isinstance(inner, str):
        return {"content": inner, "score": score}
    return {**inner, "score": score} if isinstance(inner, dict) else (inner, score)


def _negated(distance: Any) -> float:
    try:
        score = 0.0 - float(distance)  # -float(0) would be -0.0
    except (OverflowError, ValueError):  # a whole number or a Decimal that no float holds
        return -FAR
    return score if isfinite(score) else -FAR


def _score_of(document: Any) -> Any:
    # Look where the reader of records looks.
    def read(name: str) -> Any:
        try:
            return document.get(name) if isinstance(document, dict) else getattr(document, name)
        except Exception:  # a property that raises; the reader of records says so
            return None

    metadata = read("metadata") or read("meta")
    found = [read("score")]
    if isinstance(metadata, dict):
        found += metadata.get("score"), metadata.get("relevance_score")
    return next(filter(_is_number, found), None)


def _is_number(value: object) -> bool:
    return isinstance(value, Real | Decimal) and not isinstance(value, bool)


# --- embeddings -----------------------------------------------------------------------------------


class Embedding:
    """A function from texts to vectors, with another one for queries."""

    def __init__(self, texts: Embed, query: Callable[[str], Sequence[float]]) -> None:
        self._texts, self._query = texts, query

    def __call__(self, texts: list[str]) -> Sequence[Sequence[float]]:
        """Return a vector for each text."""
        return self._texts(texts)

    def queries(self, texts: list[str]) -> Sequence[Sequence[float]]:
        """Return a vector for each question."""
        return [self._query(text) for text in texts]


def embedding(embedder: Any) -> Embed:
    """Turn an embedding into a function for `Renderer(embed=...)`.

    Takes an embedding of LangChain or LlamaIndex, a text embedder of Haystack, or a function from a
    list of texts to a vector each. The renderer awaits an async function: on the loop that called
    the async method of a bridge, else on a loop of its own. Raises `OptionError` for any other
    object.
    """
    # LangChain; LlamaIndex.
    for texts, query in (
        ("embed_documents", "embed_query"),
        ("get_text_embedding_batch", "get_query_embedding"),
    ):
        if hasattr(embedder, texts) and hasattr(embedder, query):
            return Embedding(getattr(embedder, texts), getattr(embedder, query))
    if "text" in _run_parameters(embedder):  # Haystack
        _warm_up(embedder)
        return lambda texts: [embedder.run(text=text)["embedding"] for text in texts]
    if callable(embedder) and not isinstance(embedder, type):
        function: Callable[[list[str]], Any] = embedder
        return function
    message = (
        "embed takes a function from a list of texts to a vector each, or an embedding of LangChain"
        f" or LlamaIndex, or a text embedder of Haystack; got {show_value(embedder)}"
    )
    raise OptionError(message, option="embed")


def _run_parameters(component: Any) -> Set[str]:
    # A Haystack component is known by the parameters of its `run`; builtins have no signature.
    run = getattr(component, "run", None)
    try:
        return inspect.signature(run).parameters.keys() if callable(run) else set()
    except (TypeError, ValueError):
        return set()


def _warm_up(component: Any) -> None:
    if callable(getattr(component, "warm_up", None)):
        component.warm_up()


def missing_extra(extra: str, error: ImportError) -> ImportError:
    """Return the error that says how to install the framework of a bridge."""
    return ImportError(f"this bridge needs {error.name or extra}: {pip_install(extra)}")
