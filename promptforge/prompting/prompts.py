"""The finished prompt: the keywords of a provider's call, and a report of the parts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import msgspec

from ..diagnostics import Diagnostic
from ..results import Result


class PromptPart(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a prompt."""

    name: str
    """`system`, `instructions`, `context`, `history` or `question`."""
    role: str
    """The role of its message; empty for the history, since its messages have their own."""
    tokens: int
    """Tokens of its text alone."""
    kept: int
    """Items of the context or turns of the history in the prompt; 1 for any other part."""
    dropped: int
    """Items or turns left out."""


class PromptHistory(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of turns of the history."""

    kept: int
    """Turns in the prompt, the newest."""
    dropped: int
    """Turns left out, the oldest."""


@dataclass(kw_only=True, eq=False, repr=False)
class Prompt(Sequence[dict[str, Any]]):
    """A whole prompt: a sequence of its messages, in the shape asked for.

    Send it with `client.messages.create(model=…, max_tokens=…, **prompt.request)`, or with the call
    of any other provider; `list(prompt)` are its messages alone.
    """

    to: str
    """The shape: `text roles openai openai-responses anthropic gemini`."""
    request: dict[str, Any]
    """The keywords of the provider's call that hold the prompt."""
    text: str
    """The whole as one text; in other shapes than `text`, the parts' texts with blank lines
    between.
    """
    tokens: int
    """Tokens of the window: texts and the LLM's own overhead, or the count of `verify`."""
    window: int | None
    """Tokens of room: `context_window` less `reserve`; `None` if not known."""
    exact: bool
    """False if the tokenizer is an estimate, or the provider adds text that is not seen here."""
    parts: tuple[PromptPart, ...]
    """The parts in the prompt's order."""
    context: Result | None
    """The result of the context; `None` if there is none."""
    history: PromptHistory
    warnings: tuple[Diagnostic, ...]
    """Diagnostics of the prompt and of its context."""
    manifest: dict[str, Any]
    """Versions and hashes of all inputs; `prefix` tells how far two prompts begin alike."""
    _messages: list[dict[str, Any]]

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        """Return one message, or a slice of them."""
        return self._messages[index]

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._messages)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Prompt {self.tokens} tokens, {len(self)} messages, {self.to}>"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "to": self.to,
            "request": self.request,
            "text": self.text,
            "tokens": self.tokens,
            "window": self.window,
            "exact": self.exact,
            "parts": msgspec.to_builtins(self.parts),
            "history": msgspec.to_builtins(self.history),
            "warnings": msgspec.to_builtins(self.warnings),
            "manifest": self.manifest,
            "context": self.context.to_dict() if self.context is not None else None,
        }


def printed(prompt: Prompt) -> str:
    """Return the output of the command: the text of `to="text"`, else the request as JSON."""
    if prompt.to == "text":
        return prompt.text
    return json.dumps(prompt.request, ensure_ascii=False, indent=2) + "\n"
