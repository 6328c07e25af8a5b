"""Variants of JSON: valid, the keys in their order, the rest of each value as it was."""

from __future__ import annotations

import ast
import datetime
import json
import math
import re
import sys
from dataclasses import dataclass
from typing import Any

import pytest
from example_counts import cases
from hostile_strings import STRINGS, TEXT, outside
from hypothesis import example, given
from hypothesis import strategies as st
from judges import json_value
from places import SHARED_DATA
from shipped_words import marks

import promptforge as pf
from promptforge.trimming.json import MAX_JSON_DEPTH, compact, divide
from promptforge.trimming.pieces import TrimmedVariants

MARKER = '[cut "here"]'
GONE = re.compile(
    r'(?:…|\[cut "here"\]) (?:[\d,]+ more|\{[\d,]+ keys\}|\[[\d,]+ items\]|[\d,]+ characters '
    r"more|[\d,]+ more keys)"
)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_json_in_a_text_of_json_is_cut_and_stays_json(depth: int) -> None:
    text = json.dumps({"stock": [{"id": n, "text": 'it "boils" ' * 9} for n in range(40)]})
    for _ in range(depth):
        text = json.dumps([{"type": "text", "text": text}])
    found = variants_of(text)
    assert len(found) > 20
    for variant in found:
        inner = json.loads(variant.text)
        for _ in range(depth):
            if isinstance(inner[0], str):  # "… {2 keys}", or that within
                break
            inner = json.loads(inner[0]["text"])
        assert inner[0][0] in "…[" if isinstance(inner, (list, str)) else set(inner) == {"stock"}
        assert MARKER in variant.text.replace("\\", "")


def test_a_text_of_json_alone_is_cut_too() -> None:
    text = json.dumps(json.dumps([{"id": n, "text": "boils " * 9} for n in range(40)]))
    shortest = list(variants_of(text))[-1]
    assert len(shortest.text) < 300
    assert isinstance(out_of_tables(json.loads(json.loads(shortest.text))), list)


@dataclass
class Kettle:
    name: str
    parts: object = None


REPRS = [
    [{"id": n, "ok": True, "none": None, 3: (n, -1.5), "text": f"it's {n}" * 9} for n in range(40)],
    [Kettle(f"kettle {n}", {"a": {1, 2}, "b": b"x"}) for n in range(40)],
    {"at": datetime.datetime(2026, 11, 5), "rows": [range(3), *[f"row {n}" for n in range(90)]]},
]


@pytest.mark.parametrize("value", REPRS)
def test_data_as_python_prints_them_stay_an_expression(value: object) -> None:
    found = divide(repr(value), marks=marks(MARKER), language="repr")
    assert found is not None and len(found) > 5
    for variant in found:
        ast.parse(variant.text, mode="eval")
    assert len(variant.text) < 250
    assert variant.text[0] == repr(value)[0]


@pytest.mark.parametrize("text", ["{'a': 1", "x = 1", "1 2", "'a'", "{**a}", "[<object at 0x1>]"])
def test_what_python_does_not_print_as_data_has_no_variants(text: str) -> None:
    assert not divide(text, marks=marks(MARKER), language="repr")


KETTLES = {
    "shop": "Kettles and more",
    "stock": [{"id": n, "name": f"Kettle {n}", "text": "boils water " * 12} for n in range(12)],
    "owner": {"name": "A", "address": {"street": "B", "city": {"name": "C", "code": 12345678}}},
}


def variants_of(text: str, marker: str = MARKER) -> TrimmedVariants:
    found = divide(text, marks=marks(marker))
    assert found is not None
    return found


def compacted(text: str) -> str:
    found = compact(text, marks=marks(MARKER))
    assert found is not None and not found.lost
    return found.text


def embedded(value: Any) -> Any:
    """Return the object or array that a text holds as JSON, else None."""
    try:
        return json.loads(value) if isinstance(value, str) and value[:1] in ("{", "[") else None
    except (ValueError, RecursionError):
        return None


def assert_part(short: Any, whole: Any) -> None:
    """Assert that `short` is what is left of `whole`."""
    inner = embedded(whole) if short != whole else None
    if inner is not None:  # JSON in a text is cut as JSON, and stays a text
        assert_part(json.loads(short), inner)
    elif isinstance(short, str) and short != whole and not GONE.search(short):
        place = 0  # a long text, cut by its own structure
        for part in re.split(r'…|\[cut "here"\]', short):
            words = part.strip(" \n[]#-/*<!>|")
            place = whole.index(words, place) + len(words)
    elif isinstance(short, str) and short != whole:
        found = GONE.search(short)
        assert found and found.end() == len(short)
        kept = short[: found.start()]
        if kept:
            assert isinstance(whole, str) and whole.startswith(kept[:-1])
        else:
            assert isinstance(whole, (dict, list))
    elif isinstance(short, dict):
        assert isinstance(whole, dict)
        members, theirs = list(short.items()), list(whole.items())
        if len(members) <= len(theirs) and (not members or members[-1][0] not in whole):
            if members:
                assert GONE.fullmatch(members.pop()[1])
            else:
                assert not whole
        for (name, value), (key, original) in zip(members, theirs, strict=False):
            assert name == key
            assert_part(value, original)
    elif isinstance(short, list):
        assert isinstance(whole, list)
        if len(short) < len(whole) or (
            len(short) > 1 and GONE.fullmatch(str(short[-2])) and short[-2] not in whole
        ):
            assert GONE.fullmatch(short[-2])
            assert_part(short[-1], whole[-1])
            short = short[:-2]
        for value, original in zip(short, whole, strict=False):
            assert_part(value, original)
    else:
        assert type(short) is type(whole) and short == whole


def out_of_tables(value: Any) -> Any:
    """Return a value with the objects of each table in its place."""
    if isinstance(value, list):
        return list(map(out_of_tables, value))
    if not isinstance(value, dict):
        return value
    if list(value) != ["columns", "rows"]:
        return {key: out_of_tables(inner) for key, inner in value.items()}
    found: list[Any] = []
    for cells in value["rows"]:
        if isinstance(cells, str):
            found.append(cells)
            continue
        row: dict[str, Any] = {}
        columns = list(value["columns"])
        gone = columns.pop() if len(cells) < len(columns) else None
        for column, cell in zip(columns, cells, strict=True):
            key, _, inner = column.partition(".")
            (row.setdefault(key, {}) if inner else row)[inner or key] = out_of_tables(cell)
        if gone is not None:
            row["…"] = gone
        found.append(row)
    return found


@pytest.mark.parametrize("rows", [
    [{"id": n, "name": f"kettle {n}", "ok": None} for n in range(60)],
    [{"id": n, "at": {"city": "Oslo", "box": [n, 2.5]}, "parts": [{"a": 1}]} for n in range(60)],
    [{"id": n, "in": [{"key": m, "value": "x"} for m in range(5)]} for n in range(9)],
])  # fmt: skip
@pytest.mark.parametrize("around", [False, True])
def test_like_objects_are_a_table_before_anything_is_cut(rows: Any, around: bool) -> None:
    value = {"count": len(rows), "results": rows} if around else rows
    table = compacted(json.dumps(value, indent=2))
    assert out_of_tables(json.loads(table)) == value
    assert len(table) < 0.9 * len(json.dumps(value, separators=(",", ":")))
    assert "columns" in table
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    assert out_of_tables(json.loads(compacted(lines))) == rows


@pytest.mark.parametrize("rows", [
    [{"id": n, "x": 1} if n % 7 else {"id": n} for n in range(60)],
    [{"a.b": n, "a": {"b": 2}} for n in range(60)],
    [n if n % 9 else {"id": n, "name": 3} for n in range(60)],
])  # fmt: skip
def test_objects_that_differ_in_their_keys_are_no_table(rows: Any) -> None:
    assert json.loads(compacted(json.dumps(rows))) == rows


def test_a_budget_that_the_table_fits_shows_all_rows() -> None:
    rows = [{"id": n, "name": f"kettle {n}", "boils": True} for n in range(200)]
    found = pf.render([{"content": rows}], max_tokens=2400, layout="cited", format="plain")
    assert out_of_tables(json.loads(found.text)) == rows
    assert (found.items[0].status, found.items[0].form) == ("included", "compact")
    found = pf.render([{"content": rows}], max_tokens=2400, compact=False)
    assert (found.items[0].status, found.items[0].form) == ("trimmed", "trimmed")


def test_items_that_fit_together_in_tables_are_all_shown() -> None:
    items = [
        {"content": [{"id": n, "kettle": f"{name}-{n}"} for n in range(40)]} for name in "abcde"
    ]
    for query in (None, "kettle c-7"):
        found = pf.render(items, max_tokens=2200, query=query)
        assert [each.form for each in found.items] == ["compact"] * 5


def assert_laws(text: str, marker: str = MARKER) -> None:
    text = text.encode("utf-16", "surrogatepass").decode(
        "utf-16", "surrogatepass"
    )  # pairs are characters
    found = divide(text, marks=marks(marker))
    if found is None:
        return
    is_lines = False
    try:
        read, whole = json_value, json.loads(text)
    except json.JSONDecodeError:
        is_lines = True
        read = lambda text: [json_value(line) for line in text.split("\n")]  # noqa: E731
        whole = [json.loads(line) for line in text.split("\n") if line.strip()]
    written = re.sub("[\ud800-\udfff]", "\\\\udddd", text)
    before = len(written) + len(json.dumps(marker)) + 40
    for number in range(0, len(found), max(1, len(found) // 10)):
        variant = found[number].text
        variant.encode()
        value = out_of_tables(read(variant))
        if is_lines and isinstance(value[0], list) and not isinstance(whole[0], list):
            (value,) = value  # all lines are one table
        assert_part(value, whole)
        if marker and marker not in text and value != whole:
            written_marker = json.dumps(marker, ensure_ascii=False)[1:-1]
            assert variant.replace("\\", "").count(written_marker.replace("\\", "")) == 1
        assert len(variant) <= before
        before = len(variant) + len(json.dumps(marker))


def test_white_space_goes_first_and_nothing_else_with_it() -> None:
    text = '{\n  "a": 1.50,\n  "b": ["\\u00e9 x", -0, 1e400]\n}\n'
    assert compacted(text) == '{"a":1.50,"b":["\\u00e9 x",-0,1e400]}'
    assert compact('{"a":1}', marks=marks("")) is None


def test_golden() -> None:
    found = variants_of(json.dumps(KETTLES, indent=2), "[cut]")
    texts = [found[number].text for number in range(len(found))]
    assert (
        texts[-1] == '{"shop":"Kettles and more","stock":"[cut] [12 items]","owner":"… {2 keys}"}'
    )
    said = "boils water boils water boils "
    assert (
        '{"shop":"Kettles and more","stock":['
        f'{{"id":0,"name":"Kettle 0","text":"{said} [cut] 114 characters more"}},'
        f'{{"id":1,"name":"Kettle 1","text":"{said} … 114 characters more"}},"… 9 more",'
        f'{{"id":11,"name":"Kettle 11","text":"{said} … 114 characters more"}}],'
        '"owner":{"name":"A","address":{"street":"B","city":{"name":"C","code":12345678}}}}'
    ) in texts
    assert found[len(found) - 1].name == "outline"


def test_lines_stay_lines() -> None:
    lines = [{"n": n, "name": f"kettle {n}"} for n in range(99)]
    text = "".join(json.dumps(line) + "\n" for line in [*lines, {"m": 99}])
    found = list(variants_of(text, "[cut]"))
    assert compacted('{"n": 0}\n{"m": 1}\n') == '{"n":0}\n{"m":1}'
    assert found[-1].text == '{"n":0,"name":"kettle 0"}\n"[cut] 98 more"\n{"m":99}'


def test_of_very_many_keys_the_first_stay() -> None:
    found = variants_of(json.dumps({f"key {n}": n for n in range(500)}), "")
    assert (
        found[len(found) - 1].text
        == '{"key 0":0,"key 1":1,"key 2":2,"key 3":3,"…":"… 496 more keys"}'
    )


def test_a_mark_never_takes_the_place_of_a_key() -> None:
    found = variants_of(json.dumps({"…": "mine", **{f"key {n}": n for n in range(500)}}), "")
    assert json_value(found[len(found) - 1].text)["……"] == "… 497 more keys"


def test_what_is_shorter_than_a_mark_stays() -> None:
    assert len(variants_of(json.dumps([[1, 2, 3], {"a": 1}, "x" * 30]))) == 0


DEEP = "[" * (MAX_JSON_DEPTH + 2) + "]" * (MAX_JSON_DEPTH + 2)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            " ",
            "text",
            "12",
            '"text"',
            "null",
            "{",
            "[1,]",
            "[1] x",
            "[1]\n[2",
            "{}\n12",
            "\ufeff[]",
        ),
        *(
            '{"a": 1, "a": 2}',
            "[" + "1" * 5000 + "]",
            DEEP,
            "[" * 100_000,
            '[{"a":' * 9_000,
        ),
    ],
    ids=lambda text: text[:12],
)
def test_what_could_not_be_written_again_has_no_forms(text: str) -> None:
    assert divide(text, marks=marks(MARKER)) is None


def test_a_nested_text_is_written_from_deep_in_a_program() -> None:
    found = variants_of("[" * MAX_JSON_DEPTH + "]" * MAX_JSON_DEPTH)

    def call(depth: int) -> str:
        return call(depth - 1) if depth else found[0].text

    assert call(sys.getrecursionlimit() // 2) == "[" * MAX_JSON_DEPTH + "]" * MAX_JSON_DEPTH or len(
        found
    )


SCALARS = st.one_of(
    *(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        TEXT,
    ),
    st.builds(
        lambda part, n: part * n,
        st.sampled_from(["é", "word ", "\ud800", "👩‍👩‍👧", "\0"]),
        st.integers(0, 400),
    ),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=8),
        st.dictionaries(st.one_of(TEXT, st.sampled_from(["…", "a", "b"])), inner, max_size=8),
        st.builds(lambda value, n: [value] * n, inner, st.integers(0, 30)),
        st.builds(
            lambda value, n: {f"key {i}": value for i in range(n)}, inner, st.integers(0, 30)
        ),
    ),
    max_leaves=8,
)
CONTAINERS = VALUES.filter(lambda value: isinstance(value, (dict, list)))


@pytest.mark.slow
@given(CONTAINERS, st.sampled_from([None, 2]), st.booleans(), st.sampled_from(["", MARKER]))
@example([1] * 13, None, True, MARKER)
@cases(150)
def test_every_variant_is_valid_and_a_part_of_the_whole(
    value: Any, indent: int | None, plain: bool, marker: str
) -> None:
    assert_laws(json.dumps(value, indent=indent, ensure_ascii=plain), marker)


@pytest.mark.slow
@given(st.lists(CONTAINERS, min_size=2, max_size=8), st.sampled_from(["\n", "\r\n", "\n\n"]))
@example([[], [[{"": None, "`": None}] * 4]], "\n")
@cases(25)
def test_every_variant_of_lines_is_valid(values: list[Any], end: str) -> None:
    assert_laws(end.join(json.dumps(value) for value in values))


@pytest.mark.slow
@pytest.mark.unwatched
def test_hostile_texts() -> None:
    for text in (*STRINGS, f"[{'9' * 130}]", '["it \\"boils\\"", {}]' + " " * 90, *outside()):
        assert_laws(text)
        assert_laws(json.dumps([text, {text: text * 3}] * 4, ensure_ascii=False))


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", sorted(SHARED_DATA.glob("mitre/*.json")), ids=lambda path: path.name
)
def test_real_files(path: Any) -> None:
    text = path.read_text("utf-8")
    found = variants_of(text)
    whole = json.loads(text)
    for number in range(0, len(found), 9):
        assert_part(out_of_tables(json_value(found[number].text)), whole)


RECORDS = st.dictionaries(
    st.text(max_size=9), st.integers() | st.text() | st.lists(st.booleans()), min_size=1, max_size=4
)


def holds(value: Any, wanted: Any) -> bool:
    """Tell whether a value holds another one whole."""
    if value == wanted:
        return True
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(holds(each, wanted) for each in inner)


@pytest.mark.slow
@given(
    st.lists(RECORDS, min_size=3, max_size=30),
    st.data(),
)
@cases(100)
def test_what_answers_stays_whole_in_valid_json(values: list[Any], data: Any) -> None:
    number = data.draw(st.integers(0, len(values) - 1))
    values[number] = {"name": "the wanted one", "text": "x" * data.draw(st.integers(0, 300))}
    whole = {"a": {"b": values}}
    found = divide(json.dumps(whole), marks=marks(MARKER))
    if found is None:
        return

    def match(texts: Any, labels: Any) -> list[float]:
        return [float("the wanted one" in text) for text in texts]

    variants = found.under_query(match)
    plain = divide(json.dumps(whole), marks=marks(MARKER))
    assert plain is not None
    for place, each in enumerate(variants):
        short = json.loads(each.text, parse_float=str)
        # Where it has no room its name answers; the last variant is the shortest without a query.
        answers = holds(short, values[number]) or holds(short, "the wanted one")
        assert answers or place == len(variants) - 1 or len(plain) <= 1


def test_a_query_finds_its_record_and_the_path_to_it() -> None:
    users = [{"id": n, "name": f"user{n}", "balance": n * 37 % 1000} for n in range(200)]
    lines = "\n".join(json.dumps({"level": "info", "msg": f"batch {n}"}) for n in range(200))
    paths = {
        f"/things{n}": {"get": {"summary": f"List {n}", "limit": {"type": n}}} for n in range(60)
    }
    for text, query, wanted in (
        (
            json.dumps(users),
            "what is the balance of user77",
            '[77,"user77",849]',
        ),
        (
            lines + "\n" + '{"level":"error","msg":"disk full"}' + "\n" + lines,
            "disk full",
            '"disk full"',
        ),
        (
            json.dumps({"paths": paths}),
            "limit of things23",
            '"/things23":{"get":{"summary":"List 23"',
        ),
    ):
        item = pf.Item(content=text, kind="file", language="json")
        assert wanted in pf.render([item], max_tokens=150, query=query).text


def test_a_record_is_found_beside_documents_that_have_more_of_the_words() -> None:
    users = json.dumps(
        [{"id": n, "name": f"user{n}", "balance": n * 37 % 1000} for n in range(300)]
    )
    said = "The balance of an account is paid on day {}. Users see what it is in their page."
    documents = [
        pf.Item(name=f"page {k}", content="\n\n".join(said.format(k + n) for n in range(12)))
        for k in range(4)
    ]
    items = [*documents, pf.Item(content=users, kind="file", language="json")]
    for budget in (250, 600, 900):
        found = pf.render(items, max_tokens=budget, query="what is the balance of user77")
        assert '[77,"user77",849]' in found.text and found.tokens > budget * 0.9
    # Alone it has the rest of the room for others.
    text = pf.render(items[-1:], max_tokens=600, query="what is the balance of user77").text
    assert '"user77"' in text and '"user0"' in text and '"user12"' in text


def test_values_of_a_long_record_are_found_alone() -> None:
    text = json.dumps({f"key{n}": f"value {n} " + "long " * 30 for n in range(100)})
    item = pf.Item(content=text, kind="file", language="json")
    shown = pf.render([item], max_tokens=150, query="which value has key61").text
    assert '"key61":"value 61' in shown and "key59" not in shown


def test_a_text_in_a_list_answers_where_the_list_has_no_room() -> None:
    pages = [f"guide/{name}-and-more.mdx" for name in ("clocks", "hats", "kettles", "ropes") * 9]
    pages[20] = "guide/lanterns-and-more.mdx"
    text = json.dumps({"version": 1, "notes": "Pages of the guide. " * 9, "pages": pages})
    item = pf.Item(content=text, kind="tool_result")
    found = pf.render([item], max_tokens=80, query="where are the lanterns", format="plain")
    assert "guide/lanterns-and-more.mdx" in found.text


def test_what_stands_around_an_answer_goes_before_it() -> None:
    rows: list[Any] = [{"from": [f"/old/page{n}"], "to": f"/new/page{n}/"} for n in range(30)]
    rows[12] = {"from": ["/old/lanterns", "/old/lanterns.html"], "to": "/new/light/", "code": 308}
    text = json.dumps({"version": 1, "day": "2026-07-28", "by": "The team", "rules": rows})
    item = pf.Item(content=text, kind="tool_result")
    for room in (80, 100):
        found = pf.render([item], max_tokens=room, query="lanterns", format="plain")
        assert '{"from":["/old/lanterns","/old/lanterns.html"],"to":"/new/light/"' in found.text


@pytest.mark.slow
def test_a_record_behind_thousands_of_others_answers() -> None:
    rows = [{"id": number, "note": "quiet"} for number in range(4_000)]
    rows[3_800]["note"] = "the pump is oiled every eleven days"
    item = pf.Item(language="json", content=json.dumps(rows))
    assert "oiled every eleven days" in pf.render([item], query="oiled pump", max_tokens=300).text


LOG = "".join(f"job {n} done\n" for n in range(2000)).replace("1200 done", "1200 FAILED: no quota")
BOOK = "# Title\n\n" + "".join(
    f"## Part {n}\n\nThis part tells about subject {n}. Its torque is {n} Nm.\n\n"
    for n in range(80)
).replace("subject 50", "the flux capacitor")


@pytest.mark.parametrize("query", [None, "why did job 1200 fail?"])
@pytest.mark.parametrize(
    "data", [{"stdout": LOG, "exit_code": 0}, [{"type": "text", "text": LOG}], {"a": {"b": [LOG]}}]
)
def test_a_long_text_within_is_cut_by_its_own_structure(data: Any, query: str | None) -> None:
    item = pf.Item(content=json.dumps(data))
    result = pf.render([item], query=query, layout="cited", format="plain", max_tokens=300)
    text = result.text[result.text.index("[{"[isinstance(data, dict)]) :]
    assert "no quota" in str(json.loads(text)) and result.tokens <= 300


def test_what_answers_stays_in_a_long_text_within() -> None:
    rows = [{"id": n, "text": BOOK if n == 7 else BOOK.replace("flux", "other")} for n in range(20)]
    item = pf.Item(content=json.dumps({"results": rows}))
    result = pf.render([item], query="torque of the flux capacitor", max_tokens=600)
    assert "the flux capacitor" in result.text


def test_a_text_with_control_characters_within_is_written_again() -> None:
    item = pf.Item(content=json.dumps({"a": "\0 \1 " + LOG}))
    result = pf.render([item], layout="cited", format="plain", max_tokens=100)
    assert json.loads(result.text[result.text.index("{") :])["a"].startswith("\0 \1 job 0")


def test_lines_without_a_blank_within_are_lines() -> None:
    text = "".join(f"src/part{n}/file{n}.py\n" for n in range(400)) + "src/needle.py\n"
    item = pf.Item(content=json.dumps({"stdout": text}))
    result = pf.render([item], query="needle", layout="cited", format="plain", max_tokens=200)
    assert "src/needle.py" in result.text


def test_numbers_that_only_python_writes_are_kept() -> None:
    rows = [{"id": n, "share": float(f"{n}.50")} for n in range(60)]
    data = {"low": -math.inf, "high": math.inf, "mean": math.nan, "rows": rows, "end": "LAST"}
    text = json.dumps(data)
    for variant in variants_of(text):
        found = out_of_tables(json.loads(variant.text))
        assert found["low"] == -math.inf and found["high"] == math.inf
        assert math.isnan(found["mean"])
        assert found["end"] == "LAST"
    result = pf.render([pf.Item(path="n.json", content=text)], max_tokens=150)
    assert '"mean":NaN' in result.text and '"end":"LAST"' in result.text
