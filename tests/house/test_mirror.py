"""The mirror: promptforge/<package>/<module>.py has tests/unit/<package>/test_<module>.py.

A package with code in its `__init__.py` has test_<package>.py, promptforge itself test_public.py.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from places import PACKAGE, TESTS

UNIT = TESTS / "unit"
CODE = re.compile(r"^(?:async def|def|class) \w+[(:\[]", re.MULTILINE)
"""A function or class of a module: to parse all modules takes over a second."""
MODULES_WITHOUT = {
    "authoring/results.py": "compares for the command: unit/cli/test_diff.py",
    "cli/__init__.py": "starts the program: unit/cli/test_main.py",
    "cli/batch.py": "unit/batch/test_batch.py runs the command beside the function of the same work",
    "files/memory_file.py": "is read and written by unit/files/test_memory.py",
    "files/stores.py": "reads and writes for unit/batch/test_batch.py and sources/test_gather.py",
    "preview/app.py": "needs a server: unit/preview/test_auth.py and process/test_preview_*.py",
    "preview/render_worker.py": "works behind the session: unit/preview/test_session.py",
    "sandbox/worker.py": "is the other side of the sandbox: unit/sandbox/test_sandbox.py",
    "sources/office_parts.py": "is asked by sources/documents.py, whose tests build the files",
    "sources/intended.py": "tells for sources/test_piped.py, test_item_files.py and test_jobs.py",
    "sources/outputs.py": "refuses what unit/cli/test_overwriting.py tries to write",
    "sources/git.py": "runs git for changes and folders, whose tests use a real repository",
    "trimming/entry_reader.py": "reads for YAML, settings, tables and XML, each with its own tests",
}
"""Module without a file of its own → why, and where its tests are."""
TOPICS = {
    "test_engine.py": "the door, whose only function is hidden from type checkers",
    "cli/test_overwriting.py": "outputs over the inputs of the same run, of every command",
    "integrations/test_agent_recipes.py": "recipes of a guide, with packages of others",
    "integrations/test_comparison.py": "a comparison with frameworks",
    "integrations/test_messages_of_frameworks.py": "messages of three frameworks at once",
    "integrations/test_readme_of_bridges.py": "examples of a guide",
    "integrations/test_stores.py": "stores that run embedded, read by tables of `sources`",
    "prompts/test_chat_frames.py": "figures of the profiles against the libraries' own templates",
    "templating/test_template_editing.py": "the work of a template author, as the guide has it",
    "templating/test_translated_words.py": "the words of all layouts and of the engine",
    "tokenizers/test_estimates.py": "the table estimates.json and what counts by it",
    "tokenizers/test_families.py": "tokenizers of other packages, whatever module loads them",
}
"""File of tests that belongs to no one module → its topic."""


def modules() -> dict[str, str]:
    """Return each module that holds a function or class → its file of tests."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if not CODE.search(path.read_text(encoding="utf-8")):
            continue
        module = path.relative_to(PACKAGE)
        name = module.stem
        if name == "__init__":
            name = module.parent.name or "public"
        found[module.as_posix()] = (module.parent / f"test_{name}.py").as_posix()
    return found


def unit_files() -> dict[str, Path]:
    return {path.relative_to(UNIT).as_posix(): path for path in sorted(UNIT.rglob("test_*.py"))}


@pytest.mark.slow
def test_each_module_has_its_file_of_tests_or_a_reason() -> None:
    files = unit_files()
    without = {module for module, test in modules().items() if test not in files}
    assert without == {*MODULES_WITHOUT}, (
        "write the file of tests, or name the module and the reason in MODULES_WITHOUT; take out "
        "what has its file now"
    )
    assert len(without) <= 0.08 * len(modules())


def test_each_file_of_tests_has_its_module_or_a_topic() -> None:
    alone = {*unit_files()} - {*modules().values()}
    assert alone == {*TOPICS}, (
        "move the tests to the file of their module, or name the file and its topic in TOPICS"
    )


def test_no_two_files_of_tests_have_one_name() -> None:
    """Pytest imports each by its name alone."""
    names = [path.name for path in TESTS.rglob("test_*.py")]
    assert sorted(names) == sorted({*names})


@pytest.mark.parametrize("name", unit_files())
def test_a_file_of_tests_says_what_it_holds_and_has_tests(name: str) -> None:
    tree = ast.parse((UNIT / name).read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)
    assert any(
        isinstance(node, ast.FunctionDef) and node.name.startswith("test_") for node in tree.body
    )
