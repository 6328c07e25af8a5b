"""Definitions of tools are counted and stand in the request in each provider's own words."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

import promptforge as pf
from promptforge.prompts.providers import ShapeName

SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string", "description": "Path of the file."}},
    "required": ["path"],
}
NAMED = {"name": "read", "description": "Reads a file."}


@dataclasses.dataclass
class OfAgents:
    """A tool as OpenAI Agents keep it."""

    params_json_schema: dict[str, Any]
    name: str = "read"
    description: str = "Reads a file."


class Arguments:
    """The model of the arguments, as LangChain and LlamaIndex keep it."""

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        return SCHEMA


class OfLangChain:
    """A tool as LangChain keeps it."""

    name, description, args_schema = "read", "Reads a file.", Arguments


class OfLlamaIndex:
    """A tool as LlamaIndex keeps it."""

    class metadata:  # noqa: N801  its name there
        """Its definition."""

        name, description, fn_schema = "read", "Reads a file.", Arguments


WORDS: dict[str, Any] = {
    "openai": {"type": "function", "function": {**NAMED, "parameters": SCHEMA}},
    "openai-responses": {"type": "function", **NAMED, "parameters": SCHEMA, "strict": False},
    "anthropic": {**NAMED, "input_schema": SCHEMA},
    "gemini": {"function_declarations": [{**NAMED, "parameters_json_schema": SCHEMA}]},
    "bedrock": {"toolSpec": {**NAMED, "inputSchema": {"json": SCHEMA}}},
    "mcp": {**NAMED, "inputSchema": SCHEMA},
    "agents": OfAgents(SCHEMA),
    "langchain": OfLangChain(),
    "llama-index": OfLlamaIndex(),
}
TOS: list[ShapeName] = ["openai", "openai-responses", "anthropic", "gemini", "bedrock"]


def tools_of(prompt: pf.Prompt) -> list[Any]:
    request = prompt.request
    config = request.get("config") or request.get("toolConfig") or request
    found: list[Any] = config["tools"]
    return found


def check(prompt: pf.Prompt) -> None:
    """Check the tools against the types of the provider's library."""
    pydantic = pytest.importorskip("pydantic")
    library = {"openai-responses": "openai", "gemini": "google.genai", "bedrock": "botocore"}
    pytest.importorskip(library.get(prompt.to, prompt.to))
    found = tools_of(prompt)
    if prompt.to == "openai":
        from openai.types.chat import ChatCompletionToolParam as Declared
    elif prompt.to == "openai-responses":
        from openai.types.responses import FunctionToolParam as Declared  # type: ignore[assignment]
    elif prompt.to == "anthropic":
        from anthropic.types import ToolParam as Declared  # type: ignore[assignment]
    elif prompt.to == "gemini":
        from google.genai.types import GenerateContentConfig

        config = GenerateContentConfig.model_validate(prompt.request["config"])
        assert config.tools
        return
    else:
        from botocore.loaders import Loader
        from botocore.model import ServiceModel
        from botocore.validate import ParamValidator

        service = ServiceModel(Loader().load_service_model("bedrock-runtime", "service-2"))
        given = {"modelId": "some-model", **prompt.request}
        declared: Any = service.operation_model("Converse").input_shape
        assert not ParamValidator().validate(given, declared).has_errors()
        return
    pydantic.TypeAdapter(list[Declared]).validate_python(found, strict=True)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("to", TOS)
@pytest.mark.parametrize("words", WORDS)
def test_a_definition_in_any_words_is_written_in_those_of_the_shape(
    words: str, to: ShapeName
) -> None:
    prompt = pf.Renderer().prompt(user="q", tools=[WORDS[words]], to=to)
    assert tools_of(prompt) == [WORDS[to]]
    assert not [said for said in prompt.warnings if said.code != "PF501"]
    check(prompt)


def test_definitions_are_counted_within_the_window() -> None:
    tools = [
        {**NAMED, "name": f"tool_{n}", "input_schema": SCHEMA, "description": "Reads. " * 60}
        for n in range(40)
    ]
    renderer = pf.Renderer(context_window=8000, reserve=0)
    items = [{"content": f"Paragraph {n}. " + "word " * 200} for n in range(60)]
    bare = renderer.prompt(items, user="q", to="openai")
    made = renderer.prompt(items, user="q", tools=tools, to="openai")
    count = pf.get_tokenizer("o200k_base").count
    sent = sum(count(json.dumps(tool, ensure_ascii=False)) for tool in made.request["tools"])
    part = made.parts[0]
    assert (part.name, part.kept, part.dropped) == ("tools", 40, 0)
    assert sent <= part.tokens <= sent + 8 * 40
    assert made.tokens <= 8000 < part.tokens + bare.tokens
    assert made.context is not None and bare.context is not None
    assert 0 < made.context.tokens < bare.context.tokens - part.tokens + 400
    with pytest.raises(pf.BudgetError, match=r"tools [0-9,]+, overhead"):
        renderer.prompt(user="q", tools=tools, to="openai", context_window=2000)


def test_verify_gets_the_tools_too() -> None:
    seen: list[Any] = []

    def verify(request: dict[str, Any]) -> int:
        seen.append(request)
        return 100

    pf.Renderer(context_window=900).prompt(
        user="q", tools=[WORDS["mcp"]], to="anthropic", verify=verify
    )
    assert seen[0]["tools"] == [WORDS["anthropic"]]


@pytest.mark.parametrize(
    ("tool", "to"),
    [
        ({"type": "web_search_20250305", "name": "web_search", "max_uses": 5}, "anthropic"),
        ({"type": "web_search"}, "openai-responses"),
        ({"google_search": {}}, "gemini"),
    ],
)
def test_a_tool_that_its_provider_runs_goes_to_no_other(tool: Any, to: ShapeName) -> None:
    renderer = pf.Renderer()
    assert tools_of(renderer.prompt(user="q", tools=[tool], to=to)) == [tool]
    for other in set(TOS) - {to}:
        lost = renderer.prompt(user="q", tools=[tool], to=other)
        assert "tools" not in str(lost.request)
        assert ["cannot carry these tools" in said.message for said in lost.warnings][-1]
        assert (lost.parts[0].kept, lost.parts[0].dropped) == (0, 1)


def test_one_text_has_no_place_for_tools() -> None:
    prompt = pf.Renderer().prompt(user="q", tools=[WORDS["mcp"]])
    assert "PF118" in [said.code for said in prompt.warnings]
    assert prompt.tokens == pf.Renderer().prompt(user="q").tokens


@pytest.mark.parametrize(
    "wrong", [[{"description": "x", "parameters": {}}], [{}], [7], {"name": "x"}]
)
def test_a_definition_without_a_name_is_an_error(wrong: Any) -> None:
    with pytest.raises(pf.OptionError, match="tools"):
        pf.Renderer().prompt(user="q", tools=wrong, to="openai")


def test_a_function_in_the_place_of_a_definition_is_named_with_the_way_out() -> None:
    def read_log(n: int) -> str:
        return "log"

    said = r'tools\[1\]: found no definition in the function "read_log"; give its schema, such as'
    with pytest.raises(pf.OptionError, match=said):
        pf.Renderer().prompt(user="q", tools=[{"name": "f"}, read_log], to="openai")


def test_a_limit_of_the_whole_prompt() -> None:
    items = [{"content": f"Paragraph {n}. " + "word " * 200} for n in range(60)]
    renderer = pf.Renderer()
    made = renderer.prompt(items, user="q", max_prompt_tokens=3000)
    assert 2500 < made.tokens <= 3000 == made.window
    both = renderer.prompt(items, user="q", max_prompt_tokens=3000, context_window=2000, reserve=0)
    assert both.tokens <= 2000 == both.window
    with pytest.raises(pf.BudgetError, match=r"or raise max_prompt_tokens$"):
        renderer.prompt(user="word " * 500, max_prompt_tokens=100, context_window=9000)
