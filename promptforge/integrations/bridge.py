"""Common part of the bridges: check options, turn documents into items, fit them to a budget.

Retrievers of any framework, known by what they can do and not by their class; called, or awaited.

Embeddings of any framework, known by what they can do and not by their class; also those that must be awaited.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextvars import ContextVar
from decimal import Decimal
from functools import partial
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, TypeVar

import msgspec

from ..config.options import OPTION_VOCABULARY, Options
from ..config.profiles import load_profile
from ..errors import BudgetError, Diagnostics, ItemError, OptionError, show_value
from ..files import Folders, folder_paths
from ..model import Item, Result, ShownItem
from ..rendering.renderer import ContextRenderer
from ..selection.query import Embed
from ..sources.records import to_item
from ..tokenizers.registry import get_tokenizer

T = TypeVar("T")


class _Waiter:
    """The loop that waits for what a thread does, and does the awaiting for it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._over = False
        self._asked: set[Future[Any]] = set()

    def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Return what a coroutine returns; the thread waits, unless nobody waits for the thread any more."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        self._asked.add(future)
        if self._over:
            future.cancel()
        return future.result()

    def give_up(self) -> None:
        """Cancel what is awaited for the thread, and what it would yet ask for."""
        self._over = True
        for future in list(self._asked):
            future.cancel()


_WAITER: ContextVar[_Waiter | None] = ContextVar("waiter", default=None)


class Embedding:
    """A function from texts to vectors, with one of its own for queries where the framework tells them apart."""

    def __init__(self, texts: Embed, queries: Embed) -> None:
        self._texts = texts
        self.queries = queries
        """What is asked is embedded by this."""

    def __call__(self, texts: list[str]) -> Sequence[Sequence[float]]:
        """Return a vector for each text."""
        return self._texts(texts)


def embedding(embedder: Any) -> Embed:
    """Return what `Renderer(embed=...)` takes, of an embedding of LangChain, LlamaIndex or Haystack, or a function.

    LangChain: `embed_documents` and `embed_query`. LlamaIndex: `get_text_embedding_batch` and `get_query_embedding`.
    Haystack: a text embedder (a component whose `run` takes `text`), which embeds both. A function may be async: under
    a bridge's async method it is awaited on the loop that called it, else on a loop of its own.

    Raises `OptionError` for anything else.
    """
    if hasattr(embedder, "embed_documents") and hasattr(embedder, "embed_query"):
        return Embedding(
            embedder.embed_documents, lambda texts: [embedder.embed_query(text) for text in texts]
        )
    if hasattr(embedder, "get_text_embedding_batch") and hasattr(embedder, "get_query_embedding"):
        return Embedding(
            embedder.get_text_embedding_batch,
            lambda texts: [embedder.get_query_embedding(text) for text in texts],
        )
    if "text" in run_parameters(embedder):
        warm_up(embedder)
        return lambda texts: [embedder.run(text=text)["embedding"] for text in texts]
    if callable(embedder) and not isinstance(embedder, type):
        function: Callable[[list[str]], Any] = embedder
        return (lambda texts: _awaited(function(texts))) if is_async(embedder) else function
    message = (
        f"embed takes a function from a list of texts to a vector each, or an embedding of LangChain or LlamaIndex, "
        f"or a text embedder of Haystack; got {show_value(embedder)}"
    )
    raise OptionError(message, option="embed")


async def run_in_thread(work: Callable[[], T]) -> T:
    """Return what `work` returns, done in a thread while this loop goes on; what it has to await is awaited here.

    Cancelled, what is awaited for the thread is cancelled too; the thread itself ends when its work does.
    """
    waiter = _Waiter(asyncio.get_running_loop())
    token = _WAITER.set(waiter)
    try:
        return await asyncio.to_thread(work)
    except asyncio.CancelledError:
        waiter.give_up()
        raise
    finally:
        _WAITER.reset(token)


def is_async(function: object) -> bool:
    """Return whether a call of `function` gives what must be awaited."""
    return any(map(inspect.iscoroutinefunction, (function, getattr(function, "__call__", None))))  # noqa: B004


def run_parameters(component: Any) -> frozenset[str]:
    """Return the names of what the `run` of a Haystack component takes."""
    run: Callable[..., Any] | None = getattr(component, "run", None)
    try:
        return frozenset(inspect.signature(run).parameters) if callable(run) else frozenset()
    except (TypeError, ValueError):
        return frozenset()


def warm_up(component: Any) -> None:
    """Let a Haystack component load what it needs."""
    if callable(getattr(component, "warm_up", None)):
        component.warm_up()


def _awaited(made: Awaitable[T]) -> T:
    """Return what an awaitable gives, from a thread that no loop runs in."""

    async def wait() -> T:
        return await made

    waiting: Coroutine[Any, Any, T] = wait()
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        waiter = _WAITER.get()
        return asyncio.run(waiting) if waiter is None else waiter.wait(waiting)
    for each in (waiting, made):
        close = getattr(each, "close", None)
        if close is not None:
            close()
    message = "embed is async, and a loop runs where it is wanted at once; await the async method of the bridge"
    raise OptionError(message, option="embed")


ScoreOrder = Literal["higher", "lower"] | None
"""Which of two scores is the better one; `None`: nobody said."""

_FAR = 1e9
"""What a distance is taken for that is infinite or no number: taken as 0, it would be the best."""


class _Call(NamedTuple):
    """How a retriever is asked."""

    now: Callable[[], Any]
    later: Callable[[], Awaitable[Any]] | None
    """The same for a loop; None where it has no way that leaves the loop free."""


def retrieve(
    retriever: Any,
    query: str,
    *,
    score_order: ScoreOrder = None,
    embed: Any = None,
    **arguments: Any,
) -> list[Any]:
    """Return what a retriever finds for `query`, as records for `Renderer.render`: they are `similarity` items.

    `retriever` is a retriever or vector store of LangChain, a retriever of LlamaIndex, a retriever component of
    Haystack, or a function of the query. A vector store hands out numbers that may be distances, so it needs
    `score_order="higher"` or `"lower"`. `embed` (see `embedding`) makes the vector for a Haystack retriever that wants
    one. `arguments` go to the retriever, such as `k=20`.

    Raises `OptionError` for what is no retriever, for what it returns and is no list of documents, and for a score of
    which nobody said what it means; what the retriever raises comes out as it is.
    """
    found = _call(retriever, query, embed, arguments).now()
    if inspect.isawaitable(found) or hasattr(found, "__aiter__"):
        if inspect.iscoroutine(found):
            found.close()
        raise OptionError(
            "this retriever is async: await aretrieve(...) in the place of retrieve",
            option="retriever",
        )
    return _records(found, score_order)


async def aretrieve(
    retriever: Any,
    query: str,
    *,
    score_order: ScoreOrder = None,
    embed: Any = None,
    **arguments: Any,
) -> list[Any]:
    """Return what `retrieve` does, and leave the loop free meanwhile.

    A retriever's own async method is awaited; one without is called in a thread. A function may also be async, or an
    async generator of documents.
    """
    call = _call(retriever, query, embed, arguments)
    found = await (call.later() if call.later else run_in_thread(lambda: _taken(call.now())))
    if inspect.isawaitable(found):  # of a function that is async and does not look it
        found = await found
    if hasattr(found, "__aiter__"):
        found = [document async for document in found]
    return _records(found, score_order)


def _call(retriever: Any, query: str, embed: Any, arguments: dict[str, Any]) -> _Call:
    wanted = run_parameters(retriever)
    if hasattr(retriever, "similarity_search_with_score"):
        return _methods(
            retriever,
            "similarity_search_with_score",
            "asimilarity_search_with_score",
            query,
            arguments,
        )
    if hasattr(retriever, "retrieve"):
        return _methods(
            retriever, "retrieve", "aretrieve" if _waits(retriever) else "", query, arguments
        )
    if "query_embedding" in wanted:
        if embed is None:
            raise OptionError(
                "this retriever wants a vector; give embed=, what makes one of a text",
                option="embed",
            )
        return _component(retriever, lambda: {"query_embedding": _vector(embed, query)}, arguments)
    if "query" in wanted:
        return _component(retriever, lambda: {"query": query}, arguments)
    if hasattr(retriever, "invoke"):
        return _methods(retriever, "invoke", "ainvoke", query, arguments)
    if callable(retriever) and not isinstance(retriever, type):
        call = partial(retriever, query, **arguments)
        return _Call(call, call if is_async(retriever) else None)
    message = (
        "a retriever has similarity_search_with_score, retrieve, run (of query or query_embedding) or invoke, "
        f"or is a function of the query; got {show_value(retriever)}"
    )
    raise OptionError(message, option="retriever")


def _methods(retriever: Any, name: str, later: str, query: str, arguments: dict[str, Any]) -> _Call:
    waits = getattr(retriever, later, None) if later else None
    return _Call(
        partial(getattr(retriever, name), query, **arguments),
        waits and partial(waits, query, **arguments),
    )


def _component(
    retriever: Any, asked: Callable[[], dict[str, Any]], arguments: dict[str, Any]
) -> _Call:
    def now() -> Any:
        warm_up(retriever)
        return retriever.run(**asked(), **arguments)

    async def later() -> Any:
        def prepare() -> dict[str, Any]:
            warm_up(retriever)
            return asked()

        return await retriever.run_async(**await run_in_thread(prepare), **arguments)

    return _Call(now, later if hasattr(retriever, "run_async") else None)


def _vector(embed: Any, query: str) -> list[float]:
    embedder = embedding(embed)
    (vector,) = getattr(embedder, "queries", embedder)([query])
    return list(vector)


def _waits(retriever: Any) -> bool:
    """Return whether a retriever of LlamaIndex can wait: the method it inherits calls the other one, amid the loop."""

    def depth(name: str) -> int:
        return next((n for n, kind in enumerate(type(retriever).__mro__) if name in vars(kind)), -1)

    return depth("_aretrieve") <= depth("_retrieve")


def _taken(found: Any) -> Any:
    """Return documents as a list: a generator is run where it was made, and no loop waits for it."""
    return list(found) if inspect.isgenerator(found) else found


def _records(found: Any, order: ScoreOrder) -> list[Any]:
    if isinstance(found, Mapping) and "documents" in found:  # of Haystack's components
        found = found["documents"]
    alone = isinstance(found, str | bytes | Mapping | Item) or hasattr(found, "page_content")
    if alone or not isinstance(found, Iterable):
        raise OptionError(
            f"the retriever returned no list of documents but {show_value(found)}",
            option="retriever",
        )
    return [_similar(orient_score(document, order)) for document in found]


def _similar(record: Any) -> Any:
    """Return a record as what a search found, whatever its shape; one that says its `origin` itself keeps it."""
    if isinstance(record, str):
        return {"content": record, "origin": "similarity"}
    if isinstance(record, dict):
        return {"origin": "similarity", **record}
    try:
        item = to_item(record)
    except ItemError:
        return record  # said where it is rendered
    return (
        record
        if item.origin == "similarity"
        else msgspec.structs.replace(item, origin="similarity")
    )


def orient_score(document: Any, order: ScoreOrder) -> Any:
    """Return `document`, or a pair of it and a score of which a higher one is better, as records are read.

    Raises `OptionError` for a pair while nobody said which order its score has.
    """
    pair = isinstance(document, tuple) and len(document) == 2
    if pair and order is None:
        message = (
            'score_order: say "higher" or "lower": the number beside a document may be a distance'
        )
        raise OptionError(message, option="score_order")
    inner, score = document if pair else (document, _score(document) if order == "lower" else None)
    if score is None:
        return inner
    if order == "lower" and _is_number(score):
        score = _turned(score)
    if isinstance(inner, str):
        return {"content": inner, "score": score}
    return {**inner, "score": score} if isinstance(inner, dict) else (inner, score)


def _turned(distance: Any) -> float:
    try:
        number = 0.0 - float(distance)
    except (OverflowError, ValueError):  # a whole number or a Decimal that no float holds
        return -_FAR
    return number if isfinite(number) else -_FAR


def _score(document: Any) -> Any:
    """Return the number that a document has for a score, where records look for it; None without one."""
    read = document.get if isinstance(document, dict) else partial(_attribute, document)
    about = read("metadata") or read("meta")
    listed = (
        [about.get(key) for key in ("score", "relevance_score")] if isinstance(about, dict) else []
    )
    return next((each for each in (read("score"), *listed) if _is_number(each)), None)


def _attribute(document: object, name: str) -> Any:
    try:
        return getattr(document, name, None)
    except Exception:  # an object that raises when it is looked at: the reader says so
        return None


def _is_number(value: object) -> bool:
    return isinstance(value, Real | Decimal) and not isinstance(value, bool)


NOTE_KEY = "promptforge"
"""Key in a document's metadata for the note of a bridge about a shortened text."""

TEXT_JOINER = "\n\n"
"""Text that frameworks put between the texts of documents."""

_MADE_UP = re.compile(
    r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}|[0-9a-f]{40}|[0-9a-f]{64}", re.IGNORECASE
)
"""Ids made up by programs: as a heading such an id costs tokens and tells nothing."""

_OWN_TEMPLATES = Path(__file__).parent / "templates"

_CHOSEN = {"max_items": None, "min_score": None}
"""A retriever has chosen already, so these limits hold only where the user sets them."""

_ALONE = {"layout": "contents", "format": "plain", "separator": TEXT_JOINER, "framing": "auto"}
"""Options for documents that the framework itself will join."""


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
            OPTION_VOCABULARY.check(name, value)
        if score_order == "lower" and options.get("min_score") is not None:
            message = "min_score is for scores that are better when higher"
            raise OptionError(
                f"{message}; with distances, let the store limit them", option="min_score"
            )
        self._given = {
            "alone": alone, "profile": profile, "templates": templates, "profiles": profiles,
            "embed": embed, "score_order": score_order, "on_result": on_result, **options,
        }  # fmt: skip
        folders = folder_paths(templates)
        set_already = load_profile(profile or "default", folder_paths(profiles)).options
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
        return FittedDocuments(
            result, kept, [place for place in range(len(given)) if place not in there]
        )

    def _record(self, document: Any) -> Any:
        if isinstance(document, str):
            return {"content": document}
        return orient_score(document, self._order)

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
            over = self._counter.count(TEXT_JOINER.join(map(read, found))) - budget
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


def missing_extra(extra: str, error: ImportError) -> ImportError:
    """Return the error that says how to install the framework of a bridge."""
    return ImportError(f"this bridge needs {error.name or extra}: pip install '.[{extra}]'")
