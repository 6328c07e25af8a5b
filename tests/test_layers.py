"""Rows of modules: each imports only from rows above it, and each library has one door."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "promptforge"
# A folder is one entry: its files may import each other. A new module is placed in the highest row below what it needs.
ROWS = [
    "safe",
    "_shipped boundaries diagnostics escaping explanations folders framing items recent writing",
    "controls enclosing errors results wording",
    "plugins",
    "cleaning counting fitting joints merging template_files trimming verdict yamltext",
    "answers bounds comparing fencing grouping rules tokenizers trust twins wall",
    "sources",
    "_vocab options templating",
    "layouts looks profiles selection tokens",
    "calibration codes passages remote shortening tagging templates",
    "drafts following views",
    "page project",
    "explaining mapping planning",
    "returns",
    "ways",
    "ledger",
    "accounts",
    "stages",
    "rendering",
    "guests pictures prompting",
    "batch checking golden integrations",
    "preview",
    "__init__",
    "commands",
    "cli",
    "__main__",
]
ROW = {name: number for number, row in enumerate(ROWS) for name in row.split()}
DOORS = {
    "click": {"cli", "commands"},
    "haystack": {"integrations"},
    "identify": {"sources"},
    "jinja2": {"checking", "looks", "templates", "templating"},
    "langchain_core": {"integrations"},
    "llama_index": {"integrations"},
    "markdown_it": {"trimming"},
    "markupsafe": set(),
    "mcp": {"integrations"},
    "pathspec": {"selection", "sources"},
    "tiktoken": {"tokens"},
    "starlette": {"preview"},
    "tokenizers": {"tokens"},
    "tree_sitter": {"trimming"},
    "uvicorn": {"preview"},
    "watchfiles": {"preview"},
    "yaml": {"yamltext"},
}
PURE = [
    *(
        "answers",
        "bounds",
        "cleaning",
        "comparing",
        "controls",
        "enclosing",
        "escaping",
        "fencing",
        "fitting",
        "grouping",
    ),
    *("joints", "merging", "selection", "trimming", "twins", "wording"),
]
IMPURE = {
    "asyncio",
    "datetime",
    "io",
    "os",
    "pathlib",
    "random",
    "secrets",
    "socket",
    "subprocess",
    "sys",
    "time",
}
MODULES = sorted(PACKAGE.rglob("*.py"))


def place(path: Path) -> str:
    """Return the entry of the rows that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def imports(path: Path) -> tuple[str, ...]:
    """Return what a module imports, late imports too, those for type checkers not; its own as `promptforge.x.y`."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    package = ["promptforge", *path.relative_to(PACKAGE).parent.parts]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {id(n) for t in ast.walk(tree) if _is_typing_only(t) for n in ast.walk(t)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and id(node) not in typing_only:
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            if node.module and stem != "promptforge":
                yield stem
            else:
                yield from (f"{stem}.{alias.name}" for alias in node.names)


def _is_typing_only(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
    )


def own(path: Path) -> set[str]:
    """Return the entries of the rows that a file imports from, its own left out."""
    found = {name.split(".")[1] for name in imports(path) if name.startswith("promptforge.")}
    return found - {place(path), "__version__"}


def test_every_module_has_its_row() -> None:
    assert {place(path) for path in MODULES} == set(ROW), "place the module in a row of this file"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_from_rows_above(path: Path) -> None:
    wrong = {name for name in own(path) if ROW[name] >= ROW[place(path)]}
    assert not wrong


def test_a_library_is_imported_only_at_its_door() -> None:
    seen: dict[str, set[str]] = {name: set() for name in DOORS}
    for path in MODULES:
        for name in _libraries(path) & seen.keys():
            seen[name].add(place(path))
    assert seen == DOORS


def _libraries(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imports(path)}


@pytest.mark.parametrize("name", PURE)
def test_a_pure_module_reaches_for_nothing_outside(name: str) -> None:
    paths = [path for path in MODULES if place(path) == name]
    assert paths
    assert not set().union(*map(_libraries, paths)) & IMPURE


def test_there_is_no_cycle_among_files() -> None:
    names = {
        ".".join(["promptforge", *path.relative_to(PACKAGE).with_suffix("").parts]): path
        for path in MODULES
    }
    graph = {}
    for name, path in names.items():
        needed = set()
        for found in imports(path):
            stem = found if found in names else found.rpartition(".")[0]
            needed.add(stem if stem in names else f"{found}.__init__")
        graph[name] = (needed & set(names)) - {name, "promptforge.__init__"}
    assert len(list(TopologicalSorter(graph).static_order())) == len(names)
