"""Stack traces: the error is always there, the program's own frames stay longest."""

from __future__ import annotations

import hostile_strings as hostile
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shipped_words import assert_lines_fall, divided, marks

import promptforge as pf
from promptforge.trimming import traceback
from promptforge.trimming.traceback import package_of

PYTHON = """\
starting
Traceback (most recent call last):
  File "/app/main.py", line 3, in <module>
    run()
    ^^^^^
  File "/app/venv/lib/python3.11/site-packages/click/core.py", line 10, in main
    invoke()
  File "/app/venv/lib/python3.11/site-packages/click/core.py", line 20, in invoke
    call()
  File "/app/shop.py", line 7, in walk
    walk(n - 1)
  File "/app/shop.py", line 7, in walk
    walk(n - 1)
  File "/app/shop.py", line 7, in walk
    walk(n - 1)
  File "/usr/lib/python3.11/json/decoder.py", line 337, in decode
    obj, end = self.raw_decode(s)
json.decoder.JSONDecodeError: Expecting value:
  line 1

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/app/main.py", line 9, in run
    load()
shop.Broken: no such hat
"""
JAVA = """\
Exception in thread "main" java.lang.IllegalStateException: A book
and its title
\tat com.shop.Book.title(Book.java:22)
\tat org.springframework.web.A.b(A.java:1)
\tat org.springframework.web.A.c(A.java:2)
\tat org.springframework.web.A.d(A.java:3)
\tat com.shop.Main.main(Main.java:14)
Caused by: java.lang.NullPointerException
\tat com.shop.Book.id(Book.java:16)
\t... 1 more
"""
NODE = """\
/app/shop.js:3
    throw new TypeError("no hat");
    ^

TypeError: no hat
    at sell (/app/shop.js:3:11)
    at Layer.handle (/app/node_modules/express/lib/router/layer.js:95:5)
    at next (/app/node_modules/express/lib/router/route.js:137:13)
    at main (/app/main.js:9:3)
    at node:internal/main/run_main_module:23:47
"""
GO = """\
panic: runtime error: index out of range [5] with length 3

goroutine 1 [running]:
main.sell(...)
\t/app/shop.go:8
main.main()
\t/app/main.go:12 +0x1d
runtime.main()
\t/usr/local/go/src/runtime/proc.go:250 +0x1d

goroutine 7 [select]:
net/http.serve()
\t/usr/local/go/src/net/http/server.go:10 +0x1
exit status 2
"""
RUST = """\
thread 'main' panicked at src/main.rs:4:5:
no hat
stack backtrace:
   0: rust_begin_unwind
             at /rustc/90b35a623/library/std/src/panicking.rs:595:5
   1: core::panicking::panic_fmt
             at /rustc/90b35a623/library/core/src/panicking.rs:67:14
   2: shop::sell
             at ./src/main.rs:4:5
   3: core::ops::function::FnOnce::call_once
note: Some details are omitted
"""
ALL = {"python": PYTHON, "java": JAVA, "node": NODE, "go": GO, "rust": RUST}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "python",
            "[cut]\n…\n"
            "Traceback (most recent call last):\n  … 5 frames\n"
            '  File "/app/shop.py", line 7, in walk\n    walk(n - 1)\n  … 1 frame in json\n'
            "json.decoder.JSONDecodeError: Expecting value:\n  line 1\n\nThe above",
        ),
        ("python", "    ^^^^^\n  … 4 frames\n"),
        ("python", "    call()\n  … 2 repeated frames\n"),
        (
            "java",
            '[cut]\nException in thread "main" '
            "java.lang.IllegalStateException: A book\n"
            "and its title\n\tat com.shop.Book.title(Book.java:22)\n"
            "\t… 3 frames in org.springframework\n"
            "\tat com.shop.Main.main(Main.java:14)\nCaused by: java.lang.NullPointerException\n"
            "\tat com.shop.Book.id(Book.java:16)\n",
        ),
        (
            "node",
            "[cut]\n…\nTypeError: no hat\n"
            "    at sell (/app/shop.js:3:11)\n"
            "    at Layer.handle (/app/node_modules/express/lib/router/layer.js:95:5)\n"
            "    … 1 frame in express\n"
            "    at main (/app/main.js:9:3)\n    … 1 frame in node\n",
        ),
        (
            "go",
            "[cut]\npanic: runtime error: index out of range [5] with "
            "length 3\n\n"
            "goroutine 1 [running]:\nmain.sell(...)\n\t/app/shop.go:8\nmain.main()\n"
            "\t/app/main.go:12 +0x1d\n"
            "…\n",
        ),
        (
            "rust",
            "stack backtrace:\n   … 2 frames\n   2: shop::sell\n"
            "             at ./src/main.rs:4:5\n",
        ),
    ],
)
def test_libraries_go_before_the_program_itself(name: str, text: str) -> None:
    variants = divided(traceback.divide, ALL[name]).variants()
    assert [number for number in range(len(variants)) if text in variants[number].text]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "python",
            [
                "json.decoder.JSONDecodeError: Expecting value:\n  line 1\n",
                "direct cause",
                "shop.Broken: no such hat",
            ],
        ),
        (
            "java",
            [
                "IllegalStateException: A book\nand its title\n",
                "Caused by: java.lang.NullPointerException",
            ],
        ),
        ("node", ["TypeError: no hat"]),
        (
            "go",
            [
                "panic: runtime error: index out of range [5] with length 3",
                "goroutine 1 [running]:",
            ],
        ),
        ("rust", ["thread 'main' panicked at src/main.rs:4:5:\nno hat\n"]),
    ],
)
def test_what_went_wrong_always_stays(name: str, said: list[str]) -> None:
    variants = divided(traceback.divide, ALL[name]).variants()
    for number in range(len(variants)):
        assert [words for words in said if words not in variants[number].text] == []
    assert "…" in variants[len(variants) - 1].text


def test_of_many_traces_the_one_that_answers_stays() -> None:
    traces = [
        f'Traceback (most recent call last):\n  File "/srv/app/mod{n}.py", line {n}, in handle\n'
        f"    call(request, {n})\nValueError: order {1000 + 37 * n} failed in step {n}\n\n"
        for n in range(200)
    ]
    item = {"content": "".join(traces), "kind": "error"}
    result = pf.render([item], max_tokens=200, query="why did order 5736 fail")
    assert "order 5736 failed" in result.text
    shown = pf.render([item], max_tokens=200).text
    assert "order 1037 failed" in shown and "order 1000 failed" in shown


def test_a_thousand_calls_of_itself_are_counted() -> None:
    frame = '  File "/app/a.py", line 1, in f\n    f()\n'
    text = f"Traceback (most recent call last):\n{frame * 1000}RecursionError: too deep\n"
    variants = divided(traceback.divide, text).variants()
    assert variants[998].text.splitlines()[1:] == [
        "Traceback (most recent call last):", "  … 999 repeated frames", *frame.splitlines(),
        "RecursionError: too deep",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "gaps"),
    [
        (
            'Traceback (most recent call last):\n  File "/app/a.py", line 9, in <module>\n'
            + '  File "/app/a.py", line 1, in f\n' * 3
            + "  [Previous line repeated 996 more times]\nRecursionError: too deep\n",
            ["… 2 repeated frames", "… 1,000 frames"],
        ),
        (
            "java.lang.IllegalStateException: no\n\tat com.shop.A.b(A.java:1)\n"
            "Caused by: java.io.IOException: no\n\tat com.shop.B.c(B.java:2)\n\t... 12 more\n",
            ["… 12 frames", "… 13 frames"],
        ),
        (
            "t.rb:1:in `f': stack level too deep (SystemStackError)\n\tfrom t.rb:1:in `f'\n"
            "\t ... 10067 levels...\n\tfrom t.rb:4:in `<main>'\n",
            ["… 10,068 frames", "… 10,069 frames"],
        ),
    ],
)
def test_frames_that_a_trace_itself_leaves_out_are_counted(text: str, gaps: list[str]) -> None:
    variants = divided(traceback.divide, text).variants()
    shown = [line.strip() for variant in variants for line in variant.text.splitlines()]
    assert set(gaps) <= set(shown), shown


def test_a_log_goes_on_after_a_trace() -> None:
    text = (
        'Traceback (most recent call last):\n  File "a.py", line 1, in f\nE: x\n[2024-01-01] next\n'
    )
    variants = divided(traceback.divide, text).variants()
    assert variants[0].text.endswith("E: x\n…\n")


@pytest.mark.parametrize(
    ("frame", "package"),
    [
        ('  File "/x/site-packages/a/b.py", line 1', "a"),
        ('  File "C:\\Python\\Lib\\site-packages\\a\\b.py", line 1', "a"),
        ('  File "/usr/lib/python3.11/json/__init__.py", line 1', "json"),
        ('  File "/usr/lib/python3.11/runpy.py", line 1', "runpy"),
        ('  File "<frozen runpy>", line 1', "frozen runpy"),
        ('  File "/home/me/shop/main.py", line 1', None),
        ("    at f (/app/node_modules/@a/b/c.js:1:1)", "@a/b"),
        ("    at f (node:fs:1:1)", "node"),
        ("    at f (/app/a.js:1:1)", None),
        ("\tat java.base/java.util.A.b(A.java)", "java"),
        ("\tat org.mine.A.b(A.java:1)", None),
        ("\tat com.shop.A.b(A.java:1)", None),
        ("   at System.Linq.A() in x.cs:line 3", "System"),
        ("main.f()\n\t/app/a.go:1 +0x1", None),
        ("x.f()\n\t/root/go/pkg/mod/github.com/a/b@v1.0/c.go:1", "github.com/a/b"),
        ("runtime.gopanic()\n\t/x:1", "runtime"),
        ("   1: tokio::runtime::x", "tokio"),
        (
            "   1: serde_json::x\n at /root/.cargo/registry/src/x-1/serde_json-1.0.1/src/a.rs:1",
            "serde_json",
        ),
        ("   1: shop::x\n  at ./src/a.rs:1", None),
    ],
)
def test_whose_a_frame_is(frame: str, package: str | None) -> None:
    assert package_of(frame) == package


@pytest.mark.parametrize(
    "text",
    ["", "no trace\nhere\n", "Error: x\n", "Traceback (most recent call last):\n", "\0\ud800"],
)
def test_a_text_without_a_trace(text: str) -> None:
    assert traceback.divide(text, marks=marks("[cut]")) is None


LINES = [line for text in ALL.values() for line in text.splitlines(keepends=True)]


@given(st.lists(st.sampled_from([*ALL.values(), *LINES]) | st.sampled_from(hostile.STRINGS)))
def test_the_pieces_are_the_text_and_errors_stay(strings: list[str]) -> None:
    text = "".join(strings)
    if traceback.divide(text, marks=marks("[cut]")) is None:
        return
    pieces = divided(traceback.divide, text)
    assert_lines_fall(pieces)
    rest = pieces.text(())
    assert "JSONDecodeError: Expecting value:\n  line 1\n" in rest or PYTHON not in text
