"""One event a prompt, for operators: its costs, its losses, and what a cache may hold."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import msgspec

from ..errors import OptionError, show_value
from .finished import Prompt
from .ladder import FittedHistory
from .prefix import SharedPrefix

_LOG = logging.getLogger("promptforge")


class PromptEvent(msgspec.Struct, frozen=True, kw_only=True):
    """The account of one prompt in numbers; no text of it."""

    to: str
    """Its shape."""
    profile: str
    tokens: int
    window: int | None
    parts: dict[str, int]
    """Tokens by part, `tools` and `recall` among them."""
    kept: dict[str, int]
    """`items` of the context and `turns` of the history in the prompt."""
    shortened: dict[str, int]
    """`items` that were trimmed, `texts` of the history, results in `one_line`."""
    dropped: dict[str, int]
    """Items by the name of their reason, as `budget`; `turns`, `steps`, `calls` and
    `thoughts`."""
    prefix: SharedPrefix

    @property
    def compacted(self) -> bool:
        """True if the history was shortened or cut."""
        history = ("turns", "steps", "calls", "texts", "one_line")
        return any(self.dropped.get(key) or self.shortened.get(key) for key in history)

    def fields(self) -> dict[str, Any]:
        """Return the numbers under names with dots, as `parts.system`; for a log or a trace."""
        flat: dict[str, Any] = {"compacted": self.compacted}
        for name, value in msgspec.to_builtins(self).items():
            inner = value if isinstance(value, dict) else {"": value}
            flat |= {f"{name}.{key}".rstrip("."): one for key, one in inner.items()}
        return {name: value for name, value in flat.items() if value is not None}


OnPrompt = Callable[[PromptEvent], object]
"""Takes the event of a prompt."""


def require_functions(**given: object) -> None:
    """Raise `OptionError` for a value, by its argument, that is neither a function nor None."""
    for name, value in given.items():
        if value is not None and not callable(value):
            raise OptionError(f"{name} takes a function; got {show_value(value)}", option=name)


def report_prompt(make: Callable[[], PromptEvent], on_prompt: OnPrompt | None) -> None:
    """Log an event, its fields in `extra`, and hand it on; else none is made."""
    if _LOG.isEnabledFor(logging.INFO):
        event = make()
        extra = {"promptforge": event.fields()}
        share = round(100 * event.prefix.share)
        _LOG.info("prompt: %d tokens, %d %% as before", event.tokens, share, extra=extra)
    if on_prompt is not None:
        on_prompt(make())


def make_event(prompt: Prompt, profile: str, history: FittedHistory) -> PromptEvent:
    """Return the event of a prompt; numbers that are 0 are left out."""
    tokens: dict[str, int] = {}
    for part in prompt.parts:
        tokens[part.name] = tokens.get(part.name, 0) + part.tokens
    kept = {"turns": prompt.history.kept}
    shortened = {"texts": history.shortened, "one_line": history.one_line}
    dropped = {"turns": history.turns_gone, "steps": history.steps_gone}
    dropped |= {"calls": history.calls_gone, "thoughts": history.thoughts_gone}
    if prompt.context is not None:
        kept["items"] = prompt.context.items_included
        shortened["items"] = prompt.context.items_trimmed
        dropped |= prompt.context.report.counts
    found = {"kept": kept, "shortened": shortened, "dropped": dropped}
    return PromptEvent(
        to=prompt.to,
        profile=profile,
        tokens=prompt.tokens,
        window=prompt.window,
        parts=tokens,
        prefix=prompt.prefix,
        **{name: {k: n for k, n in each.items() if n} for name, each in found.items()},
    )
