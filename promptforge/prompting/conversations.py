"""Messages in the shapes of OpenAI (chat and responses), Anthropic, Gemini, or plain → messages in one form.

Code: PF208 a message or a part of one that could not be read. One bad message costs only itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Protocol

import msgspec

from ..diagnostics import Diagnostics, Severity
from ..errors import ItemError, nearest, quote
from ..escaping import SURROGATE
from ..sources import plaindata
from ..sources.decoding import refuse
from .messages import Block, Call, Message, Output, Role, Text, join, sound
from .pairs import pair

MAX_MESSAGES = 100_000
"""How many messages one history holds at the most."""

_ROLES: Mapping[str, Role] = {
    **{
        "system": "system",
        "developer": "developer",
        "user": "user",
        "assistant": "assistant",
        "tool": "tool",
    },
    **{"model": "assistant", "function": "tool", "human": "user", "ai": "assistant"},
}
_THOUGHTS = ("reasoning", "thinking", "redacted_thinking")
"""What an LLM thought to itself: no family takes another's."""
_TEXTS = ("text", "input_text", "output_text")


class Say(Protocol):
    """What records one thing to be said of a message."""

    def __call__(self, message: str, severity: Severity = "warning") -> None:
        """Record `message`."""
        ...


class _Refusal(Exception):  # noqa: N818  never leaves this module
    """A message that cannot be read, and why."""


def read(
    history: object,
    where: str,
    diagnostics: Diagnostics,
    locate: Callable[[int], str] | None = None,
) -> list[Message]:
    """Return the messages of `history`, in which every call has its result and every result its call.

    `history` is an iterable of messages (mappings, or objects of an SDK that know `model_dump`). `where` names it in
    diagnostics, so that the fourth message is `history[3]`; `locate` gives a better place for an index.

    Raises `ItemError` when it is no list of messages at all.
    """
    if isinstance(history, str | bytes | Mapping) or not isinstance(history, Iterable):
        raise ItemError(
            f"expected a list of messages, found {plaindata.name_of(history)}", where=where
        )
    found: list[Message] = []
    for index, given in _newest(history, where, diagnostics):
        place = locate(index) if locate else f"{where}[{index}]"

        def say(message: str, severity: Severity = "warning", at: str = place) -> None:
            diagnostics.add("PF208", message, where=at, severity=severity)

        try:
            found += (
                [given]
                if isinstance(given, Message)
                else _sound(_read(_plain(given, say), say), say)
            )
        except _Refusal as refusal:
            say(f"message skipped: {refusal}")
        except (KeyboardInterrupt, SystemExit):
            raise
        except (
            BaseException
        ) as error:  # an object that raises when it is merely looked at, whatever it raises
            say(f"message skipped: {plaindata.name_of(error)} while looking at it")
    return join(pair(join(found), where, diagnostics))


def _sound(messages: list[Message], say: Say) -> list[Message]:
    """Return the messages with nothing in them that no request can carry."""
    made = []
    for message in messages:
        blocks = tuple(
            msgspec.structs.replace(
                block,
                **{
                    key: sound(value)
                    for key, value in msgspec.structs.asdict(block).items()
                    if type(value) is str
                },
            )
            for block in message.blocks
        )
        if blocks != message.blocks:
            say("lone surrogates in it were replaced by U+FFFD")
        made.append(Message(message.role, blocks))
    return made


def _newest(
    history: Iterable[Any], where: str, diagnostics: Diagnostics
) -> Iterable[tuple[int, Any]]:
    """Yield the messages with their places, at most `MAX_MESSAGES`: the last ones, where it can be told which."""
    known = len(history) if isinstance(history, Sequence) else 0
    start = max(0, known - MAX_MESSAGES)
    for index, given in enumerate(islice(history, start, start + MAX_MESSAGES + 1), start):
        if index == start + MAX_MESSAGES:
            diagnostics.add(
                "PF208", f"more than {MAX_MESSAGES:,} messages; the rest was left out", where=where
            )
            return
        yield index, given
    if start:
        message = f"more than {MAX_MESSAGES:,} messages; the first {start:,} were left out"
        diagnostics.add("PF208", message, where=where)


def _plain(given: Any, say: Say) -> dict[str, Any]:
    dump = getattr(type(given), "model_dump", None)
    value = dump(given, exclude_none=True) if callable(dump) else given
    if not isinstance(value, Mapping):
        raise _Refusal(
            f"expected an object with role and content, found {plaindata.name_of(given)}"
        )
    return dict(
        plaindata.copy(
            value, lambda change: say(change, "warning" if "left out" in change else "info")
        )
    )


def _quiet(change: str) -> None:
    """Say nothing: that there was a change is seen by what comes out."""


def _read(message: dict[str, Any], say: Say) -> list[Message]:
    kind = message.get("type")
    if kind in ("function_call", "function_call_output"):  # an item of OpenAI's responses
        block = _call(message, say) if kind == "function_call" else _output(message, "output", say)
        return [Message("assistant" if isinstance(block, Call) else "tool", (block,))]
    if kind in _THOUGHTS and "role" not in message:
        say(f"an item of type {quote(kind)} was left out", "info")
        return []
    role = _role(message)
    if role == "tool":
        outputs = (
            [_output(message, "content", say)]
            if "parts" not in message
            else _parts(message["parts"], say)
        )
        return _by_role("tool", outputs)
    blocks = (
        _parts(message["parts"], say)
        if "parts" in message
        else _content(message.get("content"), say)
    )
    calls = message.get("tool_calls")
    if calls is not None and not isinstance(calls, list):
        raise _Refusal(f"tool_calls: expected a list, found {plaindata.name_of(calls)}")
    for call in [
        *(calls or []),
        *([message["function_call"]] if message.get("function_call") else []),
    ]:
        if not isinstance(call, dict):
            raise _Refusal(f"tool_calls: expected objects, found {plaindata.name_of(call)}")
        inner = call.get("function")
        blocks.append(
            _call({"id": call.get("id"), **inner} if isinstance(inner, dict) else call, say)
        )
    if isinstance(message.get("refusal"), str):
        blocks.append(Text(message["refusal"]))
    if not blocks:
        say("a message without text was left out", "info")
    return _by_role(role, blocks)


def _role(message: dict[str, Any]) -> Role:
    given = message.get("role")
    if not isinstance(given, str):
        known = message.get("type")
        hint = f"; an item of type {quote(known)} is not read" if isinstance(known, str) else ""
        raise _Refusal(
            f"role: {'missing' if given is None else f'found {plaindata.name_of(given)}'}{hint}"
        )
    role = _ROLES.get(given.lower())
    if role is None:
        raise _Refusal(f"role: unknown {quote(given)}{nearest(given, _ROLES)}")
    return role


def _by_role(role: Role, blocks: Sequence[Block]) -> list[Message]:
    """Return blocks as messages: results are the tool's, whoever brought them; calls are the assistant's."""
    found: list[Message] = []
    for block in blocks:
        own: Role = (
            "tool"
            if isinstance(block, Output)
            else "assistant"
            if isinstance(block, Call)
            else role
        )
        if own == "tool" and not isinstance(block, Output):
            own = "user"
        if found and found[-1].role == own:
            found[-1] = Message(own, (*found[-1].blocks, block))
        else:
            found.append(Message(own, (block,)))
    return found


def _content(content: Any, say: Say) -> list[Block]:
    if content is None:
        return []
    if isinstance(content, str):
        return [Text(content)] if content.strip() else []
    if not isinstance(content, list):
        raise _Refusal(
            f"content: expected text or a list of blocks, found {plaindata.name_of(content)}"
        )
    blocks: list[Block] = []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else "text"
        text = part.get("text") if isinstance(part, dict) else part
        if kind in _TEXTS and isinstance(text, str):
            blocks += [Text(text)] if text.strip() else []
        elif kind == "refusal" and isinstance(part.get("refusal"), str):
            blocks.append(Text(part["refusal"]))
        elif kind == "tool_use":
            blocks.append(_call(part, say))
        elif kind == "tool_result":
            blocks.append(_output(part, "content", say))
        elif kind in _THOUGHTS:
            say(f"content: a block of type {quote(kind)} was left out", "info")
        else:
            named = (
                quote(kind)
                if isinstance(part, dict) and isinstance(kind, str)
                else plaindata.name_of(part)
            )
            say(f"content: a block of type {named} is not text and was left out")
    return blocks


def _parts(parts: Any, say: Say) -> list[Block]:
    """Read the parts of a Gemini message."""
    if not isinstance(parts, list):
        raise _Refusal(f"parts: expected a list, found {plaindata.name_of(parts)}")
    blocks: list[Block] = []
    for part in parts:
        if isinstance(part, str):
            part = {"text": part}
        if not isinstance(part, dict):
            raise _Refusal(f"parts: expected objects, found {plaindata.name_of(part)}")
        call = part.get("function_call") or part.get("functionCall")
        output = part.get("function_response") or part.get("functionResponse")
        if isinstance(call, dict):
            blocks.append(_call(call, say))
        elif isinstance(output, dict):
            blocks.append(_output(output, "response", say))
        elif isinstance(part.get("text"), str) and not part.get("thought"):
            blocks += [Text(part["text"])] if part["text"].strip() else []
        else:
            say(f"parts: a part with {quote(next(iter(part), ''))} is not text and was left out")
    return blocks


def _call(given: dict[str, Any], say: Say) -> Call:
    name = given.get("name")
    if not isinstance(name, str) or not name:
        raise _Refusal("a call: its name is missing")
    arguments: Any = next(
        (given[key] for key in ("arguments", "input", "args") if given.get(key) is not None), {}
    )
    if isinstance(arguments, str):
        try:
            read = json.loads(arguments, parse_constant=refuse)
            if (
                isinstance(read, dict) and plaindata.copy(read, _quiet) == read
            ):  # else 1e999, or too deep to be sent
                plain = json.dumps(read, ensure_ascii=False)
                return Call(_id(given), name, plain if SURROGATE.search(plain) else arguments)
        except (ValueError, RecursionError):
            pass
        say(
            f"the arguments of the call of {quote(name)} are no plain JSON object; they are kept as a text in one"
        )
        arguments = {"arguments": arguments}
    elif not isinstance(arguments, dict):
        say(f"the arguments of the call of {quote(name)} are no object; they are kept inside one")
        arguments = {"arguments": arguments}
    return Call(_id(given), name, json.dumps(arguments, ensure_ascii=False))


def _output(given: dict[str, Any], field: str, say: Say) -> Output:
    value = given.get(field)
    failed = given.get("is_error") is True
    if (
        field == "response" and isinstance(value, dict) and set(value) == {"error"}
    ):  # Gemini's words for a result
        value, failed = value["error"], True
    if isinstance(value, dict) and set(value) == {"output"}:
        value = value["output"]
    if isinstance(value, list):
        text = "\n\n".join(block.text for block in _content(value, say) if isinstance(block, Text))
    elif isinstance(value, str):
        text = value
    else:
        text = "" if value is None else json.dumps(value, ensure_ascii=False)
    name = given.get("name")
    return Output(_id(given), name if isinstance(name, str) else "", text, failed)


def _id(given: dict[str, Any]) -> str:
    found = (
        given[key] for key in ("call_id", "tool_call_id", "tool_use_id", "id") if given.get(key)
    )
    return str(next(found, ""))
