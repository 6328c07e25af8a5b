"""The guide's recipes for other engines, each run as it stands there, with the engine itself."""

from __future__ import annotations

import json
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

import promptforge as pf
from promptforge.batch.rows import RenderBatch

README = (ROOT / "promptforge" / "batch" / "README.md").read_text(encoding="utf-8")
ROWS: list[dict[str, Any]] = [
    {"id": f"q{n}", "items": [{"content": f"fact {n}"}], "user": f"question {n}?"}
    for n in range(20)
]
pytestmark = pytest.mark.filterwarnings("ignore")  # of the engines themselves


@pytest.fixture(scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp(
        "recipes"
    )  # one for all: Ray is started once, and works where it was started
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("HF_DATASETS_OFFLINE", "1")
        patch.setenv("HF_HOME", str(folder / "hf"))
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        yield


@pytest.fixture(autouse=True)
def _requests(_folder: None) -> None:
    lines = [*map(json.dumps, ROWS), '{"id": "bad", "itms": []}']
    Path("requests.jsonl").write_text("\n".join(lines), encoding="utf-8")


def cook(title: str, port: int = 8000) -> Any:
    """Return `results` of a recipe in the README, with the server at another port."""
    (code,) = re.findall(
        rf"^```python\n(# {re.escape(title)}\n.*?)^```$", README, re.DOTALL | re.MULTILINE
    )
    code = code.replace("127.0.0.1:8000", f"127.0.0.1:{port}")
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(code, "README.md", "exec"), space)
    return space["results"]


def judge(records: list[dict[str, Any]]) -> None:
    found = {record["id"]: record for record in records}
    assert len(records) == len(found) == len(ROWS) + 1
    assert 'did you mean "items"' in found.pop("bad")["error"]
    for row in ROWS:
        prompt = pf.Renderer().prompt(row["items"], user=row["user"], to="openai")
        record = found[row["id"]]
        assert (json.loads(record["request"]), record["tokens"], record["error"]) == (
            prompt.request,
            prompt.tokens,
            "",
        )


@pytest.fixture(scope="module")
def ray(_folder: None) -> Iterator[Any]:
    ray = pytest.importorskip("ray")
    pytest.importorskip("pandas")
    ray.init(include_dashboard=False, _node_ip_address="127.0.0.1", num_cpus=3, log_to_driver=False)
    yield ray
    ray.shutdown()


def test_ray_data(ray: Any) -> None:
    judge(cook("Ray Data").take_all())


@pytest.mark.parametrize("batch_format", ["default", "numpy", "pandas", "pyarrow"])
@pytest.mark.parametrize("shape", ["request", "columns"])
def test_every_format_of_a_batch(ray: Any, batch_format: str, shape: str) -> None:
    rows = ray.data.read_text("requests.jsonl").rename_columns({"text": "request"})
    if shape == "columns":
        rows = ray.data.from_items([*ROWS, {"id": "bad", "items": [{"content": ""}], "user": ""}])
    made = rows.map_batches(
        RenderBatch,
        fn_constructor_kwargs={"to": "openai"},
        batch_format=batch_format,
        compute=ray.data.ActorPoolStrategy(size=1),
        num_cpus=0.5,
        batch_size=8,
    ).take_all()
    if shape == "request":
        judge(made)
    for row in ROWS if shape == "columns" else ():
        (record,) = (one for one in made if one["id"] == row["id"])
        prompt = pf.Renderer().prompt(row["items"], user=row["user"], to="openai")
        assert (json.loads(record["request"]), record["error"]) == (prompt.request, "")


@pytest.fixture
def asked() -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """Give the port of a server that answers with its question, and what it was asked."""
    bodies: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            bodies.append(body)
            answer = json.dumps({"choices": [{"message": body["messages"][-1]}]}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port, bodies
        server.shutdown()


def test_ray_data_llm(ray: Any, asked: tuple[int, list[dict[str, Any]]]) -> None:
    pytest.importorskip("aiohttp")
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    history: list[dict[str, Any]] = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "seen"},
    ]
    with Path("requests.jsonl").open("a", encoding="utf-8") as file:
        file.write("\n" + json.dumps({"id": "tools", "history": history, "user": "And?"}))
    port, bodies = asked
    answers = {record["id"]: record["answer"] for record in cook("ray.data.llm", port).take_all()}
    prompts = {
        row["id"]: pf.Renderer().prompt(row["items"], user=row["user"], to="openai") for row in ROWS
    }
    prompts["tools"] = pf.Renderer().prompt([], history=history, user="And?", to="openai")
    requests = {
        name: {"model": "gpt-oss-20b", **prompt.request} for name, prompt in prompts.items()
    }
    assert sorted(map(json.dumps, bodies)) == sorted(map(json.dumps, requests.values()))
    assert answers == {
        name: request["messages"][-1]["content"] for name, request in requests.items()
    }


def test_hugging_face_datasets() -> None:
    pytest.importorskip("datasets")
    judge(list(cook("Hugging Face datasets")))


@pytest.mark.skipif(shutil.which("java") is None, reason="needs Java")
def test_spark() -> None:
    pytest.importorskip("pyspark")
    pytest.importorskip("pandas")
    from pyspark.sql import SparkSession

    settings: dict[str, Any] = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    session = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
    try:
        judge([row.asDict() for row in cook("Spark").collect()])
    finally:
        session.stop()
