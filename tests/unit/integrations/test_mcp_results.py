"""Results of tools that are shortened to a budget, and read again by a handle."""

from __future__ import annotations

import json
import random
import re
import sys
from typing import Any

import pytest

import promptforge as pf

pytest.importorskip("mcp", reason="needs mcp: pip install '.[test-all]'")

from promptforge.integrations import mcp_results
from promptforge.integrations.bridge import Bridge
from promptforge.integrations.mcp_results import ResultShortener, ToolResult

BUDGET = 400
COUNTER = pf.get_tokenizer("o200k_base")
LOG = "\n".join(f"10:00:{n % 60:02} INFO job {n} done{' needle' * (n == 777)}" for n in range(2000))
ROWS_SCHEMA = {
    "type": "object",
    "required": ["rows", "total"],
    "properties": {
        "total": {"type": "integer"},
        "rows": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["id", "state", "name"],
                "properties": {"id": {"type": "integer"}, "state": {"enum": ["open", "closed"]}},
            },
        },
    },
}


def shortener(budget: int = BUDGET, **options: Any) -> ResultShortener:
    return ResultShortener(Bridge(alone=True, max_tokens=budget, **options))


def shorten(*texts: str, question: str = "", by: ResultShortener | None = None) -> list[str]:
    """Return the texts of a result, the note too, which keep the budget one by one and joined."""
    return list(shorten_all(ToolResult(texts), question=question, by=by).texts)


def shorten_all(
    given: ToolResult, question: str = "", schema: Any = None, by: ResultShortener | None = None
) -> ToolResult:
    """Return a result, which keeps the budget one by one and joined."""
    found = (by or shortener()).shorten(given, question, schema=schema)
    assert found is not None
    for cost in (sum(map(COUNTER.count, found.parts)), COUNTER.count("\n".join(found.parts))):
        assert cost <= BUDGET
    return found


def handle_in(note: str) -> str:
    (handle,) = re.findall(r'read_more\(handle="(\w+)"', note)
    return str(handle)


# --- what is shortened ----------------------------------------------------------------------------


def test_a_result_within_the_budget_is_left_alone() -> None:
    assert shortener().shorten(ToolResult(["short", "{}"], "{}"), "x") is None


def test_a_text_is_shortened_by_the_question() -> None:
    text, note = shorten(LOG, question="needle")
    assert "job 777 done needle" in text
    assert f"of {len(LOG):,} characters" in note and "of 2,000 lines" in note


@pytest.mark.slow
def test_a_huge_text_and_huge_json_are_shortened_by_the_question() -> None:
    lines = [f"10:00:{n % 60:02} INFO job {n} done{' needle' * (n == 99)}" for n in range(200_000)]
    assert "job 99 done needle" in shorten("\n".join(lines), question="needle")[0]
    rows = [{"id": n, "state": "open", "name": f"job{' needle' * (n == 9)}"} for n in range(40_000)]
    text = shorten(json.dumps({"rows": rows, "total": 1}), question="needle")[0]
    assert {"id": 9, "state": "open", "name": "job needle"} in json.loads(text)["rows"]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("number", [60, 700])
@pytest.mark.parametrize("closed", [False, True])
def test_structured_content_agrees_with_its_schema_and_its_text_says_the_same(
    indent: int | None, number: int, closed: bool
) -> None:
    import jsonschema

    rows = [{"id": n, "state": "open", "name": "x" * n} for n in range(number)]
    value = {"rows": rows, "total": number}
    schema = {**ROWS_SCHEMA, "additionalProperties": not closed}
    given = ToolResult([json.dumps(value, indent=indent)], json.dumps(value))
    by = shortener()
    (text, note), structured = shorten_all(given, schema=schema, by=by)
    made = json.loads(structured or "")
    jsonschema.validate(made, schema)
    assert made.pop("_shortened", None) == (None if closed else note)
    assert json.loads(text) == made and made["total"] == number
    assert made["rows"][0] == {"id": 0, "state": "open", "name": ""}
    assert json.loads(text)["rows"] and len(json.loads(text)["rows"]) < number
    (answer,) = by.read({"handle": handle_in(note), "lines": "1", "query": "x"})[:1]
    assert answer


def test_structured_content_may_be_one_long_text_and_is_shortened_by_the_question() -> None:
    value = {"path": "a.log", "text": LOG}
    (text, note), structured = shorten_all(ToolResult([LOG], json.dumps(value)), "needle")
    made = json.loads(structured or "")
    assert made["_shortened"] == note and made["path"] == "a.log"
    assert "job 777 done needle" in made["text"] and "job 777 done needle" in text


def test_structured_content_beside_a_short_text_has_the_rest_of_the_budget() -> None:
    value = json.dumps({"rows": list(range(900))})
    (text, _), structured = shorten_all(ToolResult(["900 rows."], value))
    assert text == "900 rows." and COUNTER.count(structured or "") > BUDGET // 2
    assert shorten_all(ToolResult([LOG], '{"rows":[1]}')).structured == '{"rows":[1]}'
    many = shorten_all(ToolResult(["word " * 9] * 300, value))
    assert many.texts[0].startswith("word ") and json.loads(many.structured or "")["rows"]


def test_structured_content_whose_text_has_no_room_beside_it_is_shown_once() -> None:
    value = {f"key {n}": n for n in range(32)}
    schema = {"type": "object", "required": list(value)}
    (text, note), structured = shorten_all(
        ToolResult([json.dumps(value, indent=2)], json.dumps(value)), schema=schema
    )
    assert (text, json.loads(structured or "")) == ("", value) and "read_more" in note


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {"$ref": "http://127.0.0.1:9/x"},
        {"$ref": "#/nowhere"},
        {"type": 7},
        {"properties": []},
        {"$ref": "#"},
        {"$schema": "http://127.0.0.1:9/x", "type": "object"},
        {"minProperties": 10**9},
    ],
)
def test_structured_content_that_cannot_agree_is_left_out_and_held(schema: Any) -> None:
    connected: list[Any] = []
    watching = True

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if watching and event in ("socket.connect", "urllib.Request"):
            connected.append(arguments)

    sys.addaudithook(watch)
    value, by = json.dumps({f"key {n}": "x" * 90 for n in range(500)}), shortener()
    texts, structured = shorten_all(ToolResult(["500 keys"], value), schema=schema, by=by)
    watching = False
    assert structured is None and not connected
    assert texts[-1].startswith("The tool ran, but no part of its structured content agrees")
    assert by.read({"handle": handle_in(texts[-1]), "lines": "2:1-"})[0][:50] == value[:50]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({f"key {n}": n for n in range(5000)}),
        json.dumps([[["deep"] * 50] * 50] * 3),
        json.dumps({"a": "x" * 100_000}),
        "[" * 900 + "1" + "]" * 900 + " " * 9000,
        json.dumps([1.5] * 90_000),
    ],
)
def test_any_json_stays_json(text: str) -> None:
    made = shorten(text)[0]
    assert not made or type(json.loads(made)) is type(json.loads(text))


def test_several_texts_share_the_budget() -> None:
    small, first, second, _ = shorten("small", "word " * 4000, "term " * 4000)
    assert small == "small" and abs(COUNTER.count(first) - COUNTER.count(second)) < 20
    many = shorten(*["word " * 50] * 300)
    assert "read_more" in many[-1]


@pytest.mark.parametrize("question", ["", "whose card was declined?"])
@pytest.mark.parametrize("heading", [[], ["Found 900 rows:"]])
def test_texts_that_are_json_each_are_cut_as_the_list_they_are(
    question: str, heading: list[str]
) -> None:
    rows = [{"id": n, "error": "card_declined" if n == 731 else None} for n in range(900)]
    texts = [*heading, *(json.dumps(row, indent=2) for row in rows)]
    *shown, note = filter(None, shorten(*texts, question=question))
    found = [json.loads(text) for text in shown if text not in heading]
    assert len(found) > 9 and (rows[731] in found) == bool(question)
    assert found == [row for row in rows if row in found]  # whole, and in their order
    assert f"of {len(chr(10).join(texts)):,} characters" in note


def test_a_list_that_is_sent_as_texts_too_is_held_once() -> None:
    rows = [{"id": n, "state": f"state {n}"} for n in range(500)]
    by, texts = shortener(), [json.dumps(row, indent=2) for row in rows]
    given = ToolResult(texts, json.dumps({"result": rows}))
    found = shorten_all(given, "state 377", by=by)
    assert rows[377] in json.loads(found.structured or "")["result"]
    assert rows[377] in map(json.loads, filter(None, found.texts[:-1]))
    assert by.read({"handle": handle_in(found.texts[-1]), "lines": "2000"})[1].endswith("of 2000.]")


def test_structured_content_without_texts_is_held() -> None:
    by, value = shortener(), json.dumps(list(range(2000)))
    note = shorten_all(ToolResult([], value), by=by).texts[-1]
    assert by.read({"handle": handle_in(note)})[0].startswith("[0, 1, 2")


@pytest.mark.parametrize("text", ['{"id": 7}', "word", "\n", "word " * 60, "[" + "1, " * 99 + "1]"])
@pytest.mark.parametrize("structured", [None, json.dumps({"rows": list(range(900))})])
def test_many_texts_are_cut_in_a_few_rounds(
    text: str, structured: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rooms: list[int] = []
    within = mcp_results._Shortening._within

    def watch(shortening: Any, room: int) -> ToolResult:
        rooms.append(room)
        return within(shortening, room)

    monkeypatch.setattr(mcp_results._Shortening, "_within", watch)
    shorten_all(ToolResult([text] * 1500, structured))
    assert 1 <= len(rooms) <= 9


@pytest.mark.parametrize("seed", range(12))
def test_any_text_keeps_the_budget(seed: int) -> None:
    rng = random.Random(seed)
    parts = [
        "\n",
        " ",
        "é",
        "漢",
        "🙂",
        "<|im_start|>",
        "\x1b[31m",
        "\0",
        "a" * 40,
        "{",
        "]",
        '"',
        "\r",
    ]
    text = "".join(rng.choices(parts, k=rng.choice([900, 5000]))) + "\ud83d"
    shorten(text, question=rng.choice(["", "漢 a", '"']))


def test_too_small_a_budget_is_an_error() -> None:
    for budget in (10, None):
        with pytest.raises(pf.OptionError, match="--max-tokens, 200 or more"):
            ResultShortener(Bridge(alone=True, max_tokens=budget))


# --- the rest -------------------------------------------------------------------------------------

LONG_LINES = "a" * 9000 + "\r\n\n\n🙂漢" + "b c" * 3000 + "\nlast"


@pytest.mark.parametrize("text", [LOG[:20_000], LONG_LINES, LONG_LINES + "\n", "\n" * 3000])
def test_nothing_is_lost_page_by_page(text: str) -> None:
    by = shortener()
    handle = handle_in(shorten(text, "word " * 900, by=by)[-1])
    whole, read = f"{text}\n{'word ' * 900}", ""
    place = "1-"
    while place:
        *shown, note = by.read({"handle": handle, "lines": place})
        assert COUNTER.count("\n".join([*shown, note])) <= BUDGET
        read += shown[0]
        place = "".join(re.findall(r'Next: lines="(.*)"', note))
    assert read == whole


def test_a_range_or_a_question_names_the_part() -> None:
    by = shortener()
    handle = handle_in(shorten(LOG, by=by)[-1])
    lines = LOG.split("\n")
    text, note = by.read({"handle": handle, "lines": "778-779"})
    assert text == "\n".join(lines[777:779]) and note == "[Lines 778-779 of 2000.]"
    assert by.read({"handle": handle, "lines": "2000"})[0] == lines[-1]
    assert "needle" in by.read({"handle": handle, "query": "needle"})[0]
    (said,) = by.read({"handle": handle, "query": "needle", "lines": "2-99"})
    assert said.startswith("[Nothing in lines 2-99 of 2000 answers the query") and "job" not in said
    assert by.read({"handle": handle, "query": "needle", "lines": "1-3"})[0].endswith(lines[2])


def test_no_word_is_torn_where_it_is_looked_for() -> None:
    by = shortener()
    for before in range(1990, 2001):
        text = "- " * (before // 2) + "-" * (before % 2) + "needle" + " ." * 2000
        assert "needle" in by.read({"handle": by.hold(text), "query": "needle"})[0]


@pytest.mark.parametrize(
    "given",
    [
        *({}, None, 7, [1], "x", {"handle": 7}, {"handle": None}, {"handles": "x"}, {"handle": ""}),
        {"handle": "\x1b[31m" * 999},
        *({"lines": each} for each in ("0-", "x", "-1", "2001-", "9" * 5000, "1:0:1-", 7, None)),
    ],
)
def test_what_read_more_cannot_take_is_said(given: Any) -> None:
    by = shortener()
    handle = handle_in(shorten(LOG, by=by)[-1])
    if isinstance(given, dict) and "lines" in given:
        given = {"handle": handle, **given}
    with pytest.raises(ValueError, match=r"no result is held|takes") as caught:
        by.read(given)
    assert "\x1b" not in str(caught.value) and len(str(caught.value)) < 600


def test_handles_expire_by_size_and_belong_to_one_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_results, "MAX_BYTES", 3 * len(LOG))
    by = shortener()
    first = handle_in(shorten(LOG, by=by)[-1])
    assert handle_in(shorten(LOG, by=by)[-1]) == first  # the same text, held once
    others = [handle_in(shorten(f"{n} {LOG}", by=by)[-1]) for n in range(3)]
    with pytest.raises(ValueError, match="call the tool itself again"):
        by.read({"handle": first})
    assert by.read({"handle": others[-1]})
    with pytest.raises(ValueError, match="no result is held"):
        shortener().read({"handle": others[-1]})


def test_a_result_flagged_as_an_error_keeps_its_end() -> None:
    printed = [f"wrote chunk {n}" for n in range(1500)] + ["could not write 1500: disk quota"]
    for text in ("\n".join(printed), json.dumps({"code": 1, "out": "\n".join(printed)})):
        given = ToolResult([], text) if text[0] == "{" else ToolResult([text])
        found = shortener().shorten(given, "build.ts chunk", ["typescript"], failed=True)
        assert found is not None and "disk quota" in "".join(found.parts)
    texts = [*printed[:-1], "job failed: disk quota"]
    found = shortener().shorten(ToolResult(texts), "wrote chunk", failed=True)
    assert found is not None and found.texts[-2] == "job failed: disk quota"
