"""MCP server: tools to render and explain a context, and each layout as a prompt.

It opens no file for a client: clients send items and options, and the name of a file as tokenizer
or profile is refused. Only the operator names folders, when he starts the server.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
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


Items = Annotated[
    list[dict[str, Any]],
    Field(
        description="Objects with content, and optionally kind, path, start_line, end_line, name, "
        "language, score, summary, required, metadata."
    ),
]

Query = Annotated[
    str | None, Field(description="What is asked: items and passages are chosen by it.")
]

Budget = Annotated[int | None, Field(description="The most tokens that the text may cost.", ge=0)]

Word = Annotated[str | None, Field(description="A name, as list_layouts gives it.")]

Others = Annotated[
    dict[str, Any] | None,
    Field(description="Any other option by its name; list_layouts lists them."),
]


class _Server(MCPServer):
    """A server that refuses unknown arguments, which the library would drop without a word."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        for tool in await self.list_tools():
            if tool.name == name and (
                wrong := _unknown(arguments, tool.input_schema.get("properties", {}))
            ):
                raise ToolError(wrong)
        return await super().call_tool(name, arguments, context)

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Any = None
    ) -> Any:
        for prompt in await self.list_prompts():
            known = [argument.name for argument in prompt.arguments or ()]
            if prompt.name == name and (wrong := _unknown(arguments or {}, known)):
                raise MCPError(INVALID_PARAMS, wrong)
        return await super().get_prompt(name, arguments, context)


def _unknown(given: Iterable[str], known: Collection[str]) -> str | None:
    """Return an error message for the first unknown argument, None without any."""
    for name in given:
        if name not in known:
            hint = suggest_name(name, known)
            if "options" in known and name in OPTION_VOCABULARY:
                hint = "; it is one of the options: {...}"
            return f"there is no argument {quote(name)}{hint}"
    return None


def make_mcp_server(
    *,
    profile: str | None = None,
    templates: Folders = None,
    profiles: Folders = None,
    **options: Any,
) -> MCPServer:
    """Build a server; `profile`, the folders and the options are defaults for its requests.

    Raises `OptionError`, `ProfileError`, `TemplateError`.
    """
    for name, value in options.items():
        OPTION_VOCABULARY.check(name, value)
    renderer = ContextRenderer(profile=profile, templates=templates, profiles=profiles, **options)
    folders = folder_paths(profiles)

    def render(
        items: Any,
        query: Any,
        max_tokens: Any,
        layout: Any,
        format: Any,
        profile: Any,
        others: Any,
    ) -> Result:
        named = {"query": query, "max_tokens": max_tokens, "layout": layout, "format": format}
        wanted = {name: value for name, value in named.items() if value is not None}
        for name in wanted.keys() & (others or {}).keys():
            raise OptionError(
                f"{name} is an argument and among the options; say it once", option=name
            )
        checked = {
            name: _checked(name, value) for name, value in {**wanted, **(others or {})}.items()
        }
        _weigh(items)
        if profile is not None:
            known = [name for name, _, _ in find_profiles(folders)]
            if profile not in known:
                raise OptionError(f"profile takes one of {', '.join(known)}", option="profile")
            return renderer.render(items, profile=profile, **checked)
        return renderer.render(items, **checked)

    found = Templates(folder_paths(templates))

    def list_layouts() -> Listed:
        """List layouts with their formats, profiles, tokenizers and all options."""
        return Listed(
            layouts=[
                {
                    "name": name,
                    "description": found.settings(name).description,
                    "formats": found.formats(name),
                }
                for name in found.layouts()
            ],
            profiles=[
                {"name": name, "description": about} for name, about, _ in find_profiles(folders)
            ],
            tokenizers=[
                {"name": name, "description": about}
                for name, about in list_tokenizers()
                if ":" not in name
            ],
            options=[
                {"name": rule.name, "takes": rule.takes, "description": rule.doc}
                for rule in OPTION_VOCABULARY.rules.values()
            ],
        )

    made = _Server("promptforge", instructions=_INSTRUCTIONS, log_level="WARNING")
    for tool in (
        _tool(_rendered, "render_context", render),
        _tool(_explained, "explain", render),
        list_layouts,
    ):
        made.tool()(tool)
    for name in found.layouts():
        made.prompt(name=name, description=found.settings(name).description)(_prompt(name, render))
    return made


def _tool(
    show: Callable[[Result], Any], name: str, render: Callable[..., Result]
) -> Callable[..., Any]:
    """Build the tool `name`: it renders, then returns `show(result)`, which lends its docstring."""

    def tool(
        items: Items,
        query: Query = None,
        max_tokens: Budget = None,
        layout: Word = None,
        format: Word = None,
        profile: Word = None,
        options: Others = None,
    ) -> Any:
        return show(
            _told(lambda: render(items, query, max_tokens, layout, format, profile, options))
        )

    tool.__name__, tool.__doc__ = name, show.__doc__
    tool.__annotations__["return"] = show.__annotations__["return"]
    return tool


def _rendered(result: Result) -> RenderedContext:
    """Turn items into one context text for an LLM that costs at most max_tokens."""
    return RenderedContext(
        text=result.text,
        tokens=result.tokens,
        max_tokens=result.max_tokens,
        exact=result.exact,
        items_included=result.items_included,
        items_trimmed=result.items_trimmed,
        items_dropped=result.items_dropped,
        warnings=_warnings(result),
    )


def _explained(result: Result) -> Explained:
    """Explain each item: in the text, shortened or left out, why, its cost, the budget it fits."""
    rows = [msgspec.to_builtins(item) for item in result.items]
    return Explained(
        tokens=result.tokens,
        max_tokens=result.max_tokens,
        items=[{name: value for name, value in row.items() if name != "text"} for row in rows],
        explanation=msgspec.to_builtins(result.explain()),
        ways=msgspec.to_builtins(list(result.remedies())),
        warnings=_warnings(result),
    )


def _prompt(layout: str, render: Callable[..., Result]) -> Callable[..., str]:
    def prompt(
        items: Annotated[
            str,
            Field(description="A JSON array of objects with content, path, kind, …"),
        ],
        query: Annotated[str, Field(description="What is asked.")] = "",
        max_tokens: Annotated[
            str, Field(description="The most tokens that the context may cost.")
        ] = "",
        format: Annotated[str, Field(description="markdown, xml, json or plain.")] = "",
    ) -> str:
        try:
            # Arguments of prompts are texts; one that is no number is refused where options are.
            most: Any = max_tokens or None
            if re.fullmatch("[0-9]{1,18}", max_tokens):
                most = int(max_tokens)
            result = render(
                _records(items), query or None, most, layout, format or None, None, None
            )
        except PromptForgeError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from None
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
    checked = OPTION_VOCABULARY.check(name, value)
    if name == "tokenizer" and (not isinstance(checked, str) or checked.startswith("file:")):
        raise OptionError("tokenizer takes a name here, and no file", option="tokenizer")
    return checked


def _weigh(items: Any) -> None:
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


def _told(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except PromptForgeError as error:
        raise ToolError(str(error)) from None


def _warnings(result: Result) -> list[str]:
    return list(map(str, result.warnings))
