"""Definitions of tools: read in the words of any provider or framework, and written for one.

A definition goes back to its own family as it came. A tool that a provider runs itself, such as a
search of the web, goes to its own family alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ..errors import OptionError, quote, show_value
from .libraries import Dumper, inner
from .providers import ShapeName

Data = dict[str, Any]
# Fields of the objects of frameworks that hold the JSON Schema of the arguments.
_SCHEMAS = (
    *("input_schema", "inputSchema", "parameters", "parametersJsonSchema"),
    *("parameters_json_schema", "params_json_schema", "tool_call_schema", "args_schema"),
    "fn_schema",
)
_DECLARATIONS = ("function_declarations", "functionDeclarations")
# Anthropic dates the types of the tools that it defines.
_DATED = re.compile(r".*_\d{8}")


class Tool(NamedTuple):
    """The definition of one tool."""

    name: str
    about: str
    parameters: Data
    """A JSON Schema of its arguments."""
    family: str = ""
    """The family that it came from; empty for none."""
    original: Data | None = None
    hosted: bool = False
    """True if its provider runs it, so that no other one can."""


def read_tools(tools: Iterable[Any]) -> list[Tool]:
    """Read definitions in the words of a provider or of MCP, or objects of a framework.

    Raises `OptionError` for one without a name.
    """
    if isinstance(tools, str | bytes | Mapping) or not isinstance(tools, Iterable):
        raise OptionError(f"tools takes a list; got {show_value(tools)}", option="tools")
    return [tool for n, given in enumerate(tools) for tool in _read(given, f"tools[{n}]")]


def _read(given: Any, where: str) -> Iterator[Tool]:
    data = _as_data(given)
    kind = data.get("type")
    if isinstance(data.get("toolSpec"), dict):
        own = data["toolSpec"]
        yield _tool(own, inner(inner(own, "inputSchema"), "json"), where, "bedrock", data)
    elif declared := next((data[key] for key in _DECLARATIONS if data.get(key)), None):
        for one in declared:
            yield _tool(one, _schema_of(one), where, "gemini", one)
    elif isinstance(data.get("function"), dict):
        yield _tool(data["function"], _schema_of(data["function"]), where, "openai", data)
    elif (
        data.get("type") in ("function", "custom") and "name" in data and "input_schema" not in data
    ):
        yield _tool(data, _schema_of(data), where, "openai-responses", data)
    elif "name" in data and (_schema_of(data) or "type" not in data):
        family = "anthropic" if "input_schema" in data else ""
        yield _tool(data, _schema_of(data), where, family, data)
    elif isinstance(kind, str):
        family = "openai-responses"
        if _DATED.fullmatch(kind):
            family = "anthropic"
        yield Tool(str(data.get("name", kind)), "", {}, family, data, hosted=True)
    elif len(data) == 1:
        yield Tool(next(iter(data)), "", {}, "gemini", data, hosted=True)
    else:
        raise _no_definition(given, where)


def _no_definition(given: Any, where: str) -> OptionError:
    shown = show_value(given)
    if callable(given):
        shown = f"the function {quote(getattr(given, '__name__', ''))}"
    message = f"{where}: found no definition in {shown}; give its schema, such as"
    message += ' {"name": …, "description": …, "parameters": …}, or a tool of a framework'
    return OptionError(message, option="tools")


def _as_data(given: Any) -> Data:
    if not isinstance(given, Mapping):
        given = getattr(given, "metadata", None) or given  # LlamaIndex: beside the function
        fields = {name: getattr(given, name, None) for name in ("name", "description", *_SCHEMAS)}
        schemas = [name for name in _SCHEMAS if isinstance(fields[name], type | Mapping)]
        if schemas or not hasattr(given, "model_dump"):
            kept = ("name", "description", *schemas[:1])
            given = {name: fields[name] for name in kept if fields[name]}
    if isinstance(given, Mapping):
        given = dict(given)
    data: Data = Dumper().dump(given)
    # A framework may keep the model of the arguments in the place of its schema.
    return {
        key: value.model_json_schema() if hasattr(value, "model_json_schema") else value
        for key, value in data.items()
    }


def _schema_of(data: Data) -> Data:
    return next((data[key] for key in _SCHEMAS if isinstance(data.get(key), dict)), {})


def _tool(data: Data, parameters: Data, where: str, family: str, original: Data) -> Tool:
    name, about = data.get("name"), data.get("description")
    if not isinstance(name, str) or not name:
        raise OptionError(f"{where}: the definition has no name", option="tools")
    return Tool(name, about if isinstance(about, str) else "", parameters, family, original)


def _named(tool: Tool, key: str, *, wrapped: bool = False) -> Data:
    made: Data = {"name": tool.name}
    if tool.about:
        made["description"] = tool.about
    schema = tool.parameters or _NO_ARGUMENTS
    return {**made, key: {"json": schema} if wrapped else schema}


_NO_ARGUMENTS = {"type": "object", "properties": {}}
_WRITERS: Mapping[str, Callable[[Tool], Data]] = {
    "openai": lambda tool: {"type": "function", "function": _named(tool, "parameters")},
    "openai-responses": lambda tool: {
        "type": "function",
        **_named(tool, "parameters"),
        "strict": False,
    },
    "anthropic": lambda tool: _named(tool, "input_schema"),
    "gemini": lambda tool: _named(tool, "parameters_json_schema"),
    "bedrock": lambda tool: {"toolSpec": _named(tool, "inputSchema", wrapped=True)},
}


class ToolSet(NamedTuple):
    """The definitions of one prompt, as its shape takes them."""

    request: Data
    """The keywords of the call; those in `config` and the like are merged."""
    texts: list[str]
    """Each definition as JSON, to be counted."""
    lost: list[str]
    """The names of tools that the shape cannot carry."""

    def add_to(self, request: Data) -> Data:
        """Return a request with these tools."""
        made = {**request, **self.request}
        if "config" in self.request:
            made["config"] = {**request.get("config", {}), **self.request["config"]}
        return made


def write_tools(to: ShapeName, tools: Iterable[Tool]) -> ToolSet:
    """Write the definitions in the words of a shape."""
    family = "openai" if to == "roles" else to
    write = _WRITERS.get(family)
    written, hosted, lost = [], [], []
    for tool in tools:
        own = tool.original if tool.family == family else None
        if write is None or (tool.hosted and own is None):
            lost.append(tool.name)
        elif tool.hosted and own is not None:
            hosted.append(own)
        else:
            written.append(own or write(tool))
    made: Any = [*written, *hosted]
    texts = [json.dumps(one, ensure_ascii=False, default=str) for one in made]
    if not made:
        return ToolSet({}, texts, lost)
    if to == "gemini":
        declared = [{"function_declarations": written}] if written else []
        return ToolSet({"config": {"tools": [*declared, *hosted]}}, texts, lost)
    if to == "bedrock":
        return ToolSet({"toolConfig": {"tools": made}}, texts, lost)
    return ToolSet({"tools": made}, texts, lost)
