"""Runs of a batch: in order, equal for any workers and engine, and continued."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from batch_runs import ENGINES, ROWS, records, shard_files
from commandline import command, run, said, write
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st
from kill_campaign import requests

import promptforge as pf
from promptforge import batch
from promptforge.batch.rows import BatchInput
from promptforge.batch.store import (
    BATCH_SERVICES,
    RequestFiles,
    ShardSummary,
    json_lines_writer,
    write_results,
)
from promptforge.config.options import Options
from promptforge.errors import ItemError, OptionError, pip_install

pytestmark = pytest.mark.usefixtures("batch_folder")


# --- what comes out -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_results_are_equal_for_any_engine_and_workers(
    engine: str, expected: bytes, processes: None
) -> None:
    report = batch.run("in.jsonl", "out.jsonl", engine=engine, workers=2, part_rows=17)
    assert Path("out.jsonl").read_bytes() == expected
    assert (report.rows, report.errors, report.kept, report.complete) == (ROWS, ROWS // 10, 0, True)
    good, bad = records("out.jsonl"), records("out.jsonl.batch/errors.jsonl")
    assert sorted(row["line"] for row in [*good, *bad]) == list(range(1, ROWS + 1))
    assert report.tokens == sum(row["tokens"] for row in good)
    assert good[0]["text"] == pf.render(next(requests(1))["items"], max_tokens=100).text


@pytest.mark.slow
def test_a_folder_holds_all_and_parquet_the_same(expected: bytes) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    assert batch.run("in.jsonl", "out", limit=40).files == ("out/results.jsonl",)
    assert expected.startswith(Path("out/results.jsonl").read_bytes())
    batch.run("in.jsonl", "out.parquet", limit=40)
    table = parquet.read_table("out.parquet").to_pylist()
    for row, line in zip(table, records("out/results.jsonl"), strict=True):
        nested = {name: json.loads(row[name]) for name in ("cut", "warnings")}
        assert row | nested == {"request": None, **line}


def test_nothing_is_a_result_too() -> None:
    Path("empty.jsonl").write_text("\n")
    report = batch.run("empty.jsonl", "out.jsonl")
    assert (report.rows, report.errors_file, Path("out.jsonl").read_bytes()) == (0, None, b"")


# --- going on -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_is_done_is_kept_and_what_changed_is_done_again(expected: bytes) -> None:
    first = batch.run("in.jsonl", "out.jsonl", part_rows=30)
    again = batch.run("in.jsonl", "out.jsonl", part_rows=30)
    assert (first.kept, again.kept, again.changed, again.files) == (0, ROWS, (), first.files)
    lines = Path("in.jsonl").read_bytes().splitlines(keepends=True)
    Path("in.jsonl").write_bytes(b"".join([*lines[:-1], b'{"id": "new", "items": []}\n']))
    changed = batch.run("in.jsonl", "out.jsonl", part_rows=30)
    assert (changed.kept, changed.changed) == (90, ("input",))
    assert records("out.jsonl")[-1]["id"] == "new"
    other = batch.run("in.jsonl", "out.jsonl", part_rows=30, format="xml")
    assert (other.kept, other.changed) == (0, ("options",))
    assert records("out.jsonl")[0]["text"].startswith("<")
    assert len(shard_files("out.jsonl.batch")) == 4
    Path("in.jsonl").write_bytes(b"".join(lines))
    batch.run("in.jsonl", "out.jsonl", part_rows=30)
    assert Path("out.jsonl").read_bytes() == expected


def test_a_changed_template_or_profile_is_seen() -> None:
    Path("t/chunks").mkdir(parents=True)
    Path("p").mkdir()
    one = {"items": [{"content": "x"}]}
    given: dict[str, Any] = {"templates": "t", "profiles": "p"}
    assert batch.run([one], "out.jsonl", **given).changed == ()
    Path("t/chunks/item.md.j2").write_text(
        "{# An item. item: the item #}\nmine: {{ item.content }}\n"
    )
    assert batch.run([one], "out.jsonl", **given).changed == ("templates",)
    assert "mine: x" in records("out.jsonl")[0]["text"]
    Path("p/own.yaml").write_text("max_tokens: 9\n")
    assert batch.run([one], "out.jsonl", **given).changed == ("profile",)


def test_a_file_that_a_row_names_is_seen_to_change() -> None:
    rows = [{"files": "a.txt"}, {"files": "b.txt"}]
    Path("a.txt").write_text("first")
    assert batch.run(rows, "out.jsonl", part_rows=1).errors == 1
    assert batch.run(rows, "out.jsonl", part_rows=1).kept == 2
    Path("b.txt").write_text("late")
    report = batch.run(rows, "out.jsonl", part_rows=1)
    assert (report.kept, report.errors, report.changed) == (1, 0, ("what rows name",))
    assert not Path("out.jsonl.batch/errors.jsonl").exists()


@pytest.mark.slow
def test_failed_rows_are_done_again_when_asked() -> None:
    assert batch.run("in.jsonl", "out.jsonl", part_rows=1).errors == 12
    assert batch.run("in.jsonl", "out.jsonl", part_rows=1, retry=True).kept == ROWS - 12


@pytest.mark.slow
def test_a_limit_ends_early_and_is_no_end(expected: bytes) -> None:
    assert batch.run("in.jsonl", "out.jsonl", limit=50, part_rows=25).rows == 50
    report = batch.run("in.jsonl", "out.jsonl", part_rows=25)
    assert (report.rows, report.kept) == (ROWS, 50)
    assert Path("out.jsonl").read_bytes() == expected
    assert batch.run("in.jsonl", "out.jsonl", limit=25, part_rows=25).kept == 25
    assert batch.run("in.jsonl", "out.jsonl", part_rows=25).kept == ROWS


@pytest.mark.slow
def test_too_many_errors_end_it_and_what_is_done_is_kept() -> None:
    report = batch.run("in.jsonl", "out.jsonl", part_rows=10, max_errors=3, workers=1)
    assert not report.complete and report.files == () and not Path("out.jsonl").exists()
    assert 4 <= report.errors < 12
    assert batch.run("in.jsonl", "out.jsonl", part_rows=10).kept >= report.rows


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given, words",
    [
        ({"input": "none.jsonl"}, "none.jsonl: cannot be read"),
        ({"input": "."}, "holds the output"),
        ({"input": "*.none"}, "matches no file"),
        ({"max_tokens_per_file": 9}, "for the files of a batch service"),
        ({"output": "in.jsonl"}, "the input and the output"),
        ({"output": "full"}, "holds no batch"),
        ({"output": "full/mine.txt/out.jsonl"}, "full/mine.txt is a file"),
        ({"output": "folder.jsonl"}, "folder.jsonl is a folder"),
        (
            {"output": "-"},
            "-: an output ends in .jsonl, .ndjson, .parquet, or is the name of a folder",
        ),
        ({"output": "results.csv"}, "results.csv: an output ends in"),
        ({"to": "opnai"}, 'did you mean "openai"'),
        ({"engine": "roy"}, 'did you mean "ray"'),
        ({"address": "here"}, "for the engine ray"),
        ({"format": "nope"}, "has a format"),
        ({"max_tokens": "x"}, "max_tokens"),
        ({"profile": "none"}, "no profile"),
        ({"tokenizer": object()}, "plain data"),
        ({"to": "openai-batch", "output": "out"}, "--model"),
        ({"to": "openai-batch", "model": "m"}, "output is a folder"),
        ({"to": "anthropic-batch", "model": "m", "output": "out"}, "--reserve"),
    ],
)
def test_what_is_wrong_with_all_rows_is_said_at_once(given: dict[str, Any], words: str) -> None:
    Path("full").mkdir()
    Path("folder.jsonl").mkdir()
    Path("full/mine.txt").touch()
    before = sorted(Path().rglob("*"))
    with pytest.raises(pf.PromptForgeError) as caught:
        batch.run(**{"input": "in.jsonl", "output": "out.jsonl", **given})
    assert words in str(caught.value)
    assert sorted(Path().rglob("*")) == before


# --- files for providers --------------------------------------------------------------------------


def bodies(names: list[str], sizes: list[int]) -> Iterator[tuple[ShardSummary, bytes]]:
    for line, (name, size) in enumerate(zip(names, sizes, strict=True), 1):
        record = {
            "id": name,
            "line": line,
            "tokens": size,
            "request": {"messages": "m" * size},
        }
        yield ShardSummary(1, 0, 0, "", ""), json.dumps(record).encode() + b"\n"


names = st.text("ab_-é /", max_size=3)


@cases(60)
@given(
    st.lists(st.tuples(names, st.integers(0, 200)), max_size=20),
    st.sampled_from(list(BATCH_SERVICES)),
    st.integers(1, 5),
    st.integers(200, 600),
    st.none() | st.integers(1, 400),
)
def test_files_keep_the_limits_and_the_index_finds_every_request(
    rows: list[tuple[str, int]], to: str, requests: int, size: int, tokens: int | None
) -> None:
    folder = Path(f"files-{time.monotonic_ns()}")
    folder.mkdir()
    (folder / "requests-00099.jsonl").touch()
    provider = BATCH_SERVICES[to]._replace(max_requests=requests, max_bytes=size)
    call = {"model": "some-model", "temperature": 0}
    files = RequestFiles(folder, provider, call, Options(reserve=9), tokens)
    given_names, sizes = [name for name, _ in rows], [size for _, size in rows]
    _, errors = write_results(files.write, bodies(given_names, sizes), folder / "errors.jsonl")
    index = records(folder / "index.jsonl")
    failed = records(folder / "errors.jsonl") if errors else []
    assert sorted(entry["row"] for entry in index) == [entry["row"] for entry in index]
    assert sorted([*(e["row"] for e in index), *(e["line"] for e in failed)]) == list(
        range(1, len(rows) + 1)
    )
    assert len({entry["custom_id"] for entry in index}) == len(index)
    found = sorted(folder.glob("requests-*"))
    assert [path.name for path in found] == list(dict.fromkeys(entry["file"] for entry in index))
    for path in found:
        data = path.read_bytes()
        assert len(data) <= size
        mine = [entry for entry in index if entry["file"] == path.name]
        assert 0 < len(mine) <= requests
        assert tokens is None or sum(sizes[entry["row"] - 1] for entry in mine) <= tokens
        if to == "anthropic-batch":
            assert [each["custom_id"] for each in json.loads(data)["requests"]] == [
                e["custom_id"] for e in mine
            ]
        lines = data.decode().split("\n")
        for entry in mine:
            request = json.loads(lines[entry["line"] - 1].removesuffix(","))
            assert entry["custom_id"] in map(request.get, ("custom_id", "key", "recordId"))
            keys = ("body", "params", "request", "modelInput")
            (body,) = (request[k] for k in keys if k in request)
            body |= body.get("generation_config", {})
            model = body.get("model", "").removeprefix("models/")
            assert model == ("" if to == "bedrock-batch" else "some-model")
            assert body["messages"] == "m" * sizes[entry["row"] - 1]
            assert body["temperature"] == 0 and body.get("max_tokens", 9) == 9
    kinds = {record["error"] for record in failed}
    assert kinds <= {"DuplicateId", "RequestTooLarge"}


def test_requests_for_a_batch_service() -> None:
    rows: list[dict[str, Any]] = [
        {"id": "a", "items": [{"content": "x"}], "system": "s", "user": "u"},
        {"id": "a", "user": "again"},
    ]
    report = batch.run(rows, "out", to="openai-batch", model="m", body={"temperature": 0})
    assert (report.rows, report.errors, report.errors_file) == (2, 1, "out/errors.jsonl")
    (request,) = records("out/requests-00001.jsonl")
    prompt = pf.Renderer().prompt(rows[0]["items"], system="s", user="u", to="openai")
    assert request == {
        "custom_id": "a",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {"model": "m", "temperature": 0, **prompt.request},
    }
    (entry,) = records("out/index.jsonl")
    assert (entry["custom_id"], entry["row"], entry["tokens"]) == ("a", 1, prompt.tokens)
    assert entry["cut"] == entry["warnings"] == [] and "request" not in entry
    other = batch.run(rows, "out", to="openai-batch", model="other")
    assert other.kept == 2 and records("out/requests-00001.jsonl")[0]["body"]["model"] == "other"


def test_errors_and_results_are_told_apart_by_their_lines() -> None:
    body = b'{"id":"a"}\n{"error":"E","id":"b","line":2}\n{"id":"c","text":"{\\"error\\":"}\n'
    shards = [(ShardSummary(3, 1, 0, "", ""), body)]
    files, errors = write_results(json_lines_writer(Path("o.jsonl")), shards, Path("e.jsonl"))
    assert (files, Path("o.jsonl").read_bytes().count(b"\n"), errors) == ([Path("o.jsonl")], 2, 1)
    assert json.loads(Path("e.jsonl").read_bytes())["id"] == "b"


# --- the command ----------------------------------------------------------------------------------


def test_the_command_says_what_it_did() -> None:
    ran = run("batch", "in.jsonl", "-o", "out.jsonl", "--limit", "20")
    assert (ran.code, ran.out) == (1, "")
    lines, first = ran.err.splitlines(), records("out.jsonl.batch/errors.jsonl")[0]
    assert lines[0].startswith("promptforge: 20 rows, ")
    assert lines[1:] == [
        "promptforge: 2 rows failed: out.jsonl.batch/errors.jsonl",
        f"promptforge: the first, line {first['line']}: {first['error']}: {first['message']}",
        "promptforge: PF111 in 18 rows: items were shortened or dropped to fit the budget",
        "promptforge: PF131 in 18 rows: chunks overlap, and what they have in common is shown once",
        "promptforge: results: out.jsonl",
    ]
    assert run("batch", "in.jsonl").err.startswith("promptforge: -o or --output is missing; give")
    ran = run(
        "batch", "in.jsonl", "-o", "out.jsonl", "--limit", "20", "--max-errors", "2", "--json", "-q"
    )
    report = json.loads(ran.out)
    assert (ran.code, ran.err) == (0, "")
    assert (report["promptforge"], report["rows"], report["kept"], report["complete"]) == (
        1,
        20,
        20,
        True,
    )
    ran = run("batch", "in.jsonl", "-o", "out.jsonl", "--limit", "20", "--max-errors", "1")
    assert ran.code == 1 and "ended: 2 rows failed" in ran.err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_columns_of_a_users_own() -> None:
    row = {"qid": "a", "question": "Is it?", "contexts": ["It is."], "gold": "yes"}
    Path("own.jsonl").write_text(json.dumps(row) + "\n")
    columns = "id=qid, user=question,items=contexts"
    assert run("batch", "own.jsonl", "-o", "own-out.jsonl", "--columns", columns).code == 0
    made = records("own-out.jsonl")[0]
    assert (made["id"], made["text"]) == ("a", pf.Renderer().prompt(["It is."], user="Is it?").text)
    ran = run("batch", "own.jsonl", "-o", "own-out.jsonl", "--columns", "items=context")
    assert ran.code == 2 and 'did you mean "contexts"' in ran.err
    for wrong in ("question", "user=", "user=question,user=gold"):
        assert run("batch", "own.jsonl", "-o", "o.jsonl", "--columns", wrong).code == 2


def test_a_table_of_csv_gives_what_json_lines_give() -> None:
    cells = "".join(
        f'{number};"How does {name} end?";"[""It ends; with {name}."",\n""No more.""]";\n'
        for number, name in enumerate("abc")
    )
    write("d.CSV", f"\ufeffqid;question;contexts;gold\r\n{cells}")
    lines = [
        {
            "qid": str(number),
            "question": f"How does {name} end?",
            "contexts": [f"It ends; with {name}.", "No more."],
        }
        for number, name in enumerate("abc")
    ]
    write("d.jsonl", "".join(f"{json.dumps(line)}\n" for line in lines))
    columns = {"id": "qid", "user": "question", "items": "contexts"}
    made: list[list[dict[str, Any]]] = []
    for name in ("d.CSV", "d.jsonl"):
        assert batch.run(name, "out.jsonl", columns=columns, workers=1).errors == 0
        made.append([{**record, "warnings": []} for record in records("out.jsonl")])
    assert made[0] == made[1] and [record["id"] for record in made[0]] == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,id\n1,a\n", "d.csv: two columns have one name"),
        ('id,question\n1,a\n2,"b" c\n', "d.csv:3: no CSV in UTF-8 that can be read"),
        ("id,question\n1,a\n2,\xe9\n", "no CSV in UTF-8 that can be read"),
    ],
)
def test_a_table_that_cannot_be_read_is_said(text: str, words: str) -> None:
    Path("d.csv").write_bytes(text.encode("latin-1"))
    said(run("batch", "d.csv", "-o", "out.jsonl"), 4, words)


@pytest.mark.parametrize("text", [
    "id,question\n1,What is tar?\n\n2,Who?\n",
    "sep=|\r\nid|question\r\n1|What is tar?\r\n2|Who?\r\n",
    'id\tquestion\n1\t"What is tar?"\n2\tWho?\n',
    '{"id": "1", "question": "What is tar?"}\n{"id": "2", "question": "Who?"}\n',
    '[{"id": "1", "question": "What is tar?"}, {"id": "2", "question": "Who?"}]',
])  # fmt: skip
def test_rows_are_the_same_from_a_file_packed_or_not_and_a_pipe(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = {"{": "d.jsonl", "[": "d.json"}.get(text[0], "d.csv")
    write(name, text)
    packed = gzip.compress(text.encode())
    Path(f"{name}.gz").write_bytes(packed)
    expected = [(1, {"id": "1", "question": "What is tar?"}), (2, {"id": "2", "question": "Who?"})]
    for source, data in ((name, b""), (f"{name}.gz", b""), ("-", text.encode()), ("-", packed)):
        stream = io.TextIOWrapper(io.BufferedReader(io.BytesIO(data)))
        monkeypatch.setattr("sys.stdin", stream)
        found = [(number, json.loads(row)) for number, row in BatchInput(source).rows()]
        assert (source, found) == (source, expected)


@pytest.mark.parametrize("text", [
    "id: 1\nitems: [a, b]\n", '{"id": 1,\n', "oops\n", '# rows, of today\n{"id": 1}\n',
    '[1, 2]\n{"id": 1}\n',
])  # fmt: skip
def test_a_pipe_of_anything_else_is_no_table(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BufferedReader(io.BytesIO(text.encode())))
    monkeypatch.setattr("sys.stdin", stream)
    assert [row for _, row in BatchInput("-").rows()] == text.encode().splitlines()


def test_a_row_of_csv_that_lacks_cells_says_so() -> None:
    write("d.csv", "id,question,system\n1,a,Be brief.\n2,b\n")
    assert batch.run("d.csv", "out.jsonl", workers=1).errors == 0
    said = [[w["message"] for w in record["warnings"]] for record in records("out.jsonl")]
    assert said == [[], ["the row has fewer cells than the table has columns"]]


@pytest.mark.parametrize("cell", ['["It is closed."]', "[{'content': 'It is closed.'}]"])
def test_a_list_in_a_cell_of_items_is_no_name_of_a_file(cell: str) -> None:
    write("d.csv", 'id,items\n1,"' + cell.replace('"', '""') + '"\n')
    assert batch.run("d.csv", "out.jsonl", workers=1).errors == 0
    assert "It is closed." in records("out.jsonl")[0]["text"]


def test_a_line_of_a_table_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("promptforge.batch.rows.MAX_ROW_BYTES", 20)
    for number, text in enumerate((f"id,question{'n' * 20}\n", f"id,question\n1,{'n' * 20}\n"), 1):
        write("d.csv", text)
        with pytest.raises(ItemError, match=rf"d.csv:{number}: .*a line longer than"):
            list(BatchInput("d.csv").rows())


def test_a_row_of_csv_with_too_many_cells_fails_alone() -> None:
    write("d.csv", "id,question\n1,a,b\n2,c\n")
    assert batch.run("d.csv", "out.jsonl", workers=1).errors == 1
    assert [record["id"] for record in records("out.jsonl")] == ["2"]


def test_a_list_of_json_gives_a_row_for_each_object() -> None:
    rows = [{"id": name, "items": [{"content": f"It is {name}."}]} for name in "abc"]
    write("d.json", json.dumps([*rows[:2], 7, rows[2]], indent=2))
    report = batch.run("d.json", "out.jsonl", workers=1)
    assert (report.rows, report.errors) == (4, 1)
    assert [record["id"] for record in records("out.jsonl")] == ["a", "b", "c"]
    write("d.json", "\ufeff\n " + json.dumps(rows))
    assert batch.run("d.json", "out3.jsonl", workers=1).errors == 0
    for name in ("e.json", "e.yaml"):
        write(name, '{\n  "id": "a"\n}\n')
        said(run("batch", name, "-o", "out4.jsonl"), 4, f"{name}: holds no rows")
        assert not Path("out4.jsonl").exists()
    write("d.json", '[{"items": []},')
    said(run("batch", "d.json", "-o", "out2.jsonl"), 4, "d.json", "not valid JSON")


@pytest.mark.slow
def test_json_lines_may_have_any_name() -> None:
    for name in ("a.json", "a.csv"):
        write(name, '{"items": [{"content": "one"}]}\n')
        assert batch.run(name, "out.jsonl", workers=1).errors == 0
    write("empty.json", "")
    assert batch.run("empty.json", "empty-out.jsonl").rows == 0


def test_a_named_pipe_is_read_once() -> None:
    os.mkfifo("pipe")
    writer = subprocess.Popen(["sh", "-c", "head -n 3 in.jsonl > pipe"])
    assert batch.run("pipe", "out.jsonl").rows == 3
    assert writer.wait() == 0


@pytest.mark.slow
def test_standard_input_and_flags() -> None:
    row = json.dumps({"items": [{"content": "x"}]}).encode()
    ran = command("batch", "-", "-o", "out.JSONL", "--format", "xml", stdin=row)
    assert (ran.code, ran.out) == (0, "") and ran.err.startswith("promptforge: 1 row, ")
    assert records("out.JSONL")[0]["text"] == pf.render([{"content": "x"}], format="xml").text


@pytest.mark.parametrize("body", ["[1]", "text"])
def test_a_body_is_keys_and_values(body: str) -> None:
    ran = run(
        "batch", "in.jsonl", "-o", "out", "--to", "openai-batch", "--model", "m", "--body", body
    )
    assert ran.code == 2 and "--body" in ran.err


def test_input_and_output_may_be_urls(monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory")
    rows: list[dict[str, Any]] = [
        {"id": "a", "items": [{"content": "one"}]},
        {"id": "b", "items": 3},
    ]
    store.pipe("/rows/in.jsonl", "\n".join(map(json.dumps, rows)).encode())
    ran = run("batch", "memory://rows/in.jsonl", "-o", "memory://done/out.jsonl", "--workers", "1")
    assert ran.code == 1 and "results: memory://done/out.jsonl" in ran.err
    assert "1 row failed: memory://done/out.jsonl.batch/errors.jsonl" in ran.err
    assert json.loads(store.cat("/done/out.jsonl"))["id"] == "a"
    assert json.loads(store.cat("/done/out.jsonl.batch/errors.jsonl"))["id"] == "b"
    assert Path("out.jsonl").read_bytes() == store.cat("/done/out.jsonl")
    again = run(
        "batch", "memory://rows/in.jsonl", "-o", "memory://done/out.jsonl", "--workers", "1"
    )
    assert "2 rows, 2 of them by an earlier run" in again.err
    assert not Path("memory:").exists()
    here = Path.cwd()
    for url in (f"file://{here}/same.jsonl", f"simplecache::file://{here}/deep/chain.jsonl"):
        ran = run("batch", "memory://rows/in.jsonl", "-o", url, "--workers", "1")
        assert ran.code == 1 and f"results: {url}" in ran.err
    made = ("same.jsonl", "deep/chain.jsonl")
    assert [Path(one).read_bytes() for one in made] == [Path("out.jsonl").read_bytes()] * 2
    lost = run("batch", "memory://rows/none.jsonl", "-o", "out2.jsonl")
    assert lost.code == 4 and "memory://rows/none.jsonl: cannot be read" in lost.err
    with pytest.raises(OptionError, match="templates takes a name or a path; got"):
        batch.run([{}], here / "out", templates=5)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match=r"s3://b/x\.jsonl is a URL"):
        batch.run(rows, "s3://b/x.jsonl")
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    assert run("batch", "memory://rows/in.jsonl", "-o", "memory://out.jsonl").code == 2
    missing = run("batch", "s3://b/in.jsonl", "-o", "out3.jsonl")
    assert missing.code == 2 and pip_install("remote") in missing.err
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    early = run("batch", "rows.jsonl", "-o", "s3://b/out4.jsonl")
    assert early.code == 2 and pip_install("remote") in early.err
    assert not Path("out4.jsonl.batch").exists()


def test_folders_patterns_and_packed_files_are_one_input(tmp_path: Path) -> None:
    rows = [{"id": f"r{n}", "items": [{"content": f"text {n}"}]} for n in range(5)]
    lines = [json.dumps(row).encode() + b"\n" for row in rows]
    Path("rows/deep/_temporary").mkdir(parents=True)
    Path("rows/a.jsonl").write_bytes(lines[0] + b"\n" + lines[1][:-1])
    Path("rows/b.jsonl.gz").write_bytes(gzip.compress(lines[2], mtime=0) + gzip.compress(b"3\n"))
    Path("rows/deep/c.ndjson").write_bytes(lines[3])
    Path("rows/deep/_temporary/d.jsonl").write_bytes(lines[4])
    Path("rows/_SUCCESS").touch()
    Path("rows/notes.txt").touch()
    report = batch.run("rows", "out.jsonl", workers=1)
    assert (report.rows, report.errors, report.left_out) == (5, 1, ("rows/notes.txt",))
    assert [(r["id"], r["line"]) for r in records("out.jsonl")] == [
        *(("r0", 1), ("r1", 3), ("r2", 4)),
        ("r3", 6),
    ]
    (failed,) = records("out.jsonl.batch/errors.jsonl")
    assert (failed["line"], failed["file"], failed["file_line"]) == (5, "rows/b.jsonl.gz", 2)
    assert batch.run("rows", "out.jsonl", workers=1).kept == 5
    few = run("batch", "rows/*.jsonl*", "-o", "few.jsonl", "--workers", "1")
    assert few.code == 1 and len(records("few.jsonl")) == 3
    for output in ("rows/out.jsonl", "rows/out"):
        inside = run("batch", "rows", "-o", output)
        assert inside.code == 4 and "rows: holds the output" in inside.err
    assert "none*: matches no file" in run("batch", "none*", "-o", "lost.jsonl").err
    Path("empty").mkdir()
    assert "empty: no file there ends in .parquet" in run("batch", "empty", "-o", "lost.jsonl").err
    Path("rows/b.jsonl.gz").write_bytes(gzip.compress(lines[2] * 99, mtime=0)[:-9])
    cut = run("batch", "rows", "-o", "cut.jsonl", "--workers", "1")
    assert cut.code == 4 and "rows/b.jsonl.gz: cannot be read" in cut.err


def test_zstandard_and_parquet_are_read_from_a_store() -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    store = pytest.importorskip("fsspec").filesystem("memory")
    packed = arrow.compress(
        b'{"id": "a", "items": [{"content": "one"}]}\n' * 2, codec="zstd", asbytes=True
    )
    store.pipe("/many/1.jsonl.zst", packed + packed)
    parquet.write_table(arrow.table({"user": ["u"], "id": ["p"]}), "local.parquet")
    store.pipe("/many/in/2.parquet", Path("local.parquet").read_bytes())
    store.pipe("/many/read.me", b"")
    report = batch.run("memory://many", "out.jsonl", to="text", workers=1)
    assert (report.rows, report.errors) == (5, 0)
    assert report.left_out == ("memory:///many/read.me",)
    assert [record["id"] for record in records("out.jsonl")] == [*"aaaa", "p"]
    assert batch.run("memory://many/*.zst", "few.jsonl", workers=1).rows == 4


def test_links_to_nothing_in_a_folder_are_no_files() -> None:
    Path("rows").mkdir()
    Path("rows/a.jsonl").write_text('{"items": [{"content": "one"}]}\n')
    Path("rows/.#a.jsonl").symlink_to("nobody@nowhere")
    assert batch.run("rows", "out.jsonl", workers=1).rows == 1


@pytest.mark.slow
def test_a_run_ends_where_none_of_the_first_rows_succeeds() -> None:
    shown: list[Any] = []
    wrong: list[Any] = [{"id": f"r{n}", "items": f"none-{n}.jsonl"} for n in range(300)]
    given: dict[str, Any] = {"workers": 1, "part_rows": 50, "progress": shown.append}
    report = batch.run(wrong, "out.jsonl", **given)
    assert not report.complete and 100 <= report.rows < 300
    said = "ItemError: none-0.jsonl: cannot read it: no such file or directory"
    assert report.reason == f"line 1: {said}"
    assert shown[0].rows == 0 and shown[-1].errors == report.rows
    again = batch.run(wrong, "out.jsonl", **given)
    assert not again.complete and again.kept
    assert batch.run(wrong, "out.jsonl", max_errors=300, **given).complete
    # A few rows that fail for other reasons change nothing, wherever they are.
    bad = [{"nope": 1}, {"items": 5}, {"profile": "nobody"}]
    mixed = [bad[0], *wrong[:30], bad[1], *wrong[30:66], bad[2], *wrong[66:]]
    report = batch.run(mixed, "mixed.jsonl", **given)
    assert not report.complete and 100 <= report.rows < 303
    most = f"{report.errors - 3} of {report.errors} failed so; the first, line 2: {said}"
    assert report.reason == most
    # A row with a result, or no row that is left to be tried: it goes on.
    good = [*wrong[:299], {"user": "u"}]
    assert batch.run([good[-1], *good], "good.jsonl", to="text", **given).complete
    few = batch.run(wrong[:100], "few.jsonl", **given)
    assert few.complete and few.errors_file
    Path("mixed.jsonl").write_text("\n".join(map(json.dumps, mixed)))
    ran = run("batch", "mixed.jsonl", "-o", "cli.jsonl", "--part-rows", "100", "--workers", "1")
    assert ran.code == 1 and " rows failed, and none of the first 100 has a result" in ran.err
    assert f" failed so; the first, line 2: {said}" in ran.err
    assert "--max-errors N" in ran.err


@pytest.mark.parametrize("to", sorted(BATCH_SERVICES))
def test_a_repeated_id_is_an_error_for_every_batch_service(to: str) -> None:
    rows = [{"id": name, "user": "u"} for name in ("a", "b", "a")]
    model = None if to == "bedrock-batch" else "m"
    report = batch.run(rows, "out", to=to, model=model, workers=1, reserve=9)
    assert (report.rows, report.errors) == (3, 1)
    (error,) = map(json.loads, Path(report.errors_file or "").read_text().splitlines())
    assert (error["line"], error["error"]) == (3, "DuplicateId")
    assert "stands for line 1 already" in error["message"]
    assert [entry["id"] for entry in records("out/index.jsonl")] == ["a", "b"]


def test_a_text_is_not_written_to_a_url() -> None:
    Path("items.json").write_text('[{"content": "one"}]')
    ran = run("render", "items.json", "-o", "s3://b/text.md")
    assert ran.code == 4 and "is a URL; name a file of this machine" in ran.err


@pytest.mark.slow
def test_requests_for_gemini_are_its_own_types() -> None:
    types = pytest.importorskip("google.genai.types")
    rows = [{"id": "a", "items": [{"content": "x"}], "system": "s", "user": "u"}]
    body = {"generation_config": {"temperature": 0}, "top_k": 3, "config": {"seed": 1}}
    batch.run(rows, "out", to="gemini-batch", model="gemini-3.5-flash", body=body, workers=1)
    (line,) = records("out/requests-00001.jsonl")
    assert line["key"] == "a" and line["request"]["model"] == "models/gemini-3.5-flash"
    assert line["request"]["generation_config"] == {"temperature": 0, "top_k": 3, "seed": 1}
    system = types.Content.model_validate(line["request"]["system_instruction"])
    turns = [types.Content.model_validate(each) for each in line["request"]["contents"]]
    assert system.parts[0].text.strip() == "s" and turns[-1].parts[-1].text.strip().endswith("u")


def test_the_summary_says_in_how_many_rows_each_warning_stands() -> None:
    long = {"items": [{"content": "One word follows another. " * 50}], "max_tokens": 50}
    scores = {"items": [{"content": "a", "score": "x"}]}
    write("rows.jsonl", "".join(json.dumps(row) + "\n" for row in (long, scores, long)))
    ran = run("batch", "rows.jsonl", "-o", "out.jsonl", "--part-rows", "2", "--workers", "1")
    found = [line for line in ran.err.splitlines() if ": PF" in line]
    assert found == [
        "promptforge: PF111 in 2 rows: items were shortened or dropped to fit the budget",
        "promptforge: PF202 in 1 row: a value of a record is of another type or range",
    ]
    again = run("batch", "rows.jsonl", "-o", "out.jsonl", "--part-rows", "2", "--json")
    assert json.loads(again.out)["warnings"] == {"PF111": 2, "PF202": 1}
    assert found == [line for line in again.err.splitlines() if ": PF" in line]
