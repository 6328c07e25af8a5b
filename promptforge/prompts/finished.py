"""A finished prompt: its messages, its account, and what the next prompt needs of it."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar, cast, overload

import msgspec

from ..errors import Diagnostic
from ..model import Result, ResultPart, Source
from ..text.words import late_property
from .messages import Message
from .prefix import SharedPrefix
from .providers import SHAPES, ShapeName, sent_messages

Value = TypeVar("Value")
MAX_ALIKE = 3
"""Diagnostics that say the same of so many messages are all shown; of more, one with a count."""


class PromptPart(ResultPart, frozen=True, kw_only=True):
    """One part of a prompt."""

    name: str
    """`system`, `instructions`, `context`, `history`, `recall`, `question` or `tools`."""
    role: str
    """The role of its message; empty for the history, since its messages have their own."""
    tokens: int
    """Tokens of its text alone."""
    kept: int
    """Items of the context, turns of the history or tools in the prompt; 1 for any other part."""
    dropped: int
    """Items, turns or tools left out."""


class PromptHistory(ResultPart, frozen=True, kw_only=True):
    """Numbers of turns of the history."""

    kept: int
    """Turns in the prompt, the newest."""
    dropped: int
    """Turns left out, the oldest."""


class _LateField:
    """A field of a data class: a `partial` set as its value is called when the field is read."""

    def __set_name__(self, owner: type[object], name: str) -> None:
        self._name = name

    def __get__(self, owner: object | None, kind: type[object]) -> Any:
        if owner is None:  # the field has no default
            raise AttributeError(self._name)
        value = vars(owner)[self._name]
        if isinstance(value, partial):
            value = vars(owner)[self._name] = value()
        return value

    def __set__(self, owner: object, value: Any) -> None:
        vars(owner)[self._name] = value


_late_field: Any = _LateField


def find_late(find: Callable[[], Value]) -> Value:
    """Give a field of a prompt, which few callers read, a value that is found when it is read."""
    return cast("Value", partial(find))


@dataclass(kw_only=True, eq=False, repr=False)
class Prompt(Sequence[dict[str, Any]]):
    """A whole prompt: a sequence of its messages, in the shape asked for.

    Send it with `client.messages.create(model=…, max_tokens=…, **prompt.request)`, or with the call
    of any other provider; `list(prompt)` are its messages alone.
    """

    to: ShapeName
    """The shape: `text roles openai openai-responses anthropic gemini bedrock`."""
    request: dict[str, Any]
    """The keywords of the provider's call that hold the prompt."""
    text: str
    """The whole as one text; in other shapes than `text`, the texts of the parts."""
    tokens: int
    """Tokens of the window: texts and the LLM's own overhead, or the count of `verify`."""
    window: int | None
    """Tokens of room: `context_window` less `reserve`, at most `max_prompt_tokens`; `None` if not
    known."""
    exact: bool
    """False if the tokenizer is an estimate, or the provider adds text that is not seen here."""
    parts: tuple[PromptPart, ...] = _late_field()
    """The parts in the prompt's order."""
    context: Result | None
    """The result of the context; `None` if there is none."""
    history: PromptHistory
    warnings: tuple[Diagnostic, ...]
    """Diagnostics of the prompt and of its context."""
    manifest: dict[str, Any] = _late_field()  # noqa: RUF009
    """Versions and hashes of all inputs; `prefix` tells how far two prompts begin alike."""
    prefix: SharedPrefix
    """The beginning that equals an earlier prompt of the same renderer, and what broke the rest."""
    stored: Sequence[Message] = _late_field()
    """The messages behind `sent`."""

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy is made of: late fields, in place of what finds them."""
        late = {"parts": self.parts, "manifest": self.manifest, "stored": self.stored}
        return {**vars(self), **late}

    @late_property
    def _messages(self) -> list[dict[str, Any]]:
        if self.to == "text":
            return [{"role": "user", "content": self.text}]
        messages: list[dict[str, Any]] = self.request[SHAPES[self.to].messages]
        return messages

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

    @property
    def sources(self) -> tuple[Source, ...]:
        """The items of the context as sources, in its order; none without a context."""
        return () if self.context is None else self.context.sources

    def sent(self) -> list[dict[str, Any]]:
        """Return the messages to store: given as `history`, the next prompt begins as this one.

        They are the history, then all that stood behind it, as it was sent: the context of this
        question too. Append the answer. What stands before the history (system text, instructions)
        is given again with each call. Results that were shortened for this prompt are whole here:
        the next call shortens them alike, and may recall their passages.

            history = prompt.sent() + [{"role": "assistant", "content": answer}]
        """
        return sent_messages(self.to, self.stored)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Prompt {self.tokens} tokens, {len(self)} messages, {self.to}>"

    def to_dict(self) -> dict[str, Any]:
        """Return everything about this prompt alone as plain data, so no `prefix`."""
        names = "to request text tokens window exact parts history warnings manifest"
        data = {name: msgspec.to_builtins(getattr(self, name)) for name in names.split()}
        data["context"] = self.context.to_dict() if self.context is not None else None
        return data


def format_prompt(prompt: Prompt) -> str:
    """Return the output of the command: the text of `to="text"`, else the request as JSON."""
    if prompt.to == "text":
        return prompt.text

    def text_of(blob: bytes) -> str:
        return base64.b64encode(blob).decode()

    return json.dumps(prompt.request, ensure_ascii=False, indent=2, default=text_of) + "\n"


def join_repeated(said: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return diagnostics; one with a count stands for all that say the same of many messages."""
    same: dict[Diagnostic, list[Diagnostic]] = {}
    for each in dict.fromkeys(said):
        about = each
        if (each.where or "").startswith("history["):
            about = replace(each, where="history[")
        same.setdefault(about, []).append(each)
    made: list[Diagnostic] = []
    for alike in same.values():
        if len(alike) <= MAX_ALIKE:
            made += alike
            continue
        said_of = f"{len(alike):,} messages, the last {alike[-1].where}"
        made.append(replace(alike[0], message=f"{alike[0].message}; so in {said_of}"))
    return tuple(made)
