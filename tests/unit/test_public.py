"""The public interface: names, errors and their exit codes, the fields of a result."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json
import multiprocessing
import pickle
import threading
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest
from commandline import python
from places import HELPERS

import promptforge as pf
from promptforge import errors
from promptforge.model import RESULT_FIELDS

NAMES = [
    "BudgetError", "Diagnostic", "Item", "ItemError", "OptionError", "ProfileError", "Prompt",
    "PromptForgeError", "RemoteTokenizer", "Renderer", "Result", "ResultItem", "ResultSection",
    "Source",
    "StrictError", "TemplateError", "Tokenizer", "TokenizerError", "get_tokenizer",
    "load", "render",
]  # fmt: skip
RESULT = [
    "text", "tokens", "max_tokens", "exact", "tokenizer", "layout",
    "format", "profile", "mode", "explicit_text", "similarity_text", "sections",
    "items", "files", "items_included", "items_trimmed", "items_dropped", "total_available",
    "inclusion_percentage", "average_score", "truncated", "is_empty", "chars", "query",
    "explicit_sources", "has_explicit", "sources", "build_seconds", "warnings", "manifest",
]  # fmt: skip
ENTRY = [
    "id", "kind", "name", "path", "start_line", "end_line",
    "line_range", "score", "status", "form", "text", "chars",
    "tokens", "tokens_full", "reason", "fits_at", "too_small", "decision",
]  # fmt: skip
RECORDS: list[dict[str, Any]] = [
    {
        "content": f"def f{n}():\n    return {n} * '{chr(0xE0 + n)}'\n" * (1 + n % 5),
        "path": f"src/f{n % 4}.py",
        "name": f"f{n}",
        "score": n % 7 / 7,
        "origin": "similarity" if n % 3 else "explicit",
        "metadata": {"tags": ["a", "b"], "n": n},
    }
    for n in range(24)
]
LOOKS = [
    (lay, form)
    for lay in ("chunks", "knowledge", "entities")
    for form in ("markdown", "xml", "json", "plain")
]


def render_all(renderer: pf.Renderer, step: int = 1) -> list[dict[str, Any]]:
    """Return results, as plain data, of the same records in many looks, less the one field that
    varies."""
    found = []
    for number, (layout, form) in enumerate(LOOKS[::step]):
        result = renderer.render(
            RECORDS, layout=layout, format=form, max_tokens=200 + 40 * number, query="f3 return"
        )
        found.append({**result.to_dict(), "build_seconds": 0})
    return found


# --- names ----------------------------------------------------------------------------------------


def test_the_public_names_are_this_list_sorted() -> None:
    assert pf.__all__ == NAMES == sorted(NAMES)
    assert set(NAMES) <= set(dir(pf))


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_says_that_it_is_public(name: str) -> None:
    value = getattr(pf, name)
    assert inspect.getdoc(value), "a public name explains itself"
    if isinstance(value, type):
        assert (value.__module__, value.__qualname__) == ("promptforge", name)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Rendrer"):
        getattr(pf, "Rendrer")  # noqa: B009
    assert not hasattr(pf, "jinja2")


# --- results --------------------------------------------------------------------------------------


def test_a_result_has_these_fields_and_all_of_them_are_plain_data() -> None:
    result = pf.render(RECORDS, max_tokens=300)
    assert list(RESULT_FIELDS) == RESULT == list(result.to_dict())
    assert all(hasattr(result, name) for name in RESULT)
    assert list(json.loads(json.dumps(result.to_dict(), allow_nan=False))) == RESULT


def test_the_same_items_are_rendered_once_and_any_change_is_seen() -> None:
    renderer, seen = pf.Renderer(), dict[str, object](n=1)
    items = [pf.Item(content="one", name="a"), pf.Item(content="two", name="b", metadata=seen)]
    first = renderer.render(items, max_tokens=80, group_by="n")
    again = renderer.render(list(items), max_tokens=80, group_by="n")
    assert again.report is first.report and again.warnings == first.warnings
    assert renderer.render(items, max_tokens=79, group_by="n").report is not first.report
    assert renderer.render(items[::-1], max_tokens=80, group_by="n").text != first.text
    renderer.render(items, max_tokens=80, group_by="n")
    for value, printed in ((True, "true"), (1.0, "1.0"), ("1", "1")):  # equal, but not in print
        seen["n"] = value
        sections = renderer.render(items, max_tokens=80, group_by="n").sections
        assert printed in [section.key for section in sections]
    copies = [pf.Item(content="one", name="a"), pf.Item(content="two", name="b", metadata=seen)]
    assert renderer.render(copies, max_tokens=80, group_by="n").report is not first.report


def test_an_entry_has_these_fields() -> None:
    names = {field.name for field in dataclasses.fields(pf.ResultItem)}
    assert names == {*ENTRY, "origin", "rank", "ranking_score", "place", "section"}
    warning = {field.name for field in dataclasses.fields(pf.Diagnostic)}
    assert warning == {"code", "severity", "message", "item", "where"}
    assert {field.name for field in msgspec.structs.fields(pf.Source)} == {
        "id",
        "name",
        "kind",
        "path",
        "url",
        "line",
        "score",
    }


def test_a_result_adds_up() -> None:
    result = pf.render(RECORDS, max_tokens=300, combine="combined", min_score=None)
    statuses = [entry.status for entry in result.items]
    assert (
        len(statuses)
        == len(RECORDS)
        == result.total_available
        == result.items_included + result.items_dropped
    )
    assert result.items_included == len(statuses) - statuses.count("dropped")
    assert result.inclusion_percentage == pytest.approx(100 * result.items_included / len(RECORDS))
    assert str(result) == result.text and result.chars == len(result.text)
    assert (
        sum(len(section.items) for section in result.sections)
        == result.items_included
        == len(result.sources)
    )
    assert set(result.files) == {entry.path for entry in result.items if entry.status != "dropped"}
    for entry in result.items:
        assert (entry.text == "") is (entry.status == "dropped")
        assert entry.text.rstrip("\n") in result.text and entry.chars == len(entry.text)


def test_a_manifest_tells_what_changed() -> None:
    def manifest(**options: Any) -> dict[str, Any]:
        return pf.render(RECORDS, **options).manifest

    one = manifest()
    assert one == manifest()
    assert one["options"] != manifest(max_tokens=500)["options"]
    assert one["templates"] != manifest(format="xml")["templates"]
    assert one["profile"] != manifest(profile="claude")["profile"]
    assert one["tokenizer"] != manifest(tokenizer="cl100k_base")["tokenizer"]
    assert one["items"] != pf.render(RECORDS[1:]).manifest["items"]


def test_items_are_frozen_and_can_be_pickled() -> None:
    item = pf.Item(content="a", path="b.py")
    with pytest.raises(AttributeError):
        item.content = "c"  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(item)) == item


def test_everything_after_the_items_is_by_name() -> None:
    for function in (pf.render, pf.Renderer.render, pf.Renderer.prompt):
        kinds = [
            p.kind for name, p in inspect.signature(function).parameters.items() if name != "self"
        ]
        assert kinds[0] is inspect.Parameter.POSITIONAL_OR_KEYWORD
        assert set(kinds[1:]) <= {inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD}


def test_an_item_a_mapping_and_a_document_are_one() -> None:
    class Document:
        """What LangChain calls a document."""

        page_content = "x = 1"
        metadata: dict[str, Any] = {}  # noqa: RUF012
        id = None

    assert pf.render([pf.Item(content="x = 1")]).text == pf.render([{"content": "x = 1"}]).text
    assert "x = 1" in pf.render([Document()]).text


def test_options_of_a_call_win_over_those_of_the_renderer_for_that_call_alone() -> None:
    renderer = pf.Renderer(format="xml", max_tokens=500)
    once = renderer.render(RECORDS, format="plain")
    assert (once.format, once.max_tokens) == ("plain", 500)
    assert renderer.render(RECORDS).format == "xml"
    assert renderer.render(RECORDS, profile="claude").profile == "claude"
    assert renderer.render(RECORDS).profile == "default"


def test_the_callers_records_are_left_as_they_were() -> None:
    before = json.dumps(RECORDS)
    pf.render(RECORDS, dedupe=True, merge_overlaps=True)
    assert json.dumps(RECORDS) == before


# --- equal input, equal bytes ---------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.unwatched
def test_four_threads_share_a_renderer() -> None:
    expected = render_all(pf.Renderer(), step=3)
    renderer = pf.Renderer()  # one that has compiled nothing yet
    start = threading.Barrier(4)
    found: list[list[dict[str, Any]]] = []

    def work() -> None:
        start.wait()
        found.append(render_all(renderer, step=3))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(each == expected for each in found)


SCRIPT = """
import hashlib, json, sys
sys.path[:0] = {paths!r}
import test_public
import promptforge as pf
result = pf.render(test_public.RECORDS, kinds={{"text", "code", "x", "y"}}, languages={{"python",
"lisp", "c"}})
found = [test_public.render_all(pf.Renderer()), {{**result.to_dict(), "build_seconds": 0}}]
print(hashlib.sha256(json.dumps(found).encode()).hexdigest())
"""


@pytest.mark.nightly
@pytest.mark.unwatched
def test_the_hash_seed_the_clock_the_language_and_the_place_change_no_byte(tmp_path: Path) -> None:
    script = SCRIPT.format(paths=[str(Path(__file__).parent), str(HELPERS)])
    settings = [
        {"PYTHONHASHSEED": "0"},
        {"PYTHONHASHSEED": "1", "TZ": "Asia/Tokyo", "LC_ALL": "C"},
        {"PYTHONHASHSEED": "4294967295", "LANG": "de_DE.UTF-8", "NO_COLOR": "1", "COLUMNS": "20"},
    ]
    ran = [python("-c", script, env=env, cwd=tmp_path) for env in settings]
    assert [each.code for each in ran] == [0, 0, 0], ran[0].err
    assert len({each.out for each in ran}) == 1


# --- start ----------------------------------------------------------------------------------------

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


@pytest.mark.slow
def test_a_small_file_is_rendered_without_libraries_for_others(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("def double(x):\n    return 2 * x\n")
    modules, _ = run("render", str(tmp_path / "one.py"))
    assert not modules & {"email", "importlib.metadata", "pathspec", "tree_sitter", "zipfile"}


def test_an_import_loads_no_heavy_library() -> None:
    modules, opened = watch("import promptforge")
    assert not modules & {*HEAVY, "click"}
    assert not vocabularies(opened)


def test_errors_can_be_caught_without_the_engine() -> None:
    modules, _ = watch("import promptforge\npromptforge.PromptForgeError")
    assert not modules & {*HEAVY, "click"}


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("command", ["count", "render"])
def test_counting_loads_one_vocabulary(command: str) -> None:
    stdin = b"some words" if command == "count" else b'{"content": "some words"}'
    modules, opened = run(command, stdin=stdin)
    # A small text is counted by lookups: tiktoken would take longer than all the rest.
    assert not modules & {"tokenizers", "tiktoken"}
    assert len(set(vocabularies(opened))) == 1


@pytest.mark.slow
def test_no_network_library_is_loaded_by_a_rendering() -> None:
    modules, _ = run("render", stdin=b'{"content": "some words"}')
    assert not modules & {"http.client", "requests", "httpx", "urllib3", "ssl"}


# --- pickling -------------------------------------------------------------------------------------

ITEMS = [pf.Item(content=f"text {i} " * 20, path=f"{i}.md", score=i / 50) for i in range(50)]
TEMPLATES = {"mine/layout.yaml": "base: chunks\n", "mine/item.md.j2": "* {{ item.path }}\n"}
RENDERERS: list[dict[str, Any]] = [
    {},
    {"profile": "claude", "max_tokens": 300},
    {"templates": TEMPLATES, "layout": "mine", "max_tokens": 40},
    {"tokenizer": "approximate-claude", "max_tokens": 90},
]


def remade(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("made_of", RENDERERS, ids=str)
def test_a_renderer_renders_the_same_elsewhere(made_of: dict[str, Any]) -> None:
    renderer = pf.Renderer(**made_of)
    text = renderer.render(ITEMS, query="text 7").text
    for other in (remade(renderer), copy.deepcopy(renderer), copy.copy(renderer)):
        assert type(other) is pf.Renderer
        assert other.render(ITEMS, query="text 7").text == text


@pytest.mark.parametrize("packing", ["score", "value", "even"])
def test_a_result_keeps_its_fields(packing: Any) -> None:
    result = pf.Renderer(packing=packing, max_tokens=300).render([*ITEMS, {"content": 3}])
    other = remade(remade(result))
    assert other.to_dict() == result.to_dict()
    assert (other.map, other.shown, str(other)) == (result.map, result.shown, str(result))
    assert repr(copy.copy(result)) == repr(copy.deepcopy(result)) == repr(result)


def test_a_result_says_what_it_no_longer_knows() -> None:
    result = pf.render(ITEMS, max_tokens=300)
    with pytest.raises(pf.PromptForgeError, match="before its explanation was worked out"):
        remade(result).explain()
    with pytest.raises(NotImplementedError):  # so a notebook shows `repr`
        remade(result)._repr_html_()
    explained = result.explain()
    assert msgspec.to_builtins(remade(result).explain()) == msgspec.to_builtins(explained)


def test_a_prompt_keeps_its_request() -> None:
    prompt = pf.Renderer(max_tokens=300).prompt(ITEMS, user="Which?", to="anthropic")
    assert remade(prompt).request == prompt.request
    assert remade(prompt).to_dict() == prompt.to_dict()


@pytest.mark.parametrize(
    "name",
    [
        *("o200k_base", "cl100k_base*1.2", "characters", "approximate-words"),
        *("approximate-characters", "approximate-qwen"),
    ],
)
def test_a_counter_is_its_name(name: str) -> None:
    counter = pf.get_tokenizer(name)
    assert remade(counter) is copy.deepcopy(counter) is counter


@pytest.mark.parametrize(
    "error",
    [
        errors.OptionError("no", where="here", option="layout", absent="x"),
        errors.ProfileError("no", where="a.yaml:3", option="layout", column=3, inside=("a",)),
        errors.BudgetError("no", needed=7, largest=5),
        errors.ItemError("no", where="items[0]", field="content"),
        errors.TemplateError("no", where="a.j2:1", excerpt=errors.Excerpt(1, "x", 1, 2)),
        errors.StrictError("no", diagnostics=(errors.Diagnostic("PF101", "info", "m"),)),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_keeps_what_it_says(error: errors.PromptForgeError) -> None:
    other = remade(error)
    assert type(other) is type(error)
    assert (str(other), other.bare, vars(other)) == (str(error), error.bare, vars(error))


@pytest.mark.slow
def test_processes_that_begin_anew_render_and_fail_alike() -> None:
    renderer = pf.Renderer(max_tokens=300)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        result = pool.submit(renderer.render, ITEMS).result(60)
        assert result.to_dict()["items"] == renderer.render(ITEMS).to_dict()["items"]
        long = {"content": "word " * 900, "required": True}
        with pytest.raises(pf.BudgetError) as caught:
            pool.submit(renderer.render, [long]).result(60)
        assert caught.value.needed > caught.value.largest == 300


MAX_LINES_LOADED = 18_000
LINES_LOADED = """
import sys
import promptforge as pf
assert pf.render([{"content": "one"}, {"content": "two", "path": "b.py"}]).items_included == 2
files = {module.__file__ for name, module in sys.modules.items() if name.startswith("promptforge")}
assert "tiktoken" not in sys.modules
print(sum(len(open(file, encoding="utf-8").readlines()) for file in files))
"""


@pytest.mark.slow
def test_a_rendering_loads_what_it_needs_alone() -> None:
    done = python("-c", LINES_LOADED)
    assert 5_000 < int(done.out) <= MAX_LINES_LOADED
