"""Messages → the keywords of a provider's call. One function a shape; what a shape cannot say is its own to solve.

Shapes as the providers' own libraries for Python declare them: openai 3.54, anthropic 2.12, google-genai 3.4.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from .messages import Block, Call, Message, Output, Text

Request = dict[str, Any]

SYSTEM = ("system", "developer")
_ANTHROPIC_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def text(messages: Sequence[Message]) -> Request:
    """Return the one text as a prompt, for what completes texts."""
    return {"prompt": messages[0].text if messages else ""}


def roles(messages: Sequence[Message]) -> Request:
    """Return messages with `role` and `content` as chat templates take them; calls as `tool_calls`, as they do too."""
    return {"messages": [each for message in messages for each in _chat(message, lambda m: m.text)]}


def openai(messages: Sequence[Message]) -> Request:
    """Return the keywords of `chat.completions.create`."""
    return {"messages": [each for message in messages for each in _chat(message, _parts)]}


def _chat(message: Message, content: Callable[[Message], Any]) -> list[dict[str, Any]]:
    if message.role == "tool":
        outputs = [block for block in message.blocks if isinstance(block, Output)]
        ends = [n == len(outputs) and bool(message.breaks) for n in range(1, len(outputs) + 1)]
        return [
            {
                "role": "tool",
                "tool_call_id": output.id,
                "content": content(Message("tool", (Text(output.text),), (1,) if end else ())),
            }
            for output, end in zip(outputs, ends, strict=True)
        ]
    calls = [block for block in message.blocks if isinstance(block, Call)]
    said = content(message) if any(isinstance(block, Text) for block in message.blocks) else None
    made: dict[str, Any] = {"role": message.role, "content": said}
    if calls:
        made["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in calls
        ]
    return [made]


def _parts(message: Message) -> str | list[dict[str, Any]]:
    """Return a text, or where a stable prefix ends inside of it, its parts up to there and from there on."""
    parts = _cut_at_breaks(message)
    if not message.breaks:
        return message.text
    return [
        {"type": "text", "text": part, **({_OPENAI_MARK: _MARK} if marked else {})}
        for part, marked in parts
    ]


_OPENAI_MARK = "prompt_cache_breakpoint"
_MARK = {"mode": "explicit"}


def _cut_at_breaks(message: Message) -> list[tuple[str, bool]]:
    """Return the texts between the ends of stable prefixes, joined as the one text is, and whether one ends there."""
    ends = [
        *message.breaks,
        *([len(message.blocks)] if len(message.blocks) not in message.breaks else []),
    ]
    parts, start = [], 0
    for end in ends:
        texts = [block.text for block in message.blocks[start:end] if isinstance(block, Text)]
        more = any(isinstance(block, Text) for block in message.blocks[end:])
        if texts:
            parts.append(("\n\n".join(texts) + ("\n\n" if more else ""), end in message.breaks))
        start = end
    return parts


def openai_responses(messages: Sequence[Message]) -> Request:
    """Return the keywords of `responses.create`.

    An answer of before is a plain text and takes no mark: a stable prefix that ends with one is marked before it.
    """
    items: list[dict[str, Any]] = []
    markable: dict[str, Any] = {}
    for message in messages:
        said: list[dict[str, Any]] = []
        for n, block in enumerate(message.blocks, 1):
            mark = {_OPENAI_MARK: _MARK} if n in message.breaks else {}
            if isinstance(block, Text):
                if message.role == "assistant":
                    items.append({"type": "message", "role": "assistant", "content": block.text})
                    if markable:
                        markable.update(mark)
                else:
                    markable = {"type": "input_text", "text": block.text, **mark}
                    said.append(markable)
            elif isinstance(block, Call):
                items.append(
                    {
                        "type": "function_call",
                        "call_id": block.id,
                        "name": block.name,
                        "arguments": block.arguments,
                    }
                )
            elif isinstance(block, Output):
                output: Any = (
                    [{"type": "input_text", "text": block.text, **mark}] if mark else block.text
                )
                items.append(
                    {"type": "function_call_output", "call_id": block.id, "output": output}
                )
        if said:
            items.append({"type": "message", "role": message.role, "content": said})
    return {"input": items}


def anthropic(messages: Sequence[Message]) -> Request:
    """Return the keywords of `messages.create`, but for `model` and `max_tokens`.

    Results of tools are in messages of the user, and come first in them.
    """
    system: list[dict[str, Any]] = []
    turns: list[dict[str, Any]] = []
    for message in messages:
        blocks = [
            _anthropic_block(block)
            | ({"cache_control": {"type": "ephemeral"}} if n in message.breaks else {})
            for n, block in enumerate(message.blocks, 1)
        ]
        if message.role in SYSTEM:
            system += blocks
            continue
        _add(turns, "assistant" if message.role == "assistant" else "user", "content", blocks)
    return {**({"system": system} if system else {}), "messages": turns}


def _add(turns: list[dict[str, Any]], role: str, key: str, blocks: list[dict[str, Any]]) -> None:
    """Add blocks to the last message if it is of their role, else as a message of their own."""
    if turns and turns[-1]["role"] == role:
        turns[-1][key] += blocks
    else:
        turns.append({"role": role, key: blocks})


def _anthropic_block(block: Block) -> dict[str, Any]:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    if isinstance(block, Call):
        arguments = json.loads(block.arguments)
        return {
            "type": "tool_use",
            "id": _anthropic_id(block.id),
            "name": block.name,
            "input": arguments,
        }
    if isinstance(block, Output):
        failed = {"is_error": True} if block.failed else {}
        return {
            "type": "tool_result",
            "tool_use_id": _anthropic_id(block.id),
            "content": block.text,
            **failed,
        }
    cited: dict[str, Any] = {"citations": {"enabled": True}}
    if block.found:
        content = [{"type": "text", "text": block.text}]
        return {
            "type": "search_result",
            "source": block.source,
            "title": block.title,
            "content": content,
            **cited,
        }
    source = {"type": "text", "media_type": "text/plain", "data": block.text}
    return {"type": "document", "source": source, "title": block.title, **cited}


def _anthropic_id(own: str) -> str:
    """Return an id of the characters that Anthropic takes: others are told apart by a hash."""
    if _ANTHROPIC_ID.fullmatch(own):
        return own
    return "call_" + hashlib.sha256(own.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def gemini(messages: Sequence[Message]) -> Request:
    """Return the keywords of `models.generate_content`, but for `model`; more may be added to `config`."""
    system: list[dict[str, Any]] = []
    turns: list[dict[str, Any]] = []
    for message in messages:
        parts = [_gemini_part(block) for block in message.blocks]
        if message.role in SYSTEM:
            system += parts
            continue
        _add(turns, "model" if message.role == "assistant" else "user", "parts", parts)
    return {
        "contents": turns,
        **({"config": {"system_instruction": {"parts": system}}} if system else {}),
    }


def _gemini_part(block: Block) -> dict[str, Any]:
    if isinstance(block, Call):
        return {
            "function_call": {
                "id": block.id,
                "name": block.name,
                "args": json.loads(block.arguments),
            }
        }
    if isinstance(block, Output):
        response = {"error" if block.failed else "output": block.text}
        return {"function_response": {"id": block.id, "name": block.name, "response": response}}
    return {"text": block.text}


class Shape(NamedTuple):
    """What there is to know of a shape."""

    make: Callable[[Sequence[Message]], Request]
    messages: str = "messages"
    """The keyword under which its messages are."""
    blocks: bool = False
    """Whether the texts of one message stay apart."""
    cites: bool = False
    """Whether it takes items as blocks that answers can point at."""
    apart: bool = False
    """Whether what the system says stands apart from the messages, all of it before them."""
    caches: bool = False
    """Whether it can mark the end of a stable prefix."""


SHAPES: Mapping[str, Shape] = {
    "text": Shape(text),
    "roles": Shape(roles),
    "openai": Shape(openai, caches=True),
    "openai-responses": Shape(openai_responses, "input", blocks=True, caches=True),
    "anthropic": Shape(anthropic, blocks=True, cites=True, apart=True, caches=True),
    "gemini": Shape(gemini, "contents", blocks=True, apart=True),
}
"""What `to` may say."""
