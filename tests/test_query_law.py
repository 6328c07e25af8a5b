"""A query never makes a kind worse: its facts stay in 1.25 times the room they need without one."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptforge import Item, Renderer

NOISE = "order {0}: the login of session {0} opened a database and was refunded\n"


def _trace(size: int) -> tuple[str, list[str]]:
    library = '  File "/lib/python3.11/site-packages/flask/app{0}.py", line {0}, in call\n' + NOISE
    frames = "".join(library.replace(" order", "    order").format(i) for i in range(size))
    head = "Traceback (most recent call last):\n"
    text = (
        "".join(NOISE.format(i) for i in range(size))
        + f'{head}{frames}  File "/app/orders.py", line 40, in load\n    fetch(hat)\n'
        + "sqlite3.OperationalError: no such table: hats\n\n"
        + "The above exception was the direct cause of the following exception:\n\n"
        + f'{head}{frames}  File "/app/view.py", line 10, in show\n    load(hat)\n'
        + "shop.Broken: cannot show the hat\n"
    )
    return text, ["orders.py", "no such table: hats", "view.py", "cannot show the hat"]


def _session(size: int, prompt: str) -> tuple[str, list[str]]:
    asked = [f"{prompt}login({i})\n" + NOISE.format(i) * (1 + i % 7) for i in range(size)]
    asked.append(f"{prompt}sell(hat)\nValueError: the hat is sold\n")
    asked += [f"{prompt}again({i})\n{NOISE.format(i)}" for i in range(2)]
    asked.append(f"{prompt}stock[7]\n'red hat'\n")
    facts = ["sell(hat)\nValueError: the hat is sold", f"{prompt}again(1)", "stock[7]\n'red hat'"]
    return "".join(asked), facts


def _diff(size: int) -> tuple[str, list[str]]:
    text, facts = "", []
    for number in range(1 + size // 6):
        around = "".join(f" {NOISE.format(line)}" for line in range(9))
        changed = [f"-old hat {number}\n", f"+new hat {number}\n"]
        text += f"diff --git a/{number} b/{number}\n--- a/{number}\n+++ b/{number}\n"
        text += f"@@ -1,19 +1,19 @@\n{around}{''.join(changed)}{around}"
        facts += [f"+++ b/{number}", *changed]
    return text, facts


def _technique(size: int) -> tuple[str, list[str]]:
    text = "Adversaries may steal hats.(Citation: Hats) "
    text += "".join(NOISE.format(i).capitalize().replace("\n", ". ") for i in range(size))
    text += "\n\nDetection: Watch the hats at all times.\n\nMitigations:\n"
    text += "- M1001 Hat Box: It keeps the login of the database.\n\nTools: S0001 Hook"
    return text, ["steal hats.", "Watch the hats", "M1001 Hat Box", "S0001 Hook"]


def _program(size: int) -> tuple[str, list[str]]:
    heads = [f"def sell_{number}(hat, login):" for number in range(4 + size // 5)]
    body = "".join(f"    database.session({line}).login(hat)\n" for line in range(size))
    text = "import hats\n\n\n" + "\n\n".join(f"{head}\n{body}" for head in heads)
    # An outline stays as a whole or not at all: its facts are one.
    return text, ["|".join(["import hats", *heads])]


def _object(size: int) -> tuple[str, list[str]]:
    rows = ",\n".join(f' "{i}": "{NOISE.format(i).strip()}"' for i in range(size))
    return f'{{"hat": 1,\n{rows},\n"end": 2}}', ['"hat"', '"end"']


KINDS = {
    "error": _trace,
    "repl-history": lambda size: _session(size, ">>> "),
    "terminal": lambda size: _session(size, "$ "),
    "diff": _diff,
    "mitre_attack": _technique,
    "code": _program,
    "json": _object,
}
LANGUAGES = {"code": "python", "json": "json"}
WORDS = st.sampled_from([*re.findall(r"\w+", NOISE), "hat", "login(3)", "zebra", "line"])


@pytest.mark.parametrize("kind", KINDS)
@given(
    size=st.integers(12, 40),
    budget=st.integers(80, 900),
    query=st.lists(WORDS, min_size=1, max_size=6).map(" ".join),
)
@settings(max_examples=6, deadline=None)
def test_no_query_costs_a_fact(kind: str, size: int, budget: int, query: str) -> None:
    text, facts = KINDS[kind](size)
    item = Item(kind=kind, content=text, language=LANGUAGES.get(kind))
    renderer = Renderer()

    def kept(max_tokens: int, query: str | None) -> set[str]:
        shown = renderer.render([item], max_tokens=max_tokens, query=query).text
        return {fact for fact in facts if all(part in shown for part in fact.split("|"))}

    assert kept(budget, None) <= kept(budget * 5 // 4, query)


def _section(number: int) -> str:
    lines = "".join(NOISE.format(f"{number}{line}") for line in "abcd").replace("\n", ". ")
    return f"## Part {number} of the book\n\n{lines}\n\n"


@pytest.mark.parametrize("layout", ["chunks", "knowledge", "context"])
@pytest.mark.parametrize("headings", [True, False])
def test_a_document_answers_before_it_introduces_itself(layout: str, headings: bool) -> None:
    answer = "The pump of the zeppelin is oiled every eleven days."
    sections = [_section(number) for number in range(6)]
    sections[4] = sections[4].rstrip() + f" {answer} {NOISE.format('z')}\n"
    text = "# A handbook\n\nIt tells more than one would ask for, and tells it at length.\n\n"
    text += "".join(sections)
    if not headings:
        text = re.sub(r"## Part.*\n\n", "", text)
    item = Item(kind="document", name="handbook.md", content=text)
    renderer = Renderer(layout=layout)
    most = (renderer.render([item], max_tokens=None).tokens or 0) * 2 // 5
    found = renderer.render([item], max_tokens=most, query="How often is the pump oiled?")
    assert answer in found.text


def test_a_long_synopsis_leaves_room_for_the_option_that_answers() -> None:
    page = "NAME\n       kettle - boil water\n\nSYNOPSIS\n"
    page += "".join(f"       kettle --use-{n} [--more-{n}] CUP...\n" for n in range(30))
    page += "\nOPTIONS\n"
    page += "".join(f"       --boil-{n}\n              Boil {n}.\n\n" for n in range(30))
    page += "       --quiet\n              Do not whistle when it boils.\n\n"
    page += "       --be-quiet-later\n              Whistle quiet tunes, then quiet ones.\n"
    item = Item(kind="man_page", name="kettle", content=page)
    found = Renderer(layout="chunks").render([item], max_tokens=110, query="how to be quiet")
    assert "--quiet\n              Do not whistle" in found.text


def test_found_items_of_little_worth_are_left_out_and_said() -> None:
    texts = ["The pump is oiled daily.", "Tulips grow in May.", "Roses grow in June."]
    items = [Item(content=text, name=text[:5], origin="similarity") for text in texts]
    named = Item(content="Lilies grow in July.", name="mine")
    result = Renderer(min_worth=0.6).render([*items, named], query="when is the pump oiled")
    reasons = {item.name: item.reason for item in result.items}
    assert reasons["The p"] == reasons["mine"] == "fits"
    assert reasons["Tulip"] == reasons["Roses"] == "min_worth"
    assert "min_worth" in "".join(warning.message for warning in result.warnings)
    whole = Renderer().render([*items, named], query="when is the pump oiled")
    assert {item.status for item in whole.items} == {"included"}


def test_min_worth_counts_the_best_chunks_of_a_repository() -> None:
    files = [
        Item(kind="code", path="retry.py", content="def retry(call):\n    return call()\n", origin="similarity"),
        Item(kind="code", path="tulip.py", content="TULIP = 1\n", origin="similarity"),
    ]  # fmt: skip
    result = Renderer(min_worth=0.5).render(files, query="how does retry work")
    assert [item.reason for item in result.items] == ["fits", "min_worth"]
