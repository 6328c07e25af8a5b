"""Cost of starting: help and imports load no library of the engine, and no vocabulary."""

from __future__ import annotations

import json

import pytest
from commandline import python

HEAVY = {"jinja2", "msgspec", "tiktoken", "tokenizers", "yaml"}

WATCH = """
import json, sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
sys.stdout = open(__import__("os").devnull, "w")
{body}
print(json.dumps([sorted(sys.modules), opened]), file=sys.stderr)
"""
MAIN = """
from promptforge.cli.main import main
try:
    main({arguments!r})
except SystemExit as done:
    assert not done.code, done.code
"""


def watch(body: str, stdin: bytes = b"") -> tuple[set[str], list[str]]:
    """Run `body` in a fresh interpreter; return the loaded modules and the opened files."""
    ran = python("-c", WATCH.replace("{body}", body), stdin=stdin)
    assert ran.code == 0, ran.err
    modules, opened = json.loads(ran.err.splitlines()[-1])
    return set(modules), opened


def run(*arguments: str, stdin: bytes = b"") -> tuple[set[str], list[str]]:
    return watch(MAIN.format(arguments=list(arguments)), stdin)


def vocabularies(opened: list[str]) -> list[str]:
    return [path for path in opened if "_vocab" in path and path.endswith(".bin")]


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["-h"]])
def test_help_and_version_load_no_heavy_library(arguments: list[str]) -> None:
    modules, opened = run(*arguments)
    assert not modules & {*HEAVY, "email", "importlib.metadata"}
    assert not vocabularies(opened)


def test_an_import_loads_no_heavy_library() -> None:
    modules, opened = watch("import promptforge")
    assert not modules & {*HEAVY, "click"}
    assert not vocabularies(opened)


def test_errors_can_be_caught_without_the_engine() -> None:
    modules, _ = watch("import promptforge\npromptforge.PromptForgeError")
    assert not modules & {*HEAVY, "click"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["render", "--help"],
        ["prompt", "--help"],
        ["count", "--help"],
        ["list"],
        ["show", "claude"],
        ["schema"],
    ],
)
def test_no_vocabulary_is_loaded_where_nothing_is_counted(arguments: list[str]) -> None:
    modules, opened = run(*arguments)
    assert not modules & {"tiktoken", "tokenizers"}
    assert not vocabularies(opened)


@pytest.mark.parametrize("command", ["count", "render"])
def test_counting_loads_one_vocabulary(command: str) -> None:
    stdin = b"some words" if command == "count" else b'{"content": "some words"}'
    modules, opened = run(command, stdin=stdin)
    # A small text is counted by lookups: tiktoken would take longer than all the rest.
    assert not modules & {"tokenizers", "tiktoken"}
    assert len(set(vocabularies(opened))) == 1


def test_no_network_library_is_loaded_by_a_rendering() -> None:
    modules, _ = run("render", stdin=b'{"content": "some words"}')
    assert not modules & {"http.client", "requests", "httpx", "urllib3", "ssl"}
