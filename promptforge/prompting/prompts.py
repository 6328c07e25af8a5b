"""What comes out: a prompt as the provider's call takes it, and the account of its parts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, overload

import msgspec

from ..diagnostics import Diagnostic
from ..results import Result


class PromptPart(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a prompt."""

    name: str
    """`system`, `instructions`, `context`, `history` or `question`."""
    role: str
    """Whose message it is; empty for the history, whose messages have their own."""
    tokens: int
    """Tokens of its text on its own."""
    kept: int
    """Items of the context, turns of the history that are in it; 1 for any other part."""
    dropped: int
    """Items or turns that are not."""


class PromptHistory(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the history."""

    kept: int
    """Turns in the prompt, the newest."""
    dropped: int
    """Turns left out, the oldest."""


class Prompt(Sequence[dict[str, Any]]):
    """A whole prompt: a sequence of its messages, in the shape that was asked for.

    `client.messages.create(model=…, max_tokens=…, **prompt.request)` sends it, and so does the call of any other
    provider; `list(prompt)` are its messages alone.
    """

    def __init__(
        self,
        *,
        to: str,
        request: dict[str, Any],
        messages: list[dict[str, Any]],
        text: str,
        tokens: int,
        window: int | None,
        exact: bool,
        parts: tuple[PromptPart, ...],
        context: Result | None,
        history: PromptHistory,
        warnings: tuple[Diagnostic, ...],
        manifest: dict[str, Any],
    ) -> None:
        self.to = to
        """The shape: `text roles openai openai-responses anthropic gemini`."""
        self.request = request
        """The keywords of the provider's call that hold the prompt."""
        self.text = text
        """The whole as one text; in other shapes than `text` what its parts say, a blank line between."""
        self.tokens = tokens
        """What it takes of the window: its texts and the LLM's own frame around them, or what `verify` counted."""
        self.window = window
        """Tokens there are for it: `context_window` less `reserve`; `None` where that is not known."""
        self.exact = exact
        """False where the tokenizer is an estimate, or the provider adds what the texts do not show."""
        self.parts = parts
        """In the order of the prompt."""
        self.context = context
        """The account of the context; `None` where the prompt has none."""
        self.history = history
        self.warnings = warnings
        """What there is to be said of the prompt and of its context."""
        self.manifest = manifest
        """Versions and hashes of everything it depends on; `prefix` says up to where it is as another one was."""
        self._messages = messages

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        """Return a message, or some."""
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
        """Return all of it as plain data."""
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
    """Return what is sent: the text of `to="text"`, else the keywords of the call as JSON, a line end after them."""
    if prompt.to == "text":
        return prompt.text
    return json.dumps(prompt.request, ensure_ascii=False, indent=2) + "\n"
