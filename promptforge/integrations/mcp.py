"""MCP server: tools to render and explain a context, and each layout as a prompt.

It opens no file for a client: clients send items and options, and the name of a file as tokenizer
or profile is refused. Only the operator names folders, when he starts the server.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Annotated, Any, TypedDict

import msgspec

from ..config.options import OPTION_VOCABULARY
from ..config.profiles import find_profiles
from ..errors import ItemError, OptionError, PromptForgeError, quote, suggest_name
from ..files import Folders, folder_paths
from ..model import Result
from ..rendering.renderer import ContextRenderer
from ..templating.loader import Templates
from ..tokenizers.registry import list_tokenizers
from .bridge import missing_extra

try:
    from mcp import MCPError
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.types import INVALID_PARAMS
    from pydantic import Field
except ImportError as error:
    raise missing_extra("mcp", error) from error

MAX_REQUEST_CHARS = 32 << 20
"""Characters of all texts in one request; more are refused."""
_INSTRUCTIONS = """Give code, documents and search results as items. Get one context text of at most
max_tokens, counted exactly, with every item escaped. explain says why an item is missing."""


class RenderedContext(TypedDict):
    """A context text and its figures."""

    text: str
    tokens: int
    max_tokens: int | None
    exact: bool
    items_included: int
    items_trimmed: int
    items_dropped: int
    warnings: list[str]


class Explained(TypedDict):
    """Status and reason of each item, and the spending of the budget."""

    tokens: int
    max_tokens: int | None
    items: list[dict[str, Any]]
    explanation: dict[str, Any]
    ways: list[dict[str, Any]]
    warnings: list[str]


class Listed(TypedDict):
    """All names and options to choose from."""

    layouts: list[dict[str, Any]]
    profiles: list[dict[str, str]]
    tokenizers: list[dict[str, str]]
    options: list[dict[str, Any]]


_ITEM_KEYS = "kind, path, start_line, end_line, name, language, score, summary, required, metadata"
Items = Annotated[
    list[dict[str, Any]], Field(description=f"Objects with content, and optionally {_ITEM_KEYS}.")
]
Query = Annotated[str | None, Field(description="A question; it chooses items and passages.")]
Budget = Annotated[int | None, Field(description="The most tokens that the text may cost.", ge=0)]
Name = Annotated[str | None, Field(description="A name, as list_layouts gives it.")]
OtherOptions = Annotated[
    dict[str, Any] | None, Field(description="Other options by name; list_layouts lists them.")
]
ItemsText = Annotated[str, Field(description="A JSON array of objects with content, path, kind, …")]
QueryText = Annotated[str, Field(description="The question.")]
BudgetText = Annotated[str, Field(description="The most tokens that the context may cost.")]
FormatText = Annotated[str, Field(description="markdown, xml, json or plain.")]


class _Server(MCPServer):
    """A server that refuses unknown arguments, which the library would drop without a word."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        for tool in await self.list_tools():
            if tool.name == name:
                _refuse_unknown(arguments, tool.input_schema.get("properties", {}), ToolError)
        return await super().call_tool(name, arguments, context)

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Any = None
    ) -> Any:
        for prompt in await self.list_prompts():
            if prompt.name == name:
                known = [argument.name for argument in prompt.arguments or ()]
                _refuse_unknown(arguments or {}, known, _invalid)
        return await super().get_prompt(name, arguments, context)


def _refuse_unknown(
    given: Iterable[str], known: Collection[str], make_error: Callable[[str], Exception]
) -> None:
    for name in given:
        if name not in known:
            hint = suggest_name(name, known)
            if "options" in known and name in OPTION_VOCABULARY:
                hint = "; it is one of the options: {...}"
            raise make_error(f"there is no argument {quote(name)}{hint}")


def _invalid(message: str) -> MCPError:
    return MCPError(INVALID_PARAMS, message)


def make_mcp_server(
    *,
    profile: str | None = None,
    templates: Folders = None,
    profiles: Folders = None,
    allow_outside: bool = False,
    **options: Any,
) -> MCPServer:
    """Build a server; `profile`, the folders and the options are defaults for its requests.

    Raises `OptionError`, `ProfileError`, `TemplateError`.
    """
    for name, value in options.items():
        OPTION_VOCABULARY.check(name, value)
    made_of: Any = {"profile": profile, "templates": templates, "profiles": profiles}
    renderer = ContextRenderer(**made_of, allow_outside=allow_outside, **options)
    folders = folder_paths(profiles)
    found = Templates(folder_paths(templates))

    def render(items: Any, wanted: Mapping[str, Any]) -> Result:
        checked = {name: _checked(name, value) for name, value in wanted.items()}
        if "profile" in checked:
            known = [name for name, _, _ in find_profiles(folders)]
            if checked["profile"] not in known:
                raise OptionError(f"profile takes one of {', '.join(known)}", option="profile")
        _check_size(items)
        return renderer.render(items, **checked)

    def list_layouts() -> Listed:
        """List layouts with their formats, profiles, tokenizers and all options."""
        layouts = [
            {"name": n, "description": found.settings(n).description, "formats": found.formats(n)}
            for n in found.layouts()
        ]
        return Listed(
            layouts=layouts,
            profiles=[{"name": n, "description": about} for n, about, _ in find_profiles(folders)],
            # A colon: the start of a file's name, which no client may give.
            tokenizers=[
                {"name": n, "description": about} for n, about in list_tokenizers() if ":" not in n
            ],
            options=[
                {"name": rule.name, "takes": rule.takes, "description": rule.doc}
                for rule in OPTION_VOCABULARY.rules.values()
            ],
        )

    server = _Server("promptforge", instructions=_INSTRUCTIONS, log_level="WARNING")
    server.tool()(_tool(_rendered, "render_context", render))
    server.tool()(_tool(_explained, "explain", render))
    server.tool()(list_layouts)
    for name in found.layouts():
        prompt = _prompt(name, render)
        server.prompt(name=name, description=found.settings(name).description)(prompt)
    return server


def _tool(
    show: Callable[[Result], Any], name: str, render: Callable[[Any, Mapping[str, Any]], Result]
) -> Callable[..., Any]:
    """Build the tool `name`: it renders, then returns `show(result)`, which lends its docstring."""

    def tool(
        items: Items,
        query: Query = None,
        max_tokens: Budget = None,
        layout: Name = None,
        format: Name = None,
        profile: Name = None,
        options: OtherOptions = None,
    ) -> Any:
        named = {"query": query, "max_tokens": max_tokens, "layout": layout, "format": format}
        try:
            return show(render(items, _merged({**named, "profile": profile}, options or {})))
        except PromptForgeError as error:
            raise ToolError(str(error)) from None

    tool.__name__, tool.__doc__ = name, show.__doc__
    tool.__annotations__["return"] = show.__annotations__["return"]
    return tool


def _merged(named: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    wanted = {name: value for name, value in named.items() if value is not None}
    for name in wanted.keys() & options.keys():
        message = f"{name} is an argument and among the options; say it once"
        raise OptionError(message, option=name)
    return wanted | options


def _rendered(result: Result) -> RenderedContext:
    """Turn items into one context text for an LLM that costs at most max_tokens."""
    facts = {name: getattr(result, name) for name in RenderedContext.__annotations__}
    return msgspec.convert({**facts, "warnings": list(map(str, result.warnings))}, RenderedContext)


def _explained(result: Result) -> Explained:
    """Explain each item: in the text, shortened or left out, why, its cost, the budget it fits."""
    rows = [msgspec.to_builtins(item) for item in result.items]
    return Explained(
        tokens=result.tokens,
        max_tokens=result.max_tokens,
        items=[{name: value for name, value in row.items() if name != "text"} for row in rows],
        explanation=msgspec.to_builtins(result.explain()),
        ways=msgspec.to_builtins(list(result.remedies())),
        warnings=list(map(str, result.warnings)),
    )


def _prompt(layout: str, render: Callable[[Any, Mapping[str, Any]], Result]) -> Callable[..., str]:
    def prompt(
        items: ItemsText,
        query: QueryText = "",
        max_tokens: BudgetText = "",
        format: FormatText = "",
    ) -> str:
        wanted: dict[str, Any] = {"query": query, "max_tokens": max_tokens, "format": format}
        # Arguments of prompts are texts; one that is no number is refused where options are.
        if re.fullmatch("[0-9]{1,18}", max_tokens):
            wanted["max_tokens"] = int(max_tokens)
        wanted = {name: value for name, value in wanted.items() if value != ""}
        try:
            result = render(_records(items), {**wanted, "layout": layout})
        except PromptForgeError as error:
            raise _invalid(str(error)) from None
        return f"{result.text}\n\n{query}" if query else result.text

    return prompt


def _records(text: str) -> Any:
    if len(text) > MAX_REQUEST_CHARS:
        raise ItemError(f"more than {MAX_REQUEST_CHARS:,} characters", where="items")
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError) as error:
        raise ItemError(f"not JSON: {error}", where="items") from None


def _checked(name: str, value: Any) -> Any:
    if name == "profile":  # its name is looked up by `render`
        return value
    checked = OPTION_VOCABULARY.check(name, value)
    if name == "tokenizer" and (not isinstance(checked, str) or checked.startswith("file:")):
        raise OptionError("tokenizer takes a name here, and no file", option="tokenizer")
    return checked


def _check_size(items: Any) -> None:
    """Raise `ItemError` for more text than one request may bring."""
    left = MAX_REQUEST_CHARS
    waiting = [items]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            left -= len(value)
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        if left < 0:
            raise ItemError(f"more than {MAX_REQUEST_CHARS:,} characters", where="items")
