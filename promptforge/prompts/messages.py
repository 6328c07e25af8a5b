"""Messages in one form of our own, and the histories of all providers read into it.

A history may be in the shape of OpenAI (chat and responses), Anthropic or Gemini, or of plain
messages with `role` and `content`. A bad message costs only itself (PF208), and a tool call without
its result is left out, as is a result without its call (PF209).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Literal, NamedTuple

import msgspec

from ..errors import Diagnostics, ItemError, Severity, quote, suggest_name
from ..plaindata import copy_plain, type_name_of
from ..text.control_tokens import ControlTokens
from ..text.escape import SURROGATE

Role = Literal["system", "developer", "user", "assistant", "tool"]
ROLES: tuple[Role, ...] = ("system", "developer", "user", "assistant", "tool")


def replace_surrogates(text: str) -> str:
    """Replace each lone surrogate by U+FFFD, because no request can carry one."""
    if text.isascii():
        return text
    return SURROGATE.sub("\ufffd", text)


class TextBlock(msgspec.Struct, frozen=True):
    """Plain text in a message."""

    text: str


class ToolCall(msgspec.Struct, frozen=True):
    """A tool call by the LLM."""

    id: str
    name: str
    arguments: str
    """A JSON object, as text."""


class ToolOutput(msgspec.Struct, frozen=True):
    """The result of a tool call."""

    id: str
    """The id of the call."""
    name: str
    """The tool's name; empty if unknown."""
    text: str
    failed: bool = False


class CitedItem(msgspec.Struct, frozen=True):
    """An item as a block of its own, for providers that let answers point at such blocks."""

    title: str
    source: str
    text: str
    found: bool
    """True if a search found the item, false if the user named it."""


MessageBlock = TextBlock | ToolCall | ToolOutput | CitedItem


class Message(msgspec.Struct, frozen=True):
    """One message. Its role is set by code; no text is ever searched for a role."""

    role: Role
    blocks: tuple[MessageBlock, ...]
    breaks: tuple[int, ...] = ()
    """Numbers of leading blocks after which a cache mark goes."""

    @property
    def text(self) -> str:
        """The text blocks, joined by blank lines."""
        return "\n\n".join(block.text for block in self.blocks if isinstance(block, TextBlock))


def block_texts(block: MessageBlock) -> list[str]:
    """Return every text in a block."""
    if isinstance(block, TextBlock):
        return [block.text]
    if isinstance(block, ToolCall):
        return [block.name, block.id, block.arguments]
    if isinstance(block, ToolOutput):
        return [block.name, block.id, block.text]
    return [block.title, block.source, block.text]


def message_texts(message: Message) -> list[str]:
    """Return every text of a message, plain text joined."""
    # Joined, because "<" and "system>" in two blocks are a tag together.
    texts = [message.text]
    for block in message.blocks:
        if not isinstance(block, TextBlock):
            texts += block_texts(block)
    return texts


def join_messages(messages: Iterable[Message]) -> list[Message]:
    """Merge neighbouring messages of the same role."""
    joined: list[Message] = []
    for message in messages:
        if joined and joined[-1].role == message.role:
            last = joined.pop()
            moved = tuple(len(last.blocks) + n for n in message.breaks)
            message = Message(message.role, last.blocks + message.blocks, last.breaks + moved)
        joined.append(message)
    return joined


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
        place = locate(index) if locate else f"{where}[{index}]"
        reader = _MessageReader(diagnostics, place)
        try:
            found += reader.read(given)
        except _Refusal as refusal:
            reader.say(f"message skipped: {refusal}")
        except (KeyboardInterrupt, SystemExit):
            raise
        # A stranger's object may raise anything at all when it is merely looked at.
        except BaseException as error:
            reader.say(f"message skipped: {type_name_of(error)} while looking at it")
    return join_messages(pair_calls(join_messages(found), where, diagnostics))


def _newest(
    history: Iterable[Any], where: str, diagnostics: Diagnostics
) -> Iterable[tuple[int, Any]]:
    """Yield messages with their indexes: all, or the last of a sequence, or the first."""
    start = 0
    if isinstance(history, Sequence):
        start = max(0, len(history) - MAX_HISTORY_MESSAGES)
    lost = None
    for index, given in enumerate(islice(history, start, start + MAX_HISTORY_MESSAGES + 1), start):
        if index == start + MAX_HISTORY_MESSAGES:
            lost = "the rest was"
            break
        yield index, given
    else:
        if start:
            lost = f"the first {start:,} were"
    if lost:
        message = f"more than {MAX_HISTORY_MESSAGES:,} messages; {lost} left out"
        diagnostics.add("PF208", message, where=where)


class _Refusal(Exception):  # noqa: N818  never leaves this module
    """A message that cannot be read, and why."""


class _MessageReader:
    """Reads one message of a history and reports its losses (PF208)."""

    def __init__(self, diagnostics: Diagnostics, place: str) -> None:
        self._diagnostics = diagnostics
        self._place = place

    def say(self, message: str, severity: Severity = "warning") -> None:
        self._diagnostics.add("PF208", message, where=self._place, severity=severity)

    def read(self, given: Any) -> list[Message]:
        if isinstance(given, Message):
            return [given]
        value = given
        # The SDKs' messages are pydantic models. Asked of the type, since an object may lie.
        if callable(dump := getattr(type(given), "model_dump", None)):
            value = dump(given, exclude_none=True)
        if not isinstance(value, Mapping):
            kind = type_name_of(given)
            raise _Refusal(f"expected an object with role and content, found {kind}")
        message = copy_plain(
            value, lambda change: self.say(change, "warning" if "left out" in change else "info")
        )
        return list(map(self._sound, self._read(dict(message))))

    def _sound(self, message: Message) -> Message:
        """Replace lone surrogates in every text."""
        blocks = tuple(map(_sound_block, message.blocks))
        if blocks != message.blocks:
            self.say("lone surrogates in it were replaced by U+FFFD")
        return Message(message.role, blocks)

    def _read(self, message: dict[str, Any]) -> list[Message]:
        kind = message.get("type")
        # Items of OpenAI's responses have a type and no role.
        if kind == "function_call":
            return [Message("assistant", (self._call(message),))]
        if kind == "function_call_output":
            return [Message("tool", (self._output(message, "output"),))]
        if kind in _THOUGHTS and "role" not in message:
            self.say(f"an item of type {quote(kind)} was left out", "info")
            return []
        role = _role(message)
        if "parts" in message:
            blocks = self._parts(message["parts"])
        elif role == "tool":
            blocks = [self._output(message, "content")]
        else:
            blocks = self._content(message.get("content"))
        if role != "tool":
            blocks += self._tool_calls(message)
            if isinstance(message.get("refusal"), str):
                blocks.append(TextBlock(message["refusal"]))
            if not blocks:
                self.say("a message without text was left out", "info")
        return join_messages(Message(_role_of(block, role), (block,)) for block in blocks)

    def _tool_calls(self, message: dict[str, Any]) -> list[MessageBlock]:
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
            blocks.append(self._call(call))
        return blocks

    def _content(self, content: Any) -> list[MessageBlock]:
        if content is None:
            return []
        if isinstance(content, str):
            return _text(content)
        if not isinstance(content, list):
            kind = type_name_of(content)
            raise _Refusal(f"content: expected text or a list of blocks, found {kind}")
        return [block for part in content for block in self._content_block(part)]

    def _content_block(self, part: Any) -> list[MessageBlock]:
        if isinstance(part, str):
            return _text(part)
        named, kind = type_name_of(part), None
        if isinstance(part, dict):
            kind = part.get("type")
            if kind in _TEXTS and isinstance(part.get("text"), str):
                return _text(part["text"])
            if kind == "refusal" and isinstance(part.get("refusal"), str):
                return [TextBlock(part["refusal"])]
            if kind == "tool_use":
                return [self._call(part)]
            if kind == "tool_result":
                return [self._output(part, "content")]
        if kind in _THOUGHTS:
            self.say(f"content: a block of type {quote(kind)} was left out", "info")
            return []
        if isinstance(kind, str):
            named = quote(kind)
        self.say(f"content: a block of type {named} is not text and was left out")
        return []

    def _parts(self, parts: Any) -> list[MessageBlock]:
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
                blocks.append(self._call(call))
            elif isinstance(output, dict):
                blocks.append(self._output(output, "response"))
            elif isinstance(part.get("text"), str) and not part.get("thought"):
                blocks += _text(part["text"])
            else:
                key = quote(next(iter(part), ""))
                self.say(f"parts: a part with {key} is not text and was left out")
        return blocks

    def _call(self, given: dict[str, Any]) -> ToolCall:
        name = given.get("name")
        if not isinstance(name, str) or not name:
            raise _Refusal("a call: its name is missing")
        values = (given.get(key) for key in ("arguments", "input", "args"))
        arguments: Any = next((value for value in values if value is not None), {})
        problem = "are no object; they are kept inside one"
        if isinstance(arguments, str):
            text = _arguments(arguments)
            if text is not None:
                return ToolCall(_id(given), name, text)
            problem = "are no plain JSON object; they are kept as a text in one"
        if not isinstance(arguments, dict):
            self.say(f"the arguments of the call of {quote(name)} {problem}")
            arguments = {"arguments": arguments}
        return ToolCall(_id(given), name, json.dumps(arguments, ensure_ascii=False))

    def _output(self, given: dict[str, Any], field: str) -> ToolOutput:
        value = given.get(field)
        failed = given.get("is_error") is True
        # Gemini wraps a result in {"output": …} or {"error": …}.
        if field == "response" and isinstance(value, dict) and set(value) == {"error"}:
            value, failed = value["error"], True
        if isinstance(value, dict) and set(value) == {"output"}:
            value = value["output"]
        if isinstance(value, list):
            text = Message("tool", tuple(self._content(value))).text
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


def _sound_block(block: MessageBlock) -> MessageBlock:
    fields = msgspec.structs.asdict(block)
    texts = {key: replace_surrogates(value) for key, value in fields.items() if type(value) is str}
    return msgspec.structs.replace(block, **texts)


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


def _role_of(block: MessageBlock, role: Role) -> Role:
    """Return the role for a block: results are the tool's, calls the assistant's."""
    if isinstance(block, ToolOutput):
        return "tool"
    if isinstance(block, ToolCall):
        return "assistant"
    return "user" if role == "tool" else role


def _text(text: str) -> list[MessageBlock]:
    """Make a block of a text that is not blank."""
    return [TextBlock(text)] if text.strip() else []


def _arguments(text: str) -> str | None:
    """Return arguments given as JSON, unchanged if a request can carry them; `None` if not."""
    try:
        arguments = json.loads(text)
        # The copy differs for NaN and 1e999, and for nesting too deep to be sent.
        if isinstance(arguments, dict) and copy_plain(arguments, lambda _: None) == arguments:
            plain = json.dumps(arguments, ensure_ascii=False)
            return plain if SURROGATE.search(plain) else text
    except (ValueError, RecursionError):
        pass
    return None


def _id(given: dict[str, Any]) -> str:
    ids = (given.get(key) for key in ("call_id", "tool_call_id", "tool_use_id", "id"))
    return str(next(filter(None, ids), ""))


class _Waiting(NamedTuple):
    """A call without a result so far, and its place in the row of kept blocks."""

    call: ToolCall
    row: list[MessageBlock | None]
    at: int


def pair_calls(messages: list[Message], where: str, diagnostics: Diagnostics) -> list[Message]:
    """Drop calls without a result and results without a call (PF209); give every call an id."""
    waiting: dict[str, _Waiting] = {}
    # A call that is given up later leaves `None` in its row, so that places stay.
    rows: list[list[MessageBlock | None]] = []
    lost: list[str] = []
    given_ids = {
        block.id
        for message in messages
        for block in message.blocks
        if isinstance(block, ToolCall | ToolOutput)
    }
    for index, message in enumerate(messages):
        row: list[MessageBlock | None] = []
        rows.append(row)
        # Providers refuse a call whose result does not follow at once.
        if message.role != "tool":
            lost += _give_up(waiting)
        for block in message.blocks:
            if isinstance(block, ToolCall):
                id_ = block.id
                # Gemini's calls may come without an id, and a broken history may use one id twice.
                if not id_ or id_ in waiting:
                    id_ = f"{id_ or 'call'}_{index}_{len(row)}"
                    while id_ in given_ids:
                        id_ += "_"
                call = ToolCall(id_, block.name, block.arguments)
                waiting[id_] = _Waiting(call, row, len(row))
                row.append(call)
            elif isinstance(block, ToolOutput):
                answered = waiting.pop(block.id or _first_waiting(waiting, block.name), None)
                if answered is None:
                    lost.append(f"the result of {quote(block.name or block.id)} has no call")
                    row.append(None)
                    continue
                id_, name = answered.call.id, answered.call.name
                row.append(ToolOutput(id_, name, block.text, block.failed))
            else:
                row.append(block)
    lost += _give_up(waiting)
    for text in lost:
        diagnostics.add("PF209", f"{text}; it was left out", where=where)
    kept = [tuple(block for block in row if block is not None) for row in rows]
    return [Message(m.role, blocks) for m, blocks in zip(messages, kept, strict=True) if blocks]


def _first_waiting(waiting: dict[str, _Waiting], name: str) -> str:
    """Find the call for a result without an id: the first waiting call of that tool."""
    fitting = (id_ for id_, entry in waiting.items() if name in ("", entry.call.name))
    return next(fitting, "")


def _give_up(waiting: dict[str, _Waiting]) -> list[str]:
    """Drop the calls that still wait; return a sentence for each."""
    lost = []
    for call, row, at in waiting.values():
        lost.append(f"the call of {quote(call.name)} has no result")
        row[at] = None
    waiting.clear()
    return lost


def break_up_controls(
    messages: Sequence[Message], controls: ControlTokens
) -> tuple[list[Message], int]:
    """Return the messages with every control token broken up, and the number of changes."""
    made, count = [], 0
    for message in messages:
        blocks = []
        for block in message.blocks:
            block, changes = _block(block, controls)
            blocks.append(block)
            count += changes
        made.append(Message(message.role, tuple(blocks), message.breaks))
    return made, count


def _block(block: MessageBlock, controls: ControlTokens) -> tuple[MessageBlock, int]:
    if isinstance(block, TextBlock):
        text, count = controls.break_up(block.text)
        return TextBlock(text), count
    assert not isinstance(block, CitedItem)  # made from items later, which have been treated
    # A chat template prints ids and names too.
    (id_, name), changes = controls.break_up_data([block.id, block.name])
    if isinstance(block, ToolOutput):
        text, count = controls.break_up(block.text)
        return ToolOutput(id_, name, text, block.failed), count + changes
    arguments, count = block.arguments, 0
    # A server may decode the escapes, so "\u003c|im_end|>" is a token too. The change is made in
    # the decoded texts, so that the arguments stay JSON.
    if "\\" in arguments or controls.holds(arguments):
        decoded, count = controls.break_up_data(json.loads(arguments))
        if count or controls.holds(arguments):
            arguments = json.dumps(decoded, ensure_ascii=False)
    return ToolCall(id_, name, arguments), count + changes
