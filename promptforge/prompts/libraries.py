"""Objects of SDKs and frameworks as plain data, in the words of the providers.

The classes are known by the names of their libraries, so that none has to be installed.
"""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

Data = dict[str, Any]
_MAX_DEPTH = 20
"""Deepest nesting at which objects of a library are looked for."""
# Cohere's messages have the shape of OpenAI's chat. LangChain's metadata name Gemini's library.
OWNERS = {
    "anthropic": "anthropic",
    "cohere": "openai",
    "google": "gemini",
    "google_genai": "gemini",
    "openai": "openai",
}
"""Library → the family of its messages."""
_OWN_FORM = ("haystack", "semantic_kernel")
"""Libraries that write messages by `to_dict`: Semantic Kernel in the shape of OpenAI's chat."""


class Dumper:
    """Writes out the objects of libraries, wherever they stand in a message."""

    owner = ""
    """The family of the library that made an object; empty for plain data."""

    def dump(self, value: Any, depth: int = 0) -> Any:
        """Return the value as plain data."""
        kind = type(value)
        if kind is bytes:
            return base64.b64encode(value).decode()
        if depth >= _MAX_DEPTH:
            return value
        if kind in (list, tuple):
            return [self.dump(member, depth + 1) for member in value]
        if kind is dict:
            # A text as a database gives it, Redis among them, is none in base64.
            return {
                key: member
                if type(member) is bytes and key in ("role", "content", "text")
                else self.dump(member, depth + 1)
                for key, member in value.items()
            }
        # Asked of the type, since an object may lie.
        library, write = kind.__module__.partition(".")[0], getattr(kind, "model_dump", None)
        if callable(write) and library in OWNERS:
            self.owner = OWNERS[library]
            # As the SDK itself sends it: with the fields that came, `null` among them.
            hidden = getattr(value, "__api_exclude__", None)
            # Python's keywords have other names there: `from_` is sent as "from", `async_` too.
            how: Data = {"mode": "json", "exclude_unset": True, "warnings": False}
            return write(value, exclude=hidden, by_alias=self.owner != "gemini", **how)
        if library in _OWN_FORM and callable(own := getattr(kind, "to_dict", None)):
            return self.dump(own(value), depth + 1)
        if callable(write):
            # LlamaIndex keeps base64 as bytes, which are a text in JSON.
            mode = "json" if library == "llama_index" else "python"
            return self.dump(write(value, mode=mode, exclude_none=True), depth + 1)
        if dataclasses.is_dataclass(kind):
            names = [field.name for field in dataclasses.fields(kind)]
            if library == "pydantic_ai" or "role" in names:  # of a message, not of data in it
                names = [name for name in names if name != "timestamp"]
            return self.dump({n: getattr(value, n) for n in names}, depth + 1)
        return value.value if issubclass(kind, Enum) else value


def inner(given: Mapping[str, Any], key: str) -> Data:
    """Return the object under a key; an empty one for anything else."""
    value = given.get(key)
    return value if isinstance(value, dict) else {}


# --- blocks of contents ---------------------------------------------------------------------------


def as_sent(part: Data, maker: str) -> Data:
    """Return a framework's block as a provider writes it; any other block itself."""
    kind = part.get("block_type") or part.get("type") or next(iter(part), "")
    read = _BLOCKS.get(kind) if isinstance(kind, str) else None
    return (read and read(part, maker)) or part


def _thought(text: Any, signature: Any) -> Data:
    """Return a thought of Anthropic; without its signature no family takes it."""
    return {"type": "thinking", "thinking": text, "signature": signature}


def is_signed(thought: Any) -> bool:
    """Return whether a thought is one that Anthropic takes back."""
    if not isinstance(thought, dict):
        return False
    signed = all(isinstance(thought.get(key), str) for key in ("thinking", "signature"))
    return signed or thought.get("type") == "redacted_thinking"


def _reasoning(part: Data, maker: str) -> Data | None:  # LangChain; the AI SDK
    for key in ("providerMetadata", "providerOptions"):
        signature = inner(inner(part, key), "anthropic").get("signature")
        if signature:
            return _thought(part.get("text"), signature)
    signature = inner(part, "extras").get("signature")
    if not signature or maker == "gemini":
        return None
    return _thought(part.get("reasoning"), signature)


def _thinking(part: Data, maker: str) -> Data | None:  # LlamaIndex
    if "block_type" not in part:
        return None
    return _thought(part.get("content"), inner(part, "additional_information").get("signature"))


def _plain_text(part: Data, maker: str) -> Data | None:  # LangChain
    return {"type": "text", "text": part["text"]} if isinstance(part.get("text"), str) else None


def _server_call(part: Data, maker: str) -> Data | None:  # LangChain, of Anthropic's tools
    id_, name, extras = str(part.get("id")), part.get("name"), inner(part, "extras")
    if maker != "anthropic" and not id_.startswith(("srvtoolu_", "mcptoolu_")):
        return None
    call = {"id": id_, "input": part.get("args")}
    if name == "remote_mcp":
        names = {"name": extras.get("tool_name"), "server_name": extras.get("server_name")}
        return {"type": "mcp_tool_use", **call, **names}
    return {
        "type": "server_tool_use",
        **call,
        "name": "code_execution" if name == "code_interpreter" else name,
    }


def _server_result(part: Data, maker: str) -> Data | None:  # LangChain, of Anthropic's tools
    kind = inner(part, "extras").get("block_type")
    if not isinstance(kind, str):
        return None
    failed = {"is_error": part.get("status") == "error"} if kind == "mcp_tool_result" else {}
    answered = {"tool_use_id": part.get("tool_call_id"), "content": part.get("output", [])}
    return {"type": kind, **answered, **failed}


def _tool_call(part: Data, maker: str) -> Data | None:  # LlamaIndex; Haystack
    call = inner(part, "tool_call") or part
    if "tool_name" not in call:
        return None
    return {"type": "tool_call", **_renamed(call)}


def _call_result(part: Data, maker: str) -> Data | None:  # Haystack
    result = inner(part, "tool_call_result")
    names = _renamed(inner(result, "origin"))
    return {**names, "content": result.get("result"), "is_error": result.get("error")} | {
        "type": "tool_call_result"
    }


def _renamed(call: Data) -> Data:
    arguments = call.get("tool_kwargs", call.get("arguments"))
    id_ = call.get("tool_call_id") or call.get("id")
    return {"id": id_, "name": call.get("tool_name"), "arguments": arguments}


def _sdk_call(part: Data, maker: str) -> Data:
    arguments = part.get("input", part.get("args"))
    call = {"id": part.get("toolCallId"), "name": part.get("toolName"), "arguments": arguments}
    return {"type": "tool_call", **call}


def _sdk_result(part: Data, maker: str) -> Data:
    value, failed = part.get("output", part.get("result")), part.get("isError")
    if isinstance(value, dict) and value.get("type") in _SDK_OUTPUTS:
        failed = value["type"] not in ("text", "json", "content")
        value = value.get("value", value.get("reason", _DENIED))
    result = {"tool_call_id": part.get("toolCallId"), "name": part.get("toolName")}
    return {"type": "tool_call_result", **result, "content": value, "is_error": failed}


_SDK_OUTPUTS = ("text", "json", "content", "error-text", "error-json", "execution-denied")
_DENIED = "Tool execution denied."


def _autogen_call(part: Data, maker: str) -> Data | None:
    return {**part, "type": "tool_call"} if part.keys() == {"id", "name", "arguments"} else None


def is_autogen_result(part: Data) -> bool:
    """Return whether a block is a result of AutoGen's, which has no type."""
    return {"call_id", "content"} <= part.keys() and "type" not in part


def _autogen_result(part: Data, maker: str) -> Data | None:
    return {**part, "type": "tool_call_result"} if is_autogen_result(part) else None


# AutoGen's blocks have no type: the first key stands for it, in order of fields or of letters.
_BLOCKS = {
    **{"content": _autogen_result, "call_id": _autogen_result},
    **{"id": _autogen_call, "arguments": _autogen_call},
    "non_standard": lambda part, maker: inner(part, "value") or None,
    "reasoning": _reasoning,
    "server_tool_call": _server_call,
    "server_tool_result": _server_result,
    "text-plain": _plain_text,
    "thinking": _thinking,
    "tool-call": _sdk_call,
    "tool-result": _sdk_result,
    "tool_call": _tool_call,
    "tool_call_result": _call_result,
}


# --- images ---------------------------------------------------------------------------------------

IMAGES = ("image", "image_url", "input_image")
MIMES = ("media_type", "mime_type", "mediaType", "mimeType", "image_mimetype")
DATAS = ("data", "base64", "base64_image", "image")


def image_of(part: dict[str, Any]) -> tuple[str, str, str] | None:
    """Return type, data and URL of an image in any provider's or framework's words."""
    is_image = "image" in str(part.get("type", part.get("block_type", "image")))
    source: Any = part.get("source")
    if is_image and isinstance(source, dict):  # Anthropic
        part = source
    mime = next((part[key] for key in MIMES if isinstance(part.get(key), str)), "")
    data = next((part[key] for key in DATAS if isinstance(part.get(key), str)), "")
    url: Any = part.get("url") or part.get("image_url")
    if ":" in data[:6]:  # the AI SDK has an address there
        url, data = data, ""
    if isinstance(url, dict):  # OpenAI's chat
        url = url.get("url")
    if isinstance(url, str) and url.startswith("data:") and ";base64," in url:
        head, _, data = url.partition(";base64,")
        mime, url = head.removeprefix("data:"), ""
    if mime.startswith("image/") and data:
        return mime, data, ""
    is_image |= mime.startswith("image/")
    return (mime, "", url) if is_image and isinstance(url, str) and url else None


# --- the AI SDK of Vercel -------------------------------------------------------------------------


def has_types(parts: Any) -> bool:
    """Return whether parts are of a message of a user interface: Gemini's have no types."""
    return isinstance(parts, list) and any(
        isinstance(part, dict) and isinstance(part.get("type"), str) for part in parts
    )


def blocks_of_parts(parts: Sequence[Any]) -> Iterator[Any]:
    """Yield parts as blocks of a message to an LLM: one of a tool is a call and its result.

    Calls side by side were made at once, so their results follow them all.
    """
    results: list[Data] = []
    for part in parts:
        kind = str(part.get("type")) if isinstance(part, dict) else ""
        if kind == "tool-invocation":
            part = {**inner(part, "toolInvocation"), "type": "dynamic-tool"}
        is_tool = kind.startswith(("tool-", "dynamic-tool")) and "toolCallId" in part
        if not is_tool:
            yield from results
            results = []
            if kind != "step-start":
                yield part
            continue
        part = {"toolName": kind.removeprefix("tool-"), **part, "type": "tool-call"}
        yield part
        state = part.get("state")
        if state == "output-error":
            part |= {"output": part.get("errorText"), "isError": True}
        elif state == "output-denied":
            reason = inner(part, "approval").get("reason") or _DENIED
            part |= {"output": reason, "isError": True}
        if state in ("output-available", "output-error", "output-denied", "result"):
            results.append({**part, "type": "tool-result"})
    yield from results


# --- Pydantic AI ----------------------------------------------------------------------------------


def chat_message(part: Data, role: str) -> Data:
    """Return a part of a message of Pydantic AI as a message of a chat."""
    kind, content = part.get("part_kind"), part.get("content")
    call = {"tool_call_id": part.get("tool_call_id"), "name": part.get("tool_name")}
    if kind == "system-prompt":
        return {"role": "system", "content": content}
    if kind == "user-prompt":
        shown = content if isinstance(content, list) else [content]
        return {"role": role, "content": [_typed(one) for one in shown]}
    if kind == "tool-call":
        return {"role": role, "tool_calls": [{**call, "args": part.get("args")}]}
    if kind == "tool-return" or (kind == "retry-prompt" and call["name"]):
        failed = kind == "retry-prompt" or part.get("outcome", "success") != "success"
        return {"role": "tool", **call, "content": content, "is_error": failed}
    block: Data = {"type": f"{kind} of Pydantic AI"}  # "compaction" is a block of Anthropic too
    if kind in ("text", "retry-prompt", "retry-feedback"):
        block = {"type": "text", "text": content, "annotations": part.get("citations")}
    elif kind == "thinking":
        of_anthropic = part.get("provider_name") == "anthropic"
        block = _thought(content, part.get("signature") if of_anthropic else None)
    return {"role": role, "content": [block]}


def _typed(shown: Any) -> Any:
    if not isinstance(shown, dict):
        return shown
    if shown.get("kind") == "text-content":
        return shown.get("content")
    return {**shown, "type": shown.get("kind")}
