"""The histories of all providers and frameworks, read into messages of one form.

A history may be in the shape of OpenAI (chat and responses), Anthropic, Gemini or Bedrock, of
LangChain, LlamaIndex, Haystack, Pydantic AI or Vercel's AI SDK, or of plain messages with `role`
and `content`; as objects, rows of a table or plain data. A bad message costs only itself
(PF208), and a tool call without its result is left out, as is a result without its call (PF209).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from itertools import groupby
from typing import Any

import msgspec
from msgspec.structs import replace

from ..errors import Diagnostics, ItemError, Severity, quote, show_value, suggest_name, type_name_of
from ..plain_data import MAX_MESSAGE_VALUES, copy_plain
from ..sources.objects import fields_of, table_rows
from ..text.escape import SURROGATE
from .libraries import (
    DATAS,
    IMAGES,
    MIMES,
    OWNERS,
    Dumper,
    as_sent,
    blocks_of_parts,
    chat_message,
    has_types,
    image_of,
    inner,
    is_autogen_result,
    is_signed,
)
from .messages import (
    FIELDS,
    PROVIDER_WORDS,
    ROLES,
    ImageBlock,
    Loss,
    Message,
    MessageBlock,
    OpaqueBlock,
    Role,
    TextBlock,
    ToolCall,
    ToolOutput,
    is_failure,
    join_messages,
    pair_calls,
    replace_surrogates,
)

MAX_HISTORY_MESSAGES = 100_000
"""The most messages of one history that are made as they are asked for."""
_ROLES: Mapping[str, Role] = {role: role for role in ROLES} | {
    "model": "assistant",
    "function": "tool",
    "human": "user",
    "ai": "assistant",
    "tool-call": "assistant",  # smolagents: a text about the call, and one about its result
    "tool-response": "user",
}
# The types of LangChain's messages and AutoGen's, which have no role.
_TYPES_AS_ROLES = {
    **{kind: kind for kind in ("human", "ai", "system", "tool", "function")},
    **{"SystemMessage": "system", "UserMessage": "user", "AssistantMessage": "assistant"},
    **{"FunctionExecutionResultMessage": "tool", "ToolCallExecutionEvent": "tool"},
    **{"ToolCallRequestEvent": "assistant", "TextMessage": "", "MultiModalMessage": ""},
    **dict.fromkeys(("ToolCallSummaryMessage", "StructuredMessage"), ""),
    **dict.fromkeys(("HandoffMessage", "StopMessage"), ""),
}
# An LLM's thoughts are signed or encrypted for its own family, so no other takes them.
_THOUGHTS = ("reasoning", "thinking", "redacted_thinking")
# A server's tools end in one of the last two.
_ANTHROPIC_BLOCKS = frozenset(PROVIDER_WORDS["anthropic_blocks"])
_ANTHROPIC_CALLS = ("server_tool_use", "mcp_tool_use")
_ANTHROPIC_RESULT = "_tool_result"
_CHAT_BLOCKS = ("image_url", "input_audio", "file")
_RESPONSES_BLOCKS = ("input_image", "input_file")
_RESPONSES_ITEMS = frozenset(PROVIDER_WORDS["responses_items"])
_CONVERSE_BLOCKS = frozenset(PROVIDER_WORDS["converse_blocks"])
_CHAT_FIELDS = PROVIDER_WORDS["chat_fields"]
_FIELDS_OF_THOUGHTS = ("thinking_blocks", "reasoning_content")
_SIGNATURES = "__gemini_function_call_thought_signatures__"
"""LangChain's field for the signatures of Gemini's calls, by the ids of the calls."""
_KNOWN_FIELDS = {*PROVIDER_WORDS["known_fields"], _SIGNATURES}
_SOURCES_FIELDS = PROVIDER_WORDS["sources_fields"]
# Marks of a cache are set by the option cache_after alone: a request may have few.
_CACHE_MARKS = ("cache_control", "prompt_cache_breakpoint")
_CITATIONS_LOST = "citations of a text were left out"
# Keys that LangChain adds to a provider's blocks while it joins a stream.
_STREAM_KEYS = ("index", "partial_json")


def read_history(
    history: object,
    where: str,
    diagnostics: Diagnostics,
    locate: Callable[[int], str] | None = None,
) -> list[Message]:
    """Read a history; every call in the answer has its result and every result its call.

    `history` is an iterable of messages: mappings, or objects of an SDK or a framework. `where`
    names it in diagnostics, so the fourth message is `history[3]`; `locate` gives a better place.

    Raises `ItemError` if it is no list of messages at all.
    """
    found = join_messages(read_messages(history, where, diagnostics, locate))
    return join_messages(pair_calls(found, where, diagnostics, closed=False))


def read_message(given: object, where: str, diagnostics: Diagnostics) -> list[Message]:
    """Read one message: one for each role in it, or none if it cannot be read (PF208)."""
    reader = _MessageReader(diagnostics, where)
    try:
        return reader.read(given)
    except _Refusal as refusal:
        reader.say(f"message skipped: {refusal}")
    except (KeyboardInterrupt, SystemExit):
        raise
    # A stranger's object may raise anything at all when it is merely looked at.
    except BaseException as error:
        reader.say(f"message skipped: {type_name_of(error)} while looking at it")
    return []


def read_messages(
    history: object,
    where: str,
    diagnostics: Diagnostics,
    locate: Callable[[int], str] | None = None,
    read: Callable[[object, str, Diagnostics], list[Message]] = read_message,
) -> list[Message]:
    """Read the messages of a history one by one, each by `read`; see `read_history`."""
    # A message of an SDK can be iterated over too: its fields come out.
    is_one = issubclass(type(history), str | bytes | Mapping) or hasattr(
        type(history), "model_dump"
    )
    if is_one or not issubclass(type(history), Iterable):
        kind, hint = type_name_of(history), ""
        if type(history).__module__.startswith("dspy."):
            hint = "; DSPy sends its own: give the context as one more input field beside it"
        elif "messages" in getattr(type(history), "model_fields", ()):
            hint = "; give its messages"
        raise ItemError(f"expected a list of messages, found {kind}{hint}", where=where)
    rows = table_rows(history)
    found: list[Message] = []
    for index, given in enumerate(_each(history if rows is None else rows, where, diagnostics)):
        place = locate(index) if locate else f"{where}[{index}]"
        if rows is not None and len(given) == 2 and not {"role", "type", "kind"} & given.keys():
            given = list(given.values())  # two columns of other names: a role and its text
        found += read(_as_mapping(given), place, diagnostics)
    return found


def _as_mapping(given: object) -> object:
    """Return a row of a database, or an object with a role, as a dict; any other message itself."""
    kind = type(given)
    is_row = hasattr(kind, "_asdict") or (hasattr(kind, "keys") and not issubclass(kind, Mapping))
    known = issubclass(kind, Message | list | Mapping) or hasattr(kind, "model_dump")
    if not is_row and (known or kind is tuple or is_dataclass(kind)):
        return given
    fields = fields_of(given)
    return fields if fields and (is_row or "role" in fields) else given


def _each(history: Any, where: str, diagnostics: Diagnostics) -> Iterator[Any]:
    """Yield messages; those that are made as they are asked for may fail half way, or never end."""
    count, has_end = 0, isinstance(history, Sequence)
    try:
        for given in history:
            if count == MAX_HISTORY_MESSAGES and not has_end:
                message = f"more than {count:,} messages; the rest was left out"
                diagnostics.add("PF208", message, where=where)
                return
            count += 1
            yield given
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        message = f"the messages ended with {type_name_of(error)} after {count}"
        diagnostics.add("PF208", message, where=where, severity="error")


class _Refusal(Exception):  # noqa: N818  never leaves this module
    """A message that cannot be read, and why."""


class _MessageReader:
    """Reads one message of a history and reports its losses (PF208)."""

    def __init__(self, diagnostics: Diagnostics, place: str) -> None:
        self._diagnostics = diagnostics
        self._place = place
        self._dumper = Dumper()
        self._maker = ""
        """The family of the LLM that gave the answer, by the object or by LangChain's metadata."""

    @property
    def _owner(self) -> str:
        return self._dumper.owner

    def say(self, message: str, severity: Severity = "warning") -> None:
        self._diagnostics.add("PF208", message, where=self._place, severity=severity)

    def read(self, given: Any) -> list[Message]:
        if isinstance(given, Message):
            return [given]
        value = self._dumper.dump(given)
        if isinstance(value, list) and list(map(type, value)) == [str, str]:  # as of LangChain
            value = {"role": value[0], "content": value[1]}
        if not isinstance(value, Mapping):
            kind = type_name_of(given)
            raise _Refusal(f"expected an object with role and content, found {kind}")

        def say(change: str) -> None:
            self.say(change, "warning" if "left out" in change else "info")

        if isinstance(value, dict):  # a row of pandas has NaN where it has no value
            pairs = dict.items(value)
            value = {k: one for k, one in pairs if type(one) is not float or one == one}
        message = copy_plain(value, say, MAX_MESSAGE_VALUES)
        return [
            self._sound(each) for part in self._unwrap(dict(message)) for each in self._read(part)
        ]

    def _unwrap(self, given: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the messages of a provider's whole answer; else the message itself."""
        output = given.get("output", given)  # Bedrock; Cohere and Ollama
        if isinstance(output, dict) and isinstance(output.get("message"), dict):
            return [output["message"]]
        key, found, others = "output", None, 0
        if given.get("object") == "response":
            found = given.get(key)
        for name, field in (("choices", "message"), ("candidates", "content")):
            choices = given.get(name)
            if isinstance(choices, list) and choices and isinstance(choices[0], dict):
                key, found, others = name, [choices[0].get(field)], len(choices) - 1
                if any(map(choices[0].get, _SOURCES_FIELDS)):
                    self.say(_CITATIONS_LOST, "info")  # no request of Gemini carries them
        if not isinstance(found, list) or "role" in given:
            return [given]
        messages = [part for part in found if isinstance(part, dict)]
        if not messages:
            rest = f"; {others:,} more left out" if others else ""
            piece = "; a piece of a stream: join the pieces to one message first"
            rest = piece if "chunk" in str(given.get("object")) else rest
            raise _Refusal(f"{key}: no message found{rest}")
        if others:
            self.say(f"{key}: only the first is read; {others:,} more left out")
        elif lost := len(found) - len(messages):
            self.say(f"{key}: expected objects; {lost:,} of {len(found):,} members left out")
        return messages

    def _sound(self, message: Message) -> Message:
        blocks = tuple(map(_sound_block, message.blocks))
        if blocks != message.blocks:
            self.say("lone surrogates in it were replaced by U+FFFD")
        return replace(message, blocks=blocks)

    def _read(self, message: dict[str, Any]) -> list[Message]:
        if message.get("kind") in ("request", "response") and "parts" in message:
            return self._pydantic_ai(message)
        kind = message.get("type")
        if "role" not in message and isinstance(kind, str):
            known = _TYPES_AS_ROLES.get(kind.removesuffix("MessageChunk").lower())
            known = _TYPES_AS_ROLES.get(kind.partition("[")[0], known)  # `StructuredMessage[Plan]`
            if known is None:
                return self._item(kind, message)
            if not known:  # AutoGen's agents have names of their own
                source = message.get("source")
                known = "user" if source in ("user", "user_proxy") else "assistant"
                if source not in ("user", "user_proxy", "assistant"):
                    self.say(f"source {show_value(source)}: read as the assistant", "info")
            if kind == "ToolCallSummaryMessage":  # they have messages of their own before it
                message = {k: v for k, v in message.items() if k not in ("tool_calls", "results")}
            # `message_to_dict` of LangChain puts the message into its data.
            message = {**(inner(message, "data") or message), "role": known}
        # LangChain and LlamaIndex keep there what their own fields have no place for.
        message = {**inner(message, "additional_kwargs"), **message}
        provider = inner(message, "response_metadata").get("model_provider")
        self._maker = OWNERS.get(str(provider), self._owner)
        pinned = message.pop("pinned", None)
        if pinned not in (None, True, False):
            self.say(f"pinned takes true or false; got {show_value(pinned)}")
        role = _role(message)
        blocks = self._blocks(role, message)
        if role == "tool":
            self._say_lost(message, ("name",))
        else:
            blocks += self._tool_calls(message, blocks)
            blocks = self._with_fields(message, blocks)
            if not blocks:
                self.say("a message without text was left out", "info")
        by_role = groupby(blocks, lambda block: _role_of(block, role))
        return [Message(own, tuple(group), pinned=pinned is True) for own, group in by_role]

    def _blocks(self, role: Role, message: dict[str, Any]) -> list[MessageBlock]:
        if has_types(message.get("parts")):
            return self._content([*blocks_of_parts(message["parts"])])
        if "parts" in message:
            return self._parts(message["parts"])
        content = message.get("blocks", message.get("content"))  # of LlamaIndex: blocks
        if role == "tool" and ("tool_call_id" in message or not _holds_results(content)):
            return [self._output({**message, "content": content}, "content")]
        item = self._output_message(message) if role == "assistant" else []
        return item or self._content(content)

    def _loss(self, message: str, severity: Severity = "warning") -> Loss:
        return Loss(message, self._place, severity)

    # --- OpenAI's responses: items with a type and no role ---

    def _item(self, kind: str, item: dict[str, Any]) -> list[Message]:
        kept: dict[str, Any] = {"original": item, "family": "openai-responses"}
        if kind in ("function_call", "custom_tool_call"):
            call = self._call(item)
            return [Message("assistant", (replace(call, **kept),))]
        if kind in ("function_call_output", "custom_tool_call_output"):
            output = replace(self._output(item, "output"), **kept)
            return [Message("tool", (output,))]
        if kind not in (*_RESPONSES_ITEMS, *_THOUGHTS) and self._owner != "openai":
            raise _Refusal(f"role: missing; an item of type {quote(kind)} is not read")
        reasoning = kind in _THOUGHTS
        severity: Severity = "info" if reasoning else "warning"
        loss = self._loss(f"an item of type {quote(kind)} was left out", severity)
        # What the program answers stands with the results of tools, and begins no turn.
        answered = kind.endswith(("_output", "_response"))
        id_ = item.get("id" if kind == "local_shell_call_output" else "call_id")
        if isinstance(id_, str):
            kept["answers" if answered else "call_id"] = id_
        block = OpaqueBlock(kind=kind, reasoning=reasoning, loss=loss, **kept)
        return [Message("tool" if answered else "assistant", (block,))]

    def _output_message(self, message: dict[str, Any]) -> list[MessageBlock]:
        content = message.get("content")
        if not isinstance(content, list) or message.get("type") != "message":
            return []
        parts = [part for part in content if isinstance(part, dict)]
        if "id" not in message or any(
            part.get("type") not in ("output_text", "refusal") for part in parts
        ):
            return []
        said = [part.get("text", part.get("refusal")) for part in parts]
        text = "\n\n".join(each for each in said if isinstance(each, str))
        loss = None
        if any(part.get("annotations") for part in parts):
            loss = self._loss(_CITATIONS_LOST, "info")
        kept: dict[str, Any] = {"original": message, "family": "openai-responses", "loss": loss}
        return [TextBlock(text, **kept)] if text else []

    # --- chat ---

    def _tool_calls(
        self, message: dict[str, Any], found: Sequence[MessageBlock]
    ) -> list[MessageBlock]:
        calls = message.get("tool_calls")
        if not isinstance(calls, list | None):
            raise _Refusal(f"tool_calls: expected a list, found {type_name_of(calls)}")
        if message.get("function_call") and not calls:
            calls = [message["function_call"]]
        signatures = inner(message, _SIGNATURES)
        read: list[MessageBlock] = [self._chat_call(call, signatures) for call in calls or ()]
        # Calls that LangChain could not read stand apart.
        for call in message.get("invalid_tool_calls") or ():
            read += self._tool_call(call)
        # LangChain names a call in the content and beside it.
        known = {block.id for block in found if isinstance(block, ToolCall)} - {""}
        return [call for call in read if not (isinstance(call, ToolCall) and call.id in known)]

    def _chat_call(self, call: Any, signatures: dict[str, Any]) -> ToolCall:
        if not isinstance(call, dict):
            raise _Refusal(f"tool_calls: expected objects, found {type_name_of(call)}")
        kept: dict[str, Any] = {}
        function = call.get("function") or call.get("custom")
        if isinstance(function, dict):
            if not call.keys() <= {"id", "type", "function"}:
                kept = {"original": _unmarked(call), "family": "openai"}
            call = {"id": call.get("id"), **function}
        block = self._call(call)
        signature = signatures.get(block.id)
        if signature:
            part = {"name": block.name, "args": json.loads(block.arguments)}
            original = {"function_call": part, "thought_signature": signature}
            kept = {"original": original, "family": "gemini"}
        return replace(block, **kept)

    def _with_fields(
        self, message: dict[str, Any], blocks: list[MessageBlock]
    ) -> list[MessageBlock]:
        """Add what stands beside the content in OpenAI's chat, and in servers like it."""
        refusal = message.get("refusal")
        if isinstance(refusal, str):
            kept: dict[str, Any] = {"original": {"refusal": refusal}, "family": "openai"}
            blocks = [*blocks, TextBlock(refusal, **kept)]
        if message.get("annotations") and "parts" not in message:
            self.say(_CITATIONS_LOST, "info")  # no request of this shape carries them
        fields: dict[str, Any] = {}
        if "parts" not in message and message.keys() & {"content", "tool_calls"}:
            fields = {k: message[k] for k in _CHAT_FIELDS if _is_chat_field(k, message.get(k))}
            audio = inner(message, "audio")
            if "id" in audio:
                fields["audio"] = {"id": audio["id"]}  # the documented form of a request
        self._say_lost(message, fields)
        # LiteLLM keeps Anthropic's thoughts in fields, and sends them on from there.
        signed = [each for each in fields.get("thinking_blocks") or () if is_signed(each)]
        thoughts = [
            OpaqueBlock(kind="thinking", reasoning=True, original=each, family="anthropic")
            for each in signed
        ]
        if thoughts:
            twice = {k: fields.pop(k) for k in list(fields) if k in _FIELDS_OF_THOUGHTS}
            blocks = [*blocks, self._fields_block(twice, spared="anthropic")]
        if fields:
            blocks = [*blocks, self._fields_block(fields)]
        return [*thoughts, *blocks]

    def _say_lost(self, message: dict[str, Any], kept: Iterable[str]) -> None:
        given = {key for key, value in message.items() if value}
        lost = sorted(given - _KNOWN_FIELDS - {*kept})
        if lost:
            self.say(_fields_lost(lost), "info")

    def _fields_block(self, fields: dict[str, Any], spared: str | None = None) -> OpaqueBlock:
        loss = Loss(_fields_lost(fields), self._place, "info", spared)
        return OpaqueBlock(kind=FIELDS, original=fields, family="openai", loss=loss)

    # --- blocks of contents, by their type ---

    def _content(self, content: Any) -> list[MessageBlock]:
        if content is None:
            return []
        if isinstance(content, str):
            return _text(content)
        if isinstance(content, dict) and isinstance(content.get("type"), str):  # as MCP has it
            content = [content]
        if isinstance(content, dict):  # an object of the caller's own, or the output of a model
            self.say("content: an object was read as its JSON", "info")
            return _text(json.dumps(content, ensure_ascii=False))
        if not isinstance(content, list):
            kind = type_name_of(content)
            raise _Refusal(f"content: expected text or a list of blocks, found {kind}")
        return [block for part in content for block in self._content_block(part)]

    def _content_block(self, part: Any) -> list[MessageBlock]:
        if isinstance(part, str):
            return _text(part)
        if not isinstance(part, dict):
            return self._unread(type_name_of(part))
        part = as_sent(part, self._maker)
        kind = part.get("type")
        if isinstance(kind, str):
            return _BLOCK_READERS.get(kind, _MessageReader._opaque)(self, part)
        if kind is not None:
            return self._unread(type_name_of(part))
        if _is_converse(part):
            return self._converse(part)
        if isinstance(part.get("text"), str):
            return _text(part["text"])
        kind = str(part.get("block_type") or next(iter(part), ""))
        image = image_of(inner(part, kind) or part)
        if image:
            return [ImageBlock(*image, loss=self._loss(_not_text(quote(kind))))]
        return self._unread(quote(kind))

    def _unread(self, named: str) -> list[MessageBlock]:
        self.say(_not_text(named))
        return []

    def _text_block(self, part: dict[str, Any]) -> list[MessageBlock]:
        text = part.get("text")
        if not isinstance(text, str):
            return self._opaque(part)
        loss = None
        if part.get("citations") or part.get("annotations"):
            loss = self._loss(_CITATIONS_LOST, "info")
        kept: dict[str, Any] = {}
        if "citations" in part:
            kept = {"original": _unmarked(part), "family": "anthropic"}
        return [TextBlock(text, loss=loss, **kept)] if text.strip() else []

    def _refusal_block(self, part: dict[str, Any]) -> list[MessageBlock]:
        if not isinstance(part.get("refusal"), str):
            return self._opaque(part)
        return [TextBlock(part["refusal"], original=part, family="openai")]

    def _tool_call(self, part: dict[str, Any]) -> list[MessageBlock]:
        if part.get("type") == "invalid_tool_call" and not part.get("name"):
            self.say("a call without a name was left out")
            return []
        return [self._call(part)]

    def _tool_use(self, part: dict[str, Any]) -> list[MessageBlock]:
        call = self._call(part)
        # A stream of LangChain leaves the input as a text in the content.
        original = {**_unmarked(part), "input": json.loads(call.arguments)}
        return [replace(call, original=original, family="anthropic")]

    def _tool_result(self, part: dict[str, Any]) -> list[MessageBlock]:
        output, kept = self._output(part, "content"), _unmarked(part)
        content = kept.get("content")
        if isinstance(content, list):  # Anthropic refuses a text without text here too
            kept["content"] = [each for each in content if not _is_blank(each)] or ""
        return [replace(output, original=kept, family="anthropic")]

    def _opaque(self, part: dict[str, Any]) -> list[MessageBlock]:
        part, kind = _unmarked(part), part["type"]
        reasoning = kind in _THOUGHTS
        loss = self._loss(_not_text(quote(kind)))
        if reasoning:
            loss = self._loss(f"content: a block of type {quote(kind)} was left out", "info")
        family = _family_of(kind, part, self._owner)
        if kind == "thinking" and self._maker == "gemini":
            family = ""  # LangChain writes Gemini's thoughts as Anthropic's
        kept: dict[str, Any] = {"original": part, "family": family} if family else {}
        image = image_of(part)
        if image:
            return [ImageBlock(*image, **kept, loss=loss)]
        if not family:
            self.say(loss.message, loss.severity)
            return []
        if kind in _ANTHROPIC_CALLS:
            kept["call_id"] = _id(part)
        elif kind.endswith(_ANTHROPIC_RESULT):
            kept["answers"] = _id(part)
        return [OpaqueBlock(kind=kind, reasoning=reasoning, loss=loss, **kept)]

    # --- Bedrock's Converse: blocks of one key, its type ---

    def _converse(self, part: dict[str, Any]) -> list[MessageBlock]:
        [(kind, value)] = part.items()
        kept: dict[str, Any] = {"original": part, "family": "bedrock"}
        if kind == "cachePoint":
            return []  # a mark of a cache; see `_CACHE_MARKS`
        if kind == "toolUse" and "type" not in value:
            return [replace(self._call(value), **kept)]
        if kind == "toolResult" and "type" not in value:
            content = [
                {"text": json.dumps(each["json"], ensure_ascii=False)} if "json" in each else each
                for each in value.get("content") or ()
            ]
            output = self._output({**value, "content": content}, "content")
            return [replace(output, **kept)]
        reasoning = kind == "reasoningContent"
        loss = self._loss(_not_text(quote(kind)), "info" if reasoning else "warning")
        if kind == "citationsContent" and isinstance(value.get("content"), list):
            text = "".join(each.get("text", "") for each in value["content"])
            loss = self._loss(_CITATIONS_LOST, "info")
            return [TextBlock(text, loss=loss, **kept)] if text.strip() else []
        data = inner(value, "source").get("bytes")
        if kind == "image" and isinstance(data, str):
            return [ImageBlock(f"image/{value.get('format')}", data, loss=loss, **kept)]
        if kind in ("toolUse", "toolResult"):  # of a tool of the server
            kept["call_id" if kind == "toolUse" else "answers"] = _id(value)
        return [OpaqueBlock(kind=kind, reasoning=reasoning, loss=loss, **kept)]

    # --- Pydantic AI ---

    def _pydantic_ai(self, message: dict[str, Any]) -> list[Message]:
        if message.get("instructions"):
            self.say("the instructions were left out; give them as the system text")
        role = "user" if message["kind"] == "request" else "assistant"
        made = [chat_message(part, role) for part in message["parts"]]
        return [each for one in made for each in self._read(one)]

    # --- Gemini ---

    def _parts(self, parts: Any) -> list[MessageBlock]:
        if not isinstance(parts, list):
            raise _Refusal(f"parts: expected a list, found {type_name_of(parts)}")
        blocks: list[MessageBlock] = []
        for part in parts:
            if isinstance(part, str):
                part = {"text": part}
            if not isinstance(part, dict):
                raise _Refusal(f"parts: expected objects, found {type_name_of(part)}")
            blocks += self._part(part)
        return blocks

    def _part(self, part: dict[str, Any]) -> list[MessageBlock]:
        kept: dict[str, Any] = {"original": part, "family": "gemini"}
        # The SDK writes snake_case, the REST interface camelCase.
        call = part.get("function_call") or part.get("functionCall")
        output = part.get("function_response") or part.get("functionResponse")
        if isinstance(call, dict):
            return [replace(self._call(call), **kept)]
        if isinstance(output, dict):
            return [replace(self._output(output, "response"), **kept)]
        text = part.get("text")
        if isinstance(text, str) and text.strip() and not part.get("thought"):
            return [TextBlock(text, **(kept if len(part) > 1 else {}))]
        if part.keys() <= {"text"}:
            return []
        key = quote(next(iter(part), ""))
        severity: Severity = "info" if "text" in part else "warning"
        loss = self._loss(f"parts: a part with {key} is not text and was left out", severity)
        inline = part.get("inline_data") or part.get("inlineData")
        if isinstance(inline, dict) and (image := image_of(inline)):
            return [ImageBlock(*image, loss=loss, **kept)]
        return [OpaqueBlock(kind=next(iter(part), ""), loss=loss, **kept)]

    # --- calls and results ---

    def _call(self, given: dict[str, Any]) -> ToolCall:
        name = given.get("name")
        if not isinstance(name, str) or not name:
            raise _Refusal("a call: its name is missing")
        values = (given.get(key) for key in ("arguments", "input", "args"))
        arguments: Any = next((value for value in values if value is not None), {})
        # The input of a custom tool is a text of any form.
        if isinstance(arguments, str) and "input" in given and "arguments" not in given:
            arguments = {"input": arguments}
        problem = "are no object; they are kept inside one"
        if isinstance(arguments, str):
            # Servers and streams write an empty text for a tool without parameters.
            text = _arguments(arguments) if arguments.strip() else "{}"
            if text is not None:
                return ToolCall(_id(given), name, text)
            problem = "are no plain JSON object; they are kept as a text in one"
        if not isinstance(arguments, dict):
            self.say(f"the arguments of the call of {quote(name)} {problem}")
            arguments = {"arguments": arguments}
        return ToolCall(_id(given), name, json.dumps(arguments, ensure_ascii=False))

    def _output(self, given: dict[str, Any], field: str) -> ToolOutput:
        value = given.get(field)
        failed = given.get("status") == "error"
        failed |= any(given.get(key) is True for key in ("is_error", "isError"))
        failed |= field == "response" and is_failure(value)
        # Gemini wraps a result in {"output": …} or {"error": …}, its SDK in {"result": …}.
        wrappers = ["error" if failed and field == "response" else "output"]
        wrappers += ["result"] * (field == "response")
        if isinstance(value, dict) and [*value] in ([wrapper] for wrapper in wrappers):
            value = next(iter(value.values()))
        losses: list[Loss] = []
        if given.get("parts"):  # Gemini
            losses.append(self._loss("the images and files of a result were left out"))
        # A tool may return a list of anything: [{"title": "x", "n": 1}] is data.
        if isinstance(value, list) and all(_is_block(part, self._owner) for part in value):
            blocks = self._content(list(map(_document_as_text, value)))
            text = Message("tool", tuple(blocks)).text
            losses += [block.loss for block in blocks if block.loss]
        elif isinstance(value, str):
            text = value
        elif value is None:
            text = ""
        else:
            text = json.dumps(value, ensure_ascii=False)
        name = given.get("name")
        if not isinstance(name, str):
            name = ""
        said = "; ".join(dict.fromkeys(each.message for each in losses))
        loss = losses[0]._replace(message=said) if losses else None
        return ToolOutput(_id(given), name, text, failed, loss=loss)


_BLOCK_READERS: Mapping[str, Callable[[_MessageReader, dict[str, Any]], list[MessageBlock]]] = {
    **dict.fromkeys(("text", "input_text", "output_text"), _MessageReader._text_block),
    **dict.fromkeys(("tool_call", "function_call", "invalid_tool_call"), _MessageReader._tool_call),
    "refusal": _MessageReader._refusal_block,
    "tool_call_result": lambda reader, part: [reader._output(part, "content")],
    "tool_use": _MessageReader._tool_use,
    "tool_result": _MessageReader._tool_result,
}
"""Type of a block → its reader; others are opaque."""


def _is_chat_field(key: str, value: Any) -> bool:
    if key == "reasoning":
        return isinstance(value, str) and value != ""  # LangChain keeps an item of OpenAI there
    if key == "citations":  # of Cohere; a program's own would be refused
        marks = value if isinstance(value, list) else []
        return bool(marks) and all(isinstance(one, dict) and "sources" in one for one in marks)
    return bool(value)


def _not_text(kind: str) -> str:
    return f"content: a block of type {kind} is not text and was left out"


def _fields_lost(fields: Iterable[str]) -> str:
    return f"fields of the message were left out: {', '.join(map(quote, fields))}"


def _document_as_text(part: Any) -> Any:
    """Return a document or a search result in a tool's result as its text; any other part as it is.

    Anthropic's tools answer so, and Cohere's; other families know no such blocks, and a text can be
    shortened.
    """
    if not isinstance(part, dict) or part.get("type") not in ("document", "search_result"):
        return part
    if _is_of_cohere(part):
        own = part["document"]
        given = [own[key] for key in ("id", "data") if key in own]
        said = (v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for v in given)
        return "\n".join(said)
    source = inner(part, "source")
    content = part.get("content", source.get("content"))
    if source.get("type") == "text":
        content = [source.get("data")]
    if not isinstance(content, list):
        return part
    texts: list[Any] = [each.get("text") if isinstance(each, dict) else each for each in content]
    if not all(isinstance(text, str) for text in texts):
        return part  # a picture stands among them
    about = (part.get(key) for key in ("title", "source", "context"))
    return "\n".join([*(each for each in about if isinstance(each, str)), "\n\n".join(texts)])


def _unmarked(part: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in part.items() if key not in (*_CACHE_MARKS, *_STREAM_KEYS)}
    content = kept.get("content")
    if isinstance(content, list):
        kept["content"] = [
            {key: value for key, value in each.items() if key not in _CACHE_MARKS}
            if isinstance(each, dict)
            else each
            for each in content
        ]
    return kept


def _is_blank(part: Any) -> bool:
    """Tell whether a block is a text without text."""
    is_text = isinstance(part, dict) and part.get("type") == "text"
    return is_text and isinstance(part.get("text"), str) and not part["text"].strip()


def _family_of(kind: str, part: dict[str, Any], owner: str) -> str:
    if kind == "thinking":
        if is_signed(part) or owner == "anthropic":
            return "anthropic"
        # Mistral's are lists, and Cohere's have no signature; both have this shape.
        return "openai" if isinstance(part.get("thinking"), list) or owner == "openai" else ""
    if kind in _RESPONSES_BLOCKS:
        return "openai-responses"
    if kind in _CHAT_BLOCKS and isinstance(part.get(kind), dict):
        return "openai"
    # LangChain has an "image" and a "file" of its own, without a source.
    if kind in ("image", "document") and not isinstance(part.get("source"), dict):
        return ""
    known = kind.endswith(_ANTHROPIC_RESULT) and kind != "server_tool_result"
    return "anthropic" if known or kind in _ANTHROPIC_BLOCKS or owner == "anthropic" else ""


def _is_block(part: Any, owner: str) -> bool:
    if not isinstance(part, dict):
        return isinstance(part, str)
    kind = part.get("type")
    if "block_type" in part or _is_converse(part):  # LlamaIndex; Bedrock
        return True
    if kind is None:  # Haystack
        image, file = part.get("image"), part.get("file")
        shown = isinstance(image, dict) and image_of(image) is not None
        shown = shown or (isinstance(file, dict) and "base64_data" in file)
        return len(part) == 1 and (shown or isinstance(part.get("text"), str))
    if kind in ("text", "input_text", "output_text", "refusal"):
        return isinstance(part.get("refusal" if kind == "refusal" else "text"), str)
    if not isinstance(kind, str):
        return False
    if _family_of(kind, part, owner) or (kind in IMAGES and image_of(part)) or _is_of_cohere(part):
        return True
    # Files and recordings of LangChain and MCP, whose base64 is no text for an LLM.
    return any(key in part for key in MIMES) and any(key in part for key in DATAS)


def _is_of_cohere(part: dict[str, Any]) -> bool:
    """Return whether a part is a document in a result of Cohere's: its data, and perhaps an id."""
    own = inner(part, "document")
    return part.keys() == {"type", "document"} and own.keys() | {"id"} == {"data", "id"}


def _is_converse(part: dict[str, Any]) -> bool:
    """Return whether a part is a block of Bedrock's Converse; Haystack's image has a MIME type."""
    name, inner = next(iter(part.items()), ("", None))
    known = len(part) == 1 and name in _CONVERSE_BLOCKS
    return known and isinstance(inner, dict) and "mime_type" not in inner


def _holds_results(content: Any) -> bool:
    """Return whether a message of a tool holds several results: Haystack's, AutoGen's, AI SDK's."""
    return isinstance(content, list) and any(
        isinstance(part, dict)
        and (
            "tool_call_result" in part
            or is_autogen_result(part)
            or str(part.get("type")).startswith("tool-")
        )
        for part in content
    )


def _sound_block(block: MessageBlock) -> MessageBlock:
    fields = msgspec.structs.asdict(block)
    texts = {key: replace_surrogates(value) for key, value in fields.items() if type(value) is str}
    return replace(block, **texts, original=_sound_data(block.original))


def _sound_data(value: Any) -> Any:
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, list):
        return [_sound_data(member) for member in value]
    if isinstance(value, dict):
        return {replace_surrogates(key): _sound_data(member) for key, member in value.items()}
    return value


def _role(message: dict[str, Any]) -> Role:
    given = message.get("role")
    if not isinstance(given, str):
        found = "missing" if given is None else f"found {type_name_of(given)}"
        kind = message.get("type")
        hint = f"; an item of type {quote(kind)} is not read" if isinstance(kind, str) else ""
        raise _Refusal(f"role: {found}{hint}")
    role = _ROLES.get(given.lower())
    if role is None:
        raise _Refusal(f"role: unknown {quote(given)}{suggest_name(given, _ROLES)}")
    return role


def _role_of(block: MessageBlock, role: Role) -> Role:
    if isinstance(block, ToolOutput):
        return "tool"
    if isinstance(block, ToolCall):
        return "assistant"
    return "user" if role == "tool" else role


def _text(text: str) -> list[MessageBlock]:
    return [TextBlock(text)] if text.strip() else []


def _arguments(text: str) -> str | None:
    """Return arguments given as JSON, unchanged if a request can carry them; `None` if not."""
    try:
        arguments = json.loads(text)
        # The copy differs for NaN and 1e999, and for nesting too deep to be sent.
        copy = copy_plain(arguments, most=MAX_MESSAGE_VALUES)
        if isinstance(arguments, dict) and copy == arguments:
            plain = json.dumps(arguments, ensure_ascii=False)
            return plain if SURROGATE.search(plain) else text
    except (ValueError, RecursionError):
        pass
    return None


def _id(given: dict[str, Any]) -> str:
    ids = (given.get(key) for key in ("call_id", "tool_call_id", "tool_use_id", "toolUseId", "id"))
    return str(next(filter(None, ids), ""))
