"""Renderers, results, prompts, counters and errors pass to other processes."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import msgspec
import pytest

import promptforge as pf
from promptforge import errors

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


@pytest.mark.parametrize("packing", ["score", "value", "proportional"])
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


def test_processes_that_begin_anew_render_and_fail_alike() -> None:
    renderer = pf.Renderer(max_tokens=300)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        result = pool.submit(renderer.render, ITEMS).result(60)
        assert result.to_dict()["items"] == renderer.render(ITEMS).to_dict()["items"]
        long = {"content": "word " * 900, "required": True}
        with pytest.raises(pf.BudgetError) as caught:
            pool.submit(renderer.render, [long]).result(60)
        assert caught.value.needed > caught.value.largest == 300
