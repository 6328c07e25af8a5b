"""The pipeline from items to a result: plan, pack and print (`planning.py`), then report.

`Pipeline.make` runs it, and remembers the last result of each thread.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import NamedTuple

from ..errors import Diagnostic, Diagnostics, StrictError, TemplateError
from ..model import Item, Result
from ..selection.filter import MAX_ITEMS_CHANGED, are_same, parts_of
from ..tokenizers.registry import get_tokenizer
from .planning import Planner, Request
from .report import Report, say_of_report

MAX_CHARS_REMEMBERED = 1 << 27
"""Characters of contents in the last result of a thread; a larger one is not remembered."""


class Pipeline(Planner):
    """The way from items to a result, for one profile. Any thread may use it."""

    def render(self, request: Request, diagnostics: Diagnostics) -> Result:
        """Return the result of a request; the last one again where nothing has changed.

        Raises as `make` does.
        """
        last = _LAST.made
        if last is not None:
            before = last.result.report.request.items
            request = request._replace(items=_as_before(request.items, before))
        # A function of the caller's may answer otherwise the next time.
        options = request.options
        lasting = self._embed is None and isinstance(options.tokenizer, str)
        lasting = lasting and not callable(options.rerank)
        if not lasting or len(diagnostics):
            return self._report(request, diagnostics)
        counter = get_tokenizer(request.options.tokenizer)
        asked = request.options, request.beside, request.apart, request.listed
        key = self, request.templates, counter, *asked
        parts = parts_of(request.items)
        if last is None or last.key != key or not are_same(last.parts, parts):
            result = self._report(request, diagnostics)
            fits = sum(result.report.page.candidates.columns.lengths) <= MAX_CHARS_REMEMBERED
            _LAST.made = _Made(key, parts, result) if fits else None
            return result
        _LOG.debug("the same items and options as before: the text was made then")
        return Result(
            last.result.report, last.result.warnings, time.perf_counter() - request.started
        )

    def _report(self, request: Request, diagnostics: Diagnostics) -> Result:
        settled: Result | None = get_tokenizer(request.options.tokenizer).settle(
            lambda counter: self.render(request.with_options(tokenizer=counter), diagnostics.copy())
        )
        if settled is not None:
            return settled
        last = _LAST.made
        columns = last and last.result.report.page.candidates.columns
        printed = self.make(request, diagnostics, columns)
        report = Report(**vars(printed))
        say_of_report(report, diagnostics)
        seconds = time.perf_counter() - request.started
        asked = request.options.layout, request.options.format
        about = (len(printed.packed.chosen), printed.tokens, len(printed.text))
        message = "printed %d items: %d tokens, %d characters (%s, %s), %.1f ms"
        _LOG.debug(message, *about, *asked, 1000 * seconds)
        return Result(report, tuple(diagnostics), seconds)


class _Made(NamedTuple):
    """The last result, and all that it was made of."""

    key: tuple[object, ...]
    parts: Sequence[object]
    result: Result


class _LastOfThread(threading.local):
    """The last result of each thread. Two threads never work out the rest of one report at once."""

    made: _Made | None = None


_LAST = _LastOfThread()


def _as_before(items: list[Item], before: list[Item]) -> list[Item]:
    """Return items with those of the last rendering in place of the same ones, read anew.

    A program asks its second question with the records of the first: what is known of an item
    depends on no question. Where the first items are all others, so is the list.
    """
    near = map(_is_same, items[: MAX_ITEMS_CHANGED + 1], before)
    if len(items) != len(before) or are_same(items, before) or not any(near):
        return items
    return [old if _is_same(new, old) else new for new, old in zip(items, before, strict=True)]


def _is_same(item: Item, other: Item) -> bool:
    """Tell whether two items are equal, and print the same."""
    mine, theirs = item.metadata, other.metadata
    pairs = zip(mine.values(), theirs.values(), strict=False)
    if [*mine] != [*theirs] or not all(_are_alike(a, b) for a, b in pairs):
        return False
    # A score of 0 or 1 may be a mark, and 0 may be -0.0.
    return item == other and (item.score is other.score or item.score not in (0, 1))


def _are_alike(value: object, other: object) -> bool:
    """Tell whether two values of metadata print the same: 1, 1.0 and True are equal as well."""
    kind = type(value)
    return value is other or (kind is type(other) and kind in (str, int) and value == other)


# --- diagnostics ------------------------------------------------------------------------------

_LOG = logging.getLogger("promptforge")
_LOG.addHandler(logging.NullHandler())
_LEVELS = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
SHIPPED_TEMPLATES_USED = "; the shipped templates were used instead"
"""The end of the message that says that a template of the user's failed."""


def shipped_templates_used(error: TemplateError) -> Diagnostic:
    """Return the diagnostic for shipped templates that stand in for the user's."""
    return Diagnostic("PF401", "error", f"{error}{SHIPPED_TEMPLATES_USED}", None, error.where)


def log_diagnostics(result: object, warnings: Sequence[Diagnostic], strict: bool) -> None:
    """Log diagnostics; raise on warnings in strict mode.

    The logger `promptforge` writes nothing until the application says where. The `StrictError`
    carries `result`.
    """
    for diagnostic in warnings:
        _LOG.log(_LEVELS[diagnostic.severity], "%s", diagnostic)
    grave = tuple(diagnostic for diagnostic in warnings if diagnostic.severity != "info")
    if strict and grave:
        message = str(grave[0])
        if len(grave) > 1:
            message += f" (and {len(grave) - 1} more)"
        raise StrictError(message, diagnostics=grave, result=result)
