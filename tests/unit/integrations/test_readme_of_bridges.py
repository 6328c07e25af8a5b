"""The examples of the bridges' README are run; what it lists is what there is."""

from __future__ import annotations

import json
import re
import tomllib

import pytest
from bridge_examples import EXAMPLES, README, is_there
from places import ROOT

from promptforge.cli.main import COMMANDS

LIBRARIES = {
    "langchain": "langchain_core",
    "langchain_agents": "langchain.agents",
    "prompts": "promptforge",
}


@pytest.mark.parametrize(
    ("bridge", "body"),
    [
        pytest.param(name, body, id=f"{n}-{name}", marks=[pytest.mark.slow] * (name == "mcp"))
        for n, (name, body) in enumerate(EXAMPLES)
    ],
)
def test_each_example_runs(bridge: str, body: str) -> None:
    library = LIBRARIES.get(bridge, bridge)
    if not is_there(library):
        pytest.skip(f"needs {library}: pip install '.[test-all]'")
    exec(compile(body, f"<{bridge}>", "exec"), {})


def test_every_block_of_python_is_an_example_and_the_others_can_be_read() -> None:
    # A model is nothing that a test can have, so those examples are only read.
    needy = re.findall(
        r"^<!-- needs a model -->\n```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE
    )
    for body in needy:
        compile(body, "<needs a model>", "exec")
    assert len(EXAMPLES) + len(needy) == README.count("```python\n")
    for settings in re.findall(r"^```json\n(.*?)^```$", README, re.DOTALL | re.MULTILINE):
        (server,) = json.loads(settings)["mcpServers"].values()
        assert server["args"][0] in COMMANDS
    (points,) = re.findall(r"^```toml\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    assert tomllib.loads(points)["project"]["entry-points"]["promptforge.tokenizers"]


def test_every_extra_is_there() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    (said,) = re.findall(r"^Each bridge .*", README, re.MULTILINE)
    named = set(re.findall(r"\[([a-z-]+)\]|`([a-z-]+)`", said))
    bridges = {"langchain", "langchain-agents", "llama-index", "haystack", "mcp"}
    assert {"".join(names) for names in named} == bridges <= set(extras)
