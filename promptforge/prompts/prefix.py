"""The beginning of a prompt: its hashes for the manifest, and what it shares with earlier prompts.

A provider's cache takes the longest beginning of a prompt that it has seen before, and so does
`RecentPrompts`.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from ..model import ResultPart
from .compose import ComposedPrompt, Composer
from .messages import Message, MessageBlock, TextBlock, join_messages
from .providers import SYSTEM_ROLES, ProviderShape

MAX_PROMPTS_REMEMBERED = 16
"""Prompts of one renderer that a new one is compared with: those of several conversations."""


class SharedPrefix(ResultPart, frozen=True, kw_only=True):
    """The beginning that a prompt has in common with an earlier one of the same renderer."""

    tokens: int
    """Its tokens, which a provider's cache may hold."""
    share: float
    """Its share of all tokens of the prompt, from 0 to 1."""
    broken_by: str | None
    """The part of the earlier prompt that is not repeated, as `context`; `None` if all of it is."""


class SentBlock(NamedTuple):
    """One block of a prompt, as the LLM is shown it."""

    hash: int
    tokens: int
    part: str


class RecentPrompts:
    """Remembers the blocks of the newest prompts; threads may share it."""

    def __init__(self) -> None:
        self._known: deque[tuple[SentBlock, ...]] = deque(maxlen=MAX_PROMPTS_REMEMBERED)

    def compare(self, blocks: tuple[SentBlock, ...]) -> SharedPrefix:
        """Return what a prompt shares with the one that it shares most with; remember it."""
        known: tuple[SentBlock, ...] = ()
        same = 0
        # The newest of several that share as much.
        for earlier in reversed(list(self._known)):
            if known and len(earlier) <= same:
                continue
            alike = 0
            for theirs, own in zip(earlier, blocks, strict=False):
                if theirs.hash != own.hash:
                    break
                alike += 1
            if not known or alike > same:
                known, same = earlier, alike
        self._known.append(blocks)
        broken_by = None
        if same < len(known):
            broken_by = known[same].part
        tokens = sum(block.tokens for block in blocks[:same])
        total = sum(block.tokens for block in blocks)
        return SharedPrefix(tokens=tokens, share=tokens / max(1, total), broken_by=broken_by)


def describe_prefix(composed: ComposedPrompt, stable: Sequence[str]) -> dict[str, Any]:
    """Hash each part as the request has it, and all parts up to the last stable one."""
    hashes, boundary = [], json.dumps(composed.boundary)
    for part in composed.parts:
        # All that the LLM is shown: roles, calls and results, and the nonce in the delimiters.
        shown = ", ".join(message.fact(_shown, _shown) for message in part.messages)
        said = f"[{shown}]" if part.messages else json.dumps(part.text)
        hashes.append(_digest(f"[{boundary}, {json.dumps(part.role)}, {said}]"))
    names = [part.name for part in composed.parts]
    # A part may come twice; the prefix ends at its first place.
    end = max((names.index(name) + 1 for name in stable if name in names), default=0)
    prefix: dict[str, Any] = {"after": None, "sha256": None}
    if end:
        prefix = {"after": names[end - 1], "sha256": _digest("\n".join(hashes[:end]))}
    named = zip(names, hashes, strict=True)
    return {**prefix, "parts": [{"name": name, "sha256": sha256} for name, sha256 in named]}


def _shown(message: Message) -> str:
    shown: list[Any] = [message.role]
    for block in message.blocks:
        fields = msgspec.structs.asdict(block)
        shown.append([v for key, v in fields.items() if key != "loss" and v not in (None, "")])
    return json.dumps(shown)


def sent_blocks(
    composed: ComposedPrompt, shape: ProviderShape, composer: Composer
) -> Iterator[SentBlock]:
    """Yield the blocks of a prompt in the order of the request, each with its tokens.

    Those of a prompt as one text are its lines, each with its share of the tokens of its part.
    """
    if composed.text is not None:
        for part in composed.parts:
            tokens = composer.count_part(part)
            for line in part.text.splitlines():
                own = tokens * len(line) // max(1, len(part.text))
                yield SentBlock(hash(line), own, part.name)
        return
    names = {
        id(block): part.name
        for part in composed.parts
        if part.name != "history"
        for message in part.messages
        for block in message.blocks
    }
    messages = list(composed.messages)
    if shape.system_first:
        messages.sort(key=lambda message: message.role not in SYSTEM_ROLES)
        messages = join_messages(messages)

    def measure(message: Message) -> list[SentBlock]:
        return _measure(message, names, shape, composer)

    for message in messages:
        parts = tuple(names.get(id(block), "history") for block in message.blocks)
        about = composer.cost_key and (parts, shape.make, composer.cost_key)
        yield from message.fact(about, measure)


def _measure(
    message: Message, names: Mapping[int, str], shape: ProviderShape, composer: Composer
) -> list[SentBlock]:
    apart: list[tuple[MessageBlock, ...]] = [(block,) for block in message.blocks]
    if not composer.splits_texts:
        apart = [message.blocks]
    measured, spared = [], 0
    for blocks in apart:
        one = Message(message.role, blocks)
        hashed = hash((message.role, one.text))
        if not all(isinstance(b, TextBlock) and b.original is None for b in blocks):
            hashed = hash(json.dumps(shape.make([one]), default=str))
        name = names.get(id(blocks[0]), "history")
        measured.append(SentBlock(hashed, composer.message_cost(one) - spared, name))
        spared = composer.options.message_tokens
    return measured


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
