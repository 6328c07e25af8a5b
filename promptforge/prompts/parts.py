"""Parts of a prompt that the caller names, such as a memory: a text or items, with a budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ..config.options import Options, PartBudget, is_own_part
from ..errors import Diagnostic, Diagnostics, ItemError, OptionError, quote, show_value
from ..model import Item, Result
from ..text.control_tokens import ControlTokens
from ..text.escape import Safe
from ..tokenizers.counters import Counter
from .messages import replace_surrogates
from .shorten import shortener_of

OwnPart = str | list[Item]
# Stands for options of the context that are not for a part beside it. It has no query: a part that
# changed with each question would end the prefix that the provider's cache holds.
CONTEXT_ALONE = {
    "query": None,
    "max_items": None,
    "min_score": None,
    "max_chars": None,
    "section_budgets": None,
    "header": None,
    "footer": None,
    "sources": False,
    "tree": False,
}


def require_parts(given: object) -> Mapping[str, object]:
    """Return the parts that a caller names, none for None; raises `OptionError` for no mapping."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        message = "parts takes a mapping of names to texts or items"
        raise OptionError(f"{message}; got {show_value(given)}", option="parts")
    return given


def read_parts(
    given: Mapping[str, object],
    load: Callable[[object, Diagnostics], list[Item]],
    controls: ControlTokens | None,
    diagnostics: Diagnostics,
) -> dict[str, OwnPart]:
    """Read the texts of the parts, and by `load` the items; empty ones are left out.

    Raises `OptionError` for a name that no part can have, `ItemError` for what is no list of items.
    """
    found: dict[str, OwnPart] = {}
    for name, content in given.items():
        if not is_own_part(name):
            message = f"parts: {quote(str(name))} is no name for a part of your own"
            raise OptionError(f"{message}; choose another word", option="parts")
        if content is None:
            continue
        if not isinstance(content, str):
            found[name] = _load_items(name, content, load, diagnostics)
        elif text := replace_surrogates(content).strip("\n"):
            count = 0
            if controls is not None:
                text, count = controls.break_up(text)
            if count:
                diagnostics.add("PF704", f"control tokens broken up: {count}", where=name)
            found[name] = text
    return {name: part for name, part in found.items() if part}


def _load_items(
    name: str,
    content: object,
    load: Callable[[object, Diagnostics], list[Item]],
    diagnostics: Diagnostics,
) -> list[Item]:
    try:
        return load(content, diagnostics)
    except ItemError as error:
        raise ItemError(error.bare, where=f"parts: {name}", field=error.field) from error


def order_with(order: tuple[str, ...], names: Sequence[str]) -> tuple[str, ...]:
    """Return an order of parts in which those without a place stand before all that changes."""
    new = [name for name in names if name not in order]
    at = next((n for n, name in enumerate(order) if name not in ("system", "instructions")), 0)
    return (*order[:at], *new, *order[at:])


class PrintedParts(NamedTuple):
    """The texts of parts, each within its budget."""

    texts: dict[str, str]
    numbers: dict[str, tuple[int, int]]
    """Items shown and left out, by part."""
    warnings: list[Diagnostic]


def print_parts(
    parts: Mapping[str, OwnPart],
    options: Options,
    counter: Counter,
    window: int | None,
    render: Callable[[list[Item], int | None], Result],
) -> PrintedParts:
    """Print the parts by `render`, which takes items and tokens; texts are shortened by kind.

    Raises `OptionError` for a share without a window, `BudgetError` for required items.
    """
    printed = PrintedParts({}, {}, [])
    for name, part in parts.items():
        limit = _limit(name, (options.part_budgets or {}).get(name, PartBudget()), window)
        if not isinstance(part, str):
            result = render(part, limit)
            printed.texts[name] = Safe(result.text.strip("\n"))
            printed.numbers[name] = result.items_included, result.items_dropped
            printed.warnings.extend(result.warnings)
            continue
        text = part
        if limit is not None and counter.count(text) > limit:
            text = shortener_of(counter, options.marker).shorten(text, "", limit)
            message = f"shortened to {limit:,} tokens, its budget in part_budgets"
            printed.warnings.append(Diagnostic("PF116", "info", message, where=name))
        printed.texts[name] = text
    return printed


def _limit(name: str, budget: PartBudget, window: int | None) -> int | None:
    if budget.share is None:
        return budget.max_tokens
    if window is None:
        message = f"part_budgets: {name}: a share needs context_window or max_prompt_tokens"
        raise OptionError(message, option="part_budgets")
    limit = int(window * budget.share)
    return limit if budget.max_tokens is None else min(limit, budget.max_tokens)
