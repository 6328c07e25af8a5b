"""Read a history in the shape of OpenAI (chat and responses), Anthropic, Gemini, or plain messages.

Code: PF208, a message or a part of one that could not be read. A bad message costs only itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from ..errors import Diagnostics, ItemError, Severity, quote, suggest_name
from ..plaindata import copy_plain, type_name_of
from ..sources.item_files import refuse_constant
from ..text.escape import SURROGATE
from .messages import (
    ROLES,
    Message,
    MessageBlock,
    Role,
    TextBlock,
    ToolCall,
    ToolOutput,
    join_messages,
    pair_calls,
    replace_surrogates,
)

MAX_HISTORY_MESSAGES = 100_000
"""The largest number of messages in one history."""

_ROLES: Mapping[str, Role] = {role: role for role in ROLES} | {
    "model": "assistant",
    "function": "tool",
    "human": "user",
    "ai": "assistant",
}

# An LLM's thoughts are signed or encrypted for its own family, so no other takes them.
_THOUGHTS = ("reasoning", "thinking", "redacted_thinking")

_TEXTS = ("text", "input_text", "output_text")

SayFunction = Callable[[str, Severity], None]
"""Records one diagnostic about the message that is being read."""


class _Refusal(Exception):  # noqa: N818  never leaves this module
    """A message that cannot be read, and why."""


def read_history(
    history: object,
    where: str,
    diagnostics: Diagnostics,
    locate: Callable[[int], str] | None = None,
) -> list[Message]:
    """Read a history; every call in the answer has its result and every result its call.

    `history` is an iterable of messages: mappings, or objects of an SDK with `model_dump`. `where`
    names it in diagnostics, so the fourth message is `history[3]`; `locate` gives a better place.

    Raises `ItemError` if it is no list of messages at all.
    """
    if isinstance(history, str | bytes | Mapping) or not isinstance(history, Iterable):
        kind = type_name_of(history)
        raise ItemError(f"expected a list of messages, found {kind}", where=where)
    found: list[Message] = []
    for index, given in _newest(history, where, diagnostics):
        place = f"{where}[{index}]"
        if locate:
            place = locate(index)

        def say(message: str, severity: Severity, at: str = place) -> None:
            diagnostics.add("PF208", message, where=at, severity=severity)

        try:
            if isinstance(given, Message):
                found.append(given)
            else:
                found += _sound(_read(_plain(given, say), say), say)
        except _Refusal as refusal:
            say(f"message skipped: {refusal}", "warning")
        except (KeyboardInterrupt, SystemExit):
            raise
        # A stranger's object may raise anything at all when it is merely looked at.
        except BaseException as error:
            name = type_name_of(error)
            say(f"message skipped: {name} while looking at it", "warning")
    return join_messages(pair_calls(join_messages(found), where, diagnostics))


def _newest(
    history: Iterable[Any], where: str, diagnostics: Diagnostics
) -> Iterable[tuple[int, Any]]:
    """Yield at most `MAX_MESSAGES` messages with their indexes: the last ones of a sequence."""
    start = 0
    if isinstance(history, Sequence):
        start = max(0, len(history) - MAX_HISTORY_MESSAGES)
    for index, given in enumerate(islice(history, start, start + MAX_HISTORY_MESSAGES + 1), start):
        if index == start + MAX_HISTORY_MESSAGES:
            message = f"more than {MAX_HISTORY_MESSAGES:,} messages; the rest was left out"
            diagnostics.add("PF208", message, where=where)
            return
        yield index, given
    if start:
        message = f"more than {MAX_HISTORY_MESSAGES:,} messages; the first {start:,} were left out"
        diagnostics.add("PF208", message, where=where)


def _plain(given: Any, say: SayFunction) -> dict[str, Any]:
    value = given
    if callable(dump := getattr(type(given), "model_dump", None)):
        value = dump(given, exclude_none=True)
    if not isinstance(value, Mapping):
        kind = type_name_of(given)
        raise _Refusal(f"expected an object with role and content, found {kind}")

    def changed(change: str) -> None:
        severity: Severity = "info"
        if "left out" in change:
            severity = "warning"
        say(change, severity)

    return dict(copy_plain(value, changed))


def _sound(messages: list[Message], say: SayFunction) -> list[Message]:
    """Replace lone surrogates in every text of the messages."""
    made = []
    for message in messages:
        blocks = tuple(map(_sound_block, message.blocks))
        if blocks != message.blocks:
            say("lone surrogates in it were replaced by U+FFFD", "warning")
        made.append(Message(message.role, blocks))
    return made


def _sound_block(block: MessageBlock) -> MessageBlock:
    fields = msgspec.structs.asdict(block)
    texts = {key: replace_surrogates(value) for key, value in fields.items() if type(value) is str}
    return msgspec.structs.replace(block, **texts)


def _read(message: dict[str, Any], say: SayFunction) -> list[Message]:
    kind = message.get("type")
    # Items of OpenAI's responses have a type and no role.
    if kind == "function_call":
        return [Message("assistant", (_call(message, say),))]
    if kind == "function_call_output":
        return [Message("tool", (_output(message, "output", say),))]
    if kind in _THOUGHTS and "role" not in message:
        say(f"an item of type {quote(kind)} was left out", "info")
        return []
    role = _role(message)
    if "parts" in message:
        blocks = _parts(message["parts"], say)
    elif role == "tool":
        blocks = [_output(message, "content", say)]
    else:
        blocks = _content(message.get("content"), say)
    if role != "tool":
        blocks += _tool_calls(message, say)
        if isinstance(message.get("refusal"), str):
            blocks.append(TextBlock(message["refusal"]))
        if not blocks:
            say("a message without text was left out", "info")
    return _by_role(role, blocks)


def _role(message: dict[str, Any]) -> Role:
    given = message.get("role")
    if not isinstance(given, str):
        found, hint = "missing", ""
        if given is not None:
            found = f"found {type_name_of(given)}"
        if isinstance(kind := message.get("type"), str):
            hint = f"; an item of type {quote(kind)} is not read"
        raise _Refusal(f"role: {found}{hint}")
    role = _ROLES.get(given.lower())
    if role is None:
        raise _Refusal(f"role: unknown {quote(given)}{suggest_name(given, _ROLES)}")
    return role


def _by_role(role: Role, blocks: Sequence[MessageBlock]) -> list[Message]:
    """Split blocks into messages: results go to the tool, calls to the assistant."""
    split: list[Message] = []
    for block in blocks:
        own = role
        if isinstance(block, ToolOutput):
            own = "tool"
        elif isinstance(block, ToolCall):
            own = "assistant"
        elif role == "tool":
            own = "user"
        split.append(Message(own, (block,)))
    return join_messages(split)


def _tool_calls(message: dict[str, Any], say: SayFunction) -> list[MessageBlock]:
    """Read `tool_calls` of OpenAI's chat, and the older `function_call`."""
    calls = message.get("tool_calls")
    if calls is None:
        calls = []
    if not isinstance(calls, list):
        raise _Refusal(f"tool_calls: expected a list, found {type_name_of(calls)}")
    if message.get("function_call"):
        calls = [*calls, message["function_call"]]
    blocks: list[MessageBlock] = []
    for call in calls:
        if not isinstance(call, dict):
            raise _Refusal(f"tool_calls: expected objects, found {type_name_of(call)}")
        if isinstance(inner := call.get("function"), dict):
            call = {"id": call.get("id"), **inner}
        blocks.append(_call(call, say))
    return blocks


def _text(text: str) -> list[MessageBlock]:
    """Make a block of a text that is not blank."""
    return [TextBlock(text)] if text.strip() else []


def _content(content: Any, say: SayFunction) -> list[MessageBlock]:
    if content is None:
        return []
    if isinstance(content, str):
        return _text(content)
    if not isinstance(content, list):
        kind = type_name_of(content)
        raise _Refusal(f"content: expected text or a list of blocks, found {kind}")
    return [block for part in content for block in _content_block(part, say)]


def _content_block(part: Any, say: SayFunction) -> list[MessageBlock]:
    if isinstance(part, str):
        return _text(part)
    kind = named = None
    if isinstance(part, dict):
        kind = part.get("type")
        if kind in _TEXTS and isinstance(part.get("text"), str):
            return _text(part["text"])
        if kind == "refusal" and isinstance(part.get("refusal"), str):
            return [TextBlock(part["refusal"])]
        if kind == "tool_use":
            return [_call(part, say)]
        if kind == "tool_result":
            return [_output(part, "content", say)]
        if kind in _THOUGHTS:
            say(f"content: a block of type {quote(kind)} was left out", "info")
            return []
    if isinstance(kind, str):
        named = quote(kind)
    named = named or type_name_of(part)
    say(f"content: a block of type {named} is not text and was left out", "warning")
    return []


def _parts(parts: Any, say: SayFunction) -> list[MessageBlock]:
    """Read the parts of a Gemini message."""
    if not isinstance(parts, list):
        raise _Refusal(f"parts: expected a list, found {type_name_of(parts)}")
    blocks: list[MessageBlock] = []
    for part in parts:
        if isinstance(part, str):
            part = {"text": part}
        if not isinstance(part, dict):
            raise _Refusal(f"parts: expected objects, found {type_name_of(part)}")
        # The SDK writes snake_case, the REST interface camelCase.
        call = part.get("function_call") or part.get("functionCall")
        output = part.get("function_response") or part.get("functionResponse")
        if isinstance(call, dict):
            blocks.append(_call(call, say))
        elif isinstance(output, dict):
            blocks.append(_output(output, "response", say))
        elif isinstance(part.get("text"), str) and not part.get("thought"):
            blocks += _text(part["text"])
        else:
            key = quote(next(iter(part), ""))
            say(f"parts: a part with {key} is not text and was left out", "warning")
    return blocks


def _call(given: dict[str, Any], say: SayFunction) -> ToolCall:
    name = given.get("name")
    if not isinstance(name, str) or not name:
        raise _Refusal("a call: its name is missing")
    values = (given.get(key) for key in ("arguments", "input", "args"))
    arguments: Any = next((value for value in values if value is not None), {})
    if isinstance(arguments, str):
        text = _arguments(arguments)
        if text is not None:
            return ToolCall(_id(given), name, text)
        problem = "are no plain JSON object; they are kept as a text in one"
    else:
        problem = "are no object; they are kept inside one"
    if not isinstance(arguments, dict):
        say(f"the arguments of the call of {quote(name)} {problem}", "warning")
        arguments = {"arguments": arguments}
    return ToolCall(_id(given), name, json.dumps(arguments, ensure_ascii=False))


def _arguments(text: str) -> str | None:
    """Return arguments given as JSON, unchanged if a request can carry them; `None` if not."""
    try:
        arguments = json.loads(text, parse_constant=refuse_constant)
        # The copy differs for 1e999, and for nesting too deep to be sent.
        if isinstance(arguments, dict) and copy_plain(arguments, lambda _: None) == arguments:
            plain = json.dumps(arguments, ensure_ascii=False)
            return plain if SURROGATE.search(plain) else text
    except (ValueError, RecursionError):
        pass
    return None


def _output(given: dict[str, Any], field: str, say: SayFunction) -> ToolOutput:
    value = given.get(field)
    failed = given.get("is_error") is True
    # Gemini wraps a result in {"output": …} or {"error": …}.
    if field == "response" and isinstance(value, dict) and set(value) == {"error"}:
        value, failed = value["error"], True
    if isinstance(value, dict) and set(value) == {"output"}:
        value = value["output"]
    if isinstance(value, list):
        text = "\n\n".join(
            block.text for block in _content(value, say) if isinstance(block, TextBlock)
        )
    elif isinstance(value, str):
        text = value
    elif value is None:
        text = ""
    else:
        text = json.dumps(value, ensure_ascii=False)
    name = given.get("name")
    if not isinstance(name, str):
        name = ""
    return ToolOutput(_id(given), name, text, failed)


def _id(given: dict[str, Any]) -> str:
    ids = (given.get(key) for key in ("call_id", "tool_call_id", "tool_use_id", "id"))
    return str(next(filter(None, ids), ""))
