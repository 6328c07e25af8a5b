"""A query never makes a kind worse: its facts stay in 1.25 times the room they need without one."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from commandline import run
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st

from promptforge import Item, OptionError, Renderer
from promptforge.errors import ItemError
from promptforge.sources.man import load_man_page

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


# What Java 17, Node 20, Ruby 3, Rust, .NET, Go and PostgreSQL print, shortened; what must stay is
# between « and ».
FAILURES = {
    "java": """\
Exception in thread "main" java.lang.IllegalStateException: «checkout failed»
\tat «Shop.main(Shop.java:8)»
\tat java.base/java.lang.reflect.Method.invoke(Method.java:569)
Caused by: Shop$HatError: «cannot load hat»
\tat «Shop.load(Shop.java:5)»
\tat java.base/java.lang.Thread.run(Thread.java:840)
\tSuppressed: java.lang.IllegalStateException: «connection not closed»
\t\t... 6 more
Caused by: java.util.NoSuchElementException: «no stock row for hat»
\tat Shop.lambda$fetch$0(Shop.java:4)
\tat java.base/java.util.Optional.orElseThrow(Optional.java:403)
""",
    "node": """\
AggregateError: «checkout failed»
    at checkout (/app/shop.js:4:64)
    ... 5 lines matching cause stack trace ...
    at node:internal/main/run_main_module:28:49 {
  [cause]: Error: «cannot load hat»
      at load (/app/shop.js:3:61)
      at Module._compile (node:internal/modules/cjs/loader:1521:14) {
    [cause]: SyntaxError: «Unterminated string in JSON»
        at JSON.parse (<anonymous>)
        at fetchHat («/app/shop.js:2:28»)
        at Array.map (<anonymous>)
  },
  [errors]: [
    TypeError: «second failure»
        at checkout (/app/shop.js:4:86)
        at node:internal/main/run_main_module:28:49
""",
    "ruby": """\
shop.rb:5:in `rescue in checkout': «checkout failed» (RuntimeError)
\tfrom shop.rb:6:in `<main>'
shop.rb:4:in `rescue in load_hat': «cannot load hat» (HatError)
\tfrom «shop.rb:5:in `checkout'»
\tfrom /usr/lib/ruby/gems/3.1.0/gems/rack-2.2.4/lib/rack.rb:9:in `call'
shop.rb:3:in `fetch': «key not found: :hat» (KeyError)
\tfrom shop.rb:3:in `fetch'
""",
    "rust": """\
thread '<unnamed>' (22878) panicked at «rs/main.rs:3:32»:
cannot load hat: "«no stock row for hat»"
stack backtrace:
   0: __rustc::rust_begin_unwind
             at /rustc/59807616/library/std/src/panicking.rs:689:5
   1: main::load
             at «./rs/main.rs:3:31»

thread 'main' (22877) panicked at rs/main.rs:5:57:
«checkout failed»: Any { .. }
""",
    "dotnet": """\
Unhandled exception. System.InvalidOperationException: «checkout failed»
 ---> Shop.HatException: «cannot load hat»
 ---> System.Collections.Generic.KeyNotFoundException: «The given key 'hat' was not present»
   at System.Collections.Generic.Dictionary`2.get_Item(TKey key)
   at Shop.Store.Fetch(String k) in «/app/Store.cs:line 12»
   --- End of inner exception stack trace ---
   at Microsoft.AspNetCore.Routing.EndpointMiddleware.Invoke(Endpoint endpoint)
   at Program.<Main>$(String[] args) in «/app/Program.cs:line 5»
""",
    "go": """\
panic: «cannot load hat: no stock row» [recovered]
\tpanic: «second failure: rollback»

goroutine 1 [running]:
testing.tRunner.func1.2({0x5111c0, 0xc00001a0a0})
\t/usr/local/go/src/testing/testing.go:1631 +0x24a
main.(*Store).Load(...)
\t«/app/store.go:57»
""",
    "log": """\
10:01:00 UTC [99] shop@orders «ERROR:  deadlock detected»
10:01:00 UTC [99] shop@orders DETAIL:  Process 99 waits for ShareLock.
""",
}
LAST_OUTPUTS = {
    "psql": 'shop=# select * from hats;\n«ERROR:  relation "hats" does not exist»\n',
    "terraform": "$ terraform validate\n╷\n│ «Error: Reference to undeclared input variable»\n",
    "kubectl": "$ kubectl logs hat-0\n«Error from server (BadRequest): ImagePullBackOff»\n",
    "gcc": "$ make\n«hat.c:3:5: error: unknown type name 'hat'»\n",
    "ipython": "In [9]: sell(hat)\n«ValueError: the hat is sold»\n\n",
}


def _marked(text: str) -> tuple[str, list[str]]:
    return re.sub("[«»]", "", text), re.findall("«(.*?)»", text)


def _failure(size: int, name: str) -> tuple[str, list[str]]:
    text, facts = _marked(FAILURES[name])
    around = [NOISE.format(number) for number in range(size)]
    return "".join([*around, text, *around[: size // 4]]), facts


def _outputs(size: int, name: str) -> tuple[str, list[str]]:
    failed, facts = _marked(LAST_OUTPUTS[name])
    prompt = re.match(r"In \[|\S+ ", failed)[0]  # type: ignore[index]
    prompt = prompt.replace("In [", "In [7]: ")
    asked = [f"{prompt}login({i})\n" + NOISE.format(i) * (1 + i % 7) for i in range(size)]
    last = [f"{prompt}again({i})\n{NOISE.format(i)}" for i in range(3)]
    return "".join([*asked, failed, *last]), [*facts, "again(2)"]


def _settings(size: int) -> tuple[str, list[str]]:
    heads = [f"[shop.hats-{number}]" for number in range(2 + size // 8)]
    lines = "".join(f'login{line} = "{NOISE.format(line).strip()}"\n' for line in range(size))
    return "\n".join(f"{head}\n{lines}" for head in heads), ["|".join(heads)]


def _log(size: int) -> tuple[str, list[str]]:
    stamp = "2026-11-26 10:{:02}:{:02} "
    said = [f"{stamp.format(n % 60, n % 7)}INFO {NOISE.format(n)}" for n in range(size)]
    said[size // 3] = f"{stamp.format(1, 2)}ERROR no hats left\n  at Shop.sell(Shop.java:7)\n"
    said[size // 2] = f"{stamp.format(2, 3)}CRITICAL the till is on fire\n"
    return "".join(said), ["ERROR no hats left", "at Shop.sell", "CRITICAL the till is on fire"]


def _combined_diff(size: int) -> tuple[str, list[str]]:
    around = "".join(f"  {NOISE.format(line)}" for line in range(size))
    changed = ["- thirty hats\n", " -red hats\n", "++dreissig\n"]
    text = "diff --cc f\nindex 8d0d8c1,1f0f0b1..3d0d7ad\n--- a/f\n+++ b/f\n"
    text += f"@@@ -1,60 -1,60 +1,60 @@@ def sell\n{around}{''.join(changed)}{around}"
    return text, ["+++ b/f", *changed]


KINDS: dict[str, Callable[[int], tuple[str, list[str]]]] = {
    **{f"error {name}": partial(_failure, name=name) for name in FAILURES},
    **{f"terminal {name}": partial(_outputs, name=name) for name in LAST_OUTPUTS},
    "file toml": _settings,
    "log": _log,
    "diff combined": _combined_diff,
    "error": _trace,
    "repl-history": lambda size: _session(size, ">>> "),
    "terminal": lambda size: _session(size, "$ "),
    "diff": _diff,
    "mitre_attack": _technique,
    "code": _program,
    "json": _object,
}
LANGUAGES = {"code": "python", "json": "json", "file toml": "toml"}
WORDS = st.sampled_from([*re.findall(r"\w+", NOISE), "hat", "login(3)", "zebra", "line"])


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@given(
    size=st.integers(12, 40),
    budget=st.integers(80, 900),
    query=st.lists(WORDS, min_size=1, max_size=6).map(" ".join),
    look=st.sampled_from(["context markdown", "knowledge json"]),
)
@cases(16)
def test_no_query_costs_a_fact(kind: str, size: int, budget: int, query: str, look: str) -> None:
    text, facts = KINDS[kind](size)
    item = Item(kind=kind.split()[0], content=text, language=LANGUAGES.get(kind))
    layout, syntax = look.split()
    if syntax == "json":
        facts = [json.dumps(fact, ensure_ascii=False)[1:-1] for fact in facts]
    renderer = Renderer(layout=layout, format=syntax)

    def kept(max_tokens: int, query: str | None) -> set[str]:
        shown = renderer.render([item], max_tokens=max_tokens, query=query).text
        return {fact for fact in facts if all(part in shown for part in fact.split("|"))}

    assert kept(budget, None) <= kept(budget * 5 // 4, query)


@pytest.mark.parametrize("name", ["tar", "find", "grep"])
@pytest.mark.parametrize("query", ["why did it fail", "the order of files", "database"])
def test_no_query_costs_a_manual_its_name_but_in_a_small_room(name: str, query: str) -> None:
    try:
        page = load_man_page(name)
    except ItemError as error:
        pytest.skip(str(error))
    # In less room the answer comes first: with the name, 13 of 82 questions lost theirs at 100.
    shown = Renderer().render([page], max_tokens=500, query=query).text
    assert re.search(rf"(?m)^NAME\n +{name}\b.* - ", shown) and "SYNOPSIS" in shown


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


def test_a_short_man_page_answers_with_an_option_too() -> None:
    page = "NAME\n       kettle - boil water\n\nOPTIONS\n"
    page += "".join(f"       --boil-{n}\n              Boil {n}.\n\n" for n in range(20))
    page += "       --quiet\n              Do not whistle when it boils.\n"
    item = Item(kind="man_page", name="kettle", content=page)
    found = Renderer(layout="chunks").render([item], max_tokens=110, query="how to be quiet")
    assert "--quiet\n              Do not whistle" in found.text


def test_no_passage_is_cut_to_a_lone_word() -> None:
    formula = "x" * 40 + "".join(f"^{{{number}}}_y" for number in range(90))
    text = f"The pump is oiled every eleven days by hand. Let {formula} be its oil. " + "It hums. "
    renderer = Renderer(layout="chunks", format="plain")
    for most in range(30, 60):
        shown = renderer.render([Item(content=text)], query="pump oil", max_tokens=most).text
        assert "pump is oiled" in shown and not shown.rstrip().endswith("Let …")


def test_the_best_program_is_cut_before_a_lesser_one_is_shown() -> None:
    sell = "".join(f"    till.count_{number}(hat)\n" for number in range(30))
    items = [
        Item(kind="code", name="best", content=f"def refund_a_hat(hat):\n{sell}"),
        Item(kind="code", name="lesser", content="def sell(hat):\n    give(hat)\n"),
    ]
    renderer = Renderer(layout="chunks")
    most = (renderer.render(items[:1]).tokens or 0) - 20
    shown = renderer.render(items, query="refund a hat", max_tokens=most).text
    assert "refund_a_hat" in shown and "count_20" in shown and "give" not in shown


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


# --- a reranker of the caller's -------------------------------------------------------------------

PAGES = [
    Item(kind="passage", id=str(n), name=f"Page {n}", score=1 - n / 10, content=text)
    for n, text in enumerate(
        [
            "The kettle is made of steel. It was bought in May. Its lid is red.",
            "Dogs need walks. They are fed at noon. A dog sleeps in the hall.",
            "The boiler heats the water to ninety degrees. It stands in the cellar. It hums.",
            "The garden has a pond. Fish live there. Frogs do too.",
        ]
    )
]
ASKED = "what makes it hot"


def _heat(query: str, texts: list[str]) -> list[float]:
    assert query == ASKED
    return [10.0 * ("ninety degrees" in text) + ("kettle" in text) for text in texts]


async def _heat_later(query: str, texts: list[str]) -> list[float]:
    await asyncio.sleep(0)
    return _heat(query, texts)


def _text(rerank: Any, query: Any = ASKED, budget: int = 60) -> str:
    return Renderer(rerank=rerank).render(PAGES, query=query, max_tokens=budget).text


def test_a_function_ranks_by_meaning_what_no_word_finds() -> None:
    assert "ninety degrees" not in _text("keyword_boost")
    assert "ninety degrees" in _text(_heat)


@given(st.floats(0.01, 1000), st.floats(-1000, 1000))
@cases(16)
def test_the_scale_of_a_function_means_nothing(factor: float, shift: float) -> None:
    def other(query: str, texts: list[str]) -> list[float]:
        return [factor * score + shift for score in _heat(query, texts)]

    assert _text(other) == _text(_heat)


def test_an_async_function_is_awaited_in_a_loop_and_without_one() -> None:
    async def within() -> str:
        return _text(_heat_later)

    assert _text(_heat_later) == asyncio.run(within()) == _text(_heat)


def _raise(query: str, texts: list[str]) -> list[float]:
    raise KeyError("model")


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (_raise, "KeyError: \"'model'\""),
        (lambda query, texts: [1.0], "it returned 1 score; expected a finite number for each text"),
        (lambda query, texts: [math.nan] * len(texts), "it returned nan; expected a finite"),
        (lambda query, texts: None, "TypeError"),
        (lambda query: [1.0], "TypeError"),
        (lambda query, texts: ["x"] * len(texts), "ValueError"),
    ],
)
def test_the_failure_of_a_function_is_said_and_survived(function: Any, said: str) -> None:
    result = Renderer(rerank=function).render(PAGES, query=ASKED, max_tokens=60)
    assert [warning.code for warning in result.warnings].count("PF126") == 1
    (message,) = (warning.message for warning in result.warnings if warning.code == "PF126")
    assert message.startswith("rerank failed on 4 texts: ") and said in message
    assert result.text == _text("keyword_boost")


def test_scores_are_asked_for_in_batches_and_only_once() -> None:
    calls: list[list[str]] = []

    class Model:
        def score(self, query: str, texts: list[str]) -> list[float]:
            calls.append(texts)
            return _heat(query, texts)

    model = Model()
    long = "The boiler stands in the old cellar of the house, and it hums. " * 2
    pages = [*PAGES, Item(name="Boiler", content=long + "It heats water to ninety degrees.")]
    first = Renderer(rerank=model.score).render(pages, query=ASKED, max_tokens=60).text
    assert len(calls) == 2 and len(calls[0]) == len(pages)  # the items, then their passages
    assert len({*calls[0], *calls[1]}) == len(calls[0]) + len(calls[1])
    assert Renderer(rerank=model.score).render(pages, query=ASKED, max_tokens=60).text == first
    assert len(calls) == 2


def test_what_was_made_with_a_function_can_be_written_down() -> None:
    result = Renderer(rerank=_heat).render(PAGES, query=ASKED, max_tokens=60)
    assert result.manifest["options"]["rerank"] == "_heat"
    with pytest.raises(OptionError, match="rerank takes none"):
        Renderer(rerank=7)  # type: ignore[arg-type]


# --- several queries ------------------------------------------------------------------------------


def test_a_query_that_finds_nothing_is_said() -> None:
    items = [
        Item(content=f"def f{n}():\n    return {n}\n" * 20, path=f"{n}.py", kind="code")
        for n in range(9)
    ]

    def codes(query: str, **options: Any) -> set[str]:
        return {each.code for each in Renderer().render(items, query=query, **options).warnings}

    assert "PF128" in codes("xylophone", max_tokens=200)
    assert "PF128" not in codes("f3", max_tokens=200)
    assert "PF128" not in codes("xylophone", max_tokens=20_000), "all of them are shown"


def test_several_queries_share_one_budget() -> None:
    both = ["when was the kettle bought", "where do fish live"]
    text = _text("keyword_boost", both)
    assert "bought in May" in text and "Fish live there" in text
    assert _text("keyword_boost", both[::-1]) == text
    assert "Fish live there" not in _text("keyword_boost", both[0], 40)
    assert _text("keyword_boost", both[:1]) == _text("keyword_boost", both[0])
    assert _text("keyword_boost", []) == _text("keyword_boost", None)


def test_a_function_is_asked_each_query() -> None:
    asked: list[str] = []

    def score(query: str, texts: list[str]) -> list[float]:
        asked.append(query)
        return [float(query in text) for text in texts]

    text = _text(score, ["pond", "ninety"])
    assert "pond" in text and "ninety" in text and {*asked} == {"pond", "ninety"}


def test_several_queries_from_the_command_line_and_a_job(tmp_path: Path) -> None:
    items = tmp_path / "items.json"
    items.write_text(json.dumps([{"name": page.name, "content": page.content} for page in PAGES]))
    flags = ["render", str(items), "--max-tokens", "60", "--json"]
    both = ["when was it bought, and where", "where do fish live"]
    ran = run(*flags, "--query", both[0], "--query", both[1])
    assert ran.code == 0 and json.loads(ran.out)["query"] == both
    assert "bought in May" in ran.out and "Fish live there" in ran.out
    job = tmp_path / "job.yaml"
    job.write_text(f"query:\n- {both[0]}\n- {both[1]}\n")
    assert json.loads(run(*flags, "--job", str(job)).out)["text"] == json.loads(ran.out)["text"]
