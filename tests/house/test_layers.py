"""Eight floors of packages, each on those below; one door for each library, and for the engine."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from module_trees import nodes_of, tree_of
from places import PACKAGE

from promptforge.config.layouts import LayoutSettings
from promptforge.engine import NAMES
from promptforge.syntax.syntaxes import FORMAT_EXTENSIONS, syntax_named

# The ground floor first. A folder is one entry: its files may import each other, without a circle.
# Two entries of one floor do not import each other. No change adds a ninth floor.
FLOORS = [
    "_version errors reasons text",
    "files model packing plain_data plugins yaml_reader",
    "config sources syntax tokenizers trimming",
    "selection templating",
    "engine rendering",
    "authoring prompts sandbox",
    "batch integrations lint preview",
    "cli",
]
FLOOR = {name: number for number, row in enumerate(FLOORS, 1) for name in row.split()}
DOORWAYS = {"__init__", "__main__"}
"""The public list, which imports late, and the entry of `python -m promptforge`."""
LIBRARY_DOORS = {
    "click": {"cli"},
    "fsspec": {"files"},
    "haystack": {"integrations"},
    "identify": {"text"},
    "jinja2": {"authoring", "lint", "templating"},
    "langchain_core": {"integrations"},
    "llama_index": {"integrations"},
    "markdown_it": {"trimming"},
    "markupsafe": set(),
    "mcp": {"integrations"},
    "pathspec": {"text"},
    "starlette": {"integrations", "preview"},
    "tiktoken": {"sources", "tokenizers"},
    "tokenizers": {"tokenizers"},
    "tree_sitter": {"trimming"},
    "uvicorn": {"preview"},
    "yaml": {"yaml_reader"},
}
PURE_PACKAGES = ["packing", "selection", "syntax", "text", "trimming"]
"""They touch no file, clock, environment, network or template."""
IMPURE_LIBRARIES = {
    *("asyncio", "datetime", "io", "jinja2", "os", "pathlib", "random", "secrets", "socket"),
    *("subprocess", "sys", "time"),
}
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "_vocab" not in path.parts)


def entry(path: Path) -> str:
    """Return the entry of the floors that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def resolve(path: Path, node: ast.ImportFrom) -> Iterator[str]:
    """Yield the full names that one import takes; those of this package as `promptforge.x.y`."""
    package = ["promptforge", *path.relative_to(PACKAGE).parent.parts]
    base = package[: len(package) - node.level + 1] if node.level else []
    stem = ".".join([*base, *([node.module] if node.module else [])])
    if node.module and stem != "promptforge":
        yield stem
    else:
        yield from (f"{stem}.{alias.name}" for alias in node.names)


@cache
def imports(path: Path) -> tuple[str, ...]:
    """Return what a module imports, late imports too, those for type checkers alone not."""
    found: list[str] = []
    for_types = {id(n) for t in nodes_of(path) if _is_for_types(t) for n in ast.walk(t)}
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and id(node) not in for_types:
            found += resolve(path, node)
    return tuple(found)


def _is_for_types(node: ast.AST) -> bool:
    if not isinstance(node, ast.If):
        return False
    return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def entries_used(path: Path) -> set[str]:
    """Return the entries that a file imports from, its own left out."""
    found = {name.split(".")[1] for name in imports(path) if name.startswith("promptforge.")}
    return found - {entry(path)}


def test_there_are_eight_floors_and_every_module_is_on_one() -> None:
    assert len(FLOORS) == 8
    assert {entry(path) for path in MODULES} == FLOOR.keys() | DOORWAYS


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_from_floors_below(path: Path) -> None:
    if entry(path) in DOORWAYS:
        return
    own = FLOOR[entry(path)]
    assert not {name for name in entries_used(path) if FLOOR.get(name, 9) >= own}


@pytest.mark.slow
def test_a_library_is_imported_only_at_its_door() -> None:
    seen: dict[str, set[str]] = {name: set() for name in LIBRARY_DOORS}
    for path in MODULES:
        for name in _libraries(path) & seen.keys():
            seen[name].add(entry(path))
    assert seen == LIBRARY_DOORS


def _libraries(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imports(path)}


@pytest.mark.parametrize("name", PURE_PACKAGES)
def test_a_pure_package_reaches_for_nothing_outside(name: str) -> None:
    paths = [path for path in MODULES if entry(path) == name]
    assert paths
    assert not set().union(*map(_libraries, paths)) & IMPURE_LIBRARIES


LOADED_WHEN_ASKED = {
    "authoring/pytest_plugin.py": {"authoring.golden"},
    "config/profiles.py": {"config.models"},
    "files/memory.py": {"files.memory_file"},
    "packing/pack.py": {"packing.named"},
    "packing/packings.py": {
        "packing.fixed_set",
        "packing.overview",
        "packing.passages",
        "packing.value",
    },
    "packing/named.py": {"packing.passages"},
    "packing/overview.py": {"packing.passages"},
    "rendering/page.py": {
        *("rendering.query_passages", "rendering.variants", "selection.file_tree"),
    },
    "rendering/context.py": {"text.control_tokens"},
    "rendering/planning.py": {
        *("selection.overrides", "selection.scoring", "text.control_tokens"),
    },
    "rendering/renderer.py": {
        *("rendering.split", "sources.records", "templating.following"),
    },
    "rendering/report.py": {
        *("rendering.decisions", "rendering.remedies", "rendering.source_map"),
        "selection.thresholds",
    },
    "selection/filter.py": {
        *("selection.query", "selection.repository", "selection.scoring", "trimming.comments"),
        *("selection.overrides", "selection.thresholds", "trimming.pieces"),
    },
    "syntax/markdown_syntax.py": {"syntax.markdown_links"},
    "syntax/yaml_syntax.py": {"yaml_reader"},
    "templating/autoescape.py": {"templating.failures"},
    "sources/documents.py": {"sources.office_parts", "sources.pdf_pages"},
    "sources/gather.py": {"sources.outputs", "sources.piped"},
    "sources/native.py": {"plain_data"},
    "sources/workspace.py": {"sources.encodings", "sources.git"},
    "templating/language.py": {"plain_data", "templating.failures"},
    "templating/loader.py": {"templating.failures"},
    "rendering/variants.py": {"trimming.declarations"},
    "tokenizers/registry.py": {"tokenizers.tokenizer_files"},
    "trimming/json.py": {"trimming.kinds"},
    "trimming/kinds.py": {"trimming.pieces", "trimming.python"},
}
"""Module → what it imports late: a plain rendering does without it."""


@pytest.mark.slow
def test_a_module_is_imported_late_by_the_command_line_or_where_few_need_it() -> None:
    late: dict[str, set[str]] = {}
    for path in MODULES:
        if entry(path) in {"cli", "__init__"}:
            continue
        for function in nodes_of(path):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            for node in ast.walk(function):
                if isinstance(node, ast.ImportFrom) and node.level:
                    names = {name.removeprefix("promptforge.") for name in resolve(path, node)}
                    late.setdefault(path.relative_to(PACKAGE).as_posix(), set()).update(names)
    assert late == LOADED_WHEN_ASKED


FILE_DOORS = {"files/access.py", "files/__init__.py"}
"""The modules that open, read, write, move and remove files for all others."""
BUILT_IN_CALLS = {"open"}
CALLS_OF_OS = {
    *("open", "replace", "rename", "renames", "link", "symlink", "unlink", "remove", "rmdir"),
    *("mkdir", "makedirs", "removedirs", "truncate", "chmod", "chown", "mkfifo", "mknod"),
}
CALLS_OF_PATHS = {
    *("read_text", "read_bytes", "write_text", "write_bytes", "unlink", "rmdir", "mkdir", "touch"),
    *("hardlink_to", "symlink_to", "chmod", "rename"),
}
MODULES_OF_FILES = {"shutil", "tempfile", "fileinput", "io"}
HARMLESS_CALLS = {"which", "get_terminal_size", "BytesIO", "StringIO", "BufferedReader"}


def file_calls(tree: ast.AST) -> Iterator[str]:
    """Yield line and name of each call that reaches for a file by itself."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Name) and function.id in BUILT_IN_CALLS:
            yield f"{node.lineno} {function.id}"
        if not isinstance(function, ast.Attribute):
            continue
        if ast.unparse(function.value).startswith("metadata.distribution("):  # what pip recorded
            continue
        owner = function.value.id if isinstance(function.value, ast.Name) else ""
        is_found = function.attr in CALLS_OF_PATHS and owner != "formatter"  # click's, of help
        if owner == "os":
            is_found = function.attr in CALLS_OF_OS
        elif owner in MODULES_OF_FILES:
            is_found = function.attr not in HARMLESS_CALLS
        elif function.attr == "open":  # of a path: `path.open("rb")`
            given = [each.value for each in node.args if isinstance(each, ast.Constant)]
            is_found = not node.args or any(str(one)[:1] in "rwax" for one in given)
        if is_found:
            yield f"{node.lineno} {owner}.{function.attr}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_files_have_one_door(path: Path) -> None:
    found = list(file_calls(tree_of(path)))
    if path.relative_to(PACKAGE).as_posix() in FILE_DOORS:
        assert found or path.name == "__init__.py"
    else:
        assert not found, "open it by promptforge.files.access"


def test_each_way_to_a_file_is_seen() -> None:
    ways = """
open(name)
os.replace(a, b)
os.open(a, 0)
Path(a).read_text()
path.write_bytes(b"")
(folder / name).unlink()
path.open()
path.open("rb")
shutil.rmtree(a)
tempfile.mkdtemp()
io.open(a)
"""
    assert len(list(file_calls(ast.parse(ways)))) == 11
    assert not list(file_calls(ast.parse("files.open(path)\nos.listdir(a)\nwrite_whole(a)")))


@pytest.mark.slow
def test_there_is_no_circle_among_files() -> None:
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


NAMES_OF_SYNTAXES = {"markdown", "xml", "json", "yaml", "toon", "plain"}
MODULES_THAT_NAME_SYNTAXES = {"config/layouts.py", "config/options.py"}
"""The values of `syntax` and `framing`; all else asks the `Syntax` of a layout or template."""


def test_two_modules_name_the_syntaxes_beside_their_own() -> None:
    found = set()
    for path in MODULES:
        source = path.read_text(encoding="utf-8")
        # Texts and trimmers know these words as languages of contents.
        if (
            entry(path) in {"syntax", "text", "trimming"}
            or sum(name in source for name in NAMES_OF_SYNTAXES) <= 3
        ):
            continue
        texts = {node.value for node in nodes_of(path) if isinstance(node, ast.Constant)}
        if len(texts & NAMES_OF_SYNTAXES) > 3:
            found.add(path.relative_to(PACKAGE).as_posix())
    assert found == MODULES_THAT_NAME_SYNTAXES
    assert {syntax_named(name).name for name in FORMAT_EXTENSIONS} == NAMES_OF_SYNTAXES
    declared = get_args(get_args(get_type_hints(LayoutSettings)["syntax"])[0])
    assert {*declared} == NAMES_OF_SYNTAXES


CLIENTS = {"authoring", "batch", "cli", "integrations", "lint", "preview", "prompts", "sandbox"}
ROOMS = {
    *("reasons", "packing", "rendering", "selection", "sources", "syntax", "templating"),
    *("tokenizers", "trimming"),
}
MAX_NAMES = 60
NOT_MOVED = {"prompts", "bridge.py", "haystack.py", "langchain.py", "langchain_agents.py"}
NOT_MOVED |= {"llama_index.py"}
"""Clients that still take the names of the door from the rooms themselves."""
PAST_THE_DOOR = {
    "authoring": 3, "batch": 9, "cli": 14, "integrations": 5, "lint": 27, "preview": 3,
    "prompts": 8, "sandbox": 0,
}  # fmt: skip
"""Client → names that it takes from the rooms, for itself alone. A number may only become less."""


def taken(path: Path) -> Iterator[tuple[str, str]]:
    """Yield module and name of each import of a client from the door or a room."""
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom) and node.level and node.module:
            module = next(resolve(path, node)).removeprefix("promptforge.")
            if module.split(".")[0] in {*ROOMS, "engine"}:
                yield from ((module, alias.name) for alias in node.names)


def of_clients() -> Iterator[tuple[Path, str, str]]:
    for path in MODULES:
        if entry(path) in CLIENTS:
            yield from ((path, module, name) for module, name in taken(path))


@pytest.mark.slow
def test_clients_share_a_few_names_and_take_these_at_the_door() -> None:
    clients_of: dict[str, set[str]] = {name: set() for name in NAMES}
    beside = set()
    past: dict[str, set[str]] = {client: set() for client in CLIENTS}
    for path, module, name in of_clients():
        if module == "engine" or NAMES.get(name) == module:
            clients_of[name].add(entry(path))
            if module != "engine" and not {entry(path), path.name} & NOT_MOVED:
                beside.add(f"{path.relative_to(PACKAGE)}: {name}")
        else:
            past[entry(path)].add(f"{module}.{name}")
    assert not beside, "take it from ..engine"
    assert not {name for name, clients in clients_of.items() if len(clients) < 2}
    assert len(NAMES) <= MAX_NAMES
    assert {client: len(names) for client, names in past.items()} == PAST_THE_DOOR
    shared = [name for names in past.values() for name in names]
    assert len(shared) == len(set(shared)), "what two clients take goes through the door"


GUIDES = {"batch", "cli", "guide", "integrations"}
"""Packages whose page is for users."""


@pytest.mark.parametrize(
    "package", sorted({path.parent.name for path in PACKAGE.glob("*/__init__.py")} - GUIDES)
)
def test_the_page_of_a_package_names_files_that_are_there(package: str) -> None:
    text = (PACKAGE / package / "README.md").read_text()
    for name in re.findall(r"`([\w/]+\.(?:py|yaml|json|md))`", text):
        places = (PACKAGE / package / name, PACKAGE / name, PACKAGE.parent / name)
        assert name == "layout.yaml" or any(place.exists() for place in places), name
