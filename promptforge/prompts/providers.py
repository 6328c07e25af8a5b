"""Messages → the keyword arguments of a provider's call. One function for each shape.

The shapes are as the providers' Python libraries declare them: openai 3.54, anthropic 2.12,
google-genai 3.4, botocore 1.44.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any, Literal, NamedTuple, cast

import msgspec
from msgspec.structs import replace

from ..errors import OptionError, quote, suggest_name
from .messages import (
    FIELDS,
    GEMINI_SIGNATURES,
    ImageBlock,
    Message,
    MessageBlock,
    OpaqueBlock,
    TextBlock,
    ToolCall,
    ToolOutput,
    join_messages,
)

Request = dict[str, Any]
ShapeName = Literal["text", "roles", "openai", "openai-responses", "anthropic", "gemini", "bedrock"]
# "developer" is the newer name of OpenAI for the same.
SYSTEM_ROLES = ("system", "developer")
_ANTHROPIC_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_OPENAI_CACHE_MARK = {"prompt_cache_breakpoint": {"mode": "explicit"}}
_GEMINI_CALLS = {"function_call", "functionCall"}
_GEMINI_RESULTS = {"function_response", "functionResponse"}
GEMINI_STAND_IN = "skip_thought_signature_validator"
"""Google's documented signature for calls that Gemini did not make. Without one, Gemini 3 answers
400; of earlier models Google requires none.
"""
_CONTENTS = (TextBlock, ImageBlock, OpaqueBlock)
_SHORT_ID = re.compile(r"[A-Za-z0-9]{9}")
_ANTHROPIC_CACHE_MARK = {"cache_control": {"type": "ephemeral"}}


def text(messages: Sequence[Message]) -> Request:
    """Return the one text as a prompt, for LLMs that complete texts."""
    return {"prompt": messages[0].text if messages else ""}


def roles(messages: Sequence[Message]) -> Request:
    """Return messages with `role`, `content` and `tool_calls`, as chat templates take them.

    Most templates know one system message, the first, and take the arguments of a call as an
    object: they print a text as a string within JSON, or not at all.
    """
    system = [message for message in messages if message.role in SYSTEM_ROLES]
    if system:
        blocks = tuple(block for message in system for block in message.blocks)
        others = [message for message in messages if message.role not in SYSTEM_ROLES]
        if system != [messages[0]]:
            others = join_messages(others)
        messages = [Message(system[0].role, blocks), *others]
    made = (_chat(message, lambda m: m.text, json.loads) for message in messages)
    return {"messages": [one for several in made for one in several]}


def openai(messages: Sequence[Message]) -> Request:
    """Return the keywords of `chat.completions.create`."""
    return {"messages": [made for message in messages for made in _chat(message, _chat_content)]}


def _chat(
    message: Message, content: Callable[[Message], Any], arguments: Callable[[str], Any] = str
) -> list[dict[str, Any]]:
    if message.role == "tool":
        # A tool message carries one result, so several become messages, the last with the mark.
        outputs = [block for block in message.blocks if isinstance(block, ToolOutput)]
        made = []
        for n, output in enumerate(outputs, 1):
            breaks = (1,) if message.breaks and n == len(outputs) else ()
            said = output.text
            if breaks:
                said = content(Message("tool", (TextBlock(output.text),), breaks))
            made.append({"role": "tool", "tool_call_id": output.id, "content": said})
        return made
    # OpenAI wants the key "content" beside calls too, as null.
    one: dict[str, Any] = {"role": message.role, "content": None}
    fields = [block for block in message.blocks if _is_field(block)]
    if fields:
        left = tuple(block for block in message.blocks if block not in fields)
        message = replace(message, blocks=left)
    if any(isinstance(block, _CONTENTS) for block in message.blocks):
        one["content"] = content(message)
    for block in fields:
        one |= _copy(block.original or {})
    for call in message.blocks:
        if isinstance(call, ToolCall):
            own = _copy(call.original)
            if not own:
                function = {"name": call.name, "arguments": arguments(call.arguments)}
                own = {"id": call.id, "type": "function", "function": function}
            one.setdefault("tool_calls", []).append(own)
    return [one]


_copy: Callable[[Any], dict[str, Any]] = msgspec.to_builtins
"""Copies plain data: a program may change its request, and the next begins alike."""


def _is_field(block: MessageBlock) -> bool:
    if isinstance(block, OpaqueBlock):
        return block.kind == FIELDS
    return isinstance(block, TextBlock) and block.original is not None and len(block.original) == 1


def _chat_content(message: Message) -> str | list[dict[str, Any]]:
    """Return one text as it is; several as parts, so that none passes for another's end."""
    shown = [(n, b) for n, b in enumerate(message.blocks, 1) if not isinstance(b, ToolCall)]
    plain = all(isinstance(block, TextBlock) and block.original is None for _, block in shown)
    if len(shown) == 1 and plain and not message.breaks:
        return message.text
    parts = list(map(_chat_part, (block for _, block in shown)))
    for end in message.breaks:
        # A call of a tool takes no mark, so the text before it carries the mark.
        before = [part for (n, _), part in zip(shown, parts, strict=True) if n <= end]
        if before:
            before[-1] |= _OPENAI_CACHE_MARK
    return parts


def _chat_part(block: MessageBlock) -> dict[str, Any]:
    if block.original is not None:
        return _copy(block.original)
    if isinstance(block, ImageBlock):
        return {"type": "image_url", "image_url": {"url": _image_url(block)}}
    assert isinstance(block, TextBlock)
    return {"type": "text", "text": block.text}


def _image_url(block: ImageBlock) -> str:
    return block.url or f"data:{block.mime};base64,{block.data}"


def openai_responses(messages: Sequence[Message]) -> Request:
    """Return the keywords of `responses.create`."""
    items: list[dict[str, Any]] = []
    markable: dict[str, Any] = {}
    for message in messages:
        said: list[dict[str, Any]] = []
        for n, block in enumerate(message.blocks, 1):
            mark = _OPENAI_CACHE_MARK if n in message.breaks else {}
            if message.role not in ("assistant", "tool"):
                markable = {**_response_part(block), **mark}
                said.append(markable)
                continue
            items.append(_response_item(block, mark))
            # An earlier answer takes no mark, so the text before it carries the mark.
            if markable and not isinstance(block, ToolOutput):
                markable.update(mark)
        if said:
            items.append({"type": "message", "role": message.role, "content": said})
    return {"input": items}


def _response_part(block: MessageBlock) -> dict[str, Any]:
    if block.original is not None:
        return _copy(block.original)
    if isinstance(block, ImageBlock):
        return {"type": "input_image", "image_url": _image_url(block), "detail": "auto"}
    assert isinstance(block, TextBlock)
    return {"type": "input_text", "text": block.text}


def _response_item(block: MessageBlock, mark: dict[str, Any]) -> dict[str, Any]:
    if block.original is not None:
        return _copy(block.original)
    if isinstance(block, ToolCall):
        call = {"call_id": block.id, "name": block.name, "arguments": block.arguments}
        return {"type": "function_call", **call}
    if isinstance(block, ToolOutput):
        output: Any = block.text
        if mark:
            output = [{"type": "input_text", "text": block.text, **mark}]
        return {"type": "function_call_output", "call_id": block.id, "output": output}
    assert isinstance(block, TextBlock)
    return {"type": "message", "role": "assistant", "content": block.text}


def anthropic(messages: Sequence[Message]) -> Request:
    """Return the keywords of `messages.create`, but for `model` and `max_tokens`."""

    def blocks_of(message: Message) -> list[dict[str, Any]]:
        blocks = list(map(_anthropic_block, message.blocks))
        for n in message.breaks:
            blocks[n - 1] |= _ANTHROPIC_CACHE_MARK
        return blocks

    system, turns = _system_and_turns(messages, blocks_of)
    return {**({"system": system} if system else {}), "messages": turns}


def _system_and_turns(
    messages: Sequence[Message],
    blocks_of: Callable[[Message], list[dict[str, Any]]],
    key: str = "content",
    assistant: str = "assistant",
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the blocks of system messages, and turns with their blocks under `key`."""
    system: list[dict[str, Any]] = []
    turns: list[dict[str, Any]] = []
    for message in messages:
        if message.role in SYSTEM_ROLES:
            system += blocks_of(message)
        else:
            # Results of tools belong into messages of the user: there is no role for tools.
            role = assistant if message.role == "assistant" else "user"
            if not turns or turns[-1]["role"] != role:
                turns.append({"role": role, key: []})
            turns[-1][key] += blocks_of(message)
    return system, turns


def _anthropic_block(block: MessageBlock) -> dict[str, Any]:
    if block.original is not None:
        return _copy(block.original)
    if isinstance(block, ImageBlock):
        source = {"type": "url", "url": block.url}
        if block.data:
            source = {"type": "base64", "media_type": block.mime, "data": block.data}
        return {"type": "image", "source": source}
    assert not isinstance(block, OpaqueBlock)  # it has an original of this family
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text}
    if isinstance(block, ToolCall):
        call = {"id": _anthropic_id(block.id), "name": block.name}
        return {"type": "tool_use", **call, "input": json.loads(block.arguments)}
    if isinstance(block, ToolOutput):
        output: dict[str, Any] = {"tool_use_id": _anthropic_id(block.id), "content": block.text}
        if block.failed:
            output["is_error"] = True
        return {"type": "tool_result", **output}
    citations = {"citations": {"enabled": True}}
    if block.found:
        content = [{"type": "text", "text": block.text}]
        named = {"source": block.source, "title": block.title, "content": content}
        return {"type": "search_result", **named, **citations}
    source = {"type": "text", "media_type": "text/plain", "data": block.text}
    return {"type": "document", "source": source, "title": block.title, **citations}


def _anthropic_id(given: str) -> str:
    if _ANTHROPIC_ID.fullmatch(given):
        return given
    # By a hash, so that two ids stay two, and a call and its result still agree.
    return "call_" + hashlib.sha256(given.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def gemini(messages: Sequence[Message]) -> Request:
    """Return the keywords of `models.generate_content`, but for `model`; `config` may be added
    to.
    """

    def parts_of(message: Message) -> list[dict[str, Any]]:
        return list(map(_gemini_part, message.blocks))

    system, turns = _system_and_turns(messages, parts_of, "parts", "model")
    for parts in _running_calls(turns):
        names = parts[0].keys() & GEMINI_SIGNATURES
        if not any(parts[0][name] for name in names):  # a library writes None
            parts[0][next(iter(names), "thought_signature")] = GEMINI_STAND_IN
    request: Request = {"contents": turns}
    if system:
        request["config"] = {"system_instruction": {"parts": system}}
    return request


def _running_calls(turns: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yield the calls of each answer of the running turn: Gemini 3 checks their signatures."""
    # As Google's own command does: a question merged with results does not begin a turn, so calls
    # before it are still checked.
    for turn in reversed(turns):
        parts = turn["parts"]
        if turn["role"] == "user" and not any(part.keys() & _GEMINI_RESULTS for part in parts):
            return
        calls = [part for part in parts if part.keys() & _GEMINI_CALLS]
        if calls:
            yield calls


def stand_ins(request: Request) -> int:
    """Return the number of answers in a request that carry Gemini's stand-in."""
    answers = request.get("contents", ())
    return sum(GEMINI_STAND_IN in part.values() for answer in answers for part in answer["parts"])


def _gemini_part(block: MessageBlock) -> dict[str, Any]:
    if block.original is not None:
        return _copy(block.original)
    if isinstance(block, ImageBlock):
        return {"inline_data": {"mime_type": block.mime, "data": block.data}}
    assert not isinstance(block, OpaqueBlock)  # it has an original of this family
    if isinstance(block, ToolCall):
        call = {"id": block.id, "name": block.name, "args": json.loads(block.arguments)}
        return {"function_call": call}
    if isinstance(block, ToolOutput):
        response = {"error" if block.failed else "output": block.text}
        return {"function_response": {"id": block.id, "name": block.name, "response": response}}
    return {"text": block.text}


def bedrock(messages: Sequence[Message]) -> Request:
    """Return the keywords of `converse` of Amazon Bedrock, but for `modelId`."""

    def blocks_of(message: Message) -> list[dict[str, Any]]:
        blocks: list[dict[str, Any]] = []
        for n, block in enumerate(message.blocks, 1):
            blocks.append(_bedrock_block(block))
            _decode_blobs(blocks[-1])
            if n in message.breaks:
                blocks.append({"cachePoint": {"type": "default"}})
        return blocks

    system, turns = _system_and_turns(messages, blocks_of)
    return {**({"system": system} if system else {}), "messages": turns}


def _bedrock_block(block: MessageBlock) -> dict[str, Any]:
    if block.original is not None:
        return _copy(block.original)
    if isinstance(block, ImageBlock):
        kind = block.mime.removeprefix("image/")
        return {"image": {"format": kind, "source": {"bytes": block.data}}}
    assert not isinstance(block, OpaqueBlock)  # it has an original of this family
    if isinstance(block, ToolCall):
        call = {"toolUseId": _anthropic_id(block.id), "name": block.name}
        return {"toolUse": {**call, "input": json.loads(block.arguments)}}
    if isinstance(block, ToolOutput):
        output: dict[str, Any] = {"toolUseId": _anthropic_id(block.id)}
        output["content"] = [{"text": block.text}]
        if block.failed:
            output["status"] = "error"
        return {"toolResult": output}
    return {"text": block.text}


def _decode_blobs(block: dict[str, Any]) -> None:
    """Put bytes in place of a block's blobs: the SDK would encode their base64 once more."""
    for key, value in block.items():
        if isinstance(value, str):
            if key in ("bytes", "redactedContent"):
                with contextlib.suppress(binascii.Error, ValueError):
                    block[key] = base64.b64decode(value, validate=True)
        # What a tool takes and gives is the caller's own JSON: its `bytes` may be any text.
        elif key not in ("input", "json"):
            waiting = [value]
            while waiting:
                member = waiting.pop()
                if isinstance(member, list):
                    waiting += member
                elif isinstance(member, dict):
                    _decode_blobs(member)


def with_short_id(block: MessageBlock) -> MessageBlock:
    """Return a call or result with an id of nine letters or digits, as Mistral wants it."""
    if not isinstance(block, ToolCall | ToolOutput) or _SHORT_ID.fullmatch(block.id):
        return block
    id_ = hashlib.sha256(block.id.encode("utf-8", "surrogatepass")).hexdigest()[:9]
    return replace(block, id=id_, original=block.original and {**block.original, "id": id_})


NO_OUTPUT = "(no output)"


def with_some_output(block: MessageBlock) -> MessageBlock:
    """Return a result with some text: Converse refuses a blank one."""
    if not isinstance(block, ToolOutput) or block.text.strip():
        return block
    if block.original is None:
        return replace(block, text=NO_OUTPUT)
    given = block.original["toolResult"]
    content = [each for each in given.get("content") or () if each.get("text", "x").strip()]
    if content == given.get("content"):  # of images alone
        return block
    made = {**given, "content": content or [{"text": NO_OUTPUT}]}
    text = block.text if content else NO_OUTPUT
    return replace(block, text=text, original={**block.original, "toolResult": made})


def with_words_for_a_failure(block: MessageBlock) -> MessageBlock:
    """Return a failed result with some text: Anthropic refuses one without."""
    if not isinstance(block, ToolOutput) or not block.failed or block.text.strip():
        return block
    if block.original is None:
        return replace(block, text=NO_OUTPUT)
    content = block.original.get("content")
    if isinstance(content, list) and content:  # an image alone
        return block
    return replace(block, text=NO_OUTPUT, original={**block.original, "content": NO_OUTPUT})


class ProviderShape(NamedTuple):
    """A provider's shape and its abilities."""

    make: Callable[[Sequence[Message]], Request]
    messages: str = "messages"
    """The keyword that holds its messages."""
    cites: bool = False
    """True if it takes items as blocks that answers can point at."""
    system_first: bool = False
    """True if the system text stands before all messages, outside of them."""
    user_first: bool = False
    """True if it refuses messages that begin with one of the assistant."""
    caches: bool = False
    """True if it can mark the end of a prefix to be cached."""
    look_back: int = 0
    """Blocks before such a mark at which it looks for a cached prefix."""
    family: str = ""
    """Its family: blocks of this family go back to it as they came, and the texts of one message
    stay apart; empty for none."""
    images: tuple[str, ...] = ()
    """The forms of an image that it takes from any family: `data`, `url`."""
    mend: Callable[[MessageBlock], MessageBlock] | None = None
    """Gives a block what it refuses to do without."""


SHAPES: Mapping[ShapeName, ProviderShape] = {
    "text": ProviderShape(text),
    "roles": ProviderShape(roles, system_first=True),
    "openai": ProviderShape(openai, caches=True, family="openai", images=("data", "url")),
    "openai-responses": ProviderShape(
        openai_responses,
        "input",
        caches=True,
        family="openai-responses",
        images=("data", "url"),
    ),
    "anthropic": ProviderShape(
        anthropic,
        cites=True,
        system_first=True,
        user_first=True,
        caches=True,
        look_back=20,
        family="anthropic",
        images=("data", "url"),
        mend=with_words_for_a_failure,
    ),
    "gemini": ProviderShape(
        gemini,
        "contents",
        system_first=True,
        user_first=True,
        family="gemini",
        images=("data",),
    ),
    "bedrock": ProviderShape(
        bedrock,
        system_first=True,
        user_first=True,
        caches=True,
        look_back=20,
        family="bedrock",
        images=("data",),
        mend=with_some_output,
    ),
}
"""The values of `to`."""


def with_arguments_as_text(block: MessageBlock) -> MessageBlock:
    """Return a call with its arguments as a text in chat templates, as DeepSeek's join them."""
    if not isinstance(block, ToolCall):
        return block
    (one,) = _chat(Message("assistant", (block,)), str)
    return replace(block, original=one["tool_calls"][0])


def with_one_call_each(messages: Sequence[Message]) -> list[Message]:
    """Return messages with one call in each answer, its result behind it, as Llama wants them.

    Its templates raise an error for two calls, and print no text beside one.
    """
    made: list[Message] = []
    calls: dict[str, ToolCall] = {}
    for message in messages:
        own = {b.id: b for b in message.blocks if isinstance(b, ToolCall | ToolOutput)}
        rest = tuple(b for b in message.blocks if not isinstance(b, ToolCall | ToolOutput))
        if rest:
            made.append(replace(message, blocks=rest))
        if message.role != "tool":
            calls = {id_: block for id_, block in own.items() if isinstance(block, ToolCall)}
            continue
        for id_, call in calls.items():
            made += Message("assistant", (call,)), Message("tool", (own[id_],))
    return made


def change_blocks(
    messages: Iterable[Message], change: Callable[[MessageBlock], MessageBlock]
) -> list[Message]:
    """Return messages with each block changed."""

    def with_changes(message: Message) -> Message:
        return replace(message, blocks=tuple(map(change, message.blocks)))

    return [message.fact(change, with_changes) for message in messages]


class FamilyRules(NamedTuple):
    """The demands of the chat templates of a family of LLMs; the defaults are of all others."""

    alternates: bool = False
    """True if they raise an error unless user and assistant take turns."""
    knows_tools: bool = True
    """False if calls and results have to be texts."""
    short_ids: bool = False
    """True if they take ids of calls of nine letters or digits alone."""
    adapt: Callable[[list[Message]], list[Message]] = list
    """Writes calls and results as they take them."""


OTHER_FAMILY = FamilyRules()
FAMILIES: Mapping[str, FamilyRules] = {
    "deepseek": FamilyRules(adapt=partial(change_blocks, change=with_arguments_as_text)),
    "gemma-3": FamilyRules(alternates=True, knows_tools=False),
    "llama": FamilyRules(adapt=with_one_call_each),
    "mistral": FamilyRules(alternates=True, short_ids=True),
}
"""`family` of a profile → its rules."""


def check_shape(name: str, *others: str) -> ShapeName:
    """Return the name; raise `OptionError` if it is neither a shape nor one of `others`."""
    known = [*others, *SHAPES]
    if name not in known:
        message = f"there is no shape {quote(str(name))}{suggest_name(str(name), known)}"
        raise OptionError(message, option="to")
    return cast("ShapeName", name)


def sent_messages(name: ShapeName, messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return messages in a shape, system messages among them, without marks of a cache."""
    shape = SHAPES["roles" if name == "text" else name]
    made: list[dict[str, Any]] = []
    for system, same in groupby(messages, lambda message: message.role in SYSTEM_ROLES):
        own = [replace(message, breaks=()) for message in same]
        if shape.family and not (system and shape.system_first):
            made += shape.make(own)[shape.messages]
        else:  # the request has system messages apart, and templates take no text of arguments
            made += (one for message in own for one in _chat(message, lambda m: m.text))
    return made
