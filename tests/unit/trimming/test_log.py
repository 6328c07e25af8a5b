"""Shorter logs: errors and new things stay, repetition goes."""

from __future__ import annotations

import json

import pytest
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st
from shipped_words import divided, marks

import promptforge as pf
from promptforge.sources.text_files import file_item
from promptforge.text.detection import detect_language
from promptforge.trimming.log import compact, divide

TRACE = (
    "Traceback (most recent call last):\n"
    + "".join(f'  File "w.py", line {number}, in run\n    step({number})\n' for number in range(20))
    + "TimeoutError: timed out\n"
)


def lines_of(stamp: str) -> list[str]:
    return [f"{stamp}worker[{n % 5}]: processed batch {n} in {n * 7 % 90} ms\n" for n in range(200)]


@pytest.mark.parametrize(
    "stamp",
    ["2026-11-26 10:00:01,123 INFO ", "Nov 26 10:00:01 host ", "[10:00:01] ", "I1126 10:00:01 7 x] ",
     "1764151201.25 ", "INFO ", "level=info ", ""],
)  # fmt: skip
def test_an_error_with_the_end_of_its_trace_stays_longest(stamp: str) -> None:
    lines = lines_of(stamp)
    lines[77] = (
        f"{stamp.replace('INFO', 'ERROR')}connection to db-3 refused\n{TRACE if stamp else ''}"
    )
    item = file_item("var/app.log", "".join(lines))
    assert item.kind == "log"
    text = pf.render([item], max_tokens=170).text
    assert "connection to db-3 refused\n" in text
    assert not stamp or "TimeoutError: timed out\n" in text
    assert "processed batch 199" in text and "processed batch 3 " not in text


def test_of_records_that_say_the_same_the_last_stays() -> None:
    text = "".join(f"10:00:{n:02} ERROR 0x{n}ff refused, try {n}\n" for n in range(50))
    text += "10:01:00 INFO ready\n"
    short = divided(divide, text).variants()[-4].text
    assert "try 49" in short and "ready" in short and "try 3\n" not in short


def test_a_query_finds_its_record() -> None:
    item = pf.Item(content="".join(lines_of("2026-11-26 10:00:01 INFO ")), kind="log")
    assert "processed batch 142 in" in pf.render([item], max_tokens=120, query="batch 142").text


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("10:00:00 ERROR x", True),
        ("10:00:00 0 errors, no failures", False),
        ("10:00:00 error=null", False),
        ("E1126 10:00:00 7 x.cc] y", True),
        ('1.2.3.4 - - [26/Nov/2026:10:00:00] "GET / HTTP/1.1" 503 2', True),
        ('1.2.3.4 - - [26/Nov/2026:10:00:00] "GET / HTTP/1.1" 200 503', False),
        ("10:00:00 java.lang.IllegalStateException: x", True),
        ("10:00:00 x: Connection refused", True),
    ],
)
def test_errors(line: str, error: bool) -> None:
    text = f"10:00:00 a\n10:00:00 b\n{line}\n"
    assert (divided(divide, text).parts[2].keep > 2.5) is error


def test_a_failed_assertion_of_pytest_stays_with_its_values_beside_an_answer() -> None:
    passed = [f"tests/test_{n // 20}.py::test_{n % 20} PASSED\n" for n in range(600)]
    failed = "tests/test_15.py::test_x FAILED\n"
    failed += "E   assert 3 == 4\nE    +  where 3 = len(refund())\n"
    item = pf.Item(kind="log", name="pytest", content="".join([*passed[:300], failed, *passed]))
    assert failed in pf.render([item], max_tokens=200, query="which failed").text


@given(
    st.lists(
        st.sampled_from(["10:00:00 ERROR x\n", "10:00:01 y 7\n", "  at z\n", "\n", "é\r\n", "no"]),
        min_size=1,
        max_size=60,
    )
)
@cases(100)
def test_the_pieces_are_the_text(lines: list[str]) -> None:
    text = "".join(lines)
    if divide(text, marks=marks("[cut]")) is not None:
        divided(divide, text)


@pytest.mark.parametrize("text", ["", "one line", "10:00:00 one\n  two\n\n"])
def test_a_single_record_has_no_pieces(text: str) -> None:
    assert divide(text, marks=marks("[cut]")) is None


def test_a_log_of_signs_with_one_word_takes_linear_time() -> None:
    text = "a\n" + "{!\n" * 15_000
    variants = divided(divide, text).variants()
    assert len(variants) == 1 or "a" in variants[-1].text


@pytest.mark.slow
def test_odd_texts_take_linear_time() -> None:
    for text in ("a" * 1_000_000 + "\nb", "deadbeef-" * 50_000 + "\nb\n", "0x\n" * 20_000):
        divided(divide, text)


def test_a_record_is_no_error_for_what_the_next_one_says() -> None:
    text = "10:00:00 INFO one\n10:00:01 INFO two\n10:00:02 ERROR three\n"
    first, second, third = (part.keep for part in divided(divide, text).parts)
    assert first < second < 1.1 and third > 2.9


def test_equal_lines_are_counted() -> None:
    lines = ["start\n", *["retry\n"] * 9, "a\n", "a\n", *["same\n"] * 5, "same"]
    found = compact("".join(lines), marks=marks(""))
    assert found == ("start\nretry\n… 8 equal lines\na\na\nsame\n… 5 equal lines", False)
    assert compact("start\nretry\nend\n", marks=marks("")) is None


def test_of_lines_that_differ_in_their_time_the_first_and_the_last_stay() -> None:
    lines = [f"2026-11-26T10:00:{n:02}.5Z INFO retry\n" for n in range(50)]
    found = compact("".join(lines), marks=marks(""))
    assert found == (f"{lines[0]}… 48 equal lines\n{lines[-1]}", True)
    text = "".join([*lines, *lines_of("10:00:00 INFO ")[:20]])
    shown = pf.render([{"content": text}], max_tokens=500).items[0]
    assert shown.form == "compact" and "… 48 equal lines" in shown.text


CHAINED = (
    TRACE + "\nDuring handling of the above exception, another exception occurred:\n\n" + TRACE
)


@pytest.mark.parametrize("text", [TRACE, CHAINED, f"begun\n{TRACE}ended\n"])
@pytest.mark.parametrize("named", [{"path": "w.log"}, {"path": "out.txt"}, {"kind": "log"}, {}])
def test_a_cut_trace_keeps_its_message(named: dict[str, str], text: str) -> None:
    if "begun" in text and named == {"path": "out.txt"}:
        text = TRACE
    result = pf.render([{"content": text, **named}], max_tokens=110)
    assert "TimeoutError: timed out\n" in result.text and result.report.trimmed


def test_what_a_program_printed_into_a_text_file_is_cut_as_such() -> None:
    rows = [{"id": n, "name": f"n{n}"} for n in range(200)]
    result = pf.render([{"content": json.dumps(rows), "path": "out.txt"}], max_tokens=200)
    assert json.loads(result.text.split("```text\n")[1].split("\n```")[0])
    prose = "A note on queues. " * 200
    assert (
        "A note on queues." in pf.render([{"content": prose, "path": "a.txt"}], max_tokens=90).text
    )


PASSED = [f"case {n} of the till" for n in range(400)]
PRINTED = {
    "pytest": (
        [f"test_till.py::test_{n} PASSED{' ' * 40}[{n // 4:3}%]" for n in range(400)],
        ["E       KeyError: 'refund'", "", "test_till.py:7: KeyError"],
        ["=================== 1 failed, 399 passed in 1.63s ==================="],
    ),
    "unittest": (
        [f"test_{n} (__main__.Till.test_{n}) ... ok" for n in range(400)],
        ["FAIL: test_bad (__main__.Till.test_bad)", "AssertionError: 'refund' != 4"],
        ["Ran 401 tests in 0.02s", "", "FAILED (failures=1)"],
    ),
    "tap": (
        [f"# Subtest: {each}\nok {n} - {each}\n  ---\n  ...\n" for n, each in enumerate(PASSED)],
        ["not ok 401 - the refund", "  ---", "  error: 'refund wrong'", "  ..."],
        ["1..401", "# pass 400", "# fail 1"],
    ),
    "jest": (
        ["FAIL ./till.spec.js", "  till", *[f"    ✓ {each}" for each in PASSED]],
        ["  ● till › refund", "", "    Expected: 4", "    Received: 'refund'"],
        ["", "Tests:       1 failed, 400 passed, 401 total"],
    ),
    "mocha": (
        ["  till", *[f"    ✔ {each}" for each in PASSED], "    1) refund"],
        ["  400 passing", "  1 failing", "", "  1) till", "       refund:", "      refund wrong"],
        [],
    ),
    "go": (
        [f"=== RUN   Test{n}\n--- PASS: Test{n} (0.00s)" for n in range(400)],
        ["--- FAIL: TestRefund (0.00s)", "    till_test.go:9: refund wrong"],
        ["FAIL", "FAIL\tshop/till\t0.012s"],
    ),
    "cargo": (
        [f"test case_{n} ... ok" for n in range(400)],
        [
            "---- refund stdout ----",
            "thread 'refund' panicked at src/lib.rs:9:",
            "assertion failed: refund",
        ],
        ["test result: FAILED. 400 passed; 1 failed; 0 ignored"],
    ),
    "make": (
        [
            f"cc -Wall -c till{n}.c\ntill{n}.c:1:9: warning: unused 'a'\n  1 | int a;"
            for n in range(200)
        ],
        ["till88.c:1:25: error: 'refund' undeclared", "  1 | return refund;"],
        ["make: *** [Makefile:4: till88.o] Error 1"],
    ),
    "eslint": (
        [
            f"/shop/t{n}.js\n  1:9  error  'f{n}' is never used  no-unused-vars\n"
            for n in range(200)
        ],
        ["/shop/till.js", "  1:1  error  'refund' is not defined  no-undef", ""],
        [f"/shop/u{n}.js\n  1:9  error  'f{n}' is never used  no-unused-vars\n" for n in range(200)]
        + ["✖ 401 problems (401 errors, 0 warnings)"],
    ),
    "tsc": (
        [f"a.ts({n},14): error TS2322: Type 'x{n}' is not assignable." for n in range(400)],
        ["a.ts(401,21): error TS2304: Cannot find name 'refund'."],
        [],
    ),
    "script": (
        [f"step {n} done, {n * 7 % 13} left" for n in range(400)],
        ["./till.sh: line 88: refundctl: command not found"],
        [f"cleanup {n} done, 0 left" for n in range(100)],
    ),
    "flake8": (
        [f"shop/m{n}.py:2:5: F841 local variable 'x' is never used" for n in range(200)],
        ["shop/till.py:2:12: F821 undefined name 'refund'"],
        [f"shop/n{n}.py:2:5: F841 local variable 'x' is never used" for n in range(200)],
    ),
    "bash": (
        [f"+ cp /dev/null part{n}" for n in range(400)],
        ["+ mv refund.tar /srv", "mv: cannot stat 'refund.tar': No such file or directory"],
        [],
    ),
    "vitest": (
        [f" ✓ till.test.mjs > till > case {n} 0ms" for n in range(200)],
        [" × till.test.mjs > till > refund 141ms"],
        [f" ✓ till.test.mjs > till > row {n} 0ms" for n in range(200)],
    ),
    "node": (
        [f"step {n} done, {n * 7 % 13} left" for n in range(400)],
        ["TypeError: refund is not a function", "    at pay (/shop/till.js:2:9)"],
        ["", "Node.js v20.20.2"],
    ),
}


@pytest.mark.parametrize("query", [None, "Why does it fail?", "How are the cases of a step done?"])
@pytest.mark.parametrize("program", PRINTED)
@pytest.mark.parametrize("named", [{}, {"path": "out.txt"}])
def test_what_a_program_that_failed_printed_is_cut_to_the_failure(
    program: str, named: dict[str, str], query: str | None
) -> None:
    before, failure, after = PRINTED[program]
    text = "\n".join([*before, *failure, *after, ""])
    result = pf.render([{"content": text, **named}], max_tokens=400, query=query)
    telling = next(line for line in reversed(failure) if "refund" in line)
    assert telling in result.text and result.report.trimmed


def test_a_cut_trace_of_java_keeps_its_cause() -> None:
    frames = [f"\tat shop.Till{n}.pay(Till{n}.java:{n})\n" for n in range(60)]
    lines = ['Exception in thread "main" shop.PayException: no\n', *frames]
    text = "".join(
        [*lines, "Caused by: java.io.IOException: disk full\n", *frames, "\t... 9 more\n"]
    )
    shown = pf.render([{"content": f"2026-11-05 10:00:01 ERROR {text}" * 3}], max_tokens=300).text
    assert "Caused by: java.io.IOException: disk full" in shown


def test_lines_alike_without_a_failure_are_cut_at_their_end() -> None:
    text = "".join(f"row {n} of the table\n" for n in range(400))
    assert detect_language(text) != "log"
    assert "row 0 of the table\nrow 1 of" in pf.render([{"content": text}], max_tokens=90).text


@pytest.mark.parametrize(
    "text",
    [
        "# Errors\n\nWhat a program may say:\n\n```text\nerror: no room\n```\n\n"
        + "Add room.\n" * 90,
        "error: the word stands in an answer, not in a log.\n" + "We read on here, and on.\n" * 90,
    ],
)
def test_a_text_about_failures_is_no_log(text: str) -> None:
    assert detect_language(text) != "log"


@pytest.mark.parametrize(
    "text",
    [
        "an error\n" + "\n" * 65_000,
        "a\n=== " + "1 failed " * 7_000,
        "a\n" + "Error." * 10_900,
        "a: line 1: " + "a:" * 30_000 + " error",
        "thread '" * 8_000 + "error",
        "a:1:in " + "Error" * 12_000,
    ],
)
def test_a_failure_is_looked_for_in_linear_time(text: str) -> None:
    detect_language(text)
