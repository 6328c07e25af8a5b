"""Samples of layouts: rendered to find what fails only then, within limits, and to be counted."""

from __future__ import annotations

import json

import pytest
from commandline import run
from linted_folders import ITEM, PAGE, found, write

from promptforge.lint import samples
from promptforge.tokenizers.counters import Counter
from promptforge.tokenizers.registry import get_tokenizer

LONG = ITEM + "{{ item.content | fence }}\n"
pytestmark = pytest.mark.usefixtures("folder")


def test_a_page_that_costs_more_than_there_is() -> None:
    write({"templates/mine/layout.md.j2": "word " * 50 + PAGE, "templates/mine/item.md.j2": ITEM})
    write({"profiles/small.yaml": "max_tokens: 20"})
    ran = run("check", "--costs", "templates", "--profiles", "profiles", "--profile", "small")
    assert "PF843" in ran.out
    assert "PF843" not in run("check", "--costs", "templates").out


def test_costs_are_measured_by_rendering() -> None:
    write(
        {
            "templates/mine/layout.md.j2": "# A heading of four words\n" + PAGE,
            "templates/mine/item.md.j2": LONG,
        }
    )
    facts = json.loads(run("check", "--json", "--costs").out)
    (cost,) = facts["costs"]
    assert (cost["layout"], cost["format"], facts["tokenizer"]) == (
        "mine",
        "markdown",
        "o200k_base",
    )
    assert 5 <= cost["page"] <= 8
    write({"templates/mine/item.md.j2": LONG + "one two three four five\n"})
    more = json.loads(run("check", "--json", "--costs").out)["costs"][0]
    assert more["page"] == cost["page"] and more["items"]["item"] - cost["items"]["item"] in (
        5,
        6,
    )


LOOP = "{% for a in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] %}"
HEAVY = [
    LOOP * 9 + "x" + "{% endfor %}" * 9,
    "{% for a in item.content %}" * 9 + "x" + "{% endfor %}" * 9,
    '{% set a = "x" %}' + "{% set a = a ~ a %}" * 60 + "{{ a }}",
    "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}",
    "{% macro a0() %}x{% endmacro %}"
    + "".join(
        f"{{% macro a{n + 1}() %}}{{{{ a{n}() }}}}{{{{ a{n}() }}}}{{% endmacro %}}"
        for n in range(40)
    )
    + "{{ a40() }}",
]


@pytest.mark.slow
@pytest.mark.parametrize("text", HEAVY)
def test_a_sample_that_does_too_much_is_broken_off(text: str) -> None:
    write({"templates/mine/layout.yaml": "base: chunks", "templates/mine/item.txt.j2": text})
    code = "PF814" if "m()" in text else "PF817"  # a macro that calls itself is said so
    assert f"templates/mine/item.txt.j2:1:1: {code}" in found()


def test_no_vocabulary_is_loaded_unless_costs_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def counter(name: str) -> Counter:
        asked.append(name)
        return get_tokenizer("characters")

    monkeypatch.setattr(samples, "get_tokenizer", counter)
    write({"templates/mine/item.md.j2": LONG, "templates/mine/layout.yaml": "base: chunks"})
    assert run("check", "--no-costs").code == 0 and set(asked) == {"characters"}
    assert run("check").code == 0 and set(asked) == {"characters", "o200k_base"}


def test_a_page_that_prints_no_item() -> None:
    write({"templates/mine/layout.md.j2": "Hello\n", "templates/mine/item.md.j2": ITEM})
    assert "PF133 prints no item" in run("check", "templates").out
    some = (
        "{% for item in items %}{% if item.kind == 'code' %}{{ item.text }}{% endif %}{% endfor %}"
    )
    write({"templates/mine/layout.md.j2": some})
    assert "PF133" not in run("check", "templates").out
