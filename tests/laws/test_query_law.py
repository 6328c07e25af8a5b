"""A query never makes a kind worse: its facts stay in 1.25 times the room they need without one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial

import pytest
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st

from promptforge import Item, Renderer
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
    # A query chooses among changes that have no room together: those of all files are one fact.
    return text, ["|".join(facts)]


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


@pytest.mark.slow
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
