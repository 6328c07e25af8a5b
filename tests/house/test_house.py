"""Plain words, one meaning each: names of modules and classes, and how docstrings speak."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from module_trees import nodes_of, tree_of
from places import PACKAGE

MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "_vocab" not in path.parts)
ROUNDABOUT = re.compile(r"\b(?:of which|whose|whoever)\b", re.IGNORECASE)
"""Words that make a reader hold half a sentence in mind. Say it as subject, verb, object."""
NO_BEGINNING = re.compile(r"(?:What|How|Which|Whether)\b")
RETIRED_WORDS = {
    *(
        "charge",
        "crew",
        "desk",
        "guest",
        "guests",
        "joint",
        "joints",
        "ladder",
        "ledger",
        "rung",
        "rungs",
    ),
    *("twin", "twins", "wall"),
}
"""Words of the first edition; .github/CONTRIBUTING.md has the dictionary."""


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each docstring of a module, those of attributes too."""
    for node in nodes_of(path):
        if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
            continue
        if isinstance(node.value.value, str):
            yield node.lineno, node.value.value


def identifiers(tree: ast.AST) -> Iterator[str]:
    """Yield the names a module gives: classes, functions, parameters, variables, attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def words(identifier: str) -> set[str]:
    """Return the words of a name in lower case: `FreeWord` and `free_word` give `free`, `word`."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", identifier)}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_docstrings_speak_plainly(path: Path) -> None:
    found = list(docstrings(path))
    wrong = [line for line, text in found if NO_BEGINNING.match(text) or ROUNDABOUT.search(text)]
    assert not wrong, "say it in sentences of subject, verb, object; begin with the thing or a verb"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_name_has_a_retired_word(path: Path) -> None:
    names = set(identifiers(tree_of(path)))
    assert not {name for name in names if words(name) & RETIRED_WORDS}


def test_no_two_modules_share_a_name() -> None:
    names = Counter(p.name for p in MODULES if p.name not in {"__init__.py", "__main__.py"})
    assert not {name for name, number in names.items() if number > 1}


@pytest.mark.slow
def test_no_two_public_classes_share_a_name() -> None:
    classes = Counter(
        node.name
        for path in MODULES
        for node in tree_of(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert not {name for name, number in classes.items() if number > 1}


def test_the_guide_names_files_and_functions_that_are_there() -> None:
    guide = (PACKAGE.parent / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")
    files = set(re.findall(r"`((?:promptforge/|tests/)?[a-z_]+/[a-z_/]+\.py)`", guide))
    assert not {name for name in files if not _file(name).is_file()}
    steps = re.findall(r"(?m)^\| .* \| `([\w/]+\.py)` \| (.*) \|$", guide)
    assert len(steps) > 5
    for name, functions in steps:
        code = _file(name).read_text(encoding="utf-8")
        for function in re.findall(r"`(?:\w+\.)?(\w+)`", functions):
            assert re.search(rf"(?:def|class) {function}\b", code), f"{name} has no {function}"


def _file(name: str) -> Path:
    in_package = PACKAGE / name
    return in_package if in_package.is_file() else PACKAGE.parent / name


def test_every_extra_that_is_named_is_there() -> None:
    root = PACKAGE.parent
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pages = [*MODULES, *root.glob("*.md"), *root.glob("[pt]*/**/*.md"), *root.glob(".github/*.md")]
    named = re.compile(r"\bextra `([\w-]+)`|'(?:\.|promptforge-engine)\[([\w,-]+)\]'")
    for page in pages:
        for names in named.findall(page.read_text(encoding="utf-8")):
            wrong = set("".join(names).split(",")) - project["optional-dependencies"].keys()
            assert not wrong, f"{page.name}: {wrong}"


def test_the_proofs_of_security_are_there() -> None:
    root = PACKAGE.parent
    page = (root / ".github" / "SECURITY.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+\.py)`", page))
    assert len(named) > 20
    assert not named - {path.name for path in root.glob("tests/**/test_*.py")}
    campaigns = {path.stem for path in root.glob("tests/campaigns/*.py")}
    assert {"items", "budgets", "disguises", "templates"} <= campaigns


def test_the_diffs_of_the_guide_are_lines_of_the_files() -> None:
    root = PACKAGE.parent
    guide = (root / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")
    diffs = re.findall(r"^```diff\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL)
    assert len(diffs) == 2
    gone, lines = [], set[str]()
    for row in "".join(diffs).splitlines():
        if row.startswith("+++ "):
            lines = set((root / row.removeprefix("+++ ")).read_text("utf-8").splitlines())
        elif row.removeprefix("+") not in lines:
            gone.append(row)
    assert not gone, "show what the files say now"
